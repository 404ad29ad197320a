//! Other programs that write a setting in the moment of a change or an undo.

use super::{strangers::with_limits, *};

/// A kernel that throttles writeback as block/blk-wbt.c does, and another program that writes a value before one of the calls.
struct Meddled<'a> {
    kernel: &'a Kernel,
    file: &'static str,
    value: &'static str,
    /// Calls until it writes.
    left: Cell<Option<u32>>,
    has_written: Cell<bool>,
    /// Whether throttling was never written: then bfq turns it off.
    has_default: Cell<bool>,
}

const WBT_FILE: &str = "/sys/q/wbt_lat_usec";

impl<'a> Meddled<'a> {
    /// Another program writes before the call of this number.
    fn new(kernel: &'a Kernel, file: &'static str, value: &'static str, call: u32) -> Self {
        let default = if kernel.files()["/sys/q/scheduler"] == "bfq" { "0" } else { "2000" };
        kernel.memory.files.lock().unwrap().insert(WBT_FILE.into(), default.into());
        let (left, has_written) = (Cell::new(Some(call)), Cell::new(false));
        Self { kernel, file, value, left, has_written, has_default: Cell::new(true) }
    }

    fn call(&self) {
        if self.left.get() == Some(0) {
            self.has_written.set(true);
            self.written(self.file, self.value).unwrap();
        }
        self.left.set(self.left.get().and_then(|left| left.checked_sub(1)));
    }

    fn written(&self, file: &str, value: &str) -> io::Result<()> {
        self.has_default.set(self.has_default.get() && file != WBT_FILE);
        let is_on = value != "bfq";
        if file == "/sys/q/scheduler" && self.has_default.get() {
            self.kernel.write(WBT_FILE, if is_on { "2000" } else { "0" })?;
        }
        self.kernel.write(file, value)
    }
}

impl Actuator for Meddled<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.call();
        self.kernel.read(file)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.kernel.names(folder)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        self.call();
        self.written(file, value)
    }
}

/// Sets a value and undoes it while another program writes before the call of each number. Returns what its file had at the end,
/// by call; none where the change was refused for it.
fn met(found: &str, (id, value): (&str, &str), (file, theirs): (&'static str, &'static str)) -> Vec<String> {
    let mut ends = Vec::new();
    for call in 0.. {
        let kernel = with_limits(found);
        let meddled = Meddled::new(&kernel, file, theirs, call);
        let before = kernel.files();
        let journal = Journal::in_memory();
        let tuner = Tuner::open(&journal, &meddled, Purpose::Experiment, "boot", || 7).unwrap();
        match change(&kernel, &tuner, id, &before[&format!("/sys/q/{id}")], value) {
            Ok(outcome) => assert_eq!(outcome, Outcome::Accepted, "{call}"),
            Err(error) => assert!(error.to_string().contains("changed it meanwhile"), "{call}: {error}"),
        }
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
        let now = kernel.files();
        for (other, value) in before.iter().filter(|(other, _)| *other != file) {
            assert_eq!(&now[other], value, "{call} {other}: {report:?}");
        }
        if !meddled.has_written.get() {
            assert_eq!(now[file], before[file], "all is restored without the other program: {report:?}");
            return ends;
        }
        ends.push(now[file].clone());
    }
    ends
}

#[test]
fn throttling_that_another_program_sets_while_a_scheduler_changes_stays() {
    for (found, scheduler) in
        [("none", "mq-deadline"), ("mq-deadline", "none"), ("none", "bfq"), ("bfq", "kyber")]
    {
        let ends = met(found, ("scheduler", scheduler), (WBT_FILE, "777"));
        assert!(ends.len() > 10, "{ends:?}");
        let lost = ends.iter().position(|end| end != "777");
        assert_eq!(lost, None, "{found} to {scheduler}: call {lost:?} of {ends:?}");
    }
}

/// What is set between the last reads and the write that resets it, or its own, is lost; none of these waits for the journal.
#[test]
fn readahead_that_another_program_sets_while_limits_change_stays() {
    let ends = met("none", ("iostats", "0"), ("/sys/q/read_ahead_kb", "64"));
    let lost: Vec<usize> = (0..ends.len()).filter(|call| ends[*call] != "64").collect();
    assert!(lost.len() <= 5, "calls {lost:?} of {}: {ends:?}", ends.len());
}

#[test]
fn requests_that_another_program_sets_before_a_scheduler_changes_stay() {
    let ends = met("mq-deadline", ("scheduler", "kyber"), ("/sys/q/nr_requests", "60"));
    let lost: Vec<usize> = (0..ends.len()).filter(|call| ends[*call] != "60").collect();
    assert!(lost.len() <= 7, "calls {lost:?} of {}: {ends:?}", ends.len());
}

/// Sets these values in a session of their own, which keeps them.
fn kept(kernel: &Kernel, journal: &Journal, values: &[(&str, &str)]) {
    let own = Tuner::open(journal, kernel, Purpose::Command, "boot", || 7).unwrap();
    for (id, value) in values {
        set(kernel, &own, id, value);
    }
    own.keep().unwrap();
}

/// Undoes everything in a new session while another program writes before the call of this number; whether it came to that.
fn undone_meanwhile(
    kernel: &Kernel,
    journal: &Journal,
    (file, theirs): (&'static str, &'static str),
    call: u32,
) -> (bool, Vec<(Step, Restored)>) {
    let meddled = Meddled::new(kernel, file, theirs, call);
    let tuner = Tuner::open(journal, &meddled, Purpose::Command, "boot", || 9).unwrap();
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let report = tuner.undo(&machine(kernel), &change_log, &Which::All, false).unwrap();
    tuner.keep().unwrap();
    (meddled.has_written.get(), report)
}

#[test]
fn the_last_of_two_values_of_another_program_stays_and_is_named() {
    const FILE: &str = "/sys/q/read_ahead_kb";
    for call in 0.. {
        let (kernel, journal) = (with_limits("mq-deadline"), Journal::in_memory());
        kept(&kernel, &journal, &[("read_ahead_kb", "184"), ("scheduler", "none")]);
        kernel.write(FILE, "584").unwrap();
        let (has_written, report) = undone_meanwhile(&kernel, &journal, (FILE, "604"), call);
        let last = if has_written { "604" } else { "584" };
        assert_eq!(kernel.files()[FILE], last, "{call}: {report:?}");
        let named = |(step, what): &(Step, Restored)| {
            step.file == FILE && *what == Restored::ModifiedExternally(last.to_owned())
        };
        // What is set after the last look at it is in no report.
        assert!(report.iter().any(named) || call > 12, "{call}: {report:?}");
        if !has_written {
            return;
        }
    }
}

#[test]
fn the_first_value_that_another_program_puts_back_stays() {
    for call in 0.. {
        let (kernel, journal) = (with_limits("mq-deadline"), Journal::in_memory());
        kept(&kernel, &journal, &[("rq_affinity", "2"), ("scheduler", "none")]);
        kernel.write("/sys/q/rq_affinity", "0").unwrap();
        let (has_written, report) = undone_meanwhile(&kernel, &journal, ("/sys/q/rq_affinity", "1"), call);
        if !has_written {
            return;
        }
        assert_eq!(kernel.files()["/sys/q/rq_affinity"], "1", "{call}: {report:?}");
    }
}

#[test]
fn a_value_that_another_program_set_while_an_undo_restored_it_is_that_ones_afterwards() {
    const FILE: &str = "/sys/q/read_ahead_kb";
    let mut met = 0;
    for call in 0.. {
        let (kernel, journal) = (with_limits("mq-deadline"), Journal::in_memory());
        kept(&kernel, &journal, &[("read_ahead_kb", "512")]);
        let (has_written, _) = undone_meanwhile(&kernel, &journal, (FILE, "4560"), call);
        let left = kernel.files()[FILE].clone();
        kept(&kernel, &journal, &[("read_ahead_kb", "532")]);
        let (_, report) = undone_meanwhile(&kernel, &journal, (FILE, "64"), u32::MAX);
        assert_eq!(kernel.files()[FILE], left, "{call}: {report:?}");
        met += u32::from(left == "4560");
        if !has_written {
            break;
        }
    }
    assert!(met > 4, "{met}");
}
