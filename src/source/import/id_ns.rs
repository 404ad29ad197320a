//! `nvme id-ns`, with and without `-H`.

use std::borrow::Cow;

use super::{
    facts::{Facts, Identify, Line, Of},
    identify::{self, IDENTIFY_BYTES, number},
    prompt::is_fence,
    sections::Kind,
};

const COMMAND: &str = "nvme id-ns";
const HEADING: &str = "NVME Identify Namespace";

pub(super) const KIND: Kind = Kind {
    begins: |line, _| identify::begins(line, HEADING, COMMAND),
    continues: identify::continues,
    tolerates: identify::TOLERATES,
    read,
};

/// LBA formats of a data structure of version 1.4.
const MOST_FORMATS: usize = 64;

/// A row of the table of LBA formats.
struct Format {
    index: usize,
    metadata: u16,
    shift: u8,
    performance: u8,
    in_use: bool,
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    identify::note_foreign(lines, COMMAND, HEADING, facts);
    // A page may have one listing per drive, each behind its command or its heading.
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| {
            let text = &lines[*at].text;
            let is_heading = text.trim_start().starts_with(HEADING);
            // A fence of Markdown may stand between.
            let above = lines[..*at].iter().rev().map(|line| line.text.trim());
            let mut above = above.skip_while(|text| text.is_empty() || is_fence(text));
            let after_command = above.next().is_some_and(|text| identify::is_command(text, COMMAND));
            identify::is_command(text, COMMAND) || is_heading && !after_command
        })
        .collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut any = None;
    for (from, to) in starts.iter().copied().zip(ends) {
        let listing = &lines[from..to];
        match one(listing) {
            Some(identify) => {
                if let Some(name) =
                    identify.device.as_deref().filter(|name| super::drives::is_namespace(name))
                {
                    facts.drive(name, identify.line);
                }
                facts.identify(identify);
                let is_human = listing.iter().any(|line| line.text.contains("LBA Format"));
                any = Some(if is_human { "nvme id-ns -H".into() } else { COMMAND.into() });
            }
            None => facts.notes.unused(lines[from].number, "nvme id-ns without its table of LBA formats"),
        }
    }
    any
}

fn one(lines: &[Line]) -> Option<Identify> {
    let numbered = lines.iter().filter_map(|line| Some((format(&line.text)?, line.number)));
    let (formats, numbers): (Vec<Format>, Vec<usize>) = numbered.unzip();
    let (mut bytes, mut size, mut selected) = (vec![0; IDENTIFY_BYTES], None, None);
    let last = formats.iter().map(|format| format.index).max()?;
    for (name, value) in identify::fields(lines) {
        let (at, width) = match name {
            "nsze" => (0, 8),
            "ncap" => (8, 8),
            "nuse" => (16, 8),
            "nsfeat" => (24, 1),
            "flbas" => (26, 1),
            "noiob" => (46, 2),
            _ => continue,
        };
        let Some(number) = number(value) else { continue };
        match name {
            "nsze" => size = size.or(Some(number)),
            "flbas" => selected = format_of(number, last),
            _ => {}
        }
        identify::set(&mut bytes, at, width, number);
    }
    let marked = formats.iter().find(|format| format.in_use);
    let used = marked.or_else(|| formats.iter().find(|format| Some(format.index) == selected));
    for format in &formats {
        let at = 128 + 4 * format.index;
        bytes[at..at + 2].copy_from_slice(&format.metadata.to_le_bytes());
        (bytes[at + 2], bytes[at + 3]) = (format.shift, format.performance);
    }
    // Number of formats, from zero, and the one in use, in the places of version 1.
    bytes[25] = u8::try_from(last).ok()?;
    let index = used.map_or(Some(0), |used| u8::try_from(used.index).ok())?;
    bytes[26] = (bytes[26] & 0x10) | (index & 0xf) | ((index >> 4) << 5);
    let block = match used {
        Some(used) => {
            let block = 1_u64.checked_shl(used.shift.into());
            Some(block.filter(|block| (512..=1 << 20).contains(block))?)
        }
        None => None,
    };
    let size = size.zip(block).and_then(|(blocks, block)| blocks.checked_mul(block)).filter(|size| *size > 0);
    let heading = lines.iter().find_map(|line| line.text.trim_start().strip_prefix(HEADING));
    let nsid = heading.and_then(|rest| number(rest.trim_end_matches(':')));
    Some(Identify {
        line: lines.first()?.number,
        device: identify::device_of(lines, COMMAND),
        of: Of::Namespace {
            nsid,
            size,
            block,
            has_format: used.is_some(),
            formats: formats.iter().map(|format| format.index).zip(numbers).collect(),
        },
        bytes,
    })
}

/// The index in FLBAS: bits 3:0, and of more than 16 formats bits 6:5.
fn format_of(flbas: u64, last: usize) -> Option<usize> {
    const FEW: usize = 16;
    let high = if last >= FEW { (flbas >> 5) & 0b11 } else { 0 };
    usize::try_from((flbas & 0xf) | (high << 4)).ok()
}

/// `lbaf  0 : ms:0   lbads:9  rp:0x2 (in use)` or
/// `LBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)`.
fn format(line: &str) -> Option<Format> {
    let line = line.trim();
    let (is_human, rest) = match line.strip_prefix("lbaf") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("LBA Format")?),
    };
    let (index, rest) = rest.split_once(':')?;
    let index = index.trim().parse().ok().filter(|index| *index < MOST_FORMATS)?;
    let after = |word: &str| number(rest.split_once(word)?.1);
    let (metadata, shift, performance) = if is_human {
        let bytes = after("Data Size:")?;
        (
            after("Metadata Size:")?,
            if bytes.is_power_of_two() { bytes.trailing_zeros() } else { 0 },
            after("Relative Performance:").unwrap_or(0),
        )
    } else {
        (after("ms:")?, u32::try_from(after("lbads:")?).ok()?, after("rp:").unwrap_or(0))
    };
    Some(Format {
        index,
        metadata: u16::try_from(metadata).ok()?,
        shift: u8::try_from(shift).ok()?,
        performance: u8::try_from(performance).ok()?,
        in_use: rest.contains("(in use)"),
    })
}
