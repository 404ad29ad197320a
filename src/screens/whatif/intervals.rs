//! Where the ratios lie: an axis with the margin around 1 and every arm's interval, and how the widest one shrank.

use ratatui::layout::Rect;

use super::arms::{colour, word};
use crate::{
    experiment::{
        Account,
        verdict::{base, change, percent},
    },
    model::{Effect, Verdict},
    screens::widgets::{
        graph::share_of,
        paint::{Brush, cells, fit, piece, width},
    },
    ui::theme::Meaning,
};

/// The least cells of a label with the blanks behind it.
const LABEL: u16 = 18;

/// The axis: logarithms of ratios from the left edge to the right one.
struct Axis {
    x: u16,
    width: u16,
    /// Cells of the labels before it.
    label: u16,
    low: f64,
    high: f64,
}

impl Axis {
    fn of(account: &Account, area: Rect) -> Self {
        let margin = account.plan.terms.margin.ln_1p();
        let ends = account.effects.iter().flat_map(|effect| [effect.low.ln(), effect.high.ln()]);
        let (mut low, mut high) = (-2.0 * margin, 2.0 * margin);
        for end in ends.filter(|end| end.is_finite()) {
            low = low.min(end * 1.1);
            high = high.max(end * 1.1);
        }
        // Labels are whole as long as the axis keeps half of the room.
        let longest = account.compared().map(|arm| cells(&account.plan.arms[arm].label) + 2).max();
        let label = longest.unwrap_or(0).min(area.width / 2).max(LABEL);
        Self { x: area.x + label, width: area.width.saturating_sub(label + 10), label, low, high }
    }

    /// The column of a ratio.
    fn column(&self, ratio: f64) -> u16 {
        let share = ((ratio.ln() - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.x + share_of(self.width.saturating_sub(1), share)
    }
}

pub(super) fn draw(account: &Account, panel: Rect, brush: &mut Brush<'_>) {
    if panel.height < 4 {
        return;
    }
    let title = [
        piece("Intervals", Meaning::Heading),
        piece(format!("  at {:.0} %", account.plan.terms.confidence * 100.0), Meaning::Quiet),
    ];
    let inner = brush.panel(panel, &title, &[]);
    let axis = Axis::of(account, inner);
    if axis.width < 12 {
        return;
    }
    let compared: Vec<usize> = account.compared().collect();
    let rows = inner.height.saturating_sub(2);
    for (y, arm) in (inner.y..inner.y + rows).zip(&compared) {
        row(brush, account, &axis, *arm, Rect { y, height: 1, ..inner });
    }
    let foot = inner.bottom() - 2;
    scale(brush, account, &axis, foot);
    shrinking(brush, account, axis.label, Rect { y: inner.bottom() - 1, height: 1, ..inner });
}

fn row(brush: &mut Brush<'_>, account: &Account, axis: &Axis, arm: usize, area: Rect) {
    let label = fit(&account.plan.arms[arm].label, axis.label - 2);
    brush.text(area.x, area.y, axis.label, &label, colour(account, arm));
    let margin = account.plan.terms.margin;
    let lines = brush.theme.style(Meaning::Lines);
    let (left, right) = (axis.column(1.0 / (1.0 + margin)), axis.column(1.0 + margin));
    for x in left..=right {
        brush.cell(x, area.y, '░', lines);
    }
    brush.cell(axis.column(1.0), area.y, '│', lines);
    let Some(effect) = account.effect(arm) else { return };
    let style = brush.theme.style(colour(account, arm));
    let (low, middle, high) = (axis.column(effect.low), axis.column(effect.ratio), axis.column(effect.high));
    for x in low..=high {
        brush.cell(x, area.y, '━', style);
    }
    if low < middle {
        brush.cell(low, area.y, '┣', style);
    }
    if high > middle {
        brush.cell(high, area.y, '┫', style);
    }
    brush.cell(middle, area.y, '●', style);
    if !account.has_ended() && effect.decided.is_none() {
        return;
    }
    let (word, meaning) = word(effect.verdict);
    brush.write_right(area.right(), area.y, &[piece(word, meaning)]);
}

fn scale(brush: &mut Brush<'_>, account: &Account, axis: &Axis, y: u16) {
    let line = brush.theme.style(Meaning::Lines);
    for x in axis.x..axis.x + axis.width {
        brush.cell(x, y, '─', line);
    }
    let one = axis.column(1.0);
    brush.cell(one, y, '┴', line);
    let at_one = format!(" 0 % = {} ", fit(base(account), axis.width.saturating_sub(10)));
    let wide = cells(&at_one);
    let x = (one + 1).min((axis.x + axis.width).saturating_sub(wide));
    brush.text(x, y, wide, &at_one, Meaning::Quiet);
    let low = format!("{} ", change(axis.low.exp(), None));
    if x > axis.x + 9 {
        brush.text(axis.x, y, 8, &low, Meaning::Quiet);
    }
    let high = format!(" {}", change(axis.high.exp(), None));
    if x + wide + 8 < axis.x + axis.width {
        brush.write_right(axis.x + axis.width, y, &[piece(high, Meaning::Quiet)]);
    }
}

/// What a verdict still needs, or why all comparisons are decided; the longest words first.
fn threshold(account: &Account) -> [String; 2] {
    let (margin, narrow) = (percent(account.plan.terms.margin), percent(account.narrow()));
    if !account.is_decided() {
        return [
            format!("needs a difference of {margin}, or an interval of ±{narrow}"),
            format!("needs {margin}, or ±{narrow}"),
        ];
    }
    let is_difference =
        |effect: &Effect| matches!(effect.verdict, Verdict::Faster | Verdict::Slower | Verdict::Invalid);
    let [all, none] = [true, false].map(|is| account.effects.iter().all(|one| is_difference(one) == is));
    let why = match (all, none) {
        (true, _) => format!("at least {margin}, and its interval excludes 0 %"),
        (_, true) => format!("within {margin} of no difference"),
        _ => format!("some differ by at least {margin}, the others by less"),
    };
    [format!("decided: {why}"), format!("decided at {margin}")]
}

/// How the widest interval shrank, round by round, and how narrow it must be.
fn shrinking(brush: &mut Brush<'_>, account: &Account, label: u16, area: Rect) {
    let mut line = vec![piece(format!("{:<wide$}", "widest", wide = usize::from(label)), Meaning::Quiet)];
    let room = usize::from((area.width + LABEL - label) / 9).saturating_sub(4).clamp(1, 12);
    let count = account.widths.len();
    if account.widths.is_empty() {
        line.push(piece("an interval needs four rounds", Meaning::Quiet));
    }
    for (index, width) in account.widths.iter().enumerate().skip(count.saturating_sub(room)) {
        let last = index + 1 == count;
        let meaning = if last { Meaning::Figure } else { Meaning::Quiet };
        line.push(piece(format!("±{}", percent(*width)), meaning));
        line.push(piece(if last { "" } else { " → " }, Meaning::Lines));
    }
    let room = area.width.saturating_sub(width(&line) + 3);
    let threshold = threshold(account);
    let words = threshold.iter().find(|words| cells(words) <= room);
    line.extend(words.map(|words| piece(format!("   {words}"), Meaning::Quiet)));
    brush.write(area.x, area.y, area.width, &line);
}
