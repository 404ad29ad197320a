//! Verdicts of this boot, the latest first, below a list that leaves room.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{WhatIf, arms::word};
use crate::{
    experiment::verdict::change,
    model::{EffectRecord, ExperimentRecord},
    screens::widgets::{
        paint::{Brush, Piece, fit, hanging, paragraph, piece},
        scroll,
    },
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// The least rows of the panel.
const LEAST: u16 = 6;

/// The place of the list and, where it leaves room, that of the verdicts.
pub(super) fn areas(state: &WhatIf, list: Rect, boxed: bool) -> (Rect, Option<Rect>) {
    let frame = if boxed { 2 } else { 1 };
    let rows = u16::try_from(state.list.len()).unwrap_or(u16::MAX).saturating_add(frame);
    if list.height < rows.saturating_add(LEAST) {
        return (list, None);
    }
    let [list, past] = Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(list);
    (list, Some(past))
}

pub(super) fn draw(shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let inner = brush.panel(panel, &[piece("Verdicts of this boot", Meaning::Heading)], &[]);
    let hidden = brush.lines(inner, &lines(shared, inner.width), 0);
    scroll::mark(brush, panel, ("↑ ", "7 has "), hidden);
}

fn lines(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let records = shared.kept.experiments.iter().chain(&shared.experiments.done).rev();
    let lines: Vec<Vec<Piece>> = records.flat_map(|record| of(record, width)).collect();
    if lines.is_empty() {
        return paragraph(
            "None yet. An experiment runs its arms in random order until its interval is narrow enough for a verdict; \
             then it stands here, and s adds it to the sheet.",
            Meaning::Quiet,
            width,
        );
    }
    lines
}

fn of(record: &ExperimentRecord, width: u16) -> Vec<Vec<Piece>> {
    let target = match record.targets.as_slice() {
        [one] => one.path.to_string_lossy().into_owned(),
        many => counted(many.len(), "target"),
    };
    let head = format!("{}  {target}, {}", record.question, counted(record.rounds as usize, "round"));
    let mut lines = vec![vec![piece(fit(&head, width), Meaning::Text)]];
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
