//! `--prefetch`: requests blocks ahead of sequential buffered reads, as a program does with `posix_fadvise(WILLNEED)`.

use std::{fs::File, num::NonZeroU64};

use rustix::fs::{Advice, fadvise};

use crate::engine::offset_generator::Block;

/// Bytes of a request: the kernel cuts requests at its readahead or the device's largest request, whichever is more.
const STEP: u64 = 128 << 10;

/// How far ahead of the reads blocks are requested, and how far that was done.
#[derive(Debug)]
pub(crate) struct Prefetch {
    ahead: u64,
    /// First byte behind the part that is read.
    end: u64,
    /// First byte that was not requested yet.
    next: u64,
}

impl Prefetch {
    /// `end` is the first byte behind the part that is read.
    pub(crate) const fn new(ahead: u64, end: u64) -> Self {
        Self { ahead, end, next: 0 }
    }

    /// Requests what follows this block. Errors of advice show in the read itself.
    pub(crate) fn follow(&mut self, file: &File, block: Block) {
        for start in self.steps(block) {
            let _ = fadvise(file, start, NonZeroU64::new(STEP), Advice::WillNeed);
        }
    }

    /// Offsets of the requests that this block leads to.
    fn steps(&mut self, block: Block) -> impl Iterator<Item = u64> + use<> {
        let behind = block.offset + u64::from(block.length);
        // A read at the start again, or elsewhere, begins anew.
        if self.next < block.offset || self.next > behind + self.ahead + STEP {
            self.next = block.offset;
        }
        let start = self.next;
        let most = (behind + self.ahead).min(self.end);
        self.next = start + most.saturating_sub(start).div_ceil(STEP) * STEP;
        (start..self.next).step_by(128 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_requested_once_and_none_behind_the_end() {
        let mut prefetch = Prefetch::new(1 << 20, 3 << 20);
        let steps: Vec<u64> = (0..24)
            .flat_map(|block| {
                prefetch.steps(Block { offset: block * STEP, length: 128 << 10 }).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(steps, (0..24).map(|step| step * STEP).collect::<Vec<_>>());
        let again: Vec<u64> = prefetch.steps(Block { offset: 0, length: 4096 }).collect();
        assert_eq!((again[0], again.len()), (0, 9), "a second pass begins anew");
    }
}
