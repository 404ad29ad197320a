//! [`SysRoot`]: access to files, and the small readers that all others use.

mod folder;
mod live;

use std::{str::FromStr, sync::Arc};

pub(crate) use folder::FolderRoot;
pub use live::LiveRoot;

pub(crate) use crate::model::{errno_name, errno_number, errno_words};
use crate::{
    machine::Pasted,
    model::{Problem, ProblemKind, Reading},
    text::Label,
};

/// The source of files. Paths are absolute and normalized: `/sys/...`, `/proc/...`, `/etc/...`; answers of ioctls and
/// probes are files of the pseudo-folders `/ioctl/NAME/...` and `/probe/...`.
///
/// Readers never follow a symbolic link implicitly: they call [`SysRoot::link`] and continue at the target (see
/// [`resolve`]), so that a capture needs no link resolution.
pub trait SysRoot: Send + Sync {
    /// The whole content of a file; EFBIG if it is longer than [`most_bytes`].
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError>;

    /// The first `most` bytes of a file whose rest is costly and not needed. A recorder keeps only these, so a path
    /// must be read one way only.
    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        let mut content = self.read(path)?;
        content.truncate(most);
        Ok(content)
    }

    /// The target of a symbolic link, as written.
    fn link(&self, path: &str) -> Result<String, RootError>;

    /// The names in a folder, sorted as text.
    fn list(&self, path: &str) -> Result<Vec<String>, RootError>;

    /// The whole content of a file of procfs or sysfs in `buffer`, which keeps its memory: for what is read every second.
    /// Never a path that leads out of them (`/proc/PID/fd/N`).
    fn read_into(&self, path: &str, buffer: &mut Vec<u8>) -> Result<(), RootError> {
        *buffer = self.read(path)?;
        Ok(())
    }

    /// As [`SysRoot::read_into`] for a file that the kernel makes in one piece (`stat`, `wchan`): a single read. The number of
    /// bytes; more than the buffer holds are cut.
    fn read_short(&self, path: &str, buffer: &mut [u8]) -> Result<usize, RootError> {
        let content = self.read(path)?;
        let length = content.len().min(buffer.len());
        buffer[..length].copy_from_slice(&content[..length]);
        Ok(length)
    }

    /// Calls `each` with some hundred names of a folder, in the kernel's order, from position `from` (0: the first). Returns where the next
    /// ones begin; `None` after the last.
    fn names(&self, path: &str, _from: u64, each: &mut dyn FnMut(&str)) -> Result<Option<u64>, RootError> {
        self.list(path)?.iter().for_each(|name| each(name));
        Ok(None)
    }

    /// The texts of other tools that this root answers from, and what they lack.
    fn pasted(&self) -> Option<Arc<Pasted>> {
        None
    }
}

/// Why a device's folder of a copy tells nothing.
pub(crate) const EMPTY_FOLDER: &str = "an empty folder: copy the files in it";

/// Calls `each` with all names of a folder, in the kernel's order.
pub(crate) fn all_names(root: &dyn SysRoot, path: &str, each: &mut dyn FnMut(&str)) -> Result<(), RootError> {
    let mut from = Some(0);
    while let Some(position) = from {
        from = root.names(path, position, each)?;
    }
    Ok(())
}

/// Maximum length of any file: tables of /proc on machines with a thousand CPUs.
pub(crate) const MOST_BYTES: usize = 16 << 20;

/// Maximum names in the folder at `path`. /proc has a name for each process; folders of rules and services have hundreds.
pub(crate) fn most_names(path: &str) -> usize {
    const OF_KERNEL: usize = 1 << 17;
    const OF_FILES: usize = 1 << 12;
    let is_of_files = ["/etc/", "/usr/", "/run/", "/opt/"].iter().any(|first| path.starts_with(first));
    if is_of_files { OF_FILES } else { OF_KERNEL }
}

/// Maximum length of the file at `path`. An attribute of sysfs is a page at most (fs/sysfs/file.c), and pages have up to
/// 64 KiB. Of the files in /proc only tables grow with the machine.
pub(crate) fn most_bytes(path: &str) -> usize {
    const PAGE: usize = 64 << 10;
    const TEXT: usize = 1 << 20;
    const TABLES: [&str; 10] = [
        "interrupts",
        "stat",
        "cpuinfo",
        "mountinfo",
        "mounts",
        "diskstats",
        "partitions",
        "swaps",
        "kallsyms",
        "maps",
    ];
    if path.starts_with("/sys/firmware/") {
        TEXT
    } else if path.starts_with("/sys/") || path.starts_with("/ioctl/") {
        PAGE
    } else if path.starts_with("/proc/") {
        if TABLES.contains(&file_name(path)) { MOST_BYTES } else { PAGE }
    } else if path.starts_with("/probe/") {
        MOST_BYTES
    } else {
        TEXT
    }
}

/// Why a read failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// The kernel's errno.
    #[error("{}", errno_words(*.0))]
    Errno(i32),
    /// This root cannot have it: a capture made without it, an ioctl in a folder of files.
    #[error("{0}")]
    NotHere(String),
}

impl From<std::io::Error> for RootError {
    /// Errors without an errno count as EIO.
    fn from(error: std::io::Error) -> Self {
        Self::Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl RootError {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::NotHere(_) | Self::Errno(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ENXIO)
        )
    }

    /// Absent, denied (EACCES, EPERM) or malformed (everything else).
    pub(crate) fn into_problem(self, path: &str) -> Problem {
        let (kind, why) = match self {
            Self::Errno(libc::EACCES) => {
                (ProblemKind::Denied, "EACCES: permission denied; run as root".to_owned())
            }
            Self::Errno(libc::EPERM) => {
                (ProblemKind::Denied, "EPERM: not permitted, by privilege or a security policy".to_owned())
            }
            Self::Errno(libc::EFBIG) => {
                (ProblemKind::Cut, "EFBIG: longer than such a file or folder can be; not read".to_owned())
            }
            absent if absent.is_absent() => (ProblemKind::Absent, absent.to_string()),
            other => (ProblemKind::Malformed, other.to_string()),
        };
        Problem::new(kind, path, why)
    }

    pub(crate) fn into_reading<T>(self, path: &str) -> Reading<T> {
        self.into_problem(path).into()
    }
}

pub(crate) fn bytes(root: &dyn SysRoot, path: &str) -> Reading<Vec<u8>> {
    reading(path, root.read(path))
}

/// The answer for `path` as a reading.
pub(crate) fn reading<T>(path: &str, answer: Result<T, RootError>) -> Reading<T> {
    answer.map_or_else(|error| error.into_reading(path), |value| Reading::known(path, value))
}

/// A file's content as text, invalid UTF-8 replaced.
pub(crate) fn text(root: &dyn SysRoot, path: &str) -> Reading<String> {
    bytes(root, path).map(|content| String::from_utf8_lossy(&content).into_owned())
}

/// A one-line file, neutralized; an empty one is absent.
pub(crate) fn label(root: &dyn SysRoot, path: &str) -> Reading<Label> {
    match root.read(path) {
        Ok(content) => {
            let label = Label::from_bytes(&content);
            if label.is_empty() { Reading::absent(path, "empty") } else { Reading::known(path, label) }
        }
        Err(error) => error.into_reading(path),
    }
}

/// A decimal number.
pub(crate) fn number<T: FromStr>(root: &dyn SysRoot, path: &str) -> Reading<T> {
    text(root, path)
        .and_then(|content| content.trim().parse().map_err(|_| quoted(&content, "not a number in range")))
}

/// A hexadecimal number with or without `0x`.
pub(crate) fn hex(root: &dyn SysRoot, path: &str) -> Reading<u64> {
    text(root, path).and_then(|content| {
        let digits = content.trim();
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        u64::from_str_radix(digits, 16).map_err(|_| quoted(&content, "not a hexadecimal number"))
    })
}

/// `0` or `1`.
pub(crate) fn flag(root: &dyn SysRoot, path: &str) -> Reading<bool> {
    number::<u64>(root, path).and_then(|value| match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(quoted(&other.to_string(), "neither 0 nor 1")),
    })
}

/// A `numa_node` file. -1, no node, is normal on machines with one node.
pub(crate) fn numa_node(root: &dyn SysRoot, path: &str) -> Reading<Option<u32>> {
    number::<i64>(root, path).and_then(|node| match node {
        -1 => Ok(None),
        node => u32::try_from(node).map(Some).map_err(|_| quoted(&node.to_string(), "not a NUMA node")),
    })
}

/// The content, quoted and truncated, and the error: `"Unknown": no link speed`.
pub(crate) fn quoted(content: &str, wrong: &str) -> String {
    let label = Label::new(content);
    let short: String = label.as_str().chars().take(60).collect();
    format!("{short:?}: {wrong}")
}

/// A link's target as a normalized absolute path; the path itself if it is no link.
pub(crate) fn resolve(root: &dyn SysRoot, path: &str) -> Result<String, RootError> {
    match root.link(path) {
        Ok(target) => Ok(join(parent(path), &target)),
        Err(RootError::Errno(libc::EINVAL)) => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

/// The last name of a link's target: a driver, a group, a subsystem.
pub(crate) fn link_name(root: &dyn SysRoot, path: &str) -> Reading<Label> {
    reading(path, root.link(path).map(|target| Label::new(file_name(&target))))
}

/// The part of a path before its last name.
pub fn parent(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit_once('/')
        .map_or("/", |(before, _)| if before.is_empty() { "/" } else { before })
}

/// The last name of a path.
pub fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// `target` relative to the folder `base`, with `.` and `..` resolved as text.
pub(crate) fn join(base: &str, target: &str) -> String {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { split(base).collect() };
    for part in split(target) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path is absolute and as [`join`] writes it: without `.`, `..`, doubled or trailing slashes.
pub(crate) fn is_plain(path: &str) -> bool {
    let Some(parts) = path.strip_prefix('/') else { return false };
    let is_dotted = || path.as_bytes().windows(2).any(|pair| matches!(pair, b"//" | b"/."));
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    path == "/" || !path.ends_with('/') && (!is_dotted() || parts.split('/').all(is_part))
}

/// Whether a name is this word and a number: `nvme0`.
pub(crate) fn is_numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word)
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The numbers of a folder's names that are this word and a number, ascending.
pub(crate) fn numbered(root: &dyn SysRoot, folder: &str, word: &str) -> Vec<u32> {
    let names = root.list(folder).unwrap_or_default();
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix(word)?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The first `most` names of a folder, and a problem if there are more.
pub(crate) fn first(
    mut names: Vec<String>,
    most: usize,
    folder: &str,
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    if names.len() > most {
        let why = format!("{} names; the first {most} are read", names.len());
        problems.push(Problem::new(ProblemKind::Cut, folder, why));
        names.truncate(most);
    }
    names
}

/// A path and the folders above it.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(parent(path)).filter(|above| above.len() < path.len()))
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_worked_out_as_text() {
        assert_eq!(join("/sys/block", "../devices/virtual/block/loop0"), "/sys/devices/virtual/block/loop0");
        assert_eq!(join("/a/b", "/c/./d"), "/c/d");
        assert_eq!(join("/a", "../../../x"), "/x");
        assert_eq!(parent("/sys/block"), "/sys");
        assert_eq!(parent("/sys"), "/");
        assert_eq!(file_name("../../bus/pci/drivers/nvme"), "nvme");
    }

    #[test]
    fn a_plain_path_is_one_that_join_would_write() {
        for path in [
            "", "/", "//", "/a", "a", "a/b", "/a/", "/a/b", "/a//b", "//a", "/.", "/./a", "/a/.", "/..",
            "/a/..", "/a/../b", "/.a", "/..a", "/a/.b/c", "/a./b", "/a/b..", "/a.b", "/...",
        ] {
            assert_eq!(is_plain(path), path.starts_with('/') && join("/", path) == path, "{path:?}");
        }
    }

    #[test]
    fn errors_become_different_answers() {
        let problem = |errno| RootError::Errno(errno).into_problem("/x");
        assert_eq!(problem(libc::ENOENT).kind, ProblemKind::Absent);
        assert_eq!(problem(libc::EACCES).kind, ProblemKind::Denied);
        let invalid = problem(libc::EINVAL);
        assert_eq!(invalid.kind, ProblemKind::Malformed);
        assert_eq!(&*invalid.reason, "EINVAL: Invalid argument");
    }
}
