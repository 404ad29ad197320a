//! The loop of an io_uring worker, compiled for each combination of rate limit, timing and number of jobs.
#![expect(unsafe_code, reason = "reads are submitted with the addresses of their buffers")]

use std::{mem, num::NonZeroU64, os::fd::AsRawFd, time::Duration};

use io_uring::{cqueue::CompletionQueue, squeue::SubmissionQueue};

use crate::engine::{
    EngineError,
    rate_limit::NAP,
    ring::drain::{CountedRing, GuardedRing},
    ring::enter::enter,
    ring::job::{Addressing, FreeList, Job, Request, forget, give_up, requests},
    ring::{self, RingSetup},
    stats::usage,
    stats::worker_stats::{self, WorkerStats},
    workers::batch_tuner::BatchTuner,
    workers::phase_tracker::PhaseTracker,
    workers::run_control::Phase,
    workers::{Assignment, Ready},
};
use crate::text::Label;

/// Interval at which totals become visible to the sampler, nanoseconds.
const PUBLISHED: u64 = 1_000_000;

/// The work of one thread: all assignments of its share, through one ring.
pub(crate) fn work(share: &[Assignment], ready: &Ready<'_>) -> Result<(), EngineError> {
    let Some(first) = share.first() else { return Ok(()) };
    // The default slack lets timed waits end up to 50 us late.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let workload = &first.workload;
    let mut setup = RingSetup::new(workload, share, ready)?;
    let files: Vec<_> = share.iter().map(|assignment| assignment.target.file.as_raw_fd()).collect();
    let fixed_files = workload.register_files
        && ring::register_files(&setup.guarded.ring.ring.submitter(), &files, &mut setup.config.fallbacks);
    if !ready.wait(setup.config.clone()) {
        return Ok(());
    }
    run(share, &mut setup, fixed_files);
    if let Some(why) = setup.guarded.close() {
        for assignment in share {
            assignment.stats.closing().leaked = Some(Label::new(&why));
        }
    }
    Ok(())
}

/// Runs the loop compiled for this workload, and accounts for it.
fn run(share: &[Assignment], setup: &mut RingSetup, fixed_files: bool) {
    let Some(Assignment { target, workload, control, epoch, .. }) = share.first() else { return };
    let paced = workload.rate_iops.is_some() || workload.amount(target.span).is_some();
    let go = match (paced, share.len() > 1, workload.latency) {
        _ if workload.exact_timing => read::<true, true, true, true>,
        (true, _, true) => read::<true, true, true, false>,
        (true, _, false) => read::<true, true, false, false>,
        (false, true, true) => read::<false, true, true, false>,
        (false, true, false) => read::<false, true, false, false>,
        (false, false, true) => read::<false, false, true, false>,
        (false, false, false) => read::<false, false, false, false>,
    };
    let (whole, uncounted) = (WorkerStats::new(), WorkerStats::new());
    let mut jobs: Vec<Job<'_>> = share
        .iter()
        .enumerate()
        .map(|(index, assignment)| {
            let addressing =
                Addressing::new(assignment, index, fixed_files, setup.slots_per_buffer.is_some());
            Job::new(assignment, &uncounted, addressing)
        })
        .collect();
    let mut tracker = PhaseTracker::new(control, *epoch, &whole, &uncounted);
    let tuner = go(&share[0], setup, &mut tracker, &mut jobs);
    tracker.close();
    for job in &mut jobs {
        job.tracker.close();
    }
    let stats: Vec<&WorkerStats> = share.iter().map(|assignment| &*assignment.stats).collect();
    worker_stats::share_out(&whole, &stats);
    for stats in stats {
        stats.closing().batch = Some(tuner.words());
    }
}

/// Reads until the run stops, the amounts are read or every target is abandoned.
fn read<const PACED: bool, const MANY: bool, const LATENCY: bool, const EXACT: bool>(
    assignment: &Assignment,
    setup: &mut RingSetup,
    tracker: &mut PhaseTracker<'_>,
    jobs: &mut [Job<'_>],
) -> BatchTuner {
    let Assignment { workload, epoch, stats, .. } = assignment;
    let mut requests = requests(setup, jobs.len(), workload.depth);
    let mut free = line_up::<PACED>(&mut requests, jobs);
    let mut tuner = BatchTuner::new(workload, requests.len());
    let GuardedRing { ring: CountedRing { ring, pending }, .. } = &mut setup.guarded;
    let (mut submitter, mut submissions, mut completions) = ring.split();
    // Spares a lookup per call; refused before 5.18.
    let _ = submitter.register_ring_fd();
    let (mut in_flight, mut round) = (0, 0);
    let mut now = epoch.elapsed();
    let mut publish_at = now;
    stats.closing().batch = Some(tuner.words());
    loop {
        if tracker.is_stale() {
            tracker.follow();
            jobs.iter_mut().for_each(Job::follow);
        }
        let goes = matches!(tracker.phase(), Phase::Ramp | Phase::Count) && (MANY || jobs[0].is_alive());
        if PACED && goes {
            for job in jobs.iter_mut() {
                job.admit(now, &mut requests, &mut free);
            }
        }
        // A round submits the requests free at its start. Requests that complete meanwhile wait for the next round, or a round
        // of reads that complete at once would never end.
        if !goes || round == 0 {
            round = free.len();
        }
        let quota = if goes { round.min(free.len()).min(tuner.submit()) } else { 0 };
        round -= quota;
        let numbers = free.take(quota);
        in_flight += quota;
        *pending = count(in_flight);
        queue::<MANY>(&mut submissions, &mut requests, jobs, numbers, now);
        submissions.sync();
        if EXACT && quota > 0 {
            if let Err(error) = enter(&submitter, submissions.len(), None, None) {
                give_up(jobs, &error);
                break;
            }
            let submitted = epoch.elapsed();
            for number in numbers {
                requests[*number as usize].since = submitted;
            }
            tracker.totals.calls += 1;
            tracker.totals.in_flight += (in_flight - quota) as u64 * (submitted - now);
            now = submitted;
        }
        free.settle();
        if in_flight == 0 {
            match tracker.phase() {
                Phase::Hold if jobs.iter().any(Job::is_alive) => {
                    tracker.wait();
                    jobs.iter_mut().for_each(Job::follow);
                }
                Phase::Stop | Phase::Hold => break,
                Phase::Gate | Phase::Ramp | Phase::Count => {
                    if !jobs.iter().any(Job::is_alive) {
                        break;
                    }
                    tracker.sleep(patience(jobs, now).unwrap_or(NAP));
                }
            }
            now = epoch.elapsed();
            continue;
        }
        // No call waits until the whole round is submitted.
        let more = goes && round > 0 && free.len() > 0;
        let limited = if PACED && goes && !more { patience(jobs, now) } else { None };
        let wait = match limited {
            _ if more => None,
            Some(_) => Some(1),
            None => Some(tuner.wait(in_flight)),
        };
        if let Err(error) = enter(&submitter, submissions.len(), wait, limited) {
            give_up(jobs, &error);
            break;
        }
        completions.sync();
        submissions.sync();
        let before = mem::replace(&mut now, epoch.elapsed());
        let found = reap::<PACED, MANY, LATENCY>(&mut completions, &mut requests, &mut free, jobs, now);
        completions.sync();
        tracker.totals.calls += 1;
        tracker.totals.in_flight += in_flight as u64 * (now - before);
        if !more && limited.is_none() && tuner.waited(now) && tuner.choose(now, usage::sleeps()) {
            stats.closing().batch = Some(tuner.words());
        }
        in_flight -= found;
        *pending = count(in_flight);
        if now >= publish_at {
            publish_at = now + PUBLISHED;
            for job in jobs.iter() {
                job.tracker.publish();
            }
        }
    }
    tuner
}

/// Makes all requests free: with a rate limit they wait, without one they can be submitted.
fn line_up<const PACED: bool>(requests: &mut [Request], jobs: &mut [Job<'_>]) -> FreeList {
    let mut free = FreeList::new(requests.len());
    for (number, request) in (0..).zip(requests) {
        let job = &mut jobs[request.job as usize];
        if PACED {
            job.waiting.push(number);
        } else {
            request.aim(job.offsets.next());
            free.push(number);
        }
    }
    free
}

/// Queues the requests of these numbers at `now`.
#[inline(never)]
fn queue<const MANY: bool>(
    submissions: &mut SubmissionQueue<'_>,
    requests: &mut [Request],
    jobs: &[Job<'_>],
    numbers: &[u32],
    now: u64,
) {
    for number in numbers {
        let request = &mut requests[*number as usize];
        request.since = now;
        let entry = jobs[if MANY { request.job as usize } else { 0 }].addressing.entry(request, *number);
        // SAFETY: the request's memory stays mapped while a read is in flight (`GuardedRing`), and no other read uses it: its
        // number came from the free list.
        while unsafe { submissions.push(&entry) }.is_err() {
            // There are as many entries as requests: the kernel's submitting thread (SQPOLL) has not yet stored its head.
            submissions.sync();
        }
    }
}

/// Counts the completions at `now`.
#[inline(never)]
fn reap<const PACED: bool, const MANY: bool, const LATENCY: bool>(
    completions: &mut CompletionQueue<'_>,
    requests: &mut [Request],
    free: &mut FreeList,
    jobs: &mut [Job<'_>],
    now: u64,
) -> usize {
    let mut found = 0;
    let mut group = Group::default();
    for event in completions {
        found += 1;
        let result = event.result();
        #[expect(clippy::cast_possible_truncation, reason = "the request number put there")]
        let index = event.user_data() as u32;
        let request = &requests[index as usize];
        let number = if MANY { request.job } else { 0 };
        let length = request.block().length;
        let mut goes_on = !MANY || !request.is_over;
        if result.cast_unsigned() == length {
            if (LATENCY && group.since != request.since) || (MANY && group.job != number) {
                group.count::<LATENCY>(jobs, now);
                group = Group { job: number, since: request.since, ..Group::default() };
            }
            group.reads += 1;
            group.bytes += u64::from(length);
        } else if jobs[number as usize].failed(request, result) {
            forget(free, requests, number);
            goes_on = !MANY;
        }
        if PACED {
            jobs[number as usize].completed(index);
        } else if goes_on {
            requests[index as usize].aim(jobs[number as usize].offsets.next());
            free.push(index);
            if MANY {
                lend(requests, index, free.place(found - 1));
            }
        }
    }
    group.count::<LATENCY>(jobs, now);
    found
}

/// Swaps the memory of a completed request with that of the next one submitted: it is still in the nearer caches.
#[inline]
fn lend(requests: &mut [Request], completed: u32, next: Option<u32>) {
    if let Some(next) = next
        && let Ok([completed, next]) = requests.get_disjoint_mut([completed as usize, next as usize])
    {
        completed.swap_memory(next);
    }
}

/// Reads in flight, as a ring counts them.
fn count(reads: usize) -> u32 {
    u32::try_from(reads).unwrap_or(u32::MAX)
}

/// Reads of one job that were submitted and completed together, with one latency.
#[derive(Debug, Default)]
struct Group {
    job: u32,
    since: u64,
    reads: u64,
    bytes: u64,
}

impl Group {
    #[inline]
    fn count<const LATENCY: bool>(&self, jobs: &mut [Job<'_>], now: u64) {
        if self.reads > 0 {
            let tracker = &mut jobs[self.job as usize].tracker;
            tracker.succeeded(self.reads, self.bytes);
            if LATENCY {
                tracker.stats().latency.record_many(now.saturating_sub(self.since), self.reads);
            }
        }
    }
}

/// Time until the first waiting job may submit; `None` when none waits.
fn patience(jobs: &[Job<'_>], now: u64) -> Option<Duration> {
    jobs.iter().filter_map(|job| job.next_in(now)).min()
}
