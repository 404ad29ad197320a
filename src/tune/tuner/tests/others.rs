//! What other programs, and other sessions, do to the settings of a session.

use super::*;

#[test]
fn tags_that_a_force_cannot_restore_have_the_remedy_that_can() {
    for force in [false, true] {
        let kernel = with_all_tags("none");
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "nr_requests", "4");
            kernel.write("/sys/q/scheduler", "bfq").unwrap();
            let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, force).unwrap();
            let why = "the scheduler bfq hides the tags; set scheduler=none, then undo";
            assert_eq!(report[0].1, Restored::Refused(why.to_owned()), "{force}");
            let foreseen = foreseen(&kernel, &change_log, &Which::All, &machine(&kernel), None, force);
            assert_eq!(foreseen.report[0].1, report[0].1);
        });
    }
}

#[test]
fn tags_behind_another_program_s_scheduler_are_named_until_they_are_restored() {
    for force in [false, true] {
        let kernel = with_all_tags("none");
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            let undone = |which, force| {
                let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
                tuner.undo(&machine(&kernel), &change_log, which, force).unwrap()
            };
            set(&kernel, &tuner, "nr_requests", "4");
            // It shows the number that iodyno found.
            kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
            kernel.write("/sys/q/nr_requests", &DRIVERS.to_string()).unwrap();
            let report = undone(&Which::All, force);
            let [(_, Restored::Refused(why))] = &report[..] else { panic!("{report:?}") };
            assert_eq!(why, "the scheduler mq-deadline hides the tags; set scheduler=none, then undo");
            assert_eq!(kernel.tags.get(), 4);
            set(&kernel, &tuner, "scheduler", "none");
            assert_eq!((kernel.files(), kernel.tags.get()), (before.clone(), DRIVERS));
            assert!(is_whole(&undone(&Which::All, force)));
            assert_eq!(
                (kernel.files()["/sys/q/scheduler"].as_str(), kernel.tags.get()),
                ("mq-deadline", DRIVERS)
            );
        });
    }
}

#[test]
fn an_undo_of_a_scheduler_that_another_program_put_back_restores_the_tags() {
    let kernel = with_all_tags("mq-deadline");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "none");
        set(&kernel, &tuner, "nr_requests", "4");
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        let before = kernel.files();
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(is_whole(&report), "{report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, DRIVERS));
    });
}

#[test]
fn another_program_s_requests_are_found_by_the_change_that_resets_them() {
    let kernel = with_all_tags("none");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "64");
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        kernel.write("/sys/q/nr_requests", "200").unwrap();
        let before = kernel.files();
        set(&kernel, &tuner, "scheduler", "none");
        assert_ne!(kernel.files(), before);
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(is_whole(&report), "{report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, DRIVERS));
    });
}

#[test]
fn requests_that_another_program_set_go_with_their_scheduler() {
    let kernel = with_tags("mq-deadline", 128);
    kernel.write("/sys/q/nr_requests", "200").unwrap();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "100");
        kernel.write("/sys/q/nr_requests", "60").unwrap();
        let before = kernel.files();
        set(&kernel, &tuner, "scheduler", "kyber");
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!(kernel.files(), before);
    });
    let kernel = with_tags("none", 128);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "kyber");
        kernel.write("/sys/q/nr_requests", "60").unwrap();
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        let report = undone(&kernel, journal, &tuner, &Which::All);
        let named = |what: &Restored| matches!(what, Restored::Displaced { theirs, why, .. } if theirs == "60" && why.ends_with(" kyber"));
        assert!(named(&report[1].1), "{report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, 128));
    });
}

#[test]
fn tags_that_were_hidden_before_stay_as_they_were() {
    let kernel = with_tags("none", 128);
    kernel.write("/sys/q/nr_requests", "64").unwrap();
    kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
    let before = (kernel.files(), kernel.tags.get());
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "kyber");
        set(&kernel, &tuner, "nr_requests", "90");
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!((kernel.files(), kernel.tags.get()), before);
    });
}

/// A kernel that refuses some writes to a queue's files, counted from 0.
struct Refusing<'a> {
    kernel: &'a Kernel,
    writes: Cell<u32>,
    refused: u32,
}

impl Actuator for Refusing<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.kernel.read(file)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let number = self.writes.replace(self.writes.get() + 1);
        if number == self.refused {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        self.kernel.write(file, value)
    }
}

#[test]
fn tags_that_were_not_resized_are_named_and_restored_by_the_next_undo() {
    let cases: [(&str, &[(&str, &str)]); 2] = [
        ("none", &[("nr_requests", "50"), ("scheduler", "mq-deadline")]),
        ("bfq", &[("scheduler", "none"), ("nr_requests", "4"), ("scheduler", "kyber")]),
    ];
    for (found, changes) in cases {
        for refused in 0..5 {
            let kernel = with_tags(found, 128);
            let before = (kernel.files(), kernel.tags.get());
            with_tuner(&kernel, |journal, tuner| {
                for (id, value) in changes {
                    set(&kernel, &tuner, id, value);
                }
                tuner.keep().unwrap();
                let refusing = Refusing { kernel: &kernel, writes: Cell::new(0), refused };
                let undo = |actuator: &dyn Actuator| {
                    let tuner = Tuner::open(journal, actuator, Purpose::Command, "boot", || 9).unwrap();
                    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
                    is_whole(&tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap())
                };
                let is_restored = undo(&refusing);
                let now = (kernel.files(), kernel.tags.get());
                assert_eq!(is_restored, now == before, "{found} {refused}: {now:?}");
                assert!(undo(&&kernel), "{found} {refused}");
                assert_eq!((kernel.files(), kernel.tags.get()), before, "{found} {refused}");
            });
        }
    }
}

#[test]
fn what_changed_with_a_setting_of_another_program_is_left_with_it() {
    let kernel = with_all_tags("none");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "bfq");
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        let before = kernel.files();
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(report.iter().all(|(_, what)| matches!(what, Restored::ModifiedExternally(_))), "{report:?}");
        assert_eq!(kernel.files(), before);
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        assert!(is_whole(&tuner.undo(&machine(&kernel), &change_log, &Which::All, true).unwrap()));
        assert_eq!(kernel.files()["/sys/q/scheduler"], "none");
    });
}

#[test]
fn requests_that_a_restored_scheduler_resets_are_restored_with_it() {
    let kernel = with_tags("none", 128);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "kyber");
        set(&kernel, &tuner, "nr_requests", "77");
        // Another program switches schedulers; the second switch resets the requests to more than the driver takes.
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        kernel.write("/sys/q/scheduler", "kyber").unwrap();
        assert_eq!(kernel.read("/sys/q/nr_requests").unwrap(), "256");
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(is_whole(&report) && report.len() == 2, "{report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, 128));
        assert_eq!(undone(&kernel, journal, &tuner, &Which::All), []);
    });
}

#[test]
fn requests_of_another_program_that_the_restored_scheduler_cannot_hold_are_named() {
    let requests = "/sys/q/nr_requests";
    // With and without a number of iodyno's own; undone with the scheduler alone, or all.
    let alone = ["/sys/q/scheduler".to_owned()];
    let cases = [(None, Which::All), (Some("77"), Which::All), (Some("77"), Which::Files(&alone))];
    for ((own, which), theirs) in cases.iter().flat_map(|case| [(case, "200"), (case, "60")]) {
        let kernel = with_tags("none", 128);
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "scheduler", "kyber");
            if let Some(own) = own {
                set(&kernel, &tuner, "nr_requests", own);
            }
            kernel.write(requests, theirs).unwrap();
            let report = undone(&kernel, journal, &tuner, which);
            let why = "it belonged to the scheduler kyber".to_owned();
            let displaced = Restored::Displaced { theirs: theirs.into(), now: "128".into(), why };
            let came: Vec<_> = report.iter().map(|(_, what)| what).collect();
            assert_eq!(came, [&Restored::Back, &displaced], "{own:?}, {which:?}, {theirs}");
            assert_eq!((kernel.files(), kernel.tags.get()), (before, 128), "{own:?}, {which:?}, {theirs}");
            assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)), "{own:?}, {which:?}, {theirs}");
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!(left, ChangeLog::default(), "{own:?}, {which:?}, {theirs}");
        });
    }
}

#[test]
fn requests_of_a_scheduler_that_another_program_set_anew_give_way_to_those_that_were_found() {
    // Fewer than the driver has, so that the file does not show them by itself once the scheduler is gone.
    let kernel = with_tags("none", 128);
    kernel.write("/sys/q/nr_requests", "64").unwrap();
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        set(&kernel, &tuner, "nr_requests", "200");
        for scheduler in ["none", "mq-deadline"] {
            kernel.write("/sys/q/scheduler", scheduler).unwrap();
        }
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(report.len() == 2 && report.iter().all(|(_, what)| *what == Restored::Back), "{report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, 64));
    });
}

#[test]
fn tags_behind_a_number_that_is_shown_already_are_resized_and_named() {
    let kernel = with_all_tags("none");
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "64");
        for scheduler in ["kyber", "none"] {
            kernel.write("/sys/q/scheduler", scheduler).unwrap();
        }
        assert_eq!((kernel.files(), kernel.tags.get()), (before.clone(), 64), "nothing is hidden");
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!(report[0].1, Restored::Resized);
        assert_eq!((kernel.files(), kernel.tags.get()), (before, DRIVERS));
    });
}

#[test]
fn tags_that_were_found_return_when_the_scheduler_with_another_program_s_requests_goes() {
    // Fewer tags than the driver has, also behind changes of iodyno.
    for own in [None, Some("50")] {
        let kernel = with_tags("none", 128);
        kernel.write("/sys/q/nr_requests", "64").unwrap();
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            if let Some(own) = own {
                set(&kernel, &tuner, "nr_requests", own);
            }
            set(&kernel, &tuner, "scheduler", "mq-deadline");
            kernel.write("/sys/q/nr_requests", "60").unwrap();
            let report = undone(&kernel, journal, &tuner, &Which::All);
            let why = "it belonged to the scheduler mq-deadline".to_owned();
            let displaced = Restored::Displaced { theirs: "60".into(), now: "64".into(), why };
            assert_eq!(
                report.iter().map(|(_, what)| what).collect::<Vec<_>>(),
                [&Restored::Back, &displaced]
            );
            assert_eq!((kernel.files(), kernel.tags.get()), (before, 64), "{own:?}");
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!(left, ChangeLog::default(), "{own:?}");
        });
    }
}

#[test]
fn requests_that_were_found_replace_those_that_their_scheduler_cannot_hold() {
    let kernel = with_tags("mq-deadline", 4095);
    kernel.write("/sys/q/nr_requests", "64").unwrap();
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "none");
        kernel.write("/sys/q/nr_requests", "3000").unwrap();
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(matches!(&report[1].1, Restored::Displaced { theirs, .. } if theirs == "3000"), "{report:?}");
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn a_value_that_another_program_has_set_meanwhile_is_as_wanted() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, tuner| {
        kernel.write("/sys/q/rq_affinity", "2").unwrap();
        assert_eq!(change(&kernel, &tuner, "rq_affinity", "1", "2").unwrap(), Outcome::Accepted);
        assert_eq!(undone(&kernel, journal, &tuner, &Which::All), []);
        assert_eq!(kernel.files()["/sys/q/rq_affinity"], "2");
    });
}

#[test]
fn an_undo_that_the_kernel_refuses_keeps_nothing() {
    let kernel = Kernel::new(FILES);
    kernel.memory.write("/sys/q/scheduler", "bogus").unwrap();
    with_tuner(&kernel, |journal, screen| {
        set(&kernel, &screen, "scheduler", "none");
        let own = screen.session().to_owned();
        drop(screen);
        let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let which = Which::Sessions(&[&own]);
        // No dry run foresees it.
        let report = command.undo(&machine(&kernel), &change_log, &which, false).unwrap();
        assert!(report.iter().any(|(_, what)| matches!(what, Restored::Failed(_))), "{report:?}");
        command.keep().unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let entry = change_log.entries.iter().find(|entry| entry.setting == "scheduler").unwrap();
        assert_eq!((entry.before(&[&own]), entry.by.as_str()), (Some("bogus"), own.as_str()));
    });
}

#[test]
fn what_a_later_session_sets_and_keeps_is_no_earlier_one_s_to_undo() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, screen| {
        set(&kernel, &screen, "read_ahead_kb", "64");
        set(&kernel, &screen, "rq_affinity", "2");
        let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
        set(&kernel, &command, "read_ahead_kb", "512");
        command.keep().unwrap();
        let own = screen.session().to_owned();
        let report = undone(&kernel, journal, &screen, &Which::Sessions(&[&own]));
        assert!(is_whole(&report) && report.len() == 1, "{report:?}");
        let files = kernel.files();
        assert_eq!(
            (files["/sys/q/read_ahead_kb"].as_str(), files["/sys/q/rq_affinity"].as_str()),
            ("512", "1")
        );
        assert!(is_whole(&undone(&kernel, journal, &screen, &Which::All)));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
    });
}

/// Of the first value 1 an experiment makes 2, and a command then 0, which is yet to be kept.
fn set_by_both<'a>(journal: &Journal, kernel: &'a Kernel, experiment: &Tuner<'_>) -> Tuner<'a> {
    set(kernel, experiment, "rq_affinity", "2");
    let command = Tuner::open(journal, kernel, Purpose::Command, "boot", || 9).unwrap();
    set(kernel, &command, "rq_affinity", "0");
    command
}

#[test]
fn an_arm_that_is_the_first_value_leaves_what_was_kept_meanwhile() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, experiment| {
        let own = experiment.session().to_owned();
        let command = set_by_both(journal, &kernel, &experiment);
        command.keep().unwrap();
        let kept = |when: &str| {
            assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::Sessions(&[&own]))), "{when}");
            assert_eq!(kernel.files()["/sys/q/rq_affinity"], "0", "{when}");
        };
        kept("after the arm that it replaced");
        for arm in ["2", "1"] {
            set(&kernel, &experiment, "rq_affinity", arm);
            kept(arm);
        }
        assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::All)));
        assert_eq!(kernel.files()["/sys/q/rq_affinity"], "1");
    });
}

#[test]
fn what_is_kept_after_an_arm_has_replaced_it_is_what_the_arm_goes_back_to() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, experiment| {
        let own = experiment.session().to_owned();
        let command = set_by_both(journal, &kernel, &experiment);
        set(&kernel, &experiment, "rq_affinity", "2");
        command.keep().unwrap();
        assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::Sessions(&[&own]))));
        assert_eq!(kernel.files()["/sys/q/rq_affinity"], "0");
        assert!(is_whole(&undone(&kernel, journal, &experiment, &Which::All)));
        assert_eq!(kernel.files()["/sys/q/rq_affinity"], "1");
    });
}

#[test]
fn what_the_kernel_changes_along_is_named_once() {
    let kernel = with_all_tags("none");
    with_tuner(&kernel, |_, tuner| {
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        let along = tuner.along();
        let [Along { setting, from, to, .. }] = &along[..] else { panic!("{along:?}") };
        assert_eq!((setting.as_str(), from.as_str(), to.as_str()), ("nr_requests", "1023", "256"));
        assert_eq!(tuner.along(), []);
    });
}

#[test]
fn a_first_value_that_iodyno_set_again_is_named_until_it_is_restored() {
    for scheduler in ["none", "kyber"] {
        let kernel = Kernel::new(FILES);
        kernel.write("/sys/q/nr_requests", "100").unwrap();
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "scheduler", "mq-deadline");
            set(&kernel, &tuner, "nr_requests", "100");
            tuner.keep().unwrap();
            // The kernel resets the number.
            kernel.write("/sys/q/scheduler", scheduler).unwrap();
            let reset = kernel.files()["/sys/q/nr_requests"].clone();
            let undone = |force| {
                let command = Tuner::open(journal, &kernel, Purpose::Command, "boot", || 9).unwrap();
                let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
                let foreseen = foreseen(&kernel, &change_log, &Which::All, &machine(&kernel), None, force);
                let report = command.undo(&machine(&kernel), &change_log, &Which::All, force).unwrap();
                command.keep().unwrap();
                let results = |report: &[(Step, Restored)]| {
                    report.iter().map(|(step, what)| (step.file.clone(), what.clone())).collect::<Vec<_>>()
                };
                assert_eq!(results(&foreseen.report), results(&report), "{scheduler} {force}");
                report
            };
            for _ in 0..2 {
                let left = undone(false);
                let (_, what) = left.iter().find(|(step, _)| step.setting == "nr_requests").unwrap();
                assert_eq!(*what, Restored::ModifiedExternally(reset.clone()), "{scheduler}");
            }
            assert!(is_whole(&undone(true)), "{scheduler}");
            assert_eq!(kernel.files(), before, "{scheduler}");
            let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!(left, ChangeLog::default(), "{scheduler}");
        });
    }
}

#[test]
fn a_kept_setting_that_an_undo_could_not_restore_is_offered() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "read_ahead_kb", "512");
        tuner.keep().unwrap();
        let undo = |actuator: &dyn Actuator, which: &Which<'_>| {
            let tuner = Tuner::open(journal, actuator, Purpose::Command, "boot", || 9).unwrap();
            let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            let report = tuner.undo(&machine(&kernel), &change_log, which, false).unwrap();
            tuner.close().unwrap();
            report.into_iter().map(|(_, what)| what).collect::<Vec<_>>()
        };
        for value in ["512", "64"] {
            let reverting = Reverting { kernel: &kernel, instead: value };
            let failed = undo(&reverting, &Which::All);
            assert!(matches!(failed[..], [Restored::Failed(_)]), "{failed:?}");
            assert_eq!(kernel.read("/sys/q/read_ahead_kb").unwrap(), value);
            let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            assert_eq!(
                (change_log.sessions.len(), &change_log.entries[0].last[..]),
                (1, &[value.to_owned()][..])
            );
        }
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let sessions: Vec<&str> = change_log.sessions.keys().map(String::as_str).collect();
        kernel.write("/sys/q/read_ahead_kb", "32").unwrap();
        let left = undo(&kernel, &Which::Sessions(&sessions));
        assert_eq!(left, [Restored::ModifiedExternally("32".to_owned())]);
        kernel.write("/sys/q/read_ahead_kb", "64").unwrap();
        assert_eq!(undo(&kernel, &Which::Sessions(&sessions)), [Restored::Back]);
        assert_eq!(kernel.read("/sys/q/read_ahead_kb").unwrap(), "128");
    });
}

/// A kernel on which another program sets this value after each write.
struct Reverting<'a> {
    kernel: &'a Kernel,
    instead: &'a str,
}

impl Actuator for Reverting<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.kernel.read(file)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        self.kernel.write(file, value)
    }

    fn settle(&self) {
        let _is_there = self.kernel.write("/sys/q/read_ahead_kb", self.instead);
    }
}

#[test]
fn what_a_scheduler_reset_and_an_undo_could_not_restore_is_restored_by_the_next() {
    let kernel = with_tags("mq-deadline", 128);
    kernel.memory.write("/sys/q/nr_requests", "128").unwrap();
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "none");
        assert_eq!(kernel.files()["/sys/q/nr_requests"], "128", "the driver's number is the same");
        kernel.unwritten.set(Some("/sys/q/nr_requests"));
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        // A dry run does not foresee it.
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
        assert!(report.iter().any(|(_, restored)| matches!(restored, Restored::Failed(_))), "{report:?}");
        assert_eq!(kernel.files()["/sys/q/nr_requests"], "256");
        kernel.unwritten.set(None);
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn requests_of_a_scheduler_that_could_not_be_restored_are_not_made_tags() {
    let kernel = with_tags("kyber", 128);
    kernel.write("/sys/q/nr_requests", "32").unwrap();
    let before = (kernel.files(), kernel.tags.get());
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "none");
        set(&kernel, &tuner, "nr_requests", "64");
        kernel.unwritten.set(Some("/sys/q/scheduler"));
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
        assert!(!is_whole(&report), "{report:?}");
        assert_eq!((kernel.files()["/sys/q/nr_requests"].as_str(), kernel.tags.get()), ("64", 64));
        kernel.unwritten.set(None);
        assert!(is_whole(&undone(&kernel, journal, &tuner, &Which::All)));
        assert_eq!((kernel.files(), kernel.tags.get()), before);
    });
}

#[test]
fn a_written_file_that_cannot_be_read_is_restored_by_an_undo() {
    let kernel = Kernel::new(FILES);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        let read = kernel.files()["/sys/q/read_ahead_kb"].clone();
        // Its value before is read twice.
        *kernel.unread.borrow_mut() = Some(("/sys/q/read_ahead_kb", 1));
        let outcome = change(&kernel, &tuner, "read_ahead_kb", &read, "512").unwrap();
        *kernel.unread.borrow_mut() = None;
        assert!(outcome.is_unread(), "{outcome}");
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "512");
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!(report.len(), 1, "it is offered");
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn nothing_is_written_where_a_value_that_it_resets_cannot_be_read() {
    for unread in ["/sys/q/nr_requests", "/sys/q/iosched/slice_idle"] {
        let kernel = Kernel { has_tunables: true, ..Kernel::new(FILES) };
        kernel.write("/sys/q/scheduler", "bfq").unwrap();
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            *kernel.unread.borrow_mut() = Some((unread, 0));
            let refused = change(&kernel, &tuner, "scheduler", "bfq", "mq-deadline").unwrap_err();
            assert!(matches!(&refused, TuneError::Unreadable { file, .. } if file == unread), "{refused}");
            *kernel.unread.borrow_mut() = None;
            assert_eq!(kernel.files(), before);
            assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
        });
    }
}
