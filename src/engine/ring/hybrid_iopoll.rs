//! Rings that sleep before they poll (`IORING_SETUP_HYBRID_IOPOLL`, Linux 6.13).
#![expect(unsafe_code, reason = "a system call without a safe wrapper")]

use std::{io, mem, os::fd::IntoRawFd};

use io_uring::{IoUring, Parameters};
use rustix::io_uring::{IoringSetupFlags, io_uring_params, io_uring_setup};

/// The flags, with the kernel's names without `IORING_SETUP_`. A kernel that has the last has all.
const FLAGS: [(IoringSetupFlags, &str); 5] = [
    (IoringSetupFlags::SINGLE_ISSUER, "SINGLE_ISSUER"),
    (IoringSetupFlags::DEFER_TASKRUN, "DEFER_TASKRUN"),
    (IoringSetupFlags::NO_SQARRAY, "NO_SQARRAY"),
    (IoringSetupFlags::IOPOLL, "IOPOLL"),
    (IoringSetupFlags::from_bits_retain(1 << 17), "HYBRID_IOPOLL"),
];

/// A ring of `depth` entries for the calling thread, and the names of its flags.
///
/// # Errors
/// EINVAL where the kernel lacks hybrid polling; errors of `io_uring_setup`.
pub(crate) fn ring(depth: u32) -> io::Result<(IoUring, Vec<String>)> {
    let mut params = io_uring_params::default();
    params.flags = FLAGS.into_iter().map(|(flag, _)| flag).collect();
    // SAFETY: it names no memory and no other ring.
    let descriptor = unsafe { io_uring_setup(depth, &mut params) }?.into_raw_fd();
    // SAFETY: both are the kernel's structure, equal in size; the kernel filled it.
    let params: Parameters = unsafe { mem::transmute(params) };
    // SAFETY: the descriptor is the ring just made with these parameters, and has no other owner.
    let ring = unsafe { IoUring::from_fd(descriptor, params) }?;
    Ok((ring, FLAGS.map(|(_, name)| name.to_owned()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_polls_or_the_kernel_does_not_know_it() {
        match ring(8) {
            Ok((ring, names)) => {
                assert!(ring.params().is_setup_iopoll() && ring.params().is_setup_single_issuer());
                assert_eq!((ring.params().sq_entries(), names.len()), (8, FLAGS.len()));
            }
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EPERM | libc::ENOSYS)),
                "{error}"
            ),
        }
    }
}
