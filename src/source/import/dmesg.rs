//! Lines of `dmesg` about links (`pcie_print_link_status`), functions of NVMe controllers, and their timeouts and resets.

use std::borrow::Cow;

use super::{
    drives::is_controller,
    facts::{ExpressWords, Facts, Known, Line, LinkWords, learn},
    sections::Kind,
};
use crate::{model::PciAddress, source::nvme::messages, units::TransferRate};

/// Offset of the capability where no text states it.
const ANYWHERE: u8 = 0x40;

pub(super) const KIND: Kind =
    Kind { begins: |line, _| is_line(line), continues: is_line, tolerates: 0, read };

fn is_line(line: &str) -> bool {
    line.contains("available PCIe bandwidth")
        || line.contains(": pci function ")
        || messages::message(line).is_some()
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut found = false;
    for line in lines.iter().filter(|line| !line.text.is_empty()) {
        let words: Vec<&str> =
            line.text.split_whitespace().map(|word| word.trim_matches(['(', ')', ','])).collect();
        let used = if line.text.contains(": pci function ") {
            controller(facts, &words, line.number)
        } else if let Some(message) = messages::message(&line.text) {
            let known = Known::new(Vec::new(), line.number);
            let file = facts.files.entry(messages::PROBE.to_owned()).or_insert(known);
            file.value.extend(messages::line(&message).into_bytes());
            Some(())
        } else {
            link(facts, &words, line.number)
        };
        match used {
            Some(()) => found = true,
            None => facts.notes.unused_text(line, "a kernel message of another form"),
        }
    }
    found.then(|| "dmesg".into())
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
        learn(&mut express(facts, port, line).link_status, state, line);
    }
    learn(&mut express(facts, device, line).link_capabilities, own, line);
    Some(())
}

fn express(facts: &mut Facts, address: PciAddress, line: usize) -> &mut ExpressWords {
    let function = facts.function(address, line);
    function.express.get_or_insert_with(|| ExpressWords { line, at: ANYWHERE, ..ExpressWords::default() })
}

/// `8.0 GT/s PCIe x2 link`, without `PCIe` in older kernels.
fn link_words(words: &[&str]) -> Option<LinkWords> {
    let at = words.iter().take(4).position(|word| *word == "GT/s")?;
    let speed = TransferRate::parse(&format!("{} GT/s", words.get(at.checked_sub(1)?)?))?;
    let width = words.iter().skip(at + 1).take(2).find_map(|word| word.strip_prefix('x')?.parse().ok())?;
    Some(LinkWords { speed: Some(speed), width: Some(width) })
}
