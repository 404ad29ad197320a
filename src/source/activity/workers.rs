//! [`Workers`]: what the threads of a test in this process cost.

use std::{collections::HashMap, fmt::Write as _};

use super::stat::Stat;
use crate::{
    counters::activity::WorkerTicks,
    source::{SysRoot, fields::value_of, root::all_names},
};

/// Names of a test's threads: its workers, and those that io_uring starts for them.
const NAMES: [&[u8]; 2] = [b"read ", b"iou-"];

/// Counters of each thread at the last look.
#[derive(Debug, Default)]
pub(super) struct Workers {
    known: HashMap<u32, (WorkerTicks, u64)>,
    look: u64,
    tids: Vec<u32>,
    path: String,
}

impl Workers {
    /// What the threads of this process that read for a test used since the last look; a thread that is new counts from zero.
    /// `None` without such threads.
    pub(super) fn since(&mut self, root: &dyn SysRoot) -> Option<WorkerTicks> {
        self.look += 1;
        self.tids.clear();
        let tids = &mut self.tids;
        // Without /proc nothing is known of threads.
        let _ = all_names(root, "/proc/self/task", &mut |name| tids.extend(name.parse::<u32>()));
        let mut sum = None;
        for at in 0..self.tids.len() {
            let tid = self.tids[at];
            let Some(now) = self.read(root, tid) else { continue };
            let before =
                self.known.insert(tid, (now, self.look)).map_or(WorkerTicks::default(), |(then, _)| then);
            let WorkerTicks { user, system, switches } = sum.get_or_insert_default();
            *user += now.user.saturating_sub(before.user);
            *system += now.system.saturating_sub(before.system);
            *switches += now.switches.saturating_sub(before.switches);
        }
        let look = self.look;
        self.known.retain(|_, (_, seen)| *seen == look);
        sum
    }

    fn read(&mut self, root: &dyn SysRoot, tid: u32) -> Option<WorkerTicks> {
        let mut text = [0; 4096];
        self.path.clear();
        let _infallible = write!(self.path, "/proc/self/task/{tid}/");
        let folder = self.path.len();
        self.path.push_str("stat");
        let length = root.read_short(&self.path, &mut text).ok()?;
        let stat = Stat::parse(&text[..length])?;
        NAMES.iter().any(|name| stat.command.starts_with(name)).then_some(())?;
        let (user, system) = (stat.user, stat.cpu - stat.user);
        self.path.truncate(folder);
        self.path.push_str("status");
        let length = root.read_short(&self.path, &mut text).ok()?;
        let count = |key: &[u8]| value_of(&text[..length], key).unwrap_or(0);
        let switches = count(b"voluntary_ctxt_switches:") + count(b"nonvoluntary_ctxt_switches:");
        Some(WorkerTicks { user, system, switches })
    }
}
