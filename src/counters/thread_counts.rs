//! Threads by what they do, from passes that each see a part of them.

use std::collections::HashMap;

use super::activity::{ThreadActivity, ThreadKind, ThreadSample};
use crate::model::Problem;

/// A thread that was not seen again for so many passes is counted no more: with many threads a round takes minutes.
const PASSES: u64 = 8;

/// What was last seen of every thread, and sums since they were taken.
#[derive(Debug, Default)]
pub struct ThreadCounts {
    /// By number.
    seen: HashMap<u32, Seen>,
    /// How many of `seen` are of each kind.
    now: HashMap<ThreadKind, usize>,
    /// Passes ever, and threads looked at in them.
    passes: u64,
    looks: usize,
    /// `now` of the passes since the last take; of the last one alone while `seen` is not all threads.
    sums: HashMap<ThreadKind, usize>,
    summed: usize,
    is_whole: bool,
    /// Factor from `seen` to all threads.
    weight: f64,
    samples: usize,
    sampled: usize,
    total: usize,
    problems: Vec<Problem>,
}

#[derive(Debug)]
struct Seen {
    kind: ThreadKind,
    /// `passes` and `looks` when its pass began.
    pass: u64,
    look: usize,
}

impl ThreadCounts {
    /// Adds one pass: what it saw replaces what was seen of the same threads before. Passes go round, so that a thread which is
    /// not seen within as many looks as there are threads has ended.
    pub fn add(&mut self, sample: &ThreadSample) {
        let (pass, look) = (self.passes, self.looks);
        self.passes += 1;
        self.looks = self.looks.wrapping_add(sample.sampled);
        self.samples += 1;
        self.sampled += sample.sampled;
        self.total += sample.total;
        self.problems.clone_from(&sample.problems);
        for thread in &sample.threads {
            let kind = ThreadKind::of(thread);
            *self.now.entry(kind.clone()).or_default() += 1;
            if let Some(before) = self.seen.insert(thread.tid, Seen { kind, pass, look }) {
                less(&mut self.now, &before.kind);
            }
        }
        let now = &mut self.now;
        self.seen.retain(|_, seen| {
            let is_current = seen.pass == pass
                || (pass - seen.pass < PASSES && look.wrapping_sub(seen.look) < sample.total);
            if !is_current {
                less(now, &seen.kind);
            }
            is_current
        });
        let was_whole = std::mem::replace(&mut self.is_whole, self.seen.len() >= sample.total);
        if !(was_whole && self.is_whole) {
            self.sums.clear();
            self.summed = 0;
        }
        self.weight = (sample.total as f64 / self.seen.len().max(1) as f64).max(1.0);
        self.summed += 1;
        for (kind, count) in &self.now {
            if let Some(sum) = self.sums.get_mut(kind) {
                *sum += count;
            } else {
                self.sums.insert(kind.clone(), *count);
            }
        }
    }

    /// Whether no pass was added since the last take.
    pub const fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Threads by kind, a mean over the passes since the last take. Where the last passes did not see all threads, those seen stand
    /// for all. Every thread seen counts the same, whether its pass was short or long.
    pub fn take(&mut self) -> ThreadActivity {
        let samples = std::mem::take(&mut self.samples);
        let (sampled, total) = (std::mem::take(&mut self.sampled), std::mem::take(&mut self.total));
        let mean = |sum: usize| (sum + samples / 2) / samples.max(1);
        let weight = self.weight / std::mem::take(&mut self.summed).max(1) as f64;
        let counted = self.sums.drain().map(|(kind, count)| (kind, count as f64 * weight));
        let mut kinds: Vec<(ThreadKind, f64)> = counted.collect();
        ThreadActivity::sort(&mut kinds);
        let problems = std::mem::take(&mut self.problems);
        ThreadActivity { kinds, samples, sampled: mean(sampled), total: mean(total), problems }
    }
}

fn less(now: &mut HashMap<ThreadKind, usize>, kind: &ThreadKind) {
    if let Some(count) = now.get_mut(kind) {
        *count -= 1;
        if *count == 0 {
            now.remove(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{counters::activity::Thread, text::Label};

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
        }
    }

    fn pass(threads: Vec<Thread>, total: usize) -> ThreadSample {
        ThreadSample { sampled: threads.len(), threads, total, problems: Vec::new() }
    }

    fn taken(counts: &mut ThreadCounts) -> Vec<(String, f64)> {
        let kinds = counts.take().kinds.into_iter();
        kinds.map(|(kind, mean)| (format!("{} {}", kind.state, kind.command.as_str()), mean)).collect()
    }

    #[test]
    fn threads_that_do_the_same_are_counted_together_and_stand_for_those_not_seen() {
        let mut counts = ThreadCounts::default();
        counts.add(&pass(vec![thread(1, 'D', "fio/*"), thread(2, 'D', "fio/*"), thread(3, 'S', "sh")], 6));
        let activity = counts.take();
        assert_eq!((activity.samples, activity.sampled, activity.total), (1, 3, 6));
        let means: Vec<_> = activity.kinds.iter().map(|(kind, mean)| (kind.state, *mean)).collect();
        assert_eq!(means, [('D', 4.0), ('S', 2.0)], "the active ones first");
        assert_eq!(ThreadCounts::default().take(), ThreadActivity::default());
    }

    #[test]
    fn a_thread_is_one_thread_although_a_pass_sees_two_of_three() {
        let mut counts = ThreadCounts::default();
        let all = [thread(1, 'R', "dd"), thread(2, 'S', "sh"), thread(3, 'S', "top")];
        for start in 0..5 {
            counts.add(&pass([0, 1].map(|next| all[(start * 2 + next) % 3].clone()).into(), 3));
            if start > 0 {
                let one = |name: &str| (name.to_owned(), 1.0);
                assert_eq!(taken(&mut counts), [one("R dd"), one("S sh"), one("S top")]);
            }
        }
    }

    #[test]
    fn passes_of_all_threads_give_the_mean_and_what_ended_is_gone_with_the_next() {
        let mut counts = ThreadCounts::default();
        counts.add(&pass(vec![thread(1, 'R', "dd"), thread(2, 'S', "sh")], 2));
        counts.add(&pass(vec![thread(1, 'D', "dd"), thread(2, 'S', "sh")], 2));
        let half = |name: &str| (name.to_owned(), 0.5);
        assert_eq!(taken(&mut counts), [half("D dd"), half("R dd"), ("S sh".to_owned(), 1.0)]);
        counts.add(&pass(vec![thread(2, 'S', "sh")], 1));
        assert_eq!(taken(&mut counts), [("S sh".to_owned(), 1.0)]);
    }

    #[test]
    fn active_threads_that_take_longer_to_read_do_not_weigh_more() {
        // A pass ends earlier among them: 40 of 100 threads are active, and all were looked at once.
        let mut counts = ThreadCounts::default();
        for tens in 0..4 {
            counts.add(&pass((0..10).map(|tid| thread(10 * tens + tid, 'D', "w")).collect(), 100));
        }
        counts.add(&pass((40..100).map(|tid| thread(tid, 'S', "w")).collect(), 100));
        assert_eq!(taken(&mut counts), [("D w".to_owned(), 40.0), ("S w".to_owned(), 60.0)]);
    }

    #[test]
    fn of_many_threads_the_last_passes_count() {
        let mut counts = ThreadCounts::default();
        let add = |counts: &mut ThreadCounts, number: u32, state| {
            counts.add(&pass((0..10).map(|tid| thread(10 * number + tid, state, "w")).collect(), 1000));
        };
        (0..8).for_each(|number| add(&mut counts, number, 'S'));
        (8..15).for_each(|number| add(&mut counts, number, 'D'));
        let of = |share: f64| 1000.0 * share / 8.0;
        let found = taken(&mut counts);
        assert_eq!(found, [("D w".to_owned(), of(7.0)), ("S w".to_owned(), of(1.0))]);
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
                counts.add(&pass(tids.map(|tid| thread(tid, 'S', "w")).collect(), total));
                next = (next + size) % total;
                looks += size;
                let sum: f64 = taken(&mut counts).iter().map(|(_, mean)| mean).sum();
                prop_assert!((sum - total as f64).abs() < 1e-9, "{sum} of {total} after {looks} looks");
            }
        }
    }
}
