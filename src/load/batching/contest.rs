//! Which of several ways is best, from scores that vary: rounds, and who drops out.
//!
//! Here: the statistics. Not here: what a score is, or which ways there are.

use super::Way;

/// Ways that take turns; one of them is in use, and the others must beat it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contest {
    holder: Way,
    entrants: Vec<Entrant>,
    /// Scores of the present round, in the order of its turns.
    round: Vec<f64>,
    rounds: usize,
    out: Vec<Way>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entrant {
    way: Way,
    /// One for every round.
    scores: Vec<f64>,
}

/// Rounds before anybody drops out, and rounds after which there is a winner.
const LEAST_ROUNDS: usize = 6;
const MOST_ROUNDS: usize = 32;
/// Standard errors of a difference that count as one; fewer at the end, which is one look instead of many.
const CERTAIN: f64 = 3.0;
const LIKELY: f64 = 2.0;
/// Natural logarithm of a gain that is worth a change.
const WORTH: f64 = 0.003;

impl Contest {
    /// Between the way in use and `others`.
    pub(super) fn new(holder: Way, others: impl IntoIterator<Item = Way>) -> Self {
        let entrants =
            [holder].into_iter().chain(others).map(|way| Entrant { way, scores: Vec::new() }).collect();
        Self { holder, entrants, round: Vec::new(), rounds: 0, out: Vec::new() }
    }

    /// Whose turn it is. Every round begins with another one, so that none always follows the same.
    pub(super) fn turn(&self) -> Way {
        self.entrants.get(self.place(self.round.len())).map_or(self.holder, |entrant| entrant.way)
    }

    /// All that took part.
    pub(super) fn ways(&self) -> Vec<Way> {
        self.entrants.iter().map(|entrant| entrant.way).chain(self.out.iter().copied()).collect()
    }

    /// The score of the one whose turn it was, a natural logarithm, the more the better. The winner, once there is one.
    pub(super) fn score(&mut self, score: f64) -> Option<Way> {
        self.round.push(score);
        if self.round.len() < self.entrants.len() {
            return None;
        }
        for turn in 0..self.round.len() {
            let place = self.place(turn);
            self.entrants[place].scores.push(self.round[turn]);
        }
        self.round.clear();
        self.rounds += 1;
        let leader = self.leader().clone();
        if self.rounds >= LEAST_ROUNDS {
            let stays = |entrant: &Entrant| {
                let (lead, error) = lead(&leader.scores, &entrant.scores);
                lead <= CERTAIN * error
            };
            self.out
                .extend(self.entrants.iter().filter(|entrant| !stays(entrant)).map(|entrant| entrant.way));
            self.entrants.retain(stays);
        }
        if self.entrants.len() > 1 && self.rounds < MOST_ROUNDS {
            return None;
        }
        let Some(holder) = self.entrants.iter().find(|entrant| entrant.way == self.holder) else {
            return Some(leader.way);
        };
        let (gain, error) = lead(&leader.scores, &holder.scores);
        Some(if gain > WORTH.max(LIKELY * error) { leader.way } else { self.holder })
    }

    fn place(&self, turn: usize) -> usize {
        (turn + self.rounds) % self.entrants.len().max(1)
    }

    fn leader(&self) -> &Entrant {
        let total = |entrant: &Entrant| entrant.scores.iter().sum::<f64>();
        self.entrants[1..].iter().fold(&self.entrants[0], |best, entrant| {
            if total(entrant) > total(best) { entrant } else { best }
        })
    }
}

/// By how much the one is ahead of the other on average, and the standard error of that. Scores of one round belong
/// together: what befell all of them is in neither.
fn lead(one: &[f64], other: &[f64]) -> (f64, f64) {
    let count = one.len().min(other.len()).max(1) as f64;
    let differences = || one.iter().zip(other).map(|(one, other)| one - other);
    let mean = differences().sum::<f64>() / count;
    let squares: f64 = differences().map(|difference| (difference - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}
