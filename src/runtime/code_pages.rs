//! Unmaps the pages of the program's code that only its start needed.
#![expect(unsafe_code, reason = "pages are unmapped by address")]

use std::{ffi::c_void, io, sync::Once};

use rustix::mm::{self, Advice};

/// Unmaps them, once. The kernel maps 16 pages around each one that runs, if its cache has them: a screen that is open for days would
/// keep all that its start ran through. Those that run again are mapped again, from the cache.
pub(super) fn unmap_once() {
    static IS_DONE: Once = Once::new();
    // A kernel that refuses leaves them mapped.
    IS_DONE.call_once(|| drop(unmap()));
}

fn unmap() -> io::Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let Some((start, length)) = code(&maps, unmap_once as fn() as usize) else { return Ok(()) };
    let start = std::ptr::with_exposed_provenance_mut::<c_void>(start);
    // SAFETY: the mapping is a private one of a file, and its pages cannot be written: an access after this reads the same bytes from
    // the file, which the kernel keeps as it is while it runs (ETXTBSY).
    unsafe { mm::madvise(start, length, Advice::LinuxDontNeed) }?;
    Ok(())
}

/// Start and length of the mapping with this address in a text of `/proc/PID/maps` (`proc_pid_maps`(5)), if it can be run and not written.
fn code(maps: &str, address: usize) -> Option<(usize, usize)> {
    let of_line = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let hex = |digits| usize::from_str_radix(digits, 16).ok();
        let (start, end) = (hex(start)?, hex(end)?);
        (rest.starts_with("r-xp ") && (start..end).contains(&address)).then(|| (start, end - start))
    };
    maps.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_with_the_code_is_found() {
        let maps = "1000-2000 r--p 00000000 fe:00 7 /usr/bin/iodyno\n2000-5000 r-xp 00001000 fe:00 7 /usr/bin/iodyno\n\
                    5000-6000 rw-p 00000000 00:00 0\nodd\n";
        assert_eq!(code(maps, 0x2000), Some((0x2000, 0x3000)));
        assert_eq!(code(maps, 0x4fff), Some((0x2000, 0x3000)));
        assert_eq!((code(maps, 0x1800), code(maps, 0x5800), code("", 0x2000)), (None, None, None));
    }

    #[test]
    fn pages_that_do_not_run_are_no_longer_resident() {
        let resident = || {
            let [maps, smaps] =
                ["maps", "smaps"].map(|file| std::fs::read_to_string(format!("/proc/self/{file}")).unwrap());
            let (start, _) = code(&maps, unmap_once as fn() as usize).unwrap();
            let (_, own) = smaps.split_once(&format!("\n{start:x}-")).unwrap();
            let (_, size) = own.split_once("Rss:").unwrap();
            size.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let before = resident();
        unmap().unwrap();
        let after = resident();
        assert!(after < before, "{before} kB, then {after}");
    }
}
