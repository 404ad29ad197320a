//! Reads on their way through the tree: the places that drives share, the rates that arrive there, and the
//! bottlenecks.

use std::collections::{BTreeMap, BTreeSet};

use super::sharing::{self, Shared};
use crate::{
    machine::{Drive, DriveKind, Machine, NodeKind, PciTree, pci::NodeAddress},
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

/// Places that carry drives, and their order in the tree: made once for a machine and its limits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Places {
    /// The places, in bus order of the ports above them.
    pub list: Vec<Place>,
    /// By place: the places that all of its ways are below.
    above: Vec<BTreeSet<usize>>,
    /// By place: the block devices that read through it, and those at or below its ways, which may be emulated.
    drives: Vec<(Vec<usize>, Vec<usize>)>,
    /// By place: whether at least two drives share it.
    is_shared: Vec<bool>,
    /// By function: the places that its drives read through, with its share of each.
    through: BTreeMap<NodeIndex, Vec<(usize, f64)>>,
    /// By function: its block devices.
    at: BTreeMap<NodeIndex, Vec<usize>>,
}

/// All places that carry drives, in bus order of the ports above them.
pub fn places(machine: &Machine, limits: &Limits) -> Vec<Place> {
    places_with(machine, limits, &BTreeMap::new())
}

/// The same with limits of hops that have none in `limits`.
pub(super) fn places_with(
    machine: &Machine,
    limits: &Limits,
    hops: &BTreeMap<NodeIndex, Limit>,
) -> Vec<Place> {
    let tree = &machine.pci;
    let functions: BTreeSet<NodeIndex> = machine.hardware_drives().filter_map(|drive| drive.node).collect();
    let mut places: BTreeMap<NodeIndex, Place> = BTreeMap::new();
    for function in functions.into_iter().filter(|at| !tree.node(*at).is_emulated()) {
        for at in tree.whole_ancestry(function) {
            let Some(limit) = limits.hop(at).or_else(|| hops.get(&at)) else { continue };
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

/// Whether drives could read more through a place than it carries; less than 1.005 times as much is rounding.
pub(crate) fn exceeds(possible: f64, limit: &Limit) -> bool {
    possible > 1.005 * limit.bytes_per_second.0
}

/// Sum of the path limits of the drives below each place, over the place's limit.
pub(super) fn oversubscription(machine: &Machine, limits: &Limits) -> BTreeMap<NodeIndex, f64> {
    let places = Places::new(machine, limits);
    let ratio = |at: usize, place: &Place| {
        places.wanted(machine, limits, at, &|_| true) / place.limit.bytes_per_second.0
    };
    let ratios = places.list.iter().enumerate().map(|(at, place)| (place.node, ratio(at, place)));
    // 0 is a demand that is unknown.
    ratios.filter(|(_, ratio)| *ratio > 0.0).collect()
}

/// Identity of a device that could fill a link: a physical NVMe drive, or the host adapter of other disks.
fn identity(machine: &Machine, drive: &Drive) -> String {
    match (drive.model.value(), drive.serial.value()) {
        _ if drive.kind != DriveKind::Nvme => format!("adapter {:?}", drive.node),
        (Some(model), Some(serial)) if !serial.is_empty() => format!("{model} {serial}"),
        _ => device(&machine.pci, drive).unwrap_or_else(|| drive.unit().to_owned()),
    }
}

/// The device of a drive whose serial number is not known: the bus of a port's link has one device, with all its virtual
/// functions.
fn device(tree: &PciTree, drive: &Drive) -> Option<String> {
    let node = tree.node(drive.node?);
    let port = tree.node(node.parent?).kind;
    let NodeAddress::Device(address) = node.address else { return None };
    let has_link = matches!(port, NodeKind::RootPort | NodeKind::SwitchDownstream);
    has_link.then(|| format!("bus {:x}:{:x}", address.domain, address.bus))
}

impl Places {
    /// Of a machine with these limits.
    pub fn new(machine: &Machine, limits: &Limits) -> Self {
        let tree = &machine.pci;
        let list = places(machine, limits);
        let ways: BTreeMap<NodeIndex, usize> = list
            .iter()
            .enumerate()
            .flat_map(|(at, place)| place.ways.iter().map(move |way| (*way, at)))
            .collect();
        let above_way = |way: NodeIndex| -> BTreeSet<usize> {
            tree.whole_ancestry(way).skip(1).filter_map(|at| ways.get(&at).copied()).collect()
        };
        let above = |place: &Place| {
            let of_ways = place.ways.iter().map(|way| above_way(*way));
            of_ways.reduce(|one, other| &one & &other).unwrap_or_default()
        };
        let above = list.iter().map(above).collect();
        let mut through: BTreeMap<NodeIndex, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, place) in list.iter().enumerate() {
            for (function, share) in &place.through {
                let known = through.entry(*function).or_default();
                if known.last().is_none_or(|(last, _)| *last != at) {
                    known.push((at, *share));
                }
            }
        }
        let mut drives = vec![(Vec::new(), Vec::new()); list.len()];
        let mut at_function: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
        for (index, drive) in machine.drives.iter().enumerate().filter(|(_, drive)| !drive.kind.is_software())
        {
            let Some(function) = drive.node else { continue };
            at_function.entry(function).or_default().push(index);
            for (at, _) in through.get(&function).into_iter().flatten() {
                drives[*at].0.push(index);
            }
            let under: BTreeSet<usize> =
                tree.whole_ancestry(function).filter_map(|at| ways.get(&at).copied()).collect();
            for at in under {
                drives[at].1.push(index);
            }
        }
        let is_shared = |(through, _): &(Vec<usize>, Vec<usize>)| {
            let drives = through.iter().filter_map(|index| machine.drives.get(*index));
            drives.map(|drive| identity(machine, drive)).collect::<BTreeSet<_>>().len() > 1
        };
        let is_shared = drives.iter().map(is_shared).collect();
        Self { list, above, drives, is_shared, through, at: at_function }
    }

    /// Whether at least two drives share a place; controllers of one drive count once, and so do disks of one host
    /// adapter.
    pub(super) fn is_shared(&self, at: usize) -> bool {
        self.is_shared.get(at).copied().unwrap_or(false)
    }

    /// The block devices that read through a place, with their indices.
    pub(super) fn drives<'a>(
        &'a self,
        machine: &'a Machine,
        at: usize,
    ) -> impl Iterator<Item = (usize, &'a Drive)> {
        let through = self.drives.get(at).into_iter().flat_map(|(through, _)| through);
        through.filter_map(|index| Some((*index, machine.drives.get(*index)?)))
    }

    /// Rate of the drives in `used`, by index, without this place's limit, in bytes per second, if the limit is lower.
    pub(super) fn held_back(
        &self,
        machine: &Machine,
        limits: &Limits,
        at: usize,
        used: &dyn Fn(usize) -> bool,
    ) -> Option<f64> {
        let place = self.list.get(at)?;
        let wanted = self.wanted(machine, limits, at, used);
        let under = self.drives.get(at).into_iter().flat_map(|(_, under)| under);
        let under = under.filter(|index| used(**index)).filter_map(|index| machine.drives.get(*index));
        // Functions on one link have nothing below it but themselves.
        let arriving = self.arriving_from(limits, under, |other| self.is_below(other, at)).unwrap_or(wanted);
        Some(arriving.min(wanted)).filter(|possible| exceeds(*possible, &place.limit))
    }

    /// Rate that reaches these nodes with all drives below busy, in bytes per second: limited by the drives themselves,
    /// not by the nodes' own limits. `None` without any known limit.
    pub(crate) fn arriving(&self, machine: &Machine, limits: &Limits, at: &[NodeIndex]) -> Option<f64> {
        let tree = &machine.pci;
        let is_below = |node: NodeIndex| tree.whole_ancestry(node).skip(1).any(|above| at.contains(&above));
        let functions: BTreeSet<NodeIndex> = at.iter().flat_map(|node| tree.subtree(*node)).collect();
        let indices: BTreeSet<usize> =
            functions.iter().filter_map(|function| self.at.get(function)).flatten().copied().collect();
        let under = indices.into_iter().filter_map(|index| machine.drives.get(index));
        self.arriving_from(limits, under, |other| {
            self.list.get(other).is_some_and(|place| place.ways.iter().all(|way| is_below(*way)))
        })
    }

    fn is_below(&self, other: usize, at: usize) -> bool {
        self.above.get(other).is_some_and(|above| above.contains(&at))
    }

    /// Sum of the path limits of the `used` drives below a place. A drive without a place between, such as one of several
    /// functions on one link, could fill it. A drive without a known link, as in a drawing of the tree, wants its own rate,
    /// and nothing where that is unknown too.
    fn wanted(&self, machine: &Machine, limits: &Limits, at: usize, used: &dyn Fn(usize) -> bool) -> f64 {
        let Some(place) = self.list.get(at) else { return 0.0 };
        let carries = |place: &Place| place.limit.bytes_per_second.0;
        // A drive with several controllers, such as virtual functions, is one drive.
        let mut drives: BTreeMap<String, f64> = BTreeMap::new();
        for (_, drive) in self.drives(machine, at).filter(|(index, _)| used(*index)) {
            let Some(ways) = drive.node.and_then(|function| self.through.get(&function)) else { continue };
            let Some((_, share)) = ways.iter().find(|(other, _)| *other == at) else { continue };
            let path = ways.iter().filter(|(other, _)| self.is_below(*other, at));
            let path = path.filter_map(|(other, share)| Some(carries(self.list.get(*other)?) / share));
            let most = path.reduce(f64::min).unwrap_or(carries(place) / share);
            let most = if super::has_link(machine, limits, drive) {
                most
            } else {
                let Some(own) = limits.own.get(&drive.name) else { continue };
                own.bytes_per_second.0.min(most)
            };
            let wants = most * share;
            let known = drives.entry(identity(machine, drive)).or_default();
            *known = known.max(wants);
        }
        // The sum of nothing is -0.0.
        drives.values().sum::<f64>() + 0.0
    }

    /// Rate of these drives through the places that are `below`; `None` without any known limit.
    fn arriving_from<'a>(
        &self,
        limits: &Limits,
        drives: impl Iterator<Item = &'a Drive>,
        below: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let mut units: BTreeMap<&str, (NodeIndex, f64)> = BTreeMap::new();
        for drive in drives {
            let Some(function) = drive.node else { continue };
            let own = limits.own.get(&drive.name);
            let own = own.map_or(f64::INFINITY, |limit| limit.bytes_per_second.0);
            units.entry(drive.unit()).or_insert((function, own));
        }
        let ceilings: Vec<f64> = units.values().map(|(_, own)| *own).collect();
        let mut draws: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
        for (flow, (function, _)) in units.values().enumerate() {
            let ways = self.through.get(function).into_iter().flatten();
            for (at, share) in ways.filter(|(at, _)| below(*at)) {
                draws.entry(*at).or_default().push((flow, *share));
            }
        }
        let shared = draws.into_iter().filter_map(|(at, draws)| {
            Some(Shared { capacity: self.list.get(at)?.limit.bytes_per_second.0, draws })
        });
        let rates = sharing::fair(&ceilings, &shared.collect::<Vec<_>>());
        rates.into_iter().map(|(rate, _)| rate).filter(|rate| rate.is_finite()).reduce(|sum, rate| sum + rate)
    }
}

impl Place {
    /// The share of the limit that each byte of a function's drives takes; `None` if they do not read through here.
    pub fn share(&self, function: NodeIndex) -> Option<f64> {
        // Functions were added in order.
        let first = self.through.partition_point(|(at, _)| *at < function);
        self.through.get(first).filter(|(at, _)| *at == function).map(|(_, share)| *share)
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
        source,
    };

    #[test]
    fn a_link_that_ports_of_a_chipset_share_is_counted_once() {
        let machine = source::testing::demo("x570");
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
