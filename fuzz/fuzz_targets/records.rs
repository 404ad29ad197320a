//! Any bytes as the records of an NVMe controller.
#![no_main]

use iodyno::source::nvme::records;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(namespace) = records::namespace(bytes) {
        assert!(namespace.formats.iter().any(|format| Some(format.index) == namespace.in_use));
    }
    let _ = records::controller(bytes);
    let _ = records::smart(bytes);
});
