//! Changes of the runs and experiments of both sides, with intervals.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    pairs::{Known, pairs},
    side::{Run, Side},
};
use crate::{
    experiment::{
        statistics::median,
        verdict::{change, percent_change, short},
    },
    model::{ArmRecord, EffectRecord, ExperimentRecord, Metric, Target, Verdict, Workload},
    report::{
        sheet::{boxed, effect_words, experiment_title},
        spread,
    },
    units::{self, BytesPerSecond, Micros, UnitSystem, counted},
};

/// One test on both sides.
#[derive(Debug, Serialize)]
pub(super) struct RunChange {
    title: String,
    targets: usize,
    /// Targets, where their names differ.
    other_targets: Option<[Vec<String>; 2]>,
    before: Figures,
    after: Figures,
    #[serde(flatten)]
    ratio: Ratio,
    /// Reasons why one of the figures is invalid.
    doubts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Figures {
    bytes_per_second: f64,
    iops: f64,
    /// The worst 99th percentile of its targets.
    p99_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Ratio {
    /// After over before.
    #[serde(rename = "ratio")]
    middle: f64,
    /// Its 95 % interval by the seconds of both runs, or the rounds of both experiments.
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
}

/// One experiment on both sides.
#[derive(Debug, Serialize)]
pub(super) struct ExperimentChange {
    title: String,
    metric: Metric,
    arms: Vec<ArmChange>,
    /// Verdicts that changed.
    verdicts: Vec<VerdictChange>,
}

/// The medians of an arm, in the metric's unit.
#[derive(Debug, Serialize)]
struct ArmChange {
    label: String,
    before: f64,
    after: f64,
    #[serde(flatten)]
    ratio: Ratio,
}

#[derive(Debug, Serialize)]
struct VerdictChange {
    arm: String,
    against: String,
    before: EffectRecord,
    after: EffectRecord,
}

/// Runs of both sides, and the titles of those of one side only.
pub(super) fn runs(before: &Side, after: &Side, margin: f64) -> (Vec<RunChange>, Vec<String>) {
    let (before, after) = (before.runs.iter().flatten(), after.runs.iter().flatten());
    let (pairs, alone) = pairs(before.map(known_run).collect(), after.map(known_run).collect());
    let changes = pairs.into_iter().map(|(old, new)| RunChange::new(old, new, margin)).collect();
    (changes, unique(alone.into_iter().map(|run| run.summary.workload.title())))
}

fn known_run(run: &Run) -> Known<'_, Run> {
    Known { what: options(&run.summary.workload), to: run.targets(), result: run }
}

/// Experiments of both sides, and the titles of those of one side only.
pub(super) fn experiments(before: &Side, after: &Side, margin: f64) -> (Vec<ExperimentChange>, Vec<String>) {
    let (before, after) = (before.experiments.iter().flatten(), after.experiments.iter().flatten());
    let (pairs, alone) = pairs(before.map(known_experiment).collect(), after.map(known_experiment).collect());
    let changes = pairs.into_iter().map(|(old, new)| ExperimentChange::new(old, new, margin)).collect();
    (changes, unique(alone.into_iter().map(experiment_title)))
}

fn known_experiment(result: &ExperimentRecord) -> Known<'_, ExperimentRecord> {
    let mut to: Vec<String> = result.targets.iter().map(target_name).collect();
    to.sort_unstable();
    let mut what = vec![result.name.to_string(), result.metric.name().to_owned()];
    let baseline = result.arms.iter().find(|arm| arm.label == result.baseline);
    what.extend(baseline.iter().flat_map(|arm| options(&arm.workload)));
    Known { what, to, result }
}

/// A workload without targets, times and seed.
fn options(workload: &Workload) -> Vec<String> {
    let passing = ["randseed", "runtime", "ramp_time"];
    let kept = workload.options().filter(|(option, _)| !passing.contains(&option.name));
    kept.map(|(option, value)| format!("{}={value}", option.name)).collect()
}

fn target_name(target: &Target) -> String {
    let path = || target.path.to_string_lossy().into_owned();
    target.drive.as_ref().map_or_else(path, ToString::to_string)
}

fn unique(titles: impl Iterator<Item = String>) -> Vec<String> {
    titles.collect::<BTreeSet<_>>().into_iter().collect()
}

impl Ratio {
    /// `interval` is that of the figures' ratio.
    fn new(
        before: f64,
        after: f64,
        interval: Option<spread::Interval>,
        more_is_better: bool,
        margin: f64,
    ) -> Self {
        let ratio = if before > 0.0 { after / before } else { f64::INFINITY };
        // The interval's width comes from the parts, its middle from the whole.
        let interval = interval.map(|of| (ratio * of.low / of.middle, ratio * of.high / of.middle));
        let verdict = match (verdict(ratio, interval, margin), more_is_better) {
            (Verdict::Faster, false) => Verdict::Slower,
            (Verdict::Slower, false) => Verdict::Faster,
            (verdict, _) => verdict,
        };
        Self {
            middle: ratio,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            verdict,
        }
    }
}

/// Slower or faster: the ratio is beyond the margin and its interval excludes 1; no difference: the interval is within the
/// margin.
fn verdict(ratio: f64, interval: Option<(f64, f64)>, margin: f64) -> Verdict {
    // Without an interval the ratio alone counts.
    let (low, high) = interval.unwrap_or((ratio, ratio));
    if ratio < 1.0 - margin && high < 1.0 {
        Verdict::Slower
    } else if ratio > 1.0 + margin && low > 1.0 {
        Verdict::Faster
    } else if low >= 1.0 - margin && high <= 1.0 + margin {
        Verdict::NoDifference
    } else {
        Verdict::Inconclusive
    }
}

impl RunChange {
    fn new(before: &Run, after: &Run, margin: f64) -> Self {
        let figures = |run: &Run| Figures {
            bytes_per_second: run.summary.bytes_per_second(),
            iops: run.summary.iops(),
            p99_ns: run.p99(),
        };
        let (old, new) = (figures(before), figures(after));
        let interval = spread::ratio(&before.seconds.rates, &after.seconds.rates);
        let doubts = [before, after].into_iter().flat_map(|run| &run.summary.targets);
        let names = [before.targets(), after.targets()];
        Self {
            title: before.summary.workload.title(),
            targets: before.summary.targets.len(),
            other_targets: (names[0] != names[1]).then_some(names),
            ratio: Ratio::new(old.bytes_per_second, new.bytes_per_second, interval, true, margin),
            before: old,
            after: new,
            doubts: unique(doubts.flat_map(|target| target.invalid_because.iter().cloned())),
        }
    }

    /// Whether it got slower by more than the margin.
    pub fn is_slower(&self) -> bool {
        self.ratio.verdict == Verdict::Slower
    }

    /// For a box.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = boxed("", &format!("{}, {}", self.title, counted(self.targets, "target")));
        if let Some([before, after]) = &self.other_targets {
            lines.extend(boxed("   ", &format!("{} → {}", before.join(" "), after.join(" "))));
        }
        let row = |name: &str, figures: &Figures| {
            let p99 =
                figures.p99_ns.map_or_else(String::new, |ns| format!(", p99 {}", Micros(ns as f64 / 1e3)));
            let rate = UnitSystem::Decimal.rate(BytesPerSecond(figures.bytes_per_second));
            format!("   {name:<7} {rate}, {} IOPS{p99}", units::count(figures.iops))
        };
        lines.push(row("before", &self.before));
        lines.push(row("after", &self.after));
        let interval = match (self.ratio.low, self.ratio.high) {
            (Some(low), Some(high)) => {
                format!(" (95 %: {} to {})", percent_change(low), percent_change(high))
            }
            _ => " (too short for an interval)".to_owned(),
        };
        let word = self.ratio.verdict.name().replace('-', " ");
        lines.push(format!("   {word}: {} %{interval}", percent_change(self.ratio.middle)));
        lines.extend(self.doubts.iter().flat_map(|doubt| boxed("   ", &format!("invalid: {doubt}"))));
        lines
    }
}

impl ExperimentChange {
    fn new(before: &ExperimentRecord, after: &ExperimentRecord, margin: f64) -> Self {
        let more_is_better = before.metric.more_is_better();
        let arm = |old: &ArmRecord| {
            let new = after.arms.iter().find(|new| new.label == old.label)?;
            let values = |arm: &ArmRecord| arm.runs.iter().map(|run| run.value).collect::<Vec<f64>>();
            let (was, is) = (values(old), values(new));
            let (before, after) = (median(&was)?, median(&is)?);
            let ratio = Ratio::new(before, after, spread::ratio(&was, &is), more_is_better, margin);
            Some(ArmChange { label: old.label.to_string(), before, after, ratio })
        };
        let verdict = |old: &EffectRecord| {
            let new = after.effects.iter().find(|new| new.arm == old.arm && new.verdict != old.verdict)?;
            let (arm, against) = (old.arm.to_string(), old.against.clone());
            Some(VerdictChange { arm, against, before: old.clone(), after: new.clone() })
        };
        Self {
            title: experiment_title(before),
            metric: before.metric,
            arms: before.arms.iter().filter_map(arm).collect(),
            verdicts: before.effects.iter().filter_map(verdict).collect(),
        }
    }

    /// Whether an arm got slower by more than the margin.
    pub fn is_slower(&self) -> bool {
        self.arms.iter().any(|arm| arm.ratio.verdict == Verdict::Slower)
    }

    /// For a box: an arm a line, then changed verdicts.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = boxed("", &self.title);
        for arm in &self.arms {
            let figure = |value| short(self.metric, value, UnitSystem::Decimal);
            let label: String = arm.label.chars().take(18).collect();
            let Ratio { middle, low, high, verdict } = arm.ratio;
            lines.push(format!(
                "   {label:<18} {:>11} → {:<11} {} {}",
                figure(arm.before),
                figure(arm.after),
                change(middle, low.zip(high)),
                verdict.word()
            ));
        }
        for change in &self.verdicts {
            let (old, new) = (effect_words(&change.before), effect_words(&change.after));
            let words = format!("{} against {}: {old}, now {new}", change.arm, change.against);
            lines.extend(boxed("   ", &words));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_is_what_is_surely_slower_by_more_than_the_margin() {
        for (ratio, interval, expected) in [
            (0.95, Some((0.94, 0.96)), Verdict::Slower),
            (0.95, None, Verdict::Slower),
            (0.95, Some((0.85, 1.05)), Verdict::Inconclusive),
            (0.99, Some((0.985, 0.995)), Verdict::NoDifference),
            (0.99, Some((0.97, 1.01)), Verdict::Inconclusive),
            (1.10, Some((1.08, 1.12)), Verdict::Faster),
            (1.00, None, Verdict::NoDifference),
        ] {
            assert_eq!(verdict(ratio, interval, 0.02), expected, "{ratio} {interval:?}");
        }
    }

    #[test]
    fn less_cpu_time_is_faster() {
        let of = |more_is_better| Ratio::new(100.0, 90.0, None, more_is_better, 0.02).verdict;
        assert_eq!((of(true), of(false)), (Verdict::Slower, Verdict::Faster));
    }
}
