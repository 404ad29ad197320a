//! The pull: a fixed series of runs that ends in one headline. Pure: it says which run is next, takes its result, and judges
//! the whole.

mod changes;
mod compared;
mod conditions;
mod file_offer;
mod headline;
mod outcome;
mod steadiness;

use std::time::Duration;

pub use compared::{DriveResult, Figures, is_small};
pub use conditions::{Condition, State, Thermal};
pub use file_offer::{FILE_SIZE, FileSystem, file_systems, joined};
pub use headline::{Headline, Loss, of_run};
pub use outcome::{Latency, Outcome};
pub use steadiness::{Fall, Steadiness, steadiness};

use self::changes::Changes;
use crate::{
    machine::{Drive, Machine},
    model::{Failed, Pattern, RunSummary, Seconds, Target, Workload},
    units::{self, Bytes, counted},
};

/// Least time that a drive is read alone.
const LEAST_ALONE: Duration = Duration::from_millis(500);
/// Most time that a drive is read alone, and all of them one after the other.
const MOST_ALONE: Duration = Duration::from_secs(3);
const ALL_ALONE: Duration = Duration::from_secs(12);
/// All drives together, large sequential reads.
const TOGETHER: Duration = Duration::from_secs(8);
/// A step of the search for the number of jobs.
const LADDER_STEP: Duration = Duration::from_secs(2);
/// 4 KiB random reads with that number.
const RANDOM: Duration = Duration::from_secs(15);
/// Depth 1.
const LATENCY: Duration = Duration::from_secs(5);
/// A row of CrystalDiskMark's profile.
const PROFILE: Duration = Duration::from_secs(5);
/// Above so many drives one of each model and link is read alone.
const MOST_DRIVES_ALONE: usize = 40;
/// A step of the ladder has to give this much more to go on.
const WORTH: f64 = 1.05;
/// Numbers of jobs for each drive, in the order in which they are tried.
const JOBS: [u32; 5] = [1, 2, 4, 8, 16];

/// Which series is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Series {
    /// Each drive alone, all together, random reads, latency.
    #[default]
    Guided,
    /// The read rows of CrystalDiskMark's default profile.
    CrystalDiskMark,
}

/// A phase of the series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// One drive, large sequential reads.
    Alone,
    /// All drives, large sequential reads.
    Together,
    /// All drives, 4 KiB random reads with this many jobs for each: a step of the search.
    Jobs(u32),
    /// The same with the number of jobs that was found.
    Random,
    /// All drives at depth 1.
    Latency,
    /// A row of CrystalDiskMark.
    Row(&'static str),
}

impl Phase {
    /// Its name in `pull --json`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Together => "together",
            Self::Jobs(_) => "jobs",
            Self::Random => "random",
            Self::Latency => "latency",
            Self::Row(name) => name,
        }
    }
}

/// A run of the series.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The phase it belongs to.
    pub phase: Phase,
    /// What is run; `runtime` says for how long.
    pub workload: Workload,
}

impl Step {
    /// One line: `nvme0n1: 1m read, depth 32, 1 job`.
    pub fn title(&self) -> String {
        let drives = match self.workload.targets.as_slice() {
            [one] => short(one),
            all => format!("{} drives together", all.len()),
        };
        format!("{drives}: {}", self.workload.title())
    }

    /// How long it reads.
    pub fn time(&self) -> Duration {
        self.workload.runtime.unwrap_or_default()
    }
}

/// A run of the series that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The run.
    pub step: Step,
    /// Its result, or why there is none.
    pub result: Result<RunSummary, Failed>,
    /// The rate of all targets, second by second.
    pub seconds: Seconds,
    /// The rate of each target likewise.
    pub each: Vec<Seconds>,
}

/// A pull in progress, or one that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    series: Series,
    targets: Vec<Target>,
    /// The size of files that are laid out.
    size: Option<Bytes>,
    /// What is read alone: nothing where there is one target, all targets, or one of each model and link.
    alone: Vec<Target>,
    /// CPUs of the machine.
    cpus: u32,
    together: Duration,
    done: Vec<Done>,
    /// Temperature and link of each target's drive.
    conditions: Vec<Option<Condition>>,
    stopped: bool,
    /// The run it was stopped in before a read of it.
    stopped_before: Option<Step>,
    changes: Changes,
    /// Counts the pulls of a start.
    number: u32,
    /// Drives that would be read without marks; `None` where no marks left any out.
    marked_of: Option<usize>,
}

impl Pull {
    /// A pull of these targets; `long` is how long all drives are read together, if not the usual time.
    pub fn new(machine: &Machine, targets: Vec<Target>, series: Series, long: Option<Duration>) -> Self {
        let cpus = count(machine.processors.cpus.len());
        let alone = match targets.len() {
            0 | 1 => Vec::new(),
            2..=MOST_DRIVES_ALONE => targets.clone(),
            _ => one_of_each(machine, &targets),
        };
        let together = long.unwrap_or(TOGETHER);
        let conditions = targets.iter().map(|target| Condition::before(machine, target)).collect();
        Self {
            series,
            targets,
            size: None,
            alone,
            cpus,
            together,
            done: Vec::new(),
            conditions,
            stopped: false,
            stopped_before: None,
            changes: Changes::default(),
            number: 0,
            marked_of: None,
        }
    }

    /// The same of marked drives alone, of so many.
    #[must_use]
    pub fn marked_of(self, all: Option<usize>) -> Self {
        Self { marked_of: all, ..self }
    }

    /// What is read where marks leave drives out: `2 of 10 drives, marked`.
    pub fn selection(&self) -> Option<String> {
        let all = self.marked_of?;
        Some(format!("{} of {}, marked", self.targets.len(), counted(all, "drive")))
    }

    /// The same with files laid out that are this big.
    #[must_use]
    pub fn with_size(self, size: Option<Bytes>) -> Self {
        Self { size, ..self }
    }

    /// The same with its number among the pulls of this start.
    #[must_use]
    pub fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// See [`Self::numbered`].
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The same series on files of [`FILE_SIZE`].
    #[must_use]
    pub fn on_files(&self, machine: &Machine, files: Vec<Target>) -> Self {
        Self::new(machine, files, self.series, Some(self.together)).with_size(Some(FILE_SIZE))
    }

    /// Takes a reading of the machine while a run has read for so long; before the first run, of the beginning.
    pub fn see(&mut self, machine: &Machine, is_begun: bool, at: Duration) {
        let step = self.done.len();
        if is_begun {
            self.conditions.iter_mut().flatten().for_each(|one| one.see(machine, step, at));
        } else {
            self.conditions = self.targets.iter().map(|one| Condition::before(machine, one)).collect();
        }
    }

    /// Takes temperatures alone, where they are known, in the order of the targets.
    pub fn feel(&mut self, celsius: &[Option<f64>], at: Duration) {
        let step = self.done.len();
        for (condition, celsius) in self.conditions.iter_mut().zip(celsius) {
            if let Some(condition) = condition {
                condition.feel(*celsius, step, at);
            }
        }
    }

    /// Temperature and link of each target's drive; `None` where it has none.
    pub fn conditions(&self) -> &[Option<Condition>] {
        &self.conditions
    }

    /// Which series it is.
    pub fn series(&self) -> Series {
        self.series
    }

    /// The size of files that are laid out; `None` where drives are read.
    pub fn size(&self) -> Option<Bytes> {
        self.size
    }

    /// The run that comes next; `None` once it has ended.
    pub fn next(&self) -> Option<Step> {
        let step = self.next_of_series()?;
        Some(Step { workload: Workload { size: self.size, ..step.workload }, ..step })
    }

    fn next_of_series(&self) -> Option<Step> {
        if self.stopped || self.done.last().is_some_and(|done| done.result.is_err()) {
            return None;
        }
        let done = self.done.len();
        if self.series == Series::CrystalDiskMark {
            return rows(&self.targets).get(done).cloned();
        }
        if let Some(target) = self.alone.get(done) {
            let workload = large(vec![target.clone()], self.each_alone());
            return Some(Step { phase: Phase::Alone, workload });
        }
        let after = &self.done[self.alone.len()..];
        match after.last().map(|last| &last.step.phase) {
            None => {
                Some(Step { phase: Phase::Together, workload: large(self.targets.clone(), self.together) })
            }
            Some(Phase::Together) => Some(self.ladder(JOBS[0])),
            Some(Phase::Jobs(jobs)) => Some(match self.more_jobs(*jobs) {
                Some(more) => self.ladder(more),
                None => Step { phase: Phase::Random, workload: self.random(self.best_jobs(), RANDOM) },
            }),
            Some(Phase::Random) => {
                let workload = Workload { depth: 1, ..self.random(1, LATENCY) };
                Some(Step { phase: Phase::Latency, workload })
            }
            Some(Phase::Latency | Phase::Alone | Phase::Row(_)) => None,
        }
    }

    /// Number and name of the phase of a run: `2 of 5: all drives together`. Each phase counts once.
    pub fn place(&self, step: &Step) -> String {
        let (number, all, words) = self.numbered_phase(step);
        format!("{number} of {all}: {words}")
    }

    /// Number of the phase, the count of phases, and its name.
    fn numbered_phase(&self, step: &Step) -> (usize, usize, String) {
        let alone = usize::from(!self.alone.is_empty());
        let (number, words) = match &step.phase {
            Phase::Alone => (1, self.place_alone(step)),
            Phase::Together => (alone + 1, self.all_words("all drives together", "large reads")),
            Phase::Jobs(jobs) => {
                let jobs = counted(usize::try_from(*jobs).unwrap_or(usize::MAX), "job");
                (alone + 2, format!("4 KiB random reads, {jobs} a drive"))
            }
            Phase::Random => (alone + 3, "4 KiB random reads, best number of jobs".to_owned()),
            Phase::Latency => (alone + 4, "latency at depth 1".to_owned()),
            Phase::Row(name) => {
                let rows = rows(&self.targets);
                let at = rows.iter().position(|row| row.phase == step.phase).unwrap_or_default();
                return (at + 1, rows.len(), (*name).to_owned());
            }
        };
        (number, alone + 4, words)
    }

    /// What a run reads, in few words: `nvme8n1 alone`, `4 KiB random, 4 jobs a drive`.
    pub fn short_name(&self, step: &Step) -> String {
        let jobs = || counted(usize::try_from(step.workload.jobs).unwrap_or(usize::MAX), "job");
        match &step.phase {
            Phase::Alone => {
                let name = step.workload.targets.first().map(short).unwrap_or_default();
                format!("{name} alone")
            }
            Phase::Together => self.all_words("all drives together", "large reads"),
            Phase::Jobs(_) => format!("4 KiB random, {} a drive", jobs()),
            Phase::Random => format!("4 KiB random, {}, {} s", jobs(), step.time().as_secs()),
            Phase::Latency => "4 KiB random, depth 1".to_owned(),
            Phase::Row(name) => (*name).to_owned(),
        }
    }

    fn place_alone(&self, step: &Step) -> String {
        let at = self.alone.iter().position(|target| step.workload.targets.first() == Some(target));
        let name = step.workload.targets.first().map(short).unwrap_or_default();
        format!("each drive alone, {name} ({} of {})", at.unwrap_or_default() + 1, self.alone.len())
    }

    fn all_words(&self, many: &str, one: &str) -> String {
        if self.targets.len() > 1 { many } else { one }.to_owned()
    }

    /// Takes the result of [`Self::next`].
    pub fn take(&mut self, done: Done) {
        self.stopped |= done.result.as_ref().is_ok_and(|run| run.interrupted);
        self.done.push(done);
    }

    /// Ends the series before a read of the run that comes next.
    pub fn stop(&mut self) {
        self.stopped_before = self.next().filter(|_| !self.done.is_empty());
        self.stopped = true;
    }

    /// Runs that have ended, in order.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// What it reads.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// How many drives stand for all in the first phase, where those are fewer than all.
    pub fn representatives(&self) -> Option<usize> {
        (self.targets.len() > MOST_DRIVES_ALONE).then_some(self.alone.len())
    }

    /// The phase it was stopped in, as `pull --json` has it.
    pub fn stopped(&self) -> Option<&'static str> {
        self.stopped.then(|| self.stopped_in().map_or("start", |step| step.phase.name()))
    }

    /// The run it was stopped in; `None` before the end of the first one.
    fn stopped_in(&self) -> Option<&Step> {
        let last = || Some(&self.done.last()?.step);
        self.stopped_before.as_ref().or_else(last).filter(|_| self.stopped)
    }

    /// `Stopped in phase 2 of 5, all drives together; later phases are missing.`
    fn stopped_words(&self) -> Option<String> {
        let step = self.stopped_in()?;
        let (number, all, words) = self.numbered_phase(step);
        let later = if number < all { "; later phases are missing" } else { "" };
        Some(format!("Stopped in phase {number} of {all}, {words}{later}."))
    }

    /// Notes a setting that iodyno changed on this device while the pull ran.
    pub fn note_setting(&mut self, setting: &str, device: &str) {
        self.changes.note(setting, device);
    }

    /// Notes a setting of this device that another program has set to this value while the pull ran.
    pub fn note_other(&mut self, setting: &str, device: &str, value: &str) {
        self.changes.note_other(setting, device, value);
    }

    /// The run that failed and ended the series.
    pub fn failed(&self) -> Option<(&Step, &Failed)> {
        let last = self.done.last()?;
        Some((&last.step, last.result.as_ref().err()?))
    }

    /// Whether all drives are read together for longer than usual, to see whether they throttle.
    pub fn is_long(&self) -> bool {
        self.together > TOGETHER
    }

    /// The time it still takes at most, with the run that comes next.
    pub fn time_left(&self) -> Duration {
        if self.next().is_none() {
            return Duration::ZERO;
        }
        let done = self.done.len();
        if self.series == Series::CrystalDiskMark {
            return rows(&self.targets).iter().skip(done).map(Step::time).sum();
        }
        let alone = self.each_alone() * count(self.alone.len().saturating_sub(done));
        let last = self.done.get(self.alone.len()..).and_then(<[Done]>::last).map(|done| &done.step.phase);
        let ladder = |tried: u32| LADDER_STEP * count(self.jobs().filter(|jobs| *jobs > tried).count());
        let rest = match last {
            None => self.together + ladder(0) + RANDOM + LATENCY,
            Some(Phase::Together) => ladder(0) + RANDOM + LATENCY,
            Some(Phase::Jobs(jobs)) if self.more_jobs(*jobs).is_some() => ladder(*jobs) + RANDOM + LATENCY,
            Some(Phase::Jobs(_)) => RANDOM + LATENCY,
            _ => LATENCY,
        };
        alone + rest
    }

    /// How long a drive is read alone.
    fn each_alone(&self) -> Duration {
        (ALL_ALONE / count(self.alone.len()).max(1)).clamp(LEAST_ALONE, MOST_ALONE)
    }

    /// Numbers of jobs for which there are CPUs, two workers for each at most.
    fn jobs(&self) -> impl Iterator<Item = u32> {
        let most = self.cpus.saturating_mul(2) / count(self.targets.len()).max(1);
        JOBS.into_iter().filter(move |jobs| *jobs <= most.max(1))
    }

    fn ladder(&self, jobs: u32) -> Step {
        Step { phase: Phase::Jobs(jobs), workload: self.random(jobs, LADDER_STEP) }
    }

    fn random(&self, jobs: u32, time: Duration) -> Workload {
        Workload {
            targets: self.targets.clone(),
            pattern: Pattern::Random,
            block_size: Bytes(4096),
            depth: 32,
            jobs,
            runtime: Some(time),
            ..Workload::default()
        }
    }

    /// The number of jobs to try after this one, as long as each step gives more.
    fn more_jobs(&self, jobs: u32) -> Option<u32> {
        let tried = self.tried();
        let went_up = match tried.as_slice() {
            [.., (_, before), (_, last)] => *last > WORTH * before,
            _ => true,
        };
        self.jobs().find(|more| *more > jobs).filter(|_| went_up)
    }

    /// Jobs for each drive with their reads per second, as tried.
    fn tried(&self) -> Vec<(u32, f64)> {
        let tried = self.done.iter().filter_map(|done| match (&done.step.phase, &done.result) {
            (Phase::Jobs(jobs), Ok(run)) => Some((*jobs, run.iops())),
            _ => None,
        });
        tried.collect()
    }

    /// The fewest jobs that read nearly as much as any number of them.
    fn best_jobs(&self) -> u32 {
        let tried = self.tried();
        let most = tried.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
        tried.iter().find(|(_, iops)| *iops * WORTH >= most).map_or(1, |(jobs, _)| *jobs)
    }

    /// Why that number, behind it: ` (1 job: 4.50 M, 2: 8.90 M, 4: 9.00 M IOPS; more jobs gain under 5 %)`; empty where one was tried.
    fn why_jobs(&self) -> String {
        let tried = self.tried();
        if tried.len() < 2 {
            return String::new();
        }
        let each: Vec<String> =
            tried.iter().map(|(jobs, iops)| format!("{jobs}: {}", units::count(*iops))).collect();
        let most = tried.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(jobs, _)| *jobs);
        let why = if self.best_jobs() == most {
            "the most".to_owned()
        } else {
            format!("more jobs gain under {:.0} %", (WORTH - 1.0) * 100.0)
        };
        format!(" ({} IOPS; {why})", each.join(", ").replacen(':', " job:", 1))
    }
}

/// The name of a drive, the path of a file.
fn short(target: &Target) -> String {
    target.path.to_string_lossy().trim_start_matches("/dev/").to_owned()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Large sequential reads, enough of them in flight for a drive.
fn large(targets: Vec<Target>, time: Duration) -> Workload {
    Workload {
        targets,
        pattern: Pattern::Sequential,
        block_size: Bytes(1 << 20),
        depth: 32,
        jobs: 1,
        runtime: Some(time),
        ..Workload::default()
    }
}

/// A row of a profile: its name, then pattern, block size in bytes, queues (depth) and threads (jobs).
pub type ProfileRow = (&'static str, Pattern, u64, u32, u32);

/// The read half of CrystalDiskMark 8's default profile.
pub const CDM: [ProfileRow; 4] = [
    ("SEQ1M Q8T1", Pattern::Sequential, 1 << 20, 8, 1),
    ("SEQ128K Q32T1", Pattern::Sequential, 128 << 10, 32, 1),
    ("RND4K Q32T16", Pattern::Random, 4096, 32, 16),
    ("RND4K Q1T1", Pattern::Random, 4096, 1, 1),
];

/// A step for each row of the profile.
fn rows(targets: &[Target]) -> Vec<Step> {
    let step = |(name, pattern, block, depth, jobs)| {
        let workload = Workload {
            targets: targets.to_vec(),
            pattern,
            block_size: Bytes(block),
            depth,
            jobs,
            runtime: Some(PROFILE),
            ..Workload::default()
        };
        Step { phase: Phase::Row(name), workload }
    };
    CDM.into_iter().map(step).collect()
}

/// The first target of each drive model and link.
fn one_of_each(machine: &Machine, targets: &[Target]) -> Vec<Target> {
    let kind = |drive: &Drive| {
        let link = drive.node.and_then(|node| machine.pci.node(node).link.as_ref());
        let link = link.map(|link| (link.speed.get(), link.width.get()));
        (drive.model.value().map(ToString::to_string), link)
    };
    let mut seen = Vec::new();
    let is_new = |target: &&Target| {
        let kind = target.drive.as_ref().and_then(|name| machine.drive(name)).map(kind);
        let is_new = kind.is_none() || !seen.contains(&kind);
        seen.push(kind);
        is_new
    };
    targets.iter().filter(is_new).cloned().collect()
}

#[cfg(test)]
mod tests;
