//! Limits of hops, paths, bridges, drives and CPUs in payload bytes, each with its basis and reason: pure functions
//! of a [`crate::machine::Machine`].

pub mod bottleneck;
pub mod chipset;
pub mod expected;
pub mod flow;
pub mod measured;
pub mod link;
mod payload;
pub mod processor;
pub mod read_cost;
pub mod sharing;
pub mod tables;
pub mod slots;
pub mod exchange;
pub mod total;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    machine::{
        Drive, Exceeded, Machine, ReadCost,
        pci::{NodeAddress, NodeKind},
    },
    model::{Basis, DriveName, Limit, Limits, NodeIndex},
    units::BytesPerSecond,
};

pub use expected::{Expected, expected};
pub use measured::{learned, refutations};
pub use read_cost::SystemActivity;
pub use slots::Slot;
pub use total::{Total, total, total_in};

/// Measurements of earlier tests on this machine; they precede published figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {
    /// Rate of a root complex, with the run that measured it.
    pub root_complexes: BTreeMap<NodeAddress, (BytesPerSecond, String)>,
    /// Reads per second and bytes per second of a drive, with the run that measured them.
    pub drives: BTreeMap<DriveName, (f64, BytesPerSecond, String)>,
    /// CPU cost of reads: for each size the cheapest.
    pub reads: Vec<ReadCost>,
    /// Results above a limit: that limit is not used again.
    pub exceeded: Vec<Exceeded>,
}

/// All limits of a machine, by its stored measurements.
pub fn limits(machine: &Machine) -> Limits {
    limits_with(machine, &measured::remembered(machine))
}

/// The same without the limits of the links above these nodes.
pub fn limits_without(machine: &Machine, hops: &[NodeIndex]) -> Limits {
    limits_of(machine, &measured::remembered(machine), hops)
}

/// All limits of a machine.
pub fn limits_with(machine: &Machine, measured: &Measurements) -> Limits {
    limits_of(machine, measured, &[])
}

fn limits_of(machine: &Machine, measured: &Measurements, without: &[NodeIndex]) -> Limits {
    let mut limits = Limits {
        processors: processor::published(machine)
            .map(|published| read_cost::corrected(published, &measured.reads)),
        memory: processor::memory(machine),
        ..Limits::default()
    };
    hops(machine, measured, &mut limits);
    limits.hops.retain(|hop, _| !without.contains(hop));
    limits.paths = paths(machine, &limits);
    for drive in machine.hardware_drives() {
        let own = own_limit(drive, measured);
        let path = drive.node.and_then(|node| limits.path(node));
        let lowest = path.into_iter().chain(&own).min_by(|a, b| by_rate(a, b)).cloned();
        limits.drives.extend(lowest.map(|limit| (drive.name.clone(), limit)));
        limits.own.extend(own.map(|limit| (drive.name.clone(), limit)));
        if let Some(iops) = drive_iops(drive, measured) {
            limits.drive_iops.insert(drive.name.clone(), iops);
        }
    }
    limits.oversubscription = flow::oversubscription(machine, &limits);
    limits
}

/// Adds the limit of each hop, refuted limits, and the share that bytes of different drives take of a link.
fn hops(machine: &Machine, measured: &Measurements, limits: &mut Limits) {
    let tree = &machine.pci;
    let senders = senders(machine);
    for (index, node) in tree.iter() {
        let below = node.parent.and_then(|port| senders.get(&port)).map_or(&[][..], Vec::as_slice);
        let packets: Vec<(u16, f64)> = below.iter().map(|sender| (sender.payload, sender.line)).collect();
        let limit = match node.kind {
            NodeKind::RootComplex => root_complex(machine, index, measured),
            _ => link::limit(tree, index, &packets).or_else(|| chipset::dmi(machine, index)),
        };
        let Some(limit) = limit else { continue };
        if let Some(words) = measured::refuted(machine, &limit, measured) {
            limits.refuted.insert(index, words);
            continue;
        }
        if let Some(link) = link::trained(tree, index).filter(|_| limit.basis == Basis::Link) {
            let share = |sender: &Sender| limit.bytes_per_second.0 / link.rate(Some(sender.payload));
            let shares = below.iter().map(|sender| ((index, sender.function), share(sender)));
            limits.byte_shares.extend(shares.filter(|(_, share)| (share - 1.0).abs() > 1e-9));
        }
        limits.hops.insert(index, limit);
    }
}

/// A function with drives that sends their data in packets of a known size.
struct Sender {
    function: NodeIndex,
    payload: u16,
    /// Rate of its own link without packets: its part in a mixture.
    line: f64,
}

/// The functions that send through each port.
fn senders(machine: &Machine) -> BTreeMap<NodeIndex, Vec<Sender>> {
    let tree = &machine.pci;
    let functions: BTreeSet<NodeIndex> = machine.hardware_drives().filter_map(|drive| drive.node).collect();
    let mut senders: BTreeMap<NodeIndex, Vec<Sender>> = BTreeMap::new();
    for function in functions.into_iter().filter(|at| !tree.node(*at).is_emulated()) {
        let Some(payload) = link::payload_of(tree, function) else { continue };
        let line = link::trained(tree, function).map_or(1.0, |link| link.rate(None));
        for at in tree.whole_ancestry(function).skip(1) {
            senders.entry(at).or_default().push(Sender { function, payload, line });
        }
    }
    senders
}

/// The own limit of a root complex: measured here, or published for its host bridge.
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

/// The lowest hop from each node up to its root complex, without the root complex's own limit. Of equal hops the
/// nearest to the node: its owner can change that one.
///
/// The path of a root complex is its own limit. An emulated device crosses no link.
fn paths(machine: &Machine, limits: &Limits) -> BTreeMap<NodeIndex, Limit> {
    let tree = &machine.pci;
    let lowest = |index: NodeIndex| {
        let is_root = |at: &NodeIndex| tree.node(*at).kind == NodeKind::RootComplex;
        if is_root(&index) {
            return limits.hop(index).cloned();
        }
        if tree.node(index).is_emulated() {
            return None;
        }
        let on_the_way = tree.whole_ancestry(index).filter(|at| !is_root(at));
        let hop = |at: NodeIndex| {
            let hop = limits.hop(at)?;
            let rate = hop.bytes_per_second.0 / limits.byte_share(at, index);
            Some(Limit { bytes_per_second: BytesPerSecond(rate), ..hop.clone() })
        };
        on_the_way.filter_map(hop).min_by(by_rate)
    };
    tree.iter().filter_map(|(index, _)| Some((index, lowest(index)?))).collect()
}

fn by_rate(one: &Limit, other: &Limit) -> Ordering {
    one.bytes_per_second.0.total_cmp(&other.bytes_per_second.0)
}

/// The drive's own limit, independent of its slot: measured here, or published for its model.
fn own_limit(drive: &Drive, measured: &Measurements) -> Option<Limit> {
    let (bytes_per_second, basis, because) = if let Some((_, rate, run)) = measured.drives.get(&drive.name) {
        (*rate, Basis::Measured, run.clone())
    } else {
        let row = published(drive)?;
        let rate = row
            .bytes_per_second
            .filter(|rate| !measured.is_exceeded(drive, |beyond| beyond.bytes_per_second.0 > *rate))?;
        (BytesPerSecond(rate), Basis::Published, row.words())
    };
    Some(Limit { bytes_per_second, basis, because: format!("the drive: {because}"), node: drive.node })
}

fn drive_iops(drive: &Drive, measured: &Measurements) -> Option<(f64, Basis, String)> {
    if let Some((iops, _, run)) = measured.drives.get(&drive.name) {
        return Some((*iops, Basis::Measured, run.clone()));
    }
    let row = published(drive)?;
    let iops = row.iops.filter(|iops| !measured.is_exceeded(drive, |beyond| beyond.iops > *iops))?;
    Some((iops, Basis::Published, row.words()))
}

fn published(drive: &Drive) -> Option<&'static tables::DriveModel> {
    let model = drive.model.value()?;
    tables::drive_models().iter().find(|row| row.models.iter().any(|name| name == model.as_str()))
}
