//! The loop of every engine but io_uring: submit reads, wait for some, count them.

pub(crate) mod libaio;
pub(crate) mod posixaio;

use std::{io, mem, ptr, time::Duration};

use crate::engine::{
    EngineError,
    memory::Mapping,
    offset_generator::{Block, OffsetGenerator},
    rate_limit::RateLimit,
    stats::usage::{self, Usage},
    stats::worker_stats::WorkerStats,
    workers::batch_tuner::BatchTuner,
    workers::phase_tracker::{Failure, PhaseTracker},
    workers::run_control::Phase,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::{
    model::{Workload, error_words},
    text::Label,
};

/// Several reads in flight at once, each in a slot of its own: 0 to the depth less one.
pub(crate) trait AioQueue {
    /// Queues a read in a free slot; the next [`Self::enter`] submits it.
    fn put(&mut self, slot: u16, block: Block);

    /// Submits queued reads and waits for `wait` completions, for `patience` at the longest. Adds completions to `done`:
    /// slot, and bytes read or a negative errno. An interrupted call is no error.
    fn enter(
        &mut self,
        wait: usize,
        patience: Option<Duration>,
        done: &mut Vec<(u16, i32)>,
    ) -> io::Result<()>;

    /// Waits until no read is in flight. If some never complete, leaks their buffers and returns a sentence.
    fn close(&mut self) -> Option<String> {
        None
    }

    /// CPU time of threads that work for this one.
    fn helpers(&self) -> Usage {
        Usage::default()
    }

    /// The batch setting, in words.
    fn batch(&self, tuner: &BatchTuner) -> String {
        tuner.words()
    }
}

/// A read that can be in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    offset: u64,
    length: u32,
    /// When it was submitted, nanoseconds of the run's clock.
    since: u64,
}

/// Bytes of the largest read.
pub(crate) fn block_bytes(workload: &Workload) -> usize {
    usize::try_from(workload.largest_block().0).unwrap_or(usize::MAX)
}

/// One piece of memory for every slot of a worker, and the bytes of a piece.
pub(crate) fn buffers(workload: &Workload) -> Result<(Mapping, usize), EngineError> {
    let block = block_bytes(workload);
    Ok((Mapping::of_reads(block, workload.depth as usize)?, block))
}

/// The longest wait, as system calls take it; no time waits without end.
fn timespec(patience: Option<Duration>) -> Option<libc::timespec> {
    patience.map(|most| libc::timespec {
        tv_sec: libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: most.subsec_nanos().into(),
    })
}

fn pointer(time: Option<&libc::timespec>) -> *const libc::timespec {
    time.map_or(ptr::null(), ptr::from_ref)
}

/// The work of one thread over its queue of `depth` slots.
pub(crate) fn work(
    assignment: &Assignment,
    ready: &Ready<'_>,
    queue: &mut impl AioQueue,
    config: EffectiveConfig,
    depth: u32,
) {
    if !ready.wait(config) {
        return;
    }
    let uncounted = WorkerStats::new();
    let Assignment { control, epoch, stats, .. } = assignment;
    let mut tracker = PhaseTracker::new(control, *epoch, stats, &uncounted);
    read(assignment, queue, &mut tracker, depth);
    tracker.close();
    let leaked = queue.close();
    stats.closing().leaked = leaked.map(|why| Label::new(&why));
}

/// Reads until the run stops, the amount is read or the target is abandoned.
fn read(assignment: &Assignment, queue: &mut impl AioQueue, tracker: &mut PhaseTracker<'_>, depth: u32) {
    let Assignment { target, workload, epoch, job, worker, stats, .. } = assignment;
    let mut blocks = OffsetGenerator::new(workload, target.span, *job, *worker);
    let mut slots = vec![Request::default(); depth as usize];
    let mut free: Vec<u16> = (0..u16::try_from(slots.len()).unwrap_or(u16::MAX)).rev().collect();
    let mut done = Vec::with_capacity(slots.len());
    let mut limit = RateLimit::new(workload, target.span.0, workload.depth / depth);
    let mut tuner = BatchTuner::new(workload, slots.len());
    let mut helpers = Helpers::default();
    let (mut given_up, mut round) = (false, 0);
    let mut now = epoch.elapsed();
    stats.closing().batch = Some(queue.batch(&tuner));
    loop {
        if tracker.is_stale() {
            tracker.follow();
            // What the rate limit owes is not caught up in the next phase.
            limit.restart();
            helpers.follow(tracker.phase(), queue, stats);
        }
        let goes = matches!(tracker.phase(), Phase::Ramp | Phase::Count) && !given_up;
        // A round submits the slots free at its start; slots that complete meanwhile wait for the next round.
        if !goes || round == 0 {
            round = limit.quota(now).min(free.len());
        }
        let quota = if goes { round.min(tuner.submit()) } else { 0 };
        round -= quota;
        let mut bytes = 0;
        for index in free.drain(free.len() - quota..).rev() {
            let block = blocks.next();
            slots[usize::from(index)] = Request { offset: block.offset, length: block.length, since: now };
            bytes += u64::from(block.length);
            queue.put(index, block);
        }
        limit.issued(quota as u64, bytes);
        let in_flight = slots.len() - free.len();
        if in_flight == 0 {
            match tracker.phase() {
                Phase::Hold if !given_up => {
                    tracker.wait();
                    helpers.follow(tracker.phase(), queue, stats);
                    limit.restart();
                }
                Phase::Stop | Phase::Hold => break,
                Phase::Gate | Phase::Ramp | Phase::Count => {
                    if given_up || limit.is_exhausted() {
                        break;
                    }
                    tracker.sleep(limit.next_in(now));
                }
            }
            now = epoch.elapsed();
            continue;
        }
        // No call waits until the whole round is submitted.
        let more = goes && round > 0;
        let limited = goes && !more && limit.is_limited() && !free.is_empty();
        let wait = if more {
            0
        } else if limited {
            1
        } else {
            tuner.wait(in_flight)
        };
        let patience = limited.then(|| limit.next_in(now));
        if let Err(error) = queue.enter(wait, patience, &mut done) {
            let why = format!("the engine failed with {} on {}", error_words(&error), target.name);
            tracker.give_up(error.raw_os_error().unwrap_or(libc::EIO), &why);
            break;
        }
        let before = mem::replace(&mut now, epoch.elapsed());
        for (index, result) in done.drain(..) {
            free.push(index);
            given_up |= count(tracker, slots[usize::from(index)], result, now, assignment);
        }
        tracker.totals.calls += 1;
        tracker.totals.in_flight += in_flight as u64 * (now - before);
        if !more && !limited && tuner.waited(now) && tuner.choose(now, usage::sleeps()) {
            stats.closing().batch = Some(queue.batch(&tuner));
        }
        tracker.publish();
    }
    helpers.follow(Phase::Stop, queue, stats);
}

/// Counts a completed read. Whether to abandon the target.
#[inline]
fn count(
    tracker: &mut PhaseTracker<'_>,
    slot: Request,
    result: i32,
    now: u64,
    assignment: &Assignment,
) -> bool {
    let Request { offset, length, since } = slot;
    if result.cast_unsigned() == length {
        tracker.succeeded(1, u64::from(length));
        if assignment.workload.latency {
            tracker.stats().latency.record(now.saturating_sub(since));
        }
        return false;
    }
    // No error of the drive: the worker goes on with another block.
    !matches!(-result, libc::EAGAIN | libc::EINTR)
        && tracker.failed(&Failure { offset, length, result }, &assignment.target.name)
}

/// CPU time of a queue's own threads while counting.
#[derive(Debug, Default)]
struct Helpers {
    /// CPU time when counting began.
    began: Option<Usage>,
}

impl Helpers {
    fn follow(&mut self, phase: Phase, queue: &impl AioQueue, stats: &WorkerStats) {
        if phase == Phase::Count {
            self.began.get_or_insert_with(|| queue.helpers());
        } else if let Some(began) = self.began.take() {
            stats.closing().usage.add(queue.helpers().since(began));
        }
    }
}
