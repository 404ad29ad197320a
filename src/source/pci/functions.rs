//! Functions by address until their tree is built.

use crate::{
    machine::{PciNode, pci::NodeAddress},
    model::PciAddress,
};

/// Functions, each address once.
pub(super) struct Functions(Vec<PciNode>);

impl Functions {
    pub(super) fn new(mut nodes: Vec<PciNode>) -> Self {
        nodes.sort_unstable_by_key(|node| node.address);
        nodes.dedup_by_key(|node| node.address);
        Self(nodes)
    }

    pub(super) fn get(&self, address: PciAddress) -> Option<&PciNode> {
        let at = self.0.binary_search_by_key(&NodeAddress::Device(address), |node| node.address).ok()?;
        self.0.get(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (PciAddress, &PciNode)> {
        self.0.iter().filter_map(|node| Some((address(node)?, node)))
    }

    pub(super) fn into_nodes(self) -> Vec<PciNode> {
        self.0
    }
}

/// The address of a function; a root complex has none.
pub(super) fn address(node: &PciNode) -> Option<PciAddress> {
    match node.address {
        NodeAddress::Device(address) => Some(address),
        NodeAddress::Root { .. } => None,
    }
}
