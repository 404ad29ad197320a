//! Layers and drives during a test: arrays that are synchronised, new errors, a temperature that does not move.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::RunMonitor;
use crate::{
    machine::{Drive, DriverMessage, Machine, Smart, driver_message::summary},
    model::{DriveName, Reading},
    text::Label,
    units::counted,
};

/// Seconds of a test after which a working sensor has moved.
const MOVES_WITHIN: f64 = 20.0;
/// Degrees Celsius from which a sensor that does not move is odd.
const HOT: i32 = 75;

/// Arrays of the stack of a target, above or below it, that are synchronised: `md0: resync 12.5 %`.
pub(super) fn syncing(machine: &Machine, name: &DriveName) -> BTreeSet<String> {
    let related = machine.related(name.as_str());
    let arrays = machine.arrays().filter(|(array, _)| related.contains(&array.name));
    arrays.filter_map(|(array, md)| Some(format!("{}: {}", array.name, md.syncing()?))).collect()
}

pub(super) fn diagnostics(machine: &Machine, name: &DriveName) -> BTreeMap<Label, u64> {
    let nvme = machine.drive(name).and_then(|drive| drive.nvme.as_ref());
    let counters = nvme.into_iter().flat_map(|nvme| &nvme.diagnostics);
    counters.filter_map(|(name, count)| Some((name.clone(), count.get()?))).collect()
}

/// Time of the newest message of the nvme driver; zero without one, `None` where the kernel log was not read.
pub(super) fn logged_until(machine: &Machine) -> Option<Duration> {
    let messages = machine.driver_messages.value()?;
    Some(messages.iter().filter_map(|message| message.at).max().unwrap_or_default())
}

fn smart<'a>(machine: &'a Machine, name: &DriveName) -> Option<&'a Smart> {
    machine
        .drive(name)
        .and_then(|drive: &Drive| drive.nvme.as_ref())
        .map(|nvme| &nvme.smart)
        .and_then(Reading::value)
}

impl RunMonitor {
    /// Arrays around a target that were synchronised at the start or at the end of the test, in words.
    pub(super) fn synced(&self, machine: &Machine, name: &DriveName) -> Vec<String> {
        let before = self.syncing.get(name).cloned().unwrap_or_default();
        let all: BTreeSet<String> = before.into_iter().chain(syncing(machine, name)).collect();
        all.into_iter().map(|what| format!("the array was synchronised meanwhile ({what})")).collect()
    }

    /// Errors, retries and resets that were counted since the start of the test, in words.
    pub(crate) fn new_errors(&self, machine: &Machine, name: &DriveName) -> Vec<String> {
        let now = diagnostics(machine, name);
        let before = self.diagnostics.get(name);
        let grown = now.iter().filter_map(|(counter, now)| {
            let grown = now.saturating_sub(*before?.get(counter)?);
            (grown > 0).then(|| format!("{} +{grown}", counter.as_str().replace('_', " ")))
        });
        let logged = self.health.get(name).zip(smart(machine, name)).into_iter().flat_map(|(before, now)| {
            [
                (
                    now.error_log_entries.saturating_sub(before.error_log_entries),
                    "new error log entry",
                    "new error log entries",
                ),
                (now.media_errors.saturating_sub(before.media_errors), "new media error", "new media errors"),
            ]
        });
        let logged = logged
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| if count == 1 { counted(1, one) } else { format!("{count} {many}") });
        let until = self.logged_until;
        let is_new = |message: &&DriverMessage| until.zip(message.at).is_some_and(|(until, at)| at > until);
        let drive = machine.drive(name).into_iter();
        let messages = summary(
            drive.flat_map(|drive| machine.messages_of(drive)).filter(is_new),
            machine.has_cut_messages(),
        );
        let messages = (!messages.is_empty()).then(|| format!("{messages} in the kernel log"));
        grown.chain(logged).chain(messages).collect()
    }

    /// The composite temperature of a drive that a test of some length did not move, degrees Celsius.
    pub(crate) fn unmoved_celsius(&self, machine: &Machine, name: &DriveName) -> Option<i32> {
        let seen = self.seen.as_ref().filter(|seen| seen.elapsed.as_secs_f64() >= MOVES_WITHIN)?;
        let is_read = seen.disks.get(name).is_some_and(|disk| disk.read_bytes >= 1e8);
        let (before, now) = self.health.get(name).zip(smart(machine, name))?;
        (is_read && before.celsius == now.celsius && now.celsius >= HOT).then_some(now.celsius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counters::{DiskRates, Rates},
        findings::validity::OwnReads,
        model::{Target, Workload, run::testing},
        source::{self, capture::TextRoot},
    };

    const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");

    fn machine(text: &str) -> Machine {
        source::read_machine(&TextRoot::parse(text).unwrap()).0
    }

    fn workload(drive: &str) -> Workload {
        let drive = DriveName::new(drive);
        let target = Target { path: drive.device_file().into(), drive: Some(drive) };
        Workload { targets: vec![target], ..Workload::default() }
    }

    /// Doubts about a test of this drive that begins on one machine and ends on the other.
    fn doubts(drive: &str, before: &Machine, after: &Machine) -> Vec<String> {
        let mut run = testing::run(&[drive], 1_000_000_000, workload(drive));
        RunMonitor::begin(before, &workload(drive)).judge(after, &mut run);
        run.targets.remove(0).invalid_because
    }

    #[test]
    fn a_test_of_any_layer_during_a_resync_is_not_valid() {
        let syncing = machine(STACK);
        let idle = machine(&STACK.replace("sync_action recover", "sync_action idle"));
        for drive in ["nvme0n1", "nvme2n1", "md0", "dm-0"] {
            let doubt = ["the array was synchronised meanwhile (md0: recover)"];
            assert_eq!(doubts(drive, &syncing, &syncing), doubt, "{drive}");
            assert_eq!(doubts(drive, &syncing, &idle), doubt, "{drive}: it began during a resync");
            assert!(doubts(drive, &idle, &idle).is_empty(), "{drive}");
        }
        let over_files = machine(&STACK.replace("link /sys/block/nvme", "link /sys/block/gone"));
        assert_eq!(doubts("md0", &over_files, &over_files).len(), 1, "whatever it is made of");
        assert!(doubts("nvme3n1", &syncing, &syncing).is_empty(), "no member");
    }

    #[test]
    fn only_a_hot_sensor_that_a_long_test_does_not_move_is_stuck() {
        let machine = source::testing::demo("x570");
        let name = DriveName::new("nvme0n1");
        let at = |celsius: i32| {
            let mut machine = machine.clone();
            let drive = machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
            let nvme = drive.nvme.as_mut().unwrap();
            nvme.smart = nvme.smart.clone().map(|smart| Smart { celsius, ..smart });
            machine
        };
        let unmoved = |before: i32, after: i32, seconds: u64| {
            let mut watch = RunMonitor::begin(&at(before), &workload("nvme0n1"));
            let disk = DiskRates { read_bytes: 1e9, ..DiskRates::default() };
            let rates = Rates {
                elapsed: Duration::from_secs(seconds),
                disks: [(name.clone(), disk)].into(),
                ..Rates::default()
            };
            watch.take(&rates, &OwnReads::default());
            watch.unmoved_celsius(&at(after), &name)
        };
        assert_eq!(unmoved(84, 84, 30), Some(84));
        assert_eq!(unmoved(84, 84, 5), None, "too short");
        assert_eq!(unmoved(83, 84, 30), None);
        assert_eq!(unmoved(40, 40, 30), None, "a cool drive may stay cool");
    }
}
