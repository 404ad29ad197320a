//! What a run is checked for: threads, open files, trial reads, and reasons why a target's figures are not those of its drive: sparse
//! files, zeros, caches in between.

use std::{
    fs::File,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};

use crate::engine::{EngineError, memory::Mapping, offset_generator::Wyrand, target::Open};
use crate::{
    model::{Workload, WorkloadError, errno_words},
    units,
};

/// File systems that stand between a file and its drive: magic number (statfs(2)), sentence.
const FILE_SYSTEMS: [(u64, &str); 12] = [
    (0x0102_1994, "tmpfs is memory, not a drive"),
    (0x8584_58f6, "ramfs is memory, not a drive"),
    (0x794c_7630, "overlay: a layer over other file systems; name a file on the lower one"),
    (0x2fc1_2fc1, "zfs caches and compresses, also with O_DIRECT"),
    (0x6969, "nfs: this includes the network"),
    (0xff53_4d42, "cifs: this includes the network"),
    (0xfe53_4d42, "smb: this includes the network"),
    (0x0102_1997, "9p: this includes the host"),
    (0x00c3_6400, "ceph: this includes the network"),
    (0x6573_5546, "fuse: a user-space program serves the file"),
    (0x7371_7368, "squashfs decompresses data"),
    (0xe0f5_e1e2, "erofs may decompress data"),
];

/// Blocks sampled for zeros.
const SAMPLES: u64 = 64;
/// Parts of a target of which a block is read before an experiment, and the bytes that more than the fewest may take.
const MOST_PARTS: u64 = 64;
const LEAST_PARTS: u64 = 8;
const TRIAL_BYTES: u64 = 64 << 20;
/// Failed reads of such a trial, each of which may take as long as the drive's timeout.
const MOST_FAILURES: u32 = 8;
/// Shorter runs are not valid, whatever was read.
const SHORTEST: Duration = Duration::from_secs(1);
/// Maximum bytes of a sample.
const LONGEST_SAMPLE: u64 = 64 << 10;

/// Reasons why this target's figures are not those of its drive. Reads [`SAMPLES`] blocks.
pub(crate) fn doubts(open: &Open, workload: &Workload) -> Vec<String> {
    let mut doubts = Vec::new();
    if !workload.direct {
        doubts.push("buffered reads (--direct 0) also measure the page cache".to_owned());
    }
    if let Ok(metadata) = open.file.metadata()
        && metadata.is_file()
    {
        let stored = metadata.blocks().saturating_mul(512);
        // Compressed and inlined files look like this too, and do not measure the drive either.
        if stored < metadata.len() - metadata.len() / 20 {
            doubts.push(format!(
                "sparse: {} of {} MiB are on the drive, the rest is holes",
                stored >> 20,
                metadata.len() >> 20
            ));
        }
        doubts.extend(file_system(open).map(str::to_owned));
    }
    // A run too short to be valid is not delayed by samples.
    if workload.runtime.is_none_or(|runtime| runtime >= SHORTEST)
        && let Some(zeros) = zeros(open, workload)
        && zeros * 2 >= SAMPLES
    {
        doubts.push(format!(
            "{zeros} of {SAMPLES} sampled blocks of {} are all zeros, unwritten or trimmed: drives answer those \
             without reading flash",
            units::block_size(workload.block_size)
        ));
    }
    doubts
}

/// Most threads of a psync run; more would measure the task scheduler.
const MOST_THREADS: u64 = 4096;

/// Refuses more threads than a run may have that has one for each read in flight.
pub(crate) fn threads(workload: &Workload) -> Result<(), WorkloadError> {
    let threads = u64::from(workload.depth) * u64::from(workload.jobs) * workload.targets.len() as u64;
    if threads <= MOST_THREADS {
        return Ok(());
    }
    Err(WorkloadError {
        option: "iodepth",
        wrong: format!("{threads} reads in flight need as many threads without io_uring"),
        fix: format!("lower --iodepth or --numjobs to {MOST_THREADS} threads at most"),
    })
}

/// Refuses more targets than files may be open: each target has one.
pub(crate) fn files(workload: &Workload) -> Result<(), WorkloadError> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let targets = workload.targets.len() as u64;
    if targets <= limit {
        return Ok(());
    }
    Err(WorkloadError {
        option: "filename",
        wrong: format!("{targets} targets need as many open files, and RLIMIT_NOFILE is {limit}"),
        fix: "raise `ulimit -n` or test fewer targets".to_owned(),
    })
}

fn file_system(open: &Open) -> Option<&'static str> {
    let magic = u64::try_from(rustix::fs::fstatfs(&open.file).ok()?.f_type).ok()?;
    // Magic numbers are 32 bits, sign-extended where the field is a signed long of that size.
    FILE_SYSTEMS.iter().find(|(number, _)| *number == magic & 0xffff_ffff).map(|(_, sentence)| *sentence)
}

/// Number of [`SAMPLES`] blocks with only zeros; `None` on a read error, which the run will report.
fn zeros(open: &Open, workload: &Workload) -> Option<u64> {
    let mut samples = Samples::new(open, workload, workload.block_size.0.min(LONGEST_SAMPLE))?;
    let mut zeros = 0;
    for _ in 0..SAMPLES {
        zeros += u64::from(samples.read().ok()?.iter().all(|byte| *byte == 0));
    }
    Some(zeros)
}

/// Reads the first, the last and blocks between, each as long as the longest block of the workload.
///
/// # Errors
/// One of the reads fails or returns less: a run would meet the same blocks.
pub(crate) fn try_read(open: &Open, workload: &Workload) -> Result<(), EngineError> {
    let block = workload.largest_block().0;
    let Some(mut samples) = Samples::new(open, workload, block) else { return Ok(()) };
    let blocks = trial_blocks(open.span.0 / block.max(1), block, &mut samples.random);
    let (mut reads, mut failures, mut first) = (0, 0, None);
    for index in blocks {
        reads += 1;
        let (read, offset) = samples.read_block(index);
        let (errno, why) = match read {
            Ok(read) if read.len() as u64 == block => continue,
            Ok(read) => (None, format!("{} of {block} bytes read at byte {offset}", read.len())),
            Err(errno) => {
                let errno = errno.raw_os_error();
                (Some(errno), format!("{} at byte {offset}", errno_words(errno)))
            }
        };
        first.get_or_insert((errno, why));
        failures += 1;
        if failures == MOST_FAILURES {
            break;
        }
    }
    let Some((errno, why)) = first else { return Ok(()) };
    let wrong = if failures == reads {
        format!("no read succeeded: {why}")
    } else {
        format!("{failures} of {reads} test reads failed: {why}")
    };
    let fix = "check `dmesg`, or test other targets".to_owned();
    Err(EngineError::Target { path: open.name.clone(), wrong, fix, errno })
}

/// The first and the last of `count` blocks, and a random one of each part between: no range of two parts is left out.
fn trial_blocks(count: u64, block: u64, random: &mut Wyrand) -> Vec<u64> {
    let count = count.max(1);
    let parts = (TRIAL_BYTES / block.max(1)).clamp(LEAST_PARTS, MOST_PARTS).min(count);
    let start = |part: u64| part * (count / parts) + part.min(count % parts);
    let between = (0..parts).map(|part| start(part) + random.below(start(part + 1) - start(part)));
    let mut blocks: Vec<u64> = [0, count - 1].into_iter().chain(between).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// Random blocks of a target. Those of a buffered run are read with `O_DIRECT` too, since they would be cached for the run.
struct Samples<'a> {
    open: &'a Open,
    past_cache: Option<File>,
    offset: u64,
    block: u64,
    memory: Mapping,
    random: Wyrand,
}

impl<'a> Samples<'a> {
    /// `None` without memory for a block.
    fn new(open: &'a Open, workload: &Workload, block: u64) -> Option<Self> {
        let by_descriptor = || {
            let path = format!("/proc/self/fd/{}", open.file.as_raw_fd());
            File::options().read(true).custom_flags(libc::O_DIRECT).open(path)
        };
        Some(Self {
            open,
            past_cache: if workload.direct { None } else { by_descriptor().ok() },
            offset: workload.offset.0,
            block,
            memory: Mapping::new(usize::try_from(block).ok()?).ok()?,
            random: Wyrand::new(workload.seed, u64::MAX),
        })
    }

    /// A random block.
    fn read(&mut self) -> Result<&[u8], Errno> {
        let index = self.random.below((self.open.span.0 / self.block).max(1));
        self.read_block(index).0
    }

    /// A block, and its offset.
    fn read_block(&mut self, index: u64) -> (Result<&[u8], Errno>, u64) {
        let file = self.past_cache.as_ref().unwrap_or(&self.open.file);
        let offset = self.offset + index * self.block;
        let buffer = self.memory.as_mut_slice();
        let read = rustix::io::pread(file, &mut *buffer, offset);
        (read.map(|length| buffer.get(..length).unwrap_or_default()), offset)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, path::Path};

    use super::*;
    use crate::{engine::layout::lay_out, model::Target, units::Bytes};

    fn doubts_of(path: &Path, direct: bool) -> Vec<String> {
        let target = Target { path: path.to_owned(), drive: None };
        let workload = Workload { targets: vec![target.clone()], direct, ..Workload::default() };
        doubts(&Open::new(&target, &workload).unwrap(), &workload)
    }

    #[test]
    fn sparse_files_and_zeros_are_recognised_and_laid_out_files_pass() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(8 << 20).unwrap();
        let doubts = doubts_of(&path, false);
        assert!(doubts[0].starts_with("buffered"), "{doubts:?}");
        assert!(doubts[1].starts_with("sparse: 0 of 8 MiB"), "{doubts:?}");
        assert!(doubts.last().unwrap().starts_with("64 of 64 sampled blocks of 4k are all zeros"));

        let path = folder.path().join("laid-out");
        let _laid_out = lay_out(&path, Bytes(8 << 20), 1, false, &mut |_| true).unwrap();
        assert!(!doubts_of(&path, false).iter().any(|doubt| doubt.contains("zeros")));
    }

    #[test]
    fn zeros_on_the_drive_are_recognised_too() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("zeros");
        std::io::Write::write_all(&mut File::create(&path).unwrap(), &vec![0; 4 << 20]).unwrap();
        let doubts = doubts_of(&path, false);
        assert!(doubts.iter().any(|doubt| doubt.contains("all zeros")), "{doubts:?}");
    }

    #[test]
    fn a_trial_reads_both_ends_and_leaves_no_large_range_out() {
        let mut random = Wyrand::new(7, 0);
        for (count, block) in
            [(1, 4096), (2, 4096), (100, 4096), (1 << 28, 4096), (4096, 1 << 20), (u64::MAX >> 12, 4096)]
        {
            let blocks = trial_blocks(count, block, &mut random);
            assert_eq!((blocks[0], blocks[blocks.len() - 1]), (0, count - 1));
            let gap = blocks.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(1);
            assert!(u128::from(gap) <= (u128::from(count) / 32).max(2), "{count}: {gap}");
            assert!(blocks.len() <= 66, "{count}: {}", blocks.len());
        }
        assert!(trial_blocks(1 << 20, 64 << 20, &mut random).len() <= 10, "long blocks are few");
    }
}
