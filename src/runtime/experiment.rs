//! [`RunningExperiment`]: settings through a [`SettingsGuard`], reads through a [`Run`], for the screen and the command line.

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    access,
    clock::Clock,
    run::{Ended, LOOK, Rows, Run},
    session::TestFiles,
    startup,
};
use crate::{
    engine::{Engine, EngineError, RealEngine},
    experiment::{
        Account, Action, Arm, Assignment, Driver, Event, Plan, Ran, StoppedBy, Surroundings,
        measured_gain::measured_gains,
    },
    machine::Machine,
    model::{Failed, Limits, PageCache, Problem, RunSample, RunState, Workload},
    source::{self, SysRoot},
    tune::{
        Outcome, SettingsGuard, SettingsService, Wanted,
        cpu_dma_latency::{self, CpuDmaLatency},
        settings, tuner,
    },
};

use pages::{FromDevices, OwnPages};
use trial::Trial;

mod pages;
mod trial;

/// The engine of an experiment.
enum Reader {
    /// One for all arms.
    Engine(Arc<dyn Engine>),
    /// The simulated drives of a demo with the settings of each arm.
    Demo(Vec<Option<Arc<dyn Engine>>>),
}

/// An experiment in progress. Dropped, it stops reading and restores every setting.
pub(super) struct RunningExperiment {
    service: Arc<SettingsService>,
    root: Arc<dyn SysRoot>,
    clock: Clock,
    /// Before the experiment.
    machine: Arc<Machine>,
    reader: Reader,
    driver: Driver,
    todo: VecDeque<Action>,
    /// Whether targets can be read, before the first setting is written.
    trial: Option<Trial>,
    // Fields are dropped in this order: no read is in flight when settings are restored.
    run: Option<Run>,
    /// Clock of the CPUs in the middle of the run.
    cpu_clock: Option<f64>,
    /// What buffered runs find in the page cache, and leave there.
    pages: OwnPages,
    from_devices: FromDevices,
    /// When the run began, since the start.
    run_began: Duration,
    /// Bytes per second of the fastest run: other I/O is measured against it, so that slow arms are not judged harder.
    fastest: f64,
    awake: Option<CpuDmaLatency>,
    guard: Option<SettingsGuard>,
    arm: usize,
    begun: Option<Instant>,
    /// Start in Unix seconds; 0 where time is counted.
    pub(super) started: i64,
    /// Files that were laid out for it.
    files: TestFiles,
}

impl RunningExperiment {
    /// An experiment on this machine or on a demo. Counters and clocks are read from `root`.
    pub fn new(
        mut plan: Plan,
        service: &Arc<SettingsService>,
        root: &Arc<dyn SysRoot>,
        clock: Clock,
    ) -> Self {
        let machine = Arc::new(service.read().0);
        let reader = if plan.simulated {
            Reader::Demo(vec![None; plan.arms.len()])
        } else {
            Reader::Engine(Arc::new(RealEngine::on(&machine)))
        };
        let (mut pages, mut trial) = (OwnPages::default(), None);
        if let Reader::Engine(engine) = &reader {
            // Before the checks: that of `uncached` reads a block through the page cache.
            pages = OwnPages::of(&plan);
            plan.arms.retain(|arm| !arm.optional || engine.check(&arm.workload).is_ok());
            trial = Some(Trial::start(engine, &plan));
        }
        let started = if plan.simulated { 0 } else { startup::unix_millis() / 1000 };
        let mut driver = Driver::new(plan);
        let todo = driver.step(Event::Begin).into();
        Self {
            service: Arc::clone(service),
            root: Arc::clone(root),
            clock,
            machine,
            reader,
            driver,
            todo,
            trial,
            run: None,
            cpu_clock: None,
            pages,
            from_devices: FromDevices::default(),
            run_began: Duration::ZERO,
            fastest: 0.0,
            awake: None,
            guard: None,
            arm: 0,
            begun: None,
            started,
            files: TestFiles::default(),
        }
    }

    pub const fn account(&self) -> &Account {
        self.driver.account()
    }

    /// Carries out the actions that are due.
    pub fn look(&mut self) {
        self.begun.get_or_insert_with(|| self.clock.now());
        if let Some(event) = self.look_at_run() {
            self.step(event);
        }
        if self.trial.as_ref().is_some_and(Trial::goes_on) {
            return;
        }
        if let Some(Err(error)) = self.trial.take().map(Trial::result) {
            let why = self.failed(error);
            self.todo.clear();
            self.step(Event::Unreadable(why));
        }
        while let Some(action) = self.todo.pop_front() {
            if let Some(event) = self.carry_out(action) {
                self.step(event);
            }
        }
    }

    /// Ends it early; looks are needed until it has ended.
    pub fn stop(&mut self, by: StoppedBy) {
        // A read that hangs is not waited for.
        self.trial = None;
        self.step(Event::Stop(by));
    }

    /// Gives it more time after its end.
    pub fn longer(&mut self, time: Duration) {
        self.step(Event::Longer(time, self.elapsed()));
    }

    /// Time since it began.
    pub fn elapsed(&self) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| self.clock.now().saturating_duration_since(begun))
    }

    /// The latest sample of the run in progress.
    pub fn sample(&self) -> Option<RunSample> {
        self.run.as_ref().map(Run::sample)
    }

    fn step(&mut self, event: Event) {
        let actions = self.driver.step(event);
        self.todo.extend(actions);
    }

    fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            // Stopped before its targets were tried.
            Action::SetUp(_) if self.driver.is_stopping() => return Some(Event::SetUp(Ok(()))),
            Action::SetUp(arm) => return Some(Event::SetUp(self.set_up(arm))),
            Action::Run(workload) => {
                self.run_began = self.elapsed();
                match self.start(*workload) {
                    Ok(run) => self.run = Some(run),
                    Err(error) => return Some(Event::Ran(Err(self.failed(error)), self.run_began)),
                }
            }
            Action::Abort => {
                if let Some(run) = &self.run {
                    run.stop();
                }
            }
            Action::Restore => {
                let restored = self.restore();
                return Some(Event::Restored(restored, self.elapsed()));
            }
            Action::End => {
                self.note();
                // The restore before has reported errors; the session ends in any case.
                let _ = self.guard.take().map(SettingsGuard::end);
                // More rounds would lay files out again.
                self.files = TestFiles::default();
            }
        }
        None
    }

    /// Notes the measured gain of the winner's settings, for `tune export`.
    fn note(&self) {
        let Some(guard) = &self.guard else { return };
        let found = |set: &Assignment| {
            let row = settings::find(set.setting.0)?;
            Some((row.read)(&self.machine, &set.device).first()?.value()?.text.to_string())
        };
        for measured in measured_gains(self.account(), found) {
            let Assignment { device, setting, value } = measured.winner;
            // Without the note an exported rule only lacks a comment.
            let _ = guard.note(&device, setting, [measured.old, value, measured.words]);
        }
    }

    fn set_up(&mut self, arm: usize) -> Result<(), Failed> {
        self.arm = arm;
        let Arm { settings, awake, workload, .. } = self.driver.account().plan.arms[arm].clone();
        // Nothing is changed for a test that cannot run.
        if let Reader::Engine(engine) = &self.reader {
            engine.check(&workload).map_err(|error| self.failed(error))?;
        }
        if awake {
            let failed = |error: io::Error| {
                Failed::new(format!("{}: {error}", cpu_dma_latency::FILE), error.raw_os_error())
            };
            self.awake = Some(CpuDmaLatency::hold().map_err(failed)?);
        }
        if settings.is_empty() {
            return Ok(());
        }
        let wanted = settings.iter().map(|set| {
            let row = settings::find(set.setting.0)
                .ok_or_else(|| Failed::new(format!("{}: no such setting", set.setting.0), None))?;
            Ok(Wanted::new(set.device.clone(), row, set.value.clone()))
        });
        let wanted = wanted.collect::<Result<Vec<_>, Failed>>()?;
        if self.guard.is_none() {
            self.guard = Some(self.service.guard()?);
        }
        let Some(guard) = &self.guard else { return Ok(()) };
        let made = guard.set(&wanted)?;
        match made.iter().find(|(_, outcome)| *outcome != Outcome::Accepted) {
            Some((change, outcome)) => {
                let line = format!("{} {}={}: {outcome}", change.device, change.setting.0, change.to);
                Err(Failed::new(line, None))
            }
            None => Ok(()),
        }
    }

    fn start(&mut self, workload: Workload) -> Result<Run, EngineError> {
        let free_memory = self.driver.account().plan.arms[self.arm].free_memory;
        let engine = match &mut self.reader {
            Reader::Engine(engine) => engine,
            Reader::Demo(arms) => {
                arms[self.arm].get_or_insert_with(|| demo_engine(self.service.read(), free_memory))
            }
        };
        self.cpu_clock = None;
        self.from_devices = FromDevices::default();
        // One row, from the first counted read to the end.
        let rows = (!engine.simulated()).then(|| Rows::of(&self.root, Duration::MAX));
        let (engine, files) = (Arc::clone(engine), self.files.clone());
        Run::start(engine, workload, &self.machine, files, self.clock.clone(), rows)
    }

    fn restore(&mut self) -> Result<(), Failed> {
        self.awake = None;
        let Some(guard) = &self.guard else { return Ok(()) };
        let report = guard.restore()?;
        if tuner::is_whole(&report) {
            return Ok(());
        }
        let lines = crate::report::tune::restored(&report, "");
        let failed = Failed::new(lines.lines().collect::<Vec<_>>().join("; "), None);
        Err(failed.advised(report.iter().any(|(_, what)| what.is_advised())))
    }

    /// Looks at the run in progress; its result when it has ended.
    fn look_at_run(&mut self) -> Option<Event> {
        let half = self.account().plan.terms.measured / 2;
        let look = self.run.as_mut()?.look(false);
        if !self.driver.account().plan.arms[self.arm].workload.direct {
            self.from_devices.look(&*self.root, &look.sample);
        }
        let counts = look.sample.state == RunState::Running && !look.sample.simulated;
        if self.cpu_clock.is_none() && counts && look.sample.at >= half {
            self.cpu_clock = source::counters::fastest_clock(&*self.root);
        }
        if !look.ends {
            return None;
        }
        let ended = self.run.take()?.finish().map_err(|error| self.failed(error));
        Some(Event::Ran(ended.map(|ended| Box::new(self.ran(ended))), self.run_began))
    }

    /// An error of a run; where drives may not be read, with files that can be.
    fn failed(&self, error: EngineError) -> Failed {
        access::failed(&self.machine, &self.account().plan.targets, error)
    }

    /// A finished run with what else happened meanwhile.
    fn ran(&mut self, ended: Ended) -> Ran {
        let Ended { run, watch, .. } = ended;
        if run.simulated {
            return Ran { run, disturbed: Vec::new(), surroundings: Surroundings::default() };
        }
        // Temperatures are those of now. Busy CPUs and files of zeros are the same in every round.
        let machine = self.service.read().0;
        self.fastest = self.fastest.max(run.bytes_per_second());
        let disturbed = watch.disturbed(&machine, &run, self.fastest).into_iter().flatten().collect();
        let from_cache = self.from_devices.cached_share(&*self.root, &run);
        self.pages.drop_pages();
        let others = watch.surroundings(&machine, &run);
        let surroundings = Surroundings { cpu_khz: self.cpu_clock, from_cache, ..others };
        Ran { run, disturbed, surroundings }
    }
}

/// Carries an experiment out to its end, or until `stopped_by` says what stops it; a demo's time is counted. Its account, and its
/// start in Unix seconds.
pub fn run(
    plan: Plan,
    service: &Arc<SettingsService>,
    root: &Arc<dyn SysRoot>,
    mut stopped_by: impl FnMut(&Account) -> Option<StoppedBy>,
) -> (Account, i64) {
    const COUNTED: Duration = Duration::from_millis(300);
    let (clock, step) = (Clock::of(plan.simulated), if plan.simulated { COUNTED } else { LOOK });
    let mut running = RunningExperiment::new(plan, service, root, clock.clone());
    let mut stopped = false;
    while !running.account().has_ended() {
        running.look();
        if let Some(by) = stopped_by(running.account()).filter(|_| !std::mem::replace(&mut stopped, true)) {
            running.stop(by);
        }
        clock.pass(step);
    }
    (running.account().clone(), running.started)
}

/// The simulated drives of a demo with its current settings, and with free memory for the page cache if asked.
fn demo_engine(read: (Machine, Vec<Problem>), free_memory: bool) -> Arc<dyn Engine> {
    let mut read = startup::with_limits(read);
    if free_memory {
        read.limits = Arc::new(Limits { page_cache: PageCache::Free, ..(*read.limits).clone() });
    }
    startup::simulated(&read)
}

#[cfg(test)]
mod tests;
