//! Lines of figures that are no table: pressure, reclaim, posted MSI, clock, what an I/O of a test costs.

use super::tables::{self, nearest_limit};
use crate::{
    counters::{
        PressureShares, Rates,
        activity::{Activity, WorkerRates},
        profile::Hardware,
    },
    machine::Machine,
    model::{Problem, RunSummary},
    units::{Micros, count, mean},
};

/// More CPUs have too many files to be read every second for a line on the screen.
pub(crate) const MOST_IDLE_CPUS: usize = 64;

/// A figure with its name; what is not available says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its name.
    pub name: &'static str,
    /// Figure and unit, or the reason.
    pub text: String,
    /// Whether it is known.
    pub is_known: bool,
    /// Whether it is near a limit.
    pub is_hot: bool,
}

pub(super) fn known(name: &'static str, text: String, is_hot: bool) -> Line {
    Line { name, text, is_known: true, is_hot }
}

/// Before a reason.
const NOT_AVAILABLE: &str = "not available here: ";

pub(super) fn missing(name: &'static str, why: &str) -> Line {
    Line { name, text: format!("{NOT_AVAILABLE}{why}"), is_known: false, is_hot: false }
}

impl Line {
    /// The reason without what is in brackets, and those of lines of the same name.
    pub(crate) fn in_short<'a>(&self, others: impl Iterator<Item = &'a Self>) -> String {
        let lacks = |line: &'a Self| line.text.strip_prefix(NOT_AVAILABLE).unwrap_or(&line.text);
        let lead = |text: &'a str| text.split_once(" (").map_or(text, |(lead, _)| lead);
        let all: Vec<&str> = others.filter(|line| line.name == self.name).map(lacks).map(lead).collect();
        all.join("; ")
    }
}

/// The reason before its path: a panel cuts the end.
pub(super) fn unread(problem: &Problem) -> String {
    format!("{} ({})", problem.reason, problem.path)
}

/// What the next looks will show.
pub(super) fn pending(name: &'static str) -> Line {
    Line { name, text: "not sampled yet".to_owned(), is_known: false, is_hot: false }
}

/// `/proc/pressure` and `/proc/vmstat`; `problems` has the reasons of what is missing.
pub(crate) fn pressure(rates: &Rates, problems: &[Problem]) -> Vec<Line> {
    let reason = |path: &str, otherwise: &str| {
        let problem = problems.iter().find(|problem| problem.path.starts_with(path));
        problem.map_or_else(|| format!("{otherwise} ({path})"), unread)
    };
    let mut lines = Vec::new();
    match rates.pressure {
        Some(PressureShares { io_some, io_full, memory_some, memory_full, cpu_some }) => {
            let both =
                |some: f64, full: f64| format!("some tasks wait {some:.1} % of the time, all {full:.1} %");
            lines.push(known("io", both(io_some, io_full), io_some >= 25.0));
            lines.push(known("memory", both(memory_some, memory_full), memory_some >= 10.0));
            lines.push(known(
                "cpu",
                format!("some tasks wait {cpu_some:.1} % of the time"),
                cpu_some >= 50.0,
            ));
        }
        None => lines.push(missing(
            "pressure",
            &reason("/proc/pressure", "not readable, or the kernel runs without psi=1"),
        )),
    }
    match rates.paging {
        Some(paging) => {
            let scanned = format!(
                "kswapd {} pages/s, tasks themselves {}; {} reclaimed",
                count(paging.scanned_by_kswapd),
                count(paging.scanned_directly),
                count(paging.reclaimed)
            );
            lines.push(known(
                "scanned",
                scanned,
                paging.scanned_by_kswapd + paging.scanned_directly >= 25_000.0,
            ));
        }
        None => lines.push(missing("scanned", &reason("/proc/vmstat", "not readable"))),
    }
    if let Some(memory) = rates.memory {
        let giga = |bytes: u64| format!("{:.1}", bytes as f64 / 1_073_741_824.0);
        let text = format!("{} GiB page cache, {} GiB free", giga(memory.cached), giga(memory.free));
        lines.push(known("memory is", text, false));
    }
    if let (Some(running), Some(blocked)) = (rates.running, rates.blocked) {
        let switches = rates.context_switches.map(|rate| format!("; {} context switches/s", count(rate)));
        let text = format!("{running} running, {blocked} blocked{}", switches.unwrap_or_default());
        lines.push(known("tasks", text, false));
    }
    lines
}

/// Below the table of interrupts: I/Os per interrupt, posted MSI, all of them.
pub(crate) fn interrupts(machine: &Machine, rates: &Rates) -> Vec<Line> {
    let mut lines = Vec::new();
    let controllers = tables::controllers(machine, rates);
    let (ios, interrupts) =
        controllers.iter().fold((0.0, 0.0), |(ios, all), one| (ios + one.ios, all + one.interrupts));
    if interrupts > 0.0 {
        let per = if ios > 0.0 { format!(", {} I/Os each", mean(ios / interrupts)) } else { String::new() };
        lines.push(known("drives", format!("{} interrupts/s{per}", count(interrupts)), false));
    } else if controllers.is_empty() {
        lines.push(missing("drives", "no vector of a drive in /proc/interrupts"));
    }
    match (rates.posted, tables::posted_ratio(rates)) {
        (Some(posted), Some(ratio)) => {
            let text =
                format!("{} notifications/s, {:.0} % of the MSIs of drives", count(posted), 100.0 * ratio);
            lines.push(known("posted MSI", text, false));
        }
        (Some(posted), None) => {
            lines.push(known("posted MSI", format!("{} notifications/s", count(posted)), false));
        }
        (None, _) => {
            lines.push(missing(
                "posted MSI",
                "no PMN row in /proc/interrupts (Intel, kernel 6.10, intremap=posted_msi)",
            ));
        }
    }
    lines
}

/// Below the table of CPUs: the one nearest its limit, clock, idle states.
pub(crate) fn cpus(machine: &Machine, rates: &Rates) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some((cpu, split)) = nearest_limit(rates) {
        let irq = split.interrupts();
        let irq = if irq >= 1.0 { format!(", {irq:.0} % in interrupts") } else { String::new() };
        lines.push(known(
            "busiest",
            format!("CPU {cpu} {:.0} %{irq}", split.busy()),
            split.busy() >= tables::BUSY,
        ));
    }
    match rates.clock_khz {
        Some(khz) => {
            lines.push(known("clock", format!("{:.2} GHz, the fastest CPU", khz as f64 / 1e6), false));
        }
        None => lines.push(missing("clock", "no cpufreq driver (cpu*/cpufreq/scaling_cur_freq)")),
    }
    let states = &machine.processors.idle_states;
    if rates.idle.is_empty() {
        let cpus = machine.processors.cpus.len();
        let missing = |why: &str| missing("C-states", why);
        lines.push(match states.first() {
            None => missing("no cpuidle driver (cpu0/cpuidle)"),
            Some(_) if cpus > MOST_IDLE_CPUS => {
                missing(&format!("with {cpus} CPUs they are read only while one read is in flight"))
            }
            Some(state) if state.usage.get().is_none() => missing("not readable (cpu0/cpuidle/state0/usage)"),
            Some(_) => pending("C-states"),
        });
    } else {
        let name = |at: u32| {
            let known = states.get(at as usize).and_then(|state| state.name.value());
            known.map_or_else(|| format!("state{at}"), ToString::to_string)
        };
        let mut states: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
        for ((_, state), entries) in &rates.idle {
            *states.entry(*state).or_default() += entries;
        }
        let words: Vec<String> =
            states.iter().map(|(state, entries)| format!("{} {}/s", name(*state), count(*entries))).collect();
        lines.push(known("C-states", words.join(", "), false));
    }
    lines
}

/// Whether so few of all are refused that a line above the table would say more than they matter.
const fn are_few(refused: usize, all: usize) -> bool {
    refused * 20 < all
}

/// What could not be read of threads, and of how many where others are known.
pub(crate) fn threads(machine: &Machine, activity: &Activity) -> Vec<Line> {
    let unread = |problem: &Problem| refused(machine, problem);
    let Some(threads) = &activity.threads else {
        let refused = activity.problems.first().map(|problem| missing("threads", &unread(problem)));
        return vec![refused.unwrap_or_else(|| pending("threads"))];
    };
    if are_few(threads.refused, threads.seen) {
        return Vec::new();
    }
    // One reason for all, with what it keeps away. A wait channel that the kernel keeps back is kept back with the system call.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_refused = |file: &str| threads.problems.iter().any(|problem| problem.path.ends_with(file));
    for problem in &threads.problems {
        let file = problem.path.rsplit('/').next().unwrap_or_default();
        let file = match file {
            "wchan" if is_refused("/syscall") => continue,
            "syscall" if is_refused("/wchan") => "syscall and wchan",
            file => file,
        };
        match reasons.iter_mut().find(|(reason, _)| **reason == *problem.reason) {
            Some((_, files)) => files.push(file),
            None => reasons.push((&problem.reason, vec![file])),
        }
    }
    let of = match threads.seen.saturating_sub(threads.refused) {
        0 => String::new(),
        _ => format!(" of {} of {} threads", threads.refused, threads.seen),
    };
    let line = |(reason, files): (&str, Vec<&str>)| {
        // The errno stays where a panel has no room for the reason.
        let files = format!("{}{of}", files.join(", "));
        let text = match reason.split_once(": ") {
            Some((errno, words)) if errno.chars().all(|sign| sign.is_ascii_uppercase()) => {
                format!("{files}, {errno} ({words})")
            }
            _ => format!("{files} ({reason})"),
        };
        missing("unread", &as_user(machine, text))
    };
    reasons.into_iter().map(line).collect()
}

/// What could not be read of processes.
pub(crate) fn processes(machine: &Machine, activity: &Activity) -> Vec<Line> {
    let mut lines = Vec::new();
    if activity.processes.is_none() {
        lines.push(pending("processes"));
    }
    if activity.hidden > 0 && !are_few(activity.hidden, activity.listed) {
        lines.push(missing("hidden", &hidden(machine, activity)));
    }
    lines
}

/// How many processes are not counted, with what refused the first.
fn hidden(machine: &Machine, activity: &Activity) -> String {
    let first = activity.problems.iter().find(|problem| problem.path.ends_with("/io"));
    let why = first.map_or_else(|| "refused (/proc/PID/io)".to_owned(), |problem| refused(machine, problem));
    let all = activity.listed.max(activity.hidden);
    format!("{} of {all} processes, {why}", activity.hidden)
}

/// Path and reason.
fn refused(machine: &Machine, problem: &Problem) -> String {
    as_user(machine, unread(problem))
}

/// Root is not told to run as root.
fn as_user(machine: &Machine, text: String) -> String {
    match machine.host.root.get() {
        Some(true) => text.replace("; run as root", " by a security policy"),
        _ => text,
    }
}

/// What a read costs the workers of a running test of `reads` per second, and the interrupts of an I/O. An I/O is what drives
/// complete, as in the table of interrupts; where they count none, a read.
pub(crate) fn per_io_now(machine: &Machine, rates: &Rates, activity: &Activity, reads: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    match activity.workers.filter(|_| reads > 0.0) {
        Some(WorkerRates { user, system, switches }) => {
            let cost = |cpus: f64| Micros(cpus * 1e6 / reads).to_string();
            lines.push(known("per I/O", worker_cost(&cost(user), &cost(system), switches / reads), false));
        }
        None => lines.push(pending("per I/O")),
    }
    let counted: f64 = tables::controllers(machine, rates).iter().map(|one| one.ios).sum();
    let ios = if counted > 0.0 { counted } else { reads };
    if ios <= 0.0 {
        return lines;
    }
    let all = tables::all_vectors(rates);
    let interrupts =
        (!rates.vector_cpus.is_empty()).then(|| format!("{} interrupts an I/O", mean(all / ios)));
    // The kernel splits reads that are larger than a request may be.
    let split = (reads > 0.0 && ios > 1.05 * reads).then(|| format!("{} I/Os a read", mean(ios / reads)));
    let words: Vec<String> = interrupts.into_iter().chain(split).collect();
    if !words.is_empty() {
        lines.push(known("drives", words.join(", "), false));
    }
    lines
}

/// CPU time of the workers and their context switches, each of one I/O.
fn worker_cost(user: &str, system: &str, switches: f64) -> String {
    format!("user {user}, system {system} of the workers' CPU, {} context switches", mean(switches))
}

/// I/Os per second below which the cycles of all CPUs are not those of I/Os.
const LEAST_IOPS: f64 = 100.0;

/// Instructions of a cycle below which a counter of a virtual machine does not count them.
const LEAST_EACH: f64 = 0.05;

/// Hardware counters of all CPUs, and what an I/O of `iops` costs.
pub(crate) fn cycles(activity: &Activity, iops: f64) -> Vec<Line> {
    match &activity.hardware {
        Some(Ok(Hardware { cycles, instructions })) => {
            let each = if *cycles > 0.0 { instructions / cycles } else { 0.0 };
            let mut text = format!("{}/s", count(*cycles));
            if each < LEAST_EACH {
                text.push_str("; instructions are not counted here");
                return vec![known("cycles", text, false)];
            }
            let each = format!(", {each:.2} instructions each");
            text.push_str(&each);
            if iops >= LEAST_IOPS {
                let per_io = format!(
                    "; {} and {} instructions per I/O",
                    count(cycles / iops),
                    count(instructions / iops)
                );
                text.push_str(&per_io);
            } else {
                let none = format!("; no figure per I/O below {LEAST_IOPS:.0} IOPS");
                text.push_str(&none);
            }
            vec![known("cycles", text, false)]
        }
        Some(Err(problem)) => vec![missing("cycles", &unread(problem))],
        None => Vec::new(),
    }
}

/// What an I/O of a finished test cost its own threads.
pub(crate) fn per_io_of(run: &RunSummary) -> Vec<Line> {
    let ios: u64 = run.targets.iter().map(|target| target.ios).sum();
    if ios == 0 {
        return Vec::new();
    }
    let of = |nanos: u128| Micros(nanos as f64 / 1e3 / ios as f64).to_string();
    let user = run.targets.iter().map(|target| target.cpu_user.as_nanos()).sum();
    let system = run.targets.iter().map(|target| target.cpu_system.as_nanos()).sum();
    let switches: u64 = run.targets.iter().map(|target| target.context_switches).sum();
    let text = worker_cost(&of(user), &of(system), switches as f64 / ios as f64);
    vec![known("last test", text, false)]
}
