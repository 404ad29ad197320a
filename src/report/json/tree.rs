//! The document of `iodyno tree --json`: nested nodes, not the merged and folded rows of [`crate::report::flatten`].

use std::collections::HashMap;

use serde::Serialize;

use super::Reasons;
use crate::{
    capacity::{link, link_state},
    machine::{Drive, Link, Machine, NodeKind, PciNode},
    model::{DriveName, Limit, Limits, NodeIndex, Problem, Reading},
    report::pasted::SourceRow,
    units::Lanes,
};

/// `iodyno tree --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeDocument {
    /// All of them in bus order. Those below a device (VMD) are here too and name it in `parent`.
    pub root_complexes: Vec<NodeRow>,
    /// The opened text, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRow>,
    /// Reasons of values that are `null`.
    pub problems: Vec<Problem>,
}

/// One node with everything below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRow {
    /// `0000:21:00.0`; of a root complex `0000:20`.
    pub address: String,
    /// `root-complex`, `root-port`, `switch-upstream`, `switch-downstream`, `bridge` or `endpoint`.
    pub kind: &'static str,
    /// Class code: `0x010802`.
    pub class: Option<String>,
    /// Vendor id: `0x144d`.
    pub vendor: Option<String>,
    /// Device id: `0xa80c`.
    pub device: Option<String>,
    /// From the PCI id database, with ids where it knows none.
    pub name: Option<String>,
    /// The same for text, with a short vendor.
    #[serde(skip)]
    pub short_name: String,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// IOMMU group.
    pub iommu_group: Option<u32>,
    /// Bound driver.
    pub driver: Option<String>,
    /// The board's name of the slot.
    pub slot: Option<String>,
    /// This device's own end of the link above it.
    pub link: Option<LinkRow>,
    /// Payload limit of the path from here to the root complex; of a root complex its own.
    pub limit: Option<Limit>,
    /// Drives of this function, by one path at least.
    pub drives: Vec<DriveName>,
    /// The path devices through this function, where drives have several (native NVMe multipath).
    pub paths: Vec<DriveName>,
    /// The nodes below, in bus order.
    pub children: Vec<Self>,
    /// The node above.
    pub parent: Option<String>,
}

/// The link, read at one end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkRow {
    /// GT/s now.
    pub speed_gts: Option<f64>,
    /// Lanes now; 0 where no link is up.
    pub width: Option<u8>,
    /// GT/s at most.
    pub max_speed_gts: Option<f64>,
    /// Lanes at most.
    pub max_width: Option<u8>,
    /// GT/s that Link Control 2 allows at this end.
    pub target_speed_gts: Option<f64>,
    /// `fine`, `downtrained`, `slot-limited`, `none` (width 0), `idle`: a display that lowered its speed, or `unknown`: slower than
    /// one end, and the other end's capability is not known.
    pub state: &'static str,
}

impl TreeDocument {
    /// The document of `machine`; `problems` are those of its readers.
    pub fn new(machine: &Machine, limits: &Limits, problems: &[Problem]) -> Self {
        let mut drives: HashMap<NodeIndex, Vec<&Drive>> = HashMap::new();
        for drive in &machine.drives {
            for function in machine.functions_of(drive) {
                drives.entry(function).or_default().push(drive);
            }
        }
        let mut maker = Maker { machine, limits, drives, reasons: Reasons::new(machine) };
        let root_complexes = machine.pci.roots().map(|root| maker.node(root)).collect();
        let problems = maker.reasons.into_problems(problems);
        let source = machine.pasted.as_deref().map(SourceRow::new);
        Self { root_complexes, source, problems }
    }
}

struct Maker<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    /// Drives by their functions.
    drives: HashMap<NodeIndex, Vec<&'a Drive>>,
    reasons: Reasons<'a>,
}

impl<'a> Maker<'a> {
    fn node(&mut self, index: NodeIndex) -> NodeRow {
        let tree = &self.machine.pci;
        let node = tree.node(index);
        let reasons = &mut self.reasons;
        let name = Some(node.name()).filter(|name| !name.is_empty());
        let parent = node.parent.map(|above| tree.node(above).address.to_string());
        NodeRow {
            address: node.address.to_string(),
            kind: node.kind.name(),
            class: reasons.turn(&node.class, |id| format!("0x{id:06x}")),
            vendor: reasons.turn(&node.vendor, |id| format!("0x{id:04x}")),
            device: reasons.turn(&node.device, |id| format!("0x{id:04x}")),
            short_name: node.short_name(),
            name: reasons.or_absent(name, &node.path, "no vendor and device id"),
            numa_node: reasons.flatten(&node.numa_node, "-1: the firmware reports no NUMA node"),
            iommu_group: reasons.take(&node.iommu_group),
            driver: reasons.turn(&node.driver, ToString::to_string),
            slot: self.slot(node),
            link: self.link(index, node),
            limit: self.limit(index, node),
            drives: self.drives(index).map(|drive| drive.name.clone()).collect(),
            paths: self.paths(index),
            // A nested root complex is in the list of root complexes.
            children: node
                .children
                .iter()
                .filter(|child| tree.node(**child).kind != NodeKind::RootComplex)
                .map(|child| self.node(*child))
                .collect(),
            parent: self.reasons.or_absent(parent, &node.path, "no parent device"),
        }
    }

    /// The reason of slots without a name stands once in the document.
    fn slot(&mut self, node: &PciNode) -> Option<String> {
        self.reasons.note_of(&self.machine.host.slots);
        node.slot.as_ref().map(ToString::to_string)
    }

    fn link(&mut self, index: NodeIndex, node: &PciNode) -> Option<LinkRow> {
        let Some(link) = &node.link else {
            let why = match node.kind {
                NodeKind::RootComplex => "a root complex has no link above it",
                _ => "no PCI Express link",
            };
            return self.reasons.absent(format!("{}/current_link_speed", node.path), why);
        };
        Some(LinkRow {
            speed_gts: self.reasons.turn(&link.speed, |rate| rate.gts()),
            width: self.lanes(&link.width),
            max_speed_gts: self.reasons.turn(&link.max_speed, |rate| rate.gts()),
            max_width: self.lanes(&link.max_width),
            target_speed_gts: node
                .express
                .value()
                .and_then(|express| express.target_speed)
                .map(crate::units::TransferRate::gts),
            state: link_state::state(self.machine, index).name(),
        })
    }

    fn lanes(&mut self, width: &Reading<Lanes>) -> Option<u8> {
        match Link::lanes(width) {
            Some(lanes) => Some(lanes.0),
            None => self.reasons.turn(width, |lanes| lanes.0),
        }
    }

    fn limit(&mut self, index: NodeIndex, node: &PciNode) -> Option<Limit> {
        let (limit, why) = match node.kind {
            NodeKind::RootComplex => (self.limits.hop(index), "the limit of this root complex is unknown"),
            _ => (self.limits.path(index), "no known limit on any link from here to the root complex"),
        };
        let made_up = || link::no_limit(&self.machine.pci, index).filter(|_| node.is_emulated());
        let why = self.limits.refuted.get(&index).cloned().or_else(made_up).unwrap_or_else(|| why.to_owned());
        self.reasons.or_absent(limit.cloned(), &node.path, why)
    }

    fn drives(&self, index: NodeIndex) -> impl Iterator<Item = &'a Drive> {
        self.drives.get(&index).into_iter().flatten().copied()
    }

    fn paths(&self, index: NodeIndex) -> Vec<DriveName> {
        let paths = self.drives(index).filter_map(|drive| self.machine.path_through(drive, index));
        paths.map(|path| path.name.clone()).collect()
    }
}
