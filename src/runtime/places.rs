//! Which drives of this machine paths are, or lie on.
//!
//! Not here: opening them (`load`), the names of a demo's drives (`cli`).

use std::{
    fs::Metadata,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use rustix::fs::{major, minor};

use crate::{
    machine::Machine,
    model::{DriveName, Workload},
    source::{SysRoot, root::resolve},
};

/// Fills in the drive of each target of this machine, where it can be told.
pub fn find_drives(workload: &mut Workload, root: &dyn SysRoot, machine: &Machine) {
    for target in &mut workload.targets {
        let by_commands = machine.drive_of_generic(&target.path).map(|drive| drive.name.clone());
        target.drive =
            by_commands.or_else(|| drive_of(&target.path, root).filter(|name| machine.drive(name).is_some()));
    }
}

/// The drive that a device is or has a part of, or that a file (or the folder it is going to be in) lies on.
pub fn drive_of(path: &Path, root: &dyn SysRoot) -> Option<DriveName> {
    let folder = || path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let metadata = path.metadata().or_else(|_| folder().metadata()).ok()?;
    let number = device_number(&metadata);
    // File systems that span devices have numbers of their own, which are no drive's.
    let place = resolve(root, &format!("/sys/dev/block/{}:{}", major(number), minor(number))).ok()?;
    let (_, name) = place.rsplit_once("/block/")?;
    // A partition lies in the folder of its drive.
    name.split('/').next().map(DriveName::new)
}

fn device_number(metadata: &Metadata) -> u64 {
    if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::root::FolderRoot;

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
        let place = "../../devices/pci0000:00/0000:00:01.1/nvme/nvme3/nvme3n1/block/nvme3n1/nvme3n1p2";
        std::os::unix::fs::symlink(place, &link).unwrap();
        assert_eq!(drive_of("sys").as_deref(), Some("nvme3n1"));
        assert_eq!(drive_of("not there yet").as_deref(), Some("nvme3n1"), "its folder tells");
        assert_eq!(drive_of("no folder/file"), None);
    }
}
