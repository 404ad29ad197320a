//! [`Trial`]: reads of every target before an experiment writes its first setting.

use std::{io, sync::Arc, thread::JoinHandle};

use crate::{
    engine::{Engine, EngineError, no_thread},
    experiment::Plan,
    model::{Target, Workload},
    runtime::beside,
};

/// Reads on a thread of its own, which is left alone where they hang.
pub(super) struct Trial(io::Result<JoinHandle<Result<(), EngineError>>>);

impl Trial {
    /// Starts it for the targets and block sizes of every arm.
    pub fn start(engine: &Arc<dyn Engine>, plan: &Plan) -> Self {
        let mut workloads: Vec<Workload> = Vec::new();
        for arm in &plan.arms {
            let reads = |workload: &Workload| {
                let path = |target: &Target| target.path.clone();
                let paths: Vec<_> = workload.targets.iter().map(path).collect();
                (paths, workload.largest_block(), workload.offset, workload.size, workload.engine)
            };
            if !workloads.iter().any(|known| reads(known) == reads(&arm.workload)) {
                workloads.push(arm.workload.clone());
            }
        }
        let engine = Arc::clone(engine);
        Self(beside::try_start(move || workloads.iter().try_for_each(|workload| engine.try_read(workload))))
    }

    pub fn goes_on(&self) -> bool {
        self.0.as_ref().is_ok_and(|thread| !thread.is_finished())
    }

    /// Its result, once it has ended. A panic is reported by its thread, and leaves the run to report errors.
    pub fn result(self) -> Result<(), EngineError> {
        self.0.map_err(|error| no_thread(&error))?.join().unwrap_or(Ok(()))
    }
}
