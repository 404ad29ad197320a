//! Checks of a drive whose files could not be read, as in a copy with an empty `queue` folder.

use super::NotMade;
use crate::{
    machine::{Drive, DriveKind, Machine},
    model::{DriveName, FindingId, ProblemKind},
};

/// Drives named in a reason.
const MOST: usize = 4;

/// A file that each drive has, and what is checked with it.
struct File {
    name: &'static str,
    is_missing: fn(&Drive) -> bool,
    rows: &'static [&'static str],
}

const FILES: [File; 4] = [
    File {
        name: "scheduler",
        is_missing: |drive| !drive.queue.scheduler.is_known() && has_scheduler(drive),
        rows: &["scheduler"],
    },
    File {
        name: "read_ahead_kb",
        is_missing: |drive| !drive.queue.read_ahead_kb.is_known(),
        rows: &["readahead"],
    },
    File {
        name: "logical_block_size",
        is_missing: |drive| !drive.queue.logical_block_size.is_known() && !has_formats(drive),
        rows: &["lba-512"],
    },
    File {
        name: "max_sectors_kb",
        is_missing: |drive| !drive.queue.max_sectors_kb.is_known(),
        rows: &["max-sectors", "hw-sectors-below-mdts"],
    },
];

const BEFORE: &str = "could not be read: ";

/// Whether a reason is one of these.
pub(super) fn is_reason(because: &str) -> bool {
    because.starts_with(BEFORE)
}

/// Checks without a file of a drive that the kernel always has. A text's needs are checked as a whole.
pub(super) fn unread(machine: &Machine) -> Vec<NotMade> {
    if machine.pasted.is_some() {
        return Vec::new();
    }
    let mut not_made = Vec::new();
    for file in &FILES {
        let missing: Vec<&Drive> =
            machine.hardware_drives().filter(|drive| (file.is_missing)(drive)).collect();
        if missing.is_empty() {
            continue;
        }
        let because = reason(&missing);
        let row = |row: &&'static str| NotMade { id: FindingId(row), because: because.clone().into() };
        not_made.extend(file.rows.iter().map(row));
    }
    not_made
}

/// `could not be read: /sys/block/vda/queue (scheduler, read_ahead_kb)`, with all that each drive lacks; drives that lack the
/// same are named together.
fn reason(drives: &[&Drive]) -> String {
    let lacking = |drive: &Drive| {
        let files = FILES.iter().filter(|file| (file.is_missing)(drive)).map(|file| file.name);
        files.collect::<Vec<_>>().join(", ")
    };
    let mut groups: Vec<(String, Vec<&DriveName>)> = Vec::new();
    for drive in drives.iter().take(MOST) {
        let files = lacking(drive);
        match groups.iter_mut().find(|(of, _)| *of == files) {
            Some((_, names)) => names.push(&drive.name),
            None => groups.push((files, vec![&drive.name])),
        }
    }
    let group = |(files, names): &(String, Vec<&DriveName>)| {
        let names: Vec<String> = names.iter().map(|name| format!("/sys/block/{name}/queue")).collect();
        format!("{} ({files})", names.join(", "))
    };
    let named: Vec<String> = groups.iter().map(group).collect();
    let more = if drives.len() > MOST { ", ..." } else { "" };
    format!("{BEFORE}{}{more}", named.join(", "))
}

/// Whether each kernel has a scheduler file for it: a device without requests of its own has none.
fn has_scheduler(drive: &Drive) -> bool {
    let is_multipath = drive.nvme.as_ref().is_some_and(|nvme| !nvme.paths.is_empty());
    let has_queue = drive.kind != DriveKind::Other || !drive.queue.read_ahead_kb.is_known();
    has_queue && !is_multipath
}

/// Whether its formats are known, or only root may read them.
fn has_formats(drive: &Drive) -> bool {
    let Some(nvme) = &drive.nvme else { return false };
    nvme.namespace.problem().is_none_or(|problem| problem.kind == ProblemKind::Denied)
}
