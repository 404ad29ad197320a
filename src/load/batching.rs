//! How many reads are handed over, and how many completions waited for, in one call.
//!
//! Here: the policy, pure: it is told what calls found, when, and what they cost. Not here: the ring, clocks.
//!
//! On a drive that is the bottleneck, waiting for every read under way lets its queue run dry, and handing many over at
//! once makes it wait for the last of them (the kernel holds back all of a call that brings more than two until the call
//! ends). Waiting for one and handing over one keeps the queue full and burns a call and a wake-up per read. With few reads
//! under way a wake-up can take longer than the drive does: then a worker that never sleeps but looks again and again, that
//! spins, brings a multiple of the reads, for a whole processor. Where the processor is the bottleneck, only full batches
//! are fast. How far to go in either direction depends on drive, driver and processor, so it is tried: the ways of making
//! calls form a grid, the one in use takes turns with its neighbours ([`contest`]), the best becomes the one in use, and so
//! on until no neighbour is better. Then it is left alone, and looked at again ever more rarely, or when the rate changes by
//! itself.
//!
//! A window begins and ends with the first call that returns after some time has passed. Were it to begin or to end with
//! the call that brings so many reads, it would favour ways whose calls bring many: by up to a tenth on a drive whose reads
//! come back in bursts. And it begins late enough: for some round trips after a change of way, in either direction, a drive
//! may be faster than it is with both.

mod contest;

use std::slice;

use contest::Contest;

use crate::model::Workload;

/// A way of making calls: positions in [`Batching::submits`] and [`Batching::waits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    submit: usize,
    wait: usize,
}

/// What the policy is busy with.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Pinned, or nothing to choose from.
    Fixed,
    /// A few gentle calls: does everything come back at once, and has the worker time to sleep meanwhile? `known` is the best
    /// way so far, if there was one.
    Opening { found: usize, under_way: usize, known: Option<Way> },
    /// Ways are compared.
    Climbing { contest: Contest, seen: Vec<Way> },
    /// The best one is in use, at this natural logarithm of reads per nanosecond.
    Settled { rate: Option<f64>, odd: u32, until: u64 },
}

/// A stretch of calls made in one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Window {
    /// Reads of the way before may still come back; they do not count.
    open: bool,
    began: u64,
    /// What the worker had spent until then.
    spent: Spent,
    found: usize,
    /// It is over when it is this late, and so many are found: fewer than are expected, so that time decides.
    due: u64,
    needed: usize,
}

/// What a worker has spent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spent {
    /// CPU time, nanoseconds.
    pub cpu: u64,
    /// How often it slept.
    pub sleeps: u64,
}

/// One worker's policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batching {
    /// Most reads handed over in one call, to choose from; ascending.
    submits: Vec<usize>,
    /// Completions to wait for, to choose from; ascending.
    waits: Vec<usize>,
    depth: usize,
    /// Latencies are timed exactly.
    exact: bool,
    /// The best known.
    best: Way,
    /// In use.
    submit: usize,
    wait: usize,
    stage: Stage,
    window: Window,
    /// Nanoseconds a read lately; 0 before any window is over.
    pace: u64,
    /// Nanoseconds of the next rest between two climbs.
    rest: u64,
}

/// A call with so many costs a read next to nothing, and their memory is still in the nearer caches when they are over.
const FULL: usize = 32;
/// A call with so few keeps no drive waiting.
const GENTLE: usize = 8;
/// This share of all reads found at once points to full calls.
const MOSTLY: f64 = 0.875;
/// A worker that computes for this share of its time is what the drive waits for.
const BUSY: f64 = 0.9;
/// A window lasts at least so long, nanoseconds, and is expected to bring so many reads and so many times the depth.
const WINDOW: u64 = 2_000_000;
const WINDOW_READS: usize = 96;
const WINDOW_TRIPS: usize = 12;
/// While settled it lasts longer, and never longer than this.
const LONG_WINDOW: u64 = 50_000_000;
const LONGEST_WINDOW: u64 = 200_000_000;
/// So many times the depth come back before the first window of a way, or until it would have been a long one.
const TRIPS: usize = 8;
/// First and longest rest between two climbs, nanoseconds.
const REST: u64 = 4_000_000_000;
const LONGEST_REST: u64 = 32_000_000_000;
/// A rate that differs by this natural logarithm for so many windows is another situation.
const ODD: f64 = 0.25;
const ODD_WINDOWS: u32 = 3;
/// What a reduction of CPU time per read is worth, in reads per second: twenty percent of the one for one of the other.
const CPU_WORTH: f64 = 0.05;
/// Natural logarithm of the gain that is worth a worker that never sleeps, and takes a whole processor.
const SPIN_WORTH: f64 = 0.14;
/// With more reads under way a drive has enough to do while the worker wakes, and to spin is never worth it.
const SHALLOW: usize = 16;

impl Batching {
    /// The policy of a worker that keeps `depth` reads under way: pinned by the workload, or adaptive.
    pub(super) fn new(workload: &Workload, depth: usize) -> Self {
        let depth = depth.max(1);
        let choices = |pinned: Option<u32>, choices: &[usize], least: usize| {
            let pinned = pinned.map(|pinned| pinned as usize);
            let choices = pinned.as_ref().map_or(choices, slice::from_ref);
            let mut choices: Vec<usize> =
                choices.iter().map(|choice| (*choice).clamp(least, depth)).collect();
            choices.dedup();
            choices
        };
        // Two is the most that the kernel passes on without holding back.
        let submits = choices(workload.batch_submit, &[2, 4, GENTLE, FULL, depth], 1);
        // With exact timing whatever comes back is seen at once.
        let pinned_wait = workload.batch_complete_min.or(workload.exact_timing.then_some(1));
        let part = |part| depth.div_ceil(part);
        let mut parts = vec![part(16), part(8), part(4), part(2), depth];
        if workload.hipri {
            // Where completions are polled for, a call that waits does not sleep.
            parts.insert(0, 1);
        } else if depth <= SHALLOW {
            parts.insert(0, 0);
        }
        let waits = choices(pinned_wait, &parts, 0);
        let best = gentle(&submits, &waits, depth);
        let is_fixed = submits.len() * waits.len() == 1;
        let mut batching = Self {
            submits,
            waits,
            depth,
            exact: workload.exact_timing,
            best,
            submit: 0,
            wait: 0,
            stage: Stage::Fixed,
            window: Window::default(),
            pace: 0,
            rest: REST,
        };
        if is_fixed {
            batching.take(best, 0);
        } else {
            batching.open(None, 0);
        }
        batching
    }

    /// Most reads handed over in one call.
    #[inline]
    pub(super) fn submit(&self) -> usize {
        self.submit
    }

    /// Completions waited for with so many reads under way; 0 spins.
    #[inline]
    pub(super) fn wait(&self, under_way: usize) -> usize {
        self.wait.min(under_way)
    }

    /// What a call found that did not wait.
    #[inline]
    pub(super) fn count(&mut self, found: usize) {
        self.window.found += found;
    }

    /// What a call that waited found, of so many reads under way.
    #[inline]
    pub(super) fn observe(&mut self, found: usize, under_way: usize) {
        self.count(found);
        if let Stage::Opening { found: all_found, under_way: all, .. } = &mut self.stage {
            *all_found += found;
            *all += under_way;
        }
    }

    /// Whether a window is over at `now`, nanoseconds of any clock that grows; if so, [`Self::judge`] is next.
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        now >= self.window.due && self.window.found >= self.window.needed
    }

    /// Ends a window, at `now` and with so much spent by the worker so far. Whether [`Self::words`] changed.
    #[cold]
    pub(super) fn judge(&mut self, now: u64, spent: Spent) -> bool {
        if !self.window.open {
            self.look(now, spent);
            return false;
        }
        let passed = (now - self.window.began).max(1);
        let pace = passed / self.window.found.max(1) as u64;
        self.pace = if self.pace == 0 { pace } else { pace.clamp(self.pace / 2, self.pace * 2) };
        let (reads, time) = (self.window.found as f64, passed as f64);
        let cpu = spent.cpu.saturating_sub(self.window.spent.cpu).max(1) as f64;
        let sleeps = spent.sleeps.saturating_sub(self.window.spent.sleeps) as f64;
        let (rate, cost) = ((reads / time).ln(), (cpu / reads).ln());
        let before = (self.best, self.is_settled());
        match &mut self.stage {
            Stage::Climbing { contest, seen } => {
                let way = contest.turn();
                if let Some(winner) = contest.score(score(rate, cost, self.wait)) {
                    seen.extend(contest.ways());
                    self.climb(winner, now);
                } else if contest.turn() == way {
                    self.look(now, spent);
                } else {
                    let next = contest.turn();
                    self.take(next, now);
                }
            }
            Stage::Settled { rate: usual, odd, until } => {
                let usual = *usual.get_or_insert(rate);
                *odd = if (rate - usual).abs() > ODD { *odd + 1 } else { 0 };
                let is_over = now >= *until;
                if *odd >= ODD_WINDOWS {
                    self.rest = REST;
                    self.open(None, now);
                } else if is_over {
                    self.open(Some(self.best), now);
                } else {
                    self.look(now, spent);
                }
            }
            Stage::Opening { found, under_way, known } => {
                let (at_once, known) = (*found as f64 / (*under_way).max(1) as f64, *known);
                // The target waits for the worker, and never the other way round: nothing is faster than full calls, and
                // nothing is tried. A worker that wakes late finds all too, but then it has slept once a call.
                if at_once >= 1.0 && sleeps < reads / (2 * self.depth) as f64 {
                    self.best = self.full(self.depth);
                    self.settle(now);
                } else {
                    self.begin(at_once, cpu / time, known, now);
                }
            }
            Stage::Fixed => {}
        }
        (self.best, self.is_settled()) != before
    }

    /// Begins a window.
    fn look(&mut self, now: u64, spent: Spent) {
        let least = if self.is_settled() { LONG_WINDOW } else { WINDOW };
        let reads = WINDOW_READS + WINDOW_TRIPS * self.depth;
        let length = (self.pace * reads as u64).clamp(least, LONGEST_WINDOW);
        let expected = length.checked_div(self.pace).map_or(Ok(reads), usize::try_from).unwrap_or(reads);
        let needed = (expected / 2).max(1);
        self.window = Window { open: true, began: now, spent, found: 0, due: now + length, needed };
    }

    fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Settled { .. })
    }

    /// In words, for [`crate::model::Effective::batch`].
    pub(super) fn words(&self) -> String {
        let (submit, wait) = (self.submits[self.best.submit], self.waits[self.best.wait]);
        let how = match (&self.stage, self.submits.len(), self.waits.len()) {
            (_, 1, 1) => "",
            (Stage::Settled { .. }, ..) => "adaptive, ",
            _ => "adapting, ",
        };
        let waits = match wait {
            0 => ", spins".to_owned(),
            1 if self.exact => String::new(),
            wait => format!(", waits for {wait}"),
        };
        let timed = if self.exact { ", exact" } else { "" };
        format!("{how}submits up to {submit}{waits}{timed}")
    }

    /// Makes gentle calls for a look at what they find.
    fn open(&mut self, known: Option<Way>, now: u64) {
        self.stage = Stage::Opening { found: 0, under_way: 0, known };
        self.take(gentle(&self.submits, &self.waits, self.depth), now);
    }

    /// Full calls that wait for `wait`.
    fn full(&self, wait: usize) -> Way {
        Way { submit: near(&self.submits, FULL), wait: near(&self.waits, wait) }
    }

    /// Begins to climb from the way that is `known`, or from where gentle calls point to: which share of all reads they
    /// found `at_once`, and how `busy` the worker was, as a share of its time.
    fn begin(&mut self, at_once: f64, busy: f64, known: Option<Way>, now: u64) {
        if let Some(known) = known {
            self.best = known;
        } else if at_once >= MOSTLY {
            self.best = self.full(self.depth);
        } else if busy >= BUSY {
            self.best = self.full(self.depth.div_ceil(8));
        }
        self.explore(Vec::new(), now);
    }

    /// Stays with the best way for a while.
    fn settle(&mut self, now: u64) {
        self.stage = Stage::Settled { rate: None, odd: 0, until: now + self.rest };
        self.rest = (self.rest * 2).min(LONGEST_REST);
        self.take(self.best, now);
    }

    /// Goes on from the winner of a contest: to its other neighbours, or to rest.
    fn climb(&mut self, winner: Way, now: u64) {
        let Stage::Climbing { seen, .. } = &mut self.stage else { return };
        let seen = std::mem::take(seen);
        if winner == self.best {
            self.settle(now);
        } else {
            self.best = winner;
            self.rest = REST;
            self.explore(seen, now);
        }
    }

    /// Compares the best way with those of its neighbours that were not `seen` on this climb.
    fn explore(&mut self, seen: Vec<Way>, now: u64) {
        let Way { submit, wait } = self.best;
        let mut others = Vec::new();
        for (submit, wait) in [
            (submit.checked_sub(1), Some(wait)),
            (Some(submit + 1), Some(wait)),
            (Some(submit), wait.checked_sub(1)),
            (Some(submit), Some(wait + 1)),
            // To spin is no smaller step from waiting for few than from waiting for many.
            (Some(submit), (self.waits[0] == 0 && wait > 1).then_some(0)),
        ] {
            if let (Some(submit), Some(wait)) = (submit, wait)
                && submit < self.submits.len()
                && wait < self.waits.len()
                && !seen.contains(&Way { submit, wait })
            {
                others.push(Way { submit, wait });
            }
        }
        let contest = Contest::new(self.best, others);
        self.take(contest.turn(), now);
        self.stage = Stage::Climbing { contest, seen };
    }

    /// Makes calls in this way from now on.
    fn take(&mut self, way: Way, now: u64) {
        self.submit = self.submits[way.submit];
        self.wait = self.waits[way.wait];
        let due = match self.stage {
            Stage::Fixed => u64::MAX,
            _ => now + (self.pace * (TRIPS * self.depth) as u64).min(LONGEST_WINDOW),
        };
        self.window = Window { needed: self.depth, due, ..Window::default() };
    }
}

/// Calls that suit every drive well: with few waited for it has most of the depth while the worker wakes, and what came back
/// meanwhile is handed over in calls so small that it waits for none of them.
fn gentle(submits: &[usize], waits: &[usize], depth: usize) -> Way {
    Way { submit: near(submits, GENTLE), wait: near(waits, depth.div_ceil(16)) }
}

/// How good a way is that waits for `wait`, from natural logarithms of its reads per time and of its CPU time per read.
fn score(rate: f64, cost: f64, wait: usize) -> f64 {
    rate - CPU_WORTH * cost - if wait == 0 { SPIN_WORTH } else { 0.0 }
}

/// The last of ascending `choices` that is at most as large as wished, or the first.
fn near(choices: &[usize], wish: usize) -> usize {
    choices.iter().rposition(|choice| *choice <= wish).unwrap_or(0)
}

#[cfg(test)]
mod tests;
