//! What keys do on the tune screen: staging, the review, applying, undoing, leaving.

use tui_input::Input;

use super::{
    Done,
    answer::{Answer, Undoing},
};
use crate::{
    app::{App, Effect, Mode, keymap::Key, overlay::Overlay, screen::Screen},
    model::Problem,
    tune::{Change, Device, Outcome, persist, tuner::Restored},
};

impl App {
    /// Whether changes can be made: pretended ones on a demo, real ones as root.
    pub fn can_tune(&self) -> bool {
        match self.mode {
            Mode::Demo(_) => true,
            Mode::Live => self.machine.host.root.get() == Some(true),
            Mode::Capture(_) | Mode::Folder(_) => false,
        }
    }

    /// Why changes cannot be made here, if they cannot.
    pub fn why_not_tune(&self) -> Option<&'static str> {
        match self.mode {
            _ if self.can_tune() => None,
            Mode::Live => Some("needs root"),
            _ => Some("not this machine"),
        }
    }

    /// Where a change at the cursor goes: to all marked drives when the cursor is on one of them, else to its row.
    pub fn tune_targets(&self) -> Vec<Device> {
        let Some(device) = self.tune.device() else { return Vec::new() };
        let marked =
            |device: &Device| matches!(device, Device::Drive(name) if self.tree.marks.contains(name));
        if marked(device) {
            return self.tune.matrix.devices.iter().filter(|device| marked(device)).cloned().collect();
        }
        vec![device.clone()]
    }

    /// Settings this run changed that still stand so.
    pub fn standing(&self) -> usize {
        self.tune.own().count()
    }
}

/// Goes to the next or previous choice of the cell.
pub fn choose(app: &mut App, step: isize) {
    match app.tune.choice(step) {
        Some(value) => stage(app, &value),
        None => app.tell("No choices here: Enter opens the cell for text"),
    }
}

fn stage(app: &mut App, value: &str) {
    let targets = app.tune_targets();
    let machine = app.machine.clone();
    if let Err(why) = app.tune.stage(&machine, &targets, value) {
        app.warn(why);
    }
}

/// Opens the cell for text.
pub fn edit(app: &mut App) {
    let Some((cell, setting)) = app.tune.cell().zip(app.tune.setting()) else {
        app.tell("This device has no such setting");
        return;
    };
    let staged = app.tune.device().and_then(|device| app.tune.staged_for(device, setting.id));
    let text = staged.map(|staged| staged.value.clone()).or(cell.value.as_ref().map(ToString::to_string));
    app.tune.edit = Some(Input::new(text.unwrap_or_default()));
}

/// A key while the cell is open.
pub fn edit_key(app: &mut App, key: Key) {
    match key {
        Key::Esc => app.tune.edit = None,
        Key::Enter => {
            let Some(input) = app.tune.edit.take() else { return };
            let value = input.value().trim().to_owned();
            stage(app, &value);
            if app.notice.as_ref().is_some_and(|notice| notice.problem) {
                app.tune.edit = Some(input);
            }
        }
        Key::Up | Key::Down => {
            app.tune.edit = None;
            choose(app, if key == Key::Up { 1 } else { -1 });
            edit(app);
        }
        key => {
            if let Some(input) = app.tune.edit.as_mut() {
                crate::app::act::edit(input, key);
            }
        }
    }
}

/// Marks the drive of the row, or takes its mark.
pub fn mark(app: &mut App) {
    let Some(Device::Drive(name)) = app.tune.device().cloned() else {
        app.tell("Processors are changed all at once: there is nothing to mark");
        return;
    };
    if !app.tree.marks.remove(&name) {
        app.tree.marks.insert(name);
    }
    app.tune.step(1, 0);
}

/// Drops what is staged in the cell; where nothing is, puts back what iodyno found there.
pub fn take_back(app: &mut App) -> Vec<Effect> {
    let targets = app.tune_targets();
    let Some(setting) = app.tune.setting() else { return Vec::new() };
    let before = app.tune.staged.len();
    app.tune.staged.retain(|staged| staged.setting != setting.id || !targets.contains(&staged.device));
    if app.tune.staged.len() < before {
        return Vec::new();
    }
    let files = app.tune.files_of_cell();
    if files.is_empty() {
        app.tell("Nothing is staged here, and iodyno has changed nothing here");
        return Vec::new();
    }
    if !app.can_tune() {
        app.warn("putting it back needs root: sudo iodyno tune undo");
        return Vec::new();
    }
    app.tune.busy = true;
    vec![Effect::UndoChanges(Undoing::Files(files))]
}

/// Shows the writes that are staged.
pub fn review(app: &mut App) {
    if app.tune.staged.is_empty() {
        app.tell("Nothing is staged: + and - go through a cell's choices, Enter opens it");
    } else {
        app.overlay = Some(Overlay::Review(0));
    }
}

/// Carries out what is staged; without the right to, leaves and prints the commands.
pub fn apply(app: &mut App) -> Vec<Effect> {
    app.overlay = None;
    let writes = app.tune.writes();
    if !app.can_tune() {
        return vec![Effect::QuitWith(writes.iter().map(|change| change.command() + "\n").collect())];
    }
    app.tune.busy = true;
    app.tune.staged.clear();
    vec![Effect::ApplyChanges(writes)]
}

/// Puts back everything this run changed.
pub fn undo_all(app: &mut App) -> Vec<Effect> {
    app.tune.staged.clear();
    if app.standing() == 0 {
        app.tell("This run has changed nothing that still stands; Backspace puts back a single value");
        return Vec::new();
    }
    app.tune.busy = true;
    vec![Effect::UndoChanges(Undoing::Own)]
}

/// Leaves, with the question that has to be asked before.
pub fn quit(app: &mut App) -> Vec<Effect> {
    if app.standing() > 0 {
        app.overlay = Some(Overlay::Standing);
        return Vec::new();
    }
    vec![Effect::Quit]
}

/// A key while the question about standing changes is open.
pub fn standing_key(app: &mut App, key: Key) -> Vec<Effect> {
    match key {
        Key::Char('k') => vec![Effect::KeepChanges, Effect::Quit],
        Key::Char('u') => {
            app.overlay = None;
            app.tune.leaving = true;
            undo_all(app)
        }
        Key::Char('e') => vec![Effect::KeepChanges, Effect::QuitWith(export(app))],
        Key::Esc | Key::Char('q' | 'n') => {
            app.overlay = None;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// A key while the changes of a session that died are offered.
pub fn offer_key(app: &mut App, key: Key) -> Vec<Effect> {
    let sessions = app.tune.dead.clone();
    match key {
        Key::Char('u') | Key::Enter => {
            app.overlay = None;
            app.tune.busy = true;
            app.screen = Screen::Tune;
            vec![Effect::UndoChanges(Undoing::Sessions(sessions))]
        }
        Key::Char('k') => {
            app.overlay = None;
            vec![Effect::KeepDead(sessions)]
        }
        Key::Esc => {
            app.overlay = None;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// udev rules for what stands changed since boot, with what they leave out.
pub fn export(app: &App) -> String {
    let now = |file: &str| {
        let cells = app.tune.matrix.cells.iter().flatten().flatten();
        let cell = cells.into_iter().find(|cell| cell.files.iter().any(|own| own == file));
        cell.and_then(|cell| cell.value.as_ref()).map(ToString::to_string)
    };
    let export = persist::udev_rules(&app.machine, &app.tune.ledger, |entry| now(&entry.file));
    let left_out = export.left_out.iter().fold(String::new(), |all, line| all + "# left out: " + line + "\n");
    match (app.is_simulated(), export.text.is_empty() && left_out.is_empty()) {
        (_, true) => "# nothing stands changed since boot\n".to_owned(),
        (true, _) => format!("# of a demo, whose drives are simulated\n{}{left_out}", export.text),
        (false, _) => export.text + &left_out,
    }
}

/// Takes what came of a request.
pub fn take(app: &mut App, answer: Answer) -> Vec<Effect> {
    let tune = &mut app.tune;
    tune.busy = false;
    tune.ledger = answer.ledger;
    tune.session = answer.session;
    let first = tune.dead.is_empty() && answer.made.is_empty() && answer.restored.is_empty();
    tune.dead = answer.dead;
    let done: Vec<Done> = answer
        .made
        .into_iter()
        .map(|(change, outcome)| Done::Made(change, outcome))
        .chain(answer.restored.into_iter().map(|(step, restored)| Done::Restored(step, restored)))
        .collect();
    let good = done.iter().filter(|done| done.is_good()).count();
    let leaving = std::mem::take(&mut tune.leaving) && good == done.len() && answer.error.is_none();
    let (all, made) = (done.len(), matches!(done.first(), Some(Done::Made(..))));
    if !done.is_empty() {
        tune.done = done;
    }
    match answer.machine {
        Some(read) => app.take_machine(read),
        None => app.tune.read(&app.machine.clone()),
    }
    if leaving {
        return vec![Effect::KeepChanges, Effect::Quit];
    }
    match answer.error {
        Some(why) => app.warn(why),
        None if all == 0 => {}
        None => {
            let verb = if made { "took hold as asked" } else { "back as found" };
            let text = format!("{good} of {all} {verb}");
            if good == all { app.tell(text) } else { app.warn(text) }
        }
    }
    if first && app.can_tune() && app.overlay.is_none() && app.tune.left_behind().next().is_some() {
        app.overlay = Some(Overlay::LeftBehind);
    }
    Vec::new()
}

impl Done {
    /// Whether it is what was asked for.
    pub fn is_good(&self) -> bool {
        match self {
            Self::Made(_, outcome) => *outcome == Ok(Outcome::Accepted),
            Self::Restored(_, restored) => matches!(restored, Restored::Back | Restored::AlreadyThere),
        }
    }

    /// From where to where.
    pub fn step(&self) -> String {
        match self {
            Self::Made(change, _) => format!("{} → {}", change.from, change.to),
            Self::Restored(step, _) => format!("↩ {}", step.target),
        }
    }

    /// On what, which setting, from where to where.
    pub fn what(&self) -> String {
        match self {
            Self::Made(change, _) => {
                format!("{} {} {}", change.device, change.setting.0, self.step())
            }
            Self::Restored(step, _) => format!("{} {} {}", step.device.name, step.setting, self.step()),
        }
    }

    /// What came of it.
    pub fn came_to(&self) -> String {
        match self {
            Self::Made(_, Ok(outcome)) => outcome.to_string(),
            Self::Made(_, Err(why)) => format!("not written: {why}"),
            Self::Restored(_, Restored::Back) => "back".to_owned(),
            Self::Restored(_, Restored::AlreadyThere) => "was so already".to_owned(),
            Self::Restored(_, Restored::Meddled(now)) => format!("left alone: somebody else set {now}"),
            Self::Restored(_, Restored::Failed(why)) => format!("not back: {why}"),
            Self::Restored(_, Restored::Gone) => "its drive is gone".to_owned(),
            Self::Restored(_, Restored::Doubtful(drives)) => {
                format!("not undone: may be {} now, look", drives.join(" or "))
            }
            Self::Restored(_, Restored::Refused(why)) => format!("not undone: {why}"),
        }
    }
}

/// Why a cell has no value, in words.
pub fn problem_words(problem: &Problem) -> String {
    format!("{}: {}", problem.path, problem.reason)
}

/// Writes that differ in nothing but their file, together: the first, and how many more there are.
pub fn grouped(writes: &[Change]) -> Vec<(&Change, usize)> {
    let alike = |a: &Change, b: &Change| {
        (&a.device, a.setting, &a.from, &a.to) == (&b.device, b.setting, &b.from, &b.to)
    };
    writes.chunk_by(alike).filter_map(|group| Some((group.first()?, group.len() - 1))).collect()
}
