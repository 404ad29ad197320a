//! [`Machine`]: all that was read of one computer, as plain data.
//!
//! Here: the PCI tree, drives with their queues, processors, memory, interrupts, the host. Not here: how any of it is
//! read (`source`), what it can carry (`capacity`), what is wrong with it (`findings`).

pub mod pci;
pub mod hop;
pub mod drive;
pub mod in_use;
pub mod queue;
pub mod processor;
pub mod interrupts;
pub mod host;
pub mod rules;
pub mod measured;

pub use drive::{Drive, DriveKind, LbaFormat, Nvme, Partition, Smart, Temperature};
pub use hop::HopLink;
pub use host::{Host, IoLimit, IoUring, LimitKind, MemoryModule};
pub use in_use::{Process, Use, User};
pub use interrupts::{Interrupts, Vector};
pub use measured::{Exceeded, ExceededAt, Measured, MeasuredLimit, ReadCost};
pub use pci::{Express, Link, NodeKind, PciNode, PciTree};
pub use processor::{Cpu, IdleState, Processors};
pub use queue::Queue;
pub use rules::{RuleKind, SettingRule};

use std::path::Path;

use crate::{model::DriveName, text::Label};

/// One computer, as far as it could be read. Every value inside says itself when it could not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Name, board, kernel.
    pub host: Host,
    /// Root complexes, ports, switches, endpoints.
    pub pci: PciTree,
    /// Whole block devices: hardware in bus order, then software ones by name.
    pub drives: Vec<Drive>,
    /// Processors, NUMA nodes, frequency and idle governors.
    pub processors: Processors,
    /// Interrupt vectors of the drives.
    pub interrupts: Interrupts,
    /// Rules that set settings by themselves, in the order they take effect.
    pub rules: Vec<SettingRule>,
    /// What earlier tests found out about it.
    pub measured: Vec<Measured>,
}

impl Machine {
    /// The drive of that kernel name.
    pub fn drive(&self, name: &DriveName) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.name == *name)
    }

    /// The drive whose NVMe character device this is: `/dev/ng0n1`.
    pub fn drive_of_generic(&self, path: &Path) -> Option<&Drive> {
        let is_it = |generic: &Label| Path::new(generic.as_str()) == path;
        self.drives
            .iter()
            .find(|drive| drive.nvme.as_ref().and_then(|nvme| nvme.generic.as_ref()).is_some_and(is_it))
    }

    /// How many drives are backed by hardware; the namespaces of one NVMe controller are one.
    pub fn drive_count(&self) -> usize {
        drive::count(self.hardware_drives())
    }

    /// How many drives the block devices of these names are.
    pub fn count_of(&self, names: &[DriveName]) -> usize {
        drive::count(names.iter().filter_map(|name| self.drive(name)))
    }

    /// Block devices backed by hardware, in bus order.
    pub fn hardware_drives(&self) -> impl Iterator<Item = &Drive> {
        self.drives.iter().filter(|drive| !drive.kind.is_software())
    }
}
