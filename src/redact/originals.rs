//! [`Originals`]: names and serials that are searched for in texts.

use std::collections::{BTreeSet, HashSet};

/// Fewer than this are simply tried one by one.
const FEW: usize = 64;

/// In the order in which they are replaced, the longest first: one may be part of another.
#[derive(Debug, Clone, Default)]
pub(super) struct Originals {
    ordered: BTreeSet<Longest>,
    known: HashSet<String>,
    /// Lengths in bytes.
    lengths: BTreeSet<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Longest(String);

impl PartialOrd for Longest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Longest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.len().cmp(&self.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl Originals {
    /// Whether it is new.
    pub(super) fn insert(&mut self, new: &str) -> bool {
        if !self.known.insert(new.to_owned()) {
            return false;
        }
        self.lengths.insert(new.len());
        self.ordered.insert(Longest(new.to_owned()))
    }

    /// All of them, the longest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(|Longest(original)| original.as_str())
    }

    /// Those to be tried on a text, the longest first: of many, those that are in it. The time is that of the text's length times
    /// the number of different lengths, whatever their number: a machine may have thousands of devices.
    pub(super) fn within(&self, text: &str) -> Vec<String> {
        if self.known.len() < FEW {
            return self.all().map(str::to_owned).collect();
        }
        let parts = |length: usize| text.char_indices().filter_map(move |(at, _)| text.get(at..at + length));
        let found =
            self.lengths.iter().flat_map(|length| parts(*length)).filter(|part| self.known.contains(*part));
        let found: BTreeSet<Longest> = found.map(|part| Longest(part.to_owned())).collect();
        found.into_iter().map(|Longest(original)| original).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_are_found_as_few_are(text in "[a-cä]{0,40}", words in prop::collection::hash_set("[a-cä]{1,4}", 0..200)) {
            let mut originals = Originals::default();
            for word in &words {
                assert!(originals.insert(word) && !originals.insert(word));
            }
            let tried = originals.within(&text);
            let mut wanted: Vec<&String> = words.iter().filter(|word| text.contains(*word)).collect();
            wanted.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
            let found: Vec<&String> = tried.iter().filter(|word| text.contains(*word)).collect();
            prop_assert_eq!(found, wanted);
            prop_assert!(words.len() < FEW || tried.iter().all(|word| text.contains(word)), "no others of many");
        }
    }
}
