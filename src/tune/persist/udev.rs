//! udev rules for changed settings (`udev(7)`): a block per device, a rule per setting, above it a comment with the old value,
//! the reason and the measured gain.

use std::fmt::Write;

use super::{Export, distinct};
use crate::{
    machine::{Drive, DriveKind, Machine},
    text::Label,
    tune::{
        Device,
        change_log::{ChangeLog, Entry},
        settings::{POLL_QUEUES, Scope, Setting, find, rank},
    },
};

const HEADER: &str = "# /etc/udev/rules.d/99-iodyno.rules, written by iodyno; load it with:\n\
                      # udevadm control --reload && udevadm trigger --action=change\n";

/// The match part of a device's rules, and its heading.
struct Place {
    /// `SUBSYSTEM=="block", KERNEL=="nvme*n*", ...`.
    matches: String,
    title: String,
}

/// Rules for changed settings. Drives are matched by serial number, or, without one, by model; devices without a stable
/// name are left out.
pub fn udev_rules(
    machine: &Machine,
    change_log: &ChangeLog,
    value: impl Fn(&Entry) -> Option<String>,
) -> Export {
    let mut export = Export::default();
    let mut blocks: Vec<(Place, String)> = Vec::new();
    // Settings that reset others first: udev writes attributes in this order.
    let mut entries: Vec<&Entry> = change_log.entries.iter().collect();
    entries.sort_by_key(|entry| rank(&entry.setting));
    for entry in distinct(entries.into_iter(), &value) {
        match placed(machine, entry, &value) {
            Ok((row, place, now)) => {
                let rule = rule(change_log, entry, row, &place, &now);
                match blocks.iter_mut().find(|(known, _)| known.title == place.title) {
                    Some((_, text)) => text.push_str(&rule),
                    None => blocks.push((place, rule)),
                }
            }
            Err(why) => export.left_out.push(format!("{} of {}: {why}", entry.setting, entry.device.name)),
        }
    }
    if !blocks.is_empty() {
        export.text.push_str(HEADER);
    }
    for (place, rules) in blocks {
        let _infallible = write!(export.text, "\n# {}\n{rules}", place.title);
    }
    export
}

/// The row of an entry, its device's match and its current value; or why it has no rule.
fn placed(
    machine: &Machine,
    entry: &Entry,
    value: impl Fn(&Entry) -> Option<String>,
) -> Result<(&'static Setting, Place, String), String> {
    let row = find(&entry.setting).ok_or("not a setting of this version")?;
    let drive = || entry.device.find(machine).ok_or_else(|| format!("{} is not present", entry.device.name));
    let place = place(machine, row, drive)?;
    let now = value(entry).ok_or("cannot be read now")?;
    Ok((row, place, now))
}

/// Why a setting of a device has no rule, whatever its value; `None` where it can have one.
pub fn why_no_rule(machine: &Machine, device: &Device, row: &Setting) -> Option<String> {
    let drive = || {
        let drive = if let Device::Drive(name) = device { machine.drive(name) } else { None };
        drive.ok_or_else(|| format!("{device} is not present"))
    };
    place(machine, row, drive).err()
}

/// The match of a setting's device, or why it has none.
fn place<'a>(
    machine: &Machine,
    row: &Setting,
    drive: impl Fn() -> Result<&'a Drive, String>,
) -> Result<Place, String> {
    Ok(match row.scope {
        Scope::Queue => of_queue(drive()?)?,
        _ if row.id == POLL_QUEUES => {
            return Err("the driver reads it at probe time; use kernel-args".to_owned());
        }
        Scope::Function if row.file.starts_with("power/pm_qos") => of_controller(drive()?)?,
        Scope::Function => of_function(machine, drive()?)?,
        Scope::Port => return Err("a port's cooling device has no stable name".to_owned()),
        Scope::Processors => Place {
            matches: r#"ACTION=="add|change", SUBSYSTEM=="cpu", KERNEL=="cpu[0-9]*""#.to_owned(),
            title: "all CPUs".to_owned(),
        },
    })
}

/// Comment and rule of one setting.
fn rule(change_log: &ChangeLog, entry: &Entry, row: &Setting, place: &Place, now: &str) -> String {
    let why = row.help.split_inclusive(". ").next().unwrap_or_default().trim_end();
    let mut text = format!("# {}: was {}, set to {now}. {why}\n", entry.setting, Label::new(&entry.found));
    if let Some(gain) = change_log.gain(&entry.device, &entry.setting, now) {
        let _infallible =
            writeln!(text, "# compared with {}: {}", Label::new(&gain.old), Label::new(&gain.words));
    }
    let _infallible = writeln!(text, "{}, ATTR{{{}}}=\"{}\"", place.matches, row.file, escaped(now));
    text
}

fn title(drive: &Drive) -> String {
    let model = drive.model.value().map_or(drive.name.as_str(), Label::as_str);
    format!("{model}, {} when exported", drive.name)
}

fn of_queue(drive: &Drive) -> Result<Place, String> {
    let serial = drive.serial.value().map(|serial| escaped(serial.as_str()));
    let node = match drive.kind {
        DriveKind::Nvme => r#"KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Sata | DriveKind::Scsi | DriveKind::Usb => r#"KERNEL=="sd*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Mmc => r#"KERNEL=="mmcblk*", ENV{DEVTYPE}=="disk""#,
        DriveKind::Virtio | DriveKind::Md | DriveKind::Dm | DriveKind::Zram => {
            let matches = format!(
                r#"ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="{}""#,
                escaped(drive.name.as_str())
            );
            return Ok(Place { matches, title: title(drive) });
        }
        DriveKind::Loop | DriveKind::OtherSoftware | DriveKind::Other => {
            return Err(format!("{} devices have no stable name", drive.kind.name()));
        }
    };
    let who = match (serial, drive.model.value()) {
        (Some(serial), _) => format!(r#"ENV{{ID_SERIAL_SHORT}}=="{serial}""#),
        (None, Some(model)) => format!(r#"ATTRS{{model}}=="{}*""#, escaped(model.as_str())),
        (None, None) => return Err("the drive reports neither serial nor model".to_owned()),
    };
    Ok(Place {
        matches: format!(r#"ACTION=="add|change", SUBSYSTEM=="block", {node}, {who}"#),
        title: title(drive),
    })
}

/// The controller, by the serial number in its own folder.
fn of_controller(drive: &Drive) -> Result<Place, String> {
    let serial = drive.serial.value().ok_or("the drive reports no serial")?;
    let matches = format!(
        r#"ACTION=="add|change", SUBSYSTEM=="nvme", KERNEL=="nvme[0-9]*", ATTR{{serial}}=="{}*""#,
        escaped(serial.as_str())
    );
    Ok(Place { matches, title: format!("{} (its controller)", title(drive)) })
}

/// The PCI function, which udev sees before the drive: by address and PCI ids.
fn of_function(machine: &Machine, drive: &Drive) -> Result<Place, String> {
    let node = drive.node.map(|index| machine.pci.node(index)).ok_or("is not a PCI device")?;
    let (vendor, device) = (node.vendor.get(), node.device.get());
    let (Some(vendor), Some(device)) = (vendor, device) else {
        return Err("its PCI ids cannot be read".to_owned());
    };
    let matches = format!(
        r#"ACTION=="add|change", SUBSYSTEM=="pci", KERNEL=="{}", ATTR{{vendor}}=="0x{vendor:04x}", ATTR{{device}}=="0x{device:04x}""#,
        node.address
    );
    Ok(Place { matches, title: format!("{} (its PCI function, by address)", title(drive)) })
}

/// A value between the quotes of a rule, without quotes, backslashes and pattern characters.
fn escaped(value: &str) -> String {
    value
        .chars()
        .map(|c| if matches!(c, '"' | '\\' | '*' | '?' | '[' | ']' | '|' | '$' | '%') { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Reading,
        tune::{
            device::{Device, Identity},
            journal::Gain,
            testing::{change_log_of, machine_with_queue},
        },
    };

    /// An NVMe drive with an awkward model and serial, and a change log of it.
    fn scene(changes: &[(&str, &str, &str)]) -> (Machine, ChangeLog) {
        let mut machine = machine_with_queue("nvme0n1", &std::collections::BTreeMap::new());
        machine.drives[0].kind = DriveKind::Nvme;
        machine.drives[0].model = Reading::known("/m", "Samsung \"980\"".into());
        machine.drives[0].serial = Reading::known("/s", "S5P2*".into());
        let changes: Vec<_> =
            changes.iter().map(|(setting, old, new)| ("nvme0n1", *setting, *old, *new)).collect();
        let mut change_log = change_log_of(&changes);
        let identity = Identity::of(&machine, &Device::Drive(machine.drives[0].name.clone()));
        for entry in &mut change_log.entries {
            entry.device = identity.clone();
        }
        (machine, change_log)
    }

    fn exported(machine: &Machine, change_log: &ChangeLog) -> Export {
        udev_rules(machine, change_log, |entry| entry.last.last().cloned())
    }

    #[test]
    fn a_rule_matches_the_serial_and_says_what_was_there_why_and_what_it_is_worth() {
        let (machine, mut change_log) =
            scene(&[("nomerges", "0", "2"), ("scheduler", "mq-deadline", "none")]);
        change_log.gains.push(Gain {
            device: change_log.entries[0].device.clone(),
            setting: "scheduler".into(),
            old: "mq-deadline".into(),
            new: "none".into(),
            words: "2.19 times the IOPS (95 %: 2.15 to 2.22)".into(),
        });
        let export = exported(&machine, &change_log);
        assert_eq!(export.left_out, Vec::<String>::new());
        let lines: Vec<_> = export.text.lines().skip(3).collect();
        let matches = r#"ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL_SHORT}=="S5P2?""#;
        assert_eq!(
            lines,
            [
                "# Samsung \"980\", nvme0n1 when exported",
                "# scheduler: was mq-deadline, set to none. Orders requests before they reach the drive.",
                "# compared with mq-deadline: 2.19 times the IOPS (95 %: 2.15 to 2.22)",
                &format!("{matches}, ATTR{{queue/scheduler}}=\"none\""),
                "# nomerges: was 0, set to 2. 0 tries all merges, 1 only simple one-hit merges, 2 none.",
                &format!("{matches}, ATTR{{queue/nomerges}}=\"2\""),
            ]
        );
    }

    #[test]
    fn what_is_no_queue_gets_a_rule_where_udev_can_set_it() {
        let (machine, change_log) =
            scene(&[("latency_tolerance_us", "100000", "0"), ("poll_queues", "0", "2")]);
        let export = exported(&machine, &change_log);
        let rule = export.text.lines().last().unwrap();
        assert_eq!(
            rule,
            r#"ACTION=="add|change", SUBSYSTEM=="nvme", KERNEL=="nvme[0-9]*", ATTR{serial}=="S5P2?*", ATTR{power/pm_qos_latency_tolerance_us}="0""#
        );
        assert!(export.left_out[0].contains("kernel-args"), "{:?}", export.left_out);
        let machine = machine_with_queue("loop7", &std::collections::BTreeMap::new());
        let change_log = change_log_of(&[
            ("cpu", "governor", "powersave", "performance"),
            ("loop7", "nomerges", "0", "2"),
        ]);
        let export = exported(&machine, &change_log);
        let rule = export.text.lines().last().unwrap();
        assert_eq!(
            rule,
            r#"ACTION=="add|change", SUBSYSTEM=="cpu", KERNEL=="cpu[0-9]*", ATTR{cpufreq/scaling_governor}="performance""#
        );
        assert!(export.left_out[0].contains("no stable name"), "{:?}", export.left_out);
        let gone = change_log_of(&[("nvme9n1", "nomerges", "0", "2")]);
        assert!(exported(&machine, &gone).left_out[0].contains("is not present"));
    }
}
