//! Any bytes as a list of PCI ids: a name that is found is one of its lines.
#![no_main]

use iodyno::source::pci::names_in;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|list: &[u8]| {
    for (vendor, device, class) in
        [(0x8086, 0x0d57, 0x01_08_02), (0x144d, 0xa80a, 0x06_04_00), (0xffff, 0xffff, 0xff_ff_ff)]
    {
        for name in names_in(list, vendor, device, class).into_iter().flatten() {
            assert!(!name.as_str().is_empty() && name.as_str().chars().all(|letter| !letter.is_control()));
        }
    }
});
