//! Who has a device open, asked right before it is taken from its driver.
//!
//! By device number, since a device has many names: descriptors and mappings of every process, mounts of every mount
//! namespace, loop devices and NVMe targets that stand on it, and the kernel's own exclusive claims. Not here: uses the
//! machine itself tells of (`block::uses`).

use std::{collections::BTreeMap, fs::OpenOptions, io, os::unix::fs::OpenOptionsExt};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::root::{SysRoot, file_name, label, text};

/// What a device special file stands for: major and minor number, of block or of character devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// A block device.
    Block(u32, u32),
    /// A character device.
    Character(u32, u32),
}

/// Devices by their number.
pub type Numbers = BTreeMap<Number, String>;

/// Where the kernel lists devices by name, and whether those are block devices.
const CLASSES: [(&str, bool); 3] = [("block", true), ("nvme", false), ("nvme-generic", false)];

/// The numbers of devices, by kernel name: drives, partitions, controllers, generic namespaces.
pub fn numbers(root: &dyn SysRoot, names: &[String]) -> Numbers {
    let mut numbers = Numbers::new();
    for name in names {
        for (class, is_block) in CLASSES {
            let dev = label(root, &format!("/sys/class/{class}/{name}/dev"));
            let pair = dev.value().and_then(|dev| pair(dev.as_str()));
            let number = |(major, minor)| {
                if is_block { Number::Block(major, minor) } else { Number::Character(major, minor) }
            };
            numbers.extend(pair.map(|pair| (number(pair), name.clone())));
        }
    }
    numbers
}

/// `259:0`.
fn pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What the live file at `path` stands for, if it is a device. Asks no server and no user-space file system.
pub fn number_of(path: &str) -> Option<Number> {
    let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let (major, minor) = (found.stx_rdev_major, found.stx_rdev_minor);
    match FileType::from_raw_mode(u32::from(found.stx_mode)) {
        FileType::BlockDevice => Some(Number::Block(major, minor)),
        FileType::CharacterDevice => Some(Number::Character(major, minor)),
        _ => None,
    }
}

/// The first that uses one of these devices, in words: `fio (process 4711) has nvme0n1 open`. Files are looked at with
/// `number_of`; processes of other users are seen by root only.
pub fn user(
    root: &dyn SysRoot,
    numbers: &Numbers,
    number_of: &dyn Fn(&str) -> Option<Number>,
) -> Option<String> {
    let device = |path: &str| number_of(path).and_then(|number| numbers.get(&number));
    backing(root, &device).or_else(|| {
        let processes = root.list("/proc").unwrap_or_default();
        let mut namespaces = Vec::new();
        processes.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).find_map(|process| {
            let found = open_in(root, process, &device);
            // One table for each mount namespace: many processes share one.
            let namespace = root.link(&format!("/proc/{process}/ns/mnt")).ok();
            let is_new = namespace.is_none() || !namespaces.contains(&namespace);
            namespaces.push(namespace);
            found.or_else(|| is_new.then(|| mounted_in(root, process, numbers)).flatten())
        })
    })
}

/// A descriptor or a mapping of a process.
fn open_in<'a>(
    root: &dyn SysRoot,
    process: &str,
    device: &dyn Fn(&str) -> Option<&'a String>,
) -> Option<String> {
    [("fd", "open"), ("map_files", "mapped")].into_iter().find_map(|(folder, how)| {
        let folder = format!("/proc/{process}/{folder}");
        let files = root.list(&folder).unwrap_or_default();
        let found = files.iter().find_map(|file| device(&format!("{folder}/{file}")))?;
        Some(format!("{} has {found} {how}", called(root, process)))
    })
}

fn called(root: &dyn SysRoot, process: &str) -> String {
    let name = label(root, &format!("/proc/{process}/comm"));
    format!("{} (process {process})", name.value().map_or("a program", |name| name.as_str()))
}

/// A mount in a process' namespace (`proc_pid_mountinfo(5)`): by number, and by name where a file system has numbers of
/// its own, as btrfs has.
fn mounted_in(root: &dyn SysRoot, process: &str, numbers: &Numbers) -> Option<String> {
    let table = text(root, &format!("/proc/{process}/mountinfo"));
    table.value()?.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let (number, _, point) = (left.next()?, left.next()?, left.next()?);
        let source = right.split(' ').nth(1)?;
        let by_number = pair(number).and_then(|(major, minor)| numbers.get(&Number::Block(major, minor)));
        let by_name = || {
            let name = source.strip_prefix("/dev/")?;
            numbers.values().find(|device| *device == name)
        };
        let device = by_number.or_else(by_name)?;
        Some(format!("{device} is mounted on {point}, as {} sees it", called(root, process)))
    })
}

/// Devices of the kernel's own that stand on others without claiming them: loop devices and targets of NVMe over fabrics.
fn backing<'a>(root: &dyn SysRoot, device: &dyn Fn(&str) -> Option<&'a String>) -> Option<String> {
    const TARGETS: &str = "/sys/kernel/config/nvmet/subsystems";
    let loops = root.list("/sys/block").unwrap_or_default();
    let of_loops = loops.iter().map(|name| (name.clone(), format!("/sys/block/{name}/loop/backing_file")));
    let targets = root.list(TARGETS).unwrap_or_default().into_iter().flat_map(|subsystem| {
        let folder = format!("{TARGETS}/{subsystem}/namespaces");
        let spaces = root.list(&folder).unwrap_or_default();
        spaces
            .into_iter()
            .map(move |space| (format!("target {subsystem}"), format!("{folder}/{space}/device_path")))
    });
    of_loops.chain(targets).find_map(|(user, file)| {
        let path = text(root, &file);
        let found = device(path.value()?.trim_end_matches('\n'))?;
        Some(format!("{} stands on {found}", file_name(&user)))
    })
}

/// Whether the kernel holds one of these block devices for itself (a file system, swap, md, device mapper): opening it
/// exclusively is refused then. It is opened to read and closed at once.
pub fn claimed(files: &[String]) -> Option<String> {
    let flags = libc::O_EXCL | libc::O_NONBLOCK | libc::O_CLOEXEC;
    files.iter().find_map(|file| {
        let error = OpenOptions::new().read(true).custom_flags(flags).open(file).err()?;
        (error.kind() == io::ErrorKind::ResourceBusy).then(|| format!("the kernel holds {file} (EBUSY)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::root::{FolderRoot, LiveRoot};

    #[test]
    fn a_device_is_known_by_its_number_whatever_its_name() {
        // The zero device under a name of its own would need mknod; a descriptor's own link is such a name.
        let file = std::fs::File::open("/dev/zero").unwrap();
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert_eq!(number_of(&own), Some(Number::Character(1, 5)));
        assert_eq!(number_of("/dev/zero"), Some(Number::Character(1, 5)));
        assert_eq!(number_of("/proc"), None);
        let wanted = Numbers::from([(Number::Character(1, 5), "zero".to_owned())]);
        let found = user(&LiveRoot::new(), &wanted, &number_of).unwrap();
        assert!(found.contains("(process ") && found.ends_with(" has zero open"), "{found}");
        let other = Numbers::from([(Number::Block(1, 5), "zero".to_owned())]);
        assert_eq!(user(&LiveRoot::new(), &other, &number_of), None, "a block device is no character device");
    }

    /// A folder with these files, and an answer for each path that is a device in it.
    fn asked(files: &[(&str, &str)], device_file: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_bytes()).unwrap();
        }
        let root = FolderRoot::new(folder.path());
        let names = ["nvme0n1", "nvme0n1p2", "nvme0", "ng0n1"].map(str::to_owned);
        let numbers = numbers(&root, &names);
        assert_eq!(numbers.len(), 4, "{numbers:?}");
        user(&root, &numbers, &|path| (path == device_file).then_some(Number::Block(259, 2)))
    }

    const DEVICES: [(&str, &str); 5] = [
        ("sys/class/block/nvme0n1/dev", "259:0\n"),
        ("sys/class/block/nvme0n1p2/dev", "259:2\n"),
        ("sys/class/nvme/nvme0/dev", "240:0\n"),
        ("sys/class/nvme-generic/ng0n1/dev", "239:0\n"),
        ("proc/7/comm", "fio\n"),
    ];

    #[test]
    fn every_way_to_use_a_device_is_found() {
        let with = |more: &[(&str, &str)], device: &str| asked(&[&DEVICES[..], more].concat(), device);
        assert_eq!(with(&[], ""), None);
        for (files, device, says) in [
            (("proc/7/fd/3", ""), "/proc/7/fd/3", "fio (process 7) has nvme0n1p2 open"),
            (("proc/7/map_files/1-2", ""), "/proc/7/map_files/1-2", "fio (process 7) has nvme0n1p2 mapped"),
            (
                (
                    "proc/7/mountinfo",
                    "36 35 0:4 / /proc rw - proc proc rw\n37 35 259:2 / /srv rw - ext4 /dev/x rw\n",
                ),
                "",
                "nvme0n1p2 is mounted on /srv, as fio (process 7) sees it",
            ),
            (
                ("proc/7/mountinfo", "37 35 0:44 /@ /home rw shared:1 - btrfs /dev/nvme0n1p2 rw\n"),
                "",
                "nvme0n1p2 is mounted on /home, as fio (process 7) sees it",
            ),
            (
                ("sys/block/loop3/loop/backing_file", "/dev/disk/by-id/x\n"),
                "/dev/disk/by-id/x",
                "loop3 stands on nvme0n1p2",
            ),
            (
                ("sys/kernel/config/nvmet/subsystems/t/namespaces/1/device_path", "/dev/y\n"),
                "/dev/y",
                "target t stands on nvme0n1p2",
            ),
        ] {
            assert_eq!(with(&[files], device).as_deref(), Some(says));
        }
    }
}
