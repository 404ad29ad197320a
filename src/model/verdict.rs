//! Metrics and verdicts of experiments.

use serde::{Deserialize, Serialize};

use super::run::{RunSummary, TargetSummary};

/// A run's figure that arms are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Reads per second of all targets.
    Iops,
    /// Bytes per second of all targets.
    BytesPerSecond,
    /// CPU time of the workers per read, nanoseconds.
    CpuNsPerIo,
    /// 99th percentile of completion latency, nanoseconds; of several targets the worst.
    #[serde(rename = "latency_p99")]
    LatencyP99,
}

impl Metric {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::BytesPerSecond => "bytes_per_second",
            Self::CpuNsPerIo => "cpu_ns_per_io",
            Self::LatencyP99 => "latency_p99",
        }
    }

    /// Its name in a sentence with a ratio.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::BytesPerSecond => "throughput",
            Self::CpuNsPerIo => "CPU time per read",
            Self::LatencyP99 => "p99 latency",
        }
    }

    /// Whether more of it is better.
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Iops | Self::BytesPerSecond)
    }

    /// Its value in a run; `None` if it was not measured or no read completed.
    pub fn of(self, run: &RunSummary) -> Option<f64> {
        let value = match self {
            Self::Iops => run.iops(),
            Self::BytesPerSecond => run.bytes_per_second(),
            Self::CpuNsPerIo => {
                let reads: u64 = run.targets.iter().map(|target| target.ios).sum();
                let cpu = |target: &TargetSummary| (target.cpu_user + target.cpu_system).as_secs_f64();
                run.targets.iter().map(cpu).sum::<f64>() * 1e9 / reads as f64
            }
            Self::LatencyP99 => {
                let worst = run.targets.iter().filter_map(|target| target.latency.as_ref()?.percentile(99.0));
                worst.max()? as f64
            }
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better than the baseline by the margin or more.
    Faster,
    /// Worse, likewise.
    Slower,
    /// The whole interval is within the margin.
    NoDifference,
    /// Different, by less than the margin.
    SmallerThanMargin,
    /// The interval is too wide.
    Inconclusive,
    /// Too many rounds were disturbed.
    Invalid,
}

impl Verdict {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no-difference",
            Self::SmallerThanMargin => "smaller-than-margin",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
        }
    }

    /// One short word, for a column beside the ratio.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Faster => "better",
            Self::Slower => "worse",
            Self::NoDifference => "same",
            Self::SmallerThanMargin => "tiny",
            Self::Inconclusive => "open",
            Self::Invalid => "invalid",
        }
    }

    /// Whether it answers the question.
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::NoDifference | Self::SmallerThanMargin)
    }
}

/// The comparison of an arm with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Index of the arm.
    pub arm: usize,
    /// Ratio of their figures; 1 is no difference.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Confidence level of the interval, 0 to 1.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The smallest difference that a verdict after these rounds finds with a power of 0.8, a share: 0.016 is 1.6 %.
    pub detectable: f64,
    /// Rounds of the look that decided it; `None` before.
    pub decided: Option<u32>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{LatencySummary, Workload, run::testing::run};

    #[test]
    fn every_metric_comes_from_the_figures_of_all_targets() {
        let mut both = run(&["nvme0n1", "nvme1n1"], 40_960_000, Workload::default());
        for (target, p99) in both.targets.iter_mut().zip([70_000, 90_000]) {
            target.cpu_user = Duration::from_millis(10);
            target.cpu_system = Duration::from_millis(40);
            target.latency =
                Some(LatencySummary { percentiles: vec![(99.0, p99)], ..LatencySummary::default() });
        }
        let close = |metric: Metric, value: f64| {
            assert!((metric.of(&both).unwrap() / value - 1.0).abs() < 1e-9, "{}", metric.name());
        };
        close(Metric::Iops, 2_000.0);
        close(Metric::BytesPerSecond, 8_192_000.0);
        close(Metric::CpuNsPerIo, 5_000.0);
        close(Metric::LatencyP99, 90_000.0);
        for target in &mut both.targets {
            target.ios = 0;
            target.latency = None;
        }
        assert_eq!(Metric::CpuNsPerIo.of(&both), None, "nothing was read");
        assert_eq!(Metric::LatencyP99.of(&both), None, "latency was not measured");
    }
}
