//! Folds kernel defaults into one finding until a running workload shows their cost.

use super::{Finding, Gain, Remedy, Row};
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
    if findings.is_empty() {
        return None;
    }
    let mut folded = Finding {
        id: DEFAULTS.id,
        severity: Severity::Info,
        subjects: Vec::new(),
        title: String::new(),
        why: DEFAULTS.why.to_owned(),
        evidence: Vec::new(),
        gain: Gain::words("none until a workload shows it", ""),
        remedy: Remedy { text: DEFAULTS.remedy.to_owned(), command: None, risk: DEFAULTS.risk },
        wrong_if: DEFAULTS.wrong_if.to_owned(),
        folds: Vec::new(),
    };
    for finding in findings {
        folded.folds.push(finding.id);
        folded.subjects.extend(finding.subjects);
        folded.evidence.extend(finding.evidence);
    }
    folded.subjects.sort_unstable();
    folded.subjects.dedup();
    folded.folds.dedup();
    let ids: Vec<_> = folded.folds.iter().map(|id| id.0).collect();
    folded.title = format!("{} at default: {}", counted(ids.len(), "setting"), ids.join(", "));
    Some(folded)
}
