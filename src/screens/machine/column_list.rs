//! The list in which the user chooses columns and their order.

use super::{
    WIDEST,
    choice::{Choice, Show},
    columns::{Absent, Room, SLOT},
    first_width,
};
use crate::{
    screens::{
        Over,
        widgets::{
            entry,
            paint::{Piece, hints, paragraph, piece},
        },
    },
    ui::{Shared, theme::Meaning},
};

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
    let words = "A letter goes to the next column that begins with it; Del restores the defaults. Space shows a column that says \
                 \"from width N\" now; a terminal of N columns shows it by itself.";
    let mut lines: Vec<Vec<Piece>> = paragraph(words, Meaning::Quiet, width);
    lines.push(Vec::new());
    let mut at = 0..0;
    for (index, (column, show)) in choice.all().enumerate() {
        let is_shown = shown.iter().any(|own| own.name == column.name);
        let (sign, name) = if is_shown { ("[x]", Meaning::Text) } else { ("[ ]", Meaning::Quiet) };
        // The terminal's width from which it is there without being asked for.
        let absent = column.absent(room);
        let why = match show {
            _ if sorted == Some(column.name) => "sorted by".to_owned(),
            Show::ByWidth if let Some(Absent::Narrow(cells)) = absent => {
                // Names of drives may need more.
                let has = |rows| choice.shows(column.name, Room { rows, ..room });
                let width = first_width(cells..WIDEST, has).and_then(from);
                width.map_or_else(String::new, |width| format!("from width {width}"))
            }
            Show::ByWidth if absent == Some(Absent::NotCounted) => "with counters".to_owned(),
            Show::ByWidth if absent == Some(Absent::NoValue) => "no value".to_owned(),
            Show::ByWidth | Show::Always if !is_shown => "no room".to_owned(),
            _ => String::new(),
        };
        let is_selected = index == cursor;
        let lead = vec![
            piece(if is_selected { "› " } else { "  " }, Meaning::Brand),
            piece(format!("{sign} "), name),
            piece(format!("{:<10}", column.name), if is_selected { Meaning::Selected } else { name }),
            piece(format!(" {why:<16}  "), Meaning::Brand),
        ];
        let mut help = shared.keys.fill(column.help);
        let reason = shared.machine.host.slots.problem().filter(|_| column.name == SLOT);
        let reason = reason.filter(|_| absent == Some(Absent::NoValue));
        if let Some(problem) = &reason {
            help = format!("{help}; not available here: {}", problem.reason);
        }
        let begin = lines.len();
        // Where most descriptions have room the others take a second line; a reason always does.
        let wraps = is_selected || width >= WRAPS || reason.is_some();
        lines.extend(entry::lines(lead, &help, Meaning::Quiet, wraps, width));
        if is_selected {
            at = begin..lines.len();
        }
    }
    Over { title: "columns of the tree".to_owned(), lines, size: (136, 30), cursor: Some(at) }
}

/// Its keys, for the footer.
pub(super) fn keys() -> Vec<Piece> {
    hints(&[("Enter", "sort"), ("Space", "show/hide"), ("< >", "move"), ("a-z", "jump"), ("Esc", "close")])
}
