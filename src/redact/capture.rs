//! Redacts a whole capture.

use std::collections::BTreeMap;

use super::{Redactor, boot_files, is_rules_file, kernel_tables};
use crate::source::{
    RootError,
    capture::{Answers, Capture, TextRoot, format},
    rules,
};

/// The text of a capture: the answers, with pseudonyms unless `with_serials` keeps serials, names and addresses.
pub fn capture_text(recorded: Capture, with_serials: bool) -> String {
    let (serials, mut capture) =
        if with_serials { ("as they are", recorded) } else { ("pseudonyms", with_pseudonyms(recorded)) };
    let note = |name: &str, remark: &str| (name.to_owned(), remark.to_owned());
    capture.notes = vec![note("made-by", MADE_BY), note("serials", serials)];
    format::write(&capture)
}

const MADE_BY: &str = concat!("iodyno ", env!("CARGO_PKG_VERSION"));

/// Replaces serials, names and addresses in contents, paths, names and links.
fn with_pseudonyms(capture: Capture) -> Capture {
    let mut redactor = Redactor::new();
    for (path, answers) in &capture.answers {
        if let Some(Ok(content)) = &answers.read {
            redactor.learn(path, content);
        }
    }
    for (path, answers) in &capture.answers {
        // `holders` and `slaves` have the same names; those of a copy may have others.
        let names_devices = matches!(&**path, "/sys/block" | "/sys/class/block")
            || path.ends_with("/holders")
            || path.ends_with("/slaves");
        let list = answers.list.as_ref().and_then(|list| list.as_ref().ok());
        for name in list.into_iter().flatten() {
            if names_devices {
                redactor.learn_device(name);
            } else if path == "/proc/fs/jbd2" {
                // `nvme0n1p2-8`: the device and its journal.
                redactor.learn_device(name.rsplit_once('-').map_or(name, |(device, _)| device));
            }
        }
    }
    let capture = without_boot_files(capture);
    let mut answers = BTreeMap::new();
    for (path, Answers { list, link, read }) in capture.answers {
        let list = replaced(&mut redactor, list, |redactor, names: Vec<String>| {
            let folder = format!("{path}/");
            let named = |name: &String| redact_path(redactor, &format!("{folder}{name}"));
            let named = names.iter().map(named);
            let mut names: Vec<String> =
                named.filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        let link = replaced(&mut redactor, link, |redactor, target: String| redactor.sweep(&target));
        let read =
            replaced(&mut redactor, read, |redactor, content: Vec<u8>| redactor.content(&path, &content));
        answers.insert(redact_path(&mut redactor, &path), Answers { list, link, read });
    }
    Capture { answers, ..capture }
}

/// Folders of udev's rules. What else lies in them is named by their users: `60-block.rules.disabled`.
const RULES_FOLDERS: [&str; 3] = ["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d"];

/// A path without serials, names of control groups and unknown words of names in rules folders. Files that mask each other still have
/// one name.
fn redact_path(redactor: &mut Redactor, path: &str) -> String {
    let path = redactor.sweep(path);
    match path.rsplit_once('/') {
        _ if path.starts_with("/sys/fs/cgroup/") => kernel_tables::control_groups(redactor, &path),
        Some((folder, name)) if is_rules_file(name) || RULES_FOLDERS.contains(&folder) => {
            boot_files::path(redactor, &path)
        }
        _ => path,
    }
}

/// A folder's copies of services, scripts and profiles contain passwords. Their lines that write settings take their
/// place, as a live machine answers them.
fn without_boot_files(mut capture: Capture) -> Capture {
    const KEPT: [&str; 4] = ["/sys/", "/proc/", "/ioctl/", "/probe/"];
    let is_kept = |path: &str| {
        KEPT.iter().chain(&RULES_FOLDERS).any(|first| path.starts_with(first)) || path == "/etc/os-release"
    };
    let has_probe =
        capture.answers.get(BOOT_RULES).is_some_and(|answers| matches!(answers.read, Some(Ok(_))));
    let files = capture.answers.iter().any(|(path, answers)| {
        !is_kept(path) && (matches!(answers.read, Some(Ok(_))) || matches!(answers.list, Some(Ok(_))))
    });
    if files && !has_probe {
        let root = TextRoot::from(capture);
        let probe = rules::probe(&root);
        capture = root.into_capture();
        capture
            .answers
            .insert(BOOT_RULES.to_owned(), Answers { read: Some(Ok(probe)), ..Answers::default() });
    }
    if files {
        capture.answers.retain(|path, _| is_kept(path));
    }
    capture
}

const BOOT_RULES: &str = "/probe/boot-rules";

/// An answer with pseudonyms: `turn` replaces its value.
fn replaced<T>(
    redactor: &mut Redactor,
    answer: Option<Result<T, RootError>>,
    turn: impl FnOnce(&mut Redactor, T) -> T,
) -> Option<Result<T, RootError>> {
    Some(match answer? {
        Ok(value) => Ok(turn(redactor, value)),
        Err(RootError::NotHere(why)) => Err(RootError::NotHere(redactor.worldly(&why))),
        errno @ Err(_) => errno,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SysRoot, capture::Recorder};

    /// A machine with names, serials and addresses in every kind of answer.
    const PRIVATE: &str = r"iodyno capture 1

dir /sys/block
  nvme0n1
link /sys/block/nvme0n1 ../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1
file /sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/model Fast\s\s
file /sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/serial S4EWNX0R123456\s\s
file /sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/size 4096
file /sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/dev 259:0
dir /sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/holders
  dm-6b1dcb5e-00aa-4d3c-9c1e-0123456789ab
dir /sys/fs/btrfs
  6b1dcb5e-00aa-4d3c-9c1e-0123456789ab
dir /sys/fs/btrfs/6b1dcb5e-00aa-4d3c-9c1e-0123456789ab/devices
  nvme0n1
file /proc/self/mountinfo 22 1 0:9 / /home/bob rw - btrfs /dev/nvme0n1 rw
file /proc/cmdline root=UUID=6b1dcb5e-00aa-4d3c-9c1e-0123456789ab ip=10.9.8.7
file /proc/sys/kernel/hostname attic
none read /probe/x bob on 10.9.8.7 has no 52:54:00:aa:bb:cc
";

    fn drives(root: &dyn SysRoot) -> Vec<crate::machine::Drive> {
        crate::source::block::read(root, &crate::machine::PciTree::default()).0
    }

    #[test]
    fn a_capture_that_travels_reads_the_same_but_for_who_it_is() {
        let original = TextRoot::parse(PRIVATE).unwrap();
        let recorder = Recorder::new(&original);
        let before = drives(&recorder);
        for path in ["/proc/cmdline", "/proc/sys/kernel/hostname", "/probe/x"] {
            let _ = recorder.read(path);
        }

        let text = capture_text(recorder.recorded(), false);
        assert!(text.starts_with(&format!("iodyno capture 1\nmade-by: {MADE_BY}\nserials: pseudonyms\n\n")));
        for gone in ["S4EWNX0R", "6b1dcb5e", "bob", "10.9.8.7", "attic", "52:54"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        let mut after = drives(&TextRoot::parse(&text).unwrap());
        assert_eq!(after[0].serial.value().unwrap(), &"X0XXXX0X000001");
        assert_eq!(after[0].used_by.len(), before[0].used_by.len());
        after[0].serial.clone_from(&before[0].serial);
        after[0].used_by.clone_from(&before[0].used_by);
        assert_eq!(after, before);

        let whole = capture_text(recorder.recorded(), true);
        assert!(whole.contains("S4EWNX0R123456") && whole.contains("serials: as they are"));
        assert_eq!(drives(&TextRoot::parse(&whole).unwrap()), before);
    }

    #[test]
    fn names_in_folders_of_holders_do_not_travel() {
        let mut capture = Capture::default();
        for (folder, name) in [
            ("/sys/block/vda/holders", "zqholder"),
            ("/sys/block/md0/slaves", "zqslave"),
            ("/proc/fs/jbd2", "zqvolume-8"),
        ] {
            capture.answers.entry(folder.to_owned()).or_default().list =
                Some(Ok(vec![name.to_owned(), "sda1".to_owned()]));
        }
        let text = capture_text(capture, false);
        assert!(!text.contains("zq") && text.contains("sda1") && text.contains("xxxxxx1-8"), "{text}");
    }

    #[test]
    fn names_and_ids_of_volumes_do_not_travel() {
        let original = TextRoot::parse(include_str!("../../tests/fixtures/stack.capture")).unwrap();
        let recorder = Recorder::new(&original);
        let (machine, _) = crate::source::read_machine(&recorder);
        let text = capture_text(recorder.recorded(), false);
        let redacted = Redactor::of_machine(&machine).machine(&machine);
        let shown = format!("{:?} {:?}", redacted.layers, redacted.drives);
        for gone in ["cryptdata", "6b1dcb5e00aa", "data--1-home", "abcdef0123456789"] {
            assert!(!text.contains(gone), "{gone} in {text}");
            assert!(!shown.contains(gone), "{gone} in {shown}");
        }
        let (again, _) = crate::source::read_machine(&TextRoot::parse(&text).unwrap());
        let kinds = |machine: &crate::machine::Machine| -> Vec<usize> {
            machine.drives.iter().map(|drive| machine.stack_above(drive).len()).collect()
        };
        assert_eq!(kinds(&again), kinds(&machine), "the stack is the same");
        assert!(again.layer("dm-0").unwrap().words().starts_with("crypt "));
        assert!(again.layer("dm-1").unwrap().words().starts_with("LVM "));
    }
}
