//! Noise that is the same every time: a function of seed, target and slice of time.

/// Most by which a slice's rate may lie below the model's limit, as a share.
const DEPTH: f64 = 0.004;
/// Likewise of a whole run: no machine repeats a result exactly.
const RUN: f64 = 0.004;

/// One target's noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    seed: u64,
    run: f64,
}

impl Noise {
    pub(crate) fn new(seed: u64, target: u64) -> Self {
        let seed = mix(seed ^ mix(target));
        Self { seed, run: 1.0 - RUN * unit(mix(!seed)) }
    }

    /// The factor on the rate in that slice, at most 1.
    pub(crate) fn factor(self, slice: u64) -> f64 {
        self.run * (1.0 - DEPTH * unit(mix(self.seed ^ slice)))
    }
}

/// 53 bits as a share of [0, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood 2014).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_repeats_and_never_adds() {
        let (one, same, other) = (Noise::new(1, 0), Noise::new(1, 0), Noise::new(1, 1));
        let factors = |noise: Noise| (0..200).map(|slice| noise.factor(slice)).collect::<Vec<_>>();
        assert_eq!(factors(one), factors(same));
        assert_ne!(factors(one), factors(other));
        assert!(factors(one).iter().all(|factor| (1.0 - DEPTH - RUN..=1.0).contains(factor)));
    }
}
