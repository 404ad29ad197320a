//! Every key that a footer offers does something there: each is pressed on every screen, in every state.

use std::{collections::BTreeSet, time::Duration};

use crate::screen::{open, press};
use iodyno::{
    app::{App, Effect, Message, Mode, draw, keymap::Key, update},
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{picture::text, theme::Theme},
};

/// Rows of a list that the cursor visits at most.
const ROWS: usize = 12;

/// The picture without a notice: a key that only explains itself did nothing.
fn picture(app: &App) -> String {
    let mut app = app.clone();
    app.notice = None;
    let now = app.shared.now;
    let _ = update(&mut app, Message::Tick(now));
    let picture = draw::picture(&app, Theme::PLAIN);
    // A cursor is a mark or a shade.
    let shades = picture.content().iter().map(|cell| if cell.modifier.is_empty() { ' ' } else { '#' });
    format!("{}{}", text(&picture), shades.collect::<String>())
}

/// The keys of a footer's hint, and the whole hint.
fn hints(footer: &str) -> Vec<(Vec<Key>, String)> {
    let mut found = Vec::new();
    for hint in footer.split("  ").map(str::trim).filter(|hint| !hint.is_empty()) {
        let pair = ["+ -", "[ ]", "< >", "n N"].into_iter().find(|pair| hint.starts_with(pair));
        let Some(keys) = pair.or_else(|| hint.split(' ').next()) else { continue };
        let keys = match keys {
            "↑↓" => vec![Key::Up, Key::Down],
            "←→" => vec![Key::Left, Key::Right],
            "+ -" => vec![Key::Char('+'), Key::Char('-')],
            "[ ]" => vec![Key::Char('['), Key::Char(']')],
            "< >" => vec![Key::Char('<'), Key::Char('>')],
            "n N" => vec![Key::Char('n'), Key::Char('N')],
            "a-z" => vec![Key::Char('t'), Key::Char('w')],
            "Enter" => vec![Key::Enter],
            "Esc" => vec![Key::Esc],
            "Tab" => vec![Key::Tab],
            "Space" => vec![Key::Char(' ')],
            "Backspace" => vec![Key::Backspace],
            "PgDn" => vec![Key::PageDown],
            one if one.chars().count() == 1 => one.chars().map(Key::Char).collect(),
            // A word before the hints, or of them.
            _ => continue,
        };
        found.push((keys, hint.to_owned()));
    }
    found
}

fn does_something(app: &App, before: &str, key: Key) -> bool {
    let mut app = app.clone();
    let effects = update(&mut app, Message::Key(key));
    let is_asked = |effect: &Effect| !matches!(effect, Effect::ReadMachine);
    effects.iter().any(is_asked) || picture(&app) != before
}

/// Presses each offered key; adds those that do nothing to `idle`.
fn check(app: &App, state: &str, idle: &mut BTreeSet<String>) {
    let mut bare = app.clone();
    bare.notice = None;
    let picture = text(&draw::picture(&bare, Theme::PLAIN));
    let footer = picture.lines().last().unwrap_or_default();
    let offered = hints(footer);
    let before = self::picture(&bare);
    assert!(!offered.is_empty(), "{state}: {picture}");
    for (keys, hint) in offered {
        if !keys.into_iter().any(|key| does_something(&bare, &before, key)) {
            idle.insert(format!("{state}: `{hint}`"));
        }
    }
}

/// The same on every row of the list under the cursor.
fn check_rows(app: &App, state: &str, idle: &mut BTreeSet<String>) {
    let mut app = app.clone();
    let mut before = String::new();
    for row in 0..ROWS {
        let now = picture(&app);
        if now == before {
            break;
        }
        before = now;
        check(&app, &format!("{state} row {row}"), idle);
        let _ = update(&mut app, Message::Key(Key::Down));
    }
}

/// Keys with seconds to wait after them, part by part; each part leads to a state.
const WALKS: &[&[(&str, u64)]] = &[
    &[("", 0), ("/nvme<Enter>", 0)],
    &[("2", 0)],
    &[("3", 0), ("<Space>", 0)],
    &[("3l+", 0), ("q", 0)],
    &[("3l+a", 0), ("<Enter>", 0), ("E", 0)],
    &[("3l+a<Enter>q", 0)],
    &[("3l+a<Enter>j+q", 0)],
    &[("3l<Enter>", 0)],
    &[("4", 0), ("<Enter>", 0)],
    &[("4P", 0)],
    &[("4r", 3), ("x", 2), ("r", 3), ("x", 2), ("[", 0)],
    &[("4r", 3), ("q", 0)],
    &[("4r", 3), ("<Space>", 1)],
    &[("5", 0), ("e", 0), ("<Enter>", 0)],
    &[("5<Enter>", 2), ("d", 0)],
    &[("5<Enter>", 2), ("x", 3)],
    &[("5<Enter>", 2), ("q", 0)],
    &[("5<Enter>", 300), ("K", 1)],
    &[("5<Enter>", 300), ("s", 1)],
    &[("6", 0), ("<Enter>", 0)],
    &[("7", 0)],
    &[("8", 0), ("<Space>", 0), ("j", 0), ("j<Space>", 0)],
    &[("8b", 0)],
    &[("8-", 0)],
    &[("r", 3), ("x", 3)],
    &[("r", 3), ("q", 0)],
    &[("r", 90), ("r", 3), ("x", 3)],
    &[("r", 90), ("d", 0)],
    &[("y", 0)],
    &[("<Space>", 0), ("/nvme<Enter>", 0)],
    &[("?", 0), ("/drive", 0), ("<Enter>", 0)],
    &[("??", 0), ("/pcie", 0), ("<Enter>", 0)],
    &[(":", 0), ("open /tmp", 0)],
    &[("c", 0)],
    &[("g<Enter>", 0)],
];

/// What runs meanwhile: each screen is looked at.
const RUNNING: &[(&str, u64)] = &[("4r", 3), ("5<Enter>", 2), ("r", 3), ("r", 90), ("5<Enter>", 300)];

/// All of them on one demo and size.
fn check_demo(demo: &str, size: (u16, u16)) {
    let mut idle = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for walk in WALKS {
        let mut headless = open(demo, size);
        for (at, (keys, seconds)) in walk.iter().enumerate() {
            press(&mut headless, keys);
            headless.wait(Duration::from_secs(*seconds));
            let state = &walk[..=at];
            if !seen.insert(state) {
                continue;
            }
            let name = format!("{demo} {size:?} {state:?}");
            check_rows(&headless.app, &name, &mut idle);
            if let [only] = state
                && RUNNING.contains(only)
            {
                check_screens(&headless.app, &name, &mut idle);
            }
        }
    }
    assert!(RUNNING.iter().all(|state| seen.contains(&[*state][..])), "each is a state of a walk");
    assert!(idle.is_empty(), "keys that do nothing: {idle:#?}");
}

/// Every screen, from one state.
fn check_screens(app: &App, state: &str, idle: &mut BTreeSet<String>) {
    for screen in '1'..='8' {
        let mut app = app.clone();
        let _ = update(&mut app, Message::Key(Key::Char(screen)));
        check(&app, &format!("{state}, then {screen}"), idle);
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn every_offered_key_of_a_demo_does_something_at_60_columns() {
    check_demo("threadripper-before", (60, 20));
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn every_offered_key_of_a_demo_does_something_at_80_columns() {
    check_demo("x570", (80, 24));
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn every_offered_key_of_a_demo_does_something_at_200_columns() {
    check_demo("laptop", (200, 60));
}

#[test]
fn every_offered_key_of_a_capture_does_something() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lab-desktop.capture");
    let mut idle = BTreeSet::new();
    for size in [(80, 24), (200, 60)] {
        for screen in '1'..='8' {
            let mut headless = Headless::open(&Origin::Capture(path.into()), size).expect("it opens");
            press(&mut headless, &screen.to_string());
            check_rows(&headless.app, &format!("capture {size:?} {screen}"), &mut idle);
        }
    }
    assert!(idle.is_empty(), "keys that do nothing: {idle:#?}");
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn every_offered_key_of_a_live_machine_does_something() {
    let mut idle = BTreeSet::new();
    for keys in ["", "r", "r<Enter>", "4r", "4r<Enter>", "5<Enter>", "5<Enter><Enter>", "y", "y<Enter>"] {
        let mut app = open("threadripper-before", (120, 40)).app.clone();
        app.shared.mode = Mode::Live;
        for key in iodyno::app::keymap::parse(keys).expect("keys are well written") {
            let _ = update(&mut app, Message::Key(key));
        }
        check(&app, &format!("live {keys}"), &mut idle);
        for screen in '1'..='8' {
            let mut app = app.clone();
            let _ = update(&mut app, Message::Key(Key::Char(screen)));
            check_rows(&app, &format!("live {keys}, then {screen}"), &mut idle);
        }
    }
    assert!(idle.is_empty(), "keys that do nothing: {idle:#?}");
}
