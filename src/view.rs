//! The picture: a pure function of the state and the size.

pub mod overlay;
pub use crate::screens::sheet::picture as sheet;

use ratatui::buffer::Buffer;

pub use crate::ui::theme;
use crate::{
    app::{App, frame, stats_bar},
    screens::widgets::{paint, paint::Brush},
};
use theme::Theme;

/// A drawn screen as text or SVG.
pub mod picture {
    use ratatui::{buffer::Buffer, layout::Rect};

    use super::theme::Theme;
    use crate::app::App;
    pub use crate::ui::picture::*;

    /// The screen as it is drawn now, at the size it has.
    pub fn of(app: &App, theme: Theme) -> Buffer {
        let (columns, rows) = app.shared.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        super::draw(app, theme, &mut buffer);
        buffer
    }
}

/// Draws the state into `buffer`, which has the state's size; what [`App::text_end`] is from now on.
pub fn draw(app: &App, theme: Theme, buffer: &mut Buffer) -> usize {
    let layout = app.layout();
    let mut brush = Brush::new(buffer, theme, layout.boxed);
    if layout.too_small {
        frame::too_small(app, &mut brush);
        return brush.text_end;
    }
    frame::title(app, &mut brush);
    frame::tabs(app, &mut brush);
    if let Some(screen) = app.screens.get(app.screen) {
        screen.draw(&app.shared, layout.body, &mut brush);
    }
    stats_bar::draw(app, &mut brush);
    frame::footer(app, &mut brush);
    overlay::draw(app, &mut brush);
    brush.text_end
}
