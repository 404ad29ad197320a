//! What a PCI Express link carries: speed, width, encoding, and the share of its packets that is payload.

use crate::{
    machine::{
        PciNode, PciTree,
        pci::{NodeAddress, NodeKind},
    },
    model::{Basis, Limit, NodeIndex},
    units::{BytesPerSecond, Lanes, TransferRate},
};

use super::{chipset, tables};

/// Bytes of a memory write's packet besides its payload: framing and sequence number 4 + 2, header with a 64-bit address
/// 16, link CRC and end 4, less what 128b/130b framing saves; 24 is what published figures bear out. Acknowledgements and
/// flow control take about another percent and are left out.
const PACKET_OVERHEAD: f64 = 24.0;

/// The same in a FLIT, whose framing and CRC the encoding's 236 of 256 already counts: the header alone.
const FLIT_OVERHEAD: f64 = 16.0;

/// Payload bytes per second of a link in one direction. Without a payload size, what the line coding leaves: more than
/// that no packet size carries.
pub fn payload_rate(speed: TransferRate, width: Lanes, payload: Option<u16>) -> BytesPerSecond {
    let line = speed.lane_bytes_per_second().0 * f64::from(width.0);
    let overhead = if speed.generation() >= 6 { FLIT_OVERHEAD } else { PACKET_OVERHEAD };
    let share = payload.map_or(1.0, |payload| f64::from(payload) / (f64::from(payload) + overhead));
    BytesPerSecond(line * share)
}

/// The limit of the link between `node` and the port above it; `None` where there is none, where nobody says what it
/// runs at, and where what is said is known to be a fake.
pub(super) fn limit(tree: &PciTree, index: NodeIndex) -> Option<Limit> {
    let node = tree.node(index);
    let above = tree.node(node.parent?);
    // The bus inside a switch is no link, and neither is the root bus.
    let inside = node.kind == NodeKind::SwitchDownstream
        || matches!(above.kind, NodeKind::RootComplex | NodeKind::SwitchUpstream);
    if inside || fake(tree, index).is_some() || is_tunnelled(tree, index) {
        return None;
    }
    let (speed, width) = trained(node, above)?;
    let payload = payload_of(node, above);
    let rate = payload_rate(speed, width, payload);
    let port = above.address;
    let because = match payload {
        Some(bytes) => format!("{speed} {width} at MPS {bytes}, port {port}"),
        None => format!(
            "{speed} {width} by line coding alone, port {port}: MPS cannot be read; at 256 B it would be {:.0} % of this",
            100.0 * payload_rate(speed, width, Some(256)).0 / rate.0
        ),
    };
    Some(Limit { bytes_per_second: rate, basis: Basis::Link, because, node: Some(index) })
}

/// What both ends say they run at: the lower word of each. An end that does not say is not asked.
fn trained(node: &PciNode, above: &PciNode) -> Option<(TransferRate, Lanes)> {
    let links = [node.link.as_ref(), above.link.as_ref()];
    let speed = links.iter().filter_map(|link| link.as_ref()?.speed.get()).min()?;
    let width = links.iter().filter_map(|link| link.as_ref()?.width.get()).min()?;
    Some((speed, width))
}

/// Max Payload Size on this link: the lower of both ends', if either can be read.
fn payload_of(node: &PciNode, above: &PciNode) -> Option<u16> {
    [node, above].into_iter().filter_map(|end| Some(end.express.value()?.payload)).min()
}

/// Why the link above a node is one inside a chip, whose registers say nothing true; `None` when it is a real one. The
/// port is in the table, or its slot bit is clear. A chipset's own uplink and a drive soldered to the board are links even
/// without a slot.
pub fn fake(tree: &PciTree, index: NodeIndex) -> Option<String> {
    let node = tree.node(index);
    let above = tree.node(node.parent?);
    if let Some(row) = internal(above) {
        return Some(format!(
            "port {} leads to the {}: no real link ({})",
            above.address,
            row.name,
            row.mark.words()
        ));
    }
    let is_drive = node.class.get().is_some_and(|class| class >> 8 == 0x01_08);
    let no_slot = above.express.value().is_some_and(|express| !express.slot_implemented)
        && matches!(above.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    (no_slot && !is_drive && chipset::of_port(node).is_none())
        .then(|| format!("port {} has no slot: its link is inside a chip or not told truly", above.address))
}

/// The row of a port that leads to the inside of a chip.
pub(super) fn internal(port: &PciNode) -> Option<&'static tables::Internal> {
    let (vendor, device) = (port.vendor.get()?, port.device.get()?);
    let rows = &tables::chipsets().internal;
    rows.iter().find(|row| vendor == row.vendor && row.devices.contains(&device))
}

/// Whether a node is behind a Thunderbolt or USB4 port: a tunnel shows 2.5 GT/s whatever it carries.
pub(super) fn is_tunnelled(tree: &PciTree, index: NodeIndex) -> bool {
    tree.ancestry(index).any(|at| {
        let node = tree.node(at);
        let is_bridge = node.kind != NodeKind::Endpoint && matches!(node.address, NodeAddress::Device(_));
        let name = node.names.device.as_ref().map_or("", |name| name.as_str());
        is_bridge && ["Thunderbolt", "USB4"].iter().any(|word| name.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(mega: u32, lanes: u8, payload: Option<u16>) -> f64 {
        payload_rate(TransferRate::from_mega(mega).unwrap(), Lanes(lanes), payload).0
    }

    #[test]
    fn published_links_come_out() {
        for (mega, lanes, payload, gigabytes) in [
            (16_000, 4, None, "7.877"),
            (16_000, 4, Some(128), "6.633"),
            (16_000, 4, Some(256), "7.202"),
            (16_000, 4, Some(512), "7.524"),
            (8_000, 4, Some(256), "3.601"),
            (2_500, 1, Some(128), "0.211"),
            (64_000, 4, Some(256), "27.765"),
        ] {
            assert_eq!(
                format!("{:.3}", rate(mega, lanes, payload) / 1e9),
                gigabytes,
                "{mega} x{lanes} {payload:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn more_lanes_speed_or_payload_never_carry_less(
            code in 1_u8..=5, lanes in 1_u8..=16, exponent in 0_u32..5,
        ) {
            let speed = |code| TransferRate::from_code(code).unwrap();
            let payload = 128_u16 << exponent;
            let here = payload_rate(speed(code), Lanes(lanes), Some(payload)).0;
            prop_assert!(payload_rate(speed(code + 1), Lanes(lanes), Some(payload)).0 > here);
            prop_assert!(payload_rate(speed(code), Lanes(lanes + 1), Some(payload)).0 > here);
            prop_assert!(payload_rate(speed(code), Lanes(lanes), Some(payload * 2)).0 > here);
            prop_assert!(payload_rate(speed(code), Lanes(lanes), None).0 > here);
        }
    }
}
