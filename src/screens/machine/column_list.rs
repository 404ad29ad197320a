//! The list in which the user chooses columns and their order.

use super::{
    choice::{Choice, Show},
    columns::{Absent, Room},
};
use crate::{
    screens::{
        Over,
        widgets::paint::{Piece, fit_words, hanging, hints, label, paragraph, piece, wrap},
    },
    ui::{Shared, theme::Meaning},
};

/// Cells before a column's meaning.
const INDENT: u16 = 39;
/// Rows beyond this width have room for every column.
const WIDEST: u16 = 400;
/// From this width of the list on descriptions wrap.
const WRAPS: u16 = 100;

/// The list over the tree, in lines of at most `width` cells. `from` has the terminal whose rows have so many cells.
pub(super) fn over(
    (choice, shared): (&Choice, &Shared),
    (cursor, sorted): (usize, Option<&str>),
    room: Room,
    from: &dyn Fn(u16) -> Option<u16>,
    width: u16,
) -> Over {
    let shown = choice.shown(room);
    let words = "A letter goes to the next column that begins with it; Del restores the defaults.";
    let mut lines: Vec<Vec<Piece>> = paragraph(words, Meaning::Quiet, width);
    lines.push(Vec::new());
    let mut at = lines.len();
    for (index, (column, show)) in choice.all().enumerate() {
        let is_shown = shown.iter().any(|own| own.name == column.name);
        let (sign, name) = if is_shown { ("[x]", Meaning::Text) } else { ("[ ]", Meaning::Quiet) };
        // The terminal's width from which it is there without being asked for.
        let absent = column.absent(room);
        let why = match show {
            _ if sorted == Some(column.name) => "sorted by".to_owned(),
            Show::ByWidth if let Some(Absent::Narrow(cells)) = absent => {
                // Names of drives may need more.
                let has = |rows: &u16| choice.shows(column.name, Room { rows: *rows, ..room });
                let width = (cells..WIDEST).find(has).and_then(from);
                width.map_or_else(String::new, |width| format!("from {width} columns"))
            }
            Show::ByWidth if absent == Some(Absent::NotCounted) => "with counters".to_owned(),
            Show::ByWidth if absent == Some(Absent::NoValue) => "no value".to_owned(),
            Show::ByWidth | Show::Always if !is_shown => "no room".to_owned(),
            _ => String::new(),
        };
        let lead = if index == cursor { "› " } else { "  " };
        let (whole, room) = (shared.keys.fill(column.help), width.saturating_sub(INDENT));
        // Where most descriptions have room the others take a second line.
        let mut rows = if width < WRAPS { vec![fit_words(&whole, room)] } else { wrap(&whole, room) };
        let rest = rows.split_off(1);
        let help = rows.concat();
        if index == cursor {
            at = lines.len();
        }
        let selected = if index == cursor { Meaning::Selected } else { name };
        lines.push(vec![
            piece(lead, Meaning::Brand),
            piece(format!("{sign} "), name),
            piece(format!("{:<10}", column.name), selected),
            piece(format!(" {why:<16}"), Meaning::Brand),
            piece(format!("  {help}"), Meaning::Quiet),
        ]);
        let indent = || piece(" ".repeat(INDENT.into()), Meaning::Quiet);
        lines.extend(rest.iter().map(|row| vec![indent(), piece(row.clone(), Meaning::Quiet)]));
        // The column under the cursor has all its words below it.
        if index == cursor && width < WRAPS && help != whole {
            lines.extend(hanging(label("", 6), &whole, Meaning::Text, width));
        }
    }
    Over { title: "columns of the tree".to_owned(), lines, size: (136, 30), cursor: Some(at) }
}

/// Its keys, for the footer.
pub(super) fn keys() -> Vec<Piece> {
    hints(&[("Enter", "sort"), ("Space", "show/hide"), ("< >", "move"), ("a-z", "jump"), ("Esc", "close")])
}
