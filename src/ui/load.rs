//! [`Load`]: what every drive reads and writes right now, its last minute, and the source.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use super::series::{Series, WINDOW};
use crate::{
    counters::{DiskRates, Rates},
    machine::{Machine, in_use::Use},
    model::{DriveName, Limits, NodeIndex},
};

/// Source of the rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadSource {
    /// None: a capture, or no counters yet.
    #[default]
    Nothing,
    /// The kernel's disk counters.
    Counters,
    /// The test in progress counts its own reads; everything else comes from the kernel's disk counters.
    Test,
}

/// One direction of a drive, or of several together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Way {
    /// Bytes per second.
    pub bytes: f64,
    /// Requests per second.
    pub requests: f64,
    /// Mean milliseconds of a request (`r_await`, `w_await`); `None` without requests.
    pub await_ms: Option<f64>,
}

impl Way {
    /// Mean bytes of a request (`rareq-sz`, `wareq-sz`); `None` without requests.
    pub fn request_bytes(&self) -> Option<f64> {
        (self.requests > 0.0).then(|| self.bytes / self.requests)
    }

    /// Requests in flight on average, by Little's law.
    fn in_flight(&self) -> f64 {
        self.requests * self.await_ms.unwrap_or_default() / 1e3
    }

    /// Both together; the mean time is weighed by requests.
    fn plus(self, other: Self) -> Self {
        let requests = self.requests + other.requests;
        let waited = 1e3 * (self.in_flight() + other.in_flight());
        let counted =
            [self, other].iter().filter(|way| way.await_ms.is_some()).map(|way| way.requests).sum::<f64>();
        Self {
            bytes: self.bytes + other.bytes,
            requests,
            await_ms: (counted > 0.0).then(|| waited / counted),
        }
    }
}

/// Rates of a drive, or of several together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Reads.
    pub read: Way,
    /// Writes.
    pub write: Way,
    /// Mean requests in flight (`aqu-sz`).
    pub queue_depth: f64,
    /// Share of time with a request in flight, percent (`%util`); `None` of several drives, and where the kernel does not
    /// count.
    pub utilisation: Option<f64>,
}

impl Flow {
    /// Bytes per second of both directions.
    pub fn bytes(&self) -> f64 {
        self.read.bytes + self.write.bytes
    }

    fn of_disk(disk: &DiskRates) -> Self {
        Self {
            read: Way { bytes: disk.read_bytes, requests: disk.reads, await_ms: disk.read_await_ms },
            write: Way { bytes: disk.written_bytes, requests: disk.writes, await_ms: disk.write_await_ms },
            queue_depth: disk.queue_depth,
            utilisation: Some(disk.utilisation),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.plus(other.read),
            write: self.write.plus(other.write),
            queue_depth: self.queue_depth + other.queue_depth,
            utilisation: None,
        }
    }
}

/// The last minute as curves: what was read and written, and what is in flight.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Minute {
    /// Bytes read per second.
    pub read: Series,
    /// Bytes written per second.
    pub written: Series,
    /// Reads per second.
    pub reads: Series,
    /// Writes per second.
    pub writes: Series,
    /// Milliseconds of a read, where there were some.
    pub read_await: Series,
    /// Milliseconds of a write.
    pub write_await: Series,
    /// Requests in flight.
    pub in_flight: Series,
}

impl Minute {
    fn push(&mut self, at: Duration, flow: &Flow) {
        self.read.push(at, flow.read.bytes);
        self.written.push(at, flow.write.bytes);
        self.reads.push(at, flow.read.requests);
        self.writes.push(at, flow.write.requests);
        for (series, time) in
            [(&mut self.read_await, flow.read.await_ms), (&mut self.write_await, flow.write.await_ms)]
        {
            if let Some(time) = time {
                series.push(at, time);
            }
        }
        self.in_flight.push(at, flow.queue_depth);
    }
}

/// What was counted in the last minute, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
struct Flows(VecDeque<(Duration, Flow)>);

impl Flows {
    fn push(&mut self, at: Duration, flow: Flow) {
        // A drive that is tested is counted twice a second.
        if self.0.back().is_none_or(|(last, _)| *last < at) {
            self.0.push_back((at, flow));
        }
        while self.0.front().is_some_and(|(oldest, _)| *oldest + WINDOW < at) {
            self.0.pop_front();
        }
    }

    /// Whether anything was counted in the minute before `at`.
    fn is_within(&self, at: Duration) -> bool {
        self.0.back().is_some_and(|(newest, _)| *newest + WINDOW >= at)
    }
}

/// Rates by drive. A drive whose counters are off (`iostats` 0) has none, unless a test counts its reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Load {
    /// Source of the rates.
    pub source: LoadSource,
    /// Time of the newest rates.
    pub at: Duration,
    counted: BTreeMap<DriveName, Flow>,
    tested: BTreeMap<DriveName, Way>,
    history: BTreeMap<DriveName, Flows>,
}

impl Load {
    /// Takes disk counters of `at`, of the drives that the kernel counts.
    pub fn take_rates(&mut self, rates: &Rates, is_counted: impl Fn(&DriveName) -> bool, at: Duration) {
        let disks = rates.disks.iter().filter(|(name, _)| is_counted(name));
        self.counted = disks.map(|(name, disk)| (name.clone(), Flow::of_disk(disk))).collect();
        if self.source == LoadSource::Nothing {
            self.source = LoadSource::Counters;
        }
        self.at = at;
        let names: BTreeSet<DriveName> = self.names().cloned().collect();
        for name in names {
            let flow = self.drive(&name).unwrap_or_default();
            self.history.entry(name).or_default().push(at, flow);
        }
        // What a drive did stays its own while it is not counted: `iostats` may be on again, or its test has ended.
        self.history.retain(|_, flows| flows.is_within(at));
    }

    /// Takes a test's own counts of its targets' reads: they replace the kernel's.
    pub fn take_test(&mut self, drives: impl IntoIterator<Item = (DriveName, Way)>, at: Duration) {
        self.source = LoadSource::Test;
        self.at = at;
        self.tested.clear();
        for (drive, way) in drives {
            let known = self.tested.entry(drive).or_default();
            *known = known.plus(way);
        }
    }

    /// Takes what an experiment in a demo reads, which neither a test nor a kernel counts.
    pub fn take_experiment(&mut self, drives: &[(DriveName, Way)], at: Duration) {
        self.source = LoadSource::Counters;
        self.at = at;
        self.counted.clear();
        for (drive, way) in drives {
            let known = self.counted.entry(drive.clone()).or_default();
            known.read = known.read.plus(*way);
        }
    }

    /// The test ended; `is_live` when the kernel's counters go on.
    pub fn end_test(&mut self, at: Duration, is_live: bool) {
        self.tested.clear();
        self.at = at;
        if is_live && !self.counted.is_empty() {
            self.source = LoadSource::Counters;
            return;
        }
        self.counted.clear();
        self.source = LoadSource::Nothing;
    }

    /// One drive; `None` if neither the kernel nor a test counts it.
    pub fn drive(&self, name: &DriveName) -> Option<Flow> {
        let counted = self.counted.get(name).copied();
        let Some(read) = self.tested.get(name).copied() else { return counted };
        let mut flow = counted.unwrap_or_default();
        if read.await_ms.is_some() {
            flow.queue_depth = read.in_flight() + flow.write.in_flight();
        }
        flow.read = Way { await_ms: read.await_ms.or(flow.read.await_ms), ..read };
        Some(flow)
    }

    /// These drives together; `None` if none of them is counted.
    pub fn sum(&self, drives: &[DriveName]) -> Option<Flow> {
        let mut flows = drives.iter().filter_map(|name| self.drive(name));
        let first = flows.next()?;
        Some(flows.fold(first, Flow::plus))
    }

    /// Bytes read and written per second by these drives together.
    pub fn of(&self, drives: &[DriveName]) -> [f64; 2] {
        let flows = drives.iter().filter_map(|name| self.drive(name));
        flows.fold([0.0, 0.0], |[read, written], flow| [read + flow.read.bytes, written + flow.write.bytes])
    }

    /// All devices together, without those whose bytes the drives below them count.
    pub fn total(&self, machine: &Machine) -> Option<Flow> {
        let names: Vec<DriveName> = machine.summed_drives().map(|drive| drive.name.clone()).collect();
        self.sum(&names)
    }

    /// The last minute of these drives together.
    pub fn history(&self, drives: &[DriveName]) -> Minute {
        let mut sums: BTreeMap<Duration, Flow> = BTreeMap::new();
        let flows = drives.iter().filter_map(|name| self.history.get(name)).flat_map(|flows| &flows.0);
        for (at, flow) in flows.filter(|(at, _)| *at + WINDOW >= self.at) {
            sums.entry(*at).and_modify(|sum| *sum = sum.plus(*flow)).or_insert(*flow);
        }
        let mut all = Minute::default();
        for (at, flow) in sums {
            all.push(at, &flow);
        }
        all
    }

    /// Whether one of these drives was counted in the last minute.
    pub fn has_history(&self, drives: &[DriveName]) -> bool {
        drives.iter().filter_map(|name| self.history.get(name)).any(|flows| flows.is_within(self.at))
    }

    /// Reads and writes of the last minute of these drives together in `parts` of equal length, the oldest first; `None` where nothing
    /// was counted. Parts begin at multiples of their length, so that those of the past stay as they are; the last one is not over yet.
    pub fn last_minute(&self, drives: &[DriveName], parts: usize) -> Vec<Option<f64>> {
        let mut sums: Vec<Option<f64>> = vec![None; parts];
        let length = WINDOW.as_nanos() / (parts.max(1) as u128);
        let number = |time: Duration| time.as_nanos() / length;
        for flows in drives.iter().filter_map(|name| self.history.get(name)) {
            let mut own = vec![(0.0, 0_u32); parts];
            for (time, flow) in &flows.0 {
                let back = usize::try_from(number(self.at).saturating_sub(number(*time))).ok();
                let part = back.and_then(|back| parts.checked_sub(1 + back));
                if let Some((sum, count)) = part.and_then(|part| own.get_mut(part)) {
                    *sum += flow.bytes();
                    *count += 1;
                }
            }
            for (all, (sum, count)) in sums.iter_mut().zip(own).filter(|(_, (_, count))| *count > 0) {
                *all = Some(all.unwrap_or_default() + sum / f64::from(count));
            }
        }
        sums
    }

    /// Whether anything is read or written at all worth a bar: more than 1 MB/s.
    pub fn is_busy(&self) -> bool {
        let moved = self.names().map(|name| self.of(std::slice::from_ref(name)));
        moved.flatten().sum::<f64>() > 1e6
    }

    fn names(&self) -> impl Iterator<Item = &DriveName> {
        let tested = self.tested.keys().filter(|name| !self.counted.contains_key(*name));
        self.counted.keys().chain(tested)
    }
}

/// Of software drives, those that no other of them is stacked on: the others count the same bytes again.
pub fn topmost(machine: &Machine, drives: &[DriveName]) -> Vec<DriveName> {
    let is_below_another = |name: &&DriveName| {
        let users = machine.drive(name).map_or(&[][..], |drive| &drive.used_by);
        let above = users.iter().flat_map(|user: &Use| user.chain.iter().skip(1));
        above.into_iter().any(|above| drives.iter().any(|other| other != *name && *above == *other.as_str()))
    };
    drives.iter().filter(|name| !is_below_another(name)).cloned().collect()
}

/// What `drives` below a place could read together if nothing but their own paths held them back; namespaces of one
/// controller and disks of one host adapter share theirs. `None` when one of them is unknown.
pub fn possible(machine: &Machine, limits: &Limits, drives: &[DriveName]) -> Option<f64> {
    let function = |name: &DriveName| machine.drive(name).and_then(|drive| drive.node);
    let apart = drives.iter().filter(|name| function(name).is_none());
    let shared: BTreeMap<NodeIndex, &DriveName> =
        drives.iter().filter_map(|name| Some((function(name)?, name))).collect();
    apart
        .chain(shared.into_values())
        .map(|drive| limits.drive(drive).map(|limit| limit.bytes_per_second.0))
        .sum()
}

/// The limit of a place, in bytes per second.
pub fn hop_limit(limits: &Limits, node: NodeIndex) -> Option<f64> {
    limits.hop(node).map(|limit| limit.bytes_per_second.0).filter(|limit| *limit > 0.0)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums of few round numbers are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn disk(read_bytes: f64, written_bytes: f64) -> DiskRates {
        DiskRates {
            reads: read_bytes / 4096.0,
            read_bytes,
            writes: written_bytes / 8192.0,
            written_bytes,
            read_await_ms: (read_bytes > 0.0).then_some(2.0),
            write_await_ms: (written_bytes > 0.0).then_some(4.0),
            utilisation: 50.0,
            queue_depth: 3.0,
            ..DiskRates::default()
        }
    }

    fn rates(disks: &[(&str, DiskRates)]) -> Rates {
        let disks = disks.iter().map(|(name, disk)| (DriveName::new(name), *disk)).collect();
        Rates { disks, ..Rates::default() }
    }

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn writes_and_other_drives_go_on_during_a_test() {
        let mut load = Load::default();
        let (a, b) = (DriveName::new("nvme0n1"), DriveName::new("nvme1n1"));
        load.take_rates(&rates(&[("nvme0n1", disk(4e6, 8e6)), ("nvme1n1", disk(5e6, 0.0))]), |_| true, at(1));
        assert_eq!((load.source, load.is_busy()), (LoadSource::Counters, true));
        let own = Way { bytes: 3e9, requests: 1e6, await_ms: Some(0.032) };
        load.take_test([(a.clone(), own)], at(2));
        let seen = load.drive(&a).unwrap();
        assert_eq!((seen.read, seen.write.bytes), (own, 8e6));
        assert!((seen.queue_depth - (32.0 + 8e6 / 8192.0 * 0.004)).abs() < 1e-9, "{seen:?}");
        assert_eq!(load.of(std::slice::from_ref(&b)), [5e6, 0.0], "the test does not read it");
        assert_eq!(load.sum(&[a.clone(), b.clone()]).unwrap().read.bytes, 3.005e9);
        load.end_test(at(3), true);
        assert_eq!(load.drive(&a).unwrap().read.bytes, 4e6, "the kernel's counters go on");
        load.end_test(at(3), false);
        assert_eq!((load.source, load.drive(&a)), (LoadSource::Nothing, None));
        let minute = load.history(&[a, b]);
        let points: Vec<(f64, f64)> =
            minute.read.points().zip(minute.written.points()).map(|(r, w)| (r.1, w.1)).collect();
        assert_eq!(points, [(9e6, 8e6)], "nothing was counted at the end");
        let last = |series: &Series| series.points().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(last(&minute.reads), [9e6 / 4096.0]);
        assert_eq!((last(&minute.read_await), last(&minute.in_flight)), (vec![2.0], vec![6.0]));
    }

    #[test]
    fn a_mean_time_is_weighed_by_requests_and_a_sum_has_no_utilisation() {
        let one = Way { bytes: 4096.0, requests: 1.0, await_ms: Some(1.0) };
        let two = Way { bytes: 12_288.0, requests: 3.0, await_ms: Some(5.0) };
        let both = one.plus(two);
        assert_eq!((both.bytes, both.requests, both.await_ms), (16_384.0, 4.0, Some(4.0)));
        assert_eq!(both.request_bytes(), Some(4096.0));
        assert_eq!(Way::default().plus(Way::default()).await_ms, None);
        let mut load = Load::default();
        load.take_rates(&rates(&[("sda", disk(1e6, 0.0)), ("sdb", disk(1e6, 1e6))]), |_| true, at(1));
        let names = [DriveName::new("sda"), DriveName::new("sdb")];
        let sum = load.sum(&names).unwrap();
        assert_eq!((sum.queue_depth, sum.utilisation), (6.0, None));
        assert_eq!(load.sum(&names[..1]).unwrap().utilisation, Some(50.0));
        assert_eq!(load.sum(&[DriveName::new("sdc")]), None, "not counted is not zero");
        load.take_rates(&rates(&[("sda", disk(1e6, 0.0))]), |name| name.as_str() != "sda", at(2));
        assert_eq!(load.sum(&names), None, "iostats is 0");
    }

    #[test]
    fn the_last_minute_of_a_drive_is_kept_while_it_is_not_counted() {
        let (mut load, sda) = (Load::default(), [DriveName::new("sda")]);
        for second in 0..100 {
            load.take_rates(&rates(&[("sda", disk(second as f64, 1.0))]), |_| true, at(second));
        }
        let kept = |load: &Load| -> Vec<f64> { load.history(&sda).read.points().map(|(_, v)| v).collect() };
        assert_eq!((kept(&load).len(), kept(&load).last()), (61, Some(&99.0)));
        let shown = load.last_minute(&sda, 6);
        assert!(shown.iter().flatten().is_sorted() && shown.iter().flatten().count() == 6, "{shown:?}");
        assert_eq!(load.last_minute(&[DriveName::new("sdb")], 2), [None, None]);
        // `iostats` is 0 for some seconds.
        for second in 100..120 {
            load.take_rates(&rates(&[("sda", disk(9e9, 1.0))]), |_| false, at(second));
        }
        assert_eq!((kept(&load).len(), kept(&load).last()), (41, Some(&99.0)), "no zeros, and none of 9e9");
        assert_eq!(load.last_minute(&sda, 6)[4..], [None, None], "a gap");
        load.take_rates(&rates(&[("sda", disk(5.0, 1.0))]), |_| true, at(120));
        assert_eq!((kept(&load).len(), kept(&load).last()), (41, Some(&5.0)));
        // The test of another drive, and its end where nothing else counts.
        load.take_test([(DriveName::new("sdb"), Way::default())], at(121));
        load.take_rates(&rates(&[]), |_| true, at(121));
        load.end_test(at(122), false);
        assert!(load.has_history(&sda) && kept(&load).last() == Some(&5.0), "{:?}", kept(&load));
        load.take_rates(&rates(&[]), |_| true, at(181));
        assert!(!load.has_history(&sda) && load.history(&sda) == Minute::default(), "over a minute ago");
    }

    #[test]
    fn parts_of_the_last_minute_only_shift() {
        let (mut load, sda) = (Load::default(), [DriveName::new("sda")]);
        for parts in [8, 12, 16] {
            let mut before: Option<Vec<Option<f64>>> = None;
            for second in 0..200 {
                let bytes = f64::from(u32::try_from(second * second % 17).unwrap()) * 1e8;
                let now = Duration::from_millis(1000 * (second + 200 * parts as u64) + 37 * (second % 5));
                load.take_rates(&rates(&[("sda", disk(bytes, 0.0))]), |_| true, now);
                let seen = load.last_minute(&sda, parts);
                if let Some(before) = before.filter(|_| second > 60) {
                    // The last part is not over.
                    let (same, shifted) = (&before[..parts - 1], &before[1..parts - 1]);
                    let past = &seen[..parts - 1];
                    assert!(past == same || past[..parts - 2] == *shifted, "{before:?} {seen:?}");
                }
                before = Some(seen);
            }
        }
    }

    proptest! {
        #[test]
        fn a_sum_is_what_its_parts_are(bytes in prop::collection::vec(0.0..1e10f64, 1..20)) {
            let names: Vec<String> = (0..bytes.len()).map(|at| format!("sd{at}")).collect();
            let disks: Vec<_> = names.iter().zip(&bytes).map(|(name, b)| (name.as_str(), disk(*b, *b))).collect();
            let mut load = Load::default();
            load.take_rates(&rates(&disks), |_| true, at(1));
            let names: Vec<_> = names.iter().map(|name| DriveName::new(name)).collect();
            let sum = load.sum(&names).unwrap();
            let all: f64 = bytes.iter().sum();
            prop_assert!((sum.bytes() - 2.0 * all).abs() <= 1e-6 * all.max(1.0));
            let [read, written] = load.of(&names);
            prop_assert!((read - all).abs() + (written - all).abs() <= 1e-6 * all.max(1.0));
            prop_assert!(sum.read.await_ms.is_none_or(|ms| (ms - 2.0).abs() < 1e-6));
        }
    }
}
