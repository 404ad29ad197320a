//! The machine screen: the tree, the facts of the selected row, what holds the machine back.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{Areas, Tree, facts_pane, tree_rows};
use crate::{
    screens::widgets::{
        bottleneck_panel, findings,
        paint::{Brush, inner, piece},
    },
    ui::{Shared, theme::Meaning},
};

pub(super) fn draw(state: &Tree, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(state.stacked, shared, area);
    tree_rows::draw(state, shared, &areas, brush);
    let facts = tree_rows::minute_beside(state, shared, areas.facts, brush);
    facts_pane::draw(state, shared, facts, brush);
    if !shared.load.is_busy() {
        found(state, shared, areas.verdict, brush);
        return;
    }
    // Under load the full links come first; findings stay beside them, or in their title where there is no room.
    if areas.verdict.width < 160 {
        bottleneck_panel::draw(shared, areas.verdict, &findings::worst(shared), brush);
        return;
    }
    let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]);
    let [full, others] = halves.areas(areas.verdict);
    bottleneck_panel::draw(shared, full, &[], brush);
    found(state, shared, others, brush);
}

fn found(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let heading = [
        piece("Findings", Meaning::Heading),
        piece(format!("  {}", findings::summary(shared)), Meaning::Quiet),
    ];
    let room = usize::from(inner(panel, shared.is_boxed()).height);
    let top = state.found_top.min(shared.findings.list.len().saturating_sub(room));
    let hidden = shared.findings.list.len().saturating_sub(top + room);
    // Without a box there is no lower edge for it.
    let note = (hidden > 0 && !shared.is_boxed()).then(|| piece(format!("2: {hidden} more"), Meaning::Quiet));
    let inner = brush.panel(panel, &heading, note.as_slice());
    findings::strip(shared, brush, inner, top);
    if shared.is_boxed() {
        brush.hidden(panel, "2: ", hidden);
    }
}
