//! [`Detection`], the result of a check, and the [`Finding`] made of it.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use serde::Serialize;

use super::Row;
use crate::{
    machine::{Drive, Machine, pci::NodeAddress},
    model::{FindingId, NodeIndex, Reading, Severity},
};

/// The risk of a remedy, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Risk {
    /// Nothing to do: information only.
    None,
    /// Reversible, at once.
    Live,
    /// Live, but unbinds the driver for a moment: only for an unused drive.
    Rebind,
    /// A kernel argument.
    Reboot,
    /// A BIOS setting.
    Firmware,
    /// A card or drive has to be moved.
    Hardware,
    /// Destroys data on the drive. iodyno shows such commands and never runs them.
    DestroysData,
}

/// The kind of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A block device, by kernel name.
    Drive,
    /// A PCI function, by address.
    Device,
    /// A root complex: `0000:40`.
    RootComplex,
    /// A CPU: `cpu3`; all of them: `cpu`.
    Cpu,
    /// The machine as a whole.
    Host,
}

/// The subject of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Subject {
    /// Its kind.
    pub kind: SubjectKind,
    /// Its name.
    pub name: String,
}

/// A value that was read, with its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The file, register or counter.
    pub path: String,
    /// Its value, with unit.
    pub value: String,
}

/// The expected gain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Text: `about +17.7 GB/s`, `not known`.
    pub text: String,
    /// Source of the figure: `computed from the limits of the tree`, a publication.
    pub source: String,
    /// Whether it is an estimate for this machine rather than a measurement on it.
    pub estimate: bool,
    /// Bytes per second, if known for this machine.
    pub bytes_per_second: Option<f64>,
    /// Reads per second, if known for this machine.
    pub iops: Option<f64>,
    /// Bytes per second that the remedy cannot reach here: those of a faster slot, where there is none.
    #[serde(skip)]
    pub out_of_reach: Option<f64>,
}

/// The remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// A sentence.
    pub text: String,
    /// The command, where there is one.
    pub command: Option<String>,
    /// Its risk.
    pub risk: Risk,
}

/// Something that limits the machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The row of `FINDINGS`.
    pub id: FindingId,
    /// Severity on this machine.
    pub severity: Severity,
    /// Drives with the same problem share one finding.
    pub subjects: Vec<Subject>,
    /// The observation, in one line.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// The values read.
    pub evidence: Vec<Evidence>,
    /// The expected gain.
    pub gain: Gain,
    /// The remedy.
    pub remedy: Remedy,
    /// When the finding does not apply.
    pub wrong_if: String,
    /// The ids folded into it; empty except for `defaults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<FindingId>,
}

/// The result of a check: the part of a finding that its row does not have.
#[derive(Debug, Clone)]
pub(super) struct Detection {
    severity: Severity,
    title: String,
    subjects: Vec<Subject>,
    evidence: Vec<Evidence>,
    gain: Option<Gain>,
    remedy: Option<&'static str>,
    fill: Vec<(&'static str, String)>,
    command: Option<String>,
    risk: Option<Risk>,
    /// A default that has no measured cost here.
    pub is_default: bool,
}

impl Detection {
    pub(crate) fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self {
            severity,
            title: title.into(),
            subjects: Vec::new(),
            evidence: Vec::new(),
            gain: None,
            remedy: None,
            fill: Vec::new(),
            command: None,
            risk: None,
            is_default: false,
        }
    }

    /// One detection about all drives found, each with its evidence; `None` without any.
    pub(crate) fn of_drives<E: IntoIterator<Item = Evidence>>(
        severity: Severity,
        title: impl Into<String>,
        found: Vec<(&Drive, E)>,
    ) -> Option<Self> {
        let detection =
            Self::new(severity, title).about(found.iter().map(|(drive, _)| Subject::drive(drive)));
        let is_empty = found.is_empty();
        let evidence = found.into_iter().flat_map(|(_, evidence)| evidence);
        (!is_empty).then(|| detection.with_evidence(evidence))
    }

    pub(crate) fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(crate) fn about(mut self, subjects: impl IntoIterator<Item = Subject>) -> Self {
        self.subjects.extend(subjects);
        self
    }

    pub(crate) fn with_evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    pub(crate) fn with_gain(mut self, gain: Gain) -> Self {
        self.gain = Some(gain);
        self
    }

    pub(crate) fn fill(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fill.push((name, value.into()));
        self
    }

    /// Replaces the row's remedy and risk.
    pub(crate) fn with_remedy(mut self, remedy: &'static str, risk: Risk) -> Self {
        self.remedy = Some(remedy);
        self.risk = Some(risk);
        self
    }

    pub(crate) fn with_command(mut self, command: Option<String>) -> Self {
        self.command = command;
        self
    }

    pub(crate) fn with_default(mut self, is_default: bool) -> Self {
        self.is_default = is_default;
        self
    }

    pub(crate) fn into_finding(self, row: &Row) -> Finding {
        let template = self.remedy.unwrap_or(row.remedy);
        let text = self
            .fill
            .iter()
            .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value));
        Finding {
            id: row.id,
            severity: self.severity,
            subjects: self.subjects,
            title: self.title,
            why: row.why.to_owned(),
            evidence: self.evidence,
            gain: self.gain.unwrap_or_else(|| Gain::unknown(row.source)),
            remedy: Remedy { text, command: self.command, risk: self.risk.unwrap_or(row.risk) },
            wrong_if: row.wrong_if.to_owned(),
            folds: Vec::new(),
        }
    }
}

impl Finding {
    /// Most severe first, then the largest gain: known gains before unknown ones; then id.
    pub(super) fn cost_order(&self, other: &Self) -> Ordering {
        let sort_key = |finding: &Self| finding.gain.sort_key().unwrap_or(-1.0);
        let by_severity = other.severity.cmp(&self.severity);
        by_severity
            .then(sort_key(other).total_cmp(&sort_key(self)))
            .then(self.id.cmp(&other.id))
            .then_with(|| self.subjects.cmp(&other.subjects))
    }

    /// The nodes of its subjects, without duplicates.
    pub(crate) fn nodes(&self, machine: &Machine) -> Vec<NodeIndex> {
        let nodes: BTreeSet<_> = self.subjects.iter().filter_map(|subject| subject.node(machine)).collect();
        nodes.into_iter().collect()
    }
}

/// Where the marks of findings stand: at the place the drives share, if it is about one, else at each drive.
pub(crate) fn marked(machine: &Machine, list: &[Finding]) -> BTreeMap<NodeIndex, Severity> {
    use SubjectKind::{Device, RootComplex};
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

impl Remedy {
    /// The first thing to do, without reasons and remarks: `Move the card to 0000:60`.
    pub(crate) fn brief(&self) -> String {
        let mut plain = String::new();
        for (index, part) in self.text.split(" (").enumerate() {
            plain.push_str(if index == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) });
        }
        let ends = [". ", ": ", "; "].into_iter().filter_map(|end| plain.find(end));
        plain.truncate(ends.min().unwrap_or(plain.len()));
        plain.trim_end_matches('.').to_owned()
    }
}

impl Gain {
    /// No figure for this machine; `source` is a figure of another machine, or empty.
    pub(crate) fn unknown(source: &str) -> Self {
        Self::words(if source.is_empty() { "no figure" } else { "unknown for this machine" }, source)
    }

    pub(crate) fn words(text: impl Into<String>, source: &str) -> Self {
        Self {
            text: text.into(),
            source: source.into(),
            estimate: false,
            bytes_per_second: None,
            iops: None,
            out_of_reach: None,
        }
    }

    /// What the finding costs, whether the remedy can reach it or not; `None` if unknown.
    pub(crate) fn cost(&self) -> Option<f64> {
        self.sort_key().into_iter().chain(self.out_of_reach).reduce(f64::max)
    }

    /// Sort key: bytes per second, reads counted as 4 KiB each.
    fn sort_key(&self) -> Option<f64> {
        let reads = self.iops.map(|iops| iops * 4096.0);
        self.bytes_per_second.into_iter().chain(reads).reduce(f64::max)
    }
}

impl Evidence {
    pub(crate) fn new(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { path: path.into(), value: value.into() }
    }

    /// A value from the path of a reading.
    pub(crate) fn at<T>(reading: &Reading<T>, value: impl Into<String>) -> Self {
        Self::new(&*reading.path(), value)
    }

    /// `None` if the reading has no value.
    pub(crate) fn of<T: Display>(reading: &Reading<T>) -> Option<Self> {
        reading.value().map(|value| Self::at(reading, value.to_string()))
    }
}

impl Subject {
    fn new(kind: SubjectKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    pub(crate) fn drive(drive: &Drive) -> Self {
        Self::new(SubjectKind::Drive, drive.name.as_str())
    }

    pub(crate) fn node(&self, machine: &Machine) -> Option<NodeIndex> {
        match self.kind {
            SubjectKind::Drive => {
                machine.drives.iter().find(|drive| drive.name.as_str() == self.name).and_then(|d| d.node)
            }
            SubjectKind::Device => machine.pci.find(self.name.parse().ok()?),
            SubjectKind::RootComplex => {
                machine.pci.roots().find(|root| machine.pci.node(*root).address.to_string() == self.name)
            }
            SubjectKind::Cpu | SubjectKind::Host => None,
        }
    }

    pub(crate) fn of_node(machine: &Machine, index: NodeIndex) -> Self {
        let address = machine.pci.node(index).address;
        let kind = match address {
            NodeAddress::Root { .. } => SubjectKind::RootComplex,
            NodeAddress::Device(_) => SubjectKind::Device,
        };
        Self::new(kind, address.to_string())
    }

    pub(crate) fn cpu(number: u32) -> Self {
        Self::new(SubjectKind::Cpu, format!("cpu{number}"))
    }

    pub(crate) fn cpus() -> Self {
        Self::new(SubjectKind::Cpu, "cpu")
    }

    pub(crate) fn host() -> Self {
        Self::new(SubjectKind::Host, "host")
    }
}

impl Risk {
    /// Its name in JSON and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        self.words().0
    }

    pub(crate) const fn meaning(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::None => ("none", "nothing to do"),
            Self::Live => ("live", "takes effect at once and can be undone"),
            Self::Rebind => ("rebind", "unbinds the driver for a moment: only for an unused drive"),
            Self::Reboot => ("reboot", "a kernel argument: needs a reboot"),
            Self::Firmware => ("firmware", "a BIOS setting"),
            Self::Hardware => ("hardware", "power down and move hardware"),
            Self::DestroysData => (
                "destroys-data",
                "DESTROYS all data on the drive; iodyno shows the command and never runs it",
            ),
        }
    }
}
