//! Whether a rate is steady, in the terms of SNIA's Solid State Storage Performance Test Specification; and where it fell.

use std::time::Duration;

use crate::model::Seconds;

/// A rate may leave its mean by this much in all (SNIA PTS 2.0.1, 2.1.23: excursion at most 20 % of the average).
const MOST_RANGE: f64 = 0.20;
/// The line of best fit may rise or fall by this much over the run (ibid.: slope excursion at most 10 %).
const MOST_SLOPE: f64 = 0.10;
/// Fewer values say nothing.
const LEAST: usize = 5;
/// A fall leaves so many values before and after it: a dip of one or two seconds is none.
const BEFORE: usize = 2;
const AFTER: usize = 3;
/// Less is no fall.
const LEAST_FALL: f64 = 0.10;

/// How a rate moved over a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Largest less smallest value, as a share of the mean.
    pub range: f64,
    /// Rise of the line of best fit over the whole run, as a share of the mean; negative where it falls.
    pub slope: f64,
    /// Where an unsteady rate fell to a lower level.
    pub fall: Option<Fall>,
}

/// A rate that fell, and stayed low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// Median before, bytes per second.
    pub from: f64,
    /// Median after, bytes per second.
    pub to: f64,
    /// Time since the beginning of the run.
    pub after: Duration,
}

impl Steadiness {
    /// Whether both are within SNIA's bounds.
    pub fn is_steady(self) -> bool {
        self.range <= MOST_RANGE && self.slope.abs() <= MOST_SLOPE
    }
}

/// Of a run's values but the first, in which drives and CPUs wake up; `None` of fewer than five.
pub fn steadiness(seconds: &Seconds) -> Option<Steadiness> {
    let rates = seconds.rates.get(1..).filter(|rates| rates.len() >= LEAST)?;
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let (least, most) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
    let middle = (count - 1.0) / 2.0;
    let points = || rates.iter().enumerate().map(|(at, rate)| (at as f64 - middle, rate - mean));
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / points().map(|(x, _)| x * x).sum::<f64>();
    (mean > 0.0).then(|| {
        let whole =
            Steadiness { range: (most - least) / mean, slope: slope * (count - 1.0) / mean, fall: None };
        let fall = if whole.is_steady() { None } else { fall(rates, seconds.step) };
        Steadiness { fall, ..whole }
    })
}

/// The fall between the two levels that fit the values best; `rates` begin one step after the run.
fn fall(rates: &[f64], step: u32) -> Option<Fall> {
    let all: f64 = rates.iter().sum();
    let count = rates.len() as f64;
    let mut sum = rates.iter().take(BEFORE - 1).sum::<f64>();
    let mut best: Option<(f64, usize)> = None;
    for at in BEFORE..=rates.len().checked_sub(AFTER)? {
        sum += rates[at - 1];
        let before = at as f64;
        // The more the two means explain, the smaller the squares that are left.
        let explained = sum * sum / before + (all - sum) * (all - sum) / (count - before);
        if best.is_none_or(|(most, _)| explained > most) {
            best = Some((explained, at));
        }
    }
    let (_, at) = best?;
    let (from, to) = (median(&rates[..at]), median(&rates[at..]));
    let after = Duration::from_secs(u64::from(step) * (at as u64 + 1));
    (to < (1.0 - LEAST_FALL) * from).then_some(Fall { from, to, after })
}

fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 0 => f64::midpoint(sorted[upper - 1], sorted[upper]),
        _ => sorted[upper],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::RunState;

    /// Rates in MB/s.
    fn of(rates: &[u64]) -> Option<Steadiness> {
        let mut seconds = Seconds::default();
        let mut bytes = 0;
        for (second, rate) in (1..).zip(rates) {
            bytes += rate * 1_000_000;
            seconds.take_bytes(RunState::Running, Duration::from_secs(second), bytes);
        }
        steadiness(&seconds)
    }

    #[test]
    fn a_drive_that_falls_is_unsteady_and_the_first_second_does_not_count() {
        assert_eq!(of(&[0, 7000, 7000, 7000, 7000]), None, "too short");
        let steady = of(&[0, 7000, 7100, 7000, 6900, 7000]).unwrap();
        assert!(steady.is_steady() && (steady.range - 0.2 / 7.0).abs() < 1e-9, "{steady:?}");
        let falls = of(&[7100, 7100, 7100, 7100, 3200, 3200, 3200]).unwrap();
        assert!(!falls.is_steady() && falls.slope < -0.5 && falls.range > 0.7, "{falls:?}");
        let drifts = of(&[9000, 1000, 1030, 1060, 1090, 1120]).unwrap();
        assert!(!drifts.is_steady() && drifts.range < MOST_RANGE, "slope alone: {drifts:?}");
        assert_eq!(drifts.fall, None, "it rises");
    }

    #[test]
    fn a_throttled_drive_falls_from_one_rate_to_another_at_a_time() {
        let rates = [[7100; 48].as_slice(), &[3200; 12]].concat();
        let fall = of(&rates).unwrap().fall.unwrap();
        assert_eq!(fall, Fall { from: 7.1e9, to: 3.2e9, after: Duration::from_secs(48) });
        // It recovers now and then, as drives do that throttle by turns.
        let rates: Vec<u64> = (0..60).map(|at| if at < 20 || at % 5 == 0 { 7100 } else { 3200 }).collect();
        let fall = of(&rates).unwrap().fall.unwrap();
        assert!(
            (fall.from, fall.to) == (7.1e9, 3.2e9) && (20..23).contains(&fall.after.as_secs()),
            "{fall:?}"
        );
        let dips = of(&[7000, 7000, 7000, 7000, 7000, 3000, 7000, 7000]).unwrap();
        assert!(!dips.is_steady() && dips.fall.is_none(), "a dip is no fall: {dips:?}");
    }

    proptest! {
        #[test]
        fn a_step_is_found_where_it_is(
            high in 1000u64..9000, share in 20u64..80, before in 4usize..60, after in 4usize..60, noise in 0u64..20,
        ) {
            let low = high * share / 100;
            let wave = |at: usize| if at.is_multiple_of(2) { noise } else { 0 };
            let rates: Vec<u64> =
                (0..before + after).map(|at| if at < before { high } else { low } + wave(at)).collect();
            let fall = of(&rates).unwrap().fall.unwrap();
            prop_assert_eq!(fall.after, Duration::from_secs(before as u64));
            prop_assert!((fall.from - high as f64 * 1e6).abs() <= 2e7 && (fall.to - low as f64 * 1e6).abs() <= 2e7);
        }

        #[test]
        fn any_rates_are_judged_and_a_fall_lies_within_them(rates in prop::collection::vec(0u64..10_000, 0..300)) {
            let Some(steadiness) = of(&rates) else { return Ok(()) };
            prop_assert!(steadiness.range >= 0.0 && steadiness.slope.is_finite());
            if let Some(Fall { from, to, after }) = steadiness.fall {
                prop_assert!(to < from && !steadiness.is_steady());
                prop_assert!(after >= Duration::from_secs(2) && after.as_secs() < rates.len() as u64);
            }
        }

        #[test]
        fn a_rate_that_only_rises_never_falls(rates in prop::collection::vec(1u64..1000, 6..200)) {
            let rising: Vec<u64> = rates.iter().scan(1000, |sum, rate| { *sum += rate; Some(*sum) }).collect();
            prop_assert_eq!(of(&rising).unwrap().fall, None);
        }
    }
}
