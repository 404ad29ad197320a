//! What all drives together can deliver through the tree, by its limits: what a finding's cost is measured against.

use std::collections::BTreeMap;

use crate::{
    machine::{Machine, NodeKind},
    model::{Limits, NodeIndex},
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
        let hop =
            self.instead.get(&node).copied().or(self.limits.hop(node).map(|hop| hop.bytes_per_second.0));
        let below = self.below(node, depth);
        let carries = self.machine.hardware_drives().any(|drive| drive.node == Some(node));
        match (below, hop) {
            (Some(below), Some(hop)) => Some(below.min(hop)),
            (None, hop) if carries => hop,
            (below, _) => below,
        }
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
        let children =
            self.machine.pci.node(node).children.iter().filter_map(|child| self.through(*child, depth + 1));
        own.chain(children).reduce(|sum, rate| sum + rate)
    }
}

/// The root complexes that hang under no device.
pub(super) fn is_top(machine: &Machine, node: NodeIndex) -> bool {
    let node = machine.pci.node(node);
    node.kind == NodeKind::RootComplex && node.parent.is_none()
}
