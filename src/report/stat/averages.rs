//! [`Averages`]: all intervals of `iodyno stat` as one.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    counters::{
        Memory, Rates,
        activity::{Activity, ProcessRates, ThreadActivity, ThreadKind},
        profile::{Hardware, Profile},
    },
    text::Label,
};

/// What was counted since the beginning.
#[derive(Debug, Default)]
pub(crate) struct Averages {
    rates: Rates,
    levels: Levels,
    threads: Option<Threads>,
    processes: Option<BTreeMap<(u32, String, bool), Process>>,
    profile: Option<Profile>,
    /// Cycles, instructions, and the seconds in which they were counted.
    hardware: Option<(Hardware, f64)>,
    /// Of the last interval: what could not be read.
    last: Activity,
}

/// Levels summed over the time in which each was known: processes that run and are blocked, bytes of memory.
#[derive(Debug, Default)]
struct Levels {
    running: Level,
    blocked: Level,
    memory: [Level; 4],
}

#[derive(Debug, Default, Clone, Copy)]
struct Level {
    /// Level times nanoseconds.
    sum: u128,
    nanoseconds: u128,
}

impl Level {
    fn add(&mut self, level: Option<u64>, time: Duration) {
        if let Some(level) = level {
            self.sum += u128::from(level) * time.as_nanos();
            self.nanoseconds += time.as_nanos();
        }
    }

    /// Rounded to the nearest.
    fn mean(self) -> Option<u64> {
        let mean = (self.sum + self.nanoseconds / 2).checked_div(self.nanoseconds)?;
        u64::try_from(mean).ok()
    }
}

impl Levels {
    fn add(&mut self, rates: &Rates) {
        let time = rates.elapsed;
        self.running.add(rates.running, time);
        self.blocked.add(rates.blocked, time);
        let bytes = |of: fn(Memory) -> u64| rates.memory.map(of);
        let levels = [bytes(|m| m.used), bytes(|m| m.free), bytes(|m| m.buffers), bytes(|m| m.cached)];
        for (sum, level) in self.memory.iter_mut().zip(levels) {
            sum.add(level, time);
        }
    }

    fn memory(&self) -> Option<Memory> {
        let [used, free, buffers, cached] = self.memory.map(Level::mean);
        Some(Memory { used: used?, free: free?, buffers: buffers?, cached: cached? })
    }
}

#[derive(Debug, Default)]
struct Threads {
    /// Threads of a kind, summed over samples.
    sums: BTreeMap<ThreadKind, f64>,
    /// The same of processes with I/O.
    with_io: Option<BTreeMap<ThreadKind, f64>>,
    samples: usize,
    /// They are of intervals before which each thread had its turn.
    is_whole: bool,
}

/// Sums over time: bytes, or CPU seconds.
#[derive(Debug)]
struct Process {
    last: ProcessRates,
    read: Option<f64>,
    written: Option<f64>,
    called_read: Option<f64>,
    called_write: Option<f64>,
    cpus: f64,
    /// Seconds waited for a CPU, and those in which that was known.
    delayed: Option<(f64, f64)>,
}

impl Averages {
    /// Adds an interval.
    pub(crate) fn add(&mut self, rates: &Rates, activity: &Activity) {
        self.rates = self.rates.joined(rates);
        self.levels.add(rates);
        if let Some(threads) = &activity.threads {
            let sum = self.threads.get_or_insert_default();
            // Means of a part of all threads say nothing beside those of all.
            if threads.is_whole && !std::mem::replace(&mut sum.is_whole, threads.is_whole) {
                *sum = Threads { is_whole: true, ..Threads::default() };
            }
            sum.samples += threads.samples;
            let samples = threads.samples as f64;
            let add = |kinds: &[(ThreadKind, f64)], sums: &mut BTreeMap<ThreadKind, f64>| {
                for (kind, mean) in kinds {
                    *sums.entry(kind.clone()).or_default() += mean * samples;
                }
            };
            add(&threads.kinds, &mut sum.sums);
            if let Some(with_io) = &threads.with_io {
                add(with_io, sum.with_io.get_or_insert_default());
            }
        }
        if let Some(processes) = &activity.processes {
            let seconds = rates.elapsed.as_secs_f64();
            let all = self.processes.get_or_insert_default();
            for process in processes {
                all.entry((process.pid, worker(&process.command).to_owned(), process.has_ended))
                    .and_modify(|sum| sum.add(process, seconds))
                    .or_insert_with(|| Process::new(process, seconds));
            }
        }
        if let Some(Ok(profile)) = &activity.profile {
            self.profile = Some(self.profile.take().unwrap_or_default().joined(profile));
        }
        if let Some(Ok(hardware)) = &activity.hardware {
            let elapsed = rates.elapsed.as_secs_f64();
            let (sum, seconds) =
                self.hardware.get_or_insert((Hardware { cycles: 0.0, instructions: 0.0 }, 0.0));
            sum.cycles += hardware.cycles * elapsed;
            sum.instructions += hardware.instructions * elapsed;
            *seconds += elapsed;
        }
        self.last = Activity { threads: None, processes: None, ..activity.clone() };
        if let Some(threads) = &activity.threads {
            self.last.threads = Some(ThreadActivity { kinds: Vec::new(), with_io: None, ..threads.clone() });
        }
    }

    /// The mean rates and activity; `None` before the first interval.
    pub(crate) fn means(self) -> Option<(Rates, Activity)> {
        let seconds = self.rates.elapsed.as_secs_f64();
        if self.rates.elapsed == Duration::ZERO {
            return None;
        }
        let mut activity = self.last;
        if let (Some(threads), Some(Threads { sums, with_io, samples, .. })) =
            (&mut activity.threads, self.threads)
        {
            threads.samples = samples;
            let means = |sums: BTreeMap<ThreadKind, f64>| {
                let mean = |(kind, sum)| (kind, sum / samples.max(1) as f64);
                let mut kinds: Vec<(ThreadKind, f64)> = sums.into_iter().map(mean).collect();
                ThreadActivity::sort(&mut kinds);
                kinds
            };
            (threads.kinds, threads.with_io) = (means(sums), with_io.map(means));
        }
        activity.processes = self.processes.map(|all| {
            let mut means: Vec<ProcessRates> = all.into_values().map(|sum| sum.mean(seconds)).collect();
            means.sort_by(ProcessRates::order);
            means
        });
        if let Some(profile) = self.profile {
            activity.profile = Some(Ok(profile));
        }
        if let Some((Hardware { cycles, instructions }, counted)) = self.hardware.filter(|(_, s)| *s > 0.0) {
            activity.hardware =
                Some(Ok(Hardware { cycles: cycles / counted, instructions: instructions / counted }));
        }
        let (running, blocked) = (self.levels.running.mean(), self.levels.blocked.mean());
        Some((Rates { running, blocked, memory: self.levels.memory(), ..self.rates }, activity))
    }
}

/// `kworker/u8:5` of `kworker/u8:5-kvfree_rcu`: it is called after its work, `+` while it works and `-` afterwards (`wq_worker_comm`
/// in kernel/workqueue.c).
fn worker(command: &Label) -> &str {
    let name = command.as_str();
    match name.find(['+', '-']) {
        Some(end) if name.starts_with("kworker/") => &name[..end],
        _ => name,
    }
}

impl Process {
    fn new(rates: &ProcessRates, seconds: f64) -> Self {
        let sum = |rate: Option<f64>| rate.map(|rate| rate * seconds);
        Self {
            read: sum(rates.read_bytes),
            written: sum(rates.written_bytes),
            called_read: sum(rates.called_read),
            called_write: sum(rates.called_write),
            cpus: rates.cpus * seconds,
            delayed: rates.delayed.map(|delayed| (delayed * seconds, seconds)),
            last: rates.clone(),
        }
    }

    fn add(&mut self, rates: &ProcessRates, seconds: f64) {
        let new = Self::new(rates, seconds);
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
        // What it did for several kinds of work has the name of none.
        let is_same = self.last.command == rates.command;
        let command = if is_same { new.last.command } else { Label::new(worker(&rates.command)) };
        *self = Self {
            read: sum(self.read, new.read),
            written: sum(self.written, new.written),
            called_read: sum(self.called_read, new.called_read),
            called_write: sum(self.called_write, new.called_write),
            cpus: self.cpus + new.cpus,
            delayed: match (self.delayed, new.delayed) {
                (Some((a, known)), Some((b, more))) => Some((a + b, known + more)),
                (known, new) => known.or(new),
            },
            last: ProcessRates { command, ..new.last },
        };
    }

    fn mean(self, seconds: f64) -> ProcessRates {
        let mean = |sum: Option<f64>| sum.map(|sum| sum / seconds);
        ProcessRates {
            read_bytes: mean(self.read),
            written_bytes: mean(self.written),
            called_read: mean(self.called_read),
            called_write: mean(self.called_write),
            cpus: self.cpus / seconds,
            delayed: self.delayed.map(|(waited, known)| waited / known),
            ..self.last
        }
    }
}
