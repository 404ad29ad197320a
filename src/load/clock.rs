//! The clock of workers: nanoseconds since a moment they share.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// A moment that all workers of a run count from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(u64);

impl Epoch {
    pub(super) fn new() -> Self {
        Self(read())
    }

    /// Nanoseconds since then. 584 years fit.
    #[inline]
    pub(super) fn elapsed(self) -> u64 {
        read().saturating_sub(self.0)
    }
}

/// The monotonic clock.
#[inline]
#[expect(clippy::disallowed_methods, reason = "workers time what they do")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds.
#[inline]
fn read() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
