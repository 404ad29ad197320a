//! [`IoLimit`], [`CpuQuota`] and [`MemoryLimit`]: what a control group allows of one device, of the CPUs and of memory.

use std::sync::Arc;

use crate::text::Label;

/// A limit on one device that a control group sets, or one above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoLimit {
    /// The file that sets it: `/sys/fs/cgroup/a/io.max`.
    pub path: Arc<str>,
    /// `major:minor` of the whole device.
    pub device: Label,
    /// The limited quantity.
    pub kind: LimitKind,
    /// In the kind's unit.
    pub value: u64,
}

/// CPU time that a control group allows, or one above it.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuQuota {
    /// The file that sets it: `/sys/fs/cgroup/a/cpu.max`.
    pub path: Arc<str>,
    /// CPUs that all its processes together may keep busy.
    pub cpus: f64,
}

/// A memory limit that a control group sets, or one above it, and reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The file that sets it: `/sys/fs/cgroup/a/memory.max`.
    pub path: Arc<str>,
    /// Bytes.
    pub bytes: u64,
    /// How often the group reached it between the last two samples (`memory.events`, `memory.failcnt`).
    pub reached: u64,
}

/// What its control groups and its affinity allow a process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupLimits {
    /// Of devices.
    pub io: Vec<IoLimit>,
    /// The least CPU time of the group and those above it.
    pub cpu: Option<CpuQuota>,
    /// The memory limit of the group and those above it that is reached most often.
    pub memory: Option<MemoryLimit>,
    /// The CPU that it runs on alone (`Cpus_allowed_list` of `/proc/PID/status`), where it is pinned to one.
    pub only_cpu: Option<u32>,
}

/// A quantity that a control group limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Bytes read per second (`rbps` of `io.max`, `blkio.throttle.read_bps_device`).
    ReadBytes,
    /// Requests read per second (`riops` of `io.max`, `blkio.throttle.read_iops_device`).
    ReadIops,
    /// Bytes written per second (`wbps` of `io.max`, `blkio.throttle.write_bps_device`).
    WrittenBytes,
    /// Requests written per second (`wiops` of `io.max`, `blkio.throttle.write_iops_device`).
    WriteIops,
    /// Latency for which the kernel delays others' I/O, microseconds (`target` of `io.latency`).
    Latency,
}

impl LimitKind {
    /// Whether it is one of writes alone.
    pub const fn is_of_writes(self) -> bool {
        matches!(self, Self::WrittenBytes | Self::WriteIops)
    }
}
