//! Checks, sizes and title of a [`Workload`].

use super::{
    fio::{Codec, Plain, ValueError},
    options::{OPTIONS, Workload},
};
use crate::units::{self, Bytes};

/// A workload that cannot be run. One line: the option and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {wrong}; {fix}")]
pub struct WorkloadError {
    /// The option at fault, in fio's name.
    pub option: &'static str,
    /// What is wrong with it.
    pub wrong: String,
    /// What to do.
    pub fix: String,
}

impl Workload {
    /// Refuses invalid options; targets are checked when they are opened.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        if self.targets.is_empty() {
            let (wrong, fix) = (
                "no drive or file to read from",
                "add --filename with a drive, or with a file as in --filename /var/tmp/iodyno.test --size 1g",
            );
            return Err(WorkloadError { option: "filename", wrong: wrong.to_owned(), fix: fix.to_owned() });
        }
        OPTIONS.iter().try_for_each(|option| {
            let error = |ValueError { wrong, fix }| WorkloadError { option: option.name, wrong, fix };
            option.check(self).map_err(error)
        })
    }

    /// Bytes after which a job on a range of `span` ends; `None` if only time or the user ends it.
    pub fn amount(&self, span: Bytes) -> Option<Bytes> {
        self.io_size.or_else(|| (self.runtime.is_none() || !self.time_based).then_some(span))
    }

    /// The smallest block of any read; random offsets are multiples of it, as in fio.
    pub fn smallest_block(&self) -> Bytes {
        self.block_split.iter().map(|(size, _)| *size).min().unwrap_or(self.block_size)
    }

    /// The largest block of any read.
    pub fn largest_block(&self) -> Bytes {
        self.block_split.iter().map(|(size, _)| *size).max().unwrap_or(self.block_size)
    }

    /// One line for a title: `4k randread, depth 32, 1 job`.
    pub fn title(&self) -> String {
        let block = <Plain as Codec<_>>::text(&self.block_split);
        let block = block.unwrap_or_else(|| units::block_size(self.block_size));
        let jobs = if self.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", self.jobs) };
        let buffered = match (self.direct, self.uncached) {
            (true, _) => "",
            (false, false) => ", buffered",
            (false, true) => ", buffered and dropped",
        };
        let polled = match (self.hipri, self.hybrid_poll) {
            (true, true) => ", hybrid polled",
            (true, false) => ", polled",
            (false, _) => "",
        };
        format!("{block} {}, depth {}, {jobs}{buffered}{polled}", self.pattern.name(), self.depth)
    }
}
