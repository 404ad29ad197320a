//! Captures: [`Recorder`] keeps every answer of a root, [`TextRoot`] answers from them. [`mod@format`] is their text.

pub mod format;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

pub(crate) use format::CaptureError;

use super::root::{RootError, SysRoot};

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
    capture: Capture,
}

impl TextRoot {
    /// Reads a capture's text.
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        format::parse(text).map(Self::from)
    }

    fn answer<T>(
        &self,
        path: &str,
        which: impl Fn(&Answers) -> Option<Result<T, RootError>>,
    ) -> Result<T, RootError> {
        let answer = self.capture.answers.get(path).and_then(which);
        answer.unwrap_or_else(|| Err(RootError::NotHere("not in this capture".to_owned())))
    }

    /// The capture, when nothing more is asked.
    pub fn into_capture(self) -> Capture {
        self.capture
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

impl SysRoot for TextRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.answer(path, |answers| answers.read.clone())
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.answer(path, |answers| answers.link.clone())
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.answer(path, |answers| answers.list.clone())
    }
}

/// A root that records the answers of another one. A second question gets the recorded answer, so that the capture
/// matches what was read.
pub struct Recorder<'a> {
    inner: &'a dyn SysRoot,
    answers: Mutex<BTreeMap<String, Answers>>,
}

impl<'a> Recorder<'a> {
    /// Records the answers of `inner`.
    pub fn new(inner: &'a dyn SysRoot) -> Self {
        Self { inner, answers: Mutex::default() }
    }

    /// The answers so far.
    pub fn recorded(&self) -> Capture {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Capture { notes: Vec::new(), answers }
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
}
