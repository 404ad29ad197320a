//! Marked drives in words: which they are, and what can be done with them.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use super::{Ask, Asks, Shared, SharedChange, ask::tell, shared::mark_all};
use crate::{model::DriveName, units::counted};

/// Cells of the names in a notice.
const NAMES: usize = 40;

impl Shared {
    /// What is marked once these drives are, what to do with them, and the command that unmarks them here.
    fn tell_marks(&self, marks: &BTreeSet<DriveName>, unmark: &str) -> Ask {
        let count = marks.len();
        let names = names(marks, NAMES).unwrap_or_default();
        tell(match (count, self.can_test()) {
            (0, true) => "No drive is marked: a test runs on every hardware drive".to_owned(),
            (0, false) => "No drive is marked".to_owned(),
            (_, can_test) => {
                let (it, them) = if count == 1 { ("it", "its") } else { ("them", "their") };
                let reads = match (can_test, count) {
                    (true, 1) => "{pull} pulls it, {dyno} tests it, ",
                    (true, _) => "{pull} pulls them together, {dyno} tests them, ",
                    _ => "",
                };
                let lead = counted(count, "drive");
                format!(
                    "{lead} marked: {names}. {reads}{{tune}} changes {them} settings; {{{unmark}}} unmarks {it}"
                )
            }
        })
    }

    /// Marks these drives, or unmarks them when all are marked, and says so; `unmark` is the command that unmarks them here.
    pub(crate) fn mark_and_tell(&self, drives: Vec<DriveName>, unmark: &str) -> Asks {
        let mut after = self.marks.clone();
        mark_all(&mut after, &drives);
        vec![Ask::Change(SharedChange::Mark(drives)), self.tell_marks(&after, unmark)]
    }

    /// Unmarks every drive; `None` where none is marked.
    pub(crate) fn clear_marks(&self) -> Option<Asks> {
        let marked: Vec<DriveName> = self.marks.iter().cloned().collect();
        let told = tell(format!("{} unmarked", counted(marked.len(), "drive")));
        (!marked.is_empty()).then(|| vec![Ask::Change(SharedChange::Mark(marked)), told])
    }
}

/// As many names as have room, and how many more there are: `nvme0n1, nvme1n1 +6`; `None` where not even the first has.
pub(crate) fn names(drives: &BTreeSet<DriveName>, room: usize) -> Option<String> {
    fitting(drives, room).pop()
}

/// The same from the first name alone to as many as have room. Another name takes no fewer cells than the count gives back.
pub(crate) fn fitting(drives: &BTreeSet<DriveName>, room: usize) -> Vec<String> {
    let all: Vec<&str> = drives.iter().map(DriveName::as_str).collect();
    let first = |count: usize| {
        let more = if count < all.len() { format!(" +{}", all.len() - count) } else { String::new() };
        all[..count].join(", ") + &more
    };
    (1..=all.len()).map(first).take_while(|text| text.width() <= room).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_names_as_have_room() {
        let drives = ["nvme0n1", "nvme1n1", "sda"].map(DriveName::new).into();
        for (room, text) in [
            (21, Some("nvme0n1, nvme1n1, sda")),
            (20, Some("nvme0n1, nvme1n1 +1")),
            (18, Some("nvme0n1 +2")),
            (9, None),
        ] {
            assert_eq!(names(&drives, room).as_deref(), text, "{room}");
        }
        assert_eq!(names(&BTreeSet::new(), 20), None);
    }
}
