//! What uses a drive: mounts, swap, and block devices that hold it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    machine::{Drive, Use},
    model::{Problem, ProblemKind},
    source::root::{SysRoot, label, text},
    text::Label,
};

/// Fills in `used_by` of every drive; gives back what could not be read.
pub(super) fn read(root: &dyn SysRoot, drives: &mut [Drive]) -> Vec<Problem> {
    let parts = Parts::of(root, drives);
    let mut problems = Vec::new();
    let mut uses: BTreeMap<usize, BTreeSet<Use>> = BTreeMap::new();
    let mut add = |part: &Part, used: Use| {
        uses.entry(part.drive).or_default().insert(used);
    };
    for mount in mounts(root, &mut problems) {
        for part in parts.mounted(&mount) {
            let (point, filesystem) = (Label::new(&mount.point), Label::new(&mount.filesystem));
            add(part, Use::Mount { part: Label::new(&part.name), point, filesystem });
        }
    }
    for file in swaps(root, &mut problems) {
        if let Some(part) = parts.by_file(&file) {
            add(part, Use::Swap(Label::new(&part.name)));
        }
    }
    for part in &parts.all {
        let folder = format!("{}/holders", part.path);
        for holder in root.list(&folder).unwrap_or_default() {
            add(part, Use::Holder(Label::new(&part.name), Label::new(&holder)));
        }
    }
    for (drive, used) in uses {
        drives[drive].used_by = used.into_iter().collect();
    }
    problems
}

/// A drive or one of its partitions.
struct Part {
    drive: usize,
    name: String,
    path: String,
}

/// Every drive and partition, and the ways to find them.
struct Parts {
    all: Vec<Part>,
    by_number: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
    /// Parts that share one btrfs file system.
    siblings: HashMap<usize, BTreeSet<usize>>,
    /// What `/dev/root` stands for where the mount table does not say.
    root_file: Option<String>,
}

impl Parts {
    fn of(root: &dyn SysRoot, drives: &[Drive]) -> Self {
        let mut all = Vec::new();
        for (drive, read) in drives.iter().enumerate() {
            let whole = read.name.as_str().to_owned();
            all.push(Part { drive, name: whole, path: read.path.to_string() });
            for partition in &read.partitions {
                let name = partition.name.to_string();
                all.push(Part { drive, path: format!("{}/{name}", read.path), name });
            }
        }
        let mut parts = Self {
            by_name: all.iter().enumerate().map(|(index, part)| (part.name.clone(), index)).collect(),
            by_number: HashMap::new(),
            siblings: HashMap::new(),
            root_file: root_argument(root),
            all,
        };
        for (index, part) in parts.all.iter().enumerate() {
            if let Some(number) = label(root, &format!("{}/dev", part.path)).value() {
                parts.by_number.insert(number.to_string(), index);
            }
            // Device mapper's names are not the kernel's: /dev/mapper/NAME is dm-N.
            if let Some(name) = label(root, &format!("{}/dm/name", part.path)).value() {
                parts.by_name.insert(format!("mapper/{name}"), index);
            }
        }
        parts.siblings = parts.btrfs(root);
        parts
    }

    /// `/sys/fs/btrfs/UUID/devices/*`: file systems on several devices, of which a mount names one.
    fn btrfs(&self, root: &dyn SysRoot) -> HashMap<usize, BTreeSet<usize>> {
        const FOLDER: &str = "/sys/fs/btrfs";
        let mut siblings: HashMap<usize, BTreeSet<usize>> = HashMap::new();
        for id in root.list(FOLDER).unwrap_or_default() {
            let devices = root.list(&format!("{FOLDER}/{id}/devices")).unwrap_or_default();
            let group: BTreeSet<usize> =
                devices.iter().filter_map(|name| self.by_name.get(name).copied()).collect();
            siblings.extend(group.iter().map(|part| (*part, group.clone())));
        }
        siblings
    }

    fn mounted(&self, mount: &Mount) -> Vec<&Part> {
        let by_number = mount.number.as_ref().and_then(|number| self.by_number.get(number).copied());
        let Some(index) = by_number.or_else(|| self.index_of(&mount.source)) else { return Vec::new() };
        match self.siblings.get(&index) {
            Some(group) => group.iter().map(|index| &self.all[*index]).collect(),
            None => vec![&self.all[index]],
        }
    }

    fn by_file(&self, file: &str) -> Option<&Part> {
        self.index_of(file).map(|index| &self.all[index])
    }

    /// The part behind a device file.
    fn index_of(&self, file: &str) -> Option<usize> {
        let file = if file == "/dev/root" { self.root_file.as_deref()? } else { file };
        let name = file.strip_prefix("/dev/")?;
        // A slash in a device file's name is an exclamation mark in the kernel's.
        self.by_name.get(name).or_else(|| self.by_name.get(&name.replace('/', "!"))).copied()
    }
}

/// `root=/dev/...` of the kernel command line.
fn root_argument(root: &dyn SysRoot) -> Option<String> {
    let line = text(root, "/proc/cmdline");
    let words = line.value()?.split_ascii_whitespace();
    words
        .filter_map(|word| word.strip_prefix("root="))
        .rfind(|file| file.starts_with("/dev/"))
        .map(str::to_owned)
}

/// One line of a mount table.
struct Mount {
    number: Option<String>,
    source: String,
    point: String,
    filesystem: String,
}

/// The mount table: with device numbers where there is one of the reading process, else without.
fn mounts(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<Mount> {
    let table = text(root, "/proc/self/mountinfo");
    if let Some(table) = table.value() {
        return table.lines().filter_map(mountinfo_line).collect();
    }
    let older = text(root, "/proc/mounts");
    if older.value().is_none() {
        problems.extend(table.problem());
    }
    older.value().map(|table| table.lines().filter_map(mounts_line).collect()).unwrap_or_default()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw` (`proc_pid_mountinfo(5)`).
fn mountinfo_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (number, _, point) = (left.next()?, left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (filesystem, source) = (right.next()?, right.next()?);
    Some(Mount {
        number: Some(number.to_owned()),
        source: unescape(source),
        point: unescape(point),
        filesystem: filesystem.to_owned(),
    })
}

/// `/dev/sda1 /boot ext4 rw 0 0` (fstab(5)).
fn mounts_line(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let (source, point, filesystem) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Mount {
        number: None,
        source: unescape(source),
        point: unescape(point),
        filesystem: filesystem.to_owned(),
    })
}

/// Device files of `/proc/swaps`.
fn swaps(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<String> {
    let table = text(root, "/proc/swaps");
    problems.extend(table.problem().filter(|problem| problem.kind != ProblemKind::Absent));
    let rows = table.value().map(String::as_str).unwrap_or_default().lines().skip(1);
    rows.filter_map(|row| row.split_ascii_whitespace().next()).map(unescape).collect()
}

/// `\040` and kin, as the kernel writes spaces, tabs, newlines and backslashes in its tables.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = |digits: &[u8]| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        };
        if let Some(byte) = tail.get(..3).filter(|_| first == b'\\').and_then(octal) {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
