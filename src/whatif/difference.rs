//! Effects of a move: limits, totals, findings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Move, MoveError, Moved, move_devices};
use crate::{
    capacity::{self, Total},
    findings::{self, Finding, Inputs, Known, MachineFindings, Subject, SubjectKind},
    machine::{Drive, Machine},
    model::{DriveName, FindingId, Limits, NodeIndex},
    units::{BytesPerSecond, UnitSystem},
};

/// A move and its effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The machine afterwards.
    pub moved: Moved,
    /// Limits of the machine afterwards.
    pub limits: Limits,
    /// All drives at once, today.
    pub before: Total,
    /// All drives at once, after the move.
    pub after: Total,
    /// Drives and root complexes whose figures change, in today's bus order.
    pub changes: Vec<Change>,
    /// Findings that the move fixes.
    pub findings_gone: Vec<Finding>,
    /// Findings that the move causes.
    pub findings_new: Vec<Finding>,
}

/// Change of one drive or root complex, in payload bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// `drive` or `root-complex`.
    pub kind: &'static str,
    /// The drive, or the root complex's address.
    pub name: String,
    /// Limit of a drive's path; demand of the drives below a root complex. Today.
    pub before: Option<BytesPerSecond>,
    /// After the move.
    pub after: Option<BytesPerSecond>,
    /// Rate of the drive or through the root complex with all drives busy. Today.
    pub busy_before: Option<BytesPerSecond>,
    /// After the move.
    pub busy_after: Option<BytesPerSecond>,
}

/// Changes smaller than this share are rounding.
const ROUNDING: f64 = 1e-6;

/// The machine before any move: made once, compared with each.
#[derive(Debug, Clone, PartialEq)]
pub struct Today {
    /// All drives at once.
    pub total: Total,
    findings: Vec<Finding>,
    units: UnitSystem,
}

impl Today {
    /// Of a machine with these limits, worded in these units; `known` are its findings, if they were looked for.
    pub fn new(
        machine: &Machine,
        limits: &Limits,
        units: UnitSystem,
        known: Option<&MachineFindings>,
    ) -> Self {
        let inputs = Inputs { units, ..Inputs::at_rest(machine, limits) };
        let findings =
            known.map_or_else(|| findings::check(&inputs), |known| findings::check_with(known, &inputs));
        Self { total: capacity::total_in(machine, limits, units), findings, units }
    }
}

/// The effects of a move on this machine, worded in these units.
///
/// # Errors
/// See [`super::move_devices`].
pub fn predict(
    machine: &Machine,
    limits: &Limits,
    asked: &Move,
    units: UnitSystem,
) -> Result<Prediction, MoveError> {
    predict_from(&Today::new(machine, limits, units, None), machine, limits, asked)
}

/// The same for a machine whose figures of today are known.
///
/// # Errors
/// See [`super::move_devices`].
pub fn predict_from(
    today: &Today,
    machine: &Machine,
    limits: &Limits,
    asked: &Move,
) -> Result<Prediction, MoveError> {
    let moved = move_devices(machine, asked)?;
    let then = &moved.then.machine;
    let limits_then = capacity::limits(then);
    let Today { total: before, findings: today, units } = today;
    let after = capacity::total_in(then, &limits_then, *units);
    let known: Vec<Key> =
        today.iter().map(|finding| key(finding.id, &finding.subjects, Subject::clone)).collect();
    let todays = |subject: &Subject| todays(machine, &moved, subject);
    // A root complex that has as many drives as before is neither better nor worse for having others.
    let is_said = |id: FindingId, title: &str, findings: &[Finding]| {
        findings.iter().any(|other| (other.id, other.title.as_str()) == (id, title))
    };
    let is_known = |id: FindingId, title: &str, subjects: &[Subject]| {
        is_said(id, title, today) || known.contains(&key(id, subjects, todays))
    };
    let inputs =
        Inputs { units: *units, known: Some(Known(&is_known)), ..Inputs::at_rest(then, &limits_then) };
    let later = findings::check(&inputs);
    let coming: Vec<Key> = later.iter().map(|finding| key(finding.id, &finding.subjects, todays)).collect();
    let without = |findings: &[Finding], own: &[Key], others: &[Finding], other: &[Key]| {
        let pairs = findings.iter().zip(own);
        let gone = pairs
            .filter(|(finding, key)| !other.contains(key) && !is_said(finding.id, &finding.title, others));
        gone.map(|(finding, _)| finding.clone()).collect()
    };
    let now = Side::new(machine, limits, before);
    let then = Side::new(then, &limits_then, &after);
    let roots = machine.pci.roots().map(|root| now.root_to(&then, root, moved.then.now(root)));
    let drives = machine.hardware_drives().map(|drive| now.drive_to(&then, &drive.name));
    let changes: Vec<Change> = roots.chain(drives).filter(Change::is_one).collect();
    let findings_new: Vec<Finding> = without(&later, &coming, today, &known);
    let mut findings_gone: Vec<Finding> = without(today, &known, &later, &coming);
    findings_gone.retain(|gone| !is_only_renamed(gone, &findings_new, &changes));
    Ok(Prediction {
        findings_gone,
        findings_new,
        limits: limits_then,
        before: before.clone(),
        after,
        changes,
        moved,
    })
}

/// Whether a drive that is no faster has another finding in place of this one: a slower slot ends a downtrained link.
fn is_only_renamed(gone: &Finding, new: &[Finding], changes: &[Change]) -> bool {
    fn drive(finding: &Finding) -> Option<&str> {
        let subject = finding.subjects.iter().find(|subject| subject.kind == SubjectKind::Drive)?;
        Some(&subject.name)
    }
    let Some(name) = drive(gone) else { return false };
    let is_faster = |change: &Change| {
        let gained = change.after.zip(change.before).is_some_and(|(after, before)| after.0 > before.0);
        change.kind == "drive" && change.name == name && gained
    };
    new.iter().any(|one| drive(one) == Some(name)) && !changes.iter().any(is_faster)
}

impl Prediction {
    /// Gain of all drives together, in bytes per second; `None` if a total is unknown.
    pub fn gain(&self) -> Option<f64> {
        Some(self.after.bytes_per_second?.0 - self.before.bytes_per_second?.0)
    }

    /// Why the gain is unknown, in words.
    pub fn unknown_gain(&self) -> &'static str {
        if self.before.lacks_rates || self.after.lacks_rates {
            "unknown; not all drives have a known link or rate"
        } else {
            "unknown; run all drives at once to measure their root complex"
        }
    }
}

/// Identity of a finding on both machines.
type Key = (FindingId, BTreeSet<Subject>);

fn key(id: FindingId, subjects: &[Subject], of: impl Fn(&Subject) -> Subject) -> Key {
    (id, subjects.iter().map(of).collect())
}

/// A subject of the new tree by today's name.
fn todays(machine: &Machine, moved: &Moved, subject: &Subject) -> Subject {
    let is_place = matches!(subject.kind, SubjectKind::Device | SubjectKind::RootComplex);
    let node = subject.node(&moved.then.machine).filter(|_| is_place);
    let was = node.and_then(|node| moved.then.was.get(node.0).copied().flatten());
    was.map_or_else(|| subject.clone(), |was| Subject::of_node(machine, was))
}

/// A machine with its limits and the rates of all drives together.
struct Side<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    total: &'a Total,
    drives: BTreeMap<&'a DriveName, &'a Drive>,
}

impl<'a> Side<'a> {
    fn new(machine: &'a Machine, limits: &'a Limits, total: &'a Total) -> Self {
        Self { machine, limits, total, drives: machine.drives_by_name() }
    }

    fn drive_to(&self, then: &Self, name: &DriveName) -> Change {
        let path = |side: &Self| {
            let limit = side.limits.path(side.drives.get(name)?.node?)?;
            side.limits.is_rated(name).then_some(limit.bytes_per_second)
        };
        let busy = |side: &Self| side.total.shares.get(name).map(|share| share.bytes_per_second);
        Change {
            kind: "drive",
            name: name.to_string(),
            before: path(self),
            after: path(then),
            busy_before: busy(self),
            busy_after: busy(then),
        }
    }

    /// Change of a root complex, which may have another index then.
    fn root_to(&self, then: &Self, root: NodeIndex, later: Option<NodeIndex>) -> Change {
        Change {
            kind: "root-complex",
            name: self.machine.pci.node(root).address.to_string(),
            before: wants(self.machine, self.limits, root),
            after: later.and_then(|root| wants(then.machine, then.limits, root)),
            busy_before: passes(self.machine, self.total, root),
            busy_after: later.and_then(|root| passes(then.machine, then.total, root)),
        }
    }
}

/// The drives that read through a node: of those with several paths, one counts.
pub(crate) fn readers(machine: &Machine, node: NodeIndex) -> impl Iterator<Item = &Drive> {
    let is_above = move |function: NodeIndex| machine.pci.whole_ancestry(function).any(|at| at == node);
    machine.hardware_drives().filter(move |drive| drive.node.is_some_and(is_above))
}

/// Demand of the drives below a node; `None` if one is unknown.
fn wants(machine: &Machine, limits: &Limits, node: NodeIndex) -> Option<BytesPerSecond> {
    // Namespaces of one controller count once.
    let units: BTreeMap<&str, &Drive> = readers(machine, node).map(|drive| (drive.unit(), drive)).collect();
    let rates = units.values().map(|drive| Some(limits.drive(&drive.name)?.bytes_per_second.0));
    // The sum of nothing is -0.0.
    rates.sum::<Option<f64>>().map(|sum| BytesPerSecond(sum + 0.0))
}

/// Rate of the drives below a node with all drives busy.
pub(crate) fn passes(machine: &Machine, total: &Total, node: NodeIndex) -> Option<BytesPerSecond> {
    let rates = readers(machine, node).map(|drive| Some(total.shares.get(&drive.name)?.bytes_per_second.0));
    // The sum of nothing is -0.0.
    rates.sum::<Option<f64>>().map(|sum| BytesPerSecond(sum + 0.0))
}

impl Change {
    /// Whether anything differs.
    fn is_one(&self) -> bool {
        let differs = |before: Option<BytesPerSecond>, after: Option<BytesPerSecond>| match (before, after) {
            (Some(before), Some(after)) => (before.0 - after.0).abs() > ROUNDING * before.0.max(after.0),
            (None, None) => false,
            _ => true,
        };
        differs(self.before, self.after) || differs(self.busy_before, self.busy_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        source::{self, demo, origin::Origin},
        units::TransferRate,
    };

    #[test]
    fn a_slower_slot_fixes_no_downtrained_link() {
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        let machine = source::read_machine(&*root).0;
        let limits = capacity::limits(&machine);
        let drive = machine.drive(&DriveName::new("nvme0n1")).unwrap();
        let devices = vec![drive.node.unwrap()];
        let asked = Move { devices, under: None, speed: TransferRate::from_code(3) };
        let slower = predict(&machine, &limits, &asked, UnitSystem::Decimal).unwrap();
        let is_downtrained = |finding: &Finding| finding.id.0 == "link-downtrained";
        assert!(!slower.findings_gone.iter().any(is_downtrained), "{:?}", slower.findings_gone);
        assert!(!slower.findings_new.is_empty());
    }

    #[test]
    fn findings_of_both_machines_need_no_gain_and_new_ones_have_theirs() {
        let machine = source::testing::demo("threadripper-before");
        let limits = capacity::limits(&machine);
        let gain = |inputs: &Inputs| {
            let found = findings::check(inputs);
            found.into_iter().find(|one| one.id.0 == "shared-root-complex").unwrap().gain.bytes_per_second
        };
        let rest = Inputs::at_rest(&machine, &limits);
        assert!(gain(&rest).is_some_and(|gain| gain > 1e9));
        assert_eq!(gain(&Inputs { known: Some(Known(&|_, _, _| true)), ..rest }), None);
        assert_eq!(gain(&Inputs { known: Some(Known(&|_, _, _| false)), ..rest }), gain(&rest));

        let machine = source::testing::demo("threadripper-after");
        let limits = capacity::limits(&machine);
        let today = Today::new(&machine, &limits, UnitSystem::Decimal, None);
        let mut crowded = 0;
        for device in machine.hardware_drives().filter_map(|drive| drive.node) {
            for under in machine.pci.roots() {
                let asked = Move { devices: vec![device], under: Some(under), speed: None };
                let Ok(then) = predict_from(&today, &machine, &limits, &asked) else { continue };
                let later = findings::check(&Inputs::at_rest(&then.moved.then.machine, &then.limits));
                for new in &then.findings_new {
                    assert!(later.contains(new), "{new:?}");
                    crowded += usize::from(new.id.0 == "shared-root-complex");
                }
            }
        }
        assert!(crowded > 0, "no move crowds a root complex");
    }

    #[test]
    fn no_sentence_is_both_fixed_and_new() {
        let mut said = 0;
        for demo in demo::DEMOS {
            let root = Origin::Demo(demo.name.to_owned()).open().unwrap();
            let machine = source::read_machine(&*root).0;
            let limits = capacity::limits(&machine);
            let today = Today::new(&machine, &limits, UnitSystem::Decimal, None);
            for device in machine.hardware_drives().filter_map(|drive| drive.node).take(6) {
                for (under, _) in machine.pci.iter().take(60) {
                    let asked = Move { devices: vec![device], under: Some(under), speed: None };
                    let prediction = predict_from(&today, &machine, &limits, &asked);
                    let Ok(Prediction { findings_gone, findings_new, .. }) = prediction else { continue };
                    let is_both = findings_gone
                        .iter()
                        .find(|gone| findings_new.iter().any(|new| new.title == gone.title));
                    assert!(is_both.is_none(), "{}: {is_both:?}", demo.name);
                    said += findings_gone.len() + findings_new.len();
                }
            }
        }
        assert!(said > 20, "{said} sentences");
    }
}
