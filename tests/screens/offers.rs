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
    assert!(picture.contains("now: ⣿ runnable 0") && !picture.contains("last 1 s: ⣿"), "{picture}");
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

/// A curve of the pull does not join what was read before a pause to what was read after it.
#[test]
fn a_pause_of_a_pull_is_a_gap_in_its_curve() {
    let is_dot = |c: char| ('\u{2801}'..='\u{28ff}').contains(&c);
    let is_gap = |line: &str| {
        let blank = |c: char| matches!(c, ' ' | '\u{2800}');
        let Some((_, dots)) = line.rsplit_once(['┤', '│']).filter(|(_, dots)| dots.contains(is_dot))
        else {
            return false;
        };
        dots.trim_matches(blank).chars().any(blank)
    };
    let curve = |headless: &Headless| {
        let shown = shown(headless);
        let lines = shown.lines().skip_while(|line| !line.contains("Rate over time"));
        lines.map(|line| line.trim_end_matches('│').to_owned()).collect::<Vec<_>>()
    };
    let mut headless = after("laptop", (120, 40), "r", 1);
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(4));
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(1));
    assert!(curve(&headless).iter().any(|line| is_gap(line)), "{}", shown(&headless));
}

/// The name of a run takes all cells that the title of its curve has.
#[test]
fn the_title_of_a_pull_curve_uses_its_room() {
    let mut headless = after("laptop", (100, 30), "r", 12);
    for _ in 0..30 {
        let picture = shown(&headless);
        let title = picture.lines().find(|line| line.contains("Rate over time")).unwrap();
        assert!(!title.contains("… ──"), "{picture}");
        if title.contains("2 jobs") {
            return;
        }
        headless.wait(Duration::from_secs(1));
    }
    panic!("no run of two jobs: {}", shown(&headless));
}

/// Figures of the curve at the foot keep their unit, with one curve and with two.
#[test]
fn figures_beside_the_curve_of_all_drives_have_their_unit() {
    for demo in ["laptop", "x570"] {
        for width in [80, 90, 100, 103, 106, 120] {
            let headless = after(demo, (width, 30), "ur", 2);
            let picture = shown(&headless);
            let title = picture.lines().find(|line| line.contains(" dstat ")).unwrap();
            assert!(title.contains("GiB/s"), "{width} {picture}");
        }
    }
}

/// What a field takes is shown as a whole in a small window, or as far as there is room with the key that shows all of it.
#[test]
fn what_a_field_takes_is_not_cut_in_mid_sentence() {
    use iodyno::screens::dyno::form::FIELDS;
    let mut headless = after("x570", (60, 20), "4", 0);
    for field in FIELDS.iter() {
        let picture = shown(&headless);
        let right = picture.lines().map(|line| line.chars().skip(28).collect::<String>());
        let panel = right.skip_while(|line| !line.starts_with("targets")).skip(1);
        let panel: Vec<String> = panel.take_while(|line| !line.starts_with("Bottleneck")).collect();
        let words = panel.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let is_whole = words.ends_with(field.help) || words.ends_with("… ? shows all");
        assert!(is_whole && words.starts_with(field.name), "{} {words} {picture}", field.name);
        press(&mut headless, "<Down>");
    }
    let help = crate::screen::words(&after("x570", (120, 140), "4?", 0));
    for field in FIELDS.iter() {
        assert!(help.contains(&format!("{} {}", field.name, field.help)), "{}: {help}", field.name);
    }
}

/// Without colours the bars that a help explains differ too.
#[test]
fn marks_of_bars_differ_without_colours() {
    for (keys, count) in [("1?", 4), ("4?", 4), ("8?", 2), ("y?", 0)] {
        let picture = shown(&after("x570", (100, 140), keys, 0));
        let marks = picture.lines().filter_map(|line| {
            let mark: String = line.trim_start_matches(['│', ' ']).chars().take(12).collect();
            mark.contains('▆').then(|| mark.trim().to_owned())
        });
        let mut marks: Vec<String> = marks.collect();
        let all = marks.len();
        marks.sort();
        marks.dedup();
        assert!(marks.len() == all && all >= count, "{keys} {marks:?} {picture}");
    }
}

/// After a find the footer names the key of its next match, also where few hints have room.
#[test]
fn a_find_that_is_kept_offers_its_next_match() {
    // On Slots moves come first where few hints have room.
    for (size, screens) in [((60, 20), 2), ((80, 24), 3)] {
        for keys in &["1/nvme<Enter>", "2/e<Enter>", "8/nvme<Enter>"][..screens] {
            let footer = footer(&after(DEMO, size, keys, 0));
            assert!(footer.contains("n next") && footer.contains("Esc end find"), "{size:?} {keys} {footer}");
        }
    }
}

/// The number of a run is not glued to its block size.
#[test]
fn a_run_of_the_sheet_has_its_number_apart() {
    let mut headless = after("x570", SMALL, "4r", 12);
    press(&mut headless, "7");
    let picture = shown(&headless);
    assert!(picture.contains("] 1: 4k rand 5.69GB/s"), "{picture}");
}
