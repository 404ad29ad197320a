//! [`Stamp`]: whether the journal's file has changed, without reading it.

use std::{fs, os::unix::fs::MetadataExt};

use super::Journal;

/// Of the file at one moment: device, inode, length, and time of the last change in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp([u64; 3], [i64; 2]);

impl Stamp {
    /// The file's length in bytes.
    pub const fn length(&self) -> u64 {
        self.0[2]
    }
}

impl Journal {
    /// The file's stamp; none where there is no file, and for a journal in memory, which no other process changes.
    pub fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::symlink_metadata(self.memory.is_none().then(|| self.path())?).ok()?;
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        Some(Stamp([metadata.dev(), metadata.ino(), metadata.len()], [seconds, nanoseconds]))
    }
}
