//! The picture: a pure function of the state and the size.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{App, frame, over, stats_bar};
use crate::{screens::widgets::paint::Brush, ui::theme::Theme};

/// The screen as it is drawn now, at the size it has.
pub fn picture(app: &App, theme: Theme) -> Buffer {
    let (columns, rows) = app.shared.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    draw(app, theme, &mut buffer);
    buffer
}

/// Draws the state into `buffer`, which has the state's size.
pub fn draw(app: &App, theme: Theme, buffer: &mut Buffer) {
    drawn(app, theme, buffer);
    theme.finish(buffer);
}

fn drawn(app: &App, theme: Theme, buffer: &mut Buffer) {
    let layout = app.layout();
    let mut brush = Brush::new(buffer, theme, layout.boxed).naming(&app.shared.keys);
    if layout.too_small {
        frame::too_small(app, &mut brush);
        return;
    }
    frame::title(app, &mut brush);
    frame::tabs(app, &mut brush);
    if let Some(screen) = app.screens.get(app.screen) {
        screen.draw(&app.shared, layout.body, &mut brush);
    }
    stats_bar::draw(app, &mut brush);
    frame::footer(app, &mut brush);
    over::draw(app, &mut brush);
}
