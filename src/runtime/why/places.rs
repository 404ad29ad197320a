//! Places of a file to read: uncached, far apart, as long as possible.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path};

use crate::engine::file_state::Extent;

/// A range of the file, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub offset: u64,
    pub length: u64,
}

/// The most that a test reads.
const LONGEST: u64 = 1 << 30;
/// Shorter places measure the start of a read.
const SHORTEST: u64 = 4 << 20;
/// Chunks of the file whose pages are looked at.
const CHUNKS: u64 = 16384;

/// Up to `most` places without a cached page and without holes, as far apart as the file allows. Offsets and lengths are
/// multiples of 1 MiB.
pub(super) fn choose(
    bytes: u64,
    extents: &[Extent],
    most: usize,
    is_uncached: impl Fn(u64, u64) -> bool,
) -> Vec<Place> {
    let chunk = (bytes / CHUNKS).next_multiple_of(1 << 20).max(1 << 20);
    let mut runs: Vec<Place> = Vec::new();
    for offset in (0..bytes / chunk).map(|number| number * chunk) {
        if !is_stored(extents, offset, chunk) || !is_uncached(offset, chunk) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.offset + last.length == offset => last.length += chunk,
            _ => runs.push(Place { offset, length: chunk }),
        }
    }
    let longest = runs.iter().map(|run| run.length).max().unwrap_or(0);
    // Alike in length, so that tests of different places are alike.
    let length = (longest / if longest >= 256 << 20 { most as u64 } else { 1 }).min(LONGEST) >> 20 << 20;
    if length < SHORTEST {
        return Vec::new();
    }
    let pieces = runs.iter().flat_map(|run| {
        (0..run.length / length).map(move |number| Place { offset: run.offset + number * length, length })
    });
    let pieces: Vec<Place> = pieces.collect();
    let count = pieces.len().min(most);
    (0..count).map(|number| pieces[number * pieces.len() / count]).collect()
}

/// Whether the whole range is on the device; unknown extents are taken for stored.
fn is_stored(extents: &[Extent], offset: u64, length: u64) -> bool {
    if extents.is_empty() {
        return true;
    }
    let end = offset + length;
    let first = extents.partition_point(|extent| extent.logical + extent.length <= offset);
    let mut reached = offset;
    for extent in &extents[first..] {
        if extent.logical > reached {
            return false;
        }
        reached = extent.logical + extent.length;
        if reached >= end {
            return true;
        }
    }
    false
}

/// Whether reads leave the file's access time alone.
///
/// # Errors
/// A sentence about it.
pub(super) fn without_access_time(path: &Path) -> Result<(), String> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NOATIME).open(path);
    open.map(drop).map_err(|error| {
        format!(
            "O_NOATIME is refused ({}): reads may update the access time of the file, as any program's",
            crate::model::error_words(&error)
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn places_lie_apart_and_avoid_cached_pages_and_holes() {
        let places = choose(1024 * MIB, &[], 4, |_, _| true);
        assert_eq!(places.iter().map(|place| place.offset / MIB).collect::<Vec<_>>(), [0, 256, 512, 768]);
        let uncached = choose(64 * MIB, &[], 4, |offset, _| offset >= 40 * MIB);
        assert_eq!(uncached, [Place { offset: 40 * MIB, length: 24 * MIB }]);
        assert!(choose(64 * MIB, &[], 4, |_, _| false).is_empty());
        let holes = [Extent { logical: 8 * MIB, physical: 0, length: 16 * MIB }];
        assert_eq!(choose(64 * MIB, &holes, 4, |_, _| true), [Place { offset: 8 * MIB, length: 16 * MIB }]);
    }

    proptest! {
        #[test]
        fn no_place_reaches_beyond_the_file_or_into_cached_pages(mib in 1_u64..3000, cached in any::<u64>(), most in 1_usize..6) {
            let is_cached = |offset: u64| cached >> (offset / MIB % 64) & 1 == 1;
            let places = choose(mib * MIB + 7, &[], most, |offset, length| {
                (offset..offset + length).step_by(1 << 20).all(|at| !is_cached(at))
            });
            prop_assert!(places.len() <= most);
            for place in places {
                prop_assert!(place.length >= SHORTEST && place.offset + place.length <= mib * MIB);
                prop_assert!((place.offset..place.offset + place.length).step_by(1 << 20).all(|at| !is_cached(at)));
            }
        }
    }
}
