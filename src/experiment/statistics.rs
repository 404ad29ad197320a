//! The statistics of verdicts: medians, log ratios of paired figures, and a confidence interval robust against
//! outliers.
//!
//! The interval is Student's t over the 20 % trimmed mean with its winsorized variance (Tukey and `McLaughlin` 1963,
//! Yuen 1974). With eight rounds the lowest and the highest ratio do not affect the center; winsorized, they still
//! affect the width.

/// Share trimmed from either end.
const TRIMMED: f64 = 0.2;

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// The confidence interval of the logarithm of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its middle: the trimmed mean.
    pub middle: f64,
    /// From the middle to either end.
    pub half: f64,
    /// Standard error of the middle.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: u32,
    /// Number of ratios.
    pub count: usize,
}

impl Interval {
    /// From the logarithms of the rounds' ratios, at `confidence` (0.95); `None` for fewer than four.
    pub fn of(logs: &[f64], confidence: f64) -> Option<Self> {
        let count = logs.len();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fifth of a length")]
        let cut = (TRIMMED * count as f64) as usize;
        let kept = count.checked_sub(2 * cut).filter(|kept| *kept >= 4)?;
        // Only the ends of the kept values need their place: an experiment of hours has thousands of rounds.
        let mut values = logs.to_vec();
        let (_, low, rest) = values.select_nth_unstable_by(cut, f64::total_cmp);
        let low = *low;
        let high = match kept - 1 {
            0 => low,
            above => *rest.select_nth_unstable_by(above - 1, f64::total_cmp).1,
        };
        let middle = mean(&values[cut..count - cut]);
        for value in &mut values {
            *value = value.clamp(low, high);
        }
        let about = mean(&values);
        let squares: f64 = values.iter().map(|value| (value - about).powi(2)).sum();
        let freedom = u32::try_from(kept - 1).ok()?;
        // The winsorized sum of squares of n values has n - 1 degrees of freedom.
        let error = (squares / f64::from(freedom) / kept as f64).sqrt();
        Some(Self { middle, half: student(confidence, freedom) * error, error, freedom, count })
    }

    /// The ratio in the middle, and both ends.
    pub fn ratios(&self) -> (f64, f64, f64) {
        (self.middle.exp(), (self.middle - self.half).exp(), (self.middle + self.half).exp())
    }

    /// The smallest logarithm of a ratio that a verdict after such rounds finds with a power of 80 %: only a fifth of all
    /// intervals around it reaches back to none, and only a fifth of all middles stays below the margin.
    pub(crate) fn detectable(&self, margin: f64) -> f64 {
        self.half.max(margin) + student(0.6, self.freedom) * self.error
    }

    /// The number of ratios needed for this half width, at least the current number.
    pub(crate) fn count_for(&self, half: f64) -> usize {
        if self.half <= half {
            return self.count;
        }
        let factor = (self.half / half).powi(2).min(1e6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, below 1e12")]
        let count = (self.count as f64 * factor).ceil() as usize;
        count
    }
}

/// The standard deviation; `None` for fewer than two values.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (values.len() >= 2).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The correlation of each value with the next one (lag 1); `None` for fewer than eight values or without any spread.
pub fn autocorrelation(values: &[f64]) -> Option<f64> {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    (values.len() >= 8 && squares > 0.0).then(|| products / squares)
}

/// The logarithms of `figures` over `against`, pair by pair.
pub fn log_ratios(figures: &[f64], against: &[f64]) -> Vec<f64> {
    figures.iter().zip(against).map(|(figure, base)| (figure / base).ln()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Student's quantile: |t| with `freedom` degrees of freedom stays below it with that probability. By false position
/// (the Illinois method) on the distribution's closed form.
pub(crate) fn student(probability: f64, freedom: u32) -> f64 {
    let miss = |t: f64| within(t, freedom) - probability;
    let (mut low, mut below) = (0.0, -probability);
    let (mut high, mut above) = (2.0, miss(2.0));
    while above < 0.0 && high < 1e6 {
        (low, below) = (high, above);
        high *= 2.0;
        above = miss(high);
    }
    let mut was_low = None;
    for _ in 0..100 {
        let middle = (low * above - high * below) / (above - below);
        let at = miss(middle);
        if at.abs() < 1e-13 || high - low < 1e-10 * high {
            return middle;
        }
        // An end that stays twice counts half, so that both move.
        let is_low = at < 0.0;
        let again = was_low.replace(is_low) == Some(is_low);
        if is_low {
            (low, below) = (middle, at);
            above /= if again { 2.0 } else { 1.0 };
        } else {
            (high, above) = (middle, at);
            below /= if again { 2.0 } else { 1.0 };
        }
    }
    high
}

/// The probability that |t| stays below `t` (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom.max(1)).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    // The series over powers of the cosine, from the first or the zeroth on, every second one.
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut step = if is_odd { 3 } else { 2 };
    while step <= freedom.saturating_sub(if is_odd { 2 } else { 1 }) {
        term *= cosine * cosine * f64::from(step - 1) / f64::from(step);
        sum += term;
        step += 2;
    }
    if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::experiment::shuffle::Random;

    #[test]
    fn students_quantiles_are_the_textbooks() {
        for (probability, freedom, value) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 5, 2.571),
            (0.99, 7, 3.499),
            (0.9, 10, 1.812),
            (0.95, 11, 2.201),
            (0.95, 120, 1.980),
            (0.6, 5, 0.920),
        ] {
            let found = student(probability, freedom);
            assert!((found - value).abs() < 6e-4, "{probability} of {freedom}: {found}");
        }
    }

    #[test]
    fn the_interval_is_yuens() {
        // Eight values: one is trimmed from either end, so 6 are kept and 5 degrees of freedom are left.
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 80.0], 0.95).unwrap();
        assert!((interval.middle - 4.5).abs() < 1e-12, "the outlier has no say");
        let winsorized = [2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.0];
        let squares: f64 = winsorized.iter().map(|v: &f64| (v - 4.5).powi(2)).sum();
        assert!((interval.error - (squares / 5.0 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!((interval.freedom, interval.count), (5, 8));
        assert!((interval.half / interval.error - 2.5706).abs() < 1e-3);
        assert_eq!(Interval::of(&[1.0, 2.0, 3.0], 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = Random::new(7);
        for count in [8, 12, 30] {
            let missed = (0..4000)
                .filter(|_| {
                    let logs: Vec<f64> = (0..count).map(|_| random.normal()).collect();
                    let interval = Interval::of(&logs, 0.95).unwrap();
                    interval.middle.abs() > interval.half
                })
                .count();
            let share = missed as f64 / 4000.0;
            assert!((0.03..0.065).contains(&share), "{count} rounds: {share} missed");
        }
    }

    #[test]
    fn what_could_have_been_seen_is_seen_four_times_in_five() {
        let mut random = Random::new(11);
        let truth = Interval::of(&(0..4000).map(|_| random.normal()).collect::<Vec<_>>(), 0.95).unwrap();
        // Twelve rounds of that spread, and the effect they are said to tell from none.
        let error = truth.error * (4000.0_f64 / 12.0).sqrt();
        let twelve = Interval { error, half: student(0.95, 7) * error, freedom: 7, count: 12, ..truth };
        let effect = twelve.detectable(0.0);
        let seen = (0..4000)
            .filter(|_| {
                let logs: Vec<f64> = (0..12).map(|_| random.normal() + effect).collect();
                let interval = Interval::of(&logs, 0.95).unwrap();
                interval.middle - interval.half > 0.0
            })
            .count();
        assert!((0.75..0.87).contains(&(seen as f64 / 4000.0)), "{seen} of 4000");
    }

    proptest! {
        #[test]
        fn intervals_shift_and_scale_with_their_values(
            logs in prop::collection::vec(-1.0..1.0f64, 8..40), shift in -2.0..2.0f64, scale in 0.1..5.0f64,
        ) {
            let one = Interval::of(&logs, 0.95).unwrap();
            let moved: Vec<f64> = logs.iter().map(|value| value * scale + shift).collect();
            let two = Interval::of(&moved, 0.95).unwrap();
            prop_assert!((two.middle - (one.middle * scale + shift)).abs() < 1e-9);
            prop_assert!((two.half - one.half * scale).abs() < 1e-9);
            prop_assert!(one.count_for(one.half) == logs.len() && one.count_for(one.half / 2.0) >= logs.len());
        }

        #[test]
        fn a_median_has_as_many_above_as_below(values in prop::collection::vec(-1e9..1e9f64, 1..60)) {
            let middle = median(&values).unwrap();
            let above = values.iter().filter(|value| **value > middle).count();
            let below = values.iter().filter(|value| **value < middle).count();
            prop_assert!(above <= values.len() / 2 && below <= values.len() / 2);
        }
    }
}
