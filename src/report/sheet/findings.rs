//! High and warning findings with their gain; info findings in a line.

use super::{Block, Choice, Dossier, Span, plain_text};
use crate::{
    findings::{self, FINDINGS, Finding, Risk},
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
    let lacking = findings::lacking(&dossier.not_judged);
    let not_made = check::not_made(lacking).map(|words| format!("{words}."));
    if loud.is_empty() {
        let nothing = match lacking {
            _ if lacking >= FINDINGS.len() => None,
            0 if cuts.is_empty() => Some("No finding limits this machine.".to_owned()),
            _ => Some("No finding in what was read.".to_owned()),
        };
        let sentences: Vec<String> = nothing.into_iter().chain(not_made).collect();
        blocks.push(plain_text(sentences.join(" ")));
    } else {
        blocks.push(Block::List(loud.iter().map(|finding| item(finding)).collect()));
        blocks.extend(not_made.map(plain_text));
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
