//! Reads counters: `/proc/stat`, `meminfo`, `diskstats`, `interrupts`, `pressure`, `vmstat`, AER, clocks, idle states.
//!
//! Each line is parsed on its own: a malformed line, or one with fewer columns, affects no other line.

use std::collections::BTreeMap;

use super::{
    drive_vectors::DriveVectors,
    fields::{lines, number, value_of, words},
    functions::Functions,
    interrupts,
    root::{self, SysRoot},
};
use crate::{
    counters::{Counters, CpuTimes, DiskCounters, Memory, Paging, Pressure, SideCounters},
    model::{DriveName, cpu_list::MOST_CPUS},
    text::Label,
};

/// Unit of the sector columns of `/proc/diskstats`, whatever the drive's block size.
const SECTOR: u64 = 512;

const CPUS: &str = "/sys/devices/system/cpu";

/// The current counters, including idle states.
pub fn read(root: &dyn SysRoot) -> Counters {
    let mut counters = Counters::default();
    CountersReader::default().read(root, true, &mut counters);
    counters
}

/// Reads counters again and again, with the memory of the reads before.
#[derive(Debug, Default)]
pub struct CountersReader {
    text: Vec<u8>,
    /// Counts of one row of `/proc/interrupts`.
    row: Vec<u64>,
    functions: Functions,
    drive_vectors: DriveVectors,
    /// `scaling_cur_freq` of the CPUs `clocks_of`.
    clocks: Vec<String>,
    clocks_of: Vec<u32>,
    /// `usage` of the idle states of the CPUs `idle_of`.
    idle: Vec<((u32, u32), String)>,
    idle_of: Vec<u32>,
}

impl CountersReader {
    /// Replaces `counters` by the current ones. Those of before should be passed: what is there needs no new memory. Idle states are
    /// one file per state and CPU, which takes longer to read than all else together.
    pub fn read(&mut self, root: &dyn SysRoot, idle_states: bool, counters: &mut Counters) {
        self.load(root, "/proc/diskstats");
        disks(&self.text, &mut counters.disks);
        self.load(root, "/proc/stat");
        stat(&self.text, counters);
        self.load(root, "/proc/meminfo");
        counters.memory = memory(&self.text);
        self.drive_vectors.list(root);
        self.load(root, "/proc/interrupts");
        interrupts(&self.text, &mut self.row, &self.drive_vectors, counters);
        counters.pressure = self.pressure(root);
        self.load(root, "/proc/vmstat");
        counters.paging = paging(&self.text);
        self.functions.list(root);
        self.functions.errors(root, &mut counters.aer);
        counters.clock_khz = self.clock(root, &counters.cpus);
        self.idle_states(root, idle_states, counters);
    }

    /// Whether hardware came, went or changed since this was asked last; functions are listed by `read`.
    pub fn hardware_changed(&mut self, root: &dyn SysRoot) -> bool {
        self.functions.changed(root)
    }

    /// What cannot be read is empty.
    fn load(&mut self, root: &dyn SysRoot, path: &str) {
        if root.read_into(path, &mut self.text).is_err() {
            self.text.clear();
        }
    }

    fn pressure(&mut self, root: &dyn SysRoot) -> Option<Pressure> {
        let mut stalled = |path| {
            self.load(root, path);
            (stalls(&self.text, b"some"), stalls(&self.text, b"full"))
        };
        let (io, memory, cpu) =
            (stalled("/proc/pressure/io"), stalled("/proc/pressure/memory"), stalled("/proc/pressure/cpu"));
        Some(Pressure {
            io_some: io.0?,
            io_full: io.1?,
            memory_some: memory.0?,
            memory_full: memory.1?,
            cpu_some: cpu.0?,
        })
    }

    fn clock(&mut self, root: &dyn SysRoot, cpus: &BTreeMap<u32, CpuTimes>) -> Option<u64> {
        if !cpus.keys().eq(&self.clocks_of) {
            self.clocks_of = cpus.keys().copied().collect();
            self.clocks = self.clocks_of.iter().map(|cpu| clock_path(*cpu)).collect();
            self.clocks.retain(|path| root.read_into(path, &mut self.text).is_ok());
        }
        let mut read = |path: &String| single(root, path);
        self.clocks.iter().filter_map(&mut read).max()
    }

    /// Entries of idle states; all CPUs have the states of the first one.
    fn idle_states(&mut self, root: &dyn SysRoot, wanted: bool, counters: &mut Counters) {
        if !wanted {
            counters.idle.clear();
            return;
        }
        if !counters.cpus.keys().eq(&self.idle_of) {
            let folder = |cpu: u32| format!("{CPUS}/cpu{cpu}/cpuidle");
            self.idle_of = counters.cpus.keys().copied().collect();
            let states = self
                .idle_of
                .first()
                .map(|cpu| root::numbered(root, &folder(*cpu), "state"))
                .unwrap_or_default();
            let path = |cpu: u32, state: u32| ((cpu, state), format!("{}/state{state}/usage", folder(cpu)));
            let all = self.idle_of.iter().flat_map(|cpu| states.iter().map(move |state| (*cpu, *state)));
            self.idle = all.map(|(cpu, state)| path(cpu, state)).collect();
            counters.idle.clear();
        }
        for (key, path) in &self.idle {
            match single(root, path) {
                Some(entries) => _ = counters.idle.insert(*key, entries),
                None => _ = counters.idle.remove(key),
            }
        }
        if counters.idle.len() > self.idle.len() {
            counters.idle.retain(|key, _| self.idle.iter().any(|(known, _)| known == key));
        }
    }
}

/// A file that is one number.
fn single(root: &dyn SysRoot, path: &str) -> Option<u64> {
    let mut text = [0; 32];
    let length = root.read_short(path, &mut text).ok()?;
    number(text.get(..length)?.trim_ascii())
}

/// Puts what the rows say into `map`, whose memory is used again; what no row names is removed.
fn refill<K: Ord, V>(map: &mut BTreeMap<K, V>, mut fill: impl FnMut(&mut BTreeMap<K, V>) -> usize) {
    let rows = fill(map);
    if rows != map.len() {
        map.clear();
        fill(map);
    }
}

fn stat(text: &[u8], counters: &mut Counters) {
    let Counters { cpu, cpus, forks, context_switches, running, blocked, .. } = counters;
    (*cpu, *forks, *context_switches, *running, *blocked) = (None, None, None, None, None);
    refill(cpus, |cpus| {
        let mut rows = 0;
        for line in lines(text) {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
            let (key, rest) = line.split_at(space);
            let single = || number(rest.trim_ascii());
            match key {
                b"cpu" => *cpu = cpu_times(rest),
                b"ctxt" => *context_switches = single(),
                b"processes" => *forks = single(),
                b"procs_running" => *running = single(),
                b"procs_blocked" => *blocked = single(),
                key => {
                    let Some(cpu) = key.strip_prefix(b"cpu").and_then(number) else { continue };
                    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS);
                    if let (Some(cpu), Some(times)) = (cpu, cpu_times(rest)) {
                        rows += 1;
                        cpus.insert(cpu, times);
                    }
                }
            }
        }
        rows
    });
}

/// Columns of a `cpu` row: four since the beginning, iowait, irq and softirq since 2.5, steal since 2.6.11, guest since
/// 2.6.24, `guest_nice` since 2.6.33.
fn cpu_times(rest: &[u8]) -> Option<CpuTimes> {
    let (mut columns, mut count) = ([0; 10], 0);
    for word in words(rest) {
        let ticks = number(word)?;
        if let Some(column) = columns.get_mut(count) {
            *column = ticks;
        }
        count += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = columns;
    (count >= 4).then_some(CpuTimes {
        user,
        nice,
        system,
        idle,
        iowait,
        irq,
        softirq,
        steal,
        guest,
        guest_nice,
    })
}

/// dstat's columns: used is what is neither free, nor buffers, nor page cache, nor reclaimable slab; shared memory
/// counts in the kernel's `Cached` and is used all the same.
fn memory(text: &[u8]) -> Option<Memory> {
    let bytes = |name: &[u8]| value_of(text, name)?.checked_mul(1024);
    let (total, free) = (bytes(b"MemTotal:")?, bytes(b"MemFree:")?);
    let (buffers, cached) = (bytes(b"Buffers:").unwrap_or(0), bytes(b"Cached:").unwrap_or(0));
    let reclaimable = bytes(b"SReclaimable:").unwrap_or(0);
    let used = total
        .saturating_sub(free)
        .saturating_sub(buffers)
        .saturating_sub(cached)
        .saturating_sub(reclaimable)
        .saturating_add(bytes(b"Shmem:").unwrap_or(0));
    Some(Memory { used: used.min(total), free, buffers, cached })
}

/// `total=` of a line of `/proc/pressure/*`, microseconds.
fn stalls(text: &[u8], kind: &[u8]) -> Option<u64> {
    let line = lines(text).find(|line| line.starts_with(kind))?;
    words(line).find_map(|word| number(word.strip_prefix(b"total=")?))
}

/// `/proc/vmstat`. Before Linux 4.8 each zone had its own counter (`pgscan_kswapd_normal`).
fn paging(text: &[u8]) -> Option<Paging> {
    const KEYS: [&[u8]; 4] = [b"pgscan_kswapd", b"pgscan_direct", b"pgsteal_kswapd", b"pgsteal_direct"];
    let mut sums: [Option<u64>; 4] = [None; 4];
    for line in lines(text).filter(|line| line.starts_with(b"pgs")) {
        for (key, sum) in KEYS.iter().zip(&mut sums) {
            let Some(rest) = line.strip_prefix(*key) else { continue };
            let mut rest = words(rest);
            let zone = if line.get(key.len()) == Some(&b'_') { rest.next() } else { None };
            // `pgscan_direct_throttle` counts tasks, not pages.
            if let (true, Some(pages)) = (zone != Some(b"_throttle"), rest.next().and_then(number)) {
                *sum = Some(sum.unwrap_or(0).saturating_add(pages));
            }
        }
    }
    let [scanned_by_kswapd, scanned_directly, by_kswapd, directly] = sums;
    Some(Paging {
        scanned_by_kswapd: scanned_by_kswapd?,
        scanned_directly: scanned_directly?,
        reclaimed: by_kswapd?.saturating_add(directly?),
    })
}

fn interrupts(text: &[u8], row: &mut Vec<u64>, of_drives: &DriveVectors, counters: &mut Counters) {
    let Counters { vectors, posted, columns, interrupts, .. } = counters;
    columns.clear();
    columns.extend(interrupts::columns(text).map_while(|cpu| cpu));
    refill(vectors, |vectors| {
        let mut rows = 0;
        posted.clear();
        interrupts.clear();
        interrupts.resize(columns.len(), 0);
        interrupts::rows(text, row, |row, counts| {
            if counts.len() == interrupts.len() {
                for (total, count) in interrupts.iter_mut().zip(counts) {
                    *total = total.saturating_add(*count);
                }
            }
            if row.is_posted_msi() {
                posted.extend_from_slice(counts);
            }
            let by_number = || of_drives.name(row.number()?).filter(|_| !row.is_virtio_config());
            let Some(queue) = row.queue().or_else(by_number) else { return };
            rows += 1;
            if let Some(known) = vectors.get_mut(queue) {
                counts.clone_into(known);
            } else {
                vectors.insert(Label::new(queue), counts.to_vec());
            }
        });
        rows
    });
}

fn disks(text: &[u8], disks: &mut BTreeMap<DriveName, DiskCounters>) {
    refill(disks, |disks| {
        let mut rows = 0;
        for (name, row) in lines(text).filter_map(disk) {
            rows += 1;
            if let Some(known) = disks.get_mut(name) {
                *known = row;
            } else {
                disks.insert(DriveName::new(name), row);
            }
        }
        rows
    });
}

/// A row of `/proc/diskstats`: major, minor, name, and eleven counters, those of discards since Linux 4.18 and of flushes
/// since 5.5 (Documentation/admin-guide/iostats.rst).
fn disk(line: &[u8]) -> Option<(&str, DiskCounters)> {
    let mut words = words(line).skip(2);
    let name = str::from_utf8(words.next()?).ok()?;
    let mut next = || number(words.next()?);
    let counters = DiskCounters {
        reads: next()?,
        reads_merged: next()?,
        read_bytes: next()?.saturating_mul(SECTOR),
        read_ms: next()?,
        writes: next()?,
        writes_merged: next()?,
        written_bytes: next()?.saturating_mul(SECTOR),
        write_ms: next()?,
        in_flight: next()?,
        busy_ms: next()?,
        weighted_ms: next()?,
        discards: SideCounters {
            ios: next().unwrap_or(0),
            merged: next().unwrap_or(0),
            bytes: next().unwrap_or(0).saturating_mul(SECTOR),
            ms: next().unwrap_or(0),
        },
        flushes: SideCounters {
            ios: next().unwrap_or(0),
            ms: next().unwrap_or(0),
            ..SideCounters::default()
        },
    };
    Some((name, counters))
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
    root::number(root, &clock_path(cpu)).get()
}

fn clock_path(cpu: u32) -> String {
    format!("{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn used_memory_is_what_dstat_calls_used() {
        let text = "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 700 kB\nBuffers: 50 kB\nCached: 200 kB\n\
                    SwapCached: 9 kB\nShmem: 30 kB\nSReclaimable: 80 kB\n";
        let memory = memory(text.as_bytes()).unwrap();
        assert_eq!(memory.used, (1000 - 300 - 50 - 200 - 80 + 30) * 1024);
        assert_eq!((memory.free, memory.buffers, memory.cached), (300 << 10, 50 << 10, 200 << 10));
    }

    #[test]
    fn rows_of_old_and_new_kernels_are_understood_and_bad_ones_passed_over() {
        let text = " 259 0 nvme0n1 10 1 80 5 20 2 160 7 3 9 12\n\
                    259 1 broken\n\
                    259 2 nvme1n1 1 0 8 1 0 0 0 0 0 1 1 4 0 32 1 2 1\n";
        let mut found = BTreeMap::from([(DriveName::new("gone"), DiskCounters::default())]);
        disks(text.as_bytes(), &mut found);
        assert_eq!(found.len(), 2, "what is gone is not kept");
        let old = found["nvme0n1"];
        assert_eq!((old.reads, old.read_bytes, old.written_bytes), (10, 80 * 512, 160 * 512));
        assert_eq!((old.in_flight, old.weighted_ms), (3, 12));
        assert_eq!((old.discards, old.flushes), (SideCounters::default(), SideCounters::default()));
        let new = found["nvme1n1"];
        assert_eq!(new.discards, SideCounters { ios: 4, merged: 0, bytes: 32 * 512, ms: 1 });
        assert_eq!(new.flushes, SideCounters { ios: 2, ms: 1, ..SideCounters::default() });
        assert_eq!(cpu_times(b" 1 2 3 4").unwrap().steal, 0);
        assert_eq!(cpu_times(b"1 2 3 4 5 6 7 8 9 10").unwrap().steal, 8);
        assert_eq!(cpu_times(b"1 2 x 4"), None);
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
        let mut others = counters.clone();
        CountersReader::default().read(&root, false, &mut others);
        assert_eq!(others, Counters { idle: BTreeMap::new(), ..counters });
    }

    #[test]
    fn stalls_are_microseconds_and_a_kernel_without_them_has_none() {
        let text = "some avg10=3.81 avg60=1.56 avg300=3.01 total=36997820\n\
                    full avg10=2.00 avg60=0.94 avg300=1.78 total=24873463\n";
        assert_eq!(stalls(text.as_bytes(), b"some"), Some(36_997_820));
        assert_eq!(stalls(text.as_bytes(), b"full"), Some(24_873_463));
        let files = ["io", "memory", "cpu"].map(|name| (format!("/proc/pressure/{name}"), text.to_owned()));
        assert_eq!(read(&machine(&files)).pressure.map(|pressure| pressure.io_some), Some(36_997_820));
        assert_eq!(read(&machine(&files[..2])).pressure, None);
    }

    #[test]
    fn reclaim_is_summed_over_the_zones_of_older_kernels() {
        let new = "pgscan_kswapd 5\npgscan_direct 7\npgscan_direct_throttle 900\npgscan_anon 11\npgsteal_kswapd 3\n\
                   pgsteal_direct 2\npgsteal_khugepaged 100\n";
        let expected = Some(Paging { scanned_by_kswapd: 5, scanned_directly: 7, reclaimed: 5 });
        assert_eq!(paging(new.as_bytes()), expected);
        let old = "pgsteal_kswapd_dma 1\npgsteal_kswapd_normal 2\npgsteal_direct_dma 0\npgsteal_direct_normal 2\n\
                   pgscan_kswapd_dma 1\npgscan_kswapd_normal 4\npgscan_direct_dma 3\npgscan_direct_normal 4\n\
                   pgscan_direct_throttle 900\n";
        assert_eq!(paging(old.as_bytes()), expected);
        assert_eq!(paging(b"pgscan_kswapd 5\n"), None);
    }

    #[test]
    fn posted_msi_and_vectors_are_counted_by_the_cpus_of_the_header() {
        let table = "     CPU0   CPU2\n 35:  1  2  PCI-MSIX-0000:01:00.0 1-edge nvme0q1\nPMN:  7  8  Posted MSI notification event\n";
        let counters = read(&machine(&[("/proc/interrupts".to_owned(), table.to_owned())]));
        assert_eq!(
            (counters.columns, counters.posted, counters.interrupts),
            (vec![0, 2], vec![7, 8], vec![8, 10])
        );
        assert_eq!(counters.vectors["nvme0q1"], [1, 2]);
    }

    #[test]
    fn vectors_of_other_drives_are_those_of_their_functions() {
        let mut capture = crate::source::capture::Capture::default();
        let table = "  CPU0\n 35: 1 PCI-MSIX-0000:00:02.0 0-edge virtio1-config\n 36: 7 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\n\
                     37: 3 PCI-MSIX-0000:00:03.0 1-edge virtio2-request\n 38: 4 PCI-MSIX-0000:00:03.0 2-edge virtio2-request\n\
                     40: 5 PCI-MSI-0000:00:17.0 0-edge ahci[0000:00:17.0]\n 41: 6 PCI-MSI-0000:00:19.0 0-edge xhci_hcd\n";
        capture.answers.entry("/proc/interrupts".to_owned()).or_default().read = Some(Ok(table.into()));
        let drives = [
            ("vda", "0000:00:02.0", "virtio1/block", vec!["35", "36"]),
            ("sda", "0000:00:03.0", "virtio2/host1/target1:0:0/1:0:0:0/block", vec!["37", "38"]),
            ("sdb", "0000:00:17.0", "ata1/host0/target0:0:0/0:0:0:0/block", vec!["40"]),
        ];
        let names = |names: &[&str]| Some(Ok(names.iter().map(|name| (*name).to_owned()).collect()));
        capture.answers.entry("/sys/block".to_owned()).or_default().list = names(&["sda", "sdb", "vda"]);
        for (drive, address, below, irqs) in drives {
            let function = format!("devices/pci0000:00/{address}");
            let target = format!("../{function}/{below}/{drive}");
            capture.answers.entry(format!("/sys/block/{drive}")).or_default().link = Some(Ok(target));
            capture.answers.entry(format!("/sys/{function}/msi_irqs")).or_default().list = names(&irqs);
        }
        let counters = read(&crate::source::capture::TextRoot::from(capture));
        let vectors: Vec<_> =
            counters.vectors.iter().map(|(name, counts)| (name.as_str(), counts[0])).collect();
        let of_virtio = [("virtio1-req.0", 7), ("virtio2-irq37", 3), ("virtio2-irq38", 4)];
        assert_eq!(vectors, [&[("0000:00:17.0-irq40", 5)], &of_virtio[..]].concat());
    }

    #[test]
    fn counters_read_over_those_of_before_are_those_read_afresh() {
        let rows = |disks: &str, cpus: &str, vectors: &str| {
            machine(&[
                ("/proc/diskstats".to_owned(), disks.to_owned()),
                ("/proc/stat".to_owned(), cpus.to_owned()),
                ("/proc/interrupts".to_owned(), vectors.to_owned()),
            ])
        };
        let many = rows(
            "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n259 1 sda 1 2 3 4 5 6 7 8 9 10 11\n",
            "cpu 1 0 1 9\ncpu0 1 0 1 9\ncpu2 1 0 1 9\nctxt 5\n",
            " CPU0 CPU2\n 1: 1 2 nvme0q1\n 2: 3 4 nvme1q1\nPMN: 1 2 x\n",
        );
        let few = rows(
            "259 1 sda 9 9 9 9 9 9 9 9 9 9 9\n",
            "cpu 1 0 1 9\ncpu2 2 0 1 9\n",
            " CPU2\n 2: 4 nvme1q1\n",
        );
        let (mut reader, mut counters) = (CountersReader::default(), Counters::default());
        for root in [&many, &few, &many] {
            reader.read(root, true, &mut counters);
            assert_eq!(counters, read(root));
        }
    }

    fn machine(files: &[(String, String)]) -> crate::source::capture::TextRoot {
        let mut capture = crate::source::capture::Capture::default();
        for (path, text) in files {
            capture.answers.entry(path.clone()).or_default().read = Some(Ok(text.as_bytes().to_vec()));
        }
        crate::source::capture::TextRoot::from(capture)
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[a-z0-9 :=_\n]{0,300}") {
            let mut counters = Counters::default();
            stat(text.as_bytes(), &mut counters);
            let mut found = BTreeMap::new();
            disks(text.as_bytes(), &mut found);
            prop_assert!(found.len() <= text.lines().count());
            prop_assert!(memory(text.as_bytes()).is_none() || text.contains(':'));
            prop_assert!(paging(text.as_bytes()).is_none() || text.contains("pgscan_kswapd"));
            prop_assert!(stalls(text.as_bytes(), b"some").is_none() || text.contains("total="));
            interrupts(text.as_bytes(), &mut Vec::new(), &DriveVectors::default(), &mut counters);
            prop_assert_eq!(counters.interrupts.len(), counters.columns.len());
        }
    }
}
