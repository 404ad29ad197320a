//! What buffered runs of an experiment read from the page cache, and the pages they leave there.

use std::{fs::File, path::PathBuf};

use crate::{
    engine::file_state,
    experiment::Plan,
    model::{RunSample, RunState, RunSummary},
    source::{SysRoot, activity},
};

/// Files of buffered arms that had no page in the page cache before the experiment: its runs' own pages may go.
#[derive(Debug, Default)]
pub(super) struct OwnPages(Vec<PathBuf>);

impl OwnPages {
    /// Those of this machine; a file that is laid out later counts as one of them.
    pub fn of(plan: &Plan) -> Self {
        let mut paths: Vec<PathBuf> = Vec::new();
        for arm in plan.arms.iter().filter(|arm| !arm.workload.direct) {
            let targets = if arm.workload.targets.is_empty() { &plan.targets } else { &arm.workload.targets };
            paths.extend(targets.iter().map(|target| target.path.clone()).filter(is_uncached));
        }
        paths.sort();
        paths.dedup();
        Self(paths)
    }

    /// Drops the pages that a run left, so that the next one finds what it found.
    pub fn drop_pages(&self) {
        for path in &self.0 {
            // A page that stays is measured: the share that came from the page cache.
            let _ = open(path).map(|file| file_state::drop_pages(&file, 0, 0));
        }
    }
}

fn open(path: &PathBuf) -> Option<File> {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| File::open(path).ok()).flatten()
}

fn is_uncached(path: &PathBuf) -> bool {
    match open(path) {
        None => !path.exists(),
        Some(file) => file
            .metadata()
            .and_then(|metadata| file_state::cached(&file, 0, metadata.len()))
            .is_ok_and(|cached| cached.bytes == 0),
    }
}

/// Bytes of a run, and bytes that this process read from devices meanwhile (`read_bytes` of `/proc/self/io`).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FromDevices {
    /// Both totals when counting began.
    first: Option<(u64, u64)>,
}

impl FromDevices {
    /// Notes the totals at the first sample that counts.
    pub fn look(&mut self, root: &dyn SysRoot, sample: &RunSample) {
        if self.first.is_none() && sample.state == RunState::Running {
            let bytes = sample.targets.iter().map(|target| target.bytes).sum();
            self.first = activity::own_device_bytes(root).map(|read| (bytes, read));
        }
    }

    /// The share of the run's bytes that no device was asked for, 0 to 1.
    pub fn cached_share(self, root: &dyn SysRoot, run: &RunSummary) -> Option<f64> {
        let (bytes, read) = self.first?;
        let all = run.targets.iter().map(|target| target.bytes).sum::<u64>().checked_sub(bytes)?;
        let from_devices = activity::own_device_bytes(root)?.saturating_sub(read);
        (all > 0).then(|| 1.0 - (from_devices as f64 / all as f64).min(1.0))
    }
}
