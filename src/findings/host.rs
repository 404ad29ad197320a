//! The host: IOMMU, CPU frequency and idle governors, memory, io_uring, mitigations.

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    inputs::{drives, grouped, interrupts_by_cpu, names},
};
use crate::{
    counters::Rates,
    machine::{Cpu, Drive, IdleState, MemoryModule},
    model::{FindingId, Problem, ProblemKind, Reading, Severity},
    text::Label,
    units,
};

pub(super) const IOMMU_TRANSLATING: Row = Row {
    id: FindingId("iommu-translating"),
    title: "IOMMU translates the drives' addresses",
    fires: "the IOMMU group of a drive is of type DMA (strict: a warning) or DMA-FQ (lazy: information); identity is silent",
    why: "Every read maps and unmaps its buffers; strict mode also waits for the IOTLB flush.",
    remedy: "Kernel argument {argument}. Passthrough disables DMA protection: a device can then reach all memory.",
    generally: "Kernel argument iommu=pt. Passthrough disables DMA protection: a device can then reach all memory.",
    risk: Risk::Reboot,
    wrong_if: "Only a test shows the cost; registered buffers (--fixedbufs) are mapped per read too.",
    of_machine: true,
    check: Check::Many(iommu_translating),
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
    of_machine: true,
    check: Check::One(governor),
    ..Row::PLAIN
};

pub(super) const DEEP_C_STATES: Row = Row {
    id: FindingId("deep-c-states"),
    title: "CPUs enter deep C-states between reads",
    fires: "a CPU that takes the interrupts of a load with one I/O in flight enters an idle state with an exit latency of 50 us \
            or more, at least once per ten reads (cpuidle/state*/usage)",
    why: "The completion's interrupt has to wake the core first.",
    remedy: "Hold /dev/cpu_dma_latency open at 0 during the test; closing the file undoes it.",
    risk: Risk::Live,
    wrong_if: "The stated exit latency is a maximum; most wake-ups are shorter.",
    needs_load: true,
    live: |inputs| inputs.has_live_depth_one() && inputs.rates.is_some_and(|rates| !rates.idle.is_empty()),
    check: Check::One(deep_c_states),
    ..Row::PLAIN
};

pub(super) const MEMORY_BANDWIDTH: Row = Row {
    id: FindingId("memory-bandwidth"),
    title: "test near the memory bandwidth",
    fires: "a test or the other load reads more than 60 % of what the memory channels carry at their configured speed",
    why: "Each byte read is written to memory, then read again by the process.",
    source: "arithmetic: 8 bytes per transfer and channel; 66 GiB/s are 35 % of eight channels DDR4-3200 and 138 % of two",
    remedy: "Populate more channels, or use faster memory.",
    risk: Risk::Hardware,
    wrong_if: "Data stays in the CPU cache and is discarded before it reaches memory.",
    needs_load: true,
    live: |inputs| inputs.limits.memory.is_some() && inputs.has_live_load(),
    check: Check::One(memory_bandwidth),
    ..Row::PLAIN
};

pub(super) const IO_URING_DISABLED: Row = Row {
    id: FindingId("io-uring-disabled"),
    title: "io_uring cannot be used",
    fires: "kernel.io_uring_disabled is not 0, or io_uring_setup was refused",
    why: "The test falls back to an engine that costs more per read, or cannot run.",
    remedy: "sysctl kernel.io_uring_disabled=0; in a container allow it in the seccomp profile.",
    risk: Risk::Live,
    wrong_if: "It was disabled on purpose, for security.",
    of_machine: true,
    check: Check::One(io_uring_disabled),
    ..Row::PLAIN
};

pub(super) const RING_FEATURES: Row = Row {
    id: FindingId("ring-features"),
    title: "io_uring features missing",
    fires: "io_uring_setup refused a flag (tested, whatever the kernel version)",
    why: "Without them each read costs more CPU time.",
    remedy: "Newer kernels have them: SUBMIT_ALL 5.18, COOP_TASKRUN and TASKRUN_FLAG 5.19, SINGLE_ISSUER 6.0, DEFER_TASKRUN 6.1, NO_SQARRAY 6.6.",
    wrong_if: "The test does not need the feature.",
    of_machine: true,
    check: Check::One(ring_features),
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
    of_machine: true,
    check: Check::One(mitigations),
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
    of_machine: true,
    check: Check::One(smt),
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
    of_machine: true,
    check: Check::Many(memory_below_rating),
    ..Row::PLAIN
};

fn iommu_translating(inputs: &Inputs) -> Vec<Detection> {
    let of_type = |kind: &str| -> Vec<(&Drive, Option<Evidence>)> {
        let reading = |drive: &Drive| Some(&inputs.machine.pci.node(drive.node?).iommu_type);
        let is_it = |reading: &&Reading<Label>| reading.value().is_some_and(|value| *value == *kind);
        let found = inputs.nvme().filter_map(|drive| Some((drive, reading(drive).filter(is_it)?)));
        found.map(|(drive, reading)| (drive, Evidence::of(reading))).collect()
    };
    [
        ("DMA", Severity::Warning, "strict", "iommu.strict=0, or iommu=pt"),
        ("DMA-FQ", Severity::Info, "lazy", "iommu=pt"),
    ]
    .into_iter()
    .filter_map(|(kind, severity, mode, argument)| {
        let found = of_type(kind);
        let title = format!("the IOMMU translates in {mode} mode for {}", names(&drives(&found)));
        Some(Detection::of_drives(severity, title, found)?.fill("argument", argument))
    })
    .collect()
}

fn governor(inputs: &Inputs) -> Option<Detection> {
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
    let first = found.first()?;
    let (file, count) = (first.path.rsplit('/').next().unwrap_or_default(), found.len());
    let title = format!("{file} is {} on {}", first.value, units::counted(count, "CPU"));
    let command = format!("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/{file}");
    Some(
        Detection::new(Severity::Warning, title)
            .about([Subject::cpus()])
            .with_command(Some(command))
            .with_evidence(found.into_iter().take(4)),
    )
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

fn deep_c_states(inputs: &Inputs) -> Option<Detection> {
    let rates = inputs.rates?;
    let one = inputs.hardware_at_depth_one();
    let tested = one.filter_map(|drive| rates.disks.get(&drive.name));
    // One read is in flight per drive: of several drives, the fastest is most sensitive.
    let disk = tested.max_by(|a, b| a.reads.total_cmp(&b.reads)).filter(|disk| disk.reads > 0.0)?;
    let sleepers = sleepers(inputs, rates, disk.reads);
    let worst = sleepers.iter().max_by(|a, b| a.entries.total_cmp(&b.entries))?;
    let state = inputs.machine.processors.idle_states.get(worst.state as usize)?;
    let (name, latency) = (state.name.value()?, state.latency_us.get()?);
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
    Some(
        Detection::new(Severity::Info, title)
            .about(sleepers.iter().map(|sleeper| Subject::cpu(sleeper.cpu)))
            .with_evidence([Evidence::at(&state.latency_us, format!("{name} {latency} us"))])
            .with_evidence(used)
            .with_gain(Gain::words(
                format!("at most {latency} us of {read}"),
                "the state's own latency (cpuidle/state*/latency)",
            )),
    )
}

/// The CPUs that wait for the test's reads in deep idle states.
fn sleepers(inputs: &Inputs, rates: &Rates, reads: f64) -> Vec<Sleeper> {
    let is_deep = |state: &IdleState| state.latency_us.get().is_some_and(|us| us >= DEEP_MICROS);
    let states = &inputs.machine.processors.idle_states;
    let deep: Vec<u32> = (0..).zip(states).filter(|(_, state)| is_deep(state)).map(|(at, _)| at).collect();
    interrupts_by_cpu(rates)
        .iter()
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

fn memory_bandwidth(inputs: &Inputs) -> Option<Detection> {
    let memory = inputs.limits.memory.as_ref()?;
    let read = match inputs.load {
        Some(load) => load.summary?.bytes_per_second(),
        None => inputs.live_reads()?,
    };
    let who = if inputs.load.is_some() { "the test reads" } else { "the drives read" };
    let peak = memory.bytes_per_second.0;
    let percent = 100.0 * read / peak;
    let title = format!("{who} {}, {percent:.0} % of what memory carries", inputs.rate(read));
    let proof =
        Evidence::at(&inputs.machine.host.modules, format!("{}: {}", memory.because, inputs.rate(peak)));
    (read > peak * MEMORY_SHARE)
        .then(|| Detection::new(Severity::Warning, title).about([Subject::host()]).with_evidence([proof]))
}

fn io_uring_disabled(inputs: &Inputs) -> Option<Detection> {
    let host = &inputs.machine.host;
    let is_root = host.root.get() == Some(true);
    let switched = host.io_uring_disabled.get().filter(|level| *level > 0);
    let is_refusal = |problem: &Problem| matches!(problem.kind, ProblemKind::Denied | ProblemKind::Malformed);
    let refusal = host.io_uring.problem().filter(is_refusal);
    // Level 1 denies it to unprivileged users only.
    let harmless = switched == Some(1) && is_root && refusal.is_none();
    let title = match (switched, &refusal) {
        (Some(1), _) => "io_uring is for privileged users only",
        (Some(_), _) => "io_uring is switched off",
        (None, Some(_)) => "the kernel refused io_uring_setup",
        (None, None) => return None,
    };
    let probe = refusal.map(|problem| Evidence::new(&*problem.path, &*problem.reason));
    Some(
        Detection::new(if harmless { Severity::Info } else { Severity::Warning }, title)
            .about([Subject::host()])
            .with_evidence(Evidence::of(&host.io_uring_disabled))
            .with_evidence(probe)
            .with_command(switched.map(|_| "sudo sysctl kernel.io_uring_disabled=0".to_owned())),
    )
}

fn ring_features(inputs: &Inputs) -> Option<Detection> {
    let reading = &inputs.machine.host.io_uring;
    let refused = &reading.value().filter(|ring| !ring.refused.is_empty())?.refused;
    let flags: Vec<_> = refused.iter().map(|(flag, _)| &**flag).collect();
    let proofs =
        refused.iter().map(|(flag, errno)| Evidence::at(reading, format!("{flag} refused: {errno}")));
    let title = format!("io_uring features missing: {}", flags.join(", "));
    Some(Detection::new(Severity::Info, title).about([Subject::host()]).with_evidence(proofs))
}

fn mitigations(inputs: &Inputs) -> Option<Detection> {
    let is_active =
        |state: &&Reading<Label>| state.value().is_some_and(|text| text.as_str().starts_with("Mitigation"));
    let states = inputs.machine.processors.vulnerabilities.values();
    let found: Vec<_> = states.filter(is_active).filter_map(Evidence::of).collect();
    let title = format!("{} of CPU vulnerabilities active", units::counted(found.len(), "mitigation"));
    (!found.is_empty()).then(|| about_cpus(title, found))
}

fn smt(inputs: &Inputs) -> Option<Detection> {
    let reading = &inputs.machine.processors.smt_active;
    let proof = Evidence::at(reading, "1");
    (reading.get() == Some(true)).then(|| about_cpus("two threads per core", vec![proof]))
}

fn about_cpus(title: impl Into<String>, evidence: Vec<Evidence>) -> Detection {
    Detection::new(Severity::Info, title)
        .about([Subject::cpus()])
        .with_evidence(evidence)
        .with_gain(Gain::words("none", ""))
        .with_default(true)
}

fn memory_below_rating(inputs: &Inputs) -> Vec<Detection> {
    let reading = &inputs.machine.host.modules;
    let found = reading.value().into_iter().flatten().filter_map(|module| {
        let speeds = (module.configured_mts?, module.rated_mts?);
        (speeds.0 > 0 && speeds.0 < speeds.1).then_some((speeds, module))
    });
    let detection = |((now, rated), modules): ((u32, u32), Vec<&MemoryModule>)| {
        // A step or two below is normal for a full board or an older CPU.
        let severity = if now * 10 <= rated * 9 { Severity::Warning } else { Severity::Info };
        let title = units::counted_with_verb(modules.len(), "memory module", ("runs", "run"));
        let proof = |module: &MemoryModule| {
            Evidence::at(reading, format!("{}: {now} of {rated} MT/s", module.locator))
        };
        Detection::new(severity, format!("{title} at {now} MT/s, rated {rated}"))
            .about([Subject::host()])
            .with_gain(Gain::unknown("SMBIOS: configured against rated speed"))
            .with_evidence(modules.into_iter().map(proof))
    };
    grouped(found).into_iter().map(detection).collect()
}
