//! The sheet's title, the machine in three lines, kernel and versions.

use std::collections::BTreeMap;

use super::{Block, Choice, Dossier, Span, boxed};
use crate::{
    machine::{Drive, Machine},
    report::{dossier::Mode, json::VERSION, known},
    units::{UnitSystem, counted},
};

/// `10 drives on AMD Ryzen Threadripper PRO 3955WX`.
pub(super) fn title(dossier: &Dossier) -> String {
    let machine = &dossier.machine;
    let drives = counted(machine.drive_count(), "drive");
    match machine.processors.model.value() {
        Some(model) => format!("{drives} on {model}"),
        None => drives,
    }
}

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let machine = &dossier.machine;
    let lines =
        [("CPU     ", processors(machine)), ("board   ", board(machine)), ("drives  ", drives(machine))];
    let lines = lines.iter().flat_map(|(lead, words)| boxed(lead, words));
    vec![Block::Box(lines.collect())]
}

pub(super) fn versions(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let host = &dossier.machine.host;
    let mut lines = Vec::new();
    let mut line = |lead: &str, words: Option<String>| {
        lines.extend(words.into_iter().flat_map(|words| boxed(&format!("{lead:<12}"), &words)));
    };
    let kernel = host.kernel.value().map(|kernel| format!("Linux {kernel}"));
    line("kernel", joined([kernel, known(&host.distribution)], ", "));
    line("arguments", known(&host.command_line));
    line("io_uring", host.io_uring.value().map(|ring| format!("flags {}", ring.flags.join(" "))));
    line("made with", Some(made_with(dossier)));
    let left_out = "Serials, host and user names, mount paths and network addresses are omitted or replaced.";
    let mut blocks = vec![Block::Heading("Kernel and versions".to_owned()), Block::Box(lines)];
    if dossier.is_redacted() {
        blocks.push(Block::Text(vec![Span::Plain(left_out.to_owned())]));
    }
    blocks
}

fn made_with(dossier: &Dossier) -> String {
    let from = match &dossier.mode {
        Mode::Live => String::new(),
        Mode::Demo(name) => format!(", demo {name}"),
        Mode::Capture if dossier.machine.pasted.is_some() => {
            let kind = dossier.machine.pasted.as_ref().map_or_else(String::new, |pasted| pasted.kind());
            format!(", from a text of {kind}")
        }
        Mode::Capture => ", from a capture".to_owned(),
        Mode::Folder => ", from --sysroot".to_owned(),
    };
    format!("iodyno {VERSION}{from}")
}

/// Model, threads, governor.
fn processors(machine: &Machine) -> String {
    let processors = &machine.processors;
    let governor = processors.cpus.first().and_then(|cpu| cpu.governor.value());
    let nodes = processors.numa.len();
    let parts = [
        known(&processors.model),
        (processors.count() > 0).then(|| counted(processors.count(), "thread")),
        (nodes > 1).then(|| counted(nodes, "NUMA node")),
        governor.map(|governor| format!("governor {governor}")),
    ];
    joined(parts, ", ").unwrap_or_else(|| "unknown".to_owned())
}

/// `252 GiB of memory, 8 modules at 3200 MT/s`: a little less than the sum of the modules.
fn memory(machine: &Machine) -> Option<String> {
    let size = machine.host.memory.get()?;
    let modules = machine.host.modules.value().map(|all| all.iter().filter(|module| module.size.is_some()));
    let size = UnitSystem::Binary.size(size);
    let Some(modules) = modules else { return Some(format!("{size} of memory")) };
    let speeds: Vec<Option<u32>> = modules.map(|module| module.configured_mts).collect();
    let speed = match speeds.first() {
        Some(Some(first)) if speeds.iter().all(|speed| *speed == Some(*first)) => format!(" at {first} MT/s"),
        _ => String::new(),
    };
    Some(format!("{size} of memory, {}{speed}", counted(speeds.len(), "module")))
}

/// Board, BIOS, memory.
fn board(machine: &Machine) -> String {
    let host = &machine.host;
    let product = known(&host.product)
        .filter(|product| known(&host.board).is_none_or(|board| !board.contains(product)));
    let bios = known(&host.bios).map(|bios| format!("BIOS {bios}"));
    joined([known(&host.board), product, bios, memory(machine)], ", ").unwrap_or_else(|| "unknown".to_owned())
}

/// `8 x Samsung SSD 980 PRO 1TB, 2 x ... 500GB; 512 B blocks; scheduler none`.
fn drives(machine: &Machine) -> String {
    let mut models: Vec<(String, usize)> = Vec::new();
    for drive in machine.hardware_drives() {
        let model = model(machine, drive);
        match models.iter_mut().find(|(known, _)| *known == model) {
            Some((_, count)) => *count += 1,
            None => models.push((model, 1)),
        }
    }
    let models = models.into_iter().map(|(model, count)| format!("{count} x {model}")).collect::<Vec<_>>();
    let blocks = values(machine, |drive| drive.lba_bytes().map(|bytes| format!("{bytes} B")));
    let schedulers =
        values(machine, |drive| drive.queue.scheduler.value().map(|choice| choice.current.to_string()));
    let parts = [
        Some(models.join(", ")).filter(|models| !models.is_empty()),
        blocks.map(|blocks| format!("LBA {blocks}")),
        schedulers.map(|schedulers| format!("scheduler {schedulers}")),
    ];
    joined(parts, "; ").unwrap_or_else(|| "none".to_owned())
}

/// A drive's model with its firmware; its kind where it has none.
fn model(machine: &Machine, drive: &Drive) -> String {
    let model = known(&drive.model).filter(|model| !model.is_empty());
    let model = model.or_else(|| machine.model_by_function(drive).map(str::to_owned));
    let model = model.unwrap_or_else(|| format!("{} drive", drive.kind.name()));
    match known(&drive.firmware).filter(|firmware| !firmware.is_empty()) {
        Some(firmware) => format!("{model} ({firmware})"),
        None => model,
    }
}

/// The value of all drives, or each value with its number of drives: `512 B on 3, 4096 B on 1`.
fn values(machine: &Machine, of: impl Fn(&Drive) -> Option<String>) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in machine.hardware_drives().filter_map(of) {
        *counts.entry(value).or_default() += 1;
    }
    match counts.len() {
        0 => None,
        1 => counts.into_keys().next(),
        _ => {
            let each: Vec<String> =
                counts.iter().map(|(value, count)| format!("{value} on {count}")).collect();
            Some(each.join(", "))
        }
    }
}

fn joined<const N: usize>(parts: [Option<String>; N], with: &str) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(with))
}
