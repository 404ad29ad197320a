//! Read buffers: page-aligned, one mapping for all requests of a worker.
#![expect(unsafe_code, reason = "buffers are mapped and unmapped by address")]

use std::{io, ptr::NonNull, slice};

use rustix::mm::{self, Advice, MapFlags, ProtFlags};

use crate::{
    engine::EngineError,
    units::{self, Bytes},
};

/// An anonymous private mapping, zeroed, in huge pages where the kernel has some.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
    /// Bytes that are mapped: whole pages.
    mapped: usize,
    /// Its kind of pages, in words.
    pub pages: &'static str,
    leaked: bool,
}

// SAFETY: the mapping has one owner, like a boxed slice; it is bound to no thread.
unsafe impl Send for Mapping {}

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;
/// Smallest mapping in huge pages: a sixteenth of one, which is 32 blocks of 4 KiB.
const LEAST_HUGE: usize = HUGE / 16;

impl Mapping {
    /// Maps `length` bytes, at least one.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let length = length.max(1);
        if length >= LEAST_HUGE
            && !cfg!(miri)
            && let Some(mapped) = length.checked_next_multiple_of(HUGE)
            && let Ok(start) = map(mapped, MapFlags::HUGETLB | MapFlags::HUGE_2MB)
        {
            // From the pool that an administrator set aside (`vm.nr_hugepages`).
            return Ok(Self { start, length, mapped, pages: "huge pages (2 MiB)", leaked: false });
        }
        let start = map(length, MapFlags::empty())?;
        let pages = if advise_huge(start, length) && length >= HUGE {
            "transparent huge pages where available"
        } else {
            "base pages"
        };
        Ok(Self { start, length, mapped: length, pages, leaked: false })
    }

    /// Maps buffers for `count` reads of `block` bytes.
    pub(crate) fn of_reads(block: usize, count: usize) -> Result<Self, EngineError> {
        Self::new(block.saturating_mul(count)).map_err(|error| {
            let all = units::block_size(Bytes(block as u64 * count as u64));
            EngineError::Machine {
                wrong: format!("cannot allocate {all} of buffers: {error}"),
                fix: "use a smaller --bs, --iodepth or --numjobs".to_owned(),
            }
        })
    }

    /// Its first byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Leaves it mapped until the process ends: the kernel may still write to it.
    pub(crate) fn leak(&mut self) {
        self.leaked = true;
    }

    /// All of it. Only for mappings that no ring reads into.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` is the first of `length` mapped, initialised bytes, borrowed as long as `self` is.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        // SAFETY: exactly the mapping made in `new`, not used after this.
        let _ = unsafe { mm::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// Whether the kernel takes the advice to back a mapping with huge pages. Miri has neither these nor advice.
fn advise_huge(start: NonNull<u8>, length: usize) -> bool {
    // SAFETY: advice about a whole mapping of the caller's; LinuxHugepage changes no content.
    !cfg!(miri) && unsafe { mm::madvise(start.as_ptr().cast(), length, Advice::LinuxHugepage) }.is_ok()
}

fn map(length: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing.
    let start =
        unsafe { mm::mmap_anonymous(std::ptr::null_mut(), length, access, MapFlags::PRIVATE | flags) }?;
    NonNull::new(start.cast::<u8>()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
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
        assert_eq!(mapping.pages, "base pages", "too small for more");
    }

    #[test]
    fn what_is_worth_it_is_mapped_in_huge_pages_or_says_what_else() {
        let free = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        let has_some = free.is_ok_and(|pages| pages.trim() != "0");
        let mut mapping = Mapping::new(HUGE + 4096).unwrap();
        mapping.as_mut_slice()[HUGE + 4095] = 7;
        assert_eq!(mapping.len(), HUGE + 4096);
        let said = mapping.pages;
        assert_eq!(said == "huge pages (2 MiB)", has_some, "{said}");
        assert!(has_some || said.contains("transparent") || said.contains("base"), "{said}");
    }
}
