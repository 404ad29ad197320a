//! The pull's page of the dyno: consent, progress, headline, drives.

mod draw;
mod latency;
mod rows;
mod runs;
mod update;

use ratatui::layout::{Constraint, Layout, Rect};

use super::{Run, Screen, widgets::words::BARS};
use crate::pull;
use crate::ui::{
    About, Ask, Command,
    Key::{self, Char},
    ScreenId, Shared, SharedChange, Subject,
    command::command,
    test::Test,
};

pub(super) const ABOUT: About = About {
    id: ScreenId("pull"),
    digit: '4',
    name: "Pull",
    help: "",
    purpose: "The pull: each drive alone, all together, random reads, latency; one headline names the limit. It only reads.",
    mark: 0,
    marks: &BARS,
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Pull>>] = &[
    command(102, &[Char('r')], "pull", "pull again", "Run the pull again", |page, shared| page.take(&Subject::Pull, shared)),
    command(112, &[Char(' ')], "pause", "pause pull", "Pause or resume the pull", |_, shared| update::pause(shared)),
    command(341, &[Key::Enter], "finding", "finding", "Start the pull that waits; after it, open the finding that names the limit", update::enter),
    command(461, &[Char('d')], "curves", "runs", "Show the runs of the pull: curves, percentiles, the form", update::details),
    command(601, &[Char('w')], "what if", "slot move", "Open the remedy: the card in another slot, or the experiment", update::remedy),
    command(603, &[Char('p')], "other pull", "other pull", "Show the finished pull before a stopped one, or the stopped one again", |_, _| vec![Ask::Change(SharedChange::OtherPull)]),
    command(602, &[Char('s')], "sheet", "to sheet", "Show the sheet, which begins with this headline", update::sheet),
];

/// The page's state.
#[derive(Debug, Clone, Default)]
pub struct Pull {
    /// The first drive shown.
    top: usize,
    /// Lines by which the text above them is scrolled down.
    head_top: usize,
    /// Runs below the last one shown.
    newer: usize,
    /// The first drive of the latencies shown.
    latency_top: usize,
}

/// The number of the pull shown.
fn number(shared: &Shared) -> Option<u32> {
    let ended = shared.pulls.ended.as_ref().map(|(pull, _)| pull);
    shared.pulls.running.as_ref().or(ended).map(pull::Pull::number)
}

/// Whether the dyno has a run of the pull shown that reads or has read.
fn has_runs(shared: &Shared) -> bool {
    let has_read = |test: &Test| !matches!(&test.result, Some(Err(why)) if why.is_stop());
    let of = |number| shared.tests.all.iter().any(|test| test.pull == Some(number) && has_read(test));
    number(shared).is_some_and(of)
}

/// Where everything is.
#[derive(Default)]
struct Areas {
    /// Consent, progress or headline.
    head: Rect,
    /// The drives.
    drives: Rect,
    /// The runs, where there is room below the drives.
    runs: Option<Rect>,
    /// A curve beside them.
    curve: Option<Rect>,
    /// Where there is room below these: latency by drive.
    latency: Option<Rect>,
    /// And the curve of small reads.
    small: Option<Rect>,
}

/// The drives that are in sight below any headline.
const DRIVES: u16 = 3;
/// The least height of the panels below the drives, and the least width for two of them.
const LEAST_HEIGHT: u16 = 6;
/// From this height on they have two rows of panels.
const TWO_ROWS: u16 = 22;
const TWO: u16 = 100;

impl Areas {
    fn new(shared: &Shared, area: Rect) -> Self {
        let frame = if shared.is_boxed() { 2 } else { 1 };
        let inside = area.width.saturating_sub(if shared.is_boxed() { 4 } else { 2 });
        let lines = u16::try_from(draw::head(shared, inside).len()).unwrap_or(u16::MAX);
        let count = u16::try_from(rows::rows(shared).len()).unwrap_or(u16::MAX);
        // The headline scrolls where it would leave no drive in sight; the question is read as a whole.
        let least = if count == 0 || shared.pulls.asked.is_some() { 0 } else { frame + count.min(DRIVES) };
        let high = lines.saturating_add(frame).min(area.height.saturating_sub(least));
        let [head, rest] = Layout::vertical([Constraint::Length(high), Constraint::Min(0)]).areas(area);
        let high = count.saturating_add(frame + rows::heading(inside));
        if runs::lines(shared).is_empty()
            || shared.pulls.asked.is_some()
            || rest.height < high.saturating_add(LEAST_HEIGHT)
        {
            return Self { head, drives: rest, ..Self::default() };
        }
        let [drives, below] = Layout::vertical([Constraint::Length(high), Constraint::Min(0)]).areas(rest);
        if below.width < TWO || !runs::has_curve(shared) {
            return Self { head, drives, runs: Some(below), ..Self::default() };
        }
        let [runs, curve] = Layout::horizontal([Constraint::Percentage(45), Constraint::Min(0)]).areas(below);
        let both =
            |runs, curve| Self { head, drives, runs: Some(runs), curve: Some(curve), ..Self::default() };
        let Some(run) = latency::run(shared).filter(|_| below.height >= TWO_ROWS) else {
            return both(runs, curve);
        };
        // Latency takes what its drives need, up to half.
        let rows = u16::try_from(run.targets.len()).unwrap_or(u16::MAX).saturating_add(frame + 1);
        let split = [Constraint::Min(0), Constraint::Length(rows.min(below.height / 2))];
        let [runs, latency] = Layout::vertical(split).areas(runs);
        let [curve, small] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(curve);
        Self { latency: Some(latency), small: Some(small), ..both(runs, curve) }
    }
}
