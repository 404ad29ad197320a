//! [`StateFolder`]: the state folder, trusted only where no other user can write to it.
//!
//! Its contents make root write settings, so the folder and every file in it must belong to this process' user. Files
//! are opened relative to the folder's descriptor; links are not followed, and only regular files are read or written.

use std::{
    fs::{DirBuilder, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, fsync, mkdirat,
        open, openat, renameat, statat, unlinkat,
    },
    io::Errno,
};

/// Of one process alone.
pub(crate) const EXCLUSIVE: FlockOperation = FlockOperation::NonBlockingLockExclusive;
/// Between two tries to lock.
const PAUSE: Duration = Duration::from_millis(5);
/// Ten seconds in all. A holder writes one setting, or some records.
const TRIES: u32 = 2000;

/// Locks a file, and waits while another process holds it.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] when that process, which may be stopped, holds it for ten seconds.
pub(crate) fn wait_for_lock(file: impl AsFd, operation: FlockOperation) -> io::Result<()> {
    wait(file, operation, TRIES)
}

fn wait(file: impl AsFd, operation: FlockOperation, tries: u32) -> io::Result<()> {
    for _ in 0..tries {
        match flock(&file, operation) {
            Err(Errno::WOULDBLOCK) => thread::sleep(PAUSE),
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "another iodyno holds its lock and does not go on"))
}

/// A folder that this user owns and no other user can write to.
#[derive(Debug)]
pub(crate) struct StateFolder {
    folder: OwnedFd,
}

/// Never follow a link, never wait for a file.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const FOLDER: OFlags = FLAGS.union(OFlags::DIRECTORY);
/// Mode of files.
const OWN: Mode = Mode::RUSR.union(Mode::WUSR);

impl StateFolder {
    /// Opens the folder, if it exists.
    ///
    /// # Errors
    /// A link, another file type, or another user owns it or can write to it; the text contains the fix.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        if path.as_os_str().is_empty() {
            return Ok(None);
        }
        // Without the slash behind it, which would follow a link.
        let path: PathBuf = path.components().collect();
        existing(open(&path, FOLDER, Mode::empty()))?.map(Self::checked).transpose()
    }

    /// Opens the folder, or creates it with mode 0700. Errors as for [`Self::open`], and for an empty path: this user has no
    /// state folder.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(refused("there is none, as HOME is not set: set IODYNO_STATE_DIR"));
        }
        DirBuilder::new().recursive(true).mode(Mode::RWXU.bits()).create(path).or_else(|error| {
            // A symbolic link gets a better message below.
            if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
        })?;
        Self::open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a subfolder, if it exists. Errors as for [`Self::open`].
    pub(crate) fn folder(&self, name: &str) -> io::Result<Option<Self>> {
        existing(openat(&self.folder, name, FOLDER, Mode::empty()))?.map(Self::checked).transpose()
    }

    /// Opens or creates a subfolder. Errors as for [`Self::open`].
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.folder, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.folder(name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a file for reading, if it exists.
    ///
    /// # Errors
    /// Not a regular file, or another user owns it or can write to it.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<File>> {
        existing(openat(&self.folder, name, FLAGS, Mode::empty()))?.map(own_file).transpose()
    }

    /// Opens or creates a file for reading and appending. Errors as for [`Self::read`].
    pub(crate) fn append(&self, name: &str) -> io::Result<File> {
        self.writable(name, OFlags::CREATE | OFlags::APPEND)
    }

    /// Opens or creates a lock file. Errors as for [`Self::read`].
    pub(crate) fn lock_file(&self, name: &str) -> io::Result<File> {
        self.writable(name, OFlags::CREATE)
    }

    /// Creates a file; `AlreadyExists` if it exists.
    pub(crate) fn new_file(&self, name: &str) -> io::Result<File> {
        self.writable(name, OFlags::CREATE | OFlags::EXCL)
    }

    /// Whether `file` is the one that has this name now.
    pub(crate) fn has(&self, name: &str, file: &File) -> io::Result<bool> {
        let opened = fstat(file)?;
        match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in it that are UTF-8.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            if let Ok(name) = entry?.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Waits for the folder's own lock, which this descriptor holds until it is dropped.
    pub(crate) fn lock(&self) -> io::Result<()> {
        wait_for_lock(&self.folder, EXCLUSIVE)
    }

    /// Writes the folder's names to the drive.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.folder)?)
    }

    /// Renames a file, replacing an existing one.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.folder, from, &self.folder, to)?)
    }

    /// Removes a file's name.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    fn writable(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let file = openat(&self.folder, name, FLAGS | OFlags::RDWR | flags, OWN).map_err(explained)?;
        own_file(file)
    }

    fn checked(folder: OwnedFd) -> io::Result<Self> {
        let stat = fstat(&folder)?;
        owned(&stat, "the state folder ")?;
        // The mode of an existing folder stays: IODYNO_STATE_DIR may name a shared one.
        if others_may_write(&stat) {
            return Err(refused("other users can write to it: check its contents, then `chmod 700` it"));
        }
        Ok(Self { folder })
    }
}

/// The file, if it is a regular one that no other user can write to.
fn own_file(file: OwnedFd) -> io::Result<File> {
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused("is not a regular file"));
    }
    owned(&stat, "")?;
    if others_may_write(&stat) {
        return Err(refused("other users can write to it: check its contents, then `chmod 600` it"));
    }
    // Another name may lie in a folder of another user, or be a file that is no journal.
    if stat.st_nlink > 1 {
        return Err(refused(
            "has other names (hard links): check its contents, then replace it by a copy of its own",
        ));
    }
    tighten(&file, &stat)?;
    Ok(file.into())
}

fn owned(stat: &Stat, what: &str) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if stat.st_uid == own {
        return Ok(());
    }
    Err(refused(format!("{what}belongs to user {}, not to user {own}", stat.st_uid)))
}

fn others_may_write(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

/// Removes the permissions of group and others.
fn tighten(file: impl AsFd, stat: &Stat) -> io::Result<()> {
    let others = Mode::RWXG | Mode::RWXO;
    if !Mode::from_raw_mode(stat.st_mode).intersects(others) {
        return Ok(());
    }
    fchmod(file, OWN)
        .map_err(|error| refused(format!("other users have access, and `chmod` failed: {error}")))
}

/// Errors of these flags in words.
fn explained(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => refused("is a symbolic link, which is not followed in the state folder"),
        Errno::NOTDIR => refused("is a symbolic link or not a folder"),
        // NXIO: a socket, or a pipe without a reader.
        Errno::NXIO | Errno::ISDIR => refused("is not a regular file"),
        other => other.into(),
    }
}

/// `None` if it does not exist.
fn existing(opened: Result<OwnedFd, Errno>) -> io::Result<Option<OwnedFd>> {
    match opened {
        Err(Errno::NOENT) => Ok(None),
        opened => opened.map(Some).map_err(explained),
    }
}

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.into())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        io::{Read, Write},
        os::unix::fs::{PermissionsExt, chown, symlink},
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn words<T>(answer: io::Result<T>) -> String {
        answer.err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        (folder, path)
    }

    #[test]
    fn what_is_made_belongs_to_its_owner_alone_whatever_the_umask_allows() {
        let (_held, path) = folder();
        assert!(StateFolder::open(&path).unwrap().is_none());
        let state = StateFolder::make(&path).unwrap();
        state.append("file").unwrap().write_all(b"a").unwrap();
        state.append("file").unwrap().write_all(b"b").unwrap();
        let mut content = String::new();
        state.read("file").unwrap().unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "ab");
        state.make_folder("sessions").unwrap();
        assert_eq!(
            (mode(&path), mode(&path.join("file")), mode(&path.join("sessions"))),
            (0o700, 0o600, 0o700)
        );
        assert!(state.read("nothing").unwrap().is_none());
        assert_eq!(state.new_file("file").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn files_are_tightened_folders_left_alone_and_what_others_could_write_is_refused() {
        let (_held, path) = folder();
        let state = StateFolder::make(&path).unwrap();
        drop(state.append("read").unwrap());
        drop(state.append("written").unwrap());
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(path.join("read"), Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(path.join("written"), Permissions::from_mode(0o666)).unwrap();
        let state = StateFolder::open(&path).unwrap().unwrap();
        assert_eq!(mode(&path), 0o755, "it may be a folder of the system's");
        assert!(state.read("read").unwrap().is_some());
        assert_eq!(mode(&path.join("read")), 0o600);
        assert!(words(state.read("written")).contains("other users can write"));
        fs::set_permissions(&path, Permissions::from_mode(0o1777)).unwrap();
        assert!(words(StateFolder::open(&path)).contains("other users can write"));
        assert_eq!(mode(&path), 0o1777);
    }

    #[test]
    fn a_lock_of_a_process_that_does_not_go_on_is_an_error() {
        let (_held, path) = folder();
        let state = StateFolder::make(&path).unwrap();
        let (first, second) = (state.lock_file("turn").unwrap(), state.lock_file("turn").unwrap());
        wait(&first, EXCLUSIVE, 2).unwrap();
        assert_eq!(wait(&second, EXCLUSIVE, 2).unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(first);
        wait(&second, EXCLUSIVE, 2).unwrap();
    }

    #[test]
    fn links_pipes_folders_and_files_of_others_are_refused_at_once() {
        let (held, path) = folder();
        let state = StateFolder::make(&path).unwrap();
        let secret = held.path().join("secret");
        File::create_new(&secret).unwrap();
        symlink(&secret, path.join("link")).unwrap();
        fs::hard_link(&secret, path.join("hard")).unwrap();
        assert!(words(state.read("hard")).contains("hard links"));
        assert!(words(state.append("hard")).contains("hard links"));
        assert!(std::process::Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success());
        fs::create_dir(path.join("folder")).unwrap();
        for (name, why) in
            [("link", "is a symbolic link"), ("pipe", "not a regular file"), ("folder", "not a regular file")]
        {
            for said in [words(state.read(name)), words(state.append(name)), words(state.lock_file(name))] {
                assert!(said.contains(why), "{name}: {said}");
            }
        }
        let alias = held.path().join("alias");
        symlink(&path, &alias).unwrap();
        for end in ["", "/", "//", "/."] {
            let alias = PathBuf::from(format!("{}{end}", alias.display()));
            assert!(words(StateFolder::open(&alias)).contains("is a symbolic link"), "{alias:?}");
            assert!(words(StateFolder::make(&alias)).contains("is a symbolic link"), "{alias:?}");
        }
        assert!(words(StateFolder::open(&secret)).contains("not a folder"));
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root gives files away");
            return;
        }
        drop(state.append("foreign").unwrap());
        chown(path.join("foreign"), Some(65_534), None).unwrap();
        assert!(words(state.read("foreign")).contains("belongs to user 65534, not to user 0"));
        chown(&path, Some(65_534), None).unwrap();
        assert!(words(StateFolder::open(&path)).contains("belongs to user 65534"));
        assert!(words(StateFolder::make(&path)).contains("belongs to user 65534"));
    }
}
