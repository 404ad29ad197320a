//! State of a link: as fast as both ends can be, slower, held back by its slot, or slow because its device idles.

use super::{chipset, link};
use crate::{
    machine::{HopLink, Link, Machine, NodeKind, PciNode, PciTree, hop},
    model::NodeIndex,
};

/// State of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// As fast as both ends can be, or no link between two devices.
    Fine,
    /// Not known; slower than one end and the capability of the other is not known; or the device's capability is not known.
    Unknown,
    /// Slower than both its ends can be.
    Slow,
    /// The port can do less than the device.
    SlotLimited,
    /// A display or an accelerator that lowered the speed of its link while idle.
    Idle,
    /// No link is up: the register has width 0, as of an empty slot.
    Down,
}

impl LinkState {
    /// Its name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Unknown => "unknown",
            Self::Slow => "downtrained",
            Self::SlotLimited => "slot-limited",
            Self::Idle => "idle",
            Self::Down => "none",
        }
    }
}

/// State of the link that `node` reports.
pub(crate) fn state(machine: &Machine, node: NodeIndex) -> LinkState {
    let tree = &machine.pci;
    let Some(found) = HopLink::above(machine, node) else { return LinkState::Fine };
    if tree.node(node).link.as_ref().is_some_and(Link::is_down) {
        return LinkState::Down;
    }
    match device_of(tree, node) {
        // A text may lack what is there.
        None if machine.pasted.is_some() && (found.now.is_none() || found.is_slow()) => LinkState::Unknown,
        // An empty port trains nothing.
        None => LinkState::Fine,
        Some(device) => of_device(machine, device, &found),
    }
}

/// The device below the link that `node` reports: root ports and downstream ports report the link below them.
fn device_of(tree: &PciTree, node: NodeIndex) -> Option<NodeIndex> {
    let is_port = matches!(tree.node(node).kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    if is_port { tree.first_below(node) } else { Some(node) }
}

/// Whether a device lowered the speed of this link while idle, whatever its width.
pub(crate) fn is_asleep(machine: &Machine, node: NodeIndex) -> bool {
    let is_slower = || {
        let (now, most) = HopLink::above(machine, node).and_then(|link| link.now.zip(link.most))?;
        Some(now.0 < most.0 && lowers_speed(&machine.pci, device_of(&machine.pci, node)?))
    };
    match state(machine, node) {
        LinkState::Idle => true,
        LinkState::Slow => is_slower().unwrap_or(false),
        _ => false,
    }
}

/// Speed and width under load of a link whose device lowered its speed while idle: the speed of both ends, with the lanes that it
/// has; `None` for any other link.
pub(crate) fn awake(machine: &Machine, node: NodeIndex) -> Option<hop::Pair> {
    let (now, most) = HopLink::above(machine, node).and_then(|link| link.now.zip(link.most))?;
    is_asleep(machine, node).then_some((most.0, now.1))
}

/// State of the link above `device`.
pub(crate) fn of_device(machine: &Machine, device: NodeIndex, found: &HopLink) -> LinkState {
    let tree = &machine.pci;
    if found.now.is_none() || found.is_slow() && !found.has_both_ends() {
        return LinkState::Unknown;
    }
    if !link::is_real(tree, device) {
        return LinkState::Fine;
    }
    if !found.is_slow() && found.device_most.is_none() {
        return LinkState::Unknown;
    }
    let is_fast = found.now.zip(found.most).is_some_and(|(now, most)| now.0 >= most.0);
    let is_wired = found.now.is_some_and(|(_, width)| chipset::is_wired(tree.node(device), width));
    match (found.is_slow(), found.is_slot_limited()) {
        (true, _) if is_fast && is_wired => LinkState::Fine,
        (true, _) if found.is_full_width() && lowers_speed(tree, device) => LinkState::Idle,
        (true, _) => LinkState::Slow,
        (false, true) => LinkState::SlotLimited,
        (false, false) => LinkState::Fine,
    }
}

/// Whether the card with this device lowers the speed of its link while it idles: a display or an accelerator, behind a
/// switch of its own too.
pub(crate) fn lowers_speed(tree: &PciTree, device: NodeIndex) -> bool {
    /// Bridges of one card.
    const DEEPEST: usize = 4;
    let mut at = device;
    for _ in 0..=DEEPEST {
        let node = tree.node(at);
        if node.kind == NodeKind::Endpoint {
            let functions = node.parent.map_or(&[][..], |port| &tree.node(port).children);
            return idles(node) || functions.iter().any(|function| idles(tree.node(*function)));
        }
        let are_functions = node.children.iter().all(|child| tree.node(*child).kind == NodeKind::Endpoint);
        match node.children.as_slice() {
            [first, rest @ ..] if rest.is_empty() || are_functions => at = *first,
            // Several ports: a chipset, or a card with several devices.
            _ => return false,
        }
    }
    false
}

/// Base class of displays and of processing accelerators.
fn idles(node: &PciNode) -> bool {
    node.class.get().is_some_and(|class| matches!(class >> 16, 0x03 | 0x12))
}

/// Whether the link above `device` is between the switch of a graphics card and its chip.
pub(crate) fn is_inside_card(tree: &PciTree, device: NodeIndex) -> bool {
    let port = tree.node(device).parent.filter(|port| tree.node(*port).kind == NodeKind::SwitchDownstream);
    let switch = port.and_then(|port| tree.node(port).parent);
    switch.is_some_and(|switch| lowers_speed(tree, switch))
}

/// From `node` up to `head`, or to the root complex where a row has no head.
pub(crate) fn chain(tree: &PciTree, head: Option<NodeIndex>, node: NodeIndex) -> Vec<NodeIndex> {
    let mut nodes = Vec::new();
    for at in tree.ancestry(node) {
        nodes.push(at);
        if Some(at) == head {
            break;
        }
    }
    nodes
}

/// Of the links of a card's chain of bridges, the one that carries least: a graphics card's own switch has links inside it.
pub(crate) fn slowest(machine: &Machine, head: Option<NodeIndex>, node: NodeIndex) -> NodeIndex {
    let rate = |at: &NodeIndex| {
        let (speed, width) = HopLink::above(machine, *at)?.now?;
        link::is_real(&machine.pci, *at).then(|| speed.lane_bytes_per_second().0 * f64::from(width.0))
    };
    let chain = chain(&machine.pci, head, node);
    let real = chain.iter().filter_map(|at| Some((*at, rate(at)?)));
    real.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(node, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Reading, source, units::Lanes};

    fn demo(name: &str) -> Machine {
        source::testing::demo(name)
    }

    fn at(machine: &Machine, address: &str) -> NodeIndex {
        machine.pci.find(address.parse().unwrap()).unwrap()
    }

    #[test]
    fn every_function_of_a_display_idles_and_a_drive_never_does() {
        let laptop = demo("laptop");
        for address in ["0000:00:03.1", "0000:06:00.0", "0000:06:00.1"] {
            assert_eq!(state(&laptop, at(&laptop, address)), LinkState::Idle, "{address}");
        }
        for address in ["0000:00:01.1", "0000:01:00.0"] {
            assert_eq!(state(&laptop, at(&laptop, address)), LinkState::Slow, "{address}");
        }
        assert_eq!(
            state(&laptop, at(&laptop, "0000:00:01.2")),
            LinkState::Fine,
            "a chipset has several ports"
        );
    }

    #[test]
    fn the_limit_of_an_idle_link_is_its_rate_when_awake() {
        for (demo_name, address) in [("laptop", "0000:06:00.0"), ("laptop", "0000:06:00.1")] {
            let machine = demo(demo_name);
            let limits = crate::capacity::limits(&machine);
            let limit = limits.path(at(&machine, address)).unwrap();
            assert!(limit.because.starts_with("Gen4 x16 (16 GT/s) when awake at MPS"), "{}", limit.because);
            assert!((28e9..31e9).contains(&limit.bytes_per_second.0), "{limit:?}");
        }
        let laptop = demo("laptop");
        assert_eq!(awake(&laptop, at(&laptop, "0000:01:00.0")), None, "a drive does not sleep so");
    }

    #[test]
    fn a_display_with_half_its_lanes_is_short_of_lanes_while_its_speed_is_asleep() {
        let mut laptop = demo("laptop");
        for node in &mut laptop.pci.nodes {
            let Some(link) = node.link.as_mut().filter(|link| link.width.get() == Some(Lanes(16))) else {
                continue;
            };
            link.width = Reading::known(link.width.path(), Lanes(8));
        }
        let display = at(&laptop, "0000:06:00.0");
        assert_eq!((state(&laptop, display), is_asleep(&laptop, display)), (LinkState::Slow, true));
        let limits = crate::capacity::limits(&laptop);
        let limit = limits.path(display).unwrap();
        assert!(limit.because.starts_with("Gen4 x8 (16 GT/s) when awake at MPS"), "{}", limit.because);
        let link = HopLink::above(&laptop, display).unwrap();
        assert_eq!(link.column_asleep(), "Gen1 x8 < x16, idle");
        let sentence = "Gen1 x8 (2.5 GT/s), could be Gen4 x16: x8 of 16 lanes; slower while idle";
        assert_eq!(link.sentence_asleep(), sentence);
        assert!(!is_asleep(&laptop, at(&laptop, "0000:01:00.0")), "a drive");
    }

    #[test]
    fn a_card_behind_its_own_switch_is_judged_at_its_slot() {
        let x570 = demo("x570");
        assert_eq!(state(&x570, at(&x570, "0000:03:00.0")), LinkState::SlotLimited);
        assert!(lowers_speed(&x570.pci, at(&x570, "0000:03:00.0")));
        assert!(is_inside_card(&x570.pci, at(&x570, "0000:05:00.0")));
        assert!(!is_inside_card(&x570.pci, at(&x570, "0000:03:00.0")), "below the chipset");
        assert!(!lowers_speed(&x570.pci, at(&x570, "0000:01:00.0")), "the chipset");
    }
}
