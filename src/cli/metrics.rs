//! `iodyno metrics`: Prometheus metrics of a machine and its last run.

use super::{Failure, Status, print, read, say};
use crate::{
    app::message::Kept,
    findings::{self, Inputs},
    report::prometheus::{self, Metrics},
    runtime::run_history::recall,
    source::origin::Origin,
};

/// Prints metrics of the machine and of the last stored run of this boot.
pub(super) fn run(origin: &Origin) -> Result<Status, Failure> {
    let read = read(origin)?;
    let findings = findings::check(&Inputs::at_rest(&read.machine, &read.limits));
    let kept = if origin.is_live() { recall(&read.machine, 1) } else { Ok(Kept::default()) };
    let kept = kept.unwrap_or_else(|error| {
        // Other metrics do not need the runs.
        say(&format!("{error}; metrics of the last run are missing"));
        Kept::default()
    });
    print(&prometheus::text(&Metrics {
        machine: &read.machine,
        problems: &read.problems,
        limits: &read.limits,
        findings: &findings,
        last_run: kept.runs.last(),
    }))
}
