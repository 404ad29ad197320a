//! The CPUs of workers: those of their drives' NUMA nodes; pinned workers take cores before SMT siblings.

use std::{collections::BTreeMap, io};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    machine::{Machine, processor::cpu_list},
    model::{Workload, WorkloadError},
};

/// The CPUs of a run's workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// CPUs by worker; none for a worker that may run anywhere.
    workers: Vec<Vec<u32>>,
    /// For [`crate::model::Effective::placement`].
    pub words: String,
    /// Requests that could not be met, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// 0 for the first thread of its core, 1 for its sibling.
    thread: usize,
    number: u32,
    /// The lowest number on its core.
    core: u32,
    node: Option<u32>,
}

/// Places workers that each read these targets, given by their index in the workload. Without options it uses `usable`
/// CPUs only. Without a machine no node is known and no list of CPUs is checked.
///
/// # Errors
/// `--cpus_allowed` or `--numa_cpu_nodes` leave no CPU, or name one that is not there.
pub(crate) fn plan(
    machine: Option<&Machine>,
    workload: &Workload,
    workers: &[Vec<usize>],
    usable: impl Fn(u32) -> bool,
) -> Result<Placement, WorkloadError> {
    let places = machine.map(places).unwrap_or_default();
    let allowed = allowed(&places, workload)?;
    let is_allowed = |place: &&Place| {
        if allowed.is_empty() { usable(place.number) } else { allowed.contains(&place.number) }
    };
    let open: Vec<Place> = places.iter().filter(is_allowed).copied().collect();
    let several_nodes = places.iter().any(|place| place.node != places[0].node);
    let near = |targets: &[usize]| -> Vec<Place> {
        let nodes: Vec<u32> =
            targets.iter().filter_map(|target| node_of(machine?, workload, *target)).collect();
        open.iter().filter(|place| place.node.is_some_and(|node| nodes.contains(&node))).copied().collect()
    };
    let mut load: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let mut cpus = Vec::with_capacity(workers.len());
    for targets in workers {
        let near = if several_nodes { near(targets) } else { Vec::new() };
        cpus.push(match (workload.pinned, allowed.is_empty()) {
            (true, _) => {
                let candidates = if near.is_empty() { &open } else { &near };
                least_loaded(candidates, &mut load).into_iter().collect()
            }
            (false, false) => allowed.clone(),
            (false, true) => near.iter().map(|place| place.number).collect(),
        });
    }
    let mut notes = Vec::new();
    if workload.pinned && places.is_empty() {
        notes.push("workers are not pinned: this machine's CPUs are unknown; they run anywhere".into());
    } else if workload.pinned && workers.len() > open.len() {
        let (workers, processors) = (workers.len(), open.len());
        notes.push(format!("{workers} workers are pinned to {processors} CPUs: some share one"));
    }
    Ok(Placement { words: words(workload, &allowed, &cpus), workers: cpus, notes })
}

/// CPUs in the order of assignment: cores first.
fn places(machine: &Machine) -> Vec<Place> {
    let place = |cpu: &crate::machine::Cpu| {
        let mut siblings = cpu.siblings.value().cloned().unwrap_or_else(|| vec![cpu.number]);
        siblings.sort_unstable();
        Place {
            thread: siblings.iter().position(|number| *number == cpu.number).unwrap_or(0),
            number: cpu.number,
            core: siblings.first().copied().unwrap_or(cpu.number),
            node: cpu.node,
        }
    };
    let mut places: Vec<Place> = machine.processors.cpus.iter().map(place).collect();
    places.sort_unstable();
    places
}

/// CPUs that the options allow; none when they allow all.
fn allowed(places: &[Place], workload: &Workload) -> Result<Vec<u32>, WorkloadError> {
    let all = || cpu_list(places.iter().map(|place| place.number));
    let fail = |option, wrong: String, fix: String| Err(WorkloadError { option, wrong, fix });
    let is_there = |number: &u32| places.is_empty() || places.iter().any(|place| place.number == *number);
    if let Some(absent) = workload.cpus_allowed.iter().find(|number| !is_there(number)) {
        let wrong = format!("CPU {absent} is not online");
        return fail("cpus_allowed", wrong, format!("choose from {}", all()));
    }
    if workload.numa_cpu_nodes.is_empty() {
        return Ok(workload.cpus_allowed.clone());
    }
    let on_nodes = places
        .iter()
        .filter(|place| place.node.is_some_and(|node| workload.numa_cpu_nodes.contains(&node)))
        .map(|place| place.number)
        .filter(|number| workload.cpus_allowed.is_empty() || workload.cpus_allowed.contains(number));
    let mut on_nodes: Vec<u32> = on_nodes.collect();
    on_nodes.sort_unstable();
    if on_nodes.is_empty() {
        let nodes = cpu_list(workload.numa_cpu_nodes.iter().copied());
        let wrong = format!("node {nodes} has no allowed CPU");
        return fail("numa_cpu_nodes", wrong, "choose a node with CPUs, as `lscpu` lists them".to_owned());
    }
    Ok(on_nodes)
}

fn node_of(machine: &Machine, workload: &Workload, target: usize) -> Option<u32> {
    let drive = machine.drive(workload.targets.get(target)?.drive.as_ref()?)?;
    drive.numa_node.get().flatten()
}

/// The candidate with the fewest workers on itself, then on its core; the first of equals. Its load rises by one.
fn least_loaded(candidates: &[Place], load: &mut BTreeMap<u32, (usize, usize)>) -> Option<u32> {
    let of_core =
        |place: &Place, load: &BTreeMap<u32, (usize, usize)>| load.get(&place.core).map_or(0, |it| it.1);
    let of_cpu =
        |place: &Place, load: &BTreeMap<u32, (usize, usize)>| load.get(&place.number).map_or(0, |it| it.0);
    let chosen =
        candidates.iter().min_by_key(|place| (of_cpu(place, load), of_core(place, load), **place))?;
    load.entry(chosen.number).or_default().0 += 1;
    load.entry(chosen.core).or_default().1 += 1;
    Some(chosen.number)
}

fn words(workload: &Workload, allowed: &[u32], cpus: &[Vec<u32>]) -> String {
    let placed = || cpu_list(cpus.iter().flatten().copied());
    if cpus.iter().all(Vec::is_empty) {
        "anywhere".to_owned()
    } else if workload.pinned {
        format!("on one CPU each: {}", placed())
    } else if allowed.is_empty() {
        format!("near their drives, on CPUs {}", placed())
    } else {
        format!("on CPUs {}", placed())
    }
}

impl Placement {
    /// CPUs of a worker; none when it may be anywhere.
    pub(crate) fn of(&self, worker: usize) -> &[u32] {
        self.workers.get(worker).map_or(&[], Vec::as_slice)
    }
}

/// Whether the calling thread may use a CPU (`taskset`, cpusets).
pub(crate) fn usable() -> impl Fn(u32) -> bool {
    let open = rustix::thread::sched_getaffinity(None).ok();
    move |cpu| {
        let cpu = cpu as usize;
        open.as_ref().is_none_or(|open| cpu < CpuSet::MAX_CPU && open.is_set(cpu))
    }
}

/// Moves the calling thread to these CPUs, unless there are none.
///
/// # Errors
/// Why it was not moved.
pub(crate) fn go_to(cpus: &[u32]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    let within = cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU);
    within.for_each(|cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(|errno| {
        let why = match errno {
            rustix::io::Errno::INVAL => "this process is not allowed on them",
            _ => "the kernel refused",
        };
        format!(
            "workers cannot be placed on CPUs {} ({}): {why}; they run anywhere",
            cpu_list(cpus.iter().copied()),
            io::Error::from(errno)
        )
    })
}

#[cfg(test)]
mod tests;
