//! The mouse: drags on curves, the wheel over each panel and overlay, clicks on headings.

use std::time::Duration;

use crate::screen::{open, press, shown};
use iodyno::{
    app::{
        Message,
        message::{Mouse, MouseAction},
    },
    runtime::headless::Headless,
};

/// A demo on a screen of `size` after these keys.
fn open_with(demo: &str, size: (u16, u16), keys: &str) -> Headless {
    let mut headless = open(demo, size);
    press(&mut headless, keys);
    headless
}

/// Where a word stands first: column and row.
fn place(headless: &Headless, word: &str) -> (u16, u16) {
    let picture = shown(headless);
    let mut rows = picture.lines().enumerate();
    let (row, line) =
        rows.find(|(_, line)| line.contains(word)).unwrap_or_else(|| panic!("{word}\n{picture}"));
    let at = line.find(word).expect("it was found");
    (line[..at].chars().count().try_into().expect("a column"), row.try_into().expect("a row"))
}

fn mouse(headless: &mut Headless, (column, row): (u16, u16), action: MouseAction) {
    headless.send(Message::Mouse(Mouse { column, row, action }));
}

/// The figure behind `word` in a line, such as `mean 6.52`.
fn figure(line: &str, word: &str) -> f64 {
    let rest = line.split(word).nth(1).unwrap_or_else(|| panic!("{word} in {line}")).trim_start();
    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_else(|_| panic!("a figure after {word} in {line}"))
}

#[test]
fn a_drag_on_a_curve_shows_the_figures_of_its_span() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut headless = open_with("x570", size, "4r");
        headless.wait(Duration::from_secs(12));
        let (x, y) = place(&headless, "throughput");
        // Behind the axis, ten columns of the plot.
        mouse(&mut headless, (x + 20, y + 2), MouseAction::Press);
        assert!(!shown(&headless).contains(" s: mean "), "a press alone selects nothing");
        mouse(&mut headless, (x + 26, y + 3), MouseAction::Drag);
        mouse(&mut headless, (x + 29, y + 3), MouseAction::Drag);
        mouse(&mut headless, (x + 29, y + 3), MouseAction::Release);
        let picture = shown(&headless);
        let line =
            picture.lines().find(|line| line.contains(" s: mean ")).unwrap_or_else(|| panic!("{picture}"));
        let (mean, least) =
            (figure(line, "mean"), figure(line, if line.contains("min") { "min" } else { ", " }));
        assert!(0.0 < least && least <= mean && mean < 100.0, "{line}");
        assert!(picture.contains('━'), "the span is marked\n{picture}");
        if size.0 == 200 {
            let other = picture.lines().find(|line| line.contains("IOPS  ")).expect("three curves");
            assert!(other.matches(" s: mean ").count() == 2, "all curves show the same span: {other}");
        }
        press(&mut headless, "<Esc>");
        assert!(!shown(&headless).contains(" s: mean "), "Esc clears it");
        assert!(place(&headless, "throughput").1 == y, "and stays on the screen");
    }
}

#[test]
fn a_drag_on_the_curves_of_machine_shows_the_figures_of_its_span() {
    for size in [(120, 40), (200, 60), (300, 100)] {
        let mut headless = open_with("x570", size, "4r");
        headless.wait(Duration::from_secs(8));
        press(&mut headless, "1");
        let (x, y) = place(&headless, "nvme0n1  reads ");
        let right = place(&headless, " now ").0;
        mouse(&mut headless, (right - 2, y + 3), MouseAction::Press);
        mouse(&mut headless, (right, y + 3), MouseAction::Drag);
        mouse(&mut headless, (right, y + 4), MouseAction::Release);
        let picture = shown(&headless);
        let mark = " s mean: reads ";
        let line = picture.lines().find(|line| line.contains(mark)).unwrap_or_else(|| panic!("{picture}"));
        let (mean, most) = (figure(line, mark), figure(line, ", max"));
        assert!(0.0 < mean && mean <= most && line.contains("GB/s"), "{line}");
        assert!(line.contains("nvme0n1"), "its name stays: {line}");
        assert!(
            size.0 == 120 || picture.matches(mark).count() >= 2,
            "all curves show the same span\n{picture}"
        );
        assert!(picture.contains('━') && picture.contains("Esc clear span"), "{picture}");
        press(&mut headless, "<Esc>");
        assert!(!shown(&headless).contains(mark), "Esc clears it");
        assert_eq!(place(&headless, "nvme0n1  reads "), (x, y), "and stays on the screen");
        // A click still opens the facts.
        mouse(&mut headless, (right, y + 3), MouseAction::Press);
        mouse(&mut headless, (right, y + 3), MouseAction::Release);
        assert!(shown(&headless).contains("Esc close"), "{}", shown(&headless));
    }
}

#[test]
fn a_span_begins_with_the_first_sample() {
    let seconds = |picture: &str| -> f64 {
        let line = picture.lines().find(|line| line.contains(" s mean: reads ")).expect("a span");
        let before = line.split(" s mean: reads ").next().unwrap_or_default();
        before.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("seconds")
    };
    let mut headless = open_with("x570", (200, 60), "4r");
    headless.wait(Duration::from_secs(8));
    press(&mut headless, "1");
    let (x, y) = place(&headless, "nvme0n1  reads ");
    let right = place(&headless, " now ").0;
    mouse(&mut headless, (x + 20, y + 3), MouseAction::Press);
    mouse(&mut headless, (x + 24, y + 3), MouseAction::Drag);
    mouse(&mut headless, (x + 24, y + 3), MouseAction::Release);
    assert!(shown(&headless).contains("Nothing was read in that span of time"), "{}", shown(&headless));
    mouse(&mut headless, (x + 20, y + 3), MouseAction::Press);
    mouse(&mut headless, (right + 3, y + 3), MouseAction::Drag);
    mouse(&mut headless, (right + 3, y + 3), MouseAction::Release);
    let picture = shown(&headless);
    assert!(seconds(&picture) < 9.0, "nothing was counted before the test\n{picture}");
}

#[test]
fn a_click_clears_a_span_and_the_next_one_shows_another_curve() {
    let mut headless = open_with("x570", (80, 24), "4r");
    headless.wait(Duration::from_secs(12));
    let (x, y) = place(&headless, "throughput");
    mouse(&mut headless, (x + 20, y + 2), MouseAction::Press);
    mouse(&mut headless, (x + 30, y + 2), MouseAction::Drag);
    mouse(&mut headless, (x + 30, y + 2), MouseAction::Release);
    assert!(shown(&headless).contains(" s: mean "));
    for (expected, is_kept) in [("throughput", true), ("IOPS  ", false)] {
        mouse(&mut headless, (x + 20, y + 2), MouseAction::Press);
        mouse(&mut headless, (x + 20, y + 2), MouseAction::Release);
        let picture = shown(&headless);
        assert!(!picture.contains(" s: mean ") && picture.contains(expected), "{picture}");
        assert_eq!(picture.contains("throughput"), is_kept, "{picture}");
    }
}

#[test]
fn the_wheel_scrolls_what_is_under_the_pointer() {
    // What it turns stays in the panel.
    let others = [("", "nvme9n1"), ("", "Findings  "), ("n<Enter>", "Esc closes")];
    for (keys, word) in others.into_iter().chain(crate::wheel::LISTS) {
        let mut headless = open_with("threadripper-before", (80, 24), keys);
        let (x, y) = place(&headless, word);
        let before = shown(&headless);
        for _ in 0..20 {
            mouse(&mut headless, (x, y), MouseAction::WheelDown);
        }
        let after = shown(&headless);
        assert!(before != after, "{keys} {word}\n{before}");
        for _ in 0..3 {
            mouse(&mut headless, (x, y), MouseAction::WheelUp);
        }
        let back = shown(&headless);
        assert!(back != after, "{keys} {word}: it does not scroll back\n{after}");
    }
}

#[test]
fn the_wheel_leaves_other_panels_alone() {
    let mut headless = open_with("threadripper-before", (80, 24), "2");
    let (x, y) = place(&headless, "gain  ");
    mouse(&mut headless, (x, y), MouseAction::WheelDown);
    assert_eq!(headless.app.screens.findings.selected, 0);
    assert_eq!(headless.app.screens.findings.detail_top, 1);
    // Nothing is under the pointer in the footer.
    let before = shown(&headless);
    mouse(&mut headless, (3, 23), MouseAction::WheelDown);
    assert_eq!(shown(&headless), before);
}

#[test]
fn the_facts_of_a_row_scroll_beside_the_tree() {
    let mut headless = open_with("threadripper-before", (120, 40), "np");
    let at = place(&headless, "with paths");
    let before = shown(&headless);
    mouse(&mut headless, at, MouseAction::WheelDown);
    assert!(shown(&headless) != before, "{before}");
    press(&mut headless, "n");
    press(&mut headless, "N");
    assert_eq!(shown(&headless), before, "another row begins at its first fact");
}

#[test]
fn a_click_on_a_heading_sorts_and_another_one_reverses() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open_with("threadripper-before", size, "");
        let heading = place(&headless, "limit");
        for order in ["by limit, largest first", "by limit, smallest first", "by limit, largest first"] {
            mouse(&mut headless, heading, MouseAction::Press);
            assert!(shown(&headless).contains(&format!("Sorted {order}")), "{order}\n{}", shown(&headless));
        }
        // Above the names.
        mouse(&mut headless, (8, heading.1), MouseAction::Press);
        assert!(shown(&headless).contains("Sorted in bus order"), "{}", shown(&headless));
    }
}

#[test]
fn tables_of_why_are_sorted_by_their_headings() {
    let mut headless = open_with("threadripper-before", (200, 60), "r");
    headless.wait(Duration::from_secs(4));
    press(&mut headless, "6");
    let heading = place(&headless, "I/O/intr");
    mouse(&mut headless, heading, MouseAction::Press);
    assert!(shown(&headless).contains("by I/O/intr  "), "{}", shown(&headless));
    mouse(&mut headless, heading, MouseAction::Press);
    assert!(shown(&headless).contains("by I/O/intr, reversed"), "{}", shown(&headless));
    press(&mut headless, "R");
    assert!(shown(&headless).contains("by I/O/intr  "), "{}", shown(&headless));
    press(&mut headless, "<lt>");
    assert!(shown(&headless).contains("by intr/s  "), "{}", shown(&headless));
    press(&mut headless, ">");
    assert!(shown(&headless).contains("by I/O/intr  "), "{}", shown(&headless));
}

#[test]
fn a_list_of_runs_goes_on_with_a_mark_and_follows_the_run_shown() {
    let mut headless = open_with("x570", (120, 40), "4");
    for _ in 0..9 {
        press(&mut headless, "r");
        headless.wait(Duration::from_secs(1));
        press(&mut headless, "x");
        headless.wait(Duration::from_secs(1));
    }
    let picture = shown(&headless);
    assert!(picture.contains("[ older: ") && picture.contains("tests  9"), "{picture}");
    press(&mut headless, "[[[[[[[[");
    assert!(!shown(&headless).contains("[ older: "), "{}", shown(&headless));
    let (x, y) = place(&headless, "tests  9");
    mouse(&mut headless, (x + 2, y + 1), MouseAction::Press);
    assert!(shown(&headless).contains("[ older: "), "the run pressed is not the oldest");
}

/// Turns the wheel over the panel with this title.
fn wheel_over(headless: &mut Headless, word: &str, action: MouseAction) {
    let (x, y) = place(headless, word);
    mouse(headless, (x + 1, y + 1), action);
}

#[test]
fn the_wheel_scrolls_the_bottleneck_the_targets_and_the_runs() {
    let mut headless = open_with("threadripper-before", (80, 24), "4r");
    headless.wait(Duration::from_secs(3));
    for (title, [down, up]) in [("targets  ", ["PgDn: 5", "↑ 1"]), ("Bottleneck", ["PgDn: ", "PgUp: 1"])] {
        let before = shown(&headless);
        let line =
            |picture: &str| picture.lines().find(|line| line.contains(title)).unwrap_or_default().to_owned();
        assert!(line(&before).contains(down), "{title} goes on\n{before}");
        wheel_over(&mut headless, title, MouseAction::WheelDown);
        let after = shown(&headless);
        assert!(line(&after).contains(up), "{title} has moved\n{after}");
        wheel_over(&mut headless, title, MouseAction::WheelUp);
        assert!(!line(&shown(&headless)).contains(up), "{title} is back\n{}", shown(&headless));
    }
    let mut headless = open_with("threadripper-before", (120, 40), "r");
    headless.wait(Duration::from_secs(200));
    let runs = |headless: &Headless| {
        let picture = shown(headless);
        let mut lines = picture.lines().map(str::to_owned);
        lines
            .find(|line| line.contains("PgUp: ") || line.contains("PgDn: "))
            .unwrap_or_else(|| panic!("{picture}"))
    };
    assert!(!runs(&headless).contains("PgDn: "), "the newest run is in sight: {}", runs(&headless));
    wheel_over(&mut headless, "Runs  d shows", MouseAction::WheelUp);
    assert!(runs(&headless).contains("PgDn: 1 more"), "{}", runs(&headless));
}

#[test]
fn a_click_below_the_selected_command_runs_the_one_it_is_on() {
    let mut headless = open_with("x570", (60, 20), ":mark<Down><Down>");
    let at = place(&headless, " help  ");
    mouse(&mut headless, at, MouseAction::Press);
    assert!(shown(&headless).contains("keys and marks"), "{}", shown(&headless));
    let mut headless = open_with("x570", (60, 20), ":mark<Down><Down>");
    let at = place(&headless, "  drives");
    mouse(&mut headless, at, MouseAction::Press);
    assert_eq!(headless.app.screen.0, "tune");
}

/// Each panel of Why with curves selects a span, and all show the figures of the same one.
#[test]
fn a_drag_on_the_curves_of_why_shows_the_figures_of_its_span() {
    for (size, curve) in
        [((80, 24), ""), ((120, 40), ""), ((200, 60), "all drives read"), ((300, 100), "⣿ busy ")]
    {
        let mut headless = open_with("x570", size, "4r");
        headless.wait(Duration::from_secs(25));
        press(&mut headless, "r");
        headless.wait(Duration::from_secs(5));
        press(&mut headless, "6");
        if curve.is_empty() {
            // One panel has the whole screen, and so room for curves.
            press(&mut headless, "<Enter>");
        }
        let before = shown(&headless);
        let word = if curve.is_empty() { "last 1 s: " } else { curve };
        let (x, y) = place(&headless, word);
        let right = before.lines().skip(usize::from(y)).find_map(|line| {
            let start = line.match_indices(" now ").map(|(at, _)| line[..at].chars().count());
            start.filter(|start| *start > usize::from(x)).min()
        });
        let right = u16::try_from(right.unwrap_or_else(|| panic!("{before}"))).unwrap();
        mouse(&mut headless, (right - 4, y + 3), MouseAction::Press);
        mouse(&mut headless, (right, y + 3), MouseAction::Drag);
        mouse(&mut headless, (right, y + 4), MouseAction::Release);
        let picture = shown(&headless);
        let figures =
            picture.lines().filter(|line| line.contains(" s mean: ") || line.contains(" s: ")).count();
        assert!(figures > 0 && picture.contains(" s mean: "), "{size:?}\n{picture}");
        assert!(picture.contains('━') && picture.contains("Esc clear span"), "{picture}");
        press(&mut headless, "<Esc>");
        assert!(!shown(&headless).contains(" s mean: "), "Esc clears it");
        assert_eq!(place(&headless, word), (x, y), "and stays on the screen");
    }
}
