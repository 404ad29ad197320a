//! [`Driver`]: the next step of an experiment. Pure: events go in, actions come out.
//!
//! ```text
//!  round 0 (warm-up, does not count), rounds 1, 2, ...: every arm once, in random order
//!      SetUp arm ─► Run arm ─► Restore ─► next arm
//!  after a round: every interval narrow, or the time up? ─► End
//!  stopped: Abort the run ─► Restore ─► End
//!  a step fails: Restore anyway; the round is discarded, in round 0 the arm is dropped
//! ```
//! Only the width of the intervals and the time decide whether to go on, never their position: stopping as soon as an
//! interval excludes 1 finds a difference between equal arms in every fourth experiment.

use std::time::Duration;

use super::{
    account::{Account, Ending, Phase},
    plan::{Arm, Plan},
    shuffle::Random,
    statistics::median,
};
use crate::{
    model::{
        Failed, RunSummary, Workload,
        experiment::{Run, ThrownOut},
    },
    units::counted,
};

/// An input of the driver. Times are since the start of the experiment.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Begin,
    /// The arm's settings were written and read back, or the error.
    SetUp(Result<(), Failed>),
    /// The run ended, or the error.
    Ran(Result<Box<Ran>, Failed>),
    /// The settings were restored, or the error.
    Restored(Result<(), Failed>, Duration),
    /// The user stopped it.
    Stop,
    /// The user extended it by this time, after its end.
    Longer(Duration),
}

/// A finished run.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// Its figures.
    pub run: RunSummary,
    /// Disturbances, one sentence each: temperature, other I/O on a drive.
    pub disturbed: Vec<String>,
    /// CPU clock during the run, kHz, where it can be read.
    pub clock: Option<f64>,
}

/// An output of the driver; its result is the next event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Write the arm's settings, and hold CPUs out of deep idle states if it asks for it.
    SetUp(usize),
    /// Run the workload, which includes times and seed.
    Run(Box<Workload>),
    /// Abort the current run; [`Event::Ran`] still follows.
    Abort,
    /// Restore the settings.
    Restore,
    End,
}

/// A run whose clock deviates from the arm's median by more than this share is discarded.
const CLOCK: f64 = 0.1;
/// Consecutive rounds with errors after which it ends.
const ERRORS: u32 = 3;

/// A running experiment.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    account: Account,
    random: Random,
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
    /// Minimum number of counted rounds.
    wanted_rounds: u32,
    stopping: bool,
    /// An error that ends it once the settings are restored.
    failed: Option<String>,
}

impl Driver {
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            random: Random::new(plan.terms.seed),
            clocks: vec![Vec::new(); plan.arms.len()],
            most_time: plan.terms.most_time,
            wanted_rounds: plan.terms.least_rounds,
            account: Account::new(plan),
            left: Vec::new(),
            now: Vec::new(),
            spoilt: None,
            errors: 0,
            stopping: false,
            failed: None,
        }
    }

    pub(crate) const fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn step(&mut self, event: Event) -> Vec<Action> {
        match (event, self.account.phase) {
            (Event::Begin, _) => {
                self.shuffle();
                self.next_arm()
            }
            (Event::SetUp(Ok(())), Phase::SettingUp(arm)) if !self.stopping => {
                self.account.phase = Phase::Running(arm);
                vec![Action::Run(Box::new(self.workload(arm)))]
            }
            (Event::SetUp(result), Phase::SettingUp(arm)) => {
                if let Err(why) = result {
                    self.error(arm, why.to_string());
                }
                self.restore(arm)
            }
            (Event::Ran(result), Phase::Running(arm)) => {
                match result {
                    Ok(ran) => self.take(arm, &ran),
                    Err(why) if !self.stopping => self.error(arm, why.to_string()),
                    Err(_) => {}
                }
                self.restore(arm)
            }
            (Event::Restored(result, at), Phase::Restoring(_)) => self.restored(result, at),
            (Event::Stop, phase) => {
                self.stopping = true;
                if matches!(phase, Phase::Running(_)) { vec![Action::Abort] } else { Vec::new() }
            }
            (Event::Longer(time), Phase::Ended) if self.can_go_on() => {
                self.most_time += time;
                let rounds = time.as_secs_f64() / self.account.plan.round_time().as_secs_f64().max(1e-3);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count of rounds"
                )]
                let rounds = rounds.clamp(1.0, 1e6) as u32;
                self.wanted_rounds = self.account.rounds + rounds;
                self.stopping = false;
                self.account.ending = None;
                self.account.restored = None;
                self.begin_round();
                self.next_arm()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn can_go_on(&self) -> bool {
        !matches!(self.account.ending, Some(Ending::Failed(_)) | None)
    }

    fn restore(&mut self, arm: usize) -> Vec<Action> {
        self.account.phase = Phase::Restoring(arm);
        vec![Action::Restore]
    }

    fn restored(&mut self, result: Result<(), Failed>, at: Duration) -> Vec<Action> {
        if let Err(why) = result {
            // Without the restored setting, later runs would not be comparable.
            return self.end(Ending::Failed(why.to_string()), false);
        }
        if let Some(why) = self.failed.take() {
            return self.end(Ending::Failed(why), true);
        }
        if self.stopping {
            return self.end(Ending::Stopped, true);
        }
        if !self.left.is_empty() {
            return self.next_arm();
        }
        self.end_round();
        if self.is_narrow() {
            return self.end(Ending::Narrow, true);
        }
        // No round starts that would end after the time limit.
        if at + self.account.plan.round_time() > self.most_time && self.account.round > 0 {
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
        self.account.conclude();
        vec![Action::End]
    }

    fn is_narrow(&self) -> bool {
        self.account.rounds >= self.wanted_rounds
            && self.account.width().is_some_and(|width| width <= self.account.narrow())
    }

    fn begin_round(&mut self) {
        self.account.round += 1;
        self.shuffle();
    }

    fn shuffle(&mut self) {
        self.now.clear();
        self.spoilt = None;
        let order = self.random.order(self.account.arms.len());
        let takes_part = |arm: &usize| self.account.arms[*arm].left_out.is_none();
        self.left = order.into_iter().filter(takes_part).collect();
    }

    fn next_arm(&mut self) -> Vec<Action> {
        let Some(arm) = self.left.pop() else { return Vec::new() };
        self.account.phase = Phase::SettingUp(arm);
        vec![Action::SetUp(arm)]
    }

    /// The arm's workload with times and its own seed, so that no two runs read the same sequence of blocks.
    fn workload(&mut self, arm: usize) -> Workload {
        let terms = &self.account.plan.terms;
        Workload {
            runtime: Some(terms.measured),
            ramp: terms.warm_up,
            seed: self.random.number(),
            ..self.account.plan.arms[arm].workload.clone()
        }
    }

    fn take(&mut self, arm: usize, ran: &Ran) {
        if self.stopping {
            return;
        }
        let errors: u64 = ran.run.targets.iter().map(|target| target.errors).sum();
        if errors > 0 {
            let first = ran.run.targets.iter().find_map(|target| target.first_error.as_ref());
            let why =
                first.map_or_else(|| format!("{} failed", counted(errors, "read")), ToString::to_string);
            self.error(arm, why);
            return;
        }
        match Run::of(self.account.round, self.account.plan.metric, &ran.run) {
            Some(run) => self.now.push((arm, run)),
            None => self.error(arm, format!("has no figure for {}", self.account.plan.metric.name())),
        }
        let usual = median(&self.clocks[arm]);
        if let Some(clock) = ran.clock {
            self.clocks[arm].push(clock);
        }
        let changed = ran.clock.zip(usual).filter(|(clock, usual)| (clock / usual - 1.0).abs() > CLOCK);
        let clock = changed.map(|(clock, usual)| {
            format!("the CPUs ran at {:.2} GHz instead of {:.2}", clock / 1e6, usual / 1e6)
        });
        if let Some(why) = ran.disturbed.first().cloned().or(clock) {
            self.spoilt.get_or_insert((arm, why));
        }
    }

    /// A step of this arm failed: in the warm-up round the arm is dropped, later the round is discarded.
    fn error(&mut self, arm: usize, why: String) {
        let failed = format!("{}: {why}", self.account.plan.arms[arm].label);
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
                self.failed = Some(failed);
            }
            // An error takes precedence over a disturbance.
            self.spoilt = Some((arm, why));
            self.left.clear();
        }
    }

    /// Discards the round if it is spoilt.
    fn throw_out(&mut self) -> bool {
        let spoilt = self.spoilt.take().filter(|_| self.account.round > 0);
        let Some((arm, why)) = spoilt else { return false };
        let arm = self.account.plan.arms[arm].label.clone();
        self.account.thrown_out.push(ThrownOut { round: self.account.round, arm, why });
        true
    }

    fn end_round(&mut self) {
        if self.throw_out() || self.account.round == 0 {
            return;
        }
        self.errors = 0;
        for (arm, run) in self.now.drain(..) {
            self.account.arms[arm].runs.push(run);
        }
        self.account.rounds += 1;
        self.account.conclude();
        self.account.widths.extend(self.account.width());
    }
}

#[cfg(test)]
mod tests;
