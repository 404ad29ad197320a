//! What a panel with rows to spare shows of the slots: the row under the cursor, free slots, the drives' rates, what a move changes, and
//! the rates of links.

use super::Slots;
use crate::{
    capacity::{link_state, slots},
    machine::{NodeKind, hop},
    model::{Limit, NodeIndex},
    report::whatif::rows::Row,
    screens::widgets::{
        paint::{Piece, cut, hanging, piece},
        sections::{Section, heading},
        words::{basis, giga, rate},
    },
    ui::{Shared, theme::Meaning},
    units::{BytesPerSecond, Lanes, TransferRate, counted, names_of},
    whatif::{self, Prediction, assumption::names},
};

/// All sections for `rows` rows, the most wanted first.
pub(super) fn sections(state: &Slots, shared: &Shared, width: u16, rows: usize) -> Vec<Section> {
    let gains = state.made().map(|made| changes(shared, made, width, rows));
    let tables = [
        gains.unwrap_or_default(),
        free(state, shared, width, rows),
        drives(state, shared, width, rows),
        links(state, shared, width),
    ];
    let all = tables.into_iter().chain(others(state, shared, width, rows));
    all.filter(|section| !section.is_empty()).collect()
}

/// A word in front, its text wrapped behind it.
pub(super) fn labelled(label: &str, text: &str, meaning: Meaning, width: u16) -> Vec<Vec<Piece>> {
    let meaning_of_label = if meaning == Meaning::Text { Meaning::Quiet } else { meaning };
    let body = if meaning == Meaning::Quiet { Meaning::Quiet } else { Meaning::Text };
    hanging(piece(format!("{label:<10}"), meaning_of_label), text, body, width)
}

/// A line of a table, its text hanging.
fn entry(text: &str, meaning: Meaning, width: u16) -> Section {
    hanging(piece("  ", meaning), text, meaning, width)
}

fn limit_words(shared: &Shared, limit: &Limit) -> String {
    format!("{}, {}: {}", rate(shared.units, limit.bytes_per_second.0), basis(limit.basis), limit.because)
}

/// The facts of the row under the cursor.
pub(super) fn cursor(state: &Slots, shared: &Shared, width: u16) -> Section {
    state.row().map_or_else(Section::new, |row| facts(state, shared, row, width))
}

/// The facts of the other rows, as many as could have room in `rows`.
fn others(state: &Slots, shared: &Shared, width: u16, rows: usize) -> Vec<Section> {
    // A section has at least four lines and a blank one, in four columns at most.
    let most = rows * 4 / 5;
    let others = state.today.iter().enumerate().filter(|(at, _)| *at != state.selected);
    others.take(most).map(|(_, row)| facts(state, shared, row, width)).collect()
}

/// The facts of a row.
fn facts(state: &Slots, shared: &Shared, row: &Row, width: u16) -> Section {
    let (machine, tree) = (&shared.machine, &shared.machine.pci);
    let node = tree.node(row.node);
    let drive = row.drive.as_ref().and_then(|name| machine.drive(name));
    let mut lines = Section::new();
    let mut say = |label: &str, text: String| lines.extend(labelled(label, &text, Meaning::Text, width));
    if node.kind == NodeKind::RootComplex {
        say("is", format!("{} {}", machine.kind_of_root(row.node), node.name()).trim_end().to_owned());
        let unknown = || "unknown: not measured or published".to_owned();
        let limit = shared.limits.hop(row.node);
        say("limit", limit.map_or_else(unknown, |limit| limit_words(shared, limit)));
        if let Some(share) = shared.limits.oversubscription.get(&row.node) {
            say("demand", format!("{share:.2} of its limit, from the drives below"));
        }
        let named = vec![piece(node.address.to_string(), Meaning::Heading)];
        return std::iter::once(named).chain(lines).collect();
    }
    let is_empty = is_empty_slot(shared, row.node);
    if let Some(port) = if is_empty { Some(row.node) } else { node.parent } {
        let root = tree.node(tree.root_of(row.node)).address;
        say("place", format!("port {}, root complex {root}", tree.node(port).address));
    }
    if let Some(slot) = tree.slot_of(row.node) {
        say("slot", slot.to_string());
    }
    if let Some(link) = hop::HopLink::above(machine, row.node) {
        if link.now.is_some() && !is_empty {
            let is_asleep = link_state::is_asleep(machine, row.node);
            say("link", if is_asleep { link.sentence_asleep() } else { link.sentence() });
        }
        for (label, most) in [("port", link.port_most), ("device", link.device_most)] {
            if let Some(most) = most {
                say(label, format!("{} at most", hop::sentence(most)));
            }
        }
    }
    if let Some(limit) = shared.limits.path(row.node) {
        say("path", limit_words(shared, limit));
    }
    if let Some(share) = row.drive.as_ref().and_then(|drive| state.total()?.shares.get(drive)) {
        say("all busy", format!("{}: {}", rate(shared.units, share.bytes_per_second.0), share.because));
    }
    match whatif::what_moves(machine, row.node) {
        Ok(functions) => say("moves", names(machine, &functions)),
        Err(_) if is_empty => {}
        Err(why) => say("moves", format!("nothing: {}", why.wrong)),
    }
    if let Some((first, more)) = drive.and_then(|drive| drive.used_by.split_first()) {
        let words = format!(" and {}", counted(more.len(), "other use"));
        say("in use", format!("{first}{}", if more.is_empty() { "" } else { &words }));
    }
    let mut named = vec![piece(row.name.clone(), Meaning::Heading)];
    named.extend(drive.map(|drive| piece(format!("  {}", machine.model_of(drive)), Meaning::Quiet)));
    std::iter::once(cut(&named, width)).chain(lines).collect()
}

/// Whether a node is a slot without a device.
fn is_empty_slot(shared: &Shared, node: NodeIndex) -> bool {
    let tree = &shared.machine.pci;
    tree.node(node).children.is_empty() && slots::is_slot(tree, node)
}

/// Rows that stand for an empty port, with the row of their root complex.
fn empty_ports<'a>(rows: &'a [Row], shared: &'a Shared) -> impl Iterator<Item = (&'a Row, &'a Row)> {
    let mut root = None;
    let pairs = rows.iter().filter_map(move |row| {
        root = if row.depth == 0 { Some(row) } else { root };
        Some((root?, row))
    });
    pairs.filter(|(_, row)| is_empty_slot(shared, row.node))
}

/// Slots without a device.
fn free(state: &Slots, shared: &Shared, width: u16, most: usize) -> Section {
    if state.today.is_empty() {
        return Section::new();
    }
    let tree = &shared.machine.pci;
    let all: Vec<_> = empty_ports(&state.today, shared).collect();
    let mut lines = vec![heading("Free slots", &all.len().to_string())];
    if all.is_empty() {
        let text = "A card can only swap places with another one.";
        lines.extend(entry(text, Meaning::Quiet, width));
    }
    for (root, row) in all.iter().take(most) {
        let link = tree.node(row.node).link.as_ref();
        let pair = link.and_then(|link| link.max_speed.get().zip(link.max_width.get()));
        let speed = pair.map_or_else(|| "unknown link".to_owned(), hop::sentence);
        let busy = giga(shared.units, root.busy.map_or(0.0, |busy| busy.0));
        let used = root.limit.map_or_else(
            || "whose limit is unknown".to_owned(),
            |limit| format!("which has {busy} of {} in use", rate(shared.units, limit.0)),
        );
        let name = tree.node(row.node).address;
        let text = format!("{name}, {speed}, below root complex {}, {used}", root.place);
        lines.extend(entry(&text, Meaning::Text, width));
    }
    let left = all.len().saturating_sub(most);
    lines.extend((left > 0).then(|| vec![piece(format!("{left} more"), Meaning::Quiet)]));
    lines
}

/// Rates of drives with all of them busy, with the limit; neighbours with the same figures share a line.
fn drives(state: &Slots, shared: &Shared, width: u16, most: usize) -> Section {
    let Some(total) = state.total() else { return Section::new() };
    let of = |row: &Row| row.drive.as_ref().and_then(|name| total.shares.get(name));
    let rows: Vec<&Row> = state.today.iter().filter(|row| of(row).is_some()).collect();
    let words =
        |row: &Row| of(row).map(|share| (giga(shared.units, share.bytes_per_second.0), &share.because));
    let alike = |a: &&Row, b: &&Row| words(a) == words(b) && a.limit == b.limit;
    let mut lines = vec![heading("Drives", "rate with all busy, potential, and the limit")];
    for group in rows.chunk_by(alike).take(most) {
        let Some(first) = group.first() else { continue };
        let Some(share) = of(first) else { continue };
        let busy = share.bytes_per_second.0;
        let each = if group.len() > 1 { " each" } else { "" };
        let name = names_of(&counted(group.len(), "drive"), group.iter().map(|row| &*row.name));
        let units = shared.units;
        let least = first.limit.filter(|limit| busy < limit.0 * 0.995).map(|limit| {
            let less = 100.0 * (1.0 - busy / limit.0);
            format!("{} of {}{each}, {less:.0} % less", giga(units, busy), rate(units, limit.0))
        });
        let figures = least.unwrap_or_else(|| format!("{}{each}", rate(units, busy)));
        let text = format!("{name}: {figures}; {}", share.because);
        lines.extend(entry(&text, Meaning::Text, width));
    }
    if lines.len() > 1 { lines } else { Section::new() }
}

/// Rates that a move changes, those of root complexes first.
fn changes(shared: &Shared, made: &Prediction, width: u16, most: usize) -> Section {
    let word = |value: Option<BytesPerSecond>| {
        value.map_or_else(|| "unknown".to_owned(), |value| rate(shared.units, value.0))
    };
    let changed: Vec<_> =
        made.changes.iter().filter(|change| change.busy_before != change.busy_after).collect();
    if changed.is_empty() {
        return Section::new();
    }
    let mut lines = vec![heading("Rates that change", "before → after, with all drives busy")];
    for change in changed.iter().take(most) {
        let kind = if change.kind == "drive" { "" } else { "root complex " };
        let text =
            format!("{kind}{}: {} → {}", change.name, word(change.busy_before), word(change.busy_after));
        lines.extend(entry(&text, Meaning::Text, width));
    }
    lines
}

/// Lanes of the columns of the table of links.
const LANES: [u8; 5] = [1, 2, 4, 8, 16];

/// What a link carries by generation and lanes; the one of the row under the cursor is marked.
fn links(state: &Slots, shared: &Shared, width: u16) -> Section {
    let own = state.row().and_then(|row| own_link(shared, row.node));
    let column = |lanes: u8| {
        let name = format!("x{lanes}");
        format!("{name:>7} ")
    };
    let columns = LANES.map(column).concat();
    let units = shared.units.giga_per_second();
    let of = |speed: TransferRate| {
        let mut line = vec![piece(format!("{:<16}", hop::speed_sentence(speed)), Meaning::Quiet)];
        line.extend(LANES.iter().map(|lanes| {
            let bytes = speed.lane_bytes_per_second().0 * f64::from(*lanes);
            let is_own = own == Some((speed, Lanes(*lanes)));
            let meaning = if is_own { Meaning::Marked } else { Meaning::Text };
            let mark = if is_own { "●" } else { " " };
            piece(format!("{:>7}{mark}", giga(shared.units, bytes)), meaning)
        }));
        line
    };
    let note = "with packet headers; ● is the link under the cursor";
    let mut lines = vec![heading("Links", &format!("{units} at most, {note}"))];
    if width < 60 {
        lines = vec![heading("Links", &format!("{units} at most"))];
    }
    lines.push(vec![piece(format!("{:<16}{columns}", ""), Meaning::Quiet)]);
    lines.extend((1..=6).filter_map(TransferRate::from_code).map(of));
    lines
}

/// The link of a device, or what an empty port has.
fn own_link(shared: &Shared, node: NodeIndex) -> Option<(TransferRate, Lanes)> {
    let link = hop::HopLink::above(&shared.machine, node)?;
    if is_empty_slot(shared, node) { link.port_most } else { link.now }
}
