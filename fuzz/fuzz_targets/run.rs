//! Any line is a kept run or none, and what is one is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    if let Some(record) = iodyno::store::parse_run(line) {
        assert!(serde_json::to_string(&record).is_ok());
    }
});
