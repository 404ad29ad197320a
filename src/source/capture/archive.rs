//! [`Archive`]: the answers of a capture in one piece. A capture may have hundreds of thousands of files of one line; each takes its
//! own bytes here, and an [`Entry`].

use std::hash::{BuildHasher, RandomState};

use super::{Answers, Capture};
use crate::source::root::RootError;

/// The answers of a capture, to be asked by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Archive {
    /// See [`Capture::notes`].
    pub(super) notes: Vec<(String, String)>,
    /// Each entry's path, then its value.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Of the entries, once [`Archive::index`] was called.
    index: Index,
}

/// Places of entries by their path and question: a reading of a machine asks some hundred thousand times.
#[derive(Debug, Clone, Default)]
struct Index {
    /// An entry's place and 1, at its hash or behind it; 0 where there is none. At most half of them are taken.
    places: Vec<u32>,
    hasher: RandomState,
}

impl Index {
    /// The slot that an entry has, or would get; `None` without any slots.
    fn slot(&self, archive: &Archive, path: &[u8], question: Question) -> Option<usize> {
        let size = self.places.len();
        let hash = self.hasher.hash_one((path, question));
        let first = usize::try_from(hash % size.max(1) as u64).unwrap_or(0);
        (first..size).chain(0..first).find(|slot| {
            self.entry(archive, *slot)
                .is_none_or(|entry| entry.question == question && archive.path(entry) == path)
        })
    }

    fn entry<'a>(&self, archive: &'a Archive, slot: usize) -> Option<&'a Entry> {
        archive.entries.get((self.places[slot] as usize).checked_sub(1)?)
    }
}

/// What a root is asked about a path, in the order of a capture's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Question {
    List,
    Link,
    Read,
}

/// One answer.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where its path begins, byte.
    start: usize,
    /// Length of the path, bytes.
    path: u32,
    /// Length of the value behind the path, bytes.
    value: u32,
    /// The line of the text that it ends in.
    line: u32,
    question: Question,
    kind: Kind,
}

/// What the value of an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A content, a target, names that end in a slash each.
    Known,
    /// An errno, little endian.
    Errno,
    /// The text of [`RootError::NotHere`].
    NotHere,
}

impl Archive {
    /// One for a text of so many bytes, which has no longer paths and values but for repeated rows: bytes that grow are there twice
    /// for a moment.
    pub(super) fn for_text(length: usize) -> Self {
        Self { bytes: Vec::with_capacity(length), ..Self::default() }
    }

    /// Adds the names of a folder. No name has a slash.
    pub(super) fn list(&mut self, line: usize, path: &str, names: &[impl AsRef<str>]) {
        let names: Vec<&[u8]> = names.iter().flat_map(|name| [name.as_ref().as_bytes(), b"/"]).collect();
        self.put(line, path, Question::List, Kind::Known, &names);
    }

    /// Adds a link's target.
    pub(super) fn link(&mut self, line: usize, path: &str, target: &str) {
        self.put(line, path, Question::Link, Kind::Known, &[target.as_bytes()]);
    }

    /// Adds a file's content, given in parts.
    pub(super) fn read(&mut self, line: usize, path: &str, content: &[&[u8]]) {
        self.put(line, path, Question::Read, Kind::Known, content);
    }

    /// Adds why there is no answer.
    pub(super) fn error(&mut self, line: usize, path: &str, question: Question, error: &RootError) {
        match error {
            RootError::Errno(errno) => self.put(line, path, question, Kind::Errno, &[&errno.to_le_bytes()]),
            RootError::NotHere(why) => self.put(line, path, question, Kind::NotHere, &[why.as_bytes()]),
        }
    }

    fn put(&mut self, line: usize, path: &str, question: Question, kind: Kind, value: &[&[u8]]) {
        // A capture's text and contents are bounded far below 4 GiB.
        let short = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let lengths = (short(path.len()), short(value.iter().map(|part| part.len()).sum()));
        let start = self.bytes.len();
        self.entries.push(Entry {
            start,
            path: lengths.0,
            value: lengths.1,
            line: short(line),
            question,
            kind,
        });
        self.bytes.extend_from_slice(path.as_bytes());
        for part in value {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Indexes the entries. The first line that answers what an earlier one does.
    pub(super) fn index(&mut self) -> Option<usize> {
        let size = (self.entries.len() * 2).next_power_of_two();
        let mut index = Index { places: vec![0; size], hasher: RandomState::new() };
        let mut twice = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let Some(slot) = index.slot(self, self.path(entry), entry.question) else { continue };
            if index.entry(self, slot).is_some() {
                twice.get_or_insert(entry.line as usize);
            } else {
                // A capture has far fewer entries.
                index.places[slot] = u32::try_from(at + 1).unwrap_or(0);
            }
        }
        self.index = index;
        twice
    }

    fn path(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..][..entry.path as usize]
    }

    fn value(&self, entry: &Entry) -> Result<&[u8], RootError> {
        let value = &self.bytes[entry.start + entry.path as usize..][..entry.value as usize];
        match entry.kind {
            Kind::Known => Ok(value),
            Kind::Errno => Err(RootError::Errno(value.try_into().map_or(libc::EIO, i32::from_le_bytes))),
            Kind::NotHere => Err(RootError::NotHere(text(value))),
        }
    }

    /// The answer to a question; `None` if it was not asked.
    pub(super) fn answer(&self, path: &str, question: Question) -> Option<Result<&[u8], RootError>> {
        let slot = self.index.slot(self, path.as_bytes(), question)?;
        Some(self.value(self.index.entry(self, slot)?))
    }

    /// The answers as they can be changed.
    pub(super) fn into_capture(mut self) -> Capture {
        let mut capture = Capture { notes: std::mem::take(&mut self.notes), ..Capture::default() };
        for entry in &self.entries {
            let answers = capture.answers.entry(text(self.path(entry))).or_default();
            let value = self.value(entry);
            match entry.question {
                Question::List => answers.list = Some(value.map(names)),
                Question::Link => answers.link = Some(value.map(text)),
                Question::Read => answers.read = Some(value.map(<[u8]>::to_vec)),
            }
        }
        capture
    }
}

impl From<Capture> for Archive {
    fn from(Capture { notes, answers }: Capture) -> Self {
        let mut archive = Self { notes, ..Self::default() };
        for (path, Answers { list, link, read }) in &answers {
            match list {
                Some(Ok(names)) => archive.list(0, path, names),
                Some(Err(error)) => archive.error(0, path, Question::List, error),
                None => {}
            }
            match link {
                Some(Ok(target)) => archive.link(0, path, target),
                Some(Err(error)) => archive.error(0, path, Question::Link, error),
                None => {}
            }
            match read {
                Some(Ok(content)) => archive.read(0, path, &[content]),
                Some(Err(error)) => archive.error(0, path, Question::Read, error),
                None => {}
            }
        }
        archive.index();
        archive
    }
}

/// What was a string when it was added.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The names of a folder.
pub(super) fn names(value: &[u8]) -> Vec<String> {
    value.split_inclusive(|byte| *byte == b'/').map(|name| text(&name[..name.len() - 1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_by_path_and_question_in_any_order() {
        let path = |at: usize| format!("/sys/{}/{at}", at % 7);
        let mut archive = Archive::default();
        assert_eq!(archive.answer("/sys", Question::Read), None, "without an index");
        for at in (0..500).rev() {
            archive.read(at, &path(at), &[b"a", at.to_string().as_bytes()]);
            archive.link(at, &path(at), "../x");
        }
        assert_eq!(archive.index(), None);
        for at in 0..500 {
            let content = format!("a{at}").into_bytes();
            assert_eq!(archive.answer(&path(at), Question::Read), Some(Ok(&content[..])));
            assert_eq!(archive.answer(&path(at), Question::Link), Some(Ok(&b"../x"[..])));
            assert_eq!(archive.answer(&path(at), Question::List), None);
        }
        assert_eq!(archive.answer("/sys/0/500", Question::Read), None);
        archive.read(800, &path(3), &[b"again"]);
        archive.link(900, &path(4), "again");
        assert_eq!(archive.index(), Some(800), "the first line that repeats a question");
    }
}
