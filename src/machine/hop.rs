//! [`HopLink`]: one link as both of its ends report it.

use super::{Machine, NodeKind, pci::Link};
use crate::{
    model::NodeIndex,
    units::{Lanes, TransferRate},
};

pub(crate) type Pair = (TransferRate, Lanes);

/// The link above a node; for a downstream port the link below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HopLink {
    /// What it runs at.
    pub now: Option<Pair>,
    /// The capability of both ends together.
    pub most: Option<Pair>,
    /// What the device's end could do.
    pub device_most: Option<Pair>,
    /// What the port's end could do.
    pub port_most: Option<Pair>,
}

impl HopLink {
    /// The link above `node`; `None` where there is no PCI Express link.
    pub(crate) fn above(machine: &Machine, node: NodeIndex) -> Option<Self> {
        let data = machine.pci.node(node);
        let own = data.link.as_ref()?;
        // Root ports and downstream ports report the link below them.
        let starts = matches!(data.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let other = if starts { data.children.first().copied() } else { data.parent };
        let other = other.and_then(|other| machine.pci.node(other).link.as_ref());
        let (device, port) = if starts { (other, Some(own)) } else { (Some(own), other) };
        let most = |link: &Link| link.max_speed.get().zip(link.max_width.get());
        let (device_most, port_most) = (device.and_then(most), port.and_then(most));
        let both = match (device_most, port_most) {
            (Some(device), Some(port)) => Some((device.0.min(port.0), device.1.min(port.1))),
            (one, other) => one.or(other),
        };
        Some(Self { now: own.speed.get().zip(own.width.get()), most: both, device_most, port_most })
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.now.zip(self.most).is_some_and(|(now, most)| now.0 < most.0 || now.1 < most.1)
    }

    /// Whether the port's capability is below the device's.
    pub(crate) fn is_slot_limited(&self) -> bool {
        self.device_most
            .zip(self.port_most)
            .is_some_and(|(device, port)| port.0 < device.0 || port.1 < device.1)
    }
}

/// `16 x4`, `2.5 x16`: GT/s and lanes, for a column whose heading has the unit.
pub(crate) fn short(pair: Pair) -> String {
    let gts = pair.0.gts();
    let speed = if gts.fract() == 0.0 { format!("{gts:.0}") } else { format!("{gts}") };
    format!("{speed:>3} {:<3}", pair.1.to_string())
}

/// `16 GT/s x4`.
pub(crate) fn long(pair: Pair) -> String {
    format!("{} {}", pair.0, pair.1)
}
