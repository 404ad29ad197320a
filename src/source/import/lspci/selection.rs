//! Functions that a command or a loop of a shell selects, whose output is cut to lines of their bodies.

use std::collections::VecDeque;

use super::{super::prompt::is_prompt, names::address};
use crate::model::PciAddress;

/// The function that a command selects, whose output may be cut to lines of its body: `$ sudo lspci -vvs 03:00.0 | grep Lnk`.
pub(super) fn selected(line: &str) -> Option<PciAddress> {
    if !line.contains("lspci") || !is_prompt(line) {
        return None;
    }
    let mut words = line.split_whitespace().skip_while(|word| !word.ends_with("lspci"));
    words.find(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('s'))?;
    address(words.next()?)
}

/// An address without a name, as `echo` in a loop prints it: `01:00.0`, `=== 0000:01:00.0 ===`.
pub(super) fn alone(line: &str) -> Option<PciAddress> {
    let place = line.trim().trim_matches(|c: char| !c.is_ascii_alphanumeric());
    address(place).filter(|_| (7..=16).contains(&place.len()))
}

/// `$ for d in 01:00.0 02:00.0; do lspci -s $d -vv | grep Lnk; done`.
pub(super) fn is_loop(line: &str) -> bool {
    line.contains("for ") && line.contains(" in ") && line.contains("lspci") && is_prompt(line)
}

/// The addresses that a loop names.
pub(super) fn looped(line: &str) -> VecDeque<PciAddress> {
    let list = line.split_once(" in ").filter(|_| is_loop(line)).map_or("", |(_, list)| list);
    let list = list.split(';').next().unwrap_or_default();
    list.split_whitespace().map_while(address).collect()
}

/// Whether a loop goes over NVMe controllers alone.
pub(super) fn is_of_nvme(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["nvme", "non-volatile", "0108"].iter().any(|word| line.contains(word))
}
