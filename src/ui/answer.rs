//! What the runtime is asked to change, and what it answers.

use crate::{
    tune::{Change, Outcome, change_log::ChangeLog, tuner::Restored, undo::Step},
    ui::MachineRead,
};

/// Which changes are to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undoing {
    /// Those of this run of the program.
    Own,
    /// These files.
    Files(Vec<String>),
    /// Those of sessions that died.
    Sessions(Vec<String>),
}

/// What became of the changes asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// What stands changed now.
    pub change_log: ChangeLog,
    /// This run's session, once it has one.
    pub session: Option<String>,
    /// Sessions that died with changes standing.
    pub dead: Vec<String>,
    /// What was changed, each with its outcome, in order; an error means that nothing was written.
    pub made: Vec<(Change, Result<Outcome, String>)>,
    /// What was put back.
    pub restored: Vec<(Step, Restored)>,
    /// The machine, read afterwards.
    pub machine: Option<MachineRead>,
    /// Why nothing could be done at all.
    pub error: Option<String>,
}
