//! Samples and summaries of runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ids::DriveName,
    options::Workload,
    target::{Completion, EngineKind},
};
use crate::{
    text::Label,
    units::{self, Bytes},
};

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Files are laid out, targets checked, rings made.
    Preparing,
    /// Reads that are not counted yet (`--ramp_time`).
    Ramping,
    /// Reads that count.
    Running,
    /// Paused by the user; time does not count.
    Paused,
    /// Ended, for whatever reason.
    Ended,
}

/// Latency of completed reads, in nanoseconds. Percentiles of fio's list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Number of reads.
    pub count: u64,
    /// `(percent, nanoseconds)`, ascending: 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99.
    pub percentiles: Vec<(f64, u64)>,
    /// Number of reads in each range that ends at one of [`Self::LIMITS`], then above the last; empty if unknown.
    #[serde(default)]
    pub within: Vec<u64>,
}

impl LatencySummary {
    /// fio's default percentile list.
    pub const PERCENTS: [f64; 17] = [
        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
    ];

    /// Ends of fio's latency ranges (`latency_ns`, `latency_us`, `latency_ms`), nanoseconds: three times 2, 4, 10, 20,
    /// 50, 100, 250, 500, 750, 1000 of the unit, then 2 s.
    pub const LIMITS: [u64; 31] = {
        const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
        let mut limits = [2_000_000_000; 31];
        let (mut at, mut unit) = (0, 1);
        while at < 30 {
            limits[at] = STEPS[at % 10] * unit;
            at += 1;
            if at % 10 == 0 {
                unit *= 1000;
            }
        }
        limits
    };

    /// The value at one of [`Self::PERCENTS`], in nanoseconds.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles.iter().find(|(p, _)| (p - percent).abs() < 1e-9).map(|(_, ns)| *ns)
    }
}

/// Totals of one target since counting began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetSample {
    /// The target, as the user named it.
    pub name: Label,
    /// The drive behind it.
    pub drive: Option<DriveName>,
    /// Reads completed.
    pub ios: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Reads that failed.
    pub errors: u64,
    /// Latency of reads completed since the previous sample; zeros if none or not measured.
    pub latency: LatencySummary,
    /// Why its workers ended early: `EIO on /dev/nvme3n1 at byte 4096`.
    pub failed: Option<Label>,
}

/// A sample of a running test, taken without stopping a worker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSample {
    /// Time since counting began, pauses excluded.
    pub at: Duration,
    /// State of the run.
    pub state: RunState,
    /// Current step while preparing: `laying out /mnt/x/iodyno.test, 640 of 1024 MiB`.
    pub preparing: Option<String>,
    /// One per target, in the workload's order.
    pub targets: Vec<TargetSample>,
    /// Batch sizes now, as in [`Effective::batch`]; empty while preparing.
    pub batch: String,
    /// Whether the engine was simulated.
    pub simulated: bool,
}

/// The configuration that really ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Effective {
    /// The engine.
    pub engine: EngineKind,
    /// How completions were detected.
    pub completion: Completion,
    /// Ring flags granted: `SINGLE_ISSUER`, `DEFER_TASKRUN`, ...
    pub ring_flags: Vec<String>,
    /// How batches were chosen: `adaptive, submit 4, complete 8`.
    pub batch: String,
    /// CPUs of workers: `anywhere`, `near their drives, on CPUs 0-7`, `on one CPU each: 0-3`.
    pub placement: String,
    /// Pages of the buffers: `huge pages (2 MiB)`.
    pub memory: String,
    /// Refused features and their replacements, a sentence each.
    pub fallbacks: Vec<String>,
}

/// One target's result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TargetSummary {
    /// The target, as the user named it.
    pub name: Label,
    /// The drive behind it.
    pub drive: Option<DriveName>,
    /// Reads completed.
    pub ios: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Counted time.
    pub runtime: Duration,
    /// Reads that failed.
    pub errors: u64,
    /// The first error in words, with errno and offset.
    pub first_error: Option<Label>,
    /// Its errno.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Completion latency, if it was measured.
    pub latency: Option<LatencySummary>,
    /// CPU time of its workers in user mode and in the kernel.
    pub cpu_user: Duration,
    /// See `cpu_user`.
    pub cpu_system: Duration,
    /// Voluntary and involuntary context switches of its workers.
    pub context_switches: u64,
    /// Page faults of its workers answered from memory (`ru_minflt`).
    #[serde(default)]
    pub minor_faults: u64,
    /// Page faults of its workers that waited for I/O (`ru_majflt`).
    #[serde(default)]
    pub major_faults: u64,
    /// `io_uring_enter` (or the engine's like) calls.
    pub calls: u64,
    /// Interrupts of the drive's queues per read; `None` if its vectors are unknown.
    pub interrupts_per_read: Option<f64>,
    /// Mean reads in flight of a job; `None` if the engine does not count them. Times the number of jobs about IOPS times
    /// mean latency (Little's law).
    pub depth_reached: Option<f64>,
    /// Why the result is invalid: sparse file, zeros, buffered, too short, other I/O, errors.
    pub invalid_because: Vec<String>,
}

impl TargetSummary {
    /// Reads per second.
    pub fn iops(&self) -> f64 {
        per_second(self.ios, self.runtime)
    }

    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.runtime)
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// Mean cost of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Reads completed per system call.
    pub reads_per_call: f64,
    /// Mean reads in flight of a job.
    pub depth: Option<f64>,
    /// Context switches of the workers.
    pub switches: f64,
    /// Interrupts of the drives' queues.
    pub interrupts: Option<f64>,
}

impl Cost {
    /// `per call`, `8.0 reads`; of a worker with more calls than reads `calls`, `250 per read`.
    pub fn calls(&self) -> (&'static str, String) {
        if self.reads_per_call < 1.0 {
            ("calls", format!("{} per read", units::mean(1.0 / self.reads_per_call)))
        } else {
            ("per call", format!("{} reads", units::mean(self.reads_per_call)))
        }
    }
}

/// The mean over all reads of these targets; `None` without reads or counted calls.
pub fn cost(targets: &[TargetSummary]) -> Option<Cost> {
    let sum = |of: fn(&TargetSummary) -> f64| targets.iter().map(of).sum::<f64>();
    let (reads, calls) = (sum(|target| target.ios as f64), sum(|target| target.calls as f64));
    if reads <= 0.0 || calls <= 0.0 {
        return None;
    }
    // Weighted by reads; unknown if unknown for one target.
    let mean = |of: fn(&TargetSummary) -> Option<f64>| {
        let parts = targets.iter().filter(|target| target.ios > 0);
        parts.map(|target| Some(of(target)? * target.ios as f64)).sum::<Option<f64>>().map(|sum| sum / reads)
    };
    Some(Cost {
        user: Duration::from_secs_f64(sum(|target| target.cpu_user.as_secs_f64()) / reads),
        system: Duration::from_secs_f64(sum(|target| target.cpu_system.as_secs_f64()) / reads),
        reads_per_call: reads / calls,
        depth: mean(|target| target.depth_reached),
        switches: sum(|target| target.context_switches as f64) / reads,
        interrupts: mean(|target| target.interrupts_per_read),
    })
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunSummary {
    /// The requested workload.
    pub workload: Workload,
    /// The configuration that ran.
    pub effective: Effective,
    /// One per target, in the workload's order.
    pub targets: Vec<TargetSummary>,
    /// Whether the engine was simulated.
    pub simulated: bool,
    /// Whether it was stopped early.
    pub interrupted: bool,
    /// Whether all CPUs were busy: it measured the CPUs, not the drives.
    #[serde(default)]
    pub cpu_bound: bool,
    /// Unix seconds of the start.
    pub started: i64,
}

impl RunSummary {
    /// Reads per second of all targets.
    pub fn iops(&self) -> f64 {
        self.targets.iter().map(TargetSummary::iops).sum()
    }

    /// Bytes per second of all targets.
    pub fn bytes_per_second(&self) -> f64 {
        self.targets.iter().map(TargetSummary::bytes_per_second).sum()
    }

    /// Mean cost of a read.
    pub fn cost(&self) -> Option<Cost> {
        cost(&self.targets)
    }

    /// Bytes of all targets.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.targets.iter().map(|t| t.bytes).sum())
    }
}

/// Runs for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Duration, Effective, Label, RunSummary, TargetSummary, Workload};
    use crate::model::{DriveName, Target};

    /// A sound run of io_uring on these drives, each reading so many bytes in ten seconds.
    pub fn run(drives: &[&str], bytes: u64, workload: Workload) -> RunSummary {
        let named =
            |name: &&str| Target { path: format!("/dev/{name}").into(), drive: Some(DriveName::new(name)) };
        let target = |name: &&str| TargetSummary {
            name: Label::new(&format!("/dev/{name}")),
            drive: Some(DriveName::new(name)),
            ios: bytes / workload.block_size.0,
            bytes,
            runtime: Duration::from_secs(10),
            calls: 1,
            ..TargetSummary::default()
        };
        RunSummary {
            targets: drives.iter().map(target).collect(),
            effective: Effective {
                placement: "anywhere".to_owned(),
                memory: "base pages".to_owned(),
                ..Effective::default()
            },
            started: 1_790_000_000,
            workload: Workload { targets: drives.iter().map(named).collect(), ..workload },
            ..RunSummary::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_ranges_ascend_from_2_ns_to_2_s() {
        let limits = LatencySummary::LIMITS;
        assert!(limits.is_sorted_by(|a, b| a < b), "{limits:?}");
        assert_eq!(
            (limits[0], limits[9], limits[10], limits[29], limits[30]),
            (2, 1000, 2000, 1_000_000_000, 2_000_000_000)
        );
    }

    #[test]
    fn the_cost_of_a_run_is_that_of_its_reads_and_unknown_parts_stay_unknown() {
        let mut run = testing::run(&["nvme0n1", "nvme1n1"], 4096 * 1000, Workload::default());
        for (target, depth) in run.targets.iter_mut().zip([30.0, 10.0]) {
            target.calls = 250;
            target.cpu_user = Duration::from_millis(1);
            target.context_switches = 100;
            target.depth_reached = Some(depth);
        }
        run.targets[1].ios = 3000;
        run.targets[0].interrupts_per_read = Some(0.5);
        let cost = run.cost().unwrap();
        assert_eq!(
            (cost.user, cost.reads_per_call, cost.depth),
            (Duration::from_nanos(500), 8.0, Some(15.0))
        );
        assert_eq!((cost.switches, cost.interrupts), (0.05, None));
        run.targets[1].interrupts_per_read = Some(0.1);
        assert!((run.cost().unwrap().interrupts.unwrap() - 0.2).abs() < 1e-12);
        run.targets.iter_mut().for_each(|target| target.ios = 0);
        assert_eq!(run.cost(), None);
    }
}
