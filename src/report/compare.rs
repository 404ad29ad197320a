//! `iodyno compare`: what changed between two sheets, or captures, and whether it got slower.
//!
//! Here: the comparison as a document and as a post. A side is in the file below. Not here: reading files (`cli`).

mod side;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

pub use side::{NoSheet, Side};
use side::{Place, Run};

use super::{
    json::{SCHEMA, VERSION},
    sheet::{Block, Format, Span, boxed, written},
    spread,
};
use crate::units::{self, BytesPerSecond, Micros, UnitSystem};

/// What changed.
#[derive(Debug, Serialize)]
pub struct Comparison {
    schema: u32,
    version: &'static str,
    /// Whether a side's figures come from simulated drives.
    simulated: bool,
    /// The share of its rate a run may lose before it counts as slower.
    margin: f64,
    /// Whether a run got slower by more than that.
    slower: bool,
    changes: Vec<Change>,
    findings_gone: Vec<String>,
    findings_new: Vec<String>,
    runs: Vec<RunChange>,
    /// Tests that only one side has, by title.
    runs_unmatched: Vec<String>,
    /// Parts that one side was made without.
    not_compared: Vec<&'static str>,
}

/// One thing that is another one now.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    /// `machine`, `place`, `link`, `limit`, `device`, `setting`.
    kind: &'static str,
    what: String,
    before: Option<String>,
    after: Option<String>,
}

/// One test on both sides; of several runs of it, the last.
#[derive(Debug, Serialize)]
struct RunChange {
    title: String,
    targets: usize,
    before: Figures,
    after: Figures,
    /// Rate after over rate before.
    ratio: f64,
    /// Its 95 % interval by the seconds of both runs.
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
    /// Why one of the figures is not the drives' own.
    doubts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Figures {
    bytes_per_second: f64,
    iops: f64,
    /// The worst 99th percentile of its targets.
    p99_ns: Option<u64>,
}

/// What became of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// By more than the margin, and more than the seconds of the runs differ by.
    Faster,
    /// Likewise.
    Slower,
    /// The whole interval lies within the margin.
    NoDifference,
    /// The runs are too short or too uneven to tell.
    Inconclusive,
}

impl Verdict {
    fn of(ratio: f64, interval: Option<(f64, f64)>, margin: f64) -> Self {
        // Without an interval the figures are all there is.
        let (low, high) = interval.unwrap_or((ratio, ratio));
        if ratio < 1.0 - margin && high < 1.0 {
            Self::Slower
        } else if ratio > 1.0 + margin && low > 1.0 {
            Self::Faster
        } else if low >= 1.0 - margin && high <= 1.0 + margin {
            Self::NoDifference
        } else {
            Self::Inconclusive
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no difference",
            Self::Inconclusive => "cannot be told",
        }
    }
}

impl Comparison {
    /// Compares; `margin` is a share: 0.02 for 2 %.
    pub fn new(before: &Side, after: &Side, margin: f64) -> Self {
        let mut not_compared = Vec::new();
        let mut changes = Vec::new();
        match (&before.machine, &after.machine) {
            (Some(old), Some(new)) => changes.extend(machine(old, new)),
            _ => not_compared.push("machine"),
        }
        match (before.places(), after.places()) {
            (Some(old), Some(new)) => changes.extend(places(&old, &new)),
            _ => not_compared.push("tree"),
        }
        match (&before.settings, &after.settings) {
            (Some(old), Some(new)) => changes.extend(settings(old, new)),
            _ => not_compared.push("settings"),
        }
        let (mut findings_gone, mut findings_new) = (Vec::new(), Vec::new());
        match (&before.findings, &after.findings) {
            (Some(old), Some(new)) => {
                (findings_gone, findings_new) = (titles_without(old, new), titles_without(new, old));
            }
            _ => not_compared.push("findings"),
        }
        let (old, new) = (last_runs(before), last_runs(after));
        let runs: Vec<RunChange> =
            old.iter().filter_map(|(test, run)| Some(run_change(run, new.get(test)?, margin))).collect();
        let alone = |one: &Runs<'_>, other: &Runs<'_>| -> Vec<String> {
            one.iter()
                .filter(|(test, _)| !other.contains_key(*test))
                .map(|(test, _)| test.0.clone())
                .collect()
        };
        let runs_unmatched: BTreeSet<String> =
            alone(&old, &new).into_iter().chain(alone(&new, &old)).collect();
        Self {
            schema: SCHEMA,
            version: VERSION,
            simulated: before.simulated || after.simulated,
            margin,
            slower: runs.iter().any(|run| run.verdict == Verdict::Slower),
            changes,
            findings_gone,
            findings_new,
            runs,
            runs_unmatched: runs_unmatched.into_iter().collect(),
            not_compared,
        }
    }

    /// Whether a run got slower by more than the margin.
    pub const fn is_slower(&self) -> bool {
        self.slower
    }

    /// As a post.
    pub fn text(&self, format: Format) -> String {
        let mut blocks = vec![Block::Title("Before and after".to_owned())];
        if self.simulated {
            blocks.push(Block::Text(vec![
                Span::Strong("SIMULATED.".to_owned()),
                Span::Plain(" At least one side is a machine built into iodyno.".to_owned()),
            ]));
        }
        blocks.extend(self.results());
        blocks.extend(self.changed());
        blocks.extend(list("Findings that are gone", &self.findings_gone));
        blocks.extend(list("Findings that are new", &self.findings_new));
        if !self.not_compared.is_empty() {
            let text =
                format!("Not compared, for one side was made without: {}.", self.not_compared.join(", "));
            blocks.push(Block::Text(vec![Span::Plain(text)]));
        }
        written(blocks, format)
    }

    fn results(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Heading("Runs".to_owned())];
        if self.runs.is_empty() {
            let text = "No test was run on both sides, so nothing says which is faster.";
            blocks.push(Block::Text(vec![Span::Plain(text.to_owned())]));
        }
        for run in &self.runs {
            blocks.push(Block::Box(run.lines()));
        }
        if !self.runs.is_empty() {
            let text = format!(
                "Slower or faster is what differs by more than {} % and by more than the seconds of the runs do.",
                units::three_digits(100.0 * self.margin)
            );
            blocks.push(Block::Text(vec![Span::Plain(text)]));
        }
        blocks.extend(list("Runs of one side alone", &self.runs_unmatched));
        blocks
    }

    fn changed(&self) -> Vec<Block> {
        let heading = Block::Heading("What changed".to_owned());
        if self.changes.is_empty() {
            let text = "Nothing that both sides tell: machine, places, links and settings are the same.";
            return vec![heading, Block::Text(vec![Span::Plain(text.to_owned())])];
        }
        let lines = self.changes.iter().flat_map(|change| {
            let old = change.before.as_deref().unwrap_or("not there");
            let new = change.after.as_deref().unwrap_or("not there");
            boxed(&format!("{:<8} ", change.kind), &format!("{}: {old} → {new}", change.what))
        });
        vec![heading, Block::Box(lines.collect())]
    }
}

impl RunChange {
    fn lines(&self) -> Vec<String> {
        let drives =
            if self.targets == 1 { "1 target".to_owned() } else { format!("{} targets", self.targets) };
        let mut lines = boxed("", &format!("{}, {drives}", self.title));
        let row = |name: &str, figures: &Figures| {
            let p99 =
                figures.p99_ns.map_or_else(String::new, |ns| format!(", p99 {}", Micros(ns as f64 / 1e3)));
            let rate = UnitSystem::Decimal.rate(BytesPerSecond(figures.bytes_per_second));
            format!("   {name:<7} {rate}, {} IOPS{p99}", units::count(figures.iops))
        };
        lines.push(row("before", &self.before));
        lines.push(row("after", &self.after));
        let interval = match (self.low, self.high) {
            (Some(low), Some(high)) => format!(", {low:.3} to {high:.3} at 95 %"),
            _ => ", too short for an interval".to_owned(),
        };
        lines.push(format!("   {}: {:.3} of what it was{interval}", self.verdict.words(), self.ratio));
        lines.extend(self.doubts.iter().flat_map(|doubt| boxed("   ", &format!("not valid: {doubt}"))));
        lines
    }
}

/// The last run of each test.
type Runs<'a> = BTreeMap<(String, Vec<String>), &'a Run>;

fn last_runs(side: &Side) -> Runs<'_> {
    side.runs.iter().flatten().map(|run| (run.test(), run)).collect()
}

fn run_change(before: &Run, after: &Run, margin: f64) -> RunChange {
    let figures = |run: &Run| Figures {
        bytes_per_second: run.summary.bytes_per_second(),
        iops: run.summary.iops(),
        p99_ns: run.p99(),
    };
    let (old, new) = (figures(before), figures(after));
    let ratio =
        if old.bytes_per_second > 0.0 { new.bytes_per_second / old.bytes_per_second } else { f64::INFINITY };
    // The interval's width comes from the seconds, its middle from the whole runs.
    let interval = spread::ratio(&before.seconds.rates, &after.seconds.rates)
        .map(|of| (ratio * of.low / of.middle, ratio * of.high / of.middle));
    let doubts: BTreeSet<String> = [before, after]
        .into_iter()
        .flat_map(|run| run.summary.targets.iter().flat_map(|target| target.invalid_because.iter().cloned()))
        .collect();
    RunChange {
        title: before.title.clone(),
        targets: before.summary.targets.len(),
        before: old,
        after: new,
        ratio,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        verdict: Verdict::of(ratio, interval, margin),
        doubts: doubts.into_iter().collect(),
    }
}

fn machine(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let words = |value: Option<&Value>| match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(all)) => Some(all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Some(other) => Some(other.to_string()),
    };
    names
        .into_iter()
        .filter_map(|name| {
            change("machine", &name.replace('_', " "), words(old.get(name)), words(new.get(name)))
        })
        .collect()
}

fn places(old: &BTreeMap<String, Place>, new: &BTreeMap<String, Place>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let rate = |rate: f64| UnitSystem::Decimal.rate(BytesPerSecond(rate));
    let mut changes = Vec::new();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        let of = |pick: &dyn Fn(&Place) -> Option<String>| (before.and_then(pick), after.and_then(pick));
        let mut add = |kind, (before, after)| changes.extend(change(kind, name, before, after));
        add("place", of(&|place| Some(place.at.clone())));
        // Of what is on one side only, its place says all.
        if before.is_some() && after.is_some() {
            add("device", of(&|place| Some(place.what.clone())));
            add("link", of(&|place| place.link.clone()));
            add("limit", of(&|place| place.limit.map(rate)));
        }
    }
    changes
}

fn settings(old: &[side::Setting], new: &[side::Setting]) -> Vec<Change> {
    let by_name = |all: &[side::Setting]| -> BTreeMap<(String, String), Option<String>> {
        all.iter().map(|row| ((row.device.clone(), row.id.clone()), row.value.clone())).collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    // A device that is on one side only is told by its place.
    let both = old.iter().filter_map(|(key, before)| Some((key, before, new.get(key)?)));
    both.filter_map(|((device, setting), before, after)| {
        change("setting", &format!("{device} {setting}"), before.clone(), after.clone())
    })
    .collect()
}

fn change(kind: &'static str, what: &str, before: Option<String>, after: Option<String>) -> Option<Change> {
    (before != after).then(|| Change { kind, what: what.to_owned(), before, after })
}

/// Titles of `these` whose finding is not among `those` in the same words.
fn titles_without(these: &[side::Finding], those: &[side::Finding]) -> Vec<String> {
    let gone =
        these.iter().filter(|one| !those.iter().any(|other| other.id == one.id && other.title == one.title));
    gone.map(|finding| finding.title.clone()).collect()
}

fn list(heading: &str, items: &[String]) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let items = items.iter().map(|item| vec![Span::Plain(item.clone())]).collect();
    vec![Block::Heading(heading.to_owned()), Block::List(items)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slower_is_what_is_surely_slower_by_more_than_the_margin() {
        for (ratio, interval, verdict) in [
            (0.95, Some((0.94, 0.96)), Verdict::Slower),
            (0.95, None, Verdict::Slower),
            (0.95, Some((0.85, 1.05)), Verdict::Inconclusive),
            (0.99, Some((0.985, 0.995)), Verdict::NoDifference),
            (0.99, Some((0.97, 1.01)), Verdict::Inconclusive),
            (1.10, Some((1.08, 1.12)), Verdict::Faster),
            (1.00, None, Verdict::NoDifference),
        ] {
            assert_eq!(Verdict::of(ratio, interval, 0.02), verdict, "{ratio} {interval:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_sheet_or_none(text in any::<String>()) {
            if let Err(why) = Side::parse(&text) {
                prop_assert!(!why.to_string().contains('\n'));
            }
        }
    }
}
