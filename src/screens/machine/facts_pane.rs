//! The facts of the selected row: beside the tree, below it on narrow screens, and all of them over it on request.

use ratatui::layout::Rect;

use super::{
    Tree,
    facts::{self, Fact},
};
use crate::{
    screens::{
        Over,
        widgets::paint::{Brush, Piece, fit, fit_end, piece, wrap},
    },
    ui::{Shared, theme::Meaning},
};

const LABEL: u16 = 10;

pub(super) fn draw(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(row) = state.row() else { return };
    let title = [piece(facts::heading(shared, row), Meaning::Heading)];
    let note = if state.paths { vec![piece("with paths", Meaning::Quiet)] } else { Vec::new() };
    let inner = brush.panel(panel, &title, &note);
    let facts = facts::of_row(shared, row);
    if inner.width >= 70 && inner.height <= 6 {
        two_columns(state.paths, brush, inner, &facts);
        return;
    }
    let lines = lines(&facts, inner.width, state.paths, false);
    let hidden = lines.len().saturating_sub(usize::from(inner.height));
    for (y, line) in (inner.y..inner.bottom()).zip(&lines) {
        brush.write(inner.x, y, inner.width, line);
    }
    if hidden > 0 && brush.boxed {
        let word = format!(" Enter: {hidden} more ");
        brush.write_right(panel.right() - 1, panel.bottom() - 1, &[piece(word, Meaning::Quiet)]);
    }
}

/// All of them, in lines of at most `width` cells.
pub(super) fn over(state: &Tree, shared: &Shared, width: u16) -> Option<Over> {
    let row = state.row()?;
    let lines = lines(&facts::of_row(shared, row), width, state.paths, true);
    Some(Over { title: facts::heading(shared, row), lines, size: (96, 60) })
}

/// The first facts side by side, a line each.
fn two_columns(paths: bool, brush: &mut Brush<'_>, inner: Rect, facts: &[Fact]) {
    let half = inner.width / 2;
    let rows = usize::from(inner.height);
    let shown = facts.iter().filter(|fact| !fact.label.is_empty()).take(rows * 2);
    for (index, fact) in shown.enumerate() {
        let (column, row) = (index / rows, index % rows);
        let x = if column == 0 { inner.x } else { inner.x + half };
        let y = (inner.y..inner.bottom()).nth(row).unwrap_or(inner.y);
        let room = half - 1;
        let value = match &fact.path {
            Some(path) if paths => fit_end(path, room - LABEL),
            _ => fit(&fact.value, room - LABEL),
        };
        brush.write(x, y, room, &[label(fact.label), piece(value, fact.meaning)]);
    }
}

fn label(text: &str) -> Piece {
    piece(format!("{text:<wide$}", wide = usize::from(LABEL)), Meaning::Quiet)
}

/// Facts as lines of at most `width` cells, with the path under each when `paths`, and all there is to say when `whole`.
fn lines(facts: &[Fact], width: u16, paths: bool, whole: bool) -> Vec<Vec<Piece>> {
    let room = width.saturating_sub(LABEL);
    let mut out = Vec::new();
    for fact in facts {
        let wide = fact.label.is_empty() && fact.path.is_none() && fact.value.len() > usize::from(room);
        if wide {
            out.extend(wrap(&fact.value, width).into_iter().map(|line| vec![piece(line, Meaning::Quiet)]));
            continue;
        }
        for (index, line) in wrap(&fact.value, room).into_iter().enumerate() {
            let name = if index == 0 { fact.label } else { "" };
            out.push(vec![label(name), piece(line, fact.meaning)]);
        }
        for line in fact.more.iter().filter(|_| whole || paths).flat_map(|more| wrap(more, room)) {
            out.push(vec![label(""), piece(line, Meaning::Quiet)]);
        }
        if let Some(path) = fact.path.as_ref().filter(|_| paths) {
            out.push(vec![piece(format!("  {}", fit_end(path, width - 2)), Meaning::Quiet)]);
        }
    }
    out
}
