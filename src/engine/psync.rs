//! psync: one thread per read in flight, each in a plain pread.

use std::time::Duration;

use rustix::io::{Errno, pread};

use crate::engine::{
    EngineError,
    memory::Mapping,
    offset_generator::{OffsetGenerator, Series},
    rate_limit::RateLimit,
    stats::worker_stats::WorkerStats,
    workers::phase_tracker::{Failure, PhaseTracker},
    workers::run_control::Phase,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::model::{Completion, EngineKind, Workload};

/// The longest sleep of a worker with a rate limit.
const NAP: Duration = Duration::from_millis(50);

/// What the workload asks for and pread has not.
fn lacks(workload: &Workload) -> Vec<String> {
    [
        (workload.hipri, "pread cannot poll: completions use interrupts"),
        (workload.submission_poll, "pread has no SQPOLL thread: --sqthread_poll has no effect"),
        (workload.exact_timing, "pread latency starts before the call: --exact_timing has no effect"),
        (
            workload.depth > 1,
            "psync uses --iodepth threads per job; fio's psync has one I/O in flight per job at any iodepth",
        ),
    ]
    .into_iter()
    .filter(|(asked, _)| *asked)
    .map(|(_, sentence)| sentence.to_owned())
    .collect()
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let Assignment { target, workload, control, epoch, stats, job, worker } = assignment;
    let length = usize::try_from(workload.largest_block().0).unwrap_or(usize::MAX);
    let mut memory = Mapping::new(length).map_err(|error| EngineError::Machine {
        wrong: format!("cannot allocate a block: {error}"),
        fix: "use a smaller --bs or fewer --iodepth and --numjobs".to_owned(),
    })?;
    let mut series = Series::new(workload, target.span, *job, *worker);
    let mut limit = RateLimit::new(workload, target.span.0, workload.depth);
    let config = EffectiveConfig {
        engine: EngineKind::Psync,
        completion: Completion::Interrupts,
        ring_flags: Vec::new(),
        memory: memory.words(),
        fallbacks: lacks(workload),
    };
    if !ready.wait(config) {
        return Ok(());
    }
    let buffer = memory.as_mut_slice();
    let uncounted = WorkerStats::new();
    let mut tracker = PhaseTracker::new(control, *epoch, stats, &uncounted);
    let mut now = epoch.elapsed();
    loop {
        match tracker.follow() {
            Phase::Stop => break,
            Phase::Hold => {
                tracker.wait();
                limit.restart();
                now = epoch.elapsed();
                continue;
            }
            Phase::Gate | Phase::Ramp | Phase::Count => {}
        }
        if limit.quota(now) == 0 {
            if limit.is_exhausted() {
                break;
            }
            tracker.sleep(limit.next_in(now).min(NAP));
            now = epoch.elapsed();
            continue;
        }
        let block = series.next();
        limit.issued(1, u64::from(block.length));
        // The buffer holds the largest block.
        let Some(part) = buffer.get_mut(..block.length as usize) else { break };
        let result = match pread(&target.file, part, block.offset) {
            Ok(read) => i32::try_from(read).unwrap_or(i32::MAX),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(errno) => -errno.raw_os_error(),
        };
        let before = std::mem::replace(&mut now, epoch.elapsed());
        tracker.totals.calls += 1;
        tracker.totals.in_flight += now - before;
        if i64::from(result) == i64::from(block.length) {
            tracker.succeeded(1, u64::from(block.length));
            if workload.latency {
                tracker.stats().latency.record(now - before);
            }
        } else {
            let failure = Failure { offset: block.offset, length: block.length, result };
            if tracker.failed(&failure, &target.name) {
                tracker.publish();
                break;
            }
        }
        tracker.publish();
    }
    tracker.close();
    stats.closing().batch = Some("one read per call".to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_lacks_is_said() {
        let asks = Workload { hipri: true, submission_poll: true, exact_timing: true, ..Workload::default() };
        assert_eq!(lacks(&asks).len(), 4);
        assert!(lacks(&Workload { depth: 1, ..Workload::default() }).is_empty());
    }
}
