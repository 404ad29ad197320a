//! Changes and undos that are killed at any moment, one after another.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;

use super::*;

/// A kernel whose caller is killed after some of its calls.
struct Killing<'a> {
    kernel: &'a Kernel,
    /// Calls until the kill.
    left: Cell<Option<u32>>,
    /// Whether the last call was a write. The two that resize tags count as one.
    has_written: Cell<bool>,
    /// Whether each of those counts.
    counts_each: bool,
}

impl Killing<'_> {
    fn call(&self) {
        match self.left.get() {
            Some(0) => resume_unwind(Box::new("killed")),
            left => self.left.set(left.map(|left| left - 1)),
        }
    }
}

impl Actuator for Killing<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        self.call();
        self.has_written.set(false);
        self.kernel.read(file)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.kernel.names(folder)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if !self.has_written.replace(true) || self.counts_each {
            self.call();
        }
        self.kernel.write(file, value)
    }
}

/// What a user does.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    /// `iodyno tune set` with these values.
    Set(Vec<(&'static str, &'static str)>),
    /// `iodyno tune undo`.
    Undo,
    /// `iodyno tune undo --all`.
    UndoAll,
}

const VALUES: &[(&str, &str)] = &[
    ("scheduler", "none"),
    ("scheduler", "mq-deadline"),
    ("scheduler", "kyber"),
    ("nr_requests", "1"),
    ("nr_requests", "64"),
    ("nr_requests", "100"),
    ("read_ahead_kb", "65"),
    ("read_ahead_kb", "512"),
    ("iostats", "0"),
    ("iostats", "1"),
];

fn deed() -> impl Strategy<Value = Moment> {
    let set = prop::sample::subsequence(VALUES, 1..4).prop_map(Deed::Set);
    let deed = prop_oneof![3 => set, 1 => Just(Deed::Undo), 1 => Just(Deed::UndoAll)];
    (deed, prop::option::weighted(0.6, 0..60u32), prop::bool::weighted(0.3))
}

/// The state of a queue: its files, and the tags that they may hide.
pub(super) fn state(kernel: &Kernel) -> (BTreeMap<String, String>, u32) {
    (kernel.files(), kernel.tags.get())
}

/// Does it, unless a kill comes before its end; the report of an undo.
pub(super) fn done(
    kernel: &Kernel,
    journal: &Journal,
    deed: &Deed,
    kill: Option<u32>,
    number: i64,
) -> Option<Vec<(Step, Restored)>> {
    static TIME: AtomicI64 = AtomicI64::new(0);
    TIME.store(number, Ordering::Relaxed);
    let clock = || TIME.load(Ordering::Relaxed);
    let killing = Killing { kernel, left: Cell::new(kill), has_written: Cell::default(), counts_each: false };
    let change_log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let tuner = Tuner::open(journal, &killing, Purpose::Command, "boot", clock).unwrap();
    let work = || {
        let dead: Vec<&str> = change_log.sessions.keys().map(String::as_str).collect();
        let report = match deed {
            Deed::Set(values) => {
                let mut values = values.clone();
                values.sort_by_key(|(id, _)| crate::tune::settings::rank(id));
                for (id, value) in values {
                    let from = kernel.read(&format!("/sys/q/{id}")).unwrap();
                    if from != value {
                        change(kernel, &tuner, id, &from, value).unwrap();
                    }
                }
                Vec::new()
            }
            Deed::Undo => tuner.undo(&machine(kernel), &change_log, &Which::Sessions(&dead), false).unwrap(),
            Deed::UndoAll => tuner.undo(&machine(kernel), &change_log, &Which::All, false).unwrap(),
        };
        tuner.keep().unwrap();
        report
    };
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// A deed, the call before which it is killed, and whether the journal is shortened before it.
type Moment = (Deed, Option<u32>, bool);

/// Does these to a queue of a driver with 128 tags: the last undo restores everything.
fn restored_after(
    found: &str,
    requests: &str,
    tunables: bool,
    deeds: &[Moment],
) -> Result<(), TestCaseError> {
    let kernel = Kernel { has_tunables: true, ..with_tags("none", 128) };
    kernel.write("/sys/q/scheduler", found).unwrap();
    kernel.write("/sys/q/nr_requests", requests).unwrap();
    if tunables {
        set_tunables(&kernel);
    }
    let first = state(&kernel);
    let mut journal = Journal::in_memory();
    // The state before a change that was killed, where a plain undo has to restore just that.
    let (mut is_left, mut before) = (false, None);
    // An undo of everything was killed: what it left is no state to go back to, and a later undo may restore more.
    let mut is_half = false;
    for (number, (deed, kill, is_shortened)) in deeds.iter().enumerate() {
        if *is_shortened {
            journal = journal.compacted("boot");
        }
        let was = state(&kernel);
        let report = done(&kernel, &journal, deed, *kill, i64::try_from(number).unwrap());
        let is_over = report.is_some();
        match deed {
            Deed::Set(_) if is_over => before = None,
            Deed::Set(_) => {
                before = (!is_left && !is_half).then_some(was);
                is_left = true;
            }
            Deed::Undo => {
                if !is_left {
                    prop_assert_eq!(&state(&kernel), &was, "{}: nothing was left", number);
                } else if let (Some(before), true) = (&before, is_over) {
                    prop_assert_eq!(&state(&kernel), before, "{}: {:?}", number, report);
                }
                is_left &= !is_over;
            }
            Deed::UndoAll if is_over => {
                prop_assert_eq!(&state(&kernel), &first, "{}: {:?}", number, report);
                (is_left, is_half) = (false, false);
            }
            Deed::UndoAll => (before, is_half) = (None, true),
        }
    }
    let report = done(&kernel, &journal, &Deed::UndoAll, None, 100).unwrap();
    prop_assert_eq!(state(&kernel), first, "{:?}", report);
    let left = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    prop_assert_eq!(left, ChangeLog::default());
    let report = done(&kernel, &journal, &Deed::Undo, None, 101).unwrap();
    prop_assert_eq!(report, vec![]);
    Ok(())
}

fn set_to(values: &[(&'static str, &'static str)]) -> Moment {
    (Deed::Set(values.to_vec()), None, false)
}

#[test]
fn tags_behind_the_number_of_a_driver_stay_whenever_a_change_of_them_is_killed() {
    for kill in 0..16 {
        let deeds = [
            set_to(&[("scheduler", "mq-deadline")]),
            set_to(&[("scheduler", "none")]),
            (Deed::Undo, None, false),
            (Deed::Set(vec![("nr_requests", "100"), ("read_ahead_kb", "65")]), Some(kill), false),
            (Deed::Undo, None, false),
        ];
        restored_after("none", "32", false, &deeds).unwrap_or_else(|error| panic!("{kill}: {error}"));
    }
}

#[test]
fn tags_that_a_killed_change_has_resized_are_those_that_were_hidden() {
    for kill in 0..30 {
        let killed = (Deed::Set(vec![("scheduler", "none")]), Some(kill), false);
        let deeds = [set_to(&[("scheduler", "kyber")]), killed, (Deed::Undo, None, false)];
        restored_after("none", "32", false, &deeds).unwrap_or_else(|error| panic!("{kill}: {error}"));
    }
}

#[test]
fn tags_that_an_undo_leaves_hidden_are_restored_by_the_undo_of_everything() {
    for kill in 0..30 {
        let killed = (Deed::Set(vec![("nr_requests", "64"), ("iostats", "1")]), Some(kill), false);
        let deeds = [
            set_to(&[("scheduler", "none"), ("nr_requests", "64")]),
            set_to(&[("scheduler", "kyber"), ("iostats", "0")]),
            killed,
            (Deed::Undo, None, false),
        ];
        restored_after("kyber", "32", false, &deeds).unwrap_or_else(|error| panic!("{kill}: {error}"));
    }
}

#[test]
fn tunables_that_an_undo_restores_after_a_killed_one_are_named() {
    let mut named = 0;
    for kill in 0..60 {
        let kernel = Kernel { has_tunables: true, ..with_tags("none", 128) };
        kernel.write("/sys/q/scheduler", "bfq").unwrap();
        set_tunables(&kernel);
        let first = state(&kernel);
        let journal = Journal::in_memory();
        done(&kernel, &journal, &set_to(&[("scheduler", "none")]).0, None, 1).unwrap();
        done(&kernel, &journal, &Deed::UndoAll, Some(kill), 2);
        let was = kernel.files();
        let report = done(&kernel, &journal, &Deed::UndoAll, None, 3).unwrap();
        assert_eq!(state(&kernel), first, "{kill}");
        if was["/sys/q/scheduler"] == "bfq" {
            let is_back = |(step, what): &&(Step, Restored)| {
                step.setting.starts_with("iosched/") && *what == Restored::Back
            };
            let now = kernel.files();
            let written =
                was.iter().filter(|(file, value)| file.contains("/iosched/") && now[*file] != **value);
            let written = written.count();
            assert_eq!(report.iter().filter(is_back).count(), written, "{kill}: {report:?}");
            named += written;
        }
    }
    assert!(named > 0, "no kill came between the scheduler and its tunables");
}

#[test]
fn tags_of_a_killed_change_behind_an_earlier_killed_one_s_scheduler_are_restored() {
    let deeds = [
        (
            Deed::Set(vec![("scheduler", "none"), ("nr_requests", "1"), ("read_ahead_kb", "512")]),
            Some(20),
            false,
        ),
        set_to(&[("iostats", "0")]),
        set_to(&[("nr_requests", "64")]),
        (
            Deed::Set(vec![("nr_requests", "1"), ("nr_requests", "64"), ("nr_requests", "100")]),
            Some(10),
            false,
        ),
        (Deed::Undo, None, false),
    ];
    restored_after("mq-deadline", "32", false, &deeds).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn requests_of_a_scheduler_are_no_tags_when_their_change_is_killed() {
    for kill in 0..20 {
        let deeds = [
            set_to(&[("scheduler", "none"), ("nr_requests", "100")]),
            set_to(&[("scheduler", "mq-deadline")]),
            (Deed::Set(vec![("nr_requests", "64")]), Some(kill), false),
            (Deed::Undo, None, false),
        ];
        restored_after("kyber", "32", false, &deeds).unwrap_or_else(|error| panic!("{kill}: {error}"));
    }
}

#[test]
fn tags_that_an_undo_restored_behind_a_scheduler_are_found_by_the_next_change() {
    for (first, second) in (0..14).flat_map(|first| (0..14).map(move |second| (first, second))) {
        let deeds = [
            (Deed::Set(vec![("nr_requests", "64"), ("read_ahead_kb", "512")]), Some(first), false),
            set_to(&[("scheduler", "mq-deadline")]),
            (Deed::Undo, None, false),
            (Deed::Set(vec![("scheduler", "none")]), Some(second), false),
            (Deed::Undo, None, false),
        ];
        restored_after("none", "32", false, &deeds)
            .unwrap_or_else(|error| panic!("{first}, {second}: {error}"));
    }
}

/// Deeds in a row; `PROPTEST_CASES` asks for more.
pub(super) fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(1024))
}

#[test]
fn tags_that_a_killed_change_resizes_are_restored() {
    // Both changes are killed: of the tags, and of the scheduler that is `none` already.
    for (first, second) in (0..24).flat_map(|first| (0..16).map(move |second| (first, second))) {
        let kernel = with_tags("none", 128);
        kernel.write("/sys/q/scheduler", "kyber").unwrap();
        let before = state(&kernel);
        let journal = Journal::in_memory();
        let both = Deed::Set(vec![("scheduler", "none"), ("nr_requests", "64")]);
        done(&kernel, &journal, &both, Some(first), 1);
        let left = Cell::new(Some(second));
        let killing = Killing { kernel: &kernel, left, has_written: Cell::default(), counts_each: true };
        let tuner = Tuner::open(&journal, &killing, Purpose::Command, "boot", || 2).unwrap();
        let from = kernel.read("/sys/q/scheduler").unwrap();
        let _ = catch_unwind(AssertUnwindSafe(|| change(&kernel, &tuner, "scheduler", &from, "none")));
        drop(tuner);
        let report = done(&kernel, &journal, &Deed::UndoAll, None, 3).unwrap();
        assert_eq!(state(&kernel), before, "{first}, {second}: {report:?}");
    }
}

#[test]
fn requests_behind_an_undo_killed_on_the_way_of_tags_are_restored() {
    for (first, second) in (0..24).flat_map(|first| (0..60).map(move |second| (first, second))) {
        let killed = vec![("scheduler", "none"), ("nr_requests", "1"), ("iostats", "0")];
        let deeds = [
            (Deed::Set(killed), Some(first), false),
            set_to(&[("nr_requests", "100"), ("iostats", "0")]),
            (Deed::UndoAll, Some(second), false),
            (Deed::Undo, None, false),
        ];
        restored_after("mq-deadline", "32", false, &deeds)
            .unwrap_or_else(|error| panic!("{first}, {second}: {error}"));
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_setting_is_restored_whatever_was_killed(
        found in prop::sample::select(&["none", "mq-deadline", "kyber"][..]),
        requests in prop::sample::select(&["32", "100", "128"][..]),
        tunables in any::<bool>(),
        deeds in prop::collection::vec(deed(), 1..8),
    ) {
        restored_after(found, requests, tunables, &deeds)?;
    }
}
