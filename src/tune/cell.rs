//! [`Cell`]: one setting of one device, for a list or a matrix.

use std::collections::HashMap;

use super::{
    device::Device,
    settings::{READ_AHEAD, Range, SCHEDULER, Setting, Value},
};
use crate::{
    machine::{Machine, SettingRule},
    model::{Problem, Reading, SettingId},
    text::Label,
};

/// A setting on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The current value; with a file per CPU that of the first, or [`DIFFER`].
    pub value: Option<Label>,
    /// Why there is no value.
    pub problem: Option<Problem>,
    /// Values it takes, where that is a short list, else usual ones.
    pub choices: Vec<String>,
    /// The value before iodyno's first change since boot, if it is changed.
    pub found: Option<String>,
    /// The kernel's default, where it is known.
    pub default: Option<String>,
    /// The rule that sets it at boot, with file, line and value.
    pub set_by: Option<String>,
    /// Its files; in an opened text the lines that state it.
    pub files: Vec<String>,
}

/// The value of several files with different values.
pub const DIFFER: &str = "differ";

impl Cell {
    /// The setting on the device, with the first values of changed files; `None` where the device has no such thing.
    pub fn of(
        machine: &Machine,
        first_values: &HashMap<&str, &str>,
        device: &Device,
        row: &Setting,
    ) -> Option<Self> {
        let readings = (row.read)(machine, device);
        let values: Vec<&Value> = readings.iter().filter_map(Reading::value).collect();
        let same = values.windows(2).all(|pair| pair[0].text == pair[1].text);
        let value = values.first().map(|first| if same { first.text.clone() } else { Label::new(DIFFER) });
        let first = readings.first()?;
        let place = |path: &str| match &machine.pasted {
            Some(pasted) => pasted.stated_at(path),
            None => Some(path.to_owned()),
        };
        Some(Self {
            problem: if value.is_none() { first.problem() } else { None },
            choices: choices(row, values.first().copied()),
            found: readings
                .iter()
                .find_map(|reading| first_values.get(&*reading.path()))
                .map(|found| Label::new(found).to_string()),
            default: default_of(machine, device, row),
            set_by: set_by(machine, device, row),
            files: readings.iter().filter_map(|reading| place(&reading.path())).collect(),
            value,
        })
    }

    /// Whether iodyno changed it.
    pub fn is_changed(&self) -> bool {
        self.found.as_deref().is_some_and(|found| self.value.as_ref().is_none_or(|value| *value != found))
    }

    /// Whether it differs from the kernel's default, where that is known.
    pub fn is_unusual(&self) -> bool {
        self.default
            .as_ref()
            .zip(self.value.as_ref())
            .is_some_and(|(default, value)| *value != default.as_str())
    }
}

/// The default: the table's, or one that depends on the drive.
fn default_of(machine: &Machine, device: &Device, row: &Setting) -> Option<String> {
    let fixed = row.default.map(str::to_owned);
    let Device::Drive(name) = device else { return fixed };
    let drive = machine.drive(name)?;
    match row.id {
        SCHEDULER => machine.default_scheduler(drive).map(str::to_owned),
        // Twice the optimal request where a drive names one (block/blk-settings.c).
        READ_AHEAD => {
            let twice = drive.queue.optimal_io_size.get().unwrap_or(0) / 1024 * 2;
            Some(twice.max(fixed?.parse().ok()?).to_string())
        }
        // Rotating disks contribute entropy by default.
        SettingId("add_random") if drive.queue.rotational.get() != Some(false) => None,
        _ => fixed,
    }
}

/// The rule that sets it at boot: the last matching one with an effect, else the last without.
fn set_by(machine: &Machine, device: &Device, row: &Setting) -> Option<String> {
    let fits = |rule: &&SettingRule| {
        rule.setting == row.id.0
            && match device {
                Device::Drive(name) => machine.drive(name).is_some_and(|drive| rule.applies_to(drive)),
                Device::Pci(_) => rule.names.is_none(),
                Device::Cpu => true,
            }
    };
    let (with, without): (Vec<_>, Vec<_>) =
        machine.rules.iter().filter(fits).partition(|rule| rule.without_effect.is_none());
    with.last().or(without.last()).map(ToString::to_string)
}

fn choices(row: &Setting, now: Option<&Value>) -> Vec<String> {
    match (row.range, now) {
        (_, Some(now)) if !now.choices.is_empty() => now.choices.iter().map(ToString::to_string).collect(),
        (Range::Words(words), _) => words.iter().map(|word| (*word).to_owned()).collect(),
        (Range::Number(least, most), _) if most.saturating_sub(least) < 8 => {
            (least..=most).map(|number| number.to_string()).collect()
        }
        _ => row.usual.iter().map(|value| (*value).to_owned()).collect(),
    }
}
