#![expect(
    unsafe_code,
    reason = "reads are handed to the kernel by address, and their memory is looked at afterwards"
)]

use std::{
    cell::RefCell,
    io::Write,
    os::fd::AsRawFd,
    ptr,
    rc::Rc,
    sync::{Mutex, MutexGuard, PoisonError},
};

use io_uring::{opcode, types};
use rustix::mm::{self, MapFlags, ProtFlags};

use super::*;

/// Large enough that no other module's mapping comes to lie over all of it.
const LENGTH: usize = 64 << 20;

/// One of these tests at a time: the next one's mapping takes the place of the last one's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_mapped(start: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut covered = start;
    for line in maps.lines() {
        let (first, rest) = line.split_once('-').unwrap();
        let end = rest.split_once(' ').unwrap().0;
        let [first, end] = [first, end].map(|address| usize::from_str_radix(address, 16).unwrap());
        if (first..end).contains(&covered) {
            covered = end;
        }
    }
    covered >= start + LENGTH
}

/// Reads that end after some looks, each call an error.
struct Failing {
    looks: u32,
    left: RefCell<u32>,
    buffers: usize,
    log: Rc<RefCell<Vec<&'static str>>>,
}

impl Failing {
    fn note(&self, what: &'static str) {
        assert!(is_mapped(self.buffers), "{what} with the buffers gone");
        self.log.borrow_mut().push(what);
    }
}

impl Drain for Failing {
    fn in_flight(&mut self) -> u32 {
        *self.left.borrow()
    }

    fn cancel(&self) -> io::Result<()> {
        self.note("cancel");
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }

    fn look(&self) -> io::Result<()> {
        self.note("look");
        let looks = self.log.borrow().iter().filter(|what| **what == "look").count();
        if looks >= self.looks as usize {
            self.left.replace(0);
        }
        Err(io::Error::from_raw_os_error(libc::EIO))
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        self.note("close");
    }
}

/// A ring whose three reads end after `looks` calls, its memory, and the log of its calls.
fn failing(looks: u32) -> (GuardedRing<Failing>, usize, Rc<RefCell<Vec<&'static str>>>) {
    let memory = Mapping::new(LENGTH).unwrap();
    let (buffers, log) = (memory.as_ptr().addr(), Rc::default());
    let ring = Failing { looks, left: RefCell::new(3), buffers, log: Rc::clone(&log) };
    let mut guarded = GuardedRing::new(ring, memory);
    guarded.patience = Duration::from_millis(50);
    (guarded, buffers, log)
}

#[test]
fn reads_are_cancelled_and_waited_for_before_the_ring_and_its_memory_go_whatever_fails() {
    let _alone = alone();
    let (guarded, buffers, log) = failing(3);
    drop(guarded);
    assert_eq!(*log.borrow(), ["cancel", "look", "look", "look", "close"]);
    assert!(!is_mapped(buffers));

    let (mut guarded, buffers, log) = failing(1);
    assert_eq!(guarded.close(), None);
    drop(guarded);
    assert_eq!(*log.borrow(), ["cancel", "look", "close"], "once is enough");
    assert!(!is_mapped(buffers));
}

#[test]
fn a_panic_waits_for_reads_as_well() {
    let _alone = alone();
    let (guarded, buffers, log) = failing(2);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _guarded = guarded;
        panic!("injected");
    }));
    assert!(panicked.is_err());
    assert_eq!(*log.borrow(), ["cancel", "look", "look", "close"]);
    assert!(!is_mapped(buffers));
}

#[test]
fn memory_of_reads_that_never_end_is_leaked_and_the_result_says_so() {
    let _alone = alone();
    let (mut guarded, buffers, log) = failing(u32::MAX);
    let said = guarded.close().unwrap();
    assert!(said.starts_with("3 reads were in flight"), "{said}");
    drop(guarded);
    assert_eq!(log.borrow().last(), Some(&"close"));
    assert!(is_mapped(buffers));
}

/// Drops a ring with a read of an empty pipe in flight, maps other memory in place of its buffers, fills the pipe, and
/// looks whether the read landed there. Nothing where another thread mapped something there first.
fn overwritten(flags: squeue::Flags) -> Option<bool> {
    let (reader, mut writer) = io::pipe().unwrap();
    let memory = Mapping::new(LENGTH).unwrap();
    let start = memory.as_ptr();
    let mut ring = IoUring::new(4).unwrap();
    let read = opcode::Read::new(types::Fd(reader.as_raw_fd()), start, 4096).build().flags(flags);
    // SAFETY: the memory stays mapped while the read is in flight: this is what the test is about.
    unsafe { ring.submission().push(&read) }.unwrap();
    ring.submit().unwrap();
    // The ring outlives its descriptor.
    let _ = ring.submitter().register_ring_fd();
    let mut ring = CountedRing { ring, pending: 1 };
    assert_eq!(ring.in_flight(), 1);
    drop(GuardedRing::new(ring, memory));

    let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE);
    // SAFETY: a new mapping where there is none.
    let other = unsafe { mm::mmap_anonymous(start.cast(), LENGTH, access, kind) }.ok()?;
    writer.write_all(&[0x5a; 4096]).unwrap();
    thread::sleep(Duration::from_millis(200));
    // SAFETY: the first byte of the mapping just made.
    let first = unsafe { ptr::read_volatile(other.cast::<u8>()) };
    // SAFETY: exactly that mapping.
    unsafe { mm::munmap(other, LENGTH) }.unwrap();
    Some(first != 0)
}

#[test]
fn a_read_in_flight_never_lands_in_memory_that_was_mapped_later() {
    let _alone = alone();
    // Waiting for the pipe, and blocked in a thread of the kernel's.
    for flags in [squeue::Flags::empty(), squeue::Flags::ASYNC] {
        let landed = (0..20).find_map(|_| overwritten(flags));
        assert_eq!(landed, Some(false), "{flags:?}");
    }
}
