//! `iodyno pull`: what it says of each demo, and what it does with real files.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
    time::Duration,
};

use crate::screen::{open, press, shown};
use iodyno::{
    app::{Message, ScreenId},
    experiment::Phase,
    model::{Failed, Target},
    runtime::headless::Headless,
    units::Bytes,
};
use serde_json::Value;

fn iodyno(arguments: &[&str]) -> Output {
    let state = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_iodyno"))
        .env("IODYNO_STATE_DIR", state.path())
        .args(arguments)
        .output()
        .unwrap()
}

fn pull(arguments: &[&str]) -> Value {
    let output = iodyno(&[&["pull", "--json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The headline of each demo names its planted limit, or says that nothing is lost.
#[test]
fn each_demo_has_its_headline() {
    let laptop = "7.17 of at most 10.7 GB/s (67 %). nvme0n1: its link runs at ";
    let before = "53.5 of 71.4 GB/s (75 %). 8 drives share root complex 0000:40 while 0000:60 has none: swap the card that \
                  holds nvme0n1 to nvme3n1 with the graphics card in 0000:60, about +17.7 GB/s.";
    let nothing = "Nothing is lost: ";
    let blocks = "use 512 B blocks";
    for (demo, start, contains, finding) in [
        ("laptop", laptop, "reseat the drive or card", Some("link-downtrained")),
        ("threadripper-before", before, "about +17.7 GB/s.", Some("shared-root-complex")),
        ("threadripper-after", "71.1 of 71.4 GB/s (100 %). ", nothing, None),
        ("x570", "30.0 of at most 30.1 GB/s (100 %). ", blocks, None),
        ("x570-formatted", "30.0 of at most 30.1 GB/s (100 %). ", nothing, None),
    ] {
        let document = pull(&["--demo", demo]);
        let text = document["headline"]["text"].as_str().unwrap();
        assert!(text.starts_with(start) && text.contains(contains), "{demo}: {text}");
        assert_eq!(document["headline"]["lost_to"][0]["finding"].as_str(), finding, "{demo}");
        assert_eq!(document["simulated"], true);
        let phases = document["phases"].as_array().unwrap();
        let seconds: f64 = phases.iter().map(|phase| phase["seconds"].as_f64().unwrap()).sum();
        assert!(seconds < 60.0, "{demo}: {seconds} counted seconds");
        assert!(
            phases.iter().all(|phase| phase["result"]["iops"].as_f64().unwrap() > 0.0),
            "{demo}: {phases:?}"
        );
    }
}

/// A link that small reads fill is their limit, even where the CPUs could hardly read more. Busy CPUs are said once, with a remedy.
#[test]
fn small_reads_name_their_limit_and_what_would_help() {
    for (demo, says) in [
        (
            "laptop",
            "(85 %) at 4 KiB random, 2 jobs a drive (1 job: 858 k, 2: 1.72 M, 4: 1.75 M IOPS; more jobs gain under 5 %). Limit: Gen3 x4",
        ),
        (
            "threadripper-before",
            "CPU-bound: all 32 CPUs were busy. Polling would save about 32 % of CPU time, an estimate",
        ),
    ] {
        let output = iodyno(&["pull", "--demo", demo]);
        let text = String::from_utf8(output.stdout).unwrap().replace('\n', " ");
        assert!(text.contains(says), "{demo}: {text}");
        assert!(text.matches("CPU-bound").count() <= 1, "{demo}: {text}");
    }
}

#[test]
fn half_a_link_is_half_the_potential_and_no_finding_lowers_it() {
    let document = pull(&["--demo", "laptop"]);
    let drive = &document["drives"][0];
    assert_eq!(drive["name"], "nvme0n1");
    let share = drive["measured"].as_f64().unwrap() / drive["potential"].as_f64().unwrap();
    assert!((0.49..0.52).contains(&share), "{share}");
    assert!(drive["limited_by"].as_str().unwrap().contains("0000:00:01.1"), "{drive}");
}

#[test]
fn the_profile_is_printed_as_people_paste_it() {
    let output = iodyno(&["pull", "--demo", "laptop", "--profile", "cdm"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("SIMULATED\n"), "{text}");
    for head in ["[Read] nvme0n1, all drives read at once", "[Read] nvme1n1, ", "[Read] sum of 2 drives"] {
        assert!(text.contains(head), "{head}: {text}");
    }
    for row in [
        "SEQ    1MiB (Q=  8, T= 1): ",
        "SEQ  128KiB (Q= 32, T= 1): ",
        "RND    4KiB (Q= 32, T=16): ",
        "RND    4KiB (Q=  1, T= 1): ",
    ] {
        assert!(text.contains(&format!("\n  {row}")), "{row}: {text}");
    }
}

/// Ctrl-C in the middle of laying the file out, and of a run. `cli/pull/tests.rs` stops it in every phase.
#[test]
fn a_signal_ends_it_with_what_it_has_and_removes_the_file() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = folder.path().join("iodyno.test");
    let state = tempfile::tempdir().unwrap();
    for (line, size, says) in [
        // Large enough to be seen being laid out.
        ("laying out", "2g", "Stopped in the first run"),
        ("2 of 4: ", "64m", "Stopped in phase 2 of 4, 4 KiB random reads, "),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iodyno"))
            .env("IODYNO_STATE_DIR", state.path())
            .args(["pull", "--size", size, "--filename", path.to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(errors.any(|said| said.unwrap().contains(line)), "{line}");
        let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        errors.for_each(drop);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{line}");
        let text = String::from_utf8(output.stdout).unwrap().replace('\n', " ");
        assert!(text.contains(says), "{text}");
        assert!(!path.exists(), "{line}");
    }
}

#[test]
fn what_cannot_be_read_is_one_line_with_status_2() {
    for (arguments, says) in [
        (["pull", "nosuchdrive"].as_slice(), "no such drive"),
        (&["pull", "--open", "tests/fixtures/x.capture"], ""),
        (&["pull", "--filename", "/nowhere/file"], "ENOENT"),
        (&["pull", "--filename", "/nowhere/file", "--size", "1m"], "is no folder"),
        (&["pull", "--filename", "/tmp"], "is a directory"),
        (&["pull", "--demo", "laptop", "nosuchdrive"], "`iodyno drives --demo laptop` lists them"),
        (&["pull", "--demo", "x570", "--filename", "/nowhere"], "`iodyno drives --demo x570` lists them"),
    ] {
        let output = iodyno(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && errors.contains(says) && errors.starts_with("iodyno: "),
            "{errors}"
        );
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

/// What-if offers the files that the pull offers, in its words.
#[test]
fn an_experiment_whose_drives_may_not_be_read_offers_files() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("laptop", size);
        press(&mut headless, "5<Down><Down><Down><Down><Down><Enter>");
        let mut progress = headless.app.shared.experiments.shown.clone().unwrap();
        let drive = progress.account.plan.targets[0].drive.clone();
        let file = Target { path: "/var/tmp/iodyno.test".into(), drive };
        let why = Failed::new("/dev/nvme0n1: EACCES; run as root", Some(13)).with_files(vec![file.clone()]);
        progress.account.refused = Some(why);
        progress.account.phase = Phase::Ended;
        let refuse = |headless: &mut Headless| {
            headless.send(Message::Progress(Box::new(progress.clone()), Duration::from_secs(1)));
        };
        refuse(&mut headless);
        let picture = shown(&headless);
        let words =
            picture.split_whitespace().filter(|word| !word.contains('│')).collect::<Vec<_>>().join(" ");
        assert!(picture.contains("The drives may not be read here."), "{picture}");
        assert!(size.0 > 80 || words.contains("Read 1 file of 1.07 GB instead?"), "{picture}");
        press(&mut headless, "<Esc>");
        assert!(headless.app.shared.experiments.shown.is_none());
        assert_eq!(headless.app.screen, ScreenId("what-if"));
        press(&mut headless, "<Enter>");
        refuse(&mut headless);
        press(&mut headless, "<Enter>");
        let plan = &headless.app.shared.experiments.running().unwrap().plan;
        assert_eq!(plan.targets, std::slice::from_ref(&file));
        assert!(plan.arms.iter().all(|arm| arm.workload.size == Some(Bytes(1 << 30))), "{plan:?}");
        assert_eq!(plan.arms[0].workload.targets, [file]);
    }
}

#[test]
fn one_key_leads_to_the_headline_its_finding_and_the_slot_move() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "r");
        assert_eq!(headless.app.screen, ScreenId("pull"));
        assert!(
            shown(&headless).contains("1 of 5: each drive alone, nvme8n1 (1 of 10)"),
            "{}",
            shown(&headless)
        );
        headless.wait(Duration::from_mins(1));
        let picture = shown(&headless);
        assert!(
            picture.contains("53.5 of 71.4 GB/s (75 %).") && picture.contains("4.90 of 7.14 GB/s"),
            "{picture}"
        );
        assert!(!picture.contains('…') || size.0 == 80, "{picture}");
        press(&mut headless, "<Enter>");
        assert_eq!(headless.app.screen, ScreenId("findings"));
        assert!(shown(&headless).contains("share root complex 0000:40"), "{}", shown(&headless));
        press(&mut headless, "4");
        assert_eq!(headless.app.screen, ScreenId("dyno"));
    }
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(1));
    press(&mut headless, "w");
    assert_eq!(headless.app.screen, ScreenId("slots"), "{}", shown(&headless));
}

#[test]
fn the_headline_follows_the_units() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(1));
    press(&mut headless, "u");
    let picture = shown(&headless);
    assert!(picture.contains("49.8 of 66.5 GiB/s (75 %).") && picture.contains("+16.5 GiB/s"), "{picture}");
    press(&mut headless, "u");
    assert!(shown(&headless).contains("53.5 of 71.4 GB/s (75 %)."), "{}", shown(&headless));
}

#[test]
fn esc_leaves_a_pull_running_with_a_mark_and_r_shows_it_again() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(16));
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("machine"));
    let picture = shown(&headless);
    assert!(picture.contains("● pull  30 s left"), "{picture}");
    assert!(picture.contains("The pull goes on: r shows it, x stops it"), "{picture}");
    assert!(picture.contains("r show pull") && !picture.contains("r pull"), "{picture}");
    press(&mut headless, "r");
    assert_eq!(headless.app.screen, ScreenId("pull"));
    assert!(headless.app.shared.pulls.running.is_some());
    press(&mut headless, "<Esc>");
    headless.wait(Duration::from_mins(1));
    let picture = shown(&headless);
    assert!(!picture.contains("● pull") && picture.contains("r show result"), "{picture}");
}

#[test]
fn the_footer_offers_what_does_something_now() {
    let footer = |headless: &Headless| shown(headless).lines().last().unwrap().to_owned();
    let mut headless = open("threadripper-before", (120, 40));
    assert!(!footer(&headless).contains("x stop"), "{}", footer(&headless));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(2));
    let running = footer(&headless);
    assert!(running.contains("x stop") && running.contains("d curves"), "{running}");
    assert!(["r pull", "Enter finding", "w slots", "s sheet"].iter().all(|hint| !running.contains(hint)));
    while headless.app.shared.pulls.running.is_some() {
        press(&mut headless, "<Enter>");
        assert!(shown(&headless).contains("Wait: the pull names a finding"), "{}", shown(&headless));
        headless.wait(Duration::from_secs(1));
    }
    assert!(!shown(&headless).contains("Wait:"), "{}", shown(&headless));
    let ended = footer(&headless);
    assert!(["r pull", "Enter finding", "w slots", "s sheet"].iter().all(|hint| ended.contains(hint)));
    assert!(!ended.contains("x stop"), "{ended}");
    let mut healthy = open("threadripper-after", (120, 40));
    press(&mut healthy, "r");
    healthy.wait(Duration::from_mins(1));
    assert!(!footer(&healthy).contains("finding"), "{}", footer(&healthy));
}

#[test]
fn a_long_pull_draws_its_rate_over_time() {
    let output = iodyno(&["pull", "--demo", "laptop", "--minutes", "10"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, curve) = text.split_once("Rate of all drives together over time:\n").unwrap();
    assert!(curve.contains("7.17G ┤⠉⠉") && curve.trim_end().ends_with("600 s"), "{curve}");
    let document = pull(&["--demo", "laptop", "--minutes", "10"]);
    let phases = document["phases"].as_array().unwrap();
    let long = phases.iter().find(|phase| phase["name"] == "together").unwrap();
    let values = long["rates"]["bytes_per_second"].as_array().unwrap().len() as u64;
    assert!(values * long["rates"]["seconds_per_value"].as_u64().unwrap() >= 590, "{long}");
    assert!(pull(&["--demo", "laptop"])["phases"][2]["rates"].is_null());
}

#[test]
fn r_is_the_pull_but_where_a_screen_has_something_to_run() {
    for (tab, shows) in [
        ("1", "pull"),
        ("2", "pull"),
        ("3", "pull"),
        ("4", "dyno"),
        ("5", "what-if"),
        ("5w", "pull"),
        ("6", "pull"),
        ("7", "pull"),
    ] {
        let mut headless = open("laptop", (120, 40));
        press(&mut headless, &format!("{tab}r"));
        assert_eq!(headless.app.screen, ScreenId(shows), "{tab}");
        assert_eq!(headless.app.shared.pulls.running.is_some(), shows == "pull", "{tab}");
        let is_test = shows == "dyno";
        assert_eq!(headless.app.shared.tests.running().is_some(), is_test || shows == "pull", "{tab}");
    }
}

#[test]
fn esc_goes_back_to_the_pull_from_all_that_its_page_opens() {
    for (keys, shows) in [("d", "dyno"), ("s", "sheet"), ("w", "slots"), ("<Enter>", "findings")] {
        let mut headless = open("threadripper-before", (120, 40));
        press(&mut headless, "r");
        headless.wait(Duration::from_mins(1));
        press(&mut headless, keys);
        assert_eq!(headless.app.screen, ScreenId(shows), "{keys}");
        if shows == "slots" {
            // The proposed move is a step of its own.
            press(&mut headless, "<Esc>");
            assert_eq!(headless.app.screen, ScreenId(shows), "{keys}");
        }
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen, ScreenId("pull"), "{keys}");
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen, ScreenId("machine"), "{keys}");
        // A tab is no page of the pull.
        press(&mut headless, "42<Esc>");
        assert_eq!(headless.app.screen, ScreenId("dyno"), "{keys}");
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen, ScreenId("machine"), "{keys}");
    }
}

#[test]
fn esc_goes_back_through_every_screen_that_led_to_a_move() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(1));
    press(&mut headless, "<Enter>w");
    assert_eq!(headless.app.screen, ScreenId("slots"));
    press(&mut headless, "j<Space>");
    assert!(headless.app.screens.slots.is_carrying(), "a move of the user's own");
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("slots"), "Esc undoes it first");
    assert!(!headless.app.screens.slots.is_carrying());
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("slots"), "the move that w proposed is a step too");
    for screen in ["findings", "pull", "machine", "machine"] {
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen, ScreenId(screen));
    }
    // From the tree, and from a finding that a tab shows.
    for (keys, screen, steps) in [("w", "machine", 0), ("2w", "findings", 1), ("2<Enter>w", "machine", 0)] {
        press(&mut headless, &format!("1g{keys}"));
        assert_eq!(headless.app.screen, ScreenId("slots"), "{keys}");
        press(&mut headless, &"<Esc>".repeat(steps + 1));
        assert_eq!(headless.app.screen, ScreenId(screen), "{keys}");
    }
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("findings"), "which showed the tree");
}

#[test]
fn esc_goes_back_to_the_screen_that_began_the_pull() {
    for (key, screen) in [("1", "machine"), ("2", "findings"), ("6", "why"), ("7", "sheet")] {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, &format!("{key}r"));
        assert_eq!(headless.app.screen, ScreenId("pull"), "{key}");
        headless.wait(Duration::from_mins(1));
        // What the page opens leads back to it, and it back to the first screen.
        press(&mut headless, "<Enter><Esc>");
        assert_eq!(headless.app.screen, ScreenId("pull"), "{key}");
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen, ScreenId(screen), "{key}");
    }
}

/// What only an experiment can measure is no loss that the pull saw, and its finding is a key away.
#[test]
fn a_finding_without_a_figure_is_named_and_opened() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(1));
    let picture = shown(&headless);
    assert!(
        picture.contains("Large reads lose nothing: ") && !picture.contains("Nothing is lost"),
        "{picture}"
    );
    press(&mut headless, "<Enter>");
    assert_eq!(headless.app.screen, ScreenId("findings"));
    assert!(shown(&headless).contains("use 512 B blocks"), "{}", shown(&headless));
}

#[test]
fn a_remedy_is_offered_only_where_there_is_one() {
    let footer = |headless: &Headless| shown(headless).lines().last().unwrap().to_owned();
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "r");
    headless.wait(Duration::from_mins(1));
    assert!(!footer(&headless).contains("  w "), "{}", footer(&headless));
    press(&mut headless, "w");
    assert_eq!(headless.app.screen, ScreenId("pull"));
    assert!(shown(&headless).contains("Enter shows the remedy"), "{}", shown(&headless));
}

#[test]
fn a_pull_is_not_left_without_asking() {
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "q");
    // It still asks when the next phase has begun.
    headless.wait(Duration::from_secs(5));
    assert!(!headless.has_left() && shown(&headless).contains("A pull is running"), "{}", shown(&headless));
    headless.wait(Duration::from_mins(1));
    assert!(!shown(&headless).contains("A pull is running"), "nothing is left to ask");
    press(&mut headless, "rqy");
    assert!(headless.has_left());
}

#[test]
fn the_form_says_that_it_waits_for_the_pull_and_the_tabs_keep_their_distance() {
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(2));
    assert!(shown(&headless).lines().nth(1).unwrap().ends_with("8 Slots    ●"), "{}", shown(&headless));
    press(&mut headless, "d");
    assert!(shown(&headless).contains("workload  the pull runs"), "{}", shown(&headless));
}

/// A drive is compared with the same figure wherever it is shown.
#[test]
fn the_pull_and_the_slots_have_one_potential() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5w");
    let picture = shown(&headless);
    assert!(picture.contains("4.92 of 7.14") && !picture.contains("7.20"), "{picture}");
}

#[test]
fn a_pull_that_ended_elsewhere_is_shown_before_another_begins() {
    for keys in ["r", "4"] {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, "r3");
        headless.wait(Duration::from_mins(3));
        assert!(shown(&headless).contains("The pull has ended"), "{}", shown(&headless));
        press(&mut headless, keys);
        assert_eq!(headless.app.screen, ScreenId("pull"), "{keys}");
        assert!(headless.app.shared.tests.running().is_none() && headless.app.shared.pulls.running.is_none());
        press(&mut headless, "4");
        assert_eq!(headless.app.screen, ScreenId("dyno"), "seen, its runs have their tab again");
    }
}

#[test]
fn a_pull_of_marked_drives_says_so() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3<Space><Space>r");
    headless.wait(Duration::from_secs(1));
    assert!(shown(&headless).contains("Pull  2 of 10 drives, marked"), "{}", shown(&headless));
    headless.wait(Duration::from_mins(3));
    let (_, outcome) = headless.app.shared.pulls.ended.as_ref().expect("it ended");
    let text = &outcome.headline.text;
    assert!(text.contains("Read: 2 of 10 drives, marked."), "{text}");
    press(&mut headless, "1<Esc>r");
    assert!(!shown(&headless).contains("marked"), "{}", shown(&headless));
}
