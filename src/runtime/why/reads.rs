//! The read tests of a file's path.

use std::{path::PathBuf, time::Duration};

use super::places::Place;
use crate::{
    model::{EngineKind, Pattern, Target, Workload},
    units::Bytes,
    waterfall::Step,
};

/// Requested ahead where readahead is left out of account.
pub(super) const PREFETCH: Bytes = Bytes(8 << 20);
/// Reads of buffered programs; that of cat(1) and cp(1).
const PROGRAM: Bytes = Bytes(128 << 10);
/// Reads of everything else.
pub(super) const LARGE: Bytes = Bytes(1 << 20);
/// Shares of the time: through the page cache blocks arrive in lumps of the readahead.
const DIRECT_SHARES: u32 = 2;
const CACHED_SHARES: u32 = 3;
/// Part of a test that is not counted: its first reads find an idle drive, or wait for the first readahead.
const RAMP: u32 = 4;
/// Part of a place that the uncounted reads take at most.
pub(super) const RAMP_OF_PLACE: f64 = 0.125;

/// One kind of test.
#[derive(Debug, Clone)]
pub(super) struct Test {
    /// Its index in the steps, or none for mmap with blocks requested ahead.
    pub step: Option<usize>,
    /// A device or file below the file: its number in the levels of a place.
    pub level: Option<usize>,
    workload: Workload,
}

impl Test {
    /// Whether it reads through the page cache.
    pub(super) const fn is_cached(&self) -> bool {
        !self.workload.direct
    }

    /// Its part of the time of all.
    pub(super) const fn shares(&self) -> u32 {
        if self.is_cached() { CACHED_SHARES } else { DIRECT_SHARES }
    }

    /// The workload of a test at a place, which is read at `fastest` bytes per second at most as far as is known.
    pub(super) fn workload(
        &self,
        paths: Vec<PathBuf>,
        place: Place,
        share: Duration,
        fastest: f64,
    ) -> Workload {
        let runtime = share * self.shares();
        let all = Duration::try_from_secs_f64(place.length as f64 / fastest).unwrap_or_default();
        let ramp = (runtime / RAMP).min(all.mul_f64(RAMP_OF_PLACE));
        Workload {
            targets: paths.into_iter().map(|path| Target { path, drive: None }).collect(),
            offset: Bytes(place.offset),
            size: Some(Bytes(place.length)),
            ramp,
            runtime: Some(runtime.saturating_sub(ramp)),
            ..self.workload.clone()
        }
    }
}

/// The tests of a file with so many levels below it.
pub(super) fn of(levels: usize, steps: &[Step]) -> Vec<Test> {
    let large = Workload {
        pattern: Pattern::Sequential,
        block_size: LARGE,
        depth: 16,
        latency: false,
        time_based: false,
        ..Workload::default()
    };
    let program =
        Workload { block_size: PROGRAM, depth: 1, direct: false, engine: EngineKind::Psync, ..large.clone() };
    let mapped = Workload { engine: EngineKind::Mmap, ..program.clone() };
    let ahead = |workload: &Workload| Workload { prefetch: Some(PREFETCH), ..workload.clone() };
    let first = steps.len() - 5 - levels;
    let below = (0..levels).map(|level| Test {
        step: Some(first + levels - 1 - level),
        level: Some(level),
        workload: large.clone(),
    });
    let own = first + levels;
    let of_file = [
        (Some(own), large.clone()),
        (Some(own + 1), ahead(&program)),
        (Some(own + 3), program),
        (Some(own + 4), mapped.clone()),
        (None, ahead(&mapped)),
    ];
    let of_file = of_file.map(|(step, workload)| Test { step, level: None, workload });
    below.chain(of_file).collect()
}
