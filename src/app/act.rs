//! Commands that every screen has.

use super::{App, Effect, MACHINE, SLOTS, TUNE, overlay::Overlay, tabs::home};
use crate::{
    screens::Step,
    ui::{ScreenId, Shared, Subject},
};

/// Moves the cursor or the text of the screen shown.
pub(super) fn step(app: &mut App, step: Step) -> Vec<Effect> {
    let body = app.layout().body;
    let Some(screen) = app.screens.get_mut(app.screen) else { return Vec::new() };
    let asks = screen.step(step, &app.shared, body);
    app.grant(asks)
}

/// Stops the experiment or the test in progress.
pub(super) fn stop(app: &mut App) -> Vec<Effect> {
    if app.shared.experiments.running().is_some() {
        app.shared.experiments.stopping = true;
        return vec![Effect::StopExperiment];
    }
    let Some(test) = app.shared.tests.running_mut() else {
        app.tell("No test is running: r starts one");
        return Vec::new();
    };
    test.stopping = true;
    vec![Effect::StopRun]
}

/// Goes back: the screen by a step of its own, else to the pull it was opened from, else to the screen it is a page of, else
/// to the first one. Slots belong to the experiments.
pub(super) fn back(app: &mut App) -> Vec<Effect> {
    if let Some(asks) = app.screens.get_mut(app.screen).and_then(|screen| screen.back(&app.shared)) {
        return app.grant(asks);
    }
    if let Some(from) = app.opened_from {
        return app.show(from, None);
    }
    let home = if app.screen == SLOTS { ScreenId("what-if") } else { home(app.screen) };
    app.screen = if app.screen == home { MACHINE } else { home };
    Vec::new()
}

/// Leaves, or asks first.
pub(super) fn quit(app: &mut App) -> Vec<Effect> {
    let Shared { tests, experiments, pulls, .. } = &app.shared;
    if tests.running().is_some() || experiments.running().is_some() || pulls.running.is_some() {
        return app.lay(Overlay::Quit);
    }
    leave(app)
}

/// Leaves, unless changes to settings stand: then the screen that made them asks first.
pub(super) fn leave(app: &mut App) -> Vec<Effect> {
    app.hand(TUNE, &Subject::Leaving)
}

/// Marks every drive, or none when all are marked.
pub(super) fn mark_all(app: &mut App) -> Vec<Effect> {
    let drives: Vec<_> = app.shared.machine.hardware_drives().map(|drive| drive.name.clone()).collect();
    app.shared.mark_all_of(&drives);
    app.tell(format!("{} of {} drives marked for the test", app.shared.marks.len(), drives.len()));
    Vec::new()
}
