//! Finds the drives of a test's targets.

use std::{
    collections::HashMap,
    fs::Metadata,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use rustix::fs::{major, minor};

use crate::{
    engine::EngineError,
    machine::{Drive, Machine},
    model::{DriveName, Target, Workload},
    source::{SysRoot, root::resolve},
    text::Label,
};

/// Fills in missing drives of targets of this machine, where they are known.
pub(crate) fn find_drives(workload: &mut Workload, root: &dyn SysRoot, machine: &Machine) {
    // A file may be thousands of targets.
    let mut found: HashMap<&Path, Option<DriveName>> = HashMap::new();
    for Target { path, drive } in workload.targets.iter_mut().filter(|target| target.drive.is_none()) {
        let find = || {
            let by_commands = machine.drive_of_generic(path).map(|drive| drive.name.clone());
            by_commands.or_else(|| drive_of(path, root).filter(|name| machine.drive(name).is_some()))
        };
        drive.clone_from(found.entry(path).or_insert_with(find));
    }
}

/// Resolves `/dev/NAME` and NAME as drives of a demo; without targets, all its hardware drives.
pub(crate) fn name_drives(workload: &mut Workload, machine: &Machine) -> Result<(), EngineError> {
    if workload.targets.is_empty() {
        workload.targets = machine.hardware_drives().map(Drive::target).collect();
    }
    for target in workload.targets.iter_mut().filter(|target| target.drive.is_none()) {
        let Some(drive) = machine.drive_at(&target.path) else {
            return Err(EngineError::Target {
                path: Label::new(&format!("--filename {}", target.path.to_string_lossy())),
                wrong: "no such drive in the demo, which has no files".to_owned(),
                fix: "`iodyno drives --demo` lists those it has".to_owned(),
                errno: None,
            });
        };
        target.drive = Some(drive.name.clone());
    }
    Ok(())
}

/// The drive of a device or partition, or of a file's (or its folder's) file system.
fn drive_of(path: &Path, root: &dyn SysRoot) -> Option<DriveName> {
    let folder = || path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let metadata = path.metadata().or_else(|_| folder().metadata()).ok()?;
    drive_numbered(device_number(&metadata), root)
}

/// The drive of a device number; none for file systems across several devices.
fn drive_numbered(number: u64, root: &dyn SysRoot) -> Option<DriveName> {
    let place = resolve(root, &format!("/sys/dev/block/{}:{}", major(number), minor(number))).ok()?;
    // A partition is a subfolder of its drive.
    let (drive, name) = place.rsplit_once('/')?;
    let is_partition = root.read(&format!("{place}/partition")).is_ok();
    Some(DriveName::new(if is_partition { drive.rsplit('/').next()? } else { name }))
}

fn device_number(metadata: &Metadata) -> u64 {
    if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() }
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;
    use crate::source::{self, capture::TextRoot, origin::Origin, root::FolderRoot};

    #[test]
    fn a_file_lies_on_the_drive_whose_partition_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let number = folder.path().metadata().unwrap().dev();
        let links = folder.path().join("sys/dev/block");
        std::fs::create_dir_all(&links).unwrap();
        let link = links.join(format!("{}:{}", major(number), minor(number)));
        let root = FolderRoot::new(folder.path());
        let drive_of = |name: &str| drive_of(&folder.path().join(name), &root).map(|drive| drive.to_string());
        assert_eq!(drive_of("file"), None, "a file system that spans devices");
        let place = "devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme3/nvme3n1/nvme3n1p2";
        let partition = folder.path().join("sys").join(place);
        std::fs::create_dir_all(&partition).unwrap();
        // Only its existence matters here.
        let any_file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        std::fs::copy(any_file, partition.join("partition")).unwrap();
        std::os::unix::fs::symlink(format!("../../{place}"), &link).unwrap();
        assert_eq!(drive_of("sys").as_deref(), Some("nvme3n1"));
        assert_eq!(drive_of("not there yet").as_deref(), Some("nvme3n1"), "its folder tells");
        assert_eq!(drive_of("no folder/file"), None);
    }

    #[test]
    fn drives_and_partitions_are_known_by_their_numbers_wherever_sysfs_keeps_them() {
        let controller = "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0";
        let disk = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        let places = [
            ((259, 0), format!("{controller}/nvme0n1"), "nvme0n1"),
            ((259, 1), format!("{controller}/nvme0n1/nvme0n1p1"), "nvme0n1"),
            ((259, 2), "virtual/nvme-subsystem/nvme-subsys1/nvme1n1".to_owned(), "nvme1n1"),
            ((8, 0), disk.to_owned(), "sda"),
            ((8, 1), format!("{disk}/sda1"), "sda"),
            ((7, 0), "virtual/block/loop0".to_owned(), "loop0"),
        ];
        let links = places.iter().map(|((major, minor), place, name)| {
            let link = format!("link /sys/dev/block/{major}:{minor} ../../devices/{place}\n");
            let number = format!("file /sys/devices/{place}/partition {minor}\n");
            if place.ends_with(name) { link } else { link + &number }
        });
        let root = TextRoot::parse(&format!("iodyno capture 1\n\n{}", links.collect::<String>())).unwrap();
        let drive = |major, minor| drive_numbered(makedev(major, minor), &root).map(|name| name.to_string());
        for ((major, minor), _, name) in &places {
            assert_eq!(drive(*major, *minor).as_deref(), Some(*name), "{major}:{minor}");
        }
        assert_eq!(drive(0, 40), None, "a file system's own number");
    }

    #[test]
    fn a_generic_namespace_is_its_drive() {
        let root = Origin::Demo("x570".to_owned()).open().unwrap();
        let mut machine = source::read_machine(&*root).0;
        let drive = machine.drives.iter_mut().find(|drive| drive.nvme.is_some()).unwrap();
        drive.nvme.as_mut().unwrap().generic = Some(Label::new("/dev/ng7n1"));
        let name = drive.name.clone();
        let known = Target { path: "/dev/null".into(), drive: Some(DriveName::new("sda")) };
        let targets = vec![Target { path: "/dev/ng7n1".into(), drive: None }, known.clone()];
        let mut workload = Workload { targets, ..Workload::default() };
        find_drives(&mut workload, &*root, &machine);
        assert_eq!(workload.targets[0].drive, Some(name));
        assert_eq!(workload.targets[1], known, "what is known stays");
    }
}
