//! [`Hit`]: what is under a cell.

use crate::ui::ScreenId;

/// What is under a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// Nothing that answers.
    Nothing,
    /// A tab.
    Tab(ScreenId),
    /// A hint of the footer, or `? help`.
    Command(&'static str),
    /// A row of what lies over the screen, counted from its top edge.
    OverlayRow(usize),
}
