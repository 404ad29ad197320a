//! What an opened text is, what it lacks, and its lines that were not used: for `tree` and `check`.

use serde::Serialize;

use super::wrap_onto;
use crate::{machine::Pasted, units::counted};

/// `source` of the documents of an opened text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceRow {
    /// The commands whose texts were recognised: `lspci -vv and nvme list`.
    pub kind: String,
    /// Each listing with its lines.
    pub listings: Vec<ListingRow>,
    /// Data that the texts do not contain.
    pub lacks: Vec<String>,
    /// Listings that contradict each other about a drive or a function.
    pub contradictions: Vec<String>,
    /// Number of lines that were not used.
    pub unused: usize,
    /// The first of them.
    pub unused_lines: Vec<UnusedRow>,
    /// Marks "(downgraded)" of lspci.
    pub downgraded: Vec<DowngradedRow>,
}

/// A listing in the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListingRow {
    /// The command that prints it.
    pub command: String,
    /// Its first line.
    pub line: usize,
    /// Its last line.
    pub last_line: usize,
}

/// A line that was not used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnusedRow {
    /// Counted from 1.
    pub line: usize,
    /// Why not.
    pub reason: String,
}

/// A mark "(downgraded)".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DowngradedRow {
    /// The function.
    pub address: String,
    /// The line.
    pub line: usize,
    /// On the speed.
    pub speed: bool,
    /// On the width.
    pub width: bool,
}

impl SourceRow {
    /// The row of an opened text.
    pub fn new(pasted: &Pasted) -> Self {
        let listings = pasted.listings.iter().map(|listing| ListingRow {
            command: listing.command.to_string(),
            line: listing.line,
            last_line: listing.last_line,
        });
        let unused = pasted.unused.iter();
        let unused = unused.map(|unused| UnusedRow { line: unused.line, reason: unused.reason.to_string() });
        let downgraded = pasted.downgraded.iter().map(|mark| DowngradedRow {
            address: mark.address.to_string(),
            line: mark.line,
            speed: mark.speed,
            width: mark.width,
        });
        Self {
            kind: pasted.kind(),
            listings: listings.collect(),
            lacks: pasted.lacks.clone(),
            contradictions: pasted.contradictions.clone(),
            unused: pasted.unused_lines,
            unused_lines: unused.collect(),
            downgraded: downgraded.collect(),
        }
    }
}

/// The source, what it lacks and its unused lines, of at most `width` columns.
pub(crate) fn text(pasted: &Pasted, width: usize) -> String {
    let mut out = String::new();
    wrap_onto(&mut out, "source: ", &pasted.kind(), width);
    for lack in pasted.lacks.iter().chain(&pasted.contradictions) {
        wrap_onto(&mut out, "        ", lack, width);
    }
    if pasted.unused_lines > 0 {
        let mut lines: Vec<String> = ranges(pasted);
        let more = lines.len() > MOST_RANGES;
        lines.truncate(MOST_RANGES);
        let more = if more { ", ..." } else { "" };
        let unused = counted(pasted.unused_lines, "line");
        let words =
            format!("{unused} not used ({}{more}); `iodyno tree --json` has the reasons.", lines.join(", "));
        wrap_onto(&mut out, "        ", &words, width);
    }
    out
}

/// Ranges of unused lines that are named.
const MOST_RANGES: usize = 8;

/// `3`, `7 to 9`.
fn ranges(pasted: &Pasted) -> Vec<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for unused in &pasted.unused {
        match ranges.last_mut() {
            Some((_, last)) if unused.line <= *last + 1 => *last = unused.line,
            _ => ranges.push((unused.line, unused.line)),
        }
    }
    let words = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    ranges.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::pasted::{Listing, UnusedLine},
        text::Label,
    };

    #[test]
    fn the_text_names_the_source_and_the_lines_that_were_not_used() {
        let unused = |line| UnusedLine { line, reason: Label::new("a prompt") };
        let pasted = Pasted {
            listings: vec![Listing { command: "lspci -vv".into(), line: 2, last_line: 40 }],
            lacks: vec!["Drives have no names.".to_owned()],
            unused: [1, 5, 6, 7].map(unused).to_vec(),
            unused_lines: 4,
            ..Pasted::default()
        };
        assert_eq!(
            text(&pasted, 100),
            "source: lspci -vv\n        Drives have no names.\n        4 lines not used (1, 5 to 7); `iodyno tree --json` has the reasons.\n"
        );
        let row = SourceRow::new(&pasted);
        assert_eq!((row.kind.as_str(), row.unused, row.unused_lines.len()), ("lspci -vv", 4, 4));
    }
}
