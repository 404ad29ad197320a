//! [`Session`]: one test from the first check of its targets to its summary, for the screen and the command line alike.
//!
//! Here: the thread that prepares, and what happens between start and summary. Not here: reading (`load`), drawing,
//! deciding what to run.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    load::{Engine, LoadError, Running},
    model::{RunSample, RunState, RunSummary, TargetSample, Workload},
    text::Label,
};

/// A test under way. Nothing but [`Session::finish`] blocks. Dropping it stops the test and puts everything back.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    preparing: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    workload: Workload,
    simulated: bool,
    /// Asked to stop: preparations look at it between steps.
    stop: AtomicBool,
    state: Mutex<State>,
}

enum State {
    /// The preparing thread is at work, on this.
    Preparing {
        busy_with: String,
        hold: bool,
    },
    Running(Box<dyn Running>),
    Failed(LoadError),
    /// Summed up already.
    Over,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Preparing { .. } => "Preparing",
            Self::Running(_) => "Running",
            Self::Failed(_) => "Failed",
            Self::Over => "Over",
        })
    }
}

impl Session {
    /// Starts a test: a thread of its own prepares it and sets it going.
    ///
    /// A test that cannot run ends at once; [`Session::finish`] then says why.
    pub fn start(engine: Arc<dyn Engine>, workload: Workload) -> Self {
        let shared = Arc::new(Shared {
            simulated: engine.simulated(),
            stop: AtomicBool::new(false),
            state: Mutex::new(State::Preparing { busy_with: "opening the targets".to_owned(), hold: false }),
            workload,
        });
        let preparing = thread::spawn({
            let shared = Arc::clone(&shared);
            move || prepare(&shared, &*engine)
        });
        Self { shared, preparing: Some(preparing) }
    }

    /// A look at the test; [`RunState::Ended`] when there is nothing left but to [`Session::finish`] it.
    pub fn sample(&self) -> RunSample {
        match &mut *self.shared.lock() {
            State::Running(running) => running.sample(now()),
            State::Preparing { busy_with, .. } => {
                self.shared.blank(RunState::Preparing, Some(busy_with.clone()))
            }
            State::Failed(_) | State::Over => self.shared.blank(RunState::Ended, None),
        }
    }

    /// What is being tested.
    pub fn workload(&self) -> &Workload {
        &self.shared.workload
    }

    /// Holds the workers.
    pub fn pause(&self) {
        match &mut *self.shared.lock() {
            State::Running(running) => running.pause(now()),
            State::Preparing { hold, .. } => *hold = true,
            State::Failed(_) | State::Over => {}
        }
    }

    /// Lets them go on.
    pub fn resume(&self) {
        match &mut *self.shared.lock() {
            State::Running(running) => running.resume(now()),
            State::Preparing { hold, .. } => *hold = false,
            State::Failed(_) | State::Over => {}
        }
    }

    /// Ends the test before its time.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let State::Running(running) = &mut *self.shared.lock() {
            running.stop(now());
        }
    }

    /// Stops what still runs and sums up.
    pub fn finish(mut self) -> Result<RunSummary, LoadError> {
        self.conclude()
    }

    fn conclude(&mut self) -> Result<RunSummary, LoadError> {
        self.stop();
        if let Some(thread) = self.preparing.take() {
            // A panic there left its mark in the state already: nothing runs.
            let _ = thread.join();
        }
        let state = std::mem::replace(&mut *self.shared.lock(), State::Over);
        match state {
            State::Running(running) => Ok(running.finish(now())),
            State::Failed(error) => Err(error),
            State::Preparing { .. } | State::Over => Err(LoadError::Stopped),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.preparing.is_some() {
            let _ = self.conclude();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A sample before or after anything could be counted.
    fn blank(&self, state: RunState, preparing: Option<String>) -> RunSample {
        let targets = self.workload.targets.iter().map(|target| TargetSample {
            name: Label::new(&target.path.to_string_lossy()),
            drive: target.drive.clone(),
            ios: 0,
            bytes: 0,
            errors: 0,
            latency: crate::model::LatencySummary::default(),
            failed: None,
        });
        RunSample {
            at: Duration::ZERO,
            state,
            preparing,
            targets: targets.collect(),
            simulated: self.simulated,
        }
    }
}

fn prepare(shared: &Shared, engine: &dyn Engine) {
    let started = shared.workload.validate().map_err(LoadError::from).and_then(|()| {
        if shared.stopped() {
            return Err(LoadError::Stopped);
        }
        engine.start(&shared.workload, now())
    });
    let mut state = shared.lock();
    let hold = matches!(*state, State::Preparing { hold: true, .. });
    *state = match started {
        Ok(mut running) => {
            if hold {
                running.pause(now());
            }
            if shared.stopped() {
                running.stop(now());
            }
            State::Running(running)
        }
        Err(error) => State::Failed(error),
    };
}

#[expect(clippy::disallowed_methods, reason = "the session is where a run's clock is read")]
fn now() -> Instant {
    Instant::now()
}
