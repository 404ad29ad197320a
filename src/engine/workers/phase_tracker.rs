//! One worker's phase: the stats its reads count in, since when, at what CPU cost.

use std::time::Duration;

use crate::engine::{
    clock::Epoch,
    stats::{
        usage::Usage,
        worker_stats::{Totals, WorkerStats},
    },
    workers::run_control::{Phase, RunControl},
};
use crate::{model::errno_words, text::Label};

/// Counts one worker's reads by phase.
///
/// Reads of the ramp, and those still in flight when the run is stopped, go to stats that are dropped.
#[derive(Debug)]
pub(crate) struct PhaseTracker<'a> {
    control: &'a RunControl,
    epoch: Epoch,
    counted: &'a WorkerStats,
    uncounted: &'a WorkerStats,
    pub totals: Totals,
    phase: Phase,
    /// Whether reads count now: since the ramp, until the stop.
    counts: bool,
    /// Whether the thread's CPU time is counted here.
    pays: bool,
    began: Option<(u64, Usage)>,
    /// Failures without a success between them.
    failures: u32,
}

/// Consecutive failures after which a target is abandoned.
const MOST_FAILURES: u32 = 100;

impl<'a> PhaseTracker<'a> {
    pub(crate) fn new(
        control: &'a RunControl,
        epoch: Epoch,
        counted: &'a WorkerStats,
        uncounted: &'a WorkerStats,
    ) -> Self {
        Self {
            control,
            epoch,
            counted,
            uncounted,
            totals: Totals::default(),
            phase: Phase::Gate,
            counts: false,
            pays: true,
            began: None,
            failures: 0,
        }
    }

    /// For one of a worker's jobs: the thread's CPU time is counted for all of them together.
    pub(crate) fn of_job(self) -> Self {
        Self { pays: false, ..self }
    }

    /// The stats that reads count in now.
    #[inline]
    pub(crate) fn stats(&self) -> &'a WorkerStats {
        if self.counts { self.counted } else { self.uncounted }
    }

    /// The phase, as of the last [`Self::follow`].
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the phase has changed; one relaxed load.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.control.phase() != self.phase
    }

    /// Enters the current phase.
    pub(crate) fn follow(&mut self) -> Phase {
        let next = self.control.phase();
        if next == self.phase {
            return next;
        }
        if self.phase == Phase::Count {
            self.close();
        }
        self.phase = next;
        if next == Phase::Count {
            if !self.counts {
                self.totals = Totals::default();
                self.counts = true;
            }
            self.began = Some((self.epoch.elapsed(), self.cost()));
            self.control.begun();
        } else if next == Phase::Stop {
            self.counts = false;
        }
        next
    }

    /// Waits, with nothing in flight, until a hold is over.
    pub(crate) fn wait(&mut self) {
        self.control.wait_while(self.phase);
        self.follow();
    }

    /// Sleeps until the phase changes, `most` at the longest.
    pub(crate) fn sleep(&self, most: Duration) {
        self.control.sleep(self.phase, most);
    }

    /// Makes the totals visible.
    #[inline]
    pub(crate) fn publish(&self) {
        self.stats().publish(&self.totals);
    }

    /// Ends counting, for good or for a hold.
    pub(crate) fn close(&mut self) {
        if let Some((since, usage)) = self.began.take() {
            let mut closing = self.counted.closing();
            closing.usage.add(self.cost().since(usage));
            closing.counted += Duration::from_nanos(self.epoch.elapsed().saturating_sub(since));
            self.counted.publish(&self.totals);
        }
    }

    fn cost(&self) -> Usage {
        if self.pays { Usage::of_this_thread() } else { Usage::default() }
    }

    /// Counts completed reads.
    #[inline]
    pub(crate) fn succeeded(&mut self, ios: u64, bytes: u64) {
        self.totals.ios += ios;
        self.totals.bytes += bytes;
        self.failures = 0;
    }

    /// Counts a failed read. Whether the worker should abandon its target.
    pub(crate) fn failed(&mut self, failure: &Failure, target: &Label) -> bool {
        self.totals.errors += 1;
        self.failures += 1;
        let hopeless = failure.is_hopeless() || self.failures >= MOST_FAILURES;
        if hopeless {
            self.give_up(failure.errno(), &failure.words(target));
        } else {
            let words = || (failure.errno(), Label::new(&failure.words(target)));
            self.counted.closing().first_error.get_or_insert_with(words);
        }
        hopeless
    }

    /// Records why the target is abandoned.
    pub(crate) fn give_up(&self, errno: i32, why: &str) {
        let mut closing = self.counted.closing();
        let why = Label::new(why);
        closing.first_error.get_or_insert_with(|| (errno, why.clone()));
        closing.failed.get_or_insert(why);
    }
}

/// A failed or short read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its byte offset.
    pub offset: u64,
    /// Bytes requested.
    pub length: u32,
    /// A negative errno, or fewer bytes.
    pub result: i32,
}

impl Failure {
    /// Its errno; fewer bytes than asked for count as EIO, as in fio.
    const fn errno(self) -> i32 {
        if self.result < 0 { -self.result } else { libc::EIO }
    }

    /// Whether every further read fails: the device is gone or refuses such reads.
    fn is_hopeless(self) -> bool {
        matches!(
            -self.result,
            libc::ENODEV | libc::ENXIO | libc::EBADF | libc::EINVAL | libc::EOPNOTSUPP | libc::EFAULT
        )
    }

    fn words(self, target: &Label) -> String {
        let Self { offset, length, result } = self;
        match result {
            ..0 => format!("{} on {target} at byte {offset}", errno_words(-result)),
            // A removed drive has a size of 0: reads end as at the end of a file.
            0 => format!("0 of {length} bytes on {target} at byte {offset}: drive removed or file truncated"),
            1.. => {
                format!("only {result} of {length} bytes on {target} at byte {offset}: it was truncated")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::stats::{histogram::Counts, worker_stats::sum};

    #[test]
    fn reads_of_the_ramp_are_not_counted() {
        let control = RunControl::new(Duration::from_secs(1), None);
        let (stats, uncounted) = (WorkerStats::new(), WorkerStats::new());
        let mut tracker = PhaseTracker::new(&control, Epoch::new(), &stats, &uncounted);
        control.open();
        assert_eq!(tracker.follow(), Phase::Ramp);
        tracker.totals.ios = 7;
        tracker.stats().latency.record(100);
        tracker.publish();
        control.pause();
        control.stop(true);
        assert_eq!(tracker.follow(), Phase::Stop);
        let (totals, counts) = sum(std::iter::once(&stats));
        assert_eq!((totals, counts), (Totals::default(), Counts::default()));
    }

    #[test]
    fn one_bad_block_does_not_end_a_target_but_a_lost_device_does() {
        let control = RunControl::new(Duration::ZERO, None);
        let (stats, uncounted) = (WorkerStats::new(), WorkerStats::new());
        let mut tracker = PhaseTracker::new(&control, Epoch::new(), &stats, &uncounted);
        let target = Label::new("/dev/nvme3n1");
        let bad = Failure { offset: 4096, length: 4096, result: -libc::EIO };
        assert!(!tracker.failed(&bad, &target));
        assert_eq!(
            stats.closing().first_error.as_ref().map(|(errno, words)| (*errno, words.as_str())),
            Some((libc::EIO, "EIO: Input/output error on /dev/nvme3n1 at byte 4096"))
        );
        assert!(stats.closing().failed.is_none());
        assert!(tracker.failed(&Failure { result: -libc::ENODEV, ..bad }, &target));
        assert!(stats.closing().failed.is_some());
    }

    #[test]
    fn a_target_that_never_answers_well_is_given_up() {
        let control = RunControl::new(Duration::ZERO, None);
        let (stats, uncounted) = (WorkerStats::new(), WorkerStats::new());
        let mut tracker = PhaseTracker::new(&control, Epoch::new(), &stats, &uncounted);
        let short = Failure { offset: 0, length: 4096, result: 0 };
        let given_up_after = (1..1000).find(|_| tracker.failed(&short, &Label::new("f")));
        assert_eq!(given_up_after, Some(MOST_FAILURES));
        assert_eq!(tracker.totals.errors, u64::from(MOST_FAILURES));
    }
}
