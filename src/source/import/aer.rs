//! Lines of `dmesg` about errors of functions (AER) and about hotplug (pciehp).

use super::{
    facts::{Facts, Known, Line, NVME_CONTROLLER, learn},
    identity::Identity,
};
use crate::model::PciAddress;

pub(super) fn is_line(line: &str) -> bool {
    // Most lines have a time in brackets, and no bit: they are not searched for an address.
    let has_bit = || {
        let bit = line.rsplit_once("] ").and_then(|(before, _)| before.rsplit_once('['));
        bit.is_some_and(|(_, bit)| bit.trim().parse::<u8>().is_ok())
    };
    let is_bit = || has_bit() && of_driver(line).is_some_and(|about| is_bit(about.words));
    [" AER: ", ": PCIe Bus Error: ", "] error status/mask=", ": pciehp: "]
        .iter()
        .any(|word| line.contains(word))
        || is_bit()
}

/// `[ 0] RxErr`: one bit of the status.
fn is_bit(words: &str) -> bool {
    let bit = words.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    bit.is_some_and(|(bit, _)| bit.trim().parse::<u8>().is_ok())
}

/// Reads such a line; the answer is whether it was used.
pub(super) fn read(facts: &mut Facts, line: &Line) -> bool {
    let used = of_driver(&line.text).and_then(|about| error(facts, &about, line.number));
    if used.is_none() {
        let why = if line.text.contains(": pciehp: ") {
            "a message of hotplug, which no check reads"
        } else {
            "a message of AER; only corrected errors of a link are read"
        };
        facts.notes.unused_text(line, why);
    }
    used.is_some()
}

/// Gives the functions of the text their errors: the register that lspci shows may have been cleared since.
pub(super) fn join(facts: &mut Facts) {
    for (address, line) in std::mem::take(&mut facts.link_errors) {
        if !facts.functions.contains_key(&address) {
            let why = format!("a corrected error of {address}, which the text does not list");
            facts.notes.unused(line, &why);
            continue;
        }
        let express = facts.express(address, line);
        if express.link_correctable_error().is_none_or(|known| !known.value) {
            (express.correctable_error, express.link_error) = (Some(Known::new(true, line)), None);
        }
    }
}

/// A message of a driver about its function.
struct About<'a> {
    driver: &'a str,
    address: PciAddress,
    words: &'a str,
}

/// `nvme 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)`.
fn of_driver(line: &str) -> Option<About<'_>> {
    let mut driver = "";
    for word in line.split_whitespace() {
        if let Some(Ok(address)) = word.strip_suffix(':').map(str::parse) {
            return Some(About { driver, address, words: line.split_once(word)?.1.trim_start() });
        }
        driver = word;
    }
    None
}

fn error(facts: &mut Facts, about: &About, line: usize) -> Option<()> {
    let words = about.words.strip_prefix("AER: ").unwrap_or(about.words);
    if let Some(error) = words.strip_prefix("PCIe Bus Error: ") {
        let is_corrected =
            ["severity=Corrected", "severity=Correctable"].iter().any(|it| error.starts_with(it));
        let is_of_link = ["type=Physical Layer", "type=Data Link Layer"].iter().any(|it| error.contains(it));
        (is_corrected && is_of_link).then_some(())?;
        facts.link_errors.entry(about.address).or_insert(line);
    } else {
        let (ids, rest) = words.strip_prefix("device [")?.split_once(']')?;
        let (vendor, device) = ids.split_once(':').filter(|_| rest.starts_with(" error status/mask="))?;
        let ids = [vendor, device].map(|id| u16::from_str_radix(id, 16).ok());
        let [Some(vendor), Some(device)] = ids else { return None };
        let stated = Identity { vendor: Some(vendor), device: Some(device), ..Identity::default() };
        if facts.is_another(about.address, stated, line) {
            facts.link_errors.remove(&about.address);
            return Some(());
        }
        let function = facts.function(about.address, line);
        learn(&mut function.vendor, vendor, line);
        learn(&mut function.device, device, line);
    }
    if about.driver == "nvme" {
        learn(&mut facts.function(about.address, line).class, NVME_CONTROLLER, line);
    }
    Some(())
}
