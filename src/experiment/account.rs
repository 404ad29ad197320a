//! [`Account`]: the state of an experiment and its result.

use super::{
    plan::Plan,
    statistics::{Interval, log_ratios, median},
};
use crate::model::{
    Effect, Verdict,
    experiment::{Run, ThrownOut},
};

/// Intervals are narrow enough at this share of the margin on either side. Of two equal arms the middle then lies within
/// six tenths of the margin in 997 of 1000 experiments (three standard errors), and the whole interval within the margin.
const NARROW: f64 = 0.4;

/// One arm so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArmAccount {
    /// Its runs of the rounds that stand, in their order.
    pub runs: Vec<Run>,
    /// Why it takes no part, if it does not.
    pub left_out: Option<String>,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Settings of that arm are written and read back.
    SettingUp(usize),
    /// That arm reads.
    Running(usize),
    /// Settings are put back after that arm.
    Restoring(usize),
    /// It is over.
    Ended,
}

/// Why it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Every interval was narrow enough.
    Narrow,
    /// Its time was up.
    TimeUp,
    /// The user stopped it.
    Stopped,
    /// It could not go on; in words.
    Failed(String),
}

/// An experiment so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// What is done.
    pub plan: Plan,
    /// Its arms, in the plan's order.
    pub arms: Vec<ArmAccount>,
    /// What is going on.
    pub phase: Phase,
    /// The round under way, counted from 1; 0 is the one that warms up and does not count.
    pub round: u32,
    /// Rounds that count.
    pub rounds: u32,
    /// Rounds that do not.
    pub thrown_out: Vec<ThrownOut>,
    /// An effect for every arm that is held against others and has runs enough.
    pub effects: Vec<Effect>,
    /// How the half width of the widest interval shrank, a share for every round since there was one.
    pub widths: Vec<f64>,
    /// Why it ended, once it did.
    pub ending: Option<Ending>,
    /// Whether every setting is as it was; `None` before the end.
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

    /// The middle figure of an arm's runs.
    pub fn figure(&self, arm: usize, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        median(&self.arms.get(arm)?.runs.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// Whether an arm and all that it is held against take part.
    fn takes_part(&self, arm: usize) -> bool {
        let present = |arm: usize| self.arms.get(arm).is_some_and(|arm| arm.left_out.is_none());
        present(arm) && self.plan.arms[arm].against.iter().all(|(base, _)| present(*base))
    }

    /// Arms that are compared with others.
    pub(crate) fn compared(&self) -> impl Iterator<Item = usize> {
        (0..self.arms.len()).filter(|arm| !self.plan.arms[*arm].against.is_empty() && self.takes_part(*arm))
    }

    /// The interval of an arm's ratios.
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

    /// Counts the effects anew: after a round, and at the end.
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

    /// What an interval shows.
    ///
    /// No difference: all of it lies within the margin. Faster or slower: it leaves out 1, and its middle is a margin or more
    /// away, so that differences too small to matter are never called one. Anything else stays open.
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

    /// Whether more rounds were thrown out than count, and enough that this is no accident.
    fn is_disturbed(&self) -> bool {
        let thrown_out = u32::try_from(self.thrown_out.len()).unwrap_or(u32::MAX);
        thrown_out > self.rounds && thrown_out >= self.plan.terms.least_rounds
    }

    /// What can be said where there are too few rounds for an interval.
    pub(crate) fn without_interval(&self) -> Verdict {
        if self.is_disturbed() { Verdict::Invalid } else { Verdict::Inconclusive }
    }

    /// The half width of the widest interval, as a share; `None` while there is none of every arm.
    pub(crate) fn width(&self) -> Option<f64> {
        let mut widest = None;
        for arm in self.compared() {
            widest = Some(self.interval(arm)?.half.max(widest.unwrap_or(0.0)));
        }
        widest.map(f64::exp_m1)
    }

    /// The half width at which it ends, as a share.
    pub(crate) fn narrow(&self) -> f64 {
        NARROW * self.plan.terms.margin
    }

    /// Rounds it takes until every interval is narrow, all in all, going by those so far.
    pub(crate) fn rounds_needed(&self) -> Option<u32> {
        let half = self.narrow().ln_1p();
        let counts = self.compared().map(|arm| Some(self.interval(arm)?.count_for(half)));
        let most = counts.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(u32::try_from(most).unwrap_or(u32::MAX).max(self.plan.terms.least_rounds))
    }

    /// Whether it is over.
    pub(crate) fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether it is over and something was measured.
    pub(crate) fn has_result(&self) -> bool {
        self.has_ended() && self.rounds > 0
    }

    /// The arm that did best: the baseline, unless another is better than it by a verdict. Only where arms stand for
    /// the same thing done otherwise; `None` while nothing is answered.
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
