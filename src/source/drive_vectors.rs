//! [`DriveVectors`]: interrupt numbers of the PCI functions below which block devices are, except NVMe controllers.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{
    block::{FOLDER as BLOCK, MOST_DRIVES},
    root::{self, SysRoot, is_numbered, join},
};
use crate::{model::PciAddress, text::Label};

/// `msi_irqs` of the functions as of the last change of the block devices.
#[derive(Debug, Default)]
pub(super) struct DriveVectors {
    /// A hash of the names of block devices.
    listed: Option<u64>,
    names: HashMap<u64, Label>,
}

impl DriveVectors {
    /// Looks up the functions again if other block devices are there than before.
    pub(super) fn list(&mut self, root: &dyn SysRoot) {
        let mut hasher = DefaultHasher::new();
        // A folder that cannot be listed has no names.
        let _ = root::all_names(root, BLOCK, &mut |name| name.hash(&mut hasher));
        let listed = hasher.finish();
        if self.listed.replace(listed) == Some(listed) {
            return;
        }
        self.names.clear();
        for device in root.list(BLOCK).unwrap_or_default().into_iter().take(MOST_DRIVES) {
            let Ok(target) = root.link(&format!("{BLOCK}/{device}")) else { continue };
            let path = join(BLOCK, &target);
            let Some((function, controller)) = controller(&path) else { continue };
            for irq in root::numbered(root, &format!("{function}/msi_irqs"), "") {
                self.names.insert(u64::from(irq), Label::new(&format!("{controller}-irq{irq}")));
            }
        }
    }

    /// The name of an interrupt number: `virtio1-irq35`, `0000:00:17.0-irq40`.
    pub(super) fn name(&self, irq: u64) -> Option<&str> {
        self.names.get(&irq).map(Label::as_str)
    }
}

/// The folder of the PCI function of a block device, and its controller: a virtio device or the function's address. NVMe controllers
/// name their vectors themselves.
fn controller(path: &str) -> Option<(&str, &str)> {
    let mut found = None;
    let mut end = 0;
    for folder in path.split('/') {
        end += folder.len();
        if folder.parse::<PciAddress>().is_ok() {
            found = Some((&path[..end], folder));
        } else if let Some((function, controller)) = &mut found {
            match folder {
                "nvme" => return None,
                // A virtio device is directly below its function.
                _ if is_numbered(folder, "virtio") && function.len() + 1 + folder.len() == end => {
                    *controller = folder;
                }
                _ => {}
            }
        }
        end += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_device_has_the_controller_nearest_above() {
        let pci = "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0";
        let found = |below: &str| {
            let path = format!("{pci}/{below}");
            controller(&path).map(|(function, name)| (function.to_owned(), name.to_owned()))
        };
        let known = |name: &str| Some((pci.to_owned(), name.to_owned()));
        assert_eq!(found("virtio1/block/vda"), known("virtio1"));
        assert_eq!(found("virtio2/host0/target0:0:0/0:0:0:0/block/sda"), known("virtio2"));
        assert_eq!(found("ata1/host0/target0:0:0/0:0:0:0/block/sda"), known("0000:03:00.0"));
        assert_eq!(found("nvme/nvme0/nvme0n1"), None);
        assert_eq!(controller("/sys/devices/virtual/block/loop0"), None);
    }
}
