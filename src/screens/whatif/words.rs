//! The verdict in words; while it runs, what is going on.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{WhatIf, about, arms::word, runs};
use crate::{
    experiment::{Account, Phase, verdict},
    model::{Effect, Verdict},
    screens::widgets::{
        paint::{Brush, Piece, hanging, inner, piece},
        scroll, sections,
    },
    text::Label,
    ui::{Shared, experiments::Progress, theme::Meaning},
    units::counted,
};

/// The title of the runs.
const RUNS: &str = "Runs, the latest first";

pub(super) fn draw(state: &WhatIf, shared: &Shared, shown: &Progress, panel: Rect, brush: &mut Brush<'_>) {
    let account = &shown.account;
    let lines = panel_lines(state, shared, shown, inner(panel, brush.boxed).width);
    let (panel, below) = parts(state, lines.len(), panel, brush.boxed);
    let title = match (state.shows_runs, account.has_ended()) {
        (true, _) => RUNS,
        (false, true) => "Verdict",
        (false, false) => "So far",
    };
    let inner = brush.panel(panel, &[piece(title, Meaning::Heading)], &[]);
    let hidden = brush.lines(inner, &lines, state.words_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
    if let Some(below) = below {
        readings(shared, account, below, brush);
    }
}

/// The least rows of the panel of runs below a verdict.
const LEAST: u16 = 10;

/// Cells between the runs and what stands beside them, and the least cells of both.
const GAP: u16 = 3;
const BESIDE: u16 = 60;

/// The place of the words and, where they leave room, that of the runs.
fn parts(state: &WhatIf, lines: usize, panel: Rect, boxed: bool) -> (Rect, Option<Rect>) {
    let frame = if boxed { 2 } else { 1 };
    let high = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame);
    if state.shows_runs || panel.height < high.saturating_add(LEAST) {
        return (panel, None);
    }
    let [words, runs] = Layout::vertical([Constraint::Length(high), Constraint::Fill(1)]).areas(panel);
    (words, Some(runs))
}

/// The runs with their readings, as far as there is room, and the experiment itself beside or below them.
fn readings(shared: &Shared, account: &Account, panel: Rect, brush: &mut Brush<'_>) {
    let inner = brush.panel(panel, &[piece(RUNS, Meaning::Heading)], &[]);
    let is_wide = inner.width >= runs::WIDE + BESIDE;
    let table = Rect { width: if is_wide { runs::WIDE } else { inner.width }, ..inner };
    let lines = runs::lines(shared, account, table.width);
    let hidden = brush.lines(table, &lines, 0);
    scroll::mark(brush, panel, ("", &shared.keys.fill("{samples} shows ")), hidden);
    let free = if is_wide {
        Rect { x: table.right() + GAP, width: inner.width - table.width - GAP, ..inner }
    } else {
        sections::after(inner, lines.len())
    };
    sections::fill(brush, free, |width| about::begun(&account.plan, width));
}

/// The lines of the panel: the verdict, or the runs.
pub(super) fn panel_lines(state: &WhatIf, shared: &Shared, shown: &Progress, width: u16) -> Vec<Vec<Piece>> {
    if state.shows_runs { runs::lines(shared, &shown.account, width) } else { lines(shared, shown, width) }
}

fn lines(shared: &Shared, shown: &Progress, width: u16) -> Vec<Vec<Piece>> {
    let account = &shown.account;
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let mut add = |mark, text: &str, meaning| lines.extend(hanging(mark, text, meaning, width));
    if !account.has_ended() {
        add(piece("  ", Meaning::Text), &shared.keys.fill(&going_on(shared, shown)), Meaning::Text);
    }
    if let Some(knee) = account.knee_sentence() {
        add(piece("  ", Meaning::Text), &knee, Meaning::Heading);
    }
    // Before its look a comparison has no verdict.
    let is_said = |effect: &&Effect| account.has_ended() || effect.decided.is_some();
    for effect in account.effects.iter().filter(is_said) {
        let (_, meaning) = word(effect.verdict);
        let mark = match effect.verdict {
            Verdict::Faster => "✓ ",
            Verdict::Slower => "▼ ",
            Verdict::NoDifference | Verdict::SmallerThanMargin => "= ",
            Verdict::Inconclusive => "? ",
            Verdict::Invalid => "! ",
        };
        add(piece(mark, meaning), &verdict::sentence(account, effect), Meaning::Figure);
        if account.has_ended() {
            add(piece("  ", Meaning::Text), &verdict::meaning(account, effect), Meaning::Text);
        }
    }
    if let Some(out) = account.thrown_out.last() {
        let text = format!(
            "{} discarded; the last, round {}: {}, {}",
            counted(account.thrown_out.len(), "round"),
            out.round,
            out.arm,
            Label::new(&out.why)
        );
        add(piece("! ", Meaning::Warning), &text, Meaning::Quiet);
    }
    if account.has_ended() {
        for note in verdict::notes(account) {
            add(piece("! ", Meaning::Warning), &Label::new(&note).to_string(), Meaning::Quiet);
        }
        let meaning = if account.restored == Some(false) { Meaning::Problem } else { Meaning::Quiet };
        add(piece("  ", Meaning::Text), &verdict::closing(account), meaning);
    }
    lines
}

/// `Round 3: arm none runs. 12 s of about 10 min at most; verdicts after round 8, or when the time is up.`
fn going_on(shared: &Shared, shown: &Progress) -> String {
    let account = &shown.account;
    // Of the scheduler, `none` is an arm too.
    let label = |arm: usize| format!("arm {}", account.plan.arms[arm].label);
    let what = match account.phase {
        _ if shared.experiments.stopping => "stopping; settings are restored".to_owned(),
        Phase::SettingUp(arm) => format!("{} is set up", label(arm)),
        Phase::Running(arm) => format!("{} runs", label(arm)),
        Phase::Restoring(arm) => format!("restoring after {}", label(arm)),
        Phase::Ended => String::new(),
    };
    let round = match account.round {
        0 => "Warming up, not counted".to_owned(),
        round => format!("Round {round}"),
    };
    let look = account.next_look().map_or_else(
        || "verdicts when the time is up".to_owned(),
        |look| format!("verdicts after round {look}, or when the time is up"),
    );
    let restored = if account.plan.changes_settings() {
        " Every changed setting is restored at the end, also after {stop}."
    } else {
        ""
    };
    format!(
        "{round}: {what}. {} s of at most {}; {look}.{restored}",
        shown.elapsed.as_secs(),
        verdict::in_words(account.plan.terms.most_time),
    )
}
