//! lspci's forms for programs: `-mm`, one quoted line for each function, and `-vmm`, one record of `Key:<tab>value` lines.

use std::borrow::Cow;

use super::{
    super::facts::{Facts, Known, Line, learn},
    names::{self, First, Name, address, learn_number},
};
use crate::{model::PciAddress, text::Label};

/// Keys of a record behind its first line, without the colon.
const KEYS: [&str; 14] = [
    "Class",
    "Vendor",
    "Device",
    "SVendor",
    "SDevice",
    "PhySlot",
    "Rev",
    "ProgIf",
    "Driver",
    "Module",
    "NUMANode",
    "DTNode",
    "IOMMUGroup",
    "Status",
];

/// Whether a record begins here: `Slot: 0000:41:00.0`; `-vm` writes `Device:` in its place.
pub(super) fn is_first(line: &str) -> bool {
    place(line).is_some()
}

/// Whether a line continues a record.
pub(super) fn continues(line: &str) -> bool {
    field(line).is_some()
}

fn place(line: &str) -> Option<PciAddress> {
    let line = line.trim();
    let place = line.strip_prefix("Slot:").or_else(|| line.strip_prefix("Device:"))?.trim();
    address(place).filter(|_| (7..=16).contains(&place.len()))
}

fn field(line: &str) -> Option<(&'static str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let key = KEYS.iter().find(|known| **known == key)?;
    // `Device: 144d`, not a path or a time.
    value.starts_with([' ', '\t']).then_some((*key, value.trim()))
}

/// Reads the records of a listing.
pub(super) fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let read = |lines: &[Line], alone: &mut Facts| _ = read_all(lines, alone);
    (!facts.is_another_machine("list", lines, read)).then(|| read_all(lines, facts))
}

fn read_all(lines: &[Line], facts: &mut Facts) -> Cow<'static, str> {
    let mut form = Form::default();
    let mut record: Option<Record> = None;
    for line in lines.iter().filter(|line| !line.text.trim().is_empty()) {
        if let Some(address) = place(&line.text) {
            if let Some(known) = record.replace(Record::new(address, line.number)) {
                form.keep(&known, facts);
            }
        } else if let Some((key, value)) = field(&line.text)
            && let Some(record) = &mut record
        {
            record.fields.push((key, value.to_owned(), line.number));
        } else {
            facts.notes.unused_text(line, "not a line of lspci -vmm");
        }
    }
    if let Some(record) = record {
        form.keep(&record, facts);
    }
    form.command()
}

/// One function of `-vmm`.
struct Record {
    address: PciAddress,
    line: usize,
    fields: Vec<(&'static str, String, usize)>,
}

impl Record {
    fn new(address: PciAddress, line: usize) -> Self {
        Self { address, line, fields: Vec::new() }
    }

    fn get(&self, key: &str) -> &str {
        self.fields.iter().find(|(known, ..)| *known == key).map_or("", |(_, value, _)| value)
    }
}

/// The options with which a listing was made.
#[derive(Debug, Default)]
struct Form {
    numbers: bool,
    both: bool,
    drivers: bool,
}

impl Form {
    fn command(&self) -> Cow<'static, str> {
        let ids = match (self.both, self.numbers) {
            (true, _) => "nn",
            (false, true) => "n",
            _ => "",
        };
        format!("lspci -vmm{ids}{}", if self.drivers { "k" } else { "" }).into()
    }

    fn keep(&mut self, record: &Record, facts: &mut Facts) {
        let (address, line) = (record.address, record.line);
        let interface = u8::from_str_radix(record.get("ProgIf"), 16).ok();
        let (class, class_name) = names::class(record.get("Class"), interface);
        let name = name(record.get("Vendor"), record.get("Device"));
        if facts.is_another(address, name.identity(class), line) {
            return;
        }
        self.numbers |= names::four(record.get("Vendor")).is_some();
        self.both |= record.get("Vendor").ends_with(']') && name.device.is_some();
        let function = facts.function(address, line);
        if !function.has_body {
            function.line = line;
        }
        // A list states the class, a drawing's is derived.
        if let Some(class) = class.filter(|_| !function.has_body) {
            function.class = Some(Known::new(class, line));
        }
        if let Some(name) = class_name {
            function.class_name.get_or_insert(Known::new(name, line));
        }
        names::learn(function, &name, line);
        if let Some(ids) = id(record.get("SVendor")).zip(id(record.get("SDevice"))) {
            learn(&mut function.subsystem, ids, line);
        }
        for (key, value, line) in &record.fields {
            match *key {
                "PhySlot" => learn(&mut function.slot, Label::new(value), *line),
                "NUMANode" => learn_number(&mut function.numa_node, value, *line),
                "IOMMUGroup" => learn_number(&mut function.iommu_group, value, *line),
                "Driver" if !value.is_empty() => {
                    self.drivers = true;
                    learn(&mut function.driver, names::driver(value), *line);
                }
                _ => {}
            }
        }
    }
}

/// A function's first line in the form `-mm`.
pub(super) fn quoted_line(rest: &str) -> Option<First<'static>> {
    if !rest.starts_with('"') {
        return None;
    }
    let (words, options) = words(rest);
    let mut words = words.into_iter();
    let mut next = || words.next().unwrap_or_default();
    let (class, vendor, device) = (next(), next(), next());
    let subsystem = id(&next()).zip(id(&next()));
    // BusyBox has a driver behind them.
    let driver = Some(next()).filter(|name| !name.is_empty()).map(|name| names::driver(&name));
    let option = |letter: &str| options.iter().find_map(|word| word.strip_prefix(letter));
    let interface = option("-p").and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let (name, has_ids) = (name(&vendor, &device), device.ends_with(']'));
    Some(First { class: class.into(), name, has_ids, subsystem, interface, driver })
}

/// The quoted words of a line, in which a backslash stands before quotes and backslashes, and those without quotes.
fn words(line: &str) -> (Vec<String>, Vec<&str>) {
    let (mut quoted, mut bare): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let Some(inside) = rest.strip_prefix('"') else {
            let end = rest.find([' ', '\t']).unwrap_or(rest.len());
            bare.push(&rest[..end]);
            rest = rest[end..].trim_start();
            continue;
        };
        let (mut word, mut is_escaped, mut end) = (String::new(), false, inside.len());
        for (at, letter) in inside.char_indices() {
            if is_escaped {
                word.push(letter);
                is_escaped = false;
            } else if letter == '\\' {
                is_escaped = true;
            } else if letter == '"' {
                end = at + 1;
                break;
            } else {
                word.push(letter);
            }
        }
        quoted.push(word);
        rest = inside[end..].trim_start();
    }
    (quoted, bare)
}

/// The name that vendor and device make: each is a name, an id, or both (`Intel Corporation [8086]`).
fn name(vendor: &str, device: &str) -> Name {
    if let Some((vendor_id, device_id)) = id(vendor).zip(id(device)) {
        let word = |text: &str| text.rsplit_once('[').map_or("", |(name, _)| name.trim()).to_owned();
        return Name::of_ids(&format!("{} {}", word(vendor), word(device)), vendor_id, device_id);
    }
    Name::parse(&format!("{vendor} {device}"))
}

/// `8086`, `Intel Corporation [8086]`, `Vendor 1c5c`.
fn id(text: &str) -> Option<u16> {
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')).map(|(_, id)| id);
    let unnamed = ["Vendor ", "Unknown vendor ", "Device "].iter().find_map(|word| text.strip_prefix(word));
    names::four(bracketed.or(unnamed).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_end_no_word() {
        let (quoted, bare) = words(r#""Host bridge" "A \"B\" \\ C" "" -r01 -p02 "open"#);
        assert_eq!(quoted, ["Host bridge", r#"A "B" \ C"#, "", "open"]);
        assert_eq!(bare, ["-r01", "-p02"]);
    }

    #[test]
    fn a_quoted_line_has_ids_in_every_form() {
        for (line, text) in [
            (r#""0108" "144d" "a826" -p02 "144d" "aa0a""#, ""),
            (
                r#""Non-Volatile memory controller [0108]" "Samsung [144d]" "PM174X [a826]" -p02 "Samsung [144d]" "Device [aa0a]""#,
                "Samsung PM174X",
            ),
            (
                r#""Non-Volatile memory controller [0108]" "Samsung [144d]" "Device [a826]" -p02 "Samsung [144d]" "Device [aa0a]""#,
                "Samsung Device a826",
            ),
            (r#""Class 0108" "Vendor 144d" "Device a826" -r01 -p02 "Unknown vendor 144d" "Device aa0a""#, ""),
        ] {
            let First { name, subsystem, interface, .. } = quoted_line(line).unwrap();
            let expected = Name {
                text: text.to_owned(),
                vendor: Some(0x144d),
                device: Some(0xa826),
                is_exact: name.is_exact,
            };
            assert_eq!((name, subsystem, interface), (expected, Some((0x144d, 0xaa0a)), Some(2)), "{line}");
        }
    }

    #[test]
    fn a_record_begins_with_an_address_alone() {
        assert!(is_first("Slot:\t0000:86:00.0") && is_first("Device:  2e:00.0"));
        for line in ["Slot: 1", "Device:\tNVMe SSD", "Device: Supported: MaxPayload 256 bytes", "Slot:"] {
            assert!(!is_first(line), "{line}");
        }
    }
}
