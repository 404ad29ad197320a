//! The signals that end a test or an experiment at its next look.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use signal_hook::flag;

use super::Complaint;
use crate::runtime::signals::ending;

/// The number of the last signal; 0 before the first.
pub(super) struct Signal(Arc<AtomicUsize>);

impl Signal {
    pub(super) fn watch() -> Result<Self, Complaint> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in ending() {
            let value = usize::try_from(number).unwrap_or_default();
            flag::register_usize(number, Arc::clone(&signal), value).map_err(|error| {
                Complaint::new("signals", error.to_string(), "run it where signal handlers can be installed")
            })?;
        }
        Ok(Self(signal))
    }

    pub(super) fn received(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|number| *number != 0)
    }
}
