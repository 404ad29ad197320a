//! [`RunMonitor`]: other activity during a test, and whether the test's figure is valid.

mod layers;
mod surroundings;

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Gain, Inputs, Subject, SubjectKind};
use crate::{
    capacity::{self, SystemActivity},
    counters::{DiskRates, Rates},
    machine::{Alone, Drive, Machine, Measured, Smart},
    model::{
        DriveName, IoLimit, LimitKind, Limits, RunSample, RunSummary, Severity, TargetSummary, Workload,
    },
    text::Label,
    units,
};

/// Share of reads by others that is noise: counters and the test's own count are not sampled at the same instant.
const OTHERS: f64 = 0.05;
/// Ignored rate of other I/O, bytes per second.
const LITTLE: f64 = 1e6;
/// CPU-bound below this idle and iowait time, percent of all CPUs.
const BUSY: f64 = 5.0;
/// Busy CPUs are others' doing where other processes used more than this share of them.
const OTHER_CPUS: f64 = 0.25;
/// A cgroup limit counts as reached from this share: other processes of the cgroup use it, too.
const REACHED: f64 = 0.5;

/// Reads of the test itself, by target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnReads(Vec<Own>);

#[derive(Debug, Clone, PartialEq, Default)]
struct Own {
    drive: Option<DriveName>,
    ios: f64,
    bytes: f64,
}

impl OwnReads {
    /// Reads between two samples of a test.
    pub(crate) fn between(before: &RunSample, after: &RunSample) -> Self {
        let pairs = before.targets.iter().zip(&after.targets);
        Self::of(pairs.map(|(before, after)| {
            let grown = |before: u64, after: u64| after.saturating_sub(before) as f64;
            (after.drive.clone(), grown(before.ios, after.ios), grown(before.bytes, after.bytes))
        }))
    }

    /// Drive, reads and bytes of each target.
    pub(crate) fn of(targets: impl IntoIterator<Item = (Option<DriveName>, f64, f64)>) -> Self {
        Self(targets.into_iter().map(|(drive, ios, bytes)| Own { drive, ios, bytes }).collect())
    }

    /// All reads of the counters, as if the test had made them.
    pub(crate) fn all_of(rates: &Rates) -> Self {
        let seconds = rates.elapsed.as_secs_f64();
        let own = |(name, disk): (&DriveName, &DiskRates)| {
            (Some(name.clone()), disk.reads * seconds, disk.read_bytes * seconds)
        };
        Self::of(rates.disks.iter().map(own))
    }

    /// Adds the reads of a later time span; a target's drive may become known later.
    fn add(&mut self, later: &Self) {
        self.0.resize_with(self.0.len().max(later.0.len()), Own::default);
        for (own, later) in self.0.iter_mut().zip(&later.0) {
            own.drive = later.drive.clone().or_else(|| own.drive.take());
            own.ios += later.ios;
            own.bytes += later.bytes;
        }
    }

    /// Reads and bytes on these drives.
    fn on(&self, drives: &[&DriveName]) -> (f64, f64) {
        let here =
            self.0.iter().filter(|own| own.drive.as_ref().is_some_and(|drive| drives.contains(&drive)));
        here.fold((0.0, 0.0), |(ios, bytes), own| (ios + own.ios, bytes + own.bytes))
    }
}

/// Rates during a test, and the SMART logs of its drives before it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunMonitor {
    seen: Option<Rates>,
    /// The test's own reads during `seen`.
    own: OwnReads,
    health: BTreeMap<DriveName, Smart>,
    /// Counters of errors and resets before it.
    diagnostics: BTreeMap<DriveName, BTreeMap<Label, u64>>,
    /// Time of the last message of the nvme driver before it, where the kernel log was read.
    logged_until: Option<std::time::Duration>,
    /// Arrays that were synchronised when it began, by target.
    syncing: BTreeMap<DriveName, BTreeSet<String>>,
}

impl RunMonitor {
    /// Starts monitoring a test, on a machine that was read just before.
    pub fn begin(machine: &Machine, workload: &Workload) -> Self {
        let health = |name: &DriveName| {
            let smart = machine.drive(name)?.nvme.as_ref()?.smart.value()?;
            Some((name.clone(), smart.clone()))
        };
        let drives = || workload.targets.iter().filter_map(|target| target.drive.as_ref());
        Self {
            health: drives().filter_map(health).collect(),
            diagnostics: drives().map(|name| (name.clone(), layers::diagnostics(machine, name))).collect(),
            logged_until: layers::logged_until(machine),
            syncing: drives().map(|name| (name.clone(), layers::syncing(machine, name))).collect(),
            ..Self::default()
        }
    }

    /// Adds the rates of a time span of the test, and the test's own reads in the same time span.
    pub(crate) fn take(&mut self, rates: &Rates, own: &OwnReads) {
        self.seen = Some(self.seen.take().map_or_else(|| rates.clone(), |seen| seen.joined(rates)));
        self.own.add(own);
    }

    /// Rates over the test so far.
    pub(crate) const fn rates(&self) -> Option<&Rates> {
        self.seen.as_ref()
    }

    /// Other activity during a finished test.
    pub(crate) fn beside(&self, machine: &Machine, run: &RunSummary) -> SystemActivity {
        let Some(seen) = &self.seen else { return SystemActivity::default() };
        let interrupts = seen.cpu.map_or(0.0, |cpu| cpu.irq / 100.0 * seen.cpus.len() as f64);
        let mut drives = run.targets.iter().filter_map(|target| target.drive.as_ref());
        let alone = drives.all(|drive| self.others(machine, run, drive, 0.0) == Others::default());
        SystemActivity { interrupts, hertz: seen.clock_khz.map(|khz| khz as f64 * 1e3), alone }
    }

    /// I/O of other processes on a drive during the test, relative to the test's own reads; noise is ignored: what is small
    /// against the test's own reads, or against `fastest` bytes per second.
    fn others(&self, machine: &Machine, run: &RunSummary, drive: &DriveName, fastest: f64) -> Others {
        let Some((seen, disk)) = self.seen.as_ref().and_then(|seen| Some((seen, seen.disks.get(drive)?)))
        else {
            return Others::default();
        };
        let seconds = seen.elapsed.as_secs_f64();
        // The drive also counts reads of devices stacked on it.
        let drives = on_top(machine, drive);
        let (_, own) = self.own.on(&drives);
        let targets = run.targets.iter().filter_map(|target| target.drive.as_ref());
        let targets = targets.filter(|target| drives.contains(target)).count() as f64;
        // Reads in flight at either end of the time span are counted by one side only.
        let in_flight = f64::from(run.workload.depth) * f64::from(run.workload.jobs) * targets;
        let unsure = 2.0 * in_flight * run.workload.largest_block().0 as f64;
        let above = |bytes: f64, most: f64| (bytes > most).then(|| against(bytes, own));
        let least = (LITTLE * seconds).max(OTHERS * own.max(fastest * seconds));
        // Buffered reads trigger readahead: the drive's count exceeds the test's own.
        let read = above(disk.read_bytes * seconds - own, least.max(unsure)).filter(|_| run.workload.direct);
        Others { read, wrote: above(disk.written_bytes * seconds, least) }
    }

    /// Increments of the thermal counters of a drive since the start of the test, in words: bytes 192 to 223 of the
    /// SMART / Health Information log page (NVM Express Base Specification, log page 02h).
    pub(crate) fn throttling(&self, machine: &Machine, name: &DriveName) -> Vec<String> {
        let now = machine.drive(name).and_then(|drive| drive.nvme.as_ref()?.smart.value());
        let Some((before, now)) = self.health.get(name).zip(now) else { return Vec::new() };
        let grown = |read: fn(&Smart) -> u32| read(now).saturating_sub(read(before));
        [
            (grown(|smart| smart.thermal_transitions.0), "throttled lightly", "time"),
            (grown(|smart| smart.thermal_transitions.1), "throttled heavily", "time"),
            (grown(|smart| smart.warning_minutes), "above its warning temperature for", "minute"),
            (grown(|smart| smart.critical_minutes), "above its critical temperature for", "minute"),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, unit)| format!("{what} {}", units::counted(count as usize, unit)))
        .collect()
    }

    /// Interrupts of a drive's I/O queues per read of the test; `None` if its vectors are unknown.
    fn interrupts(&self, machine: &Machine, name: &DriveName) -> Option<f64> {
        let queue = format!("{}q", machine.drive(name)?.nvme.as_ref()?.controller);
        let seen = self.seen.as_ref()?;
        let (reads, _) = self.own.on(&[name]);
        // Queue 0 is the admin queue.
        let of_queue =
            |vector: &Label| vector.as_str().strip_prefix(&queue).is_some_and(|number| number != "0");
        let own: Vec<f64> =
            seen.vectors.iter().filter(|(vector, _)| of_queue(vector)).map(|(_, rate)| *rate).collect();
        let interrupts = own.iter().sum::<f64>() * seen.elapsed.as_secs_f64();
        (!own.is_empty() && reads > 0.0).then(|| interrupts / reads)
    }

    /// Adds to each target of `run` its interrupts per read and the reasons why its figure is invalid; `machine` is the
    /// state at the end of the test.
    pub(crate) fn judge(&self, machine: &Machine, run: &mut RunSummary) {
        // Unknown does not count as busy.
        let cpu = self.seen.as_ref().and_then(|seen| seen.cpu);
        let busy = cpu.is_some_and(|cpu| cpu.idl + cpu.wai < BUSY);
        let others = self.other_cpus(run).filter(|(others, all)| others / all > OTHER_CPUS);
        run.cpu_bound = busy && others.is_none();
        let disturbed = self.disturbed(machine, run, 0.0);
        let (reasons, notes) = limited(machine, run);
        for (target, (disturbed, limited)) in run.targets.iter_mut().zip(disturbed.into_iter().zip(reasons)) {
            let doubts = &mut target.invalid_because;
            doubts.extend(target.drive.as_ref().into_iter().flat_map(|name| self.synced(machine, name)));
            match others.filter(|_| busy) {
                Some((others, all)) => doubts.push(format!(
                    "all CPUs were busy, and other processes used {others:.1} of {all:.0}: stop them"
                )),
                None if busy => doubts.push(
                    "CPU-bound: all CPUs were busy, so this measures the CPUs, not the drives".to_owned(),
                ),
                None => {}
            }
            doubts.extend(limited);
            doubts.extend(disturbed);
            target.interrupts_per_read =
                target.drive.as_ref().and_then(|name| self.interrupts(machine, name));
        }
        run.effective.fallbacks.extend(notes);
    }

    /// Judges a finished run; the limits of `machine` that it measured. `after` is the machine at its end.
    pub(crate) fn conclude(
        &self,
        machine: &Machine,
        limits: &Limits,
        after: &Machine,
        run: &mut RunSummary,
    ) -> Vec<Measured> {
        self.judge(after, run);
        // An invalid result measures nothing, so it is judged first.
        let mut learned = capacity::learned(machine, limits, run, self.beside(after, run));
        learned.retain(|measured| match measured {
            Measured::Alone(alone) => !is_held_back(machine, limits, run, alone),
            _ => true,
        });
        learned
    }

    /// Disturbances of each target that vary between runs: other I/O on its drive, temperature. Other I/O that is small
    /// against `fastest` bytes per second does not count.
    pub(crate) fn disturbed(&self, machine: &Machine, run: &RunSummary, fastest: f64) -> Vec<Vec<String>> {
        let of = |target: &TargetSummary| {
            let Some(name) = &target.drive else { return Vec::new() };
            let others = self.others(machine, run, name, fastest);
            let read = others.read.map(|much| format!("other reads from {name} meanwhile, {much}"));
            let wrote = others.wrote.map(|much| format!("other writes to {name} meanwhile, {much}"));
            let throttled =
                self.throttling(machine, name).into_iter().map(|what| format!("{name} was {what}"));
            read.into_iter().chain(wrote).chain(heat(machine, name)).chain(throttled).collect()
        };
        run.targets.iter().map(of).collect()
    }
}

/// Whether a result would lower a drive's potential while a finding about the drive or its path limits it.
fn is_held_back(machine: &Machine, limits: &Limits, run: &RunSummary, alone: &Alone) -> bool {
    let drives = run.targets.iter().filter_map(|target| machine.drive(target.drive.as_ref()?));
    let mut lowered =
        drives.filter(|drive| capacity::alone::lowers(machine, limits, drive, alone)).peekable();
    if lowered.peek().is_none() {
        return false;
    }
    let costs: Vec<Finding> = super::check(&Inputs::at_rest(machine, limits))
        .into_iter()
        .filter(|finding| {
            let Gain { bytes_per_second, iops, .. } = finding.gain;
            finding.severity > Severity::Info || bytes_per_second.is_some() || iops.is_some()
        })
        .collect();
    lowered.any(|drive| {
        let is_on_path = |subject: &Subject| match subject.kind {
            SubjectKind::Drive => subject.name == drive.name.as_str(),
            SubjectKind::Device => drive
                .node
                .zip(subject.node(machine))
                .is_some_and(|(own, node)| machine.pci.whole_ancestry(own).any(|at| at == node)),
            // With one drive under test a root complex is not full.
            SubjectKind::RootComplex | SubjectKind::Cpu | SubjectKind::Host => false,
        };
        costs.iter().any(|finding| finding.subjects.iter().any(is_on_path))
    })
}

/// Cgroup limits that each target reached, in words, and those in force that it did not reach.
fn limited(machine: &Machine, run: &RunSummary) -> (Vec<Vec<String>>, Vec<String>) {
    let mut notes: Vec<String> = Vec::new();
    let mut reason = |target: &TargetSummary, drive: &Drive, limit: &IoLimit| {
        let (name, path, value) = (&drive.name, &limit.path, limit.value);
        let (words, reached) = match limit.kind {
            LimitKind::ReadBytes => {
                let bytes = on(run, target, TargetSummary::bytes_per_second);
                (format!("{}/s", units::UnitSystem::Decimal.size(units::Bytes(value))), bytes)
            }
            LimitKind::ReadIops => {
                let (requests, _) = capacity::processor::requests(drive, run.workload.smallest_block());
                let ios = on(run, target, TargetSummary::iops);
                (format!("{} IOPS", units::count(value as f64)), ios * requests)
            }
            // A test writes nothing.
            LimitKind::WrittenBytes | LimitKind::WriteIops => return None,
            LimitKind::Latency => {
                notes.push(format!(
                    "a cgroup has a latency target of {value} us for {name}, for which the kernel may delay reads ({path})"
                ));
                return None;
            }
        };
        let is_reached = reached >= REACHED * value as f64;
        if !is_reached {
            notes.push(format!("a cgroup limits reads of {name} to {words}, not reached ({path})"));
        }
        is_reached.then(|| format!("a cgroup limits reads of {name} to {words} ({path})"))
    };
    let mut of = |target: &TargetSummary| {
        let limits = target.drive.iter().flat_map(|name| limits_of(machine, name));
        limits.filter_map(|(drive, limit)| reason(target, drive, limit)).collect()
    };
    let reasons = run.targets.iter().map(&mut of).collect();
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    (reasons, notes)
}

/// Sum over all targets on the same drive.
fn on(run: &RunSummary, target: &TargetSummary, of: fn(&TargetSummary) -> f64) -> f64 {
    run.targets.iter().filter(|other| other.drive == target.drive).map(of).sum()
}

/// Cgroup limits on a drive or on a drive below it, with that drive.
fn limits_of<'a>(
    machine: &'a Machine,
    name: &'a DriveName,
) -> impl Iterator<Item = (&'a Drive, &'a IoLimit)> {
    let is_below = move |drive: &&Drive| on_top(machine, &drive.name).contains(&name);
    machine.drives.iter().filter(is_below).flat_map(|drive| {
        let is_its = |limit: &&IoLimit| Some(&limit.device) == drive.device_number.value();
        machine.host.io_limits.iter().filter(is_its).map(move |limit| (drive, limit))
    })
}

/// A drive and the block devices stacked on it or its partitions.
fn on_top<'a>(machine: &'a Machine, name: &'a DriveName) -> Vec<&'a DriveName> {
    let uses = machine.drive(name).map_or(&[][..], |drive| &drive.used_by);
    let above: BTreeSet<&str> = uses.iter().flat_map(|held| &held.chain).map(Label::as_str).collect();
    let drives = machine.drives.iter().map(|drive| &drive.name);
    drives.filter(|drive| *drive == name || above.contains(drive.as_str())).collect()
}

/// I/O of other processes on a drive under test, in words.
#[derive(Debug, PartialEq, Eq, Default)]
struct Others {
    read: Option<String>,
    wrote: Option<String>,
}

fn heat(machine: &Machine, name: &DriveName) -> Option<String> {
    let temperature = machine.drive(name)?.temperature.as_ref()?;
    // Drives without a threshold report zero or less.
    let (now, most) = temperature.now.get().zip(temperature.max.get().filter(|most| *most > 0.0))?;
    (now >= most).then(|| format!("{name} was at {now:.0} °C, and throttles from {most:.0} °C"))
}

/// Bytes of others relative to the test's own: `12 % as much as it read`.
fn against(others: f64, own: f64) -> String {
    let share = others / own.max(1.0);
    if share < 10.0 {
        format!("{:.0} % of the bytes that the test read", 100.0 * share)
    } else {
        "far more bytes than the test read".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        counters::CpuShares,
        machine::{Use, User},
        model::{Reading, Workload},
        source,
        units::Bytes,
    };

    fn run() -> RunSummary {
        crate::model::run::testing::run(&["nvme0n1"], 1_000_000_000, Workload::default())
    }

    /// Reads of the drive by the test in a second.
    fn own(bytes: f64) -> OwnReads {
        OwnReads::of([(Some(DriveName::new("nvme0n1")), bytes / 4096.0, bytes)])
    }

    /// Ten seconds with these reads from and writes to the drive, and idle CPUs.
    fn doubts(read: f64, written: f64, idle: f64, celsius: f64) -> Vec<String> {
        let mut machine = source::testing::demo("x570");
        let drive = machine.drives.iter_mut().find(|drive| drive.name.as_str() == "nvme0n1").unwrap();
        drive.temperature.as_mut().unwrap().now = Reading::known("/test", celsius);
        let disk = DiskRates { read_bytes: read, written_bytes: written, ..DiskRates::default() };
        let rates = Rates {
            elapsed: Duration::from_secs(1),
            cpu: Some(CpuShares { idl: idle, usr: 100.0 - idle, ..CpuShares::default() }),
            disks: BTreeMap::from([(DriveName::new("nvme0n1"), disk)]),
            ..Rates::default()
        };
        let mut watch = RunMonitor::default();
        (0..10).for_each(|_| watch.take(&rates, &own(100e6)));
        let mut run = run();
        watch.judge(&machine, &mut run);
        run.targets.remove(0).invalid_because
    }

    #[test]
    fn a_test_that_is_alone_is_not_doubted() {
        assert_eq!(doubts(100e6, 0.0, 90.0, 40.0), Vec::<String>::new());
        assert_eq!(doubts(104e6, 0.5e6, 90.0, 40.0), Vec::<String>::new(), "noise");
        let mut alone = run();
        RunMonitor::default().judge(&source::testing::demo("laptop"), &mut alone);
        assert_eq!(alone, run(), "no counters, no doubts");
    }

    #[test]
    fn interrupts_are_those_of_the_drives_own_queues_per_read() {
        let machine = source::testing::demo("x570");
        let controller =
            machine.drive(&DriveName::new("nvme0n1")).unwrap().nvme.as_ref().unwrap().controller.clone();
        let rate = |queue: &str, rate: f64| (Label::new(&format!("{controller}{queue}")), rate);
        let mut watch = RunMonitor::default();
        let vectors = [rate("q0", 5000.0), rate("q1", 8000.0), rate("q12", 4000.0), rate("0q1", 7000.0)];
        let rates =
            Rates { elapsed: Duration::from_secs(2), vectors: BTreeMap::from(vectors), ..Rates::default() };
        watch.take(&rates, &own(4096.0 * 48_000.0));
        let mut run = run();
        watch.judge(&machine, &mut run);
        // Relative to the reads of the monitored time, not of the whole run.
        let per_read = run.targets[0].interrupts_per_read.unwrap();
        assert!((per_read - 0.5).abs() < 1e-9, "{per_read}");
        watch.seen.as_mut().unwrap().vectors.clear();
        watch.judge(&machine, &mut run);
        assert_eq!(run.targets[0].interrupts_per_read, None, "not known is not zero");
    }

    #[test]
    fn thermal_counters_that_move_are_named_and_those_that_stood_before_are_not() {
        let mut machine = source::testing::demo("x570");
        let name = DriveName::new("nvme0n1");
        let change = |machine: &mut Machine, change: &dyn Fn(&mut Smart)| {
            let drive = machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
            let smart = &mut drive.nvme.as_mut().unwrap().smart;
            *smart = smart.clone().map(|mut smart| {
                change(&mut smart);
                smart
            });
        };
        change(&mut machine, &|smart| (smart.warning_minutes, smart.thermal_transitions) = (90, (4, 2)));
        let watch = RunMonitor::begin(&machine, &run().workload);
        assert_eq!(watch.throttling(&machine, &name), [""; 0]);
        change(&mut machine, &|smart| (smart.warning_minutes, smart.thermal_transitions) = (91, (7, 2)));
        let words = ["throttled lightly 3 times", "above its warning temperature for 1 minute"];
        assert_eq!(watch.throttling(&machine, &name), words);
        let mut run = run();
        watch.judge(&machine, &mut run);
        assert_eq!(run.targets[0].invalid_because[0], "nvme0n1 was throttled lightly 3 times");
        change(&mut machine, &|smart| (smart.warning_minutes, smart.thermal_transitions) = (0, (0, 0)));
        assert_eq!(watch.throttling(&machine, &name), [""; 0], "another drive took its place");
    }

    #[test]
    fn a_threshold_of_zero_is_none() {
        let mut machine = source::testing::demo("x570");
        let name = DriveName::new("nvme0n1");
        let drive = machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
        drive.temperature.as_mut().unwrap().max = Reading::known("/test", 0.0);
        assert_eq!(heat(&machine, &name), None);
    }

    #[test]
    fn other_reads_writes_busy_processors_and_heat_are_named() {
        assert_eq!(
            doubts(150e6, 0.0, 90.0, 40.0),
            ["other reads from nvme0n1 meanwhile, 50 % of the bytes that the test read"]
        );
        assert_eq!(
            doubts(100e6, 20e6, 90.0, 40.0),
            ["other writes to nvme0n1 meanwhile, 20 % of the bytes that the test read"]
        );
        assert_eq!(
            doubts(100e6, 0.0, 2.0, 40.0),
            ["CPU-bound: all CPUs were busy, so this measures the CPUs, not the drives"]
        );
        assert!(doubts(100e6, 0.0, 90.0, 120.0)[0].starts_with("nvme0n1 was at 120 °C"));
    }

    #[test]
    fn what_was_watched_is_compared_with_what_was_read_in_that_time() {
        let machine = source::testing::demo("x570");
        let name = DriveName::new("nvme0n1");
        let judged = |seconds: f64, disk_bytes: f64, own_bytes: f64, change: &dyn Fn(&mut RunSummary)| {
            let disk = DiskRates { read_bytes: disk_bytes / seconds, ..DiskRates::default() };
            let rates = Rates {
                elapsed: Duration::from_secs_f64(seconds),
                disks: BTreeMap::from([(name.clone(), disk)]),
                ..Rates::default()
            };
            let mut watch = RunMonitor::default();
            watch.take(&rates, &own(own_bytes));
            let mut run = run();
            change(&mut run);
            watch.judge(&machine, &mut run);
            run.targets.remove(0).invalid_because
        };
        // Twice the run's mean in the monitored second: a run that started slowly.
        assert_eq!(judged(1.0, 200e6, 200e6, &|_| {}), [""; 0]);
        assert_eq!(
            judged(2.0, 260e6, 200e6, &|_| {}),
            ["other reads from nvme0n1 meanwhile, 30 % of the bytes that the test read"]
        );
        // 32 reads of 1 MiB in flight at either end of it.
        let big = |run: &mut RunSummary| run.workload.block_size = Bytes(1 << 20);
        assert_eq!(judged(2.0, 260e6, 200e6, &big), [""; 0]);
        let buffered = |run: &mut RunSummary| run.workload.direct = false;
        assert_eq!(judged(2.0, 260e6, 200e6, &buffered), [""; 0], "reading ahead");
    }

    #[test]
    fn reads_of_devices_that_stand_on_a_drive_are_the_tests_own() {
        let mut machine = source::testing::demo("x570");
        let name = DriveName::new("nvme0n1");
        let mut above = machine.drive(&name).unwrap().clone();
        above.name = DriveName::new("dm-0");
        machine.drives.push(above);
        let drive = machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
        drive.used_by.push(Use { chain: vec!["nvme0n1p1".into(), "dm-0".into()], by: User::Holder });
        let disk = DiskRates { read_bytes: 200e6, ..DiskRates::default() };
        let disks = BTreeMap::from([(name.clone(), disk)]);
        let rates = Rates { elapsed: Duration::from_secs(1), disks, ..Rates::default() };
        let mut watch = RunMonitor::default();
        let half = |name: &str| (Some(DriveName::new(name)), 1000.0, 100e6);
        watch.take(&rates, &OwnReads::of([half("nvme0n1"), half("dm-0")]));
        let mut run = crate::model::run::testing::run(&["nvme0n1", "dm-0"], 100_000_000, Workload::default());
        watch.judge(&machine, &mut run);
        assert!(run.targets.iter().all(|target| target.invalid_because.is_empty()), "{run:?}");
    }

    #[test]
    fn limits_of_control_groups_are_reasons_where_they_are_reached_and_notes_where_not() {
        let mut machine = source::testing::demo("x570");
        let device =
            machine.drive(&DriveName::new("nvme0n1")).unwrap().device_number.value().unwrap().clone();
        let limit = |path: &str, device: &Label, kind, value| IoLimit {
            path: path.into(),
            device: device.clone(),
            kind,
            value,
        };
        machine.host.io_limits = vec![
            limit("/sys/fs/cgroup/a/io.max", &device, LimitKind::ReadIops, 25_000),
            limit("/sys/fs/cgroup/a/io.max", &device, LimitKind::ReadBytes, 500_000_000),
            limit("/sys/fs/cgroup/a/b/io.latency", &device, LimitKind::Latency, 75),
            limit("/sys/fs/cgroup/a/io.max", &Label::new("1:1"), LimitKind::ReadIops, 10),
        ];
        // 24.4 k IOPS, 100 MB/s.
        let mut run = run();
        RunMonitor::default().judge(&machine, &mut run);
        assert_eq!(
            run.targets[0].invalid_because,
            ["a cgroup limits reads of nvme0n1 to 25.0 k IOPS (/sys/fs/cgroup/a/io.max)"]
        );
        assert_eq!(
            run.effective.fallbacks,
            [
                "a cgroup limits reads of nvme0n1 to 500 MB/s, not reached (/sys/fs/cgroup/a/io.max)",
                "a cgroup has a latency target of 75 us for nvme0n1, for which the kernel may delay reads \
                 (/sys/fs/cgroup/a/b/io.latency)"
            ]
        );
        assert_eq!(
            RunMonitor::default().disturbed(&machine, &run, 0.0),
            [[""; 0]],
            "the same in every round"
        );
    }
}
