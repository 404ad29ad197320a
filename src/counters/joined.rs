//! Merges the rates of two adjacent time spans into one.

use std::{collections::BTreeMap, time::Duration};

use super::{CpuShares, DiskRates, PagingRates, PressureShares, Rates, SideRates};

/// Lengths of the two time spans, seconds.
#[derive(Clone, Copy)]
struct Times(f64, f64);

impl Times {
    fn mean(self, earlier: f64, later: f64) -> f64 {
        let Self(first, second) = self;
        (earlier * first + later * second) / (first + second)
    }

    /// Merges values of both time spans with `join`; a key in only one of them keeps its value.
    fn both<K: Ord + Clone, V: Clone>(
        earlier: &BTreeMap<K, V>,
        later: &BTreeMap<K, V>,
        join: impl Fn(&V, &V) -> V,
    ) -> BTreeMap<K, V> {
        let mut all = earlier.clone();
        for (key, value) in later {
            let joined = earlier.get(key).map_or_else(|| value.clone(), |first| join(first, value));
            all.insert(key.clone(), joined);
        }
        all
    }

    fn option(self, earlier: Option<f64>, later: Option<f64>) -> Option<f64> {
        earlier.zip(later).map(|(a, b)| self.mean(a, b)).or(later).or(earlier)
    }

    fn numbers<K: Ord + Clone>(
        self,
        earlier: &BTreeMap<K, f64>,
        later: &BTreeMap<K, f64>,
    ) -> BTreeMap<K, f64> {
        Self::both(earlier, later, |a, b| self.mean(*a, *b))
    }

    fn shares(self, a: CpuShares, b: CpuShares) -> CpuShares {
        CpuShares {
            usr: self.mean(a.usr, b.usr),
            sys: self.mean(a.sys, b.sys),
            idl: self.mean(a.idl, b.idl),
            wai: self.mean(a.wai, b.wai),
            stl: self.mean(a.stl, b.stl),
            irq: self.mean(a.irq, b.irq),
            softirq: self.mean(a.softirq, b.softirq),
            nice: self.mean(a.nice, b.nice),
            guest: self.mean(a.guest, b.guest),
        }
    }

    fn pressure(self, a: PressureShares, b: PressureShares) -> PressureShares {
        PressureShares {
            io_some: self.mean(a.io_some, b.io_some),
            io_full: self.mean(a.io_full, b.io_full),
            memory_some: self.mean(a.memory_some, b.memory_some),
            memory_full: self.mean(a.memory_full, b.memory_full),
            cpu_some: self.mean(a.cpu_some, b.cpu_some),
        }
    }

    fn paging(self, a: PagingRates, b: PagingRates) -> PagingRates {
        PagingRates {
            scanned_by_kswapd: self.mean(a.scanned_by_kswapd, b.scanned_by_kswapd),
            scanned_directly: self.mean(a.scanned_directly, b.scanned_directly),
            reclaimed: self.mean(a.reclaimed, b.reclaimed),
        }
    }

    /// Mean waits of two time spans with so many I/Os per second, weighted by the number of I/Os.
    fn waits(self, earlier: (Option<f64>, f64), later: (Option<f64>, f64)) -> Option<f64> {
        let Self(first, second) = self;
        let waits = [(earlier.0, earlier.1 * first), (later.0, later.1 * second)];
        let known = || waits.iter().filter_map(|(wait, ios)| wait.map(|wait| (wait, *ios)));
        let ios: f64 = known().map(|(_, ios)| ios).sum();
        (ios > 0.0).then(|| known().map(|(wait, ios)| wait * ios).sum::<f64>() / ios)
    }

    fn disk(self, a: &DiskRates, b: &DiskRates) -> DiskRates {
        DiskRates {
            reads: self.mean(a.reads, b.reads),
            read_bytes: self.mean(a.read_bytes, b.read_bytes),
            writes: self.mean(a.writes, b.writes),
            written_bytes: self.mean(a.written_bytes, b.written_bytes),
            read_await_ms: self.waits((a.read_await_ms, a.reads), (b.read_await_ms, b.reads)),
            write_await_ms: self.waits((a.write_await_ms, a.writes), (b.write_await_ms, b.writes)),
            utilisation: self.mean(a.utilisation, b.utilisation),
            queue_depth: self.mean(a.queue_depth, b.queue_depth),
            reads_merged: self.mean(a.reads_merged, b.reads_merged),
            writes_merged: self.mean(a.writes_merged, b.writes_merged),
            discards: self.side(a.discards, b.discards),
            flushes: self.side(a.flushes, b.flushes),
        }
    }

    /// Mean rates of each CPU, by number; a CPU that was offline in a time span had none there.
    fn by_cpu(
        self,
        earlier: impl Iterator<Item = (u32, f64)>,
        later: impl Iterator<Item = (u32, f64)>,
    ) -> impl Iterator<Item = (u32, f64)> {
        let Self(first, second) = self;
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (cpu, count) in earlier
            .map(|(cpu, rate)| (cpu, rate * first))
            .chain(later.map(|(cpu, rate)| (cpu, rate * second)))
        {
            *sums.entry(cpu).or_default() += count;
        }
        sums.into_iter().map(move |(cpu, count)| (cpu, count / (first + second)))
    }

    /// CPU numbers, and all interrupts of each in the time in which it was online, as its shares are.
    fn interrupts(self, a: &Rates, b: &Rates) -> (Vec<u32>, Vec<f64>) {
        let of = |rates: &Rates| -> BTreeMap<u32, f64> {
            rates.columns.iter().copied().zip(rates.interrupts.iter().copied()).collect()
        };
        Self::both(&of(a), &of(b), |a, b| self.mean(*a, *b)).into_iter().unzip()
    }

    fn side(self, a: SideRates, b: SideRates) -> SideRates {
        SideRates {
            ios: self.mean(a.ios, b.ios),
            merged: self.mean(a.merged, b.merged),
            bytes: self.mean(a.bytes, b.bytes),
            await_ms: self.waits((a.await_ms, a.ios), (b.await_ms, b.ios)),
        }
    }
}

impl Rates {
    /// These rates and the following ones as one: rates and shares are means over time, gauges those of the later span.
    /// A counter in one of them only keeps its rate.
    #[must_use]
    pub(crate) fn joined(&self, later: &Self) -> Self {
        let times = Times(self.elapsed.as_secs_f64(), later.elapsed.as_secs_f64());
        if self.elapsed == Duration::ZERO {
            return later.clone();
        }
        let (columns, interrupts) = times.interrupts(self, later);
        Self {
            elapsed: self.elapsed + later.elapsed,
            cpu: self.cpu.zip(later.cpu).map(|(a, b)| times.shares(a, b)).or(later.cpu).or(self.cpu),
            cpus: Times::both(&self.cpus, &later.cpus, |a, b| times.shares(*a, *b)),
            running: later.running,
            blocked: later.blocked,
            forks: times.option(self.forks, later.forks),
            context_switches: times.option(self.context_switches, later.context_switches),
            memory: later.memory,
            clock_khz: later.clock_khz.max(self.clock_khz),
            disks: Times::both(&self.disks, &later.disks, |a, b| times.disk(a, b)),
            vectors: times.numbers(&self.vectors, &later.vectors),
            vector_cpus: Times::both(&self.vector_cpus, &later.vector_cpus, |a, b| {
                times.by_cpu(a.iter().copied(), b.iter().copied()).collect()
            }),
            posted: times.option(self.posted, later.posted),
            columns,
            pressure: self
                .pressure
                .zip(later.pressure)
                .map(|(a, b)| times.pressure(a, b))
                .or(later.pressure)
                .or(self.pressure),
            paging: self
                .paging
                .zip(later.paging)
                .map(|(a, b)| times.paging(a, b))
                .or(later.paging)
                .or(self.paging),
            interrupts,
            all_interrupts: times.option(self.all_interrupts, later.all_interrupts),
            aer: times.numbers(&self.aer, &later.aer),
            idle: times.numbers(&self.idle, &later.idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        counters::{Counters, CpuTimes, DiskCounters, Paging, Pressure, rates},
        model::DriveName,
    };

    /// Counters that stand at `n`, each in its own way.
    fn look(n: u64) -> Counters {
        let times = CpuTimes { user: n, idle: 3 * n, softirq: n / 2, ..CpuTimes::default() };
        let disk = DiskCounters { reads: n, read_bytes: 4096 * n, read_ms: n, ..DiskCounters::default() };
        Counters {
            cpu: Some(times),
            cpus: [(0, times)].into(),
            context_switches: Some(2 * n),
            disks: [(DriveName::new("nvme0n1"), disk)].into(),
            interrupts: vec![n, 5 * n],
            columns: vec![0, 1],
            pressure: Some(Pressure { io_some: n, ..Pressure::default() }),
            paging: Some(Paging { reclaimed: n, ..Paging::default() }),
            idle: [((0, 1), n)].into(),
            ..Counters::default()
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
    }

    #[test]
    fn nothing_before_is_nothing_lost() {
        let one = rates(&look(10), &look(2000), Duration::from_secs(1));
        assert_eq!(Rates::default().joined(&one), one);
    }

    #[test]
    fn what_one_stretch_alone_has_keeps_its_rate() {
        let second = Duration::from_secs(1);
        let without = rates(&Counters::default(), &Counters::default(), second);
        let with = rates(&look(0), &look(4000), second);
        for joined in [without.joined(&with), with.joined(&without)] {
            assert_eq!(joined.disks, with.disks);
            assert_eq!((joined.cpu, joined.elapsed), (with.cpu, 2 * second));
            assert_eq!((joined.pressure, joined.paging), (with.pressure, with.paging));
        }
    }

    #[test]
    fn a_cpu_that_went_keeps_the_interrupts_of_its_time_and_all_count_over_all_time() {
        let second = Duration::from_secs(1);
        let only = |cpu: u32, rate: f64| Rates {
            elapsed: second,
            columns: vec![cpu],
            interrupts: vec![rate],
            all_interrupts: Some(rate),
            ..Rates::default()
        };
        let joined = only(0, 100.0).joined(&only(1, 60.0));
        assert_eq!((joined.columns, joined.interrupts), (vec![0, 1], vec![100.0, 60.0]));
        assert_eq!(joined.all_interrupts, Some(80.0));
        let uncounted = Rates { elapsed: second, ..Rates::default() };
        let joined = uncounted.joined(&only(1, 60.0)).joined(&uncounted);
        assert_eq!((joined.columns, joined.interrupts), (vec![1], vec![60.0]));
    }

    proptest! {
        #[test]
        fn two_stretches_joined_are_the_rates_of_the_whole(
            steps in (1_u64..1_000_000, 1_u64..1_000_000), millis in (1_u64..5000, 1_u64..5000),
        ) {
            let (middle, end) = (100 + steps.0, 100 + steps.0 + steps.1);
            let (first, second) = (Duration::from_millis(millis.0), Duration::from_millis(millis.1));
            let joined = rates(&look(100), &look(middle), first).joined(&rates(&look(middle), &look(end), second));
            let whole = rates(&look(100), &look(end), first + second);
            let drive = DriveName::new("nvme0n1");
            prop_assert!(near(joined.disks[&drive].reads, whole.disks[&drive].reads));
            prop_assert!(near(
                joined.disks[&drive].read_await_ms.unwrap_or(0.0),
                whole.disks[&drive].read_await_ms.unwrap_or(0.0)
            ));
            prop_assert!(near(joined.context_switches.unwrap_or(0.0), whole.context_switches.unwrap_or(0.0)));
            prop_assert!(near(joined.interrupts[1], whole.interrupts[1]));
            prop_assert!(near(joined.idle[&(0, 1)], whole.idle[&(0, 1)]));
            prop_assert_eq!(joined.elapsed, whole.elapsed);
        }
    }
}
