//! `iodyno pull` as text and as JSON.

use serde::Serialize;

use super::{
    table::{self, Column},
    wrapped,
};
use crate::{
    model::{FindingId, LatencySummary, Pattern, RunSummary},
    pull::{Done, DriveResult, Figures, Outcome, Phase, Pull},
    units::{BytesPerSecond, UnitSystem},
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
}

#[derive(Debug, Serialize)]
struct LatencyDocument {
    p50_ns: u64,
    p99_ns: u64,
}

#[derive(Debug, Serialize)]
struct DriveDocument {
    name: String,
    measured: f64,
    alone: Option<f64>,
    potential: Option<f64>,
    potential_because: Option<String>,
    expected: Option<f64>,
    limited_by: Option<String>,
}

#[derive(Debug, Serialize)]
struct PhaseDocument {
    name: &'static str,
    workload: String,
    seconds: f64,
    result: Option<ResultDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
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
        };
        let losses = outcome.headline.lost_to.iter().map(|loss| LossDocument {
            finding: loss.finding,
            subject: loss.subject.clone(),
            bytes_per_second: loss.bytes_per_second,
            because: loss.because.clone(),
        });
        let drive = |drive: &DriveResult| DriveDocument {
            name: drive.name.clone(),
            measured: drive.measured,
            alone: drive.alone,
            potential: drive.potential.as_ref().map(|potential| potential.bytes_per_second.0),
            potential_because: drive.potential.as_ref().map(|potential| potential.because.clone()),
            expected: drive.expected,
            limited_by: drive.limited_by.clone(),
        };
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
            drives: outcome.drives.iter().map(drive).collect(),
            phases: pull.done().iter().map(phase).collect(),
            steady: outcome.steadiness.map(crate::pull::Steadiness::is_steady),
            stopped: pull.stopped(),
            simulated: outcome.simulated,
        }
    }
}

fn phase(done: &Done) -> PhaseDocument {
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
pub(crate) fn text(pull: &Pull, outcome: &Outcome, width: Option<usize>) -> String {
    let mut text = String::new();
    if outcome.simulated {
        text.push_str("SIMULATED\n");
    }
    if !outcome.drives.is_empty() {
        text.push_str(&table_of(&outcome.drives, width));
        text.push('\n');
    }
    let rows: Vec<String> = pull.done().iter().filter_map(profile_row).collect();
    if !rows.is_empty() {
        text.extend(["[Read]\n", &rows.concat(), "\n"]);
    }
    for line in outcome.words() {
        text.push_str(&paragraph(line, width));
    }
    text
}

fn table_of(drives: &[DriveResult], width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = drives.iter().map(row).collect();
    table::text(&COLUMNS, &rows, width)
}

fn paragraph(words: &str, width: Option<usize>) -> String {
    wrapped("", words, width.unwrap_or(100)).into_iter().map(|line| line + "\n").collect()
}

fn row(drive: &DriveResult) -> Vec<String> {
    let rate = |rate: Option<f64>| {
        rate.map_or_else(|| "-".to_owned(), |rate| UnitSystem::Decimal.rate(BytesPerSecond(rate)))
    };
    vec![
        drive.name.clone(),
        drive.alone.map(|alone| rate(Some(alone))).unwrap_or_default(),
        rate(Some(drive.measured)),
        rate(drive.expected),
        rate(drive.potential.as_ref().map(|potential| potential.bytes_per_second.0)),
        drive.limit().unwrap_or_default().to_owned(),
    ]
}

/// `SEQ    1MiB (Q=  8, T= 1):  3558.195 MB/s [   3393.4 IOPS] <  2356.19 us>`, as CrystalDiskMark copies it.
fn profile_row(done: &Done) -> Option<String> {
    let (Phase::Row(_), Ok(run)) = (&done.step.phase, &done.result) else { return None };
    let work = &run.workload;
    let pattern = if work.pattern == Pattern::Sequential { "SEQ" } else { "RND" };
    let size = match work.block_size.0 {
        size if size >= 1 << 20 => format!("{}MiB", size >> 20),
        size => format!("{}KiB", size >> 10),
    };
    Some(format!(
        "  {pattern} {size:>7} (Q={:>3}, T={:>2}): {:>9.3} MB/s [{:>9.1} IOPS] <{:>9.2} us>\n",
        work.depth,
        work.jobs,
        run.bytes_per_second() / 1e6,
        run.iops(),
        mean_latency(run) / 1e3
    ))
}

/// Nanoseconds, over all reads of all targets.
fn mean_latency(run: &RunSummary) -> f64 {
    let latencies = || run.targets.iter().filter_map(|target| target.latency.as_ref());
    let count: u64 = latencies().map(|latency| latency.count).sum();
    let sum: f64 = latencies().map(|latency: &LatencySummary| latency.mean * latency.count as f64).sum();
    if count == 0 { 0.0 } else { sum / count as f64 }
}
