//! High and warning findings with their gain; info findings in a line.

use super::{Block, Choice, Dossier, Span, plain_text};
use crate::{
    findings::{Finding, Risk},
    model::{Problem, ProblemKind, Severity},
    report::check,
};

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let (loud, quiet): (Vec<&Finding>, Vec<&Finding>) =
        dossier.findings.iter().partition(|finding| finding.severity > Severity::Info);
    let mut blocks = vec![Block::Heading("Findings".to_owned())];
    let is_cut = |problem: &&Problem| problem.kind == ProblemKind::Cut;
    let cuts: Vec<&Problem> = dossier.problems.iter().filter(is_cut).collect();
    for cut in &cuts {
        blocks.push(plain_text(format!("{}: {}.", cut.path, cut.reason)));
    }
    if loud.is_empty() {
        blocks.push(plain_text(if cuts.is_empty() {
            "No finding limits this machine."
        } else {
            "No finding in what was read."
        }));
    } else {
        blocks.push(Block::List(loud.iter().map(|finding| item(finding)).collect()));
    }
    if !quiet.is_empty() {
        let titles: Vec<&str> = quiet.iter().map(|finding| finding.title.as_str()).collect();
        blocks.push(plain_text(format!("Info: {}.", titles.join("; "))));
    }
    blocks
}

fn item(finding: &Finding) -> Vec<Span> {
    let word = if finding.severity == Severity::High { "High" } else { "Warning" };
    let risk = match finding.remedy.risk {
        Risk::None => String::new(),
        risk => format!(" Risk: {}, {}.", risk.name(), risk.meaning()),
    };
    let mut spans = vec![
        Span::Strong(format!("{word}: {}.", finding.title)),
        Span::Plain(format!(" Gain: {}. {}{risk}", check::gain(&finding.gain), finding.remedy.text)),
    ];
    // A command that destroys data is not for a post that strangers copy from.
    if let (Some(command), true) = (&finding.remedy.command, finding.remedy.risk < Risk::DestroysData) {
        spans.push(Span::Plain(" ".to_owned()));
        spans.push(Span::Code(command.clone()));
    }
    spans
}
