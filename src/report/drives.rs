//! The text of `iodyno drives`: one row per drive.

use std::fmt::Write;

use super::{
    json::{DriveRow, DrivesDocument, StackRow},
    needs_root,
    table::{self, Column},
    toned::{Tone, Toned},
    wrap_onto,
};
use crate::units::{Bytes, UnitSystem};

const COLUMNS: [Column; 12] = [
    Column::left("drive"),
    Column::left("kind").optional(),
    Column::left("address"),
    Column::left("slot").optional(),
    Column::right("size"),
    Column::right("LBA"),
    Column::right("better LBA").optional(),
    Column::right("queues").optional(),
    Column::right("temp"),
    Column::left("scheduler").optional(),
    Column::left("model"),
    Column::left("in use by"),
];

/// For a terminal of `width` columns, or without a limit.
pub(crate) fn text(document: &DrivesDocument, width: Option<usize>, units: UnitSystem) -> Toned {
    let mut text = Toned::default();
    if document.drives.is_empty() {
        text.push("no drives\n");
        return text;
    }
    let rows: Vec<Vec<String>> =
        document.drives.iter().map(|drive| row(drive, document.source.is_some(), units)).collect();
    let tone = |row: usize, column: usize| match column {
        0 => Tone::Drive,
        6 if !rows[row][column].is_empty() => Tone::Warning,
        1..=3 | 7 | 9 => Tone::Quiet,
        _ => Tone::Plain,
    };
    text.append(&table::toned(&COLUMNS, &rows, width, tone));
    text.push(&stacks(document));
    text.push(&contradictions(document, width));
    text.push(&needs_root(&document.problems, "drives"));
    text
}

fn row(drive: &DriveRow, is_of_text: bool, units: UnitSystem) -> Vec<String> {
    let size = || drive.size_bytes.map(|size| units.size(Bytes(size)));
    let or_unknown = |known: Option<String>| known.unwrap_or_else(|| "?".to_owned());
    vec![
        drive.name.to_string(),
        drive.kind.to_owned(),
        addresses(drive),
        drive.slot.clone().unwrap_or_default(),
        or_unknown(drive.size_text.clone().or_else(size)),
        or_unknown(drive.lba_bytes.map(|size| format!("{size} B"))),
        drive.better_lba_bytes.map(|size| format!("{size} B")).unwrap_or_default(),
        queues(drive),
        drive.temperature_celsius.map(|celsius| format!("{celsius:.0} °C")).unwrap_or_default(),
        drive.settings.scheduler.clone().unwrap_or_default(),
        drive.layer.as_ref().filter(|layer| layer.md.is_some() || layer.dm.is_some()).map_or_else(
            || drive.model.clone().or_else(|| drive.model_by_function.clone()).unwrap_or_default(),
            |layer| match layer.below.as_slice() {
                [] => in_brief(&layer.text),
                below => format!("{} of {}", in_brief(&layer.text), below.join(" ")),
            },
        ),
        users(drive, is_of_text),
    ]
}

/// Level and members of an array; the rest is in its stack.
fn in_brief(layer: &str) -> String {
    layer.split(", ").take(2).collect::<Vec<_>>().join(", ")
}

/// What lies on each drive: arrays, volumes, file systems with their mount options.
fn stacks(document: &DrivesDocument) -> String {
    let mut groups: Vec<(&[StackRow], Vec<&str>)> = Vec::new();
    for drive in document.drives.iter().filter(|drive| drive.layer.is_none() && !drive.stack.is_empty()) {
        match groups.iter_mut().find(|(stack, _)| *stack == drive.stack) {
            Some((_, drives)) => drives.push(drive.name.as_str()),
            None => groups.push((&drive.stack, vec![drive.name.as_str()])),
        }
    }
    let mut text = String::new();
    for (stack, drives) in groups {
        let head = if text.is_empty() { "\non the drives\n" } else { "" };
        let _ = writeln!(text, "{head}  {}", drives.join(" "));
        for level in stack {
            let _ = writeln!(text, "{}{}", "  ".repeat(level.depth + 2), level.text);
        }
    }
    text
}

/// What listings of an opened text contradict each other about.
fn contradictions(document: &DrivesDocument, width: Option<usize>) -> String {
    let mut text = String::new();
    for sentence in document.source.iter().flat_map(|source| &source.contradictions) {
        let head =
            if text.is_empty() { "\nthe text contradicts itself: " } else { "                             " };
        wrap_onto(&mut text, head, sentence, width.unwrap_or(usize::MAX).max(60));
    }
    text
}

/// Its function, or that of each path.
fn addresses(drive: &DriveRow) -> String {
    let paths: Vec<&str> = drive.paths.iter().filter_map(|path| path.address.as_deref()).collect();
    if paths.len() > 1 { paths.join(" ") } else { drive.address.clone().unwrap_or_default() }
}

/// Its users, with a question mark where further users are possible. A text never has all users.
fn users(drive: &DriveRow, is_of_text: bool) -> String {
    if drive.is_unused_in_text {
        return "none in lsblk".to_owned();
    }
    let is_known = drive.in_use_unread.is_empty() || is_of_text && !drive.in_use_by.is_empty();
    let unread = (!is_known).then(|| "?".to_owned());
    drive.in_use_by.iter().cloned().chain(unread).collect::<Vec<_>>().join(", ")
}

/// `32`, or `30+2 poll`.
fn queues(drive: &DriveRow) -> String {
    match (drive.default_queues, drive.poll_queues) {
        (Some(default), Some(poll)) if poll > 0 => format!("{default}+{poll} poll"),
        (Some(default), _) => default.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{self, capture::TextRoot};

    #[test]
    fn drives_with_the_same_stack_share_it_and_a_file_systems_loop_device_lies_on_it() {
        let root = TextRoot::parse(include_str!("../../tests/fixtures/stack.capture")).unwrap();
        let (machine, problems) = source::read_machine(&root);
        let text = text(&DrivesDocument::new(&machine, &problems), None, UnitSystem::Decimal);
        let (table, stacks) = text.plain().split_once("\non the drives\n").unwrap();
        assert!(table.contains("RAID5, 2 of 3 members of nvme0n1p1 nvme1n1 nvme2n1"), "{table}");
        assert!(stacks.starts_with("  nvme0n1 nvme1n1 nvme2n1\n    md0 RAID5, 2 of 3"), "{stacks}");
        let on_it =
            "        /srv/data ext4, noatime, stripe=256\n          loop0 loop, through the page cache, /srv";
        assert!(stacks.contains(on_it), "{stacks}");
        assert_eq!(stacks.matches("md0").count(), 1, "{stacks}");
    }
}
