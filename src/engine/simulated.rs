//! [`Simulated`]: an engine without devices, for demos. It reads as fast as the capacity model says such a machine can.
//!
//! A run is a function of workload, seed and time; no thread, no clock, no file. All its results say SIMULATED.

mod latency;
mod noise;
mod system;

pub use system::{activity, at_rest, rates};

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Engine, EngineError, Running};
use crate::{
    capacity::expected,
    machine::{Drive, Machine},
    model::{
        Completion, DriveName, Effective, EngineKind, Limits, RunSample, RunState, RunSummary, TargetSample,
        TargetSummary, Workload,
    },
    text::Label,
};
use noise::Noise;

/// Latency of one small read of an idle drive. An assumption of the simulation, near that of TLC flash; no limit derives
/// from it.
const ONE_READ: Duration = Duration::from_micros(50);

/// The share of a read's CPU time that is spent in the worker itself: source P saw 2 of 10 %, source R 7 of 65 %.
const USER_SHARE: f64 = 0.2;

/// Copies from the page cache are the kernel's.
const fn user_share(workload: &Workload) -> f64 {
    if workload.direct { USER_SHARE } else { 0.0 }
}

/// An engine for the drives of a capture.
#[derive(Debug, Clone)]
pub struct Simulated {
    machine: Arc<Machine>,
    limits: Arc<Limits>,
    seed: u64,
}

impl Simulated {
    /// The drives of `machine`, limited by `limits`; runs with the same seed and workload are the same.
    pub fn new(machine: &Machine, limits: &Limits, seed: u64) -> Self {
        Self { machine: Arc::new(machine.clone()), limits: Arc::new(limits.clone()), seed }
    }

    fn drive_of(&self, target: &crate::model::Target) -> Result<&Drive, EngineError> {
        let by_path = || {
            let path = target.path.to_string_lossy();
            self.machine.drives.iter().find(|drive| drive.name.device_file() == path)
        };
        let named = target.drive.as_ref().and_then(|name| self.machine.drive(name));
        named.or_else(by_path).ok_or_else(|| {
            let fix = "name one that `iodyno drives --demo` lists";
            EngineError::target(&target.path, "not a drive of this demo", fix, None)
        })
    }

    /// Reads per second that the depth allows when every read takes as long as one alone.
    fn ceiling(&self, drive: &Drive, workload: &Workload) -> f64 {
        let block = expected::mean_block(workload);
        let transfer = self.limits.drive(&drive.name).map_or(0.0, |limit| block / limit.bytes_per_second.0);
        in_flight(workload) / (ONE_READ.as_secs_f64() + transfer)
    }

    /// CPU time of a cycle while flows do this work, cycles per second: SMT siblings slow each other down.
    fn seconds_per_cycle(&self, work: f64) -> f64 {
        let Some(processors) = &self.limits.processors else { return 0.0 };
        if work > 0.0 { processors.busy_threads(work) / work } else { 1.0 / processors.hertz }
    }
}

impl Engine for Simulated {
    fn simulated(&self) -> bool {
        true
    }

    fn start(&self, workload: &Workload, now: Instant) -> Result<Box<dyn Running>, EngineError> {
        workload.validate()?;
        let drives =
            workload.targets.iter().map(|target| self.drive_of(target)).collect::<Result<Vec<_>, _>>()?;
        let mut named = workload.clone();
        for (target, drive) in named.targets.iter_mut().zip(&drives) {
            target.drive = Some(drive.name.clone());
        }
        let asleep: Vec<f64> = drives.iter().map(|drive| self.ceiling(drive, workload)).collect();
        let expected = expected::expected_under(&self.machine, &self.limits, &named, &asleep);
        let work = expected.iter().flatten().map(|one| one.iops * one.cycles_per_read.unwrap_or(0.0));
        let seconds_per_cycle = self.seconds_per_cycle(work.sum());
        let flows = named
            .targets
            .iter()
            .zip(&drives)
            .zip(expected)
            .enumerate()
            .map(|(index, ((target, drive), expected))| {
                let expected = expected.filter(|expected| expected.iops.is_finite() && expected.iops > 0.0);
                let expected = expected.ok_or_else(|| {
                    let (wrong, fix) =
                        ("the speed of this drive is unknown", "choose another drive of the demo");
                    EngineError::target(&target.path, wrong, fix, None)
                })?;
                Ok(Flow {
                    name: Label::new(&target.path.to_string_lossy()),
                    drive: drive.name.clone(),
                    iops: expected.iops,
                    seconds_per_read: expected.cycles_per_read.unwrap_or(0.0) * seconds_per_cycle,
                    noise: Noise::new(self.seed ^ workload.seed, index as u64),
                    reads: 0.0,
                    slices: 0,
                    sampled: 0,
                })
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        Ok(Box::new(Simulation {
            effective: effective(&named, &drives),
            amount: amount(&named),
            flows,
            workload: workload.clone(),
            started: now,
            held: Duration::ZERO,
            held_since: None,
            stopped: None,
        }))
    }
}

/// Calls of so many reads: a batch holds up to 8, and no more than the depth.
fn calls(workload: &Workload, reads: u64) -> u64 {
    let depth = if workload.engine == EngineKind::Posixaio { 1 } else { workload.depth };
    reads.div_ceil(u64::from(depth.clamp(1, 8)))
}

/// Depth that a job reaches: the C library's AIO serializes reads of a file.
fn depth(workload: &Workload) -> f64 {
    f64::from(if workload.engine == EngineKind::Posixaio { 1 } else { workload.depth })
}

/// Reads of all jobs that are in flight.
fn in_flight(workload: &Workload) -> f64 {
    depth(workload) * f64::from(workload.jobs)
}

#[derive(Debug)]
struct Flow {
    name: Label,
    drive: DriveName,
    /// IOPS before noise.
    iops: f64,
    /// CPU time of one read.
    seconds_per_read: f64,
    noise: Noise,
    /// Reads of the slices that are over.
    reads: f64,
    slices: u64,
    /// Reads of the previous sample.
    sampled: u64,
}

/// The rate changes this often.
const SLICE: Duration = Duration::from_millis(100);

impl Flow {
    /// Reads completed after `counted`, which must not decrease from call to call.
    fn reads_at(&mut self, counted: Duration, most: Option<u64>) -> u64 {
        let slice = SLICE.as_secs_f64();
        let whole = u64::try_from(counted.as_millis() / SLICE.as_millis()).unwrap_or(u64::MAX);
        while self.slices < whole {
            self.reads += self.iops * self.noise.factor(self.slices) * slice;
            self.slices += 1;
        }
        let rest = (counted.as_secs_f64() - self.slices as f64 * slice).max(0.0);
        let reads = self.reads + self.iops * self.noise.factor(self.slices) * rest;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count, never negative"
        )]
        let reads = reads as u64;
        most.map_or(reads, |most| reads.min(most))
    }
}

#[derive(Debug)]
struct Simulation {
    workload: Workload,
    effective: Effective,
    /// Reads per target after which it is done, where the workload has an amount instead of a runtime.
    amount: Option<u64>,
    flows: Vec<Flow>,
    started: Instant,
    /// Time spent in pauses that are over.
    held: Duration,
    held_since: Option<Instant>,
    /// Time passed until it was stopped.
    stopped: Option<Duration>,
}

impl Simulation {
    /// Time that has passed, pauses left out.
    fn passed(&self, now: Instant) -> Duration {
        let until = self.held_since.unwrap_or(now);
        let passed = until.saturating_duration_since(self.started).saturating_sub(self.held);
        self.stopped.map_or(passed, |stopped| stopped.min(passed))
    }

    /// Time that counts.
    fn counted(&self, now: Instant) -> Duration {
        let counted = self.passed(now).saturating_sub(self.workload.ramp);
        self.workload.runtime.map_or(counted, |most| counted.min(most))
    }

    fn state(&mut self, now: Instant) -> RunState {
        let counted = self.counted(now);
        let time_is_over = self.workload.runtime.is_some_and(|runtime| counted >= runtime);
        let amount = self.amount;
        let all_read =
            amount.is_some_and(|most| self.flows.iter_mut().all(|f| f.reads_at(counted, amount) >= most));
        if self.stopped.is_some() || time_is_over || all_read {
            RunState::Ended
        } else if self.held_since.is_some() {
            RunState::Paused
        } else if self.passed(now) < self.workload.ramp {
            RunState::Ramping
        } else {
            RunState::Running
        }
    }

    fn summary(&self, flow: &Flow, ios: u64, runtime: Duration) -> TargetSummary {
        let iops = if runtime.is_zero() { flow.iops } else { ios as f64 / runtime.as_secs_f64() };
        let busy = Duration::from_secs_f64((flow.seconds_per_read * ios as f64).clamp(0.0, 1e9));
        let workers = f64::from(self.workload.jobs) * runtime.as_secs_f64().max(1e-9);
        let user = user_share(&self.workload);
        let measured = self.workload.latency && ios > 0;
        TargetSummary {
            name: flow.name.clone(),
            drive: Some(flow.drive.clone()),
            ios,
            bytes: bytes(&self.workload, ios),
            runtime,
            latency: measured.then(|| latency::summary(mean_latency(&self.workload, iops), ios)),
            cpu_user: busy.mul_f64(user),
            cpu_system: busy.mul_f64(1.0 - user),
            context_switches: system::switches(ios, busy.as_secs_f64() / workers),
            calls: calls(&self.workload, ios),
            depth_reached: Some(depth(&self.workload)),
            ..TargetSummary::default()
        }
    }
}

fn bytes(workload: &Workload, reads: u64) -> u64 {
    if workload.block_split.is_empty() {
        return reads.saturating_mul(workload.block_size.0);
    }
    // Sizes come in the shares asked for, each read whole.
    let of_size = |(size, share): &(crate::units::Bytes, u8)| size.0 * (reads * u64::from(*share) / 100);
    workload.block_split.iter().map(of_size).sum()
}

/// Little's law: reads in flight over reads per second.
fn mean_latency(workload: &Workload, iops: f64) -> f64 {
    in_flight(workload) / iops * 1e9
}

impl Running for Simulation {
    fn sample(&mut self, now: Instant) -> RunSample {
        let state = self.state(now);
        let counted = self.counted(now);
        let Self { flows, workload, amount, .. } = self;
        let targets = flows.iter_mut().map(|flow| {
            let ios = flow.reads_at(counted, *amount);
            let new = ios.saturating_sub(std::mem::replace(&mut flow.sampled, ios));
            let mean = mean_latency(workload, flow.iops * flow.noise.factor(flow.slices));
            TargetSample {
                name: flow.name.clone(),
                drive: Some(flow.drive.clone()),
                ios,
                bytes: bytes(workload, ios),
                errors: 0,
                latency: latency::summary(mean, if workload.latency { new } else { 0 }),
                failed: None,
            }
        });
        let targets = targets.collect();
        // A model makes no calls.
        let batch = String::new();
        RunSample { at: counted, state, preparing: None, targets, batch, simulated: true }
    }

    fn pause(&mut self, now: Instant) {
        self.held_since.get_or_insert(now);
    }

    fn resume(&mut self, now: Instant) {
        if let Some(since) = self.held_since.take() {
            self.held += now.saturating_duration_since(since);
        }
    }

    fn stop(&mut self, now: Instant) {
        if self.stopped.is_none() && self.state(now) != RunState::Ended {
            self.stopped = Some(self.passed(now));
        }
    }

    fn finish(mut self: Box<Self>, now: Instant) -> RunSummary {
        self.stop(now);
        let runtime = self.counted(now);
        let amount = self.amount;
        let reads: Vec<u64> = self.flows.iter_mut().map(|flow| flow.reads_at(runtime, amount)).collect();
        let targets =
            self.flows.iter().zip(&reads).map(|(flow, ios)| self.summary(flow, *ios, runtime)).collect();
        RunSummary {
            effective: self.effective.clone(),
            targets,
            simulated: true,
            interrupted: self.stopped.is_some(),
            workload: self.workload,
            // A simulated run has no date.
            ..RunSummary::default()
        }
    }
}

/// Reads per target of a workload with an amount: every job reads all of it.
fn amount(workload: &Workload) -> Option<u64> {
    let size = workload.io_size.or_else(|| workload.amount(workload.size?))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a block is at most 64 MiB")]
    let block = expected::mean_block(workload) as u64;
    Some((size.0 / block.max(1)).saturating_mul(u64::from(workload.jobs)).max(1))
}

fn effective(workload: &Workload, drives: &[&Drive]) -> Effective {
    let without: Vec<&str> = drives
        .iter()
        .filter(|drive| workload.hipri && drive.queue.io_poll.get() != Some(1))
        .map(|drive| drive.name.as_str())
        .collect();
    let mut fallbacks =
        vec!["no device was read: figures come from the capacity model of this machine".to_owned()];
    if !without.is_empty() {
        fallbacks.push(format!("no poll queues on {}: completions use interrupts", without.join(", ")));
    }
    match workload.engine {
        EngineKind::IoUringCmd => {
            fallbacks.push("no published cost of NVMe passthrough: simulated at that of io_uring".to_owned());
        }
        EngineKind::Posixaio => {
            fallbacks.push("posixaio: the C library serializes reads of a file".to_owned());
        }
        EngineKind::Mmap => {
            fallbacks.push("no published cost of page faults: simulated at that of io_uring".to_owned());
        }
        EngineKind::IoUring | EngineKind::Libaio | EngineKind::Psync | EngineKind::Simulated => {}
    }
    let polled = workload.hipri && without.is_empty();
    Effective {
        engine: EngineKind::Simulated,
        completion: if polled { Completion::Polled } else { Completion::Interrupts },
        batch: "simulated".to_owned(),
        placement: "anywhere".to_owned(),
        fallbacks,
        ..Effective::default()
    }
}

#[cfg(test)]
mod tests;
