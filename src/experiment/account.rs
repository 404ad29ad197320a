//! [`Account`]: the state of an experiment and its result.

use super::{
    plan::Plan,
    statistics::{Interval, log_ratios, median},
};
use crate::model::{
    Effect, Verdict,
    experiment::{Run, ThrownOut},
};

/// Target half width as a share of the margin. For two equal arms the center then lies within
/// six tenths of the margin in 997 of 1000 experiments (three standard errors), and the whole interval within the
/// margin.
const NARROW: f64 = 0.4;

/// The state of one arm.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArmAccount {
    /// Runs of counted rounds, in order.
    pub runs: Vec<Run>,
    /// Why it was dropped, if it was.
    pub left_out: Option<String>,
}

/// The current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Settings of this arm are written and read back.
    SettingUp(usize),
    /// This arm runs.
    Running(usize),
    /// Settings are restored after this arm.
    Restoring(usize),
    /// No further steps.
    Ended,
}

/// Why an experiment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Every interval was narrow enough.
    Narrow,
    /// The time limit was reached.
    TimeUp,
    /// The user stopped it.
    Stopped,
    /// It failed; the reason.
    Failed(String),
}

/// The state of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// The plan.
    pub plan: Plan,
    /// Arms, in the plan's order.
    pub arms: Vec<ArmAccount>,
    /// The current step.
    pub phase: Phase,
    /// The current round, counted from 1; 0 is the warm-up round and does not count.
    pub round: u32,
    /// Counted rounds.
    pub rounds: u32,
    /// Discarded rounds.
    pub thrown_out: Vec<ThrownOut>,
    /// The effect of every compared arm with enough runs.
    pub effects: Vec<Effect>,
    /// Half width of the widest interval after each round, as a share.
    pub widths: Vec<f64>,
    /// Why it ended; `None` before.
    pub ending: Option<Ending>,
    /// Whether every setting was restored; `None` before the end.
    pub restored: Option<bool>,
}

impl Account {
    /// Before the first round.
    pub fn new(plan: Plan) -> Self {
        Self {
            arms: vec![ArmAccount::default(); plan.arms.len()],
            plan,
            phase: Phase::SettingUp(0),
            round: 0,
            rounds: 0,
            thrown_out: Vec::new(),
            effects: Vec::new(),
            widths: Vec::new(),
            ending: None,
            restored: None,
        }
    }

    /// The median figure of an arm's runs.
    pub fn figure(&self, arm: usize, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        median(&self.arms.get(arm)?.runs.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// Whether an arm and all its base arms are still in the experiment.
    fn takes_part(&self, arm: usize) -> bool {
        let present = |arm: usize| self.arms.get(arm).is_some_and(|arm| arm.left_out.is_none());
        present(arm) && self.plan.arms[arm].against.iter().all(|(base, _)| present(*base))
    }

    pub(crate) fn compared(&self) -> impl Iterator<Item = usize> {
        (0..self.arms.len()).filter(|arm| !self.plan.arms[*arm].against.is_empty() && self.takes_part(*arm))
    }

    pub(crate) fn interval(&self, arm: usize) -> Option<Interval> {
        let values = |arm: usize| self.arms[arm].runs.iter().map(|run| run.value);
        let mut against = vec![0.0; self.arms[arm].runs.len()];
        for (base, factor) in &self.plan.arms[arm].against {
            for (sum, value) in against.iter_mut().zip(values(*base)) {
                *sum += value * factor;
            }
        }
        let figures: Vec<f64> = values(arm).collect();
        Interval::of(&log_ratios(&figures, &against), self.plan.terms.confidence)
    }

    /// Recomputes the effects, after each round and at the end.
    pub fn conclude(&mut self) {
        let effects = self.compared().filter_map(|arm| {
            let interval = self.interval(arm)?;
            let (ratio, low, high) = interval.ratios();
            let verdict = self.verdict(&interval);
            let confidence = self.plan.terms.confidence;
            let detectable = interval.detectable().exp_m1();
            Some(Effect { arm, ratio, low, high, confidence, verdict, detectable })
        });
        self.effects = effects.collect();
    }

    /// The verdict for an interval.
    ///
    /// No difference: the interval lies within the margin. Faster or slower: it excludes 1, and its center is at least
    /// a margin away, so that irrelevant differences are not reported. Otherwise it stays open.
    fn verdict(&self, interval: &Interval) -> Verdict {
        let terms = &self.plan.terms;
        if interval.count < terms.least_rounds as usize || self.is_disturbed() {
            return self.without_interval();
        }
        let margin = terms.margin.ln_1p();
        let (low, high) = (interval.middle - interval.half, interval.middle + interval.half);
        if -margin < low && high < margin {
            return Verdict::NoDifference;
        }
        if (low > 0.0 || high < 0.0) && interval.middle.abs() >= margin {
            let is_more = interval.middle > 0.0;
            return if is_more == self.plan.metric.more_is_better() {
                Verdict::Faster
            } else {
                Verdict::Slower
            };
        }
        Verdict::Inconclusive
    }

    /// Whether more rounds were discarded than counted, and at least the minimum number of rounds.
    fn is_disturbed(&self) -> bool {
        let thrown_out = u32::try_from(self.thrown_out.len()).unwrap_or(u32::MAX);
        thrown_out > self.rounds && thrown_out >= self.plan.terms.least_rounds
    }

    /// The verdict with too few rounds for an interval.
    pub(crate) fn without_interval(&self) -> Verdict {
        if self.is_disturbed() { Verdict::Invalid } else { Verdict::Inconclusive }
    }

    /// Half width of the widest interval, as a share; `None` until every arm has an interval.
    pub(crate) fn width(&self) -> Option<f64> {
        let halves = self.compared().map(|arm| Some(self.interval(arm)?.half));
        halves.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max).map(f64::exp_m1)
    }

    /// The target half width, as a share.
    pub(crate) fn narrow(&self) -> f64 {
        NARROW * self.plan.terms.margin
    }

    /// Estimated total rounds until every interval is narrow.
    pub(crate) fn rounds_needed(&self) -> Option<u32> {
        let half = self.narrow().ln_1p();
        let counts = self.compared().map(|arm| Some(self.interval(arm)?.count_for(half)));
        let most = counts.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(u32::try_from(most).unwrap_or(u32::MAX).max(self.plan.terms.least_rounds))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether it ended with at least one counted round.
    pub(crate) fn has_result(&self) -> bool {
        self.has_ended() && self.rounds > 0
    }

    /// The best arm: the baseline, unless a verdict says that another is faster; `None` while every verdict is open.
    pub fn winner(&self) -> Option<usize> {
        let better = |effect: &&Effect| effect.verdict == Verdict::Faster;
        let sense = if self.plan.metric.more_is_better() { 1.0 } else { -1.0 };
        let best =
            self.effects.iter().filter(better).max_by(|a, b| (a.ratio * sense).total_cmp(&(b.ratio * sense)));
        let answered = self.effects.iter().any(|effect| effect.verdict.is_answer());
        best.map(|effect| effect.arm).or_else(|| answered.then(|| self.plan.baseline()))
    }

    /// The effect of that arm.
    pub fn effect(&self, arm: usize) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.arm == arm)
    }
}
