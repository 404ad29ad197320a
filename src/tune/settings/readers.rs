//! Readers of the table's rows: one reading per file of a setting on a device.

use super::{Risk, SETTINGS, Setting, Value};
use crate::{
    machine::{Drive, Machine, NodeKind, PciNode},
    model::{NodeIndex, Reading, SettingId},
    text::Label,
    tune::Device,
};

/// Every setting of every device of a machine, device by device.
pub fn readings(machine: &Machine) -> impl Iterator<Item = Reading<Value>> {
    let of = move |device: Device| SETTINGS.iter().flat_map(move |row| (row.read)(machine, &device));
    Device::all(machine).into_iter().flat_map(of)
}

/// Live settings with another value in the later of two readings of a machine: setting, device, that value.
pub fn differing(before: &Machine, now: &Machine) -> Vec<(SettingId, String, Label)> {
    let value = |machine: &Machine, device: &Device, row: &Setting| {
        (row.read)(machine, device).iter().find_map(Reading::value).map(|value| value.text.clone())
    };
    let mut all = Vec::new();
    for device in Device::all(now) {
        for row in SETTINGS.iter().filter(|row| row.risk == Risk::Live) {
            let (old, new) = (value(before, &device, row), value(now, &device, row));
            if let Some((_, new)) = old.zip(new).filter(|(old, new)| old != new) {
                all.push((row.id, device.to_string(), new));
            }
        }
    }
    all
}

pub(super) fn nothing(_: &Machine, _: &Device) -> Vec<Reading<Value>> {
    Vec::new()
}

pub(super) fn plain<T: ToString + Clone>(reading: &Reading<T>) -> Reading<Value> {
    reading.clone().map(|value| Value::of(&value.to_string()))
}

/// The block devices of a drive: the drive, and the paths to it.
fn devices_of<'a>(machine: &'a Machine, device: &Device) -> Vec<&'a Drive> {
    match device {
        Device::Drive(name) => machine
            .drive(name)
            .map(|drive| [drive].into_iter().chain(machine.paths_of(drive)).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Of a drive and its paths, those that have the setting; the first if none has it.
fn of_all(readings: Vec<Reading<Value>>) -> Vec<Reading<Value>> {
    if readings.iter().any(Reading::is_known) {
        readings.into_iter().filter(Reading::is_known).collect()
    } else {
        readings.into_iter().take(1).collect()
    }
}

pub(super) fn queue(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&Drive) -> Reading<Value>,
) -> Vec<Reading<Value>> {
    of_all(devices_of(machine, device).into_iter().map(pick).collect())
}

/// A setting of the controller, or of each controller that leads to the drive.
pub(super) fn nvme(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&Drive) -> Option<Reading<Value>>,
) -> Vec<Reading<Value>> {
    let devices = devices_of(machine, device).into_iter().filter(|drive| drive.nvme.is_some());
    let mut readings: Vec<Reading<Value>> = devices.filter_map(pick).collect();
    let mut paths = std::collections::BTreeSet::new();
    // A drive shares its first path's controller, and all drives share a parameter of the driver.
    readings.retain(|reading| paths.insert(reading.path()));
    of_all(readings)
}

fn nodes_of(machine: &Machine, device: &Device) -> Vec<NodeIndex> {
    match device {
        Device::Drive(name) => {
            machine.drive(name).map(|drive| machine.functions_of(drive)).unwrap_or_default()
        }
        Device::Pci(address) => machine.pci.find(*address).into_iter().collect(),
        Device::Cpu => Vec::new(),
    }
}

pub(super) fn function(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&PciNode) -> Option<Reading<Value>>,
) -> Vec<Reading<Value>> {
    nodes_of(machine, device).into_iter().filter_map(|index| pick(machine.pci.node(index))).collect()
}

pub(super) fn port_cooling(machine: &Machine, device: &Device) -> Vec<Reading<Value>> {
    nodes_of(machine, device).into_iter().filter_map(|index| cooling_above(machine, index)).collect()
}

fn cooling_above(machine: &Machine, index: NodeIndex) -> Option<Reading<Value>> {
    let mut above = machine.pci.ancestry(index).map(|at| machine.pci.node(at));
    let port = above.find(|node| matches!(node.kind, NodeKind::RootPort | NodeKind::SwitchDownstream))?;
    let folder = port.cooling_path.as_ref()?;
    let now = port.cooling.get().map(|(state, most)| Value {
        text: Label::new(&state.to_string()),
        choices: (0..=most.min(8)).map(|step| Label::new(&step.to_string())).collect(),
    });
    let path = format!("{folder}/cur_state");
    Some(now.map_or_else(
        || Reading::absent(path.as_str(), "no cooling state"),
        |value| Reading::known(path.as_str(), value),
    ))
}

pub(super) fn processors(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&crate::machine::Cpu) -> (&Reading<Label>, &Reading<Vec<Label>>),
) -> Vec<Reading<Value>> {
    if *device != Device::Cpu {
        return Vec::new();
    }
    let value = |cpu| {
        let (now, choices) = pick(cpu);
        now.clone().map(|text| Value { text, choices: choices.value().cloned().unwrap_or_default() })
    };
    machine.processors.cpus.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn settings_of_newer_kernels_are_there_where_their_file_is() {
        const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");
        let device = crate::tune::Device::Drive(crate::model::DriveName::new("nvme1n1"));
        for (id, value) in [("iostats_passthrough", "1"), ("async_depth", "48")] {
            let reading = |text: &str| {
                let root = crate::source::capture::TextRoot::parse(text).unwrap();
                (super::super::find(id).unwrap().read)(&crate::source::read_machine(&root).0, &device)
                    .remove(0)
            };
            let without = reading(STACK);
            let why = without.problem().unwrap().reason;
            assert_eq!((without.value(), &*why), (None, &*format!("this kernel has no queue/{id}")));
            let path = "/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme1/nvme1n1/queue";
            let with = format!("{STACK}dir {path}\n  {id}\nfile {path}/{id} {value}\n");
            assert_eq!(
                reading(&with).value().map(|now| now.text.to_string()),
                Some(value.to_owned()),
                "{id}"
            );
        }
    }
}
