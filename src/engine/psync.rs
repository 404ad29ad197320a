//! psync: one thread per read in flight, each in pread.

use std::{fs::File, io, time::Duration};

use rustix::io::pread;

use crate::engine::{
    EngineError,
    aio::{self, AioQueue},
    memory::Mapping,
    offset_generator::Block,
    prefetch::Prefetch,
    workers::batch_tuner::BatchTuner,
    workers::{Assignment, EffectiveConfig, Ready},
};
use crate::model::{EngineKind, Workload};

/// Options that pread lacks, each with whether the workload has it.
fn lacks(workload: &Workload) -> [(bool, &'static str); 4] {
    [
        (workload.hipri, "pread cannot poll: completions use interrupts"),
        (workload.submission_poll, "pread has no SQPOLL thread: --sqthread_poll has no effect"),
        (workload.exact_timing, "pread latency starts before the call: --exact_timing has no effect"),
        (
            workload.depth > 1,
            "psync uses --iodepth threads per job; fio's psync has one I/O in flight per job at any iodepth",
        ),
    ]
}

/// A queue of one read.
struct Psync<'a> {
    file: &'a File,
    buffer: Mapping,
    prefetch: Option<Prefetch>,
    block: Option<Block>,
}

/// The work of one thread.
pub(crate) fn work(assignment: &Assignment, ready: &Ready<'_>) -> Result<(), EngineError> {
    let Assignment { workload, target, .. } = assignment;
    let buffer = Mapping::of_reads(aio::block_bytes(workload), 1)?;
    let config = EffectiveConfig::without_ring(EngineKind::Psync, &buffer, &lacks(workload));
    let end = workload.offset.0 + target.span.0;
    let prefetch = workload.prefetch.map(|ahead| Prefetch::new(ahead.0, end));
    let mut queue = Psync { file: &target.file, buffer, prefetch, block: None };
    aio::work(assignment, ready, &mut queue, config, 1);
    Ok(())
}

impl AioQueue for Psync<'_> {
    fn put(&mut self, _: u16, block: Block) {
        self.block = Some(block);
    }

    fn enter(&mut self, _: usize, _: Option<Duration>, done: &mut Vec<(u16, i32)>) -> io::Result<()> {
        let Some(Block { offset, length }) = self.block.take() else { return Ok(()) };
        if let Some(prefetch) = &mut self.prefetch {
            prefetch.follow(self.file, Block { offset, length });
        }
        let buffer = &mut self.buffer.as_mut_slice()[..length as usize];
        let result = match pread(self.file, buffer, offset) {
            Ok(read) => i32::try_from(read).unwrap_or(i32::MAX),
            Err(errno) => -errno.raw_os_error(),
        };
        done.push((0, result));
        Ok(())
    }

    fn batch(&self, _: &BatchTuner) -> String {
        "one read per call".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_lacks_is_said() {
        let asks = Workload { hipri: true, submission_poll: true, exact_timing: true, ..Workload::default() };
        assert!(lacks(&asks).iter().all(|(asked, _)| *asked));
        assert!(!lacks(&Workload { depth: 1, ..Workload::default() }).iter().any(|(asked, _)| *asked));
    }
}
