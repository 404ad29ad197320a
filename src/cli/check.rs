//! `iodyno check`: findings as text, JSON and exit status.

use clap::{Args, ValueEnum};

use super::{Complaint, Failure, Status, columns, print, print_text, print_toned, read, units};
use crate::{
    findings::{self, FINDINGS, Finding, Inputs, Row},
    model::Severity,
    report::{
        check::{self as text, CheckDocument},
        json,
    },
    source::origin::Origin,
    text::alike::alike,
};

#[derive(Debug, Clone, Args)]
pub(super) struct CheckArgs {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Exit with status 1 on a finding of at least this severity
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<Threshold>,
    /// Explain one finding and what it found here; without ID, list all
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "json")]
    explain: Option<String>,
}

/// A severity, as the command line takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Threshold {
    /// Worth knowing
    Info,
    /// Costs something on this machine
    Warning,
    /// Costs at least 15 % of what the machine could do, or data is at risk
    High,
}

impl From<Threshold> for Severity {
    fn from(threshold: Threshold) -> Self {
        match threshold {
            Threshold::Info => Self::Info,
            Threshold::Warning => Self::Warning,
            Threshold::High => Self::High,
        }
    }
}

/// Columns without a terminal, and at most.
const WIDE: usize = 110;

pub(super) fn run(args: &CheckArgs, origin: &Origin) -> Result<Status, Failure> {
    if args.explain.as_deref() == Some("") {
        return print_text(&catalogue());
    }
    let row = args.explain.as_deref().map(row_named).transpose()?;
    let read = read(origin)?;
    let inputs = Inputs { units: units(args.json), ..Inputs::at_rest(&read.machine, &read.limits) };
    let findings = findings::check(&inputs);
    let width = columns().unwrap_or(WIDE).min(WIDE);
    let mut not_made = findings::not_made(&inputs, &findings);
    if !matches!(origin, Origin::Live | Origin::Demo(_)) {
        findings::untestable(&mut not_made);
    }
    if let Some(row) = row {
        print_toned(&text::explain(row, &findings, &not_made, width))?;
    } else {
        let document = CheckDocument::new(&read.machine, &findings, not_made, &read.problems);
        if args.json {
            print(&json::text(&document))?;
        } else {
            print_toned(&text::text(&document, width))?;
        }
    }
    if read.machine.is_silent() {
        let fix = "wake them, and run `sudo lspci -vv` again";
        return Err(Complaint::new(
            "the text",
            "none of its devices could be read: none responded when lspci ran",
            fix,
        )
        .into());
    }
    Ok(if fails(args.fail_on, &findings) { Status::No } else { Status::Done })
}

fn fails(threshold: Option<Threshold>, findings: &[Finding]) -> bool {
    threshold.is_some_and(|least| findings.iter().any(|finding| finding.severity >= Severity::from(least)))
}

/// The id and title of every finding.
fn catalogue() -> String {
    let width = FINDINGS.iter().map(|row| row.id.0.len()).max().unwrap_or_default();
    let line = |text: String, row: &Row| text + &format!("{:<width$}  {}\n", row.id.0, row.title);
    FINDINGS.iter().fold(String::new(), line)
}

fn row_named(id: &str) -> Result<&'static Row, Complaint> {
    const LIST: &str = "`iodyno check --explain` lists all";
    findings::row(id).ok_or_else(|| {
        let ids: Vec<&str> = FINDINGS.iter().map(|row| row.id.0).collect();
        let near = alike(id, &ids);
        let fix = if near.is_empty() {
            LIST.to_owned()
        } else {
            format!("did you mean {}? {LIST}", near.join(", "))
        };
        Complaint::new(format!("--explain {id}"), "no such finding", fix)
    })
}
