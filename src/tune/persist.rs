//! Exports of changes: udev rules and kernel arguments, as text. Nothing is installed.

mod arguments;
mod udev;

pub use arguments::kernel_arguments;
pub use udev::{udev_rules, why_no_rule};

use super::change_log::Entry;

/// An export, and what it lacks, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Export {
    /// The text.
    pub text: String,
    /// Changes that it cannot express, and why.
    pub left_out: Vec<String>,
}

impl Export {
    /// Whether no setting was changed.
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty() && self.left_out.is_empty()
    }
}

/// The first entry of each setting of a device: a setting of all CPUs has a file for each of them.
fn distinct<'a>(entries: impl Iterator<Item = &'a Entry>) -> impl Iterator<Item = &'a Entry> {
    let mut seen = std::collections::BTreeSet::new();
    entries.filter(move |entry| seen.insert((&entry.device.name, &entry.setting)))
}
