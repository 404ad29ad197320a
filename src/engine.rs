//! Read engines: workers that read as fast as they can, and count. Targets are opened `O_RDONLY`.

mod aio;
mod checks;
mod clock;
pub(crate) mod file_state;
mod layout;
mod memory;
mod mmap;
pub mod offset_generator;
mod prefetch;
mod psync;
mod rate_limit;
mod real;
mod ring;
pub(crate) mod simulated;
pub mod stats;
mod target;
mod workers;

pub(crate) use layout::room_for;
pub use layout::{LaidOut, lay_out};
pub use real::RealEngine;
pub use ring::RingError;
pub use simulated::Simulated;
pub(crate) use target::refused;
pub(crate) use workers::no_thread;

use std::{path::Path, time::Instant};

use crate::{
    model::{Failed, RunSample, RunSummary, Workload, WorkloadError},
    text::Label,
};

/// Runs a [`Workload`]: by the kernel, or on a model of a machine.
///
/// Times are arguments, so that a simulated run is a function of its arguments.
pub trait Engine: Send + Sync {
    /// Whether no device is read: then files are not laid out and targets not checked.
    fn simulated(&self) -> bool;

    /// Checks what needs no target: threads, open files.
    ///
    /// # Errors
    /// More than there may be.
    fn check_limits(&self, _workload: &Workload) -> Result<(), EngineError> {
        Ok(())
    }

    /// Opens the targets for reading and closes them again; a missing file with a size needs a folder that can be written to.
    /// For those who change something before the run.
    fn check(&self, _workload: &Workload) -> Result<(), EngineError> {
        Ok(())
    }

    /// Reads both ends and blocks of every part of each target. For those who change something before the run; may block as
    /// long as reads take.
    ///
    /// # Errors
    /// A read of a target fails. A target that cannot be opened is left to [`Engine::check`].
    fn try_read(&self, _workload: &Workload) -> Result<(), EngineError> {
        Ok(())
    }

    /// Opens the targets and starts reading them. May block for as long as opening takes.
    fn start(&self, workload: &Workload, now: Instant) -> Result<Box<dyn Running>, EngineError>;
}

/// A running workload. Only [`Running::finish`] may block.
pub trait Running: Send {
    /// Counts so far; [`crate::model::RunState::Ended`] once every worker is done.
    /// Latencies are those of the reads completed since the previous sample.
    fn sample(&mut self, now: Instant) -> RunSample;

    /// Holds the workers; time stops counting.
    fn pause(&mut self, now: Instant);

    /// Resumes the workers.
    fn resume(&mut self, now: Instant);

    /// Ends the run before its time. Workers are done within one batch.
    fn stop(&mut self, now: Instant);

    /// Stops workers that still run, waits for them and sums up.
    fn finish(self: Box<Self>, now: Instant) -> RunSummary;
}

/// Why a workload could not be run. One line: the path or option, the problem, the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The workload is invalid by itself.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A target cannot be read as requested.
    #[error("{path}: {wrong}; {fix}")]
    Target {
        /// The target as the user named it.
        path: Label,
        /// The problem.
        wrong: String,
        /// What to do.
        fix: String,
        /// The kernel's error, if there is one.
        errno: Option<i32>,
    },
    /// The machine cannot run it.
    #[error("{wrong}; {fix}")]
    Machine {
        /// The problem, with its errno.
        wrong: String,
        /// What to do.
        fix: String,
    },
    /// There is no io_uring for it, or none for one more worker.
    #[error("{0}")]
    Ring(RingError),
    /// It was stopped before the first read.
    #[error("stopped before the first read: nothing was measured; run it again")]
    Stopped,
}

impl EngineError {
    pub(crate) fn target(
        path: &Path,
        wrong: impl Into<String>,
        fix: impl Into<String>,
        errno: impl Into<Option<i32>>,
    ) -> Self {
        let path = Label::new(&path.to_string_lossy());
        Self::Target { path, wrong: wrong.into(), fix: fix.into(), errno: errno.into() }
    }
}

impl From<RingError> for EngineError {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        let errno = match &error {
            EngineError::Target { errno, .. } => *errno,
            _ => None,
        };
        let failed = Self::new(error.to_string(), errno);
        if matches!(error, EngineError::Stopped) { failed.stopped() } else { failed }
    }
}
