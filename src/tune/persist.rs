//! Taking changes home: udev rules and kernel arguments, as text a reviewer would accept. Nothing is installed here.

mod arguments;
mod udev;

pub use arguments::kernel_arguments;
pub use udev::udev_rules;

use super::change_log::Entry;

/// What an export holds, and what it had to leave out, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Export {
    /// The text.
    pub text: String,
    /// What could not be expressed, and why.
    pub left_out: Vec<String>,
}

/// The first entry of each setting of a device: a setting of all CPUs has a file for each of them.
fn distinct<'a>(entries: impl Iterator<Item = &'a Entry>) -> impl Iterator<Item = &'a Entry> {
    let mut seen = std::collections::BTreeSet::new();
    entries.filter(move |entry| seen.insert((&entry.device.name, &entry.setting)))
}
