//! Any text as a udev rules file, and as the lines that set something at boot.
#![no_main]

use iodyno::source::rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for rule in rules::parse(text).into_iter().chain(rules::udev::parse("/etc/udev/rules.d/60.rules", text)) {
        assert!(rule.line > 0);
        let _ = rule.leaves("128", &[]);
        let _ = rule.leaves("none", std::slice::from_ref(&rule.value));
    }
});
