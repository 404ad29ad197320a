//! Slots for cards and drives, and the ports that belong to each.
//!
//! **How a card for several drives is recognised.** sysfs does not show which drives share a card. A slot that
//! firmware split appears as neighbouring functions of one device, each a port of four lanes. Three or four such
//! ports, each empty or with an NVMe function behind it, count as one slot. Two do not: boards often give their own
//! M.2 sockets two neighbouring ports. Users can name drives together, or a port alone.

use std::collections::{BTreeMap, HashSet};

use super::{chipset, link};
use crate::{
    machine::{
        Machine, NodeKind, PciTree,
        pci::{NodeAddress, PciNode},
    },
    model::{NodeIndex, PciAddress},
    units::Lanes,
};

/// Lanes of an M.2 socket, and of each port of a slot that was split for them.
const SOCKET: Lanes = Lanes(4);

/// Numbers of neighbouring ports that are one slot: a x16 slot splits into at most four.
const SPLIT: std::ops::RangeInclusive<usize> = 3..=4;

/// A place to plug something in: one port, or the neighbouring ports of a split slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Its ports, in bus order; never empty.
    pub ports: Vec<NodeIndex>,
}

/// How well a slot suits its new content; the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// Lanes that are missing.
    short: u32,
    /// Whether the slot holds nothing, something without drives, or drives.
    in_the_way: u8,
    /// Lanes that the displaced device would miss.
    other_short: u32,
    /// Lanes to spare.
    spare: u32,
    first: NodeIndex,
}

/// All slots, in bus order.
pub fn all(machine: &Machine) -> Vec<Slot> {
    let tree = &machine.pci;
    let mut by_device: BTreeMap<(Option<NodeIndex>, PciAddress), Vec<NodeIndex>> = BTreeMap::new();
    for (index, node) in tree.iter().filter(|(index, _)| is_slot(tree, *index)) {
        let NodeAddress::Device(address) = node.address else { continue };
        by_device.entry((node.parent, PciAddress { function: 0, ..address })).or_default().push(index);
    }
    let mut slots: Vec<Slot> = by_device.into_values().flat_map(|ports| together(tree, &ports)).collect();
    slots.sort();
    slots
}

/// The slot that a port belongs to; `None` for a port without a slot.
pub(crate) fn of_port(machine: &Machine, port: NodeIndex) -> Option<Slot> {
    let tree = &machine.pci;
    let device = |at: NodeIndex| match tree.node(at).address {
        NodeAddress::Device(address) => Some(PciAddress { function: 0, ..address }),
        NodeAddress::Root { .. } => None,
    };
    let own = device(port)?;
    let mut ports: Vec<NodeIndex> = match tree.node(port).parent {
        Some(bus) => tree.node(bus).children.clone(),
        None => tree.iter().filter(|(_, node)| node.parent.is_none()).map(|(index, _)| index).collect(),
    };
    ports.retain(|at| device(*at) == Some(own) && is_slot(tree, *at));
    ports.sort_unstable();
    together(tree, &ports).into_iter().find(|slot| slot.ports.contains(&port))
}

/// Whether a port has a slot: a root port or a switch's downstream port that does not lead to the inside of a chip,
/// to a chipset, or through a Thunderbolt tunnel.
pub fn is_slot(tree: &PciTree, port: NodeIndex) -> bool {
    let node = tree.node(port);
    let is_drive = |child: &NodeIndex| tree.node(*child).is_nvme();
    // A soldered drive has no slot bit and could be exchanged all the same.
    let has_slot = node.express.value().and_then(|express| express.slot_implemented).unwrap_or(true)
        || node.children.iter().any(is_drive);
    matches!(node.kind, NodeKind::RootPort | NodeKind::SwitchDownstream)
        && has_slot
        && link::internal(node).is_none()
        && !link::is_tunnelled(tree, port)
        && !tree.subtree(port).iter().any(|at| chipset::of_port(tree.node(*at)).is_some())
}

/// The best slot below `place` for the content of `from`: wide enough before free, free before occupied by something
/// without drives, and that before drives. `None` if no slot takes all of it and has room for the displaced devices,
/// which exclude `keep`.
pub(crate) fn best_below(
    machine: &Machine,
    place: NodeIndex,
    from: &Slot,
    keep: &[NodeIndex],
) -> Option<Slot> {
    let mut slots = all(machine);
    slots.retain(|slot| slot.is_below(&machine.pci, place));
    best_of(&machine.pci, &slots, &drive_nodes(machine), from, keep)
}

/// The nodes of hardware drives.
pub(crate) fn drive_nodes(machine: &Machine) -> HashSet<NodeIndex> {
    machine.hardware_drives().filter_map(|drive| drive.node).collect()
}

/// The same among `slots`, with the machine's [`drive_nodes`].
pub(crate) fn best_of(
    tree: &PciTree,
    slots: &[Slot],
    drives: &HashSet<NodeIndex>,
    from: &Slot,
    keep: &[NodeIndex],
) -> Option<Slot> {
    // One device may also go into one socket of a split slot.
    let sockets = slots.iter().filter(|slot| slot.ports.len() > 1 && from.ports.len() == 1);
    let sockets = sockets.flat_map(|slot| slot.ports.iter().map(|port| Slot::of([*port])));
    let sockets: Vec<Slot> = sockets.collect();
    let is_left = |slot: &&Slot| !slot.content(tree).iter().any(|function| keep.contains(function));
    let best = slots.iter().chain(&sockets).filter(is_left);
    let best = best.filter_map(|slot| Some((fit(tree, drives, from, slot)?, slot)));
    best.min_by_key(|(fit, _)| *fit).map(|(_, slot)| slot.clone())
}

/// Whether two slots can exchange their content: a card that needs a split slot needs all its lanes, other devices
/// work with fewer.
pub(crate) fn can_change_places(tree: &PciTree, from: &Slot, to: &Slot) -> bool {
    let takes = |slot: &Slot, other: &Slot| {
        !other.is_card(tree) || slot.lanes(tree).is_none_or(|lanes| lanes >= other.needs(tree))
    };
    let apart = from.ports.iter().all(|port| !to.ports.contains(port));
    let above = |slot: &Slot, other: &Slot| {
        slot.ports.iter().any(|port| tree.ancestry(*port).any(|at| other.ports.contains(&at)))
    };
    apart && takes(to, from) && takes(from, to) && !above(from, to) && !above(to, from)
}

fn fit(tree: &PciTree, drives: &HashSet<NodeIndex>, from: &Slot, to: &Slot) -> Option<Fit> {
    let lanes = to.lanes(tree).or_else(|| to.lanes_of_graphics(tree))?;
    can_change_places(tree, from, to).then_some(())?;
    let needs = from.needs(tree);
    let room = from.lanes(tree).unwrap_or(needs);
    let content: Vec<NodeIndex> = to.content(tree).into_iter().flat_map(|top| tree.subtree(top)).collect();
    Some(Fit {
        short: needs.saturating_sub(lanes),
        in_the_way: u8::from(!content.is_empty()) + u8::from(content.iter().any(|at| drives.contains(at))),
        other_short: to.needs(tree).saturating_sub(room),
        spare: lanes.saturating_sub(needs),
        first: to.ports[0],
    })
}

/// Ports of one device as slots: those of a split slot together, the others alone.
fn together(tree: &PciTree, ports: &[NodeIndex]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for port in ports {
        let joins = slots.last().is_some_and(|slot| {
            let last = slot.ports[slot.ports.len() - 1];
            slot.ports.len() < *SPLIT.end()
                && are_neighbours(tree, last, *port)
                && is_socket(tree, last)
                && is_socket(tree, *port)
        });
        match slots.last_mut().filter(|_| joins) {
            Some(slot) => slot.ports.push(*port),
            None => slots.push(Slot::of([*port])),
        }
    }
    let apart = |slot: Slot| {
        if SPLIT.contains(&slot.ports.len()) {
            vec![slot]
        } else {
            slot.ports.into_iter().map(|port| Slot::of([port])).collect()
        }
    };
    slots.into_iter().flat_map(apart).collect()
}

/// Whether two ports are neighbouring functions of one device.
pub(crate) fn are_neighbours(tree: &PciTree, one: NodeIndex, next: NodeIndex) -> bool {
    let (one, next) = (tree.node(one), tree.node(next));
    let (NodeAddress::Device(left), NodeAddress::Device(right)) = (one.address, next.address) else {
        return false;
    };
    one.parent == next.parent && PciAddress { function: left.function + 1, ..left } == right
}

/// Whether a port has four lanes, and nothing or an NVMe function behind it. One of unknown width needs the function.
fn is_socket(tree: &PciTree, port: NodeIndex) -> bool {
    let node = tree.node(port);
    let has_lanes = max_width(node).map_or(!node.children.is_empty(), |width| width == SOCKET);
    has_lanes && node.children.iter().all(|child| tree.node(*child).is_nvme())
}

fn max_width(node: &PciNode) -> Option<Lanes> {
    node.link.as_ref()?.max_width.get()
}

impl Slot {
    /// A slot of these ports.
    pub fn of(ports: impl IntoIterator<Item = NodeIndex>) -> Self {
        Self { ports: ports.into_iter().collect() }
    }

    /// Whether it is below a node.
    pub(crate) fn is_below(&self, tree: &PciTree, place: NodeIndex) -> bool {
        tree.whole_ancestry(self.ports[0]).any(|at| at == place)
    }

    /// Lanes of all its ports; `None` if one is unknown.
    pub fn lanes(&self, tree: &PciTree) -> Option<u32> {
        self.ports.iter().map(|port| Some(u32::from(max_width(tree.node(*port))?.0))).sum()
    }

    /// Lanes of a slot of unknown width that holds a graphics card: those are made for 16.
    pub(crate) fn lanes_of_graphics(&self, tree: &PciTree) -> Option<u32> {
        const DISPLAY: u32 = 0x03;
        let is_graphics =
            |node: NodeIndex| tree.node(node).class.get().is_some_and(|class| class >> 16 == DISPLAY);
        self.content(tree).into_iter().any(is_graphics).then_some(16)
    }

    /// Its content: the functions directly behind its ports.
    pub fn content(&self, tree: &PciTree) -> Vec<NodeIndex> {
        self.ports.iter().flat_map(|port| tree.node(*port).children.iter().copied()).collect()
    }

    /// Whether its content needs the slot split: devices behind more than one port.
    pub fn is_card(&self, tree: &PciTree) -> bool {
        self.ports.iter().filter(|port| !tree.node(**port).children.is_empty()).count() > 1
    }

    /// Lanes that its content can use: of each port the lesser of its own and its device's.
    pub fn needs(&self, tree: &PciTree) -> u32 {
        let of_port = |port: &NodeIndex| {
            let node = tree.node(*port);
            let device = node.children.iter().filter_map(|child| max_width(tree.node(*child))).max();
            // A device alone uses all it can; a socket of a card is as wide as the card made it.
            let port = max_width(node).filter(|_| self.ports.len() > 1);
            let lanes = match device {
                Some(device) => port.unwrap_or(device),
                None if node.children.is_empty() => Lanes(0),
                None => SOCKET,
            };
            u32::from(lanes.0)
        };
        self.ports.iter().map(of_port).sum()
    }
}
