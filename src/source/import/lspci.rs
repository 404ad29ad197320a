//! Listings of lspci: functions with their registers, hex dumps, drawings of the tree.

mod again;
mod body;
mod decorated;
mod drawing;
mod functions;
mod gaps;
mod glyphs;
mod groups;
mod header;
mod machine;
mod names;
mod options;
mod places;
mod register;
mod selection;
mod words;

pub(super) use decorated::{is_unread, undecorated};
pub(super) use glyphs::redrawn;
pub(super) use header::begins_line;
pub(super) use names::{Name, four, learn};

use super::sections::Kind;

/// `lspci`, with any of `-v`, `-n`, `-D`, `-k`, `-q`, `-x`.
pub(super) const LIST: Kind = Kind {
    begins: |line, next| header::is_first(line) || functions::is_selection(line, next),
    continues: |line| is_body(line) || register::is_rest_of_number(line) || is_unread(line),
    tolerates: 3,
    read: functions::read,
};

/// `lspci -vmm`.
pub(super) const RECORDS: Kind = Kind {
    begins: |line, _| machine::is_first(line),
    continues: machine::continues,
    tolerates: 1,
    read: machine::read,
};

/// `lspci -t`.
pub(super) const DRAWING: Kind = Kind {
    begins: |line, _| drawing::is_first(line) || drawing::is_branch(line),
    continues: drawing::continues,
    // A name may be wrapped twice.
    tolerates: 3,
    read: drawing::read,
};

/// Whether a line begins with the name of a register or a field and its colon.
pub(super) fn begins_register(line: &str) -> bool {
    body::word(line).is_some_and(|(word, _)| line[word.len()..].starts_with(':'))
}

/// Whether a line of a function's body begins here, not the rest of one.
pub(super) fn is_body(line: &str) -> bool {
    body::continues(line)
}
