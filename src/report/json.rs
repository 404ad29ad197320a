//! The JSON documents: names that scripts rely on.
//!
//! Every `null` has a row in `problems` with its reason. Fields may be added, never renamed. The text of `tree` and `drives`
//! is made from the same documents.

mod tree;
mod drives;
mod layers;
mod sheet;

use std::{collections::BTreeSet, fmt::Display, sync::Arc};

use serde::Serialize;

pub use drives::{DriveRow, DrivesDocument};
pub(crate) use layers::StackRow;
pub(super) use sheet::SheetDocument;
pub use tree::{LinkRow, NodeRow, TreeDocument};

use crate::{
    model::{Problem, ProblemKind, Reading},
    text::escaped_json,
};

/// Version of iodyno.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: u32,
    version: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    const fn new(document: &'a T) -> Self {
        Self { schema: 1, version: VERSION, document }
    }
}

/// A document with the versions of its form and of iodyno, as indented text with a line end.
pub(crate) fn text(document: &impl Serialize) -> String {
    // Documents are structs of strings, numbers and lists: no map with odd keys, no failing `Serialize`.
    let text = serde_json::to_string_pretty(&Versioned::new(document)).unwrap_or_default();
    let mut text = escaped_json(text);
    text.push('\n');
    text
}

/// The same in one line.
pub(crate) fn line(document: &impl Serialize) -> String {
    let mut text = escaped_json(serde_json::to_string(&Versioned::new(document)).unwrap_or_default());
    text.push('\n');
    text
}

/// Takes values out of readings and collects the reasons of missing ones.
#[derive(Debug, Default)]
struct Reasons {
    problems: BTreeSet<Problem>,
}

impl Reasons {
    fn take<T: Clone>(&mut self, reading: &Reading<T>) -> Option<T> {
        self.turn(reading, T::clone)
    }

    /// The value of a reading, converted.
    fn turn<T, U>(&mut self, reading: &Reading<T>, turn: impl FnOnce(&T) -> U) -> Option<U> {
        self.problems.extend(reading.problem());
        reading.value().map(turn)
    }

    /// The value of a reading of an option; `why` is the reason of `None`.
    fn flatten<T: Copy>(&mut self, reading: &Reading<Option<T>>, why: &str) -> Option<T> {
        match reading.value() {
            Some(None) => self.absent(reading.path(), why),
            _ => self.take(reading).flatten(),
        }
    }

    /// `None`, as this machine has no such value.
    fn absent<T>(&mut self, path: impl Into<Arc<str>>, why: impl Display) -> Option<T> {
        let reason = why.to_string().into();
        self.problems.insert(Problem { path: path.into(), reason, kind: ProblemKind::Absent });
        None
    }

    /// `value`, or the reason there is none.
    fn or_absent<T>(&mut self, value: Option<T>, path: &str, why: impl Display) -> Option<T> {
        if value.is_none() { self.absent(path, why) } else { value }
    }

    /// A reason that is in the document itself, too.
    fn also(&mut self, problem: &Problem) -> Problem {
        self.problems.insert(problem.clone());
        problem.clone()
    }

    /// All reasons together with those of the readers, by path.
    fn into_problems(mut self, readers: &[Problem]) -> Vec<Problem> {
        self.problems.extend(readers.iter().cloned());
        self.problems.into_iter().collect()
    }
}
