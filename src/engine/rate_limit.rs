//! Reads that a worker may submit now: `--rate_iops` and `--io_size`.

use std::time::Duration;

use crate::{model::Workload, units::Bytes};

/// One worker's limits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateLimit {
    /// Nanoseconds between two reads; `None` without a limit.
    interval: Option<f64>,
    /// Start of the limit, and reads submitted since.
    since: Option<u64>,
    issued: u64,
    /// Bytes still to read; `None` without an amount.
    left: Option<u64>,
    largest: u64,
}

/// The longest sleep of a worker with a rate limit.
pub(crate) const NAP: Duration = Duration::from_millis(50);

/// Time that a worker slower than its rate catches up at most.
const MOST_DEBT: Duration = Duration::from_secs(1);

impl RateLimit {
    /// The share of one of `sharers` that make up a job, which ends after `--io_size` or, without a runtime, `span` bytes.
    pub(crate) fn new(workload: &Workload, span: u64, sharers: u32) -> Self {
        let sharers = sharers.max(1);
        Self {
            interval: workload.rate_iops.map(|rate| 1e9 * f64::from(sharers) / f64::from(rate.max(1))),
            since: None,
            issued: 0,
            left: workload.amount(Bytes(span)).map(|amount| amount.0 / u64::from(sharers)),
            largest: workload.largest_block().0.max(1),
        }
    }

    /// Whether there is a rate limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.interval.is_some()
    }

    /// Whether the amount is read.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == Some(0)
    }

    /// Reads that may be submitted at `now`, nanoseconds of the run's clock.
    #[inline]
    pub(crate) fn quota(&mut self, now: u64) -> usize {
        let mut quota = u64::MAX;
        if let Some(interval) = self.interval {
            let since = *self.since.get_or_insert(now);
            let due = whole(now.saturating_sub(since) as f64 / interval) + 1;
            let most = whole(MOST_DEBT.as_nanos() as f64 / interval) + 1;
            self.issued = self.issued.max(due.saturating_sub(most));
            quota = due.saturating_sub(self.issued);
        }
        if let Some(left) = self.left {
            quota = quota.min(left.div_ceil(self.largest));
        }
        usize::try_from(quota).unwrap_or(usize::MAX)
    }

    /// `reads` of together `bytes` were submitted.
    #[inline]
    pub(crate) fn issued(&mut self, reads: u64, bytes: u64) {
        self.issued += reads;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Time until the next read may be submitted, [`NAP`] at the longest.
    pub(crate) fn next_in(&self, now: u64) -> Duration {
        let (Some(interval), Some(since)) = (self.interval, self.since) else { return Duration::ZERO };
        let at = since.saturating_add(whole(self.issued as f64 * interval));
        Duration::from_nanos(at.saturating_sub(now)).min(NAP)
    }

    /// At the begin of a phase: time before it is not caught up.
    pub(crate) fn restart(&mut self) {
        self.since = None;
        self.issued = 0;
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast that saturates is meant")]
fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(rate_iops: Option<u32>, runtime: Option<Duration>) -> RateLimit {
        RateLimit::new(&Workload { runtime, rate_iops, ..Workload::default() }, 10 * 4096, 1)
    }

    #[test]
    fn a_rate_is_kept_whatever_the_steps_in_time() {
        let mut limit = limit(Some(1000), Some(Duration::from_secs(9)));
        let mut total = 0;
        let mut now = 5_000_000;
        for step in 0..2000_u64 {
            let quota = limit.quota(now) as u64;
            limit.issued(quota, quota * 4096);
            total += quota;
            now += 300_000 + step * 1000 % 900_000;
        }
        let seconds = (now - 5_000_000) as f64 / 1e9;
        assert!((total as f64 / seconds / 1000.0 - 1.0).abs() < 0.005, "{total} in {seconds} s");
        assert!(limit.quota(now) <= 2 && limit.next_in(now) <= Duration::from_millis(1));
    }

    #[test]
    fn lost_time_is_made_up_for_a_second_at_most() {
        let mut limit = limit(Some(1000), Some(Duration::from_secs(9)));
        assert_eq!(limit.quota(0), 1);
        assert_eq!(limit.quota(3_600_000_000_000), 1001);
    }

    #[test]
    fn time_before_a_phase_is_not_caught_up_in_it() {
        let mut limit = limit(Some(1000), Some(Duration::from_secs(9)));
        assert_eq!(limit.quota(0), 1);
        limit.restart();
        assert_eq!(limit.quota(900_000_000), 1);
        assert_eq!(limit.quota(1_900_000_000), 1001);
    }

    #[test]
    fn an_amount_ends() {
        let mut limit = limit(None, None);
        assert_eq!(limit.quota(0), 10);
        limit.issued(9, 9 * 4096);
        assert_eq!((limit.quota(1), limit.is_exhausted()), (1, false));
        limit.issued(1, 4096);
        assert_eq!((limit.quota(2), limit.is_exhausted()), (0, true));
    }
}
