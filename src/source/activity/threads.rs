//! [`Threads`]: passes over threads: those that are active in each, the others in turn.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt::Write as _,
};

use super::{
    names::Names,
    refusal::{self, Refusal},
    round::{Round, Step},
    stat::Stat,
    syscalls::Numbering,
};
use crate::{
    counters::activity::{Thread, ThreadSample},
    model::{Problem, ProblemKind},
    source::{
        RootError, SysRoot,
        fields::{lines, number, words},
    },
    text::Label,
};

/// Longer than any of the other files.
const SHORT: usize = 1024;

/// Longer than the stack of a thread, 64 functions.
const LONG: usize = 8192;

/// Threads of a process that one pass sees beside others.
const FEW: u64 = 16;

/// Ways to the next thread, which take turns: threads that ran or waited at the last look, active processes with few threads, those
/// with many, and all.
const WAYS: usize = 4;
const ALL: usize = 3;

/// What a pass remembers of a thread that it looked at.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Its process has no other thread.
    is_single: bool,
    is_active: bool,
}

/// Where the passes are.
#[derive(Debug)]
pub(super) struct Threads {
    /// Threads that ran or waited for a device when they were last looked at, with their processes.
    active: VecDeque<(u32, u32)>,
    /// The threads of `active`.
    queued: HashSet<u32>,
    /// Active processes with few threads and with many, and all processes.
    rounds: [Round; WAYS - 1],
    /// Threads looked at in this pass.
    looks: HashMap<u32, Look>,
    /// Threads that `/proc/loadavg` counts and a whole round did not find: of other PID namespaces, or under hidepid.
    hidden: usize,
    /// Threads that there were when the round over all began.
    at_begin: Option<usize>,
    /// Rounds over all threads.
    ended_rounds: u64,
    syscalls: Refusal,
    wchans: Refusal,
    stacks: Refusal,
    with_stacks: bool,
    numbering: Option<Numbering>,
    /// Processes that read from storage or wrote to it between the last two samples.
    with_io: HashSet<u32>,
    /// Processes of this pass that run or wait for a device, behind their parents.
    working: Vec<(u32, u32, Label)>,
    path: String,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            active: VecDeque::new(),
            queued: HashSet::new(),
            rounds: [Round::default(), Round::default(), Round::of_all()],
            looks: HashMap::new(),
            hidden: 0,
            at_begin: None,
            ended_rounds: 0,
            syscalls: Refusal::default(),
            wchans: Refusal::default(),
            stacks: Refusal::default(),
            with_stacks: false,
            numbering: None,
            with_io: HashSet::new(),
            working: Vec::new(),
            path: String::new(),
        }
    }
}

/// What is at a step.
enum Found {
    /// A thread, and whether its process has no other.
    Thread(Thread, bool),
    /// A process with several threads.
    Several,
    Gone,
}

impl Threads {
    pub(super) fn with_stacks(&mut self, wanted: bool) {
        if std::mem::replace(&mut self.with_stacks, wanted) != wanted {
            self.stacks = Refusal::default();
        }
    }

    /// Processes of the last pass that run or wait for a device, with their parents.
    pub(super) fn working(&mut self) -> impl Iterator<Item = (u32, u32, Label)> {
        self.working.drain(..)
    }

    /// Takes the processes whose counters moved, each with its number of threads, in ascending order: the next passes see their
    /// threads before others.
    pub(super) fn guide(&mut self, moved: &[(u32, u64)], pids: &mut Vec<u32>) {
        for (way, is_few) in [(0, true), (1, false)] {
            pids.clear();
            let of = moved.iter().filter(|(_, threads)| (*threads <= FEW) == is_few);
            pids.extend(of.map(|(pid, _)| *pid));
            self.rounds[way].follow(pids);
        }
    }

    /// Takes the processes with I/O of their own.
    pub(super) fn mark(&mut self, with_io: impl Iterator<Item = u32>) {
        self.with_io.clear();
        self.with_io.extend(with_io);
    }

    pub(super) fn pass(
        &mut self,
        root: &dyn SysRoot,
        names: &mut Names,
        more: &mut dyn FnMut() -> bool,
        sample: &mut ThreadSample,
    ) {
        let ThreadSample { threads, ended, sampled, total, rounds, problems } = sample;
        let own = own(root);
        threads.clear();
        ended.clear();
        self.looks.clear();
        self.working.clear();
        self.rounds.iter_mut().for_each(Round::begin);
        self.at_begin.get_or_insert_with(|| self::total(root));
        let mut queued = self.active.len();
        let (mut way, mut without) = (0, 0);
        while without < WAYS {
            let Some((pid, tid)) = self.next(way, root, &mut queued) else {
                (way, without) = ((way + 1) % WAYS, without + 1);
                continue;
            };
            without = 0;
            match self.look(root, names, pid, tid) {
                Found::Several if way > 0 => {
                    self.rounds[way - 1].enter(pid);
                    continue;
                }
                Found::Thread(thread, is_single) => {
                    if way > 0 {
                        self.rounds[way - 1].note(pid, thread.tid);
                    }
                    // It sees itself running in every pass.
                    if own == Some(thread.tid) {
                        self.looks.insert(thread.tid, Look { is_single, is_active: false });
                        way = (way + 1) % WAYS;
                        continue;
                    }
                    self.take(&thread, is_single);
                    threads.push(thread);
                    if !more() {
                        break;
                    }
                }
                Found::Several | Found::Gone => ended.extend(tid.filter(|_| way == 0)),
            }
            way = (way + 1) % WAYS;
        }
        *sampled = threads.len();
        *rounds = self.ended_rounds;
        *total = if self.rounds[ALL - 1].is_complete() {
            *sampled
        } else {
            let others = self::total(root).saturating_sub(self.hidden + usize::from(own.is_some()));
            others.max(*sampled)
        };
        refusal::list(&[&self.syscalls, &self.wchans, &self.stacks], problems);
    }

    /// The next thread or process on a way that this pass has not seen; `None` if the way has no more of them. `queued` of the active
    /// threads are left.
    fn next(&mut self, way: usize, root: &dyn SysRoot, queued: &mut usize) -> Option<(u32, Option<u32>)> {
        let Some(at) = way.checked_sub(1) else {
            while *queued > 0 {
                *queued -= 1;
                let (pid, tid) = self.active.pop_front()?;
                match self.looks.get(&tid) {
                    Some(Look { is_active: true, .. }) => self.active.push_back((pid, tid)),
                    Some(_) => _ = self.queued.remove(&tid),
                    None => {
                        self.queued.remove(&tid);
                        return Some((pid, Some(tid)));
                    }
                }
            }
            return None;
        };
        loop {
            let (pid, tid) = match self.rounds[at].step(root, &mut self.path) {
                Step::Process(pid) => (pid, None),
                Step::Thread(pid, tid) => (pid, Some(tid)),
                Step::Over(counted) if way == ALL => {
                    self.end_round(root, counted);
                    continue;
                }
                Step::Over(_) => continue,
                Step::Done => return None,
            };
            let is_seen = |look: &Look| tid.is_some() || look.is_single;
            if self.looks.get(&tid.unwrap_or(pid)).is_some_and(is_seen) {
                self.rounds[at].note(pid, tid.unwrap_or(pid));
                continue;
            }
            return Some((pid, tid));
        }
    }

    /// Remembers what this pass saw of a thread.
    fn take(&mut self, thread: &Thread, is_single: bool) {
        let is_active = matches!(thread.state, 'R' | 'D');
        self.looks.insert(thread.tid, Look { is_single, is_active });
        if is_active && self.queued.insert(thread.tid) {
            self.active.push_back((thread.pid, thread.tid));
        }
    }

    fn end_round(&mut self, root: &dyn SysRoot, counted: usize) {
        let now = total(root);
        // Threads that began meanwhile are not hidden, but come with the next round.
        let before = self.at_begin.replace(now).unwrap_or(now);
        // Before the first round there is nothing to go round.
        if counted > 0 {
            self.hidden = now.min(before).saturating_sub(counted);
            self.ended_rounds += 1;
        }
        self.syscalls.end_round();
        self.wchans.end_round();
        self.stacks.end_round();
    }

    /// A thread, or a process with a single one.
    fn look(&mut self, root: &dyn SysRoot, names: &mut Names, pid: u32, tid: Option<u32>) -> Found {
        self.path.clear();
        let _infallible = match tid {
            Some(tid) => write!(self.path, "/proc/{pid}/task/{tid}/"),
            None => write!(self.path, "/proc/{pid}/"),
        };
        let folder = self.path.len();
        let mut text = [0; SHORT];
        let Ok(length) = self.read(root, folder, "stat", &mut text) else { return Found::Gone };
        let Some(stat) = Stat::parse(&text[..length]) else { return Found::Gone };
        let is_single = stat.threads <= 1;
        if tid.is_none() && !is_single {
            return Found::Several;
        }
        let (state, is_kernel, command) = (stat.state, stat.is_kernel, names.generalised(stat.command));
        if matches!(state, 'R' | 'D') && !is_kernel && tid.is_none_or(|tid| tid == pid) {
            self.working.push((stat.parent, pid, names.label(stat.command)));
        }
        // Kernel threads make no calls; a thread that runs, is idle or has ended waits nowhere.
        let waits = !matches!(state, 'R' | 'I' | 'Z' | 'X');
        let mut denied = false;
        let mut syscall = None;
        if !is_kernel && !matches!(state, 'Z' | 'X') {
            match self.read(root, folder, "syscall", &mut text) {
                Ok(length) => {
                    let numbering = *self.numbering.get_or_insert_with(|| Numbering::of(root));
                    syscall = numbering.name(&text[..length], names);
                }
                Err(error) => denied = self.refused(folder, error),
            }
        }
        let mut wchan = None;
        if waits {
            let length = self.read(root, folder, "wchan", &mut text).unwrap_or(0);
            match text[..length].trim_ascii() {
                b"" => {}
                b"0" => self.unknown_wchan(root, folder, is_kernel, denied),
                function => wchan = Some(names.label(function)),
            }
        }
        let stack = if self.with_stacks && !matches!(state, 'I' | 'Z' | 'X') {
            self.stack(root, names, folder)
        } else {
            None
        };
        let (tid, is_refused, has_io) = (tid.unwrap_or(pid), denied, self.with_io.contains(&pid));
        let thread =
            Thread { pid, tid, state, command, is_kernel, syscall, wchan, stack, is_refused, has_io };
        Found::Thread(thread, is_single)
    }

    /// Reads a file of the folder that is the first part of `path`.
    fn read(
        &mut self,
        root: &dyn SysRoot,
        folder: usize,
        file: &str,
        text: &mut [u8],
    ) -> Result<usize, RootError> {
        self.path.truncate(folder);
        self.path.push_str(file);
        root.read_short(&self.path, text)
    }

    /// The kernel functions of the thread of that folder; `None` where it runs in user mode.
    fn stack(&mut self, root: &dyn SysRoot, names: &mut Names, folder: usize) -> Option<Label> {
        let mut text = [0; LONG];
        match self.read(root, folder, "stack", &mut text) {
            Ok(length) => {
                let functions = functions(&text[..length]);
                (!functions.is_empty()).then(|| names.label(functions.as_bytes()))
            }
            // The thread is gone.
            Err(RootError::Errno(libc::ESRCH)) => None,
            Err(error) => {
                let path = &self.path;
                self.stacks.note(|| error.into_problem(path));
                None
            }
        }
    }

    /// Notes a refused system call; false if the thread is gone.
    fn refused(&mut self, folder: usize, error: RootError) -> bool {
        let denied = matches!(error, RootError::Errno(libc::EACCES | libc::EPERM));
        if denied {
            self.path.truncate(folder);
            self.path.push_str("syscall");
            let path = &self.path;
            self.syscalls.note(|| error.into_problem(path));
        }
        denied
    }

    /// The kernel answers 0 where it would not tell the system call either.
    fn unknown_wchan(&mut self, root: &dyn SysRoot, folder: usize, is_kernel: bool, denied: bool) {
        if self.wchans.is_known() {
            self.wchans.again(denied);
            return;
        }
        if !denied && !is_kernel {
            return;
        }
        let Err(error @ RootError::Errno(libc::EACCES | libc::EPERM)) =
            self.read(root, folder, "syscall", &mut [0; SHORT])
        else {
            return;
        };
        let refused = error.into_problem(&self.path);
        self.path.truncate(folder);
        self.path.push_str("wchan");
        let path = &self.path;
        self.wchans.note(|| {
            let why = format!("the kernel shows 0, as {} is refused: {}", refused.path, refused.reason);
            Problem::new(ProblemKind::Denied, path.as_str(), why)
        });
    }
}

/// `io_cqring_wait <- __do_sys_io_uring_enter` of lines like `[<0>] io_cqring_wait+0x2c/0x60`, the innermost first; without
/// the entry into the kernel, which all have.
fn functions(stack: &[u8]) -> String {
    let names = lines(stack).filter_map(|line| {
        let name = words(line).nth(1)?.split(|byte| *byte == b'+').next()?;
        let name = str::from_utf8(name).ok()?;
        let is_entry =
            name.starts_with("entry_") || name.starts_with("ret_from_fork") || name == "do_syscall_64";
        (!is_entry).then_some(name)
    });
    names.collect::<Vec<_>>().join(" <- ")
}

/// The number of the thread that samples; `None` in a copy of another machine's files.
fn own(root: &dyn SysRoot) -> Option<u32> {
    let mut text = [0; 16];
    let length = root.read_short("/proc/thread-self/stat", &mut text).ok()?;
    u32::try_from(number(words(&text[..length]).next()?)?).ok()
}

/// The second figure of `/proc/loadavg` counts all threads: `2/91`.
fn total(root: &dyn SysRoot) -> usize {
    /// `PID_MAX_LIMIT` (include/linux/threads.h).
    const MOST: usize = 1 << 22;
    let mut text = [0; 64];
    let length = root.read_short("/proc/loadavg", &mut text).unwrap_or(0);
    let figure = words(&text[..length]).nth(3).unwrap_or_default();
    let all = figure.split(|byte| *byte == b'/').nth(1).and_then(number);
    all.and_then(|all| usize::try_from(all).ok()).unwrap_or(0).min(MOST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stack_is_its_functions_without_the_entry() {
        let captured = b"[<0>] io_cqring_wait+0x2d5/0x4f0\n[<0>] __do_sys_io_uring_enter+0x4bb/0x6e0\n\
            [<0>] do_syscall_64+0x82/0x170\n[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n";
        assert_eq!(functions(captured), "io_cqring_wait <- __do_sys_io_uring_enter");
        assert_eq!(functions(b""), "");
    }

    proptest! {
        #[test]
        fn any_stack_is_read(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let lines = text.split(|byte| *byte == b'\n').count();
            prop_assert!(functions(&text).split(" <- ").count() <= lines);
        }
    }
}
