//! What an undo would come to, by the plan that the undo itself makes: what is offered is what is done.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, ErrorKind},
};

use super::{
    actuator::Actuator,
    change_log::{ChangeLog, Entry},
    settings::{Value, poll_queues, readings},
    tunables,
    tuner::foreseen,
    undo::{Restored, Step, Which, file_of},
};
use crate::{machine::Machine, model::Reading};

/// A changed file with the result that an undo would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prospect {
    /// The step; its target is the value before the sessions.
    pub step: Step,
    /// The value now; the last one known where the file cannot be read.
    pub now: String,
    /// The result.
    pub what: Restored,
    /// Whether another session that changed it too has left its undo to this one.
    pub is_passed_on: bool,
    /// Whether an undo could not restore it.
    pub is_unrestored: bool,
    /// Whether the file has the value before iodyno's first change.
    is_found: bool,
}

impl Prospect {
    /// Whether the undo changes its value.
    pub fn is_undone(&self) -> bool {
        self.what.is_undone() && self.now != self.step.target
    }

    /// Whether nothing is left to undo: the file has a value from before again, by any program.
    pub fn is_over(&self) -> bool {
        self.now == self.step.target || self.is_found
    }

    /// Whether it has a value that another program or a living session has set since.
    pub fn is_anothers(&self) -> bool {
        matches!(self.what, Restored::ModifiedExternally(_) | Restored::Held(_)) && !self.is_over()
    }
}

/// Whose undo is meant.
#[derive(Clone, Copy)]
pub struct Undoer<'a> {
    /// The sessions whose changes are undone.
    pub sessions: &'a [&'a str],
    /// The session that undoes, if it has one.
    pub own: Option<&'a str>,
    /// Whether a session still runs.
    pub is_living: &'a dyn Fn(&str) -> bool,
}

/// The prospects of an undo of these sessions, in the order of the first changes.
pub fn prospects(
    actuator: &dyn Actuator,
    change_log: &ChangeLog,
    machine: &Machine,
    undoer: Undoer<'_>,
) -> Vec<Prospect> {
    let Undoer { sessions, own, is_living } = undoer;
    let meant: HashSet<&str> = sessions.iter().copied().collect();
    if !change_log.entries.iter().any(|entry| entry.sessions().any(|id| meant.contains(id))) {
        return Vec::new();
    }
    let is_held = |entry: &&Entry| entry.is_held(own, is_living);
    let is_own = |entry: &&Entry| own.is_some_and(|own| meant.contains(own) && entry.is_open_in(own));
    let held = change_log.entries.iter().filter(is_held).filter(is_own).map(|entry| {
        let now = entry.last.last().cloned().unwrap_or_default();
        (Step::untouched(entry.clone()), Restored::Held(now))
    });
    let free = change_log.entries.iter().filter(|entry| !is_held(entry)).cloned().collect();
    let free = ChangeLog { entries: free, ..change_log.clone() };
    let undone = foreseen(actuator, &free, &Which::Sessions(sessions), machine, own, false).report;
    let places: HashMap<&str, usize> =
        change_log.entries.iter().enumerate().map(|(at, entry)| (entry.file.as_str(), at)).collect();
    let mut all: Vec<_> = undone
        .into_iter()
        .filter(|(step, _)| !step.stays)
        .chain(held)
        .filter_map(|(step, what)| {
            let at = *places.get(step.recorded.as_str())?;
            let entry = change_log.entries.get(at)?;
            let last = || step.expected.last().cloned().unwrap_or_default();
            let now = actuator.read(&step.file).unwrap_or_else(|_| last());
            let is_found = now == entry.found;
            let Entry { is_passed_on, is_unrestored, .. } = *entry;
            Some((at, Prospect { step, now, what, is_passed_on, is_unrestored, is_found }))
        })
        .collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, prospect)| prospect).collect()
}

/// The values of a machine as it was read, for plans.
pub struct Shown(BTreeMap<String, String>);

impl Shown {
    /// The values of all settings. A machine has no tunables: of those that an undo could not restore, the value is that which
    /// the undo left.
    pub fn of(machine: &Machine, change_log: &ChangeLog) -> Self {
        let value =
            |reading: Reading<Value>| Some((reading.path().to_string(), reading.value()?.text.to_string()));
        let is_tunable = |entry: &&Entry| tunables::is_tunable(&entry.setting);
        let last = |entry: &Entry| Some((file_of(entry, machine).ok()?, entry.last.last()?.clone()));
        let left = change_log.entries.iter().filter(is_tunable).filter_map(last);
        Self(readings(machine).chain(poll_queues(machine)).filter_map(value).chain(left).collect())
    }
}

impl Actuator for Shown {
    fn read(&self, file: &str) -> io::Result<String> {
        self.0.get(file).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn write(&self, _: &str, _: &str) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }
}
