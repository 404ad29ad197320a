//! [`Mark`]: what `iodyno tree` and the sheet mark in a tree.

use std::collections::{BTreeMap, BTreeSet};

use super::toned::Tone;
use crate::{
    capacity::link_state::{self, LinkState},
    machine::{Machine, NodeKind},
    model::{NodeIndex, Severity},
};

/// The mark of a row, as on the Machine screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    High,
    Warning,
    /// The link is slower than both its ends can be.
    SlowLink,
    /// The slot is slower than the device.
    Slot,
}

impl Mark {
    pub const ALL: [Self; 4] = [Self::High, Self::Warning, Self::SlowLink, Self::Slot];

    pub const fn symbol(self) -> &'static str {
        match self {
            Self::High => Severity::High.mark(),
            Self::Warning => Severity::Warning.mark(),
            Self::SlowLink => "▼",
            Self::Slot => "▽",
        }
    }

    /// Its meaning in a legend.
    pub fn meaning(self) -> String {
        match self {
            Self::High => format!("{} finding", Severity::High.name()),
            Self::Warning => format!("{} finding", Severity::Warning.name()),
            Self::SlowLink => "link downtrained".to_owned(),
            Self::Slot => "limited by the slot".to_owned(),
        }
    }

    pub const fn tone(self) -> Tone {
        match self {
            Self::High => Tone::Problem,
            Self::Warning | Self::SlowLink => Tone::Warning,
            Self::Slot => Tone::Quiet,
        }
    }
}

/// Marks by node: of findings, then of links, once at the device's end. `marked` are the nodes that findings point at.
pub(super) fn of(
    machine: &Machine,
    marked: &BTreeMap<NodeIndex, Severity>,
) -> BTreeMap<NodeIndex, BTreeSet<Mark>> {
    let tree = &machine.pci;
    let mut marks: BTreeMap<NodeIndex, BTreeSet<Mark>> = BTreeMap::new();
    for (node, severity) in marked {
        let mark = if *severity == Severity::High { Mark::High } else { Mark::Warning };
        marks.entry(*node).or_default().insert(mark);
    }
    for (node, data) in tree.iter() {
        let is_port = matches!(data.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let first = data.parent.and_then(|port| tree.node(port).children.first().copied());
        // The functions of a device share its link, unless each has drives of its own.
        let is_link =
            !is_port && (first == Some(node) || machine.drives.iter().any(|drive| drive.node == Some(node)));
        if !is_link || link_state::is_inside_card(tree, node) {
            continue;
        }
        let mark = match link_state::state(machine, node) {
            LinkState::Slow => Mark::SlowLink,
            LinkState::SlotLimited => Mark::Slot,
            LinkState::Fine | LinkState::Unknown | LinkState::Idle | LinkState::Down => continue,
        };
        marks.entry(node).or_default().insert(mark);
    }
    marks
}
