//! Drives in use, and why a destructive command is not offered for them.

use super::{
    Check, Detection, Evidence, Gain, Inputs, Row,
    inputs::{drives, names, verb},
};
use crate::{
    machine::{Drive, Machine},
    model::{FindingId, Severity},
};

pub(super) const IN_USE: Row = Row {
    id: FindingId("in-use"),
    title: "drive is in use",
    fires: "a drive or one of its partitions is mounted, swapped on, exported, open in a process, or carries a loop device, md, device \
            mapper, bcache or ZFS",
    why: "Other I/O disturbs a test; remedies that unbind the driver or destroy data are excluded.",
    remedy: "Nothing to do; drives are only ever read.",
    wrong_if: "It is mounted and idle.",
    of_machine: true,
    check: Check::One(in_use),
    ..Row::PLAIN
};

fn in_use(inputs: &Inputs) -> Option<Detection> {
    let used = inputs.machine.hardware_drives().filter(|drive| !drive.used_by.is_empty());
    let uses = |drive: &Drive| -> Vec<Evidence> {
        drive.used_by.iter().map(|using| Evidence::new(&*drive.path, using.to_string())).collect()
    };
    let found: Vec<_> = used.map(|drive| (drive, uses(drive))).collect();
    let used = drives(&found);
    let title = format!("{} {} in use", names(&used), verb(&used, "is", "are"));
    Some(Detection::of_drives(Severity::Info, title, found)?.with_gain(Gain::words("none", "")))
}

/// Why no command that destroys the data of `drive` is offered, as the end of a sentence; `None` if nothing uses it.
/// `whole`: the command destroys every namespace of its controller.
pub(super) fn why_no_command(machine: &Machine, drive: &Drive, whole: bool) -> Option<String> {
    let stakes: Vec<&Drive> =
        machine.drives.iter().filter(|other| is_same_medium(drive, other, whole)).collect();
    let used = stakes.iter().find_map(|stake| Some((stake, stake.used_by.first()?.to_string())));
    let unread = stakes.iter().find_map(|stake| {
        let problem = stake.users_unread.first()?;
        Some((stake, format!("its users cannot be read ({}: {})", problem.path, problem.reason)))
    });
    let (stake, why) = used.or(unread)?;
    Some(if stake.name == drive.name { why } else { format!("{} shares its data: {why}", stake.name) })
}

/// Whether destroying the data of `drive` destroys those of `other`: the same drive, the same namespace through another
/// controller (multipath off), any namespace of the controller.
fn is_same_medium(drive: &Drive, other: &Drive, whole: bool) -> bool {
    if drive.name == other.name {
        return true;
    }
    let (Some(one), Some(two)) = (&drive.nvme, &other.nvme) else { return false };
    let is_same_subsystem = one.controller_path == two.controller_path
        || (drive.serial.is_known()
            && drive.serial.value() == other.serial.value()
            && drive.model.value() == other.model.value());
    is_same_subsystem && (whole || one.nsid.get() == two.nsid.get())
}
