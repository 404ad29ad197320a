//! `/proc/mdstat`: arrays, and which of their devices are journals, spares or faulty.
//!
//! ```text
//! md0 : active raid5 nvme2n1[4] dm-0[3](J) nvme1n1[1] nvme0n1[0]
//! ```

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    facts::{Facts, Known, Line},
    sections::Kind,
};

pub(super) const KIND: Kind = Kind { begins: |line, _| is_line(line), continues, tolerates: 0, read };

/// Marks behind a device, and the words of its file `state`.
const MARKS: [(&str, &str); 5] = [
    ("(J)", "journal"),
    ("(S)", "spare"),
    ("(W)", "in_sync,write_mostly"),
    ("(R)", "replacement"),
    ("(F)", "faulty"),
];

/// The array and the words behind its level.
fn array(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = line.split_once(" : ")?;
    let is_array = name.strip_prefix("md").is_some_and(|rest| {
        !rest.is_empty()
            && rest.len() <= 64
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    let words: Vec<&str> = rest.split_whitespace().collect();
    (is_array && ["active", "inactive"].contains(words.first()?)).then_some((name, words))
}

fn is_line(line: &str) -> bool {
    line.starts_with("Personalities : [") || array(line).is_some()
}

fn continues(line: &str) -> bool {
    let line = line.trim();
    is_line(line)
        || line.starts_with("unused devices: ")
        || line.starts_with("bitmap: ")
        || line.split_once(' ').is_some_and(|(blocks, rest)| {
            rest.starts_with("blocks") && blocks.bytes().all(|byte| byte.is_ascii_digit())
        })
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut any = false;
    for line in lines {
        if facts.is_too_many() {
            break;
        }
        let Some((name, words)) = array(&line.text) else { continue };
        any = true;
        for word in words {
            let Some((device, rest)) = word.split_once('[') else { continue };
            let Some((_, marks)) = rest.split_once(']') else { continue };
            let state =
                MARKS.iter().find(|(mark, _)| marks.contains(mark)).map_or("in_sync", |(_, state)| state);
            let at = (name.to_owned(), device.to_owned());
            facts.members.entry(at).or_insert(Known::new(state, line.number));
        }
    }
    any.then(|| "/proc/mdstat".into())
}

/// The states of members as files of sysfs: path, content and line. lsblk has devices of the device mapper by other names.
pub(super) fn files(facts: &Facts) -> Vec<(String, String, usize)> {
    let by_number: BTreeMap<String, &String> = facts
        .blocks
        .iter()
        .filter_map(|(name, block)| {
            let (_, minor) = block.files.get("dev").filter(|_| block.has_mapper_name())?.split_once(':')?;
            Some((format!("dm-{minor}"), name))
        })
        .collect();
    let is_array = |name: &String| facts.blocks.contains_key(name);
    let states = facts.members.iter().filter(|((array, _), _)| is_array(array));
    states
        .map(|((array, device), state)| {
            let device = by_number.get(device).map_or(device, |name| *name);
            let path = format!("/sys/devices/virtual/block/{array}/md/dev-{device}/state");
            (path, state.value.to_owned(), state.line)
        })
        .collect()
}
