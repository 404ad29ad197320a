//! Which drives the targets of a test are, or lie on.
//!
//! Here: from paths to drives, for this machine and for a demo. Not here: opening them.

use std::{
    fs::Metadata,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use rustix::fs::{major, minor};

use crate::{
    cli::Complaint,
    machine::Machine,
    model::{DriveName, Target, Workload},
    source::{SysRoot, root::resolve},
    text::Label,
};

/// Fills in the drive of each target of this machine, where it can be told.
pub(in crate::cli) fn find_drives(workload: &mut Workload, root: &dyn SysRoot, machine: &Machine) {
    for target in &mut workload.targets {
        let by_commands = machine.drive_of_generic(&target.path).map(|drive| drive.name.clone());
        target.drive =
            by_commands.or_else(|| drive_of(&target.path, root).filter(|name| machine.drive(name).is_some()));
    }
}

/// The drive that a device is, or that a file (or the folder it is going to be in) lies on.
fn drive_of(path: &Path, root: &dyn SysRoot) -> Option<DriveName> {
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

/// Takes `/dev/NAME` and NAME as drives of a demo; all its hardware drives when none is named.
pub(in crate::cli) fn name_drives(workload: &mut Workload, machine: &Machine) -> Result<(), Complaint> {
    if workload.targets.is_empty() {
        workload.targets = machine
            .hardware_drives()
            .map(|drive| Target { path: drive.name.device_file().into(), drive: Some(drive.name.clone()) })
            .collect();
    }
    for target in &mut workload.targets {
        let path = target.path.to_string_lossy();
        let name = DriveName::new(path.strip_prefix("/dev/").unwrap_or(&path));
        if machine.drive(&name).is_none() {
            return Err(Complaint::new(
                format!("--filename {}", Label::new(&path)),
                "the demo has no such drive",
                "`iodyno drives --demo` lists those it has",
            ));
        }
        target.drive = Some(name);
    }
    Ok(())
}
