//! Gaps within a list: empty lines, behind which the first line of a function may be missing, and marks in place of lines.

use std::collections::BTreeSet;

use super::{
    super::{differences, facts::Line, prompt::is_snip},
    body::{continues, word},
    header::{head, is_first},
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
pub(super) struct Gaps<'a> {
    lines: &'a [Line<'a>],
    words: Words,
    /// Whether a first line names it; a command may name it too.
    is_listed: bool,
    /// Whether empty lines part the lines of one function.
    is_spaced: bool,
    /// Whether the list has several functions.
    is_several: bool,
    /// Whether an empty line parts the last line from its body.
    is_parted: bool,
    /// Whether a person's words do.
    is_answered: bool,
}

impl<'a> Gaps<'a> {
    /// Before the first of these lines.
    pub(super) fn of(lines: &'a [Line<'a>]) -> Self {
        let is_several = lines.iter().filter(|line| is_first(&line.text)).take(2).count() > 1;
        Self { lines, is_spaced: is_spaced(lines), is_several, ..Self::default() }
    }

    /// A first line names a function: what follows its address.
    pub(super) fn begin(&mut self, rest: &str) {
        let Self { lines, is_spaced, is_several, .. } = *self;
        let words = Words { is_bridge: is_bridge(rest), ..Words::default() };
        *self = Self { lines, words, is_spaced, is_several, is_listed: true, ..Self::default() };
    }

    /// No function's body is read.
    pub(super) const fn end(&mut self) {
        self.is_listed = false;
    }

    pub(super) fn empty_line(&mut self) {
        self.is_parted = self.is_listed && !self.words.is_empty();
    }

    /// Takes a line of a body. Whether it is not known to be of the function whose body is read: lines were left out before it, or
    /// an empty line parts it from them.
    pub(super) fn part(&mut self, line: &Line) -> bool {
        let text = &*line.text;
        if differences::is_head(text) {
            return self.is_listed;
        }
        if is_snip(text) {
            return self.is_listed
                && (self.is_other_behind(line.number)
                    || self.is_several && self.is_driver_behind(line.number));
        }
        let is_parted = std::mem::take(&mut self.is_parted);
        if !continues(text) {
            self.is_answered |= is_parted;
            return false;
        }
        let is_answered = std::mem::take(&mut self.is_answered);
        if is_parted {
            let is_other = match (self.is_spaced, self.is_several && !is_answered) {
                (true, _) => self.words.is_other(text),
                (false, true) => true,
                (false, false) => {
                    word(text.trim_start()).is_none() || self.is_other_behind(line.number.saturating_sub(1))
                }
            };
            if is_other {
                return true;
            }
        }
        self.words.add(text);
        false
    }

    /// Whether a driver is the first thing behind this line, and the function before it has no registers: `lspci -k` prints such
    /// lines for each function, and those of several may be left out.
    fn is_driver_behind(&self, number: usize) -> bool {
        let from = self.lines.partition_point(|line| line.number <= number);
        let is_end = |text: &&str| !is_first(text);
        let behind = self.lines[from..].iter().map(|line| line.text.trim_start()).take_while(is_end);
        let next = behind.filter(|text| !is_snip(text)).find_map(word);
        next.is_some_and(|(word, _)| word.starts_with("Kernel"))
            && self.words.known.iter().all(|known| ["Subsystem", "DeviceName"].contains(known))
    }

    /// Whether a line behind this one, up to the next gap or function, is of another function.
    fn is_other_behind(&self, number: usize) -> bool {
        let from = self.lines.partition_point(|line| line.number <= number);
        let is_end =
            |text: &str| is_first(text) || is_snip(text) || !self.is_spaced && text.trim().is_empty();
        let behind = self.lines[from..].iter().map(|line| &*line.text);
        let mut block = behind.skip_while(|text| text.trim().is_empty()).take_while(|text| !is_end(text));
        block.any(|text| self.words.is_other(text))
    }
}

/// Whether a function is a PCI bridge, by what follows its address; `None` for other bridges.
fn is_bridge(rest: &str) -> Option<bool> {
    let class = head(rest).class;
    if class.contains("PCI bridge") || class.contains("0604") {
        return Some(true);
    }
    let is_bridge = class.contains("ridge") || class.trim_start_matches("Class ").starts_with("06");
    (!is_bridge).then_some(false)
}

/// Where extended capabilities begin in the configuration space: lspci prints them behind the others.
const EXTENDED: u16 = 0x100;

/// Words of a function's body.
#[derive(Debug, Default)]
struct Words {
    known: BTreeSet<&'static str>,
    /// Offsets of capabilities.
    offsets: BTreeSet<u16>,
    is_bridge: Option<bool>,
}

impl Words {
    fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn add(&mut self, line: &str) {
        let Some((word, value)) = word(line.trim_start()) else { return };
        if !is_of_capability(word, value) {
            self.known.insert(word);
        }
        self.offsets.extend(offset(word, value));
    }

    /// Whether a line is of another function: it stands once in each, or before the registers, or in those of another kind.
    fn is_other(&self, line: &str) -> bool {
        const FIRST: [&str; 5] = ["Subsystem", "Control", "Flags", "Status", "Physical Slot"];
        const ONCE: [&str; 5] = ["DevCap", "DevCtl", "LnkCap", "LnkCtl", "LnkSta"];
        const LAST: [&str; 2] = ["Kernel driver in use", "Kernel modules"];
        let Some((word, value)) =
            word(line.trim_start()).filter(|(word, value)| !is_of_capability(word, value))
        else {
            return false;
        };
        // `lsusb` has lines of this word too.
        if word == "Bus" && !value.contains("primary") {
            return true;
        }
        let is_ended = LAST.iter().any(|last| self.known.contains(last));
        let is_known = self.known.contains(word);
        if FIRST.contains(&word) {
            return is_known || is_ended || self.known.contains("Capabilities");
        }
        if ONCE.contains(&word) {
            return is_known || is_ended || self.is_of_other_kind(word, value);
        }
        if let Some(offset) = offset(word, value) {
            let is_behind = offset < EXTENDED && self.offsets.last().is_some_and(|last| *last >= EXTENDED);
            let is_again = self.offsets.contains(&offset);
            return is_again || is_behind || is_ended || self.is_of_other_kind(word, value);
        }
        LAST.contains(&word) && is_known || self.is_of_other_kind(word, value)
    }

    /// Whether a line is of a bridge in the body of another function, or the other way round.
    fn is_of_other_kind(&self, word: &str, value: &str) -> bool {
        // `SltCap`, `RootCtl`, `I/O behind bridge` and their kin.
        let is_of_port = ["Slt", "Root", "Bridge"].iter().any(|of| word.starts_with(of))
            || word.ends_with("behind bridge");
        let is_express = word == "Capabilities" && value.contains("Express (v");
        match self.is_bridge {
            Some(true) => is_express && value.contains("Endpoint"),
            Some(false) => is_of_port || is_express && value.contains(" Port"),
            None => false,
        }
    }
}

/// Whether a line is one of a capability, whose registers have words of the function's own: power management has `Flags` and
/// `Status`, a slot has `Control`.
fn is_of_capability(word: &str, value: &str) -> bool {
    match word {
        "Control" => !value.starts_with("I/O"),
        "Status" => !value.starts_with("Cap"),
        "Flags" => value.starts_with("PME"),
        _ => false,
    }
}

/// `[70] Express (v2) Endpoint`, `[100 v1] Advanced Error Reporting`: where a capability is.
fn offset(word: &str, value: &str) -> Option<u16> {
    let (at, _) = value.strip_prefix('[').filter(|_| word == "Capabilities")?.split_once(']')?;
    u16::from_str_radix(at.split(' ').next()?, 16).ok()
}
