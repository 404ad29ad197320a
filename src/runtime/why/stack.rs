//! Block devices below a file: partitions, device mapper, md, loop devices over other files.

use std::{
    fs::File,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use procfs::process::MountInfo;
use rustix::fs::{major, minor};

use crate::{
    engine::file_state::{self, Extent},
    source::{
        SysRoot,
        root::{file_name, flag, label, number, parent, resolve, text},
    },
    waterfall::Layer,
};

/// A level below the file, which can be read by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    pub layer: Layer,
    /// `dm-0`, `loop0`, `ext4 at /srv`.
    pub name: String,
    /// Devices or the file that is read: several members of an array are read together.
    pub paths: Vec<PathBuf>,
    /// Offset of the place that is read.
    pub offset: u64,
    /// `read_ahead_kb` of a block device.
    pub read_ahead: Option<u64>,
    /// Whether a loop device reads its file through the page cache.
    pub buffered: bool,
}

/// The file system of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    /// `ext4 at /srv`.
    pub name: String,
    /// Its block device's number in sysfs: `8:1`; `None` of file systems without one.
    device: Option<String>,
}

/// Stacks deeper than this are read no further.
const DEEPEST: usize = 8;

/// The file system of a file, by `/proc/self/mountinfo`.
pub(super) fn mounted(root: &dyn SysRoot, file: &Path) -> Option<Mounted> {
    let whole = file.canonicalize().ok()?;
    let numbered = |number: u64| {
        let number = format!("{}:{}", major(number), minor(number));
        root.link(&format!("/sys/dev/block/{number}")).is_ok().then_some(number)
    };
    let own = whole.metadata().ok().and_then(|metadata| numbered(metadata.dev()));
    let table = text(root, "/proc/self/mountinfo");
    let lines = table.value().map(String::as_str).unwrap_or_default().lines();
    let mounts = lines.filter_map(|line| MountInfo::from_line(line).ok());
    let above = mounts.filter(|mount| whole.starts_with(&mount.mount_point));
    // The last mount at a point hides those before it.
    let mount = above.max_by_key(|mount| mount.mount_point.as_os_str().len())?;
    // btrfs has a device number of its own; its mount names one of its devices.
    let by_source = || {
        let source = mount.mount_source.as_deref().filter(|source| source.starts_with("/dev/"))?;
        numbered(Path::new(source).metadata().ok()?.rdev())
    };
    Some(Mounted {
        name: format!("{} at {}", mount.fs_type, mount.mount_point.display()),
        device: own.or_else(by_source),
    })
}

/// The levels below the byte at `offset` of a file, from the top down.
pub(super) fn below(root: &dyn SysRoot, mounted: &Mounted, extents: &[Extent], offset: u64) -> Vec<Level> {
    let mut levels = Vec::new();
    if let (Some(device), Some(place)) = (&mounted.device, physical(extents, offset)) {
        descend(root, device, place, &mut levels);
    }
    levels
}

/// The offset on the device of a byte of the file.
fn physical(extents: &[Extent], offset: u64) -> Option<u64> {
    let index = extents.partition_point(|extent| extent.logical <= offset).checked_sub(1)?;
    let extent = extents[index];
    (offset < extent.logical + extent.length).then_some(extent.physical + offset - extent.logical)
}

/// Adds the device of that number at that offset, and everything below it.
fn descend(root: &dyn SysRoot, device: &str, offset: u64, levels: &mut Vec<Level>) {
    let Ok(place) = resolve(root, &format!("/sys/dev/block/{device}")) else { return };
    if levels.len() >= DEEPEST {
        return;
    }
    if let Some(start) = number::<u64>(root, &format!("{place}/start")).get() {
        // A partition is a part of its drive.
        let whole = label(root, &format!("{}/dev", parent(&place)));
        if let Some(whole) = whole.value() {
            return descend(root, whole.as_str(), offset + start * 512, levels);
        }
    }
    let name = file_name(&place).to_owned();
    let slaves = root.list(&format!("{place}/slaves")).unwrap_or_default();
    let backing = text(root, &format!("{place}/loop/backing_file"));
    let is_crypt = label(root, &format!("{place}/dm/uuid"))
        .value()
        .is_some_and(|uuid| uuid.as_str().starts_with("CRYPT-"));
    let backing = backing.value().map(|path| PathBuf::from(path.trim_end_matches('\n')));
    levels.push(Level {
        layer: match (is_crypt, slaves.is_empty() && backing.is_none()) {
            (true, _) => Layer::Crypt,
            (false, true) => Layer::Drive,
            (false, false) => Layer::Array,
        },
        paths: vec![Path::new("/dev").join(&name)],
        offset,
        read_ahead: number(root, &format!("{place}/queue/read_ahead_kb")).get(),
        buffered: backing.is_some() && flag(root, &format!("{place}/loop/dio")).get() == Some(false),
        name,
    });
    if let Some(backing) = backing {
        let own = number::<u64>(root, &format!("{place}/loop/offset")).get().unwrap_or(0);
        return below_file(root, &backing, offset + own, levels);
    }
    let number_of = |slave: &String| {
        let place = resolve(root, &format!("{place}/slaves/{slave}")).ok()?;
        label(root, &format!("{place}/dev")).value().map(ToString::to_string)
    };
    match &slaves[..] {
        [] => {}
        // The data of crypt and LVM begin a few MiB behind the start of what is below: about the same place.
        [one] => {
            if let Some(device) = number_of(one) {
                descend(root, &device, offset, levels);
            }
        }
        several => levels.push(Level {
            layer: Layer::Drive,
            name: several.join(" + "),
            paths: several.iter().map(|name| Path::new("/dev").join(name)).collect(),
            offset: (offset / several.len() as u64) >> 20 << 20,
            read_ahead: None,
            buffered: false,
        }),
    }
}

/// Adds the file of a loop device, and what is below it.
fn below_file(root: &dyn SysRoot, file: &Path, offset: u64, levels: &mut Vec<Level>) {
    let Some(mounted) = mounted(root, file) else { return };
    levels.push(Level {
        layer: Layer::FileSystem,
        name: format!("{} on {}", file.display(), mounted.name),
        paths: vec![file.to_owned()],
        offset,
        read_ahead: None,
        buffered: false,
    });
    let extents = File::open(file).and_then(|open| file_state::extents(&open, super::MOST_EXTENTS));
    if let (Ok(extents), Some(device)) = (extents, mounted.device)
        && let Some(place) = physical(&extents, offset)
    {
        descend(root, &device, place, levels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::capture::TextRoot;

    #[test]
    fn crypt_on_a_partition_of_a_drive_is_three_levels_with_the_place_on_each() {
        let drive = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        let files = [
            ("/sys/devices/virtual/block/dm-0/dev", "253:0"),
            ("/sys/devices/virtual/block/dm-0/dm/uuid", "CRYPT-LUKS2-x"),
            ("/sys/devices/virtual/block/dm-0/queue/read_ahead_kb", "128"),
            (&format!("{drive}/dev"), "259:0"),
            (&format!("{drive}/nvme0n1p2/dev"), "259:2"),
            (&format!("{drive}/nvme0n1p2/start"), "2048"),
        ]
        .map(|(path, text)| format!("file {path} {text}\n"))
        .concat();
        let links = format!(
            "dir /sys/devices/virtual/block/dm-0/slaves\n  nvme0n1p2\n\
             link /sys/dev/block/253:0 ../../devices/virtual/block/dm-0\n\
             link /sys/devices/virtual/block/dm-0/slaves/nvme0n1p2 ../../../..{up}/nvme0n1p2\n\
             link /sys/dev/block/259:2 ../..{p}/nvme0n1p2\nlink /sys/dev/block/259:0 ../..{p}\n",
            p = drive.strip_prefix("/sys").unwrap(),
            up = drive.strip_prefix("/sys/devices").unwrap()
        );
        let root = TextRoot::parse(&format!("iodyno capture 1\n\n{files}{links}")).unwrap();
        let mounted = Mounted { name: "ext4 at /".to_owned(), device: Some("253:0".to_owned()) };
        let extents = [Extent { logical: 0, physical: 1 << 20, length: 8 << 20 }];
        let levels = below(&root, &mounted, &extents, 4096);
        let seen: Vec<_> = levels.iter().map(|level| (level.layer, &*level.name, level.offset)).collect();
        let place = (1 << 20) + 4096;
        assert_eq!(
            seen,
            [(Layer::Crypt, "dm-0", place), (Layer::Drive, "nvme0n1", place + (1 << 20))],
            "{levels:?}"
        );
        assert_eq!(levels[0].read_ahead, Some(128));
        assert!(below(&root, &mounted, &extents, 9 << 20).is_empty(), "a hole has no place");
    }

    #[test]
    fn bytes_are_found_in_their_extents() {
        let extents = [
            Extent { logical: 0, physical: 100 << 10, length: 8 << 10 },
            Extent { logical: 16 << 10, physical: 4 << 10, length: 4 << 10 },
        ];
        assert_eq!(physical(&extents, 4096), Some(104 << 10));
        assert_eq!(physical(&extents, 8 << 10), None);
        assert_eq!(physical(&extents, (16 << 10) + 1), Some((4 << 10) + 1));
        assert_eq!((physical(&extents, 20 << 10), physical(&[], 0)), (None, None));
    }
}
