//! Any bytes as the firmware's tables: slots and memory modules.
#![no_main]

use iodyno::source::smbios;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for slot in smbios::slots_of(bytes) {
        assert!(!slot.name.as_str().is_empty());
        assert!(slot.addresses.len() <= 256);
    }
    assert!(smbios::modules_of(bytes).len() <= bytes.len() / 4);
});
