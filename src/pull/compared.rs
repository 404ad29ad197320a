//! One run against what its drives could do and what the machine's limits leave of it.

use super::{conditions::Condition, steadiness::Fall};
use crate::{
    capacity::{
        self, Expected, Potential,
        latency::{self, AS_EXPECTED, BUSY, busy},
        potential::together,
        potentials,
    },
    machine::Machine,
    model::{Basis, Limits, RunSummary, TargetSummary, Workload},
    units::{self, BytesPerSecond, UnitSystem, counted},
};

/// A smaller part of the potential is noise.
const LEAST_LOSS: f64 = 0.01;
/// Smaller blocks are counted, not weighed: bytes.
const SMALL: f64 = 65_536.0;

/// Measured, beside what the drives could do and what was expected: bytes or reads per second of all drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Measured.
    pub measured: f64,
    /// With nothing in the way; `None` where it is known of no drive.
    pub potential: Option<f64>,
    /// Expected by the machine's limits; `None` where it is not known of each drive.
    pub expected: Option<f64>,
    /// The ends of the interval that errors of CPU costs leave; `None` where they do not change what is expected.
    pub expected_interval: Option<(f64, f64)>,
    /// What `measured` is compared with: the potential, and of drives without one what they read alone.
    pub(super) reference: Option<f64>,
}

/// One drive among all together.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveResult {
    /// The drive or file.
    pub name: String,
    /// Bytes per second with all others; `None` of a pull that ended before that.
    pub measured: Option<f64>,
    /// Bytes per second alone, where it was read alone.
    pub alone: Option<f64>,
    /// See [`Figures::potential`].
    pub potential: Option<Potential>,
    /// See [`Figures::expected`].
    pub expected: Option<f64>,
    /// The limit that keeps it below its potential, in words.
    pub limited_by: Option<String>,
    /// Its temperature and link in the course of a pull.
    pub condition: Option<Condition>,
    /// Where its rate fell while all were read, with the temperature then.
    pub fall: Option<(Fall, Option<f64>)>,
}

/// What each target of a run did, could do, and was expected to do.
pub(super) struct Compared<'a> {
    pub machine: &'a Machine,
    pub run: &'a RunSummary,
    alone: Vec<Option<&'a TargetSummary>>,
    pub potentials: Vec<Option<Potential>>,
    pub expected: Vec<Option<Expected>>,
    /// I/Os in flight per drive, if latency sets the rate.
    pub latency_bound: Option<String>,
    /// As far as drives and links allow, whatever the CPUs do.
    without_cpus: Vec<Option<Expected>>,
    /// What polled reads would change on busy CPUs, in a sentence; `None` of reads that were polled.
    polling: Option<String>,
}

/// Whether reads of a workload are so small that they are counted, not weighed.
pub fn is_small(workload: &Workload) -> bool {
    capacity::expected::mean_block(workload) < SMALL
}

impl<'a> Compared<'a> {
    pub fn new(
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
        let mut expected = capacity::expected(machine, limits, workload);
        let latency_bound = latency::explain(run, &mut expected);
        let free = Limits { processors: None, ..limits.clone() };
        let without_cpus = capacity::expected(machine, &free, workload);
        let polling = polling(machine, limits, run);
        Self { machine, run, alone, potentials, expected, latency_bound, without_cpus, polling }
    }

    /// `53.5 of 71.4 GB/s (75 %)`, of small blocks `1.75 M of 2.03 M IOPS (86 %)`.
    pub fn figure(&self, units: UnitSystem) -> String {
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

    /// Whether as much was read as drives and links allow.
    fn drives_are_full(&self) -> bool {
        let iops: Option<f64> = self.without_cpus.iter().map(|one| one.as_ref().map(|one| one.iops)).sum();
        iops.is_some_and(|iops| self.run.iops() >= AS_EXPECTED * iops)
    }

    /// The limit of the target that loses most; that of the CPUs only where drives and links are not full.
    pub fn greatest_limit(&self) -> Option<&Expected> {
        let limits = if self.drives_are_full() { &self.without_cpus } else { &self.expected };
        let lost = (0..self.run.targets.len())
            .filter_map(|index| Some((self.lost(index)?.0, limits[index].as_ref()?)));
        lost.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, limit)| limit)
    }

    /// That the CPUs were the limit; `None` where drives and links were full, and where CPUs were idle.
    pub fn cpu_words(&self) -> Option<String> {
        if self.latency_bound.is_some() {
            return None;
        }
        let drives_are_full = self.drives_are_full();
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
            _ => {
                let polling = self.polling.as_ref().map_or_else(String::new, |words| format!(" {words}"));
                Some(format!("CPU-bound: all {} were busy.{polling}", counted(cpus, "CPU")))
            }
        }
    }

    /// `pick` takes bytes and reads per second.
    pub fn figures(&self, pick: fn(f64, f64) -> f64) -> Figures {
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
        let ends = |one: &Expected| (one.iops_low.unwrap_or(one.iops), one.iops_high.unwrap_or(one.iops));
        let block = capacity::expected::mean_block(&self.run.workload);
        let interval = self.expected.iter().flatten().map(ends).fold((0.0, 0.0), |sum, (low, high)| {
            (sum.0 + pick(low * block, low), sum.1 + pick(high * block, high))
        });
        let is_open = self.expected.iter().flatten().any(|one| one.iops_low.is_some());
        // One drive alone is all drives together: that compares nothing.
        let is_compared = references.iter().all(Option::is_some) && (known || references.len() > 1);
        Figures {
            measured: self.run.targets.iter().map(of).sum(),
            potential: known.then(|| sum(&potentials)),
            expected: expected.sum(),
            expected_interval: is_open.then_some(interval),
            reference: is_compared.then(|| sum(&references)),
        }
    }

    pub fn drives(&self) -> Vec<DriveResult> {
        let of = |(index, target): (usize, &TargetSummary)| {
            let expected = self.expected[index].as_ref();
            DriveResult {
                name: target.name.as_str().trim_start_matches("/dev/").to_owned(),
                measured: Some(target.bytes_per_second()),
                alone: self.alone[index].map(TargetSummary::bytes_per_second),
                potential: self.potentials[index].clone(),
                expected: expected.map(|expected| expected.bytes_per_second.0),
                limited_by: self.lost(index).map(|(_, expected)| expected.because.clone()),
                condition: None,
                fall: None,
            }
        };
        self.run.targets.iter().enumerate().map(of).collect()
    }

    /// What a known limit or latency takes of one target, bytes per second, with the limit.
    pub fn lost(&self, index: usize) -> Option<(f64, &Expected)> {
        let (potential, expected) = (self.potentials[index].as_ref()?, self.expected[index].as_ref()?);
        let measured = self.run.targets[index].bytes_per_second();
        let got = if expected.is_latency { measured } else { expected.bytes_per_second.0.max(measured) };
        let lost = potential.bytes_per_second.0 - got;
        (lost > LEAST_LOSS * potential.bytes_per_second.0).then_some((lost, expected))
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

/// Measured where a drive has poll queues, else estimated.
fn polling(machine: &Machine, limits: &Limits, run: &RunSummary) -> Option<String> {
    if run.workload.hipri {
        return None;
    }
    let can_poll = |name| machine.drive(name).is_some_and(|drive| drive.queue.io_poll.get() == Some(1));
    if run.targets.iter().filter_map(|target| target.drive.as_ref()).any(can_poll) {
        return Some("The experiment `polled` measures what polling saves.".to_owned());
    }
    let (saved, source) = capacity::processor::saved_by_polling(limits)?;
    Some(format!("Polling would save about {:.0} % of CPU time, an estimate ({source}).", 100.0 * saved))
}

/// Whole percent; 100 only where no known limit costs anything.
fn percent(measured: f64, reference: f64, is_lossy: bool) -> u32 {
    let share = if reference > 0.0 { 100.0 * measured / reference } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = share.clamp(0.0, 100.0).round() as u32;
    if is_lossy { percent.min(99) } else { percent }
}
