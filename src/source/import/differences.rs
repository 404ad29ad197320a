//! Output of `diff`: two files of which the newer one is read.

use std::{collections::BTreeMap, num::NonZeroUsize, ops::RangeInclusive};

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A line that the newer file does not have.
    Old,
    /// A line of the newer file behind a mark of that many bytes.
    New(usize),
}

/// The lines of hunks, by their numbers counted from 1.
pub(super) fn differences(text: &str) -> BTreeMap<usize, Side> {
    let mut sides = BTreeMap::new();
    let mut hunk: Option<Hunk> = None;
    for (at, line) in text.lines().enumerate() {
        let side = hunk.as_mut().and_then(|hunk| hunk.take(line));
        if let Some(side) = side {
            sides.insert(at + 1, side);
        } else if let Some(next) = head(line) {
            hunk = Some(next);
        } else if !(line == "---" && hunk.as_ref().is_some_and(|hunk| hunk.is_plain)) {
            hunk = None;
        }
    }
    sides
}

/// Whether a line begins a hunk: what follows is not of the function before.
pub(super) fn is_head(line: &str) -> bool {
    head(line).is_some()
}

/// Lines of both files that a hunk still has.
struct Hunk {
    /// Whether its lines have the marks `<` and `>`.
    is_plain: bool,
    old: usize,
    new: usize,
}

impl Hunk {
    /// The side of the next line, if it is one of the hunk.
    fn take(&mut self, line: &str) -> Option<Side> {
        let is_behind = |mark: char| {
            line.strip_prefix(mark)
                .is_some_and(|rest| !self.is_plain || rest.is_empty() || rest.starts_with(' '))
        };
        let (old, new) = if self.is_plain { ('<', '>') } else { ('-', '+') };
        if self.old > 0 && is_behind(old) {
            self.old -= 1;
            Some(Side::Old)
        } else if self.new > 0 && is_behind(new) {
            self.new -= 1;
            Some(Side::New(if self.is_plain { 2 } else { 1 }))
        } else if !self.is_plain && self.old > 0 && self.new > 0 && (line.is_empty() || line.starts_with(' '))
        {
            (self.old, self.new) = (self.old - 1, self.new - 1);
            Some(Side::New(1))
        } else {
            None
        }
    }
}

/// `2c2`, `9,10c9,10`, `5a6,7`, `5,6d4`; `@@ -1,4 +1,5 @@`.
fn head(line: &str) -> Option<Hunk> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("@@ -") {
        let (old, rest) = rest.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        return Some(Hunk { is_plain: false, old: count(old)?, new: count(new)? });
    }
    let at = line.find(['a', 'c', 'd']).filter(|_| line.len() < 40)?;
    let (old, new) = (lines(&line[..at])?, lines(&line[at + 1..])?);
    let count = |range: RangeInclusive<usize>| range.count();
    let (old, new) = match line.as_bytes()[at] {
        b'a' => (0, count(new)),
        b'd' => (count(old), 0),
        _ => (count(old), count(new)),
    };
    Some(Hunk { is_plain: true, old, new })
}

/// Lines of `1,4`: 4; of `1`: 1.
fn count(range: &str) -> Option<usize> {
    range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
}

/// `9,10`.
fn lines(range: &str) -> Option<RangeInclusive<usize>> {
    /// Lines of the longest text.
    const MOST: usize = 1 << 20;
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    let first: usize = first.parse().ok()?;
    let last: NonZeroUsize = last.parse().ok()?;
    (first <= last.get() && last.get() < MOST).then(|| first..=last.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_has_the_lines_that_its_head_counts() {
        let old = |text: &str| {
            let sides = differences(text);
            let of = |wanted: fn(&Side) -> bool| {
                sides.iter().filter(|(_, side)| wanted(side)).map(|(at, _)| *at).collect::<Vec<usize>>()
            };
            (of(|side| *side == Side::Old), of(|side| *side != Side::Old))
        };
        assert_eq!(old("$ diff a b\n2c2\n< a\n---\n> b\n< c\n"), (vec![3], vec![5]));
        assert_eq!(old("5a6,7\n> a\n> b\n> c\n"), (vec![], vec![2, 3]));
        assert_eq!(old("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n-[0000:00]-\n"), (vec![4], vec![5, 6]));
        for text in ["> a\n< b\n", "-a\n+b\n", "00c0\n< a\n", "1c1 x\n< a\n", "acd\n< a\n"] {
            assert_eq!(old(text), (vec![], vec![]), "{text}");
        }
    }
}
