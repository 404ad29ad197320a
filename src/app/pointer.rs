//! What the mouse does: a press means what is under it, the wheel moves.

use super::{
    App, Effect, act,
    act::scroll,
    commands::CommandId as Id,
    layout::Hit,
    message::{Mouse, MouseAction},
    overlay::Overlay,
    screen::Screen,
    slots,
};

/// The mouse did something.
pub fn mouse(app: &mut App, mouse: Mouse) -> Vec<Effect> {
    match mouse.action {
        MouseAction::WheelUp => wheel(app, -1),
        MouseAction::WheelDown => wheel(app, 1),
        MouseAction::Press => {
            app.notice = None;
            return press(app, mouse);
        }
    }
    Vec::new()
}

fn wheel(app: &mut App, step: isize) {
    match (&mut app.overlay, app.screen) {
        (Some(Overlay::Help(top) | Overlay::Facts(top) | Overlay::Review(top)), _) => {
            scroll(top, step, app.text_end);
        }
        (Some(Overlay::Palette(palette)), _) => {
            palette.selected = palette.selected.saturating_add_signed(step);
        }
        (Some(Overlay::Quit | Overlay::Standing | Overlay::LeftBehind), _) => {}
        (None, Screen::Machine) => app.tree.step(step),
        (None, Screen::Findings) => app.findings.step(step),
        (None, Screen::Tune) => app.tune.step(step, 0),
        (None, Screen::Dyno) => app.dyno.form.step(step),
        (None, Screen::WhatIf) => app.whatif.experiments.step(step),
        (None, Screen::Sheet) => {
            let height = usize::from(app.layout().preview_rows.height);
            app.sheet.scroll(3 * step, height);
        }
        (None, Screen::Slots) => slots::step(app, step),
    }
}

fn press(app: &mut App, mouse: Mouse) -> Vec<Effect> {
    let hit = app.layout().hit(app, mouse.column, mouse.row);
    if app.overlay.is_some() {
        return overlay_press(app, &hit);
    }
    match hit {
        Hit::Tab(screen) => app.screen = screen,
        Hit::Command(id) => return act::command(app, id),
        Hit::TreeRow(index) if index < app.tree.rows.len() => {
            let again = app.tree.selected == index;
            app.tree.select(index);
            let row = app.tree.row();
            if row.is_some_and(|row| row.open == Some(false))
                || (again && row.is_some_and(|r| r.open.is_some()))
            {
                app.tree.toggle();
            } else if again {
                return act::command(app, Id::Details);
            }
        }
        Hit::Finding(index) if index < app.findings.list.len() => {
            if app.findings.selected == index {
                return act::command(app, Id::GoThere);
            }
            app.findings.select(index);
        }
        Hit::Cell(row, column) => {
            app.tune.edit = None;
            if (app.tune.row, Some(app.tune.column)) == (row, column) {
                return act::command(app, Id::ValueAfter);
            }
            app.tune.row = row;
            match column {
                Some(column) => app.tune.column = column,
                None => return act::command(app, Id::MarkRow),
            }
        }
        Hit::Experiment(index) if index < app.whatif.experiments.list.len() => {
            if app.whatif.experiments.selected == index {
                return act::command(app, Id::Begin);
            }
            app.whatif.experiments.selected = index;
        }
        Hit::CheckBox(index) => {
            app.sheet.at = index;
            app.sheet.toggle();
        }
        Hit::SlotRow(index) => slots::press(app, index),
        Hit::Findings => app.screen = Screen::Findings,
        Hit::Facts => return act::command(app, Id::Details),
        Hit::Field(index) => {
            app.dyno.form.edit = None;
            let again = app.dyno.form.at == index;
            app.dyno.form.at = index;
            if again && !app.dyno.form.step_choice(1) {
                app.dyno.form.begin_edit();
            }
        }
        Hit::Curve => app.dyno.curve = app.dyno.curve.next(),
        _ => {}
    }
    Vec::new()
}

fn overlay_press(app: &mut App, hit: &Hit) -> Vec<Effect> {
    let screen = app.screen;
    match (app.overlay.as_ref(), hit) {
        (Some(Overlay::Palette(palette)), Hit::OverlayRow(row)) => {
            let Some(chosen) =
                row.checked_sub(2).and_then(|row| palette.matches(screen).get(row).map(|c| c.id))
            else {
                return Vec::new();
            };
            app.overlay = None;
            act::command(app, chosen)
        }
        (_, Hit::OverlayRow(_)) => Vec::new(),
        _ => {
            app.overlay = None;
            Vec::new()
        }
    }
}
