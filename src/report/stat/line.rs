//! One line of `iodyno stat --json`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Interval, Uncounted};
use crate::{
    counters::{
        CpuShares, DiskRates, SideRates,
        profile::{Function, Profile, Word},
    },
    model::{NodeIndex, Problem},
    report::why::tables::{Controller, Split, controllers, vectors},
};

/// The object. Rates are bytes per second, times nanoseconds, shares percent.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    /// Nanoseconds since 1970.
    time: i64,
    /// Seconds that the rates are of.
    elapsed_seconds: f64,
    /// All intervals as one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    average: bool,
    cpu: Option<Cpu>,
    cpus: Vec<OneCpu>,
    drives: Vec<Drive>,
    hops: Vec<Hop>,
    interrupts: Vec<Interrupt>,
    /// `null` where they were not sampled.
    threads: Option<Vec<Thread>>,
    /// Threads behind these counts, and how many there are.
    threads_seen: Option<usize>,
    threads_total: Option<usize>,
    processes: Option<Vec<Process>>,
    /// `null` where it was not sampled.
    profile: Option<CpuProfile>,
    /// Of all CPUs; `null` where they were not counted.
    cycles_per_second: Option<f64>,
    instructions_per_second: Option<f64>,
    context_switches_per_second: Option<f64>,
    posted_msi_per_second: Option<f64>,
    pressure: Option<Pressure>,
    paging: Option<Paging>,
    problems: Vec<Problem>,
}

/// Shares that exclude each other.
#[derive(Debug, Serialize)]
struct Cpu {
    usr: f64,
    nice: f64,
    sys: f64,
    idle: f64,
    iowait: f64,
    irq: f64,
    softirq: f64,
    steal: f64,
    guest: f64,
}

#[derive(Debug, Serialize)]
struct OneCpu {
    cpu: u32,
    #[serde(flatten)]
    shares: Cpu,
    /// Of all devices.
    interrupts_per_second: Option<f64>,
}

/// A drive that the kernel does not count has `null` for all numbers.
#[derive(Debug, Serialize, Default)]
struct Drive {
    name: String,
    read: Direction,
    write: Direction,
    discard: Direction,
    flush: Flush,
    queue_depth: Option<f64>,
    utilisation: Option<f64>,
}

#[derive(Debug, Serialize, Default)]
struct Direction {
    bytes_per_second: Option<f64>,
    iops: Option<f64>,
    await_ns: Option<f64>,
    request_bytes: Option<f64>,
    merged_per_second: Option<f64>,
}

#[derive(Debug, Serialize, Default)]
struct Flush {
    iops: Option<f64>,
    await_ns: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Hop {
    address: String,
    read_bytes_per_second: f64,
    write_bytes_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Interrupt {
    /// The drive, or the controller of several.
    drive: String,
    /// The number in the vector's name.
    queue: Option<u32>,
    cpu: u32,
    per_second: f64,
}

#[derive(Debug, Serialize)]
struct Thread {
    state: char,
    command: String,
    syscall: Option<String>,
    wchan: Option<String>,
    /// Kernel functions, the innermost first; `null` where they were not asked for.
    stack: Option<String>,
    count: f64,
    kernel: bool,
}

#[derive(Debug, Serialize)]
struct Process {
    pid: u32,
    command: String,
    /// Children of `pid` that ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    read_bytes_per_second: Option<f64>,
    write_bytes_per_second: Option<f64>,
    cpus: f64,
    drives: Option<Vec<String>>,
}

/// What CPUs executed; shares are of the samples of busy CPUs.
#[derive(Debug, Serialize)]
struct CpuProfile {
    busy_samples: u64,
    idle_samples: u64,
    lost_samples: u64,
    /// CPU time of reading the samples, nanoseconds.
    cost_ns: u64,
    words: Vec<SharedWord>,
    functions: Vec<SharedFunction>,
}

#[derive(Debug, Serialize)]
struct SharedWord {
    word: &'static str,
    percent: f64,
}

#[derive(Debug, Serialize)]
struct SharedFunction {
    /// `null` for the code of programs, and without a symbol.
    function: Option<String>,
    /// The module, program or library; `null` for the kernel itself.
    object: Option<String>,
    word: &'static str,
    percent: f64,
}

impl CpuProfile {
    fn new(profile: &Profile) -> Self {
        let words = profile.words();
        let word =
            |(word, count): &(Word, u64)| SharedWord { word: word.name(), percent: profile.share(*count) };
        let function = |(function, count): &(Function, u64)| SharedFunction {
            function: function.name.as_ref().map(ToString::to_string),
            object: function.object.as_ref().map(ToString::to_string),
            word: function.word.name(),
            percent: profile.share(*count),
        };
        Self {
            busy_samples: profile.busy(),
            idle_samples: profile.idle,
            lost_samples: profile.lost,
            cost_ns: u64::try_from(profile.cost.as_nanos()).unwrap_or(u64::MAX),
            words: words.iter().map(word).collect(),
            functions: profile.functions.iter().map(function).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Pressure {
    io_some: f64,
    io_full: f64,
    memory_some: f64,
    memory_full: f64,
    cpu_some: f64,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the JSON")]
struct Paging {
    scanned_by_kswapd_per_second: f64,
    scanned_directly_per_second: f64,
    reclaimed_per_second: f64,
}

impl From<CpuShares> for Cpu {
    fn from(shares: CpuShares) -> Self {
        let Split { usr, nice, sys, iowait, irq, softirq, steal, guest, idle } = shares.into();
        Self { usr, nice, sys, idle, iowait, irq, softirq, steal, guest }
    }
}

impl Direction {
    fn new(bytes: f64, ios: f64, wait_ms: Option<f64>, merged: f64) -> Self {
        Self {
            bytes_per_second: Some(bytes),
            iops: Some(ios),
            await_ns: wait_ms.map(|ms| ms * 1e6),
            request_bytes: (ios > 0.0).then(|| bytes / ios),
            merged_per_second: Some(merged),
        }
    }
}

impl Line {
    pub(crate) fn new(interval: &Interval<'_>) -> Self {
        let Interval { rates, activity, time, is_average, .. } = *interval;
        let threads = activity.threads.as_ref();
        let problems = threads.iter().flat_map(|threads| &threads.problems).chain(&activity.problems);
        let of_profile = activity.profile.iter().flat_map(|profile| match profile {
            Ok(profile) => &profile.problems[..],
            Err(problem) => std::slice::from_ref(problem),
        });
        let of_hardware = activity.hardware.iter().filter_map(|hardware| hardware.as_ref().err());
        let problems = problems.chain(of_profile).chain(of_hardware);
        let uncounted = Uncounted::all(interval).into_iter().map(|uncounted| uncounted.problem());
        let hardware = activity.hardware.iter().flatten().next();
        Self {
            time: i64::try_from(time.as_nanosecond()).unwrap_or_default(),
            elapsed_seconds: rates.elapsed.as_secs_f64(),
            average: is_average,
            cpu: rates.cpu.map(Cpu::from),
            cpus: rates
                .cpus
                .iter()
                .map(|(cpu, shares)| {
                    let column = rates.columns.iter().position(|column| column == cpu);
                    let interrupts_per_second = column.and_then(|at| rates.interrupts.get(at)).copied();
                    OneCpu { cpu: *cpu, shares: (*shares).into(), interrupts_per_second }
                })
                .collect(),
            drives: super::disks(interval)
                .map(|(drive, disk)| self::drive(drive.name.as_str(), disk))
                .collect(),
            hops: hops(interval),
            interrupts: interrupts(interval),
            threads: threads.map(|threads| {
                let thread = |(kind, mean): &(crate::counters::activity::ThreadKind, f64)| Thread {
                    state: kind.state,
                    command: kind.command.to_string(),
                    syscall: kind.syscall.as_ref().map(ToString::to_string),
                    wchan: kind.wchan.as_ref().map(ToString::to_string),
                    stack: kind.stack.as_ref().map(ToString::to_string),
                    count: *mean,
                    kernel: kind.is_kernel,
                };
                threads.kinds.iter().map(thread).collect()
            }),
            threads_seen: threads.map(|threads| threads.seen),
            threads_total: threads.map(|threads| threads.total),
            processes: activity.processes.as_ref().map(|processes| {
                let process = |rates: &crate::counters::activity::ProcessRates| Process {
                    pid: rates.pid,
                    command: rates.command.to_string(),
                    ended: rates.has_ended,
                    read_bytes_per_second: rates.read_bytes,
                    write_bytes_per_second: rates.written_bytes,
                    cpus: rates.cpus,
                    drives: rates
                        .drives
                        .as_ref()
                        .map(|all| all.iter().map(|name| name.as_str().to_owned()).collect()),
                };
                processes.iter().map(process).collect()
            }),
            profile: activity.profile.iter().flatten().next().map(CpuProfile::new),
            cycles_per_second: hardware.map(|hardware| hardware.cycles),
            instructions_per_second: hardware.map(|hardware| hardware.instructions),
            context_switches_per_second: rates.context_switches,
            posted_msi_per_second: rates.posted,
            pressure: rates.pressure.map(|shares| Pressure {
                io_some: shares.io_some,
                io_full: shares.io_full,
                memory_some: shares.memory_some,
                memory_full: shares.memory_full,
                cpu_some: shares.cpu_some,
            }),
            paging: rates.paging.map(|rates| Paging {
                scanned_by_kswapd_per_second: rates.scanned_by_kswapd,
                scanned_directly_per_second: rates.scanned_directly,
                reclaimed_per_second: rates.reclaimed,
            }),
            problems: problems.cloned().chain(uncounted).collect(),
        }
    }
}

fn drive(name: &str, disk: Option<&DiskRates>) -> Drive {
    let name = name.to_owned();
    let Some(disk) = disk else { return Drive { name, ..Drive::default() } };
    let SideRates { ios, merged, bytes, await_ms } = disk.discards;
    Drive {
        name,
        read: Direction::new(disk.read_bytes, disk.reads, disk.read_await_ms, disk.reads_merged),
        write: Direction::new(disk.written_bytes, disk.writes, disk.write_await_ms, disk.writes_merged),
        discard: Direction::new(bytes, ios, await_ms, merged),
        flush: Flush { iops: Some(disk.flushes.ios), await_ns: disk.flushes.await_ms.map(|ms| ms * 1e6) },
        queue_depth: Some(disk.queue_depth),
        utilisation: Some(disk.utilisation),
    }
}

/// Every node of the tree with a hardware drive at or below it. A drive with several paths counts on the one that moved,
/// where the kernel counts paths.
fn hops(interval: &Interval<'_>) -> Vec<Hop> {
    let Interval { machine, rates, .. } = *interval;
    let mut sums: BTreeMap<NodeIndex, (f64, f64)> = BTreeMap::new();
    let mut add = |function: NodeIndex, disk: Option<&DiskRates>| {
        for node in machine.pci.whole_ancestry(function) {
            let sum = sums.entry(node).or_default();
            sum.0 += disk.map_or(0.0, |disk| disk.read_bytes);
            sum.1 += disk.map_or(0.0, |disk| disk.written_bytes);
        }
    };
    for drive in machine.hardware_drives() {
        let paths: Vec<_> =
            machine.paths_of(drive).filter(|path| rates.disks.contains_key(&path.name)).collect();
        let ways = if paths.is_empty() { vec![drive] } else { paths };
        for way in ways {
            if let Some(function) = way.node {
                add(function, rates.disks.get(&way.name));
            }
        }
    }
    let hop = |(node, (read, write)): (NodeIndex, (f64, f64))| Hop {
        address: machine.pci.node(node).address.to_string(),
        read_bytes_per_second: read,
        write_bytes_per_second: write,
    };
    sums.into_iter().map(hop).collect()
}

fn interrupts(interval: &Interval<'_>) -> Vec<Interrupt> {
    let controllers = controllers(interval.machine, interval.rates);
    let of = |vector: crate::report::why::tables::Vector<'_>| {
        let controller = controllers.iter().find(|one| one.name == vector.controller);
        let digits = vector.queue.rsplit('.').next().unwrap_or_default();
        Interrupt {
            drive: controller.map_or_else(|| vector.controller.to_owned(), Controller::label),
            queue: digits.parse().ok(),
            cpu: vector.cpu,
            per_second: vector.per_second,
        }
    };
    vectors(interval.rates).into_iter().map(of).collect()
}
