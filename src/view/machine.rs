//! The machine screen: the tree, the facts of the selected row, what holds the machine back.

use super::{
    facts_pane, findings,
    paint::{Brush, piece},
    theme::Meaning,
    tree_rows,
};
use crate::{app::App, screens::widgets::bottleneck_panel};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    tree_rows::draw(app, brush);
    facts_pane::draw(app, brush);
    let panel = app.layout().verdict;
    // At rest it tells all that was found; under load, what is full right now.
    if app.shared.load.is_busy() {
        bottleneck_panel::draw(&app.shared, panel, brush);
        return;
    }
    let heading = [
        piece("Findings", Meaning::Heading),
        piece(format!("  {}", findings::summary(&app.shared)), Meaning::Quiet),
    ];
    let inner = brush.panel(panel, &heading, &[]);
    findings::strip(&app.shared, brush, inner);
}
