//! Commands that every screen has.

use std::path::{Path, PathBuf};

use super::{App, DYNO, Effect, MACHINE, TUNE, WHAT_IF, WHY_FILE, overlay::Overlay, tabs::home};
use crate::{
    machine::Drive,
    pull,
    screens::Step,
    ui::{Ask, Shared, SharedChange, Subject},
};

/// Moves the cursor or the text of the screen shown.
pub(super) fn step(app: &mut App, step: Step) -> Vec<Effect> {
    let body = app.layout().body;
    let Some(screen) = app.screens.get_mut(app.screen) else { return Vec::new() };
    let asks = screen.step(step, &app.shared, body);
    app.grant(asks)
}

/// Goes to the next (1) or previous (-1) match of the find that is kept on the screen shown.
pub(super) fn next_match(app: &mut App, step: isize) -> Vec<Effect> {
    match app.screens.get_mut(app.screen) {
        Some(screen) if screen.keeps_find() => screen.next_match(step, &app.shared),
        _ => app.tell("No find is kept on this screen"),
    }
    Vec::new()
}

/// Stops the experiment or the test in progress.
pub(super) fn stop(app: &mut App) -> Vec<Effect> {
    if app.shared.experiments.running().is_some() {
        app.shared.experiments.stopping = true;
        return vec![Effect::StopExperiment];
    }
    if app.shared.measures_file() {
        let asks = vec![Ask::Change(SharedChange::StopFile), Ask::Effect(Effect::StopFile)];
        return app.grant(asks);
    }
    let Some(test) = app.shared.tests.running_mut() else {
        // The pull's key has another meaning on two screens.
        let nothing = match app.screen {
            WHAT_IF => "No experiment is running: {start again} starts one",
            WHY_FILE => "Nothing is measured now: {why file} asks for a file",
            _ => "No test is running: {pull} starts one",
        };
        app.tell(app.shared.untestable().unwrap_or(nothing));
        return Vec::new();
    };
    test.stopping = true;
    vec![Effect::StopRun]
}

/// Goes back: the screen by a step of its own, else to the screen that opened it, else to the one it is a page of, else to the
/// tab before it, else to the first one.
pub(super) fn back(app: &mut App) -> Vec<Effect> {
    if app.stats_bar.selection.span.take().is_some() {
        return Vec::new();
    }
    if let Some(asks) = app.screens.get_mut(app.screen).and_then(|screen| screen.back(&app.shared)) {
        return app.grant(asks);
    }
    if app.screen == WHAT_IF && app.shared.experiments.running().is_some() {
        app.tell("The experiment goes on: {what-if} shows it, {stop} stops it and restores settings");
    }
    if let Some(from) = app.trail.pop() {
        app.screen = from;
        return Vec::new();
    }
    let home = home(app.screen);
    let before = app.before.take().filter(|before| *before != app.screen);
    app.screen = if app.screen == home { before.unwrap_or(MACHINE) } else { home };
    Vec::new()
}

/// Leaves, or asks first.
pub(super) fn quit(app: &mut App) -> Vec<Effect> {
    if is_running(&app.shared) { app.lay(Overlay::Quit) } else { leave(app) }
}

/// Whether anything runs that was not stopped yet.
fn is_running(shared: &Shared) -> bool {
    can_stop(shared) || shared.pulls.running.is_some() && shared.tests.running().is_none()
}

/// Whether a test, an experiment or the measurement of a file runs that was not stopped yet.
pub(super) fn can_stop(shared: &Shared) -> bool {
    let Shared { tests, experiments, inquiry, .. } = shared;
    tests.running().is_some_and(|test| !test.stopping)
        || inquiry.as_ref().is_some_and(|inquiry| inquiry.is_running() && !inquiry.stopping)
        || experiments.running().is_some() && !experiments.stopping
}

/// Leaves after the answer that what runs may be stopped; where another question follows, it is stopped before that.
pub(super) fn stop_and_leave(app: &mut App) -> Vec<Effect> {
    let effects = leave(app);
    if effects.contains(&Effect::Quit) { effects } else { [stop(app), effects].concat() }
}

/// Leaves, unless changes to settings stand: then the screen that made them asks first.
pub(super) fn leave(app: &mut App) -> Vec<Effect> {
    app.hand(TUNE, &Subject::Leaving)
}

/// Whether it asks before the user leaves.
pub(crate) fn asks_before_leaving(app: &App) -> bool {
    match app.overlay {
        Some(Overlay::Quit) => true,
        Some(Overlay::Screen(id, _)) => id == TUNE && app.screens.tune.asks_before_leaving(),
        _ => false,
    }
}

/// Screens that show drives or files: their footer offers to measure the path of a file.
pub(super) const HAS_FILES: [&str; 4] = [MACHINE.0, "dyno", "why", WHY_FILE.0];

/// Asks for a file whose path is to be measured.
pub(super) fn why_file(app: &mut App) -> Vec<Effect> {
    let from = app.screen;
    let subject = Subject::File(suggested(app), from);
    app.show(WHY_FILE, Some(subject))
}

/// The file that is probably meant: on the dyno screen that of its form; else the last one if it lies on the drive under the
/// cursor; else the folder of a mount of that drive.
fn suggested(app: &App) -> PathBuf {
    let form = || app.screens.dyno.form.files.first().cloned();
    let of_form = form().filter(|_| app.screen == DYNO);
    let last = || Some(app.shared.inquiry.as_ref()?.request.file.clone());
    let drive = app.shared.cursor.as_ref().and_then(|name| app.shared.machine.drive(name));
    let points = drive.filter(|_| app.screen == MACHINE).map(|drive| folders(app, drive)).unwrap_or_default();
    let is_there = |file: &PathBuf| points.is_empty() || points.iter().any(|point| file.starts_with(point));
    let known = last().filter(is_there).or_else(|| form().filter(is_there));
    let folder = || Some(points.first()?.join(""));
    of_form.or(known).or_else(folder).or_else(last).unwrap_or_else(|| PathBuf::from("/"))
}

/// Folders on the file systems of a drive.
fn folders(app: &App, drive: &Drive) -> Vec<PathBuf> {
    let found = pull::file_systems(&app.shared.machine, &[drive.target()], None);
    let files = found.iter().flat_map(|system| &system.files);
    files.filter_map(|file| file.parent().map(Path::to_owned)).collect()
}

/// Marks every hardware drive; when all of them are marked, unmarks every drive.
pub(super) fn mark_all(app: &mut App) -> Vec<Effect> {
    let shared = &app.shared;
    let drives: Vec<_> = shared.machine.hardware_drives().map(|drive| drive.name.clone()).collect();
    let are_marked = drives.iter().all(|drive| shared.marks.contains(drive));
    let clear = || if are_marked { shared.clear_marks() } else { None };
    let asks = clear().unwrap_or_else(|| shared.mark_and_tell(drives, "mark all"));
    app.grant(asks)
}
