//! What a pull came to: the headline, further lines, doubts, each drive.

use super::{
    Done, Phase, Pull,
    compared::{Compared, DriveResult, Figures, is_small},
    conditions::Condition,
    headline::{Headline, mark, not_measured},
    steadiness::{Fall, Steadiness, steadiness},
};
use crate::{
    findings::Finding,
    machine::Machine,
    model::{Basis, Limits, RunSummary, TargetSummary},
    units::{self, BytesPerSecond, Micros, UnitSystem, counted, names_of},
};

/// Latency at depth 1, of the slowest drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Median, nanoseconds.
    pub p50: u64,
    /// 99th percentile, nanoseconds.
    pub p99: u64,
}

/// What a pull found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The first line.
    pub headline: Headline,
    /// Further lines: random reads, latency.
    pub lines: Vec<String>,
    /// What makes figures doubtful: reasons why they are invalid, unsteadiness.
    pub doubts: Vec<String>,
    /// Reads per second.
    pub iops: Option<Figures>,
    /// At depth 1.
    pub latency: Option<Latency>,
    /// Drives in the order in which they are read.
    pub drives: Vec<DriveResult>,
    /// Of all drives together; `None` of a run too short to tell.
    pub steadiness: Option<Steadiness>,
    /// Every reason why a figure is not that of the drives; `doubts` has the first.
    pub reasons: Vec<String>,
    /// Whether a model made the figures.
    pub simulated: bool,
}

impl Outcome {
    /// Judges a pull by the machine's limits, in these units; findings are most severe first.
    pub fn new(
        machine: &Machine,
        limits: &Limits,
        findings: &[Finding],
        pull: &Pull,
        units: UnitSystem,
    ) -> Self {
        let run_of = |is: fn(&Phase) -> bool| {
            let done = pull.done().iter().rev().find(|done| is(&done.step.phase));
            done.and_then(|done| Some((done, done.result.as_ref().ok()?)))
        };
        let large = run_of(|phase| matches!(phase, Phase::Together | Phase::Row("SEQ1M Q8T1")));
        let small = run_of(|phase| matches!(phase, Phase::Random | Phase::Row("RND4K Q32T16")));
        let small = small.or_else(|| run_of(|phase| matches!(phase, Phase::Jobs(_))));
        let single = run_of(|phase| matches!(phase, Phase::Latency | Phase::Row("RND4K Q1T1")));
        let compare = |run| Compared::new(machine, limits, alone(pull, run), run);
        let compared = large.map(|(_, run)| compare(run));
        let latency = single.and_then(|(_, run)| latency(run));
        let small = small.map(|(_, run)| compare(run));
        let iops = small.as_ref().map(|small| small.figures(|_, iops| iops));
        let steadiness = large.and_then(|(done, _)| steadiness(&done.seconds));
        let mut lines = Vec::new();
        lines.extend(small.as_ref().map(|small| random(small, &pull.why_jobs(), limits, units)));
        if let Some(Latency { p50, p99 }) = latency {
            let time = |ns: u64| Micros(ns as f64 / 1e3).to_string();
            let which = if pull.targets().len() > 1 { ", slowest drive" } else { "" };
            lines.push(format!("Latency at 4 KiB, depth 1: median {}, p99 {}{which}.", time(p50), time(p99)));
        }
        let headline = compared.as_ref().map(|compared| {
            let headline = Headline::new(compared, findings, units);
            Headline { text: headline.text + &remarks(pull, findings), ..headline }
        });
        let drives = match &compared {
            Some(compared) => compared.drives(),
            None => read_alone(machine, limits, pull),
        };
        let drives: Vec<DriveResult> = drives.into_iter().map(|drive| observed(drive, pull)).collect();
        let reasons = reasons(pull, |_, _| true);
        // The line of small reads says that already.
        let is_said = small.as_ref().is_some_and(|small| small.cpu_words().is_some());
        let mut doubts = invalid(&self::reasons(pull, |run, reason| {
            !(is_said && is_small(&run.workload) && run.cpu_bound && reason.starts_with("CPU-bound"))
        }));
        doubts.extend(drives.iter().filter_map(|drive| fallen(drive, units)));
        if drives.iter().all(|drive| drive.fall.is_none()) {
            doubts.extend(steadiness.and_then(|steadiness| unsteady(steadiness, units)));
        }
        doubts.extend(drives.iter().filter_map(|drive| drive.condition.as_ref()?.link_words()));
        Self {
            headline: headline
                .unwrap_or_else(|| Headline::partial(pull, &drives, units))
                .of_selection(pull)
                .of_changes(pull),
            lines,
            doubts,
            iops,
            latency,
            drives,
            steadiness,
            reasons,
            simulated: pull.done().iter().any(|done| done.result.as_ref().is_ok_and(|run| run.simulated)),
        }
    }

    /// Whether neither the sum nor a single drive was unsteady; `None` of a run too short to tell.
    pub fn is_steady(&self) -> Option<bool> {
        let falls = self.drives.iter().any(|drive| drive.fall.is_some());
        self.steadiness.map(|steadiness| steadiness.is_steady() && !falls)
    }
}

impl Outcome {
    /// All its words, the headline first.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let all = [&self.headline.text].into_iter().chain(&self.lines).chain(&self.doubts);
        all.map(String::as_str)
    }

    /// The first lines of a sheet, which names no file.
    pub fn sheet(&self) -> Vec<String> {
        [&self.headline.text].into_iter().chain(&self.lines).cloned().collect()
    }
}

/// What a headline does not hold: a cost that only an experiment can tell, phases that are missing.
fn remarks(pull: &Pull, findings: &[Finding]) -> String {
    let unknown = not_measured(findings).map(|finding| format!(" Not measured yet: {}.", finding.title));
    let stopped = pull.stopped_words().map(|words| format!(" {words}"));
    let failed = pull.failed().map(|(step, why)| format!(" {} could not run: {why}.", step.title()));
    [unknown, stopped, failed].into_iter().flatten().collect()
}

/// Drives that were read alone, of a pull that ended before all were read together.
fn read_alone(machine: &Machine, limits: &Limits, pull: &Pull) -> Vec<DriveResult> {
    let runs = pull.done().iter().filter(|done| done.step.phase == Phase::Alone);
    let of = |run: &RunSummary| {
        let drive = Compared::new(machine, limits, vec![None; run.targets.len()], run).drives().pop()?;
        Some(DriveResult { alone: drive.measured, measured: None, expected: None, ..drive })
    };
    // A run that was stopped before its first read measured nothing.
    let has_read = |run: &&RunSummary| run.bytes_per_second() > 0.0;
    runs.filter_map(|done| of(done.result.as_ref().ok().filter(has_read)?)).collect()
}

/// With temperature and link, and where it fell.
fn observed(drive: DriveResult, pull: &Pull) -> DriveResult {
    let of_name = |path: &std::path::Path| path.to_string_lossy().trim_start_matches("/dev/") == drive.name;
    let index = pull.targets().iter().position(|target| of_name(&target.path));
    let condition = index.and_then(|index| pull.conditions().get(index)?.clone());
    let is_large = |done: &Done| matches!(done.step.phase, Phase::Together | Phase::Row("SEQ1M Q8T1"));
    let step = pull.done().iter().position(is_large);
    let fall = step.zip(index).and_then(|(step, index)| {
        let fall = steadiness(pull.done()[step].each.get(index)?)?.fall?;
        Some((fall, condition.as_ref().and_then(|one| one.celsius_at(step, fall.after))))
    });
    DriveResult { condition, fall, ..drive }
}

/// `nvme0n1 fell from 7.10 to 3.20 GB/s after 48 s at 82 °C; it throttled lightly 3 times.`
fn fallen(drive: &DriveResult, units: UnitSystem) -> Option<String> {
    let (fall, celsius) = drive.fall?;
    let at = celsius.map_or_else(String::new, |celsius| format!(" at {celsius:.0} °C"));
    let throttled = drive.condition.as_ref().and_then(Condition::throttled_words);
    let throttled = throttled.map_or_else(String::new, |words| format!("; its SMART log counted: {words}"));
    Some(format!("{} {}{at}{throttled}.", drive.name, fall_words(fall, units)))
}

/// `fell from 7.10 to 3.20 GB/s after 48 s`.
fn fall_words(Fall { from, to, after }: Fall, units: UnitSystem) -> String {
    let [from, to] = [from, to].map(|rate| units.rate(BytesPerSecond(rate)));
    let from = match (from.rsplit_once(' '), to.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => &from,
    };
    format!("fell from {from} to {to} after {} s", after.as_secs())
}

/// What each target of a run read alone.
fn alone<'a>(pull: &'a Pull, run: &RunSummary) -> Vec<Option<&'a TargetSummary>> {
    let of = |target: &TargetSummary| {
        let runs = pull.done().iter().filter(|done| done.step.phase == Phase::Alone);
        let mut targets = runs.filter_map(|done: &Done| done.result.as_ref().ok()?.targets.first());
        targets.find(|alone| alone.name == target.name)
    };
    run.targets.iter().map(of).collect()
}

/// `1.75 M of 2.03 M IOPS (86 %) at 4 KiB random, 2 jobs a drive (why). Limit: ...`.
fn random(small: &Compared<'_>, why_jobs: &str, limits: &Limits, units: UnitSystem) -> String {
    let jobs = counted(usize::try_from(small.run.workload.jobs).unwrap_or(usize::MAX), "job");
    let figure = small.figure(units);
    let limit = small.greatest_limit().map(|expected| {
        let is_cpu = expected.node.is_none() && !expected.is_latency;
        let word = if is_cpu { "CPU-bound" } else { "Limit" };
        format!("{word}: {}.", expected.because)
    });
    let bound = small.cpu_words().or(limit).map_or_else(String::new, |words| format!(" {words}"));
    let published = published(small, limits).map_or_else(String::new, |words| format!(" {words}"));
    // A comma closes the mark.
    let mark = match mark(small) {
        "" => String::new(),
        mark => format!("{mark},"),
    };
    format!("{figure}{mark} at 4 KiB random, {jobs} a drive{why_jobs}.{bound}{published}")
}

/// `Published: 1.15 M IOPS, reached by a 980 PRO 1TB (Poder 2021); these 10 read 1.14 M each.`; `None` where nothing is
/// published of these models.
fn published(small: &Compared<'_>, limits: &Limits) -> Option<String> {
    type Measured<'a> = Vec<(&'a str, f64)>;
    let mut models: Vec<(&str, f64, Measured<'_>)> = Vec::new();
    for target in &small.run.targets {
        let known = target.drive.as_ref().and_then(|name| limits.drive_iops.get(name));
        let Some((iops, Basis::Published, because)) = known else { continue };
        match models.iter_mut().find(|(other, ..)| other == because) {
            Some((.., measured)) => measured.push((target.name.as_str(), target.iops())),
            None => models.push((because, *iops, vec![(target.name.as_str(), target.iops())])),
        }
    }
    let words = models.iter().map(|(because, iops, measured)| {
        let mean = units::count(measured.iter().map(|(_, iops)| iops).sum::<f64>() / measured.len() as f64);
        let here = match measured.as_slice() {
            [(name, _)] => format!("{} read {mean}", name.trim_start_matches("/dev/")),
            all => format!("these {} read {mean} each", all.len()),
        };
        format!("Published: {} IOPS, {because}; {here}.", units::count(*iops))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn latency(run: &RunSummary) -> Option<Latency> {
    let each = run.targets.iter().filter_map(|target| {
        let latency = target.latency.as_ref()?;
        Some((latency.percentile(50.0)?, latency.percentile(99.0)?))
    });
    let (p50, p99) = each.max()?;
    Some(Latency { p50, p99 })
}

/// Reasons why figures are not the drives' own, as far as they are `told`, each once, with its targets.
fn reasons(pull: &Pull, told: impl Fn(&RunSummary, &str) -> bool) -> Vec<String> {
    let runs = pull.done().iter().filter_map(|done| done.result.as_ref().ok());
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (run, target) in runs.flat_map(|run| run.targets.iter().map(move |target| (run, target))) {
        let name = target.name.as_str().trim_start_matches("/dev/");
        for reason in target.invalid_because.iter().filter(|reason| told(run, reason)) {
            match reasons.iter_mut().find(|(other, _)| other == reason) {
                Some((_, names)) if names.iter().any(|other| other == name) => {}
                Some((_, names)) => names.push(name.to_owned()),
                None => reasons.push((reason, vec![name.to_owned()])),
            }
        }
    }
    let words = |(reason, names): &(&str, Vec<String>)| {
        let of = names_of(&counted(names.len(), "drive"), names.iter().map(String::as_str));
        format!("{of}: {reason}")
    };
    reasons.iter().map(words).collect()
}

/// The first reason; where there are more, where to see them.
fn invalid(reasons: &[String]) -> Vec<String> {
    let Some((first, more)) = reasons.split_first() else { return Vec::new() };
    let more = match more {
        [] => None,
        [second] => Some(format!("Nor this: {second}.")),
        _ => Some(format!(
            "{} like it: `invalid_because` of iodyno pull --json lists them, and each run on the Dyno.",
            counted(more.len(), "more reason")
        )),
    };
    [format!("Not valid as a figure of the drives: {first}.")].into_iter().chain(more).collect()
}

/// That the sum of all drives is not steady; `None` if it is.
fn unsteady(steadiness: Steadiness, units: UnitSystem) -> Option<String> {
    if let Some(fall) = steadiness.fall {
        return Some(format!("All drives together {}.", fall_words(fall, units)));
    }
    (!steadiness.is_steady()).then(|| {
        format!(
            "Not steady: the rate ranged over {:.0} % of its mean (SNIA: at most 20 %), its slope was {:+.0} % (at most 10 %).",
            100.0 * steadiness.range,
            100.0 * steadiness.slope
        )
    })
}
