//! A block device's queue settings: `/sys/block/D/queue/*`.

use std::collections::BTreeMap;

use crate::{model::Reading, text::Label};

/// A file that offers choices and brackets the current one: `[none] mq-deadline kyber`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The bracketed word; a file with a single word and no brackets has that word.
    pub current: Label,
    /// All words, in the file's order.
    pub choices: Vec<Label>,
}

/// Queue settings. Each is absent where the kernel has no such file (bio-based devices lack several).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// `scheduler`.
    pub scheduler: Reading<Choice>,
    /// `read_ahead_kb`, KiB.
    pub read_ahead_kb: Reading<u64>,
    /// `nr_requests`.
    pub nr_requests: Reading<u64>,
    /// `max_sectors_kb`, KiB: the largest request the block layer makes.
    pub max_sectors_kb: Reading<u64>,
    /// `max_hw_sectors_kb`, KiB: the largest the device takes.
    pub max_hw_sectors_kb: Reading<u64>,
    /// `nomerges`: 0 merges, 1 simple merges only, 2 none.
    pub nomerges: Reading<u64>,
    /// `rq_affinity`: 0 anywhere, 1 same group, 2 same CPU.
    pub rq_affinity: Reading<u64>,
    /// `wbt_lat_usec`, microseconds; 0 is off.
    pub wbt_lat_usec: Reading<i64>,
    /// `iostats`: 0 blinds diskstats ([`Drive::is_counted`](super::Drive::is_counted)).
    pub iostats: Reading<u64>,
    /// `add_random`.
    pub add_random: Reading<u64>,
    /// `io_poll`: 1 where the driver has poll queues.
    pub io_poll: Reading<u64>,
    /// `write_cache`: `write back` or `write through`.
    pub write_cache: Reading<Label>,
    /// `rotational`.
    pub rotational: Reading<bool>,
    /// `logical_block_size`, bytes.
    pub logical_block_size: Reading<u64>,
    /// `optimal_io_size`, bytes.
    pub optimal_io_size: Reading<u64>,
    /// The files without a field of their own, by name.
    pub others: BTreeMap<Label, Reading<Label>>,
    /// Default, read and poll hardware queues, counted by debugfs `hctx*/type` or, without it, derived from
    /// `/sys/block/D/mq/*/cpu_list`.
    pub hardware_queues: Reading<HardwareQueues>,
}

impl Queue {
    /// A file without a field of its own.
    pub(crate) fn other(&self, file: &str) -> Reading<Label> {
        let absent = || Reading::absent("queue", format!("this kernel has no queue/{file}"));
        self.others.get(file).cloned().unwrap_or_else(absent)
    }
}

/// Hardware queues by type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HardwareQueues {
    /// Interrupt-driven queues that serve everything.
    pub default: u32,
    /// Queues for reads only.
    pub read: u32,
    /// Queues that are polled.
    pub poll: u32,
}
