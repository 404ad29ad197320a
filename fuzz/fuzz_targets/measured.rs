//! Any text as a line of what tests measured.
#![no_main]

use iodyno::machine::Measured;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(measured) = Measured::parse(text) {
        let line = measured.to_string();
        assert_eq!(Measured::parse(&line).map(|again| again.to_string()), Some(line));
    }
});
