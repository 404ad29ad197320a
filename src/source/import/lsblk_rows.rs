//! Rows of `lsblk` tables whose heading a mail or a terminal broke into two lines.

use super::{
    blocks::is_name,
    drives::short,
    facts::Line,
    lsblk::{is_heading, without_drawing},
    prompt::is_prompt,
};

/// Columns at the ends of wide tables, as `lsblk -t` and `-f` print them.
const LAST: [&str; 14] = [
    "SCHED",
    "RQ-SIZE",
    "RA",
    "WSAME",
    "MOUNTPOINT",
    "MOUNTPOINTS",
    "FSAVAIL",
    "FSUSE%",
    "UUID",
    "MODEL",
    "SERIAL",
    "TYPE",
    "ROTA",
    "LOG-SEC",
];

/// Joins a heading with its rest, and each row below it with its own.
pub(super) fn join(lines: &mut Vec<Line>) {
    let heads = (0..lines.len().saturating_sub(1)).filter_map(|at| Some((at, between(lines, at)?)));
    let heads: Vec<(usize, &'static str)> = heads.collect();
    if heads.is_empty() {
        return;
    }
    let mut heads = heads.into_iter().peekable();
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    let mut table: Option<&'static str> = None;
    let mut is_open = false;
    for (at, line) in lines.iter_mut().enumerate() {
        let line = Line { number: line.number, text: std::mem::take(&mut line.text) };
        if let Some((_, between)) = heads.next_if(|(head, _)| *head == at) {
            (table, is_open) = (Some(between), true);
            joined.push(line);
            continue;
        }
        let is_end = line.text.trim().is_empty() || is_prompt(&line.text);
        if is_end {
            (table, is_open) = (None, false);
        }
        match (table, joined.last_mut()) {
            (Some(between), Some(row)) if is_open && !is_row(&line.text) => {
                let text = row.text.to_mut();
                text.push_str(between);
                text.push_str(line.text.trim_start_matches(if between.is_empty() { '\0' } else { ' ' }));
                is_open = false;
            }
            _ => {
                is_open = table.is_some();
                joined.push(line);
            }
        }
    }
    *lines = joined;
}

/// What stood between the heading in a line and the next line, which has its last columns: a blank, or nothing within a word.
fn between(lines: &[Line], at: usize) -> Option<&'static str> {
    let (heading, next) = (&*lines[at].text, &*lines[at + 1].text);
    if !is_heading(heading) {
        return None;
    }
    let is_last = |words: &str| {
        let mut words = words.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| LAST.contains(&word))
    };
    if is_last(next) {
        return Some(" ");
    }
    let cut = heading.split_whitespace().next_back()?;
    (!heading.ends_with(' ') && is_last(&format!("{cut}{next}"))).then_some("")
}

/// Whether a line begins with a device's name: the rest of a row begins with a number or a word of its last columns.
fn is_row(line: &str) -> bool {
    let name = without_drawing(line).split_whitespace().next().map_or("", short);
    is_name(name) && name.starts_with(|c: char| c.is_ascii_lowercase())
}
