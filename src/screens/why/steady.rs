//! The sentence under a steady load: a rule that is shown stays until looks clearly contradict it.

use crate::report::why::{COUNTING, Found, Sentence};

/// Looks in a row that find another rule, or that clearly contradict the shown one, before that goes.
const LOOKS: u8 = 2;
/// Looks in a row that find the same other rule before the shown one goes although it is not contradicted.
const PATIENCE: u8 = 5;

/// Looks after which a load that no two in a row agree on has the sentence of the last one: rates, or a rule near its border.
const MOST_LOOKS: u8 = 4;

/// Rules that need no second look.
const SAID_AT_ONCE: [&str; 2] = ["full", "idle"];
/// Rules of drives that do little: another one is of a load that began.
const LITTLE: [&str; 2] = ["idle", "little-io"];
/// The rule of rates without a limit.
const RATES: &str = "moving";

/// The sentence that is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Steady {
    shown: Option<Sentence>,
    /// Whether it was found while a test runs.
    with_test: bool,
    /// Looks in a row that contradict the shown rule.
    missed: u8,
    /// The rule of the last look, and in how many looks in a row.
    last: Option<(&'static str, u8)>,
    /// Looks of which no two in a row agree on a rule yet, at one load or at others that follow it.
    unsure: u8,
}

impl Steady {
    /// The rule on the screen.
    pub(super) fn rule(&self) -> Option<&'static str> {
        self.shown.as_ref().map(|shown| shown.rule)
    }

    /// Its words.
    pub(super) fn said(&self) -> &str {
        self.shown.as_ref().map_or("", |shown| &shown.text)
    }

    /// Programs that it names beside the one that it is about.
    pub(super) fn named(&self) -> &[String] {
        self.shown.as_ref().map_or(&[], |shown| &shown.named)
    }

    /// Takes what a look at the counters found.
    pub(super) fn take(&mut self, found: Found, with_test: bool, is_other_load: bool) {
        let Found { first, shown: held, measured, burst } = found;
        let in_row = match self.last {
            Some((rule, looks)) if rule == first.rule => looks.saturating_add(1),
            _ => 1,
        };
        self.last = Some((first.rule, in_row));
        let begins = self.rule().is_none_or(|rule| LITTLE.contains(&rule));
        let is_other_load = is_other_load || begins || self.with_test != with_test;
        // A test counts by itself; where nothing moves, nothing has a limit.
        let is_known = with_test || SAID_AT_ONCE.contains(&first.rule);
        let is_unsure = self.rule() == Some(COUNTING) || is_other_load && self.rule() != Some(first.rule);
        if is_unsure && !is_known {
            let looks = self.unsure.saturating_add(1);
            let agree = in_row >= LOOKS && first.rule != RATES;
            if !agree && looks < MOST_LOOKS {
                if looks == 1 && self.with_test == with_test && self.is_same_beside(burst.as_ref()) {
                    self.unsure = looks;
                    return;
                }
                *self = Self { shown: Some(measured), with_test, last: self.last, unsure: looks, missed: 0 };
                return;
            }
        }
        let shown = self.shown.as_ref().filter(|shown| !is_other_load && shown.rule != first.rule);
        let Some(shown) = shown else {
            // The same rule with figures of now, in words that are held as it is, or another load.
            let first = held.filter(|held| !is_other_load && held.rule == first.rule).unwrap_or(first);
            *self = Self { shown: Some(first), with_test, missed: 0, last: self.last, unsure: 0 };
            return;
        };
        let (goes, missed) = match (held, shown.is_fallback) {
            (Some(held), _) => {
                self.shown = Some(held);
                (in_row >= PATIENCE, 0)
            }
            (None, true) => (true, 0),
            (None, false) => {
                let missed = self.missed.saturating_add(1);
                (in_row >= LOOKS || missed >= LOOKS, missed)
            }
        };
        self.missed = missed;
        if goes {
            *self = Self { shown: Some(first), with_test, missed: 0, last: self.last, unsure: 0 };
        }
    }

    /// Whether it is of drives that do little.
    pub(super) fn is_of_little(&self) -> bool {
        self.rule().is_some_and(|rule| LITTLE.contains(&rule))
    }

    /// Takes a look without I/O, the `after`th behind a burst that the means still have. A pause of one look may be a load's own.
    pub(super) fn rest(&mut self, after: usize) {
        if after >= usize::from(LOOKS) {
            (self.unsure, self.last) = (0, None);
        }
    }

    /// Whether the shown sentence is of drives that do little, and a burst is all that is new: the same programs keep CPUs busy.
    fn is_same_beside(&self, burst: Option<&Sentence>) -> bool {
        let has_busy = |sentence: &Sentence| sentence.text.contains("busy");
        self.shown.as_ref().zip(burst).is_some_and(|(shown, burst)| {
            let is_same = shown.rule != "idle" || shown.named == burst.named;
            self.is_of_little() && has_busy(shown) == has_busy(burst) && is_same
        })
    }

    /// The last sentence under any load.
    pub(super) const fn last(&self) -> Option<&Sentence> {
        self.shown.as_ref()
    }

    /// What to show: `now` where no look was taken under this load, and where a place is full or no longer, as the Machine screen says
    /// at once.
    pub(super) fn of(&self, now: Sentence, with_test: bool) -> Sentence {
        match &self.shown {
            Some(shown) if now.rule != shown.rule && [now.rule, shown.rule].contains(&"full") => now,
            Some(shown) if self.with_test == with_test => shown.clone(),
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::why::Panel;

    /// A look that finds this rule; one in capitals is a fallback.
    fn found(rule: &'static str) -> Sentence {
        let is_fallback = rule == rule.to_uppercase();
        Sentence {
            rule,
            text: rule.to_owned(),
            panels: [Panel::Cpus, Panel::Threads],
            is_fallback,
            named: Vec::new(),
        }
    }

    fn look(rule: &'static str, held: bool, steady: &Steady) -> Found {
        let shown = steady.rule().filter(|rule| held && *rule != COUNTING).map(found);
        Found { first: found(rule), shown, measured: found(COUNTING), burst: None }
    }

    /// The rules that are shown after looks at loads that may be bursts, beside CPUs that are busy with this program.
    fn beside(program: &str, looks: &[&'static str]) -> Vec<&'static str> {
        let busy = |program: &str| Sentence {
            text: format!("Drives are idle; CPUs are busy, most of the time with {program}"),
            named: vec![program.to_owned()],
            ..found("idle")
        };
        let mut steady = Steady::default();
        steady.take(Found { first: busy("yes"), ..look("idle", false, &steady) }, false, true);
        let mut said = Vec::new();
        for rule in looks {
            let found = Found { burst: Some(busy(program)), ..look(rule, false, &steady) };
            let found = if *rule == "idle" { Found { first: busy(program), ..found } } else { found };
            steady.take(found, false, true);
            said.push(steady.rule().unwrap_or_default());
        }
        said
    }

    #[test]
    fn a_burst_of_one_look_changes_nothing_beside_the_same_busy_cpus() {
        assert_eq!(beside("yes", &[RATES, "idle", "writeback", "idle"]), ["idle"; 4]);
        assert_eq!(beside("yes", &["drives", "drives"]), ["idle", "drives"], "a load that goes on");
        assert_eq!(beside("yes", &[RATES, "turns", "turns"]), ["idle", COUNTING, "turns"]);
        assert_eq!(beside("yes", &[RATES; 4]), ["idle", COUNTING, COUNTING, RATES]);
        assert_eq!(beside("gzip", &["drives", "drives"]), [COUNTING, "drives"], "another program is busy");
        let mut steady = Steady::default();
        steady.take(look("idle", false, &steady), false, true);
        steady.take(look("drives", false, &steady), false, true);
        assert_eq!(steady.rule(), Some(COUNTING), "too much for a burst");
    }

    /// What is shown after each of the looks, a letter a rule, where the shown rule still holds or not.
    fn shown(looks: &[&'static str], held: bool) -> String {
        let mut steady = Steady::default();
        // Two looks agree on the first.
        for rule in [looks[0]; 2] {
            steady.take(look(rule, held, &steady), false, false);
        }
        looks
            .iter()
            .map(|rule| {
                steady.take(look(rule, held, &steady), false, false);
                steady.of(found("?"), false).text
            })
            .collect()
    }

    #[test]
    fn a_load_has_a_limit_once_two_looks_agree() {
        let after = |looks: &[&'static str]| {
            let mut steady = Steady::default();
            let mut said = Vec::new();
            for rule in looks {
                steady.take(look(rule, false, &steady), false, false);
                said.push(steady.rule().unwrap_or_default());
            }
            said
        };
        assert_eq!(after(&["writeback", "turns", "turns"]), [COUNTING, COUNTING, "turns"]);
        assert_eq!(after(&["drives", "drives"]), [COUNTING, "drives"]);
        assert_eq!(after(&[RATES, RATES, "drives", "drives"]), [COUNTING, COUNTING, COUNTING, "drives"]);
        assert_eq!(after(&[RATES; 4])[2..], [COUNTING, RATES], "nothing else is found");
        assert_eq!(after(&["idle", "little-io", "drives"]), ["idle", COUNTING, COUNTING], "a load begins");
        assert_eq!(after(&["full"]), ["full"], "as the Machine screen says at once");
        let mut steady = Steady::default();
        let mut each_other = |rule| {
            steady.take(look(rule, false, &steady), false, true);
            steady.rule()
        };
        let said = ["a", "b", "c", "d"].map(&mut each_other);
        assert_eq!(said[2..], [Some(COUNTING), Some("d")], "each look is another load");
    }

    #[test]
    fn a_rule_goes_when_two_looks_contradict_it() {
        assert_eq!(shown(&["a", "b", "a", "b", "a"], false), "aaaaa");
        assert_eq!(shown(&["a", "b", "b", "b", "a"], false), "aabbb");
        assert_eq!(shown(&["a", "b", "c", "b", "c"], false), "aaccc", "a rule that no longer fires goes");
    }

    #[test]
    fn a_fallback_goes_at_once() {
        assert_eq!(shown(&["A", "b", "A", "b", "b"], false), "Abbbb");
    }

    #[test]
    fn a_rule_that_holds_stays_until_another_one_is_found_again_and_again() {
        assert_eq!(shown(&["a", "b", "c", "b", "c", "b", "b"], true), "aaaaaaa");
        assert_eq!(shown(&["a", "b", "b", "b", "b", "b", "a"], true), "aaaaabb");
    }

    #[test]
    fn another_load_has_its_sentence_at_once() {
        let mut steady = Steady::default();
        for _ in 0..2 {
            steady.take(look("a", false, &steady), false, false);
        }
        assert_eq!(steady.of(found("b"), true).text, "b");
        steady.take(look("c", false, &steady), true, false);
        assert_eq!(steady.of(found("b"), true).text, "c");
        steady.take(look("d", true, &steady), true, true);
        assert_eq!(steady.of(found("b"), true).text, "d", "the load ended or another began");
    }
}
