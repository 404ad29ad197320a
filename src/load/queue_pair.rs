//! The submission and the completion queue of a ring, in the memory that the kernel shares (`io_uring_setup(2)`).
//!
//! Here: putting entries in, taking completions out. What a slot left in its place is still there when it comes to that
//! place again, which it does as long as completions come back in order: then only what has changed since is written. A
//! line that is written here and read by the kernel, at another address, costs both more than one that only the kernel
//! reads: a bare loop of no-ops on an AMD EPYC took 62 to 65 ns each instead of 79, the worker's on an Intel Xeon 0.6 % less.
//! Not here: the system call ([`super::door`]), what the entries say ([`super::lanes`]).
#![expect(unsafe_code, reason = "memory shared with the kernel, laid out as it says")]

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd},
    ptr, slice,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use io_uring::{IoUring, Parameters, cqueue, squeue};
use rustix::{
    io_uring::{IORING_OFF_SQ_RING, IORING_OFF_SQES, io_uring_params},
    mm::{self, MapFlags, ProtFlags},
};

/// Both queues of one ring.
#[derive(Debug)]
pub(super) struct QueuePair {
    /// Heads, tails and completions.
    rings: Shared,
    entries: Shared,
    parameters: io_uring_params,
}

/// Memory of a ring; it lives for as long as it is mapped.
#[derive(Debug)]
struct Shared {
    start: *mut u8,
    length: usize,
}

/// A submission queue's entry: the kernel's `struct io_uring_sqe` (`include/uapi/linux/io_uring.h`), with names for what is
/// different from read to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Entry {
    pub operation: u8,
    rest_of_operation: [u8; 7],
    pub offset: u64,
    pub address: u64,
    pub length: u32,
    pub flags: u32,
    pub user_data: u64,
    pub buffer: u16,
    rest: [u16; 11],
}
const _: () = assert!(size_of::<squeue::Entry>() == size_of::<Entry>());
const _: () = assert!(align_of::<squeue::Entry>() == align_of::<Entry>());

impl From<squeue::Entry> for Entry {
    fn from(entry: squeue::Entry) -> Self {
        // SAFETY: both are the kernel's structure, of integers alone, equal in size.
        unsafe { mem::transmute(entry) }
    }
}

/// The end at which reads are handed over.
pub(super) struct Submissions<'a> {
    head: &'a AtomicU32,
    tail: &'a AtomicU32,
    entries: &'a mut [Entry],
    /// The slot that was the last to put its entry into each place.
    slots: Box<[u32]>,
    /// Where the next entry goes, but for the wrapping.
    next: u32,
}

/// The end at which they come back.
pub(super) struct Completions<'a> {
    head: &'a AtomicU32,
    tail: &'a AtomicU32,
    entries: *const cqueue::Entry,
    mask: u32,
    /// The first that was not taken, and the one after the last that was seen, but for the wrapping.
    next: u32,
    end: u32,
}

/// How far the kernel is with the entries of a ring.
#[derive(Debug)]
pub(super) struct Progress {
    rings: Shared,
    /// Where the counters of entries submitted and of completions posted are.
    submitted: u32,
    posted: u32,
}

const _: () = assert!(size_of::<Parameters>() == size_of::<io_uring_params>());

impl Progress {
    /// Of `ring`, in a mapping of its own. ENOSYS before Linux 5.4, which keeps the two queues in separate pieces.
    pub(super) fn new<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
        ring: &IoUring<S, C>,
    ) -> io::Result<Self> {
        let io_uring_params { sq_off, cq_off, .. } = parameters(ring.params())?;
        // A thread of the kernel's may take what was published at any time.
        let submitted = if ring.params().is_setup_sqpoll() { sq_off.tail } else { sq_off.head };
        // The counters precede the completions.
        let rings = Shared::new(ring, IORING_OFF_SQ_RING, cq_off.cqes as usize)?;
        Ok(Self { rings, submitted, posted: cq_off.tail })
    }

    /// Entries submitted less completions posted: each read has one of either, and more completions fit than reads.
    pub(super) fn in_flight(&self) -> u32 {
        let [submitted, posted] =
            [self.submitted, self.posted].map(|at| self.rings.counter(at).load(Acquire));
        submitted.wrapping_sub(posted)
    }
}

/// A ring's parameters, with the places of its counters, which the io-uring crate keeps to itself.
fn parameters(parameters: &Parameters) -> io::Result<io_uring_params> {
    if !parameters.is_feature_single_mmap() {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    // SAFETY: both are the kernel's structure, of integers and addresses that nobody follows, equal in size.
    Ok(unsafe { mem::transmute::<Parameters, io_uring_params>(parameters.clone()) })
}

impl QueuePair {
    /// Of `ring`, in mappings of its own. ENOSYS before Linux 5.4, which keeps the two in separate pieces.
    pub(super) fn new(ring: &IoUring) -> io::Result<Self> {
        let parameters = parameters(ring.params())?;
        let completions = parameters.cq_entries as usize * size_of::<cqueue::Entry>();
        let submissions = parameters.sq_entries as usize * size_of::<Entry>();
        Ok(Self {
            rings: Shared::new(ring, IORING_OFF_SQ_RING, parameters.cq_off.cqes as usize + completions)?,
            entries: Shared::new(ring, IORING_OFF_SQES, submissions)?,
            parameters,
        })
    }

    /// Its two ends. Nobody else may use the queues of the ring meanwhile.
    pub(super) fn split(&mut self) -> (Submissions<'_>, Completions<'_>) {
        let io_uring_params { sq_entries, cq_entries, sq_off, cq_off, .. } = self.parameters;
        let counter = |offset| self.rings.counter(offset);
        let (tail, head) = (counter(sq_off.tail), counter(cq_off.head));
        let submissions = Submissions {
            head: counter(sq_off.head),
            tail,
            // SAFETY: so many are mapped, zeroed when the ring was made; the kernel only reads them.
            entries: unsafe { slice::from_raw_parts_mut(self.entries.start.cast(), sq_entries as usize) },
            slots: vec![u32::MAX; sq_entries as usize].into(),
            next: tail.load(Relaxed),
        };
        let completions = Completions {
            head,
            tail: counter(cq_off.tail),
            entries: self.rings.at(cq_off.cqes).cast(),
            mask: cq_entries - 1,
            next: head.load(Relaxed),
            end: head.load(Relaxed),
        };
        (submissions, completions)
    }
}

impl Shared {
    fn new(ring: &impl AsRawFd, offset: u64, length: usize) -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a descriptor that is open as long as `ring` lives.
        let ring = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mm::mmap(ptr::null_mut(), length, access, flags, ring, offset) }?;
        Ok(Self { start: start.cast(), length })
    }

    /// The counter that the kernel says is `offset` bytes in.
    fn counter(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: 32 bits of the mapping, aligned, which the kernel accesses atomically as well.
        unsafe { AtomicU32::from_ptr(self.at(offset).cast()) }
    }

    /// The address `offset` bytes in.
    fn at(&self, offset: u32) -> *mut u8 {
        self.start.wrapping_add(offset as usize)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`, not used after this.
        let _ = unsafe { mm::munmap(self.start.cast(), self.length) };
    }
}

impl Submissions<'_> {
    /// The next place in line, for the entry of `slot`, and whether what that slot put there last is there still.
    #[inline]
    pub(super) fn place(&mut self, slot: u32) -> (&mut Entry, bool) {
        // Their number is a power of two.
        let place = self.next as usize & (self.entries.len() - 1);
        self.next = self.next.wrapping_add(1);
        // SAFETY: a number below that of the entries, and there are as many slots.
        let (entry, last) =
            unsafe { (self.entries.get_unchecked_mut(place), self.slots.get_unchecked_mut(place)) };
        (entry, mem::replace(last, slot) == slot)
    }

    /// Makes the entries visible to the kernel.
    ///
    /// # Safety
    /// Each place given out since the last time holds an entry, and what it points at lives for as long as the ring. No more
    /// are under way than there are places.
    #[inline]
    pub(super) unsafe fn publish(&self) {
        self.tail.store(self.next, Release);
    }

    /// How many the kernel has not taken yet.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.next.wrapping_sub(self.head.load(Acquire)) as usize
    }
}

impl Completions<'_> {
    /// Looks for new ones.
    #[inline]
    pub(super) fn look(&mut self) {
        self.end = self.tail.load(Acquire);
    }

    /// Gives the places of those that were taken back to the kernel, which counts what it takes to be unread towards the
    /// next wait.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.head.store(self.next, Release);
    }
}

impl Iterator for Completions<'_> {
    /// The data of the entry, and what came of it.
    type Item = (u64, i32);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        // SAFETY: the kernel has written the entries before `end`, and leaves them alone until they are given back.
        let entry = unsafe { &*self.entries.add((self.next & self.mask) as usize) };
        self.next = self.next.wrapping_add(1);
        Some((entry.user_data(), entry.result()))
    }
}

#[cfg(test)]
mod tests {
    use io_uring::opcode;

    use super::*;

    #[test]
    fn what_is_put_in_comes_out_in_order_and_places_come_round() {
        let ring = IoUring::new(4).unwrap();
        let mut pair = QueuePair::new(&ring).unwrap();
        let (mut submissions, mut completions) = pair.split();
        let mut seen = Vec::new();
        for batch in 0..5 {
            for slot in 0..3 {
                let (entry, _) = submissions.place(slot);
                *entry = opcode::Nop::new().build().user_data(10 * batch + u64::from(slot)).into();
            }
            assert_eq!(completions.by_ref().count(), 0);
            // SAFETY: no-ops touch nothing.
            unsafe { submissions.publish() };
            assert_eq!(submissions.queued(), 3);
            ring.submitter().submit_and_wait(3).unwrap();
            assert_eq!(submissions.queued(), 0);
            completions.look();
            seen.extend(completions.by_ref());
            completions.give_back();
        }
        let all: Vec<_> = (0..5).flat_map(|batch| (0..3).map(move |slot| (10 * batch + slot, 0))).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn a_slot_is_told_whether_its_entry_is_still_where_it_left_it() {
        let ring = IoUring::new(2).unwrap();
        let mut pair = QueuePair::new(&ring).unwrap();
        let (mut submissions, _) = pair.split();
        let found: Vec<bool> = [7, 8, 7, 9, 8, 9].into_iter().map(|slot| submissions.place(slot).1).collect();
        assert_eq!(found, [false, false, true, false, false, true]);
        submissions.place(8).0.user_data = 42;
        submissions.place(9);
        let (entry, is_there) = submissions.place(8);
        assert!(is_there);
        assert_eq!(entry.user_data, 42);
    }

    #[test]
    fn the_ring_goes_on_where_others_left_off() {
        let mut ring = IoUring::new(2).unwrap();
        // SAFETY: a no-op touches nothing.
        unsafe { ring.submission().push(&opcode::Nop::new().build().user_data(1)) }.unwrap();
        ring.submit_and_wait(1).unwrap();
        assert_eq!(ring.completion().count(), 1);
        let mut pair = QueuePair::new(&ring).unwrap();
        let (mut submissions, mut completions) = pair.split();
        *submissions.place(0).0 = opcode::Nop::new().build().user_data(2).into();
        // SAFETY: as above.
        unsafe { submissions.publish() };
        ring.submitter().submit_and_wait(1).unwrap();
        completions.look();
        assert_eq!(completions.collect::<Vec<_>>(), [(2, 0)]);
    }
}
