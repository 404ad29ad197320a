//! Reads on their way through the tree: the places that drives share, the rates that arrive there, and the
//! bottlenecks.

use std::collections::{BTreeMap, BTreeSet};

use super::sharing::{self, Shared};
use crate::{
    machine::{Drive, DriveKind, Machine, NodeKind},
    model::{Basis, Limit, Limits, NodeIndex},
};

/// A place with a limit: a link, a chipset's uplink, a root complex.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Of a link the device below it, or the port above if several functions of the device hold drives; of a
    /// chipset's DMI its bridge; of a root complex itself.
    pub node: NodeIndex,
    /// The nodes directly below this place.
    pub ways: Vec<NodeIndex>,
    /// Its limit.
    pub limit: Limit,
    /// The functions whose drives read through it, with the share of the limit that each byte takes: 1, or another
    /// share where packets of different sizes mix.
    pub through: Vec<(NodeIndex, f64)>,
}

/// All places that carry drives, in bus order of the ports above them.
pub fn places(machine: &Machine, limits: &Limits) -> Vec<Place> {
    let tree = &machine.pci;
    let functions: BTreeSet<NodeIndex> = machine.hardware_drives().filter_map(|drive| drive.node).collect();
    let mut places: BTreeMap<NodeIndex, Place> = BTreeMap::new();
    for function in functions.into_iter().filter(|at| !tree.node(*at).is_emulated()) {
        for at in tree.whole_ancestry(function) {
            let Some(limit) = limits.hop(at) else { continue };
            // All functions of a device share the link of its port; a limit from a table belongs to its bridge.
            let key = match limit.basis {
                Basis::Table => limit.node.unwrap_or(at),
                _ if tree.node(at).kind == NodeKind::RootComplex => at,
                _ => tree.node(at).parent.unwrap_or(at),
            };
            let place = places.entry(key).or_insert_with(|| Place {
                node: if limit.basis == Basis::Table { key } else { at },
                ways: Vec::new(),
                limit: limit.clone(),
                through: Vec::new(),
            });
            if !place.ways.contains(&at) {
                place.ways.push(at);
                place.node = if place.ways.len() > 1 { key } else { place.node };
            }
            place.through.push((function, limits.byte_share(at, function)));
        }
    }
    places.into_values().collect()
}

/// Rate that reaches these nodes with all drives below busy, in bytes per second: limited by the drives themselves,
/// not by the nodes' own limits. `None` without any known limit.
pub(crate) fn arriving(machine: &Machine, limits: &Limits, at: &[NodeIndex]) -> Option<f64> {
    arriving_from(machine, limits, &places(machine, limits), at, &|_| true)
}

/// Whether drives could read more through a place than it carries; less than 1.005 times as much is rounding.
pub(crate) fn exceeds(possible: f64, limit: &Limit) -> bool {
    possible > 1.005 * limit.bytes_per_second.0
}

/// Rate of the drives in `used` without this place's limit, in bytes per second, if the limit is lower.
pub(super) fn held_back(
    machine: &Machine,
    limits: &Limits,
    places: &[Place],
    place: &Place,
    used: &dyn Fn(&Drive) -> bool,
) -> Option<f64> {
    let wanted = wanted(machine, places, place, used);
    // Functions on one link have nothing below it but themselves.
    let arriving = arriving_from(machine, limits, places, &place.ways, used).unwrap_or(wanted);
    Some(arriving.min(wanted)).filter(|possible| exceeds(*possible, &place.limit))
}

/// Sum of the path limits of the drives below each place, over the place's limit.
pub(super) fn oversubscription(machine: &Machine, limits: &Limits) -> BTreeMap<NodeIndex, f64> {
    let places = places(machine, limits);
    let ratio = |place: &Place| wanted(machine, &places, place, &|_| true) / place.limit.bytes_per_second.0;
    places.iter().map(|place| (place.node, ratio(place))).collect()
}

/// Sum of the path limits of the `used` drives below a place. A drive without a place between, such as one of several
/// functions on one link, could fill it.
fn wanted(machine: &Machine, places: &[Place], place: &Place, used: &dyn Fn(&Drive) -> bool) -> f64 {
    let tree = &machine.pci;
    let carries = |place: &Place| place.limit.bytes_per_second.0;
    let below = |other: &&Place| {
        let is_below = |way: NodeIndex| tree.whole_ancestry(way).skip(1).any(|at| place.ways.contains(&at));
        other.ways.iter().all(|way| is_below(*way))
    };
    let below: Vec<&Place> = places.iter().filter(below).collect();
    // A drive with several controllers, such as virtual functions, is one drive.
    let mut drives: BTreeMap<String, f64> = BTreeMap::new();
    for drive in place.drives(machine).into_iter().filter(|drive| used(drive)) {
        let Some((function, share)) = drive.node.and_then(|at| Some((at, place.share(at)?))) else {
            continue;
        };
        let path = below.iter().filter_map(|other| Some(carries(other) / other.share(function)?));
        let wants = path.reduce(f64::min).unwrap_or(carries(place) / share) * share;
        let known = drives.entry(identity(drive)).or_default();
        *known = known.max(wants);
    }
    drives.values().sum()
}

/// Identity of a device that could fill a link: a physical NVMe drive, or the host adapter of other disks.
fn identity(drive: &Drive) -> String {
    match (drive.model.value(), drive.serial.value()) {
        _ if drive.kind != DriveKind::Nvme => format!("adapter {:?}", drive.node),
        (Some(model), Some(serial)) if !serial.is_empty() => format!("{model} {serial}"),
        _ => drive.unit().to_owned(),
    }
}

/// Rate of the `used` drives below these nodes; `None` without any known limit.
fn arriving_from(
    machine: &Machine,
    limits: &Limits,
    places: &[Place],
    at: &[NodeIndex],
    used: &dyn Fn(&Drive) -> bool,
) -> Option<f64> {
    let tree = &machine.pci;
    let is_below = |node: NodeIndex| tree.whole_ancestry(node).skip(1).any(|above| at.contains(&above));
    let mut units: BTreeMap<&str, (NodeIndex, f64)> = BTreeMap::new();
    for drive in machine.hardware_drives().filter(|drive| used(drive)) {
        let Some(function) = drive.node.filter(|node| at.contains(node) || is_below(*node)) else { continue };
        let own = limits.own.get(&drive.name);
        let own = own.map_or(f64::INFINITY, |limit| limit.bytes_per_second.0);
        units.entry(drive.unit()).or_insert((function, own));
    }
    let units: Vec<(NodeIndex, f64)> = units.into_values().collect();
    let ceilings: Vec<f64> = units.iter().map(|(_, own)| *own).collect();
    let below = places.iter().filter(|place| place.ways.iter().all(|way| is_below(*way)));
    let shared = |place: &Place| {
        let draws = units.iter().enumerate();
        let draws = draws.filter_map(|(flow, (function, _))| Some((flow, place.share(*function)?)));
        Shared { capacity: place.limit.bytes_per_second.0, draws: draws.collect() }
    };
    let rates = sharing::fair(&ceilings, &below.map(shared).collect::<Vec<_>>());
    rates.into_iter().map(|(rate, _)| rate).filter(|rate| rate.is_finite()).reduce(|sum, rate| sum + rate)
}

impl Place {
    /// The share of the limit that each byte of a function's drives takes; `None` if they do not read through here.
    pub fn share(&self, function: NodeIndex) -> Option<f64> {
        self.through.iter().find(|(at, _)| *at == function).map(|(_, share)| *share)
    }

    /// Whether at least two drives share it; controllers of one drive count once, and so do disks of one host
    /// adapter.
    pub fn is_shared(&self, machine: &Machine) -> bool {
        self.drives(machine).into_iter().map(identity).collect::<BTreeSet<_>>().len() > 1
    }

    /// The block devices that read through it.
    pub fn drives<'a>(&self, machine: &'a Machine) -> Vec<&'a Drive> {
        let through = |drive: &&Drive| drive.node.is_some_and(|function| self.share(function).is_some());
        machine.hardware_drives().filter(through).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        capacity::{self, chipset},
        source::{self, origin::Origin},
    };

    #[test]
    fn a_link_that_ports_of_a_chipset_share_is_counted_once() {
        let (machine, _) = source::read_machine(&*Origin::Demo("x570".to_owned()).open().unwrap());
        let machine = chipset::testing::behind_a_b660(machine);
        let limits = capacity::limits(&machine);
        let behind: Vec<_> = machine
            .drives
            .iter()
            .filter_map(|drive| Some(chipset::above(&machine, drive.node?)?.name))
            .collect();
        assert_eq!(behind, ["Intel B660"; 4]);
        let places = places(&machine, &limits);
        let dmi = places.iter().find(|place| place.limit.basis == Basis::Table).unwrap();
        assert_eq!((dmi.ways.len(), dmi.through.len()), (4, 4));
        let dmi = dmi.limit.bytes_per_second.0;
        let total = |limits| capacity::total(&machine, limits).at_most_bytes_per_second.0;
        assert!((total(&limits) / dmi - 1.0).abs() < 1e-9, "{}", total(&limits));
        let ports: Vec<_> =
            limits.hops.iter().filter(|(_, hop)| hop.basis == Basis::Table).map(|(at, _)| *at).collect();
        assert!(
            total(&capacity::limits_without(&machine, &ports)) > 3.5 * dmi,
            "the drives alone want four times that"
        );
    }
}
