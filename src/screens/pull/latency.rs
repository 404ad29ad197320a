//! Latency at depth 1, drive by drive, of the last phase of a pull.

use ratatui::layout::Rect;

use super::runs::shown;
use crate::{
    model::{RunSummary, TargetSummary},
    pull::{Phase, Pull},
    screens::widgets::{
        paint::{Brush, cells, fit_name, piece},
        scroll::{self, out_of_sight, scrolled},
        words::nanoseconds,
    },
    ui::{Shared, theme::Meaning},
};

/// Percentiles with a column.
const PERCENTILES: [(f64, &str); 3] = [(50.0, "median"), (99.0, "p99"), (99.9, "p99.9")];
/// Cells of a time and the gap before it.
const TIME: u16 = 10;

/// The run at depth 1 of the pull shown, once it has ended.
pub(super) fn run(shared: &Shared) -> Option<&RunSummary> {
    of(shown(shared)?)
}

fn of(pull: &Pull) -> Option<&RunSummary> {
    let is_latency = |phase: &Phase| matches!(phase, Phase::Latency | Phase::Row("RND4K Q1T1"));
    pull.done().iter().rev().find(|done| is_latency(&done.step.phase))?.result.as_ref().ok()
}

/// Rows for drives, below the heading.
pub(super) fn rows(inner: Rect) -> u16 {
    inner.height.saturating_sub(1)
}

/// Draws a row for each drive: its percentiles, and its median as a bar beside the slowest one's.
pub(super) fn draw(shared: &Shared, area: Rect, top: usize, brush: &mut Brush<'_>) {
    let Some(run) = run(shared) else { return };
    let title = [
        piece("Latency", Meaning::Heading),
        piece("  4 KiB random, depth 1; bar: share of the slowest median", Meaning::Quiet),
    ];
    let inner = brush.panel(area, &title, &[]);
    let time = |target: &TargetSummary, percent: f64| {
        target.latency.as_ref().and_then(|latency| latency.percentile(percent))
    };
    let slowest = run.targets.iter().filter_map(|target| time(target, 50.0)).max().unwrap_or(1);
    let columns = TIME * u16::try_from(PERCENTILES.len()).unwrap_or(0);
    let room = inner.width.saturating_sub(columns);
    let label = |target: &TargetSummary| target.name.as_str().trim_start_matches("/dev/").to_owned();
    let longest = run.targets.iter().map(|target| cells(&label(target))).max().unwrap_or(0);
    // A bar gives way to a long name, to a third of the room.
    let name = (longest + 1).clamp(room / 3, (2 * room / 3).max(1));
    let bar = room - name;
    let right = |index: usize| inner.x + room + TIME * (u16::try_from(index).unwrap_or(0) + 1);
    for (index, (_, word)) in PERCENTILES.iter().enumerate() {
        brush.write_right(right(index), inner.y, &[piece(*word, Meaning::Quiet)]);
    }
    brush.text(inner.x, inner.y, name, "drive", Meaning::Quiet);
    let rows = rows(inner);
    let top = scrolled(top, 0, run.targets.len(), rows);
    for (y, target) in (inner.y + 1..inner.bottom()).zip(run.targets.iter().skip(top)) {
        let label = fit_name(&label(target), name.saturating_sub(1));
        brush.text(inner.x, y, name, &label, Meaning::Drive);
        if let Some(median) = time(target, 50.0) {
            let share = median as f64 / slowest.max(1) as f64;
            brush.bar(inner.x + name, y, bar.saturating_sub(2), share, Meaning::Load);
        }
        for (index, (percent, _)) in PERCENTILES.iter().enumerate() {
            let text = time(target, *percent).map_or_else(|| "-".to_owned(), |ns| nanoseconds(ns as f64));
            let meaning = if index == 0 { Meaning::Figure } else { Meaning::Text };
            brush.write_right(right(index), y, &[piece(text, meaning)]);
        }
    }
    scroll::mark(brush, area, scroll::PAGES, out_of_sight(top, run.targets.len(), rows));
}
