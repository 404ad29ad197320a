//! Counters of a system during a simulated run: CPUs, drives, context switches.

use crate::{
    capacity::{expected, processor},
    counters::{CpuShares, DiskRates, Memory, Rates},
    machine::Machine,
    model::{Limits, RunSample, Workload},
    units::Bytes,
};

use super::USER_SHARE;

/// The rates between two samples of a simulated run, as the kernel's counters would show them; memory as in the capture.
pub fn rates(
    machine: &Machine,
    limits: &Limits,
    workload: &Workload,
    memory: Option<Memory>,
    before: &RunSample,
    after: &RunSample,
) -> Rates {
    let elapsed = after.at.saturating_sub(before.at);
    let seconds = elapsed.as_secs_f64();
    let mut rates = Rates { elapsed, memory, forks: Some(0.0), blocked: Some(0), ..Rates::default() };
    let workers = u32::try_from(after.targets.len()).unwrap_or(u32::MAX).saturating_mul(workload.jobs);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a block is at most 64 MiB")]
    let block = Bytes(expected::mean_block(workload) as u64);
    let mut cycles = 0.0;
    let mut reads = 0;
    for (index, target) in after.targets.iter().enumerate() {
        let earlier = before.targets.get(index);
        let ios = target.ios.saturating_sub(earlier.map_or(0, |earlier| earlier.ios));
        let bytes = target.bytes.saturating_sub(earlier.map_or(0, |earlier| earlier.bytes));
        let Some(drive) = target.drive.as_ref().and_then(|name| machine.drive(name)) else { continue };
        if let Some(processors) = &limits.processors {
            cycles += ios as f64 * processor::cycles_per_read(processors, drive, workload, block, workers);
        }
        reads += ios;
        if seconds > 0.0 {
            let (requests, _) = processor::requests(drive, block);
            let depth = f64::from(workload.depth) * f64::from(workload.jobs) * requests;
            let disk = DiskRates {
                reads: ios as f64 * requests / seconds,
                read_bytes: bytes as f64 / seconds,
                read_await_ms: (ios > 0).then_some(target.latency.mean / 1e6),
                queue_depth: if ios > 0 { depth } else { 0.0 },
                ..DiskRates::default()
            };
            rates.disks.insert(drive.name.clone(), disk);
        }
    }
    let Some(processors) = limits.processors.as_ref().filter(|_| seconds > 0.0) else { return rates };
    let threads = f64::from(processors.threads);
    let busy = (cycles / (processors.hertz * threads * seconds)).clamp(0.0, 1.0);
    let user = if workload.direct { USER_SHARE } else { 0.0 };
    rates.cpu = Some(CpuShares {
        usr: busy * user * 100.0,
        sys: busy * (1.0 - user) * 100.0,
        idl: (1.0 - busy) * 100.0,
        ..CpuShares::default()
    });
    let own = (busy * threads / f64::from(workers.clamp(1, processors.threads))).min(1.0);
    rates.context_switches = Some(switches(reads, own) as f64 / seconds);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of threads"
    )]
    let running = (busy * threads).round() as u64;
    rates.running = Some(running);
    rates
}

/// Context switches of `reads` by workers that are busy that share of the time: none for a worker that never waits, one
/// per read for one that mostly waits. Source R's 0.14 a read at 65 % and 0.97 at 2 % are close.
pub(crate) fn switches(reads: u64, busy: f64) -> u64 {
    let idle = 1.0 - busy.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
    let switches = (reads as f64 * idle * idle) as u64;
    switches
}
