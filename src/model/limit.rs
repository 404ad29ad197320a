//! Limits of links, paths, drives and CPUs, with their sources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::{DriveName, NodeIndex};
use crate::units::{Bytes, BytesPerSecond};

/// Source of a limit, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Reached by a test on this machine.
    Measured,
    /// Published for this part; `because` names the source.
    Published,
    /// Arithmetic over a link's speed, width, encoding and payload size.
    Link,
    /// A table of `assets/`, for links that the operating system cannot see.
    Table,
}

/// A limit with its reason in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Payload bytes per second in the direction of reads.
    pub bytes_per_second: BytesPerSecond,
    /// The source's kind.
    pub basis: Basis,
    /// The reason: `16 GT/s x4 at MPS 256, port 0000:40:01.4`.
    pub because: String,
    /// The node whose link or bridge sets it.
    #[serde(skip)]
    pub node: Option<NodeIndex>,
}

/// CPU cost of reads: cycles of a core per request, by block size.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorLimit {
    /// Number of online hardware threads.
    pub threads: u32,
    /// Number of cores they belong to.
    pub cores: u32,
    /// Clock of a core under load.
    pub hertz: f64,
    /// Cycles per request of a single worker, by block size, ascending.
    pub alone: Vec<(Bytes, f64)>,
    /// The same of several workers.
    pub together: Vec<(Bytes, f64)>,
    /// Beyond the last point, cost grows with this power of the size.
    pub growth: f64,
    /// Costs that depend on the kernel's way of reading more than on the CPU.
    pub path: ReadPath,
    /// Error of published costs, as a share in either direction.
    pub error: f64,
    /// Source of points that were not measured here.
    pub basis: Basis,
    /// CPU model and author of those points.
    pub because: String,
    /// Points measured on this machine.
    pub measured: Vec<MeasuredPoint>,
}

/// Published costs of the ways to read: SMT, schedulers, engines, polling, page cache.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadPath {
    /// Work of a core with all its hardware threads busy, as a multiple of one busy thread's.
    pub smt: CostFactor,
    /// Cost of a request to several workers at once, as a multiple of one worker's.
    pub several: CostFactor,
    /// Polled instead of interrupt-driven completions.
    pub polled: CostFactor,
    /// By scheduler. One without a row has no published cost.
    pub scheduler: Vec<CostFactor>,
    /// By engine, against io_uring.
    pub engine: Vec<CostFactor>,
    /// Reads through the page cache.
    pub page_cache: PageCacheCost,
}

/// Multiplies the cost of a request, then adds cycles.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostFactor {
    /// Of the scheduler or engine.
    #[serde(default)]
    pub name: String,
    /// The factor.
    pub factor: f64,
    /// The added cycles.
    #[serde(default)]
    pub cycles: f64,
    /// Its error, as a share in either direction.
    pub error: f64,
    /// Who published it.
    pub source: String,
}

/// Cycles of a core per byte read through the page cache.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageCacheCost {
    /// With free memory: pages are allocated and copied.
    pub free: f64,
    /// With memory full of pages: each new page replaces another, under locks that all CPUs contend for.
    pub full: f64,
    /// The error of both, as a share in either direction.
    pub error: f64,
    /// Who published it.
    pub source: String,
}

/// State of memory during buffered reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageCache {
    /// Free memory is left for new pages.
    Free,
    /// Memory is full of pages, as after reading as many bytes as it holds.
    #[default]
    Full,
}

/// A cost measured by a test on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredPoint {
    /// Bytes of a request.
    pub request: Bytes,
    /// Whether several workers ran.
    pub together: bool,
    /// The run.
    pub run: String,
}

/// All limits of a machine. Without an entry the limit of a node or drive is unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// Of the link above each node (the hop towards the root complex); for a root complex, its own. Behind an Intel chipset,
    /// the entry of a port on the root bus is DMI, which all of them share: its `node` is the chipset's bridge.
    pub hops: BTreeMap<NodeIndex, Limit>,
    /// Of the whole path from each node to its root complex: the lowest hop.
    pub paths: BTreeMap<NodeIndex, Limit>,
    /// Of each drive: the lower of its path's and its own limit. An NVMe drive without a known link on its path and without
    /// an own limit has no entry.
    pub drives: BTreeMap<DriveName, Limit>,
    /// Of each drive itself (published or measured), whatever its slot.
    pub own: BTreeMap<DriveName, Limit>,
    /// Reads per second of each drive (published or measured), with the source.
    pub drive_iops: BTreeMap<DriveName, (f64, Basis, String)>,
    /// Share of a hop's limit (first key) per byte of a function's drives (second key), if not 1. Drives with different
    /// packet sizes share that hop.
    pub byte_shares: BTreeMap<(NodeIndex, NodeIndex), f64>,
    /// Hops whose limit a test on this machine exceeded, with a sentence about it. They have no entry in `hops`.
    pub refuted: BTreeMap<NodeIndex, String>,
    /// Rate of all drives below a node at once over the node's own limit; 1.0 is just enough.
    pub oversubscription: BTreeMap<NodeIndex, f64>,
    /// CPU cost of reads.
    pub processors: Option<ProcessorLimit>,
    /// State of memory that buffered reads are judged by: full, unless the caller knows better.
    pub page_cache: PageCache,
    /// Of memory, if its channels are known.
    pub memory: Option<Limit>,
}

impl Basis {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Link => "link",
            Self::Table => "table",
        }
    }
}

impl Limits {
    /// The limit of the link above `node`.
    pub fn hop(&self, node: NodeIndex) -> Option<&Limit> {
        self.hops.get(&node)
    }

    /// The limit of the path from `node` to its root complex.
    pub fn path(&self, node: NodeIndex) -> Option<&Limit> {
        self.paths.get(&node)
    }

    /// Share of the limit of the hop above `node` per byte of the drives of `function`.
    pub fn byte_share(&self, node: NodeIndex, function: NodeIndex) -> f64 {
        self.byte_shares.get(&(node, function)).copied().unwrap_or(1.0)
    }

    /// Whether a rate of `drive` is known, by its own figures or by a link on its path. Limits that it shares with other
    /// drives, a root complex's or a chipset's, are upper bounds and no rate.
    pub fn is_rated(&self, drive: &DriveName) -> bool {
        self.drives.contains_key(drive) || self.drive_iops.contains_key(drive)
    }

    /// The limit of `drive`.
    pub fn drive(&self, drive: &DriveName) -> Option<&Limit> {
        self.drives.get(drive)
    }
}

impl ProcessorLimit {
    /// Cycles of a core per request of that size.
    pub fn cycles(&self, request: Bytes, workers: u32) -> f64 {
        between(if workers <= 1 { &self.alone } else { &self.together }, request, self.growth)
    }

    /// The source of [`Self::cycles`], in words.
    pub fn source(&self, request: Bytes, workers: u32) -> (Basis, String) {
        let point =
            self.measured.iter().find(|point| point.request == request && point.together == (workers > 1));
        point.map_or_else(
            || (self.basis, self.because.clone()),
            |point| (Basis::Measured, format!("measured here: {}", point.run)),
        )
    }

    /// Maximum requests per second of `workers` with one thread each.
    pub fn iops(&self, request: Bytes, workers: u32) -> f64 {
        self.capacity(workers) / self.cycles(request, workers).max(1.0)
    }

    /// Cycles per second of cores that so many busy threads do work with. Threads run on cores of their own first; SMT
    /// siblings add what [`ReadPath::smt`] says.
    pub fn capacity(&self, threads: u32) -> f64 {
        self.work_of(f64::from(threads)) * self.hertz
    }

    /// Cores that would do the work of so many busy threads without siblings.
    pub fn work_of(&self, threads: f64) -> f64 {
        let (threads, cores) = (threads.min(f64::from(self.threads)), f64::from(self.cores.max(1)));
        threads.min(cores) + (threads - cores).max(0.0) * self.sibling()
    }

    /// Busy threads that do this work, cycles per second; the inverse of [`Self::capacity`].
    pub fn busy_threads(&self, cycles: f64) -> f64 {
        let (work, cores) = (cycles / self.hertz.max(1.0), f64::from(self.cores.max(1)));
        let beyond = (work - cores).max(0.0);
        let siblings = if beyond > 0.0 { beyond / self.sibling().max(f64::EPSILON) } else { 0.0 };
        (work.min(cores) + siblings).min(f64::from(self.threads))
    }

    /// Work that a sibling adds to a core, as a share of a core's.
    fn sibling(&self) -> f64 {
        let siblings = self.threads.saturating_sub(self.cores);
        let gain = (self.path.smt.factor - 1.0).max(0.0);
        if siblings == 0 { 1.0 } else { (gain * f64::from(self.cores) / f64::from(siblings)).min(1.0) }
    }
}

/// Interpolates on logarithmic scales; constant below the first point, a power of the size beyond the last.
fn between(points: &[(Bytes, f64)], at: Bytes, growth: f64) -> f64 {
    let after = points.partition_point(|(size, _)| *size < at);
    let ratio = |from: Bytes| at.0.max(1) as f64 / from.0.max(1) as f64;
    match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
        (Some((low, from)), Some((high, to))) => {
            let decades = |from: f64, to: f64| (to.max(1.0) / from.max(1.0)).ln();
            let share = decades(low.0 as f64, at.0 as f64) / decades(low.0 as f64, high.0 as f64);
            from.max(1.0) * (decades(*from, *to) * share).exp()
        }
        (Some((last, value)), None) => value * ratio(*last).powf(growth),
        (None, Some((_, value))) => *value,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(threads: u32, cores: u32) -> ProcessorLimit {
        ProcessorLimit {
            threads,
            cores,
            hertz: 3.9e9,
            alone: vec![(Bytes(4096), 8_667.0)],
            together: vec![(Bytes(4096), 10_000.0), (Bytes(8192), 20_000.0), (Bytes(131_072), 40_000.0)],
            growth: 0.5,
            path: ReadPath {
                smt: CostFactor { factor: 1.15, ..CostFactor::default() },
                ..ReadPath::default()
            },
            error: 0.1,
            basis: Basis::Published,
            because: String::new(),
            measured: Vec::new(),
        }
    }

    #[test]
    fn costs_are_straight_on_logarithmic_scales_and_go_on_as_a_power_of_the_size() {
        let cost = limit(32, 16);
        for (size, cycles) in [
            (512, 10e3),
            (4096, 10e3),
            (6144, 15e3),
            (8192, 20e3),
            (32_768, 800e6_f64.sqrt()),
            (131_072 * 16, 160e3),
        ] {
            assert!((cost.cycles(Bytes(size), 3) - cycles).abs() < 1e-6, "{size}");
        }
        assert!((cost.iops(Bytes(4096), 1) - 450e3).abs() < 100.0);
    }

    #[test]
    fn smt_siblings_add_a_part_of_a_core() {
        let cost = limit(32, 16);
        for (workers, cores) in [(1, 1.0), (16, 16.0), (24, 17.2), (32, 18.4), (64, 18.4)] {
            assert!((cost.capacity(workers) / 3.9e9 - cores).abs() < 1e-9, "{workers}");
        }
        assert!((cost.iops(Bytes(4096), 64) - 18.4 * 3.9e9 / 1e4).abs() < 1.0);
        assert!((limit(16, 16).capacity(16) / 3.9e9 - 16.0).abs() < 1e-9, "without SMT");
    }

    proptest::proptest! {
        #[test]
        fn busy_threads_are_the_inverse_of_capacity(
            cores in 1_u32..128, per_core in 1_u32..5, busy in 0_u32..512,
        ) {
            let cost = limit(cores * per_core, cores);
            let busy = busy.min(cost.threads);
            let back = cost.busy_threads(cost.capacity(busy));
            proptest::prop_assert!((back - f64::from(busy)).abs() < 1e-6, "{} {}", back, busy);
            proptest::prop_assert!(cost.busy_threads(f64::MAX / 1e300) >= 0.0);
        }
    }
}
