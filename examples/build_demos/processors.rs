//! CPUs: `/proc/cpuinfo`, topology, frequency and idle governors, NUMA.

use std::fmt::Write as _;

use super::{Everything, files::Files};

/// Writes the files of all CPUs: sibling threads have numbers `cores` apart, as with AMD's firmware.
pub fn write(files: &mut Files, all: &Everything) {
    let cpu = &all.machine.cpu;
    let last = all.cpus() - 1;
    let mut info = String::new();
    for number in 0..all.cpus() {
        let core = number % cpu.cores;
        info.push_str(&cpuinfo(all, number, core));
        one(files, all, number, core);
    }
    files.bytes("/proc/cpuinfo", info.into_bytes());
    let folder = "/sys/devices/system/cpu";
    for name in ["online", "present", "possible"] {
        files.line(format!("{folder}/{name}"), format_args!("0-{last}"));
    }
    files.line(format!("{folder}/smt/active"), 1);
    files.line(format!("{folder}/smt/control"), "on");
    files.line(format!("{folder}/cpuidle/current_driver"), "acpi_idle");
    files.line(format!("{folder}/cpuidle/current_governor"), "menu");
    for (name, state) in VULNERABILITIES {
        files.line(format!("{folder}/vulnerabilities/{name}"), state);
    }
    let node = "/sys/devices/system/node";
    files.line(format!("{node}/online"), 0);
    files.line(format!("{node}/node0/cpulist"), format_args!("0-{last}"));
    files.line(format!("{node}/node0/distance"), 10);
}

const VULNERABILITIES: [(&str, &str); 6] = [
    ("itlb_multihit", "Not affected"),
    ("l1tf", "Not affected"),
    ("mds", "Not affected"),
    ("meltdown", "Not affected"),
    ("spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl and seccomp"),
    ("spectre_v1", "Mitigation: usercopy/swapgs barriers and __user pointer sanitization"),
];

fn cpuinfo(all: &Everything, number: u32, core: u32) -> String {
    let cpu = &all.machine.cpu;
    let mut text = String::new();
    let mut row = |name: &str, value: &dyn std::fmt::Display| {
        let tabs = if name.len() < 8 { "\t\t" } else { "\t" };
        let _ = writeln!(text, "{name}{tabs}: {value}");
    };
    row("processor", &number);
    row("vendor_id", &"AuthenticAMD");
    row("cpu family", &cpu.family);
    row("model", &cpu.number);
    row("model name", &cpu.model);
    row("stepping", &cpu.stepping);
    row("cpu MHz", &format_args!("{:.3}", cpu.mhz));
    row("cache size", &"512 KB");
    row("physical id", &0);
    row("siblings", &all.cpus());
    row("core id", &core);
    row("cpu cores", &cpu.cores);
    row("apicid", &(core * 2 + number / cpu.cores));
    row(
        "flags",
        &"fpu tsc msr pae apic sse sse2 ht syscall nx rdtscp lm constant_tsc nonstop_tsc aperfmperf avx avx2 svm",
    );
    text.push('\n');
    text
}

fn one(files: &mut Files, all: &Everything, number: u32, core: u32) {
    let cpu = &all.machine.cpu;
    let folder = format!("/sys/devices/system/cpu/cpu{number}");
    let siblings = format!("{core},{}", core + cpu.cores);
    let lines = [
        ("topology/core_id", core.to_string()),
        ("topology/physical_package_id", "0".to_owned()),
        ("topology/thread_siblings_list", siblings),
        ("cpufreq/scaling_governor", cpu.governor.clone()),
        ("cpufreq/scaling_available_governors", format!("{} ", cpu.governors)),
        ("cpufreq/scaling_driver", cpu.driver.clone()),
        ("cpufreq/cpuinfo_max_freq", cpu.max_khz.to_string()),
    ];
    for (name, content) in lines {
        files.line(format!("{folder}/{name}"), content);
    }
    for (state, (name, latency)) in [("POLL", 0), ("C1", 1), ("C2", 400)].into_iter().enumerate() {
        let state = format!("{folder}/cpuidle/state{state}");
        files.line(format!("{state}/name"), name);
        files.line(format!("{state}/latency"), latency);
        files.line(format!("{state}/usage"), 1_000 * (number + 1) + latency * 40);
        files.line(format!("{state}/disable"), 0);
    }
}
