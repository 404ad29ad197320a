use std::{collections::BTreeSet, sync::LazyLock};

use proptest::prelude::*;

use super::*;
use crate::{
    machine::{Cpu, Drive},
    model::Reading,
    source::{self, capture::TextRoot, demo},
};

fn cpu(number: u32, siblings: Vec<u32>, node: Option<u32>) -> Cpu {
    let unknown = || Reading::absent("/test", "not here");
    Cpu {
        number,
        core: Reading::absent("/test", "not here"),
        siblings: Reading::known("/test", siblings),
        node,
        governor: unknown(),
        governors: Reading::absent("/test", "not here"),
        driver: unknown(),
        energy_preference: unknown(),
        energy_preferences: Reading::absent("/test", "not here"),
        max_khz: Reading::absent("/test", "not here"),
    }
}

/// A demo's drives on a machine of `nodes` nodes with `cores` cores each, the siblings numbered behind all cores; the
/// drives go around the nodes.
fn machine(nodes: u32, cores: u32, threads: u32) -> Machine {
    static DEMO: LazyLock<Machine> = LazyLock::new(|| {
        let capture = &demo::find("threadripper-before").unwrap().capture();
        source::read_machine(&TextRoot::parse(capture).unwrap()).0
    });
    let mut machine = DEMO.clone();
    let all = nodes * cores;
    machine.processors.cpus = (0..all * threads)
        .map(|number| {
            let siblings = (0..threads).map(|thread| number % all + thread * all).collect();
            cpu(number, siblings, Some(number % all / cores))
        })
        .collect();
    for (drive, node) in machine.drives.iter_mut().zip((0..nodes).cycle()) {
        drive.numa_node = Reading::known("/test", Some(node));
    }
    machine
}

fn workload(machine: &Machine, pinned: bool) -> Workload {
    let targets = machine.drives.iter().map(Drive::target);
    Workload { targets: targets.collect(), pinned, ..Workload::default() }
}

#[test]
fn on_one_node_there_is_nothing_to_be_near_to() {
    let machine = machine(1, 8, 2);
    let plan = plan(Some(&machine), &workload(&machine, false), &[vec![0], vec![1]], |_| true).unwrap();
    assert_eq!((plan.of(0), plan.of(1), plan.words.as_str()), (&[][..], &[][..], "anywhere"));
}

#[test]
fn workers_are_on_the_nodes_of_their_drives() {
    let machine = machine(2, 2, 2);
    let plan =
        plan(Some(&machine), &workload(&machine, false), &[vec![0], vec![1], vec![0, 1]], |_| true).unwrap();
    let sorted = |worker| plan.of(worker).iter().copied().collect::<BTreeSet<u32>>();
    assert_eq!(sorted(0), BTreeSet::from([0, 1, 4, 5]));
    assert_eq!(sorted(1), BTreeSet::from([2, 3, 6, 7]));
    assert_eq!(sorted(2).len(), 8);
    assert_eq!(plan.words, "near their drives, on CPUs 0-7");
}

#[test]
fn options_decide_where_they_say() {
    let machine = machine(2, 2, 2);
    let asks = Workload { cpus_allowed: vec![0, 3], ..workload(&machine, false) };
    let here = plan(Some(&machine), &asks, &[vec![0], vec![1]], |_| true).unwrap();
    assert_eq!((here.of(0), here.of(1), here.words.as_str()), (&[0, 3][..], &[0, 3][..], "on CPUs 0,3"));
    let nodes = Workload { numa_cpu_nodes: vec![1], ..workload(&machine, false) };
    assert_eq!(plan(Some(&machine), &nodes, &[vec![0]], |_| true).unwrap().of(0), [2, 3, 6, 7]);
    let pinned = Workload { pinned: true, ..asks };
    let here = plan(Some(&machine), &pinned, &[vec![0], vec![1], vec![0]], |_| true).unwrap();
    assert_eq!((here.of(0), here.of(1), here.of(2)), (&[0][..], &[3][..], &[0][..]));
    assert_eq!(here.notes, ["3 workers are pinned to 2 CPUs: some share one"]);
}

#[test]
fn what_is_not_there_is_said_in_one_line() {
    let machine = machine(2, 2, 1);
    let asks = Workload { cpus_allowed: vec![1, 9], ..workload(&machine, false) };
    let line = plan(Some(&machine), &asks, &[vec![0]], |_| true).unwrap_err().to_string();
    assert_eq!(line, "--cpus_allowed: CPU 9 is not online; choose from 0-3");
    let asks = Workload { numa_cpu_nodes: vec![7], ..workload(&machine, false) };
    assert!(plan(Some(&machine), &asks, &[vec![0]], |_| true).unwrap_err().to_string().contains("node 7"));
    let left = plan(Some(&machine), &workload(&machine, true), &[vec![0]], |cpu| cpu == 1).unwrap();
    assert_eq!(left.of(0), [1], "not what taskset took away");
    let nowhere = plan(None, &workload(&machine, true), &[vec![0]], |_| true).unwrap();
    assert!(nowhere.of(0).is_empty() && nowhere.notes[0].contains("run anywhere"));
}

#[test]
fn a_thread_goes_where_it_is_sent_and_says_when_it_cannot() {
    std::thread::spawn(|| {
        let open = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| open.is_set(*cpu)).unwrap();
        go_to(&[u32::try_from(first).unwrap()]).unwrap();
        let now = rustix::thread::sched_getaffinity(None).unwrap();
        assert_eq!((now.count(), now.is_set(first)), (1, true));
        let last = u32::try_from(CpuSet::MAX_CPU - 1).unwrap();
        assert!(go_to(&[last]).unwrap_err().contains("is not allowed on them"));
        assert_eq!(go_to(&[]), Ok(()));
    })
    .join()
    .unwrap();
}

proptest! {
    #[test]
    fn pinned_workers_fill_cores_before_siblings_and_nothing_twice(
        nodes in 1_u32..5, cores in 1_u32..9, threads in 1_u32..3, count in 1_usize..80,
    ) {
        let machine = machine(nodes, cores, threads);
        let workload = workload(&machine, true);
        let workers: Vec<Vec<usize>> = (0..count).map(|worker| vec![worker % workload.targets.len()]).collect();
        let plan = plan(Some(&machine), &workload, &workers, |_| true).unwrap();
        let mut seen: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
        for (worker, targets) in workers.iter().enumerate() {
            let [cpu] = plan.of(worker) else { panic!("one processor each") };
            let node = u32::try_from(targets[0]).unwrap() % nodes;
            prop_assert_eq!(cpu % (nodes * cores) / cores, node, "on the drive's node");
            *seen.entry(node).or_default().entry(*cpu).or_default() += 1;
        }
        for cpus in seen.values() {
            let workers: usize = cpus.values().sum();
            let most = *cpus.values().max().unwrap();
            prop_assert!(most <= workers.div_ceil((cores * threads) as usize), "{:?}", cpus);
            let on_cores = cpus.keys().filter(|cpu| **cpu < nodes * cores).count();
            let on_siblings = cpus.len() - on_cores;
            prop_assert!(on_siblings == 0 || on_cores == cores as usize, "{:?}", cpus);
        }
    }
}
