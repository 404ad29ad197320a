//! Journeys: keys pressed, and what the screen shows.

use std::time::Duration;

use crate::screen::{open, press, shown};
use iodyno::{
    app::{
        Effect, Message, ScreenId, commands, draw,
        keymap::Key,
        message::{Kept, Mouse, MouseAction},
        update,
    },
    model::{Failed, LatencySummary, RunSample, RunState, RunSummary, Target, TargetSample},
    runtime::headless::Headless,
    source::origin::Origin,
    text::Label,
    ui::{picture::text, theme::Theme},
    units::UnitSystem,
};
use ratatui::{buffer::Buffer, layout::Rect};

/// The summary of the test on the dyno screen.
fn summary(headless: &Headless) -> &RunSummary {
    let app = &headless.app;
    app.screens.dyno.shown(&app.shared.tests).and_then(|test| test.summary()).expect("it ended well")
}

#[test]
fn from_the_tree_to_a_finished_test_of_two_marked_drives() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "n<Space><Space>4");
    assert!(shown(&headless).contains("workload  nvme0n1, nvme9n1"), "{}", shown(&headless));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(3));
    assert!(shown(&headless).contains("● running"));
    assert!(shown(&headless).contains("SIMULATED"));
    headless.wait(Duration::from_secs(9));
    let picture = shown(&headless);
    assert!(picture.contains("Result") && !picture.contains("● running"), "{picture}");
    let summary = summary(&headless);
    assert!(summary.simulated && summary.targets.len() == 2 && summary.iops() > 10_000.0);
}

/// As on a terminal.
fn draw(headless: &mut Headless) -> String {
    let (columns, rows) = headless.app.shared.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    draw::draw(&headless.app, Theme::PLAIN, &mut buffer);
    text(&buffer)
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn a_text_scrolled_past_its_end_scrolls_back_at_once() {
    for (keys, further, back) in [
        ("?", "<Down>", "<Up>"),
        ("n<Enter>", "<Down>", "<Up>"),
        ("2", "<PageDown>", "<PageUp>"),
        ("3", "<PageDown>", "<PageUp>"),
    ] {
        let mut headless =
            Headless::open(&Origin::Demo("threadripper-before".to_owned()), (80, 24)).expect("demos open");
        press(&mut headless, keys);
        let first = draw(&mut headless);
        let mut last = first.clone();
        for _ in 0..100 {
            press(&mut headless, further);
            last = draw(&mut headless);
        }
        assert!(first != last, "{keys}: nothing to scroll in\n{first}");
        press(&mut headless, back);
        assert!(draw(&mut headless) != last, "{keys}: {back} does nothing\n{last}");
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn help_is_complete_at_any_width() {
    for (columns, tab) in (1..=7).filter(|tab| *tab != 6).flat_map(|tab| [(80, tab), (100, tab), (200, tab)])
    {
        let mut headless =
            Headless::open(&Origin::Demo("laptop".to_owned()), (columns, 24)).expect("demos open");
        press(&mut headless, &format!("{tab}?"));
        let mut seen = String::new();
        for _ in 0..120 {
            seen.push_str(&draw(&mut headless));
            press(&mut headless, "<Down>");
        }
        let screen = headless.app.screen;
        for command in commands::of(screen) {
            for word in command.help.split(' ') {
                assert!(seen.contains(word), "{columns} columns, tab {tab}: {word:?} of {:?}", command.help);
            }
        }
    }
}

#[test]
fn digits_are_commands_until_a_field_is_entered() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4jjj<Enter><C-u>14<Enter>");
    assert_eq!(headless.app.screen, ScreenId("dyno"));
    assert_eq!(headless.app.screens.dyno.form.workload.depth, 14);
    press(&mut headless, "1");
    assert_eq!(headless.app.screen, ScreenId("machine"));
    press(&mut headless, "4<Enter><C-u>99999<Enter>");
    assert!(shown(&headless).contains("99999 is out of range; use 1 to 4096"));
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screens.dyno.form.workload.depth, 14, "a field that was left keeps its value");
}

#[test]
fn the_drive_that_a_file_lies_on_is_watched_from_its_first_look_on() {
    let mut headless = open("laptop", (120, 40));
    headless.app.screens.dyno.form.files = vec!["/home/data/file".into()];
    headless.app.screens.dyno.form.workload.runtime = None;
    press(&mut headless, "4");
    let effects = update(&mut headless.app, Message::Key(Key::Char('r')));
    let Some(Effect::StartRun(workload)) = effects.into_iter().next() else { panic!("it starts a test") };
    assert_eq!(workload.targets[0].drive, None, "known when the file is opened");
    let drive = headless.app.shared.machine.hardware_drives().next().expect("a drive").name.clone();
    let target = TargetSample {
        name: Label::new("/home/data/file"),
        drive: Some(drive.clone()),
        ios: 0,
        bytes: 0,
        errors: 0,
        latency: LatencySummary::default(),
        failed: None,
    };
    let sample = RunSample {
        batch: String::new(),
        at: Duration::ZERO,
        state: RunState::Preparing,
        preparing: None,
        targets: vec![target],
        simulated: false,
    };
    headless.send(Message::Sample(Box::new(sample), Duration::from_secs(1)));
    let test = headless.app.shared.tests.running().expect("it runs");
    assert_eq!(test.workload.targets[0].drive.as_ref(), Some(&drive));
    assert_eq!(test.targets[0].drive.as_ref(), Some(&drive));
    assert!(test.expected_of(0).is_some(), "and what it should reach is known");
    press(&mut headless, "4");
    assert!(shown(&headless).contains("/home/data/file "), "{}", shown(&headless));
}

#[test]
fn a_pause_holds_the_test_and_a_stop_keeps_what_was_read() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "<Space>");
    headless.wait(Duration::from_secs(20));
    let picture = shown(&headless);
    for words in ["● paused", "throughput  paused", "Space resume"] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    // What was read before the pause is no rate of now, and its limit none either.
    for words in ["5.69 GB/s", "1.42 of", "100 ms", "expected:"] {
        assert!(!picture.contains(words), "{words}: {picture}");
    }
    for words in ["max 5.6", "paused; latency of the last reads", "The test is paused: Space resumes it."] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    press(&mut headless, "1");
    let picture = shown(&headless);
    assert!(picture.contains("none: the test is") && !picture.contains("1.42 of"), "{picture}");
    press(&mut headless, "4<Space>");
    headless.wait(Duration::from_secs(1));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(1));
    let summary = summary(&headless);
    assert!(summary.interrupted && summary.iops() > 0.0);
}

#[test]
fn quitting_asks_while_a_test_runs() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4rq");
    assert!(!headless.has_left() && shown(&headless).contains("A test is running"));
    press(&mut headless, "<Esc>");
    assert!(!shown(&headless).contains("A test is running"));
    press(&mut headless, "qy");
    assert!(headless.has_left());
}

#[test]
fn finding_folding_and_details() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "/quadro<Enter>");
    assert!(shown(&headless).contains("Quadro P620"));
    press(&mut headless, "<Enter>");
    assert!(shown(&headless).contains("Esc closes"));
    press(&mut headless, "<Esc>g");
    let before = headless.app.screens.machine.rows.len();
    press(&mut headless, "<Left>");
    assert!(headless.app.screens.machine.rows.len() < before, "the root complex folds");
    press(&mut headless, "<Right>z");
    assert!(headless.app.screens.machine.rows.len() > before, "every device is more than what matters");
}

#[test]
fn the_palette_runs_a_command_by_its_name() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, ":units<Enter>");
    assert_eq!(headless.app.shared.units, UnitSystem::Binary);
    assert!(shown(&headless).contains("PCIe tree  GiB/s") && !shown(&headless).contains("PCIe tree  GB/s"));
}

#[test]
fn the_mouse_reaches_tabs_rows_and_hints() {
    let mut headless = open("threadripper-before", (120, 40));
    let click = |headless: &mut Headless, word: &str| {
        let picture = shown(headless);
        let (row, line) = picture.lines().enumerate().find(|(_, line)| line.contains(word)).expect(word);
        let at = line.find(word).expect("it was found");
        let column = u16::try_from(line[..at].chars().count()).expect("a column");
        let row = u16::try_from(row).expect("a row");
        headless.send(Message::Mouse(Mouse { column, row, action: MouseAction::Press }));
    };
    click(&mut headless, "nvme3n1");
    let selected = headless.app.screens.machine.row().and_then(|row| row.drive()).map(ToString::to_string);
    assert_eq!(selected.as_deref(), Some("nvme3n1"));
    click(&mut headless, "Dyno");
    assert_eq!(headless.app.screen, ScreenId("dyno"));
    click(&mut headless, "r run  ↑↓");
    assert!(headless.app.shared.tests.running().is_some());
}

#[test]
fn a_resize_is_taken_at_once() {
    let mut headless = open("x570", (120, 40));
    headless.send(Message::Resize(60, 10));
    assert!(shown(&headless).contains("needs 60 columns and 20 rows"));
    headless.send(Message::Resize(80, 24));
    assert!(shown(&headless).contains("PCIe tree"));
}

#[test]
fn pasted_text_goes_into_the_open_field_alone() {
    let mut headless = open("laptop", (120, 40));
    headless.send(Message::Paste("q4r".to_owned()));
    assert!(!headless.has_left() && headless.app.screen == ScreenId("machine"));
    press(&mut headless, "4<Enter>");
    headless.send(Message::Paste("/tmp/a\u{1b}[2Jfile\nrm".to_owned()));
    let field = headless.app.screens.dyno.form.edit.as_ref();
    assert_eq!(field.map(iodyno::ui::TextField::value), Some("/tmp/a[2Jfile"));
}

#[test]
fn where_drives_may_not_be_read_a_file_on_them_is_offered() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4r");
    let file = |path: &str| Target { path: path.into(), drive: None };
    let files = vec![file("/var/tmp/iodyno.test"), file("/data/iodyno.test")];
    let refused = Failed::new("/dev/nvme0n1: EACCES", Some(libc::EACCES)).with_files(files);
    let offer = |headless: &mut Headless| {
        press(headless, "4r");
        headless.send(Message::RunEnded(Box::new(Err(refused.clone())), Duration::from_secs(1)));
        assert_eq!(headless.app.screen, ScreenId("dyno"));
        let picture = shown(headless);
        assert!(picture.contains("may not be read here. Read 2 files of 1.07 GB instead?"), "{picture}");
        assert!(picture.contains("/data/iodyno.test is written first and removed"), "{picture}");
    };
    offer(&mut headless);
    press(&mut headless, "<Esc>");
    let form = &headless.app.screens.dyno.form;
    assert!(form.files.is_empty() && form.workload.size.is_none(), "{form:?}");
    offer(&mut headless);
    press(&mut headless, "<Enter>");
    let form = &headless.app.screens.dyno.form;
    assert!(form.files.len() == 2 && form.files[1].ends_with("iodyno.test"), "{form:?}");
    assert!(form.workload.size.is_some(), "{form:?}");
    // Enter starts the test of the files, as in the pull and in an experiment.
    let tested = &headless.app.shared.tests.all.back().unwrap().workload.targets;
    assert_eq!(tested.iter().filter(|target| target.path.ends_with("iodyno.test")).count(), 2, "{tested:?}");
}

/// Mean IOPS of a test of the marked drives.
fn test_marked(headless: &mut Headless) -> f64 {
    press(headless, "4r");
    headless.wait(Duration::from_secs(12));
    summary(headless).iops()
}

#[test]
fn two_drives_are_changed_tested_undone_and_the_screen_is_left() {
    let mut headless = open("threadripper-before", (120, 40));
    let before = headless.app.shared.machine.clone();
    // Two drives are marked; the scheduler of one of them is changed, and so that of both.
    press(&mut headless, "3jj<Space><Space>");
    let fast = test_marked(&mut headless);
    press(&mut headless, "3k+");
    let picture = shown(&headless);
    assert!(picture.contains("2 staged") && picture.contains("none→mq-deadline"), "{picture}");
    assert_eq!(headless.app.shared.machine, before, "staging writes nothing");
    press(&mut headless, "a");
    let picture = shown(&headless);
    assert!(
        picture.contains("2 writes to make, SIMULATED") && picture.contains("/queue/scheduler"),
        "{picture}"
    );
    press(&mut headless, "<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("2 of 2 applied") && picture.contains("mq-deadline*"), "{picture}");
    assert!(picture.contains("256*"), "the kernel reset nr_requests along with it: {picture}");
    let slow = test_marked(&mut headless);
    assert!(slow < 0.9 * fast, "a scheduler costs: {slow} against {fast}");
    press(&mut headless, "q");
    assert!(!headless.has_left() && shown(&headless).contains("changed by this run, SIMULATED"));
    press(&mut headless, "<Esc>3U");
    assert!(shown(&headless).contains("4 of 4 restored"), "{}", shown(&headless));
    assert_eq!(headless.app.shared.machine, before, "undone exactly");
    assert!((test_marked(&mut headless) - fast).abs() < 1.0, "as fast as before");
    press(&mut headless, "q");
    assert!(headless.has_left(), "nothing stands, nothing is asked");
}

#[test]
fn an_adjusted_value_is_shown_and_one_value_restored() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "3l<Enter><C-u>4099<Enter>a<Enter>");
    assert!(shown(&headless).contains("adjusted by the kernel to 4096"), "{}", shown(&headless));
    assert!(shown(&headless).contains("before 128*"));
    press(&mut headless, "<BS>");
    assert!(shown(&headless).contains("1 of 1 restored"), "{}", shown(&headless));
    press(&mut headless, "<Enter><C-u>nonsense<Enter>");
    assert!(shown(&headless).contains("takes a whole number from 0"), "{}", shown(&headless));
    assert!(headless.app.screens.tune.edit.is_some(), "a wrong value keeps the cell open");
    press(&mut headless, "<Esc>lll<Right><Right><Right><Right><Right>+");
    assert!(
        headless.app.shared.settings.staged.is_empty(),
        "what is shown only is not staged: {}",
        shown(&headless)
    );
}

#[test]
fn leaving_with_changes_asks_and_exports_rules() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "3+a<Enter>q");
    assert!(shown(&headless).contains("keep, and print udev rules"), "{}", shown(&headless));
    press(&mut headless, "e");
    assert!(headless.has_left());
    let rules = headless.last_words();
    assert!(
        rules.contains("ATTR{queue/scheduler}=\"mq-deadline\"") && rules.contains("From a demo"),
        "{rules}"
    );

    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "3+a<Enter>qu");
    assert!(headless.has_left() && headless.last_words().is_empty());
    assert_eq!(headless.app.shared.standing(), 0);
}

#[test]
fn a_capture_turns_staged_changes_into_commands() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/d-stock-qemu.capture");
    let mut headless = Headless::open(&Origin::Capture(capture.into()), (120, 40)).expect("captures open");
    press(&mut headless, "3l+a");
    let picture = shown(&headless);
    assert!(picture.contains("not this machine: the commands"), "{picture}");
    press(&mut headless, "p");
    assert!(headless.has_left());
    let commands = headless.last_words();
    assert!(commands.starts_with("echo '") && commands.contains("| sudo tee '/sys/"), "{commands}");
}

#[test]
fn the_winner_of_an_experiment_is_kept_and_undone() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5");
    let scheduler = |headless: &Headless| {
        let drive = headless.app.shared.machine.hardware_drives().next().expect("a drive").clone();
        drive.queue.scheduler.value().map(|choice| choice.current.to_string())
    };
    let own = "Ge<C-u>A: scheduler=mq-deadline iodepth=4<Enter><C-u>B: scheduler=none iodepth=4 rate_iops=1000<Enter>";
    press(&mut headless, own);
    press(&mut headless, "<Enter>");
    headless.wait(Duration::from_secs(12));
    assert!(shown(&headless).contains("● experiment  own"), "{}", shown(&headless));
    press(&mut headless, "3a");
    assert!(shown(&headless).contains("is changing settings"), "{}", shown(&headless));
    press(&mut headless, "5");
    headless.wait(Duration::from_mins(1));
    let picture = shown(&headless);
    assert!(picture.contains("B is worse"), "{picture}");
    assert!(picture.contains("Every changed setting is restored."), "{picture}");
    assert_eq!(scheduler(&headless).as_deref(), Some("none"));
    press(&mut headless, "K");
    assert_eq!(scheduler(&headless).as_deref(), Some("mq-deadline"), "{}", shown(&headless));
    assert!(shown(&headless).contains("b undo kept"));
    press(&mut headless, "b");
    assert_eq!(scheduler(&headless).as_deref(), Some("none"), "{}", shown(&headless));
    let rounds = |headless: &Headless| {
        headless.app.shared.experiments.shown.as_ref().map_or(0, |shown| shown.account.rounds)
    };
    let before = rounds(&headless);
    press(&mut headless, "m");
    headless.wait(Duration::from_secs(10));
    assert!(rounds(&headless) > before, "{} rounds after {before}", rounds(&headless));
    press(&mut headless, "<Esc>");
    let notice = headless.app.notice.clone().expect("a notice").text;
    assert_eq!(notice, "The experiment goes on: 5 shows it, x stops it and restores settings");
    assert!(headless.app.shared.experiments.running().is_some());
    press(&mut headless, "5x");
    headless.wait(Duration::from_secs(1));
    assert!(headless.app.shared.experiments.running().is_none(), "x ends it");
    press(&mut headless, "<Esc><Esc>");
    assert_eq!(headless.app.screen, ScreenId("tune"), "the screen before");
}

#[test]
fn a_stopped_experiment_is_restored_and_quitting_asks_first() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(5));
    press(&mut headless, "q");
    assert!(shown(&headless).contains("is running") && !headless.has_left());
    press(&mut headless, "<Esc>x");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    assert!(picture.contains("The user stopped it. Every changed setting is restored."), "{picture}");
}

#[test]
fn a_finding_leads_to_the_experiment_that_would_prove_it() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "2w");
    let finding = headless.app.screens.findings.finding(&headless.app.shared).map(|finding| finding.id.0);
    assert_eq!(finding, Some("shared-root-complex"));
    // The hypothetical move comes before the experiment.
    assert_eq!(headless.app.screen, ScreenId("slots"));
    let gain = headless.app.screens.slots.prediction.as_ref().and_then(|made| made.as_ref().ok()?.gain());
    assert!(gain.is_some_and(|gain| (17e9..18e9).contains(&gain)), "{gain:?}");
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("slots"), "the proposed move is a step that Esc undoes");
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("findings"), "back where it began");
    press(&mut headless, "5");
    let entry = headless.app.screens.whatif.entry().map(|entry| entry.row.id.0);
    assert_eq!(entry, Some("drives"));
    press(&mut headless, "<Enter>");
    headless.wait(Duration::from_secs(90));
    let picture = shown(&headless);
    assert!(picture.contains("8 under 0000:40 is worse"), "{picture}");
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "2w");
    assert_eq!(headless.app.screen, ScreenId("findings"), "no experiment tests another LBA format");
    press(&mut headless, "jw");
    assert_eq!(headless.app.screen, ScreenId("what-if"), "what no card changes is measured");
    let entry = headless.app.screens.whatif.entry().map(|entry| entry.row.id.0);
    assert_eq!(entry, Some("max-sectors"));
}

#[test]
fn unavailable_experiments_have_a_reason() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "5jjjjjjjjjjjj<Enter>");
    assert!(shown(&headless).contains("nomerges needs a real machine"), "{}", shown(&headless));
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demos/laptop.capture");
    let origin = Origin::Capture(capture.into());
    let mut headless = Headless::open(&origin, (120, 40)).expect("captures open");
    press(&mut headless, "5<Enter>");
    assert!(shown(&headless).contains("a capture's drives are not here"), "{}", shown(&headless));
}

#[test]
fn the_shown_sheet_is_copied() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(12));
    press(&mut headless, "7");
    let picture = shown(&headless);
    assert!(picture.contains("[x] machine") && picture.contains("[x] run 1: 4k randread"), "{picture}");
    assert!(picture.contains("## 10 drives on AMD Ryzen Threadripper PRO 3955WX"), "{picture}");
    press(&mut headless, "y");
    assert!(shown(&headless).contains("bytes of Markdown sent to the terminal's clipboard; w saves a file"));
    assert_eq!(headless.copied(), headless.app.screens.sheet.text);
    let whole = headless.copied().to_owned();
    assert!(whole.contains("SIMULATED") && whole.contains("p99.9") && !whole.contains("linux02"));

    press(&mut headless, "j<Space>");
    assert!(shown(&headless).contains("[ ] tree with its links"));
    assert!(
        headless.app.screens.sheet.text.len() < whole.len()
            && !headless.app.screens.sheet.text.contains("Gen4 x4")
    );
    press(&mut headless, "<Space>ff");
    assert!(
        headless.app.screens.sheet.text.starts_with("10 drives on AMD"),
        "plain text is the third format"
    );
    let before = headless.app.screens.sheet.top;
    press(&mut headless, "<PageDown>");
    assert!(headless.app.screens.sheet.top > before);
    press(&mut headless, "gG");
    assert!(shown(&headless).contains("are omitted or"), "{}", shown(&headless));
    press(&mut headless, "fy");
    assert!(shown(&headless).contains("bytes exceed the terminals' limit"), "{}", shown(&headless));
}

#[test]
fn names_are_in_a_sheet_when_their_box_is_checked() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "7");
    let serial = headless
        .app
        .shared
        .machine
        .drives
        .iter()
        .find_map(|drive| drive.serial.value())
        .expect("a serial")
        .clone();
    press(&mut headless, "fff");
    assert!(!headless.app.screens.sheet.text.contains(serial.as_str()));
    press(&mut headless, "kk");
    headless.press(std::iter::repeat_n(Key::Down, 9));
    press(&mut headless, "<Space>");
    assert!(headless.app.screens.sheet.text.contains(serial.as_str()), "{}", shown(&headless));
}

#[test]
fn the_newest_verdict_is_in_the_sheet_until_it_is_removed() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "5s");
    assert!(shown(&headless).contains("No verdict to add to the sheet"), "{}", shown(&headless));
    press(&mut headless, "<Enter>");
    headless.wait(Duration::from_mins(2));
    let picture = shown(&headless);
    assert!(
        picture.contains("mq-deadline is worse") && picture.matches("s drop from sheet").count() == 1,
        "{picture}"
    );
    press(&mut headless, "s7");
    assert!(shown(&headless).contains("[ ] experiment 1: scheduler"), "{}", shown(&headless));
    assert!(!headless.app.screens.sheet.text.contains("### Experiments"));
    press(&mut headless, "5s");
    assert!(shown(&headless).contains("Verdict added to the sheet"), "{}", shown(&headless));
    press(&mut headless, "7");
    let sheet = &headless.app.screens.sheet.text;
    assert!(shown(&headless).contains("[x] experiment 1: scheduler"), "{}", shown(&headless));
    for words in [
        "### Experiments",
        "1  SIMULATED Does the scheduler cost anything? (scheduler)",
        "] worse",
        "iodyno experiment run scheduler --demo x570 --filename /dev/nvme0n1",
    ] {
        assert!(sheet.contains(words), "{words} in {sheet}");
    }
    press(&mut headless, "5m");
    headless.wait(Duration::from_mins(2));
    assert!(shown(&headless).contains("s drop from sheet"), "it stays in: {}", shown(&headless));
    press(&mut headless, "s7");
    assert!(!headless.app.screens.sheet.text.contains("### Experiments"));
}

#[test]
fn a_winner_that_the_machine_has_already_changes_nothing() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5j<Enter>");
    headless.wait(Duration::from_mins(2));
    let picture = shown(&headless);
    assert!(picture.contains("readahead help or harm"), "{picture}");
    for words in ["0 KiB, memory full is worse", "0 KiB, free memory is worse"] {
        assert!(picture.contains(words), "{words} in {picture}");
    }
    assert!(!picture.contains("K keep"), "nothing to keep: {picture}");
    press(&mut headless, "K");
    assert!(shown(&headless).contains("The winner's settings are already set"), "{}", shown(&headless));
    press(&mut headless, "q");
    assert!(!headless.last_words().contains("read_ahead_kb"), "{}", headless.last_words());
}

#[test]
fn stored_runs_are_offered_with_their_time() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(12));
    let boot = headless.app.shared.machine.host.boot_id.value().cloned();
    let mut record =
        headless.app.shared.tests.all.back().and_then(|test| test.record(boot.as_ref())).expect("a run");
    record.run.started = 1_790_000_000;
    let kept = Kept { runs: vec![record], experiments: Vec::new(), foreign: 2 };
    headless.send(Message::Recalled(Box::new(Ok(kept))));
    assert!(
        shown(&headless).contains("2 earlier runs were stored by another version"),
        "{}",
        shown(&headless)
    );
    press(&mut headless, "7");
    let picture = shown(&headless);
    assert!(picture.contains("[x] run 1 (14:13 UTC):") && picture.contains("[x] run 2: 4k"), "{picture}");
    headless.send(Message::Recalled(Box::new(Err(Failed::new("/x/runs: Permission denied", None)))));
    assert!(shown(&headless).contains("/x/runs: Permission denied"), "{}", shown(&headless));
}
