//! [`Driver`]: the next step of an experiment. Pure: events go in, actions come out.
//!
//! ```text
//!  round 0 (warm-up, does not count), rounds 1, 2, ...: every arm once, in balanced random order
//!      SetUp arm ─► Run arm ─► Restore ─► next arm
//!  after a round: a look, and every comparison decided? the time up? ─► End
//!  stopped: Abort the run ─► Restore ─► End
//!  a step fails: Restore anyway; the round is discarded, in round 0 the arm is dropped
//! ```
//! Verdicts are formed only at looks (`looks.rs`) and when the time is up: forming them after every round, or stopping by
//! eye, finds a difference between equal arms in every fourth experiment.

use std::time::Duration;

use super::{
    account::{Account, Ending, Phase, StoppedBy},
    plan::{Arm, Plan},
    shuffle::{Orders, Random},
    statistics::median,
};
use crate::{
    model::{
        Failed, RunSummary, Workload,
        experiment::{Run, Sample, Surroundings, ThrownOut},
    },
    units::counted,
};

/// An input of the driver. Times are since the start of the experiment.
#[derive(Debug, Clone)]
pub enum Event {
    /// It begins.
    Begin,
    /// A read of a target failed; nothing was set up.
    Unreadable(Failed),
    /// The arm's settings were written and read back, or the error.
    SetUp(Result<(), Failed>),
    /// The run ended, or the error; its start, since the start of the experiment.
    Ran(Result<Box<Ran>, Failed>, Duration),
    /// The settings were restored, or the error.
    Restored(Result<(), Failed>, Duration),
    /// It is stopped.
    Stop(StoppedBy),
    /// The user extends it, after its end, by this time from then on.
    Longer(Duration, Duration),
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its figures.
    pub run: RunSummary,
    /// Disturbances, one sentence each: temperature, other I/O on a drive.
    pub disturbed: Vec<String>,
    /// What else the machine did.
    pub surroundings: Surroundings,
}

/// An output of the driver; its result is the next event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Write the arm's settings, and hold CPUs out of deep idle states if it asks for it.
    SetUp(usize),
    /// Run the workload, which includes times and seed.
    Run(Box<Workload>),
    /// Abort the current run; [`Event::Ran`] still follows.
    Abort,
    /// Restore the settings.
    Restore,
    /// Nothing follows.
    End,
}

/// A run whose clock deviates from the arm's median by more than this share is discarded.
const CLOCK: f64 = 0.1;
/// A run that took more than this share of its bytes from the page cache measured the page cache, not a drive.
const MOSTLY_CACHED: f64 = 0.5;
/// Consecutive rounds with errors after which it ends.
const ERRORS: u32 = 3;

/// A running experiment.
#[derive(Debug, Clone)]
pub struct Driver {
    account: Account,
    random: Random,
    orders: Orders,
    /// The order of this round.
    order: Vec<usize>,
    /// The seed of the run in progress.
    seed: u64,
    /// Remaining arms of this round, the next one last.
    left: Vec<usize>,
    /// Finished runs of this round, by arm.
    now: Vec<(usize, Run)>,
    /// Why this round is discarded, if it is: arm, reason.
    spoilt: Option<(usize, String)>,
    /// Clocks of the runs, by arm.
    clocks: Vec<Vec<f64>>,
    errors: u32,
    most_time: Duration,
    stopping: Option<StoppedBy>,
    /// An error that ends it once the settings are restored.
    failed: Option<String>,
}

impl Driver {
    /// Before the first step.
    pub fn new(plan: Plan) -> Self {
        Self {
            random: Random::new(plan.terms.seed),
            clocks: vec![Vec::new(); plan.arms.len()],
            most_time: plan.terms.most_time,
            orders: Orders::default(),
            order: Vec::new(),
            seed: 0,
            account: Account::new(plan),
            left: Vec::new(),
            now: Vec::new(),
            spoilt: None,
            errors: 0,
            stopping: None,
            failed: None,
        }
    }

    /// Where it stands.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Whether it was stopped and has not ended yet: nothing more is set up.
    pub const fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Takes an event; what is to be done next, in order.
    pub fn step(&mut self, event: Event) -> Vec<Action> {
        match (event, self.account.phase) {
            (Event::Begin, _) => {
                self.shuffle();
                self.next_arm()
            }
            (Event::Unreadable(why), Phase::SettingUp(arm)) => {
                self.failed = Some(why.to_string());
                self.refuse(why);
                self.restore(arm)
            }
            (Event::SetUp(Ok(())), Phase::SettingUp(arm)) if !self.is_stopping() => {
                self.account.phase = Phase::Running(arm);
                vec![Action::Run(Box::new(self.workload(arm)))]
            }
            (Event::SetUp(result), Phase::SettingUp(arm)) => {
                if let Err(why) = result {
                    self.failure(arm, why);
                }
                self.restore(arm)
            }
            (Event::Ran(result, began), Phase::Running(arm)) => {
                match result {
                    Ok(ran) => self.take(arm, &ran, began),
                    Err(why) => {
                        self.note(arm, began, None, Some(&why.to_string()), Surroundings::default());
                        if !self.is_stopping() {
                            self.failure(arm, why);
                        }
                    }
                }
                self.restore(arm)
            }
            (Event::Restored(result, at), Phase::Restoring(_)) => self.restored(result, at),
            (Event::Stop(by), phase) => {
                self.stopping = Some(by);
                if matches!(phase, Phase::Running(_)) { vec![Action::Abort] } else { Vec::new() }
            }
            (Event::Longer(time, at), Phase::Ended) if self.account.can_go_on() => {
                self.most_time = at + time;
                self.account.extensions += 1;
                self.stopping = None;
                self.account.ending = None;
                self.account.restored = None;
                self.begin_round();
                self.next_arm()
            }
            _ => Vec::new(),
        }
    }

    fn restore(&mut self, arm: usize) -> Vec<Action> {
        self.account.phase = Phase::Restoring(arm);
        vec![Action::Restore]
    }

    fn restored(&mut self, result: Result<(), Failed>, at: Duration) -> Vec<Action> {
        if let Err(why) = result {
            self.account.is_advised = why.is_advised();
            // Without the restored setting, later runs would not be comparable.
            return self.end(Ending::Failed(why.to_string()), false);
        }
        if let Some(why) = self.failed.take() {
            return self.end(Ending::Failed(why), true);
        }
        if let Some(by) = self.stopping {
            return self.end(Ending::Stopped(by), true);
        }
        if !self.left.is_empty() {
            return self.next_arm();
        }
        let is_over = at + self.account.plan.round_time() > self.most_time && self.account.round > 0;
        // No round starts that would end after the time limit.
        let looked = self.end_round(is_over);
        if looked && self.account.is_decided() {
            return self.end(Ending::Decided, true);
        }
        if is_over {
            return self.end(Ending::TimeUp, true);
        }
        self.begin_round();
        self.next_arm()
    }

    fn end(&mut self, ending: Ending, restored: bool) -> Vec<Action> {
        self.throw_out();
        self.account.phase = Phase::Ended;
        self.account.ending = Some(ending);
        self.account.restored = Some(restored);
        self.account.invalidate();
        vec![Action::End]
    }

    fn begin_round(&mut self) {
        self.account.round += 1;
        self.shuffle();
    }

    fn shuffle(&mut self) {
        self.now.clear();
        self.spoilt = None;
        let takes_part = |arm: &usize| self.account.arms[*arm].left_out.is_none();
        let arms: Vec<usize> = (0..self.account.arms.len()).filter(takes_part).collect();
        if self.account.round <= 1 {
            // Arms may have been left out since the warm-up round.
            self.orders.clear();
        }
        self.order = self.orders.take(&mut self.random, &arms);
        self.left = self.order.iter().rev().copied().collect();
    }

    fn next_arm(&mut self) -> Vec<Action> {
        let Some(arm) = self.left.pop() else { return Vec::new() };
        self.account.phase = Phase::SettingUp(arm);
        vec![Action::SetUp(arm)]
    }

    /// The arm's workload with times and its own seed, so that no two runs read the same sequence of blocks.
    fn workload(&mut self, arm: usize) -> Workload {
        self.seed = self.random.number();
        Workload { seed: self.seed, ..self.account.plan.timed(arm) }
    }

    fn take(&mut self, arm: usize, ran: &Ran, began: Duration) {
        let metric = self.account.plan.metric;
        let run = Run::of(self.account.round, metric, &ran.run).filter(|_| !self.is_stopping());
        let errors: u64 = ran.run.targets.iter().map(|target| target.errors).sum();
        let no_words = (errors > 0).then(|| format!("{} failed", counted(errors, "read")));
        // Errors of the ramp are not counted, and are the reason of a run without a figure.
        let first = ran.run.targets.iter().find_map(|target| target.first_error.as_ref());
        let failed = first.map(ToString::to_string).or(no_words);
        // A first run may be too short for a read to complete; the rounds that count show whether it is.
        let is_empty = run.is_none() && self.account.round > 0 && !self.is_stopping();
        let failed = failed.or_else(|| is_empty.then(|| format!("its run has no {}", metric.name())));
        let share = ran.surroundings.from_cache.filter(|share| *share > MOSTLY_CACHED);
        let cached = share.map(|share| {
            format!(
                "{:.0} % of its bytes came from the page cache, not from a drive; use a larger file, or one with nothing cached",
                share * 100.0
            )
        });
        // The same would come of every further round.
        let failed = failed.or_else(|| cached.clone().filter(|_| self.account.round == 0));
        let stopped = self.stopping.map(|_| "the run was stopped");
        let value = run.as_ref().map(|run| run.value);
        self.note(arm, began, value, failed.as_deref().or(stopped), ran.surroundings);
        if self.is_stopping() {
            return;
        }
        if let Some(why) = failed {
            self.error(arm, why);
            return;
        }
        self.now.extend(run.map(|run| (arm, run)));
        let usual = median(&self.clocks[arm]);
        if let Some(clock) = ran.surroundings.cpu_khz {
            self.clocks[arm].push(clock);
        }
        let changed = ran.surroundings.cpu_khz.zip(usual);
        let clock =
            changed.filter(|(clock, usual)| (clock / usual - 1.0).abs() > CLOCK).map(|(clock, usual)| {
                format!("the CPUs ran at {:.2} GHz instead of {:.2}", clock / 1e6, usual / 1e6)
            });
        if let Some(why) = ran.disturbed.first().cloned().or(cached).or(clock) {
            self.spoilt.get_or_insert((arm, why));
        }
    }

    /// Notes a run, whether it counts or not; `failed`: why its figure is none.
    fn note(
        &mut self,
        arm: usize,
        began: Duration,
        value: Option<f64>,
        failed: Option<&str>,
        surroundings: Surroundings,
    ) {
        let warm_up = (self.account.round == 0).then_some("warm-up round");
        let sample = Sample {
            round: self.account.round,
            arm: self.account.plan.arms[arm].label.clone(),
            order: self.order.len() - self.left.len(),
            began: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
            seed: self.seed,
            value,
            discarded: failed.or(warm_up).map(str::to_owned),
            surroundings,
        };
        self.account.samples.push(sample);
    }

    /// A step of this arm failed: in the warm-up round the arm is dropped, later the round is discarded.
    /// An error of the system; it may have files to read instead.
    fn failure(&mut self, arm: usize, why: Failed) {
        self.error(arm, why.to_string());
        self.refuse(why);
    }

    fn refuse(&mut self, why: Failed) {
        self.account.refused = Some(why).filter(|why| !why.files().is_empty());
    }

    fn error(&mut self, arm: usize, why: String) {
        let failed = format!("arm {}: {why}", self.account.plan.arms[arm].label);
        if self.account.round == 0 {
            let is_needed = |other: &Arm| other.against.iter().any(|(base, _)| *base == arm);
            let is_needed = self.account.plan.arms.iter().any(is_needed);
            self.account.arms[arm].left_out = Some(why);
            if is_needed || self.account.compared().next().is_none() && self.failed.is_none() {
                self.failed = Some(failed);
            }
        } else {
            self.errors += 1;
            if self.errors >= ERRORS {
                self.failed =
                    Some(format!("{} in a row failed: {failed}", counted(ERRORS as usize, "round")));
            }
            // An error takes precedence over a disturbance.
            self.spoilt = Some((arm, why));
            self.left.clear();
        }
    }

    /// Discards the round if it is spoilt.
    fn throw_out(&mut self) -> bool {
        let round = self.account.round;
        let spoilt = self.spoilt.take().filter(|_| round > 0);
        let is_cut = self.now.len() < self.order.len() && round > 0 && !self.now.is_empty();
        let reason = match &spoilt {
            Some((arm, why)) => format!("{}: {why}", self.account.plan.arms[*arm].label),
            None if is_cut => "the round was interrupted".to_owned(),
            None => return false,
        };
        for sample in self.account.samples.iter_mut().rev().take_while(|sample| sample.round == round) {
            sample.discarded.get_or_insert_with(|| reason.clone());
        }
        let Some((arm, why)) = spoilt else { return false };
        let arm = self.account.plan.arms[arm].label.clone();
        self.account.thrown_out.push(ThrownOut { round, arm, why });
        self.orders.give_back(std::mem::take(&mut self.order));
        true
    }

    /// Counts the round unless it is spoilt, and looks if it is time to; whether it looked.
    fn end_round(&mut self, is_last: bool) -> bool {
        let is_counted = !self.throw_out() && self.account.round > 0;
        let mut is_look = is_last;
        if is_counted {
            self.errors = 0;
            is_look |= self.account.next_look() == Some(self.account.rounds + 1);
            for (arm, run) in self.now.drain(..) {
                self.account.arms[arm].runs.push(run);
            }
            self.account.rounds += 1;
        }
        if is_counted || is_last {
            self.account.conclude(is_look);
        }
        if is_counted {
            self.account.widths.extend(self.account.width());
        }
        is_look
    }
}

#[cfg(test)]
mod tests;
