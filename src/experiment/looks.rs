//! Looks: the rounds after which verdicts are formed, and the level of the intervals there.
//!
//! Repeated confidence intervals (Jennison and Turnbull 1989): an experiment that is looked at several times and ends when
//! every comparison is decided would find differences between equal arms too often with the level of a single look. Each
//! look therefore takes a share of the error: 0.006 of the 0.05, divided by the number of comparisons. That several looks
//! at growing data, which agree with each other, together stay below 0.05 is shown by `cargo bench --bench verdicts`.

/// Rounds of the looks; after an extension each further one is half as many again.
const ROUNDS: [u32; 8] = [8, 12, 18, 27, 41, 62, 93, 140];

/// A look's share of the error of all: 0.006 of 0.05.
const SHARE: f64 = 0.12;

/// The level of an interval at a look: of `confidence` for the experiment as a whole, with so many comparisons, after so
/// many extensions, each of which halves the error.
pub(crate) fn level(confidence: f64, comparisons: usize, extensions: u32) -> f64 {
    let error = SHARE * (1.0 - confidence) / comparisons.max(1) as f64;
    1.0 - error / 2f64.powi(extensions.min(60).cast_signed())
}

/// Rounds of the looks of an experiment without an extension, after at least so many.
pub(crate) fn all(least: u32) -> impl Iterator<Item = u32> {
    ROUNDS.into_iter().filter(move |look| *look >= least)
}

/// The first look after so many rounds; `None` after the last one of an experiment without an extension.
pub(crate) fn next(rounds: u32, extensions: u32) -> Option<u32> {
    let listed = ROUNDS.into_iter().find(|look| *look > rounds);
    let mut further = ROUNDS[ROUNDS.len() - 1];
    listed.or_else(|| {
        (extensions > 0).then(|| {
            while further <= rounds {
                further += further / 2;
            }
            further
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_far_apart_and_end_unless_extended() {
        assert_eq!([0, 7, 8, 61, 139].map(|rounds| next(rounds, 0)), [8, 8, 12, 62, 140].map(Some));
        assert_eq!(next(140, 0), None);
        assert_eq!(all(12).take(3).collect::<Vec<u32>>(), [12, 18, 27]);
        assert_eq!([93, 140, 210, 300].map(|rounds| next(rounds, 1)), [140, 210, 315, 315].map(Some));
    }

    #[test]
    fn the_error_is_shared_by_comparisons_and_halved_by_extensions() {
        for (comparisons, extensions, error) in
            [(1, 0, 0.006), (4, 0, 0.0015), (1, 1, 0.003), (2, 2, 0.000_75)]
        {
            assert!((1.0 - level(0.95, comparisons, extensions) - error).abs() < 1e-12, "{comparisons}");
        }
    }
}
