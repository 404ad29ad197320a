//! Counters of a system during a simulated run: CPUs, drives, interrupts, context switches, threads.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    capacity::{expected, processor},
    counters::{
        CpuShares, DiskRates, Memory, Rates,
        activity::{Activity, ProcessRates, ThreadActivity, ThreadKind, WorkerRates},
        profile::Profile,
    },
    machine::{Drive, Machine},
    model::{EngineKind, Limits, RunSample, Target, Workload},
    text::Label,
    units::Bytes,
};

use super::user_share;

/// The rates between two samples of a simulated run, as the kernel's counters would show them; memory as in the capture.
pub fn rates(
    machine: &Machine,
    limits: &Limits,
    workload: &Workload,
    memory: Option<Memory>,
    before: &RunSample,
    after: &RunSample,
) -> Rates {
    let elapsed = after.at.saturating_sub(before.at);
    let seconds = elapsed.as_secs_f64();
    let mut rates = Rates { elapsed, memory, forks: Some(0.0), blocked: Some(0), ..Rates::default() };
    let workers = u32::try_from(after.targets.len()).unwrap_or(u32::MAX).saturating_mul(workload.jobs);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a block is at most 64 MiB")]
    let block = Bytes(expected::mean_block(workload) as u64);
    let mut cycles = 0.0;
    let mut reads = 0;
    for (index, target) in after.targets.iter().enumerate() {
        let earlier = before.targets.get(index);
        let ios = target.ios.saturating_sub(earlier.map_or(0, |earlier| earlier.ios));
        let bytes = target.bytes.saturating_sub(earlier.map_or(0, |earlier| earlier.bytes));
        let Some(drive) = target.drive.as_ref().and_then(|name| machine.drive(name)) else { continue };
        let cost = processor::cost_per_read(limits, drive, workload, block, workers);
        cycles += ios as f64 * cost.map_or(0.0, |cost| cost.cycles);
        reads += ios;
        if seconds > 0.0 {
            let (requests, _) = processor::requests(drive, block);
            let depth = f64::from(workload.depth) * f64::from(workload.jobs) * requests;
            let disk = DiskRates {
                reads: ios as f64 * requests / seconds,
                read_bytes: bytes as f64 / seconds,
                read_await_ms: (ios > 0).then_some(target.latency.mean / 1e6),
                queue_depth: if ios > 0 { depth } else { 0.0 },
                utilisation: if ios > 0 { 100.0 * depth.min(1.0) } else { 0.0 },
                ..DiskRates::default()
            };
            rates.disks.insert(drive.name.clone(), disk);
        }
    }
    let Some(processors) = limits.processors.as_ref().filter(|_| seconds > 0.0) else { return rates };
    let threads = f64::from(processors.threads);
    let busy = (processors.busy_threads(cycles / seconds) / threads).clamp(0.0, 1.0);
    let user = user_share(workload);
    rates.cpu = Some(CpuShares {
        usr: busy * user * 100.0,
        sys: busy * (1.0 - user) * 100.0,
        idl: (1.0 - busy) * 100.0,
        ..CpuShares::default()
    });
    let own = (busy * threads / f64::from(workers.clamp(1, processors.threads))).min(1.0);
    let placed = placed(machine, workload, processors.threads);
    // Interrupts are in sys, for the model has no cost of theirs.
    let on_each = (0..processors.threads).map(|cpu| placed.iter().flatten().filter(|at| **at == cpu).count());
    for (cpu, own) in (0..processors.threads).zip(spread(busy * threads, &on_each.collect::<Vec<_>>())) {
        let shares = CpuShares {
            usr: own * user * 100.0,
            sys: own * (1.0 - user) * 100.0,
            idl: (1.0 - own) * 100.0,
            ..CpuShares::default()
        };
        rates.cpus.insert(cpu, shares);
    }
    if !is_polled(machine, workload) {
        interrupts(&mut rates, machine, workload, &placed);
    }
    rates.context_switches = Some(switches(reads, own) as f64 / seconds);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of threads"
    )]
    let running = (busy * threads).round() as u64;
    rates.running = Some(running);
    rates
}

/// One second of a machine at rest, as the kernel's counters would show it; memory as in the capture.
pub fn at_rest(machine: &Machine, memory: Option<Memory>) -> (Rates, Activity) {
    let idle = CpuShares { idl: 100.0, ..CpuShares::default() };
    let threads = u32::try_from(machine.processors.count()).unwrap_or(u32::MAX);
    let none = |drive: &Drive| (drive.name.clone(), DiskRates::default());
    let rates = Rates {
        elapsed: Duration::from_secs(1),
        memory,
        running: Some(0),
        forks: Some(0.0),
        blocked: Some(0),
        context_switches: Some(0.0),
        cpu: Some(idle),
        cpus: (0..threads).map(|cpu| (cpu, idle)).collect(),
        disks: machine.hardware_drives().map(none).collect(),
        ..Rates::default()
    };
    let activity = Activity {
        threads: Some(ThreadActivity { samples: 1, ..ThreadActivity::default() }),
        processes: Some(Vec::new()),
        profile: Some(Ok(profile(&rates))),
        ..Activity::default()
    };
    (rates, activity)
}

/// How busy each CPU is: workers take equal parts of `busy` CPUs; what a full CPU cannot take, the scheduler moves to others.
fn spread(busy: f64, workers: &[usize]) -> Vec<f64> {
    let mut each = vec![0.0_f64; workers.len()];
    let mut left = busy.min(workers.len() as f64);
    while left > 1e-9 {
        let has_room: Vec<usize> = (0..each.len()).filter(|cpu| each[*cpu] < 1.0).collect();
        let all: usize = has_room.iter().map(|cpu| workers[*cpu]).sum();
        if has_room.is_empty() {
            break;
        }
        let part = |cpu: usize| {
            if all > 0 { workers[cpu] as f64 / all as f64 } else { 1.0 / has_room.len() as f64 }
        };
        let mut spare = 0.0;
        for cpu in &has_room {
            let wanted = each[*cpu] + left * part(*cpu);
            each[*cpu] = wanted.min(1.0);
            spare += (wanted - 1.0).max(0.0);
        }
        left = spare;
    }
    each
}

/// Whether completions are polled: every drive has poll queues, as the engine demands.
fn is_polled(machine: &Machine, workload: &Workload) -> bool {
    let drives = workload.targets.iter().filter_map(|target| machine.drive(target.drive.as_ref()?));
    workload.hipri && drives.into_iter().all(|drive| drive.queue.io_poll.get() == Some(1))
}

/// The CPU of each job of each target: in turn those of the drive's NUMA node, else all.
fn placed(machine: &Machine, workload: &Workload, threads: u32) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..threads.max(1)).collect();
    let mut next: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let of = |target: &Target| {
        let drive = target.drive.as_ref().and_then(|name| machine.drive(name));
        let node = drive.and_then(|drive| drive.numa_node.get().flatten());
        let near = node.and_then(|node| machine.processors.numa.get(&node)).filter(|cpus| !cpus.is_empty());
        let cpus = near.unwrap_or(&all);
        let first = next.entry(near.and(node)).or_default();
        let own = (0..workload.jobs).map(|_| {
            *first += 1;
            cpus[(*first - 1) % cpus.len()]
        });
        own.collect()
    };
    workload.targets.iter().map(of).collect()
}

/// An interrupt for every request, on the queue of its worker's CPU: source P counted 1.0 to 1.1 requests for each. Only by CPU:
/// an assumption must not become what a run measured.
fn interrupts(rates: &mut Rates, machine: &Machine, workload: &Workload, placed: &[Vec<u32>]) {
    for (target, cpus) in workload.targets.iter().zip(placed) {
        let Some(drive) = target.drive.as_ref().and_then(|name| machine.drive(name)) else { continue };
        let Some((nvme, disk)) = drive.nvme.as_ref().zip(rates.disks.get(&drive.name)) else { continue };
        let each = disk.reads / f64::from(workload.jobs.max(1));
        for cpu in cpus {
            let vector = Label::new(&format!("{}q{}", nvme.controller, cpu + 1));
            let on_cpus = rates.vector_cpus.entry(vector).or_default();
            match on_cpus.iter_mut().find(|(number, _)| number == cpu) {
                Some((_, rate)) => *rate += each,
                None => on_cpus.push((*cpu, each)),
            }
        }
    }
}

/// Threads and the process of a simulated test: its workers run as long as its reads need a CPU, and wait otherwise.
pub fn activity(machine: &Machine, workload: &Workload, rates: &Rates) -> Activity {
    let workers = workload.targets.len() as f64 * f64::from(workload.jobs);
    let cpus = rates.cpus.values().map(|shares| (shares.usr + shares.sys) / 100.0).sum::<f64>().min(workers);
    let running = if is_polled(machine, workload) { workers } else { cpus };
    let (state, syscall, wchan) = match workload.engine {
        EngineKind::Libaio => ('S', "io_getevents", "read_events"),
        EngineKind::Posixaio => ('S', "futex", "futex_wait_queue"),
        EngineKind::Psync if workload.direct => ('D', "pread64", "__blkdev_direct_IO_simple"),
        EngineKind::Psync => ('D', "pread64", "folio_wait_bit_common"),
        EngineKind::Mmap => ('D', "madvise", "folio_wait_bit_common"),
        EngineKind::IoUring | EngineKind::IoUringCmd | EngineKind::Simulated => {
            ('S', "io_uring_enter", "io_cqring_wait")
        }
    };
    let kind = |state, wchan: Option<&str>| ThreadKind {
        state,
        command: Label::new("read *"),
        is_kernel: false,
        syscall: wchan.map(|_| Label::new(syscall)),
        wchan: wchan.map(Label::new),
        stack: None,
    };
    let mut kinds = vec![(kind('R', None), running), (kind(state, Some(wchan)), workers - running)];
    kinds.retain(|(_, mean)| *mean > 0.0);
    let count = workload.targets.len().saturating_mul(usize::try_from(workload.jobs).unwrap_or(usize::MAX));
    let process = ProcessRates {
        // No process reads; the number is that of none.
        pid: 0,
        has_ended: false,
        command: Label::new("iodyno"),
        read_bytes: Some(rates.disks.values().map(|disk| disk.read_bytes).sum()),
        written_bytes: Some(0.0),
        called_read: None,
        called_write: None,
        cpus,
        is_nice: false,
        delayed: None,
        drives: Some(rates.disks.keys().cloned().collect()),
    };
    Activity {
        threads: Some(ThreadActivity {
            kinds,
            samples: 1,
            seen: count,
            total: count,
            ..ThreadActivity::default()
        }),
        processes: Some(vec![process]),
        workers: Some(cost(rates)),
        profile: Some(Ok(profile(rates))),
        ..Activity::default()
    }
}

/// All that CPUs do is done by the workers.
fn cost(rates: &Rates) -> WorkerRates {
    let cpus =
        |of: fn(&CpuShares) -> f64| rates.cpus.values().map(of).fold(0.0, |sum, share| sum + share / 100.0);
    WorkerRates {
        user: cpus(|cpu| cpu.usr),
        system: cpus(|cpu| cpu.sys),
        switches: rates.context_switches.unwrap_or(0.0),
    }
}

/// CPU time of the simulated test in user and in kernel mode.
fn profile(rates: &Rates) -> Profile {
    let seconds = |of: fn(&CpuShares) -> f64| {
        let percent = rates.cpus.values().map(of).fold(0.0, |sum, percent| sum + percent);
        Duration::try_from_secs_f64(percent / 100.0 * rates.elapsed.as_secs_f64()).unwrap_or_default()
    };
    Profile::simulated(Label::new("iodyno"), seconds(|cpu| cpu.usr), seconds(|cpu| cpu.sys))
}

/// Context switches of `reads` by workers that are busy that share of the time: none for a worker that never waits, one
/// per read for one that mostly waits. Source R's 0.14 a read at 65 % and 0.97 at 2 % are close.
pub(crate) fn switches(reads: u64, busy: f64) -> u64 {
    let idle = 1.0 - busy.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
    let switches = (reads as f64 * idle * idle) as u64;
    switches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cpus_add_up_to_what_all_of_them_do(
            workers in prop::collection::vec(0_usize..4, 1..64), share in 0.0_f64..1.0,
        ) {
            let busy = share * workers.len() as f64;
            let each = spread(busy, &workers);
            prop_assert!(each.iter().all(|own| (0.0..=1.0).contains(own)), "{each:?}");
            prop_assert!((each.iter().sum::<f64>() - busy).abs() < 1e-6, "{each:?} for {busy}");
        }
    }

    #[test]
    fn two_workers_keep_their_cpu_busier_than_one() {
        for (busy, expected) in [(1.5, [1.0, 0.5, 0.0]), (2.0, [1.0, 1.0, 0.0]), (2.5, [1.0, 1.0, 0.5])] {
            let each = spread(busy, &[2, 1, 0]);
            let is_near = each.iter().zip(expected).all(|(own, expected)| (own - expected).abs() < 1e-6);
            assert!(is_near, "{each:?} for {busy}");
        }
    }
}
