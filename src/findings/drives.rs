//! Drives: LBA format, health, temperature, queues, multipath, power states.

use std::fmt::Write as _;

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    in_use::why_no_command,
    inputs::{drives, grouped, names, shell_names, verb},
};
use crate::{
    machine::{Drive, LbaFormat, Machine, drive::Controller},
    model::{DriveName, FindingId, Reading, Severity},
    units::counted,
};

pub(super) const LBA_512: Row = Row {
    id: FindingId("lba-512"),
    title: "512 B blocks, 4096 B available",
    fires: "an NVMe namespace uses 512 B blocks and offers a format with 4096 B data, the same metadata and no worse relative \
            performance: a warning when the drive itself rates it better, information when equal",
    why: "Many drives process 4096 B blocks with less internal work. The drive rates each format: best, better, good or \
          degraded (relative performance 0 to 3). Before a test there is no other figure.",
    source: "the drive's own relative performance (Identify Namespace, LBAF)",
    remedy: "{remedy}",
    generally: "Format the namespace with 4096 B blocks (nvme format), which destroys all its data, after a backup.",
    risk: Risk::DestroysData,
    wrong_if: "Drives rate formats carelessly; only a test before and after shows the gain.",
    of_machine: true,
    check: Check::Many(lba_512),
    ..Row::PLAIN
};

pub(super) const DRIVE_HOT: Row = Row {
    id: FindingId("drive-hot"),
    title: "drive near its temperature limit",
    fires: "temp1_input is within 5 degrees of temp1_max, or the thermal counters of the SMART log moved during a test: transitions of \
            thermal management, minutes above the warning or critical temperature",
    why: "A hot drive throttles: a test on it measures the cooling.",
    remedy: "Add airflow or a heat sink; discard results taken while hot.",
    risk: Risk::Hardware,
    wrong_if: "The sensor's threshold is a default of the kernel rather than the drive's.",
    needs_load: true,
    check: Check::Many(drive_hot),
    ..Row::PLAIN
};

pub(super) const DRIVE_WORN: Row = Row {
    id: FindingId("drive-worn"),
    title: "drive reports wear or errors",
    fires: "SMART: percentage used at 80 or above, available spare at or under its threshold, a critical warning, media errors",
    why: "The drive reports a higher risk of data loss.",
    remedy: "Back up its data and plan its replacement.",
    wrong_if: "Percentage used is the vendor's estimate of endurance, not a failure; drives often work past 100.",
    of_machine: true,
    check: Check::Many(drive_worn),
    ..Row::PLAIN
};

pub(super) const FEW_QUEUES: Row = Row {
    id: FindingId("few-queues"),
    title: "fewer queues than CPUs",
    fires: "a drive has fewer default hardware queues than CPUs online",
    why: "CPUs share a submission queue and its lock, and fewer CPUs take interrupts.",
    remedy: "Information only: usually the limit of the firmware or of interrupt vectors.",
    wrong_if: "Queues were reassigned on purpose (poll or write queues).",
    of_machine: true,
    check: Check::Many(few_queues),
    ..Row::PLAIN
};

pub(super) const NO_POLL_QUEUES: Row = Row {
    id: FindingId("no-poll-queues"),
    title: "no poll queues",
    fires: "queue/io_poll is 0 or no hardware queue is of type poll; a warning while a test asks for polled completions",
    why: "Polled completions (--hipri) cannot be used. They need O_DIRECT and keep the polling CPU busy.",
    source: "Jacob Pan's posted MSI patches: 14.37 -> 20.36 M reads/s on four Optane drives",
    remedy: "Kernel argument nvme.poll_queues=N; or write the module parameter and rebind the drive while nothing uses it. Never \
             reset a controller that was probed without poll queues: some of its I/O then stalls for 30 s.",
    risk: Risk::Reboot,
    wrong_if: "Interrupt completions are fast enough, as in most cases.",
    is_default: true,
    check: Check::One(no_poll_queues),
    ..Row::PLAIN
};

pub(super) const REMOTE_NUMA: Row = Row {
    id: FindingId("remote-numa"),
    title: "test runs on a remote NUMA node",
    fires: "the CPUs that a load keeps busy belong to another NUMA node than device/numa_node of the drive; -1 is normal \
            on desktops: no node is known",
    why: "Data crosses the link between NUMA nodes.",
    remedy: "Pin the workers to the drive's CPUs ({cpus}).",
    generally: "Pin the workers to CPUs of the drive's node (--cpus_allowed).",
    risk: Risk::Live,
    wrong_if: "Another process keeps those CPUs busy.",
    needs_load: true,
    live: |inputs| inputs.has_live_load(),
    check: Check::Many(remote_numa),
    ..Row::PLAIN
};

pub(super) const MULTIPATH: Row = Row {
    id: FindingId("multipath"),
    title: "native multipath",
    fires: "a namespace has hidden path devices (nvmeXcYnZ)",
    why: "Each path has its own scheduler, queue and link; the subsystem's iopolicy selects the path.",
    remedy: "Information only.",
    wrong_if: "The drive has one path, as nearly all do.",
    of_machine: true,
    check: Check::Many(multipath),
    ..Row::PLAIN
};

pub(super) const APST_LATENCY: Row = Row {
    id: FindingId("apst-latency"),
    title: "drive power saving between reads",
    fires: "autonomous power state transitions are on (feature 0x0c) while a load with one I/O in flight runs on the drive",
    why: "A read waits for a drive in a power-saving state to wake.",
    remedy: "Lower the latency tolerance during the test (0 disables states with an exit latency).",
    risk: Risk::Live,
    wrong_if: "Reads arrive before the drive enters such a state, as in most tests.",
    needs_load: true,
    live: |inputs| inputs.has_live_depth_one(),
    check: Check::One(apst_latency),
    ..Row::PLAIN
};

/// A drive, its LBA format in use, and the better one.
type Formats<'a> = (&'a Drive, (LbaFormat, LbaFormat));

fn lba_512(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.nvme().filter_map(|drive| {
        let (now, other) = drive.better_format()?;
        Some(((now.relative_performance, other.relative_performance), (drive, (now, other))))
    });
    grouped(found).into_values().map(|found| lba_group(inputs.machine, &found)).collect()
}

const PERFORMANCE: [&str; 4] = ["best", "better", "good", "degraded"];

fn lba_group(machine: &Machine, found: &[Formats]) -> Detection {
    let drives = drives(found);
    let word = |format: &LbaFormat| PERFORMANCE[usize::from(format.relative_performance.min(3))];
    let its = verb(&drives, "its", "their");
    let is_better =
        found.iter().any(|(_, (now, other))| other.relative_performance < now.relative_performance);
    let (severity, verdict) = if is_better {
        (Severity::Warning, format!("by {its} own rating 4096 B are faster"))
    } else {
        (Severity::Info, format!("by {its} own rating 4096 B are as fast"))
    };
    let title = format!("{} {} 512 B blocks; {verdict}", names(&drives), verb(&drives, "uses", "use"));
    let proofs = found.iter().flat_map(|(drive, (now, other))| {
        let path = drive.nvme.as_ref().map(|nvme| nvme.namespace.path()).unwrap_or_default();
        [(now, "in use"), (other, "offered")].map(|(format, state)| {
            let value = format!(
                "LBA format {}: {} B data, {} B metadata, relative performance {} ({}), {state}",
                format.index,
                format.data_bytes.unwrap_or(0),
                format.metadata_bytes,
                format.relative_performance,
                word(format)
            );
            // A text has a line for each format.
            match machine.pasted {
                Some(_) => Evidence::new(format!("{path} LBA format {}", format.index), value),
                None => Evidence::new(&*path, value),
            }
        })
    });
    Detection::new(severity, title)
        .about(drives.iter().map(|drive| Subject::drive(drive)))
        .with_evidence(proofs)
        .with_gain(Gain::words("unknown until measured", LBA_512.source))
        .fill("remedy", format_advice(machine, &drives))
        .with_command(format_command(machine, found))
}

fn identity(drive: &Drive) -> Option<&Controller> {
    drive.nvme.as_ref()?.identity.value()
}

fn format_advice(machine: &Machine, drives: &[&Drive]) -> String {
    let mut advice =
        "Formatting to 4096 B destroys all data on the drive; do it before first use, never after."
            .to_owned();
    if drives.iter().any(|drive| identity(drive).is_some_and(|identity| identity.format_all)) {
        advice.push_str(" A format of this controller applies to every namespace it has.");
    }
    let refused: Vec<(&Drive, String)> =
        drives.iter().filter_map(|drive| Some((*drive, why_no_format(machine, drive)?))).collect();
    if let Some((_, why)) = refused.first() {
        let and_others = if refused.len() > 1 { ", for instance" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(advice, " No command for {}{and_others}: {why}.", names(&self::drives(&refused)));
    }
    if drives.iter().any(|drive| identity(drive).is_some_and(|identity| !identity.format_supported)) {
        advice.push_str(" Not every controller here supports Format NVM.");
    }
    advice
}

fn why_no_format(machine: &Machine, drive: &Drive) -> Option<String> {
    why_no_command(machine, drive, identity(drive).is_none_or(|identity| identity.format_all))
}

/// `nvme format` for each drive that supports it and that nothing uses.
fn format_command(machine: &Machine, found: &[Formats]) -> Option<String> {
    let commands: Vec<_> = found
        .iter()
        .filter(|(drive, ..)| identity(drive).is_some_and(|identity| identity.format_supported))
        .filter(|(drive, ..)| why_no_format(machine, drive).is_none())
        .filter_map(|(drive, (_, other))| {
            Some(format!("nvme format --lbaf={} /dev/{}", other.index, shell_names(&[*drive])?))
        })
        .collect();
    (!commands.is_empty()).then(|| commands.join("; "))
}

/// Degrees below the threshold at which a drive counts as near it.
const NEAR_CELSIUS: f64 = 5.0;

fn drive_hot(inputs: &Inputs) -> Vec<Detection> {
    inputs.machine.hardware_drives().filter_map(|drive| hot(inputs, drive)).collect()
}

fn hot(inputs: &Inputs, drive: &Drive) -> Option<Detection> {
    let temperature = drive.temperature.as_ref()?;
    let now = temperature.now.get()?;
    // Drives without a threshold report zero or less.
    let threshold = |reading: &Reading<f64>| reading.get().filter(|celsius| *celsius > 0.0);
    let (max, critical) = (threshold(&temperature.max), threshold(&temperature.critical));
    let limit = max.or(critical);
    let heat = match (limit, critical) {
        (_, Some(critical)) if now >= critical => Some(Severity::High),
        (Some(max), _) if now >= max => Some(Severity::Warning),
        (Some(max), _) if now >= max - NEAR_CELSIUS => Some(Severity::Info),
        _ => None,
    };
    let watch = inputs.load.and_then(|load| load.watch);
    let throttled = watch.map_or_else(Vec::new, |watch| watch.throttling(inputs.machine, &drive.name));
    let severity = heat.max((!throttled.is_empty()).then_some(Severity::Warning))?;
    let of = limit.map_or_else(String::new, |limit| format!(" of {limit:.0} °C"));
    let during = if throttled.is_empty() { "" } else { "; during the test " };
    let title = format!("{}: {now:.0} °C{of}{during}{}", drive.name, throttled.join(", "));
    let log = drive.nvme.as_ref().map(|nvme| nvme.smart.path()).unwrap_or_default();
    let degrees = |reading: &Reading<f64>| {
        reading.get().map(|celsius| Evidence::at(reading, format!("{celsius:.0} °C")))
    };
    let proofs = [&temperature.now, &temperature.max, &temperature.critical].into_iter().filter_map(degrees);
    Some(
        Detection::new(severity, title)
            .about([Subject::drive(drive)])
            .with_evidence(proofs)
            .with_evidence(throttled.into_iter().map(|what| Evidence::new(&*log, what))),
    )
}

fn drive_worn(inputs: &Inputs) -> Vec<Detection> {
    inputs.nvme().filter_map(worn).collect()
}

fn worn(drive: &Drive) -> Option<Detection> {
    let reading = &drive.nvme.as_ref()?.smart;
    let smart = reading.value()?;
    let (spare, threshold, used) = (smart.spare_percent, smart.spare_threshold_percent, smart.used_percent);
    let warnings = critical_warnings(smart.critical_warning);
    let signs = [
        (!warnings.is_empty(), Severity::High, format!("warns of {}", warnings.join(", "))),
        (
            threshold > 0 && spare <= threshold,
            Severity::High,
            format!("spare {spare} %, threshold {threshold} %"),
        ),
        (smart.media_errors > 0, Severity::Warning, format!("media errors {}", smart.media_errors)),
        (used >= 80, if used >= 100 { Severity::Warning } else { Severity::Info }, format!("{used} % used")),
    ];
    let signs: Vec<_> = signs.into_iter().filter(|(applies, ..)| *applies).collect();
    let severity = signs.iter().map(|(_, severity, _)| *severity).max()?;
    let words: Vec<_> = signs.into_iter().map(|(.., words)| words).collect();
    let title = format!("{}: {}", drive.name, words.join(", "));
    let proofs = words.into_iter().map(|words| Evidence::at(reading, words));
    Some(Detection::new(severity, title).about([Subject::drive(drive)]).with_evidence(proofs))
}

/// Bits of the SMART log's Critical Warning (NVMe base 5.16.1.3). Bit 1 is the temperature, which is no wear:
/// `drive-hot`.
fn critical_warnings(bits: u8) -> Vec<String> {
    const WORDS: [(u8, &str); 5] = [
        (0, "low spare"),
        (2, "degraded reliability"),
        (3, "read-only media"),
        (4, "failed volatile memory backup"),
        (5, "read-only or unreliable persistent memory region"),
    ];
    let known = WORDS.iter().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, words)| (*words).to_owned());
    let unknown = bits & 0b1100_0000;
    known.chain((unknown != 0).then(|| format!("unknown bits {unknown:#04x}"))).collect()
}

fn few_queues(inputs: &Inputs) -> Vec<Detection> {
    let cpus = inputs.machine.processors.count();
    let found = inputs.nvme().filter_map(|drive| {
        let reading = &drive.queue.hardware_queues;
        let queues = reading.get()?.default;
        let proof = Evidence::at(reading, format!("{queues} default queues"));
        (queues > 0 && (queues as usize) < cpus).then_some((queues, (drive, [proof])))
    });
    let detection = |(queues, found): (u32, Vec<_>)| {
        let drives = drives(&found);
        let (queues, each) = (counted(queues as usize, "queue"), verb(&drives, "", " each"));
        let title = format!("{}: {queues}{each} for {cpus} CPUs", names(&drives));
        Detection::of_drives(Severity::Info, title, found)
    };
    grouped(found).into_iter().filter_map(detection).collect()
}

fn no_poll_queues(inputs: &Inputs) -> Option<Detection> {
    let lacks_them = |drive: &&Drive| match (drive.queue.io_poll.get(), drive.queue.hardware_queues.get()) {
        (Some(on), _) => on == 0,
        (None, Some(queues)) => queues.poll == 0,
        (None, None) => false,
    };
    let polls = inputs.load.is_some_and(|load| load.workload.hipri);
    let found = inputs.nvme().filter(lacks_them).map(|drive| (drive, Evidence::of(&drive.queue.io_poll)));
    let (asked, others): (Vec<_>, Vec<_>) =
        found.partition(|(drive, _)| polls && inputs.is_tested(&drive.name));
    let is_default = asked.is_empty();
    let (found, severity) = if is_default { (others, Severity::Info) } else { (asked, Severity::Warning) };
    let drives = drives(&found);
    let title = format!("{} {} no poll queues", names(&drives), verb(&drives, "has", "have"));
    let parameter = inputs.machine.host.module_parameters.get("nvme/poll_queues").and_then(Evidence::of);
    let detection = Detection::of_drives(severity, title, found)?;
    Some(detection.with_evidence(parameter).with_default(is_default))
}

/// CPU time in percent from which a CPU counts as running the test.
const BUSY_PERCENT: f64 = 20.0;

fn remote_numa(inputs: &Inputs) -> Vec<Detection> {
    let processors = &inputs.machine.processors;
    let (Some(rates), true) = (inputs.rates, processors.numa.len() > 1) else { return Vec::new() };
    let busy = rates.cpus.iter().filter(|(_, cpu)| cpu.usr + cpu.sys >= BUSY_PERCENT);
    let busy: Vec<u32> = busy.map(|(number, _)| *number).collect();
    let list = busy.iter().map(|cpu| format!("cpu{cpu}")).collect::<Vec<_>>().join(" ");
    let remote = |drive: &Drive| {
        let home = drive.numa_node.get()??;
        let near = processors.numa.get(&home)?;
        let local = inputs.machine.pci.node(drive.node?).local_cpus.value();
        let cpus = local.map_or_else(|| format!("node {home}"), ToString::to_string);
        let is_remote = !busy.is_empty() && !busy.iter().any(|cpu| near.contains(cpu));
        let title = format!("{}: on NUMA node {home}, the busy CPUs are not", drive.name);
        is_remote.then(|| {
            Detection::new(Severity::Warning, title)
                .about([Subject::drive(drive)])
                .with_evidence([
                    Evidence::at(&drive.numa_node, home.to_string()),
                    Evidence::new("/proc/stat", format!("busy: {list}")),
                ])
                .fill("cpus", cpus)
        })
    };
    inputs.loaded_nvme().filter_map(remote).collect()
}

fn multipath(inputs: &Inputs) -> Vec<Detection> {
    inputs.nvme().filter_map(|drive| multipath_of(inputs.machine, drive)).collect()
}

fn multipath_of(machine: &Machine, drive: &Drive) -> Option<Detection> {
    let proofs = machine.paths_of(drive).map(|path| {
        let controller = path.nvme.as_ref().map_or("?", |nvme| nvme.controller.as_str());
        let address = path.node.map(|node| format!(" at {}", machine.pci.node(node).address));
        let state = path.nvme.as_ref().and_then(|nvme| nvme.state.value());
        let state = state.map_or_else(String::new, |state| format!(", {state}"));
        Evidence::new(&*path.path, format!("{controller}{}{state}", address.unwrap_or_default()))
    });
    let names: Vec<_> = drive.nvme.as_ref()?.paths.iter().map(DriveName::as_str).collect();
    let title = format!("{}: {} ({})", drive.name, counted(names.len(), "path"), names.join(", "));
    (!names.is_empty()).then(|| {
        Detection::new(Severity::Info, title)
            .with_evidence(proofs)
            .with_evidence([Evidence::new(&*drive.path, format!("paths {}", names.join(" ")))])
            .about([Subject::drive(drive)])
            .with_gain(Gain::words("none", ""))
    })
}

fn apst_latency(inputs: &Inputs) -> Option<Detection> {
    let found = inputs.nvme_at_depth_one().filter_map(|drive| {
        let apst = &drive.nvme.as_ref()?.apst;
        let proof = Evidence::at(apst, "autonomous power state transitions on");
        (apst.get() == Some(true)).then_some((drive, [proof]))
    });
    let found: Vec<_> = found.collect();
    let drives = drives(&found);
    let commands = drives.iter().filter(|drive| shell_names(&[**drive]).is_some());
    let commands: Vec<_> =
        commands.map(|drive| format!("echo 0 | sudo tee {}", drive.latency_tolerance_us.path())).collect();
    let parameter = inputs.machine.host.module_parameters.get("nvme_core/default_ps_max_latency_us");
    let title = format!("{}: may save power between reads at depth 1", names(&drives));
    Some(
        Detection::of_drives(Severity::Info, title, found)?
            .with_evidence(parameter.and_then(Evidence::of))
            .with_command((!commands.is_empty()).then(|| commands.join("; "))),
    )
}
