//! Settings that can be changed live: the table, changes, and their undo.

pub mod settings;
pub mod device;
pub mod change;
pub mod cell;
pub mod actuator;
pub mod cpu_dma_latency;
pub mod fake_kernel;
pub mod journal;
pub mod change_log;
pub mod undo;
pub mod tags;
mod resets;
pub mod tunables;
mod dry_run;
mod tune_error;
pub mod tuner;
pub mod foresight;
pub mod service;
pub mod persist;
pub mod rebind;
#[cfg(test)]
pub(crate) mod testing;

pub use actuator::{Actuator, Live};
pub use change::{Change, Outcome};
pub use device::{Device, Identity};
pub use service::{SettingsGuard, SettingsService};
pub use settings::{SETTINGS, Setting};
pub use tuner::{Restored, Tuner, Wanted};
