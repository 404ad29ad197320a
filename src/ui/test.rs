//! One test: its curves while it runs, its figures after.

mod stretches;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use self::stretches::Stretches;
use crate::{
    capacity::{Expected, Potential, latency},
    counters::Rates,
    findings::validity::{OwnReads, RunMonitor},
    model::{
        DriveName, Failed, LatencySummary, RunRecord, RunSample, RunState, RunSummary, Seconds, TargetSample,
        TargetSummary, Workload,
    },
    report::why::tables,
    text::Label,
    ui::{
        Effect,
        load::Way,
        series::{Scale, Series, WINDOW},
    },
};

/// Rates are taken over this much time, so that they do not flicker.
const SMOOTHING: Duration = Duration::from_millis(500);

/// A test.
#[derive(Debug, Clone)]
pub struct Test {
    /// The requested workload.
    pub workload: Workload,
    /// The number of the pull it is a run of.
    pub pull: Option<u32>,
    /// What each target should reach by the machine's limits; `None` where nothing is known to limit it.
    pub expected: Vec<Option<Expected>>,
    /// What each target could read with nothing in its way; `None` where that is not known.
    pub potentials: Vec<Option<Potential>>,
    /// The same of all targets, bytes per second; `None` where it is known of none.
    pub potential_total: Option<f64>,
    /// What its result means, in one sentence; empty until it has one.
    pub headline: String,
    /// Monitor of other activity.
    pub watch: RunMonitor,
    /// What was counted, until it is known what the test read in that time.
    seen: Stretches,
    /// Its rate, second by second, once it ended well.
    pub seconds: Seconds,
    /// The rate of each target, second by second, so far.
    pub each: Vec<Seconds>,
    /// Where it is.
    pub state: RunState,
    /// Counted time so far.
    pub elapsed: Duration,
    /// When it was first seen to read.
    pub reads_since: Option<Duration>,
    /// Preparation step.
    pub preparing: Option<String>,
    /// How batches are chosen; empty where that is not known.
    pub batch: String,
    /// Whether a simulated engine makes the figures.
    pub simulated: bool,
    /// The user asked for its end.
    pub stopping: bool,
    /// All targets together.
    pub total: Curves,
    /// Each target.
    pub targets: Vec<TargetCurves>,
    /// Tops of the axes: bytes per second, reads per second, nanoseconds.
    pub scales: Scales,
    /// The result, or the one line that says why there is none.
    pub result: Option<Result<RunSummary, Failed>>,
    /// Latency of all targets, a column of the heat map per entry, newest last.
    pub heat: VecDeque<(Duration, Vec<LatencySummary>)>,
}

/// Tops of a test's axes.
#[derive(Debug, Clone, Copy)]
pub struct Scales {
    /// Bytes per second.
    pub bytes: Scale,
    /// Reads per second.
    pub iops: Scale,
    /// Nanoseconds.
    pub latency: Scale,
}

/// Curves of one target, or of all.
#[derive(Debug, Clone, Default)]
pub struct Curves {
    /// Bytes per second.
    pub bytes: Series,
    /// Reads per second.
    pub iops: Series,
    /// Median latency, nanoseconds.
    pub p50: Series,
    /// 99th percentile, nanoseconds.
    pub p99: Series,
}

/// Curves of one target.
#[derive(Debug, Clone)]
pub struct TargetCurves {
    /// The target, as the user named it.
    pub name: Label,
    /// The drive behind it.
    pub drive: Option<DriveName>,
    /// Its curves.
    pub curves: Curves,
    /// Reads that failed.
    pub errors: u64,
    /// Why its workers ended early.
    pub failed: Option<Label>,
    /// Latency of the newest sample that had any.
    pub latency: LatencySummary,
    counts: VecDeque<(Duration, u64, u64)>,
}

impl Curves {
    fn split(&mut self) {
        for series in [&mut self.bytes, &mut self.iops, &mut self.p50, &mut self.p99] {
            series.split();
        }
    }
}

impl Test {
    /// A test that was just asked for, with what is expected of it.
    pub fn new(workload: Workload, expected: Vec<Option<Expected>>, watch: RunMonitor) -> Self {
        let targets = workload.targets.iter().map(|target| TargetCurves {
            name: Label::new(&target.path.to_string_lossy()),
            drive: target.drive.clone(),
            curves: Curves::default(),
            errors: 0,
            failed: None,
            latency: LatencySummary::default(),
            counts: VecDeque::new(),
        });
        Self {
            pull: None,
            targets: targets.collect(),
            workload,
            expected,
            potentials: Vec::new(),
            potential_total: None,
            headline: String::new(),
            watch,
            seen: Stretches::default(),
            seconds: Seconds::default(),
            each: Vec::new(),
            state: RunState::Preparing,
            elapsed: Duration::ZERO,
            reads_since: None,
            preparing: None,
            batch: String::new(),
            simulated: false,
            stopping: false,
            total: Curves::default(),
            scales: Scales { bytes: Scale::new(1e8), iops: Scale::new(1e3), latency: Scale::new(1e4) },
            result: None,
            heat: VecDeque::new(),
        }
    }

    /// Expected rate of a target, bytes per second.
    pub fn expected_of(&self, index: usize) -> Option<f64> {
        self.expected.get(index)?.as_ref().map(|expected| expected.bytes_per_second.0)
    }

    /// The newest value of a curve, as one of now: a pause has none.
    pub fn newest(&self, series: &Series) -> Option<f64> {
        series.last().filter(|_| !self.is_paused())
    }

    /// Rate of a target now, or over the whole test, bytes per second; `None` in a pause.
    pub fn reads(&self, index: usize) -> Option<f64> {
        let whole = self.summary().and_then(|summary| summary.targets.get(index));
        let now = || self.newest(&self.targets.get(index)?.curves.bytes);
        whole.map(TargetSummary::bytes_per_second).or_else(now)
    }

    /// Likewise in reads per second.
    pub fn reads_per_second(&self, index: usize) -> Option<f64> {
        let whole = self.summary().and_then(|summary| summary.targets.get(index));
        let now = || self.newest(&self.targets.get(index)?.curves.iops);
        whole.map(TargetSummary::iops).or_else(now)
    }

    /// What most targets are expected to be limited by, if together they read at least 95 % of what is expected.
    pub fn reached(&self) -> Option<&Expected> {
        self.most_reached().and_then(|alike| alike.into_iter().next())
    }

    /// The same in words: `4 links, each Gen4 x4 (16 GT/s) at MPS 256` where equal links are as full as each other.
    pub fn reached_in_words(&self) -> Option<String> {
        self.most_reached().map(Expected::limit_of_all)
    }

    /// The expected rates of most targets, which are limited alike.
    fn most_reached(&self) -> Option<Vec<&Expected>> {
        let mut groups: BTreeMap<&str, Vec<&Expected>> = BTreeMap::new();
        let (mut read, mut all) = (0.0, 0.0);
        for (index, expected) in self.expected.iter().enumerate() {
            let expected = expected.as_ref()?;
            groups.entry(expected.kind_of_limit()).or_default().push(expected);
            // A pause does not change what was reached before it.
            read += self.reads(index).or_else(|| self.targets.get(index)?.curves.bytes.last())?;
            all += expected.bytes_per_second.0;
        }
        let most = groups.into_values().max_by_key(Vec::len)?;
        (all > 0.0 && read >= latency::AS_EXPECTED * all).then_some(most)
    }

    /// `1 I/O`, in flight per drive, if latency sets the rate now, or over the whole test: not where all CPUs are busy.
    pub fn latency_bound(&self) -> Option<String> {
        if let Some(run) = self.summary() {
            return latency::bound_run(run, &self.expected);
        }
        if self.is_paused() || self.watch.rates().is_some_and(tables::are_full) {
            return None;
        }
        let all = 0..self.targets.len();
        let rates =
            all.filter_map(|index| Some((self.reads(index).unwrap_or(0.0), self.expected_of(index)?)));
        latency::bound(&self.workload, rates)
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.state == RunState::Paused
    }

    /// What pauses it, or lets it go on.
    pub fn pause_or_resume(&self) -> Effect {
        if self.is_paused() { Effect::ResumeRun } else { Effect::PauseRun }
    }

    /// Whether its reads go through the page cache: then only the kernel knows what the drives read.
    pub fn is_cached(&self) -> bool {
        !self.workload.direct
    }

    /// What the drives of its targets read for it now, by its own counts; nothing through the page cache.
    pub fn drive_reads(&self) -> Vec<(DriveName, Way)> {
        let targets = self.targets.iter().filter(|_| !self.is_cached());
        let reads = targets.filter_map(|target| {
            let last = |series: &Series| self.newest(series).unwrap_or(0.0);
            let (curves, latency) = (&target.curves, &target.latency);
            let await_ms = (latency.count > 0).then_some(latency.mean / 1e6);
            let way = Way { bytes: last(&curves.bytes), requests: last(&curves.iops), await_ms };
            Some((target.drive.clone()?, way))
        });
        reads.collect()
    }

    /// Expected rate of all targets, where that of each is known.
    pub fn expected_total(&self) -> Option<f64> {
        (0..self.targets.len()).map(|index| self.expected_of(index)).sum()
    }

    /// Takes the counters of a stretch that ended at `at`; one that began before the test counted counts for nothing.
    pub fn watch(&mut self, rates: &Rates, at: Duration) {
        if self.simulated {
            // Its counters run by the test's own clock, which stands still in a pause, and count nothing else.
            if !self.is_paused() {
                self.watch.take(rates, &OwnReads::all_of(rates));
            }
            return;
        }
        self.seen.counted(rates, at);
        self.seen.settle(&mut self.watch);
    }

    /// Whether it has not ended yet.
    pub fn is_running(&self) -> bool {
        self.result.is_none()
    }

    /// Takes the drives that files turned out to lie on when they were opened; whether any is new.
    pub fn learn_drives(&mut self, sample: &RunSample) -> bool {
        let mut learned = false;
        let targets = self.workload.targets.iter_mut().zip(&mut self.targets);
        for ((asked, shown), seen) in targets.zip(&sample.targets) {
            if asked.drive.is_none() && seen.drive.is_some() {
                asked.drive.clone_from(&seen.drive);
                shown.drive.clone_from(&seen.drive);
                learned = true;
            }
        }
        learned
    }

    /// Takes a look at the test, seen at `now`.
    pub fn take(&mut self, sample: &RunSample, now: Duration) {
        let went_on = sample.at > self.elapsed;
        self.state = sample.state;
        self.elapsed = sample.at;
        if sample.state != RunState::Preparing {
            self.reads_since.get_or_insert(now);
        }
        self.simulated = sample.simulated;
        self.preparing.clone_from(&sample.preparing);
        self.batch.clone_from(&sample.batch);
        self.seen.sampled(sample, now);
        self.seen.settle(&mut self.watch);
        self.each.resize_with(sample.targets.len(), Seconds::default);
        for (seconds, target) in self.each.iter_mut().zip(&sample.targets) {
            seconds.take_bytes(sample.state, sample.at, target.bytes);
        }
        for (target, seen) in self.targets.iter_mut().zip(&sample.targets) {
            target.take(seen, sample.at, now);
        }
        if went_on {
            self.push(sample, now);
        }
        // The last reads may arrive after the pause has begun.
        if self.is_paused() {
            self.split();
        }
    }

    /// Adds the rates of now to the curves of all targets.
    fn push(&mut self, sample: &RunSample, now: Duration) {
        let sum = |of: fn(&Curves) -> &Series| -> f64 {
            self.targets.iter().filter_map(|target| of(&target.curves).last()).sum()
        };
        let worst = |of: fn(&Curves) -> &Series| -> Option<f64> {
            self.targets.iter().filter_map(|target| of(&target.curves).last()).reduce(f64::max)
        };
        let (bytes, iops) = (sum(|c| &c.bytes), sum(|c| &c.iops));
        let (p50, p99) = (worst(|c| &c.p50), worst(|c| &c.p99));
        self.total.bytes.push(now, bytes);
        self.total.iops.push(now, iops);
        if let Some(value) = p50 {
            self.total.p50.push(now, value);
        }
        if let Some(value) = p99 {
            self.total.p99.push(now, value);
        }
        self.scales.bytes.fit(now, self.total.bytes.window_most());
        self.scales.iops.fit(now, self.total.iops.window_most());
        self.scales.latency.fit(now, self.total.p99.window_most());
        let latencies: Vec<LatencySummary> =
            sample.targets.iter().map(|t| t.latency.clone()).filter(|l| l.count > 0).collect();
        if !latencies.is_empty() {
            self.heat.push_back((now, latencies));
            while self.heat.front().is_some_and(|(at, _)| *at + WINDOW < now) {
                self.heat.pop_front();
            }
        }
    }

    /// Leaves a gap in all curves: a pause begins.
    fn split(&mut self) {
        self.total.split();
        self.targets.iter_mut().for_each(|target| target.curves.split());
    }

    /// Takes the end of the test.
    pub fn end(&mut self, result: Result<(RunSummary, Seconds), Failed>) {
        self.state = RunState::Ended;
        if let Ok((summary, seconds)) = &result {
            self.seconds.clone_from(seconds);
            self.simulated = summary.simulated;
            if !summary.simulated {
                self.batch.clone_from(&summary.effective.batch);
            }
        }
        self.result = Some(result.map(|(summary, _)| summary));
    }

    /// How much time its curves show: a short test fills its graph, a long one rolls through it.
    pub fn window(&self) -> Duration {
        let seen = self.elapsed.max(self.workload.runtime.unwrap_or(WINDOW));
        // Pauses take their time on the graph.
        let seen = seen.max(self.total.bytes.span());
        [10, 30].into_iter().map(Duration::from_secs).find(|window| seen <= *window).unwrap_or(WINDOW)
    }

    /// Its summary, once it ended well.
    pub fn summary(&self) -> Option<&RunSummary> {
        self.result.as_ref().and_then(|result| result.as_ref().ok())
    }

    /// All of it that a sheet says, once it ended well.
    pub fn record(&self, boot: Option<&Label>) -> Option<RunRecord> {
        let run = self.summary()?.clone();
        let mut expected = self.expected.clone();
        latency::explain(&run, &mut expected);
        Some(RunRecord::new(boot, run, &expected, self.seconds.clone()))
    }

    /// Bytes per second of all targets: of the whole test once it ended, else now; 0 in a pause.
    pub fn bytes_per_second(&self) -> f64 {
        let summary = self.summary().map(RunSummary::bytes_per_second);
        summary.or_else(|| self.newest(&self.total.bytes)).unwrap_or(0.0)
    }

    /// Reads per second likewise.
    pub fn iops(&self) -> f64 {
        self.summary().map(RunSummary::iops).or_else(|| self.newest(&self.total.iops)).unwrap_or(0.0)
    }
}

impl TargetCurves {
    fn take(&mut self, seen: &TargetSample, at: Duration, now: Duration) {
        self.errors = seen.errors;
        self.failed.clone_from(&seen.failed);
        if self.counts.back().is_some_and(|(last, _, _)| *last >= at) {
            return;
        }
        self.counts.push_back((at, seen.ios, seen.bytes));
        while self.counts.len() > 2 && self.counts.get(1).is_some_and(|(then, _, _)| *then + SMOOTHING <= at)
        {
            self.counts.pop_front();
        }
        let Some((then, ios, bytes)) = self.counts.front().copied() else { return };
        // The first look counts from the beginning.
        let (then, ios, bytes) =
            if self.counts.len() == 1 { (Duration::ZERO, 0, 0) } else { (then, ios, bytes) };
        let span = at.saturating_sub(then).as_secs_f64();
        if span > 0.0 {
            self.curves.iops.push(now, seen.ios.saturating_sub(ios) as f64 / span);
            self.curves.bytes.push(now, seen.bytes.saturating_sub(bytes) as f64 / span);
        }
        if seen.latency.count > 0 {
            let nanoseconds = |percent| seen.latency.percentile(percent).map(|ns| ns as f64);
            if let Some(value) = nanoseconds(50.0) {
                self.curves.p50.push(now, value);
            }
            if let Some(value) = nanoseconds(99.0) {
                self.curves.p99.push(now, value);
            }
            self.latency = seen.latency.clone();
        }
    }
}

/// How many tests are remembered.
const REMEMBERED: usize = 50;

/// Tests, the newest last; the last one may be in progress.
#[derive(Debug, Clone, Default)]
pub struct Tests {
    /// All that are remembered.
    pub all: VecDeque<Test>,
    /// How many that ended well are forgotten.
    pub forgotten: usize,
}

impl Tests {
    /// The one in progress.
    pub fn running(&self) -> Option<&Test> {
        self.all.back().filter(|test| test.is_running())
    }

    /// The one in progress, to be changed.
    pub fn running_mut(&mut self) -> Option<&mut Test> {
        self.all.back_mut().filter(|test| test.is_running())
    }

    /// Adds a new one; the oldest may be forgotten for that.
    pub fn begin(&mut self, test: Test) {
        self.all.push_back(test);
        if self.all.len() > REMEMBERED {
            let oldest = self.all.pop_front();
            self.forgotten += usize::from(oldest.is_some_and(|test| test.summary().is_some()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity,
        counters::{CpuShares, DiskRates},
        model::{Target, run},
        source,
    };

    fn sample(at_ms: u64, ios: u64) -> RunSample {
        RunSample {
            batch: String::new(),
            at: Duration::from_millis(at_ms),
            state: RunState::Running,
            preparing: None,
            targets: vec![TargetSample {
                name: Label::new("/dev/nvme0n1"),
                drive: None,
                ios,
                bytes: ios * 4096,
                errors: 0,
                latency: LatencySummary::default(),
                failed: None,
            }],
            simulated: true,
        }
    }

    #[test]
    fn a_pause_of_a_simulated_test_adds_no_reads_of_others() {
        let target = Target { path: "/dev/nvme0n1".into(), drive: Some(DriveName::new("nvme0n1")) };
        let workload = Workload { targets: vec![target], ..Workload::default() };
        let mut test = Test::new(workload, Vec::new(), RunMonitor::default());
        let rates = |ios: f64| {
            let disk = DiskRates { reads: ios, read_bytes: ios * 4096.0, ..DiskRates::default() };
            let disks = BTreeMap::from([(DriveName::new("nvme0n1"), disk)]);
            Rates { elapsed: Duration::from_secs(1), disks, ..Rates::default() }
        };
        // Its own clock stands still from 1.5 to 4.5 s.
        for (now, at, ios) in [(0, 0, 0), (1000, 1000, 250_000), (1500, 1500, 375_000), (5000, 2000, 500_000)]
        {
            test.take(&sample(at, ios), Duration::from_millis(now));
            if at % 1000 == 0 && at > 0 {
                test.watch(&rates(250_000.0), Duration::from_millis(now));
            }
        }
        let machine = source::testing::demo("x570");
        let mut run = run::testing::run(&["nvme0n1"], 500_000 * 4096, test.workload.clone());
        test.watch.judge(&machine, &mut run);
        assert!(run.targets[0].invalid_because.is_empty(), "{run:?}");
    }

    #[test]
    fn busy_cpus_and_not_latency_keep_a_running_test_below() {
        let machine = source::testing::demo("laptop");
        let drive = machine.hardware_drives().next().unwrap();
        let workload = Workload { targets: vec![drive.target()], depth: 1, ..Workload::default() };
        let expected = capacity::expected(&machine, &capacity::limits(&machine), &workload);
        let mut test = Test::new(workload, expected, RunMonitor::default());
        test.take(&sample(1000, 100), Duration::from_secs(1));
        test.take(&sample(2000, 200), Duration::from_secs(2));
        assert_eq!(test.latency_bound().as_deref(), Some("1 I/O"));
        let cpu = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
        let rates = Rates { elapsed: Duration::from_secs(1), cpu: Some(cpu), ..Rates::default() };
        test.watch.take(&rates, &OwnReads::default());
        assert_eq!(test.latency_bound(), None);
    }

    #[test]
    fn a_pause_leaves_a_gap_and_reads_nothing_meanwhile() {
        let target = Target { path: "/dev/nvme0n1".into(), drive: Some(DriveName::new("nvme0n1")) };
        let workload =
            Workload { targets: vec![target], runtime: Some(Duration::from_secs(10)), ..Workload::default() };
        let mut test = Test::new(workload, Vec::new(), RunMonitor::default());
        let mut take = |now: u64, at, state| {
            test.take(&RunSample { state, ..sample(at, at * 10) }, Duration::from_millis(now));
            (test.drive_reads()[0].1.requests, test.window())
        };
        let ten = Duration::from_secs(10);
        assert_eq!(take(1000, 1000, RunState::Running), (10_000.0, ten));
        assert_eq!(take(1100, 1050, RunState::Paused), (0.0, ten));
        assert_eq!(take(12_900, 1050, RunState::Paused), (0.0, ten));
        let (reads, window) = take(13_000, 1100, RunState::Running);
        assert!(reads > 9_000.0 && window == Duration::from_secs(30), "{reads} {window:?}");
        take(13_100, 1200, RunState::Running);
        for curves in [&test.total, &test.targets[0].curves] {
            let split =
                [1000, 1100, 13_000, 13_100].map(|ms| curves.iops.is_split_before(Duration::from_millis(ms)));
            assert_eq!(split, [false, false, true, false]);
        }
    }

    #[test]
    fn rates_come_from_counts_and_a_pause_does_not_dent_them() {
        let workload = Workload {
            targets: vec![Target { path: "/dev/nvme0n1".into(), drive: None }],
            ..Workload::default()
        };
        let mut test = Test::new(workload, Vec::new(), RunMonitor::default());
        for (now, at, ios) in [(100, 100, 1000), (200, 200, 2000), (900, 200, 2000), (1000, 300, 3000)] {
            test.take(&sample(at, ios), Duration::from_millis(now));
        }
        let rates: Vec<f64> = test.total.iops.points().map(|(_, value)| value).collect();
        assert_eq!(rates, [10_000.0, 10_000.0, 10_000.0]);
        assert!(test.simulated && test.scales.iops.top() >= 10_000.0);
        test.end(Err(Failed::new("/dev/nvme0n1: EACCES", Some(libc::EACCES))));
        assert!(!test.is_running());
    }
}
