//! Questions and explanations: quitting with staged values, the palette over all screens, the order of the help.

use std::time::Duration;

use crate::screen::{after, footer, open, press, shown, words};
use iodyno::{
    app::ScreenId, model::Workload, runtime::headless::Headless, source::origin::Origin, units::Bytes,
};

#[test]
fn quitting_asks_about_staged_values() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3l+q");
    assert!(shown(&headless).contains("1 write staged and not applied"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(!headless.has_left());
    press(&mut headless, "qa");
    assert!(shown(&headless).contains("1 write to make"), "{}", shown(&headless));
    press(&mut headless, "<Esc>qd");
    assert!(headless.has_left());
}

#[test]
fn descriptions_in_the_palette_are_whole_where_rows_are_free() {
    for (size, text) in [((80, 24), "workload"), ((60, 20), "workload"), ((80, 24), "sort")] {
        let picture = shown(&after("threadripper-before", size, &format!(":{text}"), 0));
        assert!(!picture.contains('…'), "{size:?} {text}: {picture}");
    }
    // Where few are free, the first entries have them.
    let picture = shown(&after("threadripper-before", (60, 20), ":sort", 0));
    let end = picture.lines().rev().nth(2).unwrap_or_default();
    assert!(end.contains("reverse order"), "{picture}");
    assert!(picture.contains("click on a heading sorts by it"), "{picture}");
}

#[test]
fn the_palette_begins_with_the_screens() {
    let picture = shown(&after("threadripper-before", (120, 40), ":", 0));
    let first = picture.lines().skip_while(|line| !line.contains(": ▏")).nth(1).unwrap_or_default();
    assert!(first.contains(" machine ") && first.contains(" 1 "), "{picture}");
}

#[test]
fn the_palette_finds_profiles_by_their_names() {
    let mut headless = open("threadripper-before", (80, 24));
    let work = Workload { depth: 7, block_size: Bytes(16384), ..Workload::default() };
    headless.app.screens.dyno.form.profiles = vec![("nightly".to_owned(), work.clone())];
    press(&mut headless, ":nightly");
    let found = words(&headless);
    assert!(found.contains("Dyno: Put this profile into the form: 16k randread, depth 7"), "{found}");
    press(&mut headless, "<Enter>");
    assert_eq!((headless.app.screen, &headless.app.screens.dyno.form.workload), (ScreenId("dyno"), &work));
    assert_eq!(headless.app.screens.dyno.form.profile(), Some("nightly"));
    assert!(words(&headless).contains("Profile nightly is in the form"), "{}", shown(&headless));
    press(&mut headless, ":seq1m<Enter>");
    assert_eq!(headless.app.screens.dyno.form.profile(), Some("SEQ1M Q8T1"));
    press(&mut headless, ":profile");
    let picture = shown(&headless);
    assert!(picture.contains("nightly") && picture.contains("RND4K Q1T1"), "{picture}");
}

#[test]
fn the_key_that_opens_the_review_neither_closes_it_nor_writes() {
    for size in [(60, 20), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "3+aa");
        let picture = shown(&headless);
        assert!(picture.contains("1 write to make") && picture.contains("Enter write"), "{picture}");
        assert_eq!(headless.app.shared.standing(), 0);
        press(&mut headless, "<Enter>");
        assert!(headless.app.shared.standing() > 0, "{}", shown(&headless));
    }
}

#[test]
fn the_line_of_a_find_drops_whole_hints_and_keeps_the_count_and_the_way_out() {
    for size in [(60, 20), (80, 24)] {
        for keys in ["/nvme", "2/drive", "8/nvme", "?/drive", "/nvme0n1nvme0n1nvme0n1nvme0n1nvme0n1nvme0n1"] {
            let line = footer(&after("threadripper-before", size, keys, 0));
            assert!(line.ends_with("Esc cancel"), "{size:?} {keys}: {line}");
            assert!(line.contains(" of ") || line.contains("no match (0)"), "{size:?} {keys}: {line}");
        }
    }
    let line = footer(&after("threadripper-before", (60, 20), "/nvme", 0));
    assert_eq!(line, " find nvme▏   1 of 10   Enter keep  Esc cancel");
}

#[test]
fn writes_beside_a_pull_say_that_its_figures_mix() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3l+a");
    let mixes = "its figures mix reads before and after the writes";
    assert!(!shown(&headless).contains(mixes), "{}", shown(&headless));
    press(&mut headless, "<Esc>1r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "3a");
    let picture = shown(&headless);
    assert!(picture.contains(&format!("The pull goes on: {mixes}")), "{picture}");
}

#[test]
fn an_experiment_that_is_stopped_from_another_screen_says_so() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "1x");
    headless.wait(Duration::from_secs(2));
    let picture = shown(&headless);
    assert!(picture.contains("The experiment was stopped: 5 shows"), "{picture}");
}

#[test]
fn quitting_with_staged_and_changed_settings_asks_about_both() {
    for (columns, rows) in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", (columns, rows));
        press(&mut headless, "3l+a<Enter>j+q");
        let picture = shown(&headless);
        // Lines break by the dialog's width.
        let text = words(&headless);
        for words in [
            "1 write staged, 1 setting changed",
            "drop the staged writes, undo the changed",
            "drop the staged writes, keep the changed",
            "boot, quit",
            "as k, and print udev rules that would set them",
            "Staged and not applied",
            "Changed by this run",
        ] {
            assert!(text.contains(words), "{words}: {picture}");
        }
        assert!(picture.contains("Esc cancel") && !picture.contains("Esc closes"), "{picture}");
        press(&mut headless, "q");
        assert!(!headless.has_left(), "a second q drops nothing");
        press(&mut headless, "qd");
        assert!(!headless.has_left() && headless.app.shared.settings.staged.len() == 1);
        press(&mut headless, "u");
        assert!(headless.has_left());
        assert!(headless.app.shared.settings.staged.is_empty() && headless.app.shared.standing() == 0);
    }
}

/// Every question before leaving, by the keys that raise it and seconds before the last of them.
const QUESTIONS: &[(&str, u64)] =
    &[("4r", 1), ("r", 2), ("5<Enter>", 2), ("3l+", 0), ("3l+a<Enter>", 0), ("3l+a<Enter>j+", 0)];

#[test]
fn neither_a_second_q_nor_enter_leaves_or_loses_anything() {
    let lost = |headless: &Headless| {
        let shared = &headless.app.shared;
        let runs = shared.tests.running().is_some() || shared.experiments.running().is_some();
        (headless.has_left(), runs, shared.settings.staged.len(), shared.standing())
    };
    for size in [(60, 20), (80, 24), (120, 40)] {
        for (keys, seconds) in QUESTIONS {
            let mut headless = open("threadripper-before", size);
            press(&mut headless, keys);
            headless.wait(Duration::from_secs(*seconds));
            let before = lost(&headless);
            for answer in ["qqq", "q<Enter>", "qq<Enter>"] {
                press(&mut headless, answer);
                assert_eq!(lost(&headless), before, "{keys} {answer}: {}", shown(&headless));
                press(&mut headless, "<Esc>");
            }
            press(&mut headless, "q");
            let picture = shown(&headless);
            assert!(picture.contains("or Enter") || picture.contains("Enter review"), "{keys}: {picture}");
        }
    }
}

#[test]
fn enter_in_the_review_of_a_machine_that_is_not_here_leaves_nothing() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lab-desktop.capture");
    let mut headless = Headless::open(&Origin::Capture(path.into()), (80, 24)).expect("it opens");
    press(&mut headless, "3l+a");
    assert!(shown(&headless).contains("p     quit, and print them"), "{}", shown(&headless));
    press(&mut headless, "<Enter>");
    assert!(!headless.has_left() && headless.app.shared.settings.staged.len() == 1);
    press(&mut headless, "ap");
    assert!(
        headless.has_left() && headless.last_words().contains("read_ahead_kb"),
        "{}",
        headless.last_words()
    );
}

#[test]
fn a_question_at_the_smallest_size_loses_no_word() {
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "3l+a");
    let picture = shown(&headless);
    for words in ["Enter write them, in this order", "Esc   cancel: nothing is written"] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    press(&mut headless, "<Enter>q");
    let picture = shown(&headless);
    for words in
        ["udev rules that would set them", "restore the values before this run, then", "Esc   or Enter"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
}

#[test]
fn the_footer_of_a_question_has_its_keys_and_no_others() {
    let mut headless = open("threadripper-before", (120, 40));
    for (keys, has, leave) in [
        ("3l+a", "Enter write  Esc cancel", "<Esc>"),
        ("q", "Enter review  d drop, quit  Esc cancel", "<Esc>"),
        ("a<Enter>E", "w save  y copy  Esc close", "<Esc>"),
        ("q", "u undo  k keep  e print rules  Esc cancel", "<Esc>"),
        (":", "↑↓ select  Enter run  Esc cancel", "<Esc>"),
        ("?", "↑↓ scroll  / find  ? glossary  Esc close", "<Esc>"),
        ("4rq", "y stop it and quit  Esc or Enter: go on", "<Esc>"),
    ] {
        press(&mut headless, keys);
        let footer = shown(&headless).lines().last().expect("a row").trim().to_owned();
        assert_eq!(footer, has, "{keys}");
        press(&mut headless, leave);
        assert!(shown(&headless).contains("q quit"), "{keys}");
    }
}

#[test]
fn the_first_answer_stops_the_test_before_another_question_comes() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "3l+4r");
    headless.wait(Duration::from_secs(1));
    press(&mut headless, "q");
    assert!(shown(&headless).contains("The next question: 1 write staged"), "{}", shown(&headless));
    press(&mut headless, "y");
    assert!(shown(&headless).contains("1 write staged and not applied"), "{}", shown(&headless));
    assert!(headless.app.shared.tests.running().is_none_or(|test| test.stopping));
    press(&mut headless, "d");
    assert!(headless.has_left(), "it does not ask about the test again: {}", shown(&headless));
}

#[test]
fn a_change_goes_to_the_marked_drives_wherever_the_cursor_is() {
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "3l<Space><Space>++");
    let staged = &headless.app.shared.settings.staged;
    let marked = &headless.app.shared.marks;
    let devices: Vec<String> = staged.iter().map(|one| one.device.to_string()).collect();
    let marked: Vec<String> = marked.iter().map(ToString::to_string).collect();
    assert!(staged.len() == 2 && devices == marked, "{staged:?}");
    assert!(staged[0].value == staged[1].value && staged[0].changes[0].from != staged[0].value, "{staged:?}");
}

#[test]
fn nothing_changed_since_boot_opens_no_rules() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3E");
    let picture = shown(&headless);
    assert!(
        picture.contains("No setting was changed since boot") && !picture.contains("w save"),
        "{picture}"
    );
    press(&mut headless, "l+a<Enter>E");
    assert!(shown(&headless).contains("From a demo: its drives are simulated"), "{}", shown(&headless));
}

#[test]
fn the_tab_of_settings_is_marked_while_values_are_staged_or_changed() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3l+");
    assert!(shown(&headless).contains("Tune *"), "{}", shown(&headless));
    press(&mut headless, "a<Enter>");
    assert!(shown(&headless).contains("Tune *"), "{}", shown(&headless));
    press(&mut headless, "U<Enter>");
    assert!(!shown(&headless).contains("Tune *"), "{}", shown(&headless));
}

#[test]
fn the_palette_goes_to_the_screen_of_a_command() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3l+a<Enter>1:export<Enter>");
    assert_eq!(headless.app.screen, ScreenId("tune"));
    assert!(shown(&headless).contains("udev rules for the changed settings"), "{}", shown(&headless));
    press(&mut headless, "<Esc>:slots<Enter>");
    assert_eq!(headless.app.screen, ScreenId("slots"));
}

#[test]
fn errors_lead_to_a_finding_about_them_or_to_where_none_are() {
    let mut told = 0;
    for demo in ["threadripper-before", "laptop", "x570"] {
        let mut headless = open(demo, (120, 40));
        press(&mut headless, ":errors<Enter>");
        assert_eq!(headless.app.screen, ScreenId("findings"));
        let list = &headless.app.shared.findings.list;
        let is_about = |id: &str| ["link-errors", "nvme-errors", "drive-worn"].contains(&id);
        let picture = shown(&headless);
        if !list.iter().any(|finding| is_about(finding.id.0)) {
            assert!(picture.contains("No finding about errors here"), "{demo}: {picture}");
            told += 1;
            continue;
        }
        press(&mut headless, "?");
        let picture = shown(&headless);
        let is_explained = |id: &str| picture.contains(&format!("check --explain {id}"));
        assert!(["link-errors", "nvme-errors", "drive-worn"].iter().any(|id| is_explained(id)), "{picture}");
    }
    assert!(told > 0, "a demo without errors");
}

#[test]
fn help_begins_with_the_marks_on_every_screen_and_explains_the_finding_behind_them() {
    let first_marks = ["▲", "▲", "*", "──", "▁▄█", "u n s", "[x] [ ]", "▸ ●"];
    for (screen, mark) in ('1'..='8').zip(first_marks) {
        let mut headless = open("threadripper-before", (80, 24));
        press(&mut headless, &format!("{screen}?"));
        let picture = shown(&headless);
        // Behind the title, the tabs, the edge, the screen's purpose and a blank.
        let legend =
            picture.lines().take(8).any(|line| line.trim_start_matches(['│', ' ']).starts_with(mark));
        assert!(legend, "{screen}: {picture}");
    }
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "2?");
    let picture = shown(&headless);
    let at = |text: &str| picture.find(text).unwrap_or_else(|| panic!("{text}: {picture}"));
    assert!(at("high: costs at least 15 %") < at("check --explain shared-root-complex"));
    assert!(at("check --explain shared-root-complex") < at("Go to the finding's row"));
    press(&mut headless, "?");
    assert!(shown(&headless).contains("Gigatransfers per second"), "{}", shown(&headless));
}
