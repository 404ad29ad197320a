//! Tunables of schedulers: they come back with them.

use super::*;

/// A queue with this scheduler, and tunables that a user has set.
fn tuned(scheduler: &str) -> Kernel {
    let kernel = Kernel { has_tunables: true, ..with_all_tags("none") };
    kernel.write("/sys/q/scheduler", scheduler).unwrap();
    set_tunables(&kernel);
    kernel
}

/// Sets tunables that no scheduler begins with.
pub(super) fn set_tunables(kernel: &Kernel) {
    let values =
        [("async_depth", "50"), ("read_expire", "123"), ("read_lat_nsec", "7"), ("strict_guarantees", "1")];
    for (name, value) in values.into_iter().chain([("slice_idle", "4")]) {
        let _is_there = kernel.write(&format!("/sys/q/iosched/{name}"), value);
    }
}

const EXPIRE: &str = "/sys/q/iosched/read_expire";
const DEPTH: &str = "/sys/q/iosched/async_depth";

#[test]
fn an_undo_restores_the_tunables_of_the_scheduler() {
    let cases: &[&[(&str, &str)]] = &[
        &[("scheduler", "none")],
        &[("scheduler", "kyber")],
        &[("scheduler", "none"), ("nr_requests", "4")],
        &[("nr_requests", "64")],
        &[("nr_requests", "64"), ("nr_requests", "32")],
        &[("nr_requests", "64"), ("scheduler", "none")],
        &[("scheduler", "kyber"), ("scheduler", "mq-deadline"), ("nr_requests", "64")],
    ];
    for changes in cases {
        changed_and_undone(&tuned("mq-deadline"), changes);
    }
}

#[test]
fn a_scheduler_that_is_set_again_has_its_tunables() {
    let kernel = tuned("mq-deadline");
    let before = kernel.files();
    with_tuner(&kernel, |_, tuner| {
        // As an experiment does with its arms.
        for _ in 0..2 {
            for scheduler in ["none", "kyber", "mq-deadline"] {
                set(&kernel, &tuner, "scheduler", scheduler);
            }
            assert_eq!(kernel.files(), before);
        }
        set(&kernel, &tuner, "nr_requests", "64");
        assert_eq!(kernel.read(DEPTH).unwrap(), "64", "the kernel computes it");
        set(&kernel, &tuner, "nr_requests", "256");
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn the_session_s_undo_restores_the_tunables_that_it_found() {
    let kernel = tuned("mq-deadline");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "64");
        tuner.keep().unwrap();
        let kept = kernel.files();
        let experiment = Tuner::open(journal, &kernel, Purpose::Experiment, "boot", || 9).unwrap();
        set(&kernel, &experiment, "scheduler", "none");
        set(&kernel, &experiment, "scheduler", "mq-deadline");
        assert_eq!(kernel.read(DEPTH).unwrap(), "64", "an arm is what the experiment found");
        set(&kernel, &experiment, "scheduler", "kyber");
        let own = experiment.session().to_owned();
        let report = undone(&kernel, journal, &experiment, &Which::Sessions(&[&own]));
        assert!(is_whole(&report), "{report:?}");
        assert_eq!(kernel.files(), kept);
        let report = undone(&kernel, journal, &experiment, &Which::All);
        assert!(is_whole(&report), "{report:?}");
        assert_eq!(kernel.read(DEPTH).unwrap(), "50");
    });
}

#[test]
fn tunables_that_another_program_has_set_since_stay() {
    let kernel = tuned("mq-deadline");
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "nr_requests", "64");
        kernel.write(EXPIRE, "77").unwrap();
        kernel.write(DEPTH, "20").unwrap();
        undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!([EXPIRE, DEPTH].map(|file| kernel.read(file).unwrap()), ["77", "20"]);
        // Another program's scheduler has tunables of its own.
        set(&kernel, &tuner, "scheduler", "none");
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!(kernel.read(EXPIRE).unwrap(), "500");
        kernel.write(EXPIRE, "88").unwrap();
        set(&kernel, &tuner, "scheduler", "kyber");
        undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!(kernel.read(EXPIRE).unwrap(), "88");
        // One that is set where another program had replaced it begins anew.
        kernel.write("/sys/q/scheduler", "none").unwrap();
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        assert_eq!(kernel.read(EXPIRE).unwrap(), "500");
    });
}

#[test]
fn a_tunable_that_another_one_sets_comes_back_too() {
    let kernel = tuned("bfq");
    assert_eq!(kernel.read("/sys/q/iosched/slice_idle").unwrap(), "4", "beside strict_guarantees");
    for changes in [&[("scheduler", "none")][..], &[("scheduler", "kyber"), ("nr_requests", "64")]] {
        changed_and_undone(&kernel, changes);
    }
}

/// A kernel that refuses a tunable.
struct Stubborn<'a>(&'a Kernel);

impl Actuator for Stubborn<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.0.read(file)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.0.names(folder)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if file == EXPIRE {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        } else {
            self.0.write(file, value)
        }
    }
}

/// What the undo in a new session reports, by setting.
fn undone_anew(
    kernel: &Kernel,
    actuator: &dyn Actuator,
    journal: &Journal,
    which: &Which<'_>,
) -> Vec<(String, Restored)> {
    let tuner = Tuner::open(journal, actuator, Purpose::Command, "boot", || 9).unwrap();
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let report = tuner.undo(&machine(kernel), &change_log, which, false).unwrap();
    tuner.close().unwrap();
    report.into_iter().map(|(step, what)| (step.setting, what)).collect()
}

/// A journal after an undo of everything that could not restore `read_expire`, and after that was compacted.
fn after_a_failed_undo(kernel: &Kernel) -> [Journal; 2] {
    let journal = Journal::in_memory();
    let tuner = Tuner::open(&journal, kernel, Purpose::Command, "boot", || 1).unwrap();
    set(kernel, &tuner, "scheduler", "none");
    tuner.keep().unwrap();
    let report = undone_anew(kernel, &Stubborn(kernel), &journal, &Which::All);
    let failed = Restored::Failed("the kernel shows 500".into());
    let expected =
        [("scheduler", Restored::Back), ("nr_requests", Restored::Back), ("iosched/read_expire", failed)];
    assert_eq!(report, expected.map(|(setting, what)| (setting.to_owned(), what)));
    [journal.compacted("boot"), journal]
}

#[test]
fn a_tunable_that_an_undo_could_not_restore_is_restored_by_a_later_one() {
    let kernel = tuned("mq-deadline");
    let before = kernel.files();
    for journal in after_a_failed_undo(&kernel) {
        kernel.write(EXPIRE, "500").unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let sessions: Vec<&str> = change_log.sessions.keys().map(String::as_str).collect();
        let [entry] = &change_log.entries[..] else { panic!("{change_log:?}") };
        assert_eq!(
            (entry.found.as_str(), &entry.last[..], sessions.len()),
            ("123", &["500".to_owned()][..], 1)
        );
        let again = undone_anew(&kernel, &Stubborn(&kernel), &journal, &Which::Sessions(&sessions));
        assert!(matches!(&again[..], [(_, Restored::Failed(_))]), "{again:?}");
        let report = undone_anew(&kernel, &kernel, &journal, &Which::Sessions(&sessions));
        assert_eq!(report, [("iosched/read_expire".to_owned(), Restored::Back)]);
        assert_eq!(kernel.files(), before);
        assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
    }
}

#[test]
fn a_tunable_that_another_program_has_set_since_the_undo_that_failed_stays() {
    let kernel = tuned("mq-deadline");
    for journal in after_a_failed_undo(&kernel) {
        kernel.write(EXPIRE, "77").unwrap();
        let report = undone_anew(&kernel, &kernel, &journal, &Which::All);
        assert_eq!(
            report,
            [("iosched/read_expire".to_owned(), Restored::ModifiedExternally("77".to_owned()))]
        );
        // Nor does the undo of a later change write over it.
        let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 20).unwrap();
        set(&kernel, &tuner, "scheduler", "kyber");
        tuner.keep().unwrap();
        undone_anew(&kernel, &kernel, &journal, &Which::All);
        assert_eq!(kernel.read(EXPIRE).unwrap(), "77");
    }
}

#[test]
fn an_undo_that_failed_after_a_kill_owes_no_tunable_that_another_program_sets() {
    let kernel = tuned("mq-deadline");
    let journal = Journal::in_memory();
    let killed = Tuner::open(&journal, &kernel, Purpose::Experiment, "boot", || 1).unwrap();
    set(&kernel, &killed, "scheduler", "kyber");
    // Killed behind the write of the scheduler, before its tunables are given back.
    let file = "/sys/q/scheduler".to_owned();
    let change = Event::Change {
        device: Identity::of(&machine(&kernel), &Device::Drive(crate::model::DriveName::new("loop7"))),
        setting: "scheduler".into(),
        file: file.clone(),
        old: "kyber".into(),
        new: "mq-deadline".into(),
        affected: Vec::new(),
        tags: false,
        undo: false,
        host: None,
        follows: false,
    };
    killed.record(change).unwrap();
    kernel.write(&file, "mq-deadline").unwrap();
    let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 2).unwrap();
    set(&kernel, &tuner, "nr_requests", "64");
    tuner.keep().unwrap();
    let report = undone_anew(&kernel, &Stubborn(&kernel), &journal, &Which::Sessions(&[killed.session()]));
    assert!(report.iter().any(|(_, what)| matches!(what, Restored::Failed(_))), "{report:?}");
    kernel.write(EXPIRE, "77").unwrap();
    kernel.write("/sys/q/nr_requests", "256").unwrap();
    let report = undone_anew(&kernel, &kernel, &journal, &Which::All);
    let theirs = ("iosched/read_expire".to_owned(), Restored::ModifiedExternally("77".to_owned()));
    assert!(report.contains(&theirs), "{report:?}");
    assert_eq!(kernel.read(EXPIRE).unwrap(), "77");
}

#[test]
fn a_tunable_that_was_not_restored_goes_with_its_scheduler_and_comes_back_with_it() {
    let kernel = tuned("mq-deadline");
    let before = kernel.files();
    for journal in after_a_failed_undo(&kernel) {
        // Of iodyno's change, the scheduler's undo restores it.
        kernel.write(EXPIRE, "500").unwrap();
        let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 20).unwrap();
        set(&kernel, &tuner, "scheduler", "none");
        tuner.keep().unwrap();
        let report = undone_anew(&kernel, &kernel, &journal, &Which::All);
        assert!(report.len() == 3 && report.iter().all(|(_, what)| *what == Restored::Back), "{report:?}");
        assert_eq!(kernel.files(), before);
    }
    for journal in after_a_failed_undo(&kernel) {
        kernel.write("/sys/q/scheduler", "none").unwrap();
        let report = undone_anew(&kernel, &kernel, &journal, &Which::All);
        assert_eq!(report, [("iosched/read_expire".to_owned(), Restored::Gone)]);
        assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
        set_tunables(&kernel);
        kernel.write("/sys/q/scheduler", "mq-deadline").unwrap();
        set_tunables(&kernel);
    }
}

#[test]
fn a_journal_names_no_other_file_as_a_tunable() {
    let kernel = tuned("mq-deadline");
    for (setting, file, value, now) in [
        ("iosched/read_expire", "/sys/q/nr_requests", "4", "256"),
        ("iosched/../nr_requests", "/sys/q/iosched/../nr_requests", "4", "256"),
        ("iosched/read_expire", EXPIRE, "none", "123"),
    ] {
        let journal = Journal::in_memory();
        let session = journal.open(Purpose::Command, "boot", 1).unwrap();
        let device = Identity::of(&machine(&kernel), &Device::Drive(crate::model::DriveName::new("loop7")));
        let [setting, file, value, now] = [setting, file, value, now].map(str::to_owned);
        let left = Event::Left { device, setting, file, value, now };
        journal.append(&session.record(left, "boot", 1)).unwrap();
        let before = kernel.files();
        let report = undone_anew(&kernel, &kernel, &journal, &Which::All);
        assert!(matches!(&report[..], [(_, Restored::Refused(_))]), "{report:?}");
        assert_eq!(kernel.files(), before);
    }
}

#[test]
fn a_tunable_that_the_kernel_refuses_is_named() {
    let kernel = tuned("mq-deadline");
    let journal = Journal::in_memory();
    let tuner = Tuner::open(&journal, Stubborn(&kernel), Purpose::Screen, "boot", || 1).unwrap();
    set(&kernel, &tuner, "scheduler", "none");
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
    let (step, what) = report.last().unwrap();
    assert_eq!((step.setting.as_str(), step.target.as_str()), ("iosched/read_expire", "123"));
    assert_eq!(*what, Restored::Failed("the kernel shows 500".into()));
    assert_eq!(kernel.read(DEPTH).unwrap(), "50");
}
