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
            let kept = |values: &[(&str, &str)]| {
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
