//! CPUs: topology, NUMA, frequency and idle governors.

use std::collections::{BTreeMap, BTreeSet};

use crate::{model::Reading, text::Label};

/// All CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Processors {
    /// `model name` of `/proc/cpuinfo`, shortened of `(R)`, `CPU` and the clock.
    pub model: Reading<Label>,
    /// `cpu MHz` of the first one in `/proc/cpuinfo`, as it was just then.
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
    /// `cpuidle/current_driver`.
    pub idle_driver: Reading<Label>,
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
    /// `topology/physical_package_id`.
    pub package: Reading<u32>,
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
    /// `disable`.
    pub disabled: Reading<bool>,
}

impl Processors {
    /// Number of online CPUs.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }
}

/// Numbers as a kernel CPU list: sorted, each once, `0-3,8`.
pub(crate) fn cpu_list(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.into_iter().collect::<BTreeSet<u32>>() {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A kernel CPU list, `0-3,8,10-11`, as numbers.
///
/// # Errors
/// The offending part, quoted, when it is no list.
pub(crate) fn parse_cpu_list(text: &str) -> Result<Vec<u32>, String> {
    const MOST: u32 = 1 << 16;
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let bounds = first.trim().parse::<u32>().ok().zip(last.trim().parse::<u32>().ok());
        match bounds {
            Some((first, last)) if first <= last && last < MOST => cpus.extend(first..=last),
            _ => return Err(format!("{part:?} is no CPU list")),
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_written_is_read_as_the_same_numbers(cpus in prop::collection::btree_set(0_u32..300, 0..40)) {
            let text = cpu_list(cpus.iter().rev().copied());
            prop_assert_eq!(parse_cpu_list(&text).unwrap(), cpus.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn neighbours_are_written_as_a_range() {
        assert_eq!(cpu_list([8, 2, 1, 0, 3, 8]), "0-3,8");
    }
}
