//! Limit of a PCI Express link: speed, width, encoding, and the share of payload in its packets.

use crate::{
    machine::{
        PciNode, PciTree, hop,
        pci::{NodeAddress, NodeKind},
    },
    model::{Basis, Limit, NodeIndex},
    units::{BytesPerSecond, Lanes, TransferRate},
};

use super::{chipset, payload::payload_rate, tables};

/// Current speed and width of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trained {
    speed: TransferRate,
    width: Lanes,
}

impl Trained {
    /// Payload bytes per second, as [`payload_rate`].
    pub fn rate(self, payload: Option<u16>) -> f64 {
        payload_rate(self.speed, self.width, payload).0
    }

    /// The same for packets of several sizes, each with its share of the bytes.
    pub fn mixed_rate(self, packets: &[(u16, f64)]) -> f64 {
        let bytes: f64 = packets.iter().map(|(_, bytes)| bytes).sum();
        let seconds: f64 = packets.iter().map(|(payload, bytes)| bytes / self.rate(Some(*payload))).sum();
        bytes / seconds
    }
}

/// State of the link between `node` and the port above it; `None` without a link, a known state or true registers.
pub(super) fn trained(tree: &PciTree, index: NodeIndex) -> Option<Trained> {
    let node = tree.node(index);
    let above = tree.node(node.parent?);
    if !is_real(tree, index) {
        return None;
    }
    let links = [node.link.as_ref(), above.link.as_ref()];
    let speed = links.iter().filter_map(|link| link.as_ref()?.speed.get()).min()?;
    let width = links.iter().filter_map(|link| link.as_ref()?.width.get()).min()?;
    Some(Trained { speed, width })
}

/// Before the port in the words of a link's limit.
const PORT: &str = ", port ";

/// The words of a link's limit that equal links share.
pub(super) fn without_port(because: &str) -> &str {
    because.split_once(PORT).map_or(because, |(link, _)| link)
}

/// Payload bytes per second of a function's own link at its highest speed and width (its link capabilities register),
/// whatever it is plugged into, with the sentence for it; `None` where it has no link or the link is not real.
pub(super) fn capability(tree: &PciTree, function: NodeIndex) -> Option<(f64, String)> {
    let link = tree.node(function).link.as_ref().filter(|_| is_real(tree, function))?;
    let most = Trained { speed: link.max_speed.get()?, width: link.max_width.get()? };
    let payload = payload_of(tree, function);
    let packets =
        payload.map_or_else(|| "by line coding alone".to_owned(), |bytes| format!("at MPS {bytes}"));
    Some((most.rate(payload), format!("at most, its own link at {} {} {packets}", most.speed, most.width)))
}

/// Limit of the link between `node` and the port above it for packets of the drives below. A switch passes packets on
/// unchanged, so their size counts, not the one set at this link. `awake` is the state of a link under load that sleeps now.
pub(super) fn limit(
    tree: &PciTree,
    index: NodeIndex,
    packets: &[(u16, f64)],
    awake: Option<hop::Pair>,
) -> Option<Limit> {
    let node = tree.node(index);
    let above = tree.node(node.parent?);
    let now = trained(tree, index)?;
    let link = awake.map_or(now, |(speed, width)| Trained { speed, width });
    let under_load = if awake.is_some() { " when awake" } else { "" };
    let at = format!("{}{under_load}", hop::sentence((link.speed, link.width)));
    let port = above.address;
    let set = [node, above].into_iter().filter_map(|end| end.express.value()?.payload).min();
    let mut sizes: Vec<u16> = packets.iter().map(|(payload, _)| *payload).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let rate = if sizes.is_empty() { link.rate(set) } else { link.mixed_rate(packets) };
    let because = match (set, sizes.as_slice()) {
        (None, []) => format!(
            "{at} by line coding alone{PORT}{port}: MPS cannot be read; at 256 B it would be {:.0} % of this",
            100.0 * link.rate(Some(256)) / rate
        ),
        (Some(bytes), []) => format!("{at} at MPS {bytes}{PORT}{port}"),
        (set, [bytes]) if set.is_none_or(|set| set == *bytes) => {
            format!("{at} at MPS {bytes}{PORT}{port}")
        }
        (set, sizes) => {
            let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
            let here = set.map_or_else(String::new, |set| format!(" (set here: {set})"));
            format!("{at} at MPS {} of the drives below{here}{PORT}{port}", sizes.join(" and "))
        }
    };
    let bytes_per_second = BytesPerSecond(rate);
    Some(Limit { bytes_per_second, basis: Basis::Link, because, node: Some(index) })
}

/// Max Payload Size of packets that a function sends: the lowest on its path, if its own can be read.
pub(super) fn payload_of(tree: &PciTree, function: NodeIndex) -> Option<u16> {
    tree.node(function).express.value()?.payload?;
    let way = tree.whole_ancestry(function).map(|at| tree.node(at)).filter(|node| node.link.is_some());
    way.filter_map(|node| node.express.value()?.payload).min()
}

/// Whether there is a link between a node and the one above it, with true registers.
pub fn is_real(tree: &PciTree, index: NodeIndex) -> bool {
    let node = tree.node(index);
    let Some(above) = node.parent.map(|above| tree.node(above)) else { return false };
    // The bus inside a switch is not a link, and neither is the root bus.
    let inside = node.is_below_gap
        || matches!(node.kind, NodeKind::SwitchDownstream | NodeKind::RootComplex)
        || matches!(above.kind, NodeKind::RootComplex | NodeKind::SwitchUpstream);
    !inside && no_limit(tree, index).is_none()
}

/// Why the registers of the link above a node are no limit: emulated, inside a chip, or a tunnel; `None` for a real
/// link.
pub fn no_limit(tree: &PciTree, index: NodeIndex) -> Option<String> {
    let node = tree.node(index);
    if node.is_emulated() {
        return Some("the hypervisor emulates this device and its link".to_owned());
    }
    fake(tree, index).or_else(|| {
        is_tunnelled(tree, index).then(|| {
            "behind Thunderbolt or USB4, whose tunnels report 2.5 GT/s whatever they carry".to_owned()
        })
    })
}

/// Why the link above a node is inside a chip, with false registers; `None` for a real link. The port is in the
/// table, or its slot bit is clear. A chipset's own uplink, a drive soldered to the board and a switch with drives
/// below are links even without a slot.
fn fake(tree: &PciTree, index: NodeIndex) -> Option<String> {
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
    let leads_to_drives = || {
        node.is_nvme()
            || (node.kind == NodeKind::SwitchUpstream
                && tree.subtree(index).into_iter().any(|at| tree.node(at).is_nvme()))
    };
    let no_slot = above.express.value().is_some_and(|express| express.slot_implemented == Some(false))
        && matches!(above.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    (no_slot && !leads_to_drives() && chipset::of_port(node).is_none())
        .then(|| format!("port {} has no slot: its link is inside a chip or misreported", above.address))
}

/// The table's row of a port inside a chip.
pub(super) fn internal(port: &PciNode) -> Option<&'static tables::Internal> {
    let (vendor, device) = (port.vendor.get()?, port.device.get()?);
    let rows = &tables::chipsets().internal;
    rows.iter().find(|row| vendor == row.vendor && row.devices.contains(&device))
}

/// Words in the names of ports and switches that tunnel PCI Express.
const TUNNELS: [&str; 3] = ["Thunderbolt", "USB4", "ASM4242"];

/// Whether a node is behind a Thunderbolt or USB4 port: tunnels always report 2.5 GT/s.
pub(super) fn is_tunnelled(tree: &PciTree, index: NodeIndex) -> bool {
    tree.ancestry(index).any(|at| {
        let node = tree.node(at);
        let is_bridge = node.kind != NodeKind::Endpoint && matches!(node.address, NodeAddress::Device(_));
        let name = node.names.device.as_ref().map_or("", |name| name.as_str());
        is_bridge && TUNNELS.iter().any(|word| name.contains(word))
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
