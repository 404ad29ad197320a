//! Seeded random numbers: the seed of each run, and orders of arms in which each comes equally often at each place.

/// `SplitMix64` (Steele, Lea, Flood 2014): the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
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

    /// A uniform number between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        ((self.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// Orders of arms, round by round: in as many rounds as there are arms each arm is once at each place (a Latin square:
/// the rotations of a random order, in random order).
#[derive(Debug, Clone, Default)]
pub(crate) struct Orders {
    /// The next rounds, the next one last.
    next: Vec<Vec<usize>>,
}

impl Orders {
    /// The order of the next round.
    pub(crate) fn take(&mut self, random: &mut Random, arms: &[usize]) -> Vec<usize> {
        if self.next.is_empty() {
            let order: Vec<usize> = random.order(arms.len()).into_iter().map(|at| arms[at]).collect();
            self.next = random
                .order(arms.len())
                .into_iter()
                .map(|by| {
                    let mut turned = order.clone();
                    turned.rotate_left(by);
                    turned
                })
                .collect();
        }
        self.next.pop().unwrap_or_default()
    }

    /// Takes back the order of a round that does not count.
    pub(crate) fn give_back(&mut self, order: Vec<usize>) {
        self.next.push(order);
    }

    /// Forgets the rounds to come: the arms changed.
    pub(crate) fn clear(&mut self) {
        self.next.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_arm_comes_equally_often_at_each_place() {
        let (mut random, mut orders) = (Random::new(3), Orders::default());
        let arms = [0, 2, 5, 7, 8];
        let mut places: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for round in 0..100 {
            let order = orders.take(&mut random, &arms);
            if round == 12 {
                orders.give_back(order);
                continue;
            }
            for (place, arm) in order.into_iter().enumerate() {
                *places.entry((place, arm)).or_default() += 1;
            }
        }
        // 99 rounds: 20 of each but in the order that one more round would have.
        assert_eq!(places.len(), 25);
        assert!(places.values().all(|count| (19..=20).contains(count)), "{places:?}");
    }

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
