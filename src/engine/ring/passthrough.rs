//! NVMe passthrough, fio's `io_uring_cmd`: reads as NVMe commands to the driver, without the block layer.
#![expect(unsafe_code, reason = "commands hold the addresses of their buffers")]

mod command;
mod identity;

use std::{
    fs::File,
    io::{self, Seek, SeekFrom},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    time::Duration,
};

use io_uring::{cqueue, squeue};
use rustix::fs::{major, minor};

use crate::engine::{
    EngineError,
    aio::{self, AioQueue},
    offset_generator::Block,
    ring,
    ring::drain::{CountedRing, GuardedRing},
    ring::enter::enter,
    target::{Namespace, Open},
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::{
    machine::{Drive, Machine},
    model::{EngineKind, Workload, errno_words},
    units::{self, Bytes},
};
use command::Read;
use identity::Identity;

/// Converts a target open as a block device to its character device, and tries a read.
///
/// # Errors
/// Why passthrough cannot read it, without the target's name.
pub(crate) fn convert(open: &mut Open, workload: &Workload, machine: &Machine) -> Result<(), String> {
    let drive = whole_drive(&open.file, machine)?;
    let namespace = namespace(drive, workload)?;
    still_there(&open.file, drive, namespace)?;
    let path = drive.nvme.as_ref().and_then(|nvme| nvme.generic.as_ref());
    let path = path.ok_or("the kernel has no /dev/ngXnY (needs Linux 5.13)")?;
    let file = File::open(path.as_str()).map_err(|error| format!("{path} cannot be opened: {error}"))?;
    let size = drive.size.get().ok_or("its size cannot be read")?;
    same_namespace(&open.file, &file, namespace, size).map_err(|why| format!("{path} {why}"))?;
    open.file = file;
    open.namespace = Some(namespace);
    // Each worker makes its own ring, on its own thread.
    CommandRing::new(workload, open).map(drop)
}

fn whole_drive<'a>(file: &File, machine: &'a Machine) -> Result<&'a Drive, String> {
    let number = file.metadata().map_err(|error| error.to_string())?.rdev();
    let number = format!("{}:{}", major(number), minor(number));
    machine
        .drives
        .iter()
        .find(|drive| drive.device_number.value().is_some_and(|it| it.as_str() == number))
        .filter(|drive| drive.nvme.is_some())
        .ok_or_else(|| "not a whole NVMe drive, as passthrough requires".to_owned())
}

/// A drive with another format under the same name could overrun the buffers.
fn still_there(mut file: &File, drive: &Drive, namespace: Namespace) -> Result<(), String> {
    let block = rustix::fs::ioctl_blksszget(file).map_err(|error| error.to_string())?;
    let bytes = file.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    if block == 1 << namespace.block_shift && drive.size.get() == Some(Bytes(bytes)) {
        Ok(())
    } else {
        Err("the drive or its format changed since iodyno started; restart iodyno".to_owned())
    }
}

/// The name may have become another drive's before the character device was opened.
fn same_namespace(block: &File, generic: &File, namespace: Namespace, size: Bytes) -> Result<(), String> {
    let ask = |file| Identity::of(file).map_err(|error| format!("cannot be identified: {error}"));
    let found = ask(generic)?;
    if found == ask(block)? && found.fits(namespace.id, namespace.block_shift, size) {
        Ok(())
    } else {
        Err("or its format changed since iodyno started; restart iodyno".to_owned())
    }
}

/// The namespace of a drive, checked for commands.
fn namespace(drive: &Drive, workload: &Workload) -> Result<Namespace, String> {
    let nvme = drive.nvme.as_ref().ok_or("not an NVMe drive")?;
    let id = nvme.nsid.get().ok_or("its namespace id cannot be read")?;
    let format = drive.format_in_use().ok_or_else(|| match nvme.namespace.problem() {
        Some(problem) => {
            format!("its LBA format is unknown ({}), and metadata would need room", problem.reason)
        }
        None => "its LBA format in use is unknown".to_owned(),
    })?;
    if format.metadata_bytes > 0 {
        let metadata = format.metadata_bytes;
        return Err(format!("its blocks have {metadata} B of metadata, which only the block layer strips"));
    }
    let block = format
        .data_bytes
        .filter(|bytes| bytes.is_power_of_two())
        .ok_or("its LBA format has no block size")?;
    let largest = workload.largest_block();
    let limits = [
        // The field has 16 bits, counted from 0.
        Some(Bytes(block << 16)),
        drive.queue.max_hw_sectors_kb.get().map(|kib| Bytes(kib << 10)),
        nvme.identity.value().and_then(|identity| identity.largest_transfer),
    ];
    if let Some(most) = limits.into_iter().flatten().min()
        && largest > most
    {
        return Err(format!(
            "the maximum per command is {}, the block size {}",
            units::block_size(most),
            units::block_size(largest)
        ));
    }
    let has_poll_queues = drive.queue.io_poll.get() == Some(1);
    Ok(Namespace { id, block_shift: block.ilog2(), has_poll_queues })
}

/// A ring of big entries with its buffers and its effective configuration.
struct CommandRing {
    guarded: GuardedRing<CountedRing<squeue::Entry128, cqueue::Entry32>>,
    /// Bytes of a slot.
    block: usize,
    config: EffectiveConfig,
    /// `None` once the file is registered.
    descriptor: Option<i32>,
    /// Slots per registered buffer; `None` without registration.
    slots_per_buffer: Option<usize>,
    template: Read,
    /// Queued reads, not submitted yet.
    put: Vec<(u16, Block)>,
    /// Bytes requested, by slot: a command that succeeds returns 0.
    lengths: Vec<u32>,
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let mut commands =
        CommandRing::new(&assignment.workload, &assignment.target).map_err(|why| EngineError::Machine {
            wrong: format!("NVMe passthrough cannot read {}: {why}", assignment.target.name),
            fix: "use --ioengine io_uring".to_owned(),
        })?;
    // Spares a lookup per call; refused before 5.18.
    let _ = commands.guarded.ring.ring.submitter().register_ring_fd();
    let config = commands.config.clone();
    aio::work(assignment, ready, &mut commands, config, assignment.workload.depth);
    Ok(())
}

impl CommandRing {
    /// Makes the ring of the calling thread and reads the first block with it: polled and with registered buffers if
    /// requested and accepted.
    fn new(workload: &Workload, target: &Open) -> Result<Self, String> {
        let namespace = target.namespace.ok_or("not opened for passthrough")?;
        let name = &target.name;
        let mut fallbacks = Vec::new();
        let mut polled = workload.hipri;
        if polled && !namespace.has_poll_queues {
            fallbacks.push(format!(
                "{name} cannot be polled: its driver has no poll queues (nvme.poll_queues=N); completions use \
                 interrupts"
            ));
            polled = false;
        }
        if polled && workload.hybrid_poll {
            fallbacks
                .push(format!("{name} is polled without sleeping: NVMe passthrough has no hybrid polling"));
        }
        if workload.exact_timing {
            fallbacks.push(format!(
                "{name}: passthrough latency starts before the submitting call: --exact_timing has no effect"
            ));
        }
        let mut wanted = workload.clone();
        loop {
            let mut commands = Self::make(&wanted, target, namespace, polled, fallbacks.clone())?;
            match commands.probe() {
                Ok(()) => return Ok(commands),
                Err(errno) if polled => {
                    fallbacks.push(format!(
                        "{name} refuses polled passthrough ({}): completions use interrupts",
                        errno_words(errno)
                    ));
                    polled = false;
                }
                // Kernels before 6.1.
                Err(libc::EINVAL) if commands.slots_per_buffer.is_some() => {
                    fallbacks.push(
                        "this kernel refuses passthrough with registered buffers (EINVAL): plain buffers are used"
                            .to_owned(),
                    );
                    wanted.fixed_buffers = false;
                }
                Err(errno) => return Err(refused(errno)),
            }
        }
    }

    fn make(
        workload: &Workload,
        target: &Open,
        namespace: Namespace,
        polled: bool,
        mut fallbacks: Vec<String>,
    ) -> Result<Self, String> {
        let (buffers, block) = aio::buffers(workload).map_err(|error| error.to_string())?;
        let (ring, mut flags) = ring::make(workload, workload.depth, polled, &mut fallbacks)
            .map_err(|error: EngineError| error.to_string())?;
        flags.extend(["SQE128", "CQE32"].map(str::to_owned));
        if polled {
            flags.push("IOPOLL".to_owned());
        }
        let fixed_file = workload.register_files
            && ring::register_files(&ring.submitter(), &[target.file.as_raw_fd()], &mut fallbacks);
        let slots_per_buffer =
            ring::fix_buffers(&ring.submitter(), workload, &buffers, block, &mut fallbacks);
        Ok(Self {
            config: EffectiveConfig::new(EngineKind::IoUringCmd, polled, flags, &buffers, fallbacks),
            descriptor: (!fixed_file).then(|| target.file.as_raw_fd()),
            template: Read::of(namespace),
            put: Vec::with_capacity(workload.depth as usize),
            lengths: vec![0; workload.depth as usize],
            guarded: GuardedRing::new(CountedRing::new(ring), buffers),
            block,
            slots_per_buffer,
        })
    }

    /// Reads the first block.
    fn probe(&mut self) -> Result<(), i32> {
        let length = u32::try_from(self.block).map_err(|_| libc::EINVAL)?;
        let mut done = Vec::new();
        self.put(0, Block { offset: 0, length });
        loop {
            // A signal, or polling past the time slice, ends the call without a completion.
            self.enter(1, None, &mut done).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
            match done.first() {
                Some((_, result)) if *result < 0 => return Err(-result),
                Some(_) => return Ok(()),
                None => {}
            }
        }
    }
}

impl AioQueue for CommandRing {
    #[inline]
    fn put(&mut self, slot: u16, block: Block) {
        self.put.push((slot, block));
    }

    fn enter(
        &mut self,
        wait: usize,
        patience: Option<Duration>,
        done: &mut Vec<(u16, i32)>,
    ) -> io::Result<()> {
        let GuardedRing { ring: CountedRing { ring, pending }, buffers, .. } = &mut self.guarded;
        *pending += u32::try_from(self.put.len()).unwrap_or(u32::MAX);
        let (submitter, mut submission, mut completion) = ring.split();
        for (slot, block) in self.put.drain(..) {
            let index = usize::from(slot);
            self.lengths[index] = block.length;
            let address = buffers.as_ptr().wrapping_add(index * self.block).addr();
            let buffer = self.slots_per_buffer.map(|slots| u16::try_from(index / slots).unwrap_or(0));
            let read = self.template.at(block, address as u64);
            let entry = read.entry(self.descriptor, buffer).user_data(u64::from(slot));
            // SAFETY: the slot's memory holds `block.length` bytes and stays mapped while a read is in flight (`GuardedRing`),
            // and no other one uses it: the caller put only free slots. The queue has as many entries as slots.
            while unsafe { submission.push(&entry) }.is_err() {
                submission.sync();
            }
        }
        submission.sync();
        enter(&submitter, submission.len(), Some(wait), patience)?;
        submission.sync();
        completion.sync();
        for event in &mut completion {
            #[expect(clippy::cast_possible_truncation, reason = "the slot number put there")]
            let slot = event.user_data() as u16;
            let result = match event.result() {
                0 => i32::try_from(self.lengths[usize::from(slot)]).unwrap_or(i32::MAX),
                status @ 1.. => -errno_of_status(status),
                errno => errno,
            };
            *pending -= 1;
            done.push((slot, result));
        }
        Ok(())
    }

    fn close(&mut self) -> Option<String> {
        self.guarded.close()
    }
}

/// Why the first command failed, for the sentence about the fallback.
fn refused(errno: i32) -> String {
    let why = match errno {
        libc::EACCES | libc::EPERM => "passthrough needs root before Linux 6.2",
        libc::EOPNOTSUPP | libc::EINVAL | libc::ENOTTY => {
            "the kernel or drive does not support io_uring passthrough"
        }
        _ => "the first command failed",
    };
    format!("{why} ({})", errno_words(errno))
}

/// The block layer's errno for an NVMe status (Base Specification 2.0, figures 94 to 99: code in bits 7:0, type in 10:8),
/// so that a failure has the same name with every engine.
fn errno_of_status(status: i32) -> i32 {
    match status & 0x7ff {
        // Invalid Command Opcode, Field, Namespace or Format.
        0x001 | 0x002 | 0x00b => libc::EOPNOTSUPP,
        // Command Interrupted, LBA Out of Range, Namespace Not Ready.
        0x021 | 0x080 | 0x082 => libc::EREMOTEIO,
        // Reservation Conflict.
        0x083 => libc::EBADE,
        // End-to-end Guard, Application Tag and Reference Tag Check Errors.
        0x282..=0x284 => libc::EILSEQ,
        // Unrecovered Read Error, Access Denied, Deallocated or Unwritten Logical Block.
        0x281 | 0x286 | 0x287 => libc::ENODATA,
        // Host Pathing Error.
        0x370 => libc::ENOLINK,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_name_that_the_block_layer_gives_it() {
        // Do Not Retry is bit 14, More is 13.
        assert_eq!(errno_of_status(0x4281), libc::ENODATA);
        assert_eq!(errno_of_status(0x2000 | 0x080), libc::EREMOTEIO);
        assert_eq!(errno_of_status(0x006), libc::EIO);
    }
}
