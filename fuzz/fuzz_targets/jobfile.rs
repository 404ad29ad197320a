//! Any text as a job file of fio: sections, options, variables; what is said of it is one line each.
#![no_main]

use iodyno::cli::bench::jobfile::JobFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let file = JobFile::parse(text, |name| (name.len() % 2 == 0).then(|| name.to_owned()));
    for note in file.notes {
        assert!(!note.chars().any(char::is_control));
    }
});
