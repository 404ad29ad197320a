//! Exports of changes: udev rules and kernel arguments, as text. Nothing is installed.

mod arguments;
mod udev;

pub use arguments::kernel_arguments;
pub use udev::{udev_rules, why_no_rule};

use super::{change_log::Entry, tunables};

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

/// The first entry of each setting of a device: a setting of all CPUs has a file for each of them. Without those that have their
/// first value again, by another program or by an undo that the journal could not record, and without tunables, which an undo could
/// not restore.
fn distinct<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    value: impl Fn(&Entry) -> Option<String>,
) -> impl Iterator<Item = &'a Entry> {
    let mut seen = std::collections::BTreeSet::new();
    entries
        .filter(|entry| !tunables::is_tunable(&entry.setting))
        .filter(move |entry| value(entry).is_none_or(|now| !entry.is_restored(&now)))
        .filter(move |entry| seen.insert((&entry.device.name, &entry.setting)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::{change_log_of, machine_with_queue};

    #[test]
    fn a_setting_with_its_first_value_is_in_no_export() {
        let log = change_log_of(&[("loop7", "nomerges", "0", "2")]);
        let (machine, first) =
            (machine_with_queue("loop7", &std::collections::BTreeMap::new()), |_: &Entry| Some("0".into()));
        assert_eq!(
            (udev_rules(&machine, &log, first), kernel_arguments(&log, first)),
            <(Export, Export)>::default()
        );
    }
}
