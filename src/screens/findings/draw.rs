//! The list of findings, and all about the selected one.

use ratatui::layout::{Constraint::Fill, Layout, Rect};

use super::{Areas, Findings};
use crate::{
    findings::{Finding, Gain, Risk},
    model::FindingId,
    screens::widgets::{
        findings::{self, leader, mark, short_gain, title, with_gain},
        paint::{Brush, Piece, hanging, label, paragraph, piece},
        scroll::{self, out_of_sight},
        sections::{self, Section},
        shell::{self, Reader},
    },
    ui::{Shared, theme::Meaning},
    units::UnitSystem,
};

pub(super) fn draw(state: &Findings, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(shared, area);
    list(state, shared, &areas, brush);
    detail(state, shared, areas.detail, brush);
}

fn list(state: &Findings, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let panel = areas.list;
    let note = gain_heading(shared, panel.width).map(|words| piece(words, Meaning::Quiet));
    let title: Vec<Piece> = title(shared).into_iter().chain(state.find.title()).collect();
    brush.panel(panel, &title, note.as_slice());
    let area = areas.rows;
    for (y, (index, finding)) in
        (area.y..area.bottom()).zip(shared.findings.list.iter().enumerate().skip(state.top))
    {
        let row = Rect { y, height: 1, ..area };
        row_of(shared, brush, row, (finding, state.find.word()), index == state.selected);
    }
    let hidden = out_of_sight(state.top, shared.findings.list.len(), area.height);
    scroll::mark(brush, panel, scroll::ROWS, hidden);
}

/// What the figures of the rows are: gains, and in parentheses losses that no remedy brings back.
fn gain_heading(shared: &Shared, width: u16) -> Option<&'static str> {
    let gains = || shared.findings.list.iter().map(|one| &one.gain);
    let has_lost = gains().any(|gain| short_gain(shared.units, gain).starts_with('('));
    let has_gain = gains().any(|gain| short_gain(shared.units, gain).starts_with('+'));
    match (has_gain, has_lost) {
        (true, true) if width >= 100 => Some("expected gain (lost, without remedy)"),
        (true, true) => Some("gain (lost)"),
        (false, true) if width >= 100 => Some("(lost, without remedy)"),
        (false, true) => Some("(lost)"),
        (true, false) if width >= 100 => Some("expected gain"),
        _ => None,
    }
}

fn row_of(shared: &Shared, brush: &mut Brush<'_>, row: Rect, finding: (&Finding, &str), selected: bool) {
    if selected {
        brush.text(row.x, row.y, 1, "›", Meaning::Brand);
    }
    let line = Rect { x: row.x + 2, width: row.width.saturating_sub(2), ..row };
    let (end, gain) = with_gain(shared, brush, line, finding, selected);
    if gain < line.right() {
        leader(brush, end, gain, row.y);
    }
}

fn detail(state: &Findings, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(finding) = state.finding(shared) else {
        let inner = brush.panel(panel, &[piece("No findings", Meaning::Heading)], &[]);
        brush.text(inner.x, inner.y, inner.width, &shared.no_findings(), Meaning::Quiet);
        return;
    };
    let inner = brush.panel(panel, &[piece(finding.id.0, Meaning::Heading)], &[]);
    let (own, beside) = halves(inner);
    let lines = detail_lines(shared, finding, own.width);
    let hidden = brush.lines(own, &lines, state.detail_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
    // The next ones first.
    let (before, after) = shared.findings.list.split_at(state.selected.min(shared.findings.list.len()));
    let others = || after.iter().skip(1).chain(before);
    sections::fill_with_most(brush, beside, &EVIDENCE, |most, width| {
        let of = |other| {
            let mut lines = about(shared, other, width);
            evidence(&mut lines, shared, other, most, width);
            lines
        };
        others().map(of).collect()
    });
    if beside.width > 0 {
        let unjudged = |width| {
            let of = |id: &FindingId| findings::unjudged(*id, width);
            shared.findings.need_test.iter().filter_map(of).collect()
        };
        sections::fill(brush, sections::after(own, lines.len()), unjudged);
    }
}

/// The evidence of each other finding: the most that leaves room for all of them.
const EVIDENCE: [usize; 6] = [usize::MAX, 24, 12, 6, 3, 0];

/// From this width on other findings stand beside the selected one.
const WIDE: u16 = 240;

/// The place of the selected finding in its panel, and that of the others beside it.
pub(super) fn halves(inner: Rect) -> (Rect, Rect) {
    if inner.width < WIDE {
        return (inner, Rect::default());
    }
    let [own, beside] = Layout::horizontal([Fill(1), Fill(1)]).spacing(3).areas(inner);
    (own, beside)
}

const LABEL: usize = 10;

/// All about a finding, in lines of at most `width` cells.
pub(super) fn detail_lines(shared: &Shared, finding: &Finding, width: u16) -> Vec<Vec<Piece>> {
    let mut lines = about(shared, finding, width);
    evidence(&mut lines, shared, finding, usize::MAX, width);
    if let Some(cut) = shared.cut() {
        lines.push(Vec::new());
        lines.extend(paragraph(&cut, Meaning::Warning, width));
    }
    if !shared.findings.need_test.is_empty() {
        let ids: Vec<_> = shared.findings.need_test.iter().map(|id| id.0).collect();
        lines.push(Vec::new());
        let when = if shared.can_test() {
            "Checked only while a test runs"
        } else {
            "Only a test on that machine checks"
        };
        let text = format!("{when}: {}.", ids.join(", "));
        lines.extend(paragraph(&text, Meaning::Quiet, width));
    }
    lines
}

/// The first pieces of a finding's evidence, below a blank row.
fn evidence(lines: &mut Section, shared: &Shared, finding: &Finding, most: usize, width: u16) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for proof in &finding.evidence {
        let pair = (proof.path.as_str(), proof.value.as_str());
        if seen.contains(&pair) {
            continue;
        }
        if seen.len() == most {
            break;
        }
        if seen.is_empty() {
            lines.push(Vec::new());
        }
        let label = if seen.is_empty() { "evidence" } else { "" };
        if shared.machine.pasted.is_some() {
            field(lines, label, &format!("{}: {}", proof.path, proof.value), Meaning::Text, width);
        } else {
            field(lines, label, &proof.value, Meaning::Text, width);
            field(lines, "", &proof.path, Meaning::Quiet, width);
        }
        seen.push(pair);
    }
}

/// The finding without its evidence.
fn about(shared: &Shared, finding: &Finding, width: u16) -> Section {
    let mut lines = Vec::new();
    let (symbol, meaning) = mark(finding.severity);
    lines.extend(hanging(piece(format!("{symbol} "), meaning), &finding.title, Meaning::Figure, width));
    lines.push(Vec::new());
    field(&mut lines, "gain", &gain_words(shared.units, &finding.gain), Meaning::Text, width);
    field(&mut lines, "remedy", &finding.remedy.text, Meaning::Text, width);
    if let Some(command) = &finding.remedy.command {
        lines.extend(shell::command(command, Reader::Shell, LABEL, width, Meaning::Key));
    }
    let risk = finding.remedy.risk;
    let danger = if risk == Risk::DestroysData { Meaning::Problem } else { Meaning::Text };
    field(&mut lines, "risk", &format!("{}: {}", risk.name(), risk.meaning()), danger, width);
    field(&mut lines, "why", &finding.why, Meaning::Text, width);
    field(&mut lines, "wrong if", &finding.wrong_if, Meaning::Quiet, width);
    lines
}

fn gain_words(units: UnitSystem, gain: &Gain) -> String {
    let figure = short_gain(units, gain);
    let said = if figure.is_empty() || gain.out_of_reach.is_some() {
        gain.text.clone()
    } else {
        format!("about {figure}")
    };
    match (gain.estimate, gain.source.is_empty()) {
        (_, true) => said,
        (true, false) => format!("{said}, an estimate: {}", gain.source),
        (false, false) => format!("{said}; {}", gain.source),
    }
}

fn field(lines: &mut Vec<Vec<Piece>>, name: &str, value: &str, meaning: Meaning, width: u16) {
    lines.extend(hanging(label(name, LABEL), value, meaning, width));
}
