//! The rows of a machine's slots, before or after a move, with their rates while all drives are busy.

use std::collections::BTreeMap;

use crate::{
    capacity::{Total, link_state, potential::of_drive, slots},
    machine::{Drive, Machine, NodeKind, drive},
    model::{DriveName, Limits, NodeIndex},
    report::flatten,
    units::{BytesPerSecond, Lanes, TransferRate, counted},
    whatif::{Prediction, assumption, difference},
};

/// Block of large reads, bytes.
const LARGE: f64 = 1_048_576.0;

/// Effect of a move on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// None.
    Same,
    /// Its rate with all drives busy changes.
    Changes,
    /// It swaps places with a moved device.
    GivesWay,
    /// It moves.
    Moves,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The node: a root complex, a switch, or a device that is plugged in.
    pub node: NodeIndex,
    /// Depth below its root complex.
    pub depth: usize,
    /// Its guide lines: `│ ├ `.
    pub guides: String,
    /// `0000:40` of a root complex; `01.1` of a device on port 01.1.
    pub place: String,
    /// The drive, for one row of each.
    pub drive: Option<DriveName>,
    /// The drive's name, or the product.
    pub name: String,
    /// Current speed and width of its link; under load, if its device lowered the speed while idle.
    pub link: Option<(TransferRate, Lanes)>,
    /// Its rate with all drives busy.
    pub busy: Option<BytesPerSecond>,
    /// What the drive could read alone, wherever it is; of a root complex its limit, of others that of their path.
    pub limit: Option<BytesPerSecond>,
    /// Effect of the move.
    pub mark: Mark,
}

/// Slots with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// Those with drives, and those of the move.
    TakingPart,
    /// All, with empty ones.
    All,
}

/// The current rows, with the marks of a move.
pub fn today(
    machine: &Machine,
    limits: &Limits,
    total: &Total,
    prediction: Option<&Prediction>,
    slots: Slots,
) -> Vec<Row> {
    Side { machine, limits, total, prediction, was: &Some, slots }.rows()
}

/// The rows of the machine after the move.
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
    /// The current node of a node after the move.
    was: &'a dyn Fn(NodeIndex) -> Option<NodeIndex>,
    slots: Slots,
}

impl Side<'_> {
    fn rows(&self) -> Vec<Row> {
        let drives = self.machine.drives_by_name();
        flatten::slots(self.machine, self.shown()).iter().filter_map(|row| self.row(row, &drives)).collect()
    }

    /// Nodes with drives, those of the move, or all slots; with the nodes above them.
    fn shown(&self) -> Vec<bool> {
        let tree = &self.machine.pci;
        let slots = slots::all(self.machine);
        let mut shown = vec![false; tree.nodes.len()];
        let is_all = self.slots == Slots::All;
        let drives = self.machine.hardware_drives().filter_map(|drive| drive.node);
        let taking_part = tree.iter().map(|(index, _)| index).filter(|node| {
            let at = tree.node(*node);
            let is_port = matches!(at.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
            (is_all || !is_port || !at.children.is_empty())
                && matches!(self.part(*node), Mark::Moves | Mark::GivesWay)
        });
        let every = slots.iter().filter(|_| is_all);
        let every = every.flat_map(|slot| slot.ports.iter().copied().chain(slot.content(tree)));
        for node in drives.chain(taking_part).chain(every).flat_map(|node| tree.ancestry(node)) {
            shown[node.0] = true;
        }
        // A root complex without a slot has no row.
        for slot in &slots {
            shown[tree.root_of(slot.ports[0]).0] = true;
        }
        shown
    }

    fn row(&self, row: &flatten::Row, drives: &BTreeMap<&DriveName, &Drive>) -> Option<Row> {
        let (head, node) = (self.machine.pci.node(row.head?), row.node?);
        let at = self.machine.pci.node(node);
        // A drive with several paths has its rate on one of them.
        let reads_here = |name: &&DriveName| drives.get(*name).is_some_and(|it| it.node == Some(node));
        let of_node = |limit: Option<&crate::model::Limit>| limit.map(|limit| limit.bytes_per_second);
        let row = Row {
            node,
            depth: row.depth,
            guides: row.guides.clone(),
            place: head.address.place(),
            drive: row.drive().filter(reads_here).cloned(),
            name: String::new(),
            link: link_state::awake(self.machine, node)
                .or_else(|| at.link.as_ref().and_then(|link| Some((link.speed.get()?, link.width.get()?)))),
            busy: None,
            limit: of_node(self.limits.path(node)),
            mark: self.part(node),
        };
        Some(match &row.drive {
            _ if at.kind == NodeKind::RootComplex => {
                let drives = drive::count(difference::readers(self.machine, node));
                Row {
                    name: if drives == 0 { "no drives".to_owned() } else { counted(drives, "drive") },
                    busy: difference::passes(self.machine, self.total, node).filter(|_| drives > 0),
                    limit: of_node(self.limits.hop(node)),
                    mark: self.changed(&row.place),
                    ..row
                }
            }
            Some(drive) => {
                let path = row.limit.filter(|_| self.limits.is_rated(drive));
                Row {
                    name: drive.to_string(),
                    busy: self.total.shares.get(drive).map(|share| share.bytes_per_second),
                    limit: drives.get(drive).and_then(|drive| self.potential(drive)).or(path),
                    mark: row.mark.max(self.changed(drive.as_str())),
                    ..row
                }
            }
            None if at.kind == NodeKind::Endpoint || !at.children.is_empty() => {
                Row { name: assumption::product(self.machine, node), ..row }
            }
            None => {
                let lanes = at.link.as_ref().and_then(|link| link.max_width.get());
                let lanes = lanes.map_or_else(String::new, |lanes| format!("{lanes} "));
                Row { name: format!("empty {lanes}slot"), ..row }
            }
        })
    }

    fn potential(&self, drive: &Drive) -> Option<BytesPerSecond> {
        of_drive(self.machine, self.limits, drive, LARGE).map(|potential| potential.bytes_per_second)
    }

    fn part(&self, node: NodeIndex) -> Mark {
        let (Some(prediction), Some(was)) = (self.prediction, (self.was)(node)) else { return Mark::Same };
        match was {
            was if prediction.moved.moved.contains(&was) => Mark::Moves,
            was if prediction.moved.displaced.contains(&was) => Mark::GivesWay,
            _ => Mark::Same,
        }
    }

    fn changed(&self, name: &str) -> Mark {
        let is_one = |prediction: &Prediction| prediction.changes.iter().any(|change| change.name == name);
        if self.prediction.is_some_and(is_one) { Mark::Changes } else { Mark::Same }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity,
        source::testing::demo,
        units::UnitSystem,
        whatif::{self, Move},
    };

    #[test]
    fn a_display_asleep_is_planned_as_it_runs_under_load() {
        let machine = demo("threadripper-before");
        let limits = capacity::limits(&machine);
        let asked = Move::parse(&machine, "0000:41:00.0-0000:44:00.0", "0000:60").unwrap();
        let prediction = whatif::predict(&machine, &limits, &asked, UnitSystem::Decimal).unwrap();
        let of = |rows: Vec<Row>, machine: &Machine| {
            let row = rows.into_iter().find(|row| row.name.contains("P620")).unwrap();
            let (speed, width) = row.link.unwrap();
            let registers = machine.pci.node(row.node).link.as_ref().unwrap().speed.get().unwrap();
            (format!("{speed} {width}"), registers.to_string())
        };
        let total = capacity::total(&machine, &limits);
        let today = of(today(&machine, &limits, &total, Some(&prediction), Slots::All), &machine);
        assert_eq!(today, ("8 GT/s x16".to_owned(), "2.5 GT/s".to_owned()));
        let then = of(then(&prediction, Slots::All), &prediction.moved.then.machine);
        assert_eq!(then, ("8 GT/s x16".to_owned(), "8 GT/s".to_owned()));
    }
}
