//! CPU cost of reads, and limit of memory.

use std::collections::BTreeSet;

use super::tables::{self, Processor};
use crate::{
    machine::{Cpu, Drive, Machine},
    model::{Basis, CostFactor, Limit, Limits, PageCache, ProcessorLimit, ReadPath, Workload},
    units::{Bytes, BytesPerSecond},
};

/// The page of memory: smaller requests cost as much.
const PAGE: Bytes = Bytes(4096);

/// Steps of a fixed point that halves its distance in each.
const ROUNDS: usize = 40;

/// The highest CPU clock in hertz, by the frequency driver or else `/proc/cpuinfo`.
pub(super) fn clock(machine: &Machine) -> Option<f64> {
    let most = machine.processors.cpus.iter().filter_map(|cpu| cpu.max_khz.get()).max();
    most.map(|khz| khz as f64 * 1e3).or_else(|| machine.processors.megahertz.get().map(|mega| mega * 1e6))
}

/// Cores of the online CPUs; each hardware thread counts as one where the topology is unknown.
fn cores(machine: &Machine) -> u32 {
    let cpus = &machine.processors.cpus;
    let is_first = |cpu: &Cpu| cpu.siblings.value().is_none_or(|all| all.iter().all(|at| *at >= cpu.number));
    u32::try_from(cpus.iter().filter(|cpu| is_first(cpu)).count()).unwrap_or(u32::MAX)
}

/// The published cost of reads on this CPU model, or the mean of all rows at this CPU's clock; the words name the rows.
/// `None` without a readable model and clock.
pub(super) fn published(machine: &Machine) -> Option<ProcessorLimit> {
    let costs = tables::costs()?;
    let model = machine.processors.model.value();
    let named = model.and_then(|name| {
        let name = name.as_str().to_lowercase();
        costs.processor.iter().find(|row| name.contains(&row.model.to_lowercase()))
    });
    let threads = u32::try_from(machine.processors.count()).ok().filter(|threads| *threads > 0)?;
    let limit = |hertz, cycles: f64, growth, error, because| {
        let at = |cycles| vec![(PAGE, cycles)];
        Some(ProcessorLimit {
            threads,
            cores: cores(machine),
            hertz,
            alone: at(cycles),
            together: at(cycles * costs.path.several.factor),
            growth,
            path: costs.path.clone(),
            error,
            basis: Basis::Published,
            because,
            measured: Vec::new(),
        })
    };
    if let Some(row) = named {
        let because = format!("this CPU, {} ({})", row.model, row.source);
        return limit(row.hertz, row.cycles, row.growth, row.error, because);
    }
    let hertz = clock(machine)?;
    let count = costs.processor.len() as f64;
    let mean = |of: fn(&Processor) -> f64| costs.processor.iter().map(of).sum::<f64>() / count;
    let words = |of: fn(&Processor) -> &str| costs.processor.iter().map(of).collect::<Vec<_>>().join(" and ");
    let because = format!(
        "mean cost on other CPUs, {}, at this one's {:.1} GHz ({})",
        words(|row| &row.model),
        hertz / 1e9,
        words(|row| &row.source)
    );
    limit(hertz, mean(|row| row.cycles.ln()).exp(), mean(|row| row.growth), costs.other.error, because)
}

/// The CPU cost of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// Cycles of a core.
    pub cycles: f64,
    /// Its error, as a share in either direction; 0 where it was measured here.
    pub error: f64,
}

/// Cost of one read of `block` bytes with `workers`, by the drive's queue and the workload: the block layer splits
/// reads into requests, a scheduler adds cycles, polling saves some. An error names what has no published cost.
pub(crate) fn cost_per_read(
    limits: &Limits,
    drive: &Drive,
    workload: &Workload,
    block: Bytes,
    workers: u32,
) -> Result<Cost, String> {
    let processors = limits.processors.as_ref().ok_or("unknown CPU cost of reads")?;
    let path = &processors.path;
    if !workload.direct {
        let cache = &path.page_cache;
        let each = if limits.page_cache == PageCache::Full { cache.full } else { cache.free };
        return Ok(Cost { cycles: each * block.0 as f64, error: cache.error });
    }
    let (requests, size) = requests(drive, block);
    let modifiers = modifiers(path, drive, workload)?;
    let each = processors.cycles(size, workers);
    let each = modifiers.iter().rev().fold(each, |each, (row, _)| each * row.factor + row.cycles);
    let is_measured = processors.source(size, workers).0 == Basis::Measured;
    let own = if is_measured { 0.0 } else { processors.error };
    let siblings = if workers > processors.cores && !is_measured { path.smt.error } else { 0.0 };
    let errors = modifiers.iter().map(|(row, _)| row.error).chain([own, siblings]);
    Ok(Cost { cycles: each * requests, error: combined(errors) })
}

/// The error of a product of independent factors: errors add up as squares of logarithms.
fn combined(errors: impl Iterator<Item = f64>) -> f64 {
    errors.map(|error| error.ln_1p().powi(2)).sum::<f64>().sqrt().exp_m1()
}

/// The published share of a read's CPU cost that polled completions save, with its source.
pub(crate) fn saved_by_polling(limits: &Limits) -> Option<(f64, &str)> {
    let row = &limits.processors.as_ref()?.path.polled;
    Some((1.0 - row.factor, &row.source))
}

/// Further causes of the cost of a read: a clause each, with its source.
pub(crate) fn notes(limits: &Limits, drive: &Drive, workload: &Workload) -> Vec<String> {
    let Some(path) = limits.processors.as_ref().map(|processors| &processors.path) else { return Vec::new() };
    if !workload.direct {
        let state = if limits.page_cache == PageCache::Full { "memory full of pages" } else { "free memory" };
        return vec![format!("buffered, {state} ({})", path.page_cache.source)];
    }
    let modifiers = modifiers(path, drive, workload).unwrap_or_default();
    modifiers.into_iter().map(|(row, words)| format!("{words} ({})", row.source)).collect()
}

/// Scheduler, engine and polling, if they change the cost of a request. In the order of the notes; costs apply in
/// reverse. An error names a scheduler without a published cost.
fn modifiers<'a>(
    path: &'a ReadPath,
    drive: &Drive,
    workload: &Workload,
) -> Result<Vec<(&'a CostFactor, String)>, String> {
    let scheduler = drive.queue.scheduler.value().map(|choice| choice.current.as_str());
    let scheduler = scheduler.filter(|name| *name != "none").map(|name| {
        let row = path.scheduler.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| format!("no published cost of the {name} scheduler"))?;
        Ok::<_, String>((row, format!("with {name}")))
    });
    let engines = path.engine.iter().filter(|row| row.name == workload.engine.name());
    let polled = (workload.hipri && drive.queue.io_poll.get() == Some(1)).then_some(&path.polled);
    let scheduler = scheduler.transpose()?;
    let engines = engines.map(|row| (row, format!("by {}", row.name)));
    Ok(scheduler.into_iter().chain(engines).chain(polled.map(|row| (row, "polled".to_owned()))).collect())
}

/// Rate of a drive through the page cache without readahead, if readahead is off: a page at a time, at the
/// drive's own IOPS, while the CPU copies the last one. `None` with readahead or without a known rate of 4 KiB reads.
///
/// Of the I/Os in flight, some wait for the drive and some for a CPU: time at the drive is that of its own limit, time at
/// the CPUs is the cost of a page, stretched while more threads are busy than cores.
pub(crate) fn without_readahead(
    limits: &Limits,
    drive: &Drive,
    workload: &Workload,
) -> Option<BytesPerSecond> {
    if workload.direct || drive.queue.read_ahead_kb.get() != Some(0) {
        return None;
    }
    let (pages, ..) = limits.drive_iops.get(&drive.name)?;
    let processors = limits.processors.as_ref()?;
    let cost = cost_per_read(limits, drive, workload, PAGE, workload.jobs).ok()?;
    let in_flight = f64::from(workload.depth) * f64::from(workload.jobs);
    let at_drive = in_flight / pages;
    let plain = cost.cycles / processors.hertz;
    let mut at_cpu = plain;
    for _ in 0..ROUNDS {
        let busy = in_flight * at_cpu / (at_cpu + at_drive);
        let cores = f64::from(processors.cores);
        let stretch = if busy > cores { busy / processors.work_of(busy) } else { 1.0 };
        at_cpu = plain * stretch.max(1.0);
    }
    Some(BytesPerSecond(in_flight / (at_cpu + at_drive) * PAGE.0 as f64))
}

/// Number and size of the requests that the block layer splits a read into (`queue/max_sectors_kb`).
pub fn requests(drive: &Drive, block: Bytes) -> (f64, Bytes) {
    let most = drive.queue.max_sectors_kb.get().map_or(block.0, |kib| kib.saturating_mul(1024)).max(512);
    let requests = block.0.div_ceil(most).max(1);
    (requests as f64, Bytes(block.0 / requests))
}

/// Limit of memory: its channels at their configured speed, 8 bytes wide. Only where firmware names the channel of
/// every module (SMBIOS type 17, Bank or Device Locator).
pub(super) fn memory(machine: &Machine) -> Option<Limit> {
    let modules: Vec<_> =
        machine.host.modules.value()?.iter().filter(|module| module.size.is_some()).collect();
    let channel = |text: &str| {
        let upper = text.to_uppercase();
        let (before, after) = upper.split_once("CHANNEL")?;
        let name = after.trim_start_matches([' ', '-', '_']).split([' ', '-', '_', '/']).next()?.to_owned();
        (!name.is_empty()).then(|| format!("{before}{name}"))
    };
    let channels: Option<BTreeSet<_>> = modules
        .iter()
        .map(|module| channel(module.bank.as_str()).or_else(|| channel(module.locator.as_str())))
        .collect();
    let channels = channels.filter(|names| !names.is_empty())?;
    let slowest = modules.iter().map(|module| module.configured_mts.or(module.rated_mts)).min()??;
    Some(Limit {
        bytes_per_second: BytesPerSecond(channels.len() as f64 * f64::from(slowest) * 1e6 * 8.0),
        basis: Basis::Link,
        because: format!("{} memory channels at {slowest} MT/s, 8 bytes wide", channels.len()),
        node: None,
    })
}
