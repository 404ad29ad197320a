//! The sentence under a steady load: what one look of a second finds changes nothing until the next look finds it too.

use crate::report::why::Sentence;

/// Looks in a row that find another rule, or miss the shown one, before the shown one goes.
const LOOKS: u8 = 2;

/// The sentence that is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Steady {
    shown: Option<Sentence>,
    /// Whether it was found while a test runs.
    with_test: bool,
    /// Looks since the shown rule fired.
    missed: u8,
    /// The rule of the last look, and in how many looks in a row.
    last: Option<(&'static str, u8)>,
}

impl Steady {
    /// Takes what a look at the counters found.
    pub(super) fn take(&mut self, found: Sentence, with_test: bool) {
        let in_row = match self.last {
            Some((rule, looks)) if rule == found.rule => looks.saturating_add(1),
            _ => 1,
        };
        self.last = Some((found.rule, in_row));
        let is_same = self.shown.as_ref().is_some_and(|shown| shown.rule == found.rule);
        self.missed = if is_same { 0 } else { self.missed.saturating_add(1) };
        let is_other_load = self.shown.is_none() || self.with_test != with_test;
        if is_same || is_other_load || in_row >= LOOKS || self.missed >= LOOKS {
            *self = Self { shown: Some(found), with_test, missed: 0, last: self.last };
        }
    }

    /// The last sentence under any load.
    pub(super) const fn last(&self) -> Option<&Sentence> {
        self.shown.as_ref()
    }

    /// What to show: `now` where no look was taken under this load.
    pub(super) fn of(&self, now: Sentence, with_test: bool) -> Sentence {
        match &self.shown {
            Some(shown) if self.with_test == with_test => shown.clone(),
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::why::Panel;

    fn found(rule: &'static str) -> Sentence {
        Sentence { rule, text: rule.to_owned(), panels: [Panel::Cpus, Panel::Threads] }
    }

    /// What is shown after each of the looks, a letter a rule.
    fn shown(looks: &[&'static str]) -> String {
        let mut steady = Steady::default();
        looks
            .iter()
            .map(|rule| {
                steady.take(found(rule), false);
                steady.of(found("?"), false).text
            })
            .collect()
    }

    #[test]
    fn one_other_look_changes_nothing_and_two_do() {
        assert_eq!(shown(&["a", "b", "a", "b", "a"]), "aaaaa");
        assert_eq!(shown(&["a", "b", "b", "b", "a"]), "aabbb");
        assert_eq!(shown(&["a", "b", "c", "b", "c"]), "aaccc", "a rule that no longer fires goes");
    }

    #[test]
    fn another_load_has_its_sentence_at_once() {
        let mut steady = Steady::default();
        steady.take(found("a"), false);
        assert_eq!(steady.of(found("b"), true).text, "b");
        steady.take(found("c"), true);
        assert_eq!(steady.of(found("b"), true).text, "c");
    }
}
