//! What there is to know of a setting of a device: its last write, values, effect, file, risk.

use super::differ;
use crate::{
    screens::widgets::paint::{Piece, hanging, label, piece, width},
    tune::{
        Device, SETTINGS, Setting,
        cell::Cell,
        persist,
        settings::{NR_REQUESTS, READ_AHEAD, Range, Risk, SCHEDULER},
    },
    ui::{Shared, theme::Meaning},
};

/// Cells of a label.
pub(super) const LABEL: usize = 9;

/// Adds what there is to know of a cell: its last write, values, effect, file, risk.
pub(super) fn about(
    lines: &mut Vec<Vec<Piece>>,
    shared: &Shared,
    (device, row, cell): (&Device, &Setting, &Cell),
    room: u16,
) {
    if let Some(done) = shared.settings.last_of(device, row.id) {
        let meaning = if done.is_good() { Meaning::Good } else { Meaning::Warning };
        field(lines, "last", &format!("{}: {}", done.step(), done.came_to()), meaning, room);
    }
    if let Some(problem) = &cell.problem {
        // An opened text has no files.
        let is_text = shared.machine.pasted.is_some();
        let path = if is_text { String::new() } else { format!("{}: ", problem.path) };
        field(lines, "missing", &format!("{path}{}", problem.reason), Meaning::Quiet, room);
    }
    if differ(cell) {
        field(lines, "", "its files differ; a change sets all of them", Meaning::Warning, room);
    }
    if shared.machine.pasted.is_none() {
        lines.push(takes(row, cell, room));
    }
    field(lines, "does", row.help, Meaning::Text, room);
    if let Some(text) = resets(row) {
        field(lines, "", &text, Meaning::Warning, room);
    }
    if let Some(rule) = &cell.set_by {
        field(lines, "at boot", rule, Meaning::Warning, room);
    } else {
        let text = match persist::why_no_rule(&shared.machine, device, row) {
            _ if row.risk == Risk::Shown => "no rule found".to_owned(),
            Some(why) => format!("no rule found, and none can be written: {why}"),
            None => shared.keys.fill("no rule found; {export} writes one for changed settings"),
        };
        field(lines, "at boot", &text, Meaning::Quiet, room);
    }
    if let Some(file) = cell.files.first() {
        let more =
            if cell.files.len() > 1 { format!(" and {} more", cell.files.len() - 1) } else { String::new() };
        let label = if shared.machine.pasted.is_some() { "text" } else { "file" };
        field(lines, label, &format!("{file}{more}"), Meaning::Quiet, room);
    }
    field(lines, "risk", risk(row.risk), Meaning::Quiet, room);
    field(lines, "tested", &row.proved_on(), Meaning::Quiet, room);
}

/// The settings that the kernel resets along with one, in words; `None` where it resets none.
fn resets(row: &Setting) -> Option<String> {
    let tunables = match row.id {
        SCHEDULER => Some("iosched"),
        NR_REQUESTS => Some("iosched/async_depth"),
        _ => None,
    };
    let labels = SETTINGS.iter().filter(|other| row.also.contains(&other.id)).map(|other| other.label);
    let mut labels: Vec<&str> = labels.chain(tunables).collect();
    let last = labels.pop()?;
    let labels =
        if labels.is_empty() { last.to_owned() } else { format!("{} and {last}", labels.join(", ")) };
    // A queue's new limits (`blk_apply_bdi_limits`); demos behave as Linux 6.12, which leaves it.
    let is_new = row.also == [READ_AHEAD];
    let when = if is_new { " on some kernels (6.18)" } else { "" };
    let them = if row.id == SCHEDULER { "them" } else { "it" };
    Some(format!("also resets {labels}{when}; an undo restores {them}"))
}

fn takes(row: &Setting, cell: &Cell, room: u16) -> Vec<Piece> {
    let mut line = vec![label("values", LABEL)];
    let now = cell.value.as_ref().map_or("", |value| value.as_str());
    for choice in &cell.choices {
        let meaning = if choice == now { Meaning::Figure } else { Meaning::Text };
        line.push(piece(choice.clone(), meaning));
        line.push(piece(" ", Meaning::Text));
    }
    if row.risk == Risk::Shown {
        line.push(piece("not tunable", Meaning::Quiet));
    } else if let (Range::Number(least, most), false) = (row.range, row.usual.is_empty()) {
        let most = if most == i64::MAX { "up".to_owned() } else { format!("to {most}") };
        line.push(piece(format!(" or any from {least} {most}"), Meaning::Quiet));
    }
    if width(&line) > room {
        line.pop();
    }
    line
}

const fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Live => "live: takes effect at once, undone at once",
        Risk::Rebind => "rebind: unbinds the driver and binds it again; only for an unused drive",
        Risk::Shown => "none: never changed",
    }
}

/// Adds a labelled text.
pub(super) fn field(lines: &mut Vec<Vec<Piece>>, name: &str, value: &str, meaning: Meaning, room: u16) {
    lines.extend(hanging(label(name, LABEL), value, meaning, room));
}
