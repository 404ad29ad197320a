//! Captures: everything that was read of a machine, kept so that it can be read again.
//!
//! Here: [`Capture`] (the answers a root gave), [`Recorder`] (writes them down while a machine is read) and [`TextRoot`]
//! (gives them again). The text they are kept as is [`mod@format`]'s. Not here: files on disk, pseudonyms (`redact`).

pub mod format;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

pub use format::CaptureError;

use super::root::{RootError, SysRoot};
use crate::redact::Redactor;

/// What a root answered, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capture {
    /// Remarks of the header, name and text: who made it, whether serials are pseudonyms.
    pub notes: Vec<(String, String)>,
    /// The answers.
    pub answers: BTreeMap<String, Answers>,
}

/// The answers to the three questions about one path; `None`: never asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answers {
    /// See [`SysRoot::list`].
    pub list: Option<Result<Vec<String>, RootError>>,
    /// See [`SysRoot::link`].
    pub link: Option<Result<String, RootError>>,
    /// See [`SysRoot::read`].
    pub read: Option<Result<Vec<u8>, RootError>>,
}

/// The word for a first line: `iodyno capture`, then the version of the format.
pub const MAGIC: &str = "iodyno capture";

/// A root that answers exactly what a capture holds.
#[derive(Debug, Clone, Default)]
pub struct TextRoot {
    capture: Capture,
}

impl TextRoot {
    /// Reads a capture's text.
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        format::parse(text).map(Self::from)
    }

    /// The capture it answers from.
    pub fn capture(&self) -> &Capture {
        &self.capture
    }
}

impl From<Capture> for TextRoot {
    fn from(capture: Capture) -> Self {
        Self { capture }
    }
}

/// What a capture says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The program and its version.
    pub made_by: String,
    /// Whether serials, names and addresses stay as they are.
    pub with_serials: bool,
}

/// The text of a capture that may travel: what was recorded, with pseudonyms unless `meta` says otherwise.
pub fn capture_text(recorder: &Recorder<'_>, meta: &Meta) -> String {
    let recorded = recorder.recorded();
    let (serials, mut capture) =
        if meta.with_serials { ("as they are", recorded) } else { ("pseudonyms", with_pseudonyms(recorded)) };
    let note = |name: &str, remark: &str| (name.to_owned(), remark.to_owned());
    capture.notes.splice(0..0, [note("made-by", &meta.made_by), note("serials", serials)]);
    format::write(&capture)
}

/// The same capture with pseudonyms for serials, names and addresses, in contents, paths, names and links alike.
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

/// Finds one of a path's answers, or says that there is none.
macro_rules! answer {
    ($self:ident, $path:ident, $which:ident) => {
        $self
            .capture
            .answers
            .get($path)
            .and_then(|answers| answers.$which.clone())
            .unwrap_or_else(|| Err(RootError::NotHere("not in this capture".to_owned())))
    };
}

impl SysRoot for TextRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        answer!(self, path, read)
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        answer!(self, path, link)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        answer!(self, path, list)
    }
}

/// A root that passes questions on and writes the answers down. What was asked once is answered the same ever after, so
/// that what is read through it is what the capture holds.
pub struct Recorder<'a> {
    inner: &'a dyn SysRoot,
    answers: Mutex<BTreeMap<String, Answers>>,
}

impl<'a> Recorder<'a> {
    /// Records what `inner` says.
    pub fn new(inner: &'a dyn SysRoot) -> Self {
        Self { inner, answers: Mutex::default() }
    }

    /// What was answered so far, as it was.
    pub fn recorded(&self) -> Capture {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Capture { notes: Vec::new(), answers }
    }

    /// What was answered so far as the text of a capture, nothing replaced; see `redact` for captures that travel.
    pub fn capture(&self) -> String {
        format::write(&self.recorded())
    }

    fn answer<T: Clone>(
        &self,
        path: &str,
        slot: impl Fn(&mut Answers) -> &mut Option<Result<T, RootError>>,
        ask: impl FnOnce(&str) -> Result<T, RootError>,
    ) -> Result<T, RootError> {
        let lock = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = lock().get_mut(path)
            && let Some(known) = slot(answers)
        {
            return known.clone();
        }
        let answer = ask(path);
        slot(lock().entry(path.to_owned()).or_default()).get_or_insert(answer).clone()
    }
}

impl SysRoot for Recorder<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answers| &mut answers.read, |path| self.inner.read(path))
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answers| &mut answers.read, |path| self.inner.read_start(path, most))
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, |answers| &mut answers.link, |path| self.inner.link(path))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.answer(path, |answers| &mut answers.list, |path| self.inner.list(path))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A file that reads differently each time.
    struct Moving(AtomicU32);

    impl SysRoot for Moving {
        fn read(&self, _: &str) -> Result<Vec<u8>, RootError> {
            Ok(self.0.fetch_add(1, Ordering::Relaxed).to_string().into_bytes())
        }

        fn link(&self, _: &str) -> Result<String, RootError> {
            Err(RootError::Errno(libc::EINVAL))
        }

        fn list(&self, _: &str) -> Result<Vec<String>, RootError> {
            Err(RootError::NotHere("no folders at all".to_owned()))
        }
    }

    #[test]
    fn a_capture_answers_what_was_read_and_nothing_else() {
        let moving = Moving(AtomicU32::new(7));
        let recorder = Recorder::new(&moving);
        assert_eq!(recorder.read("/a").unwrap(), b"7");
        assert_eq!(recorder.read("/a").unwrap(), b"7", "asked once, answered for good");
        assert_eq!(recorder.read("/b").unwrap(), b"8");
        assert!(recorder.link("/a").is_err());
        assert!(recorder.list("/a").is_err());

        let root = TextRoot::parse(&recorder.capture()).unwrap();
        assert_eq!(root.read("/a").unwrap(), b"7");
        assert_eq!(root.read("/b").unwrap(), b"8");
        assert_eq!(root.link("/a"), Err(RootError::Errno(libc::EINVAL)));
        assert_eq!(root.list("/a"), Err(RootError::NotHere("no folders at all".to_owned())));
        assert_eq!(root.link("/b"), Err(RootError::NotHere("not in this capture".to_owned())));
    }
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
