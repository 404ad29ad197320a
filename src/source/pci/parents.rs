//! Parents of functions whose paths do not name them: a copy of `/sys/bus/pci/devices` with folders in place of links.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{functions::Functions, root_name};
use crate::{
    machine::{PciNode, pci::NO_BRIDGE},
    model::{PciAddress, Problem, ProblemKind},
    source::SysRoot,
};

/// Device/port types on a root bus: root port, integrated endpoint, event collector.
const ON_ROOT_BUS: [u8; 3] = [4, 9, 10];

/// A bus of a domain.
type Bus = (u32, u8);

/// Where copied functions belong.
#[derive(Debug, Default)]
pub(super) struct Parents {
    /// The folder above each: another function's, or a root complex's.
    pub(super) above: BTreeMap<PciAddress, Arc<str>>,
    /// Folders of root complexes, with their depth.
    pub(super) roots: BTreeMap<(usize, u32, u8), Arc<str>>,
}

/// Whether a function's folder lies below no root complex.
fn is_copied(function: &PciNode) -> bool {
    !function.path.split('/').any(|folder| root_name(folder).is_some())
}

/// Finds the parents by the names in each folder, else by bus numbers. A parent's bus is always lower than its child's, so
/// that hostile folders make no circle.
pub(super) fn find(root: &dyn SysRoot, functions: &Functions, problems: &mut Vec<Problem>) -> Parents {
    let copied: Vec<(PciAddress, &PciNode)> = functions.iter().filter(|(_, node)| is_copied(node)).collect();
    let mut parents = Parents::default();
    if copied.is_empty() {
        return parents;
    }
    let names = Names::read(root, &copied);
    let root_buses = root_buses(functions, &names);
    for ((domain, bus), folder) in &names.nested {
        parents.roots.insert((1, *domain, *bus), folder.clone());
    }
    for (address, node) in &copied {
        let own = (address.domain, address.bus);
        let bridge = names
            .children
            .get(address)
            .or_else(|| names.secondary.get(&own))
            .copied()
            .or_else(|| innermost(functions, *address));
        if let Some(bridge) = bridge.and_then(|bridge| functions.get(bridge)) {
            parents.above.insert(*address, bridge.path.clone());
            continue;
        }
        let below = root_buses.range((address.domain, 0)..=own).next_back().copied().unwrap_or(own);
        if below != own || !is_root_bus(own, node, &names) {
            problems.push(Problem::new(ProblemKind::Absent, node.path.clone(), NO_BRIDGE));
        }
        let (domain, bus) = below;
        let folder = names.nested.get(&below).cloned();
        let depth = usize::from(folder.is_some());
        let folder = folder.unwrap_or_else(|| format!("/sys/devices/pci{domain:04x}:{bus:02x}").into());
        parents.roots.insert((depth, domain, bus), folder.clone());
        parents.above.insert(*address, folder);
    }
    parents
}

/// What the names in the folders of functions say.
struct Names {
    /// Functions with a folder in another function's folder, and that function.
    children: BTreeMap<PciAddress, PciAddress>,
    /// Bridges by their secondary bus.
    secondary: BTreeMap<Bus, PciAddress>,
    /// Root complexes below a function (VMD).
    nested: BTreeMap<Bus, Arc<str>>,
}

impl Names {
    fn read(root: &dyn SysRoot, copied: &[(PciAddress, &PciNode)]) -> Self {
        let mut names =
            Self { children: BTreeMap::new(), secondary: BTreeMap::new(), nested: BTreeMap::new() };
        for (bridge, node) in copied {
            let is_below = |domain: u32, bus: u8| domain == bridge.domain && bus > bridge.bus;
            if let Some((secondary, _)) =
                node.buses.filter(|(secondary, _)| is_below(bridge.domain, *secondary))
            {
                names.secondary.entry((bridge.domain, secondary)).or_insert(*bridge);
            }
            for name in root.list(&node.path).unwrap_or_default() {
                if let Ok(child) = name.parse::<PciAddress>()
                    && is_below(child.domain, child.bus)
                {
                    names.children.entry(child).or_insert(*bridge);
                } else if let Some(bus) = root_name(&name).filter(|(domain, _)| *domain != bridge.domain) {
                    names.nested.entry(bus).or_insert_with(|| format!("{}/{name}", node.path).into());
                }
            }
            for name in root.list(&format!("{}/pci_bus", node.path)).unwrap_or_default() {
                if let Some((domain, bus)) = root_name(&format!("pci{name}"))
                    && is_below(domain, bus)
                {
                    names.secondary.entry((domain, bus)).or_insert(*bridge);
                }
            }
        }
        names
    }
}

/// Buses that are root buses by what is on them, and the lowest bus of each domain.
fn root_buses(functions: &Functions, names: &Names) -> BTreeSet<Bus> {
    let mut buses = BTreeSet::new();
    let mut domains = BTreeSet::new();
    for (address, node) in functions.iter() {
        let bus = (address.domain, address.bus);
        if domains.insert(address.domain) || is_root_bus(bus, node, names) {
            buses.insert(bus);
        }
    }
    buses
}

/// Whether a function on this bus shows that it is a root bus: bus 0, a host bridge, a port of a root complex.
fn is_root_bus(bus: Bus, node: &PciNode, names: &Names) -> bool {
    const HOST_BRIDGE: u32 = 0x0600;
    bus.1 == 0
        || names.nested.contains_key(&bus)
        || node.class.get().is_some_and(|class| class >> 8 == HOST_BRIDGE)
        || node
            .express
            .value()
            .and_then(|express| express.port_type)
            .is_some_and(|port| ON_ROOT_BUS.contains(&port))
}

/// The bridge with the fewest buses among those whose range has this function's bus: the copy lacks a bridge between.
fn innermost(functions: &Functions, child: PciAddress) -> Option<PciAddress> {
    let contains = |(bridge, node): (PciAddress, &PciNode)| {
        let (secondary, subordinate) = node.buses?;
        let is_above = bridge.domain == child.domain && bridge.bus < child.bus;
        (is_above && (secondary..=subordinate).contains(&child.bus))
            .then(|| (subordinate - secondary, bridge))
    };
    functions.iter().filter_map(contains).min().map(|(_, bridge)| bridge)
}
