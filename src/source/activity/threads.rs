//! [`Threads`]: passes over all threads, each a part of the round.

use std::fmt::Write as _;

use super::{
    names::Names,
    refusal::{self, Refusal},
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

/// Where the round is.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Processes listed, the next of them, and where the listing goes on.
    pids: Vec<u32>,
    next_pid: usize,
    more_pids: Option<u64>,
    /// The same of the threads of `pid`.
    pid: u32,
    tids: Vec<u32>,
    next_tid: usize,
    more_tids: Option<u64>,
    /// Threads of this round so far.
    counted: usize,
    /// Threads that `/proc/loadavg` counts and a whole round did not find: of other PID namespaces, or under hidepid.
    hidden: usize,
    syscalls: Refusal,
    wchans: Refusal,
    stacks: Refusal,
    with_stacks: bool,
    numbering: Option<Numbering>,
    path: String,
}

enum Step {
    Process(u32),
    Thread(u32, u32),
    RoundOver,
}

impl Threads {
    pub(super) fn with_stacks(&mut self, wanted: bool) {
        if std::mem::replace(&mut self.with_stacks, wanted) != wanted {
            self.stacks = Refusal::default();
        }
    }

    pub(super) fn pass(
        &mut self,
        root: &dyn SysRoot,
        names: &mut Names,
        more: &mut dyn FnMut() -> bool,
        sample: &mut ThreadSample,
    ) {
        let ThreadSample { threads, sampled, total, problems } = sample;
        threads.clear();
        // The first thread of this pass; whether the round has ended since, or before any thread was seen.
        let (mut first, mut wrapped, mut complete) = (None, false, false);
        let mut empty_rounds = 0;
        loop {
            let (pid, tid) = match self.step(root) {
                Step::RoundOver => {
                    let all = first.is_some_and(|(_, _, is_first)| is_first);
                    self.end_round(root);
                    complete = all || wrapped;
                    wrapped = first.is_some();
                    empty_rounds += usize::from(first.is_none());
                    if complete || empty_rounds > 1 {
                        break;
                    }
                    continue;
                }
                Step::Process(pid) => (pid, None),
                Step::Thread(pid, tid) => (pid, Some(tid)),
            };
            let is_seen = |(first_pid, first_tid, _)| {
                pid > first_pid || (pid == first_pid && tid.unwrap_or(pid) == first_tid)
            };
            if wrapped && first.is_some_and(is_seen) {
                self.step_back(tid.is_some());
                complete = true;
                break;
            }
            let Some(thread) = self.look(root, names, pid, tid) else { continue };
            first.get_or_insert((pid, thread.tid, self.counted == 0));
            self.counted += 1;
            threads.push(thread);
            if !more() {
                break;
            }
        }
        *sampled = threads.len();
        *total =
            if complete { *sampled } else { self::total(root).saturating_sub(self.hidden).max(*sampled) };
        refusal::list(&[&self.syscalls, &self.wchans, &self.stacks], problems);
    }

    fn end_round(&mut self, root: &dyn SysRoot) {
        if self.counted > 0 {
            self.hidden = total(root).saturating_sub(self.counted);
        }
        self.counted = 0;
        self.syscalls.end_round();
        self.wchans.end_round();
        self.stacks.end_round();
    }

    /// What comes next in the round.
    fn step(&mut self, root: &dyn SysRoot) -> Step {
        loop {
            if let Some(tid) = self.tids.get(self.next_tid) {
                self.next_tid += 1;
                return Step::Thread(self.pid, *tid);
            }
            if let Some(from) = self.more_tids.take() {
                self.path.clear();
                let _infallible = write!(self.path, "/proc/{}/task", self.pid);
                (self.more_tids, self.next_tid) = (list(root, &self.path, from, &mut self.tids), 0);
                continue;
            }
            if let Some(pid) = self.pids.get(self.next_pid) {
                self.next_pid += 1;
                return Step::Process(*pid);
            }
            let Some(from) = self.more_pids.take() else {
                self.pids.clear();
                (self.next_pid, self.more_pids) = (0, Some(0));
                return Step::RoundOver;
            };
            (self.more_pids, self.next_pid) = (list(root, "/proc", from, &mut self.pids), 0);
        }
    }

    /// The last step is taken again in the next pass.
    fn step_back(&mut self, is_thread: bool) {
        if is_thread {
            self.next_tid = self.next_tid.saturating_sub(1);
        } else {
            self.next_pid = self.next_pid.saturating_sub(1);
        }
    }

    /// A thread, or a process with a single one; `None` if it is gone, or a process whose threads come next.
    fn look(&mut self, root: &dyn SysRoot, names: &mut Names, pid: u32, tid: Option<u32>) -> Option<Thread> {
        self.path.clear();
        let _infallible = match tid {
            Some(tid) => write!(self.path, "/proc/{pid}/task/{tid}/"),
            None => write!(self.path, "/proc/{pid}/"),
        };
        let folder = self.path.len();
        let mut text = [0; SHORT];
        let length = self.read(root, folder, "stat", &mut text).ok()?;
        let stat = Stat::parse(&text[..length])?;
        if tid.is_none() && stat.threads > 1 {
            self.tids.clear();
            (self.pid, self.next_tid, self.more_tids) = (pid, 0, Some(0));
            return None;
        }
        let (state, is_kernel, command) = (stat.state, stat.is_kernel, names.generalised(stat.command));
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
        Some(Thread { pid, tid: tid.unwrap_or(pid), state, command, is_kernel, syscall, wchan, stack })
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
            let why = format!("0: hidden like {} ({})", refused.path, refused.reason);
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

/// Some numbered folders, ascending; where the next ones begin.
fn list(root: &dyn SysRoot, folder: &str, from: u64, numbers: &mut Vec<u32>) -> Option<u64> {
    numbers.clear();
    let mut each = |name: &str| numbers.extend(name.parse::<u32>());
    // A process that is gone has no threads.
    let next = root.names(folder, from, &mut each).ok().flatten();
    numbers.sort_unstable();
    next
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
