//! The latency heat map: time to the right, latency upwards by powers of two, shade for how many reads took that long.

use std::{collections::BTreeMap, time::Duration};

use ratatui::layout::Rect;

use super::{
    paint::{Brush, piece},
    words::nanoseconds,
};
use crate::{
    model::LatencySummary,
    ui::{test::Test, theme::Meaning},
};

const SHADES: [(f64, char); 4] = [(0.30, '█'), (0.10, '▓'), (0.02, '▒'), (0.000_5, '░')];
const AXIS: u16 = 8;

/// Draws the latencies of a test as they were up to `now`.
pub fn draw(test: &Test, brush: &mut Brush<'_>, area: Rect, now: Duration) {
    if area.height < 3 || area.width < AXIS + 8 {
        return;
    }
    let plot = Rect { x: area.x + AXIS, width: area.width - AXIS, height: area.height - 1, ..area };
    let Some((lowest, highest)) = range(test) else { return };
    let rows = usize::from(plot.height);
    // As many powers of two to a row as it takes for all to fit.
    let per_row = (highest - lowest + 1).div_ceil(rows).max(1);
    let columns = shares(test, plot, now);
    let line = brush.theme.style(Meaning::Lines);
    for (row, y) in (plot.top()..plot.bottom()).enumerate() {
        let first = lowest + (rows - 1 - row) * per_row;
        brush.cell(plot.x - 1, y, '│', line);
        if first <= highest {
            let edge = (1u64 << first.min(62)) as f64;
            brush.write_right(plot.x - 1, y, &[piece(format!("{} ", nanoseconds(edge)), Meaning::Quiet)]);
        }
        for (column, x) in (plot.left()..plot.right()).enumerate() {
            let Some(buckets) = columns.get(&column) else { continue };
            let share: f64 = (first..first + per_row).filter_map(|bucket| buckets.get(&bucket)).sum();
            if let Some((_, shade)) = SHADES.iter().find(|(least, _)| share >= *least) {
                let meaning = if share >= 0.10 { Meaning::Good } else { Meaning::Load };
                brush.cell(x, y, *shade, brush.theme.style(meaning));
            }
        }
    }
    legend(brush, area, plot);
}

fn legend(brush: &mut Brush<'_>, area: Rect, plot: Rect) {
    let y = area.bottom() - 1;
    let line = brush.theme.style(Meaning::Lines);
    brush.cell(plot.x - 1, y, '└', line);
    for x in plot.left()..plot.right() {
        brush.cell(x, y, '─', line);
    }
    brush.write_right(plot.right() - 1, y, &[piece(" ░ 0.05 %  ▒ 2 %  ▓ 10 %  █ 30 % ", Meaning::Quiet)]);
}

/// The lowest and highest power of two seen.
fn range(test: &Test) -> Option<(usize, usize)> {
    let all = || test.heat.iter().flat_map(|(_, latencies)| latencies);
    let lowest = all().filter_map(|l| l.percentiles.first()).map(|(_, ns)| bucket(*ns)).min()?;
    let highest = all().filter_map(|l| l.percentiles.last()).map(|(_, ns)| bucket(*ns)).max()?;
    Some((lowest, highest))
}

fn bucket(nanoseconds: u64) -> usize {
    nanoseconds.max(1).ilog2() as usize
}

/// For every column of the plot the share of reads in each power of two, worked out from percentiles.
fn shares(test: &Test, plot: Rect, now: Duration) -> BTreeMap<usize, BTreeMap<usize, f64>> {
    let width = usize::from(plot.width);
    let mut columns: BTreeMap<usize, (BTreeMap<usize, f64>, f64)> = BTreeMap::new();
    for (at, latencies) in &test.heat {
        let back = now.saturating_sub(*at).as_secs_f64() / test.window().as_secs_f64() * width as f64;
        let Some(column) = (0..width).find(|column| (*column as f64) >= back.floor()).map(|b| width - 1 - b)
        else {
            continue;
        };
        let slot = columns.entry(column).or_default();
        for latency in latencies {
            let weight = latency.count as f64;
            slot.1 += weight;
            spread(latency, weight, &mut slot.0);
        }
    }
    let scaled = |(buckets, all): (BTreeMap<usize, f64>, f64)| {
        buckets.into_iter().map(|(bucket, weight)| (bucket, weight / all)).collect()
    };
    columns.into_iter().map(|(column, slot)| (column, scaled(slot))).collect()
}

/// Between two percentiles lie so many percent of the reads, spread evenly over the powers of two between their values.
fn spread(latency: &LatencySummary, weight: f64, into: &mut BTreeMap<usize, f64>) {
    let mut before = (0.0, latency.min);
    for (percent, value) in latency.percentiles.iter().copied().chain([(100.0, latency.max)]) {
        let (from, to) = (bucket(before.1), bucket(value.max(before.1)));
        let part = weight * (percent - before.0) / 100.0 / (to - from + 1) as f64;
        for bucket in from..=to {
            *into.entry(bucket).or_default() += part;
        }
        before = (percent, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spread_adds_up_to_what_was_counted() {
        let percentiles = LatencySummary::PERCENTS.iter().zip(0u64..).map(|(p, n)| (*p, 10_000 + n * 2_000));
        let latency = LatencySummary {
            min: 9_000,
            max: 900_000,
            count: 1000,
            percentiles: percentiles.collect(),
            ..LatencySummary::default()
        };
        let mut buckets = BTreeMap::new();
        spread(&latency, 1000.0, &mut buckets);
        assert!((buckets.values().sum::<f64>() - 1000.0).abs() < 1e-6);
        assert!(buckets.keys().all(|bucket| (13..=19).contains(bucket)));
    }
}
