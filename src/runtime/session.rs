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
    load::{Engine, LaidOut, LoadError, Running, lay_out},
    model::{RunSample, RunState, RunSummary, TargetSample, Workload},
    text::Label,
    units::Bytes,
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
    /// Whether files laid out stay.
    keep: bool,
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
    Running(Box<dyn Running>, Vec<LaidOut>),
    Failed(LoadError),
    /// Summed up already.
    Over,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Preparing { .. } => "Preparing",
            Self::Running(..) => "Running",
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
        Self::begin(engine, workload, false)
    }

    /// The same, but files laid out for it stay.
    pub fn start_and_keep(engine: Arc<dyn Engine>, workload: Workload) -> Self {
        Self::begin(engine, workload, true)
    }

    fn begin(engine: Arc<dyn Engine>, workload: Workload, keep: bool) -> Self {
        let shared = Arc::new(Shared {
            simulated: engine.simulated(),
            keep,
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
            State::Running(running, _) => running.sample(now()),
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
            State::Running(running, _) => running.pause(now()),
            State::Preparing { hold, .. } => *hold = true,
            State::Failed(_) | State::Over => {}
        }
    }

    /// Lets them go on.
    pub fn resume(&self) {
        match &mut *self.shared.lock() {
            State::Running(running, _) => running.resume(now()),
            State::Preparing { hold, .. } => *hold = false,
            State::Failed(_) | State::Over => {}
        }
    }

    /// Ends the test before its time.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let State::Running(running, _) = &mut *self.shared.lock() {
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
            State::Running(running, laid_out) => {
                let summary = running.finish(now());
                drop(laid_out);
                Ok(summary)
            }
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
            batch: String::new(),
            at: Duration::ZERO,
            state,
            preparing,
            targets: targets.collect(),
            simulated: self.simulated,
        }
    }
}

/// Everything before the first read, and setting it going.
fn prepare(shared: &Shared, engine: &dyn Engine) {
    let started = shared.workload.validate().map_err(LoadError::from).and_then(|()| {
        let laid_out = if shared.simulated { Vec::new() } else { lay_out_missing(shared)? };
        if shared.stopped() {
            return Err(LoadError::Stopped);
        }
        Ok((engine.start(&shared.workload, now())?, laid_out))
    });
    let mut state = shared.lock();
    let hold = matches!(*state, State::Preparing { hold: true, .. });
    *state = match started {
        Ok((mut running, laid_out)) => {
            if hold {
                running.pause(now());
            }
            if shared.stopped() {
                running.stop(now());
            }
            State::Running(running, laid_out)
        }
        Err(error) => State::Failed(error),
    };
}

/// Lays out the targets that are not there, if the workload says how big: `--filename PATH --size 1G`.
fn lay_out_missing(shared: &Shared) -> Result<Vec<LaidOut>, LoadError> {
    let Some(size) = shared.workload.size else { return Ok(Vec::new()) };
    let size = Bytes(size.0.saturating_add(shared.workload.offset.0));
    let mut laid_out = Vec::new();
    for target in &shared.workload.targets {
        let path = target.path.as_path();
        // What a path into /dev names is a device that is not there, never a file to be made.
        if path.starts_with("/dev") || !matches!(path.try_exists(), Ok(false)) {
            continue;
        }
        let name = Label::new(&path.to_string_lossy());
        laid_out.push(lay_out(path, size, shared.workload.seed, shared.keep, &mut |done| {
            if let State::Preparing { busy_with, .. } = &mut *shared.lock() {
                *busy_with = format!("laying out {name}, {} of {} MiB", done.0 >> 20, size.0 >> 20);
            }
            !shared.stopped()
        })?);
    }
    Ok(laid_out)
}

/// The clock that runs are timed by.
#[expect(clippy::disallowed_methods, reason = "the session is where a run's clock is read")]
pub fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load::RealEngine, model::Target};

    fn workload(path: std::path::PathBuf) -> Workload {
        Workload {
            targets: vec![Target { path, drive: None }],
            // Long enough to be seen running on a machine that is busy with other tests.
            runtime: Some(Duration::from_secs(2)),
            size: Some(Bytes(16 << 20)),
            ..Workload::default()
        }
    }

    fn wait_for(session: &Session, what: impl Fn(&RunSample) -> bool) -> RunSample {
        loop {
            let sample = session.sample();
            if what(&sample) {
                return sample;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_missing_file_is_laid_out_read_and_removed() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("iodyno.test");
        let session = Session::start(Arc::new(RealEngine::default()), workload(path.clone()));
        wait_for(&session, |sample| sample.state == RunState::Running);
        assert!(path.exists());
        wait_for(&session, |sample| sample.state == RunState::Ended);
        let summary = session.finish().unwrap();
        assert!(summary.targets[0].ios > 0 && !summary.interrupted);
        assert!(!path.exists());
    }

    #[test]
    fn stopping_is_quick_in_every_state_and_leaves_no_file() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("iodyno.test");
        let mut long = workload(path.clone());
        long.runtime = None;
        long.size = Some(Bytes(1 << 30));
        let laying_out = Session::start(Arc::new(RealEngine::default()), long.clone());
        wait_for(&laying_out, |sample| sample.preparing.as_ref().is_some_and(|p| p.contains("laying out")));
        assert_eq!(laying_out.finish().unwrap_err(), LoadError::Stopped);
        assert!(!path.exists());

        long.size = Some(Bytes(16 << 20));
        long.runtime = Some(Duration::from_secs(100));
        let running = Session::start(Arc::new(RealEngine::default()), long);
        wait_for(&running, |sample| sample.state == RunState::Running);
        running.pause();
        running.resume();
        running.stop();
        assert!(running.finish().unwrap().interrupted);
        assert!(!path.exists());
    }

    #[test]
    fn a_test_that_cannot_run_ends_at_once_and_says_why() {
        let session = Session::start(Arc::new(RealEngine::default()), workload("/nowhere/file".into()));
        wait_for(&session, |sample| sample.state == RunState::Ended);
        let error = session.finish().unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/file: ") && error.contains("ENOENT"), "{error}");
        drop(Session::start(Arc::new(RealEngine::default()), Workload::default()));
    }
}
