//! The door of a ring: the one system call of a batch.
//!
//! Here: `io_uring_enter(2)`, compiled into the loop that makes it. By way of the C library's wrapper a no-op at depth 32 took
//! 5 % longer, all else equal; probably since the wrapper's return is mispredicted after the kernel's own returns. Not here:
//! what is handed over ([`super::worker`]).
#![expect(unsafe_code, reason = "a system call on a ring, by its descriptor or its number")]

use std::{
    ffi::c_void,
    io,
    os::fd::{AsRawFd, BorrowedFd, RawFd},
    ptr,
    time::Duration,
};

use io_uring::{IoUring, Submitter, cqueue, squeue, types};
use rustix::io_uring::{
    IoringEnterFlags, IoringRegisterOp, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg,
    io_uring_ptr, io_uring_register, io_uring_rsrc_update,
};

/// How the thread that made a ring enters it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Door {
    /// The ring's descriptor, or its number among the rings that the thread registered.
    ring: RawFd,
    /// What every call says.
    flags: IoringEnterFlags,
    /// The kernel's thread hands over, and may have to be woken for it.
    wakes: bool,
}

impl Door {
    /// Into `ring`, for as long as that lives, from the calling thread.
    pub(super) fn new<S: squeue::EntryMarker, C: cqueue::EntryMarker>(ring: &IoUring<S, C>) -> Self {
        let mut flags = IoringEnterFlags::empty();
        if ring.params().is_setup_iopoll() {
            // Somebody has to look, even when nothing is waited for.
            flags |= IoringEnterFlags::GETEVENTS;
        }
        Self { ring: ring.as_raw_fd(), flags, wakes: ring.params().is_setup_sqpoll() }
    }

    /// By the ring's number among those that the calling thread registered, which spares a lookup per call; by its
    /// descriptor where that is refused (before 5.18). The ring, and what it holds open, then lives as long as the thread.
    pub(super) fn registered(mut self) -> Self {
        if let Some(number) = register(self.ring) {
            self.ring = number;
            self.flags |= IoringEnterFlags::REGISTERED_RING;
        }
        self
    }

    /// Hands over the `queued` entries and waits for `wait` completions, for `patience` at the longest: 0 looks what is
    /// there, `None` does not even look. What only means "look at the completions first" is no error.
    #[inline]
    pub(super) fn enter(
        self,
        submitter: &Submitter<'_>,
        queued: usize,
        wait: Option<usize>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        let least = wait.unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, reason = "no more than the ring has entries")]
        let (queued, wait_for) = (queued as u32, least as u32);
        // SAFETY: a number that only this call looks at, of a ring that lives.
        let ring = unsafe { BorrowedFd::borrow_raw(self.ring) };
        let wanted = if wait.is_some() { IoringEnterFlags::GETEVENTS } else { IoringEnterFlags::empty() };
        let result = match patience {
            _ if self.wakes => return wake(submitter, least, patience),
            // SAFETY: what the entries point at lives for as long as the ring (whoever pushed them saw to that).
            None => unsafe { io_uring_enter(ring, queued, wait_for, self.flags | wanted) },
            Some(most) => {
                let most = types::Timespec::from(most);
                let argument = io_uring_getevents_arg {
                    ts: io_uring_ptr::new(ptr::from_ref(&most).cast_mut().cast::<c_void>()),
                    ..io_uring_getevents_arg::default()
                };
                let flags = self.flags | wanted | IoringEnterFlags::EXT_ARG;
                // SAFETY: as above; the time outlives the call.
                unsafe { io_uring_enter_arg(ring, queued, wait_for, flags, Some(&argument)) }
            }
        };
        match result {
            Err(errno) => forgive(errno.into()),
            Ok(_) => Ok(()),
        }
    }
}

/// With a kernel's thread that hands over: a call only to wake it, or to wait.
#[cold]
fn wake(submitter: &Submitter<'_>, wait: usize, patience: Option<Duration>) -> io::Result<()> {
    let result = match patience {
        None => submitter.submit_and_wait(wait),
        Some(most) => {
            let most = types::Timespec::from(most);
            submitter.submit_with_args(wait, &types::SubmitArgs::new().timespec(&most))
        }
    };
    result.map(drop).or_else(forgive)
}

#[cold]
fn forgive(error: io::Error) -> io::Result<()> {
    let forgiven =
        matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME));
    if forgiven { Ok(()) } else { Err(error) }
}

/// Registers a ring with the calling thread: its number there.
fn register(descriptor: RawFd) -> Option<RawFd> {
    let mut update = io_uring_rsrc_update::default();
    update.offset = u32::MAX;
    update.data = io_uring_ptr::new(ptr::without_provenance_mut(usize::try_from(descriptor).ok()?));
    // SAFETY: the descriptor is an open ring's; the kernel reads and writes the one update it is given.
    let registered = unsafe {
        let ring = BorrowedFd::borrow_raw(descriptor);
        io_uring_register(ring, IoringRegisterOp::RegisterRingFds, (&raw mut update).cast::<c_void>(), 1)
    };
    matches!(registered, Ok(1)).then(|| RawFd::try_from(update.offset).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use io_uring::opcode;

    use super::*;
    use crate::load::clock;

    fn ring(setup: impl Fn(&mut io_uring::Builder)) -> IoUring {
        let mut builder = IoUring::builder();
        setup(&mut builder);
        builder.build(4).unwrap()
    }

    /// Hands over so many no-ops and waits for all of them: what came back.
    fn come_back(ring: &mut IoUring, count: u64) -> Vec<u64> {
        let door = Door::new(ring).registered();
        let (submitter, mut submission, mut completion) = ring.split();
        for data in 0..count {
            // SAFETY: a no-op touches nothing.
            unsafe { submission.push(&opcode::Nop::new().build().user_data(data)) }.unwrap();
        }
        submission.sync();
        door.enter(&submitter, submission.len(), usize::try_from(count).ok(), None).unwrap();
        completion.sync();
        completion.map(|event| event.user_data()).collect()
    }

    #[test]
    fn what_is_queued_goes_through_and_is_waited_for() {
        assert_eq!(come_back(&mut ring(|_| ()), 3), [0, 1, 2]);
        let deferred = |builder: &mut io_uring::Builder| {
            builder.setup_single_issuer().setup_defer_taskrun();
        };
        assert_eq!(come_back(&mut ring(deferred), 4), [0, 1, 2, 3]);
        let by_thread = |builder: &mut io_uring::Builder| {
            builder.setup_sqpoll(10);
        };
        assert_eq!(come_back(&mut ring(by_thread), 2), [0, 1]);
    }

    #[test]
    fn what_came_back_meanwhile_is_there_for_who_looks_without_waiting() {
        let mut ring = ring(|builder| {
            builder.setup_single_issuer().setup_defer_taskrun();
        });
        let door = Door::new(&ring);
        let (submitter, mut submission, mut completion) = ring.split();
        let soon = types::Timespec::from(Duration::from_millis(1));
        // SAFETY: the time outlives the call that hands it over, which is when it is read.
        unsafe { submission.push(&opcode::Timeout::new(&raw const soon).build()) }.unwrap();
        submission.sync();
        let mut found = |queued, wait| {
            door.enter(&submitter, queued, wait, None).unwrap();
            completion.sync();
            completion.by_ref().count()
        };
        assert_eq!(found(1, None), 0);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!((found(0, None), found(0, Some(0)), found(0, Some(0))), (0, 1, 0));
    }

    #[test]
    fn a_wait_with_nothing_to_wait_for_ends_when_its_time_is_over() {
        let mut ring = ring(|_| ());
        let door = Door::new(&ring);
        let (submitter, submission, _) = ring.split();
        let began = clock::now();
        door.enter(&submitter, submission.len(), Some(1), Some(Duration::from_millis(20))).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_ring_that_is_registered_is_entered_by_its_number() {
        let ring = ring(|_| ());
        assert_eq!(Door::new(&ring).ring, ring.as_raw_fd());
        let door = Door::new(&ring).registered();
        let by_number = door.flags.contains(IoringEnterFlags::REGISTERED_RING);
        assert_eq!(by_number, door.ring != ring.as_raw_fd(), "{door:?}");
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error_and_what_only_interrupts_is_none() {
        let mut ring = ring(|_| ());
        let door = Door { ring: 1 << 20, flags: IoringEnterFlags::empty(), wakes: false };
        let (submitter, _, _) = ring.split();
        let refused = door.enter(&submitter, 0, None, None).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
        for errno in [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ETIME] {
            assert!(forgive(io::Error::from_raw_os_error(errno)).is_ok());
        }
        assert!(forgive(io::Error::from_raw_os_error(libc::ENXIO)).is_err());
    }
}
