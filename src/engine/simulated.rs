//! [`Simulated`]: an engine without devices, for demos. It reads as fast as the capacity model says such a machine can.
//!
//! A run is a function of workload, seed and time; no thread, no clock, no file. All its results say SIMULATED.

mod latency;
mod noise;
mod system;

pub use system::rates;

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

/// What a flash drive of the demos takes for one small read when nothing else is asked of it. An assumption of the
/// simulation, near what reads of TLC flash take; no limit is made of it.
const ONE_READ: Duration = Duration::from_micros(50);

/// The share of a read's CPU time that is spent in the worker itself: source P saw 2 of 10 %, source R 7 of 65 %.
const USER_SHARE: f64 = 0.2;

/// Drives that exist in a capture only.
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
        named.or_else(by_path).ok_or_else(|| EngineError::Target {
            path: Label::new(&target.path.to_string_lossy()),
            wrong: "not a drive of this demo".to_owned(),
            fix: "name one that `iodyno drives --demo` lists".to_owned(),
            errno: None,
        })
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
        let flows = named
            .targets
            .iter()
            .zip(&drives)
            .zip(expected)
            .enumerate()
            .map(|(index, ((target, drive), expected))| {
                let expected = expected.filter(|expected| expected.iops.is_finite() && expected.iops > 0.0);
                let expected = expected.ok_or_else(|| EngineError::Target {
                    path: Label::new(&target.path.to_string_lossy()),
                    wrong: "the speed of this drive is unknown".to_owned(),
                    fix: "choose another drive of the demo".to_owned(),
                    errno: None,
                })?;
                Ok(Flow {
                    name: Label::new(&target.path.to_string_lossy()),
                    drive: drive.name.clone(),
                    iops: expected.iops,
                    seconds_per_read: expected.cycles_per_read.unwrap_or(0.0) / self.hertz(),
                    noise: Noise::new(self.seed ^ workload.seed, index as u64),
                    reads: 0.0,
                    slices: 0,
                    told: 0,
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

impl Simulated {
    /// Reads per second that the depth allows when every read takes as long as one alone.
    fn ceiling(&self, drive: &Drive, workload: &Workload) -> f64 {
        let block = expected::mean_block(workload);
        let transfer = self.limits.drive(&drive.name).map_or(0.0, |limit| block / limit.bytes_per_second.0);
        f64::from(under_way(workload)) * f64::from(workload.jobs) / (ONE_READ.as_secs_f64() + transfer)
    }

    fn hertz(&self) -> f64 {
        self.limits.processors.as_ref().map_or(f64::INFINITY, |processors| processors.hertz)
    }
}

/// Reads of a job that are in flight at once: the C library's AIO reads one block of a file after the other.
fn under_way(workload: &Workload) -> u32 {
    if workload.engine == EngineKind::Posixaio { 1 } else { workload.depth }
}

#[derive(Debug)]
struct Flow {
    name: Label,
    drive: DriveName,
    /// What it reaches, before noise.
    iops: f64,
    /// Processor time of one read.
    seconds_per_read: f64,
    noise: Noise,
    /// Reads of the slices that are over.
    reads: f64,
    slices: u64,
    /// Reads that a sample has reported.
    told: u64,
}

/// The rate changes this often.
const SLICE: Duration = Duration::from_millis(100);

impl Flow {
    /// Reads completed when so much time has been counted; asked with times that grow.
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
    /// Reads per target after which it is done, if the workload says how much instead of how long.
    amount: Option<u64>,
    flows: Vec<Flow>,
    started: Instant,
    /// Time spent in pauses that are over.
    held: Duration,
    held_since: Option<Instant>,
    /// Time that had passed when it was stopped.
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

    fn bytes(&self, reads: u64) -> u64 {
        if self.workload.block_split.is_empty() {
            return reads.saturating_mul(self.workload.block_size.0);
        }
        // Sizes come in the shares asked for, each read whole.
        let of_size = |(size, share): &(crate::units::Bytes, u8)| size.0 * (reads * u64::from(*share) / 100);
        self.workload.block_split.iter().map(of_size).sum()
    }

    /// Little's law: reads in flight over reads per second.
    fn mean_latency(workload: &Workload, iops: f64) -> f64 {
        f64::from(under_way(workload)) * f64::from(workload.jobs) / iops * 1e9
    }
}

impl Running for Simulation {
    fn sample(&mut self, now: Instant) -> RunSample {
        let state = self.state(now);
        let counted = self.counted(now);
        let mut targets = Vec::with_capacity(self.flows.len());
        for index in 0..self.flows.len() {
            let amount = self.amount;
            let flow = &mut self.flows[index];
            let ios = flow.reads_at(counted, amount);
            let new = ios.saturating_sub(std::mem::replace(&mut flow.told, ios));
            let mean = Self::mean_latency(&self.workload, flow.iops * flow.noise.factor(flow.slices));
            let latency =
                if self.workload.latency { latency::summary(mean, new) } else { latency::summary(0.0, 0) };
            targets.push(TargetSample {
                name: flow.name.clone(),
                drive: Some(flow.drive.clone()),
                ios,
                bytes: 0,
                errors: 0,
                latency,
                failed: None,
            });
        }
        for target in &mut targets {
            target.bytes = self.bytes(target.ios);
        }
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
            // A run that is the same at any time has no date.
            started: 0,
            workload: self.workload,
        }
    }
}

impl Simulation {
    fn summary(&self, flow: &Flow, ios: u64, runtime: Duration) -> TargetSummary {
        let iops = if runtime.is_zero() { flow.iops } else { ios as f64 / runtime.as_secs_f64() };
        let busy = Duration::from_secs_f64((flow.seconds_per_read * ios as f64).clamp(0.0, 1e9));
        let workers = f64::from(self.workload.jobs) * runtime.as_secs_f64().max(1e-9);
        let measured = self.workload.latency && ios > 0;
        TargetSummary {
            name: flow.name.clone(),
            drive: Some(flow.drive.clone()),
            ios,
            bytes: self.bytes(ios),
            runtime,
            errors: 0,
            first_error: None,
            errno: None,
            latency: measured.then(|| latency::summary(Self::mean_latency(&self.workload, iops), ios)),
            cpu_user: busy.mul_f64(USER_SHARE),
            cpu_system: busy.mul_f64(1.0 - USER_SHARE),
            context_switches: system::switches(ios, busy.as_secs_f64() / workers),
            calls: ios / 8,
            depth_reached: Some(f64::from(under_way(&self.workload))),
            interrupts_per_read: None,
            invalid_because: Vec::new(),
        }
    }
}

/// Reads per target of a workload that names an amount: every job reads all of it.
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
        EngineKind::IoUring | EngineKind::Libaio | EngineKind::Psync | EngineKind::Simulated => {}
    }
    let polled = workload.hipri && without.is_empty();
    Effective {
        engine: EngineKind::Simulated,
        completion: if polled { Completion::Polled } else { Completion::Interrupts },
        ring_flags: Vec::new(),
        batch: "simulated".to_owned(),
        placement: "anywhere".to_owned(),
        memory: String::new(),
        fallbacks,
    }
}

#[cfg(test)]
mod tests;
