//! Threads beside the one that asks for them.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

use crate::engine::no_thread;

/// Starts a thread.
///
/// # Errors
/// The system has no thread left (EAGAIN): `ulimit -u`, or `pids.max` of a control group.
pub(in crate::runtime) fn try_start<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(job)
}

/// The same for threads without which the screen does not start: the error is the line that says so.
///
/// # Errors
/// Those of [`try_start`].
pub(in crate::runtime) fn start<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    try_start(job).map_err(|error| io::Error::new(error.kind(), no_thread(&error).to_string()))
}

/// Runs a job on a thread, or here where none can be started.
pub(in crate::runtime) fn or_here(job: impl FnOnce() + Send + 'static) {
    let here = Arc::new(Mutex::new(Some(job)));
    let there = Arc::clone(&here);
    if try_start(move || run(&there)).is_err() {
        run(&here);
    }
}

fn run(job: &Mutex<Option<impl FnOnce()>>) {
    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(job) = job {
        job();
    }
}
