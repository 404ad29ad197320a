//! Machine, Findings and Why at the four sizes of their pictures: no text is cut, hardly a row is empty.

use std::time::Duration;

use iodyno::app::Message;

use crate::screen::{after, press, shown};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (300, 100)];

const DEMOS: [&str; 3] = ["threadripper-before", "x570", "laptop"];

/// Keys that begin, the seconds after which the screens of the other keys are looked at, and these.
type Course = (&'static str, &'static [u64], &'static [&'static str]);

/// At rest; in a test and after one; in three steps of the pull.
const COURSES: [Course; 3] = [
    ("", &[0], &["1", "jjj", "2", "6"]),
    ("4r1", &[6, 14], &["2", "6", "1"]),
    ("r1", &[5, 28, 40], &["6", "1"]),
];

#[test]
fn no_text_of_machine_findings_and_why_is_cut_at_any_size() {
    let mut cut = Vec::new();
    for (demo, (begin, moments, screens)) in
        DEMOS.iter().flat_map(|demo| COURSES.map(|course| (demo, course)))
    {
        let mut headless = after(demo, SIZES[0], begin, 0);
        let mut now = 0;
        for &moment in moments {
            headless.wait(Duration::from_secs(moment - now));
            now = moment;
            for keys in screens {
                press(&mut headless, keys);
                for size in SIZES {
                    headless.send(Message::Resize(size.0, size.1));
                    let picture = shown(&headless);
                    // Behind a whole clause it stands for the rest of a title.
                    let rows = picture.lines().filter(|row| row.replace(" …", "").contains('…'));
                    cut.extend(rows.map(|row| format!("{demo} {size:?} {begin} {now} {keys}: {row}")));
                }
            }
        }
    }
    assert!(cut.is_empty(), "{}", cut.join("\n"));
}

#[test]
fn busy_cpus_leave_no_rows_empty_on_a_low_terminal() {
    for (demo, seconds) in [("threadripper-before", 40), ("x570", 40), ("x570", 28)] {
        let picture = shown(&after(demo, (80, 24), "r6", seconds));
        let panel = picture.lines().skip_while(|line| !line.contains("CPUs  % busy"));
        let empty = panel.take(12).filter(|line| line.trim().is_empty()).count();
        assert!(empty <= 2, "{demo}: {empty} empty rows\n{picture}");
    }
}

#[test]
fn equal_links_that_are_full_are_counted() {
    let picture = shown(&after("x570", (120, 40), "r6", 16));
    let text = "the limit: 4 links, each Gen4 x4 (16 GT/s) at MPS 512 ";
    assert!(picture.contains(text) && !picture.contains("port 0000:00:03.4"), "{picture}");
}

#[test]
fn why_hides_no_row_beside_a_column_that_has_room() {
    for demo in DEMOS {
        let picture = shown(&after(demo, (120, 40), "4r6", 6));
        assert!(!picture.contains('↓'), "{demo}: {picture}");
    }
}

#[test]
fn why_at_rest_fills_the_rows_of_its_panel() {
    for demo in DEMOS {
        for (size, most) in [((120, 40), 3), ((200, 60), 4), ((300, 100), 8)] {
            let picture = shown(&after(demo, size, "6", 0));
            let inside: Vec<&str> =
                picture.lines().skip(3).take_while(|line| line.starts_with('│')).collect();
            let is_empty = |line: &&&str| line.chars().all(|sign| sign == ' ' || sign == '│');
            let empty = inside.iter().rev().take_while(is_empty).count();
            assert!(empty <= most, "{demo} {size:?}: {empty} empty rows\n{picture}");
        }
    }
}

#[test]
fn a_finding_of_the_last_test_is_whole_before_it_says_so() {
    for demo in DEMOS {
        let picture = shown(&after(demo, (120, 40), "4r2", 14));
        assert!(picture.contains("in last test") && !picture.contains('…'), "{demo}: {picture}");
    }
}
