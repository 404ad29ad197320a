//! Cards moved in thought: what is picked up, where the cursor would put it, what that would change.
//!
//! Here: [`Slots`] and what keys do to it. Not here: predicting (`whatif`), drawing (`view`).

use crate::{
    app::{App, Screen},
    capacity::{self, Total, slots},
    findings::SubjectKind,
    machine::{Machine, NodeKind, pci::NodeAddress},
    model::{Limits, NodeIndex, SettingId},
    report::whatif::rows::{self, Row},
    tune::Device,
    units::{TransferRate, UnitSystem},
    whatif::{self, Move, MoveError, Prediction},
};

/// Something picked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// The device or, to take it alone from its card, its port.
    pub node: NodeIndex,
    /// What moves: functions right behind their ports.
    pub functions: Vec<NodeIndex>,
    /// Where it was put; `None` while it is carried or stays in its slot.
    pub under: Option<NodeIndex>,
    /// Whether it is put down: the cursor moves without it.
    pub dropped: bool,
    /// What its slot runs at, if that was changed.
    pub speed: Option<TransferRate>,
}

/// The slots part of the what-if screen.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    /// Today's rows.
    pub today: Vec<Row>,
    /// The rows of the machine as it would be; none while nothing is moved.
    pub then: Vec<Row>,
    /// The row the cursor is on.
    pub selected: usize,
    /// The first row shown.
    pub top: usize,
    /// Lines by which the text is scrolled down.
    pub detail_top: usize,
    /// What is picked up.
    pub picked: Option<Picked>,
    /// What the move would change, or why it cannot be.
    pub prediction: Option<Result<Box<Prediction>, MoveError>>,
    /// What all drives read at once today.
    pub total: Option<Total>,
    /// The addresses of the machine that indices point into.
    seen: Vec<NodeAddress>,
}

impl Slots {
    /// Takes a machine that was read: another one makes the move void.
    pub fn read(&mut self, machine: &Machine, limits: &Limits, units: UnitSystem) {
        let addresses: Vec<NodeAddress> = machine.pci.nodes.iter().map(|node| node.address).collect();
        if self.seen != addresses {
            *self = Self { seen: addresses, ..Self::default() };
        }
        self.predict(machine, limits, units);
    }

    /// The row under the cursor.
    pub fn row(&self) -> Option<&Row> {
        self.today.get(self.selected)
    }

    /// Whether something is in the hand.
    pub fn is_carrying(&self) -> bool {
        self.picked.as_ref().is_some_and(|picked| !picked.dropped)
    }

    /// What is asked for, if enough is.
    pub fn asked(&self) -> Option<Move> {
        let picked = self.picked.as_ref()?;
        let is_move = picked.under.is_some() || picked.speed.is_some();
        is_move.then(|| Move { devices: vec![picked.node], under: picked.under, speed: picked.speed })
    }

    /// Moves the first row shown so that the cursor is among `height`.
    pub fn scroll_to_cursor(&mut self, height: usize) {
        if height > 0 {
            let lowest = self.today.len().max(self.then.len()).saturating_sub(height);
            self.top = self.top.clamp(self.selected.saturating_sub(height - 1), self.selected).min(lowest);
        }
    }

    /// The place a row stands for: a root complex, or the port that something is or could be plugged into.
    fn place(machine: &Machine, row: &Row) -> Option<NodeIndex> {
        let tree = &machine.pci;
        let node = tree.node(row.node);
        let is_place = node.kind == NodeKind::RootComplex || slots::is_slot(tree, row.node);
        if is_place { Some(row.node) } else { node.parent.filter(|port| slots::is_slot(tree, *port)) }
    }

    fn predict(&mut self, machine: &Machine, limits: &Limits, units: UnitSystem) {
        self.prediction =
            self.asked().map(|asked| whatif::predict(machine, limits, &asked, units).map(Box::new));
        let total = capacity::total_in(machine, limits, units);
        let made = self.prediction.as_ref().and_then(|prediction| prediction.as_ref().ok());
        self.today = rows::today(machine, limits, &total, made.map(AsRef::as_ref), rows::Slots::All);
        self.then = made.map_or_else(Vec::new, |made| rows::then(made, rows::Slots::All));
        self.total = Some(total);
        self.selected = self.selected.min(self.today.len().saturating_sub(1));
    }
}

impl App {
    /// Predicts anew after the move has changed.
    fn predict(&mut self) {
        self.slots.detail_top = 0;
        self.slots.predict(&self.machine, &self.limits, self.units);
    }
}

/// Moves the cursor, and with it what is carried.
pub fn step(app: &mut App, step: isize) {
    let last = app.slots.today.len().saturating_sub(1);
    app.slots.selected = app.slots.selected.saturating_add_signed(step).min(last);
    carry(app);
}

/// Puts the cursor on a row; a press on the row it is on picks up or puts down.
pub fn press(app: &mut App, index: usize) {
    if index >= app.slots.today.len() {
        return;
    }
    if app.slots.selected != index {
        app.slots.selected = index;
        carry(app);
    } else if app.slots.is_carrying() {
        put_down(app);
    } else {
        pick_up(app);
    }
}

/// What is carried goes where the cursor is.
fn carry(app: &mut App) {
    let place = app.slots.row().and_then(|row| Slots::place(&app.machine, row));
    if let Some(picked) = app.slots.picked.as_mut().filter(|picked| !picked.dropped) {
        picked.under = place;
        app.predict();
    }
}

/// Picks up what is under the cursor, with its card; once more, it alone; once more, nothing. Elsewhere, puts it down.
pub fn pick_up(app: &mut App) {
    let Some(device) = app.slots.row().map(|row| row.node) else { return };
    let carried = app.slots.picked.as_ref().filter(|picked| !picked.dropped);
    match carried.map(|picked| (picked.functions.contains(&device), picked.functions.len())) {
        None => take(app, device),
        Some((false, _)) => put_down(app),
        Some((true, 1)) => {
            put_back(app);
        }
        // The port stands for the device alone, which makes a difference only on a card.
        Some((true, _)) => {
            let port = app.machine.pci.node(device).parent;
            take(app, port.unwrap_or(device));
        }
    }
}

fn take(app: &mut App, node: NodeIndex) {
    match whatif::what_moves(&app.machine, node) {
        Ok(functions) => {
            app.slots.picked = Some(Picked { node, functions, under: None, dropped: false, speed: None });
            app.predict();
        }
        Err(why) => app.warn(format!("{}; {}", why.wrong, why.fix)),
    }
}

/// Puts down what is carried where the cursor is.
pub fn put_down(app: &mut App) {
    match app.slots.picked.as_mut().filter(|picked| !picked.dropped) {
        Some(picked) if picked.under.is_some() || picked.speed.is_some() => picked.dropped = true,
        Some(_) => app.tell("Move to where it should go first: a root complex or a slot"),
        None => pick_up(app),
    }
}

/// Puts everything back; whether there was anything.
pub fn put_back(app: &mut App) -> bool {
    let had = app.slots.picked.take().is_some();
    if had {
        app.predict();
    }
    had
}

/// Lowers or raises the generation of the slot that what was picked up goes to.
pub fn slot_speed(app: &mut App, step: i8) {
    if app.slots.picked.is_none() {
        pick_up(app);
    }
    let machine = app.machine.clone();
    let Some(picked) = app.slots.picked.as_mut() else { return };
    let today = picked.functions.first().and_then(|function| {
        let port = machine.pci.node(*function).parent?;
        machine.pci.node(port).link.as_ref()?.max_speed.get()
    });
    let now = picked.speed.or(today).map_or(4, TransferRate::generation);
    let wanted = TransferRate::from_code(now.saturating_add_signed(step));
    picked.speed = wanted.filter(|speed| Some(*speed) != today).or(wanted.filter(|_| picked.under.is_some()));
    if wanted.is_none() {
        app.tell("PCI Express has generations 1 to 6");
        return;
    }
    app.predict();
}

/// Opens the screen: from the machine with the card of its row picked up, from a finding about a root complex with the
/// move that wins most.
pub fn open(app: &mut App) {
    let from = app.screen;
    app.screen = Screen::Slots;
    let machine = app.machine.clone();
    match from {
        Screen::Machine => {
            let Some(row) = app.tree.row() else { return };
            // Rows that stand for several drives have no place of their own.
            let first = row.drives.first().and_then(|name| machine.drive(name)?.node);
            let Some(node) = row.node.or(first) else { return };
            if machine.pci.node(node).kind != NodeKind::RootComplex {
                take(app, node);
            }
            select(app, node);
        }
        Screen::Findings => {
            match app.findings.selected_place(&machine).map(|(subject, node)| (subject.kind, node)) {
                Some((SubjectKind::RootComplex, root)) => best(app, root),
                Some((_, node)) => {
                    take(app, node);
                    select(app, node);
                }
                None => {}
            }
        }
        _ => {}
    }
}

/// Puts the cursor on a node's row, or on that of what was picked up.
fn select(app: &mut App, node: NodeIndex) {
    let picked = app.slots.picked.as_ref().map_or(&[][..], |picked| &picked.functions);
    let rows = &app.slots.today;
    let at = rows.iter().position(|row| row.node == node);
    app.slots.selected =
        at.or_else(|| rows.iter().position(|row| picked.contains(&row.node))).unwrap_or(app.slots.selected);
}

/// The move that wins most, away from the root complex under the cursor.
pub fn best_move(app: &mut App) {
    let root = app.slots.row().map(|row| app.machine.pci.root_of(row.node));
    let crowded = app.bottlenecks.first().map(|bottleneck| app.machine.pci.root_of(bottleneck.node));
    if let Some(root) = crowded.or(root) {
        best(app, root);
    }
}

fn best(app: &mut App, root: NodeIndex) {
    let Some(asked) = whatif::best_away_from(&app.machine, root) else {
        app.tell("No root complex without drives has a slot for one of its cards");
        return;
    };
    let Some(device) = asked.devices.first().copied() else { return };
    take(app, device);
    if let Some(picked) = &mut app.slots.picked {
        (picked.under, picked.dropped) = (asked.under, true);
    }
    app.predict();
    if let Some(under) = asked.under {
        select(app, under);
    }
}

/// Stages the link speed that was asked for on the tune screen, where it can be applied and put back.
pub fn try_live(app: &mut App) {
    let Some((picked, speed)) = app.slots.picked.as_ref().and_then(|picked| Some((picked, picked.speed?)))
    else {
        app.tell("Choose a slower slot first, with -: only a link's speed can be tried live");
        return;
    };
    if picked.under.is_some() {
        app.tell("A card that is moved cannot be tried live: only a slower slot where it is");
        return;
    }
    let (functions, machine) = (picked.functions.clone(), app.machine.clone());
    let drives =
        machine.hardware_drives().filter(|drive| drive.node.is_some_and(|at| functions.contains(&at)));
    let devices: Vec<Device> = drives.map(|drive| Device::Drive(drive.name.clone())).collect();
    let port = functions.first().and_then(|function| machine.pci.node(*function).parent);
    let most = port.and_then(|port| machine.pci.node(port).link.as_ref()?.max_speed.get());
    let below = most.map_or(0, |most| most.generation().saturating_sub(speed.generation()));
    let column = app.tune.matrix.columns.iter().position(|setting| setting.id == SettingId("link_speed"));
    let row = app.tune.matrix.devices.iter().position(|device| devices.contains(device));
    let Some((column, row)) = column.zip(row) else {
        app.tell(
            "The kernel offers no cooling device for this port (kernel 6.13 on): it cannot be tried live",
        );
        return;
    };
    (app.tune.column, app.tune.row) = (column, row);
    match app.tune.stage(&machine, &devices, &below.to_string()) {
        Ok(()) => {
            app.screen = Screen::Tune;
            app.tell("Staged: a reviews the writes and applies them; they can be put back");
        }
        Err(why) => app.warn(why),
    }
}
