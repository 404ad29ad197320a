//! [`LiveRoot`]: this machine's files, read without blocking.

use std::{
    fs::{self, File},
    io::Read,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use rustix::{
    buffer::spare_capacity,
    fs::{Mode, OFlags, RawDir, SeekFrom},
};

use super::{MOST_BYTES, RootError, SysRoot, most_bytes, most_names};
use crate::source::ids;

/// The running kernel's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveRoot;

impl LiveRoot {
    /// The root of this machine.
    pub const fn new() -> Self {
        Self
    }
}

impl SysRoot for LiveRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        if let Some(names) = ids::answer(path) {
            return Ok(names);
        }
        if let Some(probe) = path.strip_prefix("/probe/") {
            return crate::source::probe::ask(probe);
        }
        if let Some((name, question)) = path.strip_prefix("/ioctl/").and_then(|rest| rest.split_once('/')) {
            return match question {
                "table" => crate::source::dm_ioctl::ask(name),
                _ => crate::source::nvme_ioctl::ask(name, question),
            };
        }
        read_regular(Path::new(path), most_bytes(path))
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        if is_pseudo(path) {
            self.read(path)
        } else {
            start_of_regular(Path::new(path), most.min(MOST_BYTES))
        }
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        read_link(Path::new(path))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        list_folder(Path::new(path), most_names(path))
    }

    fn read_into(&self, path: &str, buffer: &mut Vec<u8>) -> Result<(), RootError> {
        /// A page: the kernel formats its tables by pages.
        const PIECE: usize = 4096;
        let file = open(path, OFlags::RDONLY)?;
        buffer.clear();
        loop {
            buffer.reserve(PIECE);
            if rustix::io::read(&file, spare_capacity(buffer))? == 0 {
                return Ok(());
            }
            if buffer.len() > MOST_BYTES {
                return Err(RootError::Errno(libc::EFBIG));
            }
        }
    }

    fn read_short(&self, path: &str, buffer: &mut [u8]) -> Result<usize, RootError> {
        Ok(rustix::io::read(open(path, OFlags::RDONLY)?, buffer)?)
    }

    fn names(&self, path: &str, from: u64, each: &mut dyn FnMut(&str)) -> Result<Option<u64>, RootError> {
        /// Folders with fewer names are read to their end at once.
        const FEW: usize = 24;
        let folder = open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        if from > 0 {
            rustix::fs::seek(&folder, SeekFrom::Start(from))?;
        }
        // Some 32 names: procfs makes an inode of each, and a pass has a budget.
        let mut space = [MaybeUninit::uninit(); 1024];
        let mut entries = RawDir::new(&folder, &mut space);
        let (mut given, mut position) = (0, from);
        while given < FEW || !entries.is_buffer_empty() {
            let Some(entry) = entries.next() else { return Ok(None) };
            let entry = entry?;
            (given, position) = (given + 1, entry.next_entry_cookie());
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                each(name);
            }
        }
        Ok(Some(position))
    }
}

impl From<rustix::io::Errno> for RootError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Errno(error.raw_os_error())
    }
}

/// Opens a file or folder of procfs or sysfs, which hold no pipes and devices.
fn open(path: &str, flags: OFlags) -> Result<OwnedFd, RootError> {
    if !path.starts_with("/proc/") && !path.starts_with("/sys/") && path != "/proc" {
        return Err(RootError::NotHere("neither in procfs nor in sysfs".to_owned()));
    }
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn is_pseudo(path: &str) -> bool {
    path.starts_with("/ioctl/") || path.starts_with("/probe/")
}

/// A regular file of at most `most` bytes; EFBIG for longer ones.
pub(super) fn read_regular(path: &Path, most: usize) -> Result<Vec<u8>, RootError> {
    let content = start_of_regular(path, most + 1)?;
    if content.len() > most { Err(RootError::Errno(libc::EFBIG)) } else { Ok(content) }
}

/// The first `most` bytes of a regular file. Other files are not opened: opening a pipe or device can block or have
/// side effects.
pub(super) fn start_of_regular(path: &Path, most: usize) -> Result<Vec<u8>, RootError> {
    check_regular(&fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    check_regular(&file.metadata()?)?;
    let mut content = Vec::with_capacity(most.min(4096));
    file.take(most as u64).read_to_end(&mut content)?;
    // A recorder keeps thousands of them.
    content.shrink_to_fit();
    Ok(content)
}

fn check_regular(metadata: &fs::Metadata) -> Result<(), RootError> {
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(RootError::Errno(libc::EISDIR)),
        _ => Err(RootError::NotHere("not a regular file; not opened".to_owned())),
    }
}

/// A link's target as written; `EINVAL` if it is no link.
pub(super) fn read_link(path: &Path) -> Result<String, RootError> {
    Ok(fs::read_link(path)?.to_string_lossy().into_owned())
}

/// A folder's names, sorted; EFBIG for more than `most`.
pub(super) fn list_folder(path: &Path, most: usize) -> Result<Vec<String>, RootError> {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.take(most + 1).collect::<Result<Vec<_>, RootError>>()?;
    if names.len() > most {
        return Err(RootError::Errno(libc::EFBIG));
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_files_answer_at_once_and_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let status = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(status.success());
        let root = LiveRoot::new();
        assert!(matches!(root.read(pipe.to_str().unwrap()), Err(RootError::NotHere(_))));
        assert!(matches!(root.read("/dev/zero"), Err(RootError::NotHere(_))));
        assert_eq!(root.read("/proc"), Err(RootError::Errno(libc::EISDIR)));
        assert_eq!(root.read("/sys/no such"), Err(RootError::Errno(libc::ENOENT)));
        assert_eq!(root.link("/proc"), Err(RootError::Errno(libc::EINVAL)));
    }

    #[test]
    fn a_file_longer_than_it_can_be_is_refused_and_its_start_can_be_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4097).unwrap();
        assert_eq!(read_regular(file.path(), 4097).map(|content| content.len()), Ok(4097));
        assert_eq!(read_regular(file.path(), 4096), Err(RootError::Errno(libc::EFBIG)));
        assert_eq!(start_of_regular(file.path(), 4096).map(|content| content.len()), Ok(4096));
        for (path, most) in [
            ("/sys/block/sda/queue/scheduler", 64 << 10),
            ("/proc/interrupts", MOST_BYTES),
            ("/proc/cmdline", 64 << 10),
            ("/proc/7/cmdline", 64 << 10),
            ("/etc/udev/rules.d/60.rules", 1 << 20),
        ] {
            assert_eq!(most_bytes(path), most);
        }
    }

    #[test]
    fn folders_of_any_length_are_read_in_pieces_to_their_end() {
        let root = LiveRoot::new();
        for folder in ["/proc/sys/kernel", "/sys/class", "/proc/self/task"] {
            let (mut names, mut pieces, mut from) = (Vec::new(), 0, Some(0));
            while let Some(position) = from {
                from = root.names(folder, position, &mut |name| names.push(name.to_owned())).unwrap();
                pieces += 1;
            }
            names.sort_unstable();
            assert_eq!(names, root.list(folder).unwrap(), "{folder} in {pieces}");
        }
        assert!(root.names("/tmp", 0, &mut |_| ()).is_err(), "only folders of the kernel");
    }

    #[test]
    fn a_buffer_used_again_holds_the_last_file_alone() {
        let root = LiveRoot::new();
        let mut buffer = vec![b'x'; 100_000];
        root.read_into("/proc/sys/kernel/osrelease", &mut buffer).unwrap();
        assert_eq!(buffer, root.read("/proc/sys/kernel/osrelease").unwrap());
        let mut short = [0; 4];
        assert_eq!(root.read_short("/proc/sys/kernel/ostype", &mut short), Ok(4));
        assert_eq!(&short, b"Linu");
        assert_eq!(root.read_into("/dev/zero", &mut buffer).map_err(|error| error.is_absent()), Err(true));
    }

    #[test]
    fn names_come_sorted_and_files_whole() {
        let root = LiveRoot::new();
        let names = root.list("/proc/sys/kernel").unwrap();
        assert!(names.is_sorted());
        assert!(names.iter().any(|name| name == "osrelease"));
        assert!(root.read("/proc/sys/kernel/osrelease").unwrap().ends_with(b"\n"));
    }
}
