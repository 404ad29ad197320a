//! Rates of drives that were their own limit in a test: below what their path and the CPUs could carry.

use super::{expected, potential, read_cost::run_label};
use crate::{
    machine::{Alone, Drive, Machine, Measured, ReadSize},
    model::{Limits, Pattern, RunSummary, TargetSummary, Workload},
    units::{Bytes, BytesPerSecond},
};

/// Below this share of what path and CPUs could carry, the drive was the limit.
const OWN_LIMIT: f64 = 0.97;
/// Shorter tests are not used, seconds.
const LEAST_SECONDS: f64 = 1.0;
/// Workers that use this share of their time were the limit, or may have been.
const FULL: f64 = 0.9;
/// Large reads begin at this size, and keep so many bytes in flight: the rows of CrystalDiskMark that saturate a drive
/// (`SEQ1M Q8T1`, `SEQ128K Q32T1`) keep 4 MiB and more.
const LARGE: Bytes = Bytes(128 << 10);
const LARGE_IN_FLIGHT: u64 = 4 << 20;
/// Small reads have this size, and so many are in flight: drive vendors publish IOPS at depth 32 with 8 to 16 jobs.
const SMALL: Bytes = Bytes(4096);
const SMALL_IN_FLIGHT: u64 = 256;

/// The highest rate of this drive alone, with reads of this size.
pub(super) fn of_drive<'a>(machine: &'a Machine, drive: &Drive, size: ReadSize) -> Option<&'a Alone> {
    let (model, serial) = Alone::identity_of(drive)?;
    let of_drive = machine.measured.iter().filter_map(|measured| match measured {
        Measured::Alone(alone) if alone.model == model && alone.serial == serial && alone.size == size => {
            Some(alone)
        }
        _ => None,
    });
    of_drive.max_by(|a, b| a.iops.total_cmp(&b.iops))
}

/// The rate of the one drive of a run, if the drive was the limit; also a higher rate than one that is known, whatever
/// limited it. The run is valid, and nothing was simulated.
pub(super) fn learned(machine: &Machine, limits: &Limits, run: &RunSummary) -> Option<Alone> {
    let [target] = run.targets.as_slice() else { return None };
    let drive = target.drive.as_ref().and_then(|name| machine.drive(name))?;
    let size = size_of(&run.workload)?;
    let is_whole = target.name.as_str() == drive.name.device_file();
    if !is_whole || target.ios == 0 || target.runtime.as_secs_f64() < LEAST_SECONDS {
        return None;
    }
    let known = of_drive(machine, drive, size);
    let is_its_own = match known {
        Some(known) => target.iops() > known.iops,
        None => is_own_limit(machine, limits, run, drive, target),
    };
    let (model, serial) = Alone::identity_of(drive).filter(|_| is_its_own)?;
    Some(Alone {
        model,
        serial,
        size,
        bytes_per_second: BytesPerSecond(target.bytes_per_second().round()),
        iops: target.iops().round(),
        run: run_label(machine, run, 1),
    })
}

/// Whether a rate is below what is otherwise known to be the drive's potential: it would lower it.
pub(crate) fn lowers(machine: &Machine, limits: &Limits, drive: &Drive, alone: &Alone) -> bool {
    let block = alone.bytes_per_second.0 / alone.iops.max(1.0);
    potential::of_drive(machine, limits, drive, block).is_some_and(|known| alone.iops < known.iops)
}

/// The class of a workload that saturates a drive; `None` of others.
fn size_of(workload: &Workload) -> Option<ReadSize> {
    let is_plain = workload.direct
        && !workload.submission_poll
        && workload.block_split.is_empty()
        && workload.rate_iops.is_none()
        // Few blocks, read again and again, come from the drive's own memory.
        && workload.size.is_none();
    let in_flight = u64::from(workload.depth).saturating_mul(u64::from(workload.jobs));
    let block = workload.block_size;
    let is_large = block >= LARGE && in_flight.saturating_mul(block.0) >= LARGE_IN_FLIGHT;
    let is_small = block == SMALL && workload.pattern == Pattern::Random && in_flight >= SMALL_IN_FLIGHT;
    match (is_plain && is_large, is_plain && is_small) {
        (true, _) => Some(ReadSize::Large),
        (_, true) => Some(ReadSize::Small),
        _ => None,
    }
}

/// Whether path and CPUs could have carried more. Without a known path nothing says so.
fn is_own_limit(
    machine: &Machine,
    limits: &Limits,
    run: &RunSummary,
    drive: &Drive,
    target: &TargetSummary,
) -> bool {
    let mut others = limits.clone();
    others.own.remove(&drive.name);
    others.drive_iops.remove(&drive.name);
    let path = drive.node.and_then(|node| limits.path(node)).cloned();
    others.drives.remove(&drive.name);
    others.drives.extend(path.map(|path| (drive.name.clone(), path)));
    let carried = expected(machine, &others, &run.workload).into_iter().next().flatten();
    let spent = (target.cpu_user + target.cpu_system).as_secs_f64();
    let workers = target.runtime.as_secs_f64() * f64::from(run.workload.jobs);
    spent < FULL * workers && carried.is_some_and(|carried| target.iops() < OWN_LIMIT * carried.iops)
}

#[cfg(test)]
mod tests {
    use std::{sync::LazyLock, time::Duration};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        capacity,
        model::{Basis, DriveName, run::testing},
        source,
        text::Label,
    };

    fn machine() -> Machine {
        static READ: LazyLock<Machine> = LazyLock::new(|| source::testing::demo("threadripper-before"));
        READ.clone()
    }

    /// Ten seconds of large reads of nvme0n1.
    fn run(rate: u64) -> RunSummary {
        let workload =
            Workload { block_size: Bytes(1 << 20), pattern: Pattern::Sequential, ..Workload::default() };
        testing::run(&["nvme0n1"], rate * 10, workload)
    }

    fn of(machine: &Machine, run: &RunSummary) -> Option<Alone> {
        learned(machine, &capacity::limits(machine), run)
    }

    fn first(machine: &Machine) -> &Drive {
        machine.drive(&DriveName::new("nvme0n1")).unwrap()
    }

    fn potential_of(machine: &Machine) -> capacity::Potential {
        let drive = first(machine);
        potential::of_drive(machine, &capacity::limits(machine), drive, f64::from(1 << 20)).unwrap()
    }

    #[test]
    fn a_drive_below_its_path_alone_is_its_own_potential_and_a_swapped_one_is_not() {
        let mut machine = machine();
        assert_eq!(potential_of(&machine).basis, Basis::Published);
        let alone = of(&machine, &run(6_000_000_000)).unwrap();
        machine.measured.push(Measured::parse(&alone.to_string()).unwrap());
        let potential = potential_of(&machine);
        assert_eq!((potential.basis, potential.bytes_per_second), (Basis::Measured, BytesPerSecond(6e9)));
        assert!(
            potential.because.starts_with("the drive: read alone here, 1 drive, 1m read"),
            "{}",
            potential.because
        );
        assert_eq!(of(&machine, &run(5_900_000_000)), None, "a lower result does not lower it");
        machine.measured.push(Measured::Alone(of(&machine, &run(7_190_000_000)).unwrap()));
        assert_eq!(
            potential_of(&machine).bytes_per_second,
            BytesPerSecond(7.19e9),
            "never below what it read"
        );
        let index = machine.drives.iter().position(|drive| drive.name.as_str() == "nvme0n1").unwrap();
        machine.drives[index].serial = crate::model::Reading::known("/test", Label::new("ANOTHER1"));
        assert_eq!(potential_of(&machine).basis, Basis::Published);
    }

    #[test]
    fn a_run_that_something_else_limits_teaches_nothing() {
        let machine = machine();
        let spoilt = |spoil: &dyn Fn(&mut RunSummary)| {
            let mut run = run(6_000_000_000);
            spoil(&mut run);
            of(&machine, &run)
        };
        assert!(spoilt(&|_| {}).is_some());
        let spoils: [fn(&mut RunSummary); 12] = [
            |run| run.targets[0].bytes = 71_500_000_000,
            |run| run.workload.depth = 2,
            |run| run.workload.block_size = Bytes(64 << 10),
            |run| run.workload.direct = false,
            |run| run.workload.rate_iops = Some(100),
            |run| run.workload.size = Some(Bytes(1 << 20)),
            |run| run.workload.block_split = vec![(Bytes(1 << 20), 100)],
            |run| run.workload.submission_poll = true,
            |run| run.targets[0].cpu_system = Duration::from_secs(9),
            |run| run.targets[0].runtime = Duration::from_millis(900),
            |run| run.targets[0].name = Label::new("/home/file"),
            |run| run.targets.push(run.targets[0].clone()),
        ];
        for (at, spoil) in spoils.into_iter().enumerate() {
            let scaled = |run: &mut RunSummary| {
                spoil(run);
                run.targets[0].ios = run.targets[0].bytes / run.workload.block_size.0;
            };
            assert_eq!(spoilt(&scaled), None, "{at}");
        }
        let mut bare = machine.clone();
        bare.drives.iter_mut().for_each(|drive| {
            drive.serial = crate::model::Reading::known("/test", Label::new(""));
        });
        assert_eq!(of(&bare, &run(6_000_000_000)), None, "without a serial it could be any drive");
    }

    #[test]
    fn small_reads_are_their_own_class() {
        let mut machine = machine();
        let small = Workload { block_size: SMALL, jobs: 16, ..Workload::default() };
        let run = testing::run(&["nvme0n1"], 300_000 * 40_960, small);
        let alone = of(&machine, &run).unwrap();
        assert_eq!((alone.size, alone.iops), (ReadSize::Small, 300e3));
        machine.measured.push(Measured::Alone(alone));
        let limits = capacity::limits(&machine);
        let drive = first(&machine);
        let small = potential::of_drive(&machine, &limits, drive, 4096.0).unwrap();
        assert_eq!((small.iops, small.basis), (300e3, Basis::Measured));
        assert_eq!(potential_of(&machine).basis, Basis::Published, "large reads are another class");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// The order: measured alone below 97 % of the path, else published, else the link; never below what was measured.
        #[test]
        fn the_first_figure_that_is_known_is_the_potential(
            rate in 1_000_000_000_u64..8_000_000_000,
            is_published: bool,
        ) {
            let mut machine = machine();
            if !is_published {
                machine.drives.iter_mut().for_each(|drive| {
                    drive.model = crate::model::Reading::known("/test", Label::new("Unknown 1TB"));
                });
            }
            let limits = capacity::limits(&machine);
            let path = limits.path(first(&machine).node.unwrap()).unwrap();
            let before = potential_of(&machine);
            prop_assert_eq!(before.basis, if is_published { Basis::Published } else { Basis::Link });
            let run = run(rate);
            let alone = of(&machine, &run);
            let is_own = run.targets[0].bytes_per_second() < OWN_LIMIT * path.bytes_per_second.0;
            prop_assert_eq!(alone.is_some(), is_own);
            machine.measured.extend(alone.map(Measured::Alone));
            let after = potential_of(&machine);
            if is_own {
                prop_assert_eq!(after.basis, Basis::Measured);
                prop_assert!((after.bytes_per_second.0 / rate as f64 - 1.0).abs() < 1e-3);
            } else {
                prop_assert_eq!(&after, &before);
            }
            let measured = run.targets[0].iops();
            prop_assert!(after.at_least(run.targets[0].bytes_per_second(), measured).iops >= measured - 1.0);
        }
    }
}
