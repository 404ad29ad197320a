//! Kernel arguments for changed settings.

use std::{collections::BTreeMap, fmt::Write};

use super::{Export, distinct};
use crate::{
    text::Label,
    tune::{
        change_log::{ChangeLog, Entry},
        settings::{Argument, find},
    },
};

/// Arguments for the kernel's command line, one a line, each below a comment with its change and the devices it applies
/// to: an argument sets a default, never one drive.
pub fn kernel_arguments(change_log: &ChangeLog, value: impl Fn(&Entry) -> Option<String>) -> Export {
    let mut export = Export::default();
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for entry in distinct(change_log.entries.iter(), &value) {
        let named = format!("{} of {}", entry.setting, entry.device.name);
        let Some(row) = find(&entry.setting) else {
            export.left_out.push(format!("{named}: not a setting of this version"));
            continue;
        };
        let Some(now) = value(entry) else {
            export.left_out.push(format!("{named}: cannot be read now"));
            continue;
        };
        let (argument, goes_for) = match (row.argument)(&now) {
            Argument::For(argument, goes_for) => (argument, goes_for),
            Argument::None(why) => {
                export.left_out.push(format!("{named}: {why}"));
                continue;
            }
        };
        let name = argument.split('=').next().unwrap_or_default().to_owned();
        match exported.get(&name) {
            Some(other) if *other == argument => {}
            Some(other) => export.left_out.push(format!("{named}: {argument} conflicts with {other}")),
            None => {
                let was = Label::new(&entry.found);
                let _infallible = writeln!(
                    export.text,
                    "# {named}: was {was}, set to {now}; applies to {goes_for}\n{argument}"
                );
                exported.insert(name, argument);
            }
        }
    }
    export
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{SETTINGS, settings::Risk, testing::change_log_of};

    fn exported(changes: &[(&str, &str, &str, &str)]) -> Export {
        kernel_arguments(&change_log_of(changes), |entry| entry.last.last().cloned())
    }

    #[test]
    fn settings_with_an_argument_get_it_and_the_others_are_named() {
        let export = exported(&[
            ("nvme0n1", "poll_queues", "0", "2"),
            ("nvme1n1", "poll_queues", "0", "4"),
            ("nvme0n1", "aspm", "1", "0"),
            ("nvme0n1", "latency_tolerance_us", "100000", "0"),
            ("cpu", "governor", "powersave", "performance"),
            ("nvme0n1", "scheduler", "mq-deadline", "none"),
        ]);
        let arguments: Vec<_> = export.text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            arguments,
            [
                "nvme.poll_queues=2",
                "pcie_aspm.policy=performance",
                "nvme_core.default_ps_max_latency_us=0",
                "cpufreq.default_governor=performance",
            ]
        );
        assert!(
            export
                .text
                .starts_with("# poll_queues of nvme0n1: was 0, set to 2; applies to every NVMe controller\n")
        );
        assert_eq!(
            export.left_out,
            [
                "poll_queues of nvme1n1: nvme.poll_queues=4 conflicts with nvme.poll_queues=2",
                "scheduler of nvme0n1: Linux ignores elevator= since 5.0; see udev",
            ]
        );
    }

    #[test]
    fn every_setting_has_an_argument_or_says_why_not() {
        for row in SETTINGS.iter().filter(|row| row.risk != Risk::Shown) {
            match (row.argument)("1") {
                Argument::For(argument, goes_for) => {
                    let (name, value) = argument.split_once('=').unwrap();
                    assert!(name.contains('.') && !value.is_empty() && !goes_for.is_empty(), "{argument}");
                }
                Argument::None(why) => assert!(why.len() > 20, "{}: {why}", row.id.0),
            }
        }
    }
}
