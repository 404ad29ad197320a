//! How many reads are handed over, and how many completions waited for, in one call.
//!
//! Here: the policy, pure. Not here: the ring.

use crate::model::Workload;

/// One worker's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batching {
    submit: usize,
    wait: usize,
    pinned: bool,
}

impl Batching {
    /// Pinned by the workload, or adaptive.
    pub(super) fn new(workload: &Workload) -> Self {
        let depth = workload.depth.max(1) as usize;
        let pinned = |asked: Option<u32>| asked.map(|n| (n as usize).clamp(1, depth));
        Self {
            submit: pinned(workload.batch_submit).unwrap_or(depth),
            wait: pinned(workload.batch_complete_min).unwrap_or(depth.div_ceil(4)),
            pinned: workload.batch_complete_min.is_some(),
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
        self.wait.min(under_way)
    }

    /// In words, for [`crate::model::Effective::batch`].
    pub(super) fn words(&self) -> String {
        let Self { submit, wait, pinned } = self;
        if *pinned {
            format!("submits up to {submit}, waits for {wait}")
        } else {
            format!("adaptive, waits for {wait}")
        }
    }
}
