//! What a place can carry at most, and where that number comes from.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ids::{DriveName, NodeIndex};
use crate::units::BytesPerSecond;

/// Where a limit comes from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A test on this machine reached it.
    Measured,
    /// Somebody published it for this part; `because` names the source.
    Published,
    /// Arithmetic over a link's speed, width, encoding and payload size.
    Link,
    /// A table of `assets/`, for links that the operating system cannot see.
    Table,
}

/// A limit with its reason in words. What is not known is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Payload bytes per second in the direction of reads.
    pub bytes_per_second: BytesPerSecond,
    /// Where the number comes from.
    pub basis: Basis,
    /// The sentence behind it: `16 GT/s x4 at MPS 256, port 0000:40:01.4`.
    pub because: String,
    /// The node whose link or bridge sets it.
    #[serde(skip)]
    pub node: Option<NodeIndex>,
}

/// All limits of a machine. A node or drive without an entry has no known limit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// Of the link above each node (the hop towards the root complex); for a root complex, its own.
    pub hops: BTreeMap<NodeIndex, Limit>,
    /// Of the whole path from each node to its root complex: the lowest hop.
    pub paths: BTreeMap<NodeIndex, Limit>,
    /// What each drive can deliver: the lower of its path and what the drive itself is known to reach.
    pub drives: BTreeMap<DriveName, Limit>,
    /// Reads per second each drive is known to reach (published or measured), with the source.
    pub drive_iops: BTreeMap<DriveName, (f64, Basis, String)>,
    /// Sum of path limits of the drives below a node over that node's own limit; 1.0 is just enough.
    pub oversubscription: BTreeMap<NodeIndex, f64>,
}

impl Basis {
    /// CONTRACT's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Link => "link",
            Self::Table => "table",
        }
    }
}

impl Limits {
    /// The limit of the link above `node`.
    pub fn hop(&self, node: NodeIndex) -> Option<&Limit> {
        self.hops.get(&node)
    }

    /// The limit of the path from `node` to its root complex.
    pub fn path(&self, node: NodeIndex) -> Option<&Limit> {
        self.paths.get(&node)
    }

    /// What `drive` can deliver at most.
    pub fn drive(&self, drive: &DriveName) -> Option<&Limit> {
        self.drives.get(drive)
    }
}
