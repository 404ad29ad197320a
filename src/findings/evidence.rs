//! [`Evidence`]: what checks read, and helpers that several checks share.

use crate::{
    capacity,
    counters::Rates,
    machine::{Drive, DriveKind, Machine, drive},
    model::{DriveName, Limits, NodeIndex, RunSummary, Severity, Workload},
    units::{BytesPerSecond, UnitSystem, counted},
};

use super::{Gain, validity::Watch};

/// What there is to judge by.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What its places can carry.
    pub limits: &'a Limits,
    /// What happened while somebody counted: during the test, or in the last second or so.
    pub rates: Option<&'a Rates>,
    /// The test that runs, or the one that was just run.
    pub load: Option<Load<'a>>,
    /// What rates in sentences are written in.
    pub units: UnitSystem,
}

/// A test.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// What it does.
    pub workload: &'a Workload,
    /// How it ended, if it has.
    pub summary: Option<&'a RunSummary>,
    /// What went on beside it, if somebody watched.
    pub watch: Option<&'a Watch>,
}

/// Whether a test makes one read at a time on each drive: then what delays single reads shows.
pub fn is_depth_one(workload: &Workload) -> bool {
    workload.depth == 1 && workload.jobs == 1
}

impl<'a> Evidence<'a> {
    /// A machine that does nothing: no counters, no test.
    pub const fn at_rest(machine: &'a Machine, limits: &'a Limits) -> Self {
        Self { machine, limits, rates: None, load: None, units: UnitSystem::Decimal }
    }

    /// A rate in a sentence, bytes per second.
    pub(super) fn rate(&self, rate: f64) -> String {
        self.units.rate(BytesPerSecond(rate))
    }

    /// A gain of so many bytes per second, and whose figure that is.
    pub(super) fn gain(&self, rate: f64, source: impl Into<String>) -> Gain {
        Gain::rate(rate, self.units, source)
    }

    /// The NVMe drives, in bus order.
    pub(super) fn nvme(&self) -> impl Iterator<Item = &'a Drive> {
        self.machine.drives.iter().filter(|drive| drive.kind == DriveKind::Nvme)
    }

    /// The hardware drives at or below a node.
    pub(super) fn drives_below(&self, node: NodeIndex) -> Vec<&'a Drive> {
        let below = self.machine.pci.subtree(node);
        self.machine
            .hardware_drives()
            .filter(|drive| self.machine.functions_of(drive).iter().any(|at| below.contains(at)))
            .collect()
    }

    /// The NVMe drives and the paths to them: every block device with a queue of its own.
    pub(super) fn nvme_queues(&self) -> impl Iterator<Item = &'a Drive> {
        self.nvme().chain(&self.machine.paths)
    }

    /// Whether the test reads from this drive, or by this path.
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

    /// Whether a test runs that has one read under way at a time: latency is all it shows.
    pub(super) fn is_depth_one(&self) -> bool {
        self.load.is_some_and(|load| is_depth_one(load.workload))
    }

    /// Whether all processors are busy, as far as anybody counts.
    pub(super) fn is_cpu_full(&self) -> bool {
        self.rates.and_then(|rates| rates.cpu).is_some_and(|cpu| cpu.idl + cpu.wai < 5.0)
    }

    /// What all drives can read at once, as far as anything is known of them.
    pub(super) fn total(&self) -> f64 {
        total(self.machine, self.limits)
    }

    /// How much a gain of so many bytes per second matters here: high from 15 % of what the machine could do with it,
    /// a warning above 3 %.
    pub(super) fn weigh(&self, gain: f64) -> Severity {
        let could = self.total() + gain;
        match if could > 0.0 { gain / could } else { 0.0 } {
            share if share >= 0.15 => Severity::High,
            share if share > 0.03 => Severity::Warning,
            _ => Severity::Info,
        }
    }
}

/// What all drives of a machine can read at once, as far as anything is known of them, in bytes per second.
pub(super) fn total(machine: &Machine, limits: &Limits) -> f64 {
    capacity::total(machine, limits).at_most_bytes_per_second.0
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

/// A verb that agrees: `is` for one drive, `are` for many.
pub(super) fn verb(drives: &[&Drive], one: &'static str, many: &'static str) -> &'static str {
    if drives.len() == 1 { one } else { many }
}

/// A command that writes `value` to `file` below the queue folder of each drive; `None` when a name is not one that the
/// kernel would give (a capture is not to be trusted with a shell).
pub(super) fn write_queue(drives: &[&Drive], file: &str, value: &str) -> Option<String> {
    let names = shell_names(drives)?;
    Some(format!("echo {value} | sudo tee /sys/block/{names}/queue/{file}"))
}

/// `nvme0n1`, `{nvme0n1,nvme1n1}`: names a shell takes for what they are, or `None`.
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
