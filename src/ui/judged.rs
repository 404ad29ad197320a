//! [`Judged`]: the findings of the machine as it is now, and where the tree marks them.

use std::collections::BTreeMap;

use crate::{
    findings::{self, Finding, Inputs, MachineFindings},
    machine::Machine,
    model::{FindingId, NodeIndex, Severity},
};

/// List what limits this machine, most severe first.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    /// All findings, in order.
    pub list: Vec<Finding>,
    /// What needs a running test to be judged, while none runs.
    pub need_test: Vec<FindingId>,
    /// Nodes of the tree that a finding above information points at, in order.
    pub marked: BTreeMap<NodeIndex, Severity>,
}

impl Judged {
    /// Findings from the evidence.
    pub fn new(evidence: &Inputs<'_>) -> Self {
        Self::with(&MachineFindings::new(evidence), evidence)
    }

    /// The same with the findings that the evidence's machine alone decides.
    pub(super) fn with(of_machine: &MachineFindings, evidence: &Inputs<'_>) -> Self {
        let list = findings::check_with(of_machine, evidence);
        let need_test = findings::not_judged(evidence, &list);
        Self { marked: findings::marked(evidence.machine, &list), list, need_test }
    }

    /// With those that the load of now shows and a test before it did not.
    pub(super) fn and_now(mut self, machine: &Machine, now: Self) -> Self {
        let is_new = |finding: &Finding| self.list.iter().all(|known| known.id != finding.id);
        let new: Vec<Finding> =
            now.list.into_iter().filter(|finding| is_new(finding) && finding.folds.is_empty()).collect();
        if !new.is_empty() {
            self.list.extend(new);
            findings::sort(&mut self.list);
            self.marked = findings::marked(machine, &self.list);
        }
        self
    }

    /// Those that are more than information.
    pub fn loud(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter().filter(|finding| finding.severity > Severity::Info)
    }
}
