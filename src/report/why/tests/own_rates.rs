//! Beside busy CPUs: processes that keep to a rate of their own, workers of another iodyno, and threads pinned to one CPU.

use super::{
    own_time::{READS, beside_hog},
    *,
};
use crate::model::GroupLimits;

/// As two jobs of fio with `rate`, on two busy CPUs.
fn at_a_rate(slept: f64) -> Scene {
    let all = CpuShares { usr: 90.0, sys: 9.0, idl: 1.0, ..CpuShares::default() };
    let threads =
        [('R', "fio", "", "", 2.0 - slept), ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", slept)];
    let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all).threads(&threads);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    scene.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 0.3);
    for pid in [7, 8] {
        scene = scene.process("fio", 0.6e9, 0.6e9, 0.2);
        let process = scene.activity.processes.as_mut().unwrap().last_mut().unwrap();
        (process.pid, process.delayed) = (pid, Some(0.6));
    }
    scene
}

#[test]
fn cpus_are_no_limit_of_processes_that_sleep_by_themselves() {
    let who = "2 processes of fio wait for a CPU";
    at_a_rate(0.3).says(
        "cpu-waits",
        &format!(
            "{who} 60 % of the time and sleep by themselves (clock_nanosleep) 15 %: they limit their own rates"
        ),
    );
    at_a_rate(0.1).says("cpu-waits", &format!("{who} 63 % of the time: both CPUs are the limit"));
    let mut less = at_a_rate(0.3);
    for process in less.activity.processes.as_mut().unwrap() {
        (process.cpus, process.delayed) = (0.7, Some(0.1));
    }
    assert!(!less.sentence().text.contains("CPUs are the limit"), "{:?}", less.sentence());
}

/// As fio with `rate` beside a compiler.
#[test]
fn other_programs_are_no_limit_of_what_sleeps_by_itself() {
    let scene = |slept: f64| at_a_rate(slept).process("rustc", 0.0, 0.0, 1.1);
    let fio = |mut scene: Scene| {
        for process in &mut scene.activity.processes.as_mut().unwrap()[..2] {
            (process.cpus, process.delayed) = (0.7, Some(0.14));
        }
        scene.sentence()
    };
    assert!(fio(scene(0.1)).text.contains("other programs are the limit"), "{:?}", fio(scene(0.1)));
    let own = fio(scene(0.3));
    assert!(!own.text.contains("other programs") && !own.text.contains("the CPUs are"), "{own:?}");
}

/// As a test of another iodyno beside one that only shows the machine, and a compiler.
#[test]
fn workers_of_another_iodyno_have_both_waits() {
    let all = CpuShares { usr: 60.0, sys: 37.0, idl: 3.0, ..CpuShares::default() };
    let threads = [
        ('S', "iodyno", "futex", "futex_wait", 2.0),
        ('S', "read *", "io_uring_enter", "io_cqring_wait", 1.0),
        ('R', "read *", "", "", 1.0),
    ];
    let scene = |cpus: f64, delayed: f64| {
        let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all).threads(&threads);
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        let mut scene = scene.process("iodyno", 0.0, 0.0, 0.02).process("iodyno", 1.2e9, 1.2e9, cpus);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].pid, processes[1].pid, processes[1].delayed) = (4000, 4711, Some(delayed));
        scene.process("rustc", 0.0, 0.0, 1.5)
    };
    let words = "2 threads of another iodyno (PID 4711) wait for completions (io_cqring_wait) 60 % and for a CPU 25 % of the time";
    scene(0.3, 0.5).says("drives", &format!("{words}; CPUs are busy too"));
    let quick = scene(0.1, 0.0).sentence();
    assert!(quick.text.contains("another iodyno (PID 4711) wait"), "its CPU time is little: {quick:?}");
}

#[test]
fn one_cpu_is_the_limit_of_what_is_pinned_to_it_alone() {
    let [quiet, full] = [97.0, 1.0].map(|idl| CpuShares { usr: 100.0 - idl, idl, ..CpuShares::default() });
    let scene = |cpus, delayed, only_cpu| {
        let mut scene = beside_hog(&READS, cpus, delayed);
        scene.rates.cpus = [(0, quiet), (1, quiet), (2, full), (3, quiet)].into();
        scene.activity.limits.insert(7, GroupLimits { only_cpu, ..GroupLimits::default() });
        scene.all(CpuShares { usr: 27.0, idl: 73.0, ..CpuShares::default() })
    };
    let words = "fio waits for a CPU 50 % of the time";
    let limit = format!("{words}: CPU 2 is the limit, most of the time busy with hog");
    scene(0.3, 0.5, Some(2)).says("cpu-waits", &limit);
    scene(0.3, 0.5, None).says("cpu-waits", &format!("{words}, although only CPU 2 is always busy"));
    let one = "fio runs 64 % and waits for a CPU 34 % of the time: one thread";
    let text = scene(0.64, 0.34, None).sentence().text;
    assert!(text.starts_with(one) && text.ends_with("is the limit"), "{text}");
}

#[test]
fn what_a_program_waits_for_beside_a_cpu_keeps_its_name() {
    let scene = beside_hog(&READS, 0.3, 0.34);
    let drive = scene.rates.disks.keys().next().unwrap().clone();
    let said = |scene: &Scene, said: &str| {
        look(&Inputs { said, ..scene.inputs() }, Some("cpu-waits"))
            .shown
            .map(|shown| shown.text)
            .unwrap_or_default()
    };
    assert!(said(&scene, "").contains(" and for pages of the page cache "), "{}", said(&scene, ""));
    let before = format!("fio waits for a CPU 35 % and for {drive} 34 % of the time; both CPUs are busy");
    assert!(said(&scene, &before).contains(&format!(" and for {drive} ")), "{}", said(&scene, &before));
    // A second program that uses about half of the CPUs.
    let mut half = beside_hog(&READS, 0.3, 0.5);
    half.activity.processes.as_mut().unwrap()[1].cpus = 0.85;
    let alone = "fio waits for a CPU 50 % of the time: both CPUs are the limit";
    let both = format!("{alone}, most of the time busy with hog");
    assert_eq!([said(&half, alone), said(&half, &both)], [alone.to_owned(), both]);
}
