//! Lines of `dmesg` about functions and buses as the kernel finds them, about links (`pcie_print_link_status`), functions of NVMe
//! controllers, and their timeouts and resets.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    aer,
    drives::{is_controller, is_of_controller},
    facts::{self, Facts, Function, Known, LimitedBy, Line, LinkWords, Message, PCI_BRIDGE, learn},
    identity::Identity,
    lspci::{self, Name},
    prompt::is_prompt,
    sections::Kind,
};
use crate::{
    machine::DriverMessage, model::PciAddress, source::nvme::messages, text::Label, units::TransferRate,
};

pub(super) const KIND: Kind =
    Kind { begins: |line, _| is_line(line), continues: is_line, tolerates: 20, read };

fn is_line(line: &str) -> bool {
    line.contains("available PCIe bandwidth")
        || found(line).is_some()
        || bridge(line).is_some()
        || last_bus(line).is_some()
        || host_bridge(line).is_some()
        || line.contains(": pci function ")
        || aer::is_line(line)
        || messages::message(line).is_some()
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let read = |lines: &[Line], alone: &mut Facts| _ = read_all(lines, alone);
    let is_used = !facts.is_another_machine("kernel log", lines, read) && read_all(lines, facts);
    is_used.then(|| "dmesg".into())
}

/// Whether any line was used.
fn read_all(lines: &[Line], facts: &mut Facts) -> bool {
    let mut any = false;
    for line in lines.iter().filter(|line| !line.text.is_empty()) {
        if facts.is_too_many() {
            break;
        }
        if aer::is_line(&line.text) {
            any |= aer::read(facts, line);
            continue;
        }
        let used = if line.text.contains(": pci function ") {
            controller(facts, &words(&line.text), line.number)
        } else if let Some(device) = found(&line.text) {
            let (vendor, id) = (device.vendor, device.device);
            let name = Name::of_ids("", vendor, id);
            let stated = Identity { class: Some(device.class >> 16), ..name.identity(None) };
            if !facts.is_another(device.address, stated, line.number) {
                let function = facts.function(device.address, line.number);
                lspci::learn(function, &name, line.number);
                // That of a drawing is derived from a name.
                function.class.take_if(|_| function.class_name.is_none());
                learn(&mut function.class, device.class, line.number);
            }
            Some(())
        } else if let Some((address, buses)) = bridge(&line.text) {
            renumber(facts, address, buses, line.number);
            Some(())
        } else if let Some((bus, last)) = last_bus(&line.text) {
            facts.last_buses.insert(bus, Known::new(last, line.number));
            Some(())
        } else if let Some((root, above)) = host_bridge(&line.text) {
            facts.roots.entry(root).or_insert(line.number);
            if let Some(vmd) = above {
                let function = facts.function(vmd, line.number);
                learn(&mut function.driver, Label::new(VMD), line.number);
                facts.behind.entry(root.0).or_insert(vmd);
            }
            Some(())
        } else if let Some(message) = messages::message(&line.text) {
            if facts.messages.len() == DriverMessage::MOST {
                facts.messages.pop_front();
            }
            let (controller, words) = (message.controller.to_string(), message.words());
            let text = messages::line(&message);
            facts.messages.push_back(Message { controller, words, text, line: line.number });
            Some(())
        } else {
            link(facts, &words(&line.text), line.number)
        };
        match used {
            Some(()) => any = true,
            None => facts.notes.unused_text(line, "a kernel message of another form"),
        }
    }
    any
}

/// Lines into which a mail program broke one of the kernel's.
const MOST_PARTS: usize = 4;

/// Joins lines of the kernel that a mail program wrapped: those that are none of these forms without the next ones.
pub(super) fn rejoin(lines: &mut Vec<Line>) {
    let mut at = 0;
    // In one pass at the end: a log may have as many wrapped lines as there are lines.
    let mut is_part = vec![false; lines.len()];
    while at < lines.len() {
        let mut next = at + 1;
        if let Some((text, count)) = rejoined(&lines[at..]) {
            lines[at].text = Cow::Owned(text);
            next = at + count;
            is_part[at + 1..next].fill(true);
        }
        at = next;
    }
    let mut is_part = is_part.into_iter();
    lines.retain(|_| is_part.next() != Some(true));
}

/// The line that the first of these and the next ones are, and the number of them.
fn rejoined(lines: &[Line]) -> Option<(String, usize)> {
    let first = lines.first()?.text.trim_end();
    if !begins_message(first) || is_whole(first) {
        return None;
    }
    let is_rest = |line: &&Line| {
        let text = line.text.trim();
        !text.is_empty() && !is_stamped(text) && !begins_message(text) && !is_prompt(text)
    };
    let rests = lines[1..].iter().take(MOST_PARTS - 1).take_while(is_rest);
    let mut text = first.to_owned();
    for (at, rest) in rests.enumerate() {
        text.push(' ');
        text.push_str(rest.text.trim());
        if is_whole(&text) {
            return Some((text, at + 2));
        }
    }
    None
}

/// Whether a line names a function or a bus of which the kernel says something: `pci 0000:01:00.0: `, `pci_bus 0000:01: `.
fn begins_message(line: &str) -> bool {
    let mut words = line.split_whitespace();
    line.contains("pci_bus ")
        || words.any(|word| word.strip_suffix(':').is_some_and(|word| word.parse::<PciAddress>().is_ok()))
}

/// `[   17.045699] `.
pub(super) fn is_stamped(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|line| line.split_once(']')).map_or("", |(time, _)| time);
    !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit() || b" .".contains(&byte))
}

/// Whether a line is a whole one of these forms.
fn is_whole(line: &str) -> bool {
    let is_link = line.contains("available PCIe bandwidth") && line.trim_end().ends_with(')');
    is_link
        || found(line).is_some()
        || bridge(line).is_some()
        || last_bus(line).is_some()
        || host_bridge(line).is_some()
}

/// Words without brackets and commas around them.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().map(|word| word.trim_matches(['(', ')', ','])).collect()
}

/// `nvme nvme0: pci function 0000:01:00.0`.
fn controller(facts: &mut Facts, words: &[&str], line: usize) -> Option<()> {
    let at = words.iter().position(|word| *word == "function")?;
    let address: PciAddress = words.get(at + 1)?.parse().ok()?;
    let name = words.get(at.checked_sub(2)?)?.trim_end_matches(':');
    if !is_controller(name) {
        return None;
    }
    facts.function(address, line);
    facts.controllers.entry(name.to_owned()).or_insert((address, line));
    Some(())
}

/// `nvme 0000:01:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at 0000:00:1d.0 (capable of 31.504
/// Gb/s with 8.0 GT/s PCIe x4 link)`: what the device is capable of, and the state of the link that limits it.
fn link(facts: &mut Facts, words: &[&str], line: usize) -> Option<()> {
    let device: PciAddress = words.iter().find_map(|word| word.trim_end_matches(':').parse().ok())?;
    let behind = |word: &str| words.iter().position(|it| *it == word).map(|at| &words[at + 1..]);
    // A device whose link is not limited has no second part.
    let limited = behind("by")
        .and_then(|rest| Some((link_words(rest)?, behind("at")?.first()?.parse::<PciAddress>().ok()?)));
    let capable = behind("with").and_then(link_words);
    let whole = behind("bandwidth").and_then(link_words);
    let own = capable.or(whole)?;
    if let Some((state, port)) = limited {
        learn(&mut facts.express(port, line).link_status, state, line);
        if port != device && facts.limits.len() < Facts::MOST_LIMITS {
            facts.limits.push(LimitedBy { device, port, state, line });
        } else if port != device {
            facts.cut_limits += 1;
        }
    } else if capable.is_none() {
        // The kernel prints both parts where any link is slower than the device.
        learn(&mut facts.express(device, line).link_status, own, line);
    }
    learn(&mut facts.express(device, line).link_capabilities, own, line);
    Some(())
}

/// Gives a limited link's state to its lower end: the kernel names the port above it. The functions below a port whose bus
/// numbers lead elsewhere are not at this link.
pub(super) fn join(facts: &mut Facts) {
    narrow(facts);
    let behind_bridges: BTreeSet<(u32, u8)> = facts
        .functions
        .iter()
        .filter_map(|(address, function)| Some((address.domain, function.buses?.value.0)))
        .collect();
    let limits = std::mem::take(&mut facts.limits);
    let mut below: BTreeMap<PciAddress, BTreeSet<u8>> = BTreeMap::new();
    for limit in &limits {
        below.entry(limit.port).or_default().insert(limit.device.bus);
    }
    for limit in limits {
        let LimitedBy { device, port, state, line } = limit;
        if port.domain != device.domain || port.bus >= device.bus {
            continue;
        }
        let above = facts.function(port, line);
        learn(&mut above.class, PCI_BRIDGE, line);
        // One bus is at the link, others are below bridges that the text may lack.
        let is_alone = below.get(&port).is_none_or(|buses| buses.len() == 1);
        let is_direct = above.buses.map_or(is_alone, |buses| buses.value.0 == device.bus);
        if !is_direct {
            facts.below_gaps.insert((device.domain, device.bus));
        }
        if !behind_bridges.contains(&(device.domain, device.bus)) {
            let below = facts.function(device, line);
            below.parent = below.parent.or(Some(port));
        }
        let lower = if is_direct { Some(device) } else { first_behind(facts, port) };
        if let Some(lower) = lower {
            learn(&mut facts.express(lower, line).link_status, state, line);
        }
    }
}

/// The first function of the device at the lower end of a port's link.
fn first_behind(facts: &Facts, port: PciAddress) -> Option<PciAddress> {
    let (bus, _) = facts.functions.get(&port)?.buses?.value;
    let first = PciAddress { bus, device: 0, function: 0, ..port };
    facts.functions.contains_key(&first).then_some(first)
}

/// Gives messages about a controller, and its interrupts, their drive, where no listing has it: the one function without a drive, or a drive by the
/// controller's name. Where several functions have no drive, it is not known which one is the controller.
pub(super) fn name_drives(facts: &mut Facts) {
    let is_known = |controller: &str| {
        facts.controllers.contains_key(controller)
            || facts.drives.keys().any(|drive| is_of_controller(facts, drive, controller))
    };
    let lone: BTreeMap<String, usize> = facts
        .messages
        .iter()
        .filter(|message| !is_known(&message.controller))
        .map(|message| (message.controller.clone(), message.line))
        .chain(
            facts.queues.iter().filter(|(name, _)| !is_known(name)).map(|(name, line)| (name.clone(), *line)),
        )
        .collect();
    let of_drives = facts.drives.values().filter_map(|drive| drive.address);
    let taken: BTreeSet<PciAddress> =
        of_drives.chain(facts.controllers.values().map(|(address, _)| *address)).collect();
    let is_free =
        |(address, function): &(&PciAddress, &Function)| function.is_nvme() && !taken.contains(*address);
    let mut free = facts.functions.iter().filter(is_free).map(|(address, _)| *address);
    match (free.next(), free.next()) {
        (None, _) => lone.into_iter().for_each(|(controller, line)| _ = facts.drive(&controller, line)),
        (Some(only), None) if lone.len() == 1 => {
            facts.controllers.extend(lone.into_iter().map(|(controller, line)| (controller, (only, line))));
        }
        _ => {}
    }
}

/// A function as the kernel finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundFunction {
    address: PciAddress,
    vendor: u16,
    device: u16,
    class: u32,
}

/// The words behind `pci 0004:41:00.0: `, and its address.
fn about(line: &str) -> Option<(PciAddress, &str)> {
    let (_, rest) = line.split_once("pci ")?;
    let (place, rest) = rest.split_once(": ")?;
    Some((place.parse().ok()?, rest))
}

/// `pci 0004:41:00.0: [1f40:2263] type 00 class 0x010802`.
fn found(line: &str) -> Option<FoundFunction> {
    let (address, rest) = about(line)?;
    let (ids, rest) = rest.strip_prefix('[')?.split_once("] type ")?;
    let (vendor, device) = ids.split_once(':')?;
    let class = rest.split_once("class 0x")?.1.get(..6)?;
    Some(FoundFunction {
        address,
        vendor: u16::from_str_radix(vendor, 16).ok()?,
        device: u16::from_str_radix(device, 16).ok()?,
        class: u32::from_str_radix(class, 16).ok()?,
    })
}

/// `pci 0004:40:00.0: PCI bridge to [bus 41-42]`; without buses `PCI bridge to [bus 00]`, which firmware did not configure, and
/// `bridge configuration invalid ([bus 00-00]), reconfiguring`.
fn bridge(line: &str) -> Option<(PciAddress, Option<(u8, u8)>)> {
    let (address, rest) = about(line)?;
    if rest.starts_with("bridge configuration invalid ") {
        return Some((address, None));
    }
    let (range, _) = rest.strip_prefix("PCI bridge to [bus ")?.split_once(']')?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let buses = (u8::from_str_radix(first, 16).ok()?, u8::from_str_radix(last, 16).ok()?);
    Some((address, Some(buses).filter(|(secondary, _)| *secondary > address.bus)))
}

/// Domain and bus, and the last bus below, of `pci_bus 0000:01: busn_res: [bus 01-ff] end is updated to 04`.
fn last_bus(line: &str) -> Option<((u32, u8), u8)> {
    let (_, rest) = line.split_once("pci_bus ")?;
    let (place, rest) = rest.split_once(": busn_res: ")?;
    let (_, last) = rest.split_once(" end is updated to ")?;
    Some((facts::root_bus(place)?, u8::from_str_radix(last.trim(), 16).ok()?))
}

/// Sets the buses behind a bridge to those of the kernel's newest line, where no other listing has them.
fn renumber(facts: &mut Facts, address: PciAddress, buses: Option<(u8, u8)>, line: usize) {
    let is_open = facts.function(address, line).buses.is_none();
    if is_open || facts.of_log.contains(&address) {
        facts.of_log.insert(address);
        facts.function(address, line).buses = buses.map(|buses| Known::new(buses, line));
    }
    learn(&mut facts.function(address, line).class, PCI_BRIDGE, line);
}

/// Ends the ranges of bridges where the kernel found the last bus behind them.
fn narrow(facts: &mut Facts) {
    for address in std::mem::take(&mut facts.of_log) {
        let Some(function) = facts.functions.get_mut(&address) else { continue };
        let Some(buses) = &mut function.buses else { continue };
        let last = facts.last_buses.get(&(address.domain, buses.value.0));
        if let Some(last) = last.filter(|last| last.line > buses.line && last.value >= buses.value.0) {
            buses.value.1 = buses.value.1.min(last.value);
        }
    }
}

/// The driver of VMD functions.
const VMD: &str = "vmd";

/// Domain and bus of `pci_bus 0004:40: root bus resource [bus 40-4f]` and `PCI host bridge to bus 0000:00`; with the VMD function
/// of `vmd 0000:c9:00.5: PCI host bridge to bus 10000:80`.
fn host_bridge(line: &str) -> Option<((u32, u8), Option<PciAddress>)> {
    if let Some((before, place)) = line.split_once("PCI host bridge to bus ") {
        let mut words = before.split_whitespace().skip_while(|word| *word != VMD).skip(1);
        let vmd = words.next().and_then(|word| word.strip_suffix(':')?.parse().ok());
        return Some((facts::root_bus(place.split_whitespace().next()?)?, vmd));
    }
    let (_, rest) = line.split_once("pci_bus ")?;
    let (place, rest) = rest.split_once(": ")?;
    Some((facts::root_bus(place).filter(|_| rest.starts_with("root bus resource [bus"))?, None))
}

/// `8.0 GT/s PCIe x2 link`, without `PCIe` in older kernels.
fn link_words(words: &[&str]) -> Option<LinkWords> {
    let at = words.iter().take(4).position(|word| *word == "GT/s")?;
    let speed = TransferRate::parse(&format!("{} GT/s", words.get(at.checked_sub(1)?)?))?;
    let width = words.iter().skip(at + 1).take(2).find_map(|word| word.strip_prefix('x')?.parse().ok())?;
    Some(LinkWords { speed: Some(speed), width: Some(width) })
}
