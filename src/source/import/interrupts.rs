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
        if let Some((controller, address)) = controller(&line.text) {
            facts.function(address, line.number);
            facts.controllers.entry(controller.to_owned()).or_insert((address, line.number));
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

/// Controller and function of `IR-PCI-MSIX-0000:01:00.0    1-edge      nvme0q1`, as newer kernels print rows.
fn controller(row: &str) -> Option<(&str, PciAddress)> {
    let words = || row.split_whitespace();
    let names = words().filter_map(|word| word.trim_end_matches(',').split_once('q'));
    let mut names = names.filter(|(name, queue)| {
        is_controller(name) && !queue.is_empty() && queue.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (controller, _) = names.next()?;
    let mut places = words().filter_map(|word| word.split_once("PCI-MSI")?.1.split_once('-'));
    Some((controller, places.next()?.1.parse().ok()?))
}
