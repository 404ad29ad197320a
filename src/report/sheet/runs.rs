//! Runs: measured and expected rates, percentiles, the rate over time; and the commands that repeat each.

use std::collections::BTreeMap;

use super::{BOX, Block, Choice, Dossier, INDENT, boxed, date, experiments, numbered, plain_text};
use crate::{
    model::{RunRecord, RunSummary, Seconds, TargetSummary},
    report::{commands, spread, summary},
    units::{self, BytesPerSecond, Micros, UnitSystem, counted, three_digits},
};

/// Blocks of a sparkline at most.
const SPARKLINE: usize = 40;
/// Targets that have a line of their own.
const MOST_TARGETS: usize = 24;

pub(super) fn blocks(dossier: &Dossier, choice: &Choice) -> Vec<Block> {
    let runs = chosen(dossier, choice);
    if runs.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Runs".to_owned())];
    blocks.extend(runs.into_iter().map(|(number, record)| Block::Box(run(number, record))));
    blocks
}

/// Runs of one workload share their commands.
pub(super) fn commands(dossier: &Dossier, choice: &Choice) -> Vec<Block> {
    let origin = dossier.origin();
    let mut groups: Vec<(Vec<String>, Vec<String>, Vec<usize>)> = Vec::new();
    for (number, record) in chosen(dossier, choice) {
        let own = commands::iodyno(&record.run.workload, &origin);
        match groups.iter_mut().find(|(known, _, _)| *known == own) {
            Some((_, _, numbers)) => numbers.push(number),
            None => groups.push((own, commands::fio(&record.run.workload), vec![number])),
        }
    }
    let mut blocks = Vec::new();
    for (own, fio, numbers) in groups {
        let which: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let run = if numbers.len() == 1 { "Run" } else { "Runs" };
        let fio_too = if dossier.is_simulated() { "" } else { ", and with fio" };
        blocks.push(plain_text(format!("{run} {}{fio_too}:", which.join(", "))));
        let mut lines = commands::lines(&own, BOX);
        if !dossier.is_simulated() {
            lines.push(String::new());
            lines.extend(commands::lines(&fio, BOX));
        }
        blocks.push(Block::Box(lines));
    }
    for (number, record) in experiments::chosen(dossier, choice) {
        blocks.push(plain_text(format!("Experiment {number}:")));
        blocks.push(Block::Box(commands::lines(&commands::experiment(record, &origin), BOX)));
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading("How to repeat".to_owned()));
    }
    blocks
}

fn chosen<'a>(dossier: &'a Dossier, choice: &Choice) -> Vec<(usize, &'a RunRecord)> {
    numbered(&dossier.runs, &choice.without_runs)
}

/// `4k randread, depth 32, 1 job, 10 drives, 10 s`.
pub(crate) fn title(run: &RunSummary) -> String {
    let is_drive = |target: &TargetSummary| target.name.as_str().starts_with("/dev/");
    let what = if run.targets.iter().all(is_drive) { "drive" } else { "target" };
    let drives = counted(run.targets.len(), what);
    let seconds = run.targets.iter().map(|target| target.runtime.as_secs_f64()).fold(0.0, f64::max);
    format!("{}, {drives}, {seconds:.0} s", run.workload.title())
}

fn run(number: usize, record: &RunRecord) -> Vec<String> {
    let run = &record.run;
    let simulated = if run.simulated { "SIMULATED " } else { "" };
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    let mut lines = boxed(&format!("{number:<2} "), &format!("{simulated}{}{interrupted}", title(run)));
    let mut say = |words: &str| lines.extend(boxed(INDENT, words));
    say(&total(record));
    say(&how(run));
    lines.extend(course(&record.seconds).map(|line| format!("{INDENT}{line}")));
    lines.push(String::new());
    lines.extend(table(record));
    let notes = notes(record);
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes.iter().flat_map(|note| boxed(INDENT, note)));
    }
    lines
}

/// `▇█████████ 1 s each; the mean ± 0.3 % at 95 %`.
fn course(seconds: &Seconds) -> Option<String> {
    let curve = Some(spread::blocks(&seconds.rates, SPARKLINE)).filter(|curve| !curve.is_empty())?;
    let step = seconds.rates.len().div_ceil(SPARKLINE).max(1) * seconds.step as usize;
    let sure = spread::mean(&seconds.rates).filter(|interval| interval.middle > 0.0).map(|interval| {
        format!("; mean ± {:.2} % (95 %)", 100.0 * (interval.high - interval.middle) / interval.middle)
    });
    Some(format!("{curve} {step} s each{}", sure.unwrap_or_default()))
}

/// `53.5 GB/s, 102 k IOPS, 100 % of the 53.6 GB/s expected`.
fn total(record: &RunRecord) -> String {
    let run = &record.run;
    let rate = UnitSystem::Decimal.rate(BytesPerSecond(run.bytes_per_second()));
    let expected: Option<f64> = record.expected.iter().map(|one| Some(one.as_ref()?.bytes_per_second)).sum();
    let share = match expected.filter(|expected| *expected > 0.0 && !record.expected.is_empty()) {
        Some(expected) => format!(
            ", {:.0} % of the {} expected",
            100.0 * run.bytes_per_second() / expected,
            UnitSystem::Decimal.rate(BytesPerSecond(expected))
        ),
        None => String::new(),
    };
    format!("{rate}, {} IOPS{share}", units::count(run.iops()))
}

/// `io_uring, interrupts, SINGLE_ISSUER DEFER_TASKRUN, adaptive; 2026-11-21 19:40 UTC`.
fn how(run: &RunSummary) -> String {
    let effective = &run.effective;
    let batch = if effective.batch == effective.engine.name() { "" } else { &effective.batch };
    format!("{}{}", summary::method(effective, batch), date(run.started))
}

/// A line per target: rate, expected rate, IOPS, percentiles, CPU time per read.
fn table(record: &RunRecord) -> Vec<String> {
    let run = &record.run;
    let expected = |index: usize| record.expected.get(index)?.as_ref().map(|one| one.bytes_per_second);
    let fastest = run.targets.iter().map(TargetSummary::bytes_per_second).fold(0.0, f64::max);
    // Slow targets would all be 0.00 in the other unit.
    let (unit, name) = if fastest < 5e7 { (1e6, "MB/s") } else { (1e9, "GB/s") };
    let mut lines = vec![format!(
        "{INDENT}{:<11} {:>6} {:>6} {:>4} {:>7} {:>8} {:>8} {:>8} {:>7}",
        "", name, "of", "%", "IOPS", "p50", "p99", "p99.9", "CPU/IO"
    )];
    for (index, target) in run.targets.iter().enumerate().take(MOST_TARGETS) {
        lines.push(row(target, expected(index), unit));
    }
    if run.targets.len() > MOST_TARGETS {
        lines.push(format!("{INDENT}and {} more", run.targets.len() - MOST_TARGETS));
    }
    lines
}

fn row(target: &TargetSummary, expected: Option<f64>, unit: f64) -> String {
    let name = target.drive.as_ref().map_or_else(|| target.name.to_string(), ToString::to_string);
    let name: String = name.chars().take(11).collect();
    let rate = |rate: f64| three_digits(rate / unit);
    let percentile = |percent: f64| {
        let nanoseconds = target.latency.as_ref().and_then(|latency| latency.percentile(percent));
        nanoseconds.map_or_else(String::new, |ns| Micros(ns as f64 / 1e3).to_string())
    };
    let share = expected.filter(|expected| *expected > 0.0);
    let share = share.map(|expected| format!("{:.0}", 100.0 * target.bytes_per_second() / expected));
    let spent = (target.cpu_user + target.cpu_system).as_secs_f64();
    let cost = (target.ios > 0 && spent > 0.0).then(|| Micros(spent * 1e6 / target.ios as f64).to_string());
    let line = format!(
        "{INDENT}{name:<11} {:>6} {:>6} {:>4} {:>7} {:>8} {:>8} {:>8} {:>7}",
        rate(target.bytes_per_second()),
        expected.map(rate).unwrap_or_default(),
        share.unwrap_or_default(),
        units::count(target.iops()),
        percentile(50.0),
        percentile(99.0),
        percentile(99.9),
        cost.unwrap_or_default(),
    );
    line.trim_end().to_owned()
}

/// Limits, failed reads, reasons why a figure is invalid: each sentence once, with its number of targets.
fn notes(record: &RunRecord) -> Vec<String> {
    let run = &record.run;
    let mut about: BTreeMap<(u8, String), usize> = BTreeMap::new();
    let mut add = |order: u8, text: String| *about.entry((order, text)).or_default() += 1;
    for because in record.expected.iter().flatten().map(|expected| &expected.because) {
        add(0, format!("limited by {because}"));
    }
    for target in &run.targets {
        if target.errors > 0 {
            let first =
                target.first_error.as_ref().map(|error| format!(", first: {error}")).unwrap_or_default();
            add(1, format!("{} failed{first}", counted(target.errors, "read")));
        }
        target.invalid_because.iter().for_each(|why| add(2, format!("invalid: {why}")));
    }
    if !run.simulated {
        run.effective.fallbacks.iter().for_each(|note| add(3, format!("note: {note}")));
    }
    let all = run.targets.len();
    let counted = |((order, text), count): ((u8, String), usize)| {
        if order < 3 && count < all { format!("{count} of {all} {text}") } else { text }
    };
    about.into_iter().map(counted).collect()
}
