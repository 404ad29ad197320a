//! What the kernel's counters would show while a simulated test runs, a row a second.

use std::{sync::Arc, time::Duration};

use crate::{
    app::MachineRead,
    counters::{Memory, Rates},
    engine::simulated,
    findings::validity::OwnReads,
    machine::Machine,
    model::{Limits, RunSample, Workload},
};

const ROW: Duration = Duration::from_secs(1);

/// Counters of a machine that is only simulated.
pub(super) struct DemoCounters {
    machine: Arc<Machine>,
    limits: Arc<Limits>,
    memory: Option<Memory>,
    workload: Workload,
    before: Option<RunSample>,
}

impl DemoCounters {
    /// Counters of the demo's machine, with its memory as it was captured, while this test runs.
    pub(super) fn new(read: &MachineRead, memory: Option<Memory>, workload: Workload) -> Self {
        let (machine, limits) = (Arc::clone(&read.machine), Arc::clone(&read.limits));
        Self { machine, limits, memory, workload, before: None }
    }

    /// Takes a look at the test; the rates of the last second when one has gone by, and what the test read in it.
    pub(super) fn look(&mut self, sample: &RunSample) -> Option<(Rates, OwnReads)> {
        let Some(earlier) = &self.before else {
            self.before = Some(sample.clone());
            return None;
        };
        if sample.at < earlier.at + ROW {
            return None;
        }
        let rates =
            simulated::rates(&self.machine, &self.limits, &self.workload, self.memory, earlier, sample);
        let own = OwnReads::between(earlier, sample);
        self.before = Some(sample.clone());
        Some((rates, own))
    }
}
