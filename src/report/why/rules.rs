//! [`RULES`] of the sentence, in their order.

use std::fmt::Write as _;

use super::{
    Facts, Panel,
    between::{between, cpu_quota, group_limit},
    busy::{all_cpus, interrupts, little_io, other_programs, steal},
    by_threads::{drives, file_lock, latency, page_cache, threads, throttling, turns, writeback},
    cached, cached_writes,
    copies::copy,
    expected, idle, moving,
    own_time::{cpu_waits, flushes, own_waits},
    pipes::pipe,
    polling, queue, reclaim,
};

pub(super) struct Rule {
    pub(super) id: &'static str,
    /// When it fires, for docs/why.md.
    fires: &'static str,
    pub(super) panels: [Panel; 2],
    pub(super) is_fallback: bool,
    pub(super) says: fn(&Facts<'_>) -> Option<String>,
}

/// The first that fires is the sentence; the last always does.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "full",
        fires: "a shared link, switch or root complex carries at least 97 % of its limit, until it carries less than 94 %, as the Machine screen shows",
        panels: [Panel::Threads, Panel::Cpus],
        is_fallback: true,
        says: |facts| facts.inputs.full.map(str::to_owned),
    },
    Rule {
        id: "interrupts",
        fires: "a CPU spends at least 80 % of its time in hard and soft interrupts",
        panels: [Panel::Interrupts, Panel::Cpus],
        is_fallback: false,
        says: interrupts,
    },
    Rule {
        id: "steal",
        fires: "the hypervisor takes at least 20 % of all CPU time and less than 10 % is idle",
        panels: [Panel::Cpus, Panel::Threads],
        is_fallback: false,
        says: steal,
    },
    Rule {
        id: "polling",
        fires: "a test with polled completions runs",
        panels: [Panel::Cpus, Panel::Threads],
        is_fallback: false,
        says: polling,
    },
    Rule {
        id: "reclaim",
        fires: "kswapd scans at least 25 000 pages/s, or tasks at least 5 000 themselves (a quarter of all scanned pages, unless some task waits for memory 10 % of the time), while drives read or write, and these are a quarter of the bytes that drives move or some task waits for memory 10 % of the time; or threads of the process that moves most wait for memory 30 % of the time (`reclaim_throttle` and its kin) or it reaches a memory limit of its control group (`memory.events`, `memory.failcnt`), although fewer than 1 000 pages/s are scanned for all, and some task waits for memory 10 % of the time",
        panels: [Panel::Pressure, Panel::Threads],
        is_fallback: false,
        says: reclaim,
    },
    Rule {
        id: "pipe",
        fires: "the process that moves most passes at least half of that on, or has it from another one, whose calls have as many bytes, give or take a fifth, and whose one thread fills 85 % of a CPU; or its one thread waits half of the time for the other end of its pipe, by its CPU time and run delay where these are known",
        panels: [Panel::Processes, Panel::Threads],
        is_fallback: false,
        says: pipe,
    },
    Rule {
        id: "cgroup",
        fires: "threads of the process that moves most wait for I/O 30 % of the time and it moves 85 % of what a limit of its control group allows (`io.max`, `blkio.throttle.*`), or 30 % where `between` would fire",
        panels: [Panel::Threads, Panel::Processes],
        is_fallback: false,
        says: group_limit,
    },
    Rule {
        id: "cpu-quota",
        fires: "the process that moves most uses 85 % of the CPU time that its control group allows (`cpu.max`, `cpu.cfs_quota_us`)",
        panels: [Panel::Processes, Panel::Cpus],
        is_fallback: false,
        says: cpu_quota,
    },
    Rule {
        id: "own-waits",
        fires: "the process that moves most sleeps more than half of the time (`clock_nanosleep`, `poll`, `futex` and their kin) since the sample before, and no drive has a mean queue depth of 0.35; or its threads that do I/O sleep a fifth of the time or more for times that they chose (`clock_nanosleep`, `poll` and `select` with their kin), at least as long as they wait for I/O and for a CPU, or a quarter of that where they only sleep (`clock_nanosleep`), as with a rate limit; or they only sleep 10 % of the time, 20 % where it has several processes, no drive has I/O in flight 70 % of it, and neither `cpu-waits` nor `flushes` would fire. Of what only sleeps so long no rule from `page-cache` to `turns` names a limit",
        panels: [Panel::Threads, Panel::Processes],
        is_fallback: false,
        says: own_waits,
    },
    Rule {
        id: "cpu-waits",
        fires: "threads of the process that moves most wait for a CPU at least 30 % of the time (run delay of `schedstat`) and for I/O less than 1.3 times as long; below 1.3 times the other both are named. CPUs are not called the limit where it sleeps 10 % of the time in `clock_nanosleep`, nor one CPU that it is not pinned to",
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: false,
        says: cpu_waits,
    },
    Rule {
        id: "copy",
        fires: "the one thread of the process that moves most reads drives and writes to them through the page cache, at least half as much of one as of the other, and is in no `fsync`: its waits for reads and for writeback, and the time in which it runs, are named together; where it runs 82 % of the time, its one thread is the limit",
        panels: [Panel::Threads, Panel::Profile],
        is_fallback: false,
        says: copy,
    },
    Rule {
        id: "little-io",
        fires: "less than 5 % of all CPU time is idle or iowait, programs that hardly read or write use more than half of the rest, nice ones apart, and drives move less than 20 MB/s in less than 1000 I/Os a second, with a mean queue depth below 0.2 and in flight less than 20 % of the time, and `flushes` would not fire",
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: false,
        says: little_io,
    },
    Rule {
        id: "other-programs",
        fires: "less than 5 % of all CPU time is idle, iowait or of nice programs while drives read or write, programs that hardly read or write use more than half of the rest, and threads of the process that moves most wait for I/O less than 30 % of the time and, where that is known, for a CPU at least 10 %, it sleeps less than 10 % in `clock_nanosleep`, and `flushes` would not fire",
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: false,
        says: other_programs,
    },
    Rule {
        id: "cpus",
        fires: "less than 5 % of all CPU time is idle, iowait or of nice programs while drives read or write, read calls do not mainly return data of the page cache, and the process that moves most sleeps less than 10 % of the time in `clock_nanosleep`",
        panels: [Panel::Cpus, Panel::Profile],
        is_fallback: false,
        says: all_cpus,
    },
    Rule {
        id: "flushes",
        fires: "threads of the process that moves most wait half of the time in `fsync` and its kin, for a commit of the journal, or in write calls while drives complete at least 20 flushes/s, one for 20 writes; or it writes and waits 30 % of the time, and runs less than 60 %, while drives complete a flush for every 10 writes; the process may be the one that writes most and syncs, where drives write up to 4 times as much. Flushes count where samples find no other program in such calls; those of short processes only where no other program writes a page for every second one",
        panels: [Panel::Threads, Panel::Pressure],
        is_fallback: false,
        says: flushes,
    },
    Rule {
        id: "file-lock",
        fires: "at least half of a command's active threads, two or more, wait for the lock of a file that they write to (`*_buffered_write_iter`, `*_file_write_iter`, `rwsem_down_write_slowpath` and its kin in a write call)",
        panels: [Panel::Threads, Panel::Processes],
        is_fallback: false,
        says: file_lock,
    },
    Rule {
        id: "between",
        fires: "samples find at least half of a command's active threads waiting for completions or pages, and drives have less than a quarter as many I/Os in flight",
        panels: [Panel::Threads, Panel::Processes],
        is_fallback: false,
        says: between,
    },
    Rule {
        id: "page-cache",
        fires: "at least half of a command's active threads wait for a page of the page cache; or short processes, which end before a sample, do most of what moves and read, samples find them in no other waits, drives have at least 1.3 I/Os in flight and some task waits for I/O half of the time",
        panels: [Panel::Threads, Panel::Pressure],
        is_fallback: false,
        says: page_cache,
    },
    Rule {
        id: "writeback",
        fires: "at least half of a command's active threads wait for writeback, or the process that writes most and `sync` wait 30 % of the time in `close` and `fsync`, or 15 % where these are most of its waits and some task waits for I/O 25 % of the time; or the program that moves most, at least a quarter of it, writes, short processes, which end before a sample, do a quarter of that, drives complete a flush a second and have 8 I/Os in flight while they are busy, and some task waits for I/O 20 % of the time and longer than they run",
        panels: [Panel::Threads, Panel::Pressure],
        is_fallback: false,
        says: writeback,
    },
    Rule {
        id: "throttling",
        fires: "at least half of a command's active threads wait in `rq_qos_wait`: writeback throttling (`wbt_lat_usec`) or a latency target of a control group",
        panels: [Panel::Threads, Panel::Pressure],
        is_fallback: false,
        says: throttling,
    },
    Rule {
        id: "latency",
        fires: "at least half of a command's active threads wait for completions while no drive has 1.5 I/Os in flight on average, or its one thread waits for one I/O after the other and a drive has that in flight half of the time; or each of several processes that read, or that write with `O_DIRECT`, has half an I/O to one in flight, as the drive counts them, and waits 40 % of the time; or short processes, which end before a sample, do at least a quarter of what moves while a drive has 0.4 to 1.3 I/Os in flight and some task waits for I/O at least half as long",
        panels: [Panel::Threads, Panel::Cpus],
        is_fallback: false,
        says: latency,
    },
    Rule {
        id: "drives",
        fires: "at least half of a command's active threads wait for completions while drives read or write, or a fifth of the time its one thread with several I/Os in flight; or short processes, which end before a sample, do at least a quarter of what moves while a drive has at least 1.3 I/Os in flight 90 % of the time and some task waits for I/O half of the time",
        panels: [Panel::Threads, Panel::Cpus],
        is_fallback: false,
        says: drives,
    },
    Rule {
        id: "threads",
        fires: "threads of a test, or of the process that moves most, run at least 90 % of the time and fill as many CPUs; without an idle CPU these are the limit. Or its one thread uses 82 % of a CPU, or runs or waits for a CPU 95 % of the time",
        panels: [Panel::Threads, Panel::Cpus],
        is_fallback: false,
        says: threads,
    },
    Rule {
        id: "expected",
        fires: "a test reads at least 95 % of what the capacity model expects of it",
        panels: [Panel::Threads, Panel::Cpus],
        is_fallback: false,
        says: expected,
    },
    Rule {
        id: "cached-writes",
        fires: "a process writes 5 times what all drives write, and at least 20 MB/s more, and no process reads a third of that from drives",
        panels: [Panel::Processes, Panel::Pressure],
        is_fallback: false,
        says: cached_writes,
    },
    Rule {
        id: "cached",
        fires: "read calls of a process return 5 times what all drives read, and at least 200 MB/s more",
        panels: [Panel::Processes, Panel::Pressure],
        is_fallback: false,
        says: cached,
    },
    Rule {
        id: "turns",
        fires: "threads of the process that moves most run and wait for I/O by turns, each at least a fifth of the time: its one thread is the limit where it uses half of a CPU or more, else what it waits for; or short processes, which end before a sample, run and some task waits for I/O, each a fifth of the time and both together 70 % of it or more; or these sync, run 30 % of the time or more, with the process that starts them, and drives are busy for less",
        panels: [Panel::Threads, Panel::Profile],
        is_fallback: false,
        says: turns,
    },
    Rule {
        id: "queue",
        fires: "a drive has at least one I/O in flight on average, where threads are not known",
        panels: [Panel::Processes, Panel::Interrupts],
        is_fallback: true,
        says: queue,
    },
    Rule {
        id: "moving",
        fires: "drives read or write",
        panels: [Panel::Processes, Panel::Cpus],
        is_fallback: true,
        says: moving,
    },
    Rule {
        id: "idle",
        fires: "always",
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: true,
        says: |facts| Some(idle(facts)),
    },
];

/// The rules for docs/why.md.
pub fn markdown() -> String {
    let mut text = String::from("| rule | fires when |\n|---|---|\n");
    for rule in RULES {
        let _ = writeln!(text, "| `{}` | {} |", rule.id, rule.fires);
    }
    text
}
