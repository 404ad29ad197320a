//! Polled completions on a running system: a controller leaves the nvme driver and comes back with other queues.
//!
//! Here: whether that may be done to a drive, and the two writes that do it. Never here: a reset. A controller that was
//! probed without poll queues keeps `queue/io_poll` at 0 when it is reset with them, and reads from some processors then
//! stall for half a minute each (seen on Linux 6.1 and 6.12).

use std::io;

use super::{
    actuator::Actuator,
    change::{Device, Identity},
};
use crate::{
    machine::{Machine, Use},
    model::{DriveName, NodeIndex, PciAddress, errno_words},
    text::Label,
};

/// A controller that nothing uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebind {
    /// The drive that was named.
    pub drive: DriveName,
    /// Who it is, whatever its name will be afterwards.
    pub identity: Identity,
    /// Its controller's PCI function.
    pub address: PciAddress,
    /// Every drive and partition that leaves with it, by kernel name.
    pub parts: Vec<String>,
}

/// Why it is not done, or how far it came.
#[derive(Debug, thiserror::Error)]
pub enum RebindError {
    /// Not a drive of the nvme driver on PCI.
    #[error("{0}: {1}; only an NVMe drive of the nvme driver can be bound again")]
    NotNvme(DriveName, &'static str),
    /// Something uses it.
    #[error(
        "{drive}: {by}; a drive that is used is never taken from its driver, boot with nvme.poll_queues=N"
    )]
    InUse {
        /// The drive.
        drive: DriveName,
        /// What uses it.
        by: String,
    },
    /// The driver would not let it go: nothing happened.
    #[error("{file}: {}; {drive} was left as it is", words(error))]
    Unbind {
        /// The drive.
        drive: DriveName,
        /// The file.
        file: String,
        /// How.
        #[source]
        error: io::Error,
    },
    /// The driver would not take it back.
    #[error("{file}: {}; bring the drive back with: echo {address} | sudo tee {file}", words(error))]
    Bind {
        /// The controller.
        address: PciAddress,
        /// The file.
        file: String,
        /// How.
        #[source]
        error: io::Error,
    },
}

const DRIVER: &str = "/sys/bus/pci/drivers/nvme";

fn words(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), errno_words)
}

/// Whether the drive may leave its driver, as far as the machine tells; who has it open must be asked besides.
pub fn plan(machine: &Machine, drive: &DriveName) -> Result<Rebind, RebindError> {
    let not_nvme = |why| RebindError::NotNvme(drive.clone(), why);
    let named = machine.drive(drive).ok_or_else(|| not_nvme("no such drive"))?;
    let node =
        named.node.filter(|_| named.nvme.is_some()).ok_or_else(|| not_nvme("is no NVMe drive on PCI"))?;
    let driver = machine.pci.node(node).driver.value().map(Label::as_str);
    if driver != Some("nvme") {
        return Err(not_nvme("is not with the nvme driver"));
    }
    let address = address(machine, node).ok_or_else(|| not_nvme("has no PCI address"))?;
    let mut parts = Vec::new();
    for leaving in machine.drives.iter().filter(|other| other.node == Some(node)) {
        if let Some(used) = leaving.used_by.first() {
            return Err(RebindError::InUse { drive: leaving.name.clone(), by: use_words(used) });
        }
        parts.push(leaving.name.to_string());
        parts.extend(leaving.partitions.iter().map(|partition| partition.name.to_string()));
        parts.extend(leaving.nvme.iter().flat_map(|nvme| {
            nvme.generic.iter().map(|file| file.as_str().trim_start_matches("/dev/").to_owned())
        }));
    }
    let identity = Identity::of(machine, &Device::Drive(drive.clone()));
    if identity.serial.is_none() {
        return Err(not_nvme("has no serial number to know it by when it comes back"));
    }
    Ok(Rebind { drive: drive.clone(), identity, address, parts })
}

fn address(machine: &Machine, node: NodeIndex) -> Option<PciAddress> {
    machine.pci.node(node).address.to_string().parse().ok()
}

fn use_words(used: &Use) -> String {
    match used {
        Use::Mount { part, point, .. } => format!("{part} is mounted on {point}"),
        Use::Swap(part) => format!("{part} is swap"),
        Use::Holder(part, holder) => format!("{part} is held by {holder}"),
    }
}

impl Rebind {
    /// The writes, in order, as commands.
    pub fn commands(&self) -> String {
        let write =
            |file: &str| super::change::command(&self.address.to_string(), &format!("{DRIVER}/{file}"));
        format!("{}\n{}\n", write("unbind"), write("bind"))
    }

    /// Takes the controller from its driver and gives it back.
    pub fn carry_out(&self, actuator: &dyn Actuator) -> Result<(), RebindError> {
        let (address, drive) = (self.address, self.drive.clone());
        let file = format!("{DRIVER}/unbind");
        if let Err(error) = actuator.write(&file, &address.to_string()) {
            return Err(RebindError::Unbind { drive, file, error });
        }
        let file = format!("{DRIVER}/bind");
        actuator.write(&file, &address.to_string()).map_err(|error| RebindError::Bind {
            address,
            file,
            error,
        })
    }
}
