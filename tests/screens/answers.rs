//! What keys answer: messages that say what is true, and stay until they are read.

use std::time::Duration;

use crate::screen::{open, press, shown};
use iodyno::{
    app::{Message, ScreenId, update},
    model::Failed,
    runtime::headless::Headless,
};

fn notice(headless: &Headless) -> String {
    headless.app.notice.clone().map(|notice| notice.text).unwrap_or_default()
}

/// Tune with the cursor on a setting of the first drive.
fn on_setting(demo: &str, size: (u16, u16), setting: &str) -> Headless {
    let mut headless = open(demo, size);
    press(&mut headless, "3");
    for _ in 0..40 {
        if shown(&headless).contains(&format!("  {setting} ")) {
            return headless;
        }
        press(&mut headless, "l");
    }
    panic!("no {setting}: {}", shown(&headless));
}

/// The same with a value applied.
fn applied(demo: &str, size: (u16, u16), (setting, value): (&str, &str)) -> Headless {
    let mut headless = on_setting(demo, size, setting);
    press(&mut headless, "<Enter>");
    press(&mut headless, value);
    press(&mut headless, "<Enter>a<Enter>");
    headless
}

#[test]
fn a_value_that_the_kernel_adjusts_was_applied() {
    let headless = applied("threadripper-before", (120, 40), ("read_ahead_kb", "999"));
    assert_eq!(notice(&headless), "1 of 1 applied; adjusted by the kernel to 996");
    assert!(!headless.app.notice.as_ref().is_some_and(|notice| notice.problem));
    assert!(shown(&headless).contains("1 setting changed"), "{}", shown(&headless));
}

#[test]
fn a_change_marks_the_tab_of_tune_and_the_help_says_so() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = applied("threadripper-before", size, ("read_ahead_kb", "256"));
        press(&mut headless, "1");
        let picture = shown(&headless);
        let tabs = picture.lines().nth(1).unwrap();
        assert!(tabs.contains("Tune*") || tabs.contains("Tune *"), "{picture}");
        press(&mut headless, "3U1");
        let picture = shown(&headless);
        let tabs = picture.lines().nth(1).unwrap();
        assert!(!tabs.contains("Tune*") && !tabs.contains("Tune *"), "{picture}");
    }
}

#[test]
fn the_help_says_which_findings_a_tab_counts() {
    let mut headless = open("x570", (120, 40));
    let picture = shown(&headless);
    assert!(picture.lines().nth(1).unwrap().contains("Findings(1)"), "{picture}");
    press(&mut headless, "?");
    let mut text = String::new();
    for _ in 0..6 {
        text += &shown(&headless);
        press(&mut headless, "<PageDown>");
    }
    assert!(!text.contains("counts the high ones") && text.contains("Findings counts ▲ and !"), "{text}");
}

#[test]
fn a_saved_file_of_rules_is_recommended_only_where_it_can_be_installed() {
    let mut demo = applied("threadripper-before", (80, 24), ("read_ahead_kb", "256"));
    update(&mut demo.app, Message::Saved(Ok("/tmp/a.rules".to_owned())));
    assert_eq!(
        notice(&demo),
        "Saved /tmp/a.rules. It is from a demo, whose drives are simulated: do not install it"
    );
    let mut none = open("threadripper-before", (80, 24));
    update(&mut none.app, Message::Saved(Ok("/tmp/a.rules".to_owned())));
    assert_eq!(notice(&none), "Saved /tmp/a.rules. It holds no rule: there is nothing to install");
}

#[test]
fn the_first_escape_after_a_change_stays_on_tune() {
    let mut headless = applied("threadripper-before", (80, 24), ("read_ahead_kb", "256"));
    assert_eq!(notice(&headless), "1 of 1 applied");
    press(&mut headless, "<Esc>");
    assert_eq!((headless.app.screen, notice(&headless)), (ScreenId("tune"), String::new()));
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("machine"));
}

#[test]
fn keys_of_changed_settings_say_on_other_screens_where_they_act() {
    for (key, name) in [("E", "export"), ("U", "undo all")] {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, key);
        assert_eq!(notice(&headless), format!("{key} is a key of Tune ({name}): 3 shows it"));
    }
}

/// A letter that other screens take names them; one that no screen takes, and a key without a letter, say nothing.
#[test]
fn letters_of_other_screens_say_which_take_them() {
    for (key, says) in [
        ("P", "P is a key of Dyno (profile): 4 shows it"),
        ("a", "a is a key of Tune (apply): 3 shows it"),
        ("m", "m is a key of What-if (more rounds): 5 shows it"),
        ("b", "b is a key of What-if and Slots: 5, 8 show them"),
        ("s", "s is a key of Machine, What-if and Why: 1, 5, 6 show them"),
        ("%", ""),
        ("<Backspace>", ""),
    ] {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, &format!("2{key}"));
        assert_eq!(notice(&headless), says, "{key}");
        assert_eq!(headless.app.screen, ScreenId("findings"), "{key}");
    }
    for key in "PambKdtef".chars() {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, &format!("2{key}"));
        assert!(notice(&headless).starts_with(&format!("{key} is a key of ")), "{key} {}", notice(&headless));
    }
}

#[test]
fn reading_says_so_until_it_ends_and_its_refusal_stays_until_a_key() {
    let mut headless = open("laptop", (80, 24));
    update(&mut headless.app, Message::Paste("/var/tmp/iodyno-is-not-there".to_owned()));
    assert_eq!(notice(&headless), "Reading ...");
    update(&mut headless.app, Message::Tick(Duration::from_mins(2)));
    assert_eq!(notice(&headless), "Reading ...");
    let why = Failed::new("data: no listing".to_owned(), None);
    update(&mut headless.app, Message::Opened(Box::new(Err(why))));
    update(&mut headless.app, Message::Tick(Duration::from_mins(9)));
    assert_eq!(notice(&headless), "data: no listing");
    press(&mut headless, "j");
    assert_eq!(notice(&headless), "");
}

#[test]
fn a_find_shows_the_drive_inside_a_fold() {
    let mut headless = open("threadripper-before", (80, 24));
    assert!(shown(&headless).contains("more like it"), "{}", shown(&headless));
    press(&mut headless, "/nvme3");
    let picture = shown(&headless);
    let cursor = picture.lines().find(|line| line.trim_start().starts_with('›')).unwrap_or_default();
    assert!(cursor.contains("nvme3") && !cursor.contains("more like it"), "{picture}");
    assert!(picture.contains("1 of 1"), "{picture}");
}

#[test]
fn a_list_of_tests_cuts_no_number() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(3));
    press(&mut headless, "44");
    for _ in 0..2 {
        let picture = shown(&headless);
        for line in picture.lines().filter(|line| line.contains("rand d") && line.contains('k')) {
            let list: String = line.chars().take(27).collect();
            assert!(list.contains(" j1 ") || list.contains(" j16 ") || list.contains('…'), "{picture}");
        }
        press(&mut headless, "4");
    }
}

#[test]
fn at_60x20_no_message_sends_to_the_screen_that_is_shown() {
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(3));
    let picture = shown(&headless);
    assert!(!picture.contains("5 shows its runs"), "{picture}");
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "r4");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(30));
    assert_eq!(notice(&headless), "The pull has ended without a headline. 4 again shows its runs");
}

#[test]
fn the_columns_list_shows_all_words_of_the_column_under_the_cursor() {
    for width in [60, 80, 200] {
        let mut headless = open("threadripper-before", (width, 24));
        press(&mut headless, "c");
        for _ in 0..20 {
            let picture = shown(&headless);
            let lines: Vec<&str> = picture.lines().collect();
            let at = lines.iter().position(|line| line.contains("› [")).unwrap();
            if lines[at].contains('…') {
                assert!(!lines[at + 1].contains('['), "{picture}");
            }
            press(&mut headless, "<Down>");
        }
    }
}

#[test]
fn a_result_has_the_rows_that_a_low_terminal_has() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "4r");
    headless.wait(Duration::from_mins(1));
    let picture = shown(&headless);
    let at = picture.lines().position(|line| line.contains("Result")).unwrap();
    assert!(picture.lines().count() - at > 4, "{picture}");
}

#[test]
fn facts_of_a_text_go_on_below_where_the_tree_leaves_rows() {
    let text = include_str!("../fixtures/listings/mail-renesas-port-qp.txt");
    let mut headless = open("laptop", (80, 24));
    headless.send(Message::Paste(text.to_owned()));
    let picture = shown(&headless);
    assert!(picture.contains("           6.63 GB/s, link speed  "), "{picture}");
}
