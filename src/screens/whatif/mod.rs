//! The what-if screen: the list of experiments, or the one that was begun, up to its verdict.

mod about;
mod arms;
mod draw;
mod intervals;
mod past;
mod runs;
mod update;
mod words;

use std::{collections::BTreeSet, sync::Arc};

use ratatui::layout::{Constraint, Layout, Rect};

use super::{Run, widgets::paint::cells};
use crate::{
    experiment::{
        Account, EXPERIMENTS, Experiment, Needs, Plan, Scene, Terms,
        plan::{Subject, Wishes},
    },
    machine::{Drive, Machine},
    model::{DriveName, Target},
    ui::{
        About, Ask, Command,
        Key::{self, Char},
        ScreenId, Shared, TextField,
        command::command,
        theme::Meaning,
    },
    units::Bytes,
    whatif,
};

pub(super) const ABOUT: About = About {
    id: ScreenId("what-if"),
    digit: '5',
    name: "What-if",
    help: "Show what-if: experiments that compare settings and end in a verdict",
    purpose: "Experiments: one question, arms in interleaved rounds, a verdict; every changed setting is restored.",
    mark: 1,
    marks: &[
        ("▁▄█", Meaning::Brand, "the result of a round; all arms share one scale from 0"),
        ("┣━●━┫", Meaning::Brand, "interval of the difference to the baseline, dot in its middle"),
        ("░░│░░", Meaning::Lines, "the margin around no difference"),
        ("▸", Meaning::Brand, "the arm that runs now"),
        ("✓ ▼ = ?", Meaning::Text, "better, worse, no difference, inconclusive"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<WhatIf>>] = &[
    command(530, &[Key::Enter], "start", "start", "Start the selected experiment; it restores every setting it changes", WhatIf::start),
    command(535, &[Char('r')], "again", "start again", "Start the experiment on the screen once more, or the selected one", WhatIf::begin),
    command(540, &[Char('w')], "card moves", "slot moves", "Show the slots: hypothetical moves of cards", |_, _| vec![Ask::Show(ScreenId("slots"), None)]),
    command(550, &[Char('e')], "edit arms", "custom arms", "Edit the custom experiment's arms: A: scheduler=none bs=4k; filename=FILE reads a file", WhatIf::write_arms),
    command(560, &[Char('m')], "more rounds", "more rounds", "Add rounds to an experiment that has ended", |_, shared| update::longer(shared)),
    command(570, &[Char('K')], "keep winner", "keep winner", "Apply the winner's settings and keep them until undone", WhatIf::keep),
    command(575, &[Char('d')], "", "samples", "Show the runs of the experiment with all readings, or its verdict", |state, _| state.show_runs()),
    command(580, &[Char('s')], "add to sheet", "add to sheet", "Add the verdict to the sheet, or remove it", |_, shared| update::to_sheet(shared)),
    command(590, &[Char('b')], "undo kept", "undo kept", "Undo the settings kept from an experiment", WhatIf::put_back),
];

/// An experiment and its plan here, or what it needs.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its row.
    pub row: &'static Experiment,
    /// Its arms on this machine; else what is missing.
    plan: Result<Plan, Needs>,
}

/// The screen's state.
#[derive(Debug, Clone)]
pub struct WhatIf {
    /// All experiments, in the table's order.
    list: Vec<Entry>,
    /// Index of the selected one.
    selected: usize,
    /// Index of the first one shown.
    top: usize,
    /// The arms of `own`, as they are written.
    own: [String; 2],
    /// Which arm of `own` is being written, and its text.
    edit: Option<(usize, TextField)>,
    /// The arm that named the files last, its text and what it was before: they may not be there.
    written: Option<(usize, TextField, String)>,
    /// Whether the runs are shown instead of the verdict.
    shows_runs: bool,
    /// Lines by which the words about the experiment, of the verdict, or the runs are scrolled down.
    words_top: usize,
    /// Arms above the first one shown.
    arms_top: usize,
    /// Files that the winner was kept in.
    kept: Vec<String>,
    /// The state the list was made from.
    made_for: Option<MadeFor>,
}

/// The state the list depends on.
#[derive(Debug, Clone)]
struct MadeFor {
    machine: Arc<Machine>,
    marks: BTreeSet<DriveName>,
    cursor: Option<DriveName>,
    files: (Vec<Target>, Option<Bytes>),
    missing_file: Option<String>,
    own: [String; 2],
    /// Whether the slots page has anything to move.
    has_cards: bool,
}

impl Default for WhatIf {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            selected: 0,
            top: 0,
            own: ["scheduler=none".to_owned(), "scheduler=mq-deadline".to_owned()],
            edit: None,
            written: None,
            shows_runs: false,
            words_top: 0,
            arms_top: 0,
            kept: Vec::new(),
            made_for: None,
        }
    }
}

impl WhatIf {
    /// Makes the list for a machine, the marked drives, and the one the tree's cursor is on; nothing when none changed.
    fn make(&mut self, shared: &Shared) {
        let Shared { machine, marks, .. } = shared;
        let (cursor, simulated) = (shared.cursor.as_ref(), shared.is_simulated());
        let same = self.made_for.as_ref().is_some_and(|of| {
            Arc::ptr_eq(&of.machine, machine)
                && of.marks == *marks
                && of.cursor.as_ref() == cursor
                && (&of.files.0, of.files.1) == (&shared.files, shared.file_size)
                && of.missing_file == shared.missing_file
                && of.own == self.own
        });
        if same {
            return;
        }
        let mut wishes = Wishes { arms: self.own.to_vec(), ..Wishes::default() };
        if let Some(size) = shared.file_size.filter(|_| !shared.files.is_empty()) {
            wishes.options.0.push(("size", size.0.to_string()));
        }
        let entry = |row: &'static Experiment| {
            let targets = targets(shared, row.subject);
            let scene = Scene { machine, targets: &targets, simulated, wishes: &wishes };
            let plan = if let Some(why) = &shared.missing_file {
                Err(format!("its file: {why}").into())
            } else if shared.can_test() {
                row.plan(&scene, Terms::default()).map(|mut plan| {
                    plan.allow_least_time();
                    plan
                })
            } else {
                Err(Needs::its_drives(machine))
            };
            Entry { row, plan }
        };
        self.list = EXPERIMENTS.iter().map(entry).collect();
        let known =
            self.made_for.as_ref().filter(|of| Arc::ptr_eq(&of.machine, machine)).map(|of| of.has_cards);
        self.made_for = Some(MadeFor {
            machine: Arc::clone(machine),
            marks: marks.clone(),
            cursor: cursor.cloned(),
            files: (shared.files.clone(), shared.file_size),
            missing_file: shared.missing_file.clone(),
            own: self.own.clone(),
            has_cards: known.unwrap_or_else(|| whatif::has_cards(machine)),
        });
    }

    /// The selected one.
    pub fn entry(&self) -> Option<&Entry> {
        self.list.get(self.selected)
    }
}

/// The targets of an experiment: the files that the dyno's form has, else the marked drives, else its own subject.
fn targets(shared: &Shared, subject: Subject) -> Vec<Target> {
    if !shared.files.is_empty() {
        return shared.files.clone();
    }
    let mut drives = shared.tested_drives();
    if subject == Subject::AllDrives || !shared.marks.is_empty() {
        return drives.map(Drive::target).collect();
    }
    let at_cursor = shared.cursor.as_ref().and_then(|name| shared.machine.drive(name));
    at_cursor.or_else(|| drives.next()).map(Drive::target).into_iter().collect()
}

/// Columns of the list of experiments: reasons why one is not available fit, and the rest is for the selected one.
const WIDEST_LIST: u16 = 96;
/// Columns of a question's row beside the question: the cursor, blanks, the time and the frame.
const BESIDE_QUESTION: u16 = 12;
/// Columns that are left for the selected experiment.
const LEAST_ABOUT: u16 = 40;

/// The list, and all about the selected one: beside it, or below it on narrow terminals.
fn list_areas(area: Rect) -> [Rect; 2] {
    let halves = if area.width >= 100 {
        let questions = EXPERIMENTS.iter().map(|row| cells(row.question)).max().unwrap_or(0);
        let whole = (questions + BESIDE_QUESTION).min(area.width - LEAST_ABOUT);
        let list = (area.width * 55 / 100).max(whole).min(WIDEST_LIST);
        Layout::horizontal([Constraint::Length(list), Constraint::Fill(1)])
    } else {
        Layout::vertical([Constraint::Length(area.height / 2), Constraint::Fill(1)])
    };
    halves.areas(area)
}

/// From so many rows on curves are higher: words and runs have room below them.
const TALL: u16 = 70;

/// The arms of an experiment, their intervals (nothing on low terminals) and the words about it.
fn account_areas(state: &WhatIf, account: &Account, shared: &Shared, area: Rect) -> [Rect; 3] {
    let boxed = shared.is_boxed();
    let (frame, words) = if boxed { (2, 9) } else { (1, 6) };
    let arms = u16::try_from(account.arms.len()).unwrap_or(u16::MAX);
    let compared = u16::try_from(account.compared().count()).unwrap_or(u16::MAX);
    let room = area.height.saturating_sub(words);
    let axis = if boxed { compared.saturating_add(frame + 2) } else { 0 };
    // Curves as high as there is room for: a verdict needs few rows, a list of runs takes all.
    let most = match area.height {
        _ if state.shows_runs => 4,
        TALL.. => area.height / 4,
        height => (height / 5).clamp(4, 8),
    };
    let free = room.saturating_sub(frame + 1);
    let each = (free.saturating_sub(axis) / arms.max(1)).clamp(1, most);
    let upper = arms.saturating_mul(each).saturating_add(frame + 1).min(room);
    let axis = if area.height - upper >= axis.saturating_add(words) { axis } else { 0 };
    Layout::vertical([Constraint::Length(upper), Constraint::Length(axis), Constraint::Fill(1)]).areas(area)
}
