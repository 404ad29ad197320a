//! The measured gain of the winning arm's settings, for the comment of exported rules.

use super::{account::Account, plan::Assignment, verdict};
use crate::model::{Effect, Verdict};

/// A setting of the winner.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredGain {
    /// The setting with its value.
    pub winner: Assignment,
    /// The value it was compared with.
    pub old: String,
    /// One line: how much, how sure, by which experiment.
    pub words: String,
}

/// The measured gain of each setting of the winner: over the arm with the machine's own values (`found`), else over the
/// worst arm. Empty without a verdict, and where arms differ in more than settings.
pub(crate) fn measured_gains(
    account: &Account,
    found: impl Fn(&Assignment) -> Option<String>,
) -> Vec<MeasuredGain> {
    let arms = &account.plan.arms;
    let Some((winner, rival, effect)) = rivals(account, &found) else { return Vec::new() };
    let (best, other) = (&arms[winner], &arms[rival]);
    if best.workload != other.workload || best.awake != other.awake {
        return Vec::new();
    }
    let changed = best.settings.iter().filter_map(|set| {
        let same = |known: &&Assignment| known.device == set.device && known.setting == set.setting;
        let old = other.settings.iter().find(same).map(|known| known.value.clone()).or_else(|| found(set))?;
        (old != set.value).then_some((set, old))
    });
    let changed: Vec<(&Assignment, String)> = changed.collect();
    let mut ids: Vec<&str> = changed.iter().map(|(set, _)| set.setting.0).collect();
    ids.sort_unstable();
    ids.dedup();
    let together = if ids.len() > 1 { format!(", {} together", ids.join(" and ")) } else { String::new() };
    let words = format!("{}{together}", words(account, effect, effect.arm == winner));
    changed
        .into_iter()
        .map(|(set, old)| MeasuredGain { winner: set.clone(), old, words: words.clone() })
        .collect()
}

/// The winner, the arm it is compared with, and their effect.
fn rivals<'a>(
    account: &'a Account,
    found: &impl Fn(&Assignment) -> Option<String>,
) -> Option<(usize, usize, &'a Effect)> {
    let winner = account.winner()?;
    let answered = |effect: &&Effect| effect.verdict.is_answer();
    if winner != account.plan.baseline() {
        let effect = account.effect(winner).filter(answered)?;
        let [(rival, _)] = account.plan.arms[winner].against.as_slice() else { return None };
        return Some((winner, *rival, effect));
    }
    let is_found = |effect: &&Effect| {
        let settings = &account.plan.arms[effect.arm].settings;
        !settings.is_empty() && settings.iter().all(|set| found(set).as_ref() == Some(&set.value))
    };
    let of_baseline = |effect: &&Effect| account.plan.arms[effect.arm].against == [(winner, 1.0)];
    let beaten = || account.effects.iter().filter(answered).filter(of_baseline);
    let strength = |effect: &&Effect| effect.ratio.ln().abs();
    let strongest = || beaten().max_by(|a, b| strength(a).total_cmp(&strength(b)));
    let effect = beaten().find(is_found).or_else(strongest)?;
    Some((winner, effect.arm, effect))
}

/// `2.19 times the IOPS (95 %: 2.15 to 2.22), 4k randread, depth 32, 3 jobs, 12 rounds of experiment
/// scheduler`.
fn words(account: &Account, effect: &Effect, forward: bool) -> String {
    let plan = &account.plan;
    let mut effect = effect.clone();
    if !forward {
        // The inverse ratio swaps the ends of the interval.
        (effect.ratio, effect.low, effect.high) =
            (effect.ratio.recip(), effect.high.recip(), effect.low.recip());
    }
    let simulated = if plan.simulated { "SIMULATED, " } else { "" };
    let same = if effect.verdict == Verdict::NoDifference {
        format!("no difference of {} or more, ", verdict::percent(plan.terms.margin))
    } else {
        String::new()
    };
    format!(
        "{simulated}{same}{}, {}, {} rounds of experiment {}",
        verdict::compared(plan.metric, &effect, ""),
        plan.arms[effect.arm].workload.title(),
        account.rounds,
        plan.experiment.id.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::{Arm, Plan, Terms, plan::Wishes, table},
        model::{DriveName, Metric, SettingId, Workload},
        tune::Device,
    };

    fn set(value: &str) -> Assignment {
        let device = Device::Drive(DriveName::new("nvme0n1"));
        Assignment { device, setting: SettingId("scheduler"), value: value.to_owned() }
    }

    /// none against mq-deadline and bfq, each with its ratio and verdict.
    fn account(effects: [(f64, Verdict); 2]) -> Account {
        let arm = |value: &str| Arm {
            settings: vec![set(value)],
            against: if value == "none" { vec![] } else { vec![(0, 1.0)] },
            ..Arm::new(value, Workload::default())
        };
        let mut account = Account::new(Plan {
            experiment: table::find("scheduler").unwrap(),
            metric: Metric::Iops,
            arms: ["none", "mq-deadline", "bfq"].map(arm).into(),
            terms: Terms::default(),
            simulated: false,
            targets: Vec::new(),
            wishes: Wishes::default(),
        });
        account.rounds = 9;
        account.effects = effects
            .into_iter()
            .zip(1..)
            .map(|((ratio, verdict), arm)| Effect {
                arm,
                ratio,
                low: ratio * 0.99,
                high: ratio * 1.01,
                confidence: 0.95,
                verdict,
                detectable: 0.01,
                decided: Some(9),
            })
            .collect();
        account
    }

    #[test]
    fn the_baseline_that_won_is_held_against_what_the_machine_had_else_against_the_worst() {
        let account = account([(0.5, Verdict::Slower), (0.4, Verdict::Slower)]);
        let had = |value: &'static str| move |_: &Assignment| Some(value.to_owned());
        let against = |value| measured_gains(&account, had(value));
        let one = &against("mq-deadline")[..];
        assert_eq!(
            (one.len(), one[0].winner.value.as_str(), one[0].old.as_str()),
            (1, "none", "mq-deadline")
        );
        assert_eq!(
            one[0].words,
            "2.00 times the IOPS (95 %: 1.98 to 2.02), 4k randread, depth 32, 1 job, 9 rounds of \
             experiment scheduler"
        );
        assert_eq!(against("none")[0].old, "bfq");
    }

    #[test]
    fn a_winner_is_held_against_the_baseline_and_no_difference_is_called_one() {
        let better = account([(1.1, Verdict::Faster), (0.9, Verdict::Slower)]);
        let found = |_: &Assignment| None;
        let one = measured_gains(&better, found);
        assert_eq!((one[0].winner.value.as_str(), one[0].old.as_str()), ("mq-deadline", "none"));
        assert!(one[0].words.starts_with("10 % more IOPS (95 %: 8.9 to 11.1)"), "{}", one[0].words);
        let same =
            measured_gains(&account([(1.001, Verdict::NoDifference), (1.0, Verdict::NoDifference)]), found);
        assert!(
            same[0].words.starts_with("no difference of 2.0 % or more, 0.1 % fewer IOPS"),
            "{}",
            same[0].words
        );
    }

    #[test]
    fn what_is_open_or_differs_in_its_workload_is_worth_no_word() {
        let found = |_: &Assignment| None;
        let open = account([(1.1, Verdict::Inconclusive), (0.9, Verdict::Invalid)]);
        assert_eq!(measured_gains(&open, found), []);
        let mut other = account([(1.1, Verdict::Faster), (0.9, Verdict::Slower)]);
        other.plan.arms[1].workload.depth = 1;
        assert_eq!(measured_gains(&other, found), []);
    }
}
