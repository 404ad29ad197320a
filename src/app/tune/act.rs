//! What keys do on the tune screen: staging, the review, applying, undoing, leaving.

use tui_input::Input;

use crate::{
    app::{App, Effect, TUNE, overlay::Overlay},
    model::Problem,
    tune::{Change, Device, persist},
    ui::{
        Key,
        answer::{Answer, Undoing},
        settings::{Done, staged},
    },
};

impl App {
    /// Where a change at the cursor goes: to all marked drives when the cursor is on one of them, else to its row.
    pub fn tune_targets(&self) -> Vec<Device> {
        let Some(device) = self.tune.device(&self.shared.settings) else { return Vec::new() };
        let marked =
            |device: &Device| matches!(device, Device::Drive(name) if self.shared.marks.contains(name));
        if marked(device) {
            return self
                .shared
                .settings
                .matrix
                .devices
                .iter()
                .filter(|device| marked(device))
                .cloned()
                .collect();
        }
        vec![device.clone()]
    }
}

/// Goes to the next or previous choice of the cell.
pub fn choose(app: &mut App, step: isize) {
    match app.tune.choice(&app.shared.settings, step) {
        Some(value) => stage(app, &value),
        None => app.tell("No choices here: Enter opens the cell for text"),
    }
}

fn stage(app: &mut App, value: &str) {
    let targets = app.tune_targets();
    let Some(setting) = app.tune.setting(&app.shared.settings) else { return };
    match staged(&app.shared.machine, setting, &targets, value) {
        Ok(new) => app.shared.settings.stage(setting.id, &targets, new),
        Err(why) => app.warn(why),
    }
}

/// Opens the cell for text.
pub fn edit(app: &mut App) {
    let Some((cell, setting)) =
        app.tune.cell(&app.shared.settings).zip(app.tune.setting(&app.shared.settings))
    else {
        app.tell("This device has no such setting");
        return;
    };
    let staged = app
        .tune
        .device(&app.shared.settings)
        .and_then(|device| app.shared.settings.staged_for(device, setting.id));
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
                crate::ui::field::edit(input, key);
            }
        }
    }
}

/// Marks the drive of the row, or takes its mark.
pub fn mark(app: &mut App) {
    let Some(Device::Drive(name)) = app.tune.device(&app.shared.settings).cloned() else {
        app.tell("Processors are changed all at once: there is nothing to mark");
        return;
    };
    if !app.shared.marks.remove(&name) {
        app.shared.marks.insert(name);
    }
    app.tune.step(&app.shared.settings, 1, 0);
}

/// Drops what is staged in the cell; where nothing is, puts back what iodyno found there.
pub fn take_back(app: &mut App) -> Vec<Effect> {
    let targets = app.tune_targets();
    let Some(setting) = app.tune.setting(&app.shared.settings) else { return Vec::new() };
    if app.shared.settings.unstage(setting.id, &targets) {
        return Vec::new();
    }
    let files = app.tune.files_of_cell(&app.shared.settings);
    if files.is_empty() {
        app.tell("Nothing is staged here, and iodyno has changed nothing here");
        return Vec::new();
    }
    if !app.shared.can_tune() {
        app.warn("putting it back needs root: sudo iodyno tune undo");
        return Vec::new();
    }
    app.shared.settings.busy = true;
    vec![Effect::UndoChanges(Undoing::Files(files))]
}

/// Shows the writes that are staged.
pub fn review(app: &mut App) {
    if app.shared.settings.staged.is_empty() {
        app.tell("Nothing is staged: + and - go through a cell's choices, Enter opens it");
    } else {
        app.overlay = Some(Overlay::Review(0));
    }
}

/// Carries out what is staged; without the right to, leaves and prints the commands.
pub fn apply(app: &mut App) -> Vec<Effect> {
    app.overlay = None;
    let writes = app.shared.settings.writes();
    if !app.shared.can_tune() {
        return vec![Effect::QuitWith(writes.iter().map(|change| change.command() + "\n").collect())];
    }
    app.shared.settings.busy = true;
    app.shared.settings.staged.clear();
    vec![Effect::ApplyChanges(writes)]
}

/// Puts back everything this run changed.
pub fn undo_all(app: &mut App) -> Vec<Effect> {
    app.shared.settings.staged.clear();
    if app.shared.standing() == 0 {
        app.tell("This run has changed nothing that still stands; Backspace puts back a single value");
        return Vec::new();
    }
    app.shared.settings.busy = true;
    vec![Effect::UndoChanges(Undoing::Own)]
}

/// Leaves, with the question that has to be asked before.
pub fn quit(app: &mut App) -> Vec<Effect> {
    if app.shared.standing() > 0 {
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
            app.shared.settings.leaving = true;
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
    let sessions = app.shared.settings.dead.clone();
    match key {
        Key::Char('u') | Key::Enter => {
            app.overlay = None;
            app.shared.settings.busy = true;
            app.screen = TUNE;
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
        let cells = app.shared.settings.matrix.cells.iter().flatten().flatten();
        let cell = cells.into_iter().find(|cell| cell.files.iter().any(|own| own == file));
        cell.and_then(|cell| cell.value.as_ref()).map(ToString::to_string)
    };
    let export =
        persist::udev_rules(&app.shared.machine, &app.shared.settings.ledger, |entry| now(&entry.file));
    let left_out = export.left_out.iter().fold(String::new(), |all, line| all + "# left out: " + line + "\n");
    match (app.shared.is_simulated(), export.text.is_empty() && left_out.is_empty()) {
        (_, true) => "# nothing stands changed since boot\n".to_owned(),
        (true, _) => format!("# of a demo, whose drives are simulated\n{}{left_out}", export.text),
        (false, _) => export.text + &left_out,
    }
}

/// Takes what came of a request.
pub fn take(app: &mut App, answer: Answer) -> Vec<Effect> {
    let tune = &mut app.shared.settings;
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
    if let Some(read) = answer.machine {
        app.take_machine(read);
    } else {
        app.shared.settings.read(&app.shared.machine);
        app.tune.follow(&app.shared.settings);
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
    if first
        && app.shared.can_tune()
        && app.overlay.is_none()
        && app.shared.settings.left_behind().next().is_some()
    {
        app.overlay = Some(Overlay::LeftBehind);
    }
    Vec::new()
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
