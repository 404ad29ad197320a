//! [`Inputs`] of checks, and helpers that several checks share.

use std::{collections::BTreeMap, fmt};

use crate::{
    capacity,
    counters::{DiskRates, Rates},
    machine::{Drive, DriveKind, Machine, PciNode, drive},
    model::{DriveName, FindingId, Limits, RunSummary, Severity, Workload},
    units::{BytesPerSecond, UnitSystem, counted, names_of},
};

use super::{Gain, Subject, validity::RunMonitor};

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
    /// Findings of the machine that this one is compared with.
    pub known: Option<Known<'a>>,
}

/// Findings of another machine, by id, title and subjects: a comparison shows none of them, so that they need no gain.
#[derive(Clone, Copy)]
pub struct Known<'a>(pub(crate) &'a dyn Fn(FindingId, &str, &[Subject]) -> bool);

impl fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
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

/// Whether a drive does more than an idle system's log.
fn is_moving(disk: &DiskRates) -> bool {
    const BYTES: f64 = 2e6;
    const IOS: f64 = 200.0;
    disk.read_bytes + disk.written_bytes >= BYTES || disk.reads + disk.writes >= IOS
}

/// Whether a drive has one read in flight most of the time, one after another.
pub fn is_one_at_a_time(disk: &DiskRates) -> bool {
    const IN_FLIGHT: std::ops::RangeInclusive<f64> = 0.5..=1.05;
    const READS: f64 = 500.0;
    disk.reads >= READS && disk.reads >= 10.0 * disk.writes && IN_FLIGHT.contains(&disk.queue_depth)
}

/// Interrupts per second by number of CPU: columns of /proc/interrupts are the online CPUs.
pub(super) fn interrupts_by_cpu(rates: &Rates) -> BTreeMap<u32, f64> {
    let known = rates.columns.len() == rates.interrupts.len();
    let numbers: Vec<u32> = if known { rates.columns.clone() } else { rates.cpus.keys().copied().collect() };
    numbers.into_iter().zip(rates.interrupts.iter().copied()).collect()
}

impl<'a> Inputs<'a> {
    /// A machine without counters and tests.
    pub const fn at_rest(machine: &'a Machine, limits: &'a Limits) -> Self {
        Self { machine, limits, rates: None, load: None, units: UnitSystem::Decimal, known: None }
    }

    /// Whether it is one of the [`Known`].
    pub(super) fn is_known(&self, id: FindingId, title: &str, subjects: &[Subject]) -> bool {
        self.known.is_some_and(|Known(is_known)| is_known(id, title, subjects))
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
            out_of_reach: None,
        }
    }

    pub(super) fn nvme(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.drives.iter().filter(|drive| drive.kind == DriveKind::Nvme)
    }

    /// NVMe drives and multipath paths: every block device with its own queue.
    pub(super) fn nvme_queues(&self) -> impl Iterator<Item = &'a Drive> {
        self.nvme().chain(&self.machine.paths)
    }

    /// Those, and flash drives that a RAID controller or host adapter shows as SCSI disks.
    pub(super) fn flash_queues(&self) -> impl Iterator<Item = &'a Drive> {
        let machine = self.machine;
        self.nvme_queues()
            .chain(machine.drives.iter().filter(move |drive| machine.is_behind_controller(drive)))
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

    /// Whether the test reads from this drive; without a test, whether anything reads or writes it.
    pub(super) fn is_loaded(&self, drive: &DriveName) -> bool {
        self.is_tested(drive) || self.live_disk(drive).is_some()
    }

    /// What anybody but a test reads and writes on this drive, if that is enough to judge by.
    pub(super) fn live_disk(&self, drive: &DriveName) -> Option<&'a DiskRates> {
        let rates = self.rates.filter(|_| self.load.is_none())?;
        rates.disks.get(drive).filter(|disk| is_moving(disk))
    }

    /// Whether the load suffices to judge what only load can show: any drive reads or writes.
    pub(super) fn has_live_load(&self) -> bool {
        self.machine.hardware_drives().any(|drive| self.live_disk(&drive.name).is_some())
    }

    /// Whether without a test a drive completes one I/O after another.
    pub(super) fn has_live_depth_one(&self) -> bool {
        self.machine.hardware_drives().any(|drive| self.live_disk(&drive.name).is_some_and(is_one_at_a_time))
    }

    /// NVMe drives with one I/O in flight: by the test's options, without a test by the counters.
    pub(super) fn nvme_at_depth_one(&self) -> impl Iterator<Item = &'a Drive> {
        self.hardware_at_depth_one().filter(|drive| drive.kind == DriveKind::Nvme)
    }

    /// The same of all hardware.
    pub(super) fn hardware_at_depth_one(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.hardware_drives().filter(|drive| match self.load {
            Some(_) => self.is_depth_one() && self.is_tested(&drive.name),
            None => self.live_disk(&drive.name).is_some_and(is_one_at_a_time),
        })
    }

    /// Bytes per second that hardware drives read without a test; `None` without a load.
    pub(super) fn live_reads(&self) -> Option<f64> {
        let disks: Vec<&DiskRates> =
            self.machine.hardware_drives().filter_map(|drive| self.live_disk(&drive.name)).collect();
        (!disks.is_empty()).then(|| disks.iter().map(|disk| disk.read_bytes).sum())
    }

    pub(super) fn loaded_nvme(&self) -> impl Iterator<Item = &'a Drive> {
        self.nvme().filter(|drive| self.is_loaded(&drive.name))
    }

    /// Block devices with their own queue that the test reads from; without a test those that anything reads.
    pub(super) fn loaded_queues(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.hardware_drives().chain(&self.machine.paths).filter(|drive| self.is_loaded(&drive.name))
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

    /// The severity of a gain in bytes per second.
    pub(super) fn weigh(&self, gain: f64) -> Severity {
        severity(gain, self.total())
    }
}

/// The severity of a gain over what all drives read today: high from 15 % of the rate with it, a warning above 3 %.
pub(super) fn severity(gain: f64, today: f64) -> Severity {
    let could = today + gain;
    match if could > 0.0 { gain / could } else { 0.0 } {
        share if share >= 0.15 => Severity::High,
        share if share > 0.03 => Severity::Warning,
        _ => Severity::Info,
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

/// A port with the board's name of its slot: `PCIEX16_2 (0000:00:03.1)`; its address alone where it has none.
pub(super) fn place(port: &PciNode) -> String {
    match &port.slot {
        Some(slot) => format!("{slot} ({})", port.address),
        None => port.address.to_string(),
    }
}

/// `1 drive`, `8 drives`; the namespaces of one controller are one.
pub(super) fn count_drives(drives: &[&Drive]) -> String {
    counted(drive::count(drives.iter().copied()), "drive")
}

/// Names in a sentence: `nvme0n1`, `nvme0n1 and nvme1n1`, `10 drives (nvme0n1 ... nvme9n1)`.
pub(super) fn names(drives: &[&Drive]) -> String {
    match drives {
        [] => "no drive".to_owned(),
        [first, second, third] => format!("{}, {} and {}", first.name, second.name, third.name),
        drives => {
            let all_are_drives = drive::count(drives.iter().copied()) == drives.len();
            let thing = if all_are_drives { "drive" } else { "namespace" };
            names_of(&counted(drives.len(), thing), drives.iter().map(|drive| drive.name.as_str()))
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
