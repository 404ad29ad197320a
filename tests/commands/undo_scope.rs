//! Whatever a journal says, an undo writes settings alone.

use std::collections::BTreeSet;

use crate::records::{change, named, record};
use iodyno::{
    machine::Machine,
    source::{origin::Origin, read_machine},
    tune::{
        Device, Identity, SETTINGS,
        change_log::ChangeLog,
        journal::{self, Event, Record},
        undo::{Which, plan},
    },
};
use proptest::prelude::*;

/// Every file that a row of the table yields for a device that is there.
fn files(machine: &Machine) -> BTreeSet<String> {
    let drives = machine.drives.iter().map(|drive| Device::Drive(drive.name.clone()));
    let functions =
        machine.pci.nodes.iter().filter_map(|node| node.address.to_string().parse().ok().map(Device::Pci));
    let devices: Vec<Device> = drives.chain(functions).chain([Device::Cpu]).collect();
    let readings =
        SETTINGS.iter().flat_map(|row| devices.iter().flat_map(|device| (row.read)(machine, device)));
    readings.map(|reading| reading.path().to_string()).collect()
}

fn machine() -> Machine {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/d-stock-qemu.capture");
    read_machine(&*Origin::Capture(capture.into()).open().unwrap()).0
}

/// The driver of an NVMe function is the one file that is no row's.
fn is_nvme_driver(machine: &Machine, file: &str) -> bool {
    machine.pci.nodes.iter().any(|node| {
        node.class.get().is_some_and(|class| class >> 8 == 0x01_08)
            && file == format!("/sys/bus/pci/devices/{}/driver", node.address)
    })
}

/// Whatever a journal says, each step of its undo is a setting's file with a value that is a word.
fn undo_stays_within_the_table(machine: &Machine, files: &BTreeSet<String>, content: &[u8]) -> usize {
    let records = journal::parse(content).records;
    let boots: BTreeSet<&str> = records.iter().map(|record| record.boot.as_str()).collect();
    let mut steps = 0;
    for boot in boots {
        let change_log = ChangeLog::of(&records, boot);
        let sessions: Vec<&str> = records.iter().map(|record| record.session.as_str()).collect();
        for which in [Which::All, Which::On(&Device::Cpu), Which::Sessions(&sessions)] {
            for step in plan(&change_log, &which, machine).0 {
                let is_driver = step.setting == "driver" && is_nvme_driver(machine, &step.file);
                assert!(files.contains(&step.file) || is_driver, "{step:?}");
                assert!(!is_driver || step.target != "none", "{step:?}");
                assert!(step.target.bytes().all(|byte| byte.is_ascii_graphic()), "{step:?}");
                steps += 1;
            }
        }
    }
    steps
}

/// Names, files and values that lie near those of the machine.
fn near(machine: &Machine, files: &BTreeSet<String>) -> [Vec<String>; 4] {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut names: Vec<String> = machine.drives.iter().map(|drive| drive.name.to_string()).collect();
    names.extend(machine.pci.nodes.iter().map(|node| node.address.to_string()));
    names.extend(owned(&["cpu", "gone", "../x", ""]));
    let mut paths: Vec<String> = files.iter().cloned().collect();
    paths
        .extend(machine.pci.nodes.iter().map(|node| format!("/sys/bus/pci/devices/{}/driver", node.address)));
    paths.extend(owned(&[
        "/etc/shadow",
        "/sys/kernel/uevent_helper",
        "/sys/bus/pci/devices/../../x/driver",
        "",
    ]));
    let mut settings: Vec<String> = SETTINGS.iter().map(|row| row.id.0.to_owned()).collect();
    settings.extend(owned(&["driver", "x"]));
    let values =
        owned(&["0", "1", "128", "none", "mq-deadline", "auto", "on", "nvme", "../x", "a b", "\n", "-1", ""]);
    [names, paths, settings, values]
}

proptest! {
    #[test]
    fn no_journal_makes_an_undo_leave_the_table(
        content in prop::collection::vec(any::<u8>(), 0..300),
        picks in prop::collection::vec(any::<[u16; 6]>(), 1..12),
    ) {
        thread_local! {
            static SCENE: (Machine, BTreeSet<String>) = {
                let machine = machine();
                let files = files(&machine);
                (machine, files)
            };
        }
        SCENE.with(|(machine, files)| {
            undo_stays_within_the_table(machine, files, &content);
            let [names, paths, settings, values] = near(machine, files);
            let pick = |from: &[String], at: u16| from[usize::from(at) % from.len()].clone();
            let text: String = picks.iter().map(|[name, path, setting, old, new, kind]| {
                let name = pick(&names, *name);
                // Half of them with all that is known of the device of that name.
                let device = match name.parse() {
                    Ok(device) if kind % 2 == 0 => Identity::of(machine, &device),
                    _ => named(&name),
                };
                let file = pick(&paths, *path);
                let event = match kind % 5 {
                    0 => Event::Undone { file, value: pick(&values, *old), sessions: Vec::new() },
                    _ => change(device, &pick(&settings, *setting), &file, &pick(&values, *old), &pick(&values, *new)),
                };
                serde_json::to_string(&Record { time: 1, boot: "b".into(), session: "1-1-1".into(), event }).unwrap() + "\n"
            }).collect();
            undo_stays_within_the_table(machine, files, text.as_bytes());
        });
    }
}

#[test]
fn what_the_table_yields_is_undone() {
    let machine = machine();
    let files = files(&machine);
    let drive = machine.drives.iter().find(|drive| drive.nvme.is_some()).unwrap();
    let device = Identity::of(&machine, &Device::Drive(drive.name.clone()));
    let file = drive.queue.nomerges.path().to_string();
    let change =
        serde_json::to_string(&record("1-1-1", change(device, "nomerges", &file, "0", "2"))).unwrap();
    assert_eq!(
        undo_stays_within_the_table(&machine, &files, change.as_bytes()),
        2,
        "the test above sees steps"
    );
}
