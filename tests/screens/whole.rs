//! Machine, Findings and Why at the four sizes of their pictures: no text is cut, hardly a row is empty.

use crate::screen::{after, shown};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (300, 100)];

const DEMOS: [&str; 3] = ["threadripper-before", "x570", "laptop"];

/// Keys and seconds: the machine at rest, in a test and after one, findings, and why at rest, in a test and after one.
const STATES: [(&str, u64); 8] =
    [("1", 0), ("1jjj", 0), ("4r1", 6), ("4r1", 14), ("2", 0), ("6", 0), ("4r6", 6), ("4r6", 14)];

/// Steps of the pull, and findings under load.
const PULL: [(&str, u64); 6] = [("r1", 5), ("r6", 5), ("r1", 28), ("r6", 28), ("r1", 40), ("r6", 40)];

#[test]
fn no_text_of_machine_findings_and_why_is_cut_at_any_size() {
    let states = STATES.into_iter().chain(PULL).chain([("4r2", 6)]);
    let mut cut = Vec::new();
    for demo in DEMOS {
        for size in SIZES {
            for (keys, seconds) in states.clone() {
                let picture = shown(&after(demo, size, keys, seconds));
                let rows = picture.lines().filter(|row| row.contains('…'));
                cut.extend(rows.map(|row| format!("{demo} {size:?} {keys} {seconds}: {row}")));
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
