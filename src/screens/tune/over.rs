//! What lies over the tune screen: the writes before they are made, and the questions about changes that stand.

use super::{Laid, rules::rules};
use crate::{
    screens::{
        Over,
        widgets::{
            paint::{Piece, hanging, hints, key_hints, label, paragraph, piece},
            shell::{self, Reader},
        },
    },
    tune::{Change, Restored, foresight::Prospect, undo::Step},
    ui::{Shared, settings::Staged, theme::Meaning},
    units::counted,
};

/// Columns before a file's path.
const INDENT: usize = 11;

type Lines = Vec<Vec<Piece>>;

/// The writes before they are made, in lines of at most `width` cells.
pub(super) fn review(shared: &Shared, width: u16) -> Over {
    let writes = shared.settings.writes();
    let can = shared.can_tune();
    let simulated = if shared.is_simulated() { ", SIMULATED" } else { "" };
    let title = match (can, shared.why_not_tune()) {
        (false, Some(why)) => format!("{}: the commands for {}", why, counted(writes.len(), "write")),
        _ => format!("{} to make{simulated}", counted(writes.len(), "write")),
    };
    let keys: &[(&str, &str)] = if can {
        &[("Enter", "write them, in this order"), ("Esc", "cancel: nothing is written")]
    } else {
        &[("p", "quit, and print them"), ("y", "copy them"), ("Esc", "or Enter: cancel")]
    };
    let mut lines = choices(keys, width);
    let is_pull = shared.pulls.running.is_some();
    if can && (is_pull || shared.tests.running().is_some()) {
        let what = if is_pull { "pull" } else { "test" };
        let text = format!("The {what} goes on: its figures mix reads before and after the writes.");
        lines.extend(paragraph(&text, Meaning::Warning, width));
    }
    lines.push(Vec::new());
    for (change, more) in grouped(&writes) {
        let more = if more > 0 { format!("and {} like it", counted(more, "file")) } else { String::new() };
        if can {
            let lead = piece(format!("{:<10} {:<20} ", change.device, change.setting.0), Meaning::Drive);
            let values = format!("{} → {}", change.from, change.to);
            lines.extend(hanging(lead, &values, Meaning::Marked, width));
            let file = format!("{} {more}", change.file);
            lines.extend(hanging(label("", INDENT), file.trim_end(), Meaning::Quiet, width));
        } else {
            lines.extend(shell::command(&change.command(), Reader::Shell, 0, width, Meaning::Text));
            lines.extend((!more.is_empty()).then(|| vec![piece(more, Meaning::Quiet)]));
        }
    }
    Over { title, lines, size: (110, 40), cursor: None }
}

/// The question before leaving while changes stand.
pub(super) fn standing(shared: &Shared, width: u16) -> Over {
    let simulated = if shared.is_simulated() { ", SIMULATED" } else { "" };
    if shared.standing() == 0 {
        let keys = [(&*shared.keys.fill("{quit}"), "quit"), ("Esc", "or Enter: cancel")];
        let mut lines = choices(&keys, width);
        lines.push(Vec::new());
        lines.extend(changes(shared, width));
        return Over { title: "No setting is left to undo".to_owned(), lines, size: (76, 16), cursor: None };
    }
    let (by, before) = whose(shared);
    let title = format!("{} changed by {by}{simulated}", counted(shared.standing(), "setting"));
    let keys = [
        ("u", &*format!("undo: restore the values before {before}, then quit")),
        ("k", "keep: they stay until the next boot"),
        ("e", &format!("keep, and {}", prints(shared))),
        ("Esc", "or Enter: cancel"),
    ];
    let mut lines = choices(&keys, width);
    lines.push(Vec::new());
    lines.extend(changes(shared, width));
    Over { title, lines, size: (76, 16), cursor: None }
}

/// Which runs made the changes, and before which of them an undo restores the values. Another iodyno may have left the undo
/// of its changes to this one.
pub(super) fn whose(shared: &Shared) -> (&'static str, &'static str) {
    let is_passed_on = shared.settings.own().any(|prospect| prospect.is_passed_on);
    if is_passed_on { ("this run and another", "both") } else { ("this run", "this run") }
}

/// What is printed of settings that are kept.
fn prints(shared: &Shared) -> &'static str {
    if rules(shared).text.is_empty() {
        "print why no udev rule can set them"
    } else {
        "print udev rules that would set them at every boot"
    }
}

/// The question before leaving while values are staged; with settings changed too, each key says what becomes of both.
pub(super) fn staged(shared: &Shared, width: u16) -> Over {
    let writes = counted(shared.settings.writes().len(), "write");
    let size = (76, 16);
    if shared.standing() == 0 {
        let title = format!("{writes} staged and not applied");
        let keys = [("Enter", "review them, to apply them"), ("d", "drop them, and quit"), ("Esc", "cancel")];
        return Over { title, lines: choices(&keys, width), size, cursor: None };
    }
    let simulated = if shared.is_simulated() { ", SIMULATED" } else { "" };
    let title = format!("{writes} staged, {} changed{simulated}", counted(shared.standing(), "setting"));
    let keys = [
        ("Enter", "review the staged writes, to apply them"),
        ("u", "drop the staged writes, undo the changed settings, quit"),
        ("k", "drop the staged writes, keep the changed settings until the next boot, quit"),
        ("e", &format!("as k, and {}", prints(shared))),
        ("Esc", "cancel"),
    ];
    let mut lines = choices(&keys, width);
    lines.push(Vec::new());
    lines.push(vec![piece("Staged and not applied", Meaning::Heading)]);
    lines.extend(shared.settings.staged.iter().flat_map(|one| waiting(one, width)));
    lines.push(vec![piece(format!("Changed by {}", whose(shared).0), Meaning::Heading)]);
    lines.extend(changes(shared, width));
    Over { title, lines, size, cursor: None }
}

/// Rules that set the changed settings at every boot, with the keys that save them.
pub(super) fn export(rules: &str, width: u16) -> Over {
    let keys = [("w", "save them in the current directory"), ("y", "copy"), ("Esc", "close")];
    let mut lines = choices(&keys, width);
    lines.push(Vec::new());
    lines.extend(shell::rules(rules, width, Meaning::Text));
    Over { title: "udev rules for the changed settings".to_owned(), lines, size: (110, 40), cursor: None }
}

/// The offer to restore what a dead session changed.
pub(super) fn left_behind(shared: &Shared, width: u16) -> Over {
    let settings = &shared.settings;
    let has_no_end = settings.dead.iter().all(|id| settings.change_log.has_no_end(id));
    let how = match has_no_end {
        _ if settings.left_behind().all(|prospect| prospect.is_unrestored) => "not restored by an undo",
        true => "left changed by an iodyno whose end is not recorded",
        false => "left changed by an iodyno that ended",
    };
    let title = format!("{} {how}", counted(settings.left_behind().count(), "setting"));
    let mut lines = choices(
        &[
            ("u", "undo: restore the values before it"),
            ("k", "keep: they stay until the next boot"),
            ("Esc", "or Enter: later; asked again at the next start"),
        ],
        width,
    );
    lines.push(Vec::new());
    lines.extend(shared.settings.left_behind().flat_map(|prospect| changed(prospect, width)));
    Over { title, lines, size: (76, 16), cursor: None }
}

/// The keys of each for the footer.
pub(super) fn keys(laid: Laid, shared: &Shared) -> Vec<Piece> {
    hints(match laid {
        Laid::Review if shared.can_tune() => &[("Enter", "write"), ("Esc", "cancel")],
        Laid::Review => &[("p", "quit, print"), ("y", "copy"), ("Esc", "cancel")],
        Laid::Staged if shared.standing() == 0 => {
            &[("Enter", "review"), ("d", "drop, quit"), ("Esc", "cancel")]
        }
        Laid::Staged => {
            &[("Enter", "review"), ("u", "undo"), ("k", "keep"), ("e", "print rules"), ("Esc", "cancel")]
        }
        Laid::Standing if shared.standing() == 0 => {
            return key_hints(&shared.keys, &[("quit", "quit"), ("back", "cancel")]);
        }
        Laid::Standing => &[("u", "undo"), ("k", "keep"), ("e", "print rules"), ("Esc", "cancel")],
        Laid::Export => &[("w", "save"), ("y", "copy"), ("Esc", "close")],
        Laid::LeftBehind => &[("u", "undo"), ("k", "keep"), ("Esc", "later")],
    })
}

/// Keys with all that each does, wrapped.
fn choices(keys: &[(&str, &str)], width: u16) -> Lines {
    let line = |(key, what): &(&str, &str)| {
        hanging(piece(format!("{key:<6}"), Meaning::Key), what, Meaning::Text, width)
    };
    keys.iter().flat_map(line).collect()
}

fn waiting(staged: &Staged, width: u16) -> Lines {
    let from = staged.changes.first().map_or("", |change| change.from.as_str());
    let lead = piece(format!("{:<10} {:<20} ", staged.device, staged.setting.0), Meaning::Drive);
    hanging(lead, &format!("{from} → {}", staged.value), Meaning::Marked, width)
}

/// What this run changed: what an undo restores, and what it leaves alone.
fn changes(shared: &Shared, width: u16) -> Lines {
    let undone = shared.settings.own().flat_map(|prospect| changed(prospect, width));
    let left = shared
        .settings
        .left_alone()
        .flat_map(|prospect| hanging(setting(&prospect.step), &set_since(prospect), Meaning::Quiet, width));
    undone.chain(left).collect()
}

/// Who has set a value that an undo leaves alone.
pub(super) fn set_since(Prospect { now, what, .. }: &Prospect) -> String {
    let who = match what {
        Restored::Held(_) => "an iodyno still running",
        _ => "another program",
    };
    format!("{who} set {now} since: left alone")
}

/// A changed setting, with the value that an undo restores.
fn changed(Prospect { step, now, .. }: &Prospect, width: u16) -> Lines {
    hanging(setting(step), &format!("before {}, now {now}", step.target), Meaning::Text, width)
}

fn setting(step: &Step) -> Piece {
    piece(format!("{:<10} {:<20} ", step.device.name, step.setting), Meaning::Drive)
}

/// Writes that differ in nothing but their file, together: the first, and how many more there are.
fn grouped(writes: &[Change]) -> Vec<(&Change, usize)> {
    let alike = |a: &Change, b: &Change| {
        (&a.device, a.setting, &a.from, &a.to) == (&b.device, b.setting, &b.from, &b.to)
    };
    writes.chunk_by(alike).filter_map(|group| Some((group.first()?, group.len() - 1))).collect()
}
