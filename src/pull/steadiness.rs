//! Whether a rate is steady, in the terms of SNIA's Solid State Storage Performance Test Specification.

use crate::model::Seconds;

/// A rate may leave its mean by this much in all (SNIA PTS 2.0.1, 2.1.23: excursion at most 20 % of the average).
const MOST_RANGE: f64 = 0.20;
/// The line of best fit may rise or fall by this much over the run (ibid.: slope excursion at most 10 %).
const MOST_SLOPE: f64 = 0.10;
/// Fewer seconds say nothing.
const LEAST: usize = 5;

/// How a rate moved over a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Largest less smallest value, as a share of the mean.
    pub range: f64,
    /// Rise of the line of best fit over the whole run, as a share of the mean; negative where it falls.
    pub slope: f64,
}

impl Steadiness {
    /// Whether both are within SNIA's bounds.
    pub fn is_steady(self) -> bool {
        self.range <= MOST_RANGE && self.slope.abs() <= MOST_SLOPE
    }
}

/// Of a run's seconds but the first, in which drives and CPUs wake up; `None` of fewer than five.
pub fn steadiness(seconds: &Seconds) -> Option<Steadiness> {
    let rates = seconds.rates.get(1..).filter(|rates| rates.len() >= LEAST)?;
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let (least, most) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), rate| (a.min(*rate), b.max(*rate)));
    let middle = (count - 1.0) / 2.0;
    let points = || rates.iter().enumerate().map(|(at, rate)| (at as f64 - middle, rate - mean));
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / points().map(|(x, _)| x * x).sum::<f64>();
    (mean > 0.0).then(|| Steadiness { range: (most - least) / mean, slope: slope * (count - 1.0) / mean })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    }
}
