//! What a key does: fields and what lies over the screen take it, else it is a command.

use tui_input::{Input, InputRequest};

use super::{
    App, Effect, act, commands, over,
    overlay::{Overlay, Palette},
};
use crate::{
    screens::widgets::scroll::scroll,
    ui::{Key, ScreenId, command::Row, field::edit},
};

/// A key was pressed.
pub fn key(app: &mut App, key: Key) -> Vec<Effect> {
    app.notice = None;
    if key == Key::Ctrl('c') {
        return vec![Effect::Interrupt];
    }
    if app.overlay.is_some() {
        return overlay_key(app, key);
    }
    if field(app).is_some() {
        return field_key(app, Some(key));
    }
    commands::lookup(key, app.screen).map_or_else(Vec::new, |row| commands::run(app, row.name))
}

/// The text field that is open on the screen shown.
fn field(app: &mut App) -> Option<&mut Input> {
    app.screens.get_mut(app.screen)?.field()
}

fn field_key(app: &mut App, key: Option<Key>) -> Vec<Effect> {
    let Some(screen) = app.screens.get_mut(app.screen) else { return Vec::new() };
    let asks = screen.field_key(key, &app.shared);
    app.grant(asks)
}

/// Text was pasted: it goes into the field that is open, and nowhere else.
pub fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let over = app.overlay.is_some();
    let open = match &mut app.overlay {
        Some(Overlay::Palette(palette)) => Some(&mut palette.input),
        Some(_) => None,
        None => field(app),
    };
    let Some(open) = open else {
        app.tell("No field is open for text");
        return Vec::new();
    };
    for c in line.chars().take(4096) {
        open.handle(InputRequest::InsertChar(c));
    }
    if over { Vec::new() } else { field_key(app, None) }
}

/// How far a movement goes where a page has so many rows.
fn steps(movement: &str, page: isize) -> Option<isize> {
    Some(match movement {
        "up" => -1,
        "down" => 1,
        "page up" => -page,
        "page down" => page,
        "first" => isize::MIN / 2,
        "last" => isize::MAX / 2,
        _ => return None,
    })
}

fn overlay_key(app: &mut App, key: Key) -> Vec<Effect> {
    let end = over::end(app);
    let Some(overlay) = app.overlay.as_mut() else { return Vec::new() };
    let meant = commands::lookup(key, app.screen).map(|row| row.name);
    if let Overlay::Screen(id, _) = *overlay
        && let Some(screen) = app.screens.get_mut(id)
        && let Some(asks) = screen.over_key(key, meant, &app.shared)
    {
        return app.grant(asks);
    }
    let rows = meant.and_then(|meant| steps(meant, 10));
    if let (Overlay::Help(top) | Overlay::Screen(_, top), Some(step)) = (&mut *overlay, rows) {
        scroll(top, step, end);
        return Vec::new();
    }
    match overlay {
        Overlay::Help(_) => match meant {
            Some(name @ ("paths" | "units")) => return commands::run(app, name),
            Some("back" | "help" | "quit" | "details" | "show there" | "edit" | "fold") => {
                app.overlay = None;
            }
            _ => {}
        },
        Overlay::Palette(palette) => match palette_key(app.screen, palette, key) {
            Chosen::Nothing => {}
            Chosen::Close => app.overlay = None,
            Chosen::Command(name) => {
                app.overlay = None;
                return commands::run(app, name);
            }
        },
        Overlay::Quit => match key {
            Key::Char('q' | 'y') | Key::Enter => return act::leave(app),
            Key::Esc | Key::Char('n') => app.overlay = None,
            _ => {}
        },
        Overlay::Screen(..) => {}
    }
    Vec::new()
}

/// What came of a key in the palette.
enum Chosen {
    Nothing,
    Close,
    Command(&'static str),
}

fn palette_key(screen: ScreenId, palette: &mut Palette, key: Key) -> Chosen {
    let found: Vec<Row> = commands::matching(screen, palette.input.value());
    match key {
        Key::Esc => return Chosen::Close,
        Key::Enter => {
            return found.get(palette.selected).map_or(Chosen::Close, |chosen| Chosen::Command(chosen.name));
        }
        Key::Up => palette.selected = palette.selected.saturating_sub(1),
        Key::Down | Key::Tab => palette.selected = (palette.selected + 1).min(found.len().saturating_sub(1)),
        key => {
            edit(&mut palette.input, key);
            palette.selected = 0;
        }
    }
    Chosen::Nothing
}
