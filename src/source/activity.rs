//! Samples threads and processes: `/proc/PID/task/TID/{stat,syscall,wchan}`, `/proc/PID/{stat,io}`.

mod names;
mod processes;
mod stat;
mod syscalls;
mod threads;
mod used_drives;

use self::{names::Names, processes::Processes, threads::Threads};
use super::SysRoot;
use crate::counters::activity::{ProcessSample, ThreadSample};

/// Remembers where the last pass over the threads stopped, and names that come again.
#[derive(Debug, Default)]
pub struct ActivityReader {
    names: Names,
    threads: Threads,
    processes: Processes,
}

impl ActivityReader {
    /// One pass over the threads, from where the last one stopped, as long as `more` says there is time; at least one thread, and
    /// each thread once at most.
    pub fn threads(&mut self, root: &dyn SysRoot, more: &mut dyn FnMut() -> bool) -> ThreadSample {
        self.threads.pass(root, &mut self.names, more)
    }

    /// Counters of all processes.
    pub fn processes(&mut self, root: &dyn SysRoot) -> ProcessSample {
        self.processes.sample(root, &mut self.names)
    }
}

#[cfg(test)]
mod tests;
