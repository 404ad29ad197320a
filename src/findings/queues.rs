//! Block queue settings: `/sys/block/D/queue/*`. All of them can be changed live.

use std::collections::BTreeMap;

use super::{
    Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    in_use::why_no_command,
    inputs::{names, verb, write_queue},
    rules,
};
use crate::{
    machine::{Drive, Queue},
    model::{FindingId, Pattern, Reading, Severity},
    units::{self, Bytes},
};

pub(super) const SCHEDULER: Row = Row {
    id: FindingId("scheduler"),
    title: "I/O scheduler on an NVMe drive",
    fires: "queue/scheduler of an NVMe drive is not none",
    why: "A scheduler costs CPU time and a lock per read. A trade-off, not an error: kyber costs about 3 % of throughput and \
          some distributions choose it for latency on the desktop.",
    source: "Tanel Poder 2021: 1 149 k -> 525 k reads/s with mq-deadline, same CPU use",
    remedy: "Choose none{rule}. Changing it resets nr_requests.",
    risk: Risk::Live,
    wrong_if: "Latency of a busy desktop matters more than IOPS.",
    check: scheduler,
    ..Row::PLAIN
};

pub(super) const READAHEAD: Row = Row {
    id: FindingId("readahead"),
    title: "readahead of 128 KiB or less",
    fires: "queue/read_ahead_kb is 128 or less; it matters while a buffered sequential test runs",
    why: "Buffered sequential reads use small requests. Direct I/O is not affected.",
    remedy: "Raise it for buffered sequential work.",
    risk: Risk::Live,
    wrong_if: "Nothing reads sequentially through the page cache.",
    is_default: true,
    check: readahead,
    ..Row::PLAIN
};

pub(super) const MAX_SECTORS: Row = Row {
    id: FindingId("max-sectors"),
    title: "reads are split by the kernel",
    fires: "max_sectors_kb is below max_hw_sectors_kb and a test reads bigger blocks than that",
    why: "One read becomes several requests; dstat and iostat then count more reads than the test made.",
    source: "Tanel Poder 2021: 1 MiB reads seen as 512 KiB",
    remedy: "Raise max_sectors_kb to max_hw_sectors_kb.",
    risk: Risk::Live,
    wrong_if: "The drive splits big reads itself, as most do.",
    needs_load: true,
    is_default: false,
    check: max_sectors,
};

pub(super) const HW_SECTORS_BELOW_MDTS: Row = Row {
    id: FindingId("hw-sectors-below-mdts"),
    title: "kernel's max request below the drive's",
    fires: "max_hw_sectors_kb is below the drive's max transfer size (MDTS)",
    why: "A layer between drive and memory limits the transfer, most often a translating IOMMU.",
    remedy: "Put the drive's IOMMU group into passthrough (iommu=pt), if big transfers matter.",
    risk: Risk::Reboot,
    wrong_if: "The driver's own limit is lower, whatever the IOMMU does.",
    check: hw_sectors_below_mdts,
    ..Row::PLAIN
};

pub(super) const NR_REQUESTS: Row = Row {
    id: FindingId("nr-requests"),
    title: "nr_requests below the test's queue depth",
    fires: "nr_requests is smaller than the depth of the test",
    why: "Reads wait for a free request before they reach the drive.",
    remedy: "Raise nr_requests.",
    risk: Risk::Live,
    wrong_if: "Workers on several CPUs use several hardware queues, each with its own requests.",
    needs_load: true,
    check: nr_requests,
    ..Row::PLAIN
};

pub(super) const IOSTATS: Row = Row {
    id: FindingId("iostats"),
    title: "I/O accounting on",
    fires: "queue/iostats is 1; it matters while a test has every CPU busy",
    why: "Accounting costs some CPU time per read. Without it monitors that read diskstats show nothing.",
    remedy: "Set iostats to 0 for a record attempt only.",
    risk: Risk::Live,
    wrong_if: "CPUs are not the limit.",
    is_default: true,
    check: iostats,
    ..Row::PLAIN
};

pub(super) const NOMERGES: Row = Row {
    id: FindingId("nomerges"),
    title: "merges attempted on random reads",
    fires: "queue/nomerges is 0; it matters while a random test has every CPU busy",
    why: "The kernel looks for adjacent requests to merge; random reads have none.",
    remedy: "Set nomerges to 2 for random work; it hurts small sequential work.",
    risk: Risk::Live,
    wrong_if: "CPUs are not the limit.",
    is_default: true,
    check: nomerges,
    ..Row::PLAIN
};

pub(super) const RQ_AFFINITY: Row = Row {
    id: FindingId("rq-affinity"),
    title: "completions may pile up on one CPU",
    fires: "queue/rq_affinity is 1; it matters while one CPU is saturated by interrupts and others idle",
    why: "Completions run on any CPU of the submitting CPU's group, not on that CPU.",
    remedy: "Set rq_affinity to 2.",
    risk: Risk::Live,
    wrong_if: "With one queue per CPU, reads complete on the submitting CPU already.",
    is_default: true,
    check: rq_affinity,
    ..Row::PLAIN
};

pub(super) const WBT: Row = Row {
    id: FindingId("wbt"),
    title: "writeback throttled",
    fires: "queue/wbt_lat_usec is above 0; it matters while a process writes to the drive",
    why: "Background writes are throttled to keep reads fast.",
    remedy: "Set wbt_lat_usec to 0 where write throughput is all that counts.",
    risk: Risk::Live,
    wrong_if: "Reads must stay fast during writes.",
    is_default: true,
    check: wbt,
    ..Row::PLAIN
};

pub(super) const MISALIGNED: Row = Row {
    id: FindingId("misaligned"),
    title: "partition not aligned to 4096 B",
    fires: "alignment_offset is not 0, or a partition above 16 MiB starts at no multiple of 4096 B",
    why: "Every write of a block touches two pages of the drive, and small reads touch two as well.",
    remedy: "{remedy}",
    risk: Risk::DestroysData,
    wrong_if: "The partition is not used.",
    check: misaligned,
    ..Row::PLAIN
};

fn where_number<'a>(
    drives: impl Iterator<Item = &'a Drive>,
    read: impl Fn(&Queue) -> &Reading<u64>,
    wrong: impl Fn(u64) -> bool,
) -> Vec<(&'a Drive, Evidence)> {
    drives
        .filter_map(|drive| {
            let reading = read(&drive.queue);
            reading.get().filter(|value| wrong(*value))?;
            Some((drive, Evidence::of(reading)?))
        })
        .collect()
}

fn one(
    severity: Severity,
    found: Vec<(&Drive, Evidence)>,
    title: impl FnOnce(&[&Drive]) -> String,
) -> Option<Detection> {
    if found.is_empty() {
        return None;
    }
    let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
    Some(
        Detection::new(severity, title(&drives))
            .about(drives.iter().map(|drive| Subject::drive(drive)))
            .with_evidence(found.into_iter().map(|(_, proof)| proof)),
    )
}

/// A default of every machine: information at rest, and a separate finding on the tested drives if it `counts` there.
fn default_setting(
    inputs: &Inputs,
    counts: bool,
    file: &str,
    value: &str,
    read: impl Fn(&Queue) -> &Reading<u64>,
    wrong: impl Fn(u64) -> bool,
) -> Vec<Detection> {
    let found = where_number(inputs.nvme_queues(), read, wrong);
    let (tested, resting): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(drive, _)| counts && inputs.is_tested(&drive.name));
    let (found, shows) = if tested.is_empty() { (resting, false) } else { (tested, true) };
    let now = found.first().map_or(String::new(), |(_, proof)| proof.value.clone());
    let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
    let command = write_queue(&drives, file, value);
    let detection = one(Severity::Info, found, |drives| format!("{file} is {now} on {}", names(drives)));
    detection
        .map(|detection| detection.with_command(command))
        .map(|detection| if shows { detection } else { detection.with_default() })
        .into_iter()
        .collect()
}

fn scheduler(inputs: &Inputs) -> Vec<Detection> {
    let mut groups: BTreeMap<String, Vec<(&Drive, Evidence)>> = BTreeMap::new();
    for drive in inputs.nvme_queues() {
        let reading = &drive.queue.scheduler;
        let Some(choice) = reading.value().filter(|choice| choice.current != *"none") else { continue };
        let words: Vec<_> = choice
            .choices
            .iter()
            .map(|word| if *word == choice.current { format!("[{word}]") } else { word.to_string() })
            .collect();
        groups
            .entry(choice.current.to_string())
            .or_default()
            .push((drive, Evidence::new(&**reading.path(), words.join(" "))));
    }
    groups
        .into_iter()
        .filter_map(|(name, found)| {
            let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
            let severity = if name == "kyber" { Severity::Info } else { Severity::Warning };
            let source =
                if name == "kyber" { "about 3 % of throughput, by reputation" } else { SCHEDULER.source };
            let rule = drives.iter().find_map(|drive| rules::rule_for(inputs, drive, "scheduler"));
            let rule =
                rule.map(|rule| format!(" and change the rule that sets it, {}:{}", rule.path, rule.line));
            let detection = one(severity, found, |drives| {
                format!("{} {} the {name} scheduler", names(drives), verb(drives, "runs", "run"))
            })?;
            Some(
                detection
                    .fill("rule", rule.unwrap_or_default())
                    .with_gain(Gain::unknown(source))
                    .with_command(write_queue(&drives, "scheduler", "none")),
            )
        })
        .collect()
}

fn readahead(inputs: &Inputs) -> Vec<Detection> {
    let counts =
        inputs.load.is_some_and(|load| !load.workload.direct && load.workload.pattern == Pattern::Sequential);
    default_setting(inputs, counts, "read_ahead_kb", "1024", |queue| &queue.read_ahead_kb, |kib| kib <= 128)
}

fn max_sectors(inputs: &Inputs) -> Vec<Detection> {
    let Some(load) = inputs.load else { return Vec::new() };
    let block = load.workload.largest_block();
    let found: Vec<_> = inputs
        .machine
        .hardware_drives()
        .chain(&inputs.machine.paths)
        .filter(|drive| inputs.is_tested(&drive.name))
        .filter_map(|drive| {
            let (now, most) = (drive.queue.max_sectors_kb.get()?, drive.queue.max_hw_sectors_kb.get()?);
            (now < most && block.0 > now * 1024).then_some((drive, now, most))
        })
        .collect();
    found
        .into_iter()
        .map(|(drive, now, most)| {
            let title =
                format!("{}: reads of {} are split at {now} KiB", drive.name, units::block_size(block));
            Detection::new(Severity::Info, title)
                .about([Subject::drive(drive)])
                .with_evidence(Evidence::of(&drive.queue.max_sectors_kb))
                .with_evidence(Evidence::of(&drive.queue.max_hw_sectors_kb))
                .with_command(write_queue(&[drive], "max_sectors_kb", &most.to_string()))
        })
        .collect()
}

fn hw_sectors_below_mdts(inputs: &Inputs) -> Vec<Detection> {
    let mut groups: BTreeMap<(u64, u64), Vec<(&Drive, Evidence)>> = BTreeMap::new();
    for drive in inputs.nvme() {
        let translated = drive.node.is_some_and(|node| {
            let kind = inputs.machine.pci.node(node).iommu_type.value();
            kind.is_some_and(|kind| kind.as_str().starts_with("DMA"))
        });
        let mdts = drive.nvme.as_ref().and_then(|nvme| nvme.identity.value()?.largest_transfer);
        if let (Some(kib), Some(Bytes(mdts)), true) = (drive.queue.max_hw_sectors_kb.get(), mdts, translated)
            && kib * 1024 < mdts
            && let Some(proof) = Evidence::of(&drive.queue.max_hw_sectors_kb)
        {
            groups.entry((kib, mdts / 1024)).or_default().push((drive, proof));
        }
    }
    groups
        .into_iter()
        .filter_map(|((kib, mdts), found)| {
            let identity = found
                .first()
                .and_then(|(drive, _)| drive.nvme.as_ref())
                .map(|nvme| nvme.identity.path().to_string());
            let extra = identity.map(|path| Evidence::new(path, format!("MDTS {mdts} KiB")));
            let detection = one(Severity::Info, found, |drives| {
                format!("{}: max request {kib} KiB, drive {mdts} KiB", names(drives))
            })?;
            Some(detection.with_evidence(extra))
        })
        .collect()
}

fn nr_requests(inputs: &Inputs) -> Vec<Detection> {
    let Some(load) = inputs.load else { return Vec::new() };
    let depth = u64::from(load.workload.depth);
    let queues = inputs.machine.hardware_drives().chain(&inputs.machine.paths);
    let tested = queues.filter(|drive| inputs.is_tested(&drive.name));
    let found = where_number(tested, |queue| &queue.nr_requests, |requests| requests < depth);
    let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
    let command = write_queue(&drives, "nr_requests", &depth.to_string());
    let now = found.first().map_or(String::new(), |(_, proof)| proof.value.clone());
    one(Severity::Warning, found, |drives| format!("{}: depth {depth}, but {now} requests", names(drives)))
        .map(|detection| detection.with_command(command))
        .into_iter()
        .collect()
}

fn iostats(inputs: &Inputs) -> Vec<Detection> {
    default_setting(inputs, inputs.is_cpu_full(), "iostats", "0", |queue| &queue.iostats, |on| on == 1)
}

fn nomerges(inputs: &Inputs) -> Vec<Detection> {
    let random = inputs.load.is_some_and(|load| load.workload.pattern == Pattern::Random);
    default_setting(
        inputs,
        random && inputs.is_cpu_full(),
        "nomerges",
        "2",
        |queue| &queue.nomerges,
        |level| level == 0,
    )
}

fn rq_affinity(inputs: &Inputs) -> Vec<Detection> {
    let piled = inputs.rates.is_some_and(|rates| {
        let saturated = rates.cpus.values().any(|cpu| cpu.idl < 5.0 && cpu.irq > 30.0);
        saturated && rates.cpus.values().any(|cpu| cpu.idl > 50.0)
    });
    default_setting(inputs, piled, "rq_affinity", "2", |queue| &queue.rq_affinity, |level| level == 1)
}

/// Bytes per second from which a drive counts as written to.
const WRITES: f64 = 10e6;

fn wbt(inputs: &Inputs) -> Vec<Detection> {
    let found: Vec<_> = inputs
        .nvme()
        .filter_map(|drive| {
            let reading = &drive.queue.wbt_lat_usec;
            let value = reading.get().filter(|micros| *micros > 0)?;
            Some((drive, Evidence::new(&**reading.path(), format!("{value} us"))))
        })
        .collect();
    let is_written = |drive: &Drive| {
        inputs
            .rates
            .and_then(|rates| rates.disks.get(&drive.name))
            .is_some_and(|disk| disk.written_bytes >= WRITES)
    };
    let (written, resting): (Vec<_>, Vec<_>) = found.into_iter().partition(|(drive, _)| is_written(drive));
    let (found, shows) = if written.is_empty() { (resting, false) } else { (written, true) };
    let drives: Vec<_> = found.iter().map(|(drive, _)| *drive).collect();
    let command = write_queue(&drives, "wbt_lat_usec", "0");
    one(Severity::Info, found, |drives| format!("writeback is throttled on {}", names(drives)))
        .map(|detection| detection.with_command(command))
        .map(|detection| if shows { detection } else { detection.with_default() })
        .into_iter()
        .collect()
}

/// Smaller partitions are boot code that no test reads (the BIOS boot partition starts at sector 34).
const SMALL_PARTITION: Bytes = Bytes(16 << 20);

fn misaligned(inputs: &Inputs) -> Vec<Detection> {
    inputs
        .machine
        .hardware_drives()
        .filter_map(|drive| {
            let mut proofs: Vec<_> = drive
                .partitions
                .iter()
                .filter(|part| part.size.get().is_some_and(|size| size > SMALL_PARTITION))
                .filter_map(|part| {
                    let start = part.start.get().filter(|start| start.0 % 4096 != 0)?;
                    Some(Evidence::new(
                        &**part.start.path(),
                        format!("{} starts at byte {}", part.name, start.0),
                    ))
                })
                .collect();
            proofs.extend(
                drive
                    .alignment_offset
                    .get()
                    .filter(|offset| *offset != 0)
                    .and(Evidence::of(&drive.alignment_offset)),
            );
            if proofs.is_empty() {
                return None;
            }
            let title = format!("{}: not aligned to 4096 B", drive.name);
            let remedy = match why_no_command(inputs.machine, drive, false) {
                None => "Repartition, starting at 1 MiB; that destroys all its data.".to_owned(),
                Some(why) => {
                    format!("Repartitioning from 1 MiB fixes it and destroys all its data; not now: {why}.")
                }
            };
            let detection = Detection::new(Severity::Warning, title).about([Subject::drive(drive)]);
            Some(detection.with_evidence(proofs).fill("remedy", remedy))
        })
        .collect()
}
