//! `iodyno metrics`: what a fleet's monitoring wants to know of a machine.

use super::{Failure, Status, print, say};
use crate::{
    app::message::Kept,
    capacity,
    findings::{self, Inputs},
    report::prometheus::{self, Metrics},
    runtime::run_history::recall,
    source::{self, origin::Origin},
};

/// Reads the machine, judges it and prints its metrics, with those of the last run that was kept since it started.
pub(super) fn run(origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let (machine, problems) = source::read_or_refuse(&*root)?;
    let limits = capacity::limits(&machine);
    let findings = findings::check(&Inputs::at_rest(&machine, &limits));
    let kept = if origin.is_live() { recall(&machine, 1) } else { Ok(Kept::default()) };
    let kept = kept.unwrap_or_else(|error| {
        // A machine is monitored also where its runs may not be read.
        say(&format!("{error}; metrics of the last run are missing"));
        Kept::default()
    });
    print(&prometheus::text(&Metrics {
        machine: &machine,
        problems: &problems,
        limits: &limits,
        findings: &findings,
        last_run: kept.runs.last(),
    }))
}
