//! The runs of a pull with their figures, and the rate over the time of one of them.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Pull as Page, has_runs};
use crate::{
    pull::{Done, Phase, Pull, is_small},
    report::pull::curve::{AXIS, below, plot, shares},
    screens::widgets::{
        paint::{Brush, Piece, cells, fit, fit_name, piece, width},
        scroll,
        words::{giga, iops, nanoseconds, rate},
    },
    ui::{Shared, series::Scale, test::Test, theme::Meaning},
    units::count,
};

/// Draws the runs, the newest last.
pub(super) fn list(page: &Page, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let curves = has_runs(shared).then(|| shared.keys.fill("  {runs} shows their curves"));
    let curves = curves.map(|words| piece(words, Meaning::Quiet));
    let title: Vec<Piece> = [piece("Runs", Meaning::Heading)].into_iter().chain(curves).collect();
    let inner = brush.panel(area, &title, &[]);
    let lines = lines(shared);
    let end = lines.len().saturating_sub(usize::from(inner.height));
    let above = end.saturating_sub(page.newer);
    scroll::mark(brush, area, scroll::PAGES, (above, end - above));
    for (y, [name, figure]) in (inner.y..inner.bottom()).zip(lines.iter().skip(above)) {
        let room = inner.width.saturating_sub(cells(&figure.0) + 2);
        brush.text(inner.x, y, room, &fit_name(&name.0, room), name.1);
        brush.write_right(inner.right(), y, std::slice::from_ref(figure));
    }
}

/// A line for each run: its name and its figure.
pub(super) fn lines(shared: &Shared) -> Vec<[Piece; 2]> {
    let Some(pull) = shown(shared) else { return Vec::new() };
    let mut lines: Vec<[Piece; 2]> = pull.done().iter().map(|done| line(shared, pull, done)).collect();
    let now = |rate: &str| piece(format!("now {rate}"), Meaning::Figure);
    if let Some((step, test)) = shared.pulls.step().zip(shared.tests.running()) {
        let figure = match &test.preparing {
            Some(_) => piece("preparing", Meaning::Warning),
            None if test.is_paused() => piece("paused", Meaning::Warning),
            None if is_small(&step.workload) => now(&iops(test.iops())),
            None => now(&rate(shared.units, test.bytes_per_second())),
        };
        lines.push([piece(pull.short_name(&step), Meaning::Text), figure]);
    }
    lines
}

/// The pull in progress, else the last one.
pub(super) fn shown(shared: &Shared) -> Option<&Pull> {
    let ended = shared.pulls.ended.as_ref().map(|(pull, _)| pull);
    shared.pulls.running.as_ref().or(ended)
}

fn line(shared: &Shared, pull: &Pull, done: &Done) -> [Piece; 2] {
    let name = piece(pull.short_name(&done.step), Meaning::Quiet);
    let Ok(run) = &done.result else { return [name, piece("could not run", Meaning::Problem)] };
    let latency = run.targets.iter().filter_map(|target| target.latency.as_ref()?.percentile(50.0)).max();
    let is_latency = matches!(done.step.phase, Phase::Latency | Phase::Row("RND4K Q1T1"));
    let figure = match latency.filter(|_| is_latency) {
        Some(median) => format!("median {}", nanoseconds(median as f64)),
        None if is_small(&run.workload) => iops(run.iops()),
        None => rate(shared.units, run.bytes_per_second()),
    };
    [name, piece(figure, Meaning::Text)]
}

/// Whether there is a rate over time to draw.
pub(super) fn has_curve(shared: &Shared) -> bool {
    shown(shared).is_some_and(|pull| Curve::of(shared, pull).is_some())
}

/// Draws the rate over the time of the run in progress; after the pull, of all drives together.
pub(super) fn curve(shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let Some(pull) = shown(shared) else { return };
    if let Some(curve) = Curve::of(shared, pull) {
        draw_curve(shared, pull, &curve, area, brush);
    }
}

/// Draws the rate of small reads over the time of their longest run.
pub(super) fn small_curve(shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let Some(pull) = shown(shared) else { return };
    let is_small = |phase: &Phase| matches!(phase, Phase::Random | Phase::Row("RND4K Q32T16"));
    let blocks = |done: &Done| done.step.workload.block_size.0 as f64;
    if let Some(curve) = Curve::of_done(pull, is_small) {
        let block = pull.done().get(curve.step).map_or(1.0, blocks).max(1.0);
        let values = curve.values.iter().map(|bytes| bytes / block).collect();
        draw_curve(shared, pull, &Curve { values, is_small: true, ..curve }, area, brush);
    }
}

fn draw_curve(shared: &Shared, pull: &Pull, curve: &Curve, area: Rect, brush: &mut Brush<'_>) {
    let unit = if curve.is_small { "IOPS" } else { shared.units.giga_per_second() };
    let (heading, unit) =
        (piece("Rate over time", Meaning::Heading), piece(format!("  {unit}"), Meaning::Quiet));
    let room = brush.title_room(area.width).saturating_sub(width(&[heading.clone(), unit.clone()]) + 2);
    let title = [heading, unit, piece(format!("  {}", fit(&curve.name, room)), Meaning::Quiet)];
    let inner = brush.panel(area, &title, &[]);
    let axis = u16::try_from(AXIS).unwrap_or(0);
    let columns = usize::from(inner.width.saturating_sub(axis));
    let foot = below(curve.whole, curve.step, pull.conditions(), columns);
    let high = inner.height.saturating_sub(1 + u16::try_from(foot.len()).unwrap_or(0));
    if columns < 30 || high < 3 {
        return;
    }
    let most = curve.values.iter().copied().fold(0.0, f64::max);
    let mut scale = Scale::new(1.0);
    scale.fit(Duration::ZERO, most);
    let top = if curve.is_small { scale.top() } else { shared.units.axis(scale.top()) };
    let share = (curve.read.as_secs_f64() / curve.whole.as_secs_f64().max(1e-9)).min(1.0);
    let drawn = usize::from(crate::screens::widgets::graph::share_of(inner.width - axis, share)).max(1);
    let label = |value: f64| if curve.is_small { count(value) } else { giga(shared.units, value) };
    let pauses = shares(&curve.pauses, curve.read);
    let lines = plot(&curve.values, top, drawn, usize::from(high), &pauses);
    for (row, (y, dots)) in (inner.y..inner.y + high).zip(&lines).enumerate() {
        let (row, middle) = (u16::try_from(row).unwrap_or(0), high / 2);
        let is_labelled = row == 0 || row == middle;
        if is_labelled && most > 0.0 {
            let value = label(if row == 0 { top } else { top / 2.0 });
            brush.write_right(inner.x + axis - 1, y, &[piece(value, Meaning::Quiet)]);
        }
        brush.text(inner.x + axis - 1, y, 1, if is_labelled { "┤" } else { "│" }, Meaning::Lines);
        brush.text(inner.x + axis, y, inner.width - axis, dots, Meaning::Load);
    }
    let y = inner.y + high;
    brush.write_right(inner.x + axis - 1, y, &[piece("0", Meaning::Quiet)]);
    brush.text(inner.x + axis - 1, y, inner.width, &format!("└{}", "─".repeat(columns)), Meaning::Lines);
    for (y, line) in (y + 1..inner.bottom()).zip(&foot) {
        brush.text(inner.x, y, inner.width, line, Meaning::Quiet);
    }
}

/// Values from the beginning of a run on, evenly spaced.
struct Curve {
    name: String,
    values: Vec<f64>,
    /// Time read so far, and of the whole run.
    read: Duration,
    whole: Duration,
    /// Counted time at which pauses began.
    pauses: Vec<Duration>,
    /// Its place in the series.
    step: usize,
    /// Whether values are reads per second.
    is_small: bool,
}

impl Curve {
    fn of(shared: &Shared, pull: &Pull) -> Option<Self> {
        if let Some((step, test)) = shared.pulls.step().zip(shared.tests.running()) {
            let is_small = is_small(&step.workload);
            let (name, whole) = (pull.short_name(&step), step.time());
            let values = values(test, is_small, whole);
            let pauses = test.each.first().map(|each| each.pauses.clone()).unwrap_or_default();
            let (read, step) = (test.elapsed, pull.done().len());
            return Some(Self { name, values, read, whole, pauses, step, is_small });
        }
        Self::of_done(pull, |phase| matches!(phase, Phase::Together | Phase::Row("SEQ1M Q8T1")))
    }

    /// Of a run that has ended, in bytes per second.
    fn of_done(pull: &Pull, is: impl Fn(&Phase) -> bool) -> Option<Self> {
        let (step, done) = pull.done().iter().enumerate().find(|(_, done)| is(&done.step.phase))?;
        let whole = done.step.time();
        let values = done.seconds.rates.clone();
        let read = Duration::from_secs(u64::from(done.seconds.step) * values.len() as u64).min(whole);
        // The last second of a run is not a whole one.
        let read = if done.result.as_ref().is_ok_and(|run| run.interrupted) { read } else { whole };
        let (name, pauses) = (pull.short_name(&done.step), done.seconds.pauses.clone());
        Some(Self { name, values, read, whole, pauses, step, is_small: false })
    }
}

/// Of a run of a minute all that was seen; of a longer one a value a second, or for several.
fn values(test: &Test, is_small: bool, whole: Duration) -> Vec<f64> {
    if whole <= crate::ui::series::WINDOW {
        let series = if is_small { &test.total.iops } else { &test.total.bytes };
        return series.points().map(|(_, value)| value).collect();
    }
    let count = test.each.iter().map(|seconds| seconds.rates.len()).min().unwrap_or(0);
    let at = |second: usize| test.each.iter().map(|seconds| seconds.rates[second]).sum::<f64>();
    (0..count).map(at).collect()
}
