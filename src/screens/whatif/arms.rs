//! The arms side by side: the figure of every round as a bar, the middle one as a number, what it costs beside it.

use ratatui::layout::Rect;

use crate::{
    experiment::{
        Account, Phase, Run,
        verdict::{base, change, short},
    },
    model::{Effect, Verdict},
    screens::widgets::{
        paint::{Brush, Piece, cells, fit, inner, piece, simulated, whole_parts, width},
        scroll::{self, kept_in_sight, out_of_sight},
    },
    ui::{Shared, experiments::Progress, theme::Meaning},
    units::Micros,
};

/// Eighths of a cell, from below.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of an arm's row: label, curve, figure, CPU, latency, ratio.
struct Columns {
    label: u16,
    curve: u16,
    figure: u16,
    cost: u16,
    ratio: u16,
}

/// Cells of the mark of arms out of sight in the rule of the title.
const MARK: u16 = 14;

/// The place of the arms' rows in their panel: below the headings.
fn rows(panel: Rect, boxed: bool) -> Rect {
    let inner = inner(panel, boxed);
    Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner }
}

/// Rows of each arm, and how many arms have room.
fn fitting(account: &Account, rows: Rect) -> (u16, u16) {
    let arms = u16::try_from(account.arms.len()).unwrap_or(u16::MAX).max(1);
    let each = (rows.height / arms).max(1);
    (each, rows.height / each)
}

/// How many arms are in sight, and the first of them: the running one is among them.
pub(super) fn seen(account: &Account, panel: Rect, top: usize, boxed: bool) -> (u16, usize) {
    let (_, seen) = fitting(account, rows(panel, boxed));
    let count = account.arms.len();
    let top = scroll::scrolled(top, 0, count, seen);
    let running = match account.phase {
        Phase::SettingUp(at) | Phase::Running(at) | Phase::Restoring(at) => Some(at),
        Phase::Ended => None,
    };
    (seen, running.map_or(top, |at| kept_in_sight(top, at, count, seen)))
}

pub(super) fn draw(shared: &Shared, shown: &Progress, (panel, top): (Rect, usize), brush: &mut Brush<'_>) {
    let account = &shown.account;
    let (seen, top) = seen(account, panel, top, brush.boxed);
    let hidden = out_of_sight(top, account.arms.len(), seen);
    let mark = if hidden == (0, 0) || brush.boxed { 0 } else { MARK };
    let compared = || account.plan.is_custom().then(|| account.plan.compared()).flatten();
    let subject = compared().unwrap_or_else(|| account.plan.subject());
    let note = simulated(account.plan.simulated);
    let taken = 2 + mark + if note.is_empty() { 0 } else { width(note) + 3 };
    let room = brush.title_room(panel.width).saturating_sub(taken);
    let row = account.plan.experiment;
    // The question about arms of the user's own says less than what they are.
    let is_long = account.plan.is_custom() && cells(row.question) + cells(&subject) > room;
    let question = if is_long { row.id.0 } else { row.question };
    let subject = whole_parts(&subject, room.saturating_sub(cells(question)));
    // One arm alone would stand for all of them.
    let is_partial = account.plan.is_custom() && subject.split(", ").count() <= account.plan.arms.len();
    let subject = if is_partial { subject.split(", ").next().unwrap_or_default() } else { subject };
    let subject = if subject.is_empty() { String::new() } else { format!("  {subject}") };
    let title = [piece(question, Meaning::Heading), piece(subject, Meaning::Quiet)];
    let inner = brush.panel(panel, &title, note);
    let columns = columns(account, inner.width);
    head(brush, inner, account, &columns);
    let rows = rows(panel, brush.boxed);
    let (each, _) = fitting(account, rows);
    let most = account
        .arms
        .iter()
        .flat_map(|arm| arm.runs.iter().map(|run| run.value))
        .chain(shown.now)
        .fold(0.0, f64::max);
    for (place, index) in (0..seen).zip(top..account.arms.len()) {
        let place = Rect { y: rows.y + place * each, height: each, ..rows };
        arm(shared, brush, shown, index, place, &columns, most);
    }
    scroll::mark(brush, panel, scroll::ROWS, hidden);
}

fn columns(account: &Account, width: u16) -> Columns {
    // The settings of an arm of the user's own are its name.
    let most = if width >= 100 { 40 } else { 24 };
    let label = labels(account).iter().map(|label| cells(label)).max().unwrap_or(0).clamp(4, most) + 3;
    let cost = if width >= 100 { 26 } else { 0 };
    let (figure, ratio) = (13, 33);
    let curve = width.saturating_sub(label + figure + cost + ratio).max(8);
    Columns { label, curve, figure, cost, ratio }
}

/// The labels of the arms; behind those of the user's own what they differ in.
fn labels(account: &Account) -> Vec<String> {
    let arms = account.plan.arms.iter().map(|arm| arm.label.clone());
    if !account.plan.is_custom() {
        return arms.collect();
    }
    let differences = account.plan.differences();
    arms.zip(differences).map(|(label, words)| format!("{label} {words}").trim_end().to_owned()).collect()
}

fn head(brush: &mut Brush<'_>, inner: Rect, account: &Account, columns: &Columns) {
    let mut x = inner.x + columns.label;
    let every = if columns.curve > 11 { "every round" } else { "rounds" };
    brush.text(x, inner.y, columns.curve, every, Meaning::Quiet);
    x += columns.curve;
    brush.write_right(x + columns.figure - 1, inner.y, &[piece("median", Meaning::Quiet)]);
    x += columns.figure;
    if columns.cost > 0 {
        brush.text(x, inner.y, columns.cost, "    CPU/read        p99", Meaning::Quiet);
        x += columns.cost;
    }
    let text = fit(&format!("  vs {}", base(account)), columns.ratio);
    brush.text(x, inner.y, columns.ratio, &text, Meaning::Quiet);
}

fn arm(
    shared: &Shared,
    brush: &mut Brush<'_>,
    shown: &Progress,
    index: usize,
    area: Rect,
    columns: &Columns,
    most: f64,
) {
    let account = &shown.account;
    let is_now = matches!(account.phase, Phase::SettingUp(at) | Phase::Running(at) | Phase::Restoring(at) if at == index);
    let y = area.bottom() - 1;
    let mark = if is_now { piece("▸ ", Meaning::Brand) } else { piece("  ", Meaning::Text) };
    let label = labels(account).swap_remove(index);
    let label = piece(fit(&label, columns.label - 3), colour(account, index));
    brush.write(area.x, y, columns.label, &[mark, label]);
    let mut x = area.x + columns.label;
    if let Some(why) = &account.arms[index].left_out {
        let text = fit(&format!("left out: {why}"), area.right().saturating_sub(x));
        brush.text(x, y, area.right().saturating_sub(x), &text, Meaning::Warning);
        return;
    }
    // The runs that warm up are in no round.
    let is_counted = is_now && account.round > 0 && matches!(account.phase, Phase::Running(_));
    let now = shown.now.filter(|_| is_counted);
    let curve = Rect { x, y: area.y, width: columns.curve.saturating_sub(1), height: area.height };
    bars(brush, curve, &account.arms[index].runs, now, most, colour(account, index));
    x += columns.curve;
    let middle = account.figure(index, |run| Some(run.value)).or(now);
    let text = middle.map_or_else(|| "-".to_owned(), |value| short(account.plan.metric, value, shared.units));
    brush.write_right(x + columns.figure - 1, y, &[piece(text, Meaning::Figure)]);
    x += columns.figure;
    if columns.cost > 0 {
        let time = |of: fn(&Run) -> Option<f64>| {
            account.figure(index, of).map_or_else(|| "-".to_owned(), |ns| Micros(ns / 1e3).to_string())
        };
        brush.write_right(x + 12, y, &[piece(time(|run| run.cpu_ns_per_io), Meaning::Text)]);
        brush.write_right(x + 23, y, &[piece(time(|run| run.latency_p99), Meaning::Text)]);
        x += columns.cost;
    }
    let room = columns.ratio.min(area.right().saturating_sub(x));
    let forms = ratio(account, index);
    let form = forms.iter().find(|form| width(form) <= room).or(forms.last());
    brush.write(x, y, room, form.map_or(&[], Vec::as_slice));
}

/// `-54.0 % [-54.1, -53.9] worse`, and in fewer words.
fn ratio(account: &Account, arm: usize) -> Vec<Vec<Piece>> {
    let quiet = |words: &[&str]| words.iter().map(|text| vec![piece(*text, Meaning::Quiet)]).collect();
    if account.plan.arms[arm].against.is_empty() {
        return quiet(&["  baseline"]);
    }
    let Some(effect) = account.effect(arm) else { return quiet(&["  too few rounds", "  too few"]) };
    let is_decided = account.has_ended() || effect.decided.is_some();
    let verdict =
        is_decided.then(|| word(effect.verdict)).map(|(word, meaning)| piece(format!(" {word}"), meaning));
    let figure =
        |interval| vec![piece("  ", Meaning::Text), piece(change(effect.ratio, interval), Meaning::Figure)];
    let (whole, brief) = (figure(Some((effect.low, effect.high))), figure(None));
    let with = |figure: &[Piece]| figure.iter().cloned().chain(verdict.clone()).collect();
    vec![with(&whole), whole, with(&brief), brief]
}

/// The colours of arms: those of curves that no theme has green.
const COLOURS: [usize; 9] = [0, 2, 3, 4, 5, 6, 9, 10, 11];

/// The colour of an arm: green is that of the one that wins, at its end.
pub(super) fn colour(account: &Account, arm: usize) -> Meaning {
    let differs = |effect: &Effect| matches!(effect.verdict, Verdict::Faster | Verdict::Slower);
    let has_winner = account.has_ended() && account.effects.iter().any(differs);
    if has_winner && account.winner() == Some(arm) {
        return Meaning::Good;
    }
    Meaning::Curve(COLOURS[arm % COLOURS.len()])
}

/// A verdict in a word, with its style.
pub(super) const fn word(verdict: Verdict) -> (&'static str, Meaning) {
    let meaning = match verdict {
        Verdict::Faster => Meaning::Good,
        Verdict::Slower => Meaning::Warning,
        Verdict::NoDifference | Verdict::SmallerThanMargin => Meaning::Text,
        Verdict::Inconclusive => Meaning::Quiet,
        Verdict::Invalid => Meaning::Problem,
    };
    (verdict.word(), meaning)
}

/// A bar for every round, the newest on the right, over the scale that all arms share; the run in progress is the last one.
fn bars(brush: &mut Brush<'_>, area: Rect, runs: &[Run], now: Option<f64>, most: f64, meaning: Meaning) {
    if most <= 0.0 || area.width == 0 {
        return;
    }
    let values: Vec<f64> = runs.iter().map(|run| run.value).chain(now).collect();
    let room = usize::from(area.width);
    // Few rounds are drawn wide, high ones wider.
    let widest = (2 * usize::from(area.height)).max(6);
    let wide = (room / values.len().max(8)).clamp(1, widest);
    let shown = &values[values.len().saturating_sub(room / wide)..];
    // The highest bar leaves an eighth of air below the arm above it.
    let levels = f64::from(area.height) * 8.0 - 1.0;
    for (index, value) in shown.iter().enumerate() {
        let is_now = now.is_some() && index + 1 == shown.len();
        let style = brush.theme.style(if is_now { Meaning::Quiet } else { meaning });
        let level = (value / most * levels).round().clamp(1.0, levels);
        for row in 0..area.height {
            let above = level - f64::from(row) * 8.0;
            if above < 1.0 {
                break;
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 8")]
            let symbol = EIGHTHS[above.min(8.0) as usize - 1];
            let filled = if wide > 1 { wide - 1 } else { 1 };
            for step in 0..filled {
                let x = area.x + u16::try_from(index * wide + step).unwrap_or(u16::MAX);
                if x < area.right() {
                    brush.cell(x, area.bottom() - 1 - row, symbol, style);
                }
            }
        }
    }
}
