//! Block queue settings: `/sys/block/D/queue/*`. All of them can be changed live.

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    in_use::why_no_command,
    inputs::{drives, grouped, names, verb, write_queue},
    rules,
};
use crate::{
    counters::DiskRates,
    machine::{Drive, Queue},
    model::{FindingId, Pattern, Reading, Severity},
    text::Label,
    units::{self, Bytes},
};

pub(super) const SCHEDULER: Row = Row {
    id: FindingId("scheduler"),
    title: "I/O scheduler on a flash drive",
    fires: "queue/scheduler of an NVMe drive is not none; or of a flash drive behind a RAID controller or host adapter (sdX, rotational \
            0, PCI class 0x0104 or 0x0107): information, a warning while it is loaded",
    why: "A scheduler costs CPU time and a lock per read. A trade-off, not an error: some distributions choose kyber for latency \
          on the desktop.",
    source: "Tanel Poder 2021: 1 149 k -> 525 k reads/s with mq-deadline, same CPU use",
    remedy: "Choose none{rule}. Changing it resets nr_requests.",
    generally: "Choose none, and change the rule that sets another scheduler, if there is one. Changing it resets nr_requests.",
    risk: Risk::Live,
    wrong_if: "Latency of a busy desktop matters more than IOPS.",
    check: Check::Many(scheduler),
    ..Row::PLAIN
};

/// Four schedulers took turns on a loop device over a file, 4 KiB reads of three jobs at depth 32, by `iodyno experiment run
/// scheduler --metric cpu_ns_per_io`: 12 rounds, 1.45 us with none, 1.97 us with kyber. How much it costs an NVMe drive is unknown.
const KYBER: &str =
    "direction only: more CPU time per read than none (loop device, Linux 6.18: 41 % more, 95 %: 5 to 90)";

/// NVMe drives behind a PERC are SCSI disks to the kernel, which gives one queue mq-deadline.
const BEHIND_CONTROLLER: &str =
    "Dell KB 000443257: NVMe drives behind a PERC run mq-deadline until none is set";

pub(super) const READAHEAD: Row = Row {
    id: FindingId("readahead"),
    title: "readahead of 128 KiB or less",
    fires: "queue/read_ahead_kb is 128 or less; it matters while a buffered sequential test runs",
    why: "Buffered sequential reads use small requests; with 0 they read one 4 KiB page at a time. Direct I/O is not affected.",
    source: "Tanel Poder 2021, 1 MiB buffered: free memory 6 800 MiB/s, with 0 4 011; memory full 2 953 to 3 593, with 0 2 500 to 3 000",
    remedy: "Raise it for buffered sequential work.",
    risk: Risk::Live,
    wrong_if: "Nothing reads sequentially through the page cache.",
    is_default: true,
    check: Check::One(readahead),
    ..Row::PLAIN
};

pub(super) const MAX_SECTORS: Row = Row {
    id: FindingId("max-sectors"),
    title: "reads are split by the kernel",
    fires: "max_sectors_kb is below max_hw_sectors_kb and a test reads bigger blocks than that, or without a test reads reach it",
    why: "One read becomes several requests; dstat and iostat then count more reads than the test made.",
    source: "Tanel Poder 2021: 1 MiB reads seen as 512 KiB",
    remedy: "Raise max_sectors_kb to max_hw_sectors_kb.",
    risk: Risk::Live,
    wrong_if: "The drive splits big reads itself, as most do.",
    needs_load: true,
    live: |inputs| inputs.has_live_load(),
    check: Check::Many(max_sectors),
    ..Row::PLAIN
};

pub(super) const HW_SECTORS_BELOW_MDTS: Row = Row {
    id: FindingId("hw-sectors-below-mdts"),
    title: "kernel's max request below the drive's",
    fires: "max_hw_sectors_kb is below the drive's max transfer size (MDTS)",
    why: "A layer between drive and memory limits the transfer: a translating IOMMU, bounce buffers (swiotlb) or the DMA mapping.",
    source: "linux-nvme 2019: max_hw_sectors cut by the maximum DMA mapping cost a quarter of the rate",
    remedy: "{remedy}",
    generally: "Put the IOMMU into passthrough (iommu=pt), or remove swiotlb=force or memory encryption, whichever limits it.",
    risk: Risk::Reboot,
    wrong_if: "The driver's own limit is lower, whatever lies between.",
    of_machine: true,
    check: Check::Many(hw_sectors_below_mdts),
    ..Row::PLAIN
};

pub(super) const NR_REQUESTS: Row = Row {
    id: FindingId("nr-requests"),
    title: "nr_requests below the test's queue depth",
    fires: "nr_requests is smaller than the depth of the test; without a test, a drive with one queue has all of them in flight",
    why: "Reads wait for a free request before they reach the drive.",
    remedy: "Raise nr_requests.",
    risk: Risk::Live,
    wrong_if: "Workers on several CPUs use several hardware queues, each with its own requests.",
    needs_load: true,
    live: |inputs| inputs.has_live_load(),
    check: Check::One(nr_requests),
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
    check: Check::One(iostats),
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
    check: Check::One(nomerges),
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
    check: Check::One(rq_affinity),
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
    check: Check::One(wbt),
    ..Row::PLAIN
};

pub(super) const MISALIGNED: Row = Row {
    id: FindingId("misaligned"),
    title: "partition not aligned to 4096 B",
    fires: "alignment_offset is not 0, or a partition above 16 MiB starts at no multiple of 4096 B",
    why: "Every write of a block touches two pages of the drive, and small reads touch two as well.",
    remedy: "{remedy}",
    generally: "Repartition, starting at 1 MiB; that destroys all data on the drive.",
    risk: Risk::DestroysData,
    wrong_if: "The partition is not used.",
    of_machine: true,
    check: Check::Many(misaligned),
    ..Row::PLAIN
};

/// A drive with evidence from several places.
type Proven<'a> = (&'a Drive, Vec<Evidence>);

/// A drive, and the evidence that its queue has a wrong value.
type Found<'a> = (&'a Drive, Option<Evidence>);

fn where_number<'a>(
    drives: impl Iterator<Item = &'a Drive>,
    read: impl Fn(&Queue) -> &Reading<u64>,
    wrong: impl Fn(u64) -> bool,
) -> Vec<Found<'a>> {
    let found = drives.filter(|drive| read(&drive.queue).get().is_some_and(&wrong));
    found.map(|drive| (drive, Evidence::of(read(&drive.queue)))).collect()
}

/// A default of every machine: information at rest, and a separate finding on the drives where it `matters`. The title
/// is made of the first drive's value and the names.
fn default_on(
    found: Vec<Found>,
    matters: impl Fn(&Drive) -> bool,
    (file, value): (&str, &str),
    title: impl FnOnce(&str, &str) -> String,
) -> Option<Detection> {
    let (shown, resting): (Vec<_>, Vec<_>) = found.into_iter().partition(|(drive, _)| matters(drive));
    let is_default = shown.is_empty();
    let found = if is_default { resting } else { shown };
    let drives = drives(&found);
    let now = &found.first()?.1.as_ref()?.value;
    let title = title(now, &names(&drives));
    let detection = Detection::of_drives(Severity::Info, title, found)?;
    Some(detection.with_command(write_queue(&drives, file, value)).with_default(is_default))
}

/// The same for a file of the queue folder; it matters on drives under load if it `counts` there.
fn default_setting(
    inputs: &Inputs,
    counts: bool,
    (file, value): (&str, &str),
    read: impl Fn(&Queue) -> &Reading<u64>,
    wrong: impl Fn(u64) -> bool,
) -> Option<Detection> {
    let found = where_number(inputs.flash_queues(), read, wrong);
    let matters = |drive: &Drive| counts && inputs.is_loaded(&drive.name);
    default_on(found, matters, (file, value), |now, names| format!("{file} is {now} on {names}"))
}

fn scheduler(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.flash_queues().filter_map(|drive| {
        let reading = &drive.queue.scheduler;
        let choice = reading.value().filter(|choice| choice.current != *"none")?;
        let word =
            |word: &Label| if *word == choice.current { format!("[{word}]") } else { word.to_string() };
        let words: Vec<_> = choice.choices.iter().map(word).collect();
        let is_behind = inputs.machine.is_behind_controller(drive);
        Some(((choice.current.to_string(), is_behind), (drive, [Evidence::at(reading, words.join(" "))])))
    });
    let detection = |((name, is_behind), found): ((String, bool), Vec<(&Drive, _)>)| {
        let drives = drives(&found);
        let (severity, source) = match name.as_str() {
            "kyber" => (Severity::Info, KYBER),
            _ if is_behind && !drives.iter().any(|drive| inputs.is_loaded(&drive.name)) => {
                (Severity::Info, BEHIND_CONTROLLER)
            }
            _ if is_behind => (Severity::Warning, BEHIND_CONTROLLER),
            _ => (Severity::Warning, SCHEDULER.source),
        };
        let rule = drives.iter().find_map(|drive| rules::rule_for(inputs, drive, "scheduler"));
        let rule = rule.map(|rule| format!(" and change the rule that sets it, {}:{}", rule.path, rule.line));
        let title = format!("{} {} the {name} scheduler", names(&drives), verb(&drives, "runs", "run"));
        Some(
            Detection::of_drives(severity, title, found)?
                .fill("rule", rule.unwrap_or_default())
                .with_gain(Gain::unknown(source))
                .with_command(write_queue(&drives, "scheduler", "none")),
        )
    };
    grouped(found).into_iter().filter_map(detection).collect()
}

fn readahead(inputs: &Inputs) -> Option<Detection> {
    let counts =
        inputs.load.is_some_and(|load| !load.workload.direct && load.workload.pattern == Pattern::Sequential);
    default_setting(inputs, counts, ("read_ahead_kb", "1024"), |queue| &queue.read_ahead_kb, |kib| kib <= 128)
}

fn max_sectors(inputs: &Inputs) -> Vec<Detection> {
    let block = inputs.load.map(|load| load.workload.largest_block());
    let split = |drive: &Drive| {
        let (now, most) = (drive.queue.max_sectors_kb.get()?, drive.queue.max_hw_sectors_kb.get()?);
        let title = match block {
            Some(block) => {
                format!("{}: reads of {} are split at {now} KiB", drive.name, units::block_size(block))
            }
            None => format!("{}: its reads reach the maximum of {now} KiB", drive.name),
        };
        let is_split = match block {
            Some(block) => block.0 > now * 1024,
            None => inputs.live_disk(&drive.name).is_some_and(|disk| are_full(disk, now)),
        };
        (now < most && is_split).then(|| {
            Detection::new(Severity::Info, title)
                .about([Subject::drive(drive)])
                .with_evidence(Evidence::of(&drive.queue.max_sectors_kb))
                .with_evidence(Evidence::of(&drive.queue.max_hw_sectors_kb))
                .with_command(write_queue(&[drive], "max_sectors_kb", &most.to_string()))
        })
    };
    inputs.loaded_queues().filter_map(split).collect()
}

/// KiB from which the driver itself limits requests (`NVME_MAX_KB_SZ` of drivers/nvme/host/pci.c in older kernels).
const DRIVERS_OWN: u64 = 4096;

/// What limits transfers between a drive and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Iommu,
    BounceBuffers,
    Mapping,
}

impl Between {
    const fn remedy(self) -> (&'static str, Risk) {
        match self {
            Self::Iommu => (
                "Put the drive's IOMMU group into passthrough (iommu=pt), if big transfers matter.",
                Risk::Reboot,
            ),
            Self::BounceBuffers => (
                "Remove swiotlb=force, iommu=soft or memory encryption from the kernel arguments: bounce buffers limit transfers to 256 KiB.",
                Risk::Reboot,
            ),
            Self::Mapping => (
                "Information only: no IOMMU translates here. Bounce buffers (dmesg: swiotlb) or the kernel's DMA mapping limit transfers.",
                Risk::None,
            ),
        }
    }
}

/// The cause of a limit below the drive's own, with its evidence.
fn between(inputs: &Inputs, drive: &Drive) -> Option<(Between, Option<Evidence>)> {
    let kind = &inputs.machine.pci.node(drive.node?).iommu_type;
    if kind.value().is_some_and(|kind| kind.as_str().starts_with("DMA")) {
        return Some((Between::Iommu, Evidence::of(kind)));
    }
    let line = &inputs.machine.host.command_line;
    let forces = |word: &&str| {
        matches!(*word, "iommu=soft" | "mem_encrypt=on")
            || word.strip_prefix("swiotlb=").is_some_and(|rest| rest.contains("force"))
    };
    let forced = line.value().and_then(|line| line.as_str().split_ascii_whitespace().find(forces));
    Some(match forced {
        Some(word) if !word.contains("noforce") => (Between::BounceBuffers, Some(Evidence::at(line, word))),
        _ => (Between::Mapping, Evidence::of(kind)),
    })
}

fn hw_sectors_below_mdts(inputs: &Inputs) -> Vec<Detection> {
    let found = inputs.nvme().filter_map(|drive| {
        let (cause, proof) = between(inputs, drive)?;
        let Bytes(mdts) = drive.nvme.as_ref()?.identity.value()?.largest_transfer?;
        let kib = drive.queue.max_hw_sectors_kb.get()?;
        let is_below = kib * 1024 < mdts && (cause == Between::Iommu || kib < DRIVERS_OWN);
        let proofs = Evidence::of(&drive.queue.max_hw_sectors_kb).into_iter().chain(proof);
        is_below.then(|| ((kib, mdts / 1024, cause), (drive, proofs.collect::<Vec<_>>())))
    });
    let detection = |((kib, mdts, cause), found): ((u64, u64, Between), Vec<Proven>)| {
        let drives = drives(&found);
        let identity = drives.first().and_then(|drive| drive.nvme.as_ref()).map(|nvme| nvme.identity.path());
        let extra = identity.map(|path| Evidence::new(&*path, format!("MDTS {mdts} KiB")));
        let title = format!("{}: max request {kib} KiB, drive {mdts} KiB", names(&drives));
        let (remedy, risk) = cause.remedy();
        Some(
            Detection::of_drives(Severity::Info, title, found)?
                .with_evidence(extra)
                .with_remedy(remedy, risk),
        )
    };
    grouped(found).into_iter().filter_map(detection).collect()
}

fn nr_requests(inputs: &Inputs) -> Option<Detection> {
    let (found, depth) = match inputs.load {
        Some(load) => {
            let depth = u64::from(load.workload.depth);
            (
                where_number(inputs.loaded_queues(), |queue| &queue.nr_requests, |requests| requests < depth),
                depth,
            )
        }
        None => waiting(inputs)?,
    };
    let drives = drives(&found);
    let now = found.first()?.1.as_ref()?.value.clone();
    let title = match inputs.load {
        Some(_) => format!("{}: depth {depth}, but {now} requests", names(&drives)),
        None => format!("{}: all {now} requests are in flight", names(&drives)),
    };
    let command = write_queue(&drives, "nr_requests", &depth.to_string());
    Some(Detection::of_drives(Severity::Warning, title, found)?.with_command(command))
}

/// Whether nearly all reads have the largest size that requests may have.
fn are_full(disk: &DiskRates, kib: u64) -> bool {
    const READS: f64 = 50.0;
    const NEARLY: f64 = 0.95;
    disk.reads >= READS && disk.read_bytes / disk.reads >= NEARLY * (kib as f64) * 1024.0
}

/// Drives with one queue whose requests are all in flight without a test, and the next power of two.
fn waiting<'a>(inputs: &Inputs<'a>) -> Option<(Vec<Found<'a>>, u64)> {
    const NEARLY: f64 = 0.95;
    let is_single = |drive: &&Drive| {
        drive.queue.hardware_queues.get().is_some_and(|queues| queues.default + queues.poll == 1)
    };
    let is_full = |drive: &&Drive| {
        let requests = drive.queue.nr_requests.get().unwrap_or(u64::MAX);
        inputs.live_disk(&drive.name).is_some_and(|disk| disk.queue_depth >= NEARLY * requests as f64)
    };
    let full: Vec<&Drive> = inputs.loaded_queues().filter(is_single).filter(is_full).collect();
    let most = full.iter().filter_map(|drive| drive.queue.nr_requests.get()).max()?;
    let found = where_number(full.into_iter(), |queue| &queue.nr_requests, |_| true);
    Some((found, (most + 1).next_power_of_two()))
}

fn iostats(inputs: &Inputs) -> Option<Detection> {
    default_setting(inputs, inputs.is_cpu_full(), ("iostats", "0"), |queue| &queue.iostats, |on| on == 1)
}

fn nomerges(inputs: &Inputs) -> Option<Detection> {
    let random = inputs.load.is_some_and(|load| load.workload.pattern == Pattern::Random);
    let counts = random && inputs.is_cpu_full();
    default_setting(inputs, counts, ("nomerges", "2"), |queue| &queue.nomerges, |level| level == 0)
}

fn rq_affinity(inputs: &Inputs) -> Option<Detection> {
    let piled = inputs.rates.is_some_and(|rates| {
        let saturated = rates.cpus.values().any(|cpu| cpu.idl < 5.0 && cpu.irq > 30.0);
        saturated && rates.cpus.values().any(|cpu| cpu.idl > 50.0)
    });
    default_setting(inputs, piled, ("rq_affinity", "2"), |queue| &queue.rq_affinity, |level| level == 1)
}

/// Bytes per second from which a drive counts as written to.
const WRITES: f64 = 10e6;

fn wbt(inputs: &Inputs) -> Option<Detection> {
    let found = inputs.nvme().filter_map(|drive| {
        let reading = &drive.queue.wbt_lat_usec;
        let value = reading.get().filter(|micros| *micros > 0)?;
        Some((drive, Some(Evidence::at(reading, format!("{value} us")))))
    });
    let is_written = |drive: &Drive| {
        let disk = inputs.rates.and_then(|rates| rates.disks.get(&drive.name));
        disk.is_some_and(|disk| disk.written_bytes >= WRITES)
    };
    let title = |_: &str, names: &str| format!("writeback is throttled on {names}");
    default_on(found.collect(), is_written, ("wbt_lat_usec", "0"), title)
}

/// Smaller partitions are boot code that no test reads (the BIOS boot partition starts at sector 34).
const SMALL_PARTITION: Bytes = Bytes(16 << 20);

fn misaligned(inputs: &Inputs) -> Vec<Detection> {
    let of_drive = |drive: &Drive| {
        let large =
            drive.partitions.iter().filter(|part| part.size.get().is_some_and(|size| size > SMALL_PARTITION));
        let starts = large.filter_map(|part| {
            let start = part.start.get().filter(|start| start.0 % 4096 != 0)?;
            Some(Evidence::at(&part.start, format!("{} starts at byte {}", part.name, start.0)))
        });
        let offset = drive.alignment_offset.get().filter(|offset| *offset != 0);
        let offset = offset.and_then(|_| Evidence::of(&drive.alignment_offset));
        let proofs: Vec<_> = starts.chain(offset).collect();
        (!proofs.is_empty()).then(|| {
            // Goes through all drives.
            let remedy = match why_no_command(inputs.machine, drive, false) {
                None => "Repartition, starting at 1 MiB; that destroys all its data.".to_owned(),
                Some(why) => {
                    format!("Repartitioning from 1 MiB fixes it and destroys all its data; not now: {why}.")
                }
            };
            Detection::new(Severity::Warning, format!("{}: not aligned to 4096 B", drive.name))
                .about([Subject::drive(drive)])
                .with_evidence(proofs)
                .fill("remedy", remedy)
        })
    };
    inputs.machine.hardware_drives().filter_map(of_drive).collect()
}
