//! Workers of other runs of iodyno beside programs that move more.

use super::*;

/// Threads of a test that keeps to a rate of its own, and of the process that shows the machine.
const WORKERS: [(char, &str, &str, &str, f64); 3] = [
    ('S', "iodyno", "futex", "futex_wait", 2.0),
    ('S', "read *", "io_uring_enter", "io_cqring_wait", 4.6),
    ('R', "read *", "", "", 0.2),
];

/// Processes that move so many bytes, by command and number; those without a number have ended.
fn scene(processes: &[(&str, Option<u32>, f64)], threads: &[(char, &str, &str, &str, f64)]) -> Scene {
    let mut scene = Scene::reading().threads(threads);
    for (command, pid, moved) in processes {
        scene = scene.process(command, *moved, *moved, 0.1);
        let process = scene.activity.processes.as_mut().unwrap().last_mut().unwrap();
        (process.pid, process.has_ended) = (pid.unwrap_or(6), pid.is_none());
    }
    scene
}

#[test]
fn threads_of_another_iodyno_are_not_those_of_what_moves_most() {
    for who in ["dd", "a child of bash"] {
        let ended = [(who, None, 1.2e9), ("iodyno", Some(4711), 2e6)];
        let text = scene(&ended, &WORKERS).sentence().text;
        assert!(!text.contains("io_cqring_wait"), "{text}");
        // Of the other iodyno no process is known.
        let text = scene(&ended[..1], &WORKERS).sentence().text;
        assert!(!text.contains("io_cqring_wait"), "{text}");
    }
    let alone = scene(&[("fio", Some(5), 1.2e9)], &WORKERS).sentence().text;
    assert!(!alone.contains("io_cqring_wait"), "{alone}");
    // A program that has ended has no threads of other names either.
    let other = [('D', "job-*", "pread64", "blkdev_direct_IO", 1.0)];
    let lives = scene(&[("jobs", Some(5), 1.2e9)], &other).sentence().text;
    assert!(
        lives.starts_with("jobs has one I/O in flight") || lives.starts_with("jobs waits for"),
        "{lives}"
    );
    let gone = scene(&[("jobs", None, 1.2e9)], &other).sentence().text;
    assert!(!gone.starts_with("jobs"), "{gone}");
}

#[test]
fn workers_have_the_name_of_the_iodyno_that_moves_data() {
    let wait = "wait for completions (io_cqring_wait): the drives or their links are the limit";
    let one = [("iodyno", Some(4000), 0.0), ("iodyno", Some(4711), 1.2e9)];
    let its = |processes: &[_]| scene(processes, &WORKERS).sentence().text;
    assert_eq!(its(&one), format!("5 of 5 threads of another iodyno (PID 4711) {wait}"));
    // The process that shows the machine has a thread that runs.
    let shows = [&WORKERS[..], &[('R', "iodyno", "", "", 0.4)]].concat();
    assert_eq!(scene(&one, &shows).sentence().text, its(&one));
    let two = [one[0], one[1], ("iodyno", Some(2195), 2e6)];
    assert_eq!(its(&two), format!("5 of 5 threads of other runs of iodyno {wait}"));
    assert_eq!(scene(&two, &shows).sentence().text, its(&two));
    let few = [('S', "read *", "io_uring_enter", "io_cqring_wait", 1.0)];
    let waits = scene(&two, &few).sentence().text;
    assert!(waits.starts_with("other runs of iodyno wait for completions"), "{waits}");
    // Nothing is known of processes.
    let mut hidden = scene(&[], &WORKERS);
    assert_eq!(hidden.sentence().text, format!("5 of 5 threads of another iodyno {wait}"));
    hidden = hidden.test(5, false);
    assert_eq!(hidden.sentence().text, format!("5 of 5 workers {wait}"));
}

#[test]
fn workers_that_wait_for_a_cpu_have_a_program() {
    let all = CpuShares { usr: 60.0, sys: 37.0, idl: 3.0, ..CpuShares::default() };
    let threads = [('R', "read *", "", "", 4.0), ('S', "read *", "io_uring_enter", "io_cqring_wait", 0.4)];
    let mut busy = scene(&[("iodyno", Some(4711), 1.2e9)], &threads).all(all).cpu(0, all).cpu(1, all);
    busy.rates.cpus.retain(|cpu, _| *cpu < 2);
    let process = busy.activity.processes.as_mut().unwrap().last_mut().unwrap();
    (process.cpus, process.delayed) = (1.5, Some(2.5));
    let text = busy.sentence().text;
    assert!(text.starts_with("4 threads of another iodyno (PID 4711) wait for a CPU"), "{text}");
}

#[test]
fn workers_that_keep_to_a_rate_sleep_and_no_other_threads_of_their_program_do() {
    let threads = [
        ('S', "iodyno", "clock_nanosleep", "hrtimer_nanosleep", 1.0),
        ('S', "keeper", "futex", "futex_do_wait", 1.0),
        ('S', "read *", "futex", "futex_do_wait", 1.9),
        ('R', "read *", "", "", 0.1),
    ];
    let limit = "most of the time: neither drives nor CPUs are";
    let at_a_rate = |pids: &[u32]| {
        let processes: Vec<_> = pids.iter().map(|pid| ("iodyno", Some(*pid), 2e6)).collect();
        let mut scene = scene(&processes, &threads);
        for process in scene.activity.processes.as_mut().unwrap() {
            (process.cpus, process.delayed) = (0.02, Some(0.01));
        }
        for disk in scene.rates.disks.values_mut() {
            *disk = DiskRates { reads: 500.0, read_bytes: 2e6, queue_depth: 0.05, ..DiskRates::default() };
        }
        scene.sentence().text
    };
    let one = "another iodyno (PID 4711) sleeps by itself (futex)";
    assert_eq!(at_a_rate(&[4711]), format!("{one} {limit} its limit"));
    let two = "other runs of iodyno sleep by themselves (futex)";
    assert_eq!(at_a_rate(&[4711, 4712]), format!("{two} {limit} their limit"));
}
