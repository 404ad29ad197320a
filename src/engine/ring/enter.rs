//! One call of `io_uring_enter(2)`: submit, and wait for completions.
#![expect(unsafe_code, reason = "the io-uring crate has no safe call that posts completions without waiting")]

use std::{io, time::Duration};

use io_uring::{EnterFlags, Submitter, types};

/// Submits queued entries and waits for `wait` completions, for `patience` at the longest: 0 only posts available ones,
/// `None` posts none. EINTR, EAGAIN, EBUSY and ETIME are no errors: completions may be available.
#[inline]
pub(crate) fn enter(
    submitter: &Submitter<'_>,
    queued: usize,
    wait: Option<usize>,
    patience: Option<Duration>,
) -> io::Result<()> {
    let result = match (wait, patience) {
        (_, Some(most)) => {
            let most = types::Timespec::from(most);
            submitter.submit_with_args(wait.unwrap_or(0), &types::SubmitArgs::new().timespec(&most))
        }
        // Deferred completions are posted by calls that ask for them; `submit_and_wait(0)` does not.
        (Some(0), None) => {
            #[expect(clippy::cast_possible_truncation, reason = "no more than the ring has entries")]
            let queued = queued as u32;
            // A ring without a submitting thread ignores the second.
            let flags = EnterFlags::GETEVENTS | EnterFlags::SQ_WAKEUP;
            // SAFETY: no argument beside the count; what entries point at outlives the ring (see those who push them).
            unsafe { submitter.enter::<libc::sigset_t>(queued, 0, flags.bits(), None) }
        }
        (wait, None) => submitter.submit_and_wait(wait.unwrap_or(0)),
    };
    match result {
        Ok(_) => Ok(()),
        Err(error) => forgive(error),
    }
}

#[cold]
fn forgive(error: io::Error) -> io::Result<()> {
    let forgiven =
        matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME));
    if forgiven { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use io_uring::{IoUring, opcode};

    use super::*;
    use crate::engine::clock;

    fn ring(setup: impl Fn(&mut io_uring::Builder)) -> IoUring {
        let mut builder = IoUring::builder();
        setup(&mut builder);
        builder.build(4).unwrap()
    }

    /// Submits `count` no-ops and waits for all of them. Returns their data.
    fn completed(ring: &mut IoUring, count: u64) -> Vec<u64> {
        let (mut submitter, mut submission, mut completion) = ring.split();
        let _ = submitter.register_ring_fd();
        for data in 0..count {
            // SAFETY: a no-op touches nothing.
            unsafe { submission.push(&opcode::Nop::new().build().user_data(data)) }.unwrap();
        }
        submission.sync();
        enter(&submitter, submission.len(), usize::try_from(count).ok(), None).unwrap();
        completion.sync();
        completion.map(|event| event.user_data()).collect()
    }

    #[test]
    fn queued_entries_are_submitted_and_waited_for() {
        assert_eq!(completed(&mut ring(|_| ()), 3), [0, 1, 2]);
        let deferred = |builder: &mut io_uring::Builder| {
            builder.setup_single_issuer().setup_defer_taskrun();
        };
        assert_eq!(completed(&mut ring(deferred), 4), [0, 1, 2, 3]);
        let by_thread = |builder: &mut io_uring::Builder| {
            builder.setup_sqpoll(10);
        };
        assert_eq!(completed(&mut ring(by_thread), 2), [0, 1]);
    }

    #[test]
    fn a_call_that_waits_for_none_posts_deferred_completions() {
        let mut ring = ring(|builder| {
            builder.setup_single_issuer().setup_defer_taskrun();
        });
        let (submitter, mut submission, mut completion) = ring.split();
        let soon = types::Timespec::from(Duration::from_millis(1));
        // SAFETY: the time outlives the call that submits it, which is when it is read.
        unsafe { submission.push(&opcode::Timeout::new(&raw const soon).build()) }.unwrap();
        submission.sync();
        let mut found = |queued, wait| {
            enter(&submitter, queued, wait, None).unwrap();
            completion.sync();
            completion.by_ref().count()
        };
        assert_eq!(found(1, None), 0);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!((found(0, None), found(0, Some(0)), found(0, Some(0))), (0, 1, 0));
    }

    #[test]
    fn a_wait_without_reads_ends_when_its_time_is_over() {
        let mut ring = ring(|_| ());
        let (submitter, submission, _) = ring.split();
        let began = clock::now();
        enter(&submitter, submission.len(), Some(1), Some(Duration::from_millis(20))).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn calls_to_repeat_are_no_errors() {
        for errno in [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ETIME] {
            assert!(forgive(io::Error::from_raw_os_error(errno)).is_ok());
        }
        assert!(forgive(io::Error::from_raw_os_error(libc::ENXIO)).is_err());
    }
}
