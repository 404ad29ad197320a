//! Tunables: settings that a scheduler has itself, in `queue/iosched` (Documentation/block/deadline-iosched.rst).
//!
//! They go with their scheduler: the same one, set again, begins with the kernel's values. A new number of requests makes the
//! kernel compute `async_depth` anew (`dd_depth_updated`, block/mq-deadline.c). So a change of either file is recorded with the
//! tunables that it finds, and with those that it leaves. A scheduler that iodyno sets again gets the tunables back that it had
//! when iodyno first replaced it, unless another program has set others since.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    actuator::Actuator,
    device::Identity,
    journal::{Event, Record},
    settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER},
};
use crate::model::error_words;

/// Values of a scheduler's tunables, by file name.
pub type Tunables = BTreeMap<String, String>;

/// Their folder in a queue's.
const FOLDER: &str = "iosched";

/// Tunables that set others: `strict_guarantees` raises `slice_idle` (`bfq_strict_guarantees_store`, block/bfq-iosched.c).
const SETTING_OTHERS: [&str; 1] = ["strict_guarantees"];

/// The setting of a tunable.
pub fn setting(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Whether a setting is a tunable.
pub fn is_tunable(setting: &str) -> bool {
    name_of(setting).is_some()
}

/// The tunable's name, if the setting is one.
pub fn name_of(setting: &str) -> Option<&str> {
    setting.strip_prefix(FOLDER)?.strip_prefix('/').filter(|name| is_name(name))
}

/// Whether a tunable may have this value.
pub fn is_value(value: &str) -> bool {
    value.parse::<i64>().is_ok()
}

/// Whether a change of the one setting may change the other, a tunable.
pub fn are_reset(id: &str, other: &str) -> bool {
    [SCHEDULER.0, NR_REQUESTS.0].contains(&id) && is_tunable(other)
}

/// The queue's folder, if the file is one whose change changes tunables.
pub fn queue_of(file: &str) -> Option<&str> {
    let (queue, name) = file.rsplit_once('/')?;
    [SCHEDULER.0, NR_REQUESTS.0].contains(&name).then_some(queue)
}

/// The queue's folder of a tunable's file.
pub fn host_of(file: &str) -> Option<&str> {
    let (folder, _) = file.rsplit_once('/')?;
    folder.strip_suffix(FOLDER)?.strip_suffix('/')
}

/// The queue whose tunables an event is about.
pub fn queue_of_event(event: &Event) -> Option<&str> {
    let file = event.file()?;
    if matches!(event, Event::Left { .. }) { host_of(file) } else { queue_of(file) }
}

/// The queue's scheduler; `None` where it cannot be read.
pub fn scheduler(actuator: &dyn Actuator, queue: &str) -> Option<String> {
    actuator.read(&format!("{queue}/{}", SCHEDULER.0)).ok()
}

/// The tunables of a queue, and which of them are not known.
#[derive(Debug, Default)]
pub struct Found {
    /// The queue's scheduler and its tunables; `None` without any.
    pub values: Option<(String, Tunables)>,
    /// The first file that could not be read although it has a value, and why: what is not known could not be restored.
    pub unread: Option<(String, io::Error)>,
}

/// Reads the tunables that a change of this file changes.
pub fn read(actuator: &dyn Actuator, file: &str) -> Found {
    let Some(queue) = queue_of(file) else { return Found::default() };
    let mut unread = None;
    let mut known = |file: &str, read: io::Result<String>, is_hidden: fn(&io::Error) -> bool| {
        let error = match read {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        if is_hidden(&error) {
            unread.get_or_insert_with(|| (file.to_owned(), error));
        }
        None
    };
    let (file, folder) = (format!("{queue}/{}", SCHEDULER.0), format!("{queue}/{FOLDER}"));
    let scheduler = known(&file, actuator.read(&file), keeps_value).filter(|now| now != NO_SCHEDULER);
    let values = scheduler.and_then(|scheduler| {
        let mut values = Tunables::new();
        match actuator.names(&folder) {
            Ok(names) => {
                for name in names {
                    let file = path(queue, &name);
                    let value = known(&file, actuator.read(&file), hides_value);
                    values.extend(value.map(|value| (name, value)));
                }
            }
            Err(error) => drop(known(&folder, Err(error), hides_value)),
        }
        (!values.is_empty()).then_some((scheduler, values))
    });
    Found { values, unread }
}

/// Whether a file that cannot be read has a value all the same. Others are absent, only take values, or have none now.
pub fn hides_value(error: &io::Error) -> bool {
    const TRANSIENT: [i32; 5] = [libc::EIO, libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EINTR];
    error.raw_os_error().is_some_and(|number| TRANSIENT.contains(&number))
}

/// The same of a file whose value is in the journal: it could be read before.
pub fn keeps_value(error: &io::Error) -> bool {
    hides_value(error) || error.kind() == io::ErrorKind::PermissionDenied
}

/// A tunable's file.
pub fn path(queue: &str, name: &str) -> String {
    format!("{queue}/{FOLDER}/{name}")
}

/// Writes these tunables where they differ or cannot be read; by name what became of them: why one does not have its value.
pub fn write(
    actuator: &dyn Actuator,
    queue: &str,
    tunables: &Tunables,
) -> BTreeMap<String, Result<(), String>> {
    let may_be = |(name, value): &(&String, &String)| is_name(name) && is_value(value);
    let differing = || {
        let now = |(name, value): (&String, &String)| {
            let why = match actuator.read(&path(queue, name)) {
                Ok(now) if now == *value => return None,
                Ok(now) => format!("the kernel shows {now}"),
                Err(error) if hides_value(&error) => error_words(&error),
                // One that this kernel does not have cannot differ.
                Err(_) => return None,
            };
            Some((name.clone(), value.clone(), why))
        };
        tunables.iter().filter(may_be).filter_map(now).collect::<Vec<_>>()
    };
    let mut written = BTreeMap::new();
    // One may set another. Those that are known to go first, so that the commands of a dry run suffice.
    for _ in 0..2 {
        let mut all = differing();
        all.sort_by_key(|(name, ..)| !SETTING_OTHERS.contains(&name.as_str()));
        for (name, value, _) in all {
            // What was refused differs afterwards.
            let _ = actuator.write(&path(queue, &name), &value);
            written.insert(name, Ok(()));
        }
    }
    written.extend(differing().into_iter().map(|(name, _, why)| (name, Err(why))));
    written
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A queue's tunables, by scheduler.
#[derive(Debug, Default)]
pub struct Known<'a>(BTreeMap<&'a str, Scheduler>);

/// What is known of a scheduler's tunables.
#[derive(Debug, Default)]
struct Scheduler {
    /// What iodyno found; `None` where it has only seen its own doing.
    found: Option<Tunables>,
    state: State,
    /// A change that was to give them back was interrupted, and no undo has tried to since.
    is_owed: bool,
    /// A session whose changes are undone has found them.
    is_begun: bool,
}

#[derive(Debug, Default)]
enum State {
    /// As they were last recorded.
    Known(Tunables),
    /// Changed, and not recorded since.
    Changed,
    /// They went with the scheduler.
    #[default]
    Gone,
}

impl<'a> Known<'a> {
    /// Of one queue, from records in their order. The tunables found are those before the changes of these sessions, or before all
    /// if there are none.
    pub fn of(records: impl Iterator<Item = &'a Record>, queue: &str, sessions: &BTreeSet<&str>) -> Self {
        let mut known = Self::default();
        let mut device: Option<&Identity> = None;
        for record in records.filter(|record| queue_of_event(&record.event) == Some(queue)) {
            if let Event::Tunables { device: now, .. } | Event::Change { device: now, .. } = &record.event
                && device.replace(now).is_some_and(|before| before.has_left(now))
            {
                known = Self::default();
            }
            known.take(&record.event, sessions.contains(record.session.as_str()));
        }
        known
    }

    /// The tunables to give back to the queue's scheduler, if it is this one.
    pub fn lost(&self, scheduler: &str) -> Option<&Tunables> {
        let known = self.0.get(scheduler)?;
        known.found.as_ref().filter(|_| known.is_owed || matches!(known.state, State::Changed))
    }

    fn take(&mut self, event: &'a Event, is_undone: bool) {
        match event {
            Event::Tunables { scheduler, values, after: false, .. } => {
                let known = self.0.entry(scheduler).or_default();
                let begins = is_undone && !known.is_begun;
                known.is_begun |= is_undone;
                known.meet(values, begins);
            }
            Event::Tunables { scheduler, values, after: true, .. } => {
                let known = self.0.entry(scheduler).or_default();
                known.is_owed &= known.found.as_ref() != Some(values);
                known.state = State::Known(values.clone());
            }
            Event::Change { old, new, .. } if old == new => {}
            Event::Change { file, old, new, .. } if is_scheduler(file) => {
                if let Some(known) = self.0.get_mut(old.as_str()) {
                    known.state = State::Changed;
                }
                match self.0.get_mut(new.as_str()) {
                    // Another program has replaced it, and with it its tunables.
                    Some(known) if matches!(known.state, State::Known(_)) => known.found = None,
                    Some(known) => known.state = State::Changed,
                    None => {}
                }
            }
            Event::Change { .. } => {
                let shown = self.0.values_mut().filter(|known| matches!(known.state, State::Known(_)));
                shown.for_each(|known| known.state = State::Changed);
            }
            // As after a kill.
            Event::Result { outcome, .. } if outcome.is_unread() => {}
            Event::Result { .. } | Event::Undone { .. } => self.settle(),
            // The tunable has an entry of its own from now on.
            Event::Left { .. } => self.0.values_mut().for_each(|known| known.is_owed = false),
            Event::Open { .. } | Event::Measured(_) | Event::Keep { .. } | Event::Close => {}
        }
    }

    /// A change is over: of the tunables that it changed, those are left that were recorded afterwards.
    fn settle(&mut self) {
        let changed = self.0.values_mut().filter(|known| matches!(known.state, State::Changed));
        changed.for_each(|known| known.state = State::Gone);
    }
}

impl Scheduler {
    /// Takes values that were found before a change.
    fn meet(&mut self, values: &Tunables, begins: bool) {
        match (&mut self.found, &self.state) {
            (Some(found), State::Known(known)) if !begins => {
                // Those that another program has set since.
                let others = values.iter().filter(|(name, value)| known.get(*name) != Some(value));
                found.extend(others.map(|(name, value)| (name.clone(), value.clone())));
            }
            (Some(found), State::Changed) if !begins => self.is_owed |= found != values,
            (found, _) => {
                *found = Some(values.clone());
                self.is_owed = false;
            }
        }
        self.state = State::Known(values.clone());
    }
}

fn is_scheduler(file: &str) -> bool {
    file.rsplit('/').next() == Some(SCHEDULER.0)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, io};

    use super::*;

    /// Tunables of which `z` sets `a` to 0.
    struct Chained(RefCell<Tunables>);

    impl Actuator for Chained {
        fn read(&self, file: &str) -> io::Result<String> {
            let name = file.rsplit('/').next().unwrap();
            self.0.borrow().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
        }

        fn write(&self, file: &str, value: &str) -> io::Result<()> {
            let name = file.rsplit('/').next().unwrap();
            let mut values = self.0.borrow_mut();
            values.insert(name.to_owned(), value.to_owned());
            if name == "z" {
                values.insert("a".to_owned(), "0".to_owned());
            }
            Ok(())
        }
    }

    #[test]
    fn a_tunable_that_a_later_one_sets_is_written_again() {
        let of = |values: [(&str, &str); 2]| values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let chained = Chained(RefCell::new(of([("a", "1"), ("z", "1")]).into()));
        let found = of([("a", "4"), ("z", "2")]).into();
        assert!(write(&chained, "/sys/q", &found).values().all(Result::is_ok));
        assert_eq!(*chained.0.borrow(), found);
    }
}
