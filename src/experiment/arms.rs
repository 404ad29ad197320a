//! The arms of each row of `EXPERIMENTS` on a machine, or why it has none.

#![expect(clippy::unnecessary_wraps, reason = "the rows of a table have one signature")]

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Arm, Arms, Assignment, Needs, Scene};
use crate::{
    machine::{Drive, Layer, Machine, NodeKind},
    model::{DriveName, EngineKind, NodeIndex, SettingId, Target, Workload},
    tune::{
        Device,
        settings::{self, READ_AHEAD, Risk, SCHEDULER},
    },
    units::{self, Bytes},
};

const MAX_SECTORS: SettingId = SettingId("max_sectors_kb");
const GOVERNOR: SettingId = SettingId("governor");

/// The drives of the targets; an error without drives or without root.
fn tunable<'a>(scene: &Scene<'a>) -> Result<Vec<&'a Drive>, Needs> {
    let drives = scene.drives();
    if drives.is_empty() {
        return Err("a known drive; these targets are on none".into());
    }
    scene.may_write()?;
    Ok(drives)
}

/// Refuses a simulated drive, whose model does not cover `what`.
fn not_simulated(scene: &Scene<'_>, what: &str) -> Result<(), Needs> {
    if scene.simulated {
        return Err(format!("a real machine: the cost of {what} is not published").into());
    }
    Ok(())
}

/// The value of a setting shared by all drives; `None` where a file is missing or values differ.
fn common(scene: &Scene<'_>, drives: &[&Drive], setting: SettingId) -> Option<String> {
    let row = settings::find(setting.0)?;
    let mut values = drives.iter().map(|drive| {
        let readings = (row.read)(scene.machine, &Device::Drive(drive.name.clone()));
        Some(readings.first()?.value()?.text.to_string())
    });
    let first = values.next()??;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

/// One arm per value of a setting; the current value is the baseline.
fn values(scene: &Scene<'_>, work: &Workload, setting: SettingId, others: &[&str], unit: &str) -> Arms {
    let drives = tunable(scene)?;
    let now = common(scene, &drives, setting)
        .ok_or_else(|| format!("drives that all start with the same {}", setting.0))?;
    let others = others.iter().filter(|value| **value != now);
    let arms = std::iter::once(now.as_str())
        .chain(others.copied())
        .map(|value| Arm::new(format!("{value}{unit}"), work.clone()).setting(&drives, setting, value));
    Ok(arms.collect())
}

pub(super) fn schedulers(scene: &Scene<'_>, work: &Workload) -> Arms {
    let drives = tunable(scene)?;
    let mut offered: Vec<String> = Vec::new();
    for (index, drive) in drives.iter().enumerate() {
        let choice = drive.queue.scheduler.value();
        let choice = choice.ok_or_else(|| format!("a drive with a scheduler; {} has none", drive.name))?;
        let words: Vec<String> = choice.choices.iter().map(ToString::to_string).collect();
        if index == 0 {
            offered = words;
        } else {
            offered.retain(|word| words.contains(word));
        }
    }
    if scene.simulated {
        // Other schedulers have no published cost: a simulation would show a difference without a measurement.
        offered.retain(|word| ["none", "mq-deadline"].contains(&word.as_str()));
    }
    offered.sort_by_key(|word| word != "none");
    if offered.len() < 2 {
        return Err(format!("a kernel that offers two schedulers; this one has {}", offered.join(" ")).into());
    }
    let arm = |word: String| Arm::new(word.clone(), work.clone()).setting(&drives, SCHEDULER, &word);
    Ok(offered.into_iter().map(arm).collect())
}

pub(super) fn readahead(scene: &Scene<'_>, work: &Workload) -> Arms {
    if !scene.simulated {
        return values(scene, work, READ_AHEAD, &["0", "128", "1024"], " KiB");
    }
    // Published figures are of readahead on and off, in two states of memory, each compared within its own.
    let full = values(scene, work, READ_AHEAD, &["0"], " KiB")?;
    let count = full.len();
    let in_state = |(index, arm): (usize, Arm), free: bool| {
        let (state, first) = if free { ("free memory", count) } else { ("memory full", 0) };
        let against = if index == 0 { Vec::new() } else { vec![(first, 1.0)] };
        Arm { label: format!("{}, {state}", arm.label), free_memory: free, against, ..arm }
    };
    let free: Vec<Arm> = full.iter().cloned().enumerate().map(|one| in_state(one, true)).collect();
    Ok(full.into_iter().enumerate().map(|one| in_state(one, false)).chain(free).collect())
}

pub(super) fn direct(scene: &Scene<'_>, work: &Workload) -> Arms {
    let buffered = Workload { direct: false, ..work.clone() };
    let uncached = Workload { uncached: true, engine: EngineKind::IoUring, ..buffered.clone() };
    let mut arms = vec![Arm::new("direct", work.clone()), Arm::new("buffered", buffered)];
    if !scene.simulated {
        // Its cost is not published; a read tells whether kernel and file system have it.
        arms.push(Arm { optional: true, ..Arm::new("uncached", uncached) });
    }
    Ok(arms)
}

/// Software devices made of two block devices or more, by name.
fn arrays(machine: &Machine) -> impl Iterator<Item = (&DriveName, &Layer)> {
    machine.layers.devices.iter().filter(|(_, layer)| layer.is_stacked() && layer.below.len() > 1)
}

pub(super) fn members(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "arrays")?;
    let machine = scene.machine;
    let named = |target: &Target| {
        let by_name = |name: &DriveName| target.path.as_os_str() == name.device_file().as_str();
        arrays(machine).find(|(name, _)| by_name(name) || target.drive.as_ref() == Some(*name))
    };
    let of_drive = |target: &Target| {
        let drive = target.drive.as_ref()?;
        arrays(machine)
            .find(|(name, _)| machine.hardware_below(name.as_str()).iter().any(|below| below.name == *drive))
    };
    let found = scene.targets.iter().find_map(named).or_else(|| scene.targets.iter().find_map(of_drive));
    let (array, layer) = found.ok_or("an array of two drives or more: name it, as in --filename /dev/md0")?;
    let parts = layer.below.iter().map(|part| Target {
        path: std::path::PathBuf::from("/dev").join(part.as_str()),
        drive: machine.whole(part.as_str()).map(|drive| drive.name.clone()),
    });
    // As many reads in flight on the array as on all members.
    let count = u32::try_from(layer.below.len()).unwrap_or(u32::MAX);
    let whole = Workload { jobs: work.jobs.saturating_mul(count), ..work.clone() };
    let array_itself = Target { path: array.device_file().as_str().into(), drive: None };
    Ok(vec![
        Arm::new(format!("{count} members"), on(work, parts)),
        Arm::new(array.to_string(), on(&whole, [array_itself])),
    ])
}

pub(super) fn polled(scene: &Scene<'_>, work: &Workload) -> Arms {
    let drives = scene.drives();
    let mut arm = Arm::new("polled", Workload { hipri: true, ..work.clone() });
    if drives.is_empty() {
        return Err("an NVMe drive with poll queues".into());
    }
    if let Err(needs) = can_poll(scene) {
        if !scene.simulated {
            return Err(needs);
        }
        // One per worker of a drive; the fake kernel probes all its drives again at once.
        arm = arm.setting(&drives[..1], settings::POLL_QUEUES, &work.jobs.to_string());
    }
    Ok(vec![Arm::new("interrupts", work.clone()), arm])
}

/// Whether reads of all drives can be polled; else what that needs. Without poll queues polled reads take interrupts.
fn can_poll(scene: &Scene<'_>) -> Result<(), Needs> {
    let drives = scene.drives();
    let Some(first) = drives.iter().find(|drive| drive.queue.io_poll.get() != Some(1)) else { return Ok(()) };
    let name = first.name.as_str();
    Err(format!(
        "poll queues, and {name} has none: `iodyno tune set {name} poll_queues=2 --rebind`, or boot with nvme.poll_queues=2"
    )
    .into())
}

pub(super) fn jobs(scene: &Scene<'_>, work: &Workload) -> Arms {
    let most = scene.processors();
    if most < 2 {
        return Err("two CPUs".into());
    }
    let arm = |jobs| {
        let label = if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") };
        Arm::new(label, Workload { jobs, ..work.clone() })
    };
    Ok([1, 2, 4, 8, 16, 32].into_iter().filter(|jobs| *jobs <= most).map(arm).collect())
}

pub(super) fn depths(_: &Scene<'_>, work: &Workload) -> Arms {
    let arm = |depth: u32| Arm::new(format!("depth {depth}"), Workload { depth, ..work.clone() });
    Ok([1, 4, 16, 32, 64, 128, 256].map(arm).into())
}

pub(super) fn blocks(_: &Scene<'_>, work: &Workload) -> Arms {
    let arm = |shift: u32| {
        let block_size = Bytes(1 << shift);
        Arm::new(units::block_size(block_size), Workload { block_size, ..work.clone() })
    };
    Ok((12..=20).map(arm).collect())
}

pub(super) fn engines(scene: &Scene<'_>, work: &Workload) -> Arms {
    let plain = Workload { fixed_buffers: false, register_files: false, ..work.clone() };
    let by = |engine: EngineKind| Arm::new(engine.name(), Workload { engine, ..plain.clone() });
    let with_files = Workload { register_files: true, ..plain.clone() };
    let polled = Workload { hipri: true, ..work.clone() };
    let passthrough = Workload { engine: EngineKind::IoUringCmd, ..work.clone() };
    let drives = scene.drives();
    let mut arms = vec![by(EngineKind::Libaio)];
    if scene.simulated {
        // Published figures compare libaio with io_uring with everything registered.
        arms.push(Arm::new("io_uring", work.clone()));
    } else {
        arms.extend([
            by(EngineKind::Psync),
            by(EngineKind::Posixaio),
            by(EngineKind::IoUring),
            Arm::new("+ registered files", with_files),
            Arm::new("+ fixed buffers", work.clone()),
        ]);
    }
    if !drives.is_empty() && drives.iter().all(|drive| drive.queue.io_poll.get() == Some(1)) {
        arms.push(Arm::new("+ polled", polled));
    }
    if !scene.simulated
        && let Some(targets) = passthrough_targets(&drives, scene.targets)
    {
        arms.push(Arm::new("passthrough", Workload { targets, ..passthrough }));
    }
    Ok(arms)
}

/// The same drives by their NVMe character devices; `None` where one of the targets has none.
fn passthrough_targets(drives: &[&Drive], targets: &[Target]) -> Option<Vec<Target>> {
    if drives.len() != targets.len() {
        return None;
    }
    let generic = |(drive, target): (&&Drive, &Target)| {
        let is_whole = target.path.as_os_str() == drive.name.device_file().as_str();
        let device = drive.nvme.as_ref()?.generic.as_ref().filter(|_| is_whole)?;
        Some(Target { path: device.as_str().into(), drive: Some(drive.name.clone()) })
    };
    drives.iter().zip(targets).map(generic).collect()
}

/// Targets by the drive they lie on; there must be two drives.
fn by_drive(scene: &Scene<'_>) -> Result<Vec<(DriveName, Target)>, Needs> {
    let mut found: Vec<(DriveName, Target)> = Vec::new();
    for target in scene.targets {
        if let Some(drive) = &target.drive
            && !found.iter().any(|(seen, _)| seen == drive)
        {
            found.push((drive.clone(), target.clone()));
        }
    }
    if found.len() < 2 {
        return Err("two drives: mark them, or name them with --filename A:B".into());
    }
    Ok(found)
}

fn on(work: &Workload, targets: impl IntoIterator<Item = Target>) -> Workload {
    Workload { targets: targets.into_iter().collect(), ..work.clone() }
}

fn root_complex(scene: &Scene<'_>, drive: &DriveName) -> Option<NodeIndex> {
    let tree = &scene.machine.pci;
    let node = scene.machine.drive(drive)?.node?;
    tree.ancestry(node).filter(|at| tree.node(*at).kind == NodeKind::RootComplex).last()
}

pub(super) fn together(scene: &Scene<'_>, work: &Workload) -> Arms {
    let drives = by_drive(scene)?;
    // The root complex with the most drives gives the clearest result.
    let complex = |(drive, _): &(DriveName, Target)| root_complex(scene, drive);
    let mut counts: BTreeMap<NodeIndex, usize> = BTreeMap::new();
    drives.iter().filter_map(complex).for_each(|at| *counts.entry(at).or_default() += 1);
    let fullest =
        counts.iter().max_by_key(|(at, count)| (**count, std::cmp::Reverse(**at))).map(|(at, _)| *at);
    let below: Vec<_> =
        drives.iter().filter(|drive| fullest.is_some() && complex(drive) == fullest).collect();
    let first = below.first().copied().unwrap_or(&drives[0]);
    let mut arms = vec![Arm::new(first.0.to_string(), on(work, [first.1.clone()]))];
    let mut add = |label: String, targets: Vec<Target>, against: Vec<(usize, f64)>| {
        arms.push(Arm { against, ..Arm::new(label, on(work, targets)) });
    };
    let mut parts = vec![(0, drives.len() as f64)];
    if let Some(at) = fullest.filter(|_| below.len() > 1 && below.len() < drives.len()) {
        let label = format!("{} under {}", below.len(), scene.machine.pci.node(at).address);
        let count = below.len() as f64;
        add(label, below.iter().map(|(_, target)| target.clone()).collect(), vec![(0, count)]);
        // All drives against the drives of this root complex together: whether the others add what they read alone.
        parts = vec![(1, 1.0), (0, drives.len() as f64 - count)];
    }
    let all = drives.iter().map(|(_, target)| target.clone()).collect();
    add(format!("all {}", drives.len()), all, parts);
    Ok(arms)
}

/// With more drives only neighbors in bus order are paired.
const EVERY_PAIR: usize = 4;

pub(super) fn pairs(scene: &Scene<'_>, work: &Workload) -> Arms {
    let drives = by_drive(scene)?;
    let count = drives.len();
    let mut arms: Vec<Arm> = drives
        .iter()
        .map(|(drive, target)| Arm {
            against: Vec::new(),
            ..Arm::new(drive.to_string(), on(work, [target.clone()]))
        })
        .collect();
    let mut add = |label: String, members: &[usize]| {
        let targets = members.iter().map(|at| drives[*at].1.clone());
        let against = members.iter().map(|at| (*at, 1.0)).collect();
        arms.push(Arm { against, ..Arm::new(label, on(work, targets)) });
    };
    for one in 0..count {
        let partners = if count <= EVERY_PAIR { one + 1..count } else { one + 1..(one + 2).min(count) };
        for two in partners {
            add(format!("{} + {}", drives[one].0, drives[two].0), &[one, two]);
        }
    }
    if count > 2 {
        add(format!("all {count}"), &(0..count).collect::<Vec<_>>());
    }
    Ok(arms)
}

pub(super) fn nodes(scene: &Scene<'_>, work: &Workload) -> Arms {
    let nodes = &scene.machine.processors.numa;
    let nodes: Vec<u32> = nodes.iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(node, _)| *node).collect();
    if nodes.len() < 2 {
        return Err("two NUMA nodes with CPUs; this machine has one".into());
    }
    not_simulated(scene, "reading from another NUMA node")?;
    let homes: BTreeSet<Option<u32>> =
        scene.drives().iter().map(|drive| drive.numa_node.get().flatten()).collect();
    let near = match homes.first() {
        Some(Some(home)) if homes.len() == 1 && nodes.contains(home) => *home,
        _ => return Err("drives of one NUMA node; mark those of one node".into()),
    };
    let arm = |node| {
        let side = if node == near { "local" } else { "remote" };
        Arm::new(format!("{side} node {node}"), Workload { numa_cpu_nodes: vec![node], ..work.clone() })
    };
    let far = nodes.iter().filter(|node| **node != near);
    Ok(std::iter::once(&near).chain(far).map(|node| arm(*node)).collect())
}

pub(super) fn no_merges(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "merge lookups")?;
    values(scene, work, SettingId("nomerges"), &["0", "2"], "")
}

pub(super) fn statistics(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "counting requests")?;
    values(scene, work, SettingId("iostats"), &["1", "0"], "")
}

pub(super) fn affinity(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "completing on another CPU")?;
    values(scene, work, SettingId("rq_affinity"), &["1", "2", "0"], "")
}

pub(super) fn max_sectors(scene: &Scene<'_>, work: &Workload) -> Arms {
    let drives = tunable(scene)?;
    let most = drives.iter().filter_map(|drive| drive.queue.max_hw_sectors_kb.get()).min();
    let most = most.map(|kib| kib.to_string()).unwrap_or_default();
    let others: Vec<&str> =
        [most.as_str(), "128", "64"].into_iter().filter(|value| !value.is_empty()).collect();
    values(scene, work, MAX_SECTORS, &others, " KiB")
}

pub(super) fn idle_states(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "waking a CPU")?;
    scene.may_write()?;
    let deepest =
        scene.machine.processors.idle_states.iter().filter_map(|state| state.latency_us.get()).max();
    if deepest.is_none_or(|us| us == 0) {
        return Err("CPUs with idle states; this kernel shows none (cpuidle)".into());
    }
    let held = Arm { awake: true, ..Arm::new("C-states off", work.clone()) };
    Ok(vec![Arm::new("C-states on", work.clone()), held])
}

pub(super) fn governors(scene: &Scene<'_>, work: &Workload) -> Arms {
    not_simulated(scene, "a slower clock")?;
    scene.may_write()?;
    let row = settings::find(GOVERNOR.0).filter(|row| row.risk == Risk::Live);
    let readings = row.map(|row| (row.read)(scene.machine, &Device::Cpu)).unwrap_or_default();
    let first = readings.first().and_then(|reading| reading.value());
    let first = first.ok_or("CPUs with a cpufreq governor")?;
    let now = first.text.to_string();
    let others = first.choices.iter().map(ToString::to_string).filter(|word| *word != now);
    let arm = |value: String| Arm {
        settings: vec![Assignment { device: Device::Cpu, setting: GOVERNOR, value: value.clone() }],
        ..Arm::new(value, work.clone())
    };
    let arms: Vec<Arm> = std::iter::once(now.clone()).chain(others).map(arm).collect();
    if arms.len() < 2 {
        return Err(format!("a second governor; this kernel has {now} alone").into());
    }
    Ok(arms)
}

pub(super) fn own(scene: &Scene<'_>, work: &Workload) -> Arms {
    let specs = &scene.wishes.arms;
    if specs.len() < 2 {
        return Err(
            "two sets of settings and workloads: --arm \"A: scheduler=none bs=4k\" --arm \"B: ...\"".into()
        );
    }
    let arms =
        specs.iter().enumerate().map(|(index, spec)| super::custom_arms::arm(scene, work, index, spec));
    let arms = arms.collect::<Result<Vec<_>, _>>()?;
    if arms.iter().any(|arm| arm.workload.hipri) {
        can_poll(scene)?;
    }
    Ok(arms)
}
