//! Free slots that give a device more than the slot it is in.

use super::{Inputs, inputs::place, judged::raw};
use crate::{
    capacity::{Slot, slots},
    machine::{
        Machine, NodeKind,
        hop::{Pair, short},
    },
    model::NodeIndex,
};

/// The free slot that gives the device on a port most, and its rate, if that is more than `now`.
pub(super) fn better_free_slot(inputs: &Inputs, port: NodeIndex, now: f64) -> Option<(String, f64)> {
    let machine = inputs.machine;
    let device = machine.pci.node(port).children.first().and_then(|child| most_of(machine, *child))?;
    let free = *free_slots(machine, port).first()?;
    let most = most_of(machine, free)?;
    let rate = raw((most.0.min(device.0), most.1.min(device.1)));
    (rate > now).then(|| (format!("the free slot {} ({})", place(machine.pci.node(free)), short(most)), rate))
}

pub(super) fn most_of(machine: &Machine, node: NodeIndex) -> Option<Pair> {
    let link = machine.pci.node(node).link.as_ref()?;
    link.max_speed.get().zip(link.max_width.get())
}

/// Free slots faster than this port for its device, fastest first.
pub(super) fn free_slots(machine: &Machine, port: NodeIndex) -> Vec<NodeIndex> {
    let tree = &machine.pci;
    let Some(device) = tree.node(port).children.first().and_then(|child| most_of(machine, *child)) else {
        return Vec::new();
    };
    let from = Slot::of([port]);
    let is_upstream = |node: NodeIndex| tree.node(node).kind == NodeKind::SwitchUpstream;
    let could = |(speed, width): Pair| raw((speed.min(device.0), width.min(device.1)));
    let mut free: Vec<(f64, NodeIndex)> = tree
        .iter()
        .filter(|(index, node)| node.children.is_empty() && slots::is_slot(tree, *index))
        .filter(|(index, _)| slots::can_change_places(tree, &from, &Slot::of([*index])))
        .filter_map(|(index, _)| {
            // The switch's own link also limits a slot below it.
            let uplinks = tree.whole_ancestry(index).filter(|at| is_upstream(*at));
            let uplinks = uplinks.filter_map(|at| most_of(machine, at)).map(could);
            Some((uplinks.fold(could(most_of(machine, index)?), f64::min), index))
        })
        .filter(|(rate, _)| *rate > 0.0)
        .collect();
    free.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    free.into_iter().map(|(_, index)| index).collect()
}
