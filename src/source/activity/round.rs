//! [`Round`]: a way through processes and their threads that goes on where it stopped.

use std::fmt::Write as _;

use crate::source::SysRoot;

/// Processes in ascending order, and the threads of one of them.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Processes listed, the next of them, and where the listing goes on.
    pids: Vec<u32>,
    next_pid: usize,
    more_pids: Option<u64>,
    /// The same of the threads of `pid`.
    pid: u32,
    tids: Vec<u32>,
    next_tid: usize,
    more_tids: Option<u64>,
    /// Whether it lists all of /proc; otherwise only the given processes.
    is_of_all: bool,
    /// Threads of this round so far.
    counted: usize,
    /// The first thread of this pass, and whether the round began with it.
    first: Option<(u32, u32, bool)>,
    /// Whether a round has ended in this pass after `first`.
    wrapped: bool,
    empty_rounds: usize,
    /// Whether this pass has come to where it began.
    is_done: bool,
    is_complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Process(u32),
    Thread(u32, u32),
    /// A round of so many threads has ended.
    Over(usize),
    /// Every thread had its turn in this pass.
    Done,
}

impl Round {
    pub(super) fn of_all() -> Self {
        Self { is_of_all: true, ..Self::default() }
    }

    /// Goes round these processes from now on, in ascending order, from where it stands.
    pub(super) fn follow(&mut self, pids: &[u32]) {
        let last = self.next_pid.checked_sub(1).and_then(|at| self.pids.get(at).copied());
        self.pids.clear();
        self.pids.extend_from_slice(pids);
        self.next_pid = last.map_or(0, |last| self.pids.partition_point(|pid| *pid <= last));
        if self.pids.binary_search(&self.pid).is_err() {
            (self.next_tid, self.more_tids) = (0, None);
            self.tids.clear();
        }
    }

    /// Begins a pass.
    pub(super) fn begin(&mut self) {
        (self.first, self.wrapped, self.empty_rounds) = (None, false, 0);
        (self.is_done, self.is_complete) = (false, false);
    }

    /// Whether this pass has come to all threads.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Notes that the thread of the last step is there.
    pub(super) fn note(&mut self, pid: u32, tid: u32) {
        self.first.get_or_insert((pid, tid, self.counted == 0));
        self.counted += 1;
    }

    /// The threads of the process of the last step come next.
    pub(super) fn enter(&mut self, pid: u32) {
        self.tids.clear();
        (self.pid, self.next_tid, self.more_tids) = (pid, 0, Some(0));
    }

    /// What comes next.
    pub(super) fn step(&mut self, root: &dyn SysRoot, path: &mut String) -> Step {
        if self.is_done {
            return Step::Done;
        }
        let next = self.next(root, path);
        let (pid, tid) = match next {
            Step::Process(pid) => (pid, None),
            Step::Thread(pid, tid) => (pid, Some(tid)),
            Step::Over(_) | Step::Done => {
                self.is_complete = self.wrapped || self.first.is_some_and(|(_, _, is_first)| is_first);
                self.wrapped = self.first.is_some();
                self.empty_rounds += usize::from(self.first.is_none());
                self.is_done = self.is_complete || self.empty_rounds > 1;
                return next;
            }
        };
        let is_seen = |(first_pid, first_tid, _)| {
            pid > first_pid || (pid == first_pid && tid.unwrap_or(pid) == first_tid)
        };
        if self.wrapped && self.first.is_some_and(is_seen) {
            // The next pass takes this step again.
            match tid {
                Some(_) => self.next_tid = self.next_tid.saturating_sub(1),
                None => self.next_pid = self.next_pid.saturating_sub(1),
            }
            (self.is_done, self.is_complete) = (true, true);
            return Step::Done;
        }
        next
    }

    fn next(&mut self, root: &dyn SysRoot, path: &mut String) -> Step {
        loop {
            if let Some(tid) = self.tids.get(self.next_tid) {
                self.next_tid += 1;
                return Step::Thread(self.pid, *tid);
            }
            if let Some(from) = self.more_tids.take() {
                path.clear();
                let _infallible = write!(path, "/proc/{}/task", self.pid);
                (self.more_tids, self.next_tid) = (list(root, path, from, &mut self.tids), 0);
                continue;
            }
            if let Some(pid) = self.pids.get(self.next_pid) {
                self.next_pid += 1;
                return Step::Process(*pid);
            }
            if let Some(from) = self.more_pids.take() {
                (self.more_pids, self.next_pid) = (list(root, "/proc", from, &mut self.pids), 0);
                continue;
            }
            self.next_pid = 0;
            if self.is_of_all {
                self.pids.clear();
                self.more_pids = Some(0);
            }
            return Step::Over(std::mem::take(&mut self.counted));
        }
    }
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
