//! Keys and mouse on the slots page.

use ratatui::layout::{Position, Rect};

use super::{
    Areas, Picked, Slots,
    draw::{self, NO_CARD},
};
use crate::{
    machine::NodeKind,
    model::{NodeIndex, SettingId},
    report::whatif::rows::Row,
    screens::{
        News, Screen, Step,
        widgets::{
            find::Find,
            paint::Brush,
            scroll::{kept_in_sight, scrolled},
        },
    },
    tune::{Device, Setting},
    ui::{
        Ask, Asks, ScreenId, Shared, SharedChange, Subject,
        ask::{tell, warn},
        settings::staged,
    },
    units::{BytesPerSecond, TransferRate},
    whatif,
};

/// Bytes per second below which a move changes nothing worth a figure.
const LEAST_GAIN: f64 = 5e6;

impl Screen for Slots {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Step::Pages(_) = step {
            let (rest, lines) = draw::words(self, shared, &Areas::new(self, shared, area));
            self.detail_top = scrolled(self.detail_top, step.rows(rest.height), lines.len(), rest.height);
        } else {
            let last = self.today.len().saturating_sub(1);
            self.selected = self.selected.saturating_add_signed(step.rows(0)).min(last);
            self.carry(shared);
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self, shared, area);
        if !areas.text.contains(at) {
            return self.step(Step::Rows(step), shared, area);
        }
        let (rest, lines) = draw::words(self, shared, &areas);
        self.detail_top = scrolled(self.detail_top, step, lines.len(), rest.height);
        Asks::new()
    }

    /// Puts the cursor on a row; a press on the row it is on picks up or puts down.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let rows = Areas::new(self, shared, area).rows;
        let index = self.top + usize::from(at.y.saturating_sub(rows.y));
        if !rows.contains(at) || index >= self.today.len() {
            return Asks::new();
        }
        if self.selected != index {
            self.selected = index;
            self.carry(shared);
            Asks::new()
        } else if self.is_carrying() {
            self.user_step(shared, Self::put_down)
        } else {
            self.user_step(shared, Self::pick_up)
        }
    }

    fn hear(&mut self, news: News, shared: &Shared) {
        if matches!(news, News::Machine | News::Units) {
            self.read(shared);
        }
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.renew_stale(shared);
        self.find_way(shared);
        let rows = Areas::new(self, shared, area).rows.height;
        self.top = kept_in_sight(self.top, self.selected, self.rows(), rows);
        self.count_matches(shared);
        Asks::new()
    }

    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        self.renew_stale(shared);
        match *subject {
            // What another screen proposes is a step like the user's own: Esc undoes it.
            Subject::Crowded(root) => self.user_step(shared, |slots, shared| slots.best(root, shared)),
            Subject::Node(node, _) => {
                let is_device = shared.machine.pci.node(node).kind != NodeKind::RootComplex;
                let mut asks = if is_device {
                    self.user_step(shared, |slots, shared| slots.lift(node, shared))
                } else {
                    Asks::new()
                };
                if is_device && asks.is_empty() {
                    asks = self.tell_carrying(shared);
                }
                self.select(node);
                asks
            }
            _ => Asks::new(),
        }
    }

    /// Ends a find, else undoes the last step; with nothing moved and no step left the page is left.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        if self.find.end() {
            return Some(Asks::new());
        }
        let Some((picked, selected)) = self.steps.pop() else {
            return self.put_back(shared).then(Asks::new);
        };
        (self.picked, self.selected) = (picked, selected);
        self.renew(shared);
        Some(Asks::new())
    }

    fn find(&self) -> Option<&Find> {
        Some(&self.find)
    }

    fn find_mut(&mut self) -> Option<&mut Find> {
        Some(&mut self.find)
    }

    fn find_rows(&self, shared: &Shared) -> (Vec<String>, usize) {
        (self.texts(shared), self.selected)
    }

    fn go_to_match(&mut self, row: usize, shared: &Shared) {
        self.selected = row;
        self.carry(shared);
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        match command {
            // One hint for both keys: Space drops there too.
            "drop here" => false,
            "pull" | "units" | "best move" if self.is_carrying() => false,
            // Where nothing can be dropped, it selects the one drive of a card, or nothing any more.
            "move card" if self.is_carrying() => {
                self.can_drop(shared) && !self.is_impossible() || self.is_on_picked()
            }
            "move card" => self.is_carrying() || self.is_on_card(shared),
            // An impossible move stays impossible at any speed.
            "slower slot" if self.is_impossible() => false,
            "slower slot" => self.picked.is_some() || self.is_on_card(shared),
            "try live" => {
                let picked = self.picked.as_ref().filter(|picked| picked.speed.is_some());
                picked.is_some_and(|picked| picked.under.is_none() && live_link(picked, shared).is_some())
            }
            "best move" => self.has_way() && (self.best.is_none() || self.best != self.picked),
            _ => true,
        }
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        match command {
            "move card" if self.is_carrying() && !self.is_on_picked() => Some("drop here"),
            "move card" if self.is_carrying() && self.part(shared).is_some() => Some(self.alone()),
            "move card" if self.is_carrying() => Some("put back"),
            "up" if self.is_carrying() => Some("choose slot"),
            "back" if self.find.is_kept() => Some("end find"),
            "back" if self.is_carrying() => Some("cancel"),
            "back" if !self.steps.is_empty() => Some("undo move"),
            _ => None,
        }
    }
}

impl Slots {
    /// The port of the row that the cursor is on, where it has only a part of the card in the hand: that part can move alone. The
    /// functions of one device, as those of a graphics card, stay together.
    pub(super) fn part(&self, shared: &Shared) -> Option<NodeIndex> {
        let picked = self.picked.as_ref()?;
        let port = shared.machine.pci.node(self.row()?.node).parent?;
        let part = whatif::what_moves(&shared.machine, port).ok()?;
        (part.len() < picked.functions.len()).then_some(port)
    }

    /// The words for that part.
    fn alone(&self) -> &'static str {
        if self.row().is_some_and(|row| row.drive.is_some()) { "this drive alone" } else { "this alone" }
    }

    /// Whether what is asked for cannot be.
    fn is_impossible(&self) -> bool {
        matches!(self.prediction, Some(Err(_)))
    }

    /// Texts by which today's rows are found.
    fn texts(&self, shared: &Shared) -> Vec<String> {
        let machine = &shared.machine;
        let of = |row: &Row| {
            let drive = row.drive.as_ref().and_then(|name| machine.drive(name));
            let model = drive.map_or_else(String::new, |drive| machine.model_of(drive));
            format!("{} {} {} {model}", machine.pci.node(row.node).address, row.place, row.name)
        };
        self.today.iter().map(of).collect()
    }

    /// Moves the carried card to the cursor.
    fn carry(&mut self, shared: &Shared) {
        let place = self.row().and_then(|row| Self::place(&shared.machine, row));
        if let Some(picked) = self.picked.as_mut().filter(|picked| !picked.dropped) {
            picked.under = place;
            self.renew(shared);
        }
    }

    /// Predicts anew after the move has changed.
    fn renew(&mut self, shared: &Shared) {
        self.detail_top = 0;
        self.predict(shared);
    }

    /// Carries out a command of the user; what it changes is a step that Esc undoes.
    pub(super) fn user_step(
        &mut self,
        shared: &Shared,
        run: impl FnOnce(&mut Self, &Shared) -> Asks,
    ) -> Asks {
        let before = (self.picked.clone(), self.selected);
        let steps = self.steps.len();
        let asks = run(self, shared);
        // A card that is put back takes its steps with it.
        if before.0 != self.picked && self.steps.len() >= steps {
            self.steps.push(before);
        }
        asks
    }

    /// Picks up what is under the cursor, with its card; once more, it alone; once more, nothing. Elsewhere, puts it down.
    pub(super) fn pick_up(&mut self, shared: &Shared) -> Asks {
        let Some(device) = self.row().map(|row| row.node) else { return Asks::new() };
        let carried = self.picked.as_ref().filter(|picked| !picked.dropped);
        let is_new = carried.is_none();
        let asks = match (carried.map(|picked| picked.functions.contains(&device)), self.part(shared)) {
            (None, _) => self.lift(device, shared),
            (Some(false), _) => self.put_down(shared),
            (Some(true), Some(port)) => self.lift(port, shared),
            (Some(true), None) => {
                self.cancel(shared);
                Asks::new()
            }
        };
        if is_new && asks.is_empty() { self.tell_carrying(shared) } else { asks }
    }

    /// Says what is in the hand, how to put it down and how to cancel.
    fn tell_carrying(&self, shared: &Shared) -> Asks {
        let functions = self.picked.as_ref().map_or(&[][..], |picked| &picked.functions);
        let names = whatif::assumption::names(&shared.machine, functions);
        vec![tell(format!(
            "Moving {names}: {{up}} {{down}} choose a slot, {{move card}} drops it there, {{back}} cancels"
        ))]
    }

    /// Confirms that a card was put down, with what that changes.
    fn tell_dropped(&self, shared: &Shared) -> Asks {
        let Some(picked) = &self.picked else { return Asks::new() };
        let names = whatif::assumption::names(&shared.machine, &picked.functions);
        let place = picked.under.map(|under| shared.machine.pci.node(under).address);
        let place = place.map_or_else(String::new, |place| format!(" to {place}"));
        let gain = self.prediction.as_ref().and_then(|one| one.as_ref().ok()?.gain());
        let gain = match gain {
            Some(gain) if gain.abs() >= LEAST_GAIN => {
                let sign = if gain < 0.0 { "-" } else { "+" };
                format!("{sign}{} with all drives busy", shared.units.rate(BytesPerSecond(gain.abs())))
            }
            _ => "no other rate".to_owned(),
        };
        vec![tell(format!("Moved {names}{place} on paper: {gain}. {{back}} undoes it"))]
    }

    fn lift(&mut self, node: NodeIndex, shared: &Shared) -> Asks {
        match whatif::what_moves(&shared.machine, node) {
            Ok(functions) => {
                self.picked = Some(Picked { node, functions, under: None, dropped: false, speed: None });
                self.renew(shared);
                Asks::new()
            }
            Err(_) if !self.has_cards(shared) => vec![warn(NO_CARD)],
            Err(why) => vec![warn(format!("{}: choose a drive or a card with {{up}} {{down}}", why.wrong))],
        }
    }

    /// Puts down what is carried where the cursor is.
    pub(super) fn put_down(&mut self, shared: &Shared) -> Asks {
        let tree = &shared.machine.pci;
        match self.picked.as_mut().filter(|picked| !picked.dropped) {
            Some(picked) if picked.speed.is_none() && picked.is_at(tree) => {
                vec![tell("Nothing moved: the card is here already. Go to another slot")]
            }
            Some(_) if matches!(self.prediction, Some(Err(_))) => {
                vec![tell("The card does not work here: the right side says why. Go to another slot")]
            }
            Some(picked) if picked.under.is_some() || picked.speed.is_some() => {
                picked.dropped = true;
                self.tell_dropped(shared)
            }
            Some(_) => vec![tell("Go to its new root complex or slot first")],
            None => self.pick_up(shared),
        }
    }

    /// Restores the state before the card was picked up, and drops the steps since.
    fn cancel(&mut self, shared: &Shared) {
        let is_carried =
            |(picked, _): &(Option<Picked>, usize)| picked.as_ref().is_some_and(|one| !one.dropped);
        while self.steps.last().is_some_and(is_carried) {
            self.steps.pop();
        }
        self.picked = self.steps.pop().and_then(|(picked, _)| picked);
        self.renew(shared);
    }

    /// Restores everything; whether there was anything.
    fn put_back(&mut self, shared: &Shared) -> bool {
        let had = self.picked.take().is_some();
        if had {
            self.renew(shared);
        }
        had
    }

    /// Lowers or raises the generation of the slot that what was picked up goes to.
    pub(super) fn slot_speed(&mut self, step: i8, shared: &Shared) -> Asks {
        let mut asks = if self.picked.is_none() { self.pick_up(shared) } else { Asks::new() };
        let machine = &shared.machine;
        let Some(picked) = self.picked.as_mut() else { return asks };
        let today = picked.functions.first().and_then(|function| {
            let port = machine.pci.node(*function).parent?;
            machine.pci.node(port).link.as_ref()?.max_speed.get()
        });
        let now = picked.speed.or(today).map_or(4, TransferRate::generation);
        let wanted = TransferRate::from_code(now.saturating_add_signed(step));
        picked.speed =
            wanted.filter(|speed| Some(*speed) != today).or(wanted.filter(|_| picked.under.is_some()));
        if wanted.is_none() {
            asks.push(tell("PCI Express has generations 1 to 6"));
        } else {
            self.renew(shared);
        }
        asks
    }

    /// Puts the cursor on a node's row, or on that of what was picked up.
    fn select(&mut self, node: NodeIndex) {
        let picked = self.picked.as_ref().map_or(&[][..], |picked| &picked.functions);
        let at = self.today.iter().position(|row| row.node == node);
        self.selected = at
            .or_else(|| self.today.iter().position(|row| picked.contains(&row.node)))
            .unwrap_or(self.selected);
    }

    /// The move that wins most, away from the most expensive bottleneck, else from the root complex under the cursor.
    pub(super) fn best_move(&mut self, shared: &Shared) -> Asks {
        let tree = &shared.machine.pci;
        let of_row = self.row().map(|row| tree.root_of(row.node));
        let under =
            self.best.as_ref().filter(|best| self.picked.as_ref() == Some(best)).map(|best| best.under);
        // The cursor follows the card: below its new root complex there is nothing to move away.
        if under.is_some_and(|under| {
            shared.crowded_root().is_some() || under.map(|to| tree.root_of(to)) == of_row
        }) {
            return vec![tell("This is the best move already: {back} undoes it")];
        }
        shared.crowded_root().or(of_row).map_or_else(Asks::new, |root| self.best(root, shared))
    }

    fn best(&mut self, root: NodeIndex, shared: &Shared) -> Asks {
        let Some(asked) = whatif::best_away_from(&shared.machine, root) else {
            return vec![tell("No root complex without drives has a slot for one of these cards")];
        };
        let Some(device) = asked.devices.first().copied() else { return Asks::new() };
        let asks = self.lift(device, shared);
        if let Some(picked) = &mut self.picked {
            (picked.under, picked.dropped) = (asked.under, true);
        }
        self.best.clone_from(&self.picked);
        self.renew(shared);
        if let Some(under) = asked.under {
            self.select(under);
        }
        asks
    }

    /// Stages the link speed that was asked for on the tune screen, where it can be applied and restored.
    pub(super) fn try_live(&mut self, shared: &Shared) -> Asks {
        let Some((picked, speed)) = self.picked.as_ref().and_then(|picked| Some((picked, picked.speed?)))
        else {
            return vec![tell(
                "Choose a slower slot with {slower slot} first: only link speed can be tried live",
            )];
        };
        if picked.under.is_some() {
            return vec![tell("A move cannot be tried live, only a slower link of the current slot")];
        }
        let (functions, machine) = (&picked.functions, &shared.machine);
        let devices = drives_of(picked, shared);
        let port = functions.first().and_then(|function| machine.pci.node(*function).parent);
        let most = port.and_then(|port| machine.pci.node(port).link.as_ref()?.max_speed.get());
        let below = most.map_or(0, |most| most.generation().saturating_sub(speed.generation()));
        let Some((setting, device)) = live_link(picked, shared) else {
            return vec![tell(
                "The kernel has no cooling device for this port (needs 6.13): it cannot be tried live",
            )];
        };
        let cell = Subject::Setting(device, setting.id);
        match staged(machine, setting, &devices, &below.to_string()) {
            Ok(new) => vec![
                Ask::Change(SharedChange::Stage(setting.id, devices, new)),
                Ask::Show(ScreenId("tune"), Some(cell)),
                tell("Staged: {apply} reviews and applies the writes; they can be undone"),
            ],
            Err(why) => vec![Ask::Hand(ScreenId("tune"), cell), warn(why.to_string())],
        }
    }
}

/// The drives of a card.
fn drives_of(picked: &Picked, shared: &Shared) -> Vec<Device> {
    let is_of = |at| picked.functions.contains(&at);
    let drives = shared.machine.hardware_drives().filter(|drive| drive.node.is_some_and(is_of));
    drives.map(|drive| Device::Drive(drive.name.clone())).collect()
}

/// The setting of a card's link speed and the first of its drives, where the kernel has it.
fn live_link(picked: &Picked, shared: &Shared) -> Option<(&'static Setting, Device)> {
    let (matrix, devices) = (&shared.settings.matrix, drives_of(picked, shared));
    let setting = matrix.columns.iter().find(|setting| setting.id == SettingId("link_speed"))?;
    Some((*setting, matrix.devices.iter().find(|device| devices.contains(device))?.clone()))
}
