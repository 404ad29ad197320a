//! Jobs of an io_uring worker, and their requests in flight.

use std::{io, mem, os::fd::AsRawFd, time::Duration};

use io_uring::{opcode, squeue, types};

use crate::engine::{
    offset_generator::{Block, OffsetGenerator},
    rate_limit::RateLimit,
    ring::RingSetup,
    stats::worker_stats::WorkerStats,
    workers::Assignment,
    workers::phase_tracker::{Failure, PhaseTracker},
};
use crate::{
    model::{Workload, error_words},
    text::Label,
};

/// A read that can be in flight.
pub(crate) struct Request {
    block: Block,
    /// Its memory, and the number of the registered buffer that holds it.
    address: *mut u8,
    buffer: u16,
    /// Number of its job on its worker.
    pub job: u32,
    /// Whether that job is over.
    pub is_over: bool,
    /// When it was submitted: before the call, or after it with exact timing. Nanoseconds of the run's clock.
    pub since: u64,
}

impl Request {
    #[inline]
    pub(crate) fn aim(&mut self, block: Block) {
        self.block = block;
    }

    #[inline]
    pub(crate) fn swap_memory(&mut self, other: &mut Self) {
        mem::swap(&mut self.address, &mut other.address);
        mem::swap(&mut self.buffer, &mut other.buffer);
    }

    #[inline]
    pub(crate) fn block(&self) -> Block {
        self.block
    }
}

/// The requests of all jobs, `depth` each, in the order of the jobs, each with its piece of the buffers.
pub(crate) fn requests(setup: &RingSetup, jobs: usize, depth: u32) -> Vec<Request> {
    let depth = depth as usize;
    let request = |index: usize| Request {
        block: Block { offset: 0, length: 0 },
        address: setup.guarded.buffers.as_ptr().wrapping_add(index * setup.block),
        buffer: u16::try_from(setup.slots_per_buffer.map_or(0, |slots| index / slots)).unwrap_or(u16::MAX),
        job: u32::try_from(index / depth).unwrap_or(u32::MAX),
        is_over: false,
        since: 0,
    };
    (0..jobs * depth).map(request).collect()
}

/// A job's target and buffers, as submission entries name them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addressing {
    /// Descriptor of the target, or its number among the registered ones.
    file: types::Fd,
    flags: squeue::Flags,
    fixed_buffers: bool,
    /// `RWF_` flags of every read.
    rw_flags: i32,
}

impl Addressing {
    /// Of job number `index` of a worker.
    pub(crate) fn new(assignment: &Assignment, index: usize, fixed_files: bool, fixed_buffers: bool) -> Self {
        let (file, flags) = if fixed_files {
            (i32::try_from(index).unwrap_or(i32::MAX), squeue::Flags::FIXED_FILE)
        } else {
            (assignment.target.file.as_raw_fd(), squeue::Flags::empty())
        };
        Self { file: types::Fd(file), flags, fixed_buffers, rw_flags: dont_cache(&assignment.workload) }
    }

    /// The submission entry of request `number`.
    #[inline]
    pub(crate) fn entry(self, request: &Request, number: u32) -> squeue::Entry {
        let Block { offset, length } = request.block;
        let entry = if self.fixed_buffers {
            opcode::ReadFixed::new(self.file, request.address, length, request.buffer)
                .offset(offset)
                .rw_flags(self.rw_flags)
                .build()
        } else {
            opcode::Read::new(self.file, request.address, length)
                .offset(offset)
                .rw_flags(self.rw_flags)
                .build()
        };
        entry.flags(self.flags).user_data(u64::from(number))
    }
}

/// The flags of uncached reads.
const fn dont_cache(workload: &Workload) -> i32 {
    if workload.uncached { libc::RWF_DONTCACHE } else { 0 }
}

/// Requests that can be submitted, first in, first out, so that no job delays another.
pub(crate) struct FreeList {
    /// Twice as many places as there are requests: those before `first` are used up.
    places: Box<[u32]>,
    first: usize,
    end: usize,
}

impl FreeList {
    pub(crate) fn new(requests: usize) -> Self {
        Self { places: vec![0; 2 * requests].into(), first: 0, end: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first
    }

    #[inline]
    pub(crate) fn push(&mut self, request: u32) {
        self.places[self.end] = request;
        self.end += 1;
    }

    /// The request after `before` others.
    #[inline]
    pub(crate) fn place(&self, before: usize) -> Option<u32> {
        self.places[..self.end].get(self.first + before).copied()
    }

    /// The `count` oldest; no more than [`Self::len`].
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &[u32] {
        let first = self.first;
        self.first += count;
        &self.places[first..self.first]
    }

    /// Makes room to push all requests that are not in the list.
    #[inline]
    pub(crate) fn settle(&mut self) {
        if self.first == self.end {
            (self.first, self.end) = (0, 0);
        } else if self.end > self.places.len() / 2 {
            self.places.copy_within(self.first..self.end, 0);
            (self.first, self.end) = (0, self.end - self.first);
        }
    }

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
pub(crate) struct Job<'a> {
    pub addressing: Addressing,
    name: &'a Label,
    pub offsets: OffsetGenerator,
    pub tracker: PhaseTracker<'a>,
    limit: RateLimit,
    /// Free requests that wait for the rate limit.
    pub waiting: Vec<u32>,
    /// Its reads in flight, counted with a rate limit only.
    in_flight: usize,
    over: bool,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        assignment: &'a Assignment,
        uncounted: &'a WorkerStats,
        addressing: Addressing,
    ) -> Self {
        let Assignment { target, workload, control, epoch, stats, job, worker } = assignment;
        Self {
            addressing,
            name: &target.name,
            offsets: OffsetGenerator::new(workload, target.span, *job, *worker),
            tracker: PhaseTracker::new(control, *epoch, stats, uncounted).of_job(),
            limit: RateLimit::new(workload, target.span.0, 1),
            waiting: Vec::new(),
            in_flight: 0,
            over: false,
        }
    }

    /// Moves the requests that the rate limit allows at `now` to `free`, with their blocks.
    pub(crate) fn admit(&mut self, now: u64, requests: &mut [Request], free: &mut FreeList) {
        if self.over {
            return;
        }
        for _ in 0..self.limit.quota(now).min(self.waiting.len()) {
            let Some(index) = self.waiting.pop() else { break };
            let block = self.offsets.next();
            self.limit.issued(1, u64::from(block.length));
            requests[index as usize].aim(block);
            self.in_flight += 1;
            free.push(index);
        }
        if self.in_flight == 0 && self.limit.is_exhausted() {
            self.end();
        }
    }

    #[inline]
    pub(crate) fn is_alive(&self) -> bool {
        !self.over
    }

    /// Enters the current phase; what the rate limit owes is not caught up in it.
    pub(crate) fn follow(&mut self) {
        if !self.over {
            self.tracker.follow();
            self.limit.restart();
        }
    }

    /// A request of it completed, with a rate limit.
    #[inline]
    pub(crate) fn completed(&mut self, request: u32) {
        self.in_flight -= 1;
        self.waiting.push(request);
    }

    /// Time until its next read, if one waits for the rate limit.
    pub(crate) fn next_in(&self, now: u64) -> Option<Duration> {
        let waits = !self.over && self.limit.is_limited() && !self.waiting.is_empty();
        waits.then(|| self.limit.next_in(now))
    }

    /// A read failed or was short. Whether the job is over.
    #[cold]
    pub(crate) fn failed(&mut self, request: &Request, result: i32) -> bool {
        // No error of the drive: another block is read next.
        if self.over || matches!(-result, libc::EAGAIN | libc::EINTR) {
            return false;
        }
        let Block { offset, length } = request.block();
        if self.tracker.failed(&Failure { offset, length, result }, self.name) {
            self.end();
        }
        self.over
    }

    fn end(&mut self) {
        self.over = true;
        self.tracker.close();
    }
}

/// Ends all jobs after an error of `io_uring_enter`.
pub(crate) fn give_up(jobs: &mut [Job<'_>], error: &io::Error) {
    let (errno, words) = (error.raw_os_error().unwrap_or(libc::EIO), error_words(error));
    for job in jobs.iter_mut().filter(|job| job.is_alive()) {
        job.tracker.give_up(errno, &format!("io_uring_enter failed with {words} on {}", job.name));
    }
}

/// Removes the requests of a job that is over from the free list, also those still in flight.
#[cold]
pub(crate) fn forget(free: &mut FreeList, requests: &mut [Request], job: u32) {
    requests.iter_mut().filter(|request| request.job == job).for_each(|request| request.is_over = true);
    free.retain(|request| !requests[request as usize].is_over);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn requests_leave_the_free_list_in_the_order_they_came(steps in proptest::collection::vec(any::<bool>(), 0..200)) {
            let mut free = FreeList::new(13);
            let (mut next, mut out) = (0, 0);
            for push in steps {
                free.settle();
                if push && free.len() < 13 {
                    free.push(next);
                    next += 1;
                } else if free.len() > 0 {
                    prop_assert_eq!(free.take(1), [out]);
                    out += 1;
                }
            }
            prop_assert_eq!(free.len(), (next - out) as usize);
            free.retain(|request| request % 2 == 1);
            let left = free.len();
            prop_assert_eq!(free.take(left), (out..next).filter(|request| request % 2 == 1).collect::<Vec<_>>());
        }
    }

    const BLOCK: Block = Block { offset: 0x1234_5678_9000, length: 65536 };
    const ANOTHER: Block = Block { offset: 0x9000, length: 4096 };

    fn request(block: Block, address: usize, buffer: u16) -> Request {
        let address = std::ptr::without_provenance_mut(address);
        Request { block, address, buffer, job: 0, is_over: false, since: 0 }
    }

    #[test]
    fn requests_that_swap_memory_keep_their_blocks() {
        let (mut one, mut other) = (request(BLOCK, 0x1000, 7), request(ANOTHER, 0x2000, 8));
        one.swap_memory(&mut other);
        let parts = |request: &Request| (request.block(), request.address.addr(), request.buffer);
        assert_eq!((parts(&one), parts(&other)), ((BLOCK, 0x2000, 8), (ANOTHER, 0x1000, 7)));
    }
}
