//! A machine after two slots have exchanged their content.
//!
//! Each card brings its ports and links: its slot is split as the card needs, and a link runs at the maximum of both
//! ends. A link that runs below its maximum today keeps its rate.

mod bench;
mod link;
mod addresses;

use crate::{machine::Machine, model::NodeIndex, units::TransferRate};

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
