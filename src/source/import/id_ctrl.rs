//! `nvme id-ctrl`, with and without `-H`.

use std::borrow::Cow;

use super::{
    facts::{Facts, Identify, Line, Of},
    identify::{self, IDENTIFY_BYTES, number},
    sections::Kind,
};

const COMMAND: &str = "nvme id-ctrl";
const HEADING: &str = "NVME Identify Controller";

pub(super) const KIND: Kind = Kind {
    begins: |line, _| identify::begins(line, HEADING, COMMAND),
    continues: identify::continues,
    tolerates: identify::TOLERATES,
    read,
};

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    identify::note_foreign(lines, COMMAND, HEADING, facts);
    // Each listing has one serial number; its command or heading is above it.
    let serials: Vec<usize> = (0..lines.len())
        .filter(|at| identify::field(&lines[*at].text).is_some_and(|(name, _)| name == "sn"))
        .collect();
    let mut from = 0;
    for (number, _) in serials.iter().enumerate() {
        let next = serials.get(number + 1).copied().unwrap_or(lines.len());
        // The next listing begins at its command or heading.
        let is_begin = |at: &usize| (KIND.begins)(&lines[*at].text, None);
        let to =
            if next == lines.len() { next } else { (serials[number]..next).find(is_begin).unwrap_or(next) };
        if let Some(found) = one(&lines[from..to]) {
            facts.identify(found);
        }
        from = to;
    }
    if serials.is_empty() {
        facts.notes.unused(lines.first()?.number, "nvme id-ctrl without a serial number");
        return None;
    }
    Some(COMMAND.into())
}

fn one(lines: &[Line]) -> Option<Identify> {
    let mut bytes = vec![0; IDENTIFY_BYTES];
    let [mut serial, mut model, mut firmware] = [const { String::new() }; 3];
    for (name, value) in identify::fields(lines) {
        let (at, width) = match name {
            "sn" => {
                value.clone_into(&mut serial);
                continue;
            }
            "mn" => {
                value.clone_into(&mut model);
                continue;
            }
            "fr" => {
                value.clone_into(&mut firmware);
                continue;
            }
            "vid" => (0, 2),
            "ssvid" => (2, 2),
            "mdts" => (77, 1),
            "oacs" => (256, 2),
            "fna" => (524, 1),
            _ => continue,
        };
        if let Some(number) = number(value) {
            identify::set(&mut bytes, at, width, number);
        }
    }
    Some(Identify {
        line: lines.first()?.number,
        device: identify::device_of(lines, COMMAND),
        of: Of::Controller { serial, model, firmware },
        bytes,
    })
}
