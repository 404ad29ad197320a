//! Latencies that go with a rate and a depth: their mean is Little's law's, their shape log-normal with a tail.

use std::sync::LazyLock;

use crate::{engine::stats::histogram::within, model::LatencySummary};

/// Width of the distribution: the 99th percentile is about twice the median, as on flash near its limit.
const SIGMA: f64 = 0.3;

/// A summary of `count` reads with that mean, in nanoseconds.
pub(crate) fn summary(mean: f64, count: u64) -> LatencySummary {
    if count == 0 || !mean.is_finite() || mean <= 0.0 {
        return LatencySummary::default();
    }
    let outermost = 1.0 / (count as f64 + 1.0);
    LatencySummary {
        min: whole(at(mean, outermost)),
        max: whole(at(mean, 1.0 - outermost)),
        mean,
        stddev: mean * (SIGMA.powi(2).exp() - 1.0).sqrt(),
        count,
        percentiles: LatencySummary::PERCENTS
            .into_iter()
            .map(|percent| {
                // Few reads have no rare ones: a percentile beyond the last read is that read.
                let share = (percent / 100.0).clamp(outermost, 1.0 - outermost);
                (percent, whole(at(mean, share)))
            })
            .collect(),
        within: within(quantiles(mean, count)),
    }
}

/// Quantiles of half a percent each: latency and count.
fn quantiles(mean: f64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let each = count as f64 / f64::from(QUANTILES);
    let (mut below, quantiles) = (0, FACTORS.iter().zip(1..));
    quantiles.map(move |(factor, quantile)| {
        // Rounded as a sum, so that all of them are `count`.
        let reads = whole(each * f64::from(quantile)) - below;
        below += reads;
        (whole(mean * factor), reads)
    })
}

const QUANTILES: u32 = 200;

/// [`factor`] of the middle of each quantile: a demo asks for them many times a second.
static FACTORS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (0..QUANTILES).map(|quantile| factor((f64::from(quantile) + 0.5) / f64::from(QUANTILES))).collect()
});

fn at(mean: f64, share: f64) -> f64 {
    mean * factor(share)
}

/// A latency over the mean.
fn factor(share: f64) -> f64 {
    (SIGMA * normal_quantile(share) - SIGMA.powi(2) / 2.0).exp()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds of a read, positive"
)]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

/// The standard normal distribution's quantile, good to 4.5e-4 (Abramowitz and Stegun, formula 26.2.23).
fn normal_quantile(share: f64) -> f64 {
    let tail = share.min(1.0 - share).max(1e-300);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 0.010_328_f64.mul_add(t, 0.802_853).mul_add(t, 2.515_517);
    let below = 0.001_308_f64.mul_add(t, 0.189_269).mul_add(t, 1.432_788).mul_add(t, 1.0);
    let quantile = t - above / below;
    if share < 0.5 { -quantile } else { quantile }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_the_textbook_one() {
        for (share, quantile) in
            [(0.5, 0.0), (0.841_345, 1.0), (0.975, 1.959_96), (0.999_9, 3.719_02), (0.025, -1.959_96)]
        {
            assert!((normal_quantile(share) - quantile).abs() < 1e-3, "{share}: {}", normal_quantile(share));
        }
    }

    #[test]
    fn percentiles_ascend_between_the_smallest_and_the_largest() {
        for count in [1, 2, 100, 1_000_000_000] {
            let summary = summary(71_000.0, count);
            let values: Vec<u64> = summary.percentiles.iter().map(|(_, ns)| *ns).collect();
            assert!(values.is_sorted());
            assert!(summary.min <= values[0] && *values.last().unwrap() <= summary.max, "{summary:?}");
            assert_eq!((summary.count, values.len()), (count, LatencySummary::PERCENTS.len()));
        }
        assert_eq!(summary(71_000.0, 0), LatencySummary::default());
        let median = summary(71_000.0, 1000).percentile(50.0).unwrap();
        assert!((60_000..71_000).contains(&median));
    }
}
