//! Samples threads and processes: `/proc/PID/task/TID/{stat,syscall,wchan}`, `/proc/PID/{stat,io}`.

mod group_limits;
mod names;
mod processes;
mod refusal;
mod round;
mod stat;
mod syscalls;
mod threads;
mod used_drives;
mod workers;

pub(crate) use self::processes::own_device_bytes;
use self::{names::Names, processes::Processes, threads::Threads, workers::Workers};
use super::SysRoot;
use crate::counters::activity::{ProcessSample, ThreadSample, WorkerTicks};

/// Remembers where the last pass over the threads stopped, and names that come again.
#[derive(Debug, Default)]
pub struct ActivityReader {
    names: Names,
    threads: Threads,
    processes: Processes,
    workers: Workers,
    /// Memory for the guide of passes.
    guided: Vec<u32>,
}

impl ActivityReader {
    /// One pass over the threads, as long as `more` says there is time; at least one thread, and each thread once at most. Threads that
    /// were active at the last look, and those of processes whose counters moved between the last samples, share the pass with the
    /// others, which go on from where the last pass stopped. It replaces `sample`, whose memory is used again.
    pub fn threads(&mut self, root: &dyn SysRoot, more: &mut dyn FnMut() -> bool, sample: &mut ThreadSample) {
        self.threads.pass(root, &mut self.names, more, sample);
        for (parent, pid, command) in self.threads.working() {
            self.processes.saw(parent, pid, command);
        }
    }

    /// Whether kernel stacks of threads are read too.
    pub fn with_stacks(&mut self, wanted: bool) {
        self.threads.with_stacks(wanted);
    }

    /// Counters of all processes. They replace `sample`, whose memory is used again.
    pub fn processes(&mut self, root: &dyn SysRoot, sample: &mut ProcessSample) {
        self.processes.sample(root, &mut self.names, sample);
        self.threads.guide(self.processes.moved(), &mut self.guided);
        self.threads.mark(self.processes.with_io(sample));
    }

    /// What the threads of this process that read for a test used since the last look; `None` without them.
    pub fn workers(&mut self, root: &dyn SysRoot) -> Option<WorkerTicks> {
        self.workers.since(root)
    }
}

#[cfg(test)]
mod tests;
