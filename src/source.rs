//! Readers of a machine, one per subtree: the live kernel, a folder, a capture or a demo, all through [`SysRoot`].
//!
//! Every path is read through the root, so that a capture holds all that was read.

pub mod root;
pub mod rules;
pub(crate) mod measured;
pub mod capture;
pub mod ids;
pub mod config_space;
pub mod pci;
pub(crate) mod host;
pub(crate) mod smbios;
pub(crate) mod processor;
pub(crate) mod interrupts;
pub mod counters;
pub(crate) mod clock;
pub(crate) mod block;
pub mod nvme;
pub(crate) mod open_files;
mod nothing;
mod nvme_ioctl;
mod probe;
pub mod demo;
mod packed;
pub mod origin;

pub(crate) use nothing::read_or_refuse;
pub use root::{RootError, SysRoot};

use crate::{machine::Machine, model::Problem};

/// Everything there is to read of a machine, and what stood in the way.
///
/// The problems are those that have no place in the machine: a folder that may not be listed, a device that went away
/// meanwhile. A single value that could not be read says so itself, as a [`crate::model::Reading`].
pub fn read_machine(root: &dyn SysRoot) -> (Machine, Vec<Problem>) {
    let (pci, mut problems) = pci::read(root, &ids::Database::embedded());
    let (drives, of_drives) = block::read(root, &pci);
    let (processors, of_processors) = processor::read(root);
    problems.extend(of_drives);
    let (rules, of_rules) = rules::read(root);
    problems.extend(of_processors);
    problems.extend(of_rules);
    let (measured, of_measured) = measured::read(root);
    problems.extend(of_measured);
    let machine = Machine {
        host: host::read(root),
        paths: block::read_paths(root, &pci),
        pci,
        drives,
        processors,
        interrupts: interrupts::read(root),
        rules,
        measured,
    };
    (machine, problems)
}
