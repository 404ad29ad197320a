//! Lays a test file out: incompressible data in a new file (`O_EXCL`), removed after the run.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Access, Advice, access, fadvise, statvfs};

use crate::engine::{EngineError, offset_generator::Wyrand};
use crate::{
    model::errno_words,
    units::{self, Bytes},
};

/// A test file. Dropping it removes the file, if it is still the same one, not to be kept, and nothing else has written to it.
#[derive(Debug)]
pub struct LaidOut {
    path: PathBuf,
    /// Device and inode of the file made.
    identity: (u64, u64),
    /// When it was last written, in seconds and nanoseconds; `None` while it is laid out. Reads do not change it.
    written: Option<(i64, i64)>,
    keep: bool,
}

/// Bytes written at once.
const PIECE: usize = 1 << 20;
/// Bytes after which data is synced to the drive, so that progress is real.
const SYNC_EVERY: u64 = 64 << 20;

/// Lays out `size` bytes in a new file at `path`. `progress` gets the bytes written so far and returns whether to go on;
/// if not, or on an error, the file is removed.
pub fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    keep: bool,
    progress: &mut dyn FnMut(Bytes) -> bool,
) -> Result<LaidOut, EngineError> {
    room_for(path, size)?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(path, &error))?;
    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    let mut laid_out = LaidOut {
        path: path.to_owned(),
        identity: (metadata.dev(), metadata.ino()),
        written: None,
        keep: false,
    };
    if !fill(&file, size, seed, progress).map_err(|error| failed(path, &error))? {
        return Err(EngineError::Stopped);
    }
    laid_out.written = file.metadata().ok().as_ref().map(last_written);
    laid_out.keep = keep;
    Ok(laid_out)
}

/// Whether a file is to be laid out there. A missing path in /dev is a missing device.
pub(super) fn is_missing(path: &Path) -> bool {
    !path.starts_with("/dev") && matches!(path.try_exists(), Ok(false))
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// Whether a file can be created in the folder of `path`.
pub(super) fn check_folder(path: &Path) -> Result<(), EngineError> {
    let may = access(folder_of(path), Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(|errno| failed(path, &errno.into()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether all of it was written, or `progress` ended it.
fn fill(
    mut file: &File,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(Bytes) -> bool,
) -> io::Result<bool> {
    let mut random = Wyrand::new(seed, 0);
    let mut piece = vec![0; PIECE];
    let mut written = 0;
    while written < size.0 {
        if !progress(Bytes(written)) {
            return Ok(false);
        }
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next().to_le_bytes());
        }
        let length = usize::try_from(size.0 - written).map_or(PIECE, |left| left.min(PIECE));
        file.write_all(&piece[..length])?;
        written += length as u64;
        if written.is_multiple_of(SYNC_EVERY) {
            file.sync_data()?;
        }
    }
    file.sync_all()?;
    // Only advice: direct reads go past the cache anyway.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    Ok(true)
}

/// Whether a file of this size has room at `path`.
pub(crate) fn room_for(path: &Path, size: Bytes) -> Result<(), EngineError> {
    let free = statvfs(folder_of(path)).map_err(|errno| failed(path, &errno.into()))?;
    let free = free.f_bavail.saturating_mul(free.f_frsize);
    // Room for the file system's own account of it.
    if size.0.saturating_add(size.0 / 64) > free {
        let wrong = format!("{} do not fit, {} MiB are free", units::block_size(size), free >> 20);
        return Err(EngineError::target(path, wrong, "choose a smaller --size or another file system", None));
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> EngineError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    if errno == libc::EEXIST && is_link(path) {
        return EngineError::target(
            path,
            "a link to a missing file",
            "name that file, or another one",
            errno,
        );
    }
    let fix = match errno {
        libc::ENOENT | libc::ENOTDIR => "its folder does not exist: create it or choose another",
        libc::EEXIST => "a file of this name appeared meanwhile: choose another name",
        libc::EACCES => "no permission to create files there: choose another folder or run as root",
        libc::EROFS => "the file system is read-only: choose another",
        libc::ENOSPC | libc::EDQUOT => "choose a smaller --size or another file system",
        _ => "choose another path for the file",
    };
    EngineError::target(path, format!("cannot lay out the file: {}", errno_words(errno)), fix, errno)
}

fn last_written(metadata: &fs::Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

impl LaidOut {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        let same = fs::symlink_metadata(&self.path).is_ok_and(|metadata| {
            metadata.is_file()
                && (metadata.dev(), metadata.ino()) == self.identity
                && self.written.is_none_or(|written| written == last_written(&metadata))
        });
        if same && !self.keep {
            // A file that cannot be removed stays: there is no user to report it to.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_laid_out_with_data_that_does_not_repeat_and_goes_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iodyno.test");
        let mut steps = Vec::new();
        let size = Bytes(3 * PIECE as u64 + 512);
        let laid_out = lay_out(&path, size, 1, false, &mut |done| {
            steps.push(done.0);
            true
        })
        .unwrap();
        assert_eq!(steps, [0, 1 << 20, 2 << 20, 3 << 20]);
        let content = fs::read(&path).unwrap();
        assert_eq!(content.len() as u64, size.0);
        let words: std::collections::HashSet<&[u8]> = content.chunks_exact(8).collect();
        assert!(words.len() > content.len() / 8 - 10);
        drop(laid_out);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_kept_stays_and_what_was_there_is_never_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        drop(lay_out(&path, Bytes(4096), 1, true, &mut |_| true).unwrap());
        let before = fs::read(&path).unwrap();
        let again = lay_out(&path, Bytes(4096), 2, false, &mut |_| true).unwrap_err().to_string();
        assert!(again.contains("EEXIST"), "{again}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_link_to_a_missing_file_is_called_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        std::os::unix::fs::symlink("gone", &path).unwrap();
        let said = lay_out(&path, Bytes(4096), 1, false, &mut |_| true).unwrap_err().to_string();
        let expected = "a link to a missing file; name that file, or another one";
        assert!(said.contains(expected) && !said.contains("meanwhile"), "{said}");
        assert!(!folder.path().join("gone").exists());
    }

    #[test]
    fn a_file_that_took_the_place_of_ours_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let laid_out = lay_out(&path, Bytes(4096), 1, false, &mut |_| true).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        File::create(&path).unwrap();
        drop(laid_out);
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_another_program_has_written_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let laid_out = lay_out(&path, Bytes(4096), 1, false, &mut |_| true).unwrap();
        let mut theirs = OpenOptions::new().append(true).open(&path).unwrap();
        // The kernel's clock of files goes on once in a tick.
        std::thread::sleep(std::time::Duration::from_millis(20));
        theirs.write_all(b"precious").unwrap();
        drop(laid_out);
        assert!(fs::read(&path).unwrap().ends_with(b"precious"));
    }

    #[test]
    fn stopping_or_a_lack_of_room_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(
            lay_out(&path, Bytes(64 << 20), 1, true, &mut |done| done.0 < 2 << 20).unwrap_err(),
            EngineError::Stopped
        );
        assert!(!path.exists());
        let error = lay_out(&path, Bytes(1 << 60), 1, false, &mut |_| true).unwrap_err().to_string();
        assert!(error.contains("do not fit"), "{error}");
        let nowhere = lay_out(Path::new("/nowhere/file"), Bytes(1), 1, false, &mut |_| true);
        assert!(nowhere.unwrap_err().to_string().contains("ENOENT"));
    }
}
