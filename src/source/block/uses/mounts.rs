//! This process' mount table: its lines, and which mount a file lies on.

use crate::{
    model::Problem,
    source::root::{SysRoot, text},
};

/// One line of a mount table.
pub(super) struct Mount {
    /// Own id and that of the mount it lies on, where the table has them.
    ids: Option<(u64, u64)>,
    /// Device number, where the table has it.
    pub number: Option<String>,
    pub source: String,
    pub point: String,
    pub filesystem: String,
    /// Options of the file system (`super options`).
    pub options: String,
}

/// The mount table: with device numbers where there is one of the reading process, else without.
pub(super) fn read(root: &dyn SysRoot) -> Result<Vec<Mount>, Option<Problem>> {
    let table = text(root, "/proc/self/mountinfo");
    if let Some(table) = table.value() {
        return Ok(table.lines().filter_map(mountinfo_line).collect());
    }
    let older = text(root, "/proc/mounts");
    match older.value() {
        Some(older) => Ok(older.lines().filter_map(mounts_line).collect()),
        None => Err(table.problem()),
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw` (`proc_pid_mountinfo(5)`).
fn mountinfo_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let (id, parent) = (left.next()?.parse().ok(), left.next()?.parse().ok());
    let (number, _, point) = (left.next()?, left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (filesystem, source) = (right.next()?, right.next()?);
    Some(Mount {
        ids: id.zip(parent),
        number: Some(number.to_owned()),
        source: unescape(source),
        point: unescape(point),
        filesystem: filesystem.to_owned(),
        options: right.next().map(unescape).unwrap_or_default(),
    })
}

/// `/dev/sda1 /boot ext4 rw 0 0` (fstab(5)).
fn mounts_line(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let (source, point, filesystem) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Mount {
        ids: None,
        number: None,
        source: unescape(source),
        point: unescape(point),
        filesystem: filesystem.to_owned(),
        options: fields.next().map(unescape).unwrap_or_default(),
    })
}

impl Mount {
    /// Block devices that its options name: logs and real-time sections of XFS, journals of ext4.
    pub fn further_devices(&self) -> impl Iterator<Item = &str> {
        const OPTIONS: [&str; 3] = ["logdev", "rtdev", "journal_path"];
        let options = self.options.split(',').filter_map(|option| option.split_once('='));
        options.filter(|(name, _)| OPTIONS.contains(name)).map(|(_, device)| device)
    }
}

/// The mount a file lies on: from the root down, at each mount the first that lies on it along the way.
pub(super) fn of_file<'a>(mounts: &'a [Mount], file: &str) -> Option<&'a Mount> {
    let is_above = |mount: &&Mount| is_below(file, &mount.point);
    let is_listed = |id: u64| mounts.iter().any(|mount| mount.ids.is_some_and(|(own, _)| own == id));
    let is_first = |mount: &&Mount| {
        mount.ids.is_some_and(|(own, parent)| own == parent || !is_listed(parent)) && mount.point == "/"
    };
    let Some(mut at) = mounts.iter().find(is_first) else {
        // No ids to walk by: the longest mount point, the last of several.
        return mounts.iter().filter(is_above).max_by_key(|mount| mount.point.len());
    };
    // Ids of a hostile table may go round.
    for _ in 0..mounts.len() {
        let lies_on = |mount: &&Mount| {
            mount.ids.zip(at.ids).is_some_and(|((own, parent), (here, _))| parent == here && own != here)
        };
        match mounts.iter().filter(is_above).filter(lies_on).min_by_key(|mount| mount.point.len()) {
            Some(next) => at = next,
            None => break,
        }
    }
    Some(at)
}

/// Whether `file` is `folder` or lies below it.
fn is_below(file: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `\040` and kin, as the kernel writes spaces, tabs, newlines and backslashes in its tables.
pub(super) fn unescape(field: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn source(table: &str, file: &str) -> String {
        let mounts: Vec<Mount> = table.lines().filter_map(mountinfo_line).collect();
        of_file(&mounts, file).map_or_else(String::new, |mount| mount.source.clone())
    }

    #[test]
    fn a_file_lies_on_the_mount_that_is_seen_there() {
        let table = "1 1 0:2 / / rw - rootfs rootfs rw\n25 1 8:2 / / rw - ext4 /dev/root rw\n\
                     26 25 8:3 / /srv rw - xfs /dev/srv rw,logdev=/dev/log\n27 26 8:4 / /srv/a rw - xfs /dev/hidden rw\n\
                     28 26 8:5 / /srv rw - xfs /dev/over rw\n29 25 8:6 / /srv2 rw - xfs /dev/srv2 rw";
        assert_eq!(source(table, "/etc/x"), "/dev/root");
        assert_eq!(source(table, "/srv/a/x"), "/dev/over", "what it covers is not seen");
        assert_eq!(source(table, "/srv/b"), "/dev/over");
        assert_eq!(source(table, "/srv2/x"), "/dev/srv2");
        assert_eq!(source("", "/x"), "");
        let circle = "1 2 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 / / rw - ext4 /dev/b rw";
        assert!(!source(circle, "/x").is_empty());
        let mounts: Vec<Mount> = table.lines().filter_map(mountinfo_line).collect();
        assert_eq!(mounts[2].further_devices().collect::<Vec<_>>(), ["/dev/log"]);
    }
}
