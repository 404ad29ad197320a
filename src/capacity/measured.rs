//! Limits learned from tests: root complexes, whose limits are undocumented, the CPU cost of reads, wrong limits, and
//! drives that were their own limit.

use std::collections::BTreeMap;

use super::{
    SystemActivity, alone, expected, flow, published_iops, published_limit,
    read_cost::{self, run_label},
};
use crate::{
    machine::{
        Drive, Exceeded, ExceededAt, Machine, Measured, MeasuredLimit, PciNode, ReadCost, pci::NodeAddress,
    },
    model::{DriveName, Limit, Limits, NodeIndex, RunSummary, TargetSummary},
    units::{BytesPerSecond, UnitSystem},
};

/// Shorter tests are not used, seconds.
const LEAST_SECONDS: f64 = 3.0;

/// A place counts as the bottleneck below this share of the rate expected without it.
const HELD_BACK: f64 = 0.95;

/// A result refutes a limit from this factor on. Less is the error of the model, which leaves out acknowledgements,
/// and of a test's first and last reads.
const REFUTES: f64 = 1.02;

/// The highest measured rate of a root complex, for the same host bridge: it can carry at least that.
pub(super) fn of_root<'a>(machine: &'a Machine, root: &PciNode) -> Option<&'a MeasuredLimit> {
    let bridge = root.vendor.get().zip(root.device.get());
    let limits = machine.measured.iter().filter_map(|measured| match measured {
        Measured::RootComplex(limit) => Some(limit),
        _ => None,
    });
    let fits = |limit: &&MeasuredLimit| limit.root_complex == root.address && Some(limit.bridge) == bridge;
    limits.filter(fits).max_by(|a, b| a.bytes_per_second.0.total_cmp(&b.bytes_per_second.0))
}

/// The lowest measured costs of reads on this CPU, for each size.
pub(super) fn costs(machine: &Machine) -> Vec<ReadCost> {
    let processor = ReadCost::processor_of(machine);
    let costs = machine.measured.iter().filter_map(|measured| match measured {
        Measured::Reads(cost) if Some(&cost.processor) == processor.as_ref() => Some(cost.clone()),
        _ => None,
    });
    read_cost::cheapest(costs.collect())
}

/// Results of earlier tests above this limit.
fn results_above(machine: &Machine, at: ExceededAt) -> impl Iterator<Item = &Exceeded> {
    machine.measured.iter().filter_map(move |measured| match measured {
        Measured::Exceeded(exceeded) if exceeded.at == at => Some(exceeded),
        _ => None,
    })
}

/// Measurements from a test on this machine: rates of root complexes with at least two drives under test, the CPU
/// cost of reads, and exceeded limits.
///
/// A root complex counts if its rate exceeds its known limit, or if nothing else explains why the drives read no
/// faster. Simulated, short and invalid tests are not used.
pub fn learned(
    machine: &Machine,
    limits: &Limits,
    run: &RunSummary,
    beside: SystemActivity,
) -> Vec<Measured> {
    let has_failed = |target: &TargetSummary| target.errors > 0;
    if run.simulated || run.targets.iter().any(has_failed) {
        return Vec::new();
    }
    // A test of the CPUs is not one of the drives: it may have read zeros.
    let of_drives = run.targets.iter().all(|target| target.invalid_because.is_empty());
    let alone = if of_drives && beside.alone { alone::learned(machine, limits, run) } else { None };
    let alone = alone.map(Measured::Alone).into_iter();
    if run.targets.iter().any(|target| target.runtime.as_secs_f64() < LEAST_SECONDS) {
        return alone.collect();
    }
    let cost = read_cost::learned(machine, run, beside, &costs(machine)).map(Measured::Reads);
    let carried = if of_drives { root_complexes(machine, limits, run) } else { Vec::new() };
    // Reads from the page cache cross no link.
    let exceeded = if of_drives && run.workload.direct { exceeded(machine, limits, run) } else { Vec::new() };
    let carried = carried.into_iter().map(Measured::RootComplex);
    carried.chain(cost).chain(exceeded.into_iter().map(Measured::Exceeded)).chain(alone).collect()
}

/// One sentence for each limit that a run refuted: `measured 11.3 GB/s, above the limit 211 MB/s (...): the limit is
/// wrong and no longer used`.
pub fn refutations(machine: &Machine, limits: &Limits, learned: &[Measured]) -> Vec<String> {
    let of = |measured: &Measured| {
        let Measured::Exceeded(exceeded) = measured else { return None };
        let (place, limit) = match &exceeded.at {
            ExceededAt::Function(address, _) => {
                let node = machine.pci.find(*address)?;
                let limit = limits.hops.values().find(|limit| limit.node == Some(node))?;
                (address.to_string(), limit)
            }
            ExceededAt::Model(model) => {
                let of_model = |drive: &&Drive| Exceeded::model_of(drive).as_ref() == Some(model);
                let drive = machine.hardware_drives().find(of_model)?;
                let own = published_limit(machine, drive);
                let Some(limit) = own.filter(|own| own.bytes_per_second < exceeded.bytes_per_second) else {
                    let (iops, _, because) = published_iops(machine, drive)?;
                    let iops = [exceeded.iops, iops].map(|iops| format!("{iops:.0} IOPS"));
                    return Some(format!("{}: {}", drive.name, sentence(&iops, &because)));
                };
                return Some(format!("{}: {}", drive.name, above(exceeded, &limit)));
            }
        };
        Some(format!("{place}: {}", above(exceeded, limit)))
    };
    learned.iter().filter_map(of).collect()
}

fn sentence([measured, limit]: &[String; 2], because: &str) -> String {
    format!("measured {measured}, above the limit {limit} ({because}): the limit is wrong and no longer used")
}

fn above(exceeded: &Exceeded, limit: &Limit) -> String {
    let rates = [exceeded.bytes_per_second, limit.bytes_per_second];
    sentence(&rates.map(|rate| UnitSystem::Decimal.rate(rate)), &limit.because)
}

/// The sentence about a limit of a link or uplink that an earlier test exceeded.
pub(super) fn refuted(machine: &Machine, limit: &Limit) -> Option<String> {
    let results = results_above(machine, function(machine, limit)?);
    let beyond = results.filter(|exceeded| exceeded.bytes_per_second > limit.bytes_per_second);
    let most = beyond.max_by(|a, b| a.bytes_per_second.0.total_cmp(&b.bytes_per_second.0))?;
    Some(format!("{}; measured by {}", above(most, limit), most.run))
}

/// Whether a test on this machine exceeded a limit of the drive's model.
pub(super) fn is_exceeded(machine: &Machine, drive: &Drive, shows: impl Fn(&Exceeded) -> bool) -> bool {
    let model = Exceeded::model_of(drive).map(ExceededAt::Model);
    model.is_some_and(|model| results_above(machine, model).any(shows))
}

/// The function that a limit of a link or uplink belongs to.
fn function(machine: &Machine, limit: &Limit) -> Option<ExceededAt> {
    let node = machine.pci.node(limit.node?);
    let NodeAddress::Device(address) = node.address else { return None };
    Some(ExceededAt::Function(address, node.vendor.get().zip(node.device.get())?))
}

/// Limits of links, uplinks and drive models that the drives of a run exceeded.
fn exceeded(machine: &Machine, limits: &Limits, run: &RunSummary) -> Vec<Exceeded> {
    let of = |drives: &[&Drive]| -> (f64, f64) {
        let is_one =
            |target: &&TargetSummary| drives.iter().any(|drive| target.drive.as_ref() == Some(&drive.name));
        let targets = run.targets.iter().filter(is_one);
        targets
            .fold((0.0, 0.0), |(rate, iops), target| (rate + target.bytes_per_second(), iops + target.iops()))
    };
    let exceeded = |drives: &[&Drive], at, (rate, iops): (f64, f64)| Exceeded {
        at,
        bytes_per_second: BytesPerSecond(rate.round()),
        iops: iops.round(),
        run: run_label(machine, run, drives.len()),
    };
    let mut found = Vec::new();
    for place in flow::places(machine, limits) {
        let drives = place.drives(machine);
        let read = of(&drives);
        if read.0 > REFUTES * place.limit.bytes_per_second.0
            && let Some(at) = function(machine, &place.limit)
        {
            let tested: Vec<&Drive> = drives.into_iter().filter(|drive| of(&[*drive]).0 > 0.0).collect();
            found.push(exceeded(&tested, at, read));
        }
    }
    for drive in machine.hardware_drives() {
        let same: Vec<&Drive> =
            machine.hardware_drives().filter(|other| other.unit() == drive.unit()).collect();
        let read = of(&same);
        let (rate, iops) = (published_limit(machine, drive), published_iops(machine, drive));
        let is_beyond = rate.is_some_and(|limit| read.0 > REFUTES * limit.bytes_per_second.0)
            || iops.is_some_and(|(iops, ..)| read.1 > REFUTES * iops);
        let Some(at) = Exceeded::model_of(drive).map(ExceededAt::Model).filter(|_| is_beyond) else {
            continue;
        };
        if !found.iter().any(|known: &Exceeded| known.at == at) {
            found.push(exceeded(&same[..1], at, read));
        }
    }
    found
}

fn root_complexes(machine: &Machine, limits: &Limits, run: &RunSummary) -> Vec<MeasuredLimit> {
    let mut below: BTreeMap<NodeIndex, Vec<usize>> = BTreeMap::new();
    for (index, target) in run.targets.iter().enumerate() {
        let node = target.drive.as_ref().and_then(|drive: &DriveName| machine.drive(drive)?.node);
        // An emulated device crosses no root complex.
        if let Some(node) = node.filter(|node| !machine.pci.node(*node).is_emulated()) {
            below.entry(machine.pci.outermost_root(node)).or_default().push(index);
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
        run: run_label(machine, run, targets.len()),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        capacity,
        model::{Basis, Workload},
        source,
        units::Bytes,
    };

    fn machine() -> Machine {
        source::testing::demo("threadripper-before")
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
    fn a_result_above_a_limit_refutes_it_and_is_remembered() {
        let mut machine = machine();
        let limits = capacity::limits(&machine);
        let exceeded = |machine: &Machine, limits: &Limits, run: &RunSummary| -> Vec<Measured> {
            let learned = learned(machine, limits, run, SystemActivity::default());
            learned.into_iter().filter(|one| matches!(one, Measured::Exceeded(_))).collect()
        };
        assert_eq!(exceeded(&machine, &limits, &run(7_150_000_000)), [], "below the links' 7.20 GB/s");
        let found = exceeded(&machine, &limits, &run(8_000_000_000));
        assert_eq!(found.len(), 9, "eight links and what was published of the model: {found:?}");
        let sentences = refutations(&machine, &limits, &found);
        assert_eq!(
            sentences[0],
            "0000:41:00.0: measured 8.00 GB/s, above the limit 7.20 GB/s (Gen4 x4 (16 GT/s) at MPS 256, port 0000:40:01.1): \
             the limit is wrong and no longer used"
        );
        assert_eq!(sentences.len(), 9);
        machine.measured = found.iter().map(|one| Measured::parse(&one.to_string()).unwrap()).collect();
        let after = capacity::limits(&machine);
        let name = DriveName::new("nvme0n1");
        let drive = machine.drive(&name).and_then(|drive| drive.node).unwrap();
        assert_eq!((after.hop(drive), after.own.get(&name)), (None, None));
        assert!(
            after.refuted[&drive].contains("no longer used; measured by 1 drive, 1m randread"),
            "{after:?}"
        );
        assert_eq!(exceeded(&machine, &after, &run(8_000_000_000)), [], "known already");
        // Another drive in its place is another link.
        machine.pci.nodes[drive.0].device = crate::model::Reading::known("/test", 0x1234);
        assert!(capacity::limits(&machine).hop(drive).is_some());
        let mut cached = run(8_000_000_000);
        cached.workload.direct = false;
        assert_eq!(exceeded(&machine, &limits, &cached), [], "what came from the page cache crossed no link");
    }

    #[test]
    fn a_test_that_is_no_measure_teaches_nothing() {
        let machine = unknown_bridge();
        let limits = capacity::limits(&machine);
        let spoilt = |spoil: &dyn Fn(&mut RunSummary)| {
            let mut run = run(5_000_000_000);
            spoil(&mut run);
            learned(&machine, &limits, &run, SystemActivity::default())
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
