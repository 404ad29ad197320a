//! The tree in parts: ports are emptied, split and filled, then the tree is rebuilt.

use std::collections::BTreeMap;

use super::{
    Exchanged, addresses,
    link::{self, Today},
    placed,
};
use crate::{
    capacity::{Slot, link_state},
    machine::{
        Drive, Machine, NodeKind, PciTree,
        pci::{NodeAddress, PciNode},
    },
    model::{NodeIndex, PciAddress, Reading},
    units::{Lanes, TransferRate},
};

/// A port and the functions behind it.
pub(super) struct Socket {
    /// The port's lanes.
    width: Option<Lanes>,
    /// The functions behind it, each with its link today.
    functions: Vec<(NodeIndex, Today)>,
}

/// The sockets of a slot, up to the last one with something behind it.
pub(super) fn sockets(tree: &PciTree, slot: &Slot) -> Vec<Socket> {
    let socket = |port: &NodeIndex| {
        let node = tree.node(*port);
        let width = node.link.as_ref().and_then(|link| link.max_width.get());
        let today = |child: &NodeIndex| (*child, today(tree, *port, *child));
        Socket { width, functions: node.children.iter().map(today).collect() }
    };
    let mut sockets: Vec<Socket> = slot.ports.iter().map(socket).collect();
    while sockets.last().is_some_and(|socket| socket.functions.is_empty()) {
        sockets.pop();
    }
    sockets
}

/// A copy of the tree with unconnected nodes; indices are those of the old tree, new ports follow.
pub(super) struct Bench {
    tree: PciTree,
    was: Vec<Option<NodeIndex>>,
    /// Root complexes with changed slots.
    touched: Vec<NodeIndex>,
}

impl Bench {
    pub fn new(tree: &PciTree) -> Self {
        let was = tree.iter().map(|(index, _)| Some(index)).collect();
        Self { tree: tree.clone(), was, touched: Vec::new() }
    }

    /// Empties a slot.
    pub fn empty(&mut self, slot: &Slot) {
        for port in &slot.ports {
            let port = &mut self.tree.nodes[port.0];
            port.children.clear();
            if let Some(link) = &mut port.link {
                link::unplug(link);
            }
        }
        self.touch(slot.ports[0]);
    }

    /// Plugs sockets into an empty slot, split as they need it.
    pub fn fill(&mut self, slot: &Slot, load: &[Socket]) {
        let ports = self.split(slot, load);
        for (port, socket) in ports.into_iter().zip(load) {
            for (function, today) in &socket.functions {
                self.plug(port, *function, today);
            }
        }
    }

    /// Sets the maximum speed of a slot, and retrains its links.
    pub fn cap(&mut self, slot: &Slot, speed: TransferRate) {
        for NodeIndex(at) in &slot.ports {
            let children = self.tree.nodes[*at].children.clone();
            let links: Vec<Today> =
                children.iter().map(|child| today(&self.tree, NodeIndex(*at), *child)).collect();
            let port = &mut self.tree.nodes[*at];
            if let Some(link) = &mut port.link {
                link.max_speed = Reading::known(link.max_speed.path(), speed);
                link::unplug(link);
            }
            if let Some(mut express) = port.express.get() {
                express.max_speed = Some(speed);
                express.target_speed = Some(speed);
                port.express = Reading::known(port.express.path(), express);
            }
            for (child, today) in children.iter().zip(&links) {
                self.settle(NodeIndex(*at), *child, today);
            }
        }
    }

    /// The slot's ports as the load needs them: one with all lanes for one device, else as the load had them;
    /// remaining lanes become further ports.
    fn split(&mut self, slot: &Slot, load: &[Socket]) -> Vec<NodeIndex> {
        let stays = slot.ports.len() == 1 || load.is_empty();
        if stays && load.len() <= 1 {
            return slot.ports.clone();
        }
        let all: Option<u32> = slot.ports.iter().map(|port| Some(u32::from(self.width(*port)?.0))).sum();
        let mut widths: Vec<Option<Lanes>> = load.iter().map(|socket| socket.width).collect();
        if let ([width], Some(all)) = (widths.as_mut_slice(), all) {
            *width = Some(Lanes(u8::try_from(all).unwrap_or(u8::MAX)));
        }
        let mut taken: u32 = widths.iter().flatten().map(|lanes| u32::from(lanes.0)).sum();
        while let (Some(Some(last)), Some(all)) = (widths.last().copied(), all)
            && taken + u32::from(last.0) <= all
        {
            taken += u32::from(last.0);
            widths.push(Some(last));
        }
        let parent = self.tree.nodes[slot.ports[0].0].parent;
        let siblings = parent.map(|parent| &mut self.tree.nodes[parent.0].children);
        if let Some(siblings) = siblings {
            siblings.retain(|child| !slot.ports.contains(child));
        }
        let mut ports = Vec::new();
        for (at, width) in widths.into_iter().enumerate() {
            let Some(port) = slot.ports.get(at).copied().or_else(|| self.further_port(slot, parent)) else {
                break;
            };
            if let (Some(link), Some(width)) = (&mut self.tree.nodes[port.0].link, width) {
                link.max_width = Reading::known(link.max_width.path(), width);
            }
            if let Some(parent) = parent {
                self.tree.nodes[parent.0].children.push(port);
            }
            ports.push(port);
        }
        self.sort_children(parent);
        ports
    }

    /// One more port like the slot's first, at the next free function of its bus.
    fn further_port(&mut self, slot: &Slot, parent: Option<NodeIndex>) -> Option<NodeIndex> {
        let siblings = parent.map(|parent| self.tree.nodes[parent.0].children.clone()).unwrap_or_default();
        let taken: Vec<NodeAddress> =
            siblings.iter().chain(&slot.ports).map(|at| self.tree.nodes[at.0].address).collect();
        let NodeAddress::Device(first) = self.tree.nodes[slot.ports[0].0].address else { return None };
        let free = (usize::from(first.device) * 8 + usize::from(first.function)..256).find_map(|place| {
            let address = PciAddress {
                device: u8::try_from(place / 8).ok()?,
                function: u8::try_from(place % 8).ok()?,
                ..first
            };
            (!taken.contains(&NodeAddress::Device(address))).then_some(address)
        })?;
        let like = &self.tree.nodes[slot.ports[0].0];
        let mut port = PciNode { address: NodeAddress::Device(free), children: Vec::new(), ..like.clone() };
        port.cooling = Reading::absent(port.cooling.path(), "a port that is not there yet");
        port.cooling_path = None;
        if let Some(link) = &mut port.link {
            link::unplug(link);
        }
        self.tree.nodes.push(port);
        self.was.push(None);
        Some(NodeIndex(self.tree.nodes.len() - 1))
    }

    fn plug(&mut self, port: NodeIndex, function: NodeIndex, today: &Today) {
        self.tree.nodes[port.0].children.push(function);
        self.tree.nodes[function.0].parent = Some(port);
        self.settle(port, function, today);
        self.house(port, function);
    }

    fn settle(&mut self, port: NodeIndex, function: NodeIndex, today: &Today) {
        // A node is never its own parent, so both exist.
        if let Ok([port, function]) = self.tree.nodes.get_disjoint_mut([port.0, function.0]) {
            link::settle(port, function, today);
        }
    }

    /// Properties that a device takes from its place: NUMA node, local CPUs, IOMMU group.
    fn house(&mut self, port: NodeIndex, function: NodeIndex) {
        let (numa_node, local_cpus) = {
            let port = &self.tree.nodes[port.0];
            (port.numa_node.clone(), port.local_cpus.clone())
        };
        let mut below = vec![function];
        while let Some(at) = below.pop() {
            let node = &mut self.tree.nodes[at.0];
            node.numa_node = numa_node.clone();
            node.local_cpus = local_cpus.clone();
            node.iommu_group = Reading::absent(node.iommu_group.path(), "known only once it is there");
            below.extend(&node.children);
        }
    }

    fn width(&self, port: NodeIndex) -> Option<Lanes> {
        self.tree.nodes[port.0].link.as_ref()?.max_width.get()
    }

    fn sort_children(&mut self, of: Option<NodeIndex>) {
        let Some(of) = of else { return };
        let mut children = std::mem::take(&mut self.tree.nodes[of.0].children);
        children.sort_by_key(|child| self.tree.nodes[child.0].address);
        self.tree.nodes[of.0].children = children;
    }

    fn touch(&mut self, port: NodeIndex) {
        let root = self.tree.root_of(port);
        if !self.touched.contains(&root) {
            self.touched.push(root);
        }
    }

    /// The machine with this tree: buses numbered, nodes in bus order, drives at their functions.
    pub fn finish(mut self, machine: &Machine) -> Exchanged {
        let renumbered = addresses::renumber(&mut self.tree.nodes, &machine.pci, &self.touched);
        let order = self.order();
        let place: BTreeMap<NodeIndex, NodeIndex> =
            order.iter().enumerate().map(|(now, was)| (*was, NodeIndex(now))).collect();
        let mut old: Vec<Option<PciNode>> = self.tree.nodes.into_iter().map(Some).collect();
        let nodes = order.iter().filter_map(|at| Some(placed(old[at.0].take()?, &place))).collect();
        let was: Vec<Option<NodeIndex>> = order.iter().map(|at| self.was[at.0]).collect();
        let mut pci = PciTree::new(nodes);
        addresses::name_folders(&mut pci, &machine.pci, &was);
        let before = &machine.pci;
        let mut machine = machine.with_tree(pci, machine.drives.clone(), machine.paths.clone());
        for drive in machine.drives.iter_mut().chain(&mut machine.paths) {
            rehouse(drive, before, &machine.pci, &place);
        }
        // Hardware in bus order, then software in its old order.
        machine
            .drives
            .sort_by_key(|drive| (drive.kind.is_software(), drive.node.map_or(usize::MAX, |node| node.0)));
        Exchanged { machine, was, renumbered }
    }

    /// Root complexes in their order, below each depth first.
    fn order(&self) -> Vec<NodeIndex> {
        let mut order = Vec::new();
        for root in self.tree.roots() {
            let mut stack = vec![root];
            while let Some(next) = stack.pop() {
                order.push(next);
                let nested = |child: &&NodeIndex| self.tree.nodes[child.0].kind != NodeKind::RootComplex;
                stack.extend(self.tree.node(next).children.iter().rev().filter(nested));
            }
        }
        order
    }
}

/// A drive's function, folders and memory node in the new tree.
fn rehouse(drive: &mut Drive, before: &PciTree, after: &PciTree, place: &BTreeMap<NodeIndex, NodeIndex>) {
    let Some((was, now)) = drive.node.and_then(|was| Some((was, *place.get(&was)?))) else { return };
    drive.node = Some(now);
    let (old, new) = (before.node(was), after.node(now));
    let moved = |path: &str| path.strip_prefix(&*old.path).map(|rest| format!("{}{rest}", new.path));
    if old.path != new.path {
        if let Some(path) = moved(&drive.path) {
            drive.path = path.into();
        }
        if let Some(nvme) = &mut drive.nvme
            && let Some(path) = moved(&nvme.controller_path)
        {
            nvme.controller_path = path.into();
        }
    }
    if old.numa_node != new.numa_node {
        drive.numa_node = new.numa_node.clone();
    }
}

/// Whether a link runs below the maximum of both ends, its device awake.
pub fn runs_low(tree: &PciTree, device: NodeIndex) -> bool {
    let node = tree.node(device);
    node.parent.is_some_and(|port| today(tree, port, device).is_low(node))
}

fn today(tree: &PciTree, port: NodeIndex, device: NodeIndex) -> Today {
    Today::of(tree.node(port), tree.node(device), link_state::lowers_speed(tree, device))
}
