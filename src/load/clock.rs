//! The clock of workers: nanoseconds since a moment they share.

use std::time::{Duration, Instant};

/// A moment that all workers of a run count from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(Instant);

impl Epoch {
    pub(super) fn new() -> Self {
        Self(now())
    }

    /// Nanoseconds since then. 584 years fit.
    #[inline]
    pub(super) fn elapsed(self) -> u64 {
        nanoseconds(now().duration_since(self.0))
    }
}

/// The monotonic clock.
#[inline]
#[expect(clippy::disallowed_methods, reason = "workers time what they do")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// A duration in nanoseconds, in 64 bits.
#[inline]
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}

/// CPU time of the calling thread so far, nanoseconds.
pub(super) fn of_this_thread() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
