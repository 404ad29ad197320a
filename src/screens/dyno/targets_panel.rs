//! The table of a test's targets: each with its curve in small, its rates, its latency, and what was expected of it.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::{
    capacity::latency,
    model::{Basis, LatencySummary, RunSummary, run::Cost},
    screens::widgets::{
        graph::share_of,
        paint::{Brush, cells, fit, fit_name, piece, wrap},
        scroll,
        words::{bar_meaning, giga, nanoseconds},
    },
    ui::{
        series::Series,
        test::{TargetCurves, Test},
        theme::Meaning,
    },
    units::{Micros, UnitSystem, count, counted},
};

/// A percentile's column; the maximum has no percentage.
struct Column {
    heading: &'static str,
    percent: Option<f64>,
}

/// Cells of a percentile's column.
const WIDTH: u16 = 8;

const PERCENTILES: &[Column] = &[
    Column { heading: "median", percent: Some(50.0) },
    Column { heading: "p99", percent: Some(99.0) },
    Column { heading: "p99.9", percent: Some(99.9) },
    Column { heading: "p99.99", percent: Some(99.99) },
    Column { heading: "max", percent: None },
];

/// Cells that a name has before percentiles: `/var/tmp/iodyno.test`.
const NAME: u16 = 24;
/// Cells of a rate with the gap behind it, and with the limit it is compared with.
const RATE: u16 = 6;
const COMPARED: u16 = 15;

/// Cells of reads per second; a percentile has a gap before it.
const IOPS: u16 = 7;

/// The fewest cells that have words about a target, and the fewest of a curve beside them.
const LEAST_WORDS: u16 = 24;
const LEAST_SPARK: u16 = 8;

struct Places {
    name: u16,
    spark: u16,
    rate: u16,
    /// Cells of the rate and the limit it is compared with, and of the bar behind them.
    rates: u16,
    bar: u16,
    percentiles: &'static [Column],
}

impl Places {
    /// Names of `longest` cells have a quarter of the width or [`NAME`], what no column takes, and what curves can spare. Files have
    /// no limits. Curves leave cells to `words` about targets, too, where these have room at all.
    fn new(width: u16, longest: u16, has_limits: bool, words: u16) -> Self {
        // Name, curve, GB/s of limit, bar, IOPS; percentiles take what is left, the median first.
        let (spark, bar) = match width {
            ..60 => (0, 0),
            60..100 => (10, 8),
            _ => (24, 20),
        };
        let (rates, bar) = if has_limits { (COMPARED, bar) } else { (RATE, 0) };
        let least = longest.min((width / 4).max(NAME));
        let others = 1 + spark + u16::from(spark > 0) + rates + bar + u16::from(bar > 0) + IOPS;
        let room = width.saturating_sub(least + others);
        let count = usize::from(room / (WIDTH + 1)).min(PERCENTILES.len());
        // The rest of wider rows has what was expected.
        let is_spare = count < PERCENTILES.len() || !has_limits;
        let spare = if is_spare { room - (WIDTH + 1) * u16::try_from(count).unwrap_or(0) } else { 0 };
        let name = longest.min(least + spare);
        let lent = (longest - name).min(spark.saturating_sub(LEAST_SPARK));
        let (name, spark) = (name + lent, spark - lent);
        // With a gap before the words.
        let columns = others - lent + name + (WIDTH + 1) * u16::try_from(count).unwrap_or(0) + 2;
        let left = width.saturating_sub(columns);
        let lacking = if left >= LEAST_WORDS { words.saturating_sub(left) } else { 0 };
        let spark = spark - lacking.min(spark.saturating_sub(LEAST_SPARK));
        let rate = name + 1 + spark + u16::from(spark > 0);
        Self { name, spark, rate, rates, bar, percentiles: &PERCENTILES[..count] }
    }
}

/// Rows for targets: the heading has one, their total another.
pub(super) fn rows(test: &Test, inner: Rect) -> u16 {
    inner.height.saturating_sub(1 + u16::from(test.targets.len() > 1))
}

/// Draws the targets from the `top`th on.
pub(super) fn draw(test: Option<&Test>, units: UnitSystem, panel: Rect, top: usize, brush: &mut Brush<'_>) {
    let mut title = vec![piece("targets", Meaning::Heading)];
    if let Some(test) = test {
        let (span, meaning) = match test.is_running() {
            true if test.is_paused() => ("paused; latency of the last reads", Meaning::Warning),
            true => ("latency of the last 100 ms", Meaning::Quiet),
            false => ("the whole test", Meaning::Quiet),
        };
        title.push(piece(format!("  {span}"), meaning));
    }
    let inner = brush.panel(panel, &title, &[]);
    let Some(test) = test else { return };
    let longest = test.targets.iter().map(|target| cells(&name(target))).max().unwrap_or(0).max(5);
    let has_limits = (0..test.targets.len()).any(|index| limit(test, index).is_some());
    let words = (0..test.targets.len()).filter_map(|index| because(test, index)).map(|text| cells(&text));
    let places = Places::new(inner.width, longest, has_limits, words.max().unwrap_or(0));
    heading(units, brush, inner, &places);
    let all = test.targets.len();
    let seen = rows(test, inner);
    let top = scroll::scrolled(top, 0, all, seen);
    let mut y = inner.y + 1;
    for (index, target) in test.targets.iter().enumerate().skip(top).take(seen.into()) {
        Row { units, test, places: &places, inner, y }.target(brush, index, target);
        y += 1;
    }
    if all > 1 {
        Row { units, test, places: &places, inner, y }.total(brush);
        y += 1;
    }
    let cost = test.summary().and_then(RunSummary::cost);
    let rows = usize::from(inner.bottom().saturating_sub(y));
    for line in account(cost.as_ref(), &test.batch, inner.width, rows) {
        brush.text(inner.x, y, inner.width, &line, Meaning::Quiet);
        y += 1;
    }
    scroll::mark(brush, panel, scroll::PAGES, scroll::out_of_sight(top, all, seen));
}

/// What reads have cost, once that is known, and how they are batched: in as many words as fit into the rows.
fn account(cost: Option<&Cost>, batch: &str, width: u16, rows: usize) -> Vec<String> {
    let batches = (!batch.is_empty()).then(|| format!("batches: {batch}"));
    let with = |words: fn(&Cost) -> Vec<String>| {
        flow(cost.map(words).unwrap_or_default().into_iter().chain(batches.clone()), width)
    };
    let mut lines = with(in_words);
    if lines.len() > rows {
        lines = with(in_few_words);
    }
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), width);
        }
    }
    lines
}

/// Parts in lines, as many in each as fit; a part that does not fit into one is broken.
fn flow(parts: impl IntoIterator<Item = String>, width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if cells(line) + 2 + cells(&part) <= width => {
                line.push_str("; ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines.iter().flat_map(|line| wrap(line, width)).collect()
}

fn time(spent: Duration) -> String {
    Micros(spent.as_secs_f64() * 1e6).to_string()
}

/// `a read: 1.00 us user + 2.00 us system, 0.12 switches, 0.52 interrupts`, `a call: 8.0 reads`, `depth 31.5`.
fn in_words(cost: &Cost) -> Vec<String> {
    let (user, system) = (time(cost.user), time(cost.system));
    let interrupts = cost.interrupts.map(|count| format!(", {count:.2} interrupts")).unwrap_or_default();
    let read = format!("per read: {user} user + {system} system, {:.2} switches{interrupts}", cost.switches);
    let depth = cost.depth.map(|depth| format!("depth {depth:.1}").trim_end_matches(".0").to_owned());
    [read, a_call(cost)].into_iter().chain(depth).collect()
}

/// `a read: 3.00 us of CPU`, `a call: 8.0 reads`.
fn in_few_words(cost: &Cost) -> Vec<String> {
    vec![format!("per read: {} CPU", time(cost.user + cost.system)), a_call(cost)]
}

fn a_call(cost: &Cost) -> String {
    let (what, ratio) = cost.calls();
    format!("{what}: {ratio}")
}

fn heading(units: UnitSystem, brush: &mut Brush<'_>, inner: Rect, places: &Places) {
    let x = inner.x + places.rate;
    let unit = units.giga_per_second();
    let compared = if places.rates > RATE { " potential" } else { "" };
    brush.text(x, inner.y, places.rates, &format!("{unit:>5}{compared}"), Meaning::Quiet);
    let x = x + places.rates + places.bar + u16::from(places.bar > 0);
    brush.text(x, inner.y, IOPS, &format!("{:>7}", "IOPS"), Meaning::Quiet);
    let mut x = x + IOPS + 1;
    for column in places.percentiles {
        brush.text(x, inner.y, WIDTH, &format!("{:>8}", column.heading), Meaning::Quiet);
        x += WIDTH + 1;
    }
}

/// A whole drive by its short name; a file by its own, whatever drive it lies on.
fn name(target: &TargetCurves) -> String {
    let drive = target.drive.as_ref().filter(|drive| target.name.as_str() == drive.device_file());
    drive.map_or_else(|| target.name.to_string(), ToString::to_string)
}

/// What a target's rate is compared with, bytes per second.
fn limit(test: &Test, index: usize) -> Option<f64> {
    let potential = test.potentials.get(index).and_then(Option::as_ref);
    potential.map(|one| one.bytes_per_second.0).or_else(|| test.expected_of(index))
}

/// What limits a target, as far as something is expected of it.
fn because(test: &Test, index: usize) -> Option<String> {
    let expected = test.expected.get(index).and_then(Option::as_ref)?;
    let latency = test.latency_bound().map(|in_flight| latency::cause(&in_flight));
    Some(latency.unwrap_or_else(|| expected.because.clone()))
}

struct Row<'a> {
    units: UnitSystem,
    test: &'a Test,
    places: &'a Places,
    inner: Rect,
    y: u16,
}

impl Row<'_> {
    fn target(&self, brush: &mut Brush<'_>, index: usize, target: &TargetCurves) {
        let summary = self.test.summary().and_then(|summary| summary.targets.get(index));
        let name = name(target);
        let label = fit_name(&name, self.places.name);
        brush.text(self.inner.x, self.y, self.places.name, &label, Meaning::Curve(index));
        self.spark(brush, &target.curves.bytes, Meaning::Curve(index));
        let errors = summary.map_or(target.errors, |summary| summary.errors);
        if errors > 0 || target.failed.is_some() {
            let why = summary.and_then(|s| s.first_error.as_ref()).or(target.failed.as_ref());
            let text = format!("! {}: {}", counted(errors, "error"), why.map_or("", |why| why.as_str()));
            let x = self.inner.x + self.places.rate;
            let room = self.inner.right().saturating_sub(x);
            brush.text(x, self.y, room, &fit(&text, room), Meaning::Problem);
            return;
        }
        let (bytes, iops) = (self.test.reads(index), self.test.reads_per_second(index));
        let potential = self.test.potentials.get(index).and_then(Option::as_ref);
        let most = limit(self.test, index);
        let meaning = bytes.zip(most).map_or(Meaning::Load, |(bytes, most)| {
            let at_most = potential.is_none_or(|one| one.basis == Basis::Link) || self.test.is_running();
            bar_meaning(bytes / most, self.is_limited(index), at_most)
        });
        let x = self.rates(brush, bytes, most, iops, meaning);
        let whole = summary.and_then(|summary| summary.latency.as_ref());
        let x = self.percentiles(brush, x, whole.unwrap_or(&target.latency));
        self.because(brush, x + 1, index);
    }

    fn total(&self, brush: &mut Brush<'_>) {
        let test = self.test;
        brush.text(self.inner.x, self.y, self.places.name, "total", Meaning::Figure);
        self.spark(brush, &test.total.bytes, Meaning::Brand);
        let most = test.potential_total.or_else(|| test.expected_total());
        let now = |rate| Some(rate).filter(|_| !test.is_paused());
        self.rates(brush, now(test.bytes_per_second()), most, now(test.iops()), Meaning::Load);
    }

    /// Whether a known limit keeps a target below its potential.
    fn is_limited(&self, index: usize) -> bool {
        let potential = self.test.potentials.get(index).and_then(Option::as_ref);
        let pair = potential.zip(self.test.expected_of(index));
        pair.is_some_and(|(potential, expected)| expected < 0.99 * potential.bytes_per_second.0)
    }

    /// What limits the target, where there is room for words.
    fn because(&self, brush: &mut Brush<'_>, x: u16, index: usize) {
        let room = self.inner.right().saturating_sub(x);
        if let Some(because) = because(self.test, index).filter(|_| room >= LEAST_WORDS) {
            brush.text(x, self.y, room, &fit(&because, room), Meaning::Quiet);
        }
    }

    /// Returns the column after the rates.
    fn rates(
        &self,
        brush: &mut Brush<'_>,
        bytes: Option<f64>,
        limit: Option<f64>,
        iops: Option<f64>,
        meaning: Meaning,
    ) -> u16 {
        let units = self.units;
        let x = self.inner.x + self.places.rate;
        let value = bytes.map_or_else(|| "-".to_owned(), |bytes| giga(units, bytes));
        let end = brush.text(x, self.y, 5, &format!("{value:>5}"), Meaning::Figure);
        if let Some(limit) = limit {
            brush.text(end, self.y, 8, &format!(" of {}", giga(units, limit)), Meaning::Quiet);
        }
        let mut x = x + self.places.rates;
        if self.places.bar > 0 {
            if let Some((bytes, limit)) = bytes.zip(limit) {
                brush.bar(x, self.y, self.places.bar, bytes / limit, meaning);
            }
            x += self.places.bar + 1;
        }
        let value = iops.map_or_else(|| "-".to_owned(), count);
        brush.text(x, self.y, IOPS, &format!("{value:>7}"), Meaning::Figure);
        x + IOPS + 1
    }

    fn percentiles(&self, brush: &mut Brush<'_>, x: u16, latency: &LatencySummary) -> u16 {
        let mut x = x;
        for column in self.places.percentiles {
            let value = match column.percent {
                _ if latency.count == 0 => None,
                Some(percent) => latency.percentile(percent),
                None => Some(latency.max),
            };
            let text = value.map_or_else(|| "-".to_owned(), |ns| nanoseconds(ns as f64));
            brush.text(x, self.y, WIDTH, &format!("{text:>8}"), Meaning::Text);
            x += WIDTH + 1;
        }
        x
    }

    /// A curve in one row of dots, over its own highest value.
    fn spark(&self, brush: &mut Brush<'_>, series: &Series, meaning: Meaning) {
        const LEVELS: [char; 4] = ['⣀', '⠤', '⠒', '⠉'];
        let width = usize::from(self.places.spark);
        if width == 0 || series.most() <= 0.0 {
            return;
        }
        let start = self.inner.x + self.places.name + 1;
        for (x, mean) in (start..).zip(means(series, width)) {
            let Some(mean) = mean else { continue };
            let level = share_of(3, mean / series.most());
            brush.cell(x, self.y, LEVELS[usize::from(level)], brush.theme.style(meaning));
        }
    }
}

/// The newest means of five points each, at most `most` of them, oldest first; `None` where a gap was left.
fn means(series: &Series, most: usize) -> Vec<Option<f64>> {
    let points: Vec<(Duration, f64)> = series.points().collect();
    let stretches = points.chunk_by(|_, (at, _)| !series.is_split_before(*at));
    let mean = |chunk: &[(Duration, f64)]| chunk.iter().map(|(_, v)| v).sum::<f64>() / chunk.len() as f64;
    let mut means: Vec<Option<f64>> = Vec::new();
    for stretch in stretches {
        means.extend((!means.is_empty()).then_some(None));
        means.extend(stretch.chunks(5).map(|chunk| Some(mean(chunk))));
    }
    means.split_off(means.len().saturating_sub(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_leaves_a_blank_in_the_curve_of_a_target() {
        let mut series = Series::default();
        for second in 0..12 {
            if second == 7 {
                series.split();
            }
            series.push(Duration::from_secs(second), if second < 5 { 1.0 } else { 3.0 });
        }
        assert_eq!(means(&series, 9), [Some(1.0), Some(3.0), None, Some(3.0)]);
        assert_eq!(means(&series, 2), [None, Some(3.0)]);
    }

    #[test]
    fn what_reads_cost_and_how_they_are_batched_fits_whatever_the_room() {
        let cost = Cost {
            user: Duration::from_micros(1),
            system: Duration::from_micros(2),
            reads_per_call: 8.0,
            depth: Some(31.5),
            switches: 0.12,
            interrupts: Some(0.52),
        };
        let batch = "adaptive, submit 4, complete 8";
        assert_eq!(
            account(Some(&cost), batch, 110, 2),
            [
                "per read: 1.00 us user + 2.00 us system, 0.12 switches, 0.52 interrupts; per call: 8.0 reads; depth 31.5",
                "batches: adaptive, submit 4, complete 8"
            ]
        );
        assert_eq!(
            account(Some(&cost), batch, 100, 1),
            ["per read: 3.00 us CPU; per call: 8.0 reads; batches: adaptive, submit 4, complete 8"]
        );
        for (width, rows) in [(52, 1), (52, 2), (52, 3), (20, 2)] {
            let lines = account(Some(&cost), batch, width, rows);
            assert!(lines.len() <= rows && lines.iter().all(|line| cells(line) <= width), "{lines:?}");
            assert!(lines[0].starts_with("per read: "), "{lines:?}");
            let whole = lines.join(" ").contains("complete 8");
            assert_eq!(whole, width == 52 && rows > 1, "{lines:?}");
        }
        assert_eq!(account(None, "", 52, 3), Vec::<String>::new());
        assert_eq!(account(Some(&cost), batch, 52, 0), Vec::<String>::new());
    }

    #[test]
    fn the_name_of_a_file_is_whole_as_long_as_cells_are_free() {
        for width in 56..=160 {
            let whole = Places::new(width, NAME, false, 0);
            assert_eq!((whole.name, whole.bar), (NAME, 0), "{width}");
            let long = Places::new(width, 60, false, 0);
            let columns = (WIDTH + 1) * u16::try_from(long.percentiles.len()).unwrap();
            assert!(
                long.name == 60 || long.rate + long.rates + IOPS + columns == width,
                "{width}: {}",
                long.name
            );
        }
    }

    #[test]
    fn a_name_has_the_cells_that_a_curve_can_spare() {
        // The panel of a terminal of 120 columns.
        for (longest, spark) in [(29, 10), (30, 9), (31, LEAST_SPARK)] {
            let places = Places::new(81, longest, false, 0);
            assert_eq!((places.name, places.spark, places.percentiles.len()), (longest, spark, 3));
        }
        assert_eq!(Places::new(81, 32, false, 0).name, 31);
    }

    #[test]
    fn curves_leave_their_cells_to_words_about_targets() {
        let words = |places: &Places, width: u16| {
            let columns = (WIDTH + 1) * u16::try_from(places.percentiles.len()).unwrap();
            width - (places.rate + places.rates + places.bar + 1 + 8 + columns + 1)
        };
        let wide = Places::new(156, 7, true, 0);
        assert_eq!((wide.spark, words(&wide, 156)), (24, 33));
        let told = Places::new(156, 7, true, 41);
        assert_eq!((told.spark, words(&told, 156)), (16, 41), "as many as the words lack");
        assert_eq!(Places::new(156, 7, true, 200).spark, LEAST_SPARK);
        assert_eq!(Places::new(126, 7, true, 200).spark, 24, "no room for words at all");
    }
}
