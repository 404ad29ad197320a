//! Keys and mouse on the tune screen: staging, the review, applying, undoing, leaving.

use ratatui::layout::{Position, Rect};

use super::{Areas, Laid, Tune, draw, over, rules};
use crate::{
    model::SettingId,
    screens::{
        News, Over, Screen, Step,
        widgets::{
            paint::{Brush, Piece, hints, inner},
            scroll::scrolled,
        },
    },
    tune::{Device, tuner::TuneError},
    ui::{
        Ask, Asks, Effect, Key, ScreenId, Shared,
        SharedChange::{AwaitSettings, LeaveWhenBack, Stage, Unstage, UnstageAll},
        Subject, TextField,
        answer::Undoing,
        ask::{tell, warn},
        settings::{Done, staged},
    },
    units::counted,
};

const TUNE: ScreenId = super::ABOUT.id;

impl Screen for Tune {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Step::Pages(_) = step {
            let areas = Areas::new(shared, area);
            let rows = |panel| step.rows(inner(panel, shared.is_boxed()).height);
            self.scroll_detail(rows(areas.setting), shared, areas.setting);
            self.scroll_changes(rows(areas.staged), shared, areas.staged);
        } else {
            self.move_by(&shared.settings, step.rows(0), 0);
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(shared, area);
        if areas.matrix.contains(at) {
            return self.step(Step::Rows(step), shared, area);
        }
        if areas.all.contains(at) {
            return self.sideways(step, shared);
        }
        if areas.setting.contains(at) {
            self.scroll_detail(step, shared, areas.setting);
        } else {
            self.scroll_changes(step, shared, areas.staged);
        }
        Asks::new()
    }

    /// Puts the cursor on a cell; a press on the one it is on goes to its next value, one on a name marks the row.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let rows = Areas::new(shared, area).rows;
        let row = self.top + usize::from(at.y.saturating_sub(rows.y));
        if !rows.contains(at) || row >= shared.settings.matrix.devices.len() {
            return Asks::new();
        }
        let x = at.x - rows.x;
        if x < Self::name_width(&shared.settings) {
            self.edit = None;
            self.row = row;
            return self.mark_row(shared);
        }
        let mut shown = self.columns_shown(&shared.settings, rows.width).into_iter();
        let Some((column, ..)) = shown.find(|(_, from, wide)| (*from..from + wide).contains(&x)) else {
            return Asks::new();
        };
        self.edit = None;
        if (self.row, self.column) == (row, column) {
            return self.choose(1, shared);
        }
        (self.row, self.column) = (row, column);
        Asks::new()
    }

    fn hear(&mut self, news: News, shared: &Shared) {
        if news == News::Machine {
            self.follow(&shared.settings);
        }
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        let rows = Areas::new(shared, area).rows;
        self.scroll_to_cursor(&shared.settings, rows.width, rows.height);
        Asks::new()
    }

    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        match subject {
            Subject::Setting(device, setting) => {
                let matrix = &shared.settings.matrix;
                let row = matrix.devices.iter().position(|one| one == device);
                let column = matrix.columns.iter().position(|one| one.id == *setting);
                (self.row, self.column) = (row.unwrap_or(self.row), column.unwrap_or(self.column));
                self.remember(&shared.settings);
                Asks::new()
            }
            Subject::Leaving if !shared.settings.staged.is_empty() => self.ask(Laid::Staged),
            Subject::Leaving if shared.standing() > 0 => self.ask(Laid::Standing),
            // What others have set since is no question: the undo leaves it alone and its line is printed.
            Subject::Leaving if shared.settings.left_alone().next().is_some() => undo_and_leave(),
            // Another program has restored them: there is nothing to ask, and the next start has nothing to offer.
            Subject::Leaving if shared.settings.open().next().is_some() => {
                vec![Ask::Effect(Effect::KeepChanges), Ask::Effect(Effect::Quit)]
            }
            Subject::Leaving => vec![Ask::Effect(Effect::Quit)],
            Subject::LeftBehind if shared.can_tune() && shared.settings.left_behind().next().is_some() => {
                self.lay(Laid::LeftBehind)
            }
            _ => Asks::new(),
        }
    }

    fn needs_settings(&self) -> bool {
        true
    }

    /// Unmarks all drives, else drops the values that were staged last; with none left the screen is left.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        if let Some(asks) = shared.clear_marks() {
            return Some(asks);
        }
        self.steps.retain(|step| is_waiting(step, shared));
        let (setting, devices) = self.steps.pop()?;
        let dropped = Ask::Change(Unstage(setting, devices.clone()));
        let is_one = devices.len() == 1;
        let of = devices
            .first()
            .filter(|_| is_one)
            .map_or_else(|| counted(devices.len(), "drive"), ToString::to_string);
        Some(vec![dropped, tell(format!("Dropped the staged {} of {of}", setting.0))])
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        match command {
            "back" if !shared.marks.is_empty() => Some("unmark"),
            "back" if self.steps.iter().any(|step| is_waiting(step, shared)) => Some("drop"),
            _ => None,
        }
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let settings = &shared.settings;
        let is_free = shared.experiments.running().is_none();
        match command {
            "apply" => is_free && !settings.staged.is_empty(),
            "undo one" => self.is_staged(shared) || is_free && self.can_take_back(shared),
            "next value" | "edit value" if self.refused(shared).is_some() => false,
            "mark row" if shared.machine.pasted.is_some() => false,
            "next value" => self.changes_by(1, shared) || self.changes_by(-1, shared),
            "mark row" => matches!(self.device(settings), Some(Device::Drive(_))),
            "undo all" => is_free && shared.standing() > 0,
            "export" => !settings.change_log.entries.is_empty() || settings.change_log.unread > 0,
            _ => true,
        }
    }

    fn mark(&self, shared: &Shared) -> Option<String> {
        let has_changes = !shared.settings.staged.is_empty() || shared.standing() > 0;
        has_changes.then(|| "*".to_owned())
    }

    fn field(&mut self) -> Option<&mut TextField> {
        self.edit.as_mut()
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        match (key, self.edit.as_mut()) {
            (Some(Key::Esc), _) => self.edit = None,
            (Some(Key::Enter), Some(input)) => {
                let value = input.value().trim().to_owned();
                match self.staging(&value, shared) {
                    Ok(asks) => {
                        self.edit = None;
                        return asks;
                    }
                    Err(why) => return vec![warn(why)],
                }
            }
            (Some(key @ (Key::Up | Key::Down)), _) => {
                return self.choose_in_field(if key == Key::Up { 1 } else { -1 }, shared);
            }
            (Some(key), Some(field)) => field.press(key),
            _ => {}
        }
        Asks::new()
    }

    fn field_hints(&self) -> Vec<Piece> {
        if self.edit.is_none() {
            return Vec::new();
        }
        hints(&[("Enter", "stage"), ("↑↓", "usual values"), ("Esc", "cancel")])
    }

    fn over(&self, shared: &Shared, width: u16) -> Option<Over> {
        Some(match self.laid {
            Laid::Review => over::review(shared, width),
            Laid::Standing => over::standing(shared, width),
            Laid::Staged => over::staged(shared, width),
            Laid::Export => over::export(&rules::text(shared), width),
            Laid::LeftBehind => over::left_behind(shared, width),
        })
    }

    fn over_hints(&self, shared: &Shared) -> Vec<Piece> {
        over::keys(self.laid, shared)
    }

    fn over_key(&mut self, key: Key, command: Option<&str>, shared: &Shared) -> Option<Asks> {
        match self.laid {
            Laid::Review => match (key, command) {
                (Key::Enter, _) if shared.can_tune() => Some(apply(shared)),
                (Key::Char('p'), _) if !shared.can_tune() => {
                    Some(vec![Ask::Close, Ask::Effect(Effect::QuitWith(commands(shared)))])
                }
                (Key::Char('y'), _) if !shared.can_tune() => {
                    Some(vec![Ask::Close, Ask::Effect(Effect::Copy(commands(shared), "commands"))])
                }
                (Key::Enter, _) | (_, Some("back" | "quit")) => Some(vec![Ask::Close]),
                _ => None,
            },
            // The key that raised the question does not answer it: pressed twice it loses nothing.
            Laid::Standing if command == Some("quit") && shared.standing() == 0 => Some(leave()),
            Laid::Standing | Laid::Staged if command == Some("quit") => Some(Asks::new()),
            Laid::Standing => standing_key(key, shared),
            Laid::Staged => match key {
                Key::Char('a') | Key::Enter => {
                    Some(vec![Ask::Close, Ask::Show(TUNE, None), Ask::Command("apply")])
                }
                Key::Char('u' | 'k' | 'e') if shared.standing() > 0 => standing_key(key, shared),
                Key::Char('d') if shared.standing() == 0 => {
                    Some(vec![Ask::Close, Ask::Change(UnstageAll), Ask::Command("quit")])
                }
                Key::Esc | Key::Char('n') => Some(vec![Ask::Close]),
                _ => None,
            },
            Laid::Export => match (key, command) {
                (Key::Char('w'), _) => {
                    Some(vec![Ask::Close, Ask::Effect(Effect::Save(rules::text(shared), "rules"))])
                }
                (Key::Char('y'), _) => {
                    Some(vec![Ask::Close, Ask::Effect(Effect::Copy(rules::text(shared), "udev rules"))])
                }
                (_, Some("back" | "quit" | "export")) => Some(vec![Ask::Close]),
                _ => None,
            },
            // It is offered again at the next start.
            Laid::LeftBehind if command == Some("quit") => Some(vec![Ask::Close, Ask::Command("quit")]),
            Laid::LeftBehind => offer_key(key, shared),
        }
    }
}

impl Tune {
    /// Scrolls staged values and results by `step` lines.
    fn scroll_changes(&mut self, step: isize, shared: &Shared, panel: Rect) {
        let inside = inner(panel, shared.is_boxed());
        let lines = draw::changes(shared, inside.width).len();
        self.changes_top = scrolled(self.changes_top, step, lines, inside.height);
    }

    /// Scrolls the text about the cell by `step` lines.
    fn scroll_detail(&mut self, step: isize, shared: &Shared, panel: Rect) {
        let lines = draw::words(self, shared, panel).len();
        let rows = inner(panel, shared.is_boxed()).height;
        self.detail_top = scrolled(self.detail_top, step, lines, rows);
    }

    /// Whether what it has laid is a question before the user leaves.
    pub(crate) fn asks_before_leaving(&self) -> bool {
        matches!(self.laid, Laid::Standing | Laid::Staged)
    }

    /// Lays a question about changes, with their values of now.
    fn ask(&mut self, laid: Laid) -> Asks {
        let mut asks = self.lay(laid);
        asks.push(Ask::Effect(Effect::ReadMachine));
        asks
    }

    fn lay(&mut self, laid: Laid) -> Asks {
        self.laid = laid;
        vec![Ask::Open(TUNE)]
    }

    /// Goes to a setting on the left or on the right.
    pub(super) fn sideways(&mut self, step: isize, shared: &Shared) -> Asks {
        self.move_by(&shared.settings, 0, step);
        Asks::new()
    }

    /// Settings belong to the experiment in progress until it ends.
    pub(super) fn unless_held(&mut self, shared: &Shared, run: fn(&mut Self, &Shared) -> Asks) -> Asks {
        if let Some(shown) = shared.experiments.running() {
            let text = if shown.plan.changes_settings() {
                "An experiment is changing settings: {stop} stops it and restores them"
            } else {
                "An experiment compares with the settings as they are: {stop} stops it"
            };
            return vec![tell(text)];
        }
        run(self, shared)
    }

    /// Why the cell takes no value, whatever it is: a text is shown alone, a device lacks the setting, or it takes more than a write.
    fn refused(&self, shared: &Shared) -> Option<Ask> {
        if shared.machine.pasted.is_some() {
            return Some(tell(draw::why_nothing(shared)));
        }
        let Some((setting, text)) = self.setting(&shared.settings).zip(self.text(shared)) else {
            return Some(tell("This device has no such setting"));
        };
        match staged(&shared.machine, setting, &self.targets(shared), &text) {
            Ok(_) | Err(TuneError::BadValue { .. }) => None,
            Err(why) => Some(warn(why.to_string())),
        }
    }

    /// Goes to the next or previous choice of the cell.
    pub(super) fn choose(&mut self, step: isize, shared: &Shared) -> Asks {
        if let Some(why) = self.refused(shared) {
            return vec![why];
        }
        match self.choice(shared, step) {
            Some(value) if self.text(shared).is_some_and(|now| now == value) => {
                let (end, other) =
                    if step > 0 { ("last", "{previous value}") } else { ("first", "{next value}") };
                vec![tell(format!(
                    "{value} is the {end} of the usual values: {other} goes back, {{edit value}} takes another"
                ))]
            }
            Some(value) => self.staging(&value, shared).unwrap_or_else(|why| vec![warn(why)]),
            None => vec![tell("No usual values here: {edit value} opens the cell for text")],
        }
    }

    /// The same while the cell is open, which then has that choice for text.
    fn choose_in_field(&mut self, step: isize, shared: &Shared) -> Asks {
        let choice = self.choice(shared, step);
        let asks = self.choose(step, shared);
        let is_staged = asks.iter().any(|ask| matches!(ask, Ask::Change(_)));
        self.edit = choice.filter(|_| is_staged).or_else(|| self.text(shared)).map(TextField::new);
        asks
    }

    /// Stages a value where a change at the cursor goes.
    fn staging(&mut self, value: &str, shared: &Shared) -> Result<Asks, String> {
        let targets = self.targets(shared);
        let Some(setting) = self.setting(&shared.settings) else { return Ok(Asks::new()) };
        let new = staged(&shared.machine, setting, &targets, value).map_err(|error| error.to_string())?;
        let step = (setting.id, targets.clone());
        self.steps.retain(|before| *before != step);
        self.steps.push(step);
        Ok(vec![Ask::Change(Stage(setting.id, targets, new))])
    }

    /// What the cell under the cursor is opened with: the value that is staged, else the one there now.
    fn text(&self, shared: &Shared) -> Option<String> {
        let settings = &shared.settings;
        let row = self.first_target(shared);
        let (cell, setting) = settings.cell_at(row, self.column).zip(self.setting(settings))?;
        let device = settings.matrix.devices.get(row);
        let staged = device.and_then(|device| settings.staged_for(device, setting.id));
        let text = staged.map(|staged| staged.value.clone()).or(cell.value.as_ref().map(ToString::to_string));
        Some(text.unwrap_or_default())
    }

    /// Opens the cell for text.
    pub(super) fn open(&mut self, shared: &Shared) -> Asks {
        if let Some(why) = self.refused(shared) {
            return vec![why];
        }
        self.edit = self.text(shared).map(TextField::new);
        Asks::new()
    }

    /// Marks the drive of the row, or takes its mark.
    pub(super) fn mark_row(&mut self, shared: &Shared) -> Asks {
        let Some(Device::Drive(name)) = self.device(&shared.settings).cloned() else {
            return vec![tell("CPU settings apply to all CPUs: there is nothing to mark")];
        };
        self.move_by(&shared.settings, 1, 0);
        shared.mark_and_tell(vec![name], "back")
    }

    /// Whether the cell has a staged value, or one that iodyno changed.
    fn can_take_back(&self, shared: &Shared) -> bool {
        self.is_staged(shared) || !self.changed_files(shared).is_empty()
    }

    /// Whether a value is staged in the cell.
    fn is_staged(&self, shared: &Shared) -> bool {
        let setting = self.setting(&shared.settings);
        setting.is_some_and(|setting| is_waiting(&(setting.id, self.targets(shared)), shared))
    }

    /// Whether the next or previous choice of the cell is another value than the one shown.
    fn changes_by(&self, step: isize, shared: &Shared) -> bool {
        self.choice(shared, step).is_some_and(|value| self.text(shared) != Some(value))
    }

    /// Drops what is staged in the cell at any time; a setting that was changed waits for an experiment in progress.
    pub(super) fn undo_one(&mut self, shared: &Shared) -> Asks {
        if self.is_staged(shared) {
            self.take_back(shared)
        } else {
            self.unless_held(shared, Self::take_back)
        }
    }

    /// Drops what is staged in the cell; where nothing is, restores what iodyno found there.
    fn take_back(&mut self, shared: &Shared) -> Asks {
        let targets = self.targets(shared);
        let Some(setting) = self.setting(&shared.settings) else { return Asks::new() };
        if self.is_staged(shared) {
            return vec![Ask::Change(Unstage(setting.id, targets))];
        }
        let files = self.changed_files(shared);
        if files.is_empty() {
            return vec![tell("Nothing is staged here or changed by iodyno")];
        }
        if !shared.can_tune() {
            return vec![warn("undo needs root: sudo iodyno tune undo")];
        }
        vec![Ask::Change(AwaitSettings), Ask::Effect(Effect::UndoChanges(Undoing::Files(files)))]
    }

    /// Shows the rules for what stands changed.
    pub(super) fn show_export(&mut self, shared: &Shared) -> Asks {
        let log = &shared.settings.change_log;
        if log.entries.is_empty() && log.unread == 0 {
            return vec![tell("No setting was changed since boot: there is nothing to keep")];
        }
        self.lay(Laid::Export)
    }

    /// Shows the writes that are staged.
    pub(super) fn review(&mut self, shared: &Shared) -> Asks {
        if shared.settings.staged.is_empty() {
            return vec![tell(
                "Nothing is staged: {next value} and {previous value} select a value, {edit value} edits it",
            )];
        }
        self.lay(Laid::Review)
    }
}

/// Whether a value of a step is staged still.
fn is_waiting((setting, devices): &(SettingId, Vec<Device>), shared: &Shared) -> bool {
    devices.iter().any(|device| shared.settings.staged_for(device, *setting).is_some())
}

/// A key while the question about standing changes is open.
fn standing_key(key: Key, shared: &Shared) -> Option<Asks> {
    let leave_with = |effect| vec![Ask::Effect(Effect::KeepChanges), Ask::Effect(effect)];
    Some(match key {
        // Another process has kept, undone or replaced them while the question stood.
        Key::Char('u' | 'k' | 'e') if shared.standing() == 0 => leave(),
        Key::Char('k') => leave_with(Effect::Quit),
        Key::Char('u') => [vec![Ask::Close], undo_and_leave()].concat(),
        Key::Char('e') => leave_with(Effect::QuitWith(rules::text(shared))),
        Key::Esc | Key::Enter | Key::Char('n') => vec![Ask::Close],
        _ => return None,
    })
}

/// Leaves where nothing is left to undo.
fn leave() -> Asks {
    vec![Ask::Close, Ask::Change(UnstageAll), Ask::Command("quit")]
}

/// Restores everything this run changed, and leaves.
fn undo_and_leave() -> Asks {
    [vec![Ask::Change(LeaveWhenBack)], undo_own()].concat()
}

fn undo_own() -> Asks {
    let undo = Ask::Effect(Effect::UndoChanges(Undoing::Own));
    vec![Ask::Change(UnstageAll), Ask::Change(AwaitSettings), undo]
}

/// Restores everything this run changed.
pub(super) fn undo_all(shared: &Shared) -> Asks {
    if shared.standing() > 0 {
        return undo_own();
    }
    let left = shared.settings.left_alone().next();
    let left = left.map(|one| Done::Restored(one.step.clone(), one.what.clone()).reason());
    let nothing = "This run has no changes left to undo";
    vec![Ask::Change(UnstageAll), tell(left.unwrap_or_else(|| nothing.to_owned()))]
}

/// The commands that make the staged writes, a line each.
fn commands(shared: &Shared) -> String {
    shared.settings.writes().iter().map(|change| change.command() + "\n").collect()
}

/// Carries out what is staged.
fn apply(shared: &Shared) -> Asks {
    let writes = shared.settings.writes();
    vec![
        Ask::Close,
        Ask::Change(AwaitSettings),
        Ask::Change(UnstageAll),
        Ask::Effect(Effect::ApplyChanges(writes)),
    ]
}

/// A key while the changes of a session that died are offered.
fn offer_key(key: Key, shared: &Shared) -> Option<Asks> {
    let sessions = shared.settings.dead.clone();
    Some(match key {
        Key::Char('u') => vec![
            Ask::Close,
            Ask::Change(AwaitSettings),
            Ask::Show(TUNE, None),
            Ask::Effect(Effect::UndoChanges(Undoing::Sessions(sessions))),
        ],
        Key::Char('k') => vec![Ask::Close, Ask::Effect(Effect::KeepDead(sessions))],
        Key::Esc | Key::Enter => vec![Ask::Close],
        _ => return None,
    })
}
