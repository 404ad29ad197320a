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

/// CPU cost of reads: cycles of one hardware thread per request, by block size.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorLimit {
    /// Number of online hardware threads.
    pub threads: u32,
    /// Clock of one under load.
    pub hertz: f64,
    /// Cycles per request of a single worker, by block size, ascending.
    pub alone: Vec<(Bytes, f64)>,
    /// The same of several workers.
    pub together: Vec<(Bytes, f64)>,
    /// Source of points that were not measured here.
    pub basis: Basis,
    /// CPU model and author of those points.
    pub because: String,
    /// Points measured on this machine.
    pub measured: Vec<MeasuredPoint>,
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
    /// Of each drive: the lower of its path's and its own limit.
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

    /// The limit of `drive`.
    pub fn drive(&self, drive: &DriveName) -> Option<&Limit> {
        self.drives.get(drive)
    }
}

impl ProcessorLimit {
    /// Cycles of one hardware thread per request of that size.
    pub fn cycles(&self, request: Bytes, workers: u32) -> f64 {
        between(if workers <= 1 { &self.alone } else { &self.together }, request)
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
        f64::from(workers.min(self.threads)) * self.hertz / self.cycles(request, workers).max(1.0)
    }
}

/// Interpolates on logarithmic scales; constant beyond the ends.
fn between(points: &[(Bytes, f64)], at: Bytes) -> f64 {
    let after = points.partition_point(|(size, _)| *size < at);
    match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
        (Some((low, from)), Some((high, to))) => {
            let decades = |from: f64, to: f64| (to.max(1.0) / from.max(1.0)).ln();
            let share = decades(low.0 as f64, at.0 as f64) / decades(low.0 as f64, high.0 as f64);
            from.max(1.0) * (decades(*from, *to) * share).exp()
        }
        (Some((_, value)), None) | (None, Some((_, value))) => *value,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_straight_on_logarithmic_scales_between_points_and_flat_beyond() {
        let cost = ProcessorLimit {
            threads: 32,
            hertz: 3.9e9,
            alone: vec![(Bytes(4096), 8_667.0)],
            together: vec![(Bytes(4096), 10_000.0), (Bytes(8192), 20_000.0), (Bytes(131_072), 40_000.0)],
            basis: Basis::Published,
            because: String::new(),
            measured: Vec::new(),
        };
        for (size, cycles) in [
            (512, 10e3),
            (4096, 10e3),
            (6144, 15e3),
            (8192, 20e3),
            (32_768, 800e6_f64.sqrt()),
            (1 << 20, 40e3),
        ] {
            assert!((cost.cycles(Bytes(size), 3) - cycles).abs() < 1e-6, "{size}");
        }
        assert!((cost.iops(Bytes(4096), 1) - 450e3).abs() < 100.0);
        assert!(
            (cost.iops(Bytes(4096), 64) - 32.0 * 3.9e9 / 1e4).abs() < 1.0,
            "no more workers than threads at once"
        );
    }
}
