//! The list of experiments, and the one on the screen with what it came to so far.

use std::{collections::BTreeSet, sync::Arc};

use tui_input::Input;

use crate::{
    experiment::{
        EXPERIMENTS, Experiment, Plan, Scene, Terms,
        plan::{Subject, Wishes},
    },
    machine::{Drive, Machine},
    model::{DriveName, FindingId, Target},
    tune::Change,
    ui::Shared,
};

/// An experiment and its plan here, or what it needs.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its row.
    pub row: &'static Experiment,
    /// Its arms on this machine; else what is missing.
    pub plan: Result<Plan, String>,
}

/// The experiments.
#[derive(Debug, Clone)]
pub struct Experiments {
    /// All of them, in the table's order.
    pub list: Vec<Entry>,
    /// Index of the selected one.
    pub selected: usize,
    /// Index of the first one shown.
    pub top: usize,
    /// The arms of `own`, as they are written.
    pub own: [String; 2],
    /// Which arm of `own` is being written, and its text.
    pub edit: Option<(usize, Input)>,
    /// Lines by which the words of the verdict are scrolled down.
    pub words_top: usize,
    /// Files that the winner was kept in.
    pub kept: Vec<String>,
    /// What the list was made for.
    made_for: Option<MadeFor>,
}

/// What the list depends on.
#[derive(Debug, Clone)]
struct MadeFor {
    machine: Arc<Machine>,
    marks: BTreeSet<DriveName>,
    cursor: Option<DriveName>,
    own: [String; 2],
}

impl Default for Experiments {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            selected: 0,
            top: 0,
            own: ["scheduler=none".to_owned(), "scheduler=mq-deadline".to_owned()],
            edit: None,
            words_top: 0,
            kept: Vec::new(),
            made_for: None,
        }
    }
}

impl Experiments {
    /// Makes the list for a machine, the marked drives, and the one the tree's cursor is on; nothing when none changed.
    pub fn refresh(&mut self, shared: &Shared) {
        let Shared { machine, marks, .. } = shared;
        let (cursor, simulated) = (shared.cursor.as_ref(), shared.is_simulated());
        let same = self.made_for.as_ref().is_some_and(|of| {
            Arc::ptr_eq(&of.machine, machine)
                && of.marks == *marks
                && of.cursor.as_ref() == cursor
                && of.own == self.own
        });
        if same {
            return;
        }
        let wishes = Wishes { arms: self.own.to_vec(), ..Wishes::default() };
        let entry = |row: &'static Experiment| {
            let targets = targets(machine, marks, cursor, row.subject);
            let scene = Scene { machine, targets: &targets, simulated, wishes: &wishes };
            let plan = if shared.can_test() {
                row.plan(&scene, Terms::default())
            } else {
                Err("this machine, or a demo: a capture's drives are not here".to_owned())
            };
            Entry { row, plan }
        };
        self.list = EXPERIMENTS.iter().map(entry).collect();
        self.made_for = Some(MadeFor {
            machine: Arc::clone(machine),
            marks: marks.clone(),
            cursor: cursor.cloned(),
            own: self.own.clone(),
        });
    }

    /// The selected one.
    pub fn entry(&self) -> Option<&Entry> {
        self.list.get(self.selected)
    }

    /// Moves the selection by `step`, or the words of the verdict.
    pub fn step(&mut self, step: isize, is_shown: bool) {
        if is_shown {
            self.words_top = self.words_top.saturating_add_signed(step.clamp(-4, 4));
        } else {
            let last = self.list.len().saturating_sub(1);
            self.selected = self.selected.saturating_add_signed(step).min(last);
        }
    }

    /// Selects the one that would prove a finding; false where none would.
    pub fn select_for(&mut self, finding: FindingId) -> bool {
        let at = EXPERIMENTS.iter().position(|row| row.proves.contains(&finding.0));
        self.selected = at.unwrap_or(self.selected);
        at.is_some()
    }

    /// Moves the first one shown so that the selected one is among `height`.
    pub fn scroll_to_selection(&mut self, height: usize) {
        if height > 0 {
            let lowest = self.list.len().saturating_sub(height);
            let least = self.selected.saturating_sub(height - 1);
            self.top = self.top.clamp(least, self.selected).min(lowest);
        }
    }

    /// An experiment begins.
    pub fn begin(&mut self) {
        self.words_top = 0;
        self.kept.clear();
    }

    /// Remembers what was written to keep the winner.
    pub fn keep(&mut self, changes: &[Change]) {
        self.kept = changes.iter().map(|change| change.file.clone()).collect();
    }
}

/// What a question is asked of: the marked drives, else those it is about.
fn targets(
    machine: &Machine,
    marks: &BTreeSet<DriveName>,
    cursor: Option<&DriveName>,
    subject: Subject,
) -> Vec<Target> {
    if !marks.is_empty() {
        return machine
            .drives
            .iter()
            .filter(|drive| marks.contains(&drive.name))
            .map(Drive::target)
            .collect();
    }
    let fixed = || machine.hardware_drives().filter(|drive| drive.removable.get() != Some(true));
    match subject {
        Subject::AllDrives => fixed().map(Drive::target).collect(),
        Subject::OneDrive => {
            let chosen = cursor.and_then(|name| machine.drive(name)).or_else(|| fixed().next());
            chosen.map(Drive::target).into_iter().collect()
        }
    }
}
