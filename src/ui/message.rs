//! [`Message`]: everything that can happen to the state, in one type.

use std::{sync::Arc, time::Duration};

use super::{answer::Answer, experiments::Progress, inquiry::FileNews, key::Key};
use crate::{
    counters::{Rates, activity::Activity},
    machine::Machine,
    model::{
        Choice, ExperimentRecord, Failed, Limits, Problem, RunRecord, RunSample, RunSummary, Seconds, Target,
    },
    report::dossier::Mode,
    tune::change_log::ChangeLog,
};

/// Something that happened. Times are since the start of the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(Mouse),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// The terminal answered with its background.
    Background {
        /// Whether dark text can be read on it.
        is_light: bool,
    },
    /// Another machine was opened, or why not.
    Opened(Box<Result<Opened, Failed>>),
    /// Time went on.
    Tick(Duration),
    /// The machine was read again.
    Machine(Box<MachineRead>),
    /// The results of changes to settings.
    Tuned(Box<Answer>),
    /// The changed settings, after another process has written to the journal.
    Journal(Box<ChangeLog>),
    /// Counters were read again: what happened per second since the look before.
    Rates(Box<Rates>, Duration),
    /// Threads and processes were sampled.
    Activity(Box<Activity>),
    /// A look at the test in progress.
    Sample(Box<RunSample>, Duration),
    /// Where the experiment stands.
    Progress(Box<Progress>, Duration),
    /// Where the measurement of a file's path stands, or its result.
    File(Box<FileNews>),
    /// Measurements are stored, or why not.
    Remembered(Result<(), Failed>),
    /// The absolute path of a saved file, or why it was not saved.
    Saved(Result<String, Failed>),
    /// A line about the text sent to the clipboard, or why none was.
    Copied(Result<String, Failed>),
    /// Stored runs and experiments, or why they cannot be read.
    Recalled(Box<Result<Kept, Failed>>),
    /// A choice that was kept before this start.
    Chosen(Choice, String),
    /// Files, each with the drive it lies on where that is known, and why one of them cannot be read.
    Found(Vec<Target>, Option<Failed>),
    /// Drives of the pull that waits may not be read, or are not there.
    Refused(Failed),
    /// The test ended, with its rate second by second; an error is one line with its fix.
    RunEnded(Box<Result<(RunSummary, Seconds), Failed>>, Duration),
}

/// A machine with what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineRead {
    /// All that was read.
    pub machine: Arc<Machine>,
    /// Read errors.
    pub problems: Vec<Problem>,
    /// Limits of its links and drives.
    pub limits: Arc<Limits>,
}

/// A machine that was opened in place of the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Its file, or "pasted text".
    pub name: String,
    /// Capture or folder.
    pub mode: Mode,
    /// The machine.
    pub read: MachineRead,
}

/// Runs and experiments of this boot that were kept before, the oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kept {
    /// Runs.
    pub runs: Vec<RunRecord>,
    /// Experiments.
    pub experiments: Vec<ExperimentRecord>,
    /// How many more another version of iodyno kept, which this one does not understand.
    pub foreign: usize,
}

impl Kept {
    /// The line for the user when there are some that are left out.
    pub fn note(&self) -> Option<String> {
        let (was, them) = if self.foreign == 1 { ("run was", "it") } else { ("runs were", "them") };
        (self.foreign > 0).then(|| {
            format!("{} earlier {was} stored by another version of iodyno; run {them} again", self.foreign)
        })
    }
}

/// A mouse event at a cell, column and row from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// Column.
    pub column: u16,
    /// Row.
    pub row: u16,
    /// Its action.
    pub action: MouseAction,
}

/// Action of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseAction {
    /// The left button went down.
    Press,
    /// The mouse moved with the left button down.
    Drag,
    /// The left button went up.
    Release,
    /// The wheel turned away from the user.
    WheelUp,
    /// The wheel turned towards the user.
    WheelDown,
}
