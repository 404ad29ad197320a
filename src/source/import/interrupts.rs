//! `/proc/interrupts`.

use std::borrow::Cow;

use super::{
    drives::is_controller,
    facts::{Facts, Known, Line},
    sections::Kind,
};
use crate::model::PciAddress;

pub(super) const KIND: Kind = Kind {
    begins: |line, _| {
        let mut words = line.split_whitespace();
        words.next() == Some("CPU0") && words.all(|word| word.starts_with("CPU"))
    },
    continues: |line| {
        let mut words = line.split_whitespace();
        let is_row = words
            .next()
            .and_then(|word| word.strip_suffix(':'))
            .is_some_and(|name| name.len() <= 4 && name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        is_row && words.next().is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
    },
    tolerates: 0,
    read,
};

/// The table as it is: the reader of a live machine reads it.
fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let first = lines.first()?.number;
    for line in lines {
        if facts.is_too_many() {
            break;
        }
        let Some(name) = controller(&line.text) else { continue };
        match address(&line.text).or_else(|| of_number(&line.text)) {
            Some(address) => {
                facts.function(address, line.number);
                facts.controllers.entry(name.to_owned()).or_insert((address, line.number));
            }
            None => _ = facts.queues.entry(name.to_owned()).or_insert(line.number),
        }
    }
    let text: String =
        lines.iter().filter(|line| !line.text.is_empty()).flat_map(|line| [&*line.text, "\n"]).collect();
    facts
        .files
        .entry("/proc/interrupts".to_owned())
        .or_insert(Known { value: text.into_bytes(), line: first });
    Some("/proc/interrupts".into())
}

/// Controller of `IR-PCI-MSIX-0000:01:00.0    1-edge      nvme0q1`.
fn controller(row: &str) -> Option<&str> {
    let names = row.split_whitespace().filter_map(|word| word.trim_end_matches(',').split_once('q'));
    let mut names = names.filter(|(name, queue)| {
        is_controller(name) && !queue.is_empty() && queue.bytes().all(|byte| byte.is_ascii_digit())
    });
    Some(names.next()?.0)
}

/// Its function, as newer kernels print it.
fn address(row: &str) -> Option<PciAddress> {
    let mut places = row.split_whitespace().filter_map(|word| word.split_once("PCI-MSI")?.1.split_once('-'));
    places.next()?.1.parse().ok()
}

/// Its function in `IR-PCI-MSI 1048576-edge nvme0q0` of older kernels: the number has the vector in its low 11 bits, then
/// function, device, bus and domain (`pci_msi_domain_calc_hwirq`).
fn of_number(row: &str) -> Option<PciAddress> {
    let is_chip = |word: &&str| word.ends_with("PCI-MSI") || word.ends_with("ITS-MSI");
    let mut words = row.split_whitespace().skip_while(|word| !is_chip(word)).skip(1);
    let number: u64 = words.next()?.split('-').next()?.parse().ok()?;
    let bits = |from: u32, count: u32| (number >> from) & ((1 << count) - 1);
    let address = PciAddress {
        domain: u32::try_from(number >> 27).ok().filter(|domain| *domain <= 0xffff)?,
        bus: u8::try_from(bits(19, 8)).ok()?,
        device: u8::try_from(bits(14, 5)).ok()?,
        function: u8::try_from(bits(11, 3)).ok()?,
    };
    // A drive is behind a port; numbers of other chips are small.
    (address.bus > 0).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_interrupt_has_its_function() {
        let of = |row: &str| of_number(row).map(|address| address.to_string());
        for (row, function) in [
            (" 30: 0 21 IR-PCI-MSI 524288-edge nvme0q0", Some("0000:01:00.0")),
            (" 31: 0 21 PCI-MSI 1048577-edge nvme1q1", Some("0000:02:00.0")),
            ("185: 0 ITS-MSI 570949632 Edge nvme0q0", Some("0004:41:00.0")),
            (" 31: 0 PCI-MSI-edge nvme1q1", None),
            (" 31: 0 PCI-MSI 1-edge nvme1q1", None),
            (" 31: 0 VMD-MSI 524288 nvme1q1", None),
        ] {
            assert_eq!(of(row).as_deref(), function, "{row}");
        }
    }
}
