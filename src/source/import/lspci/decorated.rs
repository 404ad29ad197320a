//! First lines of functions with marks that people and forums put around them, and those that cannot be read.

use std::borrow::Cow;

use super::header::is_first;

/// Marks behind a first line.
const BEHIND: [char; 4] = ['*', '_', '`', ' '];

/// Words in a line's beginning among which its address stands.
const MOST_WORDS: usize = 6;

/// A function's first line without the marks around it: `**02:00.0 Non-Volatile memory controller: ...**`, `1. 02:00.0 ...`,
/// `--> 02:00.0 ...`. Other lines are left as they are.
pub(in super::super) fn undecorated(line: Cow<'_, str>) -> Cow<'_, str> {
    let Some(rest) = behind_marks(&line).filter(|rest| is_first(rest)) else { return line };
    Cow::Owned(rest.trim_end_matches(BEHIND).to_owned())
}

/// What follows marks: signs, the number of a list, `Device`. Signs of drawings and of differences are none.
fn behind_marks(line: &str) -> Option<&str> {
    let is_mark = |c: char| {
        !c.is_alphanumeric() && !['|', '\\', '+', '"'].contains(&c) && !('\u{2500}'..='\u{257f}').contains(&c)
    };
    let marked = line.trim_start();
    let rest = marked.trim_start_matches(is_mark);
    let rest = rest.strip_prefix("Device ").map_or(rest, str::trim_start);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let listed = rest[digits..].strip_prefix([')', '.']).filter(|rest| digits > 0 && rest.starts_with(' '));
    let rest = listed.map_or(rest, |rest| rest.trim_start_matches(is_mark));
    let marks = &marked[..marked.len() - rest.len()];
    (!marks.is_empty() && marks != "-").then_some(rest)
}

/// Whether a line is a function's first line that cannot be read: an address, also a redacted one or a path of `lspci -P`,
/// words of a class, and a colon.
pub(in super::super) fn is_unread(line: &str) -> bool {
    let mut rest = line.trim_start();
    for _ in 0..MOST_WORDS {
        let (word, after) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        rest = after.trim_start();
        if is_place(word) && is_class(rest) {
            return !is_first(line);
        }
    }
    false
}

/// Whether the words up to a colon are those of a class: `Non-Volatile memory controller [0108]: `, `0108: `.
fn is_class(text: &str) -> bool {
    let Some((class, _)) = text.split_once(": ").or_else(|| Some((text.trim_end().strip_suffix(':')?, "")))
    else {
        return false;
    };
    let is_number = class.len() == 4 && class.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number
        || class.starts_with(|c: char| c.is_uppercase()) && class.split_whitespace().count() <= MOST_WORDS
}

/// `01:00.0`, `0000:01:00.0`, `XX:00.0`, `00:01.1/00.0`, with marks around it.
fn is_place(word: &str) -> bool {
    let is_hidden = |c: char| ['x', 'X', '?', '*', '#'].contains(&c);
    let is_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count())
            && text.chars().all(|c| c.is_ascii_hexdigit() || is_hidden(c))
    };
    let is_function = |text: &str| {
        text.split_once('.').is_some_and(|(device, function)| is_digits(device, 2) && is_digits(function, 1))
    };
    let is_mark = |c: char| !c.is_alphanumeric() && c != '?';
    let place = word.trim_matches(is_mark);
    let mut parts = place.split('/');
    let first = parts.next().unwrap_or_default();
    let Some((bus, function)) = first.rsplit_once(':') else { return false };
    bus.split(':').all(|part| is_digits(part, 8))
        && is_function(function)
        && parts.all(|part| is_function(part.rsplit_once(':').map_or(part, |(_, function)| function)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "02:00.0 Non-Volatile memory controller: Foo (rev 01)";

    #[test]
    fn marks_around_a_first_line_are_taken_away() {
        for (before, behind) in [
            ("**", "**"),
            ("*", "*"),
            ("* ", ""),
            ("- ", ""),
            ("--> ", ""),
            ("-> ", ""),
            ("!! ", ""),
            ("\u{26a0}\u{fe0f} ", ""),
            ("\u{2022} ", ""),
            ("1. ", ""),
            ("12) ", ""),
            ("1. **", "**"),
            ("### ", ""),
            ("__", "__"),
            ("`", "`"),
            ("Device ", ""),
        ] {
            assert_eq!(undecorated(format!("{before}{HEADER}{behind}").into()), HEADER, "{before}");
        }
        for line in [
            HEADER,
            "-02:00.0 Non-Volatile memory controller: Foo",
            "+02:00.0 Non-Volatile memory controller: Foo",
            " +-01:00.0  NVMe SSD",
            "\\-01:00.0  NVMe SSD: Foo",
            "[    0.62] pci 0000:04:00.0: 8.000 Gb/s available PCIe bandwidth",
            "*** a text ***",
        ] {
            assert_eq!(undecorated(line.into()), line);
        }
    }

    #[test]
    fn first_lines_that_cannot_be_read_are_known() {
        for line in [
            "XX:00.0 Non-Volatile memory controller: Foo",
            "xx:xx.x PCI bridge [0604]: Foo",
            "00:01.1/00.0 Non-Volatile memory controller: Foo",
            "-02:00.0 Non-Volatile memory controller: Foo",
            "(second) 02:00.0 Non-Volatile memory controller: Foo",
            "see [0000:02:00.0] 0108: 144d:a808",
        ] {
            assert!(is_unread(line), "{line}");
        }
        for line in [
            HEADER,
            "\tCapabilities: [70] Express (v2) Endpoint, MSI 00",
            "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0",
            "[    0.62] pci 0000:04:00.0: 8.000 Gb/s available PCIe bandwidth, limited by",
            "The drive at 02:00.0 is slow: see below",
            "12:30.5 and so on",
        ] {
            assert!(!is_unread(line), "{line}");
        }
    }

    #[test]
    fn links_behind_an_unread_first_line_are_of_no_function() {
        use super::super::{
            super::facts::{Facts, Line},
            functions::read,
        };
        for header in [
            "XX:00.0 Non-Volatile memory controller: Foo",
            "00:01.1/00.0 Non-Volatile memory controller: Foo",
            "+02:00.0 Non-Volatile memory controller: Foo",
        ] {
            let texts = ["00:14.0 SMBus: Foo", header, "\t\tLnkSta:\tSpeed 8GT/s, Width x4"];
            let line = |(at, text): (usize, &&'static str)| Line { number: at + 1, text: (*text).into() };
            let lines: Vec<Line> = texts.iter().enumerate().map(line).collect();
            let mut facts = Facts::default();
            read(&lines, &mut facts);
            assert!(facts.functions.values().all(|function| function.express.is_none()), "{header}");
            assert_eq!(
                facts.notes.unused.iter().map(|unused| unused.line).collect::<Vec<_>>(),
                [2],
                "{header}"
            );
        }
    }
}
