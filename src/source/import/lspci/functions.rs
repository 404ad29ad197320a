//! `lspci`, plain or with `-v`, `-vv`, `-vvv`, `-n`, `-nn`, `-D`, `-k`, `-x`, `-xxx`, `-xxxx`: functions one after another.

use std::{borrow::Cow, collections::VecDeque};

use super::{
    super::{
        facts::{ExpressWords, Facts, Function, Known, Line, NVME_CONTROLLER, PCI_BRIDGE, learn},
        prompt::{is_command, is_prompt},
    },
    again,
    body::{continues, hex, is_bits, old_register, word},
    decorated,
    gaps::Gaps,
    groups::{self, Front},
    header::{begins_line, head, header, header_below, is_first, lacks_ids, path},
    machine,
    names::{self, First, learn_number},
    options::Seen,
    register::Register,
    selection::{alone, is_loop, is_of_nvme, looped, selected},
    words,
};
use crate::{machine::pasted::Downgraded, model::PciAddress, source::root::quoted, text::Label};

/// Bytes of one register's words, with the lines that a mail program wrapped.
const MOST_OF_REGISTER: usize = 600;

/// Length of a first line that may have been wrapped.
const WRAPPED: usize = 45;

/// Bytes of configuration space.
const MOST_CONFIG: usize = 4096;

/// Whether a listing without first lines begins: a command that selects a function, an address alone, or a loop over addresses,
/// and a line of a body; or the heading of a group, and a function.
pub(super) fn is_selection(line: &str, next: Option<&str>) -> bool {
    let is_body = |next: &str| word(next.trim_start()).is_some() && header(next).is_none();
    next.is_some_and(|next| {
        groups::heading(line).is_some() && is_first(next)
            || is_body(next)
                && (selected(line).is_some() || alone(line).is_some() || !looped(line).is_empty())
            || alone(next).is_some() && is_loop(line)
    })
}

/// Whether a patch takes a line of a body away or adds it.
fn is_changed(line: &str) -> bool {
    line.strip_prefix(['-', '+'])
        .is_some_and(|rest| rest.starts_with([' ', '\t']) && word(rest.trim_start()).is_some())
}

/// Whether a line begins with a path of bridges, as `-P` prints it.
fn is_below_bridge(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|place| place.contains('/'))
}

/// Reads a listing.
pub(super) fn read<'a>(lines: &'a [Line<'a>], facts: &'a mut Facts) -> Option<Cow<'static, str>> {
    let mut list = List {
        facts,
        current: None,
        again: None,
        wrapped: None,
        register: None,
        selected: None,
        of_nvme: false,
        looped: VecDeque::new(),
        first_word: None,
        group: None,
        lacks_group: false,
        after_empty: false,
        cut: Vec::new(),
        plain: 0,
        is_orphan: false,
        gaps: Gaps::of(lines),
        seen: Seen::default(),
    };
    let mut is_used = false;
    for part in parts(lines) {
        let is_several = part.iter().filter(|line| is_first(&line.text)).take(2).count() > 1;
        let read = |lines: &[Line], alone: &mut Facts| _ = read(lines, alone);
        if is_several && list.facts.is_another_machine("list", part, read) {
            list.leave();
            continue;
        }
        for line in part {
            if list.facts.is_too_many() {
                break;
            }
            list.line(line);
        }
        list.without_cut_names(part);
        is_used |= !part.is_empty();
    }
    list.leave();
    is_used.then(|| list.seen.command())
}

/// The lists among these lines: lspci sorts by address, so one that is not above the last begins another.
fn parts<'a>(lines: &'a [Line<'a>]) -> Vec<&'a [Line<'a>]> {
    let (mut parts, mut start, mut last) = (Vec::new(), 0, None);
    for (at, line) in lines.iter().enumerate() {
        let address = header(&line.text).map(|(address, _)| address);
        if is_prompt(&line.text) || address.is_some_and(|address| Some(address) <= last) {
            parts.push(&lines[start..at]);
            (start, last) = (at, None);
        }
        last = address.or(last);
    }
    parts.push(&lines[start..]);
    parts
}

struct List<'a> {
    facts: &'a mut Facts,
    /// The function whose body is read; `None` for one that is another device.
    current: Option<PciAddress>,
    /// The body of a function that is listed again, which is compared with the first.
    again: Option<Box<Function>>,
    /// A first line that a mail program may have wrapped, its number, and whether a line was joined to it.
    wrapped: Option<(PciAddress, String, usize, bool)>,
    /// The register whose words are collected.
    register: Option<Register>,
    /// A function that a command names, until a line of its body shows it.
    selected: Option<PciAddress>,
    /// Whether a loop over NVMe controllers selects the functions.
    of_nvme: bool,
    /// Further addresses of a loop, whose output does not name them.
    looped: VecDeque<PciAddress>,
    /// The word that began the output of the loop's command.
    first_word: Option<&'static str>,
    /// The IOMMU group of further lines, and whether it stands in a heading: then also of lines without indentation.
    group: Option<(u32, bool)>,
    /// Whether the line before was broken where a group follows: `..., IOMMU`.
    lacks_group: bool,
    /// Whether the line before was empty.
    after_empty: bool,
    /// First lines that end before their ids, as a page cut them.
    cut: Vec<(PciAddress, usize)>,
    /// First lines without a body up to this line.
    plain: usize,
    /// Whether lines of a body follow a command or a plain list: they are of no function that the text names.
    is_orphan: bool,
    gaps: Gaps<'a>,
    seen: Seen,
}

impl List<'_> {
    fn line(&mut self, line: &Line) {
        let plain = std::mem::take(&mut self.plain);
        if line.text.trim().is_empty() {
            // A page may part all lines by empty ones: ids still follow.
            self.wrapped.take_if(|(_, rest, _, is_joined)| *is_joined || !lacks_ids(rest));
            (self.after_empty, self.group) = (true, None);
            self.gaps.empty_line();
            if plain > 1 {
                self.leave();
                self.is_orphan = true;
            }
            return;
        }
        let is_apart = std::mem::take(&mut self.after_empty);
        let lacks_group = std::mem::replace(&mut self.lacks_group, groups::is_cut(&line.text));
        if let Some(group) = groups::heading(&line.text).filter(|_| !lacks_group) {
            self.leave();
            self.group = Some((group, true));
            return;
        }
        if is_changed(&line.text) {
            self.finish();
            self.facts.notes.unused_text(line, "a line that a patch changes");
            return;
        }
        if is_loop(&line.text) {
            self.leave();
            (self.of_nvme, self.looped, self.first_word) = (is_of_nvme(&line.text), looped(&line.text), None);
            self.selected = self.looped.pop_front();
            self.is_orphan = self.selected.is_none();
            return;
        }
        if let Some(address) = selected(&line.text).or_else(|| alone(&line.text)) {
            self.leave();
            (self.selected, self.is_orphan) = (Some(address), false);
            return;
        }
        if let Some((address, rest)) = header(&line.text).or_else(|| self.below_bridges(&line.text)) {
            self.finish();
            (self.selected, self.is_orphan, self.plain) = (None, false, plain + 1);
            self.gaps.begin(rest);
            self.first(address, rest, line.number);
            self.front(address, line);
            self.bridges_of_path(line);
            // Programs wrap lines of about 72 characters; the end of a name is a bracket more often than not.
            let is_long = line.text.len() > WRAPPED && !rest.ends_with(')') && self.current.is_some();
            self.wrapped = is_long.then(|| (address, rest.to_owned(), line.number, false));
            return;
        }
        // What follows is not of the function before.
        if decorated::is_unread(&line.text) || begins_line(&line.text) {
            self.leave();
            (self.selected, self.is_orphan) = (None, false);
            let why = if is_below_bridge(&line.text) {
                "a function behind a bridge whose bus no line shows: `lspci -PP` has it"
            } else {
                "a function whose address cannot be read, with its lines"
            };
            self.facts.notes.unused_text(line, why);
            return;
        }
        if let Some((address, rest, number, is_joined)) = self.wrapped.take()
            && names::is_rest(&line.text)
            && !begins_line(&line.text)
            // A third line has the revision or the programming interface alone.
            && (!is_joined || line.text.trim_start().starts_with('('))
            && (!is_apart || head(&format!("{rest} {}", line.text.trim())).has_ids)
        {
            self.seen_again(address, number);
            self.again = None;
            let rest = names::joined(&rest, line.text.trim(), |rest| head(rest).name.device);
            self.first(address, &rest, number);
            self.wrapped = Some((address, rest, number, true));
            return;
        }
        if self.gaps.part(line) && self.current.is_some() {
            self.leave();
            self.is_orphan = true;
        }
        self.body(line);
    }

    /// Takes a line that begins no function.
    fn body(&mut self, line: &Line) {
        if is_command(&line.text) {
            self.leave();
            self.is_orphan = true;
        }
        if self.is_orphan && self.selected.is_none() {
            let why = if continues(&line.text) { "a line of no function" } else { "not a line of lspci" };
            self.facts.notes.unused_text(line, why);
            return;
        }
        if let Some((offset, bytes)) = hex(&line.text) {
            self.finish();
            self.row(offset, &bytes, line);
            return;
        }
        let text = line.text.trim();
        if let Some((word, value)) = word(text) {
            self.finish();
            self.seen.body |= word == "Flags" || word == "Control";
            self.seen.registers |= word == "Control";
            self.seen.drivers |= word.starts_with("Kernel");
            if self.first_word == Some(word) && !self.looped.is_empty() {
                self.selected = self.looped.pop_front();
            }
            if let Some(address) = self.selected.take() {
                let function = self.facts.function(address, line.number);
                if self.of_nvme {
                    learn(&mut function.class, NVME_CONTROLLER, line.number);
                }
                self.current = Some(address);
                self.first_word = Some(word);
            }
            self.fact(word, value, line);
        } else if text.contains("Unknown header type") {
            self.finish();
            if let Some(function) = self.function() {
                function.silent = Some(line.number);
            }
        } else if let Some((word, value)) = old_register(text) {
            self.finish();
            self.register = Some(Register::new(word, value, line.number));
        } else if let Some(register) = &mut self.register
            && register.words.len() < MOST_OF_REGISTER
        {
            register.push(text, line.number);
        } else if !line.text.starts_with([' ', '\t']) && !is_bits(text) {
            self.facts.notes.unused_text(line, "not a line of lspci");
        }
    }

    /// A first line with the bridges above a function and no bus, as `-P` prints it.
    fn below_bridges<'a>(&mut self, line: &'a str) -> Option<(PciAddress, &'a str)> {
        (is_below_bridge(line) && decorated::is_unread(line)).then_some(())?;
        self.finish();
        header_below(line, |bridge| Some(self.facts.functions.get(&bridge)?.buses?.value.0))
    }

    /// Takes what stands before the address of a function: its IOMMU group and its ids.
    fn front(&mut self, address: PciAddress, line: &Line) {
        let Front { group, ids, .. } = groups::front(&line.text);
        let is_indented = line.text.starts_with([' ', '\t']);
        let above = self.group.filter(|(_, is_heading)| *is_heading || is_indented).map(|(group, _)| group);
        self.group = group.map(|group| (group, false)).or(self.group);
        // A line of another device is not used.
        if self.current != Some(address) {
            return;
        }
        let function = self.facts.function(address, line.number);
        if let Some(group) = group.or(above) {
            learn(&mut function.iommu_group, group, line.number);
        }
        if let Some(ids) = ids {
            names::learn(function, &ids, line.number);
        }
    }

    /// Takes the bridges that `-PP` names above a function.
    fn bridges_of_path(&mut self, line: &Line) {
        let place = line.text.split_whitespace().next().filter(|place| place.contains('/'));
        for pair in place.and_then(path).unwrap_or_default().windows(2) {
            learn(&mut self.facts.function(pair[0], line.number).class, PCI_BRIDGE, line.number);
            let below = self.facts.function(pair[1], line.number);
            below.parent = below.parent.or(Some(pair[0]));
        }
    }

    /// Forgets the name of a function whose first line is read again with the next.
    fn seen_again(&mut self, address: PciAddress, line: usize) {
        if let Some(function) = self.facts.functions.get_mut(&address) {
            function.name.take_if(|name| name.line == line);
            function.device.take_if(|device| device.line == line);
            // A vendor id in brackets may stand in the next line; one found by a name may be another's.
            function.vendor.take_if(|vendor| vendor.line == line);
        }
    }

    fn function(&mut self) -> Option<&mut Function> {
        let address = self.current?;
        match &mut self.again {
            Some(again) => Some(again),
            None => self.facts.functions.get_mut(&address),
        }
    }

    /// Ends the function whose body is read.
    fn leave(&mut self) {
        self.finish();
        self.compare();
        self.gaps.end();
        (self.current, self.wrapped) = (None, None);
    }

    /// Completes a function by the body of its second listing, unless that is another device's; names the first value of a link
    /// that it states otherwise.
    fn compare(&mut self) {
        let Some((listed, address)) = self.again.take().zip(self.current) else { return };
        let Some(known) = self.facts.functions.get_mut(&address) else { return };
        if let Some((what, at, line)) = again::other(known, &listed) {
            self.facts.notes.unused(line, &format!("{address} has another {what} in line {at}"));
            self.facts.contradiction(format!(
                "{address} has another {what} in line {line} than in line {at}: line {at} is used."
            ));
            return;
        }
        let links = known.express.as_ref().zip(listed.express.as_ref());
        let other = links.and_then(|(known, listed)| again::other_link(known, listed));
        // Another capability is that of another device or slot.
        let first = listed.line;
        let is_same = other.is_none_or(|(register, ..)| register != "LnkCap");
        if !(is_same && again::complete(known, *listed)) {
            self.facts.notes.unused(first, &format!("{address} again; its first lines are used"));
        }
        if let Some((register, first, second)) = other {
            let (at, line) = (first.line, second.line);
            self.facts.notes.unused(line, &format!("{address} has another {register} in line {at}"));
            self.facts.contradiction(format!(
                "{address} has {register} {} in line {at} and {} in line {line}: line {at} is used.",
                first.value.words(),
                second.value.words()
            ));
        }
    }

    /// Whether the marks of a function that is listed again are those of its first listing; a dump has none.
    fn has_marks(&self, address: PciAddress) -> bool {
        let is_known = |known: &Function| known.express.as_ref().is_some_and(|it| it.link_status.is_some());
        self.again.is_some()
            && (self.facts.functions.get(&address).is_some_and(is_known)
                || self.facts.downgraded.iter().any(|mark| mark.address == address))
    }

    /// A name without its end may be another device's: neither it nor ids by it are used. A list without `-nn` has numbers of
    /// classes without a name.
    fn without_cut_names(&mut self, part: &[Line]) {
        let cut = std::mem::take(&mut self.cut);
        let has_ids = |line: &Line| header(&line.text).is_some_and(|(_, rest)| head(rest).has_ids);
        if cut.is_empty() || !part.iter().any(has_ids) {
            return;
        }
        for (address, line) in cut {
            self.facts.notes.unused(line, "its name is cut: the ids that end it are missing");
            let Some(function) = self.facts.functions.get_mut(&address) else { continue };
            function.name.take_if(|name| name.line == line);
            function.device.take_if(|device| device.line == line);
        }
    }

    fn first(&mut self, address: PciAddress, rest: &str, line: usize) {
        self.compare();
        self.cut.retain(|(_, cut)| *cut != line);
        if lacks_ids(rest) {
            self.cut.push((address, line));
        }
        self.current = None;
        let First { class, name, has_ids, subsystem, interface, driver } =
            machine::quoted_line(rest).unwrap_or_else(|| head(rest));
        let numbers = class.len() == 4 || class.starts_with("Class ");
        let both = class.ends_with(']') && has_ids;
        let (class, class_name) = names::class(&class, interface);
        if self.facts.is_another(address, name.identity(class), line) {
            return;
        }
        let known = self.facts.functions.get(&address);
        // A body is taken once; an earlier plain list or drawing does not stand in its way, nor do lines that `grep` left of it.
        let is_named = |known: &Function| known.name.is_some() || known.vendor.is_some();
        if known.is_some_and(|known| known.has_body && (known.config.is_some() || is_named(known))) {
            let mut again = Box::new(Function { line, ..Function::default() });
            names::learn(&mut again, &name, line);
            (self.current, self.again) = (Some(address), Some(again));
            return;
        }
        self.current = Some(address);
        self.seen.machine |= rest.starts_with('"');
        self.seen.numbers |= numbers;
        self.seen.both |= both;
        let function = self.facts.function(address, line);
        // A list states the class, a drawing's is derived.
        if let Some(class) = class {
            function.class = Some(Known::new(class, line));
        }
        if let Some(name) = class_name {
            function.class_name.get_or_insert(Known::new(name, line));
        }
        function.line = line;
        if let Some(ids) = subsystem {
            learn(&mut function.subsystem, ids, line);
        }
        if let Some(driver) = driver {
            learn(&mut function.driver, driver, line);
            self.seen.drivers = true;
        }
        names::learn(function, &name, line);
    }

    fn row(&mut self, offset: usize, bytes: &[u8], line: &Line) {
        let hex = offset + bytes.len();
        let Some(function) = self.function() else { return };
        function.has_body = true;
        let config = function.config.get_or_insert_with(|| Known::new(Vec::new(), line.number));
        if config.value.len() != offset || hex > MOST_CONFIG {
            self.facts.notes.unused_text(line, "this row does not follow the one before");
            return;
        }
        config.value.extend_from_slice(bytes);
        self.seen.hex = self.seen.hex.max(hex);
    }

    fn fact(&mut self, word: &'static str, value: &str, line: &Line) {
        let number = line.number;
        let Some(function) = self.function() else { return };
        function.has_body |= word != "Subsystem" && !word.starts_with("Kernel");
        // `lspci -v` has "Flags" in its place.
        function.has_registers |= word == "Control";
        match word {
            "Subsystem" => {
                let ids = value
                    .strip_suffix(']')
                    .and_then(|text| text.rsplit_once('['))
                    .map_or(value, |(_, ids)| ids);
                if let Some(ids) = names::pair(ids.strip_prefix("Device ").unwrap_or(ids)) {
                    learn(&mut function.subsystem, ids, number);
                }
            }
            "Physical Slot" => learn(&mut function.slot, Label::new(value), number),
            "DeviceName" | "Device-Name" if !value.is_empty() => {
                learn(&mut function.slot, Label::new(value), number);
            }
            "NUMA node" => learn_number(&mut function.numa_node, value, number),
            "IOMMU group" => learn_number(&mut function.iommu_group, value, number),
            "Kernel driver in use" | "Driver in use" if !value.is_empty() => {
                learn(&mut function.driver, names::driver(value), number);
            }
            // Programs that print lspci's form on Windows.
            "Driver" if !value.starts_with('<') => {
                let name = value.split(' ').next().unwrap_or(value);
                learn(&mut function.driver, names::driver(name), number);
            }
            "Type" => {
                if let Some(port_type) = words::port_type(value.strip_prefix("PCIe ").unwrap_or_default()) {
                    let express = function.express.get_or_insert_with(|| words::without_capability(number));
                    express.port_type = express.port_type.or(Some(port_type));
                }
            }
            "Capabilities" if value.starts_with('<') => function.denied = function.denied.or(Some(number)),
            "Capabilities" => {
                function.has_capabilities = true;
                let express = words::capability(value, number);
                if let (Some(express), None | Some(ExpressWords { at: 0, .. })) = (express, &function.express)
                {
                    function.express = Some(express);
                }
                // Wrapped words of a capability belong to no register.
                self.register = None;
            }
            _ => self.register = Some(Register::new(word, value, number)),
        }
    }

    /// Takes the collected words of a register.
    fn finish(&mut self) {
        let Some(register) = self.register.take() else { return };
        let (name, words, line) = (register.name, register.words.as_str(), register.line());
        let Some(address) = self.current else { return };
        let is_of_log = name == "Bus" && self.again.is_none() && self.facts.of_log.remove(&address);
        let Some(function) = self.function() else { return };
        if name == "Bus" {
            let bus = |word: &str| {
                let digits = words.split_once(word)?.1.get(..2)?;
                u8::from_str_radix(digits, 16).ok()
            };
            match bus("secondary=").zip(bus("subordinate=")) {
                Some(buses) => {
                    // The registers are newer than the kernel's lines.
                    function.buses.take_if(|_| is_of_log);
                    learn(&mut function.buses, buses, line);
                    // `grep Lnk` leaves the first line out: bridges alone have this line.
                    learn(&mut function.class, PCI_BRIDGE, line);
                }
                None => self.facts.notes.unused(line, &quoted(words, "no bus numbers")),
            }
            return;
        }
        if name == "Flags" {
            let behind =
                |word: &str| words.split_once(word).map(|(_, rest)| rest.split(',').next().unwrap_or(rest));
            for (slot, word) in
                [(&mut function.numa_node, "NUMA node "), (&mut function.iommu_group, "IOMMU group ")]
            {
                learn_number(slot, behind(word).unwrap_or_default(), register.line_of(word));
            }
            return;
        }
        if name == "SltCap" {
            if let Some(slot) = words::slot(&register.words) {
                learn(&mut function.slot, Label::new(&slot.to_string()), register.line_of("Slot #"));
            }
            return;
        }
        // Texts are often cut to some registers: `lspci -vv | grep -E '^[0-9]|Lnk'`.
        let has = |word: &str| words.contains(word);
        let is_register = match name {
            "LnkCap" | "LnkSta" => has("Width x") || has("GT/s x"),
            "DevCap" | "DevCtl" => has("MaxPayload ") || has("RlxdOrd"),
            "LnkCtl2" => has("Target Link Speed"),
            _ => false,
        };
        if function.express.is_none() && !is_register {
            return;
        }
        let express = function.express.get_or_insert_with(|| words::without_capability(line));
        let (speed, width) = words::register(express, &register);
        self.seen.registers |= ["LnkCap", "LnkSta", "DevCap"].contains(&name);
        if (speed || width) && !self.has_marks(address) {
            self.facts.downgraded.push(Downgraded { address, line, speed, width });
        }
    }
}
