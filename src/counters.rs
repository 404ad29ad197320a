//! Counters that only ever grow, and the rates between two looks at them.
//!
//! Here: [`Counters`] as read at one moment, [`Rates`], and the pure [`rates`] between them. Not here: reading
//! (`source::counters`), the clock, keeping history.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    model::{DriveName, PciAddress},
    text::Label,
};

/// Counters at one moment. What could not be read is empty or `None`, never zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    /// All CPUs together (`/proc/stat`, first row), in `USER_HZ` ticks.
    pub cpu: Option<CpuTimes>,
    /// Each CPU by number.
    pub cpus: BTreeMap<u32, CpuTimes>,
    /// `processes` of `/proc/stat`: forks since boot.
    pub forks: Option<u64>,
    /// `ctxt`.
    pub context_switches: Option<u64>,
    /// `procs_running` now.
    pub running: Option<u64>,
    /// `procs_blocked` now.
    pub blocked: Option<u64>,
    /// `/proc/meminfo`.
    pub memory: Option<Memory>,
    /// `/proc/diskstats` by kernel name.
    pub disks: BTreeMap<DriveName, DiskCounters>,
    /// Interrupts of NVMe vectors: name (`nvme0q1`) to count per CPU column.
    pub vectors: BTreeMap<Label, Vec<u64>>,
    /// All interrupts per CPU.
    pub interrupts: Vec<u64>,
    /// `aer_dev_correctable` totals.
    pub aer: BTreeMap<PciAddress, u64>,
}

/// Ticks of one CPU, columns of `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the columns of /proc/stat, named as there (proc_stat(5))")]
pub struct CpuTimes {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

/// Memory now, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "dstat's columns")]
pub struct Memory {
    pub used: u64,
    pub free: u64,
    pub buffers: u64,
    pub cached: u64,
}

/// One row of `/proc/diskstats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent reading, summed over requests.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Milliseconds spent writing, summed over requests.
    pub write_ms: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// Weighted milliseconds: growth per second over 1000 is the mean queue depth.
    pub weighted_ms: u64,
}

/// What happened per second between two looks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rates {
    /// The time between them.
    pub elapsed: Duration,
    /// Shares of all CPUs, percent.
    pub cpu: Option<CpuShares>,
    /// Shares of each CPU.
    pub cpus: BTreeMap<u32, CpuShares>,
    /// Runnable and blocked processes at the later look, forks per second.
    pub running: Option<u64>,
    /// See `running`.
    pub blocked: Option<u64>,
    /// See `running`.
    pub forks: Option<f64>,
    /// Context switches per second.
    pub context_switches: Option<f64>,
    /// Memory at the later look.
    pub memory: Option<Memory>,
    /// Each disk.
    pub disks: BTreeMap<DriveName, DiskRates>,
    /// Interrupts per second of NVMe vectors, summed over CPUs.
    pub vectors: BTreeMap<Label, f64>,
    /// All interrupts per second, by CPU column.
    pub interrupts: Vec<f64>,
    /// Correctable PCI Express errors per second.
    pub aer: BTreeMap<PciAddress, f64>,
}

/// Shares of CPU time, percent of one CPU's (or all CPUs') time; they add up to 100.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(missing_docs, reason = "dstat's columns: usr sys idl wai stl, and irq as it counts in sys there")]
pub struct CpuShares {
    pub usr: f64,
    pub sys: f64,
    pub idl: f64,
    pub wai: f64,
    pub stl: f64,
    /// Hard and soft interrupt time, also contained in `sys`.
    pub irq: f64,
}

/// One disk's rates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiskRates {
    /// Reads per second.
    pub reads: f64,
    /// Bytes read per second.
    pub read_bytes: f64,
    /// Writes per second.
    pub writes: f64,
    /// Bytes written per second.
    pub written_bytes: f64,
    /// Milliseconds per read; `None` without reads.
    pub read_await_ms: Option<f64>,
    /// Mean requests under way.
    pub queue_depth: f64,
}
