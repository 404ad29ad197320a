//! Files to read in place of drives that may not be read: where they could lie, one for each file system.

use std::path::{Path, PathBuf};

use crate::{
    machine::{Machine, Use},
    model::{DriveName, Target},
    units::Bytes,
};

/// How big such a file is.
pub const FILE_SIZE: Bytes = Bytes(1 << 30);
/// Its name.
const NAME: &str = "iodyno.test";
/// Boot loaders read file systems below these: small, and no place for tests.
const BOOT: [&str; 2] = ["/boot", "/efi"];

/// A mounted file system of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its drive; of several the first.
    pub drive: DriveName,
    /// The device that is mounted.
    device: String,
    /// Paths for a file on it, best first.
    pub files: Vec<PathBuf>,
}

impl FileSystem {
    /// A target for one of its paths.
    pub fn target(&self, path: &Path) -> Target {
        Target { path: path.to_owned(), drive: Some(self.drive.clone()) }
    }
}

/// The mounted file systems of drives, each once; `home` is the folder of the user, which may be the only one to write to.
/// Targets that are files themselves have none.
pub fn file_systems(machine: &Machine, targets: &[Target], home: Option<&Path>) -> Vec<FileSystem> {
    let drives = targets.iter().filter(|target| target.path.starts_with("/dev"));
    let drives = drives.filter_map(|target| machine.drive(target.drive.as_ref()?));
    let mut found: Vec<FileSystem> = Vec::new();
    for (drive, used) in drives.flat_map(|drive| drive.used_by.iter().map(move |used| (drive, used))) {
        let Some((point, device)) = used.mount_point().zip(used.chain.last()) else { continue };
        if BOOT.iter().any(|boot| Path::new(point.as_str()).starts_with(boot)) {
            continue;
        }
        let files = folders(machine, used, point.as_str(), home).into_iter().map(|folder| folder.join(NAME));
        match found.iter_mut().find(|other| other.device == device.as_str()) {
            Some(same) => same.files.extend(files),
            None => found.push(FileSystem {
                drive: drive.name.clone(),
                device: device.to_string(),
                files: files.collect(),
            }),
        }
    }
    found
}

/// Folders of a mount that are worth a try.
fn folders(machine: &Machine, used: &Use, point: &str, home: Option<&Path>) -> Vec<PathBuf> {
    // Only root may write to `/`; every user may write to /var/tmp, which may be another file system.
    let own = if point == "/" { "/var/tmp" } else { point };
    let is_here = |folder: &Path| mount_of(machine, folder).is_none_or(|other| other.chain == used.chain);
    let folders = [Some(Path::new(own)), home];
    folders
        .into_iter()
        .flatten()
        .filter(|folder| folder.starts_with(point) && is_here(folder))
        .map(Path::to_owned)
        .collect()
}

/// The mount that holds a folder: the one with the longest path.
fn mount_of<'a>(machine: &'a Machine, folder: &Path) -> Option<&'a Use> {
    let mounts = machine.drives.iter().flat_map(|drive| &drive.used_by);
    let holds = |used: &&Use| used.mount_point().is_some_and(|point| folder.starts_with(point.as_str()));
    mounts.filter(holds).max_by_key(|used| used.mount_point().map(|point| point.as_str().len()))
}

/// `A:B`, as `--filename` takes it.
pub fn joined<'a>(files: impl Iterator<Item = &'a Path>) -> String {
    let names = files.map(|file| file.to_string_lossy().replace(':', "\\:"));
    names.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::{Drive, User},
        model::fio,
        source::{self, origin::Origin},
    };

    fn machine(mounts: &[(&str, &[&str], &str)]) -> (Machine, Vec<Target>) {
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        let mut machine = source::read_machine(&*root).0;
        for drive in &mut machine.drives {
            let mine = mounts.iter().filter(|(name, ..)| drive.name.as_str() == *name);
            drive.used_by = mine
                .map(|(_, chain, point)| Use {
                    chain: chain.iter().map(|device| (*device).into()).collect(),
                    by: User::Mount { point: (*point).into(), filesystem: "ext4".into() },
                })
                .collect();
        }
        let targets = machine.hardware_drives().map(Drive::target).collect();
        (machine, targets)
    }

    #[test]
    fn each_file_system_is_offered_once_but_for_those_of_boot_loaders() {
        let (machine, targets) = machine(&[
            ("nvme0n1", &["nvme0n1p1"], "/boot/efi"),
            ("nvme0n1", &["nvme0n1p2"], "/"),
            ("nvme0n1", &["nvme0n1p3", "md0"], "/data"),
            ("nvme1n1", &["nvme1n1p1", "md0"], "/data"),
            ("nvme1n1", &["nvme1n1p2"], "/home"),
        ]);
        let found = file_systems(&machine, &targets, Some(Path::new("/home/ada")));
        let said: Vec<_> = found.iter().map(|one| (one.drive.as_str(), one.files.clone())).collect();
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            said,
            [
                ("nvme0n1", paths(&["/var/tmp/iodyno.test"])),
                ("nvme0n1", paths(&["/data/iodyno.test"])),
                ("nvme1n1", paths(&["/home/iodyno.test", "/home/ada/iodyno.test"])),
            ]
        );
    }

    #[test]
    fn another_file_system_below_is_not_the_drives_own() {
        let (machine, targets) =
            machine(&[("nvme0n1", &["nvme0n1p2"], "/"), ("nvme1n1", &["nvme1n1p1"], "/var")]);
        let found = file_systems(&machine, &targets[..1], None);
        assert_eq!(found[0].files, Vec::<PathBuf>::new(), "/var/tmp lies on the other drive");
        let file = Target { path: "/var/tmp/big".into(), ..targets[0].clone() };
        assert_eq!(file_systems(&machine, &[file], None), [], "a file is no drive");
    }

    #[test]
    fn the_list_is_read_back_as_it_was_written() {
        let files = ["/mnt/a:b/iodyno.test", "/var/tmp/iodyno.test"].map(PathBuf::from);
        assert_eq!(fio::names(&joined(files.iter().map(PathBuf::as_path))), files);
    }
}
