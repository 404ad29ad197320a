//! Locked memory (`RLIMIT_MEMLOCK`) of rings and registered buffers: retries and error texts.

use std::{io, thread, time::Duration};

use crate::units::{self, Bytes};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(10);
/// Two seconds in all. Freeing a ring takes some 20 ms, more on a busy machine.
const TRIES: u32 = 200;

/// The fix if it is used up.
pub const RAISE_LIMIT: &str = "raise `ulimit -l`, or LimitMEMLOCK= of a systemd unit";

/// Repeats `make` for up to two seconds while it fails with ENOMEM: the kernel frees the memory of a closed ring later,
/// in a work queue.
///
/// # Errors
/// The last error of `make`.
pub fn retry<T>(mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match make() {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => thread::sleep(PAUSE),
            result => return result,
        }
    }
    make()
}

/// The soft limit; `None` is unlimited. Root's `CAP_IPC_LOCK` ignores it.
pub fn limit() -> Option<Bytes> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current.map(Bytes)
}

/// Why a ring, or its buffers, got ENOMEM.
pub fn used_up() -> String {
    match limit() {
        Some(limit) => format!(
            "RLIMIT_MEMLOCK allows {} for all rings and registered buffers of this user",
            units::block_size(limit)
        ),
        None => "the kernel is out of memory".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn memory_that_is_freed_a_moment_later_is_waited_for_and_nothing_else_is() {
        let mut tries = 0;
        let made = retry(|| {
            tries += 1;
            if tries < 3 { Err(errno(libc::ENOMEM)) } else { Ok(7) }
        });
        assert_eq!((made.unwrap(), tries), (7, 3));

        let mut tries = 0;
        let refused = retry::<()>(|| {
            tries += 1;
            Err(errno(libc::EINVAL))
        });
        assert_eq!((refused.unwrap_err().raw_os_error(), tries), (Some(libc::EINVAL), 1));
    }
}
