//! [`Fact`]: one line about a row, with its unit and the path it was read from.

use std::sync::Arc;

use crate::{model::Reading, ui::theme::Meaning};

/// One fact.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    /// Label; empty for a line without one.
    pub label: &'static str,
    /// Value with its unit.
    pub value: String,
    /// How it is to be taken.
    pub meaning: Meaning,
    /// Where it was read.
    pub path: Option<Arc<str>>,
    /// What more there is to say, where there is room for it.
    pub more: Option<String>,
}

/// A fact that was not read from one place.
pub(super) fn fact(label: &'static str, value: impl Into<String>) -> Fact {
    Fact { label, value: value.into(), meaning: Meaning::Text, path: None, more: None }
}

/// A fact from a reading; what could not be read says why. What is simply not there gives no fact.
pub(super) fn read<T>(
    label: &'static str,
    reading: &Reading<T>,
    show: impl FnOnce(&T) -> String,
) -> Option<Fact> {
    use crate::model::ProblemKind::{Absent, Cut, Denied, Malformed};
    let path = Some(reading.path());
    if let Some(value) = reading.value() {
        return Some(Fact { path, ..fact(label, show(value)) });
    }
    let problem = reading.problem()?;
    let value = match problem.kind {
        Absent => return None,
        Denied => format!("not readable: {}", problem.reason),
        Malformed => format!("malformed: {}", problem.reason),
        Cut => format!("not read in full: {}", problem.reason),
    };
    Some(Fact { path, meaning: Meaning::Quiet, ..fact(label, value) })
}
