//! [`Account`]: the state of an experiment and its result.

use super::{
    looks,
    plan::Plan,
    statistics::{self, Interval, log_ratios, median},
};
use crate::model::{
    Effect, Failed, Verdict,
    experiment::{Look, Run, Sample, ThrownOut},
};

/// An interval whose half width is this share of the margin decides in any case: it cannot reach both 1 and the margin.
const NARROW: f64 = 0.5;

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
    /// Every comparison is decided.
    Decided,
    /// The time limit was reached.
    TimeUp,
    /// It was stopped.
    Stopped(StoppedBy),
    /// It failed; the reason.
    Failed(String),
}

/// What stopped an experiment before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    /// The user, by a key of the screen.
    Key,
    /// A signal of this name, Ctrl-C's among them.
    Signal(&'static str),
    /// The reader of its output: it closed the pipe.
    ClosedOutput,
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
    /// Looks so far.
    pub looks: Vec<Look>,
    /// How often it was extended.
    pub extensions: u32,
    /// Every run, in order.
    pub samples: Vec<Sample>,
    /// Why it ended; `None` before.
    pub ending: Option<Ending>,
    /// Whether every setting was restored; `None` before the end.
    pub restored: Option<bool>,
    /// Whether the ending has the commands that restore the rest.
    pub is_advised: bool,
    /// Why its drives may not be read, with the files that can be.
    pub refused: Option<Failed>,
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
            looks: Vec::new(),
            extensions: 0,
            samples: Vec::new(),
            ending: None,
            restored: None,
            is_advised: false,
            refused: None,
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

    /// The logarithms of an arm's ratios, round by round.
    pub(crate) fn logs(&self, arm: usize) -> Vec<f64> {
        let values = |arm: usize| self.arms[arm].runs.iter().map(|run| run.value);
        let mut against = vec![0.0; self.arms[arm].runs.len()];
        for (base, factor) in &self.plan.arms[arm].against {
            for (sum, value) in against.iter_mut().zip(values(*base)) {
                *sum += value * factor;
            }
        }
        let figures: Vec<f64> = values(arm).collect();
        log_ratios(&figures, &against)
    }

    /// Standard deviation of the logarithms of an arm's runs that count; `None` with fewer than two.
    pub(crate) fn noise(&self, arm: usize) -> Option<f64> {
        statistics::spread(&self.arms[arm].runs.iter().map(|run| run.value.ln()).collect::<Vec<_>>())
    }

    /// The level of the next look's intervals.
    pub(crate) fn level(&self) -> f64 {
        looks::level(self.plan.terms.confidence, self.compared().count(), self.extensions)
    }

    pub(crate) fn interval(&self, arm: usize) -> Option<Interval> {
        Interval::of(&self.logs(arm), self.level())
    }

    /// Rounds of the next look; `None` if only the end of the time is one.
    pub(crate) fn next_look(&self) -> Option<u32> {
        looks::next(self.rounds.max(self.plan.terms.least_rounds.saturating_sub(1)), self.extensions)
    }

    /// Recomputes the intervals after a round; `is_look`: forms verdicts too. A comparison that is decided keeps its look's
    /// interval until a later look decides it again.
    pub fn conclude(&mut self, is_look: bool) {
        let is_look = is_look && self.rounds >= self.plan.terms.least_rounds;
        if is_look && self.looks.last().is_none_or(|look| look.round < self.rounds) {
            self.looks.push(Look { round: self.rounds, level: self.level() });
        }
        let effects = self.compared().filter_map(|arm| {
            let before = self.effect(arm).filter(|effect| effect.decided.is_some()).cloned();
            let now = self.interval(arm).map(|interval| self.compare(arm, &interval, is_look));
            match (before, now) {
                (Some(before), Some(now)) if now.decided.is_none() => Some(before),
                (before, now) => now.or(before),
            }
        });
        self.effects = effects.collect();
    }

    /// The effect of an arm by its interval.
    fn compare(&self, arm: usize, interval: &Interval, is_look: bool) -> Effect {
        let (ratio, low, high) = interval.ratios();
        let verdict = if is_look { self.verdict(interval) } else { Verdict::Inconclusive };
        Effect {
            arm,
            ratio,
            low,
            high,
            confidence: self.plan.terms.confidence,
            verdict,
            detectable: interval.detectable(self.plan.terms.margin.ln_1p()).exp_m1(),
            decided: verdict.is_answer().then_some(self.rounds),
        }
    }

    /// The verdict for an interval.
    ///
    /// Faster or slower: it excludes 1, and its center is at least a margin away, so that irrelevant differences are not
    /// reported. No difference: it lies within the margin and includes 1; where it excludes 1, or is narrow and does so, the
    /// difference is smaller than the margin. Otherwise it stays open.
    fn verdict(&self, interval: &Interval) -> Verdict {
        let margin = self.plan.terms.margin.ln_1p();
        let (low, high) = (interval.middle - interval.half, interval.middle + interval.half);
        let excludes_one = low > 0.0 || high < 0.0;
        if excludes_one && interval.middle.abs() >= margin {
            let is_more = interval.middle > 0.0;
            return if is_more == self.plan.metric.more_is_better() {
                Verdict::Faster
            } else {
                Verdict::Slower
            };
        }
        let is_inside = -margin < low && high < margin;
        let is_narrow = interval.half <= self.narrow().ln_1p();
        match (is_inside || is_narrow, excludes_one) {
            (false, _) => Verdict::Inconclusive,
            (true, true) => Verdict::SmallerThanMargin,
            (true, false) => Verdict::NoDifference,
        }
    }

    /// The autocorrelation of an arm's ratios where chance alone exceeds it in fewer than 2 of 100 experiments (2.05
    /// standard errors of independent values, and 0.3): the rounds then depend on each other, and the interval is too narrow.
    pub(crate) fn dependence(&self, arm: usize) -> Option<f64> {
        let logs = self.logs(arm);
        let limit = (2.05 / (logs.len() as f64).sqrt()).max(0.3);
        statistics::autocorrelation(&logs).filter(|correlation| *correlation > limit)
    }

    /// Makes every verdict invalid where too many rounds were disturbed.
    pub(crate) fn invalidate(&mut self) {
        if self.is_disturbed() {
            for effect in &mut self.effects {
                effect.verdict = Verdict::Invalid;
            }
        }
    }

    /// Whether every comparison is decided.
    pub(crate) fn is_decided(&self) -> bool {
        let mut compared = self.compared().peekable();
        compared.peek().is_some()
            && compared.all(|arm| self.effect(arm).is_some_and(|effect| effect.decided.is_some()))
    }

    /// Whether more rounds were discarded than counted, and at least the minimum number of rounds.
    pub(crate) fn is_disturbed(&self) -> bool {
        let thrown_out = u32::try_from(self.thrown_out.len()).unwrap_or(u32::MAX);
        thrown_out > self.rounds && thrown_out >= self.plan.terms.least_rounds
    }

    /// The verdict with too few rounds for an interval.
    pub(crate) fn without_interval(&self) -> Verdict {
        if self.is_disturbed() { Verdict::Invalid } else { Verdict::Inconclusive }
    }

    /// Half width of the widest interval, as a share; `None` until every arm has an interval.
    pub(crate) fn width(&self) -> Option<f64> {
        let halves =
            self.open().map(|arm| self.effect(arm).map(|effect| (effect.high / effect.low).ln() / 2.0));
        halves.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max).map(f64::exp_m1)
    }

    /// The half width that decides in any case, as a share.
    pub(crate) fn narrow(&self) -> f64 {
        NARROW * self.plan.terms.margin
    }

    /// Compared arms that are not decided; all of them when all are.
    fn open(&self) -> impl Iterator<Item = usize> {
        let is_open = |arm: usize| self.effect(arm).is_none_or(|effect| effect.decided.is_none());
        let all = !self.compared().any(is_open);
        self.compared().filter(move |arm| all || is_open(*arm))
    }

    /// Estimated total rounds until every interval is narrow.
    pub(crate) fn rounds_needed(&self) -> Option<u32> {
        let half = self.narrow().ln_1p();
        let counts = self.open().map(|arm| Some(self.interval(arm)?.count_for(half)));
        let most = counts.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(u32::try_from(most).unwrap_or(u32::MAX).max(self.plan.terms.least_rounds))
    }

    /// Estimated further rounds until every comparison is decided, at least up to the next look.
    pub(crate) fn rounds_to_go(&self) -> Option<u32> {
        let look = looks::next(self.rounds, self.extensions + 1).unwrap_or(0);
        Some(self.rounds_needed()?.max(look).saturating_sub(self.rounds).max(1))
    }

    /// CPUs that other processes used during the runs that count, on average.
    pub(crate) fn other_cpus(&self) -> Option<f64> {
        let counted = self.samples.iter().filter(|sample| sample.discarded.is_none());
        let used: Vec<f64> = counted.filter_map(|sample| sample.surroundings.other_cpus).collect();
        (!used.is_empty()).then(|| used.iter().sum::<f64>() / used.len() as f64)
    }

    /// The share of an arm's bytes that came from the page cache, the median of its runs that count.
    pub(crate) fn cached_share(&self, arm: usize) -> Option<f64> {
        let label = &self.plan.arms[arm].label;
        let counted = |sample: &&Sample| sample.discarded.is_none() && sample.arm == *label;
        let shares: Vec<f64> =
            self.samples.iter().filter(counted).filter_map(|sample| sample.surroundings.from_cache).collect();
        median(&shares)
    }

    /// Whether it can be extended: it has ended, and not by an error.
    pub(crate) const fn can_go_on(&self) -> bool {
        !matches!(self.ending, Some(Ending::Failed(_)) | None)
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
