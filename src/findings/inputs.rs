//! [`Inputs`] of checks, and helpers that several checks share.

use std::collections::BTreeMap;

use crate::{
    capacity,
    counters::Rates,
    machine::{Drive, DriveKind, Machine, drive},
    model::{DriveName, Limits, RunSummary, Severity, Workload},
    units::{BytesPerSecond, UnitSystem, counted},
};

use super::{Gain, validity::RunMonitor};

/// The inputs of checks.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The limits of its hops, paths and drives.
    pub limits: &'a Limits,
    /// Rates during the test, or of the last sample.
    pub rates: Option<&'a Rates>,
    /// The running or last test.
    pub load: Option<Load<'a>>,
    /// Units of rates in sentences.
    pub units: UnitSystem,
}

/// A test.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Its options.
    pub workload: &'a Workload,
    /// Its result, once it ended.
    pub summary: Option<&'a RunSummary>,
    /// Other activity during it, if monitored.
    pub watch: Option<&'a RunMonitor>,
}

/// Whether a test keeps one read in flight per drive.
pub fn is_depth_one(workload: &Workload) -> bool {
    workload.depth == 1 && workload.jobs == 1
}

impl<'a> Inputs<'a> {
    /// A machine without counters and tests.
    pub const fn at_rest(machine: &'a Machine, limits: &'a Limits) -> Self {
        Self { machine, limits, rates: None, load: None, units: UnitSystem::Decimal }
    }

    pub(super) fn rate(&self, rate: f64) -> String {
        self.units.rate(BytesPerSecond(rate))
    }

    pub(super) fn gain(&self, rate: f64, source: impl Into<String>) -> Gain {
        Gain {
            text: format!("about +{}", self.rate(rate)),
            source: source.into(),
            estimate: true,
            bytes_per_second: Some(rate),
            iops: None,
        }
    }

    pub(super) fn nvme(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.drives.iter().filter(|drive| drive.kind == DriveKind::Nvme)
    }

    /// NVMe drives and multipath paths: every block device with its own queue.
    pub(super) fn nvme_queues(&self) -> impl Iterator<Item = &'a Drive> {
        self.nvme().chain(&self.machine.paths)
    }

    /// Whether the test reads from this drive, directly or through this path.
    pub(super) fn is_tested(&self, drive: &DriveName) -> bool {
        let is_path_of = |head: &DriveName| {
            let nvme = self.machine.drive(head).and_then(|head| head.nvme.as_ref());
            nvme.is_some_and(|nvme| nvme.paths.contains(drive))
        };
        self.load.is_some_and(|load| {
            let mut targets = load.workload.targets.iter().filter_map(|target| target.drive.as_ref());
            targets.any(|target| target == drive || is_path_of(target))
        })
    }

    pub(super) fn tested_nvme(&self) -> impl Iterator<Item = &'a Drive> {
        self.nvme().filter(|drive| self.is_tested(&drive.name))
    }

    /// Block devices with their own queue that the test reads from.
    pub(super) fn tested_queues(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.hardware_drives().chain(&self.machine.paths).filter(|drive| self.is_tested(&drive.name))
    }

    /// Whether a test keeps one read in flight per drive, so that it measures latency.
    pub(super) fn is_depth_one(&self) -> bool {
        self.load.is_some_and(|load| is_depth_one(load.workload))
    }

    /// Whether all CPUs are busy, if counters are known.
    pub(super) fn is_cpu_full(&self) -> bool {
        self.rates.and_then(|rates| rates.cpu).is_some_and(|cpu| cpu.idl + cpu.wai < 5.0)
    }

    pub(super) fn total(&self) -> f64 {
        total(self.machine, self.limits)
    }

    /// The severity of a gain in bytes per second: high from 15 % of the machine's rate with it, a warning above 3 %.
    pub(super) fn weigh(&self, gain: f64) -> Severity {
        let could = self.total() + gain;
        match if could > 0.0 { gain / could } else { 0.0 } {
            share if share >= 0.15 => Severity::High,
            share if share > 0.03 => Severity::Warning,
            _ => Severity::Info,
        }
    }
}

/// The rate of all drives together in bytes per second, as far as limits are known.
pub(super) fn total(machine: &Machine, limits: &Limits) -> f64 {
    capacity::total(machine, limits).at_most_bytes_per_second.0
}

pub(super) fn drives<'a, T>(found: &[(&'a Drive, T)]) -> Vec<&'a Drive> {
    found.iter().map(|(drive, _)| *drive).collect()
}

pub(super) fn grouped<K: Ord, V>(found: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in found {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// `1 drive`, `8 drives`; the namespaces of one controller are one.
pub(super) fn count_drives(drives: &[&Drive]) -> String {
    counted(drive::count(drives.iter().copied()), "drive")
}

/// Names in a sentence: `nvme0n1`, `nvme0n1 and nvme1n1`, `10 drives (nvme0n1 ... nvme9n1)`.
pub(super) fn names(drives: &[&Drive]) -> String {
    match drives {
        [] => "no drive".to_owned(),
        [one] => one.name.to_string(),
        [first, second] => format!("{} and {}", first.name, second.name),
        [first, second, third] => format!("{}, {} and {}", first.name, second.name, third.name),
        [first, .., last] => {
            let all_are_drives = drive::count(drives.iter().copied()) == drives.len();
            let thing = if all_are_drives { "drive" } else { "namespace" };
            format!("{} ({} ... {})", counted(drives.len(), thing), first.name, last.name)
        }
    }
}

pub(super) fn verb(drives: &[&Drive], one: &'static str, many: &'static str) -> &'static str {
    if drives.len() == 1 { one } else { many }
}

/// A command that writes `value` to `file` in the queue folder of each drive; `None` if a name is unsafe in a shell
/// (captures are untrusted).
pub(super) fn write_queue(drives: &[&Drive], file: &str, value: &str) -> Option<String> {
    let names = shell_names(drives)?;
    Some(format!("echo {value} | sudo tee /sys/block/{names}/queue/{file}"))
}

/// `nvme0n1`, `{nvme0n1,nvme1n1}`; `None` if a name contains characters special to a shell.
pub(super) fn shell_names(drives: &[&Drive]) -> Option<String> {
    let is_plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let names: Vec<_> = drives.iter().map(|drive| drive.name.as_str()).collect();
    match names.as_slice() {
        [] => None,
        names if !names.iter().all(|name| is_plain(name)) => None,
        [one] => Some((*one).to_owned()),
        many => Some(format!("{{{}}}", many.join(","))),
    }
}
