//! Screens keep what they promise, words are whole where cells are free, and keys are offered where they do something.

use std::time::Duration;

use iodyno::{
    app::Message,
    model::{Failed, Target},
    runtime::headless::Headless,
    units::Bytes,
};

use crate::{
    program::iodyno,
    screen::{after, footer, press, shown},
};

const DEMO: &str = "threadripper-before";

#[test]
fn why_keeps_the_figures_of_a_demos_test_and_has_none_of_an_experiment() {
    let mut headless = after(DEMO, (120, 40), "4r", 40);
    press(&mut headless, "6");
    let picture = shown(&headless);
    for words in [
        "as the last test ended",
        "SIMULATED",
        "Workers keep 10 of 32 CPUs busy",
        "100 %",
        "read *",
        "10 of 10 seen",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    assert!(!picture.contains("Drives are idle"), "{picture}");
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(10));
    press(&mut headless, "6");
    let picture = shown(&headless);
    assert!(picture.contains("simulates the reads of an experiment alone"), "{picture}");
    assert!(!picture.contains("Counting"), "{picture}");
}

/// The drive that a pull reads alone and the one whose interrupts Why shows.
fn read_and_shown(picture: &str) -> Option<[&str; 2]> {
    let (_, read) = picture.split_once("each drive alone, ")?;
    let (_, table) = picture.split_once("intr/s")?;
    let shown = table.split_whitespace().find(|word| word.starts_with("nvme"))?;
    Some([read.split_whitespace().next()?, shown])
}

#[test]
fn why_says_when_a_demos_figures_are_of_the_drive_before() {
    let mut headless = after(DEMO, (200, 60), "r6", 2);
    let mut was_said = false;
    for _ in 0..40 {
        headless.wait(Duration::from_millis(250));
        let picture = shown(&headless);
        let Some([read, shown]) = read_and_shown(&picture) else { continue };
        let says = picture.contains("figures: of the load before");
        was_said |= says;
        assert!(says || read == shown, "{picture}");
    }
    assert!(was_said, "a new drive has no figures at once");
}

#[test]
fn words_beside_a_short_tree_of_slots_are_whole() {
    for demo in [DEMO, "laptop", "x570"] {
        for size in [(80, 24), (120, 40), (200, 60)] {
            let picture = shown(&after(demo, size, "8", 0));
            assert!(picture.contains("No hardware is changed."), "{demo} {size:?}: {picture}");
        }
        let picture = shown(&after(demo, (80, 24), "8<Space>", 0));
        assert!(picture.contains("cancels."), "{demo}: {picture}");
    }
}

#[test]
fn a_root_complex_has_no_slot_whose_speed_could_be_tried() {
    let picture = shown(&after(DEMO, (80, 24), "8g", 0));
    assert!(picture.contains("go to a card") && !picture.contains("slower slot."), "{picture}");
    assert!(!picture.contains("+ - slot speed"), "{picture}");
}

#[test]
fn two_tests_that_differ_are_compared_in_whole_words_and_without_percent() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = after(DEMO, size, "4r", 14);
        press(&mut headless, "Pr");
        headless.wait(Duration::from_secs(14));
        press(&mut headless, "=");
        let picture = shown(&headless);
        assert!(picture.contains("the workload differs"), "{size:?}: {picture}");
        // The rows of the box that lies over the screen.
        let of = |label: &str| {
            let row = picture.lines().find_map(|line| line.split(&format!("│ {label} ")).nth(1));
            row.and_then(|row| row.split('│').next()).unwrap_or_default().to_owned()
        };
        let words = of("workload") + &of("reads");
        assert!(words.contains("4k randread") && !words.contains('…'), "{size:?}: {picture}");
        let figures: String = ["rate", "IOPS", "median", "p99", "CPU/read"].map(of).concat();
        assert!(figures.contains("GB/s") && !figures.contains('%'), "{size:?}: {picture}");
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn labels_of_intervals_are_whole_beside_free_cells() {
    for size in [(80, 24), (120, 40)] {
        let picture = shown(&after(DEMO, size, "5j<Enter>", 1500));
        assert!(!picture.lines().skip(1).any(|line| line.contains('…')), "{size:?}: {picture}");
        assert!(picture.contains("vs its baseline above") && !picture.contains("its parts"), "{picture}");
    }
}

#[test]
fn facts_that_are_cut_are_counted_with_their_key() {
    for keys in ["", "jjj"] {
        for size in [(60, 20), (80, 24)] {
            let picture = shown(&after(DEMO, size, keys, 0));
            assert!(picture.contains("─ Enter: "), "{keys} {size:?}: {picture}");
        }
    }
}

#[test]
fn bars_of_a_pull_give_way_to_the_limit() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let picture = shown(&after(DEMO, size, "r<Enter>", 90));
        let row = picture.lines().find(|line| line.contains("nvme0n1") && line.contains('▆'));
        assert!(row.is_some_and(|row| row.contains("root complex 0000:40")), "{size:?}: {picture}");
    }
}

#[test]
fn added_rounds_reach_the_look_that_is_named() {
    let mut headless = after(DEMO, (120, 40), "5jj<Enter>", 1500);
    press(&mut headless, "m");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    let named = picture.split("verdicts after round ").nth(1).unwrap_or_else(|| panic!("{picture}"));
    assert!(named.contains("or when the time is up"), "{picture}");
    let named: u32 = named.split(',').next().unwrap().parse().unwrap();
    headless.wait(Duration::from_mins(50));
    let shown = headless.app.shared.experiments.shown.as_ref().unwrap();
    assert!(
        headless.app.shared.experiments.running().is_none() && shown.account.rounds >= named,
        "{} of {named}",
        shown.account.rounds
    );
}

#[test]
fn runs_of_an_experiment_lead_back_to_its_verdict() {
    let mut headless = after(DEMO, (120, 40), "5<Enter>", 400);
    press(&mut headless, "d");
    assert!(shown(&headless).contains("Runs, the latest first"));
    press(&mut headless, "<Esc>");
    assert!(shown(&headless).contains("┌ Verdict"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(shown(&headless).contains("Experiments"), "{}", shown(&headless));
}

#[test]
fn an_offer_of_files_is_a_question_and_no_field() {
    let mut headless = after("laptop", (80, 24), "4r", 0);
    let files = vec![Target { path: "/var/tmp/iodyno.test".into(), drive: None }];
    let refused = Failed::new("/dev/nvme0n1: EPERM", Some(libc::EPERM)).with_files(files);
    headless.send(Message::RunEnded(Box::new(Err(refused)), Duration::from_secs(1)));
    let picture = shown(&headless);
    assert!(picture.contains("Enter start") && picture.contains("Esc cancel"), "{picture}");
    headless.app.notice = None;
    assert!(
        footer(&headless).contains("Enter start") && footer(&headless).contains("Esc cancel"),
        "{}",
        footer(&headless)
    );
    press(&mut headless, "jc");
    assert!(headless.app.screens.dyno.form.edit.is_none(), "letters are keys");
    press(&mut headless, "<Esc>");
    assert!(headless.app.screens.dyno.form.offered.is_none() && !shown(&headless).contains("instead?"));
    press(&mut headless, "q");
    assert!(headless.has_left());
}

/// A file of 1.07 GB is written by a key only while its path and its size are in sight.
#[test]
fn an_offer_of_files_leaves_the_keys_of_the_form_alone() {
    let files = vec![Target { path: "/var/tmp/iodyno.test".into(), drive: None }];
    let why = "reading /dev/nvme0n1 is not permitted; run as root, or read files with --filename";
    let refused = Failed::new(why, Some(libc::EACCES)).with_files(files);
    let refuse = |headless: &mut Headless| {
        let ended = Message::RunEnded(Box::new(Err(refused.clone())), Duration::from_secs(1));
        headless.send(ended);
    };
    for size in [(60, 20), (80, 24), (200, 60)] {
        let mut headless = after("laptop", size, "4r", 0);
        refuse(&mut headless);
        let picture = shown(&headless);
        for words in ["/var/tmp/iodyno.test", "1.07 GB", "Enter start", "Esc cancel"] {
            assert!(picture.contains(words), "{words} at {size:?}: {picture}");
        }
        // The form below takes no key of the question, and Enter in the form none of the offer.
        press(&mut headless, "jjl<Esc>jj<Enter>");
        let form = &headless.app.screens.dyno.form;
        assert!(form.files.is_empty() && form.edit.is_some() && form.at == 2, "{form:?}");
        press(&mut headless, "<Esc>");
        assert!(shown(&headless).contains("offers to read 1 file"), "{size:?}: {}", shown(&headless));
        // The question does not come between the keys of a field.
        press(&mut headless, "r<Enter>");
        refuse(&mut headless);
        press(&mut headless, "<Enter>");
        assert!(headless.app.screens.dyno.form.files.is_empty(), "{}", shown(&headless));
        press(&mut headless, "r");
        refuse(&mut headless);
        press(&mut headless, "<Enter>");
        let tested = &headless.app.shared.tests.all.back().unwrap().workload.targets;
        assert!(tested[0].path.ends_with("iodyno.test"), "{tested:?}");
    }
}

/// The size in the form is what is written, also of a file that is offered.
#[test]
fn an_offer_of_files_names_the_size_of_the_form() {
    let mut headless = after("laptop", (80, 24), "4", 0);
    headless.app.screens.dyno.form.workload.size = Some(Bytes(4 << 30));
    press(&mut headless, "r");
    let files = vec![Target { path: "/var/tmp/iodyno.test".into(), drive: None }];
    let refused = Failed::new("/dev/nvme0n1: EACCES", Some(libc::EACCES)).with_files(files);
    headless.send(Message::RunEnded(Box::new(Err(refused)), Duration::from_secs(1)));
    assert!(shown(&headless).contains("4.29 GB"), "{}", shown(&headless));
}

#[test]
fn a_cell_is_opened_only_where_it_takes_a_value() {
    let mut refused = 0;
    for row in ["", "G"] {
        let mut headless = after(DEMO, (200, 60), &format!("3{row}"), 0);
        for column in 0..20 {
            headless.app.notice = None;
            let offers = footer(&headless).contains("Enter edit");
            press(&mut headless, "<Enter>");
            assert_eq!(headless.app.screens.tune.edit.is_some(), offers, "{column}: {}", shown(&headless));
            refused += usize::from(!offers);
            if offers {
                press(&mut headless, "<Esc>");
            }
            press(&mut headless, "l");
        }
    }
    assert!(refused > 0, "some settings take more than a write");
}

#[test]
fn narrow_terminals_show_staged_values_and_the_keys_of_several_tests() {
    let headless = after(DEMO, (60, 20), "3l+1", 0);
    assert!(shown(&headless).lines().nth(1).unwrap().contains(" Tune* Dyno "), "{}", shown(&headless));
    let mut headless = after(DEMO, (80, 24), "4r", 14);
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(14));
    for hint in ["[ ] runs", "= compare", "r run", "Enter edit", "q quit"] {
        assert!(footer(&headless).contains(hint), "{hint}: {}", footer(&headless));
    }
}

#[test]
fn one_word_stands_for_one_way() {
    assert!(footer(&after(DEMO, (200, 60), "jjjj", 0)).contains("w slots"));
    assert!(footer(&after(DEMO, (120, 40), "2", 0)).contains("w slots"));
    let mut headless = after(DEMO, (120, 40), "2", 0);
    let mut words = Vec::new();
    for _ in 0..8 {
        words.extend(footer(&headless).split("  ").filter(|hint| hint.starts_with("w ")).map(str::to_owned));
        press(&mut headless, "j");
    }
    assert!(words.iter().all(|word| ["w slots", "w experiment"].contains(&word.as_str())), "{words:?}");
}

#[test]
fn a_bar_without_a_curve_names_none() {
    let headless = after(DEMO, (60, 20), "5<Enter>", 10);
    assert!(!shown(&headless).contains("in the curve"), "{}", shown(&headless));
    assert!(shown(&headless).contains("A demo's experiment has no counters."), "{}", shown(&headless));
}

#[test]
fn the_preview_of_a_sheet_names_its_key_on_every_width() {
    for size in [(60, 20), (80, 24)] {
        let mut headless = after(DEMO, size, "r<Enter>", 90);
        press(&mut headless, "7");
        assert!(shown(&headless).contains("─ PgDn: "), "{}", shown(&headless));
    }
}

/// Of two arms that a person wrote both are named, with what they differ in.
#[test]
fn arms_of_the_user_are_told_apart_by_what_they_differ_in() {
    let write = "5Gebs=4k<Space>iodepth=32<Enter>bs=64k<Space>iodepth=64<Enter>";
    for size in [(60, 20), (80, 24), (120, 40), (200, 60)] {
        let mut headless = after("laptop", size, write, 0);
        let picture = shown(&headless);
        assert!(!picture.contains("A · B"), "{picture}");
        for words in ["A        bs=4k iodepth=32", "B        bs=64k iodepth=64"] {
            assert!(picture.contains(words), "{words} at {size:?}: {picture}");
        }
        press(&mut headless, "<Enter>");
        headless.wait(Duration::from_secs(4));
        let picture = shown(&headless);
        for words in ["A bs=4k iodepth=32", "B bs=64k"] {
            assert!(picture.contains(words), "{words} at {size:?}: {picture}");
        }
        let title = picture.lines().nth(2).unwrap();
        assert!(size.0 >= 80 || !title.contains("bs="), "one arm alone: {picture}");
        if size.0 >= 80 {
            assert!(title.contains("A bs=4k iodepth=32, B bs=64k iodepth=64"), "{size:?}: {picture}");
        }
    }
}

#[test]
fn a_list_of_arms_breaks_between_them() {
    for (size, keys) in [((60, 20), "5j"), ((80, 24), "5j"), ((100, 30), "5j")] {
        let picture = shown(&after(DEMO, size, keys, 0));
        let lines: Vec<&str> = picture.lines().filter(|line| line.contains(" KiB,")).collect();
        assert!(!lines.is_empty(), "{picture}");
        for line in lines {
            let text = line.trim_end_matches([' ', '│']);
            assert!(text.ends_with('·') || text.ends_with("memory"), "{size:?}: {picture}");
        }
    }
}

/// Both ends of a time axis are named, also below 100 columns and beside other panels.
#[test]
fn time_axes_name_both_ends_and_their_unit() {
    for size in [(80, 24), (100, 30), (120, 40)] {
        let picture = shown(&after("laptop", size, "4r", 5));
        for line in picture.lines().filter(|line| line.contains("0└─")) {
            for axis in line.split("└─").skip(1) {
                assert!(axis.contains("now"), "{size:?}: {picture}");
            }
        }
        let picture = shown(&after("laptop", size, "r", 60));
        if size.0 >= 120 {
            assert!(picture.contains("Rate over time  GB/s  all drives together"), "{picture}");
            assert!(
                picture.lines().any(|line| line.contains(" 0         2           4           6")
                    || line.trim_end_matches([' ', '│']).ends_with("8 s")),
                "{picture}"
            );
        }
    }
}

/// A port is below its maximum where its device could do more too, on the command line as on the screen.
#[test]
fn the_printed_tree_and_the_screen_have_one_rule_for_slow_links() {
    for (demo, slow) in [("laptop", 2), ("x570", 1), (DEMO, 0)] {
        let state = tempfile::tempdir().unwrap();
        let output = iodyno(state.path(), &["tree", "--demo", demo, "--all"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(" < ")) {
            // The device's row is marked; its port's row is the one above it.
            let marked = |line: &str| line.contains('▼') || line.contains('▽');
            assert!(lines[index..].iter().take(2).any(|line| marked(line)), "{line}: {text}");
        }
        assert_eq!(text.matches(" < ").count(), slow, "{demo}: {text}");
    }
}

/// Words stand apart, and what has no room is shortened by words.
#[test]
fn words_of_small_screens_are_whole_and_apart() {
    let picture = shown(&after(DEMO, (60, 20), "3l+1", 0));
    assert!(picture.lines().nth(1).unwrap().contains(" Tune* Dyno "), "{picture}");
    let picture = shown(&after(DEMO, (60, 20), "3l+4r", 3));
    let tabs = picture.lines().nth(1).unwrap();
    assert!(tabs.contains(" Tune* Dyno ") && tabs.contains(" Slots ●"), "{picture}");
    let picture = shown(&after("laptop", (60, 20), "r", 5));
    assert!(picture.contains("nvme1n1 (2 of 2)  1m read\n"), "{picture}");
    for (size, keys) in
        [((60, 20), ":"), ((80, 24), ":"), ((120, 40), ":"), ((120, 40), "c"), ((80, 24), "c")]
    {
        let picture = shown(&after(DEMO, size, keys, 0));
        let boxed = picture.lines().filter(|line| line.trim_end().ends_with('│'));
        let cut = |word: &str| word.ends_with('…') && word != "…";
        let faults: Vec<&str> = boxed.filter(|line| line.split(['│', ' ']).any(cut)).collect();
        assert!(faults.is_empty() || size.0 == 120, "{size:?} {keys}: {faults:?}");
        assert!(size.0 < 120 || keys == ":" || !picture.contains(" …"), "{picture}");
    }
    // The selected command has its whole description.
    let picture = shown(&after("laptop", (60, 20), ":theme", 0));
    assert!(picture.contains("Show the next theme: 16 colours, dark, light, console,"), "{picture}");
    assert!(picture.contains("high contrast, plain, your own, auto"), "{picture}");
}

/// Facts beside a curve go on in a second line only where no cell beside them is free.
#[test]
fn facts_take_the_columns_that_others_leave() {
    for demo in ["laptop", DEMO] {
        for size in [(200, 60), (200, 70), (80, 40)] {
            let picture = shown(&after(demo, size, "4r1nn", 5));
            if !picture.contains("lifetime") {
                continue;
            }
            for whole in ["write back; fsync speed is not measured", "written, on for 1240 h"] {
                assert!(picture.contains(whole) || size.0 < 200, "{demo} {size:?} {whole}: {picture}");
            }
        }
    }
}

/// A limit is whole where its row has the cells, though another row's figure is longer.
#[test]
fn the_limit_of_a_drive_takes_the_cells_of_its_row() {
    let picture = shown(&after("laptop", (80, 24), "r", 120));
    let row = picture.lines().find(|line| line.trim_start().starts_with("nvme0n1 ▆")).unwrap();
    assert!(row.ends_with("Gen3 x4 (8 GT/s) at MPS 256, port 0000:00:01.1"), "{picture}");
}

/// What an arm of the user sets is named beside its bars, and its change is whole without the interval where that has no room.
#[test]
fn arms_of_the_user_and_their_changes_are_not_cut() {
    for (size, change) in [((60, 20), "-58.0 %"), ((80, 24), "-58.0 % [-58.1, -58.0] worse")] {
        let picture = shown(&after(DEMO, size, "5G<Enter>", 300));
        let row =
            picture.lines().find(|line| line.trim_start().starts_with("B scheduler=mq-deadline ")).unwrap();
        assert!(row.ends_with(change), "{size:?}: {picture}");
    }
}

#[test]
fn why_after_a_pull_begins_with_what_the_pull_found() {
    for size in [(80, 24), (200, 60)] {
        let mut headless = after(DEMO, size, "r<Enter>", 100);
        press(&mut headless, "6");
        let picture = shown(&headless);
        let words = picture.split(['│', '\n']).map(str::trim).collect::<Vec<_>>().join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in
            ["The pull: 53.5 of 71.4 GB/s (75 %)", "Its last run, 4 KiB random, depth 1: ", "latency of"]
        {
            assert!(words.contains(part), "{part}: {picture}");
        }
    }
}

#[test]
fn why_and_machine_name_the_same_drive_when_a_pull_goes_on_to_the_next() {
    for seconds in 3..12 {
        let mut headless = after("laptop", (200, 60), "r<Enter>", seconds);
        press(&mut headless, "1");
        let machine = shown(&headless);
        let reads = machine.lines().find_map(|line| {
            let (reads, _) = line.split_once(" of ").filter(|_| line.contains("expected: "))?;
            Some(reads.trim_start_matches(['│', ' ']).to_owned())
        });
        press(&mut headless, "6");
        let why = shown(&headless);
        let between = why.contains("figures: of the load before");
        let words = match reads.filter(|_| between) {
            Some(reads) => reads,
            None if between => "Before this run: ".to_owned(),
            None => continue,
        };
        assert!(why.contains(&words), "{seconds} s: {words:?} in {machine}\n{why}");
    }
}
