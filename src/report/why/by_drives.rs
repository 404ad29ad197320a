//! What the counters of drives tell alone: of processes that end before samples find their waits, and of devices that memory serves.

use std::collections::BTreeSet;

use super::{
    Facts, Inputs,
    busy::full,
    programs::{Program, child_of, runs_of},
    tables::Split,
    waits::{self, Wait},
};
use crate::{
    counters::DiskRates,
    machine::Drive,
    model::DriveName,
    text::{Label, starred_name},
    units::Micros,
};

/// A device on drives that moves this many times the bytes of all drives is in memory or in the page cache: RAID 6 reads less than that.
const SERVED_FROM_MEMORY: f64 = 4.0;

/// What drives complete for syncs.
pub(super) const FLUSHES: &str = " flushes/s";

/// The limit of one call at a time that the kernel splits.
pub(super) const OF_A_CALL: &str = "the drives, their links or the latency of a call are the limit";

/// Devices on drives that memory serves, those that move most first; empty where drives do the I/O.
pub(super) fn served_by_memory<'a>(inputs: &Inputs<'a>) -> Vec<&'a DriveName> {
    let Inputs { machine, rates, .. } = *inputs;
    let moved =
        |drive: &Drive| rates.disks.get(&drive.name).map_or(0.0, |disk| disk.read_bytes + disk.written_bytes);
    let (above, below): (Vec<&Drive>, Vec<&Drive>) =
        machine.drives.iter().partition(|drive| drive.is_on_drives());
    let most = above.iter().map(|drive| moved(drive)).fold(0.0, f64::max);
    if most <= SERVED_FROM_MEMORY * below.iter().map(|drive| moved(drive)).sum::<f64>() {
        return Vec::new();
    }
    let mut served: Vec<&Drive> = above.into_iter().filter(|drive| 4.0 * moved(drive) >= most).collect();
    served.sort_by(|a, b| moved(b).total_cmp(&moved(a)));
    served.into_iter().map(|drive| &drive.name).collect()
}

impl Facts<'_> {
    /// `Drives read 1.20 GB/s and write 0.30 GB/s`, of what moves; of what memory serves the device is named: `loop0 reads 0.15 GB/s
    /// from memory`.
    pub(super) fn moves(&self) -> String {
        const LEAST: f64 = 1e5;
        let rates = [self.rate(self.read), self.rate(self.written)];
        let [reads, writes] = if self.served.len() == 1 { ["reads", "writes"] } else { ["read", "write"] };
        let [read, written] = rates;
        let (moves, place) = match (self.read >= LEAST, self.written >= LEAST) {
            (true, false) => (format!("{reads} {read}"), "from"),
            (false, true) => (format!("{writes} {written}"), "to"),
            _ => (format!("{reads} {read} and {writes} {written}"), "in"),
        };
        match self.served_names() {
            Some(names) => format!("{names} {moves} {place} memory (page cache)"),
            None => format!("Drives {moves}"),
        }
    }

    /// `loop0`, `loop0 and loop1`, `loop0 and 2 others`: devices that memory serves.
    fn served_names(&self) -> Option<String> {
        Some(match &self.served[..] {
            [] => return None,
            [one] => one.as_str().to_owned(),
            [one, two] => format!("{} and {}", one.as_str(), two.as_str()),
            [one, others @ ..] => format!("{} and {} others", one.as_str(), others.len()),
        })
    }

    /// `the drives or their links are the limit`, of I/Os that are in flight there.
    pub(super) fn drives_are_the_limit(&self) -> String {
        match self.served_names() {
            Some(names) if self.served.len() > 1 => {
                format!("{names}, whose data is in memory, are the limit")
            }
            Some(name) => format!("{name}, whose data is in memory, is the limit"),
            None => "the drives or their links are the limit".to_owned(),
        }
    }

    /// The program whose short processes do much of what drives do. A journal's writes for them are not theirs.
    fn short_runs(&self) -> Option<&Program> {
        self.much_moved().filter(|program| program.is_short())
    }

    /// The program that moves most, where it does much of what drives do.
    fn much_moved(&self) -> Option<&Program> {
        let program = self.mover().filter(|_| self.inputs.test.is_none())?;
        (4.0 * program.moved() >= self.read + self.written).then_some(program)
    }

    /// Numbers of the processes that short ones of a program are children of.
    fn parents(&self, program: &Program) -> impl Iterator<Item = u32> {
        let processes = self.inputs.activity.processes.iter().flatten();
        let ended =
            processes.filter(|one| one.has_ended && starred_name(one.command.as_str()) == program.command);
        ended.map(|one| one.pid)
    }

    /// A program and the one that runs beside it, as in a pipe: their counters are one sum.
    fn beside(&self, program: &Program) -> Option<[&str; 2]> {
        let children = &self.inputs.activity.children;
        let both = self.parents(program).find_map(|pid| children.get(&pid))?;
        let mut names: Vec<&str> = both.iter().map(Label::as_str).collect();
        names.sort_unstable();
        let is_of =
            |names: &[&str; 2]| child_of(&program.name).is_some() || names.contains(&program.name.as_str());
        names.try_into().ok().filter(is_of)
    }

    /// `short runs of cat and tar`.
    fn runs(&self, program: &Program) -> String {
        match self.beside(program) {
            Some(both) => runs_of(&both.join(" and ")),
            None => runs_of(&program.name),
        }
    }

    /// The same where a sentence begins with them.
    fn runs_first(&self, program: &Program) -> String {
        self.runs(program).replacen("short", "Short", 1)
    }

    /// CPU time of short processes and of those that start them, as one after the other: one CPU at most.
    fn time_of_runs(&self, program: &Program) -> f64 {
        let parents: BTreeSet<u32> = self.parents(program).collect();
        let processes = self.inputs.activity.processes.iter().flatten();
        let starting = processes.filter(|one| !one.has_ended && parents.contains(&one.pid));
        (program.cpus + starting.map(|one| one.cpus).sum::<f64>()).min(1.0)
    }

    /// The time in which some task waits for I/O: of a second, by `/proc/pressure`, or by the kernel's estimate of iowait.
    pub(super) fn io_waits(&self) -> f64 {
        let Inputs { rates, .. } = self.inputs;
        let iowait = self.all().map_or(0.0, |Split { iowait, .. }| iowait) * rates.cpus.len() as f64;
        rates.pressure.map_or(0.0, |pressure| pressure.io_some).max(iowait) / 100.0
    }

    /// The same in words: the figure of the pressure panel, where the kernel has it.
    fn io_waits_said(&self) -> f64 {
        let pressure = self.inputs.rates.pressure;
        pressure.map_or_else(|| self.io_waits().min(1.0), |pressure| pressure.io_some / 100.0)
    }
}

/// `, with 57 flushes/s (fsync, O_SYNC or O_DSYNC)`, where no other program syncs.
pub(super) fn flushes(facts: &Facts<'_>, program: &Program) -> String {
    facts.flushing_of(program).map_or_else(String::new, |flushes| {
        format!(", with {:.0}{FLUSHES} (fsync, O_SYNC or O_DSYNC)", flushes.ios)
    })
}

/// The time of an I/O of the kind that a drive does more of.
pub(super) fn each(disk: &DiskRates) -> Option<Micros> {
    let ms = if disk.reads >= disk.writes { disk.read_await_ms } else { disk.write_await_ms };
    ms.filter(|ms| *ms > 0.0).map(|ms| Micros(1e3 * ms))
}

/// `, most of it for short runs of dd, with 57 flushes/s; vda has 0.3 I/Os in flight, 60.0 us each`: processes that end before a sample
/// tells what their threads wait for.
pub(super) fn of_short_runs(facts: &Facts<'_>) -> String {
    const LEAST: f64 = 0.05;
    let Some(program) = facts.short_runs() else { return String::new() };
    let depth = facts.deepest.filter(|(_, disk)| disk.queue_depth >= LEAST);
    let depth = depth.and_then(|(name, disk)| {
        let each = each(disk)?;
        Some(format!("; {} has {:.1} I/Os in flight, {each} each", name.as_str(), disk.queue_depth))
    });
    let most = if 2.0 * program.moved() >= facts.read + facts.written { "most" } else { "much" };
    format!(
        ", {most} of it for {}{}{}",
        facts.runs(program),
        flushes(facts, program),
        depth.unwrap_or_default()
    )
}

/// Short processes that read while tasks wait for I/O, and of which samples find no waits but those for pages.
pub(super) fn short_readers(facts: &Facts<'_>) -> Option<String> {
    let program = facts.short_runs().filter(|program| facts.is_moving() && program.read > program.written)?;
    let threads = facts.inputs.activity.threads.as_ref()?;
    let (running, active) = waits::running(threads, &program.command);
    // Looks with few samples may have found none of them waiting.
    let is_for_pages = facts.is_for_pages(program) || facts.is_shown && running >= active;
    // With one I/O in flight its latency is the limit.
    let (_, disk) = facts.deepest.filter(|_| is_for_pages)?;
    let waits = facts.io_waits();
    (disk.queue_depth >= facts.least(1.3, 1.1) && waits >= facts.least(0.5, 0.35)).then(|| {
        let who = facts.runs_first(program);
        format!(
            "{who} wait for pages of the page cache, some task waits for I/O {:.0} % of the time",
            100.0 * facts.io_waits_said()
        )
    })
}

/// Short processes that write to the page cache and wait until that is on a drive: drives have a long queue whenever they write, complete
/// flushes, and tasks wait for I/O longer than the processes run. Samples find few of them.
pub(super) fn short_syncers(facts: &Facts<'_>) -> Option<String> {
    let short = facts.least(0.25, 0.1);
    let program = facts.much_moved().filter(|program| facts.is_moving() && program.is_short_by(short))?;
    let threads = facts.inputs.activity.threads.as_ref().filter(|_| program.written > program.read)?;
    if waits::is_for(threads, &program.command, Wait::Completion) {
        return None;
    }
    // Of a direct call only its own parts are in flight.
    let (_, disk) = facts.deepest?;
    let while_busy = disk.queue_depth / (disk.utilisation / 100.0).max(0.01);
    // A journal that nothing syncs commits once in five seconds.
    let flushes = facts.most_flushed().map_or(0.0, |disk| disk.flushes.ios);
    let are_others = facts.others_sync(&program.command) || facts.others_may_flush(program, flushes);
    let are_its = !are_others || waits::is_in_syncs(threads, &program.command);
    let is_synced = are_its && flushes >= facts.least(1.0, 0.5) && while_busy >= facts.least(8.0, 5.0);
    let waits = facts.io_waits();
    let are_longer = waits >= facts.least(0.2, 0.12) && waits >= facts.least(1.0, 0.7) * program.cpus;
    (is_synced && are_longer).then(|| {
        let who = facts.runs_first(program);
        let waits = 100.0 * facts.io_waits_said();
        format!("{who} write to the page cache, some task waits for I/O {waits:.0} % of the time")
    })
}

/// Short processes that keep a drive busy with several I/Os all the time while tasks wait for I/O: buffered writes, or direct calls that
/// the kernel splits.
pub(super) fn of_short_ones(facts: &Facts<'_>) -> Option<String> {
    /// I/Os in flight up to which one direct call may be all that is waited for: the kernel splits large ones.
    const SPLIT: f64 = 4.0;
    let program = facts.short_runs().filter(|_| facts.is_moving() && full(facts).is_none())?;
    let (name, disk) = facts.deepest?;
    let is_busy = disk.queue_depth >= facts.least(1.3, 1.1) && disk.utilisation >= facts.least(90.0, 75.0);
    let each = each(disk).filter(|_| is_busy && facts.io_waits() >= facts.least(0.5, 0.35))?;
    let who = facts.runs_first(program);
    let limit = match facts.drives_are_the_limit() {
        limit if disk.queue_depth >= SPLIT || !facts.served.is_empty() => limit,
        _ => OF_A_CALL.to_owned(),
    };
    let (depth, name, flushes) = (disk.queue_depth, name.as_str(), flushes(facts, program));
    Some(format!("{who} keep {depth:.1} I/Os in flight on {name}, {each} each{flushes}: {limit}"))
}

/// Short processes, one after the other, that run and wait for I/O by turns, as far as the waits of all tasks are theirs.
pub(super) fn one_run_at_a_time(facts: &Facts<'_>) -> Option<String> {
    let program = facts.short_runs().filter(|_| facts.is_moving() && full(facts).is_none())?;
    if let Some(words) = syncs_of_short_runs(facts, program) {
        return Some(words);
    }
    let (waits, runs) = (facts.io_waits(), program.cpus);
    let who = facts.runs_first(program);
    let limit = "they run one at a time, which is the limit";
    if facts.beside(program).is_some() {
        let is_much = waits >= facts.least(0.1, 0.05) && runs >= facts.least(0.3, 0.2);
        let waits = 100.0 * waits.min(1.0);
        return is_much.then(|| {
            format!("{who} keep {runs:.1} CPUs busy and wait for I/O {waits:.0} % of the time: {limit}")
        });
    }
    let least = facts.least(0.2, 0.12);
    let all = waits + runs;
    let is_one = (facts.least(0.7, 0.5)..facts.most(1.1, 1.3)).contains(&all);
    (is_one && waits >= least && runs >= least).then(|| {
        // The waits of other tasks are among them: no more than all of it is a share of the time.
        let [waits, runs] = [waits, runs].map(|part| 100.0 * part / all.max(1.0));
        format!("{who} wait for I/O {waits:.0} % of the time and run {runs:.0} %: {limit}")
    })
}

/// Short processes, one after the other, that sync so little that drives are idle for most of the time: programs begin and end in the
/// rest of it.
fn syncs_of_short_runs(facts: &Facts<'_>, program: &Program) -> Option<String> {
    const STARTS: &str = "starting programs one after the other is the limit";
    let (name, disk) = facts.deepest.filter(|_| program.written > program.read)?;
    let runs = facts.time_of_runs(program);
    let is_one = runs >= facts.least(0.3, 0.2) && program.cpus < facts.most(1.1, 1.2);
    let flushes = Some(flushes(facts, program)).filter(|words| is_one && !words.is_empty())?;
    let busy = disk.utilisation.min(100.0);
    let limit = if 100.0 * runs >= facts.least_for(STARTS, 1.0, 0.8) * busy {
        STARTS.to_owned()
    } else {
        format!("syncs to {} are the limit", name.as_str())
    };
    let (who, runs) = (facts.runs_first(program), 100.0 * runs);
    Some(format!(
        "{who} run {runs:.0} % of the time, {} is busy {busy:.0} %{flushes}: {limit}",
        name.as_str()
    ))
}

/// Short processes, one after the other, that wait for one I/O after the other: the drive has it in flight and tasks wait for I/O about
/// as long. Buffered writes are in flight while none of them waits.
pub(super) fn one_after_the_other(facts: &Facts<'_>) -> Option<String> {
    let program = facts.short_runs().filter(|_| facts.is_moving())?;
    let depths = facts.least(0.4, 0.3)..facts.most(1.3, 1.6);
    let (name, disk) = facts.deepest.filter(|(_, disk)| depths.contains(&disk.queue_depth))?;
    let each = each(disk)?;
    if facts.io_waits() < facts.least(0.5, 0.35) * disk.queue_depth.min(1.0) {
        return None;
    }
    let who = facts.runs_first(program);
    let (depth, name) = (disk.queue_depth, name.as_str());
    let one = format!("{who} have one I/O in flight at a time (queue depth {depth:.1})");
    Some(format!("{one}{}: the latency of {name}, {each}, is the limit", flushes(facts, program)))
}
