//! Read engines: workers that read as fast as the kernel lets them, and count. Targets are opened `O_RDONLY`.

mod aio;
mod checks;
mod clock;
mod layout;
mod memory;
pub mod offset_generator;
mod psync;
mod rate_limit;
mod real;
mod ring;
pub(crate) mod simulated;
pub mod stats;
mod target;
mod workers;

pub use layout::{LaidOut, lay_out};
pub use real::RealEngine;
pub use simulated::Simulated;

use std::{path::Path, time::Instant};

use crate::{
    model::{Failed, RunSample, RunSummary, Workload, WorkloadError},
    text::Label,
};

/// Something that can carry out a [`Workload`]: the kernel, or a model of a machine.
///
/// The time is always an argument, so that a simulated run is a function of its arguments.
pub trait Engine: Send + Sync {
    /// Whether no device is read. Sessions then neither lay files out nor check targets.
    fn simulated(&self) -> bool;

    /// Opens the targets and starts reading them. May block for as long as opening takes.
    fn start(&self, workload: &Workload, now: Instant) -> Result<Box<dyn Running>, EngineError>;
}

/// A running workload. Only [`Running::finish`] may block.
pub trait Running: Send {
    /// What has been counted so far; [`crate::model::RunState::Ended`] once every worker is done.
    /// Latencies are those of the reads completed since the previous sample.
    fn sample(&mut self, now: Instant) -> RunSample;

    /// Holds the workers; time stops counting.
    fn pause(&mut self, now: Instant);

    /// Lets them go on.
    fn resume(&mut self, now: Instant);

    /// Ends the run before its time. Workers are done within one batch.
    fn stop(&mut self, now: Instant);

    /// Stops what still runs, waits for the workers and sums up.
    fn finish(self: Box<Self>, now: Instant) -> RunSummary;
}

/// Why a workload could not be run. One line: the path or option, what is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The workload makes no sense by itself.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A target cannot be read as asked.
    #[error("{path}: {wrong}; {fix}")]
    Target {
        /// The target as the user named it.
        path: Label,
        /// What is wrong with it.
        wrong: String,
        /// What to do.
        fix: String,
        /// What the kernel answered, if it was asked.
        errno: Option<i32>,
    },
    /// The machine cannot carry it out.
    #[error("{wrong}; {fix}")]
    Machine {
        /// What was refused, with the errno.
        wrong: String,
        /// What to do.
        fix: String,
    },
    /// It was stopped while it was still being prepared.
    #[error("stopped before the first read, nothing was measured; run it again")]
    Stopped,
}

impl EngineError {
    fn target(
        path: &Path,
        wrong: impl Into<String>,
        fix: impl Into<String>,
        errno: impl Into<Option<i32>>,
    ) -> Self {
        let path = Label::new(&path.to_string_lossy());
        Self::Target { path, wrong: wrong.into(), fix: fix.into(), errno: errno.into() }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        let errno = match &error {
            EngineError::Target { errno, .. } => *errno,
            _ => None,
        };
        Self::new(error.to_string(), errno)
    }
}
