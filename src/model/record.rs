//! [`RunRecord`]: a finished run, as stored and reported.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    limit::Basis,
    run::{RunSample, RunState, RunSummary},
};
use crate::text::Label;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The random id of the boot it ran in (`/proc/sys/kernel/random/boot_id`); empty when that is not known.
    pub boot: Label,
    /// Its figures.
    pub run: RunSummary,
    /// The expected rate of each target, in the workload's order; `None` without a known limit.
    pub expected: Vec<Option<Expectation>>,
    /// The rate of all targets, second by second.
    pub seconds: Seconds,
}

/// The expected rate of a target, from limits known before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Payload bytes per second.
    pub bytes_per_second: f64,
    /// Reads per second.
    pub iops: f64,
    /// Source of the limit.
    pub basis: Basis,
    /// The limit in words.
    pub because: String,
}

impl RunRecord {
    /// A run of this boot, with the expectation of each target.
    pub fn new<'a, E: 'a>(
        boot: Option<&Label>,
        run: RunSummary,
        expected: impl IntoIterator<Item = &'a Option<E>>,
        seconds: Seconds,
    ) -> Self
    where
        Expectation: From<&'a E>,
    {
        let expected = expected.into_iter().map(|one| one.as_ref().map(Expectation::from)).collect();
        Self { boot: boot.cloned().unwrap_or_default(), run, expected, seconds }
    }
}

/// Bytes per second of a run, one value per second, or per several in a long run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Seconds per value: a power of two; 0 before the first.
    pub step: u32,
    /// Bytes per second, oldest first.
    pub rates: Vec<f64>,
    /// Counted time at which pauses began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Duration>,
    #[serde(skip)]
    is_paused: bool,
    /// Start of the next value: counted time and bytes.
    #[serde(skip)]
    from: (Duration, u64),
}

/// Maximum values; beyond that pairs are averaged.
const MOST: usize = 240;

impl Seconds {
    /// Adds a sample of the run.
    pub fn take(&mut self, sample: &RunSample) {
        let bytes = sample.targets.iter().map(|target| target.bytes).sum();
        self.take_bytes(sample.state, sample.at, bytes);
    }

    /// Adds the bytes read until `at`, of a target or of all.
    pub fn take_bytes(&mut self, state: RunState, at: Duration, bytes: u64) {
        if matches!(state, RunState::Preparing | RunState::Ramping) {
            return;
        }
        self.step = self.step.max(1);
        let was_paused = std::mem::replace(&mut self.is_paused, state == RunState::Paused);
        if self.is_paused && !was_paused {
            self.pauses.push(at);
        }
        let (then, before) = self.from;
        let span = at.saturating_sub(then);
        if span < Duration::from_secs(self.step.into()) {
            return;
        }
        self.rates.push(bytes.saturating_sub(before) as f64 / span.as_secs_f64());
        self.from = (at, bytes);
        if self.rates.len() > MOST {
            self.rates = self.rates.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
            self.step *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LatencySummary, TargetSample, run::testing};

    fn sample(at_ms: u64, bytes: u64, state: RunState) -> RunSample {
        RunSample {
            batch: String::new(),
            at: Duration::from_millis(at_ms),
            state,
            preparing: None,
            targets: vec![TargetSample {
                name: Label::new("/dev/nvme0n1"),
                drive: None,
                ios: 0,
                bytes,
                errors: 0,
                latency: LatencySummary::default(),
                failed: None,
            }],
            simulated: false,
        }
    }

    #[test]
    fn every_whole_second_is_a_value() {
        let mut seconds = Seconds::default();
        seconds.take(&sample(0, 0, RunState::Preparing));
        for (at, bytes) in [(0, 0), (500, 50), (1000, 100), (1500, 110), (2500, 250), (3400, 999)] {
            seconds.take(&sample(at, bytes, RunState::Running));
        }
        assert_eq!(seconds.rates, [100.0, 100.0]);
    }

    #[test]
    fn a_pause_is_kept_once_with_its_counted_time() {
        let mut seconds = Seconds::default();
        for (at, state) in [
            (1000, RunState::Running),
            (1500, RunState::Paused),
            (1500, RunState::Paused),
            (2500, RunState::Running),
            (2600, RunState::Paused),
        ] {
            seconds.take(&sample(at, at, state));
        }
        assert_eq!(seconds.pauses, [1500, 2600].map(Duration::from_millis));
        assert_eq!(seconds.rates.len(), 2);
    }

    #[test]
    fn a_long_run_keeps_its_mean_in_fewer_values() {
        let mut seconds = Seconds::default();
        for at in 1..=2000 {
            seconds.take(&sample(at * 1000, at * (at % 2 + 1) * 1000, RunState::Running));
        }
        assert!(seconds.rates.len() <= MOST && seconds.step.is_power_of_two() && seconds.step >= 8);
    }

    #[test]
    fn a_record_is_read_as_it_is_written() {
        let record = RunRecord {
            boot: Label::new("6b1d"),
            run: testing::run(&["nvme0n1"], 4096 * 1000, crate::model::Workload::default()),
            expected: vec![Some(Expectation {
                bytes_per_second: 7.2e9,
                iops: 1e6,
                basis: Basis::Link,
                because: "16 GT/s x4".to_owned(),
            })],
            seconds: Seconds {
                step: 1,
                rates: vec![1.0, 2.0],
                pauses: vec![Duration::from_secs(1)],
                ..Seconds::default()
            },
        };
        let line = serde_json::to_string(&record).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<RunRecord>(&line).unwrap(), record);
    }
}
