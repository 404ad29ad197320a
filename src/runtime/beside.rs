//! Threads beside the one that asks for them.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

/// Starts a thread.
///
/// # Errors
/// The system has no thread left (EAGAIN): `ulimit -u`, or `pids.max` of a control group.
pub(in crate::runtime) fn start<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(job).map_err(|error| {
        let wrong =
            format!("cannot start a thread: {error}; raise `ulimit -u`, or pids.max of the control group");
        io::Error::new(error.kind(), wrong)
    })
}

/// Runs a job on a thread, or here where none can be started.
pub(in crate::runtime) fn or_here(job: impl FnOnce() + Send + 'static) {
    let here = Arc::new(Mutex::new(Some(job)));
    let there = Arc::clone(&here);
    if start(move || run(&there)).is_err() {
        run(&here);
    }
}

fn run(job: &Mutex<Option<impl FnOnce()>>) {
    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(job) = job {
        job();
    }
}
