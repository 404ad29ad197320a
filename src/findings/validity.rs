//! [`Watch`]: what went on beside a test, and whether its figure is still the drives' own.
//!
//! Here: other I/O on the drives under test, processors without a moment's rest, heat; each told by counters that were
//! looked at while the test ran. Not here: what can be told before the first read (`load`).

use std::collections::BTreeMap;

use crate::{
    capacity::Beside,
    counters::Rates,
    machine::{Machine, Smart},
    model::{DriveName, RunSummary, TargetSummary, Workload},
    text::Label,
};

/// Others' share of the reads that still goes for noise: counters and the test's own clock are never looked at together.
const OTHERS: f64 = 0.05;
/// Less than this per second is nobody's business, bytes.
const LITTLE: f64 = 1e6;
/// Idle and waiting below this, percent of all processors: they were what was measured.
const BUSY: f64 = 5.0;

/// What was counted while a test ran, and what its drives' thermal counters said before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watch {
    seen: Option<Rates>,
    health: BTreeMap<DriveName, Smart>,
}

impl Watch {
    /// A test of these drives begins, on a machine that was read just before.
    pub fn begin(machine: &Machine, workload: &Workload) -> Self {
        let health = |name: &DriveName| {
            let smart = machine.drive(name)?.nvme.as_ref()?.smart.value()?;
            Some((name.clone(), smart.clone()))
        };
        let drives = workload.targets.iter().filter_map(|target| target.drive.as_ref());
        Self { seen: None, health: drives.filter_map(health).collect() }
    }

    /// Takes the rates of a stretch of the test.
    pub fn take(&mut self, rates: &Rates) {
        self.seen = Some(self.seen.take().map_or_else(|| rates.clone(), |seen| seen.joined(rates)));
    }

    /// What happened per second over the test so far.
    pub const fn rates(&self) -> Option<&Rates> {
        self.seen.as_ref()
    }

    /// What was counted beside a test that ended so.
    pub fn beside(&self, run: &RunSummary) -> Beside {
        let Some(seen) = &self.seen else { return Beside::default() };
        let interrupts = seen.cpu.map_or(0.0, |cpu| cpu.irq / 100.0 * seen.cpus.len() as f64);
        let alone = sums(run, TargetSummary::bytes_per_second)
            .iter()
            .all(|(drive, own)| self.others(drive, *own) == Others::default());
        Beside { interrupts, hertz: seen.clock_khz.map(|khz| khz as f64 * 1e3), alone }
    }

    /// What others did on a drive from which the test read so many bytes per second; noise is nothing.
    fn others(&self, drive: &DriveName, own: f64) -> Others {
        let Some(disk) = self.seen.as_ref().and_then(|seen| seen.disks.get(drive)) else {
            return Others::default();
        };
        let most = LITTLE.max(OTHERS * own);
        let told = |rate: f64| (rate > most).then(|| against(rate, own));
        Others { read: told(disk.read_bytes - own), wrote: told(disk.written_bytes) }
    }

    /// What the thermal counters of a drive under test say since it began, in words; nothing when they stood still. They
    /// are bytes 192 to 223 of the SMART / Health Information log page (NVM Express Base Specification, log page 02h).
    pub fn throttling(&self, machine: &Machine, name: &DriveName) -> Vec<String> {
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
        .map(|(count, what, unit)| format!("{what} {}", super::evidence::count_of(count as usize, unit)))
        .collect()
    }

    /// Interrupts of a drive's I/O queues for each of so many reads per second; `None` where its vectors are not known.
    fn interrupts(&self, machine: &Machine, name: &DriveName, reads: Option<f64>) -> Option<f64> {
        let queue = format!("{}q", machine.drive(name)?.nvme.as_ref()?.controller);
        let reads = reads.filter(|reads| *reads > 0.0)?;
        // Queue 0 is the controller's own: commands about it, not reads.
        let of_queue =
            |vector: &Label| vector.as_str().strip_prefix(&queue).is_some_and(|number| number != "0");
        let own: Vec<f64> = self
            .seen
            .as_ref()?
            .vectors
            .iter()
            .filter(|(vector, _)| of_queue(vector))
            .map(|(_, rate)| *rate)
            .collect();
        (!own.is_empty()).then(|| own.iter().sum::<f64>() / reads)
    }

    /// Adds to each target of `run` what its reads cost in interrupts, and why its figure is not the drive's own, as `machine` is at the end of the test.
    pub fn judge(&self, machine: &Machine, run: &mut RunSummary) {
        let own = sums(run, TargetSummary::bytes_per_second);
        let reads = sums(run, TargetSummary::iops);
        // Unknown is not busy.
        let cpu = self.seen.as_ref().and_then(|seen| seen.cpu);
        let busy = cpu.is_some_and(|cpu| cpu.idl + cpu.wai < BUSY);
        for target in &mut run.targets {
            let doubts = &mut target.invalid_because;
            if busy {
                doubts.push("every processor was busy: it measures them".to_owned());
            }
            let Some(name) = &target.drive else { continue };
            target.interrupts_per_read = self.interrupts(machine, name, reads.get(name).copied());
            let others = self.others(name, own.get(name).copied().unwrap_or(0.0));
            doubts.extend(others.read.map(|much| format!("others read from {name} meanwhile, {much}")));
            doubts.extend(others.wrote.map(|much| format!("others wrote to {name} meanwhile, {much}")));
            doubts.extend(heat(machine, name));
            doubts
                .extend(self.throttling(machine, name).into_iter().map(|what| format!("{name} was {what}")));
        }
    }
}

/// How much others read and wrote on a drive under test, in words.
#[derive(Debug, PartialEq, Eq, Default)]
struct Others {
    read: Option<String>,
    wrote: Option<String>,
}

/// What the test itself did on each drive, per second.
fn sums(run: &RunSummary, of: fn(&TargetSummary) -> f64) -> BTreeMap<DriveName, f64> {
    let mut rates: BTreeMap<DriveName, f64> = BTreeMap::new();
    for target in &run.targets {
        if let Some(drive) = &target.drive {
            *rates.entry(drive.clone()).or_default() += of(target);
        }
    }
    rates
}

fn heat(machine: &Machine, name: &DriveName) -> Option<String> {
    let temperature = machine.drive(name)?.temperature.as_ref()?;
    // Drives without a threshold report zero or less.
    let (now, most) = temperature.now.get().zip(temperature.max.get().filter(|most| *most > 0.0))?;
    (now >= most).then(|| format!("{name} was at {now:.0} °C, and throttles from {most:.0} °C"))
}

/// A rate of others against the test's own, a share that needs no unit: `12 % as much as it read`.
fn against(others: f64, own: f64) -> String {
    let share = others / own.max(1.0);
    if share < 10.0 {
        format!("{:.0} % as much as it read", 100.0 * share)
    } else {
        "far more than it read".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        counters::{CpuShares, DiskRates},
        model::{Reading, Workload},
        source::{self, origin::Origin},
    };

    fn run() -> RunSummary {
        crate::model::run::testing::run(&["nvme0n1"], 1_000_000_000, Workload::default())
    }

    /// Ten seconds with that much read from and written to the drive, and the processors that idle.
    fn doubts(read: f64, written: f64, idle: f64, celsius: f64) -> Vec<String> {
        let (mut machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let drive = machine.drives.iter_mut().find(|drive| drive.name.as_str() == "nvme0n1").unwrap();
        drive.temperature.as_mut().unwrap().now = Reading::known("/test", celsius);
        let disk = DiskRates { read_bytes: read, written_bytes: written, ..DiskRates::default() };
        let rates = Rates {
            elapsed: Duration::from_secs(1),
            cpu: Some(CpuShares { idl: idle, usr: 100.0 - idle, ..CpuShares::default() }),
            disks: BTreeMap::from([(DriveName::new("nvme0n1"), disk)]),
            ..Rates::default()
        };
        let mut watch = Watch::default();
        (0..10).for_each(|_| watch.take(&rates));
        let mut run = run();
        watch.judge(&machine, &mut run);
        run.targets.remove(0).invalid_because
    }

    #[test]
    fn a_test_that_is_alone_is_not_doubted() {
        assert_eq!(doubts(100e6, 0.0, 90.0, 40.0), Vec::<String>::new());
        assert_eq!(doubts(104e6, 0.5e6, 90.0, 40.0), Vec::<String>::new(), "noise");
        let mut alone = run();
        Watch::default()
            .judge(&source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap()).0, &mut alone);
        assert_eq!(alone, run(), "nothing seen, nothing said");
    }

    #[test]
    fn interrupts_are_those_of_the_drives_own_queues_per_read() {
        let (machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let controller =
            machine.drive(&DriveName::new("nvme0n1")).unwrap().nvme.as_ref().unwrap().controller.clone();
        let rate = |queue: &str, rate: f64| (Label::new(&format!("{controller}{queue}")), rate);
        let mut watch = Watch::default();
        watch.take(&Rates {
            elapsed: Duration::from_secs(1),
            vectors: BTreeMap::from([
                rate("q0", 5000.0),
                rate("q1", 8000.0),
                rate("q12", 4000.0),
                rate("0q1", 7000.0),
            ]),
            ..Rates::default()
        });
        let mut run = run();
        watch.judge(&machine, &mut run);
        // 1 GB in 10 s by 4 KiB: 24414 reads per second.
        let per_read = run.targets[0].interrupts_per_read.unwrap();
        assert!((per_read - 12_000.0 / run.targets[0].iops()).abs() < 1e-9, "{per_read}");
        watch.seen.as_mut().unwrap().vectors.clear();
        watch.judge(&machine, &mut run);
        assert_eq!(run.targets[0].interrupts_per_read, None, "not known is not zero");
    }

    #[test]
    fn thermal_counters_that_move_are_named_and_those_that_stood_before_are_not() {
        let (mut machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
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
        let watch = Watch::begin(&machine, &run().workload);
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
        let (mut machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let name = DriveName::new("nvme0n1");
        let drive = machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
        drive.temperature.as_mut().unwrap().max = Reading::known("/test", 0.0);
        assert_eq!(heat(&machine, &name), None);
    }

    #[test]
    fn other_reads_writes_busy_processors_and_heat_are_named() {
        assert_eq!(
            doubts(150e6, 0.0, 90.0, 40.0),
            ["others read from nvme0n1 meanwhile, 50 % as much as it read"]
        );
        assert_eq!(
            doubts(100e6, 20e6, 90.0, 40.0),
            ["others wrote to nvme0n1 meanwhile, 20 % as much as it read"]
        );
        assert_eq!(doubts(100e6, 0.0, 2.0, 40.0), ["every processor was busy: it measures them"]);
        assert!(doubts(100e6, 0.0, 90.0, 120.0)[0].starts_with("nvme0n1 was at 120 °C"));
    }
}
