//! Any text as a configuration file: each mistake is one line, and what is read is printed as a file that reads alike.
#![no_main]

use iodyno::config::{Names, Place, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = Names { commands: vec!["pull", "units"], columns: vec!["link", "temp"], ..Names::default() };
    let (config, wrong) = read(text, &names);
    assert!(wrong.iter().all(|wrong| !wrong.to_string().chars().any(char::is_control)));
    assert_eq!(read(&config.text(&Place::Nowhere), &names), (config, Vec::new()));
});
