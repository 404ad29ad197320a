//! Any line is a kept run or experiment or none, and what is one can be written again.
#![no_main]

use iodyno::{
    model::{ExperimentRecord, RunRecord},
    store::parse,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    if let Some(record) = parse::<RunRecord>(line) {
        assert!(serde_json::to_string(&record).is_ok());
    }
    if let Some(record) = parse::<ExperimentRecord>(line) {
        assert!(serde_json::to_string(&record).is_ok());
    }
});
