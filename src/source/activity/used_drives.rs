//! [`UsedDrives`]: the drives that a process reads or writes, as far as that can be known: from its control group's `io.stat` if it is
//! alone in it, or from the files that it has open for that.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    str::FromStr,
};

use procfs::process::MountInfo;

use crate::{
    model::DriveName,
    source::{
        SysRoot,
        fields::{lines, number, words},
        root::{file_name, parent, text},
    },
};

/// Open files of a process that are looked at.
const MOST_FILES: usize = 256;
/// Mount points of cgroup v2, alone or beside v1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Devices stacked on each other that are followed.
const MOST_LAYERS: usize = 8;

/// File systems without storage behind them: their files are no reason for bytes to and from devices.
const IN_MEMORY: [&str; 9] =
    ["tmpfs", "devtmpfs", "ramfs", "hugetlbfs", "proc", "sysfs", "cgroup", "cgroup2", "devpts"];

/// Bytes are a matter of logs, page faults of programs and the like where they are at most one in so many.
const MINOR: u64 = 20;

/// Which of reads and writes are more than a minor part of the bytes that a process moved.
pub(super) fn ways([read, written]: [u64; 2]) -> [bool; 2] {
    let all = read.saturating_add(written);
    [read, written].map(|bytes| bytes > all / MINOR)
}

/// An open file.
struct OpenFile {
    /// Descriptor.
    number: u32,
    /// Device number of the block device that it is or lies on; `None` for a file system that names none.
    device: Option<String>,
    is_block_device: bool,
    /// `flags` of `fdinfo`.
    flags: i32,
}

impl OpenFile {
    /// Whether it can be read, and written.
    const fn serves(&self) -> [bool; 2] {
        // As the kernel's `OPEN_FMODE`: the first bit reads, the second one writes.
        let mode = (self.flags & libc::O_ACCMODE) + 1;
        let is_open = self.flags & libc::O_PATH == 0;
        [is_open && mode & 1 != 0, is_open && mode & 2 != 0]
    }

    /// How far it is from being opened for data alone: standard streams may be scripts, logs and errors.
    const fn rank(&self) -> u8 {
        match self.number {
            _ if self.is_block_device || self.flags & libc::O_DIRECT != 0 => 0,
            0 | 1 => 2,
            2 => 3,
            _ => 1,
        }
    }
}

/// What is known of block devices and control groups.
#[derive(Debug, Default)]
pub(super) struct UsedDrives {
    /// Hardware drives below each block device, by its number (`259:0`).
    numbers: HashMap<String, BTreeSet<DriveName>>,
    /// Bytes of each device number in `io.stat` of the group of a process, when it was looked at last.
    groups: HashMap<u32, Vec<(String, u64)>>,
}

impl UsedDrives {
    /// The drives that a process reads or writes; `None` if neither its group nor its files tell.
    pub(super) fn of(&mut self, root: &dyn SysRoot, pid: u32, ways: [bool; 2]) -> Option<Vec<DriveName>> {
        let mut numbers = self.grown_in_group(root, pid);
        if numbers.is_empty() {
            numbers = devices_of(&open_files(root, pid), ways)?;
        }
        if numbers.iter().any(|number| !self.numbers.contains_key(number)) {
            self.numbers = block_devices(root);
        }
        let drives: BTreeSet<DriveName> =
            numbers.iter().filter_map(|number| self.numbers.get(number)).flatten().cloned().collect();
        (!drives.is_empty()).then(|| drives.into_iter().collect())
    }

    /// Forgets processes that are gone.
    pub(super) fn end_sample<V>(&mut self, known: &HashMap<u32, V>) {
        self.groups.retain(|pid, _| known.contains_key(pid));
    }

    /// Device numbers whose bytes grew in the control group that this process has for itself.
    fn grown_in_group(&mut self, root: &dyn SysRoot, pid: u32) -> BTreeSet<String> {
        let Some(now) = io_stat(root, pid) else { return BTreeSet::new() };
        let Some(before) = self.groups.insert(pid, now.clone()) else { return BTreeSet::new() };
        let growth = |(number, bytes): (String, u64)| {
            let before = before.iter().find(|(known, _)| *known == number).map_or(0, |(_, bytes)| *bytes);
            (number, bytes.saturating_sub(before))
        };
        let grown: Vec<(String, u64)> = now.into_iter().map(growth).collect();
        let all = grown.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        grown.into_iter().filter(|(_, bytes)| *bytes > all / MINOR).map(|(number, _)| number).collect()
    }
}

/// The devices that these files serve reads or writes from; `None` where it cannot be told. What is only executed or mapped has no
/// open file; of those that may have been opened for other reasons, several devices say nothing.
fn devices_of(files: &[OpenFile], ways: [bool; 2]) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for way in [0, 1].into_iter().filter(|way| ways[*way]) {
        let serve = || files.iter().filter(|file| file.serves()[way]);
        let rank = serve().map(OpenFile::rank).min()?;
        let of_rank = serve().filter(|file| file.rank() == rank);
        let devices = of_rank.map(|file| file.device.clone()).collect::<Option<BTreeSet<String>>>()?;
        if rank > 0 && devices.len() > 1 {
            return None;
        }
        all.extend(devices);
    }
    Some(all)
}

/// Bytes read and written by device number, of the control group of a process if no other is in it or below.
fn io_stat(root: &dyn SysRoot, pid: u32) -> Option<Vec<(String, u64)>> {
    let read = |path: String| root.read(&path).ok();
    let groups = read(format!("/proc/{pid}/cgroup"))?;
    let group = lines(&groups).find_map(|line| str::from_utf8(line.strip_prefix(b"0::")?).ok())?;
    let folder = |mount: &&str| format!("{mount}{}", group.trim_end_matches('/'));
    let (folder, members) = UNIFIED
        .iter()
        .map(folder)
        .find_map(|folder| Some((folder.clone(), read(format!("{folder}/cgroup.procs"))?)))?;
    let mut members = lines(&members).map(number);
    let is_alone = members.next() == Some(Some(u64::from(pid))) && members.next().is_none();
    let below = read(format!("{folder}/cgroup.stat"))?;
    if !is_alone || crate::source::fields::value_of(&below, b"nr_descendants ") != Some(0) {
        return None;
    }
    let stat = read(format!("{folder}/io.stat"))?;
    let bytes = |line: &[u8]| {
        let mut fields = words(line);
        let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
        let moved = fields.filter_map(|field| {
            number(field.strip_prefix(b"rbytes=").or_else(|| field.strip_prefix(b"wbytes="))?)
        });
        Some((device, moved.fold(0, u64::saturating_add)))
    };
    Some(lines(&stat).filter_map(bytes).collect())
}

/// The block devices and files that a process has open, without its executable and without files in memory.
fn open_files(root: &dyn SysRoot, pid: u32) -> Vec<OpenFile> {
    let folder = format!("/proc/{pid}/fd");
    let mut names = Vec::new();
    // Without permission nothing is known.
    let _ = crate::source::root::all_names(root, &folder, &mut |name| names.push(name.to_owned()));
    names.truncate(MOST_FILES);
    let executable = root.link(&format!("/proc/{pid}/exe")).ok();
    let mut mounts: Option<BTreeMap<i32, Option<String>>> = None;
    let mut files = Vec::new();
    for name in &names {
        let target = root.link(&format!("{folder}/{name}")).ok().filter(|target| target.starts_with('/'));
        let Some(target) = target.filter(|target| executable.as_ref() != Some(target)) else { continue };
        let own = target.strip_prefix("/dev/").map(|device| device_number(root, &block_name(device)));
        // Terminals, /dev/null.
        if own == Some(None) {
            continue;
        }
        let info = text(root, &format!("/proc/{pid}/fdinfo/{name}"));
        let info = info.value().map_or("", String::as_str);
        let field = |key: &str| Some(info.lines().find_map(|line| line.strip_prefix(key))?.trim());
        let Some(flags) = field("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok()) else {
            continue;
        };
        let is_block_device = own.is_some();
        let device = if is_block_device {
            own.flatten()
        } else {
            let mounts = mounts.get_or_insert_with(|| mounted(root, pid));
            let mount = field("mnt_id:").and_then(|mount| i32::from_str(mount).ok());
            // Mounts of the kernel's own (memfd) are in no table.
            let Some(device) = mount.and_then(|mount| mounts.get(&mount)) else { continue };
            device.clone()
        };
        files.push(OpenFile { number: name.parse().unwrap_or(u32::MAX), device, is_block_device, flags });
    }
    files
}

/// Device numbers of a process's mounts by the number of the mount, without those in memory; `None` where a mount names no device.
fn mounted(root: &dyn SysRoot, pid: u32) -> BTreeMap<i32, Option<String>> {
    let table = text(root, &format!("/proc/{pid}/mountinfo"));
    let rows = table.value().map_or("", String::as_str).lines();
    let device = |mount: MountInfo| {
        // File systems over several devices (btrfs, ZFS) have numbers of their own, and name a device.
        let is_own = mount.majmin.starts_with("0:");
        let source = mount.mount_source.as_deref().and_then(|source| source.strip_prefix("/dev/"));
        let device = match source.filter(|_| is_own) {
            Some(device) => device_number(root, &block_name(device)),
            None if is_own => None,
            None => Some(mount.majmin),
        };
        (mount.mnt_id, device)
    };
    let mounts = rows.filter_map(|line| MountInfo::from_line(line).ok());
    mounts.filter(|mount| !IN_MEMORY.contains(&mount.fs_type.as_str())).map(device).collect()
}

/// The kernel's name of a file below /dev; a namespace's generic device stands for its block device.
fn block_name(device: &str) -> String {
    match device.strip_prefix("ng") {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("nvme{rest}"),
        _ => device.replace('/', "!"),
    }
}

fn device_number(root: &dyn SysRoot, name: &str) -> Option<String> {
    let dev = text(root, &format!("/sys/class/block/{name}/dev"));
    Some(dev.value()?.trim().to_owned())
}

/// Every block device by number, with the drives that it lies on.
fn block_devices(root: &dyn SysRoot) -> HashMap<String, BTreeSet<DriveName>> {
    let names = root.list("/sys/class/block").unwrap_or_default();
    let numbered = |name: &String| {
        let mut drives = BTreeSet::new();
        below(root, name, MOST_LAYERS, &mut drives);
        Some((device_number(root, name)?, drives))
    };
    names.iter().filter_map(numbered).collect()
}

/// The disks below a block device: itself, its partition's disk, or what it is stacked on.
fn below(root: &dyn SysRoot, name: &str, layers: usize, drives: &mut BTreeSet<DriveName>) {
    let folder = format!("/sys/class/block/{name}");
    if root.read(&format!("{folder}/partition")).is_ok() {
        let Ok(target) = root.link(&folder) else { return };
        below(root, file_name(parent(&target)), layers, drives);
        return;
    }
    let slaves = root.list(&format!("{folder}/slaves")).unwrap_or_default();
    if slaves.is_empty() || layers == 0 {
        drives.insert(DriveName::new(name));
    }
    for slave in slaves.iter().filter(|_| layers > 0) {
        below(root, slave, layers - 1, drives);
    }
}
