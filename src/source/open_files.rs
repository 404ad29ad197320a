//! Who has a device open: `/proc/PID/fd/*`, and the kernel's own exclusive claims.

use std::{collections::BTreeSet, fs::OpenOptions, io, os::unix::fs::OpenOptionsExt};

use super::root::{SysRoot, label};

/// The first process that has one of these device files open, as `fio (process 4711) has /dev/nvme0n1 open`. Processes of
/// other users are seen by root only.
pub fn opener(root: &dyn SysRoot, files: &[String]) -> Option<String> {
    let wanted: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let processes = root.list("/proc").unwrap_or_default();
    for process in processes.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())) {
        let folder = format!("/proc/{process}/fd");
        for descriptor in root.list(&folder).unwrap_or_default() {
            let Ok(target) = root.link(&format!("{folder}/{descriptor}")) else { continue };
            if wanted.contains(target.as_str()) {
                let name = label(root, &format!("/proc/{process}/comm"));
                let name = name.value().map_or("a program", |name| name.as_str());
                return Some(format!("{name} (process {process}) has {target} open"));
            }
        }
    }
    None
}

/// Whether the kernel holds one of these block devices for itself (a file system, swap, md, device mapper): opening it
/// exclusively is refused then. It is opened to read and closed at once.
pub fn claimed(files: &[String]) -> Option<String> {
    let flags = libc::O_EXCL | libc::O_NONBLOCK | libc::O_CLOEXEC;
    files.iter().find_map(|file| {
        let error = OpenOptions::new().read(true).custom_flags(flags).open(file).err()?;
        (error.kind() == io::ErrorKind::ResourceBusy).then(|| format!("the kernel holds {file} (EBUSY)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::root::LiveRoot;

    #[test]
    fn an_open_file_is_found_with_its_program() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let found = opener(&LiveRoot::new(), std::slice::from_ref(&path)).unwrap();
        assert!(found.contains(&format!("(process {}) has {path} open", std::process::id())), "{found}");
        drop(file);
        assert_eq!(opener(&LiveRoot::new(), &[path]), None);
    }
}
