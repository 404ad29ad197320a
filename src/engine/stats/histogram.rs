//! Latency counts in log-linear buckets, written by one worker while others read them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::model::LatencySummary;

/// Linear steps within each power of two: a bucket is at most 1/64 of its value wide, and its middle at most 0.8 % off.
const STEPS: usize = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Longer latencies, from 2^41 ns (36 minutes), count as this.
const MOST_NS: u64 = (1 << 41) - 1;
const BUCKETS: usize = bucket(MOST_NS) + 1;

const fn bucket(ns: u64) -> usize {
    let ns = if ns < MOST_NS { ns } else { MOST_NS };
    // Below two rounds of steps every nanosecond has its own bucket: nothing is shifted out.
    let shift = (ns | (STEPS as u64)).ilog2() - STEP_BITS;
    // From there the leading one of the value adds STEPS to every step.
    #[expect(clippy::cast_possible_truncation, reason = "below two times STEPS")]
    let step = (ns >> shift) as usize;
    shift as usize * STEPS + step
}

/// First value and width of a bucket, nanoseconds.
const fn span(bucket: usize) -> (u64, u64) {
    if bucket < 2 * STEPS {
        return (bucket as u64, 1);
    }
    let group = bucket / STEPS - 1;
    let step = bucket - group * STEPS;
    ((step as u64) << group, 1 << group)
}

/// The value that all values of a bucket count as.
const fn middle(bucket: usize) -> u64 {
    let (first, width) = span(bucket);
    first + width / 2
}

/// One worker's buckets. Only that worker records; a reader may see counts of slightly different moments.
#[derive(Debug)]
pub struct Histogram {
    counts: Box<[AtomicU64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Histogram {
    /// Counts one latency, in nanoseconds.
    #[inline]
    pub fn record(&self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts the same latency `times`. Load and store, no read-modify-write: there is no other writer.
    #[inline]
    pub(crate) fn record_many(&self, ns: u64, times: u64) {
        let count = &self.counts[bucket(ns)];
        count.store(count.load(Relaxed) + times, Relaxed);
    }

    /// Sum of all latencies, nanoseconds, each as the middle of its bucket.
    pub(crate) fn sum(&self) -> f64 {
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(b, count)| middle(b) as f64 * count as f64).sum()
    }
}

/// Counts at one moment, of one or several workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(Vec<u64>);

impl Default for Counts {
    fn default() -> Self {
        Self(vec![0; BUCKETS])
    }
}

impl Counts {
    pub(crate) fn add(&mut self, histogram: &Histogram) {
        for (sum, count) in self.0.iter_mut().zip(histogram.counts.iter()) {
            *sum += count.load(Relaxed);
        }
    }

    /// Counts since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().zip(&earlier.0).map(|(now, then)| now.saturating_sub(*then)).collect())
    }

    /// Statistics of the counts; every value is the middle of its bucket.
    pub(crate) fn summary(&self) -> LatencySummary {
        let filled = || self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        let count: u64 = self.0.iter().sum();
        if count == 0 {
            return LatencySummary::default();
        }
        let total = count as f64;
        let mean = filled().map(|(b, n)| middle(b) as f64 * *n as f64).sum::<f64>() / total;
        let variance =
            filled().map(|(b, n)| (middle(b) as f64 - mean).powi(2) * *n as f64).sum::<f64>() / total;
        LatencySummary {
            min: filled().next().map_or(0, |(b, _)| span(b).0),
            max: filled().next_back().map_or(0, |(b, _)| span(b).0 + span(b).1 - 1),
            mean,
            stddev: variance.sqrt(),
            count,
            percentiles: self.percentiles(count).map(|(percent, b)| (percent, middle(b))).collect(),
            within: within(filled().map(|(b, n)| (middle(b), *n))),
        }
    }

    /// The bucket that holds each of the percentiles: the smallest with at least that share at or below it.
    fn percentiles(&self, count: u64) -> impl Iterator<Item = (f64, usize)> {
        let mut bucket = 0;
        let mut below = 0;
        LatencySummary::PERCENTS.into_iter().map(move |percent| {
            let needed = (percent / 100.0 * count as f64).ceil().max(1.0);
            while bucket < BUCKETS - 1 && ((below + self.0[bucket]) as f64) < needed {
                below += self.0[bucket];
                bucket += 1;
            }
            (percent, bucket)
        })
    }
}

/// Counts by [`LatencySummary::LIMITS`] of latencies in nanoseconds, each with its count.
pub(crate) fn within(counts: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
    let limits = LatencySummary::LIMITS;
    let (mut within, mut at) = (vec![0; limits.len() + 1], 0_usize);
    for (ns, count) in counts {
        // They usually ascend, and most of them are in the range of the one before.
        if at.checked_sub(1).is_some_and(|below| ns <= limits[below]) {
            at = 0;
        }
        at += limits[at..].iter().take_while(|limit| **limit < ns).count();
        within[at] += count;
    }
    within
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (first, width) = span(bucket);
            assert_eq!(first, next, "bucket {bucket}");
            assert_eq!((super::bucket(first), super::bucket(first + width - 1)), (bucket, bucket));
            next = first + width;
        }
        assert_eq!(next, MOST_NS + 1);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_of_a_plain_ramp_are_where_they_belong() {
        let histogram = Histogram::default();
        (1..=100_000).for_each(|us| histogram.record(us * 1000));
        let mut counts = Counts::default();
        counts.add(&histogram);
        let summary = counts.summary();
        for (percent, ns) in &summary.percentiles {
            let exact = percent * 1000.0 * 1000.0;
            assert!((*ns as f64 / exact - 1.0).abs() < 0.01, "{percent}: {ns}");
        }
        assert!((summary.mean / 50_000_500.0 - 1.0).abs() < 0.01);
        assert!((summary.stddev / 28_867_513.0 - 1.0).abs() < 0.01);
        assert_eq!(summary.count, 100_000);
        assert_eq!(counts.since(&counts).summary(), LatencySummary::default());
    }

    proptest! {
        #[test]
        fn every_value_is_within_one_percent_of_the_middle_of_its_bucket(ns in 0..MOST_NS) {
            let (first, width) = span(bucket(ns));
            prop_assert!(first <= ns && ns < first + width);
            prop_assert!((first + width / 2).abs_diff(ns) as f64 <= ns as f64 * 0.01);
        }
    }
}
