//! Keys and mouse on the what-if screen.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use ratatui::layout::{Position, Rect};

use super::{Entry, WhatIf, account_areas, arms, draw, list_areas, words};
use crate::{
    experiment::{Account, EXPERIMENTS, Phase, Plan, custom_arms},
    machine::{Drive, Machine},
    model::{Target, Workload, fio::names},
    pull::FILE_SIZE,
    screens::{
        Screen, Step,
        widgets::{
            paint::{Brush, Piece, hints, inner},
            scroll::{kept_in_sight, scrolled},
        },
    },
    tune::{Change, Device, settings, tuner},
    ui::{
        Ask, Asks, Effect, Key, ScreenId, Shared, SharedChange, Subject, TextField,
        answer::Undoing,
        ask::{Reads, tell, warn},
        experiments::Progress,
    },
    units::counted,
};

impl Screen for WhatIf {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Some(shown) = shared.experiments.on_screen() {
            let [arms, .., words] = account_areas(self, &shown.account, shared, area);
            match step {
                Step::Rows(rows) if self.arms_move(shown, shared, arms) => {
                    self.scroll_arms(rows, shown, shared, arms);
                }
                step => {
                    let rows = step.rows(inner(words, shared.is_boxed()).height);
                    self.scroll_words(rows, shown, shared, words);
                }
            }
        } else {
            if let Step::Pages(_) = step {
                let inside = inner(list_areas(area)[1], shared.is_boxed());
                self.scroll_about(step.rows(inside.height), shared, inside);
                return Asks::new();
            }
            let last = self.list.len().saturating_sub(1);
            self.select(self.selected.saturating_add_signed(step.rows(0)).min(last));
            if shared.experiments.refused().is_some() {
                return vec![Ask::Change(SharedChange::CloseExperiment)];
            }
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let about = list_areas(area)[1];
        if shared.experiments.on_screen().is_none() && about.contains(at) {
            self.scroll_about(step, shared, inner(about, shared.is_boxed()));
            return Asks::new();
        }
        if let Some(shown) = shared.experiments.on_screen() {
            let [arms, .., words] = account_areas(self, &shown.account, shared, area);
            if words.contains(at) || !self.arms_move(shown, shared, arms) {
                self.scroll_words(step, shown, shared, words);
                return Asks::new();
            }
        }
        self.step(Step::Rows(step), shared, area)
    }

    /// Selects an experiment; a press on the selected one begins it.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let rows = inner(list_areas(area)[0], shared.is_boxed());
        let index = self.top + usize::from(at.y.saturating_sub(rows.y));
        if shared.experiments.on_screen().is_some() || !rows.contains(at) || index >= self.list.len() {
            return Asks::new();
        }
        if self.selected == index {
            return self.begin(shared);
        }
        self.select(index);
        Asks::new()
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.make(shared);
        let rows = inner(list_areas(area)[0], shared.is_boxed()).height;
        self.top = kept_in_sight(self.top, self.selected, self.list.len(), rows);
        Asks::new()
    }

    /// Selects the experiment that would prove a finding.
    fn take(&mut self, subject: &Subject, _shared: &Shared) -> Asks {
        if let Subject::Finding(finding) = subject {
            let at = EXPERIMENTS.iter().position(|row| row.proves.contains(&finding.0));
            self.select(at.unwrap_or(self.selected));
        }
        // The arm that named it stays open with its text.
        if *subject == Subject::NoSuchFile
            && let Some((arm, input, before)) = self.written.take()
        {
            self.own[arm] = before;
            self.edit = Some((arm, input));
        }
        Asks::new()
    }

    /// Leaves the runs for the verdict, and that for the list. An experiment in progress goes on.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        if self.shows_runs && shared.experiments.on_screen().is_some() {
            return Some(self.show_runs());
        }
        if shared.experiments.running().is_some() {
            return None;
        }
        shared.experiments.shown.as_ref().map(|_| vec![Ask::Change(SharedChange::CloseExperiment)])
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let experiments = &shared.experiments;
        let is_idle = experiments.running().is_none() && shared.tests.running().is_none();
        let has_ended = is_idle && experiments.on_screen().is_some();
        match command {
            "start again" => has_ended,
            "slot moves" => !has_ended && self.made_for.as_ref().is_some_and(|of| of.has_cards),
            "start" => {
                let starts = || self.entry().is_some_and(|entry| entry.plan.is_ok());
                let is_listed = experiments.on_screen().is_none();
                is_idle && (experiments.refused().is_some() || is_listed && starts())
            }
            // An experiment that is not here has no arms to edit; the custom one has, whatever it lacks.
            "custom arms" => {
                let is_here = self.entry().is_some_and(|entry| entry.plan.is_ok() || is_own(entry));
                is_idle && experiments.on_screen().is_none() && is_here
            }
            "more rounds" => {
                let goes_on = |account: &Account| account.can_go_on() && account.rounds > 0;
                has_ended && experiments.on_screen().is_some_and(|one| goes_on(&one.account))
            }
            "add to sheet" => has_ended && experiments.done_at.is_some(),
            "keep winner" => has_ended && self.kept.is_empty() && has_changes_to_keep(shared),
            "undo kept" => !self.kept.is_empty(),
            "samples" => experiments.on_screen().is_some(),
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        match shared.experiments.on_screen() {
            Some(shown) if command == "up" => {
                let [arms, .., panel] = account_areas(self, &shown.account, shared, area);
                let inside = inner(panel, shared.is_boxed());
                let lines = words::panel_lines(self, shared, shown, inside.width).len();
                lines > usize::from(inside.height) || self.arms_move(shown, shared, arms)
            }
            _ => true,
        }
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        let is_posted = || {
            let at = shared.experiments.done_at;
            at.is_some_and(|at| shared.experiments.posted.contains(&at))
        };
        match command {
            "add to sheet" if is_posted() => Some("drop from sheet"),
            "back" if shared.experiments.on_screen().is_some() => Some("back"),
            "samples" if shared.experiments.on_screen().is_some() => {
                Some(if self.shows_runs { "verdict" } else { "runs" })
            }
            // The key leaves the selected experiment for the custom one.
            "custom arms" if !self.entry().is_some_and(is_own) => Some("custom arms"),
            _ => None,
        }
    }

    fn mark(&self, shared: &Shared) -> Option<String> {
        shared.experiments.running().map(|_| "●".to_owned())
    }

    fn field(&mut self) -> Option<&mut TextField> {
        self.edit.as_mut().map(|(_, input)| input)
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        let (Some((arm, input)), Some(key)) = (&mut self.edit, key) else { return Asks::new() };
        let arm = *arm;
        self.written = None;
        let next = match (key, arm) {
            (Key::Esc, _) => {
                self.edit = None;
                return Asks::new();
            }
            (Key::Enter | Key::Tab | Key::Down, 0) => Some(1),
            (Key::Enter | Key::Tab | Key::Down, _) => None,
            (Key::Up | Key::BackTab, 1) => Some(0),
            (key, _) => {
                input.press(key);
                return Asks::new();
            }
        };
        let (words, files) = without_files(input.value());
        if let Some(why) = files.as_ref().and_then(|files| shared.unreadable(files)) {
            return vec![warn(why)];
        }
        if let Err(needs) = custom_arms::read(&Workload::default(), arm, &words, &["filename"]) {
            return vec![warn(format!("{} {needs}", ["A", "B"][arm.min(1)]))];
        }
        self.written = files.is_some().then(|| (arm, input.clone(), self.own[arm].clone()));
        self.own[arm] = words;
        self.edit = next.map(|next| (next, TextField::new(self.own[next].clone())));
        files.map(|files| Ask::Hand(ScreenId("dyno"), Subject::Files(files))).into_iter().collect()
    }

    fn field_hints(&self) -> Vec<Piece> {
        if self.edit.is_none() {
            return Vec::new();
        }
        hints(&self.edit_keys())
    }
}

/// Whether it is the custom experiment.
fn is_own(entry: &Entry) -> bool {
    entry.row.id.0 == "own"
}

/// An arm without its `filename=A:B`, and those files: both arms read the same.
fn without_files(text: &str) -> (String, Option<Vec<PathBuf>>) {
    let (named, others): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| word.starts_with("filename="));
    let files = named.last().map(|word| names(word.trim_start_matches("filename=")));
    (others.join(" "), files)
}

/// Everything that the arms of an experiment read, and the drives whose settings they change.
fn targets_of(plan: &Plan, machine: &Machine) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let read = plan.arms.iter().flat_map(|arm| &arm.workload.targets).cloned();
    let changed = plan.arms.iter().flat_map(|arm| &arm.settings).filter_map(|one| match &one.device {
        Device::Drive(name) => machine.drive(name).map(Drive::target),
        _ => None,
    });
    for target in read.chain(changed) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// The settings that the arms of an experiment change: `scheduler of vda`.
fn settings_of(plan: &Plan) -> Vec<String> {
    let mut devices: BTreeMap<&str, BTreeSet<&Device>> = BTreeMap::new();
    for one in plan.arms.iter().flat_map(|arm| &arm.settings) {
        devices.entry(one.setting.0).or_default().insert(&one.device);
    }
    let words = |(setting, devices): (&str, BTreeSet<&Device>)| match devices.first() {
        Some(one) if devices.len() == 1 => format!("{setting} of {one}"),
        _ => format!("{setting} of {}", counted(devices.len(), "device")),
    };
    devices.into_iter().map(words).collect()
}

impl WhatIf {
    /// Keys of the arm that is open.
    pub(super) fn edit_keys(&self) -> [(&'static str, &'static str); 2] {
        let is_first = self.edit.as_ref().is_some_and(|(arm, _)| *arm == 0);
        [("Enter", if is_first { "accept, next arm" } else { "accept" }), ("Esc", "cancel")]
    }

    /// Puts the cursor on an experiment.
    fn select(&mut self, index: usize) {
        if self.selected != index {
            (self.selected, self.words_top) = (index, 0);
        }
    }

    /// Scrolls the text about the selected experiment by `step` lines.
    fn scroll_about(&mut self, step: isize, shared: &Shared, inside: Rect) {
        let lines = self.entry().map(|entry| draw::lines(self, shared, entry, inside.width).len());
        self.words_top = scrolled(self.words_top, step, lines.unwrap_or(0), inside.height);
    }

    /// Whether some arms are out of sight.
    fn arms_move(&self, shown: &Progress, shared: &Shared, panel: Rect) -> bool {
        let (seen, _) = arms::seen(&shown.account, panel, self.arms_top, shared.is_boxed());
        shown.account.arms.len() > usize::from(seen)
    }

    /// Scrolls the arms by `step` rows.
    fn scroll_arms(&mut self, step: isize, shown: &Progress, shared: &Shared, panel: Rect) {
        let (seen, top) = arms::seen(&shown.account, panel, self.arms_top, shared.is_boxed());
        self.arms_top = scrolled(top, step, shown.account.arms.len(), seen);
    }

    /// Scrolls the verdict or the runs by `step` lines.
    fn scroll_words(&mut self, step: isize, shown: &Progress, shared: &Shared, panel: Rect) {
        let inside = inner(panel, shared.is_boxed());
        let lines = words::panel_lines(self, shared, shown, inside.width).len();
        self.words_top = scrolled(self.words_top, step, lines, inside.height);
    }

    /// Begins the selected experiment; a verdict on the screen stays there.
    pub(super) fn start(&mut self, shared: &Shared) -> Asks {
        if shared.experiments.on_screen().is_some_and(|shown| shown.account.has_ended()) {
            return vec![tell(
                "This experiment has ended: {start again} runs it again, {back} shows the list",
            )];
        }
        self.begin(shared)
    }

    /// The experiment that a start begins: the one on the screen, else the selected one.
    fn meant(&self, shared: &Shared) -> Option<&Entry> {
        let on_screen = shared.experiments.on_screen().map(|shown| shown.account.plan.experiment.id);
        on_screen.map_or_else(|| self.entry(), |id| self.list.iter().find(|entry| entry.row.id == id))
    }

    /// Begins an experiment, also one that has ended.
    pub(super) fn begin(&mut self, shared: &Shared) -> Asks {
        if shared.experiments.running().is_some() {
            return vec![tell("An experiment is running: {stop} stops it and restores settings")];
        }
        if shared.tests.running().is_some() {
            return vec![tell(
                "A test is running: {stop} stops it; an experiment needs the drives to itself",
            )];
        }
        let plan = match shared.experiments.refused() {
            Some((account, why)) => account.plan.on_files(&shared.machine, why.files(), FILE_SIZE),
            None => match self.meant(shared) {
                Some(entry) => entry.plan.clone(),
                None => return Asks::new(),
            },
        };
        let name = self.meant(shared).map_or("", |entry| entry.row.id.0);
        match plan.map(Box::new) {
            Ok(plan) if shared.must_ask(&targets_of(&plan, &shared.machine)) => {
                let (targets, settings) = (targets_of(&plan, &shared.machine), settings_of(&plan));
                vec![Ask::Agree(Reads { targets, settings, command: "start again" })]
            }
            Ok(plan) => {
                (self.words_top, self.arms_top, self.shows_runs) = (0, 0, false);
                self.kept.clear();
                vec![
                    Ask::Change(SharedChange::BeginExperiment(plan.clone())),
                    Ask::Effect(Effect::BeginExperiment(plan)),
                ]
            }
            Err(needs) => vec![warn(format!("{name} {needs}"))],
        }
    }

    /// Shows the runs, or the verdict again.
    pub(super) const fn show_runs(&mut self) -> Asks {
        (self.words_top, self.shows_runs) = (0, !self.shows_runs);
        Asks::new()
    }

    /// Opens the first arm of `own` for text.
    pub(super) fn write_arms(&mut self, shared: &Shared) -> Asks {
        let own = self.list.iter().position(|entry| entry.row.id.0 == "own");
        if let Some(at) = own.filter(|_| shared.experiments.on_screen().is_none()) {
            self.selected = at;
            self.edit = Some((0, TextField::new(self.own[0].clone())));
        }
        Asks::new()
    }

    /// Writes the winner's settings, as the tune screen would.
    pub(super) fn keep(&mut self, shared: &Shared) -> Asks {
        if shared.experiments.running().is_some() {
            return vec![tell("Nothing to keep while the experiment runs: its verdict comes first")];
        }
        let Some((_, winner)) = shared.experiments.winner() else {
            return vec![tell("Nothing to keep: no arm with a changed setting has won")];
        };
        let Some(shown) = &shared.experiments.shown else { return Asks::new() };
        match changes(&shared.machine, &shown.account.plan, winner) {
            Ok(changes) if changes.is_empty() => {
                vec![tell("The winner's settings are already set")]
            }
            Ok(changes) => {
                self.kept = changes.iter().map(|change| change.file.clone()).collect();
                vec![Ask::Change(SharedChange::AwaitSettings), Ask::Effect(Effect::ApplyChanges(changes))]
            }
            Err(why) => vec![warn(why)],
        }
    }

    /// Restores what was kept.
    pub(super) fn put_back(&mut self, _shared: &Shared) -> Asks {
        let files = std::mem::take(&mut self.kept);
        if files.is_empty() {
            return vec![tell("Nothing to undo: the experiment restored its settings and none was kept")];
        }
        vec![
            Ask::Change(SharedChange::AwaitSettings),
            Ask::Effect(Effect::UndoChanges(Undoing::Files(files))),
        ]
    }
}

/// Gives the experiment that ended as much time as it says it needs, or as much again as it had.
pub(super) fn longer(shared: &Shared) -> Asks {
    let shown = shared.experiments.shown.as_ref().filter(|shown| shown.account.phase == Phase::Ended);
    let Some(shown) = shown else {
        return vec![tell("No experiment to extend: {start} starts the selected one")];
    };
    let account = &shown.account;
    if !account.can_go_on() {
        return vec![tell("The experiment failed and cannot be extended: {start again} runs it again")];
    }
    if account.rounds == 0 {
        return vec![tell(
            "No round was counted, so there is nothing to add to: {start again} runs it again",
        )];
    }
    let rounds = account.rounds_to_go().unwrap_or(8).clamp(4, 200);
    let (planned, run) = (account.plan.round_time(), account.samples.len() / account.arms.len().max(1));
    // Rounds take longer than planned: half a one more, so that the look comes before the end of the time.
    let took = shown.elapsed.checked_div(u32::try_from(run).unwrap_or(u32::MAX)).unwrap_or_default();
    let each = took.clamp(planned, planned * 2);
    vec![Ask::Effect(Effect::MeasureLonger(each * rounds + planned / 2))]
}

/// Puts the verdict into the sheet, or leaves it out again.
pub(super) fn to_sheet(shared: &Shared) -> Asks {
    let experiments = &shared.experiments;
    if experiments.running().is_some() {
        return vec![tell("The experiment still runs: its verdict can go into the sheet at its end")];
    }
    let Some(at) = experiments.done_at.filter(|_| experiments.shown.is_some()) else {
        return vec![tell("No verdict to add to the sheet: {start again} runs the experiment")];
    };
    let told = if experiments.posted.contains(&at) {
        "Verdict removed from the sheet"
    } else {
        "Verdict added to the sheet: {sheet} shows it"
    };
    vec![Ask::Change(SharedChange::TurnExperiment(at)), tell(told)]
}

/// Whether keeping the winner would write anything.
fn has_changes_to_keep(shared: &Shared) -> bool {
    let shown = shared.experiments.shown.as_ref().zip(shared.experiments.winner());
    shown.is_some_and(|(shown, (_, winner))| {
        changes(&shared.machine, &shown.account.plan, winner).is_ok_and(|changes| !changes.is_empty())
    })
}

/// The writes of the winner's settings, the scheduler first.
fn changes(machine: &Machine, plan: &Plan, winner: usize) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for set in &plan.arms[winner].settings {
        let Some(row) = settings::find(set.setting.0) else { continue };
        let planned = tuner::planned(machine, &set.device, row, &set.value);
        changes.extend(planned.map_err(|error| error.to_string())?);
    }
    changes.retain(|change| change.from != change.to);
    changes.sort_by_key(|change| settings::rank(change.setting.0));
    Ok(changes)
}
