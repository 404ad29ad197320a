//! The loop of a ring's worker: hand reads over, wait for some, count them, again.
//!
//! Here: what happens once per read and once per batch. Compiled for every combination of pattern, registration and
//! latency, so that nothing is decided per read that could be decided before. Not here: making the ring
//! ([`super::ring`]), choosing batches ([`super::batching`]).
#![expect(unsafe_code, reason = "reads are handed to the kernel with the addresses they land at")]

use std::{io, os::fd::AsRawFd, time::Duration};

use io_uring::{Submitter, opcode, squeue, types};

use super::{
    LoadError,
    batching::Batching,
    blocks::{Blocks, Series},
    control::Phase,
    crew::{Assignment, Ready},
    pace::Pace,
    ring::{self, Rig},
    tally::{Failure, Shift, Tally},
};
use crate::{model::errno_words, text::Label};

/// A read that can be under way: its place in memory, and what it is about.
struct Slot {
    address: *mut u8,
    buffer: u16,
    length: u32,
    offset: u64,
    /// When it was handed over, nanoseconds of the run's clock.
    since: u64,
}

/// A limited worker looks around at least this often.
const NAP: Duration = Duration::from_millis(50);

/// The work of one thread.
pub(super) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), LoadError> {
    let Assignment { target, workload, control, epoch, tally, job, worker } = assignment;
    let mut rig = Rig::new(workload, target)?;
    let fixed_file = workload.register_files
        && ring::register_file(&rig.ring.submitter(), target, &mut rig.granted.fallbacks);
    if !ready.wait(rig.granted.clone()) {
        return Ok(());
    }
    let uncounted = Tally::new();
    let mut shift = Shift::new(control, *epoch, tally, &uncounted);
    let batching = match Series::new(workload, target.span, *job, *worker) {
        Series::Random(series) => choose(assignment, &mut rig, &mut shift, series, fixed_file),
        Series::RandomSplit(series) => choose(assignment, &mut rig, &mut shift, series, fixed_file),
        Series::Sequential(series) => choose(assignment, &mut rig, &mut shift, series, fixed_file),
        Series::SequentialSplit(series) => choose(assignment, &mut rig, &mut shift, series, fixed_file),
    };
    shift.close();
    tally.closing().batch = Some(batching.words());
    Ok(())
}

/// Goes to the loop compiled for what was granted.
fn choose<B: Blocks>(
    assignment: &Assignment,
    rig: &mut Rig,
    shift: &mut Shift<'_>,
    blocks: B,
    fixed_file: bool,
) -> Batching {
    let go = match (fixed_file, rig.fixed_buffers, assignment.workload.latency) {
        (true, true, true) => read::<B, true, true, true>,
        (true, true, false) => read::<B, true, true, false>,
        (true, false, true) => read::<B, true, false, true>,
        (true, false, false) => read::<B, true, false, false>,
        (false, true, true) => read::<B, false, true, true>,
        (false, true, false) => read::<B, false, true, false>,
        (false, false, true) => read::<B, false, false, true>,
        (false, false, false) => read::<B, false, false, false>,
    };
    go(assignment, rig, shift, blocks)
}

/// Reads until the run stops, the amount is read or the target is given up.
fn read<B: Blocks, const FILE: bool, const BUFFER: bool, const LATENCY: bool>(
    assignment: &Assignment,
    rig: &mut Rig,
    shift: &mut Shift<'_>,
    mut blocks: B,
) -> Batching {
    let Assignment { target, workload, epoch, .. } = assignment;
    let mut slots = slots(rig, workload.depth);
    let mut free: Vec<u16> = (0..u16::try_from(slots.len()).unwrap_or(u16::MAX)).rev().collect();
    let mut pace = Pace::new(workload, target.span.0, 1);
    let mut batching = Batching::new(workload);
    let mut given_up = false;
    let descriptor = target.file.as_raw_fd();
    let (mut submitter, mut submission, mut completion) = rig.ring.split();
    // Costs a lookup per call where it is refused (before 5.18), and changes nothing else.
    let _ = submitter.register_ring_fd();
    let mut now = epoch.elapsed();
    loop {
        if shift.is_stale() {
            shift.follow();
        }
        let goes = matches!(shift.phase(), Phase::Ramp | Phase::Count) && !given_up;
        let quota = if goes { pace.quota(now).min(free.len()).min(batching.submit()) } else { 0 };
        let mut bytes = 0;
        for index in free.drain(free.len() - quota..).rev() {
            let block = blocks.next();
            let slot = &mut slots[usize::from(index)];
            slot.offset = block.offset;
            slot.length = block.length;
            slot.since = now;
            bytes += u64::from(block.length);
            let entry = entry::<FILE, BUFFER>(slot, descriptor).user_data(u64::from(index));
            // SAFETY: the slot's memory is mapped for as long as the ring lives, and no other read under way uses it:
            // its number was on the free list. The queue has room, having as many entries as there are slots.
            let _ = unsafe { submission.push(&entry) };
        }
        pace.issued(quota as u64, bytes);
        submission.sync();
        let under_way = slots.len() - free.len();
        if under_way == 0 {
            match shift.phase() {
                Phase::Hold if !given_up => {
                    shift.wait();
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
        // With more to hand over than one call may, nothing is waited for until the depth is reached.
        let more = goes && quota == batching.submit() && !free.is_empty();
        let wait = if more { 0 } else { batching.wait(under_way) };
        let limited = goes && !more && pace.is_limited() && !free.is_empty();
        let patience = limited.then(|| pace.next_in(now).min(NAP));
        if let Err(error) = enter(&submitter, wait, patience) {
            shift.give_up(&Label::new(&format!("{} of io_uring_enter on {}", errno_of(&error), target.name)));
            break;
        }
        submission.sync();
        completion.sync();
        now = epoch.elapsed();
        let tally = shift.tally();
        let mut whole = 0_u64;
        let mut bytes = 0;
        for event in &mut completion {
            #[expect(clippy::cast_possible_truncation, reason = "the slot number put there")]
            let index = event.user_data() as u16;
            let slot = &slots[usize::from(index)];
            free.push(index);
            if event.result().cast_unsigned() == slot.length {
                whole += 1;
                bytes += u64::from(slot.length);
                if LATENCY {
                    tally.latency.record(now.saturating_sub(slot.since));
                }
            } else {
                given_up |= failed(shift, slot, event.result(), &target.name);
            }
        }
        // The kernel counts what it takes to be unread towards the next wait.
        completion.sync();
        if whole > 0 {
            shift.succeeded();
        }
        shift.totals.ios += whole;
        shift.totals.bytes += bytes;
        shift.totals.calls += 1;
        // Half way between handing over and looking again.
        let left = slots.len() - free.len();
        shift.totals.depth_sum += (under_way + left) as u64;
        if !more {
            batching.observe(under_way - left, under_way);
        }
        shift.publish();
    }
    batching
}

/// The reads of a depth, each with its piece of the buffers.
fn slots(rig: &Rig, depth: u32) -> Vec<Slot> {
    (0..depth as usize)
        .map(|index| Slot {
            address: rig.buffers.as_ptr().wrapping_add(index * rig.block),
            buffer: u16::try_from(index / rig.slots_per_buffer).unwrap_or(0),
            length: 0,
            offset: 0,
            since: 0,
        })
        .collect()
}

#[inline]
fn entry<const FILE: bool, const BUFFER: bool>(slot: &Slot, descriptor: i32) -> squeue::Entry {
    let Slot { address, buffer, length, offset, .. } = *slot;
    match (FILE, BUFFER) {
        (true, true) => {
            opcode::ReadFixed::new(types::Fixed(0), address, length, buffer).offset(offset).build()
        }
        (true, false) => opcode::Read::new(types::Fixed(0), address, length).offset(offset).build(),
        (false, true) => {
            opcode::ReadFixed::new(types::Fd(descriptor), address, length, buffer).offset(offset).build()
        }
        (false, false) => opcode::Read::new(types::Fd(descriptor), address, length).offset(offset).build(),
    }
}

/// Hands over what is queued and waits. What only means "look at the completions first" is no error.
#[inline]
pub(super) fn enter(submitter: &Submitter<'_>, wait: usize, patience: Option<Duration>) -> io::Result<()> {
    let result = match patience {
        None => submitter.submit_and_wait(wait),
        Some(most) => {
            let most = types::Timespec::from(most);
            submitter.submit_with_args(1, &types::SubmitArgs::new().timespec(&most))
        }
    };
    match result {
        Err(error)
            if !matches!(
                error.raw_os_error(),
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME)
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// A read that did not come back whole. Whether the target is to be given up.
#[cold]
fn failed(shift: &mut Shift<'_>, slot: &Slot, result: i32, target: &Label) -> bool {
    // Not the drive's fault: the block is read another time, another one first.
    if matches!(-result, libc::EAGAIN | libc::EINTR) {
        return false;
    }
    shift.failed(&Failure { offset: slot.offset, length: slot.length, result }, target)
}

fn errno_of(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), errno_words)
}
