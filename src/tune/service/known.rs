//! Which changes stand: by the journal, by the records of a session, and by the files.

use std::collections::{BTreeMap, HashMap};

use super::SettingsService;
use crate::{
    machine::Machine,
    tune::{
        Restored, Tuner,
        change_log::{ChangeLog, Entry},
        foresight::{Prospect, Undoer, prospects},
        journal::{Event, JournalError, Record},
        tuner::foreseen,
        undo::{Step, Which, file_of},
    },
};

impl SettingsService {
    /// The changed files, from the journal's undamaged lines.
    pub fn change_log(&self) -> Result<ChangeLog, JournalError> {
        let contents = self.journal.contents()?;
        let (unread, lost_change) = (contents.unread(), contents.lost_change);
        Ok(ChangeLog { unread, lost_change, ..ChangeLog::of(&contents.records, self.boot()?) })
    }

    /// The same with the changes of this session, also where the journal was removed, replaced or made unreadable since.
    pub fn change_log_with(&self, tuner: &Tuner<'_>) -> Result<ChangeLog, JournalError> {
        self.known_with(tuner).map(|(change_log, _)| change_log)
    }

    /// The same, and whether the journal can be read but has lost the session.
    pub(super) fn known_with(&self, tuner: &Tuner<'_>) -> Result<(ChangeLog, bool), JournalError> {
        let own = tuner.records();
        let read = self.journal.contents();
        let is_read = read.is_ok();
        let contents = if own.len() > 1 { read.unwrap_or_default() } else { read? };
        let (unread, lost_change) = (contents.unread(), contents.lost_change);
        let mut records = contents.records;
        let begins = |record: &Record| matches!(record.event, Event::Open { .. });
        let is_lost = !records.iter().any(|record| record.session == tuner.session() && begins(record));
        if is_lost {
            records.retain(|record| record.session != tuner.session());
            records.extend(own.iter().cloned());
        } else if tuner.unrecorded().is_some() {
            add_missing(&mut records, &own);
        }
        Ok((ChangeLog { unread, lost_change, ..ChangeLog::of(&records, self.boot()?) }, is_read && is_lost))
    }

    /// Changes that killed experiments and screens left, a line each, with the command that undoes them; for commands that
    /// restore nothing.
    pub fn leftovers(&self) -> Result<Vec<String>, JournalError> {
        let change_log = if self.boot.is_some() { self.change_log()? } else { ChangeLog::default() };
        let (experiments, screens) = self.dead_of(&change_log);
        if experiments.is_empty() && screens.is_empty() {
            return Ok(Vec::new());
        }
        let (machine, _) = self.read();
        let dead: Vec<&str> = experiments.iter().chain(&screens).map(String::as_str).collect();
        let ranks: HashMap<&str, usize> = dead.iter().enumerate().map(|(rank, id)| (*id, rank)).collect();
        let living = change_log.living(&self.journal);
        let is_living = |session: &str| living.contains(session);
        let undoer = Undoer { sessions: &dead, own: None, is_living: &is_living };
        let prospects = prospects(&self.actuator, &change_log, &machine, undoer);
        let words =
            |Step { device, setting, target, .. }: Step| format!("{} {setting} (was {target})", device.name);
        let mut left: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for prospect in prospects.into_iter().filter(Prospect::is_undone) {
            let by = prospect.step.sessions.iter().max_by_key(|id| ranks.get(id.as_str()));
            let how = match by {
                Some(_) if prospect.is_unrestored => ("an undo could not restore settings", "tries again"),
                Some(id) => (change_log.end_of(id), "undoes them"),
                None => continue,
            };
            left.entry(how).or_default().push(words(prospect.step));
        }
        let line = |((how, fix), left): ((&str, &str), Vec<String>)| {
            format!("{how}: {}; `iodyno tune undo` {fix}", left.join(", "))
        };
        Ok(left.into_iter().map(line).collect())
    }

    fn now(&self, entry: &Entry, machine: &Machine) -> Option<String> {
        self.actuator.read(&file_of(entry, machine).ok()?).ok()
    }

    /// The entries whose file has not its first value again, each with the value that an undo of all would leave to another
    /// program. Without what an undo by force has restored: an undo that the journal could not record, or another program.
    #[must_use]
    pub fn standing(&self, change_log: &ChangeLog, machine: &Machine) -> Vec<(Entry, Option<String>)> {
        let foreseen = foreseen(&self.actuator, change_log, &Which::All, machine, None, false).report;
        let left = foreseen.iter().filter_map(|(step, what)| match what {
            Restored::ModifiedExternally(now) => Some((step.recorded.as_str(), now)),
            _ => None,
        });
        let left: HashMap<&str, &String> = left.collect();
        let anothers = |entry: &Entry| {
            left.get(entry.file.as_str()).filter(|now| !entry.may_have(now)).copied().cloned()
        };
        let standing = |entry: &Entry| {
            let now = self.now(entry, machine);
            let mut entry = Some(entry.clone()).filter(|entry| now.as_ref() != Some(&entry.found))?;
            if entry.left.first().is_some_and(|left| now.as_ref() == Some(&left.found)) {
                entry.left.clear();
            }
            let anothers = anothers(&entry);
            Some((entry, anothers))
        };
        change_log.entries.iter().filter_map(standing).collect()
    }

    /// Dead sessions with changes: those restored without asking, and those offered for undo. None where the boot is
    /// unknown.
    pub fn dead(&self) -> Result<(Vec<String>, Vec<String>), JournalError> {
        if self.boot.is_none() {
            return Ok((Vec::new(), Vec::new()));
        }
        Ok(self.dead_of(&self.change_log()?))
    }

    pub(super) fn dead_of(&self, change_log: &ChangeLog) -> (Vec<String>, Vec<String>) {
        let unasked = change_log.unasked();
        let dead = change_log.sessions.keys().filter(|id| self.journal.is_dead(id)).cloned();
        dead.partition(|id| unasked.contains(id.as_str()))
    }
}

/// Adds the records of a session that the journal could not take, each behind the one before it: other sessions may have
/// changed the file since.
fn add_missing(records: &mut Vec<Record>, own: &[Record]) {
    let mut at = 0;
    for record in own {
        at = records.iter().position(|known| known == record).unwrap_or_else(|| {
            records.insert(at, record.clone());
            at
        }) + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_the_journal_could_not_take_has_its_place_behind_the_one_before() {
        let record = |session: &str, time| Record {
            time,
            boot: "b".to_owned(),
            session: session.to_owned(),
            event: Event::Close,
        };
        let own = [record("1", 1), record("1", 2), record("1", 3), record("1", 5)];
        let mut records = vec![record("0", 0), own[0].clone(), record("2", 4), own[3].clone()];
        add_missing(&mut records, &own);
        assert_eq!(records.iter().map(|record| record.time).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    }
}
