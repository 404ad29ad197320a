//! A tree as rows that two machines can be compared by: root complexes, and below them what holds drives or takes part.
//!
//! Here: which rows there are and what is true of each. Not here: how they are drawn.

use super::{Prediction, assumption, difference};
use crate::{
    capacity::{Total, slots},
    machine::{Machine, NodeKind, pci::NodeAddress},
    model::{DriveName, Limits, NodeIndex},
    units::{BytesPerSecond, Lanes, TransferRate},
};

/// What a move does to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Nothing.
    Same,
    /// It stays, and what it gets with all drives busy changes.
    Changes,
    /// It was in the way.
    GivesWay,
    /// It was asked to move.
    Moves,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The node: a root complex, a switch, or a device that is plugged in.
    pub node: NodeIndex,
    /// How many rows it is below its root complex.
    pub depth: usize,
    /// Whether it is the last of its siblings, and of each row above it the same, outermost first.
    pub last: Vec<bool>,
    /// `0000:40` of a root complex; `01.1` of what hangs on port 01.1.
    pub place: String,
    /// The drive, for one row of each.
    pub drive: Option<DriveName>,
    /// The drive's name, or the product.
    pub name: String,
    /// What its link runs at.
    pub link: Option<(TransferRate, Lanes)>,
    /// What it gets or passes on with all drives busy.
    pub busy: Option<BytesPerSecond>,
    /// What its path, or the root complex itself, carries at most.
    pub limit: Option<BytesPerSecond>,
    /// What the move does to it.
    pub mark: Mark,
}

/// Today's rows.
pub fn today(machine: &Machine, limits: &Limits, prediction: &Prediction) -> Vec<Row> {
    let moved = &prediction.moved;
    Side { machine, limits, total: &prediction.before, prediction, was: &|node| Some(node) }
        .rows(&[&moved.moved, &moved.displaced])
}

/// The rows of the machine as it would be.
pub fn then(prediction: &Prediction) -> Vec<Row> {
    let then = &prediction.moved.then;
    let (moved, displaced) = (&prediction.moved.moved, &prediction.moved.displaced);
    let now =
        |nodes: &[NodeIndex]| -> Vec<NodeIndex> { nodes.iter().filter_map(|node| then.now(*node)).collect() };
    let was = |node: NodeIndex| then.was.get(node.0).copied().flatten();
    Side {
        machine: &then.machine,
        limits: &prediction.limits,
        total: &prediction.after,
        prediction,
        was: &was,
    }
    .rows(&[&now(moved), &now(displaced)])
}

/// One of the two machines.
struct Side<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    total: &'a Total,
    prediction: &'a Prediction,
    /// Today's node of one of this machine's.
    was: &'a dyn Fn(NodeIndex) -> Option<NodeIndex>,
}

impl Side<'_> {
    fn rows(&self, taking_part: &[&[NodeIndex]]) -> Vec<Row> {
        let tree = &self.machine.pci;
        let taking_part: Vec<NodeIndex> = taking_part.concat();
        let drives = self.machine.hardware_drives().filter_map(|drive| drive.node);
        let mut shown: Vec<NodeIndex> =
            drives.chain(taking_part).flat_map(|node| tree.ancestry(node)).collect();
        shown.sort_unstable();
        shown.dedup();
        let mut rows = Vec::new();
        for root in tree.roots() {
            // Without a slot nothing can ever be plugged in there.
            let has_slot = slots::all(self.machine).iter().any(|slot| tree.root_of(slot.ports[0]) == root);
            if has_slot || shown.contains(&root) {
                rows.push(self.root(root));
                self.below(root, &shown, &[], &mut rows);
            }
        }
        rows
    }

    fn root(&self, root: NodeIndex) -> Row {
        let drives = difference::drives_below(self.machine, root);
        let busy: Option<f64> =
            drives.iter().map(|name| Some(self.total.shares.get(name)?.bytes_per_second.0)).sum();
        let address = self.machine.pci.node(root).address.to_string();
        let changes = self.prediction.changes.iter().any(|change| change.name == address);
        Row {
            node: root,
            depth: 0,
            last: Vec::new(),
            place: address,
            drive: None,
            name: match drives.len() {
                0 => "no drives".to_owned(),
                1 => "1 drive".to_owned(),
                many => format!("{many} drives"),
            },
            link: None,
            busy: busy.filter(|_| !drives.is_empty()).map(BytesPerSecond),
            limit: self.limits.hop(root).map(|limit| limit.bytes_per_second),
            mark: if changes { Mark::Changes } else { Mark::Same },
        }
    }

    /// What hangs below a node, ports left out: a device stands for the port it is plugged into.
    fn below(&self, node: NodeIndex, shown: &[NodeIndex], last: &[bool], rows: &mut Vec<Row>) {
        let tree = &self.machine.pci;
        let mut devices: Vec<(String, NodeIndex)> = Vec::new();
        for child in tree.node(node).children.iter().filter(|child| shown.contains(child)) {
            let is_port = matches!(tree.node(*child).kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
            let place = self.place(*child);
            if is_port {
                let mut behind = tree.node(*child).children.iter().filter(|at| shown.contains(at));
                // Of a card with several functions the first speaks, and each that has drives.
                let first = behind.clone().next().copied();
                devices.extend(
                    behind
                        .by_ref()
                        .filter(|at| {
                            Some(**at) == first || !difference::drives_below(self.machine, **at).is_empty()
                        })
                        .map(|at| (place.clone(), *at)),
                );
            } else {
                devices.push((place, *child));
            }
        }
        let count = devices.len();
        for (at, (place, device)) in devices.into_iter().enumerate() {
            let last: Vec<bool> = last.iter().copied().chain([at + 1 == count]).collect();
            self.device(&place, device, &last, rows);
            self.below(device, shown, &last, rows);
        }
    }

    /// A row for a device, or one for each of its drives.
    fn device(&self, place: &str, device: NodeIndex, last: &[bool], rows: &mut Vec<Row>) {
        let node = self.machine.pci.node(device);
        let link = node.link.as_ref().and_then(|link| Some((link.speed.get()?, link.width.get()?)));
        let drives = self.machine.hardware_drives().filter(|drive| drive.node == Some(device));
        let names: Vec<DriveName> = drives.map(|drive| drive.name.clone()).collect();
        let limit = self.limits.path(device).map(|limit| limit.bytes_per_second);
        let row = |drive: Option<DriveName>| {
            let name = match &drive {
                Some(drive) => drive.to_string(),
                None => assumption::product(self.machine, device),
            };
            let busy = drive.as_ref().and_then(|drive| Some(self.total.shares.get(drive)?.bytes_per_second));
            let (place, last) = (place.to_owned(), last.to_vec());
            Row {
                node: device,
                depth: last.len(),
                last,
                place,
                name,
                link,
                busy,
                limit,
                mark: self.mark(device, drive.as_ref()),
                drive,
            }
        };
        if names.is_empty() {
            rows.push(row(None));
        } else {
            rows.extend(names.into_iter().map(Some).map(row));
        }
    }

    fn mark(&self, device: NodeIndex, drive: Option<&DriveName>) -> Mark {
        let moved = &self.prediction.moved;
        let is_in = |nodes: &[NodeIndex]| (self.was)(device).is_some_and(|was| nodes.contains(&was));
        let changes =
            |drive: &DriveName| self.prediction.changes.iter().any(|change| change.name == drive.as_str());
        match () {
            () if is_in(&moved.moved) => Mark::Moves,
            () if is_in(&moved.displaced) => Mark::GivesWay,
            () if drive.is_some_and(changes) => Mark::Changes,
            () => Mark::Same,
        }
    }

    /// Device and function on the bus: `01.1`.
    fn place(&self, node: NodeIndex) -> String {
        match self.machine.pci.node(node).address {
            NodeAddress::Device(address) => format!("{:02x}.{}", address.device, address.function),
            root @ NodeAddress::Root { .. } => root.to_string(),
        }
    }
}
