//! Which function or port a slot of the board stands for.
//!
//! Firmware gives the address of the device in the slot, or of the port that leads to it. An address counts when one of
//! these has it, the first of them:
//!
//! 1. a function of that address, below a port or a port itself;
//! 2. another function of the same device;
//! 3. the port whose secondary bus is the address's bus: an empty slot.
//!
//! An address that several slots claim, and one of a function on the root bus that is no port, name nothing: boards fill
//! such entries with zeros or with a copy of their neighbour.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    machine::{BoardSlot, NodeKind, PciTree, pci::NodeAddress},
    model::{NodeIndex, PciAddress},
    text::Label,
};

/// Names the port of each slot and the functions in it.
pub(super) fn name(tree: &mut PciTree, slots: &[BoardSlot]) {
    let mut named: BTreeMap<NodeIndex, BTreeSet<&Label>> = BTreeMap::new();
    for slot in slots {
        for port in slot.addresses.iter().filter_map(|address| port_of(tree, *address)) {
            named.entry(port).or_default().insert(&slot.name);
        }
    }
    let certain: Vec<(NodeIndex, Label)> = named
        .into_iter()
        .filter_map(|(port, names)| (names.len() == 1).then_some((port, (*names.first()?).clone())))
        .collect();
    for (port, name) in certain {
        let inside = tree.nodes[port.0].children.clone();
        for NodeIndex(at) in [port].into_iter().chain(inside) {
            tree.nodes[at].slot = Some(name.clone());
        }
    }
}

/// The port that leads to a slot with this address.
fn port_of(tree: &PciTree, address: PciAddress) -> Option<NodeIndex> {
    let is_port =
        |index: &NodeIndex| matches!(tree.node(*index).kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    let same_device = |index: &NodeIndex| {
        let NodeAddress::Device(own) = tree.node(*index).address else { return false };
        (own.domain, own.bus, own.device) == (address.domain, address.bus, address.device)
    };
    if let Some(found) = tree.find(address).or_else(|| {
        let mut all = tree.iter().map(|(index, _)| index);
        all.find(|index| same_device(index) && !is_port(index))
    }) {
        return Some(found).filter(is_port).or_else(|| tree.node(found).parent.filter(is_port));
    }
    let leads_there = |index: &NodeIndex| {
        let node = tree.node(*index);
        let NodeAddress::Device(own) = node.address else { return false };
        own.domain == address.domain && node.buses.is_some_and(|(secondary, _)| secondary == address.bus)
    };
    // Bus 0 is behind no port.
    tree.iter().map(|(index, _)| index).find(|index| address.bus != 0 && is_port(index) && leads_there(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{origin::Origin, pci, smbios::slots_of};

    fn tree() -> PciTree {
        let (tree, _) = pci::read(&*Origin::Demo("laptop".to_owned()).open().unwrap());
        tree
    }

    fn slot(name: &str, addresses: &[&str]) -> BoardSlot {
        BoardSlot {
            name: Label::new(name),
            lanes: None,
            is_used: None,
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        }
    }

    /// The names by address.
    fn named(slots: &[BoardSlot]) -> Vec<(String, String)> {
        let mut tree = tree();
        name(&mut tree, slots);
        let nodes = tree.nodes.iter();
        nodes.filter_map(|node| Some((node.address.to_string(), node.slot.as_ref()?.to_string()))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(address, name)| ((*address).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn a_slot_is_found_by_its_device_by_its_port_and_by_its_bus() {
        let drive = pairs(&[("0000:00:01.1", "M.2_1"), ("0000:01:00.0", "M.2_1")]);
        for address in ["0000:01:00.0", "0000:00:01.1", "0000:01:00.3", "0000:01:1f.7"] {
            assert_eq!(named(&[slot("M.2_1", &[address])]), drive, "{address}");
        }
        let card =
            [("0000:00:03.1", "PCIEX16_1"), ("0000:06:00.0", "PCIEX16_1"), ("0000:06:00.1", "PCIEX16_1")];
        assert_eq!(named(&[slot("PCIEX16_1", &["0000:06:00.0"])]), pairs(&card));
    }

    #[test]
    fn addresses_that_say_nothing_name_nothing() {
        for address in ["0000:00:00.0", "0000:ff:00.0", "0001:01:00.0", "0000:00:1f.7"] {
            assert_eq!(named(&[slot("PCIEX1_1", &[address])]), [], "{address}");
        }
        let both = [slot("PCIEX16_2", &["0000:01:00.0"]), slot("PCIEX16_3", &["0000:01:00.0"])];
        assert_eq!(named(&both), [], "two slots, one address");
        let same = [slot("M.2_1", &["0000:01:00.0"]), slot("M.2_1", &["0000:00:01.1"])];
        assert_eq!(named(&same).len(), 2, "the same slot twice");
    }

    #[test]
    fn peers_name_every_port_of_a_split_slot() {
        let split = [slot("PCIEX16_1", &["0000:01:00.0", "0000:06:00.0"])];
        let ports: Vec<String> = named(&split).into_iter().map(|(address, _)| address).collect();
        assert!(ports.contains(&"0000:00:01.1".to_owned()) && ports.contains(&"0000:00:03.1".to_owned()));
    }

    #[test]
    fn the_fixture_names_the_laptops_slots() {
        let slots = slots_of(include_bytes!("../../../tests/fixtures/smbios-slots.bin"));
        let names = named(&slots);
        assert!(names.contains(&("0000:06:00.0".to_owned(), "PCIEX16_1".to_owned())), "{names:?}");
        assert!(names.contains(&("0000:01:00.0".to_owned(), "M.2_1".to_owned())), "{names:?}");
    }
}
