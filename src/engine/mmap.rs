//! mmap: one thread per read in flight, each faulting blocks of a shared, read-only mapping in.
//!
//! A block is read by `MADV_POPULATE_READ`, which takes the page faults of a program's own access and returns an error
//! where that access would end in SIGBUS: a file that another program truncates. Its bytes are mapped, not copied.
#![expect(unsafe_code, reason = "a file is mapped, and its pages are named by address")]

use std::{ffi::c_void, fs::File, io, ptr, time::Duration};

use rustix::{
    io::Errno,
    mm::{self, Advice, MapFlags, ProtFlags},
    param::page_size,
};

use crate::{
    engine::{
        EngineError,
        aio::{self, AioQueue},
        offset_generator::Block,
        prefetch::Prefetch,
        workers::batch_tuner::BatchTuner,
        workers::{Assignment, EffectiveConfig, Ready},
    },
    model::{Completion, EngineKind, Workload, errno_words},
};

/// Whether the kernel has `MADV_POPULATE_READ`.
pub(crate) fn available() -> Result<(), Errno> {
    let size = page_size();
    // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing.
    let start = unsafe { mm::mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ, MapFlags::PRIVATE) }?;
    let mapped = MappedFile { start, length: size, from: 0 };
    mapped.fault_in(0, size)
}

/// Why pread is used instead.
pub(crate) fn unavailable(errno: Errno) -> String {
    format!(
        "mmap needs MADV_POPULATE_READ (Linux 5.14), which is refused ({}): using pread",
        errno_words(errno.raw_os_error())
    )
}

/// Options that page faults lack, each with whether the workload has it.
fn lacks(workload: &Workload) -> [(bool, &'static str); 5] {
    [
        (true, "mmap maps pages and copies no data; fio's mmap engine copies each block"),
        (workload.hipri, "page faults cannot poll: completions use interrupts"),
        (workload.submission_poll, "page faults have no SQPOLL thread: --sqthread_poll has no effect"),
        (workload.exact_timing, "the latency of a page fault starts before it: --exact_timing has no effect"),
        (
            workload.depth > 1,
            "mmap uses --iodepth threads per job; fio's mmap has one I/O in flight per job at any iodepth",
        ),
    ]
}

/// A mapping of part of a file.
struct MappedFile {
    start: *mut c_void,
    length: usize,
    /// Offset of its first byte in the file: a multiple of the page size.
    from: u64,
}

impl MappedFile {
    /// Maps `span` bytes from `offset` on.
    fn new(file: &File, offset: u64, span: u64) -> io::Result<Self> {
        let from = offset - offset % page_size() as u64;
        let length = usize::try_from(offset - from + span).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; no reference to its bytes is made.
        let start =
            unsafe { mm::mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, from) }?;
        Ok(Self { start, length, from })
    }

    /// Faults `length` bytes from `offset` of the file on in.
    fn fault_in(&self, offset: u64, length: usize) -> Result<(), Errno> {
        let first = usize::try_from(offset.saturating_sub(self.from)).map_err(|_| Errno::INVAL)?;
        // madvise begins at a page.
        let begins = first - first % page_size();
        let length = first - begins + length;
        if begins + length > self.length.next_multiple_of(page_size()) {
            return Err(Errno::INVAL);
        }
        // SAFETY: the range lies within this mapping, and reading pages in changes no content.
        unsafe { mm::madvise(self.start.wrapping_byte_add(begins), length, Advice::LinuxPopulateRead) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new` or `available`, not used after this.
        let _ = unsafe { mm::munmap(self.start, self.length) };
    }
}

/// A queue of one read.
struct Mmap<'a> {
    file: &'a File,
    mapped: MappedFile,
    prefetch: Option<Prefetch>,
    block: Option<Block>,
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let Assignment { workload, target, .. } = assignment;
    let mapped = MappedFile::new(&target.file, workload.offset.0, target.span.0).map_err(|error| {
        EngineError::Machine {
            wrong: format!("cannot map {}: {error}", target.name),
            fix: "use --ioengine psync --direct 0, or a smaller --size".to_owned(),
        }
    })?;
    let lacks = lacks(workload);
    let fallbacks = lacks.iter().filter(|(asked, _)| *asked).map(|(_, words)| (*words).to_owned());
    let config = EffectiveConfig {
        engine: EngineKind::Mmap,
        completion: Completion::Interrupts,
        ring_flags: Vec::new(),
        memory: "mapped pages of the file",
        fallbacks: fallbacks.collect(),
    };
    let end = workload.offset.0 + target.span.0;
    let prefetch = workload.prefetch.map(|ahead| Prefetch::new(ahead.0, end));
    let mut queue = Mmap { file: &target.file, mapped, prefetch, block: None };
    aio::work(assignment, ready, &mut queue, config, 1);
    Ok(())
}

impl Mmap<'_> {
    /// Bytes that were faulted in, as pread returns them.
    fn fault_in(&self, Block { offset, length }: Block) -> Result<u64, Errno> {
        match self.mapped.fault_in(offset, length as usize) {
            Ok(()) => Ok(u64::from(length)),
            // Of a page behind the end of the file, or one that could not be read.
            Err(Errno::FAULT) => match self.file.metadata() {
                Ok(now) if now.is_file() && now.len() < offset + u64::from(length) => {
                    Ok(now.len().saturating_sub(offset))
                }
                _ => Err(Errno::IO),
            },
            Err(errno) => Err(errno),
        }
    }
}

impl AioQueue for Mmap<'_> {
    fn put(&mut self, _: u16, block: Block) {
        self.block = Some(block);
    }

    fn enter(&mut self, _: usize, _: Option<Duration>, done: &mut Vec<(u16, i32)>) -> io::Result<()> {
        let Some(block) = self.block.take() else { return Ok(()) };
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.follow(self.file, block);
        }
        let result = match self.fault_in(block) {
            Ok(read) => i32::try_from(read).unwrap_or(i32::MAX),
            Err(errno) => -errno.raw_os_error(),
        };
        done.push((0, result));
        Ok(())
    }

    fn batch(&self, _: &BatchTuner) -> String {
        "one block per call".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapped file of 64 KiB.
    fn queue(file: &File) -> Mmap<'_> {
        file.set_len(64 << 10).unwrap();
        let mapped = MappedFile::new(file, 512, (64 << 10) - 512).unwrap();
        Mmap { file, mapped, prefetch: None, block: None }
    }

    #[test]
    fn a_file_that_shrinks_ends_in_a_short_read_and_no_signal() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let queue = queue(&file);
        let block = |offset| Block { offset, length: 8192 };
        assert_eq!(queue.fault_in(block(512)), Ok(8192));
        assert_eq!(queue.fault_in(block(56 << 10)), Ok(8192), "the last bytes");
        assert!(queue.fault_in(block(1 << 20)).is_err(), "behind the mapping");
        file.set_len(20 << 10).unwrap();
        assert_eq!(queue.fault_in(block(16 << 10)), Ok(4096));
        assert_eq!(queue.fault_in(block(32 << 10)), Ok(0));
    }

    #[test]
    fn faults_are_counted_once_for_a_page() {
        use crate::engine::stats::usage::Usage;
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let queue = queue(&file);
        let whole = Block { offset: 4096, length: 32 << 10 };
        let faults = || {
            let before = Usage::of_this_thread();
            queue.fault_in(whole).unwrap();
            let cost = Usage::of_this_thread().since(before);
            cost.minor_faults + cost.major_faults
        };
        assert!(faults() > 0);
        assert_eq!(faults(), 0, "its pages are mapped now");
    }

    #[test]
    fn options_without_effect_are_reported() {
        let asks = Workload { hipri: true, submission_poll: true, exact_timing: true, ..Workload::default() };
        assert!(lacks(&asks).iter().all(|(asked, _)| *asked));
        let plain = Workload { depth: 1, ..Workload::default() };
        assert_eq!(lacks(&plain).iter().filter(|(asked, _)| *asked).count(), 1);
    }
}
