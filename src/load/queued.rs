//! The loop of the engines beside the ring's own: hand reads over, wait for some, count them, again.
//!
//! Here: [`Queue`], which each of these engines is, and the loop over it. Not here: what a queue is made of; the ring's
//! loop ([`super::worker`]), which is compiled for what its ring has registered and knows no other engine's needs.

use std::{io, mem, time::Duration};

use super::{
    LoadError,
    batching::Batching,
    blocks::{Block, Blocks, Series},
    control::Phase,
    crew::{Assignment, Granted, Ready},
    memory::Mapping,
    pace::Pace,
    tally::{Failure, Shift, Tally},
    usage::{self, Usage},
};
use crate::{
    model::{Workload, errno_words},
    text::Label,
};

/// Several reads under way at once, each in a slot of its own: 0 to the depth less one.
pub(super) trait Queue {
    /// Puts a read into a slot that is free. It is under way from the next [`Self::enter`] on.
    fn put(&mut self, slot: u16, block: Block);

    /// Hands over what was put, waits for `wait` completions, for `patience` at the longest, and adds what came back to
    /// `done`: the slot, and the bytes read or a negative errno. Being interrupted is no error.
    fn enter(
        &mut self,
        wait: usize,
        patience: Option<Duration>,
        done: &mut Vec<(u16, i32)>,
    ) -> io::Result<()>;

    /// Waits until no read is in flight; a sentence when some are for too long, whose buffers are leaked then.
    fn close(&mut self) -> Option<String> {
        None
    }

    /// What threads other than the worker's have spent for it so far.
    fn helpers(&self) -> Usage {
        Usage::default()
    }
}

/// A read that can be under way.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    offset: u64,
    length: u32,
    /// When it was handed over, nanoseconds of the run's clock.
    since: u64,
}

/// A limited worker looks around at least this often.
const NAP: Duration = Duration::from_millis(50);

/// One piece of memory for every slot of a worker, and the bytes of a piece.
pub(super) fn buffers(workload: &Workload) -> Result<(Mapping, usize), LoadError> {
    let block = usize::try_from(workload.largest_block().0).unwrap_or(usize::MAX);
    let buffers =
        Mapping::new(block.saturating_mul(workload.depth as usize)).map_err(|error| LoadError::Machine {
            wrong: format!("no memory for {} blocks of {block} B: {error}", workload.depth),
            fix: "use a smaller --bs, --iodepth or --numjobs".to_owned(),
        })?;
    Ok((buffers, block))
}

/// The work of one thread over its queue.
pub(super) fn work(assignment: &Assignment, ready: &Ready<'_>, queue: &mut impl Queue, granted: Granted) {
    if !ready.wait(granted) {
        return;
    }
    let uncounted = Tally::new();
    let Assignment { control, epoch, tally, .. } = assignment;
    let mut shift = Shift::new(control, *epoch, tally, &uncounted);
    let batching = read(assignment, queue, &mut shift);
    shift.close();
    tally.closing().batch = Some(batching.words());
    let leaked = queue.close();
    tally.closing().leaked = leaked.map(|why| Label::new(&why));
}

/// Reads until the run stops, the amount is read or the target is given up.
fn read(assignment: &Assignment, queue: &mut impl Queue, shift: &mut Shift<'_>) -> Batching {
    let Assignment { target, workload, epoch, job, worker, tally, .. } = assignment;
    let mut blocks = Series::new(workload, target.span, *job, *worker);
    let mut slots = vec![Slot::default(); workload.depth as usize];
    let mut free: Vec<u16> = (0..u16::try_from(slots.len()).unwrap_or(u16::MAX)).rev().collect();
    let mut done = Vec::with_capacity(slots.len());
    let mut pace = Pace::new(workload, target.span.0, 1);
    let mut batching = Batching::new(workload, slots.len());
    let mut helpers = Helpers::default();
    let (mut given_up, mut round) = (false, 0);
    let mut now = epoch.elapsed();
    tally.closing().batch = Some(batching.words());
    loop {
        if shift.is_stale() {
            shift.follow();
            helpers.follow(shift.phase(), queue, tally);
        }
        let goes = matches!(shift.phase(), Phase::Ramp | Phase::Count) && !given_up;
        // A round hands over what was free at its beginning; what comes back meanwhile is for the next one.
        if !goes || round == 0 {
            round = pace.quota(now).min(free.len());
        }
        let quota = if goes { round.min(batching.submit()) } else { 0 };
        round -= quota;
        let mut bytes = 0;
        for index in free.drain(free.len() - quota..).rev() {
            let block = blocks.next();
            slots[usize::from(index)] = Slot { offset: block.offset, length: block.length, since: now };
            bytes += u64::from(block.length);
            queue.put(index, block);
        }
        pace.issued(quota as u64, bytes);
        let under_way = slots.len() - free.len();
        if under_way == 0 {
            match shift.phase() {
                Phase::Hold if !given_up => {
                    shift.wait();
                    helpers.follow(shift.phase(), queue, tally);
                    pace.restart();
                }
                Phase::Stop | Phase::Hold => break,
                Phase::Gate | Phase::Ramp | Phase::Count => {
                    if given_up || pace.is_exhausted() {
                        break;
                    }
                    shift.sleep(pace.next_in(now).min(NAP));
                }
            }
            now = epoch.elapsed();
            continue;
        }
        // With more to hand over than one call may, nothing is waited for until all is under way.
        let more = goes && round > 0;
        let limited = goes && !more && pace.is_limited() && !free.is_empty();
        let wait = if more {
            0
        } else if limited {
            1
        } else {
            batching.wait(under_way)
        };
        let patience = limited.then(|| pace.next_in(now).min(NAP));
        if let Err(error) = queue.enter(wait, patience, &mut done) {
            let words = error.raw_os_error().map_or_else(|| error.to_string(), errno_words);
            shift.give_up(&Label::new(&format!("{words} of the engine's call on {}", target.name)));
            break;
        }
        let before = mem::replace(&mut now, epoch.elapsed());
        for (index, result) in done.drain(..) {
            free.push(index);
            given_up |= count(shift, slots[usize::from(index)], result, now, assignment);
        }
        shift.totals.calls += 1;
        shift.totals.in_flight += under_way as u64 * (now - before);
        if !more && !limited && batching.waited(now) && batching.choose(now, usage::sleeps()) {
            tally.closing().batch = Some(batching.words());
        }
        shift.publish();
    }
    helpers.follow(Phase::Stop, queue, tally);
    batching
}

/// Counts a read that came back. Whether the target is to be given up.
#[inline]
fn count(shift: &mut Shift<'_>, slot: Slot, result: i32, now: u64, assignment: &Assignment) -> bool {
    let Slot { offset, length, since } = slot;
    if result.cast_unsigned() == length {
        shift.succeeded(1, u64::from(length));
        if assignment.workload.latency {
            shift.tally().latency.record(now.saturating_sub(since));
        }
        return false;
    }
    // Not the drive's fault: the block is read another time, another one first.
    !matches!(-result, libc::EAGAIN | libc::EINTR)
        && shift.failed(&Failure { offset, length, result }, &assignment.target.name)
}

/// The account of a queue's own threads, for the time that counts.
#[derive(Debug, Default)]
struct Helpers {
    /// What they had spent when counting began.
    began: Option<Usage>,
}

impl Helpers {
    fn follow(&mut self, phase: Phase, queue: &impl Queue, tally: &Tally) {
        if phase == Phase::Count {
            self.began.get_or_insert_with(|| queue.helpers());
        } else if let Some(began) = self.began.take() {
            tally.closing().usage.add(queue.helpers().since(began));
        }
    }
}
