//! The sheet screen: what goes into a forum post, in which format, and the text that is copied or saved.

mod draw;
mod update;

use std::{collections::BTreeSet, sync::Arc};

use ratatui::layout::{Constraint, Layout, Rect};
use unicode_width::UnicodeWidthStr;

pub(crate) use self::draw::picture;
use super::{
    Run,
    widgets::paint::{cells, inner},
};
use crate::{
    model::{ExperimentRecord, Pattern, RunRecord},
    report::{
        dossier::{Dossier, Material},
        sheet::{self, Choice, Format, PARTS, Part},
        wrapped,
    },
    ui::{
        About, Command,
        Key::{self, Char},
        ScreenId, Shared,
        command::command,
        theme::Meaning,
    },
    units::{BytesPerSecond, UnitSystem, block_size},
};

pub(super) const ABOUT: About = About {
    id: ScreenId("sheet"),
    digit: '7',
    name: "Sheet",
    help: "Show the sheet: the summary for a forum post, to copy or save",
    purpose: "The summary for a forum post: choose its parts and format, then copy or save it.",
    mark: 0,
    marks: &[
        ("[x] [ ]", Meaning::Key, "in the sheet, left out; each run has its own box"),
        (
            "▲ ! ▼ ▽",
            Meaning::Warning,
            "in the tree: high finding, warning; link downtrained, limited by its slot",
        ),
        ("names", Meaning::Text, "left out with serials, mount paths and network addresses unless checked"),
        ("{page up} {page down}", Meaning::Key, "scroll the preview; it is copied as shown"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Sheet>>] = &[
    command(470, &[Char(' '), Key::Enter], "include", "include", "Include the selected part in the sheet, or leave it out", Sheet::toggle),
    command(480, &[Char('f')], "format", "format", "Use the next format: Markdown, BBCode, plain text, JSON", Sheet::next_format),
    command(490, &[Char('y')], "copy", "copy", "Copy the sheet to the terminal's clipboard, through tmux and ssh too", Sheet::copy),
    command(500, &[Char('w')], "save", "save", "Save the sheet as a new file in the current directory", Sheet::save),
];

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
    /// What goes in; experiments of this start are left to `Shared`, and runs have the numbers of `number`.
    choice: Choice,
    /// How it is written.
    format: Format,
    /// Whether serials, names, paths and addresses stay as they are.
    with_serials: bool,
    /// The check box under the cursor.
    at: usize,
    /// Lines of the preview above the first one shown.
    pub top: usize,
    /// The text that is copied.
    pub text: String,
    /// The same in lines that fit the preview.
    lines: Vec<String>,
    /// Runs and experiments that were kept before this start: they come before its own.
    kept: (usize, usize),
    /// Runs of this start that are forgotten.
    forgotten: usize,
    /// Experiments of this start that are in the sheet.
    posted: BTreeSet<usize>,
    /// The data of the parts.
    dossier: Option<Arc<Dossier>>,
}

impl Sheet {
    /// The check boxes, in their order.
    fn boxes(&self) -> Vec<CheckBox> {
        let parts = PARTS.iter().map(|row| CheckBox::Part(row.part));
        let counts = |dossier: &Arc<Dossier>| (dossier.runs.len(), dossier.experiments.len());
        let (runs, experiments) = self.dossier.as_ref().map_or((0, 0), counts);
        let runs = (0..runs).map(CheckBox::Run);
        let experiments = (0..experiments).map(CheckBox::Experiment);
        parts.chain(runs).chain(experiments).chain([CheckBox::Names]).collect()
    }

    /// Whether a box is checked.
    fn is_checked(&self, which: &CheckBox) -> bool {
        match which {
            CheckBox::Part(part) => self.choice.parts.contains(part),
            CheckBox::Run(run) => !self.choice.without_runs.contains(&self.number(*run)),
            CheckBox::Experiment(at) => match at.checked_sub(self.kept.1) {
                Some(own) => self.posted.contains(&own),
                None => !self.choice.without_experiments.contains(at),
            },
            CheckBox::Names => self.with_serials,
        }
    }

    /// Label of a box, the longest that fits into `room` cells.
    fn name(&self, which: &CheckBox, room: u16) -> String {
        match which {
            CheckBox::Part(part) => {
                PARTS.iter().find(|row| row.part == *part).map_or(String::new(), |row| row.name.to_owned())
            }
            CheckBox::Run(at) => {
                let Some(run) = self.dossier.as_ref().and_then(|of| of.runs.get(*at)) else {
                    return String::new();
                };
                let time = time(run.run.started, *at < self.kept.0);
                let stopped = if run.run.interrupted { ", stopped" } else { "" };
                let rate = UnitSystem::Decimal.rate(BytesPerSecond(run.run.bytes_per_second()));
                let work = &run.run.workload;
                if room < NARROW {
                    let pattern = if work.pattern == Pattern::Random { "rand" } else { "read" };
                    let (number, block) = (at + 1, block_size(work.block_size));
                    let mark = if run.run.interrupted { "!" } else { "" };
                    let short = rate.replace(' ', "");
                    let forms = [
                        format!("{number}: {block} {pattern} {rate}{mark}"),
                        format!("{number}: {block} {pattern} {short}{mark}"),
                        format!("{number}: {block} {short}{mark}"),
                    ];
                    let fitting = forms.iter().find(|form| cells(form) <= room);
                    return fitting.unwrap_or(&forms[2]).clone();
                }
                format!("run {}{time}: {}, {rate}{stopped}", at + 1, work.title())
            }
            CheckBox::Experiment(at) => {
                let all = self.dossier.as_ref().map_or(&[][..], |of| &of.experiments);
                let Some(record) = all.get(*at) else { return String::new() };
                let (number, name) = (at + 1, &record.name);
                let time = time(record.started, *at < self.kept.1);
                let forms = [
                    format!(
                        "experiment {number}{time}: {name}{}",
                        sheet::repeated(record, all[..*at].iter())
                    ),
                    format!("experiment {number}{time}: {name}"),
                    format!("experiment {number}: {name}"),
                ];
                let brief = || format!("exp {number} {name}");
                forms.into_iter().find(|form| cells(form) <= room).unwrap_or_else(brief)
            }
            CheckBox::Names => "serials and names".to_owned(),
        }
    }

    /// A run's number, which stays its own when older runs of this start are forgotten.
    fn number(&self, run: usize) -> usize {
        if run < self.kept.0 { run } else { run + self.forgotten }
    }

    /// What goes in, by places in the dossier.
    fn chosen(&self, dossier: &Dossier) -> Choice {
        let is_out = |which: &CheckBox| !self.is_checked(which);
        let runs = (0..dossier.runs.len()).filter(|run| is_out(&CheckBox::Run(*run)));
        let experiments = (0..dossier.experiments.len()).filter(|at| is_out(&CheckBox::Experiment(*at)));
        Choice {
            without_runs: runs.collect(),
            without_experiments: experiments.collect(),
            ..self.choice.clone()
        }
    }

    /// Makes the text if there is none, and lines of it that fit.
    fn make(&mut self, shared: &Shared, area: Rect) {
        let dossier = self.dossier.take().unwrap_or_else(|| {
            self.text.clear();
            Arc::new(self.record(shared))
        });
        if self.text.is_empty() {
            self.text = sheet::text(&dossier, &self.chosen(&dossier), self.format);
        }
        self.dossier = Some(dossier);
        self.fold(usize::from(Areas::new(self, shared, area).preview_rows.width));
    }

    /// The data of the parts now.
    fn record(&mut self, shared: &Shared) -> Dossier {
        let boot = shared.machine.host.boot_id.value();
        let (kept, tests) = (&shared.kept, &shared.tests);
        self.kept = (kept.runs.len(), kept.experiments.len());
        self.forgotten = tests.forgotten;
        self.posted.clone_from(&shared.experiments.posted);
        let own = tests.all.iter().filter_map(|test| test.record(boot));
        let runs: Vec<RunRecord> = kept.runs.iter().cloned().chain(own).collect();
        let done = shared.experiments.done.iter();
        let experiments: Vec<ExperimentRecord> = kept.experiments.iter().chain(done).cloned().collect();
        let last = tests.all.back().filter(|test| test.summary().is_some());
        let lines = shared.pulls.finished().map(|(_, outcome)| outcome.sheet()).unwrap_or_default();
        Dossier::new(&Material {
            mode: &shared.mode,
            machine: &shared.machine,
            problems: &shared.problems,
            pull: &lines,
            change_log: &shared.settings.change_log,
            watch: last.map(|test| &test.watch),
            runs: &runs,
            experiments: &experiments,
            with_serials: self.with_serials,
        })
    }

    /// Breaks the text into lines of at most `width` columns.
    fn fold(&mut self, width: usize) {
        let fold = |line: &str| {
            if line.width() <= width { vec![line.to_owned()] } else { wrapped("", line, width) }
        };
        self.lines = self.text.lines().flat_map(fold).collect();
    }
}

/// Cells for a name, below which runs have short ones.
const NARROW: u16 = 24;

/// ` (19:40 UTC)` for what was stored before this start; nothing where the time is unknown.
fn time(started: i64, is_stored: bool) -> String {
    let at = jiff::Timestamp::from_second(started).ok().filter(|_| is_stored && started > 0);
    at.map(|at| at.strftime(" (%H:%M UTC)").to_string()).unwrap_or_default()
}

/// Columns that the lines of a sheet's boxes take.
const WIDTH: u16 = 78;
/// Columns of check boxes beside the preview.
const LEAST_BOXES: u16 = 32;
/// Columns of check boxes over the preview.
const BOX_COLUMNS: usize = 3;

/// Where everything is.
struct Areas {
    /// The panel of what goes in.
    boxes: Rect,
    /// Its check boxes.
    box_rows: Rect,
    /// The sheet as it will be posted.
    preview: Rect,
    /// Its lines.
    preview_rows: Rect,
}

impl Areas {
    /// Check boxes beside the preview; over it, in columns, where there is no room for its lines beside them.
    fn new(state: &Sheet, shared: &Shared, area: Rect) -> Self {
        let boxed = shared.is_boxed();
        let width = area.width.saturating_sub(WIDTH + 4).min(52);
        let [boxes, preview] = if width >= LEAST_BOXES {
            Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(area)
        } else {
            let rows = u16::try_from(state.boxes().len().div_ceil(BOX_COLUMNS)).unwrap_or(u16::MAX);
            let frame = if boxed { 2 } else { 1 };
            let height = rows.saturating_add(frame).min(area.height / 2);
            Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area)
        };
        Self { boxes, box_rows: inner(boxes, boxed), preview, preview_rows: inner(preview, boxed) }
    }
}

/// The check boxes' places, each with its index: one below the other, in columns where the area is low; those around the
/// one under the cursor when there is no room for all.
fn check_boxes(area: Rect, count: usize, at: usize) -> Vec<(usize, Rect)> {
    let rows = usize::from(area.height);
    if rows == 0 {
        return Vec::new();
    }
    let columns = if area.width >= WIDTH { BOX_COLUMNS } else { 1 };
    let shown = rows * columns;
    let first = (at + 1).saturating_sub(shown);
    let width = area.width / u16::try_from(columns).unwrap_or(1);
    let place = |index: usize| {
        let (column, row) = ((index - first) / rows, (index - first) % rows);
        let offset = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        Rect::new(area.x + width * offset(column), area.y + offset(row), width, 1)
    };
    (first..count.min(first + shown)).map(|index| (index, place(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_stays_out_when_an_older_run_is_forgotten() {
        let mut sheet = Sheet::default();
        sheet.choice.without_runs = BTreeSet::from([0, 1, 4]);
        sheet.forgotten = 1;
        let out: Vec<usize> = (0..4).filter(|run| !sheet.is_checked(&CheckBox::Run(*run))).collect();
        assert_eq!(out, [0, 3]);
    }
}
