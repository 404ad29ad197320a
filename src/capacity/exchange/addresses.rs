//! Addresses and folders of a changed tree.
//!
//! Firmware numbers buses depth first: each bridge takes the next free number for the bus behind it. Where today's
//! numbers follow that rule, new ones do too. Where they have gaps (room for hot plug), devices keep their addresses.

use crate::{
    machine::{
        PciTree,
        pci::{NodeAddress, NodeKind, PciNode},
    },
    model::{NodeIndex, PciAddress},
};

/// Renumbers the buses of the changed root complexes; returns whether it did.
pub(super) fn renumber(nodes: &mut [PciNode], before: &PciTree, touched: &[NodeIndex]) -> bool {
    let fits = |root: &NodeIndex| {
        let is_plain = walk(&before.nodes, *root).is_some_and(|plan| {
            let numbered =
                |step: &Step| before.node(step.bridge).buses == Some((step.secondary, step.subordinate));
            plan.iter().skip(1).all(numbered)
        });
        let room = walk(nodes, *root).and_then(|plan| plan.first().map(|step| step.subordinate));
        is_plain && room.is_some_and(|last| next_root(before, *root).is_none_or(|next| last < next))
    };
    let renumbers = !touched.is_empty() && touched.iter().all(fits);
    if !renumbers {
        keep(nodes, before);
        return touched.is_empty();
    }
    for root in touched {
        for step in walk(nodes, *root).unwrap_or_default() {
            let NodeAddress::Root { domain, .. } = nodes[root.0].address else { continue };
            let bridge = &mut nodes[step.bridge.0];
            if bridge.kind != NodeKind::RootComplex {
                bridge.buses = Some((step.secondary, step.subordinate));
            }
            for child in bridge.children.clone() {
                if let NodeAddress::Device(address) = &mut nodes[child.0].address {
                    *address = PciAddress { domain, bus: step.secondary, ..*address };
                }
            }
        }
    }
    true
}

/// The bus behind a bridge.
struct Step {
    bridge: NodeIndex,
    secondary: u8,
    subordinate: u8,
}

/// Numbers by firmware's rule: the root complex first, then its bridges depth first; `None` if buses run out.
fn walk(nodes: &[PciNode], root: NodeIndex) -> Option<Vec<Step>> {
    let NodeAddress::Root { bus, .. } = nodes[root.0].address else { return None };
    let mut steps = vec![Step { bridge: root, secondary: bus, subordinate: bus }];
    let mut last = bus;
    // Open bridges by their index in `steps`, with the children still to visit.
    let mut open = vec![(0, nodes[root.0].children.iter())];
    while let Some((step, children)) = open.last_mut() {
        let step = *step;
        match children.next() {
            Some(child) if !matches!(nodes[child.0].kind, NodeKind::Endpoint | NodeKind::RootComplex) => {
                last = last.checked_add(1)?;
                steps.push(Step { bridge: *child, secondary: last, subordinate: last });
                open.push((steps.len() - 1, nodes[child.0].children.iter()));
            }
            Some(_) => {}
            None => {
                steps[step].subordinate = last;
                open.pop();
            }
        }
    }
    Some(steps)
}

/// The root bus after this one in its domain.
fn next_root(tree: &PciTree, root: NodeIndex) -> Option<u8> {
    let of = |index: NodeIndex| match tree.node(index).address {
        NodeAddress::Root { domain, bus } => Some((domain, bus)),
        NodeAddress::Device(_) => None,
    };
    let (domain, bus) = of(root)?;
    let roots = tree.roots().filter_map(of);
    roots.filter(|(other, next)| *other == domain && *next > bus).map(|(_, next)| next).min()
}

/// Keeps all device addresses; a port takes the buses of the device behind it.
fn keep(nodes: &mut [PciNode], before: &PciTree) {
    for at in 0..nodes.len() {
        let is_bridge = !matches!(nodes[at].kind, NodeKind::Endpoint | NodeKind::RootComplex);
        let is_same = before.nodes.get(at).is_some_and(|old| old.children == nodes[at].children);
        if is_same || !is_bridge || nodes[at].children.is_empty() {
            continue;
        }
        let mut buses = Vec::new();
        let mut below = nodes[at].children.clone();
        while let Some(next) = below.pop() {
            if let NodeAddress::Device(address) = nodes[next.0].address {
                buses.push(address.bus);
            }
            below.extend(&nodes[next.0].children);
        }
        let first = nodes[nodes[at].children[0].0].address;
        if let (NodeAddress::Device(first), Some(last)) = (first, buses.into_iter().max()) {
            nodes[at].buses = Some((first.bus, last));
        }
    }
}

/// Sets each node's folder: below its parent's, by its address.
pub(super) fn name_folders(tree: &mut PciTree, before: &PciTree, was: &[Option<NodeIndex>]) {
    for at in 0..tree.nodes.len() {
        let Some(above) = tree.nodes[at].parent.map(|above| tree.nodes[above.0].path.clone()) else {
            continue;
        };
        let node = &tree.nodes[at];
        let old = was.get(at).copied().flatten().map(|was| before.node(was));
        let stays = old.is_some_and(|old| {
            let old_above = old.parent.map(|above| &before.node(above).path);
            old.address == node.address && old_above == Some(&above)
        });
        if stays {
            continue;
        }
        let name = match node.address {
            NodeAddress::Root { domain, bus } => format!("pci{domain:04x}:{bus:02x}"),
            NodeAddress::Device(address) => address.to_string(),
        };
        tree.nodes[at].path = format!("{above}/{name}").into();
    }
}
