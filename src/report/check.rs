//! `iodyno check` as text and as JSON.
//!
//! The text is made to be read in ten seconds: what costs most comes first and in full, what is only worth knowing is a
//! line each, and what was not looked at is named.

use serde::Serialize;

use super::json::{SCHEMA, VERSION};
use crate::{
    findings::{Finding, Gain, Risk, Row},
    machine::Machine,
    model::{FindingId, Problem, ProblemKind, Reading, Severity},
};

/// All that `check` has to say.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// The machine it is about.
    pub machine: &'a Machine,
    /// Most costly first.
    pub findings: &'a [Finding],
    /// What needs a running test to be judged.
    pub not_judged: &'a [FindingId],
    /// What the readers could not read.
    pub problems: &'a [Problem],
}

/// CONTRACT's document.
#[derive(Debug, Serialize)]
pub struct CheckDocument<'a> {
    schema: u32,
    version: &'static str,
    findings: &'a [Finding],
    not_judged: Vec<NotJudged>,
    problems: Vec<Problem>,
}

/// A finding that was not looked for.
#[derive(Debug, Serialize)]
struct NotJudged {
    id: FindingId,
    because: &'static str,
}

impl<'a> CheckDocument<'a> {
    /// The document of a verdict. Its problems are what the readers met and what findings would have needed.
    pub fn new(verdict: &Verdict<'a>) -> Self {
        let mut problems: Vec<_> = verdict.problems.iter().cloned().chain(missed(verdict.machine)).collect();
        problems.sort();
        problems.dedup();
        Self {
            schema: SCHEMA,
            version: VERSION,
            findings: verdict.findings,
            not_judged: verdict
                .not_judged
                .iter()
                .map(|id| NotJudged { id: *id, because: "no test is running" })
                .collect(),
            problems,
        }
    }
}

/// What findings would have needed and what could not be read.
fn missed(machine: &Machine) -> Vec<Problem> {
    fn of<T>(reading: &Reading<T>) -> Option<Problem> {
        reading.problem()
    }
    let mut problems: Vec<Option<Problem>> = vec![of(&machine.host.modules), of(&machine.host.io_uring)];
    for drive in machine.hardware_drives() {
        let way =
            drive.node.into_iter().flat_map(|node| machine.pci.ancestry(node)).map(|at| machine.pci.node(at));
        problems.extend(way.filter(|node| node.link.is_some()).map(|node| of(&node.express)));
        if let Some(nvme) = &drive.nvme {
            problems.extend([of(&nvme.namespace), of(&nvme.identity), of(&nvme.smart)]);
        }
    }
    problems.into_iter().flatten().collect()
}

/// Lines of at most `width` columns (at least 60; paths and commands are never broken).
pub fn text(verdict: &Verdict, width: usize) -> String {
    let width = width.max(60);
    let (loud, quiet): (Vec<_>, Vec<_>) =
        verdict.findings.iter().partition(|finding| finding.severity > Severity::Info);
    let mut out = heading(verdict.machine);
    out.push_str(&unread(verdict.machine));
    out.push_str(&summary(&loud));
    for finding in loud {
        out.push('\n');
        full(&mut out, finding, width);
    }
    if !quiet.is_empty() {
        out.push_str("\ninfo\n");
        for finding in quiet {
            brief(&mut out, finding, width);
        }
        out.push_str("  details: iodyno check --explain ID\n");
    }
    out.push_str(&footer(verdict, width));
    out
}

/// What a row of the catalogue means, and what it found here.
pub fn explain(row: &Row, findings: &[Finding], width: usize) -> String {
    let width = width.max(60);
    let mut out = format!("{}: {}\n", row.id.0, row.title);
    let source = if row.source.is_empty() { "no figure" } else { row.source };
    field(&mut out, "when", &format!("{}.", row.fires), width);
    field(&mut out, "why", row.why, width);
    field(&mut out, "source", &plain(source), width);
    field(&mut out, "remedy", &plain(row.remedy), width);
    field(&mut out, "risk", &risk(row.risk), width);
    field(&mut out, "wrong if", row.wrong_if, width);
    if row.needs_load {
        field(&mut out, "note", "Checked only while a test runs.", width);
    }
    if row.is_default {
        field(
            &mut out,
            "note",
            "A factory default: part of `defaults` until a workload shows its cost.",
            width,
        );
    }
    let here: Vec<_> =
        findings.iter().filter(|finding| finding.id == row.id || finding.folds.contains(&row.id)).collect();
    if here.is_empty() {
        out.push_str("\nNot found on this machine.\n");
    }
    for finding in here {
        out.push('\n');
        full(&mut out, finding, width);
    }
    out
}

/// A template with its holes named: `to {target}` reads `to TARGET`. One at its beginning is a sentence about what was
/// found, and is left out.
fn plain(template: &str) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (hole, rest) = part.split_once('}').unwrap_or((part, ""));
        // A hole behind a word is an addition that may be empty.
        if !text.is_empty() && !text.ends_with(char::is_alphanumeric) {
            text.push_str(&hole.to_uppercase());
        }
        text.push_str(if text.is_empty() { rest.trim_start() } else { rest });
    }
    if text.is_empty() { "It depends on the case; the finding names it.".to_owned() } else { text }
}

/// Who is judged: host, processors, kernel, drives.
fn heading(machine: &Machine) -> String {
    let mut parts = Vec::new();
    parts.extend(machine.host.name.value().map(ToString::to_string));
    parts.extend(machine.processors.model.value().map(ToString::to_string));
    parts.extend(machine.host.kernel.value().map(|kernel| format!("Linux {kernel}")));
    let drives = machine.drive_count();
    parts.push(if drives == 1 { "1 drive".to_owned() } else { format!("{drives} drives") });
    format!("{}\n", parts.join(" · "))
}

/// What a clean bill would pass over: devices that are listed and say nothing.
fn unread(machine: &Machine) -> String {
    let (silent, all) = (machine.pci.silent_functions().count(), machine.pci.functions().count());
    if silent == 0 {
        return String::new();
    }
    let problem = machine.pci.silent_functions().find_map(|node| node.vendor.problem());
    let why = problem.map_or_else(String::new, |problem| format!(" ({}: {})", problem.path, problem.reason));
    format!("{silent} of {all} PCI devices could not be read and are not checked{why}\n")
}

fn summary(loud: &[&Finding]) -> String {
    let number = |severity| loud.iter().filter(|finding| finding.severity == severity).count();
    match (number(Severity::High), number(Severity::Warning)) {
        (0, 0) => "no limiting findings\n".to_owned(),
        (high, 0) => format!("{high} high\n"),
        (0, 1) => "1 warning\n".to_owned(),
        (0, warnings) => format!("{warnings} warnings\n"),
        (high, 1) => format!("{high} high, 1 warning\n"),
        (high, warnings) => format!("{high} high, {warnings} warnings\n"),
    }
}

/// Evidence lines shown; the JSON has all.
const MOST_PROOFS: usize = 6;

fn full(out: &mut String, finding: &Finding, width: usize) {
    let mark = match finding.severity {
        Severity::High => "!! high     ",
        Severity::Warning => "!  warning  ",
        Severity::Info => "   info     ",
    };
    wrapped(out, mark, &finding.title, width);
    field(out, "gain", &gain(&finding.gain), width);
    field(out, "why", &finding.why, width);
    let proofs = distinct(finding);
    for (at, (path, value)) in proofs.iter().take(MOST_PROOFS).enumerate() {
        let label = if at == 0 { "evidence" } else { "" };
        field(out, label, &format!("{path}: {value}"), usize::MAX);
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

fn distinct(finding: &Finding) -> Vec<(&str, &str)> {
    let mut seen = Vec::new();
    for proof in &finding.evidence {
        let pair = (proof.path.as_str(), proof.value.as_str());
        if !seen.contains(&pair) {
            seen.push(pair);
        }
    }
    seen
}

fn brief(out: &mut String, finding: &Finding, width: usize) {
    let won = if finding.gain.bytes_per_second.is_some() || finding.gain.iops.is_some() {
        format!("; {}", finding.gain.text)
    } else {
        String::new()
    };
    wrapped(out, &format!("  {:<22}", finding.id.0), &format!("{}{won}", finding.title), width);
}

/// The gain with whose figure it is.
pub fn gain(gain: &Gain) -> String {
    match (gain.estimate, gain.source.as_str()) {
        (true, source) => format!("{} (estimate: {source})", gain.text),
        (false, "") => gain.text.clone(),
        (false, source) => format!("{} ({source})", gain.text),
    }
}

fn risk(risk: Risk) -> String {
    format!("{}: {}", risk.name(), risk.meaning())
}

/// What was not looked at, and why.
fn footer(verdict: &Verdict, width: usize) -> String {
    let mut out = String::new();
    if !verdict.not_judged.is_empty() {
        let ids: Vec<_> = verdict.not_judged.iter().map(|id| id.0).collect();
        out.push('\n');
        wrapped(&mut out, "not checked (no test is running): ", &ids.join(", "), width);
    }
    let denied = CheckDocument::new(verdict)
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Denied)
        .count();
    if denied > 0 {
        out.push('\n');
        let told = format!("{denied} values need root; run as root for more findings");
        wrapped(&mut out, "", &told, width);
    }
    out
}

fn field(out: &mut String, label: &str, value: &str, width: usize) {
    wrapped(out, &format!("            {label:<10}"), value, width);
}

/// Words after `lead`, later lines indented as wide as it.
pub(super) fn wrapped(out: &mut String, lead: &str, words: &str, width: usize) {
    let indent = lead.chars().count();
    let mut column = indent;
    out.push_str(lead);
    let mut first = true;
    for word in words.split(' ') {
        let long = word.chars().count();
        if !first && column + 1 + long > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
            first = true;
        }
        if !first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += long;
        first = false;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::FINDINGS;

    #[test]
    fn every_row_is_explained_in_sentences_without_what_is_found() {
        for row in FINDINGS {
            let text = explain(row, &[], 100);
            let todo = text.split("\n            remedy    ").nth(1).unwrap();
            let first: String = todo.chars().take_while(|c| !c.is_whitespace()).collect();
            assert!(first.len() == 1 || first.chars().any(char::is_lowercase), "{}: {first}", row.id.0);
            assert!(!text.contains(['{', '}']), "{text}");
        }
        assert_eq!(plain("Move {what} to {target}{more}."), "Move WHAT to TARGET.");
    }
}
