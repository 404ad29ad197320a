//! Latency-bound runs: with few I/Os in flight latency sets the rate, not a CPU, a link or a drive.

use std::time::Duration;

use super::expected::Expected;
use crate::{
    model::{RunSummary, Workload},
    units::counted,
};

/// With fewer I/Os in flight per drive latency sets the rate, not the drive's own limit.
const DEEP: u32 = 16;
/// A result from this share of what was expected on has nothing that needs a cause.
pub const AS_EXPECTED: f64 = 0.95;
/// A worker this busy is what limits its reads.
pub const BUSY: f64 = 0.9;

/// `1 I/O`, in flight per drive, if latency sets the rate: few I/Os in flight, and less read than expected, which knows
/// nothing of depth. `rates` are the measured and the expected rate of each target.
pub fn bound(workload: &Workload, rates: impl IntoIterator<Item = (f64, f64)>) -> Option<String> {
    let in_flight = workload.depth.saturating_mul(workload.jobs);
    let (measured, expected) =
        rates.into_iter().fold((0.0, 0.0), |(measured, expected), one| (measured + one.0, expected + one.1));
    let is_bound = in_flight < DEEP && measured < AS_EXPECTED * expected;
    is_bound.then(|| counted(usize::try_from(in_flight).unwrap_or(usize::MAX), "I/O"))
}

/// The same of a finished run; `None` where workers or CPUs were busy.
pub fn bound_run(run: &RunSummary, expected: &[Option<Expected>]) -> Option<String> {
    // With more workers than CPUs all CPUs are busy, and the run is CPU-bound.
    if run.cpu_bound || busy(run, usize::MAX).is_some_and(|share| share >= BUSY) {
        return None;
    }
    let rates = run.targets.iter().zip(expected);
    let known =
        rates.filter_map(|(target, one)| Some((target.bytes_per_second(), one.as_ref()?.bytes_per_second.0)));
    bound(&run.workload, known)
}

/// The cause of a latency-bound rate.
pub fn cause(in_flight: &str) -> String {
    format!("latency, {in_flight} in flight per drive")
}

/// Gives expected rates the cause that a finished run shows: latency for each drive of a latency-bound run. Returns what
/// [`bound_run`] does.
pub fn explain(run: &RunSummary, expected: &mut [Option<Expected>]) -> Option<String> {
    let in_flight = bound_run(run, expected)?;
    for one in expected.iter_mut().flatten() {
        one.because = cause(&in_flight);
        one.node = None;
        one.is_latency = true;
    }
    Some(in_flight)
}

/// CPU time of the workers over the time they had on these CPUs; `None` where no account was kept.
pub fn busy(run: &RunSummary, cpus: usize) -> Option<f64> {
    let spent: Duration = run.targets.iter().map(|target| target.cpu_user + target.cpu_system).sum();
    let time = run.targets.iter().map(|target| target.runtime).max()?.as_secs_f64();
    let workers = run.targets.len() as f64 * f64::from(run.workload.jobs);
    let had = time * workers.min(cpus.max(1) as f64);
    (spent > Duration::ZERO && had > 0.0).then(|| spent.as_secs_f64() / had)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity::{expected, limits},
        model::run::testing,
        source,
    };

    #[test]
    fn few_reads_in_flight_name_latency_for_each_drive_and_busy_workers_do_not() {
        let machine = source::testing::demo("x570");
        let limits = limits(&machine);
        let drives = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"];
        let causes = |depth: u32, cpu_bound: bool| -> Vec<String> {
            let mut run = testing::run(&drives, 80_000_000 * 10, Workload { depth, ..Workload::default() });
            run.cpu_bound = cpu_bound;
            let mut expected = expected(&machine, &limits, &run.workload);
            let in_flight = explain(&run, &mut expected);
            assert_eq!(in_flight.is_some(), expected.iter().flatten().all(|one| one.is_latency));
            expected.into_iter().flatten().map(|one| one.because).collect()
        };
        assert_eq!(causes(1, false), ["latency, 1 I/O in flight per drive"; 4]);
        for (depth, cpu_bound) in [(32, false), (1, true)] {
            let others = causes(depth, cpu_bound);
            assert!(others.len() == 4 && others.iter().all(|one| !one.contains("latency")), "{others:?}");
        }
    }
}
