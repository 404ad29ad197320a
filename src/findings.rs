//! What limits the machine: [`FINDINGS`], one row each, and the pure checks behind them.
//!
//! A check reads [`Inputs`] and returns [`Detection`]s; [`check`] joins each with its row into a [`Finding`]. One file
//! per family of checks.

pub(crate) mod inputs;
pub(crate) mod finding;
mod judged;
mod arrays;
mod crypt;
mod firmware;
mod free_slots;
mod capped;
mod cards;
mod links;
mod half_links;
mod slot;
mod packets;
mod topology;
mod chipset;
mod drives;
mod in_use;
mod queues;
mod host;
mod rules;
mod interrupts;
mod run;
pub mod validity;
mod defaults;
mod not_made;

use finding::Detection;
pub(crate) use finding::marked;
pub use finding::{Evidence, Finding, Gain, Remedy, Risk, Subject, SubjectKind};
pub use inputs::{Inputs, Known, Load, is_depth_one, is_one_at_a_time};
pub use not_made::{NotMade, not_made};
pub(crate) use not_made::{lacking, untestable, without_pci};

use std::fmt::Write as _;

use crate::model::{FindingId, Severity};

/// One row of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Id for `check --explain`, documents and screens.
    pub id: FindingId,
    /// Short title.
    pub title: &'static str,
    /// Condition, and the files it reads.
    pub fires: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// Source of the figure; empty if it claims none.
    pub source: &'static str,
    /// Remedy; a check fills `{name}`.
    pub remedy: &'static str,
    /// The remedy of any such finding, where `remedy` has placeholders; empty elsewhere.
    pub generally: &'static str,
    /// Risk of the remedy.
    pub risk: Risk,
    /// The condition that makes the finding wrong.
    pub wrong_if: &'static str,
    /// Whether only a running test can show it fully.
    pub needs_load: bool,
    /// Whether the load of other programs suffices to judge it, where no test runs.
    live: fn(&Inputs) -> bool,
    /// Whether it is a default of every machine; at rest it is folded into the row `defaults`.
    pub is_default: bool,
    /// Whether it names a limit of a drive or card also as information.
    names_limit: bool,
    /// Whether machine and limits alone decide it: its check sees neither rates nor a test.
    pub(crate) of_machine: bool,
    check: Check,
}

#[derive(Debug, Clone, Copy)]
enum Check {
    One(fn(&Inputs) -> Option<Detection>),
    Many(fn(&Inputs) -> Vec<Detection>),
}

impl Row {
    /// Defaults of the other fields.
    const PLAIN: Self = Self {
        id: FindingId(""),
        title: "",
        fires: "",
        why: "",
        source: "",
        remedy: "",
        generally: "",
        risk: Risk::None,
        wrong_if: "",
        needs_load: false,
        live: |_| false,
        is_default: false,
        names_limit: false,
        of_machine: false,
        check: Check::One(|_| None),
    };

    /// What its check finds, each with whether it is a default without a measured cost here.
    fn found(&self, inputs: &Inputs) -> Vec<(bool, Finding)> {
        let detections = match self.check {
            Check::One(check) => check(inputs).into_iter().collect(),
            Check::Many(check) => check(inputs),
        };
        detections.into_iter().map(|found: Detection| (found.is_default, found.into_finding(self))).collect()
    }
}

/// The findings that machine and limits alone decide. Rates and tests change none of them.
#[derive(Debug, Clone)]
pub struct MachineFindings {
    /// By row of [`FINDINGS`].
    found: Vec<Vec<(bool, Finding)>>,
}

impl MachineFindings {
    /// Of the inputs' machine, limits and units.
    pub fn new(inputs: &Inputs) -> Self {
        let inputs = Inputs { rates: None, load: None, ..*inputs };
        let found = |row: &Row| if row.of_machine { row.found(&inputs) } else { Vec::new() };
        Self { found: FINDINGS.iter().map(found).collect() }
    }
}

/// The catalogue.
pub static FINDINGS: &[Row] = &[
    links::LINK_DOWNTRAINED,
    slot::SLOT_LIMITED,
    half_links::LINK_BELOW_DRIVE,
    links::LINK_CAPPED_BY_SOFTWARE,
    links::LINK_ERRORS,
    topology::SHARED_ROOT_COMPLEX,
    topology::OVERSUBSCRIBED_HOP,
    chipset::CHIPSET_UPLINK,
    topology::BIFURCATION_MISSING,
    topology::BEHIND_VMD_OR_RAID,
    packets::PAYLOAD_SIZE,
    packets::RELAXED_ORDERING_OFF,
    packets::EXT_TAGS_OFF,
    packets::READ_REQUEST,
    packets::ASPM_ON,
    drives::LBA_512,
    drives::DRIVE_HOT,
    drives::DRIVE_WORN,
    drives::FEW_QUEUES,
    drives::NO_POLL_QUEUES,
    drives::REMOTE_NUMA,
    in_use::IN_USE,
    drives::MULTIPATH,
    drives::APST_LATENCY,
    firmware::FIRMWARE_ADVISORY,
    firmware::NVME_ERRORS,
    arrays::MD_RESYNC,
    arrays::MD_DEGRADED,
    arrays::MD_BITMAP,
    arrays::MD_RAID5_LOCK,
    arrays::MD_MEMBERS_DIFFER,
    arrays::MD_QUEUE,
    crypt::DM_CRYPT_WORKQUEUES,
    crypt::MEMORY_COPIES,
    queues::SCHEDULER,
    queues::READAHEAD,
    queues::MAX_SECTORS,
    queues::HW_SECTORS_BELOW_MDTS,
    queues::NR_REQUESTS,
    queues::IOSTATS,
    queues::NOMERGES,
    queues::RQ_AFFINITY,
    queues::WBT,
    queues::MISALIGNED,
    interrupts::INTERRUPT_LOAD,
    interrupts::POSTED_MSI_OFF,
    host::IOMMU_TRANSLATING,
    host::GOVERNOR,
    host::DEEP_C_STATES,
    host::MEMORY_BANDWIDTH,
    host::IO_URING_DISABLED,
    host::RING_FEATURES,
    host::MITIGATIONS,
    host::SMT,
    host::MEMORY_BELOW_RATING,
    rules::RULE_REVERTS,
    run::TEST_NOT_VALID,
    defaults::DEFAULTS,
];

/// Major and minor number of a kernel release: `5.10.0-28-amd64`.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

pub(crate) fn row(id: &str) -> Option<&'static Row> {
    FINDINGS.iter().find(|row| row.id.0 == id)
}

/// Ids of findings that are information and name a limit, each once.
pub(crate) fn quiet_limits(found: &[Finding], of_drives: bool) -> Vec<&'static str> {
    // A card without drives is the only subject that is a device alone.
    let is_card = |it: &Finding| it.subjects.iter().all(|subject| subject.kind == SubjectKind::Device);
    let is_quiet = |row: &&Row| {
        let mut found = found.iter().filter(|it| it.id == row.id && it.severity == Severity::Info);
        row.names_limit && found.any(|it| is_card(it) != of_drives)
    };
    FINDINGS.iter().filter(is_quiet).map(|row| row.id.0).collect()
}

/// The table for `docs/findings.md`.
pub fn markdown() -> String {
    let mut text = String::from("| finding | fires when | remedy |\n|---|---|---|\n");
    for row in FINDINGS {
        let _infallible = writeln!(text, "| `{}` | {} | {} |", row.id.0, row.fires, row.risk.name());
    }
    text
}

/// All findings, by severity, then gain, then id; unknown gains after known ones. Defaults of every machine are folded
/// into one finding, `defaults`, at the end.
pub fn check(inputs: &Inputs) -> Vec<Finding> {
    check_with(&MachineFindings::new(inputs), inputs)
}

/// The same with the findings of the inputs' machine, limits and units, which need not be looked for again.
pub(crate) fn check_with(of_machine: &MachineFindings, inputs: &Inputs) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut folded = Vec::new();
    for (row, known) in FINDINGS.iter().zip(&of_machine.found) {
        let found = if row.of_machine { known.clone() } else { row.found(inputs) };
        for (is_default, finding) in found {
            if is_default { folded.push(finding) } else { findings.push(finding) }
        }
    }
    findings.extend(defaults::fold(folded));
    sort(&mut findings);
    if let Some(pasted) = &inputs.machine.pasted {
        let evidence = findings.iter_mut().flat_map(|finding| &mut finding.evidence);
        evidence.for_each(|it| (it.path, it.value) = pasted.evidence(&it.path, &it.value));
    }
    findings
}

/// Most severe first, then the largest gain; the folded defaults at the end.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|one, other| {
        let is_fold = |finding: &Finding| !finding.folds.is_empty();
        is_fold(one).cmp(&is_fold(other)).then_with(|| one.cost_order(other))
    });
}

/// The ids that need a running test, when none runs and the load of other programs does not suffice: `check` lists them
/// as not judged.
pub fn not_judged(inputs: &Inputs, found: &[Finding]) -> Vec<FindingId> {
    if inputs.load.is_some() {
        return Vec::new();
    }
    let is_found = |id| found.iter().any(|finding| finding.id == id || finding.folds.contains(&id));
    let needs_test = |row: &&Row| row.needs_load && !(row.live)(inputs) && !is_found(row.id);
    FINDINGS.iter().filter(needs_test).map(|row| row.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity,
        counters::{CpuShares, DiskRates, Rates},
        machine::Drive,
        model::Workload,
        source::{self, demo::DEMOS},
        units::UnitSystem,
    };

    #[test]
    fn releases_compare_as_numbers() {
        assert!(release("5.10.0-28-amd64").unwrap() < (5, 14));
        assert!(release("5.9").unwrap() < (5, 14));
        assert!(release("6.1.0").unwrap() > (5, 14));
        assert_eq!(release("next"), None);
    }

    #[test]
    fn rates_and_tests_change_no_finding_of_the_machine_alone() {
        for demo in DEMOS {
            let machine = source::testing::demo(demo.name);
            let limits = capacity::limits(&machine);
            let disk = DiskRates {
                reads: 9e3,
                read_bytes: 1e9,
                written_bytes: 1e9,
                queue_depth: 1.0,
                ..DiskRates::default()
            };
            let full = CpuShares { irq: 40.0, sys: 60.0, ..CpuShares::default() };
            let rates = Rates {
                disks: machine.hardware_drives().map(|drive| (drive.name.clone(), disk)).collect(),
                cpu: Some(full),
                cpus: [(0, full)].into(),
                ..Rates::default()
            };
            let targets = machine.hardware_drives().map(Drive::target).collect();
            let workload = Workload { targets, depth: 1, jobs: 1, hipri: true, ..Workload::default() };
            let test = Load { workload: &workload, summary: None, watch: None };
            for load in [None, Some(test)] {
                let rest = Inputs { units: UnitSystem::Binary, ..Inputs::at_rest(&machine, &limits) };
                let inputs = Inputs { rates: Some(&rates), load, ..rest };
                for row in FINDINGS.iter().filter(|row| row.of_machine) {
                    assert_eq!(row.found(&inputs), row.found(&rest), "{}: {}", demo.name, row.id.0);
                }
                assert_ne!(check(&inputs), check(&rest), "{}: the load shows", demo.name);
            }
        }
    }
}
