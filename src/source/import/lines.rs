//! Lines of a text as mail programs, forums and terminals left them: decoded, unquoted, numbered.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    barred,
    differences::Side,
    dmesg,
    encoded::{decoded, is_quoted_printable},
    facts::Line,
    folded, lsblk_rows, lspci, markup, nvme_rows, padded,
    prompt::{self, FENCE},
    wrapped,
};

/// Lines of a text; one line per CPU, function and register of the largest machines are some hundred thousand.
const MOST_LINES: usize = 1 << 19;

/// Bytes of one line that are used.
const MOST_OF_LINE: usize = 4096;

/// Bytes of a line that is a JSON document.
const MOST_OF_DOCUMENT: usize = 1 << 20;

/// The text of a file: UTF-8, or UTF-16 with its mark; invalid bytes are replaced.
pub(super) fn decode(content: &[u8]) -> Cow<'_, str> {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units = content[2..].chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        let text = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(text.collect())
    };
    with_newlines(match content {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(content),
    })
}

/// With a newline for each carriage return, if more lines end in these alone than in newlines.
fn with_newlines(text: Cow<'_, str>) -> Cow<'_, str> {
    let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
    let both = text.matches("\r\n").count();
    let returns = text.bytes().filter(|byte| *byte == b'\r').count() - both;
    if returns > newlines { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { text }
}

/// Whether it is no text: of what it begins with, an eighth or more are no characters. A log of a serial line has some.
pub(super) fn is_binary(text: &str) -> bool {
    const LOOK: usize = 1 << 16;
    let (mut all, mut strange) = (0, 0);
    for character in text.chars().take(LOOK) {
        all += 1;
        strange += usize::from(matches!(character, '\0' | char::REPLACEMENT_CHARACTER));
    }
    strange * 8 > all
}

/// The lines of a text, without quoting of mails and markup of pages; `begins` says whether a listing begins at a line, before
/// the next one.
///
/// # Errors
/// More lines than any listing has.
pub(super) fn split<'a>(
    text: &'a str,
    sides: &BTreeMap<usize, Side>,
    begins: impl Fn(&str, Option<&str>) -> bool,
) -> Result<Vec<Line<'a>>, String> {
    let encoded = is_quoted_printable(text);
    let bars = has_bars(text.lines());
    // A list that grows is twice as large as its lines for a moment.
    let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
    let mut lines: Vec<Line> = Vec::with_capacity(newlines.min(MOST_LINES) + 1);
    let mut unfinished: Option<Line> = None;
    let rows = text.split('\n').enumerate().flat_map(|(at, line)| {
        markup::rows(line.strip_suffix('\r').unwrap_or(line)).map(move |row| (at, row))
    });
    for (at, raw) in rows {
        let raw = match sides.get(&(at + 1)) {
            Some(Side::Old) => continue,
            Some(Side::New(mark)) => raw.get(*mark..).unwrap_or_default(),
            None => raw,
        };
        let most = if raw.starts_with('{') { MOST_OF_DOCUMENT } else { MOST_OF_LINE };
        let raw = &raw[..raw.floor_char_boundary(most)];
        let raw = if raw.trim().is_empty() { "" } else { raw };
        if lines.len() >= MOST_LINES {
            return Err(format!("more than {MOST_LINES} lines, which no listing has"));
        }
        // One empty line parts listings as several do.
        if raw.is_empty() && lines.last().is_some_and(|line| line.text.is_empty()) && unfinished.is_none() {
            continue;
        }
        if !encoded {
            push_plain(&mut lines, at + 1, Cow::Borrowed(raw), bars);
            continue;
        }
        // A soft break may stand within a character's bytes.
        let (part, is_soft) = encoded_part(raw);
        let line = match unfinished.take() {
            Some(Line { number, text }) if text.len() < MOST_OF_LINE => {
                Line { number, text: Cow::Owned(text.into_owned() + part) }
            }
            _ => Line { number: at + 1, text: Cow::Borrowed(part) },
        };
        if is_soft {
            unfinished = Some(line);
        } else {
            push_decoded(&mut lines, &line, bars);
        }
    }
    if let Some(line) = unfinished {
        push_decoded(&mut lines, &line, bars);
    }
    without_hard_breaks(&mut lines);
    barred::undo(&mut lines, &begins);
    // What stood in front of the marks of a mail hid them.
    if wrapped::bare(&mut lines) {
        let bars = has_bars(lines.iter().map(|line| &*line.text));
        for line in &mut lines {
            line.text = unfenced(unquoted(std::mem::take(&mut line.text), bars));
        }
        barred::undo(&mut lines, &begins);
    }
    padded::trim(&mut lines, text);
    // A line broken at a column may end in a blank, as one of format=flowed does.
    folded::unfold(&mut lines, &begins);
    wrapped::unflow(&mut lines, text);
    dmesg::rejoin(&mut lines);
    lsblk_rows::join(&mut lines);
    nvme_rows::join(&mut lines, &begins);
    Ok(lines)
}

/// A line of quoted-printable without its soft break, and whether it goes on in the next: not behind a line break of its own.
fn encoded_part(raw: &str) -> (&str, bool) {
    let Some(part) = raw.strip_suffix('=') else { return (raw, false) };
    let end = ["=0D=0A", "=0d=0a", "=0A", "=0a"].iter().find_map(|end| part.strip_suffix(end));
    end.map_or((part, true), |line| (line, false))
}

/// Adds the lines that one of quoted-printable has.
fn push_decoded(lines: &mut Vec<Line<'_>>, line: &Line, bars: bool) {
    let text = decoded(&line.text);
    for text in text.trim_end_matches(['\r', '\n']).split('\n') {
        let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        push_plain(lines, line.number, Cow::Owned(text), bars);
    }
}

/// Adds a line; not one of a size alone, which may be a tag or the rest of a region: it parts nothing.
fn push_plain<'a>(lines: &mut Vec<Line<'a>>, number: usize, raw: Cow<'a, str>, bars: bool) {
    let is_size = raw.contains("[size=");
    let text = plain(raw, bars);
    if !is_size || !text.trim().is_empty() {
        lines.push(Line { number, text });
    }
}

/// Takes away the backslashes by which Markdown ends lines. That of a drawing has a blank before it.
fn without_hard_breaks(lines: &mut [Line]) {
    let is_break = |text: &str| {
        text.strip_suffix('\\').is_some_and(|text| !text.is_empty() && !text.ends_with([' ', '|', '\\']))
    };
    if lines.iter().filter(|line| is_break(&line.text)).take(2).count() < 2 {
        return;
    }
    for line in lines.iter_mut().filter(|line| is_break(&line.text)) {
        match &mut line.text {
            Cow::Borrowed(text) => *text = &text[..text.len() - 1],
            Cow::Owned(text) => _ = text.pop(),
        }
    }
}

/// Whether marks of quoted mail have a bar behind them: `>| text`. A quoted drawing has bars too, before blanks and branches.
fn has_bars<'a>(mut lines: impl Iterator<Item = &'a str>) -> bool {
    let is_quoted = |line: &str| {
        let bar = line.trim_start_matches(['>', ' ']).strip_prefix('|').filter(|_| line.starts_with('>'));
        let starts = |c: char| c.is_ascii_alphanumeric() || ['#', '$', '`'].contains(&c);
        bar.is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with(starts) || rest.starts_with("-[") || rest.starts_with("-+-[")
        })
    };
    lines.any(is_quoted)
}

/// Without the marks of quoted mail: `> > text`, with `bars` also `>| text`.
fn unquoted(line: Cow<'_, str>, bars: bool) -> Cow<'_, str> {
    if !line.trim_start_matches([' ', '\t']).starts_with('>') {
        return line;
    }
    let mut rest = &*line;
    while let Some(after) = rest.trim_start_matches([' ', '\t']).strip_prefix('>') {
        let bar = after.strip_prefix('|').filter(|_| bars);
        rest = bar.unwrap_or(after);
        // One blank belongs to the mark; further ones are the text's.
        if rest.starts_with(' ') && (bar.is_some() || !rest.trim_start_matches(' ').starts_with('>')) {
            rest = &rest[1..];
            break;
        }
    }
    Cow::Owned(rest.to_owned())
}

/// Without a fence of Markdown before or behind the words of a line.
fn unfenced(line: Cow<'_, str>) -> Cow<'_, str> {
    if !line.contains(FENCE) || prompt::is_fence(line.trim()) {
        return line;
    }
    let (blanks, words) = line.split_at(line.len() - line.trim_start().len());
    let words = if words.starts_with(FENCE) { words.trim_start_matches('`') } else { words };
    let end = words.trim_end();
    let words = if end.ends_with(FENCE) { end.trim_end_matches('`') } else { words };
    Cow::Owned(format!("{blanks}{words}"))
}

/// Without quoting, markup, fences, and marks around a function's first line.
fn plain(line: Cow<'_, str>, bars: bool) -> Cow<'_, str> {
    lspci::undecorated(lspci::redrawn(unfenced(unquoted(markup::without(line), bars))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(usize, String)> {
        split(text, &BTreeMap::new(), |_, _| false)
            .unwrap()
            .into_iter()
            .map(|line| (line.number, line.text.into_owned()))
            .collect()
    }

    #[test]
    fn quoting_is_taken_away_and_indentation_kept() {
        for (line, plain) in [
            ("> 00:00.0 Host bridge", "00:00.0 Host bridge"),
            (">> \tLnkSta:", "\tLnkSta:"),
            ("\t> LnkSta:", "LnkSta:"),
            ("> >  | +-00.0", " | +-00.0"),
            (">", ""),
            (" |  +-", " |  +-"),
            ("L1 &lt;8us &amp;", "L1 <8us &"),
            ("<pre>-[0000:00]-", "-[0000:00]-"),
        ] {
            assert_eq!(texts(line)[0].1, plain, "{line}");
        }
    }

    #[test]
    fn one_of_several_empty_lines_is_kept() {
        let lines = [(1, "a".to_owned()), (2, String::new()), (5, "b".to_owned()), (6, String::new())];
        assert_eq!(texts("a\n\n \n\r\nb\n\n\n"), lines);
    }

    #[test]
    fn bars_of_quotations_are_no_branches() {
        let quoted = ">| 00:00.0 Host bridge\n>|\n>|  |  +-00.0\n> > plain";
        let expected = ["00:00.0 Host bridge", "", " |  +-00.0", "plain"];
        assert_eq!(texts(quoted).into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
        assert_eq!(texts(">-+-[0000:60]\n>|  +-00.0")[1].1, "|  +-00.0", "a drawing quoted without blanks");
    }

    #[test]
    fn fences_are_no_part_of_a_listing() {
        for (line, plain) in [
            ("```-[0000:00]-+-00.0", "-[0000:00]-+-00.0"),
            ("  ```00:00.0 Host", "  00:00.0 Host"),
            ("00:00.0 Host bridge: Foo ```", "00:00.0 Host bridge: Foo "),
            ("```bash", "```bash"),
            ("```", "```"),
            ("a `name` of one", "a `name` of one"),
        ] {
            assert_eq!(texts(line)[0].1, plain, "{line}");
        }
    }

    #[test]
    fn quoted_printable_is_decoded_with_the_number_of_its_first_line() {
        let text = "Bus: primary=3D00, secondary=3D01,=\r\n subordinate=3D01\r\n=C3=A4\n";
        assert_eq!(
            texts(text),
            [
                (1, "Bus: primary=00, secondary=01, subordinate=01".to_owned()),
                (3, "\u{e4}".to_owned()),
                (4, String::new())
            ]
        );
        assert_eq!(
            texts("size=3D1 a=3Db c=3Dd\n>=A0 +-[0000:60]=A0")[1].1,
            " +-[0000:60] ",
            "Latin-1 in a quotation"
        );
        assert_eq!(texts("at e000 [size=16M] a=b")[0].1, "at e000 [size=16M] a=b");
    }

    #[test]
    fn text_of_powershell_is_utf_16() {
        let bytes: Vec<u8> = "\u{feff}00:1f".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&bytes), "00:1f");
    }
}
