//! [`Ask`]: requests of a screen for what it does not own.

use std::path::PathBuf;

use super::{effect::Effect, inquiry::FileRequest, screen::ScreenId, settings::Staged, test::Test};
use crate::{
    experiment::Plan,
    model::{DriveName, FindingId, NodeIndex, SettingId, Target},
    pull::Pull,
    tune::Device,
    units::Bytes,
};

/// Something a screen asks for. `app` grants it, in order.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Something to be done outside the state.
    Effect(Effect),
    /// A line for the user.
    Notice(Notice),
    /// Another screen, with what it should show.
    Show(ScreenId, Option<Subject>),
    /// A subject for another screen, which is not shown yet.
    Hand(ScreenId, Subject),
    /// What this screen lays over the others.
    Open(ScreenId),
    /// Nothing over the screens any more.
    Close,
    /// A command of every screen, by name.
    Command(&'static str),
    /// The user's agreement to read drives in use; then the command again.
    Agree(Reads),
    /// A change of the shared state.
    Change(SharedChange),
}

impl Ask {
    /// Whether it begins a test, a pull or an experiment.
    pub(crate) fn begins_reads(&self) -> bool {
        match self {
            Self::Change(change) => matches!(
                change,
                SharedChange::BeginTest(_) | SharedChange::BeginPull | SharedChange::BeginExperiment(_)
            ),
            Self::Effect(effect) => matches!(effect, Effect::MeasureLonger(_)),
            _ => false,
        }
    }
}

/// Reads of drives in use that a command would begin.
#[derive(Debug, Clone)]
pub struct Reads {
    /// Everything it would read.
    pub targets: Vec<Target>,
    /// What it would set in turn and put back: `scheduler of vda`.
    pub settings: Vec<String>,
    /// The command.
    pub command: &'static str,
}

/// Everything asked for, in order.
pub type Asks = Vec<Ask>;

/// A line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub problem: bool,
}

/// What a screen is shown for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A node of the PCI tree, or one of its drives.
    Node(NodeIndex, Option<DriveName>),
    /// A root complex whose drives share too little.
    Crowded(NodeIndex),
    /// A finding.
    Finding(FindingId),
    /// A cell of the matrix of settings.
    Setting(Device, SettingId),
    /// The user wants to leave.
    Leaving,
    /// What sessions that died left changed.
    LeftBehind,
    /// A pull, to be begun.
    Pull,
    /// A named workload, for the form.
    Profile(String),
    /// The runs of the pull with this number.
    Runs(u32),
    /// The path of a file, to be asked for: a first suggestion, and the screen to go back to.
    File(PathBuf, ScreenId),
    /// The columns of the tree as they were chosen before.
    Columns(String),
    /// Files to read instead of drives; none for drives again.
    Files(Vec<PathBuf>),
    /// A file that was named is not there.
    NoSuchFile,
    /// The drives of the test that ended may not be read; these files can be.
    Refused(Vec<Target>),
}

/// A change of the shared state.
#[derive(Debug, Clone)]
pub enum SharedChange {
    /// Marks these drives, or unmarks them when all are marked.
    Mark(Vec<DriveName>),
    /// The drive the tree's cursor is on.
    Cursor(Option<DriveName>),
    /// Files or devices that tests and experiments read instead of drives, and how many bytes of each; none for drives again.
    Files(Vec<PathBuf>, Option<Bytes>),
    /// These values wait to be applied, in place of those for the same setting and devices.
    Stage(SettingId, Vec<Device>, Vec<Staged>),
    /// Nothing waits for these devices' setting any more.
    Unstage(SettingId, Vec<Device>),
    /// Nothing waits to be applied any more.
    UnstageAll,
    /// An answer about settings is awaited.
    AwaitSettings,
    /// Quit once everything is restored.
    LeaveWhenBack,
    /// A test begins.
    BeginTest(Box<Test>),
    /// A pull waits for consent.
    AskPull(Box<Pull>),
    /// The pull that waits begins.
    BeginPull,
    /// The pull that waits is not made.
    LeavePull,
    /// The other one of a stopped pull and the finished one before it is shown.
    OtherPull,
    /// The measurement of a file's path begins.
    BeginFile(FileRequest),
    /// The user asked for its end.
    StopFile,
    /// An experiment begins.
    BeginExperiment(Box<Plan>),
    /// The experiment that ended is not shown any more.
    CloseExperiment,
    /// Puts an experiment of this start into the sheet, or leaves it out.
    TurnExperiment(usize),
}

/// Shows a notice.
pub fn tell(text: impl Into<String>) -> Ask {
    Ask::Notice(Notice { text: text.into(), problem: false })
}

/// Shows a notice of a problem.
pub fn warn(text: impl Into<String>) -> Ask {
    Ask::Notice(Notice { text: text.into(), problem: true })
}
