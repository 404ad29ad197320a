//! The last minute as curves, in the room that tables leave.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::{
    report::why::{Panel, tables, waits},
    screens::widgets::{
        graph::{Curve, Graph, TimeAxis, sample},
        paint::{Brush, piece},
        span::Span,
        words::RateUnit,
    },
    ui::{
        Shared,
        series::{Scale, Series, WINDOW},
        theme::Meaning,
    },
    units::count,
};

/// Curves of the last minute.
#[derive(Debug, Clone)]
pub(super) struct History {
    /// Bytes per second.
    read: Series,
    written: Series,
    bytes: Scale,
    /// Interrupts of drives per second.
    interrupts: Series,
    per_second: Scale,
    /// Time in which some task waits for I/O, memory or a CPU, percent (`/proc/pressure`).
    waits: [Series; 3],
    /// Tasks that run, and that wait for a device, as `/proc/stat` counts them.
    tasks: [Series; 2],
    most_tasks: Scale,
    /// Mean numbers of threads that run, and that wait for I/O.
    threads: [Series; 2],
    most_threads: Scale,
    last: Option<Duration>,
}

impl Default for History {
    fn default() -> Self {
        let empty = Series::default;
        Self {
            read: empty(),
            written: empty(),
            bytes: Scale::new(1e8),
            interrupts: empty(),
            per_second: Scale::new(1e3),
            waits: [empty(), empty(), empty()],
            tasks: [empty(), empty()],
            most_tasks: Scale::new(4.0),
            threads: [empty(), empty()],
            most_threads: Scale::new(4.0),
            last: None,
        }
    }
}

/// A curve with its name.
type Drawn<'a> = (&'a Series, &'static str, Meaning);

/// The least time between points; news come for other reasons than counters too.
const BETWEEN: Duration = Duration::from_millis(500);
/// The least rows of curves with their caption.
const LEAST: u16 = 4;
/// The same below rows that matter less, which are worth more than low curves.
const BESIDE: u16 = 6;

/// The most rows of curves beside rows that could be shown instead.
pub(super) const MOST: u16 = 16;

/// Parts a panel's body: what `rows` rows above need, and curves below an empty row where there is room. Rows that matter less get a
/// third of what is left, and what the curves do not need.
pub(super) fn split(body: Rect, rows: usize, has_more: bool) -> (Rect, Rect) {
    let free = body.height.saturating_sub(u16::try_from(rows).unwrap_or(u16::MAX));
    let least = if has_more { BESIDE + 1 } else { LEAST };
    if free < least {
        return (body, Rect::default());
    }
    let height = if has_more { (free * 2 / 3).clamp(BESIDE, MOST) } else { (free - 1).max(LEAST) };
    let gap = u16::from(free > height);
    let above = Rect { height: body.height - height - gap, ..body };
    (above, Rect { y: body.bottom() - height, height, ..body })
}

/// Whether a panel has curves.
pub(super) fn has_curves(panel: Panel, shared: &Shared) -> bool {
    match panel {
        Panel::Profile => false,
        Panel::Threads => shared.activity.threads.is_some(),
        Panel::Cpus | Panel::Interrupts | Panel::Processes | Panel::Pressure => true,
    }
}

/// `last 1 s: `, the time that the figures beside a curve are of: those of tables may be means of several looks, or of a
/// test that `is_over`.
fn last(shared: &Shared, is_over: bool) -> String {
    if is_over {
        return "now: ".to_owned();
    }
    let seconds = shared.rates.as_ref().map_or(1.0, |rates| rates.elapsed.as_secs_f64());
    // The first look comes sooner.
    let digits = usize::from(seconds < 0.95);
    format!("last {seconds:.digits$} s: ")
}

/// A value in the caption of curves; of bytes the unit stands at the end where they have one.
fn latest(panel: Panel, bytes: RateUnit, value: f64, label: &dyn Fn(f64) -> String) -> String {
    match panel {
        Panel::Processes => bytes.write(value),
        // Means over samples, often of one thread.
        Panel::Threads if value > 0.0 && value < 9.95 => format!("{value:.1}"),
        _ => label(value),
    }
}

/// The place of curves below their caption.
const fn below_caption(area: Rect) -> Rect {
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

impl History {
    /// Takes the rates of now; `false` if they were taken before.
    pub(super) fn take(&mut self, shared: &Shared) -> bool {
        let now = shared.now;
        let Some(rates) = shared.rates.as_ref() else { return false };
        if self.last.is_some_and(|last| now < last + BETWEEN) {
            return false;
        }
        self.last = Some(now);
        let hardware = shared.machine.summed_drives().filter_map(|drive| rates.disks.get(&drive.name));
        let (read, written) = hardware
            .fold((0.0, 0.0), |(read, written), disk| (read + disk.read_bytes, written + disk.written_bytes));
        self.read.push(now, read);
        self.written.push(now, written);
        self.bytes.fit(now, self.read.window_most().max(self.written.window_most()));
        self.interrupts.push(now, tables::all_vectors(rates));
        self.per_second.fit(now, self.interrupts.window_most());
        if let Some(pressure) = rates.pressure {
            let shares = [pressure.io_some, pressure.memory_some, pressure.cpu_some];
            for (series, share) in self.waits.iter_mut().zip(shares) {
                series.push(now, share);
            }
        }
        let push = |[series, others]: &mut [Series; 2], scale: &mut Scale, run: f64, wait: f64| {
            series.push(now, run);
            others.push(now, wait);
            scale.fit(now, series.window_most().max(others.window_most()));
        };
        if let Some((running, blocked)) = rates.running.zip(rates.blocked) {
            push(&mut self.tasks, &mut self.most_tasks, running as f64, blocked as f64);
        }
        if let Some(threads) = &shared.activity.threads {
            let (running, waiting) = waits::active(threads);
            push(&mut self.threads, &mut self.most_threads, running, waiting);
        }
        true
    }

    /// The time axis of curves in `area`.
    pub(super) fn axis(&self, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        let now = self.last.unwrap_or(shared.now);
        (area.height >= LEAST).then(|| TimeAxis::new(below_caption(area), WINDOW, now, &self.read))?
    }

    /// Whether a span has a point.
    pub(super) fn has_points(&self, span: Span) -> bool {
        span.figures(&self.read).is_some()
    }

    /// Draws the curves of a panel; `is_over` where tables are of a test that has ended. A selected span has its figures.
    pub(super) fn draw(
        &self,
        panel: Panel,
        shared: &Shared,
        (is_over, span): (bool, Option<Span>),
        area: Rect,
        brush: &mut Brush<'_>,
    ) {
        if area.height < LEAST {
            return;
        }
        let units = shared.units;
        let percent = |value: f64| format!("{value:.0}%");
        let both = [&self.read, &self.written];
        let rates = match span {
            Some(span) => span.rates(both),
            None => both.iter().filter_map(|series| series.last()).collect(),
        };
        let in_bytes = RateUnit::of(units, rates);
        let bytes = |value: f64| in_bytes.label(value);
        let rate = |value: f64| count(value).replace(' ', "");
        let (curves, top, label): (Vec<Drawn<'_>>, f64, &dyn Fn(f64) -> String) = match panel {
            Panel::Cpus => {
                let [busy, iowait] = &shared.cpu;
                let curves = vec![(busy, "busy", Meaning::Load), (iowait, "iowait", Meaning::Curve(3))];
                (curves, 100.0, &percent)
            }
            Panel::Processes => {
                let curves = vec![
                    (&self.read, "all drives read", Meaning::Load),
                    (&self.written, "write", Meaning::Curve(2)),
                ];
                (curves, units.axis(self.bytes.top()), &bytes)
            }
            Panel::Interrupts => {
                let curves = vec![(&self.interrupts, "interrupts/s of drives", Meaning::Load)];
                (curves, self.per_second.top(), &rate)
            }
            Panel::Pressure if self.waits[0].last().is_some() => {
                let [io, memory, cpu] = &self.waits;
                let curves = vec![
                    (io, "io some", Meaning::Load),
                    (memory, "memory some", Meaning::Curve(2)),
                    (cpu, "cpu some", Meaning::Curve(3)),
                ];
                (curves, 100.0, &percent)
            }
            Panel::Pressure => {
                let [running, blocked] = &self.tasks;
                let curves =
                    vec![(running, "tasks running", Meaning::Load), (blocked, "blocked", Meaning::Curve(2))];
                (curves, self.most_tasks.top(), &rate)
            }
            Panel::Threads => {
                let [running, waiting] = &self.threads;
                let curves =
                    vec![(running, "runnable", Meaning::Load), (waiting, "wait for I/O", Meaning::Curve(2))];
                (curves, self.most_threads.top(), &rate)
            }
            Panel::Profile => return,
        };
        let unit = if panel == Panel::Processes { in_bytes.at_the_end() } else { String::new() };
        let mut caption = vec![piece(last(shared, is_over), Meaning::Quiet)];
        for (at, (series, name, meaning)) in curves.iter().enumerate() {
            let value =
                series.last().map_or_else(|| "-".to_owned(), |value| latest(panel, in_bytes, value, label));
            caption.push(piece(sample(at == 0), *meaning));
            caption.push(piece(format!("{name} {value}  "), Meaning::Quiet));
        }
        caption.push(piece(unit.as_str(), Meaning::Quiet));
        if let Some(span) = span {
            let curves: Vec<_> = curves.iter().map(|(series, name, _)| (*name, *name, *series)).collect();
            let write = |value| latest(panel, in_bytes, value, label);
            caption = vec![piece(span.words(&curves, &write, &unit, area.width), Meaning::Figure)];
        }
        brush.write(area.x, area.y, area.width, &caption);
        let lines = curves.into_iter().enumerate();
        let curves = lines.map(|(at, (series, _, meaning))| Curve { series, meaning, filled: at == 0 });
        let graph = Graph { curves: curves.collect(), top, label, level: None, window: WINDOW };
        graph.draw(brush, below_caption(area), self.last.unwrap_or(shared.now));
        if let Some((axis, span)) = self.axis(shared, area).zip(span) {
            axis.mark(span.from, span.to, brush);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::UnitSystem;

    #[test]
    fn a_small_rate_has_three_digits_in_the_caption() {
        let rate = RateUnit::of(UnitSystem::Decimal, [4.2e6]);
        let words = |panel| latest(panel, rate, 4.2e6, &|value| rate.label(value));
        assert_eq!([words(Panel::Processes), words(Panel::Cpus)], ["4.20", "4.20M"], "MB/s follows");
    }

    #[test]
    fn less_than_one_thread_is_not_none() {
        let (rate, bytes) = (|value: f64| count(value), RateUnit::of(UnitSystem::Decimal, []));
        let words = [0.0, 0.44, 1.0, 9.97].map(|value| latest(Panel::Threads, bytes, value, &rate));
        assert_eq!(words, ["0", "0.4", "1.0", "10"]);
    }
}
