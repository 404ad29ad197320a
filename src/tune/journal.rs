//! The journal: every change to a setting, on disk before it is made.
//!
//! One line is one [`Record`]. Writers lock the file while they append. A session holds a lock of its own while it lives: it
//! is dead when that lock is free. A line torn by a kill is cut off; any other damaged line is skipped and named. A long
//! journal is rewritten without what can no longer be undone ([`compaction`]). Records make root write settings: the folder
//! and its files are checked first ([`StateFolder`]).

mod compaction;
mod holes;
mod reading;
mod record;
mod stamp;

pub use reading::{Contents, Damage, parse};
pub use record::{Affected, Event, Gain, Purpose, Record};
pub use stamp::Stamp;

use std::{
    fs::File,
    io::{self, BufReader, Write},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::fs::{FlockOperation, flock};

use holes::Holes;
use reading::is_torn;

use crate::store::{EXCLUSIVE, StateFolder, wait_for_lock};

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file operation failed.
    #[error("{}: {error}; {}", path.display(), file_fix(error))]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
    /// Without an id of this boot, records of earlier boots could not be excluded.
    #[error("/proc/sys/kernel/random/boot_id: cannot be read, so changes could not be undone; mount /proc")]
    NoBoot,
}

/// The remedy of an error of the journal's files.
pub(super) fn file_fix(error: &io::Error) -> &'static str {
    use io::ErrorKind::{FileTooLarge, ReadOnlyFilesystem, TimedOut};
    match error.raw_os_error() {
        Some(libc::EMFILE) => return "raise `ulimit -n`",
        Some(libc::ENFILE) => return "raise fs.file-max (sysctl), or end programs with many open files",
        Some(libc::EIO) => return "check that drive (`dmesg`), or set IODYNO_STATE_DIR to another folder",
        _ => {}
    }
    match error.kind() {
        TimedOut => "end that program (`pgrep iodyno`), or let it go on (`fg`)",
        FileTooLarge => "raise `ulimit -f`, or set IODYNO_STATE_DIR to another folder",
        ReadOnlyFilesystem => "mount it writable, or set IODYNO_STATE_DIR to another folder",
        _ if is_full(error) => "free some space there, or set IODYNO_STATE_DIR to another folder",
        // It says what to check.
        _ if error.to_string().contains(": check ") => "or set IODYNO_STATE_DIR to a folder of your own",
        _ => "check it, or set IODYNO_STATE_DIR to a folder of your own",
    }
}

/// Whether there is no room to write, or no permission to: a full drive, a quota, a read-only file system.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | FileTooLarge)
}

impl JournalError {
    /// Whether another process holds a lock for too long.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::File { error, .. } if error.kind() == io::ErrorKind::TimedOut)
    }

    /// Whether the journal can be read, but there is no room to write to it.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::File { error, .. } if is_full(error))
    }
}

/// The journal's file in the state folder, and the folder of its sessions' locks.
const NAME: &str = "journal.jsonl";
/// Bytes of a read of the journal.
const READ_AT_ONCE: usize = 64 << 10;
const SESSIONS: &str = "sessions";
/// The rewritten journal, until it is renamed.
const NEW: &str = "journal.new";
/// Bytes after which a new session rewrites the journal.
const LONG: u64 = 256 << 10;

/// The journal of one state folder, or of a demo.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    /// Records of a demo, which are not stored.
    memory: Option<Arc<Mutex<Vec<Record>>>>,
}

/// A living session, which holds its lock.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The lock, with its folder.
    lock: Option<(File, StateFolder)>,
}

/// The file's bytes from a position on, and whether the last line ends.
struct Tail {
    /// Length of the file.
    length: u64,
    /// Where its last line without an end begins.
    torn: Option<u64>,
}

impl Journal {
    /// The journal in `folder`, which the first write creates.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), memory: None }
    }

    /// A journal in memory, for demos.
    pub fn in_memory() -> Self {
        Self { folder: PathBuf::new(), memory: Some(Arc::default()) }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Begins a session and takes its lock. Removes locks of dead sessions, and shortens a long journal.
    pub fn open(&self, purpose: Purpose, boot: &str, time: i64) -> Result<Session, JournalError> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        if boot.is_empty() {
            return Err(JournalError::NoBoot);
        }
        let pid = std::process::id();
        let (id, lock) = loop {
            let number = OPENED.fetch_add(1, Ordering::Relaxed);
            let id = format!("{time:x}-{pid:x}-{number:x}");
            match self.lock(&id) {
                // After a clock was set back, an id may be that of a dead session.
                Err(JournalError::File { error, .. }) if error.kind() == io::ErrorKind::AlreadyExists => {}
                taken => break (id, taken?),
            }
        };
        let session = Session { id, lock };
        // A journal that stays long is no reason to stop.
        let _ = self.compact(boot);
        match self.append(&session.record(Event::Open { purpose, pid }, boot, time)) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.release();
                Err(error)
            }
        }
    }

    /// A session without a lock and without a record, to undo changes while the journal cannot be written. Its id is no
    /// other session's.
    pub fn unrecorded(&self, time: i64) -> Session {
        Session { id: format!("{time:x}-{:x}-unrecorded", std::process::id()), lock: None }
    }

    fn lock(&self, id: &str) -> Result<Option<(File, StateFolder)>, JournalError> {
        if self.memory.is_some() {
            return Ok(None);
        }
        let folder = StateFolder::make(&self.folder).map_err(|error| self.failed("", error))?;
        let sessions =
            |folder: &StateFolder| folder.make_folder(SESSIONS).map_err(|error| self.failed(SESSIONS, error));
        // Held while locks are made and removed: a new file without its lock yet looks dead.
        let gate = sessions(&folder)?;
        gate.lock().map_err(|error| self.failed(SESSIONS, error))?;
        remove_dead(&gate);
        let sessions = sessions(&folder)?;
        let failed = |error| self.failed(&format!("{SESSIONS}/{id}"), error);
        let lock = sessions.new_file(id).map_err(failed)?;
        // A process that looks whether a session is dead holds its lock for a moment.
        wait_for_lock(&lock, EXCLUSIVE).map_err(failed)?;
        Ok(Some((lock, sessions)))
    }

    fn failed(&self, name: &str, error: io::Error) -> JournalError {
        let path = match (self.folder.as_os_str().is_empty(), name) {
            (true, _) => PathBuf::from("state folder"),
            (false, "") => self.folder.clone(),
            (false, name) => self.folder.join(name),
        };
        JournalError::File { path, error }
    }

    /// The folder, which a session has made.
    fn existing(&self) -> Result<StateFolder, JournalError> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let folder = StateFolder::open(&self.folder).and_then(|folder| folder.ok_or_else(gone));
        folder.map_err(|error| self.failed("", error))
    }

    /// Writes one record and syncs it. After an error the journal is as it was.
    pub fn append(&self, record: &Record) -> Result<(), JournalError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Writes records and syncs them once: none of them may have to be there before something else is done. After an error the
    /// journal is as it was; a kill leaves the first ones.
    pub fn append_all(&self, records: &[Record]) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        if let Some(memory) = &self.memory {
            memory.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(records);
            return Ok(());
        }
        let failed = |error| self.failed(NAME, error);
        let mut line = Vec::new();
        for record in records {
            serde_json::to_writer(&mut line, record).map_err(|error| failed(error.into()))?;
            line.push(b'\n');
        }
        let mut file = self.locked(&self.existing()?)?;
        let tail = tail(&file).map_err(failed)?;
        let mut length = tail.length;
        if let Some(torn) = tail.torn {
            if last_line(&file, &tail).map_err(failed)?.is_some_and(|last| is_torn(&last)) {
                file.set_len(torn).map_err(failed)?;
                length = torn;
            } else {
                line.insert(0, b'\n');
            }
        }
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(|error| {
            // A full drive takes a part of the line.
            let _ = file.set_len(length);
            failed(error)
        })
    }

    /// The journal's file with its lock. It may have been replaced while another process held the lock.
    fn locked(&self, folder: &StateFolder) -> Result<File, JournalError> {
        let failed = |error| self.failed(NAME, error);
        loop {
            let file = folder.append(NAME).map_err(failed)?;
            wait_for_lock(&file, EXCLUSIVE).map_err(failed)?;
            if folder.has(NAME, &file).map_err(failed)? {
                return Ok(file);
            }
        }
    }

    /// Rewrites a long journal without what can no longer be undone, under its lock: beside its name, synced, renamed.
    fn compact(&self, boot: &str) -> Result<(), JournalError> {
        if self.memory.is_some() {
            return Ok(());
        }
        let failed = |error| self.failed(NAME, error);
        let folder = self.existing()?;
        let length = |file: &File| Ok(file.metadata()?.len());
        let is_long =
            folder.read(NAME).and_then(|file| file.as_ref().map_or(Ok(0), length)).map_err(failed)?;
        if is_long < LONG {
            return Ok(());
        }
        let file = self.locked(&folder)?;
        let content = BufReader::with_capacity(READ_AT_ONCE, Holes::of(&file).map_err(failed)?);
        let Some(short) = compaction::shortened(content, boot, |session| !self.is_dead(session)) else {
            return Ok(());
        };
        // Of a process that was killed while it wrote.
        let _ = folder.remove(NEW);
        let write = || -> io::Result<()> {
            let mut new = folder.new_file(NEW)?;
            new.write_all(&short)?;
            new.sync_all()?;
            folder.rename(NEW, NAME)?;
            folder.sync()
        };
        write().map_err(|error| {
            let _ = folder.remove(NEW);
            self.failed(NEW, error)
        })
    }

    /// A lock to read a file, write it and read it back: two processes that change a file at once would each take the
    /// other's value for its own. Released on drop, also by a kill.
    pub fn turn(&self) -> Result<Option<File>, JournalError> {
        if self.memory.is_some() {
            return Ok(None);
        }
        let failed = |error| self.failed("turn", error);
        let file = self.existing()?.lock_file("turn").map_err(failed)?;
        wait_for_lock(&file, EXCLUSIVE).map_err(failed)?;
        Ok(Some(file))
    }

    /// Records and damaged lines; none when there is no journal yet.
    ///
    /// # Errors
    /// A folder or file that cannot be read, or is not trusted.
    pub fn contents(&self) -> Result<Contents, JournalError> {
        if let Some(memory) = &self.memory {
            let records = memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return Ok(Contents { records, ..Contents::default() });
        }
        let folder = StateFolder::open(&self.folder).map_err(|error| self.failed("", error))?;
        let file = folder.map(|folder| folder.read(NAME)).transpose();
        let failed = |error| self.failed(NAME, error);
        let Some(file) = file.map_err(failed)?.flatten() else { return Ok(Contents::default()) };
        let read = || reading::read(BufReader::with_capacity(READ_AT_ONCE, Holes::of(&file)?));
        let contents = read().map_err(failed)?;
        if contents.torn.is_none() {
            return Ok(contents);
        }
        // Another process may be about to write the rest of the line.
        if wait_for_lock(&file, FlockOperation::NonBlockingLockShared).is_err() {
            return Ok(contents);
        }
        read().map_err(failed)
    }

    /// Whether that session's process is gone: its lock is free, or its file missing. A session whose lock cannot be read
    /// counts as living: it is not undone.
    pub fn is_dead(&self, session: &str) -> bool {
        if self.memory.is_some() {
            // A journal in memory ends with its process.
            return false;
        }
        let name_is_plain = session.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if !name_is_plain || session.is_empty() {
            return true;
        }
        let lock = StateFolder::open(&self.folder).and_then(|folder| {
            let sessions = folder.map(|folder| folder.folder(SESSIONS)).transpose()?.flatten();
            sessions.map(|sessions| sessions.read(session)).transpose()
        });
        match lock {
            Ok(Some(Some(lock))) => flock(&lock, EXCLUSIVE).is_ok(),
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

impl Session {
    /// A record of this session.
    pub fn record(&self, event: Event, boot: &str, time: i64) -> Record {
        Record { time, boot: boot.to_owned(), session: self.id.clone(), event }
    }

    /// Releases the lock.
    pub fn release(self) {
        if let Some((lock, sessions)) = self.lock {
            // The file goes first: without a file the session has ended.
            let _gone = sessions.remove(&self.id);
            drop(lock);
        }
    }
}

/// Removes the lock files of dead sessions: without a file a session is dead as well.
fn remove_dead(sessions: &StateFolder) {
    for name in sessions.names().unwrap_or_default() {
        if let Ok(Some(lock)) = sessions.read(&name)
            && flock(&lock, EXCLUSIVE).is_ok()
        {
            // A file that stays is tried again by the next session.
            let _ = sessions.remove(&name);
        }
    }
}

/// The end of the file: where a line without an end begins.
fn tail(file: &File) -> io::Result<Tail> {
    const PIECE: usize = 4096;
    let length = file.metadata()?.len();
    let mut end = length;
    let mut piece = [0; PIECE];
    while end > 0 {
        let start = end.saturating_sub(PIECE as u64);
        let piece = &mut piece[..usize::try_from(end - start).unwrap_or_default()];
        file.read_exact_at(piece, start)?;
        if let Some(at) = piece.iter().rposition(|byte| *byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        end = start;
    }
    Ok(Tail { length, torn: (end < length).then_some(end) })
}

/// The line without an end, if it is not too long for a record.
fn last_line(file: &File, tail: &Tail) -> io::Result<Option<Vec<u8>>> {
    const MOST: u64 = 1 << 20;
    let Some(torn) = tail.torn.filter(|torn| tail.length - torn <= MOST) else { return Ok(None) };
    let mut line = vec![0; usize::try_from(tail.length - torn).unwrap_or_default()];
    file.read_exact_at(&mut line, torn)?;
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::change;

    #[test]
    fn an_error_of_the_file_has_the_fix_of_its_cause() {
        for (errno, fix) in [
            (libc::EMFILE, "; raise `ulimit -n`"),
            (libc::ENFILE, "; raise fs.file-max"),
            (libc::EFBIG, "; raise `ulimit -f`"),
            (libc::EIO, "; check that drive (`dmesg`), or set IODYNO_STATE_DIR"),
            (libc::ENOSPC, "; free some space there"),
            (libc::EACCES, "; check it, or set IODYNO_STATE_DIR"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let said = JournalError::File { path: NAME.into(), error }.to_string();
            assert!(said.contains(fix), "{said}");
        }
    }

    #[test]
    fn records_survive_the_file_and_a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        assert_eq!(journal.contents().unwrap(), Contents::default());
        let session = journal.open(Purpose::Command, "b", 0x1234).unwrap();
        let mut file = StateFolder::make(folder.path()).unwrap().append(NAME).unwrap();
        file.write_all(b"{\"time\":1,\"bo").unwrap();
        assert_eq!(journal.contents().unwrap().torn, Some(2));
        let record = session.record(change("/sys/x", "1", "2"), "b", 2);
        journal.append(&record).unwrap();
        let read = journal.contents().unwrap();
        assert_eq!((read.records.len(), read.torn), (2, None));
        assert_eq!(read.records[1], record);
        file.write_all(b"{\"nonsense\": 1}\n\xff\xfe}\n").unwrap();
        journal.append(&record).unwrap();
        let contents = journal.contents().unwrap();
        assert_eq!(contents.records.len(), 3, "what is undamaged is read");
        assert_eq!(contents.damaged.iter().map(|damage| damage.line).collect::<Vec<_>>(), [3, 4]);
        let said = contents.damaged[0].to_string();
        assert!(said.starts_with("line 3 is damaged (") && said.ends_with("; remove the line"), "{said}");
    }

    #[test]
    fn without_a_boot_id_nothing_can_be_journaled() {
        let journal = Journal::in_memory();
        let said = journal.open(Purpose::Command, "", 1).unwrap_err().to_string();
        assert!(
            said.starts_with("/proc/sys/kernel/random/boot_id: ") && said.ends_with("; mount /proc"),
            "{said}"
        );
    }

    #[test]
    fn two_sessions_of_one_moment_have_two_names() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        let first = journal.open(Purpose::Command, "b", 1).unwrap();
        let number = u32::from_str_radix(first.id.rsplit('-').next().unwrap(), 16).unwrap();
        // As sessions left them that died, and whose clock was later than this one.
        for other in 1..9 {
            let id = first.id.replace(&format!("-{number:x}"), &format!("-{:x}", number + other));
            File::create(folder.path().join(SESSIONS).join(id)).unwrap();
        }
        assert_ne!(journal.open(Purpose::Command, "b", 1).unwrap().id, first.id);
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
        let pipe = folder.path().join(SESSIONS).join("f");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        assert!(!journal.is_dead("f"), "what cannot be looked at is left alone");
    }
}
