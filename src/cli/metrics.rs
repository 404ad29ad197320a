//! `iodyno metrics`: what a fleet's monitoring wants to know of a machine.

use super::{Failure, Status, print};
use crate::{
    capacity,
    findings::{self, Evidence},
    report::prometheus::{self, Metrics},
    source::{self, origin::Origin},
};

/// Reads the machine, judges it and prints its metrics.
pub(super) fn run(origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let (machine, problems) = source::read_machine(&*root);
    let limits = capacity::limits(&machine);
    let findings = findings::check(&Evidence::at_rest(&machine, &limits));
    print(&prometheus::text(&Metrics {
        machine: &machine,
        problems: &problems,
        limits: &limits,
        findings: &findings,
    }))
}
