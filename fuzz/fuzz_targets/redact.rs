//! Any content under any path: pseudonyms keep its length.
#![no_main]

use iodyno::redact::Redactor;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: (&str, &[u8])| {
    let (path, content) = file;
    let mut redactor = Redactor::new();
    redactor.learn(path, content);
    assert_eq!(redactor.content(path, content).len(), content.len());
});
