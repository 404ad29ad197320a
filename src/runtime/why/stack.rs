//! Block devices below a file, by the layers of the machine: partitions, device mapper, md, loop devices over other files. Read here
//! are only the numbers of mounts, and the file and the offset of loop devices.

use std::{
    fs::File,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use procfs::process::MountInfo;
use rustix::fs::{major, minor};

use crate::{
    engine::file_state::{self, Extent},
    machine::{Drive, LayerKind, Machine},
    source::{
        SysRoot,
        root::{file_name, number, text},
    },
    text::Label,
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
    /// `max_sectors_kb` and `max_hw_sectors_kb` of a block device that takes much larger requests than are made.
    pub small_requests: Option<(u64, u64)>,
    /// Pieces of a loop device's file, and their mean size in bytes.
    pub pieces: Option<(u64, u64)>,
}

/// The file system of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    /// `ext4 at /srv`.
    pub name: String,
    /// Kernel name of its block device or partition: `nvme0n1p2`; `None` of file systems without one.
    device: Option<String>,
}

impl Mounted {
    /// Whether it is a file system of memory alone.
    pub(super) fn is_in_memory(&self) -> bool {
        let kind = self.name.split(' ').next();
        self.device.is_none() && matches!(kind, Some("tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs"))
    }
}

/// Stacks deeper than this are read no further.
const DEEPEST: usize = 8;

/// The file system of a file, by `/proc/self/mountinfo`.
pub(super) fn mounted(root: &dyn SysRoot, file: &Path) -> Option<Mounted> {
    let whole = file.canonicalize().ok()?;
    let numbered = |number: u64| {
        let link = root.link(&format!("/sys/dev/block/{}:{}", major(number), minor(number))).ok()?;
        Some(file_name(&link).to_owned())
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
pub(super) fn below(
    (root, machine): (&dyn SysRoot, &Machine),
    mounted: &Mounted,
    extents: &[Extent],
    offset: u64,
) -> Vec<Level> {
    let mut levels = Vec::new();
    if let (Some(device), Some(place)) = (&mounted.device, physical(extents, offset)) {
        descend((root, machine), device, place, &mut levels);
    }
    levels
}

/// The offset on the device of a byte of the file.
fn physical(extents: &[Extent], offset: u64) -> Option<u64> {
    let index = extents.partition_point(|extent| extent.logical <= offset).checked_sub(1)?;
    let extent = extents[index];
    (offset < extent.logical + extent.length).then_some(extent.physical + offset - extent.logical)
}

/// Adds the device of that name, or the drive of that partition, at that offset, and everything below it.
fn descend((root, machine): (&dyn SysRoot, &Machine), part: &str, offset: u64, levels: &mut Vec<Level>) {
    let Some(drive) = machine.whole(part).filter(|_| levels.len() < DEEPEST) else { return };
    let name = drive.name.as_str();
    // A partition is a part of its drive.
    let start = drive.partitions.iter().find(|partition| partition.name == *part);
    let offset = offset + start.and_then(|partition| partition.start.get()).unwrap_or_default().0;
    let layer = machine.layer(name);
    let below = layer.map_or(&[][..], |layer| &layer.below);
    let direct = match layer.map(|layer| &layer.kind) {
        Some(LayerKind::Loop { direct }) => Some(direct.get()),
        _ => None,
    };
    let is_crypt = layer.and_then(|layer| layer.dm()).is_some_and(|dm| dm.kinds().contains(&"crypt"));
    levels.push(Level {
        layer: match (is_crypt, below.is_empty() && direct.is_none()) {
            (true, _) => Layer::Crypt,
            (false, true) => Layer::Drive,
            (false, false) => Layer::Array,
        },
        name: name.to_owned(),
        paths: vec![drive.target().path],
        offset,
        read_ahead: drive.queue.read_ahead_kb.get(),
        buffered: direct == Some(Some(false)),
        small_requests: small_requests(drive),
        pieces: None,
    });
    if direct.is_some() {
        let at = |file: &str| format!("{}/loop/{file}", drive.path);
        let own = number::<u64>(root, &at("offset")).get().unwrap_or(0);
        if let Some(backing) = text(root, &at("backing_file")).value() {
            let backing = Path::new(backing.trim_end_matches('\n'));
            below_file((root, machine), backing, offset + own, levels);
        }
        return;
    }
    match below {
        [] => {}
        // The data of crypt and LVM begin a few MiB behind the start of what is below: about the same place.
        [one] => descend((root, machine), one.as_str(), offset, levels),
        several => levels.push(Level {
            layer: Layer::Drive,
            name: several.iter().map(Label::as_str).collect::<Vec<_>>().join(" + "),
            paths: several.iter().map(|name| Path::new("/dev").join(name.as_str())).collect(),
            offset: (offset / several.len() as u64) >> 20 << 20,
            read_ahead: None,
            buffered: false,
            small_requests: None,
            pieces: None,
        }),
    }
}

/// `max_sectors_kb` and its maximum, where requests are much smaller than they might be.
fn small_requests(drive: &Drive) -> Option<(u64, u64)> {
    const LARGE: u64 = 512;
    let (now, most) = (drive.queue.max_sectors_kb.get()?, drive.queue.max_hw_sectors_kb.get()?);
    (now < most.min(LARGE)).then_some((now, most))
}

/// Adds the file of a loop device, and what is below it.
fn below_file(at: (&dyn SysRoot, &Machine), file: &Path, offset: u64, levels: &mut Vec<Level>) {
    let Some(mounted) = mounted(at.0, file) else { return };
    let extents = File::open(file).and_then(|open| file_state::extents(&open, super::MOST_EXTENTS));
    levels.push(Level {
        layer: Layer::FileSystem,
        name: format!("{} on {}", file.display(), mounted.name),
        paths: vec![file.to_owned()],
        offset,
        read_ahead: None,
        buffered: false,
        small_requests: None,
        pieces: extents.as_ref().ok().and_then(|extents| file_state::pieces(extents)),
    });
    if let (Ok(extents), Some(device)) = (extents, mounted.device)
        && let Some(place) = physical(&extents, offset)
    {
        descend(at, &device, place, levels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{self, capture::TextRoot};

    const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");

    fn below(device: &str, offset: u64) -> Vec<Level> {
        let root = TextRoot::parse(STACK).unwrap();
        let machine = source::read_machine(&root).0;
        let mounted = Mounted { name: "ext4 at /".to_owned(), device: Some(device.to_owned()) };
        let extents = [Extent { logical: 0, physical: 1 << 20, length: 8 << 20 }];
        super::below((&root, &machine), &mounted, &extents, offset)
    }

    fn seen(levels: &[Level]) -> Vec<(Layer, &str, u64)> {
        levels.iter().map(|level| (level.layer, &*level.name, level.offset)).collect()
    }

    #[test]
    fn crypt_on_an_array_is_three_levels_with_the_place_on_each() {
        let levels = below("dm-0", 4096);
        let place = (1 << 20) + 4096;
        assert_eq!(
            seen(&levels),
            [
                (Layer::Crypt, "dm-0", place),
                (Layer::Array, "md0", place),
                (Layer::Drive, "nvme0n1p1 + nvme1n1 + nvme2n1", 0)
            ]
        );
        assert_eq!(levels[2].paths.len(), 3, "members are read together");
        assert!(below("dm-0", 9 << 20).is_empty(), "a hole has no place");
        assert!(below("sdz", 4096).is_empty(), "a device that the machine does not have");
    }

    #[test]
    fn a_partition_is_its_drive_behind_its_start() {
        let machine = source::read_machine(&TextRoot::parse(STACK).unwrap()).0;
        let start = machine.whole("nvme0n1p1").unwrap().partitions[0].start.get().unwrap().0;
        let levels = below("nvme0n1p1", 4096);
        assert_eq!(seen(&levels), [(Layer::Drive, "nvme0n1", start + (1 << 20) + 4096)]);
        assert!(start > 0, "the fixture has a start");
    }

    #[test]
    fn a_loop_device_without_its_file_here_ends_the_path() {
        let levels = below("loop0", 0);
        assert_eq!(seen(&levels), [(Layer::Array, "loop0", 1 << 20)]);
        assert!(levels[0].buffered);
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
