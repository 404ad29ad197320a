//! The host: IOMMU, CPU frequency and idle governors, memory, io_uring, mitigations.

use std::collections::BTreeMap;

use super::{Detection, Evidence, Gain, Inputs, Risk, Row, Subject, inputs::names};
use crate::{
    counters::Rates,
    machine::{Cpu, Drive, IdleState, MemoryModule},
    model::{FindingId, Reading, RunSummary, Severity},
    text::Label,
    units,
};

pub(super) const IOMMU_TRANSLATING: Row = Row {
    id: FindingId("iommu-translating"),
    title: "IOMMU translates the drives' addresses",
    fires: "the IOMMU group of a drive is of type DMA (strict: a warning) or DMA-FQ (lazy: information); identity is silent",
    why: "Every read maps and unmaps its buffers; strict mode also waits for the IOTLB flush.",
    remedy: "Kernel argument {argument}. Passthrough disables DMA protection: a device can then reach all memory.",
    risk: Risk::Reboot,
    wrong_if: "Only a test shows the cost; registered buffers (--fixedbufs) are mapped per read too.",
    check: iommu_translating,
    ..Row::PLAIN
};

pub(super) const GOVERNOR: Row = Row {
    id: FindingId("governor"),
    title: "CPUs held at low frequency",
    fires: "scaling_governor is powersave under a driver without hardware-managed preference (intel_pstate and amd-pstate-epp use \
            that name normally), or energy_performance_preference is power",
    why: "IOPS follow the clock of the submitting core.",
    remedy: "Choose the performance governor or preference for the test.",
    risk: Risk::Live,
    wrong_if: "Reads are limited by the drive rather than by a core.",
    check: governor,
    ..Row::PLAIN
};

pub(super) const DEEP_C_STATES: Row = Row {
    id: FindingId("deep-c-states"),
    title: "CPUs enter deep C-states between reads",
    fires: "a CPU that takes the interrupts of a test with one I/O in flight enters an idle state with an exit latency of 50 us \
            or more, at least once per ten reads (cpuidle/state*/usage)",
    why: "The completion's interrupt has to wake the core first.",
    remedy: "Hold /dev/cpu_dma_latency open at 0 during the test; closing the file undoes it.",
    risk: Risk::Live,
    wrong_if: "The stated exit latency is a maximum; most wake-ups are shorter.",
    needs_load: true,
    check: deep_c_states,
    ..Row::PLAIN
};

pub(super) const MEMORY_BANDWIDTH: Row = Row {
    id: FindingId("memory-bandwidth"),
    title: "test near the memory bandwidth",
    fires: "a test reads more than 60 % of what the memory channels carry at their configured speed",
    why: "Each byte read is written to memory, then read again by the process.",
    source: "arithmetic: 8 bytes per transfer and channel; 66 GiB/s are 35 % of eight channels DDR4-3200 and 138 % of two",
    remedy: "Populate more channels, or use faster memory.",
    risk: Risk::Hardware,
    wrong_if: "Data stays in the CPU cache and is discarded before it reaches memory.",
    needs_load: true,
    is_default: false,
    check: memory_bandwidth,
};

pub(super) const IO_URING_DISABLED: Row = Row {
    id: FindingId("io-uring-disabled"),
    title: "io_uring cannot be used",
    fires: "kernel.io_uring_disabled is not 0, or io_uring_setup was refused",
    why: "The test falls back to an engine that costs more per read, or cannot run.",
    remedy: "sysctl kernel.io_uring_disabled=0; in a container allow it in the seccomp profile.",
    risk: Risk::Live,
    wrong_if: "It was disabled on purpose, for security.",
    check: io_uring_disabled,
    ..Row::PLAIN
};

pub(super) const RING_FEATURES: Row = Row {
    id: FindingId("ring-features"),
    title: "io_uring features missing",
    fires: "io_uring_setup refused a flag (tested, whatever the kernel version)",
    why: "Without them each read costs more CPU time.",
    remedy: "Newer kernels have them: SUBMIT_ALL 5.18, COOP_TASKRUN and TASKRUN_FLAG 5.19, SINGLE_ISSUER 6.0, DEFER_TASKRUN 6.1, NO_SQARRAY 6.6.",
    wrong_if: "The test does not need the feature.",
    check: ring_features,
    ..Row::PLAIN
};

pub(super) const MITIGATIONS: Row = Row {
    id: FindingId("mitigations"),
    title: "CPU vulnerability mitigations",
    fires: "a file of cpu/vulnerabilities contains Mitigation",
    why: "System calls cost more with them. iodyno never recommends disabling them.",
    remedy: "Nothing to do; compare results only between machines with the same mitigations.",
    wrong_if: "Never: the kernel reports it.",
    is_default: true,
    check: mitigations,
    ..Row::PLAIN
};

pub(super) const SMT: Row = Row {
    id: FindingId("smt"),
    title: "two threads per core",
    fires: "/sys/devices/system/cpu/smt/active is 1",
    why: "Two workers can share one core: count cores, not CPUs, when placing them.",
    remedy: "Nothing to do.",
    wrong_if: "Never: the kernel reports it.",
    is_default: true,
    check: smt,
    ..Row::PLAIN
};

pub(super) const MEMORY_BELOW_RATING: Row = Row {
    id: FindingId("memory-below-rating"),
    title: "memory slower than its rating",
    fires: "a memory module's configured speed is below its rated one (SMBIOS type 17; needs root)",
    why: "After a firmware update boards run memory at its lowest speed until the profile is selected again (Regalis, Building a powerful GNU/Linux workstation, 2023).",
    remedy: "Choose the memory profile (XMP, EXPO, DOCP) in the BIOS.",
    risk: Risk::Firmware,
    wrong_if: "The CPU or the number of modules per channel does not allow the rated speed.",
    check: memory_below_rating,
    ..Row::PLAIN
};

fn iommu_translating(inputs: &Inputs) -> Vec<Detection> {
    let mut strict: Vec<(&Drive, Evidence)> = Vec::new();
    let mut lazy: Vec<(&Drive, Evidence)> = Vec::new();
    for drive in inputs.nvme() {
        let Some(node) = drive.node else { continue };
        let reading = &inputs.machine.pci.node(node).iommu_type;
        let Some(proof) = Evidence::of(reading) else { continue };
        match proof.value.as_str() {
            "DMA" => strict.push((drive, proof)),
            "DMA-FQ" => lazy.push((drive, proof)),
            _ => {}
        }
    }
    [
        (strict, Severity::Warning, "strict", "iommu.strict=0, or iommu=pt"),
        (lazy, Severity::Info, "lazy", "iommu=pt"),
    ]
    .into_iter()
    .filter(|(found, ..)| !found.is_empty())
    .map(|(found, severity, mode, argument)| {
        let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
        Detection::new(severity, format!("the IOMMU translates in {mode} mode for {}", names(&drives)))
            .about(drives.into_iter().map(Subject::drive))
            .with_evidence(found.into_iter().map(|(_, proof)| proof))
            .fill("argument", argument)
    })
    .collect()
}

fn governor(inputs: &Inputs) -> Vec<Detection> {
    let slow = |cpu: &Cpu| {
        let driver = cpu.driver.value().map_or("", Label::as_str);
        let managed = matches!(driver, "intel_pstate" | "amd-pstate-epp" | "amd_pstate_epp");
        if !managed && cpu.governor.value().is_some_and(|governor| *governor == *"powersave") {
            return Evidence::of(&cpu.governor);
        }
        cpu.energy_preference
            .value()
            .filter(|preference| **preference == *"power")
            .and(Evidence::of(&cpu.energy_preference))
    };
    let found: Vec<_> = inputs.machine.processors.cpus.iter().filter_map(slow).collect();
    let Some(first) = found.first() else { return Vec::new() };
    let (file, count) = (first.path.rsplit('/').next().unwrap_or_default(), found.len());
    let title = format!("{file} is {} on {}", first.value, units::counted(count, "CPU"));
    let command = format!("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/{file}");
    vec![
        Detection::new(Severity::Warning, title)
            .about([Subject::cpus()])
            .with_command(Some(command))
            .with_evidence(found.into_iter().take(4)),
    ]
}

/// Exit latency from which an idle state counts as deep, microseconds.
const DEEP_MICROS: u64 = 50;

/// Interrupts, or entries of a deep state, per read of a test from which a CPU counts as waiting for the reads. Other
/// idle CPUs sleep as deeply, but no read waits for them.
const PER_READ: f64 = 0.1;

/// A CPU that waits for reads in deep idle states.
struct Sleeper {
    cpu: u32,
    /// Per second.
    entries: f64,
    /// Number of the deep state it enters most.
    state: u32,
}

fn deep_c_states(inputs: &Inputs) -> Vec<Detection> {
    let (true, Some(rates)) = (inputs.is_depth_one(), inputs.rates) else { return Vec::new() };
    let tested = rates.disks.iter().filter(|(name, _)| inputs.is_tested(name)).map(|(_, disk)| disk);
    // The test keeps one read in flight per drive: of several drives, the fastest is most sensitive.
    let Some(disk) = tested.max_by(|a, b| a.reads.total_cmp(&b.reads)).filter(|disk| disk.reads > 0.0) else {
        return Vec::new();
    };
    let sleepers = sleepers(inputs, rates, disk.reads);
    let Some(worst) = sleepers.iter().max_by(|a, b| a.entries.total_cmp(&b.entries)) else {
        return Vec::new();
    };
    let states = &inputs.machine.processors.idle_states;
    let Some(state) = states.get(worst.state as usize) else { return Vec::new() };
    let (Some(name), Some(latency)) = (state.name.value(), state.latency_us.get()) else { return Vec::new() };
    let title = format!(
        "cpu{} enters {name} {} times a second between {} reads; waking takes up to {latency} us",
        worst.cpu,
        units::count(worst.entries),
        units::count(disk.reads)
    );
    let read = disk.read_await_ms.map_or_else(
        || "a read".to_owned(),
        |milliseconds| format!("the {:.0} us of a read", milliseconds * 1000.0),
    );
    let used = sleepers.iter().map(|sleeper| {
        let path = format!("/sys/devices/system/cpu/cpu{}/cpuidle/state{}/usage", sleeper.cpu, sleeper.state);
        Evidence::new(path, format!("+{}/s", units::count(sleeper.entries)))
    });
    vec![
        Detection::new(Severity::Info, title)
            .about(sleepers.iter().map(|sleeper| Subject::cpu(sleeper.cpu)))
            .with_evidence([Evidence::new(&**state.latency_us.path(), format!("{name} {latency} us"))])
            .with_evidence(used)
            .with_gain(Gain::words(
                format!("at most {latency} us of {read}"),
                "the state's own latency (cpuidle/state*/latency)",
            )),
    ]
}

/// The CPUs that wait for the test's reads in deep idle states.
fn sleepers(inputs: &Inputs, rates: &Rates, reads: f64) -> Vec<Sleeper> {
    let is_deep = |state: &IdleState| state.latency_us.get().is_some_and(|us| us >= DEEP_MICROS);
    let states = &inputs.machine.processors.idle_states;
    let deep: Vec<u32> = (0..).zip(states).filter(|(_, state)| is_deep(state)).map(|(at, _)| at).collect();
    // Columns of /proc/interrupts are the online CPUs, in order.
    rates
        .cpus
        .keys()
        .zip(&rates.interrupts)
        .filter(|(_, interrupts)| **interrupts >= PER_READ * reads)
        .filter_map(|(cpu, _)| {
            let entered = |state: u32| rates.idle.get(&(*cpu, state)).copied().unwrap_or(0.0);
            let entries: f64 = deep.iter().map(|state| entered(*state)).sum();
            let state = deep.iter().copied().max_by(|a, b| entered(*a).total_cmp(&entered(*b)))?;
            (entries >= PER_READ * reads).then_some(Sleeper { cpu: *cpu, entries, state })
        })
        .collect()
}

/// Share of the peak rate that memory rarely exceeds.
const MEMORY_SHARE: f64 = 0.6;

fn memory_bandwidth(inputs: &Inputs) -> Vec<Detection> {
    let Some(memory) = &inputs.limits.memory else { return Vec::new() };
    let Some(read) = inputs.load.and_then(|load| load.summary).map(RunSummary::bytes_per_second) else {
        return Vec::new();
    };
    let peak = memory.bytes_per_second.0;
    if read <= peak * MEMORY_SHARE {
        return Vec::new();
    }
    let percent = 100.0 * read / peak;
    let title = format!("the test reads {}, {percent:.0} % of what memory carries", inputs.rate(read));
    let proof = Evidence::new(
        &**inputs.machine.host.modules.path(),
        format!("{}: {}", memory.because, inputs.rate(peak)),
    );
    vec![Detection::new(Severity::Warning, title).about([Subject::host()]).with_evidence([proof])]
}

fn io_uring_disabled(inputs: &Inputs) -> Vec<Detection> {
    let host = &inputs.machine.host;
    let is_root = host.root.get() == Some(true);
    let switched = host.io_uring_disabled.get().filter(|level| *level > 0);
    let refused = matches!(
        host.io_uring.problem().map(|problem| problem.kind),
        Some(crate::model::ProblemKind::Denied | crate::model::ProblemKind::Malformed)
    );
    if switched.is_none() && !refused {
        return Vec::new();
    }
    // Level 1 denies it to unprivileged users only.
    let harmless = switched == Some(1) && is_root && !refused;
    let title = match switched {
        Some(1) => "io_uring is for privileged users only",
        Some(_) => "io_uring is switched off",
        None => "the kernel refused io_uring_setup",
    };
    let probe = host
        .io_uring
        .problem()
        .map(|problem| Evidence::new(&*problem.path, &*problem.reason))
        .filter(|_| refused);
    vec![
        Detection::new(if harmless { Severity::Info } else { Severity::Warning }, title)
            .about([Subject::host()])
            .with_evidence(Evidence::of(&host.io_uring_disabled))
            .with_evidence(probe)
            .with_command(switched.map(|_| "sudo sysctl kernel.io_uring_disabled=0".to_owned())),
    ]
}

fn ring_features(inputs: &Inputs) -> Vec<Detection> {
    let reading = &inputs.machine.host.io_uring;
    let Some(ring) = reading.value().filter(|ring| !ring.refused.is_empty()) else { return Vec::new() };
    let flags: Vec<_> = ring.refused.iter().map(|(flag, _)| &**flag).collect();
    let proofs = ring
        .refused
        .iter()
        .map(|(flag, errno)| Evidence::new(&**reading.path(), format!("{flag} refused: {errno}")));
    vec![
        Detection::new(Severity::Info, format!("io_uring features missing: {}", flags.join(", ")))
            .about([Subject::host()])
            .with_evidence(proofs),
    ]
}

fn mitigations(inputs: &Inputs) -> Vec<Detection> {
    let found: Vec<_> = inputs
        .machine
        .processors
        .vulnerabilities
        .values()
        .filter(|state| state.value().is_some_and(|text| text.as_str().starts_with("Mitigation")))
        .filter_map(Evidence::of)
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let title = format!("{} of CPU vulnerabilities active", units::counted(found.len(), "mitigation"));
    vec![
        Detection::new(Severity::Info, title)
            .about([Subject::cpus()])
            .with_evidence(found)
            .with_gain(Gain::words("none", ""))
            .with_default(),
    ]
}

fn smt(inputs: &Inputs) -> Vec<Detection> {
    let reading = &inputs.machine.processors.smt_active;
    if reading.get() != Some(true) {
        return Vec::new();
    }
    vec![
        Detection::new(Severity::Info, "two threads per core")
            .about([Subject::cpus()])
            .with_evidence([Evidence::new(&**reading.path(), "1")])
            .with_gain(Gain::words("none", ""))
            .with_default(),
    ]
}

fn memory_below_rating(inputs: &Inputs) -> Vec<Detection> {
    let reading: &Reading<Vec<MemoryModule>> = &inputs.machine.host.modules;
    let mut groups: BTreeMap<(u32, u32), Vec<&MemoryModule>> = BTreeMap::new();
    for module in reading.value().into_iter().flatten() {
        if let (Some(rated), Some(now)) = (module.rated_mts, module.configured_mts)
            && now > 0
            && now < rated
        {
            groups.entry((now, rated)).or_default().push(module);
        }
    }
    groups
        .into_iter()
        .map(|((now, rated), modules)| {
            // A step or two below is normal for a full board or an older CPU.
            let severity = if now * 10 <= rated * 9 { Severity::Warning } else { Severity::Info };
            let title = units::counted_with_verb(modules.len(), "memory module", ("runs", "run"));
            let title = format!("{title} at {now} MT/s, rated {rated}");
            Detection::new(severity, title)
                .about([Subject::host()])
                .with_gain(Gain::unknown("SMBIOS: configured against rated speed"))
                .with_evidence(modules.iter().map(|module| {
                    Evidence::new(&**reading.path(), format!("{}: {now} of {rated} MT/s", module.locator))
                }))
        })
        .collect()
}
