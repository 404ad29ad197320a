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
    machine::Machine,
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
#[derive(Debug)]
struct Reasons<'a> {
    machine: &'a Machine,
    problems: BTreeSet<Problem>,
}

impl<'a> Reasons<'a> {
    const fn new(machine: &'a Machine) -> Self {
        Self { machine, problems: BTreeSet::new() }
    }

    /// Adds a reason; the answer is how the document has it.
    fn note(&mut self, problem: Problem) -> Problem {
        let placed = self.machine.placed(problem);
        self.problems.insert(placed.clone());
        placed
    }

    /// Adds the reason of a reading without value.
    fn note_of<T>(&mut self, reading: &Reading<T>) {
        if let Some(problem) = reading.problem() {
            self.note(problem);
        }
    }

    fn take<T: Clone>(&mut self, reading: &Reading<T>) -> Option<T> {
        self.turn(reading, T::clone)
    }

    /// The value of a reading, converted.
    fn turn<T, U>(&mut self, reading: &Reading<T>, turn: impl FnOnce(&T) -> U) -> Option<U> {
        self.note_of(reading);
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
        self.note(Problem { path: path.into(), reason, kind: ProblemKind::Absent });
        None
    }

    /// `value`, or the reason there is none.
    fn or_absent<T>(&mut self, value: Option<T>, path: &str, why: impl Display) -> Option<T> {
        if value.is_none() { self.absent(path, why) } else { value }
    }

    /// All reasons together with those of the readers, by path.
    fn into_problems(mut self, readers: &[Problem]) -> Vec<Problem> {
        for problem in readers {
            self.note(problem.clone());
        }
        self.problems.into_iter().collect()
    }
}
