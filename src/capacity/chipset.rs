//! Chipsets: the devices behind one, and the limit of its uplink.
//!
//! AMD's are switches with a PCI Express uplink, known by their upstream port. Intel's use DMI, which no register
//! shows: the LPC or eSPI bridge identifies the chipset, and a table has the rest.

use crate::{
    machine::{
        Machine, PciNode, PciTree, hop,
        pci::{NodeAddress, NodeKind},
    },
    model::{Basis, Limit, NodeIndex},
    units::{Lanes, TransferRate},
};

use super::{
    payload::payload_rate,
    tables::{self, AmdChipset},
};

/// A chipset between a device and its CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chipset {
    /// Its name: `AMD B550/A520`, `Intel Z690`.
    pub name: String,
    /// Its upstream port (AMD), or its LPC or eSPI bridge (Intel).
    pub node: NodeIndex,
    /// The node whose entry in `Limits::hops` is the uplink: the same upstream port, or the port on the root bus.
    pub uplink: NodeIndex,
}

/// The chipset above `index`, nearest to the CPU; `None` for a device of the CPU itself or with unknown ids.
pub fn above(machine: &Machine, index: NodeIndex) -> Option<Chipset> {
    let tree = &machine.pci;
    let ancestry: Vec<NodeIndex> = tree.whole_ancestry(index).collect();
    let amd = ancestry.iter().rev().find_map(|at| {
        let row = of_port(tree.node(*at)).filter(|_| *at != index)?;
        Some(Chipset { name: row.name.clone(), node: *at, uplink: *at })
    });
    amd.or_else(|| {
        let port = *ancestry.iter().find(|at| is_on_root_bus(tree, **at))?;
        let (bridge, name) = intel_bridge(tree, port)?;
        Some(Chipset { name: format!("Intel {name}"), node: bridge, uplink: port })
    })
}

/// The row of an AMD chipset's upstream port.
pub(super) fn of_port(node: &PciNode) -> Option<&'static AmdChipset> {
    let (vendor, device) = (node.vendor.get()?, node.device.get()?);
    tables::chipsets().chipset.iter().find(|row| row.vendor == vendor && row.device == device)
}

/// Whether a function is the upstream port of an AMD chipset.
pub(crate) fn is_port(node: &PciNode) -> bool {
    of_port(node).is_some()
}

/// Whether a chipset's uplink has all lanes that boards wire: four on sockets AM4 and AM5, where the registers show eight.
pub(crate) fn is_wired(node: &PciNode, width: Lanes) -> bool {
    const WIRED: Lanes = Lanes(4);
    is_port(node) && width >= WIRED
}

fn is_on_root_bus(tree: &PciTree, index: NodeIndex) -> bool {
    tree.node(index).parent.is_some_and(|above| tree.node(above).kind == NodeKind::RootComplex)
}

/// The bridge of the Intel chipset that a device of a root bus belongs to: same bus, and a device number of the
/// chipset. (Devices 10 to 1f of that bus are the chipset's; ports of the CPU have lower numbers.)
fn intel_bridge(tree: &PciTree, port: NodeIndex) -> Option<(NodeIndex, &'static str)> {
    const FIRST_OF_CHIPSET: u8 = 0x10;
    let root = tree.node(port).parent?;
    let NodeAddress::Device(address) = tree.node(port).address else { return None };
    if address.device < FIRST_OF_CHIPSET {
        return None;
    }
    // Behind VMD the chipset's own functions stay in the outer domain.
    let roots = [Some(root), tree.node(root).parent.and_then(|vmd| tree.node(vmd).parent)];
    roots.into_iter().flatten().flat_map(|root| &tree.node(root).children).find_map(|index| {
        let node = tree.node(*index);
        let is_bridge =
            node.vendor.get() == Some(0x8086) && node.class.get().is_some_and(|class| class >> 8 == 0x06_01);
        let device = node.device.get().filter(|_| is_bridge)?;
        let bridges = tables::chipsets().dmi.iter().flat_map(|row| &row.bridges);
        bridges.into_iter().find(|(id, _)| *id == device).map(|(_, name)| (*index, name.as_str()))
    })
}

/// Limit of DMI, for a device on a root bus that belongs to an Intel chipset.
pub(super) fn dmi(machine: &Machine, port: NodeIndex) -> Option<Limit> {
    let tree = &machine.pci;
    if !is_on_root_bus(tree, port) {
        return None;
    }
    let (bridge, name) = intel_bridge(tree, port)?;
    let row = tables::chipsets().dmi.iter().find(|row| row.bridges.iter().any(|(_, other)| other == name))?;
    let lanes = match (&row.lanes_need_processor, row.otherwise_lanes) {
        (Some(words), Some(fewer)) if !machine.processors.model.value()?.as_str().contains(words) => fewer,
        _ => row.lanes?,
    };
    let (speed, width) = (TransferRate::from_mega(row.speed?)?, Lanes(lanes));
    let payload = tree.node(port).express.value().and_then(|express| express.payload);
    let with = payload.map_or_else(String::new, |bytes| format!(" at MPS {bytes}"));
    Some(Limit {
        bytes_per_second: payload_rate(speed, width, payload),
        basis: Basis::Table,
        because: format!(
            "DMI of the Intel {name}, {}{with}, shared by all behind the chipset; from a table ({}), no register shows it",
            hop::sentence((speed, width)),
            row.mark.words()
        ),
        node: Some(bridge),
    })
}

/// A machine for tests of modules that share uplinks.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Machine, NodeAddress};
    use crate::model::Reading;

    /// The x570 demo's machine with its four drives on four ports of an Intel B660, whose DMI is four lanes at 16 GT/s.
    pub fn behind_a_b660(mut machine: Machine) -> Machine {
        let root = machine.pci.roots().next().unwrap();
        for index in machine.pci.node(root).children.clone() {
            let node = &mut machine.pci.nodes[index.0];
            let NodeAddress::Device(address) = &mut node.address else { continue };
            let is_bridge = node.class.get().is_some_and(|class| class >> 8 == 0x06_01);
            match (address.device, is_bridge) {
                (3, _) => address.device = 0x1c,
                (_, true) => (address.device, address.function) = (0x1f, 0),
                _ => continue,
            }
            node.vendor = Reading::known("/test", 0x8086);
            node.device = Reading::known("/test", if is_bridge { 0x7a86 } else { 0x7ab8 });
        }
        machine
    }
}
