//! Offset and length of the next read: random or sequential, of one size or several.

use crate::{
    model::{Pattern, Workload},
    units::Bytes,
};

/// One read: where and how long, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub offset: u64,
    pub length: u32,
}

/// The wyrand generator (Wang Yi, public domain): 64 random bits for one multiplication.
#[derive(Debug, Clone)]
pub struct Wyrand(u64);

impl Wyrand {
    /// A series of its own for every worker of one seed.
    pub fn new(seed: u64, worker: u64) -> Self {
        let mut generator = Self(seed ^ worker.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // Seeds that differ in few bits need a step to part.
        generator.next();
        generator
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.0) * u128::from(self.0 ^ 0xe703_7ed1_a0b4_28db);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of the product")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        low ^ high
    }

    /// 0 to `bound` - 1, by a multiplication instead of a division.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// A block size, and the number of offsets at which a block of it fits.
#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: u32,
    offsets: u64,
}

/// An endless series of reads within a target, random or sequential.
#[derive(Debug)]
pub(crate) struct OffsetGenerator {
    random: Wyrand,
    size: Size,
    /// `--bssplit`: sizes by their shares, one entry per percent.
    split: Option<Box<[Size; 100]>>,
    /// First byte of the part that is read, and the first behind it.
    start: u64,
    end: u64,
    /// Bytes between the offsets of random reads: the smallest block, as in fio.
    step: u64,
    /// Offset of the next sequential read; `None` for random ones.
    at: Option<u64>,
}

impl OffsetGenerator {
    /// The series of job number `job` (of `workload.jobs` on its target) within `span` bytes from the workload's offset on.
    /// Sequential jobs start evenly apart, so that none reads blocks another just brought into a cache.
    pub(crate) fn new(workload: &Workload, span: Bytes, job: u32, worker: u64) -> Self {
        let step = workload.smallest_block().0.max(1);
        let size = |bytes: Bytes| Size {
            // Workload::validate keeps blocks within MOST_BLOCK.
            bytes: u32::try_from(bytes.0).unwrap_or(u32::MAX),
            offsets: span.0.saturating_sub(bytes.0) / step + 1,
        };
        let all = size(workload.block_size);
        let mut shares = workload
            .block_split
            .iter()
            .flat_map(|(bytes, share)| std::iter::repeat_n(size(*bytes), usize::from(*share)));
        let is_split = !workload.block_split.is_empty();
        let split = is_split.then(|| Box::new(std::array::from_fn(|_| shares.next().unwrap_or(all))));
        let start = workload.offset.0;
        let largest = workload.largest_block().0.max(1);
        let first = start + span.0 / largest * u64::from(job) / u64::from(workload.jobs.max(1)) * largest;
        Self {
            random: Wyrand::new(workload.seed, worker),
            size: all,
            split,
            start,
            end: start + span.0,
            step,
            at: (workload.pattern == Pattern::Sequential).then_some(first),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Block {
        #[expect(clippy::cast_possible_truncation, reason = "below 100")]
        let Size { bytes, offsets } = match &self.split {
            None => self.size,
            Some(sizes) => sizes[self.random.below(100) as usize],
        };
        let offset = match &mut self.at {
            None => self.start + self.random.below(offsets) * self.step,
            Some(at) => {
                let offset = if *at + u64::from(bytes) <= self.end { *at } else { self.start };
                *at = offset + u64::from(bytes);
                offset
            }
        };
        Block { offset, length: bytes }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn workload(pattern: Pattern, split: &[(u64, u8)]) -> Workload {
        let block_split = split.iter().map(|(bytes, share)| (Bytes(*bytes), *share)).collect();
        Workload { pattern, block_split, ..Workload::default() }
    }

    #[test]
    fn random_reads_reach_every_block_and_nothing_beyond() {
        // 17 blocks and a piece too short for one.
        let mut series = OffsetGenerator::new(&workload(Pattern::Random, &[]), Bytes(17 * 4096 + 512), 0, 0);
        let offsets: BTreeSet<u64> = (0..2000).map(|_| series.next().offset).collect();
        assert_eq!(offsets, (0..17).map(|block| block * 4096).collect());
    }

    #[test]
    fn workers_of_one_seed_read_differently_and_each_the_same_again() {
        let series = |worker| {
            let mut series = OffsetGenerator::new(&workload(Pattern::Random, &[]), Bytes(1 << 40), 0, worker);
            (0..8).map(|_| series.next().offset).collect::<Vec<_>>()
        };
        assert_eq!(series(0), series(0));
        assert_ne!(series(0), series(1));
    }

    #[test]
    fn reads_in_order_wrap_and_jobs_start_apart() {
        let mut workload = workload(Pattern::Sequential, &[]);
        workload.jobs = 2;
        let offsets = |job| {
            let mut series = OffsetGenerator::new(&workload, Bytes(4 * 4096), job, 0);
            (0..5).map(|_| series.next().offset / 4096).collect::<Vec<_>>()
        };
        assert_eq!(offsets(0), [0, 1, 2, 3, 0]);
        assert_eq!(offsets(1), [2, 3, 0, 1, 2]);
    }

    #[test]
    fn split_sizes_come_in_their_shares_at_multiples_of_the_smallest() {
        for pattern in [Pattern::Random, Pattern::Sequential] {
            let workload = workload(pattern, &[(4096, 60), (65536, 40)]);
            let mut series = OffsetGenerator::new(&workload, Bytes(1 << 30), 0, 0);
            let mut seen = BTreeMap::new();
            let mut between = 0;
            for _ in 0..10_000 {
                let block = series.next();
                assert!(block.offset + u64::from(block.length) <= 1 << 30);
                assert!(block.offset.is_multiple_of(4096));
                between += u32::from(!block.offset.is_multiple_of(block.length.into()));
                *seen.entry(block.length).or_insert(0) += 1;
            }
            assert!((5700..6300).contains(&seen[&4096]), "{seen:?}");
            assert_eq!(seen.len(), 2);
            assert!(between > 3000, "large blocks begin anywhere, as fio's do: {between}");
        }
    }

    proptest! {
        #[test]
        fn nothing_outside_the_part_is_read_and_its_ends_are(
            start in 0_u64..1 << 40, span in 4_u64..64, split: bool, random: bool, job in 0_u32..4,
        ) {
            let pattern = if random { Pattern::Random } else { Pattern::Sequential };
            let sizes: &[(u64, u8)] = if split { &[(512, 50), (2048, 50)] } else { &[] };
            let part = Workload {
                offset: Bytes(start * 512), block_size: Bytes(512), jobs: 4, ..workload(pattern, sizes)
            };
            let mut series = OffsetGenerator::new(&part, Bytes(span * 512), job, u64::from(job));
            let blocks: Vec<Block> = (0..2000).map(|_| series.next()).collect();
            let first = blocks.iter().map(|block| block.offset).min().unwrap();
            let last = blocks.iter().map(|block| block.offset + u64::from(block.length)).max().unwrap();
            prop_assert_eq!(first, start * 512);
            prop_assert!(last <= (start + span) * 512);
            prop_assert!(split || last == (start + span) * 512);
        }
    }
}
