//! Memory that an opened capture takes. The only test of its program: the peak is the whole process's.

use std::fmt::Write as _;

use iodyno::source::capture::TextRoot;

#[path = "common/peak.rs"]
mod peak;
use peak::peak;

#[test]
fn a_capture_of_short_files_takes_less_than_five_times_its_text() {
    let mut text = "iodyno capture 1\n\n".to_owned();
    // Sorted as iodyno writes them, and the other way round.
    for file in (0..125_000).chain((125_000..250_000).rev()) {
        let _infallible = writeln!(text, "file /sys/a/{file:06} {}", file % 10);
    }
    let Some(before) = peak() else { return };
    let _root = TextRoot::parse(&text).unwrap();
    let taken = peak().unwrap_or(before) - before;
    let length = text.len() as u64;
    eprintln!("{taken} bytes for {length}");
    assert!(taken < 5 * length, "{taken} bytes for a text of {length}");
}
