//! Keys and mouse on the dyno screen.

use ratatui::layout::{Position, Rect};

use super::{Areas, Curve, Dyno, Plot, compared, draw, form::FIELDS, form_panel, offer, span, targets_panel};
use crate::{
    model::Workload,
    pull::FILE_SIZE,
    screens::{
        Over, Screen, Step,
        widgets::{
            bottleneck_panel,
            graph::TimeAxis,
            paint::{Brush, Piece, hints, inner},
            scroll::scrolled,
            span::{NO_SAMPLE, Selection},
        },
    },
    ui::{
        Ask, Asks, Effect, Key, Shared, SharedChange, Subject, TextField,
        ask::{Reads, tell, warn},
        test::Test,
    },
    units::counted,
};

impl Screen for Dyno {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn terms(&self) -> Option<(&'static str, Vec<[&'static str; 2]>)> {
        Some(("Fields", FIELDS.iter().map(|field| [field.name, field.help]).collect()))
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Step::Pages(_) = step {
            let areas = Areas::new(self, shared, area);
            let page = |panel| step.rows(inner(panel, shared.is_boxed()).height);
            self.scroll_result(page(areas.outcome), shared, area);
            // Its heading and its total stay.
            self.scroll_targets(
                page(Rect { height: areas.targets.height.saturating_sub(2), ..areas.targets }),
                shared,
                area,
            );
        } else {
            self.form.step(step.rows(0));
        }
        Asks::new()
    }

    /// Puts the cursor on a field; a press on the one it is on changes it. A press on a run shows it.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self, shared, area);
        let begins = self.begin_span(at, shared, area);
        let top = form_panel::form_top(self, areas.form_rows);
        let index = top + usize::from(at.y.saturating_sub(areas.form_rows.y));
        if areas.form_rows.contains(at) && index < FIELDS.len() {
            self.form.cancel_edit();
            let again = self.form.at == index;
            self.form.at = index;
            if again && !self.form.step_choice(1) {
                self.form.begin_edit();
            }
        } else if areas.past.contains(at) {
            let rows = inner(areas.past, shared.is_boxed());
            let row = usize::from(at.y.saturating_sub(rows.y));
            let row = row + form_panel::past_top(self, shared, rows.height);
            if rows.contains(at) && row < shared.tests.all.len() {
                self.show_run(row);
            }
        } else if areas.plots.iter().any(|(_, area)| area.contains(at)) && !begins {
            return self.next_curve(shared);
        }
        Asks::new()
    }

    fn selection(&mut self) -> Option<&mut Selection> {
        Some(&mut self.selection)
    }

    fn axis_at(&self, at: Position, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        self.axis_of_curve(at, shared, area)
    }

    /// A click on a curve shows the next one.
    fn release(&mut self, shared: &Shared) -> Asks {
        if self.selection.end() {
            return self.next_curve(shared);
        }
        let shown = self.selection.span.zip(self.shown(&shared.tests));
        if shown.is_some_and(|(span, test)| !span::has_points(span, self.curve, test)) {
            self.selection.span = None;
            return vec![tell(NO_SAMPLE)];
        }
        Asks::new()
    }

    /// Over the runs it goes from one to the next, over the form from field to field, over targets and the result
    /// through their lines.
    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self, shared, area);
        if areas.past.contains(at) {
            return self.step_history(step, shared);
        } else if areas.form.contains(at) {
            self.form.step(step);
        } else if areas.outcome.contains(at) {
            self.scroll_result(step, shared, area);
        } else if areas.targets.contains(at) {
            self.scroll_targets(step, shared, area);
        }
        Asks::new()
    }

    /// Clears the span that is selected on a curve, goes from an older test to the newest.
    fn back(&mut self, _shared: &Shared) -> Option<Asks> {
        if self.selection.span.take().is_none() {
            if self.back == 0 {
                return None;
            }
            self.show_run(0);
        }
        Some(Asks::new())
    }

    /// Where drives may not be read, a question offers files on their file systems.
    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        if let Subject::Files(files) = subject {
            self.form.files.clone_from(files);
            return self.share_files(shared);
        }
        if let Subject::Profile(name) = subject {
            self.form.edit = None;
            return if self.form.fill_from(name) { self.tell_profile(name) } else { Asks::new() };
        }
        if let Subject::Runs(pull) = subject {
            let newest = shared.tests.all.iter().rev().position(|test| test.pull == Some(*pull));
            self.show_run(newest.unwrap_or(0));
        }
        let Subject::Refused(files) = subject else { return Asks::new() };
        // Keys that are being written into a field answer no question.
        if self.form.edit.is_some() {
            return Asks::new();
        }
        self.form.offer(files, FILE_SIZE);
        self.result_top = 0;
        vec![Ask::Show(super::ABOUT.id, None), Ask::Open(super::ABOUT.id)]
    }

    fn refresh(&mut self, shared: &Shared, _area: Rect) -> Asks {
        self.share_files(shared)
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let is_running = shared.tests.running().is_some();
        match command {
            "pause" => is_running,
            "run" => {
                !is_running
                    && shared.pulls.running.is_none()
                    && shared.experiments.running().is_none()
                    && shared.can_test()
            }
            "profile" => shared.can_test() && shared.experiments.running().is_none(),
            "pull page" => {
                let Shared { pulls, experiments, .. } = shared;
                experiments.running().is_none() || pulls.running.is_some() || pulls.ended.is_some()
            }
            "previous choice" => !self.form.field().choices.is_empty(),
            "edit" => shared.can_test(),
            "older run" => shared.tests.all.len() > 1,
            "compare" => compared::pair(&shared.tests, self.back).is_some(),
            "curve" => self.shown(&shared.tests).is_some(),
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        let is_curve = |(plot, _): &&(Plot, Rect)| matches!(plot, Plot::Curve(_));
        command != "curve" || Areas::new(self, shared, area).plots.iter().filter(is_curve).count() == 1
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        let is_paused = || shared.tests.running().is_some_and(Test::is_paused);
        match command {
            "pause" if is_paused() => Some("resume"),
            "back" if self.selection.span.is_some() => Some("clear span"),
            "back" if self.back > 0 => Some("newest test"),
            _ => None,
        }
    }

    fn mark(&self, shared: &Shared) -> Option<String> {
        shared.tests.running().map(|_| "●".to_owned())
    }

    fn over(&self, shared: &Shared, width: u16) -> Option<Over> {
        offer::over(self, shared, width)
            .or_else(|| Some(compared::over(shared, &compared::pair(&shared.tests, self.back)?, width)))
    }

    fn over_hints(&self, shared: &Shared) -> Vec<Piece> {
        if self.form.offered.is_some() {
            return offer::key_hints();
        }
        let is_pair = |at: &usize| *at != self.back && compared::pair(&shared.tests, *at).is_some();
        if !(0..shared.tests.all.len()).any(|at| is_pair(&at)) {
            return Vec::new();
        }
        let keys = ["older run", "newer run"].map(|command| shared.keys.of(command)).join(" ");
        hints(&[(&keys, "other tests"), ("Esc", "close")])
    }

    fn over_key(&mut self, key: Key, command: Option<&str>, shared: &Shared) -> Option<Asks> {
        if self.form.offered.is_some() {
            return offer::key(self, key, command, shared);
        }
        match command? {
            "back" | "compare" | "quit" => Some(vec![Ask::Close]),
            // The text names them: it then compares another pair.
            "older run" => Some(self.step_pair(1, shared)),
            "newer run" => Some(self.step_pair(-1, shared)),
            _ => None,
        }
    }

    fn field(&mut self) -> Option<&mut TextField> {
        self.form.edit.as_mut()
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        match key {
            Some(Key::Esc) => self.form.cancel_edit(),
            Some(Key::Enter | Key::Tab | Key::Down) => {
                let before = self.form.clone();
                if let Err(wrong) = self.form.accept_edit() {
                    return vec![warn(wrong)];
                }
                if let Some(why) = shared.unreadable(&self.form.files) {
                    self.form = before;
                    return vec![warn(why)];
                }
                if key != Some(Key::Enter) {
                    self.form.step(1);
                }
            }
            key => {
                if let Some((key, input)) = key.zip(self.form.edit.as_mut()) {
                    input.press(key);
                }
            }
        }
        Asks::new()
    }

    fn field_hints(&self) -> Vec<Piece> {
        if self.form.edit.is_none() {
            return Vec::new();
        }
        hints(&[("Enter", "accept"), ("Tab", "accept, next"), ("Esc", "cancel")])
    }
}

impl Dyno {
    /// Makes the form's files those of experiments too.
    fn share_files(&self, shared: &Shared) -> Asks {
        let (files, size) = (&self.form.files, self.form.workload.size);
        let is_same = files.iter().eq(shared.files.iter().map(|file| &file.path)) && size == shared.file_size;
        if is_same {
            return Asks::new();
        }
        vec![Ask::Change(SharedChange::Files(files.clone(), size))]
    }

    /// Shows the test that is `back` from the newest.
    fn show_run(&mut self, back: usize) {
        (self.back, self.result_top, self.targets_top) = (back, 0, 0);
        self.form.offered = None;
        self.selection = Selection::default();
    }

    /// Scrolls the table of targets by `step` rows.
    fn scroll_targets(&mut self, step: isize, shared: &Shared, area: Rect) {
        let Some(test) = self.shown(&shared.tests) else { return };
        let inside = inner(Areas::new(self, shared, area).targets, shared.is_boxed());
        let (all, rows) = (test.targets.len(), targets_panel::rows(test, inside));
        self.targets_top = scrolled(self.targets_top, step, all, rows);
    }

    /// Scrolls the words of the result, or about the bottleneck, by `step` lines.
    fn scroll_result(&mut self, step: isize, shared: &Shared, area: Rect) {
        let panel = Areas::new(self, shared, area).outcome;
        let inside = inner(panel, shared.is_boxed());
        self.result_top = match self.ended(shared) {
            Some(test) => {
                let lines = draw::result(shared, test, inside.width).len();
                scrolled(self.result_top, step, lines, inside.height)
            }
            None => bottleneck_panel::scrolled(shared, panel, self.result_top, step),
        };
    }

    /// Fills the form with the next row of CrystalDiskMark's profile.
    pub(super) fn next_profile(&mut self) -> Asks {
        let name = self.form.next_profile();
        self.tell_profile(&name)
    }

    fn tell_profile(&self, name: &str) -> Asks {
        let jobs = counted(self.form.workload.jobs, "job");
        vec![tell(format!("Profile {name} is in the form, with {jobs} on each drive. {{run}} runs it"))]
    }

    /// Begins a test of what the form describes.
    pub fn run(&mut self, shared: &Shared) -> Asks {
        if shared.experiments.running().is_some() {
            return vec![tell("An experiment is running: {stop} stops it and restores settings")];
        }
        if let Some(why) = shared.untestable() {
            return vec![tell(why)];
        }
        if shared.pulls.running.is_some() {
            return vec![tell("A pull is running: {pull page} shows it, {stop} stops it")];
        }
        if shared.tests.running().is_some() {
            return vec![tell("A test is running: {stop} stops it")];
        }
        // A key meant for the pull that has just ended starts nothing.
        if shared.pulls.is_unseen {
            return vec![Ask::Show(crate::ui::ScreenId("pull"), None)];
        }
        let workload = Workload { targets: self.targets(shared), ..self.form.workload.clone() };
        if let Err(wrong) = workload.validate() {
            return vec![warn(wrong.to_string())];
        }
        if shared.must_ask(&workload.targets) {
            return vec![Ask::Agree(Reads {
                targets: workload.targets,
                settings: Vec::new(),
                command: "run",
            })];
        }
        self.show_run(0);
        let test = shared.test_of(workload.clone());
        vec![
            Ask::Change(SharedChange::BeginTest(Box::new(test))),
            Ask::Effect(Effect::StartRun(Box::new(workload))),
        ]
    }

    /// Shows the test on the screen beside the one before.
    pub(super) fn compare(&mut self, shared: &Shared) -> Asks {
        self.form.offered = None;
        if compared::pair(&shared.tests, self.back).is_some() {
            return vec![Ask::Open(super::ABOUT.id)];
        }
        let lead =
            if shared.can_test() { "Two tests that have ended are needed: {run} runs one. " } else { "" };
        vec![tell(format!("{lead}{}", compared::FILES))]
    }

    /// Goes to the next (1) or previous (-1) choice of the field.
    pub(super) fn choose(&mut self, step: isize) -> Asks {
        if self.form.step_choice(step) {
            return Asks::new();
        }
        vec![tell("This field has no choices: {edit} opens it for text")]
    }

    /// Opens the field for text.
    pub(super) fn edit(&mut self, _shared: &Shared) -> Asks {
        self.form.begin_edit();
        Asks::new()
    }

    /// Shows the next curve.
    pub(super) fn next_curve(&mut self, _shared: &Shared) -> Asks {
        self.curve = match self.curve {
            Curve::Throughput => Curve::Iops,
            Curve::Iops => Curve::Latency,
            Curve::Latency => Curve::Throughput,
        };
        Asks::new()
    }

    /// Shows the test `step` before (1) or after (-1) the one shown.
    pub(super) fn step_history(&mut self, step: isize, shared: &Shared) -> Asks {
        let last = shared.tests.all.len().saturating_sub(1);
        let to = self.back.saturating_add_signed(step).min(last);
        if to == self.back {
            let end = if step > 0 { "oldest" } else { "newest" };
            return vec![tell(format!("This is the {end} test"))];
        }
        self.show_run(to);
        Asks::new()
    }

    /// The same to the next test that can be compared with another one.
    fn step_pair(&mut self, step: isize, shared: &Shared) -> Asks {
        let places =
            std::iter::successors(self.back.checked_add_signed(step), |at| at.checked_add_signed(step));
        let mut places = places.take_while(|at| *at < shared.tests.all.len());
        if let Some(at) = places.find(|at| compared::pair(&shared.tests, *at).is_some()) {
            self.show_run(at);
        }
        Asks::new()
    }
}

/// Pauses the test, or lets it go on.
pub(super) fn pause(_: &mut Dyno, shared: &Shared) -> Asks {
    vec![match shared.tests.running() {
        Some(test) => Ask::Effect(test.pause_or_resume()),
        None => tell(shared.untestable().unwrap_or("No test is running: {run} starts one")),
    }]
}
