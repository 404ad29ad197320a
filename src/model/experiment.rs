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

/// A look at which verdicts were formed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Counted rounds.
    pub round: u32,
    /// Confidence level of each interval.
    pub level: f64,
}

/// One run, counted or discarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its round, counted from 1; 0 warms up.
    pub round: u32,
    /// Label of its arm.
    pub arm: String,
    /// Its place within the round, counted from 1.
    pub order: usize,
    /// Its start, nanoseconds since the start of the experiment.
    pub began: u64,
    /// The seed of its block offsets.
    pub seed: u64,
    /// The figure arms are compared by; `None` if it failed or was interrupted.
    pub value: Option<f64>,
    /// Why its round does not count; `None` if it does.
    pub discarded: Option<String>,
    /// What else the machine did meanwhile.
    #[serde(flatten)]
    pub surroundings: Surroundings,
}

/// The machine during a run. `None`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// I/O of others on the drives of the targets, bytes per second.
    pub other_io: Option<f64>,
    /// Time that CPUs were not idle, percent of all CPUs; the test's own included.
    pub cpu_load: Option<f64>,
    /// CPUs that other processes kept busy.
    pub other_cpus: Option<f64>,
    /// The highest temperature of the targets' drives at its end, degrees Celsius.
    pub temperature: Option<f64>,
    /// The highest CPU clock in its middle, kHz.
    pub cpu_khz: Option<f64>,
    /// Share of a buffered run's bytes that came from the page cache, 0 to 1: no device was read for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<f64>,
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
    /// The knee, where arms are steps of one growing value and the experiment has ended at a look.
    #[serde(default)]
    pub knee: Option<KneeRecord>,
    /// Smaller differences count as none, a share.
    pub margin: f64,
    /// The largest detectable difference of all effects, a share.
    pub detectable: Option<f64>,
    /// Number of rounds that count.
    pub rounds: u32,
    /// The seed of orders and of the runs' seeds.
    #[serde(default)]
    pub seed: u64,
    /// The looks at which verdicts were formed.
    #[serde(default)]
    pub looks: Vec<Look>,
    /// Every run, counted or not.
    #[serde(default)]
    pub samples: Vec<Sample>,
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

/// Where larger values stop to gain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KneeRecord {
    /// Label of the arm beyond which a larger value gains less than the margin; `None` if there is none or it is not known.
    pub arm: Option<Label>,
    /// The same in words.
    pub meaning: String,
}

/// An arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// A few words.
    pub label: Label,
    /// Settings applied before each of its runs.
    pub settings: Vec<SettingRecord>,
    /// Its workload, with the runtime and ramp time of its runs; each run has its own seed (`samples`).
    pub workload: Workload,
    /// Standard deviation of its runs' logarithms: 0.01 is noise of 1 %. `None` with fewer than two runs.
    #[serde(default)]
    pub noise: Option<f64>,
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
    /// Rounds of the look that decided it.
    #[serde(default)]
    pub decided: Option<u32>,
    /// Correlation of a round's ratio with the next one's, where it is so high that the interval is too narrow.
    #[serde(default)]
    pub autocorrelation: Option<f64>,
    /// The meaning in words; empty if there is none.
    pub meaning: String,
}
