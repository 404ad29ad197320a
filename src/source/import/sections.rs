//! Cuts a text into listings by the kind of their lines.

use std::borrow::Cow;

use super::facts::{Facts, Line};
use crate::machine::pasted::Listing;

/// A kind of listing. A new kind is a row of `KINDS`, in `import.rs`.
pub(super) struct Kind {
    /// Whether a listing begins at this line. The second argument is the line after it, if any.
    pub begins: fn(&str, Option<&str>) -> bool,
    /// Whether a line behind the first belongs to it too. Empty lines do not end a listing.
    pub continues: fn(&str) -> bool,
    /// Foreign lines within a listing, such as the rest of a wrapped line, if the listing goes on behind them.
    pub tolerates: usize,
    /// Reads the listing; the answer is the command that prints it, `None` if nothing could be used.
    pub read: fn(&[Line], &mut Facts) -> Option<Cow<'static, str>>,
}

/// Reads all listings of a text; the first kind that fits a line takes it. Lines of no kind are noted as unused.
pub(super) fn read(kinds: &[Kind], lines: &[Line], facts: &mut Facts) -> Vec<Listing> {
    let mut listings: Vec<Listing> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let next = lines.get(at + 1).map(|line| &*line.text);
        let Some(kind) = kinds.iter().find(|kind| (kind.begins)(&line.text, next)) else {
            if !line.text.trim().is_empty() {
                facts.notes.unused_text(line, "not a line of a listing that can be read");
            }
            at += 1;
            continue;
        };
        let end = end_of(kind, lines, at);
        if let Some(command) = (kind.read)(&lines[at..end], facts) {
            listings.push(Listing { command, line: line.number, last_line: lines[end - 1].number });
        }
        at = end;
    }
    listings
}

/// The index behind the last line of the listing that begins at `from`.
fn end_of(kind: &Kind, lines: &[Line], from: usize) -> usize {
    let (mut end, mut foreign) = (from + 1, 0);
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        if line.text.trim().is_empty() {
            continue;
        }
        let next = lines.get(at + 1).map(|line| &*line.text);
        if !(kind.continues)(&line.text) && !(kind.begins)(&line.text, next) {
            foreign += 1;
            if foreign > kind.tolerates {
                break;
            }
            continue;
        }
        (end, foreign) = (at + 1, 0);
    }
    end
}
