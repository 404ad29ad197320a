//! The state of the findings screen: what was found, which one is selected, how far its text is scrolled.
//!
//! Not here: judging (`findings`), words (`view`).

use std::collections::BTreeMap;

use crate::{
    counters::Rates,
    findings::{self, Evidence, Finding, Load, Subject},
    machine::Machine,
    model::{FindingId, Limits, NodeIndex, Severity},
    units::UnitSystem,
};

/// What holds the machine back, most costly first.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// All findings, in order.
    pub list: Vec<Finding>,
    /// What needs a running test to be judged, while none runs.
    pub not_judged: Vec<FindingId>,
    /// Index of the selected one.
    pub selected: usize,
    /// Index of the first one shown.
    pub top: usize,
    /// Lines by which the text about the selected one is scrolled down.
    pub detail_top: usize,
    /// Nodes of the tree that a finding above information points at, in order.
    pub marked: BTreeMap<NodeIndex, Severity>,
}

impl Findings {
    /// Judges the machine again, with the selection on the finding it was on.
    pub fn judge(
        &mut self,
        machine: &Machine,
        limits: &Limits,
        rates: Option<&Rates>,
        load: Option<Load<'_>>,
        units: UnitSystem,
    ) {
        let evidence = Evidence { machine, limits, rates, load, units };
        let list = findings::check(&evidence);
        self.not_judged = findings::not_judged(&evidence, &list);
        let same = |finding: &Finding| {
            self.selected_finding()
                .is_some_and(|old| old.id == finding.id && old.subjects == finding.subjects)
        };
        let at = list.iter().position(same);
        self.marked = marked(machine, &list);
        self.list = list;
        match at {
            Some(at) => self.selected = at,
            None => self.select(self.selected),
        }
    }

    /// The selected one.
    pub fn selected_finding(&self) -> Option<&Finding> {
        self.list.get(self.selected)
    }

    /// Those that are more than information.
    pub fn loud(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter().filter(|finding| finding.severity > Severity::Info)
    }

    /// Selects the one at `index`, or the last.
    pub fn select(&mut self, index: usize) {
        self.selected = index.min(self.list.len().saturating_sub(1));
        self.detail_top = 0;
    }

    /// Moves the selection by `step`.
    pub fn step(&mut self, step: isize) {
        self.select(self.selected.saturating_add_signed(step));
    }

    /// Moves the first one shown so that the selected one is among `height`.
    pub fn scroll_to_selection(&mut self, height: usize) {
        if height > 0 {
            let lowest = self.list.len().saturating_sub(height);
            self.top = self.top.clamp(self.selected.saturating_sub(height - 1), self.selected).min(lowest);
        }
    }

    /// What the selected one is about and has a place in the tree, the first of its subjects.
    pub fn selected_place(&self, machine: &Machine) -> Option<(&Subject, NodeIndex)> {
        let finding = self.selected_finding()?;
        finding.subjects.iter().find_map(|subject| Some((subject, subject.node(machine)?)))
    }
}

/// Where the marks of findings stand: at the place the drives share, if it is about one, else at each drive.
fn marked(machine: &Machine, list: &[Finding]) -> BTreeMap<NodeIndex, Severity> {
    use crate::findings::SubjectKind::{Device, RootComplex};
    let mut nodes: BTreeMap<NodeIndex, Severity> = BTreeMap::new();
    for finding in list.iter().filter(|finding| finding.severity > Severity::Info) {
        let places = finding.subjects.iter().filter(|subject| matches!(subject.kind, Device | RootComplex));
        let places: Vec<_> = places.filter_map(|subject| subject.node(machine)).collect();
        for node in if places.is_empty() { finding.nodes(machine) } else { places } {
            let worst = nodes.entry(node).or_insert(finding.severity);
            *worst = finding.severity.max(*worst);
        }
    }
    nodes
}
