//! [`ExperimentRecord`]: a finished experiment, as stored and reported.

use serde::{Deserialize, Serialize};

use super::{
    options::Workload,
    run::RunSummary,
    target::Target,
    verdict::{Metric, Verdict},
};
use crate::text::Label;

/// A run that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its round, counted from 1.
    pub round: u32,
    /// The figure arms are compared by, in the metric's unit.
    pub value: f64,
    /// Reads per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// CPU time of the workers per read, nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// 99th percentile of latency, nanoseconds.
    pub latency_p99: Option<f64>,
}

impl Run {
    /// The figures of a run; `None` if it lacks the metric.
    pub fn of(round: u32, metric: Metric, run: &RunSummary) -> Option<Self> {
        Some(Self {
            round,
            value: metric.of(run)?,
            iops: run.iops(),
            bytes_per_second: run.bytes_per_second(),
            cpu_ns_per_io: Metric::CpuNsPerIo.of(run),
            latency_p99: Metric::LatencyP99.of(run),
        })
    }
}

/// A discarded round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownOut {
    /// Its number, counted from 1.
    pub round: u32,
    /// The arm that was disturbed.
    pub arm: String,
    /// The disturbance, in words.
    pub why: String,
}

/// A finished experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// The random id of the boot it ran in (`/proc/sys/kernel/random/boot_id`); empty when that is not known.
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    pub boot: Label,
    /// Unix seconds of its start; 0 with a simulated clock.
    pub started: i64,
    /// Its row of `EXPERIMENTS`.
    pub name: Label,
    /// The question.
    pub question: Label,
    /// The figure that arms are compared by.
    pub metric: Metric,
    /// Label of the arm that others are compared with.
    pub baseline: Label,
    /// Every drive and file that was read.
    pub targets: Vec<Target>,
    /// Options of `iodyno experiment run` that repeat it on these targets, with their values.
    pub options: Vec<(String, String)>,
    /// The compared arms.
    pub arms: Vec<ArmRecord>,
    /// The result of each comparison.
    pub effects: Vec<EffectRecord>,
    /// Smaller differences count as none, a share.
    pub margin: f64,
    /// The largest detectable difference of all effects, a share.
    pub detectable: Option<f64>,
    /// Number of rounds that count.
    pub rounds: u32,
    /// Number of discarded rounds.
    pub thrown_out: usize,
    /// Each discarded round.
    pub thrown_out_because: Vec<ThrownOut>,
    /// Why it ended, in words.
    pub ended_because: Option<String>,
    /// Whether every setting was restored.
    pub restored: bool,
    /// Whether the engine was simulated.
    pub simulated: bool,
}

/// An arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// A few words.
    pub label: Label,
    /// Settings applied before each of its runs.
    pub settings: Vec<SettingRecord>,
    /// Its workload.
    pub workload: Workload,
    /// Its runs of the rounds that count, in order.
    pub runs: Vec<Run>,
    /// Why it was left out.
    pub left_out: Option<String>,
}

/// A setting and the value an arm gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// The device.
    pub device: Label,
    /// Id of a row of `SETTINGS`.
    pub setting: Label,
    /// The value.
    pub value: Label,
}

/// The comparison of an arm with another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Label of the arm.
    pub arm: Label,
    /// The arm it is compared with, in words.
    pub against: String,
    /// Ratio of their figures; `None`, as are the bounds, with too few rounds for an interval.
    pub ratio: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Confidence level of the interval, 0 to 1.
    pub confidence: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The smallest difference that these rounds can detect, a share.
    pub detectable: Option<f64>,
    /// The meaning in words; empty if there is none.
    pub meaning: String,
}
