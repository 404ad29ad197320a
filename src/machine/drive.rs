//! Drives: whole block devices, their partitions and users.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{in_use::Use, queue::Queue};
use crate::{
    model::{DriveName, NodeIndex, Problem, Reading, Target},
    text::Label,
    units::Bytes,
};

/// The kind of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriveKind {
    /// NVMe namespace.
    Nvme,
    /// Behind a SATA port.
    Sata,
    /// Other SCSI: SAS, virtio-scsi, arrays.
    Scsi,
    /// Behind a USB port.
    Usb,
    /// virtio-blk.
    Virtio,
    /// MMC, SD, eMMC.
    Mmc,
    /// Loop device: software.
    Loop,
    /// Compressed memory: software.
    Zram,
    /// md array: software.
    Md,
    /// Device mapper: software.
    Dm,
    /// `null_blk`, brd, nbd and other software devices.
    OtherSoftware,
    /// Hardware iodyno has no name for.
    Other,
}

/// One whole block device.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// Kernel name.
    pub name: DriveName,
    /// Its kind.
    pub kind: DriveKind,
    /// Its folder: `/sys/devices/.../nvme0n1`, links resolved.
    pub path: Arc<str>,
    /// The PCI function it is attached to.
    pub node: Option<NodeIndex>,
    /// `major:minor` (`dev`).
    pub device_number: Reading<Label>,
    /// Sequence number, unique within a boot (`diskseq`).
    pub diskseq: Reading<u64>,
    /// Model name, padding cut.
    pub model: Reading<Label>,
    /// Serial number, padding cut.
    pub serial: Reading<Label>,
    /// World-wide id of an NVMe namespace or SCSI unit (`wwid`): `eui.0025385b71b01e26`.
    pub wwid: Reading<Label>,
    /// Firmware revision.
    pub firmware: Reading<Label>,
    /// Size (`size` is in units of 512 B).
    pub size: Reading<Bytes>,
    /// `removable`.
    pub removable: Reading<bool>,
    /// `alignment_offset`, bytes.
    pub alignment_offset: Reading<i64>,
    /// `device/numa_node`; `None` inside for -1.
    pub numa_node: Reading<Option<u32>>,
    /// Queue settings.
    pub queue: Queue,
    /// NVMe properties.
    pub nvme: Option<Nvme>,
    /// Temperatures with thresholds, from hwmon (`nvme`, `drivetemp`).
    pub temperature: Option<Temperature>,
    /// Partitions in order of their start.
    pub partitions: Vec<Partition>,
    /// Users of it or its partitions, through every layer above.
    pub used_by: Vec<Use>,
    /// Why `used_by` may be incomplete; empty when everything was read.
    pub users_unread: Vec<Problem>,
    /// The file behind a loop device (`loop/backing_file`).
    pub backing_file: Option<Label>,
    /// `power/pm_qos_latency_tolerance_us` of its controller.
    pub latency_tolerance_us: Reading<Label>,
}

/// NVMe: controller and namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Nvme {
    /// Controller name: `nvme0`.
    pub controller: Label,
    /// Its folder, links resolved.
    pub controller_path: Arc<str>,
    /// `state`: `live`.
    pub state: Reading<Label>,
    /// Namespace id.
    pub nsid: Reading<u32>,
    /// Identify Namespace (NVM Command Set Specification 4.1.5.1).
    pub namespace: Reading<Namespace>,
    /// Identify Controller (NVM Express Base Specification 5.1.13.2.1).
    pub identity: Reading<Controller>,
    /// SMART / Health Information log page (Base Specification 5.1.12.1.3).
    pub smart: Reading<Smart>,
    /// Whether Autonomous Power State Transition is on: feature 0x0c.
    pub apst: Reading<bool>,
    /// Counters of errors, retries and resets since the controller was probed: files of `diag/` of the namespace and its
    /// controller.
    pub diagnostics: BTreeMap<Label, Reading<u64>>,
    /// Hidden path devices of native multipath: `nvme0c0n1`; statistics sit there.
    pub paths: Vec<DriveName>,
    /// Character device for passthrough: `/dev/ng0n1`.
    pub generic: Option<Label>,
}

/// Fields of Identify Namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// LBA formats, NLBAF + 1 of them.
    pub formats: Vec<LbaFormat>,
    /// Index of the format in use (FLBAS); `None` if an opened text has the formats alone.
    pub in_use: Option<u8>,
}

/// One LBA format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LbaFormat {
    /// Its index, for `nvme format --lbaf`.
    pub index: u8,
    /// Data bytes of a block, `1 << LBADS`; `None` when the format is not available (LBADS 0).
    pub data_bytes: Option<u64>,
    /// Metadata bytes of a block (MS).
    pub metadata_bytes: u16,
    /// Relative performance (RP): 0 best, 1 better, 2 good, 3 degraded.
    pub relative_performance: u8,
}

/// Fields of Identify Controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// MDTS in bytes; `None` for no limit. In units of the minimum page size, taken as 4 KiB (CAP.MPSMIN is not
    /// readable).
    pub largest_transfer: Option<Bytes>,
    /// OACS bit 1: Format NVM is supported.
    pub format_supported: bool,
    /// FNA bit 0: a format applies to every namespace.
    pub format_all: bool,
}

/// SMART / Health Information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smart {
    /// Critical Warning bits.
    pub critical_warning: u8,
    /// Composite Temperature, degrees Celsius.
    pub celsius: i32,
    /// Available Spare, percent.
    pub spare_percent: u8,
    /// Available Spare Threshold, percent.
    pub spare_threshold_percent: u8,
    /// Percentage Used, may exceed 100.
    pub used_percent: u8,
    /// Data Units Read, in bytes (units of 512 000 B).
    pub read: u128,
    /// Data Units Written, in bytes.
    pub written: u128,
    /// Power On Hours.
    pub power_on_hours: u128,
    /// Unsafe Shutdowns.
    pub unsafe_shutdowns: u128,
    /// Media and Data Integrity Errors.
    pub media_errors: u128,
    /// Number of Error Information Log Entries over the drive's life.
    pub error_log_entries: u128,
    /// Warning Composite Temperature Time, minutes.
    pub warning_minutes: u32,
    /// Critical Composite Temperature Time, minutes.
    pub critical_minutes: u32,
    /// Thermal Management Temperature 1 and 2 Transition Count.
    pub thermal_transitions: (u32, u32),
}

/// Temperatures of a hwmon device, degrees Celsius.
#[derive(Debug, Clone, PartialEq)]
pub struct Temperature {
    /// `temp1_input`, the composite.
    pub now: Reading<f64>,
    /// `temp1_max`.
    pub max: Reading<f64>,
    /// `temp1_crit`.
    pub critical: Reading<f64>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Kernel name: `nvme0n1p1`.
    pub name: Label,
    /// First byte.
    pub start: Reading<Bytes>,
    /// Length.
    pub size: Reading<Bytes>,
}

impl DriveKind {
    pub(crate) const fn is_software(self) -> bool {
        matches!(self, Self::Loop | Self::Zram | Self::Md | Self::Dm | Self::OtherSoftware)
    }

    /// Short name: `NVMe`, `SATA`, `loop`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nvme => "NVMe",
            Self::Sata => "SATA",
            Self::Scsi => "SCSI",
            Self::Usb => "USB",
            Self::Virtio => "virtio",
            Self::Mmc => "MMC",
            Self::Loop => "loop",
            Self::Zram => "zram",
            Self::Md => "md",
            Self::Dm => "dm",
            Self::OtherSoftware => "software",
            Self::Other => "disk",
        }
    }
}

impl Nvme {
    /// Kernel names of its character devices: `nvme0`, `ng0n1`.
    pub(crate) fn character_devices(&self) -> Vec<String> {
        let generic = self.generic.iter().map(|file| file.as_str().trim_start_matches("/dev/").to_owned());
        [self.controller.to_string()].into_iter().chain(generic).collect()
    }
}

/// Number of drives among these block devices; the namespaces of one NVMe controller count as one.
pub(crate) fn count<'a>(devices: impl IntoIterator<Item = &'a Drive>) -> usize {
    devices.into_iter().map(Drive::unit).collect::<BTreeSet<_>>().len()
}

impl Drive {
    /// The unit that counts and is limited as one drive: its NVMe controller's name, else its own.
    pub(crate) fn unit(&self) -> &str {
        self.nvme.as_ref().map_or(self.name.as_str(), |nvme| nvme.controller.as_str())
    }

    /// Whether it is hardware that stays in the machine.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.kind.is_software() && self.removable.get() != Some(true)
    }

    /// Whether its share of time with a request in flight says how busy it is: drives with several queues take more at 100 %.
    pub(crate) fn has_utilisation(&self) -> bool {
        let queues = self.queue.hardware_queues.get();
        queues.map_or(self.kind != DriveKind::Nvme, |queues| queues.default + queues.poll <= 1)
    }

    /// Whether diskstats show what it does: `queue/iostats` is not 0, or its driver counts all the same, as that of zram does
    /// (`bio_start_io_acct`).
    pub(crate) fn is_counted(&self) -> bool {
        self.kind == DriveKind::Zram || self.queue.iostats.get() != Some(0)
    }

    /// Whether sums over devices leave it out, because the drives below it count the same bytes. zram, RAM disks, null devices and
    /// devices behind a network have none below; of other software devices it is not known.
    pub(crate) fn is_on_drives(&self) -> bool {
        const WITHOUT: [&str; 4] = ["ram", "nullb", "nbd", "rbd"];
        let is_numbered = |name: &&str| {
            let number = self.name.as_str().strip_prefix(name);
            number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        };
        match self.kind {
            DriveKind::Loop | DriveKind::Md | DriveKind::Dm => true,
            DriveKind::OtherSoftware => !WITHOUT.iter().any(is_numbered),
            _ => false,
        }
    }

    /// The whole drive as a target.
    pub fn target(&self) -> Target {
        Target { path: self.name.device_file().into(), drive: Some(self.name.clone()) }
    }

    /// Bytes of a logical block.
    pub(crate) fn lba_bytes(&self) -> Option<u64> {
        self.queue.logical_block_size.get()
    }

    /// Its model without the vendor's prefix; the file behind a loop device.
    pub(crate) fn short_model(&self) -> String {
        let model = self.model.value().map(Label::as_str).unwrap_or_default();
        let short = ["Samsung SSD ", "SAMSUNG ", "Seagate ", "WDC ", "WD_BLACK "]
            .iter()
            .find_map(|maker| model.strip_prefix(maker));
        match (short.unwrap_or(model), &self.backing_file) {
            (_, Some(file)) => file.to_string(),
            ("", None) => self.kind.name().to_owned(),
            (short, None) => short.to_owned(),
        }
    }

    /// The model in a text's name of its function: `FireCuda 530 SSD` of `Seagate Technology PLC FireCuda 530 SSD`.
    pub(super) fn model_in_name(name: &str) -> Option<&str> {
        const MAKERS: [&str; 9] = [
            " PLC ",
            " Ltd ",
            " Ltd. ",
            " Corporation ",
            " Corp ",
            " Inc ",
            " Inc. ",
            " Electronics ",
            " LLC ",
        ];
        let end = |maker: &&str| Some(name.rfind(*maker)? + maker.len());
        let model = &name[MAKERS.iter().filter_map(end).max().unwrap_or(0)..];
        let model = model.strip_prefix("NVMe SSD Controller ").unwrap_or(model).trim();
        (!model.is_empty() && !model.starts_with("Device")).then_some(model)
    }

    /// The format in use and the one to format to instead: 4096 B in place of 512 B blocks, with the same metadata, that the
    /// drive rates no worse.
    pub(crate) fn better_format(&self) -> Option<(LbaFormat, LbaFormat)> {
        let now = self.format_in_use().filter(|format| format.data_bytes == Some(512))?;
        let fits = |format: &&LbaFormat| {
            format.data_bytes == Some(4096)
                && format.metadata_bytes == now.metadata_bytes
                && format.relative_performance <= now.relative_performance
        };
        let formats = &self.nvme.as_ref()?.namespace.value()?.formats;
        Some((now, *formats.iter().filter(fits).min_by_key(|format| format.relative_performance)?))
    }

    pub(crate) fn format_in_use(&self) -> Option<LbaFormat> {
        let namespace = self.nvme.as_ref()?.namespace.value()?;
        namespace.formats.iter().find(|format| Some(format.index) == namespace.in_use).copied()
    }
}
