//! The facts of the selected row: beside the tree, below it on narrow screens, and all of them over it on request.

use ratatui::layout::Rect;

use super::{Tree, fact::Fact, facts};
use crate::{
    screens::{
        Over,
        widgets::{
            paint::{self, Brush, Piece, cells, fit, fit_end, hanging, label, paragraph, piece},
            scroll,
        },
    },
    ui::{Shared, theme::Meaning},
};

const LABEL: usize = 10;
/// The least width of a column of facts, and the cells between two.
const COLUMN: u16 = 60;
const GAP: u16 = 3;

pub(super) fn draw(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(row) = state.row() else { return };
    let title = [piece(facts::heading(shared, row), Meaning::Heading)];
    let note = if state.paths { vec![piece("with paths", Meaning::Quiet)] } else { Vec::new() };
    let inner = brush.panel(panel, &title, &note);
    let facts = facts::of_row(shared, row);
    let top = state.facts_top.min(end(state, shared, panel));
    if is_narrow(inner) {
        two_columns(state.paths, brush, inner, &facts, top);
        return;
    }
    let (columns, wide) = columns(inner);
    let lines = lines(&facts, wide, state.paths, false);
    let mut rest = lines.get(top..).unwrap_or_default();
    for column in 0..columns {
        let (here, next) = rest.split_at(rest.len().min(usize::from(inner.height)));
        let place = Rect { x: inner.x + column * (wide + GAP), width: wide, ..inner };
        brush.lines(place, here, 0);
        rest = next;
    }
    scroll::mark(brush, panel, ("↑ ", &shared.keys.fill("{details}: ")), (top, rest.len()));
}

/// Whether facts stand in two columns, a line each: below the tree on narrow terminals.
const fn is_narrow(inside: Rect) -> bool {
    inside.width >= 70 && inside.width < 98
}

/// Rows with which a place as wide as this shows all facts, its frame included.
pub(super) fn rows(state: &Tree, shared: &Shared, width: u16) -> u16 {
    let Some(row) = state.row() else { return 0 };
    let facts = facts::of_row(shared, row);
    let frame = Rect { width, height: 100, ..Rect::default() };
    let inside = paint::inner(frame, shared.is_boxed());
    let lines = if is_narrow(inside) {
        facts.iter().filter(|fact| !fact.label.is_empty()).count().div_ceil(2)
    } else {
        let (columns, wide) = columns(inside);
        lines(&facts, wide, state.paths, false).len().div_ceil(usize::from(columns))
    };
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame.height - inside.height)
}

/// How many columns of facts a place has, and their cells.
fn columns(inside: Rect) -> (u16, u16) {
    let columns = (inside.width / COLUMN).max(1);
    (columns, inside.width.saturating_sub((columns - 1) * GAP) / columns)
}

/// How many lines of the facts can be scrolled out of sight.
pub(super) fn end(state: &Tree, shared: &Shared, panel: Rect) -> usize {
    let Some(row) = state.row() else { return 0 };
    let inside = paint::inner(panel, shared.is_boxed());
    let facts = facts::of_row(shared, row);
    let (rows, (columns, wide)) = (usize::from(inside.height), columns(inside));
    if is_narrow(inside) {
        let named = facts.iter().filter(|fact| !fact.label.is_empty()).count();
        return named.saturating_sub(rows * 2);
    }
    lines(&facts, wide, state.paths, false).len().saturating_sub(rows * usize::from(columns))
}

/// All of them, in lines of at most `width` cells.
pub(super) fn over(state: &Tree, shared: &Shared, width: u16) -> Option<Over> {
    let row = state.row()?;
    let lines = lines(&facts::of_row(shared, row), width, state.paths, true);
    Some(Over { title: facts::heading(shared, row), lines, size: (96, 60), cursor: None })
}

/// The first facts side by side, a line each.
fn two_columns(paths: bool, brush: &mut Brush<'_>, inner: Rect, facts: &[Fact], top: usize) {
    let rows = usize::from(inner.height);
    let shown = || facts.iter().filter(|fact| !fact.label.is_empty()).skip(top).take(rows * 2);
    let text = |fact: &Fact| fact.path.clone().filter(|_| paths).unwrap_or_else(|| fact.value.clone().into());
    // The first column gets what its longest text needs, so that it ends well before the second one.
    let longest = shown().take(rows).map(|fact| cells(&text(fact))).max().unwrap_or_default();
    let wanted = longest.saturating_add(u16::try_from(LABEL).unwrap_or_default() + GAP);
    let first = wanted.clamp(inner.width / 2, inner.width * 6 / 10);
    for (index, fact) in shown().enumerate() {
        let (column, row) = (index / rows, index % rows);
        let (x, wide) =
            if column == 0 { (0, first - GAP) } else { (first, inner.width.saturating_sub(first)) };
        let y = (inner.y..inner.bottom()).nth(row).unwrap_or(inner.y);
        let label = label(fact.label, LABEL);
        let room = wide.saturating_sub(cells(&label.0));
        let is_path = paths && fact.path.as_ref().is_some_and(|path| !is_line(path));
        let value = if is_path { fit_end(&text(fact), room) } else { fit(&text(fact), room) };
        brush.write(inner.x + x, y, wide, &[label, piece(value, fact.meaning)]);
    }
}

/// Whether a value stands in a line of an opened text, not in a file.
fn is_line(path: &str) -> bool {
    path.starts_with("line ")
}

/// Facts as lines of at most `width` cells, with the path under each when `paths`, and all there is to say when `whole`.
fn lines(facts: &[Fact], width: u16, paths: bool, whole: bool) -> Vec<Vec<Piece>> {
    let mut out = Vec::new();
    for fact in facts {
        let wide =
            fact.label.is_empty() && fact.path.is_none() && fact.value.len() + LABEL > usize::from(width);
        if wide {
            out.extend(paragraph(&fact.value, Meaning::Quiet, width));
            continue;
        }
        out.extend(hanging(label(fact.label, LABEL), &fact.value, fact.meaning, width));
        if let Some(more) = fact.more.as_ref().filter(|_| whole || paths) {
            out.extend(hanging(label("", LABEL), more, Meaning::Quiet, width));
        }
        if let Some(path) = fact.path.as_ref().filter(|_| paths) {
            if is_line(path) {
                out.extend(hanging(piece("  ", Meaning::Quiet), path, Meaning::Quiet, width));
            } else {
                out.push(vec![piece(
                    format!("  {}", fit_end(path, width.saturating_sub(2))),
                    Meaning::Quiet,
                )]);
            }
        }
    }
    out
}
