//! The text of `iodyno drives`: one row per drive.

use super::{
    json::{DriveRow, DrivesDocument},
    needs_root,
    table::{self, Column},
    toned::{Tone, Toned},
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
pub(crate) fn text(document: &DrivesDocument, width: Option<usize>) -> Toned {
    let mut text = Toned::default();
    if document.drives.is_empty() {
        text.push("no drives\n");
        return text;
    }
    let rows: Vec<Vec<String>> = document.drives.iter().map(row).collect();
    let tone = |row: usize, column: usize| match column {
        0 => Tone::Drive,
        6 if !rows[row][column].is_empty() => Tone::Warning,
        1..=3 | 7 | 9 => Tone::Quiet,
        _ => Tone::Plain,
    };
    text.append(&table::toned(&COLUMNS, &rows, width, tone));
    text.push(&needs_root(&document.problems, "drives"));
    text
}

fn row(drive: &DriveRow) -> Vec<String> {
    let or_unknown = |known: Option<String>| known.unwrap_or_else(|| "?".to_owned());
    vec![
        drive.name.to_string(),
        drive.kind.to_owned(),
        addresses(drive),
        drive.slot.clone().unwrap_or_default(),
        or_unknown(drive.size_bytes.map(|size| UnitSystem::Decimal.size(Bytes(size)))),
        or_unknown(drive.lba_bytes.map(|size| format!("{size} B"))),
        drive.better_lba_bytes.map(|size| format!("{size} B")).unwrap_or_default(),
        queues(drive),
        drive.temperature_celsius.map(|celsius| format!("{celsius:.0} °C")).unwrap_or_default(),
        drive.settings.scheduler.clone().unwrap_or_default(),
        drive.layer.as_ref().filter(|layer| layer.md.is_some() || layer.dm.is_some()).map_or_else(
            || drive.model.clone().unwrap_or_default(),
            |layer| format!("{} of {}", layer.text, layer.below.join(" ")),
        ),
        users(drive),
    ]
}

/// Its function, or that of each path.
fn addresses(drive: &DriveRow) -> String {
    let paths: Vec<&str> = drive.paths.iter().filter_map(|path| path.address.as_deref()).collect();
    if paths.len() > 1 { paths.join(" ") } else { drive.address.clone().unwrap_or_default() }
}

/// Its users, with a question mark where further users are possible.
fn users(drive: &DriveRow) -> String {
    let unread = (!drive.in_use_unread.is_empty()).then(|| "?".to_owned());
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
