//! The loop of a ring's worker: hand reads over, wait for some, count them, again.
//!
//! Here: what happens once per read and once per batch. Compiled for every combination of pattern, timing and what a
//! worker serves, so that nothing is decided per read that could be decided before; what the registrations change is in
//! each slot's submission entry, made once. Not here: making the ring ([`super::ring`]), choosing batches
//! ([`super::batching`]), the slots and lanes themselves ([`super::lanes`]).
#![expect(unsafe_code, reason = "reads are handed to the kernel with the addresses they land at")]

use std::{mem, num::NonZeroU64, os::fd::AsRawFd, time::Duration};

use io_uring::{cqueue::CompletionQueue, squeue::SubmissionQueue};

use super::{
    LoadError,
    batching::Batching,
    blocks::{Blocks, One, Random, Sequential, Series},
    control::Phase,
    crew::{Assignment, Ready},
    door::enter,
    drain::{Landing, Ring},
    lanes::{Addressing, Lane, Queue, Slot, forget, give_up, slots},
    ring::{self, Rig},
    tally::{self, Shift, Tally},
    usage,
};
use crate::{model::Pattern, text::Label};

/// A limited worker looks around at least this often.
const NAP: Duration = Duration::from_millis(50);

/// How often totals become visible, nanoseconds: far more often than anybody looks.
const PUBLISHED: u64 = 1_000_000;

/// The work of one thread: all assignments of its share, through one ring.
pub(super) fn work(share: &[Assignment], ready: &Ready<'_>) -> Result<(), LoadError> {
    let Some(first) = share.first() else { return Ok(()) };
    // Waits for a time end when they should, not up to 50 us later; where that is refused they still end.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let workload = &first.workload;
    let mut rig = Rig::new(workload, share, ready)?;
    let files: Vec<_> = share.iter().map(|assignment| assignment.target.file.as_raw_fd()).collect();
    let fixed_files = workload.register_files
        && ring::register_files(&rig.landing.ring.ring.submitter(), &files, &mut rig.granted.fallbacks);
    if !ready.wait(rig.granted.clone()) {
        return Ok(());
    }
    let go = match (workload.pattern, workload.block_split.is_empty()) {
        (Pattern::Random, true) => choose::<Random<One>>,
        (Pattern::Sequential, true) => choose::<Sequential<One>>,
        (_, false) => choose::<Series>,
    };
    go(share, &mut rig, fixed_files);
    if let Some(why) = rig.landing.close() {
        for assignment in share {
            assignment.tally.closing().leaked = Some(Label::new(&why));
        }
    }
    Ok(())
}

/// Goes to the loop compiled for this workload.
fn choose<B: Blocks>(share: &[Assignment], rig: &mut Rig, fixed_files: bool) {
    let Some(Assignment { target, workload, control, epoch, .. }) = share.first() else { return };
    let paced = workload.rate_iops.is_some() || workload.amount(target.span).is_some();
    let go = match (paced, share.len() > 1, workload.latency) {
        _ if workload.exact_timing => read::<B, true, true, true, true>,
        (true, _, true) => read::<B, true, true, true, false>,
        (true, _, false) => read::<B, true, true, false, false>,
        (false, true, true) => read::<B, false, true, true, false>,
        (false, true, false) => read::<B, false, true, false, false>,
        (false, false, true) => read::<B, false, false, true, false>,
        (false, false, false) => read::<B, false, false, false, false>,
    };
    let (whole, uncounted) = (Tally::new(), Tally::new());
    let mut lanes: Vec<Lane<'_, B>> = share
        .iter()
        .enumerate()
        .map(|(index, assignment)| {
            let addressing = Addressing::new(assignment, index, fixed_files, rig.fixed_buffers);
            Lane::new(assignment, &uncounted, addressing)
        })
        .collect();
    let mut shift = Shift::new(control, *epoch, &whole, &uncounted);
    let batching = go(&share[0], rig, &mut shift, &mut lanes);
    shift.close();
    for lane in &mut lanes {
        lane.shift.close();
    }
    let tallies: Vec<&Tally> = share.iter().map(|assignment| &*assignment.tally).collect();
    tally::share_out(&whole, &tallies);
    for tally in tallies {
        tally.closing().batch = Some(batching.words());
    }
}

/// Reads until the run stops, the amounts are read or every target is given up.
fn read<B: Blocks, const PACED: bool, const MANY: bool, const LATENCY: bool, const EXACT: bool>(
    assignment: &Assignment,
    rig: &mut Rig,
    shift: &mut Shift<'_>,
    lanes: &mut [Lane<'_, B>],
) -> Batching {
    let Assignment { workload, epoch, tally, .. } = assignment;
    let mut slots = slots(rig, lanes.len(), workload.depth);
    let mut queue = line_up::<B, PACED>(&mut slots, lanes);
    let mut batching = Batching::new(workload, slots.len());
    let Landing { ring: Ring { ring, pending }, .. } = &mut rig.landing;
    let (mut submitter, mut submissions, mut completions) = ring.split();
    // Spares a lookup per call; refused before 5.18.
    let _ = submitter.register_ring_fd();
    let (mut under_way, mut round) = (0, 0);
    let mut now = epoch.elapsed();
    let mut publish_at = now;
    tally.closing().batch = Some(batching.words());
    loop {
        if shift.is_stale() {
            shift.follow();
            lanes.iter_mut().for_each(Lane::follow);
        }
        let goes = matches!(shift.phase(), Phase::Ramp | Phase::Count) && (MANY || lanes[0].is_alive());
        if PACED && goes {
            for lane in lanes.iter_mut() {
                lane.admit(now, &mut slots, &mut queue);
            }
        }
        // A round hands over what was free at its beginning. What comes back meanwhile waits for the next one, or a round
        // of reads that come back at once would never end.
        if !goes || round == 0 {
            round = queue.len();
        }
        let quota = if goes { round.min(queue.len()).min(batching.submit()) } else { 0 };
        round -= quota;
        let numbers = queue.take(quota);
        under_way += quota;
        *pending = count(under_way);
        hand_over::<B, MANY>(&mut submissions, &mut slots, lanes, numbers, now);
        submissions.sync();
        if EXACT && quota > 0 {
            if let Err(error) = enter(&submitter, submissions.len(), None, None) {
                give_up(lanes, &error);
                break;
            }
            let handed_over = epoch.elapsed();
            for number in numbers {
                slots[*number as usize].since = handed_over;
            }
            shift.totals.calls += 1;
            shift.totals.in_flight += (under_way - quota) as u64 * (handed_over - now);
            now = handed_over;
        }
        queue.settle();
        if under_way == 0 {
            match shift.phase() {
                Phase::Hold if lanes.iter().any(Lane::is_alive) => {
                    shift.wait();
                    lanes.iter_mut().for_each(Lane::go_on);
                }
                Phase::Stop | Phase::Hold => break,
                Phase::Gate | Phase::Ramp | Phase::Count => {
                    if !lanes.iter().any(Lane::is_alive) {
                        break;
                    }
                    shift.sleep(patience(lanes, now).unwrap_or(NAP));
                }
            }
            now = epoch.elapsed();
            continue;
        }
        // With more to hand over than one call may, nothing is waited for until all is under way.
        let more = goes && round > 0 && queue.len() > 0;
        let limited = if PACED && goes && !more { patience(lanes, now) } else { None };
        let wait = match limited {
            _ if more => None,
            Some(_) => Some(1),
            None => Some(batching.wait(under_way)),
        };
        if let Err(error) = enter(&submitter, submissions.len(), wait, limited) {
            give_up(lanes, &error);
            break;
        }
        completions.sync();
        submissions.sync();
        let before = mem::replace(&mut now, epoch.elapsed());
        let found = reap::<B, PACED, MANY, LATENCY>(&mut completions, &mut slots, &mut queue, lanes, now);
        completions.sync();
        shift.totals.calls += 1;
        shift.totals.in_flight += under_way as u64 * (now - before);
        if !more && limited.is_none() && batching.waited(now) && batching.choose(now, usage::sleeps()) {
            tally.closing().batch = Some(batching.words());
        }
        under_way -= found;
        *pending = count(under_way);
        if now >= publish_at {
            publish_at = now + PUBLISHED;
            for lane in lanes.iter() {
                lane.shift.publish();
            }
        }
    }
    batching
}

/// All slots are free: they wait for their time where there is a pace to keep, and can be handed over where there is none.
fn line_up<B: Blocks, const PACED: bool>(slots: &mut [Slot], lanes: &mut [Lane<'_, B>]) -> Queue {
    let mut queue = Queue::new(slots.len());
    for (number, slot) in (0..).zip(slots) {
        let lane = &mut lanes[slot.lane as usize];
        if PACED {
            lane.waiting.push(number);
        } else {
            slot.aim(lane.blocks.next());
            queue.push(number);
        }
    }
    queue
}

/// Puts the slots of these numbers into the submission queue, `now` being when.
#[inline(never)]
fn hand_over<B, const MANY: bool>(
    submissions: &mut SubmissionQueue<'_>,
    slots: &mut [Slot],
    lanes: &[Lane<'_, B>],
    numbers: &[u32],
    now: u64,
) {
    for number in numbers {
        let slot = &mut slots[*number as usize];
        slot.since = now;
        let entry = lanes[if MANY { slot.lane as usize } else { 0 }].addressing.entry(slot, *number);
        // SAFETY: the slot's memory stays mapped while a read is in flight (`Landing`), and no other read uses it: its number
        // came from the queue of free ones.
        while unsafe { submissions.push(&entry) }.is_err() {
            // There are as many entries as slots: the kernel's submitting thread (SQPOLL) has not yet stored its head.
            submissions.sync();
        }
    }
}

/// Counts what has come back, `now` being when: how many.
#[inline(never)]
fn reap<B: Blocks, const PACED: bool, const MANY: bool, const LATENCY: bool>(
    completions: &mut CompletionQueue<'_>,
    slots: &mut [Slot],
    queue: &mut Queue,
    lanes: &mut [Lane<'_, B>],
    now: u64,
) -> usize {
    let mut found = 0;
    let mut group = Group::default();
    for event in completions {
        found += 1;
        let result = event.result();
        #[expect(clippy::cast_possible_truncation, reason = "the slot number put there")]
        let index = event.user_data() as u32;
        let slot = &slots[index as usize];
        let number = if MANY { slot.lane } else { 0 };
        let length = slot.block().length;
        let mut goes_on = !MANY || !slot.is_over;
        if result.cast_unsigned() == length {
            if (LATENCY && group.since != slot.since) || (MANY && group.lane != number) {
                group.count::<B, LATENCY>(lanes, now);
                group = Group { lane: number, since: slot.since, ..Group::default() };
            }
            group.reads += 1;
            group.bytes += u64::from(length);
        } else if lanes[number as usize].failed(slot, result) {
            forget(queue, slots, number);
            goes_on = !MANY;
        }
        if PACED {
            lanes[number as usize].returned(index);
        } else if goes_on {
            slots[index as usize].aim(lanes[number as usize].blocks.next());
            queue.push(index);
            if MANY {
                lend(slots, index, queue.place(found - 1));
            }
        }
    }
    group.count::<B, LATENCY>(lanes, now);
    found
}

/// Gives the memory of a slot that has come back to the one that is handed over in its stead: it is still in the nearer
/// caches, however many slots there are.
#[inline]
fn lend(slots: &mut [Slot], back: u32, next: Option<u32>) {
    if let Some(next) = next
        && let Ok([back, next]) = slots.get_disjoint_mut([back as usize, next as usize])
    {
        back.swap_memory(next);
    }
}

/// Reads in flight, as a ring counts them.
fn count(reads: usize) -> u32 {
    u32::try_from(reads).unwrap_or(u32::MAX)
}

/// Reads of one lane that were handed over and have come back together: they have one latency.
#[derive(Debug, Default)]
struct Group {
    lane: u32,
    since: u64,
    reads: u64,
    bytes: u64,
}

impl Group {
    #[inline]
    fn count<B, const LATENCY: bool>(&self, lanes: &mut [Lane<'_, B>], now: u64) {
        if self.reads > 0 {
            let shift = &mut lanes[self.lane as usize].shift;
            shift.succeeded(self.reads, self.bytes);
            if LATENCY {
                shift.tally().latency.record_many(now.saturating_sub(self.since), self.reads);
            }
        }
    }
}

/// Time until the first of the lanes that wait for theirs may go on; `None` when none waits.
fn patience<B>(lanes: &[Lane<'_, B>], now: u64) -> Option<Duration> {
    lanes.iter().filter_map(|lane| lane.next_in(now)).min().map(|time| time.min(NAP))
}
