//! [`Facts`]: plain data that the readers of texts find, each with its line.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque, btree_map::Entry},
    sync::Arc,
};

use super::prompt::is_prompt;
use crate::{
    machine::pasted::{Downgraded, UnusedLine},
    model::PciAddress,
    source::root::quoted,
    text::Label,
    units::TransferRate,
};

/// A line of the text, cleaned, with its number in the file counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub number: usize,
    pub text: Cow<'a, str>,
}

/// A value and the line that states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known<T> {
    pub value: T,
    pub line: usize,
}

/// Class code of PCI bridges.
pub(super) const PCI_BRIDGE: u32 = 0x06_04_00;
/// Class code of NVMe controllers, to which alone the driver nvme binds.
pub(super) const NVME_CONTROLLER: u32 = 0x01_08_02;

/// All facts of one opened text.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub functions: BTreeMap<PciAddress, Function>,
    /// Root buses that a drawing shows, domain and bus, with their lines.
    pub roots: BTreeMap<(u32, u8), usize>,
    /// Functions that have a domain of their own behind them, as VMD functions have, by domain.
    pub behind: BTreeMap<u32, PciAddress>,
    /// Whole block devices by kernel name.
    pub drives: BTreeMap<String, DriveFacts>,
    /// What all drives without an address have in common, where as many controllers are left as there are of them.
    pub like_all: Option<DriveFacts>,
    /// NVMe controllers that are not shown as drives: each may be one of the listed drives.
    pub without_drive: BTreeSet<PciAddress>,
    /// Partitions and layers above drives, by lsblk's names.
    pub blocks: BTreeMap<String, Block>,
    /// States of the members of arrays, by the kernel's names of both.
    pub members: BTreeMap<(String, String), Known<&'static str>>,
    /// Controllers that `nvme list-subsys` shows in the subsystem of a number.
    pub subsystems: BTreeMap<u32, BTreeSet<String>>,
    /// Rows of partitions and layers that were not read, because there are more than [`Facts::MOST_BLOCKS`].
    pub cut_blocks: usize,
    /// Functions with a limited link that were not read, because there are more than [`Facts::MOST_LIMITS`].
    pub cut_limits: usize,
    /// Devices in listings with mount points, by lsblk's names.
    pub with_mounts: BTreeSet<String>,
    /// Further files by absolute path: `/proc/interrupts`.
    pub files: BTreeMap<String, Known<Vec<u8>>>,
    pub downgraded: Vec<Downgraded>,
    pub notes: Notes,
    /// Functions of NVMe controllers by kernel name, with the lines that state them.
    pub controllers: BTreeMap<String, (PciAddress, usize)>,
    /// The newest lines of the nvme driver about timeouts and resets.
    pub messages: VecDeque<Message>,
    /// Lines of values within a file, by its path and a word: `/ioctl/nvme0n1/identify-ns LBA format 1`.
    pub places: Vec<(String, usize)>,
    /// Functions with a corrected error of their link in `dmesg`, with its first line.
    pub link_errors: BTreeMap<PciAddress, usize>,
    /// Controllers that `/proc/interrupts` names without an address, by kernel name.
    pub queues: BTreeMap<String, usize>,
    /// Bridges whose bus numbers are those of the kernel log: the kernel assigns them anew, its last line counts.
    pub of_log: BTreeSet<PciAddress>,
    /// Last buses behind the bridge to a bus, as the kernel found them, with their lines.
    pub last_buses: BTreeMap<(u32, u8), Known<u8>>,
    /// Buses, domain and number, below a port that is above the bridge to them.
    pub below_gaps: BTreeSet<(u32, u8)>,
    /// Links that `dmesg` names as the limit of a function.
    pub limits: Vec<LimitedBy>,
    /// Controllers of namespaces by kernel name.
    pub controller_of: BTreeMap<String, String>,
    /// Data structures until their drives are known.
    pub identified: Vec<Identify>,
    /// What the texts lack for their drives, one sentence each.
    pub lacks: Vec<String>,
    /// Listings that contradict an earlier one about a drive or a function, one sentence each.
    pub contradictions: Vec<String>,
}

/// Lines that were not used.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub unused: Vec<UnusedLine>,
    /// Several values of a line may contradict others. A list of half a million lines takes less than a set of them.
    lines: Vec<u32>,
}

/// One PCI function. `None`: the text does not show it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Function {
    /// Its first line.
    pub line: usize,
    /// Class code, 24 bits.
    pub class: Option<Known<u32>>,
    pub vendor: Option<Known<u16>>,
    pub device: Option<Known<u16>>,
    /// Whether these ids stand in the text; else they were found by a name.
    pub has_exact_ids: bool,
    pub subsystem: Option<Known<(u16, u16)>>,
    /// Names as printed: of the class, and of vendor and device together.
    pub class_name: Option<Known<Label>>,
    pub name: Option<Known<Label>>,
    /// The bridge above it in a drawing.
    pub parent: Option<PciAddress>,
    /// Secondary and subordinate bus of a bridge.
    pub buses: Option<Known<(u8, u8)>>,
    pub driver: Option<Known<Label>>,
    pub numa_node: Option<Known<u32>>,
    pub iommu_group: Option<Known<u32>>,
    /// Physical Slot, or the firmware's `DeviceName`.
    pub slot: Option<Known<Label>>,
    pub express: Option<ExpressWords>,
    /// `Capabilities: <access denied>`.
    pub denied: Option<usize>,
    /// Whether the text shows a capability of it.
    pub has_capabilities: bool,
    /// `Unknown header type 7f`: the device did not respond.
    pub silent: Option<usize>,
    /// Configuration space of a hex dump.
    pub config: Option<Known<Vec<u8>>>,
    /// Whether the text shows the body of this function (`-v` and above).
    pub has_body: bool,
    /// Whether it shows registers of this function, as `-vv` does.
    pub has_registers: bool,
}

impl Function {
    /// Whether its class is that of NVMe controllers.
    pub fn is_nvme(&self) -> bool {
        self.class.is_some_and(|class| class.value >> 8 == 0x0108)
    }

    /// Whether the text has an address and nothing else of it.
    pub fn is_unread(&self) -> bool {
        let has_ids = self.class.is_some() || self.vendor.is_some() || self.config.is_some();
        let is_placed = self.parent.is_some() || self.buses.is_some() || self.express.is_some();
        !(has_ids || is_placed || self.silent.is_some())
    }
}

/// The PCI Express capability as lspci words it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ExpressWords {
    /// Line and offset of the capability.
    pub line: usize,
    pub at: u8,
    pub version: u8,
    /// Device/port type, as the register codes it.
    pub port_type: Option<u8>,
    /// Slot Implemented.
    pub slot: Option<bool>,
    /// `DevCap`: Max Payload Size Supported.
    pub payload_supported: Option<Known<u16>>,
    /// `DevCap`: Extended Tag Field Supported.
    pub tags_supported: Option<Known<bool>>,
    /// `DevCtl`: Max Payload Size, Max Read Request Size.
    pub sizes: Option<Known<(u16, u16)>>,
    /// `DevCtl`: relaxed ordering and extended tags on.
    pub control: Option<Known<(bool, bool)>>,
    /// `DevSta`: Correctable Error Detected.
    pub correctable_error: Option<Known<bool>>,
    /// `CESta`: whether one of these errors is the link's.
    pub link_error: Option<Known<bool>>,
    pub link_capabilities: Option<Known<LinkWords>>,
    pub link_status: Option<Known<LinkWords>>,
    /// `LnkCtl`: ASPM Control, bit 0 L0s, bit 1 L1.
    pub aspm: Option<Known<u8>>,
    pub target_speed: Option<Known<TransferRate>>,
}

impl ExpressWords {
    /// Whether the link may have corrected an error; not known where `CESta` names other errors alone, such as the requests
    /// of a bus scan that a device does not support.
    pub fn link_correctable_error(&self) -> Option<Known<bool>> {
        self.correctable_error.filter(|_| self.link_error.is_none_or(|error| error.value))
    }
}

/// Speed and width of a link register; `None` for a speed that lspci calls unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkWords {
    pub speed: Option<TransferRate>,
    pub width: Option<u8>,
}

impl LinkWords {
    /// `8 GT/s x2`.
    pub fn words(self) -> String {
        let speed = self.speed.map_or_else(|| "unknown speed".to_owned(), |speed| speed.to_string());
        let width = self.width.map_or_else(|| "x?".to_owned(), |width| format!("x{width}"));
        format!("{speed} {width}")
    }

    /// Whether both state the same of one link, as far as they state it; a width of 0 is none.
    pub fn agrees(self, other: Self) -> bool {
        fn same<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        let is_down = [self, other].iter().any(|link| link.width == Some(0));
        is_down || same(self.speed, other.speed) && same(self.width, other.width)
    }
}

/// `available PCIe bandwidth, limited by ... at PORT`: a function and the port with the slowest link above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitedBy {
    pub device: PciAddress,
    pub port: PciAddress,
    pub state: LinkWords,
    pub line: usize,
}

/// A timeout or reset in the kernel log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Kernel name of the controller.
    pub controller: String,
    /// [`DriverMessage::words`](crate::machine::DriverMessage::words).
    pub words: String,
    /// The line of the kernel log, without what is not known.
    pub text: String,
    pub line: usize,
}

/// One whole block device.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct DriveFacts {
    pub line: usize,
    /// The PCI function it is attached to, if the text says so.
    pub address: Option<PciAddress>,
    /// lsblk's TRAN: `nvme`, `sata`, `usb`.
    pub transport: Option<String>,
    /// Of its file `size`.
    pub rounding: Option<Rounding>,
    /// Files of its folder by relative path: `size`, `queue/rotational`; content without its newline.
    pub files: BTreeMap<String, Known<String>>,
    /// Files of its controller or device: `model`, `serial`, `firmware_rev`.
    pub device_files: BTreeMap<String, Known<String>>,
}

/// A partition, or a device on partitions and drives. Whole drives have their mounts here.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub line: usize,
    /// lsblk's TYPE: `part`, `crypt`, `lvm`, `raid1`.
    pub kind: Cow<'static, str>,
    /// Block devices directly below, by lsblk's names, sorted.
    pub below: Vec<Arc<str>>,
    pub size: Option<Size>,
    /// Files of its folder by relative path: `dev`, `queue/rotational`.
    pub files: BTreeMap<&'static str, String>,
    pub filesystem: Option<String>,
    /// Mount points, and `[SWAP]`.
    pub mounts: BTreeSet<String>,
}

/// A size as a listing states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub bytes: u64,
    /// `None`: in bytes.
    pub rounding: Option<Rounding>,
}

/// How a listing rounds a size: `3.6T` has one digit behind the point, in units of 2^40 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rounding {
    /// Bytes.
    pub unit: u64,
    pub digits: u8,
}

/// One of the data structures, until it is known which drive it describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identify {
    pub line: usize,
    /// The device of the command in front of it: `nvme0` or `nvme0n1`.
    pub device: Option<String>,
    pub of: Of,
    pub bytes: Vec<u8>,
}

/// Which data structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Of {
    /// `has_format`: which LBA format is in use is stated.
    Namespace {
        nsid: Option<u64>,
        size: Option<u64>,
        block: Option<u64>,
        has_format: bool,
        /// Index and line of each LBA format.
        formats: Vec<(usize, usize)>,
    },
    Controller {
        serial: String,
        model: String,
        firmware: String,
    },
}

/// Data structures of one text: each takes 4 KiB, whatever its text has.
const MOST_IDENTIFIED: usize = 1024;

impl Facts {
    /// Keeps a data structure until its drive is known.
    pub fn identify(&mut self, found: Identify) {
        if self.identified.len() < MOST_IDENTIFIED {
            self.identified.push(found);
        } else {
            self.notes.unused(found.line, "more listings of nvme-cli than a machine has drives");
        }
    }

    /// The function of that address, made if it is new. A function that another listing of the text has already shown is
    /// completed, not replaced.
    pub fn function(&mut self, address: PciAddress, line: usize) -> &mut Function {
        match self.functions.entry(address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(Function { line, ..Function::default() }),
        }
    }

    /// Functions and drives of the largest machine; also its controllers and buses.
    pub const MOST: usize = 1 << 13;

    /// Partitions and layers of one text.
    pub const MOST_BLOCKS: usize = 1 << 14;

    /// Functions with a limited link in one text.
    pub const MOST_LIMITS: usize = 1 << 14;

    /// Whether a row of a partition or layer is read. Those above [`Self::MOST_BLOCKS`] are counted.
    pub fn takes_block(&mut self, name: &str) -> bool {
        let is_taken = self.blocks.len() < Self::MOST_BLOCKS || self.blocks.contains_key(name);
        self.cut_blocks += usize::from(!is_taken);
        is_taken
    }

    /// Whether no machine has so many: the text is refused, and the rest of it need not be read.
    pub fn is_too_many(&self) -> bool {
        let others = [
            self.roots.len(),
            self.behind.len(),
            self.controllers.len(),
            self.controller_of.len(),
            self.queues.len(),
            self.last_buses.len(),
            self.link_errors.len(),
            self.members.len(),
        ];
        self.functions.len() + self.drives.len() > Self::MOST || others.iter().any(|it| *it > Self::MOST)
    }

    /// The PCI Express capability of a function, made if it is new.
    pub fn express(&mut self, address: PciAddress, line: usize) -> &mut ExpressWords {
        /// Offset of the capability where no text states it.
        const ANYWHERE: u8 = 0x40;
        let express = &mut self.function(address, line).express;
        express.get_or_insert_with(|| ExpressWords { line, at: ANYWHERE, ..ExpressWords::default() })
    }
}

impl Notes {
    /// Notes a line that was not used.
    pub fn unused(&mut self, line: usize, reason: &str) {
        self.note(line);
        if self.unused.len() < crate::machine::Pasted::MOST_UNUSED {
            self.unused.push(UnusedLine { line, reason: Label::new(reason) });
        }
    }

    /// The same, with the line's beginning quoted; a prompt is no line of a listing.
    pub fn unused_text(&mut self, line: &Line, reason: &str) {
        if is_prompt(&line.text) {
            return;
        }
        if self.unused.len() < crate::machine::Pasted::MOST_UNUSED {
            self.unused(line.number, &quoted(&line.text, reason));
        } else {
            self.note(line.number);
        }
    }

    /// The number of lines that were not used.
    pub fn count(&mut self) -> usize {
        self.lines.sort_unstable();
        self.lines.dedup();
        self.lines.len()
    }

    fn note(&mut self, line: usize) {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        if self.lines.last() != Some(&line) {
            self.lines.push(line);
        }
    }
}

impl<T> Known<T> {
    pub fn new(value: T, line: usize) -> Self {
        Self { value, line }
    }
}

/// Sets a fact that is not known yet: the first statement of a text counts.
pub(super) fn learn<T>(slot: &mut Option<Known<T>>, value: T, line: usize) {
    slot.get_or_insert(Known { value, line });
}

/// Domain and bus of `0000:60`.
pub(super) fn root_bus(place: &str) -> Option<(u32, u8)> {
    let address: PciAddress = format!("{place}:00.0").parse().ok()?;
    Some((address.domain, address.bus))
}
