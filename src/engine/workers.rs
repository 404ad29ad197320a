//! The worker pool: starts workers together, samples them, sums them up.

pub(crate) mod batch_tuner;
pub(crate) mod phase_tracker;
mod placement;
pub(crate) mod run_control;

use std::{
    cell::Cell,
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{self, Receiver, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use self::placement::Placement;
use crate::engine::{
    EngineError, Running,
    clock::{self, Epoch},
    memory::Mapping,
    stats::histogram::Counts,
    stats::worker_stats::{self, WorkerStats},
    target::Open,
    workers::run_control::{Phase, RunControl},
};
use crate::{
    machine::Machine,
    model::{
        Completion, Effective, EngineKind, LatencySummary, RunSample, RunState, RunSummary, TargetSample,
        TargetSummary, Workload,
    },
    text::Label,
    units::{self, Bytes},
};

/// The work of one worker.
pub(crate) struct Assignment {
    pub target: Arc<Open>,
    pub workload: Arc<Workload>,
    pub control: Arc<RunControl>,
    pub epoch: Epoch,
    pub stats: Arc<WorkerStats>,
    /// Number of the job on its target.
    pub job: u32,
    /// Number of the worker in the run.
    pub worker: u64,
}

/// The effective configuration of a worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EffectiveConfig {
    pub engine: EngineKind,
    pub completion: Completion,
    pub ring_flags: Vec<String>,
    /// The kind of pages of its buffers.
    pub memory: &'static str,
    pub fallbacks: Vec<String>,
}

impl EffectiveConfig {
    /// Of an engine without a ring: completions use interrupts, and each requested feature it lacks has a sentence.
    pub(crate) fn without_ring(engine: EngineKind, buffers: &Mapping, lacks: &[(bool, &str)]) -> Self {
        let fallbacks = lacks.iter().filter(|(asked, _)| *asked).map(|(_, sentence)| (*sentence).to_owned());
        Self::new(engine, false, Vec::new(), buffers, fallbacks.collect())
    }

    pub(crate) fn new(
        engine: EngineKind,
        polled: bool,
        ring_flags: Vec<String>,
        buffers: &Mapping,
        fallbacks: Vec<String>,
    ) -> Self {
        let completion = if polled { Completion::Polled } else { Completion::Interrupts };
        Self { engine, completion, ring_flags, memory: buffers.pages, fallbacks }
    }
}

/// Reports a worker's config to the pool, and waits for the other workers.
pub(crate) struct Ready<'a> {
    answer: &'a SyncSender<Result<EffectiveConfig, EngineError>>,
    /// Why the worker does not run on its CPUs.
    misplaced: Option<String>,
    control: &'a RunControl,
    /// Workers without a ring, and whether this one is still among them.
    without_ring: &'a Remaining,
    is_without_ring: Cell<bool>,
}

impl Ready<'_> {
    /// Waits until all workers are ready. False when the run is stopped.
    pub(crate) fn wait(&self, mut config: EffectiveConfig) -> bool {
        config.fallbacks.extend(self.misplaced.clone());
        self.answer.send(Ok(config)).is_ok() && self.control.wait_while(Phase::Gate) != Phase::Stop
    }

    /// Waits until every worker has its ring or has failed to make one.
    pub(crate) fn ring_made(&self) {
        self.leave_without_ring();
        self.without_ring.wait(RINGS);
    }

    fn leave_without_ring(&self) {
        if self.is_without_ring.replace(false) {
            self.without_ring.leave();
        }
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        self.leave_without_ring();
    }
}

/// The work of one worker, on its own thread: prepares, waits at [`Ready`], reads until the run stops.
pub(crate) type Work = fn(&Assignment, &Ready<'_>) -> Result<(), EngineError>;

/// Likewise, of a worker that reads several jobs at once.
pub(crate) type SharedWork = fn(&[Assignment], &Ready<'_>) -> Result<(), EngineError>;

/// Most reads that one worker keeps in flight: the most entries of a ring (`IORING_MAX_ENTRIES`).
const MOST_IN_FLIGHT: usize = 32768;

pub(crate) struct WorkerPool {
    workload: Arc<Workload>,
    control: Arc<RunControl>,
    targets: Vec<TargetWorkers>,
    remaining: Arc<Remaining>,
    threads: Vec<JoinHandle<()>>,
    effective: Effective,
    started: i64,
}

/// One target and its workers.
struct TargetWorkers {
    open: Arc<Open>,
    workers: Vec<Arc<WorkerStats>>,
    /// Latencies of the previous sample.
    previous: Counts,
}

/// Number of workers left.
#[derive(Debug, Default)]
struct Remaining {
    left: Mutex<usize>,
    changed: Condvar,
}

/// How long [`Running::finish`] waits for reads that do not complete.
const PATIENCE: Duration = Duration::from_millis(180);

/// Longest wait for other workers' rings.
const RINGS: Duration = Duration::from_secs(10);

/// A shorter run measures little of a drive.
const SHORTEST: Duration = Duration::from_secs(1);

impl WorkerPool {
    /// Starts `threads_per_job` workers for every job on every target; they read once all are ready.
    pub(crate) fn start(
        machine: Option<&Machine>,
        workload: &Workload,
        targets: Vec<Open>,
        threads_per_job: u32,
        work: Work,
    ) -> Result<Self, EngineError> {
        Self::begin(machine, workload, targets, threads_per_job, usize::MAX, move |share, ready| {
            share.iter().try_for_each(|assignment| work(assignment, ready))
        })
    }

    /// Starts a worker for every job on every target, but no more than there are CPUs for them: then each reads
    /// several jobs, which costs less than several workers in turns.
    pub(crate) fn start_shared(
        machine: Option<&Machine>,
        workload: &Workload,
        targets: Vec<Open>,
        work: SharedWork,
    ) -> Result<Self, EngineError> {
        let jobs = targets.len() * workload.jobs as usize;
        let least = (jobs * workload.depth as usize).div_ceil(MOST_IN_FLIGHT);
        Self::begin(machine, workload, targets, 1, cpus().max(least), work)
    }

    fn begin(
        machine: Option<&Machine>,
        workload: &Workload,
        targets: Vec<Open>,
        threads_per_job: u32,
        most_workers: usize,
        work: impl Fn(&[Assignment], &Ready<'_>) -> Result<(), EngineError> + Copy + Send + 'static,
    ) -> Result<Self, EngineError> {
        let members = targets.into_iter().map(|open| TargetWorkers {
            open: Arc::new(open),
            workers: (0..workload.jobs * threads_per_job).map(|_| Arc::new(WorkerStats::new())).collect(),
            previous: Counts::default(),
        });
        let mut pool = Self {
            workload: Arc::new(workload.clone()),
            control: Arc::new(RunControl::new(workload.ramp, workload.runtime)),
            targets: members.collect(),
            remaining: Arc::default(),
            threads: Vec::new(),
            effective: Effective { engine: workload.engine, ..Effective::default() },
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX)),
        };
        let shares = pool.shares(threads_per_job, most_workers);
        let begun = pool.place(machine, &shares).and_then(|placement| {
            pool.effective.placement.clone_from(&placement.words);
            pool.effective.fallbacks.clone_from(&placement.notes);
            let workers = shares.len();
            let answers = pool.spawn(shares, &placement, work)?;
            pool.collect(&answers, workers)
        });
        match begun {
            Ok(()) => {
                pool.control.open();
                Ok(pool)
            }
            Err(error) => {
                pool.control.stop(true);
                pool.join();
                Err(error)
            }
        }
    }

    /// Adds a sentence about a fallback before the workers began.
    pub(crate) fn explain(&mut self, fallback: String) {
        self.effective.fallbacks.insert(0, fallback);
    }

    fn place(&self, machine: Option<&Machine>, shares: &[Vec<Assignment>]) -> Result<Placement, EngineError> {
        let number = |assignment: &Assignment| {
            self.targets.iter().position(|member| Arc::ptr_eq(&member.open, &assignment.target))
        };
        let targets: Vec<Vec<usize>> =
            shares.iter().map(|share| share.iter().filter_map(number).collect()).collect();
        Ok(placement::plan(machine, &self.workload, &targets, placement::usable())?)
    }

    /// The jobs of each worker. Jobs go round robin, target by target, so that each worker gets a share of every target.
    fn shares(&self, threads_per_job: u32, most_workers: usize) -> Vec<Vec<Assignment>> {
        let threads_per_job = threads_per_job.max(1);
        let per_target = self.workload.jobs * threads_per_job;
        let jobs = self.targets.iter().flat_map(|member| (0..per_target).map(move |index| (index, member)));
        let epoch = Epoch::new();
        let count = self.targets.len() * per_target as usize;
        let workers = count.min(most_workers).max(1);
        let mut shares: Vec<Vec<Assignment>> = (0..workers).map(|_| Vec::new()).collect();
        for (number, (index, member)) in (0..).zip(jobs) {
            shares[number % workers].push(Assignment {
                target: Arc::clone(&member.open),
                workload: Arc::clone(&self.workload),
                control: Arc::clone(&self.control),
                epoch,
                stats: Arc::clone(&member.workers[index as usize]),
                job: index / threads_per_job,
                worker: number as u64,
            });
        }
        shares
    }

    fn spawn(
        &mut self,
        shares: Vec<Vec<Assignment>>,
        placement: &Placement,
        work: impl Fn(&[Assignment], &Ready<'_>) -> Result<(), EngineError> + Copy + Send + 'static,
    ) -> Result<Receiver<Result<EffectiveConfig, EngineError>>, EngineError> {
        let (answer, answers) = mpsc::sync_channel(shares.len());
        let without_ring = Arc::new(Remaining::default());
        for _ in &shares {
            without_ring.enter();
        }
        for (worker, share) in shares.into_iter().enumerate() {
            let cpus = placement.of(worker).to_vec();
            let control = Arc::clone(&self.control);
            let (remaining, without_ring) = (Arc::clone(&self.remaining), Arc::clone(&without_ring));
            let answer = answer.clone();
            remaining.enter();
            let thread = thread::Builder::new().name(format!("read {worker}")).spawn(move || {
                let _present = Present { remaining: &remaining, control: &control };
                let misplaced = placement::go_to(&cpus).err();
                let ready = Ready {
                    answer: &answer,
                    misplaced,
                    control: &control,
                    without_ring: &without_ring,
                    is_without_ring: Cell::new(true),
                };
                if let Err(error) = work(&share, &ready) {
                    // The receiver is gone once the run has started or failed.
                    let _ = answer.send(Err(error));
                }
            });
            match thread {
                Ok(thread) => self.threads.push(thread),
                Err(error) => {
                    self.remaining.leave();
                    return Err(no_thread(&error));
                }
            }
        }
        let keeper = thread::Builder::new().name("keeper".to_owned()).spawn({
            let control = Arc::clone(&self.control);
            move || control.keep()
        });
        self.threads.push(keeper.map_err(|error| no_thread(&error))?);
        Ok(answers)
    }

    /// Receives the effective configuration of every worker.
    fn collect(
        &mut self,
        answers: &Receiver<Result<EffectiveConfig, EngineError>>,
        workers: usize,
    ) -> Result<(), EngineError> {
        for _ in 0..workers {
            // A closed channel means that a worker panicked.
            let config = answers.recv().unwrap_or(Err(EngineError::Stopped))?;
            let effective = &mut self.effective;
            effective.engine = config.engine;
            effective.completion = config.completion;
            effective.ring_flags = config.ring_flags;
            config.memory.clone_into(&mut effective.memory);
            for fallback in config.fallbacks {
                if !effective.fallbacks.contains(&fallback) {
                    effective.fallbacks.push(fallback);
                }
            }
        }
        Ok(())
    }

    /// Waits for the workers, [`PATIENCE`] at the longest. Returns the workers left: reads that hang keep their worker and
    /// its memory.
    fn join(&mut self) -> usize {
        let left = self.remaining.wait(PATIENCE);
        if left == 0 {
            for thread in self.threads.drain(..) {
                // A worker's panic is printed already, and its counts are stored.
                let _ = thread.join();
            }
        }
        left
    }

    /// The batch setting of the first worker that has one, in words.
    fn batch(&self) -> String {
        let mut workers = self.targets.iter().flat_map(|member| &member.workers);
        workers.find_map(|stats| stats.closing().batch.clone()).unwrap_or_default()
    }

    fn state(&self, phase: Phase) -> RunState {
        match phase {
            _ if self.remaining.left() == 0 => RunState::Ended,
            Phase::Gate | Phase::Ramp => RunState::Ramping,
            Phase::Count | Phase::Stop => RunState::Running,
            Phase::Hold => RunState::Paused,
        }
    }
}

/// CPUs that this process may use.
fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// No thread can be started (EAGAIN).
pub(crate) fn no_thread(error: &io::Error) -> EngineError {
    EngineError::Machine {
        wrong: format!("cannot start a thread: {error}"),
        fix: "use fewer --numjobs, or raise `ulimit -u` or pids.max of the control group".to_owned(),
    }
}

impl Running for WorkerPool {
    fn sample(&mut self, _: Instant) -> RunSample {
        let (phase, at) = self.control.progress();
        let targets = self.targets.iter_mut().zip(&self.workload.targets).map(|(member, target)| {
            let (totals, counts) = worker_stats::sum(member.workers.iter().map(|stats| &**stats));
            let latency = counts.since(&member.previous).summary();
            member.previous = counts;
            TargetSample {
                name: member.open.name.clone(),
                drive: target.drive.clone(),
                ios: totals.ios,
                bytes: totals.bytes,
                errors: totals.errors,
                latency,
                failed: member.workers.iter().find_map(|stats| stats.closing().failed.clone()),
            }
        });
        let targets = targets.collect();
        let (state, batch) = (self.state(phase), self.batch());
        RunSample { at, state, preparing: None, targets, batch, simulated: false }
    }

    fn pause(&mut self, _: Instant) {
        self.control.pause();
    }

    fn resume(&mut self, _: Instant) {
        self.control.resume();
    }

    fn stop(&mut self, _: Instant) {
        self.control.stop(true);
    }

    fn finish(mut self: Box<Self>, _: Instant) -> RunSummary {
        self.control.stop(true);
        let left = self.join();
        let interrupted = self.control.interrupted();
        let (_, counted) = self.control.progress();
        let targets = self
            .targets
            .iter()
            .zip(&self.workload.targets)
            .map(|(member, target)| {
                let mut summary = member.summary(&self.workload, counted);
                summary.drive.clone_from(&target.drive);
                if left > 0 {
                    summary.invalid_because.push(format!(
                        "reads were in flight {} ms after the stop: a drive hangs or is throttled (workers with such reads: {left})",
                        PATIENCE.as_millis()
                    ));
                }
                summary
            })
            .collect();
        let mut effective = self.effective.clone();
        effective.batch = self.batch();
        RunSummary {
            workload: (*self.workload).clone(),
            effective,
            targets,
            interrupted,
            started: self.started,
            ..RunSummary::default()
        }
    }
}

/// Why a run without an error has no figure.
fn nothing_read(workload: &Workload, runtime: Duration) -> String {
    let reads = u64::from(workload.depth) * u64::from(workload.jobs);
    let block = workload.largest_block();
    format!(
        "no read completed in {:.2} s with up to {reads} reads of {} in flight ({}): use a longer --runtime, or a smaller \
         --bs or --iodepth",
        runtime.as_secs_f64(),
        units::block_size(block),
        units::block_size(Bytes(block.0.saturating_mul(reads)))
    )
}

impl TargetWorkers {
    /// The sum of its workers. `counted` is the run's own time, for workers without an account.
    fn summary(&self, workload: &Workload, counted: Duration) -> TargetSummary {
        let (totals, counts) = worker_stats::sum(self.workers.iter().map(|stats| &**stats));
        let closings: Vec<_> = self.workers.iter().map(|stats| stats.closing().clone()).collect();
        let own = closings.iter().map(|closing| closing.counted).max().unwrap_or_default();
        let runtime = if own.is_zero() { counted } else { own };
        let first = |pick: fn(&worker_stats::Closing) -> &Option<Label>| {
            closings.iter().find_map(|c| pick(c).clone())
        };
        let first_error = closings.iter().find_map(|closing| closing.first_error.clone());
        let errno = first_error.as_ref().map(|(errno, _)| *errno);
        let in_flight: f64 = self
            .workers
            .iter()
            .zip(&closings)
            .filter(|(_, closing)| !closing.counted.is_zero())
            .map(|(stats, closing)| stats.totals().in_flight as f64 / 1e9 / closing.counted.as_secs_f64())
            .sum();
        let mut invalid_because = self.open.doubts.clone();
        if let Some(failed) = first(|closing| &closing.failed) {
            invalid_because.push(format!("aborted: {failed}"));
        } else if totals.errors > 0 {
            invalid_because.push(format!("{} reads failed", totals.errors));
        } else if totals.ios == 0 {
            invalid_because.push(nothing_read(workload, runtime));
        }
        invalid_because.extend(first(|closing| &closing.leaked).map(|why| why.to_string()));
        if runtime < SHORTEST {
            let ms = runtime.as_millis();
            invalid_because.push(format!("measured for {ms} ms only; at least 1 s is needed"));
        }
        TargetSummary {
            name: self.open.name.clone(),
            ios: totals.ios,
            bytes: totals.bytes,
            runtime,
            errors: totals.errors,
            first_error: first_error.map(|(_, words)| words),
            errno,
            latency: workload.latency.then(|| counts.summary()).filter(|l: &LatencySummary| l.count > 0),
            cpu_user: closings.iter().map(|closing| closing.usage.user).sum(),
            cpu_system: closings.iter().map(|closing| closing.usage.system).sum(),
            context_switches: closings.iter().map(|closing| closing.usage.switches).sum(),
            minor_faults: closings.iter().map(|closing| closing.usage.minor_faults).sum(),
            major_faults: closings.iter().map(|closing| closing.usage.major_faults).sum(),
            calls: totals.calls,
            depth_reached: (totals.calls > 0).then_some(in_flight / f64::from(workload.jobs.max(1))),
            invalid_because,
            ..TargetSummary::default()
        }
    }
}

/// A running worker; its drop, also by a panic, is counted.
struct Present<'a> {
    remaining: &'a Remaining,
    control: &'a RunControl,
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if self.remaining.leave() == 0 {
            self.control.stop(false);
        }
    }
}

impl Remaining {
    fn enter(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn leave(&self) -> usize {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        self.changed.notify_all();
        *left
    }

    fn left(&self) -> usize {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no worker is left, `most` at the longest. Returns the workers left.
    fn wait(&self, most: Duration) -> usize {
        let end = clock::now() + most;
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            let patience = end.saturating_duration_since(clock::now());
            if patience.is_zero() {
                break;
            }
            left = self.changed.wait_timeout(left, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        *left
    }
}
