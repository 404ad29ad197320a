//! [`Knee`]: of arms that are steps of one growing value, the one beyond which a larger value gains less than the margin.

use super::{
    account::Account,
    statistics::{Interval, log_ratios},
    verdict::percent,
};

/// The answer of a ladder of arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Knee {
    /// Every arm after this one gains less than the margin over it.
    At(usize),
    /// The last arm gains this share over the one before it, the margin or more.
    Beyond { last: usize, before: usize, gain: f64 },
    /// The interval of the last arm against the one before it reaches beyond the margin.
    Unknown { last: usize, before: usize },
}

impl Account {
    /// The knee of a finished experiment; `None` if its arms are no steps of one value, or its last round is no look.
    ///
    /// Arms are tried from the last but one down to the first that fails, each against all after it: such a fixed order,
    /// in which every comparison must hold, needs no correction for the number of comparisons (Berger 1982).
    pub(crate) fn knee(&self) -> Option<Knee> {
        let is_look = self.looks.last().is_some_and(|look| look.round == self.rounds);
        if self.plan.experiment.ladder.is_empty() || !self.has_ended() || !is_look || self.is_disturbed() {
            return None;
        }
        let steps: Vec<usize> =
            (0..self.arms.len()).filter(|arm| self.arms[*arm].left_out.is_none()).collect();
        let [.., before, last] = *steps.as_slice() else { return None };
        let margin = self.plan.terms.margin.ln_1p();
        let is_flat_after = |at: &usize| {
            let mut later = steps[at + 1..].iter().map(|arm| self.gain(*arm, steps[*at]));
            later.all(|gain| gain.is_some_and(|gain| gain.middle + gain.half < margin))
        };
        let knee = (0..steps.len() - 1).rev().take_while(is_flat_after).last();
        let gain = self.gain(last, before)?;
        Some(match knee {
            Some(at) => Knee::At(steps[at]),
            None if gain.middle >= margin && gain.middle > gain.half => {
                Knee::Beyond { last, before, gain: gain.middle.exp_m1() }
            }
            None => Knee::Unknown { last, before },
        })
    }

    /// The logarithm of what an arm gains over another one.
    fn gain(&self, arm: usize, over: usize) -> Option<Interval> {
        let values = |arm: usize| self.arms[arm].runs.iter().map(|run| run.value).collect::<Vec<_>>();
        let logs = if self.plan.metric.more_is_better() {
            log_ratios(&values(arm), &values(over))
        } else {
            log_ratios(&values(over), &values(arm))
        };
        Interval::of(&logs, self.level())
    }

    /// The knee in a sentence.
    pub(crate) fn knee_sentence(&self) -> Option<String> {
        let label = |arm: usize| self.plan.arms[arm].label.as_str();
        let margin = percent(self.plan.terms.margin);
        Some(match self.knee()? {
            Knee::At(arm) => {
                format!(
                    "Beyond {} a larger {} gains less than {margin}.",
                    label(arm),
                    self.plan.experiment.ladder
                )
            }
            Knee::Beyond { last, before, gain } => {
                format!(
                    "The largest {} tried still gains: {} has {} over {}.",
                    self.plan.experiment.ladder,
                    label(last),
                    percent(gain),
                    label(before)
                )
            }
            Knee::Unknown { last, before } => format!(
                "The smallest sufficient {} is not known: the interval of {} against {} reaches beyond {margin}.",
                self.plan.experiment.ladder,
                label(last),
                label(before)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        experiment::{
            account::{Ending, Phase},
            plan::{Arm, Plan, Terms, Wishes},
            shuffle::Random,
            table,
        },
        model::{
            Metric, Workload,
            experiment::{Look, Run},
        },
    };

    /// A finished experiment whose arms have these figures, each run with this spread.
    fn account(figures: &[f64], spread: f64, metric: Metric, seed: u64) -> Account {
        let arms = (0..figures.len()).map(|index| Arm {
            against: if index == 0 { Vec::new() } else { vec![(0, 1.0)] },
            ..Arm::new(format!("step {index}"), Workload::default())
        });
        let mut account = Account::new(Plan {
            experiment: table::find("depth").unwrap(),
            metric,
            arms: arms.collect(),
            terms: Terms::default(),
            simulated: true,
            targets: Vec::new(),
            wishes: Wishes::default(),
        });
        let mut random = Random::new(seed);
        for (arm, figure) in account.arms.iter_mut().zip(figures) {
            let run = |round| {
                let value = figure * (spread * random.normal()).exp();
                let (cpu_ns_per_io, latency_p99) = (None, None);
                Run { round, value, iops: value, bytes_per_second: value, cpu_ns_per_io, latency_p99 }
            };
            arm.runs = (1..=8).map(run).collect();
        }
        (account.rounds, account.phase, account.ending) = (8, Phase::Ended, Some(Ending::Decided));
        account.looks = vec![Look { round: 8, level: account.level() }];
        account
    }

    #[test]
    fn the_knee_is_the_first_arm_after_which_nothing_gains_the_margin() {
        let knee = |figures: &[f64]| account(figures, 0.001, Metric::Iops, 1).knee();
        assert_eq!(knee(&[1.0, 4.0, 16.0, 22.0, 22.1, 22.0]), Some(Knee::At(3)));
        assert_eq!(knee(&[1.0, 1.001, 1.0]), Some(Knee::At(0)));
        assert_eq!(knee(&[1.0, 2.0, 1.9]), Some(Knee::At(1)), "a loss is no gain");
        // Each step gains less than the margin, both together more.
        assert_eq!(knee(&[1.0, 1.014, 1.028]), Some(Knee::At(1)));
        assert!(
            matches!(knee(&[1.0, 2.0, 3.0]), Some(Knee::Beyond { last: 2, before: 1, gain }) if (gain - 0.5).abs() < 0.01)
        );
        let beyond = account(&[1.0, 2.0, 3.0], 0.0, Metric::Iops, 1);
        assert_eq!(
            beyond.knee_sentence().unwrap(),
            "The largest queue depth tried still gains: step 2 has 50 % over step 1."
        );
        let noisy = account(&[1.0, 2.0, 2.0], 0.1, Metric::Iops, 3);
        assert_eq!(noisy.knee(), Some(Knee::Unknown { last: 2, before: 1 }));
        assert_eq!(
            noisy.knee_sentence().unwrap(),
            "The smallest sufficient queue depth is not known: the interval of step 2 against step 1 reaches beyond 2.0 %."
        );
    }

    #[test]
    fn a_gain_of_latency_is_a_lower_one() {
        let latency = account(&[9.0, 3.0, 3.0], 0.001, Metric::LatencyP99, 1);
        assert_eq!(latency.knee(), Some(Knee::At(1)));
        assert_eq!(
            latency.knee_sentence().unwrap(),
            "Beyond step 1 a larger queue depth gains less than 2.0 %."
        );
    }

    #[test]
    fn only_a_look_at_a_ladder_has_a_knee_and_arms_left_out_are_no_steps() {
        let whole = account(&[1.0, 2.0, 2.0, 9.0], 0.001, Metric::Iops, 1);
        let changed = |change: &dyn Fn(&mut Account)| {
            let mut account = whole.clone();
            change(&mut account);
            account.knee()
        };
        assert_eq!(
            changed(&|account| account.arms[3].left_out = Some("EINVAL".to_owned())),
            Some(Knee::At(1))
        );
        assert_eq!(changed(&|account| account.phase = Phase::Running(0)), None);
        assert_eq!(changed(&|account| account.rounds = 9), None, "stopped between looks");
        assert_eq!(changed(&|account| account.plan.experiment = table::find("own").unwrap()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_arm_after_the_knee_gains_more_in_the_middle(
            figures in prop::collection::vec(1.0..1.2f64, 2..7), spread in 0.0001..0.02f64, seed in any::<u64>(),
        ) {
            let account = account(&figures, spread, Metric::Iops, seed);
            if let Some(Knee::At(at)) = account.knee() {
                for arm in at + 1..figures.len() {
                    prop_assert!(account.gain(arm, at).unwrap().middle < 0.02_f64.ln_1p());
                }
            }
        }
    }
}
