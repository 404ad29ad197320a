//! What a thread has cost: CPU time and context switches.
#![expect(unsafe_code, reason = "getrusage of one thread has no safe wrapper")]

use std::time::Duration;

/// Cost of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// Voluntary and involuntary.
    pub switches: u64,
}

impl Usage {
    /// Of the calling thread; zeros should the kernel refuse.
    pub(super) fn of_this_thread() -> Self {
        // SAFETY: an all-zero rusage is a valid one; it consists of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a writable rusage that outlives the call.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0 {
            return Self::default();
        }
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs())
                + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        Self {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
        }
    }

    /// What was spent since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}
