//! Rolling curves: points with their time, and a scale that stays put.

use std::{collections::VecDeque, time::Duration};

/// How far back a curve reaches.
pub const WINDOW: Duration = Duration::from_mins(1);

/// Values over time, newest last, no older than [`WINDOW`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    points: VecDeque<(Duration, f64)>,
    most: f64,
    /// The next point begins afresh: it is not joined to the one before.
    is_split: bool,
    /// Points that begin afresh.
    begins: VecDeque<Duration>,
}

impl Series {
    /// Adds a value seen at `at`. Values that are no number count as zero.
    pub fn push(&mut self, at: Duration, value: f64) {
        let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
        self.most = self.most.max(value);
        self.points.push_back((at, value));
        if std::mem::take(&mut self.is_split) {
            self.begins.push_back(at);
        }
        while self.points.front().is_some_and(|(oldest, _)| *oldest + WINDOW < at) {
            self.points.pop_front();
        }
        while self.begins.front().is_some_and(|begin| *begin + WINDOW < at) {
            self.begins.pop_front();
        }
    }

    /// Leaves a gap before the next point: nothing was seen in between.
    pub fn split(&mut self) {
        self.is_split = !self.points.is_empty();
    }

    /// Whether a gap was left before the point at `at`.
    pub fn is_split_before(&self, at: Duration) -> bool {
        self.begins.contains(&at)
    }

    /// Time from the oldest point to the newest.
    pub fn span(&self) -> Duration {
        let ends = self.points.front().zip(self.points.back());
        ends.map_or(Duration::ZERO, |((first, _), (last, _))| last.saturating_sub(*first))
    }

    /// Time and value, oldest first.
    pub fn points(&self) -> impl DoubleEndedIterator<Item = (Duration, f64)> + '_ {
        self.points.iter().copied()
    }

    /// The newest value.
    pub fn last(&self) -> Option<f64> {
        self.points.back().map(|(_, value)| *value)
    }

    /// The highest value since the beginning, beyond the window too.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// The highest value in the window.
    pub fn window_most(&self) -> f64 {
        self.points.iter().map(|(_, value)| *value).fold(0.0, f64::max)
    }
}

/// The top of a vertical axis: a round number that rises at once and falls only when the curve stays well below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    top: f64,
    least: f64,
    low_since: Option<Duration>,
}

/// Round tops within a power of ten: each can be halved and quartered into short labels.
const STEPS: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
/// The curve must stay below this share of the next lower top before the scale falls.
const FALL_BELOW: f64 = 0.9;
/// And for this long.
const FALL_AFTER: Duration = Duration::from_secs(10);

impl Scale {
    /// A scale whose top is never below `least`, a round number.
    pub const fn new(least: f64) -> Self {
        Self { top: least, least, low_since: None }
    }

    /// The value at the top of the axis.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// Makes room for `most`, the highest value shown at `now`.
    pub fn fit(&mut self, now: Duration, most: f64) {
        let wanted = round_up(most).max(self.least);
        if wanted > self.top {
            *self = Self { top: wanted, low_since: None, ..*self };
        } else if wanted < self.top && most < FALL_BELOW * round_down(self.top) {
            let since = *self.low_since.get_or_insert(now);
            if now.saturating_sub(since) >= FALL_AFTER {
                *self = Self { top: wanted, low_since: None, ..*self };
            }
        } else {
            self.low_since = None;
        }
    }
}

/// The lowest round number that leaves a little air above `most`.
fn round_up(most: f64) -> f64 {
    if !most.is_finite() || most <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(most.log10().floor());
    let mantissa = most / power;
    STEPS.iter().copied().chain([10.0, 20.0]).find(|step| mantissa * 1.02 <= *step).unwrap_or(20.0) * power
}

/// The next round number below `top`.
fn round_down(top: f64) -> f64 {
    let power = 10f64.powf(top.log10().floor());
    let mantissa = top / power;
    let below = STEPS.iter().copied().rev().find(|step| *step < mantissa * 0.99);
    below.map_or(0.8 * power, |step| step * power)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_scale_rises_at_once_and_falls_late() {
        let mut scale = Scale::new(1.0);
        scale.fit(at(0), 53.6e9);
        assert!((scale.top() - 60e9).abs() < 1.0);
        scale.fit(at(1), 45e9);
        assert!((scale.top() - 60e9).abs() < 1.0, "a small dip moves nothing");
        scale.fit(at(2), 5e9);
        scale.fit(at(11), 5e9);
        assert!((scale.top() - 60e9).abs() < 1.0, "a deep one must last");
        scale.fit(at(12), 5e9);
        assert!((scale.top() - 6e9).abs() < 1.0);
    }

    #[test]
    fn a_series_forgets_what_left_the_window_but_not_its_peak() {
        let mut series = Series::default();
        series.push(at(0), 9.0);
        series.push(at(70), 3.0);
        series.push(at(71), f64::NAN);
        assert_eq!(series.points().collect::<Vec<_>>(), [(at(70), 3.0), (at(71), 0.0)]);
        assert!(
            (series.most() - 9.0).abs() < f64::EPSILON && (series.window_most() - 3.0).abs() < f64::EPSILON
        );
    }

    proptest! {
        #[test]
        fn the_top_is_never_below_the_curve(values in prop::collection::vec(0.0..1e13f64, 1..50)) {
            let mut scale = Scale::new(1.0);
            for (second, value) in values.into_iter().enumerate() {
                scale.fit(at(second as u64), value);
                prop_assert!(scale.top() >= value);
            }
        }
    }
}
