//! Classes of PCI devices, in short words.

use crate::machine::{PciNode, pci::NodeKind};

/// Whether a device takes lanes that drives could use: displays, network adapters, accelerators. A text may have a device's link
/// without its class.
pub(super) fn takes_lanes(node: &PciNode) -> bool {
    let base = node.class.get().map(|class| class >> 16);
    let is_card = base.map_or(node.link.is_some(), |base| matches!(base, 0x02 | 0x03 | 0x12));
    node.kind == NodeKind::Endpoint && is_card
}

/// Whether it is an NVMe controller, also one without a drive: unbound, another driver's, or failed.
pub(super) fn is_nvme(node: &PciNode) -> bool {
    node.class.get().is_some_and(|class| class >> 8 == 0x01_08)
}

/// A short word for a device's class (PCI Code and ID Assignment Specification); `None` for others.
pub(super) fn class_word(node: &PciNode) -> Option<&'static str> {
    let class = node.class.get()?;
    Some(match class >> 8 {
        0x0106 => "SATA",
        0x0107 => "SAS",
        0x0108 => "NVMe",
        0x0104 => "RAID",
        0x0100..=0x01ff => "storage",
        0x0280 => "Wi-Fi",
        0x0200..=0x02ff => "network",
        0x0300..=0x03ff => "display",
        0x0401 | 0x0403 => "audio",
        0x0600 => "host bridge",
        0x0601 => "LPC",
        0x0604 => "port",
        0x0806 => "IOMMU",
        0x0c03 => "USB",
        0x0c05 => "SMBus",
        0x1000..=0x10ff => "crypto",
        0x1200..=0x12ff => "accelerator",
        _ => return None,
    })
}
