//! The slots page: hypothetical moves of cards, with the predicted difference.

mod details;
mod draw;
mod update;

use std::sync::Arc;

use ratatui::layout::{Constraint, Layout, Rect};

use super::{
    Run,
    widgets::{find::Find, paint::inner},
};
use crate::{
    capacity::{Total, slots},
    machine::{Machine, NodeKind, PciTree, pci::NodeAddress},
    model::{Limits, NodeIndex},
    report::whatif::rows::{self, Row},
    ui::{
        About, Asks, Command,
        Key::{self, Char},
        ScreenId, Shared,
        command::{command, pair},
        theme::Meaning,
    },
    units::{TransferRate, UnitSystem},
    whatif::{self, Move, MoveError, Prediction},
};

pub(super) const ABOUT: About = About {
    id: ScreenId("slots"),
    digit: '8',
    name: "Slots",
    help: "Show the slots: what a card or drive would reach in another slot",
    purpose: "Hypothetical moves: select a card, see the effect of another slot, drop it there. No hardware is changed.",
    mark: 0,
    marks: &[
        ("▸ ●", Meaning::Marked, "the moved card: where it is, where it would be"),
        ("◂", Meaning::Warning, "the card that swaps places with it"),
        (
            "4.92",
            Meaning::Figure,
            "rate with all drives busy, of the drive's potential or the root complex's limit",
        ),
        ("7.14", Meaning::Good, "more than before; in the colour of problems, less"),
        (
            "▆▆··",
            Meaning::Load,
            "rate with all drives busy, of the drive's potential or the root complex's limit",
        ),
        ("▆▆▆▆", Meaning::Warning, "a full root complex"),
        ("✓ ▲ !", Meaning::Text, "a finding that the move fixes; a new one by its severity"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Slots>>] = &[
    command(390, &[Char(' ')], "move card", "move card", "Select this row's card to move; on it again: of several drives one alone, else put back", |slots, shared| slots.user_step(shared, Slots::pick_up)),
    command(400, &[Key::Enter], "drop here", "drop here", "Move the card into this slot, or below this root complex", |slots, shared| slots.user_step(shared, Slots::put_down)),
    pair("+ -", command(410, &[Char('-')], "slot speed", "slower slot", "Try a slot one PCIe generation slower for the card", |slots, shared| slots.user_step(shared, |slots, shared| slots.slot_speed(-1, shared)))),
    command(420, &[Char('+'), Char('=')], "", "faster slot", "Try a slot one PCIe generation faster for the card", |slots, shared| slots.user_step(shared, |slots, shared| slots.slot_speed(1, shared))),
    command(430, &[Char('b')], "best move", "best move", "Make the move with the highest gain off the full root complex", |slots, shared| slots.user_step(shared, Slots::best_move)),
    command(440, &[Char('t')], "try live", "try live", "Stage the slower link on the tune screen, to apply and undo it there", Slots::try_live),
    command(656, &[Char('/')], "find", "find slot", "Find a row by address, name or model; Enter keeps the matches, {next match} and {previous match} go on, Esc ends", |slots, _| { slots.find.open(); Asks::new() }),
];

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
    /// The changed speed of its slot.
    pub speed: Option<TransferRate>,
}

impl Picked {
    /// Whether it is there already: below this root complex, or one of its functions in this port.
    fn is_at(&self, tree: &PciTree) -> bool {
        let is_there = |function: &NodeIndex, under| {
            tree.node(*function).parent == Some(under) || tree.root_of(*function) == under
        };
        self.under.is_some_and(|under| self.functions.iter().any(|function| is_there(function, under)))
    }
}

/// What a move is compared with, and the machine that it was made of.
#[derive(Debug, Clone)]
struct Known {
    machine: Arc<Machine>,
    limits: Arc<Limits>,
    units: UnitSystem,
    today: Arc<whatif::Today>,
}

/// The page's state.
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
    /// The selected card.
    pub picked: Option<Picked>,
    /// The predicted difference, or why the move is impossible.
    pub prediction: Option<Result<Box<Prediction>, MoveError>>,
    /// What is looked for in today's rows.
    find: Find,
    /// The best move, once it was made.
    best: Option<Picked>,
    /// The figures before any move.
    known: Option<Known>,
    /// Whether rows and prediction are those of a machine before, or of other units.
    is_stale: bool,
    /// The states before each step of the user, newest last, with the row of the cursor.
    steps: Vec<(Option<Picked>, usize)>,
    /// The root complex of the most expensive bottleneck, and whether a card of it can go to another one.
    way: Option<(NodeIndex, bool)>,
    /// The addresses of the machine that indices point into.
    seen: Vec<NodeAddress>,
}

impl Slots {
    /// Takes a machine that was read: another one makes the move void.
    fn read(&mut self, shared: &Shared) {
        let addresses: Vec<NodeAddress> = shared.machine.pci.nodes.iter().map(|node| node.address).collect();
        if self.seen != addresses {
            *self = Self { seen: addresses, ..Self::default() };
        }
        (self.is_stale, self.way) = (true, None);
    }

    /// Finds out whether there is a way away from the bottleneck, once for each.
    fn find_way(&mut self, shared: &Shared) {
        let crowded = shared.crowded_root();
        if self.way.map(|(root, _)| root) != crowded {
            self.way = crowded.map(|root| (root, whatif::has_way_from(&shared.machine, root)));
        }
    }

    /// Whether a move would relieve the bottleneck.
    fn has_way(&self) -> bool {
        self.way.is_some_and(|(_, has_way)| has_way)
    }

    /// Whether any row can be moved.
    fn has_cards(&self, shared: &Shared) -> bool {
        self.today.iter().any(|row| whatif::what_moves(&shared.machine, row.node).is_ok())
    }

    /// Predicts anew after a machine was read: first when the screen is shown, since it costs more than all other screens.
    fn renew_stale(&mut self, shared: &Shared) {
        if self.is_stale {
            self.predict(shared);
        }
    }

    /// How many rows the longer side has.
    fn rows(&self) -> usize {
        self.today.len().max(self.then.len())
    }

    /// The row under the cursor.
    fn row(&self) -> Option<&Row> {
        self.today.get(self.selected)
    }

    /// Whether what is under the cursor can be moved.
    fn is_on_card(&self, shared: &Shared) -> bool {
        self.row().is_some_and(|row| whatif::what_moves(&shared.machine, row.node).is_ok())
    }

    /// The predicted difference of a possible move.
    fn made(&self) -> Option<&Prediction> {
        self.prediction.as_ref()?.as_ref().ok().map(AsRef::as_ref)
    }

    /// Whether something is in the hand.
    pub fn is_carrying(&self) -> bool {
        self.picked.as_ref().is_some_and(|picked| !picked.dropped)
    }

    /// Whether what is in the hand can be put down at the cursor and something changes then.
    fn can_drop(&self, shared: &Shared) -> bool {
        self.picked.as_ref().filter(|picked| !picked.dropped).is_some_and(|picked| {
            picked.speed.is_some() || picked.under.is_some() && !picked.is_at(&shared.machine.pci)
        })
    }

    /// Whether the cursor is on what was picked up.
    fn is_on_picked(&self) -> bool {
        let picked = self.picked.as_ref().zip(self.row());
        picked.is_some_and(|(picked, row)| picked.functions.contains(&row.node))
    }

    /// The requested move, once complete.
    fn asked(&self) -> Option<Move> {
        let picked = self.picked.as_ref()?;
        let is_move = picked.under.is_some() || picked.speed.is_some();
        is_move.then(|| Move { devices: vec![picked.node], under: picked.under, speed: picked.speed })
    }

    /// The place a row stands for: a root complex, or the port that something is or could be plugged into.
    fn place(machine: &Machine, row: &Row) -> Option<NodeIndex> {
        let tree = &machine.pci;
        let node = tree.node(row.node);
        let is_place = node.kind == NodeKind::RootComplex || slots::is_slot(tree, row.node);
        if is_place { Some(row.node) } else { node.parent.filter(|port| slots::is_slot(tree, *port)) }
    }

    /// Total rate of all drives before the move.
    fn total(&self) -> Option<&Total> {
        self.known.as_ref().map(|known| &known.today.total)
    }

    /// The figures before any move; made anew when another machine was read.
    fn known_of(&mut self, shared: &Shared) -> Arc<whatif::Today> {
        let Shared { machine, limits, units, .. } = shared;
        let is_of_now = |known: &&Known| {
            Arc::ptr_eq(&known.machine, machine)
                && Arc::ptr_eq(&known.limits, limits)
                && known.units == *units
        };
        if let Some(known) = self.known.as_ref().filter(is_of_now) {
            return Arc::clone(&known.today);
        }
        let today = Arc::new(whatif::Today::new(machine, limits, *units, shared.machine_findings()));
        self.known = Some(Known {
            machine: Arc::clone(machine),
            limits: Arc::clone(limits),
            units: *units,
            today: Arc::clone(&today),
        });
        today
    }

    /// Predicts what the move would change.
    fn predict(&mut self, shared: &Shared) {
        let (machine, limits) = (&shared.machine, &shared.limits);
        let known = self.known_of(shared);
        self.prediction =
            self.asked().map(|asked| whatif::predict_from(&known, machine, limits, &asked).map(Box::new));
        let made = self.made();
        let today = rows::today(machine, limits, &known.total, made, rows::Slots::All);
        self.then = made.map_or_else(Vec::new, |made| rows::then(made, rows::Slots::All));
        let is_first = self.today.is_empty();
        self.today = today;
        self.is_stale = false;
        if is_first {
            // The first row is a root complex, which nothing moves.
            let can_move = |row: &Row| whatif::what_moves(machine, row.node).is_ok();
            self.selected = self.today.iter().position(can_move).unwrap_or(0);
        }
        self.selected = self.selected.min(self.today.len().saturating_sub(1));
    }
}

/// Columns of the words that say how a move is made; on terminals of `WIDE` columns they leave more to names of slots.
const WORDS: u16 = 36;
const LEAST_WORDS: u16 = 28;
const WIDE: u16 = 100;

/// Where everything is.
struct Areas {
    /// Today's slots and what is in them.
    today: Rect,
    /// Their rows.
    rows: Rect,
    /// The same after a move.
    then: Rect,
    /// The panel of differences.
    text: Rect,
}

impl Areas {
    /// Both trees beside each other, as high as they need to be while the text keeps a third of the area.
    fn new(state: &Slots, shared: &Shared, area: Rect) -> Self {
        let frame = if shared.is_boxed() { 2 } else { 1 };
        let most = area.height.saturating_sub((area.height / 3).max(5));
        // While no move is made the words beside the tree need little: names get the rest.
        let tree = |words: u16| {
            let width = area.width.saturating_sub(words).max(area.width / 2);
            (width, inner(Rect { width, ..area }, shared.is_boxed()))
        };
        let words = if state.prediction.is_none() { WORDS.max(area.width / 3) } else { area.width };
        let (mut left, rows) = tree(words);
        if state.prediction.is_none() && area.width >= WIDE {
            let (most, wider) = tree(LEAST_WORDS);
            let [cut, still] = [rows, wider].map(|rows| draw::cut_names(state, shared, rows));
            left = if still < cut { most } else { left };
        }
        let halves = [Constraint::Length(left), Constraint::Fill(1)];
        let place = Rect { width: area.width - left, height: most, ..area };
        // Below a tree of few rows the words would be cut.
        let words = match &state.prediction {
            Some(Ok(_)) => 0,
            _ => draw::beside(state, shared, inner(place, shared.is_boxed())).len(),
        };
        let rows = u16::try_from(state.rows().max(words).max(1)).unwrap_or(u16::MAX);
        let height = rows.saturating_add(frame).min(most);
        let [trees, text] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area);
        let [today, then] = Layout::horizontal(halves).areas(trees);
        Self { today, rows: inner(today, shared.is_boxed()), then, text }
    }
}
