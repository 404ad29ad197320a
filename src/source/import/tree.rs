//! Folders of functions: the tree from bus numbers and drawings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::facts::{Facts, Function};
use crate::model::PciAddress;

/// First domain that VMD uses.
const VMD_DOMAINS: u32 = 0x10000;

/// Class of host bridges, which are on root buses.
const HOST_BRIDGE: u32 = 0x0600;

/// Classes of what Xeons have on root buses of their own: system peripherals, counters.
const UNCORE: [u32; 2] = [0x0880, 0x1101];

/// The tree of a text.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The folder of each function.
    pub folders: BTreeMap<PciAddress, String>,
    /// Root buses and their folders.
    pub roots: BTreeMap<(u32, u8), String>,
    /// Buses whose bridge the text does not name, domain and bus.
    pub without_bridge: BTreeSet<(u32, u8)>,
    /// Buses below a bridge whose range includes them: the bridge directly above is unknown.
    pub below_gaps: BTreeSet<(u32, u8)>,
}

/// The tree of these functions.
pub(super) fn build(facts: &Facts) -> Tree {
    let buses = Buses::new(facts);
    let mut tree = Tree::default();
    let root_of_bus: BTreeMap<(u32, u8), Above> =
        buses.used.iter().map(|bus| (*bus, buses.above(facts, *bus))).collect();
    for (bus, above) in &root_of_bus {
        match above {
            Above::Itself => {
                tree.roots.insert(*bus, String::new());
                // A drive alone is shown under a root complex of its own bus.
                if !is_root_bus(facts, *bus) {
                    tree.without_bridge.insert(*bus);
                }
            }
            Above::Unknown(_) => _ = tree.without_bridge.insert(*bus),
            Above::Around(_) => _ = tree.below_gaps.insert(*bus),
            Above::Bridge(_) => {}
        }
    }
    tree.roots.extend(facts.roots.keys().map(|root| (*root, String::new())));
    let of_vmd = vmd_functions(facts, &tree.roots);
    for address in facts.functions.keys() {
        let folder = folder(facts, &root_of_bus, &of_vmd, *address);
        tree.folders.insert(*address, folder);
    }
    let roots: Vec<_> = tree.roots.keys().copied().collect();
    for root in roots {
        let folder = root_folder(facts, &root_of_bus, &of_vmd, root);
        tree.roots.insert(root, folder);
    }
    tree
}

/// Types of ports that the text does not state, by their place: a bridge on a root bus is a root port, one below a port with
/// bridges below it the upstream port of a switch, and those its downstream ports.
pub(super) fn port_types(facts: &Facts, tree: &Tree) -> BTreeMap<PciAddress, u8> {
    const ROOT_PORT: u8 = 4;
    const UPSTREAM: u8 = 5;
    const DOWNSTREAM: u8 = 6;
    let is_unknown = |function: &Function| {
        let is_open = !function.has_body || function.denied.is_some();
        function.express.as_ref().is_none_or(|express| express.port_type.is_none())
            && function.config.is_none()
            && is_open
            && class_of(function) == Some(0x0604)
    };
    let mut with_bridges: BTreeSet<PciAddress> = BTreeSet::new();
    let above = |address: &PciAddress| -> Option<PciAddress> {
        if tree.below_gaps.contains(&bus_of(*address)) {
            return None;
        }
        let folder = tree.folders.get(address)?.rsplit_once('/')?.0;
        folder.rsplit_once('/')?.1.parse().ok()
    };
    for (address, function) in &facts.functions {
        if class_of(function) == Some(0x0604) {
            with_bridges.extend(above(address));
        }
    }
    let mut types: BTreeMap<PciAddress, u8> = BTreeMap::new();
    // Ports are on higher buses than what is above them.
    for (address, function) in &facts.functions {
        let stated = function.express.as_ref().and_then(|express| express.port_type);
        let code = match above(address) {
            _ if stated.is_some() => stated,
            _ if !is_unknown(function) => None,
            // A bridge whose parent is unknown is directly in the folder of a root bus of another number.
            None if tree.roots.contains_key(&bus_of(*address)) => Some(ROOT_PORT),
            None => None,
            Some(above) => match types.get(&above) {
                Some(&ROOT_PORT | &DOWNSTREAM) if with_bridges.contains(address) => Some(UPSTREAM),
                Some(&UPSTREAM) => Some(DOWNSTREAM),
                _ => None,
            },
        };
        types.extend(code.map(|code| (*address, code)));
    }
    types
}

/// What is above a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    Bridge(PciAddress),
    /// A bridge that the text does not show, below this one.
    Around(PciAddress),
    /// It is a root bus.
    Itself,
    /// A bridge that the text does not show, below this root bus.
    Unknown((u32, u8)),
}

/// Buses of a text.
struct Buses {
    used: BTreeSet<(u32, u8)>,
    /// The bridge by its domain and secondary bus.
    bridges: BTreeMap<(u32, u8), PciAddress>,
    /// Bridges with their ranges by domain.
    ranges: BTreeMap<u32, Vec<(u8, u8, PciAddress)>>,
    /// Those whose functions show that they are root buses.
    roots: BTreeSet<(u32, u8)>,
}

impl Buses {
    fn new(facts: &Facts) -> Self {
        let used: BTreeSet<_> = facts.functions.keys().copied().map(bus_of).collect();
        let roots = used.iter().copied().filter(|bus| is_root_bus(facts, *bus)).collect();
        let (mut bridges, mut ranges): (BTreeMap<_, _>, BTreeMap<_, Vec<_>>) = Default::default();
        for (address, function) in &facts.functions {
            let Some((secondary, subordinate)) = function.buses.map(|buses| buses.value) else { continue };
            // An unconfigured bridge shows 00; buses are numbered downwards.
            if secondary > address.bus {
                bridges.entry((address.domain, secondary)).or_insert(*address);
                let range = (secondary, subordinate.max(secondary), *address);
                ranges.entry(address.domain).or_default().push(range);
            }
        }
        Self { used, bridges, ranges, roots }
    }

    fn above(&self, facts: &Facts, bus: (u32, u8)) -> Above {
        if facts.roots.contains_key(&bus) {
            return Above::Itself;
        }
        if let Some(bridge) = self.bridges.get(&bus) {
            return Above::Bridge(*bridge);
        }
        let drawn = || functions_on(facts, bus).find_map(|(_, function)| function.parent);
        // A bridge between is missing: the narrowest range of buses that includes this one.
        let around = || {
            let ranges = self.ranges.get(&bus.0)?.iter();
            let around = ranges.filter(|(first, last, _)| (*first..=*last).contains(&bus.1));
            around.min_by_key(|(first, last, _)| last - first).map(|(_, _, bridge)| *bridge)
        };
        let is_above = |bridge: &PciAddress| bridge.domain == bus.0 && bridge.bus < bus.1;
        if let Some(bridge) = drawn().filter(is_above) {
            let is_direct = !facts.below_gaps.contains(&bus);
            return if is_direct { Above::Bridge(bridge) } else { Above::Around(bridge) };
        }
        if let Some(bridge) = around().filter(is_above) {
            return Above::Around(bridge);
        }
        let is_root = self.roots.contains(&bus);
        match self.root_before(bus).filter(|_| !is_root && self.has_unnumbered_bridge(facts, bus.0)) {
            Some(root) => Above::Unknown(root),
            None => Above::Itself,
        }
    }

    /// The last root bus before a bus, in its domain.
    fn root_before(&self, bus: (u32, u8)) -> Option<(u32, u8)> {
        self.roots.range((bus.0, 0)..bus).rev().find(|bus| !self.bridges.contains_key(bus)).copied()
    }

    /// Whether a bridge of the domain has no bus numbers, as in a list without `-v`.
    fn has_unnumbered_bridge(&self, facts: &Facts, domain: u32) -> bool {
        !self.ranges.contains_key(&domain)
            && functions_in(facts, domain)
                .any(|(_, function)| function.buses.is_none() && class_of(function) == Some(0x0604))
    }
}

fn bus_of(address: PciAddress) -> (u32, u8) {
    (address.domain, address.bus)
}

fn functions_on(facts: &Facts, (domain, bus): (u32, u8)) -> impl Iterator<Item = (&PciAddress, &Function)> {
    let at = |device, function| PciAddress { domain, bus, device, function };
    facts.functions.range(at(0, 0)..=at(u8::MAX, u8::MAX))
}

fn functions_in(facts: &Facts, domain: u32) -> impl Iterator<Item = (&PciAddress, &Function)> {
    let at = |bus, device, function| PciAddress { domain, bus, device, function };
    facts.functions.range(at(0, 0, 0)..=at(u8::MAX, u8::MAX, u8::MAX))
}

/// Class and subclass.
fn class_of(function: &Function) -> Option<u32> {
    function.class.map(|class| class.value >> 8)
}

/// Whether the list of ids names a root port: `Xeon E7 v4 PCI Express Root Port 2`.
fn is_named_root_port(function: &Function) -> bool {
    let name = function.name.as_ref().map_or("", |name| name.value.as_str());
    class_of(function) == Some(0x0604) && name.contains("Root Port")
}

/// Whether the functions on a bus show that it is a root bus.
fn is_root_bus(facts: &Facts, bus: (u32, u8)) -> bool {
    const INTEL: u16 = 0x8086;
    let of_uncore = |function: &Function| {
        function.vendor.is_some_and(|vendor| vendor.value == INTEL)
            && class_of(function).is_some_and(|class| class == HOST_BRIDGE || UNCORE.contains(&class))
    };
    // Device/port types 4, 9 and 10: root ports and what is integrated into the root complex.
    let of_root = |function: &Function| {
        let port_type = function.express.as_ref().and_then(|express| express.port_type);
        class_of(function) == Some(HOST_BRIDGE)
            || matches!(port_type, Some(4 | 9 | 10))
            || port_type.is_none() && is_named_root_port(function)
    };
    bus.1 == 0
        || facts.roots.contains_key(&bus)
        || functions_on(facts, bus).any(|(_, function)| of_root(function))
        || functions_on(facts, bus).all(|(_, function)| of_uncore(function))
}

/// VMD functions by the domain behind them, as the text states it; else domains are given to them in bus order.
fn vmd_functions(facts: &Facts, roots: &BTreeMap<(u32, u8), String>) -> BTreeMap<u32, PciAddress> {
    let is_vmd = |function: &Function| {
        let name = function.name.as_ref().map_or("", |name| name.value.as_str());
        let driver = function.driver.as_ref().map_or("", |driver| driver.value.as_str());
        driver == "vmd" || (driver.is_empty() && name.contains("Volume Management Device"))
    };
    // What is behind a domain of VMD is no VMD function: folders end.
    let fits = |domain: u32, vmd: PciAddress| domain >= VMD_DOMAINS && vmd.domain < VMD_DOMAINS;
    let stated = facts.behind.iter().filter(|(domain, vmd)| fits(**domain, **vmd));
    let mut of_vmd: BTreeMap<u32, PciAddress> = stated.map(|(domain, vmd)| (*domain, *vmd)).collect();
    let used: BTreeSet<PciAddress> = of_vmd.values().copied().collect();
    let domains: BTreeSet<u32> = roots
        .keys()
        .map(|(domain, _)| *domain)
        .filter(|it| *it >= VMD_DOMAINS && !of_vmd.contains_key(it))
        .collect();
    let functions: Vec<PciAddress> = facts
        .functions
        .iter()
        .filter(|(address, function)| {
            address.domain < VMD_DOMAINS && is_vmd(function) && !used.contains(*address)
        })
        .map(|(address, _)| *address)
        .collect();
    // With another number of them it cannot be said which domain is behind which.
    if domains.len() == functions.len() {
        of_vmd.extend(domains.into_iter().zip(functions));
    }
    of_vmd
}

type AboveBus = BTreeMap<(u32, u8), Above>;

fn folder(
    facts: &Facts,
    above: &AboveBus,
    of_vmd: &BTreeMap<u32, PciAddress>,
    address: PciAddress,
) -> String {
    let mut ports = vec![address];
    let mut at = address;
    // A bridge is on a lower bus than what is behind it, so this ends.
    while let Some(Above::Bridge(bridge) | Above::Around(bridge)) = above.get(&bus_of(at)) {
        ports.push(*bridge);
        at = *bridge;
    }
    let root = match above.get(&bus_of(at)) {
        Some(Above::Unknown(root)) => *root,
        _ => bus_of(at),
    };
    let mut folder = root_folder(facts, above, of_vmd, root);
    for port in ports.iter().rev() {
        // A string takes all that is written.
        let _ = write!(folder, "/{port}");
    }
    folder
}

fn root_folder(
    facts: &Facts,
    above: &AboveBus,
    of_vmd: &BTreeMap<u32, PciAddress>,
    (domain, bus): (u32, u8),
) -> String {
    match of_vmd.get(&domain) {
        // VMD functions are in smaller domains, so this ends.
        Some(vmd) => format!("{}/pci{domain:04x}:{bus:02x}", folder(facts, above, of_vmd, *vmd)),
        None => format!("/sys/devices/pci{domain:04x}:{bus:02x}"),
    }
}
