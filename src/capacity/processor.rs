//! CPU cost of reads, and limit of memory.

use std::collections::BTreeSet;

use crate::{
    machine::{Drive, Machine},
    model::{Basis, Limit, ProcessorLimit, Workload},
    units::{Bytes, BytesPerSecond},
};

use super::tables::{self, Costs, Modifier};

/// The highest CPU clock in hertz, by the frequency driver or else `/proc/cpuinfo`.
pub(super) fn clock(machine: &Machine) -> Option<f64> {
    let most = machine.processors.cpus.iter().filter_map(|cpu| cpu.max_khz.get()).max();
    most.map(|khz| khz as f64 * 1e3).or_else(|| machine.processors.megahertz.get().map(|mega| mega * 1e6))
}

/// The published cost of reads on this CPU model, or that of the table's first row at this CPU's clock; the words
/// name the row. `None` without a readable model and clock.
pub(super) fn published(machine: &Machine) -> Option<ProcessorLimit> {
    let costs = tables::costs()?;
    let model = machine.processors.model.value();
    let named = model.and_then(|name| {
        let name = name.as_str().to_lowercase();
        costs.processor.iter().find(|row| name.contains(&row.model.to_lowercase()))
    });
    let row = named.or_else(|| costs.processor.first())?;
    let (hertz, because) = if named.is_some() {
        (row.hertz, format!("this CPU, {} ({})", row.model, row.source))
    } else {
        let hertz = clock(machine)?;
        let because = format!(
            "cost on another CPU, {}, at this one's {:.1} GHz ({})",
            row.model,
            hertz / 1e9,
            row.source
        );
        (hertz, because)
    };
    let points =
        |points: &[(u64, f64)]| points.iter().map(|(size, cycles)| (Bytes(*size), *cycles)).collect();
    Some(ProcessorLimit {
        threads: u32::try_from(machine.processors.count()).ok().filter(|threads| *threads > 0)?,
        hertz,
        alone: points(&row.alone),
        together: points(&row.together),
        basis: Basis::Published,
        because,
        measured: Vec::new(),
    })
}

/// Cycles of one read of `block` bytes with `workers`, by the drive's queue and the workload: the block layer splits
/// reads into requests, a scheduler adds cycles, polling saves some.
pub(crate) fn cycles_per_read(
    processors: &ProcessorLimit,
    drive: &Drive,
    workload: &Workload,
    block: Bytes,
    workers: u32,
) -> f64 {
    let Some(costs) = tables::costs() else { return 0.0 };
    if !workload.direct {
        let readahead_off = drive.queue.read_ahead_kb.get() == Some(0);
        let buffered = &costs.buffered;
        let each =
            if readahead_off { buffered.without_readahead_cycles_per_byte } else { buffered.cycles_per_byte };
        return each * block.0 as f64;
    }
    let (requests, size) = requests(drive, block);
    let each = processors.cycles(size, workers);
    let modifiers = modifiers(costs, drive, workload);
    modifiers.iter().rev().fold(each, |each, (row, _)| each * row.factor + row.cycles) * requests
}

/// Further causes of the cost of a read: a clause each, with its source.
pub(crate) fn notes(drive: &Drive, workload: &Workload) -> Vec<String> {
    let Some(costs) = tables::costs() else { return Vec::new() };
    if !workload.direct {
        return vec![format!("buffered ({})", costs.buffered.source)];
    }
    let modifiers = modifiers(costs, drive, workload);
    modifiers.into_iter().map(|(row, words)| format!("{words} ({})", row.source)).collect()
}

/// Scheduler, engine and polling, if they change the cost of a request. In the order of the notes; costs apply in
/// reverse.
fn modifiers<'a>(costs: &'a Costs, drive: &Drive, workload: &Workload) -> Vec<(&'a Modifier, String)> {
    let scheduler = drive.queue.scheduler.value().map(|choice| choice.current.as_str());
    let schedulers = costs.scheduler.iter().filter(|row| scheduler == Some(row.name.as_str()));
    let engines = costs.engine.iter().filter(|row| row.name == workload.engine.name());
    let polled = (workload.hipri && drive.queue.io_poll.get() == Some(1)).then_some(&costs.polled);
    schedulers
        .map(|row| (row, format!("with {}", row.name)))
        .chain(engines.map(|row| (row, format!("by {}", row.name))))
        .chain(polled.map(|row| (row, "polled".to_owned())))
        .collect()
}

/// Rate of a drive through the page cache without readahead, if readahead is off.
pub(crate) fn without_readahead(drive: &Drive, workload: &Workload) -> Option<BytesPerSecond> {
    let off = !workload.direct && drive.queue.read_ahead_kb.get() == Some(0);
    Some(BytesPerSecond(tables::costs().filter(|_| off)?.buffered.without_readahead_bytes_per_second))
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
