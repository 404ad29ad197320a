//! The signals that end a test or an experiment: noticed, and acted on where it can stop.

use std::sync::{Arc, atomic::AtomicUsize};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use super::Complaint;

/// The number of the signal that came; 0 while none did.
pub(super) fn signals() -> Result<Arc<AtomicUsize>, Complaint> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or_default();
        flag::register_usize(number, Arc::clone(&signal), value).map_err(|error| {
            Complaint::new("signals", error.to_string(), "run it where signal handlers can be installed")
        })?;
    }
    Ok(signal)
}
