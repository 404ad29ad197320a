//! A rate over the time of a run, with temperatures below its axis.

use std::{fmt::Write as _, time::Duration};

use crate::{
    pull::{Condition, Done},
    units::{BytesPerSecond, UnitSystem},
};

/// Rows of the plot.
const ROWS: usize = 6;
/// Columns of the labels beside it.
pub(crate) const AXIS: usize = 7;
/// Most columns of the plot, and the fewest that show anything.
const MOST: usize = 84;
const LEAST: usize = 20;
/// Tenths of a second from one label below the axis to the next, and the most steps of it.
const STEPS: [u32; 17] =
    [1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 600, 1200, 3000, 6000, 12_000, 36_000, 144_000];
const MOST_STEPS: u32 = 5;

/// Columns that a pause leaves blank: it takes no counted time, but the line is not joined across it.
const GAP: usize = 2;

/// A line of Braille dots, two by four to a character: `values` from left to right, zero at the bottom, `top` at the top, with a
/// gap at each of `pauses`, shares (0 to 1) of the width.
pub(crate) fn plot(values: &[f64], top: f64, columns: usize, rows: usize, pauses: &[f64]) -> Vec<String> {
    // The dots of a character, from left to right and top to bottom (Unicode, 2800 to 28ff).
    const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let (wide, high) = (2 * columns, 4 * rows);
    let mut cells = vec![vec![0_u32; columns]; rows];
    let mut before: Option<usize> = None;
    let gaps: Vec<usize> = pauses.iter().map(|share| height(*share, columns)).collect();
    let is_gap = |column: usize| gaps.iter().any(|gap| (*gap..gap + GAP).contains(&column));
    let drawn = if values.is_empty() || top <= 0.0 { 0 } else { wide };
    for x in 0..drawn {
        if is_gap(x / 2) {
            before = None;
            continue;
        }
        let value = values[x * values.len() / wide];
        let y = height(value / top, high - 1);
        let (from, to) = before.map_or((y, y), |before| (before.min(y), before.max(y)));
        for dot in from..=to {
            let row = high - 1 - dot;
            cells[row / 4][x / 2] |= DOTS[x % 2][row % 4];
        }
        before = Some(y);
    }
    let line = |row: Vec<u32>| row.into_iter().filter_map(|dots| char::from_u32(0x2800 + dots)).collect();
    cells.into_iter().map(line).collect()
}

/// `share` (0 to 1) of `most`, rounded.
fn height(share: f64, most: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to most")]
    let height = (share.clamp(0.0, 1.0) * most as f64).round() as usize;
    height.min(most)
}

/// Moments as shares of `whole`.
pub(crate) fn shares(moments: &[Duration], whole: Duration) -> Vec<f64> {
    moments.iter().map(|at| at.as_secs_f64() / whole.as_secs_f64().max(1e-9)).collect()
}

/// The rate of all targets over a run, at most `width` columns wide; empty where it is too short to show.
pub(super) fn text(
    done: &Done,
    step: usize,
    conditions: &[Option<Condition>],
    width: usize,
    units: UnitSystem,
) -> String {
    let columns = width.saturating_sub(AXIS).min(MOST);
    let rates = &done.seconds.rates;
    if columns < LEAST || rates.len() < 2 {
        return String::new();
    }
    let most = rates.iter().copied().fold(0.0, f64::max);
    let mut text = "Rate of all drives together over time:\n".to_owned();
    let pauses = shares(&done.seconds.pauses, done.step.time());
    for (row, line) in plot(rates, most, columns, ROWS, &pauses).into_iter().enumerate() {
        let share = 1.0 - row as f64 / ROWS as f64;
        let is_labelled = row % (ROWS / 2) == 0;
        let label = if is_labelled { number(units, share * most) } else { String::new() };
        let edge = if is_labelled { '┤' } else { '│' };
        let line = line.trim_end_matches('\u{2800}');
        let _ = writeln!(text, "{label:>width$} {edge}{line}", width = AXIS - 2);
    }
    let _ = writeln!(text, "{:>width$} └{}", "0", "─".repeat(columns), width = AXIS - 2);
    for line in below(done.step.time(), step, conditions, columns) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Time below the axis of a run of that length, and the temperature of the hottest drive then, where it is known.
pub(crate) fn below(
    whole: Duration,
    step: usize,
    conditions: &[Option<Condition>],
    columns: usize,
) -> Vec<String> {
    let ticks = ticks(whole);
    let last = ticks.len().saturating_sub(1);
    let decimals = usize::from(ticks.iter().any(|at| at.subsec_nanos() > 0));
    // The unit once, behind the last one.
    let second = |(index, at): (usize, &Duration)| {
        let unit = if index == last { " s" } else { "" };
        format!("{:.decimals$}{unit}", at.as_secs_f64())
    };
    let seconds: Vec<String> = ticks.iter().enumerate().map(second).collect();
    let places: Vec<usize> =
        ticks.iter().map(|at| height(at.as_secs_f64() / whole.as_secs_f64().max(1e-9), columns)).collect();
    let hottest = |at: &Duration| {
        let each = conditions.iter().flatten().filter_map(|one| one.celsius_at(step, *at));
        each.reduce(f64::max)
    };
    let celsius: Vec<Option<f64>> = ticks.iter().map(hottest).collect();
    let mut lines = vec![spread("", &seconds, &places, columns)];
    if celsius.iter().any(Option::is_some) {
        let words =
            |celsius: &Option<f64>| celsius.map_or_else(|| "-".to_owned(), |one| format!("{one:.0} °C"));
        lines.push(spread("hottest", &celsius.iter().map(words).collect::<Vec<_>>(), &places, columns));
    }
    lines
}

/// The number of a rate beside the axis with the first letter of its unit: `7.17G`.
pub(crate) fn number(units: UnitSystem, rate: f64) -> String {
    let rate = units.rate(BytesPerSecond(rate));
    let (number, unit) = rate.split_once(' ').unwrap_or((&rate, ""));
    format!("{number}{}", unit.chars().next().unwrap_or(' '))
}

/// Moments from the beginning of a run on, as far from each other as their labels say; the last one may be before its end.
fn ticks(whole: Duration) -> Vec<Duration> {
    let tenth = Duration::from_millis(100);
    let fits = |step: &&u32| whole <= tenth * **step * MOST_STEPS;
    let step = tenth * STEPS.iter().find(fits).copied().unwrap_or(u32::MAX / MOST_STEPS);
    (0..=MOST_STEPS).map(|tick| step * tick).take_while(|at| *at <= whole).collect()
}

/// Words below the axis, each centred at its place: the first begins at its left end, none goes beyond its right end.
fn spread(head: &str, words: &[String], places: &[usize], columns: usize) -> String {
    let mut line = format!("{head:<AXIS$}");
    for (index, (word, place)) in words.iter().zip(places).enumerate() {
        // The unit stands behind the middle of the number.
        let (number, long) = (word.trim_end_matches(" s").chars().count(), word.chars().count());
        let start = if index == 0 { AXIS } else { (AXIS + place).saturating_sub(number / 2) };
        let start = start.min((AXIS + columns).saturating_sub(long));
        let now = line.chars().count();
        line.push_str(&" ".repeat(start.saturating_sub(now)));
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fall_is_a_step_down_in_the_plot() {
        let lines = plot(&[8.0, 8.0, 2.0, 2.0], 8.0, 4, 2, &[]);
        assert_eq!(lines, ["⠉⠉⡇⠀", "⠀⠀⠓⠒"].map(str::to_owned).as_slice(), "{lines:?}");
    }

    #[test]
    fn a_pause_is_a_gap_in_the_line() {
        let blank = '\u{2800}';
        for (pauses, wanted) in [
            (&[][..], "----------"),
            (&[0.5], "-----  ---"),
            (&[0.2, 0.7], "--  ---  -"),
            (&[1.0], "----------"),
        ] {
            let lines = plot(&[4.0, 2.0, 4.0, 2.0], 4.0, 10, 1, pauses);
            let drawn: String = lines[0].chars().map(|c| if c == blank { ' ' } else { '-' }).collect();
            assert_eq!(drawn, wanted, "{pauses:?}: {lines:?}");
        }
    }

    #[test]
    fn labels_of_the_time_are_true_and_evenly_spaced() {
        for (seconds, wanted) in [
            (3, "0 1 2 3 s"),
            (5, "0 1 2 3 4 5 s"),
            (8, "0 2 4 6 8 s"),
            (7, "0 2 4 6 s"),
            (2, "0.0 0.5 1.0 1.5 2.0 s"),
            (15, "0 5 10 15 s"),
            (60, "0 15 30 45 60 s"),
            (3600, "0 1200 2400 3600 s"),
        ] {
            let line = below(Duration::from_secs(seconds), 0, &[], 60).remove(0);
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.join(" "), wanted, "{line}");
            assert!(line.chars().count() <= AXIS + 60, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_values_fill_the_plot(values in prop::collection::vec(0.0..1e10f64, 1..300), columns in 1usize..90) {
            let top = values.iter().copied().fold(1.0, f64::max);
            let lines = plot(&values, top, columns, ROWS, &[]);
            prop_assert_eq!(lines.len(), ROWS);
            for column in 0..columns {
                let is_drawn = |line: &String| line.chars().nth(column).is_some_and(|c| c != '\u{2800}');
                prop_assert!(lines.iter().any(is_drawn), "column {}", column);
            }
        }
    }
}
