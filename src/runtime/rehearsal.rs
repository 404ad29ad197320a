//! A demo's test without waiting for it: its clock is counted, not read.

use std::time::Duration;

use super::{effects::LOOK, now, opening};
use crate::{
    app::MachineRead,
    capacity,
    load::LoadError,
    model::{RunRecord, RunState, Seconds, Workload},
};

/// Longest run that is counted out: one without an end of its own never would.
const LONGEST: Duration = Duration::from_hours(1);

/// Runs a workload on the simulated drives of a demo to its end.
pub fn run(read: &MachineRead, workload: &Workload) -> Result<RunRecord, LoadError> {
    let (base, engine) = (now(), opening::simulated(read));
    let mut running = engine.start(workload, base)?;
    let mut seconds = Seconds::default();
    let mut elapsed = Duration::ZERO;
    while elapsed < LONGEST {
        let sample = running.sample(base + elapsed);
        seconds.take(&sample);
        if sample.state == RunState::Ended {
            break;
        }
        elapsed += LOOK;
    }
    let run = running.finish(base + elapsed);
    let expected = capacity::expected(&read.machine, &read.limits, workload);
    Ok(RunRecord::new(read.machine.host.boot_id.value(), run, &expected, seconds))
}
