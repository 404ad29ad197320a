//! The rule about one thread that reads drives and writes to them through the page cache: it waits for reads, runs and waits for
//! writeback by turns, in shares that change from second to second.

use super::{
    Facts,
    busy::beside,
    programs::{OwnTime, Program},
    waits::{self, Wait},
};

/// The words that tell this sentence from others.
const WORDS: &str = "reads and writes through the page cache with one thread";

/// The program that moves most, where its one thread reads about as much as it writes, through the page cache.
pub(super) fn copier<'a>(facts: &'a Facts<'_>) -> Option<&'a Program> {
    let program = facts.mover().filter(|_| facts.inputs.test.is_none() && facts.is_moving())?;
    let threads = facts.inputs.activity.threads.as_ref()?;
    let stays = |fires, stays| facts.least_for(WORDS, fires, stays);
    let (less, more) = (program.read.min(program.written), program.read.max(program.written));
    // Drives write what it wrote before, too.
    let is_most = 3.0 * program.moved() >= facts.read + facts.written;
    let cpus = facts.one_thread(program).filter(|_| is_most && less >= stays(0.5, 0.3) * more)?;
    // Direct calls wait for completions and hardly use a CPU.
    let is_direct = waits::is_for_by(threads, &program.command, Wait::Completion, stays(0.5, 0.7));
    let [reads, writes] = waits::by_call(threads, &program.command);
    let is_known = reads + writes > 0.0 || cpus >= stays(0.3, 0.0);
    let syncs = waits::is_in_syncs(threads, &program.command) || facts.waits_for_syncs().is_some();
    // Just after another one ended, means have more of that; of short ones samples seldom find a thread.
    let (_, active) = waits::running(threads, &program.command);
    let is_seen = !program.is_short() || active >= stays(0.7, 0.4);
    (is_known && is_seen && !is_direct && !syncs).then_some(program)
}

/// Behind what it does, where it runs most of the time.
const LIMIT: &str = ": its one thread is the limit";

/// What the one thread of a copy does with its time.
pub(super) fn copy(facts: &Facts<'_>) -> Option<String> {
    let program = copier(facts)?;
    let threads = facts.inputs.activity.threads.as_ref()?;
    let (_, sampled) = waits::running(threads, &program.command);
    let delayed = OwnTime::of(facts).map_or(0.0, |own| own.delayed);
    let runs = program.cpus + delayed;
    // One that has just begun is in few samples; tasks that wait for I/O are known.
    let unseen = if sampled < 0.5 { facts.io_waits().min(1.0 - runs) } else { 0.0 };
    let active = sampled.max(runs + unseen.max(0.0)).max(f64::EPSILON);
    let waiting = active - runs;
    let [reads, writes] = match waits::by_call(threads, &program.command) {
        // Samples found no wait: short ones are for pages while drives read, else for writeback.
        [reads, writes] if reads + writes <= 0.0 => {
            if facts.read >= facts.written {
                [1.0, 0.0]
            } else {
                [0.0, 1.0]
            }
        }
        both => both,
    };
    let part = |of: f64| 100.0 * of / active;
    let of_waits = |one: f64| part(waiting * one / (reads + writes));
    // A part that rounds to nothing is none.
    let percent = |of: f64| Some(format!("{of:.0} %")).filter(|words| words != "0 %");
    let waits = [("reads", of_waits(reads)), ("writeback", of_waits(writes))];
    let waits = waits.into_iter().filter_map(|(what, of)| Some(format!("for {what} {}", percent(of)?)));
    let waits = Some(waits.collect::<Vec<_>>().join(", ")).filter(|waits| !waits.is_empty());
    let waits = waits.map(|waits| format!("waits {waits}"));
    let runs = percent(part(program.cpus)).map(|of| format!("runs {of}"));
    let parts: Vec<String> = waits.into_iter().chain(runs).collect();
    // Neither drives nor writeback keep it from more than the rest.
    let is_limit =
        program.cpus >= facts.least_for(LIMIT, 0.82, 0.7) * active && facts.keeps_a_rate().is_none();
    let limit = if is_limit { LIMIT } else { "" };
    let words = format!("{} {WORDS}: it {} of the time{limit}", program.name, parts.join(" and "));
    Some(beside(facts, words))
}
