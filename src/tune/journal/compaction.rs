//! Shortens a journal: drops what can no longer be undone.
//!
//! Kept are the records of a file since it and the files that change along with it last had their first values, the records
//! of living sessions, and the last gain measured for each value. Of a file that is changed again and again, the first and the
//! last session stay ([`folding`]).

mod folding;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io::BufRead,
};

use super::{
    Event, Gain, Record,
    reading::{Line, without_change},
};
use crate::tune::{
    change_log::{ChangeLog, Taken},
    tunables::{queue_of, queue_of_event},
};
use folding::folded;

/// What stays at the beginning of a journal.
enum Front {
    Damaged(Vec<u8>),
    /// The index of a result whose change may be a damaged line before it.
    Result(usize),
}

/// The journal's text without what can no longer be undone; `None` unless that halves it. Damaged lines stay, at its
/// beginning: they may be changes that the user has to undo by hand. A result without its change stays behind them: it shows
/// that one of them was this change.
pub(super) fn shortened(
    mut content: impl BufRead,
    boot: &str,
    is_living: impl Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let (mut front, mut records, mut length) = (Vec::new(), Vec::new(), 0);
    let mut line = Line::default();
    while line.next(&mut content).ok()? {
        length += line.length;
        let (record, why) = line.parsed();
        if !front.is_empty()
            && record.as_ref().is_some_and(|record| without_change(&records, record).is_some())
        {
            front.push(Front::Result(records.len()));
        }
        if why.is_some() {
            // A record behind zeros is among the records.
            let zeros = (line.has_zeros || record.is_some()).then_some(0);
            let bytes = if record.is_some() { &[][..] } else { &line.bytes };
            front.push(Front::Damaged(zeros.iter().chain(bytes).copied().collect()));
        }
        records.extend(record);
    }
    let left = folded(kept(&records, boot, &is_living)?, boot, &is_living);
    let stays: HashSet<*const Record> = left.iter().map(|record| std::ptr::from_ref(&**record)).collect();
    let mut out = Vec::new();
    for what in front {
        match what {
            Front::Damaged(bytes) => out.extend(bytes),
            Front::Result(at) if stays.contains(&std::ptr::from_ref(&records[at])) => continue,
            Front::Result(at) => serde_json::to_writer(&mut out, &records[at]).ok()?,
        }
        out.push(b'\n');
    }
    for record in left {
        serde_json::to_writer(&mut out, &*record).ok()?;
        out.push(b'\n');
    }
    (out.len() <= length / 2).then_some(out)
}

/// The records that still count; `None` if another change log would follow from them.
fn kept<'a>(records: &'a [Record], boot: &str, is_living: impl Fn(&str) -> bool) -> Option<Vec<&'a Record>> {
    let mut groups = Groups::of(records.iter().filter(|record| record.boot == boot));
    let mut first_kept: HashMap<usize, usize> = HashMap::new();
    let mut taken = Taken::default();
    for (index, record) in records.iter().enumerate().filter(|(_, record)| record.boot == boot) {
        taken.take(record);
        // A change follows the tunables that it finds.
        let is_beginning = matches!(record.event, Event::Tunables { .. });
        if !is_beginning
            && let Some(group) = record.event.file().and_then(|file| groups.of_file(file))
            && groups.is_closed(group, &taken)
        {
            first_kept.insert(group, index + 1);
        }
    }
    let is_kept = |index: usize, file: &str| {
        let group = groups.of_file(file);
        group.is_some_and(|group| first_kept.get(&group).is_none_or(|first| *first <= index))
    };
    let counts = |index: usize, record: &Record| {
        record.boot == boot && record.event.file().is_some_and(|file| is_kept(index, file))
    };
    let of_files = records.iter().enumerate().filter(|(index, record)| counts(*index, record));
    let sessions: HashSet<&str> = of_files.map(|(_, record)| record.session.as_str()).collect();
    let gains = last_gains(records);
    let stays = |index: usize, record: &Record| match &record.event {
        Event::Measured(_) => gains.contains(&index),
        // Of an undo, which has no other record of the file.
        Event::Keep { files } if record.boot == boot && files.iter().any(|file| is_kept(index, file)) => true,
        Event::Open { .. } | Event::Keep { .. } | Event::Close => {
            record.boot == boot && (sessions.contains(record.session.as_str()) || is_living(&record.session))
        }
        Event::Change { .. }
        | Event::Tunables { .. }
        | Event::Result { .. }
        | Event::Undone { .. }
        | Event::Left { .. } => counts(index, record),
    };
    let kept: Vec<&Record> = records
        .iter()
        .enumerate()
        .filter(|(index, record)| stays(*index, record))
        .map(|(_, record)| record)
        .collect();
    let sorted = |records: &[Record]| {
        let mut change_log = ChangeLog::of(records, boot);
        change_log.entries.sort_by(|a, b| a.file.cmp(&b.file));
        change_log.companions.sort_by(|a, b| a.file.cmp(&b.file));
        (change_log.entries, change_log.companions, change_log.sessions, change_log.ended)
    };
    let short: Vec<Record> = kept.iter().copied().cloned().collect();
    (sorted(&short) == sorted(records)).then_some(kept)
}

/// The files of an event, its own first.
fn files(event: &Event) -> Vec<&str> {
    let along = match event {
        Event::Change { affected, .. } | Event::Result { affected, .. } => &affected[..],
        _ => &[],
    };
    event.file().into_iter().chain(along.iter().map(|a| a.file.as_str())).collect()
}

/// Files that changed along with each other.
#[derive(Default)]
struct Groups<'a> {
    places: HashMap<&'a str, usize>,
    files: Vec<&'a str>,
    /// By file: another one of its group, or itself for that which names the group.
    next: Vec<usize>,
    /// By group: its files, one without its first value in front if there was one when that was last asked.
    members: HashMap<usize, Vec<usize>>,
}

impl<'a> Groups<'a> {
    fn of(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut groups = Self::default();
        let mut tunables = Vec::new();
        for record in records {
            let places: Vec<usize> =
                files(&record.event).into_iter().map(|file| groups.place(file)).collect();
            for pair in places.windows(2) {
                let (one, other) = (groups.group(pair[0]), groups.group(pair[1]));
                groups.next[other] = one;
            }
            if let Event::Left { file, .. } = &record.event {
                tunables.extend(queue_of_event(&record.event).map(|queue| (file.as_str(), queue)));
            }
        }
        // A scheduler's records have the tunables that an undo could not restore.
        for (file, queue) in tunables {
            let its: Vec<usize> =
                (0..groups.files.len()).filter(|at| queue_of(groups.files[*at]) == Some(queue)).collect();
            for other in its {
                let place = groups.place(file);
                let (one, other) = (groups.group(place), groups.group(other));
                groups.next[other] = one;
            }
        }
        for place in 0..groups.files.len() {
            let group = groups.group(place);
            groups.members.entry(group).or_default().push(place);
        }
        groups
    }

    fn place(&mut self, file: &'a str) -> usize {
        let new = self.files.len();
        let place = *self.places.entry(file).or_insert(new);
        if place == new {
            self.files.push(file);
            self.next.push(new);
        }
        place
    }

    fn group(&mut self, mut place: usize) -> usize {
        while self.next[place] != place {
            // Halves the way of the next search.
            self.next[place] = self.next[self.next[place]];
            place = self.next[place];
        }
        place
    }

    fn of_file(&self, file: &str) -> Option<usize> {
        let mut place = *self.places.get(file)?;
        while self.next[place] != place {
            place = self.next[place];
        }
        Some(place)
    }

    /// Whether all files of a group have their first values.
    fn is_closed(&mut self, group: usize, taken: &Taken) -> bool {
        let Some(members) = self.members.get_mut(&group) else { return true };
        let Some(open) = members.iter().position(|place| !taken.is_closed(self.files[*place])) else {
            return true;
        };
        members.swap(0, open);
        false
    }
}

/// The indexes of the last gain of each value of a setting, on each device.
fn last_gains(records: &[Record]) -> BTreeSet<usize> {
    let mut last: BTreeMap<_, usize> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        if let Event::Measured(Gain { device, setting, new, .. }) = &record.event {
            last.insert(
                (device.name.as_str(), device.serial.as_deref(), setting.as_str(), new.as_str()),
                index,
            );
        }
    }
    last.into_values().collect()
}

#[cfg(test)]
impl super::Journal {
    /// A journal in memory with the records that a compaction leaves of this one.
    #[must_use]
    pub fn compacted(&self, boot: &str) -> Self {
        let records = self.contents().unwrap_or_default().records;
        let left = kept(&records, boot, |_| false).map(|kept| folded(kept, boot, |_| false));
        let left = left.map_or_else(
            || records.clone(),
            |left| left.into_iter().map(std::borrow::Cow::into_owned).collect(),
        );
        Self { memory: Some(std::sync::Arc::new(std::sync::Mutex::new(left))), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::{
        change::Outcome,
        device::Identity,
        journal::{Affected, Contents, Purpose, parse},
    };

    const FILES: [&str; 4] = ["/a", "/b", "/c", "/d"];
    const VALUES: [&str; 3] = ["0", "1", "2"];

    fn file() -> impl Strategy<Value = String> {
        prop::sample::select(&FILES[..]).prop_map(str::to_owned)
    }

    fn value() -> impl Strategy<Value = String> {
        prop::sample::select(&VALUES[..]).prop_map(str::to_owned)
    }

    fn affected() -> impl Strategy<Value = Vec<Affected>> {
        let one = (file(), value()).prop_map(|(file, value)| Affected {
            setting: "nomerges".into(),
            file,
            value,
            becomes: Vec::new(),
        });
        prop::collection::vec(one, 0..2)
    }

    fn device() -> Identity {
        Identity { name: "nvme0n1".into(), ..Identity::default() }
    }

    fn event() -> impl Strategy<Value = Event> {
        let change = (file(), value(), value(), affected(), any::<bool>(), any::<bool>()).prop_map(
            |(file, old, new, affected, tags, undo)| Event::Change {
                device: device(),
                setting: "scheduler".into(),
                file,
                old,
                new,
                affected,
                tags,
                undo,
                host: None,
                follows: false,
            },
        );
        let outcome = prop_oneof![
            Just(Outcome::Accepted),
            Just(Outcome::Ignored),
            value().prop_map(|now| Outcome::Adjusted { now }),
            Just(Outcome::Refused { error: "EINVAL".into() }),
            Just(Outcome::Unread { error: "EIO".into() }),
        ];
        let result = (file(), outcome, affected()).prop_map(|(file, outcome, affected)| Event::Result {
            file,
            outcome,
            affected,
        });
        let undone = (file(), value(), prop::collection::vec("[123]-a", 0..2))
            .prop_map(|(file, value, sessions)| Event::Undone { file, value, sessions });
        let left = (file(), value(), value()).prop_map(|(file, value, now)| Event::Left {
            device: device(),
            setting: "scheduler".into(),
            file,
            value,
            now,
        });
        let gain = (value(), value(), "[ab]").prop_map(|(old, new, words)| {
            Event::Measured(Gain { device: device(), setting: "scheduler".into(), old, new, words })
        });
        prop_oneof![
            4 => change, 4 => result, 4 => undone, 1 => gain, 2 => left,
            1 => Just(Event::Open { purpose: Purpose::Screen, pid: 1 }), 1 => prop::collection::vec(file(), 0..2).prop_map(|files| Event::Keep { files }), 1 => Just(Event::Close),
        ]
    }

    fn records() -> impl Strategy<Value = Vec<Record>> {
        records_of("[123]-a", 40)
    }

    /// Records of these sessions.
    pub(super) fn records_of(sessions: &'static str, most: usize) -> impl Strategy<Value = Vec<Record>> {
        let one = (sessions, prop_oneof![5 => Just("now"), 1 => Just("before")], event())
            .prop_map(|(session, boot, event)| Record { time: 1, boot: boot.to_owned(), session, event });
        prop::collection::vec(one, 0..most)
    }

    /// A change that was made and undone.
    fn there_and_back(session: &str, file: &str) -> Vec<Record> {
        let record = |event| Record { time: 1, boot: "now".into(), session: session.into(), event };
        let change = |old: &str, new: &str| Event::Change {
            device: device(),
            setting: "scheduler".into(),
            file: file.into(),
            old: old.into(),
            new: new.into(),
            affected: vec![Affected {
                setting: "nomerges".into(),
                file: format!("{file}/along"),
                value: "0".into(),
                becomes: Vec::new(),
            }],
            tags: false,
            undo: new == "0",
            host: None,
            follows: false,
        };
        let done = || Event::Result { file: file.into(), outcome: Outcome::Accepted, affected: Vec::new() };
        let undone = Event::Undone { file: file.into(), value: "0".into(), sessions: vec![session.into()] };
        let open = Event::Open { purpose: Purpose::Experiment, pid: 1 };
        [open, change("0", "1"), done(), change("1", "0"), done(), undone, Event::Close].map(record).into()
    }

    fn text(records: &[Record]) -> Vec<u8> {
        records
            .iter()
            .flat_map(|record| serde_json::to_vec(record).unwrap().into_iter().chain([b'\n']))
            .collect()
    }

    #[test]
    fn a_thousand_experiments_leave_what_is_still_changed_and_who_is_alive() {
        let standing = &there_and_back("1-a", "/standing")[..3];
        let mut all = standing.to_vec();
        for number in 0..1000 {
            all.extend(there_and_back(&format!("2-{number:x}"), "/f"));
        }
        let living = Record { session: "3-a".into(), ..all[0].clone() };
        all.push(living.clone());
        let short = shortened(text(&all).as_slice(), "now", |session| session == "3-a").unwrap();
        assert_eq!(parse(&short).records, [standing, &[living]].concat());
        assert_eq!(ChangeLog::of(&parse(&short).records, "now"), ChangeLog::of(&all, "now"));
        assert!(shortened(text(&all).as_slice(), "next boot", |_| false).unwrap().is_empty());
        assert_eq!(shortened(text(standing).as_slice(), "now", |_| false), None, "nothing to gain");
        // Damaged lines are the user's to look at; a record behind zeros counts once.
        let with_damage = [b"{nonsense\n\0\0".to_vec(), text(&all)].concat();
        let short = shortened(with_damage.as_slice(), "now", |_| false).unwrap();
        assert!(short.starts_with(b"{nonsense\n\0\n"), "{}", String::from_utf8_lossy(&short));
        let (before, after) = (parse(&with_damage), parse(&short));
        assert_eq!(after.damaged.iter().map(|damage| damage.line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(ChangeLog::of(&after.records, "now"), ChangeLog::of(&before.records, "now"));
        assert_eq!(after.damaged.len(), before.damaged.len());
    }

    #[test]
    fn a_damaged_change_is_still_known_by_its_result() {
        let lost = &there_and_back("1-a", "/sys/lost")[2];
        for (damaged, behind) in [(&b"\x01\x02\n"[..], 1), (b"\0\0\0\n", 1), (b"\x01\n\x02\n", 2)] {
            let mut all = damaged.to_vec();
            all.extend(text(std::slice::from_ref(lost)));
            // Damage behind the result was not its change.
            all.extend(b"\x03\n");
            for number in 0..50 {
                all.extend(text(&there_and_back(&format!("2-{number:x}"), "/f")));
            }
            let before = parse(&all);
            assert_eq!(before.damaged[behind - 1].file.as_deref(), Some("/sys/lost"));
            let short = shortened(all.as_slice(), "now", |_| false).unwrap();
            let after = parse(&short);
            assert!(after.lost_change, "{}", String::from_utf8_lossy(&short));
            let files = |contents: &Contents| {
                contents
                    .damaged
                    .iter()
                    .map(|damage| (damage.has_change, damage.file.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(files(&after), files(&before));
            assert_eq!(after.records, std::slice::from_ref(lost), "once");
            assert_eq!(
                shortened([short.as_slice(), &all[damaged.len()..]].concat().as_slice(), "now", |_| false)
                    .map(|again| parse(&again).lost_change),
                Some(true),
                "again"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn what_can_be_undone_stays_the_same(records in records()) {
            let Some(kept) = kept(&records, "now", |session| session == "1-a") else { return Ok(()) };
            let kept = folded(kept, "now", |session| session == "1-a");
            let kept: Vec<Record> = kept.into_iter().map(std::borrow::Cow::into_owned).collect();
            let by_file = |records: &[Record]| {
                let mut change_log = ChangeLog::of(records, "now");
                change_log.entries.sort_by(|a, b| a.file.cmp(&b.file));
                change_log
            };
            let (before, after) = (by_file(&records), by_file(&kept));
            prop_assert_eq!(&before.entries, &after.entries);
            prop_assert_eq!(&before.sessions, &after.sessions);
            for value in VALUES {
                prop_assert_eq!(
                    before.gain(&device(), "scheduler", value),
                    after.gain(&device(), "scheduler", value)
                );
            }
        }
    }
}
