//! [`Tuner`]: makes changes through an actuator with the journal before them, and takes them back.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    actuator::Actuator,
    change::{Change, Device, Identity, Outcome},
    journal::{Affected, Event, Gain, Journal, JournalError, Ledger, Purpose, Session},
    settings::{SETTINGS, Setting, Value, validate},
    undo::{Step, Which, plan},
};
use crate::{
    machine::Machine,
    model::{Reading, errno_words},
};

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The journal cannot hold it, so nothing was written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// This device has no such setting, or it cannot be read.
    #[error("{device}: has no {setting} ({why}); iodyno tune list {device} shows what it has")]
    NotThere {
        /// On what.
        device: String,
        /// What was asked for.
        setting: String,
        /// Why.
        why: String,
    },
    /// The value cannot be asked for.
    #[error("{device}: {setting} {why}; {value} was not written")]
    BadValue {
        /// On what.
        device: String,
        /// Which setting.
        setting: String,
        /// The value.
        value: String,
        /// What would do.
        why: String,
    },
    /// Somebody else changed the file since it was looked at.
    #[error(
        "{file}: reads {now} where {expected} was expected; somebody else changed it, look again before writing"
    )]
    Meddled {
        /// The file.
        file: String,
        /// What it reads.
        now: String,
        /// What it should read.
        expected: String,
    },
    /// The file cannot be read.
    #[error("{file}: {error}; is the device still there?")]
    Unreadable {
        /// The file.
        file: String,
        /// How.
        #[source]
        error: io::Error,
    },
    /// Settings are root's to write.
    #[error("settings: need root to be changed; run it with sudo")]
    NeedsRoot,
}

/// A value asked for on a device.
#[derive(Clone)]
pub struct Wanted {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: &'static Setting,
    /// The value.
    pub value: String,
}

impl Wanted {
    /// `setting` of `device` as `value`.
    pub fn new(device: Device, setting: &'static Setting, value: impl Into<String>) -> Self {
        Self { device, setting, value: value.into() }
    }
}

/// What became of one file in an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It has its value again.
    Back,
    /// It already had it.
    AlreadyThere,
    /// Somebody else changed it; it reads this and was left alone.
    Meddled(String),
    /// It could not be read, written or did not keep the value; in words.
    Failed(String),
    /// Its drive is gone.
    Gone,
}

/// Whether every file of an undo has its value again.
pub fn is_whole(report: &[(Step, Restored)]) -> bool {
    report.iter().all(|(_, what)| matches!(what, Restored::Back | Restored::AlreadyThere))
}

/// Makes and unmakes changes in one session.
pub struct Tuner<'a> {
    actuator: &'a dyn Actuator,
    journal: Journal,
    session: Session,
    boot: String,
    clock: &'a dyn Fn() -> i64,
    /// What files read after a change of this session to something else had reset them.
    reset: RefCell<BTreeMap<String, String>>,
}

impl<'a> Tuner<'a> {
    /// Opens a session. `clock` gives Unix milliseconds.
    pub fn open(
        journal: &Journal,
        actuator: &'a dyn Actuator,
        purpose: Purpose,
        boot: &str,
        clock: &'a dyn Fn() -> i64,
    ) -> Result<Self, JournalError> {
        let session = journal.open(purpose, boot, clock())?;
        let reset = RefCell::default();
        Ok(Self { actuator, journal: journal.clone(), session, boot: boot.to_owned(), clock, reset })
    }

    /// Makes one change. What the kernel made of it is the answer; an error means that nothing was written.
    pub fn apply(&self, machine: &Machine, change: &Change) -> Result<Outcome, TuneError> {
        let unreadable = |error| TuneError::Unreadable { file: change.file.clone(), error };
        let now = self.actuator.read(&change.file).map_err(unreadable)?;
        // A change of this session may have reset the file, as a new scheduler does: that is no stranger's doing.
        if now != change.from && self.reset.borrow().get(&change.file) != Some(&now) {
            return Err(TuneError::Meddled { file: change.file.clone(), now, expected: change.from.clone() });
        }
        let affected = self.affected(machine, change);
        self.record(Event::Change {
            device: change.identity.clone(),
            setting: change.setting.0.to_owned(),
            file: change.file.clone(),
            old: now.clone(),
            new: change.to.clone(),
            affected: affected.clone(),
        })?;
        let outcome = self.write(&change.file, &now, &change.to);
        let affected: Vec<_> = affected
            .into_iter()
            .filter_map(|a| Some(Affected { value: self.actuator.read(&a.file).ok()?, ..a }))
            .collect();
        self.reset.borrow_mut().extend(affected.iter().map(|a| (a.file.clone(), a.value.clone())));
        self.record(Event::Result { file: change.file.clone(), outcome: outcome.clone(), affected })?;
        Ok(outcome)
    }

    /// Puts back what `which` says: the scheduler first, since it resets others, then the rest, then all are looked at
    /// once more. Values that somebody else changed are left alone unless `force`.
    pub fn undo(
        &self,
        machine: &Machine,
        ledger: &Ledger,
        which: &Which<'_>,
        force: bool,
    ) -> Result<Vec<(Step, Restored)>, TuneError> {
        let (steps, gone) = plan(ledger, which, machine);
        let mut report: Vec<(Step, Restored)> = Vec::new();
        let rewritten: BTreeSet<String> = steps
            .iter()
            .filter(|step| step.setting == SETTINGS[0].id.0)
            .map(|step| step.device.name.clone())
            .collect();
        for step in steps {
            // A scheduler put back a moment ago has reset what depends on it: that is no stranger's doing.
            let reset = rewritten.contains(&step.device.name)
                && SETTINGS[0].also.iter().any(|id| id.0 == step.setting);
            let restored = self.restore(&step, force || reset);
            report.push((step, restored));
        }
        for (step, restored) in &mut report {
            if matches!(restored, Restored::Back | Restored::AlreadyThere) {
                match self.actuator.read(&step.file) {
                    Ok(now) if now == step.target => {
                        let (file, sessions) = (step.recorded.clone(), step.sessions.clone());
                        self.record(Event::Undone { file, value: now, sessions })?;
                    }
                    Ok(now) => *restored = Restored::Failed(format!("reads {now} again")),
                    Err(error) => *restored = Restored::Failed(error.to_string()),
                }
            }
        }
        report.extend(gone.into_iter().map(|entry| {
            let (file, target) = (entry.file.clone(), entry.found.clone());
            (
                Step {
                    recorded: entry.file,
                    file,
                    device: entry.device,
                    setting: entry.setting,
                    target,
                    expected: entry.last,
                    sessions: Vec::new(),
                },
                Restored::Gone,
            )
        }));
        Ok(report)
    }

    /// Notes what a change was measured to be worth.
    pub fn note(&self, gain: Gain) -> Result<(), JournalError> {
        self.record(Event::Measured(gain))
    }

    /// The session's id in the journal.
    pub fn session(&self) -> &str {
        &self.session.id
    }

    /// Ends the session with its changes standing.
    pub fn keep(self) -> Result<(), TuneError> {
        self.record(Event::Keep)?;
        self.close()
    }

    /// Ends the session. Changes that were neither kept nor undone are offered for undo at the next start.
    pub fn close(self) -> Result<(), TuneError> {
        self.record(Event::Close)?;
        self.session.release();
        Ok(())
    }

    fn restore(&self, step: &Step, force: bool) -> Restored {
        let now = match self.actuator.read(&step.file) {
            Ok(now) => now,
            Err(error) => return Restored::Failed(error.to_string()),
        };
        if now == step.target {
            return Restored::AlreadyThere;
        }
        if !force && !step.expected.contains(&now) {
            return Restored::Meddled(now);
        }
        match self.write(&step.file, &now, &step.target) {
            Outcome::Accepted => Restored::Back,
            other => Restored::Failed(other.to_string()),
        }
    }

    fn write(&self, file: &str, from: &str, to: &str) -> Outcome {
        if let Err(error) = self.actuator.write(file, to) {
            let words = error.raw_os_error().map_or_else(|| error.to_string(), errno_words);
            return Outcome::Refused { error: words };
        }
        match self.actuator.read(file) {
            Ok(now) => Outcome::read_back(from, to, &now),
            Err(error) => Outcome::Refused { error: format!("written, then unreadable: {error}") },
        }
    }

    fn affected(&self, machine: &Machine, change: &Change) -> Vec<Affected> {
        let row = SETTINGS.iter().find(|row| row.id == change.setting);
        let also = row.map_or(&[][..], |row| row.also);
        let rows = SETTINGS.iter().filter(|row| also.contains(&row.id));
        rows.flat_map(|row| {
            let readings = (row.read)(machine, &change.device);
            readings.into_iter().filter_map(move |reading| {
                let file = reading.path().to_string();
                let value = self.actuator.read(&file).ok()?;
                Some(Affected { setting: row.id.0.to_owned(), file, value })
            })
        })
        .collect()
    }

    fn record(&self, event: Event) -> Result<(), JournalError> {
        self.journal.append(&self.session.record(event, &self.boot, (self.clock)()))
    }
}

/// The changes that setting `id` to `value` on `device` takes: one for each file, none where it has the value already.
/// What is there now is asked of the actuator, not of the machine, which may be seconds old.
pub fn changes(
    machine: &Machine,
    actuator: &dyn Actuator,
    device: &Device,
    setting: &Setting,
    value: &str,
) -> Result<Vec<Change>, TuneError> {
    let mut changes = planned(machine, device, setting, value)?;
    for change in &mut changes {
        let file = &change.file;
        change.from =
            actuator.read(file).map_err(|error| TuneError::Unreadable { file: file.clone(), error })?;
    }
    changes.retain(|change| change.from != change.to);
    Ok(changes)
}

/// The same from the machine as it was read, a change for every file, also where nothing would change.
pub fn planned(
    machine: &Machine,
    device: &Device,
    setting: &Setting,
    value: &str,
) -> Result<Vec<Change>, TuneError> {
    let readings = (setting.read)(machine, device);
    let not_there = |why: String| TuneError::NotThere {
        device: device.to_string(),
        setting: setting.id.0.to_owned(),
        why,
    };
    if readings.is_empty() {
        return Err(not_there("no such setting here".to_owned()));
    }
    let mut changes = Vec::new();
    for reading in readings {
        let Some(shown) = reading.value() else {
            return Err(not_there(why(&reading)));
        };
        validate(setting, shown, value).map_err(|why| TuneError::BadValue {
            device: device.to_string(),
            setting: setting.id.0.to_owned(),
            value: crate::text::Label::new(value).to_string(),
            why,
        })?;
        changes.push(Change {
            device: device.clone(),
            identity: Identity::of(machine, device),
            setting: setting.id,
            file: reading.path().to_string(),
            from: shown.text.to_string(),
            to: value.to_owned(),
        });
    }
    Ok(changes)
}

fn why(reading: &Reading<Value>) -> String {
    reading.problem().map_or_else(String::new, |problem| format!("{}: {}", problem.path, problem.reason))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, collections::BTreeMap, sync::Mutex};

    use super::*;
    use crate::tune::actuator::Memory;

    /// A kernel that answers as the real one does: a new scheduler resets `nr_requests`, `read_ahead_kb` is rounded to
    /// pages, `rq_affinity` of 7 is taken and ignored, unknown schedulers are EINVAL.
    #[derive(Default)]
    struct Kernel(Memory);

    impl Kernel {
        fn new(files: &[(&str, &str)]) -> Self {
            let files = files.iter().map(|(file, value)| ((*file).to_owned(), (*value).to_owned())).collect();
            Self(Memory { files: Mutex::new(files) })
        }

        fn files(&self) -> BTreeMap<String, String> {
            self.0.files.lock().unwrap().clone()
        }
    }

    impl Actuator for Kernel {
        fn read(&self, file: &str) -> io::Result<String> {
            self.0.read(file)
        }

        fn write(&self, file: &str, value: &str) -> io::Result<()> {
            let folder = file.rsplit_once('/').unwrap().0;
            match (file.rsplit('/').next().unwrap(), value) {
                ("scheduler", "bogus") => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
                ("scheduler", _) => self.0.write(&format!("{folder}/nr_requests"), "256")?,
                ("rq_affinity", "7") => return Ok(()),
                ("read_ahead_kb", _) => {
                    let rounded = value.parse::<u64>().unwrap() / 4 * 4;
                    return self.0.write(file, &rounded.to_string());
                }
                _ => {}
            }
            self.0.write(file, value)
        }
    }

    fn machine(kernel: &Kernel) -> Machine {
        crate::tune::testing::machine_with_queue("loop7", &kernel.files())
    }

    const FILES: &[(&str, &str)] = &[
        ("/sys/q/scheduler", "none"),
        ("/sys/q/nr_requests", "1023"),
        ("/sys/q/read_ahead_kb", "128"),
        ("/sys/q/rq_affinity", "1"),
    ];

    fn with_tuner(kernel: &Kernel, test: impl FnOnce(&Journal, Tuner<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        let time = Cell::new(0);
        let clock = || {
            time.set(time.get() + 1);
            time.get()
        };
        let tuner = Tuner::open(&journal, kernel, Purpose::Screen, "boot", &clock).unwrap();
        test(&journal, tuner);
    }

    fn change(
        kernel: &Kernel,
        tuner: &Tuner<'_>,
        id: &str,
        from: &str,
        to: &str,
    ) -> Result<Outcome, TuneError> {
        let device = Device::Drive(crate::model::DriveName::new("loop7"));
        let machine = machine(kernel);
        let change = Change {
            identity: Identity::of(&machine, &device),
            device,
            setting: crate::tune::settings::find(id).unwrap().id,
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
            assert_eq!(
                set(&kernel, &tuner, "read_ahead_kb", "4099"),
                Outcome::Adjusted { now: "4096".into() }
            );
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
            let ledger = Ledger::of(&journal.read().unwrap(), "boot");
            let report = tuner.undo(&machine(&kernel), &ledger, &Which::All, false).unwrap();
            assert_eq!(report[0].0.setting, "scheduler");
            assert_eq!(report.len(), 3);
            assert!(report.iter().all(|(_, restored)| *restored == Restored::Back), "{report:?}");
            assert_eq!(kernel.files(), before);
            assert_eq!(Ledger::of(&journal.read().unwrap(), "boot"), Ledger::default());
        });
    }

    #[test]
    fn a_change_planned_before_another_reset_its_file_is_made_all_the_same() {
        let kernel = Kernel::new(FILES);
        let before = kernel.files();
        with_tuner(&kernel, |journal, tuner| {
            let device = Device::Drive(crate::model::DriveName::new("loop7"));
            let found = machine(&kernel);
            let planned = |id, value| {
                let row = crate::tune::settings::find(id).unwrap();
                changes(&found, &kernel, &device, row, value).unwrap().remove(0)
            };
            for change in [planned("scheduler", "mq-deadline"), planned("nr_requests", "64")] {
                assert_eq!(tuner.apply(&found, &change).unwrap(), Outcome::Accepted);
            }
            assert_eq!(kernel.files()["/sys/q/nr_requests"], "64");
            let ledger = Ledger::of(&journal.read().unwrap(), "boot");
            tuner.undo(&found, &ledger, &Which::All, false).unwrap();
            assert_eq!(kernel.files(), before);
        });
    }

    #[test]
    fn a_stranger_s_value_is_left_alone_unless_forced() {
        let kernel = Kernel::new(FILES);
        with_tuner(&kernel, |journal, tuner| {
            set(&kernel, &tuner, "read_ahead_kb", "512");
            kernel.write("/sys/q/read_ahead_kb", "64").unwrap();
            let ledger = Ledger::of(&journal.read().unwrap(), "boot");
            let report = tuner.undo(&machine(&kernel), &ledger, &Which::All, false).unwrap();
            assert_eq!(report[0].1, Restored::Meddled("64".into()));
            assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "64");
            let report = tuner.undo(&machine(&kernel), &ledger, &Which::All, true).unwrap();
            assert_eq!(report[0].1, Restored::Back);
            assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
        });
    }

    #[test]
    fn nothing_is_written_without_the_journal() {
        let kernel = Kernel::new(FILES);
        with_tuner(&kernel, |journal, tuner| {
            std::fs::remove_dir_all(journal.path().parent().unwrap()).unwrap();
            assert!(matches!(
                change(&kernel, &tuner, "read_ahead_kb", "128", "256"),
                Err(TuneError::Journal(_))
            ));
            assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
        });
    }

    #[test]
    fn a_value_that_moved_since_it_was_looked_at_is_not_overwritten() {
        let kernel = Kernel::new(FILES);
        with_tuner(&kernel, |_, tuner| {
            assert!(matches!(
                change(&kernel, &tuner, "read_ahead_kb", "64", "256"),
                Err(TuneError::Meddled { .. })
            ));
            assert_eq!(kernel.files()["/sys/q/read_ahead_kb"], "128");
        });
    }
}
