//! A machine after two slots have exchanged their content.
//!
//! Each card brings its ports and links: its slot is split as the card needs, and a link runs at the maximum of both
//! ends. A link that runs below its maximum today keeps its rate.

mod bench;
mod link;
mod addresses;

use std::collections::BTreeMap;

use crate::{
    machine::{Drive, Machine, PciNode, PciTree},
    model::NodeIndex,
    units::TransferRate,
};

use super::Slot;
use bench::Bench;
pub use bench::runs_low;

/// A hypothetical machine, and where its nodes come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchanged {
    /// The machine.
    pub machine: Machine,
    /// Today's index of each node; `None` for a port that today's split of its slot lacks.
    pub was: Vec<Option<NodeIndex>>,
    /// Whether buses were renumbered as firmware does. Where today's numbers have gaps, devices keep theirs.
    pub renumbered: bool,
}

impl Exchanged {
    /// The machine without any move.
    pub fn nothing(machine: &Machine) -> Self {
        let was = machine.pci.iter().map(|(index, _)| Some(index)).collect();
        Self { machine: machine.clone(), was, renumbered: true }
    }

    /// The part of a machine below these outermost root complexes; the others are there, with nothing below them.
    pub(crate) fn part(machine: &Machine, roots: &[NodeIndex]) -> Self {
        let tree = &machine.pci;
        let is_in = |index: NodeIndex| {
            let root = tree.outermost_root(index);
            root == index || roots.contains(&root)
        };
        let kept: Vec<NodeIndex> = tree.iter().map(|(index, _)| index).filter(|at| is_in(*at)).collect();
        let place: BTreeMap<NodeIndex, NodeIndex> =
            kept.iter().enumerate().map(|(now, was)| (*was, NodeIndex(now))).collect();
        let pci = PciTree::new(kept.iter().map(|at| placed(tree.node(*at).clone(), &place)).collect());
        let drives = machine.hardware_drives().filter_map(|drive| {
            let node = *place.get(&drive.node?)?;
            Some(Drive { node: Some(node), ..drive.clone() })
        });
        let machine = machine.with_tree(pci, drives.collect(), Vec::new());
        Self { machine, was: kept.into_iter().map(Some).collect(), renumbered: true }
    }

    /// Index of today's node; `None` for a port that is gone.
    pub fn now(&self, was: NodeIndex) -> Option<NodeIndex> {
        self.was.iter().position(|old| *old == Some(was)).map(NodeIndex)
    }

    /// This move, then `next`, which started from this one's machine.
    #[must_use]
    pub fn then(&self, next: Self) -> Self {
        let was = next.was.iter().map(|middle| self.was.get((*middle)?.0).copied().flatten()).collect();
        Self { machine: next.machine, was, renumbered: self.renumbered && next.renumbered }
    }
}

/// A node of a tree whose nodes have other places now; what has none is not beside it any more.
fn placed(mut node: PciNode, place: &BTreeMap<NodeIndex, NodeIndex>) -> PciNode {
    node.parent = node.parent.and_then(|above| place.get(&above).copied());
    node.children = node.children.iter().filter_map(|child| place.get(child).copied()).collect();
    node
}

/// Exchanges the content of two slots.
pub fn exchange(machine: &Machine, one: &Slot, other: &Slot) -> Exchanged {
    let tree = &machine.pci;
    let (mine, theirs) = (bench::sockets(tree, one), bench::sockets(tree, other));
    let mut bench = Bench::new(tree);
    bench.empty(one);
    bench.empty(other);
    bench.fill(one, &theirs);
    bench.fill(other, &mine);
    bench.finish(machine)
}

/// Limits the speed of a slot; nothing moves.
pub(crate) fn with_slot_speed(machine: &Machine, slot: &Slot, speed: TransferRate) -> Exchanged {
    let mut bench = Bench::new(&machine.pci);
    bench.cap(slot, speed);
    bench.finish(machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity::{self, slots},
        source,
    };

    #[test]
    fn a_move_changes_as_much_in_the_part_of_its_two_root_complexes_as_in_the_whole() {
        let rate = |machine: &Machine| {
            capacity::total(machine, &capacity::limits(machine)).at_most_bytes_per_second.0
        };
        let mut moves = 0;
        for demo in ["threadripper-before", "threadripper-after", "x570"] {
            let machine = source::testing::demo(demo);
            let (tree, now) = (&machine.pci, rate(&machine));
            let slots = slots::all(&machine);
            let pairs = slots.iter().flat_map(|one| slots.iter().map(move |other| (one, other)));
            for (one, other) in pairs {
                let roots = [one, other].map(|slot| tree.outermost_root(slot.ports[0]));
                if roots[0] >= roots[1] || !slots::can_change_places(tree, one, other) {
                    continue;
                }
                let part = Exchanged::part(&machine, &roots);
                let [mine, theirs] =
                    [one, other].map(|slot| Slot::of(slot.ports.iter().map(|port| part.now(*port).unwrap())));
                let whole = rate(&exchange(&machine, one, other).machine) - now;
                let alone = rate(&exchange(&part.machine, &mine, &theirs).machine) - rate(&part.machine);
                assert!((whole - alone).abs() < 1.0, "{demo}: {one:?}, {other:?}: {whole} and {alone}");
                moves += usize::from(whole.abs() > 1e9);
            }
        }
        assert!(moves >= 3, "{moves}");
    }
}
