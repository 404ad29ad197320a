//! What a pull says: figure, loss, cause, remedy and gain in one sentence, with the figures behind it.

use std::time::Duration;

use super::{Done, Phase, Pull, Steadiness, steadiness};
use crate::{
    capacity::{self, Expected, Potential, potential::together, potentials},
    findings::{FINDINGS, Finding, SubjectKind},
    machine::Machine,
    model::{Basis, DriveName, FindingId, Limits, NodeIndex, RunSummary, Severity, TargetSummary, Workload},
    units::{self, BytesPerSecond, Micros, UnitSystem, counted},
};

/// A smaller part of the potential is noise.
const LEAST_LOSS: f64 = 0.01;
/// A result from this share of what was expected on has nothing that needs a cause.
const AS_EXPECTED: f64 = 0.95;
/// With fewer I/Os in flight per drive latency sets the rate, not the drive's own limit.
const DEEP: u32 = 16;
/// The subject of a loss to the CPUs.
const CPU: &str = "CPU";
/// Smaller blocks are counted, not weighed: bytes.
const SMALL: f64 = 65_536.0;
/// A worker this busy is what limits its reads.
const BUSY: f64 = 0.9;

/// Measured, beside what the drives could do and what was expected: bytes or reads per second of all drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Measured.
    pub measured: f64,
    /// With nothing in the way; `None` where it is known of no drive.
    pub potential: Option<f64>,
    /// Expected by the machine's limits; `None` where it is not known of each drive.
    pub expected: Option<f64>,
    /// What `measured` is compared with: the potential, and of drives without one what they read alone.
    reference: Option<f64>,
}

/// What a limit takes away.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The finding that names the limit.
    pub finding: Option<FindingId>,
    /// Where it is: an address of the tree, `CPU`, or the drives.
    pub subject: String,
    /// Bytes per second of all drives it limits.
    pub bytes_per_second: f64,
    /// The limit in words.
    pub because: String,
}

/// One drive among all together.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveResult {
    /// The drive or file.
    pub name: String,
    /// Bytes per second with all others.
    pub measured: f64,
    /// Bytes per second alone, where it was read alone.
    pub alone: Option<f64>,
    /// See [`Figures::potential`].
    pub potential: Option<Potential>,
    /// See [`Figures::expected`].
    pub expected: Option<f64>,
    /// The limit that keeps it below its potential, in words.
    pub limited_by: Option<String>,
}

/// Latency at depth 1, of the slowest drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Median, nanoseconds.
    pub p50: u64,
    /// 99th percentile, nanoseconds.
    pub p99: u64,
}

/// The sentence, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// `53.5 of 71.4 GB/s (75 %). ...`.
    pub text: String,
    /// Bytes per second; `None` of a pull that ended before all drives were read together.
    pub figures: Option<Figures>,
    /// What is lost to known limits, most costly first.
    pub lost_to: Vec<Loss>,
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
    /// Whether a model made the figures.
    pub simulated: bool,
}

/// What each target of a run did, could do, and was expected to do.
struct Compared<'a> {
    machine: &'a Machine,
    run: &'a RunSummary,
    alone: Vec<Option<&'a TargetSummary>>,
    potentials: Vec<Option<Potential>>,
    expected: Vec<Option<Expected>>,
    /// Reads per second of all targets as far as drives and links allow, whatever the CPUs do.
    without_cpus: Option<f64>,
}

impl Outcome {
    /// Judges a pull by the machine's limits, in these units; findings are most costly first.
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
        lines.extend(small.as_ref().map(|small| random(small, units)));
        if let Some(Latency { p50, p99 }) = latency {
            let time = |ns: u64| Micros(ns as f64 / 1e3).to_string();
            let which = if pull.targets().len() > 1 { ", slowest drive" } else { "" };
            lines.push(format!("Latency at 4 KiB, depth 1: median {}, p99 {}{which}.", time(p50), time(p99)));
        }
        let mut doubts: Vec<String> = invalid(pull).into_iter().collect();
        doubts.extend(steadiness.filter(|steadiness| !steadiness.is_steady()).map(unsteady));
        let headline = compared.as_ref().map(|compared| {
            let headline = Headline::new(compared, findings, units);
            // A finding whose cost only an experiment can tell.
            let unknown = findings.iter().find(|one| {
                let gain = &one.gain;
                one.severity >= Severity::Warning && gain.bytes_per_second.is_none() && gain.iops.is_none()
            });
            let unknown = unknown.map(|finding| format!(" Not measured yet: {}.", finding.title));
            let stopped =
                pull.stopped().map(|phase| format!(" Stopped in the phase {phase}; later ones are missing."));
            let text = headline.text + &unknown.unwrap_or_default() + &stopped.unwrap_or_default();
            Headline { text, ..headline }
        });
        Self {
            headline: headline.unwrap_or_else(|| Headline::partial(pull)),
            lines,
            doubts,
            iops,
            latency,
            drives: compared.map(|compared| compared.drives()).unwrap_or_default(),
            steadiness,
            simulated: pull.done().iter().any(|done| done.result.as_ref().is_ok_and(|run| run.simulated)),
        }
    }
}

/// Whether reads of a workload are so small that they are counted, not weighed.
pub fn is_small(workload: &Workload) -> bool {
    capacity::expected::mean_block(workload) < SMALL
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

/// One run against what its drives could read: the headline, and each drive.
pub fn of_run(
    machine: &Machine,
    limits: &Limits,
    findings: &[Finding],
    run: &RunSummary,
    units: UnitSystem,
) -> (Headline, Vec<DriveResult>) {
    let compared = Compared::new(machine, limits, vec![None; run.targets.len()], run);
    (Headline::new(&compared, findings, units), compared.drives())
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

impl<'a> Compared<'a> {
    fn new(
        machine: &'a Machine,
        limits: &Limits,
        alone: Vec<Option<&'a TargetSummary>>,
        run: &'a RunSummary,
    ) -> Self {
        let workload = &run.workload;
        let block = capacity::expected::mean_block(workload);
        let raised =
            |(potential, (target, alone)): (Option<Potential>, (&TargetSummary, Option<&TargetSummary>))| {
                let potential = potential?.at_least(target.bytes_per_second(), target.iops());
                let alone = alone.map_or(0.0, TargetSummary::bytes_per_second);
                // Alone it read large blocks: as many bytes are no more reads of small ones.
                Some(if is_small(workload) { potential } else { potential.at_least(alone, alone / block) })
            };
        let known = potentials(machine, limits, workload);
        let potentials =
            known.into_iter().zip(run.targets.iter().zip(alone.iter().copied())).map(raised).collect();
        let expected = capacity::expected(machine, limits, workload);
        let free = Limits { processors: None, ..limits.clone() };
        let without_cpus = capacity::expected(machine, &free, workload);
        let without_cpus = without_cpus.iter().map(|one| one.as_ref().map(|one| one.iops)).sum();
        Self { machine, run, alone, potentials, expected, without_cpus }
    }

    /// `53.5 of 71.4 GB/s (75 %)`, of small blocks `1.75 M of 2.03 M IOPS (86 %)`.
    fn figure(&self, units: UnitSystem) -> String {
        let is_small = is_small(&self.run.workload);
        let figures = self.figures(if is_small { |_, iops| iops } else { |bytes, _| bytes });
        let write = |value: f64| {
            if is_small { format!("{} IOPS", units::count(value)) } else { units.rate(BytesPerSecond(value)) }
        };
        let Some(reference) = figures.reference else { return write(figures.measured) };
        let all = 0..self.run.targets.len();
        let lost: f64 = all.filter_map(|index| self.lost(index)).map(|(lost, _)| lost).sum();
        let of_bytes = self.figures(|bytes, _| bytes).reference.unwrap_or_default();
        let percent = percent(figures.measured, reference, lost >= LEAST_LOSS * of_bytes);
        let (measured, reference) = (write(figures.measured), write(reference));
        // The unit once, where it is the same.
        let number = match (measured.rsplit_once(' '), reference.rsplit_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => number,
            _ => &measured,
        };
        // The rate of a link is a bound that a drive need not reach.
        let at_most = self.potentials.iter().flatten().any(|one| one.basis == Basis::Link);
        let at_most = if at_most { "at most " } else { "" };
        format!("{number} of {at_most}{reference} ({percent} %)")
    }

    /// That the CPUs were the limit; `None` where drives and links were full, and where CPUs were idle.
    fn cpu_words(&self) -> Option<String> {
        let drives_are_full = self.without_cpus.is_some_and(|iops| self.run.iops() >= AS_EXPECTED * iops);
        let cpus = self.machine.processors.cpus.len();
        let jobs = usize::try_from(self.run.workload.jobs).unwrap_or(usize::MAX);
        let workers = self.run.targets.len().saturating_mul(jobs);
        let workers_are_busy = busy(self.run, cpus).is_some_and(|share| share >= BUSY);
        match (drives_are_full, self.run.cpu_bound, workers_are_busy) {
            (true, ..) | (_, false, false) => None,
            (_, false, true) if workers < cpus => Some(format!(
                "CPU-bound: each of {} filled its CPU; more jobs read more.",
                counted(workers, "worker")
            )),
            _ => Some(format!("CPU-bound: all {} were busy.", counted(cpus, "CPU"))),
        }
    }

    /// `pick` takes bytes and reads per second.
    fn figures(&self, pick: fn(f64, f64) -> f64) -> Figures {
        let of = |target: &TargetSummary| pick(target.bytes_per_second(), target.iops());
        let potential_of = |one: &Potential| (one.bytes_per_second.0, one.iops);
        let sum = |each: &[Option<(f64, f64)>]| {
            let (bytes, iops) = together(self.machine, &self.run.workload, each);
            pick(bytes, iops)
        };
        let potentials: Vec<_> = self.potentials.iter().map(|one| one.as_ref().map(potential_of)).collect();
        // What it reads now it can read, too.
        let alone = |(alone, now): (&TargetSummary, &TargetSummary)| {
            (alone.bytes_per_second().max(now.bytes_per_second()), alone.iops().max(now.iops()))
        };
        let pairs = self.alone.iter().zip(&self.run.targets).map(|(alone, now)| (*alone).zip(Some(now)));
        let references: Vec<_> = potentials
            .iter()
            .zip(pairs)
            .map(|(potential, pair)| potential.or_else(|| pair.map(alone)))
            .collect();
        let known = potentials.iter().any(Option::is_some);
        let expected =
            self.expected.iter().map(|one| one.as_ref().map(|one| pick(one.bytes_per_second.0, one.iops)));
        // One drive alone is all drives together: that compares nothing.
        let is_compared = references.iter().all(Option::is_some) && (known || references.len() > 1);
        Figures {
            measured: self.run.targets.iter().map(of).sum(),
            potential: known.then(|| sum(&potentials)),
            expected: expected.sum(),
            reference: is_compared.then(|| sum(&references)),
        }
    }

    fn drives(&self) -> Vec<DriveResult> {
        let of = |(index, target): (usize, &TargetSummary)| {
            let expected = self.expected[index].as_ref();
            DriveResult {
                name: target.name.as_str().trim_start_matches("/dev/").to_owned(),
                measured: target.bytes_per_second(),
                alone: self.alone[index].map(TargetSummary::bytes_per_second),
                potential: self.potentials[index].clone(),
                expected: expected.map(|expected| expected.bytes_per_second.0),
                limited_by: self.lost(index).map(|(_, expected)| expected.because.clone()),
            }
        };
        self.run.targets.iter().enumerate().map(of).collect()
    }

    /// What a known limit takes of one target, bytes per second, with the limit.
    fn lost(&self, index: usize) -> Option<(f64, &Expected)> {
        let (potential, expected) = (self.potentials[index].as_ref()?, self.expected[index].as_ref()?);
        let got = expected.bytes_per_second.0.max(self.run.targets[index].bytes_per_second());
        let lost = potential.bytes_per_second.0 - got;
        (lost > LEAST_LOSS * potential.bytes_per_second.0).then_some((lost, expected))
    }

    /// Losses by limit, most costly first.
    fn losses(&self, findings: &[Finding]) -> Vec<Loss> {
        let mut limits: Vec<(&Expected, Vec<usize>, f64)> = Vec::new();
        for index in 0..self.run.targets.len() {
            let Some((lost, expected)) = self.lost(index) else { continue };
            let same = |(other, ..): &&mut (&Expected, Vec<usize>, f64)| {
                other.node == expected.node && other.because == expected.because
            };
            match limits.iter_mut().find(same) {
                Some((_, targets, sum)) => {
                    targets.push(index);
                    *sum += lost;
                }
                None => limits.push((expected, vec![index], lost)),
            }
        }
        let loss = |(expected, targets, lost): (&Expected, Vec<usize>, f64)| {
            let drives: Vec<&DriveName> =
                targets.iter().filter_map(|index| self.run.targets[*index].drive.as_ref()).collect();
            let finding = findings.iter().find(|one| self.explains(one, expected.node, &drives));
            let subject = expected
                .node
                .map_or_else(|| CPU.to_owned(), |node| self.machine.pci.node(node).address.to_string());
            Loss {
                finding: finding.map(|finding| finding.id),
                subject,
                bytes_per_second: lost,
                because: expected.because.clone(),
            }
        };
        let mut losses: Vec<Loss> = limits.into_iter().map(loss).collect();
        losses.sort_by(|a, b| b.bytes_per_second.total_cmp(&a.bytes_per_second));
        losses
    }

    /// Whether a finding with a gain is about the node that limits these drives, or about one of them.
    fn explains(&self, finding: &Finding, node: Option<NodeIndex>, drives: &[&DriveName]) -> bool {
        let Some(node) = node else { return false };
        let address = self.machine.pci.node(node).address.to_string();
        let is_about = |kind: SubjectKind, name: &str| match kind {
            SubjectKind::Drive => drives.iter().any(|drive| drive.as_str() == name),
            _ => name == address,
        };
        finding.gain.bytes_per_second.is_some()
            && finding.subjects.iter().any(|subject| is_about(subject.kind, &subject.name))
    }
}

impl DriveResult {
    /// Where the limit is, in few words: `root complex 0000:40`, `8 GT/s x4 at MPS 256, port 0000:00:01.1`.
    pub(crate) fn limit(&self) -> Option<&str> {
        let because = self.limited_by.as_deref()?;
        let is_root = because.starts_with("root complex");
        Some(because.split_once(", ").filter(|_| is_root).map_or(because, |(place, _)| place))
    }
}

impl Headline {
    fn new(compared: &Compared<'_>, findings: &[Finding], units: UnitSystem) -> Self {
        let figures = compared.figures(|bytes, _| bytes);
        let lost_to = compared.losses(findings);
        let mut text = format!("{}.", compared.figure(units));
        for sentence in sentences(compared, &figures, &lost_to, findings, units) {
            text.push(' ');
            text.push_str(&sentence);
        }
        Self { text, figures: Some(figures), lost_to }
    }

    /// What was measured as a share of what it is compared with.
    pub fn share(&self) -> Option<f64> {
        let figures = self.figures?;
        figures.reference.filter(|reference| *reference > 0.0).map(|reference| figures.measured / reference)
    }

    /// Of a pull that ended before all drives were read together.
    fn partial(pull: &Pull) -> Self {
        let read = pull.done().iter().filter(|done| done.result.is_ok()).count();
        let text = match pull.failed() {
            Some((step, why)) => format!("{} could not run: {why}.", step.title()),
            None => format!(
                "Stopped after {} of the series: no figure of all drives together.",
                counted(read, "run")
            ),
        };
        Self { text, figures: None, lost_to: Vec::new() }
    }
}

/// Whole percent; 100 only where no known limit costs anything.
fn percent(measured: f64, reference: f64, is_lossy: bool) -> u32 {
    let share = if reference > 0.0 { 100.0 * measured / reference } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = share.clamp(0.0, 100.0).round() as u32;
    if is_lossy { percent.min(99) } else { percent }
}

/// Cause, remedy and gain of what is lost, or that nothing is; then what was not compared.
fn sentences(
    compared: &Compared<'_>,
    figures: &Figures,
    lost_to: &[Loss],
    findings: &[Finding],
    units: UnitSystem,
) -> Vec<String> {
    let by_cpus = compared.cpu_words();
    let work = &compared.run.workload;
    let in_flight = work.depth.saturating_mul(work.jobs);
    let is_short = figures.expected.is_some_and(|expected| figures.measured < AS_EXPECTED * expected);
    // The expected rate knows nothing of depth.
    let is_latency_bound = is_short && in_flight < DEEP;
    let known = lost_to.iter().filter(|loss| loss.subject != CPU || (by_cpus.is_none() && !is_latency_bound));
    let mut sentences: Vec<String> = known.take(2).map(|loss| cause(loss, findings, units)).collect();
    let is_bound_by_link = |one: &Option<Potential>| one.as_ref().is_none_or(|one| one.basis == Basis::Link);
    if let Some(by_cpus) = by_cpus {
        sentences.push(by_cpus);
    } else if is_latency_bound {
        let count = counted(usize::try_from(in_flight).unwrap_or(usize::MAX), "I/O");
        sentences.push(format!("Latency-bound: {count} in flight per drive."));
    } else if is_short && !compared.potentials.iter().all(is_bound_by_link) {
        let short = figures.expected.map_or(0.0, |expected| expected - figures.measured);
        let short = units.rate(BytesPerSecond(short));
        sentences.push(format!(
            "{short} less than expected has no known cause: look for other load and hot drives."
        ));
    } else if lost_to.is_empty() && figures.reference.is_some() {
        let drives = counted(compared.run.targets.len(), "drive");
        sentences.push(format!(
            "Nothing is lost: {} checks found no limit between {drives} and memory.",
            FINDINGS.len()
        ));
    }
    let without = compared.potentials.iter().filter(|one| one.is_none()).count();
    if without > 0 {
        let have = if without == 1 { "has" } else { "have" };
        let compared =
            if figures.reference.is_some() { "their rates alone count" } else { "nothing to compare with" };
        sentences.push(format!(
            "{} {have} no link and no published rate: {compared}.",
            counted(without, "target")
        ));
    }
    sentences
}

/// `8 drives share root complex 0000:40 while 0000:60 has none: move ..., about +17.7 GB/s.`
fn cause(loss: &Loss, findings: &[Finding], units: UnitSystem) -> String {
    let finding = loss.finding.and_then(|id| findings.iter().find(|finding| finding.id == id));
    if let Some(finding) = finding {
        return format!("{}: {}, {}.", finding.title, lowered(&finding.remedy.brief()), finding.gain.text);
    }
    let lost = units.rate(BytesPerSecond(loss.bytes_per_second));
    format!("{lost} is lost to {}.", loss.because)
}

/// Without the capital of a sentence.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// `1.75 M of 2.03 M IOPS (86 %) at 4 KiB random, 2 jobs a drive. Limit: ...`.
fn random(small: &Compared<'_>, units: UnitSystem) -> String {
    let jobs = counted(usize::try_from(small.run.workload.jobs).unwrap_or(usize::MAX), "job");
    let figure = small.figure(units);
    let lost = (0..small.run.targets.len()).filter_map(|index| small.lost(index));
    let limit = lost.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, expected)| {
        let word = if expected.node.is_some() { "Limit" } else { "CPU-bound" };
        format!("{word}: {}.", expected.because)
    });
    let bound = small.cpu_words().or(limit).map_or_else(String::new, |words| format!(" {words}"));
    format!("{figure} at 4 KiB random, {jobs} a drive.{bound}")
}

/// CPU time of the workers over the time they had on these CPUs; `None` where no account was kept.
fn busy(run: &RunSummary, cpus: usize) -> Option<f64> {
    let spent: Duration = run.targets.iter().map(|target| target.cpu_user + target.cpu_system).sum();
    let time = run.targets.iter().map(|target| target.runtime).max()?.as_secs_f64();
    let workers = run.targets.len() as f64 * f64::from(run.workload.jobs);
    let had = time * workers.min(cpus.max(1) as f64);
    (spent > Duration::ZERO && had > 0.0).then(|| spent.as_secs_f64() / had)
}

fn latency(run: &RunSummary) -> Option<Latency> {
    let each = run.targets.iter().filter_map(|target| {
        let latency = target.latency.as_ref()?;
        Some((latency.percentile(50.0)?, latency.percentile(99.0)?))
    });
    let (p50, p99) = each.max()?;
    Some(Latency { p50, p99 })
}

/// Why figures are not the drives' own, each reason once.
fn invalid(pull: &Pull) -> Option<String> {
    let runs = pull.done().iter().filter_map(|done| done.result.as_ref().ok());
    let mut reasons: Vec<String> = Vec::new();
    for target in runs.flat_map(|run| &run.targets) {
        for reason in &target.invalid_because {
            let reason = format!("{}: {reason}", target.name);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    let more = reasons.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!("; {}", counted(more, "more reason")) };
    reasons.first().map(|first| format!("Not valid as a figure of the drives: {first}{more}."))
}

fn unsteady(steadiness: Steadiness) -> String {
    format!(
        "Not steady: range {:.0} % of the mean (SNIA: at most 20 %), slope {:+.0} % (at most 10 %).",
        100.0 * steadiness.range,
        100.0 * steadiness.slope
    )
}
