//! A machine after what is plugged into two slots has changed places: the tree as it would then be read.
//!
//! Each card brings its ports and links with it: a slot is split as the card in it needs, a link runs at what both of its
//! ends can do, and one that runs below that today keeps to what it does.

mod bench;
mod link;
mod addresses;

use crate::{machine::Machine, model::NodeIndex, units::TransferRate};

use super::Slot;
use bench::Bench;
pub use bench::runs_low;

/// A machine as it would be, and where its nodes come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchanged {
    /// The machine.
    pub machine: Machine,
    /// Of each node of its tree: which one of today's it is; `None` for a port that today's split of its slot lacks.
    pub was: Vec<Option<NodeIndex>>,
    /// Whether buses were numbered anew, as firmware would. Where today's numbers have gaps, devices keep theirs.
    pub renumbered: bool,
}

impl Exchanged {
    /// The machine as it is.
    pub fn nothing(machine: &Machine) -> Self {
        let was = machine.pci.iter().map(|(index, _)| Some(index)).collect();
        Self { machine: machine.clone(), was, renumbered: true }
    }

    /// Where today's node is now; `None` for a port that is not there any more.
    pub fn now(&self, was: NodeIndex) -> Option<NodeIndex> {
        self.was.iter().position(|old| *old == Some(was)).map(NodeIndex)
    }

    /// This and then `next`, which started from this one's machine.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let was = next.was.iter().map(|middle| self.was.get((*middle)?.0).copied().flatten()).collect();
        Self { machine: next.machine, was, renumbered: self.renumbered && next.renumbered }
    }
}

/// What is in `one` goes to `other` and the other way round.
pub fn exchange(machine: &Machine, one: &Slot, other: &Slot) -> Exchanged {
    let tree = &machine.pci;
    let (mine, theirs) = (bench::Load::of(tree, one), bench::Load::of(tree, other));
    let mut bench = Bench::new(tree);
    bench.empty(one);
    bench.empty(other);
    bench.fill(one, &theirs);
    bench.fill(other, &mine);
    bench.finish(machine)
}

/// Everything stays where it is, and the slot runs at `speed` at most.
pub fn with_slot_speed(machine: &Machine, slot: &Slot, speed: TransferRate) -> Exchanged {
    let mut bench = Bench::new(&machine.pci);
    bench.cap(slot, speed);
    bench.finish(machine)
}
