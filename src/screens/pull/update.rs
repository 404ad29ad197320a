//! What keys and the mouse do on the pull's page.

use ratatui::layout::{Position, Rect};

use super::{Areas, Pull, draw, rows};
use crate::{
    machine::Drive,
    model::{FindingId, Target},
    pull::{self, Series},
    screens::{
        Screen, Step,
        widgets::{
            findings::opens_what_if,
            paint::{Brush, inner},
            scroll::scrolled,
        },
    },
    ui::{Ask, Asks, Effect, ScreenId, Shared, SharedChange, Subject, ask::tell},
};

const FINDINGS: ScreenId = ScreenId("findings");

impl Screen for Pull {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let inside = inner(Areas::new(shared, area).drives, shared.is_boxed());
        let rows = inside.height.saturating_sub(rows::heading(inside.width));
        self.top = scrolled(self.top, step.rows(rows), rows::rows(shared).len(), rows);
        Asks::new()
    }

    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        if Areas::new(shared, area).head.contains(at) { enter(self, shared) } else { Asks::new() }
    }

    /// Begins a pull, or asks first.
    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        if *subject != Subject::Pull {
            return Asks::new();
        }
        if shared.pulls.running.is_some() {
            return Asks::new();
        }
        if shared.tests.running().is_some() {
            return vec![tell("A test is running: x stops it")];
        }
        if shared.experiments.running().is_some() {
            return vec![tell("An experiment is running: x stops it and restores settings")];
        }
        if !shared.can_test() {
            return vec![tell("A capture's drives cannot be tested; --demo tests simulated ones")];
        }
        let targets: Vec<Target> = shared.tested_drives().map(Drive::target).collect();
        if targets.is_empty() {
            return vec![tell("No drive to read: mark one with Space, or read a file on the dyno screen")];
        }
        let agreed = shared.is_simulated() || shared.pulls.is_agreed(&targets);
        let pull = pull::Pull::new(&shared.machine, targets.clone(), Series::Guided, None);
        let mut asks = vec![Ask::Change(SharedChange::AskPull(Box::new(pull)))];
        if agreed {
            asks.push(Ask::Change(SharedChange::BeginPull));
        } else {
            asks.push(Ask::Effect(Effect::CheckAccess(targets)));
        }
        asks
    }

    /// Goes back to the machine; a pull in progress goes on.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        let mut asks = vec![Ask::Show(ScreenId("machine"), None)];
        if shared.pulls.asked.is_some() {
            asks.insert(0, Ask::Change(SharedChange::LeavePull));
        } else if shared.pulls.running.is_some() {
            asks.push(tell("The pull goes on: r shows it, x stops it"));
        }
        Some(asks)
    }

    fn finding(&self, shared: &Shared) -> Option<FindingId> {
        finding(shared)
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let pulls = &shared.pulls;
        let is_idle = pulls.asked.is_none() && pulls.running.is_none();
        match command {
            "pull again" => is_idle,
            "finding" => is_idle && finding(shared).is_some(),
            "slot move" => is_idle && finding(shared).is_some_and(opens_what_if),
            "runs" => pulls.asked.is_none() && has_runs(shared),
            "other pull" => is_idle && pulls.former.is_some(),
            "to sheet" => is_idle && pulls.ended.is_some(),
            "up" => rows::rows(shared).len() > 1,
            _ => true,
        }
    }
}

/// Starts what waits; else opens the finding that names the greatest loss.
pub(super) fn enter(_: &mut Pull, shared: &Shared) -> Asks {
    if shared.pulls.asked.is_some() {
        return vec![Ask::Change(SharedChange::BeginPull)];
    }
    match finding(shared) {
        Some(id) => vec![Ask::Show(FINDINGS, Some(Subject::Finding(id)))],
        None => vec![tell("No finding explains a loss of this pull")],
    }
}

/// Shows the runs on the dyno screen.
pub(super) fn details(_: &mut Pull, shared: &Shared) -> Asks {
    match number(shared) {
        Some(number) if has_runs(shared) => vec![Ask::Show(ScreenId("dyno"), Some(Subject::Runs(number)))],
        _ => vec![tell("No run of this pull has curves: drives read alone and tries of jobs are not kept")],
    }
}

/// The number of the pull shown.
fn number(shared: &Shared) -> Option<u32> {
    let ended = shared.pulls.ended.as_ref().map(|(pull, _)| pull);
    shared.pulls.running.as_ref().or(ended).map(pull::Pull::number)
}

/// Whether the dyno has a run of the pull shown.
fn has_runs(shared: &Shared) -> bool {
    number(shared).is_some_and(|number| shared.tests.all.iter().any(|test| test.pull == Some(number)))
}

/// Opens what would undo the greatest loss.
pub(super) fn remedy(_: &mut Pull, shared: &Shared) -> Asks {
    match finding(shared) {
        Some(id) if opens_what_if(id) => {
            vec![Ask::Show(FINDINGS, Some(Subject::Finding(id))), Ask::Command("prove")]
        }
        Some(_) => vec![tell("No slot move and no experiment would tell more: Enter shows the remedy")],
        None => vec![tell("No finding explains a loss of this pull")],
    }
}

/// Shows the sheet.
pub(super) fn sheet(_: &mut Pull, _shared: &Shared) -> Asks {
    vec![Ask::Show(ScreenId("sheet"), None)]
}

/// The finding that names the greatest loss of the last pull.
fn finding(shared: &Shared) -> Option<FindingId> {
    let (_, outcome) = shared.pulls.ended.as_ref()?;
    outcome.headline.lost_to.iter().find_map(|loss| loss.finding).or(outcome.headline.not_measured)
}
