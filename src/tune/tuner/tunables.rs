//! The tunables of schedulers that a tuner replaces: recorded, and given back.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tuner, planning::unreadable};
use crate::tune::{
    change::Change,
    change_log::ChangeLog,
    device::Identity,
    journal::{Event, JournalError, Record},
    settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER},
    tunables::{Known, Tunables, path, queue_of, read, scheduler, setting, write},
    undo::{Restored, Step},
};

impl Tuner<'_> {
    /// Records the tunables before or after a change of a file, by the name that the journal has for it. Nothing without any.
    pub(super) fn record_tunables(
        &self,
        device: &Identity,
        file: &str,
        found: Option<(String, Tunables)>,
        after: bool,
    ) -> Result<(), JournalError> {
        let Some((scheduler, values)) = found else { return Ok(()) };
        let (device, file) = (device.clone(), file.to_owned());
        self.record(Event::Tunables { device, file, scheduler, values, after })
    }

    /// Gives tunables back to a scheduler that a change has set again, or to that of a queue which has the requests again
    /// that iodyno found. What the kernel refuses is what the change leaves.
    pub(super) fn give_tunables_back(&self, change: &Change) {
        // What no scheduler has is not looked for in the journal.
        let queue = queue_of(&change.file).filter(|_| change.to != NO_SCHEDULER);
        let Some((queue, contents)) = queue.and_then(|queue| Some((queue, self.journal.contents().ok()?)))
        else {
            return;
        };
        let change_log = ChangeLog::of(&contents.records, &self.boot);
        let own = BTreeSet::from([self.session.id.as_str()]);
        let sessions = match change.setting {
            SCHEDULER => own,
            NR_REQUESTS if change_log.found(&change.file) == Some(&change.to) => BTreeSet::new(),
            _ => return,
        };
        let known = Known::of(change_log.tunables.iter(), queue, &sessions);
        if let Some(lost) = self.lost(&known, queue) {
            let _ = write(&self.actuator, queue, lost);
        }
    }

    /// Gives tunables back to the schedulers of the queues that steps were for. Steps of their own have those that the kernel
    /// refuses, and those whose scheduler no step has restored. `own` are the records of this undo.
    pub(super) fn restore_tunables(
        &self,
        report: &[(Step, Restored)],
        change_log: &ChangeLog,
        own: &[Record],
    ) -> Vec<(Step, Restored)> {
        let mut queues: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
        for (step, _) in report {
            if let Some(queue) = queue_of(&step.file) {
                queues.entry(queue).or_default().push(step);
            }
        }
        let each = queues.into_values().filter_map(|steps| {
            // A queue that has its first values has its first tunables.
            let is_first = |step: &&&Step| change_log.found(&step.recorded) == Some(&step.target);
            let later = steps.iter().find(|step| !is_first(step)).map(|_| &steps[..]).unwrap_or_default();
            let sessions = later.iter().flat_map(|step| step.sessions.iter().map(String::as_str)).collect();
            Some((*steps.first()?, sessions))
        });
        let all = each.flat_map(|(step, sessions)| self.restore_queue(step, &sessions, change_log, own));
        let is_restored = |tunable: &Step| {
            report.iter().any(|(step, what)| what.is_undone() && !step.stays && step.may_reset(tunable))
        };
        all.filter(|(tunable, what)| !(what.is_whole() && is_restored(tunable))).collect()
    }

    fn restore_queue(
        &self,
        step: &Step,
        sessions: &BTreeSet<&str>,
        change_log: &ChangeLog,
        own: &[Record],
    ) -> Vec<(Step, Restored)> {
        let (Some(recorded), Some(queue)) = (queue_of(&step.recorded), queue_of(&step.file)) else {
            return Vec::new();
        };
        let known = Known::of(change_log.tunables.iter().chain(own), recorded, sessions);
        let Some(lost) = self.lost(&known, queue) else { return Vec::new() };
        let written = write(&self.actuator, queue, lost).into_iter();
        // Without this record, as after a kill, the next undo restores them.
        let _ = self.record_own_tunables(step, true);
        let reported = written.map(|(name, what)| {
            let target = lost.get(&name).cloned().unwrap_or_default();
            let tunable = Step {
                recorded: path(recorded, &name),
                setting: setting(&name),
                target,
                is_asked: false,
                stays: false,
                file: path(queue, &name),
                ..step.clone()
            };
            (tunable, what.map_or_else(Restored::Failed, |()| Restored::Back))
        });
        reported.collect()
    }

    /// Records the tunables before or after a step of an undo, which goes on where they cannot be recorded.
    ///
    /// # Errors
    /// One could not be read: nothing is recorded.
    pub(super) fn record_own_tunables(&self, step: &Step, after: bool) -> Result<(), String> {
        let found = read(&self.actuator, &step.file);
        if let Some((file, error)) = found.unread {
            return Err(unreadable(&file, &error));
        }
        if let Err(error) = self.record_tunables(&step.device, &step.recorded, found.values, after) {
            self.unrecorded.borrow_mut().get_or_insert(error);
        }
        Ok(())
    }

    /// The tunables that the queue's scheduler has lost.
    fn lost<'a>(&self, known: &'a Known<'_>, queue: &str) -> Option<&'a Tunables> {
        known.lost(&scheduler(&self.actuator, queue)?)
    }
}
