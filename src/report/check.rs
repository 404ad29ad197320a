//! `iodyno check` as text and as JSON: high and warning findings in full, info findings a line each, checks that did not run.

use std::collections::BTreeSet;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::{
    known,
    toned::{Tone, Toned},
    wrap_onto,
};
use crate::{
    findings::{self, FINDINGS, Finding, Gain, NotMade, Risk, Row},
    machine::{Machine, layers::Dm},
    model::{FindingId, Problem, ProblemKind, Severity},
    units::counted,
};

#[derive(Debug, Serialize)]
pub(crate) struct CheckDocument<'a> {
    #[serde(skip)]
    machine: &'a Machine,
    findings: &'a [Finding],
    not_judged: Vec<NotMade>,
    problems: Vec<Problem>,
}

impl<'a> CheckDocument<'a> {
    /// `problems` are those of the readers, to which the inputs that findings lack are added.
    pub(crate) fn new(
        machine: &'a Machine,
        findings: &'a [Finding],
        mut not_judged: Vec<NotMade>,
        problems: &[Problem],
    ) -> Self {
        let problems = problems.iter().cloned().chain(missed(machine));
        let mut problems: Vec<_> = problems.map(|problem| machine.placed(problem)).collect();
        problems.sort();
        problems.dedup();
        let tables = unread_tables(machine).filter(|it| not_judged.iter().all(|known| known.id != it.id));
        not_judged.extend(tables);
        let (missing, all) = unread_of_all(machine, &problems);
        if missing > 0 && missing == all {
            let known: BTreeSet<FindingId> = not_judged.iter().map(|it| it.id).collect();
            not_judged.extend(findings::without_pci(findings).filter(|it| !known.contains(&it.id)));
        }
        Self { machine, findings, not_judged, problems }
    }

    /// The checks that were not made.
    pub(super) fn into_not_judged(self) -> Vec<NotMade> {
        self.not_judged
    }
}

impl CheckDocument<'_> {
    /// Whether checks lack data, not only a test.
    fn lacks_data(&self) -> bool {
        findings::lacking(&self.not_judged) > 0
    }

    /// The tone of an answer without findings: no good news where checks could not be made.
    fn tone_of_nothing(&self) -> Tone {
        if self.lacks_data() { Tone::Warning } else { Tone::Good }
    }
}

/// Encrypted devices whose table is not readable: the finding about work queues cannot be judged.
fn unread_tables(machine: &Machine) -> Option<NotMade> {
    let is_unread = |dm: &&Dm| dm.kinds().contains(&"crypt") && !dm.targets.is_known();
    let unread = machine.layers.devices.values().filter_map(crate::machine::Layer::dm).find(is_unread);
    let because = "the table of a crypt device needs root".into();
    unread.map(|_| NotMade { id: FindingId("dm-crypt-workqueues"), because })
}

/// Inputs of findings that could not be read.
fn missed(machine: &Machine) -> Vec<Problem> {
    let mut problems = vec![machine.host.modules.problem(), machine.host.io_uring.problem()];
    for drive in machine.hardware_drives() {
        let way =
            drive.node.into_iter().flat_map(|node| machine.pci.ancestry(node)).map(|at| machine.pci.node(at));
        problems.extend(way.filter(|node| node.link.is_some()).map(|node| node.express.problem()));
        if let Some(nvme) = &drive.nvme {
            problems.extend([nvme.namespace.problem(), nvme.identity.problem(), nvme.smart.problem()]);
        }
    }
    // Whether an encrypted device uses work queues stands in its table alone.
    let encrypted = machine.layers.devices.values().filter_map(crate::machine::Layer::dm);
    let encrypted = encrypted.filter(|dm| dm.kinds().contains(&"crypt"));
    problems.extend(encrypted.map(|dm| dm.targets.problem()));
    let has_nvme = machine.hardware_drives().any(|drive| drive.nvme.is_some());
    let log = machine.driver_messages.problem().filter(|refused| refused.kind == ProblemKind::Denied);
    problems.push(log.filter(|_| has_nvme));
    problems.into_iter().flatten().collect()
}

/// Lines of at most `width` columns (at least 60; paths and commands are never broken).
pub(crate) fn text(document: &CheckDocument, width: usize) -> Toned {
    let width = width.max(60);
    let (loud, quiet): (Vec<_>, Vec<_>) =
        document.findings.iter().partition(|finding| finding.severity > Severity::Info);
    let mut out = Toned::default();
    out.push(&heading(document.machine));
    out.push_toned(Tone::Warning, &unread(document.machine, &document.problems));
    out.push_toned(
        loud.iter().map(|finding| finding.severity).max().map_or_else(|| document.tone_of_nothing(), tone),
        &summary(&loud, document),
    );
    for finding in loud {
        out.push("\n");
        full(&mut out, finding, width);
    }
    if !quiet.is_empty() {
        out.push_toned(Tone::Heading, "\ninfo\n");
        for finding in quiet {
            brief(&mut out, finding, width);
        }
        out.push_toned(Tone::Quiet, "  details: iodyno check --explain ID\n");
    }
    if let Some(pasted) = &document.machine.pasted {
        out.push("\n");
        out.push(&super::pasted::text(pasted, width));
    }
    footer(&mut out, document, width);
    out.push("\n");
    point(&mut out, document, width);
    out
}

const fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::High => Tone::Problem,
        Severity::Warning => Tone::Warning,
        Severity::Info => Tone::Quiet,
    }
}

/// The last line: the first finding with gain and remedy, or the number of checks that found nothing.
fn point(out: &mut Toned, document: &CheckDocument, width: usize) {
    let is_loud = |finding: &&Finding| finding.severity > Severity::Info;
    let checks = FINDINGS.len() - document.not_judged.len();
    let of_all = if document.lacks_data() { format!(" of {}", FINDINGS.len()) } else { String::new() };
    if let Some(finding) = document.findings.iter().find(is_loud) {
        let cost = finding.gain.cost().unwrap_or(0.0);
        let is_largest =
            cost > 0.0 && document.findings.iter().all(|other| other.gain.cost().unwrap_or(0.0) <= cost);
        let lead = if is_largest { "most costly: " } else { "most severe: " };
        let Gain { bytes_per_second, iops, .. } = finding.gain;
        let has_gain = bytes_per_second.is_some() || iops.is_some();
        let gain = if has_gain { finding.gain.text.as_str() } else { "gain unknown" };
        let words = format!("{}, {gain}. {}", finding.title, finding.remedy.text);
        labelled(out, (tone(finding.severity), lead), (Tone::Heading, &words), width);
    } else {
        let what = document.machine.pasted.as_ref();
        let what = what.map_or_else(String::new, |pasted| format!(" with this text ({})", pasted.kind()));
        let found = quiet(document.findings).unwrap_or_else(|| "none found a loss".to_owned());
        let words = if checks == 0 {
            format!("no check could be made{what}")
        } else if of_all.is_empty() {
            format!("{}{what}: {found}", counted(checks, "check"))
        } else {
            format!("{checks}{of_all} checks could be made{what}: {found}")
        };
        let tone = document.tone_of_nothing();
        labelled(out, (tone, ""), (tone, &words), width);
    }
}

/// Words behind a label, wrapped.
fn labelled(out: &mut Toned, (label_tone, label): (Tone, &str), (tone, words): (Tone, &str), width: usize) {
    let mut lines = String::new();
    wrap_onto(&mut lines, label, words, width);
    out.push_behind(label_tone, label, &lines, tone);
}

/// A row of the catalogue, with its findings on this machine.
pub(crate) fn explain(row: &Row, findings: &[Finding], not_made: &[NotMade], width: usize) -> Toned {
    let width = width.max(60);
    let mut out = Toned::default();
    out.push_toned(Tone::Heading, &format!("{}: {}\n", row.id.0, row.title));
    let source = if row.source.is_empty() { "no figure" } else { row.source };
    let remedy = if row.generally.is_empty() { row.remedy } else { row.generally };
    let mut field = |label, value: &str| field(&mut out, label, value, width);
    field("when", &format!("{}.", row.fires));
    field("why", row.why);
    field("source", &source.replace("{basis}", "limit"));
    field("remedy", remedy);
    field("risk", &risk(row.risk));
    field("wrong if", row.wrong_if);
    if row.needs_load {
        field("note", "Checked only while a test runs.");
    }
    if row.is_default {
        field("note", "A factory default: part of `defaults` until a workload shows its cost.");
    }
    let here: Vec<_> =
        findings.iter().filter(|finding| finding.id == row.id || finding.folds.contains(&row.id)).collect();
    if let Some(not_made) = not_made.iter().find(|it| it.id == row.id).filter(|_| here.is_empty()) {
        out.push("\n");
        labelled(&mut out, (Tone::Warning, "Not checked: "), (Tone::Warning, &not_made.because), width);
    } else if here.is_empty() {
        out.push_toned(Tone::Good, "\nNot found on this machine.\n");
    }
    for finding in here {
        out.push("\n");
        full(&mut out, finding, width);
    }
    out
}

fn heading(machine: &Machine) -> String {
    let mut parts = Vec::new();
    parts.extend(known(&machine.host.name));
    parts.extend(known(&machine.processors.model));
    parts.extend(machine.host.kernel.value().map(|kernel| format!("Linux {kernel}")));
    parts.push(counted(machine.drive_count(), "drive"));
    format!("{}\n", parts.join(" · "))
}

/// Devices that are listed and cannot be read: functions without ids, and names that lead nowhere. Then folders and files with
/// more than is read.
pub(super) fn unread(machine: &Machine, problems: &[Problem]) -> String {
    unread_devices(machine, problems) + &cuts(machine)
}

/// A line for each folder or file of which a part is not read.
pub(crate) fn cuts(machine: &Machine) -> String {
    machine.cuts.iter().flat_map(|cut| [&*cut.path, ": ", &*cut.reason, "\n"]).collect()
}

fn unread_devices(machine: &Machine, problems: &[Problem]) -> String {
    let (missing, all) = unread_of_all(machine, problems);
    if missing == 0 {
        return String::new();
    }
    let lost = problems.iter().filter(|problem| super::is_lost_device(machine, problem));
    let unread = machine.pci.unread_functions().map(|(_, problem)| problem).chain(lost.cloned());
    let named: Vec<String> =
        unread.take(MOST_UNREAD).map(|problem| format!("{}: {}", problem.path, problem.reason)).collect();
    let more = if missing > named.len() { "; ..." } else { "" };
    let are = if missing == 1 { "is" } else { "are" };
    format!(
        "{missing} of {all} PCI devices could not be read and {are} not checked ({}{more})\n",
        named.join("; ")
    )
}

/// PCI devices that cannot be read, and all that are listed. A text shows of a device what its listing has.
fn unread_of_all(machine: &Machine, problems: &[Problem]) -> (usize, usize) {
    if machine.pasted.is_some() {
        return (0, machine.pci.functions().count());
    }
    let lost = problems.iter().filter(|problem| super::is_lost_device(machine, problem)).count();
    (machine.pci.unread_functions().count() + lost, machine.pci.functions().count() + lost)
}

/// `no limiting findings`, or the limits that are information, with the number of checks that lack data.
pub(super) fn no_findings(findings: &[Finding], lacking: usize) -> String {
    let found = quiet(findings).unwrap_or_else(|| "no limiting findings".to_owned());
    [found].into_iter().chain(not_made(lacking)).collect::<Vec<_>>().join("; ")
}

/// `12 of 58 checks could not be made`; `None` where no check lacks data.
pub(super) fn not_made(lacking: usize) -> Option<String> {
    (lacking > 0).then(|| format!("{lacking} of {} checks could not be made", FINDINGS.len()))
}

/// `no warning, limits as information: slot-limited`, where no finding is more than information.
fn quiet(findings: &[Finding]) -> Option<String> {
    let [drives, cards] = [true, false].map(|of_drives| findings::quiet_limits(findings, of_drives));
    let words = |limits: &[&str]| {
        let limit = if limits.len() == 1 { "a limit" } else { "limits" };
        (limit, limits.join(", "))
    };
    match (words(&drives), words(&cards)) {
        _ if drives.is_empty() && cards.is_empty() => None,
        ((limit, ids), _) if cards.is_empty() => Some(format!("no warning, {limit} as information ({ids})")),
        (_, (limit, ids)) if drives.is_empty() => {
            Some(format!("no limit of drives, {limit} of other cards as information ({ids})"))
        }
        ((limit, ids), (_, others)) => {
            Some(format!("no warning, {limit} as information ({ids}; of other cards {others})"))
        }
    }
}

fn summary(loud: &[&Finding], document: &CheckDocument) -> String {
    let number = |severity| loud.iter().filter(|finding| finding.severity == severity).count();
    match (number(Severity::High), number(Severity::Warning)) {
        (0, 0) => no_findings(document.findings, findings::lacking(&document.not_judged)) + "\n",
        (high, 0) => format!("{high} high\n"),
        (0, warnings) => format!("{}\n", counted(warnings, "warning")),
        (high, warnings) => format!("{high} high, {}\n", counted(warnings, "warning")),
    }
}

/// Unread devices that are named; the JSON has all.
const MOST_UNREAD: usize = 3;

/// Before the labels of a finding.
const INDENT: &str = "            ";

/// Evidence lines shown; the JSON has all.
const MOST_PROOFS: usize = 6;

fn full(out: &mut Toned, finding: &Finding, width: usize) {
    let mark = match finding.severity {
        Severity::High => "▲  high     ",
        Severity::Warning => "!  warning  ",
        Severity::Info => "   info     ",
    };
    labelled(out, (tone(finding.severity), mark), (Tone::Heading, &finding.title), width);
    field_toned(out, "gain", (Tone::Figure, &gain(&finding.gain)), width);
    field(out, "why", &finding.why, width);
    let mut seen = BTreeSet::new();
    let pairs = finding.evidence.iter().map(|proof| (proof.path.as_str(), proof.value.as_str()));
    let proofs: Vec<_> = pairs.filter(|pair| seen.insert(*pair)).collect();
    // A path longer than its column has lines of its own, so that no terminal breaks it.
    let is_long = |(path, _): &(&str, &str)| INDENT.len() + 10 + path.width() + 1 > width;
    let has_lines = proofs.iter().take(MOST_PROOFS).any(is_long);
    if has_lines {
        labelled(out, (Tone::Quiet, &format!("{INDENT}evidence")), (Tone::Quiet, ""), width);
    }
    for (at, (path, value)) in proofs.iter().take(MOST_PROOFS).enumerate() {
        let words = format!("{path}: {value}");
        if has_lines {
            labelled(out, (Tone::Quiet, "    "), (Tone::Quiet, &words), width);
        } else {
            field_toned(out, if at == 0 { "evidence" } else { "" }, (Tone::Quiet, &words), width);
        }
    }
    if proofs.len() > MOST_PROOFS {
        field(out, "", &format!("and {} more, see --json", proofs.len() - MOST_PROOFS), width);
    }
    field(out, "remedy", &finding.remedy.text, width);
    if let Some(command) = &finding.remedy.command {
        field(out, "", command, usize::MAX);
    }
    field(out, "risk", &risk(finding.remedy.risk), width);
    field(out, "wrong if", &finding.wrong_if, width);
    field(out, "id", finding.id.0, width);
}

fn brief(out: &mut Toned, finding: &Finding, width: usize) {
    let won = if finding.gain.cost().is_some() { format!("; {}", finding.gain.text) } else { String::new() };
    let label = format!("  {:<22}", finding.id.0);
    labelled(out, (Tone::Quiet, &label), (Tone::Plain, &format!("{}{won}", finding.title)), width);
}

/// The gain with its source.
pub(super) fn gain(gain: &Gain) -> String {
    match (gain.estimate, gain.source.as_str()) {
        (true, source) => format!("{} (estimate: {source})", gain.text),
        (false, "") => gain.text.clone(),
        (false, source) => format!("{} ({source})", gain.text),
    }
}

fn risk(risk: Risk) -> String {
    format!("{}: {}", risk.name(), risk.meaning())
}

fn footer(out: &mut Toned, document: &CheckDocument, width: usize) {
    if !document.not_judged.is_empty() {
        out.push("\n");
        let mut reasons: Vec<&str> =
            document.not_judged.iter().map(|not_judged| &*not_judged.because).collect();
        let mut seen = BTreeSet::new();
        reasons.retain(|because| seen.insert(*because));
        for because in reasons {
            let of_it = document.not_judged.iter().filter(|not_judged| not_judged.because == because);
            let ids: Vec<_> = of_it.map(|not_judged| not_judged.id.0).collect();
            let label = format!("not checked ({because}): ");
            if label.width() <= width / 2 {
                labelled(out, (Tone::Quiet, &label), (Tone::Quiet, &ids.join(", ")), width);
            } else {
                labelled(out, (Tone::Quiet, ""), (Tone::Quiet, label.trim_end()), width);
                labelled(out, (Tone::Quiet, "    "), (Tone::Quiet, &ids.join(", ")), width);
            }
        }
    }
    let denied = document.problems.iter().filter(|problem| problem.kind == ProblemKind::Denied).count();
    if denied > 0 {
        out.push("\n");
        let words = match super::refused_by_policy(&document.problems) {
            Some(refused) => {
                let values = counted(denied, "value");
                format!("{values} refused ({}: {})", refused.path, refused.reason)
            }
            None => format!("{denied} values need root; run as root for more findings"),
        };
        labelled(out, (Tone::Plain, ""), (Tone::Warning, &words), width);
    }
}

fn field(out: &mut Toned, label: &str, value: &str, width: usize) {
    field_toned(out, label, (Tone::Plain, value), width);
}

fn field_toned(out: &mut Toned, label: &str, value: (Tone, &str), width: usize) {
    labelled(out, (Tone::Quiet, &format!("{INDENT}{label:<10}")), value, width);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::FINDINGS;

    #[test]
    fn a_table_that_needs_root_leaves_a_finding_unjudged() {
        const STACK: &str = include_str!("../../tests/fixtures/stack.capture");
        let unjudged = |text: &str| {
            let root = crate::source::capture::TextRoot::parse(text).unwrap();
            let (machine, problems) = crate::source::read_machine(&root);
            CheckDocument::new(&machine, &[], Vec::new(), &problems).not_judged.len()
        };
        assert_eq!(unjudged(STACK), 0);
        let table = "file /ioctl/dm-0/table 0 3906960000 crypt aes-xts-plain64 allow_discards";
        let denied = STACK.replace(table, "fail read /ioctl/dm-0/table EACCES");
        assert_ne!(denied, STACK);
        assert_eq!(unjudged(&denied), 1);
    }

    #[test]
    fn every_row_is_explained_in_sentences_without_what_is_found() {
        for row in FINDINGS {
            let text = explain(row, &[], &[], 100);
            let text = text.plain();
            assert_eq!(row.remedy.contains('{'), !row.generally.is_empty(), "{}", row.id.0);
            assert!(!text.contains(['{', '}']), "{text}");
        }
    }
}
