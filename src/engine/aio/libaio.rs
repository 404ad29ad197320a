//! Linux native AIO, fio's `libaio`: `io_setup`, `io_submit`, `io_getevents` by raw system calls.
#![expect(unsafe_code, reason = "control blocks hold the addresses of the buffers")]

use std::{io, os::fd::AsRawFd, time::Duration};

use crate::engine::{
    EngineError,
    aio::{self, AioQueue},
    memory::Mapping,
    offset_generator::Block,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::model::{EngineKind, Workload, error_words};

/// `struct iocb` of `linux/aio_abi.h`: a read (`IOCB_CMD_PREAD` is 0), and its slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct Control {
    data: u64,
    // On big-endian machines these two are swapped; both stay 0.
    key: u32,
    rw_flags: u32,
    opcode: Read,
    priority: i16,
    file: u32,
    address: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_file: u32,
}

/// The one opcode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u16)]
enum Read {
    #[default]
    Pread = 0,
}

/// `struct io_event`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    control: u64,
    result: i64,
    result2: i64,
}

/// An error where this kernel lacks native AIO.
pub(crate) fn available() -> io::Result<()> {
    Context::new(1).map(drop)
}

/// The sentence about the fallback to threads.
pub(crate) fn unavailable(error: &io::Error) -> String {
    format!(
        "libaio is not available ({}): no native AIO in this kernel, or seccomp blocks it; using threads \
         with pread",
        error_words(error)
    )
}

/// Options that native AIO lacks, each with whether the workload has it.
fn lacks(workload: &Workload) -> [(bool, &'static str); 4] {
    [
        (workload.hipri, "libaio cannot poll: completions use interrupts"),
        (workload.submission_poll, "libaio has no SQPOLL thread: --sqthread_poll has no effect"),
        (
            workload.exact_timing,
            "libaio latency starts before the submitting call: --exact_timing has no effect",
        ),
        (!workload.direct, "libaio without O_DIRECT blocks: io_submit returns after the read is done"),
    ]
}

/// An AIO context.
#[derive(Debug)]
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> io::Result<Self> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the context is a writable word that was set to 0, as io_setup(2) asks.
        match unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) } {
            0 => Ok(Self(context)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Cancels reads and waits for the rest, without a time limit (`io_destroy(2)`; `fs/aio.c` waits for the last
    /// request since Linux 3.16). Whether that succeeded.
    fn destroy(&mut self) -> bool {
        // SAFETY: made by io_setup; 0, which no context is, once it is destroyed.
        let destroyed = unsafe { libc::syscall(libc::SYS_io_destroy, self.0) } == 0;
        self.0 = 0;
        destroyed
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.0 != 0 {
            self.destroy();
        }
    }
}

/// A context with its reads and their memory.
struct Native {
    context: Context,
    controls: Vec<Control>,
    buffers: Mapping,
    block: usize,
    file: u32,
    /// Queued slots, not submitted yet.
    put: Vec<u16>,
    /// The control blocks of one call.
    submitted: Vec<*mut Control>,
    events: Vec<Event>,
    in_flight: usize,
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let mut native = Native::new(assignment)?;
    let Assignment { workload, .. } = assignment;
    let config = EffectiveConfig::without_ring(EngineKind::Libaio, &native.buffers, &lacks(workload));
    aio::work(assignment, ready, &mut native, config, workload.depth);
    Ok(())
}

impl Native {
    fn new(assignment: &Assignment) -> Result<Self, EngineError> {
        let Assignment { workload, target, .. } = assignment;
        let (buffers, block) = aio::buffers(workload)?;
        let context = Context::new(workload.depth).map_err(|error| EngineError::Machine {
            wrong: format!("io_setup failed: {}", error_words(&error)),
            fix: match error.raw_os_error() {
                Some(libc::EAGAIN) => "raise the sysctl fs.aio-max-nr, or use fewer --iodepth and --numjobs",
                _ => "use --ioengine io_uring or psync",
            }
            .to_owned(),
        })?;
        let depth = workload.depth as usize;
        Ok(Self {
            context,
            controls: vec![Control::default(); depth],
            buffers,
            block,
            file: target.file.as_raw_fd().unsigned_abs(),
            put: Vec::with_capacity(depth),
            submitted: Vec::with_capacity(depth),
            events: vec![Event::default(); depth],
            in_flight: 0,
        })
    }

    /// Submits queued reads, as many as the kernel accepts. A refused read completes with its errno.
    fn submit(&mut self, done: &mut Vec<(u16, i32)>) -> io::Result<()> {
        while !self.put.is_empty() {
            self.submitted.clear();
            for slot in &self.put {
                self.submitted.push(&raw mut self.controls[usize::from(*slot)]);
            }
            let (count, pointers) = (self.submitted.len(), self.submitted.as_mut_ptr());
            // SAFETY: `count` pointers to control blocks of slots with no read in flight, each naming a piece of a mapping
            // that stays until the context is destroyed; the kernel copies them before it returns.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context.0, count, pointers) };
            match usize::try_from(taken) {
                Ok(taken) if taken > 0 => {
                    self.put.drain(..taken.min(count));
                    self.in_flight += taken;
                }
                _ => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Completions make room for the rest.
                    Some(libc::EAGAIN) if self.in_flight > 0 => return Ok(()),
                    Some(errno @ (libc::ENOSYS | libc::EFAULT)) => {
                        return Err(io::Error::from_raw_os_error(errno));
                    }
                    errno => done.push((self.put.remove(0), -errno.unwrap_or(libc::EIO))),
                },
            }
        }
        Ok(())
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl AioQueue for Native {
    /// A seccomp filter may refuse `io_destroy`.
    fn close(&mut self) -> Option<String> {
        let left = if self.context.0 == 0 || self.context.destroy() { 0 } else { self.in_flight };
        (left > 0).then(|| {
            self.buffers.leak();
            format!(
                "io_destroy failed with {left} reads in flight: their buffers stay mapped until iodyno exits"
            )
        })
    }

    fn put(&mut self, slot: u16, block: Block) {
        let index = usize::from(slot);
        self.controls[index] = Control {
            data: u64::from(slot),
            file: self.file,
            address: self.buffers.as_ptr().wrapping_add(index * self.block).addr() as u64,
            bytes: u64::from(block.length),
            offset: i64::try_from(block.offset).unwrap_or(i64::MAX),
            ..Control::default()
        };
        self.put.push(slot);
    }

    fn enter(
        &mut self,
        wait: usize,
        patience: Option<Duration>,
        done: &mut Vec<(u16, i32)>,
    ) -> io::Result<()> {
        self.submit(done)?;
        let wait = wait.saturating_sub(done.len()).min(self.in_flight);
        let time = aio::timespec(patience);
        let time = aio::pointer(time.as_ref());
        let (most, events) = (self.events.len(), self.events.as_mut_ptr());
        // SAFETY: `events` has room for `most` of them; the time is null or outlives the call.
        let found =
            unsafe { libc::syscall(libc::SYS_io_getevents, self.context.0, wait, most, events, time) };
        let found = match usize::try_from(found) {
            Ok(found) => found,
            Err(_) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => 0,
                error => return Err(error),
            },
        };
        self.in_flight -= found;
        for event in &self.events[..found] {
            #[expect(clippy::cast_possible_truncation, reason = "the slot number put there")]
            done.push((event.data as u16, i32::try_from(event.result).unwrap_or(i32::MAX)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn control_blocks_and_events_are_laid_out_as_the_kernels() {
        assert_eq!((size_of::<Control>(), size_of::<Event>()), (64, 32));
        assert_eq!((offset_of!(Control, opcode), offset_of!(Control, file)), (16, 20));
        assert_eq!((offset_of!(Control, address), offset_of!(Control, offset)), (24, 40));
    }

    #[test]
    fn what_it_lacks_is_said() {
        let asks = Workload {
            hipri: true,
            submission_poll: true,
            exact_timing: true,
            direct: false,
            ..Workload::default()
        };
        assert!(lacks(&asks).iter().all(|(asked, _)| *asked));
        assert!(!lacks(&Workload::default()).iter().any(|(asked, _)| *asked));
    }

    #[test]
    fn a_kernel_without_it_is_named() {
        let sentence = unavailable(&io::Error::from_raw_os_error(libc::ENOSYS));
        assert!(sentence.contains("ENOSYS") && sentence.contains("pread"), "{sentence}");
    }
}
