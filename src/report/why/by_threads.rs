//! Rules about threads: what those that move most wait for, or that they fill their CPUs.

use rustix::param::page_size;

use super::{
    Facts, Inputs,
    busy::{are_busy_too, beside, full},
    by_drives::{
        OF_A_CALL, each, flushes, of_short_ones, one_after_the_other, one_run_at_a_time, short_readers,
        short_syncers,
    },
    own_time::{busy_cpus, full_cpus},
    programs::OwnTime,
    waits::{self, Wait},
};
use crate::{
    counters::{DiskRates, PagingRates},
    machine::Drive,
    model::DriveName,
    units::{Bytes, UnitSystem},
};

/// A thread that waits in a call which is not one I/O alone.
const ONE_CALL: &str = " waits for one call at a time";

/// The limit of threads that wait for pages that are read, or written back.
const FOR_PAGES: &str = "buffered reads are the limit, they wait for the page cache to fill";
const FOR_WRITEBACK: &str = "buffered writes wait for writeback to the drives";

pub(super) fn page_cache(facts: &Facts<'_>) -> Option<String> {
    let words = facts.waiters(Wait::PageCache).map(|waiters| waiters.words(None));
    let words = words.or_else(|| short_readers(facts))?;
    Some(beside(facts, format!("{words}: {FOR_PAGES}")))
}

/// Whether so many scanned pages per second are a real part of what drives and the page cache pass on, or tasks stall for memory.
pub(super) fn is_much_reclaimed(facts: &Facts<'_>, pages: f64) -> bool {
    let bytes = pages * page_size() as f64;
    stalls_for_memory(facts, facts.least(10.0, 5.0))
        || bytes >= facts.least(0.25, 0.15) * (facts.read + facts.written)
}

/// Whether tasks scan a real part of all pages themselves, or stall for memory: what kswapd frees in time delays none of them.
pub(super) fn is_much_by_tasks(facts: &Facts<'_>, paging: PagingRates) -> bool {
    const WORDS: &str = "direct reclaim";
    let all = paging.scanned_directly + paging.scanned_by_kswapd;
    paging.scanned_directly >= facts.least_for(WORDS, 0.25, 0.15) * all
        || stalls_for_memory(facts, facts.least_for(WORDS, 10.0, 5.0))
}

/// Whether some task waits for memory this part of the time, percent.
pub(super) fn stalls_for_memory(facts: &Facts<'_>, least: f64) -> bool {
    facts.inputs.rates.pressure.is_some_and(|pressure| pressure.memory_some >= least)
}

/// Threads that wait for memory although hardly any is reclaimed for all: their control group's limit is reached.
pub(super) fn reclaim_in_group(facts: &Facts<'_>, paging: PagingRates) -> Option<String> {
    /// Pages per second that are scanned for other reasons: `/proc/vmstat` does not count those of a control group's limit.
    const FEW: f64 = 1000.0;
    let is_pressed =
        facts.inputs.rates.pressure.is_none_or(|pressure| pressure.memory_some >= facts.least(10.0, 5.0));
    let is_for_all = paging.scanned_directly + paging.scanned_by_kswapd >= FEW;
    let waiters = facts.waiters_of(Wait::Reclaim, facts.least(0.3, 0.2));
    if let Some(words) = memory_limit(facts).filter(|_| !is_for_all) {
        return Some(words);
    }
    let words = waiters.filter(|_| is_pressed && !is_for_all)?.words(None);
    let limit = "the memory limit of its control group (memory.max or memory.high)";
    Some(format!("{words}: {limit} makes it reclaim pages first"))
}

/// The memory limit that the program which moves most reaches, while some task waits for memory: samples find reclaim running.
fn memory_limit(facts: &Facts<'_>) -> Option<String> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none())?;
    let waits = facts.inputs.rates.pressure?.memory_some;
    let groups = program.pids.iter().filter_map(|pid| facts.inputs.activity.limits.get(pid));
    let limit = groups.filter_map(|limits| limits.memory.as_ref()).max_by_key(|limit| limit.reached)?;
    let is_most = 2.0 * program.moved() >= facts.read + facts.written;
    (is_most && waits >= facts.least(10.0, 5.0)).then(|| {
        format!(
            "{} reaches the memory limit of its control group, {} ({}): pages are reclaimed first, some task waits for memory \
             {waits:.0} % of the time",
            program.name,
            UnitSystem::Binary.size(Bytes(limit.bytes)),
            limit.path
        )
    })
}

/// Threads that write to one file: the one that has its lock writes, the others wait.
pub(super) fn file_lock(facts: &Facts<'_>) -> Option<String> {
    let waiters = facts.waiters(Wait::FileLock).filter(|waiters| !waiters.is_one_thread())?;
    let words = waiters.words(None);
    Some(beside(facts, format!("{words}: writes to one file go one at a time")))
}

pub(super) fn writeback(facts: &Facts<'_>) -> Option<String> {
    if let Some(words) = short_syncers(facts).or_else(|| at_the_end(facts)) {
        let limit = "writeback of the page cache to the drives is the limit";
        return Some(beside(facts, format!("{words}: {limit}")));
    }
    let words = facts.waiters(Wait::Writeback)?.words(None);
    Some(beside(facts, format!("{words}: {FOR_WRITEBACK}")))
}

/// A program whose files are written back when they are closed or synced, each time: it and `sync` take turns.
fn at_the_end(facts: &Facts<'_>) -> Option<String> {
    let writer = facts.mover().or_else(|| facts.syncer());
    let writer = writer.filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    if writer.written <= writer.read || 4.0 * writer.written < facts.written {
        return None;
    }
    let threads = facts.inputs.activity.threads.as_ref()?;
    let waits = waits::at_the_end(threads, &writer.command);
    let waiting: f64 = waits.iter().map(|(_, mean)| mean).sum();
    let (running, active) = waits::running(threads, &writer.command);
    // Short processes are in few samples; the time in which tasks wait for I/O tells that some do.
    let is_only = 2.0 * waiting >= active - running && facts.io_waits() >= facts.least(0.25, 0.15);
    let least = match (is_only, facts.inputs.said.contains(waits::AT_THE_END)) {
        (true, true) => facts.least(0.15, 0.0),
        (true, false) => 0.15,
        (false, _) => facts.least(0.3, 0.15),
    };
    (waiting >= least).then(|| {
        // Threads are known by a command without its digits.
        let name_of = |command| if command == writer.command { writer.name.as_str() } else { command };
        let names: Vec<&str> = waits.iter().map(|(command, _)| name_of(*command)).collect();
        let who = if names.is_empty() { writer.name.clone() } else { names.join(" and ") };
        let verb = if names.len() > 1 { "wait" } else { "waits" };
        let part = if waiting >= 0.05 {
            format!(" {:.0} % of the time", 100.0 * waiting.min(1.0))
        } else {
            String::new()
        };
        format!("{who} {verb} {}{part}", waits::AT_THE_END)
    })
}

pub(super) fn throttling(facts: &Facts<'_>) -> Option<String> {
    let words = facts.waiters(Wait::Throttle)?.words(facts.inputs.test);
    // The drive that writes most is the throttled one.
    let Inputs { machine, rates, .. } = *facts.inputs;
    let written = |drive: &&Drive| rates.disks.get(&drive.name).map_or(0.0, |disk| disk.written_bytes);
    let drive = machine.hardware_drives().max_by(|a, b| written(a).total_cmp(&written(b)));
    let limit = drive.and_then(|drive| Some((drive, drive.queue.wbt_lat_usec.get().filter(|us| *us > 0)?)));
    let words = match limit {
        Some((drive, us)) => {
            let name = drive.name.as_str();
            format!("{words}: writeback throttling is the limit (wbt_lat_usec {us} of {name})")
        }
        None => format!("{words}: a latency target throttles them (wbt or io.latency)"),
    };
    Some(beside(facts, words))
}

pub(super) fn latency(facts: &Facts<'_>) -> Option<String> {
    if facts.inputs.test.is_some_and(|test| test.reached.is_some()) {
        return None;
    }
    if let Some(words) = one_each(facts).or_else(|| one_after_the_other(facts)) {
        return Some(beside(facts, words));
    }
    let most = facts.most(1.5, 2.5);
    let (name, disk) = facts.deepest.filter(|(_, disk)| disk.queue_depth < most && disk.queue_depth > 0.0)?;
    let waiters = facts.one_at_a_time().or_else(|| facts.waiters(Wait::Completion));
    let depth = disk.queue_depth.max(0.1);
    // The kernel splits a large call into several I/Os.
    let what = if depth < facts.least_for("one I/O", 1.15, 1.3) { "I/O" } else { "call" };
    let time = of_an_io(disk);
    // All alike: none of them is the slow one.
    let of = if facts.alike(disk.queue_depth) > 1 { "the drives" } else { name.as_str() };
    // In the same words, whether the few samples found it waiting or the drive's figures tell.
    let one = |who: &str, cache: &str| {
        let words = match what {
            "I/O" => format!("{who} has one I/O in flight at a time{cache} (queue depth {depth:.1})"),
            // The same words as where a drive has more of its pieces in flight.
            _ => return Some(one_call(facts, &format!("{who}{ONE_CALL}{cache}"), name, disk)),
        };
        let writer = facts.mover().filter(|mover| mover.written > mover.read);
        let flushes = writer.map_or_else(String::new, |writer| flushes(facts, writer));
        Some(beside(facts, format!("{words}{flushes}: the latency of {of}{time} is the limit")))
    };
    let cache_of = |program| if facts.is_for_pages(program) { ", for pages of the page cache" } else { "" };
    let Some(waiters) = waiters.filter(|_| facts.is_moving()) else {
        let program = facts.one_in_flight().filter(|_| facts.is_moving())?;
        return one(&program.name, cache_of(program));
    };
    // One that may submit several has one in flight where the drive's figures say so.
    let has_one =
        || facts.one_in_flight().is_some_and(|program| what == "I/O" && waiters.is_of(&program.command));
    if facts.inputs.test.is_none() && waiters.is_one_thread() && (waiters.is_one_each() || has_one()) {
        let own = facts.mover().filter(|mover| waiters.is_of(&mover.command));
        return one(waiters.name(), own.map_or("", cache_of));
    }
    let words = waiters.words(facts.inputs.test);
    if !waiters.is_one_each() {
        let words = format!("{words}: the latency of {of} at queue depth {depth:.1} is the limit");
        return Some(beside(facts, words));
    }
    let each = if waiters.is_one_thread() { "" } else { "each for " };
    Some(beside(
        facts,
        format!(
            "{words}, {each}one {what} at a time (queue depth {depth:.1}): the latency of {of}{time} is the limit"
        ),
    ))
}

/// `, 78.0 us,`: of an I/O of the kind that a drive does more of.
fn of_an_io(disk: &DiskRates) -> String {
    each(disk).map_or_else(String::new, |each| format!(", {each},"))
}

/// `dd waits for one call at a time, which the kernel splits into requests of 128 KiB (queue depth 11.4): ...`: where the drive's
/// requests are as large as it allows, they are pieces of larger calls.
fn one_call(facts: &Facts<'_>, words: &str, name: &DriveName, disk: &DiskRates) -> String {
    const SPLITS: &str = ", which the kernel splits into requests of ";
    let drive = facts.inputs.machine.drives.iter().find(|drive| drive.name == *name);
    let most = drive.and_then(|drive| drive.queue.max_sectors_kb.get());
    // A call's last request may be smaller, and other writes, as of a journal, are.
    let least = facts.least_for(SPLITS, 0.85, 0.7);
    let (read, written) = (disk.read_bytes, disk.written_bytes);
    let is_full = |kib: &u64| {
        let of = |ios: f64, bytes: f64| bytes / ios.max(1.0) / (1024 * kib) as f64;
        let is_part = |bytes: f64| 4.0 * bytes >= read + written;
        let sides = [(disk.reads, read), (disk.writes, written)].into_iter();
        { sides }.any(|(ios, bytes)| is_part(bytes) && (least..1.05).contains(&of(ios, bytes)))
    };
    let depth = disk.queue_depth;
    let call = match most.filter(is_full) {
        Some(kib) => format!("{words}{SPLITS}{kib} KiB (queue depth {depth:.1})"),
        None => format!("{words} while {} has {depth:.1} I/Os in flight", name.as_str()),
    };
    beside(facts, format!("{call}: {OF_A_CALL}"))
}

/// Processes of one program that have one I/O in flight each: samples often find them running.
fn one_each(facts: &Facts<'_>) -> Option<String> {
    let (name, disk) = facts.deepest.filter(|(_, disk)| disk.utilisation >= facts.least(65.0, 50.0))?;
    let own = OwnTime::of(facts).filter(|_| facts.is_moving())?;
    let (program, processes) = (own.program, own.program.movers as f64);
    let depths = facts.least(0.5, 0.35) * processes..facts.most(1.1, 1.3) * processes;
    let waits = processes - program.cpus - own.delayed;
    // Interrupts of their I/Os are in their CPU time.
    let is_waiting = waits >= facts.least(0.4, 0.3) * processes;
    let is_most = 2.0 * program.moved() >= facts.read + facts.written && is_waiting;
    let threads = facts.inputs.activity.threads.as_ref()?;
    // Buffered writes are in flight while no process waits for them, and buffered reads wait for pages: samples tell these apart from
    // direct ones.
    let is_direct = waits::is_for(threads, &program.command, Wait::Completion);
    let is_alike = is_direct
        && if program.written > program.read { disk.writes > disk.reads } else { disk.reads > disk.writes };
    if program.movers < 2 || !depths.contains(&disk.queue_depth) || !is_most || !is_alike {
        return None;
    }
    let time = of_an_io(disk);
    let who = format!("{} processes of {} have one I/O in flight each", program.movers, program.name);
    let name = name.as_str();
    Some(format!("{who} (queue depth {:.1}): the latency of {name}{time} is the limit", disk.queue_depth))
}

pub(super) fn drives(facts: &Facts<'_>) -> Option<String> {
    let Some(waiters) = facts.waiters(Wait::Completion).filter(|_| facts.is_moving()) else {
        return of_short_ones(facts).map(|words| beside(facts, words));
    };
    // A call that the kernel splits into several I/Os need not fill the drive: the next one comes after its last.
    let is_one_call = facts.inputs.test.is_none() && waiters.is_one_each() && waiters.is_one_thread();
    if let Some((name, disk)) = facts.deepest.filter(|_| is_one_call && facts.served.is_empty()) {
        return Some(one_call(facts, &format!("{}{ONE_CALL}", waiters.name()), name, disk));
    }
    // Neither of two long waits is the limit alone.
    let own = OwnTime::of(facts).filter(|own| waiters.is_of(&own.program.command) && are_busy_too(facts));
    let least = facts.least_for("% and for a CPU", 0.2, 0.14);
    if let Some(own) = own.filter(|own| own.delayed >= least * own.active.max(1.0)) {
        return Some(beside(facts, waiters.and_for_a_cpu(own.active, own.delayed)));
    }
    let words = waiters.words(facts.inputs.test);
    Some(match facts.inputs.test.and_then(|test| test.reached) {
        Some(because) => format!("{words}; the limit: {because}"),
        None => beside(facts, format!("{words}: {}", facts.drives_are_the_limit())),
    })
}

pub(super) fn turns(facts: &Facts<'_>) -> Option<String> {
    one_run_at_a_time(facts).or_else(|| by_turns(facts))
}

fn by_turns(facts: &Facts<'_>) -> Option<String> {
    let least = facts.least(0.2, 0.12);
    let command = facts.mover.as_deref().filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    let name = facts.mover().map_or(command, |program| &program.name);
    let (running, active) = waits::running(facts.inputs.activity.threads.as_ref()?, command);
    // Of a thread that no sample found waiting it is not known whether several of its I/Os are in flight.
    let is_seen = active - running >= 0.05;
    if !is_seen && facts.deepest.is_some_and(|(_, disk)| disk.queue_depth >= facts.most(1.5, 2.5)) {
        return None;
    }
    let (running, waiting) = match facts.waiting_share(command) {
        Some(share) => (active * (1.0 - share), active * share),
        None => (running, active - running),
    };
    if running < least || waiting < least || running < least * active || waiting < least * active {
        return None;
    }
    if facts.waiters(Wait::Completion).is_some_and(|waiters| !waiters.is_one_each()) {
        return None;
    }
    // What hardly runs waits.
    if waiting > facts.most(0.8, 0.7) * active {
        return None;
    }
    // Where CPUs are free, what runs has the CPU time of it: a thread that was not seen in each sample does not.
    let spent = facts.mover().map_or(running, |program| program.cpus);
    if full(facts).is_none() && spent < facts.least(0.5, 0.35) * running {
        return None;
    }
    let part = 100.0 * waiting / active;
    let is_for_pages = match facts.mover() {
        Some(mover) => facts.is_for_pages(mover),
        None => waits::is_for(facts.inputs.activity.threads.as_ref()?, command, Wait::PageCache),
    };
    let io = if is_for_pages { "pages of the page cache" } else { "I/O" };
    let kind = facts.mover().map_or("threads", |program| program.kind_of(active));
    if are_busy_too(facts) {
        return Some(format!(
            "{name} waits for {io} {part:.0} % of the time and runs or waits for a CPU the rest; CPUs are busy too"
        ));
    }
    // Some CPUs may be busy, others are not.
    let delayed = OwnTime::of(facts).map_or(0.0, |own| own.delayed);
    if delayed >= facts.least_for("% and for a CPU", 0.1, 0.07) * active {
        let cpu = 100.0 * delayed / active;
        let (verb, who, limit) = if active < 1.5 {
            ("waits", name.to_owned(), limit_of_one(facts, command, waiting))
        } else {
            ("wait", format!("{active:.0} {kind} of {name}"), format!(": the number of {kind} is the limit"))
        };
        let words = format!("{who} {verb} for {io} {part:.0} % and for a CPU {cpu:.0} % of the time");
        if full_cpus(facts).is_empty() {
            return Some(format!("{words}{limit}"));
        }
        let (cpus, are) = busy_cpus(facts)?;
        return Some(format!("{words}; {cpus} {are} busy"));
    }
    Some(if active < 1.5 {
        let limit = limit_of_one(facts, command, waiting);
        format!("{name} waits for {io} {part:.0} % of the time and runs the rest{limit}")
    } else {
        format!(
            "{active:.0} {kind} of {name} wait for {io} {part:.0} % of the time and run the rest: the number of \
             {kind} is the limit"
        )
    })
}

/// What limits a thread that waits for I/O and runs by turns: with one I/O in flight the drive's latency, which is `waiting` of the
/// time, and its own CPU time, where that is longer; else the thread where it runs most of the time, or what it waits for.
fn limit_of_one(facts: &Facts<'_>, command: &str, waiting: f64) -> String {
    const ITSELF: &str = ": its one thread is the limit";
    const ONE: &str = ", with one I/O in flight at a time";
    let threads = facts.inputs.activity.threads.as_ref();
    let is_for = |wait| threads.is_some_and(|threads| waits::is_for(threads, command, wait));
    // What is read is waited for, the file system's own blocks too; a page that is written goes later.
    let is_read = facts.mover().is_some_and(|mover| mover.read > mover.written);
    let waits_for_it = is_for(Wait::Completion) || is_read && !is_for(Wait::Throttle);
    let depth = facts.least_for(ONE, 1.5, 2.5);
    let drive = facts.deepest.filter(|(_, disk)| waits_for_it && disk.queue_depth < depth);
    let cpus = facts.mover().map_or(1.0 - waiting, |program| program.cpus);
    if let Some((name, disk)) = drive.filter(|_| cpus < facts.least_for(ONE, 0.85, 0.9)) {
        let latency = format!("the latency of {}{}", name.as_str(), of_an_io(disk));
        let both = "its CPU time and ";
        return if cpus > facts.least_for(both, 1.1, 0.9) * waiting {
            format!("{ONE}: {both}{latency} are the limit")
        } else {
            format!("{ONE}: {latency} is the limit")
        };
    }
    // More than half of a CPU: it would be faster on a faster CPU rather than on a faster drive.
    if cpus >= facts.least_for(ITSELF, 0.5, 0.4) {
        return ITSELF.to_owned();
    }
    if is_for(Wait::Completion) && facts.served.is_empty() {
        return format!(": {OF_A_CALL}");
    }
    if facts.mover().is_some_and(|mover| facts.is_for_pages(mover)) {
        return format!(": {FOR_PAGES}");
    }
    if is_for(Wait::Writeback) {
        return format!(": {FOR_WRITEBACK}");
    }
    format!(": {}", facts.drives_are_the_limit())
}

pub(super) fn threads(facts: &Facts<'_>) -> Option<String> {
    let Inputs { rates, activity, test, .. } = *facts.inputs;
    let threads = activity.threads.as_ref().filter(|_| facts.is_moving() && !facts.is_cached())?;
    if let Some(words) = facts.one_thread_without_waits() {
        return Some(words);
    }
    // A thread found running a few times is no proof that it keeps a CPU busy; the process's CPU time is.
    let (name, who, command, spent, moved, through) = if test.is_some() {
        ("Workers".to_owned(), String::new(), waits::WORKERS, f64::INFINITY, facts.read + facts.written, "")
    } else {
        let command = facts.mover.as_ref()?;
        let first = facts.programs.iter().find(|program| program.command == *command)?;
        // Of short ones that wait too, the CPU time may be that of both ends of a pipe.
        if first.is_short() && facts.io_waits() >= facts.most(0.1, 0.2) {
            return None;
        }
        (2.0 * first.moved() >= facts.read + facts.written).then(|| {
            (
                format!("Threads of {}", first.name),
                first.name.clone(),
                first.command.as_str(),
                first.cpus,
                first.passed(),
                facts.through_cache(first),
            )
        })?
    };
    let (running, active) = waits::running(threads, command);
    let full = full_cpus(facts).len() as f64;
    let least = facts.least(0.9, 0.75);
    // Between short processes there is none for moments.
    let is_busy = running >= least - 0.15
        && running >= least * active
        && spent >= facts.least(0.85, 0.7) * running.round();
    // One thread that moves from CPU to CPU fills none of them.
    let is_one = test.is_none()
        && running.round() < 2.0
        && running >= facts.least(0.8, 0.7) * active.max(0.9)
        && spent >= facts.least(0.82, 0.7);
    (is_one || is_busy && full >= running.round()).then(|| match running.round() {
        one if one < 2.0 => {
            let who = if test.is_some() { "The only worker" } else { &who };
            facts.busy_for(who, moved, through)
        }
        // More threads would not help.
        _ if full >= rates.cpus.len() as f64 => {
            format!("{name} keep all {} CPUs busy and hardly wait: the CPUs are the limit", rates.cpus.len())
        }
        many => format!(
            "{name} keep {many:.0} of {} CPUs busy and hardly wait: the number of threads is the limit",
            rates.cpus.len()
        ),
    })
}
