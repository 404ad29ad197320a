//! What was kept of this boot's runs and experiments, for the sheet of the screen and of the command line.
//!
//! Here: reading them from the state folder. Not here: the files (`store`), keeping (`effects`, `cli`).

use std::{io, path::PathBuf};

use crate::{
    app::message::Kept,
    machine::Machine,
    model::{ExperimentRecord, RunRecord},
    store,
};

/// Runs and experiments each that a sheet begins with.
pub const MOST: usize = 5;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub error: io::Error,
}

/// The last `most` runs and as many experiments of this machine since it started.
pub fn recall(machine: &Machine, most: usize) -> Result<Kept, Unreadable> {
    let folder = store::folder();
    let boot = machine.host.boot_id.value().map_or("", |boot| boot.as_str());
    let runs = store::recent::<RunRecord>(&folder, boot, most)
        .map_err(|error| Unreadable { path: store::file::<RunRecord>(&folder), error })?;
    let experiments = store::recent::<ExperimentRecord>(&folder, boot, most)
        .map_err(|error| Unreadable { path: store::file::<ExperimentRecord>(&folder), error })?;
    let foreign = runs.foreign + experiments.foreign;
    Ok(Kept { runs: runs.kept, experiments: experiments.kept, foreign })
}
