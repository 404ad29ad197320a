//! CPUs: `/proc/cpuinfo`, `/sys/devices/system/cpu`, `/sys/devices/system/node`.

use std::collections::BTreeMap;

use super::root::{self, SysRoot, quoted};
use crate::{
    machine::{Cpu, IdleState, Processors, processor::parse_cpu_list},
    model::{Problem, Reading},
    text::Label,
};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// All online CPUs, and a problem if their list cannot be read.
pub(crate) fn read(root: &dyn SysRoot) -> (Processors, Vec<Problem>) {
    let info = first_processor(root, "/proc/cpuinfo");
    let field = |name: &'static str| {
        info.clone().and_then(|text| {
            first_field(&text, name).map(Label::new).ok_or_else(|| format!("no line {name:?}"))
        })
    };
    let online = cpu_list(root, &format!("{CPUS}/online"));
    let numbers = online.value().cloned().unwrap_or_default();
    let numa = numa(root);
    let cpus: Vec<Cpu> = numbers.iter().map(|number| cpu(root, *number, &numa)).collect();
    let processors = Processors {
        model: field("model name").map(|model| shortened(model.as_str())),
        vendor: field("vendor_id"),
        megahertz: field("cpu MHz").and_then(|text| {
            text.as_str()
                .parse::<f64>()
                .ok()
                .filter(|mega| *mega > 0.0)
                .ok_or_else(|| format!("{text:?} is not a clock"))
        }),
        cpus,
        numa,
        smt_active: root::flag(root, &format!("{CPUS}/smt/active")),
        idle_states: idle_states(root, &numbers),
        vulnerabilities: vulnerabilities(root),
    };
    (processors, online.problem().into_iter().collect())
}

/// The start of the file, which describes one CPU; the whole file is long and slow to generate.
fn first_processor(root: &dyn SysRoot, path: &str) -> Reading<String> {
    root::reading(path, root.read_start(path, 4096)).map(|start| String::from_utf8_lossy(&start).into_owned())
}

/// The value of the first line `name :` of `/proc/cpuinfo`.
fn first_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then_some(value)
    })
}

/// `Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz` becomes `Intel Xeon E5-2680 v4`.
fn shortened(model: &str) -> Label {
    let name = model.split(" @ ").next().unwrap_or(model);
    let plain = name.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let words: Vec<&str> = plain
        .split_whitespace()
        .filter(|word| {
            !matches!(*word, "CPU" | "Processor") && !word.ends_with("-Core") && !word.ends_with("-Cores")
        })
        .collect();
    Label::new(&words.join(" "))
}

fn cpu(root: &dyn SysRoot, number: u32, numa: &BTreeMap<u32, Vec<u32>>) -> Cpu {
    let file = |name: &str| format!("{CPUS}/cpu{number}/{name}");
    Cpu {
        number,
        core: root::number(root, &file("topology/core_id")),
        siblings: cpu_list(root, &file("topology/thread_siblings_list")),
        node: numa.iter().find(|(_, cpus)| cpus.contains(&number)).map(|(node, _)| *node),
        governor: root::label(root, &file("cpufreq/scaling_governor")),
        governors: words(root, &file("cpufreq/scaling_available_governors")),
        driver: root::label(root, &file("cpufreq/scaling_driver")),
        energy_preference: root::label(root, &file("cpufreq/energy_performance_preference")),
        energy_preferences: words(root, &file("cpufreq/energy_performance_available_preferences")),
        max_khz: root::number(root, &file("cpufreq/cpuinfo_max_freq")),
    }
}

fn cpu_list(root: &dyn SysRoot, path: &str) -> Reading<Vec<u32>> {
    root::text(root, path).and_then(|text| parse_cpu_list(&text).map_err(|wrong| quoted(&text, &wrong)))
}

fn words(root: &dyn SysRoot, path: &str) -> Reading<Vec<Label>> {
    root::label(root, path).map(|line| line.as_str().split(' ').map(Label::new).collect())
}

fn numa(root: &dyn SysRoot) -> BTreeMap<u32, Vec<u32>> {
    let cpus = |node: &u32| cpu_list(root, &format!("{NODES}/node{node}/cpulist")).value().cloned();
    let nodes = root::numbered(root, NODES, "node").into_iter();
    nodes.filter_map(|node| Some((node, cpus(&node)?))).collect()
}

/// The idle states of the first CPU, with the entries of all CPUs.
fn idle_states(root: &dyn SysRoot, cpus: &[u32]) -> Vec<IdleState> {
    let Some(first) = cpus.first() else { return Vec::new() };
    let folder = |cpu: &u32| format!("{CPUS}/cpu{cpu}/cpuidle");
    let states = root::numbered(root, &folder(first), "state").into_iter();
    states
        .map(|state| {
            let file = |name: &str| format!("{}/state{state}/{name}", folder(first));
            let usage = |cpu: &u32| root::number::<u64>(root, &format!("{}/state{state}/usage", folder(cpu)));
            let others: u64 =
                cpus.iter().skip(1).filter_map(|cpu| usage(cpu).get()).fold(0, u64::saturating_add);
            IdleState {
                name: root::label(root, &file("name")),
                latency_us: root::number(root, &file("latency")),
                usage: usage(first).map(|usage| usage.saturating_add(others)),
            }
        })
        .collect()
}

fn vulnerabilities(root: &dyn SysRoot) -> BTreeMap<Label, Reading<Label>> {
    let folder = format!("{CPUS}/vulnerabilities");
    let names = root.list(&folder).unwrap_or_default();
    names.iter().map(|name| (Label::new(name), root::label(root, &format!("{folder}/{name}")))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_as_people_say_them() {
        for (raw, said) in [
            ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Intel Xeon E5-2680 v4"),
            ("AMD Ryzen Threadripper PRO 3975WX 32-Cores", "AMD Ryzen Threadripper PRO 3975WX"),
            ("AMD Ryzen 9 5950X 16-Core Processor", "AMD Ryzen 9 5950X"),
            ("AMD Ryzen Threadripper PRO 3955WX 16-Cores", "AMD Ryzen Threadripper PRO 3955WX"),
            ("12th Gen Intel(R) Core(TM) i9-12900K", "12th Gen Intel Core i9-12900K"),
        ] {
            assert_eq!(shortened(raw), said);
        }
    }

    #[test]
    fn the_first_processor_speaks_for_all() {
        let text =
            "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: A\n\nmodel name\t: B\n";
        assert_eq!(first_field(text, "model name"), Some(" A"));
        assert_eq!(first_field(text, "Hardware"), None);
    }
}
