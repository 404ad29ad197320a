//! Seeded random numbers: the order of arms within a round, and the seed of each run.

/// `SplitMix64` (Steele, Lea, Flood 2014): the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number of `0..count`; 0 if `count` is 0.
    fn below(&mut self, count: usize) -> usize {
        let wide = u128::from(self.number()) * count as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A uniformly random permutation of `0..count` (Fisher and Yates).
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// A standard normal number (Box and Muller).
    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        let unit = |random: &mut Self| ((random.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let (radius, angle) = (unit(self), unit(self));
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_order_comes_as_often_as_any_other() {
        let mut random = Random::new(1);
        let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for _ in 0..6000 {
            *seen.entry(random.order(3)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
        assert_eq!(Random::new(5).order(9), Random::new(5).order(9));
        assert!(random.order(0).is_empty());
    }
}
