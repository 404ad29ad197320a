//! [`Programs`]: the program or library that an address of a process lies in, from `/proc/PID/maps`.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use crate::{
    source::{
        SysRoot,
        fields::{lines, words},
        root::file_name,
    },
    text::Label,
};

/// Processes whose mappings are read in one pass; the others are not named before the next.
const MOST_READ: usize = 32;
/// Processes that are remembered.
const MOST_KNOWN: usize = 512;
/// Passes without a sample after which a process is forgotten: most of them have ended.
const KEPT: u32 = 10;

/// Executable mappings of processes.
#[derive(Debug, Default)]
pub(super) struct Programs {
    known: HashMap<u32, Known>,
    /// Read in this pass.
    read: BTreeSet<u32>,
}

/// What is known of a process.
#[derive(Debug)]
struct Known {
    mappings: Vec<(Range<u64>, Label)>,
    /// Passes since its last sample.
    unseen: u32,
}

impl Programs {
    /// Begins a pass.
    pub(super) fn begin(&mut self) {
        self.read.clear();
        self.known.retain(|_, known| {
            known.unseen += 1;
            known.unseen <= KEPT
        });
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
    }

    /// What is mapped at an address of a process; `None` once it is gone.
    pub(super) fn at(&mut self, root: &dyn SysRoot, pid: u32, address: u64) -> Option<Label> {
        if let Some(known) = self.known.get_mut(&pid) {
            known.unseen = 0;
            if let Some(name) = named(&known.mappings, address) {
                return Some(name);
            }
        }
        // The process may have loaded a library since, or have become another program.
        if self.read.len() >= MOST_READ || !self.read.insert(pid) {
            return None;
        }
        let text = root.read(&format!("/proc/{pid}/maps")).ok()?;
        let mappings = executable(&text);
        let name = named(&mappings, address);
        self.known.insert(pid, Known { mappings, unseen: 0 });
        name
    }
}

/// The name of the mapping at an address.
pub(super) fn named(mappings: &[(Range<u64>, Label)], address: u64) -> Option<Label> {
    mappings.iter().find(|(range, _)| range.contains(&address)).map(|(_, name)| name.clone())
}

/// Executable mappings of a text like `/proc/PID/maps`, with the name of their file.
pub(super) fn executable(text: &[u8]) -> Vec<(Range<u64>, Label)> {
    lines(text).filter_map(mapping).collect()
}

/// `7f10-7f20 r-xp 00028000 fe:00 1234    /usr/lib/libc.so.6`.
fn mapping(line: &[u8]) -> Option<(Range<u64>, Label)> {
    let mut fields = words(line);
    let (from, to) = str::from_utf8(fields.next()?).ok()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let range = number(from)?..number(to)?;
    if fields.next()?.get(2) != Some(&b'x') {
        return None;
    }
    let path: Vec<&[u8]> = fields.skip(3).collect();
    let path = String::from_utf8_lossy(&path.join(&b' ')).into_owned();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
    // Code that is in no file was made at run time.
    Some((range, Label::new(if path.is_empty() { "[anon]" } else { file_name(path) })))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::root::FolderRoot;

    const CAPTURED: &str = "\
557da2a3c000-557da2a3e000 r--p 00000000 fe:00 264153                     /usr/bin/dd
557da2a3e000-557da2a4b000 r-xp 00002000 fe:00 264153                     /usr/bin/dd
7f7fd3228000-7f7fd337d000 r-xp 00026000 fe:00 266290                     /usr/lib/x86_64-linux-gnu/libc.so.6
7f7fd3400000-7f7fd3500000 rwxp 00000000 00:00 0 
7f7fd3600000-7f7fd3700000 r-xp 00000000 fe:00 9                          /opt/my app/lib x.so (deleted)
7fff5c1d4000-7fff5c1d6000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn executable_mappings_are_named_by_their_file() {
        let names: Vec<_> =
            executable(CAPTURED.as_bytes()).into_iter().map(|(_, name)| name.to_string()).collect();
        assert_eq!(names, ["dd", "libc.so.6", "[anon]", "lib x.so", "[vdso]", "[vsyscall]"]);
    }

    #[test]
    fn a_process_is_read_again_where_its_mappings_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let put = |text| super::super::tests::put(folder.path(), "proc/7/maps", text);
        put("1000-2000 r-xp 0 0:0 1 /bin/sh\n");
        let root = FolderRoot::new(folder.path());
        let mut programs = Programs::default();
        programs.begin();
        assert_eq!(programs.at(&root, 7, 0x1800).map(|name| name.to_string()).as_deref(), Some("sh"));
        put("1000-2000 r-xp 0 0:0 1 /bin/sh\n3000-4000 r-xp 0 0:0 1 /lib/a\n");
        assert_eq!(programs.at(&root, 7, 0x3800), None, "once a pass");
        programs.begin();
        assert_eq!(programs.at(&root, 7, 0x3800).map(|name| name.to_string()).as_deref(), Some("a"));
        assert_eq!(programs.at(&root, 8, 0x3800), None);
    }

    #[test]
    fn processes_without_samples_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let root = FolderRoot::new(folder.path());
        let mut programs = Programs::default();
        for pid in 0..400 {
            super::super::tests::put(
                folder.path(),
                &format!("proc/{pid}/maps"),
                "1000-2000 r-xp 0 0:0 1 /bin/sh\n",
            );
            programs.begin();
            assert!(programs.at(&root, pid, 0x1800).is_some() && programs.at(&root, 0, 0x1800).is_some());
            assert!(programs.known.len() <= KEPT as usize + 2, "{pid}: {}", programs.known.len());
        }
        assert!(programs.known.contains_key(&0), "it has samples in every pass");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in prop::collection::vec(any::<u8>(), 0..300)) {
            executable(&text);
        }

        #[test]
        fn every_executable_mapping_is_found_by_its_addresses(
            mappings in prop::collection::vec((1_u64..1000, "[a-z]{1,8}", any::<bool>()), 0..20),
        ) {
            let mut text = Vec::new();
            let mut from = 0x1000;
            let mut expected = Vec::new();
            for (length, name, is_code) in &mappings {
                let mode = if *is_code { "r-xp" } else { "rw-p" };
                text.push(format!("{from:x}-{:x} {mode} 0 fe:00 1 /usr/{name}", from + length));
                if *is_code {
                    expected.push((from..from + length, Label::new(name)));
                }
                from += length;
            }
            prop_assert_eq!(executable(text.join("\n").as_bytes()), expected);
        }
    }
}
