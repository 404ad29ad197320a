//! Waits for I/O that no drive has in flight: the limits of a control group, and time between a thread and its drive. And a group's
//! limit of CPU time.

use super::{
    Facts, Inputs,
    programs::Program,
    waits::{Wait, Waiters},
};
use crate::{
    counters::activity::ProcessRates,
    machine::Drive,
    model::{GroupLimits, IoLimit, LimitKind},
    units::count,
};

impl<'a> Facts<'a> {
    /// Whether drives have I/Os in flight for those that wait (Little's law), at least this part of one each.
    pub(super) fn are_in_drives(&self, waiters: &Waiters<'_>, part: f64) -> bool {
        // Several threads may wait for one page.
        let waiting =
            if waiters.is_for(Wait::PageCache) { waiters.waiting.min(1.0) } else { waiters.waiting };
        self.in_flight >= part * waiting
    }

    /// Processes of a program whose control groups have such limits: others of its name may be in other groups.
    fn in_groups(
        &self,
        program: &Program,
        has_limit: impl Fn(&GroupLimits) -> bool,
    ) -> impl Iterator<Item = &'a ProcessRates> {
        let activity = self.inputs.activity;
        let is_in = move |pid| activity.limits.get(pid).is_some_and(&has_limit);
        let processes = activity.processes.iter().flatten();
        processes.filter(move |process| program.pids.contains(&process.pid) && is_in(&process.pid))
    }

    /// Bytes per second that the processes of a program read and write which a limit holds for. Those that ended had the same one if all
    /// that live have it.
    fn limited(&self, program: &Program, limit: &IoLimit) -> [f64; 2] {
        let limits = &self.inputs.activity.limits;
        let has_it = |limits: &GroupLimits| limits.io.contains(limit);
        if program.pids.iter().all(|pid| limits.get(pid).is_some_and(has_it)) {
            return [program.read, program.written];
        }
        let its = self.in_groups(program, has_it).filter(|process| !process.has_ended);
        its.fold([0.0; 2], |[read, written], process| {
            [
                read + process.read_bytes.unwrap_or_default(),
                written + process.written_bytes.unwrap_or_default(),
            ]
        })
    }

    /// The limit of a program's control groups that it comes nearest to.
    fn group_limit(&self, program: &Program) -> Option<Reached<'a>> {
        let Inputs { machine, rates, activity, .. } = *self.inputs;
        let limits =
            program.pids.iter().filter_map(|pid| activity.limits.get(pid)).flat_map(|limits| &limits.io);
        let reached = limits.filter_map(|limit| {
            let is_its = |drive: &&Drive| drive.device_number.value() == Some(&limit.device);
            let drive = machine.drives.iter().find(is_its)?;
            let disk = rates.disks.get(&drive.name)?;
            // Its I/Os are as large as others' of the drive.
            let part =
                |ios: f64, own: f64, all: f64| if all > 0.0 { ios * (own / all).min(1.0) } else { 0.0 };
            let [read, written] = self.limited(program, limit);
            let carried = [read.min(disk.read_bytes), written.min(disk.written_bytes)];
            let rate = match limit.kind {
                LimitKind::ReadBytes => carried[0],
                LimitKind::WrittenBytes => carried[1],
                LimitKind::ReadIops => part(disk.reads, read, disk.read_bytes),
                LimitKind::WriteIops => part(disk.writes, written, disk.written_bytes),
                LimitKind::Latency => return None,
            };
            Some(Reached { limit, drive, carried, part: rate / limit.value as f64 })
        });
        reached.max_by(|a, b| a.part.total_cmp(&b.part))
    }
}

/// A limit that a program comes near.
struct Reached<'a> {
    limit: &'a IoLimit,
    drive: &'a Drive,
    /// Bytes per second that it reads and writes on that drive.
    carried: [f64; 2],
    /// How near.
    part: f64,
}

impl Reached<'_> {
    /// `; most moves elsewhere: fio writes 1.05 GB/s`, where the drive carries less than half of what the program moves.
    fn elsewhere(&self, facts: &Facts<'_>, program: &Program) -> Option<String> {
        const WORDS: &str = "; most moves elsewhere: ";
        let [read, written] = self.carried;
        let is_less = read + written < facts.least_for(WORDS, 0.5, 0.6) * program.moved();
        let rest = [("reads", program.read - read), ("writes", program.written - written)];
        let (verb, bytes) = if rest[0].1 >= rest[1].1 { rest[0] } else { rest[1] };
        is_less.then(|| format!("{WORDS}{} {verb} {}", program.name, facts.rate(bytes)))
    }
}

/// The program that most threads wait for I/O of, where it moves at least half of what drives move.
fn waiting<'a>(facts: &'a Facts<'_>, part: f64) -> Option<(Waiters<'a>, &'a Program)> {
    let waits = [Wait::Completion, Wait::PageCache].map(|wait| facts.waiters_of(wait, part));
    let most = waits.into_iter().flatten().max_by(|a, b| a.waiting.total_cmp(&b.waiting));
    let waiters = most.filter(|_| facts.is_moving())?;
    let program = facts.programs.iter().find(|program| waiters.is_of(&program.command));
    // Threads may have names that no program has.
    let program = program.or_else(|| facts.mover())?;
    (2.0 * program.moved() >= facts.read + facts.written).then_some((waiters, program))
}

/// The part of an I/O in flight for each waiting thread below which drives are not what threads wait for.
fn few(facts: &Facts<'_>) -> f64 {
    facts.most(0.25, 0.4)
}

/// Threads that wait for I/O, as a limit of their control group lets through no more.
pub(super) fn group_limit(facts: &Facts<'_>) -> Option<String> {
    let least = facts.least(0.3, 0.2);
    let of_most = || {
        let (waiters, program) = waiting(facts, least)?;
        // Others of the group may use the rest.
        let part = if facts.are_in_drives(&waiters, few(facts)) { facts.least(0.85, 0.7) } else { 0.3 };
        limit_in_words(facts, program, &waiters, part)
    };
    of_most().or_else(|| limit_beside(facts, least))
}

/// The same of a program beside one that moves more, such as buffered writes, which no limit delays.
fn limit_beside(facts: &Facts<'_>, least: f64) -> Option<String> {
    let threads = facts.inputs.activity.threads.as_ref().filter(|_| facts.inputs.test.is_none())?;
    let mover = facts.mover()?;
    // What hardly moves is no load; buffered writes are many times what drives read.
    let counts = |program: &&Program| {
        let reads = 2.0 * program.read >= facts.read && program.read >= program.written;
        let is_much = reads || program.moved() >= 0.03 * (facts.read + facts.written);
        is_much && program.moved() >= 1e6 && program.command != mover.command
    };
    facts.programs.iter().filter(counts).find_map(|program| {
        let of = |wait| {
            Waiters::most(threads, wait, (None, facts.inputs.said), |command| command == program.command)
        };
        let waits = [Wait::Completion, Wait::PageCache, Wait::Writeback].map(of);
        let most = waits.into_iter().flatten().max_by(|a, b| a.waiting.total_cmp(&b.waiting));
        let waiters = most.filter(|waiters| waiters.is_most_of_them(least))?.of_program(&program.name);
        let words = limit_in_words(facts, program, &waiters, facts.least(0.85, 0.7))?;
        let (verb, bytes) = mover.larger();
        Some(format!("{words}; {} {verb} {} beside it", mover.name, facts.rate(bytes)))
    })
}

/// The limit of a program's control groups that it reaches, or this part of it.
fn limit_in_words(facts: &Facts<'_>, program: &Program, waiters: &Waiters<'_>, part: f64) -> Option<String> {
    /// Times the limit that a mean may be beyond it; more is not limited.
    const MOST: f64 = 1.5;
    let reached = facts.group_limit(program).filter(|reached| (part..MOST).contains(&reached.part))?;
    let Reached { limit, drive, .. } = reached;
    let value = limit.value as f64;
    let (what, value) = match limit.kind {
        LimitKind::ReadBytes => ("reads", facts.rate(value)),
        LimitKind::WrittenBytes => ("writes", facts.rate(value)),
        LimitKind::ReadIops => ("reads", format!("{} IOPS", count(value))),
        LimitKind::WriteIops => ("writes", format!("{} IOPS", count(value))),
        LimitKind::Latency => return None,
    };
    let limits = format!("cgroup limits {what} of {} to {value} ({})", drive.name.as_str(), limit.path);
    // Samples do not tell which of its threads wait for that drive.
    if let Some(elsewhere) = reached.elsewhere(facts, program) {
        return Some(format!("A {limits}{elsewhere}"));
    }
    Some(format!("{}: a {limits}", waiters.words(facts.inputs.test)))
}

/// The program that moves most, where it uses the CPU time that its control group allows.
pub(super) fn cpu_quota(facts: &Facts<'_>) -> Option<String> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none())?;
    let activity = facts.inputs.activity;
    let quotas = program.pids.iter().filter_map(|pid| activity.limits.get(pid)?.cpu.as_ref());
    let quota = quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))?;
    let has_it = |limits: &GroupLimits| limits.cpu.as_ref().is_some_and(|own| own.path == quota.path);
    let its = facts.in_groups(program, has_it);
    let (cpus, moved) = its.fold((0.0, 0.0), |(cpus, moved), one| (cpus + one.cpus, moved + one.moved()));
    let is_less = quota.cpus < facts.inputs.rates.cpus.len() as f64;
    let is_most = 2.0 * moved >= program.moved();
    (is_less && is_most && cpus >= facts.least(0.85, 0.7) * quota.cpus).then(|| {
        format!(
            "{} uses {cpus:.2} of the {:.2} CPUs that its control group allows: the CPU quota is the limit ({})",
            program.name, quota.cpus, quota.path
        )
    })
}

/// Threads that wait for I/O although hardly any is in flight.
pub(super) fn between(facts: &Facts<'_>) -> Option<String> {
    let (waiters, program) = waiting(facts, facts.least(0.5, 0.35))?;
    // What reads from elsewhere, such as a network, waits for no drive.
    let is_elsewhere = program.moved() > 2.0 * (facts.read + facts.written);
    // A sample of a short one is no proof of what it does in the rest of the time.
    if !waiters.are_seen() || program.is_short() || is_elsewhere || facts.are_in_drives(&waiters, few(facts))
    {
        return None;
    }
    let name = facts.deepest.map_or("the drives", |(name, _)| name.as_str());
    let have = if facts.deepest.is_some() { "has" } else { "have" };
    Some(format!(
        "{} while {name} {have} {:.2} I/Os in flight: the time is spent between thread and drive (throttling, locks, \
         file system)",
        waiters.words(facts.inputs.test),
        facts.in_flight
    ))
}
