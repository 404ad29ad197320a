//! Stored runs and experiments for sheets, stored measured limits, the columns and the theme that the user chose.

use std::{io, path::PathBuf};

use crate::{
    app::message::Kept,
    machine::{Machine, Measured},
    model::{Choice, ExperimentRecord, Failed, RunRecord},
    store,
};

/// Default number of stored runs, and of experiments, in a sheet.
pub(crate) const MOST: usize = 5;

/// A file of the state folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}{lost}", path.display())]
pub(crate) struct HistoryError {
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
    /// The consequence of a failed write.
    lost: &'static str,
}

impl From<HistoryError> for Failed {
    fn from(error: HistoryError) -> Self {
        Self::new(error.to_string(), error.error.raw_os_error())
    }
}

/// The last `most` runs and `most` experiments of this boot.
pub(crate) fn recall(machine: &Machine, most: usize) -> Result<Kept, HistoryError> {
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

/// Stores a run or an experiment for later sheets.
pub(crate) fn keep<T: store::Kept>(record: &T) -> Result<(), HistoryError> {
    let folder = store::folder();
    store::keep(&folder, record).map_err(|error| HistoryError {
        path: store::file::<T>(&folder),
        error,
        lost: "; sheets made later lack it",
    })
}

/// Stores a choice of the user.
pub(crate) fn keep_choice(choice: Choice, line: &str) -> Result<(), HistoryError> {
    let folder = store::folder();
    store::keep_choice(&folder, choice, line).map_err(|error| HistoryError {
        path: folder.join(choice.word()),
        error,
        lost: match choice {
            Choice::Columns => "; the next start has other columns",
            Choice::Theme | Choice::ConsoleTheme => "; the next start has another theme",
        },
    })
}

/// Stores measured limits.
pub(crate) fn remember(limits: &[Measured]) -> Result<(), HistoryError> {
    let folder = store::folder();
    store::remember(&folder, limits).map_err(|error| HistoryError {
        path: store::measured_limits(&folder),
        error,
        lost: "; the measured limit is not remembered",
    })
}
