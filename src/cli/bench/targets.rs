//! Which drives of a demo the targets of a test are.
//!
//! Not here: what the paths of this machine stand for (`runtime::places`).

use crate::{
    cli::Complaint,
    machine::{Drive, Machine},
    model::{DriveName, Workload},
    text::Label,
};

/// Takes `/dev/NAME` and NAME as drives of a demo; all its hardware drives when none is named.
pub(in crate::cli) fn name_drives(workload: &mut Workload, machine: &Machine) -> Result<(), Complaint> {
    if workload.targets.is_empty() {
        workload.targets = machine.hardware_drives().map(Drive::target).collect();
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
