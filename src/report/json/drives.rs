//! The document of `iodyno drives --json`.

use serde::Serialize;

use super::{
    Reasons,
    layers::{self, LayerRow, StackRow},
};
use crate::{
    machine::{Drive, LbaFormat, Machine, Queue},
    model::{DriveName, Problem, Reading},
    report::pasted::SourceRow,
};

/// `iodyno drives --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrivesDocument {
    /// Hardware in bus order, then software by name.
    pub drives: Vec<DriveRow>,
    /// The opened text, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRow>,
    /// Reasons of values that are `null`.
    pub problems: Vec<Problem>,
}

/// One whole block device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveRow {
    /// Kernel name: `nvme0n1`.
    pub name: DriveName,
    /// Device file: `/dev/nvme0n1`.
    pub path: String,
    /// Its folder in sysfs: `/sys/devices/...`; none in an opened text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sysfs_path: Option<String>,
    /// `NVMe`, `SATA`, `virtio`, `loop`...
    pub kind: &'static str,
    /// Its PCI function.
    pub address: Option<String>,
    /// The board's name of its slot.
    pub slot: Option<String>,
    /// The paths to it, for native NVMe multipath.
    pub paths: Vec<PathRow>,
    /// Model.
    pub model: Option<String>,
    /// The model in the name of its function, where a text has no other.
    #[serde(skip)]
    pub model_by_function: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Bytes.
    pub size_bytes: Option<u64>,
    /// The size as an opened text has it, where it is rounded to fewer digits than iodyno shows: `3.6 TiB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_text: Option<String>,
    /// Bytes of a logical block in use.
    pub lba_bytes: Option<u64>,
    /// Data bytes of a block in a format that the drive rates better.
    #[serde(skip)]
    pub better_lba_bytes: Option<u64>,
    /// All formats of an NVMe namespace; none for other drives.
    pub lba_formats: Option<Vec<FormatRow>>,
    /// Whether the controller takes Format NVM; `false` for other drives.
    pub format_supported: Option<bool>,
    /// Interrupt-driven hardware queues.
    pub default_queues: Option<u32>,
    /// Polled hardware queues.
    pub poll_queues: Option<u32>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Degrees Celsius now.
    pub temperature_celsius: Option<f64>,
    /// Its users and those of its partitions.
    pub in_use_by: Vec<String>,
    /// Sources of further users that could not be read.
    pub in_use_unread: Vec<Problem>,
    /// A listing of the text has its mount points, and no user.
    #[serde(skip)]
    pub is_unused_in_text: bool,
    /// Of an array, a volume or another software device: its kind and what it is made of; `null` for hardware.
    pub layer: Option<LayerRow>,
    /// Devices and file systems that lie on it, from the drive up.
    pub stack: Vec<StackRow>,
    /// Current queue settings.
    pub settings: SettingsRow,
}

/// One path to a drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathRow {
    /// Kernel name: `nvme0c1n1`.
    pub name: DriveName,
    /// The controller it leads through: `nvme1`.
    pub controller: Option<String>,
    /// Its PCI function.
    pub address: Option<String>,
    /// Queue settings of the path, which are not those of the drive.
    pub settings: SettingsRow,
}

/// One LBA format of an NVMe namespace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FormatRow {
    /// Value for `nvme format --lbaf`.
    pub index: u8,
    /// Data bytes of a block.
    pub data_bytes: Option<u64>,
    /// Metadata bytes of a block.
    pub metadata_bytes: u16,
    /// 0 best, 1 better, 2 good, 3 degraded.
    pub relative_performance: u8,
    /// Whether the namespace has this format; `null` if an opened text does not say which one it has.
    pub in_use: Option<bool>,
}

/// Settings of `/sys/block/D/queue`, named as there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingsRow {
    pub scheduler: Option<String>,
    pub read_ahead_kb: Option<u64>,
    pub nr_requests: Option<u64>,
    pub max_sectors_kb: Option<u64>,
    pub nomerges: Option<u64>,
    pub rq_affinity: Option<u64>,
    pub wbt_lat_usec: Option<i64>,
    pub iostats: Option<u64>,
    pub add_random: Option<u64>,
    pub io_poll: Option<u64>,
    pub write_cache: Option<String>,
    pub rotational: Option<bool>,
}

impl DrivesDocument {
    /// The document of `machine`'s drives; `problems` are those of its readers.
    pub fn new(machine: &Machine, problems: &[Problem]) -> Self {
        let mut reasons = Reasons::new(machine);
        let drives = machine.drives.iter().map(|drive| row(drive, machine, &mut reasons)).collect();
        let source = machine.pasted.as_deref().map(SourceRow::new);
        Self { drives, source, problems: reasons.into_problems(problems) }
    }
}

fn row(drive: &Drive, machine: &Machine, reasons: &mut Reasons) -> DriveRow {
    let address = drive.node.map(|index| machine.pci.node(index).address.to_string());
    let not_attached = match machine.pasted {
        Some(_) => "the text does not say which PCI function it is attached to",
        None => "not attached to a PCI function",
    };
    let queues = &drive.queue.hardware_queues;
    DriveRow {
        name: drive.name.clone(),
        path: drive.name.device_file(),
        sysfs_path: machine.pasted.is_none().then(|| drive.path.to_string()),
        kind: drive.kind.name(),
        address: reasons.or_absent(address, &drive.path, not_attached),
        slot: slot(drive, machine, reasons),
        paths: machine.paths_of(drive).map(|path| path_row(path, machine, reasons)).collect(),
        model: reasons.turn(&drive.model, ToString::to_string),
        model_by_function: machine.model_by_function(drive).map(str::to_owned),
        serial: reasons.turn(&drive.serial, ToString::to_string),
        firmware: reasons.turn(&drive.firmware, ToString::to_string),
        size_bytes: reasons.turn(&drive.size, |size| size.0),
        size_text: machine.size_in_text(drive).map(str::to_owned),
        lba_bytes: reasons.take(&drive.queue.logical_block_size),
        better_lba_bytes: drive.better_format().and_then(|(now, better)| {
            better.data_bytes.filter(|_| better.relative_performance < now.relative_performance)
        }),
        lba_formats: formats(drive, reasons),
        format_supported: match &drive.nvme {
            Some(nvme) => reasons.turn(&nvme.identity, |controller| controller.format_supported),
            None => Some(false),
        },
        default_queues: reasons.turn(queues, |queues| queues.default),
        poll_queues: reasons.turn(queues, |queues| queues.poll),
        numa_node: reasons.flatten(&drive.numa_node, "-1: the firmware reports no NUMA node"),
        temperature_celsius: temperature(drive, reasons),
        in_use_by: drive.used_by.iter().map(ToString::to_string).collect(),
        in_use_unread: drive.users_unread.iter().map(|problem| reasons.note(problem.clone())).collect(),
        is_unused_in_text: machine.is_unused_in_text(drive),
        layer: machine.layer(drive.name.as_str()).map(|layer| LayerRow::new(layer, reasons)),
        stack: layers::stack(machine, drive),
        settings: settings(&drive.queue, reasons),
    }
}

/// The slot of the drive's function, or of the card that holds it.
fn slot(drive: &Drive, machine: &Machine, reasons: &mut Reasons) -> Option<String> {
    let name = drive.node.and_then(|node| machine.pci.slot_of(node)).map(ToString::to_string);
    if name.is_none() {
        reasons.note_of(&machine.host.slots);
    }
    name
}

fn path_row(path: &Drive, machine: &Machine, reasons: &mut Reasons) -> PathRow {
    PathRow {
        name: path.name.clone(),
        controller: path.nvme.as_ref().map(|nvme| nvme.controller.to_string()),
        address: path.node.map(|index| machine.pci.node(index).address.to_string()),
        settings: settings(&path.queue, reasons),
    }
}

fn formats(drive: &Drive, reasons: &mut Reasons) -> Option<Vec<FormatRow>> {
    let Some(nvme) = &drive.nvme else { return Some(Vec::new()) };
    let namespace = reasons.take(&nvme.namespace)?;
    let path = nvme.namespace.path();
    let row = |format: &LbaFormat| FormatRow {
        index: format.index,
        data_bytes: reasons.or_absent(
            format.data_bytes,
            &path,
            format_args!("LBA format {} has data size 0: not available", format.index),
        ),
        metadata_bytes: format.metadata_bytes,
        relative_performance: format.relative_performance,
        in_use: reasons.or_absent(
            namespace.in_use.map(|in_use| format.index == in_use),
            &path,
            "the text does not say which LBA format is in use",
        ),
    };
    Some(namespace.formats.iter().map(row).collect())
}

/// By the sensor, or without one by the SMART log.
fn temperature(drive: &Drive, reasons: &mut Reasons) -> Option<f64> {
    let sensor = drive.temperature.as_ref().map(|temperature| &temperature.now);
    let smart = drive.nvme.as_ref().map(|nvme| &nvme.smart);
    let by_smart = || smart?.value().map(|smart| f64::from(smart.celsius));
    let known = sensor.and_then(Reading::get).or_else(by_smart);
    if known.is_none() && sensor.is_none() && smart.is_none() {
        return reasons.absent(drive.path.clone(), "it has no temperature sensor");
    }
    if known.is_none() {
        if let Some(sensor) = sensor {
            reasons.note_of(sensor);
        }
        if let Some(smart) = smart {
            reasons.note_of(smart);
        }
    }
    known
}

fn settings(queue: &Queue, reasons: &mut Reasons) -> SettingsRow {
    SettingsRow {
        scheduler: reasons.turn(&queue.scheduler, |choice| choice.current.to_string()),
        read_ahead_kb: reasons.take(&queue.read_ahead_kb),
        nr_requests: reasons.take(&queue.nr_requests),
        max_sectors_kb: reasons.take(&queue.max_sectors_kb),
        nomerges: reasons.take(&queue.nomerges),
        rq_affinity: reasons.take(&queue.rq_affinity),
        wbt_lat_usec: reasons.take(&queue.wbt_lat_usec),
        iostats: reasons.take(&queue.iostats),
        add_random: reasons.take(&queue.add_random),
        io_poll: reasons.take(&queue.io_poll),
        write_cache: reasons.turn(&queue.write_cache, ToString::to_string),
        rotational: reasons.take(&queue.rotational),
    }
}
