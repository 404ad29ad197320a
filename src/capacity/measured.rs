//! What a test teaches about the machine: limits of root complexes, which nobody documents, and what reads cost.

use std::collections::BTreeMap;

use super::{Beside, Measurements, expected, read_cost};
use crate::{
    machine::{Machine, Measured, MeasuredLimit, ReadCost},
    model::{DriveName, Limits, NodeIndex, RunSummary, TargetSummary},
    text::Label,
    units::BytesPerSecond,
};

/// A shorter test says little.
const LEAST_SECONDS: f64 = 3.0;

/// A place counts as what held its drives back when they read less than this share of what they should without it.
const HELD_BACK: f64 = 0.95;

/// What earlier tests measured, as far as it still fits the machine: of several figures the highest, since a place
/// carries at least what it once carried.
pub fn remembered(machine: &Machine) -> Measurements {
    let mut measurements = Measurements::default();
    for (_, node) in machine.pci.iter() {
        let fits = |limit: &&MeasuredLimit| {
            limit.root_complex == node.address
                && Some(limit.bridge) == node.vendor.get().zip(node.device.get())
        };
        let limits = machine.measured.iter().filter_map(|measured| match measured {
            Measured::RootComplex(limit) => Some(limit),
            Measured::Reads(_) => None,
        });
        let most = limits.filter(fits).max_by(|a, b| a.bytes_per_second.0.total_cmp(&b.bytes_per_second.0));
        if let Some(limit) = most {
            measurements.root_complexes.insert(node.address, (limit.bytes_per_second, limit.run.to_string()));
        }
    }
    let processor = ReadCost::processor_of(machine);
    let costs = machine.measured.iter().filter_map(|measured| match measured {
        Measured::Reads(cost) if Some(&cost.processor) == processor.as_ref() => Some(cost.clone()),
        _ => None,
    });
    measurements.reads = read_cost::cheapest(costs.collect());
    measurements
}

/// What a test on this machine teaches: for each root complex with two drives or more under test, what it carried, if
/// that is more than its limit was thought to be, or if nothing else explains why the drives read no faster; and what its
/// reads cost, if the processors were what held it back.
///
/// A test that was simulated, cut short, or is no measure of its drives teaches nothing of them.
pub fn learned(machine: &Machine, limits: &Limits, run: &RunSummary, beside: Beside) -> Vec<Measured> {
    let long = |target: &TargetSummary| target.errors == 0 && target.runtime.as_secs_f64() >= LEAST_SECONDS;
    if run.simulated || !run.targets.iter().all(long) {
        return Vec::new();
    }
    let known = remembered(machine).reads;
    let cost = read_cost::learned(machine, run, beside, &known).map(Measured::Reads);
    // What is no measure of the drives, for it read zeros or kept every processor busy, may well be one of the processors.
    let of_drives = run.targets.iter().all(|target| target.invalid_because.is_empty());
    let carried = if of_drives { root_complexes(machine, limits, run) } else { Vec::new() };
    carried.into_iter().map(Measured::RootComplex).chain(cost).collect()
}

/// The run that measured something: `8 drives, 1m randread, depth 32, 3 jobs, Linux 6.18.0, 2026-11-21`.
pub(super) fn told(machine: &Machine, run: &RunSummary, drives: usize) -> Label {
    let day =
        jiff::Timestamp::from_second(run.started).map(|at| at.strftime("%F").to_string()).unwrap_or_default();
    let drives = if drives == 1 { "1 drive".to_owned() } else { format!("{drives} drives") };
    let kernel = machine.host.kernel.value().map_or_else(String::new, |kernel| format!(", Linux {kernel}"));
    Label::new(&format!("{drives}, {}{kernel}, {day}", run.workload.title()))
}

fn root_complexes(machine: &Machine, limits: &Limits, run: &RunSummary) -> Vec<MeasuredLimit> {
    let mut below: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
    for (index, target) in run.targets.iter().enumerate() {
        let node = target.drive.as_ref().and_then(|drive: &DriveName| machine.drive(drive)?.node);
        if let Some(node) = node {
            below.entry(machine.pci.root_of(node)).or_default().push(index);
        }
    }
    below.retain(|_, targets| targets.len() > 1);
    below.into_iter().filter_map(|(root, targets)| one(machine, limits, run, root, &targets)).collect()
}

fn one(
    machine: &Machine,
    limits: &Limits,
    run: &RunSummary,
    root: NodeIndex,
    targets: &[usize],
) -> Option<MeasuredLimit> {
    let node = machine.pci.node(root);
    let carried: f64 = targets.iter().map(|index| run.targets[*index].bytes_per_second()).sum();
    let more_than_thought = limits.hop(root).is_some_and(|limit| carried > limit.bytes_per_second.0);
    let mut without = limits.clone();
    without.hops.remove(&root);
    let expected = expected(machine, &without, &run.workload);
    let possible: Option<f64> =
        targets.iter().map(|index| Some(expected.get(*index)?.as_ref()?.bytes_per_second.0)).sum();
    let held_back =
        limits.hop(root).is_none() && possible.is_some_and(|possible| carried < HELD_BACK * possible);
    if !more_than_thought && !held_back {
        return None;
    }
    Some(MeasuredLimit {
        root_complex: node.address,
        bridge: node.vendor.get().zip(node.device.get())?,
        bytes_per_second: BytesPerSecond(carried.round()),
        run: told(machine, run, targets.len()),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        capacity,
        model::{Basis, Workload},
        source::{self, origin::Origin},
        units::Bytes,
    };

    fn machine() -> Machine {
        source::read_machine(&*Origin::Demo("threadripper-before".to_owned()).open().unwrap()).0
    }

    /// The eight drives below 0000:40, reading `each` bytes per second for ten seconds.
    fn run(each: u64) -> RunSummary {
        let drives = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1"];
        let workload = Workload { block_size: Bytes(1 << 20), jobs: 3, ..Workload::default() };
        crate::model::run::testing::run(&drives, each * 10, workload)
    }

    /// The machine without a published figure for its host bridge.
    fn unknown_bridge() -> Machine {
        let mut machine = machine();
        let roots: Vec<NodeIndex> = machine.pci.roots().collect();
        for root in roots {
            machine.pci.nodes[root.0].device = crate::model::Reading::known("/test", 0x7777);
        }
        machine
    }

    #[test]
    fn drives_that_nothing_else_holds_back_measure_their_root_complex() {
        let mut machine = unknown_bridge();
        let limits = capacity::limits(&machine);
        let learned = root_complexes(&machine, &limits, &run(5_000_000_000));
        assert_eq!(learned.len(), 1);
        assert_eq!(
            learned[0].to_string(),
            "0000:40 1022:7777 40000000000 8 drives, 1m randread, depth 32, 3 jobs, Linux 5.8.0-29-generic, 2026-09-21"
        );
        machine.measured = vec![Measured::RootComplex(learned[0].clone())];
        let limits = capacity::limits(&machine);
        let root = machine.pci.roots().nth(2).unwrap();
        let limit = limits.hop(root).unwrap();
        assert_eq!((limit.basis, limit.bytes_per_second), (Basis::Measured, BytesPerSecond(40e9)));
        machine.measured =
            vec![Measured::RootComplex(MeasuredLimit { bridge: (0x1022, 0x1111), ..learned[0].clone() })];
        assert_eq!(capacity::limits(&machine).hop(root), None, "another host bridge: another machine");
    }

    #[test]
    fn a_figure_above_the_published_one_corrects_it_and_one_below_does_not() {
        let machine = machine();
        let limits = capacity::limits(&machine);
        assert_eq!(root_complexes(&machine, &limits, &run(4_000_000_000)), []);
        let learned = root_complexes(&machine, &limits, &run(6_000_000_000));
        assert_eq!(learned.len(), 1);
        assert_eq!(learned[0].bytes_per_second, BytesPerSecond(48e9));
    }

    #[test]
    fn a_test_that_is_no_measure_teaches_nothing() {
        let machine = unknown_bridge();
        let limits = capacity::limits(&machine);
        let spoilt = |spoil: &dyn Fn(&mut RunSummary)| {
            let mut run = run(5_000_000_000);
            spoil(&mut run);
            learned(&machine, &limits, &run, Beside::default())
        };
        assert_eq!(spoilt(&|run| run.simulated = true), []);
        assert_eq!(spoilt(&|run| run.targets[3].invalid_because.push("zeros".into())), []);
        assert_eq!(spoilt(&|run| run.targets[3].errors = 1), []);
        assert_eq!(spoilt(&|run| run.targets[3].runtime = Duration::from_secs(1)), []);
        assert_eq!(spoilt(&|run| run.workload.block_size = Bytes(4096)), [], "the processors hold it back");
        assert_eq!(
            spoilt(&|run| run.targets.iter_mut().for_each(|t| t.bytes = 70_000_000_000)),
            [],
            "nothing held it back"
        );
    }
}
