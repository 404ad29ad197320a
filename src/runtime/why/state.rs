//! [`State`]: the pages of a file before its tests.

use std::{fs::File, path::Path};

use crate::{
    engine::file_state,
    model::error_words,
    report::waterfall::Asked,
    units::{Bytes, UnitSystem},
};

/// The pages of a file before its tests, and what else a reader should know.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct State {
    pub bytes: u64,
    /// Cached bytes; `None` if unknown, with the reason in the notes.
    pub cached: Option<u64>,
    /// Bytes that are not written to the drive yet; `None` if unknown.
    pub dirty: Option<u64>,
    pub dropped: bool,
    pub notes: Vec<String>,
}

/// The fix where pages are dirty.
pub(super) const WRITE_FIRST: &str = "write them first: `sync FILE`; then --drop-cache drops its pages";

impl State {
    pub(super) fn look(&mut self, file: &File) {
        match file_state::cached(file, 0, self.bytes) {
            Ok(found) => (self.cached, self.dirty) = (Some(found.bytes.min(self.bytes)), found.dirty),
            Err(error) => self
                .notes
                .push(format!("cached part unknown ({}; owners and writers may ask): what goes through the page cache is not measured",
                    error_words(&error)
                )),
        }
    }

    /// Drops the pages of the file unless some are dirty.
    pub(super) fn drop_pages(&mut self, file: &File) -> Result<(), (String, &'static str)> {
        let fail = |error: std::io::Error| {
            (format!("its pages cannot be dropped: {}", error_words(&error)), "leave --drop-cache out")
        };
        let found = file_state::cached(file, 0, self.bytes).map_err(fail)?;
        match found.dirty {
            Some(0) => {}
            Some(dirty) => {
                let wrong =
                    format!("{} of its pages are dirty: not dropped", UnitSystem::Binary.size(Bytes(dirty)));
                return Err((wrong, WRITE_FIRST));
            }
            None => {
                let wrong =
                    "this kernel reports no dirty pages (cachestat, Linux 6.5): not dropped".to_owned();
                return Err((wrong, "leave --drop-cache out"));
            }
        }
        file_state::drop_pages(file, 0, 0).map_err(fail)?;
        self.dropped = found.bytes > 0;
        Ok(())
    }

    /// What is reported of it.
    pub(crate) fn asked(self, file: &Path, stopped: bool) -> Asked {
        Asked {
            file: file.display().to_string(),
            bytes: self.bytes,
            cached: self.cached,
            dropped: self.dropped,
            notes: self.notes,
            stopped,
        }
    }
}
