//! Empty lines within a list, behind which the first line of a function may be missing.

use std::collections::BTreeSet;

use super::{
    super::{differences, facts::Line, prompt::is_snip},
    body::{continues, word},
};

/// Whether empty lines part the lines of one function: lspci prints them between functions alone, but some programs double all
/// line breaks.
fn is_spaced(lines: &[Line]) -> bool {
    let is_body = |line: &Line| word(line.text.trim_start()).is_some();
    let bodies = lines.windows(2).filter(|pair| is_body(&pair[1]));
    let (mut all, mut parted) = (0, 0);
    for pair in bodies {
        all += 1;
        parted += usize::from(pair[0].text.trim().is_empty());
    }
    parted * 2 > all
}

/// What is known of the function whose body is read.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    words: Words,
    /// Whether a first line names it; a command may name it too.
    is_listed: bool,
    /// Whether empty lines part the lines of one function.
    is_spaced: bool,
    /// Whether an empty line parts the last line from its body.
    is_parted: bool,
}

impl Gaps {
    /// Before the first of these lines.
    pub(super) fn of(lines: &[Line]) -> Self {
        Self { is_spaced: is_spaced(lines), ..Self::default() }
    }

    /// A first line names a function.
    pub(super) fn begin(&mut self) {
        *self = Self { is_listed: true, is_spaced: self.is_spaced, ..Self::default() };
    }

    /// No function's body is read.
    pub(super) const fn end(&mut self) {
        self.is_listed = false;
    }

    pub(super) fn empty_line(&mut self) {
        self.is_parted = self.is_listed && !self.words.0.is_empty();
    }

    /// Takes a line of a body. Whether it is not known to be of the function whose body is read: lines were left out before it, or
    /// an empty line parts it from them.
    pub(super) fn part(&mut self, line: &str) -> bool {
        if is_snip(line) || differences::is_head(line) {
            return self.is_listed;
        }
        let word = word(line.trim_start()).map(|(word, _)| word);
        let is_parted = std::mem::take(&mut self.is_parted) && continues(line);
        let is_other = || !self.is_spaced || word.is_some_and(|word| self.words.ends_at(word));
        if is_parted && is_other() {
            return true;
        }
        self.words.0.extend(word);
        false
    }
}

/// Words of a function's body.
#[derive(Debug, Default)]
struct Words(BTreeSet<&'static str>);

impl Words {
    /// Whether a word begins the body of another function: it stands once in each, or before the registers.
    fn ends_at(&self, word: &str) -> bool {
        const FIRST: [&str; 5] = ["Subsystem", "Control", "Flags", "Status", "Physical Slot"];
        const ONCE: [&str; 7] =
            ["DevCap", "DevCtl", "LnkCap", "LnkCtl", "LnkSta", "Kernel driver in use", "Kernel modules"];
        let has_registers = || self.0.contains("Capabilities") || self.0.contains("Kernel driver in use");
        (FIRST.contains(&word) || ONCE.contains(&word)) && self.0.contains(word)
            || FIRST.contains(&word) && has_registers()
    }
}
