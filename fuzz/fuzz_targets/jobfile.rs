//! Any text as a job file of fio: sections, options, variables; what is said of it is one line each.
#![no_main]

use iodyno::cli::bench::jobfile::{JobFile, Keywords};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let keywords = Keywords { page_size: 4096, memory: 1 << 20, cpus: 128 };
    let file = JobFile::parse(text, |name| (name.len() % 2 == 0).then(|| name.to_owned()), keywords);
    for note in file.notes.into_iter().chain(file.unsupported) {
        assert!(!note.chars().any(char::is_control));
    }
});
