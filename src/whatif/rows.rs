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

/// Which slots have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// Those that hold drives or take part in the move.
    TakingPart,
    /// All, empty ones too: places to go to.
    All,
}

/// Today's rows, with the marks of a move if there is one.
pub fn today(
    machine: &Machine,
    limits: &Limits,
    total: &Total,
    prediction: Option<&Prediction>,
    slots: Slots,
) -> Vec<Row> {
    Side { machine, limits, total, prediction, was: &Some, slots }.rows()
}

/// The rows of the machine as it would be.
pub fn then(prediction: &Prediction, slots: Slots) -> Vec<Row> {
    let then = &prediction.moved.then;
    let was = |node: NodeIndex| then.was.get(node.0).copied().flatten();
    let (limits, total) = (&prediction.limits, &prediction.after);
    Side { machine: &then.machine, limits, total, prediction: Some(prediction), was: &was, slots }.rows()
}

/// One of the two machines.
struct Side<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    total: &'a Total,
    prediction: Option<&'a Prediction>,
    /// Today's node of one of this machine's.
    was: &'a dyn Fn(NodeIndex) -> Option<NodeIndex>,
    slots: Slots,
}

impl Side<'_> {
    fn rows(&self) -> Vec<Row> {
        let tree = &self.machine.pci;
        let slots = slots::all(self.machine);
        let drives = self.machine.hardware_drives().filter_map(|drive| drive.node);
        let taking_part = tree.iter().map(|(index, _)| index).filter(|node| {
            let parts =
                self.prediction.map(|prediction| [&prediction.moved.moved, &prediction.moved.displaced]);
            (self.was)(*node).is_some_and(|was| parts.into_iter().flatten().any(|part| part.contains(&was)))
        });
        let every = slots.iter().filter(|_| self.slots == Slots::All);
        let every = every.flat_map(|slot| slot.ports.iter().copied().chain(slot.content(tree)));
        let mut shown: Vec<NodeIndex> =
            drives.chain(taking_part).chain(every).flat_map(|node| tree.ancestry(node)).collect();
        shown.sort_unstable();
        shown.dedup();
        let mut rows = Vec::new();
        for root in tree.roots() {
            // Without a slot nothing can ever be plugged in there.
            let has_slot = slots.iter().any(|slot| tree.root_of(slot.ports[0]) == root);
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
        let mark = if self.changes(&address) { Mark::Changes } else { Mark::Same };
        Row {
            node: root,
            depth: 0,
            last: Vec::new(),
            place: address,
            drive: None,
            name: match self.machine.count_of(&drives) {
                0 => "no drives".to_owned(),
                1 => "1 drive".to_owned(),
                many => format!("{many} drives"),
            },
            link: None,
            busy: busy.filter(|_| !drives.is_empty()).map(BytesPerSecond),
            limit: self.limits.hop(root).map(|limit| limit.bytes_per_second),
            mark,
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
                if behind.clone().next().is_none() && self.slots == Slots::All {
                    devices.push((place, *child));
                    continue;
                }
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
                None if node.kind == NodeKind::Endpoint || !node.children.is_empty() => {
                    assumption::product(self.machine, device)
                }
                None => self.empty(device),
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
        let Some(prediction) = self.prediction else { return Mark::Same };
        let is_in = |nodes: &[NodeIndex]| (self.was)(device).is_some_and(|was| nodes.contains(&was));
        match () {
            () if is_in(&prediction.moved.moved) => Mark::Moves,
            () if is_in(&prediction.moved.displaced) => Mark::GivesWay,
            () if drive.is_some_and(|drive| self.changes(drive.as_str())) => Mark::Changes,
            () => Mark::Same,
        }
    }

    fn changes(&self, name: &str) -> bool {
        self.prediction.is_some_and(|prediction| prediction.changes.iter().any(|change| change.name == name))
    }

    /// `empty x16 slot`.
    fn empty(&self, port: NodeIndex) -> String {
        let lanes = self.machine.pci.node(port).link.as_ref().and_then(|link| link.max_width.get());
        lanes.map_or_else(|| "empty slot".to_owned(), |lanes| format!("empty {lanes} slot"))
    }

    /// Device and function on the bus: `01.1`.
    fn place(&self, node: NodeIndex) -> String {
        match self.machine.pci.node(node).address {
            NodeAddress::Device(address) => format!("{:02x}.{}", address.device, address.function),
            root @ NodeAddress::Root { .. } => root.to_string(),
        }
    }
}
