//! Verdicts of this boot, the latest first, below a list that leaves room, and the findings that experiments test.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{WhatIf, arms::word};
use crate::{
    experiment::{EXPERIMENTS, verdict::change},
    findings::Finding,
    model::{EffectRecord, ExperimentRecord},
    report::sheet::repeated,
    screens::widgets::{
        findings,
        paint::{self, Brush, Piece, hanging, paragraph, piece},
        scroll, sections,
    },
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// The least rows of a panel.
const LEAST: u16 = 6;

/// The place of the list and, where it leaves room, those of experiments that cannot run here, of verdicts and of findings.
pub(super) fn areas(state: &WhatIf, shared: &Shared, list: Rect, boxed: bool) -> (Rect, [Option<Rect>; 3]) {
    let frame = if boxed { 2 } else { 1 };
    let rows = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame);
    let high = rows(state.list.len());
    if list.height < high.saturating_add(LEAST) {
        return (list, [None; 3]);
    }
    let [list, below] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(list);
    let lines = reasons(state, paint::inner(below, boxed).width).len();
    let (missing, past) = if lines == 0 || below.height < 2 * LEAST {
        (None, below)
    } else {
        let high = rows(lines).min(below.height - LEAST);
        let [missing, past] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(below);
        (Some(missing), past)
    };
    let high = rows(self::lines(shared, paint::inner(past, boxed).width).len()).max(LEAST);
    if past.height < high + LEAST || findings_tested(shared).next().is_none() {
        return (list, [missing, Some(past), None]);
    }
    let [past, tested] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(past);
    (list, [missing, Some(past), Some(tested)])
}

/// Draws what the experiments need that cannot run here.
pub(super) fn missing(state: &WhatIf, panel: Rect, brush: &mut Brush<'_>) {
    let inner = brush.panel(panel, &[piece("Not available here", Meaning::Heading)], &[]);
    let hidden = brush.lines(inner, &reasons(state, inner.width), 0);
    scroll::mark(brush, panel, ("", "on their rows: "), hidden);
}

/// An experiment and what it needs, for each that cannot run here.
fn reasons(state: &WhatIf, width: u16) -> Vec<Vec<Piece>> {
    let missing = state.list.iter().filter_map(|entry| Some((entry.row, entry.plan.as_ref().err()?)));
    missing
        .flat_map(|(row, needs)| {
            hanging(
                piece(format!("{:<12} ", row.id.0), Meaning::Text),
                &needs.to_string(),
                Meaning::Quiet,
                width,
            )
        })
        .collect()
}

/// Findings of this machine that an experiment confirms or refutes, with its name.
fn findings_tested(shared: &Shared) -> impl Iterator<Item = (&Finding, &'static str)> {
    findings::ordered(shared).filter_map(|finding| {
        let row = EXPERIMENTS.iter().find(|row| row.proves.contains(&finding.id.0))?;
        Some((finding, row.id.0))
    })
}

/// Draws these findings, each with the experiment that tests it.
pub(super) fn tested(shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let inner = brush.panel(panel, &[piece("Findings that experiments test", Meaning::Heading)], &[]);
    sections::fill(brush, inner, |width| {
        let section = |(finding, experiment)| {
            let mut lines = findings::section(finding, findings::EVIDENCE, width);
            lines.push(vec![piece("  Experiment: ", Meaning::Quiet), piece(experiment, Meaning::Marked)]);
            lines
        };
        findings_tested(shared).map(section).collect()
    });
}

pub(super) fn draw(shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let inner = brush.panel(panel, &[piece("Verdicts of this boot", Meaning::Heading)], &[]);
    let hidden = brush.lines(inner, &lines(shared, inner.width), 0);
    scroll::mark(brush, panel, ("↑ ", &shared.keys.fill("{sheet} has ")), hidden);
}

fn lines(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let records: Vec<&ExperimentRecord> =
        shared.kept.experiments.iter().chain(&shared.experiments.done).collect();
    let newest_first = records.iter().enumerate().rev();
    let lines: Vec<Vec<Piece>> =
        newest_first.flat_map(|(at, record)| of(record, &records[..at], width)).collect();
    if lines.is_empty() {
        return paragraph(
            &shared.keys.fill("None yet. An experiment runs its arms in random order until its interval is narrow enough for a verdict; \
             then it stands here and in the sheet; {add to sheet} removes it from there."),
            Meaning::Quiet,
            width,
        );
    }
    lines
}

fn of(record: &ExperimentRecord, before: &[&ExperimentRecord], width: u16) -> Vec<Vec<Piece>> {
    let target = match record.targets.as_slice() {
        [one] => one.path.to_string_lossy().into_owned(),
        many => counted(many.len(), "target"),
    };
    let rounds = counted(record.rounds as usize, "round");
    let head = format!("{}  {target}, {rounds}{}", record.question, repeated(record, before.iter().copied()));
    let mut lines = paragraph(&head, Meaning::Text, width);
    lines.extend(record.effects.iter().flat_map(|effect| effect_lines(effect, width)));
    lines
}

fn effect_lines(effect: &EffectRecord, width: u16) -> Vec<Vec<Piece>> {
    let (word, meaning) = word(effect.verdict);
    let interval = effect.low.zip(effect.high);
    let text = match effect.ratio {
        Some(ratio) => format!("{} against {}: {}", effect.arm, effect.against, change(ratio, interval)),
        None => format!("{} against {}: too few rounds", effect.arm, effect.against),
    };
    hanging(piece(format!("  {word:<14} "), meaning), &text, Meaning::Quiet, width)
}
