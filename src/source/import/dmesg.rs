//! Lines of `dmesg` about functions and buses as the kernel finds them, about links (`pcie_print_link_status`), functions of NVMe
//! controllers, and their timeouts and resets.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    aer,
    drives::{is_controller, is_of_controller},
    facts::{self, Facts, Function, LimitedBy, Line, LinkWords, Message, PCI_BRIDGE, learn},
    identity::Identity,
    sections::Kind,
};
use crate::{
    machine::DriverMessage, model::PciAddress, source::nvme::messages, text::Label, units::TransferRate,
};

pub(super) const KIND: Kind = Kind {
    begins: |line, _| is_line(line),
    continues: |line| is_line(line) || is_rest(line),
    tolerates: 20,
    read,
};

fn is_line(line: &str) -> bool {
    line.contains("available PCIe bandwidth")
        || found(line).is_some()
        || bridge(line).is_some()
        || host_bridge(line).is_some()
        || line.contains(": pci function ")
        || aer::is_line(line)
        || messages::message(line).is_some()
}

/// What the kernel prints before the state of a link.
const BANDWIDTH: &str = "available PCIe bandwidth";

/// Whether a line is the rest of one about a link.
fn is_rest(line: &str) -> bool {
    [" GT/s PCIe x", " GT/s x"].iter().any(|speed| line.contains(speed)) && !line.contains(BANDWIDTH)
}

/// The lines without empty ones; those about a link that a program broke are whole.
fn whole<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    /// Lines of one message.
    const MOST: usize = 4;
    let lines: Vec<&Line> = lines.iter().filter(|line| !line.text.is_empty()).collect();
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let is_broken = |text: &str| text.contains(BANDWIDTH) && limited(&words(text)).is_none();
        let mut text = line.text.clone();
        let mut used = 1;
        while is_broken(&text) && used < MOST {
            let Some(next) =
                lines.get(at + used).filter(|next| !is_line(&next.text) && !next.text.starts_with('['))
            else {
                break;
            };
            let is_apart = text.ends_with(' ') || next.text.starts_with([',', ' ']);
            let between = if is_apart { "" } else { " " };
            text = Cow::Owned(format!("{text}{between}{}", next.text));
            used += 1;
        }
        // A message that does not become whole stays as it is.
        let is_whole = used == 1 || !is_broken(&text);
        joined.push(if is_whole { Line { number: line.number, text } } else { (*line).clone() });
        at += if is_whole { used } else { 1 };
    }
    joined
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut any = false;
    for line in &whole(lines) {
        if aer::is_line(&line.text) {
            any |= aer::read(facts, line);
            continue;
        }
        let used = if line.text.contains(": pci function ") {
            controller(facts, &words(&line.text), line.number)
        } else if let Some(device) = found(&line.text) {
            let (vendor, id) = (device.vendor, device.device);
            let stated = Identity { vendor: Some(vendor), device: Some(id), ..Identity::default() };
            if !facts.is_another(device.address, stated, line.number) {
                let function = facts.function(device.address, line.number);
                learn(&mut function.vendor, vendor, line.number);
                learn(&mut function.device, id, line.number);
                learn(&mut function.class, device.class, line.number);
            }
            Some(())
        } else if let Some((address, buses)) = bridge(&line.text) {
            let function = facts.function(address, line.number);
            learn(&mut function.buses, buses, line.number);
            learn(&mut function.class, PCI_BRIDGE, line.number);
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
    any.then(|| "dmesg".into())
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

/// What a message about a function's link states.
struct Limited {
    device: PciAddress,
    /// What the device is capable of, or the state of a link that nothing limits.
    own: LinkWords,
    is_capability: bool,
    /// The state of the link that limits it, and the port above that link.
    by: Option<(LinkWords, PciAddress)>,
}

/// `nvme 0000:01:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at 0000:00:1d.0 (capable of 31.504
/// Gb/s with 8.0 GT/s PCIe x4 link)`.
fn limited(words: &[&str]) -> Option<Limited> {
    let behind = |word: &str| words.iter().position(|it| *it == word).map(|at| &words[at + 1..]);
    let end = words.iter().position(|word| *word == "available")?;
    let device = words[..end].iter().find_map(|word| word.trim_end_matches(':').parse().ok())?;
    // A device whose link is not limited has no second part.
    let by = match behind("by") {
        Some(rest) => Some((link_words(rest)?, behind("at")?.first()?.parse().ok()?)),
        None => None,
    };
    let capable = behind("with").and_then(link_words);
    let whole = behind("bandwidth").and_then(link_words);
    let own = capable.or(whole.filter(|_| by.is_none()))?;
    Some(Limited { device, own, is_capability: capable.is_some(), by })
}

fn link(facts: &mut Facts, words: &[&str], line: usize) -> Option<()> {
    let Limited { device, own, is_capability, by } = limited(words)?;
    if let Some((state, port)) = by {
        learn(&mut facts.express(port, line).link_status, state, line);
        if port != device && facts.limits.len() < MOST_LIMITS {
            facts.limits.push(LimitedBy { device, port, state, line });
        }
    } else if !is_capability {
        // The kernel prints both parts where any link is slower than the device.
        learn(&mut facts.express(device, line).link_status, own, line);
    }
    learn(&mut facts.express(device, line).link_capabilities, own, line);
    Some(())
}

/// Functions with a limited link in one text.
const MOST_LIMITS: usize = 1 << 14;

/// Gives a limited link's state to its lower end: the kernel names the port above it. The functions below a port whose bus
/// numbers lead elsewhere are not at this link, nor is it known which one is where a port limits functions of several buses.
pub(super) fn join(facts: &mut Facts) {
    let behind_bridges: BTreeSet<(u32, u8)> = facts
        .functions
        .iter()
        .filter_map(|(address, function)| Some((address.domain, function.buses?.value.0)))
        .collect();
    let mut buses: BTreeMap<PciAddress, BTreeSet<u8>> = BTreeMap::new();
    for limit in &facts.limits {
        buses.entry(limit.port).or_default().insert(limit.device.bus);
    }
    for limit in std::mem::take(&mut facts.limits) {
        let LimitedBy { device, port, state, line } = limit;
        if port.domain != device.domain || port.bus >= device.bus {
            continue;
        }
        let above = facts.function(port, line);
        learn(&mut above.class, PCI_BRIDGE, line);
        if above.buses.is_none() && buses.get(&port).is_some_and(|buses| buses.len() > 1) {
            continue;
        }
        let is_direct = above.buses.is_none_or(|buses| buses.value.0 == device.bus);
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

/// `pci 0004:40:00.0: PCI bridge to [bus 41-42]`.
fn bridge(line: &str) -> Option<(PciAddress, (u8, u8))> {
    let (address, rest) = about(line)?;
    let (range, _) = rest.strip_prefix("PCI bridge to [bus ")?.split_once(']')?;
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    Some((address, (u8::from_str_radix(first, 16).ok()?, u8::from_str_radix(last, 16).ok()?)))
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
