//! [`Bottleneck`]: places that carry less than the drives below them could read.
//!
//! Here: which they are and what they cost, as numbers. Not here: words (`view`), remedies (`findings`).

use super::load::{Load, hop_limit, possible};
use crate::{
    machine::{Machine, pci::NodeKind},
    model::{DriveName, Limits, NodeIndex},
};

/// A place at this share of its limit counts as full.
pub const FULL: f64 = 0.97;

/// A place that several drives share and that holds them back.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The node whose link, or whose own fabric if it is a root complex, is the limit.
    pub node: NodeIndex,
    /// Drives behind it that it holds back: those under load when there is load, else all below.
    pub drives: Vec<DriveName>,
    /// What it carries at most, bytes per second.
    pub limit: f64,
    /// What the drives could read without it.
    pub possible: f64,
    /// What it carries now; `None` while nothing runs.
    pub load: Option<f64>,
}

impl Bottleneck {
    /// What it takes away, bytes per second.
    pub fn cost(&self) -> f64 {
        self.possible - self.limit
    }

    /// Whether it is full right now.
    pub fn is_full(&self) -> bool {
        self.load.is_some_and(|load| load >= FULL * self.limit)
    }
}

/// All bottlenecks, full ones first, then by what they cost. Places whose limit nobody knows are none.
pub fn find(machine: &Machine, limits: &Limits, load: &Load) -> Vec<Bottleneck> {
    let busy = load.is_busy();
    let mut found: Vec<Bottleneck> = Vec::new();
    for (node, data) in machine.pci.iter() {
        if data.kind == NodeKind::Endpoint {
            continue;
        }
        let Some(limit) = hop_limit(limits, node) else { continue };
        let below = machine.pci.subtree(node);
        let drives: Vec<DriveName> = machine
            .drives
            .iter()
            .filter(|drive| drive.node.is_some_and(|at| below.contains(&at)))
            .filter(|drive| !busy || load.of(std::slice::from_ref(&drive.name)) > 1e6)
            .map(|drive| drive.name.clone())
            .collect();
        let Some(possible) = possible(limits, &drives) else { continue };
        if drives.len() < 2 || possible <= limit * 1.03 {
            continue;
        }
        let now = busy.then(|| load.of(&drives));
        found.push(Bottleneck { node, drives, limit, possible, load: now });
    }
    found.sort_by(|a, b| {
        (b.is_full(), b.cost()).partial_cmp(&(a.is_full(), a.cost())).unwrap_or(std::cmp::Ordering::Equal)
    });
    // Along one chain of ports the narrowest hop tells the story.
    let mut told: Vec<Vec<DriveName>> = Vec::new();
    found.retain(|bottleneck| {
        let new = !told.contains(&bottleneck.drives);
        told.push(bottleneck.drives.clone());
        new
    });
    found
}
