//! What keys and the mouse do on the pull's page.

use ratatui::layout::{Position, Rect};

use super::{Areas, Pull, draw, has_runs, latency, number, rows, runs};
use crate::{
    machine::Drive,
    model::{FindingId, Target},
    pull::{self, Series},
    screens::{
        Screen, Step,
        widgets::{
            findings::{leads_to, opens_what_if},
            paint::{Brush, inner},
            scroll::scrolled,
        },
    },
    ui::{Ask, Asks, Effect, ScreenId, Shared, SharedChange, Subject, ask::tell, test::Test},
};

const FINDINGS: ScreenId = ScreenId("findings");

impl Screen for Pull {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    /// Rows are those of the drives; a page moves every panel.
    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(shared, area);
        let height = |panel: Rect| inner(panel, shared.is_boxed()).height;
        self.scroll(Part::Drives, step.rows(height(areas.drives)), shared, &areas);
        if let Step::Pages(_) = step {
            for (part, panel) in
                [(Part::Head, Some(areas.head)), (Part::Runs, areas.runs), (Part::Latency, areas.latency)]
            {
                self.scroll(part, panel.map_or(0, |panel| step.rows(height(panel))), shared, &areas);
            }
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(shared, area);
        let is_in = |panel: Option<Rect>| panel.is_some_and(|panel| panel.contains(at));
        let part = match () {
            () if areas.head.contains(at) => Part::Head,
            () if is_in(areas.runs) => Part::Runs,
            () if is_in(areas.latency) => Part::Latency,
            () => Part::Drives,
        };
        self.scroll(part, step, shared, &areas);
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
            return vec![tell("A test is running: {stop} stops it")];
        }
        if shared.experiments.running().is_some() {
            return vec![tell("An experiment is running: {stop} stops it and restores settings")];
        }
        if let Some(why) = shared.untestable() {
            return vec![tell(why)];
        }
        let targets: Vec<Target> = shared.tested_drives().map(Drive::target).collect();
        if targets.is_empty() {
            return vec![tell("No drive to read: mark one with {mark}, or read a file on the dyno screen")];
        }
        let agreed = shared.is_simulated() || shared.pulls.is_agreed(&targets);
        let pull = pull::Pull::new(&shared.machine, targets.clone(), Series::Guided, None)
            .marked_of(left_out(shared, targets.len()));
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
            asks.push(tell("The pull goes on: {pull} shows it, {stop} stops it"));
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
            "pause pull" => pulls.running.is_some() && shared.tests.running().is_some(),
            "pull again" => is_idle && shared.can_test() && !shared.is_measuring(),
            "finding" => pulls.asked.is_some() || is_idle && finding(shared).is_some(),
            "slot move" => is_idle && finding(shared).is_some_and(|id| leads_on(shared, id)),
            "runs" => pulls.asked.is_none() && has_runs(shared),
            "other pull" => is_idle && pulls.former.is_some(),
            "to sheet" => is_idle && pulls.ended.is_some(),
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        command != "up" || {
            let place = inner(Areas::new(shared, area).drives, shared.is_boxed());
            let height = place.height.saturating_sub(rows::heading(place.width));
            height > 0 && rows::rows(shared).len() > usize::from(height)
        }
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        let is_asked = shared.pulls.asked.is_some();
        match command {
            "finding" if is_asked => Some("start"),
            "pause pull" if shared.tests.running().is_some_and(Test::is_paused) => Some("resume"),
            "slot move" => finding(shared).map(leads_to),
            "back" if is_asked => Some("cancel"),
            "back" if shared.pulls.running.is_some() => Some("back"),
            _ => None,
        }
    }
}

/// Pauses the pull, or lets it go on.
pub(super) fn pause(shared: &Shared) -> Asks {
    let test = shared.tests.running().filter(|_| shared.pulls.running.is_some());
    vec![match test {
        Some(test) => Ask::Effect(test.pause_or_resume()),
        None => tell(shared.untestable().unwrap_or("No pull is running: {pull again} starts one")),
    }]
}

/// A panel that can be longer than its place.
#[derive(Debug, Clone, Copy)]
enum Part {
    Head,
    Drives,
    Runs,
    Latency,
}

impl Pull {
    /// Scrolls a panel by `step` lines.
    fn scroll(&mut self, part: Part, step: isize, shared: &Shared, areas: &Areas) {
        let inside = |panel| inner(panel, shared.is_boxed());
        match part {
            Part::Head => {
                let place = inside(areas.head);
                self.head_top =
                    scrolled(self.head_top, step, draw::head(shared, place.width).len(), place.height);
            }
            Part::Drives => {
                let place = inside(areas.drives);
                let rows = place.height.saturating_sub(rows::heading(place.width));
                self.top = scrolled(self.top, step, rows::rows(shared).len(), rows);
            }
            Part::Runs => {
                let rows = inside(areas.runs.unwrap_or_default()).height;
                self.newer = scrolled(self.newer, -step, runs::lines(shared).len(), rows);
            }
            Part::Latency => {
                let rows = latency::rows(inside(areas.latency.unwrap_or_default()));
                let targets = latency::run(shared).map_or(0, |run| run.targets.len());
                self.latency_top = scrolled(self.latency_top, step, targets, rows);
            }
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
        None => vec![tell(unexplained(shared))],
    }
}

/// The drives that would be read without marks, where marks leave some out.
fn left_out(shared: &Shared, marked: usize) -> Option<usize> {
    let all = shared.machine.drives.iter().filter(|drive| drive.is_fixed()).count();
    (!shared.marks.is_empty() && marked < all).then_some(all)
}

/// Why no finding is named.
fn unexplained(shared: &Shared) -> &'static str {
    if shared.pulls.running.is_some() {
        "Wait: the pull names a finding at its end. {stop} stops it now, {back} leaves it running"
    } else {
        "No finding explains a loss of this pull"
    }
}

/// Shows the runs on the dyno screen.
pub(super) fn details(_: &mut Pull, shared: &Shared) -> Asks {
    match number(shared) {
        Some(number) if has_runs(shared) => vec![Ask::Show(ScreenId("dyno"), Some(Subject::Runs(number)))],
        _ => vec![tell(
            "No run of this pull has curves: those of single drives and of tried numbers of jobs are not stored",
        )],
    }
}

/// Opens what would undo the greatest loss.
pub(super) fn remedy(_: &mut Pull, shared: &Shared) -> Asks {
    match finding(shared) {
        Some(id) if leads_on(shared, id) => {
            vec![Ask::Show(FINDINGS, Some(Subject::Finding(id))), Ask::Command("prove")]
        }
        Some(_) => vec![tell("No slot move and no experiment would tell more: {finding} shows the remedy")],
        None => vec![tell(unexplained(shared))],
    }
}

/// Shows the sheet.
pub(super) fn sheet(_: &mut Pull, _shared: &Shared) -> Asks {
    vec![Ask::Show(ScreenId("sheet"), None)]
}

/// Whether a finding of the machine has a slot move or an experiment.
fn leads_on(shared: &Shared, id: FindingId) -> bool {
    shared.findings.list.iter().any(|finding| finding.id == id && opens_what_if(shared, finding))
}

/// The finding that names the greatest loss of the last pull.
fn finding(shared: &Shared) -> Option<FindingId> {
    let (_, outcome) = shared.pulls.ended.as_ref()?;
    outcome.headline.lost_to.iter().find_map(|loss| loss.finding).or(outcome.headline.not_measured)
}
