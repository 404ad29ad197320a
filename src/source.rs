//! Readers of a machine, one per subtree: the live kernel, a folder, a capture or a demo, all through [`SysRoot`].
//!
//! Every path is read through the root, so that a capture holds all that was read.

pub mod root;
pub mod rules;
pub mod capture;
pub mod import;
mod ids;
pub mod config_space;
pub mod pci;
mod cgroups;
pub(crate) mod host;
pub mod smbios;
pub(crate) mod processor;
pub(crate) mod interrupts;
pub mod counters;
mod drive_vectors;
mod fields;
mod functions;
pub mod activity;
pub mod profile;
pub(crate) mod block;
mod layers;
pub mod nvme;
pub(crate) mod open_files;
mod nvme_ioctl;
mod dm_ioctl;
mod probe;
pub mod demo;
mod packed;
pub mod origin;

pub(crate) use ids::forget_lists;
pub use root::{RootError, SysRoot};

use self::origin::OpenError;
use crate::{
    machine::{Machine, Measured},
    model::{Problem, ProblemKind},
};

/// Reads a machine.
///
/// Problems are those without a [`Reading`](crate::model::Reading): a folder that cannot be listed, a device removed meanwhile.
pub fn read_machine(root: &dyn SysRoot) -> (Machine, Vec<Problem>) {
    let (mut pci, mut problems) = pci::read(root);
    let host = host::read(root);
    smbios::name_slots(&mut pci, host.slots.value().map_or(&[], Vec::as_slice));
    let (drives, paths, stacking, of_drives) = block::read(root, &pci);
    let layers = layers::read(root, &drives, stacking);
    let (processors, of_processors) = processor::read(root);
    let (rules, of_rules) = rules::read(root);
    let (measured, of_measured) = measured(root);
    problems.extend([of_drives, of_processors, of_rules, of_measured].into_iter().flatten());
    let cuts = problems.iter().filter(|problem| problem.kind == ProblemKind::Cut).cloned().collect();
    let machine = Machine {
        host,
        pci,
        drives,
        paths,
        layers,
        processors,
        posted_msi_row: interrupts::posted_msi_row(root),
        rules,
        cuts,
        measured,
        driver_messages: nvme::messages::read(root),
        pasted: root.pasted(),
    };
    (machine, problems)
}

/// Results of earlier tests on this machine, oldest first, and the malformed lines.
fn measured(root: &dyn SysRoot) -> (Vec<Measured>, Vec<Problem>) {
    const PATH: &str = "/probe/measured-limits";
    let text = root::text(root, PATH);
    // A missing file is no problem: most machines were never tested.
    let mut problems: Vec<Problem> =
        text.problem().filter(|problem| problem.kind != ProblemKind::Absent).into_iter().collect();
    let mut limits = Vec::new();
    for line in text.value().map_or("", String::as_str).lines() {
        if let Some(limit) = Measured::parse(line) {
            limits.push(limit);
        } else {
            let why = root::quoted(line, "not a measured limit");
            problems.push(Problem::new(ProblemKind::Malformed, PATH, why));
        }
    }
    (limits, problems)
}

/// As [`read_machine`].
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
    let (functions, mut unread) = (machine.pci.functions().count(), machine.pci.unread_functions());
    if machine.pasted.is_some() {
        return None;
    }
    let has_functions = machine.pci.unread_functions().count() < functions;
    if has_functions || machine.drives.iter().any(|drive| drive.size.is_known()) {
        return None;
    }
    let of_readers = || {
        let of = |folder: &str| problems.iter().find(|problem| problem.path.starts_with(folder)).cloned();
        of("/sys/bus/pci/devices/").or_else(|| of("/sys/b"))
    };
    let problem = unread.next().map(|(_, problem)| problem).or_else(of_readers);
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

#[cfg(test)]
pub(crate) mod testing {
    use super::{Machine, origin::Origin, read_machine};

    /// The machine of a demo.
    pub fn demo(name: &str) -> Machine {
        read_machine(&*Origin::Demo(name.to_owned()).open().unwrap()).0
    }
}
