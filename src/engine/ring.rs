//! Sets up a worker's ring: setup flags, registered files and buffers, the probe for polled completions.
#![expect(unsafe_code, reason = "buffers are registered and reads submitted by address")]

mod drain;
mod enter;
mod hybrid_iopoll;
mod job;
pub(crate) mod passthrough;
pub(crate) mod read_loop;

use std::{
    fmt, io,
    os::fd::{AsRawFd, RawFd},
    thread,
    time::Duration,
};

use io_uring::{Builder, IoUring, Submitter, cqueue, opcode, squeue, types};

use crate::engine::{
    EngineError, aio,
    memory::Mapping,
    ring::drain::{CountedRing, GuardedRing},
    target::Open,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::{
    model::{EngineKind, Workload, errno_words, error_words, locked_memory},
    units::{self, Bytes},
};

/// A ring with its buffers, and its effective configuration.
pub(crate) struct RingSetup {
    pub guarded: GuardedRing<CountedRing>,
    /// Bytes of a request.
    pub block: usize,
    pub config: EffectiveConfig,
    /// Requests per registered buffer; `None` without registration.
    pub slots_per_buffer: Option<usize>,
}

/// A setup flag.
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

/// With `--sqthread_poll`, which excludes `DEFER_TASKRUN` and `COOP_TASKRUN`.
const POLLED_LADDER: [&[Flag]; 2] = [&[Flag::Sqpoll, Flag::SingleIssuer, Flag::NoSqarray], &[Flag::Sqpoll]];

/// Milliseconds after which the kernel's submitting thread sleeps.
const SQ_IDLE_MS: u32 = 1000;

/// How often a ring may refuse a no-op before it is taken as unusable.
const MOST_REFUSALS: u32 = 20;

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

impl RingSetup {
    /// Makes the ring of the calling thread, its only user, for the reads of all of `share`.
    pub(crate) fn new(
        workload: &Workload,
        share: &[Assignment],
        ready: &Ready<'_>,
    ) -> Result<Self, EngineError> {
        let mut fallbacks = Vec::new();
        let mut polled = workload.hipri;
        let depth = workload.depth.saturating_mul(u32::try_from(share.len()).unwrap_or(u32::MAX));
        let block = aio::block_bytes(workload);
        let hybrid =
            (workload.hybrid_poll && polled).then(|| locked_memory::retry(|| hybrid_iopoll::ring(depth)));
        let is_hybrid = matches!(hybrid, Some(Ok(_)));
        let (ring, mut flags) = match hybrid {
            Some(Ok(made)) => made,
            Some(Err(error)) => {
                fallbacks.push(format!(
                    "hybrid polling is missing ({}; Linux 6.13 has it): completions are \
                     polled without sleeping",
                    error_words(&error)
                ));
                make(workload, depth, polled, &mut fallbacks)?
            }
            None => make(workload, depth, polled, &mut fallbacks)?,
        };
        let mut guarded = guarded(ring, block, depth)?;
        let probes = share.iter().filter(|_| workload.hipri).map(|assignment| &*assignment.target);
        for target in probes {
            let Err(errno) = probe(&mut guarded, target, block) else { continue };
            fallbacks.push(format!(
                "{} cannot be polled ({}): completions use interrupts; polling needs a drive with poll queues \
                 (nvme.poll_queues=N)",
                target.name,
                errno_words(errno)
            ));
            polled = false;
            // Frees its locked memory for the next ring.
            drop(guarded);
            let made = make(workload, depth, polled, &mut fallbacks)?;
            flags = made.1;
            guarded = self::guarded(made.0, block, depth)?;
            break;
        }
        if polled && !is_hybrid {
            flags.push("IOPOLL".to_owned());
        }
        // Buffers may take all locked memory, which other workers' rings need.
        ready.ring_made();
        let slots_per_buffer =
            fix_buffers(&guarded.ring.ring.submitter(), workload, &guarded.buffers, block, &mut fallbacks);
        let config = EffectiveConfig::new(EngineKind::IoUring, polled, flags, &guarded.buffers, fallbacks);
        Ok(Self { guarded, block, config, slots_per_buffer })
    }
}

/// Adds memory for `depth` reads of `block` bytes to a ring.
fn guarded(ring: IoUring, block: usize, depth: u32) -> Result<GuardedRing<CountedRing>, EngineError> {
    Ok(GuardedRing::new(CountedRing::new(ring), Mapping::of_reads(block, depth as usize)?))
}

/// Registers the targets with the ring, in their order; false, with a sentence, on an error.
pub(crate) fn register_files(
    submitter: &Submitter<'_>,
    files: &[RawFd],
    fallbacks: &mut Vec<String>,
) -> bool {
    match submitter.register_files(files) {
        Ok(()) => true,
        Err(error) => {
            fallbacks.push(format!("files cannot be registered ({}): using plain ones", error_words(&error)));
            false
        }
    }
}

/// Makes a ring and submits a no-op: a filter of system calls may allow the one and forbid the other.
pub(crate) fn available() -> Result<(), RingError> {
    let mut ring = locked_memory::retry(|| IoUring::new(2)).map_err(|error| RingError::setup(&error))?;
    // SAFETY: a no-op touches nothing.
    if unsafe { ring.submission().push(&opcode::Nop::new().build()) }.is_err() {
        return Ok(());
    }
    // EAGAIN passes where the kernel was short of memory for a moment.
    let mut tries = 0..MOST_REFUSALS;
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && tries.next().is_some() => {
                thread::sleep(Duration::from_millis(1));
            }
            done => return done.map(drop).map_err(|error| RingError::enter(&error)),
        }
    }
}

/// Makes a ring of entries of any size, with the best flags that this kernel supports, and their names.
pub(crate) fn make<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    workload: &Workload,
    depth: u32,
    polled: bool,
    fallbacks: &mut Vec<String>,
) -> Result<(IoUring<S, C>, Vec<String>), EngineError> {
    let build = |flags: &[Flag]| {
        let mut builder = IoUring::<S, C>::builder();
        for flag in flags {
            flag.set(&mut builder);
        }
        if polled {
            builder.setup_iopoll();
        }
        locked_memory::retry(|| builder.build(depth))
    };
    best(workload.submission_poll, build, fallbacks)
}

/// What `build` makes with the best set of flags that the kernel takes, and their names; refused ones are named.
fn best<R>(
    submission_poll: bool,
    mut build: impl FnMut(&[Flag]) -> io::Result<R>,
    fallbacks: &mut Vec<String>,
) -> Result<(R, Vec<String>), EngineError> {
    let names = |flags: &[Flag]| flags.iter().map(|flag| flag.name()).collect::<Vec<_>>();
    let rungs = POLLED_LADDER.iter().filter(|_| submission_poll).chain(&LADDER);
    let mut refused: Vec<Flag> = Vec::new();
    let mut errno = libc::EINVAL;
    for flags in rungs {
        match build(flags) {
            Ok(ring) => {
                refused.retain(|flag| !flags.contains(flag));
                if !refused.is_empty() {
                    let instead =
                        if flags.is_empty() { "no flags".to_owned() } else { names(flags).join(", ") };
                    fallbacks.push(format!(
                        "this kernel refuses io_uring with {} ({}): using {instead}",
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
            Err(error) => return Err(RingError::setup(&error).into()),
        }
    }
    Err(RingError::setup(&io::Error::from_raw_os_error(libc::EINVAL)).into())
}

/// Whether the kernel refuses these flags: it does not know them, or, before 5.11, SQPOLL needs root.
fn is_refusal(error: &io::Error, flags: &[Flag]) -> bool {
    match error.raw_os_error() {
        Some(libc::EINVAL) => true,
        Some(libc::EPERM) => flags.contains(&Flag::Sqpoll),
        _ => false,
    }
}

/// A call of io_uring that failed, so that this machine, or one more worker, has no ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingError {
    call: &'static str,
    errno: Option<i32>,
}

impl RingError {
    /// `io_uring_setup(2)` failed.
    pub(crate) fn setup(error: &io::Error) -> Self {
        Self { call: "io_uring_setup", errno: error.raw_os_error() }
    }

    /// `io_uring_enter(2)` failed before any read.
    fn enter(error: &io::Error) -> Self {
        Self { call: "io_uring_enter", errno: error.raw_os_error() }
    }

    fn errno_words(self) -> String {
        self.errno.map_or_else(|| "no errno".to_owned(), errno_words)
    }

    /// The sentence about the fallback to threads.
    pub(crate) fn unavailable(self) -> String {
        let call = self.call;
        let why = match self.errno {
            Some(libc::EPERM | libc::EACCES) if call == "io_uring_enter" => {
                format!("seccomp or a security policy forbids {call}")
            }
            Some(libc::EPERM) => "forbidden by kernel.io_uring_disabled or a security policy".to_owned(),
            Some(libc::ENOSYS) => format!("this kernel lacks {call}, or seccomp blocks it"),
            Some(libc::ENOMEM) => format!("{} ({})", locked_memory::used_up(), locked_memory::RAISE_LIMIT),
            Some(libc::EMFILE | libc::ENFILE) => FEW_FILES.to_owned(),
            _ => format!("{call} failed"),
        };
        format!(
            "io_uring is not available ({}): {why}; using threads with pread, at a higher cost",
            self.errno_words()
        )
    }
}

/// The cause and fix where each worker needs a file for its ring.
const FEW_FILES: &str = "each job needs a file for its ring: raise `ulimit -n`, or use fewer --numjobs";

impl fmt::Display for RingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, words) = (self.call, self.errno_words());
        match self.errno {
            Some(libc::ENOMEM) => {
                let (used_up, raise) = (locked_memory::used_up(), locked_memory::RAISE_LIMIT);
                write!(formatter, "{call} failed: {words}: {used_up}; {raise}, or use fewer --numjobs")
            }
            Some(libc::EMFILE | libc::ENFILE) => {
                write!(formatter, "{call} failed: {words}; raise `ulimit -n`, or use fewer --numjobs")
            }
            _ => write!(formatter, "{call} failed: {words}; use --ioengine psync"),
        }
    }
}

/// Registers the buffers of requests of `block` bytes, if requested. Returns the requests per registered buffer; `None`,
/// with a sentence on an error.
pub(crate) fn fix_buffers(
    submitter: &Submitter<'_>,
    workload: &Workload,
    buffers: &Mapping,
    block: usize,
    fallbacks: &mut Vec<String>,
) -> Option<usize> {
    if !workload.fixed_buffers {
        return None;
    }
    let requests = (LONGEST_BUFFER / block.max(1)).max(1);
    let register = || register_buffers(submitter, buffers, block * requests);
    // Above the limit only privileged users succeed, or retries never help.
    let may_fit = locked_memory::limit().is_none_or(|limit| buffers.len() as u64 <= limit.0);
    match if may_fit { locked_memory::retry(register) } else { register() } {
        Ok(()) => Some(requests),
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
    // SAFETY: every vector lies within the mapping, whose pages the kernel holds on to; no read is in flight when it is
    // unmapped (`GuardedRing`).
    unsafe { submitter.register_buffers(&vectors) }
}

fn unregistered_buffers(error: &io::Error, asked: usize) -> String {
    let asked = units::block_size(Bytes(asked as u64));
    let why = match error.raw_os_error() {
        Some(libc::ENOMEM) => format!("{}; {}", locked_memory::used_up(), locked_memory::RAISE_LIMIT),
        _ => "the kernel refused".to_owned(),
    };
    format!("cannot register {asked} of buffers ({}): {why}; plain buffers are used", error_words(error))
}

/// Reads the first block with a polling ring. The errno when the device cannot be polled.
fn probe(guarded: &mut GuardedRing<CountedRing>, target: &Open, block: usize) -> Result<(), i32> {
    let length = u32::try_from(block).unwrap_or(u32::MAX);
    let GuardedRing { ring: CountedRing { ring, pending }, buffers, .. } = guarded;
    let read = opcode::Read::new(types::Fd(target.file.as_raw_fd()), buffers.as_ptr(), length).build();
    *pending += 1;
    // SAFETY: the first request of the mapping has `block` bytes, and stays mapped while the read is in flight (`GuardedRing`).
    unsafe { ring.submission().push(&read) }.map_err(|_| libc::EBUSY)?;
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => {
                return Err(error.raw_os_error().unwrap_or(libc::EIO));
            }
            _ => {}
        }
        // A signal, or polling past the time slice, ends the call without a completion.
        if let Some(completion) = ring.completion().next() {
            *pending -= 1;
            return if completion.result() < 0 { Err(-completion.result()) } else { Ok(()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Write,
        os::{fd::OwnedFd, unix::thread::JoinHandleExt},
        sync::{Arc, atomic::AtomicBool},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::text::Label;

    #[test]
    fn signals_do_not_make_a_drive_one_that_cannot_be_polled() {
        signal_hook::flag::register(libc::SIGUSR1, Arc::new(AtomicBool::new(false))).unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let target = Open {
            file: File::from(OwnedFd::from(reader)),
            name: Label::new("pipe"),
            span: Bytes(4096),
            namespace: None,
            doubts: Vec::new(),
        };
        let prober = thread::spawn(move || {
            let mut guarded = guarded(IoUring::new(2).unwrap(), 4096, 1).unwrap();
            probe(&mut guarded, &target, 4096)
        });
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(20));
            // SAFETY: the thread has not been joined, and its signal is handled.
            unsafe { libc::pthread_kill(prober.as_pthread_t(), libc::SIGUSR1) };
        }
        writer.write_all(&[7; 4096]).unwrap();
        assert_eq!(prober.join().unwrap(), Ok(()));
    }

    #[test]
    fn locked_memory_that_is_used_up_is_named_with_what_to_do() {
        let short = io::Error::from_raw_os_error(libc::ENOMEM);
        let ring = RingError::setup(&short);
        for sentence in [ring.to_string(), ring.unavailable(), unregistered_buffers(&short, 131_072)] {
            assert!(sentence.contains("ENOMEM") && sentence.contains("LimitMEMLOCK="), "{sentence}");
        }
    }

    /// A kernel that refuses one flag gets the best set without it; the flag and the error are named.
    #[test]
    fn each_refused_flag_is_left_out_and_named() {
        use Flag::{CoopTaskrun, DeferTaskrun, NoSqarray, SingleIssuer, Sqpoll};
        let with = |polled, bad: &[Flag], errno| {
            let mut said = Vec::new();
            let build = |flags: &[Flag]| {
                if flags.iter().any(|flag| bad.contains(flag)) {
                    Err(io::Error::from_raw_os_error(errno))
                } else {
                    Ok(())
                }
            };
            let made = best(polled, build, &mut said).map(|((), names)| names.join(" "));
            (made.ok(), said.join("; "))
        };
        let einval = |bad: &[Flag]| with(false, bad, libc::EINVAL);
        assert_eq!(einval(&[]), (Some("SINGLE_ISSUER DEFER_TASKRUN NO_SQARRAY".to_owned()), String::new()));
        for (bad, used, named) in [
            (&[NoSqarray][..], "SINGLE_ISSUER DEFER_TASKRUN", "NO_SQARRAY"),
            (&[DeferTaskrun], "SINGLE_ISSUER COOP_TASKRUN", "DEFER_TASKRUN"),
            (&[SingleIssuer], "", "SINGLE_ISSUER"),
            (&[DeferTaskrun, CoopTaskrun], "", "COOP_TASKRUN"),
        ] {
            let (made, said) = einval(bad);
            assert_eq!(made.as_deref(), Some(used), "{bad:?}");
            assert!(said.contains(named) && said.contains("EINVAL"), "{bad:?}: {said}");
        }
        let (made, said) = with(true, &[Sqpoll], libc::EPERM);
        assert_eq!(made.as_deref(), Some("SINGLE_ISSUER DEFER_TASKRUN NO_SQARRAY"));
        assert!(said.contains("SQPOLL (EPERM"), "{said}");
        // Forbidden altogether: no set is tried after the first.
        assert_eq!(with(false, &[SingleIssuer], libc::EPERM).0, None);
    }
}
