//! Simulated runs of the demos: the published figures come out, and the same run comes out the same.

use super::*;
use crate::{
    capacity,
    engine::clock,
    model::{Reading, Target},
    source::{self, capture::TextRoot, demo},
    units::Bytes,
};

fn open(name: &str) -> (Machine, Limits) {
    let (machine, _) = source::read_machine(&TextRoot::parse(&demo::find(name).unwrap().capture()).unwrap());
    let limits = capacity::limits(&machine);
    (machine, limits)
}

fn workload(drives: usize, block: u64, jobs: u32) -> Workload {
    let target = |n| Target { path: format!("/dev/nvme{n}n1").into(), drive: None };
    Workload {
        targets: (0..drives).map(target).collect(),
        block_size: Bytes(block),
        jobs,
        runtime: Some(Duration::from_secs(10)),
        ..Workload::default()
    }
}

fn run(machine: &Machine, workload: &Workload) -> RunSummary {
    let limits = capacity::limits(machine);
    let start = clock::now();
    let mut running = Simulated::new(machine, &limits, 7).start(workload, start).unwrap();
    for seconds in 1..=12 {
        running.sample(start + Duration::from_secs(seconds));
    }
    running.finish(start + Duration::from_secs(13))
}

#[track_caller]
fn near(value: f64, published: f64) {
    assert!((value / published - 1.0).abs() < 0.05, "{value:.4e} against {published:.4e}");
}

#[test]
fn published_figures_come_out() {
    const MIB: f64 = 1_048_576.0;
    let (before, _) = open("threadripper-before");
    let (after, _) = open("threadripper-after");
    near(run(&before, &workload(10, 1 << 20, 3)).bytes_per_second(), 50.0 * 1024.0 * MIB);
    near(run(&after, &workload(10, 1 << 20, 3)).bytes_per_second(), 66.0 * 1024.0 * MIB);
    near(run(&before, &workload(1, 4096, 1)).iops(), 450e3);
    near(run(&before, &workload(1, 4096, 3)).iops(), 1_149e3);
    let (formatted, _) = open("x570-formatted");
    near(run(&formatted, &Workload { depth: 128, ..workload(4, 4096, 4) }).iops(), 5_556e3);
    let buffered = Workload { direct: false, ..workload(1, 1 << 20, 3) };
    near(run(&before, &buffered).bytes_per_second(), 3_273.0 * MIB);
}

#[test]
fn a_scheduler_costs_what_it_was_seen_to_cost() {
    let (mut machine, _) = open("threadripper-before");
    for drive in &mut machine.drives {
        drive.queue.scheduler = drive
            .queue
            .scheduler
            .clone()
            .map(|choice| crate::machine::queue::Choice { current: Label::new("mq-deadline"), ..choice });
        drive.queue.read_ahead_kb = Reading::known("x", 128);
    }
    near(run(&machine, &workload(1, 4096, 3)).iops(), 527.5e3);
}

#[test]
fn the_same_seed_gives_the_same_run_however_often_it_is_looked_at() {
    let (machine, limits) = open("threadripper-before");
    let workload = workload(10, 65536, 2);
    let at = |seed: u64, looks: &[u64]| {
        let start = clock::now();
        let mut running = Simulated::new(&machine, &limits, seed).start(&workload, start).unwrap();
        let mut last = None;
        for look in looks {
            last = Some(running.sample(start + Duration::from_millis(*look)));
        }
        last.unwrap().targets.iter().map(|target| target.ios).collect::<Vec<_>>()
    };
    assert_eq!(at(7, &[5000]), at(7, &[1, 33, 100, 101, 4999, 5000]));
    assert_ne!(at(7, &[5000]), at(8, &[5000]));
}

#[test]
fn pauses_ramp_and_stop_are_kept() {
    let (machine, limits) = open("laptop");
    let workload = Workload { ramp: Duration::from_secs(1), ..workload(2, 4096, 1) };
    let start = clock::now();
    let second = |n: u64| start + Duration::from_secs(n);
    let mut running = Simulated::new(&machine, &limits, 7).start(&workload, start).unwrap();
    let first = running.sample(start + Duration::from_millis(500));
    assert_eq!((first.state, first.targets[0].ios, first.simulated), (RunState::Ramping, 0, true));
    let counted = running.sample(second(3));
    assert_eq!((counted.state, counted.at), (RunState::Running, Duration::from_secs(2)));
    assert_eq!(counted.targets[0].latency.count, counted.targets[0].ios);
    running.pause(second(3));
    let held = running.sample(second(30));
    assert_eq!((held.state, held.at), (RunState::Paused, Duration::from_secs(2)));
    running.resume(second(30));
    running.stop(second(31));
    assert_eq!(running.sample(second(40)).state, RunState::Ended);
    let summary = running.finish(second(40));
    assert!(summary.interrupted && summary.simulated && summary.effective.engine == EngineKind::Simulated);
    assert_eq!(summary.targets[0].runtime, Duration::from_secs(3));
}

#[test]
fn an_amount_is_read_and_no_more() {
    let (machine, limits) = open("laptop");
    let workload = Workload { runtime: None, size: Some(Bytes(1 << 30)), ..workload(1, 65536, 2) };
    let start = clock::now();
    let mut running = Simulated::new(&machine, &limits, 7).start(&workload, start).unwrap();
    let end = start + Duration::from_secs(5);
    assert_eq!(running.sample(end).state, RunState::Ended);
    let summary = running.finish(end);
    assert_eq!((summary.targets[0].bytes, summary.interrupted), (2 << 30, false));
}

#[test]
fn one_read_at_a_time_takes_as_long_as_flash_does() {
    let (machine, _) = open("threadripper-before");
    let summary = run(&machine, &Workload { depth: 1, ..workload(1, 4096, 1) });
    assert!((10e3..30e3).contains(&summary.iops()), "{}", summary.iops());
}

#[test]
fn a_target_that_is_no_drive_of_the_demo_is_refused_with_the_fix() {
    let (machine, limits) = open("laptop");
    let error =
        Simulated::new(&machine, &limits, 7).start(&workload(3, 4096, 1), clock::now()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "/dev/nvme2n1: not a drive of this demo; name one that `iodyno drives --demo` lists"
    );
}

#[test]
fn counters_of_the_system_agree_with_dstat() {
    let (machine, limits) = open("threadripper-before");
    let system = |workload: &Workload| {
        let start = clock::now();
        let mut running = Simulated::new(&machine, &limits, 7).start(workload, start).unwrap();
        let before = running.sample(start + Duration::from_secs(1));
        let after = running.sample(start + Duration::from_secs(2));
        rates(&machine, &limits, workload, None, &before, &after)
    };
    let small = system(&workload(1, 4096, 3));
    let cpu = small.cpu.unwrap();
    assert!((8.0..10.5).contains(&(cpu.usr + cpu.sys)), "{cpu:?}");
    assert!((cpu.usr + cpu.sys + cpu.idl - 100.0).abs() < 1e-6);
    assert_eq!(small.running, Some(3));
    let big = system(&workload(1, 1 << 20, 3));
    let reads: f64 = big.disks.values().map(|disk| disk.reads).sum();
    assert!((13.3e3..13.9e3).contains(&reads), "1 MiB is split at 512 KiB: {reads}");
    assert!(big.cpu.unwrap().idl > 98.0);
}

#[test]
fn a_run_and_its_counters_split_cpu_time_alike() {
    let (machine, limits) = open("threadripper-after");
    for direct in [true, false] {
        let mut workload = Workload { direct, ..workload(1, 1 << 20, 3) };
        workload.targets[0] = machine.hardware_drives().next().unwrap().target();
        let start = clock::now();
        let mut running = Simulated::new(&machine, &limits, 7).start(&workload, start).unwrap();
        let samples = [1, 2].map(|seconds| running.sample(start + Duration::from_secs(seconds)));
        let row = rates(&machine, &limits, &workload, None, &samples[0], &samples[1]).cpu.unwrap();
        let target = &running.finish(start + Duration::from_secs(13)).targets[0];
        let user = target.cpu_user.as_secs_f64();
        let share = user / (user + target.cpu_system.as_secs_f64());
        assert!((share - row.usr / (row.usr + row.sys)).abs() < 1e-3, "{share} against {row:?}");
        assert_eq!(user > 0.0, direct, "the kernel copies from the page cache");
    }
}

/// Small reads of all drives, and their samples after one second and after two.
fn small_reads(machine: &Machine, limits: &Limits, jobs: u32) -> (Workload, [RunSample; 2]) {
    let mut workload = workload(10, 4096, jobs);
    for (target, drive) in workload.targets.iter_mut().zip(machine.hardware_drives()) {
        *target = drive.target();
    }
    let start = clock::now();
    let mut running = Simulated::new(machine, limits, 7).start(&workload, start).unwrap();
    let samples = [1, 2].map(|seconds| running.sample(start + Duration::from_secs(seconds)));
    (workload, samples)
}

#[test]
fn columns_of_cpus_add_up_to_the_row_of_all() {
    let (machine, limits) = open("threadripper-after");
    let (workload, samples) = small_reads(&machine, &limits, 4);
    let rates = rates(&machine, &limits, &workload, None, &samples[0], &samples[1]);
    let all = rates.cpu.unwrap();
    let mean = rates.cpus.values().map(|cpu| cpu.usr + cpu.sys).sum::<f64>() / rates.cpus.len() as f64;
    assert!((mean - all.usr - all.sys).abs() < 1e-6, "{mean} against {all:?}");
}

#[test]
fn cpus_interrupts_and_threads_of_a_run_agree_with_its_reads() {
    let (machine, limits) = open("threadripper-before");
    let (workload, samples) = small_reads(&machine, &limits, 3);
    let rates = rates(&machine, &limits, &workload, None, &samples[0], &samples[1]);
    assert!(
        rates.disks.values().all(|disk| disk.queue_depth >= 1.0 && disk.utilisation >= 100.0),
        "in flight all the time"
    );
    let all = rates.cpu.unwrap();
    let mean = |of: fn(&crate::counters::CpuShares) -> f64| {
        rates.cpus.values().map(of).sum::<f64>() / rates.cpus.len() as f64
    };
    assert!(
        (mean(|cpu| cpu.usr) - all.usr).abs() < 0.5 && (mean(|cpu| cpu.sys) - all.sys).abs() < 0.5,
        "{all:?}"
    );
    let reads: f64 = rates.disks.values().map(|disk| disk.reads).sum();
    let interrupts: f64 = rates.vector_cpus.values().flatten().map(|(_, rate)| rate).sum();
    assert!(reads > 1e6 && (interrupts / reads - 1.0).abs() < 1e-6, "{interrupts} for {reads}");
    let activity = activity(&machine, &workload, &rates);
    let workers: f64 = activity.threads.unwrap().kinds.iter().map(|(_, mean)| mean).sum();
    assert!((workers - 30.0).abs() < 1e-6, "{workers}");
    let read = activity.processes.unwrap()[0].read_bytes.unwrap();
    assert!((read / reads - 4096.0).abs() < 1e-3);
    let polled = Workload { hipri: true, ..workload.clone() };
    let rates = super::rates(&machine, &limits, &polled, None, &samples[0], &samples[1]);
    let has_poll_queues = machine.hardware_drives().all(|drive| drive.queue.io_poll.get() == Some(1));
    assert_eq!(rates.vector_cpus.is_empty(), has_poll_queues);
}
