//! What a ring's worker reads: lanes, one for each job it serves, and the slots of their reads.
//!
//! Here: [`Slot`], a read that can be under way; [`Queue`], the slots that can be
//! handed over; [`Lane`], one target's series, pace and account. Not here: the loop ([`super::worker`]).

use std::{io, mem, os::fd::AsRawFd, time::Duration};

use io_uring::{opcode, squeue, types};

use super::{
    blocks::{Block, Blocks},
    crew::Assignment,
    pace::Pace,
    ring::Rig,
    tally::{Failure, Shift, Tally},
};
use crate::{model::errno_words, text::Label};

/// A read that can be under way.
pub(super) struct Slot {
    block: Block,
    /// Its memory, and the number of the registration that holds it.
    address: *mut u8,
    buffer: u16,
    /// Number of its lane on its worker.
    pub lane: u32,
    /// Whether that lane is over.
    pub is_over: bool,
    /// When it was handed over: since before the call, or after it where timing is exact. Nanoseconds of the run's clock.
    pub since: u64,
}

impl Slot {
    /// Gives it a block to read.
    #[inline]
    pub(super) fn aim(&mut self, block: Block) {
        self.block = block;
    }

    /// Takes the memory of another one for its own.
    #[inline]
    pub(super) fn swap_memory(&mut self, other: &mut Self) {
        mem::swap(&mut self.address, &mut other.address);
        mem::swap(&mut self.buffer, &mut other.buffer);
    }

    /// What it reads.
    #[inline]
    pub(super) fn block(&self) -> Block {
        self.block
    }
}

/// The slots of `jobs` lanes, `depth` each, in the order of the lanes, each with its piece of the buffers.
pub(super) fn slots(rig: &Rig, jobs: usize, depth: u32) -> Vec<Slot> {
    let depth = depth as usize;
    let slot = |index: usize| Slot {
        block: Block { offset: 0, length: 0 },
        address: rig.landing.buffers.as_ptr().wrapping_add(index * rig.block),
        buffer: u16::try_from(index / rig.slots_per_buffer).unwrap_or(u16::MAX),
        lane: u32::try_from(index / depth).unwrap_or(u32::MAX),
        is_over: false,
        since: 0,
    };
    (0..jobs * depth).map(slot).collect()
}

/// How a ring addresses what a lane reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addressing {
    /// Descriptor of the target, or its number among the registered ones.
    file: types::Fd,
    flags: squeue::Flags,
    fixed_buffers: bool,
}

impl Addressing {
    /// Of job number `index` of a worker.
    pub(super) fn new(assignment: &Assignment, index: usize, fixed_files: bool, fixed_buffers: bool) -> Self {
        let (file, flags) = if fixed_files {
            (i32::try_from(index).unwrap_or(i32::MAX), squeue::Flags::FIXED_FILE)
        } else {
            (assignment.target.file.as_raw_fd(), squeue::Flags::empty())
        };
        Self { file: types::Fd(file), flags, fixed_buffers }
    }

    /// The submission entry of slot `number`.
    #[inline]
    pub(super) fn entry(self, slot: &Slot, number: u32) -> squeue::Entry {
        let Block { offset, length } = slot.block;
        let entry = if self.fixed_buffers {
            opcode::ReadFixed::new(self.file, slot.address, length, slot.buffer).offset(offset).build()
        } else {
            opcode::Read::new(self.file, slot.address, length).offset(offset).build()
        };
        entry.flags(self.flags).user_data(u64::from(number))
    }
}

/// Slots that can be handed over, first in, first out, so that no lane waits for another.
pub(super) struct Queue {
    /// Twice as many places as there are slots: those before `first` are used up.
    places: Box<[u32]>,
    first: usize,
    end: usize,
}

impl Queue {
    pub(super) fn new(slots: usize) -> Self {
        Self { places: vec![0; 2 * slots].into(), first: 0, end: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end - self.first
    }

    #[inline]
    pub(super) fn push(&mut self, slot: u32) {
        self.places[self.end] = slot;
        self.end += 1;
    }

    /// The one before which `before` others are handed over.
    #[inline]
    pub(super) fn place(&self, before: usize) -> Option<u32> {
        self.places[..self.end].get(self.first + before).copied()
    }

    /// Those that wait longest; no more than [`Self::len`].
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> &[u32] {
        let first = self.first;
        self.first += count;
        &self.places[first..self.first]
    }

    /// Makes room: after this, as many slots can be pushed as there are.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.first == self.end {
            (self.first, self.end) = (0, 0);
        } else if self.end > self.places.len() / 2 {
            self.places.copy_within(self.first..self.end, 0);
            (self.first, self.end) = (0, self.end - self.first);
        }
    }

    /// Takes out what `stays` refuses.
    fn retain(&mut self, stays: impl Fn(u32) -> bool) {
        let mut end = self.first;
        for place in self.first..self.end {
            if stays(self.places[place]) {
                self.places[end] = self.places[place];
                end += 1;
            }
        }
        self.end = end;
    }
}

/// One job on one target.
pub(super) struct Lane<'a, B> {
    pub addressing: Addressing,
    name: &'a Label,
    pub blocks: B,
    pub shift: Shift<'a>,
    pace: Pace,
    /// Slots that wait for their time, where there is a pace to keep.
    pub waiting: Vec<u32>,
    /// Its reads handed over and not back, where there is a pace to keep.
    under_way: usize,
    over: bool,
}

impl<'a, B: Blocks> Lane<'a, B> {
    pub(super) fn new(assignment: &'a Assignment, uncounted: &'a Tally, addressing: Addressing) -> Self {
        let Assignment { target, workload, control, epoch, tally, job, worker } = assignment;
        Self {
            addressing,
            name: &target.name,
            blocks: B::new(workload, target.span, *job, *worker),
            shift: Shift::new(control, *epoch, tally, uncounted).of_lane(),
            pace: Pace::new(workload, target.span.0, 1),
            waiting: Vec::new(),
            under_way: 0,
            over: false,
        }
    }

    /// Puts into `queue` what the pace allows at `now`, and chooses the blocks.
    pub(super) fn admit(&mut self, now: u64, slots: &mut [Slot], queue: &mut Queue) {
        if self.over {
            return;
        }
        for _ in 0..self.pace.quota(now).min(self.waiting.len()) {
            let Some(index) = self.waiting.pop() else { break };
            let block = self.blocks.next();
            self.pace.issued(1, u64::from(block.length));
            slots[index as usize].aim(block);
            self.under_way += 1;
            queue.push(index);
        }
        if self.under_way == 0 && self.pace.is_exhausted() {
            self.end();
        }
    }
}

impl<B> Lane<'_, B> {
    /// Whether it is going to read on.
    #[inline]
    pub(super) fn is_alive(&self) -> bool {
        !self.over
    }

    /// Goes over to the present phase.
    pub(super) fn follow(&mut self) {
        if !self.over {
            self.shift.follow();
        }
    }

    /// After a hold.
    pub(super) fn go_on(&mut self) {
        self.follow();
        self.pace.restart();
    }

    /// A slot of it came back, where there is a pace to keep.
    #[inline]
    pub(super) fn returned(&mut self, slot: u32) {
        self.under_way -= 1;
        self.waiting.push(slot);
    }

    /// Time until its next read, if it waits for that.
    pub(super) fn next_in(&self, now: u64) -> Option<Duration> {
        let waits = !self.over && self.pace.is_limited() && !self.waiting.is_empty();
        waits.then(|| self.pace.next_in(now))
    }

    /// A read of it did not come back whole. Whether it is given up for that.
    #[cold]
    pub(super) fn failed(&mut self, slot: &Slot, result: i32) -> bool {
        // Not the drive's fault: the block is read another time, another one first.
        if self.over || matches!(-result, libc::EAGAIN | libc::EINTR) {
            return false;
        }
        let Block { offset, length } = slot.block();
        if self.shift.failed(&Failure { offset, length, result }, self.name) {
            self.end();
        }
        self.over
    }

    fn end(&mut self) {
        self.over = true;
        self.shift.close();
    }
}

/// The kernel refused a call: none of the targets can be read on.
pub(super) fn give_up<B>(lanes: &mut [Lane<'_, B>], error: &io::Error) {
    let errno = error.raw_os_error().map_or_else(|| error.to_string(), errno_words);
    for lane in lanes.iter_mut().filter(|lane| lane.is_alive()) {
        lane.shift.give_up(&Label::new(&format!("{errno} of io_uring_enter on {}", lane.name)));
    }
}

/// Takes the slots of a lane that is over out of the queue, and keeps those under way from coming back to it.
#[cold]
pub(super) fn forget(queue: &mut Queue, slots: &mut [Slot], lane: u32) {
    slots.iter_mut().filter(|slot| slot.lane == lane).for_each(|slot| slot.is_over = true);
    queue.retain(|slot| !slots[slot as usize].is_over);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_leave_the_queue_in_the_order_they_came(steps in proptest::collection::vec(any::<bool>(), 0..200)) {
            let mut queue = Queue::new(13);
            let (mut next, mut out) = (0, 0);
            for push in steps {
                queue.settle();
                if push && queue.len() < 13 {
                    queue.push(next);
                    next += 1;
                } else if queue.len() > 0 {
                    prop_assert_eq!(queue.take(1), [out]);
                    out += 1;
                }
            }
            prop_assert_eq!(queue.len(), (next - out) as usize);
            queue.retain(|slot| slot % 2 == 1);
            let left = queue.len();
            prop_assert_eq!(queue.take(left), (out..next).filter(|slot| slot % 2 == 1).collect::<Vec<_>>());
        }
    }

    const BLOCK: Block = Block { offset: 0x1234_5678_9000, length: 65536 };
    const ANOTHER: Block = Block { offset: 0x9000, length: 4096 };

    fn slot(block: Block, address: usize, buffer: u16) -> Slot {
        let address = std::ptr::without_provenance_mut(address);
        Slot { block, address, buffer, lane: 0, is_over: false, since: 0 }
    }

    #[test]
    fn two_slots_that_change_memory_change_nothing_else() {
        let (mut one, mut other) = (slot(BLOCK, 0x1000, 7), slot(ANOTHER, 0x2000, 8));
        one.swap_memory(&mut other);
        let parts = |slot: &Slot| (slot.block(), slot.address.addr(), slot.buffer);
        assert_eq!((parts(&one), parts(&other)), ((BLOCK, 0x2000, 8), (ANOTHER, 0x1000, 7)));
    }
}
