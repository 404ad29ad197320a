//! Verdicts of this boot, the latest first, below a list that leaves room.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{WhatIf, arms::word};
use crate::{
    experiment::verdict::change,
    model::{EffectRecord, ExperimentRecord},
    report::sheet::repeated,
    screens::widgets::{
        paint::{self, Brush, Piece, hanging, paragraph, piece},
        scroll,
    },
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// The least rows of a panel.
const LEAST: u16 = 6;

/// The place of the list and, where it leaves room, those of experiments that cannot run here and of verdicts.
pub(super) fn areas(state: &WhatIf, list: Rect, boxed: bool) -> (Rect, [Option<Rect>; 2]) {
    let frame = if boxed { 2 } else { 1 };
    let rows = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame);
    let high = rows(state.list.len());
    if list.height < high.saturating_add(LEAST) {
        return (list, [None, None]);
    }
    let [list, below] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(list);
    let lines = reasons(state, paint::inner(below, boxed).width).len();
    if lines == 0 || below.height < 2 * LEAST {
        return (list, [None, Some(below)]);
    }
    let high = rows(lines).min(below.height - LEAST);
    let [missing, past] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(below);
    (list, [Some(missing), Some(past)])
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
