//! Making a worker's ring, as good as this kernel lets it be.
//!
//! Here: the ladder of flags, registered files and buffers, the probe for polled completions, and a sentence for each
//! thing refused. Not here: the loop ([`super::worker`]).
#![expect(unsafe_code, reason = "buffers are registered with, and reads handed to, the kernel by address")]

use std::{
    io,
    os::fd::{AsRawFd, RawFd},
};

use io_uring::{Builder, IoUring, Submitter, cqueue, opcode, squeue, types};

use super::{
    LoadError,
    crew::{Assignment, Granted},
    hybrid,
    memory::Mapping,
    queue_pair::QueuePair,
    target::Open,
};
use crate::{
    model::{Completion, EngineKind, Workload, errno_words},
    units::{self, Bytes},
};

/// A ring, the memory its reads land in, and what was granted.
pub(super) struct Rig {
    /// Before `buffers`, like its queues: the ring goes first, so that no read is under way when the memory does.
    pub ring: IoUring,
    pub queues: QueuePair,
    pub buffers: Mapping,
    /// Bytes of a slot.
    pub block: usize,
    pub granted: Granted,
    /// Reads name buffers by their registration.
    pub fixed_buffers: bool,
    /// Slots whose buffers one registration holds.
    pub slots_per_buffer: usize,
}

/// A way of setting a ring up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    SingleIssuer,
    DeferTaskrun,
    NoSqarray,
    CoopTaskrun,
    Sqpoll,
}

/// Sets of setup flags, best first.
const LADDER: [&[Flag]; 4] = [
    &[Flag::SingleIssuer, Flag::DeferTaskrun, Flag::NoSqarray],
    // Kernels before 6.6.
    &[Flag::SingleIssuer, Flag::DeferTaskrun],
    // Kernels before 6.1.
    &[Flag::SingleIssuer, Flag::CoopTaskrun],
    // Kernels before 6.0.
    &[],
];

/// With `--sqthread_poll`, which goes with neither way of running task work.
const POLLED_LADDER: [&[Flag]; 2] = [&[Flag::Sqpoll, Flag::SingleIssuer, Flag::NoSqarray], &[Flag::Sqpoll]];

/// Milliseconds after which the kernel's submitting thread sleeps.
const SQ_IDLE_MS: u32 = 1000;

/// The longest buffer the kernel registers in one piece.
const LONGEST_BUFFER: usize = 1 << 30;

impl Flag {
    /// Its name, the kernel's without `IORING_SETUP_`.
    const fn name(self) -> &'static str {
        match self {
            Self::SingleIssuer => "SINGLE_ISSUER",
            Self::DeferTaskrun => "DEFER_TASKRUN",
            Self::NoSqarray => "NO_SQARRAY",
            Self::CoopTaskrun => "COOP_TASKRUN",
            Self::Sqpoll => "SQPOLL",
        }
    }

    fn set<S: squeue::EntryMarker, C: cqueue::EntryMarker>(self, builder: &mut Builder<S, C>) {
        match self {
            Self::SingleIssuer => builder.setup_single_issuer(),
            Self::DeferTaskrun => builder.setup_defer_taskrun(),
            Self::NoSqarray => builder.setup_no_sqarray(),
            Self::CoopTaskrun => builder.setup_coop_taskrun(),
            Self::Sqpoll => builder.setup_sqpoll(SQ_IDLE_MS),
        };
    }
}

impl Rig {
    /// Makes the ring of the calling thread, which alone may use it, for the reads of all of `share` together.
    pub(super) fn new(workload: &Workload, share: &[Assignment]) -> Result<Self, LoadError> {
        let mut fallbacks = Vec::new();
        let mut polled = workload.hipri;
        let depth = workload.depth.saturating_mul(u32::try_from(share.len()).unwrap_or(u32::MAX));
        let (mut ring, mut flags): (IoUring, _) = make(workload, depth, polled, &mut fallbacks)?;
        let mut slept_for = false;
        if workload.hybrid_poll && polled {
            match hybrid::ring(depth) {
                Ok(made) => {
                    (ring, flags) = made;
                    slept_for = true;
                }
                Err(error) => fallbacks.push(format!(
                    "this kernel gives no ring that sleeps before it polls ({}; Linux 6.13 has them): completions are \
                     polled for all the time",
                    words(&error)
                )),
            }
        }
        let block = usize::try_from(workload.largest_block().0).unwrap_or(usize::MAX);
        let buffers = Mapping::new(block.saturating_mul(depth as usize)).map_err(|error| {
            let all = units::block_size(Bytes(workload.largest_block().0 * u64::from(depth)));
            LoadError::Machine {
                wrong: format!("no memory for {all} of buffers: {error}"),
                fix: "use a smaller --bs, --iodepth or --numjobs".to_owned(),
            }
        })?;
        let probes = share.iter().filter(|_| workload.hipri).map(|assignment| &*assignment.target);
        for target in probes {
            let Err(errno) = probe(&mut ring, target, &buffers, block) else { continue };
            fallbacks.push(format!(
                "{} cannot be polled ({}): completions come by interrupts; polling needs a drive with poll queues \
                 (nvme.poll_queues=N)",
                target.name,
                errno_words(errno)
            ));
            polled = false;
            (ring, flags) = make(workload, depth, polled, &mut fallbacks)?;
            break;
        }
        if polled && !slept_for {
            flags.push("IOPOLL".to_owned());
        }
        let slots_per_buffer = fix_buffers(&ring.submitter(), workload, &buffers, block, &mut fallbacks);
        let fixed_buffers = slots_per_buffer.is_some();
        let slots_per_buffer = slots_per_buffer.unwrap_or(usize::MAX);
        let completion = if polled { Completion::Polled } else { Completion::Interrupts };
        let granted = Granted {
            engine: EngineKind::IoUring,
            completion,
            ring_flags: flags,
            memory: buffers.words(),
            fallbacks,
        };
        let queues = QueuePair::new(&ring).map_err(|error| no_ring(&error))?;
        Ok(Self { ring, queues, buffers, block, granted, fixed_buffers, slots_per_buffer })
    }
}

/// Registers the targets with the ring, in their order; false, with a sentence, when the kernel will not.
pub(super) fn register_files(
    submitter: &Submitter<'_>,
    files: &[RawFd],
    fallbacks: &mut Vec<String>,
) -> bool {
    match submitter.register_files(files) {
        Ok(()) => true,
        Err(error) => {
            fallbacks.push(format!("files cannot be registered ({}): plain ones are used", words(&error)));
            false
        }
    }
}

/// Whether a ring can be made at all.
pub(super) fn available() -> io::Result<()> {
    QueuePair::new(&IoUring::new(2)?).map(drop)
}

/// Makes a ring of entries of any size, with the best flags that this kernel takes, and names them.
pub(super) fn make<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    workload: &Workload,
    depth: u32,
    polled: bool,
    fallbacks: &mut Vec<String>,
) -> Result<(IoUring<S, C>, Vec<String>), LoadError> {
    let names = |flags: &[Flag]| flags.iter().map(|flag| flag.name()).collect::<Vec<_>>();
    let rungs = POLLED_LADDER.iter().filter(|_| workload.submission_poll).chain(&LADDER);
    let mut refused: Vec<Flag> = Vec::new();
    let mut errno = libc::EINVAL;
    for flags in rungs {
        let mut builder = IoUring::<S, C>::builder();
        flags.iter().for_each(|flag| flag.set(&mut builder));
        if polled {
            builder.setup_iopoll();
        }
        match builder.build(depth) {
            Ok(ring) => {
                refused.retain(|flag| !flags.contains(flag));
                if !refused.is_empty() {
                    let instead =
                        if flags.is_empty() { "no flags".to_owned() } else { names(flags).join(", ") };
                    fallbacks.push(format!(
                        "this kernel refuses rings with {} ({}): {instead} instead",
                        names(&refused).join(", "),
                        errno_words(errno)
                    ));
                }
                return Ok((ring, names(flags).into_iter().map(str::to_owned).collect()));
            }
            Err(error) if is_refusal(&error, flags) => {
                errno = error.raw_os_error().unwrap_or(errno);
                let new: Vec<Flag> = flags.iter().filter(|flag| !refused.contains(flag)).copied().collect();
                refused.extend(new);
            }
            Err(error) => return Err(no_ring(&error)),
        }
    }
    Err(no_ring(&io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Whether it is these flags that the kernel does not grant: it does not know them, or, before 5.11, a submitting thread
/// is for root.
fn is_refusal(error: &io::Error, flags: &[Flag]) -> bool {
    match error.raw_os_error() {
        Some(libc::EINVAL) => true,
        Some(libc::EPERM) => flags.contains(&Flag::Sqpoll),
        _ => false,
    }
}

fn no_ring(error: &io::Error) -> LoadError {
    let fix = match error.raw_os_error() {
        Some(libc::ENOMEM) => "raise `ulimit -l`, or use fewer --numjobs",
        Some(libc::EMFILE | libc::ENFILE) => "raise `ulimit -n`, or use fewer --numjobs",
        _ => "use --ioengine psync",
    };
    LoadError::Machine { wrong: format!("io_uring gives no ring: {}", words(error)), fix: fix.to_owned() }
}

/// Why io_uring cannot be had, for the sentence about threads.
pub(super) fn unavailable(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) => "kernel.io_uring_disabled or a security policy forbids it",
        Some(libc::ENOSYS) => "this kernel has none, or a filter of system calls hides it",
        _ => "no ring can be made",
    };
    format!(
        "io_uring is not to be had ({}): {why}; threads with pread read instead, at a higher cost",
        words(error)
    )
}

/// Registers the slots of `block` bytes with the ring, if asked for: how many slots one registration holds. `None`, with a
/// sentence, when the kernel will not.
pub(super) fn fix_buffers(
    submitter: &Submitter<'_>,
    workload: &Workload,
    buffers: &Mapping,
    block: usize,
    fallbacks: &mut Vec<String>,
) -> Option<usize> {
    if !workload.fixed_buffers {
        return None;
    }
    let slots = (LONGEST_BUFFER / block.max(1)).max(1);
    match register_buffers(submitter, buffers, block * slots) {
        Ok(()) => Some(slots),
        Err(error) => {
            fallbacks.push(unregistered_buffers(&error, buffers.len()));
            None
        }
    }
}

fn register_buffers(submitter: &Submitter<'_>, buffers: &Mapping, piece: usize) -> io::Result<()> {
    let vectors: Vec<libc::iovec> = (0..buffers.len())
        .step_by(piece.max(1))
        .map(|start| libc::iovec {
            iov_base: buffers.as_ptr().wrapping_add(start).cast(),
            iov_len: piece.min(buffers.len() - start),
        })
        .collect();
    // SAFETY: every vector lies within the mapping, which outlives the ring (field order of `Rig`).
    unsafe { submitter.register_buffers(&vectors) }
}

fn unregistered_buffers(error: &io::Error, asked: usize) -> String {
    let asked = units::block_size(Bytes(asked as u64));
    let why = match error.raw_os_error() {
        Some(libc::ENOMEM) => match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
            Some(limit) => format!(
                "RLIMIT_MEMLOCK allows {} for all rings together; raise `ulimit -l`",
                units::block_size(Bytes(limit))
            ),
            None => "the kernel has no memory for it".to_owned(),
        },
        _ => "the kernel refuses".to_owned(),
    };
    format!("{asked} of buffers cannot be registered ({}): {why}; plain buffers are used", words(error))
}

/// Reads the first block with a polling ring. The errno when the device cannot be polled.
fn probe(ring: &mut IoUring, target: &Open, buffers: &Mapping, block: usize) -> Result<(), i32> {
    let length = u32::try_from(block).unwrap_or(u32::MAX);
    let read = opcode::Read::new(types::Fd(target.file.as_raw_fd()), buffers.as_ptr(), length).build();
    let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    // SAFETY: the first slot of the mapping has `block` bytes, and this function waits for the read.
    unsafe { ring.submission().push(&read) }.map_err(|_| libc::EBUSY)?;
    ring.submit_and_wait(1).map_err(errno)?;
    match ring.completion().next().map(|completion| completion.result()) {
        Some(result) if result < 0 => Err(-result),
        Some(_) => Ok(()),
        None => Err(libc::EIO),
    }
}

fn words(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), errno_words)
}
