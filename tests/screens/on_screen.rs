//! Finding in the tree, files as targets of experiments, and what wide, tall and live screens show.

use std::{io::Write as _, time::Duration};

use crate::screen::{footer, open, press, shown};
use iodyno::{
    app::{Effect, Message, ScreenId, keymap::Key, update},
    counters::{DiskRates, Rates},
    model::DriveName,
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{Notice, theme::Theme},
};

#[test]
fn a_find_counts_its_matches_and_n_goes_on_until_esc() {
    let mut headless = open("threadripper-before", (120, 40));
    let selected = |headless: &Headless| headless.app.screens.machine.selected;
    press(&mut headless, "g/980<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("find 980: 1 of "), "{picture}");
    let first = selected(&headless);
    press(&mut headless, "n");
    assert!(shown(&headless).contains("find 980: 2 of ") && selected(&headless) > first);
    press(&mut headless, "N");
    assert!(shown(&headless).contains("find 980: 1 of ") && selected(&headless) == first);
    let underlined = |headless: &Headless| {
        let picture = headless.picture(Theme::PLAIN);
        let cells = picture.content().iter();
        cells.filter(|cell| cell.modifier.contains(ratatui::style::Modifier::UNDERLINED)).count()
    };
    let marked = underlined(&headless);
    press(&mut headless, "<Esc>");
    assert!(!shown(&headless).contains("find 980") && underlined(&headless) < marked, "{}", shown(&headless));
    // Without a find it is the next drive again.
    press(&mut headless, "/aquantia<Enter><Esc>n");
    assert!(headless.app.screens.machine.row().is_some_and(iodyno::report::flatten::Row::is_drive));
}

#[test]
fn experiments_read_the_file_of_the_form_and_of_their_arms() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4g<Enter>/dev/nvme0n1<Enter>5");
    assert!(shown(&headless).contains("on /dev/nvme0n1"), "{}", shown(&headless));
    press(&mut headless, "e<C-u>one: bs=4k filename=/dev/nvme1n1<Enter><C-u>two: bs=8k<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("reads    nvme1n1, 4k randread") && picture.contains("one: bs=4k"), "{picture}");
    assert!(!picture.contains("bs=4k filename"), "both arms read it: {picture}");
    assert_eq!(headless.app.screens.dyno.form.files, [std::path::PathBuf::from("/dev/nvme1n1")]);
    let effects = update(&mut headless.app, Message::Key(Key::Enter));
    let [Effect::BeginExperiment(plan)] = &effects[..] else { panic!("it begins: {effects:?}") };
    let paths: Vec<_> = plan.arms.iter().flat_map(|arm| &arm.workload.targets).map(|of| &of.path).collect();
    assert!(paths.len() == 2 && paths.iter().all(|path| path.ends_with("nvme1n1")), "{paths:?}");
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4g<Enter>/dev/nvme0n1<Enter>5e<C-e> filename=<Enter><Esc>");
    assert!(!shown(&headless).contains("on /dev/nvme0n1"), "{}", shown(&headless));
}

#[test]
fn the_footer_of_findings_offers_what_opens_something() {
    for demo in ["laptop", "threadripper-before", "x570"] {
        let mut headless = open(demo, (120, 40));
        press(&mut headless, "2");
        let findings = headless.app.shared.findings.list.clone();
        for (at, finding) in findings.iter().enumerate() {
            press(&mut headless, &format!("2g{}", "j".repeat(at)));
            let footer = footer(&headless);
            for (key, hint) in [("w", "  w "), ("<Enter>", "Enter show in tree")] {
                press(&mut headless, &format!("2g{}{key}", "j".repeat(at)));
                let opens = headless.app.screen != ScreenId("findings");
                assert_eq!(footer.contains(hint), opens, "{demo} {:?} {hint}: {footer}", finding.id);
            }
        }
    }
}

#[test]
fn a_find_without_a_match_offers_nothing_but_the_way_out() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "/nosuchthing");
    assert_eq!(footer(&headless).trim(), "find nosuchthing▏   no match (0)   Esc cancel");
}

#[test]
fn a_stopped_experiment_offers_the_sheet_only_with_a_verdict() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_millis(500));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(3));
    let picture = shown(&headless);
    assert!(headless.app.shared.experiments.running().is_none(), "{picture}");
    assert!(
        !picture.contains("to sheet") && !picture.contains("more rounds"),
        "no round counts yet: {picture}"
    );
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(20));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(3));
    let picture = shown(&headless);
    assert!(headless.app.shared.experiments.running().is_none(), "{picture}");
    assert_eq!(picture.matches("m more rounds").count(), 1, "{picture}");
    press(&mut headless, "m");
    headless.wait(Duration::from_millis(500));
    press(&mut headless, "s");
    assert!(shown(&headless).contains("The experiment still runs"), "{}", shown(&headless));
}

#[test]
fn slots_name_the_way_back_and_the_best_move_is_made_once() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "nw");
        assert!(footer(&headless).contains("Esc cancel"), "{}", footer(&headless));
        press(&mut headless, "8b");
        assert!(footer(&headless).contains("Esc undo move"), "{}", footer(&headless));
        press(&mut headless, "b");
        assert!(shown(&headless).contains("This is the best move already"), "{}", shown(&headless));
    }
}

#[test]
fn a_long_notice_is_shown_whole_at_every_size() {
    let text = "/dev/vda: EPERM: a policy (container, device cgroup) forbids it even to root, so read a file on its \
                file system: iodyno bench --filename /var/tmp/iodyno.test";
    for size in [(60, 20), (80, 24), (99, 30), (120, 40), (200, 60)] {
        for keys in ["1", "3", "4", "5", "8"] {
            let mut headless = open("laptop", size);
            press(&mut headless, keys);
            headless.app.notice = Some(Notice { text: text.to_owned(), problem: true });
            let picture = shown(&headless);
            let lines = picture.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            assert!(lines.contains(&format!("! {text}")), "{size:?} {keys}: {picture}");
        }
    }
    let mut headless = open("laptop", (60, 20));
    headless.app.notice = Some(Notice { text: "word ".repeat(200), problem: false });
    let picture = shown(&headless);
    let above_keys = picture.lines().rev().nth(1).unwrap_or_default();
    assert!(above_keys.trim().ends_with('…') && footer(&headless).contains("q quit"), "{picture}");
}

#[test]
fn tune_at_the_smallest_size_offers_the_undo_first() {
    let mut headless = open("threadripper-before", (60, 20));
    press(&mut headless, "3l+a<Enter>");
    press(&mut headless, "<Esc>3");
    let footer = footer(&headless);
    assert!(footer.contains("Backspace undo") && footer.contains("U undo all"), "{footer}");
    assert!(footer.contains("q quit"), "{footer}");
}

#[test]
fn the_dyno_says_that_the_pull_runs() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "4");
    assert!(shown(&headless).contains("workload  the pull runs"), "{}", shown(&headless));
    press(&mut headless, "r");
    assert!(shown(&headless).contains("A pull is running: p shows it, x stops it"), "{}", shown(&headless));
}

#[test]
fn counters_of_this_machine_move_while_time_passes() {
    let mut headless = Headless::open(&Origin::Live, (120, 40)).expect("this machine is read");
    headless.wait(Duration::from_secs(2));
    let picture = shown(&headless);
    assert!(headless.app.shared.rates.is_some(), "{picture}");
    assert!(!picture.contains("Counting; first row"), "{picture}");
}

#[test]
fn tall_terminals_show_all_settings_and_what_verdicts_mean() {
    for size in [(120, 60), (200, 60)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "3");
        let picture = shown(&headless);
        assert!(picture.contains("nvme8n1  all settings") && picture.contains("max_sectors_kb"), "{picture}");
        press(&mut headless, "5");
        let picture = shown(&headless);
        assert!(picture.contains("None yet. An experiment"), "{picture}");
        for words in [
            "each arm none: ",
            "mq-deadline: ",
            "writes   /sys/block/nvme8n1/queue/scheduler: none",
            "better   mq-deadline beats none",
            "findings it tests: ",
            "a round  ",
            "after round 8, 12, 18,",
            "99.40 %",
        ] {
            assert!(picture.contains(words), "{words}\n{picture}");
        }
        let reason = "numa         needs two NUMA nodes";
        assert!(picture.contains("Not available here") && picture.contains(reason), "{picture}");
        press(&mut headless, "<Enter>");
        headless.wait(Duration::from_mins(1));
        press(&mut headless, "<Esc>");
        let picture = shown(&headless);
        assert!(
            !picture.contains("None yet.") && picture.contains("mq-deadline against none: -"),
            "{picture}"
        );
    }
}

#[test]
fn the_title_of_the_curves_keeps_its_figures_at_any_width() {
    for columns in [80, 99, 100, 101, 110, 120] {
        let demo = Origin::Demo("threadripper-before".to_owned());
        let mut headless = Headless::open(&demo, (columns, 30)).expect("demos open");
        press(&mut headless, "4r");
        headless.wait(Duration::from_secs(4));
        let picture = shown(&headless);
        let title = picture.lines().find(|line| line.contains("dstat")).expect("the bar at the foot");
        assert!(title.contains("0.00 GB/s"), "{columns}: {title}");
    }
}

#[test]
fn why_of_a_demo_keeps_what_its_last_test_showed_and_what_a_read_cost() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "6");
    assert!(shown(&headless).contains("A demo has no load of its own"), "{}", shown(&headless));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(90));
    press(&mut headless, "6");
    let picture = shown(&headless);
    for words in
        ["as the last test ended", "wait for completions (io_cqring_wait)", "last test user", "28 CPUs idle"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
}

#[test]
fn findings_fill_rows_that_the_tree_leaves_empty() {
    let picture = shown(&open("x570", (120, 40)));
    assert!(!picture.contains("2: ") && picture.contains("settings at default"), "{picture}");
    // A longer tree keeps its rows.
    let picture = shown(&open("threadripper-before", (120, 30)));
    assert!(picture.contains("more ┘"), "{picture}");
}

#[test]
fn the_list_of_columns_keeps_its_cursor_in_sight() {
    let mut headless = open("x570", (80, 24));
    press(&mut headless, "cG");
    let picture = shown(&headless);
    assert!(picture.contains("› [ ] minute"), "{picture}");
    press(&mut headless, "g");
    assert!(shown(&headless).contains("A letter goes to the next column"), "{}", shown(&headless));
}

#[test]
fn a_typed_value_replaces_the_one_that_is_there() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3<Right><Enter>512<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("128→512") && !picture.contains("128512"), "{picture}");
}

#[test]
fn enter_on_an_array_shows_its_facts() {
    let origin = Origin::Capture("tests/fixtures/stack.capture".into());
    let mut headless = Headless::open(&origin, (120, 40)).expect("a capture opens");
    press(&mut headless, "/md0<Enter><Esc><Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("bitmap") && picture.contains("Esc closes"), "{picture}");
    press(&mut headless, "<Esc>");
    assert!(shown(&headless).contains("▾ md0"), "its members are as they were: {}", shown(&headless));
}

#[test]
fn what_if_offers_a_start_only_where_an_experiment_is_here() {
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "5");
    let (mut here, mut missing) = (0, 0);
    for _ in 0..19 {
        let picture = shown(&headless);
        let is_here = !picture.contains("not here it ");
        let starts = picture.matches("Enter start").count();
        assert!(if is_here { starts > 0 } else { starts == 0 }, "{picture}");
        here += usize::from(is_here);
        missing += usize::from(!is_here);
        press(&mut headless, "j");
    }
    assert!(here > 0 && missing > 0, "{here} {missing}");
}

#[test]
fn dyno_offers_nothing_of_a_test_while_an_experiment_runs() {
    let mut headless = open("laptop", (200, 60));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_millis(500));
    press(&mut headless, "4");
    let footer = footer(&headless);
    assert!(
        !footer.contains("profile") && !footer.contains("p pull") && !footer.contains("r run"),
        "{footer}"
    );
    assert!(footer.contains("x stop"), "{footer}");
}

#[test]
fn a_file_that_is_not_there_is_refused_before_anything_starts() {
    let live = || Headless::open(&Origin::Live, (120, 40)).expect("this machine opens");
    let mut headless = live();
    press(&mut headless, "5<End>e<C-u>filename=/nonexistent/x bs=4k<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("! /nonexistent/x: ") && picture.contains("ENOENT"), "{picture}");
    press(&mut headless, "<Esc>");
    assert!(headless.app.shared.files.is_empty(), "the arms read what they read before");
    assert!(!shown(&headless).contains("on /nonexistent/x"), "{}", shown(&headless));
    let mut headless = live();
    press(&mut headless, "4g<Enter>/nonexistent/x<Enter>");
    assert!(shown(&headless).contains("! /nonexistent/x: "), "{}", shown(&headless));
    press(&mut headless, "5g<Enter>");
    let picture = shown(&headless);
    assert!(
        picture.contains("needs its file: /nonexistent/x: ") && !picture.contains("Enter start"),
        "{picture}"
    );
}

#[test]
fn slots_begin_on_a_card_and_offer_a_move_only_there() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "8");
    assert!(footer(&headless).contains("Space move card"), "{}", shown(&headless));
    press(&mut headless, "b<Home>");
    assert!(!footer(&headless).contains("Space move card"), "{}", shown(&headless));
    press(&mut headless, "8<Esc><Esc>8");
    let at = |headless: &Headless| headless.app.screens.slots.selected;
    // Onto a port of its own.
    press(&mut headless, "<Home>");
    while !footer(&headless).contains("Space move card") {
        press(&mut headless, "j");
    }
    let card = at(&headless);
    press(&mut headless, "<Space><Enter>");
    let picture = shown(&headless);
    assert!(
        picture.contains("in this slot already") || picture.contains("Go to its new"),
        "{card} {picture}"
    );
    assert!(headless.app.screens.slots.is_carrying(), "{picture}");
}

#[test]
fn the_form_names_its_profile_until_a_value_is_changed() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "4P");
    press(&mut headless, "j");
    let name = headless.app.screens.dyno.form.profile().expect("it was filled").to_owned();
    assert!(shown(&headless).contains(&format!(" {name}  all 10 drives ")), "{}", shown(&headless));
    headless.app.screens.dyno.form.workload.depth = 7;
    press(&mut headless, "j");
    assert!(!shown(&headless).contains(&name), "{}", shown(&headless));
}

#[test]
fn names_take_the_cells_of_columns_that_nothing_is_counted_in() {
    let mut headless = open("x570", (80, 24));
    let picture = shown(&headless);
    let tree: Vec<&str> = picture.lines().skip(2).take(12).collect();
    assert!(!tree[0].contains("read") && tree.iter().any(|row| row.contains("nvme")), "{picture}");
    assert!(tree.iter().filter(|row| row.contains("nvme")).all(|row| !row.contains('…')), "{picture}");
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "1");
    assert!(shown(&headless).contains("read write"), "{}", shown(&headless));
}

#[test]
fn tabs_have_whole_names_where_all_of_them_fit() {
    for (columns, whole) in [(60, false), (79, true), (80, true)] {
        let picture = shown(&open("laptop", (columns, 23)));
        assert_eq!(picture.contains("2 Findings"), whole, "{picture}");
    }
}

#[test]
fn a_find_counts_every_drive_that_a_row_stands_for() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "g/980<Enter>");
    assert!(shown(&headless).contains("find 980: 1 of 10"), "{}", shown(&headless));
}

#[test]
fn a_text_shows_its_models_and_leaves_the_rows_of_counters_to_the_tree() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/listings/x570-regalis.txt");
    let mut headless = Headless::open(&Origin::Capture(path.into()), (120, 40)).expect("it opens");
    let picture = shown(&headless);
    assert!(picture.contains("FireCuda 530 SSD") && !picture.contains("no live counters"), "{picture}");
    assert!(picture.contains("Ctrl-O open"), "{picture}");
    press(&mut headless, "3+");
    let picture = shown(&headless);
    assert!(picture.contains("nothing can be tuned here") && !picture.contains("+ - change"), "{picture}");
    assert!(!shown(&open("laptop", (200, 40))).contains("Ctrl-O"), "a machine needs no other");
}

#[test]
fn slots_say_what_the_key_does_where_the_cursor_is() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "8<Space>");
    let picture = shown(&headless);
    assert!(picture.contains("Space put back") && picture.contains("here it"), "{picture}");
    assert!(!picture.contains("this drive alone"), "{picture}");
    press(&mut headless, "<Esc>?");
    let help = shown(&headless);
    assert!(help.contains("of the drive's potential") && !help.contains("path's limit"), "{help}");
}

#[test]
fn a_demo_shows_the_reads_of_an_experiment_in_the_tree_and_in_the_curve() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(20));
    let picture = shown(&headless);
    assert!(picture.contains("A demo's experiment has no counters."), "{picture}");
    assert!(picture.contains("needs a difference of 2.0 %, or an interval of ±1.0 %"), "{picture}");
    press(&mut headless, "1");
    let picture = shown(&headless);
    assert!(picture.contains("Experiment: its reads are in the curve."), "{picture}");
    let row = picture.lines().find(|line| line.contains("nvme8n1  980 PRO")).unwrap_or_default();
    let read = row.split("Gen4 x4").nth(1).and_then(|rest| rest.split_whitespace().next());
    let read = read.and_then(|figure| figure.parse::<f64>().ok());
    assert!(read.is_some_and(|read| read > 1.0), "{picture}");
    assert!(!picture.contains("No rate is expected of these reads"), "{picture}");
    headless.wait(Duration::from_secs(400));
    let picture = shown(&headless);
    assert!(picture.contains("reads 0.00") && !picture.contains("its reads are in the curve"), "{picture}");
    press(&mut headless, "5");
    let picture = shown(&headless);
    assert!(picture.contains("decided: at least 2.0 %, and its interval excludes 0 %"), "{picture}");
    // The newest verdict is in the sheet, as runs are.
    press(&mut headless, "7");
    let picture = shown(&headless);
    assert!(picture.contains("[x] experiment 1"), "{picture}");
}

#[test]
fn a_better_arm_has_a_mark_of_what_is_good() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5?");
    let help = shown(&headless);
    assert!(help.contains("✓ ▼ = ?") && !help.contains("▲ ▼"), "{help}");
}

#[test]
fn the_comparison_of_two_tests_goes_to_others_as_it_says() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "4");
    for _ in 0..3 {
        press(&mut headless, "r");
        headless.wait(Duration::from_secs(15));
    }
    press(&mut headless, "=");
    let chosen = "the test shown, and the one that ended before it";
    assert!(shown(&headless).contains("Two tests compared") && shown(&headless).contains(chosen));
    press(&mut headless, "[[[[");
    let picture = shown(&headless);
    assert!(picture.contains("Two tests compared") && picture.contains("which is the oldest"), "{picture}");
    press(&mut headless, "]");
    assert!(shown(&headless).contains(chosen), "{}", shown(&headless));
}

#[test]
fn a_sheet_that_goes_on_names_the_key() {
    for size in [(80, 24), (60, 20), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "7");
        assert!(shown(&headless).contains("PgDn: "), "{size:?}\n{}", shown(&headless));
    }
}

#[test]
fn a_word_that_is_not_in_the_help_has_no_match() {
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "?/zzz");
    assert!(shown(&headless).contains("no match (0)"), "{}", shown(&headless));
    press(&mut headless, "<Enter>");
    assert!(shown(&headless).contains("find zzz: no match (0)"), "{}", shown(&headless));
}

#[test]
fn the_dyno_says_once_how_a_test_begins() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "4");
    let picture = shown(&headless);
    assert_eq!(picture.matches("r runs ").count(), 2, "the workload here, the pull on Machine: {picture}");
    assert!(!picture.contains("press r") && !picture.contains("runs one"), "{picture}");
}

#[test]
fn an_arm_has_an_example_of_what_it_takes() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "5e");
        let picture = shown(&headless);
        assert!(picture.contains("such as: scheduler=none bs=4k"), "{picture}");
    }
}

#[test]
fn a_small_rate_says_what_its_letter_stands_for() {
    let narrow = ["", "s", "ss"].map(|keys| ("laptop", (80, 24), keys, "nvme0n1"));
    for (demo, size, keys, drive) in
        [("threadripper-before", (120, 40), "", "nvme8n1")].into_iter().chain(narrow)
    {
        let mut headless = open(demo, size);
        assert!(!shown(&headless).contains("k kB/s"));
        let disk = DiskRates { read_bytes: 430e3, reads: 100.0, ..DiskRates::default() };
        let disks = [(DriveName::new(drive), disk)].into();
        let rates = Rates { elapsed: Duration::from_secs(1), disks, ..Rates::default() };
        update(&mut headless.app, Message::Rates(Box::new(rates), Duration::from_secs(1)));
        press(&mut headless, keys);
        let picture = shown(&headless);
        assert!(picture.contains("430k") && picture.contains("GB/s; M MB/s, k kB/s"), "{picture}");
        press(&mut headless, "u");
        assert!(shown(&headless).contains("GiB/s; M MiB/s, k KiB/s"), "{}", shown(&headless));
    }
}

#[test]
fn tune_says_what_a_text_lacks() {
    let tune = |text: &str, size| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("it is written");
        let mut headless = Headless::open(&Origin::Capture(file.path().into()), size).expect("it opens");
        press(&mut headless, "3");
        shown(&headless)
    };
    let bridge = "00:00.0 Host bridge: Intel Corporation Device 9b61\n\
        00:02.0 VGA compatible controller: Intel Corporation Device 9b41\n";
    for size in [(80, 24), (120, 40)] {
        let picture = tune(bridge, size);
        assert!(picture.contains("The text has no drives") && picture.contains("Ctrl-O"), "{picture}");
    }
    let drive = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO\n";
    let listed = "$ lsblk -t\n\
        NAME    ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED RQ-SIZE  RA WSAME\n\
        nvme0n1         0    512      0     512     512    0 none     1023 128    0B\n";
    let picture = tune(&format!("$ lspci\n{drive}{listed}"), (120, 40));
    let row = picture.lines().find(|line| line.contains("› nvme0n1")).unwrap_or_default();
    assert!(row.contains("none") && row.contains("128") && row.contains("1023"), "{picture}");
    assert!(picture.contains("values marked ?") && !picture.contains("has no values"), "{picture}");
}

#[test]
fn two_curves_say_in_their_title_which_is_read_and_which_is_written() {
    for (size, title) in [
        ((80, 24), "⣿ rd 1.20 ⠒ wr 0.50 GB/s"),
        ((100, 30), "⣿ rd 1.20 ⠒ wr 0.50 "),
        ((105, 30), "⣿ rd 1.20 ⠒ wr 0.50 GB/s"),
        ((120, 40), "⣿ reads 1.20  ⠒ writes 0.50 GB/s"),
        ((200, 60), "⣿ reads 1.20  ⠒ writes 0.50  GB/s"),
        ((200, 60), "⣿ reads 1.20  ⠒ writes 0.50 GB/s"),
    ] {
        let mut headless = open("threadripper-before", size);
        let count = |headless: &mut Headless, seconds: u64, written_bytes: f64| {
            let disk = DiskRates { read_bytes: 1.2e9, written_bytes, ..DiskRates::default() };
            let disks = [(DriveName::new("nvme8n1"), disk)].into();
            let rates = Rates { elapsed: Duration::from_secs(1), disks, ..Rates::default() };
            update(&mut headless.app, Message::Rates(Box::new(rates), Duration::from_secs(seconds)));
        };
        (1..9).for_each(|second| count(&mut headless, second, 0.0));
        assert!(!shown(&headless).contains('⠒'), "one curve has no legend: {}", shown(&headless));
        (9..30).for_each(|second| count(&mut headless, second, 0.5e9));
        let picture = shown(&headless);
        assert!(picture.contains(title), "{size:?}: {picture}");
    }
}

#[test]
fn the_sum_of_all_targets_is_named_among_the_curves_of_a_test() {
    for (size, title) in [
        ((60, 20), "throughput  5.69 GB/s (total) "),
        ((80, 24), "throughput  5.69 GB/s (total)  max 5.69 "),
        ((100, 30), "throughput  5.69 GB/s (upper line)  max 5.69 "),
        ((120, 40), "throughput  5.69 GB/s (total) ──── SIMULATED "),
        ((200, 60), "throughput  5.69 GB/s  max 5.69  upper line: all together "),
    ] {
        let mut headless = open("x570", size);
        press(&mut headless, "4r");
        headless.wait(Duration::from_secs(9));
        let picture = shown(&headless);
        assert!(picture.contains(title), "{size:?}: {picture}");
        // One drive has one line.
        let mut one = open("x570", size);
        press(&mut one, "<Space>4r");
        one.wait(Duration::from_secs(9));
        let is_named =
            ["(total)", "GB/s (upper", "upper line:"].iter().any(|words| shown(&one).contains(words));
        assert!(!is_named, "{size:?}: {}", shown(&one));
    }
}
