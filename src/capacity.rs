//! What each place of a machine can carry: payload limits of hops, paths, bridges, drives and processors, each with its
//! basis and its reason in words. Pure functions of a [`crate::machine::Machine`].
//!
//! Not here: judging (`findings`), reading (`source`).

pub mod chipset;
pub mod expected;
pub mod measured;
pub mod link;
pub mod processor;
pub mod read_cost;
pub mod sharing;
pub mod tables;
pub mod slots;
pub mod exchange;
pub mod total;

use std::collections::BTreeMap;

use crate::{
    machine::{
        Drive, Machine, ReadCost,
        pci::{NodeAddress, NodeKind},
    },
    model::{Basis, DriveName, Limit, Limits, NodeIndex},
    units::BytesPerSecond,
};

pub use expected::{Expected, expected};
pub use measured::learned;
pub use read_cost::Beside;
pub use slots::Slot;
pub use total::{Total, total, total_in};

/// What tests on this machine found out before; it counts before anything published.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {
    /// What a root complex carried, with the run that showed it.
    pub root_complexes: BTreeMap<NodeAddress, (BytesPerSecond, String)>,
    /// Reads per second and bytes per second a drive reached, with the run that showed it.
    pub drives: BTreeMap<DriveName, (f64, BytesPerSecond, String)>,
    /// What reads cost the processors: for each size the cheapest.
    pub reads: Vec<ReadCost>,
}

/// All limits of a machine, what was measured on it before first.
pub fn limits(machine: &Machine) -> Limits {
    limits_with(machine, &measured::remembered(machine))
}

/// All limits of a machine.
pub fn limits_with(machine: &Machine, measured: &Measurements) -> Limits {
    let mut limits = Limits {
        hops: hops(machine, measured),
        processors: processor::limit(machine, &measured.reads),
        memory: processor::memory(machine),
        ..Limits::default()
    };
    limits.paths = paths(machine, &limits.hops);
    for drive in machine.hardware_drives() {
        let own = own_limit(drive, measured);
        let path = drive.node.and_then(|node| limits.path(node));
        let lowest = [path, own.as_ref()].into_iter().flatten().reduce(lower).cloned();
        limits.drives.extend(lowest.map(|limit| (drive.name.clone(), limit)));
        limits.own.extend(own.map(|limit| (drive.name.clone(), limit)));
        if let Some(iops) = drive_iops(drive, measured) {
            limits.drive_iops.insert(drive.name.clone(), iops);
        }
    }
    limits.oversubscription = oversubscription(machine, &limits);
    limits
}

fn hops(machine: &Machine, measured: &Measurements) -> BTreeMap<NodeIndex, Limit> {
    let limit = |index: NodeIndex| match machine.pci.node(index).kind {
        NodeKind::RootComplex => root_complex(machine, index, measured),
        _ => link::limit(&machine.pci, index).or_else(|| chipset::dmi(machine, index)),
    };
    machine.pci.iter().filter_map(|(index, _)| Some((index, limit(index)?))).collect()
}

/// A root complex's own limit: measured here, or published for its host bridge.
fn root_complex(machine: &Machine, index: NodeIndex, measured: &Measurements) -> Option<Limit> {
    let node = machine.pci.node(index);
    if let Some((rate, run)) = measured.root_complexes.get(&node.address) {
        return Some(Limit {
            bytes_per_second: *rate,
            basis: Basis::Measured,
            because: run.clone(),
            node: Some(index),
        });
    }
    let (vendor, device) = (node.vendor.get()?, node.device.get()?);
    let row = tables::root_complexes().iter().find(|row| row.vendor == vendor && row.device == device)?;
    Some(Limit {
        bytes_per_second: BytesPerSecond(row.bytes_per_second),
        basis: Basis::Published,
        because: format!("{}, {} ({})", row.name, row.because, row.source),
        node: Some(index),
    })
}

/// The lowest hop from each node up to its root complex, that one's own limit left out; of equal ones the nearest to the
/// node, because that is the one its owner can change. A root complex's path is its own limit.
fn paths(machine: &Machine, hops: &BTreeMap<NodeIndex, Limit>) -> BTreeMap<NodeIndex, Limit> {
    let tree = &machine.pci;
    let lowest = |index: NodeIndex| {
        let is_root = |at: &NodeIndex| tree.node(*at).kind == NodeKind::RootComplex;
        if is_root(&index) {
            return hops.get(&index).cloned();
        }
        let on_the_way = chipset::whole_ancestry(tree, index).into_iter().filter(|at| !is_root(at));
        on_the_way.filter_map(|at| hops.get(&at)).reduce(lower).cloned()
    };
    tree.iter().filter_map(|(index, _)| Some((index, lowest(index)?))).collect()
}

fn lower<'a>(least: &'a Limit, next: &'a Limit) -> &'a Limit {
    if next.bytes_per_second < least.bytes_per_second { next } else { least }
}

/// What such a drive is known to reach, whatever it is plugged into.
fn own_limit(drive: &Drive, measured: &Measurements) -> Option<Limit> {
    let (bytes_per_second, basis, because) = if let Some((_, rate, run)) = measured.drives.get(&drive.name) {
        (*rate, Basis::Measured, run.clone())
    } else {
        let row = published(drive)?;
        (BytesPerSecond(row.bytes_per_second?), Basis::Published, row.words())
    };
    Some(Limit { bytes_per_second, basis, because: format!("the drive: {because}"), node: drive.node })
}

fn drive_iops(drive: &Drive, measured: &Measurements) -> Option<(f64, Basis, String)> {
    if let Some((iops, _, run)) = measured.drives.get(&drive.name) {
        return Some((*iops, Basis::Measured, run.clone()));
    }
    let row = published(drive)?;
    Some((row.iops?, Basis::Published, row.words()))
}

fn published(drive: &Drive) -> Option<&'static tables::DriveModel> {
    let model = drive.model.value()?;
    tables::drive_models().iter().find(|row| row.models.iter().any(|name| name == model.as_str()))
}

/// For each node with a limit of its own: what the drives below can deliver together, over that.
fn oversubscription(machine: &Machine, limits: &Limits) -> BTreeMap<NodeIndex, f64> {
    let mut wanted: BTreeMap<NodeIndex, f64> = BTreeMap::new();
    for drive in machine.hardware_drives() {
        let Some((node, limit)) = drive.node.and_then(|node| Some((node, limits.path(node)?))) else {
            continue;
        };
        for at in chipset::whole_ancestry(&machine.pci, node) {
            // What belongs to a chipset counts at the chipset, once.
            let counted = limits.hop(at).and_then(|hop| hop.node).unwrap_or(at);
            *wanted.entry(counted).or_default() += limit.bytes_per_second.0;
        }
    }
    let carries = |node: NodeIndex| limits.hops.values().find(|hop| hop.node == Some(node));
    wanted
        .into_iter()
        .filter_map(|(node, wanted)| Some((node, wanted / carries(node)?.bytes_per_second.0)))
        .collect()
}
