//! Block devices of `/sys/block`: kind, identity, partitions. [`super::nvme`] reads what only NVMe drives have.

mod queue;
mod temperature;
mod in_use;

use std::{cmp::Ordering, collections::HashMap};

pub(super) use in_use::Stacking;

use super::{
    nvme::{self, Location},
    root::{self, SysRoot, ancestors, flag, is_numbered, label, number, resolve},
};
use crate::{
    machine::{Drive, DriveKind, Partition, PciTree},
    model::{DriveName, NodeIndex, Problem, Reading},
    text::{Label, natural},
    units::Bytes,
};

/// Unit of `size` and `start`, whatever the device's block size.
const SECTOR: u64 = 512;

/// Block devices that are read.
const MOST_DRIVES: usize = 1 << 12;

/// All whole block devices: hardware in bus order, then software ones by name, loop, zram and similar devices when in use.
/// Then the hidden paths of native NVMe multipath, without the data of their drive, what lies on what, and problems.
pub(crate) fn read(root: &dyn SysRoot, tree: &PciTree) -> (Vec<Drive>, Vec<Drive>, Stacking, Vec<Problem>) {
    const FOLDER: &str = "/sys/block";
    let mut problems = Vec::new();
    let names = match root.list(FOLDER) {
        Ok(names) => root::first(names, MOST_DRIVES, FOLDER, &mut problems),
        Err(error) => {
            return (Vec::new(), Vec::new(), Stacking::default(), vec![error.into_problem(FOLDER)]);
        }
    };
    let nodes: HashMap<&str, NodeIndex> = tree.iter().map(|(index, node)| (&*node.path, index)).collect();
    let paths = nvme::hidden_paths(root, &names);
    let (hidden, whole): (Vec<&String>, _) = names.iter().partition(|name| nvme::is_hidden_path(name));
    let read_all = |names: Vec<&String>| {
        let drives = names.into_iter().filter_map(|name| read_drive(root, name, &paths, &nodes, tree));
        let mut drives: Vec<Drive> = drives.collect();
        drives.sort_by(order);
        drives
    };
    let (mut drives, paths) = (read_all(whole), read_all(hidden));
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

/// One drive; `None` for an unused software device, a CD-ROM, or a drive that disappeared meanwhile.
fn read_drive(
    root: &dyn SysRoot,
    name: &str,
    paths: &nvme::Paths,
    nodes: &HashMap<&str, NodeIndex>,
    tree: &PciTree,
) -> Option<Drive> {
    let path = resolve(root, &format!("/sys/block/{name}")).ok()?;
    let at = |file: &str| format!("{path}/{file}");
    let location = nvme::locate(root, name, &path, paths);
    let device = match &location {
        Some(location) => location.controller_path.clone(),
        None => resolve(root, &at("device")).unwrap_or_else(|_| path.clone()),
    };
    if is_optical(root, name, &device) {
        return None;
    }
    let node = nearest(nodes, &device);
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

/// The PCI function above a folder.
fn nearest(nodes: &HashMap<&str, NodeIndex>, path: &str) -> Option<NodeIndex> {
    ancestors(path).find_map(|path| nodes.get(path).copied())
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
    if path.starts_with("/sys/devices/virtual/") {
        let is_array = name
            .strip_prefix("md")
            .is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_digit()));
        return if is_array { DriveKind::Md } else { DriveKind::OtherSoftware };
    }
    if name.starts_with("vd") && path.contains("/virtio") {
        return DriveKind::Virtio;
    }
    if name.starts_with("sd") {
        let is_behind = |port: &str| path.split('/').any(|part| is_numbered(part, port));
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

/// `vendor` and `model`, unless the vendor is only the protocol's name.
fn scsi_model(vendor: &Reading<Label>, model: Reading<Label>) -> Reading<Label> {
    match vendor.value() {
        Some(vendor) if *vendor != "ATA" => {
            let vendor = vendor.clone();
            model.map(|model| Label::new(&format!("{vendor} {model}")))
        }
        _ => model,
    }
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
