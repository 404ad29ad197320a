//! Empty lines within a list, behind which the first line of a function may be missing.

use std::collections::BTreeSet;

use super::{super::facts::Line, body::word};

/// Whether empty lines part the lines of one function: lspci prints them between functions alone, but some programs double all
/// line breaks.
pub(super) fn is_spaced(lines: &[Line]) -> bool {
    let is_body = |line: &Line| word(line.text.trim_start()).is_some();
    let bodies = lines.windows(2).filter(|pair| is_body(&pair[1]));
    let (mut all, mut parted) = (0, 0);
    for pair in bodies {
        all += 1;
        parted += usize::from(pair[0].text.trim().is_empty());
    }
    parted * 2 > all
}

/// Words of a function's body.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeSet<&'static str>);

impl Words {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn insert(&mut self, word: &'static str) {
        self.0.insert(word);
    }

    /// Whether a word begins the body of another function: it stands once in each, or before the registers.
    pub(super) fn ends_at(&self, word: &str) -> bool {
        const FIRST: [&str; 5] = ["Subsystem", "Control", "Flags", "Status", "Physical Slot"];
        const ONCE: [&str; 7] =
            ["DevCap", "DevCtl", "LnkCap", "LnkCtl", "LnkSta", "Kernel driver in use", "Kernel modules"];
        let has_registers = || self.0.contains("Capabilities") || self.0.contains("Kernel driver in use");
        (FIRST.contains(&word) || ONCE.contains(&word)) && self.0.contains(word)
            || FIRST.contains(&word) && has_registers()
    }
}
