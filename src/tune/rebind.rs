//! Polled completions on a running system: unbinds a controller from the nvme driver and binds it again with other queues.
//!
//! Never a reset: a controller probed without poll queues keeps `queue/io_poll` at 0 after a reset, and reads from some
//! CPUs then stall for 30 s each (seen on Linux 6.1 and 6.12).

use super::{
    actuator::NO_DRIVER,
    change::{Change, Outcome, command},
    device::{DRIVER, Device, Identity},
    tuner::Tuner,
};
use crate::{
    machine::{Drive, Machine, Nvme},
    model::{DriveName, NodeIndex, PciAddress},
    text::Label,
};

/// A controller that is not in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebind {
    /// The requested drive.
    pub drive: DriveName,
    /// The drive, whatever its name is after the rebind.
    pub identity: Identity,
    /// Its controller's PCI function.
    pub address: PciAddress,
    /// Devices unbound with it, by kernel name: controller, drives, partitions, generic namespaces.
    pub parts: Vec<String>,
}

/// Why a rebind is refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum RebindError {
    /// Not a drive of the nvme driver on PCI.
    #[error("{0}: {1}; only NVMe drives of the nvme driver can be rebound")]
    NotNvme(DriveName, &'static str),
    /// Several controllers lead to it.
    #[error(
        "{drive}: {} lead to it, and a rebind affects only one path; boot with nvme.poll_queues=N",
        controllers.join(" and ")
    )]
    Multipath {
        /// The drive or path device.
        drive: DriveName,
        /// The controllers: `nvme0 (0000:21:00.0)`.
        controllers: Vec<String>,
    },
    /// It is in use.
    #[error("{drive}: {by}; a drive in use is never unbound, boot with nvme.poll_queues=N")]
    InUse {
        /// The drive.
        drive: DriveName,
        /// Its user.
        by: String,
    },
    /// The unbind failed: nothing was changed.
    #[error("{drive}: {}: {why}; nothing was changed", driver_file(*address))]
    Unbind {
        /// The drive.
        drive: DriveName,
        /// The controller.
        address: PciAddress,
        /// The error.
        why: String,
    },
    /// The bind failed.
    #[error("{}: {why}; rebind the drive with: {}", driver_file(*address), command(NVME, &driver_file(*address)))]
    Bind {
        /// The controller.
        address: PciAddress,
        /// The error.
        why: String,
    },
}

const NVME: &str = "nvme";

/// See [`super::actuator`].
fn driver_file(address: PciAddress) -> String {
    format!("/sys/bus/pci/devices/{address}/driver")
}

/// Checks that the drive may be unbound, as far as the machine shows; mappings and exclusive openers are checked apart.
pub fn plan(machine: &Machine, drive: &DriveName) -> Result<Rebind, RebindError> {
    let not_nvme = |why| RebindError::NotNvme(drive.clone(), why);
    let named = machine.drive(drive).ok_or_else(|| not_nvme("no such drive"))?;
    let node =
        named.node.filter(|_| named.nvme.is_some()).ok_or_else(|| not_nvme("is not an NVMe drive on PCI"))?;
    let head = machine.drives.iter().find(|head| machine.paths_of(head).any(|path| path.name == *drive));
    let controllers = controllers(machine, head.unwrap_or(named));
    if controllers.len() > 1 {
        return Err(RebindError::Multipath { drive: drive.clone(), controllers });
    }
    let driver = machine.pci.node(node).driver.value().map(Label::as_str);
    if driver != Some(NVME) {
        return Err(not_nvme("is not bound to the nvme driver"));
    }
    let address = address(machine, node).ok_or_else(|| not_nvme("has no PCI address"))?;
    let mut parts = Vec::new();
    for leaving in machine.drives.iter().filter(|other| machine.is_attached_to(other, node)) {
        let unread = || {
            let problem = leaving.users_unread.first()?;
            Some(format!("its users cannot be read ({}: {})", problem.path, problem.reason))
        };
        if let Some(by) = leaving.used_by.first().map(ToString::to_string).or_else(unread) {
            return Err(RebindError::InUse { drive: leaving.name.clone(), by });
        }
        parts.push(leaving.name.to_string());
        parts.extend(leaving.partitions.iter().map(|partition| partition.name.to_string()));
        parts.extend(leaving.nvme.iter().flat_map(Nvme::character_devices));
    }
    parts.sort();
    parts.dedup();
    let identity = Identity::of(machine, &Device::Drive(drive.clone()));
    if identity.serial.is_none() {
        return Err(not_nvme("has no serial number to identify it after the rebind"));
    }
    Ok(Rebind { drive: drive.clone(), identity, address, parts })
}

/// The controllers of a drive's paths, each with its address.
fn controllers(machine: &Machine, head: &Drive) -> Vec<String> {
    let named = |path: &Drive| {
        let controller = &path.nvme.as_ref()?.controller;
        let address = path.node.map(|node| format!(" ({})", machine.pci.node(node).address));
        Some(format!("{controller}{}", address.unwrap_or_default()))
    };
    machine.paths_of(head).filter_map(named).collect()
}

fn address(machine: &Machine, node: NodeIndex) -> Option<PciAddress> {
    machine.pci.node(node).address.to_string().parse().ok()
}

impl Rebind {
    /// The two changes, in order: unbind and bind.
    fn changes(&self) -> [Change; 2] {
        [(NVME, NO_DRIVER), (NO_DRIVER, NVME)].map(|(from, to)| Change {
            device: Device::Drive(self.drive.clone()),
            identity: self.identity.clone(),
            setting: DRIVER,
            file: driver_file(self.address),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    /// The writes as shell commands.
    pub fn commands(&self) -> String {
        self.changes().iter().map(|change| change.command() + "\n").collect()
    }

    /// Unbinds the controller and binds it again, each step in the journal before it is made: after a kill in between, the
    /// undo of the session binds it.
    pub fn carry_out(&self, tuner: &Tuner<'_>, machine: &Machine) -> Result<(), RebindError> {
        let [away, back] = self.changes();
        let (drive, address) = (self.drive.clone(), self.address);
        made(tuner, machine, &away).map_err(|why| RebindError::Unbind { drive, address, why })?;
        made(tuner, machine, &back).map_err(|why| RebindError::Bind { address, why })
    }
}

fn made(tuner: &Tuner<'_>, machine: &Machine, change: &Change) -> Result<(), String> {
    match tuner.apply(machine, change) {
        Ok(Outcome::Accepted) => Ok(()),
        Ok(other) => Err(other.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
