//! The clock of workers: nanoseconds since the start of the run.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// The start of a run, common to its workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch(u64);

impl Epoch {
    pub(crate) fn new() -> Self {
        Self(read())
    }

    /// Nanoseconds since then.
    #[inline]
    pub(crate) fn elapsed(self) -> u64 {
        read().saturating_sub(self.0)
    }
}

/// The monotonic clock.
#[inline]
#[expect(clippy::disallowed_methods, reason = "workers time what they do")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds.
#[inline]
fn read() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
