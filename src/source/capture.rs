//! Captures: [`Recorder`] keeps every answer of a root, [`TextRoot`] answers from them. [`mod@format`] is their text.

mod archive;
pub mod format;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub(crate) use format::CaptureError;

use archive::{Archive, Question, names, text};

use super::{
    block,
    root::{RootError, SysRoot, most_bytes},
};

/// Maximum bytes of all contents that a recorder keeps. A machine of 512 drives and 512 CPUs has about 16 MiB.
pub(crate) const MOST_RECORDED: usize = 32 << 20;

/// Answers of a root, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capture {
    /// Header lines, name and text: the program that made it, whether serials are pseudonyms.
    pub notes: Vec<(String, String)>,
    /// The answers.
    pub answers: BTreeMap<String, Answers>,
}

/// The answers for one path; `None` if not asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answers {
    /// See [`SysRoot::list`].
    pub list: Option<Result<Vec<String>, RootError>>,
    /// See [`SysRoot::link`].
    pub link: Option<Result<String, RootError>>,
    /// See [`SysRoot::read`].
    pub read: Option<Result<Vec<u8>, RootError>>,
}

/// First line of a capture, before the format version.
pub(crate) const MAGIC: &str = "iodyno capture";

/// A root that answers from a capture.
#[derive(Debug, Clone, Default)]
pub struct TextRoot {
    archive: Archive,
}

impl TextRoot {
    /// Reads a capture's text.
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        Ok(Self { archive: format::archive(text)? })
    }

    fn answer(&self, path: &str, question: Question) -> Result<&[u8], RootError> {
        let answer = self.archive.answer(path, question);
        answer.unwrap_or_else(|| Err(RootError::NotHere("not in this capture".to_owned())))
    }

    /// The capture, when nothing more is asked.
    pub fn into_capture(self) -> Capture {
        self.archive.into_capture()
    }
}

impl From<Capture> for TextRoot {
    fn from(capture: Capture) -> Self {
        Self { archive: capture.into() }
    }
}

impl SysRoot for TextRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        let content = self.answer(path, Question::Read)?;
        if content.len() > most_bytes(path) {
            Err(RootError::Errno(libc::EFBIG))
        } else {
            Ok(content.to_vec())
        }
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, Question::Link).map(text)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.answer(path, Question::List).map(names)
    }
}

/// A root that records the answers of another one. A second question gets the recorded answer, so that the capture
/// matches what was read; of the drives, no more names than are read.
pub struct Recorder<'a> {
    inner: &'a dyn SysRoot,
    answers: Mutex<BTreeMap<String, Answers>>,
    total: Mutex<Total>,
}

/// The bytes of recorded contents.
#[derive(Debug, Default)]
struct Total {
    bytes: usize,
    /// The file that exceeded [`MOST_RECORDED`]. Nothing is read after it.
    excess: Option<String>,
}

impl<'a> Recorder<'a> {
    /// Records the answers of `inner`.
    pub fn new(inner: &'a dyn SysRoot) -> Self {
        Self { inner, answers: Mutex::default(), total: Mutex::default() }
    }

    /// The file whose content was one too many: the answers are not those of a machine, and lack all that was read later.
    pub fn excess(&self) -> Option<String> {
        self.total().excess.clone()
    }

    fn total(&self) -> MutexGuard<'_, Total> {
        self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A content, unless there are too many bytes.
    fn counted(
        &self,
        path: &str,
        read: impl FnOnce() -> Result<Vec<u8>, RootError>,
    ) -> Result<Vec<u8>, RootError> {
        let full = || RootError::Errno(libc::EFBIG);
        if self.total().excess.is_some() {
            return Err(full());
        }
        let content = read()?;
        let mut total = self.total();
        total.bytes = total.bytes.saturating_add(content.len());
        if total.bytes > MOST_RECORDED {
            total.excess.get_or_insert_with(|| path.to_owned());
            return Err(full());
        }
        Ok(content)
    }

    /// The answers so far.
    pub fn recorded(&self) -> Capture {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Capture { notes: Vec::new(), answers }
    }

    /// The paths of files that are longer than such a one can be, sorted.
    pub fn too_long(&self) -> Vec<String> {
        let is_long = |error: &RootError| *error == RootError::Errno(libc::EFBIG);
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let long =
            answers.iter().filter(|(_, answers)| matches!(&answers.read, Some(Err(error)) if is_long(error)));
        long.map(|(path, _)| path.clone()).collect()
    }

    /// The answers, when nothing more is asked.
    pub fn into_recorded(self) -> Capture {
        let answers = self.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        Capture { notes: Vec::new(), answers }
    }

    /// The answers so far as a capture's text, without pseudonyms (see `redact`).
    pub fn capture(&self) -> String {
        format::write(&self.recorded())
    }

    fn answer<T: Clone>(
        &self,
        path: &str,
        slot: impl Fn(&mut Answers) -> &mut Option<Result<T, RootError>>,
        ask: impl FnOnce(&str) -> Result<T, RootError>,
    ) -> Result<T, RootError> {
        self.answer_kept(path, slot, ask, Clone::clone)
    }

    /// As [`Self::answer`], of which `keep` is recorded.
    fn answer_kept<T: Clone>(
        &self,
        path: &str,
        slot: impl Fn(&mut Answers) -> &mut Option<Result<T, RootError>>,
        ask: impl FnOnce(&str) -> Result<T, RootError>,
        keep: impl FnOnce(&Result<T, RootError>) -> Result<T, RootError>,
    ) -> Result<T, RootError> {
        let lock = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = lock().get_mut(path)
            && let Some(known) = slot(answers)
        {
            return known.clone();
        }
        let answer = ask(path);
        let mut answers = lock();
        let slot = slot(answers.entry(path.to_owned()).or_default());
        if let Some(known) = slot {
            return known.clone();
        }
        *slot = Some(keep(&answer));
        answer
    }
}

impl SysRoot for Recorder<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answers| &mut answers.read, |path| self.counted(path, || self.inner.read(path)))
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        self.answer(
            path,
            |answers| &mut answers.read,
            |path| self.counted(path, || self.inner.read_start(path, most)),
        )
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, |answers| &mut answers.link, |path| self.inner.link(path))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        let most = if path == block::FOLDER { block::MOST_DRIVES } else { usize::MAX };
        let keep = |answer: &Result<Vec<String>, RootError>| {
            let names = answer.as_ref().map_err(RootError::clone)?;
            Ok(names[..names.len().min(most)].to_vec())
        };
        self.answer_kept(path, |answers| &mut answers.list, |path| self.inner.list(path), keep)
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
    fn a_content_is_as_long_as_such_a_file_can_be() {
        let mut capture = Capture::default();
        let line = |length: usize| Some(Ok(vec![b'1'; length]));
        for (path, length) in [("/proc/vmstat", 1 << 16), ("/sys/a", 1 + (1 << 16)), ("/proc/stat", 1 << 17)]
        {
            capture.answers.entry(path.to_owned()).or_default().read = line(length);
        }
        let root = TextRoot::from(capture);
        let length = |path: &str| root.read(path).map(|content| content.len());
        assert_eq!(length("/proc/vmstat"), Ok(1 << 16));
        assert_eq!(length("/sys/a"), Err(RootError::Errno(libc::EFBIG)));
        assert_eq!(length("/proc/stat"), Ok(1 << 17));
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
}
