//! Parts of a workload: patterns, engines, completions, targets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ids::DriveName;

/// Order of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// `--rw=randread`.
    #[serde(rename = "randread")]
    Random,
    /// `--rw=read`.
    #[serde(rename = "read")]
    Sequential,
}

impl Pattern {
    /// Its name, fio's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "randread",
            Self::Sequential => "read",
        }
    }
}

/// How reads are submitted to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// io_uring.
    #[default]
    IoUring,
    /// NVMe passthrough through io_uring on /dev/ngXnY.
    IoUringCmd,
    /// Linux native AIO by raw system calls.
    Libaio,
    /// pread by one thread per slot of depth.
    Psync,
    /// POSIX AIO as the C library does it.
    Posixaio,
    /// Page faults of a shared, read-only mapping.
    Mmap,
    /// No device: figures of the capacity model.
    Simulated,
}

impl EngineKind {
    /// Engines that fio has too.
    pub const ALL: [Self; 6] =
        [Self::IoUring, Self::IoUringCmd, Self::Libaio, Self::Psync, Self::Posixaio, Self::Mmap];

    /// Its name, fio's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::IoUringCmd => "io_uring_cmd",
            Self::Libaio => "libaio",
            Self::Psync => "psync",
            Self::Posixaio => "posixaio",
            Self::Mmap => "mmap",
            Self::Simulated => "simulated",
        }
    }
}

/// How completions are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The drive interrupts.
    #[default]
    Interrupts,
    /// The kernel polls (`IORING_SETUP_IOPOLL`, fio's `--hipri`).
    Polled,
}

/// Kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A block device.
    Device,
    /// A regular file.
    File,
}

/// A drive or file to read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The file that is opened.
    pub path: PathBuf,
    /// The drive it is, or that contains it; `None` if unknown.
    pub drive: Option<DriveName>,
}
