//! Lists of IOMMU groups, as loops of a shell print them: the group before each function, or as a heading above its functions.
//!
//! ```text
//! IOMMU Group 15 01:00.0 Non-Volatile memory controller [0108]: ...
//! IOMMU Group 15:
//!         01:00.0 Non-Volatile memory controller [0108]: ...
//! IOMMU group 15: [144d:a808] 01:00.0 Non-Volatile memory controller: ...
//! Group 15:       [144d:a808] [R] 01:00.0  Non-Volatile memory controller   NVMe SSD Controller SM981
//! ```

use super::names::{self, Name};

/// The group that a line begins with, and what follows it.
fn of_line(line: &str) -> Option<(u32, &str)> {
    const WORDS: [&str; 4] = ["iommu group ", "iommu_group ", "group ", "group:"];
    let line = line.trim_start();
    let starts = |word: &str| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let rest = line[WORDS.into_iter().find(|word| starts(word))?.len()..].trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = rest.split_at(digits);
    let is_end = rest.is_empty() || rest.starts_with([':', ' ', '\t', '[']);
    let group = number.parse().ok().filter(|_| is_end)?;
    Some((group, rest.strip_prefix(':').unwrap_or(rest).trim()))
}

/// The group that a line is the heading of, and nothing else.
pub(super) fn heading(line: &str) -> Option<u32> {
    of_line(line).filter(|(_, rest)| rest.is_empty()).map(|(group, _)| group)
}

/// Whether a line was broken where its IOMMU group follows: a heading below it is its rest.
pub(super) fn is_cut(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(" IOMMU") || line == "IOMMU" || line.starts_with("Flags:") && line.ends_with(',')
}

/// What stands before a function's address: a group and words in brackets.
#[derive(Debug, Default)]
pub(super) struct Front<'a> {
    pub group: Option<u32>,
    /// With the ids that stand in brackets.
    pub ids: Option<Name>,
    /// From the address on.
    pub rest: &'a str,
}

/// Takes a group and words in brackets (`[144d:a808] [R] 01:00.0`) from the beginning of a line.
pub(super) fn front(line: &str) -> Front<'_> {
    /// Letters that say what a function can do, such as a reset.
    const MARKS: [&str; 2] = ["R", "RE"];
    let (group, mut rest) = match of_line(line) {
        Some((group, rest)) => (Some(group), rest),
        None => (None, line.trim_start()),
    };
    let mut ids = None;
    while let Some((word, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let pair = names::pair(word);
        if pair.is_none() && !MARKS.contains(&word) {
            break;
        }
        ids = ids.or(pair.map(|(vendor, device)| Name::of_ids("", vendor, device)));
        rest = after.trim_start();
    }
    Front { group, ids, rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_stands_before_a_function_or_above_it() {
        for (line, group, rest) in [
            ("IOMMU Group 15 01:00.0 Foo: X", Some(15), "01:00.0 Foo: X"),
            ("IOMMU Group 15:", Some(15), ""),
            ("\tiommu group 0:[8086:191f] 00:00.0 Host bridge: X", Some(0), "00:00.0 Host bridge: X"),
            ("Group:  15   0000:01:00.0 Foo: X", Some(15), "0000:01:00.0 Foo: X"),
            ("IOMMU group 7:\t[144d:a808] [R] 01:00.0 Foo: X", Some(7), "01:00.0 Foo: X"),
            ("  [144d:a808] 01:00.0 Foo: X", None, "01:00.0 Foo: X"),
            ("[    0.62] pci 0000:04:00.0: X", None, "[    0.62] pci 0000:04:00.0: X"),
            ("IOMMU Group 99999999999 01:00.0", None, "IOMMU Group 99999999999 01:00.0"),
            ("        IOMMU group: 76", None, "IOMMU group: 76"),
            ("IOMMU Group 1a 01:00.0", None, "IOMMU Group 1a 01:00.0"),
            ("Groups of 3", None, "Groups of 3"),
            ("01:00.0 Foo: X", None, "01:00.0 Foo: X"),
        ] {
            let front = front(line);
            assert_eq!((front.group, front.rest), (group, rest), "{line}");
        }
        let ids = front("[144d:a808] 01:00.0 Foo: X").ids.unwrap();
        assert_eq!((ids.vendor, ids.device), (Some(0x144d), Some(0xa808)));
    }
}
