//! [`Layers`]: what lies between drives and files: arrays, device mapper, caches, loop devices, file systems.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{Drive, Machine};
use crate::{
    model::{DriveName, Reading},
    text::Label,
    units::{self, Bytes, UnitSystem, counted},
};

/// Everything above the drives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layers {
    /// Software block devices, by kernel name.
    pub devices: BTreeMap<DriveName, Layer>,
    /// Mounted file systems on block devices, in the order of the mount table.
    pub file_systems: Vec<FileSystem>,
    /// ZFS' cache of file data, where the module is loaded.
    pub arc: Option<ArcCache>,
}

/// One software block device.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Its kind and properties.
    pub kind: LayerKind,
    /// Block devices directly below it, by kernel name: drives, partitions, other software devices.
    pub below: Vec<Label>,
}

/// The kind of a software block device.
#[derive(Debug, Clone, PartialEq)]
pub enum LayerKind {
    /// md array.
    Md(Box<Md>),
    /// Device mapper.
    Dm(Dm),
    /// bcache: backing device with a cache.
    Bcache {
        /// `bcache/cache_mode`: `writethrough`.
        mode: Reading<Label>,
        /// `bcache/state`: `clean`, `no cache`.
        state: Reading<Label>,
    },
    /// Loop device over a file or a block device.
    Loop {
        /// `loop/dio`: reads and writes of the file use direct I/O.
        direct: Reading<bool>,
    },
    /// Compressed memory.
    Zram {
        /// `comp_algorithm`.
        algorithm: Reading<Label>,
    },
    /// Other software devices.
    Other,
}

/// An md array: `/sys/block/mdN/md/*` (Documentation/admin-guide/md.rst).
#[derive(Debug, Clone, PartialEq)]
pub struct Md {
    /// `level`: `raid10`.
    pub level: Reading<Label>,
    /// `raid_disks`: members of a complete array.
    pub disks: Reading<u32>,
    /// `chunk_size`; 0 for levels without stripes.
    pub chunk: Reading<Bytes>,
    /// `array_state`: `clean`, `active`.
    pub state: Reading<Label>,
    /// `degraded`: number of members missing; absent for levels without redundancy.
    pub degraded: Reading<u32>,
    /// `sync_action`: `idle`, `resync`, `recover`, `check`, `repair`, `reshape`, `frozen`.
    pub sync_action: Reading<Label>,
    /// `sync_speed`, bytes per second; absent while nothing is synchronised.
    pub sync_speed: Reading<Bytes>,
    /// `sync_completed`; absent while nothing is synchronised.
    pub sync_completed: Reading<Progress>,
    /// `bitmap/location`: `none`, `+8` (sectors from the superblock), `file`.
    pub bitmap: Reading<Label>,
    /// `bitmap/chunksize`: bytes of the array for each bit.
    pub bitmap_chunk: Reading<Bytes>,
    /// `group_thread_cnt`: worker threads of RAID 4, 5 and 6; 0 for the array's one thread.
    pub group_threads: Reading<u32>,
    /// `stripe_cache_size`, entries of a page for each member; RAID 4, 5 and 6.
    pub stripe_cache: Reading<u32>,
    /// Members, by slot, spares and faulty ones last.
    pub members: Vec<Member>,
}

/// Progress of a resync, in sectors of 512 B of each member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Sectors done.
    pub done: u64,
    /// Sectors in all.
    pub total: u64,
}

/// A member of an array: `md/dev-NAME`.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Kernel name of the drive or partition.
    pub name: Label,
    /// `state`: `in_sync`, `faulty`, `spare`, `in_sync,write_mostly`.
    pub state: Reading<Label>,
    /// `slot`: number, `None` for a spare or faulty one.
    pub slot: Option<u32>,
}

/// A device of device mapper.
#[derive(Debug, Clone, PartialEq)]
pub struct Dm {
    /// `dm/name`.
    pub name: Reading<Label>,
    /// The subsystem that made it, by the prefix of `dm/uuid`: `CRYPT`, `LVM`, `mpath`.
    pub maker: Option<Label>,
    /// Its table without keys and devices (`DM_TABLE_STATUS`; root).
    pub targets: Reading<Vec<Target>>,
}

/// One line of a device mapper table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Target type: `crypt`, `linear`, `striped`, `thin`, `cache`, `multipath`.
    pub kind: Label,
    /// Length.
    pub size: Bytes,
    /// Of `crypt` the cipher and optional parameters, of `striped` the number of stripes and the chunk; never a key.
    pub options: Vec<Label>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Kernel names of its block devices.
    pub devices: Vec<Label>,
    /// Mount point.
    pub point: Label,
    /// Type: `ext4`.
    pub kind: Label,
    /// Options of mount and super block, sorted.
    pub options: Vec<Label>,
    /// btrfs' profiles of data and metadata: `data raid1, metadata raid1c3`; `None` of other file systems.
    pub profiles: Option<Label>,
}

/// ZFS' adaptive replacement cache: `/proc/spl/kstat/zfs/arcstats`.
#[derive(Debug, Clone, PartialEq)]
pub struct ArcCache {
    /// `size`.
    pub size: Reading<Bytes>,
    /// `c_max`: the most it may take.
    pub most: Reading<Bytes>,
}

/// A device or file system of a stack, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Level {
    /// Levels above the drive, 0 for what lies on it directly.
    pub depth: usize,
    /// A block device rather than a file system.
    pub is_device: bool,
    /// `md0 RAID10, 4 of 4 members`, `/home ext4, noatime`.
    pub words: String,
}

impl Progress {
    /// Percent done.
    pub(crate) fn percent(self) -> f64 {
        100.0 * self.done as f64 / self.total.max(1) as f64
    }
}

impl Md {
    /// The level as people write it: `RAID10`.
    pub(crate) fn level_name(&self) -> String {
        self.level.value().map_or_else(|| "md".to_owned(), |level| level.as_str().to_uppercase())
    }

    /// The state of a member, unless it is in sync.
    pub(crate) fn state_of(&self, part: &str) -> Option<&str> {
        let state = self.members.iter().find(|member| member.name == *part)?.state.value()?.as_str();
        Some(state).filter(|state| *state != "in_sync")
    }

    /// The running resync, check, recovery or reshape; `None` when idle or frozen.
    pub(crate) fn syncing(&self) -> Option<&Label> {
        self.sync_action.value().filter(|action| !matches!(action.as_str(), "idle" | "frozen"))
    }

    /// Seconds that the resync takes at its present speed.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let progress = self.sync_completed.get()?;
        let speed = self.sync_speed.get().filter(|speed| speed.0 > 0)?;
        Some(progress.total.saturating_sub(progress.done) as f64 * 512.0 / speed.0 as f64)
    }

    /// Members that carry data rather than parity or copies in each stripe; `None` for unknown levels.
    pub(crate) fn data_members(&self) -> Option<u32> {
        let disks = self.disks.get()?;
        match self.level.value()?.as_str() {
            "raid0" => Some(disks),
            "raid4" | "raid5" => disks.checked_sub(1),
            "raid6" => disks.checked_sub(2),
            "raid10" => Some(disks.div_ceil(2)),
            _ => None,
        }
    }

    /// Whether all members carry data, so that each stripe waits for the slowest one.
    pub(crate) fn is_striped(&self) -> bool {
        self.level.value().is_some_and(|level| level.as_str() == "raid0")
    }

    /// Bytes of a full stripe.
    pub(crate) fn stripe(&self) -> Option<Bytes> {
        let chunk = self.chunk.get().filter(|chunk| chunk.0 > 0)?;
        chunk.0.checked_mul(u64::from(self.data_members()?)).map(Bytes)
    }

    /// Whether it is RAID 4, 5 or 6.
    pub(crate) fn has_parity(&self) -> bool {
        self.level.value().is_some_and(|level| matches!(level.as_str(), "raid4" | "raid5" | "raid6"))
    }

    /// `RAID5, 3 of 4 members, resync 12.5 %, 2 h left`.
    fn words(&self) -> String {
        let mut words = vec![self.level_name()];
        if let Some(disks) = self.disks.get() {
            let missing = self.degraded.get().unwrap_or(0).min(disks);
            words.push(if missing > 0 {
                format!("{} of {}", disks - missing, counted(disks as usize, "member"))
            } else {
                counted(disks as usize, "member")
            });
        }
        words.extend(self.sync_words());
        if let Some(chunk) = self.chunk.get().filter(|chunk| chunk.0 > 0) {
            words.push(format!("chunk {}", units::block_size(chunk)));
        }
        words.join(", ")
    }

    /// `resync 12.5 % at 200.0 MB/s, 2 h left`.
    pub(crate) fn sync_words(&self) -> Option<String> {
        let action = self.syncing()?;
        let done = self.sync_completed.get().map(|progress| format!(" {:.1} %", progress.percent()));
        let speed = self.sync_speed.get();
        let speed = speed.map(|speed| format!(" at {}/s per member", UnitSystem::Decimal.size(speed)));
        let left = self.seconds_left().map(|left| format!(", {} left", duration(left)));
        let [done, speed, left] = [done, speed, left].map(Option::unwrap_or_default);
        Some(format!("{action}{done}{speed}{left}"))
    }
}

/// `40 s`, `12 min`, `5.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

impl Dm {
    /// Types of its targets; by its maker where the table is unreadable.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = match (self.targets.value(), &self.maker) {
            (Some(targets), _) => targets.iter().map(|target| target.kind.as_str()).collect(),
            (None, Some(maker)) if *maker == "CRYPT" => vec!["crypt"],
            (None, Some(maker)) if *maker == "mpath" => vec!["multipath"],
            _ => Vec::new(),
        };
        kinds.dedup();
        kinds
    }

    /// `VOLUMEGROUP/VOLUME` of LVM, whose name doubles hyphens; the name itself of others.
    pub(crate) fn title(&self) -> Option<String> {
        let name = self.name.value()?.as_str();
        if self.maker.as_ref().is_none_or(|maker| *maker != "LVM") {
            return Some(name.to_owned());
        }
        let marked = name.replace("--", "\u{1}");
        let title = marked.split_once('-').map(|(group, volume)| format!("{group}/{volume}"));
        Some(title.unwrap_or(marked).replace('\u{1}', "-"))
    }

    fn words(&self) -> String {
        let maker = self.maker.as_ref().filter(|maker| **maker == "LVM").map(|_| "LVM");
        let kinds = self.kinds();
        let kinds = match (kinds.is_empty(), maker) {
            (false, _) => kinds.join(" and "),
            (true, Some(_)) => "volume".to_owned(),
            (true, None) => "device mapper".to_owned(),
        };
        let words = maker.into_iter().map(str::to_owned).chain([kinds]).chain(self.title());
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Layer {
    /// Its kind in words: `RAID10, 4 members`, `crypt cryptroot`.
    pub(crate) fn words(&self) -> String {
        match &self.kind {
            LayerKind::Md(md) => md.words(),
            LayerKind::Dm(dm) => dm.words(),
            LayerKind::Bcache { mode, state } => {
                let known = [mode, state].into_iter().filter_map(Reading::value).map(ToString::to_string);
                ["bcache".to_owned()].into_iter().chain(known).collect::<Vec<_>>().join(", ")
            }
            LayerKind::Loop { direct } => match direct.get() {
                Some(true) => "loop, direct I/O".to_owned(),
                Some(false) => "loop, through the page cache".to_owned(),
                None => "loop".to_owned(),
            },
            LayerKind::Zram { algorithm } => {
                algorithm.value().map_or_else(|| "zram".to_owned(), |words| format!("zram {words}"))
            }
            LayerKind::Other => "software device".to_owned(),
        }
    }

    /// The md array, if it is one.
    pub(crate) fn md(&self) -> Option<&Md> {
        match &self.kind {
            LayerKind::Md(md) => Some(md),
            _ => None,
        }
    }

    /// The device of device mapper, if it is one.
    pub(crate) fn dm(&self) -> Option<&Dm> {
        match &self.kind {
            LayerKind::Dm(dm) => Some(dm),
            _ => None,
        }
    }

    /// Whether it makes one device of block devices below it, rather than of memory or a file.
    pub(crate) fn is_stacked(&self) -> bool {
        !self.below.is_empty() && !matches!(self.kind, LayerKind::Loop { .. } | LayerKind::Zram { .. })
    }
}

impl FileSystem {
    /// `/home ext4, noatime`: options that every mount has are left out, and those of reserved blocks, which change no I/O.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.point, self.kind_and_options())
    }

    /// The same without its mount point.
    pub(crate) fn kind_and_options(&self) -> String {
        const LEFT_OUT: [&str; 9] = [
            "rw",
            "relatime",
            "seclabel",
            "inode64",
            "subvol",
            "subvolid",
            "resuid",
            "resgid",
            "resv_strict",
        ];
        let is_left_out =
            |option: &&Label| LEFT_OUT.contains(&option.as_str().split('=').next().unwrap_or(""));
        let options = self.options.iter().filter(|option| !is_left_out(option)).map(Label::as_str);
        let several = (self.devices.len() > 1).then(|| counted(self.devices.len(), "device"));
        [self.kind.to_string()]
            .into_iter()
            .chain(several)
            .chain(self.profiles.iter().map(ToString::to_string))
            .chain(options.map(str::to_owned))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Machine {
    /// The layer of a software device.
    pub(crate) fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.devices.get(name)
    }

    /// Arrays with their drive, by name.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (&Drive, &Md)> {
        self.drives.iter().filter_map(|drive| Some((drive, self.layer(drive.name.as_str())?.md()?)))
    }

    /// The whole block device of that name or with that partition.
    pub(crate) fn whole(&self, part: &str) -> Option<&Drive> {
        let has = |drive: &&Drive| drive.partitions.iter().any(|partition| partition.name == *part);
        self.drives.iter().find(|drive| drive.name.as_str() == part).or_else(|| self.drives.iter().find(has))
    }

    /// Whole block devices directly below a software device.
    pub(crate) fn directly_below(&self, name: &str) -> Vec<&Drive> {
        let below = self.layer(name).map_or(&[][..], |layer| &layer.below);
        let mut drives: Vec<&Drive> = Vec::new();
        for drive in below.iter().filter_map(|part| self.whole(part.as_str())) {
            if drives.iter().all(|known| known.name != drive.name) {
                drives.push(drive);
            }
        }
        drives
    }

    /// Hardware drives at the bottom of a device's stack; itself if it is hardware.
    pub(crate) fn hardware_below(&self, name: &str) -> Vec<&Drive> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Drive> = self.whole(name).into_iter().collect();
        while let Some(drive) = open.pop() {
            // A malformed capture may stack devices in a circle.
            if !seen.insert(&drive.name) {
                continue;
            }
            if drive.kind.is_software() {
                open.extend(self.directly_below(drive.name.as_str()));
            } else {
                found.push(drive);
            }
        }
        found.sort_by_key(|drive| self.position(drive));
        found
    }

    fn position(&self, drive: &Drive) -> usize {
        self.drives.iter().position(|other| other.name == drive.name).unwrap_or(usize::MAX)
    }

    /// Every device that shares data with this one: those above and below it, and those above these.
    pub(crate) fn related(&self, name: &str) -> BTreeSet<&DriveName> {
        let mut below = BTreeSet::new();
        let mut open: Vec<&Drive> = self.whole(name).into_iter().collect();
        while let Some(drive) = open.pop() {
            if below.insert(&drive.name) {
                open.extend(self.directly_below(drive.name.as_str()));
            }
        }
        let above = below.iter().flat_map(|name| self.devices_above(name.as_str()));
        above.map(|drive| &drive.name).chain(below.iter().copied()).collect()
    }

    /// Every software device with this drive in its stack, itself included.
    pub(crate) fn devices_above(&self, name: &str) -> Vec<&Drive> {
        let mut above: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for drive in &self.drives {
            for below in self.directly_below(drive.name.as_str()) {
                above.entry(below.name.as_str()).or_default().push(drive.name.as_str());
            }
        }
        let mut found = BTreeSet::from([name]);
        let mut open = vec![name];
        while let Some(at) = open.pop() {
            open.extend(above.get(at).into_iter().flatten().filter(|name| found.insert(name)));
        }
        self.drives.iter().filter(|drive| found.contains(drive.name.as_str())).collect()
    }

    /// Names of the devices that another one lies on.
    pub(crate) fn carriers(&self) -> BTreeSet<&str> {
        let below = |drive: &Drive| {
            let others = self.directly_below(drive.name.as_str()).into_iter();
            others
                .map(|below| below.name.as_str())
                .filter(|name| *name != drive.name.as_str())
                .collect::<Vec<_>>()
        };
        self.drives.iter().flat_map(below).collect()
    }

    /// The stack on a drive, from the drive up: each device with those above it, then file systems with the loop devices on
    /// their files.
    pub(crate) fn stack_above(&self, drive: &Drive) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut seen = BTreeSet::from([drive.name.as_str()]);
        self.climb(drive, 0, &mut seen, &mut levels);
        levels
    }

    fn climb<'a>(
        &'a self,
        drive: &'a Drive,
        depth: usize,
        seen: &mut BTreeSet<&'a str>,
        levels: &mut Vec<Level>,
    ) {
        let parts: Vec<&str> = [drive.name.as_str()]
            .into_iter()
            .chain(drive.partitions.iter().map(|partition| partition.name.as_str()))
            .collect();
        let is_here = |names: &[Label]| names.iter().any(|name| parts.contains(&name.as_str()));
        let mut named = BTreeSet::new();
        let mounts = self.layers.file_systems.iter().filter(|mount| is_here(&mount.devices));
        let mounts: Vec<&FileSystem> = mounts.filter(|mount| named.insert(mount.words())).collect();
        let above: Vec<_> = self.layers.devices.iter().filter(|(_, layer)| is_here(&layer.below)).collect();
        let mount_of = |above: Option<&Drive>| {
            let file = above?.backing_file.as_ref()?.as_str();
            let mounts = mounts.iter().filter(|mount| Path::new(file).starts_with(mount.point.as_str()));
            mounts.map(|mount| mount.point.as_str()).max_by_key(|point| point.len())
        };
        let above: Vec<_> = above
            .into_iter()
            .map(|(name, layer)| {
                let above = self.whole(name.as_str());
                (name, layer, above, mount_of(above))
            })
            .collect();
        let mut put = |mount: Option<&FileSystem>, depth: usize, levels: &mut Vec<Level>| {
            let point = mount.map(|mount| mount.point.as_str());
            for (name, layer, above, _) in above.iter().filter(|(.., at)| *at == point) {
                if !seen.insert(name.as_str()) {
                    continue;
                }
                let file = above.and_then(|drive| drive.backing_file.as_ref());
                let file = file.map_or_else(String::new, |file| format!(", {file}"));
                levels.push(Level {
                    depth,
                    is_device: true,
                    words: format!("{name} {}{file}", layer.words()),
                });
                if let Some(above) = above {
                    self.climb(above, depth + 1, seen, levels);
                }
            }
        };
        put(None, depth, levels);
        for mount in mounts.iter().copied() {
            levels.push(Level { depth, is_device: false, words: mount.words() });
            put(Some(mount), depth + 1, levels);
        }
    }

    /// A block device and what lies below it, from the top down: `md0 RAID1`, then its members.
    pub(crate) fn stack_below(&self, part: &str) -> Vec<Level> {
        let mut levels = Vec::new();
        self.descend(part, (0, None), &mut BTreeSet::new(), &mut levels);
        levels
    }

    fn descend<'a>(
        &'a self,
        part: &'a str,
        (depth, array): (usize, Option<&Md>),
        seen: &mut BTreeSet<&'a str>,
        levels: &mut Vec<Level>,
    ) {
        if !seen.insert(part) {
            return;
        }
        let Some(drive) = self.whole(part) else { return };
        let on = if drive.name.as_str() == part { String::new() } else { format!(" of {}", drive.name) };
        let layer = self.layer(drive.name.as_str());
        let what = layer.map_or_else(|| drive.short_model(), Layer::words);
        let state = array.and_then(|md| md.state_of(part)).map(|state| format!(", {state}"));
        let words = format!("{part}{on} {what}{}", state.unwrap_or_default());
        levels.push(Level { depth, is_device: true, words });
        for below in layer.map_or(&[][..], |layer| &layer.below) {
            self.descend(below.as_str(), (depth + 1, layer.and_then(Layer::md)), seen, levels);
        }
    }
}
