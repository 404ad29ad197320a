//! Undos that cannot read or open a file.

use super::*;

/// A kernel of which reads of a file fail after some that do not; with an empty name all calls.
struct Unread<'a> {
    kernel: &'a Kernel,
    file: &'static str,
    error: i32,
    left: Cell<u32>,
}

impl Unread<'_> {
    fn call(&self, file: &str) -> io::Result<()> {
        if self.file != file && !self.file.is_empty() {
            return Ok(());
        }
        match self.left.get().checked_sub(1) {
            Some(less) => self.left.set(less),
            None => return Err(io::Error::from_raw_os_error(self.error)),
        }
        Ok(())
    }
}

impl Actuator for Unread<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.call(file)?;
        self.kernel.read(file)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.call(folder)?;
        self.kernel.names(folder)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if self.file.is_empty() {
            self.call(file)?;
        }
        self.kernel.write(file, value)
    }
}

/// Undoes everything in a new session.
fn undone_by(kernel: &Kernel, actuator: &dyn Actuator, journal: &Journal) -> Vec<(Step, Restored)> {
    let tuner = Tuner::open(journal, actuator, Purpose::Command, "boot", || 9).unwrap();
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let report = tuner.undo(&machine(kernel), &change_log, &Which::All, false).unwrap();
    tuner.close().unwrap();
    report
}

/// The state of a queue: its files, and the tags that they may hide.
fn state(kernel: &Kernel) -> (BTreeMap<String, String>, u32) {
    (kernel.files(), kernel.tags.get())
}

/// Changes a queue, undoes that while calls fail after so many, and undoes it again, for every number of calls.
fn restored_after_errors(found: &str, changes: &[(&str, &str)], failing: (&'static str, i32)) {
    let mut after = 0;
    while has_failed(found, changes, failing, after) {
        after += 1;
    }
}

/// The same for one number of calls. Whether the undo made more.
fn has_failed(found: &str, changes: &[(&str, &str)], (file, error): (&'static str, i32), after: u32) -> bool {
    let what = format!("{found}, {changes:?}, {file:?}, error {error} after {after}");
    let kernel = Kernel { has_tunables: true, ..with_tags("none", 128) };
    kernel.write("/sys/q/scheduler", found).unwrap();
    kernel.write("/sys/q/nr_requests", "100").unwrap();
    set_tunables(&kernel);
    let before = state(&kernel);
    let journal = Journal::in_memory();
    let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 1).unwrap();
    for (id, value) in changes {
        set(&kernel, &tuner, id, value);
    }
    tuner.keep().unwrap();
    let unread = Unread { kernel: &kernel, file, error, left: Cell::new(after) };
    let report = undone_by(&kernel, &unread, &journal);
    if is_whole(&report) {
        assert_eq!(state(&kernel), before, "{what}: {report:?}");
    }
    let again = undone_by(&kernel, &kernel, &journal);
    assert!(is_whole(&again), "{what}: {report:?}, then {again:?}");
    assert_eq!(state(&kernel), before, "{what}: {report:?}, then {again:?}");
    let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    assert_eq!(left, ChangeLog::default(), "{what}");
    unread.left.get() == 0
}

const ERRORS: [i32; 2] = [libc::EIO, libc::EACCES];

/// By found scheduler: the changes, in order.
const CHANGED: [(&str, &[(&str, &str)]); 7] = [
    ("mq-deadline", &[("scheduler", "none")]),
    ("bfq", &[("scheduler", "none"), ("nr_requests", "4")]),
    ("bfq", &[("scheduler", "kyber")]),
    ("none", &[("scheduler", "mq-deadline"), ("nr_requests", "64")]),
    ("none", &[("nr_requests", "50"), ("scheduler", "kyber")]),
    ("mq-deadline", &[("nr_requests", "64")]),
    ("mq-deadline", &[("scheduler", "none"), ("nr_requests", "4"), ("scheduler", "mq-deadline")]),
];

#[test]
fn requests_that_an_undo_cannot_read_are_restored_by_the_next() {
    for ((found, changes), error) in CHANGED.iter().flat_map(|case| ERRORS.map(|error| (case, error))) {
        restored_after_errors(found, changes, ("/sys/q/nr_requests", error));
    }
}

#[test]
fn a_scheduler_that_an_undo_cannot_read_is_restored_by_the_next() {
    for ((found, changes), error) in CHANGED.iter().flat_map(|case| ERRORS.map(|error| (case, error))) {
        restored_after_errors(found, changes, ("/sys/q/scheduler", error));
    }
}

#[test]
fn tunables_that_an_undo_cannot_read_are_restored_by_the_next() {
    let files = [
        "/sys/q/iosched/read_expire",
        "/sys/q/iosched/async_depth",
        "/sys/q/iosched/slice_idle",
        "/sys/q/iosched/strict_guarantees",
        "/sys/q/iosched",
    ];
    for ((found, changes), file) in CHANGED.iter().flat_map(|case| files.map(|file| (case, file))) {
        restored_after_errors(found, changes, (file, libc::EIO));
    }
}

#[test]
fn what_an_undo_leaves_that_can_open_nothing_is_restored_by_the_next() {
    for (found, changes) in CHANGED {
        restored_after_errors(found, changes, ("", libc::EMFILE));
    }
}

#[test]
fn another_program_s_value_stays_where_an_undo_cannot_read_it() {
    for error in ERRORS {
        for after in 0..12 {
            let kernel = Kernel::new(FILES);
            let journal = Journal::in_memory();
            let tuner = Tuner::open(&journal, &kernel, Purpose::Command, "boot", || 1).unwrap();
            set(&kernel, &tuner, "iostats", "0");
            tuner.keep().unwrap();
            kernel.write("/sys/q/read_ahead_kb", "64").unwrap();
            let file = "/sys/q/read_ahead_kb";
            let unread = Unread { kernel: &kernel, file, error, left: Cell::new(after) };
            undone_by(&kernel, &unread, &journal);
            assert_eq!(kernel.read(file).unwrap(), "64", "error {error} after {after}");
            undone_by(&kernel, &kernel, &journal);
            assert_eq!(kernel.read(file).unwrap(), "64", "error {error} after {after}");
            assert_eq!(kernel.read("/sys/q/iostats").unwrap(), "1");
        }
    }
}
