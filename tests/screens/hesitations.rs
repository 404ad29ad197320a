//! What made a newcomer hesitate at the screen: titles, tabs, names, notices, forms.

use std::time::Duration;

use crate::screen::{footer, open, press, shown};
use iodyno::{
    app::{Message, ScreenId, update},
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{glyphs::GlyphSet, picture::text, theme::Theme},
};

fn line(headless: &Headless, at: usize) -> String {
    shown(headless).lines().nth(at).unwrap_or_default().to_owned()
}

#[test]
fn enter_during_a_pull_names_the_keys_that_do_something() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "<Enter>");
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert!(notice.contains("x stops it") && notice.contains("Esc leaves it running"), "{notice}");
    press(&mut headless, "j");
    assert!(
        !footer(&headless).contains("Enter") && footer(&headless).contains("Esc back"),
        "{}",
        footer(&headless)
    );
}

#[test]
fn a_pull_that_ends_behind_another_screen_says_so_until_a_key() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "r2");
    headless.wait(Duration::from_mins(2));
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert_eq!(notice, "The pull has ended: 53.5 of 71.4 GB/s (75 %). 4 shows its headline");
    press(&mut headless, "4");
    assert!(shown(&headless).contains("53.5 of 71.4 GB/s (75 %)."), "{}", shown(&headless));
    // On its own page it needs no words.
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(2));
    assert!(headless.app.notice.is_none(), "{:?}", headless.app.notice);
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn the_title_of_the_form_has_whole_parts_at_any_width() {
    for width in 60..=200 {
        let mut headless = open("x570", (width, 40));
        press(&mut headless, "4P");
        let title = line(&headless, 2);
        assert!(title.contains("SEQ1M Q8T1"), "{width}: {title}");
        assert!(!title.contains("all 4") || title.contains("all 4 "), "{width}: {title}");
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn no_title_ends_in_half_a_part() {
    for width in 60..=130 {
        for (keys, seconds) in [("4r", 3), ("5<Enter>", 3)] {
            let mut headless = open("threadripper-before", (width, 24));
            press(&mut headless, keys);
            headless.wait(Duration::from_secs(seconds));
            let title = line(&headless, 2);
            assert!(!title.contains(", ─") && !title.contains(",─"), "{width}: {title}");
            let figure = title.split("max ").nth(1).map(|rest| rest.chars().take(4).collect::<String>());
            assert!(figure.is_none_or(|figure| figure.parse::<f64>().is_ok()), "{width}: {title}");
        }
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn tabs_have_whole_words_at_every_width() {
    let names = ["Machine", "Findings", "Tune", "Dyno", "What-if", "Why", "Sheet", "Slots"];
    for width in 60..=90 {
        for (at, name) in names.iter().enumerate() {
            let mut headless = open("laptop", (width, 24));
            press(&mut headless, &(at + 1).to_string());
            let tabs = line(&headless, 1);
            let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
            let words = tabs.split(|c: char| !c.is_alphanumeric() && c != '-').filter(is_word);
            // A digit glued to a name makes another word.
            assert_eq!(words.collect::<Vec<_>>(), names, "{name} at {width}: {tabs}");
            let leads = if width < 71 { " 1-8: Machine Findings " } else { " 1 Machine 2 Findings" };
            assert!(tabs.starts_with(leads), "{width}: {tabs}");
        }
    }
}

#[test]
fn the_cursor_of_slots_is_never_under_the_mark_of_more_rows() {
    for size in [(60, 20), (70, 22), (80, 24)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "8");
        for _ in 0..16 {
            let picture = shown(&headless);
            let row = picture.lines().find(|line| line.contains('›')).unwrap_or_default().to_owned();
            assert!(!row.is_empty() && !row.contains("more"), "{size:?}: {picture}");
            press(&mut headless, "j");
        }
    }
}

#[test]
fn names_of_slots_take_the_columns_that_the_words_leave() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "8");
    assert!(shown(&headless).contains("FireCuda 530 ZP1000GM30013"), "{}", shown(&headless));
}

#[test]
fn a_path_in_the_form_takes_the_cells_behind_its_label() {
    let mut headless = Headless::open(&Origin::Live, (80, 24)).expect("this machine opens");
    press(&mut headless, "4g<Enter>/mnt/a-long-file<Enter>");
    assert!(shown(&headless).contains("filename …t/a-long-file"), "{}", shown(&headless));
}

#[test]
fn axes_of_gib_have_round_ticks() {
    for keys in ["u4r", "ur"] {
        let mut headless = open("threadripper-before", (120, 40));
        press(&mut headless, keys);
        headless.wait(Duration::from_secs(4));
        let picture = shown(&headless);
        let ticks: Vec<&str> =
            picture.lines().filter_map(|line| line.split('┤').next()?.split_whitespace().last()).collect();
        let digits = |tick: &&str| tick.trim_start_matches("0.").replace('.', "").trim_end_matches('0').len();
        let round = ticks.iter().filter(|tick| tick.parse::<f64>().is_ok());
        for tick in round {
            assert!(digits(tick) <= 2 && !tick.ends_with('8'), "{keys} {tick}: {picture}");
        }
    }
}

#[test]
fn a_card_put_down_where_it_is_does_not_move() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "8jj<Space>");
    headless.app.notice = None;
    assert!(footer(&headless).contains("Space put back"), "{}", footer(&headless));
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "8jj<Space>k<Space>");
    let notice = headless.app.notice.clone().map(|notice| notice.text).unwrap_or_default();
    assert!(notice.starts_with("Nothing moved"), "{notice}: {}", shown(&headless));
    assert!(headless.app.screens.slots.is_carrying() && !shown(&headless).contains("● moved"));
    press(&mut headless, "kk");
    assert!(footer(&headless).contains("Space drop here"), "{}", footer(&headless));
}

#[test]
fn an_arm_whose_file_is_missing_stays_open_with_its_text() {
    let mut live = Headless::open(&Origin::Live, (80, 24)).expect("this machine opens");
    press(&mut live, "5e<C-u>one: bs=4k filename=/nonexistent/x<Enter>");
    let picture = shown(&live);
    assert!(picture.contains("A  one: bs=4k filename=/nonexistent/x"), "{picture}");
    assert!(!picture.contains("--size"), "the form has fields, no options: {picture}");
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "5e<C-u>one: bs=4k<Enter>");
    assert!(footer(&headless).contains("Enter accept  Esc"), "{}", footer(&headless));
    assert!(!shown(&headless).contains("Enter starts"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(footer(&headless).contains("Enter start"), "{}", footer(&headless));
}

#[test]
fn an_experiment_that_is_not_here_offers_no_arms_to_edit() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "5");
    let mut seen = (false, false);
    for _ in 0..30 {
        let picture = shown(&headless);
        let is_here =
            picture.lines().find(|line| line.contains('›')).is_some_and(|line| !line.contains("not here"));
        let is_own = headless.app.screens.whatif.entry().is_some_and(|entry| entry.row.id.0 == "own");
        let offered = footer(&headless);
        assert_eq!(
            offered.contains(if is_own { "e edit arms" } else { "e custom arms" }),
            is_here || is_own,
            "{picture}"
        );
        seen = (seen.0 || is_here, seen.1 || !is_here);
        press(&mut headless, "j");
    }
    assert!(seen.0 && seen.1);
    assert_eq!(headless.app.screen, ScreenId("what-if"));
}

#[test]
fn drives_that_a_column_compares_have_rows_of_their_own() {
    let mut headless = open("threadripper-before", (80, 24));
    assert!(shown(&headless).contains("more like it"), "{}", shown(&headless));
    press(&mut headless, ">");
    assert!(!shown(&headless).contains("more like it"), "{}", shown(&headless));
    press(&mut headless, "s");
    assert!(shown(&headless).contains("more like it"), "{}", shown(&headless));
}

#[test]
fn a_profile_s_title_names_the_drives_it_will_read() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "4P");
    assert!(line(&headless, 2).contains("SEQ1M Q8T1  all 10"), "{}", shown(&headless));
    press(&mut headless, "1n<Space><Space>4");
    assert!(line(&headless, 2).contains("SEQ1M Q8T1  nvme0n1 +1"), "{}", shown(&headless));
}

#[test]
fn the_stats_bar_of_a_demo_asks_for_no_test_while_one_runs() {
    for keys in ["5<Enter>", "4r"] {
        let mut headless = open("x570", (80, 24));
        press(&mut headless, keys);
        assert!(!shown(&headless).contains("No counters until a test runs"), "{keys} {}", shown(&headless));
    }
}

#[test]
fn on_a_capture_the_footer_offers_what_it_can_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lab-desktop.capture");
    let mut headless = Headless::open(&Origin::Capture(path.into()), (80, 24)).expect("it opens");
    press(&mut headless, "3l");
    assert!(footer(&headless).contains("+ - change"), "{}", footer(&headless));
    press(&mut headless, "+");
    assert!(footer(&headless).contains("a apply"), "{}", footer(&headless));
    press(&mut headless, "4");
    assert!(!footer(&headless).contains("Enter edit"), "no test follows: {}", footer(&headless));
    assert!(shown(&headless).contains("none: not testable"), "{}", shown(&headless));
}

#[test]
fn texts_that_go_on_are_marked_on_the_smallest_terminal() {
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "7");
    let preview = |headless: &Headless| {
        shown(headless).lines().find(|line| line.contains("Preview")).unwrap_or_default().to_owned()
    };
    let first = preview(&headless);
    assert!(first.contains(" PgDn: "), "{}", shown(&headless));
    press(&mut headless, "<PageDown>");
    let second = preview(&headless);
    assert!(
        second.contains(" PgUp: 8  PgDn: "),
        "a page of nine lines, one of them again: {}",
        shown(&headless)
    );
    press(&mut headless, "4");
    assert!(shown(&headless).contains(" read."), "{}", shown(&headless));
}

#[test]
fn the_help_names_the_mouse_and_where_settings_are() {
    let mut headless = open("laptop", (200, 60));
    press(&mut headless, "?G");
    for text in ["Mouse", "wheel", "drag", "`iodyno config`"] {
        assert!(shown(&headless).contains(text), "{text} {}", shown(&headless));
    }
}

#[test]
fn the_notice_of_a_saved_file_has_its_whole_path_and_what_shows_it() {
    for (ending, with) in [("md", "Saved. To show it: less"), ("svg", "Saved. A browser shows it:")] {
        let path = format!(
            "/home/user/{{stop}}/--bs/a-folder-with-a-long-name/another/iodyno-sheet-20261121-101112.{ending}"
        );
        let mut headless = open("laptop", (60, 20));
        let _ = update(&mut headless.app, Message::Saved(Ok(path.clone())));
        let picture = shown(&headless);
        let rows: String = picture.lines().map(str::trim).collect();
        assert!(picture.contains(with) && rows.contains(&path), "{picture}");
    }
}

#[test]
fn a_mark_says_what_is_marked_what_it_is_for_and_how_to_unmark() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "<Space>");
        let notice = headless.app.notice.clone().expect("a notice").text;
        let one = "1 drive marked: nvme8n1. r pulls it, 4 tests it, 3 changes its settings; Esc unmarks it";
        assert_eq!(notice, one);
        press(&mut headless, "<Space>");
        let notice = headless.app.notice.clone().expect("a notice").text;
        let two = "2 drives marked: nvme8n1, nvme9n1. r pulls them together, 4 tests them, 3 changes their settings; Esc unmarks them";
        assert_eq!(notice, two);
        press(&mut headless, "j");
        assert!(footer(&headless).contains("Esc unmark"), "{}", shown(&headless));
        press(&mut headless, "<Esc>");
        assert!(headless.app.shared.marks.is_empty() && headless.app.screen == ScreenId("machine"));
        press(&mut headless, "j");
        assert!(!footer(&headless).contains("Esc"), "{}", shown(&headless));
        press(&mut headless, "4*");
        let notice = headless.app.notice.clone().expect("a notice").text;
        assert!(
            notice.starts_with("10 drives marked: nvme0n1, ") && notice.ends_with("* unmarks them"),
            "{notice}"
        );
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn the_form_names_the_marked_drives_at_every_width() {
    for width in 60..=200 {
        let mut headless = open("threadripper-before", (width, 24));
        press(&mut headless, "<Space>4");
        assert!(
            shown(&headless).contains("filename nvme8n1")
                || shown(&headless).contains("filename      nvme8n1"),
            "{width}: {}",
            shown(&headless)
        );
        assert!(
            width < 70 || line(&headless, 2).contains("workload  nvme8n1 "),
            "{width}: {}",
            shown(&headless)
        );
        press(&mut headless, "1<Space>4");
        let named = ["nvme8n1, nvme9n1", "nvme8n1 +1"].iter().any(|names| shown(&headless).contains(names));
        assert!(named, "{width}: {}", shown(&headless));
    }
}

#[test]
fn esc_takes_one_step_back_before_it_leaves_a_screen() {
    let screen = |headless: &Headless| headless.app.screen.0;
    // The keys of steps, and the screen; each step takes one Esc, and one more leaves.
    for (keys, steps, on) in [
        ("/nvme<Enter>", 1, "machine"),
        ("<Space>/nvme<Enter>", 2, "machine"),
        ("3<Space>", 1, "tune"),
        ("3<Space><Enter>", 2, "tune"),
        ("3a", 0, "tune"),
        ("4<Enter>", 1, "dyno"),
        ("8<Space>", 1, "slots"),
        ("8<Space>j<Enter>", 2, "slots"),
        ("2?", 1, "findings"),
        ("7:", 1, "sheet"),
        ("5e", 1, "what-if"),
    ] {
        let mut headless = open("threadripper-before", (120, 40));
        press(&mut headless, keys);
        for step in 0..steps {
            let before = shown(&headless);
            press(&mut headless, "<Esc>");
            assert_eq!(screen(&headless), on, "{keys} after {step}");
            assert_ne!(shown(&headless), before, "{keys} after {step}");
        }
        press(&mut headless, "<Esc>");
        assert_eq!(screen(&headless), "machine", "{keys}");
    }
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(12));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(12));
    press(&mut headless, "[");
    assert!(footer(&headless).contains("Esc newest test"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert_eq!(screen(&headless), "dyno");
    press(&mut headless, "<Esc>");
    assert_eq!(screen(&headless), "machine");
}

#[test]
fn a_column_is_sorted_by_in_a_few_keys() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "c");
        assert!(
            footer(&headless).contains("Enter sort  Space show/hide  < > move  a-z jump"),
            "{}",
            shown(&headless)
        );
        press(&mut headless, "t");
        assert!(
            shown(&headless).lines().any(|line| line.contains('›') && line.contains("temp")),
            "{}",
            shown(&headless)
        );
        press(&mut headless, "<Enter>");
        let notice = headless.app.notice.clone().expect("a notice").text;
        assert_eq!(notice, "Sorted by temp, largest first; kept for the next start. c sorts by any column");
        let at = |headless: &Headless, name: &str| shown(headless).find(name).unwrap_or(usize::MAX);
        assert!(
            at(&headless, "01.2 nvme9n1") < at(&headless, "01.1 nvme8n1"),
            "49 before 46 degrees: {}",
            shown(&headless)
        );
        assert!(size.0 < 80 || shown(&headless).contains("49 °C"), "{}", shown(&headless));
        press(&mut headless, "ct<Enter>");
        assert!(
            at(&headless, "01.1 nvme8n1") < at(&headless, "01.2 nvme9n1"),
            "reversed: {}",
            shown(&headless)
        );
    }
}

#[test]
fn words_of_the_help_and_the_glossary_are_found() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "??");
    assert!(footer(&headless).contains("/ find"), "{}", shown(&headless));
    press(&mut headless, "/DEPTH");
    assert!(footer(&headless).contains("find DEPTH▏   1 of 1"), "{}", shown(&headless));
    assert!(shown(&headless).contains("queue depth"), "it is scrolled to: {}", shown(&headless));
    press(&mut headless, "<BS><BS><BS><BS><BS>nosuchword");
    assert!(footer(&headless).contains("no match"), "{}", shown(&headless));
    press(&mut headless, "<C-u>kernel<Enter>");
    assert!(shown(&headless).contains("Glossary  find kernel: "), "{}", shown(&headless));
    let heading = |headless: &Headless| shown(headless).lines().nth(2).unwrap_or_default().to_owned();
    let first = heading(&headless);
    let term = "readahead         KiB that the kernel reads";
    assert!(first.contains("kernel: 4 of 6") && shown(&headless).contains(term), "{}", shown(&headless));
    press(&mut headless, "n");
    assert!(heading(&headless).contains("kernel: 5 of 6"), "{}", shown(&headless));
    press(&mut headless, "N");
    assert_eq!(heading(&headless), first);
    assert!(shown(&headless).contains(term), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(shown(&headless).contains("Glossary ─"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(footer(&headless).contains("q quit"));
    // Digits are letters of the word while it is written; facts of a drive are found too.
    press(&mut headless, "?/2");
    assert_eq!(headless.app.screen, ScreenId("machine"));
    press(&mut headless, "<Esc><Esc><Enter>/serial");
    assert!(footer(&headless).contains("find serial▏   1 of "), "{}", shown(&headless));
}

#[test]
fn a_card_in_the_hand_offers_what_works_and_says_how_to_end() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "8jj<Space>");
        let notice = headless.app.notice.clone().expect("a notice").text;
        assert_eq!(notice, "Moving nvme8n1: ↑ ↓ choose a slot, Space drops it there, Esc cancels");
        press(&mut headless, "kk");
        let hints = footer(&headless);
        assert!(hints.contains("↑↓ choose slot  Space drop here"), "{hints}");
        assert!(
            hints.contains("Esc cancel") && !hints.contains("pull") && !hints.contains("Enter"),
            "{hints}"
        );
        press(&mut headless, "<Esc>");
        assert!(!headless.app.screens.slots.is_carrying() && headless.app.screen == ScreenId("slots"));
    }
}

#[test]
fn what_if_and_slots_say_what_they_are_for() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "5");
        assert!(
            line(&headless, 2).contains("Experiments: what is faster?  12 of 19 here"),
            "{}",
            shown(&headless)
        );
        assert!(footer(&headless).contains("w card moves"), "{}", shown(&headless));
        press(&mut headless, "8");
        let title = line(&headless, 2);
        assert!(title.contains("Slots  as they are") && title.contains("After  a move, on paper"), "{title}");
    }
}

#[test]
fn two_tests_are_compared_on_the_screen_and_files_by_a_command_that_is_named() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, ":compare<Enter>");
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert!(notice.starts_with("Two tests that have ended are needed: r runs one."), "{notice}");
    assert!(notice.contains("`iodyno compare A B`"), "{notice}");
    for keys in ["4r", "jj<Enter>64k<Enter>r"] {
        press(&mut headless, keys);
        headless.wait(Duration::from_secs(12));
    }
    press(&mut headless, "j");
    assert!(footer(&headless).contains("= compare"), "{}", shown(&headless));
    press(&mut headless, "1:compare<Enter>");
    let picture = shown(&headless);
    for words in [
        "Two tests compared",
        "4k randread, depth",
        "64k randread, depth",
        "the workload differs.",
        "Compared: the test shown, and the one that ended before it.",
        "iodyno compare A B",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    let iops = picture.lines().find(|line| line.contains("IOPS")).unwrap_or_default().to_owned();
    assert!(iops.contains("858 k ") && iops.contains("109 k "), "{iops}");
    assert!(!iops.contains(" %"), "other workloads are no gain or loss: {iops}");
    press(&mut headless, "<Esc>");
    assert!(footer(&headless).contains("q quit"), "{}", shown(&headless));
}

#[test]
fn an_undo_goes_to_all_marked_drives_as_the_change_did() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "<Space><Space>3l+a<Enter>");
    assert_eq!(headless.app.shared.standing(), 2, "{}", shown(&headless));
    press(&mut headless, "<BS>");
    assert_eq!(headless.app.shared.standing(), 0, "{}", shown(&headless));
    // Unmarked, it goes to the drive under the cursor alone.
    press(&mut headless, "+a<Enter><Esc><BS>");
    assert_eq!(headless.app.shared.standing(), 1, "{}", shown(&headless));
}

#[test]
fn the_last_of_the_usual_values_says_that_it_is() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "3l++++++++++++");
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert_eq!(notice, "8192 is the last of the usual values: - goes back, Enter takes another");
    press(&mut headless, "------------");
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert_eq!(notice, "0 is the first of the usual values: + goes back, Enter takes another");
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn a_count_in_the_tabs_is_no_digit_of_the_next_one() {
    for width in 80..=200 {
        let headless = open("threadripper-before", (width, 24));
        for glyphs in [GlyphSet::Braille, GlyphSet::Ascii] {
            let picture = text(&headless.picture(Theme::PLAIN.with_glyphs(glyphs)));
            let tabs = picture.lines().nth(1).unwrap_or_default();
            assert!(tabs.contains("2 Findings(1) ") && tabs.contains(" 3 Tune"), "{width}: {tabs}");
        }
    }
}

#[test]
fn the_list_of_columns_names_widths_and_a_hidden_column_sorts_nothing() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "c");
    let picture = shown(&headless);
    assert!(picture.contains("columns ") && !picture.contains("if counted"), "{picture}");
    press(&mut headless, "t<Enter>");
    assert!(headless.app.screens.machine.sort.column().is_some());
    press(&mut headless, "ct ");
    press(&mut headless, "<Esc>");
    assert!(headless.app.screens.machine.sort.column().is_none(), "{}", shown(&headless));
}

#[test]
fn a_test_at_depth_1_is_compared_with_no_bandwidth() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(3));
    press(&mut headless, "4");
    let picture = shown(&headless);
    assert!(picture.contains("Latency-bound: 1 I/O in flight per drive."), "{picture}");
    assert!(!picture.contains("expected: all") && !picture.contains("workers busy"), "{picture}");
}
