//! The PCI tree: root complexes, ports, switches, bridges, endpoints.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    model::{NodeIndex, PciAddress, Problem, Reading},
    text::Label,
    units::{Lanes, TransferRate},
};

/// The tree, nodes in bus order (a parent always before its children).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PciTree {
    /// All nodes; [`NodeIndex`] points in here.
    pub nodes: Vec<PciNode>,
    /// Root complexes that hang under a device (VMD): looking for them takes as long as the tree has nodes.
    nested: Vec<NodeIndex>,
}

/// The problem of a function whose parent is not known: it is shown, below a root complex.
pub(crate) const NO_BRIDGE: &str = "no bridge above it is in this copy; shown directly below a root complex";

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A PCI host bridge and its root bus: a `pciDDDD:BB` folder.
    RootComplex,
    /// A PCI Express root port (device/port type 4).
    RootPort,
    /// The upstream port of a switch (type 5).
    SwitchUpstream,
    /// A downstream port of a switch (type 6).
    SwitchDownstream,
    /// Any other bridge.
    Bridge,
    /// Everything else.
    Endpoint,
}

/// A node's own name on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeAddress {
    /// Domain and bus of a root complex: `0000:20`.
    Root {
        /// PCI domain.
        domain: u32,
        /// Root bus.
        bus: u8,
    },
    /// A function: `0000:21:00.0`.
    Device(PciAddress),
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub struct PciNode {
    /// Its address on the bus.
    pub address: NodeAddress,
    /// Its kind.
    pub kind: NodeKind,
    /// The node above; `None` for a root complex, unless it hangs under a device (VMD), which is then named here.
    pub parent: Option<NodeIndex>,
    /// The nodes below, in bus order.
    pub children: Vec<NodeIndex>,
    /// Its folder: `/sys/devices/pci0000:20/0000:20:00.0`.
    pub path: Arc<str>,
    /// Class code, 24 bits: base class, subclass, interface (`class`). Of a root complex: absent.
    pub class: Reading<u32>,
    /// Vendor id (`vendor`). Of a root complex: that of its host bridge function (class 0600), if it has one.
    pub vendor: Reading<u16>,
    /// Device id (`device`); likewise.
    pub device: Reading<u16>,
    /// Subsystem vendor and device id (`subsystem_vendor`, `subsystem_device`).
    pub subsystem: Reading<(u16, u16)>,
    /// Names from the PCI id database.
    pub names: Names,
    /// NUMA node (`numa_node`); `None` inside for -1, which is normal on desktops.
    pub numa_node: Reading<Option<u32>>,
    /// CPUs near it (`local_cpulist`), as the kernel writes a list.
    pub local_cpus: Reading<Label>,
    /// IOMMU group number (`iommu_group`).
    pub iommu_group: Reading<u32>,
    /// Its group's domain type: `DMA`, `DMA-FQ`, `identity` (`/sys/kernel/iommu_groups/N/type`).
    pub iommu_type: Reading<Label>,
    /// Bound driver (`driver`).
    pub driver: Reading<Label>,
    /// Secondary and subordinate bus of a bridge.
    pub buses: Option<(u8, u8)>,
    /// A text lacks bridges between this device and the node above it: they are not the ends of one link.
    pub is_below_gap: bool,
    /// This device's own end of the link; `None` for what has no PCI Express link (root complexes, conventional PCI).
    pub link: Option<Link>,
    /// The PCI Express capability in configuration space; needs root beyond the first 64 bytes.
    pub express: Reading<Express>,
    /// `aer_dev_correctable`, counter by name, `TOTAL_ERR_COR` among them.
    pub aer_correctable: Reading<BTreeMap<Label, u64>>,
    /// `link/l1_aspm` and similar files, by name; on is true.
    pub aspm: BTreeMap<&'static str, Reading<bool>>,
    /// `power/control`: `auto` or `on`.
    pub power_control: Reading<Label>,
    /// `(cur_state, max_state)` of the port's link-speed cooling device (`PCIe_Port_Link_Speed_<BDF>`, since 6.13).
    pub cooling: Reading<(u64, u64)>,
    /// Its path, to be written by the tuner: `/sys/class/thermal/cooling_device0`.
    pub cooling_path: Option<Arc<str>>,
    /// Firmware's name for the slot: SMBIOS type 9, else `label`, else `/sys/bus/pci/slots`.
    pub slot: Option<Label>,
}

/// Names of a device from the PCI id database. `None`: the database does not know the id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Vendor.
    pub vendor: Option<Label>,
    /// Device.
    pub device: Option<Label>,
    /// Class and subclass: `Non-Volatile memory controller`.
    pub class: Option<Label>,
}

/// A link as one end reports it, from sysfs or, on old kernels, configuration space.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Rate now (`current_link_speed`).
    pub speed: Reading<TransferRate>,
    /// Width now (`current_link_width`). 0 is malformed for [`NO_LANES`], 255 with the number in the reason.
    pub width: Reading<Lanes>,
    /// Highest rate of this end (`max_link_speed`).
    pub max_speed: Reading<TransferRate>,
    /// Widest of this end (`max_link_width`).
    pub max_width: Reading<Lanes>,
}

/// Registers of the PCI Express capability (PCI Express Base Specification, section 7.5.3). `None`: an opened text does not state
/// it; configuration space has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Express {
    /// Device/port type of PCI Express Capabilities, bits 7:4.
    pub port_type: Option<u8>,
    /// Slot Implemented, bit 8 of the same; clear means an internal link whose speed and width may be fakes.
    pub slot_implemented: Option<bool>,
    /// Max Payload Size Supported of Device Capabilities, bytes.
    pub payload_supported: Option<u16>,
    /// Max Payload Size of Device Control, bytes.
    pub payload: Option<u16>,
    /// Max Read Request Size of Device Control, bytes.
    pub read_request: Option<u16>,
    /// Enable Relaxed Ordering of Device Control.
    pub relaxed_ordering: Option<bool>,
    /// Extended Tag Field Enable of Device Control.
    pub extended_tags: Option<bool>,
    /// Extended Tag Field Supported of Device Capabilities.
    pub extended_tags_supported: Option<bool>,
    /// Correctable Error Detected of Device Status: at least once since it was cleared, as at boot.
    pub correctable_error: Option<bool>,
    /// Max Link Speed of Link Capabilities; `None` for a reserved code or no link.
    pub max_speed: Option<TransferRate>,
    /// Maximum Link Width of Link Capabilities, raw.
    pub max_width: Option<u8>,
    /// Current Link Speed of Link Status.
    pub speed: Option<TransferRate>,
    /// Negotiated Link Width of Link Status, raw.
    pub width: Option<u8>,
    /// ASPM Control of Link Control: bit 0 L0s, bit 1 L1.
    pub aspm_enabled: Option<u8>,
    /// Target Link Speed of Link Control 2.
    pub target_speed: Option<TransferRate>,
}

/// Why a function has no PCI Express registers, though its capabilities are readable.
pub(crate) const NOT_EXPRESS: &str = "no PCI Express capability: a conventional PCI device";

/// Why a function has no registers that is asleep or removed.
pub(crate) const NO_RESPONSE: &str = "all ones: the device does not respond";

/// Why a width of 0 is none: no link is up, as below an empty slot.
pub(crate) const NO_LANES: &str = "0 lanes: no link is up";

impl Link {
    /// Whether no link is up: the width now is 0, not unknown.
    pub(crate) fn is_down(&self) -> bool {
        Self::lanes(&self.width) == Some(Lanes(0))
    }

    /// Lanes as the file or register has them, also 0.
    pub(crate) fn lanes(width: &Reading<Lanes>) -> Option<Lanes> {
        let is_zero = || width.problem().is_some_and(|problem| *problem.reason == *NO_LANES);
        width.get().or_else(|| is_zero().then_some(Lanes(0)))
    }
}

impl NodeAddress {
    /// Device and function, `01.1`; of a root complex its whole address.
    pub fn place(&self) -> String {
        match self {
            Self::Device(address) => format!("{:02x}.{}", address.device, address.function),
            Self::Root { .. } => self.to_string(),
        }
    }
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root { domain, bus } => f.pad(&format!("{domain:04x}:{bus:02x}")),
            Self::Device(address) => address.fmt(f),
        }
    }
}

impl NodeKind {
    /// Its name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RootComplex => "root-complex",
            Self::RootPort => "root-port",
            Self::SwitchUpstream => "switch-upstream",
            Self::SwitchDownstream => "switch-downstream",
            Self::Bridge => "bridge",
            Self::Endpoint => "endpoint",
        }
    }
}

impl PciTree {
    /// The tree of these nodes; which of them are root complexes does not change any more.
    pub(crate) fn new(nodes: Vec<PciNode>) -> Self {
        let is_nested = |node: &PciNode| node.kind == NodeKind::RootComplex && node.parent.is_some();
        let nested = nodes.iter().enumerate().filter(|(_, node)| is_nested(node));
        let nested = nested.map(|(index, _)| NodeIndex(index)).collect();
        Self { nodes, nested }
    }

    /// The node at `index`. Indices come from this tree, so it is there.
    pub fn node(&self, index: NodeIndex) -> &PciNode {
        &self.nodes[index.0]
    }

    /// The first device at the link below a port.
    pub(crate) fn first_below(&self, port: NodeIndex) -> Option<NodeIndex> {
        self.node(port).children.iter().copied().find(|child| !self.node(*child).is_below_gap)
    }

    /// All nodes with their indices, parents before children, in bus order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, &PciNode)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeIndex(index), node))
    }

    /// Root complexes, in bus order, nested ones (VMD) included.
    pub fn roots(&self) -> impl Iterator<Item = NodeIndex> {
        self.iter().filter(|(_, node)| node.kind == NodeKind::RootComplex).map(|(index, _)| index)
    }

    /// All nodes except root complexes.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &PciNode> {
        self.nodes.iter().filter(|node| node.kind != NodeKind::RootComplex)
    }

    /// Functions without a readable vendor id or class, with the reason; each has both on a machine.
    pub(crate) fn unread_functions(&self) -> impl Iterator<Item = (&PciNode, Problem)> {
        self.functions()
            .filter_map(|node| Some((node, node.class.problem().or_else(|| node.vendor.problem())?)))
    }

    /// The function at `address`.
    pub fn find(&self, address: PciAddress) -> Option<NodeIndex> {
        self.iter().find(|(_, node)| node.address == NodeAddress::Device(address)).map(|(index, _)| index)
    }

    /// Whether these are the functions of one device, without a bridge among them.
    pub(crate) fn are_one_device(&self, functions: &[NodeIndex]) -> bool {
        let device = |index: &NodeIndex| match self.node(*index).address {
            NodeAddress::Device(address) if self.node(*index).kind == NodeKind::Endpoint => {
                Some((address.domain, address.bus, address.device))
            }
            _ => None,
        };
        let Some(first) = functions.first().and_then(device) else { return false };
        functions.iter().all(|function| device(function) == Some(first))
    }

    /// `index` itself and all nodes above it, up to its root complex, even a nested one.
    pub fn ancestry(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let step = move |at: &NodeIndex| {
            let node = self.node(*at);
            if node.kind == NodeKind::RootComplex { None } else { node.parent }
        };
        std::iter::successors(Some(index), step)
    }

    /// The root complex above `index`.
    pub fn root_of(&self, index: NodeIndex) -> NodeIndex {
        self.ancestry(index).last().unwrap_or(index)
    }

    /// Device and function of a node, `01.1`; with its bus where a text lacks the bridge above it: `02:00.0`.
    pub(crate) fn place_of(&self, index: NodeIndex) -> String {
        let node = self.node(index);
        let parent = node.parent.map(|parent| self.node(parent).address);
        match (node.address, parent) {
            (NodeAddress::Device(address), Some(NodeAddress::Root { bus, .. })) if bus != address.bus => {
                format!("{:02x}:{}", address.bus, node.address.place())
            }
            _ => node.address.place(),
        }
    }

    /// The board's name of the slot that holds `index`: of the nearest node that has one.
    pub(crate) fn slot_of(&self, index: NodeIndex) -> Option<&Label> {
        self.ancestry(index).find_map(|at| self.node(at).slot.as_ref())
    }

    /// `index` and all nodes above it, through nested root complexes (VMD) up to the outermost.
    pub(crate) fn whole_ancestry(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(Some(index), |at| self.node(*at).parent).take(self.nodes.len())
    }

    /// The outermost root complex above `index`: for a drive behind VMD the one that VMD is a device of.
    pub(crate) fn outermost_root(&self, index: NodeIndex) -> NodeIndex {
        self.whole_ancestry(index).last().unwrap_or(index)
    }

    /// `index` and all nodes below, depth first, in bus order; nested root complexes (VMD) after their siblings.
    pub fn subtree(&self, index: NodeIndex) -> Vec<NodeIndex> {
        let below = |at: NodeIndex| {
            let nested =
                self.nested.iter().rev().copied().filter(move |root| self.node(*root).parent == Some(at));
            nested.chain(self.node(at).children.iter().rev().copied())
        };
        let mut found = vec![index];
        let mut stack: Vec<NodeIndex> = below(index).collect();
        while let Some(next) = stack.pop() {
            debug_assert!(found.len() <= self.nodes.len(), "the tree has no cycle");
            found.push(next);
            stack.extend(below(next));
        }
        found
    }
}

impl PciNode {
    pub(crate) fn is_nvme(&self) -> bool {
        self.class.get().is_some_and(|class| class >> 8 == 0x01_08)
    }

    /// Whether a hypervisor emulates it, so that its data crosses no link: an endpoint of virtio, or an NVMe controller
    /// of QEMU's by vendor or subsystem vendor.
    pub(crate) fn is_emulated(&self) -> bool {
        const VIRTIO: u16 = 0x1af4;
        const QEMU: u16 = 0x1b36;
        let vendors = [self.vendor.get(), self.subsystem.get().map(|(vendor, _)| vendor)];
        let nvme = self.is_nvme() && vendors.into_iter().flatten().any(|id| [VIRTIO, QEMU].contains(&id));
        self.kind == NodeKind::Endpoint && (nvme || self.vendor.get() == Some(VIRTIO))
    }

    /// The name with a short vendor: `Samsung NVMe SSD Controller PM9A1/PM9A3/980PRO`.
    pub(crate) fn short_name(&self) -> String {
        match (&self.names.vendor, &self.names.device) {
            (Some(vendor), Some(device)) => format!("{} {device}", short_vendor(vendor.as_str())),
            _ => self.name(),
        }
    }

    /// Short vendor and product, `NVIDIA Quadro P620`; `None` if the database has no name.
    pub fn product(&self) -> Option<String> {
        let device = self.names.device.as_ref()?.as_str();
        // A text's name of a device may have the vendor's in it.
        let Some(vendor) = self.names.vendor.as_ref().map(Label::as_str) else {
            return Some(device.to_owned());
        };
        Some(format!("{} {}", short_vendor(vendor), bracketed(device).unwrap_or(device)))
    }

    /// `Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO`, ids if the database has no name.
    pub fn name(&self) -> String {
        let name = |name: &Option<Label>, word: &str, id: &Reading<u16>| {
            let name = name.as_ref().map(Label::to_string);
            name.or_else(|| id.get().map(|id| format!("{word} {id:04x}"))).unwrap_or_default()
        };
        // A text's name of a device may have the vendor's in it.
        let is_whole = self.names.vendor.is_none() && self.names.device.is_some();
        let vendor = if is_whole { String::new() } else { name(&self.names.vendor, "Vendor", &self.vendor) };
        let device = name(&self.names.device, "Device", &self.device);
        format!("{vendor} {device}").trim().to_owned()
    }
}

/// A short vendor name: `AMD`, `Samsung`, `Red Hat`.
pub(crate) fn short_vendor(vendor: &str) -> String {
    const COMPANY: [&str; 7] = ["Corporation", "Corp", "Co", "Ltd", "Inc", "Electronics", "Technology"];
    if let Some(short) = bracketed(vendor) {
        return short.to_owned();
    }
    let is_company = |word: &str| COMPANY.contains(&word.strip_suffix('.').unwrap_or(word));
    let words = vendor.split([',', ' ']).filter(|word| !word.is_empty());
    words.take_while(|word| !is_company(word)).take(2).collect::<Vec<_>>().join(" ")
}

/// The bracketed end of a name in the PCI id database, often the product name.
pub(crate) fn bracketed(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once('[')?;
    rest.split_once(']').map(|(inside, _)| inside).filter(|inside| !inside.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_called_what_people_call_them() {
        assert_eq!(short_vendor("Advanced Micro Devices, Inc. [AMD]"), "AMD");
        assert_eq!(short_vendor("Red Hat, Inc."), "Red Hat");
        assert_eq!(short_vendor("NVIDIA Corporation"), "NVIDIA");
        assert_eq!(short_vendor("Samsung Electronics Co Ltd"), "Samsung");
        assert_eq!(bracketed("GP107GL [Quadro P620]"), Some("Quadro P620"));
    }
}
