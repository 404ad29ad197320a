//! What an undo of one setting leaves of another that it had changed along.

use super::*;

fn alone(id: &str) -> [String; 1] {
    [format!("/sys/q/{id}")]
}

#[test]
fn requests_that_a_scheduler_reset_are_what_they_were_once_it_alone_is_undone() {
    let kernel = with_tags("none", 128);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "64");
        let changed = kernel.files();
        for schedulers in [&["mq-deadline"][..], &["mq-deadline", "kyber"]] {
            for scheduler in schedulers {
                set(&kernel, &tuner, "scheduler", scheduler);
            }
            let report = undone(&kernel, journal, &tuner, &Which::Files(&alone("scheduler")));
            assert!(is_whole(&report) && report.len() == 1, "{report:?}");
            assert_eq!((kernel.files(), kernel.tags.get()), (changed.clone(), 64), "{schedulers:?}");
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot").entries;
            let left: Vec<_> = left.iter().map(|entry| (entry.setting.as_str(), &entry.last[..])).collect();
            assert_eq!(left, [("nr_requests", &["64".to_owned()][..])], "{schedulers:?}");
        }
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!((kernel.files(), kernel.tags.get()), (before, 128));
        assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
    });
}

#[test]
fn a_value_that_was_kept_before_is_no_change_of_the_session_that_reset_it() {
    // The file may show the kept value by itself once the scheduler is gone.
    for (drivers, kept) in [(128, "64"), (32, "32")] {
        let kernel = with_tags("none", drivers);
        kernel.write("/sys/q/nr_requests", "16").unwrap();
        with_tuner(&kernel, |journal, screen| {
            let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
            set(&kernel, &command, "nr_requests", kept);
            command.keep().unwrap();
            set(&kernel, &screen, "scheduler", "mq-deadline");
            let report = undone(&kernel, journal, &screen, &Which::Files(&alone("scheduler")));
            assert!(is_whole(&report), "{report:?}");
            assert_eq!(
                (kernel.files()["/sys/q/nr_requests"].as_str(), kernel.tags.get().to_string()),
                (kept, kept.to_owned())
            );
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!((left.entries.len(), left.sessions.len()), (1, 0), "{left:?}");
            assert!(is_whole(&undone(&kernel, journal, &screen, &Which::All)));
            assert_eq!((kernel.files()["/sys/q/nr_requests"].as_str(), kernel.tags.get()), ("16", 16));
        });
    }
}

#[test]
fn a_value_that_was_asked_for_is_restored_with_the_setting_that_reset_it() {
    let kernel = Kernel::new(FILES);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "read_ahead_kb", "512");
        set(&kernel, &tuner, "iostats", "0");
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::Files(&alone("iostats")))));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "512");
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn requests_kept_for_a_scheduler_are_known_as_tags_once_an_undo_sets_none() {
    for (found, requests) in [("mq-deadline", "32"), ("none", "100")] {
        let kernel = with_tags(found, 128);
        kernel.write("/sys/q/nr_requests", requests).unwrap();
        let before = (kernel.files(), kernel.tags.get());
        with_tuner(&kernel, |journal, screen| {
            let kept = |values: Values<'_>| {
                let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
                for (id, value) in values {
                    set(&kernel, &command, id, value);
                }
                command.keep().unwrap();
            };
            kept(&[("scheduler", "none")]);
            set(&kernel, &screen, "scheduler", "kyber");
            kept(&[("nr_requests", "100")]);
            // The first value, which is closed and changed anew.
            kept(&[("nr_requests", "64"), ("nr_requests", "100")]);
            let own = screen.session().to_owned();
            assert!(is_whole(&undone(&kernel, journal, &screen, &Which::Sessions(&[&own]))), "{found}");
            assert_eq!(kernel.files()["/sys/q/nr_requests"], "100", "{found}");
            assert!(is_whole(&undone(&kernel, journal, &screen, &Which::All)), "{found}");
            assert_eq!((kernel.files(), kernel.tags.get()), before, "{found}");
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!(left, ChangeLog::default(), "{found}");
        });
    }
}

/// Settings with their values, in order.
type Values<'a> = &'a [(&'a str, &'a str)];

#[test]
fn tags_that_an_earlier_session_hid_are_hidden_again_after_an_experiment() {
    // By the first scheduler and its requests: what a command keeps, and the tags that it leaves behind a scheduler.
    let kept: [(&str, &str, Values<'_>, u32); 3] = [
        ("none", "64", &[("scheduler", "mq-deadline"), ("nr_requests", "77")], 64),
        ("none", "128", &[("nr_requests", "50"), ("scheduler", "mq-deadline"), ("nr_requests", "128")], 50),
        ("kyber", "32", &[("scheduler", "none"), ("nr_requests", "50"), ("scheduler", "mq-deadline")], 50),
    ];
    for (found, requests, values, hidden) in kept {
        for arm in [&[("scheduler", "none")][..], &[("scheduler", "none"), ("nr_requests", "90")]] {
            let kernel = with_tags(found, 128);
            kernel.write("/sys/q/nr_requests", requests).unwrap();
            let before = (kernel.files(), kernel.tags.get());
            with_tuner(&kernel, |journal, experiment| {
                let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
                for (id, value) in values {
                    set(&kernel, &command, id, value);
                }
                command.keep().unwrap();
                let kept = (kernel.files(), kernel.tags.get());
                assert_eq!(kept.1, hidden, "{values:?}");
                let own = experiment.session().to_owned();
                for _ in 0..2 {
                    for (id, value) in arm {
                        set(&kernel, &experiment, id, value);
                    }
                    let report = undone(&kernel, journal, &experiment, &Which::Sessions(&[&own]));
                    assert!(is_whole(&report), "{report:?}");
                    assert_eq!((kernel.files(), kernel.tags.get()), kept, "{values:?} {arm:?}");
                }
                assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::All)));
                assert_eq!((kernel.files(), kernel.tags.get()), before, "{values:?} {arm:?}");
                let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
                assert_eq!(left, ChangeLog::default(), "{values:?} {arm:?}");
            });
        }
    }
}

#[test]
fn tags_of_a_scheduler_that_is_left_to_a_later_session_are_restored_by_that_one() {
    let kernel = with_tags("mq-deadline", 128);
    let before = (kernel.files(), kernel.tags.get());
    with_tuner(&kernel, |journal, first| {
        set(&kernel, &first, "scheduler", "none");
        set(&kernel, &first, "nr_requests", "90");
        let second = Tuner::open(journal, &kernel, Purpose::Screen, "boot", || 9).unwrap();
        set(&kernel, &second, "scheduler", "kyber");
        for id in ["scheduler", "nr_requests"] {
            let file = format!("/sys/q/{id}");
            first.pass_on(&file, &kernel.read(&file).unwrap());
        }
        let own = second.session().to_owned();
        assert!(is_whole(&undone(&kernel, journal, &second, &Which::Sessions(&[&own]))));
        assert_eq!((kernel.files(), kernel.tags.get()), before);
        assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
    });
}
