//! Rules about the time of the program that moves most, by its CPU time and its waits for a CPU: samples of threads find one that waits
//! for a CPU running, and one that has just waited for I/O as well.

use super::{
    Facts, Inputs,
    busy::{self, full},
    programs::OwnTime,
    tables::{self, Split},
    waits,
};
use crate::{counters::SideRates, units::Micros};

impl Facts<'_> {
    /// Flushes of the drive that completes most of them, where they come with writes.
    pub(super) fn flushing(&self) -> Option<SideRates> {
        let Inputs { machine, rates, .. } = self.inputs;
        let disks = machine.summed_drives().filter_map(|drive| rates.disks.get(&drive.name));
        let disk = disks.max_by(|a, b| a.flushes.ios.total_cmp(&b.flushes.ios))?;
        let least = self.least(20.0, 10.0).max(self.least(0.05, 0.03) * disk.writes);
        (disk.flushes.ios >= least).then_some(disk.flushes)
    }
}

/// Threads that wait for a CPU longer than for I/O.
pub(super) fn cpu_waits(facts: &Facts<'_>) -> Option<String> {
    let OwnTime { program, active, delayed, waiting } =
        OwnTime::of(facts).filter(|_| facts.is_moving() && !facts.is_cached())?;
    let least = facts.least(0.3, 0.2);
    // A compiler beside a reader of another user is not what drives are busy for.
    if 2.0 * program.moved() < facts.read + facts.written {
        return None;
    }
    if delayed < least || delayed < least * active || delayed < waiting * facts.most(1.0, 0.8) {
        return None;
    }
    let part = 100.0 * delayed / active;
    let who = if active < 1.5 {
        format!("{} waits", program.name)
    } else {
        format!("{active:.0} threads of {} wait", program.command)
    };
    let with = facts.all().and_then(|all| busy::others(facts, all, facts.least(0.5, 0.35)));
    let with = with.filter(|with| !with.contains(&program.name));
    let with = with.map_or_else(String::new, |with| format!(", most of the time busy with {with}"));
    Some(format!("{who} for a CPU {part:.0} % of the time: {}{with}", busy_cpus(facts)))
}

/// `both CPUs are the limit`, `CPU 3 is the limit`.
fn busy_cpus(facts: &Facts<'_>) -> String {
    let cpus = &facts.inputs.rates.cpus;
    let full: Vec<u32> = cpus
        .iter()
        .filter(|(_, shares)| Split::from(**shares).busy() >= tables::BUSY)
        .map(|(cpu, _)| *cpu)
        .collect();
    match (&full[..], cpus.len()) {
        (_, 1) => "the only CPU is the limit".to_owned(),
        (all, 2) if all.len() == 2 => "both CPUs are the limit".to_owned(),
        (all, cpus) if all.len() == cpus => format!("all {cpus} CPUs are the limit"),
        ([], _) => "the CPUs that it may use are the limit".to_owned(),
        ([cpu], _) => format!("CPU {cpu} is the limit"),
        ([first, second], _) => format!("CPUs {first} and {second} are the limit"),
        (several, cpus) => format!("{} of {cpus} CPUs are the limit", several.len()),
    }
}

/// A program that sleeps most of the time, although no drive has its I/Os in flight.
pub(super) fn own_waits(facts: &Facts<'_>) -> Option<String> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    let is_much = 2.0 * program.moved() >= facts.read + facts.written;
    let threads = facts.inputs.activity.threads.as_ref().filter(|_| is_much && !facts.is_cached())?;
    if program.is_in_others(threads) {
        return None;
    }
    let (_, sampled) = waits::running(threads, &program.command);
    // One that has just begun is not in all samples: what is seen of it may be the parent, which waits for the job.
    let active = sampled.max(program.cpus + program.delayed()?);
    let least = facts.most(0.5, 0.65);
    let is_busy = |(_, disk): (_, &crate::counters::DiskRates)| disk.queue_depth >= facts.most(0.35, 0.5);
    if active >= least || facts.deepest.is_some_and(is_busy) {
        return None;
    }
    let call = waits::sleeping(threads, &program.command)?;
    let itself = if call.ends_with("nanosleep") { " by itself" } else { "" };
    Some(format!(
        "{} waits{itself} in {call} most of the time: neither drives nor CPUs are its limit",
        program.name
    ))
}

/// A program that waits for the end of its syncs.
pub(super) fn flushes(facts: &Facts<'_>) -> Option<String> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    let threads = facts.inputs.activity.threads.as_ref()?;
    let (running, active) = waits::running(threads, &program.command);
    let waiting = facts.waiting_share(&program.command).map_or(active - running, |share| active * share);
    let part = if full(facts).is_some() { facts.least(0.3, 0.2) } else { facts.least(0.5, 0.35) };
    if waiting < part || waiting < part * active {
        return None;
    }
    let flushing = facts.flushing();
    let syncs = waits::syncing(threads, &program.command, flushing.is_some())?;
    if syncs.waiting < 0.5 * (active - running) {
        return None;
    }
    let flushes = flushing.map_or_else(String::new, |flushes| {
        let each = flushes.await_ms.filter(|ms| *ms > 0.0);
        let each = each.map_or_else(String::new, |ms| format!(", {} each", Micros(1e3 * ms)));
        format!(" with {:.0} flushes/s{each}", flushes.ios)
    });
    let words = format!(
        "{} waits in {}{flushes}: syncs are the limit (fsync, O_SYNC or O_DSYNC)",
        program.name, syncs.wchan
    );
    Some(busy::beside(facts, words))
}
