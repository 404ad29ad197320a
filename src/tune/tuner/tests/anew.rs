//! A change that finds another program's value: it is restored, and nothing before it.

use super::*;

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
    ];
    for [first, theirs, second] in cases {
        let kernel = Kernel { has_tunables: true, ..with_all_tags("none") };
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, first.0, first.1);
            kernel.write(&format!("/sys/q/{}", theirs.0), theirs.1).unwrap();
            if theirs.1 == "mq-deadline" {
                kernel.write("/sys/q/iosched/read_expire", "7").unwrap();
            }
            let before = kernel.files();
            set(&kernel, &tuner, second.0, second.1);
            assert_ne!(kernel.files(), before);
            assert_eq!(files_after(&kernel, journal, &tuner), before, "{first:?}, {theirs:?}, {second:?}");
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
    for found in ["2560", "128"] {
        for kill in 0..40 {
            let kernel = with_all_tags("none");
            kernel.write("/sys/q/read_ahead_kb", found).unwrap();
            let journal = Journal::in_memory();
            kills::done(&kernel, &journal, &kills::Deed::Set(vec![("iostats", "0")]), None, 1).unwrap();
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
            assert!(
                left.iter().all(|entry| entry.setting == "read_ahead_kb" && !entry.is_unsure),
                "{left:?}"
            );
            assert_eq!(left.is_empty(), found == "2560", "{kill}: {left:?}");
        }
    }
}
