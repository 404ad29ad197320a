//! Counts by CPU column of two samples whose columns may differ.

use std::borrow::Cow;

use super::Counters;

/// The kernel counts interrupts of a CPU in 32 bits.
const RANGE: u64 = 1 << 32;

/// More interrupts than a CPU can take in a second: a decrease that needed more of them to be a wrap is a reset.
const MOST: f64 = 10e6;

/// The CPUs of both samples with their columns in the earlier and the later one.
pub(super) struct Columns {
    of_both: Vec<(u32, usize, usize)>,
    seconds: f64,
}

impl Columns {
    pub(super) fn of(before: &Counters, after: &Counters, seconds: f64) -> Self {
        let (then, now) = (numbers(before), numbers(after));
        let of_both = if then == now {
            now.iter().enumerate().map(|(at, cpu)| (*cpu, at, at)).collect()
        } else {
            let column =
                |(at, cpu): (usize, &u32)| Some((*cpu, then.iter().position(|known| known == cpu)?, at));
            now.iter().enumerate().filter_map(column).collect()
        };
        Self { of_both, seconds }
    }

    /// The rate of each CPU; `None` if a count was reset, or if one sample lacks the row.
    pub(super) fn rates(&self, then: &[u64], now: &[u64]) -> Option<impl Iterator<Item = (u32, f64)>> {
        let grown = |(_, before, after): &(u32, usize, usize)| -> Option<f64> {
            grown(*then.get(*before)?, *now.get(*after)?, self.seconds)
        };
        let is_known = !self.of_both.is_empty() && self.of_both.iter().all(|column| grown(column).is_some());
        let rate = move |column: &(u32, usize, usize)| Some((column.0, grown(column)? / self.seconds));
        is_known.then(|| self.of_both.iter().filter_map(rate))
    }
}

/// The CPU numbers of a sample's columns: without a header those of the first CPUs.
fn numbers(counters: &Counters) -> Cow<'_, [u32]> {
    if counters.columns.is_empty() {
        (0_u32..).zip(&counters.interrupts).map(|(cpu, _)| cpu).collect()
    } else {
        Cow::Borrowed(&counters.columns)
    }
}

/// Growth of a count, or of a sum of counts, that wraps at 32 bits.
fn grown(before: u64, after: u64, seconds: f64) -> Option<f64> {
    let Some(fallen) = before.checked_sub(after).filter(|fallen| *fallen > 0) else {
        return Some((after - before) as f64);
    };
    let wrapped = RANGE.checked_sub(fallen)? as f64;
    (wrapped <= MOST * seconds).then_some(wrapped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_count_that_wraps_goes_on_and_one_that_is_reset_ends() {
        assert_eq!(grown(RANGE - 10, 20, 1.0), Some(30.0));
        assert_eq!(
            grown(5 * RANGE - 10, 4 * RANGE + 20, 1.0),
            Some(30.0),
            "a sum with one count that wrapped"
        );
        assert_eq!(grown(3_000_000_000, 20, 1.0), None, "the device was replaced");
        assert_eq!(grown(500, 20, 1.0), None);
    }

    proptest! {
        #[test]
        fn counts_of_32_bits_grow_by_what_was_counted(start in any::<u32>(), step in 0_u32..10_000_000) {
            let (before, after) = (u64::from(start), u64::from(start.wrapping_add(step)));
            prop_assert_eq!(grown(before, after, 1.0), Some(f64::from(step)));
        }
    }
}
