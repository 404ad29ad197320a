//! What tests leave for later: records of runs and experiments for sheets, limits that were measured.

use std::{io, path::PathBuf};

use crate::{
    app::message::Kept,
    machine::{Machine, Measured},
    model::{ExperimentRecord, Failed, RunRecord},
    store,
};

/// Runs and experiments each that a sheet begins with.
pub const MOST: usize = 5;

/// A file of the state folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}{lost}", path.display())]
pub struct HistoryError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub error: io::Error,
    /// What follows from it, where it is not read.
    lost: &'static str,
}

impl From<HistoryError> for Failed {
    fn from(error: HistoryError) -> Self {
        Self::new(error.to_string(), error.error.raw_os_error())
    }
}

/// The last `most` runs and as many experiments of this machine since it started.
pub fn recall(machine: &Machine, most: usize) -> Result<Kept, HistoryError> {
    let boot = machine.host.boot_id.value().map_or("", |boot| boot.as_str());
    let (runs, experiments) = (recent::<RunRecord>(boot, most)?, recent::<ExperimentRecord>(boot, most)?);
    let foreign = runs.foreign + experiments.foreign;
    Ok(Kept { runs: runs.kept, experiments: experiments.kept, foreign })
}

fn recent<T: store::Kept>(boot: &str, most: usize) -> Result<store::Recent<T>, HistoryError> {
    let folder = store::folder();
    store::recent(&folder, boot, most).map_err(|error| HistoryError {
        path: store::file::<T>(&folder),
        error,
        lost: "",
    })
}

/// Keeps a run or an experiment for sheets made later.
pub fn keep<T: store::Kept>(record: &T) -> Result<(), HistoryError> {
    let folder = store::folder();
    store::keep(&folder, record).map_err(|error| HistoryError {
        path: store::file::<T>(&folder),
        error,
        lost: "; sheets made later lack it",
    })
}

/// Keeps what a test measured of the machine.
pub fn remember(limits: &[Measured]) -> Result<(), HistoryError> {
    let folder = store::folder();
    store::remember(&folder, limits).map_err(|error| HistoryError {
        path: store::measured_limits(&folder),
        error,
        lost: "; the measured limit is not remembered",
    })
}
