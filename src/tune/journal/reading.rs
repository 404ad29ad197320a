//! Reads a journal line by line: a damaged line costs only itself, and no line more memory than a record takes.

use std::{
    fmt,
    io::{self, BufRead},
    mem,
};

use super::{Event, Record};
use crate::{text::Label, tune::change::Outcome};

/// Damaged lines that are named; further ones are counted.
const NAMED: usize = 3;
/// Bytes after which a line is longer than any record.
const LONGEST: usize = 1 << 20;
/// Bytes that are looked at together.
const AT_ONCE: usize = 256;
/// Bytes of a value: an attribute of /sys has at most a page.
const PAGE: usize = 4096;

/// A line that is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// 1 is the first.
    pub line: usize,
    /// The parser's error.
    pub why: String,
    /// Whether a part of a change can be read in it.
    pub has_change: bool,
    /// The file of that change, where it can be read.
    pub file: Option<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, why, has_change, file } = self;
        write!(f, "line {line} is damaged ({why}) and skipped; ")?;
        if !has_change {
            return f.write_str("remove the line");
        }
        let of = file.as_ref().map_or_else(String::new, |file| format!(" of {}", Label::new(file)));
        write!(f, "a change{of} may be lost; undo that change by hand, then remove the line")
    }
}

/// The content of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// Its records, oldest first.
    pub records: Vec<Record>,
    /// The first damaged lines, without a last one torn by a kill.
    pub damaged: Vec<Damage>,
    /// The number of further damaged lines.
    pub more_damaged: usize,
    /// Whether a damaged line has a part of a change.
    pub lost_change: bool,
    /// The number of a last line torn by a kill before its change was made.
    pub torn: Option<usize>,
}

impl Contents {
    /// All damaged lines.
    pub fn unread(&self) -> usize {
        self.damaged.len() + self.more_damaged
    }

    /// Behind a damaged line a result without its change: that line was the change.
    fn take_result(&mut self, record: &Record) {
        let is_named = self.lost_change && self.damaged.iter().all(|damage| damage.has_change);
        if self.unread() == 0 || is_named {
            return;
        }
        let Some(file) = without_change(&self.records, record) else { return };
        self.lost_change = true;
        if let Some(damage) = self.damaged.iter_mut().rfind(|damage| !damage.has_change) {
            (damage.has_change, damage.file) = (true, Some(file.to_owned()));
        }
    }
}

/// The file of an accepted change that is not among the records before its result.
pub(super) fn without_change<'a>(before: &[Record], record: &'a Record) -> Option<&'a str> {
    let Event::Result { file, outcome: Outcome::Accepted, .. } = &record.event else { return None };
    let is_change = |other: &Record| matches!(&other.event, Event::Change { file: changed, .. } if changed == file && other.session == record.session);
    // Its change is among the last records.
    let has_change = before.iter().rev().any(is_change);
    (!has_change).then_some(file)
}

/// Parses a journal. A last line without an end was torn by a kill before its change was made; any other invalid line is
/// damaged. Zeros, which a loss of power leaves, are no part of the record behind them.
pub fn parse(content: &[u8]) -> Contents {
    // A slice has no errors.
    read(content).unwrap_or_default()
}

/// Parses a journal as it is read.
pub(super) fn read(mut content: impl BufRead) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let mut line = Line::default();
    let mut number = 0;
    while line.next(&mut content)? {
        number += 1;
        let (record, why) = line.parsed();
        let is_read = record.is_some();
        if let Some(record) = &record {
            contents.take_result(record);
        }
        contents.records.extend(record);
        contents.torn = line.is_torn().then_some(number);
        let Some(why) = why else { continue };
        let has_change = !is_read && (line.has(b"/sys/") || line.has(b"\"change\""));
        contents.lost_change |= has_change;
        if contents.damaged.len() < NAMED {
            let file = line.file().filter(|_| has_change);
            contents.damaged.push(Damage { line: number, why, has_change, file });
        } else {
            contents.more_damaged += 1;
        }
    }
    Ok(contents)
}

/// One line at a time.
#[derive(Default)]
pub(super) struct Line {
    /// Without zeros before it, and cut where it is too long.
    pub bytes: Vec<u8>,
    /// Whether there were zeros before it.
    pub has_zeros: bool,
    is_cut: bool,
    has_end: bool,
    /// Bytes that were read.
    pub length: usize,
}

impl Line {
    /// Reads the next one; whether there was one.
    pub fn next(&mut self, content: &mut impl BufRead) -> io::Result<bool> {
        self.bytes.clear();
        *self = Self { bytes: mem::take(&mut self.bytes), ..Self::default() };
        loop {
            let piece = match content.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                return Ok(self.has_zeros || !self.bytes.is_empty());
            }
            let end = memchr::memchr(b'\n', piece);
            let (part, used) = end.map_or((piece, piece.len()), |end| (&piece[..end], end + 1));
            self.take(part);
            self.length += used;
            content.consume(used);
            if end.is_some() {
                self.has_end = true;
                return Ok(true);
            }
        }
    }

    fn take(&mut self, mut part: &[u8]) {
        if self.bytes.is_empty() {
            let zeros = zeros_before(part);
            self.has_zeros |= zeros > 0;
            part = &part[zeros..];
        }
        let room = LONGEST - self.bytes.len();
        self.is_cut |= part.len() > room;
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Its record, and why it is damaged; neither for an empty or torn line.
    pub fn parsed(&self) -> (Option<Record>, Option<String>) {
        let whole = self.whole();
        let has_zeros = self.has_zeros || whole.len() < self.bytes.len();
        if whole.trim_ascii().is_empty() {
            return (None, has_zeros.then(|| "zeros".to_owned()));
        }
        if self.is_torn() {
            return (None, None);
        }
        if self.is_cut {
            return (None, Some("longer than a record".to_owned()));
        }
        match serde_json::from_slice::<Record>(whole) {
            Ok(record) if has_long_value(&record.event) => {
                (None, Some("a value longer than a file of /sys".to_owned()))
            }
            Ok(record) => {
                (Some(record), has_zeros.then(|| "zeros in the place of earlier records".to_owned()))
            }
            Err(error) => (None, Some(error.to_string())),
        }
    }

    /// Whether a kill left it without its end.
    fn is_torn(&self) -> bool {
        let has_zeros = self.has_zeros || self.whole().len() < self.bytes.len();
        !self.has_end && !has_zeros && is_torn(&self.bytes)
    }

    /// Without zeros behind it.
    fn whole(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        &self.bytes[..end]
    }

    /// The file that it names.
    fn file(&self) -> Option<String> {
        const KEY: &[u8] = b"\"file\":\"";
        let begin = self.bytes.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
        let end = memchr::memchr(b'"', &self.bytes[begin..])?;
        let file = std::str::from_utf8(&self.bytes[begin..begin + end.min(PAGE)]).ok()?;
        Some(file.to_owned())
    }

    fn has(&self, word: &[u8]) -> bool {
        self.bytes.windows(word.len()).any(|window| window == word)
    }
}

/// The number of zeros that it begins with. A file with a hole has gigabytes of them: they are looked at many at a time.
fn zeros_before(part: &[u8]) -> usize {
    let is_zero = |chunk: &&[u8]| chunk.iter().fold(0, |all, byte| all | byte) == 0;
    let whole: usize = part.chunks(AT_ONCE).take_while(is_zero).map(<[u8]>::len).sum();
    whole + part[whole..].iter().take_while(|byte| **byte == 0).count()
}

/// Whether its value, which messages quote, is none that a file had.
fn has_long_value(event: &Event) -> bool {
    match event {
        Event::Change { old, new, .. } => old.len().max(new.len()) > PAGE,
        Event::Undone { value, .. } => value.len() > PAGE,
        Event::Left { value, now, .. } => value.len().max(now.len()) > PAGE,
        _ => false,
    }
}

/// Whether a last line without an end is the beginning of a record, torn by a kill before its change was made.
pub(super) fn is_torn(line: &[u8]) -> bool {
    // A torn character is an error without a length.
    let is_text = std::str::from_utf8(line).map_or_else(|error| error.error_len().is_none(), |_| true);
    line.starts_with(b"{") && is_text && !line.contains(&0) && serde_json::from_slice::<Record>(line).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_longer_than_a_page_is_damage() {
        let change = |old: &str| {
            format!(
                r#"{{"time":1,"boot":"b","session":"1-1","event":"change","device":{{"name":"sda"}},"setting":"read_ahead_kb","file":"/sys/x","old":"{old}","new":"1"}}"#
            )
        };
        let parsed = |digits: usize| parse(format!("{}\n", change(&"9".repeat(digits))).as_bytes());
        assert_eq!((parsed(PAGE).records.len(), parsed(PAGE).unread()), (1, 0));
        let long = parsed(PAGE + 1);
        assert!(long.records.is_empty() && long.damaged[0].has_change, "{long:?}");
    }

    #[test]
    fn a_result_without_its_change_is_a_change_that_was_lost() {
        let record = |event: &str| format!(r#"{{"time":1,"boot":"b","session":"1-1",{event}}}"#) + "\n";
        let result = record(r#""event":"result","file":"/sys/x","outcome":"accepted""#);
        for damage in ["\0\0\0\n", "not a record\n"] {
            let contents = parse((damage.to_owned() + &result).as_bytes());
            assert!(contents.lost_change, "{contents:?}");
            let said = contents.damaged[0].to_string();
            assert!(said.contains("; a change of /sys/x may be lost; undo that change by hand"), "{said}");
        }
        // A compacted journal may have left the change out, and a damaged line of something else is one.
        assert!(!parse(result.as_bytes()).lost_change);
        let close = record(r#""event":"close""#);
        assert!(!parse(format!("not a record\n{close}").as_bytes()).lost_change);
    }

    #[test]
    fn of_many_damaged_lines_the_first_are_named_and_the_rest_counted() {
        let change = "{\"event\":\"change\",\"file\":\"/sys/x\",\n";
        let contents = parse(format!("{change}{}", "{\"bad\":1}\n".repeat(1000)).as_bytes());
        assert_eq!((contents.damaged.len(), contents.more_damaged), (NAMED, 1001 - NAMED));
        let said: Vec<String> = contents.damaged.iter().map(ToString::to_string).collect();
        assert!(contents.lost_change);
        let fix = "; a change of /sys/x may be lost; undo that change by hand, then remove the line";
        assert!(said[0].ends_with(fix), "{said:?}");
        assert!(said[1].starts_with("line 2 is damaged (") && said[1].ends_with("skipped; remove the line"));
    }

    #[test]
    fn a_line_of_any_length_takes_the_memory_of_a_record() {
        let mut line = Line::default();
        let mut content = io::BufReader::new(io::Read::take(io::repeat(b'x'), 9 << 20));
        assert!(line.next(&mut content).unwrap());
        assert!(line.bytes.capacity() <= 2 * LONGEST, "{}", line.bytes.capacity());
        assert_eq!(line.parsed().1.as_deref(), Some("longer than a record"));
        let mut zeros = io::BufReader::new(io::Read::take(io::repeat(0), 9 << 20));
        assert!(line.next(&mut zeros).unwrap() && line.bytes.is_empty());
        assert_eq!(line.parsed(), (None, Some("zeros".to_owned())));
        assert!(!line.next(&mut zeros).unwrap());
    }

    #[test]
    fn zeros_are_counted_wherever_they_end() {
        for zeros in [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE] {
            let part = [vec![0; zeros], b"{\0".to_vec()].concat();
            assert_eq!((zeros_before(&part), zeros_before(&part[..zeros])), (zeros, zeros));
        }
    }
}
