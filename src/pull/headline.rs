//! The headline: figure, loss, cause, remedy and gain in one sentence.

use std::fmt::Write as _;

use super::{
    Pull,
    compared::{Compared, DriveResult, Figures},
};
use crate::{
    capacity::{Expected, Potential, latency::AS_EXPECTED},
    findings::{FINDINGS, Finding, SubjectKind},
    machine::Machine,
    model::{Basis, DriveName, FindingId, Limits, NodeIndex, RunSummary, Severity},
    units::{BytesPerSecond, UnitSystem, counted},
};

/// The subject of a loss to the CPUs.
const CPU: &str = "CPU";
/// The subject of a loss to latency.
const LATENCY: &str = "latency";

/// What a limit takes away.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The finding that names the limit.
    pub finding: Option<FindingId>,
    /// Where it is: an address of the tree, `CPU`, `latency`, or the drives.
    pub subject: String,
    /// Bytes per second of all drives it limits.
    pub bytes_per_second: f64,
    /// The limit in words.
    pub because: String,
}

/// The sentence, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// `53.5 of 71.4 GB/s (75 %). ...`.
    pub text: String,
    /// Bytes per second; `None` of a pull that ended before all drives were read together.
    pub figures: Option<Figures>,
    /// What is lost to known limits, most costly first.
    pub lost_to: Vec<Loss>,
    /// A finding whose cost only an experiment can tell.
    pub not_measured: Option<FindingId>,
}

/// One run against what its drives could read: the headline, with the reason if the run is invalid, and each drive.
pub fn of_run(
    machine: &Machine,
    limits: &Limits,
    findings: &[Finding],
    run: &RunSummary,
    units: UnitSystem,
) -> (Headline, Vec<DriveResult>) {
    let compared = Compared::new(machine, limits, vec![None; run.targets.len()], run);
    let mut headline = Headline::new(&compared, findings, units);
    if let Some(reason) = invalid(&compared) {
        let behind = compared.figure(units).len() + INVALID.len();
        headline.text.insert_str(behind, &format!(": {reason}"));
    }
    (headline, compared.drives())
}

/// Behind a figure that is not the drives' own; the reason stands in the doubts.
const INVALID: &str = ", invalid";

/// The mark of a run's figure, where it is invalid.
pub(super) fn mark(compared: &Compared<'_>) -> &'static str {
    if invalid(compared).is_some() { INVALID } else { "" }
}

/// The first reason why a run is invalid, and how many others there are. The headline names busy CPUs itself.
pub(super) fn invalid(compared: &Compared<'_>) -> Option<String> {
    let is_said = compared.cpu_words().is_some();
    let all = compared.run.targets.iter().flat_map(|target| &target.invalid_because);
    let mut reasons: Vec<&str> = Vec::new();
    for reason in all.filter(|reason| !(is_said && reason.starts_with("CPU-bound"))) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    let (first, others) = reasons.split_first()?;
    let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
    Some(format!("{first}{more}"))
}

impl Headline {
    pub(super) fn new(compared: &Compared<'_>, findings: &[Finding], units: UnitSystem) -> Self {
        let figures = compared.figures(|bytes, _| bytes);
        let lost_to = compared.losses(findings);
        let mark = mark(compared);
        let mut text = format!("{}{mark}.", compared.figure(units));
        let not_measured = not_measured(findings);
        let is_all = not_measured.is_none();
        for sentence in sentences(compared, &figures, &lost_to, findings, is_all, units) {
            text.push(' ');
            text.push_str(&sentence);
        }
        Self { text, figures: Some(figures), lost_to, not_measured: not_measured.map(|finding| finding.id) }
    }

    /// The figure with its share, `53.5 of 71.4 GB/s (75 %).`, and what follows; the figure is empty where there is none.
    pub fn parts(&self) -> (&str, &str) {
        let ends = [")", INVALID].map(|end| format!("{end}."));
        let end = ends.iter().filter_map(|end| Some(self.text.find(end)? + end.len())).min();
        self.text.split_at(end.filter(|_| self.figures.is_some()).unwrap_or(0))
    }

    /// Whether its figure is marked as invalid.
    pub fn is_invalid(&self) -> bool {
        self.parts().0.ends_with(&format!("{INVALID}."))
    }

    /// The same, which says behind its figure that marks left drives out.
    pub(super) fn of_selection(mut self, pull: &Pull) -> Self {
        if let Some(selection) = pull.selection() {
            let end = match self.parts().0.len() {
                0 => self.text.len(),
                end => end,
            };
            self.text.insert_str(end, &format!(" Read: {selection}."));
        }
        self
    }

    /// The same, which says at its end that settings changed meanwhile.
    pub(super) fn of_changes(mut self, pull: &Pull) -> Self {
        if let Some(words) = pull.changes.words() {
            self.text.extend([" ", &words]);
        }
        self
    }

    /// What was measured as a share of what it is compared with.
    pub fn share(&self) -> Option<f64> {
        let figures = self.figures?;
        figures.reference.filter(|reference| *reference > 0.0).map(|reference| figures.measured / reference)
    }

    /// Of a pull that ended before all drives were read together; `alone` is what it read of drives alone.
    pub(super) fn partial(pull: &Pull, alone: &[DriveResult], units: UnitSystem) -> Self {
        let failed = pull.failed().map(|(step, why)| format!("{} could not run: {why}.", step.title()));
        let mut text = failed.unwrap_or_else(|| match alone {
            [] => "Stopped in the first run: nothing was measured.".to_owned(),
            _ => "Stopped before all drives were read together.".to_owned(),
        });
        let rates = || alone.iter().filter_map(|drive| drive.alone);
        let least_and_most = rates().reduce(f64::min).zip(rates().reduce(f64::max));
        if let Some((least, most)) = least_and_most {
            let (least, most) = (units.rate(BytesPerSecond(least)), units.rate(BytesPerSecond(most)));
            let drives = counted(pull.targets().len(), "drive");
            let range = if least == most { most } else { format!("{least} to {most}") };
            let each = if alone.len() == 1 { "" } else { " each" };
            let _ = write!(text, " Alone, {} of {drives} read {range}{each}.", alone.len());
        }
        Self { text, figures: None, lost_to: Vec::new(), not_measured: None }
    }
}

impl Compared<'_> {
    /// Losses by limit, most costly first.
    fn losses(&self, findings: &[Finding]) -> Vec<Loss> {
        let mut limits: Vec<(&Expected, Vec<usize>, f64)> = Vec::new();
        for index in 0..self.run.targets.len() {
            let Some((lost, expected)) = self.lost(index) else { continue };
            let same = |(other, ..): &&mut (&Expected, Vec<usize>, f64)| {
                other.node == expected.node && other.because == expected.because
            };
            match limits.iter_mut().find(same) {
                Some((_, targets, sum)) => {
                    targets.push(index);
                    *sum += lost;
                }
                None => limits.push((expected, vec![index], lost)),
            }
        }
        let loss = |(expected, targets, lost): (&Expected, Vec<usize>, f64)| {
            let drives: Vec<&DriveName> =
                targets.iter().filter_map(|index| self.run.targets[*index].drive.as_ref()).collect();
            let finding = findings.iter().find(|one| self.explains(one, expected.node, &drives));
            let without_node = if expected.is_latency { LATENCY } else { CPU };
            let subject = expected.node.map_or_else(
                || without_node.to_owned(),
                |node| self.machine.pci.node(node).address.to_string(),
            );
            Loss {
                finding: finding.map(|finding| finding.id),
                subject,
                bytes_per_second: lost,
                because: expected.because.clone(),
            }
        };
        let mut losses: Vec<Loss> = limits.into_iter().map(loss).collect();
        losses.sort_by(|a, b| b.bytes_per_second.total_cmp(&a.bytes_per_second));
        losses
    }

    /// Whether a finding with a gain is about the node that limits these drives, or about one of them.
    fn explains(&self, finding: &Finding, node: Option<NodeIndex>, drives: &[&DriveName]) -> bool {
        let Some(node) = node else { return false };
        let address = self.machine.pci.node(node).address.to_string();
        let is_about = |kind: SubjectKind, name: &str| match kind {
            SubjectKind::Drive => drives.iter().any(|drive| drive.as_str() == name),
            _ => name == address,
        };
        finding.gain.bytes_per_second.is_some()
            && finding.subjects.iter().any(|subject| is_about(subject.kind, &subject.name))
    }
}

/// The first finding above information whose cost no computation tells.
pub(super) fn not_measured(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|one| {
        let gain = &one.gain;
        one.severity >= Severity::Warning && gain.bytes_per_second.is_none() && gain.iops.is_none()
    })
}

/// Cause, remedy and gain of what is lost, or that nothing is; then what was not compared.
fn sentences(
    compared: &Compared<'_>,
    figures: &Figures,
    lost_to: &[Loss],
    findings: &[Finding],
    is_all: bool,
    units: UnitSystem,
) -> Vec<String> {
    let by_cpus = compared.cpu_words();
    let is_short = figures.expected.is_some_and(|expected| figures.measured < AS_EXPECTED * expected);
    let known =
        lost_to.iter().filter(|loss| loss.subject != LATENCY && (loss.subject != CPU || by_cpus.is_none()));
    let mut sentences: Vec<String> = known.take(2).map(|loss| cause(loss, findings, units)).collect();
    let is_bound_by_link = |one: &Option<Potential>| one.as_ref().is_none_or(|one| one.basis == Basis::Link);
    if let Some(by_cpus) = by_cpus {
        sentences.push(by_cpus);
    } else if let Some(in_flight) = &compared.latency_bound {
        sentences.push(format!("Latency-bound: {in_flight} in flight per drive."));
    } else if is_short && !compared.potentials.iter().all(is_bound_by_link) {
        let short = figures.expected.map_or(0.0, |expected| expected - figures.measured);
        let short = units.rate(BytesPerSecond(short));
        sentences.push(format!(
            "{short} less than expected has no known cause: look for other load and hot drives."
        ));
    } else if lost_to.is_empty() && figures.reference.is_some() {
        let drives = counted(compared.run.targets.len(), "drive");
        let lost = if is_all { "Nothing is lost" } else { "Large reads lose nothing" };
        sentences
            .push(format!("{lost}: {} checks found no limit between {drives} and memory.", FINDINGS.len()));
    }
    let without = compared.potentials.iter().filter(|one| one.is_none()).count();
    if without > 0 {
        let have = if without == 1 { "has" } else { "have" };
        let compared =
            if figures.reference.is_some() { "their rates alone count" } else { "nothing to compare with" };
        sentences.push(format!(
            "{} {have} no link and no published rate: {compared}.",
            counted(without, "target")
        ));
    }
    sentences
}

/// `8 drives share root complex 0000:40 while 0000:60 has none: move ..., about +17.7 GB/s.`
fn cause(loss: &Loss, findings: &[Finding], units: UnitSystem) -> String {
    let finding = loss.finding.and_then(|id| findings.iter().find(|finding| finding.id == id));
    if let Some(finding) = finding {
        return format!("{}: {}, {}.", finding.title, lowered(&finding.remedy.brief()), finding.gain.text);
    }
    let lost = units.rate(BytesPerSecond(loss.bytes_per_second));
    format!("{lost} is lost to {}.", loss.because)
}

/// Without the capital of a sentence.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
