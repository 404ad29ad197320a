//! Users of block devices found in neither sysfs folders nor this process' mount table: the answer to
//! `/probe/device-users`. And the checks right before a drive is unbound from its driver.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::OpenOptions,
    io,
    os::unix::fs::OpenOptionsExt,
};

use procfs::process::MountInfo;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::{
    block::{FOLDER, MOST_DRIVES},
    root::{LiveRoot, RootError, SysRoot, join, label, parent, text},
};

/// The probe's path. The answer has a line per user. Devices have their kernel names; white space inside a field,
/// except the last, is escaped like in kernel tables (`\040`):
///
/// ```text
/// open DEVICE PROCESS COMMAND
/// mount DEVICE FILESYSTEM POINT PROCESS COMMAND
/// stack DEVICE LOOP
/// export DEVICE TARGET
/// export-file FILE TARGET
/// pool DEVICE POOL
/// unread PATH REASON
/// unread-of DEVICE PATH REASON
/// ```
pub(crate) const PROBE: &str = "/probe/device-users";

/// Where the answer's users are found: the place of a reason why there is no answer.
pub(super) const SOURCE: &str = "/proc";

/// A device number: major and minor, of a block or character device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Number {
    /// A block device.
    Block(u32, u32),
    /// A character device.
    Character(u32, u32),
}

pub(crate) type Numbers = BTreeMap<Number, String>;

/// The kernel name of the device a path leads to.
type Finder<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Device classes, and whether they are block devices.
const CLASSES: [(&str, bool); 3] = [("block", true), ("nvme", false), ("nvme-generic", false)];

/// The numbers of all block devices, NVMe controllers and generic namespaces, by kernel name.
pub(crate) fn numbers(root: &dyn SysRoot) -> Numbers {
    let mut numbers = Numbers::new();
    for (class, is_block) in CLASSES {
        let folder = format!("/sys/class/{class}");
        for name in root.list(&folder).unwrap_or_default() {
            let dev = label(root, &format!("{folder}/{name}/dev"));
            let pair = dev.value().and_then(|dev| pair(dev.as_str()));
            let number = |(major, minor)| {
                if is_block { Number::Block(major, minor) } else { Number::Character(major, minor) }
            };
            numbers.extend(pair.map(|pair| (number(pair), name)));
        }
    }
    numbers
}

/// `259:0`.
fn pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The device number of the live file at `path`, if it is a device. Does not block on network or FUSE file systems.
pub(crate) fn number_of(path: &str) -> Option<Number> {
    let found = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let (major, minor) = (found.stx_rdev_major, found.stx_rdev_minor);
    match FileType::from_raw_mode(u32::from(found.stx_mode)) {
        FileType::BlockDevice => Some(Number::Block(major, minor)),
        FileType::CharacterDevice => Some(Number::Character(major, minor)),
        _ => None,
    }
}

/// The live machine's answer, excluding this process.
pub(super) fn ask() -> Vec<u8> {
    let root = LiveRoot::new();
    let numbers = numbers(&root);
    let find = |path: &str| number_of(path).and_then(|number| numbers.get(&number).cloned());
    answer(&root, &find, &numbers, Some(std::process::id())).into_bytes()
}

/// The answer of a copied machine, where device files are links or known by name.
pub(super) fn ask_copy(root: &dyn SysRoot) -> Vec<u8> {
    let numbers = numbers(root);
    let find = |path: &str| by_links(root, path).filter(|name| numbers.values().any(|known| known == name));
    answer(root, &find, &numbers, None).into_bytes()
}

/// `nvme0n1` for `/dev/nvme0n1`, and for a link that leads there.
pub(super) fn by_links(root: &dyn SysRoot, path: &str) -> Option<String> {
    const MOST_LINKS: usize = 8;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match root.link(&path) {
            Ok(target) => path = join(parent(&path), &target),
            Err(_) => break,
        }
    }
    // A slash in a kernel name is an exclamation mark in sysfs.
    path.strip_prefix("/dev/").map(|name| name.replace('/', "!"))
}

fn answer(root: &dyn SysRoot, find: Finder<'_>, numbers: &Numbers, own: Option<u32>) -> String {
    let mut text = String::new();
    stacks(root, find, &mut text);
    exports(root, find, &mut text);
    pools(root, numbers, &mut text);
    processes(root, find, numbers, own, &mut text);
    text
}

/// One line of the answer.
macro_rules! say {
    ($text:expr, $($line:tt)*) => {{ let _infallible = writeln!($text, $($line)*); }};
}

/// Escapes a field that is not the last of its line.
fn field(text: &str) -> String {
    text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

/// Loop devices whose file is a block device.
fn stacks(root: &dyn SysRoot, find: Finder<'_>, out: &mut String) {
    for name in root.list(FOLDER).unwrap_or_default().into_iter().take(MOST_DRIVES) {
        let file = text(root, &format!("{FOLDER}/{name}/loop/backing_file"));
        if let Some(device) = file.value().and_then(|path| find(path.trim_end_matches('\n'))) {
            say!(out, "stack {device} {name}");
        }
    }
}

/// Targets that export devices and files: LIO (iSCSI, Fibre Channel) and NVMe over Fabrics. Their configuration
/// contains the path as the administrator wrote it.
fn exports(root: &dyn SysRoot, find: Finder<'_>, out: &mut String) {
    const LIO: &str = "/sys/kernel/config/target/core";
    const NVMET: &str = "/sys/kernel/config/nvmet/subsystems";
    let list = |folder: &str| root.list(folder).unwrap_or_default();
    let mut export = |file: String, target: String| {
        let path = text(root, &file);
        let Some(path) = path.value().map(|path| path.trim_end_matches('\n')) else { return };
        match find(path) {
            Some(device) => say!(out, "export {device} {target}"),
            None if path.starts_with('/') => say!(out, "export-file {} {target}", field(path)),
            None => {}
        }
    };
    for host in list(LIO) {
        for store in list(&format!("{LIO}/{host}")) {
            export(format!("{LIO}/{host}/{store}/udev_path"), format!("LIO {host}/{store}"));
        }
    }
    for subsystem in list(NVMET) {
        let folder = format!("{NVMET}/{subsystem}");
        let spaces = list(&format!("{folder}/namespaces"));
        let spaces = spaces.iter().map(|space| format!("{folder}/namespaces/{space}"));
        for place in spaces.chain([format!("{folder}/passthru")]) {
            // A disabled namespace does not hold its device open.
            if label(root, &format!("{place}/enable")).value().is_none_or(|on| *on != "0") {
                export(format!("{place}/device_path"), format!("nvmet {subsystem}"));
            }
        }
    }
}

/// Members of imported ZFS pools, which are not listed as holders of their devices: known only from labels read by
/// udev.
fn pools(root: &dyn SysRoot, numbers: &Numbers, out: &mut String) {
    const FOLDER: &str = "/proc/spl/kstat/zfs";
    // Partition types of whole and partial ZFS disks.
    const TYPES: [&str; 2] = ["6a898cc3-1dd2-11b2-99a6-080020736631", "6a945a3b-1dd2-11b2-99a6-080020736631"];
    let imported: BTreeSet<String> = root.list(FOLDER).unwrap_or_default().into_iter().collect();
    let imported: Vec<String> =
        imported.into_iter().filter(|name| root.list(&format!("{FOLDER}/{name}")).is_ok()).collect();
    if imported.is_empty() {
        return;
    }
    let unknown = "ZFS pools are imported; whether it is a member of one is unknown";
    for (number, name) in numbers {
        let Number::Block(major, minor) = number else { continue };
        let path = format!("/run/udev/data/b{major}:{minor}");
        let record = text(root, &path);
        let Some(record) = record.value() else {
            say!(out, "unread-of {name} {path} {unknown}");
            continue;
        };
        let property = |key: &str| {
            let lines = record.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
            lines.filter(|(name, _)| *name == key).map(|(_, value)| value).next_back()
        };
        let is_member = property("ID_FS_TYPE") == Some("zfs_member");
        let is_typed = property("ID_PART_ENTRY_TYPE").is_some_and(|kind| TYPES.contains(&kind));
        match property("ID_FS_LABEL").filter(|_| is_member) {
            Some(pool) if imported.iter().any(|known| known == pool) => say!(out, "pool {name} {pool}"),
            None if is_member || is_typed => say!(out, "unread-of {name} {path} {unknown}"),
            _ => {}
        }
    }
}

/// Open files of processes, and mounts of other mount namespaces.
fn processes(root: &dyn SysRoot, find: Finder<'_>, numbers: &Numbers, own: Option<u32>, out: &mut String) {
    /// The first PID namespace of a boot (`PROC_PID_INIT_INO`).
    const FIRST: &str = "pid:[4026531836]";
    let names = match root.list("/proc") {
        Ok(names) => names,
        Err(error) => return say!(out, "unread /proc {error}"),
    };
    let ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    if ids.is_empty() {
        return say!(out, "unread /proc no process is listed");
    }
    if root.link("/proc/self/ns/pid").is_ok_and(|namespace| namespace != FIRST) {
        say!(out, "unread /proc/self/ns/pid processes outside this PID namespace cannot be seen");
    }
    let mut namespaces: BTreeSet<String> = root.link("/proc/self/ns/mnt").into_iter().collect();
    let mut denied: Vec<(String, RootError)> = Vec::new();
    for id in ids.into_iter().filter(|id| Some(*id) != own) {
        match open_in(root, id, find) {
            Ok(devices) => {
                for device in devices {
                    say!(out, "open {device} {id} {}", command(root, id));
                }
            }
            Err(error) if error.is_absent() => {}
            Err(error) => denied.push((format!("/proc/{id}/fd"), error)),
        }
        // Many processes share a mount namespace.
        if root.link(&format!("/proc/{id}/ns/mnt")).map_or(true, |namespace| namespaces.insert(namespace)) {
            mounted_in(root, id, find, numbers, out);
        }
    }
    if let Some((path, error)) = denied.first() {
        let others = match denied.len() {
            1 => String::new(),
            many => format!(" ({many} processes)"),
        };
        let why = error.clone().into_problem(path).reason;
        say!(out, "unread {path} {why}{others}");
    }
}

/// Devices that a process has open.
fn open_in(root: &dyn SysRoot, id: u32, find: Finder<'_>) -> Result<BTreeSet<String>, RootError> {
    let folder = format!("/proc/{id}/fd");
    let files = root.list(&folder)?;
    let files = files.iter().map(|file| format!("{folder}/{file}"));
    // Sockets and pipes have no path.
    let have_path = |file: &String| root.link(file).is_ok_and(|target| target.starts_with('/'));
    Ok(files.filter(have_path).filter_map(|file| find(&file)).collect())
}

fn command(root: &dyn SysRoot, id: u32) -> String {
    let name = label(root, &format!("/proc/{id}/comm"));
    name.value().map_or("?", |name| name.as_str()).to_owned()
}

/// Mounts of a process' namespace: by device number, or by device file for file systems with their own numbers (btrfs).
fn mounted_in(root: &dyn SysRoot, id: u32, find: Finder<'_>, numbers: &Numbers, out: &mut String) {
    let table = text(root, &format!("/proc/{id}/mountinfo"));
    let lines = table.value().map(String::as_str).unwrap_or_default().lines();
    for mount in lines.filter_map(|line| MountInfo::from_line(line).ok()) {
        let by_number =
            pair(&mount.majmin).and_then(|(major, minor)| numbers.get(&Number::Block(major, minor)));
        let by_source = || find(mount.mount_source.as_deref().filter(|source| source.starts_with('/'))?);
        if let Some(device) = by_number.cloned().or_else(by_source) {
            let (filesystem, point) = (&mount.fs_type, mount.mount_point.display());
            say!(out, "mount {device} {filesystem} {point} {id} {}", command(root, id));
        }
    }
}

/// The first process that maps one of these devices, in words; its descriptor may be closed already.
pub(crate) fn mapped(root: &dyn SysRoot, devices: &[String]) -> Option<String> {
    let numbers = numbers(root);
    let processes = root.list("/proc").unwrap_or_default();
    processes.iter().filter_map(|name| name.parse::<u32>().ok()).find_map(|id| {
        let folder = format!("/proc/{id}/map_files");
        let files = root.list(&folder).unwrap_or_default();
        let device = files.iter().find_map(|file| {
            let name = numbers.get(&number_of(&format!("{folder}/{file}"))?)?;
            devices.contains(name).then_some(name)
        })?;
        Some(format!("{device} mapped by {} (process {id})", command(root, id)))
    })
}

/// Whether the kernel holds one of these block devices (a file system, swap, md, device mapper), so that opening it
/// exclusively fails. Opens it read-only and closes it at once; used only right before a confirmed rebind.
pub(crate) fn claimed(files: &[String]) -> Option<String> {
    let flags = libc::O_EXCL | libc::O_NONBLOCK | libc::O_CLOEXEC;
    files.iter().find_map(|file| {
        let error = OpenOptions::new().read(true).custom_flags(flags).open(file).err()?;
        (error.kind() == io::ErrorKind::ResourceBusy).then(|| format!("the kernel holds {file} (EBUSY)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::root::FolderRoot;

    #[test]
    fn a_device_is_known_by_its_number_whatever_its_name() {
        // Another name for the zero device would need mknod; a descriptor's link is one.
        let file = std::fs::File::open("/dev/zero").unwrap();
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert_eq!(number_of(&own), Some(Number::Character(1, 5)));
        assert_eq!(number_of("/dev/zero"), Some(Number::Character(1, 5)));
        assert_eq!(number_of("/proc"), None);
        let find = |path: &str| (number_of(path)? == Number::Character(1, 5)).then(|| "zero".to_owned());
        let said = |own| answer(&LiveRoot::new(), &find, &Numbers::new(), own);
        let (id, line) = (std::process::id(), format!("open zero {} ", std::process::id()));
        assert!(said(None).contains(&line), "{}", said(None));
        assert!(!said(Some(id)).contains(&line), "the process that asks is no user");
    }

    /// The answer of a folder with these files and links.
    fn told(files: &[(&str, &str)], links: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let place = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        for (path, content) in files {
            io::Write::write_all(&mut std::fs::File::create(place(path)).unwrap(), content.as_bytes())
                .unwrap();
        }
        for (path, target) in links {
            std::os::unix::fs::symlink(target, place(path)).unwrap();
        }
        String::from_utf8(FolderRoot::new(folder.path()).read(PROBE).unwrap()).unwrap()
    }

    const DEVICES: [(&str, &str); 5] = [
        ("sys/class/block/nvme0n1/dev", "259:0\n"),
        ("sys/class/block/nvme0n1p2/dev", "259:2\n"),
        ("sys/class/nvme/nvme0/dev", "240:0\n"),
        ("sys/class/nvme-generic/ng0n1/dev", "239:0\n"),
        ("proc/7/comm", "fio  x\n"),
    ];

    #[test]
    fn every_way_to_use_a_device_is_found() {
        let with =
            |more: &[(&str, &str)], links: &[(&str, &str)]| told(&[&DEVICES[..], more].concat(), links);
        assert_eq!(with(&[("proc/7/fd/none", "")], &[]), "");
        assert_eq!(with(&[], &[("proc/7/fd/3", "/dev/nvme0n1p2")]), "open nvme0n1p2 7 fio x\n");
        assert_eq!(with(&[], &[("proc/7/fd/3", "/dev/nvme0")]), "open nvme0 7 fio x\n");
        assert_eq!(with(&[], &[("proc/7/fd/3", "socket:[12]")]), "");
        let by_id = ("dev/disk/by-id/x", "../../nvme0n1p2");
        assert_eq!(with(&[], &[by_id, ("proc/7/fd/3", "/dev/disk/by-id/x")]), "open nvme0n1p2 7 fio x\n");
        let nvmet = "sys/kernel/config/nvmet/subsystems/t/namespaces/1";
        let (nvmet_path, nvmet_enable) = (format!("{nvmet}/device_path"), format!("{nvmet}/enable"));
        for (files, says) in [
            (
                &[(
                    "proc/7/mountinfo",
                    "36 35 0:4 / /proc rw - proc proc rw\n37 35 259:2 / /a\\040b rw - ext4 x rw\n",
                )][..],
                "mount nvme0n1p2 ext4 /a\\040b 7 fio x\n",
            ),
            (
                &[("proc/7/mountinfo", "37 35 0:44 /@ /home rw shared:1 - btrfs /dev/nvme0n1p2 rw\n")],
                "mount nvme0n1p2 btrfs /home 7 fio x\n",
            ),
            (&[("sys/block/loop3/loop/backing_file", "/dev/disk/by-id/x\n")], "stack nvme0n1p2 loop3\n"),
            (&[(&nvmet_path, "/dev/disk/by-id/x\n"), (&nvmet_enable, "1\n")], "export nvme0n1p2 nvmet t\n"),
            (&[(&nvmet_path, "/dev/disk/by-id/x\n"), (&nvmet_enable, "0\n")], ""),
            (&[(&nvmet_path, "/a b.img\n")], "export-file /a\\040b.img nvmet t\n"),
            (
                &[("sys/kernel/config/nvmet/subsystems/t/passthru/device_path", "/dev/nvme0\n")],
                "export nvme0 nvmet t\n",
            ),
            (
                &[("sys/kernel/config/target/core/iblock_0/d/udev_path", "/dev/nvme0n1\n")],
                "export nvme0n1 LIO iblock_0/d\n",
            ),
        ] {
            assert_eq!(with(&[files, &[("proc/7/fd/none", "")]].concat(), &[by_id]), says);
        }
    }

    #[test]
    fn members_of_imported_pools_are_told_from_those_of_others_and_from_the_unknown() {
        let imported = ("proc/spl/kstat/zfs/tank/state", "ONLINE\n");
        let label = |pool: &str| format!("S:disk/x\nE:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL={pool}\n");
        let quiet = ("proc/7/fd/none", "");
        let with = |whole: &str, part: &str| {
            let files = [("run/udev/data/b259:0", whole), ("run/udev/data/b259:2", part), imported, quiet];
            told(&[&DEVICES[..], &files].concat(), &[])
        };
        assert_eq!(with("", &label("tank")), "pool nvme0n1p2 tank\n");
        assert_eq!(
            with("E:ID_FS_TYPE=ext4\n", &label("cold")),
            "",
            "a pool that is not imported uses nothing"
        );
        let typed = "E:ID_PART_ENTRY_TYPE=6a898cc3-1dd2-11b2-99a6-080020736631\n";
        let said = with("", typed);
        assert!(
            said.starts_with("unread-of nvme0n1p2 /run/udev/data/b259:2 ZFS pools are imported"),
            "{said}"
        );
        let blind = told(&[&DEVICES[..], &[imported, quiet]].concat(), &[]);
        assert_eq!(blind.matches("unread-of nvme0n1").count(), 2, "no udev, no answer: {blind}");
    }

    #[test]
    fn a_machine_without_processes_says_that_they_could_not_be_read() {
        assert_eq!(told(&DEVICES[..4], &[]).split(' ').next(), Some("unread"));
        let outside =
            told(&[&DEVICES[..], &[("proc/7/fd/none", "")]].concat(), &[("proc/self/ns/pid", "pid:[4]")]);
        assert!(outside.starts_with("unread /proc/self/ns/pid "), "{outside}");
    }
}
