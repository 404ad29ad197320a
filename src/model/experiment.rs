//! [`ExperimentRecord`]: an experiment that ended, with all that is said of it later.

use serde::{Deserialize, Serialize};

use super::{
    options::Workload,
    run::RunSummary,
    target::Target,
    verdict::{Metric, Verdict},
};
use crate::text::Label;

/// One run that counts.
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
    /// Processor time of the workers per read, nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// 99th percentile of latency, nanoseconds.
    pub latency_p99: Option<f64>,
}

impl Run {
    /// The figures of a run; `None` where it has not the one that counts.
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

/// A round that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrownOut {
    /// Which, counted from 1.
    pub round: u32,
    /// The arm that was disturbed.
    pub arm: String,
    /// By what.
    pub why: String,
}

/// An experiment that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// The random id of the boot it ran in (`/proc/sys/kernel/random/boot_id`); empty when that is not known.
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    pub boot: Label,
    /// Unix seconds of its beginning; 0 where time is counted, not waited for.
    pub started: i64,
    /// Its row of `EXPERIMENTS`.
    pub name: Label,
    /// The question.
    pub question: Label,
    /// What arms are compared by.
    pub metric: Metric,
    /// Label of the arm that the others are held against.
    pub baseline: Label,
    /// All that was read.
    pub targets: Vec<Target>,
    /// Options of `iodyno experiment run` that make it again on these targets, with their values.
    pub options: Vec<(String, String)>,
    /// What was compared.
    pub arms: Vec<ArmRecord>,
    /// What came of each arm that is held against others.
    pub effects: Vec<EffectRecord>,
    /// Differences below this share are none.
    pub margin: f64,
    /// The largest of the effects' smallest detectable differences, a share.
    pub detectable: Option<f64>,
    /// Rounds that count.
    pub rounds: u32,
    /// Rounds that do not.
    pub thrown_out: usize,
    /// Why each of them does not.
    pub thrown_out_because: Vec<ThrownOut>,
    /// Why it ended, in words.
    pub ended_because: Option<String>,
    /// Whether every setting is as it was.
    pub restored: bool,
    /// Whether a simulated engine made its figures.
    pub simulated: bool,
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// A few words.
    pub label: Label,
    /// What was set before each of its runs.
    pub settings: Vec<SettingRecord>,
    /// What it did.
    pub workload: Workload,
    /// Its runs of the rounds that count, in their order.
    pub runs: Vec<Run>,
    /// Why it took no part, if it did not.
    pub left_out: Option<String>,
}

/// A setting and the value an arm gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// On what.
    pub device: Label,
    /// Which.
    pub setting: Label,
    /// The value.
    pub value: Label,
}

/// An arm against what it is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Label of the arm.
    pub arm: Label,
    /// What it is held against, in words.
    pub against: String,
    /// Its figure over that; `None`, like the rest, where there are too few rounds for an interval.
    pub ratio: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// How sure the interval is, 0 to 1.
    pub confidence: f64,
    /// What follows.
    pub verdict: Verdict,
    /// The smallest difference that these rounds would have told from none, a share.
    pub detectable: Option<f64>,
    /// What that means for who asked; empty where there is nothing to say.
    pub meaning: String,
}
