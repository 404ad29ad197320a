//! What lies over the tune screen: the writes before they are made, and the questions about changes that stand.

use crate::{
    screens::{
        Over,
        widgets::paint::{Piece, hanging, hints, label, paragraph, piece},
    },
    tune::{Change, change_log::Entry},
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// Columns before a file's path.
const INDENT: usize = 11;

/// The writes before they are made, in lines of at most `width` cells.
pub(super) fn review(shared: &Shared, width: u16) -> Over {
    let writes = shared.settings.writes();
    let can = shared.can_tune();
    let simulated = if shared.is_simulated() { ", SIMULATED" } else { "" };
    let title = match (can, shared.why_not_tune()) {
        (false, Some(why)) => format!("{}: the commands for {}", why, counted(writes.len(), "write")),
        _ => format!("{} to make{simulated}", counted(writes.len(), "write")),
    };
    let what = if can { "writes them, in this order" } else { "quits and prints them" };
    let mut lines = vec![hints(&[("Enter", what), ("Esc", "goes back, nothing written")]), Vec::new()];
    for (change, more) in grouped(&writes) {
        let more = if more > 0 { format!(" and {} like it", counted(more, "file")) } else { String::new() };
        if can {
            lines.push(vec![
                piece(format!("{:<10} {:<20} ", change.device, change.setting.0), Meaning::Drive),
                piece(format!("{} → {}", change.from, change.to), Meaning::Marked),
            ]);
            let file = format!("{}{more}", change.file);
            lines.extend(hanging(label("", INDENT), &file, Meaning::Quiet, width));
        } else {
            lines.extend(paragraph(&format!("{}{more}", change.command()), Meaning::Text, width));
        }
    }
    Over { title, lines, size: (110, 40), cursor: None }
}

/// The question before leaving while changes stand.
pub(super) fn standing(shared: &Shared) -> Over {
    let simulated = if shared.is_simulated() { ", SIMULATED" } else { "" };
    let title = format!("{} changed by this run{simulated}", counted(shared.standing(), "setting"));
    let mut lines = vec![
        choice("u", "undo: restore the values before iodyno, then quit"),
        choice("k", "keep: they stay until the next boot"),
        choice("e", "keep, and print udev rules that would set them at every boot"),
        choice("Esc", "cancel"),
        Vec::new(),
    ];
    lines.extend(shared.settings.own().map(changed));
    Over { title, lines, size: (76, 16), cursor: None }
}

/// The question before leaving while values are staged.
pub(super) fn staged(shared: &Shared) -> Over {
    let count = shared.settings.writes().len();
    let title = format!("{} staged and not applied", counted(count, "write"));
    let lines = vec![
        choice("a", "review them, to apply them"),
        choice("d", "drop them, and quit"),
        choice("Esc", "cancel"),
    ];
    Over { title, lines, size: (60, 8), cursor: None }
}

/// Rules that set the changed settings at every boot, with the keys that save them.
pub(super) fn export(rules: &str, width: u16) -> Over {
    let mut lines = vec![
        hints(&[("w", "saves them in the current directory"), ("y", "copies"), ("Esc", "closes")]),
        Vec::new(),
    ];
    lines.extend(rules.lines().flat_map(|line| paragraph(line, Meaning::Text, width)));
    Over { title: "udev rules for the changed settings".to_owned(), lines, size: (110, 40), cursor: None }
}

/// The offer to restore what a dead session changed.
pub(super) fn left_behind(shared: &Shared) -> Over {
    let title = format!(
        "{} left changed by an iodyno that was killed",
        counted(shared.settings.left_behind().count(), "setting")
    );
    let mut lines = vec![
        choice("u", "undo: restore the values before it"),
        choice("k", "keep: they stay until the next boot"),
        choice("Esc", "later; asked again at the next start"),
        Vec::new(),
    ];
    lines.extend(shared.settings.left_behind().map(changed));
    Over { title, lines, size: (76, 16), cursor: None }
}

fn choice(key: &str, what: &str) -> Vec<Piece> {
    vec![piece(format!("{key:<5}"), Meaning::Key), piece(what, Meaning::Text)]
}

fn changed(entry: &Entry) -> Vec<Piece> {
    let now = entry.last.last().map_or("", String::as_str);
    vec![
        piece(format!("{:<10} {:<20} ", entry.device.name, entry.setting), Meaning::Drive),
        piece(format!("before {}, now {now}", entry.found), Meaning::Text),
    ]
}

/// Writes that differ in nothing but their file, together: the first, and how many more there are.
fn grouped(writes: &[Change]) -> Vec<(&Change, usize)> {
    let alike = |a: &Change, b: &Change| {
        (&a.device, a.setting, &a.from, &a.to) == (&b.device, b.setting, &b.from, &b.to)
    };
    writes.chunk_by(alike).filter_map(|group| Some((group.first()?, group.len() - 1))).collect()
}
