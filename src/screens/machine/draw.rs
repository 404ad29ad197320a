//! The machine screen: the tree, the facts of the selected row, what holds the machine back.

use ratatui::layout::Rect;

use super::{Areas, Tree, facts_pane, tree_rows};
use crate::{
    screens::widgets::{
        bottleneck_panel, findings,
        paint::{Brush, piece},
    },
    ui::{Shared, theme::Meaning},
};

pub(super) fn draw(state: &Tree, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(shared, area);
    tree_rows::draw(state, shared, &areas, brush);
    facts_pane::draw(state, shared, areas.facts, brush);
    // Idle: all findings; under load: full links.
    if shared.load.is_busy() {
        bottleneck_panel::draw(shared, areas.verdict, brush);
        return;
    }
    let heading = [
        piece("Findings", Meaning::Heading),
        piece(format!("  {}", findings::summary(shared)), Meaning::Quiet),
    ];
    let inner = brush.panel(areas.verdict, &heading, &[]);
    findings::strip(shared, brush, inner);
}
