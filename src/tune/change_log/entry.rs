//! [`Entry`]: a changed file.

use std::collections::HashSet;

use crate::tune::{
    change::Outcome,
    device::Identity,
    settings::{NO_SCHEDULER, SCHEDULER, find},
};

/// A session that changed a file and has not kept it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its id.
    pub session: String,
    /// The value it found.
    pub found: String,
    /// The scheduler whose requests that value is, as in [`Entry::found_host`].
    pub host: Option<String>,
    /// The number of the queue's tags it found, where iodyno knows it: a scheduler may have hidden it.
    pub tags: Option<String>,
}

/// A number of requests of another program that a change of iodyno has replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The number.
    pub value: String,
    /// The scheduler whose requests they were; `none` of the queue's tags, `None` where the journal does not name it.
    pub scheduler: Option<String>,
}

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
    /// Whether a change of another file, which may have changed it along, has no result: it was killed.
    pub is_unsure: bool,
    /// What such changes may have made of it; empty where that is not known.
    pub resets: Vec<String>,
    /// The value of another program that an undo resets and restores. It is killed before it has done both.
    pub theirs: Option<String>,
    /// What another program set while iodyno's scheduler was set, the last of several. The undo goes back behind that scheduler.
    pub replaced: Option<Replaced>,
    /// The scheduler for which iodyno set this number of requests; the journal of an earlier release does not name it.
    pub host: Option<String>,
    /// Whether its last change is an undo's.
    pub is_undoing: bool,
    /// The number of the queue's tags that iodyno has set, which a scheduler hides.
    pub tags: Option<String>,
    /// The scheduler whose number of requests the value found is; `none` of the queue's tags, `None` where the journal does not
    /// name it.
    pub found_host: Option<String>,
    /// Whether its last change is one of the queue's tags.
    pub is_of_tags: bool,
    /// Files that the kernel may change along with it.
    pub with: Vec<String>,
    /// The session that changed it last.
    pub by: String,
    /// The sessions that changed it and have not kept it, in the journal's order: a clock may be set back between two
    /// sessions. One that changed it before and after another has two places.
    pub open: Vec<Opened>,
    /// The sessions whose undo left its value to another program; an undo by force restores it.
    pub left: Vec<Opened>,
    /// Whether an undo has left its value to another program, and its exit status has reported that.
    pub is_let_go: bool,
    /// Whether another program set its value now while an undo restored it.
    pub is_taken: bool,
    /// Whether an undo could not restore it; its value now is the one that the undo left.
    pub is_unrestored: bool,
    /// Whether a session that changed it has left its undo to a later one, which restores the value before both.
    pub is_passed_on: bool,
}

impl Entry {
    /// Of a file with this value, before its first change; with the scheduler whose requests that is.
    pub(super) fn new(
        device: &Identity,
        (setting, file): (&str, &str),
        (value, host): (&str, Option<&str>),
    ) -> Self {
        Self {
            device: device.clone(),
            setting: setting.to_owned(),
            file: file.to_owned(),
            found: value.to_owned(),
            last: vec![value.to_owned()],
            own: value.to_owned(),
            asked: false,
            is_unsure: false,
            resets: Vec::new(),
            theirs: None,
            replaced: None,
            host: None,
            is_undoing: false,
            tags: None,
            found_host: host.map(str::to_owned),
            is_of_tags: false,
            with: Vec::new(),
            by: String::new(),
            open: Vec::new(),
            left: Vec::new(),
            is_let_go: false,
            is_taken: false,
            is_unrestored: false,
            is_passed_on: false,
        }
    }

    /// A change of it begins, from the old value to the new one; whether that is the number of the queue's tags, and for which
    /// scheduler.
    pub(super) fn begin_change(
        &mut self,
        [old, new]: [&str; 2],
        (is_of_tags, host): (bool, Option<&str>),
        is_undoing: bool,
    ) {
        self.is_undoing = is_undoing;
        self.is_unrestored &= is_undoing;
        self.asked |= !is_undoing;
        self.is_of_tags = is_of_tags;
        self.host = host.map(str::to_owned);
        if is_of_tags {
            self.tags = Some(new.to_owned());
        }
        self.last = vec![old.to_owned(), new.to_owned()];
    }

    /// Its last change has this outcome. Whether its queue has no scheduler now.
    pub(super) fn end(&mut self, outcome: &Outcome) -> bool {
        self.is_taken = self.is_undoing && matches!(outcome, Outcome::Changed { .. });
        match outcome {
            // It is what the undo leaves.
            Outcome::Changed { now } if self.is_undoing => self.last = vec![now.clone()],
            // A value that another program set is not undone.
            Outcome::Accepted | Outcome::Changed { .. } => {
                self.last.drain(..self.last.len().saturating_sub(1));
            }
            Outcome::Adjusted { now } => self.last = vec![now.clone()],
            // As after a kill.
            Outcome::Unread { .. } => {}
            Outcome::Ignored | Outcome::Refused { .. } => self.last.truncate(1),
        }
        if let (false, [now]) = (outcome.is_without_effect(), &self.last[..]) {
            self.own.clone_from(now);
        }
        if self.is_of_tags {
            self.tags = self.last.first().cloned();
        }
        self.setting == SCHEDULER.0 && self.last == [NO_SCHEDULER]
    }

    /// Whether iodyno knows that the queue's tags are not this number, which the file shows without a scheduler.
    pub fn has_other_tags(&self, shown: &str) -> bool {
        self.tags.is_some() || self.has_found_tags() && self.found != shown
    }

    /// Whether the value found is the number of the queue's tags.
    pub fn has_found_tags(&self) -> bool {
        self.found_host.as_deref() == Some(NO_SCHEDULER)
    }

    /// The queue's tags are this many: which of two numbers a killed change has left.
    pub(super) fn find_tags(&mut self, now: &str) {
        if self.is_of_tags && self.last.len() > 1 && self.last.iter().any(|last| last == now) {
            self.last = vec![now.to_owned()];
            self.tags = Some(now.to_owned());
        }
    }

    /// The value to restore for these sessions: the one that the first of them found.
    pub fn before(&self, sessions: &[&str]) -> Option<&str> {
        self.first_of(|id| sessions.contains(&id)).map(|opened| opened.found.as_str())
    }

    /// The first of these sessions that changed it and has not kept it.
    pub fn first_of(&self, is_meant: impl Fn(&str) -> bool) -> Option<&Opened> {
        self.open.iter().find(|opened| is_meant(&opened.session))
    }

    /// The session changes it, and found this value, of this scheduler.
    pub(super) fn open_for(&mut self, session: &str, (found, host): (&str, Option<&str>)) {
        if self.open.last().is_none_or(|last| last.session != session) {
            let first = || self.has_found_tags().then(|| self.found.clone());
            let tags = self.tags.clone().or_else(first);
            let host = host.map(str::to_owned);
            self.open.push(Opened { session: session.to_owned(), found: found.to_owned(), host, tags });
        }
    }

    /// Whether that session changed it and has not kept it.
    pub fn is_open_in(&self, session: &str) -> bool {
        self.sessions().any(|id| id == session)
    }

    /// The sessions that changed it and have not kept it.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|opened| opened.session.as_str())
    }

    /// Whether a living session other than `own` has changed it, and `own` not since.
    pub fn is_held(&self, own: Option<&str>, is_living: impl Fn(&str) -> bool) -> bool {
        let is_own = |session: &str| Some(session) == own;
        !is_own(&self.by) && self.sessions().any(|session| !is_own(session) && is_living(session))
    }

    /// Whether a file with this value has its first one again, which no change but an undo has set.
    pub fn is_restored(&self, now: &str) -> bool {
        now == self.found && (self.is_undoing || !self.last.iter().any(|last| last == now))
    }

    /// Whether it has this value unless another program changed it.
    pub fn may_have(&self, value: &str) -> bool {
        is_expected(&self.setting, &self.last, value)
    }

    /// Whether another program has set this value since iodyno's last change. Of one that an undo left to it, or met there, every value is.
    pub(super) fn is_anothers(&self, value: &str) -> bool {
        !self.may_be_reset(value) && (self.is_let_go || self.is_taken || !self.may_have(value))
    }

    /// Whether a change of another file, which has no result, may have set this value.
    pub(super) fn may_be_reset(&self, value: &str) -> bool {
        self.is_unsure && is_reset(&self.resets, value)
    }

    /// A change of another file begins that may make one of these values of it, or any where there are none.
    pub(super) fn begin_unsure(&mut self, becomes: &[String]) {
        let is_unknown = self.is_unsure && self.resets.is_empty();
        if is_unknown || becomes.is_empty() {
            self.resets.clear();
        } else {
            self.resets.extend_from_slice(becomes);
        }
        self.is_unsure = true;
    }

    /// Whether a session found this value, so that an undo of that session restores it.
    pub fn has_found(&self, value: &str) -> bool {
        self.open.iter().chain(&self.left).any(|opened| opened.found == value)
    }

    /// The value that an undo of the setting that it changed along with leaves it: its own, also where that one reset it.
    pub fn beside(&self) -> Option<&str> {
        match &self.last[..] {
            [_] if !self.is_closed() => Some(&self.own),
            // Of two values possible after a kill, the first is the old one.
            last => last.first().map(String::as_str),
        }
    }

    /// What a change of another file made of it is known.
    pub(super) fn end_unsure(&mut self) {
        (self.is_unsure, self.theirs) = (false, None);
        self.resets.clear();
    }

    /// What is undone begins anew.
    pub(super) fn forget(&mut self) {
        self.asked = false;
        self.tags = None;
        self.with.clear();
    }

    /// Takes a value that another program set for its first one; with the scheduler whose requests that is.
    pub(super) fn begin_with(&mut self, (value, host): (&str, Option<&str>)) {
        self.found_host = host.map(str::to_owned);
        value.clone_into(&mut self.found);
        self.last = vec![value.to_owned()];
        value.clone_into(&mut self.own);
        self.open.clear();
        self.left.clear();
        self.replaced = None;
        self.is_passed_on = false;
        (self.is_unrestored, self.is_taken) = (false, false);
        self.is_undoing = false;
        self.end_unsure();
    }

    /// Whether it has its first value: undone, refused, or restored by hand. A later change starts a new entry. A session that
    /// found another value, which an earlier one kept, still has that one to restore.
    pub(super) fn is_closed(&self) -> bool {
        let is_first = |tags: &Option<String>| {
            tags.as_ref().is_none_or(|tags| self.has_found_tags() && *tags == self.found)
        };
        let has_its_value = self.last == [self.found.as_str()];
        is_first(&self.tags)
            && has_its_value
            && self.replaced.is_none()
            && !self.is_unsure
            && self.open.iter().all(|opened| opened.found == self.found && is_first(&opened.tags))
    }
}

/// The files beside some entries: what may change along with one, and schedulers that hide what one has changed.
#[derive(Debug)]
pub struct Beside<'a> {
    along: HashSet<&'a str>,
    tagged: HashSet<&'a str>,
}

impl<'a> Beside<'a> {
    /// Of these entries.
    pub fn of(entries: impl Iterator<Item = &'a Entry> + Clone) -> Self {
        let along = entries.clone().flat_map(|entry| &entry.with).map(String::as_str).collect();
        let tagged = entries.filter(|entry| entry.tags.is_some()).map(|entry| entry.file.as_str()).collect();
        Self { along, tagged }
    }

    /// Whether this one may change along with one of them.
    pub fn may_change(&self, entry: &Entry) -> bool {
        self.along.contains(entry.file.as_str())
    }

    /// Whether this one is a scheduler that iodyno has set, which may hide tags that it has changed.
    pub fn are_hidden_by(&self, entry: &Entry) -> bool {
        entry.setting == SCHEDULER.0 && entry.with.iter().any(|file| self.tagged.contains(file.as_str()))
    }
}

/// Whether a change that may have made these values of a file, or any where there are none, may have made that one.
pub fn is_reset(resets: &[String], value: &str) -> bool {
    resets.is_empty() || resets.iter().any(|reset| reset == value)
}

/// Whether a file with these values, the last one read back, or the old and the new one of a change that was killed, may have
/// that one: the kernel may have made it of the new one.
pub fn is_expected(setting: &str, last: &[String], value: &str) -> bool {
    let adjusts = |new: &String| find(setting).is_some_and(|row| (row.adjusts)(new, value));
    last.iter().any(|known| known == value) || last.get(1).is_some_and(adjusts)
}
