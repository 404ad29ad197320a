//! The verdict in words; while it runs, what is going on.

use ratatui::layout::Rect;

use super::{WhatIf, arms::word};
use crate::{
    experiment::{Account, Phase, verdict},
    model::Verdict,
    screens::widgets::paint::{Brush, Piece, piece, wrap},
    text::Label,
    ui::{Shared, experiments::Progress, theme::Meaning},
    units::counted,
};

/// How many rows the words have inside their panel: the last one says what keys do, where there is room for it.
pub(super) fn rows(inner: Rect) -> u16 {
    inner.height - u16::from(inner.height >= 3)
}

pub(super) fn draw(state: &WhatIf, shared: &Shared, shown: &Progress, panel: Rect, brush: &mut Brush<'_>) {
    let account = &shown.account;
    let title = if account.has_ended() { "Verdict" } else { "So far" };
    let inner = brush.panel(panel, &[piece(title, Meaning::Heading)], &[]);
    let rows = rows(inner);
    let lines = lines(shared, shown, inner.width);
    let top = state.words_top.min(lines.len().saturating_sub(usize::from(rows)));
    for (y, line) in (inner.y..inner.y + rows).zip(lines.iter().skip(top)) {
        brush.write(inner.x, y, inner.width, line);
    }
    let hidden = lines.len().saturating_sub(top + usize::from(rows));
    if rows < inner.height {
        brush.write(inner.x, inner.bottom() - 1, inner.width, &keys(state, shared, account));
    }
    if hidden > 0 {
        let word = format!(" ↓ {hidden} more ");
        brush.write_right(inner.right(), inner.bottom() - 1, &[piece(word, Meaning::Quiet)]);
    }
}

fn keys(state: &WhatIf, shared: &Shared, account: &Account) -> Vec<Piece> {
    let mut keys: Vec<(&str, String)> = Vec::new();
    if account.has_ended() {
        if !state.kept.is_empty() {
            keys.push(("b", "undo what was kept".to_owned()));
        } else if let Some((_, winner)) = shared.experiments.winner() {
            keys.push(("K", format!("keep {}", account.plan.arms[winner].label)));
        }
        keys.push(("m", "more rounds".to_owned()));
        if let Some(at) = shared.experiments.done_at {
            let word = if shared.experiments.posted.contains(&at) {
                "remove from the sheet"
            } else {
                "add to the sheet"
            };
            keys.push(("s", word.to_owned()));
        }
        keys.push(("Esc", "back".to_owned()));
    } else {
        keys.push(("x", "stop it; every setting is restored".to_owned()));
    }
    let pieces = keys
        .into_iter()
        .flat_map(|(key, word)| [piece(key, Meaning::Key), piece(format!(" {word}    "), Meaning::Quiet)]);
    pieces.collect()
}

pub(super) fn lines(shared: &Shared, shown: &Progress, width: u16) -> Vec<Vec<Piece>> {
    let account = &shown.account;
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    let mut add = |mark: Piece, text: &str, meaning: Meaning| {
        for (index, text) in wrap(text, width.saturating_sub(2)).into_iter().enumerate() {
            let lead = if index == 0 { mark.clone() } else { piece("  ", Meaning::Text) };
            lines.push(vec![lead, piece(text, meaning)]);
        }
    };
    if !account.has_ended() {
        add(piece("  ", Meaning::Text), &going_on(shared, shown), Meaning::Text);
    }
    for effect in &account.effects {
        let (_, meaning) = word(effect.verdict);
        let mark = match effect.verdict {
            Verdict::Faster => "▲ ",
            Verdict::Slower => "▼ ",
            Verdict::NoDifference => "= ",
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
        let ending = verdict::ending(account).map(|words| Label::new(&words).to_string());
        let text = format!("{} {}", ending.unwrap_or_default(), verdict::restoration(account));
        let meaning = if account.restored == Some(false) { Meaning::Problem } else { Meaning::Quiet };
        add(piece("  ", Meaning::Text), text.trim(), meaning);
    }
    lines
}

/// `Round 3: none is read. 12 s of about 10 min at most; 8 rounds at least.`
fn going_on(shared: &Shared, shown: &Progress) -> String {
    let account = &shown.account;
    let label = |arm: usize| account.plan.arms[arm].label.as_str();
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
    format!(
        "{round}: {what}. {} s of at most {}; {} of {} rounds, then until the interval is narrow.",
        shown.elapsed.as_secs(),
        verdict::in_words(account.plan.terms.most_time),
        account.rounds,
        account.plan.terms.least_rounds,
    )
}
