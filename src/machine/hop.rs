//! [`HopLink`]: one link as reported by both of its ends, and links in words.

use super::{Machine, NodeKind, pci::Link};
use crate::{
    model::NodeIndex,
    units::{Lanes, TransferRate},
};

pub(crate) type Pair = (TransferRate, Lanes);

/// The link above a node; for a downstream port the link below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HopLink {
    /// Its current state.
    pub now: Option<Pair>,
    /// The capability of both ends together.
    pub most: Option<Pair>,
    /// The capability of the device's end.
    pub device_most: Option<Pair>,
    /// The capability of the port's end.
    pub port_most: Option<Pair>,
}

impl HopLink {
    /// The link above `node`; `None` where there is no PCI Express link.
    pub(crate) fn above(machine: &Machine, node: NodeIndex) -> Option<Self> {
        let data = machine.pci.node(node);
        let own = data.link.as_ref()?;
        // Root ports and downstream ports report the link below them.
        let starts = matches!(data.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let tree = &machine.pci;
        let other = if starts { tree.first_below(node) } else { data.parent.filter(|_| !data.is_below_gap) };
        let other = other.and_then(|other| tree.node(other).link.as_ref());
        let (device, port) = if starts { (other, Some(own)) } else { (Some(own), other) };
        let most = |link: &Link| link.max_speed.get().zip(link.max_width.get());
        let (device_most, port_most) = (device.and_then(most), port.and_then(most));
        let both = match (device_most, port_most) {
            (Some(device), Some(port)) => Some((device.0.min(port.0), device.1.min(port.1))),
            (one, other) => one.or(other),
        };
        Some(Self { now: own.speed.get().zip(own.width.get()), most: both, device_most, port_most })
    }

    /// `Gen3 x4 < Gen4 x4`, for a column.
    pub(crate) fn column(&self) -> String {
        column(self.now.unzip(), self.most.unzip())
    }

    /// The same beside what the device could do in another slot.
    pub(crate) fn column_of_device(&self) -> String {
        column(self.now.unzip(), self.device_most.or(self.most).unzip())
    }

    /// `Gen1 x16, idle`, or `Gen1 x8 < x16, idle` with lanes missing: of a device that lowers its speed while idle.
    pub(crate) fn column_asleep(&self) -> String {
        let now = column(self.now.unzip(), self.now.unzip());
        match self.most.filter(|_| !self.is_full_width()) {
            Some((_, width)) => format!("{now} < {width}, idle"),
            None => format!("{now}, idle"),
        }
    }

    /// `Gen1 x16 (2.5 GT/s), could be Gen4 x16: slower while idle, no fault`: the same for a sentence.
    pub(crate) fn sentence_asleep(&self) -> String {
        let lanes = match self.now.zip(self.most) {
            Some((now, most)) if now.1 < most.1 => format!("{} of {} lanes; ", now.1, most.1.0),
            _ => String::new(),
        };
        let fault = if lanes.is_empty() { ", no fault" } else { "" };
        format!("{}: {lanes}slower while idle{fault}", self.sentence())
    }

    /// `Gen3 x4 (8 GT/s), could be Gen4 x4`.
    pub(crate) fn sentence(&self) -> String {
        let now = self.now.map_or_else(|| "unknown".to_owned(), sentence);
        match self.most {
            Some(most) if self.is_slow() => format!("{now}, could be {}", short(most)),
            Some(_) if self.now.is_some() => format!("{now}, max"),
            _ => now,
        }
    }

    pub(crate) fn is_slow(&self) -> bool {
        is_less(self.now.unzip(), self.most.unzip())
    }

    /// Whether the capability of both ends is known.
    pub(crate) fn has_both_ends(&self) -> bool {
        self.device_most.is_some() && self.port_most.is_some()
    }

    /// Whether all lanes that both ends have are in use; a speed below the maximum alone may be power saving.
    pub(crate) fn is_full_width(&self) -> bool {
        let width = |pair: Option<Pair>| pair.map(|(_, width)| width);
        width(self.now) == width(self.most)
    }

    /// Whether the port's capability is below the device's.
    pub(crate) fn is_slot_limited(&self) -> bool {
        is_less(self.port_most.unzip(), self.device_most.unzip())
    }
}

/// `Gen3 x4 (8 GT/s)`, for a sentence.
pub(crate) fn sentence(pair: Pair) -> String {
    format!("{} ({})", short(pair), pair.0)
}

/// `Gen3 (8 GT/s)`.
pub(crate) fn speed_sentence(speed: TransferRate) -> String {
    format!("Gen{} ({speed})", speed.generation())
}

/// `Gen3 x4`, for columns and beside a [`sentence`].
pub(crate) fn short((speed, width): Pair) -> String {
    format!("Gen{} {width}", speed.generation())
}

/// Speed and width, each `None` if unknown.
pub(crate) type Ends = (Option<TransferRate>, Option<Lanes>);

/// `Gen3 x4 < Gen4 x4`: the state of a link and, if higher, its maximum; `up to Gen4 x4` if only that is known, `no link` before it
/// where the width is 0.
pub(crate) fn column(now: Ends, most: Ends) -> String {
    let words = |(speed, width): Ends| {
        let speed = speed.map_or_else(|| "?".to_owned(), |speed| speed.generation().to_string());
        let width = width.map_or_else(|| "x?".to_owned(), |width| width.to_string());
        format!("Gen{speed} {width}")
    };
    // A capability of 0 lanes is an unknown one: emulated devices have it.
    let most = (most.0, most.1.filter(|width| *width != Lanes(0)));
    match (now, most) {
        ((_, Some(Lanes(0))), (None, _) | (_, None)) => "no link".to_owned(),
        ((_, Some(Lanes(0))), most) => format!("no link, up to {}", words(most)),
        ((None, None), (None, None)) => "?".to_owned(),
        ((None, None), most) => format!("up to {}", words(most)),
        (now, most) if is_less(now, most) => format!("{} < {}", words(now), words(most)),
        (now, _) => words(now),
    }
}

fn is_less(one: Ends, other: Ends) -> bool {
    one.0.zip(other.0).is_some_and(|(one, other)| one < other)
        || one.1.zip(other.1).is_some_and(|(one, other)| one < other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_of_0_is_no_width() {
        let ends = |mega: u32, width: u8| (TransferRate::from_mega(mega), Some(Lanes(width)));
        for (now, most, words) in [
            (ends(2_500, 1), ends(8_000, 4), "Gen1 x1 < Gen3 x4"),
            (ends(2_500, 1), ends(8_000, 0), "Gen1 x1 < Gen3 x?"),
            (ends(8_000, 4), ends(8_000, 0), "Gen3 x4"),
            (ends(2_500, 0), ends(8_000, 4), "no link, up to Gen3 x4"),
            (ends(2_500, 0), ends(8_000, 0), "no link"),
            ((None, None), ends(8_000, 0), "up to Gen3 x?"),
            ((None, None), (None, Some(Lanes(0))), "?"),
        ] {
            assert_eq!(column(now, most), words);
        }
    }
}
