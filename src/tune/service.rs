//! [`SettingsService`]: the one way to plan, apply and undo settings, and to recover changes of dead sessions.
//!
//! An experiment takes a guard, sets the values of an arm, runs its test, restores, sets the next arm, and ends:
//!
//! ```no_run
//! # use iodyno::{model::DriveName, runtime::startup, source::origin::Origin};
//! # use iodyno::tune::{Device, Wanted, settings, tuner};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let origin = Origin::Live;
//! let service = startup::settings(&origin, &origin.open()?).ok_or("settings of this machine cannot be changed")?;
//! let guard = service.guard()?;
//! let drive = Device::Drive(DriveName::new("nvme0n1"));
//! let row = settings::find("scheduler").ok_or("no such setting")?;
//! for (change, outcome) in guard.set(&[Wanted::new(drive, row, "mq-deadline")])? {
//!     println!("{} {}: {outcome}", change.device, change.setting.0);
//! }
//! // ... the arm's test ...
//! assert!(tuner::is_whole(&guard.restore()?), "every file reads again what it read before");
//! let report = guard.end()?;
//! # let _ = report;
//! # Ok(())
//! # }
//! ```
//!
//! Changes of a guard do not stay: dropping it restores them; if the process is killed, the next start restores them from
//! the journal without asking.

mod known;
mod others;

use std::{sync::Arc, thread, time::Duration};

use super::{
    Actuator, Change, Device, Identity, Outcome, Restored, Tuner, Wanted,
    change_log::ChangeLog,
    device::DRIVER,
    journal::{Contents, Event, Gain, Journal, JournalError, Purpose, Record},
    settings::{rank, resets},
    tuner::{TuneError, planned},
    undo::{Step, Which},
};
use crate::{
    machine::{Drive, Machine},
    model::{Problem, SettingId},
};

/// Files to restore, each with its result.
pub type Report = Vec<(Step, Restored)>;

/// Reads the machine whose settings are changed.
pub type ReadMachine = Box<dyn Fn() -> (Machine, Vec<Problem>) + Send + Sync>;

/// Changes settings of one machine, in sessions of one journal.
pub struct SettingsService {
    /// Reads and writes settings.
    pub actuator: Arc<dyn Actuator + Send + Sync>,
    /// The journal.
    pub journal: Journal,
    /// The id of this boot; without it nothing is changed.
    pub boot: Option<String>,
    /// Whether settings can be written: by root, and on a demo.
    pub may_write: bool,
    /// Reads the machine as it is now.
    pub machine: ReadMachine,
    /// Unix milliseconds.
    pub clock: fn() -> i64,
}

impl SettingsService {
    /// The machine now, and what could not be read.
    pub fn read(&self) -> (Machine, Vec<Problem>) {
        (self.machine)()
    }

    fn boot(&self) -> Result<&str, JournalError> {
        self.boot.as_deref().ok_or(JournalError::NoBoot)
    }

    /// Begins a session.
    pub fn open(&self, purpose: Purpose) -> Result<Tuner<'static>, JournalError> {
        Tuner::open(&self.journal, Arc::clone(&self.actuator), purpose, self.boot()?, self.clock)
    }

    /// Begins a session that only undoes: it goes on where there is no room for its records.
    pub fn open_to_undo(&self, purpose: Purpose) -> Result<Tuner<'static>, JournalError> {
        Tuner::open_to_undo(&self.journal, Arc::clone(&self.actuator), purpose, self.boot()?, self.clock)
    }

    /// The journal's first damaged lines, a sentence each, the number of the others, and a last line without its end.
    pub fn damage(&self) -> Result<Vec<String>, JournalError> {
        let path = self.journal.path();
        let Contents { damaged, more_damaged, torn, .. } = self.journal.contents()?;
        let torn = torn.map(|line| {
            format!("line {line} was not finished before a kill and is skipped; the next change removes it")
        });
        let of_file = |what: String| format!("{}: {what}", path.display());
        let more = match more_damaged {
            0 => None,
            1 => Some("one more line is damaged and skipped; check the file".to_owned()),
            more => Some(format!("{more} more lines are damaged and skipped; check the file")),
        };
        Ok(damaged.iter().map(ToString::to_string).chain(more).chain(torn).map(of_file).collect())
    }

    /// Restores changes that need no confirmation, where settings may be written.
    pub fn recover(&self) -> Result<Report, TuneError> {
        let change_log = if self.boot.is_some() { self.change_log()? } else { ChangeLog::default() };
        let (unasked, _) = self.dead_of(&change_log);
        if unasked.is_empty() || !self.may_write {
            return Ok(Report::new());
        }
        let tuner = self.open_to_undo(Purpose::Experiment)?;
        let sessions: Vec<&str> = unasked.iter().map(String::as_str).collect();
        let report = self.undo(&tuner, &Which::Sessions(&sessions), false)?;
        self.leave(&sessions, &report)?;
        // Nothing of an undo is left to keep, so its end needs no record.
        let _ = tuner.close();
        for (step, _) in
            report.iter().filter(|(step, what)| step.setting == DRIVER.0 && *what == Restored::Back)
        {
            // The next read of the machine should find the drive.
            let _late = self.wait_for(&step.device);
        }
        Ok(report)
    }

    /// The changes that set these values, checked, the scheduler first since it resets others: one per file, also for files
    /// that have the value.
    pub fn plan(&self, wanted: &[Wanted]) -> Result<Vec<Change>, TuneError> {
        let (machine, _) = self.read();
        let mut changes = Vec::new();
        for Wanted { device, setting, value } in wanted {
            changes.extend(planned(&machine, device, setting, value)?);
        }
        for change in &mut changes {
            // The machine may be older than the file.
            change.from = self.read_file(&change.file)?;
        }
        changes.sort_by_key(|change| rank(change.setting.0));
        Ok(changes)
    }

    fn read_file(&self, file: &str) -> Result<String, TuneError> {
        self.actuator.read(file).map_err(|error| TuneError::Unreadable { file: file.to_owned(), error })
    }

    /// Makes changes lazily, one per item, the scheduler first; an error means that a file was not written. A file that an
    /// earlier change has reset is read again. Files that have the value are skipped.
    pub fn apply(
        &self,
        tuner: &Tuner<'_>,
        mut changes: Vec<Change>,
    ) -> impl Iterator<Item = (Change, Result<Outcome, TuneError>)> {
        changes.sort_by_key(|change| rank(change.setting.0));
        let (machine, _) = self.read();
        let mut written: Vec<Change> = Vec::new();
        changes.into_iter().filter_map(move |mut change| {
            let is_new = change.from != change.to;
            let reset = written.iter().any(|other| {
                let resets = other.device == change.device && resets(other.setting.0, change.setting.0);
                resets || other.file == change.file
            });
            if reset && let Ok(now) = self.actuator.read(&change.file) {
                change.from = now;
            }
            if change.from == change.to {
                return is_new.then_some((change, Ok(Outcome::Accepted)));
            }
            let outcome = tuner.apply(&machine, &change);
            if matches!(outcome, Ok(Outcome::Accepted | Outcome::Adjusted { .. } | Outcome::Changed { .. })) {
                written.push(change.clone());
            }
            Some((change, outcome))
        })
    }

    /// Undoes in a session, except changes of other living sessions. Values that another program changed are left alone
    /// unless `force`.
    pub fn undo(&self, tuner: &Tuner<'_>, which: &Which<'_>, force: bool) -> Result<Report, TuneError> {
        let (machine, _) = self.read();
        // What another session keeps meanwhile is not undone.
        let _turn = tuner.turn_to_undo()?;
        let (change_log, is_lost) = self.known_with(tuner)?;
        if is_lost {
            // The records of an undo alone would read as changes. An undo goes on without its records, and says so.
            let _ = tuner.records().iter().try_for_each(|record| self.journal.append(record));
        }
        let held = self.pass_on(tuner, &change_log, which);
        let change_log = change_log.without_living(&self.journal, Some(tuner.session()));
        let change_log = if force { change_log.with_left() } else { change_log };
        let mut report = tuner.undo_in_turn(&machine, &change_log, which, force);
        report.extend(held);
        Ok(report)
    }

    /// Those of these changes whose file has the value, set by a session other than `own` that has not kept it; with whether
    /// such a session still runs.
    pub fn unkept<'a>(
        &self,
        changes: &'a [Change],
        own: &str,
    ) -> Result<Vec<(&'a Change, bool)>, JournalError> {
        let change_log = self.change_log()?;
        let unkept = |change: &'a Change| {
            let entry = change_log.entries.iter().find(|entry| entry.file == change.file)?;
            let others: Vec<&str> = entry.sessions().filter(|session| *session != own).collect();
            let is_running = others.iter().any(|session| !self.journal.is_dead(session));
            (!others.is_empty()).then_some((change, is_running))
        };
        Ok(changes.iter().filter(|change| change.from == change.to).filter_map(unkept).collect())
    }

    /// Keeps the changes of these dead sessions.
    pub fn keep_dead(&self, sessions: &[String]) -> Result<(), JournalError> {
        sessions.iter().try_for_each(|session| self.keep(session, Vec::new()))
    }

    fn keep(&self, session: &str, files: Vec<String>) -> Result<(), JournalError> {
        let (time, boot, session) = ((self.clock)(), self.boot()?.to_owned(), session.to_owned());
        self.journal.append(&Record { time, boot, session, event: Event::Keep { files } })
    }

    /// Ends the sessions for the files that an undo left to another program: the next start does not try them again.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn leave(&self, sessions: &[&str], report: &Report) -> Result<(), JournalError> {
        let is_left = |what: &Restored| matches!(what, Restored::ModifiedExternally(_));
        let left = report.iter().filter(|(_, what)| is_left(what)).map(|(step, _)| step.recorded.clone());
        let left: Vec<String> = left.collect();
        if left.is_empty() {
            return Ok(());
        }
        sessions.iter().try_for_each(|session| match self.keep(session, left.clone()) {
            // The next start tries again.
            Err(error) if error.is_full() => Ok(()),
            kept => kept,
        })
    }

    /// Begins to change settings for an experiment.
    ///
    /// # Errors
    /// Without root, or where the journal cannot be written.
    pub fn guard(self: &Arc<Self>) -> Result<SettingsGuard, TuneError> {
        if !self.may_write {
            return Err(TuneError::NeedsRoot);
        }
        Ok(SettingsGuard { service: Arc::clone(self), tuner: Some(self.open(Purpose::Experiment)?) })
    }

    /// The drive, once it is bound, under whatever name; `None` after 15 s.
    pub fn wait_for(&self, identity: &Identity) -> Option<Drive> {
        (0..75).find_map(|_| {
            thread::sleep(Duration::from_millis(200));
            let (machine, _) = self.read();
            identity.find(&machine).filter(|drive| drive.queue.io_poll.get().is_some()).cloned()
        })
    }
}

/// The settings of an experiment: changed for an arm, restored between arms and at the end, and after a kill by the next
/// start.
pub struct SettingsGuard {
    service: Arc<SettingsService>,
    /// Until the guard has ended.
    tuner: Option<Tuner<'static>>,
}

impl SettingsGuard {
    /// Sets every value; returns each written file with its outcome.
    ///
    /// # Errors
    /// An invalid value: nothing is written then. A journal that cannot be written, or a file that another program changed
    /// meanwhile: earlier writes stay until [`Self::restore`].
    pub fn set(&self, wanted: &[Wanted]) -> Result<Vec<(Change, Outcome)>, TuneError> {
        let Some(tuner) = &self.tuner else { return Ok(Vec::new()) };
        let changes = self.service.plan(wanted)?;
        self.service.apply(tuner, changes).map(|(change, outcome)| Ok((change, outcome?))).collect()
    }

    /// Restores and verifies everything this guard changed. The guard stays open.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub fn restore(&self) -> Result<Report, TuneError> {
        let Some(tuner) = &self.tuner else { return Ok(Report::new()) };
        self.service.undo(tuner, &Which::Sessions(&[tuner.session()]), false)
    }

    /// Records a setting's measured gain in the journal, for `tune export udev`: the value it was compared with, the
    /// measured value, the result in words.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn note(
        &self,
        device: &Device,
        setting: SettingId,
        [old, new, words]: [String; 3],
    ) -> Result<(), TuneError> {
        let Some(tuner) = &self.tuner else { return Ok(()) };
        let device = Identity::of(&self.service.read().0, device);
        Ok(tuner.note(Gain { device, setting: setting.0.to_owned(), old, new, words })?)
    }

    /// Restores everything and ends the session. The next start retries files that could not be restored; those that
    /// another program changed meanwhile are its own from now on.
    ///
    /// # Errors
    /// As for [`Self::restore`].
    pub fn end(mut self) -> Result<Report, TuneError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Report, TuneError> {
        let report = self.restore();
        if let Some(tuner) = self.tuner.take() {
            if let Ok(report) = &report {
                self.service.leave(&[tuner.session()], report)?;
            }
            tuner.close()?;
        }
        report
    }
}

impl Drop for SettingsGuard {
    fn drop(&mut self) {
        // The next start restores the rest.
        let _ = self.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        model::DriveName,
        runtime::startup,
        source::origin::Origin,
        tune::{fake_kernel::FakeKernel, settings::find, testing::machine_with_queue, tuner::is_whole},
    };

    fn service() -> Arc<SettingsService> {
        let origin = Origin::Demo("threadripper-before".to_owned());
        startup::settings(&origin, &origin.open().unwrap()).unwrap()
    }

    fn wanted(drive: &str, id: &str, value: &str) -> Wanted {
        Wanted::new(Device::Drive(DriveName::new(drive)), find(id).unwrap(), value)
    }

    #[test]
    fn a_guard_sets_arms_and_leaves_everything_as_it_was() {
        let service = service();
        let before = service.read().0;
        let guard = service.guard().unwrap();
        let arm = [
            wanted("nvme0n1", "nr_requests", "64"),
            wanted("nvme0n1", "scheduler", "mq-deadline"),
            wanted("nvme1n1", "read_ahead_kb", "4099"),
            wanted("nvme1n1", "scheduler", "none"),
        ];
        let made = guard.set(&arm).unwrap();
        let outcomes: Vec<_> = made.iter().map(|(change, outcome)| (change.setting.0, outcome)).collect();
        assert_eq!(
            outcomes,
            [
                ("scheduler", &Outcome::Accepted),
                ("read_ahead_kb", &Outcome::Adjusted { now: "4096".into() }),
                ("nr_requests", &Outcome::Accepted),
            ],
            "the scheduler first, what is so already not at all"
        );
        assert!(is_whole(&guard.restore().unwrap()));
        let words = ["none", "mq-deadline", "0.5 times the IOPS"].map(str::to_owned);
        guard.note(&arm[1].device, arm[1].setting.id, words).unwrap();
        assert_eq!(service.read().0, before, "between two arms");
        guard.set(&arm[..2]).unwrap();
        let report = guard.end().unwrap();
        assert!(is_whole(&report) && report.len() == 2, "{report:?}");
        assert_eq!(service.read().0, before);
        assert_eq!(service.dead().unwrap(), (vec![], vec![]));
        let change_log = service.change_log().unwrap();
        let device = Identity::of(&before, &arm[1].device);
        assert!(
            change_log
                .gain(&device, "scheduler", "mq-deadline")
                .is_some_and(|gain| gain.words.starts_with("0.5"))
        );
        assert_eq!(change_log.gain(&device, "scheduler", "none"), None);
    }

    #[test]
    fn a_value_that_another_program_set_is_its_own_once_the_experiment_has_ended() {
        let service = service();
        let guard = service.guard().unwrap();
        let made = guard
            .set(&[wanted("nvme0n1", "nomerges", "2"), wanted("nvme0n1", "scheduler", "mq-deadline")])
            .unwrap();
        let file = |id: &str| made.iter().find(|(change, _)| change.setting.0 == id).unwrap().0.file.clone();
        service.actuator.write(&file("nomerges"), "1").unwrap();
        let report = guard.end().unwrap();
        let left = report.iter().filter(|(_, what)| matches!(what, Restored::ModifiedExternally(_)));
        assert_eq!(left.map(|(step, _)| step.setting.as_str()).collect::<Vec<_>>(), ["nomerges"]);
        assert_eq!(service.actuator.read(&file("nomerges")).unwrap(), "1");
        assert_eq!(service.actuator.read(&file("scheduler")).unwrap(), "none");
        assert!(service.change_log().unwrap().sessions.is_empty(), "no session is left to be undone");
        let tuner = service.open(Purpose::Command).unwrap();
        let again = service.undo(&tuner, &Which::All, false).unwrap();
        assert!(matches!(again[0].1, Restored::ModifiedExternally(_)), "{again:?}");
    }

    #[test]
    fn a_journal_that_is_removed_takes_no_setting_along() {
        let files = [("/sys/q/read_ahead_kb", "128"), ("/sys/q/nomerges", "0")];
        let files: BTreeMap<_, _> = files.map(|(file, value)| (file.to_owned(), value.to_owned())).into();
        let kernel = Arc::new(FakeKernel::new(files.clone()));
        for whole in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let state = folder.path().join("state");
            let found = files.clone();
            let service = SettingsService {
                actuator: Arc::clone(&kernel) as Arc<dyn Actuator + Send + Sync>,
                journal: Journal::new(&state),
                boot: Some("b".to_owned()),
                may_write: true,
                machine: Box::new(move || (machine_with_queue("loop7", &found), Vec::new())),
                clock: || 1,
            };
            let tuner = service.open(Purpose::Screen).unwrap();
            let changes = [wanted("loop7", "read_ahead_kb", "64"), wanted("loop7", "nomerges", "2")];
            for (at, wanted) in changes.into_iter().enumerate() {
                let made: Vec<_> = service.apply(&tuner, service.plan(&[wanted]).unwrap()).collect();
                assert!(matches!(made[0].1, Ok(Outcome::Accepted)), "{made:?}");
                if at == 0 && !whole {
                    // The next change begins another one.
                    std::fs::remove_file(service.journal.path()).unwrap();
                }
            }
            if whole {
                std::fs::remove_dir_all(&state).unwrap();
            }
            assert_eq!(service.change_log_with(&tuner).unwrap().entries.len(), 2);
            let own = [tuner.session()];
            assert!(is_whole(&service.undo(&tuner, &Which::Sessions(&own), false).unwrap()));
            let now = files.keys().map(|file| kernel.read(file).unwrap());
            assert!(now.eq(files.values().cloned()), "{whole}");
            assert_eq!(tuner.unrecorded().is_some(), whole);
            assert_eq!(service.change_log().unwrap().entries, [], "an undo is no change: {whole}");
        }
    }

    #[test]
    fn a_value_that_is_kept_while_an_undo_begins_stays() {
        let file = "/sys/q/nomerges";
        let files = BTreeMap::from([(file.to_owned(), "0".to_owned())]);
        let kernel = Arc::new(FakeKernel::new(files.clone()));
        let folder = tempfile::tempdir().unwrap();
        let machine = machine_with_queue("loop7", &files);
        let device = Device::Drive(DriveName::new("loop7"));
        let change = Change {
            identity: Identity::of(&machine, &device),
            device,
            setting: find("nomerges").unwrap().id,
            file: file.to_owned(),
            from: "2".to_owned(),
            to: "2".to_owned(),
        };
        let (journal, other) = (Journal::new(folder.path()), Arc::clone(&kernel));
        let service = SettingsService {
            actuator: Arc::clone(&kernel) as Arc<dyn Actuator + Send + Sync>,
            journal: journal.clone(),
            boot: Some("b".to_owned()),
            may_write: true,
            machine: Box::new(move || {
                // As a `tune set` of another process.
                if other.read(file).unwrap() == "2" {
                    let command = Tuner::open(&journal, &*other, Purpose::Command, "b", || 1).unwrap();
                    command.apply(&machine, &change).unwrap();
                    command.keep().unwrap();
                }
                (machine.clone(), Vec::new())
            }),
            clock: || 1,
        };
        let tuner = service.open(Purpose::Experiment).unwrap();
        let planned = service.plan(&[wanted("loop7", "nomerges", "2")]).unwrap();
        assert_eq!(service.apply(&tuner, planned).count(), 1);
        assert_eq!(service.undo(&tuner, &Which::Sessions(&[tuner.session()]), false).unwrap(), []);
        assert_eq!(kernel.read(file).unwrap(), "2");
    }

    #[test]
    fn a_wrong_value_writes_nothing_and_a_dropped_guard_restores() {
        let service = service();
        let before = service.read().0;
        let guard = service.guard().unwrap();
        let arm = [wanted("nvme0n1", "scheduler", "mq-deadline"), wanted("nvme0n1", "nomerges", "7")];
        assert!(matches!(guard.set(&arm), Err(TuneError::BadValue { .. })));
        assert_eq!(service.read().0, before);
        guard.set(&arm[..1]).unwrap();
        assert_ne!(service.read().0, before);
        drop(guard);
        assert_eq!(service.read().0, before);
    }
}
