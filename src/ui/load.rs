//! [`Load`]: what every drive reads right now, and the source.

use std::collections::BTreeMap;

use crate::{
    counters::Rates,
    machine::Machine,
    model::{DriveName, Limits, NodeIndex},
};

/// Source of the rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadSource {
    /// None: a capture, or no counters yet.
    #[default]
    Nothing,
    /// The kernel's disk counters.
    Counters,
    /// The test in progress counts its own reads.
    Test,
}

/// Bytes read per second, by drive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Load {
    /// Source of the rates.
    pub source: LoadSource,
    drives: BTreeMap<DriveName, f64>,
}

impl Load {
    /// From disk counters.
    pub fn from_rates(rates: &Rates) -> Self {
        let drives = rates.disks.iter().map(|(name, disk)| (name.clone(), disk.read_bytes)).collect();
        Self { source: LoadSource::Counters, drives }
    }

    /// From a test's own counts.
    pub fn from_test(drives: impl IntoIterator<Item = (DriveName, f64)>) -> Self {
        let mut load = Self { source: LoadSource::Test, drives: BTreeMap::new() };
        for (drive, rate) in drives {
            *load.drives.entry(drive).or_default() += rate;
        }
        load
    }

    /// Bytes per second of these drives together.
    pub fn of(&self, drives: &[DriveName]) -> f64 {
        drives.iter().filter_map(|drive| self.drives.get(drive)).fold(0.0, |sum, rate| sum + rate)
    }

    /// Whether anything is being read at all worth a bar: more than 1 MB/s.
    pub fn is_busy(&self) -> bool {
        self.drives.values().sum::<f64>() > 1e6
    }
}

/// What `drives` below a place could read together if nothing but their own paths held them back; namespaces of one
/// controller and disks of one host adapter share theirs. `None` when one of them is unknown.
pub fn possible(machine: &Machine, limits: &Limits, drives: &[DriveName]) -> Option<f64> {
    let function = |name: &DriveName| machine.drive(name).and_then(|drive| drive.node);
    let apart = drives.iter().filter(|name| function(name).is_none());
    let shared: BTreeMap<NodeIndex, &DriveName> =
        drives.iter().filter_map(|name| Some((function(name)?, name))).collect();
    apart
        .chain(shared.into_values())
        .map(|drive| limits.drive(drive).map(|limit| limit.bytes_per_second.0))
        .sum()
}

/// The limit of a place, in bytes per second.
pub fn hop_limit(limits: &Limits, node: NodeIndex) -> Option<f64> {
    limits.hop(node).map(|limit| limit.bytes_per_second.0).filter(|limit| *limit > 0.0)
}
