//! [`FolderRoot`]: a machine's files copied into a folder, `DIR/sys`, `DIR/proc`, `DIR/etc`, and answers of ioctls as
//! `DIR/ioctl/NAME/identify-ns.bin`. No link leads out of the folder.

use std::{
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::{
    MOST_BYTES, RootError, SysRoot, file_name, join,
    live::{list_folder, read_link, read_regular, start_of_regular},
    most_bytes, most_names, parent,
};
use crate::source::open_files;

/// A tree on disk. Links in it are followed as if the folder were `/`.
#[derive(Debug)]
pub(crate) struct FolderRoot {
    base: PathBuf,
    /// Resolved folders: thousands of files share a few hundred of them.
    settled: Mutex<HashMap<String, String>>,
}

/// As many links as the kernel follows in one path (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

impl FolderRoot {
    pub(crate) fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), settled: Mutex::default() }
    }

    fn on_disk(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    /// `path` with every link but a last one followed inside the folder.
    fn settle(&self, path: &str, follow_last: bool) -> Result<PathBuf, RootError> {
        let lock = || self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let above = parent(path);
        let known = lock().get(above).cloned();
        let folder = if let Some(folder) = known {
            folder
        } else {
            let folder = self.walk("/".to_owned(), above, true)?;
            lock().insert(above.to_owned(), folder.clone());
            folder
        };
        let settled = self.walk(folder, file_name(path), follow_last)?;
        Ok(self.on_disk(&settled))
    }

    /// `path` relative to the folder `at`, which contains no links.
    fn walk(&self, mut at: String, path: &str, follow_last: bool) -> Result<String, RootError> {
        let mut rest: Vec<String> = parts(path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            let next = join(&at, &part);
            let on_disk = self.on_disk(&next);
            let is_link = fs::symlink_metadata(&on_disk).is_ok_and(|metadata| metadata.is_symlink());
            if !is_link || (rest.is_empty() && !follow_last) {
                at = next;
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(RootError::Errno(libc::ELOOP));
            }
            let target = read_link(&on_disk)?;
            if target.starts_with('/') {
                "/".clone_into(&mut at);
            }
            rest.extend(parts(&target));
        }
        Ok(at)
    }
}

/// The parts of a path, last one first.
fn parts(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

impl SysRoot for FolderRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        if path == open_files::PROBE {
            return Ok(open_files::ask_copy(self));
        }
        if path.starts_with("/probe/") {
            return Err(RootError::NotHere("a folder of files cannot be probed".to_owned()));
        }
        if path.starts_with("/ioctl/") {
            let answer = self
                .settle(&format!("{path}.bin"), true)
                .and_then(|file| read_regular(&file, most_bytes(path)));
            return answer.map_err(|error| match error {
                absent if absent.is_absent() => {
                    RootError::NotHere(format!("no {}.bin in this folder", path.trim_start_matches('/')))
                }
                other => other,
            });
        }
        read_regular(&self.settle(path, true)?, most_bytes(path))
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        if ["/probe/", "/ioctl/"].iter().any(|pseudo| path.starts_with(pseudo)) {
            return self.read(path);
        }
        start_of_regular(&self.settle(path, true)?, most.min(MOST_BYTES))
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        read_link(&self.settle(path, false)?)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        list_folder(&self.settle(path, true)?, most_names(path))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, FolderRoot) {
        let outside = tempfile::tempdir().unwrap();
        let base = outside.path().join("machine");
        fs::create_dir_all(base.join("sys/devices/d")).unwrap();
        fs::create_dir_all(base.join("sys/block")).unwrap();
        fs::create_dir_all(base.join("ioctl/nvme0n1")).unwrap();
        for (name, content) in [("secret", "outside"), ("machine/sys/devices/d/size", "42\n")] {
            std::io::Write::write_all(
                &mut fs::File::create(outside.path().join(name)).unwrap(),
                content.as_bytes(),
            )
            .unwrap();
        }
        let root = FolderRoot::new(&base);
        (outside, root)
    }

    #[test]
    fn links_are_followed_inside_the_folder() {
        let (outside, root) = folder();
        let base = outside.path().join("machine");
        symlink("../devices/d", base.join("sys/block/relative")).unwrap();
        symlink("/sys/devices/d", base.join("sys/block/absolute")).unwrap();
        for name in ["relative", "absolute"] {
            assert_eq!(root.read(&format!("/sys/block/{name}/size")).unwrap(), b"42\n");
            assert_eq!(root.list(&format!("/sys/block/{name}")).unwrap(), ["size"]);
        }
        assert_eq!(root.link("/sys/block/relative").unwrap(), "../devices/d");
        assert_eq!(root.link("/sys/block"), Err(RootError::Errno(libc::EINVAL)));
    }

    #[test]
    fn no_link_leads_out() {
        let (outside, root) = folder();
        let base = outside.path().join("machine");
        let secret = outside.path().join("secret");
        symlink(&secret, base.join("sys/absolute")).unwrap();
        symlink("../../secret", base.join("sys/relative")).unwrap();
        symlink("../..", base.join("sys/up")).unwrap();
        symlink("loop", base.join("sys/loop")).unwrap();
        for path in ["/sys/absolute", "/sys/relative", "/sys/up/secret", "/../secret", "/sys/../../secret"] {
            assert_eq!(root.read(path), Err(RootError::Errno(libc::ENOENT)), "{path}");
        }
        assert_eq!(root.read("/sys/loop"), Err(RootError::Errno(libc::ELOOP)));
        assert_eq!(root.list("/sys/up").unwrap(), ["ioctl", "sys"]);
    }

    #[test]
    fn ioctl_answers_are_files_and_probes_are_not_here() {
        let (outside, root) = folder();
        let file = outside.path().join("machine/ioctl/nvme0n1/identify-ns.bin");
        std::io::Write::write_all(&mut fs::File::create(file).unwrap(), &[7; 4096]).unwrap();
        assert_eq!(root.read("/ioctl/nvme0n1/identify-ns").unwrap(), [7; 4096]);
        assert!(matches!(root.read("/ioctl/nvme0n1/identify-ctrl"), Err(RootError::NotHere(_))));
        assert!(matches!(root.read("/probe/io_uring"), Err(RootError::NotHere(_))));
    }
}
