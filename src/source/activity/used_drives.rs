//! [`UsedDrives`]: the drives that a process uses, as far as that can be known: from its control group's `io.stat` if it is alone in
//! it, or from its open files.

use std::collections::{BTreeSet, HashMap};

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

/// What is known of block devices and control groups.
#[derive(Debug, Default)]
pub(super) struct UsedDrives {
    /// Hardware drives below each block device, by its number (`259:0`).
    numbers: HashMap<String, BTreeSet<DriveName>>,
    /// Bytes of each device number in `io.stat` of the group of a process, when it was looked at last.
    groups: HashMap<u32, Vec<(String, u64)>>,
}

impl UsedDrives {
    /// The drives of a process; `None` if neither its group nor its files name one.
    pub(super) fn of(&mut self, root: &dyn SysRoot, pid: u32) -> Option<Vec<DriveName>> {
        let mut numbers = self.grown_in_group(root, pid);
        if numbers.is_empty() {
            numbers = open_files(root, pid);
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
        let grew = |(number, bytes): &(String, u64)| {
            before.iter().find(|(known, _)| known == number).map_or(0, |(_, bytes)| *bytes) < *bytes
        };
        now.into_iter().filter(grew).map(|(number, _)| number).collect()
    }
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

/// Numbers of the block devices that a process has open, or on which files lie that it has open.
fn open_files(root: &dyn SysRoot, pid: u32) -> BTreeSet<String> {
    let folder = format!("/proc/{pid}/fd");
    let mut files = Vec::new();
    // Without permission nothing is known.
    let _ = crate::source::root::all_names(root, &folder, &mut |name| files.push(name.to_owned()));
    files.truncate(MOST_FILES);
    let mut numbers = BTreeSet::new();
    let mut mounts = BTreeSet::new();
    for file in &files {
        let Ok(target) = root.link(&format!("{folder}/{file}")) else { continue };
        if let Some(device) = target.strip_prefix("/dev/") {
            numbers.extend(device_number(root, &block_name(device)));
        } else if target.starts_with('/') {
            let info = text(root, &format!("/proc/{pid}/fdinfo/{file}"));
            let info = info.value().map_or("", String::as_str);
            let mount =
                info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse::<i32>().ok());
            mounts.extend(mount);
        }
    }
    if mounts.is_empty() {
        return numbers;
    }
    let table = text(root, &format!("/proc/{pid}/mountinfo"));
    let rows = table.value().map_or("", String::as_str).lines();
    for mount in rows.filter_map(|line| MountInfo::from_line(line).ok()) {
        if !mounts.contains(&mount.mnt_id) {
            continue;
        }
        // File systems over several devices (btrfs, ZFS) have numbers of their own, and name a device.
        let is_own = mount.majmin.starts_with("0:");
        let source = mount.mount_source.as_deref().and_then(|source| source.strip_prefix("/dev/"));
        match source.filter(|_| is_own) {
            Some(device) => numbers.extend(device_number(root, &block_name(device))),
            None if is_own => {}
            None => _ = numbers.insert(mount.majmin),
        }
    }
    numbers
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
