//! The dyno screen: the workload's form, the test that is shown, its curves, its targets, what came of it.

mod compared;
mod draw;
pub mod form;
mod form_panel;
mod offer;
mod span;
mod targets_panel;
mod update;

use std::path::PathBuf;

use ratatui::layout::{Constraint, Layout, Rect};

use self::form::{FIELDS, Form};
use super::{
    Run,
    widgets::{bottleneck_panel, paint::inner, span::Selection, words::BARS},
};
use crate::{
    machine::Drive,
    model::Target,
    ui::{
        About, Ask, Command,
        Key::{self, Char},
        ScreenId, Shared,
        command::{command, pair},
        test::{Test, Tests},
        theme::Meaning,
    },
};

pub(super) const ABOUT: About = About {
    id: ScreenId("dyno"),
    digit: '4',
    name: "Dyno",
    help: "Show the dyno: read tests and their curves",
    purpose: "Read tests: set a workload, run it on the marked drives, watch the curves.",
    mark: 1,
    marks: &[
        ("──", Meaning::Brand, "all targets together; each target has the colour of its name"),
        ("┈┈", Meaning::Lines, "the limit of the bottleneck"),
        ("█▓▒░", Meaning::Good, "share of reads by latency, over time"),
        ("▲", Meaning::Warning, "the result does not measure the drive, and why"),
        BARS[0],
        BARS[1],
        BARS[2],
        BARS[3],
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Dyno>>] = &[
    command(101, &[Char('r')], "run", "run", "Run the workload on the marked drives, or on all if none is marked", Dyno::run),
    command(110, &[Char(' ')], "pause", "pause", "Pause or resume the test", update::pause),
    pair("←→", command(260, &[Key::Left, Char('h')], "change", "previous choice", "Previous choice of the field", |dyno, _| dyno.choose(-1))),
    command(270, &[Key::Right, Char('l')], "", "next choice", "Next choice of the field", |dyno, _| dyno.choose(1)),
    command(340, &[Key::Enter], "edit", "edit", "Edit the field; Enter accepts, Esc cancels", Dyno::edit),
    command(455, &[Char('p')], "pull", "pull page", "Show the pull: its progress, or its headline", |_, _| vec![Ask::Show(ScreenId("pull"), None)]),
    command(460, &[Char('c')], "curve", "curve", "Show another curve: throughput, IOPS, latency; a drag shows the figures of a span", Dyno::next_curve),
    command(465, &[Char('P')], "profile", "profile", "Next profile: those of the configuration file, then CrystalDiskMark's SEQ1M Q8T1 to RND4K Q1T1", |dyno, _| dyno.next_profile()),
    pair("[ ]", command(510, &[Char('[')], "runs", "older run", "Show the previous run", |dyno, shared| dyno.step_history(1, shared))),
    command(520, &[Char(']')], "", "newer run", "Show the next run", |dyno, shared| dyno.step_history(-1, shared)),
    command(525, &[Char('=')], "compare", "compare", "Compare the test shown with the one before; `iodyno compare A B` compares two sheets or captures", Dyno::compare),
];

/// Quantity of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Curve {
    /// Bytes per second.
    #[default]
    Throughput,
    /// Reads per second.
    Iops,
    /// Completion latency.
    Latency,
}

/// Content of a plot panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plot {
    /// A curve over time.
    Curve(Curve),
    /// Latency over time as shades.
    Heat,
}

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Dyno {
    /// The workload as the form has it.
    pub form: Form,
    /// Which test is shown, counted from the newest.
    back: usize,
    /// Lines by which the words of its result, or about the bottleneck, are scrolled down.
    result_top: usize,
    /// Rows by which its targets are scrolled down.
    targets_top: usize,
    /// The curve shown where there is room for one.
    curve: Curve,
    /// The span of time that is selected on a curve.
    selection: Selection,
}

impl Dyno {
    /// The test on the screen.
    pub fn shown<'a>(&self, tests: &'a Tests) -> Option<&'a Test> {
        tests.all.iter().rev().nth(self.back)
    }

    /// The same where it has ended: its result is shown.
    fn ended<'a>(&self, shared: &'a Shared) -> Option<&'a Test> {
        self.shown(&shared.tests).filter(|test| !test.is_running())
    }

    /// The targets a test would run on: the form's files, else the marked drives, else every hardware drive.
    fn targets(&self, shared: &Shared) -> Vec<Target> {
        if !self.form.files.is_empty() {
            let target = |file: &PathBuf| Target { path: file.clone(), drive: None };
            return self.form.files.iter().map(target).collect();
        }
        shared.tested_drives().map(Drive::target).collect()
    }
}

/// Where everything is.
struct Areas {
    /// The workload's form.
    form: Rect,
    /// Its fields.
    form_rows: Rect,
    /// The tests before.
    past: Rect,
    /// Curves and shades.
    plots: Vec<(Plot, Rect)>,
    /// The table of targets.
    targets: Rect,
    /// The result of the test, or the bottleneck.
    outcome: Rect,
}

impl Areas {
    /// The form beside curves, targets and the result; rows that the targets of a test do not need are the result's.
    fn new(state: &Dyno, shared: &Shared, area: Rect) -> Self {
        /// More rows than these would leave the targets' panel behind, but for a result that needs them.
        const MORE: u16 = 4;
        /// Rows that say what a field takes.
        const HELP: u16 = 3;
        /// The least rows of a curve, and of the targets where the result takes rows of theirs.
        const CURVE: u16 = 7;
        const TARGETS: u16 = 5;
        let boxed = shared.is_boxed();
        let fields = u16::try_from(FIELDS.len()).unwrap_or(u16::MAX);
        let form_width = match area.width {
            ..100 => 27,
            100..160 => 35,
            _ => 44,
        };
        let [left, right] = columns(area, form_width);
        let frame = if boxed { 2 } else { 1 };
        let high = fields + frame + HELP * u16::from(boxed);
        // Too few rows for a test before are the form's.
        let is_rest = left.height.saturating_sub(high) > frame;
        let [form, past] = rows(left, if is_rest { high } else { left.height });
        let test = state.shown(&shared.tests);
        let width = inner(right, boxed).width;
        let lines = match test {
            Some(test) if test.is_running() => 0,
            Some(test) => draw::result(shared, test, width).len(),
            None => bottleneck_panel::count(shared, width),
        };
        let wanted = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame);
        let low = match test {
            // The result is the answer: it has what the least of curves and targets leave.
            Some(test) if !boxed && !test.is_running() => {
                wanted.clamp(2, right.height.saturating_sub(CURVE + TARGETS).max(2))
            }
            _ if boxed => 4,
            _ => 2,
        };
        let [right, held] = rows(right, right.height.saturating_sub(low));
        let share = if right.height >= 40 { 58 } else { 46 };
        let [plots, below] = rows(right, (right.height * share / 100).max(CURVE));
        // Beside its targets: the heading, their total, and after the test what a read cost.
        let others = |test: &Test| 1 + usize::from(test.targets.len() > 1) + usize::from(!test.is_running());
        let needed = test.map_or(HELP.into(), |test| test.targets.len() + others(test));
        let needed = u16::try_from(needed).unwrap_or(u16::MAX).saturating_add(frame);
        let spare = below.height.saturating_sub(needed);
        let more = wanted.saturating_sub(low).max(if test.is_some() { MORE } else { 0 });
        let [targets, more] = rows(below, below.height - spare.min(more));
        let outcome = Rect { y: more.y, height: more.height + held.height, ..held };
        let plots = match (right.width, right.height) {
            (..80, _) => vec![(Plot::Curve(Curve::Throughput), plots)],
            (_, ..40) => {
                let [one, two] = columns(plots, right.width * 57 / 100);
                vec![(Plot::Curve(Curve::Throughput), one), (Plot::Heat, two)]
            }
            _ => {
                let [upper, lower] = rows(plots, plots.height.div_ceil(2));
                let [one, two] = columns(upper, right.width / 2);
                let [three, four] = columns(lower, right.width / 2);
                vec![
                    (Plot::Curve(Curve::Throughput), one),
                    (Plot::Curve(Curve::Iops), two),
                    (Plot::Curve(Curve::Latency), three),
                    (Plot::Heat, four),
                ]
            }
        };
        Self { form, form_rows: inner(form, boxed), past, plots, targets, outcome }
    }
}

/// The upper part of an area, so many rows high, and the rest.
fn rows(area: Rect, height: u16) -> [Rect; 2] {
    Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area)
}

/// The left part of an area, so many columns wide, and the rest.
fn columns(area: Rect, width: u16) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(area)
}
