//! [`Bottleneck`]: places that carry less than the drives below them could read.

use super::flow;
use crate::{
    machine::Machine,
    model::{DriveName, Limit, Limits, NodeIndex},
};

/// A place at this share of its limit counts as full.
pub const FULL: f64 = 0.97;

/// Current read rate of drives, bytes per second.
pub type Reads<'a> = &'a dyn Fn(&[DriveName]) -> f64;

/// A place that limits the drives that share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The node whose link is the limit, or a root complex itself.
    pub node: NodeIndex,
    /// Drives it limits: those under load when there is load, else all below.
    pub drives: Vec<DriveName>,
    /// Its limit, bytes per second.
    pub limit: f64,
    /// Rate of the drives without it, bytes per second.
    pub possible: f64,
    /// Source of the limit.
    pub source: Limit,
    /// Its current rate, bytes per second; `None` without a load.
    pub load: Option<f64>,
}

impl Bottleneck {
    /// Lost rate, bytes per second.
    pub fn cost(&self) -> f64 {
        self.possible - self.limit
    }

    /// Whether its load reaches its limit.
    pub fn is_full(&self) -> bool {
        self.load.is_some_and(|load| load >= FULL * self.limit)
    }
}

/// Bottlenecks, full ones first, then by cost; of several on one path the narrowest. Places without a known limit are
/// none. `reads` is given under load.
pub fn find(machine: &Machine, limits: &Limits, reads: Option<Reads>) -> Vec<Bottleneck> {
    let places = flow::places(machine, limits);
    let is_used = |name: &DriveName| reads.is_none_or(|reads| reads(std::slice::from_ref(name)) > 1e6);
    let bottleneck = |place: &flow::Place| {
        let drives = place.drives(machine).into_iter().map(|drive| drive.name.clone());
        let drives: Vec<DriveName> = drives.filter(is_used).collect();
        // The link of a single device is not shared.
        let is_shared = drives.len() > 1 && place.is_shared(machine);
        let possible = flow::held_back(machine, limits, &places, place, &|drive| is_used(&drive.name));
        let load = reads.map(|reads| reads(&drives));
        let (limit, source) = (place.limit.bytes_per_second.0, place.limit.clone());
        let made = |possible| Bottleneck { node: place.node, drives, limit, possible, source, load };
        possible.filter(|_| is_shared).map(made)
    };
    let mut found: Vec<Bottleneck> = places.iter().filter_map(bottleneck).collect();
    found.sort_by(|a, b| a.limit.total_cmp(&b.limit));
    let mut ways: Vec<Vec<DriveName>> = Vec::new();
    found.retain(|bottleneck| {
        let is_new = !ways.contains(&bottleneck.drives);
        ways.push(bottleneck.drives.clone());
        is_new
    });
    found.sort_by(|a, b| b.is_full().cmp(&a.is_full()).then(b.cost().total_cmp(&a.cost())));
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
        let found = find(&machine, &limits, None);
        let dmi = found.iter().find(|found| found.drives.len() == 4).unwrap();
        assert_eq!(machine.pci.node(dmi.node).address.to_string(), "0000:00:1f.0");
        assert!((7.0e9..8.0e9).contains(&dmi.limit), "{dmi:?}");
    }
}
