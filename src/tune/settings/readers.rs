//! How a row of the table finds its values on a device: one reading for each file it stands for.

use super::Value;
use crate::{
    machine::{Drive, Machine, NodeKind, PciNode},
    model::{NodeIndex, Reading},
    text::Label,
    tune::Device,
};

pub(super) fn nothing(_: &Machine, _: &Device) -> Vec<Reading<Value>> {
    Vec::new()
}

pub(super) fn plain(reading: &Reading<u64>) -> Reading<Value> {
    reading.clone().map(|number| Value::of(&number.to_string()))
}

pub(super) fn drive_of<'a>(machine: &'a Machine, device: &Device) -> Option<&'a Drive> {
    match device {
        Device::Drive(name) => machine.drive(name),
        _ => None,
    }
}

pub(super) fn queue(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&Drive) -> Reading<Value>,
) -> Vec<Reading<Value>> {
    drive_of(machine, device).map(pick).into_iter().collect()
}

pub(super) fn nvme(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&Drive) -> Option<Reading<Value>>,
) -> Vec<Reading<Value>> {
    drive_of(machine, device).filter(|drive| drive.nvme.is_some()).and_then(pick).into_iter().collect()
}

pub(super) fn node_of(machine: &Machine, device: &Device) -> Option<NodeIndex> {
    match device {
        Device::Drive(name) => machine.drive(name)?.node,
        Device::Pci(address) => machine.pci.find(*address),
        Device::Cpu => None,
    }
}

pub(super) fn function(
    machine: &Machine,
    device: &Device,
    pick: impl Fn(&PciNode) -> Option<Reading<Value>>,
) -> Vec<Reading<Value>> {
    node_of(machine, device).and_then(|index| pick(machine.pci.node(index))).into_iter().collect()
}

pub(super) fn port_cooling(machine: &Machine, device: &Device) -> Vec<Reading<Value>> {
    let port = node_of(machine, device).and_then(|index| {
        machine
            .pci
            .ancestry(index)
            .map(|at| machine.pci.node(at))
            .find(|node| matches!(node.kind, NodeKind::RootPort | NodeKind::SwitchDownstream))
    });
    let Some((port, folder)) = port.and_then(|node| Some((node, node.cooling_path.as_ref()?))) else {
        return Vec::new();
    };
    let now = port.cooling.get().map(|(state, most)| Value {
        text: Label::new(&state.to_string()),
        choices: (0..=most.min(8)).map(|step| Label::new(&step.to_string())).collect(),
    });
    let path = format!("{folder}/cur_state");
    vec![now.map_or_else(
        || Reading::absent(path.as_str(), "no cooling state"),
        |value| Reading::known(path.as_str(), value),
    )]
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
