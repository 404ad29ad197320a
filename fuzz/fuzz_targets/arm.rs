//! Arms of an experiment as somebody writes them.
#![no_main]

use iodyno::{experiment::own, model::Workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(written) = own::read(&Workload::default(), 0, text) {
        assert!(!written.label.chars().any(char::is_control));
    }
});
