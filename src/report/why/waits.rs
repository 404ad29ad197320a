//! Kernel functions that threads wait in for I/O, and the threads of a command that wait alike.

use crate::{
    counters::activity::{ThreadActivity, ThreadKind},
    report::why::TestNow,
    text::{self, Label},
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
    ("folio_wait_bit", Wait::PageCache),
    ("wait_on_page_bit", Wait::PageCache),
    ("__folio_lock", Wait::PageCache),
    ("__lock_page", Wait::PageCache),
    ("filemap_", Wait::PageCache),
    ("balance_dirty_pages", Wait::Writeback),
    ("folio_wait_writeback", Wait::Writeback),
    ("wait_on_page_writeback", Wait::Writeback),
    ("__filemap_fdatawait", Wait::Writeback),
    ("wb_wait_for_completion", Wait::Writeback),
    ("jbd2_log_wait_commit", Wait::Writeback),
    ("xlog_", Wait::Writeback),
];

/// Beginnings of wait channels of threads that may have submitted more than one I/O.
const OF_SEVERAL: &[&str] = &["io_cqring_wait", "read_events", "do_io_getevents"];

/// System calls in which a wait for a page is one for writeback.
const WRITES: &[&str] = &[
    "fsync",
    "fdatasync",
    "sync",
    "syncfs",
    "sync_file_range",
    "msync",
    "write",
    "pwrite64",
    "writev",
    "pwritev",
];

/// What threads of a kind wait for; `None` for kernel threads and those that wait for something else.
pub(crate) fn wait_of(kind: &ThreadKind) -> Option<Wait> {
    let wchan = kind.wchan.as_ref().filter(|_| !kind.is_kernel && kind.state != 'R')?;
    let (_, wait) = WAITS.iter().find(|(beginning, _)| wchan.as_str().starts_with(beginning))?;
    let writes = kind.syscall.as_ref().is_some_and(|name| WRITES.contains(&name.as_str()));
    Some(if writes && *wait == Wait::PageCache { Wait::Writeback } else { *wait })
}

/// The workers of a test are named `read 3`.
pub(super) const WORKERS: &str = "read *";

/// `kswapd*` of `kswapd0`: a process's command as threads have it.
pub(super) fn starred(command: &str) -> String {
    let mut short = vec![0; command.len()];
    let length = text::starred(command.as_bytes(), &mut short);
    String::from_utf8_lossy(&short[..length]).into_owned()
}

/// Mean numbers of a command's threads that run, and that run or wait for I/O.
pub(super) fn running(threads: &ThreadActivity, command: &str) -> (f64, f64) {
    let own = || threads.kinds.iter().filter(|(kind, _)| kind.command.as_str() == command && !kind.is_kernel);
    let sum = |is: fn(&ThreadKind) -> bool| {
        own().filter(|(kind, _)| is(kind)).fold(0.0, |sum, (_, mean)| sum + mean)
    };
    (sum(|kind| kind.state == 'R'), sum(|kind| kind.is_active() || wait_of(kind).is_some()))
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
    wchan: &'a Label,
    /// Mean number of those that wait.
    waiting: f64,
    /// Mean number of those that wait for I/O or run.
    active: f64,
}

impl<'a> Waiters<'a> {
    /// Of the commands whose threads wait so, the `mover` of most bytes, or else the one with most of them.
    pub(super) fn most(threads: &'a ThreadActivity, wait: Wait, mover: Option<&str>) -> Option<Self> {
        let waiting = |command: &Label| -> f64 {
            let of = threads.kinds.iter().filter(|(kind, _)| kind.command == *command);
            of.filter(|(kind, _)| wait_of(kind) == Some(wait)).map(|(_, mean)| mean).sum()
        };
        let alike = threads.kinds.iter().filter(|(kind, _)| wait_of(kind) == Some(wait));
        // The wait channel that most of them are in.
        let (kind, _) = alike.max_by(|(a, n), (b, m)| {
            let moves_most = |kind: &ThreadKind| mover == Some(kind.command.as_str());
            let by_bytes = moves_most(a).cmp(&moves_most(b));
            by_bytes.then(waiting(&a.command).total_cmp(&waiting(&b.command))).then(n.total_cmp(m))
        })?;
        let (_, active) = running(threads, kind.command.as_str());
        Some(Self {
            command: &kind.command,
            wchan: kind.wchan.as_ref()?,
            waiting: waiting(&kind.command),
            active,
        })
    }

    /// The same of one thread that waits for I/O this share of its time, whatever samples found; they tell for what it waits.
    pub(super) fn by_share(self, threads: &ThreadActivity, share: Option<f64>) -> Self {
        let (running, active) = running(threads, self.command.as_str());
        let Some(share) = share.filter(|_| active > running) else { return self };
        Self { waiting: active * share * self.waiting / (active - running), ..self }
    }

    pub(super) fn command(&self) -> &str {
        self.command.as_str()
    }

    /// Whether they are threads of that command.
    pub(super) fn is_of(&self, command: &str) -> bool {
        self.command.as_str() == command
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

    /// `12 of 12 workers wait in io_cqring_wait`.
    pub(super) fn words(&self, test: Option<TestNow<'_>>) -> String {
        let (waiting, active) = (self.waiting.round().max(1.0), self.active.round().max(1.0));
        let wchan = self.wchan;
        if let Some(test) = test.filter(|_| self.command.as_str() == WORKERS) {
            let all = (test.workers as f64).max(waiting);
            let verb = if all > 1.0 { "workers wait" } else { "worker waits" };
            return format!("{waiting:.0} of {all:.0} {verb} in {wchan}");
        }
        if active > 1.0 {
            format!("{waiting:.0} of {active:.0} threads of {} wait in {wchan}", self.command)
        } else {
            format!("{} waits in {wchan}", self.command)
        }
    }
}
