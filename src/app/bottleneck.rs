//! [`Bottleneck`]: places that carry less than the drives below them could read.
//!
//! Here: which they are and what they cost, as numbers. Not here: words (`view`), remedies (`findings`).

use super::load::{Load, possible};
use crate::{
    capacity::flow,
    machine::Machine,
    model::{DriveName, Limit, Limits, NodeIndex},
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
    /// Where that limit comes from.
    pub source: Limit,
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
    // A link that ends in a device is that device's alone.
    let shared = flow::places(machine, limits).into_iter().filter(|place| place.is_shared(machine));
    for place in shared {
        let limit = place.limit.bytes_per_second.0;
        let drives: Vec<DriveName> = place
            .drives(machine)
            .into_iter()
            .filter(|drive| !busy || load.of(std::slice::from_ref(&drive.name)) > 1e6)
            .map(|drive| drive.name.clone())
            .collect();
        let Some(possible) = possible(machine, limits, &drives) else { continue };
        if drives.len() < 2 || possible <= limit * 1.03 {
            continue;
        }
        let now = busy.then(|| load.of(&drives));
        found.push(Bottleneck { node: place.node, drives, limit, possible, source: place.limit, load: now });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity,
        source::{self, origin::Origin},
    };

    #[test]
    fn drives_on_several_ports_of_an_intel_chipset_share_dmi() {
        let (machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let machine = capacity::chipset::testing::behind_a_b660(machine);
        let limits = capacity::limits(&machine);
        let found = find(&machine, &limits, &Load::default());
        let dmi = found.iter().find(|found| found.drives.len() == 4).unwrap();
        assert_eq!(machine.pci.node(dmi.node).address.to_string(), "0000:00:1f.0");
        assert!((7.0e9..8.0e9).contains(&dmi.limit), "{dmi:?}");
    }
}
