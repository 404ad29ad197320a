//! The tuner on kernels in memory that answer as the real one was seen to.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

mod anew;
mod beside;
mod kills;
mod meanwhile;
mod others;
mod strangers;
mod tunables;
mod unread;

use tunables::set_tunables;

use super::*;
use crate::tune::{actuator::current_word, undo::plan};

/// Files in memory, for tests that must be exact.
#[derive(Debug, Default)]
struct Memory {
    /// Path to value.
    files: Mutex<BTreeMap<String, String>>,
}

impl Actuator for Memory {
    fn read(&self, file: &str) -> io::Result<String> {
        let files = self.files.lock().map_err(|_| io::Error::other("a write thread panicked"))?;
        files
            .get(file)
            .map(|content| current_word(content).to_owned())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let mut files = self.files.lock().map_err(|_| io::Error::other("a write thread panicked"))?;
        match files.get_mut(file) {
            Some(content) => {
                value.clone_into(content);
                Ok(())
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A kernel that answers as the real one does: a new scheduler resets `nr_requests`, leaves the tags and has tunables of its own, of which
/// new requests reset `async_depth` and bfq's `strict_guarantees` raises `slice_idle`; new limits of a
/// queue reset `read_ahead_kb`, which is rounded to pages, `nr_requests` of more than the driver's is EINVAL without a scheduler, `rq_affinity` of 7 is taken and ignored, unknown schedulers are
/// EINVAL.
#[derive(Default)]
struct Kernel {
    memory: Memory,
    /// What `nr_requests` was when it last changed without a scheduler.
    tags: Cell<u32>,
    /// The driver's number of tags.
    drivers: u32,
    /// Its schedulers have tunables.
    has_tunables: bool,
    /// A file of which reads fail with EIO, and how many before do not.
    unread: RefCell<Option<(&'static str, usize)>>,
    /// A file that takes no value: EROFS.
    unwritten: Cell<Option<&'static str>>,
}

/// Each scheduler's tunables, and the values they begin with.
const TUNABLES: &[(&str, &[(&str, &str)])] = &[
    ("mq-deadline", &[("async_depth", "256"), ("read_expire", "500")]),
    ("kyber", &[("read_lat_nsec", "2000000")]),
    ("bfq", &[("slice_idle", "8"), ("strict_guarantees", "0")]),
];

impl Kernel {
    fn new(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(file, value)| ((*file).to_owned(), (*value).to_owned())).collect();
        let memory = Memory { files: Mutex::new(files) };
        Self { memory, tags: Cell::new(DRIVERS), drivers: DRIVERS, ..Self::default() }
    }

    /// The most requests of a queue: the driver's tags, or `MAX_SCHED_RQ` with a scheduler.
    fn most(&self, queue: &str) -> u32 {
        let is_direct = self.memory.read(&format!("{queue}/scheduler")).unwrap() == "none";
        if is_direct { self.drivers } else { 2048 }
    }

    /// A new scheduler has its tunables.
    fn begin(&self, queue: &str, scheduler: &str) {
        let mut files = self.memory.files.lock().unwrap();
        let folder = format!("{queue}/iosched/");
        files.retain(|file, _| !file.starts_with(&folder));
        let its = TUNABLES.iter().filter(|(name, _)| *name == scheduler && self.has_tunables);
        for (name, value) in its.flat_map(|(_, tunables)| *tunables) {
            files.insert(format!("{folder}{name}"), (*value).to_owned());
        }
    }

    fn files(&self) -> BTreeMap<String, String> {
        self.memory.files.lock().unwrap().clone()
    }
}

impl Actuator for Kernel {
    fn read(&self, file: &str) -> io::Result<String> {
        if let Some((_, left)) = self.unread.borrow_mut().as_mut().filter(|(unread, _)| *unread == file) {
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => return Err(io::Error::from_raw_os_error(libc::EIO)),
            }
        }
        if file == "/sys/mq/0/nr_tags" { Ok(self.drivers.to_string()) } else { self.memory.read(file) }
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = format!("{folder}/");
        Ok(self.files().keys().filter_map(|file| file.strip_prefix(&folder)).map(str::to_owned).collect())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if self.unwritten.get() == Some(file) {
            return Err(io::Error::from_raw_os_error(libc::EROFS));
        }
        let folder = file.rsplit_once('/').unwrap().0;
        let name = file.rsplit('/').next().unwrap();
        let depth = format!("{folder}/iosched/async_depth");
        match name {
            "scheduler" if value != "bogus" && self.read(file)? != value => self.begin(folder, value),
            // Only a new number is a change.
            "nr_requests" if self.read(file)? != value && self.memory.read(&depth).is_ok() => {
                self.memory.write(&depth, value)?;
            }
            // bfq_strict_guarantees_store, block/bfq-iosched.c.
            "strict_guarantees" if value == "1" && self.read(file)? == "0" => {
                self.memory.write(&format!("{folder}/slice_idle"), "8")?;
            }
            _ => {}
        }
        match (name, value) {
            ("scheduler", "bogus") => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
            ("scheduler", "none") => {
                self.memory.write(&format!("{folder}/nr_requests"), &self.drivers.to_string())?;
            }
            ("scheduler", _) => {
                let begins = 2 * self.drivers.min(128);
                self.memory.write(&format!("{folder}/nr_requests"), &begins.to_string())?;
            }
            ("nr_requests", _) if value.parse::<u32>().unwrap() > self.most(folder) => {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            ("nr_requests", _)
                if self.memory.read(&format!("{folder}/scheduler"))? == "none"
                    && self.memory.read(file)? != value =>
            {
                let requests = value.parse::<u32>().unwrap().max(4);
                self.tags.set(requests);
                return self.memory.write(file, &requests.to_string());
            }
            ("iostats" | "add_random", _) => self.memory.write(&format!("{folder}/read_ahead_kb"), "2560")?,
            ("rq_affinity", "7") => return Ok(()),
            ("read_ahead_kb", _) => {
                let rounded = value.parse::<u64>().unwrap() / 4 * 4;
                return self.memory.write(file, &rounded.to_string());
            }
            ("nr_requests", _) => {
                return self.memory.write(file, &value.parse::<u32>().unwrap().max(4).to_string());
            }
            _ => {}
        }
        self.memory.write(file, value)
    }
}

fn machine(kernel: &Kernel) -> Machine {
    crate::tune::testing::machine_with_queue("loop7", &kernel.files())
}

/// A driver's number of tags.
const DRIVERS: u32 = 1023;

const FILES: &[(&str, &str)] = &[
    ("/sys/q/scheduler", "none"),
    ("/sys/q/nr_requests", "512"),
    ("/sys/q/read_ahead_kb", "128"),
    ("/sys/q/rq_affinity", "1"),
    ("/sys/q/iostats", "1"),
];

fn with_tuner(kernel: &Kernel, test: impl FnOnce(&Journal, Tuner<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path());
    let clock = || {
        static TIME: AtomicI64 = AtomicI64::new(0);
        TIME.fetch_add(1, Ordering::Relaxed)
    };
    let tuner = Tuner::open(&journal, kernel, Purpose::Screen, "boot", clock).unwrap();
    test(&journal, tuner);
}

fn change(kernel: &Kernel, tuner: &Tuner<'_>, id: &str, from: &str, to: &str) -> Result<Outcome, TuneError> {
    let device = Device::Drive(crate::model::DriveName::new("loop7"));
    let machine = machine(kernel);
    let change = Change {
        identity: Identity::of(&machine, &device),
        device,
        setting: find(id).unwrap().id,
        file: format!("/sys/q/{id}"),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    tuner.apply(&machine, &change)
}

fn set(kernel: &Kernel, tuner: &Tuner<'_>, id: &str, value: &str) -> Outcome {
    let from = kernel.read(&format!("/sys/q/{id}")).unwrap();
    change(kernel, tuner, id, &from, value).unwrap()
}

#[test]
fn outcomes_say_what_the_kernel_made_of_it() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |_, tuner| {
        assert_eq!(set(&kernel, &tuner, "scheduler", "mq-deadline"), Outcome::Accepted);
        assert_eq!(set(&kernel, &tuner, "read_ahead_kb", "4099"), Outcome::Adjusted { now: "4096".into() });
        assert_eq!(set(&kernel, &tuner, "rq_affinity", "7"), Outcome::Ignored);
        let refused = set(&kernel, &tuner, "scheduler", "bogus");
        assert!(
            matches!(&refused, Outcome::Refused { error } if error.contains("Invalid argument")),
            "{refused}"
        );
    });
}

#[test]
fn undo_puts_back_the_scheduler_and_what_it_reset() {
    let kernel = Kernel::new(FILES);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "read_ahead_kb", "512");
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        assert_eq!(kernel.files()["/sys/q/nr_requests"], "256", "the kernel resets it");
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
        assert_eq!(report[0].0.setting, "scheduler");
        assert_eq!(report.len(), 3);
        assert!(report.iter().all(|(_, restored)| *restored == Restored::Back), "{report:?}");
        assert_eq!(kernel.files(), before);
        assert_eq!(ChangeLog::of(&journal.contents().unwrap().records, "boot"), ChangeLog::default());
    });
}

fn with_all_tags(scheduler: &str) -> Kernel {
    with_tags(scheduler, DRIVERS)
}

/// A queue that has all of its driver's tags.
fn with_tags(scheduler: &str, drivers: u32) -> Kernel {
    let kernel = Kernel { drivers, ..Kernel::new(FILES) };
    kernel.memory.write("/sys/q/nr_requests", &drivers.to_string()).unwrap();
    kernel.tags.set(drivers);
    kernel.write("/sys/q/scheduler", scheduler).unwrap();
    kernel
}

#[test]
fn an_undo_leaves_as_many_tags_as_it_found_whatever_the_scheduler() {
    // By found scheduler: the changes, in order.
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("none", &[("nr_requests", "4")]),
        ("none", &[("nr_requests", "4"), ("scheduler", "mq-deadline")]),
        ("none", &[("nr_requests", "4"), ("scheduler", "mq-deadline"), ("scheduler", "none")]),
        ("none", &[("scheduler", "mq-deadline"), ("nr_requests", "64")]),
        ("mq-deadline", &[("scheduler", "none"), ("nr_requests", "4")]),
        ("mq-deadline", &[("scheduler", "none"), ("nr_requests", "4"), ("scheduler", "kyber")]),
        ("mq-deadline", &[("nr_requests", "64"), ("scheduler", "none")]),
    ];
    for (found, changes) in cases {
        changed_and_undone(&with_all_tags(found), changes);
    }
}

/// Makes these changes of a queue that has all of its driver's tags, and undoes them all: it is as it was.
fn changed_and_undone(kernel: &Kernel, changes: &[(&str, &str)]) {
    let before = kernel.files();
    with_tuner(kernel, |journal, tuner| {
        for (id, value) in changes {
            set(kernel, &tuner, id, value);
        }
        let report = undone(kernel, journal, &tuner, &Which::All);
        assert!(is_whole(&report), "{before:?}, {changes:?}: {report:?}");
        assert_eq!((kernel.files(), kernel.tags.get()), (before, DRIVERS), "{changes:?}");
        let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        assert_eq!(left, ChangeLog::default(), "{changes:?}");
    });
}

#[test]
fn an_undo_killed_on_the_way_of_a_scheduler_is_finished_by_the_next() {
    let kernel = with_all_tags("mq-deadline");
    let before = kernel.files();
    for hops in 1..=3 {
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "scheduler", "none");
            set(&kernel, &tuner, "nr_requests", "4");
            let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
            let (steps, _) = plan(&change_log, &Which::All, &machine(&kernel));
            let way = tags::way(&steps[0], &steps, "none");
            assert_eq!(way, ["mq-deadline", "none", "mq-deadline"]);
            let mut from = "none".to_owned();
            for to in way.into_iter().take(hops) {
                tuner.step(&steps[0], &steps, &from, &to).unwrap();
                from = to;
            }
            tuner.keep().unwrap();
            let clock = || 9;
            let next = Tuner::open(journal, &kernel, Purpose::Command, "boot", clock).unwrap();
            let report = undone(&kernel, journal, &next, &Which::All);
            assert!(is_whole(&report), "{hops}: {report:?}");
            assert_eq!((kernel.files(), kernel.tags.get()), (before.clone(), DRIVERS), "after {hops}");
        });
    }
}

#[test]
fn a_change_planned_before_another_reset_its_file_is_made_all_the_same() {
    let kernel = Kernel::new(FILES);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        let device = Device::Drive(crate::model::DriveName::new("loop7"));
        let found = machine(&kernel);
        let plan = |id, value| {
            let row = find(id).unwrap();
            planned(&found, &device, row, value).unwrap().remove(0)
        };
        for change in [plan("scheduler", "mq-deadline"), plan("nr_requests", "64")] {
            assert_eq!(tuner.apply(&found, &change).unwrap(), Outcome::Accepted);
        }
        assert_eq!(kernel.files()["/sys/q/nr_requests"], "64");
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        tuner.undo(&found, &change_log, &Which::All, false).unwrap();
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn a_stranger_s_value_is_left_alone_unless_forced() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "read_ahead_kb", "512");
        kernel.write("/sys/q/read_ahead_kb", "64").unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, false).unwrap();
        assert_eq!(report[0].1, Restored::ModifiedExternally("64".into()));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "64");
        let report = tuner.undo(&machine(&kernel), &change_log, &Which::All, true).unwrap();
        assert_eq!(report[0].1, Restored::Back);
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
    });
}

/// Undoes, and checks that a dry run foresees the results, and that its writes do the same.
fn undone(kernel: &Kernel, journal: &Journal, tuner: &Tuner<'_>, which: &Which<'_>) -> Vec<(Step, Restored)> {
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let foreseen = foreseen(kernel, &change_log, which, &machine(kernel), None, false);
    let copy = Kernel { drivers: kernel.drivers, has_tunables: kernel.has_tunables, ..Kernel::default() };
    copy.tags.set(kernel.tags.get());
    *copy.memory.files.lock().unwrap() = kernel.files();
    for (file, value) in &foreseen.writes {
        copy.write(file, value).unwrap();
    }
    let report = tuner.undo(&machine(kernel), &change_log, which, false).unwrap();
    let results = |report: &[(Step, Restored)]| {
        report.iter().map(|(step, what)| (step.file.clone(), what.clone())).collect::<Vec<_>>()
    };
    assert_eq!(results(&foreseen.report), results(&report));
    assert_eq!((copy.files(), copy.tags.get()), (kernel.files(), kernel.tags.get()), "{:?}", foreseen.writes);
    report
}

#[test]
fn what_is_reset_by_an_undo_stays_as_it_was() {
    let kernel = Kernel::new(FILES);
    kernel.write("/sys/q/read_ahead_kb", "512").unwrap();
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "iostats", "0");
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "2560", "the kernel resets it");
        let report = undone(&kernel, journal, &tuner, &Which::All);
        assert!(is_whole(&report), "{report:?}");
        assert_eq!(kernel.files(), before);
        // A value that was asked for stays when only the other one is undone.
        set(&kernel, &tuner, "iostats", "0");
        set(&kernel, &tuner, "read_ahead_kb", "1024");
        let report = undone(&kernel, journal, &tuner, &Which::Files(&["/sys/q/iostats".to_owned()]));
        assert!(is_whole(&report) && report.len() == 1, "{report:?}");
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "1024");
        undone(&kernel, journal, &tuner, &Which::All);
        assert_eq!(kernel.files(), before);
        // So does another program's value.
        set(&kernel, &tuner, "iostats", "0");
        kernel.write("/sys/q/read_ahead_kb", "64").unwrap();
        undone(&kernel, journal, &tuner, &Which::Files(&["/sys/q/iostats".to_owned()]));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "64");
    });
}

#[test]
fn an_undo_that_is_killed_is_finished_by_the_next() {
    let kernel = Kernel::new(FILES);
    let before = kernel.files();
    with_tuner(&kernel, |journal, tuner| {
        set(&kernel, &tuner, "scheduler", "mq-deadline");
        let session = tuner.session.id.clone();
        tuner.keep().unwrap();
        // As an undo leaves it that is killed between its write and its word that it is done.
        let clock = || 7;
        let killed = Tuner::open(journal, &kernel, Purpose::Command, "boot", clock).unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let (steps, _) = plan(&change_log, &Which::All, &machine(&kernel));
        killed.restore(&steps[0], &steps, false);
        assert_eq!(kernel.files()["/sys/q/nr_requests"], "1023", "reset, and not yet put back");
        drop(killed);
        let next = Tuner::open(journal, &kernel, Purpose::Command, "boot", clock).unwrap();
        let report = undone(&kernel, journal, &next, &Which::All);
        assert!(is_whole(&report), "{session}: {report:?}");
        assert_eq!(kernel.files(), before);
    });
}

#[test]
fn nothing_is_written_without_the_journal() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |journal, tuner| {
        std::fs::remove_dir_all(journal.path().parent().unwrap()).unwrap();
        assert!(matches!(change(&kernel, &tuner, "read_ahead_kb", "128", "256"), Err(TuneError::Journal(_))));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
    });
}

/// What another program writes after the nth write.
type Then = fn(usize) -> Option<&'static str>;

/// A kernel on which another program writes too.
struct Contested {
    kernel: Kernel,
    writes: Cell<usize>,
    /// Whether the other program has written when the file is read, or only a moment later.
    at_once: bool,
    then: Then,
}

impl Contested {
    fn other(&self, file: &str) {
        if let Some(value) = (self.then)(self.writes.get()) {
            self.kernel.write(file, value).unwrap();
        }
    }
}

impl Actuator for Contested {
    fn read(&self, file: &str) -> io::Result<String> {
        self.kernel.read(file)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        self.kernel.write(file, value)?;
        self.writes.set(self.writes.get() + 1);
        if self.at_once {
            self.other(file);
        }
        Ok(())
    }

    fn settle(&self) {
        self.other("/sys/q/read_ahead_kb");
    }
}

#[test]
fn what_another_program_writes_is_told_apart_from_what_the_kernel_makes_of_a_value() {
    let changed = |now: &str| Outcome::Changed { now: now.to_owned() };
    let cases: [(&str, bool, Then, Outcome); 6] = [
        ("4099", true, |_| None, Outcome::Adjusted { now: "4096".into() }),
        ("512", false, |_| Some("128"), changed("128")),
        ("512", true, |_| Some("640"), changed("640")),
        ("4099", false, |_| Some("640"), changed("640")),
        // Quicker than iodyno's look once, not twice.
        ("512", true, |write| (write == 1).then_some("128"), Outcome::Accepted),
        // Always quicker: it looks like a kernel that ignores the value.
        ("512", true, |_| Some("128"), Outcome::Ignored),
    ];
    for (to, at_once, then, outcome) in cases {
        let contested = Contested { kernel: Kernel::new(FILES), writes: Cell::new(0), at_once, then };
        let clock = || 1;
        let journal = Journal::in_memory();
        let tuner = Tuner::open(&journal, &contested, Purpose::Screen, "boot", clock).unwrap();
        let made = change(&contested.kernel, &tuner, "read_ahead_kb", "128", to).unwrap();
        assert_eq!(made, outcome, "{to}");
        assert!(
            !matches!(made, Outcome::Changed { .. } | Outcome::Ignored)
                || !made.to_string().contains("kernel")
        );
        let now = contested.read("/sys/q/read_ahead_kb").unwrap();
        let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let report = tuner.undo(&machine(&contested.kernel), &change_log, &Which::All, false).unwrap();
        if matches!(made, Outcome::Changed { .. }) && now != "128" {
            assert_eq!(
                report[0].1,
                Restored::ModifiedExternally(now),
                "what another program set is left alone"
            );
        }
    }
}

/// Two drives that call themselves the same, each with its own files.
fn twins(kernel: &Memory) -> Machine {
    let files = kernel.files.lock().unwrap();
    let drive = |name: &str, function: &str, sequence| {
        let own = |(file, value): (&String, &String)| {
            let file = file.strip_prefix(&format!("/sys/q/{name}/"))?;
            Some((format!("/sys/q/{file}"), value.clone()))
        };
        let mut drive =
            crate::tune::testing::machine_with_queue(name, &files.iter().filter_map(own).collect())
                .drives
                .remove(0);
        let scheduler = drive.queue.scheduler.value().cloned().unwrap();
        drive.queue.scheduler = Reading::known(format!("/sys/q/{name}/scheduler"), scheduler);
        drive.path = format!("/sys/devices/pci0000:00/{function}/{name}").into();
        drive.serial = Reading::known("/serial", "S".into());
        drive.diskseq = Reading::known("/diskseq", sequence);
        drive
    };
    let drives = vec![drive("nvme0n1", "0000:01:00.0", 1), drive("nvme1n1", "0000:02:00.0", 2)];
    Machine { drives, ..crate::tune::testing::machine_with_queue("none", &BTreeMap::new()) }
}

#[test]
fn of_two_drives_with_one_serial_number_the_changed_one_is_put_back_and_told_of() {
    let file = |name: &str| format!("/sys/q/{name}/scheduler");
    let kernel = Memory::default();
    let put = |name: &str, value: &str| {
        kernel.files.lock().unwrap().insert(file(name), value.to_owned());
    };
    put("nvme0n1", "none");
    put("nvme1n1", "none");
    let journal = Journal::in_memory();
    let clock = || 1;
    let tuner = Tuner::open(&journal, &kernel, Purpose::Screen, "boot", clock).unwrap();
    let second = Device::Drive(crate::model::DriveName::new("nvme1n1"));
    let machine = twins(&kernel);
    let row = find("scheduler").unwrap();
    for change in planned(&machine, &second, row, "mq-deadline").unwrap() {
        assert_eq!(tuner.apply(&machine, &change).unwrap(), Outcome::Accepted);
    }
    put("nvme0n1", "kyber");
    let change_log = || ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let first = Device::Drive(crate::model::DriveName::new("nvme0n1"));
    assert_eq!(plan(&change_log(), &Which::On(&first), &machine).0, [], "the twin was not changed");
    let (steps, left) = plan(&change_log(), &Which::On(&second), &machine);
    assert_eq!((steps[0].file.as_str(), left), (file("nvme1n1").as_str(), Vec::new()));
    // While the changed one is away its twin is not taken for it.
    let alone = Machine { drives: vec![machine.drives[0].clone()], ..machine.clone() };
    let report = tuner.undo(&alone, &change_log(), &Which::All, false).unwrap();
    assert_eq!(report[0].1, Restored::Doubtful(vec!["nvme0n1".to_owned()]));
    assert!(!is_whole(&report), "an experiment is not called restored");
    assert_eq!(kernel.read(&file("nvme0n1")).unwrap(), "kyber");
    let report = tuner.undo(&machine, &change_log(), &Which::All, false).unwrap();
    assert_eq!((report[0].0.device.name.as_str(), &report[0].1), ("nvme1n1", &Restored::Back));
    let now = [kernel.read(&file("nvme0n1")).unwrap(), kernel.read(&file("nvme1n1")).unwrap()];
    assert_eq!(now, ["kyber", "none"]);
}

#[test]
fn a_value_that_moved_since_it_was_looked_at_is_not_overwritten() {
    let kernel = Kernel::new(FILES);
    with_tuner(&kernel, |_, tuner| {
        assert!(matches!(
            change(&kernel, &tuner, "read_ahead_kb", "64", "256"),
            Err(TuneError::ModifiedExternally { .. })
        ));
        assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
    });
}
