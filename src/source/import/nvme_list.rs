//! `nvme list` and `nvme list -v`, as tables and as JSON, of all versions.

use std::borrow::Cow;

use super::{
    document::Value,
    drives::{Size, drive_name, is_controller, is_namespace, put, put_device, short, size_of},
    facts::{Facts, Line},
    geometry::Geometry,
    identify::number,
    numbers::is_out_of_range,
    nvme_rows::{Columns, usage},
    sections::Kind,
};

/// Tables of `nvme list` and `nvme list -v`.
pub(super) const TABLE: Kind =
    Kind { begins: |line, next| begins(line, next), continues, tolerates: 0, read };

/// A heading, or a row without one. The heading of `nvme list` may be wrapped; the others stand above dashes.
fn begins(line: &str, next: Option<&str>) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    if is_list_heading(&words) {
        return true;
    }
    let is_heading = matches!(words.as_slice(), ["Device", ..] if line.contains("NSID") || line.contains("TxPort"))
        || matches!(words.as_slice(), ["Subsystem", "Subsystem-NQN", ..]);
    is_heading && next.is_some_and(|next| next.trim_start().starts_with("---")) || is_row(&words)
}

fn is_list_heading(words: &[&str]) -> bool {
    matches!(words, ["Node", "SN", "Model", ..] | ["Node", "Generic", "SN", "Model", ..])
}

/// A row names a namespace with its usage, or a controller with its transport.
fn is_row(words: &[&str]) -> bool {
    let Some(first) = words.first().map(|word| short(word)) else { return false };
    is_namespace(first) && usage(words).is_some() || is_controller(first) && transport(words).is_some()
}

fn continues(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_dashes = words.iter().all(|word| word.bytes().all(|byte| byte == b'-'));
    let Some(first) = words.first() else { return true };
    // The rest of a wrapped row: a size, a format, a firmware; prose has no slash between sizes.
    let is_rest = words.contains(&"+") || usage(&words).is_some();
    let is_short = words.len() == 1 && first.len() <= 8 && !first.starts_with(['#', '$']);
    let starts = ["NVM Express", "FW Rev", "Namespace Usage", "/ "];
    // A heading may be cut within a word: `N` and `amespace Usage`.
    let is_heading = starts.iter().any(|start| line.trim_start().starts_with(start))
        || line.trim_end().ends_with("FW Rev") && words.contains(&"Format");
    is_dashes
        || is_rest
        || is_short
        || is_heading
        || is_namespace(short(first))
        || is_controller(short(first))
        || first.starts_with("nvme-subsys")
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let is_other = facts.is_another_machine("table", lines, |lines, alone| _ = read_alone(lines, alone));
    if is_other { None } else { read_alone(lines, facts) }
}

fn read_alone(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut columns: Option<Columns> = None;
    let mut is_open = false;
    let mut used = (false, false);
    for (at, line) in lines.iter().enumerate() {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let first = words.first().map_or("", |word| short(word));
        if first.starts_with("---") {
            columns = at.checked_sub(1).and_then(|above| Columns::new(&lines[above].text, &line.text));
            is_open = false;
        } else if is_namespace(first) || is_controller(first) {
            let columns = columns.clone();
            rows.push(Row { number: line.number, text: line.text.clone().into_owned(), columns });
            is_open = true;
        } else if begins(&line.text, lines.get(at + 1).map(|next| &*next.text))
            || first.starts_with("nvme-subsys")
            || words.is_empty()
        {
            is_open = false;
        } else if is_open && let Some(row) = rows.last_mut().filter(|row| row.is_controller()) {
            row.text.push(' ');
            row.text.push_str(line.text.trim_start());
        } else if is_open {
            facts.notes.unused_text(line, "not a row of nvme list");
        }
    }
    for Row { number, text: row, columns } in rows {
        if facts.is_too_many() {
            break;
        }
        let words: Vec<&str> = row.split_whitespace().collect();
        let first = short(words[0]);
        if is_namespace(first) {
            if namespace(facts, number, first, &words, &row, columns.as_ref()) {
                used.0 = true;
            } else {
                facts.notes.unused(number, "a row of nvme list without a usage of the form `1 TB / 1 TB`");
            }
        } else if controller(facts, number, first, &words) {
            used.1 = true;
        } else {
            facts.notes.unused(number, "a controller without a transport");
        }
    }
    match used {
        (_, true) => Some("nvme list -v".into()),
        (true, _) => Some("nvme list".into()),
        _ => None,
    }
}

/// A row of a table, with its line and the columns of its heading.
struct Row {
    number: usize,
    text: String,
    columns: Option<Columns>,
}

impl Row {
    /// Whether a line may go on with it: a controller's row has no words that end it.
    fn is_controller(&self) -> bool {
        const MOST: usize = 1024;
        self.text.len() < MOST
            && self.text.split_whitespace().next().is_some_and(|name| is_controller(short(name)))
    }
}

fn namespace(
    facts: &mut Facts,
    line: usize,
    name: &str,
    words: &[&str],
    row: &str,
    columns: Option<&Columns>,
) -> bool {
    let (Some(slash), Some(name)) = (usage(words), drive_name(name)) else { return false };
    // The number of the namespace, which some versions leave empty, and what stands before it.
    let nsid = slash.checked_sub(3).filter(|at| *at > 0).and_then(|at| number(words[at]));
    let before = words.get(1..slash - if nsid.is_some() { 3 } else { 2 }).unwrap_or_default();
    // Newer versions have a column Generic.
    let before = if before.first().is_some_and(|word| is_generic(word)) { &before[1..] } else { before };
    put(facts, &name, "nsid", nsid.map_or_else(String::new, |nsid| nsid.to_string()), line);
    let size = size_of(words[slash + 1], words[slash + 2]);
    // `512 B + 0 B`, after a second usage in powers of two in newer versions.
    let plus = words.iter().enumerate().skip(slash).find(|(_, word)| **word == "+").map(|(at, _)| at);
    let block = plus.and_then(|at| size_of(words.get(at.checked_sub(2)?)?, words.get(at - 1)?));
    // A row broken within its digits has only the last ones of them here.
    let block = block.map(|size| size.bytes).filter(|block| *block >= 512 && block.is_power_of_two());
    facts.geometry(&name, Geometry { size, block }, line);
    // Without columns the first word is the serial number: an empty one cannot be told from it.
    let by_words = || before.split_first().map(|(serial, model)| ((*serial).to_owned(), model.join(" ")));
    let by_columns = columns.and_then(|columns| columns.cut(row, before));
    if let Some((serial, model)) = by_columns.filter(|_| !before.is_empty()).or_else(by_words) {
        put_device(facts, &name, "serial", &serial, line);
        put_device(facts, &name, "model", &model, line);
    }
    let firmware = plus.map_or(&[][..], |at| words.get(at + 3..).unwrap_or_default());
    let is_verbose = before.is_empty();
    if !is_verbose {
        put_device(facts, &name, "firmware_rev", &firmware.join(" "), line);
    }
    true
}

/// `/dev/ng0n1`, `ng0n1`.
fn is_generic(word: &str) -> bool {
    short(word).strip_prefix("ng").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The index of the transport of a controller's row.
fn transport(words: &[&str]) -> Option<usize> {
    words
        .iter()
        .position(|word| matches!(*word, "pcie" | "tcp" | "rdma" | "fc" | "loop" | "apple-nvme"))
        .filter(|at| *at >= 2)
}

/// `nvme0 SERIAL MODEL FIRMWARE pcie 0000:01:00.0 SLOT nvme-subsys0 nvme0n1, nvme0n2`.
fn controller(facts: &mut Facts, line: usize, name: &str, words: &[&str]) -> bool {
    let Some(at) = transport(words) else { return false };
    if let Some(Ok(address)) = words.get(at + 1).map(|word| word.parse()) {
        facts.controllers.entry(name.to_owned()).or_insert((address, line));
    }
    let spaces =
        words[at..].iter().map(|word| short(word.trim_end_matches(','))).filter(|word| is_namespace(word));
    for space in spaces.filter_map(drive_name) {
        facts.controller_of.entry(space.clone()).or_insert_with(|| name.to_owned());
        put_device(facts, &space, "serial", words[1], line);
        put_device(facts, &space, "model", &words[2..at - 1].join(" "), line);
        put_device(facts, &space, "firmware_rev", words[at - 1], line);
    }
    true
}

/// The document of `nvme list -o json`, with or without `-v`; whether it is one.
pub(super) fn json(document: &Value, line: usize, facts: &mut Facts) -> bool {
    let Some(devices) = document.get("Devices").and_then(Value::list) else { return false };
    for device in devices {
        if facts.is_too_many() {
            break;
        }
        if device.get("DevicePath").is_some() {
            json_namespace(device, device, "DevicePath", line, facts);
        }
        for subsystem in items(device, "Subsystems") {
            for controller in items(subsystem, "Controllers") {
                let name = text(controller, "Controller");
                if let Ok(address) = text(controller, "Address").parse()
                    && is_controller(&name)
                {
                    facts.controllers.entry(name.clone()).or_insert((address, line));
                }
                let own = items(controller, "Namespaces").chain(items(subsystem, "Namespaces"));
                for space in own {
                    if let Some(drive) = json_namespace(space, controller, "NameSpace", line, facts)
                        && is_controller(&name)
                    {
                        facts.controller_of.entry(drive).or_insert_with(|| name.clone());
                    }
                }
            }
        }
    }
    true
}

fn json_namespace(
    space: &Value,
    controller: &Value,
    name: &str,
    line: usize,
    facts: &mut Facts,
) -> Option<String> {
    let name = drive_name(short(&text(space, name)))?;
    if [space, controller].into_iter().any(is_out_of_range) {
        facts.notes.unused(line, &format!("{name} has a number out of range"));
        return None;
    }
    for (field, file) in [("SerialNumber", "serial"), ("ModelNumber", "model"), ("Firmware", "firmware_rev")]
    {
        put_device(facts, &name, file, &text(controller, field), line);
    }
    let number = |field: &str| space.get(field).and_then(Value::number).filter(|number| *number > 0);
    let nsid = number("NSID").or_else(|| number("NameSpace"));
    if let Some(nsid) = nsid {
        put(facts, &name, "nsid", nsid.to_string(), line);
    }
    let size = number("PhysicalSize").map(|bytes| Size { bytes, rounding: None });
    facts.geometry(&name, Geometry { size, block: number("SectorSize") }, line);
    Some(name)
}

fn items<'a, 'text>(value: &'a Value<'text>, field: &str) -> impl Iterator<Item = &'a Value<'text>> {
    value.get(field).and_then(Value::list).into_iter().flatten()
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::word).unwrap_or_default().to_owned()
}
