//! [`Effect`]: actions outside the state, as data.
//!
//! Carried out by `runtime::effects`; the answer, if there is one, arrives as a message.

use std::time::Duration;

use super::{answer::Undoing, inquiry::FileRequest, opening::Opening};
use crate::{
    experiment::Plan,
    machine::Measured,
    model::{Choice, ExperimentRecord, RunRecord, Target, Workload},
    tune::Change,
    units::Bytes,
};

/// Something to be done outside the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Start a read test; answered by samples and a result.
    StartRun(Box<Workload>),
    /// Check whether these targets may be read, without opening them; answered by [`Message::Refused`](super::Message::Refused)
    /// where one may not.
    CheckAccess(Vec<Target>),
    /// Look for these files, which a test may lay out with that size, and the drives that they lie on; answered by [`Message::Found`](super::Message::Found).
    FindDrives(Vec<Target>, Option<Bytes>),
    /// Hold the test in progress.
    PauseRun,
    /// Let it go on.
    ResumeRun,
    /// End it; its result comes all the same.
    StopRun,
    /// Measure each step of a file's path; answered by [`Message::File`](super::Message::File) until it has ended.
    MeasureFile(FileRequest),
    /// End that; its result comes all the same.
    StopFile,
    /// Begin an experiment; answered by [`Message::Progress`](super::Message::Progress) until it has ended.
    BeginExperiment(Box<Plan>),
    /// End the experiment in progress; everything is restored.
    StopExperiment,
    /// Give the experiment that has ended this much more time.
    MeasureLonger(Duration),
    /// Write settings, in this order; answered by [`Message::Tuned`](super::Message::Tuned).
    ApplyChanges(Vec<Change>),
    /// Restore settings; answered likewise.
    UndoChanges(Undoing),
    /// Keeps the changes of this run.
    KeepChanges,
    /// Keeps the changes of these dead sessions; answered likewise.
    KeepDead(Vec<String>),
    /// Save the screen as a picture; answered by [`Message::Saved`](super::Message::Saved).
    SavePicture,
    /// Keep what a test measured, then read the machine again.
    Remember(Vec<Measured>),
    /// Keep a run for sheets made later.
    KeepRun(Box<RunRecord>),
    /// Keep an experiment likewise.
    KeepExperiment(Box<ExperimentRecord>),
    /// Keep a choice for the next start, one line.
    KeepChoice(Choice, String),
    /// Put a text into the terminal's clipboard; its format, for the line that answers ([`Message::Copied`](super::Message::Copied)).
    Copy(String, &'static str),
    /// Save a text to a new file with that extension; answered by [`Message::Saved`](super::Message::Saved).
    Save(String, &'static str),
    /// Show another machine; answered by [`Message::Opened`](super::Message::Opened), or by nothing for the first one.
    Open(Opening),
    /// Read the machine again.
    ReadMachine,
    /// Draw everything afresh: something else wrote on the terminal.
    Redraw,
    /// Give the terminal back to the shell until it lets us go on (Ctrl-Z).
    Suspend,
    /// Leave.
    Quit,
    /// Leave, and print this once the terminal is given back.
    QuitWith(String),
    /// Leave as if interrupted: Ctrl-C.
    Interrupt,
}
