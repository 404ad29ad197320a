//! A finished run as text.

use std::{fmt::Write, time::Duration};

use super::{
    table::{self, Column},
    toned::{Tone, Toned},
    wrapped,
};
use crate::{
    capacity::{self, Expected},
    model::{self, Completion, Effective, LatencySummary, RunSummary, TargetSummary, Workload},
    pull::{self, DriveResult, Headline},
    units::{self, BytesPerSecond, Micros, UnitSystem},
};

/// The summary of a run. `expected` has one entry per target, or none at all.
pub(crate) fn text(run: &RunSummary, expected: &[Option<Expected>]) -> String {
    let mut lines = vec![headline(run), effective(run)];
    lines.extend(run.effective.fallbacks.iter().map(|sentence| format!("  note: {sentence}")));
    for (index, target) in run.targets.iter().enumerate() {
        lines.push(String::new());
        lines.extend(paragraph(target, expected.get(index).and_then(Option::as_ref)));
    }
    if run.targets.len() > 1 {
        lines.push(String::new());
        lines.push(figures("all targets", run.iops(), run.bytes_per_second()));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

const COLUMNS: [Column; 5] = [
    Column::left("drive"),
    Column::right("measured"),
    Column::right("expected").optional(),
    Column::right("potential"),
    Column::left("limited by"),
];

/// The end of a summary: a table of drives, then the headline. Small reads are in IOPS.
pub(crate) fn point(
    run: &RunSummary,
    headline: &Headline,
    drives: &[DriveResult],
    width: Option<usize>,
    units: UnitSystem,
) -> Toned {
    let block = capacity::expected::mean_block(&run.workload);
    let write = |rate: Option<f64>| match rate {
        None => "-".to_owned(),
        Some(rate) if pull::is_small(&run.workload) => format!("{} IOPS", units::count(rate / block)),
        Some(rate) => units.rate(BytesPerSecond(rate)),
    };
    let potential = |drive: &DriveResult| drive.potential.as_ref().map(|one| one.bytes_per_second.0);
    let cells = |drive: &DriveResult| {
        let limit = drive.limit().unwrap_or_default().to_owned();
        let rates = [drive.measured, drive.expected, potential(drive)].map(write);
        [drive.name.clone()].into_iter().chain(rates).chain([limit]).collect()
    };
    let rows: Vec<Vec<String>> = drives.iter().map(cells).collect();
    let mut text = table::toned(&COLUMNS, &rows, width, |row, column| match (column, drives.get(row)) {
        (0, _) => Tone::Drive,
        (1 | 4, Some(drive)) => tone(drive),
        _ => Tone::Plain,
    });
    text.push("\n");
    let mut lines = wrapped("", &headline.text, width.unwrap_or(100)).join("\n");
    lines.push('\n');
    // The first sentence is the figure.
    let end = lines.find(". ").map_or(lines.len(), |at| at + 1);
    text.push_toned(Tone::Figure, &lines[..end]);
    text.push(&lines[end..]);
    text
}

/// Good from 95 % of the potential on; what a known limit costs is a warning, from 15 % on a problem. Below a link's rate
/// nothing is lost for sure.
fn tone(drive: &DriveResult) -> Tone {
    let Some((potential, measured)) = drive.potential.as_ref().zip(drive.measured) else {
        return Tone::Plain;
    };
    let share = measured / potential.bytes_per_second.0.max(1.0);
    match &drive.limited_by {
        _ if share >= 0.95 => Tone::Good,
        None => Tone::Plain,
        Some(_) if share > 0.85 => Tone::Warning,
        Some(_) => Tone::Problem,
    }
}

fn headline(run: &RunSummary) -> String {
    let targets = match run.targets.len() {
        1 => String::new(),
        many => format!(", {many} targets"),
    };
    let simulated = if run.simulated { "SIMULATED  " } else { "" };
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    // The title names the completion mode of the run, not the requested one.
    let polled = run.workload.hipri && run.effective.completion == Completion::Polled;
    let hybrid_poll = run.effective.ring_flags.iter().any(|flag| flag == "HYBRID_IOPOLL");
    let workload = Workload { hipri: polled, hybrid_poll, ..run.workload.clone() };
    format!("{simulated}{}{targets}{interrupted}", workload.title())
}

fn effective(run: &RunSummary) -> String {
    let effective = &run.effective;
    let first = format!("  {}", method(effective, &effective.batch));
    if run.simulated {
        return first;
    }
    format!("{first}\n  workers {}; buffers in {}", effective.placement, effective.memory)
}

/// `io_uring, interrupts, SINGLE_ISSUER DEFER_TASKRUN, adaptive, submit 4, complete 8`.
pub(super) fn method(effective: &Effective, batch: &str) -> String {
    let completion = match effective.completion {
        Completion::Interrupts => "interrupts",
        Completion::Polled => "polled",
    };
    let engine = effective.engine.name();
    // A simulated run has no batches.
    let batch = if batch == engine { "" } else { batch };
    let parts = [engine, completion, &effective.ring_flags.join(" "), batch];
    let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join(", ")
}

fn figures(name: &str, iops: f64, bytes_per_second: f64) -> String {
    let rate = BytesPerSecond(bytes_per_second);
    format!(
        "{name}: {} IOPS, {} ({})",
        units::count(iops),
        UnitSystem::Decimal.rate(rate),
        UnitSystem::Binary.rate(rate)
    )
}

fn paragraph(target: &TargetSummary, expected: Option<&Expected>) -> Vec<String> {
    let mut lines = vec![figures(target.name.as_str(), target.iops(), target.bytes_per_second())];
    lines.push(format!(
        "  reads     {}, {} in {:.3} s",
        target.ios,
        UnitSystem::Binary.size(units::Bytes(target.bytes)),
        target.runtime.as_secs_f64()
    ));
    if let Some(latency) = &target.latency {
        lines.extend(latencies(latency));
    }
    lines.extend(cost(target));
    if let Some(expected) = expected {
        let by = if expected.is_latency { "; limited by" } else { ":" };
        lines.push(format!(
            "  expected  {} IOPS{}, {}{by} {}",
            units::count(expected.iops),
            interval(expected),
            UnitSystem::Decimal.rate(expected.bytes_per_second),
            expected.because
        ));
    }
    if target.errors > 0 {
        let first = target.first_error.as_ref().map(|error| format!(", first: {error}")).unwrap_or_default();
        lines.push(format!("  errors    {}{first}", target.errors));
    }
    lines.extend(target.invalid_because.iter().map(|because| format!("  invalid   {because}")));
    lines
}

/// ` (409 k to 495 k)`, where CPU costs leave the rate open.
fn interval(expected: &Expected) -> String {
    let ends = expected.iops_low.zip(expected.iops_high);
    ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", units::count(low), units::count(high)))
}

fn latencies(latency: &LatencySummary) -> Vec<String> {
    let time = |ns: f64| Micros(ns / 1e3).to_string();
    let mut percentiles = String::new();
    for percent in [50.0, 90.0, 99.0, 99.9, 99.99] {
        if let Some(ns) = latency.percentile(percent) {
            // Writing to a String cannot fail.
            let _ = write!(percentiles, "  p{percent} {}", time(ns as f64));
        }
    }
    vec![
        format!(
            "  latency   min {}, mean {}, stddev {}, max {}",
            time(latency.min as f64),
            time(latency.mean),
            time(latency.stddev),
            time(latency.max as f64)
        ),
        format!("          {percentiles}"),
    ]
}

/// CPU time per read, reads per call, depth, context switches and interrupts, where they are known.
fn cost(target: &TargetSummary) -> Vec<String> {
    let Some(cost) = model::run::cost(std::slice::from_ref(target)) else { return Vec::new() };
    let time = |spent: Duration| Micros(spent.as_secs_f64() * 1e6).to_string();
    let depth = cost.depth.map(|depth| format!(", depth {depth:.1}")).unwrap_or_default();
    let interrupts = cost.interrupts.map(|count| format!(", {count:.2} interrupts")).unwrap_or_default();
    let (user, system) = (time(cost.user), time(cost.system));
    let (what, ratio) = cost.calls();
    let mut lines = vec![
        format!(
            "  per read  {user} user and {system} system CPU, {:.2} context switches{interrupts}",
            cost.switches
        ),
        format!("  {what:<10}{ratio}{depth}"),
    ];
    // Other engines fault while they begin.
    if (target.major_faults + target.minor_faults).saturating_mul(2) >= target.ios {
        let [major, minor] =
            [target.major_faults, target.minor_faults].map(|faults| units::count(faults as f64));
        lines.push(format!(
            "  faults    {major} waited for I/O (major), {minor} found their pages in memory (minor)"
        ));
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::text::Label;

    /// Two seconds of 50 k IOPS.
    pub fn run() -> RunSummary {
        let percentiles = LatencySummary::PERCENTS.map(|p| (p, if p > 99.95 { 900_000 } else { 600_000 }));
        RunSummary {
            workload: Workload::default(),
            effective: Effective {
                ring_flags: vec!["SINGLE_ISSUER".to_owned(), "DEFER_TASKRUN".to_owned()],
                batch: "adaptive, submit 4, complete 8".to_owned(),
                placement: "anywhere".to_owned(),
                memory: "huge pages (2 MiB)".to_owned(),
                fallbacks: vec!["files cannot be registered (EINVAL): using plain ones".to_owned()],
                ..Effective::default()
            },
            targets: vec![TargetSummary {
                name: Label::new("/dev/nvme0n1"),
                ios: 100_000,
                bytes: 409_600_000,
                runtime: Duration::from_secs(2),
                latency: Some(LatencySummary {
                    min: 90_000,
                    max: 1_200_000,
                    mean: 640_000.0,
                    stddev: 52_000.0,
                    count: 100_000,
                    percentiles: percentiles.to_vec(),
                    within: Vec::new(),
                }),
                cpu_user: Duration::from_millis(100),
                cpu_system: Duration::from_millis(200),
                context_switches: 12_500,
                calls: 12_500,
                depth_reached: Some(31.5),
                interrupts_per_read: Some(0.52),
                ..TargetSummary::default()
            }],
            started: 1_800_000_000,
            ..RunSummary::default()
        }
    }

    #[test]
    fn a_summary_has_workload_result_and_cost() {
        let text = text(&run(), &[]);
        let expected = "\
4k randread, depth 32, 1 job
  io_uring, interrupts, SINGLE_ISSUER DEFER_TASKRUN, adaptive, submit 4, complete 8
  workers anywhere; buffers in huge pages (2 MiB)
  note: files cannot be registered (EINVAL): using plain ones

/dev/nvme0n1: 50.0 k IOPS, 205 MB/s (195 MiB/s)
  reads     100000, 391 MiB in 2.000 s
  latency   min 90.0 us, mean 640 us, stddev 52.0 us, max 1.20 ms
            p50 600 us  p90 600 us  p99 600 us  p99.9 600 us  p99.99 900 us
  per read  1.00 us user and 2.00 us system CPU, 0.12 context switches, 0.52 interrupts
  per call  8.0 reads, depth 31.5
";
        assert_eq!(text, expected);
    }

    #[test]
    fn calls_that_bring_less_than_a_read_are_counted_by_the_read() {
        let mut run = run();
        run.targets[0].calls = 25_000_000;
        assert!(
            text(&run, &[]).ends_with("\n  calls     250.0 per read, depth 31.5\n"),
            "{}",
            text(&run, &[])
        );
    }

    #[test]
    fn an_engine_that_faults_pages_in_counts_them() {
        let mut run = run();
        (run.targets[0].minor_faults, run.targets[0].major_faults) = (49_000, 1_000);
        let faults =
            "\n  faults    1.00 k waited for I/O (major), 49.0 k found their pages in memory (minor)\n";
        assert!(text(&run, &[]).ends_with(faults), "{}", text(&run, &[]));
        run.targets[0].minor_faults = 40;
        assert!(!text(&run, &[]).contains("faults"), "those of a start");
    }

    #[test]
    fn what_was_asked_for_and_not_had_is_not_in_the_title() {
        let mut run = run();
        run.workload.hipri = true;
        assert!(text(&run, &[]).starts_with("4k randread, depth 32, 1 job\n"));
        run.effective.completion = Completion::Polled;
        assert!(text(&run, &[]).starts_with("4k randread, depth 32, 1 job, polled\n"));
    }

    #[test]
    fn errors_and_doubts_follow_their_figure() {
        let mut run = run();
        run.simulated = true;
        run.interrupted = true;
        run.targets[0].errors = 2;
        run.targets[0].first_error = Some(Label::new("EIO: Input/output error on /dev/nvme0n1 at byte 0"));
        run.targets[0].invalid_because.push("2 reads failed".to_owned());
        run.targets.push(run.targets[0].clone());
        let text = text(&run, &[]);
        assert!(
            text.starts_with("SIMULATED  4k randread, depth 32, 1 job, 2 targets, interrupted\n"),
            "{text}"
        );
        assert!(text.contains("\n  errors    2, first: EIO: Input/output error on /dev/nvme0n1 at byte 0\n"));
        assert!(text.contains("\n  invalid   2 reads failed\n"));
        assert!(text.ends_with("\nall targets: 100 k IOPS, 410 MB/s (391 MiB/s)\n"), "{text}");
    }
}
