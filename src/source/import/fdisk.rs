//! `fdisk -l`.

use std::borrow::Cow;

use super::{
    drives::{Size, lsblk_size, put_device, short},
    facts::{Facts, Line},
    geometry::Geometry,
    lsblk::is_drive,
    sections::Kind,
};

pub(super) const KIND: Kind = Kind { begins: |line, _| disk(line).is_some(), continues, tolerates: 0, read };

/// Beginnings of the lines below a disk's first.
const WORDS: [&str; 20] = [
    MODELS[0],
    MODELS[1],
    SECTORS[0],
    SECTORS[1],
    "Einheiten",
    "E/A-Gr\u{f6}\u{df}e",
    "Festplattenbezeichn",
    "Ger\u{e4}t ",
    "Units",
    "I/O size",
    "Disklabel type",
    "Disk identifier",
    "Device ",
    "Geometry:",
    "Alignment offset",
    "Partition table entries",
    "Partition ",
    "/dev/",
    "First usable LBA",
    "Disk label",
];

/// In English and in German.
const DISKS: [&str; 3] = ["Disk /dev/", "Festplatte /dev/", "Platte /dev/"];
const MODELS: [&str; 2] = ["Disk model:", "Festplattenmodell:"];
const SECTORS: [&str; 2] =
    ["Sector size (logical/physical):", "Sektorgr\u{f6}\u{df}e (logisch/physikalisch):"];

fn continues(line: &str) -> bool {
    let text = line.trim_start();
    WORDS.iter().any(|word| text.starts_with(word))
        || text.contains(" heads, ") && text.contains("sectors/track")
}

/// Name and bytes of `Disk /dev/nvme0n1: 931.51 GiB, 1000204886016 bytes, 1953525168 sectors`.
fn disk(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = behind(line.trim_start(), &DISKS)?.split_once(": ")?;
    let (_, bytes) = rest.split(" bytes").next()?.split(" Bytes").next()?.rsplit_once(", ")?;
    Some((name, bytes.parse().ok()?))
}

fn behind<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| line.strip_prefix(word))
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let (mut current, mut found) = (None, false);
    for line in lines {
        if facts.is_too_many() {
            break;
        }
        let text = line.text.trim();
        if let Some((name, bytes)) = disk(text) {
            current = Some(name).filter(|name| is_drive(name));
            if current.is_none() {
                facts.notes.unused_text(line, "not a drive");
                continue;
            }
            found = true;
            let size = Some(Size { bytes, rounding: None });
            facts.geometry(name, Geometry { size, block: None }, line.number);
            continue;
        }
        let Some(drive) = current else { continue };
        if let Some(model) = behind(text, &MODELS) {
            put_device(facts, drive, "model", model, line.number);
        } else if let Some(sizes) = behind(text, &SECTORS) {
            let block = sizes.split_whitespace().next().and_then(|bytes| bytes.parse().ok());
            facts.geometry(drive, Geometry { size: None, block }, line.number);
        } else if text.starts_with("/dev/") {
            partition(facts, drive, line);
        }
    }
    found.then(|| "fdisk -l".into())
}

/// `/dev/nvme0n1p1 * 2048 1050623 1048576 512M EFI System`.
fn partition(facts: &mut Facts, drive: &str, line: &Line) {
    let mut words = line.text.split_whitespace();
    let Some(name) = words.next().map(short) else { return };
    let rest = name.strip_prefix(drive).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    if rest.is_none_or(|rest| rest.parse::<u16>().is_err()) {
        facts.notes.unused_text(line, "no partition of the disk above");
        return;
    }
    if !facts.takes_block(name) {
        return;
    }
    let size = words.filter(|word| word.parse::<u64>().is_err()).find_map(lsblk_size);
    let block = facts.block(name, line.number);
    block.kind = "part".into();
    block.lies_on(&drive.into());
    super::blocks::learn_size(block, size);
}
