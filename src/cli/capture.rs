//! `iodyno capture`: all values read, in one text file.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process,
};

use clap::Args;
use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fchown, fstat, linkat, open, openat,
        renameat, renameat_with, statat, unlinkat,
    },
    io::Errno,
    process::{Gid, Uid, geteuid},
};

use super::{
    failure::{Complaint, Failure, Status, words},
    print, say,
};
use crate::{
    redact::capture_text,
    source::{
        self,
        capture::{MAGIC, MOST_RECORDED, Recorder, format::MOST_TEXT},
        origin::Origin,
    },
};

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// Output file; default or `-` is standard output
    file: Option<PathBuf>,
    /// Keep serials, host and user names, mount paths and network addresses; FILE is then readable by its owner only
    #[arg(long)]
    with_serials: bool,
}

pub(super) fn run(origin: &Origin, args: &CaptureArgs) -> Result<Status, Failure> {
    let root = super::open(origin)?;
    if root.pasted().is_some() {
        let path = match origin {
            Origin::Capture(path) if path != Path::new("-") => path.to_string_lossy(),
            _ => "standard input".into(),
        };
        // A capture has the files of a machine, not the lines of a text nor what it lacks.
        return Err(Complaint::new(path, "is a pasted text, not a machine", "share the text itself").into());
    }
    let recorder = Recorder::new(root.as_ref());
    let (machine, _) = source::read_machine(&recorder);
    source::counters::read(&recorder);
    if let Some(path) = recorder.excess() {
        let most = MOST_RECORDED >> 20;
        let wrong = format!("with it the files of this machine have more than {most} MiB; none has so many");
        return Err(Complaint::new(path, wrong, "look for files of unusual size").into());
    }
    let long = recorder.too_long();
    for cut in machine.cuts.iter().filter(|cut| !long.iter().any(|path| **path == *cut.path)) {
        say(&format!("{}: {}", cut.path, cut.reason));
    }
    if let Some((first, others)) = long.split_first() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        say(&format!("{first}{more}: longer than such a file can be; not read"));
    }
    let text = capture_text(recorder.into_recorded(), args.with_serials);
    if text.len() > MOST_TEXT {
        let wrong = format!(
            "has {} MiB of text, more than the {} MiB of a capture",
            text.len() >> 20,
            MOST_TEXT >> 20
        );
        return Err(Complaint::new("capture", wrong, "look for files of unusual size in that machine").into());
    }
    match &args.file {
        Some(file) if file != Path::new("-") => {
            replace(file, &text, args.with_serials)?;
            Ok(Status::Done)
        }
        _ => print(&text),
    }
}

/// Opens for reading; never follows a link, never waits.
const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// Creates a file; an existing one, or a link, is an error.
const CREATE: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(READ);
/// Creates a file without a name.
const NAMELESS: OFlags = OFlags::WRONLY.union(OFlags::TMPFILE).union(OFlags::CLOEXEC);
/// Mode of a file with serials.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// Mode of a file with pseudonyms, before the umask.
const SHARED: Mode = PRIVATE.union(Mode::RGRP).union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);

/// Writes `text` to `path` atomically: to a new file of the same folder, which is renamed. Only a capture or an empty regular
/// file is replaced; its owner and mode stay. A `private` text is readable by its owner only.
fn replace(path: &Path, text: &str, private: bool) -> Result<(), Complaint> {
    let complain = |wrong: &str, fix: &str| Complaint::new(path.to_string_lossy(), wrong, fix);
    let failed = |error: Errno| complain(&words(&error.into()), "choose a writable folder and file name");
    let name = path.file_name().filter(|_| !path.as_os_str().as_encoded_bytes().ends_with(b"/"));
    let name = name.ok_or_else(|| complain("is not a file name", "name a new file"))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Everything else is relative to this descriptor: the folder stays the same one.
    let folder =
        open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let old = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(checked(&folder, name, &stat).map_err(|(wrong, fix)| complain(&wrong, fix))?),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(failed(error)),
    };
    let mut unfinished =
        Unfinished::beside(&folder, if private { PRIVATE } else { SHARED }, old.is_some()).map_err(failed)?;
    unfinished
        .write(text)
        .map_err(|error| complain(&words(&error), "choose a writable folder and file name"))?;
    if let Some(old) = &old {
        unfinished.take_owner(old, private).map_err(|error| {
            let wrong = format!("its owner {} cannot be kept: {}", old.st_uid, words(&error.into()));
            complain(&wrong, "remove it, or choose another name")
        })?;
    }
    unfinished.rename(name, old.as_ref()).map_err(|error| match error {
        Errno::EXIST => complain("changed while the capture was made", "choose another name"),
        error => failed(error),
    })
}

/// The file to replace, if it is a capture or empty.
///
/// # Errors
/// The problem and the fix.
fn checked(folder: &OwnedFd, name: &OsStr, stat: &Stat) -> Result<Stat, (String, &'static str)> {
    let refused = |wrong: &str, fix| Err((wrong.to_owned(), fix));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            return refused("is a symbolic link, which is not followed", "name the file itself");
        }
        _ => return refused("is not a regular file", "name a new file, or none for standard output"),
    }
    let above = fstat(folder).map_err(|error| (words(&error.into()), "choose another folder"))?;
    // As with the kernel's fs.protected_regular: the owner could read what is written.
    let shared = Mode::from_raw_mode(above.st_mode);
    let shared = shared.contains(Mode::WOTH) || shared.contains(Mode::WGRP | Mode::SVTX);
    if shared && stat.st_uid != geteuid().as_raw() {
        let wrong = format!("belongs to user {} in a folder that other users can write to", stat.st_uid);
        return Err((wrong, "choose another name"));
    }
    let start = || -> io::Result<(Stat, Vec<u8>)> {
        let file = File::from(openat(folder, name, READ, Mode::empty())?);
        let opened = fstat(&file)?;
        let mut start = Vec::new();
        file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
        Ok((opened, start))
    };
    let (opened, start) = start().map_err(|error| (words(&error), "choose another name"))?;
    if !is_same(&opened, stat) {
        return refused("changed while it was checked", "choose another name");
    }
    if opened.st_nlink > 1 {
        // They would keep the old capture.
        return refused("has other names (hard links)", "remove this name, or choose another");
    }
    if start.is_empty() || start == MAGIC.as_bytes() {
        return Ok(opened);
    }
    refused("exists and is not a capture", "choose another name")
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// A temporary file, without a name where the file system can keep one: a kill then leaves nothing. A name that it takes is
/// removed on drop unless it was renamed.
struct Unfinished<'a> {
    folder: &'a OwnedFd,
    name: Option<OsString>,
    file: File,
}

impl<'a> Unfinished<'a> {
    /// A new file; one that is to take another's owner is private until then.
    fn beside(folder: &'a OwnedFd, mode: Mode, replaces: bool) -> Result<Self, Errno> {
        let mode = if replaces { PRIVATE } else { mode };
        // A file system without such files, or no /proc to give them a name.
        if let Ok(file) = openat(folder, ".", NAMELESS, mode).map(File::from)
            && let (Ok(own), Ok(stat)) = (fstat(&file), statat(CWD, descriptor(&file), AtFlags::empty()))
            && is_same(&own, &stat)
        {
            return Ok(Self { folder, name: None, file });
        }
        let (name, file) = free_name(|name| openat(folder, name, CREATE, mode))?;
        Ok(Self { folder, name: Some(name), file: file.into() })
    }

    fn write(&self, text: &str) -> io::Result<()> {
        (&self.file).write_all(text.as_bytes())?;
        self.file.sync_all()
    }

    /// Owner and mode of `old`; without access for others if `private`.
    fn take_owner(&self, old: &Stat, private: bool) -> Result<(), Errno> {
        let new = fstat(&self.file)?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            fchown(self.file.as_fd(), Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))?;
        }
        let kept = if private { PRIVATE } else { Mode::RWXU | Mode::RWXG | Mode::RWXO };
        fchmod(&self.file, Mode::from_raw_mode(old.st_mode) & kept)
    }

    /// Gives it its name. `EXIST` if another file has the name than `old`, or any file if there is none.
    fn rename(&mut self, name: &OsStr, old: Option<&Stat>) -> Result<(), Errno> {
        let there = || match statat(self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            stat => stat.map(Some),
        };
        let link =
            |name: &OsStr| linkat(CWD, descriptor(&self.file), self.folder, name, AtFlags::SYMLINK_FOLLOW);
        let own = match (&self.name, old) {
            (Some(own), _) => own,
            // An existing file, or a link, is an error.
            (None, None) => return link(name),
            (None, Some(_)) => self.name.insert(free_name(link)?.0),
        };
        if old.is_none() {
            match renameat_with(self.folder, own, self.folder, name, RenameFlags::NOREPLACE) {
                // The file system lacks the flag.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                renamed => return renamed,
            }
        }
        match (old, there()?) {
            (None, None) => {}
            (Some(old), Some(now)) if is_same(old, &now) => {}
            _ => return Err(Errno::EXIST),
        }
        renameat(self.folder, own, self.folder, name)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // It is gone if it was renamed; other errors cannot be reported here.
        let _ = self.name.as_ref().map(|name| unlinkat(self.folder, name, AtFlags::empty()));
    }
}

/// The first free name of a temporary file of this process, with what `make` answers for it.
fn free_name<T>(make: impl Fn(&OsStr) -> Result<T, Errno>) -> Result<(OsString, T), Errno> {
    let mut number = 0;
    loop {
        let name = OsString::from(format!(".iodyno-capture.{}.{number}", process::id()));
        match make(&name) {
            // Left by a killed process of the same id.
            Err(Errno::EXIST) if number < 100 => number += 1,
            made => return Ok((name, made?)),
        }
    }
}

/// The kernel's link to an open file.
fn descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_capture_with_another_name_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["x.capture", "other"].map(|name| folder.path().join(name));
        replace(&path, MAGIC, false).unwrap();
        fs::hard_link(&path, &other).unwrap();
        let refused = replace(&path, "new", false).unwrap_err().to_string();
        assert!(refused.contains("has other names (hard links)"), "{refused}");
        assert_eq!([&path, &other].map(|file| fs::read_to_string(file).unwrap()), [MAGIC, MAGIC]);
        fs::remove_file(&other).unwrap();
        replace(&path, "new", false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_capture_that_is_not_finished_has_no_name() {
        // A tmpfs and ext4 can keep files without names; what cannot would have a temporary name.
        let folder = tempfile::tempdir().unwrap();
        let opened = open(folder.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let path = folder.path().join("x.capture");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        for (text, owner_only) in [("first", true), ("second", false), ("third", true)] {
            let old = statat(&opened, "x.capture", AtFlags::SYMLINK_NOFOLLOW).ok();
            let before: Vec<_> = names().collect();
            let wanted = if owner_only { PRIVATE } else { SHARED };
            let mut unfinished = Unfinished::beside(&opened, wanted, old.is_some()).unwrap();
            unfinished.write(text).unwrap();
            if let Some(old) = &old {
                unfinished.take_owner(old, owner_only).unwrap();
            }
            assert_eq!(names().collect::<Vec<_>>(), before, "a kill here leaves nothing");
            unfinished.rename(OsStr::new("x.capture"), old.as_ref()).unwrap();
            drop(unfinished);
            assert_eq!(names().collect::<Vec<_>>(), ["x.capture"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(
                mode(),
                if old.is_none() { 0o600 } else { 0o640 & if owner_only { 0o600 } else { 0o777 } }
            );
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        let mut late = Unfinished::beside(&opened, SHARED, false).unwrap();
        assert_eq!(late.rename(OsStr::new("x.capture"), None), Err(Errno::EXIST), "made meanwhile");
        assert_eq!(fs::read_to_string(&path).unwrap(), "third");
        std::os::unix::fs::symlink("y", folder.path().join("link")).unwrap();
        assert_eq!(late.rename(OsStr::new("link"), None), Err(Errno::EXIST), "a link is not followed");
        drop(late);
        assert_eq!(names().count(), 2);
    }
}
