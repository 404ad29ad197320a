//! Experiments: the question, each arm with its figures and its change, the conclusion, its confidence.

use super::{Block, Choice, Dossier, INDENT, boxed, date, numbered};
use crate::{
    experiment::{
        statistics::median,
        verdict::{change, percent},
    },
    model::{
        ArmRecord, EffectRecord, ExperimentRecord, Metric,
        experiment::{Run, ThrownOut},
    },
    units::{self, BytesPerSecond, Micros, UnitSystem, counted},
};

/// Columns of an arm's label.
const LABEL: usize = 18;
/// Effects that each have a sentence; of more, the largest of each verdict has one.
const SENTENCES: usize = 3;
/// Discarded rounds that have a line.
const REASONS: usize = 3;

pub(super) fn blocks(dossier: &Dossier, choice: &Choice) -> Vec<Block> {
    let chosen = chosen(dossier, choice);
    if chosen.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Experiments".to_owned())];
    let all = &dossier.experiments;
    blocks.extend(chosen.into_iter().map(|(number, record)| {
        let repeated = repeated(record, all.iter().take(number - 1));
        Block::Box(experiment(number, record, &repeated))
    }));
    blocks
}

pub(super) fn chosen<'a>(dossier: &'a Dossier, choice: &Choice) -> Vec<(usize, &'a ExperimentRecord)> {
    numbered(&dossier.experiments, &choice.without_experiments)
}

/// `Does the scheduler cost anything? (scheduler)`.
pub(crate) fn title(record: &ExperimentRecord) -> String {
    format!("{} ({})", record.question, record.name)
}

/// `, second run` behind the name of an experiment that was run before on the same targets with the same arms.
pub(crate) fn repeated<'a>(
    one: &ExperimentRecord,
    before: impl Iterator<Item = &'a ExperimentRecord>,
) -> String {
    let has_arms = |other: &ExperimentRecord| {
        let settings = other.arms.iter().map(|arm| (&arm.label, &arm.settings));
        settings.eq(one.arms.iter().map(|arm| (&arm.label, &arm.settings)))
    };
    let is_same = |other: &&ExperimentRecord| {
        (&other.name, &other.targets) == (&one.name, &one.targets) && has_arms(other)
    };
    match before.filter(is_same).count() {
        0 => String::new(),
        1 => ", second run".to_owned(),
        before => format!(", run {}", before + 1),
    }
}

fn experiment(number: usize, record: &ExperimentRecord, repeated: &str) -> Vec<String> {
    let simulated = if record.simulated { "SIMULATED " } else { "" };
    let mut lines = boxed(&format!("{number:<2} "), &format!("{simulated}{}{repeated}", title(record)));
    lines.extend([subject(record), confidence(record)].iter().flat_map(|words| boxed(INDENT, words)));
    lines.push(String::new());
    lines.extend(table(record));
    lines.push(String::new());
    let mut below = conclusions(record);
    below.push(ending(record));
    let discarded = &record.thrown_out_because;
    let reason = |out: &ThrownOut| format!("round {} discarded: {}, {}", out.round, out.arm, out.why);
    below.extend(discarded.iter().take(REASONS).map(reason));
    if discarded.len() > REASONS {
        below.push(format!("and {} more", discarded.len() - REASONS));
    }
    lines.extend(below.iter().flat_map(|words| boxed(INDENT, words)));
    lines
}

/// `10 drives, 1m randread, depth 32, 3 jobs; 2026-11-21 19:40 UTC`.
fn subject(record: &ExperimentRecord) -> String {
    let what = match record.targets.as_slice() {
        [one] => {
            one.drive.as_ref().map_or_else(|| one.path.to_string_lossy().into_owned(), ToString::to_string)
        }
        many => {
            let is_drive = many.iter().all(|target| target.path.starts_with("/dev"));
            counted(many.len(), if is_drive { "drive" } else { "target" })
        }
    };
    let workload = baseline(record).map(|arm| format!(", {}", arm.workload.title())).unwrap_or_default();
    format!("{what}{workload}{}", date(record.started))
}

/// `12 rounds in balanced random order, 0 discarded; detectable difference 1.6 %, below 2.0 % counts as none`.
fn confidence(record: &ExperimentRecord) -> String {
    let seen = record
        .detectable
        .map_or_else(String::new, |share| format!("detectable difference {}, ", percent(share)));
    format!(
        "{} in balanced random order, {} discarded; {seen}below {} counts as none",
        counted(record.rounds as usize, "round"),
        record.thrown_out,
        percent(record.margin)
    )
}

fn baseline(record: &ExperimentRecord) -> Option<&ArmRecord> {
    record.arms.iter().find(|arm| arm.label == record.baseline)
}

/// A line per arm: medians of its rounds, and the change with its interval.
fn table(record: &ExperimentRecord) -> Vec<String> {
    let confidence = record.effects.first().map_or(0.0, |effect| effect.confidence);
    let (figure, compared) = match record.metric {
        Metric::Iops => ("IOPS", "IOPS"),
        Metric::BytesPerSecond => ("rate", "rate"),
        Metric::CpuNsPerIo => ("IOPS", "CPU/IO"),
        Metric::LatencyP99 => ("IOPS", "p99"),
    };
    let mut lines = vec![format!(
        "{INDENT}{:<LABEL$} {figure:>9} {:>7} {:>7}  {compared} change [{:.0} %]",
        "",
        "CPU/IO",
        "p99",
        100.0 * confidence
    )];
    lines.extend(record.arms.iter().flat_map(|arm| row(record, arm)));
    lines
}

fn row(record: &ExperimentRecord, arm: &ArmRecord) -> Vec<String> {
    let label: String = arm.label.as_str().chars().take(LABEL).collect();
    if let Some(why) = &arm.left_out {
        return boxed(&format!("{INDENT}{label:<LABEL$} "), &format!("left out: {why}"));
    }
    let middle = |of: fn(&Run) -> Option<f64>| median(&arm.runs.iter().filter_map(of).collect::<Vec<_>>());
    let figure = if record.metric == Metric::BytesPerSecond {
        middle(|run| Some(run.bytes_per_second)).map(|rate| UnitSystem::Decimal.rate(BytesPerSecond(rate)))
    } else {
        middle(|run| Some(run.iops)).map(units::count)
    };
    let time = |of| middle(of).map_or_else(String::new, |ns| Micros(ns / 1e3).to_string());
    let effect = record.effects.iter().find(|effect| effect.arm == arm.label);
    let line = format!(
        "{INDENT}{label:<LABEL$} {:>9} {:>7} {:>7}  {}",
        figure.unwrap_or_default(),
        time(|run| run.cpu_ns_per_io),
        time(|run| run.latency_p99),
        effect.map_or_else(|| "baseline".to_owned(), effect_words)
    );
    vec![line.trim_end().to_owned()]
}

/// `-54.3 % [-55.0, -53.6] worse`.
pub(crate) fn effect_words(effect: &EffectRecord) -> String {
    let word = effect.verdict.word();
    match (effect.ratio, effect.low.zip(effect.high)) {
        (Some(ratio), Some(interval)) => format!("{} {word}", change(ratio, Some(interval))),
        _ => word.to_owned(),
    }
}

fn conclusions(record: &ExperimentRecord) -> Vec<String> {
    let mut said: Vec<&EffectRecord> =
        record.effects.iter().filter(|effect| !effect.meaning.is_empty()).collect();
    if said.len() > SENTENCES {
        let strength = |effect: &EffectRecord| effect.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        let is_most = |effect: &&EffectRecord| {
            let same = record.effects.iter().filter(|other| other.verdict == effect.verdict);
            same.max_by(|a, b| strength(a).total_cmp(&strength(b))) == Some(*effect)
        };
        said.retain(is_most);
    }
    said.into_iter().map(|effect| effect.meaning.clone()).collect()
}

/// Why it ended, and whether settings are restored.
fn ending(record: &ExperimentRecord) -> String {
    let changed = record.arms.iter().any(|arm| !arm.settings.is_empty());
    let restored = match (changed, record.restored) {
        (true, true) => "All settings were restored.",
        (true, false) => "Some settings could NOT be restored.",
        (false, _) => "",
    };
    let why = record.ended_because.clone().unwrap_or_default();
    format!("{why} {restored}").trim().to_owned()
}
