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
        let Some(own) = kinds.iter().position(|kind| (kind.begins)(&line.text, next)) else {
            if !line.text.trim().is_empty() {
                facts.notes.unused_text(line, "not a line of a listing that can be read");
            }
            at += 1;
            continue;
        };
        let end = end_of(kinds, own, lines, at);
        if let Some(command) = (kinds[own].read)(&lines[at..end], facts) {
            listings.push(Listing { command, line: line.number, last_line: lines[end - 1].number });
        }
        at = end;
        if facts.is_too_many() {
            break;
        }
    }
    listings
}

/// The index behind the last line of the listing that begins at `from`. Where a listing of another kind begins, it ends, also
/// if that line is indented as its own are.
fn end_of(kinds: &[Kind], own: usize, lines: &[Line], from: usize) -> usize {
    let kind = &kinds[own];
    let others = || kinds.iter().enumerate().filter(|(at, _)| *at != own).map(|(_, other)| other);
    let (mut end, mut foreign) = (from + 1, 0);
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        if line.text.trim().is_empty() {
            continue;
        }
        let next = lines.get(at + 1).map(|line| &*line.text);
        let begins = (kind.begins)(&line.text, next);
        if !begins && others().any(|other| (other.begins)(&line.text, next)) {
            break;
        }
        if !begins && !(kind.continues)(&line.text) {
            foreign += 1;
            if foreign > kind.tolerates {
                break;
            }
            continue;
        }
        (end, foreign) = (at + 1, 0);
    }
    // A listing may end in a line that a mail program wrapped.
    let rest = lines.get(end).filter(|rest| kind.tolerates > 0 && is_rest(&lines[end - 1].text, &rest.text));
    let next = lines.get(end + 1).map(|line| &*line.text);
    let is_own = rest.is_some_and(|rest| kinds.iter().all(|kind| !(kind.begins)(&rest.text, next)));
    end + usize::from(is_own)
}

/// Whether a line may be the rest of the one before, which was as long as a mail's: its first word did not fit.
fn is_rest(before: &str, line: &str) -> bool {
    const NARROW: usize = 66;
    const WIDE: usize = 80;
    let word = line.split_whitespace().next().map_or(0, str::len);
    (NARROW - 16..=WIDE).contains(&before.len())
        && word > 0
        && before.len() + word > NARROW
        && line.len() < NARROW
}
