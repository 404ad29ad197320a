//! Kernel functions that threads wait in for I/O, and the threads of a command that wait alike.

use std::collections::BTreeMap;

use crate::{
    counters::activity::{ThreadActivity, ThreadKind},
    report::why::TestNow,
    text::Label,
};

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Completions of I/O that it submitted.
    Completion,
    /// A page that is read into the page cache.
    PageCache,
    /// Pages that are written from the page cache.
    Writeback,
    /// Its turn, by writeback throttling or a latency target.
    Throttle,
    /// Memory that is reclaimed, of the machine or of its control group.
    Reclaim,
    /// The lock of a file that another thread writes to.
    FileLock,
}

impl Wait {
    /// What is waited for; the name of the kernel's function says nothing to most readers.
    const fn words(self) -> &'static str {
        match self {
            Self::Completion => "for completions",
            Self::PageCache => "for pages to be read",
            Self::Writeback => "for pages to be written",
            Self::Throttle => "until throttling lets an I/O pass",
            Self::Reclaim => "for free memory",
            Self::FileLock => "for the lock of a file",
        }
    }
}

/// Beginnings of wait channels.
const WAITS: &[(&str, Wait)] = &[
    ("io_cqring_wait", Wait::Completion),
    ("read_events", Wait::Completion),
    ("do_io_getevents", Wait::Completion),
    ("blkdev_direct_IO", Wait::Completion),
    ("__blkdev_direct_IO", Wait::Completion),
    ("blkdev_direct_", Wait::Completion),
    ("iomap_dio_", Wait::Completion),
    ("__iomap_dio_", Wait::Completion),
    ("dio_await", Wait::Completion),
    ("submit_bio_wait", Wait::Completion),
    ("bio_await", Wait::Completion),
    ("blk_io_schedule", Wait::Completion),
    ("blk_mq_get_tag", Wait::Completion),
    ("rq_qos_wait", Wait::Throttle),
    ("io_schedule", Wait::Completion),
    // Blocks of directories, inodes and maps of a file system.
    ("ext4_read_bh", Wait::Completion),
    ("ext4_bread", Wait::Completion),
    ("__ext4_get_inode_loc", Wait::Completion),
    ("xfs_buf_iowait", Wait::Completion),
    ("read_extent_buffer_pages", Wait::Completion),
    ("folio_wait_bit", Wait::PageCache),
    ("wait_on_page_bit", Wait::PageCache),
    ("__folio_lock", Wait::PageCache),
    ("__lock_page", Wait::PageCache),
    ("filemap_", Wait::PageCache),
    ("balance_dirty_pages", Wait::Writeback),
    ("folio_wait_writeback", Wait::Writeback),
    ("wait_on_page_writeback", Wait::Writeback),
    ("__filemap_fdatawait", Wait::Writeback),
    ("fsync_buffers_list", Wait::Writeback),
    ("blkdev_issue_flush", Wait::Writeback),
    ("wb_wait_for_completion", Wait::Writeback),
    ("jbd2_log_wait_commit", Wait::Writeback),
    ("__sync_dirty_buffer", Wait::Writeback),
    (BUFFER, Wait::Writeback),
    ("xlog_", Wait::Writeback),
    ("reclaim_throttle", Wait::Reclaim),
    ("mem_cgroup_", Wait::Reclaim),
    ("__mem_cgroup_", Wait::Reclaim),
    ("try_charge", Wait::Reclaim),
    ("try_to_free_", Wait::Reclaim),
    ("shrink_", Wait::Reclaim),
    ("congestion_wait", Wait::Reclaim),
];

/// Beginnings and ends of wait channels of threads that write to a file while another one has its lock. The kernel leaves the functions
/// of a semaphore out where it knows them as the scheduler's.
const LOCKS: [&[&str]; 2] = [
    &["rwsem_down_write_slowpath", "rwsem_down_read_slowpath", "down_write", "inode_lock"],
    &["_buffered_write_iter", "_file_write_iter"],
];

/// Where a call waits for a block that is read, or, in one that writes, for one that is written.
const BUFFER: &str = "__wait_on_buffer";

/// Beginnings of wait channels of threads that may have submitted more than one I/O.
const OF_SEVERAL: &[&str] = &["io_cqring_wait", "read_events", "do_io_getevents"];

/// Beginnings of wait channels of threads that write pages back in a call of [`SYNCS`]; a flush waits elsewhere.
const OF_WRITEBACK: &[&str] = &["io_schedule", "blk_mq_get_tag"];

/// Beginnings of wait channels of threads that wait for a journal's commit or a flush.
const COMMITS: &[&str] =
    &["jbd2_log_wait_commit", "xlog_", "fsync_buffers_list", "blkdev_issue_flush", "__sync_dirty_buffer"];

/// System calls that end when data is on the drive.
const SYNCS: &[&str] = &["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"];

/// System calls that write; a wait for a page in these or in [`SYNCS`] is one for writeback.
const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];

/// System calls that read.
const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2"];

const EVENTS: &str = "waits for events of files or sockets";

/// How many of [`SLEEPS`] end after a time that the thread has chosen.
const TIMED: usize = 9;

/// System calls in which a thread sleeps for a time, for other threads or for other devices than drives, in words; those with a time
/// first.
const SLEEPS: &[(&str, &str)] = &[
    ("clock_nanosleep", "sleeps by itself"),
    ("nanosleep", "sleeps by itself"),
    ("poll", EVENTS),
    ("ppoll", EVENTS),
    ("select", EVENTS),
    ("pselect6", EVENTS),
    ("epoll_wait", EVENTS),
    ("epoll_pwait", EVENTS),
    ("epoll_pwait2", EVENTS),
    ("futex", "waits for its other threads"),
    ("futex_wait", "waits for its other threads"),
    ("rt_sigtimedwait", "waits for a signal"),
    ("recvfrom", "waits for data of a socket"),
    ("recvmsg", "waits for data of a socket"),
];

/// What threads of a kind wait for; `None` for kernel threads and those that wait for something else.
pub(crate) fn wait_of(kind: &ThreadKind) -> Option<Wait> {
    let wchan = kind.wchan.as_ref().filter(|_| !kind.is_kernel && kind.state != 'R')?;
    if is_for_file_lock(kind, wchan.as_str()) {
        return Some(Wait::FileLock);
    }
    let (beginning, wait) = WAITS.iter().find(|(beginning, _)| wchan.as_str().starts_with(beginning))?;
    let (writes, syncs) = (is_in(kind, WRITES), is_in(kind, SYNCS));
    let is_writeback =
        (writes || syncs) && *wait == Wait::PageCache || syncs && OF_WRITEBACK.contains(beginning);
    // A block of the file system that another call reads.
    let is_block = !writes && !syncs && *beginning == BUFFER;
    Some(match *wait {
        _ if is_writeback => Wait::Writeback,
        _ if is_block => Wait::Completion,
        wait => wait,
    })
}

fn is_for_file_lock(kind: &ThreadKind, wchan: &str) -> bool {
    let [beginnings, ends] = LOCKS;
    // Other calls wait for such semaphores too, mmap for that of its memory.
    let is_semaphore = || is_in(kind, WRITES) && beginnings.iter().any(|name| wchan.starts_with(name));
    kind.state == 'D' && (ends.iter().any(|name| wchan.ends_with(name)) || is_semaphore())
}

/// Whether the thread is in one of these system calls.
fn is_in(kind: &ThreadKind, calls: &[&str]) -> bool {
    kind.syscall.as_ref().is_some_and(|name| calls.contains(&name.as_str()))
}

/// Threads of a command, without the kernel's: those of processes that do I/O, where some are known to do. Others of its name, such as
/// the parent of a job, do not wait for any.
fn of_command<'a>(threads: &'a ThreadActivity, command: &str) -> impl Iterator<Item = &'a (ThreadKind, f64)> {
    let with_io = threads.with_io.as_ref().filter(|kinds| is_among(kinds, command));
    with_io
        .unwrap_or(&threads.kinds)
        .iter()
        .filter(move |(kind, _)| kind.command.as_str() == command && !kind.is_kernel)
}

fn is_among(kinds: &[(ThreadKind, f64)], command: &str) -> bool {
    kinds.iter().any(|(kind, _)| kind.command.as_str() == command)
}

/// Whether a command's threads are of a process that does I/O, or that is not known of any.
pub(super) fn may_have_io(threads: &ThreadActivity, command: &str) -> bool {
    threads.with_io.as_ref().is_none_or(|kinds| is_among(kinds, command))
}

/// Mean number of so many `working` threads of a command that sleep for a time which they chose. Other threads of it, such as the parent
/// of a job, sleep all the time.
pub(super) fn slept(threads: &ThreadActivity, command: &str, working: f64) -> f64 {
    slept_in(threads, command, working, TIMED)
}

/// The same of those that do nothing but sleep, and the call.
pub(super) fn slept_alone(threads: &ThreadActivity, command: &str, working: f64) -> (&'static str, f64) {
    const ALONE: usize = 2;
    let mean = |call: &&str| -> f64 {
        let of = of_command(threads, command).filter(|(kind, _)| is_in(kind, &[*call]));
        of.map(|(_, mean)| mean).sum()
    };
    let own = if command == WORKERS { &OF_WORKERS[..] } else { &[] };
    let calls = SLEEPS[..ALONE].iter().map(|(call, _)| *call).chain(own.iter().copied());
    let call = calls.max_by(|a, b| mean(a).total_cmp(&mean(b)));
    (call.unwrap_or_default(), slept_in(threads, command, working, ALONE))
}

/// Calls in which workers of a test wait until their rate lets the next read pass.
const OF_WORKERS: [&str; 2] = ["futex", "futex_wait"];

/// Whether threads of a command do nothing but sleep in that call.
pub(super) fn is_sleep(command: &str, call: &str) -> bool {
    call.ends_with("nanosleep") || command == WORKERS && OF_WORKERS.contains(&call)
}

/// In the first `calls` of [`SLEEPS`].
fn slept_in(threads: &ThreadActivity, command: &str, working: f64, calls: usize) -> f64 {
    let asleep = |(kind, _): &&(ThreadKind, f64)| kind.state == 'S' && wait_of(kind).is_none();
    let (mut timed, mut others) = (0.0, 0.0);
    for (kind, mean) in of_command(threads, command).filter(asleep) {
        let is_of_workers = command == WORKERS && is_in(kind, &OF_WORKERS);
        if is_of_workers || SLEEPS[..calls].iter().any(|(call, _)| is_in(kind, &[call])) {
            timed += mean;
        } else {
            others += mean;
        }
    }
    // Between its calls a working thread is found in others for moments.
    timed - (all(threads, command) - working - f64::floor(others)).max(0.0)
}

/// The system call in which threads of a command sleep, and that in words: one that waits for a time before others.
pub(super) fn sleeping<'a>(threads: &'a ThreadActivity, command: &str) -> Option<(&'a str, &'static str)> {
    let asleep = |(kind, _): &&(ThreadKind, f64)| kind.state == 'S' && wait_of(kind).is_none();
    let calls = of_command(threads, command).filter(asleep).filter_map(|(kind, mean)| {
        let call = kind.syscall.as_ref()?.as_str();
        Some((SLEEPS.iter().position(|(name, _)| *name == call)?, call, *mean))
    });
    let order = |at: usize| at < 2;
    let most = calls.max_by(|(a, _, n), (b, _, m)| order(*a).cmp(&order(*b)).then(n.total_cmp(m)))?;
    Some((most.1, SLEEPS[most.0].1))
}

/// The wait channel in which a command's threads wait for the other end of a pipe that they write or read, and the share of their time.
pub(super) fn in_pipe<'a>(
    threads: &'a ThreadActivity,
    command: &str,
    writes: bool,
) -> Option<(&'a str, f64)> {
    let end = if writes { "pipe_write" } else { "pipe_read" };
    let waits = of_command(threads, command).filter_map(|(kind, mean)| {
        let wchan = kind.wchan.as_ref().filter(|wchan| kind.state == 'S' && wchan.as_str().contains(end))?;
        Some((wchan.as_str(), *mean))
    });
    let (wchan, waiting) = waits.reduce(|(wchan, sum), (_, mean)| (wchan, sum + mean))?;
    Some((wchan, waiting / all(threads, command).max(f64::EPSILON)))
}

/// Whether samples found any wait of a command's threads for I/O.
pub(super) fn is_found(threads: &ThreadActivity, command: &str) -> bool {
    of_command(threads, command).any(|(kind, mean)| *mean > 0.0 && wait_of(kind).is_some())
}

/// Whether most waits of a command's threads for I/O are such ones; samples may have found none.
pub(super) fn is_for(threads: &ThreadActivity, command: &str, of: Wait) -> bool {
    is_for_by(threads, command, of, 0.5)
}

/// Whether more than this part of them are.
pub(super) fn is_for_by(threads: &ThreadActivity, command: &str, of: Wait, part: f64) -> bool {
    let waits = of_command(threads, command).filter_map(|(kind, mean)| Some((wait_of(kind)?, *mean)));
    let (all, such) = waits.fold((0.0, 0.0), |(all, such), (wait, mean)| {
        (all + mean, if wait == of { such + mean } else { such })
    });
    such > part * all
}

/// Mean numbers of a command's threads that wait in calls that read, and in those that write: for pages, or with another function's
/// name for what the file system does before.
pub(super) fn by_call(threads: &ThreadActivity, command: &str) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for (kind, mean) in of_command(threads, command) {
        let wait = wait_of(kind);
        if kind.state == 'R' || wait.is_none() && kind.state != 'D' {
            continue;
        }
        let writes = is_in(kind, WRITES) || matches!(wait, Some(Wait::Writeback | Wait::Throttle));
        if writes || wait == Some(Wait::PageCache) || is_in(kind, READS) {
            sums[usize::from(writes)] += mean;
        }
    }
    sums
}

/// Threads that wait for the end of a sync, and those that wait for something else.
#[derive(Debug, Default)]
pub(super) struct Syncs<'a> {
    /// Their mean number.
    pub(super) waiting: f64,
    /// The wait channel of two thirds of them, or else the system call where no wait channel is known.
    pub(super) wchan: Option<&'a str>,
    /// Mean number of the others. One that was found on its way into a wait or out of it is in neither.
    pub(super) others: f64,
}

/// Mean number of threads in syncs, of the commands that count; without the kernel's.
pub(super) fn in_syncs(threads: &ThreadActivity, counts: impl Fn(&str) -> bool) -> f64 {
    let is_sync = |kind: &ThreadKind| !kind.is_kernel && (is_in(kind, SYNCS) || is_commit(kind));
    let syncs = threads.kinds.iter().filter(|(kind, _)| is_sync(kind) && counts(kind.command.as_str()));
    syncs.map(|(_, mean)| mean).sum()
}

/// Whether the thread waits for a journal's commit or a flush.
fn is_commit(kind: &ThreadKind) -> bool {
    let wchan = kind.wchan.as_ref().map_or("", Label::as_str);
    COMMITS.iter().any(|beginning| wchan.starts_with(beginning))
}

/// Whether samples find threads of a command in calls that end when data is on the drive.
pub(super) fn is_in_syncs(threads: &ThreadActivity, command: &str) -> bool {
    of_command(threads, command).any(|(kind, mean)| *mean > 0.0 && is_in(kind, SYNCS))
}

/// Threads of a command in syncs; those in write calls wait for one where drives flush (`O_SYNC`, `O_DSYNC`). The wait channel that the
/// shown sentence names stays while it has a third of them.
pub(super) fn syncing<'a>(
    threads: &'a ThreadActivity,
    command: &str,
    are_flushed: bool,
    said: &str,
) -> Syncs<'a> {
    // A direct write ends before the flush, a buffered one is throttled without any.
    let ends_first =
        |wchan: &str| ["dio_", "direct", "balance_dirty", "rq_qos"].iter().any(|part| wchan.contains(part));
    let (mut syncs, mut by_wchan) = (Syncs::default(), BTreeMap::<&str, f64>::new());
    for (kind, mean) in of_command(threads, command).filter(|(kind, _)| kind.state != 'R') {
        let wait = wait_of(kind);
        let wchan = kind.wchan.as_ref().map_or("", Label::as_str);
        let is_known = wait.is_some();
        let is_flushed = are_flushed && is_known && is_in(kind, WRITES) && !ends_first(wchan);
        // A throttled one has data to write first.
        let is_sync = is_in(kind, SYNCS) && (is_known || kind.state == 'D') && wait != Some(Wait::Throttle);
        if is_sync || is_commit(kind) || is_flushed {
            syncs.waiting += mean;
            if is_known {
                *by_wchan.entry(wchan).or_default() += mean;
            } else {
                syncs.wchan = kind.syscall.as_ref().map(Label::as_str);
            }
        } else if is_known && !(are_flushed && kind.syscall.is_none() && !ends_first(wchan)) {
            syncs.others += mean;
        }
    }
    if !by_wchan.is_empty() {
        let known: f64 = by_wchan.values().sum();
        let part = |wchan: &str| if said.contains(wchan) { 1.0 / 3.0 } else { 2.0 / 3.0 };
        let of_most = { by_wchan.into_iter() }.find(|(wchan, mean)| *mean >= part(wchan) * known);
        syncs.wchan = of_most.map(|(wchan, _)| wchan);
    }
    syncs
}

/// The calls with which a file ends.
pub(super) const AT_THE_END: &str = "in close or fsync";

/// Commands whose threads wait until what was written is on the drive, in the calls with which a file ends: this one and `sync`.
pub(super) fn at_the_end<'a>(threads: &'a ThreadActivity, command: &'a str) -> Vec<(&'a str, f64)> {
    let ends = |(kind, _): &&(ThreadKind, f64)| {
        let is_waiting = kind.state == 'D' || wait_of(kind).is_some();
        is_waiting && (is_in(kind, SYNCS) || is_in(kind, &["close"]))
    };
    let of = |command| (command, of_command(threads, command).filter(ends).map(|(_, mean)| mean).sum());
    let all = [of(command), of("sync")];
    all.into_iter().filter(|(_, mean)| *mean > 0.0).collect()
}

/// The workers of a test are named `read 3`.
pub(super) const WORKERS: &str = "read *";

/// Whose they are where no program is known that has them.
pub(super) const ANOTHER: &str = "another iodyno";

/// The same of several that move data.
pub(super) const OTHER_RUNS: &str = "other runs of iodyno";

/// `wait`, `waits`: the verb of a program.
fn verb_of(program: &str, verb: &str) -> String {
    if program == OTHER_RUNS { verb.to_owned() } else { format!("{verb}s") }
}

/// Mean numbers of a command's threads that run, and that run or wait for I/O.
pub(super) fn running(threads: &ThreadActivity, command: &str) -> (f64, f64) {
    let sum = |is: fn(&ThreadKind) -> bool| {
        of_command(threads, command).filter(|(kind, _)| is(kind)).fold(0.0, |sum, (_, mean)| sum + mean)
    };
    (sum(|kind| kind.state == 'R'), sum(|kind| kind.is_active() || wait_of(kind).is_some()))
}

/// Whether a command is the kernel's. Its workers are called after their work of the moment: one look knows a name that another does not.
pub(super) fn is_kernel(threads: Option<&ThreadActivity>, command: &str) -> bool {
    let kinds = threads.iter().flat_map(|threads| &threads.kinds);
    let is_known = |(kind, _): &(ThreadKind, f64)| kind.is_kernel && kind.command.as_str() == command;
    command.starts_with("kworker/") || is_of_loop(command) || { kinds }.any(is_known)
}

/// Whether a kernel thread of this name works for a loop device: `loop0`, `kworker/u8:1-loop0`; digits may be `*`.
fn is_of_loop(command: &str) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && text.chars().all(|each| each.is_ascii_digit() || each == '*');
    let parts = command.rsplit_once("loop");
    parts.is_some_and(|(before, number)| {
        (before.is_empty() || before.ends_with(['-', '+'])) && is_number(number)
    })
}

/// Mean number of a command's threads, in whatever state.
pub(super) fn all(threads: &ThreadActivity, command: &str) -> f64 {
    of_command(threads, command).fold(0.0, |sum, (_, mean)| sum + mean)
}

/// Mean numbers of all threads that run, and that wait for I/O.
pub(crate) fn active(threads: &ThreadActivity) -> (f64, f64) {
    threads.kinds.iter().fold((0.0, 0.0), |(running, waiting), (kind, mean)| match kind.state {
        'R' => (running + mean, waiting),
        _ if kind.is_active() || wait_of(kind).is_some() => (running, waiting + mean),
        _ => (running, waiting),
    })
}

/// Threads of one command that wait alike.
pub(super) struct Waiters<'a> {
    command: &'a Label,
    /// The program, where its threads have other names.
    program: Option<String>,
    /// What several of them are: threads, or processes.
    kind: &'static str,
    wchan: &'a Label,
    wait: Wait,
    /// Mean number of those that wait.
    pub(super) waiting: f64,
    /// That of those which samples found waiting.
    found: f64,
    /// Mean number of those that wait for I/O or run.
    active: f64,
}

impl<'a> Waiters<'a> {
    /// Of the commands that count and whose threads wait so, the `mover` of most bytes, or else the one with most of them.
    pub(super) fn most(
        threads: &'a ThreadActivity,
        wait: Wait,
        (mover, said): (Option<&str>, &str),
        counts: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let waiting = |command: &Label| -> f64 {
            let of = of_command(threads, command.as_str());
            of.filter(|(kind, _)| wait_of(kind) == Some(wait)).map(|(_, mean)| mean).sum()
        };
        let is_alike = |kind: &ThreadKind| wait_of(kind) == Some(wait) && counts(kind.command.as_str());
        let alike = threads.kinds.iter().filter(|(kind, _)| is_alike(kind));
        // The wait channel that most of them are in; the one that the shown sentence names stays while it has a third as many.
        let named = |kind: &ThreadKind, mean: f64| {
            let is_said = kind.wchan.as_ref().is_some_and(|wchan| said.contains(&format!("({wchan})")));
            if is_said { 3.0 * mean } else { mean }
        };
        let (kind, _) = alike.max_by(|(a, n), (b, m)| {
            let moves_most = |kind: &ThreadKind| mover == Some(kind.command.as_str());
            let by_bytes = moves_most(a).cmp(&moves_most(b));
            let by_number = waiting(&a.command).total_cmp(&waiting(&b.command));
            by_bytes.then(by_number).then_with(|| named(a, *n).total_cmp(&named(b, *m)))
        })?;
        let (_, active) = running(threads, kind.command.as_str());
        Some(Self {
            command: &kind.command,
            program: None,
            kind: "threads",
            wchan: kind.wchan.as_ref()?,
            wait,
            waiting: waiting(&kind.command),
            found: waiting(&kind.command),
            active,
        })
    }

    /// The same of one thread that waits for I/O this share of its time, whatever samples found; they tell for what it waits.
    pub(super) fn by_share(self, threads: &ThreadActivity, share: Option<f64>) -> Self {
        let (running, active) = running(threads, self.command.as_str());
        let Some(share) = share.filter(|_| active > running) else { return self };
        Self { waiting: active * share * self.waiting / (active - running), ..self }
    }

    /// The same as threads of a program of another name.
    pub(super) fn of_program(self, name: &str) -> Self {
        Self { program: Some(name.to_owned()), ..self }
    }

    /// The same where processes may be what waits: `kind_of` names so many.
    pub(super) fn of_kind(self, kind_of: impl Fn(f64) -> &'static str) -> Self {
        Self { kind: kind_of(self.active), ..self }
    }

    pub(super) fn command(&self) -> &str {
        self.command.as_str()
    }

    /// `fio waits for completions (read_events) 55 % and for a CPU 25 % of the time`, of `active` ones that wait for a CPU so long.
    pub(super) fn and_for_a_cpu(&self, active: f64, delayed: f64) -> String {
        let part = |of: f64| 100.0 * of / active.max(1.0);
        let (name, wait) = (self.name(), format!("{} ({})", self.wait.words(), self.wchan));
        let who = if active < 1.5 {
            format!("{name} {}", verb_of(name, "wait"))
        } else {
            format!("{active:.0} {} of {name} wait", self.kind)
        };
        format!(
            "{who} {wait} {:.0} % and for a CPU {:.0} % of the time",
            part(self.waiting.min(active)),
            part(delayed)
        )
    }

    /// Of their program, where that is known, or else their own.
    pub(super) fn name(&self) -> &str {
        let own = if self.is_of(WORKERS) { ANOTHER } else { self.command.as_str() };
        self.program.as_deref().unwrap_or(own)
    }

    /// Whether they are threads of that command.
    pub(super) fn is_of(&self, command: &str) -> bool {
        self.command.as_str() == command
    }

    /// Whether this is what they wait for.
    pub(super) fn is_for(&self, wait: Wait) -> bool {
        self.wait == wait
    }

    /// Whether samples found most of the waits that there are by CPU time.
    pub(super) fn are_seen(&self) -> bool {
        2.0 * self.found >= self.waiting
    }

    /// Whether they are at least half of a test's workers.
    pub(super) fn is_most_of(&self, test: TestNow<'_>) -> bool {
        !self.is_of(WORKERS) || self.waiting * 2.0 >= test.workers as f64
    }

    /// Whether each of them has at most one I/O in flight: it waits in the call that submitted it.
    pub(super) fn is_one_each(&self) -> bool {
        OF_SEVERAL.iter().all(|beginning| !self.wchan.as_str().starts_with(beginning))
    }

    /// Whether it is one thread that waits or runs.
    pub(super) fn is_one_thread(&self) -> bool {
        self.active < 1.5
    }

    /// At least this part of them waits, and one at least this part of the time.
    pub(super) fn is_most_of_them(&self, part: f64) -> bool {
        self.waiting >= part && self.waiting >= part * self.active
    }

    /// `12 of 12 workers wait for completions (io_cqring_wait)`, `1 of 12 workers waits for completions (io_cqring_wait)`.
    pub(super) fn words(&self, test: Option<TestNow<'_>>) -> String {
        /// Threads up to which a rounded number is too coarse.
        const FEW: f64 = 8.0;
        let (waiting, active) = (self.waiting.round().max(1.0), self.active.round().max(1.0));
        let wait = format!("{} ({})", self.wait.words(), self.wchan);
        let verb = if waiting > 1.0 { "wait" } else { "waits" };
        if let Some(test) = test.filter(|_| self.command.as_str() == WORKERS) {
            let all = (test.workers as f64).max(waiting);
            let workers = if all > 1.0 { "workers" } else { "worker" };
            // The ring submits them for the worker, which does not wait for the pages itself.
            let between = if test.is_buffered { " of buffered reads, which fill the page cache" } else { "" };
            return format!("{waiting:.0} of {all:.0} {workers} {verb} {wait}{between}");
        }
        let (name, kind) = (self.name(), self.kind);
        // They do so by turns: a mean of 1.4 is no thread that waits and another one that does not, and one of 3.4 not three of four.
        if waiting < active && active <= FEW && 2.0 * self.waiting >= self.active {
            let part = 100.0 * self.waiting / self.active;
            return format!("{active:.0} {kind} of {name} wait {wait} {part:.0} % of the time");
        }
        if active > 1.0 {
            format!("{waiting:.0} of {active:.0} {kind} of {name} {verb} {wait}")
        } else {
            format!("{name} {} {wait}", verb_of(name, "wait"))
        }
    }
}
