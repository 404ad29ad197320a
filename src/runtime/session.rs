//! [`Session`]: one run of an engine, from the first check of its targets to its summary.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{beside, clock::Clock};
use crate::{
    engine::{Engine, EngineError, LaidOut, Running, lay_out, no_thread},
    model::{LatencySummary, RunSample, RunState, RunSummary, TargetSample, Workload},
    text::Label,
    units::Bytes,
};

/// How long a stopped run waits for targets that are being opened.
const LEAVE: Duration = Duration::from_secs(1);

/// A run in progress. Only [`Session::finish`] blocks. Dropped, it stops the run and removes files laid out for it.
pub(super) struct Session {
    shared: Arc<Shared>,
    preparing: Option<JoinHandle<()>>,
}

/// Files laid out for runs; removed with the last clone unless kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestFiles {
    laid_out: Arc<Mutex<Vec<LaidOut>>>,
    keep: bool,
}

impl TestFiles {
    pub(crate) fn kept(keep: bool) -> Self {
        Self { keep, ..Self::default() }
    }
}

struct Shared {
    workload: Workload,
    simulated: bool,
    clock: Clock,
    files: TestFiles,
    /// Checked by preparations between steps.
    stop: AtomicBool,
    /// Whether all files are there and the targets are opened, which reads them.
    is_opening: AtomicBool,
    state: Mutex<State>,
}

enum State {
    /// `busy_with` is the step of the preparing thread.
    Preparing {
        busy_with: String,
        hold: bool,
    },
    Running(Box<dyn Running>),
    Failed(EngineError),
    /// Summed up already.
    Over,
}

impl Session {
    /// Starts a run. A thread prepares and starts it; simulated drives need none.
    ///
    /// # Errors
    /// An invalid workload, no thread. A failed preparation ends the run; [`Session::finish`] returns the error.
    pub fn start(
        engine: Arc<dyn Engine>,
        workload: Workload,
        files: TestFiles,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        workload.validate()?;
        let simulated = engine.simulated();
        let state = if simulated {
            State::Running(engine.start(&workload, clock.now())?)
        } else {
            State::Preparing { busy_with: "opening the targets".to_owned(), hold: false }
        };
        let (stop, state) = (AtomicBool::new(false), Mutex::new(state));
        let is_opening = AtomicBool::new(false);
        let shared = Arc::new(Shared { workload, simulated, clock, files, stop, is_opening, state });
        let preparing = (!simulated).then(|| {
            let shared = Arc::clone(&shared);
            beside::try_start(move || prepare(&shared, &*engine))
        });
        let preparing = preparing.transpose().map_err(|error| no_thread(&error))?;
        Ok(Self { shared, preparing })
    }

    /// A sample of the run; after [`RunState::Ended`] it can be finished without waiting.
    pub fn sample(&self) -> RunSample {
        match &mut *self.shared.lock() {
            State::Running(running) => running.sample(self.shared.clock.now()),
            State::Preparing { busy_with, .. } => {
                self.shared.blank(RunState::Preparing, Some(busy_with.clone()))
            }
            State::Failed(_) | State::Over => self.shared.blank(RunState::Ended, None),
        }
    }

    /// Pauses or resumes the workers.
    pub fn pause(&self, holds: bool) {
        let now = self.shared.clock.now();
        match &mut *self.shared.lock() {
            State::Running(running) if holds => running.pause(now),
            State::Running(running) => running.resume(now),
            State::Preparing { hold, .. } => *hold = holds,
            State::Failed(_) | State::Over => {}
        }
    }

    /// Ends the run early.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let State::Running(running) = &mut *self.shared.lock() {
            running.stop(self.shared.clock.now());
        }
    }

    /// Stops the run if it is in progress; its summary.
    pub fn finish(mut self) -> Result<RunSummary, EngineError> {
        self.conclude()
    }

    fn conclude(&mut self) -> Result<RunSummary, EngineError> {
        self.stop();
        if let Some(thread) = self.preparing.take() {
            if !self.shared.has_prepared(&thread) {
                // The thread stops what it may still start. Its files are removed here: the program may end before it does.
                let files = &self.shared.files.laid_out;
                drop(std::mem::take(&mut *files.lock().unwrap_or_else(PoisonError::into_inner)));
                return Err(EngineError::Stopped);
            }
            // After a panic there the state is not `Running`.
            let _ = thread.join();
        }
        let state = std::mem::replace(&mut *self.shared.lock(), State::Over);
        match state {
            State::Running(running) => Ok(running.finish(self.shared.clock.now())),
            State::Failed(error) => Err(error),
            State::Preparing { .. } | State::Over => Err(EngineError::Stopped),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.conclude();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the preparing thread: as long as it lays files out, which ends soon, and for [`LEAVE`] while it opens targets,
    /// whose first reads may hang or be many.
    fn has_prepared(&self, thread: &JoinHandle<()>) -> bool {
        const STEP: Duration = Duration::from_millis(2);
        let mut left = LEAVE;
        while !thread.is_finished() && !left.is_zero() {
            thread::sleep(STEP);
            if self.is_opening.load(Ordering::Relaxed) {
                left = left.saturating_sub(STEP);
            }
        }
        thread.is_finished()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A sample without counts.
    fn blank(&self, state: RunState, preparing: Option<String>) -> RunSample {
        let targets = self.workload.targets.iter().map(|target| TargetSample {
            name: Label::new(&target.path.to_string_lossy()),
            drive: target.drive.clone(),
            ios: 0,
            bytes: 0,
            errors: 0,
            latency: LatencySummary::default(),
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

/// Prepares and starts the run.
fn prepare(shared: &Shared, engine: &dyn Engine) {
    let checked = engine.check_limits(&shared.workload);
    let started = checked.and_then(|()| lay_out_missing(shared)).and_then(|()| {
        if shared.stopped() {
            return Err(EngineError::Stopped);
        }
        shared.is_opening.store(true, Ordering::Relaxed);
        engine.start(&shared.workload, shared.clock.now())
    });
    let mut state = shared.lock();
    let hold = matches!(*state, State::Preparing { hold: true, .. });
    *state = match started {
        Ok(mut running) => {
            if hold {
                running.pause(shared.clock.now());
            }
            if shared.stopped() {
                running.stop(shared.clock.now());
            }
            State::Running(running)
        }
        Err(error) => State::Failed(error),
    };
}

/// Lays out missing files of a workload with a size: `--filename PATH --size 1G`. A file ends where its reads end.
fn lay_out_missing(shared: &Shared) -> Result<(), EngineError> {
    let Some(size) = shared.workload.size else { return Ok(()) };
    let size = Bytes(size.0.saturating_add(shared.workload.offset.0));
    for target in &shared.workload.targets {
        let path = target.path.as_path();
        // A missing path in /dev is a missing device.
        if path.starts_with("/dev") || !matches!(path.try_exists(), Ok(false)) {
            continue;
        }
        let name = Label::new(&path.to_string_lossy());
        let file = lay_out(path, size, shared.workload.seed, shared.files.keep, &mut |done| {
            if let State::Preparing { busy_with, .. } = &mut *shared.lock() {
                *busy_with = format!("laying out {name}, {}", progress(done, size));
            }
            !shared.stopped()
        })?;
        shared.files.laid_out.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }
    Ok(())
}

/// `640 of 1024 MiB`; from 2 GiB on `1.2 of 4.0 GiB`.
fn progress(done: Bytes, all: Bytes) -> String {
    if all.0 < 2 << 30 {
        return format!("{} of {} MiB", done.0 >> 20, all.0 >> 20);
    }
    let gibi = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 30);
    format!("{:.1} of {:.1} GiB", gibi(done), gibi(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::RealEngine, model::Target};

    fn start(workload: Workload) -> Session {
        let (engine, clock) = (Arc::new(RealEngine::default()), Clock::real());
        Session::start(engine, workload, TestFiles::default(), clock).unwrap()
    }

    fn workload(path: std::path::PathBuf) -> Workload {
        Workload {
            targets: vec![Target { path, drive: None }],
            // Long enough to be seen running on a machine that is busy with other tests.
            runtime: Some(Duration::from_secs(2)),
            size: Some(Bytes(16 << 20)),
            ..Workload::default()
        }
    }

    /// Whether it came to this before its end, which is not seen where the machine stops for long.
    fn comes_to(session: &Session, what: impl Fn(&RunSample) -> bool) -> bool {
        loop {
            let sample = session.sample();
            if what(&sample) || sample.state == RunState::Ended {
                return what(&sample);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The first session that came to this.
    fn that_comes_to(workload: &Workload, what: impl Fn(&RunSample) -> bool) -> Session {
        let mut sessions = std::iter::repeat_with(|| start(workload.clone())).take(20);
        sessions.find(|session| comes_to(session, &what)).unwrap()
    }

    #[test]
    fn a_missing_file_is_laid_out_read_and_removed() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("iodyno.test");
        let session = that_comes_to(&workload(path.clone()), |sample| {
            sample.state == RunState::Running && path.exists()
        });
        assert!(comes_to(&session, |sample| sample.state == RunState::Ended));
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
        let laying_out = that_comes_to(&long, |sample| {
            sample.preparing.as_ref().is_some_and(|busy_with| busy_with.contains("laying out"))
        });
        assert_eq!(laying_out.finish().unwrap_err(), EngineError::Stopped);
        assert!(!path.exists());

        long.size = Some(Bytes(16 << 20));
        long.runtime = Some(Duration::from_secs(100));
        let running = that_comes_to(&long, |sample| sample.state == RunState::Running);
        running.pause(true);
        running.pause(false);
        running.stop();
        assert!(running.finish().unwrap().interrupted);
        assert!(!path.exists());
    }

    /// Opens targets for as long as its sender lives.
    struct Hanging(Mutex<std::sync::mpsc::Receiver<()>>);

    impl Engine for Hanging {
        fn simulated(&self) -> bool {
            false
        }

        fn start(&self, _: &Workload, _: std::time::Instant) -> Result<Box<dyn Running>, EngineError> {
            let _ended = self.0.lock().unwrap().recv();
            Err(EngineError::Stopped)
        }
    }

    #[test]
    fn a_target_that_hangs_when_it_is_opened_does_not_hold_who_stops_the_test() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("iodyno.test");
        let (hangs, receiver) = std::sync::mpsc::channel();
        let engine = Arc::new(Hanging(Mutex::new(receiver)));
        let session =
            Session::start(engine, workload(path.clone()), TestFiles::default(), Clock::real()).unwrap();
        while !session.shared.is_opening.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(2));
        }
        assert!(path.exists());
        let (ended, ends) = std::sync::mpsc::channel();
        thread::spawn(move || ended.send(session.finish().unwrap_err()));
        assert_eq!(ends.recv_timeout(Duration::from_mins(1)), Ok(EngineError::Stopped));
        assert!(!path.exists(), "its file is removed");
        drop(hangs);
    }

    #[test]
    fn a_layout_is_counted_in_the_unit_that_fits_its_size() {
        assert_eq!(progress(Bytes(640 << 20), Bytes(1 << 30)), "640 of 1024 MiB");
        assert_eq!(progress(Bytes(1229 << 20), Bytes(4 << 30)), "1.2 of 4.0 GiB");
    }

    #[test]
    fn a_test_that_cannot_run_ends_at_once_with_its_error() {
        let session = start(workload("/nowhere/file".into()));
        assert!(comes_to(&session, |sample| sample.state == RunState::Ended));
        let error = session.finish().unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/file: ") && error.contains("ENOENT"), "{error}");
        let engine = Arc::new(RealEngine::default());
        let nothing = Session::start(engine, Workload::default(), TestFiles::default(), Clock::real());
        assert!(nothing.is_err(), "a workload without targets");
    }

    #[test]
    fn several_runs_share_a_file_that_reaches_from_its_beginning_to_the_end_of_what_is_read() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("iodyno.test");
        let (files, mut made) = (TestFiles::default(), None);
        for _ in 0..2 {
            let mut workload = workload(path.clone());
            (workload.runtime, workload.offset) = (None, Bytes(1 << 20));
            let engine = Arc::new(RealEngine::default());
            let session = Session::start(engine, workload, files.clone(), Clock::real()).unwrap();
            assert!(comes_to(&session, |sample| sample.state == RunState::Ended));
            assert!(session.finish().unwrap().targets[0].ios > 0);
            let metadata = path.metadata().unwrap();
            assert_eq!(metadata.len(), 17 << 20);
            assert_eq!(*made.get_or_insert(metadata.modified().unwrap()), metadata.modified().unwrap());
        }
        drop(files);
        assert!(!path.exists());
    }
}
