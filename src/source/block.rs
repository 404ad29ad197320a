//! Block devices of `/sys/block`: kind, identity, partitions. [`super::nvme`] reads what only NVMe drives have.

mod copied;
mod queue;
mod temperature;
mod in_use;

use std::{cmp::Ordering, collections::HashMap};

use copied::{Hosts, NodeOrAddress};
pub(super) use in_use::Stacking;

use super::{
    nvme::{self, Location},
    root::{self, SysRoot, flag, is_numbered, label, number, resolve},
};
use crate::{
    machine::{Drive, DriveKind, Partition, PciTree, pci::NodeAddress},
    model::{DriveName, NodeIndex, PciAddress, Problem, ProblemKind, Reading},
    text::{Label, natural},
    units::Bytes,
};

/// Unit of `size` and `start`, whatever the device's block size.
const SECTOR: u64 = 512;

/// The folder of block devices.
pub(super) const FOLDER: &str = "/sys/block";

/// Block devices that are read.
pub(super) const MOST_DRIVES: usize = 1 << 12;

/// Whether a drive's `iostats` has changed since it was read.
pub(crate) fn has_other_iostats(root: &dyn SysRoot, drives: &[Drive]) -> bool {
    drives.iter().any(|drive| {
        let read = &drive.queue.iostats;
        read.is_known() && number::<u64>(root, &read.path()).get() != read.get()
    })
}

/// All whole block devices: hardware in bus order, then software ones by name, loop, zram and similar devices when in use.
/// Then the hidden paths of native NVMe multipath, without the data of their drive, what lies on what, and problems.
pub(crate) fn read(root: &dyn SysRoot, tree: &PciTree) -> (Vec<Drive>, Vec<Drive>, Stacking, Vec<Problem>) {
    let mut problems = Vec::new();
    let names = match root.list(FOLDER) {
        Ok(names) => root::first(names, MOST_DRIVES, FOLDER, &mut problems),
        Err(error) => {
            return (Vec::new(), Vec::new(), Stacking::default(), vec![error.into_problem(FOLDER)]);
        }
    };
    let is_partial = root.list("/sys/devices").is_err_and(|error| error.is_absent());
    let around = Around {
        tree,
        functions: functions(tree),
        paths: nvme::hidden_paths(root, &names),
        hosts: copied::hosts(root, tree, &names),
    };
    let (hidden, whole): (Vec<&String>, _) = names.iter().partition(|name| nvme::is_hidden_path(name));
    let mut read_all = |names: Vec<&String>| {
        let mut drives = Vec::with_capacity(names.len());
        for name in names {
            match read_drive(root, name, &around, &mut problems) {
                Some(drive) => drives.push(drive),
                None if is_partial => problems.extend(missing(root, name)),
                None => {}
            }
        }
        drives.sort_unstable_by(order);
        drives
    };
    let mut drives = read_all(whole);
    let paths = read_all(hidden);
    let (stacking, unread) = in_use::read(root, &mut drives);
    problems.extend(unread);
    (drives, paths, stacking, problems)
}

/// The temperature of a drive now, degrees Celsius: its sensor alone is read.
pub(crate) fn celsius(root: &dyn SysRoot, tree: &PciTree, drive: &Drive) -> Option<f64> {
    let device = match &drive.nvme {
        Some(nvme) => nvme.controller_path.to_string(),
        None => resolve(root, &format!("{}/device", drive.path)).ok()?,
    };
    let pci_path = drive.node.map(|index| &*tree.node(index).path);
    temperature::read(root, &device, pci_path)?.now.get()
}

fn order(a: &Drive, b: &Drive) -> Ordering {
    let group = |drive: &Drive| (drive.kind.is_software(), drive.node.is_none(), drive.node);
    group(a).cmp(&group(b)).then_with(|| natural(a.name.as_str(), b.name.as_str()))
}

/// What a drive is looked up in.
struct Around<'a> {
    tree: &'a PciTree,
    functions: HashMap<PciAddress, NodeIndex>,
    paths: nvme::Paths,
    hosts: Hosts,
}

fn functions(tree: &PciTree) -> HashMap<PciAddress, NodeIndex> {
    let function = |(index, node): (NodeIndex, &crate::machine::PciNode)| match node.address {
        NodeAddress::Device(address) => Some((address, index)),
        NodeAddress::Root { .. } => None,
    };
    tree.iter().filter_map(function).collect()
}

/// A link that leads out of a copy, or a folder that was not copied with its files.
fn missing(root: &dyn SysRoot, name: &str) -> Option<Problem> {
    let path = format!("/sys/block/{name}");
    let why = match root.list(&path) {
        Ok(names) => names.is_empty().then_some(root::EMPTY_FOLDER)?,
        Err(_) => root.link(&path).is_ok().then_some("a link to /sys/devices, which this copy lacks")?,
    };
    Some(Problem::new(ProblemKind::Absent, path, why))
}

/// One drive; `None` for an unused software device, a CD-ROM, or a drive that disappeared meanwhile.
fn read_drive(
    root: &dyn SysRoot,
    name: &str,
    Around { tree, functions, paths, hosts }: &Around,
    problems: &mut Vec<Problem>,
) -> Option<Drive> {
    let path = resolve(root, &format!("/sys/block/{name}")).ok()?;
    let at = |file: &str| format!("{path}/{file}");
    let is_copied = copied::is_copied(&path);
    let mut location = nvme::locate(root, name, &path, paths);
    if is_copied && let Some(folder) = copied::controller(root, name, hidden_name(paths, name), hosts) {
        let paths = location.map_or_else(Vec::new, |location| location.paths);
        location = Some(Location { controller_path: folder, paths });
    }
    let linked = || copied::device(root, &path, hosts).filter(|_| is_copied);
    let device = match &location {
        Some(location) => location.controller_path.clone(),
        None => linked().or_else(|| resolve(root, &at("device")).ok()).unwrap_or_else(|| path.clone()),
    };
    if is_optical(root, name, &device) {
        return None;
    }
    let function = match address_in(&device) {
        None if is_copied => copied::function(root, &device, hosts),
        address => address.map(NodeOrAddress::Address),
    };
    let node = match function {
        Some(NodeOrAddress::Node(node)) => Some(node),
        Some(NodeOrAddress::Address(address)) => functions.get(&address).copied(),
        None => None,
    };
    let kind = kind_of(root, name, &path, &device);
    let size = number::<u64>(root, &at("size")).and_then(in_bytes);
    let device_number = label(root, &at("dev"));
    // A text may name a drive without its size.
    if size.is_absent() && device_number.is_absent() && root.list(&path).is_err() {
        return None;
    }
    let backing_file = label(root, &at("loop/backing_file")).value().cloned();
    if kind.is_software() && size.get() == Some(Bytes(0)) && backing_file.is_none() {
        return None;
    }
    if let (None, Some(NodeOrAddress::Address(address))) = (node, function) {
        let why = format!("its PCI function {address} is not listed in /sys/bus/pci/devices");
        problems.push(Problem::new(ProblemKind::Absent, path.as_str(), why));
    }
    let [model, serial, wwid, firmware] = identity(root, kind, &path, &device);
    let queue_device =
        location.as_ref().and_then(|location| location.paths.first()).map_or(name, String::as_str);
    let pci_path = node.map(|index| &*tree.node(index).path);
    Some(Drive {
        name: DriveName::new(name),
        kind,
        node,
        device_number,
        diskseq: number(root, &at("diskseq")),
        model,
        serial,
        wwid,
        firmware,
        size,
        removable: flag(root, &at("removable")),
        alignment_offset: number(root, &at("alignment_offset")),
        numa_node: numa_node(root, location.as_ref(), &device, pci_path),
        queue: queue::read(root, &path, queue_device),
        temperature: temperature::read(root, &device, pci_path),
        partitions: partitions(root, name, &path),
        used_by: Vec::new(),
        users_unread: Vec::new(),
        backing_file,
        latency_tolerance_us: label(root, &format!("{device}/power/pm_qos_latency_tolerance_us")),
        nvme: location.map(|location| nvme::read(root, name, &path, &location)),
        path: path.into(),
    })
}

fn in_bytes(sectors: u64) -> Result<Bytes, String> {
    sectors.checked_mul(SECTOR).map(Bytes).ok_or_else(|| format!("{sectors} sectors exceed 2^64 bytes"))
}

/// The PCI function that a path names last.
fn address_in(path: &str) -> Option<PciAddress> {
    path.split('/').rev().find_map(|folder| folder.parse().ok())
}

fn hidden_name<'a>(paths: &'a nvme::Paths, name: &str) -> Option<&'a str> {
    paths.get(name)?.first().map(|(hidden, _)| hidden.as_str())
}

/// `device/numa_node`, else that of the PCI function.
fn numa_node(
    root: &dyn SysRoot,
    location: Option<&Location>,
    device: &str,
    pci_path: Option<&str>,
) -> Reading<Option<u32>> {
    let node_of = |folder: &str| root::numa_node(root, &format!("{folder}/numa_node"));
    match (location, pci_path) {
        (None, Some(pci)) => node_of(pci),
        (Some(_), Some(pci)) => node_of(device).or(|| node_of(pci)),
        (_, None) => node_of(device),
    }
}

fn kind_of(root: &dyn SysRoot, name: &str, path: &str, device: &str) -> DriveKind {
    const NAMES: &[(&str, DriveKind)] = &[
        ("nvme", DriveKind::Nvme),
        ("loop", DriveKind::Loop),
        ("zram", DriveKind::Zram),
        ("dm-", DriveKind::Dm),
        ("mmcblk", DriveKind::Mmc),
    ];
    if let Some((_, kind)) = NAMES.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return *kind;
    }
    let is_virtual = path.starts_with("/sys/devices/virtual/")
        || copied::is_copied(path)
            && !copied::is_hardware_name(name)
            && root.link(&format!("{path}/device")).is_err_and(|error| error.is_absent());
    if is_virtual {
        let is_array = name
            .strip_prefix("md")
            .is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_digit()));
        // A text has device mapper's own names in place of `dm-0`.
        let is_mapped = || label(root, &format!("{path}/dm/name")).is_known();
        return if is_array {
            DriveKind::Md
        } else if is_mapped() {
            DriveKind::Dm
        } else {
            DriveKind::OtherSoftware
        };
    }
    if name.starts_with("vd") && [path, device].iter().any(|path| path.contains("/virtio")) {
        return DriveKind::Virtio;
    }
    if name.starts_with("sd") {
        let is_behind =
            |port: &str| path.split('/').chain(device.split('/')).any(|part| is_numbered(part, port));
        let is_ata =
            || label(root, &format!("{device}/vendor")).value().is_some_and(|vendor| *vendor == "ATA");
        return if is_behind("usb") {
            DriveKind::Usb
        } else if is_behind("ata") || is_ata() {
            DriveKind::Sata
        } else {
            DriveKind::Scsi
        };
    }
    DriveKind::Other
}

/// Whether it is a CD-ROM or its like: SCSI peripheral device type 5 (SCSI Primary Commands, table of device types). No
/// drive to test or tune.
fn is_optical(root: &dyn SysRoot, name: &str, device: &str) -> bool {
    const CD: u32 = 5;
    match number::<u32>(root, &format!("{device}/type")).get() {
        Some(kind) if is_numbered(name, "sr") || name.starts_with("sd") => kind == CD,
        _ => is_numbered(name, "sr"),
    }
}

/// Model, serial number, world-wide id and firmware of a drive.
fn identity(root: &dyn SysRoot, kind: DriveKind, path: &str, device: &str) -> [Reading<Label>; 4] {
    let on_disk = |file: &str| label(root, &format!("{path}/{file}"));
    let on_device = |file: &str| label(root, &format!("{device}/{file}"));
    let none = |what: &str| Reading::absent(path, format!("a {} device has no {what}", kind.name()));
    let (model, serial, firmware) = match kind {
        DriveKind::Nvme => (on_device("model"), on_device("serial"), on_device("firmware_rev")),
        DriveKind::Sata | DriveKind::Scsi | DriveKind::Usb => (
            scsi_model(&on_device("vendor"), on_device("model")),
            scsi_serial(root, &format!("{device}/vpd_pg80")),
            on_device("rev"),
        ),
        DriveKind::Mmc => (on_device("name"), on_device("serial"), on_device("fwrev")),
        DriveKind::Virtio => (none("model"), on_disk("serial"), none("firmware")),
        DriveKind::Md => (on_disk("md/level"), none("serial"), none("firmware")),
        DriveKind::Dm => (on_disk("dm/name"), none("serial"), none("firmware")),
        DriveKind::Loop | DriveKind::Zram | DriveKind::OtherSoftware => {
            (none("model"), none("serial"), none("firmware"))
        }
        DriveKind::Other => (on_device("model"), on_device("serial"), on_device("rev")),
    };
    let wwid = match kind {
        DriveKind::Nvme => on_disk("wwid"),
        DriveKind::Sata | DriveKind::Scsi | DriveKind::Usb => on_device("wwid"),
        _ => none("world-wide id"),
    };
    [model, serial, wwid, firmware]
}

/// `vendor` and `model`, unless the vendor is only the protocol's name or the model begins with it (`QEMU DVD-ROM`).
fn scsi_model(vendor: &Reading<Label>, model: Reading<Label>) -> Reading<Label> {
    let Some(vendor) = vendor.value().filter(|vendor| **vendor != "ATA") else { return model };
    model.map(|model| {
        let has_vendor =
            model.as_str().split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(vendor.as_str()));
        if has_vendor { model } else { Label::new(&format!("{vendor} {model}")) }
    })
}

/// Unit Serial Number (SCSI Primary Commands, VPD page 80h): a header of four bytes with the length, then text.
fn scsi_serial(root: &dyn SysRoot, path: &str) -> Reading<Label> {
    root::bytes(root, path).and_then(|page| {
        let length = match page.get(..4) {
            Some(&[_, 0x80, high, low]) => usize::from(u16::from_be_bytes([high, low])),
            _ => return Err("no page 80h".to_owned()),
        };
        let text = page.get(4..4 + length).ok_or("page 80h is truncated")?;
        let serial = Label::from_bytes(text);
        if serial.is_empty() { Err("an empty serial number".to_owned()) } else { Ok(serial) }
    })
}

fn partitions(root: &dyn SysRoot, name: &str, path: &str) -> Vec<Partition> {
    let names = root.list(path).unwrap_or_default();
    let mut partitions: Vec<Partition> = names
        .iter()
        .filter(|part| part.starts_with(name) && part.len() > name.len())
        .filter(|part| number::<u32>(root, &format!("{path}/{part}/partition")).is_known())
        .map(|part| Partition {
            name: Label::new(part),
            start: number(root, &format!("{path}/{part}/start")).and_then(in_bytes),
            size: number(root, &format!("{path}/{part}/size")).and_then(in_bytes),
        })
        .collect();
    partitions.sort_by(|a, b| {
        let start = |part: &Partition| part.start.get().unwrap_or(Bytes(u64::MAX));
        start(a).cmp(&start(b)).then_with(|| natural(a.name.as_str(), b.name.as_str()))
    });
    partitions
}

#[cfg(test)]
mod tests;
