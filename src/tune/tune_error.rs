//! [`TuneError`]: why a change was not made, in one line with the fix.

use std::io;

use super::{
    change::Outcome,
    journal::{JournalError, file_fix},
};
use crate::model::Failed;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The journal cannot be used, so nothing was written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The device lacks the setting, or it cannot be read.
    #[error("{device}: has no {setting} ({why}); see `iodyno tune list {device}`")]
    NotThere {
        /// On what.
        device: String,
        /// The setting.
        setting: String,
        /// Why.
        why: String,
    },
    /// The value is invalid.
    #[error("{device}: {setting} {why}; {value} was not written")]
    BadValue {
        /// On what.
        device: String,
        /// Which setting.
        setting: String,
        /// The value.
        value: String,
        /// The valid values.
        why: String,
    },
    /// The value was written, and the journal could not record the outcome. It has the change, so an undo restores it.
    #[error(
        "{file}: {to} was written ({outcome}), but the journal could not record it ({error}); {}, or restore it now with \
         `iodyno tune undo`",
        file_fix(error)
    )]
    Unrecorded {
        /// The file.
        file: String,
        /// The value.
        to: String,
        /// What became of it.
        outcome: Outcome,
        /// The journal's error.
        error: io::Error,
    },
    /// The values were written and work, but the journal could not record that they stay.
    #[error(
        "{path}: {error}: the values are set, but not recorded as kept; {}, or restore them now with `iodyno tune undo`",
        file_fix(error)
    )]
    NotKept {
        /// The journal.
        path: String,
        /// Its error.
        error: io::Error,
    },
    /// Another program changed the file since it was read.
    #[error(
        "{file}: is {now}, expected {expected}: another program changed it meanwhile; check it, then try again"
    )]
    ModifiedExternally {
        /// The file.
        file: String,
        /// Its value.
        now: String,
        /// The expected value.
        expected: String,
    },
    /// The file cannot be read.
    #[error("{file}: {error}; check that the device is present")]
    Unreadable {
        /// The file.
        file: String,
        /// The error.
        #[source]
        error: io::Error,
    },
    /// The setting is shown, never written.
    #[error("{0} is not tunable: a wrong value loses data")]
    NotTunable(&'static str),
    /// The setting takes hold when a driver probes a drive.
    #[error(
        "{label} are created when the driver probes a drive: `iodyno tune set DRIVE {id}=N --rebind`, or boot \
         with nvme.{id}=N"
    )]
    NeedsRebind {
        /// A few words for the setting.
        label: &'static str,
        /// Its name.
        id: &'static str,
    },
    /// Settings need root.
    #[error("settings: changes need root; run it with sudo")]
    NeedsRoot,
}

impl From<TuneError> for Failed {
    fn from(error: TuneError) -> Self {
        let errno = match &error {
            TuneError::Unreadable { error, .. }
            | TuneError::Unrecorded { error, .. }
            | TuneError::NotKept { error, .. }
            | TuneError::Journal(JournalError::File { error, .. }) => error.raw_os_error(),
            _ => None,
        };
        Self::new(error.to_string(), errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_drive_is_to_be_freed() {
        let fix = |error: i32| file_fix(&io::Error::from_raw_os_error(error));
        assert!([libc::ENOSPC, libc::EDQUOT].iter().all(|error| fix(*error).starts_with("free some space")));
        assert!(fix(libc::EROFS).starts_with("mount it writable"));
    }
}
