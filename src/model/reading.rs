//! [`Reading`]: a value with its path, or the reason why it is missing.

use std::{borrow::Borrow, cell::RefCell, collections::HashSet, hash::Hash, sync::Arc};

use serde::Serialize;

use crate::text::{Label, is_harmless, is_printable_ascii};

/// A value with its path (`/sys/...`, `/proc/...`, `ioctl/nvme0n1/identify-ns`, a configuration-space register as
/// `/sys/.../config LnkSta`), or why it is missing. A missing value is never zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    path: Path,
    value: Result<T, Arc<Missing>>,
}

/// A path in two pointers: a machine has some ten thousand readings, each with its own path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Path {
    /// With its slash; shared by the readings of a device.
    folder: Word,
    /// Shared by the readings of a kind.
    name: Word,
}

/// A problem without its path, which is the reading's: most readings of an opened text are missing.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Missing {
    reason: Arc<str>,
    kind: ProblemKind,
}

/// Why a value is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemKind {
    /// This machine has no such value: no file, no register, not applicable.
    Absent,
    /// Reading is not permitted; the reason names the error and the privilege or fix.
    Denied,
    /// Not usable (`Unknown`, width 255, EIO, a parse error); the reason quotes it.
    Malformed,
    /// More names or bytes than are read. JSON keeps one word for it and for values that are not usable.
    #[serde(rename = "malformed")]
    Cut,
}

/// A value that could not be read, as in `problems: [{path, reason}]` of JSON documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Problem {
    /// Its path; of an opened text its line, or empty: `null` in JSON.
    #[serde(serialize_with = "or_null")]
    pub path: Arc<str>,
    /// In words.
    pub reason: Arc<str>,
    /// The reason's kind.
    pub kind: ProblemKind,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, path: impl Into<Arc<str>>, reason: impl Into<Arc<str>>) -> Self {
        Self { path: neutral(path.into()), reason: neutral(reason.into()), kind }
    }
}

/// A path, or `null` for a value that has none.
fn or_null<S: serde::Serializer>(path: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    Some(path).filter(|path| !path.is_empty()).serialize(serializer)
}

/// Paths and reasons quote files: as a [`Label`], without a copy where nothing changes.
fn neutral(text: Arc<str>) -> Arc<str> {
    if is_printable_ascii(&text) || text.chars().all(is_harmless) {
        text
    } else {
        Label::new(&text).as_str().into()
    }
}

/// A folder or a name of [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Word(Arc<Box<str>>);

impl Borrow<str> for Word {
    fn borrow(&self) -> &str {
        &self.0
    }
}

thread_local! {
    static WORDS: RefCell<HashSet<Word>> = RefCell::default();
    static FOLDER: RefCell<Option<Word>> = const { RefCell::new(None) };
    static REASONS: RefCell<HashSet<Arc<Missing>>> = RefCell::default();
}

/// What was given lately is used again: readings have few folders at a time, few names and few reasons.
fn shared<K: Hash + Eq + ?Sized, T: Borrow<K> + Hash + Eq + Clone, O: Borrow<K>>(
    lately: &mut HashSet<T>,
    own: O,
    new: impl FnOnce(O) -> T,
) -> T {
    const MOST: usize = 1024;
    if let Some(known) = lately.get(own.borrow()) {
        return known.clone();
    }
    if lately.len() >= MOST {
        lately.clear();
    }
    let new = new(own);
    lately.insert(new.clone());
    new
}

impl Path {
    fn new(path: &str) -> Self {
        let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
        let word = |word: &str| {
            WORDS.with_borrow_mut(|lately| {
                shared::<str, _, _>(lately, word, |word| Word(Arc::new(word.into())))
            })
        };
        // One reading follows another of the same folder.
        let folder = FOLDER.with_borrow_mut(|last| match last {
            Some(last) if **last.0 == *folder => last.clone(),
            _ => last.insert(word(folder)).clone(),
        });
        Self { folder, name: word(name) }
    }

    fn whole(&self) -> Arc<str> {
        [&**self.folder.0, &**self.name.0].concat().into()
    }
}

impl Missing {
    fn shared(kind: ProblemKind, reason: Arc<str>) -> Arc<Self> {
        let missing = Self { reason, kind };
        REASONS.with_borrow_mut(|lately| shared::<Self, _, _>(lately, missing, Arc::new))
    }
}

impl<T> From<Problem> for Reading<T> {
    fn from(problem: Problem) -> Self {
        let Problem { path, reason, kind } = problem;
        Self { path: Path::new(&path), value: Err(Missing::shared(kind, reason)) }
    }
}

impl<T> Reading<T> {
    /// A value read at `path`.
    pub fn known(path: impl AsRef<str>, value: T) -> Self {
        Self { path: Path::new(path.as_ref()), value: Ok(value) }
    }

    /// A value that this machine does not have.
    pub fn absent(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Problem::new(ProblemKind::Absent, path, why).into()
    }

    /// A value that must not be read.
    pub fn denied(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Problem::new(ProblemKind::Denied, path, why).into()
    }

    /// A value that cannot be used.
    pub fn malformed(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Problem::new(ProblemKind::Malformed, path, why).into()
    }

    /// The path it was read from.
    pub fn path(&self) -> Arc<str> {
        self.path.whole()
    }

    /// The value, if it is known.
    pub fn value(&self) -> Option<&T> {
        self.value.as_ref().ok()
    }

    /// The value, copied.
    pub fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        self.value().copied()
    }

    /// Whether the value is known.
    pub fn is_known(&self) -> bool {
        self.value().is_some()
    }

    /// Whether this machine has no such value, as opposed to an unreadable one.
    pub(crate) fn is_absent(&self) -> bool {
        self.value.as_ref().is_err_and(|missing| missing.kind == ProblemKind::Absent)
    }

    /// The reason when there is no value.
    pub fn problem(&self) -> Option<Problem> {
        let Missing { reason, kind } = &**self.value.as_ref().err()?;
        Some(Problem { path: neutral(self.path()), reason: reason.clone(), kind: *kind })
    }

    /// Converts the value.
    #[must_use]
    pub fn map<U>(self, turn: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Ok(turn(value)))
    }

    /// Parses the value further; an `Err` becomes [`ProblemKind::Malformed`] with that text.
    #[must_use]
    pub fn and_then<U>(self, parse: impl FnOnce(T) -> Result<U, String>) -> Reading<U> {
        let malformed = |why: String| Missing::shared(ProblemKind::Malformed, neutral(why.into()));
        let value = self.value.and_then(|value| parse(value).map_err(malformed));
        Reading { path: self.path, value }
    }

    /// This reading, or if only the other one is known, that: a second source of the value, such as configuration space
    /// where an old kernel has no file.
    #[must_use]
    pub fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self.is_known() {
            return self;
        }
        let second = other();
        if second.is_known() { second } else { self }
    }
}

impl<T: Serialize> Serialize for Reading<T> {
    /// The value, or `null`; the reason is in `problems`.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}
