//! Any words as a move on a built-in machine: they are refused, or every drive is still there afterwards.
#![no_main]

use std::sync::LazyLock;

use iodyno::{
    machine::Machine,
    source::{capture::TextRoot, demo, read_machine},
    whatif::{Move, move_devices},
};
use libfuzzer_sys::fuzz_target;

static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
    let capture = demo::find("threadripper-before").map_or_else(String::new, demo::Demo::capture);
    read_machine(&TextRoot::parse(&capture).expect("a demo reads")).0
});

fuzz_target!(|words: (&str, &str)| {
    let asked = Move::parse(&MACHINE, words.0, words.1);
    let Ok(moved) = asked.and_then(|asked| move_devices(&MACHINE, &asked)) else { return };
    let names = |machine: &Machine| {
        let mut names: Vec<_> = machine.drives.iter().map(|drive| drive.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&moved.then.machine), names(&MACHINE));
});
