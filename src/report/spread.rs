//! 95 % intervals of means, and a rate over time as a line of blocks.

use crate::experiment::statistics;

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub middle: f64,
    pub low: f64,
    pub high: f64,
}

/// Minimum number of values for an interval.
const LEAST: usize = 4;

/// The mean of values with its 95 % interval by Student's t; `None` of fewer than four.
pub fn mean(values: &[f64]) -> Option<Interval> {
    let (middle, error) = mean_and_error(values)?;
    let reach = student(values.len()) * error;
    Some(Interval { middle, low: middle - reach, high: middle + reach })
}

/// Mean of `after` over mean of `before`, with its 95 % interval on the logarithm (the delta method, with the smaller of
/// both numbers of values for Student's t); `None` where one has too few values or none above 0.
pub fn ratio(before: &[f64], after: &[f64]) -> Option<Interval> {
    let ((old, old_error), (new, new_error)) = (mean_and_error(before)?, mean_and_error(after)?);
    if old <= 0.0 || new <= 0.0 {
        return None;
    }
    let error = ((old_error / old).powi(2) + (new_error / new).powi(2)).sqrt();
    let reach = student(before.len().min(after.len())) * error;
    let middle = new / old;
    Some(Interval { middle, low: middle * (-reach).exp(), high: middle * reach.exp() })
}

fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((mean, (variance / count).sqrt()))
}

/// The 97.5 % quantile of Student's t for one degree of freedom less than there are values.
fn student(values: usize) -> f64 {
    statistics::student(0.95, u32::try_from(values - 1).unwrap_or(u32::MAX))
}

/// Values as at most `most` blocks of eight heights, the highest value being full; empty for none.
pub fn blocks(values: &[f64], most: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.iter().copied().fold(0.0, f64::max);
    if top <= 0.0 || most == 0 {
        return String::new();
    }
    let per_block = values.len().div_ceil(most).max(1);
    let height = |chunk: &[f64]| {
        let share = chunk.iter().sum::<f64>() / chunk.len() as f64 / top;
        let full = (0..HEIGHTS.len()).rev().find(|step| share * 8.0 >= *step as f64 + 0.5);
        HEIGHTS[full.unwrap_or(0)]
    };
    values.chunks(per_block).map(height).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interval_of_a_known_sample_is_the_textbooks() {
        // Mean 10, standard deviation 2.582 (n - 1), standard error 1.2910, t for 3 degrees of freedom 3.182446.
        let interval = mean(&[7.0, 9.0, 11.0, 13.0]).unwrap();
        assert!((interval.middle - 10.0).abs() < 1e-9);
        assert!((interval.low - (10.0 - 3.182_446 * 1.290_994)).abs() < 1e-4, "{interval:?}");
        assert_eq!(mean(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn a_ratio_knows_what_it_cannot_tell() {
        let (slow, fast) = ([100.0, 101.0, 99.0, 100.0], [80.0, 81.0, 79.0, 80.0]);
        let interval = ratio(&slow, &fast).unwrap();
        assert!((interval.middle - 0.8).abs() < 1e-9 && interval.low > 0.77 && interval.high < 0.83);
        assert_eq!(ratio(&[0.0; 4], &fast), None);
    }

    #[test]
    fn blocks_are_as_high_as_their_values() {
        assert_eq!(blocks(&[0.0, 1.0, 4.0, 8.0], 10), "▁▁▄█");
        assert_eq!(blocks(&[5.0; 100], 10), "██████████");
        assert_eq!(blocks(&[], 10), "");
    }

    proptest! {
        #[test]
        fn blocks_never_take_more_room(values in prop::collection::vec(0.0..1e12f64, 0..300), most in 1usize..50) {
            prop_assert!(blocks(&values, most).chars().count() <= most);
        }

        #[test]
        fn the_middle_lies_within(values in prop::collection::vec(1.0..1e12f64, 4..60)) {
            let interval = mean(&values).unwrap();
            prop_assert!(interval.low <= interval.middle && interval.middle <= interval.high);
        }
    }
}
