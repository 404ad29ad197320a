//! A ring with its buffers: the buffers are unmapped only when no read is in flight.

use std::{io, thread, time::Duration};

use io_uring::{
    IoUring, cqueue, squeue,
    types::{CancelBuilder, Timespec},
};

use crate::engine::{clock, memory::Mapping, ring::enter::enter};

/// Reads in flight, and how to end them.
pub(crate) trait Drain {
    /// Reads submitted and not completed.
    fn in_flight(&mut self) -> u32;

    /// Cancels reads; those that a drive has started complete anyway.
    fn cancel(&self) -> io::Result<()>;

    /// Lets the kernel post completions, deferred or polled ones too.
    fn look(&self) -> io::Result<()>;
}

/// Longest wait for reads in flight after the run has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// First and longest sleep between two checks.
const NAPS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(20));

const CANCELLING: Duration = Duration::from_millis(100);

/// A ring and its buffers. Dropped in this order, after the last read; buffers with a read in flight are leaked.
pub(crate) struct GuardedRing<F: Drain> {
    pub ring: F,
    pub buffers: Mapping,
    patience: Duration,
    closed: bool,
}

impl<F: Drain> GuardedRing<F> {
    pub(crate) fn new(ring: F, buffers: Mapping) -> Self {
        Self { ring, buffers, patience: PATIENCE, closed: false }
    }

    /// Cancels and waits until no read is in flight. If some never complete, leaks their buffers and returns a sentence.
    pub(crate) fn close(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.closed, true) {
            return None;
        }
        let left = drain(&mut self.ring, self.patience);
        (left > 0).then(|| {
            self.buffers.leak();
            format!(
                "{left} {} in flight {} s after the run failed: their buffers stay mapped until iodyno exits",
                if left == 1 { "read was" } else { "reads were" },
                self.patience.as_secs()
            )
        })
    }
}

impl<F: Drain> Drop for GuardedRing<F> {
    fn drop(&mut self) {
        // Without `close` only after a panic, when there is no result for the sentence.
        let _ = self.close();
    }
}

/// Cancels and waits. Returns the reads left after `patience`.
fn drain(flight: &mut impl Drain, patience: Duration) -> u32 {
    if flight.in_flight() == 0 {
        return 0;
    }
    // Refused before Linux 6.0: then reads complete by themselves or never.
    let _ = flight.cancel();
    let end = clock::now() + patience;
    let mut nap = NAPS.0;
    loop {
        // If the call fails, completions may still arrive.
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
pub(crate) struct CountedRing<S: squeue::EntryMarker = squeue::Entry, C: cqueue::EntryMarker = cqueue::Entry>
{
    pub ring: IoUring<S, C>,
    /// Reads queued and not reaped: raised before queueing, lowered after reaping.
    pub pending: u32,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> CountedRing<S, C> {
    pub(crate) fn new(ring: IoUring<S, C>) -> Self {
        Self { ring, pending: 0 }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drain for CountedRing<S, C> {
    fn in_flight(&mut self) -> u32 {
        // The kernel's submitting thread may take queued entries at any time.
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
