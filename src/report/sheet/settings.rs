//! Settings changed from their default, or since boot.

use super::{Block, Choice, Dossier, boxed, plain_text};
use crate::report::tune::Row;

/// Columns of a setting's name and of a value.
const NAME: usize = 21;
const VALUE: usize = 14;

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let heading = Block::Heading("Settings changed from default".to_owned());
    let groups = groups(&dossier.settings);
    if groups.is_empty() {
        let is_known = dossier.settings.iter().any(|row| row.value.is_some());
        let text = match (&dossier.machine.pasted, is_known) {
            (_, false) => "No setting is known.",
            (Some(_), true) => "The settings that the text shows have their known defaults.",
            (None, true) => "All settings have their known defaults; none was changed since boot.",
        };
        return vec![heading, plain_text(text)];
    }
    let mut lines = vec![format!("{:<NAME$} {:<VALUE$} {:<VALUE$} on", "setting", "value", "default")];
    for (row, instead, devices) in groups {
        let value = row.value.as_ref().map_or("-", |value| value.as_str());
        let lead = format!("{:<NAME$} {value:<VALUE$} {instead:<VALUE$} ", row.setting.0);
        lines.extend(boxed(&lead, &devices.join(" ")));
    }
    vec![heading, Block::Box(lines)]
}

/// Changed settings, with the devices that share them.
fn groups(settings: &[Row]) -> Vec<(&Row, String, Vec<&str>)> {
    let mut groups: Vec<(&Row, String, Vec<&str>)> = Vec::new();
    for row in settings {
        let Some(instead) = instead(row) else { continue };
        let same = groups.iter_mut().find(|(other, of, _)| {
            other.setting == row.setting && other.value == row.value && *of == instead
        });
        match same {
            Some((_, _, devices)) => devices.push(&row.device),
            None => groups.push((row, instead, vec![&row.device])),
        }
    }
    groups
}

/// The default value if it differs; else the value before iodyno, if that differs.
fn instead(row: &Row) -> Option<String> {
    let value = row.value.as_ref()?.as_str();
    let other = |known: &Option<String>| known.as_ref().filter(|known| *known != value).cloned();
    match (other(&row.default_value), other(&row.found_value)) {
        (Some(default), _) => Some(default),
        (None, Some(found)) => Some(format!("{found} (before)")),
        (None, None) => None,
    }
}
