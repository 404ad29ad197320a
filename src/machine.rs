//! [`Machine`]: the data read from one computer.

pub mod pci;
pub mod pasted;
pub(crate) mod hop;
pub mod drive;
pub(crate) mod in_use;
pub(crate) mod layers;
pub mod queue;
pub(crate) mod processor;
pub(crate) mod host;
pub(crate) mod rules;
pub(crate) mod measured;
pub(crate) mod driver_message;

pub use drive::{Drive, DriveKind, LbaFormat, Nvme, Partition, Smart, Temperature};
pub use driver_message::{DriverMessage, MessageKind};
pub(crate) use hop::HopLink;
pub use host::{BoardSlot, Host, IoUring, MemoryModule};
pub use in_use::{Process, Use, User};
pub use layers::{Layer, LayerKind, Layers};
pub use measured::{Alone, Exceeded, ExceededAt, Measured, MeasuredLimit, ReadCost, ReadSize};
pub use pasted::Pasted;
pub use pci::{Express, Link, NodeKind, PciNode, PciTree};
pub use processor::{Cpu, IdleState, Processors};
pub(crate) use queue::Queue;
pub(crate) use rules::SettingRule;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::{
    model::{DriveName, NodeIndex, PciAddress, Problem, Reading},
    text::Label,
};

/// One computer; unreadable values are [`Reading`]s with a reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Name, board, kernel.
    pub host: Host,
    /// Root complexes, ports, switches, endpoints.
    pub pci: PciTree,
    /// Whole block devices: hardware in bus order, then software devices by name.
    pub drives: Vec<Drive>,
    /// Hidden path devices of native NVMe multipath (`nvme0c1n1`): each has a queue with its own settings, and its own
    /// controller.
    pub paths: Vec<Drive>,
    /// Arrays, device mapper and file systems above the drives.
    pub layers: Layers,
    /// CPUs, NUMA nodes, frequency and idle governors.
    pub processors: Processors,
    /// Whether `/proc/interrupts` has a `PMN` row: the kernel was built with posted MSI.
    pub posted_msi_row: Reading<bool>,
    /// Rules that write settings at boot, in the order in which they take effect.
    pub rules: Vec<SettingRule>,
    /// Folders and files with more names or bytes than are read: checks of what they hold are no good news.
    pub cuts: Vec<Problem>,
    /// Results of earlier tests on it.
    pub measured: Vec<Measured>,
    /// Timeouts and resets of NVMe controllers in the kernel log, oldest first.
    pub driver_messages: Reading<Vec<DriverMessage>>,
    /// The texts it was read from, if it is no machine, capture or folder.
    pub pasted: Option<Arc<Pasted>>,
}

impl Machine {
    /// A drive's model as a row shows it; where a text lists no drives, from the name of its function.
    pub(crate) fn model_of(&self, drive: &Drive) -> String {
        self.model_by_function(drive).map_or_else(|| drive.short_model(), str::to_owned)
    }

    /// The model in the name of a drive's function, where a text has no other.
    pub(crate) fn model_by_function(&self, drive: &Drive) -> Option<&str> {
        let node = drive.node.filter(|_| self.pasted.is_some() && drive.model.value().is_none())?;
        Drive::model_in_name(self.pci.node(node).names.device.as_ref()?.as_str())
    }

    /// Whether it is a flash drive behind a RAID controller or host adapter (class 0x0104, 0x0107): rotational 0, shown as `sdX`.
    pub(crate) fn is_behind_controller(&self, drive: &Drive) -> bool {
        const CLASSES: [u32; 2] = [0x0104, 0x0107];
        let class = drive.node.and_then(|node| self.pci.node(node).class.get());
        drive.kind == DriveKind::Scsi
            && drive.queue.rotational.get() == Some(false)
            && class.is_some_and(|class| CLASSES.contains(&(class >> 8)))
    }

    /// The scheduler of a flash drive unless a rule or a user chose one: a drive with one queue gets mq-deadline
    /// (`elevator_get_default` of block/elevator.c).
    pub(crate) fn default_scheduler(&self, drive: &Drive) -> Option<&'static str> {
        match drive.kind {
            DriveKind::Nvme => Some("none"),
            _ => self.is_behind_controller(drive).then_some("mq-deadline"),
        }
    }

    /// Whether a listing of an opened text has a drive's mount points, and no user of it.
    pub(crate) fn is_unused_in_text(&self, drive: &Drive) -> bool {
        let is_listed = |pasted: &Arc<Pasted>| pasted.with_mounts.contains(drive.name.as_str());
        drive.used_by.is_empty() && self.pasted.as_ref().is_some_and(is_listed)
    }

    /// The size of a drive in the words of a text that has it rounded to fewer digits than iodyno shows: `3.6 TiB`.
    pub(crate) fn size_in_text(&self, drive: &Drive) -> Option<&str> {
        self.pasted.as_ref()?.sizes.get(drive.name.as_str()).map(String::as_str)
    }

    /// A problem as documents have it: of an opened text with the line nearest to the value, whose path is no machine's.
    pub(crate) fn placed(&self, problem: Problem) -> Problem {
        match &self.pasted {
            Some(pasted) => {
                Problem { path: pasted.place(&problem.path).unwrap_or_default().into(), ..problem }
            }
            None => problem,
        }
    }

    /// A copy with another tree and the drives in it.
    pub(crate) fn with_tree(&self, pci: PciTree, drives: Vec<Drive>, paths: Vec<Drive>) -> Self {
        Self {
            pci,
            drives,
            paths,
            host: self.host.clone(),
            processors: self.processors.clone(),
            posted_msi_row: self.posted_msi_row.clone(),
            rules: self.rules.clone(),
            cuts: self.cuts.clone(),
            measured: self.measured.clone(),
            driver_messages: self.driver_messages.clone(),
            layers: self.layers.clone(),
            pasted: self.pasted.clone(),
        }
    }

    /// What the top of a tree is: a root complex, or a bus whose bridge a text does not show.
    pub(crate) fn kind_of_root(&self, root: NodeIndex) -> &'static str {
        let is_unknown = |pasted: &Arc<Pasted>| match self.pci.node(root).address {
            pci::NodeAddress::Root { domain, bus } => pasted.without_bridge.contains(&(domain, bus)),
            pci::NodeAddress::Device(_) => false,
        };
        if self.pasted.as_ref().is_some_and(is_unknown) { "bus, bridge unknown" } else { "root complex" }
    }

    /// Whether a text lists functions, and each was asleep or removed when its configuration space was read.
    pub(crate) fn is_silent(&self) -> bool {
        let mut functions = self.pci.functions().peekable();
        let is_silent = |node: &PciNode| {
            node.express.problem().is_some_and(|problem| *problem.reason == *pci::NO_RESPONSE)
        };
        let is_listed = |drive: &Drive| drive.size.is_known() || drive.model.is_known();
        self.pasted.is_some()
            && functions.peek().is_some()
            && functions.all(is_silent)
            && !self.drives.iter().any(is_listed)
    }

    /// The drive of that kernel name, or the path device.
    pub fn drive(&self, name: &DriveName) -> Option<&Drive> {
        self.block_devices().find(|drive| drive.name == *name)
    }

    /// The drive that `/dev/NAME` or NAME names.
    pub fn drive_at(&self, path: &Path) -> Option<&Drive> {
        let path = path.to_string_lossy();
        self.drive(&DriveName::new(path.strip_prefix("/dev/").unwrap_or(&path)))
    }

    /// All of [`Self::drive`], for many look-ups.
    pub(crate) fn drives_by_name(&self) -> BTreeMap<&DriveName, &Drive> {
        let mut by_name = BTreeMap::new();
        for drive in self.block_devices() {
            by_name.entry(&drive.name).or_insert(drive);
        }
        by_name
    }

    pub(crate) fn block_devices(&self) -> impl Iterator<Item = &Drive> {
        self.drives.iter().chain(&self.paths)
    }

    /// The path devices of a drive; empty without native multipath.
    pub(crate) fn paths_of<'a>(&'a self, drive: &'a Drive) -> impl Iterator<Item = &'a Drive> {
        let names = drive.nvme.iter().flat_map(|nvme| &nvme.paths);
        names.filter_map(|name| self.paths.iter().find(|path| path.name == *name))
    }

    /// The PCI functions a drive is attached to: its own and that of each path.
    pub(crate) fn functions_of(&self, drive: &Drive) -> Vec<NodeIndex> {
        let mut functions: Vec<NodeIndex> =
            drive.node.into_iter().chain(self.paths_of(drive).filter_map(|path| path.node)).collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }

    /// Whether that is one of its functions.
    pub(crate) fn is_attached_to(&self, drive: &Drive, function: NodeIndex) -> bool {
        let function = Some(function);
        drive.node == function || self.paths_of(drive).any(|path| path.node == function)
    }

    /// Messages of the kernel log about the controllers of a drive, oldest first.
    pub(crate) fn messages_of(&self, drive: &Drive) -> impl Iterator<Item = &DriverMessage> {
        let own = std::iter::once(drive).chain(self.paths_of(drive)).filter_map(|path| path.nvme.as_ref());
        let controllers: Vec<Label> = own.map(|nvme| nvme.controller.clone()).collect();
        let all = self.driver_messages.value().into_iter().flatten();
        all.filter(move |message| controllers.contains(&message.controller))
    }

    /// Whether the kernel log had more such messages than were kept.
    pub(crate) fn has_cut_messages(&self) -> bool {
        self.driver_messages.value().is_some_and(|all| all.len() >= DriverMessage::MOST)
    }

    /// The hardware drives at or below a node, by one path at least.
    pub(crate) fn drives_below(&self, node: NodeIndex) -> Vec<&Drive> {
        let below = self.pci.subtree(node);
        let is_below = |drive: &&Drive| self.functions_of(drive).iter().any(|at| below.contains(at));
        self.hardware_drives().filter(is_below).collect()
    }

    /// The path device of a drive through this function, if it has several.
    pub(crate) fn path_through<'a>(&'a self, drive: &'a Drive, function: NodeIndex) -> Option<&'a Drive> {
        let is_one_of_several = self.paths_of(drive).count() > 1;
        self.paths_of(drive).find(|path| is_one_of_several && path.node == Some(function))
    }

    /// The drive whose NVMe character device this is: `/dev/ng0n1`.
    pub(crate) fn drive_of_generic(&self, path: &Path) -> Option<&Drive> {
        let is_it = |generic: &Label| Path::new(generic.as_str()) == path;
        self.drives
            .iter()
            .find(|drive| drive.nvme.as_ref().and_then(|nvme| nvme.generic.as_ref()).is_some_and(is_it))
    }

    /// Number of hardware drives; the namespaces of one NVMe controller count as one.
    pub fn drive_count(&self) -> usize {
        drive::count(self.hardware_drives())
    }

    /// Number of drives among these block devices.
    pub(crate) fn count_of(&self, names: &[DriveName]) -> usize {
        drive::count(names.iter().filter_map(|name| self.drive(name)))
    }

    /// Heading of hardware drives without a PCI function, by that of the first one.
    pub(crate) fn outside_pci(&self) -> &'static str {
        let first = self.hardware_drives().find(|drive| drive.node.is_none());
        first.map_or("not on PCI", |drive| self.outside_pci_of(drive))
    }

    /// Why a drive has no PCI function: a text may not say which one it has, and a copy of /sys may not list it.
    pub(crate) fn outside_pci_of(&self, drive: &Drive) -> &'static str {
        let has_function = || drive.path.split('/').any(|part| part.parse::<PciAddress>().is_ok());
        if self.pasted.is_some() {
            "PCI function unknown"
        } else if has_function() {
            "PCI function not listed"
        } else {
            "not on PCI"
        }
    }

    /// Block devices backed by hardware, in bus order.
    pub fn hardware_drives(&self) -> impl Iterator<Item = &Drive> {
        self.drives.iter().filter(|drive| !drive.kind.is_software())
    }

    /// Block devices whose counters add up to what all move: hardware, and software devices without drives below.
    pub(crate) fn summed_drives(&self) -> impl Iterator<Item = &Drive> {
        self.drives.iter().filter(|drive| !drive.is_on_drives())
    }
}
