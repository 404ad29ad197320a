//! Any bytes as a text of lspci, nvme-cli, lsblk or the kernel: refused, or a machine whose capture parses back to itself.
#![no_main]

use iodyno::{
    capacity,
    source::{
        capture::{Recorder, TextRoot, format},
        origin::open_content,
        read_machine,
    },
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = open_content("fuzz", bytes) else { return };
    let recorder = Recorder::new(&*root);
    let (machine, _) = read_machine(&recorder);
    if let Some(pasted) = root.pasted() {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!(pasted.unused_lines <= lines);
        assert!(pasted.lines.values().all(|line| (1..=lines.max(bytes.len())).contains(&line)));
    }
    for (index, node) in machine.pci.iter() {
        assert!(machine.pci.ancestry(index).count() <= machine.pci.nodes.len(), "{:?}", node.address);
    }
    let _ = capacity::limits(&machine);
    let text = recorder.capture();
    let capture = format::parse(&text).expect("a capture parses");
    assert_eq!(format::write(&capture), text);
    let (again, _) = read_machine(&TextRoot::from(capture));
    assert_eq!(again.drives.len(), machine.drives.len());
    assert_eq!(again.pci.nodes.len(), machine.pci.nodes.len());
});
