//! What is known of a machine, for the needs of checks.

use std::collections::BTreeSet;

use super::super::packets;
use crate::{
    capacity::{link, link_state},
    machine::{Drive, Express, HopLink, LayerKind, Link, Machine, NodeKind, PciNode},
    model::NodeIndex,
    text::Label,
};

pub(super) fn functions(machine: &Machine) -> impl Iterator<Item = &PciNode> {
    machine.pci.functions()
}

pub(super) fn any(machine: &Machine, is: impl Fn(&Drive) -> bool) -> bool {
    machine.hardware_drives().any(is)
}

pub(super) fn nvme(machine: &Machine, is: impl Fn(&Drive) -> bool) -> bool {
    machine.hardware_drives().filter(|drive| drive.nvme.is_some()).any(is)
}

/// Whether a function's PCI Express capability states something.
pub(super) fn states(machine: &Machine, is: impl Fn(&Express) -> bool) -> bool {
    functions(machine).any(|node| node.express.value().is_some_and(&is))
}

/// The same of NVMe controllers.
pub(super) fn drive_states(machine: &Machine, is: impl Fn(&Express) -> bool) -> bool {
    nvme_functions(machine).any(|node| node.express.value().is_some_and(&is))
}

pub(super) fn nvme_functions(machine: &Machine) -> impl Iterator<Item = &PciNode> {
    functions(machine).filter(|node| node.is_nvme())
}

/// Whether a drive and the port above it state their payload sizes.
pub(super) fn has_payloads(machine: &Machine) -> bool {
    nvme_functions(machine).any(|node| {
        let port = node.parent.map(|port| machine.pci.node(port));
        packets::payloads(node).is_some() && port.is_some_and(|port| packets::payloads(port).is_some())
    })
}

/// Whether the kernel log was read, and each of its messages is about a drive of the machine.
pub(super) fn has_drives_of_messages(machine: &Machine) -> bool {
    let of_drives = machine.hardware_drives().flat_map(|drive| machine.messages_of(drive));
    let controllers: BTreeSet<&Label> = of_drives.map(|message| &message.controller).collect();
    let all = machine.driver_messages.value();
    all.is_some_and(|all| all.iter().all(|message| controllers.contains(&message.controller)))
}

/// Whether the state and the capability of a link is known: above a drive, or where there is none anywhere.
pub(super) fn has_links(machine: &Machine) -> bool {
    above_drives(machine, has_link)
}

/// Whether state and capability of a function's link are known.
pub(super) fn has_link(node: &PciNode) -> bool {
    let is_whole = |link: &Link| link.speed.is_known() && link.width.is_known() && has_capability(link);
    node.link.as_ref().is_some_and(is_whole)
}

fn has_capability(link: &Link) -> bool {
    link.max_speed.is_known() && link.max_width.is_known()
}

/// Whether something of its link is known.
pub(super) fn has_half_link(node: &PciNode) -> bool {
    node.link
        .as_ref()
        .is_some_and(|link| link.speed.is_known() || link.width.is_known() || has_capability(link))
}

/// Whether links with the capability of both ends were judged, and no slow one lacks an end.
pub(super) fn has_both_ends(machine: &Machine) -> bool {
    has_whole_link(machine) && !has_slow_half(machine)
}

/// Whether a link with true registers is known with the capability of both ends.
pub(super) fn has_whole_link(machine: &Machine) -> bool {
    real_links(machine).any(|link| link.now.is_some() && link.has_both_ends())
}

/// Links of devices whose port is not known, those left out that are known to be emulated or inside chips.
fn half_links(machine: &Machine) -> impl Iterator<Item = (NodeIndex, HopLink)> {
    let tree = &machine.pci;
    let is_port = |node: &PciNode| matches!(node.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    let devices = tree.iter().filter(move |(at, node)| !is_port(node) && link::no_limit(tree, *at).is_none());
    let links = devices.filter_map(|(at, _)| Some((at, HopLink::above(machine, at)?)));
    links.filter(|(_, link)| !link.has_both_ends())
}

/// Whether a device's link is slower than its end can do, and its port is not known. A port may have a lesser device, and a
/// display lowers the speed of its link.
fn has_slow_half(machine: &Machine) -> bool {
    half_links(machine).any(|(at, link)| {
        link.is_slow() && !(link.is_full_width() && link_state::lowers_speed(&machine.pci, at))
    })
}

/// Whether links are known with both ends, and all that are known are emulated or inside chips.
pub(super) fn has_unreal_links(machine: &Machine) -> bool {
    let is_whole = |node: &PciNode| {
        let port = node.parent.and_then(|port| machine.pci.node(port).link.as_ref());
        has_link(node) && port.is_some_and(has_capability)
    };
    let is_real_known = real_links(machine).next().is_some() || half_links(machine).next().is_some();
    functions(machine).any(is_whole) && !is_real_known
}

/// Links with true registers, once for each function below their ports.
fn real_links(machine: &Machine) -> impl Iterator<Item = HopLink> {
    let real = machine.pci.iter().filter(|(at, _)| link::is_real(&machine.pci, *at));
    real.filter_map(|(at, _)| HopLink::above(machine, at))
}

/// Whether a function from a drive to its root complex is one; where no drive has a function, any of the machine's.
pub(super) fn above_drives(machine: &Machine, is: impl Fn(&PciNode) -> bool) -> bool {
    let mut at_drives = machine.hardware_drives().filter_map(|drive| drive.node).peekable();
    if at_drives.peek().is_none() {
        return functions(machine).any(is);
    }
    at_drives.any(|node| {
        let above = machine.pci.whole_ancestry(node).map(|at| machine.pci.node(at));
        above.filter(|node| node.kind != NodeKind::RootComplex).any(&is)
    })
}

/// Whether partitions and layers are listed; a machine that was read has them.
pub(super) fn has_lsblk(machine: &Machine) -> bool {
    machine
        .pasted
        .as_ref()
        .is_none_or(|pasted| pasted.listings.iter().any(|listing| listing.command.starts_with("lsblk")))
}

pub(super) fn has_array(machine: &Machine) -> bool {
    machine.layers.devices.values().any(|layer| matches!(layer.kind, LayerKind::Md(_)))
}

/// Whether a device may be encrypted; a text has the names of device mapper's devices alone.
pub(super) fn has_crypt(machine: &Machine) -> bool {
    let mut layers = machine.layers.devices.values();
    layers.any(|layer| layer.dm().is_some() || matches!(layer.kind, LayerKind::Other))
}
