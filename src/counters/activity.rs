//! Threads by what they do and processes by what they read and write: samples, and what follows from two of them.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::profile::{Hardware, Profile};
use crate::{
    model::{DriveName, GroupLimits, Problem},
    text::Label,
};

/// Bytes to and from storage a second, or between two samples, of a process that does I/O: less is a log, or pages of its program.
pub(crate) const WORKS: u64 = 100_000;

/// Whether a process that moves this much does a part of its program's I/O, where another one of its name moves `most`. Others have a
/// pace of their own, and their waits tell nothing of that one's.
pub(crate) fn is_part_of(moved: f64, most: f64) -> bool {
    moved >= WORKS as f64 && 8.0 * moved >= most
}

/// One thread at one moment (`/proc/PID/task/TID`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// State letter of `stat`: `R` running, `D` uninterruptible, `S` sleeping.
    pub state: char,
    /// `comm` with each run of digits as `*`.
    pub command: Label,
    /// Whether it is the kernel's own (`PF_KTHREAD` in the flags of `stat`).
    pub is_kernel: bool,
    /// Name of the system call it is in (`syscall`); `None` outside of one or where it cannot be read.
    pub syscall: Option<Label>,
    /// The kernel function it waits in (`wchan`); `None` while it runs or where it cannot be read.
    pub wchan: Option<Label>,
    /// Its kernel functions, the innermost first (`stack`); only on request.
    pub stack: Option<Label>,
    /// Whether its system call could not be read.
    pub is_refused: bool,
    /// Whether its process read from storage or wrote to it between the last two samples of processes.
    pub has_io: bool,
}

/// One pass over the threads. A pass has a time budget: active threads come first, the others go on where the last pass stopped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadSample {
    /// Threads looked at.
    pub threads: Vec<Thread>,
    /// Threads that ran or waited at an earlier look and have ended.
    pub ended: Vec<u32>,
    /// How many were looked at in this pass.
    pub sampled: usize,
    /// How many there are.
    pub total: usize,
    /// Rounds over all threads that have ended since the first pass.
    pub rounds: u64,
    /// What could not be read, once for each kind of file: system calls and wait channels of others need root.
    pub problems: Vec<Problem>,
}

/// Threads that do the same: state, command with its digits as `*`, system call, wait channel (pSnapper's default columns).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "as in Thread")]
pub struct ThreadKind {
    pub state: char,
    pub command: Label,
    pub is_kernel: bool,
    pub syscall: Option<Label>,
    pub wchan: Option<Label>,
    pub stack: Option<Label>,
}

/// Threads of several samples, by what they do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadActivity {
    /// Mean number of threads of each kind over the samples, of those that were seen; the most active first. Sleeping threads are
    /// in here too: `is_active` tells them apart.
    pub kinds: Vec<(ThreadKind, f64)>,
    /// The same of processes that read from storage or wrote to it, of one name those with a part of its I/O: others, such as the parent
    /// of a job, only wait for them.
    /// `None` where processes are not sampled.
    pub with_io: Option<Vec<(ThreadKind, f64)>>,
    /// Samples behind the means.
    pub samples: usize,
    /// Threads seen, in these samples or before, and how many there are.
    pub seen: usize,
    /// See `seen`.
    pub total: usize,
    /// Whether every thread has had its turn once: passes go round.
    pub is_whole: bool,
    /// Threads of `seen` whose system call could not be read.
    pub refused: usize,
    /// See [`ThreadSample::problems`].
    pub problems: Vec<Problem>,
}

/// I/O counters of one process (`/proc/PID/io`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCounters {
    /// Start time in ticks after boot: tells a process from a later one of the same number.
    pub started: u64,
    /// The parent's number; 0 without one.
    pub parent: u32,
    /// `comm`.
    pub command: Label,
    /// `read_bytes`: fetched from storage; `None` where it cannot be read (EACCES).
    pub read_bytes: Option<u64>,
    /// `write_bytes`: sent to storage.
    pub written_bytes: Option<u64>,
    /// `rchar`, `wchar`: bytes of read and write calls, page cache included.
    pub called_read: Option<u64>,
    /// See `called_read`.
    pub called_write: Option<u64>,
    /// Ticks of CPU time, user and system; ended children are not contained.
    pub cpu: u64,
    /// Whether its nice value is above 0: it yields to others.
    pub is_nice: bool,
    /// The four I/O counters without those of children that it has waited for, where they are known apart: a single thread's own
    /// (`/proc/PID/task/PID/io`).
    pub own: Option<[Option<u64>; 4]>,
    /// Ticks of CPU time of children that it has waited for.
    pub child_cpu: u64,
    /// Command of the children that were seen reading, writing or running.
    pub child: Option<Label>,
    /// Nanoseconds in which its threads waited for a CPU (`schedstat`); only of processes that moved most since the last sample.
    pub delayed: Option<u64>,
    /// Drives that its control group's `io.stat` names, or the files that it has open for what it moves; `None` where that cannot be
    /// known.
    pub drives: Option<Vec<DriveName>>,
}

/// Processes at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProcessSample {
    /// By process number.
    pub processes: BTreeMap<u32, ProcessCounters>,
    /// Limits of the control groups of those that moved most since the last sample, where they have any.
    pub limits: BTreeMap<u32, GroupLimits>,
    /// Names of children that ended and ran beside each other, as in a pipe, by their parents; at most two.
    pub children: BTreeMap<u32, Vec<Label>>,
    /// What could not be read, once for each kind of file.
    pub problems: Vec<Problem>,
}

/// Rates of one process, or of short ones that a process has waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessRates {
    /// Its number; of ended processes that of their parent.
    pub pid: u32,
    /// Whether these are children of `pid` that ended, as far as no sample saw them.
    pub has_ended: bool,
    /// `comm`.
    pub command: Label,
    /// Bytes read from storage per second; `None` where it cannot be known.
    pub read_bytes: Option<f64>,
    /// Bytes written to storage per second.
    pub written_bytes: Option<f64>,
    /// Bytes of its read and write calls per second: more than `read_bytes` where the page cache answers.
    pub called_read: Option<f64>,
    /// See `called_read`.
    pub called_write: Option<f64>,
    /// CPUs it kept busy (1.0 is one CPU).
    pub cpus: f64,
    /// Whether its nice value is above 0; of ended processes, their parent's.
    pub is_nice: bool,
    /// Mean number of its threads that wait for a CPU; known only of those that move most.
    pub delayed: Option<f64>,
    /// Drives it uses; `None`: not known.
    pub drives: Option<Vec<DriveName>>,
}

/// What threads of a test used between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerTicks {
    /// Ticks of CPU time in user mode.
    pub user: u64,
    /// Ticks in kernel mode.
    pub system: u64,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
}

/// The same for each second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorkerRates {
    /// CPUs kept busy in user mode.
    pub user: f64,
    /// CPUs kept busy in kernel mode.
    pub system: f64,
    /// Context switches per second.
    pub switches: f64,
}

/// What threads and processes do, as a screen and `stat` show it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// Threads over the last samples.
    pub threads: Option<ThreadActivity>,
    /// Processes that read, wrote or used a CPU, most bytes first.
    pub processes: Option<Vec<ProcessRates>>,
    /// Limits of the control groups of those that move most, by process.
    pub limits: BTreeMap<u32, GroupLimits>,
    /// Names of short processes that ran beside each other, as in a pipe, by their parents.
    pub children: BTreeMap<u32, Vec<Label>>,
    /// Processes whose counters could not be read.
    pub hidden: usize,
    /// Processes that there are.
    pub listed: usize,
    /// The threads of a running test; `None` without one.
    pub workers: Option<WorkerRates>,
    /// What CPUs executed, or why that cannot be known; `None` while it is not sampled, and before the first samples.
    pub profile: Option<Result<Profile, Problem>>,
    /// Hardware counters, likewise.
    pub hardware: Option<Result<Hardware, Problem>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl WorkerTicks {
    /// Rates over `elapsed`, with `ticks` a second.
    pub fn rates(self, elapsed: Duration, ticks: f64) -> WorkerRates {
        let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
        let each = |count: u64| count as f64 / seconds;
        WorkerRates {
            user: each(self.user) / ticks,
            system: each(self.system) / ticks,
            switches: each(self.switches),
        }
    }
}

impl ProcessCounters {
    /// Those of `/proc/PID/io`. They contain those of children that the process has waited for (`wait_task_zombie` in kernel/exit.c).
    const fn io(&self) -> [Option<u64>; 4] {
        [self.read_bytes, self.written_bytes, self.called_read, self.called_write]
    }

    /// What its parent gets when it ends: I/O counters and ticks.
    fn left(&self) -> [u64; 5] {
        let [read, written, called_read, called_write] = self.io().map(Option::unwrap_or_default);
        [read, written, called_read, called_write, self.cpu.saturating_add(self.child_cpu)]
    }
}

impl ProcessSample {
    /// Processes whose I/O counters could not be read.
    pub fn hidden(&self) -> usize {
        self.processes.values().filter(|process| process.read_bytes.is_none()).count()
    }
}

impl ProcessRates {
    /// Whether its bytes could be read.
    pub(crate) const fn has_bytes(&self) -> bool {
        self.read_bytes.is_some() || self.written_bytes.is_some()
    }

    /// Bytes per second to and from storage, as far as they are known.
    pub fn moved(&self) -> f64 {
        self.read_bytes.unwrap_or(0.0) + self.written_bytes.unwrap_or(0.0)
    }

    /// Those that move most first, then those that use most CPU time.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        other.moved().total_cmp(&self.moved()).then(other.cpus.total_cmp(&self.cpus))
    }
}

impl ThreadActivity {
    /// The share of all threads that was seen, percent.
    pub(crate) fn seen_percent(&self) -> Option<f64> {
        (self.total > 0).then(|| 100.0 * self.seen as f64 / self.total as f64)
    }

    /// Active kinds first, of these the most frequent ones.
    pub(crate) fn sort(kinds: &mut [(ThreadKind, f64)]) {
        kinds.sort_by(|(a, n), (b, m)| {
            b.is_active().cmp(&a.is_active()).then(m.total_cmp(n)).then_with(|| a.cmp(b))
        });
    }
}

impl ThreadKind {
    /// The kind of a thread.
    pub fn of(thread: &Thread) -> Self {
        Self {
            state: thread.state,
            command: thread.command.clone(),
            is_kernel: thread.is_kernel,
            syscall: thread.syscall.clone(),
            wchan: thread.wchan.clone(),
            stack: thread.stack.clone(),
        }
    }

    /// Whether it runs or waits for a device: pSnapper shows these.
    pub const fn is_active(&self) -> bool {
        matches!(self.state, 'R' | 'D')
    }
}

impl Activity {
    /// What threads and processes did between two samples of the processes, `elapsed` apart and with `ticks` a second.
    pub fn between(
        threads: Option<ThreadActivity>,
        processes: Option<(&ProcessSample, &ProcessSample)>,
        elapsed: Duration,
        ticks: f64,
    ) -> Self {
        let after = processes.map(|(_, after)| after);
        Self {
            threads,
            processes: processes.map(|(before, after)| process_rates(before, after, elapsed, ticks)),
            limits: after.map(|sample| sample.limits.clone()).unwrap_or_default(),
            children: after.map(|sample| sample.children.clone()).unwrap_or_default(),
            hidden: after.map_or(0, ProcessSample::hidden),
            listed: after.map_or(0, |sample| sample.processes.len()),
            problems: after.map(|sample| sample.problems.clone()).unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// Rates of the processes of the later sample, `elapsed` after the earlier one and with `ticks` a second; those that did nothing are
/// left out. A process that the earlier sample lacks began since, with counters at zero. A counter that decreased has no rate. What
/// an ended process had moved by the earlier sample is not counted again in its parent.
pub fn process_rates(
    before: &ProcessSample,
    after: &ProcessSample,
    elapsed: Duration,
    ticks: f64,
) -> Vec<ProcessRates> {
    let seconds = elapsed.as_secs_f64();
    // An earlier sample without processes could not be read.
    if seconds <= 0.0 || before.processes.is_empty() {
        return Vec::new();
    }
    let ended = ended_children(before, after);
    let did = |rates: &ProcessRates| {
        let moved = [rates.read_bytes, rates.written_bytes, rates.called_read, rates.called_write];
        rates.cpus > 0.0 || moved.iter().flatten().any(|bytes| *bytes > 0.0)
    };
    let of = |(pid, now): (&u32, &ProcessCounters)| {
        let then = before.processes.get(pid).filter(|then| then.started == now.started);
        let children = ended.get(pid).copied().unwrap_or_default();
        let grown = then.map_or(now.io(), |then| growth(then.io(), now.io()));
        let own = own_growth(then, now)
            .filter(|own| own.iter().zip(grown).all(|(a, b)| a.is_some() || b.is_none()));
        let ticks_since = |now: u64, then: Option<u64>| now.saturating_sub(then.unwrap_or(0));
        let rates = |counts: [Option<u64>; 4], cpu: u64| {
            let [read_bytes, written_bytes, called_read, called_write] =
                counts.map(|count| Some(count? as f64 / seconds));
            ProcessRates {
                pid: *pid,
                has_ended: false,
                command: now.command.clone(),
                read_bytes,
                written_bytes,
                called_read,
                called_write,
                cpus: cpu as f64 / ticks / seconds,
                is_nice: now.is_nice,
                delayed: then
                    .and_then(|then| Some(now.delayed?.checked_sub(then.delayed?)? as f64 / 1e9 / seconds)),
                drives: now.drives.clone(),
            }
        };
        let less = |from: [Option<u64>; 4], of: &dyn Fn(usize) -> u64| {
            std::array::from_fn(|at| Some(from[at]?.saturating_sub(of(at))))
        };
        // What no sample saw of its children is its own where the two cannot be told apart.
        let unseen = less(grown, &|at| children[at]);
        let cpu = ticks_since(now.cpu, then.map(|then| then.cpu));
        let Some(own) = own else { return [Some(rates(unseen, cpu)), None] };
        let child_cpu =
            ticks_since(now.child_cpu, then.map(|then| then.child_cpu)).saturating_sub(children[4]);
        let of_children = rates(less(unseen, &|at| own[at].unwrap_or(0)), child_cpu);
        // The open files are those of the parent.
        let child = did(&of_children).then(|| {
            let unseen = || Label::new(&format!("a child of {}", now.command));
            let command = now.child.clone().unwrap_or_else(unseen);
            ProcessRates { has_ended: true, command, delayed: None, drives: None, ..of_children }
        });
        [Some(rates(own, cpu)), child]
    };
    let mut all: Vec<ProcessRates> = after.processes.iter().flat_map(of).flatten().filter(did).collect();
    all.sort_by(ProcessRates::order);
    all
}

/// What the counters of `/proc/PID/io` grew by; `None` where one is unknown or decreased.
fn growth(before: [Option<u64>; 4], after: [Option<u64>; 4]) -> [Option<u64>; 4] {
    std::array::from_fn(|at| after[at]?.checked_sub(before[at]?))
}

/// What a process did itself, where that is known apart from its children. Before it has waited for the first, all is its own.
fn own_growth(then: Option<&ProcessCounters>, now: &ProcessCounters) -> Option<[Option<u64>; 4]> {
    let before = then.map_or([Some(0); 4], |then| then.own.unwrap_or_else(|| then.io()));
    Some(growth(before, now.own?))
}

/// What processes got from children that ended since the earlier sample, as far as that sample has it: the last counters of each,
/// under its nearest ancestor that lives on. An ancestor that grew by less in any counter has not waited for the child.
fn ended_children(before: &ProcessSample, after: &ProcessSample) -> HashMap<u32, [u64; 5]> {
    // Numbers are used again: parents that seem to go in a circle end here.
    const GENERATIONS: usize = 64;
    let lives = |pid: u32, then: &ProcessCounters| {
        after.processes.get(&pid).filter(|now| now.started == then.started)
    };
    let mut ended: HashMap<u32, [u64; 5]> = HashMap::new();
    for (pid, last) in &before.processes {
        if lives(*pid, last).is_some() {
            continue;
        }
        let parent = |child: &ProcessCounters| Some((child.parent, before.processes.get(&child.parent)?));
        let ancestors = std::iter::successors(parent(last), |(_, child)| parent(child)).take(GENERATIONS);
        let living =
            |(pid, then): (u32, &ProcessCounters)| Some((pid, growth(then.io(), lives(pid, then)?.io())));
        let Some((ancestor, grown)) = { ancestors }.find_map(living) else { continue };
        let sum = ended.entry(ancestor).or_default();
        let left = last.left();
        let with: [u64; 5] = std::array::from_fn(|at| sum[at].saturating_add(left[at]));
        // Ticks are rounded: they prove nothing.
        if with.iter().zip(grown).all(|(sum, grown)| grown.is_none_or(|grown| *sum <= grown)) {
            *sum = with;
        }
    }
    ended
}

#[cfg(test)]
mod tests;
