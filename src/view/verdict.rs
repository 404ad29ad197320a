//! The sentence that says what holds the machine back, and what that costs.

use super::{
    findings,
    paint::{Brush, Piece, cells, fit, piece, wrap},
    theme::Meaning,
    tree_rows::FULL_MARK,
    words::{basis, counted, place, rate},
};
use crate::app::{App, Screen, bottleneck::Bottleneck, load::LoadSource};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    let panel = brush.layout.verdict;
    // At rest the machine screen tells all that was found; under load, what is full right now.
    if app.screen == Screen::Machine && !app.load.is_busy() {
        let heading = [
            piece("Findings", Meaning::Heading),
            piece(format!("  {}", findings::summary(app)), Meaning::Quiet),
        ];
        let inner = brush.panel(panel, &heading, &[]);
        findings::strip(app, brush, inner);
        return;
    }
    let count = app.bottlenecks.len();
    let title = if count == 0 { "Held back by" } else { "Held back by " };
    let mut heading = vec![piece(title.trim_end(), Meaning::Heading)];
    if count > 1 {
        heading.push(piece(format!("  {count} places"), Meaning::Quiet));
    }
    let inner = brush.panel(panel, &heading, &[]);
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for bottleneck in &app.bottlenecks {
        lines.extend(sentence(app, bottleneck, inner.width));
    }
    // The first sentence first; its reason where there is room; then the next ones.
    if let Some(first) = app.bottlenecks.first().filter(|_| lines.len() < usize::from(inner.height)) {
        let at = sentence(app, first, inner.width).len();
        let room = usize::from(inner.height) - lines.len();
        lines.splice(at..at, reason(app, first, inner.width, room));
    }
    if lines.is_empty() {
        lines.push(vec![piece(nothing(app), Meaning::Quiet)]);
    }
    for (y, line) in (inner.y..inner.bottom()).zip(&lines) {
        brush.write(inner.x, y, inner.width, line);
    }
}

/// `▲ 8 drives share root complex 0000:40: it carries 39.4 GB/s, they could read 57.6 GB/s.   costs 18.2 GB/s`.
fn sentence(app: &App, found: &Bottleneck, width: u16) -> Vec<Vec<Piece>> {
    let units = app.units;
    let place = place(&app.machine, found.node);
    let drives = counted(found.drives.len(), "drive");
    let (limit, possible) = (rate(units, found.limit), rate(units, found.possible));
    let cost = rate(units, found.cost());
    let source = app.limits.hop(found.node).map_or("", |limit| basis(limit.basis));
    let text = match found.load {
        Some(load) if found.is_full() => format!(
            "{place} is full: {} for {drives} that could read {possible}. {cost} are lost here.",
            rate(units, load)
        ),
        Some(load) => format!(
            "{place} carries {} of {limit} for {drives} that could read {possible} at full speed.",
            rate(units, load)
        ),
        None => format!(
            "{drives} share {place}: they could read {possible}, it carries {limit} ({source}). That costs {cost}."
        ),
    };
    let meaning = if found.is_full() || found.load.is_none() { Meaning::Warning } else { Meaning::Quiet };
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for (index, line) in wrap(&text, width.saturating_sub(2)).into_iter().enumerate() {
        let mark = if index == 0 { format!("{FULL_MARK} ") } else { "  ".to_owned() };
        lines.push(vec![piece(mark, meaning), piece(line, Meaning::Text)]);
    }
    lines
}

/// Where the limit comes from, in at most `room` lines.
fn reason(app: &App, found: &Bottleneck, width: u16, room: usize) -> Vec<Vec<Piece>> {
    let Some(limit) = app.limits.hop(found.node) else { return Vec::new() };
    let wide = width.saturating_sub(2);
    let lines = wrap(&format!("The limit of {}: {}", rate(app.units, found.limit), limit.because), wide);
    let cut = lines.len() > room;
    let shown = lines.into_iter().take(room).enumerate().map(|(index, line)| {
        let line = if cut && index + 1 == room {
            fit(&format!("{line} and more"), wide.min(cells(&line) + 1))
        } else {
            line
        };
        vec![piece("  ", Meaning::Text), piece(line, Meaning::Quiet)]
    });
    shown.collect()
}

fn nothing(app: &App) -> String {
    match app.load.source {
        LoadSource::Test if app.load.is_busy() => {
            "Nothing that several drives share: each reads what its own link and flash allow.".into()
        }
        _ if app.machine.hardware_drives().count() < 2 => {
            "Nothing shared: this machine has one drive or none.".into()
        }
        _ => "No place with a known limit that several drives share is narrower than they are.".into(),
    }
}
