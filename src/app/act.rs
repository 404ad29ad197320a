//! What a key does: fields take it as text, else it is a command of [`COMMANDS`](super::commands::COMMANDS).

use tui_input::{Input, InputRequest};

use super::{
    App, Effect,
    commands::{self, CommandId as Id},
    dyno::{self, test::Test},
    keymap::Key,
    overlay::{Overlay, Palette},
    screen::Screen,
    sheet, slots, tune, whatif,
};
use crate::report::flatten::Row;

/// A key was pressed.
pub fn key(app: &mut App, key: Key) -> Vec<Effect> {
    app.notice = None;
    if key == Key::Ctrl('c') {
        return command(app, Id::Leave);
    }
    if app.overlay.is_some() {
        return overlay_key(app, key);
    }
    if app.screen == Screen::Machine && app.tree.find.is_some() {
        find_key(app, key);
        return Vec::new();
    }
    if app.screen == Screen::Dyno && app.dyno.form.edit.is_some() {
        form_key(app, key);
        return Vec::new();
    }
    if app.screen == Screen::Tune && app.tune.edit.is_some() {
        tune::act::edit_key(app, key);
        return Vec::new();
    }
    if app.screen == Screen::WhatIf && app.whatif.experiments.edit.is_some() {
        whatif::act::edit_key(app, key);
        return Vec::new();
    }
    commands::lookup(key, app.screen).map_or_else(Vec::new, |found| command(app, found.id))
}

/// Text was pasted: it goes into the field that is open, and nowhere else.
pub fn paste(app: &mut App, text: &str) {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let field = match (&mut app.overlay, app.screen) {
        (Some(Overlay::Palette(palette)), _) => Some(&mut palette.input),
        (Some(_), _) | (None, Screen::Findings | Screen::Sheet | Screen::Slots) => None,
        (None, Screen::Machine) => app.tree.find.as_mut(),
        (None, Screen::Tune) => app.tune.edit.as_mut(),
        (None, Screen::Dyno) => app.dyno.form.edit.as_mut(),
        (None, Screen::WhatIf) => app.whatif.experiments.edit.as_mut().map(|(_, input)| input),
    };
    let Some(field) = field else {
        app.tell("Nothing takes text here: open a field first");
        return;
    };
    for c in line.chars().take(4096) {
        field.handle(InputRequest::InsertChar(c));
    }
    if app.overlay.is_none() && app.screen == Screen::Machine {
        app.tree.find_here(&app.machine);
    }
}

/// Carries a command out.
pub fn command(app: &mut App, id: Id) -> Vec<Effect> {
    match id {
        Id::Show(screen) => app.screen = screen,
        Id::NextScreen => app.screen = app.screen.neighbour(1),
        Id::PreviousScreen => app.screen = app.screen.neighbour(-1),
        Id::Up | Id::Down | Id::PageUp | Id::PageDown | Id::First | Id::Last => movement(app, id),
        Id::Fold => app.tree.left(),
        Id::Unfold => app.tree.right(),
        Id::ChoiceBefore => choose(app, -1),
        Id::ChoiceAfter => choose(app, 1),
        Id::CellBefore => app.tune.step(0, -1),
        Id::CellAfter => app.tune.step(0, 1),
        Id::ValueBefore => tune::act::choose(app, -1),
        Id::ValueAfter => tune::act::choose(app, 1),
        Id::TakeBack | Id::Review | Id::UndoAll if app.whatif.experiments.running().is_some() => {
            app.tell("An experiment has hold of the settings: x ends it and puts them back");
        }
        Id::Write => tune::act::edit(app),
        Id::MarkRow => tune::act::mark(app),
        Id::TakeBack => return tune::act::take_back(app),
        Id::Review => tune::act::review(app),
        Id::UndoAll => return tune::act::undo_all(app),
        Id::Details => details(app),
        Id::GoThere => go_there(app),
        Id::Edit => app.dyno.form.begin_edit(),
        Id::NextDrive => app.tree.step_drive(1),
        Id::PreviousDrive => app.tree.step_drive(-1),
        Id::Mark => mark(app),
        Id::MarkAll => mark_all(app),
        Id::Find => app.tree.open_find(),
        Id::Sort => {
            app.tree.next_sort();
            app.tell(format!("Siblings stand {}", app.tree.sort.name().replacen("bus", "in bus", 1)));
        }
        Id::Everything => app.tree.everything = !app.tree.everything,
        Id::Paths => app.tree.paths = !app.tree.paths,
        Id::Run => return run(app),
        Id::Pause => return pause(app),
        Id::Stop => return stop(app),
        Id::MoveThis | Id::OpenSlots => slots::open(app),
        Id::PickUp => slots::pick_up(app),
        Id::PutDown => slots::put_down(app),
        Id::SlowerSlot => slots::slot_speed(app, -1),
        Id::FasterSlot => slots::slot_speed(app, 1),
        Id::BestMove => slots::best_move(app),
        Id::TryLive => slots::try_live(app),
        Id::Curve => app.dyno.curve = app.dyno.curve.next(),
        Id::CheckBox => app.sheet.toggle(),
        Id::NextFormat => app.sheet.next_format(),
        Id::Copy => return sheet::copy(app),
        Id::Save => return sheet::save(app),
        Id::OlderRun => app.dyno.step_history(1),
        Id::NewerRun => app.dyno.step_history(-1),
        Id::Begin => return whatif::act::begin(app),
        Id::Arms => whatif::act::write_arms(app),
        Id::Longer => return whatif::act::longer(app),
        Id::KeepWinner => return whatif::act::keep(app),
        Id::ToSheet => whatif::act::to_sheet(app),
        Id::PutBack => return whatif::act::put_back(app),
        Id::Prove => whatif::act::prove(app),
        Id::Units => app.switch_units(),
        Id::Help => app.overlay = Some(Overlay::Help(0)),
        Id::Palette => app.overlay = Some(Overlay::Palette(Palette::default())),
        Id::Back if app.screen == Screen::WhatIf => return whatif::act::back(app),
        Id::Back if app.screen == Screen::Slots && slots::put_back(app) => {}
        Id::Back if app.screen != app.screen.home() => app.screen = app.screen.home(),
        Id::Back => app.screen = Screen::Machine,
        Id::Redraw => return vec![Effect::Redraw, Effect::ReadMachine],
        Id::Screenshot => return vec![Effect::SavePicture],
        Id::Suspend => return vec![Effect::Suspend],
        Id::Quit if app.dyno.running().is_some() || app.whatif.experiments.running().is_some() => {
            app.overlay = Some(Overlay::Quit);
        }
        Id::Quit => return tune::act::quit(app),
        Id::Leave => return vec![Effect::Interrupt],
    }
    Vec::new()
}

fn movement(app: &mut App, id: Id) {
    let layout = app.layout();
    let shown = layout.tree_rows.height.max(layout.finding.height).max(layout.preview_rows.height);
    let page = isize::from(shown.max(2).cast_signed() - 1);
    let Some(step) = steps(id, page) else { return };
    match app.screen {
        Screen::Machine => app.tree.step(step),
        Screen::Findings if matches!(id, Id::PageUp | Id::PageDown) => {
            scroll(&mut app.findings.detail_top, step, app.text_end);
        }
        Screen::Findings => app.findings.step(step),
        Screen::Tune if matches!(id, Id::PageUp | Id::PageDown) => {
            scroll(&mut app.tune.detail_top, step.signum() * 4, app.text_end);
        }
        Screen::Tune => app.tune.step(step, 0),
        Screen::Dyno if matches!(id, Id::PageUp | Id::PageDown) => {
            scroll(&mut app.dyno.result_top, step.signum() * 2, app.text_end);
        }
        Screen::Dyno => app.dyno.form.step(step),
        Screen::WhatIf => app.whatif.experiments.step(step),
        Screen::Sheet if matches!(id, Id::Up | Id::Down) => app.sheet.step(step),
        Screen::Sheet => app.sheet.scroll(step, usize::from(layout.preview_rows.height)),
        Screen::Slots if matches!(id, Id::PageUp | Id::PageDown) => {
            scroll(&mut app.slots.detail_top, step.signum() * 4, app.text_end);
        }
        Screen::Slots => slots::step(app, step),
    }
}

/// How far a movement goes where a page has so many rows.
const fn steps(movement: Id, page: isize) -> Option<isize> {
    Some(match movement {
        Id::Up => -1,
        Id::Down => 1,
        Id::PageUp => -page,
        Id::PageDown => page,
        Id::First => isize::MIN / 2,
        Id::Last => isize::MAX / 2,
        _ => return None,
    })
}

/// Moves the first line shown of a text that can begin with `end` at the last.
pub(super) fn scroll(top: &mut usize, step: isize, end: usize) {
    *top = (*top).min(end).saturating_add_signed(step);
}

/// Shows where on the machine screen the selected finding is.
fn go_there(app: &mut App) {
    let machine = app.machine.clone();
    let Some((subject, node)) = app.findings.selected_place(&machine) else {
        app.tell("This one is about the machine as a whole: it has no place in the tree");
        return;
    };
    let drive = machine
        .drives
        .iter()
        .find(|drive| drive.name.as_str() == subject.name)
        .map(|drive| drive.name.clone());
    app.screen = Screen::Machine;
    app.refresh();
    if !app.tree.reveal(&machine, node, drive.as_ref()) {
        app.tree.unfold_all();
        app.refresh();
        app.tree.reveal(&machine, node, drive.as_ref());
    }
}

fn choose(app: &mut App, step: isize) {
    if !app.dyno.form.step_choice(step) {
        app.tell("This field has no choices: Enter opens it for text");
    }
}

fn details(app: &mut App) {
    let closed = app.tree.row().is_some_and(|row| row.open == Some(false) || row.node.is_none());
    if !(closed && app.tree.toggle()) {
        app.overlay = Some(Overlay::Facts(0));
    }
}

fn mark(app: &mut App) {
    if app.tree.mark() {
        let text = match app.tree.marks.len() {
            0 => "No drive is marked: a test runs on every hardware drive".to_owned(),
            1 => "1 drive marked for the test".to_owned(),
            n => format!("{n} drives marked for the test"),
        };
        app.tell(text);
        if app.tree.row().is_some_and(Row::is_drive) {
            app.tree.step_drive(1);
        }
    } else {
        app.tell("No drive at or below this row");
    }
}

fn mark_all(app: &mut App) {
    let drives: Vec<_> = app.machine.hardware_drives().map(|drive| drive.name.clone()).collect();
    app.tree.mark_all_of(&drives);
    app.tell(format!("{} of {} drives marked for the test", app.tree.marks.len(), drives.len()));
}

fn run(app: &mut App) -> Vec<Effect> {
    if app.screen == Screen::WhatIf {
        return whatif::act::begin(app);
    }
    if app.whatif.experiments.running().is_some() {
        app.tell("An experiment is running: x ends it and puts everything back");
        return Vec::new();
    }
    if !app.can_test() {
        app.tell("The drives of a capture are not here to be tested; --demo shows a test on simulated ones");
        return Vec::new();
    }
    if app.dyno.running().is_some() {
        app.tell("A test is running: x stops it");
        return Vec::new();
    }
    let targets = dyno::targets(&app.dyno.form, &app.tree.marks, &app.machine);
    let workload = dyno::workload(&app.dyno.form, targets);
    if let Err(wrong) = workload.validate() {
        app.warn(wrong.to_string());
        return Vec::new();
    }
    let expected = crate::capacity::expected(&app.machine, &app.limits, &workload);
    let watch = crate::findings::validity::Watch::begin(&app.machine, &workload);
    let forgotten = app.dyno.begin(Test::new(workload.clone(), expected, watch));
    if forgotten.is_some_and(|test| test.summary().is_some()) {
        app.sheet.forget_run();
    }
    app.judge();
    vec![Effect::StartRun(Box::new(workload))]
}

fn pause(app: &mut App) -> Vec<Effect> {
    use crate::model::RunState;
    match app.dyno.running().map(|test| test.state) {
        Some(RunState::Paused) => vec![Effect::ResumeRun],
        Some(_) => vec![Effect::PauseRun],
        None => {
            app.tell("No test is running: r starts one");
            Vec::new()
        }
    }
}

fn stop(app: &mut App) -> Vec<Effect> {
    if let Some(effects) = whatif::act::stop(app) {
        return effects;
    }
    let Some(test) = app.dyno.running_mut() else {
        app.tell("No test is running: r starts one");
        return Vec::new();
    };
    test.stopping = true;
    vec![Effect::StopRun]
}

fn overlay_key(app: &mut App, key: Key) -> Vec<Effect> {
    let Some(overlay) = app.overlay.as_mut() else { return Vec::new() };
    let meant = commands::lookup(key, app.screen).map(|found| found.id);
    if let (Overlay::Help(top) | Overlay::Facts(top) | Overlay::Review(top), Some(step)) =
        (&mut *overlay, meant.and_then(|meant| steps(meant, 10)))
    {
        scroll(top, step, app.text_end);
        return Vec::new();
    }
    match overlay {
        Overlay::Help(_) | Overlay::Facts(_) => match meant {
            Some(Id::Paths) => app.tree.paths = !app.tree.paths,
            Some(Id::Units) => app.switch_units(),
            Some(Id::Back | Id::Help | Id::Quit | Id::Details | Id::GoThere | Id::Edit | Id::Fold) => {
                app.overlay = None;
            }
            _ => {}
        },
        Overlay::Palette(palette) => match palette_key(app.screen, palette, key) {
            Chosen::Nothing => {}
            Chosen::Close => app.overlay = None,
            Chosen::Command(id) => {
                app.overlay = None;
                return command(app, id);
            }
        },
        Overlay::Quit => match key {
            Key::Char('q' | 'y') | Key::Enter => return tune::act::quit(app),
            Key::Esc | Key::Char('n') => app.overlay = None,
            _ => {}
        },
        Overlay::Review(_) => match (key, meant) {
            (Key::Enter, _) => return tune::act::apply(app),
            (_, Some(Id::Back | Id::Quit | Id::Review)) => app.overlay = None,
            _ => {}
        },
        Overlay::Standing => return tune::act::standing_key(app, key),
        Overlay::LeftBehind => return tune::act::offer_key(app, key),
    }
    Vec::new()
}

/// What came of a key in the palette.
enum Chosen {
    Nothing,
    Close,
    Command(Id),
}

fn palette_key(screen: Screen, palette: &mut Palette, key: Key) -> Chosen {
    let found = palette.matches(screen);
    match key {
        Key::Esc => return Chosen::Close,
        Key::Enter => {
            return found.get(palette.selected).map_or(Chosen::Close, |chosen| Chosen::Command(chosen.id));
        }
        Key::Up => palette.selected = palette.selected.saturating_sub(1),
        Key::Down | Key::Tab => palette.selected = (palette.selected + 1).min(found.len().saturating_sub(1)),
        key => {
            edit(&mut palette.input, key);
            palette.selected = 0;
        }
    }
    Chosen::Nothing
}

fn find_key(app: &mut App, key: Key) {
    match key {
        Key::Esc => app.tree.find = None,
        Key::Enter => app.tree.close_find(&app.machine),
        Key::Down | Key::Tab => app.tree.find_next(&app.machine, 1),
        Key::Up | Key::BackTab => app.tree.find_next(&app.machine, -1),
        key => {
            let Some(input) = app.tree.find.as_mut() else { return };
            edit(input, key);
            if !app.tree.find_here(&app.machine) {
                app.tell("No such row");
            }
        }
    }
}

fn form_key(app: &mut App, key: Key) {
    let form = &mut app.dyno.form;
    match key {
        Key::Esc => form.edit = None,
        Key::Enter | Key::Tab | Key::Down => {
            if let Err(wrong) = form.accept_edit() {
                app.warn(wrong);
            } else if key != Key::Enter {
                form.step(1);
            }
        }
        key => {
            if let Some(input) = form.edit.as_mut() {
                edit(input, key);
            }
        }
    }
}

/// A key in a field.
pub fn edit(input: &mut Input, key: Key) {
    let request = match key {
        Key::Char(c) => InputRequest::InsertChar(c),
        Key::Backspace => InputRequest::DeletePrevChar,
        Key::Delete => InputRequest::DeleteNextChar,
        Key::Left => InputRequest::GoToPrevChar,
        Key::Right => InputRequest::GoToNextChar,
        Key::Home | Key::Ctrl('a') => InputRequest::GoToStart,
        Key::End | Key::Ctrl('e') => InputRequest::GoToEnd,
        Key::Ctrl('w') => InputRequest::DeletePrevWord,
        Key::Ctrl('u') => InputRequest::DeleteLine,
        Key::Ctrl('k') => InputRequest::DeleteTillEnd,
        _ => return,
    };
    input.handle(request);
}
