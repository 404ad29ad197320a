//! The findings screen: what was found as a list, and all about the selected one below it.

use ratatui::layout::Rect;

use super::{
    paint::{Brush, Piece, fit, piece, width, wrap},
    theme::Meaning,
    words::rate,
};
use crate::{
    app::App,
    findings::{Finding, Gain, Risk},
    model::Severity,
    units::{UnitSystem, counted},
};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    list(app, brush);
    detail(app, brush);
}

/// The mark of a severity: told by its shape, not by its colour alone.
pub(super) const fn mark(severity: Severity) -> (&'static str, Meaning) {
    match severity {
        Severity::High => ("▲", Meaning::Problem),
        Severity::Warning => ("!", Meaning::Warning),
        Severity::Info => ("·", Meaning::Quiet),
    }
}

/// `3 found, 1 high` beside the title.
pub(super) fn summary(app: &App) -> String {
    let number = |severity| app.findings.list.iter().filter(|finding| finding.severity == severity).count();
    let words = [
        (number(Severity::High), "high"),
        (number(Severity::Warning), "warning"),
        (number(Severity::Info), "to know"),
    ];
    let parts: Vec<_> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

fn list(app: &App, brush: &mut Brush<'_>) {
    let panel = brush.layout.findings;
    let note = if panel.width >= 100 { vec![piece("what it would win", Meaning::Quiet)] } else { Vec::new() };
    let title =
        vec![piece("Findings", Meaning::Heading), piece(format!("  {}", summary(app)), Meaning::Quiet)];
    brush.panel(panel, &title, &note);
    let area = brush.layout.finding_rows;
    let findings = &app.findings;
    for (y, (index, finding)) in
        (area.y..area.bottom()).zip(findings.list.iter().enumerate().skip(findings.top))
    {
        let row = Rect { y, height: 1, ..area };
        row_of(app, brush, row, finding, index == findings.selected);
    }
    let seen = findings.top + usize::from(area.height);
    let hidden = findings.list.len().saturating_sub(seen);
    if brush.layout.boxed && hidden > 0 {
        let word = format!(" ↓ {hidden} more ");
        brush.write_right(panel.right() - 1, panel.bottom() - 1, &[piece(word, Meaning::Quiet)]);
    }
}

fn row_of(app: &App, brush: &mut Brush<'_>, row: Rect, finding: &Finding, selected: bool) {
    let won = vec![piece(short_gain(app.units, &finding.gain), Meaning::Figure)];
    let room = row.width.saturating_sub(4 + width(&won) + 2);
    if selected {
        brush.text(row.x, row.y, 1, "›", Meaning::Brand);
    }
    line_of(brush, Rect { x: row.x + 2, width: room + 2, ..row }, finding, selected);
    brush.write_right(row.right(), row.y, &won);
}

/// Mark and title in one row.
fn line_of(brush: &mut Brush<'_>, row: Rect, finding: &Finding, selected: bool) {
    let (symbol, meaning) = mark(finding.severity);
    let title = fit(&finding.title, row.width.saturating_sub(2));
    let weight = if finding.severity == Severity::Info { Meaning::Quiet } else { Meaning::Text };
    brush.text(row.x, row.y, 1, symbol, meaning);
    let end = brush.text(row.x + 2, row.y, row.width.saturating_sub(2), &title, weight);
    if selected {
        brush.shade(Rect { x: row.x + 2, width: end.saturating_sub(row.x + 2), ..row }, Meaning::Selected);
    }
}

/// `+17.7 GB/s`; nothing where nobody knows.
fn short_gain(units: UnitSystem, gain: &Gain) -> String {
    match (gain.bytes_per_second, gain.iops) {
        (Some(bytes), _) => format!("+{}", rate(units, bytes)),
        (None, Some(iops)) => format!("+{}", super::words::iops(iops)),
        (None, None) => String::new(),
    }
}

/// The panel of findings on the machine screen: as many as there are rows, the most costly first.
pub(super) fn strip(app: &App, brush: &mut Brush<'_>, area: Rect) {
    let mut shown: Vec<&Finding> = app.findings.loud().collect();
    let quiet = app.findings.list.iter().filter(|finding| finding.severity == Severity::Info);
    shown.extend(quiet);
    for (y, finding) in (area.y..area.bottom()).zip(shown) {
        let row = Rect { y, height: 1, ..area };
        let won = vec![piece(short_gain(app.units, &finding.gain), Meaning::Figure)];
        let room = row.width.saturating_sub(width(&won) + 2);
        line_of(brush, Rect { width: room, ..row }, finding, false);
        brush.write_right(row.right(), y, &won);
    }
    if app.findings.list.is_empty() {
        brush.text(area.x, area.y, area.width, "Nothing found that holds this machine back.", Meaning::Quiet);
    }
}

fn detail(app: &App, brush: &mut Brush<'_>) {
    let panel = brush.layout.finding;
    let Some(finding) = app.findings.selected_finding() else {
        let inner = brush.panel(panel, &[piece("Nothing found", Meaning::Heading)], &[]);
        brush.text(
            inner.x,
            inner.y,
            inner.width,
            "Nothing was seen that holds this machine back.",
            Meaning::Quiet,
        );
        return;
    };
    let inner = brush.panel(panel, &[piece(finding.id.0, Meaning::Heading)], &[]);
    let lines = detail_lines(app, finding, inner.width);
    let (_, below) = brush.lines(inner, &lines, app.findings.detail_top);
    if below > 0 && brush.layout.boxed {
        let word = format!(" PgDn: {} ", counted(below, "more line"));
        brush.write_right(panel.right() - 1, panel.bottom() - 1, &[piece(word, Meaning::Quiet)]);
    }
}

const LABEL: u16 = 10;

fn detail_lines(app: &App, finding: &Finding, width: u16) -> Vec<Vec<Piece>> {
    let mut lines = Vec::new();
    let (symbol, meaning) = mark(finding.severity);
    for (index, text) in wrap(&finding.title, width.saturating_sub(2)).into_iter().enumerate() {
        let lead = if index == 0 { symbol } else { " " };
        lines.push(vec![piece(format!("{lead} "), meaning), piece(text, Meaning::Figure)]);
    }
    lines.push(Vec::new());
    field(&mut lines, "wins", &gain_words(app.units, &finding.gain), Meaning::Text, width);
    field(&mut lines, "do", &finding.remedy.text, Meaning::Text, width);
    if let Some(command) = &finding.remedy.command {
        field(&mut lines, "", command, Meaning::Key, width);
    }
    let risk = finding.remedy.risk;
    let danger = if risk == Risk::DestroysData { Meaning::Problem } else { Meaning::Text };
    field(&mut lines, "risk", &format!("{}: {}", risk.name(), risk.meaning()), danger, width);
    field(&mut lines, "why", &finding.why, Meaning::Text, width);
    field(&mut lines, "wrong if", &finding.wrong_if, Meaning::Quiet, width);
    lines.push(Vec::new());
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for proof in &finding.evidence {
        let pair = (proof.path.as_str(), proof.value.as_str());
        if seen.contains(&pair) {
            continue;
        }
        let label = if seen.is_empty() { "read" } else { "" };
        field(&mut lines, label, &proof.value, Meaning::Text, width);
        field(&mut lines, "", &proof.path, Meaning::Quiet, width);
        seen.push(pair);
    }
    if !app.findings.not_judged.is_empty() {
        let ids: Vec<_> = app.findings.not_judged.iter().map(|id| id.0).collect();
        lines.push(Vec::new());
        let text = format!("Not judged while no test runs: {}.", ids.join(", "));
        lines.extend(wrap(&text, width).into_iter().map(|line| vec![piece(line, Meaning::Quiet)]));
    }
    lines
}

fn gain_words(units: UnitSystem, gain: &Gain) -> String {
    let figure = short_gain(units, gain);
    let said = if figure.is_empty() { gain.text.clone() } else { format!("about {figure}") };
    match (gain.estimate, gain.source.is_empty()) {
        (_, true) => said,
        (true, false) => format!("{said}, an estimate: {}", gain.source),
        (false, false) => format!("{said}; {}", gain.source),
    }
}

fn field(lines: &mut Vec<Vec<Piece>>, label: &str, value: &str, meaning: Meaning, width: u16) {
    for (index, text) in wrap(value, width.saturating_sub(LABEL)).into_iter().enumerate() {
        let name = if index == 0 { label } else { "" };
        lines.push(vec![
            piece(format!("{name:<wide$}", wide = usize::from(LABEL)), Meaning::Quiet),
            piece(text, meaning),
        ]);
    }
}
