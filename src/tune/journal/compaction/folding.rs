//! Leaves out sessions between the first and the last change of their files.
//!
//! A setting that is set again and again, and kept, stays changed until its undo or a reboot. A session goes only where each
//! entry stays as it is, with its open sessions: what later records make of the entries is then the same as well.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

use super::files;
use crate::tune::{
    change::Outcome,
    change_log::{Entry, Taken},
    journal::{Event, Record},
    tunables::queue_of,
};

/// Attempts to leave out sessions, each of which takes all records again. A session that has to stay costs two for each halving.
const ATTEMPTS: usize = 40;

/// These records of one journal without sessions of this boot that make no difference.
pub(super) fn folded<'a>(
    records: Vec<&'a Record>,
    boot: &str,
    is_living: impl Fn(&str) -> bool,
) -> Vec<Cow<'a, Record>> {
    let its: Vec<&Record> = records.iter().copied().filter(|record| record.boot == boot).collect();
    let mut between = between(&its, is_living);
    if between.is_empty() {
        return records.into_iter().map(Cow::Borrowed).collect();
    }
    let going_on = going_on(&its);
    let without = |left_out: &HashSet<&str>| without(&its, left_out, &going_on);
    let whole = entries(&without(&HashSet::new()));
    let places = whole.iter().flat_map(|entry| entry.open.iter().chain(&entry.left));
    let unkept: HashSet<&str> = places.map(|opened| opened.session.as_str()).collect();
    between.retain(|session| !unkept.contains(session));
    let mut left_out: HashSet<&str> = HashSet::new();
    // Long parts first: they shorten most.
    let mut parts = VecDeque::from([&between[..]]);
    for _ in 0..ATTEMPTS {
        let Some(part) = parts.pop_front() else { break };
        let more: HashSet<&str> = left_out.iter().chain(part).copied().collect();
        if entries(&without(&more)) == whole {
            left_out = more;
        } else if part.len() > 1 {
            parts.extend(<[_; 2]>::from(part.split_at(part.len() / 2)));
        }
    }
    let mut left = without(&left_out).into_iter().peekable();
    let mut folded = Vec::new();
    for record in records {
        let is_gain = matches!(record.event, Event::Measured(_));
        let is_here = |next: &(&Record, Cow<'_, Record>)| std::ptr::eq(next.0, record);
        match left.next_if(is_here) {
            Some((_, changed)) => folded.push(changed),
            None if is_gain || record.boot != boot => folded.push(Cow::Borrowed(record)),
            None => {}
        }
    }
    folded
}

/// The changes that find what iodyno left: their places among these records.
fn going_on(records: &[&Record]) -> HashSet<usize> {
    let mut taken = Taken::default();
    let mut going_on = HashSet::new();
    for (place, record) in records.iter().enumerate() {
        if taken.goes_on(&record.event) {
            going_on.insert(place);
        }
        taken.take(record);
    }
    going_on
}

/// These records without some sessions, each with the record that it was: a change that found what one of them left says so.
fn without<'a>(
    records: &[&'a Record],
    left_out: &HashSet<&str>,
    going_on: &HashSet<usize>,
) -> Vec<(&'a Record, Cow<'a, Record>)> {
    let mut gaps: HashSet<&str> = HashSet::new();
    let mut left = Vec::with_capacity(records.len());
    for (place, record) in records.iter().copied().enumerate() {
        let files = files(&record.event);
        if left_out.contains(record.session.as_str()) {
            gaps.extend(files);
            continue;
        }
        let mut of_gap = false;
        for file in files {
            of_gap |= gaps.remove(file);
        }
        let mut flagged = Cow::Borrowed(record);
        if of_gap
            && going_on.contains(&place)
            && let Event::Change { follows, .. } = &mut flagged.to_mut().event
        {
            *follows = true;
        }
        left.push((record, flagged));
    }
    left
}

/// The entries after these records.
fn entries(records: &[(&Record, Cow<'_, Record>)]) -> Vec<Entry> {
    Taken::of(records.iter().map(|(_, record)| &**record)).into_entries()
}

/// Dead sessions that are neither the first nor the last ones of any file, in their order.
fn between<'a>(records: &[&'a Record], is_living: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let mut ends: HashMap<&str, [&str; 2]> = HashMap::new();
    let (mut sessions, mut known, mut staying) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut changed: HashSet<(&str, &str)> = HashSet::new();
    let tuned: HashSet<&str> = records.iter().filter_map(|record| tuned(record)).collect();
    let has_tunables = |file: &str| queue_of(file).is_some_and(|queue| tuned.contains(queue));
    for record in records {
        let session = record.session.as_str();
        if known.insert(session) {
            sessions.push(session);
        }
        let mut names = files(&record.event);
        // What it left of tunables is compared with what the next ones find.
        if matches!(&record.event, Event::Change { file, .. } | Event::Tunables { file, .. } if has_tunables(file))
        {
            staying.insert(session);
        }
        match &record.event {
            Event::Keep { files } => names.extend(files.iter().map(String::as_str)),
            Event::Change { file, .. } => drop(changed.insert((session, file))),
            // It shows that a damaged line was its change.
            Event::Result { file, outcome: Outcome::Accepted, .. } if !changed.contains(&(session, file)) => {
                staying.insert(session);
            }
            _ => {}
        }
        for name in names {
            ends.entry(name).or_insert([session; 2])[1] = session;
        }
    }
    staying.extend(ends.into_values().flatten());
    sessions.retain(|session| !staying.contains(session) && !is_living(session));
    sessions
}

/// The queue of which a record has tunables.
fn tuned(record: &Record) -> Option<&str> {
    let Event::Tunables { file, .. } = &record.event else { return None };
    queue_of(file)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::{
        change_log::ChangeLog,
        journal::{Purpose, compaction::tests::records_of},
        testing::change,
    };

    /// Sessions that set a value, no two the same one, and keep it.
    fn kept_sets(count: usize) -> Vec<Record> {
        let of_one = |number: usize| {
            let value = |number: usize| (128 + number).to_string();
            let outcome = Outcome::Accepted;
            let events = [
                Event::Open { purpose: Purpose::Command, pid: 1 },
                change("/f", &value(number), &value(number + 1)),
                Event::Result { file: "/f".into(), outcome, affected: vec![] },
                Event::Keep { files: vec![] },
                Event::Close,
            ];
            let session = format!("{number:x}-a");
            events.map(|event| Record { time: 1, boot: "now".into(), session: session.clone(), event })
        };
        (0..count).flat_map(of_one).collect()
    }

    fn fold(records: &[Record]) -> Vec<Record> {
        folded(records.iter().collect(), "now", |session| session == "e-e")
            .into_iter()
            .map(Cow::into_owned)
            .collect()
    }

    #[test]
    fn kept_sets_of_one_setting_fold_into_the_first_and_the_last() {
        let all = kept_sets(8000);
        let folded = fold(&all);
        let mut expected = [&all[..5], &all[all.len() - 5..]].concat();
        if let Event::Change { follows, .. } = &mut expected[6].event {
            *follows = true;
        }
        assert_eq!(folded, expected);
        assert_eq!(ChangeLog::of(&folded, "now"), ChangeLog::of(&all, "now"));
    }

    #[test]
    fn a_session_that_an_undo_needs_stays_between_others_that_go() {
        let mut all = kept_sets(1000);
        // The last 20 were killed before they kept their changes.
        let kept = all.len() - 20 * 5;
        let mut index = 0..;
        all.retain(|record| index.next() < Some(kept) || !matches!(record.event, Event::Keep { .. }));
        let folded = fold(&all);
        assert_eq!(ChangeLog::of(&folded, "now"), ChangeLog::of(&all, "now"));
        assert_eq!(ChangeLog::of(&all, "now").entries[0].open.len(), 20);
        assert_eq!(folded.len(), 5 + 20 * 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn a_fold_at_any_moment_changes_nothing_that_comes_after_it(
            before in records_of("[1-9]-a", 60),
            after in records_of("e-e", 20),
        ) {
            let folded = [fold(&before), after.clone()].concat();
            let all = [before, after].concat();
            let (folded, all) = (ChangeLog::of(&folded, "now"), ChangeLog::of(&all, "now"));
            let undone = |change_log: ChangeLog| {
                let forced = change_log.clone().with_left();
                (change_log.entries, change_log.companions, change_log.sessions, change_log.ended, forced.entries)
            };
            prop_assert_eq!(undone(folded), undone(all));
        }
    }
}
