//! Threads by what they do, from passes that each see a part of them.

use std::collections::HashMap;

use super::activity::{Thread, ThreadActivity, ThreadKind, ThreadSample};
use crate::model::Problem;

/// What was last seen of every thread, and sums since they were taken.
#[derive(Debug, Default)]
pub struct ThreadCounts {
    /// By number.
    seen: HashMap<u32, Seen>,
    /// All of `seen`, and those of processes with I/O.
    all: Tally,
    with_io: Tally,
    /// Passes since the last take.
    samples: usize,
    /// Passes ever, and those before the last take.
    passes: u64,
    taken: u64,
    /// Whether all threads were seen, so that another one has begun since.
    is_whole: bool,
    /// [`ThreadSample::rounds`] of the last pass, and of the first one.
    rounds: u64,
    first_round: Option<u64>,
    total: usize,
    problems: Vec<Problem>,
}

/// Threads by kind.
#[derive(Debug, Default)]
struct Tally {
    /// How many there are.
    now: HashMap<ThreadKind, usize>,
    /// `now` of the passes since the last take.
    sums: HashMap<ThreadKind, usize>,
}

#[derive(Debug)]
struct Seen {
    pid: u32,
    kind: ThreadKind,
    /// The pass that looked at it, and its [`ThreadSample::rounds`].
    pass: u64,
    round: u64,
    is_refused: bool,
    has_io: bool,
}

impl Tally {
    fn more(&mut self, kind: &ThreadKind) {
        *self.now.entry(kind.clone()).or_default() += 1;
    }

    fn less(&mut self, kind: &ThreadKind) {
        if let Some(count) = self.now.get_mut(kind) {
            *count -= 1;
            if *count == 0 {
                self.now.remove(kind);
            }
        }
    }

    /// A thread that was there in so many passes before.
    fn add_earlier(&mut self, kind: &ThreadKind, passes: usize) {
        *self.sums.entry(kind.clone()).or_default() += passes;
    }

    /// A thread that was in none of so many passes.
    fn subtract(&mut self, kind: &ThreadKind, passes: usize) {
        if let Some(sum) = self.sums.get_mut(kind) {
            *sum = sum.saturating_sub(passes);
        }
    }

    fn end_pass(&mut self) {
        for (kind, count) in &self.now {
            if let Some(sum) = self.sums.get_mut(kind) {
                *sum += count;
            } else {
                self.sums.insert(kind.clone(), *count);
            }
        }
    }

    fn take_means(&mut self, passes: usize) -> Vec<(ThreadKind, f64)> {
        let means = self.sums.drain().map(|(kind, sum)| (kind, sum as f64 / passes.max(1) as f64));
        let mut kinds: Vec<(ThreadKind, f64)> = means.collect();
        ThreadActivity::sort(&mut kinds);
        kinds
    }
}

impl ThreadCounts {
    /// Adds one pass: what it saw replaces what was seen of the same threads before. Passes go round, so that a thread which a whole
    /// round did not find has ended.
    pub fn add(&mut self, sample: &ThreadSample) {
        let (pass, round) = (self.passes, sample.rounds);
        self.passes += 1;
        for tid in &sample.ended {
            if let Some(before) = self.seen.remove(tid) {
                self.change(before.has_io, |tally| tally.less(&before.kind));
            }
        }
        for thread in &sample.threads {
            let kind = ThreadKind::of(thread);
            let Thread { pid, is_refused, has_io, .. } = *thread;
            self.change(has_io, |tally| tally.more(&kind));
            let seen = Seen { pid, kind: kind.clone(), pass, round, is_refused, has_io };
            match self.seen.insert(thread.tid, seen) {
                Some(before) => self.change(before.has_io, |tally| tally.less(&before.kind)),
                // It was there in the passes before, which had no time for it.
                None if !self.is_whole && self.samples > 0 => {
                    let passes = self.samples;
                    self.change(has_io, |tally| tally.add_earlier(&kind, passes));
                }
                None => {}
            }
        }
        let is_all = sample.sampled >= sample.total;
        if is_all || round != self.rounds {
            // Where a pass saw all threads, the others have ended.
            self.keep(|seen| if is_all { seen.pass == pass } else { round < seen.round + 2 });
        }
        self.rounds = round;
        self.first_round.get_or_insert(round);
        self.is_whole = self.seen.len() >= sample.total;
        self.samples += 1;
        self.total = sample.total;
        self.problems.clone_from(&sample.problems);
        self.all.end_pass();
        self.with_io.end_pass();
    }

    /// Changes the counts that a thread is in.
    fn change(&mut self, has_io: bool, change: impl Fn(&mut Tally)) {
        change(&mut self.all);
        if has_io {
            change(&mut self.with_io);
        }
    }

    /// Drops the threads of processes that have ended: on a busy machine a round takes seconds to miss them. One that no pass has seen
    /// since the last take ended before it, and counts for none of these passes.
    pub fn keep_of(&mut self, is_alive: impl Fn(u32) -> bool) {
        let Self { seen, all, with_io, samples, taken, .. } = self;
        for one in seen.values().filter(|one| one.pass < *taken && !is_alive(one.pid)) {
            all.subtract(&one.kind, *samples);
            if one.has_io {
                with_io.subtract(&one.kind, *samples);
            }
        }
        for tally in [all, with_io] {
            tally.sums.retain(|_, sum| *sum > 0);
        }
        self.keep(|seen| is_alive(seen.pid));
    }

    fn keep(&mut self, lives: impl Fn(&Seen) -> bool) {
        let Self { seen, all, with_io, .. } = self;
        seen.retain(|_, seen| {
            let lives = lives(seen);
            if !lives {
                all.less(&seen.kind);
                if seen.has_io {
                    with_io.less(&seen.kind);
                }
            }
            lives
        });
    }

    /// Whether no pass was added since the last take.
    pub const fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Threads by kind, a mean over the passes since the last take. A thread that a pass had no time for counts as it was last seen;
    /// one that was never seen does not count.
    pub fn take(&mut self) -> ThreadActivity {
        let samples = std::mem::take(&mut self.samples);
        self.taken = self.passes;
        let (kinds, with_io) = (self.all.take_means(samples), self.with_io.take_means(samples));
        let problems = std::mem::take(&mut self.problems);
        let seen = self.seen.len();
        let refused = self.seen.values().filter(|seen| seen.is_refused).count();
        // A round that had begun before the first pass is not a whole one.
        let is_over = |first: u64| self.rounds > first + u64::from(first > 0);
        let is_whole = self.is_whole || self.first_round.is_some_and(is_over);
        // Without a pass nothing is known.
        let with_io = (samples > 0).then_some(with_io);
        ThreadActivity {
            kinds,
            with_io,
            samples,
            seen,
            total: self.total.max(seen),
            is_whole,
            refused,
            problems,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Label;

    fn thread(tid: u32, state: char, command: &str) -> Thread {
        Thread {
            pid: 1,
            tid,
            state,
            command: Label::new(command),
            is_kernel: false,
            syscall: None,
            wchan: None,
            stack: None,
            is_refused: false,
            has_io: false,
        }
    }

    fn pass(threads: Vec<Thread>, total: usize, rounds: u64) -> ThreadSample {
        ThreadSample { sampled: threads.len(), threads, total, rounds, ..ThreadSample::default() }
    }

    fn taken(counts: &mut ThreadCounts) -> Vec<(String, f64)> {
        let kinds = counts.take().kinds.into_iter();
        kinds.map(|(kind, mean)| (format!("{} {}", kind.state, kind.command.as_str()), mean)).collect()
    }

    fn of(count: f64, name: &str) -> (String, f64) {
        (name.to_owned(), count)
    }

    #[test]
    fn threads_that_do_the_same_are_counted_together_and_stand_for_no_others() {
        let mut counts = ThreadCounts::default();
        let seen = vec![thread(1, 'D', "fio/*"), thread(2, 'D', "fio/*"), thread(3, 'S', "sh")];
        counts.add(&pass(seen, 600, 0));
        let activity = counts.take();
        assert_eq!((activity.samples, activity.seen, activity.total), (1, 3, 600));
        let means: Vec<_> = activity.kinds.iter().map(|(kind, mean)| (kind.state, *mean)).collect();
        assert_eq!(means, [('D', 2.0), ('S', 1.0)], "the active ones first");
        assert_eq!(ThreadCounts::default().take(), ThreadActivity::default());
    }

    #[test]
    fn a_thread_is_one_thread_although_a_pass_sees_two_of_three() {
        let mut counts = ThreadCounts::default();
        let all = [thread(1, 'R', "dd"), thread(2, 'S', "sh"), thread(3, 'S', "top")];
        for start in 0..5 {
            let two = [0, 1].map(|next| all[(start * 2 + next) % 3].clone());
            counts.add(&pass(two.into(), 3, (start as u64 * 2) / 3));
            if start > 0 {
                assert_eq!(taken(&mut counts), [of(1.0, "R dd"), of(1.0, "S sh"), of(1.0, "S top")]);
            }
        }
    }

    #[test]
    fn threads_of_processes_with_io_are_counted_apart() {
        let mut counts = ThreadCounts::default();
        let all = |has_io| vec![thread(1, 'S', "fio"), Thread { has_io, ..thread(2, 'D', "fio") }];
        for has_io in [false, true, true, true] {
            counts.add(&pass(all(has_io), 2, 1));
        }
        let ThreadActivity { kinds, with_io, .. } = counts.take();
        let of = |kinds: Vec<(ThreadKind, f64)>| {
            kinds.into_iter().map(|(kind, mean)| (kind.state, mean)).collect::<Vec<_>>()
        };
        assert_eq!((of(kinds), of(with_io.unwrap())), (vec![('D', 1.0), ('S', 1.0)], vec![('D', 0.75)]));
        counts.add(&pass(vec![thread(1, 'S', "fio")], 1, 2));
        assert_eq!(counts.take().with_io, Some(Vec::new()), "it has ended");
    }

    #[test]
    fn passes_of_all_threads_give_the_mean_and_what_ended_is_gone_with_the_next() {
        let mut counts = ThreadCounts::default();
        counts.add(&pass(vec![thread(1, 'R', "dd"), thread(2, 'S', "sh")], 2, 1));
        counts.add(&pass(vec![thread(1, 'D', "dd"), thread(2, 'S', "sh")], 2, 2));
        assert_eq!(taken(&mut counts), [of(0.5, "D dd"), of(0.5, "R dd"), of(1.0, "S sh")]);
        counts.add(&pass(vec![thread(2, 'S', "sh")], 1, 3));
        counts.add(&pass(vec![thread(2, 'S', "sh"), thread(3, 'R', "ls")], 2, 4));
        assert_eq!(taken(&mut counts), [of(0.5, "R ls"), of(1.0, "S sh")], "half of the time");
    }

    #[test]
    fn threads_of_a_process_that_ended_count_until_then() {
        let mut counts = ThreadCounts::default();
        let other = Thread { pid: 2, ..thread(2, 'S', "sh") };
        counts.add(&pass(vec![thread(1, 'S', "fio"), other], 90, 0));
        counts.keep_of(|pid| pid == 2);
        assert_eq!(taken(&mut counts), [of(1.0, "S fio"), of(1.0, "S sh")], "it was there in this pass");
        counts.add(&pass(vec![], 90, 0));
        assert_eq!(taken(&mut counts), [of(1.0, "S sh")]);
    }

    #[test]
    fn a_thread_that_ended_before_the_passes_counts_for_none_of_them() {
        let mut counts = ThreadCounts::default();
        let other = Thread { pid: 2, ..thread(2, 'S', "sh") };
        counts.add(&pass(vec![thread(1, 'S', "fio"), other], 90, 0));
        assert_eq!(taken(&mut counts), [of(1.0, "S fio"), of(1.0, "S sh")]);
        counts.add(&pass(vec![], 90, 0));
        counts.add(&pass(vec![], 90, 0));
        counts.keep_of(|pid| pid == 2);
        assert_eq!(taken(&mut counts), [of(1.0, "S sh")], "no pass has seen it since");
    }

    #[test]
    fn an_active_thread_that_ended_counts_until_then() {
        let mut counts = ThreadCounts::default();
        counts.add(&pass(vec![thread(1, 'R', "dd"), thread(2, 'S', "sh")], 90, 0));
        counts.add(&ThreadSample { ended: vec![1, 77], ..pass(vec![thread(3, 'S', "sh")], 90, 0) });
        assert_eq!(taken(&mut counts), [of(0.5, "R dd"), of(2.0, "S sh")]);
        counts.add(&pass(vec![thread(4, 'S', "sh")], 90, 0));
        assert_eq!(taken(&mut counts), [of(3.0, "S sh")]);
    }

    #[test]
    fn a_first_round_is_whole_when_every_thread_had_its_turn() {
        let whole = |rounds: &[u64]| {
            let mut counts = ThreadCounts::default();
            let add = |round: &u64| {
                counts.add(&pass(vec![thread(1, 'S', "w")], 1000, *round));
                counts.take().is_whole
            };
            rounds.iter().map(add).collect::<Vec<_>>()
        };
        assert_eq!(whole(&[0, 0, 1, 1]), [false, false, true, true]);
        assert_eq!(whole(&[4, 5, 6]), [false, false, true], "begun within a round");
        let mut counts = ThreadCounts::default();
        counts.add(&pass(vec![thread(1, 'S', "w")], 1, 0));
        assert!(counts.take().is_whole, "all in one pass");
    }

    #[test]
    fn a_thread_that_a_whole_round_does_not_find_has_ended() {
        let mut counts = ThreadCounts::default();
        let mut add = |tids: std::ops::Range<u32>, rounds| {
            counts.add(&pass(tids.map(|tid| thread(tid, 'S', "w")).collect(), 1000, rounds));
            counts.take().seen
        };
        let seen =
            [add(0..10, 0), add(10..20, 0), add(10..15, 1), add(15..18, 1), add(10..12, 2), add(0..1, 3)];
        assert_eq!(seen, [10, 20, 20, 20, 8, 3]);
    }

    proptest! {
        #[test]
        fn rounds_of_any_length_count_every_living_thread_once(
            total in 1_usize..40, sizes in prop::collection::vec(1_usize..40, 10..30),
        ) {
            let mut counts = ThreadCounts::default();
            let (mut next, mut looks) = (0, 0);
            for size in sizes {
                let size = size.min(total);
                let tids = (0..size).map(|step| u32::try_from((next + step) % total).unwrap());
                let rounds = u64::try_from((looks + size) / total).unwrap();
                counts.add(&pass(tids.map(|tid| thread(tid, 'S', "w")).collect(), total, rounds));
                next = (next + size) % total;
                looks += size;
                let sum: f64 = taken(&mut counts).iter().map(|(_, mean)| mean).sum();
                let seen = looks.min(total);
                prop_assert!((sum - seen as f64).abs() < 1e-9, "{sum} of {total} after {looks} looks");
            }
        }
    }
}
