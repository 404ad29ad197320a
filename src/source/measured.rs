//! `/probe/measured-limits`: results of earlier tests on this machine.

use super::{SysRoot, root};
use crate::{
    machine::Measured,
    model::{Problem, ProblemKind, Reading},
};

const PATH: &str = "/probe/measured-limits";

/// Measurements, oldest first, and the malformed lines.
pub(crate) fn read(root: &dyn SysRoot) -> (Vec<Measured>, Vec<Problem>) {
    let text = root::text(root, PATH);
    // A missing file is no problem: most machines were never tested.
    let mut problems: Vec<Problem> =
        text.problem().filter(|problem| problem.kind != ProblemKind::Absent).into_iter().collect();
    let mut limits = Vec::new();
    for line in text.value().map_or("", String::as_str).lines() {
        match Measured::parse(line) {
            Some(limit) => limits.push(limit),
            None => problems
                .extend(Reading::<()>::malformed(PATH, root::quoted(line, "not a measured limit")).problem()),
        }
    }
    (limits, problems)
}
