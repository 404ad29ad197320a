//! Any content under any path: it is redacted the same way twice, and binary records keep their length.
#![no_main]

use iodyno::redact::Redactor;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: (&str, &[u8])| {
    let (path, content) = file;
    let mut redactor = Redactor::new();
    redactor.learn(path, content);
    let once = redactor.content(path, content);
    assert_eq!(redactor.content(path, content), once);
    // Kernel arguments and rules become `name=<redacted>`.
    if path.starts_with("/ioctl/") {
        assert_eq!(once.len(), content.len());
    }
});
