//! The policy on a model of a drive: it finds a way that is about as good as any, and then leaves it alone.

use proptest::prelude::*;

use super::*;
use crate::load::blocks::Wyrand;

/// A drive and the processor before it, nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Model {
    /// Reads the drive works on at once, and what one takes it.
    channels: usize,
    service: u64,
    /// Varies by so much, as a share.
    spread: f64,
    /// A call; a call that sleeps; a read's share of a call.
    call: u64,
    sleep: u64,
    read: u64,
}

/// What a run over it came to.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    reads: u64,
    time: u64,
    cpu: u64,
}

impl Outcome {
    /// As the policy sees it, the worker having waited for `wait`.
    fn score(self, wait: usize) -> f64 {
        let reads = self.reads as f64;
        score((reads / self.time as f64).ln(), (self.cpu as f64 / reads).ln(), wait)
    }
}

/// A worker over a [`Model`], at some moment.
struct Rig {
    model: Model,
    random: Wyrand,
    now: u64,
    spent: Spent,
    /// When each channel is free.
    channels: Vec<u64>,
    /// When each read under way comes back.
    under_way: Vec<u64>,
}

impl Rig {
    fn new(model: Model, seed: u64) -> Self {
        let channels = vec![0; model.channels];
        Self {
            model,
            random: Wyrand::new(seed, 1),
            now: 0,
            spent: Spent::default(),
            channels,
            under_way: Vec::new(),
        }
    }

    fn spend(&mut self, ns: u64) {
        self.now += ns;
        self.spent.cpu += ns;
    }

    /// One call: what it found, if it was to look.
    fn enter(&mut self, submit: usize, wait: Option<usize>) -> usize {
        self.spend(self.model.call);
        let mut starts = Vec::new();
        for _ in 0..submit {
            self.spend(self.model.read);
            starts.push(self.now);
        }
        // More than two reach the drive when the last of them is ready.
        if submit > 2 {
            starts.fill(self.now);
        }
        for start in starts {
            let vary = 1.0 + self.model.spread * (self.random.below(2001) as f64 / 1000.0 - 1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time")]
            let service = (self.model.service as f64 * vary) as u64;
            let free = self.channels.iter_mut().min().unwrap();
            *free = start.max(*free) + service;
            self.under_way.push(*free);
        }
        let Some(wait) = wait else { return 0 };
        self.under_way.sort_unstable();
        let until = wait.checked_sub(1).map_or(0, |last| self.under_way[last]);
        if until > self.now {
            self.spent.cpu += self.model.sleep;
            self.spent.sleeps += 1;
            self.now = until + self.model.sleep;
        }
        let found = self.under_way.partition_point(|back| *back <= self.now);
        self.under_way.drain(..found);
        found
    }

    /// Works like the ring's loop until `end`; says how often the choice changed, and the outcome since `from`.
    fn run(&mut self, batching: &mut Batching, depth: usize, from: u64, end: u64) -> (u32, Outcome) {
        let (mut changes, mut reads) = (0, 0);
        let mut start = None;
        while self.now < end {
            let free = depth - self.under_way.len();
            let submit = free.min(batching.submit());
            let more = submit < free;
            let under_way = self.under_way.len() + submit;
            let found = self.enter(submit, (!more).then(|| batching.wait(under_way)));
            if !more {
                batching.observe(found, under_way);
            }
            let before = batching.best;
            if batching.is_due(self.now) {
                batching.judge(self.now, self.spent);
            }
            changes += u32::from(start.is_some() && batching.best != before);
            if start.is_some() {
                reads += found as u64;
            } else if self.now >= from {
                start = Some((self.now, self.spent.cpu));
            }
        }
        let (time, cpu) = start.unwrap();
        (changes, Outcome { reads, time: self.now - time, cpu: self.spent.cpu - cpu })
    }
}

const SECOND: u64 = 1_000_000_000;

fn workload(submit: Option<u32>, wait: Option<u32>) -> Workload {
    Workload { batch_submit: submit, batch_complete_min: wait, ..Workload::default() }
}

/// The score of a pinned way.
fn pinned(model: Model, depth: usize, submit: usize, wait: usize) -> f64 {
    let pinned = workload(Some(u32::try_from(submit).unwrap()), Some(u32::try_from(wait).unwrap()));
    let mut batching = Batching::new(&pinned, depth);
    Rig::new(model, 7).run(&mut batching, depth, SECOND / 50, SECOND / 4).1.score(wait)
}

/// The score of the best pinned way.
fn best(model: Model, depth: usize) -> f64 {
    let grid = Batching::new(&workload(None, None), depth);
    let ways = grid.submits.iter().flat_map(|submit| grid.waits.iter().map(move |wait| (*submit, *wait)));
    ways.map(|(submit, wait)| pinned(model, depth, submit, wait)).fold(f64::MIN, f64::max)
}

/// By how much a run is worse than one of this score.
fn short_of(score: f64, batching: &Batching, outcome: Outcome) -> f64 {
    score - outcome.score(batching.waits[batching.best.wait])
}

// Some ten times as slow as what they stand for, so that the tests are fast. What calls and reads cost before the disk is as
// measured on a virtual one.
const DISK: Model =
    Model { channels: 28, service: 3_500_000, spread: 0.5, call: 5000, sleep: 10_000, read: 35_000 };
const CACHE: Model = Model { channels: 1, service: 0, spread: 0.0, call: 4000, sleep: 0, read: 6500 };
const FAST: Model =
    Model { channels: 16, service: 400_000, spread: 0.3, call: 3000, sleep: 15_000, read: 9000 };

#[test]
fn a_way_as_good_as_any_is_found_and_kept() {
    for (name, model) in [("disk", DISK), ("cache", CACHE), ("fast", FAST)] {
        let mut batching = Batching::new(&workload(None, None), 32);
        let (changes, outcome) = Rig::new(model, 3).run(&mut batching, 32, 30 * SECOND, 40 * SECOND);
        let short = short_of(best(model, 32), &batching, outcome);
        assert!(short < 0.03, "{name}: {short:.3} short with {}", batching.words());
        assert!(changes <= 1, "{name}: {changes} changes while nothing changed");
    }
}

#[test]
fn what_comes_back_at_once_is_waited_for_in_full() {
    let mut batching = Batching::new(&workload(None, None), 32);
    Rig::new(CACHE, 1).run(&mut batching, 32, 0, SECOND);
    assert_eq!(batching.words(), "adaptive, submits up to 32, waits for 32");
}

#[test]
fn a_worker_without_a_pause_begins_with_full_calls() {
    // Some 18 us a read of the drive's, 20 us of the worker's.
    let model = Model { channels: 24, service: 430_000, spread: 0.3, call: 3000, sleep: 5000, read: 20_000 };
    for (service, begins) in
        [(430_000, "submits up to 32, waits for 4"), (2_000_000, "submits up to 8, waits for 2")]
    {
        let mut batching = Batching::new(&workload(None, None), 32);
        Rig::new(Model { service, ..model }, 1).run(&mut batching, 32, 0, SECOND / 50);
        assert_eq!(batching.words(), format!("adapting, {begins}"));
    }
}

#[test]
fn another_situation_is_noticed() {
    let mut batching = Batching::new(&workload(None, None), 32);
    let mut rig = Rig::new(CACHE, 1);
    rig.run(&mut batching, 32, 0, SECOND);
    rig.model = DISK;
    rig.channels = vec![0; DISK.channels];
    let (_, outcome) = rig.run(&mut batching, 32, 30 * SECOND, 40 * SECOND);
    let short = short_of(best(DISK, 32), &batching, outcome);
    assert!(short < 0.03, "{short:.3} short with {}", batching.words());
}

#[test]
fn what_is_pinned_stays_within_the_depth() {
    let mut batching = Batching::new(&workload(Some(2), Some(9)), 4);
    batching.observe(4, 4);
    assert!(!batching.is_due(SECOND), "there is nothing to judge");
    assert_eq!((batching.submit(), batching.wait(4), batching.wait(1)), (2, 4, 1));
    assert_eq!(batching.words(), "submits up to 2, waits for 4");
    let mut half = Batching::new(&workload(Some(2), None), 32);
    Rig::new(DISK, 1).run(&mut half, 32, 0, SECOND);
    assert!(half.words().contains("submits up to 2, "), "{}", half.words());
}

#[test]
fn what_is_timed_exactly_is_seen_as_it_comes() {
    let exact = Workload { exact_timing: true, ..workload(None, None) };
    let mut batching = Batching::new(&exact, 32);
    Rig::new(CACHE, 1).run(&mut batching, 32, 0, SECOND);
    assert_eq!(batching.words(), "adaptive, submits up to 32, exact");
    let pinned = Workload { batch_complete_min: Some(8), ..exact };
    assert!(Batching::new(&pinned, 32).words().ends_with(", waits for 8, exact"));
}

#[test]
fn one_read_at_a_time_polled_for_leaves_nothing_to_choose() {
    let batching = Batching::new(&Workload { hipri: true, ..workload(None, None) }, 1);
    assert_eq!((batching.submit(), batching.wait(1), batching.stage.clone()), (1, 1, Stage::Fixed));
    let deeper = Batching::new(&Workload { hipri: true, ..workload(None, None) }, 32);
    assert!(!deeper.waits.contains(&0), "a call that waits does not sleep");
}

#[test]
fn a_worker_spins_where_a_sleep_takes_longer_than_the_drive_and_nowhere_else() {
    // Reads of 20 us before sleeps of 10 us and of 1 us; reads of 200 us.
    let model = Model { channels: 4, service: 20_000, spread: 0.2, call: 400, sleep: 10_000, read: 800 };
    for (model, chosen) in [
        (model, "adaptive, submits up to 1, spins"),
        (Model { sleep: 1000, ..model }, "adaptive, submits up to 1, waits for 1"),
        (Model { service: 200_000, ..model }, "adaptive, submits up to 1, waits for 1"),
    ] {
        let mut batching = Batching::new(&workload(None, None), 1);
        Rig::new(model, 3).run(&mut batching, 1, SECOND, 2 * SECOND);
        assert_eq!(batching.words(), chosen, "{model:?}");
    }
    let mut batching = Batching::new(&workload(None, None), 4);
    let (_, outcome) = Rig::new(model, 3).run(&mut batching, 4, 3 * SECOND, 4 * SECOND);
    assert!(batching.words().ends_with(", spins"), "{}", batching.words());
    assert!(short_of(best(model, 4), &batching, outcome) < 0.03, "{outcome:?}");
}

#[test]
fn with_many_reads_under_way_nobody_spins_unasked() {
    let adaptive = |depth| Batching::new(&workload(None, None), depth);
    assert!(adaptive(SHALLOW).waits.contains(&0) && !adaptive(SHALLOW + 1).waits.contains(&0));
}

#[test]
fn time_ends_a_window_and_not_how_many_reads_a_call_brought() {
    let mut batching = Batching::new(&workload(None, None), 32);
    let mut rig = Rig::new(DISK, 1);
    rig.run(&mut batching, 32, 0, SECOND);
    assert!(batching.pace > 0 && matches!(batching.stage, Stage::Climbing { .. }));
    for _ in 0..2 {
        let open = batching.window.open;
        while batching.window.open == open {
            rig.run(&mut batching, 32, rig.now, rig.now + 1);
        }
        assert!(batching.window.due > rig.now, "a window, and what is before it, takes time");
        let mut flooded = batching.clone();
        flooded.count(1_000_000);
        assert!(!flooded.is_due(rig.now) && flooded.is_due(batching.window.due));
        assert!((batching.window.needed as u64) * batching.pace < batching.window.due - rig.now);
    }
}

#[test]
fn a_worker_told_never_to_wait_never_does() {
    let mut batching = Batching::new(&workload(Some(4), Some(0)), 32);
    assert_eq!((batching.wait(32), batching.words()), (0, "submits up to 4, spins".to_owned()));
    let (_, outcome) = Rig::new(FAST, 3).run(&mut batching, 32, 0, SECOND / 10);
    assert!(outcome.reads > 0 && outcome.cpu == outcome.time, "{outcome:?}");
}

#[test]
fn no_drive_is_read_worse_than_where_the_climb_began() {
    for channels in [4, 40] {
        for (call, sleep) in [(3000, 60_000), (15_000, 5000)] {
            let model = Model { channels, service: 1_500_000, spread: 0.5, call, sleep, read: 12_000 };
            let mut batching = Batching::new(&workload(None, None), 32);
            let start = pinned(model, 32, batching.submit(), batching.wait(32));
            let (_, outcome) = Rig::new(model, 3).run(&mut batching, 32, 12 * SECOND, 15 * SECOND);
            let short = short_of(start, &batching, outcome);
            assert!(short < 0.03, "{model:?}: {short:.3} worse with {}", batching.words());
        }
    }
}

#[test]
fn looking_for_a_better_way_costs_little() {
    for (name, model) in [("disk", DISK), ("cache", CACHE), ("fast", FAST)] {
        let mut batching = Batching::new(&workload(None, None), 32);
        let (_, outcome) = Rig::new(model, 3).run(&mut batching, 32, SECOND / 50, SECOND);
        let short = short_of(best(model, 32), &batching, outcome);
        assert!(short < 0.015, "{name}: {short:.3} short while it looks");
    }
}

proptest! {
    #[test]
    fn no_call_waits_for_more_than_is_under_way_or_hands_over_nothing(
        depth in 1..4096_usize,
        under_way in 1..4096_usize,
        submit in proptest::option::of(1..5000_u32),
        wait in proptest::option::of(0..5000_u32),
    ) {
        let batching = Batching::new(&workload(submit, wait), depth);
        prop_assert!((1..=depth).contains(&batching.submit()));
        let least = usize::from(wait != Some(0));
        prop_assert!((least..=under_way.min(depth)).contains(&batching.wait(under_way)));
    }
}
