//! The PCI tree of `/sys/bus/pci/devices`: which devices there are, their parents and their order.

mod function;
mod functions;
mod kind;
mod link;
mod parents;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use functions::Functions;

pub use super::ids::names_in;
use crate::{
    machine::{
        NodeKind, Pasted, PciNode, PciTree,
        pci::{Names, NodeAddress},
    },
    model::{NodeIndex, PciAddress, Problem, ProblemKind, Reading},
    source::{
        SysRoot,
        root::{self, ancestors, file_name},
    },
};

const DEVICES: &str = "/sys/bus/pci/devices";

/// Functions that are read; servers with virtual functions have some thousands.
pub(super) const MOST_FUNCTIONS: usize = 1 << 14;

/// Reads the tree. Problems are those without a reading: devices that disappeared meanwhile, folders that cannot be
/// listed. Problems of a device's files are in its [`PciNode`].
pub fn read(root: &dyn SysRoot) -> (PciTree, Vec<Problem>) {
    let mut problems = Vec::new();
    let folders = device_folders(root, &mut problems);
    let shared = function::Shared::read(root);
    let mut nodes = Vec::with_capacity(folders.len());
    for (address, path) in folders {
        match function::read(root, &shared, address, &path) {
            Some(node) => nodes.push(node),
            None => problems.push(gone(root, format!("{DEVICES}/{address}"))),
        }
    }
    let functions = Functions::new(nodes);
    let parents = parents::find(root, &functions, &mut problems);
    let mut roots = root_complexes(root, &functions);
    roots.extend(parents.roots);
    let mut tree = build_tree(root, functions, roots, &parents.above);
    kind::infer(&mut tree);
    (tree, problems)
}

/// Address and folder of each device.
fn device_folders(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<(PciAddress, String)> {
    let names = match root.list(DEVICES) {
        Ok(names) => root::first(names, MOST_FUNCTIONS, DEVICES, problems),
        Err(error) => {
            let folders = if error.is_absent() { folders_below_roots(root, problems) } else { Vec::new() };
            if folders.is_empty() {
                problems.push(error.into_problem(DEVICES));
            }
            return folders;
        }
    };
    let mut folders = Vec::new();
    for name in names {
        let link = format!("{DEVICES}/{name}");
        let Ok(address) = name.parse::<PciAddress>() else {
            let why = root::quoted(&name, "not a PCI address");
            problems.push(Problem::new(ProblemKind::Malformed, link, why));
            continue;
        };
        // A plain copy has folders instead of links.
        match root::resolve(root, &link) {
            Ok(folder) => folders.push((address, folder)),
            Err(error) if error.is_absent() => problems.push(gone(root, link)),
            Err(error) => problems.push(error.into_problem(&link)),
        }
    }
    folders
}

/// Folders named by PCI addresses below `/sys/devices/pciDDDD:BB`, for a copy without `/sys/bus/pci`.
fn folders_below_roots(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<(PciAddress, String)> {
    const ABOVE: &str = "/sys/devices";
    /// Buses in a row: a domain has 256.
    const MOST_DEPTH: usize = 256;
    let mut found = BTreeMap::new();
    let (mut open, mut is_cut) = (vec![(ABOVE.to_owned(), 0)], false);
    while let Some((folder, depth)) = open.pop() {
        for name in root.list(&folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            let is_new = match name.parse::<PciAddress>() {
                Ok(address) if depth > 0 && found.len() < MOST_FUNCTIONS => {
                    !found.contains_key(&address) && found.insert(address, path.clone()).is_none()
                }
                Ok(address) if depth > 0 => {
                    is_cut |= !found.contains_key(&address);
                    false
                }
                _ => root_name(&name).is_some(),
            };
            if is_new && depth < MOST_DEPTH {
                open.push((path, depth + 1));
            }
        }
    }
    if is_cut {
        let why = format!("more than {MOST_FUNCTIONS} PCI devices; the others are not read");
        problems.push(Problem::new(ProblemKind::Cut, ABOVE, why));
    }
    found.into_iter().collect()
}

fn gone(root: &dyn SysRoot, path: String) -> Problem {
    let is_partial = root.list("/sys/devices").is_err_and(|error| error.is_absent());
    let why = if root.list(&path).is_ok_and(|names| names.is_empty()) {
        root::EMPTY_FOLDER
    } else if is_partial {
        "a link to /sys/devices, which this copy lacks"
    } else {
        "the device was removed while it was read; read again"
    };
    Problem::new(ProblemKind::Absent, path, why)
}

/// A root complex: nesting depth, domain and bus; the sort key.
type RootKey = (usize, u32, u8);

/// Every `pciDDDD:BB` folder above a device, and those at the top of `/sys/devices` without a device.
fn root_complexes(root: &dyn SysRoot, functions: &Functions) -> BTreeMap<RootKey, Arc<str>> {
    let mut found = BTreeMap::new();
    for (_, function) in functions.iter() {
        let mut depth = 0;
        for (at, _) in function.path.match_indices('/').skip(1) {
            let folder = &function.path[..at];
            if let Some((domain, bus)) = root_name(file_name(folder)) {
                found.entry((depth, domain, bus)).or_insert_with(|| Arc::from(folder));
                depth += 1;
            }
        }
    }
    // An error here is not reported: the folder would only add root complexes without a device.
    for name in root.list("/sys/devices").unwrap_or_default() {
        if let Some((domain, bus)) = root_name(&name) {
            found.entry((0, domain, bus)).or_insert_with(|| format!("/sys/devices/{name}").into());
        }
    }
    found
}

/// Domain and bus of a folder named `pciDDDD:BB`, with domains of up to eight digits.
fn root_name(name: &str) -> Option<(u32, u8)> {
    let digits = name.strip_prefix("pci")?;
    let address: PciAddress = format!("{digits}:00.0").parse().ok()?;
    Some((address.domain, address.bus))
}

/// Links every node to its parent: root complexes in order, the nodes below depth first, in bus order. The nodes of the
/// tree are the functions' own memory: there may be thousands.
fn build_tree(
    root: &dyn SysRoot,
    functions: Functions,
    roots: BTreeMap<RootKey, Arc<str>>,
    parents: &BTreeMap<PciAddress, Arc<str>>,
) -> PciTree {
    let pasted = root.pasted();
    let mut nodes = functions.into_nodes();
    nodes.reserve_exact(roots.len());
    let mut known: BTreeSet<Arc<str>> = roots.values().cloned().collect();
    known.extend(nodes.iter().map(|node| node.path.clone()));
    let mut below: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        // Devices below a bridge that disappeared are attached to the next node above it.
        let parent = functions::address(node).and_then(|address| parents.get(&address)).cloned();
        if let Some(above) = parent.or_else(|| nearest(&node.path, &known)) {
            below.entry(above).or_default().push(at);
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(nodes.len() + roots.len());
    let mut built: BTreeMap<Arc<str>, NodeIndex> = BTreeMap::new();
    for ((_, domain, bus), path) in roots {
        let above = nearest(&path, &known).and_then(|above| built.get(&above).copied());
        let children = below.get(&path).map_or(&[][..], Vec::as_slice);
        let children: Vec<&PciNode> = children.iter().map(|at| &nodes[*at]).collect();
        let node = root_complex(root, domain, bus, &path, &children);
        nodes.push(PciNode { parent: above, ..node });
        let mut stack = vec![(nodes.len() - 1, None::<NodeIndex>)];
        while let Some((at, parent)) = stack.pop() {
            let index = NodeIndex(order.len());
            order.push(at);
            let path = nodes[at].path.clone();
            let children = below.remove(&path).unwrap_or_default();
            built.insert(path, index);
            if let Some(parent) = parent {
                nodes[at].is_below_gap = is_below_gap(pasted.as_deref(), &nodes[at], &nodes[order[parent.0]]);
                nodes[at].parent = Some(parent);
                nodes[order[parent.0]].children.push(index);
            }
            stack.extend(children.into_iter().rev().map(|child| (child, Some(index))));
        }
    }
    arrange(&mut nodes, &order);
    PciTree::new(nodes)
}

/// Whether a text has a node on a bus behind a bridge that it lacks, and another bridge above that.
fn is_below_gap(pasted: Option<&Pasted>, node: &PciNode, above: &PciNode) -> bool {
    let bus = functions::address(node).map(|address| (address.domain, address.bus));
    let is_bridge = above.kind != NodeKind::RootComplex;
    is_bridge && pasted.zip(bus).is_some_and(|(pasted, bus)| pasted.below_gaps.contains(&bus))
}

/// Puts the nodes into this order; those that are not in it go.
fn arrange(nodes: &mut Vec<PciNode>, order: &[usize]) {
    let mut places = vec![usize::MAX; nodes.len()];
    for (place, at) in order.iter().enumerate() {
        places[*at] = place;
    }
    let lost = places.iter_mut().filter(|place| **place == usize::MAX);
    lost.zip(order.len()..).for_each(|(place, free)| *place = free);
    for at in 0..places.len() {
        while places[at] != at {
            let to = places[at];
            nodes.swap(at, to);
            places.swap(at, to);
        }
    }
    nodes.truncate(order.len());
}

/// The closest known folder above `path`.
fn nearest(path: &str, known: &BTreeSet<Arc<str>>) -> Option<Arc<str>> {
    ancestors(path).skip(1).find_map(|above| known.get(above).cloned())
}

/// A root complex, from its folder and the devices on its root bus.
fn root_complex(root: &dyn SysRoot, domain: u32, bus: u8, path: &Arc<str>, children: &[&PciNode]) -> PciNode {
    const HOST_BRIDGE: u32 = 0x0600;
    let host_bridge =
        children.iter().find(|child| child.class.get().is_some_and(|class| class >> 8 == HOST_BRIDGE));
    let none = |what: &str| format!("none of its devices is a host bridge, so no {what}");
    let vendor = host_bridge.map(|bridge| bridge.vendor.clone());
    let device = host_bridge.map(|bridge| bridge.device.clone());
    let subsystem = host_bridge.map(|bridge| bridge.subsystem.clone());
    let vendor = vendor.unwrap_or_else(|| Reading::absent(path.clone(), none("vendor")));
    let device = device.unwrap_or_else(|| Reading::absent(path.clone(), none("device id")));
    let absent = |why: &str| Reading::absent(path.clone(), why);
    let class = Reading::absent(path.clone(), "a root complex is not a function and has no class");
    // A text names the host bridge, also where the id list has no such name.
    let of_list = || super::ids::names(root, &vendor, &device, &class);
    let names = host_bridge.map_or_else(of_list, |bridge| bridge.names.clone());
    PciNode {
        address: NodeAddress::Root { domain, bus },
        kind: NodeKind::RootComplex,
        parent: None,
        children: Vec::new(),
        path: path.clone(),
        names: Names { class: None, ..names },
        class,
        vendor,
        device,
        subsystem: subsystem.unwrap_or_else(|| Reading::absent(path.clone(), none("subsystem"))),
        numa_node: children.first().map_or_else(
            || Reading::absent(path.clone(), "no device on its root bus reports it"),
            |child| child.numa_node.clone(),
        ),
        local_cpus: root::label(root, &format!("{path}/pci_bus/{domain:04x}:{bus:02x}/cpulistaffinity")),
        iommu_group: Reading::absent(path.clone(), "IOMMU groups contain functions only"),
        iommu_type: Reading::absent(path.clone(), "IOMMU groups contain functions only"),
        driver: absent("a root complex has no driver"),
        buses: None,
        is_below_gap: false,
        link: None,
        express: Reading::absent(path.clone(), "a root complex has no configuration space"),
        aer_correctable: Reading::absent(path.clone(), "errors are counted per function"),
        aspm: BTreeMap::new(),
        power_control: root::label(root, &format!("{path}/power/control")),
        cooling: Reading::absent(path.clone(), "not a port"),
        cooling_path: None,
        slot: None,
    }
}
