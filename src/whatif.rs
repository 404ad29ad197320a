//! Hypothetical moves of drives, cards and the content of ports: the machine afterwards, the assumptions, and the
//! difference.

mod ask;
pub(crate) mod assumption;
pub(crate) mod difference;

use std::collections::BTreeSet;

use crate::{
    capacity::{
        self, Slot,
        exchange::{self, Exchanged},
        slots,
    },
    machine::{Machine, NodeKind},
    model::NodeIndex,
};

pub use ask::{Move, MoveError};
pub use assumption::Assumption;
pub use difference::{Prediction, Today, predict, predict_from};

/// A machine after a move.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The machine afterwards, with today's index of each node.
    pub then: Exchanged,
    /// Today's functions that move, in bus order.
    pub moved: Vec<NodeIndex>,
    /// Today's functions that the move displaces, in bus order.
    pub displaced: Vec<NodeIndex>,
    /// Unreadable facts that the move assumes.
    pub assumptions: Vec<Assumption>,
}

/// Functions that move together: those directly behind the ports of a socket, card or device.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    /// The nodes that the user named.
    named: Vec<NodeIndex>,
    functions: Vec<NodeIndex>,
    /// Whether the whole slot moves, its empty ports included.
    whole_slot: bool,
}

/// The machine after a move, with every assumption; an error names the problem and a fix.
///
/// # Errors
/// A named device is not plugged in anywhere, or the place has no slot for it.
pub fn move_devices(machine: &Machine, asked: &Move) -> Result<Moved, MoveError> {
    let units = units(machine, asked)?;
    match all_moved(machine, asked, &joined(machine, &units)) {
        // Neighbours named together may be one card, or drives that move apart.
        Err(_) if joined(machine, &units) != units => all_moved(machine, asked, &units),
        result => result,
    }
}

/// The functions that move with a node: those directly behind its ports.
///
/// # Errors
/// It is not plugged in anywhere.
pub fn what_moves(machine: &Machine, node: NodeIndex) -> Result<Vec<NodeIndex>, MoveError> {
    unit_of(machine, node).map(|unit| unit.functions)
}

/// Whether a card with drives can move from a root complex to one without.
pub fn has_way_from(machine: &Machine, root: NodeIndex) -> bool {
    moves_away_from(machine, root).take(MOST_MOVES).any(|asked| move_devices(machine, &asked).is_ok())
}

/// Whether anything of this machine can be moved to another slot.
pub fn has_cards(machine: &Machine) -> bool {
    machine.pci.iter().any(|(node, _)| what_moves(machine, node).is_ok())
}

/// Maximum number of moves that are compared.
const MOST_MOVES: usize = 32;

/// Moves of one card with drives from a root complex to one without.
fn moves_away_from(machine: &Machine, root: NodeIndex) -> impl Iterator<Item = Move> {
    let tree = &machine.pci;
    let has_drives = |node: NodeIndex| !machine.drives_below(node).is_empty();
    let cards = slots::all(machine).into_iter().filter(|slot| tree.root_of(slot.ports[0]) == root);
    let cards =
        cards.filter_map(|slot| slot.content(tree).into_iter().find(|function| has_drives(*function)));
    let away: Vec<NodeIndex> = tree.roots().filter(|other| *other != root && !has_drives(*other)).collect();
    let pairs: Vec<_> = cards.flat_map(|card| away.iter().map(move |other| (card, *other))).collect();
    pairs.into_iter().map(|(card, other)| Move { devices: vec![card], under: Some(other), speed: None })
}

/// The best move of one card with drives from a root complex to one without; the first of equal ones, and of those
/// with an unknown gain.
pub fn best_away_from(machine: &Machine, root: NodeIndex) -> Option<Move> {
    let gain = |asked: &Move| {
        let then = move_devices(machine, asked).ok()?.then.machine;
        let total = capacity::total(&then, &capacity::limits(&then)).bytes_per_second;
        Some(total.map_or(0.0, |total| total.0))
    };
    let known =
        moves_away_from(machine, root).take(MOST_MOVES).filter_map(|asked| Some((gain(&asked)?, asked)));
    known.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, asked)| asked)
}

/// The units of the named nodes, without duplicates.
fn units(machine: &Machine, asked: &Move) -> Result<Vec<Unit>, MoveError> {
    let mut units: Vec<Unit> = Vec::new();
    for node in &asked.devices {
        let unit = unit_of(machine, *node)?;
        if !units.iter().any(|known| unit.functions.iter().all(|function| known.functions.contains(function)))
        {
            units.retain(|known| !known.functions.iter().all(|function| unit.functions.contains(function)));
            units.push(unit);
        }
    }
    Ok(units)
}

/// Of a port its content; of a device its card, with the switch or the neighbours on it.
fn unit_of(machine: &Machine, node: NodeIndex) -> Result<Unit, MoveError> {
    let tree = &machine.pci;
    let address = tree.node(node).address;
    if slots::is_slot(tree, node) {
        let functions = tree.node(node).children.clone();
        if functions.is_empty() {
            return Err(MoveError::of_move(
                &address,
                "nothing is plugged into this port",
                "name one that holds something",
            ));
        }
        return Ok(Unit { named: vec![node], functions, whole_slot: false });
    }
    let port = tree.ancestry(node).filter(|at| slots::is_slot(tree, *at)).last();
    let slot = port.and_then(|port| slots::of_port(machine, port));
    match slot {
        Some(slot) => Ok(Unit { named: vec![node], functions: slot.content(tree), whole_slot: true }),
        None if tree.node(node).kind == NodeKind::RootComplex => Err(MoveError::of_move(
            &address,
            "a root complex is part of the CPU",
            "name a drive, a card or a port below it",
        )),
        None => Err(MoveError::of_move(
            &address,
            "it is in no slot: part of the CPU, the chipset or the board",
            ask::movable(machine),
        )),
    }
}

/// Joins units behind neighbouring ports.
fn joined(machine: &Machine, units: &[Unit]) -> Vec<Unit> {
    let tree = &machine.pci;
    let mut joined: Vec<Unit> = Vec::new();
    for unit in units {
        let port = |function: Option<&NodeIndex>| function.and_then(|function| tree.node(*function).parent);
        let neighbours = joined.last().is_some_and(|last| {
            let ports = port(last.functions.last()).zip(port(unit.functions.first()));
            ports.is_some_and(|(one, next)| slots::are_neighbours(tree, one, next))
        });
        match joined.last_mut().filter(|_| neighbours) {
            Some(last) => {
                last.named.extend(&unit.named);
                last.functions.extend(&unit.functions);
                last.whole_slot |= unit.whole_slot;
            }
            None => joined.push(unit.clone()),
        }
    }
    joined
}

fn all_moved(machine: &Machine, asked: &Move, units: &[Unit]) -> Result<Moved, MoveError> {
    let tree = &machine.pci;
    if let Some(port) = asked.under.filter(|under| units.len() > 1 && slots::is_slot(tree, *under)) {
        return Err(MoveError::of_under(
            &tree.node(port).address,
            format!("it is one slot for {} cards", units.len()),
            "name a root complex or a switch, or move one at a time",
        ));
    }
    let mut moving = Moving {
        today: machine,
        then: None,
        units: units.iter().flat_map(|unit| unit.functions.clone()).collect(),
        displaced: Vec::new(),
        assumptions: Vec::new(),
    };
    for unit in units {
        moving.assumptions.extend(Assumption::whole(machine, &unit.functions));
        if let Some(under) = asked.under {
            moving.place(machine, unit, under)?;
        }
        if let Some(speed) = asked.speed {
            let slot = moving.slot(unit);
            let port = moving.now().pci.node(slot.ports[0]).address.to_string();
            moving.assumptions.push(Assumption::SlotSpeed { port, speed });
            moving.step(exchange::with_slot_speed(moving.now(), &slot, speed));
        }
    }
    let then = moving.then.unwrap_or_else(|| Exchanged::nothing(machine));
    moving.assumptions.extend(Assumption::addresses(machine, &then));
    let whole = |tops: Vec<NodeIndex>| {
        let all: BTreeSet<NodeIndex> = tops.into_iter().flat_map(|top| machine.pci.subtree(top)).collect();
        all.into_iter().collect()
    };
    Ok(Moved {
        then,
        moved: whole(moving.units),
        displaced: whole(moving.displaced),
        assumptions: moving.assumptions,
    })
}

/// A move in progress.
struct Moving<'a> {
    today: &'a Machine,
    /// The machine after the steps so far; `None` before the first one.
    then: Option<Exchanged>,
    /// Today's functions that the user moves: nothing displaces them again.
    units: Vec<NodeIndex>,
    displaced: Vec<NodeIndex>,
    assumptions: Vec<Assumption>,
}

impl Moving<'_> {
    /// The machine after the steps so far.
    fn now(&self) -> &Machine {
        self.then.as_ref().map_or(self.today, |then| &then.machine)
    }

    /// Index of today's node there.
    fn index(&self, was: NodeIndex) -> Option<NodeIndex> {
        self.then.as_ref().map_or(Some(was), |then| then.now(was))
    }

    /// Adds a step, which started from the machine of now.
    fn step(&mut self, next: Exchanged) {
        self.then = Some(match &self.then {
            Some(then) => then.then(next),
            None => next,
        });
    }

    /// The unit's current slot.
    fn slot(&self, unit: &Unit) -> Slot {
        let machine = self.now();
        let port = |function: &NodeIndex| machine.pci.node(self.index(*function)?).parent;
        let mut ports: BTreeSet<NodeIndex> = unit.functions.iter().filter_map(port).collect();
        if unit.whole_slot {
            let slots: Vec<Slot> = ports.iter().filter_map(|port| slots::of_port(machine, *port)).collect();
            ports.extend(slots.into_iter().flat_map(|slot| slot.ports));
        }
        Slot::of(ports)
    }

    /// Moves a unit under a place of today's tree, unless it is there.
    fn place(&mut self, machine: &Machine, unit: &Unit, under: NodeIndex) -> Result<(), MoveError> {
        let address = machine.pci.node(under).address;
        if unit.named.iter().all(|named| machine.pci.ancestry(*named).any(|at| at == under)) {
            return Ok(());
        }
        let from = self.slot(unit);
        let gone =
            || MoveError::of_under(&address, "an earlier move removed this slot", "move one at a time");
        let place = self.index(under).ok_or_else(gone)?;
        let to = self.destination(machine, &from, place).map_err(|why| why.named(address))?;
        let Some(to) = to else { return Ok(()) };
        let before = self.now();
        let was = |at: NodeIndex| match &self.then {
            Some(then) => then.was.get(at.0).copied().flatten(),
            None => Some(at),
        };
        let in_the_way: Vec<NodeIndex> = to.content(&before.pci).into_iter().filter_map(was).collect();
        let next = exchange::exchange(before, &from, &to);
        let assumptions = Assumption::of_exchange(before, &from, &to, &next);
        self.displaced.extend(in_the_way);
        self.assumptions.extend(assumptions);
        self.step(next);
        Ok(())
    }

    /// The target slot; `None` if the unit is there already.
    fn destination(
        &self,
        machine: &Machine,
        from: &Slot,
        place: NodeIndex,
    ) -> Result<Option<Slot>, MoveError> {
        let now = self.now();
        let tree = &now.pci;
        let kind = tree.node(place).kind;
        if !slots::is_slot(tree, place) {
            if kind == NodeKind::Endpoint {
                return Err(ask::no_place(tree, place));
            }
            let keep: Vec<NodeIndex> = self.units.iter().filter_map(|unit| self.index(*unit)).collect();
            let best = slots::best_below(now, place, from, &keep);
            return best.map(Some).ok_or_else(|| ask::no_room(now, machine, place, from));
        }
        let socket = Slot::of([place]);
        let slot = slots::of_port(now, place).unwrap_or_else(|| socket.clone());
        if from.ports.contains(&place) {
            return Ok(None);
        }
        let is_wide = socket.lanes(tree).is_none_or(|lanes| lanes >= from.needs(tree));
        let to = if !from.is_card(tree) && (is_wide || slot.ports.len() == 1) { socket } else { slot };
        let fits = slots::can_change_places(tree, from, &to);
        fits.then_some(Some(to.clone())).ok_or_else(|| ask::does_not_fit(tree, from, &to))
    }
}
