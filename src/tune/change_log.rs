//! [`ChangeLog`]: the files that are changed now, from the journal's records.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    change::Outcome,
    device::{DRIVER, Identity},
    journal::{Event, Gain, Journal, Purpose, Record},
    settings::{Scope, find},
};

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The device.
    pub device: Identity,
    /// The setting.
    pub setting: String,
    /// The file, as it was named then.
    pub file: String,
    /// The value before iodyno's first change since boot.
    pub found: String,
    /// The values it has unless another program changed it: the last one read back, or, after a kill, the old one and the
    /// new one.
    pub last: Vec<String>,
    /// The last value that it did not get along with another: found, or asked for.
    pub own: String,
    /// Whether it was changed itself, not only along with another.
    pub asked: bool,
    /// Whether it was changed while it was the number of the queue's tags, which a scheduler hides.
    pub tags: bool,
    /// Files that the kernel may change along with it.
    pub with: Vec<String>,
    /// The session that changed it last.
    pub by: String,
    /// The sessions that changed it and have not kept it, each with the value it found, in the journal's order: a clock may
    /// be set back between two sessions. One that changed it before and after another has two places.
    pub open: Vec<(String, String)>,
    /// The sessions whose undo left its value to another program, each with the value it found; an undo by force restores it.
    pub left: Vec<(String, String)>,
    /// Whether a session that changed it has left its undo to a later one, which restores the value before both.
    pub is_passed_on: bool,
}

/// The changed files of this boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeLog {
    /// By file, in the order of their first change.
    pub entries: Vec<Entry>,
    /// Unchanged files that the undo of an entry may change.
    pub companions: Vec<Entry>,
    /// Sessions with open changes, and their purpose.
    pub sessions: BTreeMap<String, Purpose>,
    /// Those of them that recorded their end: they were not killed.
    pub ended: BTreeSet<String>,
    /// Measured gains of this boot and before, oldest first.
    pub gains: Vec<Gain>,
    /// Damaged lines of the journal, which may have had changes.
    pub unread: usize,
    /// Whether one of them has a part of a change.
    pub lost_change: bool,
}

impl ChangeLog {
    /// The changes in all records of this boot; earlier ones did not survive the reboot.
    pub fn of(records: &[Record], boot: &str) -> Self {
        let mut change_log = Self::default();
        for record in records.iter().filter(|record| record.boot == boot) {
            change_log.take(record);
        }
        let gain = |record: &Record| match &record.event {
            Event::Measured(gain) => Some(gain.clone()),
            _ => None,
        };
        change_log.gains = records.iter().filter_map(gain).collect();
        let entries = std::mem::take(&mut change_log.entries);
        let (changed, same): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| !entry.is_closed());
        let is_companion = |entry: &Entry| changed.iter().any(|other| other.with.contains(&entry.file));
        change_log.companions = same.into_iter().filter(is_companion).collect();
        change_log.entries = changed;
        let sessions = std::mem::take(&mut change_log.sessions);
        let open = |session: &String| change_log.entries.iter().any(|entry| entry.is_open_in(session));
        change_log.sessions = sessions.into_iter().filter(|(session, _)| open(session)).collect();
        let sessions = &change_log.sessions;
        change_log.ended.retain(|session| sessions.contains_key(session));
        change_log
    }

    /// The next record of this boot. Entries with their first values and sessions without changes stay until all are taken.
    pub(super) fn take(&mut self, record: &Record) {
        match &record.event {
            Event::Open { purpose, .. } => {
                self.sessions.insert(record.session.clone(), *purpose);
            }
            Event::Change { device, setting, file, old, new, affected, tags } => {
                for a in affected {
                    let entry = self.touch(device, &a.setting, &a.file, &a.value, &record.session);
                    // Another program has set it since; the tags that iodyno has changed are still to be restored.
                    if !entry.last.contains(&a.value) {
                        entry.begin_with(&a.value);
                        entry.open.push((record.session.clone(), a.value.clone()));
                    }
                }
                let entry = self.touch(device, setting, file, old, &record.session);
                entry.asked = true;
                entry.tags |= tags;
                entry.last = vec![old.clone(), new.clone()];
                entry.with.extend(affected.iter().map(|a| a.file.clone()));
            }
            Event::Result { file, outcome, affected } => {
                if let Some(Entry { last, own, .. }) = self.entry(file) {
                    match outcome {
                        // A value that another program set is not undone.
                        Outcome::Accepted | Outcome::Changed { .. } => {
                            last.drain(..last.len().saturating_sub(1));
                        }
                        Outcome::Adjusted { now } => *last = vec![now.clone()],
                        Outcome::Ignored | Outcome::Refused { .. } => last.truncate(1),
                    }
                    if let (false, [now]) = (outcome.is_without_effect(), &last[..]) {
                        own.clone_from(now);
                    }
                }
                if outcome.is_without_effect() {
                    self.not_made(file, &record.session);
                }
                for a in affected {
                    if let Some(entry) = self.entry(&a.file) {
                        entry.last = vec![a.value.clone()];
                    }
                }
            }
            Event::Undone { file, value, sessions } => self.undone(file, value, sessions, &record.session),
            Event::Keep { files } => {
                let is_kept = |entry: &&mut Entry| files.is_empty() || files.contains(&entry.file);
                for entry in self.entries.iter_mut().filter(is_kept) {
                    let its = entry.open.iter().rposition(|(session, _)| *session == record.session);
                    let Some(at) = its else { continue };
                    // What was done to it before is over; a session that changed it since has a later place.
                    let over = entry.open.drain(..=at);
                    if files.is_empty() {
                        drop(over);
                        entry.left.clear();
                    } else {
                        entry.left.extend(over);
                    }
                }
            }
            Event::Close => drop(self.ended.insert(record.session.clone())),
            Event::Measured(_) => {}
        }
    }

    /// Whether these files have their first values.
    pub(super) fn is_closed(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.entries.iter().filter(|entry| is_meant(&entry.file)).all(Entry::is_closed)
    }

    /// Changes of living sessions that are not kept.
    pub fn held<'a>(&'a self, journal: &'a Journal) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(|entry| entry.sessions().any(|session| !journal.is_dead(session)))
    }

    /// Without the changes of living sessions other than `own`. A file that `own` changed last is its own, even if another
    /// session changed it before.
    #[must_use]
    pub fn without_living(mut self, journal: &Journal, own: Option<&str>) -> Self {
        self.entries.retain(|entry| !entry.is_held(own, |session| !journal.is_dead(session)));
        self
    }

    /// With what undos of earlier sessions left to other programs, for an undo by force.
    #[must_use]
    pub fn with_left(mut self) -> Self {
        for entry in &mut self.entries {
            let left = std::mem::take(&mut entry.left);
            for (session, _) in &left {
                self.sessions.entry(session.clone()).or_insert(Purpose::Experiment);
            }
            entry.open.splice(0..0, left);
        }
        self
    }

    /// Whether a dead session was killed; that of a command may have ended with an error.
    pub fn was_killed(&self, session: &str) -> bool {
        !self.ended.contains(session) && self.sessions.get(session) != Some(&Purpose::Command)
    }

    /// How a dead session left its changes, in words.
    pub fn end_of(&self, session: &str) -> &'static str {
        match (self.sessions.get(session), self.was_killed(session)) {
            (Some(Purpose::Command), _) => "`iodyno tune set` ended before its changes were kept",
            (Some(Purpose::Experiment), true) => "an experiment was killed and left settings changed",
            (Some(Purpose::Experiment), false) => "an experiment ended and left settings changed",
            (_, true) => "iodyno was killed and left settings changed",
            (_, false) => "iodyno ended and left settings changed",
        }
    }

    /// Whether the session's changes are restored without asking after its death: those of an experiment, and of a session
    /// that left a controller unbound.
    pub fn is_unasked(&self, session: &str) -> bool {
        let away = |entry: &Entry| entry.setting == DRIVER.0 && entry.is_open_in(session);
        self.sessions.get(session) == Some(&Purpose::Experiment) || self.entries.iter().any(away)
    }

    /// The value before iodyno's first change of that file since boot, if it is changed.
    pub fn found(&self, file: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.file == file).map(|entry| entry.found.as_str())
    }

    /// The last measured gain of a setting's value on a device.
    pub fn gain(&self, device: &Identity, setting: &str, value: &str) -> Option<&Gain> {
        let same = |gain: &&Gain| {
            // The serial number decides: names change.
            let is_it = match (&gain.device.serial, &device.serial) {
                (Some(one), Some(other)) => one == other,
                _ => gain.device.name == device.name,
            };
            is_it && gain.setting == setting && gain.new == value
        };
        self.gains.iter().rfind(same)
    }

    fn touch(
        &mut self,
        device: &Identity,
        setting: &str,
        file: &str,
        old: &str,
        session: &str,
    ) -> &mut Entry {
        let place = self.entries.iter().position(|entry| entry.file == file).unwrap_or_else(|| {
            self.entries.push(Entry {
                device: device.clone(),
                setting: setting.to_owned(),
                file: file.to_owned(),
                found: old.to_owned(),
                last: vec![old.to_owned()],
                own: old.to_owned(),
                asked: false,
                tags: false,
                with: Vec::new(),
                by: String::new(),
                open: Vec::new(),
                left: Vec::new(),
                is_passed_on: false,
            });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[place];
        // A removed drive's queue is gone with its values, even if another drive has its name now.
        let is_queue = find(setting).is_some_and(|row| row.scope == Scope::Queue);
        if entry.is_closed() || is_queue && entry.device.has_left(device) {
            // The current value was set by another program: this change found it.
            entry.begin_with(old);
            entry.asked = false;
            entry.tags = false;
            entry.with.clear();
        }
        device.clone_into(&mut entry.device);
        session.clone_into(&mut entry.by);
        if entry.open.last().is_none_or(|(last, _)| last != session) {
            entry.open.push((session.to_owned(), old.to_owned()));
        }
        entry
    }

    fn entry(&mut self, file: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.file == file)
    }

    /// A change of the session had no effect: without another one, it has not changed the file.
    fn not_made(&mut self, file: &str, session: &str) {
        let Some(entry) = self.entry(file) else { return };
        let now = entry.last.first().cloned();
        entry.open.retain(|(id, before)| id != session || now.as_ref() != Some(before));
        if !entry.is_open_in(session) && entry.by == session {
            entry.by = entry.open.last().map(|(before, _)| before.clone()).unwrap_or_default();
        }
    }

    fn undone(&mut self, file: &str, value: &str, sessions: &[String], by: &str) {
        if let Some(entry) = self.entry(file) {
            entry.last = vec![value.to_owned()];
            value.clone_into(&mut entry.own);
            entry.asked &= !sessions.is_empty();
            // A later session goes back to the value before those that are undone.
            let mut passed = None;
            entry.open.retain_mut(|(id, found)| {
                let stays = !sessions.is_empty() && id != by && !sessions.contains(id);
                if stays {
                    if let Some(before) = passed.take() {
                        *found = before;
                        entry.is_passed_on = true;
                    }
                } else {
                    passed.get_or_insert_with(|| found.clone());
                }
                stays
            });
            entry.left.retain(|(id, _)| !sessions.is_empty() && !sessions.contains(id));
            if let Some((before, _)) = entry.open.last() {
                entry.by.clone_from(before);
            }
        }
    }
}

impl Entry {
    /// The value to restore for these sessions: the one that the first of them found.
    pub fn before(&self, sessions: &[&str]) -> Option<&str> {
        let (_, found) = self.open.iter().find(|(id, _)| sessions.contains(&id.as_str()))?;
        Some(found)
    }

    /// Those of these sessions that changed it and have not kept it.
    pub fn open_in<'a>(&'a self, sessions: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.sessions().filter(|session| sessions.contains(session))
    }

    /// Whether that session changed it and has not kept it.
    pub fn is_open_in(&self, session: &str) -> bool {
        self.sessions().any(|id| id == session)
    }

    /// The sessions that changed it and have not kept it.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|(id, _)| id.as_str())
    }

    /// Whether a living session other than `own` has changed it, and `own` not since.
    pub fn is_held(&self, own: Option<&str>, is_living: impl Fn(&str) -> bool) -> bool {
        let is_own = |session: &str| Some(session) == own;
        !is_own(&self.by) && self.sessions().any(|session| !is_own(session) && is_living(session))
    }

    /// Whether a file with this value has its first one again, which no change has set.
    pub fn is_restored(&self, now: &str) -> bool {
        now == self.found && !self.last.iter().any(|last| last == now)
    }

    /// Whether a session found this value, so that an undo of that session restores it.
    pub fn has_found(&self, value: &str) -> bool {
        self.open.iter().chain(&self.left).any(|(_, found)| found == value)
    }

    /// The value that an undo of the setting that it changed along with leaves it: its own, also where that one reset it.
    pub fn beside(&self) -> Option<&str> {
        match &self.last[..] {
            [_] if !self.is_closed() => Some(&self.own),
            // Of two values possible after a kill, the first is the old one.
            last => last.first().map(String::as_str),
        }
    }

    /// Takes a value that another program set for its first one.
    fn begin_with(&mut self, value: &str) {
        value.clone_into(&mut self.found);
        self.last = vec![value.to_owned()];
        value.clone_into(&mut self.own);
        self.open.clear();
        self.left.clear();
        self.is_passed_on = false;
    }

    /// Whether it has its first value: undone, refused, or restored by hand. A later change starts a new entry. A session that
    /// found another value, which an earlier one kept, still has that one to restore.
    fn is_closed(&self) -> bool {
        self.last == [self.found.as_str()] && self.open.iter().all(|(_, before)| *before == self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::change;

    fn records(session: &str, events: Vec<Event>) -> Vec<Record> {
        let record = |event| Record { time: 1, boot: "b".into(), session: session.into(), event };
        events.into_iter().map(record).collect()
    }

    #[test]
    fn the_change_log_keeps_the_first_value_and_forgets_restored_ones() {
        let accepted =
            |file: &str| Event::Result { file: file.into(), outcome: Outcome::Accepted, affected: vec![] };
        let mut all = records(
            "1-a",
            vec![
                Event::Open { purpose: Purpose::Screen, pid: 1 },
                change("/f", "128", "256"),
                accepted("/f"),
            ],
        );
        all.extend(records(
            "2-b",
            vec![change("/f", "256", "512"), accepted("/f"), change("/g", "0", "2"), accepted("/g")],
        ));
        let change_log = ChangeLog::of(&all, "b");
        assert_eq!(change_log.found("/f"), Some("128"));
        assert_eq!(change_log.entries[0].last, ["512"]);
        assert_eq!(change_log.entries[0].before(&["2-b"]), Some("256"));
        assert_eq!(change_log.entries[0].before(&["1-a", "2-b"]), Some("128"));
        assert_eq!(
            change_log.sessions.keys().collect::<Vec<_>>(),
            ["1-a"],
            "a session counts from its opening on"
        );
        all.extend(records(
            "2-b",
            vec![
                Event::Undone { file: "/f".into(), value: "128".into(), sessions: vec![] },
                Event::Keep { files: vec![] },
            ],
        ));
        let change_log = ChangeLog::of(&all, "b");
        assert_eq!(change_log.found("/f"), None);
        assert_eq!(change_log.found("/g"), Some("0"), "kept is still changed");
        assert!(change_log.entries[0].open.is_empty());
        assert_eq!(ChangeLog::of(&all, "another boot"), ChangeLog::default());
    }

    #[test]
    fn a_kill_between_the_record_and_the_write_leaves_both_values_possible() {
        let change_log = ChangeLog::of(&records("1-a", vec![change("/f", "0", "1")]), "b");
        assert_eq!(change_log.entries[0].last, ["0", "1"]);
        let refused = Event::Result {
            file: "/f".into(),
            outcome: Outcome::Refused { error: "EINVAL".into() },
            affected: vec![],
        };
        let change_log = ChangeLog::of(&records("1-a", vec![change("/f", "0", "1"), refused]), "b");
        assert_eq!(change_log.entries, [], "a refused change changed nothing");
    }

    #[test]
    fn a_change_after_an_undo_begins_with_what_it_finds() {
        let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
        let undone = || Event::Undone { file: "/f".into(), value: "128".into(), sessions: vec![] };
        let mut events =
            vec![change("/f", "128", "512"), accepted(), change("/f", "512", "128"), accepted(), undone()];
        // An administrator writes 776 here.
        events.extend([change("/f", "776", "64"), accepted()]);
        let change_log = ChangeLog::of(&records("1-a", events), "b");
        assert_eq!(change_log.found("/f"), Some("776"));
        assert_eq!(change_log.entries[0].before(&["1-a"]), Some("776"));
        let refused = Event::Result {
            file: "/f".into(),
            outcome: Outcome::Refused { error: "EINVAL".into() },
            affected: vec![],
        };
        let events = vec![change("/f", "128", "7"), refused, change("/f", "776", "64"), accepted()];
        assert_eq!(ChangeLog::of(&records("1-a", events), "b").found("/f"), Some("776"), "nor a refused one");
    }

    #[test]
    fn another_drive_under_the_same_name_begins_anew() {
        let on = |sequence, event| match event {
            Event::Change { device, setting, file, old, new, affected, tags } => {
                let device = Identity { diskseq: Some(sequence), ..device };
                Event::Change { device, setting, file, old, new, affected, tags }
            }
            other => other,
        };
        let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
        let changes = |second| {
            let first = [on(7, change("/f", "128", "512")), accepted()];
            let then = [on(second, change("/f", "4096", "64")), accepted()];
            ChangeLog::of(&records("1-a", [first, then].concat()), "b").found("/f").map(str::to_owned)
        };
        assert_eq!(changes(7).as_deref(), Some("128"));
        assert_eq!(changes(8).as_deref(), Some("4096"), "what was found on the drive before is not its own");
    }

    #[test]
    fn sessions_are_ordered_by_the_journal_and_not_by_their_clock() {
        let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
        let mut all = records("19f-1-0", vec![change("/f", "0", "1"), accepted()]);
        // The clock was set back between the two.
        all.extend(records("18a-2-0", vec![change("/f", "1", "2"), accepted()]));
        let entry = &ChangeLog::of(&all, "b").entries[0];
        assert_eq!(entry.before(&["18a-2-0", "19f-1-0"]), Some("0"));
        assert_eq!(entry.open_in(&["18a-2-0", "19f-1-0"]).collect::<Vec<_>>(), ["19f-1-0", "18a-2-0"]);
        all.extend(records(
            "3-c",
            vec![Event::Undone { file: "/f".into(), value: "1".into(), sessions: vec!["18a-2-0".into()] }],
        ));
        assert_eq!(ChangeLog::of(&all, "b").entries[0].by, "19f-1-0");
    }
}
