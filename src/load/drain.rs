//! A ring with the memory that its reads land in: the memory goes only when no read is in flight.
//!
//! Closing a ring does not wait for its reads, and a ring that a thread registered outlives its descriptor. A read that the
//! kernel still has then writes to whatever is mapped at that address next.

use std::{
    io,
    ops::{Deref, DerefMut},
    thread,
    time::Duration,
};

use io_uring::{
    IoUring, cqueue, squeue,
    types::{CancelBuilder, Timespec},
};

use super::{clock, door::Door, memory::Mapping, queue_pair::Progress};

/// Reads in flight, and what can be done to end them.
pub(super) trait Flight {
    /// Reads that the kernel has and has not completed.
    fn in_flight(&self) -> u32;

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
        let left = drain(&self.ring, self.patience);
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
fn drain(flight: &impl Flight, patience: Duration) -> u32 {
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

/// A ring of the calling thread, with its counters.
pub(super) struct Ring<S: squeue::EntryMarker = squeue::Entry, C: cqueue::EntryMarker = cqueue::Entry> {
    ring: IoUring<S, C>,
    progress: Progress,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// # Errors
    /// ENOSYS before Linux 5.4, or when its counters cannot be mapped.
    pub(super) fn new(ring: IoUring<S, C>) -> io::Result<Self> {
        let progress = Progress::new(&ring)?;
        Ok(Self { ring, progress })
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Deref for Ring<S, C> {
    type Target = IoUring<S, C>;

    fn deref(&self) -> &IoUring<S, C> {
        &self.ring
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> DerefMut for Ring<S, C> {
    fn deref_mut(&mut self) -> &mut IoUring<S, C> {
        &mut self.ring
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Flight for Ring<S, C> {
    fn in_flight(&self) -> u32 {
        self.progress.in_flight()
    }

    fn cancel(&self) -> io::Result<()> {
        let time = Some(Timespec::from(CANCELLING));
        self.ring.submitter().register_sync_cancel(time, CancelBuilder::any())
    }

    fn look(&self) -> io::Result<()> {
        Door::new(&self.ring).enter(&self.ring.submitter(), 0, Some(0), None)
    }
}

#[cfg(test)]
mod tests;
