//! Plain data of all modules: readings, names, workloads, runs, limits, records.

pub mod choice;
pub mod errno;
pub mod failed;
pub mod locked_memory;
pub mod ids;
pub mod io_limit;
pub mod reading;
pub mod limit;
pub mod target;
pub mod cpu_list;
pub mod fio;
pub mod options;
pub mod workload;
pub mod run;
pub mod verdict;
pub mod record;
pub mod experiment;

pub use choice::Choice;
pub use errno::{errno_name, errno_number, errno_words, error_words};
pub use experiment::{ArmRecord, EffectRecord, ExperimentRecord, KneeRecord, SettingRecord};
pub use failed::Failed;
pub use ids::{DriveName, ExperimentId, FindingId, NodeIndex, PciAddress, SettingId, Severity};
pub use io_limit::{CpuQuota, GroupLimits, IoLimit, LimitKind, MemoryLimit};
pub use limit::{
    Basis, CostFactor, Limit, Limits, MeasuredPoint, PageCache, PageCacheCost, ProcessorLimit, ReadPath,
};
pub use options::Workload;
pub use reading::{Problem, ProblemKind, Reading};
pub use record::{Expectation, RunRecord, Seconds};
pub use run::{Effective, LatencySummary, RunSample, RunState, RunSummary, TargetSample, TargetSummary};
pub use target::{Completion, EngineKind, Pattern, Target, TargetKind};
pub use verdict::{Effect, Metric, Verdict};
pub use workload::WorkloadError;
