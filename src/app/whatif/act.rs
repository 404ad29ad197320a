//! What keys do on the what-if screen: beginning, stopping, going on, keeping the winner, putting it back.

use tui_input::Input;

use crate::{
    app::{App, Effect, MACHINE},
    experiment::{Phase, Plan},
    tune::{Change, settings, tuner},
    ui::{Ask, Key, SharedChange, answer::Undoing, ask::tell, field::edit},
};

/// Begins the selected experiment.
pub fn begin(app: &mut App) -> Vec<Effect> {
    if app.shared.experiments.running().is_some() {
        app.tell("An experiment is running: x ends it and puts everything back");
        return Vec::new();
    }
    if app.shared.tests.running().is_some() {
        app.tell("A test is running: x stops it; then the experiment has the drives to itself");
        return Vec::new();
    }
    let Some(entry) = app.whatif.experiments.entry() else { return Vec::new() };
    match entry.plan.clone() {
        Ok(plan) => {
            app.shared.experiments.begin(plan.clone());
            app.whatif.experiments.begin();
            vec![Effect::BeginExperiment(Box::new(plan))]
        }
        Err(needs) => {
            app.warn(format!("{} needs {needs}", entry.row.id.0));
            Vec::new()
        }
    }
}

/// Ends the experiment under way; `None` where there is none.
pub fn stop(app: &mut App) -> Option<Vec<Effect>> {
    app.shared.experiments.running()?;
    app.shared.experiments.stopping = true;
    Some(vec![Effect::StopExperiment])
}

/// Goes back: ends what runs, else leaves the verdict for the list, else the screen.
pub fn back(app: &mut App) -> Vec<Effect> {
    if let Some(effects) = stop(app) {
        app.tell("It ends as soon as every setting is as it was");
        return effects;
    }
    if app.shared.experiments.shown.take().is_none() {
        app.screen = MACHINE;
    }
    Vec::new()
}

/// Gives the experiment that ended as much time as it says it needs, or as much again as it had.
pub fn longer(app: &mut App) -> Vec<Effect> {
    let shown = app.shared.experiments.shown.as_ref().filter(|shown| shown.account.phase == Phase::Ended);
    let Some(shown) = shown else {
        app.tell("Nothing to measure longer: Enter begins the selected experiment");
        return Vec::new();
    };
    let account = &shown.account;
    let rounds = account.rounds_needed().unwrap_or(0).saturating_sub(account.rounds).clamp(8, 100);
    vec![Effect::MeasureLonger(account.plan.round_time() * rounds)]
}

/// Writes the winner's settings, as the tune screen would.
pub fn keep(app: &mut App) -> Vec<Effect> {
    let Some((_, winner)) = app.shared.experiments.winner() else {
        app.tell("Nothing to keep: no arm that changes a setting has won");
        return Vec::new();
    };
    let Some(shown) = &app.shared.experiments.shown else { return Vec::new() };
    match changes(app, &shown.account.plan, winner) {
        Ok(changes) if changes.is_empty() => {
            app.tell("The winner is what the machine has already");
            Vec::new()
        }
        Ok(changes) => {
            app.whatif.experiments.keep(&changes);
            app.shared.settings.busy = true;
            vec![Effect::ApplyChanges(changes)]
        }
        Err(why) => {
            app.warn(why);
            Vec::new()
        }
    }
}

/// What the winner's settings take, the scheduler first.
fn changes(app: &App, plan: &Plan, winner: usize) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for set in &plan.arms[winner].settings {
        let Some(row) = settings::find(set.setting.0) else { continue };
        let planned = tuner::planned(&app.shared.machine, &set.device, row, &set.value);
        changes.extend(planned.map_err(|error| error.to_string())?);
    }
    changes.retain(|change| change.from != change.to);
    changes.sort_by_key(|change| settings::rank(change.setting.0));
    Ok(changes)
}

/// Puts back what was kept.
pub fn put_back(app: &mut App) -> Vec<Effect> {
    let files = std::mem::take(&mut app.whatif.experiments.kept);
    if files.is_empty() {
        app.tell("Every setting is as it was: the experiment has put it back, and nothing was kept");
        return Vec::new();
    }
    app.shared.settings.busy = true;
    vec![Effect::UndoChanges(Undoing::Files(files))]
}

/// Puts the verdict into the sheet, or leaves it out again.
pub fn to_sheet(app: &mut App) -> Vec<Effect> {
    let experiments = &app.shared.experiments;
    let Some(at) = experiments.done_at.filter(|_| experiments.shown.is_some()) else {
        app.tell("No verdict to put into the sheet: Enter begins the selected experiment");
        return Vec::new();
    };
    let is_in = experiments.posted.contains(&at);
    let told = if is_in {
        "The sheet is without this verdict again"
    } else {
        "The verdict is in the sheet: 7 shows it"
    };
    app.grant(vec![Ask::Change(SharedChange::TurnExperiment(at)), tell(told)])
}

/// Opens the first arm of `own` for text.
pub fn write_arms(app: &mut App) {
    if app.shared.experiments.shown.is_some() {
        return;
    }
    let experiments = &mut app.whatif.experiments;
    if let Some(at) = experiments.list.iter().position(|entry| entry.row.id.0 == "own") {
        experiments.selected = at;
        experiments.edit = Some((0, Input::new(experiments.own[0].clone())));
    }
}

/// A key while an arm of `own` is open.
pub fn edit_key(app: &mut App, key: Key) {
    let experiments = &mut app.whatif.experiments;
    let Some((arm, input)) = &mut experiments.edit else { return };
    match key {
        Key::Esc => experiments.edit = None,
        Key::Enter | Key::Tab | Key::Down => {
            let arm = *arm;
            input.value().trim().clone_into(&mut experiments.own[arm]);
            experiments.edit = (arm == 0).then(|| (1, Input::new(experiments.own[1].clone())));
        }
        Key::Up | Key::BackTab if *arm == 1 => {
            input.value().trim().clone_into(&mut experiments.own[1]);
            experiments.edit = Some((0, Input::new(experiments.own[0].clone())));
        }
        key => edit(input, key),
    }
}
