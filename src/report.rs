//! Pure text from data: trees, tables, JSON documents.

pub mod json;
pub mod flatten;
pub(crate) mod pasted;
pub(crate) mod tree;
pub(crate) mod drives;
pub(crate) mod check;
pub(crate) mod tune;
pub(crate) mod experiment;
pub(crate) mod dstat;
pub(crate) mod stat;
pub mod why;
pub(crate) mod fio_options;
pub(crate) mod fio_json;
pub(crate) mod summary;
pub(crate) mod pull;
pub mod whatif;
pub(crate) mod prometheus;
pub(crate) mod commands;
pub mod dossier;
pub mod sheet;
pub mod compare;
mod spread;
mod marks;
pub(crate) mod table;
pub(crate) mod waterfall;
pub(crate) mod toned;

use unicode_width::UnicodeWidthStr;

use crate::{
    machine::Machine,
    model::{Problem, ProblemKind, Reading},
    text::Label,
    units::unbroken,
};

/// The line below a table about values that need root.
fn needs_root(problems: &[Problem], command: &str) -> String {
    let denied = problems.iter().filter(|problem| problem.kind == ProblemKind::Denied).count();
    if let Some(refused) = refused_by_policy(problems) {
        let values = crate::units::counted(denied, "value");
        return format!("\n{values} refused ({}: {}).\n", refused.path, refused.reason);
    }
    match denied {
        0 => String::new(),
        1 => format!("\n1 value needs root. `iodyno {command} --json` names it.\n"),
        _ => format!("\n{denied} values need root. `iodyno {command} --json` names them.\n"),
    }
}

/// Whether a problem is that of a listed function that is not in the tree. In a copy of /sys with folders in place of links,
/// functions of the tree have such paths too.
fn is_lost_device(machine: &Machine, problem: &Problem) -> bool {
    let name = problem.path.strip_prefix("/sys/bus/pci/devices/");
    name.is_some_and(|name| !name.contains('/'))
        && *problem.reason != *crate::machine::pci::NO_BRIDGE
        && machine.pci.functions().all(|node| node.path != problem.path)
}

/// The first refusal where none of them is about privilege: root would not help.
fn refused_by_policy(problems: &[Problem]) -> Option<&Problem> {
    let mut denied = problems.iter().filter(|problem| problem.kind == ProblemKind::Denied);
    let is_policy = |problem: &&Problem| problem.reason.starts_with("EPERM");
    let first = denied.next().filter(is_policy)?;
    denied.all(|problem| is_policy(&problem)).then_some(first)
}

fn known(reading: &Reading<Label>) -> Option<String> {
    reading.value().map(ToString::to_string)
}

/// `text` in at most `width` columns, with `…` where something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(mut room) = width.checked_sub(1) else { return String::new() };
    let fits = |c: &char| {
        let left = room.checked_sub(c.encode_utf8(&mut [0; 4]).width());
        room = left.unwrap_or_default();
        left.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Words in lines of at most `width` columns, as far as words allow: the first behind `lead`, the others as far in.
pub(crate) fn wrapped(lead: &str, words: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in unbroken(words) {
        if !empty && line.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(lead.width())));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

fn wrap_onto(out: &mut String, lead: &str, words: &str, width: usize) {
    out.push_str(&ended(wrapped(lead, words, width)));
}

/// Lines, each with its end.
fn ended(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}
