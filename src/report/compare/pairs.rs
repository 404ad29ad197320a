//! Matches the results of two sides.

/// A result with its keys.
#[derive(Debug, Clone)]
pub(super) struct Known<'a, T> {
    /// The workload in options; name, metric and baseline of an experiment.
    pub what: Vec<String>,
    /// Drives and files, sorted.
    pub to: Vec<String>,
    pub result: &'a T,
}

impl<T> Known<'_, T> {
    /// Whether both have the same workload and targets, or as many targets.
    fn is_like(&self, other: &Self, same_names: bool) -> bool {
        let to = if same_names { self.to == other.to } else { self.to.len() == other.to.len() };
        self.what == other.what && to
    }
}

/// Pairs of results, first by the same targets, then by as many: drives get other names when a card moves. Of results with
/// the same keys the last counts. Behind the pairs, the results of one side only.
pub(super) fn pairs<'a, T>(
    before: Vec<Known<'a, T>>,
    after: Vec<Known<'a, T>>,
) -> (Vec<(&'a T, &'a T)>, Vec<&'a T>) {
    let (mut before, mut after) = (latest(before), latest(after));
    let mut pairs = Vec::new();
    for same_names in [true, false] {
        before.retain(|one| {
            let Some(at) = after.iter().position(|other| one.is_like(other, same_names)) else { return true };
            pairs.push((one.result, after.remove(at).result));
            false
        });
    }
    let alone = before.into_iter().chain(after).map(|one| one.result).collect();
    (pairs, alone)
}

/// The last one of each kind, in their order.
fn latest<T>(all: Vec<Known<'_, T>>) -> Vec<Known<'_, T>> {
    let mut kept: Vec<Known<'_, T>> = Vec::new();
    for one in all {
        kept.retain(|other| other.what != one.what || other.to != one.to);
        kept.push(one);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known<'a>(of: &'a [(&'a str, &'a str, u32)]) -> Vec<Known<'a, u32>> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        of.iter().map(|(what, to, result)| Known { what: words(what), to: words(to), result }).collect()
    }

    fn matched(before: &[(&str, &str, u32)], after: &[(&str, &str, u32)]) -> (Vec<(u32, u32)>, Vec<u32>) {
        let (pairs, alone) = pairs(known(before), known(after));
        (pairs.iter().map(|(old, new)| (**old, **new)).collect(), alone.into_iter().copied().collect())
    }

    #[test]
    fn the_same_drives_come_first_then_as_many_others_and_the_last_of_each_counts() {
        let before = [("4k", "a b", 1), ("4k", "c d", 2), ("1m", "a b", 3), ("4k", "c d", 4)];
        let after = [("4k", "x y", 11), ("4k", "a b", 12), ("1m", "a", 13)];
        assert_eq!(matched(&before, &after), (vec![(1, 12), (4, 11)], vec![3, 13]));
        assert_eq!(matched(&[("4k", "FILE", 1)], &[("4k", "sda", 2)]), (vec![(1, 2)], vec![]));
        assert_eq!(matched(&[], &[("4k", "a", 2)]), (vec![], vec![2]));
    }

    static OLD: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
    static NEW: [u32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

    proptest! {
        #[test]
        fn nothing_is_matched_twice_and_nothing_is_lost(
            before in prop::collection::vec((0u8..3, 0u8..4), 0..8),
            after in prop::collection::vec((0u8..3, 0u8..4), 0..8),
        ) {
            let of = |all: &[(u8, u8)]| -> Vec<(String, String)> {
                all.iter().map(|(what, to)| (what.to_string(), to.to_string())).collect()
            };
            let (old, new) = (of(&before), of(&after));
            let known = |all: &'static [u32], of: &[(String, String)]| -> Vec<Known<'static, u32>> {
                of.iter().zip(all).map(|((what, to), result)| {
                    Known { what: vec![what.clone()], to: vec![to.clone()], result }
                }).collect()
            };
            let kinds = |of: &[(String, String)]| of.iter().collect::<std::collections::BTreeSet<_>>().len();
            let (pairs, alone) = pairs(known(&OLD, &old), known(&NEW, &new));
            prop_assert_eq!(2 * pairs.len() + alone.len(), kinds(&old) + kinds(&new));
            let mut seen: Vec<u32> = pairs.iter().flat_map(|(one, two)| [**one, **two]).chain(alone.into_iter().copied()).collect();
            let count = seen.len();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), count);
        }
    }
}
