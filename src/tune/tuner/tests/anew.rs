//! A change that finds another program's value: it is restored, and nothing before it.

use super::{kills::state, *};

fn files_after(kernel: &Kernel, journal: &Journal, tuner: &Tuner<'_>) -> BTreeMap<String, String> {
    let report = undone(kernel, journal, tuner, &Which::All);
    assert!(is_whole(&report), "{report:?}");
    assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
    kernel.files()
}

#[test]
fn a_value_that_another_program_set_between_two_changes_is_restored() {
    // Iodyno's change, another program's, and iodyno's again.
    let cases: &[[(&str, &str); 3]] = &[
        [("read_ahead_kb", "512"), ("read_ahead_kb", "1000"), ("read_ahead_kb", "64")],
        // It resets `read_ahead_kb`.
        [("read_ahead_kb", "512"), ("read_ahead_kb", "1000"), ("iostats", "0")],
        // To the value that was found first.
        [("rq_affinity", "2"), ("rq_affinity", "0"), ("rq_affinity", "1")],
        [("scheduler", "bfq"), ("scheduler", "mq-deadline"), ("scheduler", "none")],
        [("scheduler", "bfq"), ("scheduler", "mq-deadline"), ("scheduler", "kyber")],
        [("nr_requests", "64"), ("nr_requests", "100"), ("nr_requests", "32")],
        [("nr_requests", "64"), ("nr_requests", "100"), ("nr_requests", "64")],
        [("nr_requests", "64"), ("nr_requests", "100"), ("scheduler", "mq-deadline")],
    ];
    let without = cases.iter().map(|case| ("none", *case));
    let with: &[[(&str, &str); 3]] = &[
        [("nr_requests", "64"), ("nr_requests", "100"), ("nr_requests", "32")],
        [("nr_requests", "64"), ("nr_requests", "100"), ("scheduler", "none")],
    ];
    for (found, [first, theirs, second]) in without.chain(with.iter().map(|case| ("mq-deadline", *case))) {
        let kernel = Kernel { has_tunables: found == "none", ..with_all_tags(found) };
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, first.0, first.1);
            kernel.write(&format!("/sys/q/{}", theirs.0), theirs.1).unwrap();
            if theirs.1 == "mq-deadline" {
                kernel.write("/sys/q/iosched/read_expire", "7").unwrap();
            }
            let before = state(&kernel);
            set(&kernel, &tuner, second.0, second.1);
            assert_ne!(state(&kernel), before);
            let files = files_after(&kernel, journal, &tuner);
            assert_eq!((files, kernel.tags.get()), before, "{found}: {first:?}, {theirs:?}, {second:?}");
        });
    }
}

#[test]
fn what_another_program_set_is_left_alone_after_a_session_that_put_it_back() {
    let kernel = with_all_tags("none");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "read_ahead_kb", "512");
        tuner.keep().unwrap();
        kernel.write("/sys/q/read_ahead_kb", "444").unwrap();
        let before = kernel.files();
        let experiment = Tuner::open(journal, &kernel, Purpose::Experiment, "boot", || 8).unwrap();
        set(&kernel, &experiment, "read_ahead_kb", "64");
        let its = experiment.session().to_owned();
        assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::Sessions(&[&its]))));
        assert_eq!(kernel.files(), before);
        experiment.keep().unwrap();
        let next = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
        assert_eq!(files_after(&kernel, journal, &next), before);
    });
}

#[test]
fn what_another_program_set_stays_when_the_undo_that_resets_it_is_killed() {
    // What the kernel makes of it with `iostats`, and another value.
    for (found, kill) in ["2560", "128"].into_iter().flat_map(|found| (0..60).map(move |kill| (found, kill)))
    {
        let kernel = with_all_tags("none");
        kernel.memory.files.lock().unwrap().insert("/sys/q/add_random".into(), "0".into());
        kernel.write("/sys/q/read_ahead_kb", found).unwrap();
        let journal = Journal::in_memory();
        let both = kills::Deed::Set(vec![("iostats", "0"), ("add_random", "1")]);
        kills::done(&kernel, &journal, &both, None, 1).unwrap();
        // The kernel rounds it to pages.
        kernel.write("/sys/q/read_ahead_kb", "333").unwrap();
        kills::done(&kernel, &journal, &kills::Deed::UndoAll, Some(kill), 2);
        for number in 3..6 {
            kills::done(&kernel, &journal, &kills::Deed::UndoAll, None, number).unwrap();
            let now = kernel.files();
            let now = (now["/sys/q/iostats"].as_str(), now["/sys/q/read_ahead_kb"].as_str());
            assert_eq!(now, ("1", "332"), "{kill}, {number}");
        }
        let left = ChangeLog::of(&journal.contents().unwrap().records, "boot").entries;
        assert!(left.iter().all(|entry| entry.setting == "read_ahead_kb" && !entry.is_unsure), "{left:?}");
        assert_eq!(left.is_empty(), found == "2560", "{kill}: {left:?}");
    }
}

#[test]
fn what_an_undo_left_to_another_program_stays_that_ones() {
    // With another change since, if any, and what is restored.
    for (since, expected) in [(None, "2"), (Some("1"), "2"), (Some("0"), "2")] {
        let kernel = with_all_tags("none");
        let write = |value: &str| kernel.write("/sys/q/rq_affinity", value).unwrap();
        write("0");
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "rq_affinity", "2");
            tuner.keep().unwrap();
            write("1");
            let first = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 8).unwrap();
            let report = undone(&kernel, journal, &first, &Which::All);
            assert!(matches!(&report[0].1, Restored::ModifiedExternally(now) if now == "1"), "{report:?}");
            let event = Event::Keep { files: vec!["/sys/q/rq_affinity".into()] };
            journal
                .append(&Record { time: 9, boot: "boot".into(), session: first.session().into(), event })
                .unwrap();
            // What iodyno had set.
            write("2");
            let next = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 10).unwrap();
            if let Some(value) = since {
                set(&kernel, &next, "rq_affinity", value);
            }
            undone(&kernel, journal, &next, &Which::All);
            assert_eq!(kernel.files()["/sys/q/rq_affinity"], expected, "{since:?}");
        });
    }
}

/// What came of an undo of all, and the files before iodyno's first change and after the undo.
fn undone_after(found: &str, deeds: &[(&str, &str, bool)]) -> (Vec<Restored>, [BTreeMap<String, String>; 2]) {
    let kernel = Kernel { has_tunables: false, ..with_tags("none", 128) };
    kernel.write("/sys/q/scheduler", found).unwrap();
    let before = kernel.files();
    let journal = Journal::in_memory();
    let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 1).unwrap();
    for (setting, value, is_own) in deeds {
        match is_own {
            true => drop(set(&kernel, &tuner, setting, value)),
            false => kernel.write(&format!("/sys/q/{setting}"), value).unwrap(),
        }
    }
    let report = undone(&kernel, &journal, &tuner, &Which::All);
    (report.into_iter().map(|(_, what)| what).collect(), [before, kernel.files()])
}

#[test]
fn requests_that_another_program_set_under_a_scheduler_of_iodyno_stay_or_are_named() {
    let scheduler = |name: &'static str| ("scheduler", name, true);
    let own = |value: &'static str| ("nr_requests", value, true);
    let theirs = |value: &'static str| ("nr_requests", value, false);
    // The tags of a queue whose scheduler iodyno removed: they stay, whatever iodyno set since.
    for since in [
        vec![],
        vec![own("32")],
        vec![own("96"), own("32")],
        vec![scheduler("kyber")],
        vec![scheduler("kyber"), own("32")],
    ] {
        let deeds = [vec![scheduler("none"), theirs("96")], since].concat();
        let (report, [_, after]) = undone_after("mq-deadline", &deeds);
        assert_eq!(report, [Restored::Back, Restored::ModifiedExternally("96".into())], "{deeds:?}");
        let after = (after["/sys/q/scheduler"].as_str(), after["/sys/q/nr_requests"].as_str());
        assert_eq!(after, ("mq-deadline", "96"), "{deeds:?}");
    }
    // Requests of a scheduler that goes: they are named.
    for since in [vec![], vec![own("32")], vec![own("60"), own("32")], vec![scheduler("kyber")]] {
        let deeds = [vec![scheduler("mq-deadline"), theirs("48")], since].concat();
        let (report, [before, after]) = undone_after("none", &deeds);
        let why = "it belonged to the scheduler mq-deadline".to_owned();
        let displaced = Restored::Displaced { theirs: "48".into(), now: "128".into(), why };
        assert_eq!(report, [Restored::Back, displaced], "{deeds:?}");
        assert_eq!(before, after, "{deeds:?}");
    }
    // The kernel's own numbers are no program's.
    for deeds in [
        &[
            scheduler("mq-deadline"),
            own("48"),
            ("scheduler", "kyber", false),
            ("scheduler", "mq-deadline", false),
            own("32"),
        ][..],
        &[scheduler("mq-deadline"), scheduler("none"), scheduler("kyber"), own("32")][..],
    ] {
        let (report, [before, after]) = undone_after("none", deeds);
        assert!(report.iter().all(Restored::is_whole), "{deeds:?}: {report:?}");
        assert_eq!(before, after, "{deeds:?}");
    }
    // Requests of another program's scheduler return with that.
    for since in [vec![scheduler("kyber")], vec![scheduler("kyber"), own("32")], vec![own("32")]] {
        let deeds = [vec![scheduler("none"), ("scheduler", "bfq", false), theirs("77")], since].concat();
        let (_, [_, after]) = undone_after("mq-deadline", &deeds);
        let after = (after["/sys/q/scheduler"].as_str(), after["/sys/q/nr_requests"].as_str());
        assert_eq!(after, ("bfq", "77"), "{deeds:?}");
    }
    // Tags that it set after it had removed the scheduler.
    let deeds = [scheduler("mq-deadline"), ("scheduler", "none", false), theirs("77"), own("32")];
    let (_, [_, after]) = undone_after("none", &deeds);
    assert_eq!((after["/sys/q/scheduler"].as_str(), after["/sys/q/nr_requests"].as_str()), ("none", "77"));
}

#[test]
fn what_iodyno_set_after_another_program_goes_back_to_that_ones() {
    let (own, theirs) = (true, false);
    // Of a scheduler that another program set, with the requests that it began with; and of its readahead.
    let under_kyber = [("scheduler", "bfq", own), ("scheduler", "kyber", theirs), ("nr_requests", "50", own)];
    let once_more = ("scheduler", "mq-deadline", own);
    for deeds in [under_kyber.to_vec(), [&under_kyber[..], &[once_more]].concat()] {
        let (_, [_, after]) = undone_after("none", &deeds);
        let after = (after["/sys/q/scheduler"].as_str(), after["/sys/q/nr_requests"].as_str());
        assert_eq!(after, ("kyber", "256"), "{deeds:?}");
    }
    let deeds = [
        ("iostats", "0", own),
        ("iostats", "1", theirs),
        ("read_ahead_kb", "444", theirs),
        ("read_ahead_kb", "64", own),
        ("iostats", "0", own),
    ];
    let (_, [_, after]) = undone_after("none", &deeds);
    assert_eq!((after["/sys/q/iostats"].as_str(), after["/sys/q/read_ahead_kb"].as_str()), ("1", "444"));
}

#[test]
fn what_another_program_sets_after_a_kill_is_named() {
    use kills::Deed::{Set, UndoAll};
    // The change that is killed, what another program sets then, and iodyno's next change.
    type Case = (
        &'static [(&'static str, &'static str)],
        (&'static str, &'static str),
        Option<(&'static str, &'static str)>,
    );
    let cases: &[Case] = &[
        (&[("scheduler", "mq-deadline")], ("nr_requests", "72"), None),
        (&[("scheduler", "mq-deadline")], ("nr_requests", "72"), Some(("nr_requests", "50"))),
        (&[("scheduler", "mq-deadline")], ("nr_requests", "72"), Some(("scheduler", "kyber"))),
        (&[("scheduler", "mq-deadline")], ("nr_requests", "72"), Some(("rq_affinity", "2"))),
        (&[("nr_requests", "32"), ("scheduler", "kyber")], ("nr_requests", "72"), None),
        (&[("iostats", "0")], ("read_ahead_kb", "192"), None),
        (&[("iostats", "0")], ("read_ahead_kb", "192"), Some(("rq_affinity", "2"))),
    ];
    for found in ["none", "bfq"] {
        for (killed, theirs, next) in cases {
            for kill in 0..25 {
                let kernel = strangers::with_limits(found);
                let journal = Journal::in_memory();
                kills::done(&kernel, &journal, &Set(killed.to_vec()), Some(kill), 1);
                kernel.write(&format!("/sys/q/{}", theirs.0), theirs.1).unwrap();
                if let Some(next) = next {
                    kills::done(&kernel, &journal, &Set(vec![*next]), None, 2).unwrap();
                }
                let log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
                let is_known = log.entries.iter().any(|entry| entry.setting == theirs.0);
                let report = kills::done(&kernel, &journal, &UndoAll, None, 3).unwrap();
                let stays = kernel.files()[&format!("/sys/q/{}", theirs.0)] == theirs.1;
                let is_named = report.iter().any(|(_, what)| match what {
                    Restored::ModifiedExternally(now) => now == theirs.1,
                    Restored::Displaced { theirs: value, .. } => value == theirs.1,
                    _ => false,
                });
                assert!(stays || is_named, "{found}, {killed:?}, {next:?}, {kill}: {report:?}");
                assert!(is_named || !is_known || next.is_some(), "{found}, {killed:?}, {kill}: {report:?}");
            }
        }
    }
}

#[test]
fn requests_of_a_scheduler_that_another_program_replaced_are_none_of_the_next() {
    let scheduler = |name: &'static str| ("scheduler", name, true);
    let own = |value: &'static str| ("nr_requests", value, true);
    let theirs = |setting: &'static str, value: &'static str| (setting, value, false);
    // What is found, what happens, and the scheduler and requests that are left.
    let cases = [
        (
            "none",
            vec![
                scheduler("mq-deadline"),
                theirs("nr_requests", "144"),
                own("32"),
                scheduler("kyber"),
                scheduler("none"),
                own("32"),
                theirs("scheduler", "bfq"),
                own("200"),
            ],
            ["bfq", "200"],
        ),
        (
            "bfq",
            vec![scheduler("none"), theirs("nr_requests", "96"), own("64"), theirs("scheduler", "kyber")],
            ["kyber", "256"],
        ),
    ];
    for (found, deeds, left) in cases {
        let (report, [_, after]) = undone_after(found, &deeds);
        assert_eq!(["scheduler", "nr_requests"].map(|id| after[&format!("/sys/q/{id}")].as_str()), left);
        assert!(!report.iter().all(Restored::is_whole), "{report:?}");
    }
}

#[test]
fn requests_with_which_a_scheduler_begins_are_no_other_program_s() {
    let kernel = Kernel { has_tunables: false, ..with_tags("none", 128) };
    kernel.write("/sys/q/nr_requests", "100").unwrap();
    let journal = Journal::in_memory();
    let set = |value, number| {
        let deed = kills::Deed::Set(vec![("nr_requests", value)]);
        kills::done(&kernel, &journal, &deed, None, number).unwrap();
    };
    let before = state(&kernel);
    set("32", 1);
    kernel.write("/sys/q/scheduler", "bfq").unwrap();
    set("200", 2);
    // As the undo advises, which cannot restore tags behind a scheduler.
    kernel.write("/sys/q/scheduler", "none").unwrap();
    let report = kills::done(&kernel, &journal, &kills::Deed::UndoAll, None, 3).unwrap();
    assert!(is_whole(&report), "{report:?}");
    assert_eq!(state(&kernel), before);
}

#[test]
fn requests_of_another_program_s_scheduler_are_found_by_the_first_change_after_an_undo() {
    for (found, between) in [("none", "bfq"), ("bfq", "none"), ("bfq", "mq-deadline")] {
        let kernel = Kernel { has_tunables: false, ..with_tags("none", 128) };
        kernel.write("/sys/q/scheduler", found).unwrap();
        let journal = Journal::in_memory();
        let set = |id, value, number| {
            kills::done(&kernel, &journal, &kills::Deed::Set(vec![(id, value)]), None, number).unwrap();
        };
        for (round, id, value) in
            [(0, "nr_requests", "32"), (10, "scheduler", "kyber"), (20, "nr_requests", "50")]
        {
            for scheduler in [between, found, between] {
                let before = state(&kernel);
                set(id, value, round);
                let report = kills::done(&kernel, &journal, &kills::Deed::UndoAll, None, round + 1).unwrap();
                assert!(is_whole(&report), "{found}, {between}, {id}: {report:?}");
                assert_eq!(state(&kernel).0, before.0, "{found}, {between}, {id}");
                kernel.write("/sys/q/scheduler", scheduler).unwrap();
            }
        }
    }
}
