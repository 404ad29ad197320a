//! Memory that reads land in: page-aligned, one mapping for all slots of a worker.
#![expect(unsafe_code, reason = "anonymous mappings are made and unmapped by hand")]

use std::{io, ptr::NonNull, slice};

use rustix::mm::{self, Advice, MapFlags, ProtFlags};

/// An anonymous private mapping, zeroed, in huge pages where the kernel has some.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to whoever holds it, like a boxed slice; nothing in it is bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, at least one.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let length = length.max(1);
        // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe {
            mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // A kernel without huge pages refuses; plain ones do.
        // SAFETY: advice about the mapping just made; LinuxHugepage changes no content.
        let _ = unsafe { mm::madvise(start.as_ptr().cast(), length, Advice::LinuxHugepage) };
        Ok(Self { start, length })
    }

    /// Its first byte.
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// All of it. Only for mappings that no ring reads into.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` is the first of `length` mapped, initialised bytes, borrowed as long as `self` is.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`, not used after this.
        let _ = unsafe { mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_page_aligned_zeroed_and_writable() {
        let mut mapping = Mapping::new(3 * 4096).unwrap();
        assert_eq!(mapping.as_ptr().addr() % 4096, 0);
        assert!(mapping.as_mut_slice().iter().all(|byte| *byte == 0));
        mapping.as_mut_slice()[3 * 4096 - 1] = 7;
        assert_eq!(mapping.len(), 3 * 4096);
    }
}
