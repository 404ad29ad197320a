//! What an undo will do, for the undo and for its dry run.

use std::{collections::BTreeSet, io};

use super::Tuner;
use crate::{
    machine::Machine,
    model::error_words,
    tune::{
        actuator::Actuator,
        change_log::{ChangeLog, Entry, Replaced, is_reset},
        device::{Device, Identity},
        dry_run::DryRun,
        journal::{Journal, Purpose},
        settings::{NO_SCHEDULER, SCHEDULER},
        tags,
        tunables::{self, keeps_value},
        undo::{Restored, Step, Which, plan},
    },
};

/// The plan of an undo in the session `own`, if it has one. A device that has its files without a drive, as a detached loop
/// device has, is empty and not gone.
pub fn plan_undo(
    actuator: &dyn Actuator,
    change_log: &ChangeLog,
    which: &Which<'_>,
    machine: &Machine,
    own: Option<&str>,
) -> (Vec<Step>, Vec<(Entry, Restored)>) {
    let (mut steps, mut left) = plan(change_log, which, machine);
    for (entry, why) in left.iter_mut().filter(|(_, why)| *why == Restored::Gone) {
        if !is_gone(actuator, entry, machine) && actuator.read(&entry.file).is_ok() {
            *why = Restored::Empty;
        }
    }
    // One that another program has set hides them. Without tags to restore, its record would forget those that it hides.
    let resized = steps.iter().filter(|step| step.tags_beside(&steps).is_some());
    let resized: BTreeSet<String> = resized.map(|step| step.file.clone()).collect();
    steps.retain(|step| {
        let has_it = || actuator.read(&step.file).is_ok_and(|now| now == step.target);
        let hides = || step.target != NO_SCHEDULER && resized.contains(&step.file);
        !step.is_detour(change_log) || hides() && has_it()
    });
    for step in &mut steps {
        step.replaced =
            step.replaced.take().filter(|replaced| !is_past(actuator, change_log, step, replaced));
    }
    let is_same = |step: &Step| change_log.companions.iter().any(|entry| entry.file == step.recorded);
    for step in steps.iter_mut().filter(|step| step.stays && step.is_asked && is_same(step)) {
        // iodyno set its first value again; with what it changed besides, that value may be lost.
        step.stays = actuator.read(&step.file).is_ok_and(|now| now == step.target);
    }
    // A session knows its own undos; those of others that the journal could not record are known by their values.
    let is_own = |step: &Step| step.sessions.iter().any(|session| Some(session.as_str()) == own);
    for step in steps.iter_mut().filter(|step| !step.stays && !is_own(step)) {
        let entry = change_log.entries.iter().find(|entry| entry.file == step.recorded);
        if let (Some(entry), Ok(now)) = (entry, actuator.read(&step.file))
            && !step.is_known(&now)
            && !entry.is_unsure
            && !entry.is_let_go
        {
            if is_begun(actuator, step, entry, &now) {
                step.expected = vec![now];
            } else {
                recognise(step, entry, now);
            }
        }
    }
    (steps, left)
}

/// Whether a number of another program that iodyno has replaced is none to restore: it is the kernel's own, or that of a
/// scheduler which another program has replaced since.
fn is_past(actuator: &dyn Actuator, change_log: &ChangeLog, step: &Step, replaced: &Replaced) -> bool {
    let host = replaced.scheduler.as_deref();
    let kernels = tags::requests_with(actuator, &step.file, host.unwrap_or_default());
    let now = tags::scheduler(actuator, &step.file);
    let is_scheduler = |entry: &&Entry| entry.setting == SCHEDULER.0 && entry.device.name == step.device.name;
    let its = change_log.entries.iter().chain(&change_log.companions).find(is_scheduler);
    let is_anothers = |now: &String| Some(now.as_str()) != host && its.is_some_and(|its| !its.may_have(now));
    kernels.as_ref() == Some(&replaced.value) || host.is_some() && now.is_some_and(|now| is_anothers(&now))
}

/// Whether a number of requests is the kernel's own, with which a scheduler begins that is not the one iodyno set them for.
fn is_begun(actuator: &dyn Actuator, step: &Step, entry: &Entry, now: &String) -> bool {
    let Some(scheduler) = tags::scheduler(actuator, &step.file) else { return false };
    entry.host.as_ref().is_some_and(|host| *host != scheduler)
        && tags::requests_with(actuator, &step.file, &scheduler).as_ref() == Some(now)
}

/// Takes a value that an undo of the entry restores for iodyno's own. With the first one, nothing is left to undo.
fn recognise(step: &mut Step, entry: &Entry, now: String) {
    if entry.is_restored(&now) {
        step.target.clone_from(&now);
        step.sessions.clear();
    } else if !entry.has_found(&now) {
        return;
    }
    step.expected = vec![now];
}

/// Whether the drive of an entry took its settings along: its file is gone, or another drive's.
pub(super) fn is_gone(actuator: &dyn Actuator, entry: &Entry, machine: &Machine) -> bool {
    let Ok(device) = entry.device.name.parse::<Device>();
    let is_anothers = || entry.device.has_left(&Identity::of(machine, &device));
    let has_no_file =
        || actuator.read(&entry.file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    // Without any drive, /sys is not this machine's.
    !machine.drives.is_empty() && (is_anothers() || has_no_file())
}

/// The value that another program set. After a kill, one that the killed change or undo may have made is not such a value.
///
/// # Errors
/// What is not known: see [`unread`].
pub(super) fn stranger(
    actuator: &dyn Actuator,
    step: &Step,
    steps: &[Step],
) -> Result<Option<String>, String> {
    let now = actuator.read(&step.file);
    let host = tags::host_file(step).and_then(|file| unread_file(actuator.read(&file), &file));
    if let Some(why) = host {
        return Err(why);
    }
    let now = match now {
        Ok(now) => now,
        unread => return unread_file(unread, &step.file).map_or(Ok(None), Err),
    };
    if step.theirs.is_some() {
        return Ok(step.theirs.clone());
    }
    let interrupted = steps.iter().any(|other| other.expected.len() > 1 && other.may_reset(step));
    let may_be_reset = || step.resets.as_ref().is_some_and(|resets| is_reset(resets, &now));
    let is_own = interrupted && may_be_reset() || step.is_known(&now);
    Ok(if is_own { step.replaced.as_ref().map(|replaced| replaced.value.clone()) } else { Some(now) })
}

/// The scheduler whose requests a value of another program is.
pub(super) fn host(
    actuator: &dyn Actuator,
    step: &Step,
    stranger: &Result<Option<String>, String>,
) -> Option<String> {
    let is_it = |value: &String| stranger.as_ref().is_ok_and(|now| now.as_ref() == Some(value));
    let its = step.replaced.as_ref().filter(|replaced| is_it(&replaced.value));
    let its = its.and_then(|replaced| replaced.scheduler.clone());
    its.or_else(|| tags::scheduler_of(actuator, step)).filter(|host| host != NO_SCHEDULER)
}

/// Why it is not known what a step's file has, in words. Requests are those of a scheduler, or the queue's tags.
pub(super) fn unread(actuator: &dyn Actuator, step: &Step) -> Option<String> {
    let host = tags::host_file(step);
    let mut files = [Some(step.file.as_str()), host.as_deref()].into_iter().flatten();
    files.find_map(|file| unread_file(actuator.read(file), file))
}

fn unread_file(read: io::Result<String>, file: &str) -> Option<String> {
    read.err().filter(keeps_value).map(|error| unreadable(file, &error))
}

/// `nr_requests could not be read (EIO: Input/output error)`.
pub(super) fn unreadable(file: &str, error: &io::Error) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("{name} could not be read ({})", error_words(error))
}

/// Why a step is not made: what its write may reset is not known, or what it finds of tunables.
pub(super) fn unknown(
    actuator: &dyn Actuator,
    step: &Step,
    steps: &[Step],
    strangers: &[Result<Option<String>, String>],
) -> Option<String> {
    let mut others = steps.iter().zip(strangers).filter(|(other, _)| step.may_reset(other));
    let value = others.find_map(|(_, found)| found.as_ref().err().cloned());
    let tunable =
        || tunables::read(actuator, &step.file).unread.map(|(file, error)| unreadable(&file, &error));
    value.or_else(tunable)
}

/// Why a step is refused whose tags a scheduler hides.
pub(super) fn hidden(actuator: &dyn Actuator, step: &Step, steps: &[Step]) -> Option<Restored> {
    let scheduler = tags::hidden_by(actuator, step, steps)?;
    let why = format!("the scheduler {scheduler} hides the tags; set scheduler={NO_SCHEDULER}, then undo");
    Some(Restored::Refused(why))
}

/// Whether an earlier step, on which this one depends, was left to another program. That one's scheduler has no use for a number of
/// tags.
pub(super) fn is_left_with(report: &[(Step, Restored)], step: &Step) -> bool {
    let is_left = |(other, what): &(Step, Restored)| {
        matches!(what, Restored::ModifiedExternally(_)) && other.may_reset(step)
    };
    let is_of_tags = step.host.as_deref() == Some(NO_SCHEDULER) && !step.is_of_tags;
    (!step.is_asked || is_of_tags) && report.iter().any(is_left)
}

/// Whether an earlier step could not restore the scheduler that a step's number of requests is for.
pub(super) fn misses_scheduler(report: &[(Step, Restored)], step: &Step) -> bool {
    let has_failed = |(other, what): &(Step, Restored)| {
        let is_scheduler = other.setting == SCHEDULER.0 && other.target != NO_SCHEDULER;
        is_scheduler && matches!(what, Restored::Failed(_) | Restored::Refused(_)) && other.may_reset(step)
    };
    report.iter().any(has_failed)
}

/// Whether the requests that a step restores are those of a scheduler which another program has replaced, or of the queue's tags,
/// which are restored on the way of such a scheduler.
pub(super) fn have_gone(actuator: &dyn Actuator, report: &[(Step, Restored)], step: &Step) -> bool {
    let Some(its) = &step.host else { return false };
    let is_way = |(other, what): &(Step, Restored)| {
        other.setting == SCHEDULER.0 && what.is_whole() && other.may_reset(step)
    };
    let is_another = || tags::scheduler(actuator, &step.file).is_some_and(|now| now != *its);
    let may_go = if its == NO_SCHEDULER { report.iter().any(is_way) } else { true };
    may_go && step.is_of_tags == (its == NO_SCHEDULER) && is_another()
}

/// The results of an undo that is not made, and its writes.
#[derive(Debug)]
pub struct Foreseen {
    /// The results.
    pub report: Vec<(Step, Restored)>,
    /// In order: the file and its value.
    pub writes: Vec<(String, String)>,
}

/// What an undo in the session `own`, or in a new one, would do.
pub fn foreseen(
    actuator: &dyn Actuator,
    change_log: &ChangeLog,
    which: &Which<'_>,
    machine: &Machine,
    own: Option<&str>,
    force: bool,
) -> Foreseen {
    let (dry_run, journal) = (DryRun::new(actuator), Journal::in_memory());
    let session = journal.unrecorded(0);
    let tuner = Tuner::of(session, Purpose::Command, None, &journal, &dry_run, "", || 0);
    let own = own.unwrap_or(tuner.session());
    let report = tuner.undo_as(own, machine, change_log, which, force);
    drop(tuner);
    Foreseen { report, writes: dry_run.writes() }
}
