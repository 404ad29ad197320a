//! The mouse: a press acts on the cell under it, the wheel scrolls.

use ratatui::layout::Position;

use super::{
    App, Effect, commands,
    layout::Hit,
    message::{Mouse, MouseAction},
    over,
    overlay::Overlay,
};
use crate::screens::widgets::scroll::scrolled;

/// The mouse did something.
pub fn mouse(app: &mut App, mouse: Mouse) -> Vec<Effect> {
    match mouse.action {
        MouseAction::WheelUp => wheel(app, -1),
        MouseAction::WheelDown => wheel(app, 1),
        MouseAction::Press => {
            app.notice = None;
            press(app, mouse)
        }
    }
}

fn wheel(app: &mut App, step: isize) -> Vec<Effect> {
    let (body, end) = (app.layout().body, over::end(app));
    match &mut app.overlay {
        Some(Overlay::Help(top) | Overlay::Glossary(top) | Overlay::Screen(_, top)) => {
            *top = scrolled(*top, step, end, 0);
        }
        Some(Overlay::Palette(palette)) => {
            palette.selected = palette.selected.saturating_add_signed(step);
        }
        Some(Overlay::Quit | Overlay::Confirm(_)) => {}
        None => {
            let asks = app.screens.get_mut(app.screen).map(|screen| screen.wheel(step, &app.shared, body));
            return app.grant(asks.unwrap_or_default());
        }
    }
    Vec::new()
}

fn press(app: &mut App, mouse: Mouse) -> Vec<Effect> {
    let layout = app.layout();
    let hit = layout.hit(app, mouse.column, mouse.row);
    if app.overlay.is_some() {
        return overlay_press(app, &hit);
    }
    match hit {
        Hit::Tab(screen) => return app.show(screen, None),
        Hit::Command(name) => return commands::run(app, name),
        _ => {}
    }
    let at = Position::new(mouse.column, mouse.row);
    match app.screens.get_mut(app.screen) {
        Some(screen) if layout.body.contains(at) => {
            let asks = screen.press(at, &app.shared, layout.body);
            app.grant(asks)
        }
        _ => Vec::new(),
    }
}

fn overlay_press(app: &mut App, hit: &Hit) -> Vec<Effect> {
    let (screen, can_test) = (app.screen, app.shared.can_test());
    match (app.overlay.as_ref(), hit) {
        (Some(Overlay::Palette(palette)), Hit::OverlayRow(row)) => {
            let Some(chosen) = row.checked_sub(2).and_then(|row| {
                commands::matching(screen, can_test, palette.input.value()).get(row).copied()
            }) else {
                return Vec::new();
            };
            app.overlay = None;
            commands::run_found(app, chosen)
        }
        (_, Hit::OverlayRow(_)) => Vec::new(),
        _ => {
            app.overlay = None;
            Vec::new()
        }
    }
}
