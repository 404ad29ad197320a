//! `iodyno pull` as text and as JSON.

pub(crate) mod curve;

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    table::{self, Column},
    wrapped,
};
use crate::{
    model::{FindingId, Pattern, RunSummary, TargetSummary},
    pull::{Condition, Done, DriveResult, Fall, Figures, Outcome, Phase, Pull, State, Thermal},
    units::{BytesPerSecond, UnitSystem, counted},
};

/// CONTRACT's document.
#[derive(Debug, Serialize)]
pub(crate) struct PullDocument {
    headline: HeadlineDocument,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<String>,
    iops: Option<FiguresDocument>,
    latency: Option<LatencyDocument>,
    drives: Vec<DriveDocument>,
    phases: Vec<PhaseDocument>,
    steady: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    invalid_because: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    simulated: bool,
}

#[derive(Debug, Serialize)]
struct HeadlineDocument {
    text: String,
    measured_bytes_per_second: Option<f64>,
    potential_bytes_per_second: Option<f64>,
    expected_bytes_per_second: Option<f64>,
    lost_to: Vec<LossDocument>,
}

#[derive(Debug, Serialize)]
struct LossDocument {
    finding: Option<FindingId>,
    subject: String,
    bytes_per_second: f64,
    because: String,
}

#[derive(Debug, Serialize)]
struct FiguresDocument {
    measured: f64,
    potential: Option<f64>,
    expected: Option<f64>,
    expected_low: Option<f64>,
    expected_high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct LatencyDocument {
    p50_ns: u64,
    p99_ns: u64,
}

#[derive(Debug, Serialize)]
struct DriveDocument {
    name: String,
    measured: Option<f64>,
    alone: Option<f64>,
    potential: Option<f64>,
    potential_because: Option<String>,
    expected: Option<f64>,
    limited_by: Option<String>,
    temperature_celsius: TemperatureDocument,
    link: LinksDocument,
    throttled: Option<ThermalDocument>,
    fell: Option<FallDocument>,
}

/// `null` where it could not be read, as of simulated drives after the pull.
#[derive(Debug, Default, Serialize)]
struct TemperatureDocument {
    before: Option<f64>,
    highest: Option<f64>,
    after: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct LinksDocument {
    before: Option<LinkDocument>,
    after: Option<LinkDocument>,
}

#[derive(Debug, Serialize)]
struct LinkDocument {
    speed_gts: f64,
    width: u8,
}

/// What the SMART log counted during the pull.
#[derive(Debug, Serialize)]
struct ThermalDocument {
    light_transitions: u32,
    heavy_transitions: u32,
    warning_minutes: u32,
    critical_minutes: u32,
}

#[derive(Debug, Serialize)]
struct FallDocument {
    from_bytes_per_second: f64,
    to_bytes_per_second: f64,
    after_seconds: u64,
    celsius: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PhaseDocument {
    name: &'static str,
    workload: String,
    seconds: f64,
    result: Option<ResultDocument>,
    /// Of a run that was made longer with `--minutes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<RatesDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The rate of all drives over time: one value for so many seconds.
#[derive(Debug, Serialize)]
struct RatesDocument {
    seconds_per_value: u32,
    bytes_per_second: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct ResultDocument {
    bytes_per_second: f64,
    iops: f64,
}

impl PullDocument {
    pub(crate) fn new(pull: &Pull, outcome: &Outcome) -> Self {
        let figures = outcome.headline.figures;
        let of = |figures: Figures| FiguresDocument {
            measured: figures.measured,
            potential: figures.potential,
            expected: figures.expected,
            expected_low: figures.expected_interval.map(|(low, _)| low),
            expected_high: figures.expected_interval.map(|(_, high)| high),
        };
        let losses = outcome.headline.lost_to.iter().map(|loss| LossDocument {
            finding: loss.finding,
            subject: loss.subject.clone(),
            bytes_per_second: loss.bytes_per_second,
            because: loss.because.clone(),
        });
        Self {
            headline: HeadlineDocument {
                text: outcome.headline.text.clone(),
                measured_bytes_per_second: figures.map(|figures| figures.measured),
                potential_bytes_per_second: figures.and_then(|figures| figures.potential),
                expected_bytes_per_second: figures.and_then(|figures| figures.expected),
                lost_to: losses.collect(),
            },
            lines: outcome.lines.iter().chain(&outcome.doubts).cloned().collect(),
            iops: outcome.iops.map(of),
            latency: outcome
                .latency
                .map(|latency| LatencyDocument { p50_ns: latency.p50, p99_ns: latency.p99 }),
            drives: outcome.drives.iter().map(DriveDocument::from).collect(),
            phases: pull.done().iter().map(|done| phase(done, pull)).collect(),
            steady: outcome.is_steady(),
            invalid_because: outcome.reasons.clone(),
            stopped: pull.stopped(),
            simulated: outcome.simulated,
        }
    }
}

impl From<&DriveResult> for DriveDocument {
    fn from(drive: &DriveResult) -> Self {
        let condition = drive.condition.as_ref();
        Self {
            name: drive.name.clone(),
            measured: drive.measured,
            alone: drive.alone,
            potential: drive.potential.as_ref().map(|potential| potential.bytes_per_second.0),
            potential_because: drive.potential.as_ref().map(|potential| potential.because.clone()),
            expected: drive.expected,
            limited_by: drive.limited_by.clone(),
            temperature_celsius: condition.map(TemperatureDocument::from).unwrap_or_default(),
            link: condition.map(LinksDocument::from).unwrap_or_default(),
            throttled: condition.and_then(Condition::throttled).map(ThermalDocument::from),
            fell: drive.fall.map(FallDocument::from),
        }
    }
}

impl From<&Condition> for TemperatureDocument {
    fn from(condition: &Condition) -> Self {
        let after = condition.after.map(|after| after.celsius);
        Self {
            before: condition.before.celsius,
            highest: after.and(condition.highest),
            after: after.flatten(),
        }
    }
}

impl From<&Condition> for LinksDocument {
    fn from(condition: &Condition) -> Self {
        let link = |state: State| {
            let (speed, width) = state.link?;
            Some(LinkDocument { speed_gts: speed.gts(), width: width.0 })
        };
        Self { before: link(condition.before), after: condition.after.and_then(link) }
    }
}

impl From<Thermal> for ThermalDocument {
    fn from(thermal: Thermal) -> Self {
        Self {
            light_transitions: thermal.light,
            heavy_transitions: thermal.heavy,
            warning_minutes: thermal.warning_minutes,
            critical_minutes: thermal.critical_minutes,
        }
    }
}

impl From<(Fall, Option<f64>)> for FallDocument {
    fn from((fall, celsius): (Fall, Option<f64>)) -> Self {
        Self {
            from_bytes_per_second: fall.from,
            to_bytes_per_second: fall.to,
            after_seconds: fall.after.as_secs(),
            celsius,
        }
    }
}

fn phase(done: &Done, pull: &Pull) -> PhaseDocument {
    let run = done.result.as_ref();
    let seconds = run
        .map_or(0.0, |run| run.targets.iter().map(|target| target.runtime.as_secs_f64()).fold(0.0, f64::max));
    let result =
        run.ok().map(|run| ResultDocument { bytes_per_second: run.bytes_per_second(), iops: run.iops() });
    PhaseDocument {
        name: done.step.phase.name(),
        workload: done.step.title(),
        seconds,
        result,
        rates: is_long(done, pull).then(|| RatesDocument {
            seconds_per_value: done.seconds.step,
            bytes_per_second: done.seconds.rates.clone(),
        }),
        error: run.err().map(ToString::to_string),
    }
}

const COLUMNS: [Column; 6] = [
    Column::left("drive"),
    Column::right("alone").optional(),
    Column::right("together"),
    Column::right("expected").optional(),
    Column::right("potential"),
    Column::left("limited by"),
];

/// The drives, then the headline and its lines, for a terminal of `width` columns or, without one, as wide as it is.
pub(crate) fn text(pull: &Pull, outcome: &Outcome, width: Option<usize>, units: UnitSystem) -> String {
    let mut text = String::new();
    if outcome.simulated {
        text.push_str("SIMULATED\n");
    }
    if !outcome.drives.is_empty() {
        text.push_str(&table_of(&outcome.drives, width, units));
        text.push('\n');
    }
    text.push_str(&profile(pull));
    for line in outcome.words() {
        text.push_str(&paragraph(line, width));
    }
    if let Some(line) = temperatures(outcome) {
        text.push_str(&paragraph(&line, width));
    }
    if let Some((step, done)) = pull.done().iter().enumerate().find(|(_, done)| is_long(done, pull)) {
        let curve = curve::text(done, step, pull.conditions(), width.unwrap_or(100), units);
        text.extend(["\n", &curve]);
    }
    text
}

/// Whether this is the run that `--minutes` makes longer.
fn is_long(done: &Done, pull: &Pull) -> bool {
    pull.is_long() && done.step.phase == Phase::Together
}

/// `Temperature: nvme0n1 before 41 °C, highest 82 °C, after 79 °C; ...`; of many drives the hottest. `None` where none was
/// read after the pull.
fn temperatures(outcome: &Outcome) -> Option<String> {
    const MOST: usize = 4;
    let conditions = outcome.drives.iter().filter_map(|drive| drive.condition.as_ref());
    let mut read: Vec<&Condition> =
        conditions.filter(|one| one.after.is_some_and(|after| after.celsius.is_some())).collect();
    read.sort_by(|a, b| b.highest.partial_cmp(&a.highest).unwrap_or(std::cmp::Ordering::Equal));
    let cooler = read.len().saturating_sub(MOST);
    let words =
        read.iter().take(MOST).filter_map(|one| Some(format!("{} {}", one.name, one.temperature_words()?)));
    let words: Vec<String> = words.collect();
    let cooler =
        if cooler > 0 { format!("; {} stayed cooler", counted(cooler, "drive")) } else { String::new() };
    (!words.is_empty()).then(|| format!("Temperature: {}{cooler}.", words.join("; ")))
}

fn table_of(drives: &[DriveResult], width: Option<usize>, units: UnitSystem) -> String {
    let rows: Vec<Vec<String>> = drives.iter().map(|drive| row(drive, units)).collect();
    table::text(&COLUMNS, &rows, width)
}

fn paragraph(words: &str, width: Option<usize>) -> String {
    wrapped("", words, width.unwrap_or(100)).into_iter().map(|line| line + "\n").collect()
}

fn row(drive: &DriveResult, units: UnitSystem) -> Vec<String> {
    let rate =
        |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| units.rate(BytesPerSecond(rate)));
    vec![
        drive.name.clone(),
        drive.alone.map(|alone| rate(Some(alone))).unwrap_or_default(),
        rate(drive.measured),
        rate(drive.expected),
        rate(drive.potential.as_ref().map(|potential| potential.bytes_per_second.0)),
        drive.limit().unwrap_or_default().to_owned(),
    ]
}

/// The rows of CrystalDiskMark: a block for each drive, then their sum, as people paste them; empty of another series.
fn profile(pull: &Pull) -> String {
    let rows: Vec<&RunSummary> = pull.done().iter().filter_map(profile_run).collect();
    let targets = pull.targets().len();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for (index, target) in pull.targets().iter().enumerate() {
        let name = target.path.to_string_lossy();
        let name = name.trim_start_matches("/dev/");
        let while_others = if targets > 1 { ", all drives read at once" } else { "" };
        let _ = writeln!(text, "[Read] {name}{while_others}");
        text.extend(rows.iter().filter_map(|run| Some(profile_row(run, &[run.targets.get(index)?]))));
        text.push('\n');
    }
    if targets > 1 {
        let _ = writeln!(text, "[Read] sum of {targets} drives");
        text.extend(rows.iter().map(|run| profile_row(run, &run.targets.iter().collect::<Vec<_>>())));
        text.push('\n');
    }
    text
}

fn profile_run(done: &Done) -> Option<&RunSummary> {
    matches!(done.step.phase, Phase::Row(_)).then_some(done.result.as_ref().ok()?)
}

/// `SEQ    1MiB (Q=  8, T= 1):  3558.195 MB/s [   3393.4 IOPS] <  2356.19 us>`, as CrystalDiskMark copies it.
fn profile_row(run: &RunSummary, targets: &[&TargetSummary]) -> String {
    let work = &run.workload;
    let pattern = if work.pattern == Pattern::Sequential { "SEQ" } else { "RND" };
    let size = match work.block_size.0 {
        size if size >= 1 << 20 => format!("{}MiB", size >> 20),
        size => format!("{}KiB", size >> 10),
    };
    let sum = |of: fn(&TargetSummary) -> f64| targets.iter().map(|target| of(target)).sum::<f64>();
    format!(
        "  {pattern} {size:>7} (Q={:>3}, T={:>2}): {:>9.3} MB/s [{:>9.1} IOPS] <{:>9.2} us>\n",
        work.depth,
        work.jobs,
        sum(TargetSummary::bytes_per_second) / 1e6,
        sum(TargetSummary::iops),
        mean_latency(targets) / 1e3
    )
}

/// Nanoseconds, over all reads of these targets.
fn mean_latency(targets: &[&TargetSummary]) -> f64 {
    let latencies = || targets.iter().filter_map(|target| target.latency.as_ref());
    let count: u64 = latencies().map(|latency| latency.count).sum();
    let sum: f64 = latencies().map(|latency| latency.mean * latency.count as f64).sum();
    if count == 0 { 0.0 } else { sum / count as f64 }
}
