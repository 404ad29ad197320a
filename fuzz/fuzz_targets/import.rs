//! Any bytes as a pasted text of lspci and other tools: it is refused, or a machine can be read from it.
#![no_main]

use iodyno::source::{SysRoot, import, read_machine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let Ok(Some(root)) = import::read(content) else { return };
    let (machine, _) = read_machine(&root);
    let lines = content.split(|byte| *byte == b'\n').count();
    let pasted = root.pasted().unwrap();
    assert!(pasted.unused_lines <= lines);
    assert!(pasted.lines.values().all(|line| (1..=lines.max(content.len())).contains(line)));
    for (index, node) in machine.pci.iter() {
        assert!(machine.pci.ancestry(index).count() <= machine.pci.nodes.len(), "{:?}", node.address);
    }
});
