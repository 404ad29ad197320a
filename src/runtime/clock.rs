//! [`Clock`]: the machine's, or a counted one, so that the same keys give the same picture.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::source::profile::cpu_time;

/// A clock; clones show the same time.
#[derive(Debug, Clone)]
pub struct Clock {
    started: Instant,
    /// Counted nanoseconds; `None` for the machine's clock.
    counted: Option<Arc<AtomicU64>>,
}

impl Clock {
    /// The machine's clock.
    pub fn real() -> Self {
        Self { started: now(), counted: None }
    }

    /// A clock that advances in [`Self::pass`] only.
    pub fn counted() -> Self {
        Self { started: now(), counted: Some(Arc::default()) }
    }

    /// Counted for simulations, else real.
    pub(crate) fn of(simulated: bool) -> Self {
        if simulated { Self::counted() } else { Self::real() }
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        match &self.counted {
            Some(nanos) => self.started + Duration::from_nanos(nanos.load(Ordering::Relaxed)),
            None => now(),
        }
    }

    /// Time since the clock was made.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now() - self.started
    }

    /// CPU time of this thread; on a counted clock its time.
    pub(crate) fn cpu_time(&self) -> Duration {
        if self.counted.is_some() { self.elapsed() } else { cpu_time() }
    }

    /// Sleeps, or counts.
    pub(crate) fn pass(&self, time: Duration) {
        match &self.counted {
            Some(nanos) => {
                nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(0), Ordering::Relaxed);
            }
            None => thread::sleep(time),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the runtime is where the clock is read")]
pub(super) fn now() -> Instant {
    Instant::now()
}
