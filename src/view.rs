//! The picture: a pure function of the state and the size.
//!
//! Here: [`draw`], one file per region, the theme. Not here: any change of state.

pub mod theme;
pub mod paint;
pub mod words;
pub mod frame;
pub mod tree_rows;
pub mod facts;
pub mod facts_pane;
pub mod verdict;
pub mod graph;
pub mod heat;
pub mod strip;
pub mod machine;
pub mod findings;
pub mod tune;
pub mod tune_overlay;
pub mod dyno;
pub mod whatif;
pub mod form;
pub mod targets;
pub mod slots;
pub mod overlay;
pub mod picture;
pub mod sheet;

use ratatui::buffer::Buffer;

use self::{paint::Brush, theme::Theme};
use crate::app::{App, Screen};

/// Draws the state into `buffer`, which has the state's size; what [`App::text_end`] is from now on.
pub fn draw(app: &App, theme: Theme, buffer: &mut Buffer) -> usize {
    let layout = app.layout();
    let mut brush = Brush::new(buffer, theme, &layout);
    if layout.too_small {
        frame::too_small(app, &mut brush);
        return brush.text_end;
    }
    frame::title(app, &mut brush);
    frame::tabs(app, &mut brush);
    match app.screen {
        Screen::Machine => machine::draw(app, &mut brush),
        Screen::Findings => findings::draw(app, &mut brush),
        Screen::Tune => tune::draw(app, &mut brush),
        Screen::Dyno => dyno::draw(app, &mut brush),
        Screen::WhatIf => whatif::draw(app, &mut brush),
        Screen::Sheet => sheet::draw(app, &mut brush),
        Screen::Slots => slots::draw(app, &mut brush),
    }
    strip::draw(app, &mut brush);
    frame::footer(app, &mut brush);
    overlay::draw(app, &mut brush);
    brush.text_end
}
