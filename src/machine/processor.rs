//! CPUs: topology, NUMA, frequency and idle governors.

use std::collections::BTreeMap;

pub use crate::model::cpu_list::{cpu_list, parse_cpu_list};
use crate::{model::Reading, text::Label};

/// All CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Processors {
    /// `model name` of `/proc/cpuinfo`, shortened of `(R)`, `CPU` and the clock.
    pub model: Reading<Label>,
    /// `cpu MHz` of the first one in `/proc/cpuinfo` at that moment.
    pub megahertz: Reading<f64>,
    /// Vendor: `GenuineIntel`, `AuthenticAMD`.
    pub vendor: Reading<Label>,
    /// Online CPUs by number.
    pub cpus: Vec<Cpu>,
    /// NUMA nodes with their CPUs (`/sys/devices/system/node/nodeN/cpulist`).
    pub numa: BTreeMap<u32, Vec<u32>>,
    /// `smt/active`.
    pub smt_active: Reading<bool>,
    /// Idle states of the first online CPU (`cpuidle/state*`).
    pub idle_states: Vec<IdleState>,
    /// `/sys/devices/system/cpu/vulnerabilities/*`: name and state.
    pub vulnerabilities: BTreeMap<Label, Reading<Label>>,
}

/// One CPU (hardware thread).
#[derive(Debug, Clone, PartialEq)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// `topology/core_id`.
    pub core: Reading<u32>,
    /// SMT siblings, itself among them (`topology/thread_siblings_list`).
    pub siblings: Reading<Vec<u32>>,
    /// NUMA node.
    pub node: Option<u32>,
    /// `cpufreq/scaling_governor`.
    pub governor: Reading<Label>,
    /// `cpufreq/scaling_available_governors`.
    pub governors: Reading<Vec<Label>>,
    /// `cpufreq/scaling_driver`.
    pub driver: Reading<Label>,
    /// `cpufreq/energy_performance_preference`.
    pub energy_preference: Reading<Label>,
    /// `cpufreq/energy_performance_available_preferences`.
    pub energy_preferences: Reading<Vec<Label>>,
    /// `cpufreq/cpuinfo_max_freq`, kHz.
    pub max_khz: Reading<u64>,
}

/// One idle state.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleState {
    /// `name`: `C2`.
    pub name: Reading<Label>,
    /// `latency`, microseconds to leave it.
    pub latency_us: Reading<u64>,
    /// `usage`: times entered since boot, summed over CPUs.
    pub usage: Reading<u64>,
}

impl Processors {
    /// Number of online CPUs.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }
}
