//! Counts of one worker, stored once a batch with relaxed ordering, and sums over workers.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::engine::{
    stats::histogram::{Counts, Histogram},
    stats::usage::Usage,
};
use crate::text::Label;

/// Totals of a worker. Counters that grow; aligned so that no two workers share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkerStats {
    totals: [AtomicU64; 5],
    pub latency: Histogram,
    closing: Mutex<Closing>,
}

/// A worker's own copy of its totals, stored to its stats once a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Reads completed.
    pub ios: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Reads that failed.
    pub errors: u64,
    /// System calls that submitted or reaped them.
    pub calls: u64,
    /// Time that reads were in flight, summed over them, in nanoseconds: divided by the time counted, the mean depth.
    pub in_flight: u64,
}

/// Rarely written values: errors, and the account at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Closing {
    /// Errno and words.
    pub first_error: Option<(i32, Label)>,
    /// Why the worker ended before the others.
    pub failed: Option<Label>,
    /// CPU cost while counting.
    pub usage: Usage,
    /// Counted time, pauses excluded.
    pub counted: Duration,
    /// The batch setting, in words.
    pub batch: Option<String>,
    /// Why buffers were left mapped.
    pub leaked: Option<Label>,
}

impl WorkerStats {
    pub(crate) fn new() -> Self {
        Self { totals: Default::default(), latency: Histogram::default(), closing: Mutex::default() }
    }

    /// Makes `totals` visible. Five stores.
    #[inline]
    pub(crate) fn publish(&self, totals: &Totals) {
        let Totals { ios, bytes, errors, calls, in_flight } = *totals;
        for (shared, own) in self.totals.iter().zip([ios, bytes, errors, calls, in_flight]) {
            shared.store(own, Relaxed);
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let [ios, bytes, errors, calls, in_flight] = self.totals.each_ref().map(|total| total.load(Relaxed));
        Totals { ios, bytes, errors, calls, in_flight }
    }

    pub(crate) fn closing(&self) -> MutexGuard<'_, Closing> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
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
pub(crate) fn sum<'a>(stats: impl Iterator<Item = &'a WorkerStats> + Clone) -> (Totals, Counts) {
    let mut counts = Counts::default();
    stats.clone().for_each(|stats| counts.add(&stats.latency));
    (stats.map(WorkerStats::totals).fold(Totals::default(), Totals::plus), counts)
}

/// Distributes a worker's cost, counted in `whole`, over the `jobs` it read: calls and CPU time by their reads, time in
/// flight by their latencies, or evenly without latencies.
pub(crate) fn share_out(whole: &WorkerStats, jobs: &[&WorkerStats]) {
    let (cost, usage) = (whole.totals(), whole.closing().usage);
    let reads: u64 = jobs.iter().map(|job| job.totals().ios).sum();
    let waited: Vec<f64> = jobs.iter().map(|job| job.latency.sum()).collect();
    let waited_in_all: f64 = waited.iter().sum();
    for (job, waited) in jobs.iter().zip(waited) {
        let part = if waited_in_all > 0.0 { waited / waited_in_all } else { 1.0 / jobs.len() as f64 };
        let own = job.totals();
        let share = if reads == 0 { 0.0 } else { own.ios as f64 / reads as f64 };
        let of = |total: u64| {
            let part = u128::from(total) * u128::from(own.ios) / u128::from(reads.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        job.publish(&Totals {
            calls: of(cost.calls),
            in_flight: nanoseconds(Duration::from_nanos(cost.in_flight).mul_f64(part)),
            ..own
        });
        let mut closing = job.closing();
        closing.usage.user += usage.user.mul_f64(share);
        closing.usage.system += usage.system.mul_f64(share);
        closing.usage.switches += of(usage.switches);
        closing.usage.minor_faults += of(usage.minor_faults);
        closing.usage.major_faults += of(usage.major_faults);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_cost_is_shared_out_by_reads() {
        let (whole, one, other) = (WorkerStats::new(), WorkerStats::new(), WorkerStats::new());
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
        let [fast, slow] = [&one, &other].map(|job| job.totals().in_flight as f64 / 1e6);
        assert!((fast - 1.5).abs() < 0.02 && (slow - 4.5).abs() < 0.02, "{fast} {slow}");
    }
}
