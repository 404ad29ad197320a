//! Counts of workers: reads, latencies, CPU time.

pub mod histogram;
pub(crate) mod usage;
pub(crate) mod worker_stats;
