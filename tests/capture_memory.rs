//! Memory that an opened capture takes. The only test of its program: the peak is the whole process's.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::{
    env,
    fmt::Write as _,
    process::{Command, Stdio},
};

use iodyno::{
    redact::capture_text,
    source::{
        capture::{Recorder, TextRoot},
        counters, demo, read_machine,
    },
};

#[path = "common/peak.rs"]
mod peak;
use peak::peak;

/// A demo whose `path` has so many lines.
fn with_lines(path: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    let demo = demo::find("laptop").unwrap().capture();
    let mut text = String::new();
    let mut is_other = true;
    for row in demo.lines() {
        is_other = if row.starts_with("  ") { is_other } else { row.split(' ').nth(1) != Some(path) };
        if is_other {
            let _infallible = writeln!(text, "{row}");
        }
    }
    let _infallible = writeln!(text, "text {path}");
    for at in 0..count {
        let _infallible = writeln!(text, "  {}", line(at));
    }
    text
}

/// Reads and writes it as `iodyno capture --open` does.
fn captured(text: &str) {
    let root = TextRoot::parse(text).unwrap();
    let recorder = Recorder::new(&root);
    assert!(!read_machine(&recorder).0.drives.is_empty());
    counters::read(&recorder);
    capture_text(recorder.into_recorded(), false);
}

/// One-line files, sorted as iodyno writes them, and the other way round.
fn short_files() -> String {
    let mut text = "iodyno capture 1\n\n".to_owned();
    for file in (0..125_000).chain((125_000..250_000).rev()) {
        let _infallible = writeln!(text, "file /sys/a/{file:06} {}", file % 10);
    }
    text
}

/// A text, what is done with it, and the memory in lengths of the text that this may not take.
struct Case {
    name: &'static str,
    text: fn() -> String,
    take: fn(&str),
    times: u64,
}

const CASES: [Case; 4] = [
    Case { name: "files", text: short_files, take: |text| drop(TextRoot::parse(text).unwrap()), times: 5 },
    Case {
        name: "words",
        text: || with_lines("/proc/stat", 400_000, |at| format!("w{at} {}", at % 10)),
        take: captured,
        times: 10,
    },
    Case {
        name: "CPUs",
        text: || with_lines("/proc/stat", 300_000, |at| format!("cpu{at} 1 2 3 4")),
        take: captured,
        times: 10,
    },
    Case {
        name: "swap",
        text: || with_lines("/proc/swaps", 220_000, |at| format!("/dev/s{at} partition 0 0 0")),
        take: captured,
        times: 10,
    },
];

/// The case that this process measures: what another one had before it would stay in its memory.
const CASE: &str = "IODYNO_TEST_CASE";

#[test]
fn a_capture_takes_less_than_ten_times_its_text_and_one_of_short_files_five() {
    let Ok(name) = env::var(CASE) else {
        let processes = CASES.map(|case| {
            let mut own = Command::new(env::current_exe().unwrap());
            let own =
                own.arg("--nocapture").env(CASE, case.name).stdout(Stdio::null()).stderr(Stdio::piped());
            (case.name, own.spawn().unwrap())
        });
        for (name, own) in processes {
            let own = own.wait_with_output().unwrap();
            assert!(own.status.success(), "{name}: {}", String::from_utf8_lossy(&own.stderr));
        }
        return;
    };
    let case = CASES.into_iter().find(|case| case.name == name).unwrap();
    let Some(before) = peak() else { return };
    let text = (case.text)();
    (case.take)(&text);
    let (taken, length) = (peak().unwrap_or(before) - before, text.len() as u64);
    eprintln!("{name}: {taken} bytes for a text of {length}");
    assert!(taken < case.times * length, "{taken} bytes for a text of {length}");
}
