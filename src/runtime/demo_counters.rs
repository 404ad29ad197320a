//! What the kernel's counters would show while a simulated test runs, a row a second.

use std::{sync::Arc, time::Duration};

use crate::{
    app::MachineRead,
    counters::{Memory, Rates},
    findings::validity::OwnReads,
    load::simulated,
    machine::Machine,
    model::{Limits, RunSample, Workload},
};

const ROW: Duration = Duration::from_secs(1);

/// Counters of a machine that is only simulated.
pub struct DemoCounters {
    machine: Arc<Machine>,
    limits: Arc<Limits>,
    memory: Option<Memory>,
    test: Option<(Workload, Option<RunSample>)>,
}

impl DemoCounters {
    /// Counters of the demo's machine, with its memory as it was captured.
    pub fn new(read: &MachineRead, memory: Option<Memory>) -> Self {
        Self { machine: Arc::clone(&read.machine), limits: Arc::clone(&read.limits), memory, test: None }
    }

    /// The machine's settings changed.
    pub fn renew(&mut self, read: &MachineRead) {
        (self.machine, self.limits) = (Arc::clone(&read.machine), Arc::clone(&read.limits));
    }

    /// A test begins.
    pub fn begin(&mut self, workload: &Workload) {
        self.test = Some((workload.clone(), None));
    }

    /// Takes a look at the test; the rates of the last second when one has gone by, and what the test read in it.
    pub fn look(&mut self, sample: &RunSample) -> Option<(Rates, OwnReads)> {
        let (workload, before) = self.test.as_mut()?;
        let Some(earlier) = before else {
            *before = Some(sample.clone());
            return None;
        };
        if sample.at < earlier.at + ROW {
            return None;
        }
        let rates = simulated::rates(&self.machine, &self.limits, workload, self.memory, earlier, sample);
        let own = OwnReads::between(earlier, sample);
        *before = Some(sample.clone());
        Some((rates, own))
    }
}
