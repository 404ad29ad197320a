//! Samples threads and processes: `/proc/PID/task/TID/{stat,syscall,wchan}`, `/proc/PID/{stat,io}`.

use super::SysRoot;
use crate::counters::activity::{ProcessSample, ThreadSample};

/// Remembers where the last pass over the threads stopped.
#[derive(Debug, Default)]
pub struct ActivityReader {}

impl ActivityReader {
    /// One pass over the threads, from where the last one stopped, as long as `more` says there is time.
    pub fn threads(&mut self, _root: &dyn SysRoot, _more: &mut dyn FnMut() -> bool) -> ThreadSample {
        ThreadSample::default()
    }

    /// Counters of all processes.
    pub fn processes(&mut self, _root: &dyn SysRoot) -> ProcessSample {
        ProcessSample::default()
    }
}
