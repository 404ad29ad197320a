//! What lies on drives: partitions, layers, mounts and swap as lsblk lists them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    facts::{Block, Facts, Size},
    mdstat,
};

/// What stands at an absolute path.
#[derive(Debug)]
pub(super) enum Made {
    File(String),
    Link(String),
    Names(Vec<String>),
}

/// Takes what is made one by one, with its line: a text may have thousands of partitions.
struct Making<'a> {
    put: &'a mut dyn FnMut(&str, Made, usize),
    /// Folders whose names are those of several devices.
    folders: BTreeMap<String, Vec<String>>,
}

/// Kinds of rows that are no layer of a drive.
const OTHER: [&str; 4] = ["disk", "rom", "loop", "part"];

/// A name that may become a folder's: kernel names, and names of device mapper.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.')
}

/// Whether a word is a file system of util-linux' library.
pub(super) fn is_filesystem(word: &str) -> bool {
    const KNOWN: [&str; 21] = [
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "vfat",
        "exfat",
        "ntfs",
        "f2fs",
        "zfs_member",
        "bcachefs",
        "swap",
        "bcache",
        "linux_raid_member",
        "crypto_LUKS",
        "LVM2_member",
        "iso9660",
        "squashfs",
        "jfs",
        "nilfs2",
        "ceph_bluestore",
    ];
    KNOWN.contains(&word)
}

/// Whether a device with this file system is a part of a pool, an array or a group of volumes. lsblk does not list the pools of
/// ZFS, and no volume that is not active.
pub(super) fn is_member(filesystem: &str) -> bool {
    ["zfs_member", "LVM2_member", "linux_raid_member", "bcache", "ceph_bluestore"].contains(&filesystem)
}

impl Block {
    /// Notes a device directly below. Most have one: a list takes less than a set.
    pub(super) fn lies_on(&mut self, name: &Arc<str>) {
        if let Err(at) = self.below.binary_search(name) {
            self.below.insert(at, name.clone());
        }
    }

    /// Whether it is a layer: neither a drive nor a partition.
    fn is_layer(&self) -> bool {
        !OTHER.contains(&&*self.kind) && !self.kind.is_empty()
    }

    fn is_array(&self) -> bool {
        ["raid", "linear", "md"].iter().any(|kind| self.kind.starts_with(kind))
    }

    /// Whether it is device mapper's, which lsblk lists by the name in `/dev/mapper`.
    pub(super) fn has_mapper_name(&self) -> bool {
        !self.is_array() && self.kind != "bcache" && !OTHER.contains(&&*self.kind)
    }

    /// The prefix of `dm/uuid` by which lsblk finds its TYPE.
    fn maker(&self) -> Option<&'static str> {
        [("crypt", "CRYPT"), ("lvm", "LVM"), ("mpath", "mpath")]
            .into_iter()
            .find(|(kind, _)| self.kind == *kind)
            .map(|(_, maker)| maker)
    }
}

impl Facts {
    /// The row of that name, made if it is new. Several parents of an array list it once each.
    pub fn block(&mut self, name: &str, line: usize) -> &mut Block {
        self.blocks.entry(name.to_owned()).or_insert_with(|| Block { line, ..Block::default() })
    }
}

/// Makes the files of partitions and layers, and takes these; `folders` has those of drives by name.
pub(super) fn make(
    facts: &mut Facts,
    folders: &BTreeMap<String, String>,
    put: &mut dyn FnMut(&str, Made, usize),
) {
    let mut made = Making { put, folders: BTreeMap::new() };
    tables(&mut made, facts);
    for (path, content, line) in mdstat::files(facts) {
        if let Some((folder, name)) = path.strip_suffix("/state").and_then(|member| member.rsplit_once('/')) {
            made.name(folder, name);
        }
        made.file(&path, content, line);
    }
    for (name, block) in std::mem::take(&mut facts.blocks) {
        match &*block.kind {
            "part" => partition(&mut made, &name, &block, folders),
            _ if block.is_layer() => layer(&mut made, &name, &block),
            _ => {}
        }
    }
    for (folder, names) in made.folders {
        (made.put)(&folder, Made::Names(names), 0);
    }
}

fn partition(made: &mut Making, name: &str, block: &Block, folders: &BTreeMap<String, String>) {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let Ok(number) = name[digits..].parse::<u32>() else { return };
    for drive in &block.below {
        let Some(folder) = folders.get(&**drive).filter(|_| name.starts_with(&**drive)) else { continue };
        made.name(folder, name);
        let folder = format!("{folder}/{name}");
        (made.put)(&folder, Made::Names(Vec::new()), block.line);
        made.file(&format!("{folder}/partition"), number.to_string(), block.line);
        if let Some(device) = block.files.get("dev") {
            made.file(&format!("{folder}/dev"), device.clone(), block.line);
        }
        made.common(&folder, block);
    }
}

fn layer(made: &mut Making, name: &str, block: &Block) {
    let folder = format!("/sys/devices/virtual/block/{name}");
    made.name("/sys/block", name);
    (made.put)(&folder, Made::Names(Vec::new()), block.line);
    (made.put)(&format!("/sys/block/{name}"), Made::Link(folder.clone()), block.line);
    let below = block.below.iter().map(|name| (**name).to_owned()).collect();
    (made.put)(&format!("{folder}/slaves"), Made::Names(below), block.line);
    let mut put = |file: &str, content: String| {
        made.file(&format!("{folder}/{file}"), content, block.line);
    };
    if block.has_mapper_name() {
        put("dm/name", name.to_owned());
    }
    if let Some(maker) = block.maker() {
        put("dm/uuid", format!("{maker}-"));
    }
    // A table without TYPE has no level.
    if block.is_array() && block.kind != "md" {
        put("md/level", block.kind.to_string());
    }
    for (file, content) in &block.files {
        put(file, content.clone());
    }
    made.common(&folder, block);
}

/// `/proc/mounts` and `/proc/swaps`.
fn tables(made: &mut Making, facts: &Facts) {
    let (mut mounts, mut swaps) = (Vec::new(), vec!["Filename Type Size Used Priority\n".to_owned()]);
    for (name, block) in &facts.blocks {
        let file =
            if block.has_mapper_name() { format!("/dev/mapper/{name}") } else { format!("/dev/{name}") };
        for point in &block.mounts {
            if point == "[SWAP]" {
                swaps.push(format!("{file} partition 0 0 0\n"));
            } else if point.starts_with('/') {
                let filesystem = block.filesystem.as_deref().unwrap_or("unknown\\040file\\040system");
                mounts.push(format!("{file} {} {filesystem}  0 0\n", escaped(point)));
            }
        }
    }
    let line = |is_swap: bool| {
        let mut rows = facts.blocks.values();
        rows.find(|row| row.mounts.iter().any(|point| (point == "[SWAP]") == is_swap)).map(|row| row.line)
    };
    if let Some(line) = line(false) {
        made.file("/proc/mounts", mounts.concat(), line);
    }
    if let Some(line) = line(true) {
        made.file("/proc/swaps", swaps.concat(), line);
    }
}

/// As the kernel escapes a field.
fn escaped(field: &str) -> String {
    field.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011")
}

impl Making<'_> {
    fn file(&mut self, path: &str, content: String, line: usize) {
        (self.put)(path, Made::File(content), line);
    }

    /// A device in a folder that has several.
    fn name(&mut self, folder: &str, name: &str) {
        match self.folders.get_mut(folder) {
            Some(names) => names.push(name.to_owned()),
            None => _ = self.folders.insert(folder.to_owned(), vec![name.to_owned()]),
        }
    }

    fn common(&mut self, folder: &str, block: &Block) {
        if let Some(size) = block.size {
            self.file(&format!("{folder}/size"), (size.bytes / 512).to_string(), block.line);
        }
    }
}

/// Partitions that a list without a drawing names get their drive by name: `nvme0n1p2`, `sda2`.
pub(super) fn join(facts: &mut Facts) {
    for (name, block) in &mut facts.blocks {
        if block.kind != "part" || !block.below.is_empty() {
            continue;
        }
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let drive = [stem, stem.strip_suffix('p').unwrap_or(stem)]
            .into_iter()
            .find(|stem| facts.drives.contains_key(*stem));
        block.below.extend(drive.map(Into::into));
    }
    without_users(facts);
}

/// Takes away what is not known to have no user: a row that was not read may be one, a list without a drawing (`lsblk -l`, `-r`) does
/// not show what a layer lies on, and lsblk shows no pool of a member.
fn without_users(facts: &mut Facts) {
    if facts.cut_blocks > 0 || facts.blocks.values().any(|block| block.is_layer() && block.below.is_empty()) {
        facts.with_mounts.clear();
        return;
    }
    let used: BTreeSet<&str> =
        facts.blocks.values().flat_map(|block| &block.below).map(|name| &**name).collect();
    let members = facts.blocks.iter().filter(|(name, block)| {
        block.filesystem.as_deref().is_some_and(is_member) && !used.contains(name.as_str())
    });
    for (name, block) in members {
        facts.with_mounts.remove(name);
        block.below.iter().for_each(|drive| _ = facts.with_mounts.remove(&**drive));
    }
}

/// A size that stands in a row.
pub(super) fn learn_size(block: &mut Block, size: Option<Size>) {
    if block.size.is_none_or(|known| !known.is_exact()) {
        block.size = size.or(block.size);
    }
}
