//! Reads counters: `/proc/stat`, `/proc/meminfo`, `/proc/diskstats`, `/proc/interrupts`, AER, idle states.
//!
//! Each line is parsed on its own: a malformed line, or one with fewer columns, affects no other line.

use std::collections::BTreeMap;

use procfs::DiskStat;

use super::{
    interrupts,
    root::{self, SysRoot, join},
};
use crate::{
    counters::{Counters, CpuTimes, DiskCounters, Memory},
    model::{DriveName, PciAddress},
    text::Label,
};

/// Unit of the sector columns of `/proc/diskstats`, whatever the drive's block size.
const SECTOR: u64 = 512;

const CPUS: &str = "/sys/devices/system/cpu";

/// The current counters, including idle states.
pub fn read(root: &dyn SysRoot) -> Counters {
    let mut counters = read_without_idle_states(root);
    let online: Vec<u32> = counters.cpus.keys().copied().collect();
    counters.idle = idle(root, &online);
    counters
}

/// The current counters without idle states: those are one file per state and CPU, which takes longer to read
/// than all else together.
pub(crate) fn read_without_idle_states(root: &dyn SysRoot) -> Counters {
    let text = |path| root::text(root, path).value().cloned().unwrap_or_default();
    let mut counters = Counters { disks: disks(&text("/proc/diskstats")), ..Counters::default() };
    stat(&text("/proc/stat"), &mut counters);
    counters.memory = memory(&text("/proc/meminfo"));
    let table = text("/proc/interrupts");
    let table = interrupts::Table::parse(&table);
    counters.interrupts = table.totals();
    counters.vectors = table
        .rows
        .iter()
        .filter_map(|row| Some((Label::new(row.nvme_queue()?), row.counts.clone())))
        .collect();
    counters.aer = aer(root);
    counters.clock_khz = counters.cpus.keys().filter_map(|cpu| clock(root, *cpu)).max();
    counters
}

fn stat(text: &str, counters: &mut Counters) {
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        let number = || rest.trim().parse::<u64>().ok();
        match key {
            "cpu" => counters.cpu = cpu_times(rest),
            "ctxt" => counters.context_switches = number(),
            "processes" => counters.forks = number(),
            "procs_running" => counters.running = number(),
            "procs_blocked" => counters.blocked = number(),
            key => {
                let cpu = key.strip_prefix("cpu").and_then(|number| number.parse().ok());
                counters.cpus.extend(cpu.zip(cpu_times(rest)));
            }
        }
    }
}

/// Columns of a `cpu` row: four since the beginning, iowait, irq and softirq since 2.5, steal since 2.6.11, guest since
/// 2.6.24, `guest_nice` since 2.6.33.
fn cpu_times(rest: &str) -> Option<CpuTimes> {
    let columns: Vec<u64> = rest.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, idle, ..] = columns[..] else { return None };
    let later = |column: usize| columns.get(column).copied().unwrap_or(0);
    Some(CpuTimes {
        user,
        nice,
        system,
        idle,
        iowait: later(4),
        irq: later(5),
        softirq: later(6),
        steal: later(7),
        guest: later(8),
        guest_nice: later(9),
    })
}

/// dstat's columns: used is what is neither free, nor buffers, nor page cache, nor reclaimable slab; shared memory
/// counts in the kernel's `Cached` and is used all the same.
fn memory(text: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let (total, free) = (bytes("MemTotal")?, bytes("MemFree")?);
    let (buffers, cached) = (bytes("Buffers").unwrap_or(0), bytes("Cached").unwrap_or(0));
    let reclaimable = bytes("SReclaimable").unwrap_or(0);
    let used = total
        .saturating_sub(free)
        .saturating_sub(buffers)
        .saturating_sub(cached)
        .saturating_sub(reclaimable)
        .saturating_add(bytes("Shmem").unwrap_or(0));
    Some(Memory { used: used.min(total), free, buffers, cached })
}

fn disks(text: &str) -> BTreeMap<DriveName, DiskCounters> {
    text.lines().filter_map(|line| DiskStat::from_line(line).ok()).map(|row| disk(&row)).collect()
}

fn disk(row: &DiskStat) -> (DriveName, DiskCounters) {
    let counters = DiskCounters {
        reads: row.reads,
        read_bytes: row.sectors_read.saturating_mul(SECTOR),
        read_ms: row.time_reading,
        writes: row.writes,
        written_bytes: row.sectors_written.saturating_mul(SECTOR),
        write_ms: row.time_writing,
        in_flight: row.in_progress,
        weighted_ms: row.weighted_time_in_progress,
        busy_ms: row.time_in_progress,
        reads_merged: row.merged,
        writes_merged: row.writes_merged,
    };
    (DriveName::new(&row.name), counters)
}

/// `TOTAL_ERR_COR` of every function that counts its errors.
fn aer(root: &dyn SysRoot) -> BTreeMap<PciAddress, u64> {
    const DEVICES: &str = "/sys/bus/pci/devices";
    let names = root.list(DEVICES).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| {
            let address = name.parse().ok()?;
            let folder = join(DEVICES, &root.link(&format!("{DEVICES}/{name}")).ok()?);
            let text = root.read(&format!("{folder}/aer_dev_correctable")).ok()?;
            let text = String::from_utf8_lossy(&text);
            let total = text.lines().find_map(|line| line.strip_prefix("TOTAL_ERR_COR "))?;
            Some((address, total.trim().parse().ok()?))
        })
        .collect()
}

/// The clock of the fastest CPU now, kHz; under load that is a busy one. Without cpufreq as `/proc/cpuinfo` reports it.
pub(crate) fn fastest_clock(root: &dyn SysRoot) -> Option<f64> {
    let clocks = root::numbered(root, CPUS, "cpu").into_iter().filter_map(|cpu| clock(root, cpu));
    clocks.max().filter(|khz| *khz > 0).map(|khz| khz as f64).or_else(|| {
        let info = root::text(root, "/proc/cpuinfo").value().cloned()?;
        let mhz = |line: &str| line.strip_prefix("cpu MHz")?.split_once(':')?.1.trim().parse::<f64>().ok();
        let clocks = info.lines().filter_map(mhz).filter(|mhz| mhz.is_finite() && *mhz > 0.0);
        clocks.reduce(f64::max).map(|mhz| mhz * 1e3)
    })
}

fn clock(root: &dyn SysRoot, cpu: u32) -> Option<u64> {
    root::number(root, &format!("{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq")).get()
}

/// Entries of idle states; all CPUs have the states of the first one.
fn idle(root: &dyn SysRoot, cpus: &[u32]) -> BTreeMap<(u32, u32), u64> {
    let folder = |cpu: u32| format!("{CPUS}/cpu{cpu}/cpuidle");
    let states = cpus.first().map(|cpu| root::numbered(root, &folder(*cpu), "state")).unwrap_or_default();
    let mut found = BTreeMap::new();
    for (cpu, state) in cpus.iter().flat_map(|cpu| states.iter().map(|state| (*cpu, *state))) {
        let entries = root::number(root, &format!("{}/state{state}/usage", folder(cpu))).get();
        found.extend(entries.map(|entries| ((cpu, state), entries)));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn used_memory_is_what_dstat_calls_used() {
        let text = "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 700 kB\nBuffers: 50 kB\nCached: 200 kB\n\
                    SwapCached: 9 kB\nShmem: 30 kB\nSReclaimable: 80 kB\n";
        let memory = memory(text).unwrap();
        assert_eq!(memory.used, (1000 - 300 - 50 - 200 - 80 + 30) * 1024);
        assert_eq!((memory.free, memory.buffers, memory.cached), (300 << 10, 50 << 10, 200 << 10));
    }

    #[test]
    fn rows_of_old_and_new_kernels_are_understood_and_bad_ones_passed_over() {
        let text = " 259 0 nvme0n1 10 1 80 5 20 2 160 7 3 9 12\n\
                    259 1 broken\n\
                    259 2 nvme1n1 1 0 8 1 0 0 0 0 0 1 1 4 0 32 1 2 1\n";
        let disks = disks(text);
        assert_eq!(disks.len(), 2);
        let old = disks[&DriveName::new("nvme0n1")];
        assert_eq!((old.reads, old.read_bytes, old.written_bytes), (10, 80 * 512, 160 * 512));
        assert_eq!((old.in_flight, old.weighted_ms), (3, 12));
        assert_eq!(cpu_times(" 1 2 3 4").unwrap().steal, 0);
        assert_eq!(cpu_times("1 2 3 4 5 6 7 8 9 10").unwrap().steal, 8);
        assert_eq!(cpu_times("1 2 x 4"), None);
    }

    #[test]
    fn idle_states_are_counted_for_each_processor() {
        let mut capture = crate::source::capture::Capture::default();
        let mut put = |path: &str, text: &str| {
            capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(text.as_bytes().to_vec()));
        };
        put("/proc/stat", "cpu 1 0 1 9\ncpu0 1 0 1 9\ncpu2 1 0 1 9\n");
        for (cpu, state, usage) in [(0, 0, 5), (0, 1, 7), (2, 0, 1), (2, 1, 3)] {
            put(
                &format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/usage"),
                &format!("{usage}\n"),
            );
        }
        let states = Some(Ok(vec!["state0".to_owned(), "state1".to_owned()]));
        capture.answers.entry("/sys/devices/system/cpu/cpu0/cpuidle".to_owned()).or_default().list = states;
        let root = crate::source::capture::TextRoot::from(capture);
        let counters = read(&root);
        assert_eq!(counters.idle, [((0, 0), 5), ((0, 1), 7), ((2, 0), 1), ((2, 1), 3)].into());
        assert_eq!(read_without_idle_states(&root), Counters { idle: BTreeMap::new(), ..counters });
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z0-9 :\n]{0,300}") {
            let mut counters = Counters::default();
            stat(&text, &mut counters);
            prop_assert!(disks(&text).len() <= text.lines().count());
            prop_assert!(memory(&text).is_none() || text.contains(':'));
            let _ = interrupts::Table::parse(&text).totals();
        }
    }
}
