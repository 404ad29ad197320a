//! Two tests beside each other: the one shown and the one before it.

use std::collections::BTreeSet;

use crate::{
    model::{LatencySummary, RunSummary},
    screens::{
        Over,
        widgets::{
            paint::{cells, fit, hanging, paragraph, piece, wrap},
            words::{nanoseconds, rate},
        },
    },
    ui::{Shared, test::Tests, theme::Meaning},
    units::count,
};

/// Where files are compared.
pub(super) const FILES: &str = "`iodyno compare A B` compares two files: sheets saved as JSON, or captures.";

/// A figure of a run, or none.
type Figure = fn(&RunSummary) -> Option<f64>;

/// Cells of the words before the figures, and of the difference behind them.
const LABEL: usize = 10;
const CHANGE: u16 = 10;

/// Two tests and how they were chosen.
pub(super) struct Pair<'a> {
    runs: [&'a RunSummary; 2],
    chosen: &'static str,
}

/// The test before and the test shown, `back` from the newest; for the oldest one, it and the next.
pub(super) fn pair(tests: &Tests, back: usize) -> Option<Pair<'_>> {
    let ended = || tests.all.iter().rev().enumerate().filter_map(|(at, test)| Some((at, test.summary()?)));
    let shown = ended().find(|(at, _)| *at == back)?;
    let older = ended().find(|(at, _)| *at > back);
    let newer = ended().rfind(|(at, _)| *at < back);
    let older = older.map(|older| Pair {
        runs: [older.1, shown.1],
        chosen: "Compared: the test shown, and the one that ended before it. {older run} {newer run} choose another.",
    });
    older.or(newer.map(|newer| Pair {
        runs: [shown.1, newer.1],
        chosen: "Compared: the test shown, which is the oldest, and the one after it. {older run} {newer run} choose another.",
    }))
}

/// The reasons why a test is no measure of its drives, each once.
fn doubts(run: &RunSummary) -> Vec<&str> {
    let reasons = run.targets.iter().flat_map(|target| &target.invalid_because);
    reasons.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What follows from both, in one sentence.
fn verdict([before, after]: [&RunSummary; 2]) -> (String, Meaning) {
    let is_doubtful = [before, after].map(|run| !doubts(run).is_empty());
    let differs = [before.workload.title() != after.workload.title(), targets(before) != targets(after)];
    let doubtful = match is_doubtful {
        [true, true] => Some("neither test measures the drives"),
        [true, false] => Some("the test before does not measure the drives"),
        [false, true] => Some("the test after does not measure the drives"),
        [false, false] => None,
    };
    let differing = match differs {
        [true, true] => Some("workload and drives differ"),
        [true, false] => Some("the workload differs"),
        [false, true] => Some("the drives differ"),
        [false, false] => None,
    };
    let reasons: Vec<&str> = doubtful.into_iter().chain(differing).collect();
    if !reasons.is_empty() {
        return (format!("Not comparable: {}.", reasons.join("; ")), Meaning::Warning);
    }
    let percent = (after.bytes_per_second() / before.bytes_per_second().max(1.0) - 1.0) * 100.0;
    (difference(percent), Meaning::Figure)
}

/// How the later test differs, by its difference in percent.
fn difference(percent: f64) -> String {
    match format!("{:.1}", percent.abs()).as_str() {
        "0.0" => "Both tests read the same.".to_owned(),
        by if percent < 0.0 => format!("The test after reads {by} % less than the test before."),
        by => format!("The test after reads {by} % more than the test before."),
    }
}

fn targets(run: &RunSummary) -> String {
    let names: Vec<&str> =
        run.targets.iter().map(|target| target.name.as_str().trim_start_matches("/dev/")).collect();
    names.join(" ")
}

/// The figures of both in lines of at most `width` cells, with the difference of the later one.
pub(super) fn over(shared: &Shared, pair: &Pair<'_>, width: u16) -> Over {
    let units = shared.units;
    let Pair { runs: pair, chosen } = *pair;
    let (verdict, meaning) = verdict(pair);
    let is_comparable = meaning != Meaning::Warning;
    let change = if is_comparable { CHANGE } else { 0 };
    let room = usize::from(width.saturating_sub(change)).saturating_sub(LABEL) / 2;
    let line = |label: &str, texts: [String; 2], change: String, meaning| {
        let [before, after] = texts.map(|text| {
            let text = fit(&text, u16::try_from(room.saturating_sub(1)).unwrap_or(u16::MAX));
            let blank = room.saturating_sub(usize::from(cells(&text)));
            text + &" ".repeat(blank)
        });
        vec![
            piece(format!("{label:<LABEL$}"), Meaning::Quiet),
            piece(before, meaning),
            piece(after, meaning),
            piece(change, Meaning::Figure),
        ]
    };
    let figure = |label: &str, of: Figure, word: &dyn Fn(f64) -> String| {
        let [before, after] = pair.map(of);
        // Of tests that are not comparable a difference says nothing.
        let change = before.zip(after).filter(|(before, _)| is_comparable && *before > 0.0);
        let change = change.map(|(before, after)| format!("{:+.1} %", (after / before - 1.0) * 100.0));
        let texts = [before, after].map(|value| value.map_or_else(|| "-".to_owned(), word));
        line(label, texts, change.unwrap_or_default(), Meaning::Text)
    };
    // Words have no difference beside them: the right ones take its room, and what is longer goes on below.
    let words = |label: &str, texts: [String; 2]| {
        let right = usize::from(width).saturating_sub(LABEL + room);
        let rooms = [room.saturating_sub(2), right].map(|room| u16::try_from(room).unwrap_or(u16::MAX));
        let [before, after] = [0, 1].map(|side| wrap(&texts[side], rooms[side]));
        let text = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
        let row = |at: usize| {
            let label = if at == 0 { label } else { "" };
            vec![
                piece(format!("{label:<LABEL$}"), Meaning::Quiet),
                piece(format!("{:<room$}", text(&before, at)), Meaning::Text),
                piece(text(&after, at), Meaning::Text),
            ]
        };
        (0..before.len().max(after.len())).map(row).collect::<Vec<_>>()
    };
    let mut lines = paragraph(&verdict, meaning, width);
    for (which, run) in ["before", "after"].iter().zip(pair) {
        let doubts = doubts(run);
        if !doubts.is_empty() {
            let text = format!("{which}: not a measure of the drive: {}", doubts.join("; "));
            lines.extend(paragraph(&text, Meaning::Warning, width));
        }
    }
    lines.push(line("", ["before".to_owned(), "after".to_owned()], String::new(), Meaning::Heading));
    lines.extend(words("workload", pair.map(|run| run.workload.title())));
    lines.extend(vec![
        figure("rate", |run| Some(run.bytes_per_second()), &|value| rate(units, value)),
        figure("IOPS", |run| Some(run.iops()), &count),
        figure("median", |run| highest(run, 50.0), &nanoseconds),
        figure("p99", |run| highest(run, 99.0), &nanoseconds),
        figure("CPU/read", cpu, &nanoseconds),
    ]);
    // Many names take many lines: below the figures, and once where they are the same.
    let [before, after] = pair.map(targets);
    if before == after {
        let label = piece(format!("{:<LABEL$}", "reads"), Meaning::Quiet);
        lines.extend(hanging(label, &format!("both {before}"), Meaning::Text, width));
    } else {
        lines.extend(words("reads", [before, after]));
    }
    lines.push(Vec::new());
    lines.extend(paragraph(&shared.keys.fill(chosen), Meaning::Quiet, width));
    let latency = "Latencies are those of the slowest drive. One test each proves little: an experiment ({what-if}) repeats both.";
    lines.extend(paragraph(&shared.keys.fill(latency), Meaning::Quiet, width));
    lines.extend(paragraph(FILES, Meaning::Quiet, width));
    Over { title: "Two tests compared".to_owned(), lines, size: (100, 22), cursor: None }
}

/// The highest latency of a percentile among the targets, in ns.
fn highest(run: &RunSummary, percent: f64) -> Option<f64> {
    let of = |latency: &LatencySummary| latency.percentile(percent);
    let latencies = run.targets.iter().filter_map(|target| target.latency.as_ref().and_then(of));
    latencies.max().map(|ns| ns as f64)
}

/// CPU time of a read, in ns.
fn cpu(run: &RunSummary) -> Option<f64> {
    run.cost().map(|cost| (cost.user + cost.system).as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_nothing_is_no_difference() {
        assert_eq!(difference(0.04), "Both tests read the same.");
        assert_eq!(difference(-0.04), "Both tests read the same.");
        assert_eq!(difference(-1.26), "The test after reads 1.3 % less than the test before.");
        assert_eq!(difference(20.0), "The test after reads 20.0 % more than the test before.");
    }
}
