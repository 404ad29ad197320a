//! Why it is not faster: one sentence from rates and activity, the first of [`RULES`] that fires.

mod between;
mod busy;
mod by_drives;
mod by_threads;
mod copies;
pub(crate) mod evidence;
pub(crate) mod grid;
pub(crate) mod lines;
mod own_time;
mod pipes;
pub(crate) mod profile;
mod programs;
mod rules;
pub(crate) mod tables;
mod waiters;
pub(crate) mod waits;

use std::cell::{OnceCell, RefCell};

pub use self::rules::markdown;
use self::{
    busy::shares,
    by_drives::{of_short_runs, served_by_memory},
    programs::{Program, hidden_bytes, programs},
    rules::{RULES, Rule},
    tables::{Split, nearest_limit},
};
use crate::{
    counters::{DiskRates, Rates, activity::Activity},
    machine::Machine,
    model::DriveName,
    units::{BytesPerSecond, UnitSystem, count, counted},
};

/// What a sentence is made from.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Rates of the last counters.
    pub rates: &'a Rates,
    /// Threads and processes.
    pub activity: &'a Activity,
    /// The test in progress.
    pub test: Option<TestNow<'a>>,
    /// The place that is full, in the words of the Machine screen.
    pub full: Option<&'a str>,
    /// Programs that the shown sentence names beside the one that it is about: they stay in it while they are much of what they are named
    /// for.
    pub named: &'a [String],
    /// The shown sentence: near the border between two wordings of a rule its own stays.
    pub said: &'a str,
    /// The number of this process.
    pub own: u32,
    /// GB/s or GiB/s.
    pub units: UnitSystem,
}

/// The test in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestNow<'a> {
    /// Jobs of all targets.
    pub workers: usize,
    /// Workers poll for completions.
    pub is_polled: bool,
    /// Reads go through the page cache.
    pub is_buffered: bool,
    /// The limit that its expected rate comes from, if it reads at least 95 % of that.
    pub reached: Option<&'a str>,
    /// CPUs are what it is expected to be limited by.
    pub is_cpu_bound: bool,
}

/// A part of the Why screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Panel {
    Cpus,
    Threads,
    Interrupts,
    Profile,
    Processes,
    Pressure,
}

/// All panels, in their order on the screen.
pub const PANELS: [Panel; 6] =
    [Panel::Cpus, Panel::Threads, Panel::Interrupts, Panel::Profile, Panel::Processes, Panel::Pressure];

/// Why it is not faster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The rule.
    pub rule: &'static str,
    /// In words.
    pub text: String,
    /// The panels with the evidence.
    pub panels: [Panel; 2],
    /// Whether any other rule takes its place at once; others stay under one load until looks clearly contradict them.
    pub is_fallback: bool,
    /// Programs that it names beside the one that it is about.
    pub named: Vec<String>,
}

/// What one look finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The first rule that fires.
    pub first: Sentence,
    /// The shown rule, as long as it is not clearly contradicted.
    pub shown: Option<Sentence>,
    /// What is known before looks agree on a rule.
    pub measured: Sentence,
    /// The words of idle drives above the CPUs of now, where drives do so little that it may be a burst.
    pub burst: Option<Sentence>,
}

/// The sentence of one look.
pub fn sentence(inputs: &Inputs<'_>) -> Sentence {
    look(inputs, None).first
}

/// What is known before threads and processes were counted over whole intervals: no limit.
pub(crate) fn not_yet(inputs: &Inputs<'_>) -> Sentence {
    let counting = counting(&Facts::new(inputs));
    if counting.text != AT_REST {
        return counting;
    }
    Sentence { text: format!("Nothing is known yet: {COMPARED}"), ..counting }
}

/// The rule of a load whose limit is not known yet.
pub(crate) const COUNTING: &str = "counting";
const COMPARED: &str = "two seconds are compared first";

/// Drives that do next to nothing.
const AT_REST: &str = "Drives are idle";

fn counting(facts: &Facts<'_>) -> Sentence {
    let drives = if facts.is_moving() { facts.moves() } else { AT_REST.to_owned() };
    // Rates and busy programs are no limit yet, but more than none.
    let full = facts.all().filter(|all| all.busy() >= tables::BUSY);
    let cpus = full.and_then(|all| Some(busy_with(all, Some(busy::busiest(facts, all, 0.5, |_| true)?))));
    let rest = match cpus {
        Some(cpus) => format!("; {cpus}"),
        None if facts.is_moving() => format!("; limit not known yet: {COMPARED}"),
        None => String::new(),
    };
    Sentence {
        rule: COUNTING,
        text: format!("{drives}{rest}"),
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: true,
        named: facts.named.take(),
    }
}

/// Whether drives do so little that it may be a burst of a log or a cache: it changes nothing unless it goes on.
fn may_be_burst(facts: &Facts<'_>) -> bool {
    facts.inputs.test.is_none() && facts.read + facts.written < 100e6 && facts.ios < 5000.0
}

/// The last rule, which always fires.
fn at_rest(facts: &Facts<'_>) -> Sentence {
    facts.named.take();
    let text = idle(facts);
    Sentence {
        rule: "idle",
        text,
        panels: [Panel::Cpus, Panel::Processes],
        is_fallback: true,
        named: facts.named.take(),
    }
}

/// The rules of a test that reads as expected: they name the limit that is expected, the first two CPUs.
const AS_EXPECTED: [&str; 6] = ["cpus", "threads", "full", "polling", "drives", "expected"];

/// Rules that name a limit of the program that moves most which is none while it keeps to a rate of its own.
const OF_THE_MOVER: [&str; 7] =
    ["page-cache", "writeback", "throttling", "latency", "drives", "threads", "turns"];

/// What a look finds while the rule `shown` is on the screen. That one stays until it fails clearly: its limits are lower.
pub fn look(inputs: &Inputs<'_>, shown: Option<&str>) -> Found {
    let mut facts = Facts::new(inputs);
    let measured = counting(&facts);
    let burst = may_be_burst(&facts).then(|| at_rest(&facts));
    let said = |facts: &Facts<'_>, rule: &Rule| {
        facts.named.take();
        if OF_THE_MOVER.contains(&rule.id) && facts.keeps_a_rate().is_some() {
            return None;
        }
        let text = (rule.says)(facts)?;
        let Rule { id, panels, is_fallback, .. } = *rule;
        Some(Sentence { rule: id, text, panels, is_fallback, named: facts.named.take() })
    };
    // A test that reads as expected has the limit that the Machine screen names, whatever else is busy.
    let as_expected = inputs.test.filter(|test| test.reached.is_some() && facts.is_moving());
    let same_limit =
        as_expected.map(|test| if test.is_cpu_bound { &AS_EXPECTED[..] } else { &AS_EXPECTED[2..] });
    let counts = |rule: &&Rule| same_limit.is_none_or(|rules| rules.contains(&rule.id));
    let first = RULES.iter().filter(counts).find_map(|rule| said(&facts, rule));
    facts.is_shown = true;
    facts.syncs.take();
    let held = RULES.iter().filter(counts).find(|rule| Some(rule.id) == shown && !rule.is_fallback);
    let shown = held.and_then(|rule| said(&facts, rule));
    let first = first.unwrap_or_else(|| at_rest(&facts));
    Found { first, shown, measured, burst }
}

/// What several rules ask.
struct Facts<'a> {
    inputs: &'a Inputs<'a>,
    /// Whether the rule is the shown one.
    is_shown: bool,
    /// Devices on drives that memory serves: then what is counted is theirs.
    served: Vec<&'a DriveName>,
    /// Bytes per second that drives read and write.
    read: f64,
    written: f64,
    /// I/Os per second, and in flight on average: on drives, or above them.
    ios: f64,
    in_flight: f64,
    /// Processes by command, a command's ended processes among them.
    programs: Vec<Program>,
    /// Bytes per second that processes may move whose counters cannot be read.
    hidden: f64,
    /// The command that moves more than half of what all processes move, as threads have it.
    mover: Option<String>,
    /// The drive with most I/Os in flight.
    deepest: Option<(&'a DriveName, &'a DiskRates)>,
    /// Programs that the rule names beside the one that it is about.
    named: RefCell<Vec<String>>,
    /// What waits for its syncs, once a rule has asked.
    syncs: OnceCell<Option<String>>,
}

impl<'a> Facts<'a> {
    fn new(inputs: &'a Inputs<'a>) -> Self {
        let Inputs { machine, rates, .. } = *inputs;
        let of = |on_drives: bool| {
            let drives = machine.drives.iter().filter(move |drive| drive.is_on_drives() == on_drives);
            drives.filter_map(|drive| Some((&drive.name, rates.disks.get(&drive.name)?)))
        };
        // What a loop device or an array moves, the drives below it move too, unless there are none or the page cache serves it.
        let served = served_by_memory(inputs);
        let disks = || of(!served.is_empty());
        let depth = |on_drives| of(on_drives).fold(0.0, |sum, (_, disk)| sum + disk.queue_depth);
        // A sum of nothing is -0.0.
        let sum = |value: fn(&DiskRates) -> f64| disks().fold(0.0, |sum, (_, disk)| sum + value(disk));
        let mut programs = programs(inputs.activity, inputs.own);
        // A journal's thread and writeback work for programs.
        let threads = inputs.activity.threads.as_ref();
        if let Some(threads) = threads.filter(|_| inputs.test.is_none()) {
            programs::name_workers(&mut programs, threads);
        }
        let is_kernel = |program: &Program| waits::is_kernel(threads, &program.command);
        let moving = programs.iter().filter(|program| program.moved() > 0.0);
        let (own, every) = moving.fold((0.0, 0.0), |(own, every), program| {
            let moved = program.moved();
            (if is_kernel(program) { own } else { own + moved }, every + moved)
        });
        let is_of_programs = 4.0 * own > every;
        let all = if is_of_programs { own } else { every };
        let (read, written) = (sum(|disk| disk.read_bytes), sum(|disk| disk.written_bytes));
        let hidden = hidden_bytes(&programs, read + written - all);
        let movers = programs.iter().filter(|program| !is_of_programs || !is_kernel(program));
        let is_most =
            |program: &&Program| 2.0 * program.moved() > all + hidden - pipes::passed_on(&programs, program);
        // Of two ends of a pipe that move as much, the one that reads.
        let passes_on = |program: &&Program| pipes::passed_on(&programs, program) > 0.0;
        let mover = { movers }.filter(is_most).min_by_key(|program| !passes_on(program));
        let mover = mover.map(|program| program.command.clone());
        Self {
            inputs,
            is_shown: false,
            read,
            written,
            ios: sum(|disk| disk.reads + disk.writes),
            in_flight: [false, true].map(depth).into_iter().fold(0.0, f64::max),
            programs,
            hidden,
            mover,
            deepest: disks().max_by(|(_, a), (_, b)| a.queue_depth.total_cmp(&b.queue_depth)),
            served,
            named: RefCell::default(),
            syncs: OnceCell::new(),
        }
    }

    /// The least value with which a rule fires, and stays.
    const fn least(&self, fires: f64, stays: f64) -> f64 {
        if self.is_shown { stays } else { fires }
    }

    /// The same of values that a rule is below.
    const fn most(&self, fires: f64, stays: f64) -> f64 {
        self.least(fires, stays)
    }

    /// A border between two wordings: another one where the shown sentence contains these words.
    fn least_for(&self, words: &str, fires: f64, stays: f64) -> f64 {
        if self.inputs.said.contains(words) { stays } else { fires }
    }

    /// Whether drives do more than an idle system's log.
    fn is_moving(&self) -> bool {
        self.read + self.written >= self.least(2e6, 1e6) || self.ios >= self.least(200.0, 100.0)
    }

    /// `buffered reads`.
    fn buffered(&self) -> &'static str {
        if self.written > self.read { "buffered writes" } else { "buffered reads" }
    }

    /// Whether drives do so little that nothing can wait for them.
    fn is_trickle(&self) -> bool {
        let (bytes, ios) = (self.most(20e6, 60e6), self.most(1000.0, 3000.0));
        let (depth, busy) = (self.most(0.2, 0.3), self.most(20.0, 30.0));
        let is_little = self.read + self.written < bytes && self.ios < ios;
        is_little && self.deepest.is_none_or(|(_, disk)| disk.queue_depth < depth && disk.utilisation < busy)
    }

    fn all(&self) -> Option<Split> {
        self.inputs.rates.cpu.map(Split::from)
    }

    fn rate(&self, bytes_per_second: f64) -> String {
        self.inputs.units.rate(BytesPerSecond(bytes_per_second))
    }

    fn rate_or_nothing(&self, bytes_per_second: f64) -> String {
        if bytes_per_second < 1.0 { "nothing".to_owned() } else { self.rate(bytes_per_second) }
    }

    /// Drives with about so many I/Os in flight.
    fn alike(&self, depth: f64) -> usize {
        let hardware = self.inputs.machine.hardware_drives();
        let disks = hardware.filter_map(|drive| self.inputs.rates.disks.get(&drive.name));
        disks.filter(|disk| disk.queue_depth >= 0.8 * depth).count()
    }
}

fn polling(facts: &Facts<'_>) -> Option<String> {
    let test = facts.inputs.test.filter(|test| test.is_polled)?;
    Some(format!(
        "{} {} for completions: busy CPUs are no limit here, compare with the drives' potential",
        counted(test.workers, "worker"),
        if test.workers == 1 { "polls" } else { "poll" }
    ))
}

fn reclaim(facts: &Facts<'_>) -> Option<String> {
    let (kswapd, direct) = (facts.least(25_000.0, 10_000.0), facts.least(5_000.0, 2_000.0));
    let paging = facts.inputs.rates.paging?;
    if !facts.is_moving() {
        return None;
    }
    let by_tasks = paging.scanned_directly;
    // What a copy reads and writes is scanned too; unless tasks stall for memory, its thread does not wait for that.
    if copies::copier(facts).is_some() && !by_threads::stalls_for_memory(facts, facts.least(10.0, 5.0)) {
        return None;
    }
    if by_tasks >= direct
        && by_threads::is_much_reclaimed(facts, by_tasks)
        && by_threads::is_much_by_tasks(facts, paging)
    {
        return Some(format!(
            "Tasks scan {} pages/s for free memory themselves (direct reclaim): {} are the limit",
            count(by_tasks),
            facts.buffered()
        ));
    }
    if let Some(words) = by_threads::reclaim_in_group(facts, paging) {
        return Some(words);
    }
    let all = paging.scanned_by_kswapd + paging.scanned_directly;
    (paging.scanned_by_kswapd >= kswapd && by_threads::is_much_reclaimed(facts, all)).then(|| {
        format!(
            "kswapd scans {} pages/s: {} are the limit",
            count(paging.scanned_by_kswapd),
            facts.buffered()
        )
    })
}

fn expected(facts: &Facts<'_>) -> Option<String> {
    let because = facts.inputs.test?.reached.filter(|_| facts.is_moving())?;
    let read = facts.rate(facts.read);
    // `root complex 0000:40, AMD Starship/Matisse, 50 GiB/s from ten drives`, `the drive: read alone here`.
    let (limit, source) = match [", ", ": "].into_iter().filter_map(|mark| because.find(mark)).min() {
        Some(end) => (&because[..end], format!(". Source: {}", &because[end + 2..])),
        None => (because, String::new()),
    };
    Some(format!("The test reads {read}, as expected. Limit: {limit}{source}"))
}

fn cached_writes(facts: &Facts<'_>) -> Option<String> {
    let (times, more) = (facts.least(5.0, 3.0), facts.least(20e6, 10e6));
    let most = facts.programs.iter().max_by(|a, b| a.written.total_cmp(&b.written))?;
    let written = most.written;
    // What it writes may come from drives: it waits for these, or a program that gives it that does.
    let part = facts.least_for("to the page cache", 0.3, 0.5);
    let gives = |program: &Program| program.command != most.command && program.read >= part * written;
    let reads = most.read >= part * written || facts.programs.iter().any(gives);
    (!reads && written >= times * facts.written && written >= facts.written + more).then(|| {
        let (rate, drives) = (facts.rate(written), facts.rate_or_nothing(facts.written));
        match facts.one_busy_cpu(most) {
            Some(busy) => format!("{busy}; it writes {rate} to the page cache, the drives write {drives}"),
            None => format!("{} writes {rate} to the page cache; the drives write {drives}", most.name),
        }
    })
}

fn cached(facts: &Facts<'_>) -> Option<String> {
    let (times, more) = (facts.least(5.0, 3.0), facts.least(200e6, 100e6));
    let most = facts.programs.iter().max_by(|a, b| a.called_read.total_cmp(&b.called_read))?;
    let called = most.called_read;
    // What it reads it writes to a drive: the writes are its work, and its source need not be one.
    // Both ends of a pipe between short processes read the same bytes.
    let writes = most.written >= if most.has_ended() { 0.3 } else { 0.5 } * called;
    (!writes && called >= times * facts.read && called >= facts.read + more).then(|| {
        let (rate, drives) = (facts.rate(called), facts.rate_or_nothing(facts.read));
        // As many bytes written as read: a copy, also of /dev/zero over a file whose pages are dirty already.
        let part = facts.least_for(" read and write calls ", 0.8, 0.7);
        if (part..1.0 / part).contains(&(most.called_write / called)) {
            let drives = format!("the drives read {drives} and write {}", facts.rate_or_nothing(facts.written));
            return match facts.one_busy_cpu(most) {
                Some(busy) => format!("{busy}; its read and write calls move {rate} each, {drives}"),
                None => format!(
                    "{}'s read and write calls move {rate} each, {drives}: the rest stays in the page cache, a pipe \
                     or a device file such as /dev/zero",
                    most.name
                ),
            };
        }
        match facts.one_busy_cpu(most) {
            Some(busy) => format!("{busy}; its read calls return {rate}, the drives read {drives}"),
            None => format!(
                "Read calls of {} return {rate}, the drives read {drives}: the rest comes from the page \
                 cache, a pipe or a device file such as /dev/urandom",
                most.name
            ),
        }
    })
}

fn queue(facts: &Facts<'_>) -> Option<String> {
    let is_known = facts.inputs.activity.threads.as_ref().is_some_and(|threads| !threads.kinds.is_empty());
    let (name, disk) =
        facts.deepest.filter(|(_, disk)| disk.queue_depth >= 1.0 && !is_known && facts.is_moving())?;
    let each = by_drives::each(disk).map_or_else(String::new, |each| format!(", {each} each"));
    Some(format!(
        "{} has {:.1} I/Os in flight{each}: the drives or their links are the limit",
        name.as_str(),
        disk.queue_depth
    ))
}

fn moving(facts: &Facts<'_>) -> Option<String> {
    facts.is_moving().then(|| {
        let all = facts.all().filter(|all| all.idle + all.iowait < tables::LEFT);
        let cpus = all
            .map(|all| busy_with(all, busy::others(facts, all, 0.5)))
            .or_else(|| one_busy_cpu_of(facts))
            .or_else(|| {
                let (cpu, split) = nearest_limit(facts.inputs.rates)?;
                Some(format!("CPU {cpu} is the busiest with {:.0} %", split.busy()))
            });
        let cpus = cpus.map_or_else(String::new, |cpus| format!("; {cpus}"));
        format!("{}{}{cpus}", facts.moves(), of_short_runs(facts))
    })
}

/// `CPUs are 99 % busy (usr 90 %, sys 9 %), most of the time with rustc`.
fn busy_with(all: Split, most: Option<String>) -> String {
    let most = most.map_or_else(String::new, |most| format!(", most of the time with {most}"));
    format!("CPUs are {:.0} % busy ({}){most}", all.busy(), shares(all))
}

/// Bytes per second. Less is a log of the system, and its figure another one each second.
const LITTLE: f64 = 1e6;

fn idle(facts: &Facts<'_>) -> String {
    let moved = facts.read + facts.written;
    let drives = if moved >= LITTLE {
        format!("Drives read and write little ({})", facts.rate(moved))
    } else {
        AT_REST.to_owned()
    };
    if let Some(busy) = one_busy_cpu_of(facts) {
        return format!("{drives}; {busy}");
    }
    match facts.all().filter(|all| all.busy() >= 50.0) {
        Some(all) => format!("{drives}; {}", busy_with(all, busy::busiest(facts, all, 0.5, |_| true))),
        None => drives,
    }
}

/// The program that keeps one CPU busy, where others do little.
fn one_busy_cpu_of(facts: &Facts<'_>) -> Option<String> {
    let first = facts.programs.iter().max_by(|a, b| a.cpus.total_cmp(&b.cpus))?;
    let all: f64 = facts.programs.iter().map(|program| program.cpus).sum();
    // The kernel's sum has programs that ended before a sample too.
    let busy = facts.all().map_or(0.0, |all| all.busy() / 100.0 * facts.inputs.rates.cpus.len() as f64);
    let is_alone = all - first.cpus < 0.3 && busy - first.cpus < 0.5;
    // What it reads from memory it writes.
    let is_writer = first.written > first.read && first.called_write >= 0.9 * first.called_read;
    let (kind, called) = if is_writer || first.called_write > first.called_read {
        ("write", first.called_write)
    } else {
        ("read", first.called_read)
    };
    // What starts all the time reads its libraries.
    let moves = if called >= 1e6 && !first.has_ended() {
        format!(" for {} of {kind} calls", facts.rate(called))
    } else {
        String::new()
    };
    (is_alone && (0.9..1.1).contains(&first.cpus))
        .then(|| format!("{} keeps one CPU busy{moves}", first.name))
}

#[cfg(test)]
mod tests;
