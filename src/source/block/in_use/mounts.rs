//! The mount table of this process, and the mount of a file.

use std::collections::BTreeSet;

use procfs::process::MountInfo;

use crate::{
    model::{Problem, ProblemKind},
    source::root::{SysRoot, text},
};

/// One line of a mount table.
pub(super) struct Mount {
    /// Its id and its parent's, if the table has them.
    ids: Option<(i32, i32)>,
    /// Device number, if the table has it.
    pub number: Option<String>,
    pub source: String,
    pub point: String,
    pub filesystem: String,
    /// Options of the mount and of the super block, sorted.
    pub options: Vec<String>,
    /// Block devices besides `source`: logs and real-time sections of XFS, journals of ext4.
    pub further_devices: Vec<String>,
}

/// Mounts that are read. A node of a cluster has thousands.
pub(super) const MOST: usize = 1 << 13;

/// `/proc/self/mountinfo`, else `/proc/mounts`, which has no ids and device numbers.
pub(super) fn read(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<Mount> {
    let table = text(root, "/proc/self/mountinfo");
    let older = || text(root, "/proc/mounts");
    let (table, of): (_, fn(&str) -> Vec<Mount>) = match table.problem() {
        None => (table, mountinfo),
        Some(problem) => match older() {
            older if older.value().is_some() => {
                (older, |table| table.lines().take(MOST).filter_map(mounts_line).collect())
            }
            _ => {
                problems.push(problem);
                return Vec::new();
            }
        },
    };
    let lines = table.value().map(String::as_str).unwrap_or_default();
    let count = lines.lines().count();
    if count > MOST {
        let why = format!("{count} mounts; the first {MOST} are read");
        problems.push(Problem::new(ProblemKind::Cut, &*table.path(), why));
    }
    of(lines)
}

/// Lines that cannot be parsed are skipped.
fn mountinfo(table: &str) -> Vec<Mount> {
    let lines = table.lines().take(MOST).filter_map(|line| MountInfo::from_line(line).ok());
    lines
        .map(|line| Mount {
            ids: Some((line.mnt_id, line.pid)),
            number: Some(line.majmin),
            source: unescape(&line.mount_source.unwrap_or_default()),
            point: unescape(&line.mount_point.to_string_lossy()),
            filesystem: line.fs_type,
            options: sorted(line.mount_options.iter().chain(&line.super_options).map(|(name, value)| {
                value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"))
            })),
            further_devices: further_devices(
                line.super_options.iter().filter_map(|(name, value)| Some((&**name, value.as_deref()?))),
            ),
        })
        .collect()
}

/// `/dev/sda1 /boot ext4 rw 0 0` (fstab(5)).
fn mounts_line(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let (source, point, filesystem) = (fields.next()?, fields.next()?, fields.next()?);
    let options = fields.next().unwrap_or_default().split(',');
    let all = sorted(options.clone().map(str::to_owned));
    Some(Mount {
        ids: None,
        number: None,
        source: unescape(source),
        point: unescape(point),
        filesystem: unescape(filesystem),
        options: all,
        further_devices: further_devices(options.filter_map(|option| option.split_once('='))),
    })
}

fn sorted(options: impl Iterator<Item = String>) -> Vec<String> {
    let options: BTreeSet<String> = options.filter(|option| !option.is_empty()).collect();
    options.into_iter().map(|option| unescape(&option)).collect()
}

fn further_devices<'a>(options: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    const OPTIONS: [&str; 3] = ["logdev", "rtdev", "journal_path"];
    options.filter(|(name, _)| OPTIONS.contains(name)).map(|(_, device)| unescape(device)).collect()
}

/// The mount of a file: from the root mount down, at each mount its first child on the path.
pub(super) fn of_file<'a>(mounts: &'a [Mount], file: &str) -> Option<&'a Mount> {
    let is_above = |mount: &&Mount| is_below(file, &mount.point);
    let is_listed = |id: i32| mounts.iter().any(|mount| mount.ids.is_some_and(|(own, _)| own == id));
    let is_first = |mount: &&Mount| {
        mount.ids.is_some_and(|(own, parent)| own == parent || !is_listed(parent)) && mount.point == "/"
    };
    let Some(mut at) = mounts.iter().find(is_first) else {
        // Without ids: the longest mount point, the last of several.
        return mounts.iter().filter(is_above).max_by_key(|mount| mount.point.len());
    };
    // Ids of a malformed table may loop.
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

/// Whether `file` is `folder` or below it.
fn is_below(file: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Octal escapes (`\040`) of spaces, tabs, newlines and backslashes in kernel tables.
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
        let mounts = mountinfo(table);
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
        let mounts = mountinfo(table);
        assert_eq!(mounts[2].further_devices, ["/dev/log"]);
        assert_eq!(mounts[2].options, ["logdev=/dev/log", "rw"]);
    }
}
