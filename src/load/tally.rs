//! What one worker has counted, and the sums of many.
//!
//! Here: [`Tally`], written by its worker once a batch with plain relaxed stores and read by the sampler at any time, and
//! [`Shift`], a worker's way through the phases of a run. Not here: reading blocks, threads.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    clock::Epoch,
    control::{Control, Phase},
    histogram::{Counts, Histogram},
    usage::Usage,
};
use crate::{model::errno_words, text::Label};

/// Totals of a worker. Counters that grow; aligned so that no two workers share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    totals: [AtomicU64; 5],
    pub latency: Histogram,
    closing: Mutex<Closing>,
}

/// A worker's own copy of its totals, stored to its tally once a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Reads completed.
    pub ios: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Reads that failed.
    pub errors: u64,
    /// System calls made for them.
    pub calls: u64,
    /// Time that reads were in flight, summed over them, in nanoseconds: divided by the time counted, the mean depth.
    pub in_flight: u64,
}

/// What is rarely written: errors, and the account at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Closing {
    pub first_error: Option<Label>,
    /// Why the worker ended before the others.
    pub failed: Option<Label>,
    /// What counting cost.
    pub usage: Usage,
    /// How long it counted, pauses excluded.
    pub counted: Duration,
    /// How batches were chosen, in words.
    pub batch: Option<String>,
    /// Why buffers were left mapped.
    pub leaked: Option<Label>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { totals: Default::default(), latency: Histogram::default(), closing: Mutex::default() }
    }

    /// Makes `totals` visible. Five stores.
    #[inline]
    pub(super) fn publish(&self, totals: &Totals) {
        let Totals { ios, bytes, errors, calls, in_flight } = *totals;
        for (shared, own) in self.totals.iter().zip([ios, bytes, errors, calls, in_flight]) {
            shared.store(own, Relaxed);
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let [ios, bytes, errors, calls, in_flight] = self.totals.each_ref().map(|total| total.load(Relaxed));
        Totals { ios, bytes, errors, calls, in_flight }
    }

    pub(super) fn closing(&self) -> MutexGuard<'_, Closing> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            ios: self.ios + other.ios,
            bytes: self.bytes + other.bytes,
            errors: self.errors + other.errors,
            calls: self.calls + other.calls,
            in_flight: self.in_flight + other.in_flight,
        }
    }
}

/// Sums over the workers of one target.
pub(super) fn sum<'a>(tallies: impl Iterator<Item = &'a Tally> + Clone) -> (Totals, Counts) {
    let mut counts = Counts::default();
    tallies.clone().for_each(|tally| counts.add(&tally.latency));
    (tallies.map(Tally::totals).fold(Totals::default(), Totals::plus), counts)
}

/// Shares out what a worker has cost, as counted in `whole`, among the `lanes` it read, by their reads; the time in flight
/// by their latencies, or evenly where those were not taken.
pub(super) fn share_out(whole: &Tally, lanes: &[&Tally]) {
    let (cost, usage) = (whole.totals(), whole.closing().usage);
    let reads: u64 = lanes.iter().map(|lane| lane.totals().ios).sum();
    let waited: Vec<f64> = lanes.iter().map(|lane| lane.latency.sum()).collect();
    let waited_in_all: f64 = waited.iter().sum();
    for (lane, waited) in lanes.iter().zip(waited) {
        let part = if waited_in_all > 0.0 { waited / waited_in_all } else { 1.0 / lanes.len() as f64 };
        let own = lane.totals();
        let share = if reads == 0 { 0.0 } else { own.ios as f64 / reads as f64 };
        let of = |total: u64| {
            let part = u128::from(total) * u128::from(own.ios) / u128::from(reads.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        lane.publish(&Totals {
            calls: of(cost.calls),
            in_flight: nanoseconds(Duration::from_nanos(cost.in_flight).mul_f64(part)),
            ..own
        });
        let mut closing = lane.closing();
        closing.usage.user += usage.user.mul_f64(share);
        closing.usage.system += usage.system.mul_f64(share);
        closing.usage.switches += of(usage.switches);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One worker's way through a run: which tally its reads belong to now, since when, and at what cost.
///
/// Reads of the ramp, and those still under way when the run is stopped, go to a tally nobody looks at.
#[derive(Debug)]
pub(super) struct Shift<'a> {
    control: &'a Control,
    epoch: Epoch,
    counted: &'a Tally,
    uncounted: &'a Tally,
    pub totals: Totals,
    phase: Phase,
    /// Whether reads count now: since the ramp, until the stop.
    counts: bool,
    /// Whether the thread's cost is this tally's.
    pays: bool,
    began: Option<(u64, Usage)>,
    /// Failures without a success between them.
    failures: u32,
}

/// Failures in a row after which a target is given up.
const MOST_FAILURES: u32 = 100;

impl<'a> Shift<'a> {
    pub(super) fn new(control: &'a Control, epoch: Epoch, counted: &'a Tally, uncounted: &'a Tally) -> Self {
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

    /// Of one of several tallies that a worker counts in: what the thread costs is accounted for elsewhere.
    pub(super) fn of_lane(self) -> Self {
        Self { pays: false, ..self }
    }

    /// The tally reads belong to now.
    #[inline]
    pub(super) fn tally(&self) -> &'a Tally {
        if self.counts { self.counted } else { self.uncounted }
    }

    /// The phase, as of the last [`Self::follow`].
    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the phase is another one now; one relaxed load.
    #[inline]
    pub(super) fn is_stale(&self) -> bool {
        self.control.phase() != self.phase
    }

    /// Goes over to the present phase.
    pub(super) fn follow(&mut self) -> Phase {
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

    /// Waits, with nothing under way, until a hold is over.
    pub(super) fn wait(&mut self) {
        self.control.wait_while(self.phase);
        self.follow();
    }

    /// Sleeps until the phase changes, `most` at the longest.
    pub(super) fn sleep(&self, most: Duration) {
        self.control.sleep(self.phase, most);
    }

    /// Makes the totals visible.
    #[inline]
    pub(super) fn publish(&self) {
        self.tally().publish(&self.totals);
    }

    /// Ends counting, for good or for a hold.
    pub(super) fn close(&mut self) {
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

    /// So many reads of so many bytes together came back whole.
    #[inline]
    pub(super) fn succeeded(&mut self, ios: u64, bytes: u64) {
        self.totals.ios += ios;
        self.totals.bytes += bytes;
        self.failures = 0;
    }

    /// A read failed. Whether the worker should give its target up.
    pub(super) fn failed(&mut self, failure: &Failure, target: &Label) -> bool {
        self.totals.errors += 1;
        self.failures += 1;
        let hopeless = failure.is_hopeless() || self.failures >= MOST_FAILURES;
        let mut closing = self.counted.closing();
        if closing.first_error.is_none() || hopeless {
            let words = Label::new(&failure.words(target));
            closing.first_error.get_or_insert_with(|| words.clone());
            if hopeless {
                closing.failed.get_or_insert(words);
            }
        }
        hopeless
    }

    /// The target cannot be read on, for this reason.
    pub(super) fn give_up(&self, why: &Label) {
        let mut closing = self.counted.closing();
        closing.first_error.get_or_insert_with(|| why.clone());
        closing.failed.get_or_insert_with(|| why.clone());
    }
}

/// A read that did not bring what it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    /// Its byte offset.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u32,
    /// What came back: a negative errno, or fewer bytes.
    pub result: i32,
}

impl Failure {
    /// Whether reading on makes no sense: the device is gone, or refuses every such read.
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
            // The kernel cuts a drive that leaves to no bytes, and reads end there as at the end of a file.
            0 => format!(
                "0 of {length} bytes on {target} at byte {offset}: the drive is gone, or the file was cut"
            ),
            1.. => {
                format!("only {result} of {length} bytes on {target} at byte {offset}: it has become shorter")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_the_ramp_are_not_counted() {
        let control = Control::new(Duration::from_secs(1), None);
        let (tally, uncounted) = (Tally::new(), Tally::new());
        let mut shift = Shift::new(&control, Epoch::new(), &tally, &uncounted);
        control.open();
        assert_eq!(shift.follow(), Phase::Ramp);
        shift.totals.ios = 7;
        shift.tally().latency.record(100);
        shift.publish();
        control.pause();
        control.stop(true);
        assert_eq!(shift.follow(), Phase::Stop);
        let (totals, counts) = sum(std::iter::once(&tally));
        assert_eq!((totals, counts), (Totals::default(), Counts::default()));
    }

    #[test]
    fn what_a_worker_cost_is_shared_out_by_reads() {
        let (whole, one, other) = (Tally::new(), Tally::new(), Tally::new());
        whole.publish(&Totals { calls: 40, in_flight: 6_000_000, ..Totals::default() });
        whole.closing().usage.system = Duration::from_secs(4);
        one.publish(&Totals { ios: 300, bytes: 7, ..Totals::default() });
        other.publish(&Totals { ios: 100, ..Totals::default() });
        share_out(&whole, &[&one, &other]);
        assert_eq!(one.totals(), Totals { ios: 300, bytes: 7, calls: 30, in_flight: 3_000_000, errors: 0 });
        assert_eq!(other.totals(), Totals { ios: 100, calls: 10, in_flight: 3_000_000, ..Totals::default() });
        assert_eq!(one.closing().usage.system, Duration::from_secs(3));
        assert_eq!(other.closing().usage.system, Duration::from_secs(1));

        // 300 reads of 1 us and 100 of 9 us: the slow drive has three times as many in flight.
        one.latency.record_many(1000, 300);
        other.latency.record_many(9000, 100);
        share_out(&whole, &[&one, &other]);
        let [fast, slow] = [&one, &other].map(|lane| lane.totals().in_flight as f64 / 1e6);
        assert!((fast - 1.5).abs() < 0.02 && (slow - 4.5).abs() < 0.02, "{fast} {slow}");
    }

    #[test]
    fn one_bad_block_does_not_end_a_target_but_a_lost_device_does() {
        let control = Control::new(Duration::ZERO, None);
        let (tally, uncounted) = (Tally::new(), Tally::new());
        let mut shift = Shift::new(&control, Epoch::new(), &tally, &uncounted);
        let target = Label::new("/dev/nvme3n1");
        let bad = Failure { offset: 4096, length: 4096, result: -libc::EIO };
        assert!(!shift.failed(&bad, &target));
        assert_eq!(
            tally.closing().first_error.as_ref().map(Label::as_str),
            Some("EIO: Input/output error on /dev/nvme3n1 at byte 4096")
        );
        assert!(tally.closing().failed.is_none());
        assert!(shift.failed(&Failure { result: -libc::ENODEV, ..bad }, &target));
        assert!(tally.closing().failed.is_some());
    }

    #[test]
    fn a_target_that_never_answers_well_is_given_up() {
        let control = Control::new(Duration::ZERO, None);
        let (tally, uncounted) = (Tally::new(), Tally::new());
        let mut shift = Shift::new(&control, Epoch::new(), &tally, &uncounted);
        let short = Failure { offset: 0, length: 4096, result: 0 };
        let given_up_after = (1..1000).find(|_| shift.failed(&short, &Label::new("f")));
        assert_eq!(given_up_after, Some(MOST_FAILURES));
        assert_eq!(shift.totals.errors, u64::from(MOST_FAILURES));
    }
}
