//! POSIX AIO of the C library, fio's `posixaio`: its own threads read, one read per open file at a time.
#![expect(unsafe_code, reason = "control blocks hold the addresses of the buffers")]

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::Path,
    ptr,
    time::Duration,
};

use crate::engine::{
    EngineError,
    aio::{self, AioQueue},
    memory::Mapping,
    offset_generator::Block,
    stats::usage::Usage,
    target,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::model::{EngineKind, Workload};

/// Reads of the C library's AIO, and their buffers.
struct Posix {
    controls: Box<[libc::aiocb]>,
    buffers: Mapping,
    block: usize,
    /// A descriptor per worker: the C library serializes reads of a descriptor.
    file: File,
    /// Queued slots, not submitted yet, and slots in flight.
    put: Vec<u16>,
    in_flight: Vec<u16>,
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let mut posix = Posix::new(assignment)?;
    let Assignment { workload, .. } = assignment;
    let config = EffectiveConfig::without_ring(EngineKind::Posixaio, &posix.buffers, &lacks(workload));
    aio::work(assignment, ready, &mut posix, config, workload.depth);
    Ok(())
}

/// Options that POSIX AIO lacks, each with whether the workload has it.
fn lacks(workload: &Workload) -> [(bool, &'static str); 4] {
    [
        (workload.hipri, "posixaio cannot poll: completions use interrupts"),
        (workload.submission_poll, "posixaio has no SQPOLL thread: --sqthread_poll has no effect"),
        (
            workload.exact_timing,
            "posixaio latency starts before the submitting call: --exact_timing has no effect",
        ),
        (workload.depth > 1, "posixaio: the C library serializes reads of a file, at any iodepth"),
    ]
}

impl Posix {
    fn new(assignment: &Assignment) -> Result<Self, EngineError> {
        let Assignment { workload, target, .. } = assignment;
        let (buffers, block) = aio::buffers(workload)?;
        let file = target
            .file
            .try_clone()
            .map_err(|error| target::refused(Path::new(target.name.as_str()), &error))?;
        // SAFETY: a control block of zeros is a valid one; it consists of integers and null pointers.
        let mut control: libc::aiocb = unsafe { std::mem::zeroed() };
        control.aio_fildes = file.as_raw_fd();
        control.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        Ok(Self {
            controls: vec![control; workload.depth as usize].into(),
            buffers,
            block,
            file,
            put: Vec::new(),
            in_flight: Vec::new(),
        })
    }

    /// Moves completed reads from `in_flight` to `done`.
    fn reap(&mut self, done: &mut Vec<(u16, i32)>) {
        let controls = &mut self.controls;
        self.in_flight.retain(|slot| {
            let control = &raw mut controls[usize::from(*slot)];
            // SAFETY: a control block that was submitted and not returned yet.
            let result = match unsafe { libc::aio_error(control) } {
                libc::EINPROGRESS => return true,
                // SAFETY: the read has completed, and its result is fetched once.
                0 => i32::try_from(unsafe { libc::aio_return(control) }).unwrap_or(i32::MAX),
                errno => -errno,
            };
            done.push((*slot, result));
            false
        });
    }

    /// Sleeps until a read completes. False when the time is over.
    fn suspend(&self, patience: Option<Duration>) -> bool {
        let list: Vec<*const libc::aiocb> =
            self.in_flight.iter().map(|slot| ptr::from_ref(&self.controls[usize::from(*slot)])).collect();
        let time = aio::timespec(patience);
        let time = aio::pointer(time.as_ref());
        let count = libc::c_int::try_from(list.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: `count` pointers to control blocks that stay where they are; the time is null or outlives the call.
        let result = unsafe { libc::aio_suspend(list.as_ptr(), count, time) };
        result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN)
    }
}

impl AioQueue for Posix {
    fn put(&mut self, slot: u16, block: Block) {
        let index = usize::from(slot);
        let control = &mut self.controls[index];
        control.aio_buf = self.buffers.as_ptr().wrapping_add(index * self.block).cast();
        control.aio_nbytes = block.length as usize;
        control.aio_offset = libc::off_t::try_from(block.offset).unwrap_or(libc::off_t::MAX);
        self.put.push(slot);
    }

    fn enter(
        &mut self,
        wait: usize,
        patience: Option<Duration>,
        done: &mut Vec<(u16, i32)>,
    ) -> io::Result<()> {
        for slot in self.put.drain(..) {
            let control = &raw mut self.controls[usize::from(slot)];
            // SAFETY: the control block and its memory stay where they are until the read has completed (`Drop`), and the slot
            // has no other read in flight.
            if unsafe { libc::aio_read(control) } == 0 {
                self.in_flight.push(slot);
            } else {
                done.push((slot, -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)));
            }
        }
        self.reap(done);
        while done.len() < wait && !self.in_flight.is_empty() && self.suspend(patience) {
            self.reap(done);
        }
        Ok(())
    }

    fn helpers(&self) -> Usage {
        threads_made_here()
    }
}

/// CPU time of threads that this thread created: they inherit its name. The C library does not report its threads.
fn threads_made_here() -> Usage {
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let name = |task: &str| fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
    let worker = name(&own);
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Usage::default() };
    let mut usage = Usage::default();
    for task in tasks.flatten() {
        let task = task.file_name().to_string_lossy().into_owned();
        if task != own && name(&task) == worker {
            usage.add(Usage::of_task(&task));
        }
    }
    usage
}

impl Drop for Posix {
    fn drop(&mut self) {
        // Buffers are unmapped after the last read; queued reads are cancelled.
        // SAFETY: the descriptor is open; cancelled reads complete with ECANCELED.
        unsafe { libc::aio_cancel(self.file.as_raw_fd(), ptr::null_mut()) };
        let mut done = Vec::new();
        while !self.in_flight.is_empty() {
            self.suspend(None);
            self.reap(&mut done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_lacks_is_said() {
        let asks = Workload { hipri: true, submission_poll: true, exact_timing: true, ..Workload::default() };
        assert!(lacks(&asks).iter().all(|(asked, _)| *asked));
        assert!(!lacks(&Workload { depth: 1, ..Workload::default() }).iter().any(|(asked, _)| *asked));
    }

    #[test]
    fn what_threads_of_a_worker_spend_is_found_by_its_name() {
        // A busy machine may give one thread all of its time before the other looks.
        assert!((0..50).any(|_| is_seen_from_outside()), "what the other thread spends shows while it does");
    }

    fn is_seen_from_outside() -> bool {
        let spent = std::thread::Builder::new().name("posix test".to_owned()).spawn(|| {
            let busy = std::thread::spawn(|| {
                let began = Usage::of_this_thread();
                while Usage::of_this_thread().since(began).user < Duration::from_millis(60) {}
                // Its name is the one it was made under.
                threads_made_here()
            });
            let before = threads_made_here();
            while !busy.is_finished() && threads_made_here().since(before).user < Duration::from_millis(20) {}
            (busy.is_finished(), busy.join().unwrap())
        });
        let (too_late, of_the_other) = spent.unwrap().join().unwrap();
        assert!(of_the_other.user < Duration::from_millis(60), "its own time is not in what the other sees");
        !too_late
    }
}
