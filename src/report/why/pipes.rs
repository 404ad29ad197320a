//! Rules about pipes: what a program that reads or writes a drive passes its data to, or has it from.

use super::{Facts, busy::full, programs::Program, waits};
use crate::counters::activity::ThreadActivity;

/// What the program that moves most does with its data.
struct Pipe {
    /// Whether it passes on what it reads; otherwise it writes what it is given.
    is_read: bool,
    /// Bytes per second of its calls on that side, and of them those that it reads or writes: of several processes of one command
    /// others may have calls of other data, of short ones not all bytes are known.
    bytes: [f64; 2],
}

impl Pipe {
    fn of(mover: &Program) -> Self {
        let is_read = mover.read >= mover.written;
        let (calls, moved) =
            if is_read { (mover.called_write, mover.read) } else { (mover.called_read, mover.written) };
        Self { is_read, bytes: [calls, calls.min(moved)] }
    }

    /// Whether the calls of this program take what the other passes on, or give what it writes.
    fn is_end(&self, program: &Program) -> bool {
        /// Counters of two programs are not read at one time.
        const ALIKE: f64 = 0.2;
        self.distance(program) <= ALIKE
    }

    /// How far its calls are from that, as a share.
    fn distance(&self, program: &Program) -> f64 {
        let bytes = self.nearest(program);
        (self.calls_of(program) - bytes).abs() / bytes.max(1.0)
    }

    fn nearest(&self, program: &Program) -> f64 {
        let [calls, moved] = self.bytes;
        let own = self.calls_of(program);
        if (own - moved).abs() < (own - calls).abs() { moved } else { calls }
    }

    fn calls_of(&self, program: &Program) -> f64 {
        if self.is_read { program.called_read } else { program.called_write }
    }

    fn words(&self) -> [&'static str; 2] {
        if self.is_read { ["reads", "writes"] } else { ["writes", "reads"] }
    }
}

/// Bytes per second that others write of what a program reads and passes on: they are the same ones.
pub(super) fn passed_on(programs: &[Program], reader: &Program) -> f64 {
    let pipe = Pipe::of(reader);
    // One that moves nothing passes nothing on, though others have no calls either.
    let has_pipe = pipe.is_read && pipe.bytes[0] >= 0.5 * reader.moved().max(1.0);
    let others = programs.iter().filter(|program| has_pipe && program.command != reader.command);
    others
        .filter(|program| pipe.is_end(program) && program.written > program.read)
        .map(|one| one.written)
        .sum()
}

/// One thread at the other end of a pipe that fills a CPU, or a pipe that is waited for.
pub(super) fn pipe(facts: &Facts<'_>) -> Option<String> {
    /// Bytes per second, of which the page cache writes some back later.
    const LEAST: f64 = 1e6;
    // Samples find few waits of short ones, and their counters are those of both ends.
    let mover = facts.mover().filter(|mover| facts.inputs.test.is_none() && !mover.is_short())?;
    if !facts.is_moving() && mover.written < LEAST {
        return None;
    }
    let threads = facts.inputs.activity.threads.as_ref()?;
    let pipe = Pipe::of(mover);
    let is_most = 2.0 * mover.moved() >= facts.read + facts.written;
    // It passes on most of what it moves.
    if !is_most || pipe.bytes[0] < 0.5 * mover.moved() {
        return None;
    }
    let is_other = |program: &&Program| {
        program.command != mover.command && !waits::is_kernel(Some(threads), &program.command)
    };
    let ends = || facts.programs.iter().filter(is_other).filter(|program| pipe.is_end(program));
    let [takes, gives] = pipe.words();
    let busy = ends().filter_map(|end| Some((end, facts.one_thread(end)?)));
    if let Some((end, cpus)) = busy.max_by(|(_, a), (_, b)| a.total_cmp(b))
        && cpus >= facts.least(0.85, 0.7)
        && cpus > mover.cpus
        && end.moved() < 0.2 * mover.moved()
    {
        return Some(format!(
            "{}'s one thread is the limit ({:.0} % of a CPU): it {takes} what {} {gives}, {}",
            end.name,
            100.0 * cpus.min(1.0),
            mover.name,
            facts.rate(pipe.nearest(end))
        ));
    }
    let (wchan, sampled) = waits::in_pipe(threads, &mover.command, pipe.is_read)?;
    let share = share_of_pipe(threads, mover, sampled);
    // Of a wait that few samples find, the rest may be for something else.
    let is_found = sampled >= facts.least(0.35, 0.2);
    let is_long = is_found && share >= facts.least(0.5, 0.35) && waits::all(threads, &mover.command) < 1.5;
    is_long.then(|| {
        let end = ends().min_by(|a, b| pipe.distance(a).total_cmp(&pipe.distance(b)));
        let limit = match end {
            Some(end) => format!("{}, which {takes} what it {gives}, is the limit", end.name),
            None => format!("the program that {takes} what it {gives} is the limit"),
        };
        let busy = if full(facts).is_some() { "; CPUs are busy too" } else { "" };
        format!(
            "{} waits for the other end of its pipe ({wchan}) {:.0} % of the time: {limit}{busy}",
            mover.name,
            100.0 * share
        )
    })
}

/// The share of its time in which the one thread of a program waits for its pipe. Samples often find it running when what it waits for
/// has just come: where its CPU time and its waits for a CPU are known, it waits for the rest, as samples divide that.
fn share_of_pipe(threads: &ThreadActivity, program: &Program, sampled: f64) -> f64 {
    let all = waits::all(threads, &program.command);
    let (running, _) = waits::running(threads, &program.command);
    let waiting = 1.0 - running / all.max(f64::EPSILON);
    match program.delayed() {
        Some(delayed) if program.is_one_process() && waiting > 0.0 => {
            (1.0 - program.cpus - delayed).max(0.0) * (sampled / waiting).min(1.0)
        }
        _ => sampled,
    }
}
