//! Rows of `nvme list` that a mail or a terminal broke into several lines.

use super::{
    drives::{is_controller, is_namespace, short, size_of},
    facts::Line,
    prompt::is_prompt,
};

/// Lines of one row.
const MOST_PIECES: usize = 8;

/// Bytes of one row.
const MOST: usize = 1024;

/// Joins the lines of headings, rules and rows, at their columns where these are known. A row that does not become whole stays
/// as it is.
pub(super) fn join(lines: &mut Vec<Line>, begins: impl Fn(&str, Option<&str>) -> bool) {
    let mut columns: Option<Columns> = None;
    let mut heading: Option<String> = None;
    // In place: a second list of half a million lines takes as much as the first.
    let (mut at, mut kept) = (0, 0);
    while at < lines.len() {
        let is_heading = is_heading(&lines[at].text);
        let is_rule = heading.is_some() && is_rule(&lines[at].text);
        let pieces = if is_heading {
            heading_pieces(&lines[at..])
        } else if is_rule {
            1 + lines[at + 1..].iter().take_while(|line| self::is_rule(&line.text)).count()
        } else if is_namespace(short(first_word(&lines[at].text))) {
            row_pieces(&lines[at..], &begins)
        } else {
            1
        };
        let mut line = Line { number: lines[at].number, text: std::mem::take(&mut lines[at].text) };
        for piece in &lines[at + 1..at + pieces] {
            push(line.text.to_mut(), &piece.text, columns.as_ref().filter(|_| !is_heading && !is_rule));
        }
        if is_heading {
            (heading, columns) = (Some(line.text.clone().into_owned()), None);
        } else if is_rule {
            columns = heading.take().and_then(|heading| Columns::new(&heading, &line.text));
        }
        lines[kept] = line;
        kept += 1;
        at += pieces;
    }
    lines.truncate(kept);
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// `Node SN Model` or `Node Generic SN Model`; the rest may be in the next line.
fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    matches!(words.as_slice(), ["Node", "SN", ..] | ["Node", "Generic", "SN", ..])
}

fn is_rule(line: &str) -> bool {
    line.trim_start().starts_with('-') && line.bytes().all(|byte| byte == b'-' || byte == b' ')
}

/// The number of lines of a heading.
fn heading_pieces(lines: &[Line]) -> usize {
    let mut ends = lines.iter().take(MOST_PIECES).map(|line| line.text.trim_end());
    let last = ends.position(|line| line.ends_with("FW Rev") || line == "Rev");
    let pieces = last.map_or(1, |last| last + 1);
    let are_own = |line: &Line| {
        let first = first_word(&line.text);
        !first.is_empty()
            && !first.starts_with("---")
            && !is_namespace(short(first))
            && !is_prompt(&line.text)
    };
    if lines[1..pieces].iter().all(are_own) { pieces } else { 1 }
}

/// The number of lines of a row: up to the first with all its words, else up to the last that goes on with it.
fn row_pieces(lines: &[Line], begins: &impl Fn(&str, Option<&str>) -> bool) -> usize {
    if lacks(&lines[0].text) == Lack::Nothing {
        return 1;
    }
    let mut text = lines[0].text.clone().into_owned();
    let mut whole = usize::from(lacks(&text) != Lack::Usage);
    for (at, line) in lines.iter().enumerate().skip(1).take(MOST_PIECES) {
        let next = lines.get(at + 1).map(|next| &*next.text);
        let name = short(first_word(&line.text));
        let is_other = name.is_empty()
            || is_namespace(name)
            || is_controller(name)
            || is_rule(&line.text)
            || is_prompt(&line.text)
            || begins(&line.text, next);
        if is_other || text.len() > MOST || !goes_on(&lacks(&text), &line.text) {
            break;
        }
        push(&mut text, &line.text, None);
        if lacks(&text) != Lack::Usage {
            whole = at + 1;
        }
    }
    whole.max(1)
}

/// What a row has not yet.
#[derive(Debug, PartialEq, Eq)]
enum Lack {
    Usage,
    Format,
    Firmware,
    Nothing,
}

fn lacks(row: &str) -> Lack {
    let words: Vec<&str> = row.split_whitespace().collect();
    let Some(slash) = usage(&words) else { return Lack::Usage };
    let is_size = |at: usize| {
        words.get(at).zip(words.get(at + 1)).is_some_and(|(number, unit)| size_of(number, unit).is_some())
    };
    let plus = words.iter().enumerate().skip(slash).find(|(_, word)| **word == "+").map(|(at, _)| at);
    match plus {
        Some(at) if is_size(at - 2) && is_size(at + 1) && words.len() > at + 3 => Lack::Nothing,
        Some(at) if is_size(at - 2) && is_size(at + 1) => Lack::Firmware,
        _ => Lack::Format,
    }
}

/// Whether a line has the next words of a row: prose behind a table is no firmware.
fn goes_on(lack: &Lack, line: &str) -> bool {
    /// Bytes of a firmware revision.
    const FIRMWARE: usize = 8;
    let first = first_word(line);
    match lack {
        Lack::Usage => true,
        Lack::Format => {
            let is_number = first.starts_with(|c: char| c.is_ascii_digit());
            is_number || size_of("1", first).is_some() || ["/", "+", "("].contains(&first)
        }
        Lack::Firmware => line.trim().len() <= FIRMWARE && !first.starts_with(['#', '$']),
        Lack::Nothing => false,
    }
}

/// Appends the next words of a row. Node, Generic and SN are single words: behind them the next column begins.
fn push(row: &mut String, words: &str, columns: Option<&Columns>) {
    let column =
        columns.filter(|columns| (columns.serial.0 + 1..columns.model.0).contains(&row.trim_end().len()));
    row.truncate(row.trim_end().len());
    let width = column.map_or(row.len() + 1, |columns| columns.model.0);
    row.push_str(&" ".repeat(width.saturating_sub(row.len())));
    row.push_str(words.trim());
}

/// The index of the slash in `1.00 TB / 1.00 TB`.
pub(super) fn usage(words: &[&str]) -> Option<usize> {
    let is_size = |at: Option<usize>| at.and_then(|at| size_of(words.get(at)?, words.get(at + 1)?)).is_some();
    (0..words.len()).find(|at| words[*at] == "/" && is_size(at.checked_sub(2)) && is_size(Some(at + 1)))
}

/// Where serial number and model begin and end, by the dashes below their headings.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub serial: (usize, usize),
    pub model: (usize, usize),
}

impl Columns {
    pub fn new(heading: &str, rule: &str) -> Option<Self> {
        let mut columns = Vec::new();
        let mut end = 0;
        for dashes in rule.split_whitespace() {
            let start = end + rule.get(end..)?.find(dashes)?;
            end = start + dashes.len();
            columns.push((start, end));
        }
        let column = |name: &str| {
            let at = heading.split_whitespace().position(|word| word == name)?;
            columns.get(at).copied()
        };
        Some(Self { serial: column("SN")?, model: column("Model")? })
    }

    /// Serial number and model of a row, whose words they are. Of a row that was broken behind its serial number, only that is
    /// below its heading.
    pub fn cut(&self, row: &str, words: &[&str]) -> Option<(String, String)> {
        let is_edge = |at: usize| row.as_bytes().get(at.wrapping_sub(1)) == Some(&b' ');
        if !row.is_ascii() || !is_edge(self.serial.0) || !is_edge(self.model.0) {
            return None;
        }
        let serial = row.get(self.serial.0..self.serial.1)?.trim();
        let count = serial.split_whitespace().count();
        if !serial.split_whitespace().eq(words.get(..count)?.iter().copied()) {
            return None;
        }
        // Columns of another heading have the namespace's number too.
        let model = row.get(self.model.0..self.model.1).filter(|_| is_edge(self.model.1 + 1)).map(str::trim);
        let model = model.filter(|model| model.split_whitespace().eq(words[count..].iter().copied()));
        Some((serial.to_owned(), model.map_or_else(|| words[count..].join(" "), str::to_owned)))
    }
}
