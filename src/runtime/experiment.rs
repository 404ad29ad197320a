//! [`Underway`]: an experiment carried out: settings through a hold on the desk, reads through a session, looks at what
//! disturbs them. The same for the screen and for the command line.
//!
//! Here: doing what `experiment::Driver` says, in its order. Not here: what comes next (the driver), the thread beside
//! the screen ([`proving`](super::proving)).
//!
//! The time is an argument: on a demo it is counted, so that simulated reads take none.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    desk::{Desk, Hold, unix_millis},
    opening,
    session::Session,
};
use crate::{
    counters::{self, Counters},
    experiment::{Account, Action, Arm, Assignment, Driver, Event, Plan, driver::Ran, worth::worth},
    findings::validity::{OwnReads, Watch},
    load::{Engine, LaidOut, LoadError, RealEngine, Running, lay_out},
    machine::Machine,
    model::{RunSample, RunState, RunSummary, Workload},
    source::{self, SysRoot},
    tune::{Outcome, Wanted, awake::Awake, settings, tuner},
};

/// Between two looks at a run.
pub const LOOK: Duration = Duration::from_millis(25);

/// What reads for an experiment.
pub enum Reader {
    /// This engine, whatever the settings are: the kernel's, or one of a test.
    Engine(Arc<dyn Engine>),
    /// The simulated drives of the desk's demo, made anew from its settings for each arm.
    Demo,
}

/// An experiment under way. Dropped, it stops reading and puts every setting back.
pub struct Underway<'a> {
    desk: &'a Desk,
    root: &'a dyn SysRoot,
    /// As it was before.
    machine: Arc<Machine>,
    reader: Reader,
    driver: Driver,
    todo: VecDeque<Action>,
    // Fields are dropped in this order: no read is under way when settings are put back.
    test: Option<Test>,
    awake: Option<Awake>,
    hold: Option<Hold<'a>>,
    /// A demo's drives by arm, once that arm was set up.
    simulated: Vec<Option<Arc<dyn Engine>>>,
    arm: usize,
    begun: Option<Instant>,
    /// Unix seconds of its beginning; 0 where time is counted.
    started: i64,
    /// Files that were laid out for it.
    laid_out: Vec<LaidOut>,
}

/// A run under way.
struct Test {
    kind: Kind,
    /// A look when it had begun to count.
    before: Option<Look>,
    clock: Option<f64>,
}

/// What was counted at one moment, by the test and by the kernel.
struct Look {
    at: Instant,
    sample: RunSample,
    counters: Counters,
}

enum Kind {
    Real(Session),
    Simulated(Box<dyn Running>),
}

impl<'a> Underway<'a> {
    /// An experiment that is about to begin. `root` is where counters and clocks are read.
    pub fn new(
        plan: Plan,
        desk: &'a Desk,
        root: &'a dyn SysRoot,
        machine: Arc<Machine>,
        reader: Reader,
    ) -> Self {
        let arms = plan.arms.len();
        let started = if plan.simulated { 0 } else { unix_millis() / 1000 };
        let mut driver = Driver::new(plan);
        let todo = driver.step(Event::Begin).into();
        Self {
            desk,
            root,
            machine,
            reader,
            driver,
            todo,
            test: None,
            awake: None,
            hold: None,
            simulated: vec![None; arms],
            arm: 0,
            begun: None,
            started,
            laid_out: Vec::new(),
        }
    }

    /// On this machine, or on a demo.
    pub fn on(plan: Plan, desk: &'a Desk, root: &'a dyn SysRoot) -> Self {
        let machine = desk.read().machine;
        let reader =
            if plan.simulated { Reader::Demo } else { Reader::Engine(Arc::new(RealEngine::on(&machine))) };
        Self::new(plan, desk, root, machine, reader)
    }

    /// Unix seconds of its beginning; 0 where time is counted.
    pub const fn started(&self) -> i64 {
        self.started
    }

    /// Where it stands.
    pub const fn account(&self) -> &Account {
        self.driver.account()
    }

    /// Does what is to be done at `now`; whether something came of it.
    pub fn look(&mut self, now: Instant) -> bool {
        let begun = *self.begun.get_or_insert(now);
        let mut moved = false;
        if let Some(event) = self.look_at_test(now) {
            moved = true;
            self.step(event);
        }
        while let Some(action) = self.todo.pop_front() {
            moved = true;
            if let Some(event) = self.carry_out(action, now, now.saturating_duration_since(begun)) {
                self.step(event);
            }
        }
        moved
    }

    /// Ends it before its time; looks are needed until it has ended.
    pub fn stop(&mut self) {
        self.step(Event::Stop);
    }

    /// Gives it more time after its end.
    pub fn longer(&mut self, time: Duration) {
        self.step(Event::Longer(time));
    }

    /// Time since it began.
    pub fn elapsed(&self, now: Instant) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| now.saturating_duration_since(begun))
    }

    /// What the run under way has read so far.
    pub fn sample(&mut self, now: Instant) -> Option<RunSample> {
        match &mut self.test.as_mut()?.kind {
            Kind::Real(session) => Some(session.sample()),
            Kind::Simulated(running) => Some(running.sample(now)),
        }
    }

    fn step(&mut self, event: Event) {
        let actions = self.driver.step(event);
        self.todo.extend(actions);
    }

    fn carry_out(&mut self, action: Action, now: Instant, at: Duration) -> Option<Event> {
        match action {
            Action::SetUp(arm) => Some(Event::SetUp(self.set_up(arm))),
            Action::Run(workload) => match self.start(*workload, now) {
                Ok(kind) => {
                    self.test = Some(Test { kind, before: None, clock: None });
                    None
                }
                Err(error) => Some(Event::Ran(Err(error.to_string()))),
            },
            Action::Abort => {
                match self.test.as_mut().map(|test| &mut test.kind) {
                    Some(Kind::Real(session)) => session.stop(),
                    Some(Kind::Simulated(running)) => running.stop(now),
                    None => {}
                }
                None
            }
            Action::Restore => Some(Event::Restored(self.restore(), at)),
            Action::End => {
                self.note();
                // What could not be put back was told by the restore before; the session ends all the same.
                let _ = self.hold.take().map(Hold::end);
                None
            }
        }
    }

    /// Notes what the winner's settings are worth, for whoever makes them last.
    fn note(&self) {
        let Some(hold) = &self.hold else { return };
        let found = |set: &Assignment| {
            let row = settings::find(set.setting.0)?;
            Some((row.read)(&self.machine, &set.device).first()?.value()?.text.to_string())
        };
        // Without the note a rule only lacks a comment.
        let _ = hold.note(&worth(self.account(), found));
    }

    fn set_up(&mut self, arm: usize) -> Result<(), String> {
        self.arm = arm;
        let Arm { settings, awake, .. } = self.driver.account().plan.arms[arm].clone();
        if awake {
            let failed = |error| format!("{}: {error}", crate::tune::awake::FILE);
            self.awake = Some(Awake::hold().map_err(failed)?);
        }
        if settings.is_empty() {
            return Ok(());
        }
        let wanted = settings.iter().map(|set| {
            let row =
                settings::find(set.setting.0).ok_or_else(|| format!("{}: no such setting", set.setting.0))?;
            Ok(Wanted::new(set.device.clone(), row, set.value.clone()))
        });
        let wanted = wanted.collect::<Result<Vec<_>, String>>()?;
        if self.hold.is_none() {
            self.hold = Some(self.desk.hold().map_err(|error| error.to_string())?);
        }
        let Some(hold) = &self.hold else { return Ok(()) };
        let made = hold.set(&wanted).map_err(|error| error.to_string())?;
        match made.iter().find(|(_, outcome)| *outcome != Outcome::Accepted) {
            Some((change, outcome)) => {
                Err(format!("{} {}={}: {outcome}", change.device, change.setting.0, change.to))
            }
            None => Ok(()),
        }
    }

    fn start(&mut self, workload: Workload, now: Instant) -> Result<Kind, LoadError> {
        let engine = match &self.reader {
            Reader::Engine(engine) => Arc::clone(engine),
            Reader::Demo => {
                let desk = self.desk;
                Arc::clone(self.simulated[self.arm].get_or_insert_with(|| opening::simulated(&desk.read())))
            }
        };
        if engine.simulated() {
            return Ok(Kind::Simulated(engine.start(&workload, now)?));
        }
        self.lay_out(&workload)?;
        Ok(Kind::Real(Session::start(engine, workload)))
    }

    /// Files that are not there are laid out once for all runs.
    fn lay_out(&mut self, workload: &Workload) -> Result<(), LoadError> {
        let Some(size) = workload.size else { return Ok(()) };
        for target in &workload.targets {
            let missing = matches!(target.path.try_exists(), Ok(false)) && !target.path.starts_with("/dev");
            if missing {
                self.laid_out.push(lay_out(&target.path, size, workload.seed, false, &mut |_| true)?);
            }
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<(), String> {
        self.awake = None;
        let Some(hold) = &self.hold else { return Ok(()) };
        let report = hold.restore().map_err(|error| error.to_string())?;
        if tuner::is_whole(&report) {
            return Ok(());
        }
        Err(crate::report::tune::restored(&report, false).lines().collect::<Vec<_>>().join("; "))
    }

    /// Looks at the run under way; what came of it when it has ended.
    fn look_at_test(&mut self, now: Instant) -> Option<Event> {
        let sample = self.sample(now)?;
        let is_real = matches!(self.test.as_ref()?.kind, Kind::Real(_));
        if sample.state == RunState::Running && is_real {
            let root = self.root;
            let half = self.account().plan.terms.measured / 2;
            let test = self.test.as_mut()?;
            let look = || {
                let counters = source::counters::read_without_idle_states(root);
                Look { at: super::now(), sample: sample.clone(), counters }
            };
            test.before.get_or_insert_with(look);
            if test.clock.is_none() && sample.at >= half {
                test.clock = source::clock::read(root);
            }
        }
        if sample.state != RunState::Ended {
            return None;
        }
        let test = self.test.take()?;
        let run = match test.kind {
            Kind::Real(session) => session.finish(),
            Kind::Simulated(running) => Ok(running.finish(now)),
        };
        let ran = run.map_err(|error| error.to_string()).map(|run| {
            let disturbed =
                test.before.map_or_else(Vec::new, |before| self.disturbed(&before, &sample, &run));
            Box::new(Ran { run, disturbed, clock: test.clock })
        });
        Some(Event::Ran(ran))
    }

    /// What disturbed a run that has just ended, as `ended` shows it: other I/O on its drives, heat. That its processors are
    /// full, or its file holds zeros, is the same in every round.
    fn disturbed(&self, before: &Look, ended: &RunSample, run: &RunSummary) -> Vec<String> {
        let after = source::counters::read_without_idle_states(self.root);
        let elapsed = super::now().saturating_duration_since(before.at);
        let mut watch = Watch::begin(&self.machine, &run.workload);
        let rates = counters::rates(&before.counters, &after, elapsed);
        watch.take(&rates, &OwnReads::between(&before.sample, ended));
        // Heat is as it is now.
        watch.disturbed(&self.desk.read().machine, run).into_iter().flatten().collect()
    }
}

/// Carries out an experiment on a demo: its time is counted, not waited for.
pub fn simulate(plan: Plan, desk: &Desk, root: &dyn SysRoot, mut tell: impl FnMut(&Account)) -> Account {
    const STEP: Duration = Duration::from_millis(300);
    let mut underway = Underway::on(plan, desk, root);
    let mut now = super::now();
    while !underway.account().has_ended() {
        underway.look(now);
        tell(underway.account());
        now += STEP;
    }
    underway.account().clone()
}

#[cfg(test)]
mod tests;
