//! The machine screen: the tree, the facts of the selected row, what holds the machine back.

use super::{facts_pane, paint::Brush, tree_rows, verdict};
use crate::app::App;

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    tree_rows::draw(app, brush);
    facts_pane::draw(app, brush);
    verdict::draw(app, brush);
}
