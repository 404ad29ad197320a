//! [`ActivitySampler`]: threads and processes from look to look, at one pace for the screen and for `iodyno stat`.

use std::time::Duration;

use super::clock::Clock;
use crate::{
    counters::{
        ThreadCounts,
        activity::{Activity, ProcessSample, ThreadSample},
        profile::{Hardware, Profile, Samples},
    },
    model::Problem,
    source::{
        SysRoot,
        activity::ActivityReader,
        profile::{HardwareReader, ProfileReader},
    },
};

/// Least interval of passes over the threads.
const PASS: Duration = Duration::from_millis(100);
/// Greatest interval of passes: a mean over a second needs several.
const LONGEST: Duration = Duration::from_millis(250);
/// CPU time of one pass; the next one goes on with the other threads.
const BUDGET: Duration = Duration::from_millis(1);
/// The same until every thread was seen once: 10 000 threads of some 50 us each are then seen in half a minute.
const FIRST_BUDGET: Duration = Duration::from_millis(5);
/// A pass is followed by this many times its own CPU time: passes take 0.4 % of a CPU, and 2 % until every thread was seen once.
const PAUSE: u32 = 250;

/// CPU time of the pass before the first look of `stat`.
const FIRST_ROUND: Duration = Duration::from_millis(250);

/// The rings of CPU samples hold a few seconds.
const PROFILE_PASS: Duration = Duration::from_secs(1);

/// What is sampled beside counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    pub threads: bool,
    /// Kernel stacks of threads.
    pub stacks: bool,
    pub processes: bool,
    /// Threads of a test in this process.
    pub workers: bool,
    pub profile: Profiling,
    /// Cycles and instructions.
    pub hardware: bool,
}

/// The looks whose samples make a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Profiling {
    #[default]
    Off,
    /// The last ones, some ten seconds.
    LastLooks,
    /// All since the look before.
    Interval,
}

/// Threads, processes and what CPUs execute, since the last look.
pub(crate) struct ActivitySampler {
    wanted: Wanted,
    reader: ActivityReader,
    /// The last pass.
    pass: ThreadSample,
    counts: ThreadCounts,
    /// Whether a pass has begun with the processes that moved between two samples.
    is_guided: bool,
    next_pass: Duration,
    before: ProcessSample,
    after: ProcessSample,
    profile: ProfileReader,
    /// Samples of CPUs since the last look, for [`Profiling::Interval`].
    executed: Vec<Samples>,
    next_profile_pass: Duration,
    hardware: HardwareReader,
    /// When the processes were sampled.
    at: Duration,
}

impl ActivitySampler {
    /// Begins with a sample of the processes, and opens what counts.
    pub fn begin(wanted: Wanted, root: &dyn SysRoot, clock: &Clock) -> Self {
        let mut sampler = Self {
            wanted: Wanted::default(),
            reader: ActivityReader::default(),
            pass: ThreadSample::default(),
            counts: ThreadCounts::default(),
            is_guided: false,
            next_pass: clock.elapsed(),
            before: ProcessSample::default(),
            after: ProcessSample::default(),
            profile: ProfileReader::default(),
            executed: Vec::new(),
            next_profile_pass: clock.elapsed() + PROFILE_PASS,
            hardware: HardwareReader::default(),
            at: Duration::ZERO,
        };
        sampler.want(wanted);
        sampler.sample_processes(root, clock);
        // The first look of these has nothing; a refusal is reported with the next.
        let _ = (sampler.profile(root), sampler.hardware(root));
        let _ = sampler.reader.workers(root);
        sampler
    }

    /// Sees all threads once before the first look, whose means are then those of all; of too many it sees a part.
    pub fn see_all(&mut self, root: &dyn SysRoot, clock: &Clock) {
        if self.wanted.threads {
            self.pass_within(FIRST_ROUND, root, clock);
            // It is no part of the first interval.
            let _ = self.counts.take();
        }
    }

    /// Changes what is sampled from now on.
    pub fn want(&mut self, wanted: Wanted) {
        if (wanted.threads, wanted.stacks) != (self.wanted.threads, self.wanted.stacks) {
            // Threads seen before the pause, and those with stacks beside those without, would be counted.
            self.counts = ThreadCounts::default();
            self.is_guided = false;
        }
        self.wanted = wanted;
        self.reader.with_stacks(wanted.stacks);
    }

    /// When the next pass over the threads is due; `None` if they are not wanted.
    pub fn next_pass(&self) -> Option<Duration> {
        self.wanted.threads.then_some(self.next_pass)
    }

    /// Makes a pass over the threads if it is due, and reads what CPUs executed before its memory is full.
    pub fn pass_if_due(&mut self, root: &dyn SysRoot, clock: &Clock) {
        let now = clock.elapsed();
        if self.wanted.profile == Profiling::Interval && now >= self.next_profile_pass {
            self.next_profile_pass = now + PROFILE_PASS;
            // A refusal is reported with the next look.
            let _ = self.take_executed(root, now);
        }
        if self.next_pass().is_some_and(|due| clock.elapsed() >= due) {
            self.pass(root, clock);
        }
    }

    /// Whether enough time has passed for rates: a span of a few milliseconds says nothing of processes.
    pub fn is_due(&self, now: Duration) -> bool {
        now >= self.at + PASS
    }

    /// What threads and processes did since the last look.
    pub fn look(&mut self, root: &dyn SysRoot, clock: &Clock) -> Activity {
        std::mem::swap(&mut self.before, &mut self.after);
        let before = self.at;
        self.sample_processes(root, clock);
        if self.wanted.threads {
            let alive = &self.after.processes;
            self.counts.keep_of(|pid| alive.contains_key(&pid));
        }
        // The first look already shows threads of the processes that moved.
        if self.wanted.threads && (self.counts.is_empty() || !self.is_guided) {
            self.pass(root, clock);
            self.is_guided = true;
        }
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let threads = self.wanted.threads.then(|| self.counts.take());
        let processes = self.wanted.processes.then_some((&self.before, &self.after));
        let activity = Activity::between(threads, processes, self.at.saturating_sub(before), ticks);
        let workers = if self.wanted.workers { self.reader.workers(root) } else { None };
        let workers = workers.map(|used| used.rates(self.at.saturating_sub(before), ticks));
        let (profile, hardware) = (self.profile(root), self.hardware(root));
        Activity { workers, profile, hardware, ..activity }
    }

    fn profile(&mut self, root: &dyn SysRoot) -> Option<Result<Profile, Problem>> {
        if self.wanted.profile != Profiling::Interval {
            return self.profile.look(root, self.wanted.profile == Profiling::LastLooks, self.at);
        }
        if let Err(problem) = self.take_executed(root, self.at) {
            return Some(Err(problem));
        }
        let executed = std::mem::take(&mut self.executed);
        (!executed.is_empty()).then(|| Ok(Profile::of(&executed)))
    }

    fn take_executed(&mut self, root: &dyn SysRoot, now: Duration) -> Result<(), Problem> {
        self.executed.extend(self.profile.samples(root, now)?);
        Ok(())
    }

    fn hardware(&mut self, root: &dyn SysRoot) -> Option<Result<Hardware, Problem>> {
        if self.wanted.hardware { self.hardware.look(root, self.at) } else { None }
    }

    fn sample_processes(&mut self, root: &dyn SysRoot, clock: &Clock) {
        // Passes over threads are guided by the processes that move.
        if self.wanted.processes || self.wanted.threads {
            self.reader.processes(root, &mut self.after);
        }
        self.at = clock.elapsed();
    }

    /// Looks at threads for as long as the budget lasts. Time in which this thread waits for a CPU is not part of it: on busy CPUs a
    /// pass would see few threads, those that run among them, and count them for all.
    fn pass(&mut self, root: &dyn SysRoot, clock: &Clock) {
        let budget = if self.pass.rounds == 0 { FIRST_BUDGET } else { BUDGET };
        self.pass_within(budget, root, clock);
    }

    fn pass_within(&mut self, budget: Duration, root: &dyn SysRoot, clock: &Clock) {
        let began = clock.elapsed();
        let cpu_began = clock.cpu_time();
        let has_time = || clock.cpu_time().saturating_sub(cpu_began) < budget;
        self.reader.threads(root, &mut { has_time }, &mut self.pass);
        self.counts.add(&self.pass);
        let took = clock.cpu_time().saturating_sub(cpu_began);
        self.next_pass = began + (took * PAUSE).clamp(PASS, LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{
        RootError,
        capture::{Capture, TextRoot},
        origin::Origin,
    };

    /// A machine on which this thread waits for a CPU at every read.
    struct Busy(TextRoot);

    impl SysRoot for Busy {
        fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
            Clock::real().pass(BUDGET / 2);
            self.0.read(path)
        }

        fn link(&self, path: &str) -> Result<String, RootError> {
            self.0.link(path)
        }

        fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
            self.0.list(path)
        }
    }

    /// `/proc` of this many processes of one thread.
    fn proc_of(processes: u32) -> Capture {
        let mut capture = Capture::default();
        let pids = || (1..=processes).map(|pid| pid.to_string());
        capture.answers.entry("/proc".to_owned()).or_default().list = Some(Ok(pids().collect()));
        for pid in pids() {
            let stat = format!("{pid} (dd) R 1 1 1 0 -1 0 0 0 0 0 3 0 0 0 20 0 1 0 77 0\n");
            capture.answers.entry(format!("/proc/{pid}/stat")).or_default().read = Some(Ok(stat.into()));
        }
        capture
    }

    fn of_threads(root: &dyn SysRoot, clock: &Clock) -> ActivitySampler {
        ActivitySampler::begin(Wanted { threads: true, ..Wanted::default() }, root, clock)
    }

    #[test]
    fn a_pass_that_waits_for_a_cpu_sees_all_threads() {
        // Their waits alone are many times the budget; few, so that parsing them is far from it on any machine.
        let (root, clock) = (Busy(TextRoot::from(proc_of(3))), Clock::real());
        let mut sampler = of_threads(&root, &clock);
        sampler.pass_if_due(&root, &clock);
        assert_eq!((sampler.pass.sampled, sampler.pass.total), (3, 3));
    }

    #[test]
    fn all_threads_are_seen_before_the_first_look_of_stat() {
        let mut capture = proc_of(40);
        capture.answers.entry("/proc/loadavg".to_owned()).or_default().read =
            Some(Ok("0.1 0.1 0.1 1/40 40\n".into()));
        for pid in 1..=40 {
            let io = "read_bytes: 0\nwrite_bytes: 0\n".into();
            capture.answers.entry(format!("/proc/{pid}/io")).or_default().read = Some(Ok(io));
        }
        let (root, clock) = (Spent(TextRoot::from(capture)), Clock::real());
        let mut sampler = of_threads(&root, &clock);
        sampler.see_all(&root, &clock);
        let threads = sampler.look(&root, &clock).threads.unwrap();
        assert_eq!((threads.seen, threads.is_whole, threads.samples), (40, true, 1), "one pass is its own");
    }

    /// A machine whose files take CPU time: a pass sees a few threads.
    struct Spent(TextRoot);

    impl SysRoot for Spent {
        fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
            let clock = Clock::real();
            let began = clock.cpu_time();
            while clock.cpu_time().saturating_sub(began) < BUDGET / 4 {}
            self.0.read(path)
        }

        fn link(&self, path: &str) -> Result<String, RootError> {
            self.0.link(path)
        }

        fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
            self.0.list(path)
        }
    }

    #[test]
    fn passes_are_longer_until_every_thread_was_seen() {
        let (root, clock) = (Spent(TextRoot::from(proc_of(40))), Clock::real());
        let mut sampler = of_threads(&root, &clock);
        let mut seen = || {
            sampler.pass(&root, &clock);
            (sampler.pass.sampled, sampler.pass.rounds)
        };
        let passes: Vec<(usize, u64)> = std::iter::repeat_with(&mut seen).take(40).collect();
        let (later, rounds) = passes[39];
        let (first, _) = passes.split_at(2);
        assert!(rounds > 0 && first.iter().all(|(seen, _)| *seen >= 2 * later), "{passes:?}");
    }

    #[test]
    fn passes_that_wait_for_a_cpu_are_as_frequent_as_others() {
        let (root, clock) = (Busy(TextRoot::from(proc_of(1))), Clock::real());
        let mut sampler = of_threads(&root, &clock);
        // Other programs can take CPU time from one pass, and the first one loads its code.
        let gap = |_| {
            let began = clock.elapsed();
            sampler.pass(&root, &clock);
            sampler.next_pass().unwrap().saturating_sub(began)
        };
        let next = (0..5).map(gap).min().unwrap();
        assert!(next < LONGEST, "its waits are no CPU time: {next:?}");
    }

    #[test]
    fn only_what_is_wanted_is_sampled() {
        let root = Origin::Live.open().unwrap();
        let clock = Clock::real();
        for (threads, processes) in [(true, false), (false, true), (false, false)] {
            let mut sampler =
                ActivitySampler::begin(Wanted { threads, processes, ..Wanted::default() }, &*root, &clock);
            assert_eq!(sampler.next_pass().is_some(), threads);
            sampler.pass_if_due(&*root, &clock);
            let activity = sampler.look(&*root, &clock);
            assert_eq!((activity.threads.is_some(), activity.processes.is_some()), (threads, processes));
        }
    }

    #[test]
    fn passes_follow_each_other_at_their_pace() {
        let root = Origin::Live.open().unwrap();
        let clock = Clock::counted();
        let mut sampler = of_threads(&*root, &clock);
        // On a counted clock a pass takes no time.
        for _ in 0..25 {
            sampler.pass_if_due(&*root, &clock);
            clock.pass(PASS / 5);
        }
        let mut samples = || sampler.look(&*root, &clock).threads.map(|threads| threads.samples);
        assert_eq!(samples(), Some(6), "the first look has a pass that knows what moved");
        assert_eq!(samples(), Some(1));
    }
}
