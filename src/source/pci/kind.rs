//! The kind of a function: by its PCI Express registers, else by its position.

use crate::{
    machine::{NodeKind, PciNode, PciTree},
    model::{NodeIndex, Reading},
};

/// Whether a class (24 bits) is a bridge with a secondary bus: PCI to PCI, `CardBus`, semi-transparent.
pub(super) fn is_bridge_class(class: u32) -> bool {
    matches!(class >> 8, 0x0604 | 0x0607 | 0x0609)
}

/// The kind by the function's registers. Without them a bridge stays [`NodeKind::Bridge`] until [`infer`].
pub(super) fn of(class: &Reading<u32>, port_type: Option<u8>) -> NodeKind {
    let bridge = class.get().is_some_and(is_bridge_class);
    match port_type {
        Some(4) => NodeKind::RootPort,
        Some(5) => NodeKind::SwitchUpstream,
        Some(6) => NodeKind::SwitchDownstream,
        Some(7 | 8) => NodeKind::Bridge,
        _ if bridge => NodeKind::Bridge,
        _ => NodeKind::Endpoint,
    }
}

/// Its registers' device/port type.
fn port_type(node: &PciNode) -> Option<u8> {
    node.express.value()?.port_type
}

/// Infers the kind of bridges with unreadable registers: on a root bus with a link it is a root port; below a
/// root port or a switch's downstream port, with bridges below, the upstream port of a switch; below that, its
/// downstream ports. Nodes follow their parents, so one pass suffices.
pub(super) fn infer(tree: &mut PciTree) {
    for at in 0..tree.nodes.len() {
        let node = &tree.nodes[at];
        if node.kind != NodeKind::Bridge || port_type(node).is_some() || node.link.is_none() {
            continue;
        }
        let above = node.parent.map(|NodeIndex(parent)| tree.nodes[parent].kind);
        let has_ports = node.children.iter().any(|NodeIndex(child)| {
            let child = &tree.nodes[*child];
            child.link.is_some() && child.class.get().is_some_and(is_bridge_class)
        });
        let kind = match above {
            Some(NodeKind::RootComplex) => NodeKind::RootPort,
            Some(NodeKind::RootPort | NodeKind::SwitchDownstream) if has_ports => NodeKind::SwitchUpstream,
            Some(NodeKind::SwitchUpstream) => NodeKind::SwitchDownstream,
            _ => NodeKind::Bridge,
        };
        tree.nodes[at].kind = kind;
    }
}
