//! State of a link after one of its ends changed.

use crate::{
    machine::{Link, PciNode},
    model::Reading,
    units::{Lanes, TransferRate},
};

/// The maximum of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortCan {
    speed: Option<TransferRate>,
    width: Option<Lanes>,
    payload: Option<u16>,
}

/// Today's state of a link, the lower value of both ends, and the maximum of its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Today {
    speed: Option<TransferRate>,
    width: Option<Lanes>,
    payload: Option<u16>,
    port: PortCan,
}

impl PortCan {
    /// By its link's maximum speed, unless software asks for less, and its width. The driver of a device that `sleeps` may ask for
    /// the lowest speed while it idles.
    pub fn of(port: &PciNode, sleeps: bool) -> Self {
        let link = port.link.as_ref();
        let express = port.express.value();
        let target = express.and_then(|express| express.target_speed);
        let target = target.filter(|target| !sleeps || Some(*target) != TransferRate::from_code(1));
        Self {
            speed: lower(link.and_then(|link| link.max_speed.get()), target),
            width: link.and_then(|link| link.max_width.get()),
            payload: express.and_then(|express| express.payload_supported),
        }
    }
}

impl Today {
    /// Of the link between a port and a device. One that `sleeps` lowers its speed while idle, and is taken as awake.
    pub fn of(port: &PciNode, device: &PciNode, sleeps: bool) -> Self {
        let (above, below) = (port.link.as_ref(), device.link.as_ref());
        let can = PortCan::of(port, sleeps);
        let speed = lower(above.and_then(|l| l.speed.get()), below.and_then(|l| l.speed.get()));
        let awake = lower(below.and_then(|l| l.max_speed.get()), can.speed);
        let payload = |node: &PciNode| node.express.value().and_then(|express| express.payload);
        Self {
            speed: speed.map(|now| awake.filter(|awake| sleeps && *awake > now).unwrap_or(now)),
            width: lower(above.and_then(|l| l.width.get()), below.and_then(|l| l.width.get())),
            payload: lower(payload(port), payload(device)),
            port: can,
        }
    }

    /// Whether it runs below the maximum of both ends: in power saving, or downtrained.
    pub fn is_low(&self, device: &PciNode) -> bool {
        let link = device.link.as_ref();
        let speed = lower(link.and_then(|l| l.max_speed.get()), self.port.speed);
        let width = lower(link.and_then(|l| l.max_width.get()), self.port.width);
        self.speed.zip(speed).is_some_and(|(now, could)| now < could)
            || self.width.zip(width).is_some_and(|(now, could)| now < could)
    }
}

/// Sets the state of both ends of a link, given its state before.
pub(super) fn settle(port: &mut PciNode, device: &mut PciNode, before: &Today) {
    let can = PortCan::of(port, false);
    let own = device.link.as_ref();
    let (own_speed, own_width) = (own.and_then(|l| l.max_speed.get()), own.and_then(|l| l.max_width.get()));
    let speed = settled(before.speed, own_speed, before.port.speed, can.speed);
    let width = settled(before.width, own_width, before.port.width, can.width);
    for (node, is_port) in [(&mut *port, true), (&mut *device, false)] {
        if let Some(link) = &mut node.link {
            write(&mut link.speed, speed, is_port);
            write(&mut link.width, width, is_port);
        }
    }
    let own_payload = device.express.value().and_then(|express| express.payload_supported);
    let payload = settled(before.payload, own_payload, before.port.payload, can.payload);
    for node in [port, device] {
        if let (Some(mut express), Some(payload)) = (node.express.get(), payload) {
            express.payload = express.payload.and(Some(payload));
            node.express = Reading::known(node.express.path(), express);
        }
    }
}

/// An empty port has no active link.
pub(super) fn unplug(link: &mut Link) {
    link.speed = Reading::absent(link.speed.path(), "nothing is plugged in");
    link.width = Reading::absent(link.width.path(), "nothing is plugged in");
}

/// Functions of a device share their port, which shows the highest of their values. A device without a value gets
/// none.
fn write<T: Copy + Ord>(reading: &mut Reading<T>, value: Option<T>, is_port: bool) {
    let Some(value) = value else { return };
    let own = reading.get();
    if is_port || own.is_some() {
        let value = if is_port { own.map_or(value, |own| own.max(value)) } else { value };
        *reading = Reading::known(reading.path(), value);
    }
}

/// The new state of a link that runs at `now` between an end with the maximum `own` and a port with the maximum
/// `before`, when the port's becomes `after`. A link at its maximum stays at its maximum; a slower one keeps its
/// state.
fn settled<T: Copy + Ord>(now: Option<T>, own: Option<T>, before: Option<T>, after: Option<T>) -> Option<T> {
    let now = now?;
    let (could, can) = (lower(own, before), lower(own, after));
    Some(match (could, can) {
        (Some(could), Some(can)) if now == could => can,
        // Emulated devices run at more than their maximum.
        (Some(could), Some(_)) if now > could => now,
        (_, Some(can)) => now.min(can),
        (_, None) => now,
    })
}

fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::settled;

    #[test]
    fn full_use_stays_full_use_and_a_sleeping_link_sleeps_on() {
        for (now, own, before, after, then) in [
            (16, 16, 16, 16, 16),
            (16, 16, 16, 8, 8),
            (8, 16, 8, 16, 16),
            (8, 8, 16, 32, 8),
            (2, 8, 16, 16, 2),
            (5, 8, 16, 2, 2),
            (16, 8, 16, 16, 16),
        ] {
            assert_eq!(
                settled(Some(now), Some(own), Some(before), Some(after)),
                Some(then),
                "{now} of {own} and {before}, then {after}"
            );
        }
        assert_eq!(settled(None, Some(16), Some(16), Some(16)), None, "unknown stays unknown");
        assert_eq!(settled(Some(16), None, None, None), Some(16));
    }

    proptest! {
        #[test]
        fn there_and_back_is_where_it_was_unless_a_low_link_was_capped_lower_still(
            now in 1_u8..6, own in prop::option::of(1_u8..6), here in prop::option::of(1_u8..6), there in prop::option::of(1_u8..6),
        ) {
            // A link above its maximum stays as it is.
            let now = own.into_iter().chain(here).min().map_or(now, |could| now.min(could));
            let moved = settled(Some(now), own, here, there);
            let back = settled(moved, own, there, here);
            let low = own.into_iter().chain(here).min().is_some_and(|could| now < could);
            let lost = there.is_some_and(|there| there <= now);
            prop_assert!(back == Some(now) || (low && lost) || here.is_none() || there.is_none());
            prop_assert!(moved <= Some(now.max(own.unwrap_or(9).min(there.unwrap_or(9)))));
        }
    }
}
