//! What goes on and what leaves by itself while nothing is pressed.

use std::time::Duration;

use crate::screen::{open, press, shown};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Newest row of dstat's table.
fn row(picture: &str) -> String {
    let rows: Vec<&str> =
        picture.lines().filter(|line| line.contains('|') && !line.contains("usr")).collect();
    let newest = rows.iter().rev().find(|row| row.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    newest.map_or_else(String::new, |row| (*row).to_owned())
}

#[test]
fn counters_of_a_demo_go_on_after_a_test_and_in_its_pause() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "4r");
    headless.wait(seconds(4));
    let busy = row(&shown(&headless));
    assert!(busy.contains('G') || busy.contains('M'), "{busy}");
    press(&mut headless, "<Space>");
    headless.wait(seconds(4));
    let paused = row(&shown(&headless));
    assert!(!paused.contains('G') && !paused.contains('M') && paused.contains("100"), "{paused}");
    press(&mut headless, "<Space>");
    headless.wait(seconds(3));
    assert!(row(&shown(&headless)).contains(['G', 'M']), "{}", shown(&headless));
    press(&mut headless, "x");
    headless.wait(seconds(70));
    let picture = shown(&headless);
    let resting = row(&picture);
    assert!(!resting.contains(['G', 'M']) && resting.contains("100"), "{picture}");
    let highest = headless
        .app
        .shared
        .load
        .history(&[headless.app.shared.machine.drives[0].name.clone()])
        .read
        .window_most();
    assert!(highest < 1.0, "the last minute is over: {highest}");
    press(&mut headless, "6");
    // The curves go on; tables and sentence are of the test, and say so.
    assert!(shown(&headless).contains("as the last test ended"), "{}", shown(&headless));
}

#[test]
fn a_demo_counts_nothing_before_its_first_test() {
    let mut headless = open("laptop", (120, 40));
    headless.wait(seconds(5));
    assert!(shown(&headless).contains("No counters until a test runs: press r"), "{}", shown(&headless));
}

#[test]
fn a_notice_of_success_leaves_the_footer_and_a_problem_stays() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "3l+a<Enter>");
    headless.wait(seconds(1));
    assert!(shown(&headless).contains("1 of 1 applied"), "{}", shown(&headless));
    headless.wait(seconds(6));
    let footer = shown(&headless).lines().last().expect("a row").to_owned();
    for hint in ["Backspace undo", "E udev rules", "q quit"] {
        assert!(footer.contains(hint), "{hint}: {footer}");
    }
    press(&mut headless, "8g<Space>");
    assert!(shown(&headless).contains("! "), "{}", shown(&headless));
    headless.wait(seconds(60));
    assert!(
        shown(&headless).contains("a root complex is a part") || shown(&headless).contains("! "),
        "{}",
        shown(&headless)
    );
}
