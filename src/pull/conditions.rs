//! [`Condition`]: temperature, link and thermal counters of a drive before, during and after a pull.

use std::time::Duration;

use crate::{
    machine::{Machine, Smart, hop},
    model::{DriveName, Target},
    units::{Lanes, TransferRate, counted},
};

/// A temperature belongs to a moment this close to it.
const NEAR: Duration = Duration::from_secs(12);
/// Temperatures kept of each drive; beyond that every second one goes.
const MOST: usize = 512;

/// A drive at one moment; what could not be read is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct State {
    /// Degrees Celsius.
    pub celsius: Option<f64>,
    /// Speed and width of the drive's own link.
    pub link: Option<(TransferRate, Lanes)>,
    /// Counters of the SMART log.
    pub thermal: Option<Thermal>,
}

/// Thermal counters of the SMART / Health Information log (NVM Express Base Specification 5.1.12.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thermal {
    /// Thermal Management Temperature 1 Transition Count: light throttling.
    pub light: u32,
    /// Thermal Management Temperature 2 Transition Count: heavy throttling.
    pub heavy: u32,
    /// Minutes above the warning temperature.
    pub warning_minutes: u32,
    /// Minutes above the critical temperature.
    pub critical_minutes: u32,
}

/// A drive over the time of a pull.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The drive.
    pub name: DriveName,
    /// Before the first run.
    pub before: State,
    /// The last time it was read since; `None` of simulated drives, which have no temperature.
    pub after: Option<State>,
    /// Highest temperature of all readings.
    pub highest: Option<f64>,
    /// Run of the series, time in it, degrees Celsius.
    seen: Vec<(usize, Duration, f64)>,
}

impl State {
    fn of(machine: &Machine, name: &DriveName) -> Self {
        let Some(drive) = machine.drive(name) else { return Self::default() };
        let smart = drive.nvme.as_ref().and_then(|nvme| nvme.smart.value());
        let sensor = drive.temperature.as_ref().and_then(|temperature| temperature.now.get());
        let link = drive.node.and_then(|node| machine.pci.node(node).link.as_ref());
        Self {
            celsius: sensor.or_else(|| smart.map(|smart| f64::from(smart.celsius))),
            link: link.and_then(|link| link.speed.get().zip(link.width.get())),
            thermal: smart.map(Thermal::of),
        }
    }
}

impl Thermal {
    const fn of(smart: &Smart) -> Self {
        Self {
            light: smart.thermal_transitions.0,
            heavy: smart.thermal_transitions.1,
            warning_minutes: smart.warning_minutes,
            critical_minutes: smart.critical_minutes,
        }
    }

    const fn since(self, before: Self) -> Self {
        Self {
            light: self.light.saturating_sub(before.light),
            heavy: self.heavy.saturating_sub(before.heavy),
            warning_minutes: self.warning_minutes.saturating_sub(before.warning_minutes),
            critical_minutes: self.critical_minutes.saturating_sub(before.critical_minutes),
        }
    }
}

impl Condition {
    /// Of a target with a drive, on a machine that was just read.
    pub(super) fn before(machine: &Machine, target: &Target) -> Option<Self> {
        let name = target.drive.clone()?;
        let before = State::of(machine, &name);
        Some(Self { name, before, after: None, highest: before.celsius, seen: Vec::new() })
    }

    /// Takes a later reading of the machine: `at` is the time that the run `step` of the series has read.
    pub(super) fn see(&mut self, machine: &Machine, step: usize, at: Duration) {
        let now = State::of(machine, &self.name);
        self.after = Some(now);
        self.feel(now.celsius, step, at);
    }

    /// Takes a temperature.
    pub(super) fn feel(&mut self, celsius: Option<f64>, step: usize, at: Duration) {
        let Some(celsius) = celsius else { return };
        self.highest = self.highest.into_iter().chain([celsius]).reduce(f64::max);
        self.seen.push((step, at, celsius));
        if self.seen.len() > MOST {
            let mut is_kept = false;
            self.seen.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// The temperature closest to a moment of a run; `None` where it was not read near to it.
    pub fn celsius_at(&self, step: usize, at: Duration) -> Option<f64> {
        let in_run = self.seen.iter().filter(|(of, ..)| *of == step);
        let (_, then, celsius) = in_run.min_by_key(|(_, then, _)| then.abs_diff(at))?;
        // Of a run of hours fewer readings are kept.
        (then.abs_diff(at) <= NEAR.max(at / 20)).then_some(*celsius)
    }

    /// Temperatures of a run with the time in it.
    pub fn temperatures(&self, step: usize) -> impl Iterator<Item = (Duration, f64)> + '_ {
        self.seen.iter().filter(move |(of, ..)| *of == step).map(|(_, at, celsius)| (*at, *celsius))
    }

    /// The newest temperature.
    pub fn celsius(&self) -> Option<f64> {
        self.seen.last().map(|(_, _, celsius)| *celsius).or(self.before.celsius)
    }

    /// The link as it was read last.
    pub fn link(&self) -> Option<(TransferRate, Lanes)> {
        self.after.and_then(|after| after.link).or(self.before.link)
    }

    /// What the thermal counters counted since the pull began; `None` where there are none.
    pub fn throttled(&self) -> Option<Thermal> {
        Some(self.after?.thermal?.since(self.before.thermal?))
    }

    /// `throttled lightly 3 times`, by its counters; `None` if it was not.
    pub(super) fn throttled_words(&self) -> Option<String> {
        let Thermal { light, heavy, warning_minutes, critical_minutes } = self.throttled()?;
        let parts = [
            (light, "throttled lightly", "time"),
            (heavy, "throttled heavily", "time"),
            (warning_minutes, "above its warning temperature for", "minute"),
            (critical_minutes, "above its critical temperature for", "minute"),
        ];
        let words: Vec<String> = parts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, unit)| format!("{what} {}", counted(count as usize, unit)))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// `The link of nvme0n1 changed from Gen4 x4 to Gen3 x4 during the pull.`; `None` if it stayed.
    pub fn link_words(&self) -> Option<String> {
        let (before, after) = (self.before.link?, self.after?.link?);
        let (name, then, now) = (&self.name, hop::short(before), hop::short(after));
        (before != after).then(|| format!("The link of {name} changed from {then} to {now} during the pull."))
    }

    /// `before 41 °C, highest 82 °C, after 79 °C`; `None` where no temperature is known.
    pub fn temperature_words(&self) -> Option<String> {
        let words = |celsius: f64| format!("{celsius:.0} °C");
        let before = self.before.celsius.map(words)?;
        let Some(after) = self.after.and_then(|after| after.celsius) else { return Some(before) };
        let highest = self.highest.map(words)?;
        Some(format!("before {before}, highest {highest}, after {}", words(after)))
    }
}
