//! Any pasted text is a file name, a text or nothing.
#![no_main]

use iodyno::ui::Opening;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Opening::from_paste(text) {
        Some(Opening::File(path)) => assert!(path.as_os_str().len() < 4096),
        Some(Opening::Text(lines)) => assert!(!lines.contains('\r')),
        Some(Opening::First) | None => {}
    }
});
