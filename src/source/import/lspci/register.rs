//! [`Register`]: the words of a register and the lines they stand in.

use std::borrow::Cow;

/// A register's words, which stand in several lines of a text.
#[derive(Debug)]
pub(super) struct Register {
    pub name: &'static str,
    pub words: String,
    /// Where each line's words begin, and its number.
    lines: Vec<(usize, usize)>,
}

impl Register {
    pub(super) fn new(name: &'static str, words: &str, line: usize) -> Self {
        Self { name, words: plain(words).into_owned(), lines: vec![(0, line)] }
    }

    pub(super) fn push(&mut self, words: &str, line: usize) {
        let words = plain(words);
        if !is_broken(&self.words, &words) {
            self.words.push(' ');
        }
        self.lines.push((self.words.len(), line));
        self.words.push_str(&words);
    }

    /// Its first line.
    pub(super) fn line(&self) -> usize {
        self.lines.first().map_or(0, |(_, line)| *line)
    }

    /// The line that has a word; the first without it.
    pub(super) fn line_of(&self, word: &str) -> usize {
        let at = self.words.find(word).unwrap_or(0);
        self.lines.iter().rev().find(|(start, _)| *start <= at).map_or(0, |(_, line)| *line)
    }
}

/// Whether a line break is within a number: `Width x1` and `6 (ok)`, `MaxPayload 25` and `6 bytes`.
fn is_broken(before: &str, words: &str) -> bool {
    let is_open = before.ends_with(|c: char| c.is_ascii_digit()) || before.ends_with(" x");
    is_open && words.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a line is the rest of a number and of its value: `6 (ok)`, `6, TrErr-`, `6 bytes, MaxReadReq 512 bytes`.
pub(super) fn is_rest_of_number(line: &str) -> bool {
    let line = line.trim();
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=4).contains(&(line.len() - behind.len()))
        && (behind.is_empty() || [" (", ",", " bytes", "GT/s"].iter().any(|rest| behind.starts_with(rest)))
}

/// Without the emphasis that people put on a value in Markdown, and with the letter for a sign of multiplication.
fn plain(words: &str) -> Cow<'_, str> {
    if words.contains(['*', '\u{d7}', '`']) {
        Cow::Owned(words.replace(['*', '`'], "").replace('\u{d7}', "x"))
    } else {
        Cow::Borrowed(words)
    }
}
