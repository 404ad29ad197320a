//! The mouse: a press acts on the cell under it, the wheel scrolls.

use ratatui::layout::{Position, Rect};

use super::{
    App, Effect, commands,
    layout::{Hit, Layout},
    message::{Mouse, MouseAction},
    over,
    overlay::Overlay,
    palette,
};
use crate::{
    screens::{
        Screen,
        widgets::{graph::TimeAxis, scroll::scrolled},
    },
    ui::{Asks, Shared},
};

/// The mouse did something.
pub fn mouse(app: &mut App, mouse: Mouse) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.action {
        MouseAction::WheelUp => wheel(app, -1, at),
        MouseAction::WheelDown => wheel(app, 1, at),
        MouseAction::Drag if app.stats_bar.selection.began().is_some() => {
            if let Some(axis) = curves(app) {
                app.stats_bar.selection.extend(at, &axis);
            }
            Vec::new()
        }
        MouseAction::Drag => with_screen(app, |screen, shared, body| {
            screen.drag(at, shared, body);
            Asks::new()
        }),
        MouseAction::Release => {
            app.stats_bar.selection.end();
            with_screen(app, |screen, shared, _| screen.release(shared))
        }
        MouseAction::Press => {
            // What is pressed lies where it was drawn, with the notice.
            let layout = app.layout();
            app.notice = None;
            press(app, mouse, &layout)
        }
    }
}

/// The time axis of the stats bar's curves.
fn curves(app: &App) -> Option<TimeAxis> {
    app.stats_bar.axis(app.layout().reads, app.shared.is_boxed())
}

/// Lets the screen take it, unless something lies over it.
fn with_screen(app: &mut App, take: impl FnOnce(&mut dyn Screen, &Shared, Rect) -> Asks) -> Vec<Effect> {
    let layout = app.layout();
    if app.overlay.is_some() || layout.too_small {
        return Vec::new();
    }
    let asks = app.screens.get_mut(app.screen).map(|screen| take(screen, &app.shared, layout.body));
    app.grant(asks.unwrap_or_default())
}

fn wheel(app: &mut App, step: isize, at: Position) -> Vec<Effect> {
    let (body, end) = (app.layout().body, over::end(app));
    let here = (app.screen, app.shared.can_test());
    match &mut app.overlay {
        Some(
            Overlay::Help(top) | Overlay::Glossary(top) | Overlay::Screen(_, top) | Overlay::Confirm(_, top),
        ) => {
            *top = scrolled(*top, step, end, 0);
        }
        Some(Overlay::Palette(palette)) => {
            let found = commands::found(here, &app.screens.dyno.form, palette.input.value());
            let last = found.len().saturating_sub(1);
            palette.selected = palette.selected.saturating_add_signed(step).min(last);
        }
        None if body.contains(at) => {
            return with_screen(app, |screen, shared, body| screen.wheel(step, at, shared, body));
        }
        Some(Overlay::Quit) | None => {}
    }
    Vec::new()
}

fn press(app: &mut App, mouse: Mouse, layout: &Layout) -> Vec<Effect> {
    let hit = layout.hit(app, mouse.column, mouse.row);
    let at = Position::new(mouse.column, mouse.row);
    let is_on_curves = app.overlay.is_none() && layout.reads.contains(at);
    let axis = is_on_curves.then(|| curves(app)).flatten();
    app.stats_bar.selection.begin(at, axis.as_ref());
    if app.overlay.is_some() {
        return overlay_press(app, &hit);
    }
    match hit {
        Hit::Tab(screen) => return app.show(screen, None),
        Hit::Command(name) => return commands::run(app, name),
        _ => {}
    }
    match app.screens.get_mut(app.screen) {
        Some(screen) if layout.body.contains(at) && !layout.message.contains(at) => {
            let asks = screen.press(at, &app.shared, layout.body);
            app.grant(asks)
        }
        _ => Vec::new(),
    }
}

fn overlay_press(app: &mut App, hit: &Hit) -> Vec<Effect> {
    match (app.overlay.as_ref(), hit) {
        (Some(Overlay::Palette(state)), Hit::OverlayRow(row)) => {
            let Some(chosen) = palette::pressed(app, state, app.layout().overlay, *row) else {
                return Vec::new();
            };
            let text = state.input.value().to_owned();
            app.overlay = None;
            commands::run_found(app, chosen, &text)
        }
        (_, Hit::OverlayRow(_)) => Vec::new(),
        _ => {
            app.overlay = None;
            Vec::new()
        }
    }
}
