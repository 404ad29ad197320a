//! The state of the sheet screen: what goes in, in which format, and the text that is copied or saved.
//!
//! The text is made when the screen is shown and whenever what it tells has changed. Not here: what a sheet says
//! (`report::sheet`), the clipboard, files (`runtime`).

use std::{collections::BTreeSet, sync::Arc};

use unicode_width::UnicodeWidthStr;

use super::{App, Effect, message::Kept};
use crate::{
    model::{ExperimentRecord, RunRecord},
    report::{
        dossier::{Dossier, Material},
        sheet::{self, Choice, Format, PARTS, Part},
    },
};

/// Something that can be left out or put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckBox {
    /// A part.
    Part(Part),
    /// A run, counted from the oldest.
    Run(usize),
    /// An experiment, likewise.
    Experiment(usize),
    /// Serials, names, paths and addresses as they are.
    Names,
}

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// What goes in.
    pub choice: Choice,
    /// How it is written.
    pub format: Format,
    /// Whether serials, names, paths and addresses stay as they are.
    pub with_serials: bool,
    /// The check box under the cursor.
    pub at: usize,
    /// What was kept before this start: it comes before what this one did.
    pub kept: Kept,
    /// Lines of the preview above the first one shown.
    pub top: usize,
    /// The text that is copied.
    pub text: String,
    /// The same in lines that fit the preview.
    pub lines: Vec<String>,
    /// How many experiments of this start were offered.
    offered: usize,
    /// What the parts are made from.
    dossier: Option<Arc<Dossier>>,
}

impl Sheet {
    /// The check boxes, in their order.
    pub fn boxes(&self) -> Vec<CheckBox> {
        let parts = PARTS.iter().map(|row| CheckBox::Part(row.part));
        let counts = |dossier: &Arc<Dossier>| (dossier.runs.len(), dossier.experiments.len());
        let (runs, experiments) = self.dossier.as_ref().map_or((0, 0), counts);
        let runs = (0..runs).map(CheckBox::Run);
        let experiments = (0..experiments).map(CheckBox::Experiment);
        parts.chain(runs).chain(experiments).chain([CheckBox::Names]).collect()
    }

    /// Whether a box is checked.
    pub fn is_checked(&self, which: &CheckBox) -> bool {
        match which {
            CheckBox::Part(part) => self.choice.parts.contains(part),
            CheckBox::Run(run) => !self.choice.without_runs.contains(run),
            CheckBox::Experiment(one) => !self.choice.without_experiments.contains(one),
            CheckBox::Names => self.with_serials,
        }
    }

    /// What a box says.
    pub fn name(&self, which: &CheckBox) -> String {
        match which {
            CheckBox::Part(part) => {
                PARTS.iter().find(|row| row.part == *part).map_or(String::new(), |row| row.name.to_owned())
            }
            CheckBox::Run(at) => {
                let run = self.dossier.as_ref().and_then(|dossier| dossier.runs.get(*at)).map(|of| &of.run);
                let time = run.filter(|_| *at < self.kept.runs.len()).and_then(|run| time(run.started));
                let title = run.map(|run| run.workload.title()).unwrap_or_default();
                format!("run {}{}: {title}", at + 1, time.unwrap_or_default())
            }
            CheckBox::Experiment(at) => {
                let record = self.dossier.as_ref().and_then(|dossier| dossier.experiments.get(*at));
                let is_kept = *at < self.kept.experiments.len();
                let time = record.filter(|_| is_kept).and_then(|record| time(record.started));
                let name = record.map(|record| record.name.to_string()).unwrap_or_default();
                format!("experiment {}{}: {name}", at + 1, time.unwrap_or_default())
            }
            CheckBox::Names => "serials and names".to_owned(),
        }
    }

    /// Takes what was kept before this start.
    pub(super) fn take_kept(&mut self, kept: Kept) {
        self.kept = kept;
        self.forget();
    }

    /// The place of an experiment of this start among all.
    fn place(&self, own: usize) -> usize {
        self.kept.experiments.len() + own
    }

    /// An experiment of this start has ended: it stays out until it is asked for, and in once it was.
    pub(super) fn offer_experiment(&mut self, own: usize) {
        if own >= self.offered {
            self.choice.without_experiments.insert(self.place(own));
            self.offered = own + 1;
        }
        self.forget();
    }

    /// Puts an experiment of this start in, or leaves it out.
    pub(super) fn turn_experiment(&mut self, own: usize) {
        let at = self.place(own);
        flip(&mut self.choice.without_experiments, at);
        self.text.clear();
    }

    /// Whether an experiment of this start is in.
    pub fn has_experiment(&self, own: usize) -> bool {
        !self.choice.without_experiments.contains(&self.place(own))
    }

    /// The oldest run of this start is gone: what was said of the others stays said of them.
    pub(super) fn forget_run(&mut self) {
        let gone = self.kept.runs.len();
        let others = self.choice.without_runs.iter().filter(|at| **at != gone);
        self.choice.without_runs = others.map(|at| at - usize::from(*at > gone)).collect();
        self.forget();
    }

    /// What it tells has changed: it is made anew when it is shown next.
    pub fn forget(&mut self) {
        self.dossier = None;
    }

    /// Moves the cursor.
    pub fn step(&mut self, step: isize) {
        let last = self.boxes().len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(step).min(last);
    }

    /// Scrolls the preview of `height` lines.
    pub fn scroll(&mut self, step: isize, height: usize) {
        let most = self.lines.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(step).min(most);
    }

    /// Puts in or leaves out what the cursor is on.
    pub fn toggle(&mut self) {
        match self.boxes().get(self.at) {
            Some(CheckBox::Part(part)) => flip(&mut self.choice.parts, *part),
            Some(CheckBox::Run(run)) => flip(&mut self.choice.without_runs, *run),
            Some(CheckBox::Experiment(one)) => flip(&mut self.choice.without_experiments, *one),
            Some(CheckBox::Names) => {
                self.with_serials = !self.with_serials;
                self.dossier = None;
            }
            None => {}
        }
        self.text.clear();
    }

    /// Goes to the next format, at its beginning.
    pub fn next_format(&mut self) {
        self.format = self.format.next();
        self.top = 0;
        self.text.clear();
    }

    /// Breaks the text into lines of at most `width` columns.
    fn fold(&mut self, width: usize) {
        let fold = |line: &str| {
            if line.width() <= width { vec![line.to_owned()] } else { sheet::wrapped(line, width) }
        };
        self.lines = self.text.lines().flat_map(fold).collect();
    }
}

fn flip<T: Ord + Copy>(set: &mut BTreeSet<T>, member: T) {
    if !set.remove(&member) {
        set.insert(member);
    }
}

/// Makes the text if there is none, and lines of it that fit.
pub(super) fn refresh(app: &mut App) {
    if app.sheet.dossier.is_none() {
        let boot = app.machine.host.boot_id.value();
        let own = app.dyno.tests.iter().filter_map(|test| test.record(boot));
        let runs: Vec<RunRecord> = app.sheet.kept.runs.iter().cloned().chain(own).collect();
        let done = app.whatif.experiments.done.iter();
        let experiments: Vec<ExperimentRecord> =
            app.sheet.kept.experiments.iter().chain(done).cloned().collect();
        let last = app.dyno.tests.back().filter(|test| test.summary().is_some());
        let dossier = Dossier::new(&Material {
            provenance: &app.mode.provenance(),
            machine: &app.machine,
            problems: &app.problems,
            ledger: &app.tune.ledger,
            watch: last.map(|test| &test.watch),
            runs: &runs,
            experiments: &experiments,
            with_serials: app.sheet.with_serials,
        });
        app.sheet.dossier = Some(Arc::new(dossier));
        app.sheet.text.clear();
    }
    if let (true, Some(dossier)) = (app.sheet.text.is_empty(), app.sheet.dossier.clone()) {
        app.sheet.text = sheet::text(&dossier, &app.sheet.choice, app.sheet.format);
    }
    let area = app.layout().preview_rows;
    app.sheet.fold(usize::from(area.width));
    app.sheet.scroll(0, usize::from(area.height));
    app.sheet.step(0);
}

/// ` (19:40 UTC)`; nothing where the time is not known.
fn time(started: i64) -> Option<String> {
    let at = jiff::Timestamp::from_second(started).ok().filter(|_| started > 0)?;
    Some(at.strftime(" (%H:%M UTC)").to_string())
}

/// To the clipboard of the terminal.
pub(super) fn copy(app: &App) -> Vec<Effect> {
    vec![Effect::Copy(app.sheet.text.clone(), app.sheet.format.name())]
}

/// Into a new file of the folder iodyno was started in.
pub(super) fn save(app: &App) -> Vec<Effect> {
    vec![Effect::Save(app.sheet.text.clone(), app.sheet.format.extension())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_stays_out_when_an_older_run_is_forgotten() {
        let mut sheet = Sheet::default();
        sheet.choice.without_runs = BTreeSet::from([0, 1, 4]);
        sheet.forget_run();
        assert_eq!(sheet.choice.without_runs, BTreeSet::from([0, 3]));
    }
}
