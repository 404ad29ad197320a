//! Rings whose completions are slept for before they are polled for (`IORING_SETUP_HYBRID_IOPOLL`, Linux 6.13), which the
//! io-uring crate cannot ask for.
//!
//! Here: setting such a ring up by its system call. Not here: when it is wanted ([`super::ring`]).
#![expect(unsafe_code, reason = "a system call without a wrapper")]

use std::{io, mem};

use io_uring::{IoUring, Parameters};

/// `struct io_uring_params` of `include/uapi/linux/io_uring.h`; zero but for the flags when it is handed over.
#[derive(Default)]
#[repr(C)]
struct Params {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    rest: [u32; 27],
}
const _: () = assert!(size_of::<Params>() == size_of::<Parameters>());
const _: () = assert!(align_of::<Params>() <= align_of::<Parameters>());

/// The flags, with the kernel's names without `IORING_SETUP_`. A kernel that has the last has all.
const FLAGS: [(u32, &str); 5] = [
    (1 << 12, "SINGLE_ISSUER"),
    (1 << 13, "DEFER_TASKRUN"),
    (1 << 16, "NO_SQARRAY"),
    (1 << 0, "IOPOLL"),
    (1 << 17, "HYBRID_IOPOLL"),
];

/// A ring of `depth` entries for the calling thread, and the names of its flags.
///
/// # Errors
/// EINVAL where the kernel has no such rings, else what keeps it from making any.
pub(super) fn ring(depth: u32) -> io::Result<(IoUring, Vec<String>)> {
    let flags = FLAGS.iter().fold(0, |all, (flag, _)| all | flag);
    let mut params = Params { flags, ..Params::default() };
    // SAFETY: the structure is the kernel's, writable, and outlives the call.
    let descriptor = unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &raw mut params) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = i32::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: both are the kernel's structure, of integers alone, equal in size; the kernel filled it.
    let params: Parameters = unsafe { mem::transmute(params) };
    // SAFETY: the descriptor is the ring just made with these parameters, and nobody else has it.
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
