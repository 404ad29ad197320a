//! The writes of an undo, as [`plan_undo`] plans them.

use std::io::ErrorKind;

use super::{
    Tuner,
    planning::{
        have_gone, hidden, host, is_gone, is_left_with, misses_scheduler, plan_undo, stranger, unknown,
        unread, unreadable,
    },
};
use crate::{
    machine::Machine,
    model::error_words,
    tune::{
        actuator::Actuator,
        change::Outcome,
        change_log::{ChangeLog, Entry},
        journal::{Affected, Event},
        resets::becoming,
        settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER},
        tags, tunables,
        undo::{Restored, Step, Which},
    },
};

/// What is known of a step's file before an undo makes any step.
struct Before {
    /// What it has.
    found: Option<String>,
    /// The value of another program; the error is why it is not known.
    stranger: Result<Option<String>, String>,
    /// Why the step is not made.
    unknown: Option<String>,
    /// The scheduler whose requests the other program's value is.
    host: Option<String>,
    /// As in [`Tuner::becoming`].
    becoming: Option<Vec<String>>,
}

impl Tuner<'_> {
    /// [`Self::undo`] for a caller that has the turn.
    pub(in crate::tune) fn undo_in_turn(
        &self,
        machine: &Machine,
        change_log: &ChangeLog,
        which: &Which<'_>,
        force: bool,
    ) -> Vec<(Step, Restored)> {
        self.undo_as(self.session(), machine, change_log, which, force)
    }

    /// The same in this session.
    pub(super) fn undo_as(
        &self,
        session: &str,
        machine: &Machine,
        change_log: &ChangeLog,
        which: &Which<'_>,
        force: bool,
    ) -> Vec<(Step, Restored)> {
        let begins = self.records().len();
        let (mut steps, left) = plan_undo(&self.actuator, change_log, which, machine, Some(session));
        self.keep_current(&mut steps);
        let is_same = |step: &&Step| change_log.companions.iter().any(|entry| entry.file == step.recorded);
        steps.iter().filter(is_same).for_each(|step| self.record_lost(step));
        let befores = self.befores(&mut steps, force);
        // A number that was kept for a scheduler may be one of tags now.
        let has_new_tags = |step: &Step, restored: &Restored| {
            step.stays && *restored == Restored::Back && self.writes_tags(step)
        };
        let mut report = self.restored(&steps, &befores, force);
        let own = self.records()[begins..].to_vec();
        let mut tunables = self.restore_tunables(&report, change_log, &own);
        tunables.retain(|(step, _)| steps.iter().all(|other| other.file != step.file));
        // Before their scheduler is recorded as restored: a kill in between would lose them.
        for (step, _) in tunables.iter().filter(|(_, what)| !what.is_whole()) {
            self.record_left(step);
        }
        for (step, restored) in report.iter_mut().filter(|(_, restored)| restored.is_whole()) {
            if let Some(why) = unread(&self.actuator, step) {
                *restored = Restored::Failed(why);
            }
        }
        let is_not_known = |(step, what): &&(Step, Restored)| {
            let is_left = matches!(what, Restored::Failed(_) | Restored::Refused(_));
            let has_unread = || tunables::read(&self.actuator, &step.file).unread.is_some();
            is_left && (unread(&self.actuator, step).is_some() || has_unread())
        };
        let not_known: Vec<Step> =
            report.iter().chain(&tunables).filter(is_not_known).map(|(step, _)| step.clone()).collect();
        let mut undone = Vec::new();
        for ((step, restored), before) in report.iter_mut().zip(befores) {
            self.end_tunable(step, &steps, restored);
            let is_displaced = matches!(restored, Restored::Displaced { .. });
            // What it has reset is not known. As after a kill, its undo is not over: the next one restores that as well.
            let is_over = !not_known.iter().any(|other| step.may_reset(other));
            if is_over && (is_displaced || restored.is_whole()) {
                match self.actuator.read(&step.file) {
                    Ok(now)
                        if now == step.target && (step.is_taken_back() || has_new_tags(step, restored)) =>
                    {
                        self.record_taken_back(step, change_log, restored);
                    }
                    Ok(_) if step.stays => {}
                    Ok(now) if now == step.target => {
                        let (file, sessions) = (step.recorded.clone(), step.sessions.clone());
                        undone.push(Event::Undone { file, value: now, sessions });
                    }
                    _ if is_displaced => {}
                    Ok(now) => *restored = Restored::Failed(format!("reverted to {now}")),
                    Err(error) => *restored = Restored::Failed(error.to_string()),
                }
            }
            // An earlier step of this undo has restored it.
            if restored.is_whole() && before.found.is_some_and(|found| found != step.target) {
                *restored = Restored::Back;
            }
        }
        // The last one that another program has set.
        for (step, restored) in &mut report {
            if let (Restored::ModifiedExternally(value), Ok(now)) = (restored, self.actuator.read(&step.file))
            {
                *value = now;
            }
        }
        // At once: until all that reset a file are recorded as undone, what it had is.
        self.record_undos(undone);
        // Also of those that had their value until another step of this undo reset them.
        let has_failed = |(_, what): &&(Step, Restored)| matches!(what, Restored::Failed(_));
        report.iter().filter(has_failed).for_each(|(step, _)| self.record_left(step));
        self.record_gone(&left, machine);
        // Files that kept their value are not reported.
        let has_kept = |step: &Step| step.stays || step.is_detour(change_log);
        report.retain(|(step, what)| !(has_kept(step) && what.is_whole()));
        report.extend(tunables);
        report.extend(left.into_iter().map(|(entry, why)| (Step::untouched(entry), why)));
        report
    }

    /// What each step finds. A step whose value of another program is kept has it from here on.
    fn befores(&self, steps: &mut [Step], force: bool) -> Vec<Before> {
        // First: what another program sets from here on is none of these.
        let found: Vec<_> = steps.iter().map(|step| self.actuator.read(&step.file).ok()).collect();
        let becoming = |(step, found): (&Step, &Option<String>)| {
            self.becoming(step, steps, found.as_ref()).filter(|_| !force)
        };
        let becoming: Vec<_> = steps.iter().zip(&found).map(becoming).collect();
        let strangers: Vec<Result<Option<String>, String>> =
            steps.iter().map(|step| stranger(&self.actuator, step, steps)).collect();
        for (step, stranger) in steps.iter_mut().zip(&strangers) {
            let is_kept = (step.stays || !force) && step.setting != NR_REQUESTS.0;
            step.theirs = stranger.as_ref().ok().and_then(Option::clone).filter(|_| is_kept);
        }
        let unknown = steps.iter().map(|step| unknown(&self.actuator, step, steps, &strangers));
        let hosts = steps.iter().zip(&strangers).map(|(step, stranger)| host(&self.actuator, step, stranger));
        let rest: Vec<_> = unknown.zip(hosts).collect();
        let all = found.into_iter().zip(strangers).zip(rest).zip(becoming);
        let before = |(((found, stranger), (unknown, host)), becoming)| Before {
            found,
            stranger,
            unknown,
            host,
            becoming,
        };
        all.map(before).collect()
    }

    /// Restores the steps in their order.
    fn restored(&self, steps: &[Step], befores: &[Before], force: bool) -> Vec<(Step, Restored)> {
        let mut report: Vec<(Step, Restored)> = Vec::new();
        for (step, before) in steps.iter().zip(befores) {
            // What it has, or what would be reset with it, is not known: the next undo finds all as it is.
            if let Some(why) = before.stranger.as_ref().err().or(before.unknown.as_ref()) {
                report.push((step.clone(), Restored::Refused(why.clone())));
                continue;
            }
            let is_reset = |other: &Step| report.iter().any(|(earlier, _)| earlier.may_reset(other));
            let others = steps.iter().zip(befores.iter().map(|before| &before.found));
            self.meet(others.filter(|(other, _)| step.may_reset(other) && !is_reset(other)));
            let becoming = before.becoming.as_ref();
            let restored = match becoming.and_then(|values| self.set_meanwhile(step, values)) {
                Some(_) if step.stays => (step.clone(), Restored::AlreadyThere),
                Some(now) => (step.clone(), Restored::ModifiedExternally(now)),
                None => self.restored_after(&report, step, steps, before, force),
            };
            report.push(restored);
        }
        report
    }

    /// Restores a step after those of the report, or leaves it to another program, of which this undo knew or which it met.
    fn restored_after(
        &self,
        report: &[(Step, Restored)],
        step: &Step,
        steps: &[Step],
        before: &Before,
        force: bool,
    ) -> (Step, Restored) {
        let known = before.stranger.as_ref().ok().and_then(Option::clone);
        let stranger = known.or_else(|| self.met.borrow_mut().remove(&step.file));
        let is_gone = stranger.is_none() && have_gone(&self.actuator, report, step);
        // What changed with a setting that another program has changed since is that one's.
        let stranger = match stranger {
            None if is_left_with(report, step) => self.actuator.read(&step.file).ok(),
            stranger => stranger,
        };
        let restored = match stranger {
            // Without it the number would be one of tags, or of another scheduler.
            _ if (is_gone || self.writes_tags(step)) && misses_scheduler(report, step) => {
                Restored::Refused("its scheduler is not restored".to_owned())
            }
            // They went with their scheduler, which another program has replaced.
            _ if is_gone => return (self.as_it_is(step), Restored::AlreadyThere),
            Some(value) if step.stays || !force => self.leave(step, steps, value, before.host.clone()),
            // An earlier step of this undo may have reset it.
            _ => match &before.becoming {
                Some(values) => {
                    let expected = [&step.expected[..], &values[..]].concat();
                    self.restore(&Step { expected, ..step.clone() }, steps, force)
                }
                None => self.restore(step, steps, force || steps.iter().any(|other| other.may_reset(step))),
            },
        };
        (step.clone(), restored)
    }

    /// The values that a step's file may have after the steps of this undo that reset it; `None` where these are not known, or
    /// where there is no such step.
    fn becoming(&self, step: &Step, steps: &[Step], found: Option<&String>) -> Option<Vec<String>> {
        let resetting = || steps.iter().filter(|other| other.may_reset(step));
        let mut values = vec![found.filter(|_| resetting().next().is_some())?.clone()];
        values.extend(step.tags.clone());
        // The way to a scheduler may lead over none.
        let on_the_way =
            resetting().filter(|other| other.setting == SCHEDULER.0).map(|other| (other, NO_SCHEDULER));
        for (other, value) in resetting().map(|other| (other, other.target.as_str())).chain(on_the_way) {
            let becomes = becoming(&self.actuator, &other.setting, value, &step.file);
            if becomes.is_empty() {
                return None;
            }
            values.extend(becomes);
        }
        Some(values)
    }

    /// Notes what other programs have set since these files had these values, before this undo resets them.
    fn meet<'s>(&self, befores: impl Iterator<Item = (&'s Step, &'s Option<String>)>) {
        for (step, before) in befores.filter(|(step, _)| step.theirs.is_none()) {
            if let Some(now) = self.actuator.read(&step.file).ok().filter(|now| Some(now) != before.as_ref())
            {
                self.met.borrow_mut().insert(step.file.clone(), now);
            }
        }
    }

    /// What another program has set while this undo reset the file, which may have made one of these values of it.
    fn set_meanwhile(&self, step: &Step, becoming: &[String]) -> Option<String> {
        let now = self.actuator.read(&step.file).ok()?;
        let is_own = step.is_known(&now) || becoming.contains(&now);
        (!is_own).then_some(now)
    }

    /// Of two values that are possible after a kill, a step that keeps its value keeps the current one.
    fn keep_current(&self, steps: &mut [Step]) {
        for step in steps.iter_mut().filter(|step| step.stays && !step.is_taken_back()) {
            if let Ok(now) = self.actuator.read(&step.file)
                && step.expected.contains(&now)
            {
                step.target = now;
            }
        }
    }

    /// Records the changes of drives that are gone as undone.
    fn record_gone(&self, left: &[(Entry, Restored)], machine: &Machine) {
        // Nothing is written for them, so one sync is enough. After a kill the next undo finds the rest gone, too.
        let gone = left
            .iter()
            .filter(|(entry, why)| *why == Restored::Gone && is_gone(&self.actuator, entry, machine));
        let undone = |(entry, _): &(Entry, Restored)| {
            let (file, value) = (entry.file.clone(), entry.found.clone());
            Event::Undone { file, value, sessions: Vec::new() }
        };
        self.record_undos(gone.map(undone).collect());
    }

    /// Records a first value that iodyno had set again and that is lost now: until it is restored, it counts as changed.
    fn record_lost(&self, step: &Step) {
        if !step.stays && self.actuator.read(&step.file).is_ok_and(|now| now != step.target) {
            self.record_as_it_is(step);
        }
    }

    /// A tunable after all steps: one may have set another, and all of them go with their scheduler.
    fn end_tunable(&self, step: &Step, steps: &[Step], restored: &mut Restored) {
        if !tunables::is_tunable(&step.setting) {
            return;
        }
        match self.actuator.read(&step.file) {
            Ok(now) if now == step.target && matches!(restored, Restored::Failed(_)) => {
                *restored = Restored::Back;
            }
            Ok(now) if now != step.target && restored.is_whole() => {
                *restored = self.restore(step, steps, true);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *restored = Restored::Gone;
                let (file, sessions) = (step.recorded.clone(), step.sessions.clone());
                self.record_undo(Event::Undone { file, value: step.target.clone(), sessions });
            }
            _ => {}
        }
    }

    /// Records what this undo could not restore, so that the next one is offered.
    fn record_left(&self, step: &Step) {
        if let Ok(now) = self.actuator.read(&step.file)
            && now != step.target
        {
            self.record_undo(Event::Left {
                device: step.device.clone(),
                setting: step.setting.clone(),
                file: step.recorded.clone(),
                value: step.target.clone(),
                now,
            });
        }
    }

    /// The step without anything to restore.
    fn as_it_is(&self, step: &Step) -> Step {
        let target = self.actuator.read(&step.file).unwrap_or_else(|_| step.target.clone());
        Step { target, ..step.clone() }
    }

    /// Records a change to the target that needs no write.
    fn record_as_it_is(&self, step: &Step) {
        let target = || step.target.clone();
        self.record_step(step, [target(), target()], Vec::new(), step.is_of_tags);
    }

    /// Records a write from the old value to the new one.
    fn record_step(&self, step: &Step, [old, new]: [String; 2], affected: Vec<Affected>, tags: bool) {
        self.record_undo(Event::Change {
            device: step.device.clone(),
            setting: step.setting.clone(),
            file: step.recorded.clone(),
            old,
            new,
            affected,
            tags,
            host: None,
            undo: true,
            follows: false,
        });
    }

    /// Records that a file has its own value again, which counts as changed until that is undone as well.
    fn record_taken_back(&self, step: &Step, change_log: &ChangeLog, restored: &Restored) {
        if *restored != Restored::Back {
            self.record_as_it_is(step);
        }
        let file = step.recorded.clone();
        let entry = change_log.entries.iter().find(|entry| entry.file == file);
        let result = Event::Result { file: file.clone(), outcome: Outcome::Accepted, affected: Vec::new() };
        self.record_undo(result);
        // A session that changed it only along with the other has nothing left to undo.
        let own = self.session();
        if entry.and_then(|entry| entry.before(&[own])) == Some(&step.target) {
            let (value, sessions) = (step.target.clone(), vec![own.to_owned()]);
            self.record_undo(Event::Undone { file, value, sessions });
        }
    }

    /// Keeps another program's value, also when an earlier step has reset it. Requests of the scheduler `host` go with it: the
    /// same number would be one of tags.
    fn leave(&self, step: &Step, steps: &[Step], value: String, host: Option<String>) -> Restored {
        // What this undo does not reset has a newer value of another program.
        let is_own =
            |now: &String| step.expected.contains(now) || steps.iter().any(|other| other.may_reset(step));
        let is_reset = match self.actuator.read(&step.file) {
            Ok(now) => now != value && is_own(&now),
            Err(error) => tunables::keeps_value(&error),
        };
        let gone = host.filter(|_| self.writes_tags(step));
        let refused = match gone {
            _ if !is_reset => None,
            Some(host) => Some(format!("it belonged to the scheduler {host}")),
            None => self.actuator.write(&step.file, &value).err().map(|error| error_words(&error)),
        };
        match (self.actuator.read(&step.file), refused) {
            (Ok(now), Some(why)) if now != value && !tags::is_schedulers(&step.setting, &value, &now) => {
                self.displaced(step, steps, (value, now), why)
            }
            (Err(error), Some(_)) => Restored::Failed(unreadable(&step.file, &error)),
            _ if step.stays => Restored::AlreadyThere,
            // The kernel's number is no other program's.
            (Ok(now), Some(_)) if now != value => self.restore(step, steps, true),
            (Ok(now), _) if now == step.target => self.restore(step, steps, false),
            // By force too, unless that restores the scheduler.
            (now, _) => hidden(&self.actuator, step, steps)
                .filter(|_| tags::scheduler_step(step, steps).is_none())
                .unwrap_or_else(|| Restored::ModifiedExternally(now.unwrap_or(value))),
        }
    }

    /// Restores a file whose value of another program the kernel refused: the value now is no program's.
    fn displaced(
        &self,
        step: &Step,
        steps: &[Step],
        (theirs, now): (String, String),
        why: String,
    ) -> Restored {
        if !step.stays {
            // The report has the value that is read afterwards.
            let _ = self.restore(step, steps, true);
        }
        Restored::Displaced { theirs, now: self.actuator.read(&step.file).unwrap_or(now), why }
    }

    pub(super) fn restore(&self, step: &Step, steps: &[Step], force: bool) -> Restored {
        let now = match self.actuator.read(&step.file) {
            Ok(now) => now,
            Err(error) => return Restored::Failed(error.to_string()),
        };
        if let Some(refused) = hidden(&self.actuator, step, steps) {
            return refused;
        }
        let way = tags::way(step, steps, &now);
        if way.is_empty() {
            if !(step.is_of_tags && self.writes_tags(step)) {
                return Restored::AlreadyThere;
            }
            return match self.resize(step, None) {
                Ok(true) => Restored::Resized,
                Ok(false) => Restored::AlreadyThere,
                Err(words) => Restored::Failed(words),
            };
        }
        if !force && !step.is_known(&now) {
            return Restored::ModifiedExternally(now);
        }
        let mut from = now;
        for to in way {
            if let Err(why) = self.step(step, steps, &from, &to) {
                return why;
            }
            from = to;
        }
        Restored::Back
    }

    /// Writes one value on the way to a step's target; the error is why it is not restored.
    pub(super) fn step(&self, step: &Step, steps: &[Step], from: &str, to: &str) -> Result<(), Restored> {
        let tags = self.writes_tags(step);
        let is_recorded = !step.stays || step.is_taken_back() || tags;
        let beside = || steps.iter().filter(|other| step.may_reset(other));
        let befores: Vec<_> = beside().map(|other| self.actuator.read(&other.file).ok()).collect();
        if is_recorded {
            let affected = beside().zip(&befores).filter_map(|(other, now)| {
                let (setting, file) = (other.setting.clone(), other.recorded.clone());
                // Another program's value is restored after this. Any other that is not expected is one on its way.
                let now = || match now {
                    Some(now) => Some(now).filter(|now| other.expected.contains(now)).cloned(),
                    None => other.expected.last().cloned(),
                };
                let value = other.theirs.clone().or_else(now)?;
                Some(Affected { setting, file, value, becomes: Vec::new() })
            });
            self.record_own_tunables(step, false).map_err(Restored::Refused)?;
            self.record_step(step, [from, to].map(str::to_owned), affected.collect(), tags);
        }
        // While the journal was synced.
        let meanwhile = self.actuator.read(&step.file).ok().filter(|now| now != from);
        self.meet(beside().zip(&befores));
        let outcome = match meanwhile {
            Some(_) => Outcome::Ignored,
            None => self.write(&step.setting, &step.file, from, to),
        };
        if outcome != Outcome::Accepted {
            let words = outcome.to_string();
            // Tunables that are not known count as changed while the change has no result, as after a kill.
            if is_recorded && (outcome.is_unread() || self.record_own_tunables(step, true).is_ok()) {
                let file = step.recorded.clone();
                self.record_undo(Event::Result { file, outcome, affected: Vec::new() });
            }
            return Err(meanwhile.map_or(Restored::Failed(words), Restored::ModifiedExternally));
        }
        if to != step.target
            && let Some(requests) = step.tags_beside(steps)
        {
            self.resize(requests, requests.tags.as_deref()).map_err(Restored::Failed)?;
        }
        Ok(())
    }

    /// Whether a write of the step's file changes the queue's tags.
    fn writes_tags(&self, step: &Step) -> bool {
        tags::are_changed(&self.actuator, &step.setting, &step.file)
    }

    /// Gives a queue without a scheduler this many tags, or as many as the file of these requests shows. Whether that was
    /// written; the error in words.
    fn resize(&self, requests: &Step, tags: Option<&str>) -> Result<bool, String> {
        let Some(numbers) = tags::resizing(&self.actuator, &requests.file, tags) else { return Ok(false) };
        if !requests.stays {
            // After a kill, or an error, the file may have either.
            self.record_step(requests, numbers.clone(), Vec::new(), true);
        }
        let resized = tags::resize(&self.actuator, &requests.file, &numbers);
        let refused = |error| format!("the queue's tags were not resized ({})", error_words(&error));
        resized.map(|()| true).map_err(refused)
    }
}
