//! State of a file that read tests need: its cached pages and its extents.
#![expect(unsafe_code, reason = "cachestat, mincore and FS_IOC_FIEMAP have no safe wrappers")]

use std::{fs::File, io, mem, num::NonZeroU64, os::fd::AsRawFd, ptr};

use rustix::{
    fs::{Advice, fadvise},
    mm::{self, MapFlags, ProtFlags},
    param::page_size,
};

/// Pages of a range of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cached {
    /// In the page cache.
    pub bytes: u64,
    /// Of these, changed and not written yet; `None` if the kernel does not report it (before Linux 6.5).
    pub dirty: Option<u64>,
}

/// A contiguous piece of a file on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Offset in the file, bytes.
    pub logical: u64,
    /// Offset on the block device of the file system, bytes.
    pub physical: u64,
    /// Bytes.
    pub length: u64,
}

/// The number of the system call, the same on all architectures but Alpha; the libc crate has it for few.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` (linux/mman.h).
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` (linux/mman.h), in pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cache: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The cached part of `length` bytes from `offset` on.
///
/// # Errors
/// EPERM of a file of another user that cannot be written.
pub(crate) fn cached(file: &File, offset: u64, length: u64) -> io::Result<Cached> {
    let range = CachestatRange { offset, length };
    let mut stat = Cachestat::default();
    // SAFETY: both structures are the kernel's and outlive the call; it takes no other address.
    let result =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0_u32) };
    if result == 0 {
        let page = page_size() as u64;
        return Ok(Cached { bytes: stat.cache * page, dirty: Some((stat.dirty + stat.writeback) * page) });
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENOSYS) { resident(file, offset, length) } else { Err(error) }
}

/// The same by mincore, for kernels before 6.5.
fn resident(file: &File, offset: u64, length: u64) -> io::Result<Cached> {
    let page = page_size();
    let from = offset - offset % page as u64;
    let length = usize::try_from(offset - from + length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing; its bytes are never read.
    let start = unsafe { mm::mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, from) }?;
    // SAFETY: the range is the mapping just made; `pages` has a byte for each of its pages.
    let result = unsafe { libc::mincore(start, length, pages.as_mut_ptr().cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: exactly the mapping made above, not used after this.
    let _ = unsafe { mm::munmap(start, length) };
    if result != 0 {
        return Err(error);
    }
    let count = pages.iter().filter(|page| **page & 1 != 0).count();
    Ok(Cached { bytes: (count * page) as u64, dirty: None })
}

/// Drops clean, unmapped pages of `length` bytes from `offset` on; 0 is to the end.
pub(crate) fn drop_pages(file: &File, offset: u64, length: u64) -> io::Result<()> {
    Ok(fadvise(file, offset, NonZeroU64::new(length), Advice::DontNeed)?)
}

/// Requests of `FS_IOC_FIEMAP` at a time.
const BATCH: usize = 256;

/// `struct fiemap_extent` (linux/fiemap.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_flags: [u32; 3],
}

/// `struct fiemap` with room for extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

/// The last extent of the file.
const LAST: u32 = 1;
/// No place on the device: unknown, not allocated yet, inside metadata.
const ELSEWHERE: u32 = 0x2 | 0x4 | 0x200;

/// Pieces of a file, in its order, at most about `most`; neighbours on the device are one.
///
/// # Errors
/// EOPNOTSUPP of file systems without extents.
pub(crate) fn extents(file: &File, most: usize) -> io::Result<Vec<Extent>> {
    let mut found: Vec<Extent> = Vec::new();
    let mut start = 0;
    while found.len() < most {
        // SAFETY: an all-zero fiemap is a valid one; it consists of integers.
        let mut map: Fiemap = unsafe { mem::zeroed() };
        (map.start, map.length) = (start, u64::MAX - start);
        map.count = u32::try_from(BATCH).unwrap_or_default();
        let header = rustix::ioctl::opcode::read_write::<[u64; 4]>(b'f', 11);
        // SAFETY: `map` is a writable fiemap with room for `count` extents that outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), header.into(), &raw mut map) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let read = &map.extents[..BATCH.min(map.mapped as usize)];
        for extent in read.iter().filter(|extent| extent.flags & ELSEWHERE == 0) {
            let FiemapExtent { logical, physical, length, .. } = *extent;
            match found.last_mut() {
                Some(last) if last.continues(logical, physical) => last.length += length,
                _ => found.push(Extent { logical, physical, length }),
            }
        }
        match read.last() {
            Some(last) if last.flags & LAST == 0 && last.logical + last.length > start => {
                start = last.logical + last.length;
            }
            _ => break,
        }
    }
    Ok(found)
}

/// Pieces and their mean size in bytes; `None` without any.
pub(crate) fn pieces(extents: &[Extent]) -> Option<(u64, u64)> {
    let stored: u64 = extents.iter().map(|extent| extent.length).sum();
    let count = extents.len() as u64;
    (count > 0).then(|| (count, stored / count))
}

impl Extent {
    /// Whether bytes at these offsets follow it, in the file and on the device.
    const fn continues(&self, logical: u64, physical: u64) -> bool {
        self.logical + self.length == logical && self.physical + self.length == physical
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn pages_are_cached_after_a_read_and_gone_after_a_drop() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let written = cached(&file, 0, 1 << 20).unwrap();
        assert_eq!(written.bytes, 1 << 20);
        assert_eq!(resident(&file, 0, 1 << 20).unwrap().bytes, 1 << 20);
        file.sync_all().unwrap();
        assert!(cached(&file, 0, 1 << 20).unwrap().dirty.is_none_or(|dirty| dirty == 0));
        // A part of a large folio is not dropped: the whole file is.
        drop_pages(&file, 0, 0).unwrap();
        assert_eq!(cached(&file, 0, 1 << 20).unwrap().bytes, 0);
        assert_eq!(resident(&file, 0, 1 << 20).unwrap().bytes, 0);
    }

    #[test]
    fn extents_cover_the_bytes_that_were_written_and_no_hole() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; 256 << 10]).unwrap();
        file.set_len(1 << 20).unwrap();
        file.sync_all().unwrap();
        let Ok(found) = extents(&file, 1000) else { return };
        assert_eq!(found.iter().map(|extent| extent.length).sum::<u64>(), 256 << 10, "{found:?}");
        assert_eq!(found[0].logical, 0);
    }
}
