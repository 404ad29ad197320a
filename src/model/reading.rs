//! [`Reading`]: a value together with where it was looked for and how that went.

use std::sync::Arc;

use serde::Serialize;

/// What came of looking for a value. Absent, denied and malformed are different answers; none of them is a zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It was there and could be understood.
    Known(T),
    /// This machine has no such value: no file, no register, not applicable. The text says which.
    Absent(Arc<str>),
    /// It is there and may not be read: the text names the error and the privilege or fix.
    Denied(Arc<str>),
    /// It was there and made no sense (`Unknown`, width 255, EIO, a parse error). The text quotes it.
    Malformed(Arc<str>),
}

/// A value with the path it was read from (`/sys/...`, `/proc/...`, `ioctl/nvme0n1/identify-ns`, a configuration-space
/// register as `/sys/.../config LnkSta`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    path: Arc<str>,
    outcome: Outcome<T>,
}

/// Why a value is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemKind {
    /// See [`Outcome::Absent`].
    Absent,
    /// See [`Outcome::Denied`].
    Denied,
    /// See [`Outcome::Malformed`].
    Malformed,
}

/// Something that could not be read, as `problems: [{path, reason}]` of CONTRACT's documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Problem {
    /// Where it was looked for.
    pub path: Arc<str>,
    /// What was found instead, in words.
    pub reason: Arc<str>,
    /// Which of the three answers it was.
    pub kind: ProblemKind,
}

impl<T> Reading<T> {
    /// A value read at `path`.
    pub fn known(path: impl Into<Arc<str>>, value: T) -> Self {
        Self { path: path.into(), outcome: Outcome::Known(value) }
    }

    /// Nothing there.
    pub fn absent(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), outcome: Outcome::Absent(why.into()) }
    }

    /// There, but not for us.
    pub fn denied(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), outcome: Outcome::Denied(why.into()) }
    }

    /// There, but nonsense.
    pub fn malformed(path: impl Into<Arc<str>>, why: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), outcome: Outcome::Malformed(why.into()) }
    }

    /// Where it was looked for.
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// What came of it.
    pub fn outcome(&self) -> &Outcome<T> {
        &self.outcome
    }

    /// The value, if it is known.
    pub fn value(&self) -> Option<&T> {
        match &self.outcome {
            Outcome::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The value, copied out.
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

    /// The reason when there is no value.
    pub fn problem(&self) -> Option<Problem> {
        let (kind, reason) = match &self.outcome {
            Outcome::Known(_) => return None,
            Outcome::Absent(reason) => (ProblemKind::Absent, reason),
            Outcome::Denied(reason) => (ProblemKind::Denied, reason),
            Outcome::Malformed(reason) => (ProblemKind::Malformed, reason),
        };
        Some(Problem { path: self.path.clone(), reason: reason.clone(), kind })
    }

    /// The same reading with the value turned into another one.
    #[must_use]
    pub fn map<U>(self, turn: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Ok(turn(value)))
    }

    /// The same reading with the value parsed further; an `Err` becomes [`Outcome::Malformed`] with that text.
    #[must_use]
    pub fn and_then<U>(self, parse: impl FnOnce(T) -> Result<U, String>) -> Reading<U> {
        let outcome = match self.outcome {
            Outcome::Known(value) => match parse(value) {
                Ok(parsed) => Outcome::Known(parsed),
                Err(why) => Outcome::Malformed(why.into()),
            },
            Outcome::Absent(why) => Outcome::Absent(why),
            Outcome::Denied(why) => Outcome::Denied(why),
            Outcome::Malformed(why) => Outcome::Malformed(why),
        };
        Reading { path: self.path, outcome }
    }

    /// This reading if it is known, else the other one if that is known, else this one: the second source of a value
    /// (configuration space where an old kernel has no file) without losing the first one's reason.
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
    /// The value, or `null`; the reason travels in `problems`.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}
