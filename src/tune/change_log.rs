//! [`ChangeLog`]: the files that are changed now, from the journal's records.

mod entry;
#[cfg(test)]
mod long_journals;
mod places;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{
    change::Outcome,
    device::{DRIVER, Identity},
    journal::{Affected, Event, Gain, Journal, Purpose, Record},
    settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER, Scope, find},
    tunables,
};
pub use entry::{Beside, Entry, Opened, Replaced, is_expected, is_reset};
use places::Places;

/// The changed files of this boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeLog {
    /// By file, in the order of their first change.
    pub entries: Vec<Entry>,
    /// Unchanged files that the undo of an entry may change, or that hide what it changed.
    pub companions: Vec<Entry>,
    /// The records of queues whose scheduler or requests these are, for [`tunables::Known`]; none where no tunables are recorded.
    pub tunables: Vec<Record>,
    /// Sessions with open changes, and their purpose.
    pub sessions: BTreeMap<String, Purpose>,
    /// Those of them that recorded their end.
    pub ended: BTreeSet<String>,
    /// Measured gains of this boot and before, oldest first.
    pub gains: Vec<Gain>,
    /// Damaged lines of the journal, which may have had changes.
    pub unread: usize,
    /// Whether one of them has a part of a change.
    pub lost_change: bool,
}

/// A change log as its records are taken: entries with their first values and sessions without changes stay.
#[derive(Debug, Default)]
pub(super) struct Taken {
    change_log: ChangeLog,
    places: Places,
}

impl ChangeLog {
    /// The changes in all records of this boot; earlier ones did not survive the reboot.
    pub fn of(records: &[Record], boot: &str) -> Self {
        let Taken { mut change_log, .. } = Taken::of(records.iter().filter(|record| record.boot == boot));
        let gain = |record: &Record| match &record.event {
            Event::Measured(gain) => Some(gain.clone()),
            _ => None,
        };
        change_log.gains = records.iter().filter_map(gain).collect();
        let entries = std::mem::take(&mut change_log.entries);
        let (changed, same): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| !entry.is_closed());
        let beside = Beside::of(changed.iter());
        let is_companion = |entry: &Entry| beside.may_change(entry) || beside.are_hidden_by(entry);
        change_log.companions = same.into_iter().filter(is_companion).collect();
        change_log.entries = changed;
        change_log.take_tunables(records, boot);
        let open: HashSet<&str> = change_log.entries.iter().flat_map(Entry::sessions).collect();
        change_log.sessions.retain(|session, _| open.contains(session.as_str()));
        let sessions = &change_log.sessions;
        change_log.ended.retain(|session| sessions.contains_key(session));
        change_log
    }

    fn take_tunables(&mut self, records: &[Record], boot: &str) {
        let files = self.entries.iter().chain(&self.companions).map(|entry| entry.file.as_str());
        let queues: BTreeSet<&str> = files.filter_map(tunables::queue_of).collect();
        if queues.is_empty() {
            return;
        }
        let is_its = |record: &&Record| {
            let queue = tunables::queue_of_event(&record.event);
            record.boot == boot && queue.is_some_and(|queue| queues.contains(queue))
        };
        let its: Vec<&Record> = records.iter().filter(is_its).collect();
        if its.iter().any(|record| matches!(record.event, Event::Tunables { .. })) {
            self.tunables = its.into_iter().cloned().collect();
        }
    }
}

/// The scheduler whose number of requests a change of this setting resets: `none` of the queue's tags.
fn host_of<'a>(affected: &Affected, setting: &str, old: &'a str) -> Option<&'a str> {
    (setting == SCHEDULER.0 && affected.setting == NR_REQUESTS.0).then_some(old)
}

/// The scheduler for which a change sets requests; a journal of an earlier release names only `none`.
fn own_host(host: Option<&String>, tags: bool) -> Option<&str> {
    host.map(String::as_str).or(tags.then_some(NO_SCHEDULER))
}

impl Taken {
    /// All of these records of one boot.
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut taken = Self::default();
        records.for_each(|record| taken.take(record));
        taken
    }

    /// The entries, also those that have their first values.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.change_log.entries
    }

    /// Whether this file has its first value.
    pub(super) fn is_closed(&self, file: &str) -> bool {
        self.places.of(file).is_none_or(|place| self.change_log.entries[place].is_closed())
    }

    /// Whether it is a change, and no file that it sets has another program's value now.
    pub(super) fn goes_on(&self, event: &Event) -> bool {
        let Event::Change { setting, file, old, affected, tags, host, .. } = event else { return false };
        let is_own = |file: &str, value: &str, host: Option<&str>| {
            self.anothers(file, (value, host)).is_none() && self.replaced(file, value, host).is_none()
        };
        let mut along = affected.iter();
        is_own(file, old, own_host(host.as_ref(), *tags))
            && along.all(|a| is_own(&a.file, &a.value, host_of(a, setting, old)))
    }

    /// The next record of this boot.
    pub(super) fn take(&mut self, record: &Record) {
        match &record.event {
            Event::Open { purpose, .. } => {
                self.change_log.sessions.insert(record.session.clone(), *purpose);
            }
            Event::Change { device, setting, file, old, new, affected, tags, host, undo, follows } => {
                // An undo that is killed leaves the changes of the sessions before it, and none of its own.
                let by = (!undo).then_some(record.session.as_str());
                let host = own_host(host.as_ref(), *tags);
                let mut is_anothers = false;
                if !undo && !follows {
                    // Before their scheduler, whose requests they are.
                    for a in affected {
                        self.begin_anew(&a.file, (&a.value, host_of(a, setting, old)));
                    }
                    is_anothers = self.begin_anew(file, (old, host));
                    self.replace(file, old, host);
                }
                let begins = self.entry(file).is_none_or(|entry| entry.is_closed());
                for a in affected {
                    let host = host_of(a, setting, old);
                    let is_of_tags = host == Some(NO_SCHEDULER);
                    if !undo && !follows && !is_anothers {
                        self.replace(&a.file, &a.value, host);
                    }
                    if let Some(entry) = self.entry(&a.file).filter(|_| is_of_tags) {
                        entry.find_tags(&a.value);
                    }
                    let entry = self.touch(device, (&a.setting, &a.file), (&a.value, host), by);
                    let is_known = entry.may_have(&a.value);
                    // iodyno has set it since the other program wrote.
                    // So it has, perhaps, where that change was killed.
                    let is_last = entry.own == a.value || entry.last.len() > 1;
                    let is_own = is_known && is_last && entry.host.as_deref() == host;
                    if *undo && a.setting != NR_REQUESTS.0 && entry.is_anothers(&a.value) {
                        entry.theirs = Some(a.value.clone());
                    } else if !entry.may_be_reset(&a.value) && (is_anothers && !is_own || !is_known) {
                        // Requests of another program's scheduler are found with that.
                        let is_theirs = !is_of_tags || entry.tags.is_none() && !is_known;
                        if begins && (entry.has_found_tags() != is_of_tags || is_anothers && is_theirs) {
                            // Those that iodyno has replaced there were the first ones.
                            let replaced = entry.replaced.take().filter(|_| is_known);
                            let replaced = replaced.filter(|replaced| replaced.scheduler.as_deref() == host);
                            let found = replaced.map_or_else(|| a.value.clone(), |replaced| replaced.value);
                            entry.begin_with((&found, host));
                            if let Some(by) = by {
                                entry.open_for(by, (&a.value, host));
                            }
                        }
                        entry.last = vec![a.value.clone()];
                    }
                    entry.begin_unsure(&a.becomes);
                    self.places.add_unsure(&a.file);
                }
                if *undo {
                    self.forget_resets(file);
                }
                let entry = self.touch(device, (setting, file), (old, host), by);
                entry.begin_change([old, new], (*tags, host), *undo);
                for a in affected {
                    self.add_along(file, &a.file);
                }
            }
            Event::Result { file, outcome, affected } => {
                let has_none = self.entry(file).is_some_and(|entry| entry.end(outcome));
                self.end_change(file, outcome, &record.session);
                for a in affected {
                    if let Some(entry) = self.entry(&a.file) {
                        entry.last = vec![a.value.clone()];
                        if has_none && entry.has_other_tags(&a.value) {
                            // The tuner resizes them to the driver's number.
                            let is_known = entry.has_found_tags()
                                || entry.open.iter().any(|opened| opened.tags.is_some());
                            entry.tags = is_known.then(|| a.value.clone());
                        }
                    }
                }
            }
            Event::Undone { file, value, sessions } => self.undone(file, value, sessions, &record.session),
            Event::Left { device, setting, file, value, now } => {
                // What no session has open is that of the undo: the next one is offered.
                let has_open = |entry: &mut Entry| !entry.is_closed() && !entry.open.is_empty();
                let is_open = self.entry(file).is_some_and(has_open);
                let by = (!is_open).then_some(record.session.as_str());
                let entry = self.touch(device, (setting, file), (value, None), by);
                let has_found_tags = entry.has_found_tags();
                if let (Some(opened), true) = (entry.open.last_mut(), by.is_some()) {
                    opened.tags = has_found_tags.then(|| entry.found.clone());
                }
                // A tunable goes back with its scheduler.
                entry.is_taken |= !tunables::is_tunable(setting) && !entry.may_have(now);
                entry.last = vec![now.clone()];
                (entry.is_unrestored, entry.is_undoing) = (true, false);
                entry.end_unsure();
            }
            Event::Keep { files } => self.keep(files, &record.session),
            Event::Close => drop(self.change_log.ended.insert(record.session.clone())),
            Event::Tunables { file, values, after: false, .. } => {
                // Of another program since an undo could not restore it: this change goes back to that one's value.
                let queue = tunables::queue_of(file).unwrap_or_default();
                for (name, value) in values {
                    let entry = self.entry(&tunables::path(queue, name));
                    if let Some(entry) = entry.filter(|entry| !entry.may_have(value)) {
                        entry.begin_with((value, None));
                    }
                }
            }
            Event::Measured(_) | Event::Tunables { .. } => {}
        }
    }
}

impl ChangeLog {
    /// Changes of living sessions that are not kept.
    pub fn held<'a>(&'a self, journal: &'a Journal) -> impl Iterator<Item = &'a Entry> {
        let living = self.living(journal);
        self.entries.iter().filter(move |entry| entry.sessions().any(|session| living.contains(session)))
    }

    /// The living sessions that have changed a file and not kept it. Each is looked for once.
    pub fn living(&self, journal: &Journal) -> HashSet<String> {
        let sessions: HashSet<&str> = self.entries.iter().flat_map(Entry::sessions).collect();
        sessions.into_iter().filter(|session| !journal.is_dead(session)).map(str::to_owned).collect()
    }

    /// Without the changes of living sessions other than `own`. A file that `own` changed last is its own, even if another
    /// session changed it before.
    #[must_use]
    pub fn without_living(mut self, journal: &Journal, own: Option<&str>) -> Self {
        let living = self.living(journal);
        self.entries.retain(|entry| !entry.is_held(own, |session| living.contains(session)));
        self
    }

    /// With what undos of earlier sessions left to other programs, for an undo by force.
    #[must_use]
    pub fn with_left(mut self) -> Self {
        for entry in &mut self.entries {
            let left = std::mem::take(&mut entry.left);
            for opened in &left {
                self.sessions.entry(opened.session.clone()).or_insert(Purpose::Experiment);
            }
            entry.open.splice(0..0, left);
        }
        self
    }

    /// Whether a dead session has no record of its end: it was killed, or the journal had no room. That of a command may have
    /// ended with an error.
    pub fn has_no_end(&self, session: &str) -> bool {
        !self.ended.contains(session) && self.sessions.get(session) != Some(&Purpose::Command)
    }

    /// How a dead session left its changes, in words.
    pub fn end_of(&self, session: &str) -> &'static str {
        match (self.sessions.get(session), self.has_no_end(session)) {
            (Some(Purpose::Command), _) => "`iodyno tune set` ended before its changes were kept",
            (Some(Purpose::Experiment), true) => {
                "an experiment was killed, or could not record its end, and left settings changed"
            }
            (Some(Purpose::Experiment), false) => "an experiment ended and left settings changed",
            (_, true) => "iodyno was killed, or could not record its end, and left settings changed",
            (_, false) => "iodyno ended and left settings changed",
        }
    }

    /// Whether the session's changes are restored without asking after its death.
    pub fn is_unasked(&self, session: &str) -> bool {
        self.unasked().contains(session)
    }

    /// The sessions whose changes are restored without asking after their death: experiments, and sessions that left a
    /// controller unbound.
    pub fn unasked(&self) -> HashSet<&str> {
        let away = self.entries.iter().filter(|entry| entry.setting == DRIVER.0).flat_map(Entry::sessions);
        let is_experiment = |(_, purpose): &(&String, &Purpose)| **purpose == Purpose::Experiment;
        let experiments = self.sessions.iter().filter(is_experiment);
        experiments.map(|(session, _)| session.as_str()).chain(away).collect()
    }

    /// The value before iodyno's first change of that file since boot, if it is changed.
    pub fn found(&self, file: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.file == file).map(|entry| entry.found.as_str())
    }

    /// The values before iodyno's first changes since boot, by file.
    pub fn first_values(&self) -> HashMap<&str, &str> {
        self.entries.iter().map(|entry| (entry.file.as_str(), entry.found.as_str())).collect()
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
}

impl Taken {
    /// The entry of a file that is about to change, in the session `by`, if that is to be undone.
    fn touch(
        &mut self,
        device: &Identity,
        (setting, file): (&str, &str),
        old: (&str, Option<&str>),
        by: Option<&str>,
    ) -> &mut Entry {
        let its = self.places.of(file).and_then(|place| self.scheduler_of(place));
        // iodyno's scheduler goes back to that of the first value.
        let its = its.filter(|its| !its.is_closed() && old.1.is_some_and(|host| its.may_have(host)));
        let (is_hosted, is_its) = (its.is_some(), its.zip(by).is_some_and(|(its, by)| its.is_open_in(by)));
        let Self { change_log: ChangeLog { entries, .. }, places } = self;
        let place = places.of(file).unwrap_or_else(|| {
            entries.push(Entry::new(device, (setting, file), old));
            places.add(file, entries.len() - 1);
            entries.len() - 1
        });
        let entry = &mut entries[place];
        // A removed drive's queue is gone with its values, even if another drive has its name now.
        let is_queue = find(setting).is_some_and(|row| row.scope == Scope::Queue);
        let has_left = is_queue && entry.device.has_left(device);
        let mut host = old.1.map(str::to_owned);
        if by.is_some() && entry.is_closed() || has_left {
            // The current value was set by another program: this change found it. The first one is that of the tags also
            // where a scheduler shows it.
            let is_first = !has_left && (entry.has_found_tags() || is_hosted) && entry.found == old.0;
            let first = entry.found_host.take().filter(|_| is_first);
            entry.begin_with((old.0, first.as_deref().or(old.1)));
            // So does the session's own.
            host = first.filter(|_| is_its).or(host);
            places.forget_along(entry);
            entry.forget();
        }
        device.clone_into(&mut entry.device);
        if let Some(session) = by {
            entry.is_let_go = false;
            session.clone_into(&mut entry.by);
            entry.open_for(session, (old.0, host.as_deref()));
            places.open_for(session, place);
        }
        entry
    }

    /// What another program set since iodyno's last change is what the next one finds; nothing before it is
    /// restored. Whether that is so.
    fn begin_anew(&mut self, file: &str, value: (&str, Option<&str>)) -> bool {
        let Some(place) = self.anothers(file, value) else { return false };
        let entry = &mut self.change_log.entries[place];
        entry.begin_with(value);
        self.places.forget_along(entry);
        entry.forget();
        true
    }

    /// The place of a file with this value, if another program set that. Requests of a scheduler that iodyno has set go with
    /// it, and those of another program's hide the tags that iodyno has set.
    fn anothers(&self, file: &str, (value, host): (&str, Option<&str>)) -> Option<usize> {
        let place = self.places.of(file)?;
        let entry = &self.change_log.entries[place];
        let is_of_tags = host == Some(NO_SCHEDULER);
        let own = self.scheduler_of(place).filter(|scheduler| !scheduler.is_closed());
        let is_same =
            entry.is_of_tags == is_of_tags || entry.tags.is_none() && (is_of_tags || entry.is_let_go);
        let is_own = entry.setting != NR_REQUESTS.0 || is_same && own.is_none();
        // Requests of a scheduler that another program has set since iodyno's are that one's, also those that it begins with.
        let is_replaced = own.zip(host).is_some_and(|(own, host)| !own.may_have(host));
        let is_set = || entry.host.as_deref() == host && entry.may_have(value);
        let is_new = is_replaced && entry.tags.is_none() && !entry.is_unsure && !is_set();
        (is_new || is_own && entry.is_anothers(value)).then_some(place)
    }

    /// The place of a number of requests that another program set while iodyno's scheduler was set, and what is said of it.
    fn replaced(&self, file: &str, value: &str, host: Option<&str>) -> Option<(usize, Replaced)> {
        let place = self.places.of(file)?;
        let entry = &self.change_log.entries[place];
        // A journal of an earlier release does not name it.
        let own = self.scheduler_of(place).filter(|scheduler| !scheduler.is_closed());
        let last = own.and_then(|own| match &own.last[..] {
            [name] if name != NO_SCHEDULER => Some(name.as_str()),
            _ => None,
        });
        let scheduler = host.or(last).map(str::to_owned);
        let is_anothers = entry.setting == NR_REQUESTS.0 && entry.is_anothers(value);
        // What has its first value begins anew.
        let is_hosted = own.is_some() || !entry.is_closed() && host.is_some_and(|host| host != NO_SCHEDULER);
        (is_anothers && is_hosted).then(|| (place, Replaced { value: value.to_owned(), scheduler }))
    }

    /// Remembers a number of requests that a change replaces and no undo restores.
    fn replace(&mut self, file: &str, value: &str, host: Option<&str>) {
        if let Some((place, replaced)) = self.replaced(file, value, host) {
            self.change_log.entries[place].replaced = Some(replaced);
        }
    }

    /// An undo writes this file: what it makes of those beside is not foreseen.
    fn forget_resets(&mut self, file: &str) {
        let with = self.entry(file).map(|entry| entry.with.clone()).unwrap_or_default();
        for other in with {
            if let Some(entry) = self.entry(&other) {
                entry.resets.clear();
            }
        }
    }

    /// The scheduler that a number of requests may change along with.
    fn scheduler_of(&self, place: usize) -> Option<&Entry> {
        let mut hosts = self.places.hosts(place).map(|host| &self.change_log.entries[host]);
        hosts.find(|host| host.setting == SCHEDULER.0)
    }

    fn entry(&mut self, file: &str) -> Option<&mut Entry> {
        self.places.of(file).map(|place| &mut self.change_log.entries[place])
    }

    /// The other file may change along with this one.
    fn add_along(&mut self, file: &str, other: &str) {
        if let Some(place) = self.places.of(file) {
            self.places.add_along(&mut self.change_log.entries[place], other);
        }
    }

    /// A change of this file, which may have changed others along, has a result.
    fn end_unsure(&mut self, file: &str) {
        let Some(place) = self.places.of(file) else { return };
        for other in self.places.take_unsure(place, &self.change_log.entries[place]) {
            self.change_log.entries[other].end_unsure();
        }
    }

    /// What a change reset is known with its outcome, unless that is not.
    fn end_change(&mut self, file: &str, outcome: &Outcome, session: &str) {
        if outcome.is_without_effect() {
            self.not_made(file, session);
        }
        if !outcome.is_unread() {
            self.end_unsure(file);
        }
    }

    /// A change of the session had no effect: without another one, it has not changed the file.
    fn not_made(&mut self, file: &str, session: &str) {
        let Some(entry) = self.entry(file) else { return };
        let now = entry.last.first().cloned();
        entry.open.retain(|opened| opened.session != session || now.as_ref() != Some(&opened.found));
        if !entry.is_open_in(session) && entry.by == session {
            entry.by = entry.open.last().map(|before| before.session.clone()).unwrap_or_default();
        }
    }

    /// Whether a file of requests shows the queue's tags: no scheduler that iodyno has set hides them.
    fn shows_tags(&self, file: &str) -> bool {
        let scheduler = self.places.of(file).and_then(|place| self.scheduler_of(place));
        scheduler.is_none_or(|scheduler| scheduler.last == [NO_SCHEDULER])
    }

    /// The session keeps its changes of these files, or all of them.
    fn keep(&mut self, files: &[String], session: &str) {
        let kept: BTreeSet<usize> = if files.is_empty() {
            self.places.take_session(session)
        } else {
            files.iter().filter_map(|file| self.places.of(file)).collect()
        };
        for place in kept {
            let entry = &mut self.change_log.entries[place];
            if !files.is_empty() {
                entry.is_let_go = true;
                entry.replaced = None;
            }
            let its = entry.open.iter().rposition(|opened| opened.session == session);
            // Those of an undo have none.
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

    fn undone(&mut self, file: &str, value: &str, sessions: &[String], by: &str) {
        // The undo resized the tags on its way; one that a session left to a later one made none.
        let has_resized = value != NO_SCHEDULER
            && self.entry(file).is_some_and(|entry| entry.setting == SCHEDULER.0 && entry.is_undoing);
        let its: HashSet<&str> = sessions.iter().map(String::as_str).collect();
        self.end_unsure(file);
        let with = self.entry(file).filter(|_| has_resized).map(|entry| entry.with.clone());
        for file in with.unwrap_or_default() {
            if let Some(entry) = self.entry(&file) {
                let tags = entry.first_of(|id| its.contains(id)).and_then(|opened| opened.tags.clone());
                entry.tags = tags.filter(|tags| !entry.has_found_tags() || *tags != entry.found);
            }
        }
        let shows_tags = self.shows_tags(file);
        if let Some(place) = self.places.of(file) {
            let entry = &mut self.change_log.entries[place];
            (entry.is_let_go, entry.is_taken, entry.is_unrestored) = (false, false, false);
            entry.end_unsure();
            entry.last = vec![value.to_owned()];
            value.clone_into(&mut entry.own);
            // A later session goes back to the value before those that are undone.
            let mut passed = None;
            entry.open.retain_mut(|opened| {
                let is_its = opened.session == by || its.contains(opened.session.as_str());
                let stays = !sessions.is_empty() && !is_its;
                if stays {
                    if let Some(found) = passed.take() {
                        let session = std::mem::take(&mut opened.session);
                        *opened = Opened { session, ..found };
                        entry.is_passed_on = true;
                    }
                } else {
                    passed.get_or_insert_with(|| opened.clone());
                }
                stays
            });
            entry.left.retain(|opened| !sessions.is_empty() && !its.contains(opened.session.as_str()));
            if let Some(before) = entry.open.last() {
                entry.by.clone_from(&before.session);
            }
            if sessions.is_empty() || value == entry.found {
                entry.replaced = None;
            }
            if sessions.is_empty() {
                if value != entry.found {
                    // It was another scheduler's, which is gone.
                    entry.begin_with((value, None));
                }
                self.places.forget_along(entry);
                entry.forget();
            } else if value == entry.found && entry.has_found_tags() && shows_tags {
                entry.tags = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
