//! Memory that an opened capture takes. The only test of its program: the peak is the whole process's.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::fmt::Write as _;

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

/// Reads and writes it as `iodyno capture --open` does; the length of the text.
fn captured(path: &str, count: usize, line: impl Fn(usize) -> String) -> u64 {
    let text = with_lines(path, count, line);
    let root = TextRoot::parse(&text).unwrap();
    let recorder = Recorder::new(&root);
    assert!(!read_machine(&recorder).0.drives.is_empty());
    counters::read(&recorder);
    capture_text(recorder.into_recorded(), false);
    text.len() as u64
}

#[test]
fn a_capture_takes_less_than_ten_times_its_text_and_one_of_short_files_five() {
    let mut text = "iodyno capture 1\n\n".to_owned();
    // Sorted as iodyno writes them, and the other way round.
    for file in (0..125_000).chain((125_000..250_000).rev()) {
        let _infallible = writeln!(text, "file /sys/a/{file:06} {}", file % 10);
    }
    let Some(before) = peak() else { return };
    drop(TextRoot::parse(&text).unwrap());
    let taken = peak().unwrap_or(before) - before;
    let length = text.len() as u64;
    eprintln!("{taken} bytes for {length}");
    assert!(taken < 5 * length, "{taken} bytes for a text of {length}");
    drop(text);
    // The longer ones last: the peak never falls.
    let words = || captured("/proc/stat", 400_000, |at| format!("w{at} {}", at % 10));
    let cpus = || captured("/proc/stat", 300_000, |at| format!("cpu{at} 1 2 3 4"));
    let swaps = || captured("/proc/swaps", 220_000, |at| format!("/dev/s{at} partition 0 0 0"));
    for (what, length) in [("words", &words as &dyn Fn() -> u64), ("CPUs", &cpus), ("swap", &swaps)] {
        let length = length();
        let times = (peak().unwrap_or(before) - before) / length;
        eprintln!("{what}: {times} times {length} bytes");
        assert!(times < 10, "{what}: {times} times the text");
    }
}
