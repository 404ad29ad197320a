//! `lspci -t`: the tree as a drawing.
//!
//! ```text
//! -+-[0000:60]-+-00.0  AMD Root Complex
//!  |           \-03.1-[61]----00.0  Samsung Electronics Co Ltd Device a80a
//!  \-[0000:00]-+-01.1-[01-02]--+-00.0
//! ```
//! A branch has the column of its `+`; the lines below continue it there. format=flowed and forums move all lines but
//! the first, all by the same number of columns.

use std::borrow::Cow;

use super::{
    super::facts::{Facts, Line, learn},
    names::{self, Name},
};
use crate::model::PciAddress;

/// Whether a drawing begins here: `-[0000:00]-` or `-+-[0000:60]-`.
pub(super) fn is_first(line: &str) -> bool {
    let line = line.trim_start();
    let bracket = line.strip_prefix("-+-").or_else(|| line.strip_prefix('-'));
    bracket.and_then(root_bus).is_some()
}

/// Whether a line continues a drawing.
pub(super) fn continues(line: &str) -> bool {
    let start = line.trim_start();
    ["+-", "\\-", "|"].iter().any(|mark| start.starts_with(mark)) || behind_name(line).is_some()
}

/// The drawing behind the end of a name that a mail program moved into this line: `Graphics G4] |   +-04.0`.
fn behind_name(line: &str) -> Option<&str> {
    let is_drawing = |at: &usize| {
        let rest = line[*at..].trim_start_matches([' ', '|']);
        rest.starts_with("+-") || rest.starts_with("\\-")
    };
    line.match_indices(" |").map(|(at, _)| at).find(is_drawing).map(|at| &line[at..])
}

/// The bus that the children of a branch are on, and the bridge that leads to it.
#[derive(Debug, Clone, Copy)]
struct Branch {
    column: usize,
    /// `None`: the branch of root buses.
    bus: Option<Bus>,
}

#[derive(Debug, Clone, Copy)]
struct Bus {
    domain: u32,
    number: u8,
    bridge: Option<PciAddress>,
}

/// Reads a drawing.
pub(super) fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut drawing =
        Drawing { facts, branches: Vec::new(), moved: None, functions: 0, names: false, ids: false };
    for (at, line) in lines.iter().enumerate() {
        if line.text.trim().is_empty() {
            continue;
        }
        if let Err(wrong) = drawing.line(line, at == 0 || is_first(&line.text)) {
            drawing.facts.notes.unused_text(line, wrong);
        }
    }
    let command = match (drawing.names, drawing.ids) {
        (true, true) => "lspci -tvnn",
        (true, false) => "lspci -tv",
        _ => "lspci -t",
    };
    (drawing.functions > 0).then_some(command.into())
}

struct Drawing<'a> {
    facts: &'a mut Facts,
    /// Branches that are open, from left to right.
    branches: Vec<Branch>,
    /// Columns by which lines are moved against the first.
    moved: Option<isize>,
    functions: usize,
    names: bool,
    ids: bool,
}

impl Drawing<'_> {
    fn line(&mut self, line: &Line, is_first: bool) -> Result<(), &'static str> {
        let whole = &*line.text;
        let is_whole = whole.starts_with([' ', '|', '+', '\\', '-', '\t']);
        let text = if is_whole { whole } else { behind_name(whole).unwrap_or(whole) };
        let start = text.len() - text.trim_start_matches([' ', '|', '\t']).len();
        let rest = &text[start..];
        if is_first {
            self.branches.clear();
            self.moved = None;
            // A drawing with one root bus has no branch before it.
            return match rest.strip_prefix("-+-") {
                Some(after) => {
                    self.branches.push(Branch { column: start + 1, bus: None });
                    self.root(after, start + 3, line.number)
                }
                None => self.root(&rest[1..], start + 1, line.number),
            };
        }
        if rest.is_empty() {
            return Ok(());
        }
        let after =
            rest.strip_prefix("+-").or_else(|| rest.strip_prefix("\\-")).ok_or("no branch of a drawing")?;
        let leftmost = text.len() - text.trim_start().len();
        let first = self.branches.first().ok_or("no line of this drawing has a branch")?.column;
        let moved = *self.moved.get_or_insert(leftmost.cast_signed() - first.cast_signed());
        let column = start.checked_add_signed(-moved).ok_or("its column fits no branch above")?;
        self.branches.retain(|branch| branch.column <= column);
        let branch = self.branches.last().filter(|branch| branch.column == column);
        match branch.ok_or("its column fits no branch above")?.bus {
            None => self.root(after, column + 2, line.number),
            Some(bus) => self.function(after, column + 2, bus, line.number),
        }
    }

    /// `[0000:60]-+-00.0` or `[0000:60]---00.0`.
    fn root(&mut self, text: &str, column: usize, line: usize) -> Result<(), &'static str> {
        let ((domain, number), length) = root_bus(text).ok_or("no root bus in brackets")?;
        self.facts.roots.entry((domain, number)).or_insert(line);
        self.below(&text[length..], column + length, Bus { domain, number, bridge: None }, line)
    }

    /// What follows a bus in brackets: `-+-` and more branches, dashes and one function, or nothing.
    fn below(&mut self, text: &str, column: usize, bus: Bus, line: usize) -> Result<(), &'static str> {
        let dashes = text.len() - text.trim_start_matches('-').len();
        let (rest, column) = (&text[dashes..], column + dashes);
        if let Some(after) = rest.strip_prefix("+-") {
            self.branches.push(Branch { column, bus: Some(bus) });
            self.function(after, column + 2, bus, line)
        } else if rest.trim().is_empty() {
            Ok(())
        } else {
            self.function(rest, column, bus, line)
        }
    }

    /// `03.1-[61]----00.0  Name` or `00.2  Name`.
    fn function(&mut self, text: &str, column: usize, bus: Bus, line: usize) -> Result<(), &'static str> {
        const LENGTH: usize = 4;
        let place = text.get(..LENGTH).ok_or("no device behind its branch")?;
        let address = format!("{:04x}:{:02x}:{place}", bus.domain, bus.number).parse::<PciAddress>();
        let address = address.map_err(|_| "no device behind its branch")?;
        self.functions += 1;
        let function = self.facts.function(address, line);
        function.parent = function.parent.or(bus.bridge);
        let rest = &text[LENGTH..];
        if let Some(bracket) = rest.strip_prefix('-')
            && let Some(((secondary, subordinate), length)) = buses(bracket)
        {
            learn(&mut function.buses, (secondary, subordinate), line);
            learn(&mut function.class, 0x06_04_00, line);
            let below = Bus { number: secondary, bridge: Some(address), ..bus };
            return self.below(&bracket[length..], column + LENGTH + 1 + length, below, line);
        }
        if !rest.trim().is_empty() {
            let name = Name::parse(rest);
            self.names = true;
            let bracket = rest.trim_end().strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
            self.ids |= bracket.is_some_and(|(_, ids)| names::pair(ids).is_some());
            names::learn(function, &name, line);
            let words = names::listed(&name).map_or_else(|| name.text.clone(), |listed| listed.to_string());
            if let Some(class) = names::class_by_words(&words, name.vendor)
                .or_else(|| names::class_by_words(&name.text, name.vendor))
            {
                learn(&mut function.class, class, line);
            }
        }
        Ok(())
    }
}

/// `[0000:60]` at the beginning: domain, bus and length.
fn root_bus(text: &str) -> Option<((u32, u8), usize)> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    let address: PciAddress = format!("{inside}:00.0").parse().ok()?;
    Some(((address.domain, address.bus), inside.len() + 2))
}

/// `[61]`, `[02-06]` or `[0000:02-06]` at the beginning: secondary and subordinate bus, and length.
fn buses(text: &str) -> Option<((u8, u8), usize)> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    let range = inside.rsplit_once(':').map_or(inside, |(_, range)| range);
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let bus = |digits: &str| u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2);
    Some(((bus(first)?, bus(last)?), inside.len() + 2))
}
