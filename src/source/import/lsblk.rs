//! `lsblk`, plain and `-J`.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    drives::{drive_name, lsblk_size, put, put_device},
    facts::{Facts, Line},
    sections::Kind,
};

/// A table with the default columns, or others that begin with names and have sizes.
pub(super) const TABLE: Kind = Kind { begins: |line, _| is_heading(line), continues, tolerates: 0, read };

/// Columns that are never empty; a row is read up to the first other one.
const FULL: [&str; 12] =
    ["NAME", "KNAME", "PATH", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "ROTA", "LOG-SEC", "PHY-SEC", "RA"];

fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words.first(), Some(&"NAME" | &"KNAME")) && words.contains(&"SIZE")
}

/// A row of a partition or another layer begins with a line of the drawing.
fn is_layer(line: &str) -> bool {
    line.trim_start().starts_with(['\u{251c}', '\u{2514}', '\u{2502}', '|', '`'])
}

fn continues(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else { return true };
    let has_size = words.iter().skip(1).take(6).any(|word| lsblk_size(word).is_some());
    let is_mount =
        line.starts_with(' ') && words.len() == 1 && (first.starts_with('/') || *first == "[SWAP]");
    is_layer(line) || is_mount || drive_name(first).is_some() && has_size && words.len() >= 3
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut columns: Vec<String> = Vec::new();
    let mut found = false;
    for line in lines {
        if is_heading(&line.text) {
            let words = line.text.split_whitespace().map(str::to_owned);
            columns = words.take_while(|word| FULL.contains(&word.as_str())).collect();
            continue;
        }
        if is_layer(&line.text) || line.text.starts_with(' ') || line.text.is_empty() {
            continue;
        }
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let cell = |name: &str| {
            columns.iter().position(|column| column == name).and_then(|at| words.get(at)).copied()
        };
        let Some(name) = cell("NAME").or_else(|| cell("KNAME")).and_then(drive_name) else { continue };
        if cell("TYPE").is_some_and(|kind| kind != "disk") {
            continue;
        }
        let row = |column: &str| cell(column).map(str::to_owned);
        found |= drive(facts, &name, &row, line.number);
    }
    found.then(|| "lsblk".into())
}

/// The document of `lsblk -J`, with or without `-O` and `-b`; whether it is one.
pub(super) fn json(document: &Value, line: usize, facts: &mut Facts) -> bool {
    let Some(devices) = document.get("blockdevices").and_then(Value::as_array) else { return false };
    for device in devices {
        let text = |field: &str| match device.get(field)? {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(u8::from(*flag).to_string()),
            _ => None,
        };
        let column = |name: &str| text(&name.to_ascii_lowercase());
        let Some(name) = text("kname").or_else(|| text("name")).as_deref().and_then(drive_name) else {
            continue;
        };
        if column("TYPE").is_some_and(|kind| kind != "disk") {
            continue;
        }
        drive(facts, &name, &column, line);
        for (field, file) in [("MODEL", "model"), ("SERIAL", "serial")] {
            put_device(facts, &name, file, &column(field).unwrap_or_default(), line);
        }
        let revision = if name.starts_with("nvme") { "firmware_rev" } else { "rev" };
        put_device(facts, &name, revision, &column("REV").unwrap_or_default(), line);
        if let Some(scheduler) = column("SCHED")
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        {
            put(facts, &name, "queue/scheduler", format!("[{scheduler}]"), line);
        }
    }
    true
}

/// What tables and documents have; whether there was a size.
fn drive(facts: &mut Facts, name: &str, column: &dyn Fn(&str) -> Option<String>, line: usize) -> bool {
    for (field, file) in [
        ("MAJ:MIN", "dev"),
        ("RM", "removable"),
        ("ROTA", "queue/rotational"),
        ("LOG-SEC", "queue/logical_block_size"),
        ("RA", "queue/read_ahead_kb"),
        ("RQ-SIZE", "queue/nr_requests"),
    ] {
        let is_number =
            |text: &String| text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        put(facts, name, file, column(field).filter(is_number).unwrap_or_default(), line);
    }
    let size = column("SIZE").and_then(|word| lsblk_size(&word));
    if let Some(size) = size {
        facts.drive_size(name, size, line);
    }
    size.is_some()
}
