use std::collections::BTreeSet;

use super::*;
use crate::{
    experiment::plan::{Needs, Plan, Scene, Terms, Wishes},
    machine::{IdleState, Machine, queue::Choice},
    model::{Reading, Target},
    source::{self, origin::Origin},
    text::Label,
    tune::Device,
};

fn machine(demo: &str) -> Machine {
    source::testing::demo(demo)
}

fn targets(machine: &Machine) -> Vec<Target> {
    machine.hardware_drives().map(crate::machine::Drive::target).collect()
}

fn plan_of(
    id: &str,
    machine: &Machine,
    simulated: bool,
    count: usize,
    wishes: &Wishes,
) -> Result<Plan, Needs> {
    let targets: Vec<Target> = targets(machine).into_iter().take(count).collect();
    let scene = Scene { machine, targets: &targets, simulated, wishes };
    find(id).unwrap().plan(&scene, Terms::default())
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.arms.iter().map(|arm| arm.label.as_str()).collect()
}

/// A machine on which every row has its arms: root's, with governors, idle states and poll queues.
fn complete() -> Machine {
    let mut machine = machine("threadripper-before");
    machine.host.root = Reading::known("/proc/self/status", true);
    for drive in &mut machine.drives {
        drive.queue.io_poll = Reading::known("/sys/q/io_poll", 1);
        drive.queue.nomerges = Reading::known("/sys/q/nomerges", 0);
        drive.queue.rq_affinity = Reading::known("/sys/q/rq_affinity", 1);
        drive.queue.iostats = Reading::known("/sys/q/iostats", 1);
        drive.queue.scheduler = Reading::known(
            "/sys/q/scheduler",
            Choice {
                current: "none".into(),
                choices: vec!["mq-deadline".into(), "none".into(), "kyber".into()],
            },
        );
    }
    for cpu in &mut machine.processors.cpus {
        cpu.governor = Reading::known("/sys/c/scaling_governor", "schedutil".into());
        cpu.governors =
            Reading::known("/sys/c/governors", vec![Label::new("schedutil"), Label::new("performance")]);
    }
    machine.processors.idle_states = vec![IdleState {
        name: Reading::known("/sys/i/name", "C2".into()),
        latency_us: Reading::known("/sys/i/latency", 400),
        usage: Reading::known("/sys/i/usage", 1),
    }];
    machine
}

#[test]
fn every_row_asks_a_question_of_its_own_and_says_what_answers_mean() {
    let mut seen = BTreeSet::new();
    for row in EXPERIMENTS {
        assert!(seen.insert(row.id), "{row:?} stands twice");
        assert!(row.question.ends_with('?') && row.question.len() <= 56, "{row:?}");
        assert!(!row.arms.is_empty() && row.arms.len() <= 60, "{row:?}");
        for meaning in [row.if_better, row.if_worse, row.if_same] {
            assert!(meaning.ends_with('.') && !meaning.contains("  "), "{row:?}: {meaning}");
            let rest = meaning.replace("{arm}", "").replace("{baseline}", "");
            assert!(!rest.contains(['{', '}']), "{row:?}: {meaning}");
        }
        assert!(row.found.is_empty() || row.found.ends_with(')'), "{row:?} names who found it");
        assert_eq!(find(row.id.0).unwrap().id, row.id);
    }
}

#[test]
fn every_row_has_its_arms_where_nothing_is_missing() {
    let machine = complete();
    let wishes =
        Wishes { arms: vec!["bs=4k".into(), "two: scheduler=none bs=8k".into()], ..Wishes::default() };
    let expected: &[(&str, &[&str])] = &[
        ("scheduler", &["none", "mq-deadline", "kyber"]),
        ("readahead", &["128 KiB", "0 KiB", "1024 KiB"]),
        ("direct", &["direct", "buffered", "uncached"]),
        ("polled", &["interrupts", "polled"]),
        ("jobs", &["1 job", "2 jobs", "4 jobs", "8 jobs", "16 jobs", "32 jobs"]),
        ("depth", &["depth 1", "depth 4", "depth 16", "depth 32", "depth 64", "depth 128", "depth 256"]),
        ("block-size", &["4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m"]),
        ("nomerges", &["0", "2"]),
        ("iostats", &["1", "0"]),
        ("rq-affinity", &["1", "2", "0"]),
        ("idle-states", &["C-states on", "C-states off"]),
        ("governor", &["schedutil", "performance"]),
        ("own", &["A", "two"]),
    ];
    for (id, arms) in expected {
        let plan = plan_of(id, &machine, false, 2, &wishes).unwrap();
        assert_eq!(labels(&plan), *arms, "{id}");
        assert_eq!(plan.baseline(), 0, "{id}");
        assert!(plan.arms[1..].iter().all(|arm| arm.against == [(0, 1.0)]), "{id}");
        assert!(plan.least_time().as_secs() >= 18, "{id}");
    }
    let rest = ["engine", "drives", "pairs", "array-members", "numa", "max-sectors"];
    assert_eq!(expected.len() + rest.len(), EXPERIMENTS.len(), "every row is looked at");
    let engines = plan_of("engine", &machine, false, 1, &wishes).unwrap();
    let ladder =
        ["libaio", "psync", "posixaio", "io_uring", "+ registered files", "+ fixed buffers", "+ polled"];
    assert_eq!(labels(&engines)[..7], ladder);
    assert!(engines.arms[6].workload.hipri && !engines.arms[3].workload.register_files);
    let sectors = plan_of("max-sectors", &machine, false, 1, &wishes).unwrap();
    assert!(labels(&sectors).contains(&"128 KiB") && labels(&sectors).contains(&"64 KiB"));
}

#[test]
fn an_array_is_held_against_all_of_its_members() {
    use crate::{
        machine::{Drive, DriveKind, Layer, LayerKind, Partition},
        model::DriveName,
        units::Bytes,
    };
    let mut machine = complete();
    let needs = |machine: &Machine| {
        plan_of("array-members", machine, false, 1, &Wishes::default()).unwrap_err().to_string()
    };
    assert!(needs(&machine).contains("/dev/md0"), "{}", needs(&machine));
    // Loop devices on files of several drives join nothing; neither does a volume of one partition.
    let layer =
        |kind, below: &[&str]| Layer { kind, below: below.iter().map(|name| (*name).into()).collect() };
    let alone = LayerKind::Loop { direct: Reading::absent("/sys/block/loop0/loop/dio", "") };
    let named = |name: &str| DriveName(name.into());
    let layers = &mut machine.layers.devices;
    layers.insert(named("loop0"), layer(alone, &["nvme0n1", "nvme1n1"]));
    layers.insert(named("dm-0"), layer(LayerKind::Other, &["nvme0n1p1"]));
    assert!(needs(&machine).contains("an array of two drives"), "{}", needs(&machine));
    let members = layer(LayerKind::Other, &["nvme0n1p1", "nvme1n1p1"]);
    machine.layers.devices.insert(named("md0"), members);
    machine.drives.push(Drive { name: named("md0"), kind: DriveKind::Md, ..machine.drives[0].clone() });
    for (drive, part) in [(0, "nvme0n1p1"), (1, "nvme1n1p1")] {
        let [start, size] = [0, 1 << 30].map(|bytes| Reading::known("/sys/p", Bytes(bytes)));
        let part = Partition { name: part.into(), start, size };
        machine.drives[drive].partitions = vec![part];
    }
    let plan = plan_of("array-members", &machine, false, 1, &Wishes::default()).unwrap();
    assert_eq!(labels(&plan), ["2 members", "md0"]);
    let [members, array] = &plan.arms[..] else { panic!() };
    let paths: Vec<_> = members.workload.targets.iter().map(|target| target.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["/dev/nvme0n1p1", "/dev/nvme1n1p1"]);
    assert_eq!(array.workload.targets[0].path.to_str(), Some("/dev/md0"));
    assert_eq!(array.workload.jobs, 2 * members.workload.jobs, "as many reads in flight");
    assert!(plan_of("array-members", &machine, true, 1, &Wishes::default()).is_err());
}

#[test]
fn drives_are_held_against_what_they_do_alone() {
    let machine = complete();
    let plan = plan_of("drives", &machine, false, 10, &Wishes::default()).unwrap();
    assert_eq!(labels(&plan), ["nvme0n1", "8 under 0000:40", "all 10"]);
    assert_eq!(plan.arms[1].against, [(0, 8.0)]);
    assert_eq!(plan.arms[2].against, [(1, 1.0), (0, 2.0)], "what the other two add");
    assert_eq!(plan.arms[2].workload.targets.len(), 10);
    let alike = plan_of("drives", &machine, false, 2, &Wishes::default()).unwrap();
    assert_eq!(
        (labels(&alike), alike.arms[1].against.as_slice()),
        (vec!["nvme8n1", "all 2"], [(0, 2.0)].as_slice())
    );
    let pairs = plan_of("pairs", &machine, false, 3, &Wishes::default()).unwrap();
    assert_eq!(pairs.arms.len(), 3 + 3 + 1);
    assert_eq!(pairs.arms[3].against, [(0, 1.0), (1, 1.0)]);
    assert_eq!(pairs.arms[6].against.len(), 3);
    let many = plan_of("pairs", &machine, false, 10, &Wishes::default()).unwrap();
    assert_eq!(many.arms.len(), 10 + 9 + 1, "neighbours only");
    for id in ["drives", "pairs"] {
        assert!(plan_of(id, &machine, false, 1, &Wishes::default()).unwrap_err().0.starts_with("two drives"));
    }
}

#[test]
fn workers_on_the_drives_own_node_are_the_baseline_of_the_others() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/a-shared-rc.capture");
    let mut machine = source::read_machine(&*Origin::Capture(capture.into()).open().unwrap()).0;
    assert_eq!(machine.processors.numa.len(), 2);
    let moved = targets(&machine)[0].drive.clone().unwrap();
    let drive = machine.drives.iter_mut().find(|drive| drive.name == moved).unwrap();
    drive.numa_node = Reading::known("/sys/n/numa_node", Some(1));
    let place = |machine: &Machine, node| {
        let at = |drive: &crate::machine::Drive| drive.numa_node.get().flatten() == Some(node);
        targets(machine)
            .into_iter()
            .filter(|target| target.drive.as_ref().and_then(|name| machine.drive(name)).is_some_and(at))
            .collect::<Vec<_>>()
    };
    let plan = |machine: &Machine, targets: &[Target], simulated| {
        let scene = Scene { machine, targets, simulated, wishes: &Wishes::default() };
        find("numa").unwrap().plan(&scene, Terms::default())
    };
    for (node, arms) in [(0, ["local node 0", "remote node 1"]), (1, ["local node 1", "remote node 0"])] {
        let made = plan(&machine, &place(&machine, node), false).unwrap();
        assert_eq!(labels(&made), arms);
        let nodes: Vec<_> = made.arms.iter().map(|arm| arm.workload.numa_cpu_nodes.clone()).collect();
        assert_eq!(nodes, [vec![node], vec![1 - node]]);
        assert!(made.baseline() == 0 && !made.changes_settings());
    }
    let some = place(&machine, 0);
    assert!(plan(&machine, &some, true).unwrap_err().0.starts_with("a real machine"));
    assert!(plan(&machine, &targets(&machine), false).unwrap_err().0.contains("one NUMA node"));
    let lone: Vec<Target> = some.iter().map(|target| Target { drive: None, ..target.clone() }).collect();
    assert!(
        plan(&machine, &lone, false).unwrap_err().0.contains("one NUMA node"),
        "a file's drive is unknown"
    );
    // A node without CPUs, as CXL memory adds it, has no workers.
    machine.processors.numa.insert(1, Vec::new());
    assert!(plan(&machine, &some, false).unwrap_err().0.starts_with("two NUMA nodes"));
}

#[test]
fn settings_are_what_the_arms_say() {
    let machine = complete();
    let plan = plan_of("scheduler", &machine, false, 2, &Wishes::default()).unwrap();
    let settings = &plan.arms[1].settings;
    assert_eq!(settings.len(), 2, "on both drives");
    assert!(settings.iter().all(|set| set.setting.0 == "scheduler" && set.value == "mq-deadline"));
    assert!(plan.changes_settings() && plan.arms.iter().all(|arm| arm.workload.jobs == 3));
    let governor = plan_of("governor", &machine, false, 1, &Wishes::default()).unwrap();
    assert_eq!(governor.arms[1].settings[0].device, Device::Cpu);
    let held = plan_of("idle-states", &machine, false, 1, &Wishes::default()).unwrap();
    assert!(held.arms[1].awake && !held.changes_settings());
}

#[test]
fn what_is_missing_is_said() {
    let mut machine = machine("threadripper-before");
    machine.host.root = Reading::known("/proc/self/status", false);
    let without_root = |id: &str| plan_of(id, &machine, false, 1, &Wishes::default()).unwrap_err().0;
    for id in ["scheduler", "readahead", "nomerges", "iostats", "rq-affinity", "max-sectors", "governor"] {
        assert!(without_root(id).starts_with("root"), "{id}: {}", without_root(id));
    }
    assert!(without_root("polled").contains("poll_queues=2 --rebind"));
    assert!(without_root("own").starts_with("two sets"));
    for id in ["direct", "jobs", "depth", "block-size", "engine"] {
        assert!(plan_of(id, &machine, false, 1, &Wishes::default()).is_ok(), "{id} changes nothing");
    }
    for id in ["nomerges", "iostats", "rq-affinity", "idle-states", "governor"] {
        let why = plan_of(id, &machine, true, 1, &Wishes::default()).unwrap_err().0;
        assert!(why.starts_with("a real machine"), "{id}: {why}");
    }
    let nodes = plan_of("numa", &machine, true, 1, &Wishes::default()).unwrap_err().0;
    assert_eq!(nodes, "two NUMA nodes with CPUs; this machine has one");
    assert!(plan_of("jobs", &machine, true, 0, &Wishes::default()).unwrap_err().0.contains("to read from"));
}

fn asking(options: &str) -> Wishes {
    Wishes { options: crate::model::options::Given::read(options).unwrap(), ..Wishes::default() }
}

#[test]
fn wishes_go_into_every_arm() {
    let machine = complete();
    let wishes = asking("iodepth=8 numjobs=2 rate_iops=1000");
    let plan = plan_of("direct", &machine, false, 1, &wishes).unwrap();
    assert!(plan.arms.iter().all(|arm| (arm.workload.depth, arm.workload.jobs) == (8, 2)));
    assert!(plan.arms.iter().all(|arm| arm.workload.rate_iops == Some(1000)));
    let wrong = asking("iodepth=0");
    assert!(plan_of("direct", &machine, false, 1, &wrong).unwrap_err().0.contains("iodepth"));
}

#[test]
fn what_a_row_proves_is_a_finding_and_has_one_row() {
    let known: BTreeSet<&str> = crate::findings::FINDINGS.iter().map(|row| row.id.0).collect();
    let mut seen = BTreeSet::new();
    for (row, finding) in EXPERIMENTS.iter().flat_map(|row| row.proves.iter().map(move |id| (row, id))) {
        assert!(known.contains(finding), "{row:?} proves {finding}");
        assert!(seen.insert(finding), "{finding} is proved twice");
    }
}

#[test]
fn processor_time_is_compared_between_equal_calls_and_sleep_between_workers_that_do() {
    let compared: Vec<_> = EXPERIMENTS.iter().filter(|row| row.metric == Metric::CpuNsPerIo).collect();
    assert!(!compared.is_empty());
    for row in compared {
        let work = (row.workload)();
        assert!(work.batch_submit.is_some() && work.batch_complete_min > Some(0), "{}", row.id.0);
    }
    assert_eq!((find("idle-states").unwrap().workload)().batch_complete_min, Some(1));
}
