//! How the pull's page looks: consent, progress or headline above, the drives, then the runs and a curve.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Areas, Pull, has_runs, latency, rows, runs};
use crate::{
    pull::{self, Outcome},
    screens::widgets::{
        file_offer,
        paint::{
            Brush, Piece, cells, fit, fit_end, hanging, key_hints, paragraph, piece, simulated, whole_parts,
        },
        scroll,
        words::bar_meaning,
    },
    ui::{Shared, test::Test, theme::Meaning},
    units::counted,
};

pub(super) fn draw(state: &Pull, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(shared, area);
    let note = simulated(shared.is_simulated());
    let inner = brush.panel(areas.head, &title(shared), note);
    let lines = head(shared, inner.width);
    let hidden = brush.lines(inner, &lines, state.head_top);
    scroll::mark(brush, areas.head, scroll::PAGES, hidden);
    if let Some((done, left)) = shared.pulls.time(shared.tests.running()) {
        let share = done.as_secs_f64() / (done + left).as_secs_f64().max(1e-9);
        brush.bar(inner.x, inner.y + 1, inner.width, share, Meaning::Brand);
    }
    rows::draw(state, shared, areas.drives, brush);
    if let Some(area) = areas.runs {
        runs::list(state, shared, area, brush);
    }
    if let Some(area) = areas.curve {
        runs::curve(shared, area, brush);
    }
    if let Some(area) = areas.latency {
        latency::draw(shared, area, state.latency_top, brush);
    }
    if let Some(area) = areas.small {
        runs::small_curve(shared, area, brush);
    }
}

/// `Pull  2 of 10 drives, marked`.
fn title(shared: &Shared) -> Vec<Piece> {
    let pulls = &shared.pulls;
    let ended = pulls.ended.as_ref().map(|(pull, _)| pull);
    let shown = pulls.asked.as_ref().or(pulls.running.as_ref()).or(ended);
    let selection =
        shown.and_then(pull::Pull::selection).map(|text| piece(format!("  {text}"), Meaning::Marked));
    std::iter::once(piece("Pull", Meaning::Heading)).chain(selection).collect()
}

/// Consent, progress, headline, or what a pull is: lines of at most `width` cells.
pub(super) fn head(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let pulls = &shared.pulls;
    if pulls.asked.is_some() {
        return question(shared, width);
    }
    if let Some((_, left)) = pulls.time(shared.tests.running()).filter(|_| pulls.running.is_some()) {
        return progress(shared, left, width);
    }
    match &pulls.ended {
        Some((_, outcome)) => {
            let mut lines = headline(outcome, width);
            if outcome.drives.is_empty() {
                let again = shared.keys.fill("{pull again} starts it again.");
                lines.extend(paragraph(&again, Meaning::Quiet, width));
            }
            if let Some((pull, other)) = &pulls.former {
                let which = if pull.stopped().is_some() { "stopped" } else { "finished" };
                let text = other.headline.text.split_inclusive(").").next().unwrap_or_default();
                lines.extend(hanging(
                    piece(shared.keys.fill("{other pull} "), Meaning::Key),
                    &format!("shows the {which} pull: {text}"),
                    Meaning::Quiet,
                    width,
                ));
            }
            lines
        }
        None => paragraph(
            &shared.untestable().map_or_else(|| about(shared), str::to_owned),
            Meaning::Quiet,
            width,
        ),
    }
}

/// What will be read, for how long, and of whom; the keys stand where no window cuts them.
fn question(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let Some(pull) = &shared.pulls.asked else { return Vec::new() };
    let quiet = |text: &str| paragraph(text, Meaning::Quiet, width);
    let seconds = pull.time_left().as_secs();
    let (question, files) = match pull.size() {
        None => {
            let all = || counted(pull.targets().len(), "drive");
            let drives = pull.selection().map_or_else(all, |selection| selection + ",");
            let ask = format!("Read {drives} for at most {seconds} s? It reads only and changes no setting.");
            (ask, &[][..])
        }
        Some(size) => (file_offer::question(shared, pull.targets(), size, Some(seconds)), pull.targets()),
    };
    let mut lines = file_offer::lines(&question, files, &[("Enter", "start"), ("Esc", "cancel")], width);
    let large = if pull.targets().len() > 1 { "Each drive alone, then all together" } else { "Large reads" };
    lines.extend(quiet(&format!("{large}; 4 KiB random reads; latency at depth 1.")));
    if let Some(few) = pull.representatives() {
        lines.extend(quiet(&format!("Alone: {few} drives, one of each model and link.")));
    }
    let whole = pull.targets().iter().filter(|_| pull.size().is_none());
    let in_use = whole.filter_map(|target| {
        let drive = shared.machine.drive(target.drive.as_ref()?)?;
        Some(format!("{} in use: {}", drive.name, drive.used_by.first()?))
    });
    lines.extend(in_use.map(|line| vec![piece(fit(&line, width), Meaning::Warning)]));
    lines
}

/// The phase, the bar's line, time left and keys.
fn progress(shared: &Shared, left: Duration, width: u16) -> Vec<Vec<Piece>> {
    let place = shared.pulls.place().unwrap_or_default();
    let test = shared.tests.running();
    // Before its first read a run opens its targets and lays files out; the end of that line counts.
    let preparing = test.and_then(|test| test.preparing.as_ref());
    let title = test.map(|test| test.workload.title()).unwrap_or_default();
    let room = width.saturating_sub(cells(&place) + 2);
    let beside = match preparing {
        Some(busy_with) => piece(fit_end(busy_with, room), Meaning::Warning),
        None if test.is_some_and(Test::is_paused) => {
            piece(fit(&shared.keys.fill("paused: {pause pull} resumes"), room), Meaning::Warning)
        }
        None => piece(whole_parts(&title, room), Meaning::Quiet),
    };
    let then = if preparing.is_some() { "then " } else { "" };
    let mut last = vec![
        piece(format!("{then}at most {} left", seconds(left)), Meaning::Figure),
        piece("  ", Meaning::Text),
    ];
    let curves = has_runs(shared).then_some(("runs", "curves"));
    let keys = [("stop", "stop")].into_iter().chain(curves).chain([("back", "leave it running")]);
    last.extend(key_hints(&shared.keys, &keys.collect::<Vec<_>>()));
    vec![vec![piece(place, Meaning::Figure), piece("  ", Meaning::Text), beside], Vec::new(), last]
}

/// What a pull does, and what starts it now.
fn about(shared: &Shared) -> String {
    let start = if shared.is_measuring() {
        "{stop} stops the test or experiment in progress; then {pull again} starts the pull."
    } else {
        "{pull again} starts it."
    };
    shared.keys.fill(&format!(
        "A pull reads each drive alone, then all together, and names the limit between them: one sentence with figure, \
         loss, cause, remedy and gain. It reads only. {start}"
    ))
}

/// The figure in the colour of its share, then the rest of the sentence and the further lines.
fn headline(outcome: &Outcome, width: u16) -> Vec<Vec<Piece>> {
    let (figure, rest) = outcome.headline.parts();
    let is_limited = !outcome.headline.lost_to.is_empty();
    let of_share = |share| bar_meaning(share, is_limited, false);
    let meaning = match outcome.headline.share() {
        _ if outcome.headline.is_invalid() => Meaning::Warning,
        share => share.map_or(Meaning::Figure, of_share),
    };
    let mut lines = paragraph(figure, meaning, width);
    if figure.is_empty() {
        lines.clear();
    }
    lines.extend(paragraph(rest.trim_start(), Meaning::Text, width));
    for line in &outcome.lines {
        lines.extend(paragraph(line, Meaning::Quiet, width));
    }
    for doubt in &outcome.doubts {
        lines.extend(paragraph(doubt, Meaning::Warning, width));
    }
    lines
}

/// `41 s`.
fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64().ceil())
}
