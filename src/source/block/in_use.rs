//! Users of a drive, through every layer, and what lies on what: partitions, loop devices, md, device mapper, bcache, file systems on several
//! devices, swap, targets, processes.

mod depth;
mod mounts;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use mounts::{Mount, unescape};

use crate::{
    machine::{Drive, Process, Use, User, layers::FileSystem},
    model::{Problem, ProblemKind},
    source::{
        open_files,
        root::{RootError, SysRoot, label, text},
    },
    text::Label,
};

/// Rows of `/proc/swaps` that are read: the kernel has no more (`MAX_SWAPFILES`).
const MOST_SWAPS: usize = 1 << 5;

/// What lies on what.
#[derive(Debug, Default)]
pub(crate) struct Stacking {
    /// Block devices directly below each stacked one, by kernel name.
    pub below: BTreeMap<String, BTreeSet<String>>,
    /// Mounts on block devices, in the order of the mount table.
    pub file_systems: Vec<FileSystem>,
}

/// Fills in `used_by` and `users_unread` of every drive; returns what lies on what, and the tables that could not be read.
pub(super) fn read(root: &dyn SysRoot, drives: &mut [Drive]) -> (Stacking, Vec<Problem>) {
    let parts = Parts::of(root, drives);
    let mut users = Users {
        parts: &parts,
        mounts: Vec::new(),
        direct: BTreeMap::new(),
        above: BTreeMap::new(),
        lone: Vec::new(),
        unread: Vec::new(),
        unread_of: Vec::new(),
    };
    let mut problems = users.tables(root);
    users.layers(root);
    users.answer(root);
    let Users { unread, unread_of, lone, .. } = &users;
    let found: Vec<_> = (0..drives.len()).map(|drive| users.of_drive(drive)).collect();
    for (index, (drive, mut used)) in drives.iter_mut().zip(found).enumerate() {
        used.extend(lone.iter().filter(|(of, _)| *of == index).map(|(_, used)| used.clone()));
        drive.used_by = used.into_iter().collect();
        let own = unread_of.iter().filter(|(of, _)| *of == index).map(|(_, problem)| problem);
        drive.users_unread = unread.iter().chain(own).cloned().collect();
    }
    let stacking = users.stacking(&mut problems);
    (stacking, problems)
}

/// A drive or one of its partitions.
struct Part {
    drive: usize,
    name: String,
    label: Label,
    path: String,
}

/// All drives and partitions, with lookup tables.
struct Parts {
    all: Vec<Part>,
    /// The places of each drive's parts in `all`, itself first.
    of_drives: Vec<Range<usize>>,
    by_number: HashMap<String, usize>,
    /// By kernel name, and device mapper's also as `mapper/NAME`.
    by_name: HashMap<String, usize>,
    /// Parts that share one btrfs file system.
    siblings: HashMap<usize, BTreeSet<usize>>,
    /// Profiles of the btrfs file system on a part.
    profiles: HashMap<usize, Label>,
    /// Drives behind an NVMe character device.
    behind: HashMap<String, Vec<usize>>,
    /// The device behind `/dev/root`.
    root_file: Option<String>,
}

impl Parts {
    fn of(root: &dyn SysRoot, drives: &[Drive]) -> Self {
        let (mut all, mut of_drives) = (Vec::new(), Vec::new());
        let mut behind: HashMap<String, Vec<usize>> = HashMap::new();
        for (drive, read) in drives.iter().enumerate() {
            let first = all.len();
            let part = |name: &str, path: String| Part {
                drive,
                name: name.to_owned(),
                label: Label::new(name),
                path,
            };
            all.push(part(read.name.as_str(), read.path.to_string()));
            let partitions = read.partitions.iter().map(|partition| partition.name.as_str());
            all.extend(partitions.map(|name| part(name, format!("{}/{name}", read.path))));
            of_drives.push(first..all.len());
            for device in read.nvme.iter().flat_map(crate::machine::Nvme::character_devices) {
                behind.entry(device).or_default().push(drive);
            }
        }
        let mut parts = Self {
            by_name: all.iter().enumerate().map(|(index, part)| (part.name.clone(), index)).collect(),
            by_number: HashMap::new(),
            siblings: HashMap::new(),
            profiles: HashMap::new(),
            behind,
            root_file: root_argument(root),
            all,
            of_drives,
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
        (parts.siblings, parts.profiles) = parts.btrfs(root);
        parts
    }

    /// `/sys/fs/btrfs/UUID/devices/*`: file systems on several devices, of which a mount names one; and their profiles.
    fn btrfs(&self, root: &dyn SysRoot) -> (HashMap<usize, BTreeSet<usize>>, HashMap<usize, Label>) {
        const FOLDER: &str = "/sys/fs/btrfs";
        let mut siblings: HashMap<usize, BTreeSet<usize>> = HashMap::new();
        let mut profiles = HashMap::new();
        for id in root.list(FOLDER).unwrap_or_default() {
            let devices = root.list(&format!("{FOLDER}/{id}/devices")).unwrap_or_default();
            let group: BTreeSet<usize> =
                devices.iter().filter_map(|name| self.by_name.get(name).copied()).collect();
            siblings.extend(group.iter().map(|part| (*part, group.clone())));
            if let Some(words) = btrfs_profiles(root, &format!("{FOLDER}/{id}/allocation")) {
                profiles.extend(group.iter().map(|part| (*part, words.clone())));
            }
        }
        (siblings, profiles)
    }

    /// The parts below a mount.
    fn mounted(&self, mount: &Mount) -> BTreeSet<usize> {
        let by_number = mount.number.as_ref().and_then(|number| self.by_number.get(number).copied());
        // bcachefs names all its devices: /dev/sda:/dev/sdb.
        let by_name = || mount.source.split(':').filter_map(|file| self.by_file(file)).collect();
        let found: BTreeSet<usize> = by_number.map_or_else(by_name, |index| BTreeSet::from([index]));
        let further = mount.further_devices.iter().filter_map(|file| self.by_file(file));
        found.into_iter().chain(further).flat_map(|index| self.with_siblings(index)).collect()
    }

    fn with_siblings(&self, index: usize) -> BTreeSet<usize> {
        self.siblings.get(&index).cloned().unwrap_or_else(|| BTreeSet::from([index]))
    }

    fn by_file(&self, file: &str) -> Option<usize> {
        let file = if file == "/dev/root" { self.root_file.as_deref()? } else { file };
        let name = file.strip_prefix("/dev/")?;
        // A slash in a device file's name is an exclamation mark in its kernel name.
        self.by_name.get(name).or_else(|| self.by_name.get(&name.replace('/', "!"))).copied()
    }

    /// All parts of a drive, itself first.
    fn of_drive(&self, drive: usize) -> Range<usize> {
        self.of_drives[drive].clone()
    }

    /// The drive of a part.
    fn whole(&self, part: &str) -> Option<&str> {
        let part = &self.all[*self.by_name.get(part)?];
        Some(&self.all[self.of_drives[part.drive].start].name)
    }
}

/// Profiles in use: the folders of `allocation/data` and `allocation/metadata`, several of them while a conversion runs.
fn btrfs_profiles(root: &dyn SysRoot, folder: &str) -> Option<Label> {
    const PROFILES: [&str; 9] =
        ["single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"];
    let of = |kind: &str| {
        let names = root.list(&format!("{folder}/{kind}")).unwrap_or_default();
        let used: Vec<&str> =
            PROFILES.into_iter().filter(|known| names.iter().any(|name| name == known)).collect();
        (!used.is_empty()).then(|| format!("{kind} {}", used.join(" and ")))
    };
    let words: Vec<String> = ["data", "metadata"].into_iter().filter_map(of).collect();
    (!words.is_empty()).then(|| Label::new(&words.join(", ")))
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

/// Users and stacked devices of each part.
struct Users<'a> {
    parts: &'a Parts,
    mounts: Vec<Mount>,
    direct: BTreeMap<usize, BTreeSet<User>>,
    /// Kernel names of block devices stacked on a part.
    above: BTreeMap<usize, BTreeSet<String>>,
    /// Users of a drive through an NVMe character device.
    lone: Vec<(usize, Use)>,
    /// Why any drive may have unknown users.
    unread: Vec<Problem>,
    /// Why this drive may have unknown users.
    unread_of: Vec<(usize, Problem)>,
}

impl Users<'_> {
    fn add(&mut self, part: usize, user: User) {
        self.direct.entry(part).or_default().insert(user);
    }

    fn stacking(&self, problems: &mut Vec<Problem>) -> Stacking {
        let mut below: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (lower, uppers) in &self.above {
            for upper in uppers {
                below.entry(upper.clone()).or_default().insert(self.parts.all[*lower].name.clone());
            }
        }
        let below = depth::bounded(below, |part| self.parts.whole(part), problems);
        let file_system = |mount: &Mount| {
            let parts = self.parts.mounted(mount);
            let profiles = parts.iter().find_map(|part| self.parts.profiles.get(part)).cloned();
            let names = parts.into_iter().map(|part| self.parts.all[part].label.clone());
            FileSystem {
                profiles: profiles.filter(|_| mount.filesystem == "btrfs"),
                devices: names.collect(),
                point: Label::new(&mount.point),
                kind: Label::new(&mount.filesystem),
                options: mount.options.iter().map(|option| Label::new(option)).collect(),
            }
        };
        let mounts = self.mounts.iter().map(file_system).filter(|mount| !mount.devices.is_empty());
        Stacking { below, file_systems: mounts.collect() }
    }

    fn stack(&mut self, part: usize, upper: &str) {
        // A malformed capture may stack a device on itself.
        if self.parts.all[part].name != upper {
            self.above.entry(part).or_default().insert(upper.to_owned());
        }
    }

    /// The parts below a file.
    fn under_file(&self, file: &str) -> BTreeSet<usize> {
        mounts::of_file(&self.mounts, file).map(|mount| self.parts.mounted(mount)).unwrap_or_default()
    }

    /// Mounts and swap of this process' tables.
    fn tables(&mut self, root: &dyn SysRoot) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.mounts = mounts::read(root, &mut problems);
        let mounted: Vec<_> = self
            .mounts
            .iter()
            .flat_map(|mount| {
                let (point, filesystem) = (Label::new(&mount.point), Label::new(&mount.filesystem));
                let user = User::Mount { point, filesystem };
                self.parts.mounted(mount).into_iter().map(move |part| (part, user.clone()))
            })
            .collect();
        for (part, user) in mounted {
            self.add(part, user);
        }
        let swaps = text(root, "/proc/swaps");
        // A kernel without swap has no such file.
        problems.extend(swaps.problem().filter(|problem| problem.kind != ProblemKind::Absent));
        let rows = swaps.value().map(String::as_str).unwrap_or_default().lines().skip(1);
        let count = rows.clone().count();
        if count > MOST_SWAPS {
            let why = format!("{count} rows of swap; the first {MOST_SWAPS} are read");
            problems.push(Problem::new(ProblemKind::Cut, &*swaps.path(), why));
        }
        self.unread.extend(problems.iter().cloned());
        for row in rows.take(MOST_SWAPS) {
            let Some(file) = row.split_ascii_whitespace().next().map(unescape) else { continue };
            if let Some(part) = self.parts.by_file(&file) {
                self.add(part, User::Swap);
            } else {
                for part in self.under_file(&file) {
                    self.add(part, User::SwapFile(Label::new(&file)));
                }
            }
        }
        problems
    }

    /// Stacked devices and mounted file systems of every part from sysfs, independent of this process' mount table.
    fn layers(&mut self, root: &dyn SysRoot) {
        let parts = self.parts;
        for (index, part) in parts.all.iter().enumerate() {
            let folder = format!("{}/holders", part.path);
            match root.list(&folder) {
                Ok(holders) => holders.iter().for_each(|holder| self.stack(index, holder)),
                Err(error) if error.is_absent() => {}
                Err(error) => {
                    self.unread_of.push((part.drive, error.into_problem(&folder)));
                }
            }
            for lower in root.list(&format!("{}/slaves", part.path)).unwrap_or_default() {
                if let Some(lower) = parts.by_name.get(&lower) {
                    self.stack(*lower, &part.name);
                }
            }
            // A cache device without a backing device has no holder.
            if root.list(&format!("{}/bcache", part.path)).is_ok() && !self.above.contains_key(&index) {
                self.stack(index, "bcache");
            }
            let file = text(root, &format!("{}/loop/backing_file", part.path));
            if let Some(file) = file.value() {
                let file = file.trim_end_matches('\n');
                let file = file.strip_suffix(" (deleted)").unwrap_or(file);
                let device = parts.by_file(file).map(|device| BTreeSet::from([device]));
                for lower in device.unwrap_or_else(|| self.under_file(file)) {
                    self.stack(lower, &part.name);
                }
            }
        }
        for filesystem in ["ext4", "xfs", "f2fs", "erofs", "jfs", "nilfs2", "gfs2"] {
            for name in root.list(&format!("/sys/fs/{filesystem}")).unwrap_or_default() {
                self.hidden_mount(&name, filesystem, None);
            }
        }
        // Journals: NAME-INODE inside a file system, NAME on their own device.
        for name in root.list("/proc/fs/jbd2").unwrap_or_default() {
            let inside = name.rsplit_once('-').map(|(device, _)| device);
            let device =
                [Some(&*name), inside].into_iter().flatten().find(|name| parts.by_name.contains_key(*name));
            if let Some(device) = device {
                self.hidden_mount(device, "ext4", None);
            }
        }
    }

    /// Adds a mount outside this process' table, unless a mount with more detail is known.
    fn hidden_mount(&mut self, name: &str, filesystem: &str, seen: Option<&(Label, Process)>) {
        let Some(index) = self.parts.by_name.get(name).copied() else { return };
        for part in self.parts.with_siblings(index) {
            let users = self.direct.entry(part).or_default();
            let is_known = |user: &User| matches!(user, User::Mount { .. } | User::HiddenMount { .. });
            if !users.iter().any(is_known) {
                users.insert(User::HiddenMount { filesystem: Label::new(filesystem), seen: seen.cloned() });
            } else if let Some(seen) = seen
                && users.remove(&User::HiddenMount { filesystem: Label::new(filesystem), seen: None })
            {
                // A known mount point replaces an unknown one.
                let seen = Some(seen.clone());
                users.insert(User::HiddenMount { filesystem: Label::new(filesystem), seen });
            }
        }
    }

    /// The lines of [`open_files::PROBE`].
    fn answer(&mut self, root: &dyn SysRoot) {
        let answer = match root.read(open_files::PROBE) {
            Ok(answer) => String::from_utf8_lossy(&answer).into_owned(),
            Err(error) => {
                let error = match error {
                    RootError::NotHere(why) => RootError::NotHere(format!("open files and exports: {why}")),
                    errno @ RootError::Errno(_) => errno,
                };
                self.unread.push(error.into_problem(open_files::SOURCE));
                return;
            }
        };
        for line in answer.lines() {
            if self.line(line).is_none() {
                let why = crate::source::root::quoted(line, "not a user of a device");
                self.unread.push(Problem::new(ProblemKind::Malformed, open_files::PROBE, why));
            }
        }
    }

    /// `None` if the line is malformed. Unknown devices are skipped.
    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let (subject, rest) = rest.split_once(' ')?;
        match word {
            "open" => {
                let process = process(rest)?;
                self.used(subject, User::Open(process));
            }
            "mount" => {
                let (filesystem, rest) = rest.split_once(' ')?;
                let (point, rest) = rest.split_once(' ')?;
                let seen = (Label::new(&unescape(point)), process(rest)?);
                self.hidden_mount(subject, filesystem, Some(&seen));
            }
            "stack" => {
                if let Some(part) = self.parts.by_name.get(subject).copied() {
                    self.stack(part, rest);
                }
            }
            "export" => self.used(subject, User::Export(Label::new(rest))),
            "export-file" => {
                for part in self.under_file(&unescape(subject)) {
                    self.add(part, User::Export(Label::new(rest)));
                }
            }
            "pool" => self.used(subject, User::Pool(Label::new(rest))),
            "unread" => self.unread.push(problem(subject, rest)),
            "unread-of" => {
                let (path, why) = rest.split_once(' ')?;
                if let Some(part) = self.parts.by_name.get(subject) {
                    let drive = self.parts.all[*part].drive;
                    self.unread_of.push((drive, problem(path, why)));
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn used(&mut self, device: &str, user: User) {
        if let Some(part) = self.parts.by_name.get(device) {
            return self.add(*part, user);
        }
        for drive in self.parts.behind.get(device).into_iter().flatten() {
            self.lone.push((*drive, Use { chain: vec![Label::new(device)], by: user.clone() }));
        }
    }

    fn of_drive(&self, drive: usize) -> BTreeSet<Use> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::from([drive]);
        for part in self.parts.of_drive(drive) {
            self.climb(part, &mut Vec::new(), &mut seen, &mut found);
        }
        found
    }

    /// Adds the uses of `part`, which is above `chain`; returns whether there are any. Each block device above is visited
    /// once, against loops in captures.
    fn climb(
        &self,
        part: usize,
        chain: &mut Vec<Label>,
        seen: &mut BTreeSet<usize>,
        found: &mut BTreeSet<Use>,
    ) -> bool {
        chain.push(self.parts.all[part].label.clone());
        let (direct, above) = (self.direct.get(&part), self.above.get(&part));
        for user in direct.into_iter().flatten() {
            found.insert(Use { chain: chain.clone(), by: user.clone() });
        }
        for upper in above.into_iter().flatten() {
            let whole = self.parts.by_name.get(upper).map(|part| self.parts.all[*part].drive);
            if whole.is_some_and(|drive| !seen.insert(drive)) {
                continue;
            }
            let mut is_used = false;
            let followed = whole.filter(|_| chain.len() <= depth::MOST);
            for part in followed.into_iter().flat_map(|drive| self.parts.of_drive(drive)) {
                is_used |= self.climb(part, chain, seen, found);
            }
            if !is_used {
                let chain = chain.iter().cloned().chain([Label::new(upper)]).collect();
                found.insert(Use { chain, by: User::Holder });
            }
        }
        chain.pop();
        direct.is_some() || above.is_some()
    }
}

fn problem(path: &str, why: &str) -> Problem {
    let is_denied = why.starts_with("EACCES") || why.starts_with("EPERM");
    Problem::new(if is_denied { ProblemKind::Denied } else { ProblemKind::Absent }, path, why)
}

/// `4711 fio`.
fn process(text: &str) -> Option<Process> {
    let (id, command) = text.split_once(' ').unwrap_or((text, ""));
    Some(Process { id: id.parse().ok()?, command: Label::new(command) })
}
