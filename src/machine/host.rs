//! The host: name, board, memory and kernel.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    model::{IoLimit, PciAddress, Reading},
    text::Label,
    units::{Bytes, Lanes},
};

/// The host.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Host name.
    pub name: Reading<Label>,
    /// Distribution, as os-release names it.
    pub distribution: Reading<Label>,
    /// Kernel release: `6.18.44`.
    pub kernel: Reading<Label>,
    /// `/proc/cmdline`.
    pub command_line: Reading<Label>,
    /// Board vendor and name (`/sys/class/dmi/id`).
    pub board: Reading<Label>,
    /// Product name.
    pub product: Reading<Label>,
    /// BIOS version and date.
    pub bios: Reading<Label>,
    /// `MemTotal` of `/proc/meminfo`.
    pub memory: Reading<Bytes>,
    /// Memory modules (SMBIOS type 17; root).
    pub modules: Reading<Vec<MemoryModule>>,
    /// Slots that the board's firmware names (SMBIOS type 9; root).
    pub slots: Reading<Vec<BoardSlot>>,
    /// `/proc/sys/kernel/io_uring_disabled`.
    pub io_uring_disabled: Reading<u32>,
    /// Supported io_uring flags and features.
    pub io_uring: Reading<IoUring>,
    /// Module parameters, by `MODULE/NAME`: `nvme/poll_queues`, `pcie_aspm/policy`.
    pub module_parameters: BTreeMap<&'static str, Reading<Label>>,
    /// Effective user is root.
    pub root: Reading<bool>,
    /// Random id of this boot.
    pub boot_id: Reading<Label>,
    /// Read limits of the cgroups that iodyno runs in.
    pub io_limits: Vec<IoLimit>,
    /// Whether /sys is mounted read-only, so that no setting can be written.
    pub sys_read_only: Reading<bool>,
}

/// One memory module (SMBIOS Reference Specification, type 17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryModule {
    /// Device Locator.
    pub locator: Label,
    /// Bank Locator, which often names the channel.
    pub bank: Label,
    /// Size; `None` for an empty socket.
    pub size: Option<Bytes>,
    /// Rated speed, MT/s.
    pub rated_mts: Option<u32>,
    /// Configured speed, MT/s.
    pub configured_mts: Option<u32>,
}

/// One slot of the board (SMBIOS Reference Specification, type 9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardSlot {
    /// Slot Designation, as printed on the board: `PCIEX16_2`, `M.2_1`.
    pub name: Label,
    /// Slot Data Bus Width, of PCI Express.
    pub lanes: Option<Lanes>,
    /// Current Usage: in use or available.
    pub is_used: Option<bool>,
    /// The device or port, and its peers where the slot is split.
    pub addresses: Vec<PciAddress>,
}

/// Flags of io_uring, from test rings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoUring {
    /// Setup flags that were accepted, best set first tried: `SINGLE_ISSUER`, `DEFER_TASKRUN`, `NO_SQARRAY`...
    pub flags: Vec<Arc<str>>,
    /// Flags that were refused, with the errno.
    pub refused: Vec<(Arc<str>, Arc<str>)>,
}
