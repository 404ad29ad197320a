//! Arms of an experiment as users write them.
#![no_main]

use iodyno::{experiment::custom_arms, model::Workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(written) = custom_arms::read(&Workload::default(), 0, text, &[]) {
        assert!(!written.label.chars().any(char::is_control));
    }
});
