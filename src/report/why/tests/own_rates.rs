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

/// As three jobs of fio with `rate_iops`, each at its rate, on CPUs that are idle for most of the time; they sleep this part of it.
fn three_at_a_rate(slept: f64) -> Scene {
    let rest = 3.0 - slept;
    let threads = [
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", slept),
        ('S', "fio", "io_getevents", "read_events", 0.4 * rest),
        ('R', "fio", "", "", 0.6 * rest),
    ];
    let mut scene = Scene::reading().threads(&threads);
    for pid in [7, 8, 9] {
        scene = scene.process("fio", 12e6, 12e6, 0.1 * rest);
        let process = scene.activity.processes.as_mut().unwrap().last_mut().unwrap();
        (process.pid, process.delayed) = (pid, Some(0.1 * rest));
    }
    for disk in scene.rates.disks.values_mut() {
        *disk = DiskRates { reads: 4000.0, read_bytes: 36e6, queue_depth: 0.2, ..DiskRates::default() };
        (disk.utilisation, disk.read_await_ms) = (18.0, Some(0.05));
    }
    scene
}

#[test]
fn jobs_at_their_own_rates_have_no_other_limit_whatever_is_shown() {
    let words = "3 processes of fio sleep by themselves (clock_nanosleep)";
    let text = three_at_a_rate(1.5).sentence().text;
    assert!(text.starts_with(words) && text.contains(" 50 % of the time"), "{text}");
    for shown in ["latency", "drives", "turns", "threads", "page-cache", "cpus", "other-programs"] {
        for said in [
            "",
            "3 processes of fio wait for I/O 27 % and for a CPU 22 % of the time: the number of processes is the limit",
        ] {
            let scene = three_at_a_rate(1.5);
            let found = look(&Inputs { said, ..scene.inputs() }, Some(shown));
            assert!(found.shown.is_none(), "{:?}", found.shown);
        }
    }
    assert_eq!(three_at_a_rate(0.9).sentence().rule, "own-waits", "{}", three_at_a_rate(0.9).sentence().text);
    assert_ne!(three_at_a_rate(0.1).sentence().rule, "own-waits");
}

/// As fio with libaio and `rate`, beside programs that read too, on busy CPUs: it is seldom found waiting.
#[test]
fn a_rate_on_busy_cpus_is_named() {
    let all = CpuShares { usr: 90.0, sys: 10.0, ..CpuShares::default() };
    let threads = [('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 0.2), ('R', "fio", "", "", 0.8)];
    let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all).threads(&threads);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    for disk in scene.rates.disks.values_mut() {
        *disk = DiskRates { reads: 500.0, read_bytes: 33.5e6, queue_depth: 0.1, ..DiskRates::default() };
    }
    let mut scene = scene.process("fio", 33.5e6, 33.5e6, 0.5).process("rustc", 0.0, 0.0, 1.4);
    scene.activity.processes.as_mut().unwrap()[0].delayed = Some(0.2);
    scene
        .says("own-waits", "fio sleeps by itself (clock_nanosleep) 20 % of the time: it limits its own rate");
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
