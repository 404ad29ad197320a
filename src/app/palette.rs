//! The palette: its field and the commands that match, the selected one with its whole description.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{App, commands, overlay::Palette, tabs::about};
use crate::{
    screens::widgets::{
        entry,
        paint::{Brush, Piece, cells, inner, open_field, paragraph, piece},
        scroll::{self, out_of_sight, range_in_sight},
    },
    ui::{ScreenId, command::Row, theme::Meaning},
};

/// Cells for the names of commands, and for their keys.
const NAMES: u16 = 20;
const KEYS: u16 = 10;
/// Cells of the box's edges and of the blanks beside them.
const EDGES: u16 = 4;
/// From this width of the list on descriptions wrap.
const WRAPS: u16 = 100 - EDGES;

/// What `open` takes, while its path is written.
const OPEN: [&str; 3] = [
    "The path of a capture, of a text of lspci, nvme-cli or lsblk, or of a folder with sys and proc.",
    "A text can be pasted here instead. Enter opens the path, Esc cancels.",
    "Enter without a path, or {close}, goes back to the machine that the program began with.",
];

/// The commands found, each with the screen that it belongs to where that is another one.
type Found = Vec<(Option<ScreenId>, Row)>;

/// The list below the field: its commands, their lines, the command of each line, the lines of the selected one, and the first line
/// shown.
struct List {
    found: Found,
    lines: Vec<Vec<Piece>>,
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
    let all = commands::matching(app.screen, app.shared.can_test(), "");
    let longest = all.iter().map(|(other, command)| cells(&description(*other, command))).max();
    EDGES + NAMES + KEYS + longest.unwrap_or(0)
}

/// What a command does, behind the screen it belongs to where that is another one.
fn description(other: Option<ScreenId>, command: &Row) -> String {
    let place = other.map_or_else(String::new, |screen| format!("{}: ", about(screen).name));
    format!("{place}{}", command.help)
}

fn list(app: &App, palette: &Palette, area: Rect) -> List {
    let found = commands::matching(app.screen, app.shared.can_test(), palette.input.value());
    let (mut lines, mut owners, mut selected) = (Vec::new(), Vec::new(), 0..0);
    let keys = usize::from(KEYS);
    for (index, (other, command)) in found.iter().enumerate() {
        let is_selected = index == palette.selected;
        let key = command.keys.first().map(ToString::to_string).unwrap_or_default();
        let lead = vec![
            piece(format!(" {:<1$}", command.name, usize::from(NAMES - 1)), Meaning::Text),
            piece(format!("{key:<keys$}"), Meaning::Key),
        ];
        let begin = lines.len();
        let help = description(*other, command);
        let is_whole = is_selected || area.width >= WRAPS;
        lines.extend(entry::lines(lead, &help, Meaning::Quiet, is_whole, area.width));
        owners.resize(lines.len(), index);
        if is_selected {
            selected = begin..lines.len();
        }
    }
    let top = range_in_sight(0, &selected, lines.len(), area.height);
    List { found, lines, owners, selected, top }
}

/// The command in the `row`th row of its box, whose edge is row 0.
pub(super) fn pressed(
    app: &App,
    palette: &Palette,
    panel: Rect,
    row: usize,
) -> Option<(Option<ScreenId>, Row)> {
    let area = list_area(inner(panel, true));
    let row = row.checked_sub(2).filter(|row| *row < area.height.into())?;
    let list = list(app, palette, area);
    list.found.get(*list.owners.get(list.top + row)?).copied()
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
