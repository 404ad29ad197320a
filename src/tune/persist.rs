//! Taking changes home: udev rules and kernel arguments, as text a reviewer would accept. Nothing is installed here.

use std::fmt::Write;

use super::{
    journal::{Entry, Ledger},
    settings::{POLL_QUEUES, Scope, find},
};
use crate::{
    machine::{Drive, DriveKind, Machine},
    text::Label,
};

/// What an export holds, and what it had to leave out, a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Export {
    /// The text.
    pub text: String,
    /// What could not be expressed, and why.
    pub left_out: Vec<String>,
}

/// udev rules that set what stands changed, one block per drive, matched by its serial number or, without one, its name.
pub fn udev_rules(machine: &Machine, ledger: &Ledger, value: impl Fn(&Entry) -> Option<String>) -> Export {
    let mut export = Export::default();
    let mut drives: Vec<(&Drive, Vec<&Entry>)> = Vec::new();
    for entry in &ledger.entries {
        match (find(&entry.setting).map(|row| row.scope), entry.device.find(machine)) {
            (Some(Scope::Queue), Some(drive)) => {
                match drives.iter_mut().find(|(known, _)| known.name == drive.name) {
                    Some((_, entries)) => entries.push(entry),
                    None => drives.push((drive, vec![entry])),
                }
            }
            (Some(Scope::Queue), None) => {
                export.left_out.push(format!("{}: {} is gone", entry.setting, entry.device.name));
            }
            (Some(_), _) => export.left_out.push(format!(
                "{} of {}: udev sets block queues only; see kernel arguments and tmpfiles.d(5)",
                entry.setting, entry.device.name
            )),
            (None, _) => export.left_out.push(format!("{}: no setting of this version", entry.setting)),
        }
    }
    if drives.is_empty() {
        return export;
    }
    export.text.push_str("# /etc/udev/rules.d/99-iodyno.rules, to be read with: udevadm control --reload && udevadm trigger -s block\n");
    for (drive, entries) in drives {
        let Some(matches) = matching(drive) else {
            export.left_out.push(format!(
                "{}: {} devices have no name that lasts",
                drive.name,
                drive.kind.name()
            ));
            continue;
        };
        let model = drive.model.value().map_or(drive.name.as_str(), Label::as_str);
        let _infallible = writeln!(export.text, "\n# {model}, {} when this was written", drive.name);
        for entry in entries {
            let Some(now) = value(entry) else {
                export.left_out.push(format!("{}: {} cannot be read now", entry.device.name, entry.setting));
                continue;
            };
            let Some(attribute) = find(&entry.setting).map(|row| row.file) else { continue };
            let _infallible = writeln!(export.text, "# {}: was {}, set to {now}", entry.setting, entry.found);
            let _infallible = writeln!(export.text, "{matches}, ATTR{{{attribute}}}=\"{}\"", escaped(&now));
        }
    }
    export
}

/// Kernel arguments for what is decided at boot.
pub fn kernel_arguments(ledger: &Ledger, value: impl Fn(&Entry) -> Option<String>) -> Export {
    let mut export = Export::default();
    for entry in &ledger.entries {
        if entry.setting == POLL_QUEUES.0 {
            if let Some(now) = value(entry) {
                let _infallible = writeln!(export.text, "nvme.poll_queues={now}");
            }
        } else {
            export.left_out.push(format!(
                "{} of {}: no kernel argument sets it; see udev",
                entry.setting, entry.device.name
            ));
        }
    }
    export
}

fn matching(drive: &Drive) -> Option<String> {
    let serial = drive.serial.value().map(|serial| escaped(serial.as_str()));
    let node = match drive.kind {
        DriveKind::Nvme => r#"KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Sata | DriveKind::Scsi => r#"KERNEL=="sd*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Mmc => r#"KERNEL=="mmcblk*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Virtio | DriveKind::Md | DriveKind::Dm | DriveKind::Zram => {
            let name = escaped(drive.name.as_str());
            return Some(format!(r#"ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="{name}""#));
        }
        DriveKind::Loop | DriveKind::OtherSoftware | DriveKind::Other => return None,
    };
    let who = match serial {
        Some(serial) => format!(r#"ENV{{ID_SERIAL_SHORT}}=="{serial}""#),
        None => format!(r#"ATTRS{{model}}=="{}*""#, escaped(drive.model.value()?.as_str())),
    };
    Some(format!(r#"ACTION=="add|change", SUBSYSTEM=="block", {node}, {who}"#))
}

/// A value between the quotes of a rule: quotes and backslashes cannot stand there, pattern signs would match more.
fn escaped(value: &str) -> String {
    value
        .chars()
        .map(|c| if matches!(c, '"' | '\\' | '*' | '?' | '[' | ']' | '|' | '$' | '%') { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{
        change::Identity,
        journal::{Event, Record},
        testing::machine_with_queue,
    };

    fn ledger(setting: &str) -> Ledger {
        let event = Event::Change {
            device: Identity { name: "nvme0n1".into(), serial: None, diskseq: None },
            setting: setting.into(),
            file: "/sys/q/nomerges".into(),
            old: "0".into(),
            new: "2".into(),
            affected: vec![],
        };
        Ledger::of(&[Record { time: 0, boot: "b".into(), session: "1".into(), event }], "b")
    }

    #[test]
    fn a_rule_matches_the_serial_and_says_what_was_there() {
        let mut machine = machine_with_queue("nvme0n1", &std::collections::BTreeMap::new());
        machine.drives[0].kind = DriveKind::Nvme;
        machine.drives[0].model = crate::model::Reading::known("/m", "Samsung \"980\"".into());
        machine.drives[0].serial = crate::model::Reading::known("/s", "S5P2*".into());
        let mut ledger = ledger("nomerges");
        ledger.entries[0].device =
            Identity::of(&machine, &crate::tune::Device::Drive(machine.drives[0].name.clone()));
        let export = udev_rules(&machine, &ledger, |_| Some("2".into()));
        assert_eq!(export.left_out, Vec::<String>::new());
        assert!(export.text.contains("# nomerges: was 0, set to 2\n"), "{}", export.text);
        let rule = export.text.lines().last().unwrap();
        assert_eq!(
            rule,
            r#"ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL_SHORT}=="S5P2?", ATTR{queue/nomerges}="2""#
        );
    }

    #[test]
    fn what_cannot_be_expressed_is_said() {
        let machine = machine_with_queue("loop7", &std::collections::BTreeMap::new());
        let export = udev_rules(&machine, &ledger("governor"), |_| Some("performance".into()));
        assert_eq!(export.text, "");
        assert!(export.left_out[0].contains("governor"), "{:?}", export.left_out);
        assert_eq!(
            kernel_arguments(&ledger("poll_queues"), |_| Some("2".into())).text,
            "nvme.poll_queues=2\n"
        );
        assert_eq!(kernel_arguments(&ledger("scheduler"), |_| None).text, "");
    }
}
