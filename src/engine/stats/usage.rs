//! CPU time and context switches of a thread.
#![expect(unsafe_code, reason = "getrusage of one thread has no safe wrapper")]

use std::{fs, time::Duration};

/// Cost of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// Voluntary and involuntary.
    pub switches: u64,
    /// Page faults answered from memory.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
}

/// Voluntary context switches of the calling thread.
pub(crate) fn sleeps() -> u64 {
    rusage().ru_nvcsw.unsigned_abs()
}

/// Counters of the calling thread; zeros on an error.
fn rusage() -> libc::rusage {
    // SAFETY: an all-zero rusage is a valid one; it consists of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a writable rusage that outlives the call, which leaves it alone when it fails.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage
}

impl Usage {
    /// Of the calling thread; zeros on an error.
    pub(crate) fn of_this_thread() -> Self {
        let usage = rusage();
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs())
                + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        Self {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
            minor_faults: usage.ru_minflt.unsigned_abs(),
            major_faults: usage.ru_majflt.unsigned_abs(),
        }
    }

    /// Of another thread of this process, by its id, in the kernel's ticks; zeros once it is gone.
    pub(crate) fn of_task(id: &str) -> Self {
        fs::read_to_string(format!("/proc/self/task/{id}/stat"))
            .ok()
            .and_then(|stat| Self::in_stat(&stat, rustix::param::clock_ticks_per_second()))
            .unwrap_or_default()
    }

    /// `utime` and `stime` of `proc_pid_stat(5)`: fields 14 and 15, counted after the name, which may contain any character.
    fn in_stat(stat: &str, ticks_per_second: u64) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11).map(|field| field.parse::<u32>().ok());
        let mut time =
            || Some(Duration::from_secs(1) * fields.next()?? / u32::try_from(ticks_per_second).ok()?);
        Some(Self { user: time()?, system: time()?, ..Self::default() })
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
        self.switches += other.switches;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
    }

    /// CPU time since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            switches: self.switches.saturating_sub(earlier.switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_task_are_found_behind_whatever_its_name_is() {
        let stat = "4321 (read) 0 (x) S 1 4321 4321 0 -1 4194368 100 0 0 0 250 75 0 0 20 0 3 0 999 0 0";
        let usage = Usage::in_stat(stat, 100).unwrap();
        assert_eq!((usage.user, usage.system), (Duration::from_millis(2500), Duration::from_millis(750)));
        assert!(Usage::in_stat("4321 (read", 100).is_none() && Usage::in_stat("1 (x) S 1", 100).is_none());
    }

    #[test]
    fn a_task_of_this_process_has_used_something_and_one_that_is_gone_nothing() {
        let own = rustix::thread::gettid().as_raw_nonzero().to_string();
        let began = Usage::of_this_thread();
        while Usage::of_this_thread().since(began).user < Duration::from_millis(30) {}
        assert!(Usage::of_task(&own).user >= Duration::from_millis(20));
        assert_eq!(Usage::of_task("0"), Usage::default());
    }
}
