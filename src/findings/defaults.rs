//! Folds kernel defaults into one finding until a running workload shows their cost.

use std::collections::BTreeSet;

use super::{Detection, Finding, Gain, Row};
use crate::{
    model::{FindingId, Severity},
    units::counted,
};

pub(super) const DEFAULTS: Row = Row {
    id: FindingId("defaults"),
    title: "default settings",
    fires: "any finding that every machine has by default, while no workload shows a cost",
    why: "Each costs something under some workload; none matters by itself.",
    remedy: "Leave them; run your workload and check again.",
    wrong_if: "A workload unknown to iodyno is limited by one of them.",
    ..Row::PLAIN
};

pub(super) fn fold(findings: Vec<Finding>) -> Option<Finding> {
    let mut folds: Vec<_> = findings.iter().map(|finding| finding.id).collect();
    folds.dedup();
    let ids: Vec<_> = folds.iter().map(|id| id.0).collect();
    let title = format!("{} at default: {}", counted(ids.len(), "setting"), ids.join(", "));
    let subjects: BTreeSet<_> = findings.iter().flat_map(|finding| finding.subjects.clone()).collect();
    let detection = Detection::new(Severity::Info, title)
        .about(subjects)
        .with_evidence(findings.into_iter().flat_map(|finding| finding.evidence))
        .with_gain(Gain::words("none until a workload shows it", ""));
    (!folds.is_empty()).then(|| Finding { folds, ..detection.into_finding(&DEFAULTS) })
}
