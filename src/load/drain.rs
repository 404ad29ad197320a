//! A ring with the memory that its reads land in: the memory goes only when no read is in flight.
//!
//! Closing a ring does not wait for its reads, and a ring that a thread registered outlives its descriptor. A read that the
//! kernel still has then writes to whatever is mapped at that address next.

use std::{io, thread, time::Duration};

use io_uring::{
    IoUring, cqueue, squeue,
    types::{CancelBuilder, Timespec},
};

use super::{clock, door::enter, memory::Mapping};

/// Reads in flight, and what can be done to end them.
pub(super) trait Flight {
    /// Reads that the kernel has and has not completed.
    fn in_flight(&mut self) -> u32;

    /// Cancels those that wait for something; a drive completes what it has been given.
    fn cancel(&self) -> io::Result<()>;

    /// Lets the kernel post completions: of rings that defer them, or poll for them.
    fn look(&self) -> io::Result<()>;
}

/// Time that reads in flight have to complete after the run has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks, the first time and at most.
const NAPS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(20));

/// What a cancellation may take.
const CANCELLING: Duration = Duration::from_millis(100);

/// A ring and its buffers. Dropped in this order, after the last read; buffers with a read in flight are leaked.
pub(super) struct Landing<F: Flight> {
    pub ring: F,
    pub buffers: Mapping,
    patience: Duration,
    closed: bool,
}

impl<F: Flight> Landing<F> {
    pub(super) fn new(ring: F, buffers: Mapping) -> Self {
        Self { ring, buffers, patience: PATIENCE, closed: false }
    }

    /// Cancels and waits until no read is in flight; a sentence when some are for too long, whose buffers are leaked then.
    pub(super) fn close(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.closed, true) {
            return None;
        }
        let left = drain(&mut self.ring, self.patience);
        (left > 0).then(|| {
            self.buffers.leak();
            format!(
                "{left} reads were still in flight {} s after the run failed: their buffers stay mapped until iodyno ends",
                self.patience.as_secs()
            )
        })
    }
}

impl<F: Flight> Drop for Landing<F> {
    fn drop(&mut self) {
        // A panic is on its way; there is no result that the sentence could stand in.
        let _ = self.close();
    }
}

/// Ends what is in flight: how many reads are left after `patience`.
fn drain(flight: &mut impl Flight, patience: Duration) -> u32 {
    if flight.in_flight() == 0 {
        return 0;
    }
    // Refused before Linux 6.0: then every read completes by itself, or not at all.
    let _ = flight.cancel();
    let end = clock::now() + patience;
    let mut nap = NAPS.0;
    loop {
        // Where the call fails, completions that need none still arrive.
        let _ = flight.look();
        let left = flight.in_flight();
        if left == 0 || clock::now() >= end {
            return left;
        }
        thread::sleep(nap);
        nap = (2 * nap).min(NAPS.1);
    }
}

/// A ring of the calling thread.
pub(super) struct Ring<S: squeue::EntryMarker = squeue::Entry, C: cqueue::EntryMarker = cqueue::Entry> {
    pub ring: IoUring<S, C>,
    /// Reads put into the submission queue whose completions were not taken: set before the first, lowered after the second.
    pub pending: u32,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    pub(super) fn new(ring: IoUring<S, C>) -> Self {
        Self { ring, pending: 0 }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Flight for Ring<S, C> {
    fn in_flight(&mut self) -> u32 {
        // A thread of the kernel's may take what is queued at any time.
        let queued = if self.ring.params().is_setup_sqpoll() { 0 } else { self.ring.submission().len() };
        let posted = self.ring.completion().len();
        self.pending.saturating_sub(u32::try_from(queued + posted).unwrap_or(u32::MAX))
    }

    fn cancel(&self) -> io::Result<()> {
        let time = Some(Timespec::from(CANCELLING));
        self.ring.submitter().register_sync_cancel(time, CancelBuilder::any())
    }

    fn look(&self) -> io::Result<()> {
        enter(&self.ring.submitter(), 0, Some(0), None)
    }
}

#[cfg(test)]
mod tests;
