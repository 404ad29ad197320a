//! [`Watch`]: what went on beside a test, and whether its figure is still the drives' own.
//!
//! Here: other I/O on the drives under test, processors without a moment's rest, heat; each told by counters that were
//! looked at while the test ran. Not here: what can be told before the first read (`load`).

use std::{collections::BTreeMap, time::Duration};

use crate::{
    counters::Rates,
    machine::Machine,
    model::{DriveName, RunSummary},
    units::{BytesPerSecond, UnitSystem},
};

/// Others' share of the reads that still goes for noise: counters and the test's own clock are never looked at together.
const OTHERS: f64 = 0.05;
/// Less than this per second is nobody's business, bytes.
const LITTLE: f64 = 1e6;
/// Idle and waiting below this, percent of all processors: they were what was measured.
const BUSY: f64 = 5.0;

/// Counters of a test's time, added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Watch {
    time: Duration,
    resting: f64,
    disks: BTreeMap<DriveName, (f64, f64)>,
}

impl Watch {
    /// Takes the rates of a stretch of the test.
    pub fn take(&mut self, rates: &Rates) {
        let seconds = rates.elapsed.as_secs_f64();
        self.time += rates.elapsed;
        // Unknown is not busy.
        self.resting += seconds * rates.cpu.map_or(100.0, |cpu| cpu.idl + cpu.wai);
        for (drive, disk) in &rates.disks {
            let sums = self.disks.entry(drive.clone()).or_default();
            sums.0 += disk.read_bytes * seconds;
            sums.1 += disk.written_bytes * seconds;
        }
    }

    /// Adds to each target of `run` why its figure is not the drive's own, as `machine` is at the end of the test.
    pub fn judge(&self, machine: &Machine, run: &mut RunSummary) {
        let seconds = self.time.as_secs_f64();
        let busy = seconds > 0.0 && self.resting / seconds < BUSY;
        let own = own_rates(run);
        for target in &mut run.targets {
            let doubts = &mut target.invalid_because;
            if busy {
                doubts.push("every processor was busy: it measures them".to_owned());
            }
            let Some(name) = &target.drive else { continue };
            if let Some((read, written)) = self.disks.get(name).filter(|_| seconds > 0.0) {
                let own = own.get(name).copied().unwrap_or(0.0);
                let others = read / seconds - own;
                if others > LITTLE.max(OTHERS * own) {
                    doubts.push(format!("others read {} from {name} meanwhile", said(others)));
                }
                if written / seconds > LITTLE.max(OTHERS * own) {
                    doubts.push(format!("{} were written to {name} meanwhile", said(written / seconds)));
                }
            }
            doubts.extend(heat(machine, name));
        }
    }
}

/// Bytes per second that the test itself read from each drive.
fn own_rates(run: &RunSummary) -> BTreeMap<DriveName, f64> {
    let mut rates: BTreeMap<DriveName, f64> = BTreeMap::new();
    for target in &run.targets {
        if let Some(drive) = &target.drive {
            *rates.entry(drive.clone()).or_default() += target.bytes_per_second();
        }
    }
    rates
}

fn heat(machine: &Machine, name: &DriveName) -> Option<String> {
    let temperature = machine.drive(name)?.temperature.as_ref()?;
    let (now, most) = temperature.now.get().zip(temperature.max.get())?;
    (now >= most).then(|| format!("{name} was at {now:.0} °C, and throttles from {most:.0} °C"))
}

fn said(rate: f64) -> String {
    UnitSystem::Decimal.rate(BytesPerSecond(rate))
}

#[cfg(test)]
mod tests {
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
    fn other_reads_writes_busy_processors_and_heat_are_named() {
        assert_eq!(doubts(150e6, 0.0, 90.0, 40.0), ["others read 50.0 MB/s from nvme0n1 meanwhile"]);
        assert_eq!(doubts(100e6, 20e6, 90.0, 40.0), ["20.0 MB/s were written to nvme0n1 meanwhile"]);
        assert_eq!(doubts(100e6, 0.0, 2.0, 40.0), ["every processor was busy: it measures them"]);
        assert!(doubts(100e6, 0.0, 90.0, 120.0)[0].starts_with("nvme0n1 was at 120 °C"));
    }
}
