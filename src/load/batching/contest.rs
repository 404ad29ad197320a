//! Which of several ways is best, from scores that vary: turns, and who drops out.
//!
//! Here: the statistics. Not here: what a score is, or which ways there are.
//!
//! The way in use has every second turn, and one of several windows, so that looking for a better one costs next to nothing
//! where there is none. Every other way is compared with the turns of the one in use before and after its own: what befell
//! all of them is in neither. All windows are alike: the mean of logarithms over short ones is not that over long ones.

use super::Way;

/// Ways that take turns; one of them is in use, and the others must beat it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contest {
    holder: Way,
    challengers: Vec<Challenger>,
    /// Which of them is next.
    next: usize,
    /// The scores of the way in use in its turn, so far.
    holding: Vec<f64>,
    /// Its mean score in the turn before, and the score of the challenger after that.
    held: Option<f64>,
    tried: Option<f64>,
    out: Vec<Way>,
}

#[derive(Debug, Clone, PartialEq)]
struct Challenger {
    way: Way,
    /// By how much it was ahead of the way in use, each time.
    leads: Vec<f64>,
}

/// Windows in a turn of the way in use.
const HELD: usize = 5;
/// Rounds before anybody drops out, before anybody wins, and after which it is over.
const LEAST_ROUNDS: usize = 4;
const FAIR_ROUNDS: usize = 8;
const MOST_ROUNDS: usize = 24;
/// Standard errors that count as a lead; fewer at the end, which is one look instead of many, and for dropping out, which a
/// later contest mends.
const CERTAIN: f64 = 3.0;
const LIKELY: f64 = 2.0;
/// Natural logarithm of a gain that is worth a change.
const WORTH: f64 = 0.003;

impl Contest {
    /// Between the way in use and `others`.
    pub(super) fn new(holder: Way, others: impl IntoIterator<Item = Way>) -> Self {
        let challengers = others.into_iter().map(|way| Challenger { way, leads: Vec::new() }).collect();
        Self { holder, challengers, next: 0, holding: Vec::new(), held: None, tried: None, out: Vec::new() }
    }

    /// Whose turn it is; `None` for the way in use.
    fn challenger(&self) -> Option<&Challenger> {
        let waits_for_one = self.held.is_some() && self.tried.is_none();
        self.challengers.get(self.next).filter(|_| waits_for_one)
    }

    /// Whose turn it is.
    pub(super) fn turn(&self) -> Way {
        self.challenger().map_or(self.holder, |challenger| challenger.way)
    }

    /// All that took part.
    pub(super) fn ways(&self) -> Vec<Way> {
        let challengers = self.challengers.iter().map(|challenger| challenger.way);
        challengers.chain([self.holder]).chain(self.out.iter().copied()).collect()
    }

    /// The score of the one whose turn it was, a natural logarithm, the more the better. The winner, once there is one.
    pub(super) fn score(&mut self, score: f64) -> Option<Way> {
        if self.challenger().is_some() {
            self.tried = Some(score);
            return None;
        }
        self.holding.push(score);
        if self.holding.len() < HELD {
            return None;
        }
        let held = self.holding.drain(..).sum::<f64>() / HELD as f64;
        let before = self.held.replace(held);
        if let (Some(before), Some(tried)) = (before, self.tried.take()) {
            self.challengers[self.next].leads.push(tried - f64::midpoint(before, held));
            self.next += 1;
        }
        if self.next < self.challengers.len() {
            return None;
        }
        self.next = 0;
        self.decide()
    }

    /// After a round: who drops out, and whether that leaves a winner.
    fn decide(&mut self) -> Option<Way> {
        let rounds = self.challengers.first().map_or(MOST_ROUNDS, |challenger| challenger.leads.len());
        if rounds < LEAST_ROUNDS {
            return None;
        }
        let enough = if rounds < MOST_ROUNDS { CERTAIN } else { LIKELY };
        let leads = |challenger: &Challenger| {
            let (lead, error) = lead(&challenger.leads);
            (rounds >= FAIR_ROUNDS && lead > WORTH.max(enough * error)).then_some(lead)
        };
        let best =
            self.challengers.iter().filter_map(|challenger| Some((leads(challenger)?, challenger.way)));
        if let Some((_, winner)) = best.max_by(|one, other| one.0.total_cmp(&other.0)) {
            return Some(winner);
        }
        let stays = |challenger: &Challenger| {
            let (lead, error) = lead(&challenger.leads);
            lead >= -LIKELY * error
        };
        self.out.extend(self.challengers.iter().filter(|one| !stays(one)).map(|one| one.way));
        self.challengers.retain(stays);
        (self.challengers.is_empty() || rounds >= MOST_ROUNDS).then_some(self.holder)
    }
}

/// The mean of leads, and its standard error.
fn lead(leads: &[f64]) -> (f64, f64) {
    let count = leads.len().max(1) as f64;
    let mean = leads.iter().sum::<f64>() / count;
    let squares: f64 = leads.iter().map(|lead| (lead - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::blocks::Wyrand;

    const HOLDER: Way = Way { submit: 1, wait: 1 };

    fn way(wait: usize) -> Way {
        Way { submit: 1, wait }
    }

    /// The winner, and after how many windows, where `ahead` says by how much a way is better; every window varies by up to
    /// 5 %, and all of them change for the worse by 1 in 1000 from each to the next.
    fn winner(others: &[Way], ahead: impl Fn(Way) -> f64) -> (Way, usize) {
        let mut contest = Contest::new(HOLDER, others.to_vec());
        let mut random = Wyrand::new(1, 1);
        for window in 1..10_000 {
            let vary = random.below(1001) as f64 / 10_000.0 - 0.05;
            let score = ahead(contest.turn()) + vary - window as f64 / 1000.0;
            if let Some(winner) = contest.score(score) {
                return (winner, window);
            }
        }
        panic!("nobody wins");
    }

    #[test]
    fn the_way_in_use_has_whole_turns_between_those_of_the_others() {
        let mut contest = Contest::new(HOLDER, [way(0), way(2)]);
        let turns: Vec<usize> = (0..18)
            .map(|_| {
                let turn = contest.turn().wait;
                contest.score(0.0);
                turn
            })
            .collect();
        assert_eq!(turns, [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn a_better_way_wins_the_best_of_two_and_none_that_is_alike() {
        let ahead = |by: [f64; 3]| move |way: Way| by[way.wait];
        assert_eq!(winner(&[way(0), way(2)], ahead([0.1, 0.0, 0.2])).0, way(2));
        assert_eq!(winner(&[way(0), way(2)], ahead([-0.1, 0.0, 0.1])).0, way(2));
        assert_eq!(winner(&[way(0), way(2)], ahead([0.0, 0.0, 0.0])).0, HOLDER);
        assert_eq!(winner(&[], |_| 0.0).0, HOLDER);
    }

    #[test]
    fn who_is_clearly_worse_drops_out_early() {
        let (winner, windows) = winner(&[way(0), way(2)], |way| if way == HOLDER { 0.0 } else { -0.2 });
        assert_eq!((winner, windows), (HOLDER, HELD + LEAST_ROUNDS * 2 * (HELD + 1)));
    }
}
