//! Rules about the time of the program that moves most, by its CPU time and its waits for a CPU: samples of threads find one that waits
//! for a CPU running, and one that has just waited for I/O as well.

use super::{
    Facts, Inputs,
    busy::{self, full},
    by_drives::{FLUSHES, short_syncers},
    programs::{OwnTime, Program},
    tables::{self, Split},
    waits,
};
use crate::{
    counters::{CpuShares, DiskRates, SideRates, activity::ThreadActivity},
    model::DriveName,
    units::Micros,
};

/// The part of the time in which a drive has I/O in flight that a program may wait for, although it sleeps; and to which it stays.
const BUSY: f64 = 0.7;
const STILL_FREE: f64 = 0.8;
/// I/Os in flight from which a drive may be what a thread waits for that samples do not find waiting.
const DEEP: f64 = 0.35;

/// Whether samples know most threads of all processes that do a program's I/O. Beside jobs that began meanwhile, what sleeps is their
/// parent.
fn are_seen(program: &Program, threads: &ThreadActivity) -> bool {
    program.movers <= 1 || waits::all(threads, &program.command) >= 0.8 * program.movers as f64
}

impl Facts<'_> {
    /// The call in which the program that moves most does nothing but sleep, and the share of its time: more CPUs would not make it
    /// faster.
    pub(super) fn sleeps_alone(&self) -> Option<(&'static str, f64)> {
        let OwnTime { program, active, .. } = OwnTime::of(self)?;
        let threads = self.inputs.activity.threads.as_ref()?;
        let working = program.movers.max(1) as f64;
        let (call, slept) = waits::slept_alone(threads, &program.command, working);
        let share = slept.min(working - active) / working;
        (share >= self.least_for("nanosleep", 0.1, 0.06)).then_some((call, share))
    }

    /// The same where that tells that it keeps to a rate of its own: samples know its threads, and no drive is busy, which it may wait
    /// for.
    pub(super) fn keeps_a_rate(&self) -> Option<(&'static str, f64)> {
        let program = self.mover()?;
        let threads = self.inputs.activity.threads.as_ref()?;
        let are_seen = waits::may_have_io(threads, &program.command) && are_seen(program, threads);
        let is_most = 2.0 * program.moved() >= self.read + self.written;
        let is_free = self.deepest.is_none_or(|(_, disk)| {
            let most = self.least_for("nanosleep", BUSY, STILL_FREE);
            // What samples did not find waiting at all has hardly been seen.
            let is_found = || waits::is_found(threads, &program.command);
            disk.utilisation < 100.0 * most && (disk.queue_depth < DEEP || is_found())
        });
        self.sleeps_alone().filter(|_| are_seen && is_free && is_most && self.is_moving())
    }

    /// Whether a process of the program may run on that CPU alone.
    fn is_pinned(&self, program: &Program, cpu: u32) -> bool {
        let only = |pid: &u32| self.inputs.activity.limits.get(pid)?.only_cpu;
        program.pids.iter().any(|pid| only(pid) == Some(cpu))
    }

    /// The drive that completes most flushes.
    pub(super) fn most_flushed(&self) -> Option<&DiskRates> {
        let Inputs { machine, rates, .. } = self.inputs;
        let disks = machine.summed_drives().filter_map(|drive| rates.disks.get(&drive.name));
        disks.max_by(|a, b| a.flushes.ios.total_cmp(&b.flushes.ios))
    }

    /// Its flushes, where they come with writes.
    pub(super) fn flushing(&self) -> Option<SideRates> {
        let disk = self.most_flushed()?;
        let least = self.least(20.0, 10.0).max(self.least(0.05, 0.03) * disk.writes);
        (disk.flushes.ios >= least).then_some(disk.flushes)
    }

    /// The same where they are this program's, as far as that is known: counters do not tell whose flushes they are.
    pub(super) fn flushing_of(&self, program: &Program) -> Option<SideRates> {
        let may_be_its = |flushes: &SideRates| {
            !self.others_sync(&program.command) && !self.others_may_flush(program, flushes.ios)
        };
        self.flushing().filter(may_be_its)
    }

    /// Whether another program writes enough for half of so many flushes, where this one's short processes are not found in syncs.
    pub(super) fn others_may_flush(&self, program: &Program, flushes: f64) -> bool {
        /// Bytes that a flush is for: one page at least.
        const PAGE: f64 = 4096.0;
        let threads = self.inputs.activity.threads.as_ref();
        let is_found = threads.is_some_and(|threads| waits::is_in_syncs(threads, &program.command));
        let least = self.least_for(FLUSHES, 0.5, 1.0) * PAGE * flushes;
        let may_flush = |other: &Program| {
            other.command != program.command
                && other.lives_and_writes(least)
                && !waits::is_kernel(threads, &other.command)
        };
        program.is_short() && !is_found && self.programs.iter().any(may_flush)
    }

    /// Whether samples find other programs than this one in syncs.
    pub(super) fn others_sync(&self, command: &str) -> bool {
        /// Mean number of such threads: a log that syncs once a second is in fewer samples.
        const LEAST: f64 = 0.05;
        /// That which takes the flushes of the shown sentence from its program: one sample may find a log.
        const STILL: f64 = 0.2;
        let least = self.least_for(FLUSHES, LEAST, STILL);
        let threads = self.inputs.activity.threads.as_ref();
        // Threads of other names may be its own.
        let is_other =
            |name: &str| name != command && self.programs.iter().any(|program| program.command == name);
        threads.is_some_and(|threads| waits::in_syncs(threads, is_other) >= least)
    }

    /// The program that writes most, which samples find in syncs or in `close`: a journal and the devices below a file system add to its
    /// bytes, so that drives may write several times as much.
    pub(super) fn syncer(&self) -> Option<&Program> {
        let threads = self.inputs.activity.threads.as_ref().filter(|_| self.inputs.test.is_none())?;
        let own = self.programs.iter().filter(|program| !waits::is_kernel(Some(threads), &program.command));
        let most = own.max_by(|a, b| a.moved().total_cmp(&b.moved()))?;
        let is_writer = most.written > most.read && 4.0 * most.written >= self.written;
        let ends = waits::at_the_end(threads, &most.command);
        let is_said = self.inputs.said.contains(waits::AT_THE_END);
        let is_found = is_said || ends.iter().any(|(command, _)| *command == most.command);
        (is_writer && is_found).then_some(most)
    }

    /// A program that waits for the end of its syncs, without what is busy beside it: several rules ask.
    pub(super) fn waits_for_syncs(&self) -> Option<&str> {
        self.syncs.get_or_init(|| self.syncs_in_words()).as_deref()
    }

    fn syncs_in_words(&self) -> Option<String> {
        let program = self.mover().or_else(|| self.syncer());
        let program = program.filter(|_| self.inputs.test.is_none() && self.is_moving())?;
        let threads = self.inputs.activity.threads.as_ref()?;
        let (running, active) = waits::running(threads, &program.command);
        let waiting = self.waiting_share(&program.command).map_or(active - running, |share| active * share);
        let flushing = self.flushing_of(program);
        // Samples seldom find a thread in waits of some microseconds. One that writes with a flush for every few writes waits for these.
        let writes = self.deepest.map_or(0.0, |(_, disk)| disk.writes);
        let often = flushing.is_some_and(|flushes| flushes.ios >= self.least(0.1, 0.07) * writes);
        let is_writer = program.written > program.read && 4.0 * program.written >= self.written;
        // About half of the time it is on its way into these waits or out of them.
        let runs_less = program.cpus < self.most(0.6, 0.75) * active;
        let is_part = full(self).is_some() || often && is_writer && runs_less;
        let part = if is_part { self.least(0.3, 0.2) } else { self.least(0.5, 0.35) };
        if waiting < part || waiting < part * active {
            return None;
        }
        let syncs = waits::syncing(threads, &program.command, flushing.is_some(), self.inputs.said);
        let is_by_flushes = often && is_writer && syncs.others < 0.2 * waiting;
        if syncs.waiting < syncs.others || (syncs.waiting == 0.0 && !is_by_flushes) {
            return None;
        }
        let flushes = flushing.map_or_else(String::new, |flushes| {
            let each = flushes.await_ms.filter(|ms| *ms > 0.0);
            let each = each.map_or_else(String::new, |ms| format!(", {} each", Micros(1e3 * ms)));
            format!(" with {:.0}{FLUSHES}{each}", flushes.ios)
        });
        let part = format!("{:.0} % of the time", 100.0 * waiting / active);
        let waits = syncs.wchan.map_or(part, |wchan| format!("until data is on the drive ({wchan})"));
        Some(format!(
            "{} waits {waits}{flushes}: syncs are the limit (fsync, O_SYNC or O_DSYNC)",
            program.name
        ))
    }
}

/// Threads that wait for a CPU longer than for I/O.
pub(super) fn cpu_waits(facts: &Facts<'_>) -> Option<String> {
    /// Times the wait for a CPU that the one for I/O is the limit where no CPU is always busy.
    const LONGER: f64 = 1.1;
    const STILL_LONGER: f64 = 0.9;
    /// Neither of two waits of about the same length is the limit alone.
    const ALIKE: f64 = 1.3;
    /// Of two that are named; the only one that is stays longer too.
    const STILL_ALIKE: f64 = 1.7;
    const STILL_ALONE: f64 = 1.0;
    let OwnTime { program, active, delayed, waiting } =
        OwnTime::of(facts).filter(|_| facts.is_moving() && !facts.is_cached())?;
    let least = facts.least(0.3, 0.2);
    // A compiler beside a reader of another user is not what drives are busy for.
    if 2.0 * program.moved() < facts.read + facts.written {
        return None;
    }
    if delayed < least || delayed < least * active || delayed * ALIKE <= waiting * facts.most(1.0, 0.8) {
        return None;
    }
    if let Some((call, slept)) = facts.sleeps_alone() {
        let many = program.movers.max(1);
        let (who, at) = all_of(program);
        let [wait, sleeps, limit] = OWN_RATE[at];
        let [waits, slept] = [delayed / many as f64, slept].map(|part| 100.0 * part);
        return Some(format!(
            "{who} {wait} for a CPU {waits:.0} % of the time and {sleeps} ({call}) {slept:.0} %: {limit}"
        ));
    }
    // One thread at least was there all the time.
    let part = |of: f64| 100.0 * of / active.max(1.0);
    let several = format!(" of {} wait", program.name);
    let who = if active < facts.least_for(&several, 1.5, 1.25) {
        format!("{} waits", program.name)
    } else {
        format!("{active:.0} {} of {} wait", program.kind_of(active), program.name)
    };
    let with = facts.least_for("most of the time", 0.5, 0.35);
    let with = facts.all().and_then(|all| busy::others(facts, all, with));
    let with = with.filter(|with| !with.contains(&program.name));
    let cpus = busy_cpus(facts);
    let delayed_part = part(delayed);
    let alike =
        facts.least_for("of the time: ", facts.least_for("% and for ", ALIKE, STILL_ALIKE), STILL_ALONE);
    if delayed < alike * waiting {
        let with = with.map_or_else(String::new, |with| format!(", most of the time with {with}"));
        let is_for_pages = facts.is_for_pages(program);
        // Pages come from a drive: one that is named stays.
        let stays = |name: &DriveName| facts.inputs.said.contains(&format!(" and for {} ", name.as_str()));
        let drive =
            facts.deepest.filter(|(name, disk)| (!is_for_pages || stays(name)) && disk.queue_depth > 0.0);
        let (io, is) = match drive {
            Some((name, _)) => (name.as_str(), "is"),
            None if is_for_pages => ("pages of the page cache", "are"),
            None => ("I/O", "is"),
        };
        let words =
            format!("{who} for a CPU {delayed_part:.0} % and for {io} {:.0} % of the time", part(waiting));
        if let Some((cpus, are)) = cpus {
            return Some(format!("{words}; {cpus} {are} busy{with}"));
        }
        // Many short waits for CPUs that are idle on average: what it waits for longer is the limit.
        let limit = format!(": {io} {is} the limit");
        let longer = facts.least_for(&limit, LONGER, STILL_LONGER);
        return Some(if waiting > longer * delayed { format!("{words}{limit}") } else { words });
    }
    if let Some(cpu) = only_full(facts).filter(|cpu| !facts.is_pinned(program, *cpu)) {
        let only = || {
            format!("{who} for a CPU {delayed_part:.0} % of the time, although only CPU {cpu} is always busy")
        };
        return Some(facts.one_thread_without_waits().unwrap_or_else(only));
    }
    let with = with.map_or_else(String::new, |with| format!(", most of the time busy with {with}"));
    Some(match cpus {
        Some((cpus, are)) => {
            format!("{who} for a CPU {delayed_part:.0} % of the time: {cpus} {are} the limit{with}")
        }
        None => format!("{who} for a CPU {delayed_part:.0} % of the time, although no CPU is always busy"),
    })
}

/// The CPUs that are busy.
pub(super) fn full_cpus(facts: &Facts<'_>) -> Vec<u32> {
    let is_busy = |(_, shares): &(&u32, &CpuShares)| Split::from(**shares).busy() >= tables::BUSY;
    facts.inputs.rates.cpus.iter().filter(is_busy).map(|(cpu, _)| *cpu).collect()
}

/// The one of several CPUs that is busy: it is no limit of what may run on others.
fn only_full(facts: &Facts<'_>) -> Option<u32> {
    let [cpu] = full_cpus(facts)[..] else { return None };
    (facts.inputs.rates.cpus.len() > 1).then_some(cpu)
}

/// `both CPUs` and `are`, `CPU 3` and `is`; `None` where there are idle ones, which a program that waits for a CPU may not use.
pub(super) fn busy_cpus(facts: &Facts<'_>) -> Option<(String, &'static str)> {
    /// Percent of the time of all CPUs: beyond, a thread waits for a CPU that none of them is always busy.
    const MOST: f64 = 60.0;
    let full = full_cpus(facts);
    let are_all_busy = || facts.all().is_some_and(|all| all.busy() >= MOST);
    Some(match (&full[..], facts.inputs.rates.cpus.len()) {
        (_, 1) => ("the only CPU".to_owned(), "is"),
        (all, cpus) if all.len() == cpus || all.is_empty() && are_all_busy() => {
            (if cpus == 2 { "both CPUs".to_owned() } else { format!("all {cpus} CPUs") }, "are")
        }
        ([], _) => return None,
        ([cpu], _) => (format!("CPU {cpu}"), "is"),
        ([first, second], _) => (format!("CPUs {first} and {second}"), "are"),
        (several, cpus) => (format!("{} of {cpus} CPUs", several.len()), "are"),
    })
}

/// A program that sleeps most of the time, although no drive has its I/Os in flight.
pub(super) fn own_waits(facts: &Facts<'_>) -> Option<String> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    let is_much = 2.0 * program.moved() >= facts.read + facts.written;
    let threads = facts.inputs.activity.threads.as_ref().filter(|_| is_much && !facts.is_cached())?;
    // In the first look at a job only its parent is known.
    if program.is_in_others(threads) || !waits::may_have_io(threads, &program.command) {
        return None;
    }
    let (_, sampled) = waits::running(threads, &program.command);
    if !are_seen(program, threads) {
        return None;
    }
    // One that has just begun is not in all samples: what is seen of it may be the parent, which waits for the job.
    let active = sampled.max(program.cpus + program.delayed()?);
    let least = facts.most(0.5, 0.65);
    let is_busy = |(_, disk): (_, &DiskRates)| disk.queue_depth >= facts.most(DEEP, 0.5);
    // In means of looks before it began there is a part of it only.
    let seen = waits::all(threads, &program.command).min(1.0);
    let is_most = active < least * seen && !facts.deepest.is_some_and(is_busy);
    let (call, words) = waits::sleeping(threads, &program.command)?;
    let is_sleep = waits::is_sleep(&program.command, call);
    let slept = if is_most { Some(("most".to_owned(), true)) } else { slept_by_choice(facts, is_sleep) };
    let Some((part, is_longest)) = slept else { return own_rate(facts) };
    let (who, at) = if is_sleep { all_of(program) } else { (program.name.clone(), 0) };
    let [_, sleeps, limit] = OWN_RATE[at];
    let words = if is_sleep { sleeps } else { words };
    let limit = if is_longest { NO_OTHER[at] } else { limit };
    Some(format!("{who} {words} ({call}) {part} of the time: {limit}"))
}

/// Words of what limits its own rate, of one process and of several.
const OWN_RATE: [[&str; 3]; 2] = [
    ["waits", "sleeps by itself", "it limits its own rate"],
    ["wait", "sleep by themselves", "they limit their own rates"],
];
const NO_OTHER: [&str; 2] =
    ["neither drives nor CPUs are its limit", "neither drives nor CPUs are their limit"];

/// `fio`, `3 processes of fio`, and which words of [`OWN_RATE`] follow.
fn all_of(program: &Program) -> (String, usize) {
    match program.movers {
        0 | 1 => (program.name.clone(), 0),
        _ if program.name == waits::OTHER_RUNS => (program.name.clone(), 1),
        many => (format!("{many} processes of {}", program.name), 1),
    }
}

/// A program that keeps to a rate of its own, although it sleeps for less time than it waits.
fn own_rate(facts: &Facts<'_>) -> Option<String> {
    let (call, slept) = facts.keeps_a_rate()?;
    let program = facts.mover()?;
    let many = program.movers.max(1);
    // One of several may be the only one that sleeps.
    let is_each = many == 1 || slept >= facts.least_for("nanosleep", 0.2, 0.14);
    if !is_each || facts.waits_for_syncs().is_some() || cpu_waits(facts).is_some() {
        return None;
    }
    let (who, at) = all_of(program);
    let [_, sleeps, limit] = OWN_RATE[at];
    Some(format!("{who} {sleeps} ({call}) {:.0} % of the time: {limit}", 100.0 * slept))
}

/// `27 %`, where the threads that do a program's I/O sleep for times that they chose, and whether that is at least as long as they wait
/// for I/O or for a CPU. Such as do nothing but sleep (`is_sleep`) keep to a rate, also if they wait longer for I/O in between.
fn slept_by_choice(facts: &Facts<'_>, is_sleep: bool) -> Option<(String, bool)> {
    let OwnTime { program, delayed, .. } = OwnTime::of(facts)?;
    let threads = facts.inputs.activity.threads.as_ref()?;
    let (running, active) = waits::running(threads, &program.command);
    let working = program.movers.max(1) as f64;
    // What samples did not find waiting at all has hardly been seen.
    let waiting = Some(active - running).filter(|waiting| *waiting >= 0.05 * working)?;
    let sampled = waits::slept(threads, &program.command, working);
    // Samples often find a thread running that sleeps for less than a millisecond. Without I/O in flight it does not wait for any.
    let in_flight = facts.deepest.map_or(0.0, |(_, disk)| disk.utilisation / 100.0);
    // A busy drive that threads wait for is not what sleeps keep idle.
    if in_flight >= facts.most(BUSY, STILL_FREE) {
        return None;
    }
    let rest = 1.0 - program.cpus - delayed - in_flight;
    let is_seen = program.movers == 1 && sampled >= facts.least(0.05, 0.03);
    let slept = sampled.min(working - active).max(if is_seen { rest } else { 0.0 });
    let is_long = slept >= facts.least(0.2, 0.14) * working;
    let others = waiting.max(delayed);
    let least = if is_sleep { facts.least(0.25, 0.15) } else { facts.least(1.0, 0.7) };
    let is_longest = slept >= facts.least_for("neither drives", 1.0, 0.7) * others;
    (is_long && slept >= least * others).then(|| (format!("{:.0} %", 100.0 * slept / working), is_longest))
}

/// A program that waits for the end of its syncs. Of short processes that write much the drives' counters tell more.
pub(super) fn flushes(facts: &Facts<'_>) -> Option<String> {
    let words = facts.waits_for_syncs().filter(|_| short_syncers(facts).is_none());
    words.map(|words| busy::beside(facts, words.to_owned()))
}
