//! The journal: every change to a setting, on disk before it is made.
//!
//! Here: the file (JSON lines, append-only, synced), sessions with their locks, and [`Ledger`], the pure account of what
//! stands changed. Not here: writing settings, deciding what to undo.
//!
//! One line is one [`Record`]. Writers hold a lock on the file while they append; a session holds a lock of its own for as
//! long as it lives, so that a session is dead only when its lock is free. A line torn by a kill is the last one and is
//! passed over.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{
    change::{Identity, Outcome},
    rebind::DRIVER,
};

/// What a session is for; decides what happens to its changes when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The screen: the next start offers the undo.
    Screen,
    /// `iodyno tune set`: ends as kept.
    Command,
    /// An experiment: undone at the next start without asking.
    Experiment,
}

/// A file whose value the kernel changes along with a setting, and its value before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affected {
    /// The setting it belongs to.
    pub setting: String,
    /// The file.
    pub file: String,
    /// Its value at the time of the record.
    pub value: String,
}

/// What a change was measured to be worth, for the rules that make it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gain {
    /// On whom.
    pub device: Identity,
    /// Which setting.
    pub setting: String,
    /// The value it was compared with.
    pub old: String,
    /// The value it was measured for.
    pub new: String,
    /// One line: by what it was measured, what came of it, how sure that is.
    pub words: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "event")]
pub enum Event {
    /// A session began.
    Open {
        /// What for.
        purpose: Purpose,
        /// Its process.
        pid: u32,
    },
    /// A file is about to be written.
    Change {
        /// On whom.
        device: Identity,
        /// Which setting.
        setting: String,
        /// The file.
        file: String,
        /// The value before.
        old: String,
        /// The value asked for.
        new: String,
        /// What the kernel will change along with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        affected: Vec<Affected>,
    },
    /// What became of the change before it to that file.
    Result {
        /// The file.
        file: String,
        /// What became of it.
        #[serde(flatten)]
        outcome: Outcome,
        /// What was changed along with it, as it reads now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        affected: Vec<Affected>,
    },
    /// A file was put back to what this session, or the first one, found.
    Undone {
        /// The file as it was named in the change.
        file: String,
        /// The value it has again.
        value: String,
        /// The sessions whose change of it is undone; none are named when all are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// What a test found a change to be worth.
    Measured(Gain),
    /// What this session changed stays.
    Keep,
    /// The session ended.
    Close,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Unix time, milliseconds.
    pub time: i64,
    /// Id of the boot it was written in (`/proc/sys/kernel/random/boot_id`): values do not outlive it.
    pub boot: String,
    /// The session.
    pub session: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file operation failed.
    #[error("{}: {error}; check the folder or set IODYNO_STATE_DIR to one that can be written", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// How.
        #[source]
        error: io::Error,
    },
    /// A line in the middle makes no sense.
    #[error("{}: line {line} is damaged ({why}); move the file away after looking at it", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// 1 is the first.
        line: usize,
        /// What the parser said.
        why: String,
    },
}

/// The journal of one state folder, or of a demo.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    /// Records of a demo, which leaves nothing behind.
    memory: Option<Arc<Mutex<Vec<Record>>>>,
}

/// A living session: as long as this value lives, so does its lock.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub id: String,
    lock: Option<(File, PathBuf)>,
}

impl Journal {
    /// The journal in `folder`, which is made at the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), memory: None }
    }

    /// A journal that no file holds: for demos, whose changes end with the program.
    pub fn in_memory() -> Self {
        Self { folder: PathBuf::new(), memory: Some(Arc::default()) }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    /// Begins a session and takes its lock.
    pub fn open(&self, purpose: Purpose, boot: &str, time: i64) -> Result<Session, JournalError> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let (pid, number) = (std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed));
        let id = format!("{time:x}-{pid:x}-{number:x}");
        let lock = if self.memory.is_some() { None } else { Some(self.lock(&id)?) };
        let session = Session { id, lock };
        self.append(&session.record(Event::Open { purpose, pid }, boot, time))?;
        Ok(session)
    }

    fn lock(&self, id: &str) -> Result<(File, PathBuf), JournalError> {
        let locks = self.folder.join("sessions");
        fs::create_dir_all(&locks).map_err(|error| JournalError::File { path: locks.clone(), error })?;
        let path = locks.join(id);
        let failed = |error| JournalError::File { path: path.clone(), error };
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        Ok((lock, path))
    }

    /// Writes one record and syncs it.
    pub fn append(&self, record: &Record) -> Result<(), JournalError> {
        if let Some(memory) = &self.memory {
            memory.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
            return Ok(());
        }
        let path = self.path();
        let failed = |error| JournalError::File { path: path.clone(), error };
        let mut line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        if torn(&file).map_err(failed)? {
            // Whoever was killed in the middle of a line gets its line ended, so that ours stands alone.
            line.insert(0, b'\n');
        }
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)
    }

    /// All records, oldest first; none when there is no journal yet.
    pub fn read(&self) -> Result<Vec<Record>, JournalError> {
        if let Some(memory) = &self.memory {
            return Ok(memory.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        let path = self.path();
        let content = match fs::read_to_string(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(JournalError::File { path, error }),
        };
        parse(&content).map_err(|(line, why)| JournalError::Damaged { path, line, why })
    }

    /// Whether that session's process is gone: its lock is free, or its file.
    pub fn is_dead(&self, session: &str) -> bool {
        if self.memory.is_some() {
            // What the program's memory holds ends with the program.
            return false;
        }
        let name_is_plain = session.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        let path = self.folder.join("sessions").join(session);
        match File::open(path) {
            Ok(file) if name_is_plain => flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok(),
            _ => true,
        }
    }
}

impl Session {
    /// A record of this session.
    pub fn record(&self, event: Event, boot: &str, time: i64) -> Record {
        Record { time, boot: boot.to_owned(), session: self.id.clone(), event }
    }

    /// Gives the lock back. (A process that dies gives it back too.)
    pub fn release(self) {
        if let Some((lock, path)) = self.lock {
            // The name goes first: who finds no file knows that the session ended.
            let _gone = fs::remove_file(path);
            drop(lock);
        }
    }
}

/// Whether the file ends in the middle of a line.
fn torn(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_at(&mut last, length - 1)?;
    }
    Ok(last != *b"\n")
}

/// The records of a journal's text. A line that is no record is passed over when it does not end like one (`}`): it was
/// torn by a kill. Any other one is an error: line number and reason.
pub fn parse(content: &str) -> Result<Vec<Record>, (usize, String)> {
    let mut records = Vec::new();
    for (index, line) in content.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(error) if error.is_eof() => {}
            Err(error) => return Err((index + 1, error.to_string())),
        }
    }
    Ok(records)
}

/// One file that stands changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// On whom.
    pub device: Identity,
    /// Which setting.
    pub setting: String,
    /// The file as it was named.
    pub file: String,
    /// The value before iodyno's first change since boot.
    pub found: String,
    /// The values it may have if nobody else touched it: the last one read back, or, where a kill came between, the one
    /// before and the one asked for.
    pub last: Vec<String>,
    /// The session that changed it last.
    pub by: String,
    /// The sessions that changed it and have not kept it, each with the value it found.
    pub open: BTreeMap<String, String>,
}

/// What stands changed in this boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// By file, in the order of their first change.
    pub entries: Vec<Entry>,
    /// Sessions with open changes, and what they were for.
    pub sessions: BTreeMap<String, Purpose>,
    /// What changes were measured to be worth, in this boot and before, oldest first.
    pub gains: Vec<Gain>,
}

impl Ledger {
    /// The account of all records of this boot; what was changed before it is gone with it.
    pub fn of(records: &[Record], boot: &str) -> Self {
        let mut ledger = Self::default();
        let mut purposes = BTreeMap::new();
        for record in records.iter().filter(|record| record.boot == boot) {
            match &record.event {
                Event::Open { purpose, .. } => {
                    purposes.insert(record.session.clone(), *purpose);
                }
                Event::Change { device, setting, file, old, new, affected } => {
                    let touched = [(setting, file, old)].into_iter();
                    for (setting, file, old) in
                        touched.chain(affected.iter().map(|a| (&a.setting, &a.file, &a.value)))
                    {
                        ledger.touch(device, setting, file, old, &record.session);
                    }
                    ledger.expect(file, vec![old.clone(), new.clone()]);
                }
                Event::Result { file, outcome, affected } => {
                    match outcome {
                        Outcome::Accepted => ledger.expect_last(file),
                        Outcome::Adjusted { now } => ledger.expect(file, vec![now.clone()]),
                        Outcome::Ignored | Outcome::Refused { .. } => ledger.expect_first(file),
                    }
                    for a in affected {
                        ledger.expect(&a.file, vec![a.value.clone()]);
                    }
                }
                Event::Undone { file, value, sessions } => ledger.undone(file, value, sessions),
                Event::Keep => ledger.entries.iter_mut().for_each(|entry| {
                    entry.open.remove(&record.session);
                }),
                Event::Measured(_) | Event::Close => {}
            }
        }
        let gain = |record: &Record| match &record.event {
            Event::Measured(gain) => Some(gain.clone()),
            _ => None,
        };
        ledger.gains = records.iter().filter_map(gain).collect();
        ledger.entries.retain(|entry| entry.last != [entry.found.as_str()]);
        let open = |session: &String| ledger.entries.iter().any(|entry| entry.open.contains_key(session));
        ledger.sessions = purposes.into_iter().filter(|(session, _)| open(session)).collect();
        ledger
    }

    /// Without what living sessions other than `own` have under their hands: that is theirs alone. A file that `own`
    /// was the last to change is its own, whoever changed it before.
    #[must_use]
    pub fn without_living(mut self, journal: &Journal, own: Option<&str>) -> Self {
        let is_own = |session: &String| Some(session.as_str()) == own;
        let living = |session: &String| !is_own(session) && !journal.is_dead(session);
        self.entries.retain(|entry| is_own(&entry.by) || !entry.open.keys().any(living));
        self
    }

    /// Whether that session's changes are put back without asking when it has died: those of an experiment, and those
    /// of one that left a controller without its driver.
    pub fn is_unasked(&self, session: &str) -> bool {
        let away = |entry: &Entry| entry.setting == DRIVER.0 && entry.open.contains_key(session);
        self.sessions.get(session) == Some(&Purpose::Experiment) || self.entries.iter().any(away)
    }

    /// The value before iodyno's first change of that file since boot, where it stands changed.
    pub fn found(&self, file: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.file == file).map(|entry| entry.found.as_str())
    }

    /// What was measured last about a setting of a device having that value.
    pub fn gain(&self, device: &Identity, setting: &str, value: &str) -> Option<&Gain> {
        let same = |gain: &&Gain| {
            // A drive with a serial number may have had another name.
            let is_it = match (&gain.device.serial, &device.serial) {
                (Some(one), Some(other)) => one == other,
                _ => gain.device.name == device.name,
            };
            is_it && gain.setting == setting && gain.new == value
        };
        self.gains.iter().rfind(same)
    }

    fn touch(&mut self, device: &Identity, setting: &str, file: &str, old: &str, session: &str) {
        let place = self.entries.iter().position(|entry| entry.file == file).unwrap_or_else(|| {
            self.entries.push(Entry {
                device: device.clone(),
                setting: setting.to_owned(),
                file: file.to_owned(),
                found: old.to_owned(),
                last: vec![old.to_owned()],
                by: String::new(),
                open: BTreeMap::new(),
            });
            self.entries.len() - 1
        });
        session.clone_into(&mut self.entries[place].by);
        self.entries[place].open.entry(session.to_owned()).or_insert_with(|| old.to_owned());
    }

    fn entry(&mut self, file: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.file == file)
    }

    fn expect(&mut self, file: &str, values: Vec<String>) {
        if let Some(entry) = self.entry(file) {
            entry.last = values;
        }
    }

    fn expect_last(&mut self, file: &str) {
        if let Some(entry) = self.entry(file)
            && let Some(last) = entry.last.pop()
        {
            entry.last = vec![last];
        }
    }

    fn expect_first(&mut self, file: &str) {
        if let Some(entry) = self.entry(file) {
            entry.last.truncate(1);
        }
    }

    fn undone(&mut self, file: &str, value: &str, sessions: &[String]) {
        if let Some(entry) = self.entry(file) {
            entry.last = vec![value.to_owned()];
            entry.open.retain(|session, _| !sessions.is_empty() && !sessions.contains(session));
            if let Some((before, _)) = entry.open.last_key_value() {
                before.clone_into(&mut entry.by);
            }
        }
    }
}

impl Entry {
    /// The value to go back to when these sessions are undone: what the first of them found.
    pub fn before(&self, sessions: &[&str]) -> Option<&str> {
        // Session ids begin with the time in hexadecimal digits of equal count, so the least is the first.
        self.open_in(sessions).next().and_then(|session| self.open.get(session)).map(String::as_str)
    }

    /// Those of these sessions that changed it and have not kept it, oldest first.
    pub fn open_in<'a>(&'a self, sessions: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.open.keys().map(String::as_str).filter(|session| sessions.contains(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Identity {
        Identity { name: name.into(), serial: None, diskseq: Some(7) }
    }

    fn change(file: &str, old: &str, new: &str) -> Event {
        let (setting, affected) = ("read_ahead_kb".to_owned(), Vec::new());
        Event::Change {
            device: who("loop0"),
            setting,
            file: file.into(),
            old: old.into(),
            new: new.into(),
            affected,
        }
    }

    fn records(session: &str, events: Vec<Event>) -> Vec<Record> {
        let record = |event| Record { time: 1, boot: "b".into(), session: session.into(), event };
        events.into_iter().map(record).collect()
    }

    #[test]
    fn records_survive_the_file_and_a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        assert_eq!(journal.read().unwrap(), []);
        let session = journal.open(Purpose::Command, "b", 0x1234).unwrap();
        OpenOptions::new().append(true).open(journal.path()).unwrap().write_all(b"{\"time\":1,\"bo").unwrap();
        let record = session.record(change("/sys/x", "1", "2"), "b", 2);
        journal.append(&record).unwrap();
        let read = journal.read().unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[1], record);
        assert!(matches!(parse("{\"nonsense\": 1}\n"), Err((1, _))));
    }

    #[test]
    fn a_session_is_dead_only_when_its_lock_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        let session = journal.open(Purpose::Screen, "b", 1).unwrap();
        let id = session.id.clone();
        assert!(!journal.is_dead(&id));
        session.release();
        assert!(journal.is_dead(&id));
        assert!(journal.is_dead("../journal.jsonl"), "names out of a damaged journal lead nowhere");
    }

    #[test]
    fn the_ledger_keeps_the_first_value_and_forgets_what_was_put_back() {
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
        let ledger = Ledger::of(&all, "b");
        assert_eq!(ledger.found("/f"), Some("128"));
        assert_eq!(ledger.entries[0].last, ["512"]);
        assert_eq!(ledger.entries[0].before(&["2-b"]), Some("256"));
        assert_eq!(ledger.entries[0].before(&["1-a", "2-b"]), Some("128"));
        assert_eq!(
            ledger.sessions.keys().collect::<Vec<_>>(),
            ["1-a"],
            "a session counts from its opening on"
        );
        all.extend(records(
            "2-b",
            vec![Event::Undone { file: "/f".into(), value: "128".into(), sessions: vec![] }, Event::Keep],
        ));
        let ledger = Ledger::of(&all, "b");
        assert_eq!(ledger.found("/f"), None);
        assert_eq!(ledger.found("/g"), Some("0"), "kept is still changed");
        assert!(ledger.entries[0].open.is_empty());
        assert_eq!(Ledger::of(&all, "another boot"), Ledger::default());
    }

    #[test]
    fn a_kill_between_the_record_and_the_write_leaves_both_values_possible() {
        let ledger = Ledger::of(&records("1-a", vec![change("/f", "0", "1")]), "b");
        assert_eq!(ledger.entries[0].last, ["0", "1"]);
        let refused = Event::Result {
            file: "/f".into(),
            outcome: Outcome::Refused { error: "EINVAL".into() },
            affected: vec![],
        };
        let ledger = Ledger::of(&records("1-a", vec![change("/f", "0", "1"), refused]), "b");
        assert_eq!(ledger.entries, [], "a refused change changed nothing");
    }
}
