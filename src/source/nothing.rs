//! A machine without readable files: a container without /sys, or a wrong folder.

use super::{SysRoot, origin::OpenError, read_machine};
use crate::{
    machine::Machine,
    model::{Problem, ProblemKind},
};

/// Reads a machine.
///
/// # Errors
/// Neither a PCI device nor a block device of it could be read: there is nothing to show or to judge.
pub(crate) fn read_or_refuse(root: &dyn SysRoot) -> Result<(Machine, Vec<Problem>), OpenError> {
    let (machine, problems) = read_machine(root);
    match nothing_read(&machine, &problems) {
        Some(error) => Err(error),
        None => Ok((machine, problems)),
    }
}

fn nothing_read(machine: &Machine, problems: &[Problem]) -> Option<OpenError> {
    let (functions, mut silent) = (machine.pci.functions().count(), machine.pci.silent_functions());
    let has_functions = machine.pci.silent_functions().count() < functions;
    if has_functions || machine.drives.iter().any(|drive| drive.size.is_known()) {
        return None;
    }
    let of_readers = || problems.iter().find(|problem| problem.path.starts_with("/sys/b")).cloned();
    let problem = silent.find_map(|node| node.vendor.problem()).or_else(of_readers);
    let (path, wrong) = problem.as_ref().map_or_else(
        || ("/sys".to_owned(), "contains no PCI and no block devices".to_owned()),
        |problem| (problem.path.to_string(), format!("cannot read this machine ({})", problem.reason)),
    );
    let fix = match problem.map(|problem| problem.kind) {
        Some(ProblemKind::Denied) => "run it as root",
        _ => "mount sysfs at /sys, or open a capture or folder of a whole machine",
    };
    Some(OpenError { path, wrong, fix: fix.to_owned() })
}
