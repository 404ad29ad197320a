//! Which of several ways is best, from scores that vary: turns, and who drops out.
//!
//! Here: the statistics. Not here: what a score is, or which ways there are.
//!
//! The way in use has every second turn, and longer ones, so that looking for a better one costs next to nothing where there
//! is none. Every other way is compared with the turns of the one in use before and after its own: what befell all of them
//! is in neither.

use super::Way;

/// Ways that take turns; one of them is in use, and the others must beat it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contest {
    holder: Way,
    challengers: Vec<Challenger>,
    /// Which of them is next.
    next: usize,
    /// The last scores of the way in use, and of the challenger after it.
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

/// Rounds before anybody drops out or wins, and rounds after which it is over.
const LEAST_ROUNDS: usize = 8;
const MOST_ROUNDS: usize = 32;
/// Standard errors that count as a lead; fewer at the end, which is one look instead of many.
const CERTAIN: f64 = 3.0;
const LIKELY: f64 = 2.0;
/// Natural logarithm of a gain that is worth a change.
const WORTH: f64 = 0.003;

impl Contest {
    /// Between the way in use and `others`.
    pub(super) fn new(holder: Way, others: impl IntoIterator<Item = Way>) -> Self {
        let challengers = others.into_iter().map(|way| Challenger { way, leads: Vec::new() }).collect();
        Self { holder, challengers, next: 0, held: None, tried: None, out: Vec::new() }
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

    /// Whether it is that of the way in use.
    pub(super) fn is_holders_turn(&self) -> bool {
        self.challenger().is_none()
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
        let before = self.held.replace(score);
        if let (Some(before), Some(tried)) = (before, self.tried.take()) {
            self.challengers[self.next].leads.push(tried - f64::midpoint(before, score));
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
            (lead > WORTH.max(enough * error)).then_some(lead)
        };
        let best =
            self.challengers.iter().filter_map(|challenger| Some((leads(challenger)?, challenger.way)));
        if let Some((_, winner)) = best.max_by(|one, other| one.0.total_cmp(&other.0)) {
            return Some(winner);
        }
        let stays = |challenger: &Challenger| {
            let (lead, error) = lead(&challenger.leads);
            lead >= -CERTAIN * error
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
