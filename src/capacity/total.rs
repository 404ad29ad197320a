//! Rate of all drives together, by the machine's limits; moves of cards are compared by it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::expected::{self, Expected};
use crate::{
    machine::{Drive, Machine, NodeKind, PciTree, drive},
    model::{Basis, DriveName, Limit, Limits, NodeIndex, Workload},
    units::{Bytes, BytesPerSecond, UnitSystem, counted},
};

/// Large reads, so that IOPS limit no drive.
const BLOCK: Bytes = Bytes(1 << 20);

/// All drives at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Total {
    /// Payload bytes per second; `None` if the limit of a root complex with drives or the rate of an NVMe drive is unknown.
    pub bytes_per_second: Option<BytesPerSecond>,
    /// The weakest basis of the limits; `None` without a rate.
    pub basis: Option<Basis>,
    /// The limits, or why the rate is unknown.
    pub because: String,
    /// Upper bound by the limits that are known, without the root complexes of unknown limit.
    pub at_most_bytes_per_second: BytesPerSecond,
    /// The limits of the bound, where it is one and the rate is unknown: `links and drives`.
    #[serde(skip)]
    pub at_most_by: Option<&'static str>,
    /// Whether a drive has neither a known link nor a known rate.
    #[serde(skip)]
    pub lacks_rates: bool,
    /// Each drive's part of [`Self::at_most_bytes_per_second`], with its limit; without drives of unknown rate.
    #[serde(skip)]
    pub shares: BTreeMap<DriveName, Expected>,
}

/// Rate of all hardware drives together, worded in powers of ten.
pub fn total(machine: &Machine, limits: &Limits) -> Total {
    total_in(machine, limits, UnitSystem::Decimal)
}

/// Rate of all hardware drives together, worded in these units.
///
/// A root complex of unknown limit takes the limit measured on this machine for one with the same host bridge;
/// `because` names it.
pub fn total_in(machine: &Machine, limits: &Limits, units: UnitSystem) -> Total {
    total_of(machine, limits, machine.hardware_drives(), units)
}

/// Rate of these drives together, with the others idle.
pub(crate) fn total_of<'a>(
    machine: &Machine,
    limits: &Limits,
    drives: impl Iterator<Item = &'a Drive>,
    units: UnitSystem,
) -> Total {
    let sisters = with_sisters(machine, limits);
    let drives: Vec<&Drive> = drives.collect();
    let targets = drives.iter().map(|drive| drive.target()).collect();
    let workload = Workload { targets, block_size: BLOCK, ..Workload::default() };
    let parts = expected::expected_of_links(machine, limits, &sisters, &workload);
    let is_unrated = |drive: &Drive| expected::is_unrated(limits, drive) && !is_emulated(machine, drive);
    let unrated: Vec<&Drive> = drives.iter().copied().filter(|drive| is_unrated(drive)).collect();
    let is_bound = drives.iter().zip(&parts).all(|(drive, part)| part.is_some() || !is_unrated(drive));
    let parts = drives.iter().zip(parts).filter_map(|(drive, part)| Some((drive.name.clone(), part?)));
    let parts: BTreeMap<DriveName, Expected> = parts.collect();
    let sum = BytesPerSecond(parts.values().map(|part| part.bytes_per_second.0).sum());
    let unknown = unknown_roots(machine, limits, &sisters);
    let at_most_by = match (unknown.is_empty(), unrated.is_empty()) {
        _ if parts.is_empty() || !is_bound => None,
        (true, true) => None,
        (false, _) => Some("links and drives"),
        _ if parts.values().any(|part| part.basis == Basis::Table) => Some("root complexes and chipsets"),
        (true, false) => Some("root complexes"),
    };
    let because = match (unknown.as_slice(), at_most_by) {
        _ if parts.is_empty() && unrated.is_empty() => "no drive has a known limit".to_owned(),
        (_, by) if !unrated.is_empty() => {
            let unknown = counted(drive::count(unrated.iter().copied()), "drive");
            let of_all = by.map_or_else(String::new, |by| {
                format!("; at most {} by {by}: {}", units.rate(sum), reasons(machine, &parts, units))
            });
            format!("neither link nor rate of {unknown} is known{of_all}")
        }
        ([], _) => reasons(machine, &parts, units),
        (roots, _) => format!(
            "no measured or published limit of root complex {}; links and drives alone would allow {}",
            roots.join(", "),
            units.rate(sum)
        ),
    };
    let mut shares = parts;
    shares.retain(|name, _| unrated.iter().all(|drive| drive.name != *name));
    let is_known = unknown.is_empty() && unrated.is_empty() && !shares.is_empty();
    Total {
        bytes_per_second: is_known.then_some(sum),
        basis: shares.values().map(|share| share.basis).max().filter(|_| is_known),
        because,
        at_most_bytes_per_second: sum,
        at_most_by,
        lacks_rates: !unrated.is_empty(),
        shares,
    }
}

/// An emulated drive crosses no link and no root complex.
fn is_emulated(machine: &Machine, drive: &Drive) -> bool {
    drive.node.is_none_or(|node| machine.pci.node(node).is_emulated())
}

/// Limits of root complexes without one: those measured here for one with the same host bridge.
fn with_sisters(machine: &Machine, limits: &Limits) -> BTreeMap<NodeIndex, Limit> {
    let tree = &machine.pci;
    let bridge = |root: NodeIndex| tree.node(root).vendor.get().zip(tree.node(root).device.get());
    let measured = |root: NodeIndex| limits.hop(root).filter(|limit| limit.basis == Basis::Measured);
    let of_sister = |root: NodeIndex| {
        let sisters = outermost_roots(tree).filter(|other| bridge(*other) == bridge(root));
        let (sister, limit) = sisters
            .filter_map(|other| Some((other, measured(other)?)))
            .max_by(|(_, a), (_, b)| a.bytes_per_second.0.total_cmp(&b.bytes_per_second.0))?;
        let because =
            format!("assumed from {} of the same kind: {}", tree.node(sister).address, limit.because);
        Some((root, Limit { because, node: Some(root), ..limit.clone() }))
    };
    let unknown = |root: &NodeIndex| limits.hop(*root).is_none() && bridge(*root).is_some();
    outermost_roots(tree).filter(unknown).filter_map(of_sister).collect()
}

/// Root complexes that are not below a device: a nested one (VMD) shares the limit there.
pub fn outermost_roots(tree: &PciTree) -> impl Iterator<Item = NodeIndex> {
    tree.roots().filter(|root| tree.node(*root).parent.is_none())
}

/// Root complexes with drives and without a known limit.
fn unknown_roots(machine: &Machine, limits: &Limits, sisters: &BTreeMap<NodeIndex, Limit>) -> Vec<String> {
    let tree = &machine.pci;
    // An emulated device crosses no root complex.
    let real = |node: &NodeIndex| !tree.node(*node).is_emulated();
    let top = |drive: &Drive| drive.node.filter(real).map(|node| tree.outermost_root(node));
    let roots: BTreeSet<NodeIndex> = machine.hardware_drives().filter_map(top).collect();
    let is_limited = |root: &NodeIndex| limits.hop(*root).is_some() || sisters.contains_key(root);
    let unknown = |root: &NodeIndex| tree.node(*root).kind == NodeKind::RootComplex && !is_limited(root);
    roots.into_iter().filter(unknown).map(|root| tree.node(root).address.to_string()).collect()
}

/// `8 drives 39.4 GB/s: root complex 0000:40, ...; 2 drives 14.3 GB/s: the drive: ...`, the largest part first.
fn reasons(machine: &Machine, shares: &BTreeMap<DriveName, Expected>, units: UnitSystem) -> String {
    let mut groups: BTreeMap<&str, (Vec<DriveName>, f64)> = BTreeMap::new();
    for (name, share) in shares {
        let group = groups.entry(share.because.as_str()).or_default();
        group.0.push(name.clone());
        group.1 += share.bytes_per_second.0;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    let words = groups.into_iter().map(|(because, (drives, rate))| {
        let drives = machine.count_of(&drives);
        let noun = if drives == 1 { "drive" } else { "drives" };
        format!("{drives} {noun} {}: {because}", units.rate(BytesPerSecond(rate)))
    });
    let unknown = drive::count(machine.hardware_drives().filter(|drive| !shares.contains_key(&drive.name)));
    let rest = (unknown > 0).then(|| format!("{unknown} with unknown limits are not counted"));
    words.chain(rest).collect::<Vec<_>>().join("; ")
}
