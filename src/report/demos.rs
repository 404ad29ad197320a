//! `iodyno demos`: the built-in machines, as text and as a JSON document.

use serde::Serialize;

use super::{
    json::{SCHEMA, VERSION},
    table::{self, Column},
};

const COLUMNS: [Column; 2] = [
    Column { heading: "demo", right: false, optional: false },
    Column { heading: "machine", right: false, optional: false },
];

/// `iodyno demos --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemosDocument {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// See [`VERSION`].
    pub version: &'static str,
    /// The first is what `--demo` alone opens.
    pub demos: Vec<DemoRow>,
}

/// One built-in machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemoRow {
    /// The word for `--demo`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
}

impl DemosDocument {
    /// The document of these demos.
    pub fn new(demos: impl IntoIterator<Item = DemoRow>) -> Self {
        Self { schema: SCHEMA, version: VERSION, demos: demos.into_iter().collect() }
    }
}

/// The demos as text, for a terminal of `width` columns or, without one, as wide as it is.
pub fn text(document: &DemosDocument, width: Option<usize>) -> String {
    let row = |demo: &DemoRow| vec![demo.name.to_owned(), demo.title.to_owned()];
    table::text(&COLUMNS, &document.demos.iter().map(row).collect::<Vec<_>>(), width)
}
