//! Assumptions of a prediction; every view of the prediction lists them.

use std::fmt;

use crate::{
    capacity::{
        Slot,
        exchange::{self, Exchanged},
        link_state, slots,
    },
    machine::{Link, Machine, NodeKind, hop, pci::NodeAddress},
    model::{DriveName, NodeIndex},
    units::{Lanes, TransferRate},
};

/// An assumption. Addresses are today's unless the text names others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assumption {
    /// Drives behind neighbouring ports are one card.
    OneCard {
        /// The drives.
        drives: Vec<DriveName>,
        /// Their first port.
        port: String,
        /// Their last port.
        last: String,
    },
    /// A switch with all behind it is one card.
    SwitchCard {
        /// The switch's upstream port.
        switch: String,
    },
    /// The slot takes the card: length, height, power, and no slower part between slot and CPU.
    SlotTakes {
        /// The slot's first port.
        port: String,
        /// The new content.
        what: String,
    },
    /// Firmware splits the slot.
    Bifurcation {
        /// The slot's first port.
        port: String,
        /// `x4x4x4x4`.
        split: String,
    },
    /// The slot's lanes are unknown.
    LanesUnknown {
        /// The slot's first port.
        port: String,
    },
    /// A device gets fewer lanes than it could use.
    Narrowed {
        /// The device.
        what: String,
        /// Lanes it gets.
        lanes: Lanes,
        /// Lanes it could use.
        of: Lanes,
    },
    /// A link below the maximum of both ends keeps its state.
    StaysLow {
        /// The device.
        what: String,
        /// Its state.
        runs: String,
    },
    /// A device that lowers its link's speed while idle is planned as it runs under load.
    Awake {
        /// The device.
        what: String,
        /// Its link under load, after the move.
        runs: String,
        /// Its link while idle.
        idle: String,
    },
    /// The displaced device has no significant traffic besides the drives.
    OtherIsQuiet {
        /// The displaced device.
        what: String,
    },
    /// The slot has the maximum speed that the user asked for.
    SlotSpeed {
        /// The slot's first port.
        port: String,
        /// The rate.
        speed: TransferRate,
    },
    /// Buses are numbered as firmware would.
    Renumbered,
    /// Devices keep today's addresses, since today's have gaps.
    AddressesKept,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneCard { drives, port, last } => {
                let names: Vec<&str> = drives.iter().map(DriveName::as_str).collect();
                write!(
                    f,
                    "{} are on one card: their ports {port} to {last} are adjacent, with four lanes each (name a port to move one drive)",
                    names.join(", ")
                )
            }
            Self::SwitchCard { switch } => {
                write!(
                    f,
                    "the switch {switch} is on the card and moves with all devices below it (name one of its ports to move one drive)"
                )
            }
            Self::SlotTakes { port, what } => write!(
                f,
                "the slot at {port} takes {what}: length, height and power suffice, and no riser or missing retimer slows it"
            ),
            // No register reports the lanes of its ports.
            Self::Bifurcation { port, split } if split.is_empty() => {
                write!(f, "firmware is set to split the slot at {port} for several devices")
            }
            Self::Bifurcation { port, split } => {
                write!(f, "firmware is set to split the slot at {port} into {split}")
            }
            Self::LanesUnknown { port } => {
                write!(f, "the slot at {port} has enough lanes: no register reports them")
            }
            Self::Narrowed { what, lanes, of } => {
                write!(f, "{what} runs with {lanes} instead of {of}")
            }
            Self::StaysLow { what, runs } => {
                write!(f, "{what} stays at {runs}, below its maximum: idle or downtrained")
            }
            Self::Awake { what, runs, idle } => {
                write!(f, "{what} runs at {runs} under load; its link is at {idle} while idle")
            }
            Self::OtherIsQuiet { what } => write!(f, "{what} has no significant traffic besides the drives"),
            Self::SlotSpeed { port, speed } => {
                write!(f, "the slot at {port} runs at {} at most", hop::speed_sentence(*speed))
            }
            Self::Renumbered => write!(f, "firmware renumbers the buses in order, as it did before"),
            Self::AddressesKept => {
                write!(f, "devices keep their addresses: bus numbers have gaps, so new ones are unknown")
            }
        }
    }
}

impl Assumption {
    /// Assumptions that make several functions one card.
    pub(super) fn whole(machine: &Machine, functions: &[NodeIndex]) -> Vec<Self> {
        let tree = &machine.pci;
        let ports: Vec<NodeIndex> =
            functions.iter().filter_map(|function| tree.node(*function).parent).collect();
        let mut found = Vec::new();
        if let ([first, ..], [.., last]) = (ports.as_slice(), ports.as_slice())
            && first != last
        {
            let drives = machine.hardware_drives();
            let drives = drives.filter(|drive| drive.node.is_some_and(|node| functions.contains(&node)));
            found.push(Self::OneCard {
                drives: drives.map(|drive| drive.name.clone()).collect(),
                port: tree.node(*first).address.to_string(),
                last: tree.node(*last).address.to_string(),
            });
        }
        let switches =
            functions.iter().filter(|function| tree.node(**function).kind == NodeKind::SwitchUpstream);
        found.extend(
            switches.map(|switch| Self::SwitchCard { switch: tree.node(*switch).address.to_string() }),
        );
        found
    }

    /// Assumptions of an exchange of two slots.
    pub(super) fn of_exchange(before: &Machine, from: &Slot, to: &Slot, next: &Exchanged) -> Vec<Self> {
        let mut found = Vec::new();
        for (here, there) in [(from, to), (to, from)] {
            let functions = here.content(&before.pci);
            if functions.is_empty() {
                continue;
            }
            let port = before.pci.node(there.ports[0]).address.to_string();
            found.push(Self::SlotTakes { port: port.clone(), what: names(before, &functions) });
            if there.lanes(&before.pci).is_none() {
                found.push(Self::LanesUnknown { port: port.clone() });
            }
            if here.is_card(&before.pci) && here.ports.len() != there.ports.len() {
                let split = split(&next.machine, next, &functions);
                found.push(Self::Bifurcation { port, split });
            }
            for function in &functions {
                found.extend(of_link(before, *function, next));
            }
        }
        let given_way = to.content(&before.pci);
        let has_drives = |at: &NodeIndex| before.drives.iter().any(|drive| drive.node == Some(*at));
        if !given_way.is_empty()
            && !given_way.iter().flat_map(|at| before.pci.subtree(*at)).any(|at| has_drives(&at))
        {
            found.push(Self::OtherIsQuiet { what: names(before, &given_way) });
        }
        found
    }

    /// The assumption about changed addresses, if any changed.
    pub(super) fn addresses(today: &Machine, then: &Exchanged) -> Option<Self> {
        let before = then.was.iter().map(|was| Some(&today.pci.node((*was)?).path));
        let moved =
            then.machine.pci.nodes.iter().zip(before).any(|(node, before)| before != Some(&node.path));
        moved.then_some(if then.renumbered { Self::Renumbered } else { Self::AddressesKept })
    }
}

/// Assumptions about the link of a moved function; the first function of a device stands for all.
fn of_link(before: &Machine, function: NodeIndex, next: &Exchanged) -> Vec<Assumption> {
    let is_first =
        matches!(before.pci.node(function).address, NodeAddress::Device(address) if address.function == 0);
    let (Some(now), true) = (next.now(function), is_first) else { return Vec::new() };
    let what = names(before, &[function]);
    let link = next.machine.pci.node(now).link.as_ref();
    let width = |link: Option<&Link>| link.and_then(|link| link.width.get());
    let (had, has) = (width(before.pci.node(function).link.as_ref()), width(link));
    let mut found = Vec::new();
    if let (Some(of), Some(lanes)) = (had, has)
        && lanes < of
    {
        found.push(Assumption::Narrowed { what: what.clone(), lanes, of });
    }
    let pair = |link: Option<&Link>| link.and_then(|link| Some((link.speed.get()?, link.width.get()?)));
    let (today, then) = (pair(before.pci.node(function).link.as_ref()), pair(link));
    if let Some(((idle, _), runs)) = today.zip(then)
        && link_state::is_asleep(before, function)
    {
        let (runs, idle) = (hop::sentence(runs), hop::speed_sentence(idle));
        found.push(Assumption::Awake { what: what.clone(), runs, idle });
    }
    if let Some(runs) = then.filter(|_| exchange::runs_low(&before.pci, function)) {
        found.push(Assumption::StaysLow { what, runs: hop::sentence(runs) });
    }
    found
}

/// `x4x4x4x4`: the ports of the slot that these functions are in now.
fn split(now: &Machine, next: &Exchanged, functions: &[NodeIndex]) -> String {
    let of_functions = functions.iter().filter_map(|function| now.pci.node(next.now(*function)?).parent);
    let of_functions: Vec<NodeIndex> = of_functions.collect();
    let slot = of_functions.first().and_then(|port| slots::of_port(now, *port));
    let ports = slot.map(|slot| slot.ports).filter(|ports| ports.len() > 1).unwrap_or(of_functions);
    let width = |port: NodeIndex| now.pci.node(port).link.as_ref()?.max_width.get();
    ports.into_iter().filter_map(width).map(|lanes| lanes.to_string()).collect()
}

/// Names of functions: drives by kernel name, others by product.
pub fn names(machine: &Machine, functions: &[NodeIndex]) -> String {
    let below: Vec<NodeIndex> =
        functions.iter().flat_map(|function| machine.pci.subtree(*function)).collect();
    let drives: Vec<&str> = machine
        .hardware_drives()
        .filter(|drive| drive.node.is_some_and(|node| below.contains(&node)))
        .map(|drive| drive.name.as_str())
        .collect();
    match (drives.as_slice(), functions.first()) {
        ([one], _) => (*one).to_owned(),
        ([first, second], _) => format!("{first} and {second}"),
        ([first, .., last], _) => format!("the card with {first} to {last}"),
        ([], Some(function)) => product(machine, *function),
        ([], None) => "nothing".to_owned(),
    }
}

/// `NVIDIA Quadro P620`: of a card with a switch of its own, the product behind it.
pub(crate) fn product(machine: &Machine, function: NodeIndex) -> String {
    let node = machine.pci.node(only_device(machine, function).unwrap_or(function));
    node.product().unwrap_or_else(|| format!("{} {}", node.address, node.name()))
}

/// The first function of the only device below.
fn only_device(machine: &Machine, function: NodeIndex) -> Option<NodeIndex> {
    let node = machine.pci.node(function);
    if node.kind == NodeKind::Endpoint {
        return Some(function);
    }
    match node.children.as_slice() {
        [only] => only_device(machine, *only),
        several if machine.pci.are_one_device(several) => several.first().copied(),
        _ => None,
    }
}
