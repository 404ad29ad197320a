//! How many reads are handed over, and how many completions waited for, in one call.
//!
//! Here: the policy, pure. Not here: the ring.

use crate::model::Workload;

/// One worker's policy.
///
/// On a drive that is the bottleneck, waiting for every read under way lets its queue run dry, and waiting for one burns
/// a call and a wake-up per read: a quarter of the depth keeps the queue between three quarters and full. Where reads
/// come back as fast as the processor hands them over, all are there after any wait, and waiting for all of them costs
/// nothing and spares wake-ups. Which of the two it is shows in what short waits find; a few of them begin every round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batching {
    submit: usize,
    /// `None` adapts.
    pinned: Option<usize>,
    short: usize,
    full: usize,
    /// Calls of the present round so far.
    calls: u32,
    /// Completions found by its probes, and reads that were under way.
    found: usize,
    under_way: usize,
    /// What the present round waits for after its probes.
    wait: usize,
}

/// Calls of a round, and how many of them probe.
const ROUND: u32 = 128;
const PROBES: u32 = 8;

impl Batching {
    /// Pinned by the workload, or adaptive.
    pub(super) fn new(workload: &Workload) -> Self {
        let depth = workload.depth.max(1) as usize;
        let pinned = |asked: Option<u32>| asked.map(|n| (n as usize).clamp(1, depth));
        let short = depth.div_ceil(4);
        Self {
            submit: pinned(workload.batch_submit).unwrap_or(depth),
            pinned: pinned(workload.batch_complete_min),
            short,
            full: depth,
            calls: 0,
            found: 0,
            under_way: 0,
            wait: short,
        }
    }

    /// Most reads handed over in one call.
    #[inline]
    pub(super) fn submit(&self) -> usize {
        self.submit
    }

    /// Completions waited for with so many reads under way.
    #[inline]
    pub(super) fn wait(&self, under_way: usize) -> usize {
        let wait = self.pinned.unwrap_or(if self.calls < PROBES { self.short } else { self.wait });
        wait.min(under_way)
    }

    /// What the last call found, of so many reads under way.
    #[inline]
    pub(super) fn observe(&mut self, found: usize, under_way: usize) {
        if self.calls < PROBES {
            self.found += found;
            self.under_way += under_way;
        }
        self.calls += 1;
        if self.calls == PROBES {
            self.wait = if self.found * 8 >= self.under_way * 7 { self.full } else { self.short };
        } else if self.calls == ROUND {
            (self.calls, self.found, self.under_way) = (0, 0, 0);
        }
    }

    /// In words, for [`crate::model::Effective::batch`].
    pub(super) fn words(&self) -> String {
        match self.pinned {
            Some(wait) => format!("submits up to {}, waits for {wait}", self.submit),
            None => format!("adaptive, waits for {}", self.wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a worker at depth 32 waits for in a long run over something that has `found(wait)` reads back.
    fn waits(batching: &mut Batching, found: impl Fn(usize) -> usize) -> Vec<usize> {
        (0..10 * ROUND)
            .map(|_| {
                let wait = batching.wait(32);
                batching.observe(found(wait), 32);
                wait
            })
            .collect()
    }

    #[test]
    fn a_slow_drive_is_waited_for_by_quarters_and_a_fast_one_in_full() {
        let mut batching = Batching::new(&Workload::default());
        assert!(waits(&mut batching, |wait| wait).iter().all(|wait| *wait == 8));
        let fast = waits(&mut batching, |_| 32);
        assert!(fast.iter().filter(|wait| **wait == 32).count() > fast.len() * 9 / 10);
        assert_eq!(batching.words(), "adaptive, waits for 32");
        let slow = waits(&mut batching, |wait| wait.max(9));
        assert!(slow.iter().all(|wait| *wait == 8), "what was fast can become slow");
    }

    #[test]
    fn what_is_pinned_stays_within_the_depth() {
        let workload =
            Workload { depth: 4, batch_submit: Some(2), batch_complete_min: Some(9), ..Workload::default() };
        let batching = Batching::new(&workload);
        assert_eq!((batching.submit(), batching.wait(4), batching.wait(1)), (2, 4, 1));
        assert_eq!(batching.words(), "submits up to 2, waits for 4");
    }

    #[test]
    fn no_more_is_waited_for_than_is_under_way() {
        let batching = Batching::new(&Workload { depth: 1, ..Workload::default() });
        assert_eq!((batching.submit(), batching.wait(1)), (1, 1));
    }
}
