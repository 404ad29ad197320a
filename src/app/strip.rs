//! The strip at the foot of every screen: a row a second of what dstat shows, and the curve of all reads.

use std::{collections::VecDeque, time::Duration};

use crate::{
    counters::{CpuShares, Memory, Rates},
    ui::series::{Scale, Series},
};

/// How many rows are kept.
const KEPT: usize = 60;

/// One second. What nobody counted is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StripRow {
    /// Runnable processes.
    pub running: Option<u64>,
    /// Blocked processes.
    pub blocked: Option<u64>,
    /// New processes per second.
    pub forks: Option<f64>,
    /// Shares of all CPUs, percent.
    pub cpu: Option<CpuShares>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Reads and writes per second of all drives.
    pub io: Option<(f64, f64)>,
    /// Bytes read and written per second of all drives.
    pub disk: Option<(f64, f64)>,
}

/// The strip.
#[derive(Debug, Clone)]
pub struct Strip {
    /// Rows, newest last.
    pub rows: VecDeque<StripRow>,
    /// Bytes read per second of all drives.
    pub reads: Series,
    /// The top of its axis.
    pub scale: Scale,
}

impl StripRow {
    /// From counters; `is_whole` tells hardware drives from the software ones that would count the same bytes twice.
    pub fn from_rates(rates: &Rates, is_whole: impl Fn(&crate::model::DriveName) -> bool) -> Self {
        let disks = || rates.disks.iter().filter(|(name, _)| is_whole(name)).map(|(_, disk)| disk);
        let counted = !rates.disks.is_empty();
        Self {
            running: rates.running,
            blocked: rates.blocked,
            forks: rates.forks,
            cpu: rates.cpu,
            memory: rates.memory,
            io: counted.then(|| (disks().map(|d| d.reads).sum(), disks().map(|d| d.writes).sum())),
            disk: counted
                .then(|| (disks().map(|d| d.read_bytes).sum(), disks().map(|d| d.written_bytes).sum())),
        }
    }
}

impl Default for Strip {
    fn default() -> Self {
        // 0.1 GB/s: what an idle machine reads now and then stays near the ground.
        Self { rows: VecDeque::new(), reads: Series::default(), scale: Scale::new(1e8) }
    }
}

impl Strip {
    /// Adds a row.
    pub fn push_row(&mut self, row: StripRow) {
        self.rows.push_back(row);
        while self.rows.len() > KEPT {
            self.rows.pop_front();
        }
    }

    /// Adds a point to the curve.
    pub fn push_reads(&mut self, now: Duration, bytes_per_second: f64) {
        self.reads.push(now, bytes_per_second);
        self.scale.fit(now, self.reads.window_most());
    }
}
