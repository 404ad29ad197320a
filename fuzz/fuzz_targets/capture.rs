//! Any text as a capture: it is refused, or it reads as it is written and a machine can be read from it.
#![no_main]

use iodyno::source::{
    capture::{TextRoot, format},
    read_machine,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(capture) = format::parse(text) else { return };
    let written = format::write(&capture);
    assert_eq!(format::parse(&written).as_ref(), Ok(&capture), "{written}");
    let _ = read_machine(&TextRoot::from(capture));
});
