//! The batch setting: reads submitted and completions waited for per call.
//!
//! A CPU-bound worker uses large batches, which take few calls; one bound by the drive small ones, which keep its queue
//! full. At low depth the worker spins, because a wake-up takes longer than a read.

use std::thread;

use crate::model::Workload;

/// Reads submitted in one call at most, and completions it waits for; 0 spins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    submit: usize,
    wait: usize,
}

/// One worker's batch setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchTuner {
    small: Setting,
    full: Setting,
    in_use: Setting,
    /// Latencies are timed exactly.
    exact: bool,
    /// End of this window in nanoseconds, calls that waited in it, and the worker's sleeps before it.
    due: u64,
    calls: u64,
    slept: u64,
}

/// Larger batches save little, and their memory leaves the nearer caches.
const FULL: usize = 32;
/// The kernel submits a batch once its last read is ready; with this size no drive waits for it.
const SMALL: usize = 8;
/// With more reads in flight a drive has enough to do while the worker wakes.
const SPIN_DEPTH: usize = 4;
/// A worker that sleeps in fewer than one of this many calls is CPU-bound.
const CALLS_PER_SLEEP: u64 = 10;
/// Nanoseconds.
const WINDOW: u64 = 20_000_000;

impl BatchTuner {
    /// For a worker with `depth` reads in flight: pinned by the workload, or adaptive.
    pub(crate) fn new(workload: &Workload, depth: usize) -> Self {
        let depth = depth.max(1);
        let workers = workload.jobs as usize * workload.targets.len();
        let has_cpu = thread::available_parallelism().is_ok_and(|cpus| workers <= cpus.get());
        // Polled calls never sleep; the kernel's submitting thread needs the CPU itself.
        let spins = depth <= SPIN_DEPTH && has_cpu && !workload.hipri && !workload.submission_poll;
        let pinned = workload.batch_complete_min.map(|wait| wait as usize);
        let wait = pinned.or(workload.exact_timing.then_some(1)).or(spins.then_some(0));
        let setting = |submit, part| Setting {
            submit: workload.batch_submit.map_or(submit, |submit| submit as usize).clamp(1, depth),
            wait: wait.unwrap_or(depth.div_ceil(part)).min(depth),
        };
        let (small, full) = (setting(SMALL, 16), setting(FULL, 8));
        Self { small, full, in_use: small, exact: workload.exact_timing, due: WINDOW, calls: 0, slept: 0 }
    }

    /// Most reads submitted in one call.
    #[inline]
    pub(crate) fn submit(&self) -> usize {
        self.in_use.submit
    }

    /// Completions waited for with `in_flight` reads; 0 spins.
    #[inline]
    pub(crate) fn wait(&self, in_flight: usize) -> usize {
        self.in_use.wait.min(in_flight)
    }

    /// Counts a call that waited. Whether the window is over at `now` (nanoseconds) and [`Self::choose`] is due.
    #[inline]
    pub(crate) fn waited(&mut self, now: u64) -> bool {
        self.calls += 1;
        now >= self.due
    }

    /// Chooses the setting for the next window, from the worker's sleeps so far. Whether it changed.
    #[cold]
    pub(crate) fn choose(&mut self, now: u64, sleeps: u64) -> bool {
        let is_cpu_bound = (sleeps - self.slept) * CALLS_PER_SLEEP < self.calls;
        let chosen = if is_cpu_bound { self.full } else { self.small };
        (self.due, self.calls, self.slept) = (now + WINDOW, 0, sleeps);
        std::mem::replace(&mut self.in_use, chosen) != chosen
    }

    /// For [`crate::model::Effective::batch`].
    pub(crate) fn words(&self) -> String {
        let Setting { submit, wait } = self.in_use;
        let how = if self.small == self.full { "" } else { "adaptive, " };
        let spins = if wait == 0 { " (spins)" } else { "" };
        let timed = if self.exact { ", exact" } else { "" };
        format!("{how}submit {submit}, complete {wait}{spins}{timed}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn workload(submit: Option<u32>, wait: Option<u32>) -> Workload {
        Workload { batch_submit: submit, batch_complete_min: wait, ..Workload::default() }
    }

    /// The setting after a window with these calls and sleeps.
    fn after(tuner: &mut BatchTuner, calls: u64, sleeps: u64) -> String {
        let now = tuner.due;
        for _ in 0..calls {
            assert!(!tuner.waited(now - 1));
        }
        tuner.choose(now, tuner.slept + sleeps);
        tuner.words()
    }

    #[test]
    fn batches_are_full_where_the_worker_never_sleeps_and_small_again_where_it_does() {
        let mut tuner = BatchTuner::new(&workload(None, None), 32);
        assert_eq!(tuner.words(), "adaptive, submit 8, complete 2");
        assert_eq!(after(&mut tuner, 100, 9), "adaptive, submit 32, complete 4");
        assert_eq!(after(&mut tuner, 100, 10), "adaptive, submit 8, complete 2");
        assert!(!tuner.choose(0, tuner.slept + 1), "nothing changed");
    }

    #[test]
    fn pinned_sizes_stay_within_the_depth() {
        let mut tuner = BatchTuner::new(&workload(Some(2), Some(9)), 4);
        assert_eq!((tuner.submit(), tuner.wait(4), tuner.wait(1)), (2, 4, 1));
        assert_eq!(after(&mut tuner, 10, 0), "submit 2, complete 4");
        assert_eq!(
            after(&mut BatchTuner::new(&workload(Some(2), None), 32), 10, 0),
            "adaptive, submit 2, complete 4"
        );
        assert_eq!(BatchTuner::new(&workload(Some(4), Some(0)), 32).words(), "submit 4, complete 0 (spins)");
    }

    #[test]
    fn exact_timing_waits_for_one_completion() {
        let exact = Workload { exact_timing: true, ..workload(None, None) };
        assert_eq!(after(&mut BatchTuner::new(&exact, 32), 10, 0), "adaptive, submit 32, complete 1, exact");
        let pinned = Workload { batch_complete_min: Some(8), ..exact };
        assert!(BatchTuner::new(&pinned, 32).words().ends_with(", complete 8, exact"));
    }

    #[test]
    fn a_worker_spins_at_low_depth_only_with_a_cpu_of_its_own_and_without_polled_completions() {
        let wait = |workload: &Workload, depth| BatchTuner::new(workload, depth).wait(depth);
        let plain = workload(None, None);
        assert_eq!([1, 4, 5].map(|depth| wait(&plain, depth)), [0, 0, 1]);
        let target = crate::model::Target { path: "a".into(), drive: None };
        assert_eq!(wait(&Workload { jobs: 100_000, targets: vec![target], ..plain.clone() }, 1), 1);
        assert_eq!(wait(&Workload { submission_poll: true, ..plain.clone() }, 1), 1);
        assert_eq!(wait(&Workload { hipri: true, ..plain }, 1), 1);
    }

    proptest! {
        #[test]
        fn every_call_submits_a_read_and_waits_for_no_more_than_are_in_flight(
            depth in 1..4096_usize,
            in_flight in 1..4096_usize,
            submit in proptest::option::of(1..5000_u32),
            wait in proptest::option::of(0..5000_u32),
            is_cpu_bound: bool,
        ) {
            let mut tuner = BatchTuner::new(&workload(submit, wait), depth);
            after(&mut tuner, 10, if is_cpu_bound { 0 } else { 10 });
            prop_assert!((1..=depth).contains(&tuner.submit()));
            let least = usize::from(wait != Some(0) && depth > SPIN_DEPTH);
            prop_assert!((least..=in_flight.min(depth)).contains(&tuner.wait(in_flight)));
        }
    }
}
