//! Whether a target can be read, as far as its path and its permissions tell: nothing is opened. Where drives may not be
//! read, the files that can be read in their place.

use std::{
    env,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::{
    engine::{EngineError, refused, room_for},
    machine::Machine,
    model::{Failed, Target},
    pull::{self, FILE_SIZE},
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

/// Why one of these targets cannot be read by any user: it is not there, or a folder. With a size, a missing file is laid out.
pub(crate) fn missing(targets: &[Target], size: Option<Bytes>) -> Option<EngineError> {
    let mut errors = targets.iter().filter_map(|target| check(&target.path, size).err());
    errors.find(|error| {
        let errno = if let EngineError::Target { errno, .. } = error { *errno } else { None };
        !matches!(errno, Some(libc::EACCES | libc::EPERM))
    })
}

/// An error of a test of these targets, for the user. Where permissions are the reason, it has a file to read on each file
/// system of their drives that has room for it and takes files of this user.
pub(crate) fn failed(machine: &Machine, targets: &[Target], error: EngineError) -> Failed {
    let files = files(machine, targets);
    let (path, wrong, errno) = match &error {
        EngineError::Target { path, wrong, errno: Some(errno), .. } => (path, wrong, *errno),
        _ => return error.into(),
    };
    let may = match errno {
        libc::EACCES => "run as root, or read",
        libc::EPERM => "a policy (container, device cgroup) forbids it even to root, so read",
        _ => return error.into(),
    };
    if files.is_empty() {
        return error.into();
    }
    let files_on = if files.len() == 1 { "a file on its file system" } else { "files on their file systems" };
    Failed::new(format!("{path}: {wrong}; {may} {files_on}"), Some(errno)).with_files(files)
}

/// The command that reads files in place of drives: `iodyno pull --filename /var/tmp/iodyno.test --size 1g`.
pub(crate) fn file_command(command: &str, files: &[Target]) -> String {
    let size = crate::units::block_size(FILE_SIZE);
    format!(
        "iodyno {command} --filename {} --size {size}",
        pull::joined(files.iter().map(|file| file.path.as_path()))
    )
}

fn files(machine: &Machine, targets: &[Target]) -> Vec<Target> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let can_be_read = |path: &&PathBuf| {
        let has_room = match path.metadata() {
            Ok(there) => there.len() >= FILE_SIZE.0,
            Err(_) => room_for(path, FILE_SIZE).is_ok(),
        };
        has_room && check(path, Some(FILE_SIZE)).is_ok()
    };
    let file_systems = pull::file_systems(machine, targets, home.as_deref());
    file_systems.iter().filter_map(|one| Some(one.target(one.files.iter().find(can_be_read)?))).collect()
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
    use crate::{
        machine::{Drive, Use, User},
        source::{self, origin::Origin},
    };

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

    #[test]
    fn drives_that_may_not_be_read_come_with_a_file_on_each_file_system_that_takes_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        let mut machine = source::read_machine(&*root).0;
        let point = folder.path().to_string_lossy().into_owned();
        for (index, drive) in machine.drives.iter_mut().enumerate() {
            let point = if index == 0 { point.as_str().into() } else { "/nowhere".into() };
            let by = User::Mount { point, filesystem: "ext4".into() };
            drive.used_by = vec![Use::of(format!("{}p1", drive.name).as_str(), by)];
        }
        let targets: Vec<Target> = machine.drives.iter().map(Drive::target).collect();
        let failed = |errno: i32| {
            let error = std::io::Error::from_raw_os_error(errno);
            failed(&machine, &targets, refused(&targets[0].path, &error))
        };
        let file = folder.path().join("iodyno.test");
        for (errno, says) in [
            (libc::EACCES, "EACCES: Permission denied; run as root, or read a file on its file system"),
            (libc::EPERM, "forbids it even to root, so read a file on its file system"),
        ] {
            let why = failed(errno);
            assert!(why.to_string().ends_with(says), "{why}");
            let paths: Vec<_> = why.files().iter().map(|file| file.path.clone()).collect();
            assert_eq!(paths, std::slice::from_ref(&file), "nothing can be laid out in /nowhere");
        }
        let command = file_command("bench", failed(libc::EPERM).files());
        assert_eq!(command, format!("iodyno bench --filename {} --size 1g", file.display()));
        assert!(failed(libc::ENXIO).files().is_empty(), "files are for drives that may not be read");
        std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), &file).unwrap();
        assert!(failed(libc::EPERM).files().is_empty(), "a smaller file of this name is not read");
    }
}
