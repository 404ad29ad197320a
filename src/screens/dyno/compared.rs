//! Two tests beside each other: the one shown and the one before it.

use crate::{
    model::{LatencySummary, RunSummary},
    screens::{
        Over,
        widgets::{
            paint::{Piece, cells, fit, paragraph, piece},
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

/// The test before and the test shown, `back` from the newest; for the oldest one, it and the next.
pub(super) fn pair(tests: &Tests, back: usize) -> Option<[&RunSummary; 2]> {
    let ended = || tests.all.iter().rev().enumerate().filter_map(|(at, test)| Some((at, test.summary()?)));
    let shown = ended().find(|(at, _)| *at == back)?;
    let older = ended().find(|(at, _)| *at > back);
    let newer = ended().rfind(|(at, _)| *at < back);
    older.map(|older| [older.1, shown.1]).or(newer.map(|newer| [shown.1, newer.1]))
}

/// The figures of both in lines of at most `width` cells, with the difference of the later one.
pub(super) fn over(shared: &Shared, pair: [&RunSummary; 2], width: u16) -> Over {
    let units = shared.units;
    let room = usize::from(width.saturating_sub(CHANGE)).saturating_sub(LABEL) / 2;
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
        let change = before.zip(after).filter(|(before, _)| *before > 0.0);
        let change = change.map(|(before, after)| format!("{:+.1} %", (after / before - 1.0) * 100.0));
        let texts = [before, after].map(|value| value.map_or_else(|| "-".to_owned(), word));
        line(label, texts, change.unwrap_or_default(), Meaning::Text)
    };
    let targets = |run: &RunSummary| {
        let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
        names.join(" ")
    };
    let words = |label: &str, texts: [String; 2]| line(label, texts, String::new(), Meaning::Text);
    let mut lines: Vec<Vec<Piece>> = vec![
        line("", ["before".to_owned(), "after".to_owned()], String::new(), Meaning::Heading),
        words("workload", pair.map(|run| run.workload.title())),
        words("reads", pair.map(targets)),
        figure("rate", |run| Some(run.bytes_per_second()), &|value| rate(units, value)),
        figure("IOPS", |run| Some(run.iops()), &count),
        figure("median", |run| highest(run, 50.0), &nanoseconds),
        figure("p99", |run| highest(run, 99.0), &nanoseconds),
        figure("CPU/read", cpu, &nanoseconds),
        Vec::new(),
    ];
    if pair[0].workload.title() != pair[1].workload.title() || targets(pair[0]) != targets(pair[1]) {
        let text = "Workload or drives differ: the difference is not that of a setting.";
        lines.extend(paragraph(text, Meaning::Warning, width));
    }
    let latency = "Latencies are those of the slowest drive. One test each proves little: an experiment ({what-if}) repeats both.";
    lines.extend(paragraph(&shared.keys.fill(latency), Meaning::Quiet, width));
    lines.extend(paragraph(FILES, Meaning::Quiet, width));
    Over { title: "Two tests compared".to_owned(), lines, size: (100, 18), cursor: None }
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
