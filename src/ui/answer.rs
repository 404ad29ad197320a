//! Requests to change settings, and their results.

use crate::{
    model::Failed,
    tune::{Change, Outcome, change_log::ChangeLog, tuner::Restored, undo::Step},
    ui::MachineRead,
};

/// Which changes are to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undoing {
    /// Those of this run of the program.
    Own,
    /// These files.
    Files(Vec<String>),
    /// Those of sessions that died.
    Sessions(Vec<String>),
}

/// The results of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Settings that are changed now.
    pub change_log: ChangeLog,
    /// This run's session, once it has one.
    pub session: Option<String>,
    /// Sessions that died and left changes.
    pub dead: Vec<String>,
    /// Changes with their outcomes, in order; an error means that nothing was written.
    pub made: Vec<(Change, Result<Outcome, Failed>)>,
    /// Undone changes.
    pub restored: Vec<(Step, Restored)>,
    /// The machine, read afterwards.
    pub machine: Option<MachineRead>,
    /// Why nothing was done at all.
    pub error: Option<Failed>,
}
