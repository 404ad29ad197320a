//! What a workload should reach on this machine by its limits: the figure that a measured one is held against.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    flow, processor,
    sharing::{self, Bound, Shared},
};
use crate::{
    machine::{Drive, Machine, NodeKind, drive},
    model::{Basis, Expectation, Limits, NodeIndex, Workload},
    units::{Bytes, BytesPerSecond},
};

/// What one target of a workload should reach while all its targets run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// Reads per second.
    pub iops: f64,
    /// Where the limiting figure comes from.
    pub basis: Basis,
    /// What limits, in words.
    pub because: String,
    /// The node that limits, if one does.
    #[serde(skip)]
    pub node: Option<NodeIndex>,
    /// Cycles of a hardware thread that each read costs; `None` when nothing is known of the processors.
    #[serde(skip)]
    pub cycles_per_read: Option<f64>,
}

impl From<&Expected> for Expectation {
    fn from(expected: &Expected) -> Self {
        Self {
            bytes_per_second: expected.bytes_per_second.0,
            iops: expected.iops,
            basis: expected.basis,
            because: expected.because.clone(),
        }
    }
}

/// One thing that limits, with its words.
struct Reason {
    basis: Basis,
    because: String,
    node: Option<NodeIndex>,
}

/// What each target should reach, in the workload's order; `None` for one that nothing is known to limit. `ceilings` are
/// further limits in reads per second, by target, that only the caller knows of (empty: none).
pub fn expected_under(
    machine: &Machine,
    limits: &Limits,
    workload: &Workload,
    ceilings: &[f64],
) -> Vec<Option<Expected>> {
    let block = mean_block(workload);
    let targets: Vec<Option<&Drive>> =
        workload.targets.iter().map(|target| machine.drive(target.drive.as_ref()?)).collect();
    let mut own: Vec<(f64, Option<Reason>)> = targets
        .iter()
        .map(|drive| drive.map_or((f64::INFINITY, None), |drive| of_drive(limits, workload, drive, block)))
        .collect();
    for (flow, (ceiling, reason)) in own.iter_mut().enumerate() {
        let further = ceilings.get(flow).copied().unwrap_or(f64::INFINITY);
        if further < *ceiling {
            *ceiling = further;
            *reason = None;
        }
    }
    let workers = u32::try_from(workload.targets.len()).unwrap_or(u32::MAX).saturating_mul(workload.jobs);
    let cycles: Vec<Option<f64>> = targets
        .iter()
        .map(|drive| {
            let processors = limits.processors.as_ref()?;
            Some(processor::cycles_per_read(processors, (*drive)?, workload, whole(block), workers))
        })
        .collect();
    let (mut shared, mut reasons) = shared_places(machine, limits, &targets, block);
    let notes: BTreeSet<String> =
        targets.iter().flatten().flat_map(|drive| processor::notes(drive, workload)).collect();
    let notes = notes.iter().fold(String::new(), |all, note| all + ", " + note);
    let drive = targets.iter().flatten().next();
    let request = drive.map_or(whole(block), |drive| processor::requests(drive, whole(block)).1);
    shared_processors(limits, workload, &cycles, (request, workers), &notes, &mut shared, &mut reasons);
    let ceilings: Vec<f64> = own.iter().map(|(ceiling, _)| *ceiling).collect();
    let rates = sharing::fair(&ceilings, &shared);
    rates
        .into_iter()
        .enumerate()
        .map(|(flow, (iops, bound))| {
            let reason = match bound {
                Bound::Own => own.get(flow).and_then(|(_, reason)| reason.as_ref()),
                Bound::Shared(index) => reasons.get(index),
            };
            let (basis, because, node) = match reason {
                Some(reason) => (reason.basis, reason.because.clone(), reason.node),
                None if iops.is_finite() => (Basis::Table, "the workload itself".to_owned(), None),
                None => return None,
            };
            // What the processors could do is no word about a drive of which nothing is known.
            let unknown = own.get(flow).is_none_or(|(ceiling, _)| ceiling.is_infinite());
            if unknown && node.is_none() && workload.direct {
                return None;
            }
            Some(Expected {
                bytes_per_second: BytesPerSecond(iops * block),
                iops,
                basis,
                because,
                node,
                cycles_per_read: cycles.get(flow).copied().flatten(),
            })
        })
        .collect()
}

/// What each target of a workload should reach by the machine's limits; `None` for one that nothing is known to limit.
pub fn expected(machine: &Machine, limits: &Limits, workload: &Workload) -> Vec<Option<Expected>> {
    expected_under(machine, limits, workload, &[])
}

/// Bytes of a read, on average.
pub fn mean_block(workload: &Workload) -> f64 {
    if workload.block_split.is_empty() {
        return workload.block_size.0 as f64;
    }
    workload.block_split.iter().map(|(size, share)| size.0 as f64 * f64::from(*share) / 100.0).sum()
}

/// What a drive itself allows, in reads per second.
fn of_drive(limits: &Limits, workload: &Workload, drive: &Drive, block: f64) -> (f64, Option<Reason>) {
    let mut least = (f64::INFINITY, None);
    let mut take = |iops: f64, basis, because: String| {
        if iops < least.0 {
            least = (iops, Some(Reason { basis, because, node: drive.node }));
        }
    };
    if let Some(limit) = limits.drive(&drive.name) {
        take(limit.bytes_per_second.0 / block, limit.basis, limit.because.clone());
    }
    if let Some((iops, basis, because)) = limits.drive_iops.get(&drive.name) {
        take(*iops, *basis, format!("the drive: {because}"));
    }
    if let Some(rate) = processor::without_readahead(drive, workload) {
        take(rate.0 / block, Basis::Published, "page cache without readahead".to_owned());
    }
    if let Some(rate) = workload.rate_iops {
        take(
            f64::from(rate) * f64::from(workload.jobs),
            Basis::Table,
            "rate_iops of the workload".to_owned(),
        );
    }
    least
}

/// Controllers, links, chipset uplinks and root complexes that the targets share, in reads per second times bytes.
fn shared_places(
    machine: &Machine,
    limits: &Limits,
    targets: &[Option<&Drive>],
    block: f64,
) -> (Vec<Shared>, Vec<Reason>) {
    let tree = &machine.pci;
    let (mut shared, mut reasons) = (Vec::new(), Vec::new());
    let mut units: BTreeMap<&str, Vec<(usize, &Drive)>> = BTreeMap::new();
    for (flow, drive) in targets.iter().enumerate() {
        if let Some(drive) = drive {
            units.entry(drive.unit()).or_default().push((flow, drive));
        }
    }
    // What is one target's alone is in that drive's own limit.
    for flows in units.values().filter(|flows| flows.len() > 1) {
        let drive = flows[0].1;
        let mut add = |capacity: f64, draw: f64, basis, because: String| {
            let draws = flows.iter().map(|(flow, _)| (*flow, draw)).collect();
            shared.push(Shared { capacity, draws });
            reasons.push(Reason { basis, because, node: drive.node });
        };
        if let Some(limit) = limits.drive(&drive.name) {
            add(limit.bytes_per_second.0, block, limit.basis, limit.because.clone());
        }
        if let Some((iops, basis, because)) = limits.drive_iops.get(&drive.name) {
            add(*iops, 1.0, *basis, format!("the drive: {because}"));
        }
    }
    for place in flow::places(machine, limits) {
        let share = |drive: &Drive| place.share(drive.node?);
        let through = targets.iter().enumerate().filter_map(|(flow, drive)| Some((flow, (*drive)?)));
        let through: Vec<(usize, &Drive, f64)> =
            through.filter_map(|(flow, drive)| Some((flow, drive, share(drive)?))).collect();
        if drive::count(through.iter().map(|(_, drive, _)| *drive)) < 2 {
            continue;
        }
        let draws = through.into_iter().map(|(flow, _, share)| (flow, share * block)).collect();
        shared.push(Shared { capacity: place.limit.bytes_per_second.0, draws });
        let limit = &place.limit;
        let because = match tree.node(place.node).kind {
            NodeKind::RootComplex => {
                format!("root complex {}, {}", tree.node(place.node).address, limit.because)
            }
            _ => format!("shared link, {}", limit.because),
        };
        reasons.push(Reason { basis: limit.basis, because, node: Some(place.ways[0]) });
    }
    (shared, reasons)
}

/// The processors: each target's workers by themselves, and all hardware threads together; memory.
fn shared_processors(
    limits: &Limits,
    workload: &Workload,
    cycles: &[Option<f64>],
    (request, workers): (Bytes, u32),
    notes: &str,
    shared: &mut Vec<Shared>,
    reasons: &mut Vec<Reason>,
) {
    let Some(processors) = &limits.processors else { return };
    let (basis, source) = processors.source(request, workers);
    let mut add = |capacity: f64, draws: Vec<(usize, f64)>, words: String| {
        shared.push(Shared { capacity, draws });
        reasons.push(Reason { basis, because: format!("{words}, {source}{notes}"), node: None });
    };
    let known: Vec<(usize, f64)> =
        cycles.iter().enumerate().filter_map(|(flow, cycles)| Some((flow, (*cycles)?))).collect();
    // Reads through the page cache are made by as many kernel threads as the kernel likes.
    let threads = if workload.direct { workers.min(processors.threads) } else { processors.threads };
    if workload.direct {
        for (flow, cost) in &known {
            let own = f64::from(workload.jobs.min(processors.threads));
            let jobs =
                if workload.jobs == 1 { "1 worker".to_owned() } else { format!("{} workers", workload.jobs) };
            add(own * processors.hertz, vec![(*flow, *cost)], format!("{jobs} at {cost:.0} cycles per read"));
        }
    }
    let words = format!("all {threads} hardware threads busy");
    add(f64::from(threads) * processors.hertz, known, words);
}

/// A block size in whole bytes, for tables by size.
fn whole(block: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a block is at most 64 MiB")]
    Bytes(block.max(1.0) as u64)
}
