//! Redacts a whole capture.

use std::collections::BTreeMap;

use super::Redactor;
use crate::source::{
    RootError,
    capture::{Answers, Capture, Recorder, format},
};

/// The header of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Program and version.
    pub made_by: String,
    /// Whether serials, names and addresses are kept.
    pub with_serials: bool,
}

/// The text of a capture: what was recorded, with pseudonyms unless `meta` keeps the originals.
pub fn capture_text(recorder: &Recorder<'_>, meta: &Meta) -> String {
    let recorded = recorder.recorded();
    let (serials, mut capture) =
        if meta.with_serials { ("as they are", recorded) } else { ("pseudonyms", with_pseudonyms(recorded)) };
    let note = |name: &str, remark: &str| (name.to_owned(), remark.to_owned());
    capture.notes.splice(0..0, [note("made-by", &meta.made_by), note("serials", serials)]);
    format::write(&capture)
}

/// Replaces serials, names and addresses in contents, paths, names and links.
fn with_pseudonyms(capture: Capture) -> Capture {
    let mut redactor = Redactor::new();
    for (path, answers) in &capture.answers {
        if let Some(Ok(content)) = &answers.read {
            redactor.learn(path, content);
        }
    }
    let mut replaced = Capture { notes: capture.notes, answers: BTreeMap::new() };
    for (path, answers) in capture.answers {
        let error = |redactor: &mut Redactor, error| match error {
            RootError::NotHere(why) => RootError::NotHere(redactor.worldly(&why)),
            errno @ RootError::Errno(_) => errno,
        };
        let list = answers.list.map(|answer| match answer {
            Ok(names) => {
                let mut names: Vec<String> = names.iter().map(|name| redactor.name(name)).collect();
                names.sort_unstable();
                Ok(names)
            }
            Err(failed) => Err(error(&mut redactor, failed)),
        });
        let link = answers.link.map(|answer| match answer {
            Ok(target) => Ok(redactor.name(&target)),
            Err(failed) => Err(error(&mut redactor, failed)),
        });
        let read = answers.read.map(|answer| match answer {
            Ok(content) => Ok(redactor.content(&path, &content)),
            Err(failed) => Err(error(&mut redactor, failed)),
        });
        replaced.answers.insert(redactor.name(&path), Answers { list, link, read });
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SysRoot, capture::TextRoot};

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
        let meta = |with_serials| Meta { made_by: "iodyno test".to_owned(), with_serials };

        let text = capture_text(&recorder, &meta(false));
        assert!(text.starts_with("iodyno capture 1\nmade-by: iodyno test\nserials: pseudonyms\n\n"));
        for gone in ["S4EWNX0R", "6b1dcb5e", "bob", "10.9.8.7", "attic", "52:54"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        let mut after = drives(&TextRoot::parse(&text).unwrap());
        assert_eq!(after[0].serial.value().unwrap(), &"X0XXXX0X000001");
        assert_eq!(after[0].used_by.len(), before[0].used_by.len());
        after[0].serial.clone_from(&before[0].serial);
        after[0].used_by.clone_from(&before[0].used_by);
        assert_eq!(after, before);

        let whole = capture_text(&recorder, &meta(true));
        assert!(whole.contains("S4EWNX0R123456") && whole.contains("serials: as they are"));
        assert_eq!(drives(&TextRoot::parse(&whole).unwrap()), before);
    }
}
