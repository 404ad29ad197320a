//! Monotonic counters read at one moment ([`Counters`]) and the pure [`rates`] between two of them.

pub mod activity;
mod columns;
mod joined;
pub mod profile;
mod side;
mod thread_counts;
mod uncounted;
#[cfg(test)]
mod come_and_go;

use std::{collections::BTreeMap, time::Duration};

use self::{columns::Columns, side::milliseconds};
pub use self::{
    side::{SideCounters, SideRates},
    thread_counts::ThreadCounts,
};
use crate::{
    model::{DriveName, PciAddress},
    text::Label,
};

/// Counters at one moment. What could not be read is empty or `None`, never zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    /// All CPUs together (`/proc/stat`, first row), in `USER_HZ` ticks.
    pub cpu: Option<CpuTimes>,
    /// Each CPU by number.
    pub cpus: BTreeMap<u32, CpuTimes>,
    /// `processes` of `/proc/stat`: forks since boot.
    pub forks: Option<u64>,
    /// `ctxt`.
    pub context_switches: Option<u64>,
    /// `procs_running` now.
    pub running: Option<u64>,
    /// `procs_blocked` now.
    pub blocked: Option<u64>,
    /// `/proc/meminfo`.
    pub memory: Option<Memory>,
    /// `/proc/diskstats` by kernel name.
    pub disks: BTreeMap<DriveName, DiskCounters>,
    /// Interrupts of drives' vectors: name (`nvme0q1`, `virtio1-req.0`, `0000:00:17.0-irq40`) to count per CPU column.
    pub vectors: BTreeMap<Label, Vec<u64>>,
    /// Posted-MSI notifications per CPU column (`PMN`); empty where the kernel has none.
    pub posted: Vec<u64>,
    /// The CPU numbers of the columns (`CPU0 CPU2`): offline CPUs have none.
    pub columns: Vec<u32>,
    /// `/proc/pressure/io`, `cpu` and `memory`; `None` where the kernel has none (`CONFIG_PSI`, `psi=0`).
    pub pressure: Option<Pressure>,
    /// `/proc/vmstat`.
    pub paging: Option<Paging>,
    /// All interrupts per CPU.
    pub interrupts: Vec<u64>,
    /// `aer_dev_correctable` totals.
    pub aer: BTreeMap<PciAddress, u64>,
    /// The highest current CPU clock, kHz (`cpufreq/scaling_cur_freq`).
    pub clock_khz: Option<u64>,
    /// Entries of idle states since boot, by CPU and number of the state (`cpuN/cpuidle/stateM/usage`).
    pub idle: BTreeMap<(u32, u32), u64>,
}

/// Ticks of one CPU, columns of `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the columns of /proc/stat, named as there (proc_stat(5))")]
pub struct CpuTimes {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
    /// Contained in `user`.
    pub guest: u64,
    /// Contained in `nice`.
    pub guest_nice: u64,
}

impl CpuTimes {
    fn plus(self, other: Self) -> Self {
        let sum = |column: fn(&Self) -> u64| column(&self).saturating_add(column(&other));
        Self {
            user: sum(|times| times.user),
            nice: sum(|times| times.nice),
            system: sum(|times| times.system),
            idle: sum(|times| times.idle),
            iowait: sum(|times| times.iowait),
            irq: sum(|times| times.irq),
            softirq: sum(|times| times.softirq),
            steal: sum(|times| times.steal),
            guest: sum(|times| times.guest),
            guest_nice: sum(|times| times.guest_nice),
        }
    }
}

/// Memory now, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "dstat's columns")]
pub struct Memory {
    pub used: u64,
    pub free: u64,
    pub buffers: u64,
    pub cached: u64,
}

/// Pressure stall information: microseconds since boot in which some or all tasks waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// `some` of `io`.
    pub io_some: u64,
    /// `full` of `io`.
    pub io_full: u64,
    /// `some` of `memory`.
    pub memory_some: u64,
    /// `full` of `memory`.
    pub memory_full: u64,
    /// `some` of `cpu`.
    pub cpu_some: u64,
}

/// Counters of reclaim, pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paging {
    /// `pgscan_kswapd`: pages that kswapd looked at.
    pub scanned_by_kswapd: u64,
    /// `pgscan_direct`: pages that allocating tasks had to look at themselves.
    pub scanned_directly: u64,
    /// `pgsteal_kswapd` and `pgsteal_direct`: pages reclaimed.
    pub reclaimed: u64,
}

/// One row of `/proc/diskstats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent reading, summed over requests.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Milliseconds spent writing, summed over requests.
    pub write_ms: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Weighted milliseconds: growth per second over 1000 is the mean queue depth.
    pub weighted_ms: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Reads merged with others before they were queued.
    pub reads_merged: u64,
    /// Writes merged likewise.
    pub writes_merged: u64,
    /// Discards; zero before Linux 4.18.
    pub discards: SideCounters,
    /// Flushes; zero before Linux 5.5.
    pub flushes: SideCounters,
}

/// Rates between two samples of the counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rates {
    /// Time between the samples.
    pub elapsed: Duration,
    /// Shares of all CPUs, percent.
    pub cpu: Option<CpuShares>,
    /// Shares of each CPU.
    pub cpus: BTreeMap<u32, CpuShares>,
    /// Runnable processes at the later sample except iodyno itself, as dstat counts; blocked ones; forks per second.
    pub running: Option<u64>,
    /// See `running`.
    pub blocked: Option<u64>,
    /// See `running`.
    pub forks: Option<f64>,
    /// Context switches per second.
    pub context_switches: Option<f64>,
    /// Memory at the later sample.
    pub memory: Option<Memory>,
    /// Each disk.
    pub disks: BTreeMap<DriveName, DiskRates>,
    /// Interrupts per second of drives' vectors, summed over CPUs.
    pub vectors: BTreeMap<Label, f64>,
    /// Interrupts per second of drives' vectors by CPU, where there were some.
    pub vector_cpus: BTreeMap<Label, Vec<(u32, f64)>>,
    /// Posted-MSI notifications per second, all CPUs; `None` where the kernel has none.
    pub posted: Option<f64>,
    /// The CPU numbers of `interrupts`.
    pub columns: Vec<u32>,
    /// Shares of time in which tasks waited.
    pub pressure: Option<PressureShares>,
    /// Pages per second.
    pub paging: Option<PagingRates>,
    /// All interrupts per second, by CPU column; of several intervals those of the time in which the CPU was online.
    pub interrupts: Vec<f64>,
    /// All interrupts of all CPUs per second; `None` where they are not counted.
    pub all_interrupts: Option<f64>,
    /// Correctable PCI Express errors per second.
    pub aer: BTreeMap<PciAddress, f64>,
    /// The highest CPU clock at the later sample, kHz.
    pub clock_khz: Option<u64>,
    /// Entries of idle states per second, by CPU and number of the state.
    pub idle: BTreeMap<(u32, u32), f64>,
}

/// Shares of CPU time, percent of one CPU's (or all CPUs') time; usr, sys, idl, wai and stl add up to 100.
///
/// `usr` is user and nice time, `sys` system, interrupt and soft interrupt time, as in vmstat. The dstats disagree on
/// interrupts: dstat 0.7.4 and dool add them to usr, pcp-dstat shows them in no column.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(missing_docs, reason = "dstat's columns: usr sys idl wai stl, and irq")]
pub struct CpuShares {
    pub usr: f64,
    pub sys: f64,
    pub idl: f64,
    pub wai: f64,
    pub stl: f64,
    /// Hard and soft interrupt time, also contained in `sys`.
    pub irq: f64,
    /// Soft interrupt time, also contained in `sys` and `irq`.
    pub softirq: f64,
    /// Time at low priority, also contained in `usr`.
    pub nice: f64,
    /// Time of guests, also contained in `usr`.
    pub guest: f64,
}

/// Shares of time, percent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(missing_docs, reason = "as in Pressure")]
pub struct PressureShares {
    pub io_some: f64,
    pub io_full: f64,
    pub memory_some: f64,
    pub memory_full: f64,
    pub cpu_some: f64,
}

/// Pages per second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[expect(missing_docs, reason = "as in Paging")]
pub struct PagingRates {
    pub scanned_by_kswapd: f64,
    pub scanned_directly: f64,
    pub reclaimed: f64,
}

/// One disk's rates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiskRates {
    /// Reads per second.
    pub reads: f64,
    /// Bytes read per second.
    pub read_bytes: f64,
    /// Writes per second.
    pub writes: f64,
    /// Bytes written per second.
    pub written_bytes: f64,
    /// Milliseconds per read (iostat's `r_await`); `None` without reads.
    pub read_await_ms: Option<f64>,
    /// Milliseconds per write (`w_await`); `None` without writes.
    pub write_await_ms: Option<f64>,
    /// Share of time with at least one request in flight, percent (%util). It says nothing about how full a drive with many
    /// queues is.
    pub utilisation: f64,
    /// Mean number of requests in flight.
    pub queue_depth: f64,
    /// Reads merged with others before they were queued, per second (rrqm/s).
    pub reads_merged: f64,
    /// Writes merged likewise (wrqm/s).
    pub writes_merged: f64,
    /// Discards (`d/s` and the like).
    pub discards: SideRates,
    /// Flushes (`f/s`, `f_await`).
    pub flushes: SideRates,
}

/// Rates between two samples, `elapsed` apart.
///
/// Omits a counter that decreased (a device was replaced) or is in one sample only (a CPU went offline). Rates are never
/// negative and never infinite.
pub fn rates(before: &Counters, after: &Counters, elapsed: Duration) -> Rates {
    let gauges = Rates {
        elapsed,
        running: after.running.map(|running| running.saturating_sub(1)),
        blocked: after.blocked,
        memory: after.memory,
        clock_khz: after.clock_khz,
        ..Rates::default()
    };
    let seconds = elapsed.as_secs_f64();
    if seconds <= 0.0 {
        return gauges;
    }
    let rate = |before: u64, after: u64| Some(after.checked_sub(before)? as f64 / seconds);
    let columns = Columns::of(before, after, seconds);
    let by_cpu = |then: &Vec<u64>, now: &Vec<u64>| {
        Some(columns.rates(then, now)?.filter(|(_, rate)| *rate > 0.0).collect::<Vec<_>>())
    };
    let vector_cpus = both(&before.vectors, &after.vectors, by_cpu);
    let (numbers, interrupts): (Vec<u32>, Vec<f64>) =
        columns.rates(&before.interrupts, &after.interrupts).into_iter().flatten().unzip();
    let all_interrupts = (!interrupts.is_empty()).then(|| interrupts.iter().sum());
    Rates {
        cpu: all_cpus(before, after),
        cpus: both(&before.cpus, &after.cpus, |before, after| shares(*before, *after)),
        forks: before.forks.zip(after.forks).and_then(|(before, after)| rate(before, after)),
        context_switches: before
            .context_switches
            .zip(after.context_switches)
            .and_then(|(before, after)| rate(before, after)),
        disks: both(&before.disks, &after.disks, |before, after| disk_rates(before, after, seconds)),
        vectors: vector_cpus
            .iter()
            .map(|(vector, cpus)| (vector.clone(), cpus.iter().fold(0.0, |sum, (_, rate)| sum + rate)))
            .collect(),
        vector_cpus,
        posted: columns
            .rates(&before.posted, &after.posted)
            .map(|rates| rates.fold(0.0, |sum, (_, rate)| sum + rate)),
        pressure: before.pressure.zip(after.pressure).and_then(|(then, now)| pressure(then, now, seconds)),
        paging: before.paging.zip(after.paging).and_then(|(then, now)| {
            Some(PagingRates {
                scanned_by_kswapd: rate(then.scanned_by_kswapd, now.scanned_by_kswapd)?,
                scanned_directly: rate(then.scanned_directly, now.scanned_directly)?,
                reclaimed: rate(then.reclaimed, now.reclaimed)?,
            })
        }),
        columns: numbers,
        interrupts,
        all_interrupts,
        aer: both(&before.aer, &after.aer, |before, after| rate(*before, *after)),
        idle: both(&before.idle, &after.idle, |before, after| rate(*before, *after)),
        ..gauges
    }
}

/// Rates of what both samples contain.
fn both<K: Ord + Clone, V, R>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
    rate: impl Fn(&V, &V) -> Option<R>,
) -> BTreeMap<K, R> {
    after.iter().filter_map(|(key, after)| Some((key.clone(), rate(before.get(key)?, after)?))).collect()
}

/// Microseconds of two samples as shares of the time between them.
fn pressure(then: Pressure, now: Pressure, seconds: f64) -> Option<PressureShares> {
    let share = |of: fn(&Pressure) -> u64| {
        let waited = of(&now).checked_sub(of(&then))? as f64;
        Some((waited / 1e4 / seconds).min(100.0))
    };
    Some(PressureShares {
        io_some: share(|pressure| pressure.io_some)?,
        io_full: share(|pressure| pressure.io_full)?,
        memory_some: share(|pressure| pressure.memory_some)?,
        memory_full: share(|pressure| pressure.memory_full)?,
        cpu_some: share(|pressure| pressure.cpu_some)?,
    })
}

/// Shares of all CPUs together. The kernel's total leaps when a CPU goes offline or comes back, for idle time is then counted
/// in another way; so the CPUs of both samples are added instead.
fn all_cpus(before: &Counters, after: &Counters) -> Option<CpuShares> {
    if before.cpus.keys().eq(after.cpus.keys()) {
        return shares(before.cpu?, after.cpu?);
    }
    let stayed = |of: &Counters, other: &Counters| {
        let of = of.cpus.iter().filter(|(cpu, _)| other.cpus.contains_key(cpu));
        of.fold(CpuTimes::default(), |sum, (_, times)| sum.plus(*times))
    };
    shares(stayed(before, after), stayed(after, before))
}

/// `None` where no time passed. Idle and iowait of a sleeping CPU are estimates and may decrease: that counts as zero.
fn shares(before: CpuTimes, after: CpuTimes) -> Option<CpuShares> {
    let grown = |column: fn(&CpuTimes) -> u64| column(&after).saturating_sub(column(&before)) as f64;
    let irq = grown(|times| times.irq) + grown(|times| times.softirq);
    let usr = grown(|times| times.user) + grown(|times| times.nice);
    let sys = grown(|times| times.system) + irq;
    let (idl, wai, stl) =
        (grown(|times| times.idle), grown(|times| times.iowait), grown(|times| times.steal));
    let total = usr + sys + idl + wai + stl;
    let share = |ticks: f64| 100.0 * ticks / total;
    (total > 0.0).then(|| CpuShares {
        usr: share(usr),
        sys: share(sys),
        idl: share(idl),
        wai: share(wai),
        stl: share(stl),
        irq: share(irq),
        softirq: share(grown(|times| times.softirq)),
        nice: share(grown(|times| times.nice)),
        // A tick of a guest may be counted there before it is in user time.
        guest: share(grown(|times| times.guest) + grown(|times| times.guest_nice)).min(100.0),
    })
}

fn disk_rates(before: &DiskCounters, after: &DiskCounters, seconds: f64) -> Option<DiskRates> {
    let grown = |column: fn(&DiskCounters) -> u64| column(after).checked_sub(column(before));
    let reads = grown(|disk| disk.reads)?;
    let writes = grown(|disk| disk.writes)?;
    let waited = milliseconds(before.read_ms, after.read_ms)?;
    let wrote = milliseconds(before.write_ms, after.write_ms)?;
    Some(DiskRates {
        reads: reads as f64 / seconds,
        read_bytes: grown(|disk| disk.read_bytes)? as f64 / seconds,
        writes: writes as f64 / seconds,
        written_bytes: grown(|disk| disk.written_bytes)? as f64 / seconds,
        read_await_ms: (reads > 0).then(|| waited as f64 / reads as f64),
        write_await_ms: (writes > 0).then(|| wrote as f64 / writes as f64),
        // The kernel counts whole jiffies: a busy second may have more than 1000 ms.
        utilisation: (milliseconds(before.busy_ms, after.busy_ms)? as f64 / 10.0 / seconds).min(100.0),
        queue_depth: milliseconds(before.weighted_ms, after.weighted_ms)? as f64 / 1000.0 / seconds,
        reads_merged: grown(|disk| disk.reads_merged)? as f64 / seconds,
        writes_merged: grown(|disk| disk.writes_merged)? as f64 / seconds,
        discards: after.discards.rates_since(&before.discards, seconds)?,
        flushes: after.flushes.rates_since(&before.flushes, seconds)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn disk(reads: u64, read_ms: u64, weighted_ms: u64) -> Counters {
        let counters =
            DiskCounters { reads, read_bytes: reads * 4096, read_ms, weighted_ms, ..DiskCounters::default() };
        Counters { disks: [(DriveName::new("nvme0n1"), counters)].into(), ..Counters::default() }
    }

    #[test]
    fn a_drive_under_load_has_iops_bytes_wait_and_depth() {
        let rates = rates(&disk(100, 50, 0), &disk(2100, 1050, 64_000), Duration::from_secs(2));
        let drive = rates.disks[&DriveName::new("nvme0n1")];
        assert_eq!((drive.reads, drive.read_bytes), (1000.0, 4_096_000.0));
        assert_eq!((drive.read_await_ms, drive.queue_depth), (Some(0.5), 32.0));
    }

    #[test]
    fn a_drive_that_came_back_or_is_new_has_no_rate() {
        let second = Duration::from_secs(1);
        assert!(rates(&disk(100, 0, 0), &disk(5, 0, 0), second).disks.is_empty());
        assert!(rates(&Counters::default(), &disk(5, 0, 0), second).disks.is_empty());
        assert!(rates(&disk(5, 0, 0), &Counters::default(), second).disks.is_empty());
        let idle = rates(&disk(5, 0, 0), &disk(5, 0, 0), second);
        assert_eq!(idle.disks[&DriveName::new("nvme0n1")].read_await_ms, None);
    }

    #[test]
    fn milliseconds_that_wrap_at_32_bits_go_on() {
        assert_eq!(milliseconds(u64::from(u32::MAX) - 10, 20), Some(31));
        assert_eq!(milliseconds(5000, 20), None);
        assert_eq!(milliseconds(1 << 40, 20), None);
    }

    #[test]
    fn interrupt_time_is_system_time_and_told_apart() {
        let before = CpuTimes::default();
        let after = CpuTimes {
            user: 10,
            nice: 10,
            system: 20,
            idle: 30,
            iowait: 10,
            irq: 5,
            softirq: 10,
            steal: 5,
            ..before
        };
        let shares = shares(before, after).unwrap();
        assert_eq!((shares.usr, shares.sys, shares.irq), (20.0, 35.0, 15.0));
        assert_eq!((shares.idl, shares.wai, shares.stl), (30.0, 10.0, 5.0));
        assert_eq!(super::shares(after, after), None);
    }

    #[test]
    fn columns_of_another_number_of_cpus_are_not_compared() {
        let with = |columns: &[u32], interrupts: &[u64]| Counters {
            columns: columns.to_vec(),
            interrupts: interrupts.to_vec(),
            posted: interrupts.to_vec(),
            vectors: [(Label::new("nvme0q1"), interrupts.to_vec())].into(),
            ..Counters::default()
        };
        let between = |before: &Counters, after: &Counters| rates(before, after, Duration::from_secs(1));
        let same = between(&with(&[0, 2], &[1, 2]), &with(&[0, 2], &[4, 2]));
        assert_eq!((same.columns, same.interrupts), (vec![0, 2], vec![3.0, 0.0]));
        assert_eq!((same.posted, &same.vector_cpus["nvme0q1"]), (Some(3.0), &vec![(0, 3.0)]));
        // CPU 0 went offline, CPU 3 came: what it counted before is not of this second.
        let others = between(&with(&[0, 2], &[900, 2]), &with(&[2, 3], &[7, 50_000]));
        assert_eq!((others.columns, others.interrupts), (vec![2], vec![5.0]));
        assert_eq!((others.posted, others.vectors["nvme0q1"]), (Some(5.0), 5.0));
        let reset = between(&with(&[0, 2], &[1, 2]), &with(&[0, 2], &[4, 1]));
        assert_eq!((reset.columns, reset.interrupts, reset.posted), (vec![], vec![], None));
        assert!(reset.vectors.is_empty() && reset.vector_cpus.is_empty());
        assert_eq!(between(&Counters::default(), &with(&[0], &[9])).posted, None, "a row that is new");
    }

    #[test]
    fn the_total_is_that_of_the_cpus_which_stay() {
        let times = |user, idle| CpuTimes { user, idle, ..CpuTimes::default() };
        // As on a real machine: the total's idle time leaps by that of the CPU that went.
        let two = Counters {
            cpu: Some(times(300, 1000)),
            cpus: [(0, times(100, 500)), (1, times(200, 500))].into(),
            ..Counters::default()
        };
        let one = Counters {
            cpu: Some(times(390, 30_010)),
            cpus: [(0, times(190, 510))].into(),
            ..Counters::default()
        };
        for (before, after) in
            [(&two, &one), (&Counters { cpus: [(0, times(10, 490))].into(), ..one.clone() }, &two)]
        {
            let all = rates(before, after, Duration::from_secs(1)).cpu.unwrap();
            assert_eq!((all.usr.round(), all.idl.round()), (90.0, 10.0));
        }
        let gone = Counters { cpus: [(7, times(1, 1))].into(), ..two.clone() };
        assert_eq!(rates(&two, &gone, Duration::from_secs(1)).cpu, None);
    }

    proptest! {
        #[test]
        fn no_counters_whatever_give_negative_or_infinite_rates(
            before in prop::array::uniform8(any::<u64>()),
            after in prop::array::uniform8(any::<u64>()),
            cpus in (prop::collection::btree_set(0_u32..12, 8), prop::collection::btree_set(0_u32..12, 8)),
            millis in 0_u64..10_000,
        ) {
            let look = |c: [u64; 8], cpus: &std::collections::BTreeSet<u32>| {
                let times = CpuTimes {
                    user: c[0] >> 8, nice: c[1] >> 8, system: c[2] >> 8, idle: c[3] >> 8,
                    iowait: c[4] >> 8, irq: c[5] >> 8, softirq: c[6] >> 8, steal: c[7] >> 8,
                    guest: c[7] >> 8, guest_nice: c[6] >> 8,
                };
                let disk = DiskCounters {
                    reads: c[0], read_bytes: c[1], read_ms: c[2], writes: c[3],
                    written_bytes: c[4], write_ms: c[5], in_flight: c[6], weighted_ms: c[7],
                    busy_ms: c[1], reads_merged: c[2], writes_merged: c[3],
                    discards: SideCounters { ios: c[4], merged: c[5], bytes: c[6], ms: c[7] },
                    flushes: SideCounters { ios: c[0], ms: c[1], ..SideCounters::default() },
                };
                Counters {
                    cpu: Some(times),
                    forks: Some(c[0]),
                    context_switches: Some(c[1]),
                    disks: [(DriveName::new("sda"), disk)].into(),
                    vectors: [(Label::new("nvme0q1"), c.to_vec())].into(),
                    interrupts: c.to_vec(),
                    posted: c.to_vec(),
                    columns: cpus.iter().copied().collect(),
                    pressure: Some(Pressure {
                        io_some: c[0], io_full: c[1], memory_some: c[2], memory_full: c[3], cpu_some: c[4],
                    }),
                    paging: Some(Paging { scanned_by_kswapd: c[5], scanned_directly: c[6], reclaimed: c[7] }),
                    idle: [((0, 1), c[0])].into(),
                    ..Counters::default()
                }
            };
            let rates = rates(&look(before, &cpus.0), &look(after, &cpus.1), Duration::from_millis(millis));
            let mut all: Vec<f64> = rates.interrupts.clone();
            prop_assert_eq!(rates.columns.len(), rates.interrupts.len());
            all.extend(rates.posted);
            all.extend(rates.vector_cpus.values().flatten().map(|(_, rate)| *rate));
            if let Some(paging) = rates.paging {
                all.extend([paging.scanned_by_kswapd, paging.scanned_directly, paging.reclaimed]);
            }
            if let Some(pressure) = rates.pressure {
                let shares = [pressure.io_some, pressure.io_full, pressure.memory_some, pressure.memory_full, pressure.cpu_some];
                prop_assert!(shares.iter().all(|share| *share <= 100.0), "{:?}", shares);
                all.extend(shares);
            }
            all.extend(rates.idle.values());
            all.extend(rates.forks.iter().chain(&rates.context_switches).chain(rates.vectors.values()));
            for disk in rates.disks.values() {
                all.extend([disk.reads, disk.read_bytes, disk.writes, disk.written_bytes, disk.queue_depth]);
                all.push(disk.utilisation);
                all.extend(disk.read_await_ms.into_iter().chain(disk.write_await_ms));
            }
            if let Some(cpu) = rates.cpu {
                let sum = cpu.usr + cpu.sys + cpu.idl + cpu.wai + cpu.stl;
                prop_assert!((sum - 100.0).abs() < 1e-6, "{sum}");
                all.extend([cpu.usr, cpu.sys, cpu.idl, cpu.wai, cpu.stl, cpu.irq]);
            }
            prop_assert!(all.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{all:?}");
        }
    }
}
