//! The palette: its field, and the commands and profiles that match, with their whole descriptions where rows are free.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{
    App,
    commands::{self, Found},
    overlay::Palette,
};
use crate::{
    screens::widgets::{
        entry,
        paint::{Brush, Piece, cells, fit, inner, open_field, paragraph, piece},
        scroll::{self, out_of_sight, range_in_sight},
    },
    ui::theme::Meaning,
};

/// Cells for the names of commands, and for their keys.
const NAMES: u16 = 20;
const KEYS: u16 = 10;
/// Cells of the box's edges and of the blanks beside them.
const EDGES: u16 = 4;
/// From this width of the list on descriptions wrap, whatever is free.
const WRAPS: u16 = 100 - EDGES;

/// What `open` takes, while its path is written.
const OPEN: [&str; 3] = [
    "The path of a capture, of a text of lspci, nvme-cli or lsblk, or of a folder with sys and proc.",
    "A text can be pasted here instead. Enter opens the path, Esc cancels.",
    "Enter without a path, or {close}, goes back to the machine that the program began with.",
];

type Lines = Vec<Vec<Piece>>;

/// The list below the field: what is found, its lines, the entry of each line, the lines of the selected one, and the first line
/// shown.
struct List {
    found: Vec<Found>,
    lines: Lines,
    owners: Vec<usize>,
    selected: Range<usize>,
    top: usize,
}

/// The rows of the list, inside the box without the row of the field.
fn list_area(inner: Rect) -> Rect {
    Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner }
}

/// Cells of the box in which every command has one line.
pub(super) fn width(app: &App) -> u16 {
    let all = found(app, "");
    EDGES + NAMES + KEYS + all.iter().map(|found| cells(&found.description())).max().unwrap_or(0)
}

fn found(app: &App, text: &str) -> Vec<Found> {
    commands::found((app.screen, app.shared.can_test()), &app.screens.dyno.form, text)
}

/// The lines of an entry.
fn entry_of(found: &Found, is_whole: bool, width: u16) -> Lines {
    let (names, keys) = (usize::from(NAMES - 1), usize::from(KEYS));
    let lead = vec![
        piece(format!(" {:<names$}", fit(found.name(), NAMES - 2)), Meaning::Text),
        piece(format!("{:<keys$}", found.key()), Meaning::Key),
    ];
    entry::lines(lead, &found.description(), Meaning::Quiet, is_whole, width)
}

/// The selected entry is whole, then the others from the first one on, as far as rows are free.
fn list(app: &App, palette: &Palette, area: Rect) -> List {
    let found = found(app, palette.input.value());
    let is_selected = |at| at == palette.selected;
    let mut entries: Vec<Lines> =
        found.iter().enumerate().map(|(at, one)| entry_of(one, is_selected(at), area.width)).collect();
    let mut free = usize::from(area.height).saturating_sub(entries.iter().map(Vec::len).sum());
    for (lines, one) in entries.iter_mut().zip(&found) {
        let whole = entry_of(one, true, area.width);
        let more = whole.len() - lines.len();
        if more <= free || area.width >= WRAPS {
            (free, *lines) = (free.saturating_sub(more), whole);
        }
    }
    let owners: Vec<usize> =
        entries.iter().enumerate().flat_map(|(at, lines)| vec![at; lines.len()]).collect();
    let begin = owners.iter().take_while(|at| **at < palette.selected).count();
    let selected = begin..begin + entries.get(palette.selected).map_or(0, Vec::len);
    let lines = entries.concat();
    let top = range_in_sight(0, &selected, lines.len(), area.height);
    List { found, lines, owners, selected, top }
}

/// What is found in the `row`th row of its box, whose edge is row 0.
pub(super) fn pressed(app: &App, palette: &Palette, panel: Rect, row: usize) -> Option<Found> {
    let area = list_area(inner(panel, true));
    let row = row.checked_sub(2).filter(|row| *row < area.height.into())?;
    let list = list(app, palette, area);
    list.found.get(*list.owners.get(list.top + row)?).cloned()
}

/// Draws it into its box, which is open.
pub(super) fn draw(app: &App, brush: &mut Brush<'_>, palette: &Palette, panel: Rect) {
    let inner = inner(panel, true);
    let field = [piece(": ", Meaning::Field), open_field(&palette.input, inner.width.saturating_sub(2))];
    brush.write(inner.x, inner.y, inner.width, &field);
    let below = list_area(inner);
    if commands::argument_of_open(palette.input.value()).is_some() {
        let text = |text: &&str| paragraph(&app.shared.keys.fill(text), Meaning::Quiet, inner.width);
        let lines: Vec<Vec<Piece>> = OPEN.iter().flat_map(text).collect();
        brush.lines(below, &lines, 0);
        return;
    }
    let list = list(app, palette, below);
    if list.found.is_empty() {
        brush.text(below.x + 1, below.y, below.width, "no such command here", Meaning::Quiet);
        return;
    }
    brush.lines(below, &list.lines, list.top);
    let cursor = u16::try_from(list.selected.start - list.top).unwrap_or(u16::MAX);
    let cursor = Rect { y: below.y.saturating_add(cursor), height: 1, width: NAMES, ..below };
    brush.shade(cursor, Meaning::Selected);
    let hidden = out_of_sight(list.top, list.lines.len(), below.height);
    scroll::mark(&mut Brush::new(brush.buffer, brush.theme, true), panel, scroll::ROWS, hidden);
}
