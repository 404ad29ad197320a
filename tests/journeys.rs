//! Journeys: keys go in, the screen says what came of them.

use std::time::Duration;

use iodyno::{
    app::{
        Message, Screen, keymap,
        message::{Mouse, MouseAction},
    },
    cli::render::text,
    runtime::headless::Headless,
    source::origin::Origin,
    units::UnitSystem,
    view::theme::Theme,
};

fn open(demo: &str) -> Headless {
    Headless::open(&Origin::Demo(demo.to_owned()), (120, 40)).expect("demos open")
}

fn press(headless: &mut Headless, keys: &str) {
    headless.press(keymap::parse(keys).expect("keys are well written"));
}

fn shown(headless: &Headless) -> String {
    text(&headless.picture(Theme::PLAIN))
}

#[test]
fn from_the_tree_to_a_finished_test_of_two_marked_drives() {
    let mut headless = open("threadripper-before");
    press(&mut headless, "n<Space><Space>4");
    assert!(shown(&headless).contains("2 drives marked"), "{}", shown(&headless));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(3));
    assert!(shown(&headless).contains("● running"));
    assert!(shown(&headless).contains("SIMULATED"));
    headless.wait(Duration::from_secs(9));
    let picture = shown(&headless);
    assert!(picture.contains("Result") && !picture.contains("● running"), "{picture}");
    let summary = headless.app.dyno.shown().and_then(|test| test.summary()).expect("it ended well");
    assert!(summary.simulated && summary.targets.len() == 2 && summary.iops() > 10_000.0);
}

#[test]
fn digits_are_commands_until_a_field_is_entered() {
    let mut headless = open("laptop");
    press(&mut headless, "4jjj<Enter><C-u>14<Enter>");
    assert_eq!(headless.app.screen, Screen::Dyno);
    assert_eq!(headless.app.dyno.form.workload.depth, 14);
    press(&mut headless, "1");
    assert_eq!(headless.app.screen, Screen::Machine);
    press(&mut headless, "4<Enter><C-u>99999<Enter>");
    assert!(shown(&headless).contains("write a number from 1 to 4096"));
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.dyno.form.workload.depth, 14, "a field that was left keeps its value");
}

#[test]
fn a_pause_holds_the_test_and_a_stop_keeps_what_was_read() {
    let mut headless = open("x570");
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(20));
    assert!(shown(&headless).contains("● paused"));
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(1));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(1));
    let summary = headless.app.dyno.shown().and_then(|test| test.summary()).expect("it was summed up");
    assert!(summary.interrupted && summary.iops() > 0.0);
}

#[test]
fn quitting_asks_while_a_test_runs() {
    let mut headless = open("laptop");
    press(&mut headless, "rq");
    assert!(!headless.has_left() && shown(&headless).contains("A test is running"));
    press(&mut headless, "<Esc>");
    assert!(!shown(&headless).contains("A test is running"));
    press(&mut headless, "q");
    press(&mut headless, "q");
    assert!(headless.has_left());
}

#[test]
fn finding_folding_and_details() {
    let mut headless = open("threadripper-before");
    press(&mut headless, "/quadro<Enter>");
    assert!(shown(&headless).contains("Quadro P620"));
    press(&mut headless, "<Enter>");
    assert!(shown(&headless).contains("Esc closes"));
    press(&mut headless, "<Esc>g");
    let before = headless.app.tree.rows.len();
    press(&mut headless, "<Left>");
    assert!(headless.app.tree.rows.len() < before, "the root complex folds");
    press(&mut headless, "<Right>z");
    assert!(headless.app.tree.rows.len() > before, "every device is more than what matters");
}

#[test]
fn the_palette_runs_a_command_by_its_name() {
    let mut headless = open("laptop");
    press(&mut headless, ":units<Enter>");
    assert_eq!(headless.app.units, UnitSystem::Binary);
    assert!(shown(&headless).contains("limit GiB/s") && !shown(&headless).contains("limit GB/s"));
}

#[test]
fn the_mouse_reaches_tabs_rows_and_hints() {
    let mut headless = open("threadripper-before");
    let click = |headless: &mut Headless, word: &str| {
        let picture = shown(headless);
        let (row, line) = picture.lines().enumerate().find(|(_, line)| line.contains(word)).expect(word);
        let at = line.find(word).expect("it was found");
        let column = u16::try_from(line[..at].chars().count()).expect("a column");
        let row = u16::try_from(row).expect("a row");
        headless.send(Message::Mouse(Mouse { column, row, action: MouseAction::Press }));
    };
    click(&mut headless, "nvme3n1");
    let selected = headless.app.tree.row().and_then(|row| row.drive()).map(ToString::to_string);
    assert_eq!(selected.as_deref(), Some("nvme3n1"));
    click(&mut headless, "Dyno");
    assert_eq!(headless.app.screen, Screen::Dyno);
    click(&mut headless, "r run  Space");
    assert!(headless.app.dyno.running().is_some());
}

#[test]
fn a_resize_is_taken_at_once() {
    let mut headless = open("x570");
    headless.send(Message::Resize(60, 10));
    assert!(shown(&headless).contains("needs 80 columns and 24 rows"));
    headless.send(Message::Resize(80, 24));
    assert!(shown(&headless).contains("PCIe tree"));
}

#[test]
fn pasted_text_goes_into_the_open_field_alone() {
    let mut headless = open("laptop");
    headless.send(Message::Paste("q4r".to_owned()));
    assert!(!headless.has_left() && headless.app.screen == Screen::Machine);
    press(&mut headless, "4<Enter>");
    headless.send(Message::Paste("/tmp/a\u{1b}[2Jfile\nrm".to_owned()));
    press(&mut headless, "<Enter>");
    assert_eq!(headless.app.dyno.form.file.as_deref(), Some("/tmp/a[2Jfile".as_ref()));
}
