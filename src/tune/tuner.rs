//! [`Tuner`]: makes and undoes changes through an actuator, each in the journal before it is made.

mod planning;
mod tunables;
mod undoing;

use std::{
    cell::{Ref, RefCell},
    collections::{BTreeMap, BTreeSet},
    fs::File,
};

use super::{
    actuator::Actuator,
    change::{Change, Outcome},
    change_log::{ChangeLog, is_reset},
    device::{Device, Identity},
    journal::{Affected, Event, Gain, Journal, JournalError, Purpose, Record, Session},
    resets::{becoming, clamped},
    settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER, SETTINGS, Setting, Value, find, validate},
    tags,
    undo::{Step, Which},
};
pub use super::{tune_error::TuneError, undo::Restored};
use crate::{
    machine::Machine,
    model::{Reading, error_words},
};
pub use planning::{Foreseen, foreseen, plan_undo};

/// A value for a setting of a device.
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
    /// A value for `setting` of `device`.
    pub fn new(device: Device, setting: &'static Setting, value: impl Into<String>) -> Self {
        Self { device, setting, value: value.into() }
    }
}

/// A setting that the kernel changed along with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Along {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: String,
    /// The value before.
    pub from: String,
    /// The value now.
    pub to: String,
}

/// Whether an undo restored every file.
pub fn is_whole(report: &[(Step, Restored)]) -> bool {
    report.iter().all(|(_, what)| what.is_whole())
}

/// Makes and unmakes changes in one session.
pub struct Tuner<'a> {
    actuator: Box<dyn Actuator + 'a>,
    journal: Journal,
    session: Session,
    boot: String,
    clock: fn() -> i64,
    /// Why the journal could not record an undo.
    unrecorded: RefCell<Option<JournalError>>,
    /// What changed along with the changes of this session, in order.
    along: RefCell<Vec<Along>>,
    /// The records of this session, its beginning first.
    records: RefCell<Vec<Record>>,
    /// Values of files that a change of this session to another file had reset.
    reset: RefCell<BTreeMap<String, String>>,
    /// What other programs set, by file, while a step of an undo that resets it was recorded.
    met: RefCell<BTreeMap<String, String>>,
}

impl<'a> Tuner<'a> {
    /// Opens a session. `clock` gives Unix milliseconds.
    pub fn open(
        journal: &Journal,
        actuator: impl Actuator + 'a,
        purpose: Purpose,
        boot: &str,
        clock: fn() -> i64,
    ) -> Result<Self, JournalError> {
        let session = journal.open(purpose, boot, clock())?;
        Ok(Self::of(session, purpose, None, journal, actuator, boot, clock))
    }

    /// Opens a session that only undoes. It goes on where there is no room for its records: what an undo restores is in the
    /// journal already.
    pub fn open_to_undo(
        journal: &Journal,
        actuator: impl Actuator + 'a,
        purpose: Purpose,
        boot: &str,
        clock: fn() -> i64,
    ) -> Result<Self, JournalError> {
        let (session, error) = match journal.open(purpose, boot, clock()) {
            Err(error) if error.is_full() => (journal.unrecorded(clock()), Some(error)),
            opened => (opened?, None),
        };
        Ok(Self::of(session, purpose, error, journal, actuator, boot, clock))
    }

    fn of(
        session: Session,
        purpose: Purpose,
        unrecorded: Option<JournalError>,
        journal: &Journal,
        actuator: impl Actuator + 'a,
        boot: &str,
        clock: fn() -> i64,
    ) -> Self {
        let open = session.record(Event::Open { purpose, pid: std::process::id() }, boot, clock());
        Self {
            actuator: Box::new(actuator),
            journal: journal.clone(),
            session,
            boot: boot.to_owned(),
            clock,
            unrecorded: RefCell::new(unrecorded),
            along: RefCell::default(),
            records: RefCell::new(vec![open]),
            reset: RefCell::default(),
            met: RefCell::default(),
        }
    }

    /// Makes one change; a value that the file has is only recorded. An error other than [`TuneError::Unrecorded`] means that nothing was written.
    pub fn apply(&self, machine: &Machine, change: &Change) -> Result<Outcome, TuneError> {
        let _turn = self.journal.turn()?;
        let unreadable = |error| TuneError::Unreadable { file: change.file.clone(), error };
        let now = self.actuator.read(&change.file).map_err(unreadable)?;
        // A change of this session may have reset the file, as a new scheduler does; another program may have set the value.
        let is_known = now == change.from || now == change.to;
        if !is_known && self.reset.borrow().get(&change.file) != Some(&now) {
            return Err(TuneError::ModifiedExternally {
                file: change.file.clone(),
                now,
                expected: change.from.clone(),
            });
        }
        let affected = self.affected(machine, change)?;
        let host = (change.setting == NR_REQUESTS).then(|| tags::scheduler(&self.actuator, &change.file));
        let host = host.flatten();
        let is_written = now != change.to;
        if is_written {
            let found = super::tunables::read(&self.actuator, &change.file);
            if let Some((file, error)) = found.unread {
                return Err(TuneError::Unreadable { file, error });
            }
            self.record_tunables(&change.identity, &change.file, found.values, false)?;
        }
        self.record(Event::Change {
            device: change.identity.clone(),
            setting: change.setting.0.to_owned(),
            file: change.file.clone(),
            old: now.clone(),
            new: clamped(&self.actuator, change.setting.0, &change.file, &change.to),
            affected: affected.clone(),
            tags: host.as_deref() == Some(NO_SCHEDULER),
            host,
            undo: false,
            follows: false,
        })?;
        if let Some(error) = self.changed_meanwhile((&change.file, &now), &affected).filter(|_| is_written) {
            let (file, outcome) = (change.file.clone(), Outcome::Ignored);
            self.record(Event::Result { file, outcome, affected: Vec::new() })?;
            return Err(error);
        }
        let outcome = if is_written {
            self.write(change.setting.0, &change.file, &now, &change.to)
        } else {
            Outcome::Accepted
        };
        if change.setting == SCHEDULER && change.to == NO_SCHEDULER {
            self.resize_tags(&change.identity, &affected);
        }
        let now = |old: &Affected| {
            let read = self.actuator.read(&old.file).ok()?;
            // Another program has written since: its value is none of this change.
            let is_kernels = read == old.value || is_reset(&old.becomes, &read);
            let kernels = old.becomes.first().filter(|_| !is_kernels);
            let value = kernels.cloned().unwrap_or(read);
            let (device, setting, from) = (change.device.clone(), old.setting.clone(), old.value.clone());
            let along = (from != value).then(|| Along { device, setting, from, to: value.clone() });
            self.along.borrow_mut().extend(along);
            Some(Affected { value, becomes: Vec::new(), ..old.clone() })
        };
        let affected: Vec<_> = affected.iter().filter_map(now).collect();
        self.reset.borrow_mut().extend(affected.iter().map(|a| (a.file.clone(), a.value.clone())));
        let mut recorded = Ok(());
        if is_written {
            self.give_tunables_back(change);
            let found = super::tunables::read(&self.actuator, &change.file);
            recorded = self.record_tunables(&change.identity, &change.file, found.values, true);
        }
        let result = Event::Result { file: change.file.clone(), outcome: outcome.clone(), affected };
        match recorded.and_then(|()| self.record(result)) {
            Ok(()) => Ok(outcome),
            Err(JournalError::File { error, .. }) => {
                let (file, to) = (change.file.clone(), change.to.clone());
                Err(TuneError::Unrecorded { file, to, outcome, error })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Restores `which`: files that reset others first, then the rest, then reads all back. Values that another program
    /// changed are left alone unless `force`. Where the journal takes no record, the undo goes on and
    /// [`Self::unrecorded`] has the reason: the change is in the journal, and the next undo finds the file as it should be.
    pub fn undo(
        &self,
        machine: &Machine,
        change_log: &ChangeLog,
        which: &Which<'_>,
        force: bool,
    ) -> Result<Vec<(Step, Restored)>, TuneError> {
        let _turn = self.turn_to_undo()?;
        Ok(self.undo_in_turn(machine, change_log, which, force))
    }

    /// The turn of an undo, which goes on without one where the state folder gives none. Whether it is recorded shows later.
    pub(super) fn turn_to_undo(&self) -> Result<Option<File>, TuneError> {
        match self.journal.turn() {
            Err(error) if !error.is_timeout() => Ok(None),
            turn => Ok(turn?),
        }
    }

    /// Records the measured gain of a change.
    pub fn note(&self, gain: Gain) -> Result<(), JournalError> {
        self.record(Event::Measured(gain))
    }

    /// The session's id in the journal.
    pub fn session(&self) -> &str {
        &self.session.id
    }

    /// Why an undo of this session is not in the journal.
    pub fn unrecorded(&self) -> Option<String> {
        self.unrecorded.borrow().as_ref().map(ToString::to_string)
    }

    /// Ends the session and keeps its changes.
    pub fn keep(self) -> Result<(), TuneError> {
        match self.record(Event::Keep { files: Vec::new() }) {
            // Nothing of this session is left to keep.
            Err(error) if error.is_full() && self.unrecorded.borrow().is_some() => return Ok(()),
            Err(JournalError::File { path, error }) => {
                return Err(TuneError::NotKept { path: path.display().to_string(), error });
            }
            recorded => recorded?,
        }
        // Whether its end is recorded makes no difference to what it keeps.
        let _ = self.record(Event::Close);
        self.session.release();
        Ok(())
    }

    /// Ends the session. Changes that were neither kept nor undone are offered for undo at the next start.
    pub fn close(self) -> Result<(), TuneError> {
        self.record(Event::Close)?;
        self.session.release();
        Ok(())
    }

    /// The files that this session has written since it last undid them.
    pub(super) fn unrestored(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        for record in self.records.borrow().iter() {
            match &record.event {
                Event::Result {
                    file,
                    outcome: Outcome::Accepted | Outcome::Adjusted { .. } | Outcome::Unread { .. },
                    ..
                } => {
                    files.insert(file.clone());
                }
                Event::Undone { file, .. } => drop(files.remove(file)),
                _ => {}
            }
        }
        files
    }

    /// Records this session's change of a file as undone, though the file has the value of a later session.
    pub(super) fn pass_on(&self, file: &str, value: &str) {
        let sessions = vec![self.session.id.clone()];
        self.record_undo(Event::Undone { file: file.to_owned(), value: value.to_owned(), sessions });
    }

    /// Writes, reads back, waits and reads again, since another program may revert the file. An ignored value is written
    /// again: a kernel ignores it each time, a program seldom does.
    fn write(&self, setting: &str, file: &str, from: &str, to: &str) -> Outcome {
        const TRIES: u32 = 5;
        let row = find(setting);
        let mut outcome = Outcome::Ignored;
        for _ in 0..TRIES {
            outcome = match self.written(file, from, to) {
                Outcome::Adjusted { now }
                    if row.is_some_and(|row| !(row.adjusts)(to, &now))
                        && now != clamped(&self.actuator, setting, file, to) =>
                {
                    Outcome::Changed { now }
                }
                outcome => outcome,
            };
            // A driver is written once. A third value may be another program's and stays.
            if outcome != Outcome::Ignored || row.is_none() {
                break;
            }
        }
        let read_back = match &outcome {
            Outcome::Accepted => to,
            Outcome::Adjusted { now } => now,
            Outcome::Changed { .. } | Outcome::Ignored | Outcome::Unread { .. } | Outcome::Refused { .. } => {
                return outcome;
            }
        };
        self.actuator.settle();
        match self.actuator.read(file) {
            Ok(now) if now != read_back => Outcome::Changed { now },
            _ => outcome,
        }
    }

    fn written(&self, file: &str, from: &str, to: &str) -> Outcome {
        if let Err(error) = self.actuator.write(file, to) {
            return Outcome::Refused { error: error_words(&error) };
        }
        match self.actuator.read(file) {
            Ok(now) => Outcome::read_back(from, to, &now),
            Err(error) => Outcome::Unread { error: error_words(&error) },
        }
    }

    /// Resizes tags that iodyno has changed or found to the driver's number, which a queue shows without its scheduler. Else a
    /// later change would take that number for them.
    fn resize_tags(&self, device: &Identity, affected: &[Affected]) {
        let requests = affected.iter().find(|other| other.setting == NR_REQUESTS.0);
        let shown = requests.and_then(|requests| self.actuator.read(&requests.file).ok());
        let (Some(requests), Some(shown), Ok(contents)) = (requests, shown, self.journal.contents()) else {
            return;
        };
        let change_log = ChangeLog::of(&contents.records, &self.boot);
        let mut entries = change_log.entries.iter().chain(&change_log.companions);
        let entry = entries.find(|entry| entry.file == requests.file && entry.has_other_tags(&shown));
        let numbers = entry.and_then(|_| tags::resizing(&self.actuator, &requests.file, None));
        let Some(numbers) = numbers else { return };
        // A kill leaves either number, which only this record names.
        let change = Event::Change {
            device: device.clone(),
            setting: requests.setting.clone(),
            file: requests.file.clone(),
            old: numbers[0].clone(),
            new: shown.clone(),
            affected: Vec::new(),
            tags: true,
            host: None,
            undo: true,
            follows: false,
        };
        if self.record(change).is_ok() {
            // Tags that stay are those that were set before.
            let _ = tags::resize(&self.actuator, &requests.file, &numbers);
        }
    }

    /// Why a change is not made: another program has set the file, or what the change would reset, since that was recorded.
    fn changed_meanwhile(&self, file: (&str, &str), affected: &[Affected]) -> Option<TuneError> {
        let affected = affected.iter().map(|other| (other.file.as_str(), other.value.as_str()));
        [file].into_iter().chain(affected).find_map(|(file, expected)| {
            let now = self.actuator.read(file).ok().filter(|now| now != expected)?;
            Some(TuneError::ModifiedExternally { file: file.to_owned(), now, expected: expected.to_owned() })
        })
    }

    fn affected(&self, machine: &Machine, change: &Change) -> Result<Vec<Affected>, TuneError> {
        let row = SETTINGS.iter().find(|row| row.id == change.setting);
        let also = row.map_or(&[][..], |row| row.also);
        let rows = SETTINGS.iter().filter(|row| also.contains(&row.id));
        rows.flat_map(|row| {
            let readings = (row.read)(machine, &change.device);
            readings.into_iter().filter_map(move |reading| {
                let file = reading.path().to_string();
                match self.actuator.read(&file) {
                    Ok(value) => {
                        let becomes = becoming(&self.actuator, change.setting.0, &change.to, &file);
                        Some(Ok(Affected { setting: row.id.0.to_owned(), file, value, becomes }))
                    }
                    // A value that is not known could not be restored.
                    Err(error) if super::tunables::hides_value(&error) => {
                        Some(Err(TuneError::Unreadable { file, error }))
                    }
                    Err(_) => None,
                }
            })
        })
        .collect()
    }

    /// Records a step of an undo, which goes on where it cannot be recorded.
    fn record_undo(&self, event: Event) {
        self.record_undos(vec![event]);
    }

    /// The same of several, with one sync.
    fn record_undos(&self, events: Vec<Event>) {
        if let Err(error) = self.record_all(events) {
            self.unrecorded.borrow_mut().get_or_insert(error);
        }
    }

    /// What changed along with the changes so far; the next call has what comes after them.
    pub fn along(&self) -> Vec<Along> {
        self.along.take()
    }

    /// The records of this session, should the journal have lost them.
    pub(super) fn records(&self) -> Ref<'_, Vec<Record>> {
        self.records.borrow()
    }

    fn record(&self, event: Event) -> Result<(), JournalError> {
        self.record_all(vec![event])
    }

    fn record_all(&self, events: Vec<Event>) -> Result<(), JournalError> {
        let record = |event| self.session.record(event, &self.boot, (self.clock)());
        let records: Vec<Record> = events.into_iter().map(record).collect();
        let written = self.journal.append_all(&records);
        self.records.borrow_mut().extend(records);
        written
    }
}

/// The changes that set a value on `device`: one per file, also for files that have the value.
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
        return Err(not_there("no such setting".to_owned()));
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
mod tests;
