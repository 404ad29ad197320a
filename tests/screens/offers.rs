//! What panels and footers offer is what their keys do now, and figures name the time they are of.

use std::{io::Write as _, time::Duration};

use crate::screen::{after, footer, open, press, shown};
use iodyno::{app::Message, runtime::headless::Headless};

const DEMO: &str = "threadripper-before";
const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);

/// The machine of a text with these devices besides a host bridge.
fn text(devices: &str) -> Headless {
    let mut headless = open("laptop", SMALL);
    let host = "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\r";
    headless.send(Message::Paste(format!("{host}{devices}")));
    assert!(shown(&headless).contains("TEXT"), "{}", shown(&headless));
    headless
}

#[test]
fn the_stats_bar_names_the_key_of_a_pull_where_that_begins_one() {
    for (keys, names_key) in [("1", true), ("6", true), ("4", false), ("5", false)] {
        let picture = shown(&after(DEMO, SMALL, keys, 0));
        assert!(picture.contains("No counters until a test runs"), "{keys} {picture}");
        assert_eq!(picture.contains("runs: press r"), names_key, "{keys} {picture}");
    }
}

#[test]
fn findings_counted_under_load_are_marked_in_their_rows() {
    for (size, seconds, when) in [
        (SMALL, 20, "under load"),
        (SMALL, 100, "in last test"),
        ((200, 60), 20, "under load"),
        ((200, 60), 100, "in last test"),
    ] {
        let mut headless = after(DEMO, size, "r<Enter>", seconds);
        // A small Machine has one row of findings.
        for screen in if size == SMALL { &["2"][..] } else { &["1", "2"] } {
            press(&mut headless, screen);
            let picture = shown(&headless);
            let count = |line: &str| {
                line.split(", ").find_map(|part| part.split(&format!(" {when}")).next()?.parse().ok())
            };
            let heading = picture.lines().find(|line| line.contains("Findings  ")).map(str::to_owned);
            let Some(heading) = heading else { continue };
            let rows = picture
                .lines()
                .filter(|line| line.contains(&format!("  {when}")) && !line.contains("Findings  "));
            assert_eq!(count(&heading), Some(rows.count()), "{screen} {size:?} {picture}");
        }
    }
}

#[test]
fn captions_of_curves_name_their_time_after_a_test() {
    let mut headless = after(DEMO, (200, 60), "4r", 40);
    press(&mut headless, "6");
    let picture = shown(&headless);
    assert!(picture.contains("as the last test ended"), "{picture}");
    assert!(picture.contains("now: ⣿ threads run 0") && !picture.contains("last 1 s: ⣿"), "{picture}");
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "6");
    assert!(shown(&headless).contains("last 1 s: ⣿ "), "{}", shown(&headless));
}

#[test]
fn a_staged_value_can_be_dropped_during_an_experiment() {
    let mut headless = after(DEMO, SMALL, "3<Right><Right>-", 0);
    assert!(footer(&headless).contains("Backspace undo"), "{}", shown(&headless));
    press(&mut headless, "5<Enter>3");
    assert!(footer(&headless).contains("Backspace undo"), "{}", shown(&headless));
    press(&mut headless, "<BS>");
    assert!(headless.app.shared.settings.staged.is_empty());
}

#[test]
fn the_next_drive_and_card_moves_are_offered_where_there_are_some() {
    let drive = "00:1d.0 PCI bridge [0604]: Intel Corporation Device [8086:a330]\r\
        3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 [1179:011a]\r";
    let mut one = text(drive);
    press(&mut one, "n");
    assert!(!footer(&one).contains("n next"), "{}", shown(&one));
    press(&mut one, "5");
    assert!(!footer(&one).contains("card moves"), "{}", shown(&one));
    press(&mut one, "8");
    assert!(shown(&one).contains("there is nothing"), "{}", shown(&one));
    let demo = after("laptop", SMALL, "5", 0);
    assert!(footer(&demo).contains("w card moves"), "{}", shown(&demo));
}

#[test]
fn the_dyno_says_what_runs_the_workload_during_an_experiment() {
    let mut headless = after(DEMO, LARGE, "5<Enter>", 3);
    press(&mut headless, "4");
    let picture = shown(&headless);
    assert!(picture.contains("An experiment is running: 5 shows it"), "{picture}");
    assert!(!picture.contains("6 shows what else limits"), "{picture}");
}

#[test]
fn n_goes_to_the_next_match_of_a_find_that_is_kept() {
    for (keys, at) in [("2/io<Enter>", "find io: "), ("8/nvme<Enter>", "find nvme: ")] {
        let mut headless = after(DEMO, SMALL, keys, 0);
        let place = |headless: &Headless| {
            let picture = shown(headless);
            let found =
                picture.split(at).nth(1).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
            found.unwrap_or_else(|| panic!("{picture}"))
        };
        assert!(footer(&headless).contains("n next"), "{keys} {}", shown(&headless));
        let first = place(&headless);
        press(&mut headless, "n");
        assert_eq!(place(&headless), first + 1, "{keys} {}", shown(&headless));
        press(&mut headless, "N");
        assert_eq!(place(&headless), first, "{keys} {}", shown(&headless));
        press(&mut headless, "<Esc>");
        assert!(!footer(&headless).contains("n next"), "{keys} {}", shown(&headless));
    }
    let mut headless = after(DEMO, SMALL, "r", 20);
    press(&mut headless, "6<Right>/nvme<Enter>");
    assert!(footer(&headless).contains("n next"), "{}", shown(&headless));
    let before = shown(&headless);
    press(&mut headless, "n");
    assert_ne!(shown(&headless), before);
}

#[test]
fn an_undo_of_nothing_names_no_other_undo() {
    let headless = after(DEMO, SMALL, "3U", 0);
    let picture = shown(&headless);
    assert!(picture.contains("This run has no changes left to undo"), "{picture}");
    assert!(!picture.contains("undoes a single value"), "{picture}");
}

#[test]
fn what_is_stopping_is_not_offered_to_be_stopped() {
    for keys in ["5<Enter>", "4r"] {
        let mut headless = after(DEMO, SMALL, keys, 3);
        assert!(footer(&headless).contains("x stop"), "{}", shown(&headless));
        press(&mut headless, "x");
        assert!(!footer(&headless).contains("x stop"), "{}", shown(&headless));
    }
}

#[test]
fn the_count_of_a_find_stays_in_the_title_of_a_sorted_list() {
    for keys in ["s", "ss", "<lt>", "<lt>R", ">>R"] {
        let headless = after(DEMO, SMALL, &format!("{keys}/nvme<Enter>"), 0);
        let picture = shown(&headless);
        assert!(picture.contains("find nvme: ") && picture.contains(" of 10 "), "{keys} {picture}");
    }
}

#[test]
fn a_path_that_does_not_open_stays_in_its_field() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\n").unwrap();
    let path = file.path().display().to_string();
    let (wrong, last) = path.split_at(path.len() - 1);
    let mut headless = after(DEMO, SMALL, "<C-o>", 0);
    headless.send(Message::Paste(wrong.to_owned()));
    press(&mut headless, "<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("check the name") && picture.contains(&format!("open {wrong}")), "{picture}");
    headless.send(Message::Paste(last.to_owned()));
    press(&mut headless, "<Enter>");
    let picture = shown(&headless);
    assert!(
        picture.contains("TEXT")
            && headless.app.notice.is_some()
            && !picture.contains(&format!("open {path}")),
        "{picture}"
    );
}

#[test]
fn a_paused_pull_names_its_key_on_its_own_page() {
    let mut headless = after(DEMO, SMALL, "r", 2);
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    assert!(picture.contains("paused: Space resumes"), "{picture}");
    assert!(footer(&headless).contains("Space resume"), "{picture}");
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(1));
    assert!(!shown(&headless).contains("paused"), "{}", shown(&headless));
    assert!(footer(&headless).contains("Space pause"), "{}", shown(&headless));
}

#[test]
fn the_title_offers_the_help_where_its_key_opens_it() {
    let offers = |headless: &Headless| {
        shown(headless).lines().next().is_some_and(|title| title.trim_end().ends_with("? help"))
    };
    for keys in ["1", "2", "4", "5", "8", "1/nvme<Enter>"] {
        assert!(offers(&after("x570", SMALL, keys, 0)), "{keys}");
    }
    // Fields, texts and questions over the screen.
    for keys in ["1/", "4<Enter>", "5e", ":", "?", "??", "1<Enter>", "1c", "4rq"] {
        for size in [SMALL, LARGE] {
            let headless = after("x570", size, keys, 0);
            assert!(!offers(&headless), "{keys} {}", shown(&headless));
        }
    }
}
