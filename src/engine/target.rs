//! Opens targets read-only, after checks of size and alignment.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Seek, SeekFrom},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{AtFlags, StatxFlags},
    io::{Errno, ReadWriteFlags, preadv2},
};

use super::EngineError;
use crate::{
    model::{Target, TargetKind, Workload, errno_words},
    text::Label,
    units::{self, Bytes},
};

/// A target that can be read as its workload asks.
#[derive(Debug)]
pub(crate) struct Open {
    /// Opened for reading only.
    pub file: File,
    /// As the user named it.
    pub name: Label,
    /// Bytes that are read, from [`Workload::offset`] on: to the end, or `--size`.
    pub span: Bytes,
    /// Its address in NVMe commands, where it is open for passthrough.
    pub namespace: Option<Namespace>,
    /// Reasons why its figures are not those of its drive.
    pub doubts: Vec<String>,
}

/// The address of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Its id on its controller.
    pub id: u32,
    /// Bytes of a logical block, as a power of two.
    pub block_shift: u32,
    /// Whether its driver has queues that are polled.
    pub has_poll_queues: bool,
}

impl Open {
    /// Opens a target and checks that every read of `workload` fits it.
    pub(crate) fn new(target: &Target, workload: &Workload) -> Result<Self, EngineError> {
        let path = target.path.as_path();
        let name = Label::new(&path.to_string_lossy());
        let fail = |wrong: String, fix: &str| EngineError::target(path, wrong, fix, None);
        let metadata = path.metadata().map_err(|error| refused(path, &error))?;
        let kind = kind(path, &metadata).map_err(|(wrong, fix)| fail(wrong.to_owned(), fix))?;
        let mut file = open(path, workload.direct).map_err(|error| refused(path, &error))?;
        let length = file.seek(SeekFrom::End(0)).map_err(|error| refused(path, &error))?;
        let largest = workload.largest_block();
        let Some(length) = length.checked_sub(workload.offset.0) else {
            return Err(fail(
                format!("has {}, less than --offset {}", in_bytes(length), in_bytes(workload.offset.0)),
                "choose a smaller --offset",
            ));
        };
        let behind = if workload.offset.0 == 0 { "" } else { " behind --offset" };
        if let Some(size) = workload.size
            && size.0 > length
        {
            return Err(fail(
                format!("has {}{behind}, less than --size {}", in_bytes(length), units::block_size(size)),
                "choose a smaller --size, or a new file name to lay a file out",
            ));
        }
        let span = workload.size.unwrap_or(Bytes(length));
        if span < largest {
            let has = if workload.size.is_some() { "is read to" } else { "has" };
            return Err(fail(
                format!("{has} {}{behind}, less than one block of {}", in_bytes(span.0), in_bytes(largest.0)),
                "choose a bigger target or a smaller --bs",
            ));
        }
        if workload.direct {
            let alignment = alignment(&file, kind);
            let one = workload.block_split.is_empty().then_some(workload.block_size);
            let sizes = workload.block_split.iter().map(|(size, _)| *size).chain(one);
            let aligned = |bytes: Bytes, option: &str, fix: &str| {
                if bytes.0.is_multiple_of(alignment) {
                    return Ok(());
                }
                let (bytes, block) = (in_bytes(bytes.0), in_bytes(alignment));
                Err(fail(format!("{option}{bytes} is not a multiple of its block size {block}"), fix))
            };
            let fix = format!("use --bs {} or a multiple of it", units::block_size(Bytes(alignment)));
            for size in sizes {
                aligned(size, "", &fix)?;
            }
            aligned(workload.offset, "--offset ", "choose another --offset")?;
        }
        if workload.uncached {
            uncached(&file).map_err(|errno| {
                let wrong = format!(
                    "uncached reads (RWF_DONTCACHE) are refused: {}",
                    errno_words(errno.raw_os_error())
                );
                let fix = "use a kernel and file system that have them (Linux 6.14), or leave --uncached out";
                EngineError::target(path, wrong, fix, errno.raw_os_error())
            })?;
        }
        Ok(Self { file, name, span, namespace: None, doubts: Vec::new() })
    }
}

/// Whether the kernel reads this file uncached: a read tells.
fn uncached(file: &File) -> Result<(), Errno> {
    let flags = ReadWriteFlags::from_bits_retain(libc::RWF_DONTCACHE.cast_unsigned());
    preadv2(file, &mut [io::IoSliceMut::new(&mut [0; 512])], 0, flags).map(drop)
}

/// The smallest block a direct read can have, bytes.
fn alignment(file: &File, kind: TargetKind) -> u64 {
    let reported = match kind {
        TargetKind::Device => rustix::fs::ioctl_blksszget(file).ok(),
        TargetKind::File => rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
            .ok()
            .filter(|answer| answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0)
            .map(|answer| answer.stx_dio_offset_align),
    };
    // Kernels before 6.1 do not report it for files; a wrong guess shows as EINVAL of the first read.
    u64::from(reported.filter(|bytes| *bytes > 0).unwrap_or(512))
}

fn kind(path: &Path, metadata: &Metadata) -> Result<TargetKind, (&'static str, &'static str)> {
    let kind = metadata.file_type();
    let is_generic = path.starts_with("/dev")
        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ng"));
    if kind.is_block_device() {
        Ok(TargetKind::Device)
    } else if kind.is_file() {
        Ok(TargetKind::File)
    } else if kind.is_dir() {
        Err(("is a directory", "name a file in it; --size 1G lays out a new one"))
    } else if kind.is_char_device() && is_generic {
        Err((
            "works with NVMe passthrough only",
            "add --ioengine io_uring_cmd, or name the block device, such as /dev/nvme0n1",
        ))
    } else {
        Err(("is neither a block device nor a regular file", "name a drive such as /dev/nvme0n1, or a file"))
    }
}

/// Opens for reading. Never with `O_EXCL`, which would refuse mounted devices.
fn open(path: &Path, direct: bool) -> io::Result<File> {
    let direct = if direct { libc::O_DIRECT } else { 0 };
    let with = |flags| OpenOptions::new().read(true).custom_flags(flags).open(path);
    match with(direct | libc::O_NOATIME) {
        // O_NOATIME is for owners.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => with(direct),
        result => result,
    }
}

/// An error of open(2), with its fix.
pub(crate) fn refused(path: &Path, error: &io::Error) -> EngineError {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    let is_device = path.starts_with("/dev");
    let fix = match errno {
        libc::ENOENT if is_device => "`iodyno drives` lists drives",
        libc::ENOENT => "check the path, or add --size 1G to lay a file out there",
        libc::EACCES if is_device => {
            "no permission: run as root, or test a file on it with --filename PATH --size 1G"
        }
        libc::EACCES => "no permission: run as its owner or as root",
        libc::EPERM if is_device => {
            "a policy (container, device cgroup) forbids the device even to root: test a file on it \
             with --filename PATH --size 1G"
        }
        libc::EPERM => "a security policy forbids it: choose another file",
        libc::EINVAL => "its file system lacks O_DIRECT: add --direct 0, which measures the page cache",
        libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM => "no drive responds at this path: choose another",
        libc::EMFILE | libc::ENFILE => "too many files are open: raise `ulimit -n` or test fewer targets",
        _ => "choose another target",
    };
    EngineError::target(path, errno_words(errno), fix, errno)
}

/// `512 B`, `4k`, `1g`.
fn in_bytes(bytes: u64) -> String {
    let short = units::block_size(Bytes(bytes));
    if short.ends_with(|c: char| c.is_ascii_digit()) { format!("{bytes} B") } else { short }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, path::PathBuf};

    use super::*;

    fn problem(path: &Path, change: impl FnOnce(&mut Workload)) -> String {
        let target = Target { path: path.to_owned(), drive: None };
        let mut workload = Workload { targets: vec![target.clone()], ..Workload::default() };
        change(&mut workload);
        Open::new(&target, &workload).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_read_says_why_in_one_line() {
        // Not on a tmpfs, which may know no direct I/O.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = folder.path().join("file");
        File::create(&file).unwrap().set_len(8192).unwrap();
        assert!(problem(&folder.path().join("none"), |_| {}).contains("ENOENT"));
        assert!(problem(folder.path(), |_| {}).contains("is a directory; name a file in it"));
        assert!(problem(&PathBuf::from("/dev/null"), |_| {}).contains("neither a block device"));
        let larger = problem(&file, |workload| workload.size = Some(Bytes(1 << 30)));
        assert!(larger.contains("has 8k, less than --size 1g"), "{larger}");
        let beyond = problem(&file, |workload| workload.offset = Bytes(1 << 20));
        assert!(beyond.contains("has 8k, less than --offset 1m"), "{beyond}");
        let behind = problem(&file, |workload| {
            (workload.offset, workload.size) = (Bytes(4096), Some(Bytes(8192)));
        });
        assert!(behind.contains("has 4k behind --offset, less than --size 8k"), "{behind}");
        let small = problem(&file, |workload| workload.block_size = Bytes(16384));
        assert!(small.contains("has 8k, less than one block of 16k"), "{small}");
    }

    #[test]
    fn mode_and_policy_are_different_answers() {
        let words =
            |errno| refused(Path::new("/dev/nvme0n1"), &io::Error::from_raw_os_error(errno)).to_string();
        assert!(words(libc::EACCES).contains("no permission"));
        assert!(words(libc::EPERM).contains("policy"));
    }

    #[test]
    fn a_file_is_opened_for_reading_only() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        File::create(&path).unwrap().set_len(8192).unwrap();
        path.metadata().unwrap().permissions().set_mode(0o400);
        let target = Target { path, drive: None };
        let open = Open::new(&target, &Workload { direct: false, ..Workload::default() }).unwrap();
        assert_eq!(open.span, Bytes(8192));
        let mode = rustix::fs::fcntl_getfl(&open.file).unwrap();
        assert_eq!(mode & rustix::fs::OFlags::RWMODE, rustix::fs::OFlags::RDONLY);
    }
}
