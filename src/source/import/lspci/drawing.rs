//! `lspci -t`: the tree as a drawing.
//!
//! ```text
//! -+-[0000:60]-+-00.0  AMD Root Complex
//!  |           \-03.1-[61]----00.0  Samsung Electronics Co Ltd Device a80a
//!  \-[0000:00]-+-01.1-[01-02]--+-00.0
//! ```
//! A branch has the column of its `+`; the lines below continue it there. format=flowed and forums move all lines but
//! the first, all by the same number of columns.
//!
//! Of a drawing without its beginning, the buses behind its bridges are known; the bus of what is on its open branches is not.
//!
//! Forums strip indentation: a line below the last branch of the first line then begins as if it were on that branch. In each
//! line of a drawing, every branch that has further lines has a mark: the number of marks leads to the branch without columns.
//!
//! winlspci draws whole addresses, each on a line of its own, with the types of ports and the state of links:
//!
//! ```text
//! -[0000:00]-+-00:06.0-[01]  PCIe Controller  [root port]
//!            |           \-01:00.0  NVMe SSD  (8GT/s x4)
//! ```

use std::borrow::Cow;

use super::{
    super::{
        facts::{Facts, Function, Line, PCI_BRIDGE, learn},
        identity::Others,
        prompt::{is_prompt, is_snip},
    },
    header::begins_line,
    names::{self, Name},
    places::{LENGTH, buses, place, root_bus, whole_address},
    words,
};
use crate::model::PciAddress;

/// Whether a drawing begins here: `-[0000:00]-` or `-+-[0000:60]-`, also where the dash before a bracket is lost.
pub(super) fn is_first(line: &str) -> bool {
    let line = line.trim_start();
    let bracket = line.strip_prefix("-+-").or_else(|| line.strip_prefix('-'));
    let is_bare = || root_bus(line).is_some_and(|(_, length)| line[length..].starts_with(['-']));
    bracket.and_then(root_bus).is_some() || is_bare()
}

/// The column of a branch with a root bus, behind nothing but blanks, and whether it is the last one.
fn root_branch(line: &str) -> Option<(usize, bool)> {
    let rest = line.trim_start();
    let after = rest.strip_prefix("+-").or_else(|| rest.strip_prefix("\\-"))?;
    root_bus(after).map(|_| (line.len() - rest.len(), rest.starts_with('\\')))
}

/// The number of lines of the first drawing: one with a single root bus, or behind its last, has no further ones.
fn length(lines: &[Line]) -> usize {
    let Some(first) = lines.first().map(|line| &*line.text) else { return 0 };
    let start = first.len() - first.trim_start().len();
    let rest = &first[start..];
    let is_single = is_first(first) && !rest.starts_with("-+-");
    // Several buses behind one bridge are drawn as root buses are, further right.
    let end = first.find(']').filter(|_| is_single);
    let mut ended = end.or_else(|| root_branch(first).filter(|(_, is_last)| *is_last).map(|(at, _)| at + 1));
    for (at, line) in lines.iter().enumerate().skip(1) {
        if is_first(&line.text) {
            return at;
        }
        let Some((column, is_last)) = root_branch(&line.text) else { continue };
        match ended {
            Some(end) if column < end => return at,
            Some(_) => {}
            None => ended = is_last.then_some(column + 1),
        }
    }
    lines.len()
}

/// Whether a line is within a drawing: a branch with a device or a root bus.
pub(super) fn is_branch(line: &str) -> bool {
    let rest = line.trim_start_matches([' ', '|', '\t']);
    let after = rest.strip_prefix("+-").or_else(|| rest.strip_prefix("\\-"));
    after.is_some_and(|after| {
        root_bus(after).is_some()
            || place(after).is_some()
                && after.get(LENGTH..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '-']))
    })
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

/// Why a line of a drawing without its beginning is not used.
const NO_BUS: &str = "the line of the drawing with its bus is missing";

#[derive(Debug, Clone, Copy)]
struct Branch {
    column: usize,
    on: On,
    /// The last device and function on it, as lspci orders them.
    last: Option<u8>,
}

/// What the children of a branch are on.
#[derive(Debug, Clone, Copy)]
enum On {
    /// They are root buses.
    Roots,
    Bus(Bus),
    /// A bus that stood in a line that the text lacks.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Bus {
    domain: u32,
    number: u8,
    bridge: Option<PciAddress>,
}

/// Reads drawings. One that shows several devices otherwise than the lines before it, as another machine's, is not used; of one
/// that shows a single one so, that line is not.
pub(super) fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut all = Found::default();
    let single = without_doubled(lines);
    let mut rest = &*single;
    while !rest.is_empty() {
        let (drawing, behind) = rest.split_at(length(rest));
        rest = behind;
        if facts.is_another_machine("drawing", drawing, |lines, alone| _ = read_one(lines, None, alone)) {
            continue;
        }
        let left_out = other_line(drawing, facts);
        let found = read_one(drawing, left_out, facts);
        all.functions += found.functions;
        all.names |= found.names;
        all.ids |= found.ids;
    }
    let command = match (all.names, all.ids) {
        (true, true) => "lspci -tvnn",
        (true, false) => "lspci -tv",
        _ => "lspci -t",
    };
    (all.functions > 0).then_some(command.into())
}

/// Without lines that a page shows twice: no two lines of a drawing are the same.
fn without_doubled<'a, 'b>(lines: &'a [Line<'b>]) -> Cow<'a, [Line<'b>]> {
    let is_same = |line: &Line, before: &Line| {
        line.text == before.text && (is_first(&line.text) || is_branch(&line.text))
    };
    if !lines.windows(2).any(|pair| is_same(&pair[1], &pair[0])) {
        return Cow::Borrowed(lines);
    }
    let mut single = lines.to_vec();
    single.dedup_by(|line, before| is_same(line, before));
    Cow::Owned(single)
}

/// What drawings have.
#[derive(Debug, Default)]
struct Found {
    functions: usize,
    names: bool,
    ids: bool,
}

/// The line of a drawing with another device than the lines before it, which is named.
fn other_line(lines: &[Line], facts: &mut Facts) -> Option<usize> {
    if facts.functions.is_empty() {
        return None;
    }
    let mut alone = Facts::default();
    read_one(lines, None, &mut alone);
    let Others { first, lines, .. } = facts.others(&alone)?;
    let line = lines.first().copied()?;
    facts.contradiction(format!(
        "Line {line} of a drawing has another device at {first} than the lines before it: it is not used."
    ));
    facts.notes.unused(line, "another device than the lines before the drawing have");
    Some(line)
}

/// Reads a drawing; of the line `left_out` only its branches.
fn read_one(lines: &[Line], left_out: Option<usize>, facts: &mut Facts) -> Found {
    let mut aside = Facts::default();
    let mut is_aside = false;
    let mut drawing = Drawing {
        facts,
        domain: domain_of(lines),
        is_cut: lines.first().is_some_and(|line| !is_first(&line.text)),
        is_stripped: false,
        last: None,
        width: 0,
        branches: Vec::new(),
        moved: None,
        is_whole: false,
        found: Found::default(),
    };
    for (at, line) in lines.iter().enumerate() {
        if line.text.trim().is_empty() {
            continue;
        }
        let is_wrapped = at > 0 && !continues(&line.text) && !is_first(&line.text);
        is_aside = left_out == Some(line.number) || is_aside && is_wrapped;
        if is_aside {
            std::mem::swap(drawing.facts, &mut aside);
        }
        drawing.next(lines, at, is_wrapped);
        if is_aside {
            std::mem::swap(drawing.facts, &mut aside);
        }
    }
    drawing.found
}

/// The domain of a drawing without its beginning: that of its first root bus, else 0000, which `lspci -t` need not print.
fn domain_of(lines: &[Line]) -> u32 {
    let root = |line: &Line| line.text.match_indices('[').find_map(|(at, _)| root_bus(&line.text[at..]));
    lines.iter().find_map(root).map_or(0, |((domain, _), _)| domain)
}

/// Whether a drawing lost its indentation, or blanks between its branches: a line begins at the column of the first branch
/// behind that one's end, or has two branches closer together than a bus in brackets is wide.
fn is_stripped(lines: &[Line]) -> bool {
    const BRACKETS: usize = "[00]".len();
    let mut rest = lines.iter().skip(1).map(|line| &*line.text).take_while(|line| !is_first(line));
    let mut ended: Option<usize> = None;
    rest.any(|text| {
        let Some((start, marks)) = marks(text) else { return false };
        let column = text.len() - text.trim_start().len();
        let is_close =
            marks > 1 && text[column..start].split('|').skip(1).any(|between| between.len() < BRACKETS);
        let is_behind = ended.is_some_and(|end| column <= end);
        if marks == 1 && text[start..].starts_with('\\') {
            ended = Some(ended.unwrap_or(column));
        }
        is_close || is_behind
    })
}

/// The column of a line's branch, and the number of branches with a mark up to it; `None` for a line without a branch.
fn marks(text: &str) -> Option<(usize, usize)> {
    let start = text.len() - text.trim_start_matches([' ', '|', '\t']).len();
    is_branch(text).then(|| (start, text[..start].matches('|').count() + 1))
}

struct Drawing<'a> {
    facts: &'a mut Facts,
    /// The domain of the root bus above, else of the first in the drawing.
    domain: u32,
    /// The line with the bus of the open branches is missing.
    is_cut: bool,
    /// The columns of the drawing are lost.
    is_stripped: bool,
    /// The function of the line before, its text and its line.
    last: Option<(PciAddress, String, usize)>,
    /// Bytes of the line before.
    width: usize,
    /// Branches that are open, from left to right.
    branches: Vec<Branch>,
    /// Columns by which lines are moved against the first.
    moved: Option<isize>,
    /// Addresses are whole, as winlspci draws them.
    is_whole: bool,
    found: Found,
}

impl Drawing<'_> {
    fn next(&mut self, lines: &[Line], at: usize, is_wrapped: bool) {
        let line = &lines[at];
        if is_wrapped && self.rest_of_name(line) {
            return;
        }
        // Without its first columns it begins with a branch.
        let is_first = is_first(&line.text) || at == 0 && root_branch(&line.text).is_some();
        if is_first {
            self.is_stripped = is_stripped(&lines[at..]);
            if self.is_stripped {
                self.facts.lacks.push(format!(
                    "The drawing in line {} lost its indentation: the order of its branches shows the tree.",
                    line.number
                ));
            }
        }
        if let Err(wrong) = self.line(line, is_first) {
            self.facts.notes.unused_text(line, wrong);
        }
        self.width = line.text.len();
    }

    /// Joins a line to the name in the line before, if that was as long as a mail's. A name may be wrapped twice.
    fn rest_of_name(&mut self, line: &Line) -> bool {
        const NARROW: usize = 60;
        const MOST: usize = 400;
        let words = line.text.trim();
        let first = words.split(' ').next().map_or(0, str::len);
        let is_name = !is_prompt(words)
            && !begins_line(words)
            && !is_snip(words)
            && !words.ends_with([':', '.', '?', '!']);
        let Some((address, text, number)) = self.last.take() else { return false };
        if !is_name || self.width + first < NARROW || text.len() + words.len() > MOST {
            return false;
        }
        let text = names::joined(&text, words, |text| Name::parse(text).device);
        if let Some(function) = self.facts.functions.get_mut(&address) {
            // A list may state some of them.
            function.name.take_if(|name| name.line == number);
            function.device.take_if(|device| device.line == number);
            function.vendor.take_if(|vendor| vendor.line == number);
            function.class.take_if(|class| class.line == number);
        }
        self.name(address, &text, number);
        self.last = Some((address, text, number));
        self.width = line.text.len();
        true
    }

    fn line(&mut self, line: &Line, is_first: bool) -> Result<(), &'static str> {
        let whole = &*line.text;
        let is_whole = whole.starts_with([' ', '|', '+', '\\', '-', '\t']);
        let text = if is_whole { whole } else { behind_name(whole).unwrap_or(whole) };
        let start = text.len() - text.trim_start_matches([' ', '|', '\t']).len();
        let rest = &text[start..];
        self.last = None;
        if is_first {
            self.branches.clear();
            (self.moved, self.is_cut) = (None, false);
            // A drawing with one root bus has no branch before it, and none goes on behind the last.
            let bracket = rest.find('[').unwrap_or_default();
            if let Some(mark) = rest[..bracket].find('+') {
                self.branches.push(Branch { column: start + mark, on: On::Roots, last: None });
            }
            return self.root(&rest[bracket..], start + bracket, line.number);
        }
        if rest.is_empty() {
            return Ok(());
        }
        let after =
            rest.strip_prefix("+-").or_else(|| rest.strip_prefix("\\-")).ok_or("no branch of a drawing")?;
        if self.is_stripped {
            let is_last = rest.starts_with('\\');
            return self.in_stripped(after, (text[..start].matches('|').count(), is_last), line.number);
        }
        let leftmost = text.len() - text.trim_start().len();
        if self.is_cut {
            return self.in_cut(after, start, line.number);
        }
        let first = self.branches.first().ok_or("no line of this drawing has a branch")?.column;
        // winlspci draws a last branch below the first line's device; lspci's first branch always goes on.
        let is_deeper = self.is_whole && self.branches.iter().any(|branch| branch.column == leftmost);
        // Of an excerpt, the lines of the first branch may be left out.
        let is_in_place = || {
            let is_branch = |column: usize| self.branches.iter().any(|branch| branch.column == column);
            is_branch(start) && text[..start].match_indices('|').all(|(at, _)| is_branch(at))
        };
        let moved = *self.moved.get_or_insert(if is_deeper || is_in_place() {
            0
        } else {
            leftmost.cast_signed() - first.cast_signed()
        });
        let column = start.checked_add_signed(-moved).ok_or("its column fits no branch above")?;
        let fits = |branch: &&Branch| branch.column == column;
        // A line at a wrong column, as a wrapped one, ends no branch.
        let branch = *self.branches.iter().find(fits).ok_or("its column fits no branch above")?;
        self.branches.retain(|branch| branch.column <= column);
        self.on(branch.on, after, column + 2, line.number)
    }

    fn on(&mut self, on: On, after: &str, column: usize, line: usize) -> Result<(), &'static str> {
        match on {
            On::Roots => self.root(after, column, line),
            On::Bus(bus) => self.function(after, column, bus, line),
            On::Unknown => Err(NO_BUS),
        }
    }

    /// A line without its column, behind marks of that many branches: a root bus is on the first one. Where lines are missing,
    /// the number of branches or the order of devices is wrong: the bus is then unknown.
    fn in_stripped(
        &mut self,
        after: &str,
        (marks, is_last): (usize, bool),
        line: usize,
    ) -> Result<(), &'static str> {
        if root_bus(after).is_some() {
            self.branches.clear();
            self.branches.push(Branch { column: 0, on: On::Roots, last: None });
            self.is_cut = false;
        }
        let place = place(after);
        let last = self.branches.last().and_then(|branch| branch.last);
        self.is_cut |= marks + 1 != self.branches.len() || place.is_some_and(|place| Some(place) <= last);
        let Some(branch) = self.branches.last_mut().filter(|_| !self.is_cut) else {
            self.branches.clear();
            return self.in_cut(after, 0, line);
        };
        branch.last = place;
        let on = branch.on;
        self.branches.truncate(marks + usize::from(!is_last));
        self.on(on, after, 0, line)
    }

    /// A line of a drawing without its beginning: a branch that no line above shows is on an unknown bus.
    fn in_cut(&mut self, after: &str, column: usize, line: usize) -> Result<(), &'static str> {
        self.branches.retain(|branch| branch.column <= column);
        if self.branches.last().is_none_or(|branch| branch.column != column) {
            self.branches.push(Branch { column, on: On::Unknown, last: None });
        }
        match self.branches.last().map(|branch| branch.on) {
            Some(On::Bus(bus)) => self.function(after, column + 2, bus, line),
            _ if root_bus(after).is_some() => self.root(after, column + 2, line),
            _ => {
                // `03.1-[61]--+-00.0`: the bridge's own bus is unknown, the one behind it is not.
                let bracket = after.get(LENGTH..).and_then(|rest| rest.strip_prefix('-'));
                let ((number, _), length) = bracket.and_then(buses).ok_or(NO_BUS)?;
                let rest = &bracket.unwrap_or_default()[length..];
                let bus = Bus { domain: self.domain, number, bridge: None };
                self.below(rest, column + 2 + LENGTH + 1 + length, bus, line)
            }
        }
    }

    /// `[0000:60]-+-00.0` or `[0000:60]---00.0`.
    fn root(&mut self, text: &str, column: usize, line: usize) -> Result<(), &'static str> {
        let ((domain, number), length) = root_bus(text).ok_or("no root bus in brackets")?;
        self.domain = domain;
        self.facts.roots.entry((domain, number)).or_insert(line);
        self.below(&text[length..], column + length, Bus { domain, number, bridge: None }, line)
    }

    /// What follows a bus in brackets: `-+-` and more branches, dashes and one function, or nothing.
    fn below(&mut self, text: &str, column: usize, bus: Bus, line: usize) -> Result<(), &'static str> {
        let dashes = text.len() - text.trim_start_matches('-').len();
        let (rest, column) = (&text[dashes..], column + dashes);
        if let Some(after) = rest.strip_prefix("+-").or_else(|| rest.strip_prefix("\\-")) {
            self.branches.push(Branch { column, on: On::Bus(bus), last: place(after) });
            self.function(after, column + 2, bus, line)
        } else if rest.trim().is_empty() {
            Ok(())
        } else {
            self.function(rest, column, bus, line)
        }
    }

    /// `03.1-[61]----00.0  Name` or `00.2  Name`.
    fn function(&mut self, text: &str, column: usize, bus: Bus, line: usize) -> Result<(), &'static str> {
        // pciutils draws several buses behind one bridge as it draws root buses: SR-IOV has them.
        if let Some(((domain, number), length)) = root_bus(text).filter(|_| bus.bridge.is_some()) {
            let bus = Bus { domain, number, ..bus };
            return self.below(&text[length..], column + length, bus, line);
        }
        if let Some((address, length)) = whole_address(text, bus.domain) {
            return self.whole(address, &text[length..], column + length, bus.bridge, line);
        }
        let place = text.get(..LENGTH).ok_or("no device behind its branch")?;
        let address = format!("{:04x}:{:02x}:{place}", bus.domain, bus.number).parse::<PciAddress>();
        let address = address.map_err(|_| "no device behind its branch")?;
        self.found.functions += 1;
        let function = self.facts.function(address, line);
        function.parent = function.parent.or(bus.bridge);
        let rest = &text[LENGTH..];
        if let Some(bracket) = rest.strip_prefix('-')
            && let Some(((secondary, subordinate), length)) = buses(bracket)
        {
            learn(&mut function.buses, (secondary, subordinate), line);
            learn(&mut function.class, PCI_BRIDGE, line);
            let below = Bus { number: secondary, bridge: Some(address), ..bus };
            return self.below(&bracket[length..], column + LENGTH + 1 + length, below, line);
        }
        self.name(address, rest, line);
        self.last = Some((address, rest.to_owned(), line));
        Ok(())
    }

    /// Takes what stands behind a function without a bus below it.
    fn name(&mut self, address: PciAddress, text: &str, line: usize) {
        let function = self.facts.function(address, line);
        // A bridge without bus numbers.
        if text.starts_with('-') && text.trim_matches(['-', ' ']).is_empty() {
            learn(&mut function.class, PCI_BRIDGE, line);
        } else if !text.trim().is_empty() {
            let name = Name::parse(text);
            self.found.names = true;
            let bracket = text.trim_end().strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
            self.found.ids |= bracket.is_some_and(|(_, ids)| names::pair(ids).is_some());
            names::learn(function, &name, line);
            let words = names::listed(&name).map_or_else(|| name.text.clone(), |listed| listed.to_string());
            if let Some(class) = names::class_by_words(&words, name.vendor)
                .or_else(|| names::class_by_words(&name.text, name.vendor))
            {
                learn(&mut function.class, class, line);
            }
        }
    }

    /// `00:06.0-[01]  Name  [root port]  (8GT/s x4)`: the functions below are drawn at the end of its buses.
    fn whole(
        &mut self,
        address: PciAddress,
        text: &str,
        column: usize,
        bridge: Option<PciAddress>,
        line: usize,
    ) -> Result<(), &'static str> {
        self.found.functions += 1;
        self.is_whole = true;
        let function = self.facts.function(address, line);
        function.parent = function.parent.or(bridge);
        let below = text.strip_prefix('-').and_then(|bracket| Some((bracket, buses(bracket)?)));
        let (rest, end) = match below {
            Some((bracket, (range, length))) => {
                learn(&mut function.buses, range, line);
                learn(&mut function.class, PCI_BRIDGE, line);
                (&bracket[length..], column + 1 + length)
            }
            None => (text, column),
        };
        let name = state(function, rest, line);
        self.name(address, name, line);
        if let Some(bridge) = bridge {
            learn(&mut self.facts.function(bridge, line).class, PCI_BRIDGE, line);
        }
        let Some(column) = end.checked_sub(2) else { return Err("its column fits no branch above") };
        let bus = Bus { domain: address.domain, number: address.bus, bridge: Some(address) };
        self.branches.push(Branch { column, on: On::Bus(bus), last: None });
        Ok(())
    }
}

/// Takes type and link from the end of a line of winlspci: the text before them.
fn state<'a>(function: &mut Function, text: &'a str, line: usize) -> &'a str {
    let text = text.trim_end();
    let link = text.strip_suffix(')').and_then(|text| text.rsplit_once("  ("));
    let (text, link) = match link.and_then(|(text, link)| Some((text, words::link_state(link)?))) {
        Some((text, link)) => (text.trim_end(), Some(link)),
        None => (text, None),
    };
    let tag = text.strip_suffix(']').and_then(|text| text.rsplit_once("  ["));
    let port = |tag: &str| {
        const TAGS: [(&str, u8); 3] = [("root port", 4), ("upstream port", 5), ("downstream port", 6)];
        TAGS.iter().find(|(known, _)| *known == tag).map(|(_, code)| *code)
    };
    let (text, port) = match tag.and_then(|(text, tag)| Some((text, port(tag)?))) {
        Some((text, port)) => (text, Some(port)),
        None => (text, None),
    };
    if port.is_some() {
        learn(&mut function.class, PCI_BRIDGE, line);
    }
    if link.is_some() || port.is_some() {
        let express = function.express.get_or_insert_with(|| words::without_capability(line));
        express.port_type = express.port_type.or(port);
        if let Some(link) = link {
            learn(&mut express.link_status, link, line);
        }
    }
    text
}
