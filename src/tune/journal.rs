//! The journal: every change to a setting, on disk before it is made.
//!
//! Here: the file (JSON lines, append-only, synced), sessions with their locks. Not here: the account of what stands
//! changed (`ledger`), writing settings, deciding what to undo.
//!
//! One line is one [`Record`]. Writers hold a lock on the file while they append; a session holds a lock of its own for as
//! long as it lives, so that a session is dead only when its lock is free. A line torn by a kill is the last one and is
//! passed over.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::change::{Identity, Outcome};

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
        let lock = locked(&path, FlockOperation::NonBlockingLockExclusive)?;
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

    /// The turn to look at a file, write it and look again, which one process has at a time: two that change the same file
    /// at once would each take the other's value for its own. Given back when it is dropped, or its process is killed.
    pub fn turn(&self) -> Result<Option<File>, JournalError> {
        if self.memory.is_some() {
            return Ok(None);
        }
        locked(&self.folder.join("turn"), FlockOperation::LockExclusive).map(Some)
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

/// A file that is there for its lock.
fn locked(path: &Path, operation: FlockOperation) -> Result<File, JournalError> {
    let failed = |error| JournalError::File { path: path.to_owned(), error };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    flock(&file, operation).map_err(|error| failed(error.into()))?;
    Ok(file)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::change;

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
}
