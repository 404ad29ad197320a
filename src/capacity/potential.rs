//! Potential: what drives could read with nothing in their way.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{expected::mean_block, link};
use crate::{
    machine::{Drive, Machine},
    model::{Basis, Limits, Workload},
    units::BytesPerSecond,
};

/// What one target could read of a workload, whatever it is plugged into.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Potential {
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// Reads per second.
    pub iops: f64,
    /// Where the figure comes from; with [`Basis::Link`] it is an upper bound that a drive need not reach.
    pub basis: Basis,
    /// The sentence behind it.
    pub because: String,
}

/// The potential of each target, in the workload's order: what the drive read alone on this machine when the drive was the
/// limit, else the published figure of its model, else the payload rate of its own link at its highest speed and width.
/// `None` for a target without a drive and for a drive with none of them (virtio, loop).
pub fn potentials(machine: &Machine, limits: &Limits, workload: &Workload) -> Vec<Option<Potential>> {
    let block = mean_block(workload);
    let of = |drive| of_drive(machine, limits, drive, block);
    workload.targets.iter().map(|target| of(machine.drive(target.drive.as_ref()?)?)).collect()
}

/// The potential of a drive for reads of so many bytes.
pub fn of_drive(machine: &Machine, limits: &Limits, drive: &Drive, block: f64) -> Option<Potential> {
    let own = limits.own.get(&drive.name);
    let bytes = own.map(|limit| (limit.bytes_per_second.0 / block, limit.basis, limit.because.clone()));
    let bytes = bytes.or_else(|| {
        let (rate, words) = link::capability(&machine.pci, drive.node?)?;
        Some((rate / block, Basis::Link, words))
    });
    let iops = limits.drive_iops.get(&drive.name);
    let iops = iops.map(|(iops, basis, because)| (*iops, *basis, format!("the drive: {because}")));
    let lowest = |a: (f64, Basis, String), b: (f64, Basis, String)| if b.0 < a.0 { b } else { a };
    let (iops, basis, because) = bytes.into_iter().chain(iops).reduce(lowest)?;
    Some(Potential { bytes_per_second: BytesPerSecond(iops * block), iops, basis, because })
}

impl Potential {
    /// The same, or what was measured if that is more.
    #[must_use]
    pub fn at_least(self, bytes_per_second: f64, iops: f64) -> Self {
        if iops <= self.iops {
            return self;
        }
        let because = "measured by this run".to_owned();
        Self { bytes_per_second: BytesPerSecond(bytes_per_second), iops, basis: Basis::Measured, because }
    }
}

/// Bytes and reads per second of several targets together; namespaces of one controller share its figure, and parts of it
/// count no further. A target with `None` adds nothing.
pub fn together(machine: &Machine, workload: &Workload, each: &[Option<(f64, f64)>]) -> (f64, f64) {
    let mut units: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (index, (target, one)) in workload.targets.iter().zip(each).enumerate() {
        let Some((bytes, iops)) = *one else { continue };
        let drive = target.drive.as_ref().and_then(|name| machine.drive(name));
        let unit = drive.map_or_else(|| index.to_string(), |drive| drive.unit().to_owned());
        let known = units.entry(unit).or_default();
        *known = (known.0.max(bytes), known.1.max(iops));
    }
    units.into_values().fold((0.0, 0.0), |(bytes, iops), (b, i)| (bytes + b, iops + i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{capacity, source, units::Bytes};

    fn of_demo(name: &str, block: u64) -> (Machine, Workload, Vec<Option<Potential>>) {
        let machine = source::testing::demo(name);
        let limits = capacity::limits(&machine);
        let targets = machine.hardware_drives().map(Drive::target).collect();
        let workload = Workload { targets, block_size: Bytes(block), ..Workload::default() };
        let potentials = potentials(&machine, &limits, &workload);
        (machine, workload, potentials)
    }

    fn sum(machine: &Machine, workload: &Workload, potentials: &[Option<Potential>]) -> (f64, f64) {
        let each: Vec<_> = potentials
            .iter()
            .map(|one| Some((one.as_ref()?.bytes_per_second.0, one.as_ref()?.iops)))
            .collect();
        together(machine, workload, &each)
    }

    #[test]
    fn a_downtrained_link_does_not_lower_the_potential() {
        let (machine, workload, potentials) = of_demo("laptop", 1 << 20);
        let first = potentials[0].as_ref().unwrap();
        assert!(first.bytes_per_second.0 > 7.0e9, "{first:?}");
        let limits = capacity::limits(&machine);
        let expected: f64 = capacity::expected(&machine, &limits, &workload)
            .into_iter()
            .map(|one| one.unwrap().bytes_per_second.0)
            .sum();
        let share = expected / sum(&machine, &workload, &potentials).0;
        assert!((0.665..0.675).contains(&share), "{share}");
    }

    #[test]
    fn ten_published_drives_add_up_to_what_they_could_read_on_separate_root_complexes() {
        let (machine, workload, potentials) = of_demo("threadripper-before", 1 << 20);
        assert!(potentials.iter().flatten().all(|one| one.basis == Basis::Published));
        let (bytes, iops) = sum(&machine, &workload, &potentials);
        assert!((bytes / 71.418e9 - 1.0).abs() < 1e-3, "{bytes}");
        assert!((iops * f64::from(1 << 20) / bytes - 1.0).abs() < 1e-9);
    }

    #[test]
    fn small_blocks_are_bounded_by_reads_and_large_ones_by_the_link() {
        let (_, _, small) = of_demo("x570", 4096);
        assert!(
            small.iter().all(|one| one.as_ref().is_some_and(|one| (one.iops - 1.8e6).abs() < 1.0)),
            "{small:?}"
        );
        let (_, _, large) = of_demo("x570", 1 << 20);
        assert!(
            large.iter().all(|one| one.as_ref().is_some_and(|one| one.basis == Basis::Link)),
            "{large:?}"
        );
    }

    #[test]
    fn a_measured_rate_above_the_potential_replaces_it() {
        let (_, _, potentials) = of_demo("x570", 4096);
        let one = potentials[0].clone().unwrap();
        assert_eq!(one.clone().at_least(1.0, 1.0), one);
        let more = one.at_least(8.2e9, 2.0e6);
        assert_eq!((more.iops, more.basis), (2.0e6, Basis::Measured));
    }
}
