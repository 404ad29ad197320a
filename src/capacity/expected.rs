//! Expected rates of a workload by the machine's limits, to compare measurements with.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    flow, link,
    processor::{self, Cost},
    sharing::{self, Bound, Shared},
};
use crate::{
    machine::{Drive, DriveKind, Machine, NodeKind, drive},
    model::{Basis, Expectation, Limit, Limits, NodeIndex, PageCache, Workload},
    units::{Bytes, BytesPerSecond, counted},
};

/// Expected rate of one target while all targets run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// Reads per second.
    pub iops: f64,
    /// Basis of the limiting figure.
    pub basis: Basis,
    /// The limit, in words.
    pub because: String,
    /// The limiting node, if there is one.
    #[serde(skip)]
    pub node: Option<NodeIndex>,
    /// Reads per second at the least, by the errors of CPU costs; `None` if those do not change the rate.
    pub iops_low: Option<f64>,
    /// Reads per second at the most, likewise; for buffered reads, with free memory.
    pub iops_high: Option<f64>,
    /// CPU cycles per read; `None` without a known cost of reads.
    #[serde(skip)]
    pub cycles_per_read: Option<f64>,
    /// Whether `because` is the latency that kept a run below this rate.
    #[serde(skip)]
    pub is_latency: bool,
}

impl Expected {
    /// The limit in words that are those of all equal links: `Gen4 x4 (16 GT/s) at MPS 256`.
    pub(crate) fn kind_of_limit(&self) -> &str {
        if self.basis == Basis::Link { link::without_port(&self.because) } else { &self.because }
    }

    /// The limit of targets that are limited alike: `4 links, each Gen4 x4 (16 GT/s) at MPS 256`.
    pub(crate) fn limit_of_all<'a>(alike: impl IntoIterator<Item = &'a Self>) -> String {
        let mut alike = alike.into_iter().peekable();
        let first = alike.peek().copied();
        let limits: BTreeSet<&str> = alike.map(|expected| expected.because.as_str()).collect();
        match (first, limits.len()) {
            (Some(first), 2..) => {
                format!("{}, each {}", counted(limits.len(), "link"), first.kind_of_limit())
            }
            (first, _) => first.map_or_else(String::new, |first| first.because.clone()),
        }
    }
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

/// One limit, in words.
struct Reason {
    basis: Basis,
    because: String,
    node: Option<NodeIndex>,
    /// Error of the limit, as a share in either direction; 0 of links and drives.
    error: f64,
}

/// Narrower intervals are none.
const NARROW: f64 = 0.001;

/// Expected rate of each target, in the workload's order; `None` without a known limit. `further` are limits of the
/// caller in reads per second, by target (empty: none).
pub fn expected_under(
    machine: &Machine,
    limits: &Limits,
    workload: &Workload,
    further: &[f64],
) -> Vec<Option<Expected>> {
    let scope = Scope { machine, limits, hops: &BTreeMap::new(), processors: true };
    expected_in(&scope, workload, further)
}

/// Expected rate of each target by links and drives alone, whatever the CPUs; `hops` are limits of root complexes
/// without one. A drive that [`is_unrated`] has its share of the limits above it, which is no rate of its own.
pub(super) fn expected_of_links(
    machine: &Machine,
    limits: &Limits,
    hops: &BTreeMap<NodeIndex, Limit>,
    workload: &Workload,
) -> Vec<Option<Expected>> {
    expected_in(&Scope { machine, limits, hops, processors: false }, workload, &[])
}

/// The limits that count.
struct Scope<'a> {
    machine: &'a Machine,
    limits: &'a Limits,
    /// Limits of hops that have none in `limits`.
    hops: &'a BTreeMap<NodeIndex, Limit>,
    /// Whether the CPUs limit anything.
    processors: bool,
}

fn expected_in(scope: &Scope, workload: &Workload, further: &[f64]) -> Vec<Option<Expected>> {
    let Scope { machine, limits, processors, .. } = *scope;
    let block = mean_block(workload);
    let by_name = machine.drives_by_name();
    let targets: Vec<Option<&Drive>> =
        workload.targets.iter().map(|target| by_name.get(target.drive.as_ref()?).copied()).collect();
    let own: Vec<(f64, Option<Reason>)> = targets
        .iter()
        .enumerate()
        .map(|(flow, drive)| {
            let own = drive.and_then(|drive| of_drive(limits, workload, drive, block));
            let (ceiling, reason) = own.map_or((f64::INFINITY, None), |(iops, reason)| (iops, Some(reason)));
            match further.get(flow) {
                Some(further) if *further < ceiling => (*further, None),
                _ => (ceiling, reason),
            }
        })
        .collect();
    let workers = u32::try_from(workload.targets.len()).unwrap_or(u32::MAX).saturating_mul(workload.jobs);
    let costs: Vec<Option<Result<Cost, String>>> = targets
        .iter()
        .map(|drive| {
            let drive = (*drive).filter(|_| processors)?;
            Some(processor::cost_per_read(limits, drive, workload, whole(block), workers))
        })
        .collect();
    let mut constraints = shared_places(scope, &targets, block);
    if processors {
        constraints.extend(shared_processors(limits, workload, &targets, &costs, workers));
    }
    let (shared, reasons): (Vec<Shared>, Vec<Reason>) = constraints.into_iter().unzip();
    let ceilings: Vec<f64> = own.iter().map(|(ceiling, _)| *ceiling).collect();
    let rates = sharing::fair(&ceilings, &shared);
    let is_exact = reasons.iter().all(|reason| reason.error <= 0.0);
    let with = |factor: fn(f64) -> f64| {
        if is_exact {
            return rates.clone();
        }
        let scaled = shared.iter().zip(&reasons).map(|(one, reason)| Shared {
            capacity: one.capacity * factor(1.0 + reason.error),
            draws: one.draws.clone(),
        });
        sharing::fair(&ceilings, &scaled.collect::<Vec<_>>())
    };
    let (least, most) = (with(f64::recip), with(|factor| factor));
    let free = (!workload.direct && limits.page_cache == PageCache::Full).then(|| {
        let free = Limits { page_cache: PageCache::Free, ..limits.clone() };
        expected_under(machine, &free, workload, further)
    });
    rates
        .into_iter()
        .zip(own)
        .zip(costs)
        .enumerate()
        .map(|(flow, (((iops, bound), (ceiling, own)), cost))| {
            let reason = match bound {
                Bound::Own => own.as_ref(),
                Bound::Shared(index) => reasons.get(index),
            };
            let (basis, mut because, node) = match reason {
                Some(reason) => (reason.basis, reason.because.clone(), reason.node),
                None if iops.is_finite() => (Basis::Table, "the workload itself".to_owned(), None),
                None => return None,
            };
            // A limit of the CPUs does not describe a drive without known limits.
            if ceiling.is_infinite() && node.is_none() && workload.direct {
                return None;
            }
            // Nor does a limit that it shares with others.
            let is_bound = matches!(bound, Bound::Shared(_)) && node.is_some();
            if processors && is_bound && targets[flow].is_some_and(|drive| is_unrated(limits, drive)) {
                return None;
            }
            let unknown =
                cost.as_ref().and_then(|cost| cost.as_ref().err()).filter(|_| limits.processors.is_some());
            because.extend(unknown.into_iter().flat_map(|words| [", at most: ", words.as_str()]));
            let free = free.as_ref().and_then(|all| Some(all.get(flow)?.as_ref()?.iops));
            let end = |rates: &[(f64, Bound)]| rates.get(flow).map_or(iops, |(rate, _)| *rate);
            // More of a CPU for one drive may leave less of a link for another.
            let ends = [iops, end(&least), end(&most), free.unwrap_or(iops)];
            let (low, high) = (ends.into_iter().fold(iops, f64::min), ends.into_iter().fold(iops, f64::max));
            let is_open = high > low * (1.0 + NARROW);
            Some(Expected {
                bytes_per_second: BytesPerSecond(iops * block),
                iops,
                basis,
                because,
                node,
                iops_low: is_open.then_some(low),
                iops_high: is_open.then_some(high),
                cycles_per_read: cost.and_then(Result::ok).map(|cost| cost.cycles),
                is_latency: false,
            })
        })
        .collect()
}

/// Expected rate of each target by the machine's limits, in the workload's order; `None` without a known limit.
pub fn expected(machine: &Machine, limits: &Limits, workload: &Workload) -> Vec<Option<Expected>> {
    expected_under(machine, limits, workload, &[])
}

/// Whether nothing but limits that it shares bounds an NVMe drive.
pub(super) fn is_unrated(limits: &Limits, drive: &Drive) -> bool {
    drive.kind == DriveKind::Nvme && !limits.is_rated(&drive.name)
}

/// Mean bytes of a read.
pub fn mean_block(workload: &Workload) -> f64 {
    if workload.block_split.is_empty() {
        return workload.block_size.0 as f64;
    }
    workload.block_split.iter().map(|(size, share)| size.0 as f64 * f64::from(*share) / 100.0).sum()
}

/// Limits of a drive itself: the capacity, and the part of it that a read takes.
fn own_limits(limits: &Limits, drive: &Drive, block: f64) -> impl Iterator<Item = (f64, f64, Reason)> {
    let node = drive.node;
    let rate = limits.drive(&drive.name).map(|limit| {
        let reason = Reason { basis: limit.basis, because: limit.because.clone(), node, error: 0.0 };
        (limit.bytes_per_second.0, block, reason)
    });
    let iops = limits.drive_iops.get(&drive.name).map(|(iops, basis, because)| {
        (*iops, 1.0, Reason { basis: *basis, because: format!("the drive: {because}"), node, error: 0.0 })
    });
    rate.into_iter().chain(iops)
}

/// The lowest limit of a drive itself, in reads per second.
fn of_drive(limits: &Limits, workload: &Workload, drive: &Drive, block: f64) -> Option<(f64, Reason)> {
    let reason =
        |basis, because: &str| Reason { basis, because: because.to_owned(), node: drive.node, error: 0.0 };
    let own = own_limits(limits, drive, block).map(|(capacity, draw, reason)| (capacity / draw, reason));
    let readahead = processor::without_readahead(limits, drive, workload).map(|rate| {
        (rate.0 / block, reason(Basis::Published, "page cache without readahead: 4 KiB at a time"))
    });
    let asked = workload.rate_iops.map(|rate| {
        (f64::from(rate) * f64::from(workload.jobs), reason(Basis::Table, "rate_iops of the workload"))
    });
    own.chain(readahead).chain(asked).reduce(|least, next| if next.0 < least.0 { next } else { least })
}

/// Controllers, links, chipset uplinks and root complexes that the targets share.
fn shared_places(scope: &Scope, targets: &[Option<&Drive>], block: f64) -> Vec<(Shared, Reason)> {
    let Scope { machine, limits, hops, .. } = *scope;
    let tree = &machine.pci;
    let flows: Vec<(usize, &Drive)> =
        targets.iter().enumerate().filter_map(|(flow, drive)| Some((flow, (*drive)?))).collect();
    let mut units: BTreeMap<&str, Vec<(usize, &Drive)>> = BTreeMap::new();
    for (flow, drive) in &flows {
        units.entry(drive.unit()).or_default().push((*flow, drive));
    }
    // The limit of a drive with one target is in that target's own limits.
    let controllers = units.values().filter(|flows| flows.len() > 1).flat_map(|flows| {
        own_limits(limits, flows[0].1, block).map(|(capacity, draw, reason)| {
            let draws = flows.iter().map(|(flow, _)| (*flow, draw)).collect();
            (Shared { capacity, draws }, reason)
        })
    });
    let mut by_function: BTreeMap<NodeIndex, Vec<(usize, &Drive)>> = BTreeMap::new();
    for (flow, drive) in &flows {
        if let Some(function) = drive.node {
            by_function.entry(function).or_default().push((*flow, drive));
        }
    }
    let places = flow::places_with(machine, limits, hops).into_iter().filter_map(|place| {
        let mut through: Vec<(usize, &Drive, f64)> = Vec::new();
        for (function, _) in &place.through {
            let Some(share) = place.share(*function) else { continue };
            let flows = by_function.get(function).into_iter().flatten();
            through.extend(flows.map(|(flow, drive)| (*flow, *drive, share)));
        }
        through.sort_by_key(|(flow, ..)| *flow);
        through.dedup_by_key(|(flow, ..)| *flow);
        if drive::count(through.iter().map(|(_, drive, _)| *drive)) < 2 {
            return None;
        }
        let draws = through.into_iter().map(|(flow, _, share)| (flow, share * block)).collect();
        let limit = &place.limit;
        let because = match tree.node(place.node).kind {
            NodeKind::RootComplex => {
                format!("root complex {}, {}", tree.node(place.node).address, limit.because)
            }
            _ => format!("shared link, {}", limit.because),
        };
        let reason = Reason { basis: limit.basis, because, node: Some(place.ways[0]), error: 0.0 };
        Some((Shared { capacity: limit.bytes_per_second.0, draws }, reason))
    });
    controllers.chain(places).collect()
}

/// The CPUs: each target's workers by themselves, and all hardware threads together.
fn shared_processors(
    limits: &Limits,
    workload: &Workload,
    targets: &[Option<&Drive>],
    costs: &[Option<Result<Cost, String>>],
    workers: u32,
) -> Vec<(Shared, Reason)> {
    let Some(processors) = &limits.processors else { return Vec::new() };
    let block = whole(mean_block(workload));
    let drives = || targets.iter().flatten();
    let request = drives().next().map_or(block, |drive| processor::requests(drive, block).1);
    let (basis, source) = processors.source(request, workers);
    let notes: BTreeSet<String> =
        drives().flat_map(|drive| processor::notes(limits, drive, workload)).collect();
    let notes = notes.iter().fold(String::new(), |all, note| all + ", " + note);
    let constraint = |threads: u32, draws: &[(usize, Cost)], words: String| {
        let error = draws.iter().map(|(_, cost)| cost.error).fold(0.0, f64::max);
        let within = if error > 0.0 { format!(" \u{b1}{:.0} %", error * 100.0) } else { String::new() };
        let because = format!("{words}{within}, {source}{notes}");
        let draws = draws.iter().map(|(flow, cost)| (*flow, cost.cycles)).collect();
        (
            Shared { capacity: processors.capacity(threads), draws },
            Reason { basis, because, node: None, error },
        )
    };
    let known =
        |(flow, cost): (usize, &Option<Result<Cost, String>>)| Some((flow, *cost.as_ref()?.as_ref().ok()?));
    let known: Vec<(usize, Cost)> = costs.iter().enumerate().filter_map(known).collect();
    // The kernel reads through the page cache with as many threads as it likes.
    let threads = if workload.direct { workers.min(processors.threads) } else { processors.threads };
    let alone = known.iter().filter(|_| workload.direct).map(|one| {
        let jobs = counted(workload.jobs as usize, "worker");
        let each = if targets.len() > 1 { " per drive" } else { "" };
        constraint(workload.jobs, &[*one], format!("{jobs}{each} at {:.0} cycles per read", one.1.cycles))
    });
    let alone: Vec<_> = alone.collect();
    let all = if threads == processors.threads {
        format!("all {threads} hardware threads busy")
    } else {
        format!("all {threads} workers busy")
    };
    alone.into_iter().chain([constraint(threads, &known, all)]).collect()
}

/// A block size in whole bytes, for tables by size.
fn whole(block: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a block is at most 64 MiB")]
    Bytes(block.max(1.0) as u64)
}
