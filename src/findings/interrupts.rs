//! Interrupt rates per CPU and posted MSI, judged while counters are sampled.

use super::{Check, Detection, Evidence, Inputs, Risk, Row, Subject, inputs::interrupts_by_cpu};
use crate::{
    counters::Rates,
    model::{FindingId, Severity},
    units,
};

pub(super) const INTERRUPT_LOAD: Row = Row {
    id: FindingId("interrupt-load"),
    title: "CPU overloaded by interrupts",
    fires: "more than 100 k interrupts per second on a CPU, or more than 30 % of its time in interrupts",
    why: "An interrupt per completion costs more than the read itself.",
    source: "Jacob Pan's posted MSI patches: 185 k per second and vector was the limit on Sapphire Rapids",
    remedy: "Poll for completions (--hipri with poll queues), or raise the queue depth per worker so that one interrupt reports \
             several.",
    wrong_if: "The interrupts are not the drives'.",
    needs_load: true,
    live: has_counts,
    check: Check::One(interrupt_load),
    ..Row::PLAIN
};

pub(super) const POSTED_MSI_OFF: Row = Row {
    id: FindingId("posted-msi-off"),
    title: "posted MSI not used",
    fires: "on an Intel CPU interrupt-load fires and the kernel argument intremap=posted_msi is not given",
    why: "With posted interrupts one notification covers several completions.",
    source: "Jacob Pan's posted MSI patches: 1.615 -> 2.184 M reads/s per disk on Sapphire Rapids, but only +2 to 4 % on Optane",
    remedy: "Kernel argument intremap=posted_msi (6.10 or later). It needs the fix of late 2025 for lost lower-priority interrupts, and \
             is worse for sparse ones.",
    risk: Risk::Reboot,
    wrong_if: "Interrupts are few or evenly spread.",
    needs_load: true,
    live: has_counts,
    check: Check::One(posted_msi_off),
    ..Row::PLAIN
};

/// Interrupts per second of one CPU that count as many.
const MANY: f64 = 100e3;
/// Percent of a CPU's time.
const MUCH_PERCENT: f64 = 30.0;

/// CPUs with too many interrupts: number, interrupts per second, percent of time.
fn loaded(rates: &Rates) -> Vec<(u32, Option<f64>, f64)> {
    let counts = interrupts_by_cpu(rates);
    let cpus = rates.cpus.iter().map(|(number, cpu)| (*number, counts.get(number).copied(), cpu.irq));
    cpus.filter(|(_, count, share)| *share > MUCH_PERCENT || count.is_some_and(|count| count > MANY))
        .collect()
}

/// Whether interrupts of other programs' I/O are counted.
fn has_counts(inputs: &Inputs) -> bool {
    inputs.has_live_load() && inputs.rates.is_some_and(|rates| !rates.cpus.is_empty())
}

fn interrupt_load(inputs: &Inputs) -> Option<Detection> {
    let rates = inputs.rates?;
    let found = loaded(rates);
    if found.is_empty() {
        return None;
    }
    let most = found.iter().filter_map(|(_, count, _)| *count).fold(0.0, f64::max);
    let share = found.iter().map(|(.., share)| *share).fold(0.0, f64::max);
    let title = format!(
        "{} with up to {} interrupts/s and {share:.0} % of the time in them",
        units::counted(found.len(), "CPU"),
        units::count(most)
    );
    let counts = found.iter().filter_map(|(cpu, count, _)| {
        count.map(|count| Evidence::new("/proc/interrupts", format!("cpu{cpu}: {}/s", units::count(count))))
    });
    let shares = found.iter().map(|(cpu, _, share)| {
        Evidence::new("/proc/stat", format!("cpu{cpu}: irq and softirq {share:.0} %"))
    });
    let busiest = rates.vectors.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let vector = busiest
        .map(|(name, rate)| Evidence::new("/proc/interrupts", format!("{name}: {}/s", units::count(*rate))));
    Some(
        Detection::new(Severity::Warning, title)
            .about(found.iter().map(|(cpu, ..)| Subject::cpu(*cpu)))
            .with_evidence(counts.chain(shares).chain(vector)),
    )
}

fn posted_msi_off(inputs: &Inputs) -> Option<Detection> {
    let machine = inputs.machine;
    let is_intel = machine.processors.vendor.value().is_some_and(|vendor| *vendor == *"GenuineIntel");
    let command_line = machine.host.command_line.value().map(crate::text::Label::as_str);
    let is_on = command_line.is_none_or(|line| {
        line.split(' ').any(|argument| {
            argument
                .strip_prefix("intremap=")
                .is_some_and(|modes| modes.split(',').any(|mode| mode == "posted_msi"))
        })
    });
    if !is_intel || is_on || loaded(inputs.rates?).is_empty() {
        return None;
    }
    let row = &machine.posted_msi_row;
    let proofs = [
        Evidence::at(&machine.host.command_line, "no intremap=posted_msi"),
        Evidence::at(
            row,
            match row.get() {
                Some(true) => "a PMN row: this kernel has it",
                Some(false) => "no PMN row: this kernel lacks it",
                None => "not readable",
            },
        ),
    ];
    let detection = Detection::new(Severity::Warning, "posted MSI is available but off")
        .about([Subject::host()])
        .with_evidence(proofs);
    Some(match row.get() {
        Some(false) => detection
            .with_remedy("This kernel was built without posted MSI, so it cannot be enabled.", Risk::None),
        _ => detection,
    })
}
