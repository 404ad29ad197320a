//! [`Refusal`]: the first file of a kind that may not be read, remembered so that no look makes its words anew.

use crate::model::Problem;

/// The first refusal of a kind of file, kept until a whole round has none.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    problem: Option<Problem>,
    is_of_this_round: bool,
}

impl Refusal {
    pub(super) fn note(&mut self, problem: impl FnOnce() -> Problem) {
        self.again(true);
        self.problem.get_or_insert_with(problem);
    }

    /// Whether a file was refused in this round or the one before.
    pub(super) fn is_known(&self) -> bool {
        self.problem.is_some()
    }

    /// The known file is still refused.
    pub(super) fn again(&mut self, is_refused: bool) {
        self.is_of_this_round |= is_refused;
    }

    pub(super) fn end_round(&mut self) {
        if !std::mem::take(&mut self.is_of_this_round) {
            self.problem = None;
        }
    }
}

/// Writes what is refused over a list, if it is not there already.
pub(super) fn list(refusals: &[&Refusal], into: &mut Vec<Problem>) {
    let refused = || refusals.iter().filter_map(|refusal| refusal.problem.as_ref());
    if refused().ne(into.iter()) {
        into.clear();
        into.extend(refused().cloned());
    }
}
