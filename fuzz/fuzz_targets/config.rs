//! Any text as a configuration file: what is wrong is one line, and what is read is printed as a file that reads alike.
#![no_main]

use iodyno::config::{Names, Place, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let names = Names { commands: vec!["pull", "units"], columns: vec!["link", "temp"], ..Names::default() };
    match read(text, &names) {
        Ok(config) => assert_eq!(read(&config.text(&Place::Nowhere), &names).ok(), Some(config)),
        Err(wrong) => assert!(!wrong.to_string().chars().any(char::is_control)),
    }
});
