//! [`Register`]: the words of a register and the lines they stand in.

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
        Self { name, words: words.to_owned(), lines: vec![(0, line)] }
    }

    pub(super) fn push(&mut self, words: &str, line: usize) {
        self.words.push(' ');
        self.lines.push((self.words.len(), line));
        self.words.push_str(words);
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
