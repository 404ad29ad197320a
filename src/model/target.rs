//! What a workload is made of: patterns, engines, completions, targets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ids::DriveName;

/// In what order blocks are read.
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

/// Which way reads are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// io_uring.
    IoUring,
    /// NVMe passthrough through io_uring on /dev/ngXnY.
    IoUringCmd,
    /// Linux native AIO by raw system calls.
    Libaio,
    /// pread by one thread per slot of depth.
    Psync,
    /// POSIX AIO as the C library does it.
    Posixaio,
    /// No device at all: the capacity model's word.
    Simulated,
}

impl EngineKind {
    /// Every engine that fio has too.
    pub const ALL: [Self; 5] = [Self::IoUring, Self::IoUringCmd, Self::Libaio, Self::Psync, Self::Posixaio];

    /// Its name, fio's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::IoUringCmd => "io_uring_cmd",
            Self::Libaio => "libaio",
            Self::Psync => "psync",
            Self::Posixaio => "posixaio",
            Self::Simulated => "simulated",
        }
    }
}

/// How completions are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The drive interrupts.
    Interrupts,
    /// The kernel polls (`IORING_SETUP_IOPOLL`, fio's `--hipri`).
    Polled,
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A block device.
    Device,
    /// A regular file.
    File,
}

/// One thing to read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What is opened.
    pub path: PathBuf,
    /// The drive it is, or lies on; `None` when that could not be told.
    pub drive: Option<DriveName>,
}
