//! Drives of an interval whose reads and writes the kernel does not count, and why.

use std::collections::BTreeSet;

use super::Interval;
use crate::{
    machine::Drive,
    model::{DriveName, Problem, ProblemKind},
};

/// Why a drive has no rates.
pub(crate) const IOSTATS_OFF: &str = "not counted: iostats is 0";
const BYPASS: &str = "not counted: NVMe commands bypass the block layer";

/// A drive without counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncounted<'a> {
    pub(crate) drive: &'a Drive,
    reason: &'static str,
}

impl<'a> Uncounted<'a> {
    /// Drives that counted nothing in an interval because of their settings, or because of what they do.
    pub(super) fn all(interval: &Interval<'a>) -> Vec<Self> {
        let Interval { machine, rates, .. } = *interval;
        let working: BTreeSet<DriveName> = rates.uncounted().into_iter().collect();
        let of = |drive: &'a Drive| {
            // It counted until the setting changed within the interval.
            let disk = rates.disks.get(&drive.name).filter(|disk| disk.is_still())?;
            let reason = match disk {
                _ if !drive.is_counted() => IOSTATS_OFF,
                _ if working.contains(&drive.name) => BYPASS,
                _ => return None,
            };
            Some(Self { drive, reason })
        };
        machine.drives.iter().filter_map(of).collect()
    }

    /// `nvme0n1 not counted: iostats is 0 (/sys/block/nvme0n1/queue/iostats)`.
    pub(crate) fn line(&self) -> String {
        let Problem { path, reason, .. } = self.problem();
        format!("{} {reason} ({path})", self.drive.name)
    }

    pub(super) fn problem(&self) -> Problem {
        let path = match self.reason {
            IOSTATS_OFF => self.drive.queue.iostats.path(),
            _ => "/proc/diskstats".into(),
        };
        Problem::new(ProblemKind::Absent, path, self.reason)
    }
}
