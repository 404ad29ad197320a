//! Rules about CPUs: interrupts, steal, other programs, all busy.

use std::collections::BTreeMap;

use super::{
    Activity, Facts, LITTLE,
    programs::{Program, child_of, name_of, runs_of},
    tables::{self, Split},
    waits,
};
use crate::{counters::activity::ProcessRates, text::starred_name};

pub(super) fn interrupts(facts: &Facts<'_>) -> Option<String> {
    let most = facts.least(80.0, 65.0);
    let rates = facts.inputs.rates;
    let all = rates.cpus.iter().map(|(cpu, shares)| (cpu, Split::from(*shares)));
    let (cpu, split) = all.max_by(|(_, a), (_, b)| a.interrupts().total_cmp(&b.interrupts()))?;
    let word = if split.softirq > split.irq { "softirq" } else { "irq" };
    (split.interrupts() >= most)
        .then(|| format!("CPU {cpu} spends {:.0} % in {word}: interrupts are the limit", split.interrupts()))
}

pub(super) fn steal(facts: &Facts<'_>) -> Option<String> {
    let all = facts.all()?;
    (all.steal >= facts.least(20.0, 12.0) && all.idle < facts.most(10.0, 20.0)).then(|| {
        format!("The hypervisor takes {:.0} % of CPU time (steal): its host is the limit", all.steal)
    })
}

/// Percent of CPU time that is left where CPUs that were busy still are.
const STILL_LEFT: f64 = 12.0;
/// Most characters of a sentence that names the second load.
const ROOM: usize = 150;

/// Behind what waits for I/O.
const BUSY: &str = "; CPUs are busy too";

/// Whether hardly any CPU time is left; where the shown sentence has that, a little more.
pub(super) fn are_busy_too(facts: &Facts<'_>) -> bool {
    full_below(facts, facts.least_for(BUSY, tables::LEFT, STILL_LEFT)).is_some()
}

/// What waits for I/O, with the CPUs as a second fact where they are busy, or else the second load.
pub(super) fn beside(facts: &Facts<'_>, words: String) -> String {
    if are_busy_too(facts) {
        return format!("{words}{BUSY}");
    }
    let both = facts.second().map(|second| format!("{words}; {second} beside it"));
    both.filter(|both| both.len() <= ROOM).unwrap_or(words)
}

/// All CPUs together where hardly any time is left while drives move data, and `Both CPUs are`.
pub(super) fn full(facts: &Facts<'_>) -> Option<(Split, String)> {
    full_below(facts, facts.most(tables::LEFT, STILL_LEFT))
}

fn full_below(facts: &Facts<'_>, left: f64) -> Option<(Split, String)> {
    let all = facts.all().filter(|all| facts.left(*all) < left && facts.is_moving())?;
    Some((all, cpus_are(facts)))
}

/// `Both CPUs are`.
fn cpus_are(facts: &Facts<'_>) -> String {
    match facts.inputs.rates.cpus.len() {
        0 => "All CPUs are".to_owned(),
        1 => "The only CPU is".to_owned(),
        2 => "Both CPUs are".to_owned(),
        cpus => format!("All {cpus} CPUs are"),
    }
}

/// CPUs that are busy with programs without I/O, beside drives that do next to nothing: neither keeps the other from anything.
pub(super) fn little_io(facts: &Facts<'_>) -> Option<String> {
    let moved = facts.read + facts.written;
    let left = facts.most(tables::LEFT, STILL_LEFT);
    // Nice programs do not leave this time to others that hardly want any.
    let all = facts.all().filter(|all| all.idle + all.iowait < left)?;
    // One that syncs waits for its drive, however little it writes.
    if facts.inputs.test.is_some() || !facts.is_trickle() || facts.waits_for_syncs().is_some() {
        return None;
    }
    let commands = others(facts, all, facts.least(0.5, 0.35)).filter(|_| !facts.is_cached())?;
    let verb = if facts.named.borrow().len() > 1 { "read or write" } else { "reads or writes" };
    let rate = if moved >= LITTLE { format!(" ({})", facts.rate(moved)) } else { String::new() };
    Some(format!(
        "{} busy, most of the time with {commands}, which hardly {verb}; drives do little{rate} and are no limit",
        cpus_are(facts)
    ))
}

/// Whether what moves most does not wait for a CPU: it waits for something else, or has one.
fn is_slowed_elsewhere(facts: &Facts<'_>) -> bool {
    facts.mover_waits() || facts.mover_has_cpus() || facts.waits_for_syncs().is_some()
}

pub(super) fn other_programs(facts: &Facts<'_>) -> Option<String> {
    let (all, which) = full(facts).filter(|_| !facts.is_cached())?;
    let commands = others(facts, all, facts.least(0.5, 0.35))?;
    // Busy CPUs do not slow down what waits for something else, what keeps to its own rate, or a thread that has a CPU.
    let is_slowed = is_slowed_elsewhere(facts) || facts.sleeps_alone().is_some();
    (!is_slowed && !facts.one_thread_is_full()).then(|| {
        let drive = facts.deepest.filter(|(_, disk)| disk.utilisation >= 80.0);
        let limit = match drive {
            Some((name, disk)) => format!(
                "; {} has I/O in flight {:.0} % of the time: one of the two is the limit",
                name.as_str(),
                disk.utilisation
            ),
            None => ": other programs are the limit".to_owned(),
        };
        format!("{which} busy, most of the time with {commands}{limit}")
    })
}

pub(super) fn all_cpus(facts: &Facts<'_>) -> Option<String> {
    let (all, which) = full(facts).filter(|_| !facts.is_cached())?;
    if facts.one_in_flight().is_some() || facts.sleeps_alone().is_some() {
        return None;
    }
    // Neither the program that waits nor the kernel, which may work for it, uses most of the time.
    let busy = all.busy() / 100.0 * facts.inputs.rates.cpus.len() as f64;
    if is_slowed_elsewhere(facts) && strangers(facts) > 0.5 * busy {
        return None;
    }
    // More CPUs would not help a thread that has one.
    let is_one_thread = facts.one_thread_is_full() || facts.one_thread_without_waits().is_some();
    if is_one_thread && facts.inputs.rates.cpus.len() > 1 {
        return None;
    }
    Some(format!("{which} busy ({}): the CPUs are the limit", shares(all)))
}

/// CPUs that programs other than the one that moves most keep busy.
fn strangers(facts: &Facts<'_>) -> f64 {
    let is_other = |program: &&Program| {
        Some(&program.command) != facts.mover.as_ref() && !is_kernel(facts, &program.command)
    };
    facts.programs.iter().filter(is_other).map(|program| program.cpus).sum()
}

/// The kernel's threads have no I/O of their own, but encrypt, reclaim and write back for others.
fn is_kernel(facts: &Facts<'_>, command: &str) -> bool {
    waits::is_kernel(facts.inputs.activity.threads.as_ref(), command)
}

/// Programs that hardly read or write, where they use more than this part of what is busy.
pub(super) fn others(facts: &Facts<'_>, all: Split, part: f64) -> Option<String> {
    /// Bytes per second of CPU time: gzip reads more, a compiler less.
    const LEAST: f64 = 5e6;
    busiest(facts, all, part, |process| {
        let bytes = process.read_bytes.zip(process.written_bytes);
        let called = process.called_read.unwrap_or(0.0) + process.called_write.unwrap_or(0.0);
        bytes.is_some_and(|(read, written)| (read + written).max(called) < LEAST * process.cpus)
    })
}

/// Programs that count, where they use more than this part of what is busy.
pub(super) fn busiest(
    facts: &Facts<'_>,
    all: Split,
    part: f64,
    counts: impl Fn(&ProcessRates) -> bool,
) -> Option<String> {
    let yielded = if facts.is_moving() { facts.yielded(all) } else { 0.0 };
    let busy = (all.busy() - yielded) / 100.0 * facts.inputs.rates.cpus.len() as f64;
    let Activity { processes, .. } = facts.inputs.activity;
    let mut sums: BTreeMap<String, (String, f64)> = BTreeMap::new();
    for process in processes.as_ref()? {
        let command = starred_name(process.command.as_str());
        // Nice programs leave the CPU to others, unless these are nice too.
        let yields = process.is_nice && yielded > 0.0;
        if counts(process) && !yields && !is_kernel(facts, &command) {
            let own = name_of(process, facts.inputs.own);
            let command = if own.is_another { own.name.clone() } else { command };
            let is_child = child_of(&command).is_some();
            let shown = if is_child { runs_of(&own.name) } else { own.name };
            let (name, cpus) = sums.entry(command.clone()).or_insert_with(|| (shown.clone(), 0.0));
            // Numbered ones share a name; cc1 keeps its own.
            if *name != shown {
                *name = command;
            }
            *cpus += process.cpus;
        }
    }
    let sum: f64 = sums.values().map(|(_, cpus)| cpus).sum();
    (sum > part * busy).then_some(())?;
    let names = still_named(&sums, facts.inputs.named, sum).or_else(|| most_of(&sums, sum, part * busy))?;
    let words = match &names[..] {
        [names @ .., OTHERS] => format!("{} and {OTHERS}", names.join(", ")),
        names => names.join(" and "),
    };
    facts.named.replace(names.into_iter().map(str::to_owned).collect());
    Some(words)
}

/// Programs by command: how each is named, and the CPUs that it keeps busy.
type Sums = BTreeMap<String, (String, f64)>;

/// The last of several names.
const OTHERS: &str = "others";

/// Whether `others` stand beside named programs that use so much of all, where they did or did not before.
fn has_others(named: f64, sum: f64, had: bool) -> bool {
    named < if had { 0.97 } else { 0.8 } * sum
}

/// The programs that were named before, while they use at least half of the time: another one is in front at each look.
fn still_named<'a>(sums: &'a Sums, before: &[String], sum: f64) -> Option<Vec<&'a str>> {
    let names: Vec<&String> = before.iter().filter(|name| *name != OTHERS).collect();
    let found: Vec<(&str, f64)> = { names.iter() }
        .filter_map(|name| {
            let known = sums.get(*name).or_else(|| sums.get(&starred_name(name)))?;
            Some((known.0.as_str(), known.1))
        })
        .collect();
    let used: f64 = found.iter().map(|(_, cpus)| cpus).sum();
    let is_each = found.iter().all(|(_, cpus)| *cpus >= 0.1 * sum);
    if names.is_empty() || found.len() < names.len() || !is_each || used < 0.5 * sum {
        return None;
    }
    let others = has_others(used, sum, names.len() < before.len());
    Some(found.into_iter().map(|(name, _)| name).chain(others.then_some(OTHERS)).collect())
}

/// The one or two programs that use most.
fn most_of(sums: &Sums, sum: f64, part: f64) -> Option<Vec<&str>> {
    let mut most: Vec<(&str, f64)> = sums.values().map(|(name, cpus)| (name.as_str(), *cpus)).collect();
    most.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let (first, cpus) = *most.first()?;
    // It alone is what is asked for, whatever little others use.
    if cpus > part || cpus >= 0.9 * sum {
        return Some(vec![first]);
    }
    // By name they keep their order.
    let count = if cpus > 0.5 * sum { 1 } else { 2 };
    let mut names: Vec<&str> = most.iter().take(count).map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.extend((most.len() > count).then_some(OTHERS));
    Some(names)
}

/// `usr 20 %, sys 71 %`: the three kinds of most work, in mpstat's order, which stays while figures change.
pub(super) fn shares(split: Split) -> String {
    let mut kinds: Vec<(&str, f64)> =
        tables::KINDS.iter().map(|(_, name)| *name).zip(split.parts()).collect();
    kinds.retain(|(name, share)| *share >= 1.0 && !["idle", "iowait"].contains(name));
    let mut shares: Vec<f64> = kinds.iter().map(|(_, share)| *share).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    let least = shares.get(2).copied().unwrap_or_default();
    kinds.retain(|(_, share)| *share >= least);
    let words: Vec<String> =
        kinds.iter().take(3).map(|(name, share)| format!("{name} {share:.0} %")).collect();
    words.join(", ")
}
