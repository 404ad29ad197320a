//! PCI functions that are looked at every second: which there are, their error counters, their links.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use super::{
    fields,
    pci::MOST_FUNCTIONS,
    root::{self, SysRoot},
};
use crate::model::PciAddress;

const DEVICES: &str = "/sys/bus/pci/devices";

/// Files of links read at one look: a machine with more of them is gone round in several looks.
const LINK_FILES: usize = 256;

/// The functions as they were listed last. Files that a function does not have are not asked for again until the list changes.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// A hash of their names.
    listed: Option<u64>,
    /// Whether they were listed anew since `changed` was asked.
    is_new: bool,
    /// A hash of the names of block devices, of their sizes and of the CPUs that are online.
    others: u64,
    /// `aer_dev_correctable` of the functions that have it.
    aer: Vec<(PciAddress, String)>,
    /// `current_link_speed` and `current_link_width` with a hash of their content.
    links: Vec<(String, u64)>,
    next_link: usize,
    text: Vec<u8>,
}

impl Functions {
    /// Lists the functions; what they have is looked up if others are there than before.
    pub(crate) fn list(&mut self, root: &dyn SysRoot) {
        let mut listed = DefaultHasher::new();
        hash_names(root, DEVICES, &mut listed);
        let listed = listed.finish();
        if self.listed.replace(listed) == Some(listed) {
            return;
        }
        self.is_new = true;
        (self.aer, self.links, self.next_link) = (Vec::new(), Vec::new(), 0);
        for name in root.list(DEVICES).unwrap_or_default().iter().take(MOST_FUNCTIONS) {
            let Ok(folder) = root::resolve(root, &format!("{DEVICES}/{name}")) else { continue };
            let errors = format!("{folder}/aer_dev_correctable");
            if let (Ok(address), Ok(())) = (name.parse(), root.read_into(&errors, &mut self.text)) {
                self.aer.push((address, errors));
            }
            for file in ["current_link_speed", "current_link_width"] {
                let path = format!("{folder}/{file}");
                if root.read_into(&path, &mut self.text).is_ok() {
                    self.links.push((path, hash(&self.text)));
                }
            }
        }
    }

    /// `TOTAL_ERR_COR` of every function that counts its errors.
    pub(crate) fn errors(&mut self, root: &dyn SysRoot, into: &mut BTreeMap<PciAddress, u64>) {
        for (address, path) in &self.aer {
            let total = root
                .read_into(path, &mut self.text)
                .ok()
                .and_then(|()| fields::value_of(&self.text, b"TOTAL_ERR_COR "));
            match total {
                Some(total) => _ = into.insert(*address, total),
                None => _ = into.remove(address),
            }
        }
        if into.len() > self.aer.len() {
            into.retain(|address, _| self.aer.iter().any(|(known, _)| known == address));
        }
    }

    /// Whether a drive, a function or a CPU came or went, a drive has another size, or a link retrained since this was asked last.
    pub(crate) fn changed(&mut self, root: &dyn SysRoot) -> bool {
        let mut others = DefaultHasher::new();
        hash_names(root, "/sys/block", &mut others);
        // A detached loop device keeps its folder, but has no row of partitions.
        for path in ["/proc/partitions", "/sys/devices/system/cpu/online"] {
            if root.read_into(path, &mut self.text).is_ok() {
                self.text.hash(&mut others);
            }
        }
        let others = others.finish();
        let mut changed = std::mem::take(&mut self.is_new);
        changed |= std::mem::replace(&mut self.others, others) != others;
        for _ in 0..self.links.len().min(LINK_FILES) {
            self.next_link = (self.next_link + 1) % self.links.len();
            let (path, known) = &mut self.links[self.next_link];
            // A function that sleeps deeply does not answer.
            let now = root.read_into(path, &mut self.text).map_or(0, |()| hash(&self.text));
            changed |= std::mem::replace(known, now) != now;
        }
        changed
    }
}

/// A folder that cannot be listed has no names.
fn hash_names(root: &dyn SysRoot, folder: &str, hasher: &mut DefaultHasher) {
    let _ = root::all_names(root, folder, &mut |name| name.hash(hasher));
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::root::FolderRoot;

    /// Writes a file of the machine below `base`.
    fn put(base: &std::path::Path, path: &str, content: &str) {
        let path = base.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_bytes()).unwrap();
    }

    fn plug(base: &std::path::Path, address: &str) {
        put(base, &format!("sys/devices/{address}/aer_dev_correctable"), "RxErr 1\nTOTAL_ERR_COR 3\n");
        put(base, &format!("sys/devices/{address}/current_link_speed"), "16.0 GT/s PCIe\n");
        std::fs::create_dir_all(base.join("sys/bus/pci/devices")).unwrap();
        let link = base.join(format!("sys/bus/pci/devices/{address}"));
        std::os::unix::fs::symlink(format!("../../../devices/{address}"), link).unwrap();
    }

    #[test]
    fn a_retrained_link_and_a_new_function_are_noticed_once() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        plug(base, "0000:01:00.0");
        put(base, "sys/block/nvme0n1/dev", "259:0\n");
        let root = FolderRoot::new(base);
        let mut functions = Functions::default();
        let mut changed = || {
            functions.list(&root);
            functions.changed(&root)
        };
        assert!(changed() && !changed(), "the first look");
        put(base, "sys/devices/0000:01:00.0/current_link_speed", "2.5 GT/s PCIe\n");
        assert!(changed() && !changed(), "the link");
        put(base, "sys/block/nvme1n1/dev", "259:1\n");
        assert!(changed() && !changed(), "the drive");
        put(base, "proc/partitions", "major minor  #blocks  name\n\n   7        0      65536 loop0\n");
        assert!(changed() && !changed(), "the size");
        put(base, "sys/devices/system/cpu/online", "0-1\n");
        assert!(changed() && !changed(), "the CPUs");
        plug(base, "0000:02:00.0");
        assert!(changed() && !changed(), "the function");
    }

    #[test]
    fn errors_are_of_the_functions_that_are_there() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        plug(base, "0000:01:00.0");
        plug(base, "0000:02:00.0");
        let root = FolderRoot::new(base);
        let (mut functions, mut errors) = (Functions::default(), BTreeMap::new());
        functions.list(&root);
        functions.errors(&root, &mut errors);
        let address = |text: &str| text.parse::<PciAddress>().unwrap();
        assert_eq!(errors, [(address("0000:01:00.0"), 3), (address("0000:02:00.0"), 3)].into());
        std::fs::remove_file(base.join("sys/bus/pci/devices/0000:01:00.0")).unwrap();
        functions.list(&root);
        functions.errors(&root, &mut errors);
        assert_eq!(errors, [(address("0000:02:00.0"), 3)].into());
    }
}
