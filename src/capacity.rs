//! Limits of hops, paths, bridges, drives and CPUs in payload bytes, each with its basis and reason: pure functions
//! of a [`crate::machine::Machine`].

pub(crate) mod alone;
pub(crate) mod bottleneck;
pub mod chipset;
pub(crate) mod expected;
pub mod flow;
mod measured;
pub(crate) mod latency;
pub(crate) mod link;
pub(crate) mod link_state;
mod payload;
pub(crate) mod potential;
pub mod processor;
mod read_cost;
mod sharing;
mod tables;
pub mod slots;
pub mod exchange;
mod total;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    machine::{Drive, DriveKind, Machine, ReadSize, pci::NodeKind},
    model::{Basis, Limit, Limits, NodeIndex},
    units::BytesPerSecond,
};

pub use expected::{Expected, expected};
pub(crate) use measured::{learned, refutations};
pub(crate) use potential::{Potential, potentials};
pub(crate) use read_cost::SystemActivity;
pub use slots::Slot;
use tables::RootComplex;
pub use total::{Total, total, total_in};
pub(crate) use total::{outermost_roots, total_of};

/// All limits of a machine; measurements of earlier tests on it precede published figures.
pub fn limits(machine: &Machine) -> Limits {
    limits_without(machine, &[])
}

/// The same without the limits of the links above these nodes.
pub fn limits_without(machine: &Machine, without: &[NodeIndex]) -> Limits {
    let costs = measured::costs(machine);
    let mut limits = Limits {
        processors: processor::published(machine).map(|published| read_cost::corrected(published, &costs)),
        memory: processor::memory(machine),
        ..Limits::default()
    };
    hops(machine, &mut limits);
    limits.hops.retain(|hop, _| !without.contains(hop));
    limits.paths = paths(machine, &limits);
    for drive in machine.hardware_drives() {
        let own = own_limit(machine, drive);
        let path = drive.node.and_then(|node| limits.path(node));
        let path = path.filter(|_| own.is_some() || has_link(machine, &limits, drive));
        let lowest = path.into_iter().chain(&own).min_by(|a, b| by_rate(a, b)).cloned();
        limits.drives.extend(lowest.map(|limit| (drive.name.clone(), limit)));
        limits.own.extend(own.map(|limit| (drive.name.clone(), limit)));
        if let Some(iops) = drive_iops(machine, drive) {
            limits.drive_iops.insert(drive.name.clone(), iops);
        }
    }
    limits.oversubscription = flow::oversubscription(machine, &limits);
    limits
}

/// Adds the limit of each hop, refuted limits, and the share that bytes of different drives take of a link.
fn hops(machine: &Machine, limits: &mut Limits) {
    let tree = &machine.pci;
    let senders = senders(machine);
    for (index, node) in tree.iter() {
        let below = node.parent.and_then(|port| senders.get(&port)).map_or(&[][..], Vec::as_slice);
        let packets: Vec<(u16, f64)> = below.iter().map(|sender| (sender.payload, sender.line)).collect();
        let limit = match node.kind {
            NodeKind::RootComplex => root_complex(machine, index),
            _ => link::limit(tree, index, &packets, link_state::awake(machine, index))
                .or_else(|| chipset::dmi(machine, index)),
        };
        let Some(limit) = limit else { continue };
        if let Some(words) = measured::refuted(machine, &limit) {
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
fn root_complex(machine: &Machine, index: NodeIndex) -> Option<Limit> {
    let node = machine.pci.node(index);
    if let Some(measured) = measured::of_root(machine, node) {
        return Some(Limit {
            bytes_per_second: measured.bytes_per_second,
            basis: Basis::Measured,
            because: measured.run.to_string(),
            node: Some(index),
        });
    }
    let (vendor, device) = (node.vendor.get()?, node.device.get()?);
    let is_same = |row: &&RootComplex| row.vendor == vendor && row.device == device;
    let row = tables::root_complexes().iter().filter(is_same).find(|row| is_measured_on(row, machine))?;
    Some(Limit {
        bytes_per_second: BytesPerSecond(row.bytes_per_second),
        basis: Basis::Published,
        because: format!("{}, {} ({})", row.name, row.because, row.source),
        node: Some(index),
    })
}

/// Whether a published figure was measured on this platform, by its CPU. Texts do not name the CPU, and QEMU names none of a
/// platform's: there by the number of root complexes.
fn is_measured_on(row: &RootComplex, machine: &Machine) -> bool {
    let tree = &machine.pci;
    let model = machine.processors.model.value().filter(|model| !model.as_str().contains("QEMU"));
    if let Some(model) = model {
        return model.as_str().contains(&row.processor);
    }
    let ids = (Some(row.vendor), Some(row.device));
    let roots = tree.roots().map(|root| tree.node(root));
    roots.filter(|root| (root.vendor.get(), root.device.get()) == ids).count() == row.root_complexes
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

/// Whether the limit of a link is known on the path of an NVMe drive: a chipset's uplink alone is shared. Other disks are
/// bounded by their adapter.
fn has_link(machine: &Machine, limits: &Limits, drive: &Drive) -> bool {
    let is_link = |at: NodeIndex| {
        let is_root = machine.pci.node(at).kind == NodeKind::RootComplex;
        !is_root && limits.hop(at).is_some_and(|hop| hop.basis != Basis::Table)
    };
    drive.kind != DriveKind::Nvme || drive.node.is_some_and(|at| machine.pci.whole_ancestry(at).any(is_link))
}

fn by_rate(one: &Limit, other: &Limit) -> Ordering {
    one.bytes_per_second.0.total_cmp(&other.bytes_per_second.0)
}

/// The drive's own limit: what it read alone, else as published for its model.
fn own_limit(machine: &Machine, drive: &Drive) -> Option<Limit> {
    let alone = alone::of_drive(machine, drive, ReadSize::Large).map(|alone| Limit {
        bytes_per_second: alone.bytes_per_second,
        basis: Basis::Measured,
        because: format!("the drive: read alone here, {}", alone.run),
        node: drive.node,
    });
    alone.or_else(|| published_limit(machine, drive))
}

/// The drive's limit as published for its model, unless a test exceeded it.
fn published_limit(machine: &Machine, drive: &Drive) -> Option<Limit> {
    let row = published(drive)?;
    let is_exceeded = |rate| measured::is_exceeded(machine, drive, |beyond| beyond.bytes_per_second.0 > rate);
    Some(Limit {
        bytes_per_second: BytesPerSecond(row.bytes_per_second.filter(|rate| !is_exceeded(*rate))?),
        basis: Basis::Published,
        because: format!("the drive: {}", row.words_of(model_of(drive))),
        node: drive.node,
    })
}

fn drive_iops(machine: &Machine, drive: &Drive) -> Option<(f64, Basis, String)> {
    let alone = alone::of_drive(machine, drive, ReadSize::Small);
    let alone = alone.map(|alone| (alone.iops, Basis::Measured, format!("read alone here, {}", alone.run)));
    alone.or_else(|| published_iops(machine, drive))
}

fn published_iops(machine: &Machine, drive: &Drive) -> Option<(f64, Basis, String)> {
    let row = published(drive)?;
    let is_exceeded = |iops| measured::is_exceeded(machine, drive, |beyond| beyond.iops > iops);
    Some((row.iops.filter(|iops| !is_exceeded(*iops))?, Basis::Published, row.words()))
}

fn model_of(drive: &Drive) -> &str {
    drive.model.value().map_or("", crate::text::Label::as_str)
}

fn published(drive: &Drive) -> Option<&'static tables::DriveModel> {
    let model = drive.model.value()?;
    tables::drive_models().iter().find(|row| row.models.iter().any(|name| name == model.as_str()))
}
