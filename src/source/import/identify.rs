//! What `nvme id-ns` and `nvme id-ctrl` share: their lines, the device of the command, and its place among the drives.

use super::{
    drives::{Size, drive_name, is_controller, is_namespace, is_of_controller, put, put_device, short},
    facts::{Facts, Identify, Known, Line, Of},
    geometry::Geometry,
};
use crate::source::nvme;

/// Bytes of both data structures.
pub(super) const IDENTIFY_BYTES: usize = 4096;

/// The drive of a listing that no command and no other listing names.
const UNNAMED: &str = "nvme@unnamed";

/// Lines such as `<snip>` between the fields that a person left.
pub(super) const TOLERATES: usize = 3;

/// Notes the lines between fields that are none.
pub(super) fn note_foreign(lines: &[Line], command: &str, heading: &str, facts: &mut Facts) {
    for line in lines {
        let text = &line.text;
        if !text.trim().is_empty() && !continues(text) && !begins(text, heading, command) {
            facts.notes.unused_text(line, "not a line of a listing that can be read");
        }
    }
}

/// A line of either: a field of lower case and a colon, bits of one, a row of a table.
pub(super) fn continues(line: &str) -> bool {
    let line = line.trim();
    let bits = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    field(line).is_some()
        || bits.is_some_and(|(bits, _)| {
            bits.split_once(':').is_some_and(|(a, b)| {
                [a, b].iter().all(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
            })
        })
        || ["LBA Format", "lbaf ", "ps "].iter().any(|start| line.starts_with(start))
}

/// Name and value of `mdts      : 7`.
pub(super) fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(':')?;
    let name = name.trim_end();
    let is_name = (2..=12).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some((name, value.trim()))
}

/// Whether a line is this command at a prompt, with its device.
pub(super) fn is_command(line: &str, command: &str) -> bool {
    line.len() < 256 && line.contains(command) && device_in(line).is_some()
}

/// Whether a listing begins at a line: its heading, or its command at a prompt.
pub(super) fn begins(line: &str, heading: &str, command: &str) -> bool {
    line.trim_start().starts_with(heading) || is_command(line, command)
}

/// The device that the command of a listing names.
pub(super) fn device_of(lines: &[Line], command: &str) -> Option<String> {
    lines.iter().find(|line| is_command(&line.text, command)).and_then(|line| device_in(&line.text))
}

/// Puts the lowest `width` bytes of a number into a structure.
pub(super) fn set(bytes: &mut [u8], at: usize, width: usize, number: u64) {
    bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
}

/// The device that a line names.
pub(super) fn device_in(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().map(|word| short(word.trim_end_matches([':', ','])));
    words.rfind(|word| is_controller(word) || is_namespace(word)).map(str::to_owned)
}

/// A decimal number, or a hexadecimal one with `0x`; a person may have added the other in brackets.
pub(super) fn number(text: &str) -> Option<u64> {
    let word = text.split_whitespace().next()?;
    let word =
        word.split_once('(').filter(|(number, _)| !number.is_empty()).map_or(word, |(number, _)| number);
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Names and values of a listing's fields.
pub(super) fn fields<'a>(lines: &'a [Line]) -> impl Iterator<Item = (&'a str, &'a str)> {
    lines.iter().filter_map(|line| field(&line.text))
}

/// Gives every structure to its drives, now that all drives are known; one that fits no drive is noted.
pub(super) fn assign(facts: &mut Facts) {
    let is_bare = is_of_one_drive(facts);
    for identify in std::mem::take(&mut facts.identified) {
        let mut drives = drives_of(facts, &identify);
        if is_bare {
            facts.drive(UNNAMED, identify.line);
            drives = vec![UNNAMED.to_owned()];
        }
        if drives.is_empty() {
            facts.notes.unused(
                identify.line,
                "no drive of the text is known to be this one; keep the command above it",
            );
        }
        for drive in drives {
            give(facts, &drive, &identify);
        }
    }
}

/// Whether a text has nothing but the structures of one drive, without their commands.
fn is_of_one_drive(facts: &Facts) -> bool {
    let controllers = facts.identified.iter().filter(|it| matches!(it.of, Of::Controller { .. })).count();
    facts.drives.is_empty()
        && facts.functions.is_empty()
        && facts.identified.iter().all(|identify| identify.device.is_none())
        && controllers <= 1
        && facts.identified.len() - controllers <= 1
}

/// The drives that a structure describes: by its command, by the serial number, or because there is one.
fn drives_of(facts: &Facts, identify: &Identify) -> Vec<String> {
    let spaces = || facts.drives.keys().filter(|name| is_namespace(name));
    let of_controller = |controller: &str| -> Vec<String> {
        spaces().filter(|name| is_of_controller(facts, name, controller)).cloned().collect()
    };
    match (&identify.device, &identify.of) {
        (Some(device), _) if is_namespace(device) => drive_name(device).into_iter().collect(),
        (Some(device), Of::Namespace { nsid: Some(nsid), .. }) if is_controller(device) => {
            let name = format!("{device}n{nsid}");
            let known = of_controller(device);
            let is_only = known.len() == 1;
            // The only drive may have another number than its namespace.
            let is_name = is_namespace(&name) && (known.contains(&name) || known.is_empty());
            if is_name { vec![name] } else { known.into_iter().filter(|_| is_only).collect() }
        }
        (Some(device), Of::Controller { .. }) => of_controller(device),
        (None, Of::Controller { serial, .. }) if !serial.is_empty() => {
            let has_serial = |name: &&String| {
                facts
                    .drives
                    .get(*name)
                    .and_then(|drive| drive.device_files.get("serial"))
                    .is_some_and(|known| known.value == *serial)
            };
            let found: Vec<String> = spaces().filter(has_serial).cloned().collect();
            let unknown = || {
                spaces().all(|name| {
                    facts.drives.get(name).is_some_and(|drive| !drive.device_files.contains_key("serial"))
                })
            };
            if found.is_empty() && spaces().count() == 1 && unknown() {
                spaces().cloned().collect()
            } else {
                found
            }
        }
        _ if spaces().count() == 1 => spaces().cloned().collect(),
        _ => Vec::new(),
    }
}

fn give(facts: &mut Facts, drive: &str, identify: &Identify) {
    let line = identify.line;
    let question = match &identify.of {
        Of::Namespace { nsid, size, block, has_format, formats } => {
            put(facts, drive, "nsid", nsid.map_or_else(String::new, |nsid| nsid.to_string()), line);
            let size = size.map(|bytes| Size { bytes, rounding: None });
            if !facts.geometry(drive, Geometry { size, block: *block }, line) {
                return;
            }
            let question = "identify-ns";
            let file = path(drive, question);
            if !facts.files.contains_key(&file) {
                if !has_format {
                    let absent = Known { value: Vec::new(), line };
                    facts.files.insert(nvme::no_format_in_use(drive), absent);
                }
                let lines = formats.iter().map(|(index, line)| (format!("{file} LBA format {index}"), *line));
                facts.places.extend(lines);
            }
            question
        }
        Of::Controller { serial, model, firmware } => {
            for (file, value) in [("serial", serial), ("model", model), ("firmware_rev", firmware)] {
                put_device(facts, drive, file, value, line);
            }
            "identify-ctrl"
        }
    };
    let bytes = || Known { value: identify.bytes.clone(), line };
    facts.files.entry(path(drive, question)).or_insert_with(bytes);
}

fn path(drive: &str, question: &str) -> String {
    format!("/ioctl/{drive}/{question}")
}
