//! Threads beside the one that asks for them.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{Builder, JoinHandle},
    time::Duration,
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

/// The result of a job on a thread, unless it takes longer; that of a job that runs here, whenever it comes.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, result) = mpsc::channel();
    // After the limit there is no receiver.
    or_here(move || drop(sender.send(job())));
    result.recv_timeout(limit).ok()
}

fn run(job: &Mutex<Option<impl FnOnce()>>) {
    let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(job) = job {
        job();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_takes_longer_than_its_limit_has_no_result() {
        let (sender, receiver) = mpsc::channel::<()>();
        assert_eq!(within(Duration::ZERO, move || receiver.recv().is_err()), None);
        drop(sender);
        assert_eq!(within(Duration::MAX, || 1), Some(1));
    }
}
