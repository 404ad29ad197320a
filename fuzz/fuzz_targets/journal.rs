//! Whatever a journal holds, its undo writes nothing but files of settings, and words to them.
#![no_main]

use std::{collections::BTreeSet, sync::OnceLock};

use iodyno::{
    machine::Machine,
    source::{origin::Origin, read_machine},
    tune::{
        Device, SETTINGS,
        journal::parse,
        change_log::ChangeLog,
        undo::{Which, plan},
    },
};
use libfuzzer_sys::fuzz_target;

/// A demo's machine with the files that the table yields for its devices.
fn scene() -> &'static (Machine, BTreeSet<String>) {
    static SCENE: OnceLock<(Machine, BTreeSet<String>)> = OnceLock::new();
    SCENE.get_or_init(|| {
        let root = Origin::Demo("x570".to_owned()).open().expect("a demo opens");
        let (machine, _) = read_machine(&*root);
        let drives = machine.drives.iter().map(|drive| Device::Drive(drive.name.clone()));
        let functions = machine.pci.nodes.iter().filter_map(|node| node.address.to_string().parse().ok());
        let devices: Vec<Device> = drives.chain(functions.map(Device::Pci)).chain([Device::Cpu]).collect();
        let files = SETTINGS.iter().flat_map(|row| devices.iter().flat_map(|device| (row.read)(&machine, device)));
        let files = files.map(|reading| reading.path().to_string()).collect();
        (machine, files)
    })
}

fuzz_target!(|content: &[u8]| {
    let (machine, files) = scene();
    let records = parse(content).records;
    for boot in records.iter().map(|record| record.boot.as_str()).collect::<BTreeSet<_>>() {
        for step in plan(&ChangeLog::of(&records, boot), &Which::All, machine).0 {
            assert!(files.contains(&step.file) || step.setting == "driver", "{step:?}");
            assert!(step.target.bytes().all(|byte| byte.is_ascii_graphic()), "{step:?}");
        }
    }
});
