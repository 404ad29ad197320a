//! Pure text from data: trees, tables, JSON documents.

pub mod json;
pub mod flatten;
pub mod tree;
pub mod drives;
pub mod check;
pub mod tune;
pub mod experiment;
pub mod demos;
pub mod dstat;
pub mod fio_options;
pub mod fio_json;
pub mod summary;
pub mod whatif;
pub mod prometheus;
pub mod commands;
pub mod dossier;
pub mod sheet;
pub mod compare;
mod spread;
mod table;

use crate::model::{Problem, ProblemKind};

/// The line under a table that says what more privilege would add; empty when there is nothing.
fn needs_root(problems: &[Problem], command: &str) -> String {
    let denied = problems.iter().filter(|problem| problem.kind == ProblemKind::Denied).count();
    match denied {
        0 => String::new(),
        1 => format!("\n1 value needs root. `iodyno {command} --json` names it.\n"),
        _ => format!("\n{denied} values need root. `iodyno {command} --json` names them.\n"),
    }
}
