//! Whether a target can be read, as far as its path and its permissions tell: nothing is opened.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::{
    engine::{EngineError, refused},
    units::Bytes,
};

/// Checks that a target is there and may be read by this user; with a size, that a missing file can be laid out.
///
/// # Errors
/// A path that is not there, a directory, missing permissions. A policy that forbids opening shows only when it is opened.
pub(crate) fn check(path: &Path, size: Option<Bytes>) -> Result<(), EngineError> {
    let is_missing = matches!(path.try_exists(), Ok(false));
    if size.is_some() && is_missing && !path.starts_with("/dev") {
        return may_create(path);
    }
    let metadata = path.metadata().map_err(|error| refused(path, &error))?;
    if metadata.is_dir() {
        let fix = "name a file in it; --size 1G lays out a new one";
        return Err(EngineError::target(path, "is a directory".to_owned(), fix, None));
    }
    may(path, Access::READ_OK).map_err(|error| refused(path, &error))
}

fn may_create(path: &Path) -> Result<(), EngineError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |wrong: String, fix: &str, errno| EngineError::target(path, wrong, fix, errno);
    if !folder.is_dir() {
        let wrong = format!("cannot lay out the file: {} is no folder", folder.display());
        return Err(fail(wrong, "create it or choose another", None));
    }
    may(folder, Access::WRITE_OK).map_err(|error| {
        let wrong = format!("cannot lay out the file: {error}");
        fail(wrong, "choose a folder you may write to, or run as root", error.raw_os_error())
    })
}

/// Whether this process, as it runs now, has these permissions.
fn may(path: &Path, access: Access) -> std::io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_no_file_is_found_without_opening_it() {
        let folder = tempfile::tempdir().unwrap();
        let (file, missing) = (folder.path().join("file"), folder.path().join("missing"));
        std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), &file).unwrap();
        let wrong = |path: &Path, size| check(path, size).map_err(|error| error.to_string());
        assert_eq!(wrong(&file, None), Ok(()));
        assert_eq!(wrong(&missing, Some(Bytes(1))), Ok(()), "it can be laid out");
        for (path, size, says) in [
            (missing.as_path(), None, "ENOENT"),
            (folder.path(), None, "is a directory"),
            (&missing.join("file"), Some(Bytes(1)), "is no folder"),
            (Path::new("/dev/nosuchdevice"), Some(Bytes(1)), "ENOENT"),
        ] {
            let error = wrong(path, size).unwrap_err();
            assert!(error.contains(says) && error.contains("; "), "{error}");
        }
    }
}
