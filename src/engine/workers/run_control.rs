//! The phase of a run, shared by all workers: ramp, count, hold, stop.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use crate::engine::clock;

/// The current work of the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Wait: not every worker is ready.
    Gate,
    /// Read without counting.
    Ramp,
    /// Read and count.
    Count,
    /// Complete reads in flight and wait.
    Hold,
    /// Complete reads in flight and end.
    Stop,
}

/// Shared by all workers of a run.
#[derive(Debug)]
pub(crate) struct RunControl {
    /// A copy of `Course::phase` that costs a worker one relaxed load.
    phase: AtomicU8,
    course: Mutex<Course>,
    changed: Condvar,
}

/// The phase of the run, and its times without pauses.
#[derive(Debug)]
struct Course {
    phase: Phase,
    /// The phase before a hold.
    held: Phase,
    /// When the current phase began or resumed.
    since: Instant,
    /// Ramp time before `since`.
    ramped: Duration,
    /// Counted time before `since`.
    counted: Duration,
    /// Time from the start of counting until the last worker counted: since `since`, and before.
    late: Duration,
    were_late: Duration,
    ramp: Duration,
    runtime: Option<Duration>,
    /// Stopped early.
    interrupted: bool,
}

impl RunControl {
    pub(crate) fn new(ramp: Duration, runtime: Option<Duration>) -> Self {
        Self {
            phase: AtomicU8::new(Phase::Gate as u8),
            course: Mutex::new(Course {
                phase: Phase::Gate,
                held: Phase::Gate,
                since: clock::now(),
                ramped: Duration::ZERO,
                counted: Duration::ZERO,
                late: Duration::ZERO,
                were_late: Duration::ZERO,
                ramp,
                runtime,
                interrupted: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The current phase. One relaxed load.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Gate,
            1 => Phase::Ramp,
            2 => Phase::Count,
            3 => Phase::Hold,
            _ => Phase::Stop,
        }
    }

    /// Starts the workers, unless they are stopped already.
    pub(crate) fn open(&self) {
        let mut course = self.lock();
        if course.phase == Phase::Gate {
            let first = if course.ramp.is_zero() { Phase::Count } else { Phase::Ramp };
            self.enter(&mut course, first);
        }
    }

    pub(crate) fn pause(&self) {
        let mut course = self.lock();
        if matches!(course.phase, Phase::Ramp | Phase::Count) {
            course.held = course.phase;
            self.enter(&mut course, Phase::Hold);
        }
    }

    pub(crate) fn resume(&self) {
        let mut course = self.lock();
        if course.phase == Phase::Hold {
            let held = course.held;
            self.enter(&mut course, held);
        }
    }

    /// Ends the run; `early` when it is incomplete.
    pub(crate) fn stop(&self, early: bool) {
        let mut course = self.lock();
        if course.phase != Phase::Stop {
            course.interrupted = early;
            self.enter(&mut course, Phase::Stop);
        }
    }

    /// A worker begins to count: the runtime starts when the last one does.
    pub(crate) fn begun(&self) {
        let mut course = self.lock();
        if course.phase == Phase::Count {
            course.late = course.elapsed();
        }
    }

    /// Whether it was stopped early.
    pub(crate) fn interrupted(&self) -> bool {
        self.lock().interrupted
    }

    /// Phase and counted time so far.
    pub(crate) fn progress(&self) -> (Phase, Duration) {
        let course = self.lock();
        let running = if course.phase == Phase::Count { course.elapsed() } else { Duration::ZERO };
        (course.phase, course.counted + running)
    }

    /// Sleeps until the phase is no longer `seen`; returns the new one.
    pub(crate) fn wait_while(&self, seen: Phase) -> Phase {
        let mut course = self.lock();
        while course.phase == seen {
            course = self.changed.wait(course).unwrap_or_else(PoisonError::into_inner);
        }
        course.phase
    }

    /// Sleeps for `most` at the longest, or until the phase changes.
    pub(crate) fn sleep(&self, seen: Phase, most: Duration) {
        let course = self.lock();
        if course.phase == seen {
            drop(self.changed.wait_timeout(course, most).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Ends phases when their time is over, on a thread of its own. Returns when the run is stopped.
    pub(crate) fn keep(&self) {
        let mut course = self.lock();
        while course.phase != Phase::Stop {
            match course.left() {
                Some(left) if left.is_zero() => {
                    let next = if course.phase == Phase::Ramp { Phase::Count } else { Phase::Stop };
                    self.enter(&mut course, next);
                }
                Some(left) => {
                    course =
                        self.changed.wait_timeout(course, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                None => course = self.changed.wait(course).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn enter(&self, course: &mut Course, phase: Phase) {
        let elapsed = course.elapsed();
        match course.phase {
            Phase::Ramp => course.ramped += elapsed,
            Phase::Count => {
                course.counted += elapsed;
                course.were_late += std::mem::take(&mut course.late);
            }
            Phase::Gate | Phase::Hold | Phase::Stop => {}
        }
        course.since += elapsed;
        course.phase = phase;
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Course {
    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.since)
    }

    /// Time left of the current phase; `None` without a limit.
    fn left(&self) -> Option<Duration> {
        match self.phase {
            Phase::Ramp => Some((self.ramp.saturating_sub(self.ramped)).saturating_sub(self.elapsed())),
            Phase::Count => {
                let all = self.runtime.map(|runtime| runtime + self.were_late + self.late);
                all.map(|all| all.saturating_sub(self.counted).saturating_sub(self.elapsed()))
            }
            Phase::Gate | Phase::Hold | Phase::Stop => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    /// The first undisturbed trial: `None` stands for one in which the machine stopped for longer than a phase lasts.
    fn undisturbed(trial: impl Fn() -> Option<()>) {
        assert!((0..100).any(|_| trial().is_some()), "the machine stopped in each of a hundred trials");
    }

    #[test]
    fn the_keeper_ends_ramp_and_run_and_pauses_take_no_time() {
        undisturbed(keeps_time);
    }

    fn keeps_time() -> Option<()> {
        let control = Arc::new(RunControl::new(Duration::from_millis(30), Some(Duration::from_millis(60))));
        let keeper = thread::spawn({
            let control = Arc::clone(&control);
            move || control.keep()
        });
        let opened = clock::now();
        control.open();
        let phase = control.phase();
        if opened.elapsed() < Duration::from_millis(30) {
            assert_eq!(phase, Phase::Ramp);
        }
        let counts = control.wait_while(Phase::Ramp);
        control.pause();
        if opened.elapsed() > Duration::from_millis(80) {
            control.stop(true);
            keeper.join().unwrap();
            return None;
        }
        assert_eq!(counts, Phase::Count);
        let (phase, at_pause) = control.progress();
        assert_eq!(phase, Phase::Hold);
        thread::sleep(Duration::from_millis(90));
        assert_eq!(control.progress(), (Phase::Hold, at_pause));
        control.resume();
        assert_eq!(control.wait_while(Phase::Count), Phase::Stop);
        keeper.join().unwrap();
        let (_, counted) = control.progress();
        assert!(counted >= Duration::from_millis(60), "{counted:?}");
        assert!(!control.interrupted());
        Some(())
    }

    #[test]
    fn the_runtime_lasts_from_when_the_last_worker_began_to_count() {
        undisturbed(lasts_from_the_last);
    }

    fn lasts_from_the_last() -> Option<()> {
        let control = Arc::new(RunControl::new(Duration::ZERO, Some(Duration::from_millis(60))));
        let keeper = thread::spawn({
            let control = Arc::clone(&control);
            move || control.keep()
        });
        let opened = clock::now();
        control.open();
        for late in [0, 40] {
            thread::sleep(Duration::from_millis(late));
            control.begun();
        }
        let began = clock::now();
        control.pause();
        control.resume();
        thread::sleep(Duration::from_millis(20));
        control.begun();
        let is_disturbed = opened.elapsed() > Duration::from_millis(90);
        assert_eq!(control.wait_while(Phase::Count), Phase::Stop);
        keeper.join().unwrap();
        if is_disturbed {
            return None;
        }
        assert!(began.elapsed() >= Duration::from_millis(80), "{:?}", began.elapsed());
        Some(())
    }

    #[test]
    fn a_run_stopped_at_the_gate_never_opens() {
        let control = RunControl::new(Duration::ZERO, None);
        control.stop(true);
        control.open();
        control.resume();
        assert_eq!(control.phase(), Phase::Stop);
        assert!(control.interrupted());
    }
}
