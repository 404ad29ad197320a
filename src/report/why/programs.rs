//! [`Program`]: the processes of one command together, and whether one thread is all that it runs.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Facts,
    tables::Split,
    waits::{self, Wait},
};
use crate::{
    counters::{
        activity::{Activity, ProcessRates, ThreadActivity, WORKS, is_part_of},
        profile::Word,
    },
    text::starred_name,
};

/// What a thread does that fills a CPU, or nearly does.
const KEEPS_BUSY: &str = " keeps one CPU busy";
const WAITS_FOR_A_CPU: &str = " and waits for a CPU";

/// The processes of one command.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// As threads have it.
    pub(super) command: String,
    /// Whether it is iodyno, but not this one.
    pub(super) is_another: bool,
    /// The name of the one process, or the command of several.
    pub(super) name: String,
    /// Processes that live, and their numbers.
    living: usize,
    pub(super) pids: Vec<u32>,
    /// Those that do a part of its I/O.
    pub(super) movers: usize,
    /// Bytes per second of those that ended.
    ended: f64,
    pub(super) read: f64,
    pub(super) written: f64,
    pub(super) called_read: f64,
    pub(super) called_write: f64,
    pub(super) cpus: f64,
    /// CPUs of its processes that ended.
    ended_cpus: f64,
    /// CPUs of its processes whose bytes cannot be read.
    hidden: f64,
    /// CPUs of its nice processes.
    nice: f64,
    /// Mean number of threads that wait for a CPU, and the bytes per second of the processes of which that is known.
    delayed: Option<(f64, f64)>,
}

impl Program {
    pub(super) fn moved(&self) -> f64 {
        self.read + self.written
    }

    /// Bytes per second of its thread: of calls that the page cache answers too.
    pub(super) fn passed(&self) -> f64 {
        self.moved().max(self.called_read).max(self.called_write)
    }

    /// Whether all its processes have ended.
    fn is_gone(&self) -> bool {
        self.living == 0
    }

    /// What so many of it are: threads of different processes are told apart by the bytes of these.
    pub(super) fn kind_of(&self, active: f64) -> &'static str {
        let pids: BTreeSet<u32> = self.pids.iter().copied().collect();
        let many = pids.len().min(self.movers);
        let are_threads = self.command == waits::WORKERS;
        if many >= 2 && !are_threads && active.round() <= many as f64 { "processes" } else { "threads" }
    }

    /// Whether it is one process, which lives.
    pub(super) fn is_one_process(&self) -> bool {
        self.living == 1 && self.ended == 0.0 && self.ended_cpus == 0.0
    }

    /// Whether processes that ended before a sample found them do most of its I/O.
    pub(super) fn is_short(&self) -> bool {
        self.is_short_by(0.5)
    }

    /// Whether they do this part of it: one that writes for half a second is often found.
    pub(super) fn is_short_by(&self, part: f64) -> bool {
        self.ended > 0.0 && self.ended >= part * self.moved()
    }

    /// Whether processes that ended used most of its CPU time.
    pub(super) fn has_ended(&self) -> bool {
        2.0 * self.ended_cpus > self.cpus
    }

    /// Whether some of its processes live and it writes this much.
    pub(super) fn lives_and_writes(&self, least: f64) -> bool {
        !self.is_gone() && self.written >= least
    }

    /// What it does more of, and how much.
    pub(super) fn larger(&self) -> (&'static str, f64) {
        if self.read >= self.written { ("reads", self.read) } else { ("writes", self.written) }
    }

    /// Whether threads of other names than its own do its work: samples tell threads by their names alone.
    pub(super) fn is_in_others(&self, threads: &ThreadActivity) -> bool {
        let used = self.cpus + self.delayed().unwrap_or_default();
        let has_workers = || self.is_another && waits::running(threads, waits::WORKERS).1 >= 0.2;
        self.may_be_in_others(threads) && (used >= 0.2 || has_workers())
    }

    /// The same of one that may hardly use a CPU: threads of its own name were not found. Those of processes that have ended are not there.
    pub(super) fn may_be_in_others(&self, threads: &ThreadActivity) -> bool {
        !self.is_gone() && !self.is_short() && waits::running(threads, &self.command).1 < 0.1
    }

    /// Adds another program, whose threads have the same names.
    fn add(&mut self, other: Self) {
        self.living += other.living;
        self.pids.extend(other.pids);
        self.movers += other.movers;
        self.read += other.read;
        self.written += other.written;
        self.called_read += other.called_read;
        self.called_write += other.called_write;
        self.cpus += other.cpus;
        self.hidden += other.hidden;
        self.nice += other.nice;
        self.delayed = match (self.delayed, other.delayed) {
            (Some((a, of)), Some((b, others))) => Some((a + b, of + others)),
            (one, another) => one.or(another),
        };
    }

    /// Mean number of its threads that wait for a CPU: of many processes those that move most are known.
    pub(super) fn delayed(&self) -> Option<f64> {
        /// Times the bytes of the processes of which it is known: beyond, these stand for no others.
        const MOST: f64 = 10.0;
        let (delayed, moved) = self.delayed?;
        if self.moved() <= moved {
            return Some(delayed);
        }
        (self.moved() <= MOST * moved).then(|| delayed * self.moved() / moved)
    }
}

/// Workers of another iodyno's test have names of their own: the time of the program is theirs. Of several that move data it is not
/// known whose they are.
pub(super) fn name_workers(programs: &mut Vec<Program>, threads: &ThreadActivity) {
    let moves = |program: &Program| program.is_another && program.moved() >= WORKS as f64;
    let has_movers = programs.iter().any(moves);
    // Those that keep to a rate sleep most of the time.
    let active = || waits::running(threads, waits::WORKERS).1;
    let found = if has_movers { waits::all(threads, waits::WORKERS) } else { active() };
    if found < 0.2 {
        return;
    }
    let is_its = |program: &mut Program| {
        let is_quiet = || program.is_another && waits::running(threads, &program.command).1 < 0.1;
        if has_movers { moves(program) } else { is_quiet() }
    };
    let mut its = programs.extract_if(.., is_its);
    let Some(mut all) = its.next() else { return };
    waits::WORKERS.clone_into(&mut all.command);
    for other in its {
        if has_movers { waits::OTHER_RUNS } else { waits::ANOTHER }.clone_into(&mut all.name);
        all.add(other);
    }
    programs.push(all);
}

/// How a process is named.
pub(super) struct Name {
    pub(super) name: String,
    /// Whether it is iodyno, but not this one.
    pub(super) is_another: bool,
}

/// `dd`, `another iodyno (PID 4711)`: its user looks for a program that it does not know to be this one.
pub(super) fn name_of(process: &ProcessRates, own: u32) -> Name {
    let command = process.command.as_str();
    let is_another = command == "iodyno" && ![0, own].contains(&process.pid) && !process.has_ended;
    let name =
        if is_another { format!("{} (PID {})", waits::ANOTHER, process.pid) } else { command.to_owned() };
    Name { name, is_another }
}

/// The parent, where it is not known which of its children a program is.
pub(super) fn child_of(program: &str) -> Option<&str> {
    program.strip_prefix("a child of ")
}

/// `short runs of dd`, `short processes that bash starts` where no sample knows their name.
pub(super) fn runs_of(program: &str) -> String {
    match child_of(program) {
        Some(parent) => format!("short processes that {parent} starts"),
        None => format!("short runs of {program}"),
    }
}

/// Processes by command; `own` is the number of this one.
pub(super) fn programs(activity: &Activity, own: u32) -> Vec<Program> {
    let mut sums: BTreeMap<String, Program> = BTreeMap::new();
    let mut moves: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for process in activity.processes.iter().flatten() {
        let command = starred_name(process.command.as_str());
        let Name { name, is_another } = name_of(process, own);
        let key = if is_another { &name } else { &command };
        if !process.has_ended {
            moves.entry(key.clone()).or_default().push(process.moved());
        }
        let sum = sums.entry(key.clone()).or_insert_with(|| Program {
            command: command.clone(),
            name: name.clone(),
            is_another,
            ..Program::default()
        });
        if sum.name != name {
            sum.name = command;
        }
        sum.living += usize::from(!process.has_ended);
        sum.pids.extend((!process.has_ended).then_some(process.pid));
        if process.has_ended {
            sum.ended += process.moved();
            sum.ended_cpus += process.cpus;
        }
        sum.read += process.read_bytes.unwrap_or(0.0);
        sum.written += process.written_bytes.unwrap_or(0.0);
        sum.called_read += process.called_read.unwrap_or(0.0);
        sum.called_write += process.called_write.unwrap_or(0.0);
        sum.cpus += process.cpus;
        sum.hidden += if process.has_bytes() { 0.0 } else { process.cpus };
        if let Some(delayed) = process.delayed {
            let (all, moved) = sum.delayed.unwrap_or_default();
            sum.delayed = Some((all + delayed, moved + process.moved()));
        }
        sum.nice += if process.is_nice { process.cpus } else { 0.0 };
    }
    for (key, moves) in moves {
        let most = moves.iter().copied().fold(0.0, f64::max);
        let movers = moves.into_iter().filter(|moved| is_part_of(*moved, most)).count();
        sums.entry(key).and_modify(|sum| sum.movers = movers);
    }
    sums.into_values().collect()
}

/// Bytes per second that processes may move whose counters cannot be read, of those that no other process accounts for. A file system's
/// journal is in no process's counters either: a process moves no more than it has CPU time for.
pub(super) fn hidden_bytes(programs: &[Program], left: f64) -> f64 {
    /// Bytes of a second of CPU time: a copy through the page cache reaches about as many.
    const MOST: f64 = 2e9;
    let cpus: f64 = programs.iter().map(|program| program.hidden).sum();
    left.min(MOST * cpus).max(0.0)
}

/// Mean numbers of threads of the program that moves most.
pub(super) struct OwnTime<'a> {
    pub(super) program: &'a Program,
    /// Threads that run, wait for a CPU or wait for I/O.
    pub(super) active: f64,
    /// Those that wait for a CPU.
    pub(super) delayed: f64,
    /// Those that wait for I/O.
    pub(super) waiting: f64,
}

impl<'a> OwnTime<'a> {
    /// Where no test runs and the waits for a CPU are known.
    pub(super) fn of(facts: &'a Facts<'_>) -> Option<Self> {
        let program = facts.mover().filter(|_| facts.inputs.test.is_none())?;
        let threads = facts.inputs.activity.threads.as_ref()?;
        // An estimate of many processes has no more threads than there are.
        let delayed = program.delayed()?.min(waits::all(threads, &program.command));
        let (_, sampled) = waits::running(threads, &program.command);
        if program.is_in_others(threads) {
            return None;
        }
        let active = sampled.max(program.cpus + delayed);
        Some(Self { program, active, delayed, waiting: active - program.cpus - delayed })
    }

    /// The share of their time in which they wait for I/O.
    pub(super) fn waiting_share(&self) -> f64 {
        if self.active > 0.0 { self.waiting / self.active } else { 0.0 }
    }

    /// Whether they wait for I/O this part of the time, one at least.
    pub(super) fn is_waiting(&self, part: f64) -> bool {
        self.waiting >= part && self.waiting >= part * self.active
    }

    /// Whether they hardly wait for a CPU, so that others do not slow them down.
    pub(super) fn has_cpus(&self, facts: &Facts<'_>) -> bool {
        // It speaks against the rule that asks.
        self.delayed < facts.most(0.1, 0.05) * self.active.max(1.0)
    }
}

impl Facts<'_> {
    /// Whether the program that moves most is not slowed down by others on its CPUs.
    pub(super) fn mover_has_cpus(&self) -> bool {
        OwnTime::of(self).is_some_and(|own| own.has_cpus(self))
    }

    /// The program that moves most.
    pub(super) fn mover(&self) -> Option<&Program> {
        // Several may be other processes of iodyno.
        let its = self.programs.iter().filter(|program| Some(&program.command) == self.mover.as_ref());
        its.max_by(|a, b| a.moved().total_cmp(&b.moved()))
    }

    /// Whether a command moves at least half of what the largest load does, as far as that is known.
    pub(super) fn is_large(&self, command: &str) -> bool {
        let most = self.programs.iter().map(Program::moved).fold(0.0, f64::max);
        let own = self.programs.iter().find(|program| program.command == command);
        own.is_none_or(|program| 2.0 * program.moved() >= most.max(self.hidden))
    }

    /// `dd writes 50.0 MB/s`: the second program by bytes, where it is no log and moves enough to matter. The one that was named before
    /// stays while it moves half of what the second does.
    pub(super) fn second(&self) -> Option<String> {
        const LEAST: f64 = 1e6;
        /// The least part of all bytes: with less the first program would hardly be faster without it.
        const PART: f64 = 0.05;
        let first = self.mover.as_ref().filter(|_| self.inputs.test.is_none())?;
        // The kernel's workers move what programs ask for: it is no load of its own.
        let threads = self.inputs.activity.threads.as_ref();
        // What has ended may have its last bytes under the name of its parent.
        let is_other = |program: &&Program| {
            program.command != *first && !program.is_gone() && !waits::is_kernel(threads, &program.command)
        };
        let others = || self.programs.iter().filter(is_other);
        let most = others().max_by(|a, b| a.larger().1.total_cmp(&b.larger().1))?;
        let named = others().find(|program| self.inputs.named.contains(&program.name));
        let second = named.filter(|named| 2.0 * named.larger().1 >= most.larger().1).unwrap_or(most);
        let (verb, bytes) = second.larger();
        let moved = self.mover().map_or(0.0, Program::moved).max(self.read + self.written);
        let least = LEAST.max(PART * moved);
        (bytes >= self.least_for(" beside it", least, least / 2.0)).then(|| {
            self.named.replace(vec![second.name.clone()]);
            format!("{} {verb} {}", second.name, self.rate(bytes))
        })
    }

    /// CPU time that the program which moves most can have, percent of all CPUs: nice programs yield to it unless it is nice too.
    pub(super) fn left(&self, all: Split) -> f64 {
        all.idle + all.iowait + self.yielded(all)
    }

    /// Time of nice programs, percent of all CPUs: `/proc/stat` has only what they spend in user mode.
    pub(super) fn yielded(&self, all: Split) -> f64 {
        if self.mover().is_some_and(|mover| 2.0 * mover.nice > mover.cpus) {
            return 0.0;
        }
        let nice: f64 = self.programs.iter().map(|program| program.nice).sum();
        let cpus = self.inputs.rates.cpus.len().max(1) as f64;
        (100.0 * nice / cpus).max(all.nice).min(all.busy())
    }

    /// The program that reads, or writes with `O_DIRECT`, with one I/O in flight nearly always and hardly uses a CPU, by the drive's
    /// figures: beside busy CPUs samples seldom find its thread waiting.
    pub(super) fn one_in_flight(&self) -> Option<&Program> {
        let (_, disk) = self.deepest?;
        let depths = self.least(0.65, 0.5)..self.most(1.2, 1.5);
        let is_one = depths.contains(&disk.queue_depth) && disk.utilisation >= self.least(65.0, 50.0);
        let program = self.mover()?;
        let is_alone = 2.0 * program.moved() >= self.read + self.written;
        let waits = self.one_thread(program).is_some_and(|cpus| cpus < 0.5);
        // Buffered writes are in flight while their program does not wait for them.
        let is_its = if program.written > program.read {
            let threads = self.inputs.activity.threads.as_ref()?;
            disk.writes > disk.reads && waits::is_for(threads, &program.command, Wait::Completion)
        } else {
            disk.reads > disk.writes
        };
        (is_one && is_alone && waits && is_its && self.inputs.test.is_none()).then_some(program)
    }

    /// Whether a program's read calls return much more than all drives move: then these are not its limit.
    pub(super) fn is_cached(&self) -> bool {
        let moved = self.read + self.written;
        let reads = |program: &Program| {
            let called = program.called_read;
            called >= 5.0 * moved && called >= moved + 200e6 && program.written < 0.5 * called
        };
        self.inputs.test.is_none() && self.programs.iter().any(reads)
    }

    /// The CPU time of a program that has one thread to run, in CPUs: one at most.
    pub(super) fn one_thread(&self, program: &Program) -> Option<f64> {
        const ONE: f64 = 1.5;
        // Short processes follow each other: their threads tell how many there are at a time.
        let active = self.inputs.activity.threads.as_ref().map_or(0.0, |threads| {
            let (_, active) = waits::running(threads, &program.command);
            active
        });
        let is_one = if active > 0.0 { active < ONE } else { program.living <= 1 };
        (is_one && program.cpus < 1.1).then_some(program.cpus)
    }

    /// The share of time in which the one thread of a command does not run, by its CPU time: samples are few. Where CPUs are full it may
    /// wait for one of them.
    pub(super) fn waiting_share(&self, command: &str) -> Option<f64> {
        // Its waits for a CPU tell them apart.
        if let Some(own) = OwnTime::of(self).filter(|own| own.program.command == command) {
            return Some(own.waiting_share());
        }
        let all = self.all().filter(|all| self.left(*all) >= 20.0 && self.inputs.test.is_none())?;
        let program =
            self.programs.iter().find(|program| program.command == command && program.cpus > 0.0)?;
        let (_, active) = waits::running(self.inputs.activity.threads.as_ref()?, command);
        let cpus = self.one_thread(program).filter(|_| active >= 0.8 && all.steal < 5.0)?;
        Some((1.0 - cpus / active).clamp(0.0, 1.0))
    }

    /// `dd keeps one CPU busy for 504 MB/s: one thread is the limit`, of what it moves; without the rate where that is not known.
    pub(super) fn busy_for(&self, who: &str, moved: f64, through: &str) -> String {
        let rate = if moved >= 1.0 { format!(" for {}", self.rate(moved)) } else { String::new() };
        format!("{who}{KEEPS_BUSY}{rate}: one thread{through} is the limit")
    }

    /// `dd keeps one CPU busy: one thread is the limit`; more than one CPU says nothing of threads.
    pub(super) fn one_busy_cpu(&self, program: &Program) -> Option<String> {
        let cpus = self.one_thread(program)?;
        (cpus >= self.least(0.85, 0.7))
            .then(|| format!("{}{KEEPS_BUSY}: one thread is the limit", program.name))
    }

    /// One thread that runs or waits for a CPU nearly all the time, and hardly waits for I/O: more CPUs would not make it faster by much.
    pub(super) fn one_thread_without_waits(&self) -> Option<String> {
        let OwnTime { program, active, delayed, .. } = OwnTime::of(self)?;
        let is_most = 2.0 * program.moved() >= self.read + self.written;
        let cpus = self.one_thread(program).filter(|_| is_most && active < 1.5)?;
        // Less of it is in the rounding.
        let waits = delayed >= self.least(0.05, 0.03);
        // What hardly waits for a CPU fills one: a percent more or less of waits is no other limit.
        let fills = self.least_for(KEEPS_BUSY, self.least_for(WAITS_FOR_A_CPU, 0.87, 0.93), 0.8);
        (waits && cpus + delayed >= self.least(0.95, 0.88) * active.max(1.0)).then(|| {
            let through = self.through_cache(program);
            if cpus >= fills {
                return self.busy_for(&program.name, program.passed(), through);
            }
            format!(
                "{} runs {:.0} %{WAITS_FOR_A_CPU} {:.0} % of the time: one thread{through} is the limit",
                program.name,
                100.0 * cpus,
                100.0 * delayed,
            )
        })
    }

    /// Whether most waits of a program's threads for I/O are for pages of the page cache. What waits for both kinds keeps the words of
    /// the shown sentence.
    pub(super) fn is_for_pages(&self, program: &Program) -> bool {
        const PAGES: &str = "page cache";
        /// In sentences about buffered reads, of which a look may find no wait.
        const FOR_PAGES: [&str; 2] = ["for pages of the page cache", "for the page cache to fill"];
        let part = self.least_for(PAGES, self.least_for("for I/O", 0.5, 0.8), 0.25);
        let Some(threads) = self.inputs.activity.threads.as_ref() else { return false };
        // Samples found none of its waits: they are for what they were for.
        if !waits::is_found(threads, &program.command) {
            let said = self.inputs.said;
            return FOR_PAGES.iter().any(|words| said.contains(words)) && said.contains(&program.name);
        }
        waits::is_for_by(threads, &program.command, Wait::PageCache, part)
    }

    /// `, which reads through the page cache,`: most of its waits are for pages, or most CPU time of the machine is copying.
    pub(super) fn through_cache(&self, program: &Program) -> &'static str {
        const THROUGH: &str = ", which reads through the page cache,";
        let activity = self.inputs.activity;
        // Samples seldom find the waits of what runs nearly all the time.
        let is_said = || {
            let waits = |threads| waits::running(threads, &program.command);
            let is_seen = activity.threads.as_ref().map(waits).is_some_and(|(running, all)| all > running);
            !is_seen && self.inputs.said.contains(THROUGH)
        };
        let copies = || {
            let profile = activity.profile.as_ref().and_then(|profile| profile.as_ref().ok());
            profile.is_some_and(|profile| profile.of_word(Word::Copying) >= self.least(50.0, 35.0))
        };
        let reads = self.inputs.test.is_none() && program.read > program.written;
        if reads && (self.is_for_pages(program) || copies() || is_said()) { THROUGH } else { "" }
    }

    /// Whether the one thread of the program that moves most, or whose calls do, fills a CPU: others leave it that.
    pub(super) fn one_thread_is_full(&self) -> bool {
        // It speaks against the rule that asks.
        let least = self.most(0.85, 0.95);
        let moves = |program: &&Program| {
            let calls = program.called_read.max(program.called_write);
            Some(&program.command) == self.mover.as_ref()
                && program.moved() >= 0.5 * (self.read + self.written)
                || calls >= 200e6
        };
        self.inputs.test.is_none()
            && self
                .programs
                .iter()
                .filter(moves)
                .any(|program| self.one_thread(program).is_some_and(|cpus| cpus >= least))
    }
}
