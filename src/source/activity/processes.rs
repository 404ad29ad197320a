//! [`Processes`]: I/O and CPU counters of all processes, and the drives of those that moved bytes.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use super::{
    group_limits::LimitsReader,
    names::Names,
    refusal::{self, Refusal},
    stat::Stat,
    used_drives::{self, UsedDrives},
};
use crate::{
    counters::activity::{ProcessCounters, ProcessSample, WORKS, is_part_of},
    model::DriveName,
    source::{
        RootError, SysRoot,
        fields::{number, value_of, words},
    },
    text::{Label, starred_name},
};

/// Samples after which the drives of a process are looked up again.
const SAME_DRIVES: u64 = 5;

/// Processes and threads whose waits for a CPU one sample reads: a file each.
const DELAYED: (usize, u64) = (16, 64);

/// Bytes of its calls from which a child may be what its parent's counters come from, and those of one that has begun since the last
/// sample: it may end before the next. A program reads less of its libraries.
const MOVES: u64 = 1 << 20;
const BEGINS: u64 = 1 << 16;

/// How much less children count that ended a sample before, alone and beside others.
const STAYS: f64 = 0.5;
const TOGETHER_STAYS: f64 = 0.7;
/// Of children seen less often than this of late, nothing is known: a shell has many in a day.
const FORGOTTEN: f64 = 0.01;
/// The part of all that a child does for its parent's counters to bear its name, and to bear it still.
const ONLY: f64 = 0.75;
const STILL_ONLY: f64 = 0.6;
/// How often two end between the same samples, until they no longer run beside each other, and when they do.
const TOGETHER: [f64; 2] = [0.3, 1.4];

/// What is remembered from sample to sample.
#[derive(Debug, Default)]
pub(super) struct Processes {
    known: HashMap<u32, Known>,
    used: UsedDrives,
    limits: LimitsReader,
    /// Children that were seen running or moving bytes, by their parents and their own numbers, until they have ended.
    children: BTreeMap<(u32, u32), Child>,
    sample: u64,
    pids: Vec<u32>,
    /// Processes whose CPU time or bytes grew since the last sample, with their threads.
    moved: Vec<(u32, u64)>,
    /// Bytes of those that moved any, with their numbers and threads.
    movers: Vec<(u64, u32, u64)>,
    tids: Vec<u32>,
    /// `/proc/PID/io`, that of the first refused process.
    refused: Refusal,
    path: String,
}

/// A process as it was in the last sample.
#[derive(Debug)]
struct Known {
    started: u64,
    cpu: u64,
    /// Bytes read and written; `None` where they cannot be read.
    moved: Option<[u64; 2]>,
    /// The child that its counters come from, where that is known.
    child: Option<Label>,
    /// Children that ended, by their names.
    children: Vec<Ended>,
    beside: Option<Beside>,
    drives: Option<Vec<DriveName>>,
    /// The sample in which its drives were looked up, and for which of reads and writes.
    looked: u64,
    ways: [bool; 2],
    /// The sample in which it was seen.
    seen: u64,
}

/// Two children that ended between the same samples.
#[derive(Debug)]
struct Beside {
    names: [Label; 2],
    /// How often, the last times before others.
    times: f64,
    /// Whether they do so again and again: one may follow the other once.
    is_again: bool,
}

/// Children of one name that ended, the last ones before others.
#[derive(Debug)]
struct Ended {
    name: Label,
    /// How often they were seen.
    times: f64,
    /// Bytes that they were seen moving to and from storage.
    bytes: f64,
}

impl Known {
    /// The only child that storage is used by, or the only one that was seen, as far as that is known. Of two that do alike it is not
    /// known from which one the counters of their parent come.
    fn only_child(&self) -> Option<&Label> {
        let sum = |of: fn(&Ended) -> f64| self.children.iter().map(of).sum::<f64>();
        let of: fn(&Ended) -> f64 =
            if sum(|one| one.bytes) >= BEGINS as f64 { |one| one.bytes } else { |one| one.times };
        let most = self.children.iter().max_by(|a, b| of(a).total_cmp(&of(b)).then(b.name.cmp(&a.name)))?;
        let part = if self.child.as_ref() == Some(&most.name) { STILL_ONLY } else { ONLY };
        (of(most) >= part * sum(of)).then_some(&most.name)
    }

    /// Adds children of a name that ended.
    fn add(&mut self, name: Label, times: f64, bytes: f64) {
        match self.children.iter_mut().find(|child| child.name == name) {
            Some(child) => (child.times, child.bytes) = (child.times + times, child.bytes + bytes),
            None => self.children.push(Ended { name, times, bytes }),
        }
    }
}

/// A child that its parent may get counters from.
#[derive(Debug)]
pub(super) struct Child {
    command: Label,
    /// How often it was seen running or moving bytes.
    times: usize,
    /// Whether its counters are those of its own children.
    is_parent: bool,
    /// Whether it has moved bytes under its name.
    has_moved: bool,
    /// Bytes that it moved to and from storage in the time before it was seen last.
    bytes: u64,
}

/// `/proc/PID/io`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Io {
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    called_read: Option<u64>,
    called_write: Option<u64>,
}

impl Io {
    fn parse(text: &[u8]) -> Self {
        let value = |key: &[u8]| value_of(text, key);
        Self {
            read_bytes: value(b"read_bytes:"),
            written_bytes: value(b"write_bytes:"),
            called_read: value(b"rchar:"),
            called_write: value(b"wchar:"),
        }
    }

    const fn all(self) -> [Option<u64>; 4] {
        [self.read_bytes, self.written_bytes, self.called_read, self.called_write]
    }

    fn moved(self) -> Option<[u64; 2]> {
        Some([self.read_bytes?, self.written_bytes?])
    }
}

/// Bytes that this process has read from devices: `read_bytes` of `/proc/self/io` (`proc_pid_io`(5)).
pub(crate) fn own_device_bytes(root: &dyn SysRoot) -> Option<u64> {
    Io::parse(&root.read("/proc/self/io").ok()?).read_bytes
}

impl Processes {
    pub(super) fn sample(&mut self, root: &dyn SysRoot, names: &mut Names, into: &mut ProcessSample) {
        self.sample += 1;
        self.moved.clear();
        self.movers.clear();
        let ProcessSample { processes, limits, children, problems } = into;
        let mut pids = std::mem::take(&mut self.pids);
        pids.clear();
        // Without /proc there are no processes to show.
        let _ = crate::source::root::all_names(root, "/proc", &mut |name| pids.extend(name.parse::<u32>()));
        pids.sort_unstable();
        let mut text = [0; 1024];
        // Those that could be read come first.
        let mut read = 0;
        for at in 0..pids.len() {
            let pid = pids[at];
            let Ok(length) = self.read(root, pid, "stat", &mut text) else { continue };
            let Some(stat) = Stat::parse(&text[..length]) else { continue };
            let (started, parent, cpu, threads) = (stat.started, stat.parent, stat.cpu, stat.threads);
            let (child_cpu, has_waited) = (stat.child_cpu, threads == 1 && stat.child_faults > 0);
            let (command, is_nice) = (names.label(stat.command), stat.nice > 0);
            let io = match self.read(root, pid, "io", &mut text) {
                Ok(length) => Io::parse(&text[..length]),
                Err(RootError::Errno(libc::ESRCH | libc::ENOENT)) => continue,
                Err(error) => {
                    let path = &self.path;
                    self.refused.note(|| error.into_problem(path));
                    Io::default()
                }
            };
            // The counters of a process with one thread contain those of children that it waited for, the thread's own do not.
            let own = if has_waited { self.own(root, pid) } else { None };
            let is_known = self.known.get(&pid).is_some_and(|known| known.started == started);
            let least = if is_known || self.sample == 1 { MOVES } else { BEGINS };
            let is_much = |of: [Option<u64>; 4]| of.iter().flatten().any(|bytes| *bytes >= least);
            if is_much(io.all()) {
                // What it has from its own children goes to its parent under their name.
                let is_parent = own.is_some_and(|own| !is_much(own));
                let before = self.known.get(&pid).filter(|_| is_known).and_then(|known| known.moved);
                let moved = io.moved().unwrap_or_default().into_iter().zip(before.unwrap_or_default());
                let bytes = moved.map(|(now, then)| now.saturating_sub(then)).sum();
                let child = self.saw(parent, pid, command.clone());
                (child.is_parent, child.has_moved, child.bytes) = (is_parent, true, bytes);
            }
            let used = self.drives(root, (pid, threads), (started, cpu), io);
            // The list of before is written over.
            let mut drives = processes.get_mut(&pid).and_then(|before| before.drives.take());
            match used {
                Some(used) => used.clone_into(drives.get_or_insert_default()),
                None => drives = None,
            }
            let counters = ProcessCounters {
                started,
                parent,
                command,
                read_bytes: io.read_bytes,
                written_bytes: io.written_bytes,
                called_read: io.called_read,
                called_write: io.called_write,
                cpu,
                is_nice,
                own,
                child_cpu,
                child: None,
                delayed: None,
                drives,
            };
            processes.insert(pid, counters);
            pids[read] = pid;
            read += 1;
        }
        pids.truncate(read);
        if processes.len() > read {
            processes.retain(|pid, _| pids.binary_search(pid).is_ok());
        }
        self.pids = pids;
        self.name_children(processes);
        *children = self.beside(processes);
        self.delays(root, processes);
        let movers = self.movers.iter().take(DELAYED.0).filter(|(bytes, ..)| *bytes >= WORKS);
        let with_io = movers.filter_map(|(_, pid, _)| Some((*pid, processes.get(pid)?.started)));
        self.limits.sample(root, with_io, limits);
        let sample = self.sample;
        self.known.retain(|_, known| known.seen == sample);
        self.used.end_sample(&self.known);
        self.refused.end_round();
        refusal::list(&[&self.refused], problems);
    }

    fn read(
        &mut self,
        root: &dyn SysRoot,
        pid: u32,
        file: &str,
        text: &mut [u8],
    ) -> Result<usize, RootError> {
        self.path.clear();
        let _infallible = write!(self.path, "/proc/{pid}/{file}");
        root.read_short(&self.path, text)
    }

    /// Notes a child that runs or has moved bytes.
    pub(super) fn saw(&mut self, parent: u32, pid: u32, command: Label) -> &mut Child {
        let new =
            || Child { command: command.clone(), times: 0, is_parent: false, has_moved: false, bytes: 0 };
        let child = self.children.entry((parent, pid)).or_insert_with(new);
        child.times += 1;
        // A shell's child has its name before it executes another program.
        if child.command != command {
            (child.command, child.has_moved) = (command, false);
        }
        child
    }

    /// Names the children of processes that have counters of their own by those that ended of late: a parent has the counters of a child
    /// only once it has waited for it. A child that lives has no part in them.
    fn name_children(&mut self, processes: &mut BTreeMap<u32, ProcessCounters>) {
        let lives = |parent: u32, pid: u32| processes.get(&pid).is_some_and(|of| of.parent == parent);
        let ended = |(parent, pid): &(u32, u32)| !lives(*parent, *pid);
        // Before it executes a program, a child has its parent's name, and does nothing but that.
        let is_begun = |parent: u32, child: &Child| {
            child.has_moved || processes.get(&parent).is_none_or(|of| of.command != child.command)
        };
        for known in self.known.values_mut() {
            for child in &mut known.children {
                (child.times, child.bytes) = (child.times * STAYS, child.bytes * STAYS);
            }
            known.children.retain(|child| child.times >= FORGOTTEN);
            known.beside.iter_mut().for_each(|beside| beside.times *= TOGETHER_STAYS);
        }
        let mut all: BTreeMap<(u32, Label), (usize, u64)> = BTreeMap::new();
        // A parent that ended as well has its name from its own children first.
        for are_parents in [false, true] {
            let begun = |(of, child): &(&(u32, u32), &Child)| {
                ended(of) && child.is_parent == are_parents && is_begun(of.0, child)
            };
            let mut found: BTreeMap<(u32, Label), (usize, u64)> = BTreeMap::new();
            for ((parent, pid), child) in self.children.iter().filter(begun) {
                let of_its_own = || self.known.get(pid).filter(|_| are_parents)?.child.clone();
                let command = of_its_own().unwrap_or_else(|| child.command.clone());
                let sum = found.entry((*parent, command)).or_default();
                *sum = (sum.0 + child.times, sum.1.saturating_add(child.bytes));
            }
            for ((parent, name), (times, bytes)) in found {
                let sum = all.entry((parent, name.clone())).or_default();
                *sum = (sum.0 + times, sum.1.saturating_add(bytes));
                if let Some(known) = self.known.get_mut(&parent) {
                    known.add(name, times as f64, bytes as f64);
                }
            }
            for known in self.known.values_mut().filter(|known| !known.children.is_empty()) {
                known.child = known.only_child().cloned();
            }
        }
        let times: Vec<((u32, Label), usize)> = all.into_iter().map(|(of, (times, _))| (of, times)).collect();
        for of_parent in times.chunk_by(|((one, _), _), ((next, _), _)| one == next) {
            self.note(of_parent);
        }
        self.children.retain(|of, _| !ended(of));
        for (pid, process) in processes.iter_mut().filter(|(_, process)| process.own.is_some()) {
            process.child = self.known.get(pid).and_then(|known| known.child.clone());
        }
    }

    /// Notes the two children of a parent that were seen most of those that ended, each with how often it was seen.
    fn note(&mut self, of_parent: &[((u32, Label), usize)]) {
        let Some(known) = of_parent.first().and_then(|((parent, _), _)| self.known.get_mut(parent)) else {
            return;
        };
        let mut most: Vec<&((u32, Label), usize)> = of_parent.iter().collect();
        most.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let [((_, first), _), ((_, second), _), ..] = most[..] else { return };
        let mut names = [first.clone(), second.clone()];
        names.sort_unstable();
        match &mut known.beside {
            Some(beside) if beside.names == names => beside.times += 1.0,
            Some(beside) if beside.times > TOGETHER[0] => {}
            other => *other = Some(Beside { names, times: 1.0, is_again: false }),
        }
    }

    /// The two children of each process that run beside each other.
    fn beside(&mut self, processes: &BTreeMap<u32, ProcessCounters>) -> BTreeMap<u32, Vec<Label>> {
        let with_own = processes.iter().filter(|(_, process)| process.own.is_some());
        let of = |(pid, _): (&u32, &ProcessCounters)| {
            let beside = self.known.get_mut(pid)?.beside.as_mut()?;
            let [stays, again] = TOGETHER;
            beside.is_again = beside.times >= if beside.is_again { stays } else { again };
            beside.is_again.then(|| (*pid, beside.names.to_vec()))
        };
        with_own.filter_map(of).collect()
    }

    /// Reads how long the threads of the processes that moved most have waited for a CPU.
    fn delays(&mut self, root: &dyn SysRoot, processes: &mut BTreeMap<u32, ProcessCounters>) {
        let (most, mut left) = DELAYED;
        let mut movers = std::mem::take(&mut self.movers);
        movers.sort_unstable_by(|a, b| b.cmp(a));
        for (_, pid, threads) in movers.iter().take(most) {
            if let (Some(rest), Some(process)) = (left.checked_sub(*threads), processes.get_mut(pid)) {
                left = rest;
                process.delayed = self.delay(root, *pid);
            }
        }
        self.movers = movers;
    }

    /// The second figure of each thread's `schedstat`, nanoseconds (Documentation/scheduler/sched-stats.rst).
    fn delay(&mut self, root: &dyn SysRoot, pid: u32) -> Option<u64> {
        let mut tids = std::mem::take(&mut self.tids);
        tids.clear();
        self.path.clear();
        let _infallible = write!(self.path, "/proc/{pid}/task");
        // A process that has ended has no threads.
        let _ =
            crate::source::root::all_names(root, &self.path, &mut |name| tids.extend(name.parse::<u32>()));
        let mut of = |tid: &u32| {
            let mut text = [0; 64];
            self.path.clear();
            let _infallible = write!(self.path, "/proc/{pid}/task/{tid}/schedstat");
            let length = root.read_short(&self.path, &mut text).ok()?;
            number(words(&text[..length]).nth(1)?)
        };
        let delays = tids.iter().filter_map(&mut of).reduce(u64::saturating_add);
        self.tids = tids;
        delays
    }

    /// The counters of its only thread.
    fn own(&mut self, root: &dyn SysRoot, pid: u32) -> Option<[Option<u64>; 4]> {
        let mut text = [0; 1024];
        self.path.clear();
        let _infallible = write!(self.path, "/proc/{pid}/task/{pid}/io");
        let length = root.read_short(&self.path, &mut text).ok()?;
        Some(Io::parse(&text[..length]).all())
    }

    /// Those of the last sample, in ascending order; none in the first one.
    pub(super) fn moved(&self) -> &[(u32, u64)] {
        &self.moved
    }

    /// Those of `sample`, the last one, that read from storage or wrote to it since the one before. Of one name those that move much.
    pub(super) fn with_io(&self, sample: &ProcessSample) -> impl Iterator<Item = u32> {
        let mut most: HashMap<String, u64> = HashMap::new();
        let movers = self.movers.iter().filter(|(bytes, ..)| *bytes >= WORKS);
        let named = movers.filter_map(|(bytes, pid, _)| {
            Some((starred_name(sample.processes.get(pid)?.command.as_str()), *bytes, *pid))
        });
        let named: Vec<(String, u64, u32)> = named.collect();
        for (name, bytes, _) in &named {
            let most = most.entry(name.clone()).or_default();
            *most = (*most).max(*bytes);
        }
        let much = named.into_iter().filter(move |(name, bytes, _)| {
            is_part_of(*bytes as f64, most.get(name).map_or(0.0, |most| *most as f64))
        });
        much.map(|(.., pid)| pid)
    }

    /// The drives of a process: none if it moved no bytes since the last sample, `None` if they cannot be known.
    fn drives(
        &mut self,
        root: &dyn SysRoot,
        (pid, threads): (u32, u64),
        (started, cpu): (u64, u64),
        io: Io,
    ) -> Option<&[DriveName]> {
        let moved = io.moved();
        let fresh = |cpu, moved| Known {
            started,
            cpu,
            moved,
            child: None,
            children: Vec::new(),
            beside: None,
            drives: None,
            looked: 0,
            ways: [false; 2],
            seen: self.sample,
        };
        // A process that the last sample lacked has moved everything since.
        let is_first = self.sample == 1;
        let since = if is_first { fresh(cpu, moved) } else { fresh(0, moved.map(|_| [0; 2])) };
        let is_new = self.known.get(&pid).is_none_or(|known| known.started != started);
        if is_new {
            self.known.insert(pid, since);
        }
        let known = self.known.get_mut(&pid)?;
        known.seen = self.sample;
        let before = std::mem::replace(&mut known.moved, moved);
        let has_moved = before != moved;
        let has_run = std::mem::replace(&mut known.cpu, cpu) != cpu;
        if has_moved || has_run || (is_new && !is_first) {
            self.moved.push((pid, threads));
        }
        let (now, before) = (moved?, before.unwrap_or_default());
        if !has_moved {
            return Some(&[]);
        }
        let bytes: [u64; 2] = std::array::from_fn(|way| now[way].saturating_sub(before[way]));
        self.movers.push((bytes[0].saturating_add(bytes[1]), pid, threads));
        let ways = used_drives::ways(bytes);
        if known.looked == 0 || self.sample >= known.looked + SAME_DRIVES || known.ways != ways {
            (known.looked, known.ways) = (self.sample, ways);
            known.drives = self.used.of(root, pid, ways);
        }
        known.drives.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::capture::{Capture, TextRoot};

    #[test]
    fn waits_for_a_cpu_are_those_of_all_threads_of_what_moves() {
        let look = |moved: u64| {
            let mut capture = Capture::default();
            let mut put = |path: &str, text: String| {
                capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(text.into()));
            };
            for (pid, bytes) in [(3, moved), (9, 0)] {
                put(
                    &format!("/proc/{pid}/stat"),
                    format!("{pid} (fio) S 1 1 1 0 -1 0 0 0 0 0 3 0 0 0 20 0 2 0 77 0\n"),
                );
                put(&format!("/proc/{pid}/io"), format!("read_bytes: {bytes}\nwrite_bytes: 0\n"));
                for tid in [pid, pid + 1] {
                    put(&format!("/proc/{pid}/task/{tid}/schedstat"), format!("77 {} 5\n", 100 * tid));
                }
            }
            for (path, names) in
                [("/proc", ["3", "9"]), ("/proc/3/task", ["3", "4"]), ("/proc/9/task", ["9", "10"])]
            {
                capture.answers.entry(path.to_owned()).or_default().list =
                    Some(Ok(names.map(str::to_owned).into()));
            }
            TextRoot::from(capture)
        };
        let (mut reader, mut sample) = (Processes::default(), ProcessSample::default());
        let mut delays = |moved| {
            reader.sample(&look(moved), &mut Names::default(), &mut sample);
            [3, 9].map(|pid| sample.processes[&pid].delayed)
        };
        assert_eq!(delays(4096), [None, None], "a first sample knows of no moves");
        assert_eq!(delays(8192), [Some(700), None]);
        assert_eq!(delays(8192), [None, None], "at rest");
    }

    #[test]
    fn counters_of_an_io_file_are_told_apart() {
        let text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let io = Io::parse(text);
        assert_eq!((io.called_read, io.called_write), (Some(1), Some(2)));
        assert_eq!((io.read_bytes, io.written_bytes, io.moved()), (Some(5), Some(6), Some([5, 6])));
        assert_eq!(Io::parse(b"rchar: 1\n").moved(), None, "kernels without CONFIG_TASK_IO_ACCOUNTING");
    }
}
