//! [`Workload`]: what a test does, in fio's words.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::ids::DriveName;
use crate::units::{self, Bytes};

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

/// What a test does. Depth and jobs are per target, as one fio process for each drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// `--filename`.
    pub targets: Vec<Target>,
    /// `--rw`.
    pub pattern: Pattern,
    /// `--bs`: bytes of one read.
    pub block_size: Bytes,
    /// `--bssplit`: block sizes with their weights in percent; empty for one size.
    pub block_split: Vec<(Bytes, u8)>,
    /// `--iodepth`: reads under way per job.
    pub depth: u32,
    /// `--numjobs`: worker threads per target.
    pub jobs: u32,
    /// `--ioengine`.
    pub engine: EngineKind,
    /// `--direct`: past the page cache.
    pub direct: bool,
    /// `--hipri`: polled completions.
    pub hipri: bool,
    /// `--hybrid_poll`: a polled completion is slept for first (`IORING_SETUP_HYBRID_IOPOLL`, Linux 6.13); fio has no such
    /// option.
    pub hybrid_poll: bool,
    /// `--fixedbufs`: buffers registered with the ring.
    pub fixed_buffers: bool,
    /// `--registerfiles`: files registered with the ring.
    pub register_files: bool,
    /// `--sqthread_poll`: a kernel thread submits.
    pub submission_poll: bool,
    /// `--iodepth_batch_submit`: most reads handed over in one call; `None` adapts.
    pub batch_submit: Option<u32>,
    /// `--iodepth_batch_complete_min`: completions waited for in one call; 0 spins, `None` adapts.
    pub batch_complete_min: Option<u32>,
    /// `--runtime`: how long is counted; `None` runs until stopped or the amount is read.
    pub runtime: Option<Duration>,
    /// `--time_based`: reads go on until the end of `runtime`, however much that is. Without it a job ends once it has
    /// read as much as its part, as in fio's job files.
    pub time_based: bool,
    /// `--ramp_time`: runs before counting.
    pub ramp: Duration,
    /// `--offset`: where each target's part begins that is read.
    pub offset: Bytes,
    /// `--size`: the bytes of each target that are read; also the size of a file laid out. `None`: to its end.
    pub size: Option<Bytes>,
    /// `--io_size`: a job ends after so many bytes, whatever the size of its part.
    pub io_size: Option<Bytes>,
    /// `--rate_iops`: reads per second per job at most.
    pub rate_iops: Option<u32>,
    /// `--randseed`.
    pub seed: u64,
    /// `--cpus_allowed`: processors that workers run on; empty for those near their drives.
    pub cpus_allowed: Vec<u32>,
    /// `--numa_cpu_nodes`: NUMA nodes whose processors workers run on; empty for those near their drives.
    pub numa_cpu_nodes: Vec<u32>,
    /// `--cpus_allowed_policy=split`: each worker stays on one processor.
    pub pinned: bool,
    /// Latency measured (fio's `--gtod_reduce=0`).
    pub latency: bool,
    /// `--exact_timing`: latencies begin when the call that hands reads over is done, as fio's `clat` does, and every
    /// completion is waited for by itself; fio knows no other way and has no such option.
    pub exact_timing: bool,
}

/// A workload that cannot be run. One line: the option and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {wrong}; {fix}")]
pub struct WorkloadError {
    /// The option at fault, in fio's name.
    pub option: &'static str,
    /// What is wrong with it.
    pub wrong: String,
    /// What to do.
    pub fix: String,
}

impl Default for Workload {
    /// CONTRACT's defaults: randread, 4k, depth 32, one job, direct, 10 s, io_uring, registered files, fixed buffers.
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            pattern: Pattern::Random,
            block_size: Bytes(4096),
            block_split: Vec::new(),
            depth: 32,
            jobs: 1,
            engine: EngineKind::IoUring,
            direct: true,
            hipri: false,
            hybrid_poll: false,
            fixed_buffers: true,
            register_files: true,
            submission_poll: false,
            batch_submit: None,
            batch_complete_min: None,
            runtime: Some(Duration::from_secs(10)),
            time_based: true,
            ramp: Duration::ZERO,
            offset: Bytes(0),
            size: None,
            io_size: None,
            rate_iops: None,
            seed: 0x1007_d140,
            cpus_allowed: Vec::new(),
            numa_cpu_nodes: Vec::new(),
            pinned: false,
            latency: true,
            exact_timing: false,
        }
    }
}

impl Workload {
    /// Most reads under way per job.
    pub const MOST_DEPTH: u32 = 4096;
    /// Most jobs per target.
    pub const MOST_JOBS: u32 = 1024;
    /// Biggest block.
    pub const MOST_BLOCK: Bytes = Bytes(64 << 20);

    /// Refuses what no engine could run; targets themselves are checked when they are opened.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let fail =
            |option, wrong: String, fix: &str| Err(WorkloadError { option, wrong, fix: fix.to_owned() });
        if self.targets.is_empty() {
            return fail(
                "filename",
                "no drive or file to read from".into(),
                "name one: --filename /dev/nvme0n1",
            );
        }
        let sizes = self.block_split.iter().map(|(size, _)| *size).chain([self.block_size]);
        for size in sizes {
            if size.0 == 0 || size > Self::MOST_BLOCK || (self.direct && !size.0.is_multiple_of(512)) {
                return fail(
                    "bs",
                    format!("{} cannot be read at once", units::block_size(size)),
                    "use a multiple of 512 B up to 64m, 4k for instance",
                );
            }
        }
        if !self.block_split.is_empty()
            && self.block_split.iter().map(|(_, w)| u32::from(*w)).sum::<u32>() != 100
        {
            return fail("bssplit", "the shares do not add up to 100 %".into(), "write it as 4k/60:64k/40");
        }
        if self.depth == 0 || self.depth > Self::MOST_DEPTH {
            return fail("iodepth", format!("{} is out of range", self.depth), "use 1 to 4096");
        }
        if self.jobs == 0 || self.jobs > Self::MOST_JOBS {
            return fail("numjobs", format!("{} is out of range", self.jobs), "use 1 to 1024");
        }
        if self.hipri && !self.direct {
            return fail(
                "hipri",
                "polled completions need direct I/O".into(),
                "add --direct 1 or leave --hipri out",
            );
        }
        if self.exact_timing && !self.latency {
            return fail("exact_timing", "latency is not measured".into(), "leave --gtod_reduce out");
        }
        if self.hybrid_poll && (!self.hipri || self.submission_poll) {
            return fail(
                "hybrid_poll",
                "sleeps before it polls, which this test does not do by itself".into(),
                "use it with --hipri and without --sqthread_poll",
            );
        }
        if self.direct && !self.offset.0.is_multiple_of(512) {
            let wrong = format!("{} B is in the middle of a block", self.offset.0);
            return fail("offset", wrong, "use a multiple of 512 B");
        }
        if self.io_size == Some(Bytes(0)) {
            return fail("io_size", "0 reads nothing".into(), "use a size such as 1g, or leave it out");
        }
        if self.rate_iops == Some(0) {
            return fail("rate_iops", "0 reads nothing".into(), "use 1 or more, or leave it out");
        }
        Ok(())
    }

    /// The bytes after which a job ends, of a part of `span`; `None` when only time or somebody ends it.
    pub fn amount(&self, span: Bytes) -> Option<Bytes> {
        self.io_size.or_else(|| (self.runtime.is_none() || !self.time_based).then_some(span))
    }

    /// The smallest block any read of it uses: what random offsets are multiples of, as fio's are.
    pub fn smallest_block(&self) -> Bytes {
        self.block_split.iter().map(|(size, _)| *size).min().unwrap_or(self.block_size)
    }

    /// The largest block any read of it uses.
    pub fn largest_block(&self) -> Bytes {
        self.block_split.iter().map(|(size, _)| *size).max().unwrap_or(self.block_size)
    }

    /// One line for a title: `4k randread, depth 32, 1 job`.
    pub fn title(&self) -> String {
        let pattern = match self.pattern {
            Pattern::Random => "randread",
            Pattern::Sequential => "read",
        };
        let sizes: Vec<String> = self
            .block_split
            .iter()
            .map(|(size, share)| format!("{}/{share}", units::block_size(*size)))
            .collect();
        let block = if sizes.is_empty() { units::block_size(self.block_size) } else { sizes.join(":") };
        let jobs = if self.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", self.jobs) };
        let buffered = if self.direct { "" } else { ", buffered" };
        let polled = match (self.hipri, self.hybrid_poll) {
            (true, true) => ", polled after a sleep",
            (true, false) => ", polled",
            (false, _) => "",
        };
        format!("{block} {pattern}, depth {}, {jobs}{buffered}{polled}", self.depth)
    }
}
