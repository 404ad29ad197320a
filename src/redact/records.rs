//! Redacts binary records. Lengths never change, so that offsets and structures stay.

use std::ops::Range;

use super::{Redactor, pseudonyms::Shape};
use crate::source::config_space::{ConfigSpace, WANTED};

/// Serials in a record.
pub(super) fn serials(path: &str, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    if path.ends_with("/identify-ctrl") {
        found.extend(bytes.get(4..24).map(lossy));
    } else if path.ends_with("/vpd_pg80") {
        found.extend(bytes.get(4..).map(lossy));
    } else if is_table(path) {
        for structure in structures(bytes) {
            for range in structure.private_strings(bytes) {
                found.extend(bytes.get(range).map(lossy));
            }
        }
    }
    found.retain(|serial| !serial.contains(char::REPLACEMENT_CHARACTER));
    found
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Identify Controller: serial number at 4, FRU GUID at 112, subsystem name at 768, vendor's own from 3072.
pub(super) fn identify_controller(redactor: &mut Redactor, bytes: &mut [u8]) {
    replace_text(redactor, bytes, 4..24);
    replace_id(redactor, bytes, 112..128);
    // A target's subsystem name is chosen by its owner.
    replace_text(redactor, bytes, 768..1024);
    // The vendor's area has unknown content, and iodyno does not read it.
    bytes.get_mut(3072..).unwrap_or_default().fill(0);
}

/// Identify Namespace: NGUID at 104, EUI64 at 120, vendor's own from 384.
pub(super) fn identify_namespace(redactor: &mut Redactor, bytes: &mut [u8]) {
    replace_id(redactor, bytes, 104..120);
    replace_id(redactor, bytes, 120..128);
    bytes.get_mut(384..).unwrap_or_default().fill(0);
}

/// Device Serial Number, extended capability 0003h: on network cards it is made of the MAC address. Vendor-specific
/// capabilities keep their headers alone: 09h, and of the extended ones 000Bh and 0023h.
pub(super) fn config_space(redactor: &mut Redactor, bytes: &mut [u8]) {
    for body in vendor_bodies(bytes) {
        bytes.get_mut(body).unwrap_or_default().fill(0);
    }
    let mut at = 0x100;
    // Each capability takes at least four bytes, so a chain is never longer than this.
    for _ in 0..960 {
        let Some(&[a, b, c, d]) = bytes.get(at..at + 4) else { return };
        let header = u32::from_le_bytes([a, b, c, d]);
        match header & 0xffff {
            0x0003 => replace_id(redactor, bytes, at + 4..at + 12),
            id @ (0x000b | 0x0023) => {
                let length = bytes
                    .get(at + 6..at + 8)
                    .map_or(0, |word| usize::from(word[0] >> 4) | usize::from(word[1]) << 4);
                let start = at + if id == 0x000b { 8 } else { 10 };
                let end = (at + length).min(bytes.len());
                bytes.get_mut(start..end).unwrap_or_default().fill(0);
            }
            _ => {}
        }
        at = usize::try_from(header >> 20).unwrap_or_default() & !0b11;
        if at < 0x100 {
            return;
        }
    }
}

/// Vendor-specific capabilities (09h) behind id, link and length, up to the next capability: what follows the length is the
/// vendor's too.
fn vendor_bodies(bytes: &[u8]) -> Vec<Range<usize>> {
    const VENDOR: u8 = 0x09;
    const HEADER: usize = 3;
    let found = ConfigSpace::new(bytes).map(|space| space.capabilities()).unwrap_or_default();
    let found: Vec<(u8, usize)> = found.into_iter().flatten().map(|(id, at)| (id, at.into())).collect();
    let own = found.iter().filter(|(id, _)| *id == VENDOR).map(|(_, at)| *at);
    let next = |at: usize| found.iter().map(|(_, next)| *next).filter(|next| *next > at).min();
    own.map(|at| at + HEADER..next(at).unwrap_or(WANTED).min(bytes.len())).collect()
}

/// Page 80h is a serial behind four bytes of header; of other pages only the header stays.
pub(super) fn vital_product_data(redactor: &mut Redactor, path: &str, bytes: &mut [u8]) {
    if path.ends_with("vpd_pg80") {
        let end = bytes.len();
        replace_text(redactor, bytes, 4..end);
    } else {
        bytes.get_mut(4..).unwrap_or_default().fill(0);
    }
}

/// SMBIOS structures. The table's checksum is in its entry point and covers only that.
pub(super) fn smbios(redactor: &mut Redactor, path: &str, bytes: &mut [u8]) {
    if !is_table(path) {
        return;
    }
    for structure in structures(bytes) {
        if structure.kind == SYSTEM {
            replace_uuid(redactor, bytes, structure.start + 8..structure.start + 24);
        }
        for range in structure.private_strings(bytes) {
            replace_text(redactor, bytes, range);
        }
        if !KNOWN.contains(&structure.kind) {
            let own = structure.start + 4..structure.start + structure.length;
            bytes.get_mut(own).unwrap_or_default().fill(0);
        }
    }
}

/// `DMI` is the whole table, `entries/*/raw` one structure.
fn is_table(path: &str) -> bool {
    path.ends_with("/DMI") || path.ends_with("/raw")
}

const SYSTEM: u8 = 1;

/// Structures whose fields are known to hold nothing private but serials, asset tags and the system's UUID: BIOS,
/// system, board, chassis, processor, cache, connectors, slots, language, memory array, memory module, mapped
/// addresses, boot, onboard devices, end of table.
const KNOWN: &[u8] = &[0, SYSTEM, 2, 3, 4, 7, 8, 9, 13, 16, 17, 19, 20, 32, 41, 127];

/// Offsets of string numbers of serials and asset tags, by structure type.
const PRIVATE_FIELDS: &[(u8, &[usize])] =
    &[(SYSTEM, &[7]), (2, &[7, 8]), (3, &[7, 8]), (4, &[0x20, 0x21]), (17, &[0x18, 0x19])];

/// One SMBIOS structure: a header, fields, then strings that end in zeros.
#[derive(Debug, Clone, Copy)]
struct Structure {
    kind: u8,
    start: usize,
    /// Length of header and fields.
    length: usize,
}

impl Structure {
    /// Ranges of the strings to be replaced.
    fn private_strings(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let is_private = |number: usize| {
            if !KNOWN.contains(&self.kind) {
                return true;
            }
            let fields = PRIVATE_FIELDS.iter().filter(|(kind, _)| *kind == self.kind);
            fields.flat_map(|(_, offsets)| offsets.iter()).any(|offset| {
                *offset < self.length
                    && bytes.get(self.start + offset).is_some_and(|byte| usize::from(*byte) == number)
            })
        };
        let numbered = (1..).zip(self.strings(bytes));
        numbered.filter(|(number, _)| is_private(*number)).map(|(_, range)| range).collect()
    }

    /// Ranges of all strings; number 1 is the first.
    fn strings(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = self.start + self.length;
        while let Some(length) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) {
            if length == 0 {
                break;
            }
            found.push(at..at + length);
            at += length + 1;
        }
        found
    }

    /// The offset after the two terminating zeros.
    fn end(self, bytes: &[u8]) -> usize {
        self.strings(bytes).last().map_or(self.start + self.length, |last| last.end) + 2
    }
}

fn structures(bytes: &[u8]) -> Vec<Structure> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(&[kind, length, _, _]) = bytes.get(start..start + 4) {
        let structure = Structure { kind, start, length: usize::from(length).max(4) };
        found.push(structure);
        start = structure.end(bytes);
    }
    found
}

/// Replaces a text field, padding kept.
fn replace_text(redactor: &mut Redactor, bytes: &mut [u8], range: Range<usize>) {
    let Some(field) = bytes.get_mut(range) else { return };
    match std::str::from_utf8(field) {
        Ok(text) => {
            let replaced = redactor.whole(text, Shape::Text);
            field.copy_from_slice(replaced.as_bytes());
        }
        Err(_) => field.fill(b'X'),
    }
}

/// The bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Replaces a binary id by the pseudonym of its digits, most significant byte first.
fn replace_id(redactor: &mut Redactor, bytes: &mut [u8], range: Range<usize>) {
    let Some(field) = bytes.get_mut(range) else { return };
    if field.iter().all(|byte| *byte == 0) || field.iter().all(|byte| *byte == 0xff) {
        return;
    }
    let pseudonym = redactor.pseudonyms.of(&hex(field), Shape::Hex);
    for (byte, pair) in field.iter_mut().zip(pseudonym.as_bytes().chunks(2)) {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        *byte = u8::from_str_radix(text, 16).unwrap_or_default();
    }
}

/// A UUID whose first three groups are little-endian (SMBIOS Reference Specification 7.2.1).
fn replace_uuid(redactor: &mut Redactor, bytes: &mut [u8], range: Range<usize>) {
    let Some(field) = bytes.get_mut(range.clone()) else { return };
    let swap = |field: &mut [u8]| {
        for group in [0..4, 4..6, 6..8] {
            if let Some(group) = field.get_mut(group) {
                group.reverse();
            }
        }
    };
    swap(field);
    replace_id(redactor, bytes, range.clone());
    if let Some(field) = bytes.get_mut(range) {
        swap(field);
    }
}
