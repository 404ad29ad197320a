//! Texts on the screen name fields of the form, never options of the command line: those are for `check` and its kin.

use std::time::Duration;

use crate::screen::{open, press, shown};
use iodyno::{model::options::OPTIONS, runtime::headless::Headless, source::demo::DEMOS};

/// The options that a picture names outside of commands to run.
fn options(headless: &Headless) -> Vec<String> {
    let picture = shown(headless);
    // A command may go on in the next line.
    let prose = picture.lines().filter(|line| !line.contains("iodyno ") && !line.contains("fio "));
    let names = OPTIONS.iter().map(|option| option.name).chain(["filename", "arm", "demo"]);
    let words: String = prose.collect::<Vec<_>>().join("\n");
    names.map(|name| format!("--{name}")).filter(|option| words.contains(option)).collect()
}

#[test]
fn findings_and_their_help_name_fields() {
    let mut seen = 0;
    for demo in DEMOS {
        let mut headless = open(demo.name, (200, 60));
        press(&mut headless, "2");
        for _ in 0..headless.app.shared.findings.list.len() {
            assert_eq!(options(&headless), Vec::<String>::new(), "{}", shown(&headless));
            press(&mut headless, "?");
            assert_eq!(options(&headless), Vec::<String>::new(), "{}", shown(&headless));
            press(&mut headless, "<Esc>j");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn refusals_of_a_workload_name_fields() {
    for (fields, word) in [("direct 0, hipri 1", "direct=1"), ("size", "size")] {
        let mut headless = open("x570", (120, 40));
        press(&mut headless, "4");
        let keys = match fields {
            "size" => "Gk<Enter>4k<Enter>".to_owned(),
            // The seventh field is direct, the one after it hipri.
            _ => "jjjjjjjhjl".to_owned(),
        };
        press(&mut headless, &keys);
        press(&mut headless, "r");
        headless.wait(Duration::from_secs(3));
        assert_eq!(options(&headless), Vec::<String>::new(), "{}", shown(&headless));
        if word == "direct=1" {
            assert!(shown(&headless).contains("add direct=1 or leave hipri out"), "{}", shown(&headless));
        }
    }
}

/// An arm that is no assignment of a value stays open.
#[test]
fn an_arm_that_cannot_be_read_stays_open() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "5e<C-u>364<Enter>");
    let refused = shown(&headless);
    assert!(refused.contains("A needs \"364\" written as NAME=VALUE"), "{refused}");
    press(&mut headless, "<C-u>scheduler=none<Enter>");
    let next = shown(&headless);
    assert!(!next.contains("NAME=VALUE") && next.contains("scheduler=none"), "{next}");
}
