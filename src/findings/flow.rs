//! What all drives together can deliver through the tree, by its limits: what a finding's cost is measured against.
//!
//! An Intel chipset's ports hang on the root bus and share DMI all the same: for what flows, they hang on its bridge.

use std::collections::BTreeMap;

use crate::{
    machine::{Machine, NodeKind},
    model::{Basis, Limits, NodeIndex},
};

/// Bytes per second of all drives read at once: what every root complex carries, added up.
pub(super) fn total(machine: &Machine, limits: &Limits) -> f64 {
    total_with(machine, limits, &BTreeMap::new())
}

/// The same with the limits of some hops replaced.
pub(super) fn total_with(machine: &Machine, limits: &Limits, instead: &BTreeMap<NodeIndex, f64>) -> f64 {
    let flow = Flow { machine, limits, instead };
    // A nested root complex (VMD) is counted where it hangs.
    machine
        .pci
        .roots()
        .filter(|root| machine.pci.node(*root).parent.is_none())
        .map(|root| flow.through(root, 0).unwrap_or(0.0))
        .sum()
}

/// What reaches a node from below, before its own limit, in bytes per second.
pub(super) fn demand(machine: &Machine, limits: &Limits, node: NodeIndex) -> f64 {
    Flow { machine, limits, instead: &BTreeMap::new() }.below(node, 0).unwrap_or(0.0)
}

struct Flow<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    instead: &'a BTreeMap<NodeIndex, f64>,
}

/// Deeper than any bus can nest.
const DEEPEST: usize = 256;

impl Flow<'_> {
    /// What goes through the hop above `node`; `None` when no drive below has a known rate.
    fn through(&self, node: NodeIndex, depth: usize) -> Option<f64> {
        let limit = if self.bridge(node).is_some() { None } else { self.limits.hop(node) };
        // A chipset's bridge has no entry of its own: each of its ports has.
        let limit = limit.or_else(|| self.limits.hops.values().find(|hop| hop.node == Some(node)));
        let hop = self.instead.get(&node).copied().or(limit.map(|hop| hop.bytes_per_second.0));
        let below = self.below(node, depth);
        let carries = self.machine.hardware_drives().any(|drive| drive.node == Some(node));
        match (below, hop) {
            (Some(below), Some(hop)) => Some(below.min(hop)),
            (None, hop) if carries => hop,
            (below, _) => below,
        }
    }

    /// The chipset's bridge that a port on the root bus belongs to, if its hop is the chipset's shared one.
    fn bridge(&self, port: NodeIndex) -> Option<NodeIndex> {
        self.limits.hop(port).filter(|hop| hop.basis == Basis::Table)?.node.filter(|bridge| *bridge != port)
    }

    /// What comes from the drives on `node` and the hops below it. A drive whose own rate nobody knows counts for
    /// nothing here: its hop speaks for it.
    fn below(&self, node: NodeIndex, depth: usize) -> Option<f64> {
        if depth > DEEPEST {
            return None;
        }
        let own = self
            .machine
            .hardware_drives()
            .filter(|drive| drive.node == Some(node))
            .filter_map(|drive| self.limits.own.get(&drive.name).map(|limit| limit.bytes_per_second.0));
        let tree = &self.machine.pci;
        let on_the_bus =
            tree.node(node).children.iter().copied().filter(|child| self.bridge(*child).is_none());
        let on_the_bridge = self.limits.hops.keys().copied().filter(|port| self.bridge(*port) == Some(node));
        let children = on_the_bus.chain(on_the_bridge).filter_map(|child| self.through(child, depth + 1));
        own.chain(children).reduce(|sum, rate| sum + rate)
    }
}

/// The root complexes that hang under no device.
pub(super) fn is_top(machine: &Machine, node: NodeIndex) -> bool {
    let node = machine.pci.node(node);
    node.kind == NodeKind::RootComplex && node.parent.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity::{self, chipset},
        source::{self, origin::Origin},
    };

    #[test]
    fn a_link_that_ports_of_a_chipset_share_is_counted_once() {
        let (machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let machine = chipset::testing::behind_a_b660(machine);
        let limits = capacity::limits(&machine);
        let behind: Vec<_> =
            machine.drives.iter().filter_map(|drive| chipset_of(&machine, drive.node?)).collect();
        assert_eq!(behind, ["Intel B660"; 4]);
        let dmi = limits.hops.values().find(|hop| hop.basis == Basis::Table).unwrap().bytes_per_second.0;
        assert!((total(&machine, &limits) / dmi - 1.0).abs() < 1e-9, "{}", total(&machine, &limits));
        let mut direct = limits.clone();
        direct.hops.retain(|_, hop| hop.basis != Basis::Table);
        assert!(total(&machine, &direct) > 3.5 * dmi, "the drives alone want four times that");
    }

    fn chipset_of(machine: &Machine, node: NodeIndex) -> Option<String> {
        chipset::above(machine, node).map(|chipset| chipset.name)
    }
}
