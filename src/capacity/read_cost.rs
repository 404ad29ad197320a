//! CPU cost of reads as measured on this machine, and its merge with published curves.

use super::processor;
use crate::{
    machine::{DriveKind, Machine, ReadCost},
    model::{Basis, Completion, EngineKind, MeasuredPoint, ProcessorLimit, RunSummary, TargetSummary},
    text::Label,
    units::{Bytes, counted},
};

/// System counters during a test.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SystemActivity {
    /// Time of all CPUs in hard and soft interrupts, seconds per second.
    pub interrupts: f64,
    /// The clock of the fastest CPU; `None` if unknown.
    pub hertz: Option<f64>,
    /// Whether no other process used the drives, by their counters.
    pub alone: bool,
}

/// A test is CPU-bound from this share of its workers' time.
const FULL: f64 = 0.9;
/// Above this share of the workers' time, the interrupts belong to other devices.
const TOO_MUCH: f64 = 1.1;
/// A new cost is stored below this share of the known one.
const BETTER: f64 = 0.98;

/// CPU cost of reads in a CPU-bound test: the workers' user and kernel time plus the machine's interrupt time, over
/// the reads.
///
/// Most completions interrupt the CPU that waits for them. With `CONFIG_IRQ_TIME_ACCOUNTING` the kernel leaves
/// interrupts out of the worker's time, so they are added. Without it the kernel charges them to the worker and
/// counts none.
///
/// Idle workers are not used: without that accounting the interrupts of an idle CPU are lost, and sleep and wake-up
/// add to each read.
///
/// Only comparable reads count: from NVMe drives, not files; through io_uring, direct, completed by interrupts, whole
/// in one request, without a scheduler.
pub(super) fn learned(
    machine: &Machine,
    run: &RunSummary,
    beside: SystemActivity,
    known: &[ReadCost],
) -> Option<ReadCost> {
    if !beside.alone
        || !is_plain(run)
        || !run.targets.iter().all(|target| is_bare_drive(machine, run, target))
    {
        return None;
    }
    let processor = ReadCost::processor_of(machine)?;
    let hertz = beside.hertz.or_else(|| processor::clock(machine))?;
    let seconds = run.targets.first()?.runtime.as_secs_f64();
    let targets = u32::try_from(run.targets.len()).ok()?;
    let workers = targets.saturating_mul(run.workload.jobs);
    let threads = workers.min(u32::try_from(machine.processors.count()).ok()?);
    let own: f64 = run.targets.iter().map(|target| (target.cpu_user + target.cpu_system).as_secs_f64()).sum();
    let whole = seconds * f64::from(threads);
    let spent = own + beside.interrupts * seconds;
    let reads: u64 = run.targets.iter().map(|target| target.ios).sum();
    if reads == 0 || !(FULL * whole..=TOO_MUCH * whole).contains(&spent) {
        return None;
    }
    // SMT siblings share a core: their time is worth less than a core's.
    let of_cores = processor::published(machine)
        .map_or(1.0, |limit| limit.work_of(f64::from(threads)) / f64::from(threads.max(1)));
    let cost = ReadCost {
        processor,
        workers,
        block: run.workload.block_size,
        cycles: (spent.min(whole) * of_cores * hertz / reads as f64).round(),
        hertz: hertz.round(),
        run: run_label(machine, run, run.targets.len()),
    };
    let is_known = known.iter().any(|other| {
        other.block == cost.block
            && other.is_together() == cost.is_together()
            && cost.cycles > BETTER * other.cycles
    });
    (cost.cycles >= 1.0 && !is_known).then_some(cost)
}

/// The run that measured something: `8 drives, 1m randread, depth 32, 3 jobs, Linux 6.18.0, 2026-11-21`.
pub(super) fn run_label(machine: &Machine, run: &RunSummary, drives: usize) -> Label {
    let day =
        jiff::Timestamp::from_second(run.started).map(|at| at.strftime("%F").to_string()).unwrap_or_default();
    let kernel = machine.host.kernel.value().map_or_else(String::new, |kernel| format!(", Linux {kernel}"));
    Label::new(&format!("{}, {}{kernel}, {day}", counted(drives, "drive"), run.workload.title()))
}

/// Whether a test has the options that costs are measured with.
fn is_plain(run: &RunSummary) -> bool {
    let work = &run.workload;
    let as_asked =
        run.effective.engine == EngineKind::IoUring && run.effective.completion == Completion::Interrupts;
    as_asked
        && !run.simulated
        && work.direct
        && !work.submission_poll
        && work.block_split.is_empty()
        && work.rate_iops.is_none()
}

/// Whether a target is an NVMe drive without a scheduler that reads whole requests.
fn is_bare_drive(machine: &Machine, run: &RunSummary, target: &TargetSummary) -> bool {
    let drive = target.drive.as_ref().and_then(|name| machine.drive(name));
    drive.is_some_and(|drive| {
        let scheduler = drive.queue.scheduler.value();
        drive.kind == DriveKind::Nvme
            && target.name.as_str().starts_with("/dev/")
            && scheduler.is_none_or(|choice| choice.current == *"none")
            && processor::requests(drive, run.workload.block_size).0 <= 1.0
    })
}

/// The cheapest reads of each size, by one worker and by several.
pub(super) fn cheapest(costs: Vec<ReadCost>) -> Vec<ReadCost> {
    let mut best: Vec<ReadCost> = Vec::new();
    for cost in costs {
        let same =
            |other: &&mut ReadCost| other.block == cost.block && other.is_together() == cost.is_together();
        match best.iter_mut().find(same) {
            Some(other) if cost.cycles < other.cycles => *other = cost,
            Some(_) => {}
            None => best.push(cost),
        }
    }
    best
}

/// A published curve with the measured points in it. Other sizes scale as the nearest measured one; the time of a
/// measured read stays the same at any clock.
pub(super) fn corrected(published: ProcessorLimit, costs: &[ReadCost]) -> ProcessorLimit {
    // Several workers run at the clock that all CPUs can keep.
    let Some(clock) = costs.iter().max_by_key(|cost| cost.is_together()).map(|cost| cost.hertz) else {
        return published;
    };
    let at_clock = |cost: &ReadCost| cost.cycles / cost.hertz * clock;
    let curve = |together: bool, base: &[(Bytes, f64)]| {
        let own: Vec<&ReadCost> = costs.iter().filter(|cost| cost.is_together() == together).collect();
        let ratio = |size: Bytes| {
            let from = if own.is_empty() { costs.iter().collect() } else { own.clone() };
            let nearest = from.into_iter().min_by_key(|cost| cost.block.0.abs_diff(size.0));
            nearest.map_or(1.0, |cost| at_clock(cost) / published.cycles(cost.block, cost.workers).max(1.0))
        };
        let mut points: Vec<(Bytes, f64)> = base
            .iter()
            .filter(|(size, _)| own.iter().all(|cost| cost.block != *size))
            .map(|(size, cycles)| (*size, cycles * ratio(*size)))
            .chain(own.iter().map(|cost| (cost.block, at_clock(cost))))
            .collect();
        points.sort_by_key(|(size, _)| *size);
        points
    };
    let point = |cost: &ReadCost| MeasuredPoint {
        request: cost.block,
        together: cost.is_together(),
        run: cost.run.to_string(),
    };
    ProcessorLimit {
        hertz: clock,
        alone: curve(false, &published.alone),
        together: curve(true, &published.together),
        basis: Basis::Published,
        because: format!("an estimate: corrected by rates measured here, {}", published.because),
        measured: costs.iter().map(point).collect(),
        ..published
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::LazyLock, time::Duration};

    use proptest::prelude::*;

    use super::*;
    use crate::{capacity, machine::Measured, model::Workload, source};

    fn machine() -> Machine {
        source::testing::demo("x570")
    }

    /// Ten seconds of 4 KiB reads by one worker with this CPU time: 500 k reads a second.
    fn run(user: f64, system: f64) -> RunSummary {
        let mut run = crate::model::run::testing::run(&["nvme0n1"], 500_000 * 40_960, Workload::default());
        run.targets[0].cpu_user = Duration::from_secs_f64(10.0 * user);
        run.targets[0].cpu_system = Duration::from_secs_f64(10.0 * system);
        run
    }

    const QUIET: SystemActivity = SystemActivity { interrupts: 0.15, hertz: Some(4e9), alone: true };

    #[test]
    fn a_full_worker_and_its_interrupts_are_what_its_reads_cost() {
        let cost = learned(&machine(), &run(0.2, 0.63), QUIET, &[]).unwrap();
        assert_eq!((cost.cycles, cost.hertz, cost.workers), (0.98 * 4e9 / 500e3, 4e9, 1));
        assert_eq!(
            cost.to_string(),
            "reads 1 4096 7840 4000000000 AMD_Ryzen_9_5950X 1 drive, 4k randread, depth 32, 1 job, Linux 6.5.5-arch1-1, 2026-09-21"
        );
        assert_eq!(learned(&machine(), &run(0.2, 0.63), QUIET, &[cost]), None, "known already");
    }

    #[test]
    fn a_test_that_is_no_measure_of_the_processors_teaches_nothing() {
        let machine = machine();
        assert_eq!(learned(&machine, &run(0.1, 0.4), QUIET, &[]), None, "the worker waited");
        for others in [SystemActivity { interrupts: 0.5, ..QUIET }, SystemActivity { alone: false, ..QUIET }]
        {
            assert_eq!(learned(&machine, &run(0.2, 0.63), others, &[]), None, "interrupts of others");
        }
        let spoilt = |spoil: &dyn Fn(&mut RunSummary)| {
            let mut run = run(0.2, 0.63);
            spoil(&mut run);
            learned(&machine, &run, QUIET, &[])
        };
        assert!(spoilt(&|_| {}).is_some());
        let spoils: [fn(&mut RunSummary); 11] = [
            |run| run.simulated = true,
            |run| run.workload.direct = false,
            |run| run.workload.submission_poll = true,
            |run| run.workload.rate_iops = Some(1000),
            |run| run.workload.block_split = vec![(Bytes(4096), 100)],
            |run| run.workload.block_size = Bytes(64 << 20),
            |run| run.effective.engine = EngineKind::Libaio,
            |run| run.effective.completion = Completion::Polled,
            |run| run.targets[0].name = Label::new("/home/file"),
            |run| run.targets[0].drive = None,
            |run| run.targets[0].ios = 0,
        ];
        for (at, spoil) in spoils.into_iter().enumerate() {
            assert_eq!(spoilt(&spoil), None, "{at}");
        }
        let mut scheduled = machine.clone();
        for drive in &mut scheduled.drives {
            drive.queue.scheduler = drive.queue.scheduler.clone().map(|mut choice| {
                choice.current = Label::new("mq-deadline");
                choice
            });
        }
        assert_eq!(learned(&scheduled, &run(0.2, 0.63), QUIET, &[]), None, "a scheduler costs too");
    }

    #[test]
    fn measured_costs_precede_published_ones() {
        let mut machine = machine();
        let before = capacity::limits(&machine).processors.unwrap();
        machine.measured = vec![Measured::Reads(learned(&machine, &run(0.2, 0.63), QUIET, &[]).unwrap())];
        let after = capacity::limits(&machine).processors.unwrap();
        assert!((after.iops(Bytes(4096), 1) / (500e3 / 0.98) - 1.0).abs() < 0.001);
        assert_eq!(after.source(Bytes(4096), 1).0, Basis::Measured);
        assert!(after.source(Bytes(4096), 1).1.contains("measured here: 1 drive, 4k randread"));
        let (basis, because) = after.source(Bytes(8192), 1);
        assert!(basis == Basis::Published && because.contains("estimate"), "{because}");
        let ratio = |limit: &ProcessorLimit| limit.cycles(Bytes(16 << 10), 1) / limit.cycles(Bytes(4096), 1);
        assert!((ratio(&after) - ratio(&before)).abs() < 0.01, "the curve keeps its form");
        machine.processors.model = crate::model::Reading::known("/test", Label::new("another"));
        let other = capacity::limits(&machine).processors.unwrap();
        assert!(other.measured.is_empty(), "the figure holds for one CPU model");
    }

    #[test]
    fn a_run_that_follows_is_expected_to_reach_what_was_measured() {
        let mut machine = machine();
        machine.measured = vec![Measured::Reads(learned(&machine, &run(0.2, 0.63), QUIET, &[]).unwrap())];
        let limits = capacity::limits(&machine);
        let expected = capacity::expected(&machine, &limits, &run(0.0, 0.0).workload);
        let expected = expected[0].as_ref().unwrap();
        assert!((expected.iops / (500e3 / 0.98) - 1.0).abs() < 0.001, "{expected:?}");
        assert_eq!(expected.basis, Basis::Measured);
        assert!(
            expected.because.starts_with("1 worker at 7840 cycles per read, measured here: 1 drive"),
            "{expected:?}"
        );
    }

    static PUBLISHED: LazyLock<ProcessorLimit> = LazyLock::new(|| processor::published(&machine()).unwrap());

    proptest! {
        #[test]
        fn measured_times_stay_whatever_else_was_measured(
            points in proptest::collection::vec((1_u32..4, 9_u32..21, 1_000.0..1e6_f64, 1e9..6e9_f64), 1..8),
        ) {
            let costs = cheapest(points.into_iter().map(|(workers, shift, cycles, hertz)| ReadCost {
                processor: Label::new("x"), workers, block: Bytes(1 << shift), cycles, hertz,
                run: Label::new("run"),
            }).collect());
            let limit = corrected(PUBLISHED.clone(), &costs);
            for cost in &costs {
                let time = limit.cycles(cost.block, cost.workers) / limit.hertz;
                prop_assert!((time / (cost.cycles / cost.hertz) - 1.0).abs() < 1e-6);
                prop_assert_eq!(limit.source(cost.block, cost.workers).0, Basis::Measured);
            }
            for points in [&limit.alone, &limit.together] {
                prop_assert!(points.is_sorted_by(|a, b| a.0 < b.0));
                prop_assert!(points.iter().all(|(_, cycles)| cycles.is_finite() && *cycles > 0.0));
            }
        }
    }
}
