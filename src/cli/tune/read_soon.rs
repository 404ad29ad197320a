//! Reads the journal for commands that only annotate: a long one is not worth their time.

use std::{sync::Arc, time::Duration};

use crate::{
    runtime::beside::within,
    tune::{SettingsService, journal::JournalError},
};

/// Bytes of the longest journal that is read: 50 000 changes.
const LONGEST: u64 = 16 << 20;
/// Time after which the command goes on without it, as with a drive that does not answer.
const LIMIT: Duration = Duration::from_secs(5);

/// What is read from the journal. The error is the line that says why it was not read.
pub(in crate::cli) fn read_soon<T: Send + 'static>(
    service: &Arc<SettingsService>,
    read: impl FnOnce(&SettingsService) -> Result<T, JournalError> + Send + 'static,
) -> Result<Result<T, JournalError>, String> {
    let unread = |why: String| {
        format!("{}: not read: it {why}; `iodyno tune list` reads it", service.journal.path().display())
    };
    let length = service.journal.stamp().map_or(0, |stamp| stamp.length());
    if length > LONGEST {
        const MIB: u64 = 1 << 20;
        return Err(unread(format!("has {} MiB, more than {}", length.div_ceil(MIB), LONGEST / MIB)));
    }
    let its = Arc::clone(service);
    within(LIMIT, move || read(&its)).ok_or_else(|| unread(format!("took longer than {} s", LIMIT.as_secs())))
}
