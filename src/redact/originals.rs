//! [`Originals`]: names and serials that are searched for in texts.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
};

/// Fewer than this are simply tried one by one.
const FEW: usize = 64;

/// In the order in which they are replaced, the longest first: one may be part of another.
#[derive(Debug, Clone, Default)]
pub(super) struct Originals {
    /// Each behind its length in bytes.
    ordered: BTreeSet<(Reverse<usize>, String)>,
    known: HashSet<String>,
    lengths: BTreeSet<usize>,
}

impl Originals {
    /// Whether it is new.
    pub(super) fn insert(&mut self, new: &str) -> bool {
        self.known.insert(new.to_owned());
        self.lengths.insert(new.len());
        self.ordered.insert((Reverse(new.len()), new.to_owned()))
    }

    /// All of them, the longest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(|(_, original)| original.as_str())
    }

    /// Those to be tried on a text, the longest first: of many, those that are in it. The time is that of the text's length times
    /// the number of different lengths, whatever their number: a machine may have thousands of devices.
    pub(super) fn within(&self, text: &str) -> Vec<&str> {
        if self.known.len() < FEW {
            return self.all().collect();
        }
        let parts = |length: usize| text.char_indices().filter_map(move |(at, _)| text.get(at..at + length));
        let found =
            self.lengths.iter().flat_map(|length| parts(*length)).filter_map(|part| self.known.get(part));
        let found: BTreeSet<_> = found.map(|part| (Reverse(part.len()), part.as_str())).collect();
        found.into_iter().map(|(_, original)| original).collect()
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
            let found: Vec<&str> = tried.iter().copied().filter(|word| text.contains(word)).collect();
            prop_assert_eq!(found, wanted);
            prop_assert!(words.len() < FEW || tried.iter().all(|word| text.contains(word)), "no others of many");
        }
    }
}
