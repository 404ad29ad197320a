//! The machine screen: the tree, the facts of the selected row, what holds the machine back.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{Areas, Tree, curves, facts_pane, tree_rows};
use crate::{
    screens::widgets::{bottleneck_panel, findings, paint::Brush, scroll},
    ui::Shared,
};

pub(super) fn draw(state: &Tree, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(state.rest, shared, area);
    tree_rows::draw(state, shared, &areas, brush);
    facts_pane::draw(state, shared, curves::places(state, shared, areas.facts).0, brush);
    curves::draw(state, shared, curves::place(state, shared, &areas), brush);
    // Under load the full links come first; findings stay beside them, or in their title where there is no room.
    let (full, others) = below(shared, areas.verdict);
    if let Some(panel) = full {
        let beside = if others.is_none() { findings::worst(shared) } else { Vec::new() };
        bottleneck_panel::draw(shared, panel, (state.full_top, FULL), &beside, brush);
    }
    if let Some(panel) = others {
        found(state, shared, panel, brush);
    }
}

/// Keys that scroll the text about full links: those of pages move the rows.
const FULL: scroll::Ways<'_> = ("{text up} ↑ ", "{text down} ↓ ");

/// From this width on, findings stand beside full links.
const BOTH: u16 = 160;

/// The place of full links, and that of findings: one of them has all of the panel, or both halves.
pub(super) fn below(shared: &Shared, verdict: Rect) -> (Option<Rect>, Option<Rect>) {
    match (shared.load.is_busy(), verdict.width < BOTH) {
        (false, _) => (None, Some(verdict)),
        (true, true) => (Some(verdict), None),
        (true, false) => {
            let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]);
            let [full, others] = halves.areas(verdict);
            (Some(full), Some(others))
        }
    }
}

fn found(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let heading = findings::title(shared);
    let inside = brush.panel(panel, &heading, &[]);
    let room = usize::from(inside.height);
    let details = findings::fitting_details(shared, inside.width, room);
    if let Some(details) = details.filter(|_| state.found_top == 0) {
        findings::detailed(shared, brush, details, inside);
        return;
    }
    let top = state.found_top.min(shared.findings.list.len().saturating_sub(room));
    let hidden = shared.findings.list.len().saturating_sub(top + room);
    findings::strip(shared, brush, inside, top);
    scroll::mark(brush, panel, ("↑ ", &shared.keys.fill("{findings}: ")), (top, hidden));
}
