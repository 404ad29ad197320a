//! Moves as users write them: addresses, drive names and ranges become nodes, or an error with a fix.

use std::fmt;

use crate::{
    capacity::{Slot, slots},
    machine::{Machine, PciTree, pci::NodeAddress},
    model::NodeIndex,
    units::TransferRate,
};

/// A requested move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Drives, cards or ports, as nodes of the tree.
    pub devices: Vec<NodeIndex>,
    /// A root complex, a switch or a port; `None`: they stay where they are.
    pub under: Option<NodeIndex>,
    /// Maximum speed of their slot; `None`: the port's own.
    pub speed: Option<TransferRate>,
}

/// Why a move is impossible. One line: the option with its text, the problem, the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} {about}: {wrong}; {fix}")]
pub struct MoveError {
    /// `--move` or `--under`.
    pub option: &'static str,
    /// The device or place as the user wrote it.
    pub about: String,
    /// The problem.
    pub wrong: String,
    /// The fix.
    pub fix: String,
}

impl MoveError {
    pub(super) fn of_move(
        about: &dyn fmt::Display,
        wrong: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { option: "--move", about: about.to_string(), wrong: wrong.into(), fix: fix.into() }
    }

    pub(super) fn of_under(
        about: &dyn fmt::Display,
        wrong: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { option: "--under", ..Self::of_move(about, wrong, fix) }
    }

    /// The same error about the words of the command line, where it is about an address that they stand for.
    pub(crate) fn in_words(self, machine: &Machine, devices: &str, under: &str) -> Self {
        let is_meant = |word: &str| {
            node(machine, word).is_some_and(|at| machine.pci.node(at).address.to_string() == self.about)
        };
        if self.option == "--move" {
            let mut words = devices.split(',').map(str::trim);
            let about = words.find(|word| is_meant(word)).unwrap_or(&self.about).to_owned();
            return Self { about, ..self };
        }
        let is_whole = self.about == under || is_meant(under.split('@').next().unwrap_or(under));
        let wrong = if is_whole { self.wrong } else { format!("{}: {}", self.about, self.wrong) };
        Self { about: under.to_owned(), wrong, ..self }
    }

    /// The same error with today's address of the place.
    pub(super) fn named(self, address: NodeAddress) -> Self {
        Self { option: "--under", about: address.to_string(), ..self }
    }
}

impl Move {
    /// Parses the command line's words.
    ///
    /// `devices`: addresses, drive names or ranges of addresses in bus order (`0000:41:00.0-0000:44:00.0`), separated
    /// by commas. `under`: the address of a root complex, switch or port; a generation of its slot (`gen3`); or both,
    /// `0000:60@gen3`. A missing domain is 0000.
    ///
    /// # Errors
    /// A word is not an address, or this machine has no such place.
    pub fn parse(machine: &Machine, devices: &str, under: &str) -> Result<Self, MoveError> {
        let mut nodes = Vec::new();
        for word in devices.split(',').map(str::trim) {
            match word.split_once('-') {
                Some((first, last))
                    if machine.pci.iter().any(|(_, node)| is_written(node.address, first.trim())) =>
                {
                    nodes.extend(range(machine, word, first.trim(), last.trim())?);
                }
                _ => nodes.push(device(machine, word)?),
            }
        }
        let (place, speed) = match under.split_once('@') {
            Some((place, speed)) => {
                let wrong = "not a PCI Express generation";
                let fix = "write gen1 to gen6 behind the @, gen3 for 8 GT/s";
                let speed = generation(speed).ok_or_else(|| MoveError::of_under(&under, wrong, fix))?;
                (Some(place), Some(speed))
            }
            None => match generation(under) {
                Some(speed) => (None, Some(speed)),
                None => (Some(under), None),
            },
        };
        let place =
            place.map(|place| node(machine, place).ok_or_else(|| no_such_place(machine, under, place)));
        Ok(Self { devices: nodes, under: place.transpose()?, speed })
    }
}

/// `gen1` to `gen6`.
fn generation(word: &str) -> Option<TransferRate> {
    TransferRate::from_code(word.trim().strip_prefix("gen")?.parse().ok()?)
}

/// Whether a word is this address, with or without its domain.
fn is_written(address: NodeAddress, word: &str) -> bool {
    let whole = address.to_string();
    whole.eq_ignore_ascii_case(word)
        || whole.strip_prefix("0000:").is_some_and(|short| short.eq_ignore_ascii_case(word))
}

fn node(machine: &Machine, word: &str) -> Option<NodeIndex> {
    let word = word.trim();
    let drive = machine.drives.iter().find(|drive| drive.name.as_str() == word).and_then(|drive| drive.node);
    drive.or_else(|| {
        machine.pci.iter().find(|(_, node)| is_written(node.address, word)).map(|(index, _)| index)
    })
}

fn device(machine: &Machine, word: &str) -> Result<NodeIndex, MoveError> {
    node(machine, word).ok_or_else(|| {
        let wrong = if word.is_empty() { "no address" } else { "no such device on this machine" };
        let plugged = slots::all(machine).into_iter().flat_map(|slot| slot.content(&machine.pci));
        let fix = closest(plugged, machine, word) + &movable(machine);
        MoveError::of_move(&word, wrong, fix)
    })
}

/// The functions of a range in bus order that are in slots.
fn range(machine: &Machine, word: &str, first: &str, last: &str) -> Result<Vec<NodeIndex>, MoveError> {
    let address = |word: &str| match machine.pci.node(device(machine, word)?).address {
        NodeAddress::Device(address) => Ok(address),
        NodeAddress::Root { .. } => Err(MoveError::of_move(
            &word,
            "a range goes from one function to another",
            "write it as 0000:41:00.0-0000:44:00.0",
        )),
    };
    let (first, last) = (address(first)?, address(last)?);
    if first > last {
        let fix = format!("write it in bus order, {last}-{first}");
        return Err(MoveError::of_move(&word, "the range ends before it begins", fix));
    }
    let tree = &machine.pci;
    let is_in =
        |address: NodeAddress| matches!(address, NodeAddress::Device(at) if (first..=last).contains(&at));
    let plugged = |index: NodeIndex| tree.node(index).parent.is_some_and(|port| slots::is_slot(tree, port));
    let ports_too =
        [first, last].iter().all(|end| tree.find(*end).is_some_and(|at| slots::is_slot(tree, at)));
    let found: Vec<NodeIndex> = tree
        .iter()
        .filter(|(index, node)| {
            is_in(node.address) && (plugged(*index) || ports_too && slots::is_slot(tree, *index))
        })
        .map(|(index, _)| index)
        .collect();
    if found.is_empty() {
        return Err(MoveError::of_move(
            &word,
            "nothing in this range is plugged into a slot",
            movable(machine),
        ));
    }
    Ok(found)
}

/// Movable devices, for the end of an error.
pub(super) fn movable(machine: &Machine) -> String {
    let tree = &machine.pci;
    let function = |slot: Slot| slot.content(tree).first().map(|at| tree.node(*at).address.to_string());
    let found: Vec<String> = slots::all(machine).into_iter().filter_map(function).collect();
    match found.as_slice() {
        [] => "nothing on this machine is plugged into a slot that the kernel shows".to_owned(),
        many => format!("devices in slots: {}", some_of(many)),
    }
}

fn no_such_place(machine: &Machine, under: &str, place: &str) -> MoveError {
    let roots: Vec<String> =
        machine.pci.roots().map(|root| machine.pci.node(root).address.to_string()).collect();
    let ports = slots::all(machine).into_iter().flat_map(|slot| slot.ports);
    let fix = format!(
        "{}name a root complex ({}), a switch, a port, or a slot's speed as gen3",
        closest(machine.pci.roots().chain(ports), machine, place),
        some_of(&roots)
    );
    MoveError::of_under(&under, "no such place on this machine", fix)
}

/// `did you mean 0000:41:00.0? `: of these nodes, the first whose address differs in one character.
fn closest(nodes: impl Iterator<Item = NodeIndex>, machine: &Machine, word: &str) -> String {
    let is_short = word.matches(':').count() == 1 && word.contains('.');
    let word = if is_short { format!("0000:{word}") } else { word.to_owned() };
    let differs = |address: &NodeAddress| {
        let text = address.to_string();
        text.len() == word.len() && text.bytes().zip(word.bytes()).filter(|(a, b)| a != b).count() == 1
    };
    let meant = nodes.map(|node| machine.pci.node(node).address).find(differs);
    meant.map_or_else(String::new, |meant| format!("did you mean {meant}? "))
}

/// The first four names, and the number of others.
fn some_of(names: &[String]) -> String {
    const MOST: usize = 4;
    match names.get(MOST..) {
        Some(rest) if !rest.is_empty() => format!("{} and {} more", names[..MOST].join(", "), rest.len()),
        _ => names.join(", "),
    }
}

/// The place is a device, not a slot.
pub(super) fn no_place(tree: &PciTree, place: NodeIndex) -> MoveError {
    let address = tree.node(place).address;
    let port = tree.node(place).parent.filter(|port| slots::is_slot(tree, *port));
    let fix = port.map_or_else(
        || "name a root complex, a switch or a port".to_owned(),
        |port| format!("name its port, {}, to swap with it", tree.node(port).address),
    );
    MoveError::of_under(&address, "it is a device, not a slot", fix)
}

/// No slot below a place takes the content of `from`.
pub(super) fn no_room(now: &Machine, today: &Machine, place: NodeIndex, from: &Slot) -> MoveError {
    let tree = &now.pci;
    let below = slots::all(now).into_iter().filter(|slot| tree.ancestry(slot.ports[0]).any(|at| at == place));
    let widest = below
        .filter_map(|slot| Some((slot.lanes(tree)?, slot)))
        .max_by_key(|(lanes, slot)| (*lanes, std::cmp::Reverse(slot.ports[0])));
    let needs = from.needs(tree);
    let wrong = match widest {
        None => "it has no slot that the kernel shows".to_owned(),
        Some((lanes, slot)) if lanes < needs => format!(
            "its widest slot, {}, has {lanes} lanes and the card needs {needs}",
            tree.node(slot.ports[0]).address
        ),
        Some(_) => "the cards in its slots would not fit in exchange".to_owned(),
    };
    let takes = |root: &NodeIndex| slots::best_below(now, *root, from, &[]).is_some();
    let others: Vec<String> =
        tree.roots().filter(takes).map(|root| tree.node(root).address.to_string()).collect();
    let fix = if others.is_empty() {
        let port = tree.node(from.ports[0]).address;
        format!("nothing else here takes it either; name its port ({port}) to move one drive alone")
    } else {
        format!("use {}", some_of(&others))
    };
    MoveError::of_under(&today.pci.node(place).address, wrong, fix)
}

/// Two slots cannot exchange their content.
pub(super) fn does_not_fit(tree: &PciTree, from: &Slot, to: &Slot) -> MoveError {
    let (here, there) = (tree.node(from.ports[0]).address, tree.node(to.ports[0]).address);
    let lanes = |slot: &Slot| slot.lanes(tree).map_or_else(|| "?".to_owned(), |lanes| lanes.to_string());
    let inside = |slot: &Slot, other: &Slot| {
        slot.ports.iter().any(|port| tree.ancestry(*port).any(|at| other.ports.contains(&at)))
    };
    let wrong = if inside(from, to) || inside(to, from) {
        format!("{there} and {here} are one behind the other: they cannot swap")
    } else if to.lanes(tree).is_some_and(|lanes| from.is_card(tree) && lanes < from.needs(tree)) {
        format!(
            "the slot has {} lanes and the card needs {}: some of its drives would not appear",
            lanes(to),
            from.needs(tree)
        )
    } else {
        format!("the device there needs {} lanes, and {here} has {}", to.needs(tree), lanes(from))
    };
    MoveError::of_under(&there, wrong, "name another port, or a root complex to search for its best slot")
}
